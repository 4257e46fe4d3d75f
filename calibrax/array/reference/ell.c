/*
 * ELL products, softmax of rows and values of entries, and their derivatives: those of the values by rows, those of B by the transposed
 * graph (kernels/ell_grad.h).
 */
#include <string.h>

#include "calibrax/array/ell_internal.h"
#include "calibrax/array/kernels/semiring_kernel.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/reference/reference.h"
#include "calibrax/base/pool.h"

/* Values that are written at every edge: 0 at places without one. */
static void clear_values(const cbx_ell *g, cbx_array *values)
{
    if (g->place) memset(values->data, 0, cbx_array_bytes(values));
}

cbx_status cbx__ref_run_ell_matmul(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    cbx_ell_product p;
    cbx__dense m;
    cbx_status st = cbx__dense_open(&m, call, false, out, err);

    if (!st) {
        cbx_ell_view(cbx__ell_of(call->attrs), call->attrs->axis & CBX__ELL_TRANSPOSED, &p);
        p.semiring = cbx__algebra_of(call->attrs);
        p.scaled = call->attrs->axis & CBX__ELL_SCALED;
        p.dtype = call->results->dtype;
        p.values = m.p[0], p.b = m.p[1], p.c = out[0]->data;
        p.d = p.ldb = p.ldc = call->results->shape[1];
        st = cbx_ell_product_run(&p, err);
    }
    return cbx__dense_close(&m, st);
}

cbx_status cbx__ref_run_ell_softmax(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    cbx_ell_product p;
    cbx__dense m;
    cbx_status st = cbx__dense_open(&m, call, false, out, err);

    if (!st) {
        cbx_ell_view(cbx__ell_of(call->attrs), false, &p);
        p.dtype = call->results->dtype;
        p.values = m.p[0], p.c = out[0]->data;
        st = cbx_ell_softmax_run(&p, err);
    }
    return cbx__dense_close(&m, st);
}

cbx_status cbx__ref_run_ell_pack(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_ell *g = cbx__ell_of(call->attrs);
    const size_t size = cbx_dtype_size(call->results->dtype);
    cbx__dense m;
    const cbx_status st = cbx__dense_open(&m, call, true, out, err);

    for (size_t e = 0; !st && e < g->entries; e++)
        memcpy((char *)out[0]->data + g->entry[e] * size, (const char *)m.p[0] + e * size, size);
    return cbx__dense_close(&m, st);
}

/* ---- derivatives ---- */

static cbx__ell_grad gradient_of(const cbx_call *call, size_t d)
{
    const cbx_ell *g = cbx__ell_of(call->attrs);
    const bool transposed = call->attrs->axis & CBX__ELL_TRANSPOSED;
    cbx__ell_grad q = { .algebra = (cbx_algebra)call->attrs->mode,
                        .scaled = call->attrs->axis & CBX__ELL_SCALED,
                        .dtype = call->results->dtype,
                        .d = d };

    q.rows = (cbx__ell_rows){ .count = transposed ? g->cols : g->rows, .start = transposed ? g->t_start : g->start };
    q.cols = (cbx__ell_rows){ .count = transposed ? g->rows : g->cols, .start = transposed ? g->start : g->t_start };
    q.index = transposed ? g->t_index : g->index, q.t_index = transposed ? g->index : g->t_index;
    q.place = transposed ? g->t_place : g->place, q.t_place = transposed ? g->place : g->t_place;
    q.threads = (double)g->edges * (double)d < 1e5 ? 1 : cbx__omp_threads();
    return q;
}

/* (values, b, c, h) or (values, b, c, tv, tb) */
static cbx_status derive(const cbx_call *call, bool forward, cbx_array **out, cbx_err *err)
{
    cbx__ell_grad q = gradient_of(call, call->in[1]->desc.shape[1]);
    cbx_block first = { 0 };
    cbx__dense m;
    cbx_status st = cbx__dense_open(&m, call, false, out, err);

    q.values = m.p[0], q.b = m.p[1], q.c = m.p[2];
    if (!st && cbx__traits_of[q.algebra].derivative == CBX__BY_OPTIMUM) { /* where each element comes from */
        st = cbx_pool_get(cbx_ctx_pool(call->ctx), (m.in[2]->count + 1) * sizeof *q.first, &first, err);
        q.first = first.data;
        if (!st) cbx__ell_grad_run(&q, CBX__ELL_FIRST);
    }
    if (!st && forward) {
        q.tv = m.p[3], q.tb = m.p[4], q.tc = out[0]->data;
        cbx__ell_grad_run(&q, CBX__ELL_FORWARD);
    } else if (!st) {
        q.h = m.p[3], q.dv = out[0]->data, q.db = out[1]->data;
        clear_values(cbx__ell_of(call->attrs), out[0]);
        cbx__ell_grad_run(&q, CBX__ELL_BACK_VALUES);
        cbx__ell_grad_run(&q, CBX__ELL_BACK_DENSE);
    }
    cbx_pool_put(cbx_ctx_pool(call->ctx), first);
    return cbx__dense_close(&m, st);
}
cbx_status cbx__ref_run_ell_matmul_vjp(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    return derive(call, false, out, err);
}
cbx_status cbx__ref_run_ell_matmul_jvp(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    return derive(call, true, out, err);
}

cbx_status cbx__ref_run_ell_softmax_vjp(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    cbx__ell_grad q = gradient_of(call, 8); /* columns of a product that take as long as an element here */
    cbx__dense m;
    const cbx_status st = cbx__dense_open(&m, call, false, out, err);

    if (!st) {
        q.c = m.p[0], q.h = m.p[1], q.dv = out[0]->data;
        clear_values(cbx__ell_of(call->attrs), out[0]);
        cbx__ell_grad_run(&q, CBX__ELL_BACK_SOFTMAX);
    }
    return cbx__dense_close(&m, st);
}
