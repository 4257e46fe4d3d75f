/* Inside base: the pool's own calls. */
#ifndef CALIBRAX_BASE_POOL_INTERNAL_H
#define CALIBRAX_BASE_POOL_INTERNAL_H

#include "calibrax/base/pool.h"

/** A pool with one reference, held by the caller; memory below 2 MiB comes from the allocator,
 * which is copied. */
cbx_status cbx__pool_create(const cbx_allocator *al, size_t keep_bytes, cbx_pool **out, cbx_err *err);
/** Unmaps what is kept and keeps nothing from now on: the context has died, buffers may still come
 * back. */
void cbx__pool_close(cbx_pool *pool);
/** Capacity of the size class that serves a request; 0 if it is too large for any. */
size_t cbx__pool_class(size_t size);

#endif
