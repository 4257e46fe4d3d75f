/* t tests and their equivalence forms.  Means and variances are taken about the first value
 * (sample.h), so a constant sample has a variance of exactly 0 and clocks that count nanoseconds
 * lose nothing. */
#include <math.h>

#include "calibrax/statistics/distribution.h"
#include "calibrax/statistics/sample.h"
#include "calibrax/statistics/test.h"

/* A difference, its standard error and degrees of freedom. */
typedef struct contrast {
    double difference, error, df;
} contrast;

static cbx_test t_test(const char *method, const contrast *c, double against)
{
    cbx_test r = { .method = method, .df = c->df };
    double away = c->difference - against;

    r.statistic = c->error > 0 ? away / c->error : away > 0 ? INFINITY : away < 0 ? -INFINITY : 0;
    r.p_less = cbx_stat_t_cdf(r.statistic, c->df);
    r.p_greater = cbx_stat_t_sf(r.statistic, c->df);
    r.p = fmin(1.0, 2 * fmin(r.p_less, r.p_greater));
    return r;
}

static cbx_status welch_contrast(const double *x, size_t n, const double *y, size_t m, contrast *out, cbx_err *err)
{
    cbx__moments a, b;
    cbx_status st = cbx__moments_of_two(x, n, 2, y, m, 2, &a, &b, err);

    if (st) return st;
    double ea = a.stddev / sqrt((double)n), eb = b.stddev / sqrt((double)m), max = fmax(ea, eb);
    *out = (contrast){ cbx__mean_difference(&a, &b), hypot(ea, eb), (double)(n + m - 2) };
    if (max > 0) { /* scaled, so that squares neither overflow nor vanish */
        double wa = (ea / max) * (ea / max), wb = (eb / max) * (eb / max);
        out->df = (wa + wb) * (wa + wb) / (wa * wa / (double)(n - 1) + wb * wb / (double)(m - 1));
    }
    return CBX_OK;
}

cbx_status cbx_stat_test_welch(const double *x, size_t n, const double *y, size_t m, cbx_test *out, cbx_err *err)
{
    contrast c;
    cbx_status st = welch_contrast(x, n, y, m, &c, err);

    if (!st) *out = t_test("welch t", &c, 0);
    return st;
}

cbx_status cbx_stat_test_student(const double *x, size_t n, const double *y, size_t m, cbx_test *out, cbx_err *err)
{
    cbx__moments a, b;
    cbx_status st = cbx__moments_of_two(x, n, 2, y, m, 2, &a, &b, err);

    if (st) return st;
    const contrast c = { cbx__mean_difference(&a, &b), cbx__pooled_stddev(&a, &b) * sqrt(1 / (double)n + 1 / (double)m),
                         (double)(n + m - 2) };
    *out = t_test("student t", &c, 0);
    return CBX_OK;
}

static contrast mean_contrast(const double *x, size_t n, double mean)
{
    cbx__moments a = cbx__moments_of(x, n);
    return (contrast){ (a.origin - mean) + a.offset, a.stddev / sqrt((double)n), (double)(n - 1) };
}

cbx_status cbx_stat_test_mean(const double *x, size_t n, double mean, cbx_test *out, cbx_err *err)
{
    cbx_status st = cbx__sample_check(x, n, 2, err);

    if (st) return st;
    if (!isfinite(mean)) return cbx_fail(err, CBX_EDOM, "the mean to test against is not finite");
    contrast c = mean_contrast(x, n, mean);
    *out = t_test("one-sample t", &c, 0);
    return CBX_OK;
}

static cbx_status paired_contrast(cbx_ctx *ctx, const double *x, const double *y, size_t n, contrast *out, cbx_err *err)
{
    cbx__scratch double *d = NULL;
    cbx_status st = cbx__sample_check(x, n, 2, err);

    if (!st) st = cbx__sample_check(y, n, 2, err);
    if (!st) st = cbx__doubles(ctx, n, &d, err);
    if (st) return st;
    for (size_t i = 0; i < n; i++) d[i] = x[i] - y[i];
    st = cbx__sample_check(d, n, 2, err);
    if (!st) *out = mean_contrast(d, n, 0);
    return st;
}

cbx_status cbx_stat_test_paired_t(cbx_ctx *ctx, const double *x, const double *y, size_t n, cbx_test *out, cbx_err *err)
{
    contrast c;
    cbx_status st = paired_contrast(ctx, x, y, n, &c, err);

    if (!st) *out = t_test("paired t", &c, 0);
    return st;
}

static cbx_status bounds_check(double lower, double upper, cbx_err *err)
{
    if (isfinite(lower) && isfinite(upper) && lower < upper) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "bounds of equivalence %g and %g are not in order", lower, upper);
}

/* Without spread a difference on a bound gives 1/2: undecided. */
static cbx_test tost(const char *method, const contrast *c, double lower, double upper)
{
    cbx_test above = t_test(method, c, lower), below = t_test(method, c, upper);

    cbx_test r = above.p_greater >= below.p_less ? above : below;
    r.p_greater = above.p_greater;
    r.p_less = below.p_less;
    r.p = fmax(r.p_greater, r.p_less);
    return r;
}

cbx_status cbx_stat_tost_welch(const double *x, size_t n, const double *y, size_t m, double lower, double upper,
                               cbx_test *out, cbx_err *err)
{
    contrast c;
    cbx_status st = bounds_check(lower, upper, err);

    if (!st) st = welch_contrast(x, n, y, m, &c, err);
    if (!st) *out = tost("two one-sided welch t", &c, lower, upper);
    return st;
}

cbx_status cbx_stat_tost_paired(cbx_ctx *ctx, const double *x, const double *y, size_t n, double lower, double upper,
                                cbx_test *out, cbx_err *err)
{
    contrast c;
    cbx_status st = bounds_check(lower, upper, err);

    if (!st) st = paired_contrast(ctx, x, y, n, &c, err);
    if (!st) *out = tost("two one-sided paired t", &c, lower, upper);
    return st;
}
