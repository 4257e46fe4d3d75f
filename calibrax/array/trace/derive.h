/*
 * Inside the library: graphs carried out with something beside: tangents, cotangents, batches; and
 * the rules of each primitive that they are made of (rules_*.c, named in calibrax/array/rules.h).
 *
 * Rules write array expressions.  What they make goes where its operands belong: carried out at
 * once, recorded in an outer trace, or, if it depends on a traced tangent, in the linear trace of
 * that tangent.  So one set of rules serves forward and reverse mode.  A tangent or cotangent that
 * is 0 everywhere is NULL.  Failures are pending in the context.
 */
#ifndef CALIBRAX_ARRAY_TRACE_DERIVE_H
#define CALIBRAX_ARRAY_TRACE_DERIVE_H

#include "calibrax/array/ops_internal.h"
#include "calibrax/array/rules.h"
#include "calibrax/array/trace/trace.h"

/** What a jvp rule gets. */
typedef struct cbx__jvp {
    cbx_ctx *ctx;
    cbx_prim prim;
    const cbx_attrs *attrs;
    size_t nin, nout;
    cbx_array *const *in; /* primals */
    cbx_array *const *t;  /* tangents of in; one at least is not NULL */
    cbx_array **out;      /* results; of CONTROL the rule makes them */
    cbx_array **dt;       /* tangents of out, NULL at first */
    bool
        linear; /* the tangents are traced to be transposed: what is not linear in them must not be recorded with them */
} cbx__jvp;

/** What a transpose rule gets. */
typedef struct cbx__transpose {
    cbx_ctx *ctx;
    cbx_prim prim;
    const cbx_attrs *attrs;
    size_t nin, nout;
    cbx_array *const *in;              /* NULL where the operation is linear in it */
    const cbx_array_desc *const *desc; /* of all operands */
    cbx_array *const *ct;              /* cotangents of the results; one at least is not NULL */
    cbx_array **din;                   /* cotangents of the linear operands, NULL at first */
} cbx__transpose;

/** What a batch rule gets: the batch is on axis 0 of operands and results that have it. */
typedef struct cbx__batch {
    cbx_ctx *ctx;
    cbx_prim prim;
    const cbx_attrs *attrs;
    size_t nin, nout, length;
    cbx_array *const *in;
    const bool *mapped; /* which operands have the batch; one at least */
    cbx_array **out;
    bool *out_mapped; /* true at first */
} cbx__batch;

typedef struct cbx__rules {
    void (*jvp)(cbx__jvp *r);             /* NULL: of a source */
    void (*transpose)(cbx__transpose *r); /* NULL: linear in no operand */
    void (*batch)(cbx__batch *r);         /* NULL: of a source */
} cbx__rules;

const cbx__rules *cbx__rules_of(cbx_prim p);

#define CBX__DECLARE_RULES(name, run, cost, jvp, transpose, batch)                                                     \
    void cbx__jvp_##jvp(cbx__jvp *r);                                                                                  \
    void cbx__transpose_##transpose(cbx__transpose *r);                                                                \
    void cbx__batch_##batch(cbx__batch *r);
CBX__RULES_MAP(CBX__DECLARE_RULES)
#undef CBX__DECLARE_RULES

/**
 * Carries g out with tangents.  out[] and dt[] are the caller's; NULL in dt: 0.
 * @param in  primals, one for each input of g  @param t  their tangents, NULL: 0
 */
cbx_status cbx__graph_jvp(cbx_ctx *ctx, const cbx__graph *g, cbx_array *const *in, cbx_array *const *t, bool linear,
                          cbx_array **out, cbx_array **dt, cbx_err *err);
/**
 * The linear map of the tangents of some inputs to those of the outputs, at a point.
 * @param wanted  which inputs move, one for each input of g
 * @param forced  which outputs the map has in any case, one for each; NULL: none
 * @param out     outputs of g, the caller's
 * @param map     inputs: tangents of the wanted inputs, then what it captured; outputs: tangents of
 *                those that move
 * @param moves   which outputs of g the map has
 */
cbx_status cbx__graph_linearize(cbx_ctx *ctx, const cbx__graph *g, cbx_array *const *in, const bool *wanted,
                                const bool *forced, cbx_array **out, cbx__traced *map, bool *moves, cbx_err *err);
/**
 * Cotangents of inputs of a linear map from those of its outputs.
 * @param known  one for each input; NULL: the map is linear in it
 * @param ct     one for each output, NULL: 0
 * @param din    one for each input, the caller's; NULL: 0, or of a known one
 */
cbx_status cbx__graph_transpose(cbx_ctx *ctx, const cbx__graph *map, cbx_array *const *known, cbx_array *const *ct,
                                cbx_array **din, cbx_err *err);
/**
 * Carries g out over a batch on axis 0 of mapped inputs.  out[] are the caller's; out_mapped: which
 * have the batch.
 */
cbx_status cbx__graph_batch(cbx_ctx *ctx, const cbx__graph *g, size_t length, cbx_array *const *in, const bool *mapped,
                            cbx_array **out, bool *out_mapped, cbx_err *err);

/** The sum of what there is; NULL of nothing. */
static inline cbx_array *cbx__sum_of(cbx_ctx *c, cbx_array *a, cbx_array *b)
{
    return !a ? b : !b ? a : cbx_add(c, a, b);
}
/** Zeros as described, held by the scope. */
cbx_array *cbx__zeros_of(cbx_ctx *ctx, const cbx_array_desc *d);
/** True of dtypes that have tangents: float and complex. */
static inline bool cbx__has_tangent(cbx_dtype t) { return cbx_dtype_kind(t) >= CBX_KIND_FLOAT; }

/** TAKE or TAKE_ALONG: elements of x. */
static inline cbx_array *cbx__apply_at(cbx_ctx *c, cbx_prim p, const cbx_array *x, const cbx_array *index,
                                       const cbx_attrs *a)
{
    return cbx_apply(c, p, 2, (const cbx_array *const[]){ x, index }, a);
}

#endif
