/* Classes of a launch by change points.
 *
 * Workload: 2000 epochs with a handful of levels and single wild values. */
#include "calibrax/statistics/steady.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/together.h"
#include "calibrax/statistics/partition.h"
#include "calibrax/statistics/sample.h"

#define CUT          3.0
#define SAME_NOISE   0.1
#define MAD_TO_SIGMA 1.48260221850560186
enum { SHORTEST = 5, MIN = 10, NEAR = 9 };

typedef struct levels {
    cbx_ctx *ctx;
    size_t n;
    double *clean; /* wild values pulled in, less the first value */
    double *sum;   /* prefix sums of clean, n + 1 */
    double *work, *usual;
    size_t *last; /* where the last segment of the first i begins, n + 1 */
} levels;

/* Of nine neighbours: wild values would have to be five of nine to pass for a level, and a step
 * stays where it is. */
static double local_median(const double *x, size_t n, size_t i)
{
    size_t half = NEAR / 2, from = i < half ? 0 : i + half >= n ? n - NEAR : i - half;
    double near[NEAR];

    memcpy(near, x + from, sizeof near);
    return cbx__select(near, NEAR, half);
}

/* The best levels of clean. */
static cbx_status segment(levels *l, double penalty, cbx_err *err)
{
    cbx__partition p;
    bool good;

    /* A penalty of 0 is of values without noise: no change gains nothing. */
    cbx__partition_init(&p, cbx_ctx_allocator(l->ctx), SHORTEST, fmax(penalty, DBL_MIN));
    good = cbx__partition_fill(&p, l->clean, l->n);
    for (size_t to = good ? l->n : 0; to > 0; to = l->last[to]) l->last[to] = p.nodes[to].last;
    cbx__partition_clear(&p);
    return good ? CBX_OK : cbx_fail_nomem(err, "the levels of a launch");
}

/* Residual variance and lag-1 autocorrelation about the levels found. */
static double residuals(levels *l, double *dependence)
{
    double squares = 0, products = 0, n = (double)l->n;
    size_t segments = 0;

    for (size_t to = l->n; to > 0; to = l->last[to], segments++) {
        double mean = (l->sum[to] - l->sum[l->last[to]]) / (double)(to - l->last[to]);
        for (size_t i = l->last[to]; i < to; i++) l->work[i] = l->clean[i] - mean;
    }
    for (size_t i = 0; i < l->n; i++) {
        squares += l->work[i] * l->work[i];
        if (i > 0) products += l->work[i] * l->work[i - 1];
    }
    *dependence = squares > 0 ? fmin(fmax(products / squares, -0.9), 0.9) : 0;
    return squares / fmax(1.0, n - (double)segments);
}

/* ---- classes ---- */

static double level_of(const levels *l, size_t from, size_t to, double origin)
{
    return origin + (l->sum[to] - l->sum[from]) / (double)(to - from);
}

/* a lies above b by more than the tolerance: 1; below: -1; else 0. */
static int compare_levels(double a, double b, double tolerance)
{
    double bound = tolerance * fmax(fabs(a), fabs(b));
    return a - b > bound ? 1 : b - a > bound ? -1 : 0;
}

static void classify(const levels *l, double origin, double tolerance, double tail, cbx_steady *out)
{
    size_t start = l->last[l->n], n = l->n;
    double level = level_of(l, start, n, origin);
    bool lower_before = false, higher_before = false;

    while (start > 0 && compare_levels(level_of(l, l->last[start], start, origin), level, tolerance) == 0)
        start = l->last[start];
    for (size_t to = start; to > 0; to = l->last[to]) {
        int c = compare_levels(level_of(l, l->last[to], to, origin), level, tolerance);
        lower_before = lower_before || c < 0;
        higher_before = higher_before || c > 0;
    }
    out->level = level_of(l, start, n, origin);
    out->start = start;
    if (start == 0)
        out->kind = CBX_STEADY_FLAT;
    else if ((double)(n - start) < tail * (double)n)
        out->kind = CBX_STEADY_NONE;
    else
        out->kind = lower_before ? CBX_STEADY_SLOWDOWN : CBX_STEADY_WARMUP;
    if (out->kind == CBX_STEADY_NONE) out->start = n;
}

