/* Ranks by sorting, scores by direction, stability by bootstrap. Fleming & Wallace, Commun. ACM 29
 * (1986) 218-221: of ratios only the geometric mean keeps the order whatever the base. */
#include "calibrax/analysis/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/rng.h"
#include "calibrax/base/together.h"
#include "calibrax/statistics/estimate.h"

static cbx_status refuse_info(cbx_direction d, cbx_err *err)
{
    if (d == CBX_DIRECTION_LOWER || d == CBX_DIRECTION_HIGHER) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "a metric of direction '%s' cannot be ranked", cbx_direction_name(d));
}

/* Cost: the smaller the better. */
static double cost_of(double v, cbx_direction d) { return d == CBX_DIRECTION_HIGHER ? -v : v; }

/* delta holds the cost while sorting. */
static int by_cost(const void *a, const void *b)
{
    const cbx_rank_entry *x = a, *y = b;

    if (isnan(x->delta) != isnan(y->delta)) return isnan(x->delta) ? 1 : -1;
    if (x->delta != y->delta && !isnan(x->delta)) return x->delta < y->delta ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

cbx_status cbx_rank(const double *values, size_t n, cbx_direction direction, cbx_rank_entry *out, cbx_err *err)
{
    cbx_status st = refuse_info(direction, err);
    double before = NAN;

    if (st) return st;
    for (size_t i = 0; i < n; i++) out[i] = (cbx_rank_entry){ i, values[i], 0, cost_of(values[i], direction) };
    if (n) qsort(out, n, sizeof(*out), by_cost);
    double best = n ? out[0].delta : NAN;
    for (size_t i = 0; i < n; i++) {
        double cost = out[i].delta;
        if (isnan(cost)) continue;
        out[i].rank = cost == before ? out[i - 1].rank : i + 1;
        out[i].delta = cost == best ? 0 : best == 0 ? INFINITY : (cost - best) / fabs(best);
        before = cost;
    }
    return CBX_OK;
}

/* --- scores --- */

typedef struct range {
    double best, worst;
} range;

/* Of one metric: every m-th value. */
static range range_of(const double *v, size_t n, size_t m, cbx_direction d)
{
    range r = { NAN, NAN };

    for (size_t i = 0; i < n; i++) {
        double x = v[i * m];
        if (isnan(x)) continue;
        if (isnan(r.best) || cost_of(x, d) < cost_of(r.best, d)) r.best = x;
        if (isnan(r.worst) || cost_of(x, d) > cost_of(r.worst, d)) r.worst = x;
    }
    return r;
}

static double one_score(cbx_score_kind kind, double v, range r, cbx_direction d)
{
    if (kind == CBX_SCORE_GEOMETRIC) return d == CBX_DIRECTION_LOWER ? log(r.best / v) : log(v / r.best);
    return r.best == r.worst ? (isnan(v) ? NAN : 1) : (v - r.worst) / (r.best - r.worst);
}

cbx_status cbx_score(cbx_ctx *ctx, cbx_score_kind kind, const double *values, size_t n, size_t m,
                     const cbx_direction *directions, const double *weights, double *scores, size_t *nmissing,
                     cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    double sum = 0;
    cbx_status st = CBX_OK;

    if (!n || !m)
        return cbx_fail(err, CBX_EINVAL, "'values' must have a competitor and a metric, got %zu and %zu", n, m);
    for (size_t j = 0; j < m; j++) {
        double one = weights ? weights[j] : 1;
        if (!(one >= 0) || isinf(one)) return cbx_fail(err, CBX_EINVAL, "weight %zu is not a finite number >= 0", j);
        sum += one;
    }
    if (!(sum > 0)) return cbx_fail(err, CBX_EINVAL, "no metric has a weight");
    for (size_t j = 0; !st && j < m; j++) st = refuse_info(directions[j], err);
    for (size_t i = 0; !st && kind == CBX_SCORE_GEOMETRIC && i < n * m; i++)
        if (!isnan(values[i]) && !(values[i] > 0 && isfinite(values[i])))
            st = cbx_fail(err, CBX_EDOM, "the geometric mean needs values > 0; competitor %zu has %g", i / m,
                          values[i]);
    if (st) return st;
    double *total = cbx_mem_calloc(al, n + 1, sizeof(*total));
    if (!total) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu scores", n);
    for (size_t j = 0; j < m; j++) {
        double w = (weights ? weights[j] : 1) / sum;
        range r = range_of(values + j, n, m, directions[j]);
        for (size_t i = 0; w > 0 && i < n; i++) total[i] += w * one_score(kind, values[i * m + j], r, directions[j]);
    }
    if (nmissing) *nmissing = 0;
    for (size_t i = 0; i < n; i++) {
        scores[i] = kind == CBX_SCORE_GEOMETRIC ? exp(total[i]) : total[i];
        if (nmissing) *nmissing += isnan(scores[i]);
    }
    cbx_mem_free(al, total, (n + 1) * sizeof(*total));
    return CBX_OK;
}

/* --- stability --- */

cbx_status cbx_rank_stability(cbx_ctx *ctx, const cbx_rank_sample *samples, size_t n, cbx_direction direction,
                              size_t draws, uint64_t seed, double *share, cbx_err *err)
{
    double *median, *draw;
    cbx_rank_entry *entries;
    size_t longest = 1;
    cbx_status st = refuse_info(direction, err);

    if (st) return st;
    if (!draws) return cbx_fail(err, CBX_EINVAL, "a bootstrap needs at least one draw");
    for (size_t i = 0; i < n; i++) {
        if (!samples[i].n) return cbx_fail(err, CBX_EINVAL, "competitor %zu has no samples", i);
        if (samples[i].n > longest) longest = samples[i].n;
        for (size_t k = 0; k < samples[i].n; k++)
            if (!isfinite(samples[i].x[k]))
                return cbx_fail(err, CBX_EDOM, "sample %zu of competitor %zu is not finite", k, i);
    }
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    if (!cbx_arena_arrays(&arena, CBX_ARRAY(median, n), CBX_ARRAY(draw, longest), CBX_ARRAY(entries, n)))
        return cbx_fail_nomem(err, "competitors");
    memset(share, 0, n * n * sizeof(*share));
    for (size_t b = 0; b < draws; b++) {
        for (size_t i = 0; i < n; i++) {
            cbx_rng rng = cbx_rng_make(seed, b * n + i);
            for (size_t k = 0; k < samples[i].n; k++) draw[k] = samples[i].x[cbx_rng_below(&rng, samples[i].n)];
            cbx_stat_sort(draw, samples[i].n);
            median[i] = cbx_stat_quantile_sorted(draw, samples[i].n, 0.5);
        }
        (void)cbx_rank(median, n, direction, entries, NULL); /* the direction has been checked */
        for (size_t i = 0; i < n; i++) share[entries[i].index * n + entries[i].rank - 1] += 1.0;
    }
    for (size_t k = 0; k < n * n; k++) share[k] /= (double)draws;
    return CBX_OK;
}
