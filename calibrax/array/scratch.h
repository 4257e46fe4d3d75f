/*
 * Inside the library: what one call needs and gives back.
 */
#ifndef CALIBRAX_ARRAY_SCRATCH_H
#define CALIBRAX_ARRAY_SCRATCH_H

#include "calibrax/array/array.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/pool.h"

/* An array that is freed where its block ends: CBX_OWNED(cbx_array) *copy = NULL; */
CBX_FREED_BY(cbx_array, cbx_array_free)

/** Memory of the pool until the block ends: CBX_SCOPED(cbx__scratch, scratch, ctx), then
 * cbx__scratch_get. */
typedef struct cbx__scratch {
    cbx_pool *pool;
    cbx_block block;
    void *data;
} cbx__scratch;

static inline void cbx__scratch_init(cbx__scratch *s, cbx_ctx *ctx)
{
    *s = (cbx__scratch){ .pool = cbx_ctx_pool(ctx) };
}
static inline void cbx__scratch_clear(cbx__scratch *s) { cbx_pool_put(s->pool, s->block); }
static inline cbx_status cbx__scratch_get(cbx__scratch *s, size_t bytes, cbx_err *err)
{
    const cbx_status st = cbx_pool_get(s->pool, bytes, &s->block, err);

    s->data = s->block.data;
    return st;
}

#endif
