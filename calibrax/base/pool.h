/**
 * Block pool: large buffers, kept for re-use after they are freed.
 *
 * Fresh pages are what is slow on virtual machines (about 2 us per 4 KiB page, ten times the cost
 * of writing it), so a freed block stays mapped and goes to the next request of its size class.
 * Blocks of 2 MiB and more are mapped on a 2 MiB boundary with MADV_HUGEPAGE.  All blocks are
 * 64-byte aligned.
 *
 * The pool is reference-counted and locked: a buffer may be returned from another thread, and after
 * its context died.
 */
#ifndef CALIBRAX_BASE_POOL_H
#define CALIBRAX_BASE_POOL_H

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

typedef struct cbx_pool cbx_pool;

typedef struct cbx_block {
    void *data;      /* 64-byte aligned; content is undefined */
    size_t capacity; /* bytes, >= the size asked for */
} cbx_block;

typedef struct cbx_pool_stats {
    uint64_t requests;   /* blocks handed out */
    uint64_t reused;     /* of these, served from kept blocks */
    size_t bytes_in_use; /* capacity handed out now */
    size_t bytes_kept;   /* capacity waiting for re-use */
    size_t bytes_in_use_peak;
} cbx_pool_stats;

/** The context's pool, borrowed; take a reference to keep it longer. */
CBX_API cbx_pool *cbx_ctx_pool(cbx_ctx *ctx);
CBX_API cbx_pool *cbx_pool_ref(cbx_pool *pool);
CBX_API void cbx_pool_unref(cbx_pool *pool);

/** @return CBX_OK; CBX_ENOMEM.  size 0 gives {NULL, 0}. */
CBX_API cbx_status cbx_pool_get(cbx_pool *pool, size_t size, cbx_block *out, cbx_err *err);
/** Gives a block back; {NULL, 0} is fine. */
CBX_API void cbx_pool_put(cbx_pool *pool, cbx_block block);
/** Unmaps every kept block. */
CBX_API void cbx_pool_trim(cbx_pool *pool);
CBX_API void cbx_pool_get_stats(cbx_pool *pool, cbx_pool_stats *out);

CBX_END_DECLS
#endif
