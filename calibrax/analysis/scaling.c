/*
 * Every model is c g(x; theta) or a + c g(x; theta): the linear parameters follow from theta in closed form, theta is searched.
 *
 * Sums run over u = g/y and v = 1/y, so that the residual is 1 - a v - c u.  a and c are kept >= 0: a time has no negative part.
 */
#include "calibrax/analysis/scaling.h"

#include <math.h>
#include <string.h>

#include "calibrax/statistics/distribution.h"

#define MIN_POWER -4.0
#define MAX_POWER 8.0
/** A fit this good is exact; logarithms of less mean nothing. */
#define LEAST_SQUARE 1e-26

typedef struct data {
    const double *x, *y;
    size_t n;
    double x_scale; /* geometric mean of x, so that powers stay near 1 */
} data;

typedef struct linear {
    double a, c, square; /* y = a + c g, sum of squared relative residuals */
} linear;

typedef double (*shape)(double x, const double *theta);

/* --- linear part --- */

static double square_of(const data *d, shape g, const double *theta, double a, double c)
{
    double sum = 0;

    for (size_t i = 0; i < d->n; i++) {
        double r = 1 - (a + c * g(d->x[i], theta)) / d->y[i];
        sum += r * r;
    }
    return sum;
}

/* 2 by 2 normal equations; where one parameter would be negative, the other alone. */
static linear solve(const data *d, shape g, const double *theta, bool intercept)
{
    double u = 0, v = 0, uu = 0, uv = 0, vv = 0, det;
    linear l = { 0, 0, 0 };

    for (size_t i = 0; i < d->n; i++) {
        double gi = g(d->x[i], theta) / d->y[i], wi = 1 / d->y[i];
        u += gi;
        v += wi;
        uu += gi * gi;
        uv += gi * wi;
        vv += wi * wi;
    }
    det = uu * vv - uv * uv;
    if (intercept && det > 1e-13 * uu * vv) {
        l.c = (u * vv - v * uv) / det;
        l.a = (v * uu - u * uv) / det;
    }
    if (!intercept || !(l.a > 0) || !(l.c >= 0)) {
        linear flat = { intercept ? v / vv : 0, 0, 0 };
        l = (linear){ 0, fmax(u / uu, 0), 0 };
        l.square = square_of(d, g, theta, l.a, l.c);
        flat.square = intercept ? square_of(d, g, theta, flat.a, 0) : INFINITY;
        return flat.square < l.square ? flat : l;
    }
    l.square = square_of(d, g, theta, l.a, l.c);
    return l;
}

/* --- search over one parameter --- */

typedef struct profile {
    const data *d;
    shape g;
    bool intercept;
    double theta[2];
    int which, others; /* the parameter searched; others: how many more there are */
    double lo[2], hi[2];
} profile;

static double best_other(const profile *p, double value, double *other);

static double square_at(const profile *p, double value)
{
    double theta[2] = { p->theta[0], p->theta[1] };

    theta[p->which] = value;
    if (p->others) return best_other(p, value, NULL);
    return solve(p->d, p->g, theta, p->intercept).square;
}

/* Golden section after a grid: the sum of squares need not have one valley. */
static double minimise(const profile *p, double lo, double hi)
{
    const double golden = 0.6180339887498949;
    double best = lo, least = INFINITY, step = (hi - lo) / 48, a, b, c, d, fc, fd;

    for (int i = 0; i <= 48; i++) {
        double f = square_at(p, lo + step * i);
        if (f < least) least = f, best = lo + step * i;
    }
    a = fmax(lo, best - step);
    b = fmin(hi, best + step);
    c = b - golden * (b - a);
    d = a + golden * (b - a);
    fc = square_at(p, c);
    fd = square_at(p, d);
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
    return square_at(p, c) <= least ? c : best;
}

/* The least over the other parameter with this one held. */
static double best_other(const profile *p, double value, double *other)
{
    profile q = *p;
    double at;

    q.theta[p->which] = value;
    q.which = 1 - p->which;
    q.others = 0;
    at = minimise(&q, q.lo[q.which], q.hi[q.which]);
    if (other) *other = at;
    return square_at(&q, at);
}

