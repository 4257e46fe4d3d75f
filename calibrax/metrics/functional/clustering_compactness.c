/* Clustering: how compact and how separate clusters of points are. */
#include <string.h>

#include "calibrax/base/parallel.h"
#include "calibrax/metrics/functional/counts.h"
#include "calibrax/metrics/functional/rows.h"

/*
 * Points less the first one, so that equal ones are 0; their sums and centres (clusters, d), sizes
 * (clusters), squared distances of points to their centres (n).
 */
typedef struct clusters {
    cbx_array *points, *sum, *centre, *size, *square, *count;
    const cbx_array *present;
    size_t k;
} clusters;

/* Squared distances of points to the centres of their clusters, which are not stored for each. */
static cbx_array *squares_of(cbx_ctx *ctx, const cbx_metric_call *c, const clusters *s)
{
    const size_t n = cbx_array_dim(c->in[0], 0), d = cbx_array_dim(c->in[0], 1);
    const int64_t *label;
    cbx_array *r;

    if (!cbx__rows_are_here(ctx, c) || d > CBX__LEAF) {
        r = cbx_subtract(ctx, s->points, cbx_take(ctx, s->centre, c->in[1], 0));
        return cbx_sum(ctx, cbx_square(ctx, r), CBX_AXIS(1));
    }
    label = cbx__host_view(ctx, c->in[1]);
    r = cbx__fresh(ctx, &(cbx_array_desc){ CBX_F64, 1, { n } });
    if (label && !cbx_array_is_failed(r)) {
        const double *x = cbx_array_data(s->points), *centre = cbx_array_data(s->centre);
        double *out = cbx_array_data_mut(r);
        for (size_t i = 0; i < n; i++) out[i] = cbx__row_squares(x + i * d, centre + (size_t)label[i] * d, d);
    }
    return r;
}

static clusters clusters_of(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const cbx_array *x = c->in[0], *labels = c->in[1], *of;
    const size_t n = cbx_array_dim(x, 0);
    clusters s = { .k = cbx__num_classes(c) };

    s.size = cbx_segment_sum(ctx, cbx_ones(ctx, 1, &n, CBX_F64), labels, s.k);
    s.present = cbx_greater_scalar(ctx, s.size, 0);
    s.count = cbx_sum(ctx, cbx_astype(ctx, s.present, CBX_F64), NULL);
    of = cbx_expand_dims(ctx, cbx_maximum(ctx, s.size, cbx__number(ctx, 1)), 1);
    s.points = cbx_subtract(ctx, x, cbx_slice(ctx, x, 0, 0, 1, 1));
    s.sum = cbx_segment_sum(ctx, s.points, labels, s.k);
    s.centre = cbx_divide(ctx, s.sum, of);
    s.square = squares_of(ctx, c, &s);
    return s;
}

/* The result of points with two labels or more; others are refused, and NaN where that is
 * unknown. */
static cbx_array *of_two(cbx_ctx *ctx, const cbx_metric_call *c, cbx_array *result)
{
    const cbx_array *labels = c->in[1];
    const cbx_array *one = cbx_equal(ctx, cbx_min(ctx, labels, NULL), cbx_max(ctx, labels, NULL));

    if (!cbx__metric_has_data(ctx, c)) return cbx_where(ctx, one, cbx__number(ctx, NAN), result);
    if (cbx__metric_element(one, 0) == 0) return result;
    return cbx__refuse(ctx, CBX_EDOM, "%s: 'labels' has one cluster: at least two are compared", c->metric->name);
}

CBX__OF_CALL(calinski_harabasz)
{
    const clusters s = clusters_of(ctx, c);
    const double items = (double)cbx_array_dim(c->in[0], 0);
    const cbx_array *mean = cbx_divide_scalar(ctx, cbx_sum(ctx, s.sum, CBX_AXIS_KEEP(0)), items);
    const cbx_array *within = cbx_sum(ctx, s.square, NULL);
    const cbx_array *from = cbx_sum(ctx, cbx_square(ctx, cbx_subtract(ctx, s.centre, mean)), CBX_AXIS(1));
    const cbx_array *between = cbx_sum(ctx, cbx_multiply(ctx, s.size, from), NULL);
    const cbx_array *n = cbx__number(ctx, items), *one = cbx__number(ctx, 1);

    between = cbx_multiply(ctx, between, cbx_subtract(ctx, n, s.count));
    within = cbx_multiply(ctx, within, cbx_subtract(ctx, s.count, one));
    return of_two(ctx, c, cbx__ratio_or(ctx, between, within, 1));
}

