/*
 * What all pages share: the head with its policy, and the style sheet.
 *
 * A page is one text without anything from outside.  Its policy (Content-Security-Policy) allows no
 * request, the one style sheet and, where a page has one, its script, both by their hash; so an
 * element that came out of data could neither run nor be styled.
 */
#ifndef CALIBRAX_PAGES_PAGE_HEAD_H
#define CALIBRAX_PAGES_PAGE_HEAD_H

#include "calibrax/base/text.h"

/* Lines ending with NULL and the hash of them all, "sha256-..."; made of style.css by
 * scripts/embed_assets.py. */
extern const char *const cbx__pages_style[];
extern const char cbx__pages_style_hash[];

/* The policy of a page.  @param script_hash  of its script; NULL: it has none */
void cbx__pages_put_policy(cbx_text *out, const char *script_hash);
/* From the beginning to within <title>: the title, escaped, comes next. */
void cbx__pages_put_head(cbx_text *out, const char *script_hash);
/* From there to within <body>, with a link that leads past what comes before the element `main`.
 * @param skip  what that link says */
void cbx__pages_put_style(cbx_text *out, const char *skip);
/* Lines, as above, in an element that has no attributes: "script". */
void cbx__pages_put_lines(cbx_text *out, const char *element, const char *const *lines);

#endif
