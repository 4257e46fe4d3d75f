/**
 * Counter-based random streams: threefry2x32, 20 rounds.
 * Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011; known
 * answers from Random123.
 *
 * A stream is a key and a counter: the same (seed, stream) gives the same numbers on every machine,
 * streams are independent, and element i can be had without the ones before it.
 */
#ifndef CALIBRAX_BASE_RNG_H
#define CALIBRAX_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

#include "calibrax/base/api.h"

CBX_BEGIN_DECLS

/** One block: two 32-bit words from key and counter. */
CBX_API void cbx_threefry2x32(const uint32_t key[2], const uint32_t counter[2], uint32_t out[2]);

typedef struct cbx_rng {
    uint32_t key[2];
    uint64_t counter;
} cbx_rng;

/** @param stream  streams of one seed are independent of each other */
CBX_API cbx_rng cbx_rng_make(uint64_t seed, uint64_t stream);
CBX_API uint64_t cbx_rng_u64(cbx_rng *rng);
/** Uniform in [0, 1), 53 bits. */
CBX_API double cbx_rng_uniform(cbx_rng *rng);
/** Uniform in 0..n-1 without bias, n >= 1. */
CBX_API uint64_t cbx_rng_below(cbx_rng *rng, uint64_t n);
/** Standard normal (Box-Muller, two blocks a draw, no state kept between draws). */
CBX_API double cbx_rng_normal(cbx_rng *rng);
/** Fisher-Yates permutation of 0..n-1. */
CBX_API void cbx_rng_permutation(cbx_rng *rng, size_t n, size_t *out);

CBX_END_DECLS
#endif
