/*
 * Random arrays: everything is the hash of (key, counter), shaped by array functions.  random.h
 * states which bits go where.
 */
#include "calibrax/array/random.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "calibrax/array/ops_internal.h"

static cbx_array *shift_right(cbx_ctx *ctx, const cbx_array *x, int bits)
{
    return cbx_bitwise_right_shift(ctx, x, cbx_weak(ctx, x, cbx_int(bits)));
}

/* A key as one word: its first number is the upper half. */
static cbx_array *key_word(cbx_ctx *ctx, const char *name, const cbx_array *key)
{
    cbx_array *wide, *high;

    if (cbx__unusable(ctx, name, 1, &key)) return cbx__array_failed();
    if (key->desc.dtype != CBX_U32 || key->desc.ndim != 1 || key->desc.shape[0] != 2)
        return cbx__refuse(ctx, key->desc.dtype != CBX_U32 ? CBX_EDTYPE : CBX_ESHAPE,
                           "the key of '%s' is %s, not uint32 (2,): create one with cbx_random_key", name,
                           CBX__DESC_TEXT(&key->desc));
    wide = cbx__as(ctx, key, CBX_U64);
    high = cbx_index(ctx, wide, 0, 0);
    high = cbx_bitwise_left_shift(ctx, high, cbx_weak(ctx, high, cbx_int(32)));
    return cbx_bitwise_or(ctx, high, cbx_index(ctx, wide, 0, 1));
}

/* Words as keys, a new last axis of the two halves. */
static cbx_array *as_keys(cbx_ctx *ctx, const cbx_array *words)
{
    const cbx_array *half[2] = { cbx__as(ctx, shift_right(ctx, words, 32), CBX_U32), cbx__as(ctx, words, CBX_U32) };
    return cbx_stack(ctx, 2, half, -1);
}

static cbx_array *words(cbx_ctx *ctx, const char *name, const cbx_array *key, int ndim, const size_t *shape)
{
    size_t mark = cbx__mark(ctx);
    /* 64 bits for each element of a shape: the hash of its row-major number. */
    cbx_attrs iota = { .dtype = CBX_U64, .ndim = 1 };
    cbx_array_desc d = { .dtype = CBX_U64, .ndim = ndim };
    cbx_array *word = key_word(ctx, name, key);

    if (cbx_array_is_failed(word) || !cbx__given(ctx, name, "shape", ndim, shape)) return cbx__array_failed();
    if (ndim > 0 && ndim <= CBX_MAX_RANK) memcpy(d.shape, shape, (size_t)ndim * sizeof *shape);
    if (cbx_array_desc_count(&d, &iota.shape[0], cbx__sticky(ctx))) return cbx__array_failed();
    return cbx__tidy(ctx, mark,
                     cbx__apply2(ctx, CBX_PRIM_THREEFRY, word,
                                 cbx__reshaped(ctx, cbx_apply(ctx, CBX_PRIM_IOTA, 0, NULL, &iota), ndim, shape)));
}

cbx_array *cbx_random_key(cbx_ctx *ctx, uint64_t seed)
{
    const uint32_t halves[2] = { (uint32_t)(seed >> 32), (uint32_t)seed };
    return cbx_asarray(ctx, &(cbx_array_desc){ CBX_U32, 1, { 2 } }, halves);
}

cbx_array *cbx_random_split(cbx_ctx *ctx, const cbx_array *key, size_t n)
{
    return cbx__tidied(ctx, as_keys(ctx, words(ctx, "random_split", key, 1, &n)));
}

