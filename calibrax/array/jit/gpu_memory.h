/* Inside the compiler: memory of a device, and arrays there. */
#ifndef CALIBRAX_ARRAY_JIT_GPU_MEMORY_H
#define CALIBRAX_ARRAY_JIT_GPU_MEMORY_H

#include "calibrax/array/backend.h"
#include "calibrax/array/jit/gpu.h"

/** For the first member of a cbx__gpu. */
cbx__memory cbx__gpu_memory(cbx_device_id id);

/**
 * A block, maybe one that was given back.  All blocks of this process are at most the share of the
 * device's memory that the configuration of the context allows (cbx_device_config).
 * @param capacity  bytes of the block, for cbx__gpu_put
 * @return CBX_OK; CBX_ENOMEM; what the device returns
 */
cbx_status cbx__gpu_get(cbx_ctx *ctx, cbx__gpu *g, size_t bytes, void **out, size_t *capacity, cbx_err *err);
/** Kernels that were queued may still use it. */
void cbx__gpu_put(cbx__gpu *g, void *p, size_t capacity);
/** Frees the blocks that were given back; returns their bytes. */
size_t cbx__gpu_trim(cbx__gpu *g);

/** A new row-major array, content undefined. */
cbx_status cbx__gpu_array(cbx_ctx *ctx, cbx__gpu *g, const cbx_array_desc *desc, cbx_array **out, cbx_err *err);
/** A row-major copy of an array of the CPU. */
cbx_status cbx__gpu_upload(cbx_ctx *ctx, cbx__gpu *g, const cbx_array *a, cbx_array **out, cbx_err *err);
/** An array of this device itself if it is row-major, else a copy that is. */
cbx_status cbx__gpu_dense(cbx_ctx *ctx, cbx__gpu *g, const cbx_array *a, cbx_array **out, cbx_err *err);

/** An array of foreign memory is on this device from now on.  Whoever lent it has it back when no
 * kernel reads it any more. */
cbx_status cbx__gpu_adopt(cbx_ctx *ctx, cbx__gpu *g, cbx_array *a, cbx_err *err);

/** The device of an array whose memory is one's of this header; NULL: it is elsewhere. */
cbx__gpu *cbx__gpu_of(const cbx_array *a);

/** One operation with an operand there, and the others there or on the CPU; results are there
 * (gpu_eager.c). */
cbx_status cbx__gpu_apply(const cbx_call *call, cbx_array **out, cbx_err *err);
/** A row-major copy of an array there, by a kernel; *out NULL: no kernel can. */
cbx_status cbx__gpu_pack_there(cbx_ctx *ctx, cbx__gpu *g, const cbx_array *a, cbx_array **out, cbx_err *err);
/** A row-major copy of an array there, by way of the CPU if need be. */
cbx_status cbx__gpu_pack(cbx_ctx *ctx, cbx__gpu *g, const cbx_array *a, cbx_array **out, cbx_err *err);

#endif
