/**
 * Growing arrays over an allocator: for items that are added one at a time, or for a capacity made
 * in advance.
 *
 *     CBX_LIST(double) times = { 0 };
 *     if (!cbx_list_push(al, &times, seconds)) st = cbx_fail_nomem(err, "the times");
 *     for (size_t i = 0; i < times.n; i++) sum += times.items[i];
 *     cbx_list_clear(al, &times);
 *
 * Every call gets the same allocator.  cbx_arena_allocator makes one of an arena; a list in an
 * arena needs no clear.
 */
#ifndef CALIBRAX_BASE_LIST_H
#define CALIBRAX_BASE_LIST_H

#include <stdbool.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

/** The type of a list; it starts zeroed.  A pointer into items is valid until the list next
 * grows. */
#define CBX_LIST(type)                                                                                                 \
    struct {                                                                                                           \
        type *items;                                                                                                   \
        size_t n, capacity;                                                                                            \
    }

/** Capacity for at least `wanted` items in all.  false: out of memory, and the list is as it
 * was. */
#define cbx_list_reserve(al, list, wanted)                                                                             \
    cbx_grow(al, &(list)->items, &(list)->capacity, wanted, sizeof *(list)->items)
/** Adds a copy of the last argument.  false: out of memory.  `list` is evaluated more than once. */
#define cbx_list_push(al, list, ...)                                                                                   \
    (cbx_list_reserve(al, list, (list)->n + 1) && ((list)->items[(list)->n++] = (__VA_ARGS__), true))
/** Frees the items; the list is empty and can be used again. */
#define cbx_list_clear(al, list)                                                                                       \
    (cbx_mem_free(al, (list)->items, (list)->capacity * sizeof *(list)->items), (list)->items = NULL,                  \
     (list)->n = (list)->capacity = 0)

/**
 * The same for a pointer and a capacity that lie elsewhere: at least doubles the capacity if it is
 * below `wanted`.  New items are not zeroed.
 * @param items     address of the pointer to the items, of any type; the pointer is NULL while the
 *   capacity is 0
 * @param capacity  items allocated; the memory is freed with capacity * size
 * @param size      of an item, > 0
 * @return false: out of memory, or a size beyond SIZE_MAX; nothing has changed
 */
CBX_API bool cbx_grow(const cbx_allocator *al, void *items, size_t *capacity, size_t wanted, size_t size);

/** For qsort and bsearch over `const char *`: by byte value, as strcmp. */
CBX_API int cbx_compare_texts(const void *a, const void *b);
/** For qsort over double: ascending, NaN last. */
CBX_API int cbx_compare_doubles(const void *a, const void *b);

CBX_END_DECLS
#endif
