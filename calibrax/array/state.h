/*
 * Inside the library: what the engine keeps in a context, and how an operation fails.
 */
#ifndef CALIBRAX_ARRAY_STATE_H
#define CALIBRAX_ARRAY_STATE_H

#include "calibrax/array/backend.h"
#include "calibrax/array/device/device.h"
#include "calibrax/array/internal.h"
#include "calibrax/array/scope.h"
#include "calibrax/base/ctx_part.h"

typedef struct cbx__state {
    cbx_allocator al;
    const cbx_backend *backend;
    cbx_scope *scope; /* innermost open one; NULL: none */
    cbx_array **held; /* results, oldest first */
    size_t count, capacity;
    cbx__handles handles;
    unsigned shapes_only;       /* > 0: abstract operands are asked for shapes, the backend shall not record them */
    struct cbx__lapack *lapack; /* NULL: not loaded */
    struct cbx__fft_cache *fft; /* NULL: no transform yet */
    cbx_devices *devices;       /* NULL until asked for */
    cbx_device_config device_config;
} cbx__state;

/** As cbx_backend_choose; where that fails, a backend whose every operation fails with its sentence. */
const cbx_backend *cbx__backend_of(const cbx_settings *settings);

/** Made on first use; NULL without memory. */
cbx__state *cbx__state_get(cbx_ctx *ctx);

/** NULL before first use. */
static inline cbx__state *cbx__state_peek(cbx_ctx *ctx) { return cbx__ctx_get_part(ctx)->state; }
/** True if calls with abstract operands go to the backend. */
static inline bool cbx__records(const cbx__state *s)
{
    return (s->backend->flags & CBX_BACKEND_TAKES_ABSTRACT) && !s->shapes_only;
}

/** Where an operation writes its failure: the context's record, or NULL if that holds an earlier one. */
static inline cbx_err *cbx__sticky(cbx_ctx *ctx)
{
    cbx_err *e = cbx__ctx_sticky(ctx);
    return e->status ? NULL : e;
}

/** Records a failure unless one is pending; returns the failed array. */
cbx_array *cbx__refuse(cbx_ctx *ctx, cbx_status status, const char *fmt, ...) CBX_PRINTF(3, 4);

#endif
