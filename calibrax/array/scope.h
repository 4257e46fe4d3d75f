/**
 * Scopes: who owns the results of array expressions, and where their failures come out.
 *
 *     cbx_scope scope;
 *     cbx_array *r;
 *     cbx_scope_open(ctx, &scope);
 *     r = cbx_sqrt(ctx, cbx_add(ctx, cbx_multiply(ctx, x, x), cbx_multiply(ctx, y, y)));
 *     return cbx_scope_close_keep(&scope, 1, &r, err);    // r is the caller's now, or untouched
 *
 * Each result belongs to the scope that is open when it is made, and dies with it; cbx_array_ref
 * keeps one longer.  Without an open scope results live as long as the context.  The first
 * operation that fails leaves its reason in the context and returns a failed array; an operation on
 * a failed array returns it again and touches nothing.
 */
#ifndef CALIBRAX_ARRAY_SCOPE_H
#define CALIBRAX_ARRAY_SCOPE_H

#include "calibrax/array/array.h"

CBX_BEGIN_DECLS

/** Lives with the caller, who reads no member. */
typedef struct cbx_scope {
    cbx_ctx *ctx;
    struct cbx_scope *outer;
    size_t first;       /* results held before it opened */
    bool failed_before; /* a failure was pending already; it belongs to an outer scope */
} cbx_scope;

/** Opens a scope inside the current one.  Cannot fail: a lack of memory comes out at its close. */
CBX_API void cbx_scope_open(cbx_ctx *ctx, cbx_scope *scope);
/**
 * Drops every result made since the scope opened, returns the first failure since then and clears
 * it.  Scopes opened inside and left open are closed, too.  A failure that an outer scope still
 * owes is returned and kept.
 * @return CBX_OK; the status of the first failed operation, with its message in err; CBX_EINVAL if
 *   the scope is not open
 */
CBX_API cbx_status cbx_scope_close(cbx_scope *scope, cbx_err *err);
/**
 * Closes, and keeps n results: arrays[i] is the caller's to free.  If anything failed, arrays[] is
 * as a plain close leaves it: every handle made in the scope is dead.
 * @return as cbx_scope_close; CBX_EINVAL if arrays[i] is NULL
 */
CBX_API cbx_status cbx_scope_close_keep(cbx_scope *scope, size_t n, cbx_array **arrays, cbx_err *err);

/** Status of the pending failure, with its message; CBX_OK without one.  Clears nothing. */
CBX_API cbx_status cbx_ctx_pending(cbx_ctx *ctx, cbx_err *err);

/** Gives a reference to the current scope, which drops it at its close; returns a, or a failed
 * array without memory. */
CBX_API cbx_array *cbx_scope_hold(cbx_ctx *ctx, cbx_array *a);

CBX_END_DECLS
#endif
