/**
 * Readings of an NVIDIA device through NVML, loaded on first use.
 *
 * A device is open from cbx_gpu_open to cbx_gpu_close and may be read from any thread in between,
 * several at a time.
 */
#ifndef CALIBRAX_PROFILING_GPU_H
#define CALIBRAX_PROFILING_GPU_H

#include "calibrax/profiling/resources.h"

CBX_BEGIN_DECLS

typedef struct cbx_gpu cbx_gpu;

/** One reading; NaN: not reported by the device. */
typedef struct cbx_gpu_reading {
    double mem_used_mb, mem_total_mb; /* MiB, of the whole device */
    /* [percent] of the last sensor period with a kernel running, with memory busy */
    double util, mem_util;
    double graphics_mhz, sm_mhz, memory_mhz; /* now */
    double temperature_c;
    /* of the board; some sensors sample a quarter of the time (arXiv 2312.02741) */
    double power_w, power_limit_w;
    double energy_j; /* since the driver was loaded; updated about every 0.1 s */
    /* CBX_GPU_THROTTLE_...; also 0 if the device does not report it */
    uint64_t throttle;
} cbx_gpu_reading;

/* name, bit of NVML, words, whether it slows a kernel down */
#define CBX_GPU_THROTTLE_MAP(X)                                                                                        \
    X(IDLE, 0x1, "idle", 0)                                                                                            \
    X(APPLICATION_CLOCKS, 0x2, "clocks set by user", 1)                                                                \
    X(POWER_CAP, 0x4, "power limit", 1)                                                                                \
    X(HARDWARE, 0x8, "hardware slow-down", 1)                                                                          \
    X(SYNC_BOOST, 0x10, "kept in step with other devices", 1)                                                          \
    X(THERMAL, 0x20, "temperature, by driver", 1)                                                                      \
    X(HARDWARE_THERMAL, 0x40, "temperature, by hardware", 1)                                                           \
    X(POWER_BRAKE, 0x80, "power brake", 1)                                                                             \
    X(DISPLAY, 0x100, "display clocks", 1)

typedef enum cbx_gpu_throttle {
#define CBX_GPU_THROTTLE_ENUM(name, bit, words, slow) CBX_GPU_THROTTLE_##name = bit,
    CBX_GPU_THROTTLE_MAP(CBX_GPU_THROTTLE_ENUM)
#undef CBX_GPU_THROTTLE_ENUM
} cbx_gpu_throttle;

#define CBX_GPU_THROTTLE_SIZE 256
/** "power limit, temperature, by driver"; "" for none; unknown bits are left out.  Returns buf. */
CBX_API const char *cbx_gpu_throttle_words(uint64_t reasons, char buf[CBX_GPU_THROTTLE_SIZE]);
/** Reason i of the list, and its bit; NULL past the end. */
CBX_API const char *cbx_gpu_throttle_at(size_t i, uint64_t *bit);
/** Some reason other than idling. */
CBX_API bool cbx_gpu_is_slowed(uint64_t reasons);

/**
 * @param index    of NVML, which counts all devices, whatever CUDA_VISIBLE_DEVICES is
 * @param library  path of the library instead of libnvidia-ml.so.1; NULL: that
 * @param out      the caller closes it
 * @return CBX_OK; CBX_EUNAVAILABLE (no library, no driver, too old a one); CBX_ENOENT (no such
 *   device); CBX_EPERM; CBX_ENOMEM
 */
CBX_API cbx_status cbx_gpu_open(cbx_ctx *ctx, unsigned index, const char *library, cbx_gpu **out, cbx_err *err);
/** The same by PCI address, as CUDA reports it ("0000:01:00.0"). */
CBX_API cbx_status cbx_gpu_open_at(cbx_ctx *ctx, const char *address, const char *library, cbx_gpu **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_gpu_close(cbx_gpu *gpu);
/** "NVIDIA H200"; lives as long as gpu. */
CBX_API const char *cbx_gpu_name(const cbx_gpu *gpu);
/** Allocates nothing.  @return CBX_OK, also if only some members are reported; CBX_EIO: the device
 * is lost */
CBX_API cbx_status cbx_gpu_read(cbx_gpu *gpu, cbx_gpu_reading *out, cbx_err *err);
/**
 * The device memory of these processes, for compute and for graphics.  NVML uses the machine's
 * process numbers: in a container with its own numbers no process is found.
 * @return [MiB]; 0 if they hold none; NaN: not reported by the driver
 */
CBX_API double cbx_gpu_memory_of(cbx_gpu *gpu, const pid_t *pids, size_t npids);
/** cbx_resource_opts.device with the gpu as device_user. */
CBX_API void cbx_gpu_sample(void *gpu, const pid_t *pids, size_t npids, cbx_resource_device *out);

CBX_END_DECLS
#endif
