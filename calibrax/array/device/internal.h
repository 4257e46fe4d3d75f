/* Inside the device manager: the object, and the two places it asks. */
#ifndef CALIBRAX_ARRAY_DEVICE_INTERNAL_H
#define CALIBRAX_ARRAY_DEVICE_INTERNAL_H

#include <stdatomic.h>

#include "calibrax/array/device/device.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/library.h"
#include "calibrax/core/machine.h"

/* What is called of NVIDIA's driver: name in this library, symbol, arguments.  Every call returns 0
 * or an error's number. */
#define CBX__CUDA_CALLS(X)                                                                                             \
    X(init, "cuInit", (unsigned flags))                                                                                \
    X(driver_version, "cuDriverGetVersion", (int *version))                                                            \
    X(count, "cuDeviceGetCount", (int *count))                                                                         \
    X(get, "cuDeviceGet", (int *device, int i))                                                                        \
    X(name, "cuDeviceGetName", (char *name, int size, int device))                                                     \
    X(total, "cuDeviceTotalMem_v2", (size_t * bytes, int device))                                                      \
    X(attribute, "cuDeviceGetAttribute", (int *value, int which, int device))                                          \
    X(retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                                                \
    X(release, "cuDevicePrimaryCtxRelease_v2", (int device))                                                           \
    X(push, "cuCtxPushCurrent_v2", (void *context))                                                                    \
    X(pop, "cuCtxPopCurrent_v2", (void **context))                                                                     \
    X(memory, "cuMemGetInfo_v2", (size_t * available, size_t * total))

typedef struct cbx__cuda {
    cbx_library *library; /* NULL: not here */
#define CBX__CUDA_MEMBER(name, symbol, args) int(*name) args;
    CBX__CUDA_CALLS(CBX__CUDA_MEMBER)
#undef CBX__CUDA_MEMBER
} cbx__cuda;

/** Loads and initialises the driver and counts devices (at least one).
 * @param remedy  a command, or NULL; written when it fails
 * @return CBX_OK; CBX_EUNAVAILABLE, with the library closed; CBX_ENOMEM */
cbx_status cbx__cuda_open(cbx_ctx *ctx, const char *path, cbx__cuda *out, int *count, const char **remedy,
                          cbx_err *err);
/** What a number of the driver means; always one. */
typedef struct cbx__cuda_meaning {
    int number;
    cbx_status status;
    const char *words, *remedy;
} cbx__cuda_meaning;
const cbx__cuda_meaning *cbx__cuda_meaning_of(int number);
cbx_status cbx__cuda_describe(const cbx__cuda *cuda, int index, cbx_device *out, cbx_err *err);
cbx_status cbx__cuda_memory(const cbx__cuda *cuda, const cbx_device *device, cbx_device_memory *out, cbx_err *err);

/** The CPU's make-up by hwloc; lists live in the arena.
 * @return CBX_OK; CBX_EUNAVAILABLE (no hwloc, another version of it, it fails); CBX_ENOMEM */
cbx_status cbx__topology_hwloc(cbx_ctx *ctx, const char *path, cbx_arena *arena, cbx_topology *out, cbx_err *err);
/** By what the kernel's files told; m NULL: they told nothing, sysconf is asked.  @return CBX_OK;
 * CBX_ENOMEM */
cbx_status cbx__topology_plain(const cbx_machine *m, bool this_machine, cbx_arena *arena, cbx_topology *out,
                               cbx_err *err);

enum { CBX__GPUS = 16 }; /* numbered from 0, that arrays may be on */

/** Bytes of a GPU's memory that this process has taken for arrays. */
typedef struct cbx__gpu_usage {
    atomic_size_t in_use, kept, peak; /* kept: for the next arrays; peak: of in_use */
    size_t (*_Atomic trim)(void);     /* frees what is kept; NULL: nothing was */
} cbx__gpu_usage;
cbx__gpu_usage *cbx__gpu_usage_of(int index);
void cbx__gpu_usage_add(cbx__gpu_usage *u, size_t bytes);

#define CBX__GAPS_MAX 4

struct cbx_devices {
    atomic_size_t refs;
    cbx_arena arena;
    const char *root; /* NULL: this machine */
    cbx__cuda cuda;
    cbx_device *device;
    size_t count;
    cbx_topology topology;
    cbx_device_gap gap[CBX__GAPS_MAX];
    size_t ngaps;
};

/** As cbx_devices_choose; obstacle: why no GPU can be used even if there is one, NULL: none. */
cbx_status cbx__devices_choose(const cbx_devices *d, const cbx_device_config *c, const char *obstacle,
                               cbx_device_choice *out, cbx_err *err);

#endif
