/*
 * Inside the library: steps that calls, transforms and control flow share.
 */
#ifndef CALIBRAX_ARRAY_FN_INTERNAL_H
#define CALIBRAX_ARRAY_FN_INTERNAL_H

#include "calibrax/array/fn.h"
#include "calibrax/array/state.h"

/** The head of a function's code (cbx_array_fn), which need not look at its counts and
 * user data. */
#define CBX__CODE(ctx, name)                                                                                           \
    cbx_status name(cbx_ctx *ctx, CBX__UNUSED size_t nin, cbx_array *const *in, CBX__UNUSED size_t nout,               \
                    cbx_array **out, CBX__UNUSED void *user)
#define CBX__BODY(name) static CBX__CODE(ctx, name)

/** Before anything else: the status of the pending failure; CBX_ENOMEM for a context without memory
 * for its state. */
cbx_status cbx__begin(cbx_ctx *ctx, cbx_err *err);
/** CBX_EINVAL unless f has code; what: who got it. */
cbx_status cbx__fn_check(const char *what, const cbx_fn *f, cbx_err *err);
/** The same, and that it takes and returns so many. */
cbx_status cbx__fn_counts_check(const cbx_fn *f, size_t nin, size_t nout, cbx_err *err);
/** CBX_EINVAL if one of n operands is NULL or failed. */
cbx_status cbx__operands_check(const char *what, size_t n, cbx_array *const *in, cbx_err *err);

/** What user data of functions made of functions begin with. */
typedef struct cbx__closure {
    cbx_fn *f;        /* what it is made of, kept as long */
    const char *name; /* its own: "grad(f)" */
} cbx__closure;

/**
 * A function whose user data, `bytes` that begin with a cbx__closure and are 0 behind it, live
 * in it.
 * @param what  before the name of f, in its own; NULL: it has the name of f
 * @param drop  frees what the user data hold; NULL: nothing
 * @param out   the caller's to free; out->user: the user data
 * @return CBX_OK; CBX_ENOMEM
 */
cbx_status cbx__closure_create(cbx_ctx *ctx, const char *what, const cbx_fn *f, size_t bytes, cbx_array_fn call,
                               size_t nin, size_t nout, void (*drop)(void *user), cbx_fn **out, cbx_err *err);

/** Frees n references and forgets them. */
void cbx__arrays_free(size_t n, cbx_array **arrays);

#endif
