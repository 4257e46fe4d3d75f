/* Clustering: agreement of two labellings. */
#include <stdlib.h>

#include "calibrax/array/scope_internal.h"
#include "calibrax/base/list.h"
#include "calibrax/metrics/functional/counts.h"

/*
 * Agreement, from the contingency table of targets (rows) and predictions (columns): (k, k), or of
 * many classes the cells alone that are not 0, as (3, cells, 1): their rows, their columns, their
 * counts, in this order.
 */

/* The cells of pairs of labels, each with its count; equal pairs become one. */
static cbx_array *cells_from(cbx_ctx *ctx, const cbx_array *rows, const cbx_array *columns, const cbx_array *counts)
{
    const cbx_array *key = cbx_multiply(ctx, rows, cbx_weak(ctx, rows, cbx_int((int64_t)1 << 31))), *order, *differs;
    const cbx_array *group, *places, *yes = cbx_ones(ctx, 1, &(size_t){ 1 }, CBX_BOOL), *parts[3];
    const ptrdiff_t n = (ptrdiff_t)cbx_array_count(rows);

    key = cbx_add(ctx, key, columns); /* labels are below 2^31 */
    order = cbx_argsort(ctx, key, 0, false);
    key = cbx_take(ctx, key, order, 0);
    differs = cbx_not_equal(ctx, cbx_slice(ctx, key, 0, 1, CBX_OPEN, 1), cbx_slice(ctx, key, 0, 0, n - 1, 1));
    differs = cbx_concat(ctx, 2, (const cbx_array *[]){ yes, differs }, 0);
    places = cbx_index(ctx, cbx_nonzero(ctx, differs), 0, 0);
    group = cbx_cumulative_sum(ctx, cbx_astype(ctx, differs, CBX_I64), 0);
    group = cbx_subtract(ctx, group, cbx_weak(ctx, group, cbx_int(1)));
    places = cbx_take(ctx, order, places, 0);
    parts[0] = cbx_astype(ctx, cbx_take(ctx, rows, places, 0), CBX_F64);
    parts[1] = cbx_astype(ctx, cbx_take(ctx, columns, places, 0), CBX_F64);
    parts[2] = cbx_segment_sum(ctx, cbx_take(ctx, counts, order, 0), group, cbx_array_count(places));
    return cbx_expand_dims(ctx, cbx_stack(ctx, 3, parts, 0), -1);
}

CBX__OF_CALL(contingency)
{
    const size_t k = cbx__num_classes(c);

    if (k > CBX__DENSE_COUNTS / k && cbx__metric_has_data(ctx, c)) {
        const cbx_array *rows = cbx_flatten(ctx, c->in[1]), *columns = cbx_flatten(ctx, c->in[0]);
        return cells_from(ctx, rows, columns, cbx_ones(ctx, 1, &(size_t){ cbx_array_count(rows) }, CBX_F64));
    }
    return cbx__confusion(ctx, c);
}

/* What formulas take of a table: its cells, sums of the row and of the column of each, and these
 * sums of all classes. */
typedef struct table {
    const cbx_array *cells, *rows, *columns, *actual, *predicted, *total;
} table;

static cbx_array *row_of_cells(cbx_ctx *ctx, const cbx_array *m, ptrdiff_t i)
{
    return cbx_squeeze(ctx, cbx_index(ctx, m, 0, i), -1);
}

/* Sums of counts over equal labels: of the label of each cell, and of each label, filled with 0. */
static void sum_labels(cbx_ctx *ctx, const cbx_array *labels, const cbx_array *counts, const cbx_array **each,
                       const cbx_array **all)
{
    const cbx_array *order = cbx_argsort(ctx, labels, 0, false), *sorted = cbx_take(ctx, labels, order, 0);
    const size_t n = cbx_array_count(labels);
    const cbx_array *first = cbx_zeros(ctx, 1, &(size_t){ 1 }, CBX_I64), *differs, *group;

    differs = cbx_not_equal(ctx, cbx_slice(ctx, sorted, 0, 1, CBX_OPEN, 1),
                            cbx_slice(ctx, sorted, 0, 0, (ptrdiff_t)n - 1, 1));
    group = cbx_cumulative_sum(ctx, cbx_astype(ctx, differs, CBX_I64), 0);
    group = cbx_concat(ctx, 2, (const cbx_array *[]){ first, group }, 0);
    group = cbx_take(ctx, group, cbx_argsort(ctx, order, 0, false), 0);
    *all = cbx_segment_sum(ctx, counts, group, n);
    *each = cbx_take(ctx, *all, group, 0);
}

