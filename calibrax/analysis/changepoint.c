/* Change points by cost: sums, penalties, and the methods that need no more than a loop.
 *
 * Penalty of the mean: a split of m1 and m2 points of noise gains (long-run variance) * chi^2_1 at
 * one place; the largest of n places exceeds 2 ln n + 4.63 about once in a hundred series of 100
 * points. */
#include "calibrax/analysis/changepoint.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "calibrax/analysis/regression_internal.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/options.h"
#include "calibrax/base/rng.h"
#include "calibrax/base/together.h"
#include "calibrax/statistics/partition.h"

#define LARGEST_PHI 0.9
/* What (2 ln n + this) allows: one false alarm in a hundred series of 100 points. */
#define MARGIN 4.63

/* Sums over x_i - x_0, so that a large level costs no digits: sum[i], square[i] of the first i
 * points. */
typedef struct sums {
    double *sum, *square;
    size_t n;
    double floor; /* least variance that the normal cost knows */
} prefix_sums;

/* --- shared --- */

cbx_status cbx__series_check(const double *x, size_t n, cbx_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return cbx_fail(err, CBX_EDOM, "point %zu is not finite", i);
    return CBX_OK;
}

static cbx_status take_changepoint_opts(cbx_changepoint_opts *o, const cbx_changepoint_opts *given, cbx_err *err)
{
    *o = (cbx_changepoint_opts)CBX_CHANGEPOINT_OPTS_INIT;
    cbx_status st = cbx_take_options(o, sizeof *o, given, "cbx_changepoint_opts", err);

    if (st) return st;
    if ((unsigned)o->method > CBX_CHANGEPOINT_E_DIVISIVE || (unsigned)o->cost > CBX_CHANGEPOINT_NORMAL)
        return cbx_fail(err, CBX_EINVAL, "unknown method or cost");
    if (o->min_segment < (o->cost == CBX_CHANGEPOINT_NORMAL ? 2u : 1u))
        return cbx_fail(err, CBX_EINVAL, "segments of %zu points are too short for the cost", o->min_segment);
    if (o->penalty < 0) return cbx_fail(err, CBX_EINVAL, "the penalty is negative");
    if (o->method == CBX_CHANGEPOINT_E_DIVISIVE && (!(o->alpha > 0 && o->alpha < 1) || !o->permutations))
        return cbx_fail(err, CBX_EINVAL, "e-divisive needs 0 < alpha < 1 and at least one permutation");
    return CBX_OK;
}

static cbx_status sums_init(cbx_arena *arena, const double *x, size_t n, prefix_sums *out, cbx_err *err)
{
    double min = INFINITY, max = -INFINITY;

    *out = (prefix_sums){ .n = n };
    if (!cbx_arena_arrays(arena, CBX_ARRAY(out->sum, n + 1), CBX_ARRAY(out->square, n + 1)))
        return cbx_fail_nomem(err, "a series");
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

static double segment_cost(const prefix_sums *s, cbx_changepoint_cost cost, size_t a, size_t b)
{
    double m = (double)(b - a), sum = s->sum[b] - s->sum[a];
    double spread = fmax(s->square[b] - s->square[a] - sum * sum / m, 0);

    return cost == CBX_CHANGEPOINT_MEAN ? spread : m * log(fmax(spread / m, s->floor));
}

CBX_BY_VALUE(by_index, size_t)

/* --- noise --- */

static double median_abs(double *work, size_t n, const double *x, size_t lag)
{
    size_t m = n - lag;

    for (size_t i = 0; i < m; i++) work[i] = fabs(x[i + lag] - x[i]);
    cbx_stat_sort(work, m);
    return cbx_stat_quantile_sorted(work, m, 0.5);
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
        double sum = 0;
        for (size_t i = 1; i < n; i++) sum += (x[i] - x[i - 1]) * (x[i] - x[i - 1]);
        one = two = sqrt(sum / (double)(n - 1));
    }
    double phi = one > 0 ? fmin(fmax(two * two / (one * one) - 1, 0), LARGEST_PHI) : 0;
    out->phi = phi;
    out->sigma = one / sqrt(2 * (1 - phi));
    out->long_run = out->sigma * out->sigma * (1 + phi) / (1 - phi);
    return CBX_OK;
}

