/**
 * Work of a call: floating-point operations and bytes, and where the numbers come from.
 *
 * Best first: the trace of a function of arrays counts exactly, by the conventions of
 * calibrax/array/trace/cost.h; hardware counters (PAPI, else the kernel's) count the instructions
 * that the CPU retired, of any code; declared work is an assertion of the caller.  A result names
 * its source, and why a better one was not available.
 */
#ifndef CALIBRAX_PROFILING_FLOPS_H
#define CALIBRAX_PROFILING_FLOPS_H

#include "calibrax/array/fn.h"
#include "calibrax/profiling/timing.h"

CBX_BEGIN_DECLS

/* name, words */
#define CBX_FLOPS_SOURCE_MAP(X)                                                                                        \
    X(NONE, "none")                                                                                                    \
    X(TRACE, "trace")       /* a function of arrays, without data */                                                   \
    X(RUN, "run")           /* a function of arrays, with data: loops and branches as they were taken */               \
    X(PAPI, "papi")         /* */                                                                                      \
    X(PERF, "perf_event")   /* */                                                                                      \
    X(DECLARED, "declared") /* */                                                                                      \
    X(XLA, "xla")           /* of a Python function, as XLA counts: a loop's body once */

typedef enum cbx_flops_source {
#define CBX_FLOPS_SOURCE_ENUM(name, words) CBX_FLOPS_##name,
    CBX_FLOPS_SOURCE_MAP(CBX_FLOPS_SOURCE_ENUM)
#undef CBX_FLOPS_SOURCE_ENUM
        CBX_FLOPS_SOURCE_COUNT
} cbx_flops_source;

/** "perf_event"; "?" for an invalid number */
CBX_API const char *cbx_flops_source_name(cbx_flops_source s);

/** Of one call; NaN: unknown to the source. */
typedef struct cbx_flops {
    cbx_flops_source source;
    double flop;
    double transcendental, int_op; /* traces only; hardware counts them in flop */
    /* read and written; traces: every operation as a separate pass */
    double bytes;
    double bytes_least; /* words:ok  operands and results of the whole function */
    unsigned flags;     /* CBX_COST_..., of traces */
    char events[96];    /* of hardware: "PAPI_DP_OPS + PAPI_SP_OPS"; else "" */
    char why[640];      /* why no better source was used; "": none was tried */
} cbx_flops;

/** By trace.  @return as cbx_cost_count */
CBX_API cbx_status cbx_flops_of_fn(cbx_ctx *ctx, const cbx_fn *f, size_t nin, const cbx_array_desc *in, cbx_flops *out,
                                   cbx_err *err);
/** By trace; if that must guess (a loop of unknown length, a branch on data), by a run with these
 * operands.
 * @return as cbx_cost_count_run */
CBX_API cbx_status cbx_flops_of_fn_with(cbx_ctx *ctx, const cbx_fn *f, size_t nin, cbx_array *const *in, cbx_flops *out,
                                        cbx_err *err);

typedef struct cbx_flops_opts {
    uint32_t struct_size;
    uint64_t calls;                       /* that are counted together; 0: 1 */
    bool has_declared;                    /* the next two hold */
    double declared_flop, declared_bytes; /* of one call, >= 0; NaN: unknown */
    bool no_hardware;                     /* counters are not to be tried */
    const char *papi;                     /* path of a library instead of PAPI's; NULL: that */
    bool no_perf_event;                   /* the kernel's counters are not to be tried */
} cbx_flops_opts;

#define CBX_FLOPS_OPTS_INIT CBX_OPTS(cbx_flops_opts, 0, 0, 0, 0, 0, 0, 0)

/**
 * Of any code: calls fn(user) once uncounted, then `calls` times under hardware counters, if there
 * are any; else what was declared.  Counters see this thread and those that it starts; work of
 * other threads is missing.
 * @param opts  NULL: all defaults
 * @param out   without a source, source is CBX_FLOPS_NONE and flop NaN; why lists what was tried
 * @return CBX_OK; CBX_EINVAL (no fn, struct_size, declared work below 0); CBX_ENOMEM; CBX_EIO: a
 *   counter that broke
 */
CBX_API cbx_status cbx_flops_of_calls(cbx_ctx *ctx, cbx_timed_fn fn, void *user, const cbx_flops_opts *opts,
                                      cbx_flops *out, cbx_err *err);

CBX_END_DECLS
#endif
