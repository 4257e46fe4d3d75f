/*
 * Derivatives of products over an algebra: stacks of dense matrices, small ones one a thread, large ones by all threads together.
 */

#include "calibrax/array/algebra_object.h"
#include "calibrax/array/kernels/semiring_kernel.h"
#include "calibrax/array/reference/reference.h"
#include "calibrax/base/pool.h"

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

static int team_of(const run *r)
{
    const double steps = (double)r->first.m * (double)r->first.k * (double)r->first.n;
    const size_t maximum = (size_t)cbx__omp_threads();

    if (r->batch < 2 || steps > 1e8 || steps * (double)r->batch < 1e6) return 1;
    return (int)(r->batch < maximum ? r->batch : maximum);
}

static cbx_status run_all(cbx_ctx *ctx, run *r, cbx_err *err)
{
    cbx_block space = { 0 };
    cbx_status st;

    r->team = team_of(r);
    r->first.threads = r->team > 1 ? 1 : cbx__semiring_grad_threads(&r->first);
    r->own = (cbx__semiring_grad_bytes(&r->first) + 63) / 64 * 64;
    st = cbx_pool_get(cbx_ctx_pool(ctx), (size_t)r->team * r->own, &space, err);
    if (st) return st;
    CBX__EACH_OF_TEAM(r->team, schedule(dynamic))
    for (size_t i = 0; i < r->batch; i++)
        run_one(r, i, (char *)space.data + (r->team > 1 ? cbx__omp_thread() * r->own : 0));
    cbx_pool_put(cbx_ctx_pool(ctx), space);
    return CBX_OK;
}

enum { A, B, C, G, TB, TA = G };

/* Dense copies of the operands, results, and what fills them. */
static cbx_status derive(const cbx_call *call, bool forward, cbx_array **out, cbx_err *err)
{
    const cbx_array_desc *a = &call->in[A]->desc, *b = &call->in[B]->desc;
    const int lead = a->ndim - 2;
    run r = { .first = { .dtype = a->dtype, .semiring = cbx__algebra_of(call->attrs) }, .batch = 1 };
    cbx__grad *q = &r.first;
    cbx__dense m;
    cbx_status st;

    q->m = a->shape[lead], q->k = a->shape[lead + 1], q->n = b->shape[lead + 1];
    for (int i = 0; i < lead; i++) r.batch *= a->shape[i];
    const bool empty = r.batch == 0 || q->m == 0 || q->k == 0 || q->n == 0;
    st = cbx__dense_open(&m, call, empty, out, err);
    if (!st && !empty) {
        q->a = m.p[A], q->b = m.p[B], q->c = m.p[C];
        if (forward)
            q->ta = m.p[TA], q->tb = m.p[TB], q->tc = out[0]->data;
        else
            q->g = m.p[G], q->da = out[0]->data, q->db = out[1]->data;
        r.go = forward ? cbx__semiring_forward : cbx__semiring_backward;
        st = run_all(call->ctx, &r, err);
    }
    return cbx__dense_close(&m, st);
}

cbx_status cbx__ref_run_semiring_matmul_vjp(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    return derive(call, false, out, err);
}
cbx_status cbx__ref_run_semiring_matmul_jvp(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    return derive(call, true, out, err);
}
