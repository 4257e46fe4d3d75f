/**
 * Function transforms, and control flow over functions of arrays.
 *
 * Transforms take a function, plain (CBX_FN) or owned, hold on to it, and give an owned one, so
 * they nest in any order.  They report in err.  Control flow is array operations: results belong to
 * the current scope; a failure makes all of them failed arrays and waits in the context for the
 * scope's close; the status returned is the context's pending one, so that a user's function may
 * end with `return cbx_scan(...)`.  Results may replace operands.
 *
 * A function that is transformed, or that control flow runs, is traced: it runs once with abstract
 * operands, and what it does is recorded, then repeated.  It must not read elements of its operands
 * in C (cbx_array_read is refused; cbx_cond and cbx_while_loop decide).  What it computes of other
 * arrays with data is computed once.  Each step of a loop frees what it made: memory does not grow
 * with the number of steps.
 * Derivatives go through every operation that moves; CBX_EUNSUPPORTED, with the reason, where one
 * does not exist or is not known: docs/reference/arrays.md lists them.
 * Source of names and rules: JAX 0.10 (jax.lax.scan, fori_loop, while_loop, cond, switch; jax.vmap,
 * grad, jvp, vjp, jacfwd ...).  One thread uses a context at a time.  Since 0.1.
 */
#ifndef CALIBRAX_ARRAY_TRANSFORM_H
#define CALIBRAX_ARRAY_TRANSFORM_H

#include <limits.h>
#include <signal.h>

#include "calibrax/array/fn.h"
#include "calibrax/array/primitive.h"
#include "calibrax/array/scope.h"
#include "calibrax/base/ctx.h"
#include "calibrax/base/text.h"

CBX_BEGIN_DECLS

/* ---- transforms ---- */

/**
 * The function compiled for the shapes and dtypes that it is called with; on a backend that does
 * not compile, the function itself.
 * @return CBX_OK; CBX_EINVAL (no code); CBX_ENOMEM; what the backend says
 */
CBX_API cbx_status cbx_jit(cbx_ctx *ctx, const cbx_fn *f, cbx_fn **out, cbx_err *err);
/**
 * The same; a call on the CPU takes the elements of some operands, so that their memory becomes
 * that of results and of what is stored on the way.  An operand that anybody else holds, that is a
 * view, or that is passed twice, stays as it is; the others are as after cbx_array_take, also if
 * the call fails.  On a backend that does not compile, and where the function is traced, all stay.
 * @param n         donated operands
 * @param argnums   n operands of f, counted from 0
 * @return as cbx_jit; CBX_EINVAL (argnums).  Source: jax.jit, donate_argnums.
 */
CBX_API cbx_status cbx_jit_donate(cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums, cbx_fn **out,
                                  cbx_err *err);

/**
 * What a function does, one line for each operation, functions of control flow indented below it:
 *     square(%0:float64 (3,))
 *       %1:float64 (3,) = multiply %0 %0
 *       return %1:float64 (3,)
 * The later stages are those of the context's backend.
 * @param in   f->nin descriptions
 * @param out  the text is added; check it
 * @return as cbx_fn_infer; CBX_EUNSUPPORTED (the backend has no such stage); CBX_EUNAVAILABLE (its
 *   library is missing)
 */
CBX_API cbx_status cbx_dump(cbx_ctx *ctx, const cbx_fn *f, const cbx_array_desc *in, cbx_dump_kind kind, cbx_text *out,
                            cbx_err *err);

/** Among in_axes: an operand that every element of the batch sees whole.  Among out_axes: a result
 * that is the same for all. */
#define CBX_NOT_MAPPED INT_MIN

/**
 * f over a batch: what it does with one slice of each mapped operand, done for all slices at once;
 * results are stacked.  Mapped operands must be equally long along their axes.
 * @param in_axes   f->nin axes, negative ones from the end, or CBX_NOT_MAPPED, of which not all may
 *   be; NULL: all 0
 * @param out_axes  f->nout places of the batch axis in the results, negative ones from the end;
 *                  CBX_NOT_MAPPED: a result that does not depend on mapped operands; NULL: all 0
 * @return CBX_OK; CBX_EINVAL (no code, nothing mapped); CBX_ENOMEM.  Calls of *out: CBX_EINVAL (an
 *         axis outside, an array of CBX_MAX_RANK axes that would get one more, a result that
 *         differs and has no axis), CBX_ESHAPE (lengths differ)
 */
