/* Sign tests and Holm's adjustment.  A paired ratio of a few launches has no distribution one could
 * name, so its p-value is a binomial sum, as its interval's level is. */
#include "calibrax/statistics/significance.h"

#include <math.h>
#include <stdbool.h>

#include "calibrax/statistics/estimate.h"

double cbx_stat_sign_test_p(size_t below, size_t above)
{
    size_t n = below + above, fewer = below < above ? below : above;
    return n ? fmin(1.0, 2 * cbx_stat_binomial_half_cdf((long)fewer, n)) : 1.0;
}

double cbx_stat_equivalence_p(const double *x, size_t n, double lower, double upper)
{
    size_t low = 0, high = 0;

    for (size_t i = 0; i < n; i++) {
        low += !(x[i] > lower);
        high += !(x[i] < upper);
    }
    return n ? cbx_stat_binomial_half_cdf((long)(low > high ? low : high), n) : 1.0;
}

/* Equal values keep the order given. */
static bool ranks_before(const double *p, size_t a, size_t b) { return p[a] < p[b] || (p[a] == p[b] && a < b); }

void cbx_stat_holm(const double *p, size_t m, double *adjusted)
{
    double min = 0;

    for (size_t i = 0; i < m; i++) adjusted[i] = -1;
    for (size_t done = 0; done < m; done++) {
        size_t next = m;
        for (size_t i = 0; i < m; i++) {
            if (adjusted[i] < 0 && (next == m || ranks_before(p, i, next))) next = i;
        }
        min = fmax(min, fmin(1.0, (double)(m - done) * p[next]));
        adjusted[next] = min;
    }
}
