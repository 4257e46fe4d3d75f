/**
 * Arena: many small things that end together.  Grows in chunks (4 KiB doubling to 1 MiB); nothing
 * is freed singly.  Built with CBX_ARENA_DEBUG every allocation is made alone, so that sanitizers
 * see overruns.
 *
 * What a call returns belongs to the arena and lives until cbx_arena_clear.  NULL means out of
 * memory: there is no error record, the caller reports it; the arena stays usable.  One thread uses
 * an arena at a time.
 */
#ifndef CALIBRAX_BASE_ARENA_H
#define CALIBRAX_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

typedef struct cbx_arena_chunk cbx_arena_chunk;

/** Lives where the caller puts it; the allocator is copied. */
typedef struct cbx_arena {
    cbx_allocator al;
    cbx_arena_chunk *head;
    size_t next_chunk;
} cbx_arena;

/** Allocates nothing yet.  `al` must not be NULL; its user pointer must outlive the arena. */
CBX_API void cbx_arena_init(cbx_arena *arena, const cbx_allocator *al);
/** Frees everything; the arena can be used again. */
CBX_API void cbx_arena_clear(cbx_arena *arena);
/** Zeroed, aligned for max_align_t; NULL on failure.  size 0 gives a distinct valid pointer. */
CBX_API void *cbx_arena_alloc(cbx_arena *arena, size_t size);
/** count*size zeroed bytes; NULL on failure or overflow.  0 elements give a distinct valid
 * pointer. */
CBX_API void *cbx_arena_calloc(cbx_arena *arena, size_t count, size_t size);
/** Copies; s NULL gives NULL (also the failure value). */
CBX_API char *cbx_arena_strdup(cbx_arena *arena, const char *s);
/** At most n bytes of s, NUL-terminated; s need not be terminated within them. */
CBX_API char *cbx_arena_strndup(cbx_arena *arena, const char *s, size_t n);
/** As sprintf, as long as it gets; NULL on failure, or for a format the C library refuses. */
CBX_API char *cbx_arena_printf(cbx_arena *arena, const char *fmt, ...) CBX_PRINTF(2, 3);
CBX_API char *cbx_arena_vprintf(cbx_arena *arena, const char *fmt, va_list args);

/**
 * An allocator over an arena, for lists and texts that end with it: freeing and shrinking do
 * nothing.
 * The arena must outlive it and not move.
 */
CBX_API cbx_allocator cbx_arena_allocator(cbx_arena *arena);
/** Its address until the block ends, for a call: cbx_list_push(CBX_IN_ARENA(arena), &list, x). */
#define CBX_IN_ARENA(arena) ((const cbx_allocator[]){ cbx_arena_allocator(arena) })

/** A zeroed object in an arena of its own, which is its member at arena_at.  NULL: out of memory.
 *     cbx_guard *g = CBX_ARENA_OBJECT(cbx_guard, al);
 * The object is in that arena, which is therefore ended by cbx_arena_end and never cleared.
 */
CBX_API void *cbx_arena_object(const cbx_allocator *al, size_t size, size_t arena_at);
#define CBX_ARENA_OBJECT(T, al) ((T *)cbx_arena_object(al, sizeof(T), offsetof(T, arena)))
/** Frees such an object and all else that is in its arena; the arena must not be NULL. */
CBX_API void cbx_arena_end(cbx_arena *arena);

CBX_END_DECLS
#endif
