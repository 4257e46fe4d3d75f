/*
 * Threefry-2x32-20 and what is drawn from it.
 *
 * Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3:
 * four rounds of (add, rotate, xor), then a key word and the round count are added; 20 rounds.
 */
#include "calibrax/base/rng.h"

#include <math.h>

#define PARITY 0x1BD11BDAu /* of the Skein hash's key schedule, 32-bit words */
#define TWO_PI 6.283185307179586476925286766559

static uint32_t rotate_left(uint32_t x, unsigned n) { return x << n | x >> (32 - n); }

void cbx_threefry2x32(const uint32_t key[2], const uint32_t counter[2], uint32_t out[2])
{
    static const unsigned rotations[8] = { 13, 15, 26, 6, 17, 29, 16, 24 };
    const uint32_t ks[3] = { key[0], key[1], key[0] ^ key[1] ^ PARITY };
    uint32_t x0 = counter[0] + ks[0], x1 = counter[1] + ks[1];
#pragma GCC unroll 20 /* so that each rotation is by a constant */
    for (unsigned round = 0; round < 20; round++) {
        x0 += x1;
        x1 = rotate_left(x1, rotations[round % 8]) ^ x0;
        if (round % 4 == 3) {
            unsigned injection = round / 4 + 1;
            x0 += ks[injection % 3];
            x1 += ks[(injection + 1) % 3] + injection;
        }
    }
    out[0] = x0;
    out[1] = x1;
}

/* The key is the block of the stream's number under the seed: a bijection, so no two streams of a seed share a key. */
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

/* Source: Lemire, "Fast random integer generation in an interval", ACM TOMACS 29 (2019) 3, algorithm 5. */
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
