/* Movement: attributes of a few primitives, worked out by Python's and NumPy's rules. */
#include <string.h>

#include "calibrax/array/info.h"
#include "calibrax/array/ops_internal.h"

bool cbx__axis(cbx_ctx *ctx, const char *name, int axis, int ndim, int *out)
{
    return cbx__axis_of(ctx, name, axis, NULL, ndim, out);
}

bool cbx__axis_of(cbx_ctx *ctx, const char *name, int axis, const cbx_array *x, int ndim, int *out)
{
    if (ndim == 0) return cbx__refused_of(ctx, x, CBX_EINVAL, "axis %d of '%s': a scalar has none", axis, name);
    if (axis < -ndim || axis >= ndim)
        return cbx__refused_of(ctx, x, CBX_EINVAL, "axis %d of '%s' is outside %d..%d", axis, name, -ndim, ndim - 1);
    *out = axis < 0 ? axis + ndim : axis;
    return true;
}

static bool usable(cbx_ctx *ctx, const char *name, const cbx_array *x, int axis, int *out)
{
    return !cbx__unusable(ctx, name, 1, &x) && cbx__axis_of(ctx, name, axis, x, x->desc.ndim, out);
}

cbx_array *cbx_reshape(cbx_ctx *ctx, const cbx_array *x, int ndim, const ptrdiff_t *shape)
{
    cbx_attrs attrs = { .ndim = ndim };
    size_t known = 1;
    int left = -1;

    if (cbx__unusable(ctx, "reshape", 1, &x)) return cbx__array_failed();
    if (ndim < 0 || ndim > CBX_MAX_RANK)
        return cbx__refuse_of(ctx, x, CBX_EINVAL, "rank %d of 'reshape' is outside 0..%d", ndim, CBX_MAX_RANK);
    if (!cbx__given(ctx, "reshape", "shape", ndim, shape)) return cbx__array_failed();
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < -1 || (shape[i] == -1 && left >= 0))
            return cbx__refuse_of(ctx, x, CBX_EINVAL, "'reshape' got extent %td of axis %d: one may be -1", shape[i],
                                  i);
        if (shape[i] == -1)
            left = i;
        else if (__builtin_mul_overflow(known, (size_t)shape[i], &known))
            return cbx__refuse_of(ctx, x, CBX_EOVERFLOW, "the extents of 'reshape' overflow");
        attrs.shape[i] = shape[i] == -1 ? 1 : (size_t)shape[i];
    }
    if (left >= 0) {
        if (known == 0 || x->count % known != 0)
            return cbx__refuse_of(ctx, x, CBX_ESHAPE, "'reshape' cannot spread %zu elements over rows of %zu", x->count,
                                  known);
        attrs.shape[left] = x->count / known;
    }
    return cbx__apply1(ctx, CBX_PRIM_RESHAPE, x, &attrs);
}

cbx_array *cbx_flatten(cbx_ctx *ctx, const cbx_array *x)
{
    if (cbx__unusable(ctx, "flatten", 1, &x)) return cbx__array_failed();
    return cbx__apply1(ctx, CBX_PRIM_RESHAPE, x, &(cbx_attrs){ .ndim = 1, .shape = { x->count } });
}

cbx_array *cbx_permute_dims(cbx_ctx *ctx, const cbx_array *x, const int *axes)
{
    cbx_attrs attrs = { 0 };

    if (cbx__unusable(ctx, "permute_dims", 1, &x)) return cbx__array_failed();
    attrs.naxes = x->desc.ndim;
    for (int i = 0; i < x->desc.ndim; i++) {
        attrs.axes[i] = x->desc.ndim - 1 - i;
        if (axes && !cbx__axis_of(ctx, "permute_dims", axes[i], x, x->desc.ndim, &attrs.axes[i]))
            return cbx__array_failed();
    }
    return cbx__apply1(ctx, CBX_PRIM_TRANSPOSE, x, &attrs);
}

cbx_array *cbx_swapaxes(cbx_ctx *ctx, const cbx_array *x, int a, int b)
{
    int order[CBX_MAX_RANK];

    if (!usable(ctx, "swapaxes", x, a, &a) || !usable(ctx, "swapaxes", x, b, &b)) return cbx__array_failed();
    for (int i = 0; i < x->desc.ndim; i++) order[i] = i == a ? b : i == b ? a : i;
    return cbx_permute_dims(ctx, x, order);
}