static table table_of(cbx_ctx *ctx, const cbx_array *m)
{
    table t;

    if (cbx_array_ndim(m) < 3) {
        const cbx__tallies s = cbx__tally(ctx, m);
        return (table){
            m, cbx_expand_dims(ctx, s.actual, 1), cbx_expand_dims(ctx, s.predicted, 0), s.actual, s.predicted, s.total
        };
    }
    if (cbx_array_dim(m, 1) == 0) cbx__refuse(ctx, CBX_EFORMAT, "a table of labels has no cells");
    t.cells = row_of_cells(ctx, m, 2);
    sum_labels(ctx, row_of_cells(ctx, m, 0), t.cells, &t.rows, &t.actual);
    sum_labels(ctx, row_of_cells(ctx, m, 1), t.cells, &t.columns, &t.predicted);
    t.total = cbx_sum(ctx, t.cells, NULL);
    return t;
}

/* A table as its cells: rows, columns and counts of those that are not 0. */
static void cells_of(cbx_ctx *ctx, const cbx_array *m, const cbx_array **out)
{
    const cbx_array *places, *at;

    if (cbx_array_ndim(m) == 3) {
        for (ptrdiff_t i = 0; i < 3; i++) out[i] = row_of_cells(ctx, m, i);
        for (int i = 0; i < 2; i++) out[i] = cbx_astype(ctx, out[i], CBX_I64);
        return;
    }
    places = cbx_nonzero(ctx, m);
    out[0] = cbx_index(ctx, places, 0, 0);
    out[1] = cbx_index(ctx, places, 0, 1);
    at = cbx_multiply(ctx, out[0], cbx_weak(ctx, out[0], cbx_int((int64_t)cbx_array_dim(m, 1))));
    out[2] = cbx_take(ctx, cbx_flatten(ctx, m), cbx_add(ctx, at, out[1]), 0);
}

CBX__OF_STATES(contingency_merge, a, b)
{
    const cbx_array *x[3], *y[3], *both[3];

    if (cbx_array_ndim(a) == 2 && cbx_array_ndim(b) == 2) {
        const size_t n = cbx_array_dim(a, 0), m = cbx_array_dim(b, 0), more = n > m ? n - m : m - n;
        const cbx_array *small = cbx_pad(ctx, n < m ? a : b, (size_t[2]){ 0 }, (size_t[]){ more, more }, cbx_float(0));
        return cbx_add(ctx, n < m ? b : a, small);
    }
    cells_of(ctx, a, x);
    cells_of(ctx, b, y);
    for (int i = 0; i < 3; i++) both[i] = cbx_concat(ctx, 2, (const cbx_array *[]){ x[i], y[i] }, 0);
    return cells_from(ctx, both[0], both[1], both[2]);
}

/* Pairs of items that share both labels, only the true one, only the predicted one (times 2). */
CBX__OF_STATE(adjusted_rand, m)
{
    const table t = table_of(ctx, m);
    const cbx_array *squares = cbx_sum(ctx, cbx_square(ctx, t.cells), NULL);
    const cbx_array *both = cbx_subtract(ctx, squares, t.total), *neither, *agree, *apart, *of, *p, *q;

    p = cbx_subtract(ctx, cbx_sum(ctx, cbx_square(ctx, t.predicted), NULL), squares);
    q = cbx_subtract(ctx, cbx_sum(ctx, cbx_square(ctx, t.actual), NULL), squares);
    neither = cbx_subtract(ctx, cbx_subtract(ctx, cbx_square(ctx, t.total), t.total), both);
    neither = cbx_subtract(ctx, neither, cbx_add(ctx, p, q));
    agree = cbx_subtract(ctx, cbx_multiply(ctx, both, neither), cbx_multiply(ctx, p, q));
    apart = cbx_multiply(ctx, cbx_add(ctx, both, p), cbx_add(ctx, p, neither));
    of = cbx_add(ctx, apart, cbx_multiply(ctx, cbx_add(ctx, both, q), cbx_add(ctx, q, neither)));
    return cbx__ratio_or(ctx, cbx_multiply_scalar(ctx, agree, 2), of, 1);
}

typedef struct information {
    cbx_array *mutual, *actual, *predicted; /* mutual information and entropies [nat] */
} information;

static cbx_array *entropy(cbx_ctx *ctx, const cbx_array *counts, const cbx_array *n)
{
    return cbx__entropy(ctx, cbx_divide(ctx, counts, n), NULL);
}

/* sum p_ij log(p_ij / (p_i p_j)), with the ratio computed of counts. */
static information information_of(cbx_ctx *ctx, const table *t)
{
    const cbx_array *chance = cbx_multiply(ctx, cbx_divide(ctx, t->rows, t->total), t->columns), *ratio, *sum;

    ratio = cbx__ratio_or(ctx, t->cells, chance, 1);
    sum = cbx_sum(ctx, cbx__xlogy(ctx, cbx_divide(ctx, t->cells, t->total), ratio), NULL);
    return (information){ cbx_maximum(ctx, sum, cbx__number(ctx, 0)), entropy(ctx, t->actual, t->total),
                          entropy(ctx, t->predicted, t->total) };
}

