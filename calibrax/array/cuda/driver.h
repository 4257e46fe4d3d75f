/* Inside the CUDA products: the device as the driver gives it, and launching. */
#ifndef CALIBRAX_ARRAY_CUDA_DRIVER_H
#define CALIBRAX_ARRAY_CUDA_DRIVER_H

#include "calibrax/array/cuda/args.h"
#include "calibrax/array/cuda/cuda.h"
#include "calibrax/array/device/internal.h"

/* What is called of the driver besides CBX__CUDA_CALLS (device/internal.h): name here, symbol,
 * arguments. */
#define CBX__CUDA_MORE_CALLS(X)                                                                                        \
    X(module_load, "cuModuleLoadData", (void **module, const void *image))                                             \
    X(module_unload, "cuModuleUnload", (void *module))                                                                 \
    X(function, "cuModuleGetFunction", (void **function, void *module, const char *name))                              \
    X(launch, "cuLaunchKernel",                                                                                        \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,          \
       unsigned block_z, unsigned shared, void *stream, void **params, void **extra))                                  \
    X(alloc, "cuMemAlloc_v2", (uintptr_t * p, size_t bytes))                                                           \
    X(free, "cuMemFree_v2", (uintptr_t p))                                                                             \
    X(upload, "cuMemcpyHtoDAsync_v2", (uintptr_t to, const void *from, size_t bytes, void *stream))                    \
    X(download, "cuMemcpyDtoHAsync_v2", (void *to, uintptr_t from, size_t bytes, void *stream))                        \
    X(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                                                \
    X(stream_destroy, "cuStreamDestroy_v2", (void *stream))                                                            \
    X(stream_wait, "cuStreamSynchronize", (void *stream))                                                              \
    X(event_create, "cuEventCreate", (void **event, unsigned flags))                                                   \
    X(event_destroy, "cuEventDestroy_v2", (void *event))                                                               \
    X(event_record, "cuEventRecord", (void *event, void *stream))                                                      \
    X(event_wait, "cuEventSynchronize", (void *event))                                                                 \
    X(event_elapsed, "cuEventElapsedTime", (float *ms, void *from, void *to))                                          \
    X(synchronize, "cuCtxSynchronize", (void))                                                                         \
    X(pci_address, "cuDeviceGetPCIBusId", (char *text, int size, int device))

/* What is called of cuBLAS (cublas_api.h, the same from 11 to 13); a status of 0 is success. */
#define CBX__CUBLAS_GEMM(T)                                                                                            \
    (void *handle, int op_a, int op_b, int m, int n, int k, const T *alpha, const T *a, int lda, long long step_a,     \
     const T *b, int ldb, long long step_b, const T *beta, T *c, int ldc, long long step_c, int batches)
#define CBX__CUBLAS_CALLS(X)                                                                                           \
    X(create, "cublasCreate_v2", (void **handle))                                                                      \
    X(destroy, "cublasDestroy_v2", (void *handle))                                                                     \
    X(set_stream, "cublasSetStream_v2", (void *handle, void *stream))                                                  \
    X(set_math, "cublasSetMathMode", (void *handle, int mode))                                                         \
    X(gemm_f32, "cublasSgemmStridedBatched", CBX__CUBLAS_GEMM(float))                                                  \
    X(gemm_f64, "cublasDgemmStridedBatched", CBX__CUBLAS_GEMM(double))                                                 \
    X(gemm, "cublasGemmEx",                                                                                            \
      (void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda,   \
       const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc, int compute,                \
       int algorithm))

typedef struct cbx__cublas {
    cbx_library *library; /* NULL: not here */
    void *handle;
#define CBX__CUBLAS_MEMBER(name, symbol, args) int(*name) args;
    CBX__CUBLAS_CALLS(CBX__CUBLAS_MEMBER)
#undef CBX__CUBLAS_MEMBER
    char why[CBX_ERR_MESSAGE_SIZE];
} cbx__cublas;

#define CBX__CUDA_IMAGES 4

struct cbx_cuda {
    cbx_ctx *ctx;
    cbx__cuda driver;
    cbx_library *library; /* a second handle, for the calls below */
#define CBX__CUDA_MORE_MEMBER(name, symbol, args) int(*name) args;
    CBX__CUDA_MORE_CALLS(CBX__CUDA_MORE_MEMBER)
#undef CBX__CUDA_MORE_MEMBER
    cbx_device device;
    int handle, multiprocessors;
    void *context; /* NULL: not retained */
    void *modules[CBX__CUDA_IMAGES];
    void *kernels[CBX__CUDA_KERNELS];
    cbx__cublas blas;
};

/* Kernels as they were built (a generated file): NULL and 0 without nvcc. */
typedef struct cbx__cuda_image {
    const char *name; /* "product" */
    const unsigned char *data, *end;
} cbx__cuda_image;
extern const cbx__cuda_image cbx__cuda_images[CBX__CUDA_IMAGES];
extern const char *const cbx__cuda_build_text;

/* As cbx_cuda_open without kernels and cuBLAS: for kernels of the caller's. */
cbx_status cbx__cuda_take(cbx_ctx *ctx, const cbx_cuda_opts *o, cbx_cuda **out, cbx_err *err);
/* The context is current from the one to the other. */
cbx_status cbx__cuda_enter(cbx_cuda *g, cbx_err *err);
void cbx__cuda_leave(cbx_cuda *g);
/** The same; number: of the call that was made. */
cbx_status cbx__cuda_left(cbx_cuda *g, const char *call, int number, cbx_err *err);
/* What a driver's number means, 0: CBX_OK; call: its symbol. */
cbx_status cbx__cuda_fault(const char *call, int number, cbx_err *err);
/* In the context; 0 blocks are none to launch. */
cbx_status cbx__cuda_launch(cbx_cuda *g, cbx__cuda_kernel k, int64_t blocks, unsigned threads, const void *args,
                            void *stream, cbx_err *err);

void cbx__cublas_open(cbx_cuda *g, const char *path);
void cbx__cublas_close(cbx_cuda *g);

/* C (m by n, row-major, ldc, batch_c) = A B by cuBLAS; the operands as cbx__cublas_takes allows. */
typedef struct cbx__cublas_product {
    cbx_dtype dtype;
    bool allow_tf32;
    size_t m, k, n, batches;
    cbx__cuda_matrix a, b, c;
} cbx__cublas_product;
bool cbx__cublas_takes(const cbx__cublas_product *q);
cbx_status cbx__cublas_run(cbx_cuda *g, const cbx__cublas_product *q, void *stream, cbx_err *err);

#endif
