/* Every model is c g(x; theta) or a + c g(x; theta): the linear parameters follow from theta in
 * closed form, theta is searched.
 *
 * Sums run over u = g/y and v = 1/y, so that the residual is 1 - a v - c u.  a and c are kept >= 0:
 * a time has no negative part. */
#include "calibrax/statistics/relative_fit.h"

#include <math.h>

#include "calibrax/base/options.h"
#include "calibrax/statistics/distribution.h"

/* --- linear part --- */

static double square_of(const cbx__fit_data *d, cbx__fit_shape g, const double *theta, double a, double c)
{
    double sum = 0;

    for (size_t i = 0; i < d->n; i++) {
        double r = 1 - (a + c * g(d->x[i], theta)) / d->y[i];
        sum += r * r;
    }
    return sum;
}

/* 2 by 2 normal equations; where one parameter would be negative, the other alone. */
cbx__fit_linear cbx__fit_solve(const cbx__fit_data *d, cbx__fit_shape g, const double *theta, bool intercept)
{
    double u = 0, v = 0, uu = 0, uv = 0, vv = 0;
    cbx__fit_linear l = { 0, 0, 0 };

    for (size_t i = 0; i < d->n; i++) {
        double gi = g(d->x[i], theta) / d->y[i], wi = 1 / d->y[i];
        u += gi;
        v += wi;
        uu += gi * gi;
        uv += gi * wi;
        vv += wi * wi;
    }
    double det = uu * vv - uv * uv;
    if (intercept && det > 1e-13 * uu * vv) {
        l.c = (u * vv - v * uv) / det;
        l.a = (v * uu - u * uv) / det;
    }
    if (!intercept || !(l.a > 0) || !(l.c >= 0)) {
        cbx__fit_linear flat = { intercept ? v / vv : 0, 0, 0 };
        l = (cbx__fit_linear){ 0, fmax(u / uu, 0), 0 };
        l.square = square_of(d, g, theta, l.a, l.c);
        flat.square = intercept ? square_of(d, g, theta, flat.a, 0) : INFINITY;
        return flat.square < l.square ? flat : l;
    }
    l.square = square_of(d, g, theta, l.a, l.c);
    return l;
}

/* --- search over one parameter --- */

static double square_at(const cbx__fit_profile *p, double value)
{
    double theta[2] = { p->theta[0], p->theta[1] };

    theta[p->which] = value;
    if (p->others) return cbx__fit_other(p, value, NULL);
    return cbx__fit_solve(p->d, p->g, theta, p->intercept).square;
}

/* Golden section after a grid: the sum of squares need not have one valley. */
double cbx__fit_minimise(const cbx__fit_profile *p, double lo, double hi)
{
    const double golden = 0.6180339887498949;
    double best = lo, min = INFINITY, step = (hi - lo) / 48;

    for (int i = 0; i <= 48; i++) {
        double f = square_at(p, lo + step * i);
        if (f < min) min = f, best = lo + step * i;
    }
    double a = fmax(lo, best - step);
    double b = fmin(hi, best + step);
    double c = b - golden * (b - a);
    double d = a + golden * (b - a);
    double fc = square_at(p, c);
    double fd = square_at(p, d);
    while (b - a > 1e-10 * (1 + fabs(a))) {
        if (fc < fd) {
            b = d, d = c, fd = fc;
            c = b - golden * (b - a);
            fc = square_at(p, c);
        } else {
            a = c, c = d, fc = fd;
            d = a + golden * (b - a);
            fd = square_at(p, d);
        }
    }
    c = (a + b) / 2;
    return square_at(p, c) <= min ? c : best;
}

/* The least over the other parameter with this one held. */
double cbx__fit_other(const cbx__fit_profile *p, double value, double *other)
{
    cbx__fit_profile q = *p;

    q.theta[p->which] = value;
    q.which = 1 - p->which;
    q.others = 0;
    double at = cbx__fit_minimise(&q, q.lo[q.which], q.hi[q.which]);
    if (other) *other = at;
    return square_at(&q, at);
}

/* Where the profile passes the limit on one side of the best; the end of the range if it does not.
 */
static double crossing(const cbx__fit_profile *p, double best, double end, double limit)
{
    double in = best, out = end;

    if (square_at(p, end) <= limit) return end;
    for (int i = 0; i < 60 && fabs(out - in) > 1e-12 * (1 + fabs(in)); i++) {
        double mid = (in + out) / 2;
        if (square_at(p, mid) <= limit)
            in = mid;
        else
            out = mid;
    }
    return (in + out) / 2;
}

cbx_interval cbx__fit_interval(const cbx__fit_profile *p, double best, size_t nparameters, double level)
{
    double min = square_at(p, best);
    size_t df = p->d->n > nparameters ? p->d->n - nparameters : 0;
    cbx_interval iv = { best, p->lo[p->which], p->hi[p->which], 0 };

    if (!df) return iv;
    double t = cbx_stat_t_quantile((1 + level) / 2, (double)df);
    min = fmax(min, CBX__FIT_MIN_SQUARE) * (1 + t * t / (double)df);
    iv.lower = crossing(p, best, iv.lower, min);
    iv.upper = crossing(p, best, iv.upper, min);
    iv.level = level;
    return iv;
}

/* --- checks --- */

size_t cbx__fit_different(const double *x, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++) seen = x[k] == x[i];
        count += !seen;
    }
    return count;
}

cbx_status cbx__fit_check(const double *x, const double *y, size_t n, size_t min, double level, cbx_err *err)
{
    cbx_status st = cbx_check_level("level", level, err);

    if (st) return st;
    for (size_t i = 0; i < n; i++)
        if (!(x[i] > 0 && y[i] > 0 && isfinite(x[i]) && isfinite(y[i])))
            return cbx_fail(err, CBX_EDOM, "point %zu (%g, %g) is not positive and finite", i, x[i], y[i]);
    size_t different = cbx__fit_different(x, n);
    if (different < min)
        return cbx_fail(err, CBX_EINVAL, "%zu different sizes are too few to fit a law: at least %zu are needed",
                        different, min);
    return CBX_OK;
}
