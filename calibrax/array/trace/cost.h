/**
 * Work of array operations, counted: what a function of arrays does, found by running it without
 * data, or with it.
 *
 *     cbx_cost_report r;
 *     const cbx_array_desc in[] = { { CBX_F32, 2, { 512, 512 } }, { CBX_F32, 2, { 512, 512 } } };
 *     cbx_cost_count(ctx, CBX_FN(product, NULL, 2, 1), 2, in, &r, &err); // r.total.flop == 2
 *     * 512^3
 *
 * What counts, for each primitive that the function comes down to:
 *   element by element  1 for each result (fma 2); of complex numbers +,- 2, * 6, / 11, == 2
 *   transcendental      sqrt, cbrt, exp, log, pow, trigonometry, erf, lgamma, hypot ...: 1 for each
 *                       result, apart from flop
 *   reduction           n - 1 for each result of n elements; cumulative: n - 1 a lane
 *   matmul              2 M N K; of complex numbers 8 M N K
 *   scatter             1 for each update that is joined with the old value; set: 0
 *   moves               copy, cast, pad, concat, take ...: 0; they show in the bytes
 *   factors, solvers    by the formulas of LAPACK Working Note 41 and Golub & Van Loan, 4 times for
 *                       complex numbers; FFT 5 n log2 n; sort n ceil(log2 n) comparisons:
 *                       CBX_COST_NOMINAL is set
 *   loops               body times trip count; a while_loop without values: once, and
 *                       CBX_COST_LOWER_BOUND is set
 *   cond, switch        the branch taken; where only data can tell, the dearest one, and
 *                       CBX_COST_DEAREST is set
 *   bytes               every operand once and every result once, each as dense; views (reshape,
 *                       permute_dims, broadcast_to, slice) none
 * Work on integers and booleans is in int_op and not in flop.  Each primitive counts as one
 * traversal of memory: a compiler that fuses moves less, down to in_bytes + out_bytes.  What the
 * compiled function does, step by step, is in a cbx_cost_program:
 *   kernels   flop, int_op: 1 for each arithmetic instruction and element (fma 2, as of complex
 *             numbers after they are taken apart), and n - 1 for each result that n elements are
 *             folded to; transcendental as above; bytes: the elements that it loads and stores,
 *             each once.  What a kernel computes again counts again.
 *   others    single operations: as above; control flow as if its functions were carried out
 *             operation by operation
 * Differs from XLA's cost analysis in: conversions (XLA: 1), clip (1 in both), loops (XLA: body
 * once), FFT, sort and factors.  One thread uses a context at a time.  Since 0.1.
 */
#ifndef CALIBRAX_ARRAY_TRACE_COST_H
#define CALIBRAX_ARRAY_TRACE_COST_H

#include "calibrax/array/backend.h"
#include "calibrax/array/fn.h"
#include "calibrax/core/probe.h"

CBX_BEGIN_DECLS

enum {
    CBX_COST_NOMINAL = 1,     /* a part follows the formula of the usual algorithm */
    CBX_COST_LOWER_BOUND = 2, /* a part has no known number of rounds and was counted once, or its work is not known */
    CBX_COST_DEAREST = 4,     /* of branches that cost differently the dearest was taken */
    CBX_COST_OVERFLOW = 8     /* a count passed 2^64 - 1 and stays there */
};

typedef struct cbx_cost {
    uint64_t flop;           /* on real and complex numbers */
    uint64_t int_op;         /* on integers and booleans */
    uint64_t transcendental; /* functions, each 1, not in flop */
    uint64_t bytes_read, bytes_written;
    uint64_t calls; /* primitives */
    unsigned flags; /* CBX_COST_... */
} cbx_cost;

typedef struct cbx_cost_report {
    cbx_cost total;
    uint64_t in_bytes, out_bytes;     /* of operands and results of the function: what no fusion can save */
    cbx_cost by_prim[CBX_PRIM_LIMIT]; /* by the number of the primitive; sums to total */
} cbx_cost_report;

