/*
 * Inside the library: what the engine keeps in a context, and how an operation fails.
 */
#ifndef CALIBRAX_ARRAY_STATE_H
#define CALIBRAX_ARRAY_STATE_H

#include <signal.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/internal.h"
#include "calibrax/base/ctx_internal.h"
#include "calibrax/base/list.h"

/* A parameter that a table of functions asks for and this function does not look at. */
#define CBX__UNUSED __attribute__((unused))

/** Frees what the state of a part of the engine holds, not the state itself. */
typedef void cbx__part_clear(void *state, const cbx_allocator *al);

/** What a backend, or another part of the engine, keeps in a context. */
typedef struct cbx__part {
    cbx__part_clear *clear; /* the part's own: its key, too */
    void *state;
    size_t bytes;
} cbx__part;

typedef struct cbx__state {
    cbx_allocator al;
    const cbx_backend *backend;
    struct cbx_scope *scope; /* innermost open one; NULL: none */
    cbx_array **held;        /* results, oldest first */
    size_t count, capacity;
    cbx__handles handles;
    struct cbx__trace *trace;          /* innermost open one; NULL: none */
    const volatile sig_atomic_t *stop; /* not 0: loops end before their next step; NULL: they do not */
    struct cbx_cost *cost;             /* where operations with data are counted, by primitive; NULL: nowhere */
    CBX_LIST(cbx__part) parts;
} cbx__state;

/** As cbx_backend_choose; where that fails, a backend whose every operation fails with its
 * sentence. */
const cbx_backend *cbx__backend_of(const cbx_settings *settings);

/** As cbx_apply_all of good operands; out[] are the caller's, written on success only. */
cbx_status cbx__apply_owned(cbx_ctx *ctx, cbx_prim prim, size_t nin, const cbx_array *const *in, const cbx_attrs *attrs,
                            size_t nout, cbx_array **out, cbx_err *err);

/** Made on first use; NULL without memory. */
cbx__state *cbx__state_get(cbx_ctx *ctx);

/** The state of the part that clears it so: `bytes` of zeros on first use, which end with the
 * context. NULL without memory. */
void *cbx__state_of(cbx_ctx *ctx, size_t bytes, cbx__part_clear *clear);

/** NULL before first use. */
static inline cbx__state *cbx__state_peek(cbx_ctx *ctx) { return cbx__ctx_get_part(ctx)->state; }
/** True while a function is traced: arrays that are made of nothing are recorded, too, and have no
 * data. */
bool cbx__is_traced(cbx_ctx *ctx);

/** Where an operation writes its failure: the context's record, or NULL if that holds an earlier
 * one. */
static inline cbx_err *cbx__sticky(cbx_ctx *ctx)
{
    cbx_err *e = cbx__ctx_sticky(ctx);
    return e->status ? NULL : e;
}

/** Records a failure unless one is pending, with the operand's dtype and shape (NULL: without) at
 * its end; returns the failed array. */
cbx_array *cbx__refuse_of(cbx_ctx *ctx, const cbx_array *x, cbx_status status, const char *fmt, ...) CBX_PRINTF(4, 5);
#define cbx__refuse(ctx, ...) cbx__refuse_of(ctx, NULL, __VA_ARGS__)
/** The same, as the answer of a check. */
#define cbx__refused(...) (cbx__refuse(__VA_ARGS__), false)

#endif
