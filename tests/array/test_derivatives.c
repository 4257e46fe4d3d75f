/*
 * Derivatives of every primitive, by one table: jvp against central differences of the fourth order (1e-7 of the scale), transposes by
 * <ct, J t> = <J^T ct, t> (1e-12), second derivatives as jvp of grad against differences of gradients, and batches against loops
 * over them.  A primitive that has a derivative and no row here is a failure.  Of complex numbers <a, b> is Re(sum a b).
 */
#include "transform_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/linalg.h"
#include "calibrax/array/rules.h"
#include "calibrax/array/semiring.h"
#include "calibrax/array/trace/derive.h"
#include "calibrax/base/rng.h"

enum { OPERANDS = 6, RESULTS = 3, NUMBERS = 256, BATCH = 3 };

typedef struct operand {
    cbx_dtype dtype; /* float or complex: it moves; others are fixed */
    double low, high;
    size_t shape[5]; /* up to the first 0 */
} operand;

enum {
    FORWARD_ONLY = 1, /* no reverse mode */
    REFUSED = 2,      /* CBX_EUNSUPPORTED */
    FIRST_ONLY = 4    /* no second derivative */
};

typedef struct row {
    cbx_prim prim;
    const char *label;
    cbx_array_fn f; /* NULL: the primitive itself, of all operands */
    size_t nout;
    unsigned flags;
    operand in[OPERANDS]; /* up to the first without a range */
    cbx_attrs attrs;
} row;

#define REAL(lo, hi, ...)                                                                                              \
    {                                                                                                                  \
        CBX_F64, lo, hi, { __VA_ARGS__ }                                                                               \
    }
#define CPLX(lo, hi, ...)                                                                                              \
    {                                                                                                                  \
        CBX_C128, lo, hi, { __VA_ARGS__ }                                                                              \
    }
#define INDEX(lo, hi, ...)                                                                                             \
    {                                                                                                                  \
        CBX_I64, lo, hi, { __VA_ARGS__ }                                                                               \
    }
#define BOOLS(...)                                                                                                     \
    {                                                                                                                  \
        CBX_BOOL, 0, 1, { __VA_ARGS__ }                                                                                \
    }

static bool moves(const operand *o) { return cbx_dtype_kind(o->dtype) >= CBX_KIND_FLOAT; }
static size_t operands_of(const row *r)
{
    size_t n = 0;
    while (n < OPERANDS && r->in[n].low < r->in[n].high) n++;
    return n;
}
static size_t moving_of(const row *r)
{
    size_t n = 0;
    for (size_t i = 0; i < operands_of(r); i++) n += moves(&r->in[i]);
    return n;
}

static cbx_array_desc desc_of(const operand *o)
{
    cbx_array_desc d = { o->dtype, 0, { 0 } };
    for (; d.ndim < 5 && o->shape[d.ndim]; d.ndim++) d.shape[d.ndim] = o->shape[d.ndim];
    return d;
}

/* Numbers of a range, no two of them close: one of each of n parts of it, shuffled. */
static cbx_array *drawn(cbx_ctx *c, const operand *o, cbx_rng *rng)
{
    const cbx_array_desc d = desc_of(o);
    double v[NUMBERS];
    size_t n = cbx_dtype_kind(o->dtype) == CBX_KIND_COMPLEX ? 2 : 1;

    for (int i = 0; i < d.ndim; i++) n *= d.shape[i];
    CHECK(n <= NUMBERS, "numbers of an operand");
    for (size_t i = 0; i < n; i++)
        v[i] = o->low + (o->high - o->low) * ((double)i + 0.2 + 0.6 * cbx_rng_uniform(rng)) / (double)n;
    for (size_t i = n; i-- > 1;) {
        const size_t k = (size_t)(cbx_rng_uniform(rng) * (double)(i + 1));
        const double t = v[i];
        v[i] = v[k], v[k] = t;
    }
    return cbx_asarray(c, &d, v);
}

/* What does not move: the same in every call. */
static cbx_array *fixed(cbx_ctx *c, const operand *o)
{
    const cbx_array_desc d = desc_of(o);
    int64_t v[NUMBERS];
    size_t n = 1;

    for (int i = 0; i < d.ndim; i++) n *= d.shape[i];
    for (size_t i = 0; i < n; i++)
        v[i] = (int64_t)o->low + (int64_t)(i * i + i / 2) % (int64_t)(o->high - o->low + (o->dtype == CBX_BOOL));
    cbx_array *x = cbx_asarray(c, &(cbx_array_desc){ CBX_I64, d.ndim, { d.shape[0], d.shape[1], d.shape[2] } }, v);
    return o->dtype == CBX_I64 ? x : cbx_astype(c, x, o->dtype);
}

static cbx_status applied(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const row *r = user;
    const cbx_array *all[OPERANDS];
    const size_t n = operands_of(r);

    (void)nin, (void)nout;
    for (size_t i = 0, k = 0; i < n; i++) all[i] = moves(&r->in[i]) ? in[k++] : fixed(c, &r->in[i]);
    cbx_apply_all(c, r->prim, n, all, &r->attrs, out);
    return CBX_OK;
}

static cbx_fn fn_of(const row *r)
{
    return (cbx_fn){ r->label ? r->label : cbx_prim_name(r->prim),
                     r->f ? r->f : applied,
                     (void *)(uintptr_t)r,
                     moving_of(r),
                     r->nout ? r->nout : 1,
                     NULL };
}

/* ---- functions of rows that are more than their primitive ---- */