#define CBX_COST_FUNCTIONS 12 /* of a step that have a count of their own */

typedef struct cbx_cost_function {
    cbx_prim prim; /* a function, or CBX_PRIM_DIV */
    uint64_t n;
} cbx_cost_function;

/** One step of a compiled function. */
typedef struct cbx_cost_step {
    char text
        [120]; /* "kernel over (1000): loads %0, stores %4", "%5 = matmul %0 %1" of values of the simplified graph; may be cut */
    bool is_kernel;   /* else one operation of the backend */
    bool is_f64;      /* it works on elements of 8 bytes or more */
    unsigned threads; /* that it is divided over, at most */
    bool is_streamed; /* its results go past the caches */
    cbx_cost work;
    uint64_t scratch_bytes; /* that a kernel needs while it runs */
    uint64_t sums;          /* of its flop, additions along rows, whose order is fixed */
    uint64_t chain;         /* operations of a scan that wait for one another */
    size_t nfunctions;      /* of a kernel; functions beyond the list count as its last one */
    cbx_cost_function functions[CBX_COST_FUNCTIONS];
} cbx_cost_step;

/** How long compiling took, stage by stage [s]. */
typedef struct cbx_compile_times {
    double trace_s;      /* the function was run with operands without data */
    double simplify_s;   /* its graph was made smaller */
    double plan_s;       /* what is stored, what is computed by which kernel */
    double kernels_s;    /* loop nests, kernels, the steps */
    double code_s;       /* machine code: made, or loaded from the cache */
    bool is_cached;      /* the code was on disk */
    size_t code_bytes;   /* of machine code; 0: kernels are interpreted, or none is left */
    const char *emitter; /* "llvm", "interpreter" */
} cbx_compile_times;

/** A function as a backend has compiled it, for one list of shapes. */
typedef struct cbx_cost_program {
    cbx_cost total; /* of all steps, which are its calls */
    /* greatest at a time: operands, constants, results, arrays that operations make, the workspace
     * of what is stored on the way, and scratch of kernels, each if it is more than 1 KiB.  Not
     * what other operations take for themselves while they run, as products of matrices do */
    uint64_t peak_bytes;
    size_t nsteps, nkernels;
    cbx_cost_step *steps; /* in order */
    cbx_compile_times times;
    cbx_allocator al;
} cbx_cost_program;

/** Work of one operation that passed cbx_prim_infer.  Safe from any thread. */
CBX_API cbx_cost cbx_cost_of_op(const cbx_op *op);
/** sum += c, so many times; what passes 2^64 - 1 stays there and sets CBX_COST_OVERFLOW. */
CBX_API void cbx_cost_add(cbx_cost *sum, const cbx_cost *c, uint64_t times);
/** Inside the library: adds an operation that is carried out; control flow counts by what its
 * functions do. */
void cbx__cost_count(cbx_cost *by_prim, const cbx_op *op);
struct cbx__graph;
struct cbx__node;
/** Inside the library: the work of a node, of control flow too.  false: out of memory. */
bool cbx__cost_of_node(const cbx_allocator *al, const struct cbx__graph *g, const struct cbx__node *node,
                       cbx_cost *out);

/**
 * Traces f for operands so described and counts what it does; nothing that depends on them is
 * computed.
 * @param out  written on success only
 * @return as cbx_fn_run; CBX_EINVAL also if f reads elements or a shape depends on data:
 *   cbx_cost_count_run counts those
 */
CBX_API cbx_status cbx_cost_count(cbx_ctx *ctx, const cbx_fn *f, size_t nin, const cbx_array_desc *in,
                                  cbx_cost_report *out, cbx_err *err);
/**
 * Runs f once for its results on the context's backend and counts what is done on the way: loops
 * and branches as they fall. What a backend compiled before (cbx_jit) is beyond it: give it the
 * function itself.
 * @param results  nout, the caller's to free; NULL: not wanted
 * @param out      written on success only
 * @return as cbx_fn_run
 */
