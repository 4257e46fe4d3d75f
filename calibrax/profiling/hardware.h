/**
 * What machines can do at most, by their makers' sheets: dense rates by type, and bandwidth of memory.
 *
 * Sheets promise more than a kernel ever gets; the roofs that a program is measured against are better measured
 * (core/probe.h, profiling/roofline.h).  NaN: the maker does not say.  Everything here is safe from any thread.
 */
#ifndef CALIBRAX_PROFILING_HARDWARE_H
#define CALIBRAX_PROFILING_HARDWARE_H

#include "calibrax/core/machine.h"

CBX_BEGIN_DECLS

/* type of the products, name */
#define CBX_RATE_MAP(X)                                                                                                \
    X(F64, "float64")                                                                                                  \
    X(F32, "float32") /* outside matrix units where there are such */                                                  \
    X(TF32, "tfloat32")                                                                                                \
    X(BF16, "bfloat16") /* sums in float32; float16 has the same rate on all of these */                               \
    X(F8, "float8")

typedef enum cbx_rate {
#define CBX_RATE_ENUM(name, words) CBX_RATE_##name,
    CBX_RATE_MAP(CBX_RATE_ENUM)
#undef CBX_RATE_ENUM
        CBX_RATE_COUNT
} cbx_rate;

/** "bfloat16"; "?" for a number that is none */
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
    unsigned compute_capability; /* of CUDA, ten times: 90 is 9.0; 0: no device of NVIDIA */
    unsigned simd_width;         /* of a CPU: lanes of float32 in its widest vectors; 0: no CPU */
    /* Of NVIDIA: fragments of warp matrix functions by compute capability (CUDA C++ Programming Guide, "Element Types and Matrix
     * Sizes").  Of a CPU: tiles of AMX.  Others: none are told. */
    cbx_matrix_shape matrix_shape[CBX_HARDWARE_MAX_SHAPES];
    size_t nmatrix_shapes;
} cbx_hardware;

/** Devices of the table, oldest first; false past the end. */
CBX_API bool cbx_hardware_at(size_t i, cbx_hardware *out);
/**
 * @param name  of the table ("h200"), or what the driver says ("NVIDIA H200", "Tesla V100-SXM2-16GB"), in any case
 * @return CBX_OK; CBX_ENOENT: the device is not in the table
 */
CBX_API cbx_status cbx_hardware_find(const char *name, cbx_hardware *out, cbx_err *err);
/**
 * What accelerates this machine: by the names that the driver of NVIDIA tells, else by NVML, else by PCI numbers (NVIDIA, AMD, TPUs).
 * @param root   NULL or "/": this machine; a folder: a captured one, of which NVML is not asked
 * @param out    the device; written on success only
 * @param count  how many of it; may be NULL
 * @return CBX_OK: all accelerators are of one kind of the table; CBX_ENOENT: there are none; CBX_EUNAVAILABLE: several kinds, or one
 *         that is not in the table, named; CBX_ENOMEM
 */
CBX_API cbx_status cbx_hardware_detect(cbx_ctx *ctx, const char *root, cbx_hardware *out, size_t *count, cbx_err *err);
/**
 * A CPU by formula: cores * clock * lanes * pipes * 2, two multiply-add pipes a core, lanes by the widest vector instructions it has.
 * bytes_per_s is NaN: no register tells.
 * @param clock_hz  that all cores hold together; <= 0 or NaN: CBX_EINVAL
 */
CBX_API cbx_status cbx_hardware_of_cpu(const cbx_machine *m, double clock_hz, cbx_hardware *out, cbx_err *err);
/** Intensity [flop/byte] at which memory and arithmetic take equally long; NaN if one is not known. */
CBX_API double cbx_hardware_ridge(const cbx_hardware *h, cbx_rate r);

CBX_END_DECLS
#endif