CBX_API cbx_status cbx_vmap(cbx_ctx *ctx, const cbx_fn *f, const int *in_axes, const int *out_axes, cbx_fn **out,
                            cbx_err *err);

/*
 * Derivatives.  A tangent has the dtype and shape of its operand or result, a cotangent, too.  Of
 * complex numbers cotangents pair by Re(ct t), as in JAX.  Where f has no derivative: maximum and
 * minimum of equals share, abs' and sign' of 0 are 0, of an optimum over an axis all that equal it
 * share.  Integers and booleans do not move.
 * Errors of calls: CBX_EDTYPE (an operand to derive in that is integer or bool), what f reports,
 * CBX_EUNSUPPORTED (above).
 */

/**
 * Gradients of f, one result that is a real scalar, in some of its operands: result i is shaped as
 * operand argnums[i].
 * @param n        gradients; 0: one, in operand 0
 * @param argnums  n operands of f, counted from 0; NULL: the first n
 * @return CBX_OK; CBX_EINVAL (no code, results, argnums); CBX_ENOMEM.  Calls: CBX_ESHAPE,
 *   CBX_EDTYPE (no real scalar)
 */
CBX_API cbx_status cbx_grad(cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums, cbx_fn **out, cbx_err *err);
/** As cbx_grad; the first result is f's own, the gradients follow. */
CBX_API cbx_status cbx_value_and_grad(cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums, cbx_fn **out,
                                      cbx_err *err);
/**
 * Forward mode: (operands..., tangents of n of them) to (results..., their tangents), J t.
 * @param n  0: tangents of all operands
 * Calls: CBX_ESHAPE, CBX_EDTYPE (a tangent unlike its operand)
 */
CBX_API cbx_status cbx_jvp(cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums, cbx_fn **out, cbx_err *err);
/** Reverse mode: (operands..., cotangents of all results) to (results..., cotangents of n
 * operands), ct J.  As cbx_jvp. */
CBX_API cbx_status cbx_vjp(cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums, cbx_fn **out, cbx_err *err);
/**
 * The results at a point, and the derivative there as a function of tangents, which may be called
 * many times.
 * @param in   f->nin operands
 * @param out  f->nout results, the caller's
 * @param map  takes f->nin tangents, gives f->nout; the caller's
 */
CBX_API cbx_status cbx_linearize(cbx_ctx *ctx, const cbx_fn *f, cbx_array *const *in, cbx_array **out, cbx_fn **map,
                                 cbx_err *err);
/** Jacobians of all results in one operand: (shape of the result, shape of the operand); column by
 * column. */
CBX_API cbx_status cbx_jacfwd(cbx_ctx *ctx, const cbx_fn *f, size_t argnum, cbx_fn **out, cbx_err *err);
/** The same row by row: for fewer results than operands. */
CBX_API cbx_status cbx_jacrev(cbx_ctx *ctx, const cbx_fn *f, size_t argnum, cbx_fn **out, cbx_err *err);
/** Second derivatives of a scalar function: (shape, shape) of the operand; forward over reverse. */
CBX_API cbx_status cbx_hessian(cbx_ctx *ctx, const cbx_fn *f, size_t argnum, cbx_fn **out, cbx_err *err);
/** (operands..., v) to the product of that matrix with v, in the time of a few gradients. */
CBX_API cbx_status cbx_hessian_vector(cbx_ctx *ctx, const cbx_fn *f, size_t argnum, cbx_fn **out, cbx_err *err);

/* ---- functions recorded step by step ---- */

/** A function in the making: what is done with its operands is recorded until it is closed. */
typedef struct cbx_recording cbx_recording;