CBX__OF_CALL(davies_bouldin)
{
    const size_t k = cbx__num_classes(c), d = cbx_array_dim(c->in[0], 1);
    if (k > 1 << 13 || k * k > ((size_t)1 << 27) / (d ? d : 1))
        return cbx__metric_refuse(ctx, c, CBX_EINVAL,
                                  "a table of %zu by %zu by %zu differences is too large: number the clusters "
                                  "that occur from 0 on",
                                  k, k, d);
    const clusters s = clusters_of(ctx, c);
    const cbx_array *zero = cbx__number(ctx, 0), *spread, *apart, *both, *worst;

    spread = cbx_segment_sum(ctx, cbx__root(ctx, s.square), c->in[1], s.k);
    spread = cbx__ratio_or(ctx, spread, s.size, 0);
    apart = cbx_subtract(ctx, cbx_expand_dims(ctx, s.centre, 1), cbx_expand_dims(ctx, s.centre, 0));
    apart = cbx__root(ctx, cbx_sum(ctx, cbx_square(ctx, apart), CBX_AXIS(-1)));
    both = cbx_logical_and(ctx, cbx_expand_dims(ctx, s.present, 1), cbx_expand_dims(ctx, s.present, 0));
    apart = cbx_where(ctx, both, apart, zero);
    both = cbx_add(ctx, cbx_expand_dims(ctx, spread, 1), cbx_expand_dims(ctx, spread, 0));
    worst = cbx_max(ctx, cbx__ratio_or(ctx, both, apart, 0), CBX_AXIS(1));
    return of_two(ctx, c, cbx_divide(ctx, cbx_sum(ctx, cbx_where(ctx, s.present, worst, zero), NULL), s.count));
}

/* ---- silhouettes ---- */

enum {
    BLOCK = 1 << 20,     /* distances that a traced function stores */
    TILE = 128,          /* points whose distances to another point are computed together */
    WORTH_THREADS = 2048 /* points */
};

/* Points in the order of their labels, by coordinates: x[k * n + i] is coordinate k of point i. */
typedef struct sorted_points {
    size_t n, d, k;
    double *x;
    size_t *start; /* k + 1: places of the first points of clusters */
    size_t *label; /* n */
    size_t *place; /* n: of a point among the operand's */
    double *each;  /* n: silhouettes, in the operand's order */
} sorted_points;

/* Adds the distances of point i to the points first..last-1. */
static void add_distances(const sorted_points *s, size_t i, size_t first, size_t last, double *sum)
{
    double square[TILE] = { 0 };

    for (size_t k = 0; k < s->d; k++) {
        const double *x = s->x + k * s->n, at = x[i];
        for (size_t j = first; j < last; j++) square[j - first] += (x[j] - at) * (x[j] - at);
    }
    for (size_t j = 0; j < last - first; j++) sum[j] += sqrt(square[j]);
}

/* The silhouettes of the points first..last-1. */
static void tile_silhouettes(const sorted_points *s, size_t first, size_t last)
{
    double own[TILE] = { 0 }, other[TILE];

    for (size_t j = 0; j < TILE; j++) other[j] = INFINITY;
    for (size_t c = 0; c < s->k; c++) {
        const size_t size = s->start[c + 1] - s->start[c];
        double sum[TILE] = { 0 };
        if (!size) continue;
        for (size_t i = s->start[c]; i < s->start[c + 1]; i++) add_distances(s, i, first, last, sum);
        for (size_t j = 0; j < last - first; j++) {
            if (s->label[first + j] == c)
                own[j] = size > 1 ? sum[j] / (double)(size - 1) : NAN; /* alone: 0 */
            else if (sum[j] / (double)size < other[j] || isnan(sum[j]))
                other[j] = sum[j] / (double)size;
        }
    }
    for (size_t j = 0; j < last - first; j++) {
        const size_t c = s->label[first + j];
        const double larger = own[j] > other[j] ? own[j] : other[j];
        const bool zero = s->start[c + 1] - s->start[c] == 1 || larger == 0;
        s->each[s->place[first + j]] = zero ? 0 : (other[j] - own[j]) / larger;
    }
}

