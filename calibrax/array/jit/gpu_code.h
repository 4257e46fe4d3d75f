/*
 * Inside the compiler: nests as functions of a GPU, by LLVM.
 *
 * A nest is one function with a thread for each point of its space.  A nest with folds is three:
 * nest_I, a thread for each leaf of the tree of sums (folds.h) of each result, or, where a result's
 * elements are side by side, 8 threads, one for each of the 8 sums of a leaf, so that neighbours
 * load neighbours; join_I, which joins up to CBX__GPU_JOINED nodes of the tree and is called until
 * one is left; finish_I, a thread for each result.  So a result has the bits that it has on the
 * CPU, but for the sign and payload of NaN.
 *
 * Where a formula of a function does not hold (kernel.h) a thread sets a number, and the nest is to
 * be run on the CPU again: there are no loops to call on a GPU.
 */
#ifndef CALIBRAX_ARRAY_JIT_GPU_CODE_H
#define CALIBRAX_ARRAY_JIT_GPU_CODE_H

#include "calibrax/array/jit/nest.h"
#include "calibrax/base/ctx.h"

/** How the leaves of a nest with folds are numbered: ((outer * nodes) + node) * inner + its
 * place there. */
typedef struct cbx__gpu_tree {
    size_t results, length; /* points that are kept, and that are folded to each of them */
    size_t chunk, chunks;   /* sums begin again after so many */
    unsigned levels;        /* of the tree of a chunk */
    size_t nodes;           /* 2^levels; of those behind a leaf that is higher up, all but the first are empty */
    size_t inner, outer;    /* outer: chunk * results + result, or chunk where results are inner */
    size_t leaves;          /* nodes of all: threads */
} cbx__gpu_tree;

cbx__gpu_tree cbx__gpu_tree_of(const cbx__nest *n);

enum { CBX__GPU_JOINED = 32, CBX__GPU_LANES = 8 /* sums of a leaf */ };

/** Parameters: each stream's first element (NULL: it has no memory), each fold's result, the
 * leaves' numbers, the number that is set;
 *  of join_I also how many nodes are from one to the next. */
static inline size_t cbx__gpu_parameters(const cbx__nest *n) { return n->kernel.streams.n + n->nfolds + 2; }

/** Threads of nest_I; host: one that is for a CPU does the work of all 8 of a leaf. */
size_t cbx__gpu_threads(const cbx__nest *n, bool host);
/** Whether a function of it may find an element for which a formula does not hold. */
bool cbx__gpu_may_leave(const cbx__nest *n);
/** @return CBX_OK; CBX_EUNSUPPORTED: what of it GPUs do not compute, in one sentence */
cbx_status cbx__gpu_takes(const cbx__nest *n, cbx_err *err);

/**
 * The functions of some nests that GPUs take, NULL for others.  PTX is kept on disk (cache.h), and
 * found there without LLVM.
 * @param host  false: PTX for devices of capability 8.0 and later; true: an object for this CPU
 *              with a table `cbx_nests` of 3 functions for each nest, to be called thread by thread
 *              with (void *const *parameters, int64_t thread), for tests
 * @return CBX_OK; CBX_EUNAVAILABLE (no LLVM 19, or one without the target of GPUs); CBX_ENOMEM
 */
cbx_status cbx__gpu_code(cbx_ctx *ctx, bool host, size_t n, const cbx__nest *const *nests, cbx_text *out, cbx_err *err);

#endif