static cbx_status find_levels(levels *l, const double *x, double penalty, double *dependence, cbx_err *err)
{
    double sigma = 0, squares = 0;

    for (size_t i = 0; i < l->n; i++) l->usual[i] = l->n < MIN ? x[i] : local_median(x, l->n, i);
    for (size_t i = 0; i < l->n; i++) l->work[i] = fabs(x[i] - l->usual[i]);
    /* Distances from the local median are cut to 3 deviations, which come from the distances
     * themselves; the local median takes a share of the noise. */
    sigma = MAD_TO_SIGMA * 1.2 * cbx__quantile_select(l->work, l->n, 0.5);
    for (size_t i = 0; i < l->n; i++) {
        double d = x[i] - l->usual[i];
        if (sigma > 0) d = fmin(fmax(d, -CUT * sigma), CUT * sigma);
        l->clean[i] = (l->usual[i] - x[0]) + d;
        l->sum[i + 1] = l->sum[i] + l->clean[i];
        squares += l->clean[i] * l->clean[i];
    }
    if (l->n < MIN) return CBX_OK;
    /* Noise without any levels known: half the mean square of steps, cut as the values are. */
    for (size_t i = 1; i < l->n; i++) l->work[i - 1] = fabs(l->clean[i] - l->clean[i - 1]);
    sigma = MAD_TO_SIGMA * cbx__quantile_select(l->work, l->n - 1, 0.5);
    double first = sigma * sigma / 2;
    cbx_status st = segment(l, penalty * first, err);
    if (st) return st;
    double variance = residuals(l, dependence);
    if (*dependence > 0) variance *= (1 + *dependence) / (1 - *dependence);
    if (fabs(variance - first) <= SAME_NOISE * first) return CBX_OK; /* the penalty was right */
    return segment(l, penalty * fmax(variance, 1e-30 * squares), err);
}

cbx_status cbx_stat_steady(cbx_ctx *ctx, const double *x, size_t n, const cbx_steady_opts *opts, cbx_steady *out,
                           size_t *breaks, size_t capacity, cbx_err *err)
{
    cbx_steady_opts o = CBX_STEADY_OPTS_INIT;
    cbx_steady result = { CBX_STEADY_FLAT, 0, 0, 1, 0 };
    levels l = { .ctx = ctx, .n = n };
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_steady_opts", err);

    if (st) return st;
    if (!(o.tolerance >= 0 && o.tail > 0 && o.tail <= 1 && o.penalty > 0))
        return cbx_fail(err, CBX_EINVAL,
                        "steady-state options are out of range: 0 < tolerance, 0 < tail <= 1, 0 < penalty");
    st = cbx__sample_check(x, n, 1, err);
    if (st) return st;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    if (!cbx_arena_arrays(&arena, CBX_ARRAY(l.clean, n), CBX_ARRAY(l.sum, n + 1), CBX_ARRAY(l.work, n),
                          CBX_ARRAY(l.usual, n), CBX_ARRAY(l.last, n + 1)))
        return cbx_fail_nomem(err, "the levels of a launch");
    st = find_levels(&l, x, o.penalty * log((double)n), &result.dependence, err);
    if (st) return st;
    classify(&l, x[0], o.tolerance, o.tail, &result);
    for (size_t to = l.last[n]; to > 0; to = l.last[to]) result.segments++;
    for (size_t to = l.last[n], place = result.segments - 1; to > 0; to = l.last[to], place--)
        if (breaks && place <= capacity) breaks[place - 1] = to;
    *out = result;
    return CBX_OK;
}

const char *cbx_steady_name(cbx_steady_class kind)
{
    static const char *const names[] = { "flat", "warm-up", "slowdown", "no steady state" };
    return CBX_WORD(names, kind);
}
