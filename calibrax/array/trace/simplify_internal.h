/*
 * Inside the simplification of graphs: the graph in the making, and the rules that ask what made a
 * value.
 */
#ifndef CALIBRAX_ARRAY_TRACE_SIMPLIFY_INTERNAL_H
#define CALIBRAX_ARRAY_TRACE_SIMPLIFY_INTERNAL_H

#include "calibrax/array/trace/simplify.h"
#include "calibrax/base/hash_table.h"

typedef struct cbx__rewrite {
    cbx_ctx *ctx;
    cbx__graph *g;
    CBX_LIST(uint32_t) maker; /* the node of each value; UINT32_MAX: an input or a constant */
    cbx_table nodes, constants;
    cbx_err err;
    cbx_status st; /* the first failure */
} cbx__rewrite;

/** An operation with one result: the value that it comes to, which may be there already. */
cbx__vid cbx__rewrite_op(cbx__rewrite *w, cbx_prim prim, size_t nin, const cbx__vid *in, const cbx_attrs *attrs,
                         const cbx_array_desc *result);
/** The node that made a value; NULL: an input or a constant. */
static inline const cbx__node *cbx__maker(const cbx__rewrite *w, cbx__vid v)
{
    const uint32_t k = w->maker.items[v];
    return k == UINT32_MAX ? NULL : &w->g->nodes.items[k];
}
static inline const cbx_array_desc *cbx__desc_of(const cbx__rewrite *w, cbx__vid v)
{
    return &w->g->values.items[v].desc;
}

/** A simpler value for an operation of one result; CBX__NO_VALUE: none is known. */
cbx__vid cbx__simpler(cbx__rewrite *w, cbx_prim prim, size_t nin, const cbx__vid *in, const cbx_attrs *attrs,
                      const cbx_array_desc *result);
/** The element of an array of one, as FULL has it.  false: NaN. */
bool cbx__array_number(const cbx_array *a, cbx_scalar *out);

#endif
