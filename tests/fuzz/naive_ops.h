/* Inside the naive evaluator: what its files share, and the list of evaluators. */
#ifndef CALIBRAX_TESTS_FUZZ_NAIVE_OPS_H
#define CALIBRAX_TESTS_FUZZ_NAIVE_OPS_H

#include "naive.h"

/* Answers beside a status: "not evaluated", and "must fail, with whatever status is seen first". */
#define NAIVE_SKIP        ((cbx_status)-1)
#define NAIVE_ANY_FAILURE ((cbx_status)-2)

#define NAIVE_OPEN 1000 /* a bound of a slice left out */

num naive_plus(num x, num y, cbx_dtype t);
num naive_times(num x, num y, cbx_dtype t);
num naive_more(num x, num y, cbx_dtype t);
num naive_smaller(num x, num y, cbx_dtype t);
num naive_larger(num x, num y, cbx_dtype t);

/* Small attributes as shape rules want them: an axis may be outside on purpose. */
static inline int naive_axis_of(int a) { return a % 4; }
static inline bool naive_axis(int axis, int ndim, int *out)
{
    if (axis < -ndim || axis >= ndim) return false;
    *out = axis < 0 ? axis + ndim : axis;
    return true;
}

/* clang-format off */
#define NAIVE_LIST(X) \
    X(add) X(subtract) X(multiply) X(divide) X(floor_divide) X(remainder) X(maximum) X(minimum) X(copysign) \
    X(equal) X(not_equal) X(less) X(less_equal) X(greater) X(greater_equal) X(bitwise_and) X(bitwise_or) \
    X(bitwise_xor) X(bitwise_left_shift) X(bitwise_right_shift) X(pow) X(logical_and) X(logical_or) \
    X(logical_xor) X(negative) X(abs) X(sign) X(bitwise_invert) X(floor) X(ceil) X(trunc) X(rint) X(sqrt) \
    X(isnan) X(isinf) X(isfinite) X(square) X(logical_not) X(real) X(imag) X(conj) X(copy) X(signbit) X(astype) \
    X(where) X(clip) X(reshape) X(flatten) X(permute_dims) X(swapaxes) X(moveaxis) X(expand_dims) X(squeeze) \
    X(broadcast_to) X(slice) X(index) X(flip) X(roll) X(concat) X(stack) X(pad) X(tile) X(repeat) X(tril) \
    X(triu) X(sum) X(prod) X(max) X(min) X(mean) X(any) X(all) X(count_nonzero) X(argmax) X(argmin) \
    X(cumulative_sum) X(cumulative_prod) X(cumulative_max) X(cumulative_min) X(diff) X(take) X(take_along_axis) \
    X(scatter) X(segment_sum) X(nonzero) X(nonzero_size) X(sort) X(argsort) X(searchsorted) X(digitize) \
    X(unique) X(bincount) X(outer) X(matrix_product)
/* clang-format on */
#define NAIVE_DECLARE(name) cbx_status naive_##name(nv *const *in, const int *a, nv **out);
NAIVE_LIST(NAIVE_DECLARE)
#undef NAIVE_DECLARE

#endif
