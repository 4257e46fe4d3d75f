/*
 * Derivatives element by element.  In a rule x, x2 are operands, y the result, t, t2 the tangents
 * of operands.
 *
 * Sources: Baydin et al., J. Mach. Learn. Res. 18 (2018) 1-43; conventions of JAX: ties of maximum
 * and minimum share, abs'(0) = 0. Of complex numbers a cotangent pairs with a tangent by Re(ct t),
 * so that transposes need no conjugation.
 */
#include <math.h>

#include "calibrax/array/trace/derive.h"

#define ADD(a, b)        cbx_add(c, a, b)
#define SUB(a, b)        cbx_subtract(c, a, b)
#define MUL(a, b)        cbx_multiply(c, a, b)
#define DIV(a, b)        cbx_divide(c, a, b)
#define NEG(a)           cbx_negative(c, a)
#define SQUARE(a)        cbx_square(c, a)
#define TIMES(a, k)      cbx_multiply_scalar(c, a, k)
#define PLUS(a, k)       cbx_add_scalar(c, a, k)
#define SQRT(a)          cbx_sqrt(c, a)
#define EXP(a)           cbx_exp(c, a)
#define MINUS_FROM(k, a) cbx_add_scalar(c, cbx_negative(c, a), k)

/* ---- one operand: t f'(x) ---- */

#define UNARY(name, derivative)                                                                                        \
    void cbx__jvp_##name(cbx__jvp *r)                                                                                  \
    {                                                                                                                  \
        cbx_ctx *c = r->ctx;                                                                                           \
        cbx_array *x = r->in[0], *y = r->out[0];                                                                       \
        (void)x, (void)y;                                                                                              \
        r->dt[0] = MUL(r->t[0], derivative);                                                                           \
    }
UNARY(sqrt, DIV(cbx_full_like(c, y, cbx_float(0.5)), y))
UNARY(cbrt, cbx_reciprocal(c, TIMES(SQUARE(y), 3)))
UNARY(exp, y)
UNARY(exp2, TIMES(y, M_LN2))
UNARY(expm1, PLUS(y, 1))
UNARY(log, cbx_reciprocal(c, x))
UNARY(log2, DIV(cbx_full_like(c, x, cbx_float(M_LOG2E)), x))
UNARY(log10, DIV(cbx_full_like(c, x, cbx_float(M_LOG10E)), x))
UNARY(log1p, cbx_reciprocal(c, PLUS(x, 1)))
UNARY(sin, cbx_cos(c, x))
UNARY(cos, NEG(cbx_sin(c, x)))
UNARY(tan, PLUS(SQUARE(y), 1))
/* (1 - x)(1 + x) keeps the digits of 1 - x^2 near 1 */
UNARY(asin, cbx_reciprocal(c, SQRT(MUL(MINUS_FROM(1, x), PLUS(x, 1)))))
UNARY(acos, NEG(cbx_reciprocal(c, SQRT(MUL(MINUS_FROM(1, x), PLUS(x, 1))))))
UNARY(atan, cbx_reciprocal(c, PLUS(SQUARE(x), 1)))
UNARY(sinh, cbx_cosh(c, x))
UNARY(cosh, cbx_sinh(c, x))
UNARY(tanh, MUL(MINUS_FROM(1, y), PLUS(y, 1)))
UNARY(asinh, cbx_reciprocal(c, SQRT(PLUS(SQUARE(x), 1))))
UNARY(acosh, cbx_reciprocal(c, MUL(SQRT(PLUS(x, -1)), SQRT(PLUS(x, 1)))))
UNARY(atanh, cbx_reciprocal(c, MUL(MINUS_FROM(1, x), PLUS(x, 1))))
UNARY(erf, TIMES(EXP(NEG(SQUARE(x))), M_2_SQRTPI))
UNARY(erfc, TIMES(EXP(NEG(SQUARE(x))), -M_2_SQRTPI))
UNARY(erfinv, TIMES(EXP(SQUARE(y)), 1 / M_2_SQRTPI))
UNARY(lgamma, cbx_digamma(c, x))

/* Of psi^(n) it is psi^(n+1). */
void cbx__jvp_polygamma(cbx__jvp *r)
{
    const cbx_attrs next = { .mode = r->attrs->mode + 1 };
    r->dt[0] = cbx_multiply(r->ctx, r->t[0], cbx__apply1(r->ctx, CBX_PRIM_POLYGAMMA, r->in[0], &next));
}

