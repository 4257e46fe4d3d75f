/**
 * Array functions.
 *
 * All of them: arguments are a context and operands, the result belongs to the current scope
 * (scope.h), and a failed or NULL operand gives a failed result.  Shapes broadcast by trailing
 * axes, dtypes promote by the one table (dtype.h); names and rules are those of the Python array
 * API 2024.12 where it has them, and docs/reference/arrays.md states every choice: dtypes, NaN, no
 * elements, errors.  An axis may be negative.  Functions of real numbers take integers and bool as
 * float64.  Nothing is written in place; movement functions give views where strides allow.
 * Errors: CBX_EDTYPE, CBX_ESHAPE, CBX_EINVAL (axis, rank, argument), CBX_EINDEX (an index in the
 * data), CBX_EDOM (another value), CBX_EOVERFLOW, CBX_ENOMEM.  One thread uses a context at a time.
 * Since 0.1.
 */
#ifndef CALIBRAX_ARRAY_OPS_H
#define CALIBRAX_ARRAY_OPS_H

#include "calibrax/array/fn.h"
#include "calibrax/array/primitive.h"
#include "calibrax/array/scope.h"

CBX_BEGIN_DECLS

/* ---- scalars: weak, as literals of the host language ---- */

static inline cbx_scalar cbx_bool(bool v)
{
    cbx_scalar s = { CBX_BOOL, { 0 } };
    s.v.i = v;
    return s;
}
static inline cbx_scalar cbx_int(int64_t v)
{
    cbx_scalar s = { CBX_I64, { 0 } };
    s.v.i = v;
    return s;
}
static inline cbx_scalar cbx_float(double v)
{
    cbx_scalar s = { CBX_F64, { 0 } };
    s.v.f = v;
    return s;
}
static inline cbx_scalar cbx_complex(double re, double im)
{
    cbx_scalar s = { CBX_C128, { 0 } };
    s.v.c[0] = re;
    s.v.c[1] = im;
    return s;
}

/**
 * The scalar as an array of rank 0, in the dtype in which it meets x.
 * CBX_EOVERFLOW if x is of integers and does not hold the value.
 */
CBX_API cbx_array *cbx_weak(cbx_ctx *ctx, const cbx_array *x, cbx_scalar v);

/* ---- creation ---- */

/** Row-major copy of data, dense. */
CBX_API cbx_array *cbx_asarray(cbx_ctx *ctx, const cbx_array_desc *desc, const void *data);
CBX_API cbx_array *cbx_full(cbx_ctx *ctx, int ndim, const size_t *shape, cbx_dtype dtype, cbx_scalar v);
CBX_API cbx_array *cbx_zeros(cbx_ctx *ctx, int ndim, const size_t *shape, cbx_dtype dtype);
CBX_API cbx_array *cbx_ones(cbx_ctx *ctx, int ndim, const size_t *shape, cbx_dtype dtype);
CBX_API cbx_array *cbx_full_like(cbx_ctx *ctx, const cbx_array *x, cbx_scalar v);
CBX_API cbx_array *cbx_zeros_like(cbx_ctx *ctx, const cbx_array *x);
CBX_API cbx_array *cbx_ones_like(cbx_ctx *ctx, const cbx_array *x);
/** start + i * ((start + step) - start) for i < ceil((stop - start) / step); empty if that is <= 0.
 * step 0: CBX_EINVAL. */
CBX_API cbx_array *cbx_arange(cbx_ctx *ctx, double start, double stop, double step, cbx_dtype dtype);
/** As cbx_arange in integers, exact. */
CBX_API cbx_array *cbx_arange_int(cbx_ctx *ctx, int64_t start, int64_t stop, int64_t step, cbx_dtype dtype);
/** i * ((stop - start) / (num - 1)) + start; the last is exactly stop.  Without endpoint num
 * instead of num - 1. */