static cbx_status changepoint_penalty(cbx_ctx *ctx, const double *x, size_t n, const cbx_changepoint_opts *o,
                                      double *out, cbx_err *err)
{
    cbx_noise noise;

    if (!isnan(o->penalty)) {
        *out = o->penalty;
        return CBX_OK;
    }
    cbx_status st = cbx_noise_estimate(ctx, x, n, &noise, err);
    if (st) return st;
    if (o->cost == CBX_CHANGEPOINT_MEAN)
        *out = fmax(noise.long_run * (2 * log((double)n) + MARGIN), DBL_MIN);
    else
        *out = (1 + noise.phi) / (1 - noise.phi) * (3 * log((double)n) + MARGIN);
    return CBX_OK;
}

/* --- binary segmentation --- */

/* How a segment a .. b-1 is split in two; 0: not at all. */
typedef struct splitter {
    size_t (*split)(struct splitter *s, size_t a, size_t b);
    const cbx_changepoint_opts *o;
    const prefix_sums *sums;
    double penalty;
    const double *x; /* e-divisive: these too */
    double *work;    /* a permuted segment */
    size_t *order;
    uint64_t stream; /* one a permutation test */
} splitter;

/* Splits the parts of what was split, the shorter one by a call, so that the depth is at most log2
 * n. */
static void split_all(splitter *s, size_t a, size_t b, size_t *index, size_t *count)
{
    while (b - a >= 2 * s->o->min_segment && b - a >= 2) {
        size_t t = s->split(s, a, b);
        if (!t) return;
        index[(*count)++] = t;
        if (t - a < b - t) {
            split_all(s, a, t, index, count);
            a = t;
        } else {
            split_all(s, t, b, index, count);
            b = t;
        }
    }
}

static size_t split_by_cost(splitter *s, size_t a, size_t b)
{
    const cbx_changepoint_opts *o = s->o;
    double whole = segment_cost(s->sums, o->cost, a, b), gain = -INFINITY;
    size_t best = 0;

    for (size_t t = a + o->min_segment; t + o->min_segment <= b; t++) {
        double g = whole - segment_cost(s->sums, o->cost, a, t) - segment_cost(s->sums, o->cost, t, b);
        if (g > gain) {
            gain = g;
            best = t;
        }
    }
    return gain > s->penalty ? best : 0;
}

/* --- window --- */

/* A place is a change if it gains more than the penalty and more than any other within a window. */
static cbx_status window(cbx_arena *arena, const prefix_sums *s, const cbx_changepoint_opts *o, double penalty,
                         size_t *index, size_t *count, cbx_err *err)
{
    size_t w = o->window ? o->window : 2 * o->min_segment > 10 ? 2 * o->min_segment : 10, n = s->n;

    if (w < o->min_segment) return cbx_fail(err, CBX_EINVAL, "a window of %zu points is shorter than a segment", w);
    if (n < 2 * w) return CBX_OK;
    double *gain = cbx_arena_calloc(arena, n + 1, sizeof(*gain));
    if (!gain) return cbx_fail_nomem(err, "a series");
    for (size_t t = w; t + w <= n; t++)
        gain[t] = segment_cost(s, o->cost, t - w, t + w) - segment_cost(s, o->cost, t - w, t) -
                  segment_cost(s, o->cost, t, t + w);
    for (size_t t = w; t + w <= n; t++) {
        bool peak = gain[t] > penalty;
        for (size_t k = t > w ? t - w : 0; peak && k <= t + w && k <= n; k++)
            peak = k < t ? gain[k] < gain[t] : gain[k] <= gain[t];
        if (peak) index[(*count)++] = t;
    }
    return CBX_OK;
}

/* --- PELT for the normal cost --- */

/* PELT for the normal cost: a change s can be dropped once F(s) + C(s, t) >= F(t); with segments of
 * at least m points that holds for partitions whose next change is t, which end at t + m or later,
 * so it is dropped then. */
typedef struct candidate {
    size_t change;
    size_t until; /* the last end for which it may be best */
} candidate;

