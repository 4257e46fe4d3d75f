/** What a GPU can do, measured on it: multiply-adds a second of threads and of matrix units, and
 * bandwidth of L2 and of memory; experimental.  profiling/gpu_roofs.h makes roofs of it.
 *
 * Each figure is many slices of one kernel, one behind the other on the default stream, timed by
 * the device's own events.  A slice is as long as asked for: the first ones, which find that out,
 * count as warm-up.  Loops of threads check their own results.  Matrix units are driven by
 * `mma.sync`, and again by products of cuBLAS where that is here: from capability 9.0 on there
 * are instructions that `mma.sync` does not reach.  All operands have random digits: constant ones
 * take less power and run faster. */
#ifndef CALIBRAX_ARRAY_CUDA_PROBE_H
#define CALIBRAX_ARRAY_CUDA_PROBE_H

#include "calibrax/array/cuda/cuda.h"

CBX_BEGIN_DECLS

/* Rates: type, what computes it, its kernel, products and sums of a thread a round of it (args.h),
 * instruction */
#define CBX_CUDA_RATE_MAP(X)                                                                                           \
    X(F64, "float64", "threads", f64, 256, "fma.rn.f64")                                                               \
    X(F32, "float32", "threads", f32, 256, "fma.rn.f32")                                                               \
    X(F16, "float16", "threads", f16, 512, "fma.rn.f16x2")                                                             \
    X(BF16, "bfloat16", "threads", bf16, 512, "fma.rn.bf16x2")                                                         \
    X(F64_TILE, "float64", "tiles", tile_f64, 4096, "mma.sync f64")                                                    \
    X(TF32_TILE, "tfloat32", "tiles", tile_tf32, 4096, "mma.sync m16n8k8")                                             \
    X(F16_TILE, "float16", "tiles", tile_f16, 8192, "mma.sync m16n8k16")                                               \
    X(BF16_TILE, "bfloat16", "tiles", tile_bf16, 8192, "mma.sync m16n8k16")                                            \
    X(I8_TILE, "int8", "tiles", tile_i8, 16384, "mma.sync m16n8k32")

typedef enum cbx_cuda_rate {
#define CBX_CUDA_RATE_ENUM(name, ...) CBX_CUDA_RATE_##name,
    CBX_CUDA_RATE_MAP(CBX_CUDA_RATE_ENUM)
#undef CBX_CUDA_RATE_ENUM
        CBX_CUDA_RATE_COUNT
} cbx_cuda_rate;

/** "bfloat16" and "tiles"; "?" for a number outside the list. */
CBX_API const char *cbx_cuda_rate_type(cbx_cuda_rate r);
CBX_API const char *cbx_cuda_rate_unit(cbx_cuda_rate r);

/* What bytes are moved by; the names of core/probe.h.  copy, triads: bytes read + bytes written */
typedef enum cbx_cuda_traffic {
    CBX_CUDA_READ,
    CBX_CUDA_COPY,
    CBX_CUDA_TRIAD,        /* a = b + s c, 24 bytes an element */
    CBX_CUDA_TRIAD_STREAM, /* stores that leave the cache first */
    CBX_CUDA_TRAFFICS
} cbx_cuda_traffic;

/** "copy" */
CBX_API const char *cbx_cuda_traffic_name(cbx_cuda_traffic t);

/** Slices of one figure; lives during the call. */
typedef struct cbx_cuda_slices {
    bool is_rate;
    cbx_cuda_rate rate;       /* if is_rate */
    cbx_cuda_traffic traffic; /* if not, of this level */
    const char *level;        /* "L2", "memory" */
    size_t level_bytes;       /* 0: memory */
    const char *by;           /* instruction, or call of cuBLAS; "copy" of traffic */
    const char *why;          /* n is 0: why not; else NULL */
    const double *per_s;      /* [flop/s], [byte/s], in the order taken */
    size_t n;
} cbx_cuda_slices;

#define CBX_CUDA_SLICES_MAX 64

/** Start from CBX_CUDA_PROBE_OPTS_INIT. */
typedef struct cbx_cuda_probe_opts {
    uint32_t struct_size;
    unsigned slices;       /* of a figure, at most CBX_CUDA_SLICES_MAX; 0: 15 */
    double slice_s;        /* 0: 0.004 */
    double warm_up_s;      /* clocks rise from idle; 0: 0.3 */
    size_t capacity_bytes; /* memory that is gone over; 0: 1 GiB, or a quarter of what is free if that is less */
    void *user;
    void (*busy)(void *user);                           /* called while slices are under way; NULL: not */
    void (*take)(void *user, const cbx_cuda_slices *s); /* called with each figure */
} cbx_cuda_probe_opts;

#define CBX_CUDA_PROBE_OPTS_INIT CBX_OPTS(cbx_cuda_probe_opts, 0, 0, 0, 0, 0, 0, 0)

/** Measures all of it, some 2 s.  cuBLAS's refusals are figures without slices.
 * @return CBX_OK; CBX_EINVAL (struct_size; too many slices; no `take`); CBX_ENOMEM; CBX_EINTERNAL
 *         (a loop's result is wrong; the device's clock stood still); what the driver refuses */
CBX_API cbx_status cbx_cuda_probe(cbx_cuda *g, const cbx_cuda_probe_opts *opts, cbx_err *err);

/** "0000:01:00.0", its name in NVML.  @return CBX_OK; what the driver refuses */
CBX_API cbx_status cbx_cuda_pci_address(cbx_cuda *g, char out[32], cbx_err *err);
CBX_API int cbx_cuda_multiprocessors(const cbx_cuda *g);

CBX_END_DECLS
#endif
