/*
 * Scopes: a stack of results with marks in it.  The marks are the callers' structs, so that opening
 * needs no memory.
 */
#include "calibrax/array/scope.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/array/scope_internal.h"
#include "calibrax/array/state.h"
#include "calibrax/base/ctx_internal.h"

#define NAMED_MAX 3 /* operands in the sentence of a failure */

static void drop_to(cbx__state *s, size_t count)
{
    while (s->count > count) cbx__array_drop(&s->handles, &s->al, s->held[--s->count]);
}

static void state_free(void *state)
{
    cbx__state *s = state;
    cbx_allocator al = s->al;

    drop_to(s, 0);
    cbx__handles_clear(&s->handles);
    for (size_t i = 0; i < s->parts.n; i++) {
        s->parts.items[i].clear(s->parts.items[i].state, &al);
        cbx_mem_free(&al, s->parts.items[i].state, s->parts.items[i].bytes);
    }
    cbx_list_clear(&al, &s->parts);
    cbx_mem_free(&al, s->held, s->capacity * sizeof *s->held);
    cbx_mem_free(&al, s, sizeof *s);
}

cbx__state *cbx__state_get(cbx_ctx *ctx)
{
    cbx__ctx_part *part = cbx__ctx_get_part(ctx);

    if (!part->state) {
        const cbx_settings *wish = cbx_ctx_settings(ctx);
        cbx__state *s = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *s);
        if (!s) return NULL;
        s->al = *cbx_ctx_allocator(ctx);
        s->backend = cbx__backend_of(wish);
        part->state = s;
        part->free = state_free;
    }
    return part->state;
}

void *cbx__state_of(cbx_ctx *ctx, size_t bytes, cbx__part_clear *clear)
{
    cbx__state *s = cbx__state_get(ctx);
    void *state;

    for (size_t i = 0; s && i < s->parts.n; i++)
        if (s->parts.items[i].clear == clear) return s->parts.items[i].state;
    if (!s || !cbx_list_reserve(&s->al, &s->parts, s->parts.n + 1)) return NULL;
    state = cbx_mem_zalloc(&s->al, bytes);
    if (state) s->parts.items[s->parts.n++] = (cbx__part){ clear, state, bytes };
    return state;
}

cbx_array *cbx__refuse_of(cbx_ctx *ctx, const cbx_array *x, cbx_status status, const char *fmt, ...)
{
    char text[CBX_ERR_MESSAGE_SIZE];
    const bool first = cbx__sticky(ctx) != NULL;
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cbx_fail(cbx__sticky(ctx), status, "%s", text);
    if (first && x) cbx__name_operands(ctx, 1, &x);
    return cbx__array_failed();
}

void cbx__name_operands(cbx_ctx *ctx, size_t n, const cbx_array *const *in)
{
    cbx_err *err = cbx__ctx_sticky(ctx), earlier = *err;
    const char *operand;
    bool more = false;

    if (earlier.status == CBX_OK || earlier.status == CBX_ENOMEM) return;
    for (size_t i = 0; i < n && i < NAMED_MAX; i++) {
        if (!in[i] || cbx_array_is_failed(in[i])) continue;
        operand = CBX__DESC_TEXT(&in[i]->desc);
        if (strstr(earlier.message, operand)) continue;
        cbx_fail(err, earlier.status, "%s%s %s", earlier.message, more ? " and" : ":", operand);
        more = true;
        earlier = *err;
    }
}

cbx__renaming cbx__rename(cbx_ctx *ctx, const char *from, const char *to)
{
    return (cbx__renaming){ from, to, cbx__sticky(ctx) != NULL };
}

cbx_array *cbx__renamed(cbx_ctx *ctx, cbx__renaming r, cbx_array *result)
{
    cbx_err *err = cbx__ctx_sticky(ctx), earlier;
    char word[32];
    const char *at;

    if (!r.fresh || err->status == CBX_OK) return result;
    earlier = *err;
    snprintf(word, sizeof word, "'%s'", r.from);
    at = strstr(earlier.message, word);
    if (at)
        cbx_fail(err, earlier.status, "%.*s'%s'%s", (int)(at - earlier.message), earlier.message, r.to,
                 at + strlen(word));
    return result;
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
        if (cbx_array_is_failed(arrays[i]))
            st = cbx_fail(err, CBX_EINVAL, "result %zu of the scope is not an array", i);
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
    cbx__state *s = cbx__state_peek(ctx);

    if (cbx_array_is_failed(a)) return cbx__array_failed();
    if (!s) s = cbx__state_get(ctx);
    if (s && s->count == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 64;
        cbx_array **more = cbx_mem_resize(&s->al, s->held, s->capacity * sizeof *more, capacity * sizeof *more);
        if (more) {
            s->held = more;
            s->capacity = capacity;
        }
    }
    if (!s || s->count == s->capacity) {
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

/* Two handles or more were held since, so there is capacity to hold one again: this cannot fail. */
cbx_array *cbx__tidy(cbx_ctx *ctx, size_t mark, cbx_array *r)
{
    cbx__state *s = cbx__state_peek(ctx);

    if (!s || s->count <= mark + 1) return r;
    if (s->held[s->count - 1] == r)
        s->count--; /* the scope's own reference is taken here and held again below */
    else
        cbx_array_ref(r);
    drop_to(s, mark);
    return cbx_array_is_failed(r) ? r : cbx_scope_hold(ctx, r);
}

void cbx__tidy_list(cbx_ctx *ctx, size_t mark, size_t n, cbx_array **r)
{
    cbx__state *s = cbx__state_get(ctx);

    if (!s || s->count < mark) return;
    for (size_t i = 0; i < n; i++) cbx_array_ref(r[i]);
    drop_to(s, mark);
    for (size_t i = 0; i < n; i++) r[i] = cbx_scope_hold(ctx, r[i]);
}
