/* Sets, in terms of a stable order and searches in it. */
#include "calibrax/array/sets.h"

#include "calibrax/array/ops_internal.h"

/* Operands with data, for results whose length depends on it; remedy: what can be traced. */
static bool has_data(cbx_ctx *ctx, const char *name, const char *remedy, size_t n, const cbx_array *const *in)
{
    if (cbx__unusable(ctx, name, n, in)) return false;
    for (size_t i = 0; i < n; i++)
        if (in[i]->flags & CBX__ABSTRACT)
            return cbx__refused(ctx, CBX_EINVAL, "the shape of '%s' depends on data, which a trace has not: use '%s'",
                                name, remedy);
    return true;
}

static cbx_array *reordered(cbx_ctx *ctx, const cbx_array *order, const cbx_array *key)
{
    return cbx_take(ctx, order, cbx_argsort(ctx, cbx_take(ctx, key, order, 0), 0, false), 0);
}

/* Complex numbers: the least significant key first, every sort stable. */
static cbx_array *ascending(cbx_ctx *ctx, const cbx_array *flat)
{
    cbx_array *order;

    if (cbx_array_is_failed(flat) || cbx_dtype_kind(flat->desc.dtype) < CBX_KIND_COMPLEX)
        return cbx_argsort(ctx, flat, 0, false);
    order = cbx_argsort(ctx, cbx_imag(ctx, flat), 0, false);
    order = reordered(ctx, order, cbx_real(ctx, flat));
    return reordered(ctx, order, cbx_isnan(ctx, flat));
}

/* Values alone: most dtypes need no places for them. */
static cbx_array *sorted_values(cbx_ctx *ctx, const cbx_array *flat)
{
    if (cbx_array_is_failed(flat) || cbx_dtype_kind(flat->desc.dtype) < CBX_KIND_COMPLEX)
        return cbx_sort(ctx, flat, 0, false);
    return cbx_take(ctx, flat, ascending(ctx, flat), 0);
}

/* Sorted values, their order, and where a new one begins. */
typedef struct runs {
    cbx_array *order, *sorted, *begins;
} runs;

static cbx_array *all_but_last(cbx_ctx *ctx, const cbx_array *x) { return cbx_slice(ctx, x, 0, CBX_OPEN, -1, 1); }
static cbx_array *all_but_first(cbx_ctx *ctx, const cbx_array *x) { return cbx_slice(ctx, x, 0, 1, CBX_OPEN, 1); }

/* True where sorted values begin a new one. */
static cbx_array *beginnings(cbx_ctx *ctx, const cbx_array *sorted, bool equal_nan)
{
    size_t some = !cbx_array_is_failed(sorted) && sorted->count > 0;
    cbx_array *before = all_but_last(ctx, sorted), *after = all_but_first(ctx, sorted),
              *one = cbx_ones(ctx, 1, &some, CBX_BOOL), *differ = cbx_not_equal(ctx, before, after);

    if (equal_nan)
        differ = cbx_logical_and(ctx, differ, cbx_logical_not(ctx, cbx_isnan(ctx, before))); /* NaN is last */
    return cbx_concat(ctx, 2, (const cbx_array *const[]){ one, differ }, 0);
}

static runs find_runs(cbx_ctx *ctx, const cbx_array *flat, bool equal_nan)
{
    runs r = { .order = ascending(ctx, flat) };

    r.sorted = cbx_take(ctx, flat, r.order, 0);
    r.begins = beginnings(ctx, r.sorted, equal_nan);
    return r;
}

/* Number of each element's value, in the shape of x. */
static cbx_array *inverse_of(cbx_ctx *ctx, const cbx_array *x, const runs *r)
{
    cbx_array *number = cbx_cumulative_sum(ctx, r->begins, 0);

    number = cbx_subtract(ctx, number, cbx_weak(ctx, number, cbx_int(1)));
    number = cbx_scatter(ctx, cbx_zeros_like(ctx, number), r->order, number, 0, CBX_SCATTER_SET);
    return cbx__reshaped(ctx, number, x->desc.ndim, x->desc.shape);
}

/* Where so many runs begin, and where the last one ends; n may be more than there are. */
static cbx_array *edges_of_runs(cbx_ctx *ctx, const cbx_array *begins, size_t n)
{
    cbx_array *at = cbx_nonzero_size(ctx, begins, n + 1, (int64_t)begins->count);
    return cbx_array_is_failed(at) ? at : cbx_index(ctx, at, 0, 0);
}

