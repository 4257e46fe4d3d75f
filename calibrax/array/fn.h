/**
 * Functions of arrays as values: what the transforms take and give, and what control flow runs.
 *
 *     static cbx_status square(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout,
 *                              cbx_array **out, void *user)
 *     {
 *         out[0] = cbx_multiply(c, in[0], in[0]);
 *         return CBX_OK; // a failure of the operations comes out by itself
 *     }
 *     cbx_fn_call(c, CBX_FN(square, NULL, 1, 1), 1, &x, 1, &y);
 *
 * The same function runs eagerly, is traced with abstract operands, compiled, differentiated and
 * batched, unless it reads elements in C (cbx_array_read of an abstract array is refused; cbx_cond
 * and cbx_while_loop decide).
 */
#ifndef CALIBRAX_ARRAY_FN_H
#define CALIBRAX_ARRAY_FN_H

#include "calibrax/array/array.h"

CBX_BEGIN_DECLS

/**
 * The user's code.  out[] comes filled with failed arrays; each must be set to an array that the
 * current scope holds, an operand, or one that lives longer.  Scopes left open are closed behind
 * it.
 * @return CBX_OK, also if an operation failed: the context knows; any other status makes the call
 *   fail
 */
typedef cbx_status (*cbx_array_fn)(cbx_ctx *ctx, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out,
                                   void *user);

/** A function with its user pointer and counts; plain (made by CBX_FN, stays where it was made) or
 * owned.  Read only. */
typedef struct cbx_fn {
    const char *name; /* as in messages */
    cbx_array_fn call;
    void *user;
    size_t nin, nout;
    struct cbx__fn_claim *claim; /* NULL: plain */
} cbx_fn;

/** A plain function for the length of the block; user must live as long as all that is made of
 * it. */
#define CBX_FN(f, user, nin, nout) (&(const cbx_fn){ #f, (f), (user), (nin), (nout), NULL })

/**
 * An owned function, which may outlive the context.
 * @param f        plain; copied, its name too
 * @param release  called once with f->user when the last reference goes; NULL: user outlives the
 *   function
 * @param out      the caller's to free
 * @return CBX_OK; CBX_EINVAL (NULL, without code, or owned already); CBX_ENOMEM: release has not
 *   been called
 * Safe to share between threads as far as its code is.  Since 0.1.
 */
CBX_API cbx_status cbx_fn_create(cbx_ctx *ctx, const cbx_fn *f, void (*release)(void *user), cbx_fn **out,
                                 cbx_err *err);
/**
 * What a transform does to hold on to its operand: one more reference to an owned function, an
 * owned copy of a plain one.
 * @param out  the caller's to free
 * @return CBX_OK; CBX_EINVAL (NULL or without code); CBX_ENOMEM
 */
CBX_API cbx_status cbx_fn_keep(cbx_ctx *ctx, const cbx_fn *f, cbx_fn **out, cbx_err *err);
/** Drops a reference; NULL and plain functions are fine. */
CBX_API void cbx_fn_free(cbx_fn *f);

/**
 * A call inside an expression: out[], which may be in[], belong to the current scope; what else the
 * function made is gone.  Nothing is called while a failure is pending.
 * @param nin, nout  must be the function's
 * @return CBX_OK; else the status of the pending failure, and all of out[] are failed: the scope's
 *         close returns it again.  Its own failures: CBX_EINVAL (count, an operand that is NULL or
 *         failed, a result not set); the function's status if it returned one without a failed
 *         operation.
 */
CBX_API cbx_status cbx_fn_call(cbx_ctx *ctx, const cbx_fn *f, size_t nin, cbx_array *const *in, size_t nout,
                               cbx_array **out);
/** As cbx_fn_call from outside of expressions: out[] are the caller's to free, NULL on failure,
 * whose reason is in err. */
CBX_API cbx_status cbx_fn_run(cbx_ctx *ctx, const cbx_fn *f, size_t nin, cbx_array *const *in, size_t nout,
                              cbx_array **out, cbx_err *err);
/**
 * Descriptions of the results for operands so described: the function runs once with abstract
 * operands, nothing is computed from them, and no backend records it.
 * @param out  nout, written on success only
 * @return as cbx_fn_run; CBX_EINVAL also if a shape depends on data
 */
CBX_API cbx_status cbx_fn_infer(cbx_ctx *ctx, const cbx_fn *f, size_t nin, const cbx_array_desc *in, size_t nout,
                                cbx_array_desc *out, cbx_err *err);

CBX_END_DECLS
#endif
