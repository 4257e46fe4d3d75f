/**
 * The machine probe: what one core of this machine can do, measured.
 *
 * Pipe rates come from register-resident loops of independent vector operations in the widest
 * instruction set the CPU has; bandwidths from read, copy and triad over working sets that fit each
 * cache level and memory, with ordinary and with streaming stores.  About 200 ms in all; cached per
 * machine (fingerprint, build) in the user's cache folder.  These are the roofs that a share of the
 * roofline refers to: each the best of many slices of 0.15 ms that take turns.  Source: Williams,
 * Waterman & Patterson, Commun. ACM 52 (2009) 65-76; Ilic, Pratas & Sousa, IEEE CAL 13 (2014)
 * 21-24.
 */
#ifndef CALIBRAX_CORE_PROBE_H
#define CALIBRAX_CORE_PROBE_H

#include <stdbool.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

/* Pipes, by the operations they pair: one "operation" of ADD_MAX is one add and one max of a
 * lane. */
#define CBX_PIPE_MAP(X)                                                                                                \
    X(FMA, "fma") /* a*b + c             */                                                                            \
    X(ADD, "add")                                                                                                      \
    X(MAX, "max")                                                                                                      \
    X(ADD_MAX, "add+max") /* max(c, a + b)       */                                                                    \
    X(SUB_FMA, "sub+fma") /* c + (a - b)^2       */                                                                    \
    X(FMA_MAX, "fma+max") /* max(c, fma(a, 1, b)) */                                                                   \
    X(AND_OR, "and+or")   /* c | (a & b), a lane is 32 bits in row F32 and 64 bits in row F64; so the next two */      \
    X(INT_ADD, "int add") /* integers */                                                                               \
    X(INT_MUL, "int mul") /* low half of the product; may be several instructions */

typedef enum cbx_pipe {
#define CBX_PIPE_ENUM(name, words) CBX_PIPE_##name,
    CBX_PIPE_MAP(CBX_PIPE_ENUM)
#undef CBX_PIPE_ENUM
        CBX_PIPE_COUNT
} cbx_pipe;

/** "add+max" */
CBX_API const char *cbx_pipe_name(cbx_pipe p);

/* Multiply-adds of types narrower than 32 bits.  type, what makes them */
#define CBX_NARROW_MAP(X)                                                                                              \
    X(F16, "float16", "vectors")      /* sums in float16 */                                                            \
    X(BF16, "bfloat16", "vectors")    /* sums in float32; so in tiles */                                               \
    X(I8, "int8", "vectors")          /* sums in 32 bits; so in tiles */                                               \
    X(BF16_TILE, "bfloat16", "tiles") /* a matrix unit: AMX, or the matrix products of NEON */                         \
    X(I8_TILE, "int8", "tiles")

typedef enum cbx_narrow {
#define CBX_NARROW_ENUM(name, type, unit) CBX_NARROW_##name,
    CBX_NARROW_MAP(CBX_NARROW_ENUM)
#undef CBX_NARROW_ENUM
        CBX_NARROW_COUNT
} cbx_narrow;

/** "bfloat16" and "tiles"; "?" for an invalid number */
CBX_API const char *cbx_narrow_type(cbx_narrow n);
CBX_API const char *cbx_narrow_unit(cbx_narrow n);

typedef struct cbx_narrow_rate {
    double ops_per_s; /* products and sums count one each; 0: not supported */
    char by[32];      /* "vdpbf16ps, 512 bits"; "": not supported */
    char why[64];     /* "this CPU has no AVX512-BF16"; "": it is */
} cbx_narrow_rate;

typedef struct cbx_level_rate {
    char name[8]; /* "L1", "L2", "L3", "memory" */
    size_t bytes; /* size of the level; 0 for memory */
    double read_bytes_per_s;
    double copy_bytes_per_s;         /* bytes read + bytes written, ordinary stores */
    double triad_bytes_per_s;        /* a = b + s*c: 24 useful bytes per element of 8 */
    double triad_stream_bytes_per_s; /* the same with streaming stores */
} cbx_level_rate;

#define CBX_PROBE_MAX_LEVELS 5

typedef struct cbx_probe {
    char instruction_set[16]; /* "avx512", "avx2", "neon", "plain": what the loops used */
    double pipe_ops_per_s[CBX_PIPE_COUNT]
                         /* [pipe][0: f32 or 32 bits, 1: f64 or 64 bits] lane operations per second
                          * of one core */
                         [2];
    cbx_narrow_rate narrow[CBX_NARROW_COUNT];   /* of one core */
    cbx_level_rate level[CBX_PROBE_MAX_LEVELS]; /* nearest first, memory last */
    int nlevels;
    int64_t measured_us; /* when, microseconds since 1970 */
} cbx_probe;

/** Measures now, on the core the caller runs on.  Asks the kernel for AMX where there is such a
 * unit.  Borrows up to 80 MiB (about 16 MiB on x86-64) from the context's pool.
 * @return CBX_OK; CBX_ENOMEM */
CBX_API cbx_status cbx_probe_measure(cbx_ctx *ctx, cbx_probe *out, cbx_err *err);
/**
 * The cached probe of this machine, measured first if it is missing, damaged or of another build.
 * A cache folder that cannot be written is no error: then each call measures.
 * @param machine_id  fingerprint (core/machine.h)
 * @param refresh     measure again
 * @return CBX_OK; CBX_EINVAL (machine_id cannot name a file); CBX_ENOMEM
 */
CBX_API cbx_status cbx_probe_get(cbx_ctx *ctx, const char *machine_id, bool refresh, cbx_probe *out, cbx_err *err);

/**
 * Bandwidth of the core the caller runs on to the memory of a NUMA node, measured now; name is
 * "node N".
 * @return CBX_OK; CBX_EUNAVAILABLE: there is no such node, or the kernel does not bind memory to
 *   it; CBX_ENOMEM
 */
CBX_API cbx_status cbx_probe_measure_node(cbx_ctx *ctx, int node, cbx_level_rate *out, cbx_err *err);

/**
 * Smallest time that work can take on one core: max(ops / pipe rate, bytes / the better of read and
 * copy rate of the level that holds the working set).  A rate of 0, or a pipe out of range, bounds
 * nothing.  The sum of add+max may be a fused multiply-add by one, the same bits: it has the better
 * rate of ADD_MAX and FMA_MAX.
 * @param is_f64            picks the row of the pipe table
 * @param working_set_bytes picks the level: the nearest one that holds it
 * @return [s]
 */
CBX_API double cbx_probe_bound_seconds(const cbx_probe *p, cbx_pipe pipe, bool is_f64, double ops, double bytes,
                                       double working_set_bytes);
/**
 * Smallest time that moving bytes can take on one core whatever the caches keep: of a set of W
 * bytes a level of C bytes serves no more than C / W (what the best replacement leaves of it;
 * Belady, IBM Syst. J. 5 (1966) 78-101), the larger levels the rest.  Levels of rate 0 are left
 * out.
 * @param working_set_bytes  > 0; INFINITY: the last level alone
 * @return [s]; 0 where no level has a rate
 */
CBX_API double cbx_probe_min_seconds(const cbx_probe *p, double bytes, double working_set_bytes);

CBX_END_DECLS
#endif