/* Counting sort by label, and transposition. */
static void sort_points(sorted_points *s, const double *rows, const int64_t *labels)
{
    for (size_t i = 0; i < s->n; i++) s->start[labels[i] + 1]++;
    for (size_t c = 0; c < s->k; c++) s->start[c + 1] += s->start[c];
    for (size_t i = 0; i < s->n; i++) {
        const size_t at = s->start[labels[i]]++;
        s->label[at] = (size_t)labels[i];
        s->place[at] = i;
        for (size_t k = 0; k < s->d; k++) s->x[k * s->n + at] = rows[i * s->d + k];
    }
    memmove(s->start + 1, s->start, s->k * sizeof *s->start);
    s->start[0] = 0;
}

static void run_tiles(void *user, CBX__UNUSED size_t worker, size_t begin, size_t end)
{
    const sorted_points *s = user;

    for (size_t t = begin; t < end; t++) {
        const size_t first = t * TILE, last = first + TILE < s->n ? first + TILE : s->n;
        tile_silhouettes(s, first, last);
    }
}

CBX__OF_CALL(silhouette_in_c)
{
    sorted_points s = { .n = cbx_array_dim(c->in[0], 0), .d = cbx_array_dim(c->in[0], 1), .k = cbx__num_classes(c) };
    const double *rows = cbx__host_view(ctx, c->in[0]);
    const int64_t *labels = cbx__host_view(ctx, c->in[1]);
    const size_t tiles = (s.n + TILE - 1) / TILE, threads = s.n < WORTH_THREADS ? 1 : cbx__workers(0, tiles);

    s.x = cbx__scratch(ctx, c->metric, s.n * (s.d + 1), sizeof *s.x, "%zu points", s.n);
    s.place = cbx__scratch(ctx, c->metric, 2 * s.n + s.k + 1, sizeof *s.place, "%zu points", s.n);
    if (!rows || !labels || !s.x || !s.place) return cbx__array_failed();
    s.each = s.x + s.n * s.d;
    s.label = s.place + s.n;
    s.start = s.label + s.n;
    sort_points(&s, rows, labels);
    cbx__parallel(threads, tiles, run_tiles, &s);
    return cbx__number(ctx, cbx__fold_get(cbx_isa_best())->run_sum_f64(s.each, s.n) / (double)s.n);
}

/* What blocks of points are compared with: all points, their labels, and the sizes of the
 * clusters. */
typedef struct all_points {
    const cbx_array *x, *labels, *size;
    size_t k;
} all_points;

/* The silhouettes of some points with these labels. */
static cbx_array *silhouettes_of(cbx_ctx *ctx, const all_points *all, const cbx_array *points, const cbx_array *labels)
{
    const cbx_array *zero = cbx__number(ctx, 0), *far = cbx__number(ctx, INFINITY);
    const cbx_array *e, *sums, *own, *mean, *other, *mine, *size = all->size;

    e = cbx_subtract(ctx, cbx_expand_dims(ctx, all->x, 1), cbx_expand_dims(ctx, points, 0));
    e = cbx__root(ctx, cbx_sum(ctx, cbx_square(ctx, e), CBX_AXIS(-1)));
    sums = cbx_segment_sum(ctx, e, all->labels, all->k); /* (k, points) */
    mine = cbx_equal(ctx, cbx_expand_dims(ctx, cbx_arange_int(ctx, 0, (int64_t)all->k, 1, CBX_I64), 1),
                     cbx_expand_dims(ctx, labels, 0));
    mean = cbx__ratio_or(ctx, sums, cbx_expand_dims(ctx, size, 1), INFINITY);
    other = cbx_min(ctx, cbx_where(ctx, mine, far, mean), CBX_AXIS(0));
    size = cbx_take(ctx, size, labels, 0);
    own = cbx_sum(ctx, cbx_where(ctx, mine, sums, zero), CBX_AXIS(0));
    own = cbx__ratio_or(ctx, own, cbx_subtract_scalar(ctx, size, 1), 0);
    e = cbx__ratio_or(ctx, cbx_subtract(ctx, other, own), cbx_maximum(ctx, own, other), 0);
    return cbx_where(ctx, cbx_equal_scalar(ctx, size, 1), zero, e);
}

/* in: the sum so far, points of a block, their labels, and which of them there are. */
CBX__BODY(add_block)
{
    const cbx_array *each = silhouettes_of(ctx, user, in[1], in[2]);

    out[0] = cbx_add(ctx, in[0], cbx_sum(ctx, cbx_where(ctx, in[3], each, cbx__number(ctx, 0)), NULL));
    return CBX_OK;
}

