/*
 * The state of reading JSON; for json_token.c, json_parse.c and json_reader.c alone.
 *
 * The text is a window of what is read: all of it, or what a source has given so far and nobody has passed yet.  A token is always whole
 * in the window while it is looked at: one that ends where the window ends is read again behind more text.
 */
#ifndef CALIBRAX_BASE_JSON_PARSER_H
#define CALIBRAX_BASE_JSON_PARSER_H

#include <locale.h>

#include "calibrax/base/json_reader.h"
#include "calibrax/base/json_value.h"

#define CBX__JSON_LENGTH_MOST ((size_t)2 << 30) /* of a text that is read at once, and of one token */

/* What belongs to containers that are not closed yet, the innermost on top. */
typedef struct json_stack {
    void *data;
    size_t n, room;
} json_stack;

struct cbx__json_reader {
    const char *text, *at, *end; /* the window */
    const char *what;
    cbx_err *err; /* of the call under way */
    size_t depth;
    locale_t c_locale; /* a decimal point is a point, whatever the process has set */
    json_stack items, members, keys;
    cbx__json_sieve sieve; /* .take NULL: none */
    size_t path[CBX__JSON_DEPTH_MOST +
                1]; /* of the open brackets of a value: 1 + where the open member's key stands in keys, 0 in an array */

    /* a source, from which more text comes */
    cbx__json_source source; /* .read NULL: the window is all */
    uint64_t base;           /* where the window begins */
    char *buffer;
    size_t room;
    bool drained;
    bool begun;       /* something else than blanks has come */
    cbx_status fault; /* of the source, and its message */
    cbx_err why;

    /* containers that were entered one by one */
    bool first; /* nothing of the innermost has been read */
    char brackets[CBX__JSON_DEPTH_MOST + 1];
    char *key;
    size_t key_room;
};

/* A string as it stands in the text, or decoded if it holds escapes. */
typedef struct json_piece {
    const char *bytes;
    size_t len;
    json_string *decoded; /* NULL: in the window, until that moves */
} json_piece;

#define CBX__JSON_NO_KEY "a key that is no string"

/* json_reader.c */
cbx_status cbx__json_begin(cbx__json_reader *p);
void cbx__json_end(cbx__json_reader *p);
/* More text behind the window, which moves: what is from *keep on stays, and *keep and p->at say where it is.  false: there is none. */
bool cbx__json_more(cbx__json_reader *p, const char **keep);

/* json_token.c */
void cbx__json_skip_blanks(cbx__json_reader *p);
cbx_status cbx__json_malformed(const cbx__json_reader *p, const char *at, const char *fault);
cbx_status cbx__json_no_memory(const cbx__json_reader *p);
/* Something else than what may stand here. */
cbx_status cbx__json_unexpected(const cbx__json_reader *p, const char *fault);
/* A number or a word, at its first byte.  out NULL: only looked at for faults. */
cbx_status cbx__json_scalar(cbx__json_reader *p, cbx_json *out);
/* At the opening quote.  What was decoded is the caller's. */
cbx_status cbx__json_string(cbx__json_reader *p, json_piece *out);

/* json_parse.c */
cbx_status cbx__json_value(cbx__json_reader *p, cbx_json *out);
/* Behind an element: a comma and more, or the bracket that closes. */
cbx_status cbx__json_separator(cbx__json_reader *p, char close, bool *more);
/* Of a container that begins here. */
cbx_status cbx__json_deeper(cbx__json_reader *p);
/* The colon behind a key, and the blanks around it. */
cbx_status cbx__json_colon(cbx__json_reader *p);
/* What was read, for the caller to own; null is NULL. */
cbx_status cbx__json_own(const cbx__json_reader *p, const cbx_json *place, cbx_json **out);

static inline char cbx__json_peek(const cbx__json_reader *p) { return p->at < p->end ? *p->at : 0; }

static inline void cbx__json_skip_space(cbx__json_reader *p)
{
    if (p->at >= p->end || *p->at <= ' ') cbx__json_skip_blanks(p);
}

#endif
