/* Indexing, order, sets and counting, in terms of take, scatter, sort and searchsorted. */
#include <math.h>
#include <string.h>

#include "calibrax/array/ops_internal.h"

/* Whole numbers as int64; others are no indices. */
static cbx_array *as_indices(cbx_ctx *ctx, const char *name, const cbx_array *x)
{
    if (cbx__unusable(ctx, name, 1, &x)) return cbx__array_failed();
    if (cbx_dtype_kind(x->desc.dtype) != CBX_KIND_INT)
        return cbx__refuse(ctx, CBX_EDTYPE, "'%s' takes whole numbers, not %s", name, cbx_dtype_name(x->desc.dtype));
    return cbx__as(ctx, x, CBX_I64);
}

static cbx_array *indexed(cbx_ctx *ctx, cbx_prim p, const cbx_array *x, const cbx_array *indices, int axis)
{
    const cbx_array *in[2] = { x, as_indices(ctx, cbx_prim_name(p), indices) };
    cbx_attrs attrs = { 0 };

    if (cbx__unusable(ctx, cbx_prim_name(p), 2, in) ||
        !cbx__axis(ctx, cbx_prim_name(p), axis, x->desc.ndim, &attrs.axis))
        return cbx__array_failed();
    return cbx_apply(ctx, p, 2, in, &attrs);
}

static cbx_array *take_steps(cbx_ctx *ctx, const cbx_array *x, const cbx_array *indices, int axis)
{
    return indexed(ctx, CBX_PRIM_TAKE, x, indices, axis);
}

cbx_array *cbx_take(cbx_ctx *ctx, const cbx_array *x, const cbx_array *indices, int axis)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, take_steps(ctx, x, indices, axis));
}
static cbx_array *take_along_axis_steps(cbx_ctx *ctx, const cbx_array *x, const cbx_array *indices, int axis)
{
    return indexed(ctx, CBX_PRIM_TAKE_ALONG, x, indices, axis);
}

cbx_array *cbx_take_along_axis(cbx_ctx *ctx, const cbx_array *x, const cbx_array *indices, int axis)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, take_along_axis_steps(ctx, x, indices, axis));
}

static cbx_array *scatter_steps(cbx_ctx *ctx, const cbx_array *x, const cbx_array *indices, const cbx_array *updates,
                                int axis, cbx_scatter_mode mode)
{
    const cbx_array *in[3] = { x, as_indices(ctx, "scatter", indices), updates };
    cbx_attrs attrs = { .mode = mode };
    cbx_array *shape;

    if (cbx__unusable(ctx, "scatter", 3, in) || !cbx__axis(ctx, "scatter", axis, x->desc.ndim, &attrs.axis))
        return cbx__array_failed();
    /* the shape of what 'take' would give, from the rule alone */
    if (cbx_array_create_abstract(ctx, &in[1]->desc, &shape, cbx__sticky(ctx))) return cbx__array_failed();
    shape = cbx_scope_hold(ctx, shape);
    shape = cbx_array_is_failed(shape) ? shape : cbx_take(ctx, x, shape, attrs.axis);
    if (cbx_array_is_failed(shape)) return shape;
    in[2] = cbx__to_shape(ctx, cbx__as(ctx, updates, x->desc.dtype), shape->desc.ndim, shape->desc.shape);
    return cbx_apply(ctx, CBX_PRIM_SCATTER, 3, in, &attrs);
}

cbx_array *cbx_scatter(cbx_ctx *ctx, const cbx_array *x, const cbx_array *indices, const cbx_array *updates, int axis,
                       cbx_scatter_mode mode)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, scatter_steps(ctx, x, indices, updates, axis, mode));
}

static cbx_array *segment_sum_steps(cbx_ctx *ctx, const cbx_array *x, const cbx_array *ids, size_t segments)
{
    size_t shape[CBX_MAX_RANK];

    if (cbx__unusable(ctx, "segment_sum", 1, &x)) return cbx__array_failed();
    if (x->desc.ndim == 0) return cbx__refuse(ctx, CBX_ESHAPE, "'segment_sum' needs an axis");
    memcpy(shape, x->desc.shape, sizeof shape);
    shape[0] = segments;
    return cbx_scatter(ctx, cbx_zeros(ctx, x->desc.ndim, shape, x->desc.dtype), ids, x, 0, CBX_SCATTER_ADD);
}

