/*
 * Derivatives of ELL products.  Those of the values by rows, those of B by the transposed graph: both gather.
 *
 * Of each edge and column the derivative of c[i, j] by the term is a weight; of log it is exp(term - c), of a tropical product 1 at the
 * first optimum, of euclidean (a - b) / c, with the other sign for B; of real it is the other factor.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "calibrax/array/ell_internal.h"
#include "calibrax/array/ops_internal.h"

/* One derivative under way. */
typedef struct slope {
    const cbx_ell *g;
    cbx_algebra algebra;
    size_t d;
    const void *values, *b, *c;
    const void *h;   /* backward: cotangent of c */
    uint32_t *first; /* tropical: the place that c comes from; NOWHERE: from none */
    const void *tv, *tb;
} slope;

#define NOWHERE UINT32_MAX
enum { BLOCK = 64 };

static uint32_t place_of(const cbx_ell *g, size_t e) { return g->place ? g->place[e] : (uint32_t)e; }

#define SLOPES(T, SFX, EXP, SMALLEST)                                                                                  \
    static void first_optimum_##SFX(const slope *s)                                                                    \
    {                                                                                                                  \
        const cbx_ell *g = s->g;                                                                                       \
        const T empty = (T)cbx_semiring_get(s->algebra)->empty, *values = s->values, *b = s->b;                        \
        for (size_t i = 0; i < g->rows; i++) {                                                                         \
            const T *c = (const T *)s->c + i * s->d;                                                                   \
            uint32_t *first = s->first + i * s->d;                                                                     \
            for (size_t j = 0; j < s->d; j++) first[j] = NOWHERE;                                                      \
            for (size_t e = g->start[i]; e < g->start[i + 1]; e++)                                                     \
                for (size_t j = 0; j < s->d; j++) {                                                                    \
                    const T t = values[place_of(g, e)] + b[(size_t)g->index[e] * s->d + j];                            \
                    if (first[j] == NOWHERE && c[j] != empty && (t == c[j] || isnan(t))) first[j] = place_of(g, e);    \
                }                                                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    /* w[0..n): derivatives of columns j0.. of row i by the value (of_b: by B) at a place */                           \
    static void weigh_##SFX(const slope *s, size_t i, size_t col, uint32_t place, size_t j0, size_t n, bool of_b,      \
                            T *restrict w)                                                                             \
    {                                                                                                                  \
        const size_t at = i * s->d + j0;                                                                               \
        const T a = ((const T *)s->values)[place], *b = (const T *)s->b + col * s->d + j0, *c = (const T *)s->c + at;  \
        for (size_t j = 0; j < n; j++) {                                                                               \
            const T t = a + b[j];                                                                                      \
            switch (s->algebra) {                                                                                      \
            case CBX_ALGEBRA_REAL: w[j] = of_b ? a : b[j]; break;                                                      \
            case CBX_ALGEBRA_LOG: w[j] = t == -(T)INFINITY ? 0 : EXP(t - c[j]); break;                                 \
            case CBX_ALGEBRA_EUCLIDEAN: w[j] = c[j] <= 4 * SMALLEST ? 0 : (of_b ? b[j] - a : a - b[j]) / c[j]; break;  \
            default: w[j] = s->first[at + j] == place ? 1 : 0;                                                         \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void back_values_##SFX(const slope *s, T *dv)                                                               \
    {                                                                                                                  \
        const cbx_ell *g = s->g;                                                                                       \
        T w[BLOCK];                                                                                                    \
        memset(dv, 0, g->rows * g->width * sizeof(T));                                                                 \
        for (size_t i = 0; i < g->rows; i++)                                                                           \
            for (size_t e = g->start[i]; e < g->start[i + 1]; e++) {                                                   \
                T sum = 0;                                                                                             \
                for (size_t j0 = 0; j0 < s->d; j0 += BLOCK) {                                                          \
                    const size_t n = s->d - j0 < BLOCK ? s->d - j0 : BLOCK;                                            \
                    const T *h = (const T *)s->h + i * s->d + j0;                                                      \
                    weigh_##SFX(s, i, (size_t)g->index[e], place_of(g, e), j0, n, false, w);                           \
                    for (size_t j = 0; j < n; j++) sum += h[j] == 0 ? 0 : h[j] * w[j];                                 \
                }                                                                                                      \
                dv[place_of(g, e)] = sum;                                                                              \
            }                                                                                                          \
    }                                                                                                                  \
    static void back_dense_##SFX(const slope *s, T *db)                                                                \
    {                                                                                                                  \
        const cbx_ell *g = s->g;                                                                                       \
        T w[BLOCK];                                                                                                    \
        memset(db, 0, g->cols * s->d * sizeof(T));                                                                     \
        for (size_t col = 0; col < g->cols; col++)                                                                     \
            for (size_t e = g->t_start[col]; e < g->t_start[col + 1]; e++)                                             \
                for (size_t j0 = 0; j0 < s->d; j0 += BLOCK) {                                                          \
                    const size_t n = s->d - j0 < BLOCK ? s->d - j0 : BLOCK, i = (size_t)g->t_index[e];                 \
                    const T *h = (const T *)s->h + i * s->d + j0;                                                      \
                    weigh_##SFX(s, i, col, g->t_place[e], j0, n, true, w);                                             \
                    for (size_t j = 0; j < n; j++) db[col * s->d + j0 + j] += h[j] == 0 ? 0 : h[j] * w[j];             \
                }                                                                                                      \
    }                                                                                                                  \
    static void forward_##SFX(const slope *s, T *tc)                                                                   \
    {                                                                                                                  \
        const cbx_ell *g = s->g;                                                                                       \
        const T *tv = s->tv, *tb = s->tb;                                                                              \
        T wa[BLOCK], wb[BLOCK];                                                                                        \
        memset(tc, 0, g->rows * s->d * sizeof(T));                                                                     \
        for (size_t i = 0; i < g->rows; i++)                                                                           \
            for (size_t e = g->start[i]; e < g->start[i + 1]; e++)                                                     \
                for (size_t j0 = 0; j0 < s->d; j0 += BLOCK) {                                                          \
                    const size_t n = s->d - j0 < BLOCK ? s->d - j0 : BLOCK, col = (size_t)g->index[e];                 \
                    weigh_##SFX(s, i, col, place_of(g, e), j0, n, false, wa);                                          \
                    weigh_##SFX(s, i, col, place_of(g, e), j0, n, true, wb);                                           \
                    for (size_t j = 0; j < n; j++)                                                                     \
                        tc[i * s->d + j0 + j] += wa[j] * tv[place_of(g, e)] + wb[j] * tb[col * s->d + j0 + j];         \
                }                                                                                                      \
    }
SLOPES(float, f32, expf, FLT_MIN)
SLOPES(double, f64, exp, DBL_MIN)

/* --- arrays --- */

static bool check(cbx_ctx *ctx, const char *name, const cbx_semiring *s, size_t n, const cbx_array *const *in)
{
    if (cbx__unusable(ctx, name, n, in)) return false;
    if (!s || s->functions || s->id == CBX_ALGEBRA_BOOLEAN) {
        cbx__refuse(ctx, !s || s->functions ? CBX_EINVAL : CBX_EDTYPE, "'%s' over '%s' has no derivative", name,
                    s ? s->name : "no algebra");
        return false;
    }
    if (cbx_semiring_takes(s, in[0]->desc.dtype)) return true;
    cbx__refuse(ctx, CBX_EDTYPE, "'%s' takes float32 or float64, not %s", name, cbx_dtype_name(in[0]->desc.dtype));
    return false;
}

/* Values, B and C, and where each tropical element comes from; false with a failure recorded. */
static bool open_slope(cbx_ctx *ctx, const char *name, const cbx_array *const in[3], size_t shapes[3][2], slope *s)
{
    const cbx_dtype t = in[0]->desc.dtype;

    s->d = in[1]->desc.ndim == 2 ? in[1]->desc.shape[1] : 0;
    shapes[0][0] = s->g->rows, shapes[0][1] = s->g->width;
    shapes[1][0] = s->g->cols, shapes[1][1] = s->d;
    shapes[2][0] = s->g->rows, shapes[2][1] = s->d;
    s->values = cbx__ell_operand(ctx, name, "values", in[0], t, 2, shapes[0]);
    s->b = cbx__ell_operand(ctx, name, "B", in[1], t, 2, shapes[1]);
    s->c = cbx__ell_operand(ctx, name, "C", in[2], t, 2, shapes[2]);
    if (!s->values || !s->b || !s->c) return false;
    if (s->algebra != CBX_ALGEBRA_TROPICAL_MAX_PLUS && s->algebra != CBX_ALGEBRA_TROPICAL_MIN_PLUS) return true;
    cbx_array *first = cbx__ell_result(ctx, CBX_I32, 2, shapes[2]);
    if (cbx_array_is_failed(first)) return false;
    s->first = first->data;
    if (t == CBX_F32)
        first_optimum_f32(s);
    else
        first_optimum_f64(s);
    return true;
}

static void vjp_steps(cbx_ctx *ctx, const char *name, const cbx_array *const in[4], slope *s, cbx_array *d[2])
{
    const cbx_dtype t = in[0]->desc.dtype;
    size_t shapes[3][2];
    cbx_array *dv, *db;

    if (!open_slope(ctx, name, in, shapes, s)) return;
    s->h = cbx__ell_operand(ctx, name, "the cotangent", in[3], t, 2, shapes[2]);
    dv = cbx__ell_result(ctx, t, 2, shapes[0]);
    db = cbx__ell_result(ctx, t, 2, shapes[1]);
    if (!s->h || cbx_array_is_failed(dv) || cbx_array_is_failed(db)) return;
    if (t == CBX_F32) {
        back_values_f32(s, dv->data);
        back_dense_f32(s, db->data);
    } else {
        back_values_f64(s, dv->data);
        back_dense_f64(s, db->data);
    }
    d[0] = dv, d[1] = db;
}

void cbx_ell_matmul_vjp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b, const cbx_array *c,
                        const cbx_array *h, const cbx_semiring *s, cbx_array *d[2])
{
    const cbx_array *const in[] = { values, b, c, h };
    const size_t mark = cbx__mark(ctx);

    d[0] = d[1] = cbx__array_failed();
    if (!check(ctx, "ell_matmul_vjp", s, 4, in)) return;
    vjp_steps(ctx, "ell_matmul_vjp", in, &(slope){ .g = g, .algebra = s->id }, d);
    cbx__tidy_list(ctx, mark, 2, d);
}

static cbx_array *jvp_steps(cbx_ctx *ctx, const char *name, const cbx_array *const in[5], slope *s)
{
    const cbx_dtype t = in[0]->desc.dtype;
    size_t shapes[3][2];
    cbx_array *tc;

    if (!open_slope(ctx, name, in, shapes, s)) return cbx__array_failed();
    s->tv = cbx__ell_operand(ctx, name, "the tangent of values", in[3], t, 2, shapes[0]);
    s->tb = cbx__ell_operand(ctx, name, "the tangent of B", in[4], t, 2, shapes[1]);
    tc = cbx__ell_result(ctx, t, 2, shapes[2]);
    if (!s->tv || !s->tb || cbx_array_is_failed(tc)) return cbx__array_failed();
    if (t == CBX_F32)
        forward_f32(s, tc->data);
    else
        forward_f64(s, tc->data);
    return tc;
}

cbx_array *cbx_ell_matmul_jvp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b,
                              const cbx_array *c, const cbx_array *tv, const cbx_array *tb, const cbx_semiring *s)
{
    const cbx_array *const in[] = { values, b, c, tv, tb };
    const size_t mark = cbx__mark(ctx);

    if (!check(ctx, "ell_matmul_jvp", s, 5, in)) return cbx__array_failed();
    return cbx__tidy(ctx, mark, jvp_steps(ctx, "ell_matmul_jvp", in, &(slope){ .g = g, .algebra = s->id }));
}
