/* Points in the order of their costs: what dominates a point is before it, so one scan
 * suffices. */
#include "calibrax/analysis/pareto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/together.h"

/** Costs of one point, all counted so that less is better. */
typedef struct entry {
    const double *cost;
    size_t d, index;
    size_t second; /* rank of the second cost, from 1 */
} entry;

typedef struct field {
    double *costs;
    entry *entries, **order; /* order: by the second cost */
    double *tree;            /* minimum of the third cost over ranks of the second */
    size_t n, d;
} field;

static int by_costs(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    for (size_t k = 0; k < x->d; k++)
        if (x->cost[k] != y->cost[k]) return x->cost[k] < y->cost[k] ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int by_second(const void *a, const void *b)
{
    const entry *x = *(entry *const *)a, *y = *(entry *const *)b;
    return (x->cost[1] > y->cost[1]) - (x->cost[1] < y->cost[1]);
}

static bool same(const entry *a, const entry *b)
{
    for (size_t k = 0; k < a->d; k++)
        if (a->cost[k] != b->cost[k]) return false;
    return true;
}

/* Third cost, 0 where there are fewer. */
static double third(const entry *e) { return e->d > 2 ? e->cost[2] : 0; }

static bool dominates(const entry *a, const entry *b)
{
    for (size_t k = 0; k < a->d; k++)
        if (!(a->cost[k] <= b->cost[k])) return false;
    return true;
}

static void find_front(field *f, bool *on_front)
{
    size_t rank = 0;

    if (f->d > 3) {
        /* Any number of objectives: against the front so far, which is kept at the head of
         * entries. */
        size_t front = 0;
        for (size_t i = 0; i < f->n; i++) {
            entry e = f->entries[i];
            bool beaten = false;
            for (size_t k = 0; k < front && !beaten; k++)
                beaten = dominates(&f->entries[k], &e) && !same(&f->entries[k], &e);
            on_front[e.index] = !beaten;
            if (!beaten) f->entries[front++] = e;
        }
        return;
    }
    for (size_t i = 0; i < f->n; i++) f->order[i] = &f->entries[i];
    if (f->d > 1 && f->n) qsort(f->order, f->n, sizeof(*f->order), by_second);
    for (size_t i = 0; i < f->n; i++) {
        if (!i || (f->d > 1 && f->order[i]->cost[1] != f->order[i - 1]->cost[1])) rank = i + 1;
        f->order[i]->second = rank;
    }
    for (size_t i = 0; i <= f->n; i++) f->tree[i] = NAN; /* fmin ignores NaN: empty */
    for (size_t i = 0, end; i < f->n; i = end) { /* equal points are looked up together: none dominates its equal */
        const entry *e = &f->entries[i];
        bool dominated = false;
        for (size_t r = e->second; r && !dominated; r &= r - 1) dominated = f->tree[r] <= third(e);
        for (end = i; end < f->n && same(e, &f->entries[end]); end++) on_front[f->entries[end].index] = !dominated;
        for (size_t r = e->second; !dominated && r <= f->n; r += r & (~r + 1)) f->tree[r] = fmin(f->tree[r], third(e));
    }
}

cbx_status cbx_pareto_front(cbx_ctx *ctx, const double *x, size_t n, size_t d, const cbx_direction *directions,
                            bool *on_front, size_t *nfront, size_t *nmissing, cbx_err *err)
{
    field f = { .d = d };

    if (!n || !d)
        return cbx_fail(err, CBX_EINVAL, "'points' must have a point and an objective, got %zu and %zu", n, d);
    for (size_t k = 0; k < d; k++)
        if (directions[k] != CBX_DIRECTION_LOWER && directions[k] != CBX_DIRECTION_HIGHER)
            return cbx_fail(err, CBX_EINVAL, "objective %zu has no direction", k);
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    if (!cbx_arena_arrays(&arena, CBX_ARRAY(f.costs, n * d + 1), CBX_ARRAY(f.entries, n + 1), CBX_ARRAY(f.order, n + 1),
                          CBX_ARRAY(f.tree, n + 1)))
        return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu points", n);
    memset(on_front, 0, n * sizeof(*on_front));
    for (size_t i = 0; i < n; i++) {
        double *cost = f.costs + f.n * f.d;
        bool missing = false;
        for (size_t k = 0; k < f.d; k++) {
            double v = x[i * f.d + k];
            missing |= isnan(v);
            cost[k] = directions[k] == CBX_DIRECTION_HIGHER ? -v : v;
        }
        if (!missing) f.entries[f.n++] = (entry){ cost, f.d, i, 0 };
    }
    if (f.n) qsort(f.entries, f.n, sizeof(*f.entries), by_costs);
    find_front(&f, on_front);
    if (nmissing) *nmissing = n - f.n;
    if (nfront) *nfront = 0;
    for (size_t i = 0; nfront && i < n; i++) *nfront += on_front[i];
    return CBX_OK;
}
