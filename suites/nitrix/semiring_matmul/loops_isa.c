/* The loops of stream and naive-dense: plain C that the compiler vectorises, built for each
 * instruction set (meson.build).
 *
 * They take specials as calibrax/array/kernels/semiring.h says.  max and min look at the inputs
 * first, so that the comparison with NaN is paid only where there can be one. */
#include <math.h>
#include <stdint.h>

#include "calibrax/array/kernels/vmath.h"
#include "suites/nitrix/semiring_matmul/matmul.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)
#define NAME(x)      PASTE(x, SFX)

#define T    float
#define TI   int32_t
#define SFX  f32
#define SQRT sqrtf
#include "suites/nitrix/semiring_matmul/loops_float.h"
#undef T
#undef TI
#undef SFX
#undef SQRT
#define T    double
#define TI   int64_t
#define SFX  f64
#define SQRT sqrt
#include "suites/nitrix/semiring_matmul/loops_float.h"

static void stream_bool(const cbx__suite_plan *s)
{
    const cbx__sm_point *p = s->point;
    const size_t m = p->m, k = p->k, n = p->n;
    const uint8_t *A = s->in[0], *B = s->in[1];
    uint8_t *C = s->out[0];
    for (size_t i = 0; i < m * n; i++) C[i] = 0;
    for (size_t kk = 0; kk < k; kk++) {
        for (size_t i = 0; i < m; i++) {
            const uint8_t a = A[i * k + kk];
            const uint8_t *restrict b = B + kk * n;
            uint8_t *restrict c = C + i * n;
            for (size_t j = 0; j < n; j++) c[j] |= a & b[j];
        }
    }
}

static void dense_bool(const cbx__suite_plan *s)
{
    const cbx__sm_point *p = s->point;
    const size_t m = p->m, k = p->k, n = p->n;
    const uint8_t *A = s->in[0], *B = s->in[1];
    uint8_t *C = s->out[0], *terms = s->scratch;
    for (size_t i = 0; i < m; i++)
        for (size_t kk = 0; kk < k; kk++)
            for (size_t j = 0; j < n; j++) terms[(i * k + kk) * n + j] = A[i * k + kk] & B[kk * n + j];
    for (size_t i = 0; i < m * n; i++) C[i] = 0;
    for (size_t i = 0; i < m; i++)
        for (size_t kk = 0; kk < k; kk++)
            for (size_t j = 0; j < n; j++) C[i * n + j] |= terms[(i * k + kk) * n + j];
}

static void stream(const cbx__suite_plan *s)
{
    const cbx_dtype t = ((const cbx__sm_point *)s->point)->dtype;
    (t == CBX_F32 ? stream_f32 : t == CBX_F64 ? stream_f64 : stream_bool)(s);
}

static void dense(const cbx__suite_plan *s)
{
    const cbx_dtype t = ((const cbx__sm_point *)s->point)->dtype;
    (t == CBX_F32 ? dense_f32 : t == CBX_F64 ? dense_f64 : dense_bool)(s);
}

const cbx__sm_loops PASTE(cbx__sm_loops, ISA_NAME) = { stream, dense };
