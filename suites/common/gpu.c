/* The plan of baselines on a GPU; see gpu.h. */
#include "suites/common/gpu.h"

#include <string.h>

cbx_status cbx__suite_gpu_create(cbx_ctx *ctx, const cbx_case_ops *c, const void *point, size_t point_bytes,
                                 cbx__suite_gpu **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx__suite_gpu *s = cbx_mem_zalloc(al, sizeof *s + point_bytes);
    cbx_status st;

    if (!s) return cbx_fail(err, CBX_ENOMEM, "out of memory for a plan");
    s->plan.al = *al;
    s->plan.ninputs = c->ninputs;
    s->plan.noutputs = c->noutputs;
    s->plan.point_bytes = point_bytes;
    s->plan.point = memcpy(s + 1, point, point_bytes);
    st = cbx_cuda_open(ctx, NULL, &s->g, err);
    if (st)
        cbx__suite_gpu_finish(s);
    else
        *out = s;
    return st;
}

cbx_status cbx__suite_gpu_prepare(cbx_ctx *ctx, const cbx_case_ops *c, const void *point, size_t point_bytes,
                                  const cbx_cuda_matmul *q, size_t first, void **plan, cbx_err *err)
{
    cbx__suite_gpu *s = NULL;
    size_t bytes = 0;
    cbx_status st = cbx__suite_gpu_create(ctx, c, point, point_bytes, &s, err);

    if (!st) st = cbx_cuda_matmul_workspace(s->g, q, &bytes, err);
    if (!st) st = cbx_cuda_alloc(s->g, first + bytes, &s->workspace, err);
    if (st) {
        cbx__suite_gpu_finish(s);
        return st;
    }
    s->plan.scratch = s->workspace;
    s->plan.block_bytes = bytes;
    *plan = s;
    return CBX_OK;
}

/* Memory for an array on the device, kept from bind to bind. */
static void *settle(cbx__suite_gpu *s, size_t i, const cbx_array *x)
{
    const size_t bytes = cbx_array_bytes(x);

    if (bytes > s->bytes[i]) {
        cbx_cuda_free(s->g, s->there[i]);
        s->there[i] = NULL;
        s->bytes[i] = 0;
        s->failed = cbx_cuda_alloc(s->g, bytes, &s->there[i], NULL);
        if (!s->failed) s->bytes[i] = bytes;
    }
    return s->there[i];
}

void cbx__suite_gpu_bind(void *plan, cbx_array *const *in, cbx_array *const *out)
{
    cbx__suite_gpu *s = plan;

    s->failed = CBX_OK;
    for (size_t i = 0; i < s->plan.ninputs && !s->failed; i++) {
        s->plan.in[i] = settle(s, i, in[i]);
        if (!s->failed)
            s->failed = cbx_cuda_upload(s->g, s->there[i], cbx_array_data(in[i]), cbx_array_bytes(in[i]), NULL, NULL);
    }
    for (size_t i = 0; i < s->plan.noutputs && !s->failed; i++) {
        s->home[i] = out[i];
        s->plan.out[i] = settle(s, CBX_CASE_MAX_ARRAYS + i, out[i]);
    }
    if (!s->failed) s->failed = cbx_cuda_wait(s->g, NULL, NULL);
}

void cbx__suite_gpu_wait(cbx__suite_gpu *s, cbx_status st)
{
    if (!st) st = cbx_cuda_wait(s->g, NULL, NULL);
    if (st) s->failed = st;
}

void cbx__suite_gpu_collect(void *plan)
{
    cbx__suite_gpu *s = plan;

    for (size_t i = 0; i < s->plan.noutputs && !s->failed; i++)
        s->failed = cbx_cuda_download(s->g, cbx_array_data_mut(s->home[i]), s->there[CBX_CASE_MAX_ARRAYS + i],
                                      cbx_array_bytes(s->home[i]), NULL, NULL);
    (void)cbx_cuda_wait(s->g, NULL, NULL);
}

void cbx__suite_gpu_finish(void *plan)
{
    cbx__suite_gpu *s = plan;

    if (!s) return;
    const cbx_allocator al = s->plan.al;
    for (size_t i = 0; s->g && i < CBX_LEN(s->there); i++) cbx_cuda_free(s->g, s->there[i]);
    if (s->g) cbx_cuda_free(s->g, s->workspace);
    cbx_cuda_close(s->g);
    cbx_mem_free(&al, s, sizeof *s + s->plan.point_bytes);
}
