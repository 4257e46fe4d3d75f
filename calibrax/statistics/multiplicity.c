/* Corrections over a table, all on the sorted p-values: a factor each, then a running maximum from
 * below or minimum from above. Wright, Biometrics 48 (1992) 1005-1013, states them as adjusted
 * p-values. */
#include "calibrax/statistics/multiplicity.h"

#include <math.h>
#include <stdint.h>

#include "calibrax/statistics/estimate.h"
#include "calibrax/statistics/sample.h"

/* From the largest down: the least of factor(i) p_(i) so far. */
static void step_up(double *p, size_t m, cbx_correction c)
{
    double min = 1, scale = c == CBX_CORRECTION_BENJAMINI_YEKUTIELI ? 0 : 1;

    for (size_t i = m; i > 0 && c == CBX_CORRECTION_BENJAMINI_YEKUTIELI; i--) scale += 1 / (double)i;
    for (size_t i = m; i > 0; i--) {
        double factor = c == CBX_CORRECTION_HOCHBERG ? (double)(m - i + 1) : scale * (double)m / (double)i;
        min = fmin(min, factor * p[i - 1]);
        p[i - 1] = min;
    }
}

/* Wright's form of Hommel: a_i starts at the Simes value of all, and each smaller family k = m-1
 * ... 2 may raise it. */
static void hommel(double *p, size_t m, double *a)
{
    double simes = 1;

    for (size_t i = 0; i < m; i++) simes = fmin(simes, (double)m * p[i] / (double)(i + 1));
    for (size_t i = 0; i < m; i++) a[i] = simes;
    for (size_t k = m - 1; k >= 2 && k < m; k--) {
        double tail = 1;
        for (size_t i = 2; i <= k; i++) tail = fmin(tail, (double)k * p[m - k + i - 1] / (double)i);
        for (size_t i = 0; i <= m - k; i++) a[i] = fmax(a[i], fmin(tail, (double)k * p[i]));
        for (size_t i = m - k + 1; i < m; i++) a[i] = fmax(a[i], a[m - k]);
    }
    for (size_t i = 0; i < m; i++) p[i] = fmin(1.0, fmax(a[i], p[i]));
}

const char *cbx_correction_name(cbx_correction correction)
{
    static const char *const names[] = { "bonferroni",         "holm", "hochberg", "hommel", "benjamini-hochberg",
                                         "benjamini-yekutieli" };
    return (unsigned)correction < CBX_LEN(names) ? names[correction] : NULL;
}

cbx_status cbx_stat_adjust(cbx_ctx *ctx, cbx_correction correction, const double *p, size_t m, double *adjusted,
                           cbx_err *err)
{
    cbx__scratch double *work = NULL;

    if (!cbx_correction_name(correction)) return cbx_fail(err, CBX_EINVAL, "unknown correction %d", (int)correction);
    for (size_t i = 0; i < m; i++)
        if (!(p[i] >= 0 && p[i] <= 1))
            return cbx_fail(err, CBX_EDOM, "p-value %zu is %g: not between 0 and 1", i, p[i]);
    if (m == 0) return CBX_OK;
    cbx_status st = cbx__doubles(ctx, m > SIZE_MAX / 3 ? SIZE_MAX : 3 * m, &work, err);
    if (st) return st;
    double *sorted = work;
    double *values = work + m;
    for (size_t i = 0; i < m; i++) sorted[i] = p[i];
    cbx_stat_sort(sorted, m);
    for (size_t i = 0; i < m; i++) values[i] = sorted[i];
    switch (correction) {
    case CBX_CORRECTION_BONFERRONI:
        for (size_t i = 0; i < m; i++) values[i] = fmin(1.0, (double)m * values[i]);
        break;
    case CBX_CORRECTION_HOLM:
        for (size_t i = 0; i < m; i++) values[i] = fmax(i ? values[i - 1] : 0, fmin(1.0, (double)(m - i) * values[i]));
        break;
    case CBX_CORRECTION_HOMMEL: hommel(values, m, work + 2 * m); break;
    case CBX_CORRECTION_HOCHBERG:
    case CBX_CORRECTION_BENJAMINI_HOCHBERG:
    case CBX_CORRECTION_BENJAMINI_YEKUTIELI: step_up(values, m, correction); break;
    }
    /* ties are adjusted alike: their last place holds what the running maximum or minimum gives
     * them all */
    for (size_t i = 0; i < m; i++) adjusted[i] = values[cbx__count_upto(sorted, m, p[i]) - 1];
    return CBX_OK;
}

/* ---- sign tests.  A paired ratio of a few launches has no known distribution, so its p-value is a
 * binomial sum, as the level of its interval is ---- */

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

void cbx_stat_holm(const double *p, size_t m, double *adjusted)
{
    double min = 0;

    for (size_t i = 0; i < m; i++) adjusted[i] = -1;
    for (size_t done = 0; done < m; done++) {
        size_t next = m;
        for (size_t i = 0; i < m; i++) {
            if (adjusted[i] < 0 && (next == m || (p[i] < p[next] || (p[i] == p[next] && i < next)))) next = i;
        }
        min = fmax(min, fmin(1.0, (double)(m - done) * p[next]));
        adjusted[next] = min;
    }
}