/* x x^H + 3: Hermitian and positive definite */
static cbx_array *definite(cbx_ctx *c, const cbx_array *x)
{
    const size_t n = cbx_array_dim(x, cbx_array_ndim(x) - 1);
    cbx_array *y = cbx_matrix_product(c, x, cbx_matrix_transpose(c, cbx_conj(c, x)));
    return cbx_add(c, y, cbx_multiply_scalar(c, cbx_eye(c, n, n, 0, cbx_array_dtype(x)), 3));
}
/* |x|^2: what does not depend on the phase of a vector */
static cbx_array *squares_of(cbx_ctx *c, const cbx_array *x) { return cbx_real(c, cbx_multiply(c, x, cbx_conj(c, x))); }
static cbx_array *scaled(cbx_ctx *c, const cbx_array *u, const cbx_array *s, const cbx_array *vh)
{
    return cbx_matrix_product(c, cbx_multiply(c, u, cbx_expand_dims(c, s, -2)), vh);
}

FN(choleskys)
{
    UNUSED;
    out[0] = cbx_cholesky(c, definite(c, in[0]), ((const row *)user)->attrs.mode);
    return CBX_OK;
}
FN(eighs)
{
    UNUSED;
    cbx_eigh_parts p = cbx_eigh(c, definite(c, in[0]));
    out[0] = p.values;
    out[1] = squares_of(c, p.vectors);
    out[2] = scaled(c, p.vectors, cbx_sin(c, p.values), cbx_matrix_transpose(c, cbx_conj(c, p.vectors)));
    return CBX_OK;
}
FN(eigvalshs)
{
    UNUSED;
    out[0] = cbx_eigvalsh(c, definite(c, in[0]));
    return CBX_OK;
}
FN(svds)
{
    UNUSED;
    cbx_svd_parts p = cbx_svd(c, in[0], ((const row *)user)->attrs.mode);
    out[0] = squares_of(c, p.u);
    out[1] = squares_of(c, p.vh);
    out[2] = scaled(c, p.u, cbx_square(c, p.s), p.vh);
    return CBX_OK;
}
FN(dets)
{
    UNUSED;
    out[0] = cbx_det(c, in[0]);
    out[1] = cbx_slogdet(c, in[0]).logabsdet;
    out[2] = cbx_inv(c, in[0]);
    return CBX_OK;
}
FN(lstsqs)
{
    UNUSED;
    cbx_lstsq_parts p = cbx_lstsq(c, in[0], in[1], NULL);
    out[0] = p.x;
    out[1] = p.residuals;
    out[2] = cbx_pinv(c, in[0], NULL);
    return CBX_OK;
}
FN(scans)
{
    UNUSED;
    cbx_scan(c, CBX_FN(add, NULL, 2, 1), 1, in, 1, in + 1, CBX_LENGTH_OF_XS, true, out);
    out[0] = cbx_sin(c, out[0]);
    return CBX_OK;
}
FN(decay)
{
    UNUSED;
    out[0] = cbx_sin(c, cbx_add(c, in[0], in[1]));
    out[1] = cbx_multiply(c, out[0], in[1]);
    return CBX_OK;
}
FN(scans_with_ys)
{
    UNUSED;
    cbx_scan(c, CBX_FN(decay, NULL, 2, 2), 1, in, 1, in + 1, CBX_LENGTH_OF_XS, false, out);
    return CBX_OK;
}
FN(whiles)
{
    static const double limit = 40;
    UNUSED;
    cbx_while_loop(c, CBX_FN(below, (void *)(uintptr_t)&limit, 1, 1), CBX_FN(cube, NULL, 1, 1), 1, in, out);
    return CBX_OK;
}
FN(conds)
{
    UNUSED;
    cbx_cond(c, cbx_less_scalar(c, cbx_sum(c, in[0], NULL), 0), CBX_FN(wanders, NULL, 1, 1), CBX_FN(cube, NULL, 1, 1),
             1, in, out);
    return CBX_OK;
}

/* ---- the table ---- */

#define EACH(p, lo, hi)                                                                                                \
    {                                                                                                                  \
        .prim = CBX_PRIM_##p, .in = { REAL(lo, hi, 3, 2) }                                                             \
    }
#define EACH_CX(p, lo, hi)                                                                                             \
    {                                                                                                                  \
        .prim = CBX_PRIM_##p, .label = "complex", .in = { CPLX(lo, hi, 3, 2) }                                         \
    }
#define TWO(p, lo, hi, l, h)                                                                                           \
    {                                                                                                                  \
        .prim = CBX_PRIM_##p, .in = { REAL(lo, hi, 3, 2), REAL(l, h, 3, 2) }                                           \
    }
#define TWO_CX(p, lo, hi)                                                                                              \
    {                                                                                                                  \
        .prim = CBX_PRIM_##p, .label = "complex", .in = { CPLX(lo, hi, 3, 2), CPLX(lo, hi, 3, 2) }                     \
    }
#define AXIS1         .naxes = 1, .axes = { 1 }
#define ALGEBRA(name) .mode = CBX_ALGEBRA_##name

