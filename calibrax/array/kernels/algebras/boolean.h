/* Truth: or of ands.  Its elements are bool, products are made of packed bits (semiring_bool.h),
 * ELL rows of bytes (ell_isa.c); no floats, no derivative. */
CBX_ALGEBRA(BOOLEAN, .name = "boolean", .combine = "a and b", .update = "acc or t", .finalize = "", .identity = 0,
            .empty = 0, .has_annihilator = true, .annihilator = 0, .nan_rule = "does not occur",
            .plus_inf_rule = "does not occur", .minus_inf_rule = "does not occur", .is_exact = true)
CBX_ALGEBRA_TRAITS(BOOLEAN, .of_bool = true, .derivative = CBX__NO_DERIVATIVE, .flop = 2, .on_gpu = true)
CBX_ALGEBRA_MERGE(BOOLEAN, x, cbx_logical_or)
