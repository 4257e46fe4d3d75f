/* Tropical: the maximum of sums (longest paths, Viterbi). */
CBX_ALGEBRA(TROPICAL_MAX_PLUS, .name = "tropical_max_plus", .combine = "a + b", .update = "max(acc, t)", .finalize = "",
            .identity = -INFINITY, .empty = -INFINITY, .has_annihilator = true, .annihilator = -INFINITY,
            .nan_rule = "NaN", .plus_inf_rule = "+inf, unless a term is NaN",
            .minus_inf_rule = "the term is masked; -inf if all are", .is_exact = true)
CBX_ALGEBRA_TRAITS(TROPICAL_MAX_PLUS, .sums_by_fma = true, .messages = CBX__MESSAGES_MAX, .derivative = CBX__BY_OPTIMUM,
                   .flop = 2, .on_gpu = true)
CBX_ALGEBRA_DEFINE(TROPICAL_MAX_PLUS, a + b, LARGER(acc, t), acc, LARGER(x, y))

CBX_TILE_STEP(MAX, a + b, VMAX(t, acc))
CBX_TILE_STEP(MAX_FMA, SUM_BY_FMA(a, b, one), VMAX(t, acc)) /* the same sum on other pipes */
CBX_TILE_STEP(MAX_NAN, a + b, PICK((t > acc) | (t != t), t, acc))
CBX_ELL_STEP(MAX_ADD, true, a + b, VMAX(t, acc))
CBX_ELL_STEP(MAX_ADD_NAN, false, a + b, PICK((t > acc) | (t != t), t, acc))
CBX_ELL_STEP(MAX_MUL, true, PRODUCT(a, b), VMAX(t, acc))
CBX_ELL_STEP(MAX_MUL_NAN, false, PRODUCT(a, b), PICK((t > acc) | (t != t), t, acc))
CBX_ALGEBRA_STEPS(TROPICAL_MAX_PLUS, MAX, MAX_FMA, MAX_NAN, OPPOSITE_INFINITIES, MAX_ADD, MAX_MUL)
CBX_ALGEBRA_MERGE(TROPICAL_MAX_PLUS, isnan(x) || isnan(y) ? x + y : hi, cbx_maximum)
CBX_ALGEBRA_GRADIENTS(TROPICAL_MAX_PLUS, a + b, 1, 1)
