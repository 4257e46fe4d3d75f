/** Devices: what could compute here, which one is taken, and what is missing with its remedy.
 *
 *     cbx_devices *devices;
 *     cbx_device_choice choice;
 *     cbx_devices_probe(ctx, NULL, &devices, err);       // looks once; the answer never changes
 *     cbx_ctx_set_devices(other_ctx, devices, err); // shared by reference count, from any thread
 *     cbx_ctx_device(other_ctx, &choice, err);      // by the settings, such as CALIBRAX_USE_GPU
 *
 * The CPU's make-up comes from hwloc (2.x), GPUs from NVIDIA's driver library; both are loaded at
 * run time and may be missing.  A cbx_devices is immutable: any number of threads may read it
 * without a lock.  To look again, probe again. */
#ifndef CALIBRAX_ARRAY_DEVICE_DEVICE_H
#define CALIBRAX_ARRAY_DEVICE_DEVICE_H

#include <stdbool.h>

#include "calibrax/array/array.h"
#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

typedef struct cbx_device {
    cbx_device_kind kind;
    int index;                              /* among those of its kind, from 0 */
    char name[96];                          /* "NVIDIA H100 PCIe"; the CPU's model */
    uint64_t memory_total_bytes;            /* 0: not told */
    int capability_major, capability_minor; /* of CUDA: 9, 0; the CPU: 0, 0 */
} cbx_device;

/** Caches that are alike. */
typedef struct cbx_topology_cache {
    int level;        /* 1, 2, 3 ... */
    const char *type; /* "Data", "Instruction", "Unified" */
    uint64_t bytes;   /* of one */
    int shared_by;    /* hardware threads that share one; 0: not told */
    int count;        /* how many there are; 0: not told */
} cbx_topology_cache;

/** A NUMA node. */
typedef struct cbx_topology_node {
    int index;             /* the kernel's number */
    int threads;           /* hardware threads next to it; 0: not told, or none */
    uint64_t memory_bytes; /* 0: not told */
} cbx_topology_node;

typedef struct cbx_topology {
    const char *source;               /* "hwloc", "kernel" (its files in /proc and /sys) or "sysconf" */
    bool this_machine;                /* false: HWLOC_SYNTHETIC, HWLOC_XMLFILE or a root describe another one */
    const char *cpu;                  /* model name; "" if not told */
    int packages;                     /* sockets */
    int cores, threads;               /* physical cores, hardware threads that are online */
    int usable_threads;               /* of these, how many this process may run on (sched_getaffinity) */
    uint64_t memory_bytes;            /* of the machine; its nodes may tell less where some came later */
    const cbx_topology_cache *caches; /* nearest first */
    size_t ncaches;
    const cbx_topology_node *nodes;
    size_t nnodes;
} cbx_topology;

/** Something that is not here. */
typedef struct cbx_device_gap {
    const char *what;   /* "hwloc", "cuda" */
    const char *text;   /* one sentence: what is missing, what is lost by it */
    const char *remedy; /* a command that helps; NULL: none is known */
} cbx_device_gap;

typedef struct cbx_devices cbx_devices;

typedef struct cbx_devices_opts {
    uint32_t struct_size;    /* sizeof(cbx_devices_opts) */
    const char *cuda_driver; /* soname or path; NULL: libcuda.so.1; "": look for no GPU */
    const char *hwloc;       /* soname or path; NULL: libhwloc.so.15; "": do without */
    const char *root;        /* folder with proc/ and sys/ of the machine; NULL: this one.  Not for hwloc */
} cbx_devices_opts;

#define CBX_DEVICES_OPTS_INIT CBX_OPTS(cbx_devices_opts, 0, 0, 0)

/** Looks at everything.  A missing or failing part is a gap, not a failure: the CPU is always
 * there, and device 0. No context is made on a GPU.  The driver's initialisation may take some 100
 * ms where there is one.
 * @param opts  NULL: defaults
 * @param out   the caller frees it; memory by the allocator of ctx, which it may outlive
 * @return CBX_OK; CBX_EINVAL (struct_size of another version); CBX_ENOMEM */
CBX_API cbx_status cbx_devices_probe(cbx_ctx *ctx, const cbx_devices_opts *opts, cbx_devices **out, cbx_err *err);
/** One more reference, and one less; NULL is fine.  Safe from any thread. */
CBX_API cbx_devices *cbx_devices_ref(const cbx_devices *d);
CBX_API void cbx_devices_free(cbx_devices *d);