static cbx_array *edges_of_all_runs(cbx_ctx *ctx, const char *name, const cbx_array *begins)
{
    int64_t n;

    if (!cbx__item(ctx, name, "unique_size", cbx_count_nonzero(ctx, begins, NULL), &n)) return cbx__array_failed();
    return edges_of_runs(ctx, begins, (size_t)n);
}

/* parts: values, indices, inverse, counts */
static void unique_steps(cbx_ctx *ctx, const char *name, const cbx_array *x, bool equal_nan, cbx_array **parts)
{
    cbx_array *flat, *edges, *first;
    runs r;

    if (!has_data(ctx, name, "unique_size", 1, &x)) return;
    flat = cbx_flatten(ctx, x);
    if (cbx_array_is_failed(flat)) return;
    r = find_runs(ctx, flat, equal_nan);
    edges = edges_of_all_runs(ctx, name, r.begins);
    first = all_but_last(ctx, edges);
    parts[0] = cbx_take(ctx, r.sorted, first, 0);
    parts[1] = cbx_take(ctx, r.order, first, 0);
    parts[2] = inverse_of(ctx, x, &r);
    parts[3] = cbx_diff(ctx, edges, 0);
}

static cbx_unique_parts unique_of(cbx_ctx *ctx, const char *name, const cbx_array *x, bool equal_nan)
{
    cbx_array *none = cbx__array_failed(), *parts[4] = { none, none, none, none };
    size_t mark = cbx__mark(ctx);

    unique_steps(ctx, name, x, equal_nan, parts);
    cbx__tidy_list(ctx, mark, 4, parts);
    return (cbx_unique_parts){ parts[0], parts[1], parts[2], parts[3] };
}

void cbx_unique_with(cbx_ctx *ctx, const cbx_array *x, bool equal_nan, cbx_unique_parts *out)
{
    *out = unique_of(ctx, "unique", x, equal_nan);
}

void cbx_unique_all(cbx_ctx *ctx, const cbx_array *x, cbx_unique_parts *out)
{
    *out = unique_of(ctx, "unique_all", x, false);
}

void cbx_unique_counts(cbx_ctx *ctx, const cbx_array *x, cbx_array **values, cbx_array **counts)
{
    cbx_array *none = cbx__array_failed(), *parts[2] = { none, none }, *sorted, *edges;
    size_t mark = cbx__mark(ctx);

    if (has_data(ctx, "unique_counts", "unique_size", 1, &x)) {
        sorted = sorted_values(ctx, cbx_flatten(ctx, x));
        edges = edges_of_all_runs(ctx, "unique_counts", beginnings(ctx, sorted, false));
        parts[0] = cbx_take(ctx, sorted, all_but_last(ctx, edges), 0);
        parts[1] = cbx_diff(ctx, edges, 0);
    }
    cbx__tidy_list(ctx, mark, 2, parts);
    *values = parts[0];
    *counts = parts[1];
}

void cbx_unique_inverse(cbx_ctx *ctx, const cbx_array *x, cbx_array **values, cbx_array **inverse)
{
    cbx_unique_parts parts = unique_of(ctx, "unique_inverse", x, false);

    *values = parts.values;
    *inverse = parts.inverse;
}

/* The values alone. */
static cbx_array *distinct_steps(cbx_ctx *ctx, const char *name, const cbx_array *x, bool equal_nan)
{
    cbx_array *sorted;

    if (!has_data(ctx, name, "unique_size", 1, &x)) return cbx__array_failed();
    sorted = sorted_values(ctx, cbx_flatten(ctx, x));
    return cbx_extract(ctx, beginnings(ctx, sorted, equal_nan), sorted);
}

cbx_array *cbx_unique(cbx_ctx *ctx, const cbx_array *x)
{
    return cbx__tidied(ctx, distinct_steps(ctx, "unique", x, true));
}

cbx_array *cbx_unique_values(cbx_ctx *ctx, const cbx_array *x)
{
    return cbx__tidied(ctx, distinct_steps(ctx, "unique_values", x, false));
}

