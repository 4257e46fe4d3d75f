/**
 * The benchmark-case protocol: what a case offers, and what a baseline of it offers.
 *
 * A case is one const struct in one file.  It makes the inputs, has the right answer (an oracle
 * that shares no code with any baseline), bounds the error that a right implementation may have,
 * and lists the baselines in the order they are shown, the ratio reference first.  Native baselines
 * have functions; foreign ones (numpy, jax, torch ...) have a name, a provider and a work model,
 * and run in workers/python under that name.
 *
 * Plug-in promise: experimental; members are only ever added at the end, behind a new CBX_CASE_ABI.
 */
#ifndef CALIBRAX_PERF_CASE_CASE_H
#define CALIBRAX_PERF_CASE_CASE_H

#include "calibrax/array/array.h"
#include "calibrax/core/probe.h"
#include "calibrax/perf/case/params.h"

CBX_BEGIN_DECLS

#define CBX_CASE_ABI        6
#define CBX_CASE_MAX_ARRAYS 8

/** Work of one call, by formula: it depends on the point only, never on a measurement. */
typedef struct cbx_work {
    /* combine-and-update steps of the problem (m*n*k for a product), the unit of GMAC/s */
    double macs;
    double flop; /* floating-point operations this algorithm does (0 for boolean) */
    /* compulsory traffic of this algorithm: inputs, outputs and the temporaries it materialises */
    double bytes;
    cbx_pipe pipe;            /* pipe that bounds it ... */
    double pipe_ops;          /* ... and operations on that pipe, in lanes (core/probe.h) */
    double working_set_bytes; /* picks the cache level of the bound */
} cbx_work;

typedef struct cbx_baseline_ops {
    uint32_t struct_size, abi; /* sizeof, CBX_CASE_ABI */
    const char *name;          /* local to the case: "stream", "jax-naive" */
    const char *provider;      /* "native", "cuda" (native, on a GPU), "numpy", "jax", "torch" */
    const char *summary;       /* one line for --list */
    const char *slow_reason;   /* NULL: not slow.  Else why, with evidence; --skip-slow skips it */
    /* NULL: honest.  Else the planted fault; for selftest, must come out fidelity_failed */
    const char *mutant_reason;
    /** NULL: every point.  False, with a reason (static text), for a point this baseline is not
     * for: no attempt is made and no row written (NULL reason), or a `skipped` row with that
     * reason. */
    bool (*supports)(const cbx_params *point, const char **reason);
    void (*work)(const cbx_params *point, cbx_work *out);
    /* --- native baselines only; a foreign one has NULL in all of these --- */
    /** Checks the machine and sizes every buffer.  CBX_EUNAVAILABLE or CBX_EUNSUPPORTED becomes a
     * skipped row, CBX_ENOMEM an oom, another status a run error.  *plan is written on success
     * only; finish frees it. */
    cbx_status (*prepare)(cbx_ctx *ctx, const cbx_params *point, void **plan, cbx_err *err);
    /** Which buffers the next runs use; arrays are row-major and stay valid until the next bind or
     * finish. */
    void (*bind)(void *plan, cbx_array *const *in, cbx_array *const *out);
    /** Timed: no allocation, I/O, lock or error; writes every element of out (but see collect). */
    void (*run)(void *plan);
    void (*finish)(void *plan); /* NULL is fine */
    /** Optional: copies the result of the last run to the bound out, for a library that makes its
     * results itself; run then writes nothing there.  Never timed, called before outputs are looked
     * at, perhaps more than once. */
    void (*collect)(void *plan);
    /* --- since ABI 3 --- */
    /** Optional, of a foreign baseline: JSON that the worker gets with `load` as `definition`, for
     * a baseline that is not in the worker's own tables (calibrax/perf/case/declared.h makes
     * such). */
    const char *definition;
    /* --- since ABI 4 --- */
    /** NULL: a rival.  Else what it is the limit of, a sentence's tail ("reads the rows of B that
     * any such product reads"): a probe that is launched in turn with the rivals, does a part of
     * their work that none can leave out, and gives no answer.  Its outputs are not checked, it has
     * no ratio and no rank, and rivals' rows record the share of its rate that they reach.  Never
     * the reference, nor a mutant. */
    const char *limit;
    /* --- since ABI 6 --- */
    /** NULL: its answer is to lie within the bound.  Else why it does not ("operands in bfloat16"):
     * it is measured beside the others to show what less precision costs, its rows come out
     * fidelity_failed with their times, and a row that passes is an error. */
    const char *must_fail;
} cbx_baseline_ops;

