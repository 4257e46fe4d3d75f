/* Functions that move elements. */

#include "python/state.h"

CX_FORMULA(do_broadcast_to, cbx_broadcast_to(c->ctx, x, shape.ndim, shape.of), x, shape)
CX_FORMULA(do_tile, cbx_tile(c->ctx, x, repetitions.ndim, repetitions.of), x, repetitions)
CX_FORMULA(do_flatten, cbx_flatten(c->ctx, x), x)
/* flip and squeeze */
CX_FORMULA(along_axes, CX_FN(const cbx_array *, const cbx_axes *)(c->ctx, x, &over.axis), x, over.axis)

CX_RETURN(do_broadcast_arrays, (cx_arrays arrays; cbx_array * *out),
          CX_GET(c, arrays) && (out = cx_alloc(c, arrays.n, sizeof *out)) && cx_begin(c),
          (cbx_broadcast_arrays(c->ctx, arrays.n, arrays.list, out), cx_results(c, arrays.n, out, false)))

/* concat of flattened arrays where axis is None; fn: cbx_concat or cbx_stack. */
static PyObject *joined(cx_call *c)
{
    cx_axis axis = { 0 };
    cx_arrays arrays;

    if (!CX_GET(c, arrays, axis) || !cx_begin(c)) return NULL;
    for (size_t i = 0; axis.none && i < arrays.n; i++) arrays.list[i] = cbx_flatten(c->ctx, arrays.list[i]);
    return cx_result(c, CX_FN(size_t, const cbx_array *const *, int)(c->ctx, arrays.n, arrays.list, axis.value));
}

CX_RETURN(do_expand_dims, (const cbx_array *x; int axis),
          CX_GET(c, x, axis) &&
              ((axis >= -cbx_array_ndim(x) - 1 && axis <= cbx_array_ndim(x)) ||
               cx_refused(PyExc_IndexError, "expand_dims: 'axis' must be from %d to %d, got %d", -cbx_array_ndim(x) - 1,
                          cbx_array_ndim(x), axis)) &&
              cx_begin(c),
          cx_result(c, cbx_expand_dims(c->ctx, x, axis)))

/* Integers that are too large for an axis become one that no array has. */
static const int *axes_of(const cx_ints *ints, int *out)
{
    for (int k = 0; k < ints->n; k++)
        out[k] = ints->v[k] < -CBX_MAX_RANK || ints->v[k] > CBX_MAX_RANK ? CBX_MAX_RANK : (int)ints->v[k];
    return out;
}

/* permute_dims, and transpose, whose axes are reversed where none are given. */
static PyObject *permuted(cx_call *c)
{
    const cbx_array *x;
    int order[CBX_MAX_RANK];
    cx_ints axes;

    if (!CX_GET(c, x)) return NULL;
    axes.n = cbx_array_ndim(x);
    for (int k = 0; k < axes.n; k++) axes.v[k] = axes.n - 1 - k;
    if ((!c->self || c->nrest) && !CX_GET(c, axes)) return NULL;
    if (axes.n != cbx_array_ndim(x))
        return PyErr_Format(PyExc_ValueError, "%s: 'axes' must be %d axes, got %d", c->name, cbx_array_ndim(x), axes.n);
    return cx_begin(c) ? cx_result(c, cbx_permute_dims(c->ctx, x, axes_of(&axes, order))) : NULL;
}

CX_RETURN(do_moveaxis, (int from[CBX_MAX_RANK], to[CBX_MAX_RANK]; cx_ints source, destination; const cbx_array *x),
          CX_GET(c, x, source, destination) &&
              (source.n == destination.n ||
               cx_refused(PyExc_ValueError, "moveaxis: 'destination' must have as many axes as 'source', got %d for %d",
                          destination.n, source.n)) &&
              cx_begin(c),
          cx_result(c, cbx_moveaxes(c->ctx, x, source.n, axes_of(&source, from), axes_of(&destination, to))))

static PyObject *do_repeat(cx_call *c)
{
    const cbx_array *x, *counts = NULL;
    cx_axis axis = { 0 };
    size_t repeats = 0;

    if (!CX_GET(c, x, axis)) return NULL;
    if (PyLong_Check(cx_arg(c, "repeats")) ? !CX_GET(c, repeats) : !CX_GET_AS(c, "repeats", counts)) return NULL;
    if (!cx_begin(c)) return NULL;
    if (axis.none) x = cbx_flatten(c->ctx, x);
    return cx_result(c, counts ? cbx_repeat_counts(c->ctx, x, counts, axis.value)
                               : cbx_repeat(c->ctx, x, repeats, axis.value));
}

