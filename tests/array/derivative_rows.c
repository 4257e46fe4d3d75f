/* Rows of test_derivatives.c. */
#include "derivative_graph.h"

#include "calibrax/array/linalg.h"

size_t row_operands(const row *r)
{
    size_t n = 0;
    while (n < OPERANDS && r->in[n].low < r->in[n].high) n++;
    return n;
}
size_t row_moving(const row *r)
{
    size_t n = 0;
    for (size_t i = 0; i < row_operands(r); i++) n += operand_moves(&r->in[i]);
    return n;
}

static cbx_array_desc desc_of(const operand *o)
{
    cbx_array_desc d = { o->dtype, 0, { 0 } };
    for (; d.ndim < 5 && o->shape[d.ndim]; d.ndim++) d.shape[d.ndim] = o->shape[d.ndim];
    return d;
}

/* Numbers of a range, no two of them close: one of each of n parts of it, shuffled. */
cbx_array *derivative_draw(cbx_ctx *c, const operand *o, cbx_rng *rng)
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
    const size_t n = row_operands(r);

    (void)nin, (void)nout;
    for (size_t i = 0, k = 0; i < n; i++) all[i] = operand_moves(&r->in[i]) ? in[k++] : fixed(c, &r->in[i]);
    cbx_apply_all(c, r->prim, n, all, &r->attrs, out);
    return CBX_OK;
}

