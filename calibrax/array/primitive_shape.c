/*
 * Shapes of what works on elements, axes and indices, and of reductions.
 */
#include <stdio.h>
#include <string.h>

#include "calibrax/array/primitive_rules.h"
#include "calibrax/array/promote.h"

static bool same_shape(const cbx_array_desc *a, const cbx_array_desc *b)
{
    return a->ndim == b->ndim && memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

static cbx_status check_axis(const cbx__operands *o, int axis, int ndim, cbx_err *err)
{
    if (axis >= 0 && axis < ndim) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "axis %d of '%s' is outside 0..%d", axis, o->name, ndim - 1);
}

cbx_status cbx__rule_differ(const cbx__operands *o, const cbx_array_desc *a, const cbx_array_desc *b, cbx_err *err)
{
    char ta[160], tb[160];
    return cbx_fail(err, CBX_ESHAPE, "'%s' cannot join %s with %s", o->name, cbx__rule_text(a, ta),
                    cbx__rule_text(b, tb));
}

cbx_status cbx__rule_same(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    for (size_t i = 1; i < o->n; i++)
        if (!same_shape(o->d[0], o->d[i])) return cbx__rule_differ(o, o->d[0], o->d[i], err);
    cbx__rule_set_shape(out, o->d[0]->ndim, o->d[0]->shape);
    return CBX_OK;
}

cbx_status cbx__rule_select(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    return cbx__rule_same(o, out, err);
}

cbx_status cbx__rule_cast(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    if (cbx_dtype_kind(o->d[0]->dtype) == CBX_KIND_COMPLEX && cbx_dtype_kind(o->attrs->dtype) < CBX_KIND_COMPLEX &&
        o->attrs->dtype != CBX_BOOL)
        return cbx_fail(err, CBX_EDTYPE, "'astype' does not drop imaginary parts, %s to %s: take 'real' first",
                        cbx_dtype_name(o->d[0]->dtype), cbx_dtype_name(o->attrs->dtype));
    return cbx__rule_same(o, out, err);
}

/* FULL, IOTA: the shape is given. */
cbx_status cbx__rule_shape(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    const cbx_attrs *a = o->attrs;

    if (a->ndim < 0 || a->ndim > CBX_MAX_RANK)
        return cbx_fail(err, CBX_EINVAL, "rank %d of '%s' is outside 0..%d", a->ndim, o->name, CBX_MAX_RANK);
    cbx__rule_set_shape(out, a->ndim, a->shape);
    return strcmp(o->name, "iota") == 0 ? check_axis(o, a->axis, a->ndim, err) : CBX_OK;
}

cbx_status cbx__rule_reshape(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    size_t from, to;
    char ta[160], tb[160];
    cbx_status st = cbx__rule_shape(o, out, err);

    if (!st) st = cbx_array_desc_count(out, &to, err);
    if (!st) st = cbx_array_desc_count(o->d[0], &from, err);
    if (st || from == to) return st;
    return cbx_fail(err, CBX_ESHAPE, "'reshape' of %s to %s changes the number of elements",
                    cbx__rule_text(o->d[0], ta), cbx__rule_text(out, tb));
}

cbx_status cbx__rule_transpose(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    unsigned seen = 0;
    int n = o->d[0]->ndim;

    if (o->attrs->naxes != n)
        return cbx_fail(err, CBX_EINVAL, "'%s' got %d axes for an array of rank %d", o->name, o->attrs->naxes, n);
    out->ndim = n;
    for (int i = 0; i < n; i++) {
        int axis = o->attrs->axes[i];
        cbx_status st = check_axis(o, axis, n, err);
        if (st) return st;
        if (seen & (1u << axis)) return cbx_fail(err, CBX_EINVAL, "axis %d of '%s' is named twice", axis, o->name);
        seen |= 1u << axis;
        out->shape[i] = o->d[0]->shape[axis];
    }
    return CBX_OK;
}

cbx_status cbx__rule_broadcast(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    const cbx_array_desc *d = o->d[0];
    cbx_status st = cbx__rule_shape(o, out, err);
    int shift = o->attrs->ndim - d->ndim;
    char ta[160], tb[160];
    bool fits = shift >= 0;

    if (st) return st;
    for (int i = 0; fits && i < d->ndim; i++) fits = d->shape[i] == 1 || d->shape[i] == out->shape[i + shift];
    if (fits) return CBX_OK;
    return cbx_fail(err, CBX_ESHAPE, "%s does not broadcast to %s", cbx__rule_text(d, ta), cbx__rule_text(out, tb));
}

