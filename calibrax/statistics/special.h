/* Inside statistics: incomplete beta and gamma functions, which all distributions here rest on.
 * Both tails are computed apart, so the small one keeps its digits. */
#ifndef CALIBRAX_STATISTICS_SPECIAL_H
#define CALIBRAX_STATISTICS_SPECIAL_H

typedef struct cbx__tails {
    double lower, upper; /* sum to 1 */
} cbx__tails;

/** Regularised incomplete beta function: lower = I_x(a, b), upper = 1 - I_x(a, b).
 * @param x, y  x in [0, 1] and y = 1 - x, both given so that neither loses digits; a, b > 0 and
 *   finite
 * Safe from any thread: one lock. */
cbx__tails cbx__beta_tails(double a, double b, double x, double y);

/** Regularised incomplete gamma function: lower = P(a, x), upper = Q(a, x); a > 0, x >= 0, both
 * finite.  Safe from any thread. */
cbx__tails cbx__gamma_tails(double a, double x);

#endif
