/* Case dense_matmul: C = A B, the product everybody has, to see at a glance that a set-up measures
 * and checks what it should: `jnp-bf16` and `torch-bf16` compute in bfloat16 and must come out
 * fidelity_failed, with their times kept.
 *
 * Inputs are standard normal, A then B.  The oracle sums in long double (common/oracle.h).  Rows of
 * A and columns of B change places in a rotation, and those of C with them. */
#include <string.h>

#include "suites/common/arrays.h"
#include "suites/common/oracle.h"
#include "suites/common/params.h"
#include "suites/common/plan.h"
#include "suites/common/rotation.h"
#include "suites/common/work.h"
#include "suites/suites.h"

#define MAX_EXTENT 8192

enum { A, B, INPUTS };

static const cbx_param_def params[] = {
    CBX__SUITE_COUNT("m", 1, MAX_EXTENT, "rows of A and C"),
    CBX__SUITE_COUNT("k", 1, MAX_EXTENT, "columns of A, rows of B"),
    CBX__SUITE_COUNT("n", 1, MAX_EXTENT, "columns of B and C"),
    CBX__SUITE_WORD("dtype", cbx__suite_floats, "f32", "of A, B and C"),
    CBX__SUITE_SEED,
};

typedef struct point {
    cbx_dtype dtype;
    size_t m, k, n, size;
    uint64_t seed;
} point;

static point read_point(const cbx_params *given)
{
    point p = { .dtype = cbx__suite_dtype(given),
                .m = cbx__suite_count(given, "m"),
                .k = cbx__suite_count(given, "k"),
                .n = cbx__suite_count(given, "n"),
                .seed = cbx__suite_seed(given) };

    p.size = cbx_dtype_size(p.dtype);
    return p;
}

#define POINT(m, k, n, dtype) "{\"m\":" #m ",\"k\":" #k ",\"n\":" #n ",\"dtype\":\"" dtype "\",\"seed\":0}"
#define REPRESENTATIVE        1

static const char *const points[] = {
    POINT(128, 128, 128, "f32"), POINT(512, 256, 512, "f32"), POINT(512, 256, 512, "f64"),
    POINT(33, 65, 17, "f32"),    POINT(8, 8, 8, "f32"),
};

static const char *const series[] = {
    POINT(64, 64, 64, "f32"),    POINT(128, 128, 128, "f32"),    POINT(256, 256, 256, "f32"),
    POINT(512, 512, 512, "f32"), POINT(1024, 1024, 1024, "f32"),
};

static void work(const cbx_params *given, cbx_work *out)
{
    const point p = read_point(given);
    const double m = (double)p.m, k = (double)p.k, n = (double)p.n, macs = m * n * k;

    *out = cbx__suite_work(macs, 2 * macs, (double)p.size * (m * k + k * n + m * n), CBX_PIPE_FMA, macs);
}

/* Two numbers of 8 bits multiply into 16, and tensor units may do two of them in the place of a
 * float. */
static void work_bf16(const cbx_params *given, cbx_work *out)
{
    work(given, out);
    out->pipe_ops /= 4;
}

/* --- inputs and their rotation --- */

static cbx_status make_inputs(cbx_ctx *ctx, const cbx_params *given, cbx_array **in, cbx_err *err)
{
    const point p = read_point(given);
    const cbx_array_desc descs[] = { { p.dtype, 2, { p.m, p.k } }, { p.dtype, 2, { p.k, p.n } } };
    return cbx__suite_inputs(ctx, descs, INPUTS, p.seed, 0, in, err);
}

static const cbx__suite_axes axes[INPUTS] = { [A] = { 0, -1 }, [B] = { -1, 1 } };

CBX__SUITE_ROTATIONS(point, read_point, axes, INPUTS, 0, 1, { p.seed, r, p.m, p.n, NULL })

/* --- the oracle --- */

static void solve(const point *p, const cbx__suite_problem *q)
{
    double *column = q->scratch;

    for (size_t j = 0; j < p->n; j++) {
        for (size_t kk = 0; kk < p->k; kk++) column[kk] = q->in[B][kk * p->n + j];
        for (size_t i = 0; i < p->m; i++)
            cbx__suite_problem_fold(q, i * p->n + j, cbx_semiring_get(CBX_ALGEBRA_REAL), p->dtype, p->k,
                                    q->in[A] + i * p->k, column);
    }
}

CBX__SUITE_ORACLE(cbx_dense_matmul_case, point, read_point, p.k, solve)

/* --- native baselines: the loop everybody writes, and the toolkit's kernel --- */

#define LOOPS(T, SFX)                                                                                                  \
    static void product_##SFX(const point *p, size_t k, const T *a, const T *b, T *c)                                  \
    {                                                                                                                  \
        for (size_t i = 0; i < p->m; i++) {                                                                            \
            T *restrict row = c + i * p->n;                                                                            \
            for (size_t j = 0; j < p->n; j++) row[j] = 0;                                                              \
            for (size_t kk = 0; kk < k; kk++) {                                                                        \
                const T x = a[i * p->k + kk], *restrict y = b + kk * p->n;                                             \
                for (size_t j = 0; j < p->n; j++) row[j] += x * y[j];                                                  \
            }                                                                                                          \
        }                                                                                                              \
    }
LOOPS(float, f32)
LOOPS(double, f64)

static void product(const point *p, size_t k, const void *a, const void *b, void *c)
{
    if (p->dtype == CBX_F32)
        product_f32(p, k, a, b, c);
    else
        product_f64(p, k, a, b, c);
}

