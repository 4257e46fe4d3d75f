/* The native baselines and the plan that they share: `stream` (the ratio reference: for each kk,
 * update all of C), `naive-dense` (the textbook form of array languages: materialise the m x k x n
 * terms, then reduce over k), the toolkit's own kernel (calibrax/array/kernels/semiring.h) on one
 * thread and on all that the worker has, and its limits: the steps of the product on registers
 * alone, and the same steps with operands from the first-level cache, as any product has to read
 * them. */
#include "suites/nitrix/semiring_matmul/matmul.h"
#include "suites/suites.h"

/* --- the plan --- */

cbx_status cbx__sm_plan_create(cbx_ctx *ctx, const cbx_params *params, size_t scratch_bytes, size_t spare_bytes,
                               void **plan, cbx_err *err)
{
    cbx__sm_plan p = { .point = cbx__sm_read(params) };
    p.product = cbx__sm_product(&p.point);
    return cbx__suite_plan_create(ctx, &cbx_semiring_matmul_case, &p, sizeof p, scratch_bytes, spare_bytes, plan, err);
}

cbx_matmul cbx__sm_product(const cbx__sm_point *p)
{
    cbx_matmul product = CBX_MATMUL_INIT;
    product.semiring = p->semiring;
    product.dtype = p->dtype;
    product.m = p->m, product.k = p->k, product.n = p->n;
    product.lda = (ptrdiff_t)p->k, product.ldb = product.ldc = (ptrdiff_t)p->n;
    return product;
}

cbx_status cbx__sm_plan_product(cbx_ctx *ctx, const cbx_params *params, const cbx_matmul *product, size_t spare_bytes,
                                void **plan, cbx_err *err)
{
    size_t bytes = 0;
    cbx_status st = cbx_matmul_workspace(product, &bytes, err);

    if (!st) st = cbx__sm_plan_create(ctx, params, bytes, spare_bytes, plan, err);
    if (!st) ((cbx__sm_plan *)((cbx__suite_plan *)*plan)->point)->product = *product;
    return st;
}

/* With its operands and workspace. */
static cbx_matmul bound(const cbx__suite_plan *s)
{
    cbx_matmul product = ((const cbx__sm_plan *)s->point)->product;

    product.a = s->in[0], product.b = s->in[1], product.c = s->out[0];
    product.workspace = s->scratch, product.workspace_bytes = s->scratch_bytes;
    return product;
}

/* --- loops --- */

#define DECLARE(id, name, cpus) extern const cbx__sm_loops cbx__sm_loops_##name;
CBX_ISA_MAP(DECLARE)

static const cbx__sm_loops *const loops[CBX_ISA_COUNT] = {
#define ENTRY(id, name, cpus) CBX_ISA_ON_##cpus([CBX_ISA_##id] = &cbx__sm_loops_##name, )
    CBX_ISA_MAP(ENTRY)
};

CBX__SUITE_PREPARE_BY(prepare_stream, cbx__sm_point, cbx__sm_read,
                      cbx__sm_plan_create(ctx, given,
                                          p.semiring->id == CBX_ALGEBRA_LOG ? p.m * p.n * cbx_dtype_size(p.dtype) : 0,
                                          0, plan, err))

CBX__SUITE_PREPARE_BY(prepare_dense, cbx__sm_point, cbx__sm_read,
                      cbx__sm_plan_create(ctx, given, (p.m * p.k + 1) * p.n * cbx_dtype_size(p.dtype), 0, plan, err))

static void run_stream(void *plan) { loops[cbx_isa_best()]->stream(plan); }
static void run_dense(void *plan) { loops[cbx_isa_best()]->dense(plan); }

const cbx_baseline_ops cbx__sm_stream = CBX__SM_NATIVE(
    "stream", "for each k update all of C; log by the online recurrence, one exp a step", prepare_stream, run_stream,
    cbx__sm_work_stream);
const cbx_baseline_ops cbx__sm_naive_dense = CBX__SM_NATIVE(
    "naive-dense", "materialise the m x k x n terms, then reduce over k", prepare_dense, run_dense, cbx__sm_work_dense,
    .supports = cbx__sm_supports_dense,
    .slow_reason = "writes and reads a temporary of m*k*n elements, 512 MiB at 512^3 f32: 3 times the time of stream "
                   "for log, 10 to 15 times for the others (Xeon, AVX-512)");

/* --- the toolkit's kernel and its limits --- */

CBX__SM_PREPARE(prepare_tiled, p.semiring->id, p.k, 1, 0)
CBX__SM_PREPARE(prepare_calibrax, p.semiring->id, p.k, 0, 0)

void cbx__sm_run_product(void *plan)
{
    const cbx_matmul product = bound(plan);
    (void)cbx_matmul_run(&product, NULL); /* cannot fail: prepare has checked the arguments */
}

const cbx_baseline_ops cbx__sm_tiled = CBX__SM_NATIVE(
    "tiled",
    "cache-blocked register tiles; log as a product of shifted exponentials with a certificate; boolean packed to bits",
    prepare_tiled, cbx__sm_run_product, cbx__sm_work_tiled);
const cbx_baseline_ops cbx__sm_calibrax = CBX__SM_NATIVE("calibrax",
                                                         "the same on all threads that the worker has; the same bits",
                                                         prepare_calibrax, cbx__sm_run_product, cbx__sm_work_tiled);

/* Booleans are joined by tables in memory. */
CBX__SUITE_SUPPORTS(has_limit, cbx__sm_point, cbx__sm_read, p.dtype != CBX_BOOL)

static void work_limit(const cbx_params *params, cbx_work *out)
{
    const cbx__sm_point p = cbx__sm_read(params);
    cbx__sm_work_steps(&p, out);
}

static cbx_status prepare_limit(cbx_ctx *ctx, const cbx_params *params, void **plan, cbx_err *err)
{
    const cbx_status st = cbx__sm_plan_create(ctx, params, 0, 0, plan, err);
    if (!st) ((cbx__sm_plan *)((cbx__suite_plan *)*plan)->point)->product.threads = 0;
    return st;
}

/* Neither can fail: a point's algebra and dtype are valid. */
static void run_pipes(void *plan)
{
    const cbx_matmul product = bound(plan);
    (void)cbx_matmul_limit_run(&product, NULL);
}

static void run_fed(void *plan)
{
    const cbx_matmul product = bound(plan);
    (void)cbx_matmul_fed_limit_run(&product, NULL);
}

const cbx_baseline_ops cbx__sm_pipes = CBX__SM_NATIVE(
    "pipes", "the steps of the product on registers: fma, add and max, or sub and fma", prepare_limit, run_pipes,
    work_limit, .supports = has_limit,
    .limit = "does as many steps as the product has, on registers, and nothing else");
const cbx_baseline_ops cbx__sm_fed = CBX__SM_NATIVE(
    "fed", "the steps of the product by its register tile, operands from the first-level cache", prepare_limit, run_fed,
    work_limit, .supports = has_limit,
    .limit = "does as many steps as the product has, each with its loads, from the first-level cache alone");
