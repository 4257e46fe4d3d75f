/* Tropical: the minimum of sums (shortest paths). */
CBX_ALGEBRA(TROPICAL_MIN_PLUS, .name = "tropical_min_plus", .combine = "a + b", .update = "min(acc, t)", .finalize = "",
            .identity = INFINITY, .empty = INFINITY, .has_annihilator = true, .annihilator = INFINITY,
            .nan_rule = "NaN", .plus_inf_rule = "the term is masked; +inf if all are",
            .minus_inf_rule = "-inf, unless a term is NaN", .is_exact = true)
CBX_ALGEBRA_TRAITS(TROPICAL_MIN_PLUS, .sums_by_fma = true, .messages = CBX__MESSAGES_MIN, .derivative = CBX__BY_OPTIMUM,
                   .flop = 2, .on_gpu = true)
CBX_ALGEBRA_DEFINE(TROPICAL_MIN_PLUS, a + b, SMALLER(acc, t), acc, SMALLER(x, y))

CBX_TILE_STEP(MIN, a + b, VMIN(t, acc))
CBX_TILE_STEP(MIN_FMA, SUM_BY_FMA(a, b, one), VMIN(t, acc)) /* the same sum on other pipes */
CBX_TILE_STEP(MIN_NAN, a + b, PICK((t < acc) | (t != t), t, acc))
CBX_ELL_STEP(MIN_ADD, true, a + b, VMIN(t, acc))
CBX_ELL_STEP(MIN_ADD_NAN, false, a + b, PICK((t < acc) | (t != t), t, acc))
CBX_ELL_STEP(MIN_MUL, true, PRODUCT(a, b), VMIN(t, acc))
CBX_ELL_STEP(MIN_MUL_NAN, false, PRODUCT(a, b), PICK((t < acc) | (t != t), t, acc))
CBX_ALGEBRA_STEPS(TROPICAL_MIN_PLUS, MIN, MIN_FMA, MIN_NAN, OPPOSITE_INFINITIES, MIN_ADD, MIN_MUL)
CBX_ALGEBRA_MERGE(TROPICAL_MIN_PLUS, isnan(x) || isnan(y) ? x + y : lo, cbx_minimum)
CBX_ALGEBRA_GRADIENTS(TROPICAL_MIN_PLUS, a + b, 1, 1)