/* clang-format off */
static const row table[] = {
    EACH(NEG, -2, 2), EACH(ABS, -2, -0.1), EACH(ABS, 0.1, 2), EACH_CX(ABS, 0.1, 2), EACH(SQRT, 0.5, 2), EACH_CX(SQRT, 0.5, 2),
    EACH(CBRT, 0.5, 2), EACH(EXP, -1, 2), EACH_CX(EXP, -1, 1), EACH(EXP2, -1, 2), EACH(EXPM1, -1, 2), EACH(LOG, 0.5, 3),
    EACH_CX(LOG, 0.5, 3), EACH(LOG2, 0.5, 3), EACH(LOG10, 0.5, 3), EACH(LOG1P, -0.5, 3), EACH(SIN, -2, 2), EACH_CX(SIN, -1, 1),
    EACH(COS, -2, 2), EACH_CX(COS, -1, 1), EACH(TAN, -1, 1), EACH_CX(TAN, 0.1, 1), EACH(ASIN, -0.8, 0.8), EACH_CX(ASIN, 0.2, 0.8),
    EACH(ACOS, -0.8, 0.8), EACH_CX(ACOS, 0.2, 0.8), EACH(ATAN, -2, 2), EACH_CX(ATAN, 0.2, 0.7), EACH(SINH, -2, 2),
    EACH_CX(SINH, -1, 1), EACH(COSH, -2, 2), EACH_CX(COSH, -1, 1), EACH(TANH, -2, 2), EACH_CX(TANH, 0.1, 1), EACH(ASINH, -2, 2),
    EACH_CX(ASINH, 0.2, 0.8), EACH(ACOSH, 1.5, 3), EACH_CX(ACOSH, 0.2, 0.8), EACH(ATANH, -0.8, 0.8), EACH_CX(ATANH, 0.2, 0.8),
    EACH(ERF, -1, 1), EACH(ERFC, -1, 1), EACH(LGAMMA, 0.5, 4), EACH(ERFINV, -0.8, 0.8),
    { .prim = CBX_PRIM_POLYGAMMA, .in = { REAL(0.5, 4, 5) }, .attrs = { .mode = 1 } },
    { .prim = CBX_PRIM_CAST, .in = { REAL(-2, 2, 5) }, .attrs = { .dtype = CBX_C128 } },
    EACH_CX(REAL, -2, 2), EACH_CX(IMAG, -2, 2), EACH_CX(CONJ, -2, 2), EACH_CX(NEG, -2, 2),
    TWO(ADD, -2, 2, -2, 2), TWO(SUB, -2, 2, -2, 2), TWO(MUL, -2, 2, -2, 2), TWO(DIV, -2, 2, 0.5, 2), TWO_CX(MUL, -2, 2),
    TWO_CX(DIV, 0.5, 2), TWO_CX(SUB, -2, 2), TWO(REM, 2.1, 2.7, 0.95, 1), TWO(POW, 0.5, 2, -1.5, 1.5), TWO_CX(POW, 0.5, 1.5),
    TWO(ATAN2, 0.5, 2, -2, 2), TWO(HYPOT, 0.5, 2, -2, 2), TWO(MAX, -2, 2, -1.9, 2.1), TWO(MIN, -2, 2, -1.9, 2.1),
    TWO(COPYSIGN, 0.5, 2, -2, -0.5), TWO(LOGADDEXP, -2, 2, -2, 2), TWO(COMPLEX, -2, 2, -2, 2),
    { .prim = CBX_PRIM_SELECT, .in = { BOOLS(3, 2), REAL(-2, 2, 3, 2), REAL(-2, 2, 3, 2) } },
    { .prim = CBX_PRIM_CLAMP, .in = { REAL(-2, 2, 8), REAL(-1, -0.9, 8), REAL(0.9, 1.1, 8) } },
    { .prim = CBX_PRIM_FMA, .in = { REAL(-2, 2, 5), REAL(-2, 2, 5), REAL(-2, 2, 5) } },
    { .prim = CBX_PRIM_RESHAPE, .in = { REAL(-2, 2, 2, 6) }, .attrs = { .ndim = 2, .shape = { 4, 3 } } },
    { .prim = CBX_PRIM_TRANSPOSE, .in = { REAL(-2, 2, 2, 3, 2) }, .attrs = { .naxes = 3, .axes = { 2, 0, 1 } } },
    { .prim = CBX_PRIM_BROADCAST, .in = { REAL(-2, 2, 3, 1) }, .attrs = { .ndim = 3, .shape = { 2, 3, 4 } } },
    { .prim = CBX_PRIM_SLICE, .label = "forward", .in = { REAL(-2, 2, 7, 3) }, .attrs = { .ndim = 2, .start = { 1, 0 }, .step = { 2, 1 }, .shape = { 3, 2 } } },
    { .prim = CBX_PRIM_SLICE, .label = "backward", .in = { REAL(-2, 2, 7, 3) }, .attrs = { .ndim = 2, .start = { 6, 2 }, .step = { -3, -1 }, .shape = { 3, 2 } } },
    { .prim = CBX_PRIM_PAD, .in = { REAL(-2, 2, 3, 2) }, .attrs = { .ndim = 2, .start = { 1, 0 }, .shape = { 5, 4 }, .value = { CBX_F64, { 0 } } } },
    { .prim = CBX_PRIM_CONCAT, .in = { REAL(-2, 2, 2, 3), REAL(-2, 2, 2, 1) }, .attrs = { .axis = 1 } },
    EACH(COPY, -2, 2),
    { .prim = CBX_PRIM_TAKE, .in = { REAL(-2, 2, 2, 5), INDEX(-5, 5, 2, 3) }, .attrs = { .axis = 1 } },
    { .prim = CBX_PRIM_TAKE_ALONG, .in = { REAL(-2, 2, 2, 5), INDEX(-5, 5, 2, 3) }, .attrs = { .axis = 1 } },
    { .prim = CBX_PRIM_SCATTER, .label = "set", .in = { REAL(-2, 2, 5, 2), INDEX(-5, 5, 4), REAL(-2, 2, 4, 2) }, .attrs = { .mode = CBX_SCATTER_SET } },
    { .prim = CBX_PRIM_SCATTER, .label = "add", .in = { REAL(-2, 2, 5, 2), INDEX(-5, 5, 4), REAL(-2, 2, 4, 2) }, .attrs = { .mode = CBX_SCATTER_ADD } },
    { .prim = CBX_PRIM_SCATTER, .label = "mul", .in = { REAL(-2, 2, 5, 2), INDEX(-5, 5, 4), REAL(-2, 2, 4, 2) }, .attrs = { .mode = CBX_SCATTER_MUL } },
    { .prim = CBX_PRIM_SCATTER, .label = "min", .in = { REAL(-2, 2, 5, 2), INDEX(-5, 5, 4), REAL(-2, 2, 4, 2) }, .attrs = { .mode = CBX_SCATTER_MIN } },
    { .prim = CBX_PRIM_SCATTER, .label = "max", .in = { REAL(-2, 2, 2, 5), INDEX(-5, 5, 4), REAL(-2, 2, 2, 4) }, .attrs = { .axis = 1, .mode = CBX_SCATTER_MAX } },
    { .prim = CBX_PRIM_SUM, .in = { REAL(-2, 2, 2, 5) }, .attrs = { .dtype = CBX_F64, AXIS1 } },
    { .prim = CBX_PRIM_SUM, .label = "complex", .in = { CPLX(-2, 2, 2, 5) }, .attrs = { .dtype = CBX_C128, AXIS1, .keep = 1 } },
    { .prim = CBX_PRIM_PROD, .in = { REAL(-2, 2, 2, 5) }, .attrs = { .dtype = CBX_F64, AXIS1 } },
    { .prim = CBX_PRIM_PROD, .label = "complex", .in = { CPLX(-2, 2, 2, 5) }, .attrs = { .dtype = CBX_C128, AXIS1 } },
    { .prim = CBX_PRIM_REDUCE_MAX, .in = { REAL(-2, 2, 2, 5) }, .attrs = { AXIS1 } },
    { .prim = CBX_PRIM_REDUCE_MIN, .in = { REAL(-2, 2, 2, 5) }, .attrs = { AXIS1, .keep = 1 } },
    { .prim = CBX_PRIM_SQUARES, .in = { REAL(-2, 2, 2, 5), REAL(-1, 1, 2, 1) }, .attrs = { .dtype = CBX_F64, AXIS1 } },
    { .prim = CBX_PRIM_CUMSUM, .in = { REAL(-2, 2, 2, 5) }, .attrs = { .dtype = CBX_F64, .axis = 1 } },
    { .prim = CBX_PRIM_CUMPROD, .in = { REAL(-2, 2, 2, 5) }, .attrs = { .dtype = CBX_F64, .axis = 1 } },
    { .prim = CBX_PRIM_CUMMAX, .in = { REAL(-2, 2, 2, 5) }, .attrs = { .axis = 1 } },
    { .prim = CBX_PRIM_CUMMIN, .in = { REAL(-2, 2, 2, 5) }, .attrs = { .axis = 1 } },
    { .prim = CBX_PRIM_SORT, .in = { REAL(-2, 2, 2, 5) }, .attrs = { .axis = 1, .mode = 1 } },
    { .prim = CBX_PRIM_RANKED, .in = { REAL(-2, 2, 2, 5) }, .attrs = { .axis = 1, .ndim = 2, .shape = { 1, 3 } } },
    { .prim = CBX_PRIM_MATMUL, .in = { REAL(-2, 2, 2, 3, 4), REAL(-2, 2, 2, 4, 2) } },
    { .prim = CBX_PRIM_MATMUL, .label = "complex", .in = { CPLX(-2, 2, 2, 3, 4), CPLX(-2, 2, 2, 4, 2) } },
    { .prim = CBX_PRIM_CHOLESKY, .label = "lower", .f = choleskys, .in = { REAL(-1, 1, 2, 3, 3) } },
    { .prim = CBX_PRIM_CHOLESKY, .label = "complex upper", .f = choleskys, .in = { CPLX(-1, 1, 3, 3) }, .attrs = { .mode = 1 } },
    { .prim = CBX_PRIM_TRIANGULAR_SOLVE, .label = "lower", .in = { REAL(1, 2, 2, 3, 3), REAL(-2, 2, 2, 3, 2) } },
    { .prim = CBX_PRIM_TRIANGULAR_SOLVE, .label = "upper transposed unit", .in = { REAL(1, 2, 3, 3), REAL(-2, 2, 3, 2) }, .attrs = { .mode = CBX_TRIANGLE_UPPER | CBX_TRIANGLE_TRANSPOSE | CBX_TRIANGLE_UNIT } },
    { .prim = CBX_PRIM_TRIANGULAR_SOLVE, .label = "complex adjoint", .in = { CPLX(1, 2, 3, 3), CPLX(-2, 2, 3, 2) }, .attrs = { .mode = CBX_TRIANGLE_UPPER | CBX_TRIANGLE_ADJOINT } },
    { .prim = CBX_PRIM_SOLVE, .in = { REAL(-2, 2, 2, 3, 3), REAL(-2, 2, 2, 3, 2) } },
    { .prim = CBX_PRIM_SOLVE, .label = "complex", .in = { CPLX(-2, 2, 3, 3), CPLX(-2, 2, 3, 2) } },
    { .prim = CBX_PRIM_LU, .label = "det, slogdet, inv", .f = dets, .nout = 3, .in = { REAL(-2, 2, 2, 4, 4) } },
    { .prim = CBX_PRIM_LU, .label = "complex det, slogdet, inv", .f = dets, .nout = 3, .in = { CPLX(-2, 2, 3, 3) } },
    { .prim = CBX_PRIM_QR, .label = "square", .nout = 2, .in = { REAL(-2, 2, 2, 3, 3) }, .attrs = { .mode = 1 } },
    { .prim = CBX_PRIM_QR, .label = "complex tall", .nout = 2, .in = { CPLX(-2, 2, 4, 2) } },
    { .prim = CBX_PRIM_QR, .label = "wide", .nout = 2, .flags = REFUSED, .in = { REAL(-2, 2, 2, 3) } },
    { .prim = CBX_PRIM_QR, .label = "complete", .nout = 2, .flags = REFUSED, .in = { REAL(-2, 2, 3, 2) }, .attrs = { .mode = 1 } },
    { .prim = CBX_PRIM_EIGH, .label = "real", .f = eighs, .nout = 3, .in = { REAL(-1, 1, 2, 3, 3) } },
    { .prim = CBX_PRIM_EIGH, .label = "complex", .f = eighs, .nout = 3, .in = { CPLX(-1, 1, 3, 3) } },
    { .prim = CBX_PRIM_EIGVALSH, .label = "real", .f = eigvalshs, .in = { REAL(-1, 1, 2, 3, 3) } },
    { .prim = CBX_PRIM_EIGVALSH, .label = "complex", .f = eigvalshs, .in = { CPLX(-1, 1, 3, 3) } },
    { .prim = CBX_PRIM_SVD, .label = "tall", .f = svds, .nout = 3, .in = { REAL(-1, 1, 2, 4, 3) } },
    { .prim = CBX_PRIM_SVD, .label = "complex wide", .f = svds, .nout = 3, .in = { CPLX(-1, 1, 2, 4) } },
    { .prim = CBX_PRIM_SVD, .label = "full square", .f = svds, .nout = 3, .in = { REAL(-1, 1, 3, 3) }, .attrs = { .mode = 1 } },
    { .prim = CBX_PRIM_SVD, .label = "full tall", .nout = 3, .flags = REFUSED, .in = { REAL(-1, 1, 4, 3) }, .attrs = { .mode = 1 } },
    { .prim = CBX_PRIM_SVD, .label = "lstsq, pinv", .f = lstsqs, .nout = 3, .in = { REAL(-1, 1, 5, 3), REAL(-1, 1, 5, 2) } },
    { .prim = CBX_PRIM_SEMIRING_MATMUL, .flags = REFUSED, .in = { REAL(-1, 1, 1, 2, 3), REAL(-1, 1, 1, 3, 2) } },
    { .prim = CBX_PRIM_SEMIRING_CONV, .flags = REFUSED, .in = { REAL(-1, 1, 1, 4, 2), REAL(-1, 1, 2, 2, 3) }, .attrs = { .ndim = 1, .axes = { 1 }, .step = { 1 }, .shape = { 3 } } },
    { .prim = CBX_PRIM_SVDVALS, .label = "real", .in = { REAL(-1, 1, 2, 4, 3) } },
    { .prim = CBX_PRIM_SVDVALS, .label = "complex", .in = { CPLX(-1, 1, 2, 4) } },
    { .prim = CBX_PRIM_FFT, .in = { CPLX(-1, 1, 2, 5) }, .attrs = { .axis = 1, .value = { CBX_F64, { .f = 1 } } } },
    { .prim = CBX_PRIM_FFT, .label = "backward", .in = { CPLX(-1, 1, 4, 2) }, .attrs = { .mode = 1, .value = { CBX_F64, { .f = 0.25 } } } },
    { .prim = CBX_PRIM_RFFT, .label = "even", .in = { REAL(-1, 1, 2, 6) }, .attrs = { .axis = 1, .value = { CBX_F64, { .f = 1 } } } },
    { .prim = CBX_PRIM_RFFT, .label = "odd", .in = { REAL(-1, 1, 5) }, .attrs = { .value = { CBX_F64, { .f = 1 } } } },
    { .prim = CBX_PRIM_IRFFT, .label = "even", .in = { CPLX(-1, 1, 2, 4) }, .attrs = { .axis = 1, .shape = { 6 }, .value = { CBX_F64, { .f = 0.5 } } } },
    { .prim = CBX_PRIM_IRFFT, .label = "odd", .in = { CPLX(-1, 1, 4) }, .attrs = { .shape = { 7 }, .value = { CBX_F64, { .f = 0.5 } } } },
    { .prim = CBX_PRIM_RANDOM_GAMMA, .flags = REFUSED, .in = { { CBX_U64, 1, 9, { 4 } }, REAL(1, 2, 4) } },
    { .prim = CBX_PRIM_SCAN, .label = "reverse", .f = scans, .in = { REAL(-1, 1, 2), REAL(-1, 1, 4, 2) } },
    { .prim = CBX_PRIM_SCAN, .label = "with results of steps", .f = scans_with_ys, .nout = 2, .in = { REAL(-1, 1, 2), REAL(-1, 1, 4, 2) } },
    { .prim = CBX_PRIM_WHILE, .f = whiles, .flags = FORWARD_ONLY, .in = { REAL(1.2, 1.7, 3) } },
    { .prim = CBX_PRIM_COND, .label = "yes", .f = conds, .in = { REAL(-2, -1, 3) } },
    { .prim = CBX_PRIM_COND, .label = "no", .f = conds, .in = { REAL(1, 2, 3) } },
};
/* clang-format on */

