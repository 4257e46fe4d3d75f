/*
 * Inside the compiler: nests that run on a GPU.
 */
#ifndef CALIBRAX_ARRAY_JIT_GPU_H
#define CALIBRAX_ARRAY_JIT_GPU_H

#include <pthread.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/gpu_code.h"

enum { CBX__GPU_KEPT = 256 }; /* blocks that wait for their next use, at most */

/**
 * A device.  All calls are safe from any thread; copies are done when they return.  What is queued
 * is carried out in order, so a block may be used again at once.
 */
typedef struct cbx__gpu {
    cbx__memory memory; /* first: of arrays there (gpu_memory.h) */
    bool host;          /* the form of code that it loads: cbx__gpu_code */
    const char *name;
    size_t total_bytes; /* of its memory; 0: not known */
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
    /** Until all that was queued, by this process and on whatever stream, is done. */
    cbx_status (*wait)(struct cbx__gpu *g, cbx_err *err);
    pthread_mutex_t lock; /* of what follows */
    size_t nkept;
    struct cbx__gpu_block {
        void *p;
        size_t bytes;
    } kept[CBX__GPU_KEPT]; /* the last given back last */
} cbx__gpu;

/** GPU `index` of NVIDIA, opened once a process and kept until it ends.
 *  @return CBX_OK; CBX_EUNAVAILABLE, CBX_EINVAL, CBX_EUNSUPPORTED as cbx_cuda_open; CBX_ENOMEM */
cbx_status cbx__gpu_cuda(int index, cbx__gpu **out, cbx_err *err);
/** For tests: GPU 0 is this one from now on; NULL: the real one. */
void cbx__gpu_cuda_play(cbx__gpu *gpu);

/** Nests on a device; read only once it is made. */
typedef struct cbx__gpu_nests {
    cbx_allocator al;
    cbx__gpu *gpu;
    size_t n;
    char why[CBX_ERR_MESSAGE_SIZE]; /* no code can be made for it, so that it takes none; else "" */
    void *module;                   /* NULL: the device takes none of them */
    const cbx__nest **taken;        /* NULL: this one runs on the CPU */
    void *(*functions)[3];
    size_t nconstants;
    cbx_array **constants; /* of a program: its constants on the device, by value; NULL: not sent yet */
} cbx__gpu_nests;

/** The nests must live as long.  Where LLVM is missing and the code is not on disk, none is taken.
 *  @return CBX_OK; CBX_ENOMEM; what the device returns */
cbx_status cbx__gpu_nests_create(cbx_ctx *ctx, cbx__gpu *gpu, size_t n, const cbx__nest *nests, size_t nconstants,
                                 cbx__gpu_nests **out, cbx_err *err);
/** NULL is fine. */
void cbx__gpu_nests_free(cbx__gpu_nests *g);

/**
 * Runs a nest that is taken.
 * @param streams  where on the device each stream begins; NULL of those without memory
 * @param results  where each fold's results begin
 * @param left     true: a formula did not hold for an element, and the results are not right
 */
cbx_status cbx__gpu_nest_run(cbx_ctx *ctx, const cbx__gpu_nests *g, size_t i, void *const *streams,
                             void *const *results, bool *left, cbx_err *err);

#endif