cbx_array *cbx_segment_sum(cbx_ctx *ctx, const cbx_array *x, const cbx_array *ids, size_t segments)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, segment_sum_steps(ctx, x, ids, segments));
}

bool cbx__item(cbx_ctx *ctx, const char *name, const cbx_array *x, int64_t *out)
{
    if (cbx_array_is_failed(x)) return false;
    if (x->flags & CBX__ABSTRACT) {
        cbx__refuse(ctx, CBX_EINVAL,
                    "the shape of '%s' depends on data, which a trace has not: use the form with a size", name);
        return false;
    }
    x = cbx__as(ctx, x, CBX_I64);
    return !cbx_array_is_failed(x) && cbx_array_read(x, out, sizeof *out, cbx__sticky(ctx)) == CBX_OK;
}

cbx_array *cbx_nonzero_size(cbx_ctx *ctx, const cbx_array *x, size_t size, int64_t fill)
{
    cbx_attrs attrs = { .value = cbx_int(fill) };

    attrs.shape[0] = size;
    return cbx__apply1(ctx, CBX_PRIM_NONZERO, x, &attrs);
}

static cbx_array *nonzero_steps(cbx_ctx *ctx, const cbx_array *x)
{
    int64_t n;

    if (!cbx__item(ctx, "nonzero", cbx_count_nonzero(ctx, x, NULL), &n)) return cbx__array_failed();
    return cbx_nonzero_size(ctx, x, (size_t)n, 0);
}

cbx_array *cbx_nonzero(cbx_ctx *ctx, const cbx_array *x)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, nonzero_steps(ctx, x));
}

static cbx_array *ordered(cbx_ctx *ctx, cbx_prim p, const cbx_array *x, int axis, bool descending)
{
    cbx_attrs attrs = { .mode = descending };

    if (cbx__unusable(ctx, cbx_prim_name(p), 1, &x) ||
        !cbx__axis(ctx, cbx_prim_name(p), axis, x->desc.ndim, &attrs.axis))
        return cbx__array_failed();
    return cbx__apply1(ctx, p, x, &attrs);
}

cbx_array *cbx_sort(cbx_ctx *ctx, const cbx_array *x, int axis, bool descending)
{
    return ordered(ctx, CBX_PRIM_SORT, x, axis, descending);
}
cbx_array *cbx_argsort(cbx_ctx *ctx, const cbx_array *x, int axis, bool descending)
{
    return ordered(ctx, CBX_PRIM_ARGSORT, x, axis, descending);
}

static cbx_array *searchsorted_steps(cbx_ctx *ctx, const cbx_array *edges, const cbx_array *values, bool right)
{
    const cbx_array *in[2] = { edges, values };
    cbx_dtype t;

    if (cbx__unusable(ctx, "searchsorted", 2, in)) return cbx__array_failed();
    t = cbx_dtype_promote(edges->desc.dtype, values->desc.dtype);
    in[0] = cbx__as(ctx, edges, t);
    in[1] = cbx__as(ctx, values, t);
    return cbx_apply(ctx, CBX_PRIM_SEARCHSORTED, 2, in, &(cbx_attrs){ .mode = right });
}

cbx_array *cbx_searchsorted(cbx_ctx *ctx, const cbx_array *edges, const cbx_array *values, bool right)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, searchsorted_steps(ctx, edges, values, right));
}

/* True if the condition holds everywhere; needs data. */
static bool holds(cbx_ctx *ctx, const char *name, const cbx_array *condition, bool *out)
{
    int64_t v = 0;
    bool read = cbx__item(ctx, name, cbx_all(ctx, condition, NULL), &v);

    *out = v != 0;
    return read;
}

