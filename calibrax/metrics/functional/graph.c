/* Graphs as adjacency matrices: spectra, a bound of the edit distance, distances between
 * vertices. */
#include "calibrax/array/internal.h"
#include "calibrax/metrics/internal.h"

/* Refuses a matrix that is not square, or not symmetric where that is required and its values are
 * known. */
static bool fit(cbx_ctx *ctx, const cbx_metric_call *c, size_t i, bool undirected)
{
    const cbx_array *x = c->in[i], *unequal;
    const size_t n = cbx_array_dim(x, 0);
    size_t at;

    if (!cbx__metric_square(ctx, c->metric, i, x)) return false;
    if (!undirected || !cbx__metric_has_data(ctx, c)) return true;
    unequal = cbx_not_equal(ctx, x, cbx_matrix_transpose(ctx, x));
    if (cbx__metric_element(cbx_any(ctx, unequal, NULL), 0) == 0) return true;
    at = (size_t)cbx__metric_element(cbx_argmax(ctx, unequal, NULL), 0);
    return cbx__metric_refused(ctx, c, CBX_EDOM, "'%s' must be symmetric, and [%zu, %zu] differs from [%zu, %zu]",
                               c->metric->operands[i].name, at / n, at % n, at % n, at / n);
}

/* A result, in a trace NaN unless all matrices are symmetric. */
static cbx_array *of_undirected(cbx_ctx *ctx, const cbx_metric_call *c, cbx_array *x)
{
    if (cbx__metric_has_data(ctx, c)) return x;
    for (size_t i = 0; c->in[i]; i++) {
        const cbx_array *equal = cbx_equal(ctx, c->in[i], cbx_matrix_transpose(ctx, c->in[i]));
        x = cbx__nan_unless(ctx, c, cbx_all(ctx, equal, NULL), x);
    }
    return x;
}

/* Without loops: they change neither Laplacians nor paths. */
static cbx_array *laplacian(cbx_ctx *ctx, const cbx_array *a)
{
    const size_t n = cbx_array_dim(a, 0);
    const cbx_array *degrees = cbx_sum(ctx, a, CBX_AXIS(-1));

    return cbx_subtract(ctx, cbx_multiply(ctx, cbx_eye(ctx, n, n, 0, CBX_F64), degrees), a);
}

/* n-by-n, with vertices without edges added. */
static cbx_array *enlarged(cbx_ctx *ctx, const cbx_array *a, size_t n)
{
    const size_t before[] = { 0, 0 }, more = n - cbx_array_dim(a, 0), after[] = { more, more };
    return more ? cbx_pad(ctx, a, before, after, cbx_float(0)) : cbx_copy(ctx, a);
}

static size_t larger_size(const cbx_metric_call *c)
{
    const size_t n = cbx_array_dim(c->in[0], 0), m = cbx_array_dim(c->in[1], 0);
    return n > m ? n : m;
}

/* A vertex without edges adds an eigenvalue of 0. */
CBX__OF_CALL(spectral)
{
    const ptrdiff_t k = (ptrdiff_t)c->parameters[0];
    const cbx_array *spectrum[2];

    if (!fit(ctx, c, 0, true) || !fit(ctx, c, 1, true)) return cbx__array_failed();
    for (int i = 0; i < 2; i++) {
        spectrum[i] = cbx_eigvalsh(ctx, enlarged(ctx, laplacian(ctx, c->in[i]), larger_size(c)));
        if (k) spectrum[i] = cbx_slice(ctx, spectrum[i], 0, -k, CBX_OPEN, 1);
    }
    return of_undirected(
        ctx, c, cbx__root(ctx, cbx_sum(ctx, cbx_square(ctx, cbx_subtract(ctx, spectrum[0], spectrum[1])), NULL)));
}

/* Half of sum |x - y|, both sorted. */
static cbx_array *half_gap(cbx_ctx *ctx, const cbx_array *x, const cbx_array *y)
{
    const cbx_array *gap = cbx_subtract(ctx, cbx_sort(ctx, x, 0, false), cbx_sort(ctx, y, 0, false));
    return cbx_multiply_scalar(ctx, cbx_sum(ctx, cbx_abs(ctx, gap), NULL), 0.5);
}

/*
 * An edge of weight w that is added moves two degrees by w each, and the matrix by one of nuclear
 * norm 2 w, which bounds the sum of what eigenvalues move (Mirsky 1960).
 */
