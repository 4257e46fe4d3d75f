/*
 * Array functions against NumPy: every case of fixtures/numpy.bin, written by
 * scripts/fixtures/make_array_cases.py.  The table below joins its names to functions.
 */
#include "check.h"

#include <stdio.h>

#include "calibrax/array/sets.h"
#include "numpy_cases.h"

#define FN                NUMPY_FN
#define ROW               NUMPY_ROW
#define UNARY(name, prim) FN(name, cbx_##name(c, in[0]))
#define BINARY(name, prim)                                                                                             \
    FN(name, cbx_##name(c, in[0], in[1]))                                                                              \
    FN(name##_scalar, cbx_##name##_scalar(c, in[0], a[0] / 4.0))
#define REDUCE(name) FN(name, cbx_##name(c, in[0], numpy_axes(k, 0, &(cbx_axes){ 0 })))
#define AXIS(name)   FN(name, cbx_##name(c, in[0], a[0]))
#define LIST(X)                                                                                                        \
    X(copy)                                                                                                            \
    X(flatten)                                                                                                         \
    X(square)                                                                                                          \
    X(deg2rad)                                                                                                         \
    X(rad2deg)                                                                                                         \
    X(logical_not)                                                                                                     \
    X(real)                                                                                                            \
    X(imag)                                                                                                            \
    X(conj)                                                                                                            \
    X(nonzero)                                                                                                         \
    X(unique)
#define REDUCE_LIST(X)                                                                                                 \
    X(sum)                                                                                                             \
    X(prod)                                                                                                            \
    X(max)                                                                                                             \
    X(min)                                                                                                             \
    X(mean)                                                                                                            \
    X(any)                                                                                                             \
    X(all)                                                                                                             \
    X(count_nonzero)                                                                                                   \
    X(argmax)                                                                                                          \
    X(argmin)                                                                                                          \
    X(nansum)                                                                                                          \
    X(nanmean)                                                                                                         \
    X(nanmax)                                                                                                          \
    X(nanmin)                                                                                                          \
    X(median)
#define AXIS_LIST(X)                                                                                                   \
    X(flip)                                                                                                            \
    X(expand_dims)                                                                                                     \
    X(squeeze)                                                                                                         \
    X(diff)                                                                                                            \
    X(cumulative_sum)                                                                                                  \
    X(cumulative_prod)                                                                                                 \
    X(cumulative_max)                                                                                                  \
    X(cumulative_min)                                                                                                  \
    X(round)                                                                                                           \
    X(tril)                                                                                                            \
    X(triu)
#define PAIR_LIST(X) X(logical_and) X(logical_or) X(logical_xor) X(outer)

#define ONE(name)                      FN(name, cbx_##name(c, in[0]))
#define TWO(name)                      FN(name, cbx_##name(c, in[0], in[1]))
#define DEFINE_FLOAT(prim, name, loop) UNARY(name, prim)
#define DEFINE_ROUND                   DEFINE_FLOAT
#define DEFINE_KEEP                    DEFINE_FLOAT
#define DEFINE_BINARY(prim, name)      BINARY(name, prim)
#define DEFINE_NO
#define DEFINE_BINARY_FLOAT                       DEFINE_BINARY
#define DEFINE_BINARY_WIDE                        DEFINE_BINARY
#define DEFINE_COMPARE                            DEFINE_BINARY
#define DEFINE(name, number, word, function, ...) DEFINE_##function
CBX_PRIM_MAP(DEFINE)
LIST(ONE)
REDUCE_LIST(REDUCE)
AXIS_LIST(AXIS)
PAIR_LIST(TWO)
FN(var, cbx_var(c, in[0], numpy_axes(k, 0, &(cbx_axes){ 0 }), 0))
FN(std, cbx_std(c, in[0], numpy_axes(k, 0, &(cbx_axes){ 0 }), 0))
FN(nanstd, cbx_nanstd(c, in[0], numpy_axes(k, 0, &(cbx_axes){ 0 }), 0))
FN(percentile, cbx_percentile(c, in[0], a[0] / 100.0, numpy_axes(k, 1, &(cbx_axes){ 0 })))
FN(astype, cbx_astype(c, in[0], (cbx_dtype)a[0]))
FN(matmul, cbx_matrix_product(c, in[0], in[1]))
FN(where, cbx_where(c, in[0], in[1], in[2]))
FN(clip, cbx_clip(c, in[0], in[1], in[2]))
FN(permute_dims, cbx_permute_dims(c, in[0], a))
FN(roll, cbx_roll(c, in[0], a[0], a[1]))
FN(repeat, cbx_repeat(c, in[0], (size_t)a[0], a[1]))
FN(slice, cbx_slice(c, in[0], a[0], a[1], a[2], a[3]))
FN(moveaxis, cbx_moveaxis(c, in[0], a[0], a[1]))
FN(swapaxes, cbx_swapaxes(c, in[0], a[0], a[1]))
FN(concat, cbx_concat(c, 2, (const cbx_array *const[]){ in[0], in[1] }, a[0]))
FN(stack, cbx_stack(c, 2, (const cbx_array *const[]){ in[0], in[1] }, a[0]))
FN(sort, cbx_sort(c, in[0], a[0], false))
FN(argsort, cbx_argsort(c, in[0], a[0], false))
FN(searchsorted, cbx_searchsorted(c, cbx_sort(c, in[0], 0, false), in[1], a[0] != 0))
FN(digitize, cbx_digitize(c, in[0], a[0] ? cbx_flip(c, cbx_sort(c, in[1], 0, false), 0) : cbx_sort(c, in[1], 0, false)))
FN(bincount, cbx_bincount(c, in[0], NULL, (size_t)a[0]))
FN(bincount_weights, cbx_bincount(c, in[0], in[1], (size_t)a[0]))
FN(histogram, cbx_histogram(c, in[0], cbx_sort(c, in[1], 0, false), NULL))
FN(arange_int, cbx_arange_int(c, a[0], a[1], a[2], (cbx_dtype)a[3]))
FN(arange, cbx_arange(c, a[0] / 8.0, a[1] / 8.0, a[2] / 8.0, (cbx_dtype)a[3]))
FN(linspace, cbx_linspace(c, a[0] / 7.0, a[1] / 7.0, (size_t)a[2], a[3] != 0, (cbx_dtype)a[4]))
FN(logspace, cbx_logspace(c, a[0] / 7.0, a[1] / 7.0, (size_t)a[2], CBX_F64))
FN(eye, cbx_eye(c, (size_t)a[0], (size_t)a[1], a[2], (cbx_dtype)a[3]))

/* Indices of the fixture wrap at the axis, as the generator's do. */
static cbx_array *wrapped(cbx_ctx *c, const numpy_case *k)
{
    int axis = k->attr[0] < 0 ? k->attr[0] + cbx_array_ndim(k->in[0]) : k->attr[0];
    return cbx_remainder(c, k->in[1], cbx_weak(c, k->in[1], cbx_int((int64_t)cbx_array_dim(k->in[0], axis))));
}
FN(take, cbx_take(c, in[0], wrapped(c, k), a[0]))
FN(take_along_axis, cbx_take_along_axis(c, in[0], wrapped(c, k), a[0]))

static cbx_unique_parts parts_of(cbx_ctx *c, const numpy_case *k)
{
    cbx_unique_parts p;
    cbx_unique_with(c, k->in[0], true, &p);
    return p;
}
FN(unique_counts, parts_of(c, k).counts)
FN(unique_inverse, parts_of(c, k).inverse)
FN(unique_index, parts_of(c, k).indices)

static cbx_array *do_reshape(cbx_ctx *c, const numpy_case *k)
{
    ptrdiff_t shape[NUMPY_ATTRS_MAX];
    for (int i = 0; i < k->nattr; i++) shape[i] = k->attr[i];
    return cbx_reshape(c, k->in[0], k->nattr, shape);
}
static cbx_array *do_broadcast_to(cbx_ctx *c, const numpy_case *k)
{
    size_t shape[NUMPY_ATTRS_MAX];
    for (int i = 0; i < k->nattr; i++) shape[i] = (size_t)k->attr[i];
    return cbx_broadcast_to(c, k->in[0], k->nattr, shape);
}
static cbx_array *do_tile(cbx_ctx *c, const numpy_case *k)
{
    size_t times[NUMPY_ATTRS_MAX];
    for (int i = 0; i < k->nattr; i++) times[i] = (size_t)k->attr[i];
    return cbx_tile(c, k->in[0], k->nattr, times);
}
static cbx_array *do_pad(cbx_ctx *c, const numpy_case *k)
{
    size_t before[CBX_MAX_RANK], after[CBX_MAX_RANK];
    for (int i = 0; i < CBX_MAX_RANK; i++) {
        before[i] = (size_t)k->attr[0];
        after[i] = (size_t)k->attr[1];
    }
    return cbx_pad(c, k->in[0], before, after, cbx_int(0));
}
static cbx_array *do_tensordot(cbx_ctx *c, const numpy_case *k)
{
    int n = k->attr[0], of_a[CBX_MAX_RANK], of_b[CBX_MAX_RANK];
    for (int i = 0; i < n; i++) {
        of_a[i] = cbx_array_ndim(k->in[0]) - n + i;
        of_b[i] = i;
    }
    return cbx_tensordot(c, k->in[0], k->in[1], n, of_a, of_b);
}

#define ENTRY_FLOAT(prim, name, loop) { #name, do_##name },
#define ENTRY_ROUND                   ENTRY_FLOAT
#define ENTRY_KEEP                    ENTRY_FLOAT
#define ENTRY_BINARY(prim, name)      { #name, do_##name }, { #name "_scalar", do_##name##_scalar },
#define ENTRY_NO
#define ENTRY_BINARY_FLOAT                       ENTRY_BINARY
#define ENTRY_BINARY_WIDE                        ENTRY_BINARY
#define ENTRY_COMPARE                            ENTRY_BINARY
#define ENTRY(name, number, word, function, ...) ENTRY_##function
static const numpy_function functions[] = {
    CBX_PRIM_MAP(ENTRY) LIST(ROW) REDUCE_LIST(ROW) AXIS_LIST(ROW) PAIR_LIST(ROW) ROW(matmul) ROW(var) ROW(std)
        ROW(nanstd) ROW(percentile) ROW(astype) ROW(where) ROW(clip) ROW(permute_dims) ROW(roll) ROW(repeat) ROW(slice)
            ROW(moveaxis) ROW(swapaxes) ROW(concat) ROW(stack) ROW(sort) ROW(argsort) ROW(searchsorted) ROW(digitize)
                ROW(bincount) ROW(bincount_weights) ROW(histogram) ROW(arange_int) ROW(arange) ROW(linspace)
                    ROW(logspace) ROW(eye) ROW(take) ROW(take_along_axis) ROW(unique_counts) ROW(unique_inverse)
                        ROW(unique_index) ROW(reshape) ROW(broadcast_to) ROW(tile) ROW(pad) ROW(tensordot)
};

TEST(functions_agree_with_numpy)
{
    numpy_suite *s = numpy_open("numpy.bin", functions, CBX_LEN(functions));
    numpy_agrees(s, 20000);
    numpy_close(s);
}

TEST(the_comparison_can_fail)
{
    numpy_suite *s = numpy_open("numpy.bin", functions, CBX_LEN(functions));
    CHECK_GT(numpy_spoiled(s, 50), 20, "spoiled results are seen");
    numpy_close(s);
}

TEST(every_allocation_may_fail)
{
    numpy_suite *s = numpy_open("numpy.bin", functions, CBX_LEN(functions));
    CHECK_GT(numpy_torture(s), 1000, "allocations were made to fail");
    numpy_close(s);
}

TEST(promotion_is_numpys)
{
    numpy_suite *s = numpy_open("numpy.bin", functions, CBX_LEN(functions));
    const unsigned char *promote = numpy_promotion(s);
    char why[64];

    for (int a = 0; a < CBX_DTYPE_COUNT; a++) {
        for (int b = 0; b < CBX_DTYPE_COUNT; b++) {
            snprintf(why, sizeof why, "%s with %s", cbx_dtype_name((cbx_dtype)a), cbx_dtype_name((cbx_dtype)b));
            CHECK_STR(cbx_dtype_name(cbx_dtype_promote((cbx_dtype)a, (cbx_dtype)b)),
                      cbx_dtype_name((cbx_dtype)promote[a * 13 + b]), why);
        }
        for (int k = 0; k < 4; k++) {
            snprintf(why, sizeof why, "%s with a scalar of kind %d", cbx_dtype_name((cbx_dtype)a), k);
            CHECK_STR(cbx_dtype_name(cbx_dtype_promote_weak((cbx_dtype)a, (cbx_kind)k)),
                      cbx_dtype_name((cbx_dtype)promote[169 + a * 4 + k]), why);
        }
    }
    CHECK_INT(cbx_dtype_promote((cbx_dtype)99, CBX_I8), CBX_DTYPE_COUNT, "no dtype");
    numpy_close(s);
}

TESTS()
