/**
 * Work of array operations, counted: what a function of arrays does, found by running it without data, or with it.
 *
 *     cbx_cost_report r;
 *     const cbx_array_desc in[] = { { CBX_F32, 2, { 512, 512 } }, { CBX_F32, 2, { 512, 512 } } };
 *     cbx_cost_count(ctx, CBX_FN(product, NULL, 2, 1), 2, in, &r, &err);     // r.total.flop == 2 * 512^3
 *
 * What counts, for each primitive that the function comes down to:
 *   element by element  1 for each result (fma 2); of complex numbers +,- 2, * 6, / 11, == 2
 *   transcendental      sqrt, cbrt, exp, log, pow, trigonometry, erf, lgamma, hypot ...: 1 for each result, apart from flop
 *   reduction           n - 1 for each result of n elements; cumulative: n - 1 a lane
 *   matmul              2 M N K; of complex numbers 8 M N K
 *   scatter             1 for each update that is joined with the old value; set: 0
 *   moves               copy, cast, pad, concat, take ...: 0; they show in the bytes
 *   factors, solvers    by the formulas of LAPACK Working Note 41 and Golub & Van Loan, 4 times for complex numbers; FFT 5 n log2 n;
 *                       sort n ceil(log2 n) comparisons: CBX_COST_NOMINAL is set
 *   loops               body times trip count; a while_loop without values: once, and CBX_COST_LOWER_BOUND is set
 *   cond, switch        the branch taken; where only data can tell, the dearest one, and CBX_COST_DEAREST is set
 *   bytes               every operand once and every result once, each as dense; views (reshape, permute_dims, broadcast_to, slice) none
 * Work on integers and booleans is in int_op and not in flop.  Each primitive counts as one traversal of memory: a compiler that
 * fuses moves less, down to in_bytes + out_bytes.
 * Differs from XLA's cost analysis in: conversions (XLA: 1), clip (1 in both), loops (XLA: body once), FFT, sort and factors.
 * One thread uses a context at a time.  Since 0.1.
 */
#ifndef CALIBRAX_ARRAY_TRACE_COST_H
#define CALIBRAX_ARRAY_TRACE_COST_H

#include "calibrax/array/backend.h"
#include "calibrax/array/fn.h"

CBX_BEGIN_DECLS

enum {
    CBX_COST_NOMINAL = 1,     /* a part follows the formula of the usual algorithm */
    CBX_COST_LOWER_BOUND = 2, /* a part has no known number of rounds and was counted once */
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

/** Work of one operation that passed cbx_prim_infer.  Safe from any thread. */
CBX_API cbx_cost cbx_cost_of_op(const cbx_op *op);
/** sum += c, so many times; what passes 2^64 - 1 stays there and sets CBX_COST_OVERFLOW. */
CBX_API void cbx_cost_add(cbx_cost *sum, const cbx_cost *c, uint64_t times);
/** Inside the library: adds an operation that is carried out; control flow counts by what its functions do. */
void cbx__cost_count(cbx_cost *by_prim, const cbx_op *op);

/**
 * Traces f for operands so described and counts what it does; nothing that depends on them is computed.
 * @param out  written on success only
 * @return as cbx_fn_run; CBX_EINVAL also if f reads elements or a shape depends on data: cbx_cost_count_run counts those
 */
CBX_API cbx_status cbx_cost_count(cbx_ctx *ctx, const cbx_fn *f, size_t nin, const cbx_array_desc *in,
                                  cbx_cost_report *out, cbx_err *err);
/**
 * Runs f once for its results on the context's backend and counts what is done on the way: loops and branches as they fall.
 * What a backend compiled before (cbx_jit) is beyond it: give it the function itself.
 * @param results  nout, the caller's to free; NULL: not wanted
 * @param out      written on success only
 * @return as cbx_fn_run
 */
CBX_API cbx_status cbx_cost_count_run(cbx_ctx *ctx, const cbx_fn *f, size_t nin, cbx_array *const *in, size_t nout,
                                      cbx_array **results, cbx_cost_report *out, cbx_err *err);

CBX_END_DECLS
#endif
