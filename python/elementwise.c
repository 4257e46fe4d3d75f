/* Functions element by element: a line each. */
#include <string.h>

#include "python/state.h"

typedef cbx_array *(*unary_fn)(cbx_ctx *, const cbx_array *);
typedef cbx_array *(*binary_fn)(cbx_ctx *, const cbx_array *, const cbx_array *);

static PyObject *unary(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0);

    if (!x || !cx_begin(c)) return NULL;
    return cx_result(c, ((unary_fn)fn)(c->ctx, x));
}

/* Both operands, or an exception. */
static bool two(cx_call *c, cx_operand *a, cx_operand *b)
{
    for (int i = 0; i < 2; i++) {
        int is = cx_operand_from(c, c->arg[i], i ? b : a);
        if (is < 0) return false;
        if (is) continue;
        PyErr_Format(PyExc_TypeError, "%s takes Arrays and numbers, not %R (asarray makes an Array)", c->name,
                     (PyObject *)Py_TYPE(c->arg[i]));
        return false;
    }
    return true;
}

static PyObject *binary(cx_call *c, cx_fn fn)
{
    cx_operand a, b;
    const cbx_array *x, *y;

    if (!two(c, &a, &b)) return NULL;
    cx_ease((cx_binary)fn, &a, &b);
    if (!cx_meet(c, &a, &b, &x, &y)) return NULL;
    return cx_result(c, ((cx_binary)fn)(c->ctx, x, y));
}

static cbx_array *round_even(cbx_ctx *ctx, const cbx_array *x) { return cbx_round(ctx, x, 0); }

static PyObject *do_clip(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0), *bound[2] = { NULL, NULL };
    cx_operand v[2] = { 0 };
    bool is_given[2];

    (void)fn;
    if (!x) return NULL;
    for (int i = 0; i < 2; i++) {
        PyObject *o = c->arg[i + 1];
        int is = 1;
        is_given[i] = o && o != Py_None;
        if (is_given[i]) is = cx_operand_from(c, o, &v[i]);
        if (is == 0) PyErr_Format(PyExc_TypeError, "clip takes Arrays and numbers, not %R", (PyObject *)Py_TYPE(o));
        if (is > 0 && is_given[i] && !v[i].array && cx_beyond(&v[i], cbx_array_dtype(x), i == 1))
            is_given[i] = false; /* no element is beyond it */
        if (is <= 0 || (is_given[i] && !v[i].array && !cx_fits(cbx_array_dtype(x), &v[i]))) return NULL;
    }
    if (!cx_begin(c)) return NULL;
    for (int i = 0; i < 2; i++)
        if (is_given[i]) bound[i] = v[i].array ? v[i].array : cx_weak(c, x, &v[i]);
    return cx_result(c, bound[0] || bound[1] ? cbx_clip(c->ctx, x, bound[0], bound[1]) : cbx_copy(c->ctx, x));
}

static PyObject *do_where(cx_call *c, cx_fn fn)
{
    const cbx_array *condition = cx_array_arg(c, 0), *x, *y;
    cx_operand a, b;

    (void)fn;
    if (!condition) return NULL;
    for (int i = 1; i < 3; i++) {
        int is = cx_operand_from(c, c->arg[i], i == 1 ? &a : &b);
        if (is == 0)
            PyErr_Format(PyExc_TypeError, "where takes Arrays and numbers, not %R", (PyObject *)Py_TYPE(c->arg[i]));
        if (is <= 0) return NULL;
    }
    if (!cx_meet(c, &a, &b, &x, &y)) return NULL;
    return cx_result(c, cbx_where(c->ctx, condition, x, y));
}