/* Where the profile passes the limit on one side of the best; the end of the range if it does not. */
static double crossing(const profile *p, double best, double end, double limit)
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

static cbx_interval interval_of(const profile *p, double best, size_t nparameters, double level)
{
    double least = square_at(p, best), t;
    size_t df = p->d->n > nparameters ? p->d->n - nparameters : 0;
    cbx_interval iv = { best, p->lo[p->which], p->hi[p->which], 0 };

    if (!df) return iv;
    t = cbx_stat_t_quantile((1 + level) / 2, (double)df);
    least = fmax(least, LEAST_SQUARE) * (1 + t * t / (double)df);
    iv.lower = crossing(p, best, iv.lower, least);
    iv.upper = crossing(p, best, iv.upper, least);
    iv.level = level;
    return iv;
}

/* --- checks --- */

static size_t count_different(const double *x, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++) seen = x[k] == x[i];
        count += !seen;
    }
    return count;
}

static cbx_status check(const double *x, const double *y, size_t n, size_t least, double level, cbx_err *err)
{
    size_t different;

    if (!(level > 0 && level < 1)) return cbx_fail(err, CBX_EINVAL, "level %g is not between 0 and 1", level);
    for (size_t i = 0; i < n; i++)
        if (!(x[i] > 0 && y[i] > 0 && isfinite(x[i]) && isfinite(y[i])))
            return cbx_fail(err, CBX_EDOM, "point %zu (%g, %g) is not positive and finite", i, x[i], y[i]);
    different = count_different(x, n);
    if (different < least)
        return cbx_fail(err, CBX_EINVAL, "%zu different sizes tell no law, at least %zu are needed", different, least);
    return CBX_OK;
}

static double geometric_mean(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) sum += log(x[i]) / (double)n;
    return exp(sum);
}

/* --- growth --- */

/* theta[0]: exponent, theta[1]: scale of x */
static double power_shape(double x, const double *theta) { return pow(x / theta[1], theta[0]); }

/* theta[0]: the order; theta[1]: scale of x for powers, which logarithms of sizes do not know */
static double order_shape(double x, const double *theta)
{
    double r = x / theta[1], l = log2(x + 1);

    switch ((cbx_complexity)theta[0]) {
    case CBX_COMPLEXITY_LOG: return l;
    case CBX_COMPLEXITY_SQRT: return sqrt(r);
    case CBX_COMPLEXITY_LINEAR: return r;
    case CBX_COMPLEXITY_N_LOG_N: return r * l;
    case CBX_COMPLEXITY_N_SQRT_N: return r * sqrt(r);
    case CBX_COMPLEXITY_QUADRATIC: return r * r;
    case CBX_COMPLEXITY_QUADRATIC_LOG: return r * r * l;
    case CBX_COMPLEXITY_CUBIC: return r * r * r;
    default: return 1;
    }
}

/* k counts the linear parameters and the variance. */
static double aicc(double square, size_t n, size_t k)
{
    double m = (double)n, p = (double)k;
    return m * log(fmax(square, LEAST_SQUARE) / m) + 2 * p + (m - p - 1 > 0 ? 2 * p * (p + 1) / (m - p - 1) : INFINITY);
}

static double unscaled(cbx_complexity order, double c, double scale)
{
    static const double power[] = { 0, 0, 0.5, 1, 1, 1.5, 2, 2, 3 };
    return c / pow(scale, power[order]);
}

static void choose_order(const data *d, size_t different, cbx_growth *out)
{
    double score[CBX_COMPLEXITY_COUNT], least = INFINITY, sum = 0;

    for (int k = 0; k < CBX_COMPLEXITY_COUNT; k++) {
        double theta[2] = { k, d->x_scale };
        score[k] = INFINITY;
        for (int with = 0; with <= (k != CBX_COMPLEXITY_CONSTANT && different >= 5); with++) {
            linear l = solve(d, order_shape, theta, with);
            double s = aicc(l.square, d->n, 2 + (size_t)with);
            if (with && !(l.a > 0 && l.c > 0)) continue; /* the model without */
            score[k] = fmin(score[k], s);
            if (s >= least) continue;
            least = s;
            out->order = (cbx_complexity)k;
            out->intercept = with;
            out->intercept_value = l.a;
            out->coefficient = unscaled((cbx_complexity)k, l.c, d->x_scale);
            out->relative_error = sqrt(l.square / (double)d->n);
        }
    }
    for (int k = 0; k < CBX_COMPLEXITY_COUNT; k++) sum += exp((least - score[k]) / 2);
    for (int k = 0; k < CBX_COMPLEXITY_COUNT; k++) out->weight[k] = exp((least - score[k]) / 2) / sum;
}