cbx_status cbx__rule_slice(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    const cbx_array_desc *d = o->d[0];
    const cbx_attrs *a = o->attrs;

    if (a->ndim != d->ndim) return cbx_fail(err, CBX_EINVAL, "'slice' got %d ranges for rank %d", a->ndim, d->ndim);
    for (int i = 0; i < d->ndim; i++) {
        ptrdiff_t n = (ptrdiff_t)a->shape[i], last = 0;
        bool wraps = n && (__builtin_mul_overflow(n - 1, a->step[i], &last) ||
                           __builtin_add_overflow(last, a->start[i], &last));
        if (n < 0 || wraps || a->step[i] == 0 ||
            (n > 0 &&
             (a->start[i] < 0 || a->start[i] >= (ptrdiff_t)d->shape[i] || last < 0 || last >= (ptrdiff_t)d->shape[i])))
            return cbx_fail(err, CBX_EINVAL, "'slice' from %td step %td takes %zu elements of axis %d, which has %zu",
                            a->start[i], a->step[i], a->shape[i], i, d->shape[i]);
    }
    cbx__rule_set_shape(out, d->ndim, a->shape);
    return CBX_OK;
}

cbx_status cbx__rule_pad(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    const cbx_array_desc *d = o->d[0];
    const cbx_attrs *a = o->attrs;

    if (a->ndim != d->ndim) return cbx_fail(err, CBX_EINVAL, "'pad' got %d widths for rank %d", a->ndim, d->ndim);
    for (int i = 0; i < d->ndim; i++)
        if (a->start[i] < 0 || a->shape[i] < d->shape[i] || (size_t)a->start[i] > a->shape[i] - d->shape[i])
            return cbx_fail(err, CBX_EINVAL, "'pad' of axis %d is negative", i);
    cbx__rule_set_shape(out, d->ndim, a->shape);
    return CBX_OK;
}

cbx_status cbx__rule_concat(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    const cbx_array_desc *d = o->d[0];
    int axis = o->attrs->axis;
    cbx_status st = check_axis(o, axis, d->ndim, err);

    if (st) return st;
    cbx__rule_set_shape(out, d->ndim, d->shape);
    out->shape[axis] = 0;
    for (size_t i = 0; i < o->n; i++) {
        const cbx_array_desc *e = cbx_array_get_desc(o->in[i]);
        if (e->ndim != d->ndim) return cbx__rule_differ(o, d, e, err);
        for (int k = 0; k < d->ndim; k++)
            if (k != axis && e->shape[k] != d->shape[k]) return cbx__rule_differ(o, d, e, err);
        if (__builtin_add_overflow(out->shape[axis], e->shape[axis], &out->shape[axis]))
            return cbx_fail(err, CBX_EOVERFLOW, "the length of 'concat' overflows");
    }
    return CBX_OK;
}

static cbx_status check_index(const cbx__operands *o, cbx_err *err)
{
    if (o->d[1]->dtype == CBX_I64) return CBX_OK;
    return cbx_fail(err, CBX_EDTYPE, "'%s' takes int64 indices, not %s", o->name, cbx_dtype_name(o->d[1]->dtype));
}

/* x along axis is replaced by the axes of the indices. */
cbx_status cbx__rule_take(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    const cbx_array_desc *x = o->d[0], *index = o->d[1];
    int axis = o->attrs->axis, at = 0;
    cbx_status st = check_index(o, err);

    if (!st) st = check_axis(o, axis, x->ndim, err);
    if (st) return st;
    if (x->ndim - 1 + index->ndim > CBX_MAX_RANK)
        return cbx_fail(err, CBX_EINVAL, "the result of '%s' has more than %d axes", o->name, CBX_MAX_RANK);
    for (int i = 0; i < axis; i++) out->shape[at++] = x->shape[i];
    for (int i = 0; i < index->ndim; i++) out->shape[at++] = index->shape[i];
    for (int i = axis + 1; i < x->ndim; i++) out->shape[at++] = x->shape[i];
    out->ndim = at;
    return CBX_OK;
}

cbx_status cbx__rule_take_along(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    const cbx_array_desc *x = o->d[0], *index = o->d[1];
    cbx_status st = check_index(o, err);

    if (!st) st = check_axis(o, o->attrs->axis, x->ndim, err);
    if (st) return st;
    if (index->ndim != x->ndim) return cbx__rule_differ(o, x, index, err);
    for (int i = 0; i < x->ndim; i++)
        if (i != o->attrs->axis && x->shape[i] != index->shape[i]) return cbx__rule_differ(o, x, index, err);
    cbx__rule_set_shape(out, index->ndim, index->shape);
    return CBX_OK;
}

