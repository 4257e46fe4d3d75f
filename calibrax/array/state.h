/*
 * Inside the library: what the engine keeps in a context, and how an operation fails.
 */
#ifndef CALIBRAX_ARRAY_STATE_H
#define CALIBRAX_ARRAY_STATE_H

#include "calibrax/array/backend.h"
#include "calibrax/array/internal.h"
#include "calibrax/array/scope.h"

typedef struct cbx__state {
    cbx_allocator al;
    const cbx_backend *backend;
    cbx_scope *scope; /* innermost open one; NULL: none */
    cbx_array **held; /* results, oldest first */
    size_t count, room;
} cbx__state;

/** Made on first use; NULL without memory. */
cbx__state *cbx__state_get(cbx_ctx *ctx);

/** Where an operation writes its failure: the context's record, or NULL if that holds an earlier one. */
cbx_err *cbx__sticky(cbx_ctx *ctx);

/** Records a failure unless one is pending; returns the failed array. */
cbx_array *cbx__refuse(cbx_ctx *ctx, cbx_status status, const char *fmt, ...) CBX_PRINTF(3, 4);

#endif