/* ---- numbers ---- */

static size_t numbers(const cbx_array *a, double v[NUMBERS])
{
    cbx_err err = CBX_ERR_INIT;
    CHECK(!cbx_array_is_failed(a), "an array");
    CHECK(cbx_array_bytes(a) <= NUMBERS * sizeof *v, "numbers of a result");
    CHECK_OK(cbx_array_read(a, v, cbx_array_bytes(a), &err), &err, "read");
    return cbx_array_bytes(a) / sizeof *v;
}

static double largest(const cbx_array *a)
{
    double v[NUMBERS], m = 0;
    const size_t n = numbers(a, v);
    for (size_t i = 0; i < n; i++) m = worse(fabs(v[i]), m);
    return m;
}
static double distance(cbx_ctx *c, const cbx_array *a, const cbx_array *b)
{
    CHECK(cbx_array_desc_equal(cbx_array_get_desc(a), cbx_array_get_desc(b)), "results of one shape and dtype");
    return cbx_array_count(a) ? largest(cbx_subtract(c, a, b)) : 0;
}
/* Re(sum a b) */
static double pairing(const cbx_array *a, const cbx_array *b)
{
    double x[NUMBERS], y[NUMBERS], sum = 0;
    const size_t n = numbers(a, x);
    const bool is_complex = cbx_dtype_kind(cbx_array_dtype(a)) == CBX_KIND_COMPLEX;

    CHECK_INT(numbers(b, y), n, "numbers that are paired");
    for (size_t i = 0; i < n; i++) sum += is_complex && i % 2 ? -x[i] * y[i] : x[i] * y[i];
    return sum;
}

