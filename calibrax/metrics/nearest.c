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
    size_t d, m;
    double *y;
} groups;

static size_t grouped(size_t m) { return (m + PIECE - 1) / PIECE * PIECE; }

/* memory: for the coordinates of grouped(m) points; order: which point comes where; NULL: as they
 * are. */
static groups pack(double *memory, const double *y, size_t m, size_t d, const size_t *order)
{
    for (size_t j = 0; j < grouped(m); j++)
        for (size_t k = 0; k < d; k++)
            memory[(j / TOGETHER * d + k) * TOGETHER + j % TOGETHER] = j < m ? y[(order ? order[j] : j) * d + k]
                                                                             : INFINITY;
    return (groups){ d, m, memory };
}

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

/* ---- over arrays ---- */

/*
 * For each row of x (n, d) the number of the row of y (m, d) whose Euclidean distance to it is
 * least: int64 (n).  A distance that is NaN is least.  With data a k-d tree finds it (few
 * dimensions) or a comparison of all; a trace records the comparison of all.
 */
static cbx_array *nearest_rows(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y)
{
    const size_t n = cbx_array_dim(x, 0), m = cbx_array_dim(y, 0), d = cbx_array_dim(x, 1);
    const double *a, *b;
    cbx_array *out;
    int64_t *which;
    double *memory;
    tree t = { .d = d };

    if (!cbx__metric_has_data(ctx, call)) {
        const cbx_array *rows = cbx_expand_dims(ctx, cbx_stop_gradient(ctx, x), 1);
        const cbx_array *columns = cbx_expand_dims(ctx, cbx_stop_gradient(ctx, y), 0);
        const cbx_array *squares = cbx_square(ctx, cbx_subtract(ctx, rows, columns));
        return cbx_argmin(ctx, cbx_sum(ctx, squares, CBX_AXIS(-1)), CBX_AXIS(1));
    }
    a = cbx__host_view(ctx, x);
    b = cbx__host_view(ctx, y);
    out = cbx__fresh(ctx, &(cbx_array_desc){ CBX_I64, 1, { n } });
    memory = cbx__scratch(ctx, call->metric, grouped(m) * d, sizeof *memory, "the nearest of %zu points", n);
    if (!a || !b || !memory || cbx_array_is_failed(out)) return cbx__array_failed();
    which = cbx_array_data_mut(out);
    if (!all_finite(a, n * d) || !all_finite(b, m * d)) {
        for (size_t i = 0; i < n; i++) which[i] = (int64_t)compare_specials(a + i * d, b, m, d);
    } else if (d > FLAT || m < (size_t)WORTH_IT << d) {
        const groups g = pack(memory, b, m, d, NULL);
        for (size_t i = 0; i < n; i++) which[i] = (int64_t)compare_all(&g, a + i * d);
    } else {
        t.points = memory;
        t.node = cbx__scratch(ctx, call->metric, 4 * m / LEAF + 2, sizeof *t.node, "the nearest of %zu points", n);
        t.at = cbx__scratch(ctx, call->metric, m, sizeof *t.at, "the nearest of %zu points", n);
        if (t.node && t.at) by_tree(&t, a, n, b, m, which);
    }
    return out;
}

cbx_array *cbx__nearest_distance(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y)
{
    const cbx_array *there = cbx_take(ctx, y, nearest_rows(ctx, call, x, y), 0);

    return cbx__root(ctx, cbx_sum(ctx, cbx_square(ctx, cbx_subtract(ctx, x, there)), CBX_AXIS(-1)));
}

/* ---- what metrics ask of all distances; with data that is finite ---- */

/* The operands of the questions below, the second one in groups, and memory for the answers. */
typedef struct sets {
    const double *x;
    groups y;
    size_t n;
    double *out;
    size_t *order; /* random ones of both */
} sets;

