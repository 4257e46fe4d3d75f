/* Change points by cost: sums, penalties, and the methods that need no more than a loop.
 *
 * Penalty of the mean: a split of m1 and m2 points of noise gains (long-run variance) * chi^2_1 at
 * one place; the largest of n places exceeds 2 ln n + 4.63 about once in a hundred series of 100
 * points. */
#include "calibrax/analysis/changepoint.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/analysis/changepoint_parts.h"

#define LARGEST_PHI 0.9

/* --- shared --- */

cbx_status cbx__series_check(const double *x, size_t n, cbx_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return cbx_fail(err, CBX_EDOM, "point %zu is not finite", i);
    return CBX_OK;
}

cbx_status cbx__changepoint_opts_check(const cbx_changepoint_opts *o, cbx_err *err)
{
    if (o->struct_size != sizeof(*o))
        return cbx_fail(err, CBX_EINVAL, "options of another version: %u bytes", o->struct_size);
    if ((unsigned)o->method > CBX_CHANGEPOINT_E_DIVISIVE || (unsigned)o->cost > CBX_CHANGEPOINT_NORMAL)
        return cbx_fail(err, CBX_EINVAL, "no such method or cost");
    if (o->min_segment < (o->cost == CBX_CHANGEPOINT_NORMAL ? 2u : 1u))
        return cbx_fail(err, CBX_EINVAL, "segments of %zu points are too short for the cost", o->min_segment);
    if (o->penalty < 0) return cbx_fail(err, CBX_EINVAL, "the penalty is negative");
    if (o->method == CBX_CHANGEPOINT_E_DIVISIVE && (!(o->alpha > 0 && o->alpha < 1) || !o->permutations))
        return cbx_fail(err, CBX_EINVAL, "e-divisive needs 0 < alpha < 1 and permutations");
    return CBX_OK;
}

cbx_status cbx__sums_init(cbx_ctx *ctx, const double *x, size_t n, cbx__sums *out, cbx_err *err)
{
    double min = INFINITY, max = -INFINITY;

    *out = (cbx__sums){ .al = *cbx_ctx_allocator(ctx), .n = n };
    out->sum = cbx_mem_calloc(&out->al, n + 1, sizeof(*out->sum));
    out->square = cbx_mem_calloc(&out->al, n + 1, sizeof(*out->square));
    if (!out->sum || !out->square) {
        cbx__sums_clear(out);
        return cbx_fail(err, CBX_ENOMEM, "out of memory for a series of %zu points", n);
    }
    for (size_t i = 0; i < n; i++) {
        double v = x[i] - x[0];
        out->sum[i + 1] = out->sum[i] + v;
        out->square[i + 1] = out->square[i] + v * v;
        min = fmin(min, v);
        max = fmax(max, v);
    }
    out->floor = fmax((max - min) * (max - min) * 1e-12, DBL_MIN);
    return CBX_OK;
}

void cbx__sums_clear(cbx__sums *s)
{
    cbx_mem_free(&s->al, s->sum, (s->n + 1) * sizeof(*s->sum));
    cbx_mem_free(&s->al, s->square, (s->n + 1) * sizeof(*s->square));
    s->sum = s->square = NULL;
}

double cbx__segment_cost(const cbx__sums *s, cbx_changepoint_cost cost, size_t a, size_t b)
{
    double m = (double)(b - a), sum = s->sum[b] - s->sum[a];
    double spread = fmax(s->square[b] - s->square[a] - sum * sum / m, 0);

    return cost == CBX_CHANGEPOINT_MEAN ? spread : m * log(fmax(spread / m, s->floor));
}

void cbx__sort_indices(size_t *index, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k && index[k - 1] > index[k]; k--) {
            size_t swap = index[k];
            index[k] = index[k - 1];
            index[k - 1] = swap;
        }
}

/* --- noise --- */

static double median_abs(double *work, size_t n, const double *x, size_t lag)
{
    size_t m = n - lag;

    for (size_t i = 0; i < m; i++) work[i] = fabs(x[i + lag] - x[i]);
    cbx_stat_sort(work, m);
    return cbx_stat_quantile_sorted(work, m, 0.5);
}

