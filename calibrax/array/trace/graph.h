/*
 * Inside the library: graphs, what a traced function does as a list of operations in the order in
 * which they were recorded.
 *
 * Values are numbered: inputs, constants (arrays with data) and results of nodes.  A node's
 * operands have smaller numbers than its results.  Equal operations on equal operands are one
 * node.  A finished graph never changes and is shared by counting.
 */
#ifndef CALIBRAX_ARRAY_TRACE_GRAPH_H
#define CALIBRAX_ARRAY_TRACE_GRAPH_H

#include <stdatomic.h>

#include "calibrax/array/object.h"
#include "calibrax/array/primitive.h"
#include "calibrax/base/hash_table.h"

typedef uint32_t cbx__vid; /* of a value */
#define CBX__NO_VALUE UINT32_MAX

typedef struct cbx__node {
    cbx_prim prim;
    uint32_t nin, nout;
    const cbx__vid *in;
    cbx__vid out; /* the first result; the others follow */
    const cbx_attrs *attrs;
} cbx__node;

typedef struct cbx__value {
    cbx_array_desc desc;
    cbx_array *constant; /* counted; NULL: an input or a result */
    uint32_t last; /* the last node that reads it, or makes it for nothing; CBX__NO_VALUE: an output, an input unread */
    bool donated;  /* an input whose memory may become that of other values, if the caller alone has it */
} cbx__value;

typedef struct cbx__graph {
    atomic_size_t refs;
    cbx_allocator al;
    cbx_arena arena; /* operands and attributes of nodes */
    const char *name;
    CBX_LIST(cbx__node) nodes;
    CBX_LIST(cbx__value) values;
    CBX_LIST(cbx__vid) in, out;
    _Atomic(struct cbx__compiled *) compiled; /* NULL until a backend has compiled it */
} cbx__graph;

/** An empty graph with one reference. */
cbx_status cbx__graph_create(cbx_ctx *ctx, const char *name, cbx__graph **out, cbx_err *err);
cbx__graph *cbx__graph_ref(const cbx__graph *g);
void cbx__graph_unref(cbx__graph *g);

/** Adds a value; CBX__NO_VALUE without memory. */
cbx__vid cbx__graph_add_value(cbx__graph *g, const cbx_array_desc *desc, const cbx_array *constant);
/** Adds a node with its results; the attributes are copied.  false: out of memory. */
bool cbx__graph_add_node(cbx__graph *g, const cbx_op *op, const cbx__vid *in);
/**
 * The node of an operation: one that does the same with the same operands, or else a new one.
 * @param nodes  those of the graph, by what they do
 * @return NULL: out of memory
 */
const cbx__node *cbx__graph_node(cbx__graph *g, cbx_table *nodes, const cbx_op *op, const cbx__vid *in);
/**
 * To be called once, when nothing is added any more: removes nodes that no output needs, finds the
 * last use of each value.
 */
cbx_status cbx__graph_finish(cbx__graph *g, cbx_err *err);

static inline const cbx_array_desc *cbx__graph_in(const cbx__graph *g, size_t i)
{
    return &g->values.items[g->in.items[i]].desc;
}
static inline const cbx_array_desc *cbx__graph_out(const cbx__graph *g, size_t i)
{
    return &g->values.items[g->out.items[i]].desc;
}

/**
 * Carries out a graph, operation by operation, in the context as it is: eagerly, or recorded in an
 * open trace where operands are traced.  What no later operation reads is freed at once.
 * @param in   one for each input, good arrays
 * @param out  the caller's, written on success only
 */
cbx_status cbx__graph_eval(cbx_ctx *ctx, const cbx__graph *g, cbx_array *const *in, cbx_array **out, cbx_err *err);

/**
 * As cbx__graph_eval of operands with data, compiled by the context's backend if it can; that
 * happens once. Safe for several threads.
 */
cbx_status cbx__graph_run(cbx_ctx *ctx, const cbx__graph *g, cbx_array *const *in, cbx_array **out, cbx_err *err);

struct cbx_cost_program;
/**
 * What it costs as it is compiled, by the context's backend if it was not yet.  @return CBX_OK;
 * CBX_EUNSUPPORTED (the backend does not compile, or has no such numbers); what compiling says
 */
cbx_status cbx__graph_cost(cbx_ctx *ctx, const cbx__graph *g, struct cbx_cost_program *out, cbx_err *err);

/** One line for each node, functions of CONTROL indented below theirs. */
void cbx__graph_text(const cbx__graph *g, int indent, cbx_text *out);

#endif