static cbx_array *digitize_steps(cbx_ctx *ctx, const cbx_array *x, const cbx_array *edges)
{
    cbx_array *before, *after, *r;
    bool rising, falling;

    if (cbx__unusable(ctx, "digitize", 2, (const cbx_array *const[]){ x, edges })) return cbx__array_failed();
    if (edges->desc.ndim != 1)
        return cbx__refuse(ctx, CBX_ESHAPE, "the edges of 'digitize' have %d axes, not one", edges->desc.ndim);
    before = cbx_slice(ctx, edges, 0, CBX_OPEN, -1, 1);
    after = cbx_slice(ctx, edges, 0, 1, CBX_OPEN, 1);
    if (!holds(ctx, "digitize", cbx_less_equal(ctx, before, after), &rising)) return cbx__array_failed();
    if (rising) return cbx_searchsorted(ctx, edges, x, true);
    if (!holds(ctx, "digitize", cbx_greater_equal(ctx, before, after), &falling)) return cbx__array_failed();
    if (!falling) return cbx__refuse(ctx, CBX_EDOM, "the edges of 'digitize' neither rise nor fall");
    /* the edges above x are what the reversed list has behind it */
    r = cbx_searchsorted(ctx, cbx_flip(ctx, edges, 0), x, true);
    return cbx_subtract(ctx, cbx_weak(ctx, r, cbx_int((int64_t)edges->count)), r);
}

cbx_array *cbx_digitize(cbx_ctx *ctx, const cbx_array *x, const cbx_array *edges)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, digitize_steps(ctx, x, edges));
}

/* Sorted values, their order, and where a new one begins (NaN equals NaN). */
typedef struct runs {
    cbx_array *order, *sorted, *begins;
} runs;

static runs find_runs(cbx_ctx *ctx, const cbx_array *x)
{
    runs r = { .order = cbx_argsort(ctx, x, 0, false) };
    cbx_array *before, *after, *one = cbx_ones(ctx, 1, (const size_t[]){ x->count > 0 }, CBX_BOOL), *differ;

    r.sorted = cbx_take(ctx, x, r.order, 0);
    before = cbx_slice(ctx, r.sorted, 0, CBX_OPEN, -1, 1);
    after = cbx_slice(ctx, r.sorted, 0, 1, CBX_OPEN, 1);
    differ = cbx_logical_and(ctx, cbx_not_equal(ctx, before, after), cbx_logical_not(ctx, cbx_isnan(ctx, before)));
    r.begins = cbx_concat(ctx, 2, (const cbx_array *const[]){ one, differ }, 0);
    return r;
}

void cbx_unique_all(cbx_ctx *ctx, const cbx_array *x, cbx_unique_parts *out)
{
    cbx_array *flat = cbx_flatten(ctx, x), *first, *number, *end;
    size_t n = cbx_array_is_failed(flat) ? 0 : flat->count;
    cbx_attrs shape = { 0 };
    runs r;

    out->values = out->indices = out->inverse = out->counts = cbx__array_failed();
    if (cbx_array_is_failed(flat)) return;
    r = find_runs(ctx, flat);
    first = cbx_nonzero(ctx, r.begins);
    if (cbx_array_is_failed(first)) return;
    first = cbx_index(ctx, first, 0, 0);
    out->values = cbx_take(ctx, r.sorted, first, 0);
    out->indices = cbx_take(ctx, r.order, first, 0);
    number = cbx_cumulative_sum(ctx, r.begins, 0);
    number = cbx_subtract(ctx, number, cbx_weak(ctx, number, cbx_int(1)));
    number = cbx_scatter(ctx, cbx_zeros_like(ctx, number), r.order, number, 0, CBX_SCATTER_SET);
    shape.ndim = x->desc.ndim;
    memcpy(shape.shape, x->desc.shape, (size_t)shape.ndim * sizeof *shape.shape);
    out->inverse = cbx__apply1(ctx, CBX_PRIM_RESHAPE, number, &shape);
    end = cbx_full(ctx, 1, (const size_t[]){ n > 0 }, CBX_I64, cbx_int((int64_t)n));
    out->counts = cbx_diff(ctx, cbx_concat(ctx, 2, (const cbx_array *const[]){ first, end }, 0), 0);
}

