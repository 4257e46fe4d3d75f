/* Functions element by element: a line each. */
#include <string.h>

#include "python/state.h"

CX_FORMULA(unary, CX_FN(const cbx_array *)(c->ctx, x), x)
CX_FORMULA(do_round, cbx_round(c->ctx, x, 0), x)

static PyObject *binary(cx_call *c)
{
    const cbx_array *x, *y;
    cx_operand x1, x2;

    if (!CX_GET(c, x1, x2)) return NULL;
    cx_ease((cx_binary)c->fn, &x1, &x2);
    return cx_meet(c, &x1, &x2, &x, &y) ? cx_result(c, ((cx_binary)c->fn)(c->ctx, x, y)) : NULL;
}

static PyObject *do_clip(cx_call *c)
{
    const cbx_array *x, *bound[2] = { NULL, NULL };
    cx_operand v[2] = { 0 };
    bool is_given[2];

    if (!CX_GET(c, x)) return NULL;
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "max" : "min";
        is_given[i] = cx_arg(c, name) != NULL;
        if (is_given[i] && !CX_GET_AS(c, name, v[i])) return NULL;
        if (is_given[i] && !v[i].array && cx_beyond(&v[i], cbx_array_dtype(x), i == 1))
            is_given[i] = false; /* no element is beyond it */
        if (is_given[i] && !v[i].array && !cx_fits(cbx_array_dtype(x), &v[i])) return NULL;
    }
    if (!cx_begin(c)) return NULL;
    for (int i = 0; i < 2; i++)
        if (is_given[i]) bound[i] = v[i].array ? v[i].array : cx_weak(c, x, &v[i]);
    return cx_result(c, bound[0] || bound[1] ? cbx_clip(c->ctx, x, bound[0], bound[1]) : cbx_copy(c->ctx, x));
}

static PyObject *do_where(cx_call *c)
{
    const cbx_array *condition, *x, *y;
    cx_operand x1, x2;

    if (!CX_GET(c, condition, x1, x2) || !cx_meet(c, &x1, &x2, &x, &y)) return NULL;
    return cx_result(c, cbx_where(c->ctx, condition, x, y));
}

