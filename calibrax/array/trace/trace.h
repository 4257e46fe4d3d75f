/*
 * Inside the library: traces, functions run with operands that record what is done with them.
 *
 * Open traces of a context are a stack.  An operation on traced operands is recorded in the
 * innermost of their traces, or in the innermost trace that stages, if that is further in; what it
 * needs from further out it captures.  A trace that stages (of control flow, of a compiled
 * function) records every operation on abstract operands, and those without operands; one that does
 * not (the linear part of a derivative) only what depends on its own inputs.  Operations on arrays
 * with data alone are carried out at once.
 */
#ifndef CALIBRAX_ARRAY_TRACE_TRACE_H
#define CALIBRAX_ARRAY_TRACE_TRACE_H

#include "calibrax/array/backend.h"
#include "calibrax/array/fn_internal.h"
#include "calibrax/array/trace/graph.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/base/idioms.h"

struct cbx__state;

typedef struct cbx__trace {
    struct cbx__trace *outer;
    cbx_ctx *ctx;
    uint64_t id; /* never used twice in a process, never 0 */
    bool stages;
    cbx__graph *graph;
    cbx_table nodes, captured;     /* by what they do; by handle */
    CBX_LIST(cbx_array *) handles; /* captured ones, counted; those of abstract arrays are inputs behind the others */
} cbx__trace;

/**
 * A finished trace: its graph, and the abstract arrays of outer traces that its last inputs are.
 */
typedef struct cbx__traced {
    cbx__graph *graph;
    size_t ncaptured;
    cbx_array **captured; /* counted */
} cbx__traced;

/** Opens a trace; it lives with the caller until cbx__trace_end. */
cbx_status cbx__trace_begin(cbx_ctx *ctx, const char *name, bool stages, cbx__trace *t, cbx_err *err);
/** A new input, the caller's. */
cbx_status cbx__trace_input(cbx__trace *t, const cbx_array_desc *desc, cbx_array **out, cbx_err *err);
/**
 * Closes the trace, which is the innermost.
 * @param st   not CBX_OK: the trace is dropped and st returned
 * @param out  nout results: arrays of any kind
 * @param end  the caller's to clear, written on success only
 */
cbx_status cbx__trace_end(cbx__trace *t, cbx_status st, size_t nout, cbx_array *const *out, cbx__traced *end,
                          cbx_err *err);
void cbx__traced_clear(cbx__traced *t);

/**
 * The trace that an operation on such operands belongs to, NULL: none; CBX_EINVAL: an operand's
 * trace has ended.
 */
cbx_status cbx__trace_find(struct cbx__state *s, size_t nin, const cbx_array *const *in, cbx_prim prim,
                           cbx__trace **out, cbx_err *err);
/** Records an operation that passed cbx_prim_infer; out[] are abstract, the caller's. */
cbx_status cbx__trace_record(cbx__trace *t, const cbx_call *call, cbx_array **out, cbx_err *err);

/** Traces f for operands so described. */
cbx_status cbx__trace_fn(cbx_ctx *ctx, const cbx_fn *f, const cbx_array_desc *in, cbx__traced *out, cbx_err *err);
/**
 * Runs a traced function: its captured arrays follow in.  out[] are the caller's, written on
 * success only.
 */
cbx_status cbx__traced_eval(cbx_ctx *ctx, const cbx__traced *t, size_t nin, cbx_array *const *in, cbx_array **out,
                            cbx_err *err);

#endif
