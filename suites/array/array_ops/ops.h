/*
 * What the files of this case share: the table of functions, the point as numbers, the plan of
 * baselines that call the engine.
 */
#ifndef SUITES_ARRAY_ARRAY_OPS_H
#define SUITES_ARRAY_ARRAY_OPS_H

#include "calibrax/perf/case/case.h"
#include "suites/common/engine.h"
#include "suites/common/plan.h"

#define CBX__AO_INPUTS 3
#define CBX__AO_BINS   1000 /* of bincount: its counts stay in the nearest cache */
#define CBX__AO_CELLS  100  /* of histogram */
#define CBX__AO_EDGES  101  /* of digitize */
#define CBX__AO_RANK   40.0 /* of percentile */
#define CBX__AO_DELAYS 64   /* points of a curve that is fitted */
#define CBX__AO_FITTED 4    /* parameters of a model */
#define CBX__AO_SPACE  3    /* coordinates of a point in space */

/** What an operand holds. */
typedef enum cbx__ao_kind {
    CBX__AO_NONE,      /* no operand: an empty array */
    CBX__AO_NUMBERS,   /* n numbers of the point's dtype */
    CBX__AO_MATRIX,    /* the same as rows by columns */
    CBX__AO_TABLE,     /* n numbers that are looked up: they do not turn with the indices */
    CBX__AO_RISING,    /* CBX__AO_EDGES numbers in rising order */
    CBX__AO_CONDITION, /* n bools */
    CBX__AO_INDICES,   /* n places below n, int64 */
    CBX__AO_LABELS,    /* n bins below CBX__AO_BINS, int64 */
    CBX__AO_GAPS,      /* n numbers, an eighth of them NaN */
    CBX__AO_GRID,      /* n multiples of 2^-20 from 0 to below CBX__AO_CELLS */
    CBX__AO_AMOUNT,    /* one number, rank 0, that scales with the result */
    CBX__AO_FACTOR,    /* one number of 0.5 to 1, rank 0 */
    CBX__AO_UNIT,      /* n numbers of 0.5 to 1.5 */
    CBX__AO_FOUR,      /* CBX__AO_FITTED of them */
    CBX__AO_FITS,      /* n rows of the parameters of a curve */
    CBX__AO_TIMES,     /* CBX__AO_DELAYS delays */
    CBX__AO_CURVES,    /* n rows of a curve's values there */
    CBX__AO_POINTS     /* n points in space */
} cbx__ao_kind;

/** Shape and dtype of the result. */
typedef enum cbx__ao_result {
    CBX__AO_EACH,              /* n of the point's dtype */
    CBX__AO_PLACES,            /* n int64 */
    CBX__AO_ONE,               /* a number of the point's dtype */
    CBX__AO_COLUMNS,           /* a number for each column */
    CBX__AO_ROWS,              /* a number for each row */
    CBX__AO_COUNTS,            /* CBX__AO_BINS int64 */
    CBX__AO_TOTALS,            /* CBX__AO_BINS float64 */
    CBX__AO_CELLED,            /* CBX__AO_CELLS int64 */
    CBX__AO_GRADIENT,          /* CBX__AO_FITTED numbers */
    CBX__AO_ROWS_OF_GRADIENTS, /* n rows of them */
    CBX__AO_JACOBIANS,         /* n times CBX__AO_DELAYS rows of them */
    CBX__AO_VECTORS            /* n vectors in space */
} cbx__ao_result;

/** Another problem of equal work whose answer is known exactly from the first one's. */
typedef enum cbx__ao_turn {
    CBX__AO_SHIFT,  /* operands of n elements or rows shift in a circle, and the result with them */
    CBX__AO_SCALE,  /* numbers (those that the result is linear in) times a power of two, and the result with them */
    CBX__AO_RELABEL /* bins shift in a circle, and the result with them */
} cbx__ao_turn;

typedef struct cbx__ao_point cbx__ao_point;

/** The operands as doubles, which hold every number exactly that the inputs are made of. */
typedef struct cbx__ao_problem {
    const cbx__ao_point *p;
    double u; /* unit roundoff of the dtype; 0 for integers */
    const double *in[CBX__AO_INPUTS];
    double *answer, *bound; /* bound: zeros until written */
} cbx__ao_problem;

typedef struct cbx__ao_op {
    const char *name;
    unsigned dtypes; /* bits by cbx_dtype; the first of f64, f32, i64 is the fallback */
    cbx__ao_kind in[CBX__AO_INPUTS];
    cbx__ao_result result;
    cbx__ao_turn turn;
    cbx_pipe pipe;
    double each; /* operations on that pipe that no implementation can do without, for each step */
    cbx_array *(*call)(cbx_ctx *ctx, cbx_array *const *in, size_t n);
    void (*solve)(const cbx__ao_problem *q);
} cbx__ao_op;