static void unique_size_steps(cbx_ctx *ctx, const cbx_array *x, size_t size, const cbx_scalar *fill, cbx_array **parts)
{
    cbx_array *flat = cbx_flatten(ctx, x), *first, *there, *other;
    runs r;

    if (cbx_array_is_failed(flat)) return;
    if (!fill && flat->count == 0) {
        cbx__refuse_of(ctx, x, CBX_EINVAL, "'unique_size' of no elements needs a fill");
        return;
    }
    if (fill && !cbx__fits(x->desc.dtype, *fill)) {
        cbx__refuse_of(ctx, x, CBX_EOVERFLOW, "%lld is out of the range of %s", (long long)fill->v.i,
                       cbx_dtype_name(x->desc.dtype));
        return;
    }
    other = fill ? cbx_full(ctx, 0, NULL, x->desc.dtype, *fill) : NULL;
    if (flat->count == 0) {
        /* Of no elements: nothing but fill. */
        parts[0] = cbx_copy(ctx, cbx_broadcast_to(ctx, other, 1, &size));
        parts[1] = cbx_full(ctx, 1, &size, CBX_I64, cbx_int(-1));
        parts[2] = cbx_zeros(ctx, x->desc.ndim, x->desc.shape, CBX_I64);
        parts[3] = cbx_zeros(ctx, 1, &size, CBX_I64);
        return;
    }
    r = find_runs(ctx, flat, true);
    first = edges_of_runs(ctx, r.begins, size);
    parts[3] = cbx_diff(ctx, first, 0);
    first = all_but_last(ctx, first);
    there = cbx_less(ctx, first, cbx_weak(ctx, first, cbx_int((int64_t)flat->count)));
    first = cbx_where(ctx, there, first, cbx_weak(ctx, first, cbx_int(0)));
    parts[0] = cbx_take(ctx, r.sorted, first, 0);
    if (fill) parts[0] = cbx_where(ctx, there, parts[0], other);
    parts[1] = cbx_take(ctx, r.order, first, 0);
    parts[2] = inverse_of(ctx, x, &r);
}

void cbx_unique_size(cbx_ctx *ctx, const cbx_array *x, size_t size, const cbx_scalar *fill, cbx_unique_parts *out)
{
    cbx_array *none = cbx__array_failed(), *parts[4] = { none, none, none, none };
    size_t mark = cbx__mark(ctx);

    unique_size_steps(ctx, x, size, fill, parts);
    cbx__tidy_list(ctx, mark, 4, parts);
    *out = (cbx_unique_parts){ parts[0], parts[1], parts[2], parts[3] };
}

/* The element of test that x would stand before is x itself. */
static cbx_array *isin_steps(cbx_ctx *ctx, const cbx_array *x, const cbx_array *test, bool invert);

/*
 * Of uint64 with a signed dtype, without sign; a negative number of test is replaced by another one
 * of it, if there is one.
 */
static cbx_array *isin_mixed(cbx_ctx *ctx, const cbx_array *x, const cbx_array *test, bool invert)
{
    const bool swapped = cbx_dtype_is_unsigned(x->desc.dtype);
    const cbx_array *whole = swapped ? cbx_max(ctx, test, NULL) : x;
    cbx_array *fine = cbx_greater_equal(ctx, whole, cbx_weak(ctx, whole, cbx_int(0)));

    if (swapped) test = cbx_where(ctx, cbx_less(ctx, test, cbx_weak(ctx, test, cbx_int(0))), whole, test);
    x = isin_steps(ctx, cbx__as(ctx, x, CBX_U64), cbx__as(ctx, test, CBX_U64), invert);
    return invert ? cbx_logical_or(ctx, cbx_logical_not(ctx, fine), x) : cbx_logical_and(ctx, fine, x);
}

/* Many integers that lie close together: found in a table of those of test.  NULL: they are few, or
 * far apart. */
static cbx_array *isin_table(cbx_ctx *ctx, const cbx_array *x, const cbx_array *test)
{
    const size_t limit = 4 * (x->count + test->count);
    cbx_array *low, *high, *within, *table;
    int64_t first, last;

    if (cbx_dtype_kind(x->desc.dtype) != CBX_KIND_INT || x->desc.dtype != test->desc.dtype ||
        x->desc.dtype == CBX_U64 || limit < 16384 || (x->flags | test->flags) & CBX__ABSTRACT)
        return NULL;
    x = cbx__as(ctx, x, CBX_I64);
    test = cbx__as(ctx, cbx_flatten(ctx, test), CBX_I64);
    low = cbx_min(ctx, test, NULL);
    high = cbx_max(ctx, test, NULL);
    if (!cbx__item(ctx, "isin", "isin", low, &first) || !cbx__item(ctx, "isin", "isin", high, &last))
        return cbx__array_failed();
    if ((uint64_t)last - (uint64_t)first >= limit) return NULL;
    table = cbx_zeros(ctx, 1, (const size_t[]){ (size_t)(last - first) + 1 }, CBX_BOOL);
    table = cbx_scatter(ctx, table, cbx_subtract(ctx, test, low), cbx_ones(ctx, 0, NULL, CBX_BOOL), 0, CBX_SCATTER_SET);
    within = cbx_clip(ctx, x, low, high);
    return cbx_logical_and(ctx, cbx_take(ctx, table, cbx_subtract(ctx, within, low), 0), cbx_equal(ctx, within, x));
}