/** What the getters return lives as long as d.  Safe from any thread. */
CBX_API size_t cbx_devices_count(const cbx_devices *d);
/** NULL past the last. */
CBX_API const cbx_device *cbx_devices_at(const cbx_devices *d, size_t i);
/** The first of a kind; NULL without one. */
CBX_API const cbx_device *cbx_devices_first(const cbx_devices *d, cbx_device_kind kind);
CBX_API const cbx_topology *cbx_devices_topology(const cbx_devices *d);
/** What is missing; *n of them. */
CBX_API const cbx_device_gap *cbx_devices_gaps(const cbx_devices *d, size_t *n);

typedef struct cbx_device_memory {
    uint64_t total_bytes;
    uint64_t available_bytes; /* at the time of the call */
    /* of a GPU, what arrays of this process hold: now, kept for the next ones, the most so
     * far; else 0 */
    uint64_t in_use_bytes, kept_bytes, in_use_peak_bytes;
} cbx_device_memory;

/** Memory of a device, asked now.  The CPU's is what can be had without swapping, within the limit
 * of the control group (v2) that the process sees.  A GPU's needs its primary context, which is
 * retained for the moment: some 100 MB of its memory and some 100 ms if no other process holds it.
 * @param device  one of d
 * @param out     written on success only
 * @return CBX_OK; CBX_EUNAVAILABLE (the driver refuses, for instance for lack of memory);
 *   CBX_ENOMEM */
CBX_API cbx_status cbx_devices_memory(cbx_ctx *ctx, const cbx_devices *d, const cbx_device *device,
                                      cbx_device_memory *out, cbx_err *err);

/** Returns to the driver what this process keeps of the memory of all GPUs for the next arrays.
 * @return bytes
 * Safe from any thread. */
CBX_API size_t cbx_devices_trim(void);

/** What is wanted. */
typedef struct cbx_device_config {
    cbx_device_kind preferred;
    bool allow_fallback;    /* the CPU will do where no GPU can be had */
    double memory_fraction; /* share of a GPU's memory to use, in (0, 1] */
} cbx_device_config;

#define CBX_DEVICE_CONFIG_INIT                                                                                         \
    {                                                                                                                  \
        CBX_DEVICE_CPU, true, 0.9                                                                                      \
    }

/** What it comes to. */
typedef struct cbx_device_choice {
    const cbx_device *device;
    uint64_t memory_limit_bytes;        /* a GPU: memory_fraction of its total; the CPU: its total */
    bool fell_back;                     /* a GPU was wanted and this is the CPU */
    char warning[CBX_ERR_MESSAGE_SIZE]; /* then: why, one sentence; else "" */
} cbx_device_choice;

/** Chooses: the first GPU if one is wanted and here, else the CPU.
 * @param out  written on success only
 * @return CBX_OK; CBX_EUNAVAILABLE (a GPU is wanted, none is here, no fallback; the message states
 *         why); CBX_EINVAL (an invalid kind or fraction)
 * Allocates nothing.  Safe from any thread. */
CBX_API cbx_status cbx_devices_choose(const cbx_devices *d, const cbx_device_config *config, cbx_device_choice *out,
                                      cbx_err *err);

/** The devices of a context, probed on first use unless set; they live until others are set.
 * @return as cbx_devices_probe */
CBX_API cbx_status cbx_ctx_devices(cbx_ctx *ctx, const cbx_devices **out, cbx_err *err);
/** @param devices  the context takes a reference of its own; NULL: probe again on next use.
 *   @return CBX_OK; CBX_ENOMEM */
CBX_API cbx_status cbx_ctx_set_devices(cbx_ctx *ctx, const cbx_devices *devices, cbx_err *err);

/** What a context wants of its device; at first what its settings say (calibrax/base/settings.h).
 * A configuration that cannot be met is not kept.
 * @return CBX_OK; as cbx_ctx_device */
CBX_API cbx_status cbx_ctx_set_device_config(cbx_ctx *ctx, const cbx_device_config *config, cbx_err *err);
/** @return CBX_OK; CBX_ENOMEM */
CBX_API cbx_status cbx_ctx_device_config(cbx_ctx *ctx, cbx_device_config *out, cbx_err *err);

/** The device on which a context computes now: as cbx_devices_choose, and a GPU only if the
 * context's backend computes on one (CBX_BACKEND_GPU); where it does not, that counts as a GPU
 * that cannot be had.
 * @return CBX_OK; CBX_EUNAVAILABLE; CBX_EINVAL; CBX_ENOMEM */
CBX_API cbx_status cbx_ctx_device(cbx_ctx *ctx, cbx_device_choice *out, cbx_err *err);

CBX_END_DECLS
#endif