/* clang-format off */
#define ONE "x: Operand, /"
#define TWO "x1: Operand, x2: Operand, /"
#define ELEMENTWISE(X) \
    X(abs, ONE, "Array", unary, cbx_abs, "Magnitude.") \
    X(acos, ONE, "Array", unary, cbx_acos, "Inverse cosine.") \
    X(acosh, ONE, "Array", unary, cbx_acosh, "Inverse hyperbolic cosine.") \
    X(add, TWO, "Array", binary, cbx_add, "x1 + x2.") \
    X(asin, ONE, "Array", unary, cbx_asin, "Inverse sine.") \
    X(asinh, ONE, "Array", unary, cbx_asinh, "Inverse hyperbolic sine.") \
    X(atan, ONE, "Array", unary, cbx_atan, "Inverse tangent.") \
    X(atan2, TWO, "Array", binary, cbx_atan2, "Angle of the point (x2, x1).") \
    X(atanh, ONE, "Array", unary, cbx_atanh, "Inverse hyperbolic tangent.") \
    X(bitwise_and, TWO, "Array", binary, cbx_bitwise_and, "x1 & x2.") \
    X(bitwise_invert, ONE, "Array", unary, cbx_bitwise_invert, "~x.") \
    X(bitwise_left_shift, TWO, "Array", binary, cbx_bitwise_left_shift, "x1 << x2.") \
    X(bitwise_or, TWO, "Array", binary, cbx_bitwise_or, "x1 | x2.") \
    X(bitwise_right_shift, TWO, "Array", binary, cbx_bitwise_right_shift, "x1 >> x2.") \
    X(bitwise_xor, TWO, "Array", binary, cbx_bitwise_xor, "x1 ^ x2.") \
    X(cbrt, ONE, "Array", unary, cbx_cbrt, "Cube root.") \
    X(ceil, ONE, "Array", unary, cbx_ceil, "Whole number above.") \
    X(clip, "x: Array, /, min: Operand | None = None, max: Operand | None = None", "Array", do_clip, 0, "min(max(x, low), high).") \
    X(conj, ONE, "Array", unary, cbx_conj, "Complex conjugate.") \
    X(copysign, TWO, "Array", binary, cbx_copysign, "Magnitude of x1 with the sign of x2.") \
    X(cos, ONE, "Array", unary, cbx_cos, "Cosine.") \
    X(cosh, ONE, "Array", unary, cbx_cosh, "Hyperbolic cosine.") \
    X(deg2rad, ONE, "Array", unary, cbx_deg2rad, "Degrees as radians.") \
    X(divide, TWO, "Array", binary, cbx_divide, "x1 / x2.") \
    X(equal, TWO, "Array", binary, cbx_equal, "x1 == x2.") \
    X(erf, ONE, "Array", unary, cbx_erf, "Error function.") \
    X(erfc, ONE, "Array", unary, cbx_erfc, "1 - erf.") \
    X(erfinv, ONE, "Array", unary, cbx_erfinv, "Inverse of erf.") \
    X(exp, ONE, "Array", unary, cbx_exp, "e to the x.") \
    X(exp2, ONE, "Array", unary, cbx_exp2, "2 to the x.") \
    X(expm1, ONE, "Array", unary, cbx_expm1, "exp(x) - 1.") \
    X(floor, ONE, "Array", unary, cbx_floor, "Whole number below.") \
    X(floor_divide, TWO, "Array", binary, cbx_floor_divide, "x1 // x2.") \
    X(greater, TWO, "Array", binary, cbx_greater, "x1 > x2.") \
    X(greater_equal, TWO, "Array", binary, cbx_greater_equal, "x1 >= x2.") \
    X(hypot, TWO, "Array", binary, cbx_hypot, "sqrt(x1**2 + x2**2).") \
    X(imag, ONE, "Array", unary, cbx_imag, "Imaginary part.") \
    X(isfinite, ONE, "Array", unary, cbx_isfinite, "Neither infinite nor NaN.") \
    X(isinf, ONE, "Array", unary, cbx_isinf, "Infinite.") \
    X(isnan, ONE, "Array", unary, cbx_isnan, "NaN.") \
    X(less, TWO, "Array", binary, cbx_less, "x1 < x2.") \
    X(less_equal, TWO, "Array", binary, cbx_less_equal, "x1 <= x2.") \
    X(lgamma, ONE, "Array", unary, cbx_lgamma, "Logarithm of the magnitude of the gamma function.") \
    X(log, ONE, "Array", unary, cbx_log, "Natural logarithm.") \
    X(log10, ONE, "Array", unary, cbx_log10, "Logarithm to base 10.") \
    X(log1p, ONE, "Array", unary, cbx_log1p, "log(1 + x).") \
    X(log2, ONE, "Array", unary, cbx_log2, "Logarithm to base 2.") \
    X(logaddexp, TWO, "Array", binary, cbx_logaddexp, "log(exp(x1) + exp(x2)).") \
    X(logical_and, TWO, "Array", binary, cbx_logical_and, "Both true.") \
    X(logical_not, ONE, "Array", unary, cbx_logical_not, "Not true.") \
    X(logical_or, TWO, "Array", binary, cbx_logical_or, "One true.") \
    X(logical_xor, TWO, "Array", binary, cbx_logical_xor, "Just one true.") \
    X(maximum, TWO, "Array", binary, cbx_maximum, "The greater; NaN if one is.") \
    X(minimum, TWO, "Array", binary, cbx_minimum, "The lesser; NaN if one is.") \
    X(multiply, TWO, "Array", binary, cbx_multiply, "x1 * x2.") \
    X(negative, ONE, "Array", unary, cbx_negative, "-x.") \
    X(nextafter, TWO, "Array", binary, cbx_nextafter, "The number next to x1 towards x2.") \
    X(not_equal, TWO, "Array", binary, cbx_not_equal, "x1 != x2.") \
    X(positive, ONE, "Array", unary, cbx_positive, "x.") \
    X(pow, TWO, "Array", binary, cbx_pow, "x1 ** x2.") \
    X(rad2deg, ONE, "Array", unary, cbx_rad2deg, "Radians as degrees.") \
    X(real, ONE, "Array", unary, cbx_real, "Real part.") \
    X(reciprocal, ONE, "Array", unary, cbx_reciprocal, "1 / x.") \
    X(remainder, TWO, "Array", binary, cbx_remainder, "x1 % x2, with the sign of x2.") \
    X(round, ONE, "Array", do_round, 0, "Nearest integer, half to even.") \
    X(sign, ONE, "Array", unary, cbx_sign, "-1, 0, 1 or NaN.") \
    X(signbit, ONE, "Array", unary, cbx_signbit, "The sign is minus, of -0.0 too.") \
    X(sin, ONE, "Array", unary, cbx_sin, "Sine.") \
    X(sinh, ONE, "Array", unary, cbx_sinh, "Hyperbolic sine.") \
    X(sqrt, ONE, "Array", unary, cbx_sqrt, "Square root.") \
    X(square, ONE, "Array", unary, cbx_square, "x * x.") \
    X(subtract, TWO, "Array", binary, cbx_subtract, "x1 - x2.") \
    X(tan, ONE, "Array", unary, cbx_tan, "Tangent.") \
    X(tanh, ONE, "Array", unary, cbx_tanh, "Hyperbolic tangent.") \
    X(trunc, ONE, "Array", unary, cbx_trunc, "Whole number towards zero.") \
    X(where, "condition: Array, x1: Operand, x2: Operand, /", "Array", do_where, 0, "x1 where the condition holds, else x2.")
/* clang-format on */
CX_FUNCTIONS(cx_elementwise_methods, ELEMENTWISE, CX_LIGHT)

/* clang-format off */
#define METHODS(X) \
    X(clip, "min: Operand | None = None, max: Operand | None = None", "Array", do_clip, 0, "min(max(x, low), high).") \
    X(conj, "", "Array", unary, cbx_conj, "Complex conjugate.") \
    X(copy, "", "Array", unary, cbx_copy, "An array with elements of its own.") \
    X(round, "", "Array", do_round, 0, "Nearest integer, half to even.")
/* clang-format on */
CX_ARRAY_FUNCTIONS(cx_array_elementwise, METHODS, CX_LIGHT)
