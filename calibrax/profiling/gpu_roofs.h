/**
 * The measured roofs of a GPU: rates of arithmetic by type and unit, bandwidth of L2 and of memory,
 * and the state of the device meanwhile (clocks, power, temperature and throttling, by NVML).
 *
 * A roof is the best slice, as for a core of the CPU (core/probe.h), with the median and its
 * interval.
 * How it is measured: array/cuda/probe.h.  `calibrax doctor --machine --gpu 0` shows it.
 */
#ifndef CALIBRAX_PROFILING_GPU_ROOFS_H
#define CALIBRAX_PROFILING_GPU_ROOFS_H

#include "calibrax/array/cuda/probe.h"
#include "calibrax/base/json.h"
#include "calibrax/profiling/gpu.h"
#include "calibrax/statistics/estimate.h"

CBX_BEGIN_DECLS

/** One measured quantity. */
typedef struct cbx_gpu_figure {
    double best;                    /* [flop/s], [byte/s]; 0: not measured */
    cbx_interval median;            /* of the slices, 95 %, by order statistics */
    size_t slices;                  /* */
    char by[32];                    /* "fma.rn.f32", "cublasGemmEx R_16F"; the faster one of two */
    bool is_lower_bound;            /* the device has faster instructions than `by`: a product may exceed this */
    char why[CBX_ERR_MESSAGE_SIZE]; /* why not measured, or why only a lower bound */
} cbx_gpu_figure;

enum { CBX_GPU_L2, CBX_GPU_MEMORY, CBX_GPU_LEVELS };

typedef struct cbx_gpu_roofs {
    char name[96]; /* "NVIDIA H200" */
    int index, capability_major, capability_minor, multiprocessors;
    uint64_t memory_bytes, l2_bytes;
    cbx_gpu_figure rate[CBX_CUDA_RATE_COUNT];
    cbx_gpu_figure traffic[CBX_GPU_LEVELS][CBX_CUDA_TRAFFICS];
    size_t looks;                                 /* readings of NVML while slices ran */
    char unwatched[CBX_ERR_MESSAGE_SIZE];         /* why there are no readings; "": there are */
    double sm_mhz_min, sm_mhz_max;                /* NaN: unknown; so the next four */
    double memory_mhz;                            /* the lowest */
    double temperature_c, power_w, power_limit_w; /* the highest */
    uint64_t throttle;                            /* all reasons: CBX_GPU_THROTTLE_... */
    int64_t measured_us;                          /* when, microseconds since 1970 */
} cbx_gpu_roofs;

/** Start from CBX_GPU_ROOFS_OPTS_INIT. */
typedef struct cbx_gpu_roofs_opts {
    uint32_t struct_size;
    cbx_cuda_opts cuda;        /* the device and its libraries */
    cbx_cuda_probe_opts probe; /* user, busy and take are ignored */
    const char *nvml;          /* soname or path; NULL: libnvidia-ml.so.1 */
} cbx_gpu_roofs_opts;

#define CBX_GPU_ROOFS_OPTS_INIT CBX_OPTS(cbx_gpu_roofs_opts, CBX_CUDA_OPTS_INIT, CBX_CUDA_PROBE_OPTS_INIT, 0)

/**
 * Measures now, about 3 s.  Without NVML, cuBLAS or a unit the rest is measured, with reasons.
 * @param opts  NULL: defaults
 * @param out   written on success only
 * @return CBX_OK; CBX_EINVAL (struct_size); as cbx_cuda_open (CBX_EUNAVAILABLE: no kernels, no
 *   driver, no device); as cbx_cuda_probe
 */
CBX_API cbx_status cbx_gpu_roofs_measure(cbx_ctx *ctx, const cbx_gpu_roofs_opts *opts, cbx_gpu_roofs *out,
                                         cbx_err *err);
/** "L2", "memory" */
CBX_API const char *cbx_gpu_level_name(int level);
/**
 * All measurements, and "roofs" for a run's metadata ({"flop_per_s": {NAME: X}, "bytes_per_s":
 * {NAME: X}}, for the exporters' roofline).  NULL: out of memory.  The caller unrefs it.
 */
CBX_API cbx_json *cbx_gpu_roofs_to_json(const cbx_gpu_roofs *g);

CBX_END_DECLS
#endif
