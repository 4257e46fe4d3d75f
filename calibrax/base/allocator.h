/**
 * Where memory comes from: one function, given by the caller, and small conveniences over it.
 */
#ifndef CALIBRAX_BASE_ALLOCATOR_H
#define CALIBRAX_BASE_ALLOCATOR_H

#include <stddef.h>

#include "calibrax/base/api.h"

CBX_BEGIN_DECLS

/**
 * One function allocates, grows, shrinks and frees; it is always told the old size (0 with ptr
 * NULL).  new_size 0 frees and returns NULL.  Returns NULL on failure and leaves ptr as it was.
 * Memory is aligned for max_align_t.  If objects made with it are shared between threads it must be
 * thread-safe.
 */
typedef struct cbx_allocator {
    void *(*resize)(void *user, void *ptr, size_t old_size, size_t new_size);
    void *user;
} cbx_allocator;

/** Small conveniences over an allocator.  A size of 0 gives NULL from cbx_mem_alloc, which is no
 * failure. */
CBX_API void *cbx_mem_alloc(const cbx_allocator *al, size_t size);
CBX_API void *cbx_mem_zalloc(const cbx_allocator *al, size_t size);
/** Array of count*size bytes, zeroed; NULL if the product overflows. */
CBX_API void *cbx_mem_calloc(const cbx_allocator *al, size_t count, size_t size);
CBX_API void *cbx_mem_resize(const cbx_allocator *al, void *ptr, size_t old_size, size_t new_size);
CBX_API void cbx_mem_free(const cbx_allocator *al, void *ptr, size_t size);
/** Copy of a string; free with cbx_mem_free(al, s, strlen(s) + 1), or cbx_mem_strfree. */
CBX_API char *cbx_mem_strdup(const cbx_allocator *al, const char *s);
CBX_API void cbx_mem_strfree(const cbx_allocator *al, char *s);

/** The C library's allocator, for tools and tests. */
CBX_API const cbx_allocator *cbx_allocator_default(void);

CBX_END_DECLS
#endif
