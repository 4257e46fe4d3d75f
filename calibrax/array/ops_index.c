/* Indexing, order, sets and counting, in terms of take, scatter, sort and searchsorted. */
#include <math.h>
#include <string.h>

#include "calibrax/array/ops_internal.h"

/* Integers as int64; others are no indices. */
static cbx_array *as_indices(cbx_ctx *ctx, const char *name, const cbx_array *x)
{
    if (cbx__unusable(ctx, name, 1, &x)) return cbx__array_failed();
    if (cbx_dtype_kind(x->desc.dtype) != CBX_KIND_INT)
        return cbx__refuse_of(ctx, x, CBX_EDTYPE, "'%s' takes integers, not %s", name, cbx_dtype_name(x->desc.dtype));
    return cbx__as(ctx, x, CBX_I64);
}

static cbx_array *indexed(cbx_ctx *ctx, cbx_prim p, const cbx_array *x, const cbx_array *indices, int axis)
{
    const cbx_array *in[2] = { x, indices };
    cbx_attrs attrs = { 0 };

    if (cbx__unusable(ctx, cbx_prim_name(p), 2, in)) return cbx__array_failed();
    in[1] = as_indices(ctx, cbx_prim_name(p), indices);
    if (cbx_array_is_failed(in[1]) || !cbx__axis_of(ctx, cbx_prim_name(p), axis, x, x->desc.ndim, &attrs.axis))
        return cbx__array_failed();
    return cbx_apply(ctx, p, 2, in, &attrs);
}

cbx_array *cbx_take(cbx_ctx *ctx, const cbx_array *x, const cbx_array *indices, int axis)
{
    return cbx__tidied(ctx, indexed(ctx, CBX_PRIM_TAKE, x, indices, axis));
}
/* The axes beside the one that is indexed broadcast; of two ranks the rule speaks. */
cbx_array *cbx_take_along_axis(cbx_ctx *ctx, const cbx_array *x, const cbx_array *indices, int axis)
{
    size_t mark = cbx__mark(ctx);
    const cbx_array *in[2] = { x, indices };
    size_t shape[2][CBX_MAX_RANK];

    if (cbx__unusable(ctx, "take_along_axis", 2, in)) return cbx__array_failed();
    if (x->desc.ndim == indices->desc.ndim && cbx__axis_of(ctx, "take_along_axis", axis, x, x->desc.ndim, &axis)) {
        memcpy(shape[0], x->desc.shape, sizeof shape[0]);
        memcpy(shape[1], indices->desc.shape, sizeof shape[1]);
        for (int i = 0; i < x->desc.ndim; i++) {
            if (i != axis && shape[0][i] == 1) shape[0][i] = shape[1][i];
            if (i != axis && shape[1][i] == 1) shape[1][i] = shape[0][i];
        }
        for (int i = 0; i < 2; i++) in[i] = cbx__to_shape(ctx, in[i], x->desc.ndim, shape[i]);
    }
    return cbx__tidy(ctx, mark, indexed(ctx, CBX_PRIM_TAKE_ALONG, in[0], in[1], axis));
}

cbx_array *cbx_scatter(cbx_ctx *ctx, const cbx_array *x, const cbx_array *indices, const cbx_array *updates, int axis,
                       cbx_scatter_mode mode)
{
    size_t mark = cbx__mark(ctx);
    const cbx_array *in[3] = { x, indices, updates };
    cbx_attrs attrs = { .mode = mode };
    size_t shape[CBX_MAX_RANK]; /* of what 'take' would give */
    int ndim;

    if (cbx__unusable(ctx, "scatter", 3, in)) return cbx__array_failed();
    in[1] = as_indices(ctx, "scatter", indices);
    if (cbx_array_is_failed(in[1]) || !cbx__axis_of(ctx, "scatter", axis, x, x->desc.ndim, &attrs.axis))
        return cbx__array_failed();
    in[2] = cbx__as(ctx, updates, x->desc.dtype);
    ndim = x->desc.ndim - 1 + in[1]->desc.ndim;
    if (ndim <= CBX_MAX_RANK) { /* else the rule refuses it */
        memcpy(shape, x->desc.shape, sizeof shape);
        memcpy(shape + attrs.axis, in[1]->desc.shape, (size_t)in[1]->desc.ndim * sizeof *shape);
        memcpy(shape + attrs.axis + in[1]->desc.ndim, x->desc.shape + attrs.axis + 1,
               (size_t)(x->desc.ndim - 1 - attrs.axis) * sizeof *shape);
        in[2] = cbx__to_shape(ctx, in[2], ndim, shape);
    }
    return cbx__tidy(ctx, mark, cbx_apply(ctx, CBX_PRIM_SCATTER, 3, in, &attrs));
}

