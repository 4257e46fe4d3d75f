/* The context, and small conveniences over an allocator. */
#include "calibrax/base/ctx.h"

#include <stdlib.h>
#include <string.h>

#include "calibrax/base/ctx_part.h"
#include "calibrax/base/internal.h"
#include "calibrax/base/options.h"

#define POOL_KEEP_DEFAULT ((size_t)256 << 20)

static void *libc_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    (void)user;
    (void)old_size;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, new_size);
}

static const cbx_allocator libc_allocator = { libc_resize, NULL };

const cbx_allocator *cbx_allocator_default(void) { return &libc_allocator; }

cbx_status cbx_ctx_create(const cbx_ctx_opts *opts, cbx_ctx **out, cbx_err *err)
{
    cbx_ctx_opts full = CBX_CTX_OPTS_INIT;
    cbx_settings settings;
    cbx_status st = cbx_take_options(&full, sizeof full, opts, "cbx_ctx_opts", err);
    if (!st) st = cbx__settings_resolve(&full, &settings, err);
    if (st) return st;
    opts = &full;
    const cbx_allocator *al = opts->allocator.resize ? &opts->allocator : &libc_allocator;
    cbx_ctx *ctx = cbx_mem_zalloc(al, sizeof *ctx);
    if (!ctx) return cbx_fail_nomem(err, "a context");
    ctx->al = *al;
    ctx->settings = settings;
    st = cbx__pool_create(al, opts->pool_keep_bytes ? opts->pool_keep_bytes : POOL_KEEP_DEFAULT, &ctx->pool, err);
    if (st) {
        cbx_mem_free(al, ctx, sizeof *ctx);
        return st;
    }
    *out = ctx;
    return CBX_OK;
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

void *cbx_mem_alloc(const cbx_allocator *al, size_t size) { return size ? al->resize(al->user, NULL, 0, size) : NULL; }

void *cbx_mem_zalloc(const cbx_allocator *al, size_t size)
{
    void *p = cbx_mem_alloc(al, size);
    if (p) memset(p, 0, size);
    return p;
}

void *cbx_mem_calloc(const cbx_allocator *al, size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : cbx_mem_zalloc(al, bytes);
}

void *cbx_mem_resize(const cbx_allocator *al, void *ptr, size_t old_size, size_t new_size)
{
    return al->resize(al->user, ptr, ptr ? old_size : 0, new_size);
}

void cbx_mem_free(const cbx_allocator *al, void *ptr, size_t size)
{
    if (ptr) al->resize(al->user, ptr, size, 0);
}

char *cbx_mem_strdup(const cbx_allocator *al, const char *s)
{
    size_t size = strlen(s) + 1;
    char *copy = cbx_mem_alloc(al, size);
    if (copy) memcpy(copy, s, size);
    return copy;
}

void cbx_mem_strfree(const cbx_allocator *al, char *s)
{
    if (s) cbx_mem_free(al, s, strlen(s) + 1);
}