cbx_status cbx_scaling_growth(cbx_ctx *ctx, const double *sizes, const double *y, size_t n, double level,
                              cbx_growth *out, cbx_err *err)
{
    data d = { sizes, y, n, 1 };
    cbx_status st = check(sizes, y, n, 4, level, err);
    cbx_growth g = { 0 };
    profile p;
    double best;
    linear l;

    (void)ctx;
    if (st) return st;
    d.x_scale = geometric_mean(sizes, n);
    choose_order(&d, count_different(sizes, n), &g);
    p = (profile){ &d, power_shape, g.intercept, { 0, d.x_scale }, 0, 0, { MIN_POWER, 0 }, { MAX_POWER, 0 } };
    best = minimise(&p, MIN_POWER, MAX_POWER);
    g.exponent = interval_of(&p, best, 2 + (size_t)g.intercept, level);
    l = solve(&d, power_shape, (double[]){ best, d.x_scale }, g.intercept);
    g.power_intercept = l.a;
    g.power_coefficient = l.c / pow(d.x_scale, best);
    *out = g;
    return CBX_OK;
}

#define WORDS(name, words) words,
static const char *const complexity_names[] = { CBX_COMPLEXITY_MAP(WORDS) };
#undef WORDS

const char *cbx_complexity_name(cbx_complexity c)
{
    return (unsigned)c < CBX_LEN(complexity_names) ? complexity_names[c] : "?";
}

/* --- speed-up --- */

static double amdahl(double p, const double *theta) { return theta[0] + (1 - theta[0]) / p; }
static double gustafson(double p, const double *theta) { return theta[0] + (1 - theta[0]) * p; }
static double usl(double p, const double *theta) { return p / (1 + theta[0] * (p - 1) + theta[1] * p * (p - 1)); }

static const struct {
    shape g;
    size_t least_points;
    int nparameters;
} laws[] = {
    [CBX_LAW_AMDAHL] = { amdahl, 3, 1 }, [CBX_LAW_GUSTAFSON] = { gustafson, 3, 1 }, [CBX_LAW_USL] = { usl, 4, 2 }
};

cbx_status cbx_scaling_speedup(cbx_ctx *ctx, cbx_speedup_law law, const double *workers, const double *y, size_t n,
                               double level, cbx_speedup_fit *out, cbx_err *err)
{
    data d = { workers, y, n, 1 };
    cbx_speedup_fit f = { .peak_workers = NAN };
    cbx_status st;
    double theta[2] = { 0, 0 };
    profile p;
    linear l;

    (void)ctx;
    if ((unsigned)law >= CBX_LEN(laws)) return cbx_fail(err, CBX_EINVAL, "no such law");
    st = check(workers, y, n, laws[law].least_points, level, err);
    if (st) return st;
    p = (profile){ &d, laws[law].g, false, { 0, 0 }, 0, laws[law].nparameters - 1, { 0, 0 }, { 1, 1 } };
    theta[0] = minimise(&p, p.lo[0], p.hi[0]);
    if (p.others) best_other(&p, theta[0], &theta[1]);
    for (int k = 0; k < laws[law].nparameters; k++) {
        p.which = k;
        f.parameter[k] = interval_of(&p, theta[k], (size_t)laws[law].nparameters + 1, level);
    }
    if (laws[law].nparameters < 2) f.parameter[1] = (cbx_interval){ NAN, NAN, NAN, 0 };
    l = solve(&d, laws[law].g, theta, false);
    f.scale = l.c;
    f.relative_error = sqrt(l.square / (double)n);
    if (law == CBX_LAW_USL) f.peak_workers = theta[1] > 1e-9 ? sqrt((1 - theta[0]) / theta[1]) : INFINITY;
    *out = f;
    return CBX_OK;
}
