/* The plan of baselines on a GPU: as cbx__suite_plan, with inputs, outputs and scratch in the
 * device's memory.
 *
 * bind copies the inputs there, run queues and waits, collect copies the outputs back.  A call that
 * the device refuses leaves the outputs as they were, which the fidelity check rejects. */
#ifndef SUITES_COMMON_GPU_H
#define SUITES_COMMON_GPU_H

#include "calibrax/array/cuda/cuda.h"
#include "suites/common/plan.h"

typedef struct cbx__suite_gpu {
    cbx__suite_plan plan; /* first: in, out, point and scratch are used as of any plan; pointers to device memory */
    cbx_cuda *g;
    void *there[2 * CBX_CASE_MAX_ARRAYS]; /* inputs, then outputs */
    size_t bytes[2 * CBX_CASE_MAX_ARRAYS];
    cbx_array *home[CBX_CASE_MAX_ARRAYS];
    void *workspace;
    cbx_status failed;
} cbx__suite_gpu;

/* @return as cbx_cuda_open: CBX_EUNAVAILABLE where there is no driver, no device, or no kernels */
cbx_status cbx__suite_gpu_create(cbx_ctx *ctx, const cbx_case_ops *c, const void *point, size_t point_bytes,
                                 cbx__suite_gpu **out, cbx_err *err);
/* The whole of prepare for a baseline with a product in it: scratch is `first` bytes of the
 * baseline's own, a multiple of 256, and then the workspace of q, of plan.block_bytes. */
cbx_status cbx__suite_gpu_prepare(cbx_ctx *ctx, const cbx_case_ops *c, const void *point, size_t point_bytes,
                                  const cbx_cuda_matmul *q, size_t first, void **plan, cbx_err *err);
void cbx__suite_gpu_bind(void *plan, cbx_array *const *in, cbx_array *const *out);
/* Waits for what run has queued with status st. */
void cbx__suite_gpu_wait(cbx__suite_gpu *s, cbx_status st);
void cbx__suite_gpu_collect(void *plan);
void cbx__suite_gpu_finish(void *plan);

/* A baseline of provider cuda, "calibrax-cuda". */
#define CBX__SUITE_GPU(summary_, prepare_, run_, ...)                                                                  \
    CBX__SUITE_BASELINE("calibrax-cuda", "cuda", summary_, .prepare = prepare_, .bind = cbx__suite_gpu_bind,           \
                        .run = run_, .finish = cbx__suite_gpu_finish, .collect = cbx__suite_gpu_collect, __VA_ARGS__)

#endif