enum { ARITHMETIC, GEOMETRIC, MIN, MAX }; /* averages */

static cbx_array *average(cbx_ctx *ctx, const cbx_metric_call *c, const information *i)
{
    switch ((int)c->parameters[0]) {
    case GEOMETRIC: return cbx__root(ctx, cbx_multiply(ctx, i->actual, i->predicted));
    case MIN: return cbx_minimum(ctx, i->actual, i->predicted);
    case MAX: return cbx_maximum(ctx, i->actual, i->predicted);
    default: return cbx_multiply_scalar(ctx, cbx_add(ctx, i->actual, i->predicted), 0.5);
    }
}

CBX__OF_STATE(normalized_mutual_information, m)
{
    const table t = table_of(ctx, m);
    const information i = information_of(ctx, &t);
    const cbx_array *trivial = cbx_equal_scalar(ctx, cbx_add(ctx, i.actual, i.predicted), 0); /* both are equal */
    return cbx_where(ctx, trivial, cbx__number(ctx, 1), cbx__ratio_or(ctx, i.mutual, average(ctx, c, &i), 0));
}

CBX__OF_STATE(v_measure, m)
{
    const double beta = c->parameters[0];
    const table t = table_of(ctx, m);
    const information i = information_of(ctx, &t);
    const cbx_array *h = cbx__ratio_or(ctx, i.mutual, i.actual, 1);
    const cbx_array *k = cbx__ratio_or(ctx, i.mutual, i.predicted, 1);
    const cbx_array *product = cbx_multiply_scalar(ctx, cbx_multiply(ctx, h, k), 1 + beta);

    return cbx__ratio_or(ctx, product, cbx_add(ctx, cbx_multiply_scalar(ctx, h, beta), k), 0);
}

/* ---- expected mutual information ---- */

/* Sums that differ, and how many there are of each. */
typedef struct margins {
    double *value, *times;
    size_t n;
} margins;

/* Of n sums in value, sorted and joined in place; those of 0 are left out. */
static void join_equal(margins *m, size_t n)
{
    qsort(m->value, n, sizeof *m->value, cbx_compare_doubles);
    m->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (m->value[i] <= 0) continue;
        if (m->n && m->value[m->n - 1] == m->value[i]) {
            m->times[m->n - 1]++;
            continue;
        }
        m->value[m->n] = m->value[i];
        m->times[m->n++] = 1;
    }
}

/*
 * E[k / n log(n k / (a b))] of k items that two classes of a and b among n items have in common by
 * chance.  The hypergeometric probabilities come from their ratios, outwards from the mode and
 * relative to it, until they are too small to count: exact, and of about sqrt(n) terms.
 */
static double expected_term(double n, double a, double b)
{
    const double low = fmax(0, a + b - n), high = fmin(a, b),
                 mode = fmin(fmax(floor((a + 1) * (b + 1) / (n + 2)), low), high);
    double total = 0, sum = 0;

    for (int up = 0; up < 2; up++) {
        double p = 1;
        for (double k = mode; up ? k <= high : k >= low; k += up ? 1 : -1) {
            if (!up || k != mode) {
                total += p;
                if (k > 0) sum += p * k / n * log(n / a * (k / b));
            }
            p *= up ? (a - k) * (b - k) / ((k + 1) * (n - a - b + k + 1))
                    : k * (n - a - b + k) / ((a - k + 1) * (b - k + 1));
            if (p < 1e-30) break;
        }
    }
    return sum / total;
}

/* The expectation over all labellings with these margins (Vinh, Epps & Bailey 2010). */
static double expectation(cbx_ctx *ctx, const cbx_metric_call *c, const table *t)
{
    const size_t k = cbx_array_count(t->actual); /* of cells both have one for each, too */
    const char *what = "the sums of %zu classes";
    margins rows = { cbx__host_copy(ctx, t->actual), cbx__scratch(ctx, c->metric, k, sizeof(double), what, k), 0 };
    margins columns = { cbx__host_copy(ctx, t->predicted), cbx__scratch(ctx, c->metric, k, sizeof(double), what, k),
                        0 };
    const double n = cbx__metric_element(t->total, 0);
    double sum = 0;

    if (!rows.value || !rows.times || !columns.value || !columns.times) return NAN;
    join_equal(&rows, k);
    join_equal(&columns, k);
    for (size_t i = 0; i < rows.n; i++)
        for (size_t j = 0; j < columns.n; j++)
            sum += rows.times[i] * columns.times[j] * expected_term(n, rows.value[i], columns.value[j]);
    return sum;
}

