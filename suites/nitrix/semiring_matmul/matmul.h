/* What the files of this case share: the point as numbers, work models, and the plan of a native
 * baseline. */
#ifndef SUITES_NITRIX_SEMIRING_MATMUL_H
#define SUITES_NITRIX_SEMIRING_MATMUL_H

#include "calibrax/array/kernels/semiring.h"
#include "suites/common/plan.h"

/** A point read once. */
typedef struct cbx__sm_point {
    const cbx_semiring *semiring;
    cbx_dtype dtype;
    size_t m, k, n;
    uint64_t seed;
} cbx__sm_point;

cbx__sm_point cbx__sm_read(const cbx_params *params);
bool cbx__sm_is(const cbx_params *params, cbx_algebra id);

/* --- work models (work.c): each is a lower bound of what the algorithm must do --- */

void cbx__sm_work_stream(const cbx_params *params, cbx_work *out);
void cbx__sm_work_dense(const cbx_params *params, cbx_work *out);
void cbx__sm_work_tiled(const cbx_params *params, cbx_work *out);
/** The steps alone, with the bytes of A, B and C. */
void cbx__sm_work_steps(const cbx__sm_point *p, cbx_work *out);
/** Foreign loops: like stream and dense, but it is unknown how they compute an exp, or whether
 * they fuse the temporary away. */
void cbx__sm_work_foreign_stream(const cbx_params *params, cbx_work *out);
void cbx__sm_work_foreign_dense(const cbx_params *params, cbx_work *out);

/* --- the largest temporary that a dense baseline may ask for (work.c) --- */

bool cbx__sm_supports_dense(const cbx_params *params, const char **reason);
bool cbx__sm_supports_real(const cbx_params *params, const char **reason);

/* --- the oracle (oracle.c) --- */

struct cbx__suite_problem;
void cbx__sm_solve(const cbx__sm_point *p, const struct cbx__suite_problem *q);
/* Doubles that it needs for each element of a row: four long doubles; and the magnitudes of all
 * rows and columns. */
#define CBX__SM_ROW (4 * sizeof(long double) / sizeof(double))

/* --- native baselines --- */

/** The point of every native baseline's plan (suites/common/plan.h). */
typedef struct cbx__sm_plan {
    cbx__sm_point point; /* first */
    cbx_matmul product;  /* without operands; of baselines that call the tiled kernel */
} cbx__sm_plan;

/** A plan with so many bytes of scratch and spare memory (content undefined), product without
 * workspace. */
cbx_status cbx__sm_plan_create(cbx_ctx *ctx, const cbx_params *params, size_t scratch_bytes, size_t spare_bytes,
                               void **plan, cbx_err *err);
/** The product of a point, without operands, on one thread. */
cbx_matmul cbx__sm_product(const cbx__sm_point *p);
/** A plan of the tiled kernel. */
cbx_status cbx__sm_plan_product(cbx_ctx *ctx, const cbx_params *params, const cbx_matmul *product, size_t spare_bytes,
                                void **plan, cbx_err *err);
void cbx__sm_run_product(void *plan);
/** The `prepare` of a baseline, name: a product over `algebra` and the first k terms, of point p,
 * on one thread or, 0, on all that the worker has. */
#define CBX__SM_PREPARE(name, algebra, terms, threads_, spare)                                                         \
    static cbx_status name(cbx_ctx *ctx, const cbx_params *given, void **plan, cbx_err *err)                           \
    {                                                                                                                  \
        const cbx__sm_point p = cbx__sm_read(given);                                                                   \
        cbx_matmul product = cbx__sm_product(&p);                                                                      \
        product.semiring = cbx_semiring_get(algebra);                                                                  \
        product.k = terms;                                                                                             \
        product.threads = threads_;                                                                                    \
        return cbx__sm_plan_product(ctx, given, &product, spare, plan, err);                                           \
    }

/** Loops of stream and naive-dense, built for each instruction set (loops_isa.c). */
typedef struct cbx__sm_loops {
    void (*stream)(const cbx__suite_plan *plan); /* scratch: m*n elements for log */
    void (*dense)(const cbx__suite_plan *plan);  /* scratch: (m*k + 1)*n elements */
} cbx__sm_loops;

extern const cbx_baseline_ops cbx__sm_stream, cbx__sm_naive_dense, cbx__sm_tiled, cbx__sm_calibrax, cbx__sm_openblas,
    cbx__sm_pipes, cbx__sm_fed, cbx__sm_calibrax_cuda;
#define CBX__SM_FOREIGN 7
#define CBX__SM_MUTANTS 6
extern const cbx_baseline_ops cbx__sm_foreign[CBX__SM_FOREIGN], cbx__sm_mutants[CBX__SM_MUTANTS];

/** A native baseline; the work model and optional members come last. */
#define CBX__SM_NATIVE(name, summary, prepare, run, ...)                                                               \
    CBX__SUITE_NATIVE(name, summary, prepare, run, .work = __VA_ARGS__)

#endif