static cbx_array *fold_in_steps(cbx_ctx *ctx, const cbx_array *key, const cbx_array *data)
{
    cbx_array *word = key_word(ctx, "random_fold_in", key);

    if (cbx__unusable(ctx, "random_fold_in", 2, (const cbx_array *const[]){ word, data })) return cbx__array_failed();
    if (cbx_dtype_kind(data->desc.dtype) != CBX_KIND_INT)
        return cbx__refuse(ctx, CBX_EDTYPE, "'random_fold_in' takes an integer, not %s",
                           cbx_dtype_name(data->desc.dtype));
    if (data->desc.ndim != 0)
        return cbx__refuse(ctx, CBX_ESHAPE, "'random_fold_in' takes one number, not %d axes", data->desc.ndim);
    data = cbx__as(ctx, cbx__as(ctx, data, CBX_U32), CBX_U64);
    return as_keys(ctx, cbx__apply2(ctx, CBX_PRIM_THREEFRY, word, data));
}

cbx_array *cbx_random_fold_in_array(cbx_ctx *ctx, const cbx_array *key, const cbx_array *data)
{
    return cbx__tidied(ctx, fold_in_steps(ctx, key, data));
}

cbx_array *cbx_random_fold_in(cbx_ctx *ctx, const cbx_array *key, uint32_t number)
{
    return cbx__tidied(ctx, fold_in_steps(ctx, key, cbx_full(ctx, 0, NULL, CBX_I64, cbx_int(number))));
}

static cbx_array *bits_of(cbx_ctx *ctx, const char *name, const cbx_array *key, int ndim, const size_t *shape,
                          cbx_dtype dtype)
{
    size_t mark = cbx__mark(ctx);
    cbx_array *w = words(ctx, name, key, ndim, shape);

    if (dtype == CBX_U64) return cbx__tidy(ctx, mark, w);
    return cbx__tidy(ctx, mark, cbx__as(ctx, cbx_bitwise_xor(ctx, shift_right(ctx, w, 32), w), dtype));
}

cbx_array *cbx_random_bits(cbx_ctx *ctx, const cbx_array *key, int ndim, const size_t *shape, cbx_dtype dtype)
{
    if (!cbx_dtype_is_unsigned(dtype))
        return cbx__refuse(ctx, CBX_EDTYPE, "'random_bits' returns uint8, uint16, uint32 or uint64, not %s",
                           cbx_dtype_name(dtype));
    return bits_of(ctx, "random_bits", key, ndim, shape, dtype);
}

static bool is_real(cbx_ctx *ctx, const char *name, cbx_dtype dtype)
{
    if (dtype == CBX_F32 || dtype == CBX_F64) return true;
    return cbx__refused(ctx, CBX_EDTYPE, "'%s' returns float32 or float64, not %s", name, cbx_dtype_name(dtype));
}

/* fma(m, span, low) with both constants in the dtype: rounded once, as JAX's compiler does it. */
static cbx_array *stretched(cbx_ctx *ctx, const cbx_array *m, double span, double low)
{
    const cbx_array *in[3] = { m, cbx_weak(ctx, m, cbx_float(span)), cbx_weak(ctx, m, cbx_float(low)) };

    if (cbx__unusable(ctx, "fma", 3, in)) return cbx__array_failed();
    for (int i = 1; i < 3; i++) in[i] = cbx__to_shape(ctx, in[i], m->desc.ndim, m->desc.shape);
    return cbx_maximum_scalar(ctx, cbx_apply(ctx, CBX_PRIM_FMA, 3, in, NULL), low);
}

static cbx_array *uniform(cbx_ctx *ctx, const char *name, const cbx_array *key, int ndim, const size_t *shape,
                          cbx_dtype dtype, double low, double high)
{
    size_t mark = cbx__mark(ctx);

    if (!is_real(ctx, name, dtype)) return cbx__array_failed();
    /* The mantissa's bits as a fraction, then stretched. */
    bool single = dtype == CBX_F32;
    double span = single ? (double)((float)high - (float)low) : high - low;
    cbx_array *r = bits_of(ctx, name, key, ndim, shape, single ? CBX_U32 : CBX_U64);

    r = cbx__as(ctx, shift_right(ctx, r, single ? 9 : 12), dtype);
    r = cbx_multiply_scalar(ctx, r, single ? 0x1p-23 : 0x1p-52);
    return cbx__tidy(ctx, mark, low == 0 && span == 1 ? r : stretched(ctx, r, span, low));
}

