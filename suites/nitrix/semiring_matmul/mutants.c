/* Planted faults: baselines that are wrong in ways real kernels have been wrong.  The fidelity
 * check must reject each of them on every algebra it is for; `nperf selftest --mutants` and the
 * tests hold it to that. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "calibrax/array/kernels/semiring.h"
#include "calibrax/array/kernels/vmath.h"
#include "suites/common/rounding.h"
#include "suites/nitrix/semiring_matmul/matmul.h"

/* --- the last k is dropped --- */

/* One boolean term decides (ln 2 / 2) / k of all elements of C: eight or more are wanted. */
CBX__SUITE_SUPPORTS(supports_drop, cbx__sm_point, cbx__sm_read,
                    p.k > 0 && (p.dtype != CBX_BOOL || p.m * p.n >= 24 * p.k))

CBX__SM_PREPARE(prepare_drop, p.semiring->id, p.k - 1, 1, 0)

/* --- B is read one row too far, around the end --- */

CBX__SUITE_SUPPORTS(supports_next_row, cbx__sm_point, cbx__sm_read, p.k > 1)

CBX__SM_PREPARE(prepare_next_row, p.semiring->id, p.k, 1, p.k *p.n *cbx_dtype_size(p.dtype))

static void run_next_row(void *plan)
{
    cbx__suite_plan *s = plan;
    const cbx__sm_point *p = s->point;
    const size_t row = p->n * cbx_dtype_size(p->dtype), rest = (p->k - 1) * row;
    char *turned = s->spare;
    memcpy(turned, (const char *)s->in[1] + row, rest);
    memcpy(turned + rest, s->in[1], row);
    cbx__suite_run_with(s, cbx__sm_run_product, 1, turned);
}

/* --- log keeps the largest term only --- */

CBX__SUITE_SUPPORTS(supports_log_max, cbx__sm_point, cbx__sm_read, p.semiring->id == CBX_ALGEBRA_LOG && p.k > 1)

CBX__SM_PREPARE(prepare_log_max, CBX_ALGEBRA_TROPICAL_MAX_PLUS, p.k, 1, 0)

/* --- boolean forgets the last packed word of 32 --- */

CBX__SUITE_SUPPORTS(supports_last_word, cbx__sm_point, cbx__sm_read, p.semiring->id == CBX_ALGEBRA_BOOLEAN && p.k > 32)

CBX__SM_PREPARE(prepare_last_word, CBX_ALGEBRA_BOOLEAN, (p.k - 1) / 32 * 32, 1, 0)

/* --- everything is rounded to the 11 bits of a half --- */

CBX__SUITE_SUPPORTS(supports_fp16, cbx__sm_point, cbx__sm_read, p.semiring->id != CBX_ALGEBRA_BOOLEAN && p.k > 0)

CBX__SUITE_PREPARE_BY(prepare_fp16, cbx__sm_point, cbx__sm_read,
                      cbx__sm_plan_create(ctx, given, p.m *p.n *cbx_dtype_size(p.dtype), 0, plan, err))

/* x in 11 bits */
#define half_f32(x) cbx__suite_bits_f32(x, 11)
#define half_f64(x) cbx__suite_bits_f64(x, 11)

/* --- operands are rounded to 11 bits, sums are right: tensor cores in their default mode --- */

/* Max and min have mutant-fp16, which is the same fault there. */
CBX__SUITE_SUPPORTS(supports_tf32, cbx__sm_point, cbx__sm_read,
                    p.k > 0 && (p.semiring->id == CBX_ALGEBRA_REAL || p.semiring->id == CBX_ALGEBRA_EUCLIDEAN ||
                                p.semiring->id == CBX_ALGEBRA_LOG))

CBX__SM_PREPARE(prepare_tf32, p.semiring->id, p.k, 1, (p.m + p.n) * p.k * cbx_dtype_size(p.dtype))

static void run_tf32(void *plan)
{
    cbx__suite_plan *s = plan;
    const cbx__sm_point *p = s->point;
    const void *a = s->in[0];
    char *rounded = s->spare, *b = rounded + p->m * p->k * cbx_dtype_size(p->dtype);
    cbx__suite_round(p->dtype, a, p->m * p->k, 11, rounded);
    cbx__suite_round(p->dtype, s->in[1], p->k * p->n, 11, b);
    s->in[0] = rounded;
    cbx__suite_run_with(s, cbx__sm_run_product, 1, b);
    s->in[0] = a;
}

#define LARGER(x, y)  ((x) > (y) ? (x) : (y))
#define SMALLER(x, y) ((x) < (y) ? (x) : (y))

