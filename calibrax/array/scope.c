/*
 * Scopes: a stack of results with marks in it.  The marks are the callers' structs, so that opening needs no memory.
 */
#include "calibrax/array/scope.h"

#include <stdarg.h>
#include <stdio.h>

#include "calibrax/array/ops_internal.h"
#include "calibrax/array/reference/reference.h"
#include "calibrax/array/state.h"
#include "calibrax/base/ctx_part.h"

static void drop_to(cbx__state *s, size_t count)
{
    while (s->count > count) cbx_array_free(s->held[--s->count]);
}

static void state_free(void *state)
{
    cbx__state *s = state;
    cbx_allocator al = s->al;

    drop_to(s, 0);
    cbx_mem_free(&al, s->held, s->room * sizeof *s->held);
    cbx_mem_free(&al, s, sizeof *s);
}

cbx__state *cbx__state_get(cbx_ctx *ctx)
{
    cbx__ctx_part *part = cbx__ctx_get_part(ctx);

    if (!part->state) {
        cbx__state *s = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *s);
        if (!s) return NULL;
        s->al = *cbx_ctx_allocator(ctx);
        s->backend = &cbx__reference_backend;
        part->state = s;
        part->free = state_free;
    }
    return part->state;
}

cbx_err *cbx__sticky(cbx_ctx *ctx)
{
    cbx_err *e = cbx__ctx_sticky(ctx);
    return e->status ? NULL : e;
}

cbx_array *cbx__refuse(cbx_ctx *ctx, cbx_status status, const char *fmt, ...)
{
    char text[CBX_ERR_MESSAGE_SIZE];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cbx_fail(cbx__sticky(ctx), status, "%s", text);
    return cbx__array_failed();
}

void cbx_scope_open(cbx_ctx *ctx, cbx_scope *scope)
{
    cbx__state *s = cbx__state_get(ctx);

    *scope = (cbx_scope){ .ctx = ctx, .failed_before = cbx__ctx_sticky(ctx)->status != CBX_OK };
    if (!s) {
        cbx__refuse(ctx, CBX_ENOMEM, "no memory for a scope");
        return;
    }
    scope->outer = s->scope;
    scope->first = s->count;
    s->scope = scope;
}

static bool is_open(const cbx__state *s, const cbx_scope *scope)
{
    for (const cbx_scope *at = s ? s->scope : NULL; at; at = at->outer)
        if (at == scope) return true;
    return false;
}

cbx_status cbx_ctx_pending(cbx_ctx *ctx, cbx_err *err)
{
    const cbx_err *e = cbx__ctx_sticky(ctx);

    if (e->status && err) *err = *e;
    return e->status;
}

cbx_status cbx_scope_close(cbx_scope *scope, cbx_err *err) { return cbx_scope_close_keep(scope, 0, NULL, err); }

cbx_status cbx_scope_close_keep(cbx_scope *scope, size_t n, cbx_array **arrays, cbx_err *err)
{
    cbx_ctx *ctx = scope->ctx;
    cbx__state *s = ctx ? cbx__ctx_get_part(ctx)->state : NULL;
    cbx_status st = ctx ? cbx_ctx_pending(ctx, err) : CBX_OK;
    bool open = is_open(s, scope);

    if (!st && !open)
        return cbx_fail(err, CBX_EINVAL, "the scope is not open: it was closed before, or with an outer one");
    for (size_t i = 0; !st && i < n; i++)
        if (cbx_array_is_failed(arrays[i])) st = cbx_fail(err, CBX_EINVAL, "result %zu of the scope is no array", i);
    for (size_t i = 0; !st && i < n; i++) cbx_array_ref(arrays[i]);
    if (open) {
        drop_to(s, scope->first);
        s->scope = scope->outer;
    }
    if (ctx && !scope->failed_before) cbx__ctx_sticky(ctx)->status = CBX_OK;
    scope->ctx = NULL;
    return st;
}

cbx_array *cbx_scope_hold(cbx_ctx *ctx, cbx_array *a)
{
    cbx__state *s;

    if (cbx_array_is_failed(a)) return cbx__array_failed();
    s = cbx__state_get(ctx);
    if (s && s->count == s->room) {
        size_t room = s->room ? 2 * s->room : 64;
        cbx_array **more = cbx_mem_resize(&s->al, s->held, s->room * sizeof *more, room * sizeof *more);
        if (more) {
            s->held = more;
            s->room = room;
        }
    }
    if (!s || s->count == s->room) {
        cbx_array_free(a);
        return cbx__refuse(ctx, CBX_ENOMEM, "no memory to hold another result");
    }
    s->held[s->count++] = a;
    return a;
}

size_t cbx__mark(cbx_ctx *ctx)
{
    const cbx__state *s = cbx__state_get(ctx);
    return s ? s->count : 0;
}

/* Two handles or more were held since, so there is room to hold one again: this cannot fail. */
cbx_array *cbx__tidy(cbx_ctx *ctx, size_t mark, cbx_array *r)
{
    cbx__state *s = cbx__state_get(ctx);

    if (!s || s->count <= mark + 1) return r;
    cbx_array_ref(r);
    drop_to(s, mark);
    return cbx_array_is_failed(r) ? r : cbx_scope_hold(ctx, r);
}