cbx_array *cbx_random_uniform(cbx_ctx *ctx, const cbx_array *key, int ndim, const size_t *shape, cbx_dtype dtype,
                              double low, double high)
{
    if (!(low <= high) || isinf(low) || isinf(high))
        return cbx__refuse(ctx, CBX_EDOM, "'random_uniform' from %g to %g: the range is empty", low, high);
    return uniform(ctx, "random_uniform", key, ndim, shape, dtype, low, high);
}

static cbx_array *normal_real(cbx_ctx *ctx, const cbx_array *key, int ndim, const size_t *shape, cbx_dtype dtype)
{
    double low = dtype == CBX_F32 ? (double)nextafterf(-1.0f, 0.0f) : nextafter(-1.0, 0.0);
    cbx_array *u = uniform(ctx, "random_normal", key, ndim, shape, dtype, low, 1.0);
    return cbx_multiply_scalar(ctx, cbx_erfinv(ctx, u), M_SQRT2);
}

cbx_array *cbx_random_normal(cbx_ctx *ctx, const cbx_array *key, int ndim, const size_t *shape, cbx_dtype dtype)
{
    size_t mark = cbx__mark(ctx);
    cbx_dtype part = dtype == CBX_C64 ? CBX_F32 : CBX_F64;
    cbx_array *keys, *re, *im;

    if (dtype != CBX_C64 && dtype != CBX_C128) return cbx__tidy(ctx, mark, normal_real(ctx, key, ndim, shape, dtype));
    keys = cbx_random_split(ctx, key, 2);
    re = normal_real(ctx, cbx_index(ctx, keys, 0, 0), ndim, shape, part);
    im = normal_real(ctx, cbx_index(ctx, keys, 0, 1), ndim, shape, part);
    return cbx__tidy(
        ctx, mark,
        cbx__apply2(ctx, CBX_PRIM_COMPLEX, cbx_divide_scalar(ctx, re, M_SQRT2), cbx_divide_scalar(ctx, im, M_SQRT2)));
}

cbx_array *cbx_random_exponential(cbx_ctx *ctx, const cbx_array *key, int ndim, const size_t *shape, cbx_dtype dtype)
{
    size_t mark = cbx__mark(ctx);
    cbx_array *u = uniform(ctx, "random_exponential", key, ndim, shape, dtype, 0.0, 1.0);
    return cbx__tidy(ctx, mark, cbx_negative(ctx, cbx_log1p(ctx, cbx_negative(ctx, u))));
}

static cbx_array *gumbel_steps(cbx_ctx *ctx, const char *name, const cbx_array *key, int ndim, const size_t *shape,
                               cbx_dtype dtype)
{
    cbx_array *u = uniform(ctx, name, key, ndim, shape, dtype, dtype == CBX_F32 ? (double)FLT_MIN : DBL_MIN, 1.0);
    return cbx_negative(ctx, cbx_log(ctx, cbx_negative(ctx, cbx_log(ctx, u))));
}

cbx_array *cbx_random_gumbel(cbx_ctx *ctx, const cbx_array *key, int ndim, const size_t *shape, cbx_dtype dtype)
{
    return cbx__tidied(ctx, gumbel_steps(ctx, "random_gumbel", key, ndim, shape, dtype));
}

cbx_array *cbx_random_gamma(cbx_ctx *ctx, const cbx_array *key, const cbx_array *alpha, int ndim, const size_t *shape,
                            cbx_dtype dtype)
{
    size_t mark = cbx__mark(ctx);
    const cbx_array *in[2];

    if (cbx__unusable(ctx, "random_gamma", 1, &alpha) || !is_real(ctx, "random_gamma", dtype))
        return cbx__array_failed();
    in[0] = words(ctx, "random_gamma", key, ndim, shape);
    in[1] = cbx_broadcast_to(ctx, cbx__as(ctx, alpha, dtype), ndim, shape);
    return cbx__tidy(ctx, mark, cbx_apply(ctx, CBX_PRIM_RANDOM_GAMMA, 2, in, NULL));
}

