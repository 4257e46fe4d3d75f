/**
 * Random arrays by explicit key: no state, no global seed.  The same key gives the same numbers on
 * every machine and backend, for any order or number of threads; different keys give independent
 * ones.
 *
 *     cbx_array *key = cbx_random_key(ctx, 7), *keys = cbx_random_split(ctx, key, 2);
 *     x = cbx_random_normal(ctx, cbx_index(ctx, keys, 0, 0), 2, (const size_t[]){ 3, 4 }, CBX_F64);
 *     y = cbx_random_uniform(ctx, cbx_index(ctx, keys, 0, 1), 0, NULL, CBX_F64, 0, 1);
 *
 * The hash is threefry2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw, SC 2011).  A key is uint32
 * (2,).  Element i (row-major) of an array hashes the counter (upper, lower 32 bits of i); its two
 * words (a, b) are the 64 bits a 2^32 + b, or the 32 bits a xor b, of which fewer are the lower
 * ones.  That is the layout of jax.random in JAX 0.10 (its default, jax_threefry_partitionable):
 * bits, split, fold_in, randint, permutation and uniform numbers in [0, 1) are JAX's to the bit,
 * the others within rounding.
 *
 * Rules of all: as ops.h.  shape has ndim extents (ndim 0: NULL, a scalar).  A key of another dtype
 * or shape is CBX_EDTYPE or CBX_ESHAPE.  dtype of real draws is float32 or float64, else
 * CBX_EDTYPE.  Scratch: at most 48 bytes an element, integers 92.  Keys may be abstract: everything
 * here can be traced.  Since 0.1.
 */
#ifndef CALIBRAX_ARRAY_RANDOM_H
#define CALIBRAX_ARRAY_RANDOM_H

#include "calibrax/array/ops.h"

CBX_BEGIN_DECLS

/** The key (upper, lower 32 bits of seed). */
CBX_API cbx_array *cbx_random_key(cbx_ctx *ctx, uint64_t seed);
/** n independent keys, uint32 (n, 2): row i is the hash of counter i. */
CBX_API cbx_array *cbx_random_split(cbx_ctx *ctx, const cbx_array *key, size_t n);
/** The key for a number, as of a step or a sample; data of rank 0, whole, taken modulo 2^32. */
CBX_API cbx_array *cbx_random_fold_in(cbx_ctx *ctx, const cbx_array *key, uint32_t number);
CBX_API cbx_array *cbx_random_fold_in_array(cbx_ctx *ctx, const cbx_array *key, const cbx_array *data);

/** dtype: uint8, uint16, uint32 or uint64, else CBX_EDTYPE. */
CBX_API cbx_array *cbx_random_bits(cbx_ctx *ctx, const cbx_array *key, int ndim, const size_t *shape, cbx_dtype dtype);
/**
 * max(low, (high - low) m + low) in dtype, m a multiple of 2^-23 (float32) or 2^-52 (float64) in
 * [0, 1).  Rounding may reach high.  CBX_EDOM unless low <= high, both finite.
 */
CBX_API cbx_array *cbx_random_uniform(cbx_ctx *ctx, const cbx_array *key, int ndim, const size_t *shape,
                                      cbx_dtype dtype, double low, double high);
/**
 * sqrt(2) erfinv(u), u uniform in (-1, 1): mean 0, variance 1.  The largest is 5.42 in float32,
 * 8.21 in float64.  complex64 and complex128, too: variance 1/2 in each part.
 */
CBX_API cbx_array *cbx_random_normal(cbx_ctx *ctx, const cbx_array *key, int ndim, const size_t *shape,
                                     cbx_dtype dtype);
/** -log1p(-u): rate 1. */
CBX_API cbx_array *cbx_random_exponential(cbx_ctx *ctx, const cbx_array *key, int ndim, const size_t *shape,
                                          cbx_dtype dtype);
/** -log(-log(u)), u >= the smallest normal number. */
CBX_API cbx_array *cbx_random_gumbel(cbx_ctx *ctx, const cbx_array *key, int ndim, const size_t *shape,
                                     cbx_dtype dtype);
/**
 * Density x^(alpha-1) e^-x / Gamma(alpha), by rejection (Marsaglia and Tsang 2000), each element
 * with a key of its own.
 * The derivative in alpha moves a number at its probability, dx/dalpha = -(dF/dalpha) / density
 * (implicit reparameterisation: Figurnov, Mohamed, Mnih, NeurIPS 2018), as JAX's; there are 9 of
 * them (JAX has one).
 * @param alpha  broadcasts to shape; 0 gives 0, below 0 or NaN gives NaN
 */
CBX_API cbx_array *cbx_random_gamma(cbx_ctx *ctx, const cbx_array *key, const cbx_array *alpha, int ndim,
                                    const size_t *shape, cbx_dtype dtype);
/** True with probability p, which broadcasts to shape; float64 unless p is float32. */
CBX_API cbx_array *cbx_random_bernoulli(cbx_ctx *ctx, const cbx_array *key, const cbx_array *p, int ndim,
                                        const size_t *shape);
/**
 * Integers low <= i < high: 64 random bits (int64, uint64: 128) modulo high - low.  Relative bias
 * below 2^-47 (2^-95) up to a range of 2^16 (2^32); above that the product wraps, and the bias is
 * up to (high - low) / 2^32 (2^64): draw int64.  CBX_EDOM if low >= high or dtype does not hold
 * both low and high - 1.
 */
CBX_API cbx_array *cbx_random_randint(cbx_ctx *ctx, const cbx_array *key, int ndim, const size_t *shape, int64_t low,
                                      int64_t high, cbx_dtype dtype);
/** 0..n-1 in random order, int64: stable sorts by 32 random bits, ceil(3 log(n) / log(2^32 - 1)) of
 * them. */
CBX_API cbx_array *cbx_random_permutation(cbx_ctx *ctx, const cbx_array *key, size_t n);
/** x with the places along an axis in random order. */
CBX_API cbx_array *cbx_random_permute(cbx_ctx *ctx, const cbx_array *key, const cbx_array *x, int axis);
/**
 * Place along an axis with probability exp(logits) / sum exp(logits): argmax of logits + Gumbel
 * noise; int64.
 * @param ndim, shape  leading axes of the result, before the other axes of logits: that many draws
 *   of each
 */
CBX_API cbx_array *cbx_random_categorical(cbx_ctx *ctx, const cbx_array *key, const cbx_array *logits, int axis,
                                          int ndim, const size_t *shape);
/**
 * Slices of x along an axis, which shape replaces.
 * @param p        probabilities, rank 1, one for each place (their sum divides them); NULL: equal
 * @param replace  false: no place twice; more draws than places are CBX_EINVAL, and as many of p
 *   must not be 0
 */
CBX_API cbx_array *cbx_random_choice(cbx_ctx *ctx, const cbx_array *key, const cbx_array *x, int axis, int ndim,
                                     const size_t *shape, bool replace, const cbx_array *p);

CBX_END_DECLS
#endif
