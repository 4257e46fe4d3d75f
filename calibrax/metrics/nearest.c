/*
 * Nearest neighbours.  Few dimensions: a k-d tree of medians along the widest side (Friedman,
 * Bentley & Finkel 1977), whose points lie in the order of its leaves; else each point with each,
 * eight at a time (kernels/distances.h).
 */
#include "calibrax/metrics/nearest.h"

#include <string.h>

#include "calibrax/array/kernels/distances.h"
#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/kernels/loops.h"
#include "calibrax/base/rng.h"

enum {
    LEAF = 12,    /* points in a leaf at most */
    FLAT = 8,     /* dimensions beyond which a tree visits nearly all points */
    WORTH_IT = 32 /* times 2^d: points below which a tree visits no fewer than all */
};

typedef struct node {
    size_t first, last; /* points */
    int axis;           /* -1: a leaf */
    double split;
    size_t left, right; /* nodes */
} node;

typedef struct tree {
    size_t d, nodes;
    node *node;
    double *points; /* in the order of the leaves */
    size_t *at;     /* their numbers */
} tree;

/* ---- construction ---- */

static void swap_points(tree *t, size_t i, size_t j)
{
    const size_t n = t->at[i];

    t->at[i] = t->at[j];
    t->at[j] = n;
    for (size_t k = 0; k < t->d; k++) {
        const double v = t->points[i * t->d + k];
        t->points[i * t->d + k] = t->points[j * t->d + k];
        t->points[j * t->d + k] = v;
    }
}

/* Hoare's selection: points before middle are not larger along the axis, those behind it not
 * smaller. */
static void select_middle(tree *t, size_t first, size_t last, size_t middle, size_t axis)
{
    while (last - first > 1) {
        const double pivot = t->points[(first + (last - first) / 2) * t->d + axis];
        size_t i = first, j = last - 1;
        for (;;) {
            while (t->points[i * t->d + axis] < pivot) i++;
            while (t->points[j * t->d + axis] > pivot) j--;
            if (i >= j) break;
            swap_points(t, i++, j--);
        }
        const size_t cut = i == j && t->points[i * t->d + axis] <= pivot ? i + 1 : i;
        if (middle < cut && cut < last)
            last = cut;
        else if (middle >= cut && cut > first)
            first = cut;
        else
            break;
    }
}

static int widest_axis(const tree *t, size_t first, size_t last)
{
    double widest = 0;
    int axis = -1;

    for (size_t k = 0; k < t->d; k++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t i = first; i < last; i++) {
            low = fmin(low, t->points[i * t->d + k]);
            high = fmax(high, t->points[i * t->d + k]);
        }
        if (high - low > widest) widest = high - low, axis = (int)k;
    }
    return axis;
}

/* Adds the node of points first..last-1; its number. */
static size_t build(tree *t, size_t first, size_t last)
{
    const size_t self = t->nodes++, middle = first + (last - first) / 2;
    node n = { .first = first, .last = last, .axis = -1 };

    if (last - first > LEAF) n.axis = widest_axis(t, first, last);
    if (n.axis >= 0) {
        select_middle(t, first, last, middle, (size_t)n.axis);
        n.split = t->points[middle * t->d + (size_t)n.axis];
        n.left = build(t, first, middle);
        n.right = build(t, middle, last);
    }
    t->node[self] = n;
    return self;
}

/* ---- search ---- */

/* In the order of cbx_sum (NumPy's pairwise summation), so that ties are what they are in a
 * trace. */
static double squared_distance(const double *x, const double *y, size_t d)
{
    enum { LANES = 8, PIECE = 128 };
    double s[LANES] = { 0 }, sum = 0;
    size_t k = 0;

    if (d > PIECE) {
        const size_t half = d / 2 - d / 2 % LANES;
        return squared_distance(x, y, half) + squared_distance(x + half, y + half, d - half);
    }
    for (; d >= LANES && k + LANES <= d; k += LANES)
        for (size_t i = 0; i < LANES; i++) s[i] += (x[k + i] - y[k + i]) * (x[k + i] - y[k + i]);
    if (k) sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
    for (; k < d; k++) sum += (x[k] - y[k]) * (x[k] - y[k]);
    return sum;
}

