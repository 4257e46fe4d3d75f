/* Index streams and gathered sums: the two loops that a bootstrap of a mean consists of.
 *
 * The workload is 10^4 resamples of 10^3 values: 10^7 draws.  Sixteen blocks run side by side,
 * which one 512-bit, two 256-bit or four 128-bit registers hold. */
#include "calibrax/statistics/resample.h"

#include "calibrax/base/cpu.h"

#define HALF   16
#define PARITY 0x1BD11BDAu
#define LANES  8

#if defined(__clang__)
#define AVX512 "avx512f,avx512vl,avx512dq,avx512bw"
#else
#define AVX512 "avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512"
#endif
#if defined(__x86_64__)
#define FOR_EACH_SET(X) X(avx512, AVX512) X(avx2, "avx2")
#endif

size_t cbx__draws_capacity(size_t draws) { return (draws + CBX__CHUNK - 1) / CBX__CHUNK * CBX__CHUNK; }

#define ROUND(r)                                                                                                       \
    do {                                                                                                               \
        for (int i = 0; i < HALF; i++) {                                                                               \
            x0[i] += x1[i];                                                                                            \
            x1[i] = (x1[i] << (r) | x1[i] >> (32 - (r))) ^ x0[i];                                                      \
        }                                                                                                              \
    } while (0)
#define INJECT(a, b, n)                                                                                                \
    do {                                                                                                               \
        for (int i = 0; i < HALF; i++) {                                                                               \
            x0[i] += (a);                                                                                              \
            x1[i] += (b) + (n);                                                                                        \
        }                                                                                                              \
    } while (0)

/* Rotations and key schedule of Threefry-2x32; 13 rounds are three groups of four, and one more. */
static inline __attribute__((always_inline)) void draw_body(const uint32_t key[2], uint32_t side, uint32_t n,
                                                            size_t draws, uint32_t *index)
{
    const uint32_t k0 = key[0], k1 = key[1], k2 = key[0] ^ key[1] ^ PARITY;

    for (size_t at = 0, block = 0; at < draws; at += CBX__CHUNK, block += HALF) {
        uint32_t x0[HALF], x1[HALF];
        for (int i = 0; i < HALF; i++) {
            x0[i] = (uint32_t)block + (uint32_t)i + k0;
            x1[i] = side + k1;
        }
        ROUND(13);
        ROUND(15);
        ROUND(26);
        ROUND(6);
        INJECT(k1, k2, 1);
        ROUND(17);
        ROUND(29);
        ROUND(16);
        ROUND(24);
        INJECT(k2, k0, 2);
        ROUND(13);
        ROUND(15);
        ROUND(26);
        ROUND(6);
        INJECT(k0, k1, 3);
        ROUND(17);
        for (int i = 0; i < HALF; i++) {
            index[at + (size_t)i] = (uint32_t)((uint64_t)x0[i] * n >> 32);
            index[at + HALF + (size_t)i] = (uint32_t)((uint64_t)x1[i] * n >> 32);
        }
    }
}

static inline __attribute__((always_inline)) double sum_body(const double *x, const uint32_t *index, size_t draws)
{
    double lane[LANES] = { 0 };
    size_t i = 0;

    for (; i + LANES <= draws; i += LANES)
        for (int k = 0; k < LANES; k++) lane[k] += x[index[i + (size_t)k]];
    for (int k = 0; i < draws; i++, k++) lane[k] += x[index[i]];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

#ifdef FOR_EACH_SET
#define DEFINE(name, set)                                                                                              \
    static __attribute__((target(set))) void draw_##name(const uint32_t key[2], uint32_t side, uint32_t n,             \
                                                         size_t draws, uint32_t *index)                                \
    {                                                                                                                  \
        draw_body(key, side, n, draws, index);                                                                         \
    }
FOR_EACH_SET(DEFINE)
#undef DEFINE
#endif

bool cbx__draw_by(size_t variant, const uint32_t key[2], uint32_t side, uint32_t n, size_t draws, uint32_t *index)
{
    if (variant == 0) {
        draw_body(key, side, n, draws, index);
        return true;
    }
#ifdef FOR_EACH_SET
    if (variant == 1 && cbx_isa_available(CBX_ISA_AVX2)) {
        draw_avx2(key, side, n, draws, index);
        return true;
    }
    if (variant == 2 && cbx_isa_available(CBX_ISA_AVX512)) {
        draw_avx512(key, side, n, draws, index);
        return true;
    }
#endif
    return false;
}

void cbx__draw(const uint32_t key[2], uint32_t side, uint32_t n, size_t draws, uint32_t *index)
{
    cbx__draw_by(cbx_isa_available(CBX_ISA_AVX512) ? 2
                 : cbx_isa_available(CBX_ISA_AVX2) ? 1
                                                   : 0,
                 key, side, n, draws, index);
}

double cbx__gather_sum(const double *x, const uint32_t *index, size_t draws) { return sum_body(x, index, draws); }