typedef struct cbx_case_ops {
    uint32_t struct_size, abi;
    const char *name;    /* "semiring_matmul", also the file stem */
    const char *summary; /* one line for --list */
    const cbx_param_def *params;
    size_t nparams;
    const char *const *points; /* JSON objects in sweep order */
    size_t npoints;
    size_t representative;                    /* index of the point that --quick measures */
    const cbx_baseline_ops *const *baselines; /* [0] is the ratio reference; mutants last */
    size_t nbaselines;
    size_t ninputs, noutputs; /* <= CBX_CASE_MAX_ARRAYS */
    const char *const *input_names, *const *output_names;

    /** Short text for tables: "512x512x512 (log, f32)". */
    void (*label)(const cbx_params *point, char *buf, size_t size);
    /** dtype and shape of each output. */
    void (*outputs)(const cbx_params *point, cbx_array_desc *out);
    /** Makes the inputs, deterministic in the point (its seed included).  The caller frees
     * in[0..ninputs).
     * This and the next three return CBX_OK, or CBX_ENOMEM with nothing left to free; the arrays
     * are untouched on failure. */
    cbx_status (*make_inputs)(cbx_ctx *ctx, const cbx_params *point, cbx_array **in, cbx_err *err);
    /** The right answer in float64 (bool for bool), and for each element the largest |error| a
     * right baseline may have (float64).  Runs in a process of its own.  The caller frees answer[]
     * and bound[]. */
    cbx_status (*oracle)(cbx_ctx *ctx, const cbx_params *point, cbx_array *const *in, cbx_array **answer,
                         cbx_array **bound, cbx_err *err);
    /** Optional (NULL: inputs do not rotate).  Another problem of equal work whose answer is known
     * from the first one's: rotated inputs from inputs, variant number r >= 1 ... */
    cbx_status (*rotate_inputs)(cbx_ctx *ctx, const cbx_params *point, uint64_t r, cbx_array *const *in,
                                cbx_array **rotated, cbx_err *err);
    /** ... and the same transformation of an output-shaped array of any dtype (applied to answer
     * and to bound). */
    cbx_status (*rotate_output)(cbx_ctx *ctx, const cbx_params *point, uint64_t r, size_t output, const cbx_array *a,
                                cbx_array **rotated, cbx_err *err);
    /** Optional: rules between parameters ("boolean has dtype bool only").  CBX_EINVAL with a
     * sentence that names both. */
    cbx_status (*check_point)(const cbx_params *point, cbx_err *err);
    /* --- since ABI 3 --- */
    /** Optional: what cbx_params_user() of every point of this case gives, for functions that serve
     * many cases. */
    const void *user;
    /** Optional: the oracle is a function of this foreign provider, named by oracle_definition as a
     * baseline's is, and `oracle` is NULL.  Its worker answers with answer and bound. */
    const char *oracle_provider, *oracle_definition;
    /** Optional: what else the answer depends on, such as the hash of a file; part of the key under
     * which answers are kept. */
    const char *oracle_key;
    /* --- since ABI 5 --- */
    /** Optional: points of growing size for fits (growth_lines.h), five or more of each line;
     * measured when asked for, --points series. */
    const char *const *series;
    size_t nseries;
} cbx_case_ops;

/**
 * Checks a case's own table (sizes, abi, names, points parse, reference exists); tests and the
 * plug-in loader call it.
 * @return CBX_OK; CBX_EVERSION: another struct_size or abi; CBX_EINVAL or CBX_EFORMAT: a fault of
 *   the table, named; CBX_ENOMEM
 */
CBX_API cbx_status cbx_case_check(cbx_ctx *ctx, const cbx_case_ops *c, cbx_err *err);
/** A baseline by name, mutants too, borrowed from the case; NULL if it has none of that name. */
CBX_API const cbx_baseline_ops *cbx_case_baseline(const cbx_case_ops *c, const char *name);
/**
 * Parses a point of the case, missing parameters filled in, and applies the case's own rules.
 * @param what  where the text comes from, for messages ("--point")
 * @param out   the caller frees it with cbx_params_free; it borrows the case's table; written on
 *   success only
 * @return CBX_OK; CBX_EFORMAT: no JSON; CBX_EINVAL: no object, an unknown or missing name, a value
 *   that is not allowed; CBX_ENOMEM
 */
CBX_API cbx_status cbx_case_point(cbx_ctx *ctx, const cbx_case_ops *c, const char *json, const char *what,
                                  cbx_params **out, cbx_err *err);

/** The list of cases a program knows: an array the program passes (suites/suites.h); borrowed. */
typedef struct cbx_case_list {
    const cbx_case_ops *const *cases;
    size_t count;
} cbx_case_list;

/** A case by name, borrowed from the list; NULL if it has none of that name. */
CBX_API const cbx_case_ops *cbx_case_find(const cbx_case_list *list, const char *name);

CBX_END_DECLS
#endif