/* off[k]: distance of x to the node's box along axis k; bound: the sum of their squares. */
static void search(const tree *t, size_t at, const double *x, double *off, double bound, double *best, size_t *which)
{
    const node *n = &t->node[at];

    if (n->axis < 0) {
        for (size_t i = n->first; i < n->last; i++) {
            const double s = squared_distance(x, t->points + i * t->d, t->d);
            if (s < *best) *best = s, *which = t->at[i];
        }
        return;
    }
    const double gap = x[n->axis] - n->split, was = off[n->axis];
    search(t, gap < 0 ? n->left : n->right, x, off, bound, best, which);
    bound += gap * gap - was * was;
    if (bound * (1 - 1e-12) > *best) return; /* the sums that are compared are rounded */
    off[n->axis] = gap;
    search(t, gap < 0 ? n->right : n->left, x, off, bound, best, which);
    off[n->axis] = was;
}

static bool all_finite(const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i])) return false;
    return true;
}

/* ---- each point with each ---- */

enum { TOGETHER = CBX__DISTANCES_TOGETHER, PIECE = 8 * TOGETHER /* points between two looks at what was found */ };

/* Points in groups, the last of them filled with points at infinity; and which of them they are. */
typedef struct groups {
    const cbx_allocator *al;
    size_t d, m, bytes;
    double *y;
} groups;

/* order: which point comes where; NULL: as they are.  False without memory. */
static bool pack(const cbx_allocator *al, const double *y, size_t m, size_t d, const size_t *order, groups *out)
{
    const size_t count = (m + PIECE - 1) / PIECE * PIECE;

    *out = (groups){ .al = al, .d = d, .m = m, .bytes = count * d * sizeof *y };
    if (!(out->y = cbx_mem_alloc(al, out->bytes + 1))) return false;
    for (size_t j = 0; j < count; j++)
        for (size_t k = 0; k < d; k++)
            out->y[(j / TOGETHER * d + k) * TOGETHER + j % TOGETHER] = j < m ? y[(order ? order[j] : j) * d + k]
                                                                             : INFINITY;
    return true;
}

static void groups_free(groups *g) { cbx_mem_free(g->al, g->y, g->y ? g->bytes + 1 : 0); }

/* Squared distances of x to points at .. at + PIECE - 1. */
static void distances(const groups *g, const double *x, size_t at, double *out)
{
    cbx__distances_get(cbx_isa_best())(x, g->y + at * g->d, g->d, PIECE / TOGETHER, out);
}

static double min_of(const double *s)
{
    double smallest[TOGETHER];

    memcpy(smallest, s, sizeof smallest);
    for (size_t i = TOGETHER; i < PIECE; i += TOGETHER)
        for (size_t j = 0; j < TOGETHER; j++) smallest[j] = s[i + j] < smallest[j] ? s[i + j] : smallest[j];
    for (size_t j = 1; j < TOGETHER; j++) smallest[0] = fmin(smallest[0], smallest[j]);
    return smallest[0];
}

static size_t compare_all(const groups *g, const double *x)
{
    const cbx__fold *k = cbx__fold_get(cbx_isa_best());
    double best = INFINITY, s[PIECE];
    size_t which = 0;

    for (size_t j = 0; j < g->m; j += PIECE) {
        distances(g, x, j, s);
        const double smallest = min_of(s);
        if (!(smallest < best)) continue;
        best = smallest;
        which = j + k->run_find_f64(s, PIECE, smallest);
    }
    return which;
}

/* The k + 1 least of the distances that come, in ascending order. */
static void keep_smallest(double *smallest, size_t k, const double *s)
{
    for (size_t j = 0; j < PIECE; j++) {
        size_t at = k;
        if (!(s[j] < smallest[k])) continue;
        for (; at > 0 && smallest[at - 1] > s[j]; at--) smallest[at] = smallest[at - 1];
        smallest[at] = s[j];
    }
}