/* clang-format off */
#define ONE "x, /"
#define TWO "x1, x2, /"
#define ELEMENTWISE(X) \
    X(abs, ONE, unary, cbx_abs, "Magnitude.") \
    X(acos, ONE, unary, cbx_acos, "Inverse cosine.") \
    X(acosh, ONE, unary, cbx_acosh, "Inverse hyperbolic cosine.") \
    X(add, TWO, binary, cbx_add, "x1 + x2.") \
    X(asin, ONE, unary, cbx_asin, "Inverse sine.") \
    X(asinh, ONE, unary, cbx_asinh, "Inverse hyperbolic sine.") \
    X(atan, ONE, unary, cbx_atan, "Inverse tangent.") \
    X(atan2, TWO, binary, cbx_atan2, "Angle of the point (x2, x1).") \
    X(atanh, ONE, unary, cbx_atanh, "Inverse hyperbolic tangent.") \
    X(bitwise_and, TWO, binary, cbx_bitwise_and, "x1 & x2.") \
    X(bitwise_invert, ONE, unary, cbx_bitwise_invert, "~x.") \
    X(bitwise_left_shift, TWO, binary, cbx_bitwise_left_shift, "x1 << x2.") \
    X(bitwise_or, TWO, binary, cbx_bitwise_or, "x1 | x2.") \
    X(bitwise_right_shift, TWO, binary, cbx_bitwise_right_shift, "x1 >> x2.") \
    X(bitwise_xor, TWO, binary, cbx_bitwise_xor, "x1 ^ x2.") \
    X(cbrt, ONE, unary, cbx_cbrt, "Cube root.") \
    X(ceil, ONE, unary, cbx_ceil, "Whole number above.") \
    X(clip, "x, /, min=None, max=None", do_clip, 0, "min(max(x, low), high).") \
    X(conj, ONE, unary, cbx_conj, "Complex conjugate.") \
    X(copysign, TWO, binary, cbx_copysign, "Magnitude of x1 with the sign of x2.") \
    X(cos, ONE, unary, cbx_cos, "Cosine.") \
    X(cosh, ONE, unary, cbx_cosh, "Hyperbolic cosine.") \
    X(deg2rad, ONE, unary, cbx_deg2rad, "Degrees as radians.") \
    X(divide, TWO, binary, cbx_divide, "x1 / x2.") \
    X(equal, TWO, binary, cbx_equal, "x1 == x2.") \
    X(erf, ONE, unary, cbx_erf, "Error function.") \
    X(erfc, ONE, unary, cbx_erfc, "1 - erf.") \
    X(erfinv, ONE, unary, cbx_erfinv, "Inverse of erf.") \
    X(exp, ONE, unary, cbx_exp, "e to the x.") \
    X(exp2, ONE, unary, cbx_exp2, "2 to the x.") \
    X(expm1, ONE, unary, cbx_expm1, "exp(x) - 1.") \
    X(floor, ONE, unary, cbx_floor, "Whole number below.") \
    X(floor_divide, TWO, binary, cbx_floor_divide, "x1 // x2.") \
    X(greater, TWO, binary, cbx_greater, "x1 > x2.") \
    X(greater_equal, TWO, binary, cbx_greater_equal, "x1 >= x2.") \
    X(hypot, TWO, binary, cbx_hypot, "sqrt(x1**2 + x2**2).") \
    X(imag, ONE, unary, cbx_imag, "Imaginary part.") \
    X(isfinite, ONE, unary, cbx_isfinite, "Neither infinite nor NaN.") \
    X(isinf, ONE, unary, cbx_isinf, "Infinite.") \
    X(isnan, ONE, unary, cbx_isnan, "NaN.") \
    X(less, TWO, binary, cbx_less, "x1 < x2.") \
    X(less_equal, TWO, binary, cbx_less_equal, "x1 <= x2.") \
    X(lgamma, ONE, unary, cbx_lgamma, "Logarithm of the magnitude of the gamma function.") \
    X(log, ONE, unary, cbx_log, "Natural logarithm.") \
    X(log10, ONE, unary, cbx_log10, "Logarithm to base 10.") \
    X(log1p, ONE, unary, cbx_log1p, "log(1 + x).") \
    X(log2, ONE, unary, cbx_log2, "Logarithm to base 2.") \
    X(logaddexp, TWO, binary, cbx_logaddexp, "log(exp(x1) + exp(x2)).") \
    X(logical_and, TWO, binary, cbx_logical_and, "Both true.") \
    X(logical_not, ONE, unary, cbx_logical_not, "Not true.") \
    X(logical_or, TWO, binary, cbx_logical_or, "One true.") \
    X(logical_xor, TWO, binary, cbx_logical_xor, "Just one true.") \
    X(maximum, TWO, binary, cbx_maximum, "The greater; NaN if one is.") \
    X(minimum, TWO, binary, cbx_minimum, "The lesser; NaN if one is.") \
    X(multiply, TWO, binary, cbx_multiply, "x1 * x2.") \
    X(negative, ONE, unary, cbx_negative, "-x.") \
    X(nextafter, TWO, binary, cbx_nextafter, "The number next to x1 towards x2.") \
    X(not_equal, TWO, binary, cbx_not_equal, "x1 != x2.") \
    X(positive, ONE, unary, cbx_positive, "x.") \
    X(pow, TWO, binary, cbx_pow, "x1 ** x2.") \
    X(rad2deg, ONE, unary, cbx_rad2deg, "Radians as degrees.") \
    X(real, ONE, unary, cbx_real, "Real part.") \
    X(reciprocal, ONE, unary, cbx_reciprocal, "1 / x.") \
    X(remainder, TWO, binary, cbx_remainder, "x1 % x2, with the sign of x2.") \
    X(round, ONE, unary, round_even, "Nearest whole number, half to even.") \
    X(sign, ONE, unary, cbx_sign, "-1, 0, 1 or NaN.") \
    X(signbit, ONE, unary, cbx_signbit, "The sign is minus, of -0.0 too.") \
    X(sin, ONE, unary, cbx_sin, "Sine.") \
    X(sinh, ONE, unary, cbx_sinh, "Hyperbolic sine.") \
    X(sqrt, ONE, unary, cbx_sqrt, "Square root.") \
    X(square, ONE, unary, cbx_square, "x * x.") \
    X(subtract, TWO, binary, cbx_subtract, "x1 - x2.") \
    X(tan, ONE, unary, cbx_tan, "Tangent.") \
    X(tanh, ONE, unary, cbx_tanh, "Hyperbolic tangent.") \
    X(trunc, ONE, unary, cbx_trunc, "Whole number towards zero.") \
    X(where, "condition, x1, x2, /", do_where, 0, "x1 where the condition holds, else x2.")
/* clang-format on */
CX_FUNCTIONS(cx_elementwise_methods, ELEMENTWISE)
