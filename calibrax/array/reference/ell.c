/*
 * ELL products, softmax of rows and values of entries, and their derivatives: those of the values
 * by rows, those of B by the transposed graph (kernels/ell_grad.h).
 */
#include <string.h>

#include "calibrax/array/ell_internal.h"
#include "calibrax/array/kernels/semiring_kernel.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/reference/reference.h"

/* Elements of an operand; never NULL: none have an address, too. */
static const void *operand(const cbx_call *call, size_t i) { return cbx__ref_elements(call->in[i]); }

/* Values that are written at every edge: 0 at places without one. */
static void clear_values(const cbx_ell *g, cbx_array *values)
{
    if (g->place) memset(values->data, 0, cbx_array_bytes(values));
}

CBX__RUN(ell_matmul)
{
    cbx_ell_product p;

    cbx_ell_view(cbx__ell_of(call->attrs), call->attrs->axis & CBX__ELL_TRANSPOSED, &p);
    p.semiring = cbx__algebra_of(call->attrs);
    p.scaled = call->attrs->axis & CBX__ELL_SCALED;
    p.dtype = call->results->dtype;
    p.values = operand(call, 0), p.b = operand(call, 1), p.c = out[0]->data;
    p.d = p.ldb = p.ldc = call->results->shape[1];
    return cbx_ell_product_run(&p, err);
}

CBX__RUN(ell_softmax)
{
    cbx_ell_product p;

    cbx_ell_view(cbx__ell_of(call->attrs), false, &p);
    p.dtype = call->results->dtype;
    p.values = operand(call, 0), p.c = out[0]->data;
    return cbx_ell_softmax_run(&p, err);
}

CBX__RUN(ell_pack)
{
    const cbx_ell *g = cbx__ell_of(call->attrs);
    const size_t size = cbx_dtype_size(call->results->dtype);

    cbx__ref_zero(1, out);
    for (size_t e = 0; e < g->entries; e++)
        memcpy((char *)out[0]->data + g->entry[e] * size, (const char *)call->in[0]->data + e * size, size);
    return CBX_OK;
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
CBX__RUN(ell_matmul_grad)
{
    const bool forward = call->prim == CBX_PRIM_ELL_MATMUL_JVP;
    cbx__ell_grad q = gradient_of(call, call->in[1]->desc.shape[1]);
    CBX_SCOPED(cbx__scratch, first, call->ctx);

    q.values = operand(call, 0), q.b = operand(call, 1), q.c = operand(call, 2);
    if (cbx__traits_of[q.algebra].derivative == CBX__BY_OPTIMUM) { /* where each element comes from */
        const cbx_status st = cbx__scratch_get(&first, (call->in[2]->count + 1) * sizeof *q.first, err);
        if (st) return st;
        q.first = first.data;
        cbx__ell_grad_run(&q, CBX__ELL_FIRST);
    }
    if (forward) {
        q.tv = operand(call, 3), q.tb = operand(call, 4), q.tc = out[0]->data;
        cbx__ell_grad_run(&q, CBX__ELL_FORWARD);
    } else {
        q.h = operand(call, 3), q.dv = out[0]->data, q.db = out[1]->data;
        clear_values(cbx__ell_of(call->attrs), out[0]);
        cbx__ell_grad_run(&q, CBX__ELL_BACK_VALUES);
        cbx__ell_grad_run(&q, CBX__ELL_BACK_DENSE);
    }
    return CBX_OK;
}

CBX__RUN(ell_softmax_vjp)
{
    cbx__ell_grad q = gradient_of(call, 8); /* columns of a product that take as long as an element here */

    q.c = operand(call, 0), q.h = operand(call, 1), q.dv = out[0]->data;
    clear_values(cbx__ell_of(call->attrs), out[0]);
    cbx__ell_grad_run(&q, CBX__ELL_BACK_SOFTMAX);
    return CBX_OK;
}
