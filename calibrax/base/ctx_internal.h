/*
 * Inside the library: the context itself, and what the array engine keeps in it.
 *
 * base does not depend on arrays; it lends them a slot, freed with the context and before its pool,
 * and the context's error record, which array expressions fill at their first failure and the close
 * of their scope empties.  The struct is here and not in ctx.c because an eager operation reads it
 * about ten times in 50 ns.
 */
#ifndef CALIBRAX_BASE_CTX_INTERNAL_H
#define CALIBRAX_BASE_CTX_INTERNAL_H

#include "calibrax/base/pool.h"
#include "calibrax/base/settings.h"

typedef struct cbx__ctx_part {
    void *state;               /* NULL until the owner fills it */
    void (*free)(void *state); /* NULL: nothing to free */
} cbx__ctx_part;

struct cbx_ctx {
    cbx_allocator al;
    cbx_pool *pool;
    cbx__ctx_part part;
    cbx_err sticky;
    cbx_settings settings;
};

static inline cbx__ctx_part *cbx__ctx_get_part(cbx_ctx *ctx) { return &ctx->part; }

/** The context's error record; status CBX_OK while nothing has failed. */
static inline cbx_err *cbx__ctx_sticky(cbx_ctx *ctx) { return &ctx->sticky; }

#endif
