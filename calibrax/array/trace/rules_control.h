/*
 * Inside the library: steps that the rules of control flow share.
 *
 * A function of control flow becomes another one: its graph is carried out with something beside,
 * within a trace.  Which values move (have a tangent, or a batch) is found by repetition: what a
 * step makes of a value that did not move may move, and then it moves in the next step, too.
 */
#ifndef CALIBRAX_ARRAY_TRACE_RULES_CONTROL_H
#define CALIBRAX_ARRAY_TRACE_RULES_CONTROL_H

#include "calibrax/array/trace/derive.h"
#include "calibrax/array/trace/regions.h"

/** Lists of arrays and flags of one rule, which end together; its trace; the first failure of
 * the rule. */
typedef struct cbx__lists {
    cbx_ctx *ctx;
    cbx_arena arena;
    cbx_err err;
    cbx_status st;
    cbx__trace trace; /* from cbx__lists_trace to cbx__lists_end */
    cbx_scope scope;  /* of what is made in it */
    struct cbx__owned *owned;
} cbx__lists;

void cbx__lists_init(cbx__lists *l, cbx_ctx *ctx);
/** n zeroed items and one more; NULL without memory, which is a failure of the rule. */
void *cbx__list_of(cbx__lists *l, size_t n, size_t size);
static inline cbx_array **cbx__array_list(cbx__lists *l, size_t n) { return cbx__list_of(l, n, sizeof(cbx_array *)); }
static inline bool *cbx__flag_list(cbx__lists *l, size_t n) { return cbx__list_of(l, n, sizeof(bool)); }
/** A list of references, which are freed, and forgotten, where each trace ends. */
cbx_array **cbx__owned_list(cbx__lists *l, size_t n);
/** Frees the lists and records the failure, if there is one. */
void cbx__lists_clear(cbx__lists *l);
/** Opens a trace and a scope; false: the rule has failed, and neither is open. */
bool cbx__lists_trace(cbx__lists *l, const char *name);
/** Ends both; *end, which is cleared, has the trace. */
void cbx__lists_end(cbx__lists *l, size_t nout, cbx_array *const *out, cbx__traced *end);

/** An array, or zeros as described in its place. */
static inline cbx_array *cbx__some(cbx_ctx *ctx, cbx_array *a, const cbx_array_desc *d)
{
    return a ? a : cbx__zeros_of(ctx, d);
}
/** Inputs of the trace like those of a graph, from..end-1, where chosen (NULL: all); others
 * stay NULL. */
void cbx__inputs(cbx__lists *l, const cbx__graph *g, size_t from, size_t end, const bool *chosen, cbx_array **out);
/** The inputs of a graph in another order. */
void cbx__reorder(cbx__lists *l, cbx__graph *g, const size_t *order);
/** CBX_ESHAPE or CBX_EDTYPE unless a, a tangent, cotangent or result of the named function, is as
 * described. */
cbx_status cbx__like_check(const char *name, const char *what, size_t i, const cbx_array *a, const cbx_array_desc *d,
                           cbx_err *err);
/** True if a flag of `found` was not in `known`, which it joins. */
bool cbx__grows(size_t n, bool *known, const bool *found);

/* ---- values and tangents beside: in each group of operands or results those that move follow the
 * values ---- */

typedef struct cbx__groups {
    int n;
    size_t end[3]; /* of each */
} cbx__groups;

/**
 * A function with tangents beside, traced.
 * @param moves      which inputs have a tangent
 * @param forced     which outputs have one in any case; NULL: none
 * @param out_moves  written: which have one
 * @param values     false: the results are tangents alone
 * @return how many results it has
 */
size_t cbx__jvp_function(cbx__lists *l, const cbx__graph *g, const cbx__groups *in, const bool *moves,
                         const cbx__groups *out, const bool *forced, bool *out_moves, bool linear, bool values,
                         cbx__traced *end);
/** Operands from..end-1 of a rule, and the tangents of those that move (NULL: that have one);
 * returns how many that are. */
size_t cbx__put_operands(const cbx__jvp *r, size_t from, size_t end, const bool *moves, cbx_array **out);
/** The rule's results from those of such a function. */
void cbx__take_results(cbx__jvp *r, const cbx__groups *out, const bool *moves, cbx_array *const *results);

/**
 * The values of a function and the linear map of its tangents, traced.
 * @param moves, forced, out_moves  as cbx__graph_linearize
 * @param direct  inputs that are at hand where the map is; NULL: none
 * @param res     written, for each array that the map captured: the number of such an input, or how
 *                many inputs there are and behind how many results that follow the values it is
 * @return how many results follow the values
 */
size_t cbx__linearize_function(cbx__lists *l, const cbx__graph *g, const bool *moves, const bool *forced,
                               const bool *direct, bool *out_moves, cbx__traced *values, cbx__traced *map,
                               size_t **res);

/* ---- a batch beside ---- */

/** A result with the batch on axis 0 where it has none. */
cbx_array *cbx__spread(cbx_ctx *ctx, cbx_array *a, bool mapped, size_t length);
/**
 * A function over a batch, traced: inputs with the batch where mapped, outputs where forced or
 * found.
 */
void cbx__batch_function(cbx__lists *l, const cbx__graph *g, size_t length, const bool *mapped, const bool *forced,
                         bool *out_mapped, cbx__traced *end);
/** A truth for each element of the batch, of as many axes as x. */
cbx_array *cbx__widened(cbx_ctx *ctx, const cbx_array *truth, const cbx_array *x);

#endif
