/*
 * Inside the library: the hash Threefry-2x32-20, inline, so that loops of it become vectors.
 *
 * Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
 * section 3.3: four rounds of (add, rotate, xor), then a key word and the round count are added; 20
 * rounds.
 */
#ifndef CALIBRAX_BASE_THREEFRY_H
#define CALIBRAX_BASE_THREEFRY_H

#include <stdint.h>

/* The first 32-bit words of key, counter and result are the upper halves. */
static inline __attribute__((always_inline)) uint64_t cbx__threefry(uint64_t key, uint64_t counter)
{
    const uint32_t parity = 0x1BD11BDAu; /* of the Skein hash's key schedule, 32-bit words */
    const uint32_t k0 = (uint32_t)(key >> 32), k1 = (uint32_t)key, k2 = k0 ^ k1 ^ parity;
    uint32_t x0 = (uint32_t)(counter >> 32) + k0, x1 = (uint32_t)counter + k1;

#define CBX__ROUND(n) x0 += x1, x1 = (x1 << (n) | x1 >> (32 - (n))) ^ x0
#define CBX__ROUNDS(a, b, c, d, key_0, key_1, count)                                                                   \
    CBX__ROUND(a), CBX__ROUND(b), CBX__ROUND(c), CBX__ROUND(d), x0 += (key_0), x1 += (key_1) + (count)
    CBX__ROUNDS(13, 15, 26, 6, k1, k2, 1u);
    CBX__ROUNDS(17, 29, 16, 24, k2, k0, 2u);
    CBX__ROUNDS(13, 15, 26, 6, k0, k1, 3u);
    CBX__ROUNDS(17, 29, 16, 24, k1, k2, 4u);
    CBX__ROUNDS(13, 15, 26, 6, k2, k0, 5u);
#undef CBX__ROUND
#undef CBX__ROUNDS
    return (uint64_t)x0 << 32 | x1;
}

#endif
