/*
 * Inside the compiler: nests that run on a GPU.
 */
#ifndef CALIBRAX_ARRAY_JIT_GPU_H
#define CALIBRAX_ARRAY_JIT_GPU_H

#include "calibrax/array/jit/gpu_code.h"

/** What a device does.  All calls are safe from any thread; copies are done when they return. */
typedef struct cbx__gpu {
    bool host; /* the form of code that it loads: cbx__gpu_code */
    cbx_status (*alloc)(struct cbx__gpu *g, size_t bytes, void **out, cbx_err *err);
    void (*free)(struct cbx__gpu *g, void *p);
    cbx_status (*upload)(struct cbx__gpu *g, void *to, const void *from, size_t bytes, cbx_err *err);
    cbx_status (*download)(struct cbx__gpu *g, void *to, const void *from, size_t bytes, cbx_err *err);
    cbx_status (*load)(struct cbx__gpu *g, const cbx_text *image, void **module, cbx_err *err);
    void (*unload)(struct cbx__gpu *g, void *module);
    /** Function `kind` (0: nest, 1: join, 2: finish) of nest i. */
    cbx_status (*function)(struct cbx__gpu *g, void *module, size_t i, int kind, void **out, cbx_err *err);
    /** Queued behind those before. @param parameters  words of 64 bits */
    cbx_status (*launch)(struct cbx__gpu *g, void *function, size_t threads, void *const *parameters, size_t n,
                         cbx_err *err);
} cbx__gpu;

/** GPU `index` of NVIDIA, opened once a process and kept until it ends.
 *  @return CBX_OK; CBX_EUNAVAILABLE, CBX_EINVAL, CBX_EUNSUPPORTED as cbx_cuda_open; CBX_ENOMEM */
cbx_status cbx__gpu_cuda(int index, cbx__gpu **out, cbx_err *err);

/** Nests on a device; read only once it is made. */
typedef struct cbx__gpu_nests {
    cbx_allocator al;
    cbx__gpu *gpu;
    size_t n;
    char why[CBX_ERR_MESSAGE_SIZE]; /* no code can be made for it, so that it takes none; else "" */
    void *module;                   /* NULL: the device takes none of them */
    const cbx__nest **taken;        /* NULL: this one runs on the CPU */
    void *(*functions)[3];
} cbx__gpu_nests;

/** The nests must live as long.  Where LLVM is missing and the code is not on disk, none is taken.
 *  @return CBX_OK; CBX_ENOMEM; what the device returns */
cbx_status cbx__gpu_nests_create(cbx_ctx *ctx, cbx__gpu *gpu, size_t n, const cbx__nest *nests, cbx__gpu_nests **out,
                                 cbx_err *err);
/** NULL is fine. */
void cbx__gpu_nests_free(cbx__gpu_nests *g);

/**
 * Runs a nest that is taken.
 * @param streams  where on the device each stream begins; NULL of those without memory
 * @param results  where each fold's results begin
 * @param left     true: a formula did not hold for an element, and the results are not right
 */
cbx_status cbx__gpu_nest_run(const cbx__gpu_nests *g, size_t i, void *const *streams, void *const *results, bool *left,
                             cbx_err *err);

#endif
