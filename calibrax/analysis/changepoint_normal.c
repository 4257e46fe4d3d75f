/* PELT for the normal cost: a change s can be dropped once F(s) + C(s, t) >= F(t); with segments of
 * at least m points that holds for partitions whose next change is t, which end at t + m or later,
 * so it is dropped then. */
#include <math.h>

#include "calibrax/analysis/changepoint_parts.h"

typedef struct candidate {
    size_t change;
    size_t until; /* the last end for which it may be best */
} candidate;

typedef struct partition {
    double *best;
    size_t *last;
    candidate *alive;
    size_t nalive;
} partition;

static void step(const cbx__sums *s, size_t m, double penalty, size_t t, partition *p)
{
    double best = INFINITY;
    size_t kept = 0, last = 0;

    if (isfinite(p->best[t - m])) p->alive[p->nalive++] = (candidate){ t - m, SIZE_MAX };
    for (size_t k = 0; k < p->nalive; k++) {
        size_t a = p->alive[k].change;
        double f = p->best[a] + cbx__segment_cost(s, CBX_CHANGEPOINT_NORMAL, a, t) + penalty;
        if (f < best) {
            best = f;
            last = a;
        }
    }
    p->best[t] = best;
    p->last[t] = last;
    for (size_t k = 0; k < p->nalive; k++) {
        candidate c = p->alive[k];
        double f = p->best[c.change] + cbx__segment_cost(s, CBX_CHANGEPOINT_NORMAL, c.change, t);
        if (c.until == SIZE_MAX && f >= best) c.until = t + m;
        if (c.until > t) p->alive[kept++] = c;
    }
    p->nalive = kept;
}

static void trace(const partition *p, size_t n, size_t *index, size_t *count)
{
    *count = 0;
    for (size_t t = p->last[n]; t; t = p->last[t]) index[(*count)++] = t;
    for (size_t i = 0; i < *count / 2; i++) {
        size_t swap = index[i];
        index[i] = index[*count - 1 - i];
        index[*count - 1 - i] = swap;
    }
}

cbx_status cbx__pelt_normal(cbx_ctx *ctx, const cbx__sums *s, size_t min_segment, double penalty, size_t *index,
                            size_t *count, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    size_t n = s->n;
    partition p = { 0 };
    cbx_status st = CBX_OK;

    p.best = cbx_mem_calloc(al, n + 1, sizeof(*p.best));
    p.last = cbx_mem_calloc(al, n + 1, sizeof(*p.last));
    p.alive = cbx_mem_calloc(al, n + 1, sizeof(*p.alive));
    if (p.best && p.last && p.alive) {
        p.best[0] = -penalty;
        for (size_t t = 1; t < min_segment; t++) p.best[t] = INFINITY;
        for (size_t t = min_segment; t <= n; t++) step(s, min_segment, penalty, t, &p);
        trace(&p, n, index, count);
    } else {
        st = cbx_fail(err, CBX_ENOMEM, "out of memory for a series of %zu points", n);
    }
    cbx_mem_free(al, p.best, (n + 1) * sizeof(*p.best));
    cbx_mem_free(al, p.last, (n + 1) * sizeof(*p.last));
    cbx_mem_free(al, p.alive, (n + 1) * sizeof(*p.alive));
    return st;
}
