/* The loops of the probe (probe.h): multiply-adds that never leave the registers, by threads and by
 * matrix units, and bytes that move through L2 and memory.  Every loop writes what it made, so that
 * no compiler can leave it out; check_cuda_code.py counts the instructions. */
#include "calibrax/array/cuda/device.h"

#include "calibrax/array/cuda/probe_ops.h"

#define CHAINS CBX__CUDA_CHAINS
#define AHEAD  4 /* loads under way before the first is used */

/* A chain's first number, 1 and random digits: 1 <= v < 2. */
DEVICE uint64_t start_of(int64_t thread, int chain, uint64_t one, uint64_t digits)
{
    return one | (cbx__cuda_mix((uint64_t)thread * CHAINS + (uint64_t)chain) & digits);
}

/* T: what a register holds; of, to: from and to its bits */
#define LOOP(name, T, of, to, multiply_add, one, digits)                                                               \
    KERNEL(cbx_probe_##name, cbx__cuda_loop, CBX__CUDA_BLOCK, 4)                                                       \
    {                                                                                                                  \
        const int64_t thread = BLOCK * CBX__CUDA_BLOCK + THREAD;                                                       \
        const T x = of(a.x), c = of(a.c);                                                                              \
        T v[CHAINS];                                                                                                   \
        uint64_t bits = 0;                                                                                             \
        UNROLL                                                                                                         \
        for (int i = 0; i < CHAINS; i++) v[i] = of(start_of(thread, i, one, digits));                                  \
        NO_UNROLL                                                                                                      \
        for (int64_t r = 0; r < a.rounds; r++) {                                                                       \
            UNROLL                                                                                                     \
            for (int s = 0; s < CBX__CUDA_STEPS; s++) {                                                                \
                UNROLL                                                                                                 \
                for (int i = 0; i < CHAINS; i++) v[i] = multiply_add(v[i], x, c);                                      \
            }                                                                                                          \
        }                                                                                                              \
        UNROLL                                                                                                         \
        for (int i = 0; i < CHAINS; i++) bits ^= to(v[i]);                                                             \
        a.y[thread] = bits;                                                                                            \
    }

#define F32_OF(u) cbx_vm_float_f32((uint32_t)(u))
#define F64_OF(u) cbx_vm_float_f64(u)
#define WORD(u)   ((uint32_t)(u))
LOOP(f64, double, F64_OF, cbx_vm_bits_f64, fma_f64, 0x3ff0000000000000u, 0x000fffffffffffffu)
LOOP(f32, float, F32_OF, cbx_vm_bits_f32, fma_f32, 0x3f800000u, 0x007fffffu)
LOOP(f16, uint32_t, WORD, WORD, fma_f16x2, 0x3c003c00u, 0x03ff03ffu)
LOOP(bf16, uint32_t, WORD, WORD, fma_bf16x2, 0x3f803f80u, 0x007f007fu)

/* A warp's matrix unit: SUMS tiles of C, to each of which A B is added STEPS times a round.  T: of
 * a and b's registers, A_REGS and B_REGS of them; S: of C's four */
#define TILES(name, T, of, A_REGS, B_REGS, S, SUMS, STEPS, add, keep, put)                                             \
    KERNEL(cbx_probe_tile_##name, cbx__cuda_loop, CBX__CUDA_BLOCK, 4)                                                  \
    {                                                                                                                  \
        const int64_t thread = BLOCK * CBX__CUDA_BLOCK + THREAD;                                                       \
        T x[A_REGS], y[B_REGS];                                                                                        \
        S sum[SUMS][4], all = 0;                                                                                       \
        UNROLL                                                                                                         \
        for (int i = 0; i < A_REGS; i++) x[i] = of((cbx__cuda_mix(a.x + (uint64_t)(thread * 16 + i)) & keep) | put);   \
        UNROLL                                                                                                         \
        for (int i = 0; i < B_REGS; i++) y[i] = of((cbx__cuda_mix(a.c + (uint64_t)(thread * 16 + i)) & keep) | put);   \
        UNROLL                                                                                                         \
        for (int i = 0; i < SUMS; i++) {                                                                               \
            UNROLL                                                                                                     \
            for (int j = 0; j < 4; j++) sum[i][j] = (S)i;                                                              \
        }                                                                                                              \
        NO_UNROLL                                                                                                      \
        for (int64_t r = 0; r < a.rounds; r++) {                                                                       \
            UNROLL                                                                                                     \
            for (int s = 0; s < STEPS; s++) {                                                                          \
                UNROLL                                                                                                 \
                for (int i = 0; i < SUMS; i++) add(sum[i], x, y);                                                      \
            }                                                                                                          \
        }                                                                                                              \
        UNROLL                                                                                                         \
        for (int i = 0; i < SUMS; i++) all += sum[i][0] + sum[i][1] + sum[i][2] + sum[i][3];                           \
        a.y[thread] = cbx_vm_bits_f64((double)all);                                                                    \
    }

/* signs and digits are random, exponents are 1's */
TILES(f64, double, F64_OF, 8, 4, double, CBX__CUDA_TILE_SUMS_64, 2 * CBX__CUDA_TILE_STEPS, tile_f64,
      0x800fffffffffffffu, 0x3ff0000000000000u)
TILES(tf32, uint32_t, WORD, 4, 2, float, CBX__CUDA_TILE_SUMS, CBX__CUDA_TILE_STEPS, tile_tf32, 0x807fffffu, 0x3f800000u)
TILES(f16, uint32_t, WORD, 4, 2, float, CBX__CUDA_TILE_SUMS, CBX__CUDA_TILE_STEPS, tile_f16, 0x83ff83ffu, 0x3c003c00u)
TILES(bf16, uint32_t, WORD, 4, 2, float, CBX__CUDA_TILE_SUMS, CBX__CUDA_TILE_STEPS, tile_bf16, 0x807f807fu, 0x3f803f80u)
TILES(i8, uint32_t, WORD, 4, 2, uint32_t, CBX__CUDA_TILE_SUMS, CBX__CUDA_TILE_STEPS, tile_i8, 0xffffffffu, 0u)

/* --- bytes --- */

/* T: 16 bytes; first: of this thread.  `load` makes run u from place `at`, `use` takes what was
 * loaded. */
#define GO_OVER(T, load, use)                                                                                          \
    const int64_t first = BLOCK * CBX__CUDA_BLOCK + THREAD;                                                            \
    NO_UNROLL                                                                                                          \
    for (int64_t pass = 0; pass < a.passes; pass++) {                                                                  \
        int64_t at = first;                                                                                            \
        NO_UNROLL                                                                                                      \
        for (; at + (AHEAD - 1) * a.threads < a.n; at += AHEAD * a.threads) {                                          \
            T got[AHEAD];                                                                                              \
            UNROLL                                                                                                     \
            for (int u = 0; u < AHEAD; u++) got[u] = load(at + u * a.threads);                                         \
            UNROLL                                                                                                     \
            for (int u = 0; u < AHEAD; u++) use(at + u * a.threads, got[u]);                                           \
        }                                                                                                              \
        NO_UNROLL                                                                                                      \
        for (; at < a.n; at += a.threads) {                                                                            \
            const T last = load(at);                                                                                   \
            use(at, last);                                                                                             \
        }                                                                                                              \
    }

#define LOAD(at) LOAD_FAR((const run_u32 *)a.b + (at))

KERNEL(cbx_probe_read, cbx__cuda_traffic, CBX__CUDA_BLOCK, 4)
{
    uint32_t seen = 0;
#define SEE(at, v) seen ^= (v).x ^ (v).y ^ (v).z ^ (v).w
    GO_OVER(run_u32, LOAD, SEE)
    ((uint32_t *)a.a)[first] = seen;
}

KERNEL(cbx_probe_copy, cbx__cuda_traffic, CBX__CUDA_BLOCK, 4){
#define PUT(at, v) ((run_u32 *)a.a)[at] = (v)
    GO_OVER(run_u32, LOAD, PUT)
}

/* a = b + 3 c in double; 0.75 keeps what is written over and over from growing. */
DEVICE run_f64 triad(run_f64 x, run_f64 y)
{
    run_f64 z;
    z.x = fma_f64(0.75, y.x, x.x);
    z.y = fma_f64(0.75, y.y, x.y);
    return z;
}

#define LOAD_BOTH(at) triad(LOAD_FAR((const run_f64 *)a.b + (at)), LOAD_FAR((const run_f64 *)a.c + (at)))

KERNEL(cbx_probe_triad, cbx__cuda_traffic, CBX__CUDA_BLOCK, 4){
#define PUT_SUM(at, v) ((run_f64 *)a.a)[at] = (v)
    GO_OVER(run_f64, LOAD_BOTH, PUT_SUM)
}

KERNEL(cbx_probe_triad_stream, cbx__cuda_traffic, CBX__CUDA_BLOCK, 4){
#define STREAM_SUM(at, v) STORE_STREAM((run_f64 *)a.a + (at), v)
    GO_OVER(run_f64, LOAD_BOTH, STREAM_SUM)
}

KERNEL(cbx_probe_fill, cbx__cuda_fill, CBX__CUDA_BLOCK, 2)
{
    const int64_t i = BLOCK * CBX__CUDA_BLOCK + THREAD;
    if (i < a.words) a.x[i] = ((uint32_t)cbx__cuda_mix((uint64_t)i) & a.keep[i % 2]) | a.put[i % 2];
}
