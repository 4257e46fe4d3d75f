/*
 * Derivatives of products over an algebra: stacks of dense matrices, small ones one a thread, large
 * ones by all threads together.
 */

#include "calibrax/array/algebra_object.h"
#include "calibrax/array/kernels/semiring_kernel.h"
#include "calibrax/array/reference/reference.h"

typedef void direction(cbx__grad *q);

typedef struct run {
    cbx__grad first; /* of the first matrix */
    size_t batch;
    direction *go;
    size_t own; /* scratch of a thread [bytes] */
    int team;   /* threads that share the stack; 1: each matrix is for all */
} run;

static void run_one(const run *r, size_t i, char *space)
{
    cbx__grad q = r->first;
    const size_t size = cbx_dtype_size(q.dtype), ma = i * q.m * q.k * size, mb = i * q.k * q.n * size,
                 mc = i * q.m * q.n * size;

    q.scratch = space;
    q.a = (const char *)q.a + ma, q.b = (const char *)q.b + mb, q.c = (const char *)q.c + mc;
    if (q.g) q.g = (const char *)q.g + mc, q.da = (char *)q.da + ma, q.db = (char *)q.db + mb;
    if (q.ta) q.ta = (const char *)q.ta + ma, q.tb = (const char *)q.tb + mb, q.tc = (char *)q.tc + mc;
    r->go(&q);
}

static cbx_status run_all(cbx_ctx *ctx, run *r, cbx_err *err)
{
    CBX_SCOPED(cbx__scratch, space, ctx);
    cbx_status st;

    r->team = cbx__ref_stack_team((double)r->first.m, (double)r->first.k, (double)r->first.n, r->batch, 1e6);
    r->first.threads = r->team > 1 ? 1 : cbx__semiring_grad_threads(&r->first);
    r->own = (cbx__semiring_grad_bytes(&r->first) + 63) / 64 * 64;
    st = cbx__scratch_get(&space, (size_t)r->team * r->own, err);
    if (st) return st;
    CBX__EACH_OF_TEAM(r->team, schedule(dynamic))
    for (size_t i = 0; i < r->batch; i++)
        run_one(r, i, (char *)space.data + (r->team > 1 ? cbx__omp_thread() * r->own : 0));
    return CBX_OK;
}

enum { A, B, C, G, TB, TA = G };

CBX__RUN(semiring_matmul_grad)
{
    const bool forward = call->prim == CBX_PRIM_SEMIRING_MATMUL_JVP;
    const cbx_array_desc *a = &call->in[A]->desc, *b = &call->in[B]->desc;
    const int lead = a->ndim - 2;
    run r = { .first = { .dtype = a->dtype, .semiring = cbx__algebra_of(call->attrs) }, .batch = 1 };
    cbx__grad *q = &r.first;

    q->m = a->shape[lead], q->k = a->shape[lead + 1], q->n = b->shape[lead + 1];
    for (int i = 0; i < lead; i++) r.batch *= a->shape[i];
    if (r.batch == 0 || q->m == 0 || q->k == 0 || q->n == 0) {
        cbx__ref_zero(call->nout, out);
        return CBX_OK;
    }
    q->a = call->in[A]->data, q->b = call->in[B]->data, q->c = call->in[C]->data;
    if (forward)
        q->ta = call->in[TA]->data, q->tb = call->in[TB]->data, q->tc = out[0]->data;
    else
        q->g = call->in[G]->data, q->da = out[0]->data, q->db = out[1]->data;
    r.go = forward ? cbx__semiring_forward : cbx__semiring_backward;
    return run_all(call->ctx, &r, err);
}