cbx_array *cbx_moveaxis(cbx_ctx *ctx, const cbx_array *x, int from, int to)
{
    int order[CBX_MAX_RANK], at = 0;

    if (!usable(ctx, "moveaxis", x, from, &from) || !usable(ctx, "moveaxis", x, to, &to)) return cbx__array_failed();
    for (int i = 0; i < x->desc.ndim; i++) {
        if (at == from) at++; /* the others keep their order around it */
        order[i] = i == to ? from : at++;
    }
    return cbx_permute_dims(ctx, x, order);
}

cbx_array *cbx_matrix_transpose(cbx_ctx *ctx, const cbx_array *x)
{
    if (cbx__unusable(ctx, "matrix_transpose", 1, &x)) return cbx__array_failed();
    if (x->desc.ndim < 2)
        return cbx__refuse_of(ctx, x, CBX_ESHAPE, "'matrix_transpose' needs two axes, not %d", x->desc.ndim);
    return cbx_swapaxes(ctx, x, -1, -2);
}

cbx_array *cbx_expand_dims(cbx_ctx *ctx, const cbx_array *x, int axis)
{
    cbx_attrs attrs = { 0 };

    if (cbx__unusable(ctx, "expand_dims", 1, &x)) return cbx__array_failed();
    if (x->desc.ndim == CBX_MAX_RANK)
        return cbx__refuse_of(ctx, x, CBX_EINVAL, "'expand_dims' past rank %d", CBX_MAX_RANK);
    if (!cbx__axis_of(ctx, "expand_dims", axis, x, x->desc.ndim + 1, &axis)) return cbx__array_failed();
    attrs.ndim = x->desc.ndim + 1;
    for (int i = 0; i < attrs.ndim; i++) attrs.shape[i] = i == axis ? 1 : x->desc.shape[i - (i > axis)];
    return cbx__apply1(ctx, CBX_PRIM_RESHAPE, x, &attrs);
}

cbx_array *cbx_squeeze(cbx_ctx *ctx, const cbx_array *x, int axis)
{
    cbx_attrs attrs = { 0 };

    if (!usable(ctx, "squeeze", x, axis, &axis)) return cbx__array_failed();
    if (x->desc.shape[axis] != 1)
        return cbx__refuse_of(ctx, x, CBX_ESHAPE, "'squeeze' drops axes of length 1, axis %d has %zu", axis,
                              x->desc.shape[axis]);
    for (int i = 0; i < x->desc.ndim; i++)
        if (i != axis) attrs.shape[attrs.ndim++] = x->desc.shape[i];
    return cbx__apply1(ctx, CBX_PRIM_RESHAPE, x, &attrs);
}

cbx_array *cbx_broadcast_to(cbx_ctx *ctx, const cbx_array *x, int ndim, const size_t *shape)
{
    cbx_attrs attrs = { .ndim = ndim };

    if (!cbx__given(ctx, "broadcast_to", "shape", ndim, shape)) return cbx__array_failed();
    if (ndim > 0 && ndim <= CBX_MAX_RANK) memcpy(attrs.shape, shape, (size_t)ndim * sizeof *shape);
    return cbx__apply1(ctx, CBX_PRIM_BROADCAST, x, &attrs);
}

/* Every axis whole; the caller changes one. */
static void make_whole(cbx_attrs *attrs, const cbx_array *x)
{
    *attrs = (cbx_attrs){ .ndim = x->desc.ndim };
    for (int i = 0; i < x->desc.ndim; i++) {
        attrs->shape[i] = x->desc.shape[i];
        attrs->step[i] = 1;
    }
}

/* A bound of a slice within -1..n, by the rules of Python's slice.indices. */
static ptrdiff_t bound(ptrdiff_t at, ptrdiff_t n, bool descending, ptrdiff_t open)
{
    if (at == CBX_OPEN) return open;
    if (at < 0) at = at < -n ? -1 : at + n;
    if (at < 0) return descending ? -1 : 0;
    return at >= n ? (descending ? n - 1 : n) : at;
}

cbx_array *cbx_slice(cbx_ctx *ctx, const cbx_array *x, int axis, ptrdiff_t start, ptrdiff_t stop, ptrdiff_t step)
{
    cbx_attrs attrs;
    ptrdiff_t n, span;
    bool descending = step < 0;

    if (!usable(ctx, "slice", x, axis, &axis)) return cbx__array_failed();
    if (step == 0) return cbx__refuse_of(ctx, x, CBX_EINVAL, "the step of 'slice' must not be 0");
    if (step == PTRDIFF_MIN) step = -PTRDIFF_MAX;
    n = (ptrdiff_t)x->desc.shape[axis];
    start = bound(start, n, descending, descending ? n - 1 : 0);
    stop = bound(stop, n, descending, descending ? -1 : n);
    span = descending ? start - stop : stop - start;
    make_whole(&attrs, x);
    attrs.shape[axis] = span > 0 ? (size_t)((span - 1) / (descending ? -step : step)) + 1 : 0;
    attrs.start[axis] = span > 0 ? start : 0;
    attrs.step[axis] = step;
    return cbx__apply1(ctx, CBX_PRIM_SLICE, x, &attrs);
}

