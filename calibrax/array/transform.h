/**
 * Function transforms, and control flow over functions of arrays.
 *
 * Transforms take a function, plain (CBX_FN) or owned, hold on to it, and give an owned one, so they nest in any order.
 * They report in err.  Control flow is array operations: results belong to the current scope; a failure makes all of them
 * failed arrays and waits in the context for the scope's close; the status returned is the context's pending one, so that
 * a user's function may end with `return cbx_scan(...)`.  Results may be put where operands stand.  Each step runs in a scope of its own: memory does not grow with
 * the number of steps.  Abstract operands give abstract results: bodies and branches run once for their shapes.
 * All go through the context's backend at the time of the call; what a backend lacks the engine does itself by plain loops.
 * Source of names and rules: JAX 0.10 (jax.lax.scan, fori_loop, while_loop, cond, switch; jax.vmap).
 * One thread uses a context at a time.  Since 0.1.
 */
#ifndef CALIBRAX_ARRAY_TRANSFORM_H
#define CALIBRAX_ARRAY_TRANSFORM_H

#include <limits.h>

#include "calibrax/array/fn.h"
#include "calibrax/array/scope.h"

CBX_BEGIN_DECLS

/* ---- transforms ---- */

/**
 * The function compiled for the shapes and dtypes that it is called with; on a backend that does not compile, the function
 * itself.
 * @return CBX_OK; CBX_EINVAL (no code); CBX_ENOMEM; what the backend says
 */
CBX_API cbx_status cbx_jit(cbx_ctx *ctx, const cbx_fn *f, cbx_fn **out, cbx_err *err);

/** Among in_axes: an operand that every element of the batch sees whole. */
#define CBX_NOT_MAPPED INT_MIN

/**
 * f over a batch: called with one slice of each mapped operand at a time, results stacked.
 * Mapped operands must be equally long along their axes.  A batch of length 0 has its shapes from cbx_fn_infer.
 * @param in_axes   f->nin axes, negative ones from the end, or CBX_NOT_MAPPED, of which not all may be; NULL: all 0
 * @param out_axes  f->nout places of the batch axis in the results, negative ones from the end; NULL: all 0
 * @return CBX_OK; CBX_EINVAL (no code, nothing mapped, a result not mapped); CBX_ENOMEM.  Calls of *out: CBX_EINVAL (an
 *         axis outside, a result of rank 9), CBX_ESHAPE (lengths differ, results differ in shape over the batch)
 */
CBX_API cbx_status cbx_vmap(cbx_ctx *ctx, const cbx_fn *f, const int *in_axes, const int *out_axes, cbx_fn **out,
                            cbx_err *err);

/**
 * Gradients of f, one result that is a real scalar, in some of its operands: result i is shaped as operand argnums[i].
 * @param n        gradients; 0: one, in operand 0
 * @param argnums  n operands of f, counted from 0
 * @return CBX_OK; CBX_EUNSUPPORTED (the backend does not differentiate); CBX_EINVAL (no code, results, argnums); CBX_ENOMEM
 */
CBX_API cbx_status cbx_grad(cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums, cbx_fn **out, cbx_err *err);
/** As cbx_grad; the first result is f's own, the gradients follow. */
CBX_API cbx_status cbx_value_and_grad(cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums, cbx_fn **out,
                                      cbx_err *err);

/* ---- control flow ---- */

#define CBX_LENGTH_OF_XS SIZE_MAX

/**
 * Walks along the first axis of xs and carries values: (carry..., ys[t]...) = body(carry..., xs[t]...).
 * @param body     takes ncarry + nxs operands, gives ncarry results like init in shape and dtype, and any number more
 * @param length   steps; CBX_LENGTH_OF_XS: as long as xs, of which there must be one
 * @param reverse  from the last step to the first; ys[t] still belongs to xs[t]
 * @param out      body->nout: the last carry, then ys stacked along a new first axis
 * @return CBX_OK; CBX_EINVAL (counts, no length, rank), CBX_ESHAPE (lengths that differ), CBX_ESHAPE or CBX_EDTYPE (a carry
 *         that changes, named with both descriptions); what the body says.  No steps: ys have their shapes from cbx_fn_infer.
 */
CBX_API cbx_status cbx_scan(cbx_ctx *ctx, const cbx_fn *body, size_t ncarry, cbx_array *const *init, size_t nxs,
                            cbx_array *const *xs, size_t length, bool reverse, cbx_array **out);

/**
 * values = body(i, values...) for lower <= i < upper; i is an int64 of rank 0.  upper <= lower: init, and body never runs.
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
 * yes(in...) if which holds (rank 0; true unless it is 0), else no(in...).  One of them is computed; the other runs for its
 * shapes, and both must agree in them.
 * @param out  yes->nout, which is no->nout
 * @return CBX_OK; CBX_EINVAL (counts), CBX_ESHAPE (which is no scalar), CBX_ESHAPE or CBX_EDTYPE (branches differ); what the
 *         branches say
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
