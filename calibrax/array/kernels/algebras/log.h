/* Logarithms of sums: log(sum of exp(a + b)).  A product goes a way of its own, by a real product
 * of exponentials with a certificate for each element (semiring_log.h), an ELL row by its largest
 * term first (log_row of ell_float.h); so does its dense derivative. */
CBX_ALGEBRA(LOG, .name = "log", .combine = "a + b", .update = "acc + exp(t)", .finalize = "log(acc)",
            .identity = -INFINITY, .empty = -INFINITY, .has_annihilator = true, .annihilator = -INFINITY,
            .nan_rule = "NaN", .plus_inf_rule = "+inf, unless a term is NaN",
            .minus_inf_rule = "the term is masked; -inf if all are", .is_exact = false)
CBX_ALGEBRA_TRAITS(LOG, .derivative = CBX__BY_SCALED_PRODUCTS, .flop = 2, .on_gpu = true)
/* the largest term; the sum of exp comes after it */
CBX_ALGEBRA_DEFINE(LOG, a + b, LARGER(acc, t), acc,
                   isnan(x) || isnan(y) ? x + y
                   : isinf(hi)          ? hi
                                        : hi + LOG1P(EXP(lo - hi)))

CBX_ALGEBRA_STEPS(LOG, FMA, FMA, FMA, NAN_ALONE, LOG, LOG)
CBX_ALGEBRA_MERGE(LOG, isnan(x) || isnan(y) ? x + y : isinf(hi) ? hi : hi + LOG1P(EXP(lo - hi)), cbx_logaddexp)
CBX_ALGEBRA_GRADIENTS(LOG, a + b, UNLESS(a + b == -(T)INFINITY, VEXP(a + b - c)),
                      UNLESS(a + b == -(T)INFINITY, VEXP(a + b - c)))
