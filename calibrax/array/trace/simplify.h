/*
 * Inside the library: a graph made smaller, with the same bits of every result.
 *
 *   numbers       of FULL through views, casts and element by element; constants of one element
 *                 become FULL
 *   views         of views of one kind are one view; those that change nothing go, as do casts and
 *                 copies that nothing but an output shows
 *   identities    that hold for every number, signed zeros, infinities and NaN among them: x * 1, x
 *                 - 0, x + -0, -(-x) ...
 *   choices       by a known condition: where, cond
 *   functions     custom_jvp, custom_vjp and checkpoint become what they call, but for what is to
 *                 be computed again
 *   duplicates    equal operations on equal operands are one, as in a trace; integers and truths in
 *                 either order
 *
 * Functions of control flow are simplified, too.  The derivatives of the user are gone: what is to
 * be differentiated still is simplified afterwards.
 */
#ifndef CALIBRAX_ARRAY_TRACE_SIMPLIFY_H
#define CALIBRAX_ARRAY_TRACE_SIMPLIFY_H

#include "calibrax/array/trace/graph.h"

/**
 * @param g    finished; not changed
 * @param out  finished, with as many inputs and outputs as g; the caller's
 * @return CBX_OK; CBX_ENOMEM
 */
cbx_status cbx__graph_simplify(cbx_ctx *ctx, const cbx__graph *g, cbx__graph **out, cbx_err *err);

#endif
