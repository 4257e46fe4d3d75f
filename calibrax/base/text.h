/**
 * Text: a growing string with a sticky failure, and the number formats that every output shares.
 */
#ifndef CALIBRAX_BASE_TEXT_H
#define CALIBRAX_BASE_TEXT_H

#include <stdbool.h>

#include "calibrax/base/allocator.h"
#include "calibrax/base/status.h"

CBX_BEGIN_DECLS

/**
 * Append as often as you like, look at `status` once: after a failed allocation the rest is
 * ignored, and what was there before stays.  Appending copies: the text never keeps a pointer it
 * was given.  One thread uses a text at a time.
 */
typedef struct cbx_text {
    cbx_allocator al;
    char *data; /* NUL-terminated whenever len > 0; use cbx_text_str to read */
    size_t len, cap;
    cbx_status status; /* CBX_OK or CBX_ENOMEM */
} cbx_text;

/** Allocates nothing yet.  `al` must not be NULL; its user pointer must outlive the text. */
CBX_API void cbx_text_init(cbx_text *t, const cbx_allocator *al);
/** Frees the memory and forgets a failure; usable again afterwards. */
CBX_API void cbx_text_clear(cbx_text *t);
/** Sets the length to 0, forgets a failure, and keeps the memory. */
CBX_API void cbx_text_reset(cbx_text *t);
/** n bytes, NUL among them too; n 0 adds nothing, and bytes may then be NULL.  Must not point into
 * the text itself. */
CBX_API void cbx_text_add(cbx_text *t, const char *bytes, size_t n);
/** s must not be NULL, here and below. */
CBX_API void cbx_text_puts(cbx_text *t, const char *s);
CBX_API void cbx_text_putc(cbx_text *t, char c);
CBX_API void cbx_text_printf(cbx_text *t, const char *fmt, ...) CBX_PRINTF(2, 3);
/** Escapes & < > " ' for HTML text and attributes. */
CBX_API void cbx_text_put_html(cbx_text *t, const char *s);
/** Text in Markdown: its own characters get a backslash, or an entity where that is safer; control
 * characters are blanks. */
CBX_API void cbx_text_put_markdown(cbx_text *t, const char *s);
/** A field of CSV, in quotes where its content asks for them; control characters but the ends of
 * lines are blanks in it.  Source: RFC 4180. */
CBX_API void cbx_text_put_csv(cbx_text *t, const char *s);
/**
 * Length of the character that begins at s; 0: the text ends.
 * @param control  written unless it ends: no line of text holds this one as it is, a control
 *                 character (those beyond ASCII and the separators of lines and paragraphs are
 *                 among them), or a byte that is no UTF-8
 */
CBX_API size_t cbx_text_char(const char *s, bool *control);
/** Adds s as one line that a terminal shows and does not obey: each byte of such a character as
 * \xNN. */
CBX_API void cbx_text_put_plain(cbx_text *t, const char *s);
/** In place, with a blank for each such byte. */
CBX_API void cbx_text_blank(char *s);
/** Content as a C string, "" when empty; valid until the text is next changed. */
CBX_API const char *cbx_text_str(const cbx_text *t);
/** CBX_OK, or CBX_ENOMEM recorded in err (may be NULL). */
CBX_API cbx_status cbx_text_check(const cbx_text *t, cbx_err *err);

/** Buffer size that holds any result of cbx_format_double and cbx_format_seconds, which return buf.
 * Safe from any thread. */
#define CBX_FORMAT_SIZE 32
/** Shortest decimal that reads back as the same double, as Python's repr writes it ("1200.0",
 * "1e-06", "nan", "inf").
 */
CBX_API const char *cbx_format_double(double v, char buf[CBX_FORMAT_SIZE]);
/** Seconds for people: below 1 us in ns, below 1 ms in us with 1 decimal, below 0.1 s in ms with 2,
 * below 1 s in ms with 1, else s with 3. "-" for NaN. */
CBX_API const char *cbx_format_seconds(double seconds, char buf[CBX_FORMAT_SIZE]);
#define CBX_FORMAT_INTERVAL_SIZE 128
/** "3.21 ms [3.19, 3.25]", the ends in the unit of the value; without brackets where a number is
 * not finite. */
CBX_API const char *cbx_format_seconds_interval(double seconds, double lower, double upper,
                                                char buf[CBX_FORMAT_INTERVAL_SIZE]);
/** "0.124 [0.121, 0.127]": three significant digits, four where the interval needs them; without
 * brackets where an end is not finite; "-" for what is not above 0. */
CBX_API const char *cbx_format_ratio(double ratio, double lower, double upper, char buf[CBX_FORMAT_INTERVAL_SIZE]);

/** True for a name of 1..128 characters [A-Za-z0-9._-] that does not begin with '.' or '-': safe as
 * a file name. */
CBX_API bool cbx_name_is_safe(const char *s);
/**
 * The candidate nearest to word by edit distance (at most 3 edits and half the length), or NULL;
 * for "did you mean".  The result is one of the candidates' own pointers; n 0 gives NULL.
 */
CBX_API const char *cbx_nearest_word(const char *word, const char *const *candidates, size_t n);

CBX_END_DECLS
#endif