CBX_API cbx_array *cbx_linspace(cbx_ctx *ctx, double start, double stop, size_t num, bool endpoint, cbx_dtype dtype);
/** 10 to the powers linspace(start, stop, num). */
CBX_API cbx_array *cbx_logspace(cbx_ctx *ctx, double start, double stop, size_t num, cbx_dtype dtype);
/** n-by-m, 1 where column - row is k. */
CBX_API cbx_array *cbx_eye(cbx_ctx *ctx, size_t n, size_t m, ptrdiff_t k, cbx_dtype dtype);
/** Lower (upper) triangle of the last two axes: 0 where column - row > k (< k). */
CBX_API cbx_array *cbx_tril(cbx_ctx *ctx, const cbx_array *x, ptrdiff_t k);
CBX_API cbx_array *cbx_triu(cbx_ctx *ctx, const cbx_array *x, ptrdiff_t k);
/** n arrays of rank 1 spread over a common grid; xy swaps the first two axes.  out[n] are written
 * in any case. */
CBX_API void cbx_meshgrid(cbx_ctx *ctx, size_t n, const cbx_array *const *in, bool xy, cbx_array **out);
/** Another dtype: towards zero, clamped to the range, NaN to 0; integers wrap.  Complex to real is
 * CBX_EDTYPE. */
CBX_API cbx_array *cbx_astype(cbx_ctx *ctx, const cbx_array *x, cbx_dtype dtype);
/** A row-major array of its own. */
CBX_API cbx_array *cbx_copy(cbx_ctx *ctx, const cbx_array *x);
/** x on a device: x itself if it is there, else a copy.  CBX_EUNAVAILABLE where there is no such
 * device, or the context's backend has no way there; CBX_EINVAL of an abstract one. */
CBX_API cbx_array *cbx_to_device(cbx_ctx *ctx, const cbx_array *x, cbx_device_id device);

/* ---- element by element ---- */

/* One function for each primitive that has an entry: cbx_sqrt(ctx, x), cbx_add(ctx, a, b), and
 * cbx_add_scalar(ctx, a, 2.0) with a weak float on the right. */
#define CBX_DECLARE_FLOAT(prim, name, loop) CBX_API cbx_array *cbx_##name(cbx_ctx *ctx, const cbx_array *x);
#define CBX_DECLARE_KEEP                    CBX_DECLARE_FLOAT
#define CBX_DECLARE_ROUND                   CBX_DECLARE_FLOAT
#define CBX_DECLARE_BINARY(prim, name)                                                                                 \
    CBX_API cbx_array *cbx_##name(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b);                               \
    CBX_API cbx_array *cbx_##name##_scalar(cbx_ctx *ctx, const cbx_array *a, double b);
#define CBX_DECLARE_NO
#define CBX_DECLARE_BINARY_FLOAT                       CBX_DECLARE_BINARY
#define CBX_DECLARE_BINARY_WIDE                        CBX_DECLARE_BINARY
#define CBX_DECLARE_COMPARE                            CBX_DECLARE_BINARY
#define CBX_DECLARE(name, number, word, function, ...) CBX_DECLARE_##function
CBX_PRIM_MAP(CBX_DECLARE)

/** The logarithmic derivative of the gamma function; NaN at negative integers. */
CBX_API cbx_array *cbx_digamma(cbx_ctx *ctx, const cbx_array *x);
/** Its derivative of order n >= 0; n = 0 is cbx_digamma.  n >= 2: NaN below -10^6.  Source:
 * Abramowitz & Stegun (1964), 6.4. */
