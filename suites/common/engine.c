/* Plans that call the array engine; see engine.h. */
#include "suites/common/engine.h"

#include <string.h>

cbx_status cbx__suite_engine_create(cbx_ctx *ctx, const cbx_backend *b, size_t ninputs, size_t bytes, void **plan,
                                    cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx__suite_engine *e = cbx_mem_zalloc(al, bytes);

    if (!e) return cbx_fail(err, CBX_ENOMEM, "out of memory for a plan");
    e->al = *al;
    e->bytes = bytes;
    e->ninputs = ninputs;
    cbx_status st = cbx_ctx_create(NULL, &e->ctx, err);
    if (!st && b) st = cbx_ctx_set_backend(e->ctx, b, err);
    if (st)
        cbx__suite_engine_finish(e);
    else
        *plan = e;
    return st;
}

void cbx__suite_engine_bind(void *plan, cbx_array *const *in, cbx_array *const *out)
{
    cbx__suite_engine *e = plan;

    memcpy(e->in, in, e->ninputs * sizeof *in);
    e->out = out[0];
}

static void close_scope(cbx__suite_engine *e)
{
    if (e->open) (void)cbx_scope_close(&e->scope, NULL);
    e->open = false;
    e->result = NULL;
}

void cbx__suite_engine_begin(cbx__suite_engine *e)
{
    close_scope(e);
    cbx_scope_open(e->ctx, &e->scope);
    e->open = true;
}

void cbx__suite_engine_stale(void *plan, void (*run)(void *plan))
{
    cbx__suite_engine *e = plan;

    if (!e->ran) run(plan);
    e->ran = true;
}

void cbx__suite_engine_collect(void *plan)
{
    cbx__suite_engine *e = plan;

    if (e->result && !cbx_array_is_failed(e->result))
        (void)cbx_array_read(e->result, cbx_array_data_mut(e->out), cbx_array_bytes(e->out), NULL);
}

void cbx__suite_engine_finish(void *plan)
{
    cbx__suite_engine *e = plan;

    if (!e) return;
    cbx_allocator al = e->al;
    close_scope(e);
    cbx_ctx_free(e->ctx);
    cbx_mem_free(&al, e, e->bytes);
}