/* Real: t sign(x).  Complex: Re(t conj(x)) / |x|, 0 at 0. */
void cbx__jvp_abs(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    cbx_array *x = r->in[0], *y = r->out[0], *t = r->t[0];

    if (cbx_dtype_kind(x->desc.dtype) < CBX_KIND_COMPLEX) {
        r->dt[0] = MUL(t, cbx_sign(c, x));
        return;
    }
    cbx_array *zero = cbx_equal_scalar(c, y, 0), *one = cbx_ones_like(c, y);
    cbx_array *unit = DIV(x, cbx__as(c, cbx_where(c, zero, one, y), x->desc.dtype));
    r->dt[0] = cbx_real(c, MUL(t, cbx_conj(c, unit)));
}

void cbx__jvp_cast(cbx__jvp *r)
{
    if (cbx__has_tangent(r->attrs->dtype)) r->dt[0] = cbx__as(r->ctx, r->t[0], r->attrs->dtype);
}
void cbx__transpose_cast(cbx__transpose *r)
{
    const cbx_dtype to = r->desc[0]->dtype;
    const cbx_array *ct = r->ct[0];

    if (cbx_dtype_kind(to) < CBX_KIND_COMPLEX) ct = cbx_real(r->ctx, ct);
    r->din[0] = cbx__as(r->ctx, ct, to);
}

/* ---- linear in one operand: the same operation of the tangent ---- */

void cbx__jvp_linear(cbx__jvp *r)
{
    r->dt[0] = cbx_apply(r->ctx, r->prim, 1, (const cbx_array *const *)r->t, r->attrs);
}

#define LINEAR(name, transposed)                                                                                       \
    void cbx__transpose_##name(cbx__transpose *r)                                                                      \
    {                                                                                                                  \
        cbx_ctx *c = r->ctx;                                                                                           \
        cbx_array *ct = r->ct[0];                                                                                      \
        r->din[0] = transposed;                                                                                        \
    }
LINEAR(neg, NEG(ct))
LINEAR(copy, cbx__same(c, ct))
LINEAR(conj, cbx_conj(c, ct))

static cbx_array *complex_of(cbx_ctx *c, const cbx_array *re, const cbx_array *im)
{
    return cbx_apply(c, CBX_PRIM_COMPLEX, 2, (const cbx_array *const[]){ re, im }, NULL);
}
LINEAR(real, complex_of(c, ct, cbx_zeros_like(c, ct)))
LINEAR(imag, complex_of(c, cbx_zeros_like(c, ct), NEG(ct)))

/* ---- two operands ---- */

#define PARTIAL(i, factor) (r->t[i] ? MUL(r->t[i], factor) : NULL)
#define BINARY(name, first, second)                                                                                    \
    void cbx__jvp_##name(cbx__jvp *r)                                                                                  \
    {                                                                                                                  \
        cbx_ctx *c = r->ctx;                                                                                           \
        cbx_array *x = r->in[0], *x2 = r->in[1], *y = r->out[0];                                                       \
        (void)x, (void)x2, (void)y;                                                                                    \
        r->dt[0] = cbx__sum_of(c, PARTIAL(0, first), PARTIAL(1, second));                                              \
    }

void cbx__jvp_add(cbx__jvp *r) { r->dt[0] = cbx__sum_of(r->ctx, r->t[0], r->t[1]); }
void cbx__jvp_sub(cbx__jvp *r)
{
    r->dt[0] = cbx__sum_of(r->ctx, r->t[0], r->t[1] ? cbx_negative(r->ctx, r->t[1]) : NULL);
}
void cbx__transpose_add(cbx__transpose *r)
{
    for (int i = 0; i < 2; i++)
        if (!r->in[i]) r->din[i] = cbx__same(r->ctx, r->ct[0]);
}
void cbx__transpose_sub(cbx__transpose *r)
{
    if (!r->in[0]) r->din[0] = cbx__same(r->ctx, r->ct[0]);
    if (!r->in[1]) r->din[1] = cbx_negative(r->ctx, r->ct[0]);
}

