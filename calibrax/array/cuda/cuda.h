/** Products over the six algebras, and of sparse matrices in ELL form, on a GPU of NVIDIA;
 * experimental.
 *
 *     cbx_cuda *g;
 *     cbx_cuda_open(ctx, NULL, &g, err);                  // the first device
 *     cbx_cuda_alloc(g, bytes, &a, err);                  // device memory
 *     cbx_cuda_upload(g, a, host_a, bytes, NULL, err);
 *     cbx_cuda_matmul_run(g, &product, NULL, err);        // queued; NULL is the default stream
 *     cbx_cuda_download(g, host_c, c, bytes, NULL, err);
 *     cbx_cuda_wait(g, NULL, err);
 *
 * The same products, rules for NaN, infinities and nothing to fold, and bounds of error as on the
 * CPU: kernels/semiring.h, kernels/ell.h. Every element is folded by one thread, kk ascending, in
 * one accumulator of the dtype with fused multiply-add; where C is small and k long, so are parts
 * of k, which are joined in order.  The parts follow from m, k and n alone: the bits of an element
 * depend on nothing but the operands, and not on the device; products that cuBLAS makes (see
 * cbx_cuda_gemm) are excepted.
 *
 * The driver is loaded at run time and never linked.  The kernels come with this library if it was
 * built where nvcc was. Threads: one thread uses a cbx_cuda at a time; other threads may have their
 * own, of the same device, too. */
#ifndef CALIBRAX_ARRAY_CUDA_CUDA_H
#define CALIBRAX_ARRAY_CUDA_CUDA_H

#include "calibrax/array/device/device.h"
#include "calibrax/array/kernels/ell.h"
#include "calibrax/array/kernels/semiring.h"

CBX_BEGIN_DECLS

/** A device with the kernels on it: holds its primary context, the kernels, and cuBLAS if that is
 * here. */
typedef struct cbx_cuda cbx_cuda;

/** Start from CBX_CUDA_OPTS_INIT. */
typedef struct cbx_cuda_opts {
    uint32_t struct_size;
    int device;         /* its number among the GPUs: cbx_device.index */
    const char *driver; /* soname or path; NULL: libcuda.so.1 */
    const char *cublas; /* soname or path; NULL: libcublas.so of CUDA 13, 12 or 11; "": do without */
    const char *
        images; /* folder with product.fatbin, finish.fatbin, ell.fatbin and probe.fatbin; NULL: the kernels built in */
} cbx_cuda_opts;

#define CBX_CUDA_OPTS_INIT CBX_OPTS(cbx_cuda_opts, 0, 0, 0, 0)

/** What the kernels were built with, "nvcc 13.0: sm_80, sm_90, sm_100 and PTX"; NULL: they are not
 * in this library. */
CBX_API const char *cbx_cuda_build(void);

/** Takes a device.  Some 100 ms if no other process holds its context.
 * @param opts  NULL: defaults
 * @param out   written on success only; the caller closes it, before the context ends
 * @return CBX_OK; CBX_EINVAL (struct_size; no such device); CBX_EUNAVAILABLE (no kernels in this
 *         library, no driver, no device; the message has the remedy); CBX_EUNSUPPORTED (a device
 *         before capability 8.0, or kernels not for it); CBX_EVERSION (images of another version);
 *         CBX_ENOMEM (of the host or the device); as reading a file */
CBX_API cbx_status cbx_cuda_open(cbx_ctx *ctx, const cbx_cuda_opts *opts, cbx_cuda **out, cbx_err *err);
/** Memory and streams that are still out go with the process.  NULL is fine. */
CBX_API void cbx_cuda_close(cbx_cuda *g);
/** Lives as long as g. */
CBX_API const cbx_device *cbx_cuda_device(const cbx_cuda *g);
/** cuBLAS was found; if not, why is one sentence. */
CBX_API bool cbx_cuda_has_cublas(const cbx_cuda *g, const char **why);

/* ---- memory and streams ---- */

/** @param out  device memory, 256-byte aligned; NULL for 0 bytes  @return CBX_OK; CBX_ENOMEM (the
 *   message has the size) */
