/* Real numbers: sums of products. */
CBX_ALGEBRA(REAL, .name = "real", .combine = "a * b", .update = "acc + t", .finalize = "", .identity = 0, .empty = 0,
            .has_annihilator = true, .annihilator = 0, .nan_rule = "NaN", .plus_inf_rule = "+inf, or NaN beside -inf",
            .minus_inf_rule = "-inf, or NaN beside +inf", .is_exact = false)
CBX_ALGEBRA_TRAITS(REAL, .messages = CBX__MESSAGES_ADD, .derivative = CBX__BY_PRODUCTS, .flop = 2, .on_gpu = true)
CBX_ALGEBRA_DEFINE(REAL, a *b, acc + t, acc, x + y)

CBX_TILE_STEP(FMA, a *b, acc + t)
CBX_ELL_STEP(FMA, false, a *b, acc + t)
CBX_ALGEBRA_STEPS(REAL, FMA, FMA, FMA, NAN_ALONE, FMA, FMA)
CBX_ALGEBRA_MERGE(REAL, x + y, cbx_add)
CBX_ALGEBRA_GRADIENTS(REAL, a *b, b, a)
