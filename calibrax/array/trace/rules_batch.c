/* Operations over a batch: the batch is on axis 0 of operands and results that have it. */
#include <assert.h>
#include <string.h>

#include "calibrax/array/trace/rules_control.h"

static cbx_array *apply(cbx__batch *r, size_t n, cbx_array *const *in, const cbx_attrs *a)
{
    return cbx_apply(r->ctx, r->prim, n, (const cbx_array *const *)in, a);
}

/* An operand with the batch: its own, or spread. */
static cbx_array *with_batch(const cbx__batch *r, size_t i)
{
    if (!r->mapped[i] && r->in[i]->desc.ndim == CBX_MAX_RANK)
        return cbx__refuse(r->ctx, CBX_EINVAL, "operand %zu of '%s' has %d axes already: no axis is left for a batch",
                           i + 1, cbx_prim_name(r->prim), CBX_MAX_RANK);
    return cbx__spread(r->ctx, r->in[i], r->mapped[i], r->length);
}

/* Rank of an operand without the batch. */
static int rank_of(const cbx__batch *r, size_t i) { return r->in[i]->desc.ndim - r->mapped[i]; }

/* All operands with the batch, results with it; attributes as given. */
static void all_with(cbx__batch *r, const cbx_attrs *a)
{
    const cbx_allocator *al = cbx_ctx_allocator(r->ctx);
    const cbx_array **in = cbx_mem_calloc(al, r->nin, sizeof *in);

    if (!in) {
        cbx__refuse(r->ctx, CBX_ENOMEM, "no memory for the operands of '%s'", cbx_prim_name(r->prim));
        return;
    }
    for (size_t i = 0; i < r->nin; i++) in[i] = with_batch(r, i);
    cbx_apply_all(r->ctx, r->prim, r->nin, in, a, r->out);
    cbx_mem_free(al, in, r->nin * sizeof *in);
}

/* Element by element, and what works on the last axes of stacks. */
void cbx__batch_each(cbx__batch *r) { all_with(r, r->attrs); }

void cbx__batch_along(cbx__batch *r)
{
    cbx_attrs a = *r->attrs;
    a.axis++;
    all_with(r, &a);
}

void cbx__batch_reduce(cbx__batch *r)
{
    cbx_attrs a = *r->attrs;
    for (int i = 0; i < a.naxes; i++) a.axes[i]++;
    all_with(r, &a);
}

/* ---- views ---- */

/* The batch before the lengths of attributes. */
static void lead_shape(const cbx__batch *r, cbx_attrs *a)
{
    memmove(a->shape + 1, a->shape, (size_t)a->ndim * sizeof *a->shape);
    memmove(a->start + 1, a->start, (size_t)a->ndim * sizeof *a->start);
    memmove(a->step + 1, a->step, (size_t)a->ndim * sizeof *a->step);
    a->shape[0] = r->length;
    a->start[0] = 0;
    a->ndim++;
}

static bool has_axis(const cbx__batch *r, int ndim)
{
    if (ndim < CBX_MAX_RANK) return true;
    return cbx__refused(r->ctx, CBX_EINVAL, "'%s' to %d axes leaves none for a batch", cbx_prim_name(r->prim), ndim);
}

void cbx__batch_reshape(cbx__batch *r)
{
    cbx_attrs a = *r->attrs;
    if (!has_axis(r, a.ndim)) return;
    lead_shape(r, &a);
    r->out[0] = apply(r, 1, r->in, &a);
}

void cbx__batch_slice(cbx__batch *r)
{
    cbx_attrs a = *r->attrs;
    lead_shape(r, &a);
    a.step[0] = 1;
    r->out[0] = apply(r, 1, r->in, &a);
}

void cbx__batch_permute(cbx__batch *r)
{
    cbx_attrs a = { .naxes = r->attrs->naxes + 1 };
    for (int i = 0; i < r->attrs->naxes; i++) a.axes[i + 1] = r->attrs->axes[i] + 1;
    r->out[0] = apply(r, 1, r->in, &a);
}