CBX_API cbx_array *cbx_polygamma(cbx_ctx *ctx, int n, const cbx_array *x);
/** Half to even at a number of decimals: rint(x * 10^d) / 10^d; negative decimals round to tens. */
CBX_API cbx_array *cbx_round(cbx_ctx *ctx, const cbx_array *x, int decimals);
CBX_API cbx_array *cbx_square(cbx_ctx *ctx, const cbx_array *x);
/** The operand; bool is CBX_EDTYPE. */
CBX_API cbx_array *cbx_positive(cbx_ctx *ctx, const cbx_array *x);
/** 1 / x. */
CBX_API cbx_array *cbx_reciprocal(cbx_ctx *ctx, const cbx_array *x);
CBX_API cbx_array *cbx_deg2rad(cbx_ctx *ctx, const cbx_array *x);
CBX_API cbx_array *cbx_rad2deg(cbx_ctx *ctx, const cbx_array *x);
CBX_API cbx_array *cbx_logical_not(cbx_ctx *ctx, const cbx_array *x);
/** Of real operands: the operand, zeros, the operand. */
CBX_API cbx_array *cbx_real(cbx_ctx *ctx, const cbx_array *x);
CBX_API cbx_array *cbx_imag(cbx_ctx *ctx, const cbx_array *x);
CBX_API cbx_array *cbx_conj(cbx_ctx *ctx, const cbx_array *x);

CBX_API cbx_array *cbx_logical_and(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b);
CBX_API cbx_array *cbx_logical_or(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b);
CBX_API cbx_array *cbx_logical_xor(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b);

/** x where the condition (bool, or not zero) holds, else y.  Both are computed. */
CBX_API cbx_array *cbx_where(cbx_ctx *ctx, const cbx_array *condition, const cbx_array *x, const cbx_array *y);
/** min(max(x, low), high); NaN stays; low > high gives high.  NULL: no bound on that side. */
CBX_API cbx_array *cbx_clip(cbx_ctx *ctx, const cbx_array *x, const cbx_array *low, const cbx_array *high);

/** With weak bounds: of a higher kind than x they give their kind's dtype, as NumPy. */
CBX_API cbx_array *cbx_clip_scalar(cbx_ctx *ctx, const cbx_array *x, cbx_scalar low, cbx_scalar high);

/* ---- movement ---- */

/** At most one extent may be -1: what is left. */
CBX_API cbx_array *cbx_reshape(cbx_ctx *ctx, const cbx_array *x, int ndim, const ptrdiff_t *shape);
/** Rank 1, row-major. */
CBX_API cbx_array *cbx_flatten(cbx_ctx *ctx, const cbx_array *x);
/** axes: ndim of them, NULL: reversed. */
CBX_API cbx_array *cbx_permute_dims(cbx_ctx *ctx, const cbx_array *x, const int *axes);
CBX_API cbx_array *cbx_swapaxes(cbx_ctx *ctx, const cbx_array *x, int a, int b);
CBX_API cbx_array *cbx_moveaxis(cbx_ctx *ctx, const cbx_array *x, int from, int to);
/** Axis from[i] goes to place to[i] of the result; the others keep their order. */
CBX_API cbx_array *cbx_moveaxes(cbx_ctx *ctx, const cbx_array *x, int n, const int *from, const int *to);
/** Last two axes swapped. */
CBX_API cbx_array *cbx_matrix_transpose(cbx_ctx *ctx, const cbx_array *x);
/** A new axis of length 1 at a place of the result. */
CBX_API cbx_array *cbx_expand_dims(cbx_ctx *ctx, const cbx_array *x, int axis);
/** Drops an axis, which must be of length 1 (CBX_ESHAPE). */
CBX_API cbx_array *cbx_squeeze(cbx_ctx *ctx, const cbx_array *x, int axis);
CBX_API cbx_array *cbx_broadcast_to(cbx_ctx *ctx, const cbx_array *x, int ndim, const size_t *shape);
/** n arrays in their common shape, as views; out[n] are written in any case. */
CBX_API void cbx_broadcast_arrays(cbx_ctx *ctx, size_t n, const cbx_array *const *in, cbx_array **out);
/** Common shape of n arrays. */
CBX_API cbx_status cbx_broadcast_shapes(size_t n, const cbx_array *const *in, int *ndim, size_t *shape, cbx_err *err);

#define CBX_OPEN PTRDIFF_MIN /* a bound left out, as in x[::-1] */
/** x[start:stop:step] along one axis by Python's rules; bounds beyond the ends are cut.  step 0:
 * CBX_EINVAL. */