/*
 * False, with the reason recorded, if a condition is seen not to hold for all elements; abstract
 * ones are not read.
 */
static bool holds(cbx_ctx *ctx, const cbx_array *x, const cbx_array *condition, const char *words)
{
    const cbx_array *all = cbx_all(ctx, condition, NULL);
    bool is = false;

    if (cbx_array_is_failed(all)) return false;
    if (cbx_array_is_abstract(all) || (!cbx_array_read(all, &is, sizeof is, NULL) && is)) return true;
    return cbx__refused_of(ctx, x, CBX_EDOM, "%s", words);
}
static const cbx_array *is_share(cbx_ctx *ctx, const cbx_array *p)
{
    return cbx_logical_and(ctx, cbx_greater_equal(ctx, p, cbx_weak(ctx, p, cbx_float(0.0))),
                           cbx_less_equal(ctx, p, cbx_weak(ctx, p, cbx_float(1.0))));
}

cbx_array *cbx_random_bernoulli(cbx_ctx *ctx, const cbx_array *key, const cbx_array *p, int ndim, const size_t *shape)
{
    size_t mark = cbx__mark(ctx);
    cbx_dtype t;

    if (cbx__unusable(ctx, "random_bernoulli", 1, &p) || !cbx__given(ctx, "random_bernoulli", "shape", ndim, shape))
        return cbx__array_failed();
    t = cbx__inexact(p->desc.dtype);
    p = cbx__as(ctx, p, t);
    if (!holds(ctx, p, is_share(ctx, p), "'p' of 'random_bernoulli' must be at least 0 and at most 1"))
        return cbx__array_failed();
    p = cbx_broadcast_to(ctx, p, ndim, shape);
    return cbx__tidy(ctx, mark, cbx_less(ctx, uniform(ctx, "random_bernoulli", key, ndim, shape, t, 0.0, 1.0), p));
}

static cbx_array *weak_u64(cbx_ctx *ctx, const cbx_array *x, uint64_t v)
{
    cbx_scalar s = { CBX_U64, { 0 } };

    s.v.u = v;
    return cbx_weak(ctx, x, s);
}

/* (upper 2^bits + lower) mod span, of words with so many bits; span 0 stands for 2^bits. */
static cbx_array *wide_remainder(cbx_ctx *ctx, const cbx_array *upper, const cbx_array *lower, uint64_t span, int bits)
{
    uint64_t root = (uint64_t)1 << bits / 2, by;
    cbx_array *r;

    if (span == 0) return (cbx_array *)(uintptr_t)lower;
    by = root % span;
    by = by * by; /* modulo the word */
    by = (bits == 32 ? (uint32_t)by : by) % span;
    r = cbx_multiply(ctx, cbx_remainder(ctx, upper, weak_u64(ctx, upper, span)), weak_u64(ctx, upper, by));
    r = cbx_add(ctx, r, cbx_remainder(ctx, lower, weak_u64(ctx, lower, span)));
    return cbx_remainder(ctx, r, weak_u64(ctx, r, span));
}

cbx_array *cbx_random_randint(cbx_ctx *ctx, const cbx_array *key, int ndim, const size_t *shape, int64_t low,
                              int64_t high, cbx_dtype dtype)
{
    size_t mark = cbx__mark(ctx);
    int64_t ends[2] = { low, high - (high > INT64_MIN) };

    if (cbx_dtype_kind(dtype) != CBX_KIND_INT)
        return cbx__refuse(ctx, CBX_EDTYPE, "'random_randint' returns integers, not %s", cbx_dtype_name(dtype));
    for (int i = 0; i < 2; i++)
        if (low >= high || !cbx__fits(dtype, cbx_int(ends[i])))
            return cbx__refuse(ctx, CBX_EDOM, "'random_randint' of %s from %lld to %lld: the range is empty",
                               cbx_dtype_name(dtype), (long long)low, (long long)high);
    cbx_dtype word = cbx_dtype_size(dtype) == 8 ? CBX_U64 : CBX_U32;
    int bits = word == CBX_U64 ? 64 : 32;
    cbx_array *keys = cbx_random_split(ctx, key, 2), *half[2], *r;
    uint64_t span = (uint64_t)high - (uint64_t)low;

    for (int i = 0; i < 2; i++) half[i] = bits_of(ctx, "random_randint", cbx_index(ctx, keys, 0, i), ndim, shape, word);
    r = wide_remainder(ctx, half[0], half[1], bits == 32 ? (uint32_t)span : span, bits);
    r = cbx__as(ctx, r, CBX_U64);
    r = cbx_add(ctx, r, weak_u64(ctx, r, (uint64_t)low));
    return cbx__tidy(ctx, mark, cbx__as(ctx, r, dtype));
}