cbx_fn derivative_fn(const row *r)
{
    return (cbx_fn){ r->label ? r->label : cbx_prim_name(r->prim),
                     r->f ? r->f : applied,
                     (void *)(uintptr_t)r,
                     row_moving(r),
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
/* Factors with vectors that x does not determine, of which the span is looked at alone. */
static cbx_array *columns_of(cbx_ctx *c, const cbx_array *x, ptrdiff_t from, ptrdiff_t to)
{
    return cbx_slice(c, x, -1, from, to, 1);
}
static cbx_array *projector(cbx_ctx *c, const cbx_array *v)
{
    return cbx_matrix_product(c, v, cbx_matrix_transpose(c, cbx_conj(c, v)));
}
FN(complete_qrs)
{
    UNUSED;
    const ptrdiff_t n = (ptrdiff_t)cbx_array_dim(in[0], 1);
    cbx_qr_parts p = cbx_qr(c, in[0], true);
    out[0] = projector(c, columns_of(c, p.q, n, CBX_OPEN));
    out[1] = columns_of(c, p.q, 0, n);
    out[2] = p.r;
    return CBX_OK;
}
FN(full_svds)
{
    UNUSED;
    const ptrdiff_t m = (ptrdiff_t)cbx_array_dim(in[0], 0), n = (ptrdiff_t)cbx_array_dim(in[0], 1), k = m < n ? m : n;
    cbx_svd_parts p = cbx_svd(c, in[0], true);
    cbx_array *v = cbx_matrix_transpose(c, p.vh), *u = columns_of(c, p.u, 0, k);
    out[0] = projector(c, columns_of(c, m > n ? p.u : v, k, CBX_OPEN));
    out[1] = squares_of(c, u);
    out[2] = scaled(c, u, cbx_square(c, p.s), cbx_matrix_transpose(c, columns_of(c, v, 0, k)));
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
/* Which shape updates of a scatter have comes from shapes alone: nothing without data may reach
 * the loop. */
FN(gather_in_segments)
{
    UNUSED;
    cbx_array *ids = cbx_remainder(c, cbx_arange_int(c, 0, 2, 1, CBX_I64), cbx_full(c, 0, NULL, CBX_I64, cbx_int(2)));
    out[0] = cbx_sin(c, cbx_add(c, in[0], cbx_segment_sum(c, in[1], ids, 2)));
    return CBX_OK;
}
FN(scans_segments)
{
    UNUSED;
    return cbx_scan(c, CBX_FN(gather_in_segments, NULL, 2, 1), 1, in, 1, in + 1, CBX_LENGTH_OF_XS, false, out);
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

/* Derivatives of products as functions of (a, b, g) or (a, b, ta, tb): the product is made of a
 * and b. */
static void with_product(cbx_ctx *c, const row *r, size_t nin, cbx_array *const *in, cbx_array **all)
{
    const cbx_prim of = r->prim == CBX_PRIM_SEMIRING_CONV_VJP || r->prim == CBX_PRIM_SEMIRING_CONV_JVP
                            ? CBX_PRIM_SEMIRING_CONV
                            : CBX_PRIM_SEMIRING_MATMUL;
    all[0] = in[0], all[1] = in[1];
    all[2] = cbx_apply(c, of, 2, (const cbx_array *const *)in, &r->attrs);
    for (size_t i = 2; i < nin; i++) all[i + 1] = in[i];
}
FN(derivatives_of_products)
{
    UNUSED;
    const row *r = user;
    cbx_array *all[OPERANDS];
    with_product(c, r, nin, in, all);
    cbx_apply_all(c, r->prim, nin + 1, (const cbx_array *const *)all, &r->attrs, out);
    return CBX_OK;
}

/* ---- over a graph of 4 rows, one of them without edges, and 5 columns ---- */

cbx_ell *derivative_graph;

void derivative_open_graph(cbx_ctx *c)
{
    static const int64_t start[] = { 0, 3, 5, 5, 8 };
    static const int32_t col[] = { 4, 0, 2, 2, 1, 0, 3, 2 };
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_ell_from_csr(c, 4, 5, start, col, &derivative_graph, &err), &err, "graph");
    CHECK_OK(cbx_semiring_define("moments", &moments_functions, &moments, &err), &err, "algebra");
}

/* ---- functions with derivatives of their own ---- */

FN(sines) /* a sin(b) */
{
    UNUSED;
    out[0] = cbx_multiply(c, in[0], cbx_sin(c, in[1]));
    return CBX_OK;
}
FN(sines_jvp)
{
    UNUSED;
    cbx_array *s = cbx_sin(c, in[1]), *k = cbx_cos(c, in[1]);
    out[0] = cbx_multiply(c, in[0], s);
    out[1] = cbx_add(c, cbx_multiply(c, in[2], s), cbx_multiply(c, in[0], cbx_multiply(c, in[3], k)));
    return CBX_OK;
}
FN(sines_fwd)
{
    UNUSED;
    out[0] = cbx_multiply(c, in[0], cbx_sin(c, in[1]));
    out[1] = in[0];
    out[2] = in[1];
    return CBX_OK;
}
FN(sines_bwd)
{
    UNUSED;
    out[0] = cbx_multiply(c, in[2], cbx_sin(c, in[1]));
    out[1] = cbx_multiply(c, in[2], cbx_multiply(c, in[0], cbx_cos(c, in[1])));
    return CBX_OK;
}

/* What is made of the function, called. */
FN(with_jvp)
{
    UNUSED;
    cbx_fn *f = NULL;
    const cbx_status st = cbx_custom_jvp(c, PLAIN(sines, 2, 1), PLAIN(sines_jvp, 4, 2), &f, NULL);
    if (!st) cbx_fn_call(c, f, nin, in, nout, out);
    cbx_fn_free(f);
    return st;
}
FN(with_vjp)
{
    UNUSED;
    cbx_fn *f = NULL;
    const cbx_status st = cbx_custom_vjp(c, PLAIN(sines, 2, 1), PLAIN(sines_fwd, 2, 3), PLAIN(sines_bwd, 3, 2), &f,
                                         NULL);
    if (!st) cbx_fn_call(c, f, nin, in, nout, out);
    cbx_fn_free(f);
    return st;
}
FN(with_checkpoint)
{
    UNUSED;
    cbx_fn *f = NULL;
    const cbx_status st = cbx_checkpoint(c, PLAIN(sines, 2, 1), &f, NULL);
    if (!st) cbx_fn_call(c, f, nin, in, nout, out);
    cbx_fn_free(f);
    return st;
}
FN(checkpoint_map) /* (a, b, their tangents) to the tangent of a sin(b): the linear map, called */
{
    UNUSED;
    cbx_fn *f = NULL, *map = NULL;
    cbx_array *y = NULL;
    cbx_status st = cbx_checkpoint(c, PLAIN(sines, 2, 1), &f, NULL);
    if (!st) st = cbx_linearize(c, f, in, &y, &map, NULL);
    if (!st) cbx_fn_call(c, map, 2, in + 2, 1, out);
    cbx_array_free(y);
    cbx_fn_free(map);
    cbx_fn_free(f);
    return st;
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

#define ONE_AXIS .ndim = 1, .step = { 2 }, .axes = { 1 }, .naxes = 1, .start = { 1 }, .shape = { 4 }
#define TWO_AXES .ndim = 2, .step = { 1, 2 }, .axes = { 2, 1 }, .naxes = 2, .start = { 0, 1 }, .shape = { 2, 2 }

/* clang-format off */
/* A product, its derivatives, a convolution, its derivatives. */
#define PRODUCTS(alg, name)                                                                                                        \
    { .prim = CBX_PRIM_SEMIRING_MATMUL, .label = name, .in = { REAL(-2, 2, 2, 3, 4), REAL(-2, 2, 2, 4, 2) }, .attrs = { ALGEBRA(alg) } }, \
    { .prim = CBX_PRIM_SEMIRING_MATMUL_VJP, .label = name, .f = derivatives_of_products, .nout = 2,                                \
      .in = { REAL(-2, 2, 2, 3, 4), REAL(-2, 2, 2, 4, 2), REAL(-2, 2, 2, 3, 2) }, .attrs = { ALGEBRA(alg) } },                     \
    { .prim = CBX_PRIM_SEMIRING_MATMUL_JVP, .label = name, .f = derivatives_of_products,                                           \
      .in = { REAL(-2, 2, 2, 3, 4), REAL(-2, 2, 2, 4, 2), REAL(-2, 2, 2, 3, 4), REAL(-2, 2, 2, 4, 2) }, .attrs = { ALGEBRA(alg) } }, \
    { .prim = CBX_PRIM_SEMIRING_CONV, .label = name, .in = { REAL(-2, 2, 2, 7, 2), REAL(-2, 2, 3, 2, 3) }, .attrs = { ONE_AXIS, ALGEBRA(alg) } }, \
    { .prim = CBX_PRIM_SEMIRING_CONV_VJP, .label = name, .f = derivatives_of_products, .nout = 2,                                  \
      .in = { REAL(-2, 2, 2, 7, 2), REAL(-2, 2, 3, 2, 3), REAL(-2, 2, 2, 4, 3) }, .attrs = { ONE_AXIS, ALGEBRA(alg) } },           \
    { .prim = CBX_PRIM_SEMIRING_CONV_JVP, .label = name, .f = derivatives_of_products,                                             \
      .in = { REAL(-2, 2, 2, 7, 2), REAL(-2, 2, 3, 2, 3), REAL(-2, 2, 2, 7, 2), REAL(-2, 2, 3, 2, 3) }, .attrs = { ONE_AXIS, ALGEBRA(alg) } }
#define GRAPH_PRODUCT(alg, name, how, from, to, also)                                                                              \
    { .prim = CBX_PRIM_ELL_MATMUL, .label = name, .f = on_graph, .flags = also, .in = { REAL(-2, 2, 4, 3), REAL(-2, 2, from, 2) },  \
      .attrs = { .axis = how, ALGEBRA(alg) } }
#define GRAPH_DERIVATIVES(alg, name, how, from, to)                                                                                \
    { .prim = CBX_PRIM_ELL_MATMUL_VJP, .label = name, .f = on_graph, .nout = 2,                                                    \
      .in = { REAL(-2, 2, 4, 3), REAL(-2, 2, from, 2), REAL(-2, 2, to, 2) }, .attrs = { .axis = how, ALGEBRA(alg) } },             \
    { .prim = CBX_PRIM_ELL_MATMUL_JVP, .label = name, .f = on_graph,                                                               \
      .in = { REAL(-2, 2, 4, 3), REAL(-2, 2, from, 2), REAL(-2, 2, 4, 3), REAL(-2, 2, from, 2) }, .attrs = { .axis = how, ALGEBRA(alg) } }
const row derivative_rows[] = {
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
    PRODUCTS(REAL, "real"), PRODUCTS(LOG, "log"), PRODUCTS(TROPICAL_MAX_PLUS, "max-plus"), PRODUCTS(TROPICAL_MIN_PLUS, "min-plus"),
    PRODUCTS(EUCLIDEAN, "euclidean"),
    { .prim = CBX_PRIM_SEMIRING_MATMUL, .label = "euclidean, raw", .in = { REAL(-2, 2, 2, 3, 4), REAL(-2, 2, 2, 4, 2) }, .attrs = { .keep = 1, ALGEBRA(EUCLIDEAN) } },
    { .prim = CBX_PRIM_SEMIRING_CONV, .label = "log, two axes", .in = { REAL(-2, 2, 1, 4, 3, 2), REAL(-2, 2, 2, 2, 2, 2) }, .attrs = { TWO_AXES, ALGEBRA(LOG) } },
    { .prim = CBX_PRIM_SEMIRING_CONV, .label = "euclidean, two axes, raw", .in = { REAL(-2, 2, 1, 4, 3, 2), REAL(-2, 2, 2, 2, 2, 2) }, .attrs = { TWO_AXES, .keep = 1, ALGEBRA(EUCLIDEAN) } },
    GRAPH_PRODUCT(REAL, "real", 0, 5, 4, 0), GRAPH_PRODUCT(REAL, "real transposed", CBX__ELL_TRANSPOSED, 4, 5, 0),
    GRAPH_PRODUCT(REAL, "real weights", CBX__ELL_SCALED, 5, 4, 0), GRAPH_PRODUCT(LOG, "log", 0, 5, 4, 0), GRAPH_PRODUCT(LOG, "log transposed", CBX__ELL_TRANSPOSED, 4, 5, 0),
    GRAPH_PRODUCT(TROPICAL_MAX_PLUS, "max-plus", 0, 5, 4, 0), GRAPH_PRODUCT(TROPICAL_MIN_PLUS, "min-plus transposed", CBX__ELL_TRANSPOSED, 4, 5, 0),
    GRAPH_PRODUCT(TROPICAL_MAX_PLUS, "max-plus weights", CBX__ELL_SCALED, 5, 4, 0), GRAPH_PRODUCT(EUCLIDEAN, "euclidean", 0, 5, 4, 0),
    GRAPH_DERIVATIVES(REAL, "real", 0, 5, 4), GRAPH_DERIVATIVES(REAL, "real transposed", CBX__ELL_TRANSPOSED, 4, 5),
    GRAPH_DERIVATIVES(TROPICAL_MAX_PLUS, "max-plus", 0, 5, 4),
    GRAPH_DERIVATIVES(LOG, "log", 0, 5, 4), GRAPH_DERIVATIVES(EUCLIDEAN, "euclidean transposed", CBX__ELL_TRANSPOSED, 4, 5),
    GRAPH_DERIVATIVES(TROPICAL_MIN_PLUS, "min-plus weights", CBX__ELL_SCALED, 5, 4),
    { .prim = CBX_PRIM_ELL_SOFTMAX, .f = on_graph, .in = { REAL(-2, 2, 4, 3) } },
    { .prim = CBX_PRIM_ELL_SOFTMAX_VJP, .f = on_graph, .in = { REAL(-2, 2, 4, 3), REAL(-2, 2, 4, 3) } },
    { .prim = CBX_PRIM_ELL_PACK, .f = on_graph, .in = { REAL(-2, 2, 8) } },
    { .prim = CBX_PRIM_ELL_EDGE, .label = "sum", .f = edges, .in = { REAL(-2, 2, 4, 2), REAL(-2, 2, 5, 2), REAL(-1, 1, 4, 3, 2) } },
    { .prim = CBX_PRIM_ELL_EDGE, .label = "minimum", .f = edges, .in = { REAL(-2, 2, 4, 2), REAL(-2, 2, 5, 2), REAL(-1, 1, 4, 3, 2) }, .attrs = { ALGEBRA(TROPICAL_MIN_PLUS) } },
    { .prim = CBX_PRIM_ELL_EDGE, .label = "maximum by the formula", .f = edges_by_formula, .in = { REAL(-2, 2, 4, 2), REAL(-2, 2, 5, 2), REAL(-1, 1, 4, 3, 2) }, .attrs = { ALGEBRA(TROPICAL_MAX_PLUS) } },
    { .prim = CBX_PRIM_ELL_EDGE, .label = "folded by functions", .f = edges_folded, .in = { REAL(-2, 2, 4, 2), REAL(-2, 2, 5, 2), REAL(-1, 1, 4, 3, 2) } },
    { .prim = CBX_PRIM_ELL_EDGE_VJP, .label = "sum", .f = edges_vjp, .nout = 3, .in = { REAL(-2, 2, 4, 2), REAL(-2, 2, 5, 2), REAL(-1, 1, 4, 3, 2), REAL(-2, 2, 4, 2) } },
    { .prim = CBX_PRIM_ELL_EDGE_VJP, .label = "maximum", .f = edges_vjp, .nout = 3, .in = { REAL(-2, 2, 4, 2), REAL(-2, 2, 5, 2), REAL(-1, 1, 4, 3, 2), REAL(-2, 2, 4, 2) }, .attrs = { ALGEBRA(TROPICAL_MAX_PLUS) } },
    { .prim = CBX_PRIM_ELL_EDGE_JVP, .label = "sum", .f = edges_jvp, .in = { REAL(-2, 2, 4, 2), REAL(-2, 2, 5, 2), REAL(-1, 1, 4, 3, 2), REAL(-2, 2, 4, 2), REAL(-2, 2, 5, 2), REAL(-1, 1, 4, 3, 2) } },
    { .prim = CBX_PRIM_ELL_EDGE_JVP, .label = "minimum", .f = edges_jvp, .in = { REAL(-2, 2, 4, 2), REAL(-2, 2, 5, 2), REAL(-1, 1, 4, 3, 2), REAL(-2, 2, 4, 2), REAL(-2, 2, 5, 2), REAL(-1, 1, 4, 3, 2) }, .attrs = { ALGEBRA(TROPICAL_MIN_PLUS) } },
    { .prim = CBX_PRIM_SEMIRING_MATMUL, .label = "functions", .f = functions_matmul, .in = { REAL(-1, 1, 2, 3, 4), REAL(-1, 1, 2, 4, 2) } },
    { .prim = CBX_PRIM_SEMIRING_CONV, .label = "functions", .f = functions_conv, .in = { REAL(-1, 1, 2, 6, 2), REAL(-1, 1, 3, 2, 3) } },
    { .prim = CBX_PRIM_SEMIRING_CONV, .label = "functions, padding", .f = functions_conv, .in = { REAL(-1, 1, 2, 6, 2), REAL(-1, 1, 3, 2, 3) }, .attrs = { .mode = CBX_CONV_SAME } },
    { .prim = CBX_PRIM_ELL_MATMUL, .label = "functions", .f = functions_ell, .in = { REAL(-1, 1, 4, 3), REAL(-1, 1, 5, 2) } },
    { .prim = CBX_PRIM_ELL_MATMUL, .label = "functions, weights", .f = functions_ell, .in = { REAL(-1, 1, 4, 3), REAL(-1, 1, 5, 2) }, .attrs = { .axis = CBX__ELL_SCALED } },
    { .prim = CBX_PRIM_ELL_MATMUL, .label = "functions, transposed", .f = functions_ell, .in = { REAL(-1, 1, 4, 3), REAL(-1, 1, 4, 2) }, .attrs = { .axis = CBX__ELL_TRANSPOSED } },
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
    { .prim = CBX_PRIM_QR, .label = "wide", .nout = 2, .in = { REAL(-2, 2, 2, 2, 4) } },
    { .prim = CBX_PRIM_QR, .label = "complex wide", .nout = 2, .in = { CPLX(-2, 2, 2, 3) }, .attrs = { .mode = 1 } },
    { .prim = CBX_PRIM_QR, .label = "complete", .f = complete_qrs, .nout = 3, .in = { REAL(-2, 2, 5, 3) } },
    { .prim = CBX_PRIM_QR, .label = "complex complete", .f = complete_qrs, .nout = 3, .in = { CPLX(-2, 2, 4, 2) } },
    { .prim = CBX_PRIM_EIGH, .label = "real", .f = eighs, .nout = 3, .in = { REAL(-1, 1, 2, 3, 3) } },
    { .prim = CBX_PRIM_EIGH, .label = "complex", .f = eighs, .nout = 3, .in = { CPLX(-1, 1, 3, 3) } },
    { .prim = CBX_PRIM_EIGVALSH, .label = "real", .f = eigvalshs, .in = { REAL(-1, 1, 2, 3, 3) } },
    { .prim = CBX_PRIM_EIGVALSH, .label = "complex", .f = eigvalshs, .in = { CPLX(-1, 1, 3, 3) } },
    { .prim = CBX_PRIM_SVD, .label = "tall", .f = svds, .nout = 3, .in = { REAL(-1, 1, 2, 4, 3) } },
    { .prim = CBX_PRIM_SVD, .label = "complex wide", .f = svds, .nout = 3, .in = { CPLX(-1, 1, 2, 4) } },
    { .prim = CBX_PRIM_SVD, .label = "full square", .f = svds, .nout = 3, .in = { REAL(-1, 1, 3, 3) }, .attrs = { .mode = 1 } },
    { .prim = CBX_PRIM_SVD, .label = "full tall", .f = full_svds, .nout = 3, .in = { REAL(-1, 1, 5, 3) } },
    { .prim = CBX_PRIM_SVD, .label = "complex full wide", .f = full_svds, .nout = 3, .in = { CPLX(-1, 1, 2, 4) } },
    { .prim = CBX_PRIM_CUSTOM_JVP, .label = "lstsq, pinv", .f = lstsqs, .nout = 3, .in = { REAL(-1, 1, 5, 3), REAL(-1, 1, 5, 2) } },
    { .prim = CBX_PRIM_CUSTOM_JVP, .label = "complex lstsq, pinv, wide", .f = lstsqs, .nout = 3, .in = { CPLX(-1, 1, 2, 3), CPLX(-1, 1, 2, 2) } },
    { .prim = CBX_PRIM_SVDVALS, .label = "real", .in = { REAL(-1, 1, 2, 4, 3) } },
    { .prim = CBX_PRIM_SVDVALS, .label = "complex", .in = { CPLX(-1, 1, 2, 4) } },
    { .prim = CBX_PRIM_FFT, .in = { CPLX(-1, 1, 2, 5) }, .attrs = { .axis = 1, .value = { CBX_F64, { .f = 1 } } } },
    { .prim = CBX_PRIM_FFT, .label = "backward", .in = { CPLX(-1, 1, 4, 2) }, .attrs = { .mode = 1, .value = { CBX_F64, { .f = 0.25 } } } },
    { .prim = CBX_PRIM_RFFT, .label = "even", .in = { REAL(-1, 1, 2, 6) }, .attrs = { .axis = 1, .value = { CBX_F64, { .f = 1 } } } },
    { .prim = CBX_PRIM_RFFT, .label = "odd", .in = { REAL(-1, 1, 5) }, .attrs = { .value = { CBX_F64, { .f = 1 } } } },
    { .prim = CBX_PRIM_IRFFT, .label = "even", .in = { CPLX(-1, 1, 2, 4) }, .attrs = { .axis = 1, .shape = { 6 }, .value = { CBX_F64, { .f = 0.5 } } } },
    { .prim = CBX_PRIM_IRFFT, .label = "odd", .in = { CPLX(-1, 1, 4) }, .attrs = { .shape = { 7 }, .value = { CBX_F64, { .f = 0.5 } } } },
    { .prim = CBX_PRIM_RANDOM_GAMMA, .flags = IMPLICIT, .in = { { CBX_U64, 1, 9, { 4 } }, REAL(1, 2, 4) } },
    { .prim = CBX_PRIM_RANDOM_GAMMA_GRAD, .in = { REAL(1, 2, 4), REAL(1, 3, 4) } },
    { .prim = CBX_PRIM_RANDOM_GAMMA_GRAD, .label = "in the number", .in = { REAL(1, 2, 4), REAL(0.3, 2, 4) }, .attrs = { .mode = 1 } },
    { .prim = CBX_PRIM_RANDOM_GAMMA_GRAD, .label = "thrice in the shape", .in = { REAL(1, 2, 4), REAL(0.3, 2, 4) }, .attrs = { .mode = 4 } },
    { .prim = CBX_PRIM_RANDOM_GAMMA_GRAD, .label = "thrice, then in the number", .in = { REAL(1, 2, 4), REAL(0.3, 2, 4) }, .attrs = { .mode = 5 } },
    { .prim = CBX_PRIM_SCAN, .label = "reverse", .f = scans, .in = { REAL(-1, 1, 2), REAL(-1, 1, 4, 2) } },
    { .prim = CBX_PRIM_SCAN, .label = "sums of segments", .f = scans_segments, .in = { REAL(-1, 1, 2), REAL(-1, 1, 4, 2) } },
    { .prim = CBX_PRIM_SCAN, .label = "with results of steps", .f = scans_with_ys, .nout = 2, .in = { REAL(-1, 1, 2), REAL(-1, 1, 4, 2) } },
    { .prim = CBX_PRIM_WHILE, .f = whiles, .flags = FORWARD_ONLY, .in = { REAL(1.2, 1.7, 3) } },
    { .prim = CBX_PRIM_COND, .label = "yes", .f = conds, .in = { REAL(-2, -1, 3) } },
    { .prim = CBX_PRIM_COND, .label = "no", .f = conds, .in = { REAL(1, 2, 3) } },
    { .prim = CBX_PRIM_CUSTOM_JVP, .f = with_jvp, .in = { REAL(-1, 1, 3), REAL(-1, 1, 3) } },
    { .prim = CBX_PRIM_CUSTOM_VJP, .f = with_vjp, .flags = REVERSE_ONLY, .in = { REAL(-1, 1, 3), REAL(-1, 1, 3) } },
    { .prim = CBX_PRIM_CHECKPOINT, .f = with_checkpoint, .in = { REAL(-1, 1, 3), REAL(-1, 1, 3) } },
    { .prim = CBX_PRIM_CHECKPOINT_MAP, .f = checkpoint_map, .in = { REAL(-1, 1, 3), REAL(-1, 1, 3), REAL(-1, 1, 3), REAL(-1, 1, 3) } },
};
/* clang-format on */

const size_t derivative_row_count = CBX_LEN(derivative_rows);
