/* Threefry-2x32-20 and what is drawn from it. */
#include "calibrax/base/rng.h"

#include <math.h>

#include "calibrax/base/threefry.h"

#define TWO_PI 6.283185307179586476925286766559

void cbx_threefry2x32(const uint32_t key[2], const uint32_t counter[2], uint32_t out[2])
{
    const uint64_t word = cbx__threefry((uint64_t)key[0] << 32 | key[1], (uint64_t)counter[0] << 32 | counter[1]);

    out[0] = (uint32_t)(word >> 32);
    out[1] = (uint32_t)word;
}

/* The key is the block of the stream's number under the seed: a bijection, so no two streams of a
 * seed share a key. */
cbx_rng cbx_rng_make(uint64_t seed, uint64_t stream)
{
    const uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    const uint32_t counter[2] = { (uint32_t)stream, (uint32_t)(stream >> 32) };
    cbx_rng rng = { { 0, 0 }, 0 };
    cbx_threefry2x32(key, counter, rng.key);
    return rng;
}

uint64_t cbx_rng_u64(cbx_rng *rng)
{
    const uint32_t counter[2] = { (uint32_t)rng->counter, (uint32_t)(rng->counter >> 32) };
    uint32_t word[2];
    cbx_threefry2x32(rng->key, counter, word);
    rng->counter++;
    return (uint64_t)word[1] << 32 | word[0];
}

double cbx_rng_uniform(cbx_rng *rng) { return (double)(cbx_rng_u64(rng) >> 11) * 0x1p-53; }

/* Source: Lemire, "Fast random integer generation in an interval", ACM TOMACS 29 (2019) 3,
 * algorithm 5. */
uint64_t cbx_rng_below(cbx_rng *rng, uint64_t n)
{
    unsigned __int128 product = (unsigned __int128)cbx_rng_u64(rng) * n;
    if ((uint64_t)product < n) {
        uint64_t reject = -n % n;
        while ((uint64_t)product < reject) product = (unsigned __int128)cbx_rng_u64(rng) * n;
    }
    return (uint64_t)(product >> 64);
}

double cbx_rng_normal(cbx_rng *rng)
{
    double u = 1.0 - cbx_rng_uniform(rng); /* (0, 1]: the logarithm is finite */
    double angle = TWO_PI * cbx_rng_uniform(rng);
    return sqrt(-2.0 * log(u)) * cos(angle);
}

void cbx_rng_permutation(cbx_rng *rng, size_t n, size_t *out)
{
    for (size_t i = 0; i < n; i++) {
        size_t j = cbx_rng_below(rng, i + 1);
        if (j != i) out[i] = out[j];
        out[j] = i;
    }
}