/*
 * Sorting by random words leaves equal words in order: enough rounds make that rarer than 1 in n.
 */
static cbx_array *permutation_steps(cbx_ctx *ctx, const cbx_array *key, size_t n)
{
    int rounds = (int)ceil(3.0 * log(n > 1 ? (double)n : 1.0) / log(4294967295.0));
    cbx_array *order = cbx_arange_int(ctx, 0, (int64_t)n, 1, CBX_I64), *keys, *by;

    if (cbx__unusable(ctx, "random_permutation", 1, &key)) return cbx__array_failed();
    if (rounds == 0 && cbx_array_is_failed(key_word(ctx, "random_permutation", key))) return cbx__array_failed();
    for (; rounds > 0; rounds--) {
        keys = cbx_random_split(ctx, key, 2);
        key = cbx_index(ctx, keys, 0, 0);
        by = bits_of(ctx, "random_permutation", cbx_index(ctx, keys, 0, 1), 1, &n, CBX_U32);
        order = cbx_take(ctx, order, cbx_argsort(ctx, by, 0, false), 0);
    }
    return order;
}

cbx_array *cbx_random_permutation(cbx_ctx *ctx, const cbx_array *key, size_t n)
{
    return cbx__tidied(ctx, permutation_steps(ctx, key, n));
}

cbx_array *cbx_random_permute(cbx_ctx *ctx, const cbx_array *key, const cbx_array *x, int axis)
{
    size_t mark = cbx__mark(ctx);
    if (cbx__unusable(ctx, "random_permute", 1, &x) || !cbx__axis(ctx, "random_permute", axis, x->desc.ndim, &axis))
        return cbx__array_failed();
    return cbx__tidy(ctx, mark, cbx_take(ctx, x, permutation_steps(ctx, key, x->desc.shape[axis]), axis));
}

cbx_array *cbx_random_categorical(cbx_ctx *ctx, const cbx_array *key, const cbx_array *logits, int axis, int ndim,
                                  const size_t *shape)
{
    size_t mark = cbx__mark(ctx);
    size_t full[CBX_MAX_RANK];
    cbx_array *noise;
    int rank;

    if (cbx__unusable(ctx, "random_categorical", 1, &logits) ||
        !cbx__axis(ctx, "random_categorical", axis, logits->desc.ndim, &axis))
        return cbx__array_failed();
    rank = ndim + logits->desc.ndim;
    if (ndim < 0 || rank > CBX_MAX_RANK)
        return cbx__refuse(ctx, CBX_EINVAL, "'random_categorical' of %d and %d axes: the most is %d", ndim,
                           logits->desc.ndim, CBX_MAX_RANK);
    if (!cbx__given(ctx, "random_categorical", "shape", ndim, shape)) return cbx__array_failed();
    if (logits->desc.shape[axis] == 0)
        return cbx__refuse_of(ctx, logits, CBX_ESHAPE, "'random_categorical' needs at least one category");
    if (ndim) memcpy(full, shape, (size_t)ndim * sizeof *shape);
    memcpy(full + ndim, logits->desc.shape, (size_t)logits->desc.ndim * sizeof *full);
    logits = cbx__as(ctx, logits, cbx__inexact(logits->desc.dtype));
    if (!holds(ctx, logits, cbx_logical_not(ctx, cbx_isnan(ctx, logits)),
               "'logits' of 'random_categorical' must not be NaN"))
        return cbx__array_failed();
    noise = gumbel_steps(ctx, "random_categorical", key, rank, full, cbx_array_dtype(logits));
    return cbx__tidy(ctx, mark, cbx_argmax(ctx, cbx_add(ctx, noise, logits), CBX_AXIS(ndim + axis)));
}

