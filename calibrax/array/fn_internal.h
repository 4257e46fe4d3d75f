/*
 * Inside the library: steps that calls, transforms and control flow share.
 */
#ifndef CALIBRAX_ARRAY_FN_INTERNAL_H
#define CALIBRAX_ARRAY_FN_INTERNAL_H

#include "calibrax/array/fn.h"
#include "calibrax/array/state.h"

/** Before anything else: the status of the pending failure; CBX_ENOMEM for a context without memory
 * for its state. */
cbx_status cbx__begin(cbx_ctx *ctx, cbx_err *err);
/** CBX_EINVAL unless f has code; what: who got it. */
cbx_status cbx__fn_check(const char *what, const cbx_fn *f, cbx_err *err);
/** The same, and that it takes and returns so many. */
cbx_status cbx__fn_counts_check(const cbx_fn *f, size_t nin, size_t nout, cbx_err *err);
/** CBX_EINVAL if one of n operands is NULL or failed. */
cbx_status cbx__operands_check(const char *what, size_t n, cbx_array *const *in, cbx_err *err);

/** Frees n references and forgets them. */
void cbx__arrays_free(size_t n, cbx_array **arrays);

#endif
