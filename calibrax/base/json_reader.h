/*
 * JSON piece by piece: what is too long to be held as one value is walked through, element by element, in memory that does not grow with
 * it.  The same tokens, the same faults in the same words and at the same offsets as cbx_json_parse, which is made of the same functions; but
 * a key that stands twice is found only in what is read as a value.
 *
 *     cbx__json_reader_enter(r)                      at a '[' or '{'
 *     while (!(st = cbx__json_reader_next(r, &key, &more)) && more)
 *         st = cbx__json_reader_value(r, &value)     or _skip, or _enter
 *
 * After a failure a reader is fit for freeing only.  One thread uses a reader at a time.
 */
#ifndef CALIBRAX_BASE_JSON_READER_H
#define CALIBRAX_BASE_JSON_READER_H

#include "calibrax/base/hash.h"
#include "calibrax/base/json.h"

/** Where text comes from: up to `room` bytes into `to`; *got 0 is the end. */
typedef struct cbx__json_source {
    cbx_status (*read)(void *user, char *to, size_t room, size_t *got, cbx_err *err);
    void *user;
} cbx__json_source;

/** A file as a source. */
typedef struct cbx__json_file {
    const char *path;   /* not copied */
    cbx_hasher *hasher; /* of what was read; NULL: nobody asks */
    int fd;
    bool unreadable; /* the disk, a folder */
} cbx__json_file;
/** @return CBX_OK; as cbx_file_read, in its words */
cbx_status cbx__json_file_open(cbx__json_file *f, const char *path, bool hashed, cbx_err *err);
cbx__json_source cbx__json_file_source(cbx__json_file *f);
/** Closes it.  @param hash  of all of its bytes, those that nobody has read yet included; may be NULL.  false: it cannot be read */
bool cbx__json_file_end(cbx__json_file *f, char hash[CBX_HASH_SIZE]);

typedef struct cbx__json_reader cbx__json_reader;

/**
 * Bytes of the mark that a text may begin with: 3 for UTF-8, else 0.
 * @param n  bytes at s, the whole text or at least 3 of it
 * @return CBX_OK; CBX_EFORMAT: the text is UTF-16
 */
cbx_status cbx__byte_order_mark(const char *s, size_t n, const char *what, size_t *mark, cbx_err *err);

/**
 * @param base  offset of the source's first byte, for messages and cbx__json_reader_offset
 * @param what  names the source in messages; not copied
 * @return CBX_OK; CBX_ENOMEM.  The caller frees *out
 */
cbx_status cbx__json_reader_create(const cbx__json_source *source, uint64_t base, const char *what,
                                   cbx__json_reader **out, cbx_err *err);
/** NULL is fine. */
void cbx__json_reader_free(cbx__json_reader *r);

/** What stands next, whose faults are not looked for yet; CBX_JSON_NULL for a word, CBX_JSON_DOUBLE for any number. */
cbx_json_type cbx__json_reader_type(cbx__json_reader *r);
/** Where the next value begins. */
uint64_t cbx__json_reader_offset(cbx__json_reader *r);
/** The next value, whole; null is NULL.  The caller owns it. */
cbx_status cbx__json_reader_value(cbx__json_reader *r, cbx_json **out, cbx_err *err);
/** Passes the next value, in which every fault is found. */
cbx_status cbx__json_reader_skip(cbx__json_reader *r, cbx_err *err);
/** Into an array or an object; CBX_EFORMAT: something else stands here. */
cbx_status cbx__json_reader_enter(cbx__json_reader *r, cbx_err *err);
/**
 * To the next element or member of what was entered last, whose value must then be read, passed or entered; behind the last it is left.
 * @param key  of a member, until the next call; NULL in an array
 */
cbx_status cbx__json_reader_next(cbx__json_reader *r, const char **key, bool *more, cbx_err *err);
/** CBX_EFORMAT: the key of the member that the reader is at has come before; for who keeps the members of what was entered. */
cbx_status cbx__json_reader_twice(cbx__json_reader *r, const char *key, cbx_err *err);
/*
 * Elements that are not held: arrays of a value that is being read whole which a sieve wants stay empty, and their elements go by, one at a
 * time.
 */
typedef struct cbx__json_sieve {
    /* Asked where an array begins. */
    bool (*wants)(void *user, const cbx__json_reader *r);
    /* Its i-th element, NULL for null, which goes behind the call.  What this returns but CBX_OK ends the reading, and is returned there. */
    cbx_status (*take)(void *user, const cbx__json_reader *r, size_t i, const cbx_json *element, cbx_err *err);
    void *user;
} cbx__json_sieve;
/** For the values that are read from now on. */
void cbx__json_reader_sieve(cbx__json_reader *r, const cbx__json_sieve *sieve);
/** For a sieve: brackets open, that of the array included. */
size_t cbx__json_reader_depth(const cbx__json_reader *r);
/** The key of the member that is open in the level-th of them, from 1 on; NULL: that is an array.  Until the call returns. */
const char *cbx__json_reader_key(const cbx__json_reader *r, size_t level);

/** Nothing but blanks stands behind the value. */
cbx_status cbx__json_reader_end(cbx__json_reader *r, cbx_err *err);

#endif