CBX_API cbx_array *cbx_slice(cbx_ctx *ctx, const cbx_array *x, int axis, ptrdiff_t start, ptrdiff_t stop,
                             ptrdiff_t step);
/** x[i] along one axis, which goes.  Outside: CBX_EINVAL. */
CBX_API cbx_array *cbx_index(cbx_ctx *ctx, const cbx_array *x, int axis, ptrdiff_t i);
CBX_API cbx_array *cbx_flip(cbx_ctx *ctx, const cbx_array *x, int axis);
CBX_API cbx_array *cbx_roll(cbx_ctx *ctx, const cbx_array *x, ptrdiff_t shift, int axis);
/** Along n axes, one after the other; an axis may come twice. */
CBX_API cbx_array *cbx_roll_axes(cbx_ctx *ctx, const cbx_array *x, int n, const ptrdiff_t *shifts, const int *axes);
/** In row-major order. */
CBX_API cbx_array *cbx_roll_flat(cbx_ctx *ctx, const cbx_array *x, ptrdiff_t shift);
/** out[i] is x[i] along an axis of length n (else CBX_ESHAPE), as views; out[n] are written in any
 * case. */
CBX_API void cbx_unstack(cbx_ctx *ctx, const cbx_array *x, int axis, size_t n, cbx_array **out);
/** n >= 1 arrays of one shape but for the axis. */
CBX_API cbx_array *cbx_concat(cbx_ctx *ctx, size_t n, const cbx_array *const *in, int axis);
CBX_API cbx_array *cbx_stack(cbx_ctx *ctx, size_t n, const cbx_array *const *in, int axis);
/** before and after: elements to add on each side of each axis. */
CBX_API cbx_array *cbx_pad(cbx_ctx *ctx, const cbx_array *x, const size_t *before, const size_t *after, cbx_scalar v);
CBX_API cbx_array *cbx_tile(cbx_ctx *ctx, const cbx_array *x, int n, const size_t *times);
/** Each element times in a row along the axis. */
CBX_API cbx_array *cbx_repeat(cbx_ctx *ctx, const cbx_array *x, size_t times, int axis);
/** Place i of the axis counts[i] times (integers, rank 0 or 1); a negative one is CBX_EDOM.  Needs
 * data. */
CBX_API cbx_array *cbx_repeat_counts(cbx_ctx *ctx, const cbx_array *x, const cbx_array *counts, int axis);
/** As cbx_repeat_counts, cut or filled with the last place to total: can be traced.  A negative
 * count is 0. */
CBX_API cbx_array *cbx_repeat_counts_size(cbx_ctx *ctx, const cbx_array *x, const cbx_array *counts, int axis,
                                          size_t total);

/* ---- reductions ---- */

/** Axes to reduce; keep: they stay with length 1.  NULL in place of it: all axes, dropped. */
typedef struct cbx_axes {
    int n;
    int axis[CBX_MAX_RANK];
    bool keep;
} cbx_axes;
#define CBX_AXIS(i)      (&(const cbx_axes){ .n = 1, .axis = { (i) } })
#define CBX_AXIS_KEEP(i) (&(const cbx_axes){ .n = 1, .axis = { (i) }, .keep = true })

/** cbx_flip and cbx_squeeze of several axes; NULL: all, of which cbx_squeeze_axes drops those of
 * length 1. */
CBX_API cbx_array *cbx_flip_axes(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);
CBX_API cbx_array *cbx_squeeze_axes(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);

/** In 64-bit accumulators; bool and signed give int64, unsigned uint64, others their dtype.  No
 * elements: 0 and 1. */
