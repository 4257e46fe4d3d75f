/* Distances: the root of the sum of squares of differences, by which nothing cancels.  The dense
 * derivative goes by differences, too (semiring_grad.h). */
CBX_ALGEBRA(EUCLIDEAN, .name = "euclidean", .combine = "(a - b)^2", .update = "acc + t", .finalize = "sqrt(acc)",
            .identity = 0, .empty = 0, .has_annihilator = false, .annihilator = NAN, .nan_rule = "NaN",
            .plus_inf_rule = "+inf, unless a term is NaN", .minus_inf_rule = "does not occur", .is_exact = false)
CBX_ALGEBRA_TRAITS(EUCLIDEAN, .has_raw = true, .derivative = CBX__BY_DIFFERENCES, .flop = 3, .on_gpu = true)
CBX_ALGEBRA_DEFINE(EUCLIDEAN, (a - b) * (a - b), acc + t, SQRT(acc), SQRT(x *x + y * y))

CBX_TILE_STEP(SQUARE, (b - a) * (b - a), acc + t)
CBX_TILE_FINISH(SQUARE, NAME(root)(x), SQRT(x))
CBX_ELL_STEP(SQUARE, false, (a - b) * (a - b), acc + t)
CBX_ELL_FINISH(SQUARE, SQRT(x))
CBX_ALGEBRA_STEPS(EUCLIDEAN, SQUARE, SQUARE, SQUARE, NAN_ALONE, SQUARE, SQUARE)
CBX_ALGEBRA_MERGE(EUCLIDEAN, raw ? x + y : SQRT(x *x + y * y), merge_distances)
CBX_ALGEBRA_GRADIENTS(EUCLIDEAN, (a - b) * (a - b), UNLESS(c <= 4 * SMALLEST, (a - b) / c),
                      UNLESS(c <= 4 * SMALLEST, (b - a) / c))
