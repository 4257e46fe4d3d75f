/* Rows over the six algebras; see rows.h. */
#include "suites/common/rows.h"

#include <math.h>
#include <stdint.h>

#define LARGER(x, y)  ((x) > (y) ? (x) : (y))
#define SMALLER(x, y) ((x) < (y) ? (x) : (y))

/* out[j] = first; then out[j] = update for each term, x the element of a and b its row; then out[j]
 * = last. */
#define DEFINE_ROW(T, name, first, update, last)                                                                       \
    static void name(const cbx__suite_terms *t, void *to, void *scratch)                                               \
    {                                                                                                                  \
        const T *a = t->a;                                                                                             \
        T *restrict out = to;                                                                                          \
        (void)scratch;                                                                                                 \
        for (size_t j = 0; j < t->n; j++) out[j] = first;                                                              \
        for (size_t i = 0; i < t->k; i++) {                                                                            \
            const T x = a[i], *restrict b = t->b[i];                                                                   \
            for (size_t j = 0; j < t->n; j++) out[j] = update;                                                         \
        }                                                                                                              \
        for (size_t j = 0; j < t->n; j++) out[j] = last;                                                               \
    }

#define DEFINE_LOG_ROW(T, name, largest, EXP, LOG)                                                                     \
    static void name(const cbx__suite_terms *t, void *to, void *scratch)                                               \
    {                                                                                                                  \
        const T *a = t->a;                                                                                             \
        T *restrict out = to, *restrict sum = scratch;                                                                 \
        largest(t, to, NULL);                                                                                          \
        for (size_t j = 0; j < t->n; j++) sum[j] = 0;                                                                  \
        for (size_t i = 0; i < t->k; i++) {                                                                            \
            const T x = a[i], *restrict b = t->b[i];                                                                   \
            for (size_t j = 0; j < t->n; j++) sum[j] += x + b[j] == out[j] ? 1 : EXP(x + b[j] - out[j]);               \
        }                                                                                                              \
        for (size_t j = 0; j < t->n; j++) out[j] += t->k ? LOG(sum[j]) : 0;                                            \
    }

#define DEFINE_FLOAT_ROWS(T, SFX, EXP, LOG, SQRT)                                                                      \
    DEFINE_ROW(T, real_##SFX, 0, out[j] + x * b[j], out[j])                                                            \
    DEFINE_ROW(T, max_##SFX, (T)-INFINITY, LARGER(x + b[j], out[j]), out[j])                                           \
    DEFINE_ROW(T, min_##SFX, (T)INFINITY, SMALLER(x + b[j], out[j]), out[j])                                           \
    DEFINE_ROW(T, euclidean_##SFX, 0, out[j] + (x - b[j]) * (x - b[j]), SQRT(out[j]))                                  \
    DEFINE_LOG_ROW(T, log_##SFX, max_##SFX, EXP, LOG)

DEFINE_FLOAT_ROWS(float, f32, expf, logf, sqrtf)
DEFINE_FLOAT_ROWS(double, f64, exp, log, sqrt)
DEFINE_ROW(uint8_t, boolean, 0, (uint8_t)(out[j] | (x & b[j])), out[j])

cbx__suite_row_fn *cbx__suite_row(cbx_algebra id, cbx_dtype dtype)
{
    static cbx__suite_row_fn *const rows[CBX_ALGEBRA_COUNT][2] = {
        [CBX_ALGEBRA_REAL] = { real_f32, real_f64 },
        [CBX_ALGEBRA_LOG] = { log_f32, log_f64 },
        [CBX_ALGEBRA_TROPICAL_MAX_PLUS] = { max_f32, max_f64 },
        [CBX_ALGEBRA_TROPICAL_MIN_PLUS] = { min_f32, min_f64 },
        [CBX_ALGEBRA_EUCLIDEAN] = { euclidean_f32, euclidean_f64 },
        [CBX_ALGEBRA_BOOLEAN] = { boolean, boolean },
    };
    return rows[id][dtype == CBX_F64];
}