/* ---- what is checked of a row ---- */

typedef struct point {
    cbx_ctx *c;
    const row *r;
    cbx_fn f;
    size_t nin, nout;
    cbx_rng rng;
    cbx_array *x[OPERANDS], *t[OPERANDS], *ct[RESULTS];
} point;

static operand moving(const row *r, size_t k)
{
    for (size_t i = 0;; i++)
        if (moves(&r->in[i]) && k-- == 0) return r->in[i];
}

static void call(cbx_ctx *c, const cbx_fn *f, cbx_array *const *in, cbx_array **out, const char *what)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn_call(c, f, f->nin, in, f->nout, out);
    if (cbx_ctx_pending(c, &err)) fail_msg("%s: %s", what, err.message);
}

static point point_of(cbx_ctx *c, const row *r, uint64_t seed)
{
    point p = { .c = c, .r = r, .f = fn_of(r), .nin = moving_of(r), .rng = cbx_rng_make(seed, 1) };
    cbx_array *y[RESULTS];

    p.nout = p.f.nout;
    for (size_t i = 0; i < p.nin; i++) {
        operand of = moving(r, i);
        p.x[i] = drawn(c, &of, &p.rng);
        of.low = -1, of.high = 1;
        p.t[i] = drawn(c, &of, &p.rng);
    }
    call(c, &p.f, p.x, y, p.f.name);
    for (size_t i = 0; i < p.nout; i++) {
        operand of = { cbx_array_dtype(y[i]), -1, 1, { 0 } };
        memcpy(of.shape, cbx_array_get_desc(y[i])->shape, (size_t)cbx_array_ndim(y[i]) * sizeof *of.shape);
        p.ct[i] = drawn(c, &of, &p.rng);
    }
    return p;
}