/*
 * Places drawn: of equal weight, or where the running sum of p passes a uniform number; without
 * replacement the first ones of a random order, or of p's logarithms with Gumbel noise. */
static cbx_array *chosen(cbx_ctx *ctx, const cbx_array *key, size_t n, int ndim, const size_t *shape, size_t draws,
                         bool replace, const cbx_array *p)
{
    cbx_array *sums, *u, *r;

    if (!p && replace) return cbx_random_randint(ctx, key, ndim, shape, 0, (int64_t)n, CBX_I64);
    if (p) p = cbx__as(ctx, p, cbx__inexact(p->desc.dtype));
    if (p && !holds(ctx, p, cbx_greater_equal(ctx, p, cbx_weak(ctx, p, cbx_float(0.0))),
                    "'p' of 'random_choice' must be at least 0"))
        return cbx__array_failed();
    if (replace) {
        sums = cbx_cumulative_sum(ctx, p, 0);
        u = uniform(ctx, "random_choice", key, ndim, shape, p->desc.dtype, 0.0, 1.0);
        u = cbx_subtract(ctx, cbx_weak(ctx, u, cbx_float(1.0)), u);
        return cbx_searchsorted(ctx, sums, cbx_multiply(ctx, cbx_index(ctx, sums, 0, -1), u), false);
    }
    if (p) {
        r = gumbel_steps(ctx, "random_choice", key, 1, &n, p->desc.dtype);
        r = cbx_argsort(ctx, cbx_negative(ctx, cbx_add(ctx, r, cbx_log(ctx, p))), 0, false);
    } else {
        r = permutation_steps(ctx, key, n);
    }
    return cbx__reshaped(ctx, cbx_slice(ctx, r, 0, 0, (ptrdiff_t)draws, 1), ndim, shape);
}

cbx_array *cbx_random_choice(cbx_ctx *ctx, const cbx_array *key, const cbx_array *x, int axis, int ndim,
                             const size_t *shape, bool replace, const cbx_array *p)
{
    size_t mark = cbx__mark(ctx);
    const cbx_array *in[3] = { key, x, p };
    cbx_array_desc d = { .dtype = CBX_I64, .ndim = ndim };
    size_t n, draws;

    if (cbx__unusable(ctx, "random_choice", p ? 3 : 2, in) || !cbx__given(ctx, "random_choice", "shape", ndim, shape) ||
        !cbx__axis(ctx, "random_choice", axis, x->desc.ndim, &axis))
        return cbx__array_failed();
    if (ndim > 0 && ndim <= CBX_MAX_RANK) memcpy(d.shape, shape, (size_t)ndim * sizeof *shape);
    if (cbx_array_desc_count(&d, &draws, cbx__sticky(ctx))) return cbx__array_failed();
    n = x->desc.shape[axis];
    if (p && (p->desc.ndim != 1 || p->desc.shape[0] != n))
        return cbx__refuse(ctx, CBX_ESHAPE, "'random_choice' of %zu places needs as many probabilities on one axis", n);
    if (draws > n && (!replace || n == 0))
        return cbx__refuse(ctx, CBX_EINVAL, "'random_choice' cannot draw %zu of %zu without replacement", draws, n);
    if (draws == 0) return cbx__tidy(ctx, mark, cbx_take(ctx, x, cbx_zeros(ctx, ndim, shape, CBX_I64), axis));
    return cbx__tidy(ctx, mark, cbx_take(ctx, x, chosen(ctx, key, n, ndim, shape, draws, replace, p), axis));
}
