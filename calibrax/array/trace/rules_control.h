/*
 * Inside the library: steps that the rules of control flow share.
 *
 * A function of control flow becomes another one: its graph is carried out with something beside,
 * within a trace.  Which values move (have a tangent, or a batch) is found by repetition: what a
 * step makes of a value that did not move may move, and then it moves in the next step, too.
 */
#ifndef CALIBRAX_ARRAY_TRACE_RULES_CONTROL_H
#define CALIBRAX_ARRAY_TRACE_RULES_CONTROL_H

#include "calibrax/array/fn_internal.h"
#include "calibrax/array/trace/derive.h"
#include "calibrax/array/trace/regions.h"

/** Lists of arrays and flags of one rule, which end together; the first failure of the rule. */
typedef struct cbx__lists {
    cbx_ctx *ctx;
    cbx_arena arena;
    cbx_err err;
    cbx_status st;
} cbx__lists;

void cbx__lists_open(cbx__lists *l, cbx_ctx *ctx);
/** n zeroed items and one more; NULL without memory, which is a failure of the rule. */
void *cbx__list_of(cbx__lists *l, size_t n, size_t size);
static inline cbx_array **cbx__array_list(cbx__lists *l, size_t n) { return cbx__list_of(l, n, sizeof(cbx_array *)); }
static inline bool *cbx__flag_list(cbx__lists *l, size_t n) { return cbx__list_of(l, n, sizeof(bool)); }
/** Frees the lists and records the failure, if there is one. */
void cbx__lists_close(cbx__lists *l);
/** Ends a trace whose results are made within a scope that was opened after it. */
void cbx__lists_end(cbx__lists *l, cbx__trace *t, cbx_scope *scope, size_t nout, cbx_array *const *out,
                    cbx__traced *end);

/** An array, or zeros as described in its place. */
static inline cbx_array *cbx__some(cbx_ctx *ctx, cbx_array *a, const cbx_array_desc *d)
{
    return a ? a : cbx__zeros_of(ctx, d);
}
/**
 * Inputs of a trace like those of a graph, from..from+n-1, where chosen (NULL: all); others stay
 * NULL.
 */
void cbx__inputs(cbx__lists *l, cbx__trace *t, const cbx__graph *g, size_t from, size_t n, const bool *chosen,
                 cbx_array **out);
/** The inputs of a graph in another order. */
void cbx__reorder(cbx__lists *l, cbx__graph *g, const size_t *order);
/** True if a flag of `found` was not in `known`, which it joins. */
bool cbx__grows(size_t n, bool *known, const bool *found);

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