cbx_array *cbx_index(cbx_ctx *ctx, const cbx_array *x, int axis, ptrdiff_t i)
{
    size_t mark = cbx__mark(ctx);
    ptrdiff_t n;

    if (!usable(ctx, "index", x, axis, &axis)) return cbx__array_failed();
    n = (ptrdiff_t)x->desc.shape[axis];
    if (i < -n || i >= n)
        return cbx__refuse_of(ctx, x, CBX_EINVAL, "index %td is outside axis %d of %zu", i, axis, x->desc.shape[axis]);
    if (i < 0) i += n;
    return cbx__tidy(ctx, mark, cbx_squeeze(ctx, cbx_slice(ctx, x, axis, i, i + 1, 1), axis));
}

cbx_array *cbx_flip(cbx_ctx *ctx, const cbx_array *x, int axis)
{
    return cbx_slice(ctx, x, axis, CBX_OPEN, CBX_OPEN, -1);
}

cbx_array *cbx_roll(cbx_ctx *ctx, const cbx_array *x, ptrdiff_t shift, int axis)
{
    size_t mark = cbx__mark(ctx);
    const cbx_array *parts[2];
    ptrdiff_t n;

    if (!usable(ctx, "roll", x, axis, &axis)) return cbx__array_failed();
    n = (ptrdiff_t)x->desc.shape[axis];
    if (n == 0 || shift % n == 0) return cbx__tidy(ctx, mark, cbx_copy(ctx, x));
    shift = shift % n < 0 ? shift % n + n : shift % n;
    parts[0] = cbx_slice(ctx, x, axis, n - shift, n, 1);
    parts[1] = cbx_slice(ctx, x, axis, 0, n - shift, 1);
    return cbx__tidy(ctx, mark, cbx_concat(ctx, 2, parts, axis));
}

/* Arrays to be stacked have one shape. */
static bool alike(cbx_ctx *ctx, size_t n, const cbx_array *const *in)
{
    const cbx_array_desc *a = &in[0]->desc;

    for (size_t i = 1; i < n; i++) {
        const cbx_array_desc *b = &in[i]->desc;
        if (a->ndim == b->ndim && memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0) continue;
        return cbx__refused(ctx, CBX_ESHAPE, "'stack' cannot join %s with %s", CBX__DESC_TEXT(a), CBX__DESC_TEXT(b));
    }
    return true;
}

/* Many operands: their promoted forms need a list of any length. */
static cbx_array *join(cbx_ctx *ctx, const char *name, size_t n, const cbx_array *const *in, int axis, bool stack)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const cbx_array **list;
    cbx_array *r = cbx__array_failed();
    cbx_dtype t;

    if (n == 0) return cbx__refuse(ctx, CBX_EINVAL, "'%s' of no arrays", name);
    if (cbx__unusable(ctx, name, n, in)) return r;
    if (!cbx__axis_of(ctx, name, axis, in[0], in[0]->desc.ndim + stack, &axis)) return r;
    if (stack && !alike(ctx, n, in)) return r;
    if (cbx_result_type(n, in, 0, NULL, &t, cbx__sticky(ctx))) return r;
    list = cbx_mem_calloc(al, n, sizeof *list);
    if (!list) return cbx__refuse(ctx, CBX_ENOMEM, "no memory to join %zu arrays", n);
    for (size_t i = 0; i < n; i++) {
        list[i] = cbx__as(ctx, in[i], t);
        if (stack) list[i] = cbx_expand_dims(ctx, list[i], axis);
    }
    r = cbx_apply(ctx, CBX_PRIM_CONCAT, n, list, &(cbx_attrs){ .axis = axis });
    cbx_mem_free(al, list, n * sizeof *list);
    return r;
}

cbx_array *cbx_concat(cbx_ctx *ctx, size_t n, const cbx_array *const *in, int axis)
{
    return cbx__tidied(ctx, join(ctx, "concat", n, in, axis, false));
}

cbx_array *cbx_stack(cbx_ctx *ctx, size_t n, const cbx_array *const *in, int axis)
{
    return cbx__tidied(ctx, join(ctx, "stack", n, in, axis, true));
}

