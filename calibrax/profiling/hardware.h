/**
 * The maximum rates of devices by their makers' data sheets: dense rates by type, and bandwidth of
 * memory.
 *
 * Data sheets promise more than any kernel reaches; measured roofs are better (core/probe.h,
 * profiling/roofline.h).  NaN: not in the data sheet.  Everything here is safe from any thread.
 */
#ifndef CALIBRAX_PROFILING_HARDWARE_H
#define CALIBRAX_PROFILING_HARDWARE_H

#include "calibrax/core/machine.h"

CBX_BEGIN_DECLS

/* type of the products, name */
#define CBX_RATE_MAP(X)                                                                                                \
    X(F64, "float64")                                                                                                  \
    X(F32, "float32") /* outside matrix units, if there are any */                                                     \
    X(TF32, "tfloat32")                                                                                                \
    X(BF16, "bfloat16") /* sums in float32; float16 has the same rate on all of these */                               \
    X(F8, "float8")

typedef enum cbx_rate {
#define CBX_RATE_ENUM(name, words) CBX_RATE_##name,
    CBX_RATE_MAP(CBX_RATE_ENUM)
#undef CBX_RATE_ENUM
        CBX_RATE_COUNT
} cbx_rate;

/** "bfloat16"; "?" for an invalid number */
CBX_API const char *cbx_rate_name(cbx_rate r);

/** A product of tiles that one instruction, or one warp of threads, makes: m by k times k by n. */
typedef struct cbx_matrix_shape {
    const char *type; /* of the factors: "bfloat16"; static text */
    unsigned m, n, k;
} cbx_matrix_shape;

#define CBX_HARDWARE_MAX_SHAPES 12

typedef struct cbx_hardware {
    char name[96];                     /* "h100_sxm" */
    double flop_per_s[CBX_RATE_COUNT]; /* dense; a fused multiply-add is 2 */
    double bytes_per_s;                /* of memory */
    char source[96];
    unsigned compute_capability; /* of CUDA, ten times: 90 is 9.0; 0: not of NVIDIA */
    unsigned simd_width;         /* of a CPU: lanes of float32 in its widest vectors; 0: not a CPU */
    /* Of NVIDIA: fragments of warp matrix functions by compute capability (CUDA C++ Programming
     * Guide, "Element Types and Matrix Sizes").  Of a CPU: tiles of AMX.  Others: none. */
    cbx_matrix_shape matrix_shape[CBX_HARDWARE_MAX_SHAPES];
    size_t nmatrix_shapes;
} cbx_hardware;

/** Devices of the table, oldest first; false past the end. */
CBX_API bool cbx_hardware_at(size_t i, cbx_hardware *out);
/**
 * @param name  of the table ("h200"), or its name in the driver ("NVIDIA H200", "Tesla
 *   V100-SXM2-16GB"), in any case
 * @return CBX_OK; CBX_ENOENT: the device is not in the table
 */
CBX_API cbx_status cbx_hardware_find(const char *name, cbx_hardware *out, cbx_err *err);
/**
 * The accelerators of this machine: by the names in NVIDIA's driver, else by NVML, else by PCI
 * numbers (NVIDIA, AMD, TPUs).
 * @param root   NULL or "/": this machine; a folder: a captured one, without NVML
 * @param out    the device; written on success only
 * @param count  how many of it; may be NULL
 * @return CBX_OK: all accelerators are of one kind of the table; CBX_ENOENT: no accelerator;
 *         CBX_EUNAVAILABLE: several kinds, or one that is not in the table, named; CBX_ENOMEM
 */
CBX_API cbx_status cbx_hardware_detect(cbx_ctx *ctx, const char *root, cbx_hardware *out, size_t *count, cbx_err *err);
/**
 * A CPU by formula: cores * clock * lanes * pipes * 2, two multiply-add pipes a core, lanes by the
 * widest vector instructions it has.  bytes_per_s is NaN: unknown.
 * @param clock_hz  that all cores hold together; <= 0 or NaN: CBX_EINVAL
 */
CBX_API cbx_status cbx_hardware_of_cpu(const cbx_machine *m, double clock_hz, cbx_hardware *out, cbx_err *err);

CBX_END_DECLS
#endif
