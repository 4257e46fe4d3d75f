/*
 * The loops of the machine probe: one body, compiled once per instruction set (CBX__PROBE_TABLE
 * names the table it defines).
 *
 * A pipe loop keeps VEC_CHAINS accumulators in registers, each waiting only for itself: enough to
 * cover latency times ports (4 cycles by 4 ports at most) where there are 32 registers, and 12
 * where there are 16.  Operands that a real kernel would have loaded are made unknown before each
 * operation, so that sums of constants are really made each time.
 * A bandwidth loop moves four vectors a turn, no arithmetic but the triad's.
 */
#include "calibrax/core/probe_internal.h"

#include "calibrax/core/probe_vec.h"

/* clang-format off */
#define CHAINS_6(X, keep, step) \
    X(0, keep, step) X(1, keep, step) X(2, keep, step) X(3, keep, step) X(4, keep, step) X(5, keep, step)
#define CHAINS_12(X, keep, step) CHAINS_6(X, keep, step) X(6, keep, step) X(7, keep, step) X(8, keep, step) \
    X(9, keep, step) X(10, keep, step) X(11, keep, step)
#define CHAINS_20(X, keep, step) CHAINS_12(X, keep, step) X(12, keep, step) X(13, keep, step) X(14, keep, step) X(15, keep, step) \
    X(16, keep, step) X(17, keep, step) X(18, keep, step) X(19, keep, step)
/* clang-format on */

#if VEC_CHAINS == 20
#define CHAINS CHAINS_20
#else
#define CHAINS CHAINS_12
#endif

