/*
 * Parts of a page: elements with words, links, navigation, facts, tables.
 *
 * Words and addresses are escaped here; classes and labels of navigation are the program's own
 * texts.  End tags that HTML makes optional are left out in tables and facts.
 */
#ifndef CALIBRAX_PAGES_PAGE_PARTS_H
#define CALIBRAX_PAGES_PAGE_PARTS_H

#include "calibrax/base/text.h"

/* An element with words, and a line end: "h1".  class: NULL or "": none, here and below. */
void cbx__pages_put(cbx_text *out, const char *element, const char *class, const char *words);
/* A link, with one more attribute, "rel=next", or NULL; href NULL: the words alone. */
void cbx__pages_put_link(cbx_text *out, const char *href, const char *attribute, const char *words);

typedef struct cbx__page_link {
    const char *href, *words; /* href NULL: no link */
    const char *attribute;    /* "rel=next"; NULL: none */
} cbx__page_link;

/* Links of a kind, as a list. */
void cbx__pages_put_nav(cbx_text *out, const char *class, const char *label, const cbx__page_link *links, size_t n);

static inline void cbx__pages_begin_facts(cbx_text *out) { cbx_text_puts(out, "<dl class=facts>"); }
void cbx__pages_put_fact(cbx_text *out, const char *name, const char *href, const char *value);
static inline void cbx__pages_end_facts(cbx_text *out) { cbx_text_puts(out, "</dl>\n"); }

typedef struct cbx__column {
    const char *title, *key; /* on the page, in JSON; NULL: not there */
    const char *class;       /* "n": a number, at the right edge; "v": a verdict; NULL: words */
} cbx__column;

/* A table in a region that scrolls, with its heads.  @param label  its name and caption, for screen
 * readers  @param n  0: the caller writes the heads */
void cbx__pages_begin_table(cbx_text *out, const char *class, const char *label, const cbx__column *columns, size_t n);
void cbx__pages_begin_row(cbx_text *out, const char *class);
/* A cell, whose content comes next.  @param head  it is the head of its row */
void cbx__pages_begin_cell(cbx_text *out, const char *class, bool head);
static inline void cbx__pages_end_table(cbx_text *out) { cbx_text_puts(out, "</table></div>\n"); }

#endif