cbx_array *cbx_pad(cbx_ctx *ctx, const cbx_array *x, const size_t *before, const size_t *after, cbx_scalar v)
{
    cbx_attrs attrs;

    if (cbx__unusable(ctx, "pad", 1, &x)) return cbx__array_failed();
    if (!cbx__given(ctx, "pad", "before", x->desc.ndim, before) ||
        !cbx__given(ctx, "pad", "after", x->desc.ndim, after))
        return cbx__array_failed();
    attrs = (cbx_attrs){ .ndim = x->desc.ndim, .value = v };
    for (int i = 0; i < x->desc.ndim; i++) {
        attrs.start[i] = (ptrdiff_t)before[i];
        if (before[i] > PTRDIFF_MAX || __builtin_add_overflow(x->desc.shape[i], before[i], &attrs.shape[i]) ||
            __builtin_add_overflow(attrs.shape[i], after[i], &attrs.shape[i]))
            return cbx__refuse_of(ctx, x, CBX_EOVERFLOW, "'pad' makes axis %d too long", i);
    }
    return cbx__apply1(ctx, CBX_PRIM_PAD, x, &attrs);
}

/* A new axis of this length beside an axis, both then merged. */
static cbx_array *spread(cbx_ctx *ctx, const cbx_array *x, int axis, size_t times, bool inside)
{
    size_t shape[CBX_MAX_RANK], before = 1, behind = 1;
    cbx_attrs attrs = { .ndim = x->desc.ndim };
    cbx_array *wide;

    memcpy(attrs.shape, x->desc.shape, sizeof shape);
    if (__builtin_mul_overflow(attrs.shape[axis], times, &attrs.shape[axis]))
        return cbx__refuse_of(ctx, x, CBX_EOVERFLOW, "axis %d repeated %zu times is too long", axis, times);
    if (x->desc.ndim == CBX_MAX_RANK) { /* no space for one more axis: the others are merged first */
        for (int i = 0; i < axis; i++) before *= x->desc.shape[i];
        for (int i = axis + 1; i < x->desc.ndim; i++) behind *= x->desc.shape[i];
        wide = cbx__reshaped(ctx, x, 3, (const size_t[]){ before, x->desc.shape[axis], behind });
        if (!cbx_array_is_failed(wide)) wide = spread(ctx, wide, 1, times, inside);
        return cbx__apply1(ctx, CBX_PRIM_RESHAPE, wide, &attrs);
    }
    wide = cbx_expand_dims(ctx, x, inside ? axis + 1 : axis);
    if (cbx_array_is_failed(wide)) return wide;
    memcpy(shape, wide->desc.shape, sizeof shape);
    shape[inside ? axis + 1 : axis] = times;
    return cbx__apply1(ctx, CBX_PRIM_RESHAPE, cbx__to_shape(ctx, wide, wide->desc.ndim, shape), &attrs);
}

cbx_array *cbx_repeat(cbx_ctx *ctx, const cbx_array *x, size_t times, int axis)
{
    size_t mark = cbx__mark(ctx);
    if (!usable(ctx, "repeat", x, axis, &axis)) return cbx__array_failed();
    return cbx__tidy(ctx, mark, spread(ctx, x, axis, times, true));
}

cbx_array *cbx_tile(cbx_ctx *ctx, const cbx_array *x, int n, const size_t *times)
{
    size_t mark = cbx__mark(ctx);
    const cbx_array *r = x;
    int rank;

    if (cbx__unusable(ctx, "tile", 1, &x)) return cbx__array_failed();
    if (!cbx__given(ctx, "tile", "times", n, times)) return cbx__array_failed();
    rank = n > x->desc.ndim ? n : x->desc.ndim;
    if (n < 0 || rank > CBX_MAX_RANK)
        return cbx__refuse_of(ctx, x, CBX_EINVAL, "'tile' to rank %d, the most is %d", rank, CBX_MAX_RANK);
    while (!cbx_array_is_failed(r) && r->desc.ndim < rank) r = cbx_expand_dims(ctx, r, 0);
    for (int i = 0; !cbx_array_is_failed(r) && i < n; i++)
        if (times[i] != 1) r = spread(ctx, r, rank - n + i, times[i], false);
    if (cbx_array_is_failed(r)) return cbx__array_failed();
    /* what was spread is new already, unless an axis of length 1 made it a view */
    return cbx__tidy(ctx, mark, r == x || r->base || r->flags & CBX__ABSTRACT ? cbx_copy(ctx, r) : (cbx_array *)r);
}
