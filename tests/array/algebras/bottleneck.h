/* The smallest of the larger ones: the path whose widest step is least. */
CBX_ALGEBRA(BOTTLENECK, .name = "bottleneck", .combine = "max(a, b)", .update = "min(acc, t)", .finalize = "",
            .identity = INFINITY, .empty = INFINITY, .has_annihilator = true, .annihilator = INFINITY,
            .nan_rule = "NaN", .plus_inf_rule = "the term is masked; +inf if all are",
            .minus_inf_rule = "-inf, unless a term is NaN", .is_exact = true)
CBX_ALGEBRA_TRAITS(BOTTLENECK, .messages = CBX__MESSAGES_MIN, .derivative = CBX__BY_OPTIMUM, .flop = 2)
CBX_ALGEBRA_DEFINE(BOTTLENECK, LARGER(a, b), SMALLER(acc, t), acc, SMALLER(x, y))

CBX_TILE_STEP(MIN_OF_MAX, VMAX(SPREAD(a), b), VMIN(t, acc))
CBX_TILE_STEP(MIN_OF_MAX_NAN, PICK((SPREAD(a) > b) | (SPREAD(a) != SPREAD(a)), SPREAD(a), b),
              PICK((t < acc) | (t != t), t, acc))
CBX_ELL_STEP(MIN_OF_MAX_NAN, false, PICK((SPREAD(a) > b) | (SPREAD(a) != SPREAD(a)), SPREAD(a), b),
             PICK((t < acc) | (t != t), t, acc))
CBX_ALGEBRA_STEPS(BOTTLENECK, MIN_OF_MAX, MIN_OF_MAX, MIN_OF_MAX_NAN, NAN_ALONE, MIN_OF_MAX_NAN, MIN_MUL)
CBX_ALGEBRA_MERGE(BOTTLENECK, isnan(x) || isnan(y) ? x + y : lo, cbx_minimum)
CBX_ALGEBRA_GRADIENTS(BOTTLENECK, a > b || a != a ? a : b, a >= b ? 1 : 0, a >= b ? 0 : 1)
