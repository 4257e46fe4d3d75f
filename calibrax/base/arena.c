/*
 * Arena: bump allocation in chunks of 4 KiB doubling to 1 MiB; a larger request gets a chunk of its
 * own.
 *
 * Freeing singly is what the callers never need: names of a folder, fields of a record, parts of a
 * report.
 */
#include "calibrax/base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CHUNK_FIRST ((size_t)4096)
#define MAX_CHUNK   ((size_t)1 << 20)
#define ALIGNMENT   alignof(max_align_t)

struct cbx_arena_chunk {
    cbx_arena_chunk *next;
    size_t size, used; /* of the whole chunk, this header included */
};

#define HEADER ((sizeof(cbx_arena_chunk) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)

void cbx_arena_init(cbx_arena *arena, const cbx_allocator *al)
{
    arena->al = *al;
    arena->head = NULL;
    arena->next_chunk = CHUNK_FIRST;
}

void cbx_arena_clear(cbx_arena *arena)
{
    while (arena->head) {
        cbx_arena_chunk *dead = arena->head;
        arena->head = dead->next;
        cbx_mem_free(&arena->al, dead, dead->size);
    }
    arena->next_chunk = CHUNK_FIRST;
}

/* A chunk for `need` bytes, put in front.  Built with CBX_ARENA_DEBUG it holds nothing else. */
static cbx_arena_chunk *chunk_add(cbx_arena *arena, size_t need)
{
    size_t size = HEADER + need;
#ifndef CBX_ARENA_DEBUG
    if (size < arena->next_chunk) size = arena->next_chunk;
#endif
    cbx_arena_chunk *chunk = cbx_mem_alloc(&arena->al, size);
    if (!chunk) return NULL;
    chunk->size = size;
    chunk->used = HEADER;
    chunk->next = arena->head;
    arena->head = chunk;
    if (arena->next_chunk < MAX_CHUNK) arena->next_chunk *= 2;
    return chunk;
}

void *cbx_arena_alloc(cbx_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
#ifdef CBX_ARENA_DEBUG
    size_t need = size ? size : 1;
    cbx_arena_chunk *chunk = NULL;
#else
    size_t need = size ? (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    cbx_arena_chunk *chunk = arena->head;
#endif
    if (!chunk || chunk->size - chunk->used < need) chunk = chunk_add(arena, need);
    if (!chunk) return NULL;
    char *p = (char *)chunk + chunk->used;
    chunk->used += need;
    memset(p, 0, need);
    return p;
}

void *cbx_arena_calloc(cbx_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : cbx_arena_alloc(arena, bytes);
}

char *cbx_arena_strndup(cbx_arena *arena, const char *s, size_t n)
{
    if (!s) return NULL;
    size_t len = strnlen(s, n);
    char *copy = cbx_arena_alloc(arena, len + 1);
    if (copy) memcpy(copy, s, len);
    return copy;
}

char *cbx_arena_strdup(cbx_arena *arena, const char *s) { return s ? cbx_arena_strndup(arena, s, strlen(s)) : NULL; }

/* Into the free space of the first chunk; text that is longer is formatted again. */
char *cbx_arena_vprintf(cbx_arena *arena, const char *fmt, va_list args)
{
    static char nowhere;
    char *s = &nowhere;
    size_t space = 0;
    va_list again;
#ifndef CBX_ARENA_DEBUG
    if (arena->head) space = arena->head->size - arena->head->used;
    if (space) s = (char *)arena->head + arena->head->used;
#endif
    va_copy(again, args);
    int n = vsnprintf(s, space, fmt, args);
    if (n >= 0 && (size_t)n < space) {
        size_t need = ((size_t)n + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
        arena->head->used += need < space ? need : space;
    } else {
        s = n < 0 ? NULL : cbx_arena_alloc(arena, (size_t)n + 1);
        if (s) vsnprintf(s, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    return s;
}

char *cbx_arena_printf(cbx_arena *arena, const char *fmt, ...)
{
    va_list args;
    char *s;

    va_start(args, fmt);
    s = cbx_arena_vprintf(arena, fmt, args);
    va_end(args);
    return s;
}

static void *resize_in_arena(void *user, void *ptr, size_t old_size, size_t new_size)
{
    void *p;

    if (new_size <= old_size) return new_size ? ptr : NULL;
    p = cbx_arena_alloc(user, new_size);
    if (p && old_size) memcpy(p, ptr, old_size);
    return p;
}

cbx_allocator cbx_arena_allocator(cbx_arena *arena) { return (cbx_allocator){ resize_in_arena, arena }; }

void *cbx_arena_object(const cbx_allocator *al, size_t size, size_t arena_at)
{
    cbx_arena arena;
    char *object;

    cbx_arena_init(&arena, al);
    object = cbx_arena_alloc(&arena, size);
    if (object) memcpy(object + arena_at, &arena, sizeof arena);
    return object;
}

void cbx_arena_end(cbx_arena *arena)
{
    cbx_arena all = *arena;

    cbx_arena_clear(&all);
}
