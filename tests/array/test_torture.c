/*
 * Every public array function: with each of its allocations made to fail in turn, and with
 * bad input.
 *
 * The list of calls is held against the declarations of calibrax/array/ops.h, so that a new
 * function without a line here fails the test.  Bad input must give the stated status and one
 * sentence with the stated words and the operand's dtype and shape, and leave the context as
 * it was.
 */
#include "check.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/ops.h"
#include "calibrax/array/sets.h"
#include "fail_alloc.h"

/* Operands that every call may use: x (2, 3) and v (3,) float64, n (3,) int64 of 0..2, b (2, 3)
 * bool, z (2, 3) complex128, t: x transposed, which is no dense array; none (0,) float64. */
typedef struct given {
    cbx_array *x, *v, *n, *b, *z, *t, *none;
} given;

static given give(cbx_ctx *c)
{
    given g;

    g.v = cbx_arange_int(c, 0, 3, 1, CBX_F64);
    g.n = cbx_arange_int(c, 0, 3, 1, CBX_I64);
    g.x = cbx_reshape(c, cbx_arange_int(c, -1, 5, 1, CBX_F64), 2, (const ptrdiff_t[]){ 2, 3 });
    g.b = cbx_greater_scalar(c, g.x, 1);
    g.z = cbx_astype(c, g.x, CBX_C128);
    g.t = cbx_permute_dims(c, g.x, NULL);
    g.none = cbx_zeros(c, 1, (const size_t[]){ 0 }, CBX_F64);
    return g;
}

typedef cbx_array *(*call)(cbx_ctx *c, const given *g);
#define FN(name, expr)                                                                                                 \
    static cbx_array *do_##name(cbx_ctx *c, const given *g)                                                            \
    {                                                                                                                  \
        (void)g;                                                                                                       \
        return expr;                                                                                                   \
    }

/* ---- every function ---- */