bool cbx__item(cbx_ctx *ctx, const char *name, const char *instead, const cbx_array *x, int64_t *out)
{
    if (cbx_array_is_failed(x)) return false;
    if (x->flags & CBX__ABSTRACT)
        return cbx__refused(ctx, CBX_EINVAL, "'%s' depends on data, which a trace has not: use '%s'", name, instead);
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

    if (!cbx__item(ctx, "nonzero", "nonzero_size", cbx_count_nonzero(ctx, x, NULL), &n)) return cbx__array_failed();
    return cbx_nonzero_size(ctx, x, (size_t)n, 0);
}

cbx_array *cbx_nonzero(cbx_ctx *ctx, const cbx_array *x) { return cbx__tidied(ctx, nonzero_steps(ctx, x)); }

cbx_array *cbx_argwhere(cbx_ctx *ctx, const cbx_array *x)
{
    return cbx__tidied(ctx, cbx_permute_dims(ctx, nonzero_steps(ctx, x), NULL));
}

static cbx_array *ordered(cbx_ctx *ctx, cbx_prim p, const cbx_array *x, int axis, bool descending)
{
    cbx_attrs attrs = { .mode = descending };

    if (cbx__unusable(ctx, cbx_prim_name(p), 1, &x) ||
        !cbx__axis_of(ctx, cbx_prim_name(p), axis, x, x->desc.ndim, &attrs.axis))
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
    return cbx__tidied(ctx, searchsorted_steps(ctx, edges, values, right));
}

cbx_array *cbx_searchsorted_sorter(cbx_ctx *ctx, const cbx_array *edges, const cbx_array *values, bool right,
                                   const cbx_array *sorter)
{
    size_t mark = cbx__mark(ctx);

    if (cbx__unusable(ctx, "searchsorted", 2, (const cbx_array *const[]){ edges, sorter })) return cbx__array_failed();
    if (sorter->count != edges->count)
        return cbx__refuse_of(ctx, edges, CBX_ESHAPE, "'sorter' of 'searchsorted' has %zu places for %zu edges",
                              sorter->count, edges->count);
    return cbx__tidy(ctx, mark, searchsorted_steps(ctx, indexed(ctx, CBX_PRIM_TAKE, edges, sorter, 0), values, right));
}

/* True if the condition, which has data, holds everywhere; false, with a failure recorded, if it
 * cannot be read. */
static bool holds(cbx_ctx *ctx, const cbx_array *all, bool *out)
{
    int64_t v = 0;
    bool read = cbx__item(ctx, "all", "where", all, &v);

    *out = v != 0;
    return read;
}

static cbx_array *rises(cbx_ctx *ctx, const cbx_array *edges)
{
    return cbx_all(
        ctx, cbx_less_equal(ctx, cbx_slice(ctx, edges, 0, CBX_OPEN, -1, 1), cbx_slice(ctx, edges, 0, 1, CBX_OPEN, 1)),
        NULL);
}

/* Of edges that fall, those above x are what the reversed list has behind it. */
static cbx_array *falling_bins(cbx_ctx *ctx, const cbx_array *edges, const cbx_array *found)
{
    return cbx_subtract(ctx, cbx_weak(ctx, found, cbx_int((int64_t)edges->count)), found);
}