/* The updates have the shape that 'take' with these indices would give. */
cbx_status cbx__rule_scatter(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    cbx_array_desc wanted = { .dtype = o->d[0]->dtype };
    cbx_status st = cbx__rule_take(o, &wanted, err);

    if (st) return st;
    if (o->attrs->mode < 0 || o->attrs->mode > CBX_SCATTER_MAX)
        return cbx_fail(err, CBX_EINVAL, "'scatter' has no mode %d", o->attrs->mode);
    if (cbx_dtype_kind(o->d[0]->dtype) == CBX_KIND_COMPLEX && o->attrs->mode >= CBX_SCATTER_MIN)
        return cbx_fail(err, CBX_EDTYPE, "'scatter' has no order of complex numbers");
    if (!same_shape(&wanted, o->d[2])) return cbx__rule_differ(o, &wanted, o->d[2], err);
    cbx__rule_set_shape(out, o->d[0]->ndim, o->d[0]->shape);
    return CBX_OK;
}

cbx_status cbx__rule_searchsorted(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    if (o->d[0]->ndim != 1) return cbx_fail(err, CBX_ESHAPE, "'%s' searches one axis, not %d", o->name, o->d[0]->ndim);
    cbx__rule_set_shape(out, o->d[1]->ndim, o->d[1]->shape);
    return CBX_OK;
}

/* One row of indices per axis. */
cbx_status cbx__rule_nonzero(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    if (o->d[0]->ndim == 0) return cbx_fail(err, CBX_ESHAPE, "'nonzero' needs an axis, a scalar has none");
    out->ndim = 2;
    out->shape[0] = (size_t)o->d[0]->ndim;
    out->shape[1] = o->attrs->shape[0];
    return CBX_OK;
}

cbx_status cbx__rule_reduce(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    const cbx_array_desc *d = o->d[0];
    unsigned gone = 0;

    for (int i = 0; i < o->attrs->naxes; i++) {
        int axis = o->attrs->axes[i];
        cbx_status st = check_axis(o, axis, d->ndim, err);
        if (st) return st;
        if (gone & (1u << axis)) return cbx_fail(err, CBX_EINVAL, "axis %d of '%s' is named twice", axis, o->name);
        gone |= 1u << axis;
    }
    out->ndim = 0;
    for (int i = 0; i < d->ndim; i++) {
        if (!(gone & (1u << i)))
            out->shape[out->ndim++] = d->shape[i];
        else if (o->attrs->keep)
            out->shape[out->ndim++] = 1;
    }
    return CBX_OK;
}

/* Reductions that have no answer for no elements. */
cbx_status cbx__rule_reduce_some(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    size_t from, to;
    char buf[160];
    cbx_status st = cbx__rule_reduce(o, out, err);

    if (!st) st = cbx_array_desc_count(o->d[0], &from, err);
    if (!st) st = cbx_array_desc_count(out, &to, err);
    if (st || from > 0 || to == 0) return st;
    return cbx_fail(err, CBX_ESHAPE, "'%s' of no elements has no value: %s", o->name, cbx__rule_text(o->d[0], buf));
}

cbx_status cbx__rule_along(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    cbx__rule_set_shape(out, o->d[0]->ndim, o->d[0]->shape);
    return check_axis(o, o->attrs->axis, o->d[0]->ndim, err);
}

/* The axis has an element for each rank. */
cbx_status cbx__rule_ranked(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    const cbx_array_desc *d = o->d[0];
    const cbx_attrs *a = o->attrs;
    cbx_status st = cbx__rule_along(o, out, err);

    if (!st && (a->ndim < 1 || a->ndim > CBX_MAX_RANK))
        st = cbx_fail(err, CBX_EINVAL, "'ranked' takes 1 to %d ranks, not %d", CBX_MAX_RANK, a->ndim);
    for (int i = 0; !st && i < a->ndim; i++)
        if (a->shape[i] >= d->shape[a->axis] || (i > 0 && a->shape[i] < a->shape[i - 1]))
            st = cbx_fail(err, CBX_EINVAL, "rank %zu of 'ranked' is outside an axis of %zu, or below the one before",
                          a->shape[i], d->shape[a->axis]);
    if (!st) out->shape[a->axis] = (size_t)a->ndim;
    return st;
}

/* (b, m, k) by (b, k, n) is (b, m, n). */