/* Axes that are added go between the batch and the others. */
void cbx__batch_broadcast(cbx__batch *r)
{
    const cbx_array_desc *d = &r->in[0]->desc;
    cbx_attrs a = *r->attrs;
    size_t shape[CBX_MAX_RANK];
    const int added = a.ndim - (d->ndim - 1);
    cbx_array *x;

    if (!has_axis(r, a.ndim)) return;
    shape[0] = r->length;
    for (int i = 0; i < a.ndim; i++) shape[i + 1] = i < added ? 1 : d->shape[i - added + 1];
    x = cbx__reshaped(r->ctx, r->in[0], a.ndim + 1, shape);
    lead_shape(r, &a);
    r->out[0] = apply(r, 1, &x, &a);
}

/* ---- indices ---- */

/*
 * Indices into rows of n, each row of the batch with its own: row * n + index; what is outside
 * stays outside.
 */
static cbx_array *own_rows(const cbx__batch *r, const cbx_array *index, size_t n)
{
    cbx_ctx *c = r->ctx;
    cbx_array *row = cbx_arange_int(c, 0, (int64_t)r->length, 1, CBX_I64), *whole, *bad;
    cbx_array *size = cbx_full(c, 0, NULL, CBX_I64, cbx_int((int64_t)n));
    size_t shape[CBX_MAX_RANK];

    for (int i = 0; i < index->desc.ndim; i++) shape[i] = i ? 1 : r->length;
    row = cbx_multiply(c, cbx__reshaped(c, row, index->desc.ndim, shape), size);
    bad = cbx_logical_or(c, cbx_less(c, index, cbx_negative(c, size)), cbx_greater_equal(c, index, size));
    whole = cbx_add(c, cbx_remainder(c, index, size), row);
    return cbx_where(c, bad, cbx_full(c, 0, NULL, CBX_I64, cbx_int(INT64_MAX)), whole);
}

/* (batch, n, ...) as (batch * n, ...). */
static cbx_array *folded(cbx_ctx *c, const cbx_array *x)
{
    size_t shape[CBX_MAX_RANK];

    if (cbx_array_is_failed(x)) return cbx__array_failed();
    memcpy(shape, x->desc.shape + 1, (size_t)(x->desc.ndim - 1) * sizeof *shape);
    shape[0] *= x->desc.shape[0];
    return cbx__reshaped(c, x, x->desc.ndim - 1, shape);
}
/* (batch, ..., n, ...) as (batch * n, the others): the axis goes to the front. */
static cbx_array *as_rows(cbx_ctx *c, const cbx_array *x, int axis)
{
    return folded(c, cbx_moveaxis(c, x, axis + 1, 1));
}

/* n axes from `from` on go before axis `to`; the axis at 0 stays. */
static cbx_array *move_axes(cbx_ctx *c, const cbx_array *x, int n, int from, int to)
{
    int source[CBX_MAX_RANK], place[CBX_MAX_RANK];

    for (int i = 0; i < n; i++) source[i] = from + i, place[i] = to + i;
    return cbx_moveaxes(c, x, n, source, place);
}

void cbx__batch_take(cbx__batch *r)
{
    cbx_ctx *c = r->ctx;
    cbx_attrs a = *r->attrs;
    cbx_array *in[2] = { r->in[0], r->in[1] };

    if (!r->mapped[1]) {
        a.axis++;
        r->out[0] = apply(r, 2, in, &a);
        return;
    }
    if (!r->mapped[0]) { /* the batch comes to where the axis was */
        r->out[0] = cbx_moveaxis(c, apply(r, 2, in, &a), a.axis, 0);
        return;
    }
    const int places = rank_of(r, 1);
    in[0] = as_rows(c, r->in[0], a.axis);
    in[1] = own_rows(r, r->in[1], r->in[0]->desc.shape[a.axis + 1]);
    r->out[0] = move_axes(c, apply(r, 2, in, &(cbx_attrs){ 0 }), places, 1, 1 + a.axis);
}

