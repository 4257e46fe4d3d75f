/*
 * Inside the library: control flow as operations of graphs.
 *
 *   SCAN   operands: constants, carry, xs; functions: body(constants, carry, x) gives carry, y
 *   WHILE  operands: constants of test, constants of body, carry; functions: test(constants,
 *          carry), body(constants, carry)
 *   COND   operands: index, constants of each branch, in; functions: branch i (its constants, in)
 *   CUSTOM_JVP, CUSTOM_VJP, CHECKPOINT
 *          operands: in, constants; functions: f(in, constants)
 *   CUSTOM_VJP_MAP   operands: residuals, tangents of in that move; results: tangents of results
 *                    that are float or complex
 *   CHECKPOINT_MAP   operands: in, constants, tangents of those that move; results: as
 *                    CUSTOM_VJP_MAP
 *   HOST_CALL   operands: in; no functions: rule[0] is called with data
 *
 * Constants are what a function captured when it was traced.  The ..._MAP are linear in the
 * tangents: they exist to be transposed.
 */
#ifndef CALIBRAX_ARRAY_TRACE_REGIONS_H
#define CALIBRAX_ARRAY_TRACE_REGIONS_H

#include "calibrax/array/trace/graph.h"
#include "calibrax/array/trace/trace.h"

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
    bool flat;       /* of HOST_CALL: its results do not move with its operands */
    cbx_fn *rule[2]; /* counted, of CUSTOM_...: the jvp; or forward and backward; NULL: none */
    bool *moves;     /* of ..._MAP: which inputs of f have a tangent */
    size_t nres;     /* of CUSTOM_VJP_MAP: residuals */
} cbx__control;

enum { CBX__FORWARD = 0, CBX__BACKWARD = 1 };

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

/**
 * n functions with a reference each, results so described; the caller sets the other members and
 * drops the object.
 */
cbx_status cbx__control_create(cbx_ctx *ctx, size_t n, cbx__graph *const *graph, const size_t *consts, size_t nout,
                               const cbx_array_desc *results, cbx__control **out, cbx_err *err);

/** The same with other functions of the same operands and results. */
cbx_status cbx__control_with(cbx_ctx *ctx, const cbx__control *c, cbx__graph *const *graph, cbx__control **out,
                             cbx_err *err);

/** The last n inputs of a graph that is not shared yet become the first. */
void cbx__graph_rotate(cbx__graph *g, size_t n);

/**
 * SCAN over a finished body, in the context as it is; out[] belong to the current scope, failed
 * arrays on failure.
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

/**
 * f, which reads values of its operands, as one operation: called with arrays of the CPU that have
 * data, at once or when the function that is traced runs.  Batches call it for one element after
 * the other.
 * @param results  of f, which it is held to
 * @param flat     the results do not move with the operands: their derivatives are 0, else refused
 */
void cbx__host_apply(cbx_ctx *ctx, const cbx_fn *f, const cbx_array_desc *results, bool flat, cbx_array *const *in,
                     cbx_array **out);

/** What a call of a function is made of: CUSTOM_..., CHECKPOINT... . */
typedef struct cbx__called {
    cbx_prim prim;
    cbx__graph *f;
    size_t nconst;       /* the last inputs of f */
    cbx_fn *const *rule; /* two; NULL: none */
    const bool *moves;   /* NULL: not a ..._MAP */
    size_t nres;
    int mode;
} cbx__called;
/**
 * The call in the context as it is. @param in as above; out[] are f's results, of a ..._MAP those
 * that have tangents
 */
void cbx__called_apply(cbx_ctx *ctx, const cbx__called *call, size_t nin, cbx_array *const *in, cbx_array **out);
/** A call's function with another graph and other rules. */
cbx__called cbx__called_of(cbx_prim prim, const cbx_attrs *attrs);
/**
 * The function of CHECKPOINT_MAP, which its operation holds as that of the values: from in,
 * constants, tangents to tangents.
 * @param out  the caller's to clear
 */
cbx_status cbx__checkpoint_map(cbx_ctx *ctx, const cbx__control *s, cbx__traced *out, cbx_err *err);

/** One of the elements that d is of along its first axis. */
cbx_array_desc cbx__element_desc(const cbx_array_desc *d);
/** n times d on a new first axis; CBX_EINVAL if that is one axis too many. */
cbx_status cbx__stacked_desc(const char *what, size_t n, const cbx_array_desc *d, cbx_array_desc *out, cbx_err *err);

#endif