static cbx_array *unique_steps(cbx_ctx *ctx, const cbx_array *x)
{
    cbx_array *flat = cbx_flatten(ctx, x), *first;
    runs r;

    if (cbx_array_is_failed(flat)) return flat;
    r = find_runs(ctx, flat);
    first = cbx_nonzero(ctx, r.begins);
    return cbx_array_is_failed(first) ? first : cbx_take(ctx, r.sorted, cbx_index(ctx, first, 0, 0), 0);
}

cbx_array *cbx_unique(cbx_ctx *ctx, const cbx_array *x)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, unique_steps(ctx, x));
}

static cbx_array *bincount_steps(cbx_ctx *ctx, const cbx_array *x, const cbx_array *weights, size_t least)
{
    cbx_array *at = as_indices(ctx, "bincount", x), *value;
    int64_t low = 0, high = -1;

    if (cbx_array_is_failed(at)) return at;
    if (at->desc.ndim != 1) return cbx__refuse(ctx, CBX_ESHAPE, "'bincount' takes one axis, not %d", at->desc.ndim);
    if (at->count > 0 && (!cbx__item(ctx, "bincount", cbx_min(ctx, at, NULL), &low) ||
                          !cbx__item(ctx, "bincount", cbx_max(ctx, at, NULL), &high)))
        return cbx__array_failed();
    if (low < 0) return cbx__refuse(ctx, CBX_EDOM, "'bincount' of %lld: there are no negative bins", (long long)low);
    if ((size_t)(high + 1) > least) least = (size_t)high + 1;
    value = weights ? cbx__as(ctx, weights, CBX_F64) : cbx_ones(ctx, 1, at->desc.shape, CBX_I64);
    if (weights && !cbx_array_is_failed(value) && !(value->desc.ndim == 1 && value->count == at->count))
        return cbx__refuse(ctx, CBX_ESHAPE, "'bincount' of %zu numbers with %zu weights", at->count, value->count);
    return cbx_scatter(ctx, cbx_zeros(ctx, 1, &least, weights ? CBX_F64 : CBX_I64), at, value, 0, CBX_SCATTER_ADD);
}

cbx_array *cbx_bincount(cbx_ctx *ctx, const cbx_array *x, const cbx_array *weights, size_t least)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, bincount_steps(ctx, x, weights, least));
}

/* The right edge belongs to the last bin: search left there, right elsewhere. */
static cbx_array *histogram_steps(cbx_ctx *ctx, const cbx_array *x, const cbx_array *edges, const cbx_array *weights)
{
    cbx_array *flat = cbx_flatten(ctx, x), *bin, *last, *count;
    bool rising;
    size_t n;

    if (cbx_array_is_failed(flat) || cbx__unusable(ctx, "histogram", 1, &edges)) return cbx__array_failed();
    if (edges->desc.ndim != 1 || edges->count < 2)
        return cbx__refuse(ctx, CBX_ESHAPE, "'histogram' needs two edges or more on one axis");
    n = edges->count;
    if (!holds(ctx, "histogram",
               cbx_less_equal(ctx, cbx_slice(ctx, edges, 0, CBX_OPEN, -1, 1), cbx_slice(ctx, edges, 0, 1, CBX_OPEN, 1)),
               &rising))
        return cbx__array_failed();
    if (!rising) return cbx__refuse(ctx, CBX_EDOM, "the edges of 'histogram' do not rise");
    last = cbx_index(ctx, edges, 0, -1);
    bin = cbx_searchsorted(ctx, edges, flat, true);
    bin = cbx_where(ctx, cbx_equal(ctx, flat, last), cbx_weak(ctx, bin, cbx_int((int64_t)n - 1)), bin);
    count = cbx_bincount(ctx, bin, weights ? cbx_flatten(ctx, weights) : NULL, n + 1);
    return cbx_slice(ctx, count, 0, 1, (ptrdiff_t)n, 1);
}