static double mean_square(const double *x, size_t n, size_t lag)
{
    double sum = 0;

    for (size_t i = lag; i < n; i++) sum += (x[i] - x[i - lag]) * (x[i] - x[i - lag]);
    return sum / (double)(n - lag);
}

cbx_status cbx_noise_estimate(cbx_ctx *ctx, const double *x, size_t n, cbx_noise *out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);

    if (n < 3)
        return cbx_fail(err, CBX_EINVAL, "the noise of %zu points cannot be estimated: at least 3 are needed", n);
    cbx_status st = cbx__series_check(x, n, err);
    if (st) return st;
    double *work = cbx_mem_alloc(al, n * sizeof(*work));
    if (!work) return cbx_fail(err, CBX_ENOMEM, "out of memory for a series of %zu points", n);
    double one = 1.4826 * median_abs(work, n, x, 1);
    double two = 1.4826 * median_abs(work, n, x, 2);
    cbx_mem_free(al, work, n * sizeof(*work));
    if (!(one > 0)) { /* mostly constant: what there is of steps */
        one = sqrt(mean_square(x, n, 1));
        two = one;
    }
    double phi = one > 0 ? fmin(fmax(two * two / (one * one) - 1, 0), LARGEST_PHI) : 0;
    out->phi = phi;
    out->sigma = one / sqrt(2 * (1 - phi));
    out->long_run = out->sigma * out->sigma * (1 + phi) / (1 - phi);
    return CBX_OK;
}

cbx_status cbx__changepoint_penalty(cbx_ctx *ctx, const double *x, size_t n, const cbx_changepoint_opts *o, double *out,
                                    cbx_err *err)
{
    cbx_noise noise;

    if (!isnan(o->penalty)) {
        *out = o->penalty;
        return CBX_OK;
    }
    cbx_status st = cbx_noise_estimate(ctx, x, n, &noise, err);
    if (st) return st;
    if (o->cost == CBX_CHANGEPOINT_MEAN)
        *out = fmax(noise.long_run * (2 * log((double)n) + CBX__CHANGEPOINT_MARGIN), DBL_MIN);
    else
        *out = (1 + noise.phi) / (1 - noise.phi) * (3 * log((double)n) + CBX__CHANGEPOINT_MARGIN);
    return CBX_OK;
}

/* --- binary segmentation --- */

/* The split of a .. b-1 that gains most; 0: none is allowed. */
static size_t best_split(const cbx__sums *s, const cbx_changepoint_opts *o, size_t a, size_t b, double *gain)
{
    double whole = cbx__segment_cost(s, o->cost, a, b);
    size_t best = 0;

    *gain = -INFINITY;
    for (size_t t = a + o->min_segment; t + o->min_segment <= b; t++) {
        double g = whole - cbx__segment_cost(s, o->cost, a, t) - cbx__segment_cost(s, o->cost, t, b);
        if (g > *gain) {
            *gain = g;
            best = t;
        }
    }
    return best;
}

/* index serves as the stack of ends too: parts still to look at lie between neighbours of what was
 * found. */
static void binary(const cbx__sums *s, const cbx_changepoint_opts *o, double penalty, size_t a, size_t b, size_t *index,
                   size_t *count)
{
    while (b - a >= 2 * o->min_segment) {
        double gain;
        size_t t = best_split(s, o, a, b, &gain);
        if (!t || !(gain > penalty)) return;
        index[(*count)++] = t;
        if (t - a < b - t) { /* the shorter part by a call, so that the depth is at most log2 n */
            binary(s, o, penalty, a, t, index, count);
            a = t;
        } else {
            binary(s, o, penalty, t, b, index, count);
            b = t;
        }
    }
}

/* --- window --- */

static double window_gain(const cbx__sums *s, const cbx_changepoint_opts *o, size_t t, size_t w)
{
    return cbx__segment_cost(s, o->cost, t - w, t + w) - cbx__segment_cost(s, o->cost, t - w, t) -
           cbx__segment_cost(s, o->cost, t, t + w);
}