cbx_array *cbx_digitize(cbx_ctx *ctx, const cbx_array *x, const cbx_array *edges)
{
    size_t mark = cbx__mark(ctx);
    cbx_array *up, *reversed, *found;
    bool rising, falling;

    if (cbx__unusable(ctx, "digitize", 2, (const cbx_array *const[]){ x, edges })) return cbx__array_failed();
    if (edges->desc.ndim != 1)
        return cbx__refuse_of(ctx, edges, CBX_ESHAPE, "the edges of 'digitize' have %d axes, not one",
                              edges->desc.ndim);
    up = rises(ctx, edges);
    reversed = cbx_flip(ctx, edges, 0);
    if (!cbx_array_is_failed(up) && cbx_array_is_abstract(up)) { /* which way is seen when the trace runs */
        found = cbx_searchsorted(ctx, cbx_where(ctx, up, edges, reversed), x, true);
        return cbx__tidy(ctx, mark, cbx_where(ctx, up, found, falling_bins(ctx, edges, found)));
    }
    if (!holds(ctx, up, &rising)) return cbx__array_failed();
    if (rising) return cbx__tidy(ctx, mark, cbx_searchsorted(ctx, edges, x, true));
    if (!holds(ctx, rises(ctx, reversed), &falling)) return cbx__array_failed();
    if (!falling) return cbx__refuse_of(ctx, edges, CBX_EDOM, "the edges of 'digitize' neither rise nor fall");
    return cbx__tidy(ctx, mark, falling_bins(ctx, edges, cbx_searchsorted(ctx, reversed, x, true)));
}

/* Indices of rank 1, all within n bins, counted, or their weights (NULL: none) summed. */
static cbx_array *counted(cbx_ctx *ctx, const char *name, const cbx_array *at, const cbx_array *weights, size_t n)
{
    const cbx_dtype t = weights ? CBX_F64 : CBX_I64;

    if (weights && cbx__unusable(ctx, name, 1, &weights)) return cbx__array_failed();
    if (weights && !(weights->desc.ndim == 1 && weights->count == at->count))
        return cbx__refuse_of(ctx, weights, CBX_ESHAPE, "'%s' of %zu numbers with %zu weights", name, at->count,
                              weights->count);
    if (!weights) weights = cbx_ones(ctx, 0, NULL, t);
    return cbx_scatter(ctx, cbx_zeros(ctx, 1, &n, t), at, cbx__as(ctx, weights, t), 0, CBX_SCATTER_ADD);
}

/* Integers on one axis, as int64. */
static cbx_array *numbers_of_bins(cbx_ctx *ctx, const cbx_array *x)
{
    cbx_array *at = as_indices(ctx, "bincount", x);

    if (!cbx_array_is_failed(at) && at->desc.ndim != 1)
        return cbx__refuse_of(ctx, at, CBX_ESHAPE, "'bincount' takes one axis, not %d", at->desc.ndim);
    return at;
}

cbx_array *cbx_bincount(cbx_ctx *ctx, const cbx_array *x, const cbx_array *weights, size_t min_length)
{
    size_t mark = cbx__mark(ctx);
    cbx_array *at = numbers_of_bins(ctx, x);
    int64_t low = 0, high = -1;

    if (cbx_array_is_failed(at)) return at;
    if (at->count > 0 && (!cbx__item(ctx, "bincount", "bincount_size", cbx_min(ctx, at, NULL), &low) ||
                          !cbx__item(ctx, "bincount", "bincount_size", cbx_max(ctx, at, NULL), &high)))
        return cbx__array_failed();
    if (low < 0 && x->desc.dtype == CBX_U64)
        return cbx__refuse_of(ctx, x, CBX_EOVERFLOW, "'bincount' of %llu: no memory has so many bins",
                              (unsigned long long)low);
    if (low < 0)
        return cbx__refuse_of(ctx, x, CBX_EDOM, "'bincount' of %lld: bins must not be negative", (long long)low);
    if (high >= 0 && (size_t)high >= min_length) min_length = (size_t)high + 1; /* high + 1 of an int64 may be none */
    return cbx__tidy(ctx, mark, counted(ctx, "bincount", at, weights, min_length));
}

/* Numbers outside go to a bin of their own, behind the others. */
cbx_array *cbx_bincount_size(cbx_ctx *ctx, const cbx_array *x, const cbx_array *weights, size_t size)
{
    size_t mark = cbx__mark(ctx);
    cbx_array *at = numbers_of_bins(ctx, x), *end, *inside;

    if (cbx_array_is_failed(at)) return at;
    if (size >= INT64_MAX)
        return cbx__refuse_of(ctx, x, CBX_EOVERFLOW, "'bincount' of %zu bins: no memory has so many", size);
    end = cbx_weak(ctx, at, cbx_int((int64_t)size));
    inside = cbx_logical_and(ctx, cbx_greater_equal_scalar(ctx, at, 0), cbx_less(ctx, at, end));
    at = cbx_where(ctx, inside, at, end);
    if (cbx_array_is_failed(at)) return at;
    return cbx__tidy(ctx, mark,
                     cbx_slice(ctx, counted(ctx, "bincount", at, weights, size + 1), 0, 0, (ptrdiff_t)size, 1));
}