BINARY(mul, x2, x)
void cbx__transpose_mul(cbx__transpose *r)
{
    for (int i = 0; i < 2; i++)
        if (!r->in[i] && r->in[1 - i]) r->din[i] = cbx_multiply(r->ctx, r->ct[0], r->in[1 - i]);
}

/* d(x / x2) = (t - y t2) / x2 */
void cbx__jvp_div(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    cbx_array *part = r->t[1] ? NEG(MUL(r->t[1], DIV(r->out[0], r->in[1]))) : NULL;
    r->dt[0] = cbx__sum_of(c, r->t[0] ? DIV(r->t[0], r->in[1]) : NULL, part);
}
void cbx__transpose_div(cbx__transpose *r)
{
    if (!r->in[0]) r->din[0] = cbx_divide(r->ctx, r->ct[0], r->in[1]);
}

/* x - floor(x / x2) x2 */
BINARY(rem, cbx_ones_like(c, x), NEG(cbx_floor(c, DIV(x, x2))))

/* x2 x^(x2-1), 0 where x2 is 0; y log x, 0 where x is 0 */
static cbx_array *power_in_base(cbx_ctx *c, cbx_array *x, cbx_array *x2)
{
    const cbx_array *zero = cbx_equal_scalar(c, x2, 0), *one = cbx_ones_like(c, x2);
    return MUL(x2, cbx_pow(c, x, cbx_where(c, zero, one, PLUS(x2, -1))));
}
static cbx_array *power_in_exponent(cbx_ctx *c, cbx_array *x, cbx_array *y)
{
    const cbx_array *zero = cbx_equal_scalar(c, x, 0);
    return cbx_where(c, zero, cbx_zeros_like(c, y), MUL(cbx_log(c, cbx_where(c, zero, cbx_ones_like(c, x), x)), y));
}
BINARY(pow, power_in_base(c, x, x2), power_in_exponent(c, x, y))

/* Divided twice by the length, so that no square overflows. */
BINARY(atan2, DIV(DIV(x2, cbx_hypot(c, x, x2)), cbx_hypot(c, x, x2)),
       NEG(DIV(DIV(x, cbx_hypot(c, x, x2)), cbx_hypot(c, x, x2))))

/* 0 at (0, 0) */
static cbx_array *cosine(cbx_ctx *c, cbx_array *x, cbx_array *y)
{
    return DIV(x, cbx_where(c, cbx_equal_scalar(c, y, 0), cbx_ones_like(c, y), y));
}
BINARY(hypot, cosine(c, x, y), cosine(c, x2, y))

/* 1 where a is beyond b, 1/2 where they are equal. */
static cbx_array *share(cbx_ctx *c, cbx_array *a, cbx_array *b)
{
    cbx_array *beyond = cbx__as(c, cbx_greater(c, a, b), a->desc.dtype);
    return ADD(beyond, TIMES(cbx__as(c, cbx_equal(c, a, b), a->desc.dtype), 0.5));
}
BINARY(max, share(c, x, x2), share(c, x2, x))
BINARY(min, share(c, x2, x), share(c, x, x2))

static cbx_array *sign_of(cbx_ctx *c, const cbx_array *x) { return cbx_copysign(c, cbx_ones_like(c, x), x); }
void cbx__jvp_copysign(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    if (r->t[0]) r->dt[0] = MUL(r->t[0], MUL(sign_of(c, r->in[0]), sign_of(c, r->in[1])));
}

/* Weights of softmax; exp(inf - inf) is 1: where both are infinite they share as they are. */
static cbx_array *weight(cbx_ctx *c, cbx_array *x, cbx_array *y)
{
    const cbx_array *same = cbx_equal(c, x, y);
    return EXP(cbx_where(c, same, cbx_zeros_like(c, y), SUB(x, y)));
}
BINARY(logaddexp, weight(c, x, y), weight(c, x2, y))

void cbx__jvp_complex(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    r->dt[0] = complex_of(c, r->t[0] ? r->t[0] : cbx_zeros_like(c, r->in[0]),
                          r->t[1] ? r->t[1] : cbx_zeros_like(c, r->in[1]));
}
void cbx__transpose_complex(cbx__transpose *r)
{
    cbx_ctx *c = r->ctx;
    if (!r->in[0]) r->din[0] = cbx_real(c, r->ct[0]);
    if (!r->in[1]) r->din[1] = NEG(cbx_imag(c, r->ct[0]));
}