/* For each kk all of C, with the sum (or the combined term of max and min) rounded to a half; log
 * by two passes. */
#define DEFINE_FP16(T, SFX)                                                                                            \
    static void fp16_##SFX(const cbx__suite_plan *s)                                                                   \
    {                                                                                                                  \
        const cbx__sm_point *p = s->point;                                                                             \
        const size_t m = p->m, k = p->k, n = p->n;                                                                     \
        const cbx_algebra g = p->semiring->id;                                                                         \
        const T *A = s->in[0], *B = s->in[1];                                                                          \
        T *C = s->out[0], *top = s->scratch;                                                                           \
        for (size_t i = 0; i < m * n; i++) {                                                                           \
            C[i] = (T)(g == CBX_ALGEBRA_LOG ? 0 : p->semiring->identity);                                              \
            top[i] = -INFINITY;                                                                                        \
        }                                                                                                              \
        for (size_t kk = 0; g == CBX_ALGEBRA_LOG && kk < k; kk++)                                                      \
            for (size_t i = 0; i < m; i++)                                                                             \
                for (size_t j = 0; j < n; j++) top[i * n + j] = LARGER(top[i * n + j], A[i * k + kk] + B[kk * n + j]); \
        for (size_t kk = 0; kk < k; kk++) {                                                                            \
            for (size_t i = 0; i < m; i++) {                                                                           \
                const T a = A[i * k + kk], *b = B + kk * n;                                                            \
                T *c = C + i * n;                                                                                      \
                const T *t = top + i * n;                                                                              \
                if (g == CBX_ALGEBRA_REAL)                                                                             \
                    for (size_t j = 0; j < n; j++) c[j] = half_##SFX(c[j] + a * b[j]);                                 \
                else if (g == CBX_ALGEBRA_EUCLIDEAN)                                                                   \
                    for (size_t j = 0; j < n; j++) c[j] = half_##SFX(c[j] + (a - b[j]) * (a - b[j]));                  \
                else if (g == CBX_ALGEBRA_LOG)                                                                         \
                    for (size_t j = 0; j < n; j++) c[j] = half_##SFX(c[j] + cbx_vm_exp_##SFX(a + b[j] - t[j]));        \
                else if (g == CBX_ALGEBRA_TROPICAL_MAX_PLUS)                                                           \
                    for (size_t j = 0; j < n; j++) c[j] = LARGER(c[j], half_##SFX(a + b[j]));                          \
                else                                                                                                   \
                    for (size_t j = 0; j < n; j++) c[j] = SMALLER(c[j], half_##SFX(a + b[j]));                         \
            }                                                                                                          \
        }                                                                                                              \
        for (size_t i = 0; i < m * n; i++) {                                                                           \
            if (g == CBX_ALGEBRA_EUCLIDEAN) C[i] = (T)sqrt((double)C[i]);                                              \
            if (g == CBX_ALGEBRA_LOG) C[i] = top[i] + (T)log((double)C[i]);                                            \
        }                                                                                                              \
    }
DEFINE_FP16(float, f32)
DEFINE_FP16(double, f64)

static void run_fp16(void *plan)
{
    const cbx__suite_plan *s = plan;
    (((const cbx__sm_point *)s->point)->dtype == CBX_F32 ? fp16_f32 : fp16_f64)(s);
}

#define MUTANT(name, summary, reason, supports_, prepare, run)                                                         \
    CBX__SM_NATIVE(name, summary, prepare, run, cbx__sm_work_tiled, .mutant_reason = reason, .supports = supports_)

const cbx_baseline_ops cbx__sm_mutants[CBX__SM_MUTANTS] = {
    MUTANT("mutant-drop-last", "the loop over k stops one early", "drops the last term of each sum", supports_drop,
           prepare_drop, cbx__sm_run_product),
    MUTANT("mutant-next-row", "reads B one row too far", "pairs A[i,kk] with B[kk+1,j]", supports_next_row,
           prepare_next_row, run_next_row),
    MUTANT("mutant-fp16", "accumulates in 11 bits", "rounds each sum (max, min: each term) to half precision",
           supports_fp16, prepare_fp16, run_fp16),
    MUTANT("mutant-tf32", "multiplies in 11 bits", "rounds the operands to the 11 bits of TF32, then sums in full",
           supports_tf32, prepare_tf32, run_tf32),
    MUTANT("mutant-log-max", "log without its sum", "gives the largest term instead of the log of the sum",
           supports_log_max, prepare_log_max, cbx__sm_run_product),
    MUTANT("mutant-last-word", "packs one word too few", "forgets the last word of 32 kk", supports_last_word,
           prepare_last_word, cbx__sm_run_product),
};