/**
 * Begins to record, in the innermost place: recordings of a context are closed in the reverse order
 * of their opening.  For callers whose functions are no cbx_array_fn, as those of another language,
 * and know their results only when they have run.
 * @param name      as in messages
 * @param in        nin descriptions
 * @param operands  nin abstract arrays, the caller's
 * @param out       ends with cbx_recording_close or cbx_recording_abandon
 * @return CBX_OK; CBX_ENOMEM; the pending failure of the context
 */
CBX_API cbx_status cbx_recording_open(cbx_ctx *ctx, const char *name, size_t nin, const cbx_array_desc *in,
                                      cbx_array **operands, cbx_recording **out, cbx_err *err);
/**
 * Ends a recording, also where it fails.
 * @param out        nout results: arrays of any kind
 * @param fn         repeats what was recorded, for operands of the same descriptions; the caller's
 *   to free
 * @param ncaptured  arrays of enclosing recordings that it reads: if there are any, it ends with
 *   them
 * @return CBX_OK; the pending failure of the context; CBX_EINVAL (a result that is NULL, or of a
 *         recording that has ended); CBX_ENOMEM
 */
CBX_API cbx_status cbx_recording_close(cbx_recording *r, size_t nout, cbx_array *const *out, cbx_fn **fn,
                                       size_t *ncaptured, cbx_err *err);
/** Ends a recording without a function; NULL is fine. */
CBX_API void cbx_recording_abandon(cbx_recording *r);

/* ---- derivatives that are not those of the operations ---- */

/** x, which does not move: its derivative is 0. */
CBX_API cbx_array *cbx_stop_gradient(cbx_ctx *ctx, const cbx_array *x);

/**
 * f with a derivative of the user's: forward mode by the rule, reverse mode by its transpose.
 * Further derivatives are those of the rule, which may call *out again.  Nothing is differentiated
 * in arrays that f uses from outside: CBX_EUNSUPPORTED where one of them moves.
 * @param rule  (operands..., a tangent for each) to (results..., their tangents); runs when a
 *              derivative is taken; linear in the tangents, which are zeros where an operand does
 *              not move; those of integers and booleans are not read
 * @param out   as f in operands and results
 * @return CBX_OK; CBX_EINVAL (no code, counts); CBX_ENOMEM.  Derivatives: CBX_ESHAPE, CBX_EDTYPE
 *   (results of the rule)
 * Source: jax.custom_jvp.
 */
CBX_API cbx_status cbx_custom_jvp(cbx_ctx *ctx, const cbx_fn *f, const cbx_fn *rule, cbx_fn **out, cbx_err *err);
/**
 * The same for reverse mode alone; forward mode is CBX_EUNSUPPORTED.
 * @param fwd  operands to (results..., residuals...), any number of residuals; those at the end
 *   that are left unset are a scalar
 * @param bwd  (residuals..., a cotangent for each result of f) to a cotangent for each operand of
 *             f; those of integers and booleans are not read
 * Source: jax.custom_vjp.
 */
CBX_API cbx_status cbx_custom_vjp(cbx_ctx *ctx, const cbx_fn *f, const cbx_fn *fwd, const cbx_fn *bwd, cbx_fn **out,
                                  cbx_err *err);
/**
 * f, of which reverse mode keeps the operands alone and computes the rest again when it comes back:
 * less memory for at most one more f.
 * @return as cbx_jit.  Source: jax.checkpoint.
 */
CBX_API cbx_status cbx_checkpoint(cbx_ctx *ctx, const cbx_fn *f, cbx_fn **out, cbx_err *err);

/* ---- control flow ---- */

/**
 * Lets another thread, or a signal handler, end loops and compilations of a context: they fail with
 * CBX_EINTERRUPTED before their next step, or their next kernels, once *stop is not 0.
 * @param stop  outlives its use, which ends with another call; NULL: nothing ends them
 */
CBX_API void cbx_ctx_set_stop(cbx_ctx *ctx, const volatile sig_atomic_t *stop);

#define CBX_LENGTH_OF_XS SIZE_MAX