/* ---- three operands ---- */

void cbx__jvp_select(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    r->dt[0] = cbx_where(c, r->in[0], r->t[1] ? r->t[1] : cbx_zeros_like(c, r->in[1]),
                         r->t[2] ? r->t[2] : cbx_zeros_like(c, r->in[2]));
}
void cbx__transpose_select(cbx__transpose *r)
{
    cbx_ctx *c = r->ctx;
    cbx_array *zero = cbx_zeros_like(c, r->ct[0]);
    if (!r->in[1]) r->din[1] = cbx_where(c, r->in[0], r->ct[0], zero);
    if (!r->in[2]) r->din[2] = cbx_where(c, r->in[0], zero, r->ct[0]);
}

/* min(max(x, low), high): the operand that the result equals moves it; x itself at the bounds. */
void cbx__jvp_clamp(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    cbx_array *x = r->in[0], *low = r->in[1], *high = r->in[2], *zero = cbx_zeros_like(c, r->out[0]);
    cbx_array *over = cbx_greater(c, cbx_maximum(c, x, low), high), *under = cbx_less(c, x, low);
    cbx_array *t[3];

    for (int i = 0; i < 3; i++) t[i] = r->t[i] ? r->t[i] : zero;
    r->dt[0] = cbx_where(c, over, t[2], cbx_where(c, under, t[1], t[0]));
}

void cbx__jvp_fma(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    r->dt[0] = cbx__sum_of(c, cbx__sum_of(c, PARTIAL(0, r->in[1]), PARTIAL(1, r->in[0])), r->t[2]);
}
void cbx__transpose_fma(cbx__transpose *r)
{
    cbx__transpose_mul(r);
    if (!r->in[2]) r->din[2] = cbx__same(r->ctx, r->ct[0]);
}

/* Which candidate is accepted depends on the shape: the number moves so that its probability
 * stays. */
void cbx__jvp_random_gamma(cbx__jvp *r)
{
    const cbx_array *in[] = { r->in[1], r->out[0] };
    r->dt[0] = cbx_multiply(r->ctx, r->t[1], cbx_apply(r->ctx, CBX_PRIM_RANDOM_GAMMA_GRAD, 2, in, NULL));
}
static cbx_array *gamma_grad(const cbx__jvp *r, int n, bool in_number)
{
    const cbx_attrs attrs = { .mode = 2 * n + in_number };
    return cbx_apply(r->ctx, CBX_PRIM_RANDOM_GAMMA_GRAD, 2, (const cbx_array *const *)r->in, &attrs);
}

/* With G_n, derivative n in the shape a, and H_n = dG_n/dx:
 * dH_n/dx = H_n (1 - (a - 1) / x) + G_n (a - 1) / x^2 + n (G_(n-1) / x - H_(n-1)) / x, and of
 * n = 0: - 1 / x. */
static cbx_array *gamma_grad_in_number_twice(const cbx__jvp *r, int n)
{
    cbx_ctx *c = r->ctx;
    const cbx_array *x = r->in[1], *ratio = DIV(PLUS(r->in[0], -1), x);
    cbx_array *sum = ADD(MUL(gamma_grad(r, n, true), MINUS_FROM(1, ratio)),
                         DIV(MUL(gamma_grad(r, n, false), ratio), x));

    if (n == 0) return SUB(sum, cbx_reciprocal(c, x));
    return ADD(sum, DIV(TIMES(SUB(DIV(gamma_grad(r, n - 1, false), x), gamma_grad(r, n - 1, true)), n), x));
}

void cbx__jvp_random_gamma_grad(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const int n = r->attrs->mode / 2;
    const bool in_number = r->attrs->mode % 2;

    if (r->t[0] && n == CBX__GAMMA_GRAD_ORDERS) {
        cbx__refuse(c, CBX_EUNSUPPORTED, "'random_gamma' has no derivatives in its shape beyond number %d", n + 1);
        return;
    }
    if (r->t[0]) r->dt[0] = MUL(r->t[0], gamma_grad(r, n + 1, in_number));
    if (r->t[1])
        r->dt[0] = cbx__sum_of(c, r->dt[0],
                               MUL(r->t[1], in_number ? gamma_grad_in_number_twice(r, n) : gamma_grad(r, n, true)));
}
