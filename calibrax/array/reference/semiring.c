/*
 * Products over an algebra, by the kernels in ../kernels: stacks of small matrices one a thread,
 * large ones by all threads together.
 */
#include "calibrax/array/algebra_object.h"
#include "calibrax/array/kernels/semiring_kernel.h"
#include "calibrax/array/reference/reference.h"

/* --- stacks of matrices --- */

typedef struct stack {
    cbx_matmul one; /* the first product */
    size_t batch;
    ptrdiff_t a, b, c; /* from one matrix to the next [bytes] */
    size_t space;      /* workspace of one product */
} stack;

static cbx_status run_one(const stack *s, size_t at, void *space, cbx_err *err)
{
    cbx_matmul p = s->one;

    p.a = (const char *)p.a + (ptrdiff_t)at * s->a;
    p.b = (const char *)p.b + (ptrdiff_t)at * s->b;
    p.c = (char *)p.c + (ptrdiff_t)at * s->c;
    p.workspace = space;
    p.workspace_bytes = s->space;
    return cbx_matmul_run(&p, err);
}

/* Many small ones: the first argument error would have come from the first product, so the others
 * cannot fail. */
static void run_team(const stack *s, char *space, int threads)
{
    CBX__EACH_OF_TEAM(threads, schedule(dynamic))
    for (size_t i = 1; i < s->batch; i++) (void)run_one(s, i, space + cbx__omp_thread() * s->space, NULL);
}

int cbx__ref_stack_team(double m, double k, double n, size_t batch, double min_steps)
{
    const size_t maximum = (size_t)cbx__omp_threads();

    if (batch < 2 || m * k * n > 1e8 || m * k * n * (double)batch < min_steps) return 1;
    return (int)(batch < maximum ? batch : maximum);
}

static cbx_status run_stack(cbx_ctx *ctx, stack *s, cbx_err *err)
{
    const int team = cbx__ref_stack_team((double)s->one.m, (double)s->one.k, (double)s->one.n, s->batch, 2e6);
    CBX_SCOPED(cbx__scratch, space, ctx);
    cbx_status st;

    s->one.threads = team > 1 ? 1 : 0;
    st = cbx_matmul_workspace(&s->one, &s->space, err);
    s->space = round_up(s->space, 64);
    if (!st) st = cbx__scratch_get(&space, s->space * (size_t)team, err);
    if (!st && s->batch > 0) st = run_one(s, 0, space.data, err);
    if (!st && team > 1) run_team(s, space.data, team);
    for (size_t i = 1; !st && team == 1 && i < s->batch; i++) st = run_one(s, i, space.data, err);
    return st;
}

cbx_status cbx__ref_semiring_stack(cbx_ctx *ctx, const cbx_semiring *semiring, bool raw, const cbx_array *a,
                                   const cbx_array *b, cbx_array *c, cbx_err *err)
{
    const ptrdiff_t size = (ptrdiff_t)cbx_dtype_size(c->desc.dtype);
    stack s = { .one = CBX_MATMUL_INIT, .batch = c->desc.shape[0] };

    s.one.semiring = semiring;
    s.one.dtype = c->desc.dtype;
    s.one.raw = raw;
    s.one.m = a->desc.shape[1], s.one.k = a->desc.shape[2], s.one.n = b->desc.shape[2];
    s.one.a = a->data, s.one.lda = a->strides[1], s.one.a_step = a->strides[2];
    s.one.b = b->data, s.one.ldb = b->strides[1], s.one.b_step = b->strides[2];
    s.one.c = c->data, s.one.ldc = (ptrdiff_t)s.one.n;
    s.a = a->strides[0] * size, s.b = b->strides[0] * size, s.c = c->strides[0] * size;
    return c->count > 0 ? run_stack(ctx, &s, err) : CBX_OK;
}

CBX__RUN(semiring_matmul)
{
    return cbx__ref_semiring_stack(call->ctx, cbx__algebra_of(call->attrs), call->attrs->keep != 0, call->in[0],
                                   call->in[1], *out, err);
}