CBX__OF_STATE(adjusted_mutual_information, m)
{
    const table t = table_of(ctx, m);
    const information i = information_of(ctx, &t);
    const double h = cbx__metric_element(average(ctx, c, &i), 0), mutual = cbx__metric_element(i.mutual, 0);
    const double ha = cbx__metric_element(i.actual, 0), hp = cbx__metric_element(i.predicted, 0);
    const double chance = cbx_ctx_pending(ctx, NULL) ? NAN : expectation(ctx, c, &t);

    if (ha == 0 || hp == 0) return cbx__number(ctx, ha == hp);
    if (fabs(h - chance) <= 0x1p-44 * h) return cbx__number(ctx, 1); /* items have a label each */
    return cbx__number(ctx, (mutual - chance) / (h - chance));
}

#define CLUSTERING(...) CBX__ROW("clustering", __VA_ARGS__)
#define AGREEMENT(low_)                                                                                                \
    CLUSTERING(HIGHER, low_, 1), .operands = CBX__PAIR("predictions", "targets", LABELS), .parts = contingency,        \
                                 .merge = contingency_merge,                                                           \
                                 .invariances = CBX_INVARIANT_ORDER | CBX_INVARIANT_RELABEL
#define AVERAGE CBX__CHOICE("average", "mean of the two entropies", 0, 3, "arithmetic|geometric|min|max")
#define TRIVIAL "1 where both labellings have one label."
#define MANY    " Of more than 2048 classes only pairs of labels that occur are counted."

/* Of many classes the pairs that occur are kept. */
#define NUM_CLASSES CBX__INTEGER("num_classes", "number of classes; 0: from the labels", 0, 0, 0x1p31)

/* clang-format off */
CBX__METRIC_TABLE(clustering_agreement,
    { .name = "adjusted_rand_index", .summary = "Adjusted Rand index", .formula = "(pairs that agree - their expectation) / (their maximum - their expectation)", AGREEMENT(-0.5),
      .parameters = { NUM_CLASSES }, .axioms = CBX_AXIOM_SYMMETRIC, .finish = adjusted_rand, .flags = CBX_METRIC_EAGER,
      .notes = "0 on average for independent labellings, and negative for worse ones. " TRIVIAL MANY,
      .source = "Hubert & Arabie (1985); scikit-learn adjusted_rand_score", .example = "[0, 0, 1, 2], [0, 0, 1, 1]" },
    { .name = "normalized_mutual_information_clustering", .summary = "Normalised mutual information of labellings", .formula = "I(predictions, targets) / average(H(predictions), H(targets))", AGREEMENT(0),
      .parameters = { AVERAGE, NUM_CLASSES }, .axioms = CBX_AXIOM_SYMMETRIC, .finish = normalized_mutual_information, .flags = CBX_METRIC_EAGER,
      .notes = "Many small clusters raise it by chance: adjusted_mutual_information corrects that. " TRIVIAL MANY,
      .source = "scikit-learn normalized_mutual_info_score", .example = "[0, 0, 1, 2], [0, 0, 1, 1]" },
    { .name = "adjusted_mutual_information", .summary = "Adjusted mutual information of labellings", .formula = "(I - E[I]) / (average(H(predictions), H(targets)) - E[I])", AGREEMENT(-INFINITY),
      .parameters = { AVERAGE, NUM_CLASSES }, .axioms = CBX_AXIOM_SYMMETRIC, .finish = adjusted_mutual_information, .flags = CBX_METRIC_DATA_SHAPED,
      .notes = "E[I] is the expectation over all labellings with the same sizes of clusters. " TRIVIAL " 0 where only one of them has." MANY,
      .source = "Vinh, Epps & Bailey (2010); scikit-learn adjusted_mutual_info_score", .example = "[0, 0, 1, 2], [0, 0, 1, 1]" },
    { .name = "v_measure", .summary = "V-measure", .formula = "(1 + beta) h c / (beta h + c) with h = I / H(targets), c = I / H(predictions)", AGREEMENT(0),
      .parameters = { CBX__REAL("beta", "weight of completeness c against homogeneity h", 1, 0, 0x1p500), NUM_CLASSES }, .axioms = CBX_AXIOM_SYMMETRIC, .finish = v_measure, .flags = CBX_METRIC_EAGER,
      .notes = "Symmetric with beta 1, where it is the normalised mutual information. h is 1 where targets have one label, c where predictions have." MANY,
      .source = "Rosenberg & Hirschberg (2007); scikit-learn v_measure_score", .example = "[0, 0, 1, 2], [0, 0, 1, 1]" },
)
/* clang-format on */
