/*
 * Functions of complex numbers that no primitive has, in terms of their parts.  Their values at
 * infinities and NaN are those of the array API 2024.12.
 */
#include <math.h>

#include "calibrax/array/ops_internal.h"

typedef struct parts {
    cbx_array *re, *im;
} parts;

static parts parts_of(cbx_ctx *ctx, const cbx_array *z) { return (parts){ cbx_real(ctx, z), cbx_imag(ctx, z) }; }

static cbx_array *joined(cbx_ctx *ctx, const cbx_array *re, const cbx_array *im)
{
    return cbx__apply2(ctx, CBX_PRIM_COMPLEX, re, im);
}

/* Part by part, so that infinities stay. */
static cbx_array *log_scaled(cbx_ctx *ctx, const cbx_array *z, double by)
{
    parts p = parts_of(ctx, cbx_log(ctx, z));
    return joined(ctx, cbx_multiply_scalar(ctx, p.re, by), cbx_multiply_scalar(ctx, p.im, by));
}

/* log |1 + z|: near 0 half of log1p(x (2 + x) + y^2), elsewhere the logarithm of hypot. */
static cbx_array *log1p_of(cbx_ctx *ctx, const cbx_array *z)
{
    parts p = parts_of(ctx, z);
    cbx_array *one_more = cbx_add_scalar(ctx, p.re, 1.0), *small, *near, *far;

    small = cbx_logical_and(ctx, cbx_less_scalar(ctx, cbx_abs(ctx, p.re), 0.5),
                            cbx_less_scalar(ctx, cbx_abs(ctx, p.im), 0.5));
    near = cbx_multiply(ctx, p.re, cbx_add_scalar(ctx, p.re, 2.0));
    near = cbx_multiply_scalar(ctx, cbx_log1p(ctx, cbx_add(ctx, near, cbx_square(ctx, p.im))), 0.5);
    far = cbx_log(ctx, cbx_hypot(ctx, one_more, p.im));
    return joined(ctx, cbx_where(ctx, small, near, far), cbx_atan2(ctx, p.im, one_more));
}

/*
 * e^x cos y - 1 = expm1(x) cos y - 2 sin^2(y/2); where x is infinite and y no number, the limits;
 * no real part is -0.
 */
static cbx_array *expm1_of(cbx_ctx *ctx, const cbx_array *z)
{
    parts p = parts_of(ctx, z);
    cbx_array *re, *im, *edge, *end;

    re = cbx_multiply_scalar(ctx, cbx_square(ctx, cbx_sin(ctx, cbx_multiply_scalar(ctx, p.im, 0.5))), 2.0);
    re = cbx_subtract(ctx, cbx_multiply(ctx, cbx_expm1(ctx, p.re), cbx_cos(ctx, p.im)), re);
    im = cbx_multiply(ctx, cbx_exp(ctx, p.re), cbx_sin(ctx, p.im));
    im = cbx_where(ctx, cbx_equal_scalar(ctx, p.im, 0.0), p.im, im);
    re = cbx_where(ctx, cbx_equal_scalar(ctx, p.im, 0.0), cbx_expm1(ctx, p.re), re);
    edge = cbx_logical_and(ctx, cbx_isinf(ctx, p.re), cbx_logical_not(ctx, cbx_isfinite(ctx, p.im)));
    end = cbx_expm1(ctx, p.re); /* -1 or infinity */
    re = cbx_where(ctx, edge, end, re);
    im = cbx_where(ctx, cbx_logical_and(ctx, edge, cbx_less_scalar(ctx, p.re, 0.0)), cbx_zeros_like(ctx, im), im);
    return joined(ctx, cbx_add_scalar(ctx, re, 0.0), im);
}

/* z / |z|, part by part, so that nothing overflows; 0 + 0i for the zeros of all signs. */
static cbx_array *sign_of(cbx_ctx *ctx, const cbx_array *z)
{
    parts p = parts_of(ctx, z);
    cbx_array *zero = cbx_zeros_like(ctx, z), *size = cbx_abs(ctx, z);
    cbx_array *unit = joined(ctx, cbx_divide(ctx, p.re, size), cbx_divide(ctx, p.im, size));
    return cbx_where(ctx, cbx_equal(ctx, z, zero), zero, unit);
}

static cbx_array *rint_of(cbx_ctx *ctx, const cbx_array *z)
{
    parts p = parts_of(ctx, z);
    return joined(ctx, cbx_rint(ctx, p.re), cbx_rint(ctx, p.im));
}

cbx_array *cbx__apply_complex(cbx_ctx *ctx, cbx_prim p, const cbx_array *z)
{
    size_t mark = cbx__mark(ctx);
    switch (p) {
    case CBX_PRIM_LOG2: return cbx__tidy(ctx, mark, log_scaled(ctx, z, 1.0 / M_LN2));
    case CBX_PRIM_LOG10: return cbx__tidy(ctx, mark, log_scaled(ctx, z, 1.0 / M_LN10));
    case CBX_PRIM_LOG1P: return cbx__tidy(ctx, mark, log1p_of(ctx, z));
    case CBX_PRIM_EXPM1: return cbx__tidy(ctx, mark, expm1_of(ctx, z));
    case CBX_PRIM_SIGN: return cbx__tidy(ctx, mark, sign_of(ctx, z));
    case CBX_PRIM_RINT: return cbx__tidy(ctx, mark, rint_of(ctx, z));
    default: return cbx__tidy(ctx, mark, cbx__apply1(ctx, p, z, NULL));
    }
}
