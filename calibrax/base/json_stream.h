/*
 * JSON from a source that comes in pieces: elements of chosen arrays go by one at a time, so that
 * memory does not grow with the text.  Values, faults, messages and offsets are those of
 * cbx_json_parse, which runs the same functions.
 */
#ifndef CALIBRAX_BASE_JSON_STREAM_H
#define CALIBRAX_BASE_JSON_STREAM_H

#include "calibrax/base/hash.h"
#include "calibrax/base/json.h"

/** Where text comes from: up to `size` bytes into `to`; *got 0 is the end. */
typedef struct cbx__json_source {
    cbx_status (*read)(void *user, char *to, size_t size, size_t *got, cbx_err *err);
    void *user;
} cbx__json_source;

/** The position in the text, for a sieve. */
typedef struct cbx__json_reader cbx__json_reader;
/** Open brackets, that of the array included. */
size_t cbx__json_reader_depth(const cbx__json_reader *r);
/** The key of the member that is open in the level-th of them, from 1 on; NULL: that is an array.
 * Until the call returns. */
const char *cbx__json_reader_key(const cbx__json_reader *r, size_t level);

/** Chooses arrays that stay empty in the value; their elements are passed to take, one at a
 * time. */
typedef struct cbx__json_sieve {
    /* Called where an array begins. */
    bool (*wants)(void *user, const cbx__json_reader *r);
    /* Its i-th element, NULL for null, freed after the call.  A result other than CBX_OK ends the
     * reading, and is returned there. */
    cbx_status (*take)(void *user, const cbx__json_reader *r, size_t i, const cbx_json *element, cbx_err *err);
    void *user;
} cbx__json_sieve;

/**
 * Reads the one value of a source.
 * @param sieve  NULL: the value is held whole
 * @param what   names the source in messages
 * @return CBX_OK; as cbx_json_parse; what the source or the sieve returned
 */
cbx_status cbx__json_stream(const cbx__json_source *source, const cbx__json_sieve *sieve, const char *what,
                            cbx_json **out, cbx_err *err);
/**
 * The same of a file.
 * @param hash  of all of its bytes, also those not yet read; "": it cannot be read; may be NULL
 * @return also as cbx_file_read, with its messages
 */
cbx_status cbx__json_stream_file(const char *path, const cbx__json_sieve *sieve, const char *what,
                                 char hash[CBX_HASH_SIZE], cbx_json **out, cbx_err *err);

/** Whether it is a number or one of the strings that represent a non-finite one, which goes
 * to *out. */
bool cbx__json_double(const cbx_json *v, double *out);

/**
 * Bytes of the mark that a text may begin with: 3 for UTF-8, else 0.
 * @param n  bytes at s, the whole text or at least 3 of it
 * @return CBX_OK; CBX_EFORMAT: the text is UTF-16
 */
cbx_status cbx__byte_order_mark(const char *s, size_t n, const char *what, size_t *mark, cbx_err *err);

#endif