CBX_API cbx_status cbx_cuda_alloc(cbx_cuda *g, size_t bytes, void **out, cbx_err *err);
/** NULL is fine.  Waits for what uses it. */
CBX_API void cbx_cuda_free(cbx_cuda *g, void *p);
/** Queued; `from` may change when the call returns. */
CBX_API cbx_status cbx_cuda_upload(cbx_cuda *g, void *to, const void *from, size_t bytes, void *stream, cbx_err *err);
/** Queued; `to` holds the bytes after cbx_cuda_wait. */
CBX_API cbx_status cbx_cuda_download(cbx_cuda *g, void *to, const void *from, size_t bytes, void *stream, cbx_err *err);
/** A CUstream that does not wait for the default one. */
CBX_API cbx_status cbx_cuda_stream_create(cbx_cuda *g, void **out, cbx_err *err);
CBX_API void cbx_cuda_stream_free(cbx_cuda *g, void *stream);
/** Until all that was queued is done; faults of kernels come out here: CBX_EINTERNAL, after which
 * the process needs a new start. */
CBX_API cbx_status cbx_cuda_wait(cbx_cuda *g, void *stream, cbx_err *err);

/* ---- dense products ---- */

/** Who makes the real product, and the sums of log. */
typedef enum cbx_cuda_gemm {
    CBX_CUDA_GEMM_AUTO, /* cuBLAS where it is here and the strides allow it, else the kernel of this library */
    CBX_CUDA_GEMM_OWN,  /* fixed bits on every device */
    CBX_CUDA_GEMM_CUBLAS
} cbx_cuda_gemm;

/** Start from CBX_CUDA_MATMUL_INIT. */
typedef struct cbx_cuda_matmul {
    uint32_t struct_size;
    cbx_cuda_gemm gemm;
    bool allow_tf32; /* cuBLAS may round f32 operands to 11 bits: off by 2^-11, beyond the bounds of semiring.h */
    /* pointers to device memory, the workspace 256-byte aligned; isa and threads are not
     * looked at */
    cbx_matmul product;
    /* so many products; element 0 of the operands of product z is batch_... elements after that
     * of z - 1 */
    size_t batches;
    ptrdiff_t batch_a, batch_b, batch_c, batch_d, batch_m; /* 0 repeats an operand, not C */
} cbx_cuda_matmul;

#define CBX_CUDA_MATMUL_INIT                                                                                           \
    {                                                                                                                  \
        .struct_size = sizeof(cbx_cuda_matmul), .product = CBX_MATMUL_INIT, .batches = 1                               \
    }

/** Bytes of workspace for such a product (pointers are not looked at, but d and mask for being
 * NULL); may be 0.  log: (m k + k n + m n) elements a product, boolean: (m + n) k / 8, others: 0,
 * or m n where cuBLAS cannot write C itself; and up to 512 m n where k is split.  @return as
 * cbx_cuda_matmul_run */
CBX_API cbx_status cbx_cuda_matmul_workspace(cbx_cuda *g, const cbx_cuda_matmul *p, size_t *out, cbx_err *err);

/** Queues the product; *p may change when the call returns, operands not before the stream is done.
 * @param stream  NULL: the default one
 * @return CBX_OK; CBX_EINVAL as cbx_matmul_run, and: C of two batches overlaps, cuBLAS asked for
 *         and not here or not able to; CBX_EDTYPE; CBX_EUNSUPPORTED (an algebra given by
 *         functions); CBX_EOVERFLOW (besides: k of 2^31 or more, more than 2^31 - 1 blocks); what
 *         the driver refuses
 * Allocates nothing. */
CBX_API cbx_status cbx_cuda_matmul_run(cbx_cuda *g, const cbx_cuda_matmul *p, void *stream, cbx_err *err);

/* ---- sparse products ---- */

/** As cbx_ell_product_run, cbx_ell_gather_run and cbx_ell_softmax_run, pointers to device memory
 * (start, index, degree and place, too); queued.  Indices and degrees are not checked.  boolean:
 * the product only.
 * @return CBX_OK; CBX_EINVAL, CBX_EDTYPE, CBX_EOVERFLOW as there; what the driver refuses */
CBX_API cbx_status cbx_cuda_ell_product_run(cbx_cuda *g, const cbx_ell_product *p, void *stream, cbx_err *err);
CBX_API cbx_status cbx_cuda_ell_gather_run(cbx_cuda *g, const cbx_ell_product *p, void *stream, cbx_err *err);
CBX_API cbx_status cbx_cuda_ell_softmax_run(cbx_cuda *g, const cbx_ell_product *p, void *stream, cbx_err *err);

CBX_END_DECLS
#endif