CBX_API cbx_array *cbx_sum(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);
CBX_API cbx_array *cbx_prod(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);
/** NaN travels.  No elements: CBX_ESHAPE. */
CBX_API cbx_array *cbx_max(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);
CBX_API cbx_array *cbx_min(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);
/** sum / n; integers give float64; no elements: NaN. */
CBX_API cbx_array *cbx_mean(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);
/** sum |x - mean|^2 / (n - correction); n <= correction: NaN or infinity as the division gives. */
CBX_API cbx_array *cbx_var(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes, double correction);
CBX_API cbx_array *cbx_std(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes, double correction);
/** NaN is true. */
CBX_API cbx_array *cbx_any(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);
CBX_API cbx_array *cbx_all(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);
CBX_API cbx_array *cbx_count_nonzero(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);
/** Row-major place among the reduced axes of the first winner; the first NaN wins. */
CBX_API cbx_array *cbx_argmax(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);
CBX_API cbx_array *cbx_argmin(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);
/** NaN left out; nothing left: 0, NaN, NaN, NaN, NaN.  nanmin and nanmax of no elements:
 * CBX_ESHAPE. */
CBX_API cbx_array *cbx_nansum(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);
CBX_API cbx_array *cbx_nanmean(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);
CBX_API cbx_array *cbx_nanstd(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes, double correction);
CBX_API cbx_array *cbx_nanmax(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);
CBX_API cbx_array *cbx_nanmin(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);

/** sum(w x) / sum(w): weights in the shape of x, or a row for one axis; NULL: the mean.  Weights of
 * sum 0: as the division. */
CBX_API cbx_array *cbx_average(cbx_ctx *ctx, const cbx_array *x, const cbx_array *weights, const cbx_axes *axes);

CBX_API cbx_array *cbx_cumulative_sum(cbx_ctx *ctx, const cbx_array *x, int axis);
CBX_API cbx_array *cbx_cumulative_prod(cbx_ctx *ctx, const cbx_array *x, int axis);
/** With the start, 0 or 1, in front: one element more. */
CBX_API cbx_array *cbx_cumulative_sum_initial(cbx_ctx *ctx, const cbx_array *x, int axis);
CBX_API cbx_array *cbx_cumulative_prod_initial(cbx_ctx *ctx, const cbx_array *x, int axis);
CBX_API cbx_array *cbx_cumulative_max(cbx_ctx *ctx, const cbx_array *x, int axis);
CBX_API cbx_array *cbx_cumulative_min(cbx_ctx *ctx, const cbx_array *x, int axis);
/** x[1:] - x[:-1] along an axis; of bool: not equal. */
CBX_API cbx_array *cbx_diff(cbx_ctx *ctx, const cbx_array *x, int axis);

/* ---- indexing ---- */

/** Elements along an axis at whole-number indices of any rank; negative ones count from the end,
 * others are CBX_EINDEX. */
CBX_API cbx_array *cbx_take(cbx_ctx *ctx, const cbx_array *x, const cbx_array *indices, int axis);
/** Elements along an axis, each lane at indices of its own; the other axes broadcast. */
CBX_API cbx_array *cbx_take_along_axis(cbx_ctx *ctx, const cbx_array *x, const cbx_array *indices, int axis);
/** x with updates joined in at indices of an axis; updates broadcast to take(x, indices, axis). */
CBX_API cbx_array *cbx_scatter(cbx_ctx *ctx, const cbx_array *x, const cbx_array *indices, const cbx_array *updates,
                               int axis, cbx_scatter_mode mode);
/**
 * x along axis 0 joined by segment number (ids: one for each row, as indices: outside CBX_EINDEX).
 * Segments without members hold 0, 1, the largest and the smallest value of the dtype (infinities),
 * NaN.  sum and prod keep the dtype; integers have a mean of float64.
 */
