/* Inside the library: what is made or written together, by one call. */
#ifndef CALIBRAX_BASE_TOGETHER_H
#define CALIBRAX_BASE_TOGETHER_H

#include <stdbool.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/text.h"

typedef struct cbx__arena_array {
    void *pointer; /* address of a pointer of any type */
    size_t n, size;
} cbx__arena_array;

/** Arrays, each as cbx_arena_calloc makes it.  false: out of memory.
 *     if (!cbx_arena_arrays(&arena, CBX_ARRAY(x, n), CBX_ARRAY(names, n + 1)))
 *         return cbx_fail_nomem(err, "a plot"); */
#define cbx_arena_arrays(arena, ...)                                                                                   \
    cbx__arena_fill(arena, (const cbx__arena_array[]){ __VA_ARGS__ },                                                  \
                    sizeof((const cbx__arena_array[]){ __VA_ARGS__ }) / sizeof(cbx__arena_array))
#define CBX_ARRAY(pointer, n) ((cbx__arena_array){ &(pointer), n, sizeof *(pointer) })
bool cbx__arena_fill(cbx_arena *arena, const cbx__arena_array *arrays, size_t n);

/** A text in an arena, with which it ends: it needs no clear. */
static inline cbx_text cbx__arena_text(cbx_arena *arena) { return (cbx_text){ .al = cbx_arena_allocator(arena) }; }

/** Texts up to a NULL: the first as it is, the second by `put`, which escapes, and so on in turn. A
 * NULL in the place of a text ends the call.
 *     cbx__put_mixed(t, cbx_text_put_html, "<b>", words, "</b>", NULL); */
void cbx__put_mixed(cbx_text *t, void (*put)(cbx_text *t, const char *s), ...) __attribute__((sentinel));

#endif