struct cbx__ao_point {
    const cbx__ao_op *op;
    cbx_dtype dtype;
    size_t n, rows, columns; /* rows: the largest divisor of n up to its root */
    uint64_t seed;
};

extern const cbx__ao_op cbx__ao_ops[];
extern const char *const cbx__ao_names[]; /* NULL behind the last */

cbx__ao_point cbx__ao_read(const cbx_params *params);
/** Word of the fallback dtype. */
const char *cbx__ao_fitting_dtype(const cbx_params *before);
void cbx__ao_input(const cbx__ao_point *p, size_t i, cbx_array_desc *out);
void cbx__ao_output(const cbx__ao_point *p, cbx_array_desc *out);
void cbx__ao_work(const cbx_params *params, cbx_work *out);
/** Steps of one call: elements, values of curves, or pairs of points. */
double cbx__ao_steps(const cbx__ao_point *p);
/** Number of operands; CBX__AO_NONE come last. */
size_t cbx__ao_operands(const cbx__ao_op *op);

/* --- functions of more than one operation (functions.c) --- */

typedef cbx_array *cbx__ao_call(cbx_ctx *c, cbx_array *const *in);
cbx__ao_call cbx__ao_expression, cbx__ao_chain100, cbx__ao_histogram, cbx__ao_traced_digitize, cbx__ao_traced_bincount,
    cbx__ao_traced_bincount_weights, cbx__ao_traced_histogram, cbx__ao_model, cbx__ao_model_grad_p,
    cbx__ao_model_grad_x, cbx__ao_scan, cbx__ao_scan_grad, cbx__ao_kww, cbx__ao_kww_grad, cbx__ao_kww_jac, cbx__ao_rbf,
    cbx__ao_rbf_grad;
cbx_array *cbx__ao_fori(cbx_ctx *c, cbx_array *const *in, size_t n);

/* --- the table: name, dtypes, operands, result, turn, pipe, operations of an element (exp as in
 * semiring_matmul, its fewest of float32), call; and of each a function that solves it
 * (oracle.c) --- */