CBX__OF_CALL(edit_bound)
{
    const double n = (double)cbx_array_dim(c->in[0], 0), m = (double)cbx_array_dim(c->in[1], 0);
    const cbx_array *degrees[2], *spectrum[2], *edges;

    if (!fit(ctx, c, 0, true) || !fit(ctx, c, 1, true)) return cbx__array_failed();
    for (int i = 0; i < 2; i++) {
        const size_t size = larger_size(c);
        const cbx_array *a = enlarged(ctx, c->in[i], size);
        const cbx_array *loops = cbx_multiply(ctx, a, cbx_eye(ctx, size, size, 0, CBX_F64));
        a = cbx_subtract(ctx, a, loops);
        degrees[i] = cbx_sum(ctx, a, CBX_AXIS(-1));
        spectrum[i] = cbx_eigvalsh(ctx, a);
    }
    edges = cbx_maximum(ctx, half_gap(ctx, degrees[0], degrees[1]), half_gap(ctx, spectrum[0], spectrum[1]));
    return of_undirected(ctx, c, cbx_add_scalar(ctx, edges, fabs(n - m)));
}

/* ---- components ---- */

/* 1 where two vertices are joined by a path. */
static void mark_components(const double *a, size_t n, size_t *stack, size_t *which, double *out)
{
    for (size_t i = 0; i < n; i++) which[i] = n;
    for (size_t root = 0; root < n; root++) {
        size_t depth = 0;
        if (which[root] != n) continue;
        which[root] = root;
        stack[depth++] = root;
        while (depth) {
            const size_t v = stack[--depth];
            for (size_t w = 0; w < n; w++)
                if (a[v * n + w] > 0 && which[w] == n) which[w] = root, stack[depth++] = w;
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) out[i * n + j] = which[i] == which[j];
}

CBX__OF_CALL(components)
{
    const size_t n = cbx_array_dim(c->in[0], 0);
    cbx_array *out;
    const double *a;
    size_t *stack;

    if (!cbx__metric_has_data(ctx, c)) { /* the matrix of steps is squared until it holds all paths */
        const cbx_array *edges = cbx_greater_scalar(ctx, cbx_stop_gradient(ctx, c->in[0]), 0),
                        *one = cbx__number(ctx, 1);
        out = cbx_add(ctx, cbx_astype(ctx, edges, CBX_F64), cbx_eye(ctx, n, n, 0, CBX_F64));
        for (size_t length = 1; length < n; length *= 2) out = cbx_minimum(ctx, cbx_matrix_product(ctx, out, out), one);
        return cbx_minimum(ctx, out, one);
    }
    a = cbx__host_view(ctx, c->in[0]);
    stack = cbx__scratch(ctx, c->metric, 2 * n, sizeof *stack, "%zu vertices", n);
    out = cbx__fresh(ctx, &(cbx_array_desc){ CBX_F64, 2, { n, n } });
    if (a && stack && !cbx_array_is_failed(out)) mark_components(a, n, stack, stack + n, cbx_array_data_mut(out));
    return out;
}

/* The pseudoinverse is (L + P)^-1 - P, P: the mean over each component, which is what L maps to
 * 0. */
CBX__OF_CALL(resistance)
{
    const cbx_array *joined, *mean, *g, *diagonal, *r, *infinite = cbx__number(ctx, INFINITY);
    size_t n;

    if (!fit(ctx, c, 0, true)) return cbx__array_failed();
    n = cbx_array_dim(c->in[0], 0);
    joined = components(ctx, c);
    mean = cbx_divide(ctx, joined, cbx_sum(ctx, joined, CBX_AXIS_KEEP(-1)));
    g = cbx_inv(ctx, cbx_add(ctx, laplacian(ctx, c->in[0]), mean));
    diagonal = cbx_diagonal(ctx, g, 0);
    r = cbx_add(ctx, cbx_expand_dims(ctx, diagonal, 1), cbx_expand_dims(ctx, diagonal, 0));
    r = cbx_subtract(ctx, r, cbx_add(ctx, g, cbx_matrix_transpose(ctx, g)));
    r = cbx_multiply(ctx, r, cbx_subtract(ctx, cbx__number(ctx, 1), cbx_eye(ctx, n, n, 0, CBX_F64)));
    r = cbx_maximum(ctx, r, cbx__number(ctx, 0));
    return of_undirected(ctx, c, cbx_where(ctx, cbx_greater_scalar(ctx, joined, 0), r, infinite));
}

/* ---- shortest paths ---- */

/* Floyd and Warshall: paths through vertices 0..k only, k by k. */
static void all_paths(double *d, size_t n)
{
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++) {
            const double first = d[i * n + k];
            if (isinf(first)) continue;
            for (size_t j = 0; j < n; j++) {
                const double through = first + d[k * n + j];
                d[i * n + j] = through < d[i * n + j] ? through : d[i * n + j];
            }
        }
}

CBX__BODY(through)
{
    const cbx_array *d = in[1], *to = cbx_take(ctx, d, in[0], 1), *from = cbx_take(ctx, d, in[0], 0);

    out[0] = cbx_minimum(ctx, d, cbx_add(ctx, cbx_expand_dims(ctx, to, 1), cbx_expand_dims(ctx, from, 0)));
    return CBX_OK;
}

