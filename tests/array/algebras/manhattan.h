/* Distances along the axes: the sum of what is between. */
CBX_ALGEBRA(MANHATTAN, .name = "manhattan", .combine = "|a - b|", .update = "acc + t", .finalize = "", .identity = 0,
            .empty = 0, .has_annihilator = false, .annihilator = NAN, .nan_rule = "NaN",
            .plus_inf_rule = "+inf, unless a term is NaN", .minus_inf_rule = "does not occur", .is_exact = false)
CBX_ALGEBRA_TRAITS(MANHATTAN, .messages = CBX__MESSAGES_ADD, .derivative = CBX__BY_TERMS, .flop = 3)
CBX_ALGEBRA_DEFINE(MANHATTAN, a > b ? a - b : b - a, acc + t, acc, x + y)

CBX_TILE_STEP(BETWEEN, VMAX(a - b, b - a), acc + t)
CBX_ELL_STEP(BETWEEN, false, VMAX(a - b, b - a), acc + t)
CBX_ALGEBRA_STEPS(MANHATTAN, BETWEEN, BETWEEN, BETWEEN, NAN_ALONE, BETWEEN, FMA)
CBX_ALGEBRA_MERGE(MANHATTAN, x + y, cbx_add)
CBX_ALGEBRA_GRADIENTS(MANHATTAN, a > b ? a - b : b - a, a > b ? 1 : a < b ? -1 : 0, a > b ? -1 : a < b ? 1 : 0)
