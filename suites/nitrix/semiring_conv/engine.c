/*
 * The toolkit's own convolution (calibrax/array/semiring.h), called as user code calls it, on all threads that the worker is given.
 *
 * Each call opens a scope and makes a new result; the scope of the call before is closed first, so that its memory goes back to the
 * pool.  Copying the result out belongs to collect, which nobody times.
 */
#include <string.h>

#include "calibrax/array/semiring.h"
#include "suites/common/params.h"
#include "suites/nitrix/semiring_conv/conv.h"

typedef struct engine {
    cbx_allocator al;
    cbx_ctx *ctx;
    const cbx_semiring *semiring;
    cbx_conv_options options;
    const cbx_array *x, *w, *result;
    cbx_array *out;
    cbx_scope scope;
    bool open;
} engine;

static void close_scope(engine *e)
{
    if (e->open) (void)cbx_scope_close(&e->scope, NULL);
    e->open = false;
    e->result = NULL;
}

static void finish(void *plan)
{
    engine *e = plan;
    cbx_allocator al;

    if (!e) return;
    al = e->al;
    close_scope(e);
    cbx_ctx_free(e->ctx);
    cbx_mem_free(&al, e, sizeof *e);
}

static cbx_conv_options options_of(const cbx_params *given)
{
    const char *padding = cbx_params_word(given, "padding");
    cbx_conv_options o = CBX_CONV_INIT;

    o.padding = !strcmp(padding, "same")    ? CBX_CONV_SAME
                : !strcmp(padding, "valid") ? CBX_CONV_VALID
                                            : CBX_CONV_EXPLICIT;
    for (int i = 0; i < 2; i++) {
        o.stride[i] = cbx__suite_count(given, "stride");
        o.dilation[i] = cbx__suite_count(given, "dilation");
        o.low[i] = o.high[i] = o.padding == CBX_CONV_EXPLICIT ? cbx__suite_count(given, "pad") : 0;
    }
    return o;
}

static cbx_status prepare(cbx_ctx *ctx, const cbx_params *given, void **plan, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    engine *e = cbx_mem_zalloc(al, sizeof *e);
    cbx_status st;

    if (!e) return cbx_fail(err, CBX_ENOMEM, "out of memory for a plan");
    e->al = *al;
    e->semiring = cbx__suite_algebra(given);
    e->options = options_of(given);
    st = cbx_ctx_create(NULL, &e->ctx, err);
    if (st)
        finish(e);
    else
        *plan = e;
    return st;
}

static void bind(void *plan, cbx_array *const *in, cbx_array *const *out)
{
    engine *e = plan;

    e->x = in[0], e->w = in[1];
    e->out = out[0];
}

static void run(void *plan)
{
    engine *e = plan;

    close_scope(e);
    cbx_scope_open(e->ctx, &e->scope);
    e->open = true;
    e->result = cbx_semiring_conv(e->ctx, e->x, e->w, e->semiring, &e->options);
}

/* A failed call leaves the poison in place, which the check then finds. */
static void collect(void *plan)
{
    const engine *e = plan;

    if (e->result && !cbx_array_is_failed(e->result))
        (void)cbx_array_read(e->result, cbx_array_data_mut(e->out), cbx_array_bytes(e->out), NULL);
}

const cbx_baseline_ops cbx__conv_engine = {
    .struct_size = sizeof(cbx_baseline_ops),
    .abi = CBX_CASE_ABI,
    .name = "calibrax",
    .provider = "native",
    .summary = "windows of a block of places as rows of the tiled product",
    .work = cbx__conv_work,
    .prepare = prepare,
    .bind = bind,
    .run = run,
    .finish = finish,
    .collect = collect,
};