/* Block by block, so that a derivative holds the distances of one block, too. */
static cbx_array *sum_of_blocks(cbx_ctx *ctx, const all_points *all, size_t rows)
{
    const size_t n = cbx_array_dim(all->x, 0), blocks = (n + rows - 1) / rows, none[2] = { 0 };
    const size_t more[2] = { blocks * rows - n, 0 };
    const ptrdiff_t shape[] = { (ptrdiff_t)blocks, (ptrdiff_t)rows, (ptrdiff_t)cbx_array_dim(all->x, 1) };
    const cbx_array *place = cbx_arange_int(ctx, 0, (int64_t)(blocks * rows), 1, CBX_I64);
    cbx_array *sum = cbx__number(ctx, 0), *xs[] = {
        cbx_reshape(ctx, cbx_pad(ctx, all->x, none, more, cbx_float(0)), 3, shape),
        cbx_reshape(ctx, cbx_pad(ctx, all->labels, none, more, cbx_int(0)), 2, shape),
        cbx_reshape(ctx, cbx_less_scalar(ctx, place, (double)n), 2, shape),
    };

    cbx_scan_checkpointed(ctx, CBX_FN(add_block, (void *)all, 4, 1), 1, &sum, CBX_LEN(xs), xs, blocks, false, 1, &sum);
    return sum;
}

CBX__OF_CALL(silhouette)
{
    const size_t n = cbx_array_dim(c->in[0], 0), rows = n == 0 || n <= BLOCK / n ? n : BLOCK / n + 1;
    all_points all = { .x = c->in[0], .labels = c->in[1], .k = cbx__num_classes(c) };

    if (cbx__metric_has_data(ctx, c)) return of_two(ctx, c, silhouette_in_c(ctx, c));
    all.size = cbx_segment_sum(ctx, cbx_ones(ctx, 1, &n, CBX_F64), all.labels, all.k);
    return of_two(ctx, c,
                  rows >= n ? cbx_mean(ctx, silhouettes_of(ctx, &all, all.x, all.labels), NULL)
                            : cbx_divide_scalar(ctx, sum_of_blocks(ctx, &all, rows), (double)n));
}

#define CLUSTERING(...) CBX__ROW("clustering", __VA_ARGS__)
#define INTERNAL                                                                                                       \
    .operands = CBX__TWO("features", POINTS, "labels", LABELS), .shapes = CBX_SHAPES_LENGTH,                           \
    .parameters = { CBX__INTEGER("num_clusters", "number of clusters; 0: from the labels", 0, 0, 0x1p20) }

/* clang-format off */
CBX__METRIC_TABLE(clustering_compactness,
    { .name = "silhouette_score", .summary = "Silhouette score", .formula = "mean((b - a) / max(a, b)) with a, b the mean distances to the own and to the nearest other cluster", CLUSTERING(HIGHER, -1, 1), INTERNAL,
      .whole = silhouette, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_EAGER,
      .invariances = CBX_INVARIANT_ORDER,
      .notes = "A point that is alone in its cluster counts 0. One cluster is refused. All distances are computed, and not stored together.",
      .source = "Rousseeuw (1987); scikit-learn silhouette_score", .example = "[[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]" },
    { .name = "calinski_harabasz_score", .summary = "Calinski-Harabasz score", .formula = "(between / (k - 1)) / (within / (n - k)), sums of squares of k clusters of n points", CLUSTERING(HIGHER, 0, INFINITY), INTERNAL,
      .whole = calinski_harabasz, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_EAGER, .invariances = CBX_INVARIANT_ORDER,
      .notes = "1 where all points are at their centres. One cluster is refused.",
      .source = "Calinski & Harabasz (1974); scikit-learn calinski_harabasz_score", .example = "[[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]" },
    { .name = "davies_bouldin_score", .summary = "Davies-Bouldin score", .formula = "mean over i of max over j of (s_i + s_j) / |c_i - c_j|", CLUSTERING(LOWER, 0, INFINITY), INTERNAL,
      .whole = davies_bouldin, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_EAGER, .invariances = CBX_INVARIANT_ORDER,
      .notes = "s is the mean distance of points to their centre c. Pairs of clusters with one centre do not count. One cluster is refused.",
      .source = "Davies & Bouldin (1979); scikit-learn davies_bouldin_score", .example = "[[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]" },
)
/* clang-format on */