/* x + h t of all operands */
static void moved(const point *p, double h, cbx_array **x)
{
    for (size_t i = 0; i < p->nin; i++) x[i] = cbx_add(p->c, p->x[i], cbx_multiply_scalar(p->c, p->t[i], h));
}

/* Derivatives of n results of f along t by differences: f(x) must take the operands alone. */
static void differences(const point *p, const cbx_fn *f, cbx_array **d)
{
    enum { STEPS = 4 };
    static const double at[STEPS] = { -2, -1, 1, 2 }, weight[STEPS] = { 1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12 };
    const double h = 2e-4;
    cbx_array *x[OPERANDS], *y[OPERANDS];

    for (int s = 0; s < STEPS; s++) {
        moved(p, at[s] * h, x);
        call(p->c, f, x, y, f->name);
        for (size_t i = 0; i < f->nout; i++) {
            cbx_array *part = cbx_multiply_scalar(p->c, y[i], weight[s] / h);
            d[i] = s ? cbx_add(p->c, d[i], part) : part;
        }
    }
}

/* The largest error of n derivatives over their scale: their own, and 1. */
static double against_differences(const point *p, const cbx_fn *f, cbx_array *const *dy, size_t n)
{
    cbx_array *d[OPERANDS];
    double error = 0;

    differences(p, f, d);
    for (size_t i = 0; i < n; i++) error = worse(distance(p->c, dy[i], d[i]) / (1 + largest(d[i])), error);
    return error;
}

static cbx_fn *made(cbx_status st, cbx_fn *f, const cbx_err *err, const char *what)
{
    CHECK_OK(st, err, what);
    return f;
}
#define MADE(f, make) (made(make, f, &err, #make))

static double jvp_error(const point *p)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *j = NULL;
    cbx_array *in[2 * OPERANDS], *out[2 * RESULTS];

    MADE(j, cbx_jvp(p->c, &p->f, 0, NULL, &j, &err));
    memcpy(in, p->x, p->nin * sizeof *in);
    memcpy(in + p->nin, p->t, p->nin * sizeof *in);
    call(p->c, j, in, out, "jvp");
    cbx_fn_free(j);
    return against_differences(p, &p->f, out + p->nout, p->nout);
}

/* |<ct, J t> - <J^T ct, t>| over the sum of what both are sums of */
static double transpose_error(const point *p)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *j = NULL, *v = NULL;
    cbx_array *in[2 * OPERANDS], *out[2 * RESULTS], *back[RESULTS + OPERANDS];
    double forward = 0, backward = 0, scale = 1;

    MADE(j, cbx_jvp(p->c, &p->f, 0, NULL, &j, &err));
    MADE(v, cbx_vjp(p->c, &p->f, 0, NULL, &v, &err));
    memcpy(in, p->x, p->nin * sizeof *in);
    memcpy(in + p->nin, p->t, p->nin * sizeof *in);
    call(p->c, j, in, out, "jvp");
    memcpy(in + p->nin, p->ct, p->nout * sizeof *in);
    call(p->c, v, in, back, "vjp");
    for (size_t i = 0; i < p->nout; i++) {
        forward += pairing(p->ct[i], out[p->nout + i]);
        scale += largest(out[p->nout + i]);
    }
    for (size_t i = 0; i < p->nin; i++) {
        CHECK(cbx_array_desc_equal(cbx_array_get_desc(back[p->nout + i]), cbx_array_get_desc(p->x[i])),
              "a cotangent like its operand");
        backward += pairing(back[p->nout + i], p->t[i]);
        scale += largest(back[p->nout + i]);
    }
    cbx_fn_free(j);
    cbx_fn_free(v);
    return fabs(forward - backward) / scale;
}