CX_FORMULA(do_repeat_counts_size,
           cbx_repeat_counts_size(c->ctx, axis.none ? cbx_flatten(c->ctx, x) : x, counts, axis.value, size), x, counts,
           size, axis)

CX_RETURN(do_reshape, (const cbx_array *x; bool copy = false; cx_ints shape; cbx_array * r),
          CX_GET(c, x, shape, copy) &&
              (!cx_arg(c, "copy") || copy || cbx_array_is_contiguous(x) ||
               cx_raise(CBX_EINVAL, "reshape: an array that is not row-major needs a copy: leave copy=False out")) &&
              cx_begin(c),
          (r = cbx_reshape(c->ctx, x, shape.n, shape.v), cx_result(c, copy ? cbx_copy(c->ctx, r) : r)))

static PyObject *do_roll(cx_call *c)
{
    const cbx_array *x;
    cbx_axes axis;
    cx_ints shift;

    if (!CX_GET(c, x, shift, axis)) return NULL;
    if (!cx_arg(c, "axis")) {
        if (shift.n != 1) return cx_raise(CBX_EINVAL, "roll: 'shift' must be one integer without 'axis'");
        return cx_begin(c) ? cx_result(c, cbx_roll_flat(c->ctx, x, shift.v[0])) : NULL;
    }
    if (shift.n != axis.n && shift.n != 1 && axis.n != 1)
        return PyErr_Format(PyExc_ValueError, "roll: 'shift' must be one integer, or %d as 'axis', got %d", axis.n,
                            shift.n);
    for (; axis.n == 1 && axis.n < shift.n; axis.n = shift.n) /* one axis by each of the shifts */
        for (int k = 1; k < shift.n; k++) axis.axis[k] = axis.axis[0];
    for (int k = 1; shift.n == 1 && k < axis.n; k++) shift.v[k] = shift.v[0];
    return cx_begin(c) ? cx_result(c, cbx_roll_axes(c->ctx, x, axis.n, shift.v, axis.axis)) : NULL;
}

CX_RETURN(do_unstack, (const cbx_array *x; cbx_array * *out; size_t n; int axis),
          CX_GET(c, x, axis) &&
              ((axis >= -cbx_array_ndim(x) && axis < cbx_array_ndim(x)) ||
               cx_refuse(c, "axis", PyExc_ValueError, "an axis of the array", cx_arg(c, "axis"))) &&
              (n = cbx_array_dim(x, axis < 0 ? axis + cbx_array_ndim(x) : axis), out = cx_alloc(c, n, sizeof *out)) &&
              cx_begin(c),
          (cbx_unstack(c->ctx, x, axis, n, out), cx_results(c, n, out, true)))

static PyObject *do_squeeze(cx_call *c)
{
    const cbx_array *x;
    cbx_axes axis;

    if (!CX_GET(c, x, axis)) return NULL;
    if (!cx_arg(c, "axis")) {
        axis.n = 0;
        for (int k = 0; k < cbx_array_ndim(x); k++)
            if (cbx_array_dim(x, k) == 1) axis.axis[axis.n++] = k;
    }
    return cx_begin(c) ? cx_result(c, cbx_squeeze_axes(c->ctx, x, &axis)) : NULL;
}