CBX_API cbx_array *cbx_segment_sum(cbx_ctx *ctx, const cbx_array *x, const cbx_array *ids, size_t segments);
CBX_API cbx_array *cbx_segment_prod(cbx_ctx *ctx, const cbx_array *x, const cbx_array *ids, size_t segments);
CBX_API cbx_array *cbx_segment_min(cbx_ctx *ctx, const cbx_array *x, const cbx_array *ids, size_t segments);
CBX_API cbx_array *cbx_segment_max(cbx_ctx *ctx, const cbx_array *x, const cbx_array *ids, size_t segments);
CBX_API cbx_array *cbx_segment_mean(cbx_ctx *ctx, const cbx_array *x, const cbx_array *ids, size_t segments);
/** Row-major places of true elements: int64 (ndim, number of them). */
CBX_API cbx_array *cbx_nonzero(cbx_ctx *ctx, const cbx_array *x);
/** Transposed: one row for each true element. */
CBX_API cbx_array *cbx_argwhere(cbx_ctx *ctx, const cbx_array *x);
/** As cbx_nonzero, cut or filled with fill to size columns: a shape that does not depend on
 * data. */
CBX_API cbx_array *cbx_nonzero_size(cbx_ctx *ctx, const cbx_array *x, size_t size, int64_t fill);

/* ---- order, counting; sets: sets.h ---- */

/** Stable, NaN last; descending: NaN first. */
CBX_API cbx_array *cbx_sort(cbx_ctx *ctx, const cbx_array *x, int axis, bool descending);
CBX_API cbx_array *cbx_argsort(cbx_ctx *ctx, const cbx_array *x, int axis, bool descending);
/** Where values would go in sorted edges (rank 1): before (left) or behind (right) equal ones. */
CBX_API cbx_array *cbx_searchsorted(cbx_ctx *ctx, const cbx_array *edges, const cbx_array *values, bool right);
/** With edges that sorter (integers, rank 1) puts in order. */
CBX_API cbx_array *cbx_searchsorted_sorter(cbx_ctx *ctx, const cbx_array *edges, const cbx_array *values, bool right,
                                           const cbx_array *sorter);
/**
 * Bin i with edges[i-1] <= x < edges[i]; falling edges invert the comparison.  NaN: the last bin.
 * Edges that do neither: CBX_EDOM; traced ones are not checked, and the bins are then
 * unspecified. */
CBX_API cbx_array *cbx_digitize(cbx_ctx *ctx, const cbx_array *x, const cbx_array *edges);
/** Counts of integers >= 0 (int64), or sums of weights (float64); length max(x) + 1, at least that.
 * Negative: CBX_EDOM. */
CBX_API cbx_array *cbx_bincount(cbx_ctx *ctx, const cbx_array *x, const cbx_array *weights, size_t min_length);
/** The same of bins 0 to size - 1, numbers outside not counted: a shape that does not depend on
 * data. */
CBX_API cbx_array *cbx_bincount_size(cbx_ctx *ctx, const cbx_array *x, const cbx_array *weights, size_t size);
/**
 * Counts between edges (rank 1, rising, else CBX_EDOM), the last bin closed; NaN and values outside
 * fall out.  Traced edges are not checked. */
CBX_API cbx_array *cbx_histogram(cbx_ctx *ctx, const cbx_array *x, const cbx_array *edges, const cbx_array *weights);
/** q in 0..100 (else CBX_EDOM), linear between ranks q / 100 * (n - 1); NaN among the elements
 * gives NaN. */
CBX_API cbx_array *cbx_percentile(cbx_ctx *ctx, const cbx_array *x, double q, const cbx_axes *axes);
/** n >= 1 of them, q in 0..1 (else CBX_EDOM), stacked along a new first axis. */
CBX_API cbx_array *cbx_quantile(cbx_ctx *ctx, const cbx_array *x, size_t n, const double *q, const cbx_axes *axes);
CBX_API cbx_array *cbx_median(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);

/* ---- products ---- */

/** Rank 1 operands are rows and columns, leading axes broadcast; bool: any of ands. */
CBX_API cbx_array *cbx_matrix_product(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b);
/** Sum over n pairs of axes. */
CBX_API cbx_array *cbx_tensordot(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, int n, const int *axes_a,
                                 const int *axes_b);
/** sum conj(a) b along an axis. */
CBX_API cbx_array *cbx_vecdot(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, int axis);
CBX_API cbx_array *cbx_outer(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b);

CBX_END_DECLS
#endif
