/*
 * codecarbon's file: whatever is accepted has no more lines than bytes, and every text is there.
 */
#include <stdint.h>
#include <string.h>

#include "calibrax/profiling/carbon.h"
#include "fuzz.h"

FUZZ_ENTRY()
{
    const cbx_emissions *lines = NULL;
    cbx_arena arena;
    size_t n = 0;

    cbx_arena_init(&arena, cbx_allocator_default());
    if (cbx_emissions_parse((const char *)data, size, "fuzz", &arena, &lines, &n, NULL) == CBX_OK) {
        if (n > size) __builtin_trap();
        for (size_t i = 0; i < n; i++) {
            if (!lines[i].timestamp || !lines[i].on_cloud || strlen(lines[i].timestamp) > size) __builtin_trap();
        }
    }
    cbx_arena_clear(&arena);
    return 0;
}
