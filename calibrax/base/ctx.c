/* The context. */
#include "calibrax/base/ctx.h"

#include <stdlib.h>

#include "calibrax/base/ctx_internal.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/options.h"
#include "calibrax/base/pool_internal.h"
#include "calibrax/base/settings_internal.h"

#define POOL_KEEP_DEFAULT ((size_t)256 << 20)

cbx_status cbx_ctx_create(const cbx_ctx_opts *opts, cbx_ctx **out, cbx_err *err)
{
    cbx_ctx_opts full = CBX_CTX_OPTS_INIT;
    cbx_settings settings;
    cbx_status st = cbx_take_options(&full, sizeof full, opts, "cbx_ctx_opts", err);
    if (!st) st = cbx__settings_resolve(&full, &settings, err);
    if (st) return st;
    opts = &full;
    const cbx_allocator *al = opts->allocator.resize ? &opts->allocator : cbx_allocator_default();
    cbx_ctx *ctx = cbx_mem_zalloc(al, sizeof *ctx);
    if (!ctx) return cbx_fail_nomem(err, "a context");
    ctx->al = *al;
    ctx->settings = settings;
    st = cbx__pool_create(al, opts->pool_keep_bytes ? opts->pool_keep_bytes : POOL_KEEP_DEFAULT, &ctx->pool, err);
    return CBX_FINISH(st, *out = ctx, cbx_mem_free(al, ctx, sizeof *ctx));
}

void cbx_ctx_free(cbx_ctx *ctx)
{
    if (!ctx) return;
    if (ctx->part.free) ctx->part.free(ctx->part.state);
    cbx_allocator al = ctx->al;
    cbx__pool_close(ctx->pool);
    cbx_pool_unref(ctx->pool);
    cbx_mem_free(&al, ctx, sizeof *ctx);
}

const cbx_allocator *cbx_ctx_allocator(const cbx_ctx *ctx) { return &ctx->al; }

const cbx_settings *cbx_ctx_settings(const cbx_ctx *ctx) { return &ctx->settings; }

cbx_pool *cbx_ctx_pool(cbx_ctx *ctx) { return ctx->pool; }