/* A place is a change if it gains more than the penalty and more than any other within a window. */
static cbx_status window(const cbx__sums *s, const cbx_changepoint_opts *o, double penalty, size_t *index,
                         size_t *count, cbx_err *err)
{
    size_t w = o->window ? o->window : 2 * o->min_segment > 10 ? 2 * o->min_segment : 10, n = s->n;

    *count = 0;
    if (w < o->min_segment) return cbx_fail(err, CBX_EINVAL, "a window of %zu points is shorter than a segment", w);
    if (n < 2 * w) return CBX_OK;
    double *gain = cbx_mem_calloc(&s->al, n + 1, sizeof(*gain));
    if (!gain) return cbx_fail(err, CBX_ENOMEM, "out of memory for a series of %zu points", n);
    for (size_t t = w; t + w <= n; t++) gain[t] = window_gain(s, o, t, w);
    for (size_t t = w; t + w <= n; t++) {
        bool peak = gain[t] > penalty;
        for (size_t k = t > w ? t - w : 0; peak && k <= t + w && k <= n; k++)
            peak = k < t ? gain[k] < gain[t] : gain[k] <= gain[t];
        if (peak) index[(*count)++] = t;
    }
    cbx_mem_free(&s->al, gain, (n + 1) * sizeof(*gain));
    return CBX_OK;
}

/* --- all of them --- */

static cbx_status pelt_mean(cbx_ctx *ctx, const double *x, size_t n, const cbx_changepoint_opts *o, double penalty,
                            size_t *index, size_t *count, cbx_err *err)
{
    cbx_changepoint_opts fixed = *o;
    cbx_changepoint_stream *s;

    fixed.penalty = penalty;
    cbx_status st = cbx_changepoint_stream_create(ctx, &fixed, &s, err);
    if (st) return st;
    for (size_t i = 0; !st && i < n; i++) st = cbx_changepoint_stream_append(s, x[i], err);
    if (!st) cbx_changepoint_stream_changes(s, index, count);
    cbx_changepoint_stream_free(s);
    return st;
}

static cbx_status by_cost(cbx_ctx *ctx, const double *x, size_t n, const cbx_changepoint_opts *o, double penalty,
                          size_t *index, size_t *count, cbx_err *err)
{
    cbx__sums sums;

    if (o->method == CBX_CHANGEPOINT_PELT && o->cost == CBX_CHANGEPOINT_MEAN)
        return pelt_mean(ctx, x, n, o, penalty, index, count, err);
    cbx_status st = cbx__sums_init(ctx, x, n, &sums, err);
    if (st) return st;
    if (o->method == CBX_CHANGEPOINT_PELT) {
        st = cbx__pelt_normal(ctx, &sums, o->min_segment, penalty, index, count, err);
    } else if (o->method == CBX_CHANGEPOINT_WINDOW) {
        st = window(&sums, o, penalty, index, count, err);
    } else {
        *count = 0;
        binary(&sums, o, penalty, 0, n, index, count);
        cbx__sort_indices(index, *count);
    }
    cbx__sums_clear(&sums);
    return st;
}

cbx_status cbx_changepoints_find(cbx_ctx *ctx, const double *x, size_t n, const cbx_changepoint_opts *opts,
                                 size_t *index, size_t *count, cbx_err *err)
{
    cbx_changepoint_opts defaults = CBX_CHANGEPOINT_OPTS_INIT;
    double penalty;
    size_t found = 0;

    if (!opts) opts = &defaults;
    cbx_status st = cbx__changepoint_opts_check(opts, err);
    if (!st) st = cbx__series_check(x, n, err);
    if (st) return st;
    if (n >= 3 && n / 2 >= opts->min_segment) {
        if (opts->method == CBX_CHANGEPOINT_E_DIVISIVE) {
            st = cbx__e_divisive(ctx, x, n, opts, index, &found, err);
        } else {
            st = cbx__changepoint_penalty(ctx, x, n, opts, &penalty, err);
            if (!st) st = by_cost(ctx, x, n, opts, penalty, index, &found, err);
        }
    }
    if (!st) *count = found;
    return st;
}