/* least: scratch for k + 1 numbers */
static double kth_of_all(const groups *g, const double *x, size_t k, double *smallest)
{
    double s[PIECE];

    for (size_t i = 0; i <= k; i++) smallest[i] = INFINITY;
    for (size_t j = 0; j < g->m; j += PIECE) {
        distances(g, x, j, s);
        if (min_of(s) < smallest[k]) keep_smallest(smallest, k, s);
    }
    return smallest[k];
}

static size_t covering(const groups *g, const double *x, const double *squares)
{
    size_t count = 0;
    double s[PIECE];

    for (size_t j = 0; j < g->m; j += PIECE) {
        const size_t n = g->m - j < PIECE ? g->m - j : PIECE;
        distances(g, x, j, s);
        for (size_t i = 0; i < n; i++) count += s[i] <= squares[j + i];
    }
    return count;
}

/*
 * The largest of the squared distances of n points to their nearest ones.  A point that is near
 * some other one than the largest found so far cannot be the one: in random order that is known
 * after some points (Taha & Hanbury 2015).
 */
static double farthest(const groups *g, const double *x, const size_t *order, size_t n)
{
    double largest = 0, s[PIECE];

    for (size_t i = 0; i < n; i++) {
        double nearest = INFINITY;
        for (size_t j = 0; j < g->m && nearest > largest; j += PIECE) {
            distances(g, x + order[i] * g->d, j, s);
            nearest = fmin(nearest, min_of(s));
        }
        largest = fmax(largest, nearest);
    }
    return largest;
}

