/* Classes of a launch by change points.
 *
 * Workload: 2000 epochs with a handful of levels and single wild values.  Prefix sums make the cost
 * of a segment two subtractions. */
#include "calibrax/statistics/steady.h"

#include <math.h>
#include <string.h>

#include "calibrax/statistics/sample.h"

#define CUT          3.0
#define SAME_NOISE   0.1
#define MAD_TO_SIGMA 1.48260221850560186
enum { SHORTEST = 5, MIN = 10, NEAR = 9 };

typedef struct levels {
    size_t n;
    double *clean;                 /* wild values pulled in, less the first value */
    double *sum, *squares;         /* prefix sums of clean, n + 1 */
    double *best;                  /* least cost of the first i, n + 1 */
    double *work;                  /* n + 1 */
    double *at, *at_sum, *at_rest; /* starts that may still win: place, sum there, best less squares there; n + 1 */
    size_t *last;                  /* where the last segment of the first i begins, n + 1 */
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

static void prefix(levels *l)
{
    l->sum[0] = l->squares[0] = 0;
    for (size_t i = 0; i < l->n; i++) {
        l->sum[i + 1] = l->sum[i] + l->clean[i];
        l->squares[i + 1] = l->squares[i] + l->clean[i] * l->clean[i];
    }
}

static double max_of(const double *x, size_t n)
{
    double max[4] = { x[0], x[0], x[0], x[0] };
    size_t i = 0;

    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++) max[k] = x[i + k] > max[k] ? x[i + k] : max[k];
    for (; i < n; i++) max[0] = x[i] > max[0] ? x[i] : max[0];
    return fmax(fmax(max[0], max[1]), fmax(max[2], max[3]));
}

/* Starts that cost more than the best so far even without a penalty never win again. */
static size_t prune(levels *l, size_t open, double min)
{
    size_t kept = 0;

    if (max_of(l->work, open) <= min) return open;
    for (size_t k = 0; k < open; k++) {
        if (l->work[k] > min) continue;
        l->at[kept] = l->at[k];
        l->at_sum[kept] = l->at_sum[k];
        l->at_rest[kept++] = l->at_rest[k];
    }
    return kept;
}

static void open_start(levels *l, size_t place, size_t start)
{
    l->at[place] = (double)start;
    l->at_sum[place] = l->sum[start];
    l->at_rest[place] = l->best[start] - l->squares[start];
}