CBX_API cbx_status cbx_cost_count_run(cbx_ctx *ctx, const cbx_fn *f, size_t nin, cbx_array *const *in, size_t nout,
                                      cbx_array **results, cbx_cost_report *out, cbx_err *err);

/**
 * Compiles f for operands so described as cbx_jit does, and counts what the steps of the program
 * do.  The program is not kept.
 * @param work  the operations of f, as cbx_cost_count; NULL: not wanted
 * @param out   written on success only; for cbx_cost_program_clear
 * @return as cbx_cost_count; CBX_EUNSUPPORTED (the context's backend does not compile, or has no
 *   such numbers)
 */
CBX_API cbx_status cbx_cost_compile(cbx_ctx *ctx, const cbx_fn *f, size_t nin, const cbx_array_desc *in,
                                    cbx_cost_report *work, cbx_cost_program *out, cbx_err *err);
/**
 * The same of a function of cbx_jit, as a call with such operands compiles it: now, if there was
 * none.  Later calls use that code.
 * @return as cbx_cost_compile; CBX_EINVAL (not a function of cbx_jit, count; it reads arrays of a
 *   function that is traced)
 */
CBX_API cbx_status cbx_cost_compiled(cbx_ctx *ctx, const cbx_fn *f, size_t nin, const cbx_array_desc *in,
                                     cbx_cost_program *out, cbx_err *err);
/** NULL and a zeroed struct are fine. */
CBX_API void cbx_cost_program_clear(cbx_cost_program *p);

/* ---- predicted times ---- */

#define CBX_COST_STEP_S 50e-9 /* to launch a step */

/** What this machine takes, one core. */
typedef struct cbx_cost_rates {
    cbx_probe probe;
    double call_s;  /* [s] a compiled function of one element, called from C */
    double chain_s; /* [s] an addition or multiplication of float64 that waits for the one before */
    double op_s
        [2]; /* [0: f32, 1: f64, so in the next ones] [s] an addition or multiplication in a long kernel, of one element */
    double sum_s[2]; /* [s] an element of a row that is summed */
    double function_s[CBX_PRIM_LIMIT]
                     [2]; /* [s] a result of a primitive: a function or a division; 0: not measured, as exp */
} cbx_cost_rates;

/**
 * The rates of this machine, measured in about half a second (on compiled functions of numbers
 * between 0.2 and 0.8 in the nearest cache) and cached beside the probe, for machine, revision
 * and build.
 * @param refresh  measure again, the probe too
 * @param out      written on success only
 * @return CBX_OK; as cbx_probe_get; CBX_ENOMEM.  A cache folder that cannot be written is no error:
 *   then each call measures.
 */
CBX_API cbx_status cbx_cost_rates_get(cbx_ctx *ctx, bool refresh, cbx_cost_rates *out, cbx_err *err);

/**
 * Predicted time of a step, by its roofline: the greater of
 *     arithmetic  of kernels flop, int_op, functions, divisions and sums by their times; of other
 *                 operations flop / 2 / rate of the probe's fma + int_op / rate of add + functions
 *     bytes       what is read beyond what is written, by the read rate of the level of the probe
 *                 that holds all, the rest by its copy rate; of results that go past the caches by
 *                 the triad with streaming stores
 * divided by its threads, but no less than its chain; and CBX_COST_STEP_S.  It is a lower bound for
 * operations whose work is not arithmetic, as sort.
 * Source: Williams, Waterman & Patterson, Commun. ACM 52 (2009) 65-76.
 * @return [s]
 */
CBX_API double cbx_cost_step_seconds(const cbx_cost_step *step, const cbx_cost_rates *rates);
/** The sum over all steps, and what a call costs [s]. */
CBX_API double cbx_cost_program_seconds(const cbx_cost_program *p, const cbx_cost_rates *rates);

CBX_END_DECLS
#endif
