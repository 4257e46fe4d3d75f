/*
 * Inside the library: steps that calls, transforms and control flow share.
 */
#ifndef CALIBRAX_ARRAY_FN_INTERNAL_H
#define CALIBRAX_ARRAY_FN_INTERNAL_H

#include "calibrax/array/reference/reference.h"
#include "calibrax/array/state.h"

/** Before anything else: the status of the pending failure; CBX_ENOMEM for a context without memory for its state. */
cbx_status cbx__begin(cbx_ctx *ctx, cbx_err *err);
/** CBX_EINVAL unless f has code; what: who got it. */
cbx_status cbx__fn_check(const char *what, const cbx_fn *f, cbx_err *err);
/** CBX_EINVAL if one of n operands is NULL or failed. */
cbx_status cbx__operands_check(const char *what, size_t n, cbx_array *const *in, cbx_err *err);

/**
 * The end of an operation with several results: a failure becomes the context's, out[] failed arrays; else the scope takes
 * the references in out[].  Returns what the operation returns.
 */
cbx_status cbx__settle(cbx_ctx *ctx, cbx_status st, const cbx_err *err, size_t nout, cbx_array **out);

/** Space for results apart from what the caller hands out, who may put them where the operands are. */
typedef struct cbx__results {
    cbx_ctx *ctx;
    size_t n;
    cbx_array **at; /* failed arrays at first */
    cbx_array *small[8];
} cbx__results;
cbx_status cbx__results_init(cbx__results *r, cbx_ctx *ctx, size_t n, cbx_err *err);
void cbx__results_clear(cbx__results *r);
/** Frees n references and forgets them. */
void cbx__arrays_free(size_t n, cbx_array **arrays);

#endif
