/*
 * Inside the library: what the array engine keeps in a context.
 *
 * base knows nothing of arrays; it lends them a slot, freed with the context and before its pool, and the context's
 * error record, which array expressions fill at their first failure and the close of their scope empties.
 */
#ifndef CALIBRAX_BASE_CTX_PART_H
#define CALIBRAX_BASE_CTX_PART_H

#include "calibrax/base/ctx.h"

typedef struct cbx__ctx_part {
    void *state;               /* NULL until the owner fills it */
    void (*free)(void *state); /* NULL: nothing to free */
} cbx__ctx_part;

cbx__ctx_part *cbx__ctx_get_part(cbx_ctx *ctx);

/** The context's error record; status CBX_OK while nothing has failed. */
cbx_err *cbx__ctx_sticky(cbx_ctx *ctx);

#endif