/**
 * Walks along the first axis of xs and carries values: (carry..., ys[t]...) = body(carry...,
 * xs[t]...).
 * @param body     takes ncarry + nxs operands, gives ncarry results like init in shape and dtype,
 *   and any number more
 * @param length   steps; CBX_LENGTH_OF_XS: as long as xs, of which there must be one
 * @param reverse  from the last step to the first; ys[t] still belongs to xs[t]
 * @param out      body->nout: the last carry, then ys stacked along a new first axis
 * @return CBX_OK; CBX_EINVAL (counts, no length, rank), CBX_ESHAPE (lengths that differ),
 *         CBX_ESHAPE or CBX_EDTYPE (a carry that changes, named with both descriptions); what the
 *         body says
 */
CBX_API cbx_status cbx_scan(cbx_ctx *ctx, const cbx_fn *body, size_t ncarry, cbx_array *const *init, size_t nxs,
                            cbx_array *const *xs, size_t length, bool reverse, cbx_array **out);

/** Among steps between saved carries: the square root of the number of steps, rounded up. */
#define CBX_SAVE_SQRT SIZE_MAX
/**
 * As cbx_scan, with less memory in reverse mode: it keeps the carry of every n-th step, and
 * computes what is between again, n steps at a time, whose residuals it keeps until they are used.
 * @param every  steps between saved carries, >= 1: 1 keeps each carry but no residual; length or
 *               more: the first alone; CBX_SAVE_SQRT: memory grows with the square root of the
 *               number of steps
 * @return as cbx_scan; CBX_EINVAL (every is 0) cbx_scan keeps everything.  Source: Griewank, Optim.
 * Methods Softw. 1 (1992) 35-54 (one level of it); jax.checkpoint.
 */
CBX_API cbx_status cbx_scan_checkpointed(cbx_ctx *ctx, const cbx_fn *body, size_t ncarry, cbx_array *const *init,
                                         size_t nxs, cbx_array *const *xs, size_t length, bool reverse, size_t every,
                                         cbx_array **out);

/**
 * values = body(i, values...) for lower <= i < upper; i is an int64 of rank 0.  upper <= lower:
 * init.
 * @param n    values; body takes n + 1 operands and gives n results like init in shape and dtype
 * @param out  n
 * @return as cbx_scan
 */
CBX_API cbx_status cbx_fori_loop(cbx_ctx *ctx, int64_t lower, int64_t upper, const cbx_fn *body, size_t n,
                                 cbx_array *const *init, cbx_array **out);

/**
 * values = body(values...) as long as test(values...) holds.
 * @param test  gives one result of rank 0; true unless it is 0 (NaN is true)
 * @param out   n
 * @return as cbx_scan; CBX_ESHAPE (a test that gives no scalar)
 */
CBX_API cbx_status cbx_while_loop(cbx_ctx *ctx, const cbx_fn *test, const cbx_fn *body, size_t n,
                                  cbx_array *const *init, cbx_array **out);

/**
 * yes(in...) if which holds (rank 0; true unless it is 0), else no(in...).  Both are traced and
 * must agree in their results; one is computed.
 * @param out  yes->nout, which is no->nout
 * @return CBX_OK; CBX_EINVAL (counts), CBX_ESHAPE (which is no scalar), CBX_ESHAPE or CBX_EDTYPE
 *         (branches differ); what the branches say
 */
CBX_API cbx_status cbx_cond(cbx_ctx *ctx, const cbx_array *which, const cbx_fn *yes, const cbx_fn *no, size_t nin,
                            cbx_array *const *in, cbx_array **out);
/**
 * branches[index](in...), index an integer of rank 0, brought into 0..n-1; n >= 1.
 * @return as cbx_cond; CBX_EDTYPE (index is no integer)
 */
CBX_API cbx_status cbx_switch(cbx_ctx *ctx, const cbx_array *index, size_t n, const cbx_fn *const *branches, size_t nin,
                              cbx_array *const *in, cbx_array **out);

CBX_END_DECLS
#endif