/* Re(sum ct f(x)), where ct are what the point says */
static cbx_status paired(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const point *p = user;
    cbx_array *y[RESULTS];

    (void)nout;
    cbx_fn_call(c, &p->f, nin, in, p->nout, y);
    out[0] = NULL;
    for (size_t i = 0; i < p->nout; i++) {
        cbx_array *part = cbx_sum(c, cbx_real(c, cbx_multiply(c, y[i], p->ct[i])), NULL);
        out[0] = out[0] ? cbx_add(c, out[0], part) : part;
    }
    return CBX_OK;
}

static double second_error(const point *p)
{
    cbx_err err = CBX_ERR_INIT;
    const cbx_fn *f = CBX_FN(paired, (void *)(uintptr_t)p, p->nin, 1);
    cbx_fn *g = NULL, *h = NULL;
    cbx_array *in[2 * OPERANDS], *out[2 * OPERANDS];
    double error;

    MADE(g, cbx_grad(p->c, f, p->nin, NULL, &g, &err));
    MADE(h, cbx_jvp(p->c, g, 0, NULL, &h, &err));
    memcpy(in, p->x, p->nin * sizeof *in);
    memcpy(in + p->nin, p->t, p->nin * sizeof *in);
    call(p->c, h, in, out, "jvp of grad");
    error = against_differences(p, g, out + p->nin, p->nin);
    cbx_fn_free(g);
    cbx_fn_free(h);
    return error;
}

/* f over a batch of which operands are mapped (a bit each) against one element of it after the other. */
static double batch_error(const point *p, const cbx_fn *f, cbx_array *const *in, unsigned mapped, uint64_t seed)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *v = NULL;
    cbx_array *one[BATCH][2 * OPERANDS], *all[2 * OPERANDS], *y[BATCH][2 * OPERANDS], *batch[2 * OPERANDS];
    int axes[2 * OPERANDS];
    double error = 0;

    for (size_t i = 0; i < f->nin; i++) {
        const cbx_array *stack[BATCH];
        const bool is_mapped = mapped >> i & 1;
        for (size_t b = 0; b < BATCH; b++) {
            /* near enough to the point to stay in the domain */
            cbx_rng rng = cbx_rng_make(seed + 7 * b, i);
            operand of = { cbx_array_dtype(in[i]), -1, 1, { 0 } };
            memcpy(of.shape, cbx_array_get_desc(in[i])->shape, (size_t)cbx_array_ndim(in[i]) * sizeof *of.shape);
            one[b][i] = is_mapped && b ? cbx_add(p->c, in[i], cbx_multiply_scalar(p->c, drawn(p->c, &of, &rng), 1e-3))
                                       : in[i];
            stack[b] = one[b][i];
        }
        axes[i] = is_mapped ? 0 : CBX_NOT_MAPPED;
        all[i] = is_mapped ? cbx_stack(p->c, BATCH, stack, 0) : in[i];
    }
    MADE(v, cbx_vmap(p->c, f, axes, NULL, &v, &err));
    call(p->c, v, all, batch, "vmap");
    cbx_fn_free(v);
    for (size_t b = 0; b < BATCH; b++) {
        call(p->c, f, one[b], y[b], "an element of a batch");
        for (size_t i = 0; i < f->nout; i++) {
            const double d = distance(p->c, cbx_index(p->c, batch[i], 0, (ptrdiff_t)b), y[b][i]);
            error = worse(d / (1 + largest(y[b][i])), error);
        }
    }
    return error;
}

static double batch_of_jvp_error(const point *p)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *j = NULL;
    cbx_array *in[2 * OPERANDS];
    double error;

    MADE(j, cbx_jvp(p->c, &p->f, 0, NULL, &j, &err));
    memcpy(in, p->x, p->nin * sizeof *in);
    memcpy(in + p->nin, p->t, p->nin * sizeof *in);
    error = batch_error(p, j, in, ~0u, 100);
    error = worse(batch_error(p, j, in, ~0u << p->nin, 200), error); /* tangents alone, as of a Jacobian */
    cbx_fn_free(j);
    return error;
}

static double batch_of_grad_error(const point *p)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *g = NULL;
    double error;

    MADE(g, cbx_grad(p->c, CBX_FN(paired, (void *)(uintptr_t)p, p->nin, 1), p->nin, NULL, &g, &err));
    error = batch_error(p, g, p->x, ~0u, 300);
    cbx_fn_free(g);
    return error;
}

/* sum over a batch of three equal points */
static cbx_status summed_batch(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *v = NULL;
    const cbx_status st = cbx_vmap(c, user, NULL, NULL, &v, &err);

    (void)nout;
    if (st) return st;
    cbx_fn_call(c, v, nin, in, 1, out);
    out[0] = cbx_sum(c, out[0], NULL);
    cbx_fn_free(v);
    return CBX_OK;
}

/* The gradient of a sum over a batch is the stack of gradients. */
static double grad_of_batch_error(const point *p)
{
    cbx_err err = CBX_ERR_INIT;
    const cbx_fn *f = CBX_FN(paired, (void *)(uintptr_t)p, p->nin, 1);
    cbx_fn *g = NULL, *s = NULL;
    cbx_array *one[OPERANDS], *all[OPERANDS], *stack[OPERANDS];
    double error = 0;

    MADE(g, cbx_grad(p->c, f, p->nin, NULL, &g, &err));
    MADE(s, cbx_grad(p->c, CBX_FN(summed_batch, (void *)(uintptr_t)f, p->nin, 1), p->nin, NULL, &s, &err));
    for (size_t i = 0; i < p->nin; i++)
        stack[i] = cbx_stack(p->c, 2, (const cbx_array *const[]){ p->x[i], p->x[i] }, 0);
    call(p->c, g, p->x, one, "grad");
    call(p->c, s, stack, all, "grad of vmap");
    for (size_t i = 0; i < p->nin; i++)
        for (int b = 0; b < 2; b++)
            error = worse(distance(p->c, cbx_index(p->c, all[i], 0, b), one[i]) / (1 + largest(one[i])), error);
    cbx_fn_free(g);
    cbx_fn_free(s);
    return error;
}