static void shuffle(size_t *order, size_t n)
{
    cbx_rng rng = cbx_rng_make(n, 0);

    for (size_t i = 0; i < n; i++) {
        const size_t j = (size_t)cbx_rng_below(&rng, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

static bool by_comparison(const cbx_allocator *al, const double *x, size_t n, const double *y, size_t m, size_t d,
                          int64_t *out)
{
    groups g;

    if (!pack(al, y, m, d, NULL, &g)) return false;
    for (size_t i = 0; i < n; i++) out[i] = (int64_t)compare_all(&g, x + i * d);
    groups_free(&g);
    return true;
}

/* NaN, or infinities: a distance that is NaN is least. */
static size_t compare_specials(const double *x, const double *y, size_t m, size_t d)
{
    double best = INFINITY;
    size_t which = 0;

    for (size_t j = 0; j < m; j++) {
        const double s = squared_distance(x, y + j * d, d);
        if (isnan(s)) return j;
        if (s < best) best = s, which = j;
    }
    return which;
}

static void by_tree(tree *t, const double *x, size_t n, const double *y, size_t m, int64_t *out)
{
    memcpy(t->points, y, m * t->d * sizeof *y);
    for (size_t j = 0; j < m; j++) t->at[j] = j;
    build(t, 0, m);
    for (size_t i = 0; i < n; i++) {
        double off[FLAT] = { 0 }, best = INFINITY;
        size_t which = 0;
        search(t, 0, x + i * t->d, off, 0, &best, &which);
        out[i] = (int64_t)which;
    }
}

/* False without memory. */
static bool find_all(const cbx_allocator *al, const double *x, size_t n, const double *y, size_t m, size_t d,
                     int64_t *out)
{
    tree t = { .d = d };
    const size_t nodes = (4 * m / LEAF + 2) * sizeof *t.node, points = m * d * sizeof *y, at = m * sizeof *t.at;
    bool fine;

    if (!all_finite(x, n * d) || !all_finite(y, m * d)) {
        for (size_t i = 0; i < n; i++) out[i] = (int64_t)compare_specials(x + i * d, y, m, d);
        return true;
    }
    if (d > FLAT || m < (size_t)WORTH_IT << d) return by_comparison(al, x, n, y, m, d, out);
    t.node = cbx_mem_alloc(al, nodes);
    t.points = cbx_mem_alloc(al, points);
    t.at = cbx_mem_alloc(al, at);
    fine = t.node && t.points && t.at;
    if (fine) by_tree(&t, x, n, y, m, out);
    cbx_mem_free(al, t.node, nodes);
    cbx_mem_free(al, t.points, points);
    cbx_mem_free(al, t.at, at);
    return fine;
}

/* ---- over arrays ---- */

static cbx_array *traced(cbx_ctx *ctx, const cbx_array *x, const cbx_array *y)
{
    const cbx_array *rows = cbx_expand_dims(ctx, cbx_stop_gradient(ctx, x), 1);
    const cbx_array *columns = cbx_expand_dims(ctx, cbx_stop_gradient(ctx, y), 0);
    const cbx_array *squares = cbx_square(ctx, cbx_subtract(ctx, rows, columns));

    return cbx_argmin(ctx, cbx_sum(ctx, squares, CBX_AXIS(-1)), CBX_AXIS(1));
}

cbx_array *cbx__nearest(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y)
{
    const size_t n = cbx_array_dim(x, 0), m = cbx_array_dim(y, 0), d = cbx_array_dim(x, 1);
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx__host a = { 0 }, b = { 0 };
    cbx_array *out = cbx__array_failed();
    int64_t *which;

    if (!cbx__metric_has_data(ctx, call)) return traced(ctx, x, y);
    which = cbx_mem_calloc(al, n, sizeof *which);
    if (which && cbx__host_read(ctx, x, &a) && cbx__host_read(ctx, y, &b) &&
        find_all(al, a.data, n, b.data, m, d, which))
        out = cbx_asarray(ctx, &(cbx_array_desc){ .dtype = CBX_I64, .ndim = 1, .shape = { n } }, which);
    else
        cbx__refuse(ctx, CBX_ENOMEM, "%s: no memory for the nearest of %zu points", call->metric->name, n);
    cbx__host_free(ctx, &a);
    cbx__host_free(ctx, &b);
    cbx_mem_free(al, which, n * sizeof *which);
    return out;
}

cbx_array *cbx__nearest_distance(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y)
{
    const cbx_array *there = cbx_take(ctx, y, cbx__nearest(ctx, call, x, y), 0);

    return cbx__root(ctx, cbx_sum(ctx, cbx_square(ctx, cbx_subtract(ctx, x, there)), CBX_AXIS(-1)));
}

/* ---- what metrics ask of all distances; with data that is finite ---- */

/* The operands of the questions below. */
typedef struct sets {
    cbx__host x, y;
    size_t n, m, d;
} sets;

/* False: recorded, or not for here. */
static bool read_sets(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y, sets *out)
{
    *out = (sets){ .n = cbx_array_dim(x, 0), .m = cbx_array_dim(y, 0), .d = cbx_array_dim(x, 1) };
    if (!cbx__metric_has_data(ctx, call) || !cbx__host_read(ctx, x, &out->x) || !cbx__host_read(ctx, y, &out->y))
        return false;
    return all_finite(out->x.data, out->n * out->d) && all_finite(out->y.data, out->m * out->d);
}

static void sets_free(cbx_ctx *ctx, sets *s)
{
    cbx__host_free(ctx, &s->x);
    cbx__host_free(ctx, &s->y);
}

static cbx_array *no_memory(cbx_ctx *ctx, const cbx_metric_call *call, const sets *s)
{
    return cbx__refuse(ctx, CBX_ENOMEM, "%s: no memory for the distances of %zu and %zu points", call->metric->name,
                       s->n, s->m);
}

static cbx_array *vector_of(cbx_ctx *ctx, const double *v, size_t n)
{
    return cbx_asarray(ctx, &(cbx_array_desc){ .dtype = CBX_F64, .ndim = 1, .shape = { n } }, v);
}

cbx_array *cbx__kth_squares(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y, size_t k)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_array *result = NULL;
    groups g = { 0 };
    sets s;

    if (read_sets(ctx, call, x, y, &s)) {
        double *out = cbx_mem_calloc(al, s.n + k + 1, sizeof *out);
        if (out && pack(al, s.y.data, s.m, s.d, NULL, &g)) {
            for (size_t i = 0; i < s.n; i++) out[i] = kth_of_all(&g, (const double *)s.x.data + i * s.d, k, out + s.n);
            result = vector_of(ctx, out, s.n);
            groups_free(&g);
        } else {
            result = no_memory(ctx, call, &s);
        }
        cbx_mem_free(al, out, (s.n + k + 1) * sizeof *out);
    }
    sets_free(ctx, &s);
    return result;
}

cbx_array *cbx__covering_balls(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y,
                               const cbx_array *squares)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_array *result = NULL;
    cbx__host r = { 0 };
    groups g = { 0 };
    sets s;

    if (read_sets(ctx, call, x, y, &s) && cbx__host_read(ctx, squares, &r)) {
        double *out = cbx_mem_calloc(al, s.n, sizeof *out);
        if (out && pack(al, s.y.data, s.m, s.d, NULL, &g)) {
            for (size_t i = 0; i < s.n; i++) out[i] = (double)covering(&g, (const double *)s.x.data + i * s.d, r.data);
            result = vector_of(ctx, out, s.n);
            groups_free(&g);
        } else {
            result = no_memory(ctx, call, &s);
        }
        cbx_mem_free(al, out, s.n * sizeof *out);
    }
    cbx__host_free(ctx, &r);
    sets_free(ctx, &s);
    return result;
}

cbx_array *cbx__all_distances(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, double divisor, bool sums)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const cbx__loop root = cbx__loops_get()->unary(CBX_PRIM_SQRT, CBX_F64);
    const size_t n = cbx_array_dim(x, 0), bytes = (n + PIECE) * sizeof(double);
    const cbx_array_desc d = { .dtype = CBX_F64, .ndim = sums ? 1 : 2, .shape = { n, n } };
    cbx_array *result = NULL;
    groups g = { .al = al };
    sets s;

    if (read_sets(ctx, call, x, x, &s)) {
        double *row = cbx_mem_alloc(al, bytes);
        if (!row || !pack(al, s.y.data, n, s.d, NULL, &g)) {
            result = no_memory(ctx, call, &s);
        } else if (cbx_array_create(ctx, &d, &result, cbx__sticky(ctx))) {
            result = cbx__array_failed();
        } else {
            double *out = cbx_array_data_mut(result = cbx_scope_hold(ctx, result));
            for (size_t i = 0; i < n; i++) {
                double *to = sums ? row : out + i * n;
                for (size_t j = 0; j < n; j += PIECE) distances(&g, (const double *)s.x.data + i * s.d, j, row + j);
                root(n, (char *[]){ (char *)to, (char *)row }, (const ptrdiff_t[]){ sizeof *to, sizeof *row });
                for (size_t j = 0; j < n && divisor != 1; j++) to[j] /= divisor;
                if (sums) out[i] = 0.0 + cbx__fold_get(cbx_isa_best())->run_sum_f64(row, n);
            }
        }
        groups_free(&g);
        cbx_mem_free(al, row, bytes);
    }
    sets_free(ctx, &s);
    return result;
}

cbx_array *cbx__farthest_nearest(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_array *result = NULL;
    groups g = { 0 };
    sets s;

    if (read_sets(ctx, call, x, y, &s)) {
        size_t *order = cbx_mem_calloc(al, s.n + s.m, sizeof *order);
        if (order) {
            shuffle(order, s.n);
            shuffle(order + s.n, s.m);
        }
        if (order && pack(al, s.y.data, s.m, s.d, order + s.n, &g)) {
            result = cbx__number(ctx, sqrt(farthest(&g, s.x.data, order, s.n)));
            groups_free(&g);
        } else {
            result = no_memory(ctx, call, &s);
        }
        cbx_mem_free(al, order, (s.n + s.m) * sizeof *order);
    }
    sets_free(ctx, &s);
    return result ? result : cbx_max(ctx, cbx__nearest_distance(ctx, call, x, y), NULL);
}