static cbx_status pelt_normal(cbx_arena *arena, const prefix_sums *s, size_t min_segment, double penalty, size_t *index,
                              size_t *count, cbx_err *err)
{
    size_t n = s->n, nalive = 0;
    double *best;
    size_t *last;
    candidate *alive;

    if (!cbx_arena_arrays(arena, CBX_ARRAY(best, n + 1), CBX_ARRAY(last, n + 1), CBX_ARRAY(alive, n + 1)))
        return cbx_fail_nomem(err, "a series");
    best[0] = -penalty;
    for (size_t t = 1; t < min_segment; t++) best[t] = INFINITY;
    for (size_t t = min_segment; t <= n; t++) {
        size_t kept = 0;

        best[t] = INFINITY;
        if (isfinite(best[t - min_segment])) alive[nalive++] = (candidate){ t - min_segment, SIZE_MAX };
        for (size_t k = 0; k < nalive; k++) {
            size_t a = alive[k].change;
            double f = best[a] + segment_cost(s, CBX_CHANGEPOINT_NORMAL, a, t) + penalty;
            if (f < best[t]) {
                best[t] = f;
                last[t] = a;
            }
        }
        for (size_t k = 0; k < nalive; k++) {
            candidate c = alive[k];
            double f = best[c.change] + segment_cost(s, CBX_CHANGEPOINT_NORMAL, c.change, t);
            if (c.until == SIZE_MAX && f >= best[t]) c.until = t + min_segment;
            if (c.until > t) alive[kept++] = c;
        }
        nalive = kept;
    }
    for (size_t t = last[n]; t; t = last[t]) index[(*count)++] = t;
    return CBX_OK;
}

/* --- e-divisive --- */

/* E-divisive: the split of a segment with the largest energy distance between its parts, q = n m /
 * (n + m) (2 E|X - Y| - E|X - X'| - E|Y - Y'|), kept if few permutations of the segment reach as
 * much. Sums of distances follow the split point by point, so a segment takes n^2 steps and no
 * matrix. */
static double energy(double within_x, double within_y, double between, double n, double m)
{
    double x = n > 1 ? 2 * within_x / (n * (n - 1)) : 0, y = m > 1 ? 2 * within_y / (m * (m - 1)) : 0;
    return n * m / (n + m) * (2 * between / (n * m) - x - y);
}

/* Sums over pairs: all to the right at first, then point t goes to the left. */
static double best_energy(const double *x, size_t n, size_t min, size_t *at)
{
    double left = 0, right = 0, between = 0, best = -INFINITY;

    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) right += fabs(x[i] - x[k]);
    for (size_t t = 0; t + min < n; t++) {
        double to_left = 0, to_right = 0, q;
        for (size_t k = 0; k < t; k++) to_left += fabs(x[t] - x[k]);
        for (size_t k = t + 1; k < n; k++) to_right += fabs(x[t] - x[k]);
        left += to_left;
        right -= to_right;
        between += to_right - to_left;
        if (t + 1 < min) continue;
        q = energy(left, right, between, (double)(t + 1), (double)(n - t - 1));
        if (q > best) {
            best = q;
            *at = t + 1;
        }
    }
    return best;
}

/* Stops as soon as too many permutations have reached the energy of the best split. */
static size_t split_by_energy(splitter *s, size_t a, size_t b)
{
    size_t t = 0, n = b - a, reached = 0, at;
    size_t allowed = (size_t)floor(s->o->alpha * (double)(s->o->permutations + 1) + 1e-9);
    double q = best_energy(s->x + a, n, s->o->min_segment, &t);

    if (!(q > 0) || !allowed) return 0; /* 0: even p = 1 / (permutations + 1) is more than alpha */
    for (size_t k = 0; k < s->o->permutations; k++) {
        cbx_rng rng = cbx_rng_make(s->o->seed, s->stream++);
        cbx_rng_permutation(&rng, n, s->order);
        for (size_t i = 0; i < n; i++) s->work[i] = s->x[a + s->order[i]];
        reached += best_energy(s->work, n, s->o->min_segment, &at) >= q;
        if (reached + 1 > allowed) return 0;
    }
    return a + t;
}

/* --- a series that grows --- */

struct cbx_changepoint_stream {
    cbx_ctx *ctx;
    cbx_changepoint_opts opts;
    size_t next_estimate; /* length at which an automatic penalty is estimated again */
    cbx__partition levels;
};

cbx_status cbx_changepoint_stream_create(cbx_ctx *ctx, const cbx_changepoint_opts *opts, cbx_changepoint_stream **out,
                                         cbx_err *err)
{
    cbx_changepoint_opts o;
    cbx_status st = take_changepoint_opts(&o, opts, err);

    if (st) return st;
    if (o.method != CBX_CHANGEPOINT_PELT || o.cost != CBX_CHANGEPOINT_MEAN)
        return cbx_fail(err, CBX_EUNSUPPORTED, "only PELT of the mean grows with its series");
    cbx_changepoint_stream *s = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof(*s));
    if (!s) return cbx_fail_nomem(err, "a series");
    s->ctx = ctx;
    s->opts = o;
    s->next_estimate = isnan(o.penalty) ? 16 : SIZE_MAX;
    cbx__partition_init(&s->levels, cbx_ctx_allocator(ctx), o.min_segment, isnan(o.penalty) ? INFINITY : o.penalty);
    *out = s;
    return CBX_OK;
}