/* PELT. */
static void segment(levels *l, double penalty)
{
    size_t open = 1;

    l->best[0] = -penalty;
    open_start(l, 0, 0);
    for (size_t to = SHORTEST; to <= l->n; to++) {
        size_t winner;
        /* Cost of the first `to` values for each open start, less the penalty: the loop that all the time
         * goes into. */
        const double sum = l->sum[to], squares = l->squares[to], end = (double)to;
        const double *restrict at = l->at, *restrict at_sum = l->at_sum, *restrict at_rest = l->at_rest;
        double *restrict work = l->work;

        for (size_t k = 0; k < open; k++) {
            double s = sum - at_sum[k];
            work[k] = (at_rest[k] + squares) - s * s / (end - at[k]);
        }
        double min[4] = { l->work[0], l->work[0], l->work[0], l->work[0] };
        size_t i = 0;
        for (; i + 4 <= open; i += 4)
            for (size_t k = 0; k < 4; k++) min[k] = l->work[i + k] < min[k] ? l->work[i + k] : min[k];
        for (; i < open; i++) min[0] = l->work[i] < min[0] ? l->work[i] : min[0];
        double all = fmin(fmin(min[0], min[1]), fmin(min[2], min[3]));
        for (i = 0; l->work[i] != all; i++) continue;
        winner = i;
        l->best[to] = l->work[winner] + penalty;
        l->last[to] = (size_t)l->at[winner];
        open = prune(l, open, l->best[to]);
        if (to + 1 >= 2 * SHORTEST) open_start(l, open++, to + 1 - SHORTEST);
    }
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

/* Noise without any levels known: half the mean square of steps, cut as the values are. */
static double step_variance(const levels *l)
{
    double *step = l->work;

    for (size_t i = 1; i < l->n; i++) step[i - 1] = fabs(l->clean[i] - l->clean[i - 1]);
    double sigma = MAD_TO_SIGMA * cbx__quantile_select(step, l->n - 1, 0.5);
    return sigma * sigma / 2;
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

static void find_levels(levels *l, const double *x, double penalty, double *dependence)
{
    *dependence = 0;
    for (size_t i = 0; i <= l->n; i++) l->last[i] = 0;
    if (l->n < MIN) {
        for (size_t i = 0; i < l->n; i++) l->clean[i] = x[i] - x[0];
        prefix(l);
        return;
    }
    /* Distances from the local median are cut to 3 deviations, which come from the distances
     * themselves. */
    for (size_t i = 0; i < l->n; i++) l->clean[i] = l->best[i] = local_median(x, l->n, i);
    for (size_t i = 0; i < l->n; i++) l->work[i] = fabs(x[i] - l->clean[i]);
    double sigma = MAD_TO_SIGMA * 1.2 *
                   cbx__quantile_select(l->work, l->n, 0.5); /* the local median takes a share of the noise */
    for (size_t i = 0; i < l->n; i++) {
        double d = x[i] - l->best[i];
        if (sigma > 0) d = fmin(fmax(d, -CUT * sigma), CUT * sigma);
        l->clean[i] = (l->best[i] - x[0]) + d;
    }
    prefix(l);
    double first = step_variance(l);
    segment(l, penalty * first);
    double variance = residuals(l, dependence);
    if (*dependence > 0) variance *= (1 + *dependence) / (1 - *dependence);
    if (fabs(variance - first) <= SAME_NOISE * first) return; /* the penalty was right */
    segment(l, penalty * fmax(variance, 1e-30 * l->squares[l->n]));
}

static cbx_status levels_open(cbx_ctx *ctx, size_t n, levels *l, cbx_err *err)
{
    cbx_status st = cbx__doubles(ctx, 8 * (n + 1), &l->clean, err);

    if (st) return st;
    l->n = n;
    l->sum = l->clean + n + 1;
    l->squares = l->sum + n + 1;
    l->best = l->squares + n + 1;
    l->work = l->best + n + 1;
    l->at = l->work + n + 1;
    l->at_sum = l->at + n + 1;
    l->at_rest = l->at_sum + n + 1;
    l->last = cbx_mem_calloc(cbx_ctx_allocator(ctx), n + 1, sizeof *l->last);
    if (!l->last) return cbx_fail(err, CBX_ENOMEM, "no memory for the levels of %zu values", n);
    return CBX_OK;
}

cbx_status cbx_stat_steady(cbx_ctx *ctx, const double *x, size_t n, const cbx_steady_opts *opts, cbx_steady *out,
                           size_t *breaks, size_t capacity, cbx_err *err)
{
    cbx_steady_opts o = CBX_STEADY_OPTS_INIT;
    cbx_steady result = { CBX_STEADY_FLAT, 0, 0, 1, 0 };
    levels l = { 0 };
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_steady_opts", err);

    if (st) return st;
    if (!(o.tolerance >= 0 && o.tail > 0 && o.tail <= 1 && o.penalty > 0))
        return cbx_fail(err, CBX_EINVAL,
                        "steady-state options are out of range: 0 < tolerance, 0 < tail <= 1, 0 < penalty");
    st = cbx__sample_check(x, n, 1, err);
    if (!st) st = levels_open(ctx, n, &l, err);
    if (!st) {
        find_levels(&l, x, o.penalty * log((double)n), &result.dependence);
        classify(&l, x[0], o.tolerance, o.tail, &result);
        size_t segments = 0;
        for (size_t to = l.n; to > 0; to = l.last[to]) segments++;
        size_t place = segments - 1;
        for (size_t to = l.n; place > 0; to = l.last[to]) {
            place--;
            if (breaks && place < capacity) breaks[place] = l.last[to];
        }
        result.segments = segments;
        *out = result;
    }
    cbx__doubles_free(ctx, l.clean, 8 * (n + 1));
    cbx_mem_free(cbx_ctx_allocator(ctx), l.last, (n + 1) * sizeof *l.last);
    return st;
}

const char *cbx_steady_name(cbx_steady_class kind)
{
    static const char *const names[] = { "flat", "warm-up", "slowdown", "no steady state" };
    return (unsigned)kind < CBX_LEN(names) ? names[kind] : "?";
}
