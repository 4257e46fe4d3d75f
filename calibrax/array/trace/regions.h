/*
 * Inside the library: control flow as operations of graphs.
 *
 *   SCAN   operands: constants, carry, xs; functions: body(constants, carry, x) gives carry, y
 *   WHILE  operands: constants of test, constants of body, carry; functions: test(constants, carry), body(constants, carry)
 *   COND   operands: index, constants of each branch, in; functions: branch i (its constants, in)
 *
 * Constants are what a function captured when it was traced.
 */
#ifndef CALIBRAX_ARRAY_TRACE_REGIONS_H
#define CALIBRAX_ARRAY_TRACE_REGIONS_H

#include "calibrax/array/fn.h"
#include "calibrax/array/trace/graph.h"

enum { CBX__SCAN_BODY = 0, CBX__WHILE_TEST = 0, CBX__WHILE_BODY = 1 };

typedef struct cbx__control {
    cbx_object base;
    cbx_allocator al;
    size_t bytes;
    size_t n;           /* functions */
    cbx__graph **graph; /* counted */
    size_t *consts;     /* operands of its own, of each */
    size_t ncarry, nxs, length;
    bool reverse;
} cbx__control;

/** The object of a CONTROL primitive. */
static inline const cbx__control *cbx__control_of(const cbx_attrs *a)
{
    return (const cbx__control *)(const void *)a->object;
}
/** Functions of an object; 0 of NULL. */
static inline size_t cbx__control_graphs(const cbx_object *o)
{
    return o ? ((const cbx__control *)(const void *)o)->n : 0;
}
static inline const cbx__graph *cbx__control_graph(const cbx_object *o, size_t i)
{
    return ((const cbx__control *)(const void *)o)->graph[i];
}

/** n functions with a reference each, results so described; the caller sets the other members and drops the object. */
cbx_status cbx__control_create(cbx_ctx *ctx, size_t n, cbx__graph *const *graph, const size_t *consts, size_t nout,
                               const cbx_array_desc *results, cbx__control **out, cbx_err *err);

/** The last n inputs of a graph that is not shared yet become the first. */
void cbx__graph_rotate(cbx__graph *g, size_t n);

/**
 * SCAN over a finished body, in the context as it is; out[] belong to the current scope, failed arrays on failure.
 * @param in  constants, carry, xs
 */
void cbx__scan_apply(cbx_ctx *ctx, cbx__graph *body, size_t nconst, size_t ncarry, size_t nxs, size_t length,
                     bool reverse, cbx_array *const *in, cbx_array **out);
/** COND over finished branches. @param in  index, constants of each branch, then nin operands */
void cbx__cond_apply(cbx_ctx *ctx, size_t n, cbx__graph *const *branch, const size_t *consts, size_t nin,
                     cbx_array *const *in, cbx_array **out);
/** WHILE over finished functions. @param in  constants of test, of body, carry */
void cbx__while_apply(cbx_ctx *ctx, cbx__graph *const functions[2], const size_t consts[2], size_t ncarry,
                      cbx_array *const *in, cbx_array **out);

/** n times d on a new first axis; CBX_EINVAL if that is one axis too many. */
cbx_status cbx__stacked_desc(const char *what, size_t n, const cbx_array_desc *d, cbx_array_desc *out, cbx_err *err);

#endif