void cbx_changepoint_stream_free(cbx_changepoint_stream *s)
{
    if (!s) return;
    cbx_allocator al = s->levels.al;
    cbx__partition_clear(&s->levels);
    cbx_mem_free(&al, s, sizeof(*s));
}

/* Before the first estimate there is no penalty, and no change either. */
cbx_status cbx_changepoint_stream_append(cbx_changepoint_stream *s, double x, cbx_err *err)
{
    const size_t n = s->levels.n + 1;
    double penalty = s->levels.penalty;
    cbx_status st = CBX_OK;

    if (!isfinite(x)) return cbx_fail(err, CBX_EDOM, "point %zu is not finite", n - 1);
    if (!cbx__partition_reserve(&s->levels, n >= s->next_estimate))
        return cbx_fail(err, CBX_ENOMEM, "out of memory for a series of %zu points", n);
    if (n >= s->next_estimate) {
        s->levels.x[n - 1] = x;
        st = changepoint_penalty(s->ctx, s->levels.x, n, &s->opts, &penalty, err);
        if (st) return st;
        s->next_estimate = 2 * n;
    }
    cbx__partition_append(&s->levels, x, penalty);
    return CBX_OK;
}

size_t cbx_changepoint_stream_length(const cbx_changepoint_stream *s) { return s->levels.n; }

void cbx_changepoint_stream_changes(const cbx_changepoint_stream *s, size_t *index, size_t *count)
{
    *count = cbx__partition_changes(&s->levels, index);
}

/* --- all of them --- */

static cbx_status find_with(cbx_ctx *ctx, cbx_arena *arena, const double *x, size_t n, const cbx_changepoint_opts *o,
                            size_t *index, size_t *count, cbx_err *err)
{
    prefix_sums sums;
    splitter s = { split_by_cost, o, &sums, 0, x, NULL, NULL, 0 };

    if (o->method == CBX_CHANGEPOINT_E_DIVISIVE) {
        s.split = split_by_energy;
        if (!cbx_arena_arrays(arena, CBX_ARRAY(s.work, n), CBX_ARRAY(s.order, n)))
            return cbx_fail_nomem(err, "a series");
        split_all(&s, 0, n, index, count);
        return CBX_OK;
    }
    cbx_status st = changepoint_penalty(ctx, x, n, o, &s.penalty, err);
    if (st) return st;
    if (o->method == CBX_CHANGEPOINT_PELT && o->cost == CBX_CHANGEPOINT_MEAN) {
        cbx__partition p;
        cbx__partition_init(&p, cbx_ctx_allocator(ctx), o->min_segment, s.penalty);
        bool good = cbx__partition_fill(&p, x, n);
        if (good) *count = cbx__partition_changes(&p, index);
        cbx__partition_clear(&p);
        return good ? CBX_OK : cbx_fail_nomem(err, "a series");
    }
    st = sums_init(arena, x, n, &sums, err);
    if (st) return st;
    if (o->method == CBX_CHANGEPOINT_PELT)
        return pelt_normal(arena, &sums, o->min_segment, s.penalty, index, count, err);
    if (o->method == CBX_CHANGEPOINT_WINDOW) return window(arena, &sums, o, s.penalty, index, count, err);
    split_all(&s, 0, n, index, count);
    return CBX_OK;
}

cbx_status cbx_changepoints_find(cbx_ctx *ctx, const double *x, size_t n, const cbx_changepoint_opts *opts,
                                 size_t *index, size_t *count, cbx_err *err)
{
    cbx_changepoint_opts o;
    cbx_arena arena;
    size_t found = 0;
    cbx_status st = take_changepoint_opts(&o, opts, err);

    if (!st) st = cbx__series_check(x, n, err);
    if (st) return st;
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    if (n >= 3 && n / 2 >= o.min_segment) st = find_with(ctx, &arena, x, n, &o, index, &found, err);
    cbx_arena_clear(&arena);
    if (st) return st;
    if (found) qsort(index, found, sizeof(*index), by_index);
    *count = found;
    return CBX_OK;
}