#define DECLARE(i, keep, step) c##i = zero,
#define SINK(i, keep, step)    keep(c##i);
#define TURN(i, keep, step)                                                                                            \
    keep(a);                                                                                                           \
    keep(c##i);                                                                                                        \
    c##i = step(a, b, c##i);

/* A function whose one loop applies step to every chain. */
#define PIPE_LOOP(name, vec, set, keep, step)                                                                          \
    static void name(uint64_t rounds)                                                                                  \
    {                                                                                                                  \
        vec zero = set(0), a = set(1), b = set(2);                                                                     \
        vec CHAINS(DECLARE, keep, step) last = zero;                                                                   \
        keep(b);                                                                                                       \
        for (uint64_t r = 0; r < rounds; r++) {                                                                        \
            CHAINS(TURN, keep, step)                                                                                   \
        }                                                                                                              \
        CHAINS(SINK, keep, step)                                                                                       \
        keep(last);                                                                                                    \
    }

#define ADD_F32(a, b, c)     VF_ADD(c, a)
#define ADD_F64(a, b, c)     VD_ADD(c, a)
#define MAX_F32(a, b, c)     VF_MAX(c, a)
#define MAX_F64(a, b, c)     VD_MAX(c, a)
#define ADD_MAX_F32(a, b, c) VF_MAX(c, VF_ADD(a, b))
#define ADD_MAX_F64(a, b, c) VD_MAX(c, VD_ADD(a, b))
#define FMA_MAX_F32(a, b, c) VF_MAX(c, VF_FMA(a, b, b))
#define FMA_MAX_F64(a, b, c) VD_MAX(c, VD_FMA(a, b, b))

static inline vf sub_fma_step_f32(vf a, vf b, vf c)
{
    vf d = VF_SUB(a, b);
    return VF_FMA(d, d, c);
}

static inline vd sub_fma_step_f64(vd a, vd b, vd c)
{
    vd d = VD_SUB(a, b);
    return VD_FMA(d, d, c);
}

PIPE_LOOP(fma_f32, vf, VF_SET, KEEP, VF_FMA)
PIPE_LOOP(fma_f64, vd, VD_SET, KEEP, VD_FMA)
PIPE_LOOP(add_f32, vf, VF_SET, KEEP, ADD_F32)
PIPE_LOOP(add_f64, vd, VD_SET, KEEP, ADD_F64)
PIPE_LOOP(max_f32, vf, VF_SET, KEEP, MAX_F32)
PIPE_LOOP(max_f64, vd, VD_SET, KEEP, MAX_F64)
PIPE_LOOP(add_max_f32, vf, VF_SET, KEEP, ADD_MAX_F32)
PIPE_LOOP(add_max_f64, vd, VD_SET, KEEP, ADD_MAX_F64)
PIPE_LOOP(sub_fma_f32, vf, VF_SET, KEEP, sub_fma_step_f32)
PIPE_LOOP(sub_fma_f64, vd, VD_SET, KEEP, sub_fma_step_f64)
PIPE_LOOP(fma_max_f32, vf, VF_SET, KEEP, FMA_MAX_F32)
PIPE_LOOP(fma_max_f64, vd, VD_SET, KEEP, FMA_MAX_F64)
PIPE_LOOP(and_or, vi, VI_SET, KEEP_BITS, VI_AND_OR)

#define INT_ADD_32(a, b, c) VI_ADD_32(c, a)
#define INT_ADD_64(a, b, c) VI_ADD_64(c, a)
#define INT_MUL_32(a, b, c) VI_MUL_32(c, a)
#define INT_MUL_64(a, b, c) VI_MUL_64(c, a)
PIPE_LOOP(int_add_32, vi, VI_SET, KEEP_BITS, INT_ADD_32)
PIPE_LOOP(int_add_64, vi, VI_SET, KEEP_BITS, INT_ADD_64)
PIPE_LOOP(int_mul_32, vi, VI_SET, KEEP_BITS, INT_MUL_32)
PIPE_LOOP(int_mul_64, vi, VI_SET, KEEP_BITS, INT_MUL_64)

#define LANES        (VEC_BYTES / sizeof(double))
#define TURN_DOUBLES (4 * LANES)
_Static_assert(CBX__PROBE_STEP % TURN_DOUBLES == 0, "a working set is an integer number of turns");

static void read_all(const double *b, size_t n, size_t passes)
{
    for (size_t p = 0; p < passes; p++)
        for (size_t i = 0; i < n; i += TURN_DOUBLES) {
            vd v0 = VD_LOAD(b + i), v1 = VD_LOAD(b + i + LANES);
            vd v2 = VD_LOAD(b + i + 2 * LANES), v3 = VD_LOAD(b + i + 3 * LANES);
            KEEP(v0);
            KEEP(v1);
            KEEP(v2);
            KEEP(v3);
        }
}

static void copy_all(double *a, const double *b, size_t n, size_t passes)
{
    for (size_t p = 0; p < passes; p++)
        for (size_t i = 0; i < n; i += TURN_DOUBLES)
            for (size_t k = 0; k < TURN_DOUBLES; k += LANES) {
                vd v = VD_LOAD(b + i + k);
                KEEP(v); /* or it would become a call of memcpy, which chooses its own stores */
                VD_STORE(a + i + k, v);
            }
}

#define TRIAD(name, store)                                                                                             \
    static void name(double *a, const double *b, const double *c, size_t n, size_t passes)                             \
    {                                                                                                                  \
        vd s = VD_SET(3);                                                                                              \
        for (size_t p = 0; p < passes; p++)                                                                            \
            for (size_t i = 0; i < n; i += TURN_DOUBLES)                                                               \
                for (size_t k = 0; k < TURN_DOUBLES; k += LANES) {                                                     \
                    vd v = VD_FMA(s, VD_LOAD(c + i + k), VD_LOAD(b + i + k));                                          \
                    KEEP(v);                                                                                           \
                    store(a + i + k, v);                                                                               \
                }                                                                                                      \
        VEC_FENCE();                                                                                                   \
    }
TRIAD(triad, VD_STORE)
TRIAD(triad_stream, VD_STREAM)

#ifdef VEC_FLUSH
static void flush_lines(const void *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 64) VEC_FLUSH((const char *)p + i);
    VEC_FENCE();
}
#else
#define flush_lines NULL
#endif

const cbx__probe_loops CBX__PROBE_TABLE = {
    .name = VEC_NAME,
    .pipe = {
        [CBX_PIPE_FMA] = { fma_f32, fma_f64 },
        [CBX_PIPE_ADD] = { add_f32, add_f64 },
        [CBX_PIPE_MAX] = { max_f32, max_f64 },
        [CBX_PIPE_ADD_MAX] = { add_max_f32, add_max_f64 },
        [CBX_PIPE_SUB_FMA] = { sub_fma_f32, sub_fma_f64 },
        [CBX_PIPE_FMA_MAX] = { fma_max_f32, fma_max_f64 },
        [CBX_PIPE_AND_OR] = { and_or, and_or },
        [CBX_PIPE_INT_ADD] = { int_add_32, int_add_64 },
        [CBX_PIPE_INT_MUL] = { int_mul_32, int_mul_64 },
    },
    .ops_per_round = { VEC_CHAINS * (VEC_BYTES / 4.0), VEC_CHAINS * (VEC_BYTES / 8.0) },
    .read = read_all,
    .copy = copy_all,
    .triad = triad,
    .triad_stream = triad_stream,
    .flush = flush_lines,
};