#define CBX__AO_OPS(X)                                                                                                 \
    X(add, NUMBERS, NUMBERS, NUMBERS, NONE, EACH, SHIFT, ADD, 1, cbx_add(c, in[0], in[1]))                             \
    X(exp, FLOATS, NUMBERS, NONE, NONE, EACH, SHIFT, FMA, 7, cbx_exp(c, in[0]))                                        \
    X(where, NUMBERS, NUMBERS, NUMBERS, CONDITION, EACH, SHIFT, MAX, 0, cbx_where(c, in[2], in[0], in[1]))             \
    X(take, NUMBERS, TABLE, INDICES, NONE, EACH, SHIFT, MAX, 0, cbx_take(c, in[0], in[1], 0))                          \
    X(digitize, FLOATS, NUMBERS, RISING, NONE, PLACES, SHIFT, MAX, 0, cbx_digitize(c, in[0], in[1]))                   \
    X(sum, NUMBERS, NUMBERS, NONE, NONE, ONE, SCALE, ADD, 1, cbx_sum(c, in[0], NULL))                                  \
    X(sum_axis0, FLOATS, MATRIX, NONE, NONE, COLUMNS, SCALE, ADD, 1, cbx_sum(c, in[0], CBX_AXIS(0)))                   \
    X(sum_axis1, FLOATS, MATRIX, NONE, NONE, ROWS, SCALE, ADD, 1, cbx_sum(c, in[0], CBX_AXIS(1)))                      \
    X(mean, FLOATS, NUMBERS, NONE, NONE, ONE, SCALE, ADD, 1, cbx_mean(c, in[0], NULL))                                 \
    X(std, FLOATS, NUMBERS, NONE, NONE, ONE, SCALE, ADD, 1, cbx_std(c, in[0], NULL, 0))                                \
    X(max, NUMBERS, NUMBERS, NONE, NONE, ONE, SCALE, MAX, 1, cbx_max(c, in[0], NULL))                                  \
    X(cumsum, NUMBERS, NUMBERS, NONE, NONE, EACH, SCALE, ADD, 1, cbx_cumulative_sum(c, in[0], 0))                      \
    X(sort, NUMBERS, NUMBERS, NONE, NONE, EACH, SCALE, MAX, 0, cbx_sort(c, in[0], 0, false))                           \
    X(percentile, F64, NUMBERS, NONE, NONE, ONE, SCALE, MAX, 0, cbx_percentile(c, in[0], CBX__AO_RANK, NULL))          \
    X(bincount, I64, LABELS, NONE, NONE, COUNTS, RELABEL, ADD, 0, cbx_bincount(c, in[0], NULL, CBX__AO_BINS))          \
    X(bincount_weights, F64, LABELS, NUMBERS, NONE, TOTALS, RELABEL, ADD, 0,                                           \
      cbx_bincount(c, in[0], in[1], CBX__AO_BINS))                                                                     \
    X(median, F64, NUMBERS, NONE, NONE, ONE, SCALE, MAX, 0, cbx_median(c, in[0], NULL))                                \
    X(nanmean, F64, GAPS, NONE, NONE, ONE, SCALE, ADD, 1, cbx_nanmean(c, in[0], NULL))                                 \
    X(histogram, F64, GRID, NONE, NONE, CELLED, RELABEL, MAX, 0, cbx__ao_histogram(c, in))                             \
    X(expression, F64, NUMBERS, NUMBERS, NONE, EACH, SHIFT, FMA, 9, cbx__ao_expression(c, in))                         \
    X(chain100, F64, NUMBERS, NUMBERS, NONE, EACH, SHIFT, FMA, 50, cbx__ao_chain100(c, in))                            \
    X(model, F64, UNIT, FOUR, AMOUNT, ONE, SCALE, FMA, 20, cbx__ao_model(c, in))                                       \
    X(model_grad_p, F64, UNIT, FOUR, AMOUNT, GRADIENT, SCALE, FMA, 20, cbx__ao_model_grad_p(c, in))                    \
    X(model_grad_x, F64, UNIT, FOUR, AMOUNT, EACH, SCALE, FMA, 20, cbx__ao_model_grad_x(c, in))                        \
    X(scan, F64, UNIT, AMOUNT, NONE, ONE, SCALE, FMA, 4, cbx__ao_scan(c, in))                                          \
    X(scan_grad, F64, UNIT, AMOUNT, NONE, EACH, SCALE, FMA, 4, cbx__ao_scan_grad(c, in))                               \
    X(fori, F64, AMOUNT, AMOUNT, FACTOR, ONE, SCALE, FMA, 1, cbx__ao_fori(c, in, n))                                   \
    X(kww, F64, FITS, TIMES, CURVES, EACH, SHIFT, FMA, 14, cbx__ao_kww(c, in))                                         \
    X(kww_grad, F64, FITS, TIMES, CURVES, ROWS_OF_GRADIENTS, SHIFT, FMA, 14, cbx__ao_kww_grad(c, in))                  \
    X(kww_jac, F64, FITS, TIMES, CURVES, JACOBIANS, SHIFT, FMA, 14, cbx__ao_kww_jac(c, in))                            \
    X(rbf, F64, POINTS, POINTS, NUMBERS, EACH, SCALE, FMA, 10, cbx__ao_rbf(c, in))                                     \
    X(rbf_grad, F64, POINTS, POINTS, NUMBERS, VECTORS, SCALE, FMA, 10, cbx__ao_rbf_grad(c, in))
#define CBX__AO_SOLVER(name, ...) void cbx__ao_solve_##name(const cbx__ao_problem *q);
CBX__AO_OPS(CBX__AO_SOLVER)
#undef CBX__AO_SOLVER

/* --- members of the case --- */

cbx_status cbx__ao_make_inputs(cbx_ctx *ctx, const cbx_params *params, cbx_array **in, cbx_err *err);
cbx_status cbx__ao_rotate_inputs(cbx_ctx *ctx, const cbx_params *params, uint64_t r, cbx_array *const *in,
                                 cbx_array **rotated, cbx_err *err);
cbx_status cbx__ao_rotate_output(cbx_ctx *ctx, const cbx_params *params, uint64_t r, size_t output, const cbx_array *a,
                                 cbx_array **rotated, cbx_err *err);

/* --- native baselines --- */

/** Plan of the engine and of the mutants made of it. */
typedef struct cbx__ao_plan {
    cbx__suite_engine call; /* first */
    cbx__ao_point point;
} cbx__ao_plan;

cbx_status cbx__ao_plan_create(cbx_ctx *ctx, const cbx_params *params, void **plan, cbx_err *err);
void cbx__ao_plan_run(void *plan);

#define CBX__AO_CALL(name, summary, run_, collect_, ...)                                                               \
    CBX__SUITE_BASELINE(name, "native", summary, .work = cbx__ao_work, .prepare = cbx__ao_plan_create,                 \
                        .bind = cbx__suite_engine_bind, .run = run_, .finish = cbx__suite_engine_finish,               \
                        .collect = collect_, __VA_ARGS__)

#define CBX__AO_MUTANTS 4

extern const cbx_baseline_ops cbx__ao_compiled, cbx__ao_engine, cbx__ao_stream, cbx__ao_memory,
    cbx__ao_mutants[CBX__AO_MUTANTS];

#endif
