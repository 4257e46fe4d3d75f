/*
 * Convolutions over an algebra: by the kernel that reads x in place, or in blocks of windows, each
 * laid out as the rows of a matrix.
 */
#include "calibrax/array/algebra_object.h"
#include "calibrax/array/kernels/semiring_kernel.h"
#include "calibrax/array/reference/reference.h"

_Static_assert(CBX_CONV_MAX_AXES == CBX__CONV_AXES, "the kernels slide along as many axes");

/* --- blocks of windows: log and boolean --- */

typedef struct conv {
    cbx_matmul one; /* a block of rows by the kernel */
    const cbx__conv *v;
    size_t rows, block, row_bytes;    /* of windows */
    size_t lead, windows, space, own; /* bytes of a thread: to lay out windows, windows, workspace of a product; all */
} conv;

static void blocks_run(const conv *v, char *workspace, int threads)
{
    CBX__EACH_OF_TEAM(threads, schedule(dynamic))
    for (size_t i = 0; i < v->rows; i += v->block) {
        char *own = workspace + (threads > 1 ? cbx__omp_thread() : 0) * v->own;
        cbx_matmul p = v->one;
        p.m = min_size(v->block, v->rows - i);
        p.a = own + v->lead;
        p.c = (char *)v->v->y + i * p.n * cbx_dtype_size(v->v->dtype);
        p.workspace = own + v->lead + v->windows;
        p.workspace_bytes = v->space;
        cbx__conv_gather(v->v, v->v->semiring->identity, i, p.m, 1, own, own + v->lead);
        (void)cbx_matmul_run(&p, NULL); /* its arguments are ours */
    }
}

static cbx_matmul product_of(const cbx__conv *v, size_t rows)
{
    cbx_matmul p = CBX_MATMUL_INIT;

    p.semiring = v->semiring;
    p.raw = v->raw;
    p.dtype = v->dtype;
    p.m = rows, p.k = cbx__conv_terms(v), p.n = v->outs;
    p.lda = (ptrdiff_t)p.k, p.ldb = p.ldc = (ptrdiff_t)p.n;
    p.a = v->x, p.b = v->w, p.c = v->y;
    return p;
}

static cbx_status by_blocks(cbx_ctx *ctx, const cbx__conv *c, cbx_err *err)
{
    cbx_matmul last;
    size_t last_space = 0;
    conv v = { .v = c, .rows = cbx__conv_rows(c), .row_bytes = cbx__conv_terms(c) * cbx_dtype_size(c->dtype) };
    size_t threads = (size_t)cbx__omp_threads();
    CBX_SCOPED(cbx__scratch, space, ctx);
    cbx_status st;

    /* Enough rows that packing the kernel again for each block is little, few enough that they stay
     * in a cache. */
    size_t n = ((size_t)2 << 20) / (v.row_bytes ? v.row_bytes : 1);

    n = n < 64 ? 64 : n > 1024 ? 1024 : n;
    v.block = n < v.rows ? n : v.rows;
    v.one = product_of(c, v.block);
    threads = min_size(threads, (v.rows + v.block - 1) / v.block);
    last = product_of(c, (v.rows - 1) % v.block + 1); /* a smaller block may ask for more: its parts are other ones */
    st = cbx_matmul_workspace(&v.one, &v.space, err);
    if (!st) st = cbx_matmul_workspace(&last, &last_space, err);
    if (last_space > v.space) v.space = last_space;
    v.lead = cbx__conv_windows_bytes(c, 1);
    v.windows = round_up(v.block * v.row_bytes, 64);
    v.own = v.lead + v.windows + round_up(v.space, 64);
    if (!st) st = cbx__scratch_get(&space, threads * v.own, err);
    if (!st) blocks_run(&v, space.data, (int)threads);
    return st;
}

/* --- the others --- */

/* Windows of one place each, as they lie: the rows of a matrix are x itself. */
static bool is_product(const cbx__conv *v)
{
    for (int i = 0; i < v->ndim; i++)
        if (v->taps[i] != 1 || v->stride[i] != 1 || v->low[i] != 0 || v->positions[i] != v->length[i]) return false;
    return true;
}

static cbx_status by_product(cbx_ctx *ctx, const cbx__conv *v, cbx_err *err)
{
    cbx_matmul p = product_of(v, cbx__conv_rows(v));
    CBX_SCOPED(cbx__scratch, space, ctx);
    cbx_status st;

    p.threads = 0;
    st = cbx_matmul_workspace(&p, &p.workspace_bytes, err);
    if (!st) st = cbx__scratch_get(&space, p.workspace_bytes, err);
    p.workspace = space.data;
    return st ? st : cbx_matmul_run(&p, err);
}

static cbx_status in_place(cbx_ctx *ctx, cbx__conv *v, cbx_err *err)
{
    CBX_SCOPED(cbx__scratch, space, ctx);
    const cbx_status st = cbx__scratch_get(&space, cbx__conv_workspace(v), err);

    v->workspace = space.data;
    if (!st) cbx__conv_run(v);
    return st;
}

cbx__conv cbx__ref_conv_of(const cbx_semiring *s, const cbx_attrs *a, const cbx_array *x, const cbx_array *w,
                           const cbx_array *y)
{
    const int n = a->ndim;
    cbx__conv v = { .semiring = s, .dtype = y->desc.dtype, .raw = a->keep != 0, .ndim = n };

    v.images = x->desc.shape[0], v.channels = x->desc.shape[n + 1], v.outs = w->desc.shape[n + 1];
    v.x = x->data, v.w = w->data, v.y = y->data;
    for (int i = 0; i < n; i++) {
        v.length[i] = x->desc.shape[i + 1], v.taps[i] = w->desc.shape[i], v.positions[i] = a->shape[i];
        v.stride[i] = (size_t)a->step[i], v.dilation[i] = (size_t)a->axes[i], v.low[i] = a->start[i];
    }
    return v;
}

cbx_status cbx__ref_conv(cbx_ctx *ctx, const cbx_semiring *s, const cbx_attrs *attrs, const cbx_array *x,
                         const cbx_array *w, cbx_array *y, cbx_err *err)
{
    cbx__conv v = cbx__ref_conv_of(s, attrs, x, w, y);

    if (y->count == 0) return CBX_OK;
    if (is_product(&v) || cbx__conv_terms(&v) == 0) return by_product(ctx, &v, err);
    if (cbx__conv_is_direct(&v)) return in_place(ctx, &v, err);
    return by_blocks(ctx, &v, err);
}

CBX__RUN(semiring_conv)
{
    return cbx__ref_conv(call->ctx, cbx__algebra_of(call->attrs), call->attrs, call->in[0], call->in[1], out[0], err);
}