/* The right edge belongs to the last bin: search left there, right elsewhere. */
cbx_array *cbx_histogram(cbx_ctx *ctx, const cbx_array *x, const cbx_array *edges, const cbx_array *weights)
{
    size_t mark = cbx__mark(ctx);
    cbx_array *flat = cbx_flatten(ctx, x), *up, *bin, *last;
    bool rising = true;
    size_t n;

    if (cbx_array_is_failed(flat) || cbx__unusable(ctx, "histogram", 1, &edges)) return cbx__array_failed();
    if (edges->desc.ndim != 1 || edges->count < 2)
        return cbx__refuse_of(ctx, edges, CBX_ESHAPE, "'histogram' needs two edges or more on one axis");
    n = edges->count;
    up = rises(ctx, edges);
    if (cbx_array_is_failed(up) || (!cbx_array_is_abstract(up) && !holds(ctx, up, &rising))) return cbx__array_failed();
    if (!rising) return cbx__refuse_of(ctx, edges, CBX_EDOM, "the edges of 'histogram' must ascend");
    last = cbx_index(ctx, edges, 0, -1);
    bin = cbx_searchsorted(ctx, edges, flat, true);
    bin = cbx_where(ctx, cbx_equal(ctx, flat, last), cbx_weak(ctx, bin, cbx_int((int64_t)n - 1)), bin);
    if (cbx_array_is_failed(bin)) return bin;
    return cbx__tidy(ctx, mark,
                     cbx_slice(ctx, counted(ctx, "histogram", bin, weights ? cbx_flatten(ctx, weights) : NULL, n + 1),
                               0, 1, (ptrdiff_t)n, 1));
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
    if (shape.ndim == CBX_MAX_RANK) return cbx__refuse_of(ctx, x, CBX_EINVAL, "no axis is reduced");
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

/*
 * Between two neighbours in order, which are one at the end; top: the last, which is NaN if there
 * is one.  A t below 0 is the mean of both, which a median is: of two equal infinities that
 * infinity. */
static cbx_array *between(cbx_ctx *ctx, const cbx_array *low, const cbx_array *high, double t, const cbx_array *top)
{
    const cbx_array *r = low;

    if (low != high) r = t < 0 ? cbx_multiply_scalar(ctx, cbx_add(ctx, low, high), 0.5) : lerp(ctx, low, high, t);
    return cbx_where(ctx, cbx_isnan(ctx, top), top, r);
}

/* One quantile of lanes that are sorted, along their last axis. */
static cbx_array *quantile_at(cbx_ctx *ctx, const cbx_array *sorted, double q)
{
    ptrdiff_t n = (ptrdiff_t)sorted->desc.shape[sorted->desc.ndim - 1];
    double rank = q * (double)(n - 1), below = floor(rank);
    const cbx_array *low = cbx_index(ctx, sorted, -1, (ptrdiff_t)below),
                    *high = (ptrdiff_t)below + 1 < n ? cbx_index(ctx, sorted, -1, (ptrdiff_t)below + 1) : low;

    return between(ctx, low, high, rank - below, cbx_index(ctx, sorted, -1, -1));
}

/* The same of lanes in any order: three of their ranks are enough. */
static cbx_array *quantile_of(cbx_ctx *ctx, const cbx_array *lane, double q, bool is_median)
{
    cbx_attrs ranks = { .axis = lane->desc.ndim - 1, .ndim = 3 };
    size_t n = lane->desc.shape[ranks.axis];
    double rank = q * (double)(n - 1), below = floor(rank);
    bool end = (size_t)below + 1 == n;
    const cbx_array *r, *low;

    ranks.shape[0] = (size_t)below;
    ranks.shape[1] = (size_t)below + !end;
    ranks.shape[2] = n - 1;
    r = cbx__apply1(ctx, CBX_PRIM_RANKED, lane, &ranks);
    low = cbx_index(ctx, r, -1, 0);
    return between(ctx, low, end || (is_median && rank == below) ? low : cbx_index(ctx, r, -1, 1),
                   is_median ? -1.0 : rank - below, cbx_index(ctx, r, -1, 2));
}

/* x as lanes of floats; false, with a failure recorded, if these are empty. */
static bool float_lanes(cbx_ctx *ctx, const char *name, const cbx_array *x, const cbx_axes *axes, cbx_attrs *attrs,
                        cbx_array **lane)
{
    if (!cbx__reduced(ctx, name, x, axes, attrs)) return false;
    *lane = lanes(ctx, cbx__as(ctx, x, cbx__inexact(x->desc.dtype)), attrs);
    if (cbx_array_is_failed(*lane)) return false;
    if ((*lane)->desc.shape[(*lane)->desc.ndim - 1] > 0) return true;
    return cbx__refused_of(ctx, x, CBX_ESHAPE, "'%s' of an empty array is undefined", name);
}

static bool in_range(cbx_ctx *ctx, const char *name, const cbx_array *x, double q)
{
    if (q >= 0 && q <= 1) return true;
    return cbx__refused_of(ctx, x, CBX_EDOM, "'%s' of %g: the range is 0 to 100", name, 100.0 * q);
}

/* A result with the reduced axes of x kept at length 1, if attrs ask for it. */
static cbx_array *kept(cbx_ctx *ctx, const cbx_array *x, const cbx_attrs *attrs, cbx_array *r)
{
    cbx_attrs keep = { .ndim = x->desc.ndim };

    if (!attrs->keep || cbx_array_is_failed(r)) return r;
    memcpy(keep.shape, x->desc.shape, (size_t)keep.ndim * sizeof *keep.shape);
    for (int i = 0; i < attrs->naxes; i++) keep.shape[attrs->axes[i]] = 1;
    return cbx__apply1(ctx, CBX_PRIM_RESHAPE, r, &keep);
}

static cbx_array *quantile(cbx_ctx *ctx, const char *name, const cbx_array *x, double q, bool is_median,
                           const cbx_axes *axes)
{
    cbx_array *lane;
    cbx_attrs attrs;

    if (!in_range(ctx, name, x, q) || !float_lanes(ctx, name, x, axes, &attrs, &lane)) return cbx__array_failed();
    return kept(ctx, x, &attrs, quantile_of(ctx, lane, q, is_median));
}

cbx_array *cbx_quantile(cbx_ctx *ctx, const cbx_array *x, size_t n, const double *q, const cbx_axes *axes)
{
    size_t mark = cbx__mark(ctx);
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const cbx_array **list;
    cbx_array *sorted, *r;
    cbx_attrs attrs;

    if (!cbx__given(ctx, "quantile", "q", (int64_t)n, q)) return cbx__array_failed();
    for (size_t i = 0; i < n; i++)
        if (!(q[i] >= 0 && q[i] <= 1))
            return cbx__refuse_of(ctx, x, CBX_EDOM, "'quantile' of %g: the range is 0 to 1", q[i]);
    if (!float_lanes(ctx, "quantile", x, axes, &attrs, &sorted)) return cbx__array_failed();
    sorted = cbx_sort(ctx, sorted, -1, false);
    if (cbx_array_is_failed(sorted)) return cbx__tidy(ctx, mark, sorted);
    list = cbx_mem_calloc(al, n ? n : 1, sizeof *list);
    if (!list) return cbx__refuse(ctx, CBX_ENOMEM, "no memory for %zu quantiles", n);
    for (size_t i = 0; i < n; i++) list[i] = kept(ctx, x, &attrs, quantile_at(ctx, sorted, q[i]));
    r = cbx_stack(ctx, n, list, 0);
    cbx_mem_free(al, list, (n ? n : 1) * sizeof *list);
    return cbx__tidy(ctx, mark, r);
}

cbx_array *cbx_percentile(cbx_ctx *ctx, const cbx_array *x, double q, const cbx_axes *axes)
{
    return cbx__tidied(ctx, quantile(ctx, "percentile", x, q / 100.0, false, axes));
}

cbx_array *cbx_median(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes)
{
    return cbx__tidied(ctx, quantile(ctx, "median", x, 0.5, true, axes));
}
