/*
 * What the library that plays the driver exports: NVIDIA's calls, and what a test says to it and
 * asks of it.
 */
#ifndef TESTS_ARRAY_CUDA_SHIM_CONTROL_H
#define TESTS_ARRAY_CUDA_SHIM_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)

/* The call fails with the number after it has worked `after` times; NULL: all work. */
void shim_fail(const char *call, int number, int after);
/* Blocks, streams, modules, contexts and handles that were not given back. */
int shim_open(void);
int shim_launches(void);
int shim_math(void); /* the last mode of cuBLAS */
/* A fault of kernels or memory (700 and above) stays: all later calls answer it until this is
 * turned off. */
void shim_sticky(int on);
void shim_drop(const char *kernel); /* its launches do nothing; NULL: none */
void shim_version(int version);
void shim_capability(int major);
void shim_processors(int n);            /* few: products take large tiles */
void shim_turn(int round);              /* the order in which threads of a block run */
void shim_tick(double ms, double more); /* each launch takes so long by the device's clock, and the next so much more */

int cuMemAlloc_v2(uintptr_t *p, size_t bytes);
int cuMemFree_v2(uintptr_t p);
int cuMemcpyHtoDAsync_v2(uintptr_t to, const void *from, size_t bytes, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, uintptr_t from, size_t bytes, void *stream);
int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int i);
int cuDeviceGetName(char *name, int size, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceGetAttribute(int *value, int which, int device);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent_v2(void **context);
int cuMemGetInfo_v2(size_t *available, size_t *total);
int cuModuleLoadData(void **module, const void *image);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamDestroy_v2(void *stream);
int cuStreamSynchronize(void *stream);
int cuCtxSynchronize(void);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **params, void **extra);
int cuEventCreate(void **event, unsigned flags);
int cuEventDestroy_v2(void *event);
int cuEventRecord(void *event, void *stream);
int cuEventSynchronize(void *event);
int cuEventElapsedTime(float *ms, void *from, void *to);
int cuDeviceGetPCIBusId(char *text, int size, int device);
int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasSetStream_v2(void *handle, void *stream);
int cublasSetMathMode(void *handle, int mode);
#define SHIM_GEMM(T, name)                                                                                             \
    int name(void *handle, int op_a, int op_b, int m, int n, int k, const T *alpha, const T *a, int lda,               \
             long long step_a, const T *b, int ldb, long long step_b, const T *beta, T *c, int ldc, long long step_c,  \
             int batches);
SHIM_GEMM(float, cublasSgemmStridedBatched)
SHIM_GEMM(double, cublasDgemmStridedBatched)
int cublasGemmEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a,
                 int lda, const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc,
                 int compute, int algorithm);

#pragma GCC visibility pop

#endif
