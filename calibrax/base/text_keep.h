/*
 * The end of a text that becomes a string in an arena.
 */
#ifndef CALIBRAX_BASE_TEXT_KEEP_H
#define CALIBRAX_BASE_TEXT_KEEP_H

#include "calibrax/base/arena.h"
#include "calibrax/base/text.h"

/** What a text holds, as a copy in an arena; the text is cleared.  NULL: out of memory, now or
 * while the text was written. */
static inline char *cbx__text_keep(cbx_text *t, cbx_arena *arena)
{
    char *kept = t->status ? NULL : cbx_arena_strdup(arena, cbx_text_str(t));
    cbx_text_clear(t);
    return kept;
}

#endif
