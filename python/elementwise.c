/* Functions element by element: a line each. */

#include "python/state.h"

CX_RETURN(unary, (const cbx_array *x), CX_GET(c, x) && cx_begin(c),
          cx_weak_result(c, CX_FN(const cbx_array *)(c->ctx, x)))
CX_FORMULA(do_round, cbx_round(c->ctx, x, 0), x)

static PyObject *binary(cx_call *c)
{
    const cbx_array *x, *y;
    cx_operand x1, x2;

    if (!CX_GET(c, x1, x2)) return NULL;
    const cx_binary f = cx_ease((cx_binary)c->fn, &x1, &x2);
    return cx_meet(c, &x1, &x2, &x, &y) ? cx_weak_result(c, f(c->ctx, x, y)) : NULL;
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

CX_RETURN(do_where, (const cbx_array *condition, *x, *y; cx_operand x1, x2),
          CX_GET(c, condition, x1, x2) && cx_meet(c, &x1, &x2, &x, &y),
          cx_result(c, cbx_where(c->ctx, condition, x, y)))

/* clang-format off */
#define ONE "x: Operand, /"
#define TWO "x1: Operand, x2: Operand, /"
#define ELEMENTWISE(X) \
    X(abs, ONE, "Array", unary, cbx_abs, "Absolute value.\n\n>>> xp.abs(xp.asarray([-1.5, 2.0]))\nArray([1.5, 2.0], dtype=float64)") \
    X(acos, ONE, "Array", unary, cbx_acos, "Inverse cosine.\n\n>>> xp.acos(1.0)\nArray(0.0, dtype=float64)") \
    X(acosh, ONE, "Array", unary, cbx_acosh, "Inverse hyperbolic cosine.\n\n>>> xp.acosh(1.0)\nArray(0.0, dtype=float64)") \
    X(add, TWO, "Array", binary, cbx_add, "x1 + x2.\n\n>>> xp.add(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 6.0]))\nArray([ 7.0, 14.0], dtype=float64)") \
    X(asin, ONE, "Array", unary, cbx_asin, "Inverse sine.\n\n>>> xp.asin(1.0)\nArray(1.5707963267948966, dtype=float64)") \
    X(asinh, ONE, "Array", unary, cbx_asinh, "Inverse hyperbolic sine.\n\n>>> xp.asinh(1.0)\nArray(0.881373587019543, dtype=float64)") \
    X(atan, ONE, "Array", unary, cbx_atan, "Inverse tangent.\n\n>>> xp.atan(1.0)\nArray(0.7853981633974483, dtype=float64)") \
    X(atan2, TWO, "Array", binary, cbx_atan2, "Angle of the point (x2, x1), from -pi to pi.\n\n>>> xp.atan2(xp.asarray([0.0, 1.0]), 1.0)\nArray([               0.0, 0.7853981633974483], dtype=float64)") \
    X(atanh, ONE, "Array", unary, cbx_atanh, "Inverse hyperbolic tangent.\n\n>>> xp.atanh(0.0)\nArray(0.0, dtype=float64)") \
    X(bitwise_and, TWO, "Array", binary, cbx_bitwise_and, "x1 & x2.\n\n>>> xp.bitwise_and(xp.asarray([6, 3]), 2)\nArray([2, 2], dtype=int64)") \
    X(bitwise_invert, ONE, "Array", unary, cbx_bitwise_invert, "~x.\n\n>>> xp.bitwise_invert(xp.asarray([6, 3]))\nArray([-7, -4], dtype=int64)") \
    X(bitwise_left_shift, TWO, "Array", binary, cbx_bitwise_left_shift, "x1 << x2.\n\n>>> xp.bitwise_left_shift(xp.asarray([6, 3]), 2)\nArray([24, 12], dtype=int64)") \
    X(bitwise_or, TWO, "Array", binary, cbx_bitwise_or, "x1 | x2.\n\n>>> xp.bitwise_or(xp.asarray([6, 3]), 2)\nArray([6, 3], dtype=int64)") \
    X(bitwise_right_shift, TWO, "Array", binary, cbx_bitwise_right_shift, "x1 >> x2.\n\n>>> xp.bitwise_right_shift(xp.asarray([6, 3]), 2)\nArray([1, 0], dtype=int64)") \
    X(bitwise_xor, TWO, "Array", binary, cbx_bitwise_xor, "x1 ^ x2.\n\n>>> xp.bitwise_xor(xp.asarray([6, 3]), 2)\nArray([4, 1], dtype=int64)") \
    X(cbrt, ONE, "Array", unary, cbx_cbrt, "Cube root.\n\n>>> xp.cbrt(1.0)\nArray(1.0, dtype=float64)") \
    X(ceil, ONE, "Array", unary, cbx_ceil, "Smallest integer that is not below x.\n\n>>> xp.ceil(xp.asarray([-1.5, 2.5]))\nArray([-1.0,  3.0], dtype=float64)") \
    X(clip, "x: Array, /, min: Operand | None = None, max: Operand | None = None", "Array", do_clip, 0, "Limit the elements to the range from min to max.\n\n>>> xp.clip(xp.asarray([1.0, 2.0, 4.0]), 1.5, 3.0)\nArray([1.5, 2.0, 3.0], dtype=float64)") \
    X(conj, ONE, "Array", unary, cbx_conj, "Complex conjugate.\n\n>>> xp.conj(xp.asarray([1 + 2j]))\nArray([(1-2j)], dtype=complex128)") \
    X(copysign, TWO, "Array", binary, cbx_copysign, "Magnitude of x1 with the sign of x2.\n\n>>> xp.copysign(xp.asarray([1.0, 2.0]), -1.0)\nArray([-1.0, -2.0], dtype=float64)") \
    X(cos, ONE, "Array", unary, cbx_cos, "Cosine.\n\n>>> xp.cos(1.0)\nArray(0.5403023058681398, dtype=float64)") \
    X(cosh, ONE, "Array", unary, cbx_cosh, "Hyperbolic cosine.\n\n>>> xp.cosh(1.0)\nArray(1.5430806348152437, dtype=float64)") \
    X(deg2rad, ONE, "Array", unary, cbx_deg2rad, "Convert degrees to radians.\n\n>>> xp.deg2rad(1.0)\nArray(0.017453292519943295, dtype=float64)") \
    X(divide, TWO, "Array", binary, cbx_divide, "x1 / x2.\n\n>>> xp.divide(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 6.0]))\nArray([              0.75, 1.3333333333333333], dtype=float64)") \
    X(equal, TWO, "Array", binary, cbx_equal, "x1 == x2.\n\n>>> xp.equal(xp.asarray([1.0, 2.0, 4.0]), 2)\nArray([False,  True, False], dtype=bool)") \
    X(erf, ONE, "Array", unary, cbx_erf, "Error function.\n\n>>> xp.erf(1.0)\nArray(0.8427007929497149, dtype=float64)") \
    X(erfc, ONE, "Array", unary, cbx_erfc, "1 - erf.\n\n>>> xp.erfc(1.0)\nArray(0.15729920705028513, dtype=float64)") \
    X(erfinv, ONE, "Array", unary, cbx_erfinv, "Inverse of erf.\n\n>>> xp.erfinv(0.0)\nArray(0.0, dtype=float64)") \
    X(exp, ONE, "Array", unary, cbx_exp, "Exponential function.\n\n>>> xp.exp(1.0)\nArray(2.718281828459045, dtype=float64)") \
    X(exp2, ONE, "Array", unary, cbx_exp2, "2 to the power x.\n\n>>> xp.exp2(1.0)\nArray(2.0, dtype=float64)") \
    X(expm1, ONE, "Array", unary, cbx_expm1, "exp(x) - 1.\n\n>>> xp.expm1(1.0)\nArray(1.7182818284590453, dtype=float64)") \
    X(floor, ONE, "Array", unary, cbx_floor, "Largest integer that is not above x.\n\n>>> xp.floor(xp.asarray([-1.5, 2.5]))\nArray([-2.0,  2.0], dtype=float64)") \
    X(floor_divide, TWO, "Array", binary, cbx_floor_divide, "x1 // x2.\n\n>>> xp.floor_divide(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 6.0]))\nArray([0.0, 1.0], dtype=float64)") \
    X(greater, TWO, "Array", binary, cbx_greater, "x1 > x2.\n\n>>> xp.greater(xp.asarray([1.0, 2.0, 4.0]), 2)\nArray([False, False,  True], dtype=bool)") \
    X(greater_equal, TWO, "Array", binary, cbx_greater_equal, "x1 >= x2.\n\n>>> xp.greater_equal(xp.asarray([1.0, 2.0, 4.0]), 2)\nArray([False,  True,  True], dtype=bool)") \
    X(hypot, TWO, "Array", binary, cbx_hypot, "sqrt(x1**2 + x2**2).\n\n>>> xp.hypot(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 6.0]))\nArray([ 5.0, 10.0], dtype=float64)") \
    X(imag, ONE, "Array", unary, cbx_imag, "Imaginary part.\n\n>>> xp.imag(xp.asarray([1 + 2j]))\nArray([2.0], dtype=float64)") \
    X(isfinite, ONE, "Array", unary, cbx_isfinite, "Whether each element is neither infinite nor NaN.\n\n>>> xp.isfinite(xp.asarray([1.0, xp.inf, xp.nan]))\nArray([ True, False, False], dtype=bool)") \
    X(isinf, ONE, "Array", unary, cbx_isinf, "Whether each element is infinite.\n\n>>> xp.isinf(xp.asarray([1.0, xp.inf, xp.nan]))\nArray([False,  True, False], dtype=bool)") \
    X(isnan, ONE, "Array", unary, cbx_isnan, "Whether each element is NaN.\n\n>>> xp.isnan(xp.asarray([1.0, xp.inf, xp.nan]))\nArray([False, False,  True], dtype=bool)") \
    X(less, TWO, "Array", binary, cbx_less, "x1 < x2.\n\n>>> xp.less(xp.asarray([1.0, 2.0, 4.0]), 2)\nArray([ True, False, False], dtype=bool)") \
    X(less_equal, TWO, "Array", binary, cbx_less_equal, "x1 <= x2.\n\n>>> xp.less_equal(xp.asarray([1.0, 2.0, 4.0]), 2)\nArray([ True,  True, False], dtype=bool)") \
    X(lgamma, ONE, "Array", unary, cbx_lgamma, "Logarithm of the magnitude of the gamma function.\n\n>>> xp.lgamma(1.0)\nArray(0.0, dtype=float64)") \
    X(log, ONE, "Array", unary, cbx_log, "Natural logarithm.\n\n>>> xp.log(1.0)\nArray(0.0, dtype=float64)") \
    X(log10, ONE, "Array", unary, cbx_log10, "Logarithm to base 10.\n\n>>> xp.log10(1.0)\nArray(0.0, dtype=float64)") \
    X(log1p, ONE, "Array", unary, cbx_log1p, "log(1 + x).\n\n>>> xp.log1p(1.0)\nArray(0.6931471805599453, dtype=float64)") \
    X(log2, ONE, "Array", unary, cbx_log2, "Logarithm to base 2.\n\n>>> xp.log2(1.0)\nArray(0.0, dtype=float64)") \
    X(logaddexp, TWO, "Array", binary, cbx_logaddexp, "log(exp(x1) + exp(x2)).\n\n>>> xp.logaddexp(xp.asarray([0.0, 1.0]), 1.0)\nArray([1.3132616875182228, 1.6931471805599454], dtype=float64)") \
    X(logical_and, TWO, "Array", binary, cbx_logical_and, "Logical and.\n\n>>> xp.logical_and(xp.asarray([True, False]), True)\nArray([ True, False], dtype=bool)") \
    X(logical_not, ONE, "Array", unary, cbx_logical_not, "Logical not.\n\n>>> xp.logical_not(xp.asarray([True, False]))\nArray([False,  True], dtype=bool)") \
    X(logical_or, TWO, "Array", binary, cbx_logical_or, "Logical or.\n\n>>> xp.logical_or(xp.asarray([True, False]), True)\nArray([True, True], dtype=bool)") \
    X(logical_xor, TWO, "Array", binary, cbx_logical_xor, "Logical exclusive or.\n\n>>> xp.logical_xor(xp.asarray([True, False]), True)\nArray([False,  True], dtype=bool)") \
    X(maximum, TWO, "Array", binary, cbx_maximum, "Maximum of two elements; NaN if either is NaN.\n\n>>> xp.maximum(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 6.0]))\nArray([4.0, 8.0], dtype=float64)") \
    X(minimum, TWO, "Array", binary, cbx_minimum, "Minimum of two elements; NaN if either is NaN.\n\n>>> xp.minimum(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 6.0]))\nArray([3.0, 6.0], dtype=float64)") \
    X(multiply, TWO, "Array", binary, cbx_multiply, "x1 * x2.\n\n>>> xp.multiply(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 6.0]))\nArray([12.0, 48.0], dtype=float64)") \
    X(negative, ONE, "Array", unary, cbx_negative, "-x.\n\n>>> xp.negative(xp.asarray([-1.5, 2.0]))\nArray([ 1.5, -2.0], dtype=float64)") \
    X(nextafter, TWO, "Array", binary, cbx_nextafter, "Next floating-point number after x1 towards x2.\n\n>>> xp.nextafter(xp.asarray([1.0, 2.0]), -1.0)\nArray([0.9999999999999999, 1.9999999999999998], dtype=float64)") \
    X(not_equal, TWO, "Array", binary, cbx_not_equal, "x1 != x2.\n\n>>> xp.not_equal(xp.asarray([1.0, 2.0, 4.0]), 2)\nArray([ True, False,  True], dtype=bool)") \
    X(positive, ONE, "Array", unary, cbx_positive, "x.\n\n>>> xp.positive(xp.asarray([-1.5, 2.0]))\nArray([-1.5,  2.0], dtype=float64)") \
    X(pow, TWO, "Array", binary, cbx_pow, "x1 ** x2.\n\n>>> xp.pow(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 6.0]))\nArray([    81.0, 262144.0], dtype=float64)") \
    X(rad2deg, ONE, "Array", unary, cbx_rad2deg, "Convert radians to degrees.\n\n>>> xp.rad2deg(1.0)\nArray(57.29577951308232, dtype=float64)") \
    X(real, ONE, "Array", unary, cbx_real, "Real part.\n\n>>> xp.real(xp.asarray([1 + 2j]))\nArray([1.0], dtype=float64)") \
    X(reciprocal, ONE, "Array", unary, cbx_reciprocal, "1 / x.\n\n>>> xp.reciprocal(1.0)\nArray(1.0, dtype=float64)") \
    X(remainder, TWO, "Array", binary, cbx_remainder, "x1 % x2, with the sign of x2.\n\n>>> xp.remainder(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 6.0]))\nArray([3.0, 2.0], dtype=float64)") \
    X(round, ONE, "Array", do_round, 0, "Round to the nearest integer, ties to even.\n\n>>> xp.round(xp.asarray([-1.5, 2.5]))\nArray([-2.0,  2.0], dtype=float64)") \
    X(sign, ONE, "Array", unary, cbx_sign, "Sign: -1, 0, 1 or NaN.\n\n>>> xp.sign(xp.asarray([-1.5, 2.0]))\nArray([-1.0,  1.0], dtype=float64)") \
    X(signbit, ONE, "Array", unary, cbx_signbit, "Whether the sign bit is set, as in -0.0.\n\n>>> xp.signbit(xp.asarray([-0.0, 1.0]))\nArray([ True, False], dtype=bool)") \
    X(sin, ONE, "Array", unary, cbx_sin, "Sine.\n\n>>> xp.sin(1.0)\nArray(0.8414709848078965, dtype=float64)") \
    X(sinh, ONE, "Array", unary, cbx_sinh, "Hyperbolic sine.\n\n>>> xp.sinh(1.0)\nArray(1.1752011936438014, dtype=float64)") \
    X(sqrt, ONE, "Array", unary, cbx_sqrt, "Square root.\n\n>>> xp.sqrt(1.0)\nArray(1.0, dtype=float64)") \
    X(square, ONE, "Array", unary, cbx_square, "x * x.\n\n>>> xp.square(xp.asarray([-1.5, 2.0]))\nArray([2.25,  4.0], dtype=float64)") \
    X(subtract, TWO, "Array", binary, cbx_subtract, "x1 - x2.\n\n>>> xp.subtract(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 6.0]))\nArray([-1.0,  2.0], dtype=float64)") \
    X(tan, ONE, "Array", unary, cbx_tan, "Tangent.\n\n>>> xp.tan(1.0)\nArray(1.5574077246549023, dtype=float64)") \
    X(tanh, ONE, "Array", unary, cbx_tanh, "Hyperbolic tangent.\n\n>>> xp.tanh(1.0)\nArray(0.7615941559557649, dtype=float64)") \
    X(trunc, ONE, "Array", unary, cbx_trunc, "Round towards zero.\n\n>>> xp.trunc(xp.asarray([-1.5, 2.5]))\nArray([-1.0,  2.0], dtype=float64)") \
    X(where, "condition: Array, x1: Operand, x2: Operand, /", "Array", do_where, 0, "x1 where the condition is true, else x2.\n\n>>> xp.where(xp.asarray([1.0, 2.0, 4.0]) > 1.5, 1, 0)\nArray([0, 1, 1], dtype=int64)")
/* clang-format on */
CX_FUNCTIONS(cx_elementwise_methods, ELEMENTWISE, LIGHT)

/* clang-format off */
#define METHODS(X) \
    X(clip, "min: Operand | None = None, max: Operand | None = None", "Array", do_clip, 0, "Limit the elements to the range from min to max.\n\n>>> xp.asarray([3.0, 1.0, 2.0]).clip(1.5)\nArray([3.0, 1.5, 2.0], dtype=float64)") \
    X(conj, "", "Array", unary, cbx_conj, "Complex conjugate.\n\n>>> xp.asarray([3.0, 1.0, 2.0]).conj()\nArray([3.0, 1.0, 2.0], dtype=float64)") \
    X(copy, "", "Array", unary, cbx_copy, "An array with elements of its own.\n\n>>> xp.asarray([3.0, 1.0, 2.0]).copy()\nArray([3.0, 1.0, 2.0], dtype=float64)") \
    X(round, "", "Array", do_round, 0, "Round to the nearest integer, ties to even.\n\n>>> xp.asarray([3.0, 1.0, 2.0]).round()\nArray([3.0, 1.0, 2.0], dtype=float64)")
/* clang-format on */
CX_ARRAY_FUNCTIONS(cx_array_elementwise, METHODS, LIGHT)