static void run_loops(void *plan)
{
    const cbx__suite_plan *s = plan;
    const point *p = s->point;
    product(p, p->k, s->in[A], s->in[B], s->out[0]);
}

/* Mutants have memory for copies of both operands, or a result. */
CBX__SUITE_PREPARE(prepare, cbx_dense_matmul_case, point, read_point, 0, (p.m * p.k + p.k * p.n + p.m * p.n) * p.size)

static cbx_matmul tiled_of(const point *p)
{
    cbx_matmul product = CBX_MATMUL_INIT;
    product.semiring = cbx_semiring_get(CBX_ALGEBRA_REAL);
    product.dtype = p->dtype;
    product.m = p->m, product.k = p->k, product.n = p->n;
    product.lda = (ptrdiff_t)p->k, product.ldb = (ptrdiff_t)p->n, product.ldc = (ptrdiff_t)p->n;
    return product;
}

static cbx_status prepare_tiled(cbx_ctx *ctx, const cbx_params *given, void **plan, cbx_err *err)
{
    const point p = read_point(given);
    const cbx_matmul product = tiled_of(&p);
    size_t bytes = 0;
    cbx_status st = cbx_matmul_workspace(&product, &bytes, err);

    return st ? st : cbx__suite_plan_create(ctx, &cbx_dense_matmul_case, &p, sizeof p, bytes, 0, plan, err);
}

static void run_tiled(void *plan)
{
    const cbx__suite_plan *s = plan;
    cbx_matmul product = tiled_of(s->point);

    product.a = s->in[A];
    product.b = s->in[B];
    product.c = s->out[0];
    product.workspace = s->scratch;
    product.workspace_bytes = s->scratch_bytes;
    (void)cbx_matmul_run(&product, NULL); /* cannot fail: prepare has checked the arguments */
}

/* --- planted faults --- */

static void run_rounded(void *plan, int bits)
{
    const cbx__suite_plan *s = plan;
    const point *p = s->point;
    char *a = s->spare, *b = a + p->m * p->k * p->size;

    cbx__suite_round(p->dtype, s->in[A], p->m * p->k, bits, a);
    cbx__suite_round(p->dtype, s->in[B], p->k * p->n, bits, b);
    product(p, p->k, a, b, s->out[0]);
}

static void run_bf16(void *plan) { run_rounded(plan, 8); }
static void run_tf32(void *plan) { run_rounded(plan, 11); }

static void run_drop_last(void *plan)
{
    const cbx__suite_plan *s = plan;
    const point *p = s->point;
    product(p, p->k - 1, s->in[A], s->in[B], s->out[0]);
}

static void run_stale(void *plan) { cbx__suite_run_stale(plan, run_loops); }

/* --- the table --- */

#define NATIVE(name, summary, prepare_, run_)                                                                          \
    CBX__SUITE_ENTRY CBX__SUITE_NATIVE(name, summary, prepare_, run_, .work = work)
#define FOREIGN(name, provider, summary, ...)                                                                          \
    CBX__SUITE_ENTRY CBX__SUITE_BASELINE(name, provider, summary, .work = __VA_ARGS__)
#define MUTANT(name, summary, reason, run_, work_)                                                                     \
    CBX__SUITE_ENTRY CBX__SUITE_MUTANT(name, summary, reason, prepare, run_, .work = work_)

/* In the order they are shown; the ratio reference first, mutants last. */
static const cbx_baseline_ops *const baselines[] = {
    NATIVE("loops", "plain loops: for each k update a row of C", prepare, run_loops),
    NATIVE("tiled", "cache-blocked register tiles", prepare_tiled, run_tiled),
    FOREIGN("numpy-matmul", "numpy", "numpy.matmul", work),
    FOREIGN("jnp-matmul", "jax", "jnp.matmul at the highest precision", work),
    FOREIGN("jnp-einsum", "jax", "jnp.einsum at the highest precision", work),
    FOREIGN("jnp-bf16", "jax", "operands in bfloat16: must fail the fidelity check, and keeps its times", work_bf16,
            .must_fail = "operands in bfloat16"),
    FOREIGN("torch-matmul", "torch", "torch.matmul", work),
    FOREIGN("torch-bf16", "torch", "operands in bfloat16: must fail the fidelity check, and keeps its times", work_bf16,
            .must_fail = "operands in bfloat16"),
    MUTANT("mutant-bf16", "operands of 8 bits", "rounds A and B to bfloat16, then sums in full", run_bf16, work_bf16),
    MUTANT("mutant-tf32", "operands of 11 bits", "rounds A and B to TF32, then sums in full", run_tf32, work_bf16),
    MUTANT("mutant-drop-last", "the loop over k stops one early", "drops the last term of each sum", run_drop_last,
           work),
    MUTANT("mutant-stale", "answers from memory", "gives the first call's answer forever", run_stale, work),
};

static const char *const input_names[] = { "A", "B" };
static const char *const output_names[] = { "C" };

CBX__SUITE_LABEL(point, read_point, "%zux%zux%zu (%s)", p.m, p.k, p.n, cbx_params_word(given, "dtype"))

CBX__SUITE_OUTPUT(point, read_point, { p.dtype, 2, { p.m, p.n } })

const cbx_case_ops cbx_dense_matmul_case = CBX__SUITE_CASE(
    "dense_matmul", "the ordinary matrix product, with a baseline that must fail the fidelity check");