/* out: numbers of memory.  False: not for here; recorded where it is a failure. */
static bool read_sets(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y, size_t out,
                      bool shuffled, sets *s)
{
    const size_t n = cbx_array_dim(x, 0), m = cbx_array_dim(y, 0), d = cbx_array_dim(x, 1);
    const double *from;
    double *memory;

    *s = (sets){ .n = n };
    if (!cbx__metric_has_data(ctx, call)) return false;
    s->x = cbx__host_view(ctx, x);
    from = cbx__host_view(ctx, y);
    if (!s->x || !from || !all_finite(s->x, n * d) || !all_finite(from, m * d)) return false;
    memory = cbx__scratch(ctx, call->metric, grouped(m) * d + out, sizeof *memory,
                          "the distances of %zu and %zu points", n, m);
    s->order = cbx__scratch(ctx, call->metric, shuffled ? n + m : 0, sizeof *s->order,
                            "the distances of %zu and %zu points", n, m);
    if (!memory || !s->order) return false;
    if (shuffled) shuffle(s->order, n);
    if (shuffled) shuffle(s->order + n, m);
    s->y = pack(memory, from, m, d, shuffled ? s->order + n : NULL);
    s->out = memory + grouped(m) * d;
    return true;
}

cbx_array *cbx__kth_squares(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y, size_t k)
{
    sets s;

    if (!read_sets(ctx, call, x, y, cbx_array_dim(x, 0) + k + 1, false, &s)) return NULL;
    for (size_t i = 0; i < s.n; i++) s.out[i] = kth_of_all(&s.y, s.x + i * s.y.d, k, s.out + s.n);
    return cbx__vector(ctx, s.n, s.out);
}

cbx_array *cbx__covering_balls(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y,
                               const cbx_array *squares)
{
    const double *r;
    sets s;

    if (!read_sets(ctx, call, x, y, cbx_array_dim(x, 0), false, &s)) return NULL;
    r = cbx__host_view(ctx, squares);
    for (size_t i = 0; r && i < s.n; i++) s.out[i] = (double)covering(&s.y, s.x + i * s.y.d, r);
    return cbx__vector(ctx, s.n, s.out);
}

cbx_array *cbx__distances_of_rows(cbx_ctx *ctx, const cbx_metric_call *call, size_t first, size_t last)
{
    const cbx_array *rows = call->in[0], *some = cbx_slice(ctx, rows, 0, (ptrdiff_t)first, (ptrdiff_t)last, 1);
    const cbx_array *e = cbx_subtract(ctx, cbx_expand_dims(ctx, some, 1), cbx_expand_dims(ctx, rows, 0));

    return cbx__root(ctx, cbx_sum(ctx, cbx_square(ctx, e), CBX_AXIS(-1)));
}

static cbx_array *sums_of_rows(cbx_ctx *ctx, const cbx_metric_call *call, size_t first, size_t last)
{
    return cbx_sum(ctx, cbx__distances_of_rows(ctx, call, first, last), CBX_AXIS(-1));
}

cbx_array *cbx__all_distances(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, double divisor, bool sums)
{
    const cbx__loop root = cbx__loops_get()->unary(CBX_PRIM_SQRT, CBX_F64);
    const size_t n = cbx_array_dim(x, 0), size = cbx_array_count(x);
    cbx_metric_call own = *call;
    cbx_array *result;
    double *out;
    sets s;

    if (!size || !read_sets(ctx, call, x, x, n + PIECE, false, &s)) {
        own.in = (cbx_array *[]){ (cbx_array *)x, NULL };
        result = cbx__by_rows(ctx, &own, n, size, sums ? sums_of_rows : cbx__distances_of_rows);
        return divisor == 1 ? result : cbx_divide_scalar(ctx, result, divisor);
    }
    result = cbx__fresh(ctx, &(cbx_array_desc){ CBX_F64, sums ? 1 : 2, { n, n } });
    if (cbx_array_is_failed(result)) return result;
    out = cbx_array_data_mut(result);
    for (size_t i = 0; i < n; i++) {
        double *row = s.out, *to = sums ? row : out + i * n;
        for (size_t j = 0; j < n; j += PIECE) distances(&s.y, s.x + i * s.y.d, j, row + j);
        root(n, (char *[]){ (char *)to, (char *)row }, (const ptrdiff_t[]){ sizeof *to, sizeof *row });
        for (size_t j = 0; j < n && divisor != 1; j++) to[j] /= divisor;
        if (sums) out[i] = 0.0 + cbx__fold_get(cbx_isa_best())->run_sum_f64(row, n);
    }
    return result;
}

cbx_array *cbx__farthest_nearest(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y)
{
    sets s;

    if (!read_sets(ctx, call, x, y, 0, true, &s)) return cbx_max(ctx, cbx__nearest_distance(ctx, call, x, y), NULL);
    return cbx__number(ctx, sqrt(farthest(&s.y, s.x, s.order, s.n)));
}