/* clang-format off */
#define MANIPULATION(X) \
    X(broadcast_arrays, "*arrays: Array", "list[Array]", do_broadcast_arrays, 0, "Broadcast the arrays to their common shape.\n\n>>> xp.broadcast_arrays(xp.arange(2), xp.ones((2, 1)))\n[Array([[0, 1],\n       [0, 1]], dtype=int64), Array([[1.0, 1.0],\n       [1.0, 1.0]], dtype=float64)]") \
    X(broadcast_to, "x: Array, /, shape: int | Sequence[int]", "Array", do_broadcast_to, 0, "Broadcast x to a shape.\n\n>>> xp.broadcast_to(xp.arange(2), (2, 2))\nArray([[0, 1],\n       [0, 1]], dtype=int64)") \
    X(concat, "arrays: Sequence[Array], /, *, axis: int | None = 0", "Array", joined, cbx_concat, "Join arrays along an axis; axis None: flattened first.\n\n>>> xp.concat([xp.arange(2), xp.ones(2)])\nArray([0.0, 1.0, 1.0, 1.0], dtype=float64)") \
    X(expand_dims, "x: Array, /, axis: int | Sequence[int] = 0", "Array", do_expand_dims, 0, "A new axis of length 1.\n\n>>> xp.expand_dims(xp.arange(2))\nArray([[0, 1]], dtype=int64)") \
    X(flip, "x: Array, /, *, axis: int | Sequence[int] | None = None", "Array", along_axes, cbx_flip_axes, "The elements in reverse order.\n\n>>> xp.flip(xp.arange(3))\nArray([2, 1, 0], dtype=int64)") \
    X(moveaxis, "x: Array, source: int | Sequence[int], destination: int | Sequence[int], /", "Array", do_moveaxis, 0, "Move axes to other positions.\n\n>>> xp.moveaxis(xp.zeros((2, 3, 4)), 0, -1).shape\n(3, 4, 2)") \
    X(permute_dims, "x: Array, /, axes: int | Sequence[int]", "Array", permuted, 0, "Permute the axes.\n\n>>> xp.permute_dims(xp.zeros((2, 3)), (1, 0)).shape\n(3, 2)") \
    X(repeat, "x: Array, repeats: int | Array, /, *, axis: int | None = None", "Array", do_repeat, 0, "Repeat each element.\n\n>>> xp.repeat(xp.arange(2), 2)\nArray([0, 0, 1, 1], dtype=int64)") \
    X(repeat_counts_size, "x: Array, counts: Array, size: int, /, *, axis: int | None = None", "Array", do_repeat_counts_size, 0, "Each element so many times, cut to a size or filled up to it with the last one: a shape that does not depend on data, as a traced function needs it.\n\n>>> xp.repeat_counts_size(xp.asarray([5, 6]), xp.asarray([2, 1]), 4)\nArray([5, 5, 6, 6], dtype=int64)") \
    X(reshape, "x: Array, /, shape: int | Sequence[int], *, copy: bool | None = None", "Array", do_reshape, 0, "The elements in another shape; one length may be -1.\n\n>>> xp.reshape(xp.arange(4), (2, -1))\nArray([[0, 1],\n       [2, 3]], dtype=int64)") \
    X(roll, "x: Array, /, shift: int | Sequence[int], *, axis: int | Sequence[int] | None = None", "Array", do_roll, 0, "Shift the elements along an axis; those shifted out come in at the other end.\n\n>>> xp.roll(xp.arange(3), 1)\nArray([2, 0, 1], dtype=int64)") \
    X(squeeze, "x: Array, /, axis: int | Sequence[int]", "Array", along_axes, cbx_squeeze_axes, "Remove axes of length 1.\n\n>>> xp.squeeze(xp.zeros((1, 2)), 0)\nArray([0.0, 0.0], dtype=float64)") \
    X(stack, "arrays: Sequence[Array], /, *, axis: int = 0", "Array", joined, cbx_stack, "Join arrays along a new axis.\n\n>>> xp.stack([xp.arange(2), xp.ones(2)])\nArray([[0.0, 1.0],\n       [1.0, 1.0]], dtype=float64)") \
    X(tile, "x: Array, repetitions: int | Sequence[int], /", "Array", do_tile, 0, "Repeat x along each axis.\n\n>>> xp.tile(xp.arange(2), 2)\nArray([0, 1, 0, 1], dtype=int64)") \
    X(unstack, "x: Array, /, *, axis: int = 0", "tuple[Array, ...]", do_unstack, 0, "Split an array along an axis.\n\n>>> xp.unstack(xp.arange(2))\n(Array(0, dtype=int64), Array(1, dtype=int64))")
/* clang-format on */
CX_FUNCTIONS(cx_manipulation_methods, MANIPULATION, LIGHT)

/* clang-format off */
#define METHODS(X) \
    X(flatten, "", "Array", do_flatten, 0, "The elements along one axis, in row-major order.\n\n>>> xp.asarray([3.0, 1.0, 2.0]).flatten()\nArray([3.0, 1.0, 2.0], dtype=float64)") \
    X(reshape, "*shape: int | Sequence[int], copy: bool | None = None", "Array", do_reshape, 0, "The elements in another shape; one length may be -1.\n\n>>> xp.arange(4).reshape(2, 2)\nArray([[0, 1],\n       [2, 3]], dtype=int64)") \
    X(squeeze, "axis: int | Sequence[int] | None = None", "Array", do_squeeze, 0, "Remove axes of length 1.\n\n>>> xp.zeros((1, 2)).squeeze()\nArray([0.0, 0.0], dtype=float64)") \
    X(transpose, "*axes: int | Sequence[int]", "Array", permuted, 0, "The axes reversed, or in the order given.\n\n>>> xp.zeros((2, 3)).transpose().shape\n(3, 2)")
/* clang-format on */
CX_ARRAY_FUNCTIONS(cx_array_movements, METHODS, LIGHT)