cbx_array *cbx_histogram(cbx_ctx *ctx, const cbx_array *x, const cbx_array *edges, const cbx_array *weights)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, histogram_steps(ctx, x, edges, weights));
}

/* The reduced axes moved to the end and merged. */
static cbx_array *lanes(cbx_ctx *ctx, const cbx_array *x, const cbx_attrs *a)
{
    cbx_attrs order = { .naxes = x->desc.ndim }, shape = { 0 };
    unsigned gone = 0;
    int at = 0;

    for (int i = 0; i < a->naxes; i++) gone |= 1u << a->axes[i];
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < x->desc.ndim; i++)
            if ((gone >> i & 1) == (unsigned)pass) {
                order.axes[at++] = i;
                if (!pass) shape.shape[shape.ndim++] = x->desc.shape[i];
            }
    if (shape.ndim == CBX_MAX_RANK) return cbx__refuse(ctx, CBX_EINVAL, "no axis is reduced");
    shape.shape[shape.ndim++] = cbx__reduced_count(x, a);
    return cbx__apply1(ctx, CBX_PRIM_RESHAPE, cbx__apply1(ctx, CBX_PRIM_TRANSPOSE, x, &order), &shape);
}

/* Linear from whichever end is nearer.  Source: NumPy 2.3 _function_base_impl.py (_lerp). */
static cbx_array *lerp(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, double t)
{
    cbx_array *d = cbx_subtract(ctx, b, a);
    return t >= 0.5 ? cbx_subtract(ctx, b, cbx_multiply_scalar(ctx, d, 1.0 - t))
                    : cbx_add(ctx, a, cbx_multiply_scalar(ctx, d, t));
}

static cbx_array *quantile(cbx_ctx *ctx, const char *name, const cbx_array *x, double q, const cbx_axes *axes)
{
    cbx_array *sorted, *r, *top;
    cbx_attrs attrs, keep = { 0 };
    double rank, below;
    ptrdiff_t n, low;

    if (!cbx__reduced(ctx, name, x, axes, &attrs)) return cbx__array_failed();
    if (!(q >= 0 && q <= 1)) return cbx__refuse(ctx, CBX_EDOM, "'%s' of %g: the range is 0 to 100", name, 100.0 * q);
    sorted = cbx_sort(ctx, lanes(ctx, cbx__as(ctx, x, cbx__inexact(x->desc.dtype)), &attrs), -1, false);
    if (cbx_array_is_failed(sorted)) return sorted;
    n = (ptrdiff_t)sorted->desc.shape[sorted->desc.ndim - 1];
    if (n == 0) return cbx__refuse(ctx, CBX_ESHAPE, "'%s' of no elements has no value", name);
    rank = q * (double)(n - 1);
    below = floor(rank);
    low = (ptrdiff_t)below;
    r = cbx_index(ctx, sorted, -1, low);
    if (low + 1 < n) r = lerp(ctx, r, cbx_index(ctx, sorted, -1, low + 1), rank - below);
    top = cbx_index(ctx, sorted, -1, -1); /* NaN sorts last */
    r = cbx_where(ctx, cbx_isnan(ctx, top), top, r);
    if (!attrs.keep || cbx_array_is_failed(r)) return r;
    keep.ndim = x->desc.ndim;
    memcpy(keep.shape, x->desc.shape, (size_t)keep.ndim * sizeof *keep.shape);
    for (int i = 0; i < attrs.naxes; i++) keep.shape[attrs.axes[i]] = 1;
    return cbx__apply1(ctx, CBX_PRIM_RESHAPE, r, &keep);
}

static cbx_array *percentile_steps(cbx_ctx *ctx, const cbx_array *x, double q, const cbx_axes *axes)
{
    return quantile(ctx, "percentile", x, q / 100.0, axes);
}

cbx_array *cbx_percentile(cbx_ctx *ctx, const cbx_array *x, double q, const cbx_axes *axes)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, percentile_steps(ctx, x, q, axes));
}
static cbx_array *median_steps(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes)
{
    return quantile(ctx, "median", x, 0.5, axes);
}

cbx_array *cbx_median(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, median_steps(ctx, x, axes));
}
