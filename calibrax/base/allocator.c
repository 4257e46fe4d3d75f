/* Small conveniences over an allocator, and that of the C library. */
#include "calibrax/base/allocator.h"

#include <stdlib.h>
#include <string.h>

static void *libc_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    (void)user;
    (void)old_size;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, new_size);
}

static const cbx_allocator libc_allocator = { libc_resize, NULL };

const cbx_allocator *cbx_allocator_default(void) { return &libc_allocator; }

void *cbx_mem_alloc(const cbx_allocator *al, size_t size) { return size ? al->resize(al->user, NULL, 0, size) : NULL; }

void *cbx_mem_zalloc(const cbx_allocator *al, size_t size)
{
    void *p = cbx_mem_alloc(al, size);
    if (p) memset(p, 0, size);
    return p;
}

void *cbx_mem_calloc(const cbx_allocator *al, size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : cbx_mem_zalloc(al, bytes);
}

void *cbx_mem_resize(const cbx_allocator *al, void *ptr, size_t old_size, size_t new_size)
{
    return al->resize(al->user, ptr, ptr ? old_size : 0, new_size);
}

void cbx_mem_free(const cbx_allocator *al, void *ptr, size_t size)
{
    if (ptr) al->resize(al->user, ptr, size, 0);
}

char *cbx_mem_strdup(const cbx_allocator *al, const char *s)
{
    size_t size = strlen(s) + 1;
    char *copy = cbx_mem_alloc(al, size);
    if (copy) memcpy(copy, s, size);
    return copy;
}

void cbx_mem_strfree(const cbx_allocator *al, char *s)
{
    if (s) cbx_mem_free(al, s, strlen(s) + 1);
}