void cbx__batch_scatter(cbx__batch *r)
{
    cbx_ctx *c = r->ctx;
    cbx_attrs a = *r->attrs;
    cbx_array *in[3] = { with_batch(r, 0), r->in[1], with_batch(r, 2) };

    if (cbx_array_is_failed(in[0]) || cbx_array_is_failed(in[2])) return;
    if (!r->mapped[1]) {
        a.axis++;
        r->out[0] = apply(r, 3, in, &a);
        return;
    }
    const int places = rank_of(r, 1), axis = a.axis;
    cbx_array *moved = cbx_moveaxis(c, in[0], axis + 1, 1), *y;
    if (cbx_array_is_failed(moved)) return;
    in[1] = own_rows(r, r->in[1], in[0]->desc.shape[axis + 1]);
    in[2] = move_axes(c, in[2], places, 1 + axis, 1);
    in[0] = folded(c, moved);
    a.axis = 0;
    y = apply(r, 3, in, &a);
    r->out[0] = cbx_moveaxis(c, cbx__reshaped(c, y, moved->desc.ndim, moved->desc.shape), 1, axis + 1);
}

/* ---- products ---- */

/* (batch * b, ...) as (batch, b, ...). */
static cbx_array *unfolded(const cbx__batch *r, const cbx_array *y)
{
    size_t shape[CBX_MAX_RANK + 1];

    if (cbx_array_is_failed(y)) return cbx__array_failed();
    memcpy(shape + 1, y->desc.shape, (size_t)y->desc.ndim * sizeof *shape);
    shape[0] = r->length;
    shape[1] = r->in[0]->desc.shape[r->mapped[0]]; /* the stack of one element */
    return cbx__reshaped(r->ctx, y, y->desc.ndim + 1, shape);
}

/* Stacks of matrices, all operands and results: one longer stack. */
void cbx__batch_matmul(cbx__batch *r)
{
    enum { MAX_OPERANDS = 5 };
    cbx_array *in[MAX_OPERANDS];

    assert(r->nin <= MAX_OPERANDS);
    for (size_t i = 0; i < r->nin; i++) in[i] = folded(r->ctx, with_batch(r, i));
    cbx_apply_all(r->ctx, r->prim, r->nin, (const cbx_array *const *)in, r->attrs, r->out);
    for (size_t i = 0; i < r->nout; i++) r->out[i] = unfolded(r, r->out[i]);
}

/*
 * Images, and what is like them, have a batch already; filters that differ, or their tangents, are
 * taken one after the other.
 */
void cbx__batch_conv(cbx__batch *r)
{
    enum { MAX_OPERANDS = 5, FILTER = 1, ITS_TANGENT = 4 };
    cbx_array *in[MAX_OPERANDS];

    if (r->mapped[FILTER] || (r->nin > ITS_TANGENT && r->mapped[ITS_TANGENT])) {
        cbx__batch_loop(r);
        return;
    }
    for (size_t i = 0; i < r->nin; i++)
        in[i] = i == FILTER || i == ITS_TANGENT ? r->in[i] : folded(r->ctx, with_batch(r, i));
    r->out[0] = unfolded(r, apply(r, r->nin, in, r->attrs));
}

/* ---- the rest: one element of the batch after the other ---- */

void cbx__batch_loop(cbx__batch *r)
{
    size_t nconst = 0, at = 0;
    CBX_CLEARED(cbx__traced) body = { 0 };

    CBX_SCOPED(cbx__lists, l, r->ctx);
    cbx_array **in = cbx__owned_list(&l, r->nin), **out = cbx__owned_list(&l, r->nout),
              **order = cbx__array_list(&l, r->nin);
    if (cbx__lists_trace(&l, cbx_prim_name(r->prim))) {
        for (int mapped = 0; mapped < 2; mapped++) /* constants first */
            for (size_t i = 0; !l.st && i < r->nin; i++) {
                if (r->mapped[i] != mapped) continue;
                const cbx_array_desc d = mapped ? cbx__element_desc(&r->in[i]->desc) : r->in[i]->desc;
                nconst += !mapped;
                order[at++] = r->in[i];
                l.st = cbx__trace_input(&l.trace, &d, &in[i], &l.err);
            }
        if (!l.st)
            l.st = cbx__apply_owned(r->ctx, r->prim, r->nin, (const cbx_array *const *)in, r->attrs, r->nout, out,
                                    &l.err);
        cbx__lists_end(&l, r->nout, out, &body);
    }
    if (!l.st) cbx__scan_apply(r->ctx, body.graph, nconst, 0, r->nin - nconst, r->length, false, order, r->out);
}