#define UNARY(name, prim) FN(name, cbx_##name(c, g->t))
#define WHOLE(name, prim) FN(name, cbx_##name(c, g->n))
#define BINARY(name, prim)                                                                                             \
    FN(name,                                                                                                           \
       cbx_##name(c, BITS(#name) ? g->n : g->t, BITS(#name) ? cbx_flip(c, g->n, 0) : cbx_expand_dims(c, g->v, 1)))     \
    FN(name##_scalar, BITS(#name) ? cbx_copy(c, g->n) : cbx_##name##_scalar(c, g->t, 1.5))
#define BITS(name)    (strncmp(name, "bitwise", 7) == 0)
#define REDUCE(name)  FN(name, cbx_##name(c, g->t, CBX_AXIS_KEEP(0)))
#define RUNNING(name) FN(name, cbx_##name(c, g->t, 1))
/* clang-format off */
#define REDUCE_LIST(X) \
    X(sum) X(prod) X(max) X(min) X(mean) X(any) X(all) X(count_nonzero) X(argmax) X(argmin) X(nansum) X(nanmean) \
    X(nanmax) X(nanmin) X(median)
#define RUNNING_LIST(X) \
    X(cumulative_sum) X(cumulative_prod) X(cumulative_max) X(cumulative_min) X(diff)
/* clang-format on */
#define DEFINE_FLOAT(prim, name, loop) UNARY(name, prim)
#define DEFINE_ROUND                   DEFINE_FLOAT
#define DEFINE_KEEP(prim, name, loop)
#define DEFINE_BINARY(prim, name) BINARY(name, prim)
#define DEFINE_NO
#define DEFINE_BINARY_FLOAT                       DEFINE_BINARY
#define DEFINE_BINARY_WIDE                        DEFINE_BINARY
#define DEFINE_COMPARE                            DEFINE_BINARY
#define DEFINE(name, number, word, function, ...) DEFINE_##function
CBX_PRIM_MAP(DEFINE)
REDUCE_LIST(REDUCE)
RUNNING_LIST(RUNNING)
FN(negative, cbx_negative(c, g->z))
FN(abs, cbx_abs(c, g->z))
FN(sign, cbx_sign(c, g->t))
FN(bitwise_invert, cbx_bitwise_invert(c, g->n))
FN(isnan, cbx_isnan(c, g->z))
FN(isinf, cbx_isinf(c, g->t))
FN(isfinite, cbx_isfinite(c, g->n))
FN(weak, cbx_weak(c, g->n, cbx_float(1.5)))
FN(asarray, cbx_asarray(c, cbx_array_get_desc(g->x), cbx_array_data(g->x)))
FN(full, cbx_full(c, 2, (const size_t[]){ 2, 3 }, CBX_C64, cbx_complex(1, -1)))
FN(zeros, cbx_zeros(c, 1, (const size_t[]){ 3 }, CBX_I8))
FN(ones, cbx_ones(c, 0, NULL, CBX_BOOL))
FN(full_like, cbx_full_like(c, g->t, cbx_int(4)))
FN(zeros_like, cbx_zeros_like(c, g->z))
FN(ones_like, cbx_ones_like(c, g->n))
FN(arange, cbx_arange(c, 0, 2, 0.3, CBX_F32))
FN(arange_int, cbx_arange_int(c, 5, 0, -2, CBX_U8))
FN(linspace, cbx_linspace(c, 0, 1, 7, true, CBX_F32))
FN(logspace, cbx_logspace(c, 0, 2, 3, CBX_F64))
FN(eye, cbx_eye(c, 3, 2, -1, CBX_F32))
FN(tril, cbx_tril(c, g->t, 0))
FN(triu, cbx_triu(c, g->z, 1))
static cbx_array *do_meshgrid(cbx_ctx *c, const given *g)
{
    cbx_array *out[2];
    cbx_meshgrid(c, 2, (const cbx_array *const[]){ g->v, g->n }, true, out);
    return cbx_array_is_failed(out[0]) ? out[0] : out[1];
}
FN(astype, cbx_astype(c, g->t, CBX_I16))
FN(copy, cbx_copy(c, g->t))
FN(to_device, cbx_to_device(c, g->t, cbx_array_device(g->t)))
FN(round, cbx_round(c, g->t, 1))
FN(square, cbx_square(c, g->z))
FN(digamma, cbx_digamma(c, g->t))
FN(polygamma, cbx_polygamma(c, 2, g->n))
FN(deg2rad, cbx_deg2rad(c, g->n))
FN(rad2deg, cbx_rad2deg(c, g->t))
FN(logical_not, cbx_logical_not(c, g->x))
FN(real, cbx_real(c, g->z))
FN(imag, cbx_imag(c, g->x))
FN(conj, cbx_conj(c, g->z))
FN(logical_and, cbx_logical_and(c, g->x, g->n))
FN(logical_or, cbx_logical_or(c, g->x, g->n))
FN(logical_xor, cbx_logical_xor(c, g->x, g->n))
FN(where, cbx_where(c, g->x, g->n, g->v))
FN(clip, cbx_clip(c, g->x, g->n, g->v))
FN(reshape, cbx_reshape(c, g->t, 1, (const ptrdiff_t[]){ -1 }))
FN(flatten, cbx_flatten(c, g->t))
FN(permute_dims, cbx_permute_dims(c, g->x, NULL))
FN(swapaxes, cbx_swapaxes(c, g->x, 0, 1))
FN(moveaxis, cbx_moveaxis(c, g->x, 0, 1))
FN(matrix_transpose, cbx_matrix_transpose(c, g->x))
FN(expand_dims, cbx_expand_dims(c, g->x, 1))
FN(squeeze, cbx_squeeze(c, cbx_expand_dims(c, g->x, 1), 1))
FN(broadcast_to, cbx_broadcast_to(c, g->v, 2, (const size_t[]){ 4, 3 }))
FN(slice, cbx_slice(c, g->x, 1, CBX_OPEN, CBX_OPEN, -2))
FN(index, cbx_index(c, g->x, 0, -1))
FN(flip, cbx_flip(c, g->x, 0))
FN(roll, cbx_roll(c, g->x, 1, 1))
FN(concat, cbx_concat(c, 2, (const cbx_array *const[]){ g->x, g->b }, 0))
FN(stack, cbx_stack(c, 2, (const cbx_array *const[]){ g->v, g->n }, 1))
FN(pad, cbx_pad(c, g->t, (const size_t[]){ 1, 0 }, (const size_t[]){ 0, 2 }, cbx_float(NAN)))
FN(tile, cbx_tile(c, g->t, 3, (const size_t[]){ 2, 1, 2 }))
FN(repeat, cbx_repeat(c, g->t, 2, 0))
FN(var, cbx_var(c, g->z, CBX_AXIS(0), 1))
FN(std, cbx_std(c, g->n, NULL, 0))
FN(nanstd, cbx_nanstd(c, g->t, CBX_AXIS(1), 0))
FN(take, cbx_take(c, g->t, g->n, 0))
FN(take_along_axis, cbx_take_along_axis(c, g->x, cbx_astype(c, g->b, CBX_I8), 1))
FN(scatter, cbx_scatter(c, g->t, g->n, cbx_ones(c, 0, NULL, CBX_I8), 0, CBX_SCATTER_MUL))
FN(segment_sum, cbx_segment_sum(c, g->t, g->n, 4))
FN(nonzero, cbx_nonzero(c, g->t))
FN(nonzero_size, cbx_nonzero_size(c, g->t, 2, -1))
FN(sort, cbx_sort(c, g->t, 0, true))
FN(argsort, cbx_argsort(c, g->t, 1, false))
FN(searchsorted, cbx_searchsorted(c, g->n, g->t, true))
FN(digitize, cbx_digitize(c, g->t, cbx_flip(c, g->n, 0)))
FN(positive, cbx_positive(c, g->t))
FN(reciprocal, cbx_reciprocal(c, g->n))
FN(clip_scalar, cbx_clip_scalar(c, g->t, cbx_float(0.5), cbx_int(2)))
FN(moveaxes, cbx_moveaxes(c, g->x, 2, (const int[]){ 0, 1 }, (const int[]){ 1, 0 }))
static cbx_array *do_broadcast_arrays(cbx_ctx *c, const given *g)
{
    cbx_array *out[2];
    cbx_broadcast_arrays(c, 2, (const cbx_array *const[]){ g->x, g->v }, out);
    return cbx_array_is_failed(out[0]) ? out[0] : out[1];
}
FN(roll_axes, cbx_roll_axes(c, g->t, 2, (const ptrdiff_t[]){ 1, -1 }, (const int[]){ 0, 1 }))
FN(roll_flat, cbx_roll_flat(c, g->t, 2))
static cbx_array *do_unstack(cbx_ctx *c, const given *g)
{
    cbx_array *out[3];
    cbx_unstack(c, g->t, 0, 3, out);
    for (int i = 0; i < 2; i++)
        if (cbx_array_is_failed(out[i])) return out[i];
    return out[2];
}
FN(repeat_counts, cbx_repeat_counts(c, g->t, g->n, 0))
FN(repeat_counts_size, cbx_repeat_counts_size(c, g->t, g->n, 0, 4))
FN(flip_axes, cbx_flip_axes(c, g->t, NULL))
FN(squeeze_axes, cbx_squeeze_axes(c, cbx_expand_dims(c, g->x, 0), NULL))
FN(average, cbx_average(c, g->t, g->v, CBX_AXIS(0)))
FN(cumulative_sum_initial, cbx_cumulative_sum_initial(c, g->t, 0))
FN(cumulative_prod_initial, cbx_cumulative_prod_initial(c, g->t, 0))
FN(segment_prod, cbx_segment_prod(c, g->t, g->n, 4))
FN(segment_min, cbx_segment_min(c, g->t, g->n, 4))
FN(segment_max, cbx_segment_max(c, g->t, g->n, 4))
FN(segment_mean, cbx_segment_mean(c, g->t, g->n, 4))
FN(argwhere, cbx_argwhere(c, g->t))
FN(searchsorted_sorter, cbx_searchsorted_sorter(c, g->v, g->t, false, g->n))
FN(quantile, cbx_quantile(c, g->t, 2, (const double[]){ 0.25, 1 }, CBX_AXIS(0)))
FN(unique, cbx_unique(c, g->t))
static cbx_array *do_unique_all(cbx_ctx *c, const given *g)
{
    cbx_unique_parts p;
    cbx_unique_all(c, g->t, &p);
    return cbx_array_is_failed(p.values) || cbx_array_is_failed(p.indices) || cbx_array_is_failed(p.inverse) ? p.values
                                                                                                             : p.counts;
}
FN(bincount, cbx_bincount(c, g->n, g->v, 5))
FN(bincount_size, cbx_bincount_size(c, g->n, g->v, 2))
FN(histogram, cbx_histogram(c, g->t, g->v, NULL))
FN(percentile, cbx_percentile(c, g->t, 30, CBX_AXIS_KEEP(0)))
FN(matrix_product, cbx_matrix_product(c, g->z, g->t))
FN(tensordot, cbx_tensordot(c, g->x, g->t, 1, (const int[]){ 1 }, (const int[]){ 0 }))
FN(vecdot, cbx_vecdot(c, g->z, g->v, -1))
FN(outer, cbx_outer(c, g->n, g->x))

#define ROW(name)                     { #name, do_##name },
#define ENTRY_FLOAT(prim, name, loop) ROW(name)
#define ENTRY_ROUND                   ENTRY_FLOAT
#define ENTRY_KEEP                    ENTRY_FLOAT
#define ENTRY_BINARY(prim, name)      ROW(name) ROW(name##_scalar)
#define ENTRY_NO
#define ENTRY_BINARY_FLOAT                       ENTRY_BINARY
#define ENTRY_BINARY_WIDE                        ENTRY_BINARY
#define ENTRY_COMPARE                            ENTRY_BINARY
#define ENTRY(name, number, word, function, ...) ENTRY_##function
static const struct {
    const char *name;
    call fn;
} functions[] = {
    CBX_PRIM_MAP(ENTRY) REDUCE_LIST(ROW) RUNNING_LIST(ROW) ROW(digamma) ROW(polygamma) ROW(positive) ROW(reciprocal)
        ROW(clip_scalar) ROW(moveaxes) ROW(broadcast_arrays) ROW(roll_axes) ROW(roll_flat) ROW(unstack)
            ROW(repeat_counts) ROW(repeat_counts_size) ROW(flip_axes) ROW(squeeze_axes) ROW(average) ROW(
                cumulative_sum_initial) ROW(cumulative_prod_initial) ROW(segment_prod) ROW(segment_min) ROW(segment_max)
                ROW(segment_mean) ROW(argwhere) ROW(searchsorted_sorter) ROW(quantile) ROW(weak) ROW(asarray) ROW(full)
                    ROW(zeros) ROW(ones) ROW(full_like) ROW(zeros_like) ROW(ones_like) ROW(arange) ROW(arange_int)
                        ROW(linspace) ROW(logspace) ROW(eye) ROW(tril) ROW(triu) ROW(meshgrid) ROW(astype) ROW(copy)
                            ROW(to_device) ROW(round) ROW(square) ROW(deg2rad) ROW(rad2deg) ROW(logical_not) ROW(real)
                                ROW(imag) ROW(conj) ROW(logical_and) ROW(logical_or) ROW(logical_xor) ROW(where)
                                    ROW(clip) ROW(reshape) ROW(flatten) ROW(permute_dims) ROW(swapaxes) ROW(moveaxis)
                                        ROW(matrix_transpose) ROW(expand_dims) ROW(squeeze) ROW(broadcast_to) ROW(slice)
                                            ROW(index) ROW(flip) ROW(roll) ROW(concat) ROW(stack) ROW(pad) ROW(tile)
                                                ROW(repeat) ROW(var) ROW(std) ROW(nanstd) ROW(take) ROW(take_along_axis)
                                                    ROW(scatter) ROW(segment_sum) ROW(nonzero) ROW(nonzero_size)
                                                        ROW(sort) ROW(argsort) ROW(searchsorted) ROW(digitize)
                                                            ROW(unique) ROW(unique_all) ROW(bincount) ROW(bincount_size)
                                                                ROW(histogram) ROW(percentile) ROW(matrix_product)
                                                                    ROW(tensordot) ROW(vecdot) ROW(outer)
};

static bool listed(const char *name)
{
    for (size_t i = 0; i < CBX_LEN(functions); i++)
        if (strcmp(functions[i].name, name) == 0) return true;
    return false;
}

/* The name declared on a line of the header, if it declares an array function. */
static bool declared(const char *line, char name[64])
{
    static const char *const heads[] = { "CBX_API cbx_array *cbx_", "CBX_API void cbx_" };

    for (size_t i = 0; i < CBX_LEN(heads); i++) {
        size_t n = 0;
        if (strncmp(line, heads[i], strlen(heads[i])) != 0) continue;
        for (line += strlen(heads[i]); n < 63 && (isalnum((unsigned char)line[n]) || line[n] == '_'); n++)
            name[n] = line[n];
        name[n] = 0;
        return n > 0 && line[n] == '(';
    }
    return false;
}

TEST(every_function_is_listed)
{
    char path[1024], line[400], name[64];
    size_t found = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/calibrax/array/ops.h", getenv("CALIBRAX_SOURCE_ROOT"));
    f = fopen(path, "r");
    CHECK(f != NULL, path);
    while (fgets(line, sizeof line, f)) {
        if (!declared(line, name)) continue;
        found++;
        if (!listed(name)) fail_msg("cbx_%s is declared and not tortured", name);
    }
    fclose(f);
    CHECK_GT(found, 80, "functions beside those of the maps");
    for (size_t i = 0; i < CBX_LEN(functions); i++)
        for (size_t k = 0; k < i; k++) CHECK(strcmp(functions[i].name, functions[k].name) != 0, functions[i].name);
}

typedef struct torture {
    call fn;
    const given *g;
} torture;

static cbx_status run_one(cbx_ctx *ctx, void *user)
{
    const torture *t = user;
    cbx_scope scope;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    cbx_scope_open(ctx, &scope);
    t->fn(ctx, t->g);
    st = cbx_scope_close(&scope, &err);
    CHECK(!st || (err.status == st && err.message[0]), "a failure has words");
    return st;
}

/* Operands live in another context, so that only the function's own requests fail. */
TEST(every_allocation_may_fail)
{
    cbx_ctx *home = cbx_test_context();
    size_t failures = 0;
    given g;

    g = give(home);
    for (size_t i = 0; i < CBX_LEN(functions); i++) {
        const size_t n = cbx_test_fail_each(run_one, &(torture){ functions[i].fn, &g }, functions[i].name);
        CHECK_GT(n, 0, functions[i].name);
        failures += n;
    }
    print_message("# %zu allocations of %zu functions\n", failures, CBX_LEN(functions));
    CHECK_STATUS(cbx_ctx_pending(home, NULL), CBX_OK, "the operands are whole");
    cbx_ctx_free(home);
}

/* ---- bad input ---- */

#define HUGE_EXTENT (SIZE_MAX / 16)
#define PAIR(a, b)  ((const cbx_array *const[]){ (a), (b) })
FN(bad_rank_full, cbx_zeros(c, 17, (const size_t[17]){ 0 }, CBX_F64))
FN(bad_rank_negative, cbx_zeros(c, -1, NULL, CBX_F64))
FN(bad_dtype_full, cbx_zeros(c, 0, NULL, (cbx_dtype)77))
FN(overflow_full, cbx_zeros(c, 3, (const size_t[]){ HUGE_EXTENT, 2, 3 }, CBX_F64))
FN(overflow_bytes, cbx_zeros(c, 1, (const size_t[]){ SIZE_MAX / 4 }, CBX_C128))
FN(arange_no_step, cbx_arange(c, 0, 1, 0, CBX_F64))
FN(arange_nan, cbx_arange(c, 0, NAN, 1, CBX_F64))
FN(arange_long, cbx_arange(c, 0, 1e300, 1, CBX_F64))
FN(arange_int_no_step, cbx_arange_int(c, 0, 4, 0, CBX_I64))
FN(weak_too_large, cbx_add(c, g->n, cbx_weak(c, cbx_astype(c, g->n, CBX_I8), cbx_int(128))))
FN(tril_line, cbx_tril(c, g->v, 0))
static cbx_array *do_grid_of_matrices(cbx_ctx *c, const given *g)
{
    cbx_array *out[2];
    cbx_meshgrid(c, 2, PAIR(g->v, g->x), true, out);
    return out[1];
}
FN(complex_to_real, cbx_astype(c, g->z, CBX_F32))
FN(astype_unknown, cbx_astype(c, g->x, (cbx_dtype)13))
FN(add_ragged, cbx_add(c, g->x, g->t))
FN(negative_bool, cbx_negative(c, g->b))
FN(floor_complex, cbx_floor(c, g->z))
FN(max_complex, cbx_maximum(c, g->z, g->x))
FN(shift_float, cbx_bitwise_left_shift(c, g->x, g->x))
FN(power_below_zero, cbx_pow(c, g->n, cbx_negative(c, g->n)))
FN(where_ragged, cbx_where(c, g->b, g->t, g->v))
FN(clip_complex, cbx_clip(c, g->z, g->x, g->x))
FN(operand_null, cbx_add(c, g->x, NULL))
FN(reshape_rest, cbx_reshape(c, g->x, 2, (const ptrdiff_t[]){ 4, -1 }))
FN(reshape_negative, cbx_reshape(c, g->x, 2, (const ptrdiff_t[]){ -2, 3 }))
FN(reshape_two_open, cbx_reshape(c, g->x, 2, (const ptrdiff_t[]){ -1, -1 }))
FN(reshape_other_count, cbx_reshape(c, g->x, 1, (const ptrdiff_t[]){ 5 }))
FN(reshape_overflow, cbx_reshape(c, g->x, 3, (const ptrdiff_t[]){ PTRDIFF_MAX, 4, -1 }))
FN(reshape_rank, cbx_reshape(c, g->x, 17, NULL))
FN(permute_twice, cbx_permute_dims(c, g->x, (const int[]){ 0, 0 }))
FN(permute_outside, cbx_permute_dims(c, g->x, (const int[]){ 0, 2 }))
FN(swap_outside, cbx_swapaxes(c, g->x, 0, -3))
FN(move_outside, cbx_moveaxis(c, g->x, 2, 0))
FN(transpose_line, cbx_matrix_transpose(c, g->v))
FN(expand_outside, cbx_expand_dims(c, g->x, 4))
FN(squeeze_long, cbx_squeeze(c, g->x, 1))
FN(broadcast_no, cbx_broadcast_to(c, g->v, 2, (const size_t[]){ 3, 2 }))
FN(broadcast_fewer, cbx_broadcast_to(c, g->x, 1, (const size_t[]){ 3 }))
FN(broadcast_overflow, cbx_broadcast_to(c, g->v, 3, (const size_t[]){ HUGE_EXTENT, 16, 3 }))
FN(slice_outside, cbx_slice(c, g->x, 2, 0, 1, 1))
FN(slice_no_step, cbx_slice(c, g->x, 0, 0, 1, 0))
FN(index_outside, cbx_index(c, g->x, 1, 3))
FN(roll_outside, cbx_roll(c, g->x, 1, 2))
FN(concat_ragged, cbx_concat(c, 2, PAIR(g->x, g->t), 0))
FN(concat_ranks, cbx_concat(c, 2, PAIR(g->x, g->v), 0))
FN(concat_scalars, cbx_concat(c, 2, PAIR(cbx_sum(c, g->x, NULL), g->v), 0))
FN(concat_nothing, cbx_concat(c, 0, NULL, 0))
FN(stack_ragged, cbx_stack(c, 2, PAIR(g->x, g->t), 0))
FN(pad_overflow, cbx_pad(c, g->v, (const size_t[]){ SIZE_MAX - 1 }, (const size_t[]){ 4 }, cbx_int(0)))
FN(pad_too_long, cbx_pad(c, g->v, (const size_t[]){ PTRDIFF_MAX }, (const size_t[]){ 4 }, cbx_int(0)))
FN(tile_rank, cbx_tile(c, g->x, 17, (const size_t[17]){ 1 }))
FN(tile_overflow, cbx_tile(c, g->v, 1, (const size_t[]){ SIZE_MAX / 2 }))
FN(repeat_overflow, cbx_repeat(c, g->v, SIZE_MAX / 2, 0))
FN(repeat_outside, cbx_repeat(c, g->v, 2, 1))
FN(sum_outside, cbx_sum(c, g->x, CBX_AXIS(2)))
FN(sum_twice, cbx_sum(c, g->x, (&(const cbx_axes){ .n = 2, .axis = { 1, -1 } })))
FN(sum_axes, cbx_sum(c, g->x, (&(const cbx_axes){ .n = 17 })))
FN(sum_scalar, cbx_sum(c, cbx_sum(c, g->x, NULL), CBX_AXIS(0)))
FN(max_none, cbx_max(c, g->none, NULL))
FN(argmin_none, cbx_argmin(c, g->none, NULL))
FN(nanmax_none, cbx_nanmax(c, g->none, NULL))
FN(max_of_complex, cbx_max(c, g->z, NULL))
FN(running_outside, cbx_cumulative_sum(c, g->v, 1))
FN(running_max_complex, cbx_cumulative_max(c, g->z, 0))
FN(diff_outside, cbx_diff(c, g->v, 1))
FN(take_outside, cbx_take(c, g->v, cbx_add(c, g->n, g->n), 0))
FN(take_below, cbx_take(c, g->v, cbx_subtract(c, g->n, cbx_weak(c, g->n, cbx_int(4))), 0))
FN(take_floats, cbx_take(c, g->v, g->v, 0))
FN(take_axis, cbx_take(c, g->v, g->n, 1))
FN(take_scalar, cbx_take(c, cbx_sum(c, g->x, NULL), g->n, 0))
FN(along_ranks, cbx_take_along_axis(c, g->x, g->n, 1))
FN(scatter_outside, cbx_scatter(c, g->v, cbx_add(c, g->n, g->n), g->v, 0, CBX_SCATTER_SET))
FN(scatter_ragged, cbx_scatter(c, g->x, g->n, g->v, 0, CBX_SCATTER_SET))
FN(scatter_updates, cbx_scatter(c, g->v, g->n, g->x, 0, CBX_SCATTER_SET))
FN(scatter_mode, cbx_scatter(c, g->v, g->n, g->v, 0, (cbx_scatter_mode)9))
FN(scatter_order, cbx_scatter(c, g->z, g->n, g->z, 1, CBX_SCATTER_MAX))
FN(segment_outside, cbx_segment_sum(c, g->v, g->n, 2))
FN(segment_scalar, cbx_segment_sum(c, cbx_sum(c, g->x, NULL), g->n, 2))
FN(nonzero_scalar, cbx_nonzero(c, cbx_sum(c, g->x, NULL)))
FN(sort_complex, cbx_sort(c, g->z, 0, false))
FN(sort_outside, cbx_argsort(c, g->v, -2, false))
FN(search_matrix, cbx_searchsorted(c, g->x, g->v, false))
FN(search_complex, cbx_searchsorted(c, cbx_astype(c, g->v, CBX_C64), g->v, false))
FN(digitize_disorder, cbx_digitize(c, g->v, cbx_concat(c, 2, PAIR(g->v, g->v), 0)))
FN(digitize_nan, cbx_digitize(c, g->v, cbx_divide(c, cbx_zeros_like(c, g->v), cbx_zeros_like(c, g->v))))
FN(digitize_matrix, cbx_digitize(c, g->v, g->x))
FN(isin_null, cbx_isin(c, g->x, NULL, false))
FN(bincount_below, cbx_bincount(c, cbx_negative(c, g->n), NULL, 0))
FN(bincount_floats, cbx_bincount(c, g->v, NULL, 0))
FN(bincount_matrix, cbx_bincount(c, cbx_astype(c, g->x, CBX_I8), NULL, 0))
FN(bincount_largest, cbx_bincount(c, cbx_full(c, 1, (const size_t[]){ 1 }, CBX_I64, cbx_int(INT64_MAX)), NULL, 0))
FN(bincount_weights_short, cbx_bincount(c, g->n, g->none, 0))
FN(bincount_size_largest, cbx_bincount_size(c, g->n, NULL, SIZE_MAX))
FN(histogram_one_edge, cbx_histogram(c, g->v, cbx_slice(c, g->v, 0, 0, 1, 1), NULL))
FN(histogram_falling, cbx_histogram(c, g->v, cbx_flip(c, g->v, 0), NULL))
FN(quantile_above, cbx_quantile(c, g->v, 1, (const double[]){ 1.5 }, NULL))
FN(segments_short, cbx_segment_max(c, g->x, g->n, 4))
FN(unstack_other, do_unstack(c, &(const given){ .t = g->x }))
FN(counts_below, cbx_repeat_counts(c, g->v, cbx_negative(c, g->n), 0))
FN(counts_floats, cbx_repeat_counts(c, g->v, g->v, 0))
FN(moveaxes_twice, cbx_moveaxes(c, g->x, 2, (const int[]){ 0, 0 }, (const int[]){ 1, 0 }))
FN(percentile_above, cbx_percentile(c, g->v, 100.5, NULL))
FN(percentile_nan, cbx_percentile(c, g->v, NAN, NULL))
FN(percentile_none, cbx_percentile(c, g->none, 50, NULL))
FN(median_complex, cbx_median(c, g->z, NULL))
FN(matmul_lengths, cbx_matrix_product(c, g->x, g->x))
FN(matmul_scalar, cbx_matrix_product(c, g->x, cbx_sum(c, g->x, NULL)))
FN(tensordot_axes, cbx_tensordot(c, g->x, g->x, 3, (const int[]){ 0, 1, 2 }, (const int[]){ 0, 1, 2 }))
FN(tensordot_twice, cbx_tensordot(c, g->x, g->x, 2, (const int[]){ 0, 0 }, (const int[]){ 0, 1 }))
FN(tensordot_lengths, cbx_tensordot(c, g->x, g->x, 1, (const int[]){ 0 }, (const int[]){ 1 }))
FN(vecdot_axis, cbx_vecdot(c, g->x, g->x, 0))
FN(vecdot_lengths, cbx_vecdot(c, g->x, g->t, -1))

#define X_TEXT   "float64 (2, 3)"
#define V_TEXT   "float64 (3,)"
#define Z_TEXT   "complex128 (2, 3)"
#define N_TEXT   "int64 (3,)"
#define ONE_TEXT "float64 ()"

/* status, words of the sentence, dtype and shape of the operand it must name (NULL: no
 * operand), why */
static const struct {
    call fn;
    cbx_status status;
    const char *words, *operand, *why;
} bad[] = {
    { do_bad_rank_full, CBX_EINVAL, "rank 17", NULL, "a rank above the limit" },
    { do_bad_rank_negative, CBX_EINVAL, "rank -1", NULL, "a negative rank" },
    { do_bad_dtype_full, CBX_EDTYPE, "77", NULL, "no dtype" },
    { do_overflow_full, CBX_EOVERFLOW, "bytes", NULL, "a shape product that overflows" },
    { do_overflow_bytes, CBX_EOVERFLOW, "bytes", NULL, "a size in bytes that overflows" },
    { do_arange_no_step, CBX_EINVAL, "no finite length", NULL, "a step of 0" },
    { do_arange_nan, CBX_EINVAL, "no finite length", NULL, "an end that is no number" },
    { do_arange_long, CBX_EOVERFLOW, "too long", NULL, "a range without end" },
    { do_arange_int_no_step, CBX_EINVAL, "must not be 0", NULL, "a step of 0, exact" },
    { do_weak_too_large, CBX_EOVERFLOW, "128 is out of the range of int8", "int8 (3,)",
      "a scalar that the dtype cannot hold" },
    { do_tril_line, CBX_ESHAPE, "two axes", V_TEXT, "a triangle of a line" },
    { do_grid_of_matrices, CBX_ESHAPE, "rank 1", X_TEXT, "a grid of matrices" },
    { do_complex_to_real, CBX_EDTYPE, "imaginary", Z_TEXT, "complex to real" },
    { do_astype_unknown, CBX_EDTYPE, "13", X_TEXT, "to no dtype" },
    { do_add_ragged, CBX_ESHAPE, "float64 (3, 2)", X_TEXT, "shapes that do not broadcast" },
    { do_negative_bool, CBX_EDTYPE, "does not take bool", "bool (2, 3)", "bool has no negative" },
    { do_floor_complex, CBX_EDTYPE, "does not take complex128", Z_TEXT, "complex numbers have no floor" },
    { do_max_complex, CBX_EDTYPE, "does not take complex128", Z_TEXT, "complex numbers have no order" },
    { do_shift_float, CBX_EDTYPE, "does not take float64", X_TEXT, "floats are not shifted" },
    { do_power_below_zero, CBX_EDOM, "negative power", N_TEXT, "integers to a negative power" },
    { do_where_ragged, CBX_ESHAPE, "float64 (3, 2)", "bool (2, 3)", "branches that do not broadcast" },
    { do_clip_complex, CBX_EDTYPE, "does not take complex128", Z_TEXT, "complex numbers are not clipped" },
    { do_operand_null, CBX_EINVAL, "operand 2 of 'add' is NULL", NULL, "no operand" },
    { do_reshape_rest, CBX_ESHAPE, "rows of 4", X_TEXT, "a rest" },
    { do_reshape_negative, CBX_EINVAL, "extent -2 of axis 0", X_TEXT, "a negative extent" },
    { do_reshape_two_open, CBX_EINVAL, "one may be -1", X_TEXT, "two open extents" },
    { do_reshape_other_count, CBX_ESHAPE, "number of elements", X_TEXT, "another number of elements" },
    { do_reshape_overflow, CBX_EOVERFLOW, "overflow", X_TEXT, "extents whose product overflows" },
    { do_reshape_rank, CBX_EINVAL, "rank 17", X_TEXT, "a rank above the limit" },
    { do_permute_twice, CBX_EINVAL, "named twice", X_TEXT, "an axis named twice" },
    { do_permute_outside, CBX_EINVAL, "axis 2", X_TEXT, "an axis outside" },
    { do_swap_outside, CBX_EINVAL, "axis -3", X_TEXT, "an axis outside, from the end" },
    { do_move_outside, CBX_EINVAL, "axis 2", X_TEXT, "an axis outside" },
    { do_transpose_line, CBX_ESHAPE, "two axes", V_TEXT, "a line has no transpose" },
    { do_expand_outside, CBX_EINVAL, "axis 4", X_TEXT, "a new axis outside" },
    { do_squeeze_long, CBX_ESHAPE, "axis 1 has 3", X_TEXT, "an axis that is not 1" },
    { do_broadcast_no, CBX_ESHAPE, "float64 (3, 2)", V_TEXT, "another length" },
    { do_broadcast_fewer, CBX_ESHAPE, "does not broadcast", X_TEXT, "fewer axes" },
    { do_broadcast_overflow, CBX_EOVERFLOW, "bytes", V_TEXT, "a spread that overflows" },
    { do_slice_outside, CBX_EINVAL, "axis 2", X_TEXT, "an axis outside" },
    { do_slice_no_step, CBX_EINVAL, "must not be 0", X_TEXT, "a step of 0" },
    { do_index_outside, CBX_EINVAL, "index 3", X_TEXT, "an index outside" },
    { do_roll_outside, CBX_EINVAL, "axis 2", X_TEXT, "an axis outside" },
    { do_concat_ragged, CBX_ESHAPE, "float64 (3, 2)", X_TEXT, "ragged arrays" },
    { do_concat_ranks, CBX_ESHAPE, V_TEXT, X_TEXT, "other ranks" },
    { do_concat_scalars, CBX_EINVAL, "a scalar has none", ONE_TEXT, "scalars have no axis" },
    { do_concat_nothing, CBX_EINVAL, "no arrays", NULL, "nothing to join" },
    { do_stack_ragged, CBX_ESHAPE, "'stack' cannot join", X_TEXT, "ragged arrays, stacked" },
    { do_pad_overflow, CBX_EOVERFLOW, "too long", V_TEXT, "a length that overflows" },
    { do_pad_too_long, CBX_EOVERFLOW, "bytes", V_TEXT, "bytes that overflow" },
    { do_tile_rank, CBX_EINVAL, "rank 17", X_TEXT, "a rank above the limit" },
    { do_tile_overflow, CBX_EOVERFLOW, "too long", NULL, "a tiling that overflows" },
    { do_repeat_overflow, CBX_EOVERFLOW, "too long", V_TEXT, "a repetition that overflows" },
    { do_repeat_outside, CBX_EINVAL, "axis 1", V_TEXT, "an axis outside" },
    { do_sum_outside, CBX_EINVAL, "axis 2 of 'sum'", X_TEXT, "an axis outside" },
    { do_sum_twice, CBX_EINVAL, "named twice", X_TEXT, "an axis named twice" },
    { do_sum_axes, CBX_EINVAL, "17 axes", X_TEXT, "more axes than there can be" },
    { do_sum_scalar, CBX_EINVAL, "a scalar has none", ONE_TEXT, "an axis of a scalar" },
    { do_max_none, CBX_ESHAPE, "an empty array", "float64 (0,)", "the largest of nothing" },
    { do_argmin_none, CBX_ESHAPE, "an empty array", "float64 (0,)", "the place of nothing" },
    { do_nanmax_none, CBX_ESHAPE, "an empty array", "float64 (0,)", "the largest of nothing, without NaN" },
    { do_max_of_complex, CBX_EDTYPE, "does not take complex128", Z_TEXT, "complex numbers have no order" },
    { do_running_outside, CBX_EINVAL, "axis 1", V_TEXT, "an axis outside" },
    { do_running_max_complex, CBX_EDTYPE, "does not take complex128", Z_TEXT, "complex numbers have no order" },
    { do_diff_outside, CBX_EINVAL, "axis 1", V_TEXT, "an axis outside" },
    { do_take_outside, CBX_EINDEX, "index 4", V_TEXT, "an index outside" },
    { do_take_below, CBX_EINDEX, "index -4", V_TEXT, "an index below" },
    { do_take_floats, CBX_EDTYPE, "integers", V_TEXT, "invalid indices" },
    { do_take_axis, CBX_EINVAL, "axis 1", V_TEXT, "an axis outside" },
    { do_take_scalar, CBX_EINVAL, "a scalar has none", ONE_TEXT, "nothing to take from" },
    { do_along_ranks, CBX_ESHAPE, N_TEXT, X_TEXT, "indices of another rank" },
    { do_scatter_outside, CBX_EINDEX, "index 4", V_TEXT, "an index outside" },
    { do_scatter_ragged, CBX_EINDEX, "index 2", X_TEXT, "an index outside a shorter axis" },
    { do_scatter_updates, CBX_ESHAPE, "does not broadcast", X_TEXT, "updates of another shape" },
    { do_scatter_mode, CBX_EINVAL, "mode 9", V_TEXT, "an unknown mode" },
    { do_scatter_order, CBX_EDTYPE, "no order", Z_TEXT, "complex numbers have no order" },
    { do_segment_outside, CBX_EINDEX, "index 2 of 'segment_sum'", N_TEXT, "a missing segment" },
    { do_segment_scalar, CBX_ESHAPE, "needs an axis", ONE_TEXT, "a scalar has no segments" },
    { do_nonzero_scalar, CBX_ESHAPE, "needs an axis", ONE_TEXT, "a scalar has no places" },
    { do_sort_complex, CBX_EDTYPE, "does not take complex128", Z_TEXT, "complex numbers have no order" },
    { do_sort_outside, CBX_EINVAL, "axis -2", V_TEXT, "an axis outside" },
    { do_search_matrix, CBX_ESHAPE, "one axis", X_TEXT, "edges with two axes" },
    { do_search_complex, CBX_EDTYPE, "does not take complex", "complex128 (3,)", "complex numbers have no order" },
    { do_digitize_disorder, CBX_EDOM, "neither rise nor fall", "float64 (6,)", "bins that are not monotonic" },
    { do_digitize_nan, CBX_EDOM, "neither rise nor fall", V_TEXT, "bins that are no numbers" },
    { do_digitize_matrix, CBX_ESHAPE, "2 axes", X_TEXT, "bins with two axes" },
    { do_isin_null, CBX_EINVAL, "is NULL", NULL, "no set" },
    { do_bincount_below, CBX_EDOM, "bins must not be negative", N_TEXT, "a negative number" },
    { do_bincount_floats, CBX_EDTYPE, "integers", V_TEXT, "floats" },
    { do_bincount_matrix, CBX_ESHAPE, "one axis", "int64 (2, 3)", "two axes" },
    { do_bincount_largest, CBX_EOVERFLOW, "bytes", NULL, "more bins than memory can have" },
    { do_bincount_size_largest, CBX_EOVERFLOW, "no memory", N_TEXT, "more bins than an index can name" },
    { do_bincount_weights_short, CBX_ESHAPE, "3 numbers with 0 weights", "float64 (0,)", "too few weights" },
    { do_histogram_one_edge, CBX_ESHAPE, "two edges", "float64 (1,)", "one edge" },
    { do_histogram_falling, CBX_EDOM, "must ascend", V_TEXT, "falling edges" },
    { do_quantile_above, CBX_EDOM, "0 to 1", V_TEXT, "above 1" },
    { do_segments_short, CBX_ESHAPE, "'segment_max' of 2 rows", X_TEXT, "more segment numbers than rows" },
    { do_unstack_other, CBX_ESHAPE, "2 elements into 3", X_TEXT, "another number of arrays" },
    { do_counts_below, CBX_EDOM, "'repeat' of -2", V_TEXT, "a negative count" },
    { do_counts_floats, CBX_EDTYPE, "integers", V_TEXT, "invalid counts" },
    { do_moveaxes_twice, CBX_EINVAL, "named twice", X_TEXT, "an axis named twice" },
    { do_percentile_above, CBX_EDOM, "0 to 100", V_TEXT, "above 100" },
    { do_percentile_nan, CBX_EDOM, "0 to 100", V_TEXT, "no number" },
    { do_percentile_none, CBX_ESHAPE, "an empty array", "float64 (0,)", "of nothing" },
    { do_median_complex, CBX_EDTYPE, "does not take complex128", "complex128", "complex numbers have no order" },
    { do_matmul_lengths, CBX_ESHAPE, "'matmul' cannot join", "float64 (2, 3) with float64 (2, 3)",
      "inner lengths differ" },
    { do_matmul_scalar, CBX_ESHAPE, "does not take scalars", ONE_TEXT, "a scalar" },
    { do_tensordot_axes, CBX_EINVAL, "over 3 axes", X_TEXT, "more axes than there are" },
    { do_tensordot_twice, CBX_EINVAL, "named twice", X_TEXT, "an axis named twice" },
    { do_tensordot_lengths, CBX_ESHAPE, "lengths differ", "axis 1 of float64 (2, 3)", "lengths differ" },
    { do_vecdot_axis, CBX_EINVAL, "from the end", X_TEXT, "an axis from the front" },
    { do_vecdot_lengths, CBX_ESHAPE, "3 with 2", X_TEXT, "lengths differ" },
};

static bool one_sentence(const char *text)
{
    return text[0] && !strchr(text, '\n') && !isupper((unsigned char)text[0]) && text[strlen(text) - 1] != '.';
}

TEST(bad_input_is_refused_in_words)
{
    cbx_test_alloc al;
    cbx_test_alloc_init(&al);
    cbx_ctx *c = cbx_test_ctx(&al);
    unsigned faults = 0;
    given g = give(c);

    for (size_t i = 0; i < CBX_LEN(bad); i++) {
        cbx_scope scope;
        cbx_err err = CBX_ERR_INIT;
        size_t before;
        cbx_status st;
        cbx_scope_open(c, &scope);
        before = al.live_blocks;
        CHECK(cbx_array_is_failed(bad[i].fn(c, &g)), bad[i].why);
        st = cbx_scope_close(&scope, &err);
        if (st != bad[i].status || !one_sentence(err.message) || !strstr(err.message, bad[i].words) ||
            (bad[i].operand && !strstr(err.message, bad[i].operand))) {
            print_message("# %s: CBX_%s, '%s' (wanted CBX_%s, '%s', '%s')\n", bad[i].why, cbx_status_name(st),
                          err.message, cbx_status_name(bad[i].status), bad[i].words,
                          bad[i].operand ? bad[i].operand : "");
            faults++;
        }
        CHECK_LE(al.live_blocks, before + 12, "nothing but pooled memory stays");
        CHECK(!cbx_array_is_failed(cbx_add(c, g.x, g.v)), "the context goes on");
    }
    CHECK_INT(faults, 0, "refusals in other words");
    cbx_ctx_free(c);
    cbx_test_alloc_check(&al, "bad input");
}

TESTS(.seconds = 600)