/* ---- the tests ---- */

static bool has_primitive(cbx_ctx *c, const point *p)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_array_desc d[OPERANDS];
    cbx__traced g = { 0 };
    bool found = false;

    for (size_t i = 0; i < p->nin; i++) d[i] = *cbx_array_get_desc(p->x[i]);
    CHECK_OK(cbx__trace_fn(c, &p->f, d, &g, &err), &err, "trace");
    for (size_t k = 0; k < g.graph->nodes.n; k++) found |= g.graph->nodes.items[k].prim == p->r->prim;
    cbx__traced_clear(c, &g);
    return found;
}

static void refused(cbx_ctx *c, const row *r, const char *why)
{
    cbx_err err = CBX_ERR_INIT;
    const cbx_fn f = fn_of(r);
    cbx_fn *j = NULL;
    cbx_array *in[2 * OPERANDS], *out[2 * RESULTS];
    cbx_rng rng = cbx_rng_make(5, 1);
    cbx_scope scope;

    cbx_scope_open(c, &scope);
    for (size_t i = 0; i < 2 * f.nin; i++) in[i] = drawn(c, &(const operand[]){ moving(r, i % f.nin) }[0], &rng);
    CHECK_OK(cbx_jvp(c, &f, 0, NULL, &j, &err), &err, why);
    cbx_fn_call(c, j, j->nin, in, j->nout, out);
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EUNSUPPORTED, why);
    CHECK(strstr(err.message, cbx_prim_name(r->prim)), err.message);
    cbx_fn_free(j);
}

static void primitives_have_derivatives(void **state)
{
    (void)state;
    cbx_ctx *c = context();
    int bad = 0;

    for (size_t k = 0; k < CBX_LEN(table); k++) {
        const row *r = &table[k];
        char why[96];
        cbx_scope scope;
        snprintf(why, sizeof why, "%s%s%s", cbx_prim_name(r->prim), r->label ? ", " : "", r->label ? r->label : "");
        if (r->flags & REFUSED) {
            refused(c, r, why);
            continue;
        }
        cbx_scope_open(c, &scope);
        const point p = point_of(c, r, 17 + k);
        const struct {
            double (*error)(const point *p);
            const char *what;
            double bound;
            unsigned not ; /* flags that it is left out for */
        } checks[] = {
            { jvp_error, "jvp against differences", 1e-7, 0 },
            { transpose_error, "vjp against jvp", 1e-12, FORWARD_ONLY },
            { second_error, "jvp of grad against differences", 1e-7, FORWARD_ONLY | FIRST_ONLY },
            { batch_of_jvp_error, "vmap of jvp", 1e-12, 0 },
            { batch_of_grad_error, "vmap of grad", 1e-11, FORWARD_ONLY },
            { grad_of_batch_error, "grad of vmap", 1e-12, FORWARD_ONLY },
        };
        CHECK(has_primitive(c, &p), why);
        for (size_t i = 0; i < CBX_LEN(checks); i++) {
            if (checks[i].not &r->flags) continue;
            const double error = checks[i].error(&p);
            if (error <= checks[i].bound) continue;
            print_error("%s: %s is off by %.3g\n", why, checks[i].what, error);
            bad++;
        }
        for (size_t i = 0; p.nin > 1 && i < p.nin; i++) { /* one operand mapped */
            const double error = batch_error(&p, &p.f, p.x, 1u << i, 400);
            if (error <= 1e-12) continue;
            print_error("%s: vmap in operand %zu alone is off by %.3g\n", why, i, error);
            bad++;
        }
        cbx_scope_close(&scope, NULL);
    }
    cbx_ctx_free(c);
    CHECK_INT(bad, 0, "derivatives that are wrong");
}

static void every_derivative_has_a_row(void **state)
{
    (void)state;
    static const struct {
        cbx_prim prim;
        const char *name, *jvp;
    } rules[] = {
#define RULE(name, run, cost, jvp, transpose, batch) { CBX_PRIM_##name, #name, #jvp },
        CBX__RULES_MAP(RULE)
#undef RULE
    };
    int missing = 0;

    for (size_t i = 0; i < CBX_LEN(rules); i++) {
        bool found = !strcmp(rules[i].jvp, "zero") || !strcmp(rules[i].jvp, "source");
        for (size_t k = 0; !found && k < CBX_LEN(table); k++) found = table[k].prim == rules[i].prim;
        if (!found) print_error("%s has a derivative and no row\n", rules[i].name);
        missing += !found;
    }
    CHECK_INT(missing, 0, "primitives without a row");
}

/* Squares, but traced as something else: what a wrong rule looks like from outside. */
FN(lies)
{
    UNUSED;
    out[0] = cbx_multiply(c, in[0], in[0]);
    if (cbx_array_is_abstract(in[0])) out[0] = cbx_multiply_scalar(c, out[0], 1 + 1e-5);
    return CBX_OK;
}

static void a_wrong_rule_is_seen(void **state)
{
    (void)state;
    static const row wrong = { .prim = CBX_PRIM_MUL, .label = "lies", .f = lies, .in = { REAL(1, 2, 3, 2) } };
    cbx_ctx *c = context();
    cbx_scope scope;

    cbx_scope_open(c, &scope);
    const point p = point_of(c, &wrong, 3);
    CHECK_GT(jvp_error(&p), 1e-7, "differences see a factor that is off by 1e-5");
    CHECK_GT(second_error(&p) + jvp_error(&p), 1e-7, "second ones, too");
    cbx_scope_close(&scope, NULL);
    cbx_ctx_free(c);
}

TEST_FILE(.seconds = 300)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_derivative_has_a_row),
        cmocka_unit_test(primitives_have_derivatives),
        cmocka_unit_test(a_wrong_rule_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