CBX__OF_CALL(shortest_paths)
{
    const cbx_fn step = { "paths through a vertex", through, NULL, 2, 1, NULL };
    const size_t n = cbx_array_dim(c->in[0], 0);
    cbx_array *d, *out = cbx__array_failed();

    if (!fit(ctx, c, 0, false)) return out;
    /* of single steps: the weights, or 1 each; 0 to itself, infinite without an edge */
    const cbx_array *a = c->in[0], *self = cbx_greater_scalar(ctx, cbx_eye(ctx, n, n, 0, CBX_F64), 0);
    d = c->parameters[0] != 0 ? c->in[0] : cbx__number(ctx, 1);
    d = cbx_where(ctx, cbx_greater_scalar(ctx, a, 0), d, cbx__number(ctx, INFINITY));
    d = cbx_where(ctx, self, cbx__number(ctx, 0), d);
    if (!cbx__metric_has_data(ctx, c)) {
        cbx_fori_loop(ctx, 0, (int64_t)n, &step, 1, &d, &out);
        return out;
    }
    double *lengths = cbx__host_copy(ctx, d);
    if (!lengths) return out;
    all_paths(lengths, n);
    return cbx_asarray(ctx, &(cbx_array_desc){ CBX_F64, 2, { n, n } }, lengths);
}

#define GRAPH .domain = "graph", .low = 0, .high = INFINITY
#define TWO                                                                                                            \
    GRAPH, .operands = CBX__PAIR("a", "b", ADJACENCY), .shapes = CBX_SHAPES_FREE, .direction = CBX_DIRECTION_LOWER
#define ONE GRAPH, .operands = { { "adjacency", CBX_OPERAND_ADJACENCY } }, .direction = CBX_DIRECTION_INFO

/* clang-format off */
CBX__METRIC_TABLE(graph,
    { .name = "spectral_distance", .summary = "Distance of Laplacian spectra", .formula = "||eigenvalues of D_a - a, minus those of D_b - b||, both sorted", TWO,
      .parameters = { CBX__INTEGER("num_eigenvalues", "largest eigenvalues that are compared, 0: all", 0, 0, 1e6) },
      .axioms = CBX_AXIOMS_PSEUDO, .invariances = CBX_INVARIANT_RELABEL, .whole = spectral, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_EAGER,
      .notes = "D: the diagonal matrix of degrees. The smaller graph gets vertices without edges. Graphs that differ may have one spectrum and distance 0. Matrices must be symmetric; loops do not count.",
      .source = "Wilson & Zhu (2008)", .example = "[[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]" },
    { .name = "graph_edit_distance_approx", .summary = "Lower bound of the edit distance of graphs",
      .formula = "|n_a - n_b| + max(sum |degrees of a - of b|, sum |eigenvalues of a - of b|) / 2, all sorted", TWO,
      .axioms = CBX_AXIOMS_PSEUDO, .invariances = CBX_INVARIANT_RELABEL, .whole = edit_bound, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_EAGER,
      .notes = "Never above the least cost of edits that make b of a: 1 for a vertex, the change of its weight for an edge. 0 for graphs that differ only in the order of vertices. The exact distance is NP-hard. Matrices must be symmetric; loops do not count.",
      .source = "Mirsky (1960); Zeng et al. (2009) for degrees", .example = "[[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]" },
    { .name = "resistance_distance", .summary = "Resistances between all vertices", .formula = "out[i, j] = G[i, i] + G[j, j] - 2 G[i, j], G: the pseudoinverse of D - adjacency", ONE,
      .whole = resistance, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_EAGER,
      .notes = "Weights are conductances: an edge of weight w is a resistor of 1 / w. Infinite between components. The matrix must be symmetric; loops do not count.",
      .source = "Klein & Randic (1993); networkx.resistance_distance", .example = "[[0, 1, 0], [1, 0, 1], [0, 1, 0]]" },
    { .name = "shortest_path_distance", .summary = "Lengths of the shortest paths between all vertices", .formula = "out[i, j] = min over paths from i to j of the sum of their lengths", ONE,
      .parameters = { CBX__FLAG("weighted", "weights are lengths; else each edge has length 1", 0) },
      .whole = shortest_paths, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_EAGER,
      .notes = "Infinite where no path leads. adjacency[i, j] is the edge from i to j: it need not be symmetric.",
      .source = "Floyd (1962), Warshall (1962); scipy.sparse.csgraph.floyd_warshall", .example = "[[0, 2, 7], [2, 0, 3], [7, 3, 0]], weighted=True" },
)
/* clang-format on */