static cbx_array *isin_steps(cbx_ctx *ctx, const cbx_array *x, const cbx_array *test, bool invert)
{
    cbx_array *sorted, *at;

    if (cbx__unusable(ctx, "isin", 2, (const cbx_array *const[]){ x, test })) return cbx__array_failed();
    if (test->count == 0) return cbx_full(ctx, x->desc.ndim, x->desc.shape, CBX_BOOL, cbx_bool(invert));
    if (cbx__mixed(x->desc.dtype, test->desc.dtype)) return isin_mixed(ctx, x, test, invert);
    at = isin_table(ctx, x, test);
    if (at) return invert ? cbx_logical_not(ctx, at) : at;
    sorted = cbx_sort(ctx, cbx_flatten(ctx, test), 0, false);
    at = cbx_searchsorted(ctx, sorted, x, false);
    at = cbx_minimum(ctx, at, cbx_weak(ctx, at, cbx_int((int64_t)test->count - 1)));
    at = cbx_take(ctx, sorted, at, 0);
    return invert ? cbx_not_equal(ctx, at, x) : cbx_equal(ctx, at, x);
}

cbx_array *cbx_isin(cbx_ctx *ctx, const cbx_array *x, const cbx_array *test, bool invert)
{
    return cbx__tidied(ctx, isin_steps(ctx, x, test, invert));
}

static cbx_array *joined(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b)
{
    return cbx_concat(ctx, 2, (const cbx_array *const[]){ a, b }, 0);
}

/* Distinct values of each, sorted together: those of both are pairs. */
static cbx_array *both(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b)
{
    return sorted_values(ctx, joined(ctx, cbx_unique(ctx, a), cbx_unique(ctx, b)));
}

typedef cbx_array *(*of_two)(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b);

static cbx_array *set_of_two(cbx_ctx *ctx, const char *name, of_two steps, const cbx_array *a, const cbx_array *b)
{
    size_t mark = cbx__mark(ctx);

    if (!has_data(ctx, name, "isin", 2, (const cbx_array *const[]){ a, b })) return cbx__array_failed();
    return cbx__tidy(ctx, mark, steps(ctx, a, b));
}

static cbx_array *union_steps(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b)
{
    return cbx_unique(ctx, joined(ctx, cbx_flatten(ctx, a), cbx_flatten(ctx, b)));
}

static cbx_array *intersect_steps(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b)
{
    cbx_array *all = both(ctx, a, b), *before = all_but_last(ctx, all);
    return cbx_extract(ctx, cbx_equal(ctx, before, all_but_first(ctx, all)), before);
}

static cbx_array *setdiff_steps(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b)
{
    cbx_array *of_a = cbx_unique(ctx, a);
    return cbx_extract(ctx, cbx_isin(ctx, of_a, b, true), of_a);
}

static cbx_array *setxor_steps(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b)
{
    cbx_array *all = both(ctx, a, b), *end, *edge;

    if (cbx_array_is_failed(all)) return all;
    end = cbx_ones(ctx, 1, (const size_t[]){ all->count > 0 }, CBX_BOOL);
    edge = cbx_not_equal(ctx, all_but_last(ctx, all), all_but_first(ctx, all));
    edge = cbx_concat(ctx, 3, (const cbx_array *const[]){ end, edge, end }, 0);
    return cbx_extract(ctx, cbx_logical_and(ctx, all_but_last(ctx, edge), all_but_first(ctx, edge)), all);
}

#define SET(name, steps)                                                                                               \
    cbx_array *cbx_##name(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b)                                        \
    {                                                                                                                  \
        return set_of_two(ctx, #name, steps, a, b);                                                                    \
    }
SET(union1d, union_steps)
SET(intersect1d, intersect_steps)
SET(setdiff1d, setdiff_steps)
SET(setxor1d, setxor_steps)

cbx_array *cbx_extract(cbx_ctx *ctx, const cbx_array *condition, const cbx_array *x)
{
    size_t mark = cbx__mark(ctx);
    cbx_array *at;

    if (!has_data(ctx, "extract", "where", 2, (const cbx_array *const[]){ condition, x })) return cbx__array_failed();
    if (condition->count != x->count)
        return cbx__refuse_of(ctx, x, CBX_ESHAPE, "'extract' of %zu elements with %zu conditions", x->count,
                              condition->count);
    at = cbx_nonzero(ctx, cbx_flatten(ctx, condition));
    return cbx__tidy(ctx, mark,
                     cbx_array_is_failed(at) ? at : cbx_take(ctx, cbx_flatten(ctx, x), cbx_index(ctx, at, 0, 0), 0));
}
