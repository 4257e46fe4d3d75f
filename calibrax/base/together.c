/* Arrays in an arena, and texts of which some are escaped. */
#include "calibrax/base/together.h"

#include <string.h>

bool cbx__arena_fill(cbx_arena *arena, const cbx__arena_array *arrays, size_t n)
{
    bool good = true;

    for (size_t i = 0; i < n; i++) {
        void *p = cbx_arena_calloc(arena, arrays[i].n, arrays[i].size);
        memcpy(arrays[i].pointer, &p, sizeof p);
        good = good && p;
    }
    return good;
}

void cbx__put_mixed(cbx_text *t, void (*put)(cbx_text *t, const char *s), ...)
{
    bool plain = true;
    va_list args;

    va_start(args, put);
    for (const char *s; (s = va_arg(args, const char *)) != NULL; plain = !plain) (plain ? cbx_text_puts : put)(t, s);
    va_end(args);
}
