/*
 * Gather and scatter along one axis.  Operands that are not row-major are copied first (that is the scratch), so every
 * array here is (outer, axis, inner).  Negative indices count from the end; one outside is CBX_EDOM.
 */
#include <string.h>

#include "calibrax/array/reference/reference.h"

/* x seen as (outer, length, inner). */
typedef struct blocks {
    size_t outer, length, inner;
} blocks;

static blocks blocks_of(const cbx_array *x, int axis)
{
    blocks b = { 1, x->desc.shape[axis], 1 };

    for (int i = 0; i < axis; i++) b.outer *= x->desc.shape[i];
    for (int i = axis + 1; i < x->desc.ndim; i++) b.inner *= x->desc.shape[i];
    return b;
}

static cbx_status check_indices(const cbx_call *call, const cbx_array *index, size_t length, cbx_err *err)
{
    const int64_t *at = index->data;

    for (size_t i = 0; i < index->count; i++)
        if (at[i] >= (int64_t)length || at[i] < -(int64_t)length)
            return cbx_fail(err, CBX_EDOM, "index %lld of '%s' is outside an axis of %zu", (long long)at[i],
                            cbx_prim_name(call->prim), length);
    return CBX_OK;
}

static size_t place(int64_t i, size_t length) { return i < 0 ? (size_t)(i + (int64_t)length) : (size_t)i; }

/* Dense copies of the n first operands in d[], indices checked against the axis of the first. */
static cbx_status prepare(const cbx_call *call, size_t n, cbx_array **d, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t i = 0; !st && i < n; i++) st = cbx__ref_dense(call->ctx, call->in[i], &d[i], err);
    if (!st) st = check_indices(call, d[1], call->in[0]->desc.shape[call->attrs->axis], err);
    return st;
}

cbx_status cbx__ref_run_take(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    cbx_array *d[2] = { NULL, NULL }, *r = NULL;
    blocks b = blocks_of(call->in[0], call->attrs->axis);
    size_t size = cbx_dtype_size(call->result->dtype), run = b.inner * size;
    cbx__loop copy = cbx__ref_copy(call->result->dtype);
    cbx_status st = prepare(call, 2, d, err);

    if (!st) st = cbx_array_create(call->ctx, call->result, &r, err);
    if (!st) {
        const int64_t *index = d[1]->data;
        char *to = r->data;
        for (size_t o = 0; r->count && o < b.outer; o++) {
            char *from = (char *)d[0]->data + o * b.length * run;
            for (size_t j = 0; j < d[1]->count; j++, to += run) {
                char *here = from + place(index[j], b.length) * run;
                copy(b.inner, (char *const[]){ to, here }, (const ptrdiff_t[]){ (ptrdiff_t)size, (ptrdiff_t)size });
            }
        }
        *out = r;
    }
    cbx_array_free(d[0]);
    cbx_array_free(d[1]);
    return st;
}

cbx_status cbx__ref_run_take_along(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    cbx_array *d[2] = { NULL, NULL }, *r = NULL;
    blocks b = blocks_of(call->in[0], call->attrs->axis);
    size_t size = cbx_dtype_size(call->result->dtype), m = call->result->shape[call->attrs->axis];
    cbx_status st = prepare(call, 2, d, err);

    if (!st) st = cbx_array_create(call->ctx, call->result, &r, err);
    if (!st) {
        const int64_t *index = d[1]->data;
        char *to = r->data;
        for (size_t o = 0; r->count && o < b.outer; o++)
            for (size_t j = 0; j < m; j++)
                for (size_t i = 0; i < b.inner; i++, to += size)
                    memcpy(to, (char *)d[0]->data + ((o * b.length + place(*index++, b.length)) * b.inner + i) * size,
                           size);
        *out = r;
    }
    cbx_array_free(d[0]);
    cbx_array_free(d[1]);
    return st;
}

static cbx__loop join_loop(int mode, cbx_dtype t)
{
    static const cbx_prim prims[] = { [CBX_SCATTER_ADD] = CBX_PRIM_ADD,
                                      [CBX_SCATTER_MUL] = CBX_PRIM_MUL,
                                      [CBX_SCATTER_MIN] = CBX_PRIM_MIN,
                                      [CBX_SCATTER_MAX] = CBX_PRIM_MAX };
    return mode == CBX_SCATTER_SET ? NULL : cbx__ref_binary(prims[mode], t);
}

/* Updates go in row-major order of the indices: the last set wins, sums are in that order. */
cbx_status cbx__ref_run_scatter(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    cbx_array *d[3] = { NULL, NULL, NULL }, *r = NULL;
    blocks b = blocks_of(call->in[0], call->attrs->axis);
    cbx_dtype t = call->result->dtype;
    ptrdiff_t size = (ptrdiff_t)cbx_dtype_size(t);
    size_t run = b.inner * (size_t)size;
    cbx__loop join = join_loop(call->attrs->mode, t);
    cbx_status st = prepare(call, 3, d, err);

    if (!st) st = cbx_array_create(call->ctx, call->result, &r, err);
    if (!st) {
        const int64_t *index = d[1]->data;
        char *from = d[2]->data;
        cbx__array_pack(d[0], 0, d[0]->count, r->data);
        for (size_t o = 0; d[2]->count && o < b.outer; o++)
            for (size_t j = 0; j < d[1]->count; j++, from += run) {
                char *to = (char *)r->data + (o * b.length + place(index[j], b.length)) * run;
                if (join)
                    join(b.inner, (char *const[]){ to, to, from }, (const ptrdiff_t[]){ size, size, size });
                else
                    memcpy(to, from, run);
            }
        *out = r;
    }
    for (int i = 0; i < 3; i++) cbx_array_free(d[i]);
    return st;
}

/* Row-major places of true elements, a row of the result for each axis; columns beyond them hold the fill. */
cbx_status cbx__ref_run_nonzero(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_array *x = call->in[0];
    size_t index[CBX_MAX_RANK] = { 0 }, columns = call->result->shape[1], found = 0;
    cbx__strided v = cbx__ref_strided(x);
    int64_t *to;
    cbx__stream s;
    cbx_status st = cbx_array_create(call->ctx, call->result, out, err);

    if (st) return st;
    to = (*out)->data;
    cbx__stream_init(&s, x->desc.ndim, x->desc.shape, v.strides, x->desc.dtype, CBX_BOOL);
    cbx__stream_start(&s, x->data);
    for (size_t i = 0; i < x->count && found < columns; i++) {
        bool hit, here = *(const bool *)cbx__stream_next(&s, 1, &hit);
        for (int k = 0; here && k < x->desc.ndim; k++) to[(size_t)k * columns + found] = (int64_t)index[k];
        found += here;
        for (int k = x->desc.ndim - 1; k >= 0 && ++index[k] == x->desc.shape[k]; k--) index[k] = 0;
    }
    for (int k = 0; k < x->desc.ndim; k++)
        for (size_t i = found; i < columns; i++) to[(size_t)k * columns + i] = call->attrs->value.v.i;
    return CBX_OK;
}
