/**
 * JSON values: parse, look up, build, write.
 *
 * Objects keep the order of their keys.  Ambiguous text is refused, since gates depend on what is
 * read: a key that is listed twice in an object (as in RFC 7493), and a NUL in a string (\u0000),
 * which would end it in C.
 * Integers of any length are kept exactly; as a double, one of more than 53 bits is the nearest.
 * A number in a container takes 16 bytes, a member 24 and its key; a member is found in constant
 * time.  Non-finite numbers: the bare tokens NaN, Infinity, -Infinity are read as numbers
 * everywhere, and so are the strings "NaN", "Infinity", "-Infinity" by cbx_json_get_double; writing
 * chooses one form by flag.
 */
#ifndef CALIBRAX_BASE_JSON_H
#define CALIBRAX_BASE_JSON_H

#include <stdbool.h>

#include "calibrax/base/ctx.h"
#include "calibrax/base/text.h"

CBX_BEGIN_DECLS

/** A reference-counted value; a NULL pointer is JSON null. */
typedef struct cbx_json cbx_json;

typedef enum cbx_json_type {
    CBX_JSON_NULL,
    CBX_JSON_BOOL,
    CBX_JSON_INT,
    CBX_JSON_DOUBLE,
    CBX_JSON_STRING,
    CBX_JSON_ARRAY,
    CBX_JSON_OBJECT
} cbx_json_type;

/**
 * Parses one value, after a UTF-8 byte-order mark if there is one; anything but white space after
 * it is an error.
 * @param what  names the source in messages ("results/a.jsonl line 3"), which have the byte offset
 * @return CBX_OK; CBX_EFORMAT; CBX_EOVERFLOW (nested deeper than 64, or len > 2 GiB); CBX_ENOMEM
 */
CBX_API cbx_status cbx_json_parse(const char *text, size_t len, const char *what, cbx_json **out, cbx_err *err);
/** Reads and parses a file of at most 2 GiB. */
CBX_API cbx_status cbx_json_read(cbx_ctx *ctx, const char *path, cbx_json **out, cbx_err *err);

/**
 * One more reference, for the caller to give back.  A number or boolean that is a member or element
 * comes as a value of its own, which needs memory.  @return v or that value; NULL: v was NULL, or
 * out of memory
 */
CBX_API cbx_json *cbx_json_ref(cbx_json *v);
/** Of what the caller owns, never of what was looked up.  NULL is fine. */
CBX_API void cbx_json_unref(cbx_json *v);

CBX_API cbx_json_type cbx_json_typeof(const cbx_json *v);
/** "a string", for messages; static.  Safe from any thread. */
CBX_API const char *cbx_json_type_name(cbx_json_type type);
/** Deep equality: order of keys ignored, 1 equals 1.0, NaN equals NaN. */
CBX_API bool cbx_json_equal(const cbx_json *a, const cbx_json *b);

/* --- looking up; what is returned is borrowed and lives until its parent is changed or freed
 * --- */

CBX_API bool cbx_json_has(const cbx_json *object, const char *key);
/** NULL if absent, null, or if the value is no object. */
CBX_API cbx_json *cbx_json_get(const cbx_json *object, const char *key);
CBX_API size_t cbx_json_length(const cbx_json *array_or_object);
CBX_API cbx_json *cbx_json_at(const cbx_json *array, size_t i);
/** i-th member, in the order of the text; false past the end. */
CBX_API bool cbx_json_member(const cbx_json *object, size_t i, const char **key, cbx_json **value);

/** Lenient getters: the fallback if absent or of another type.  An integer may be written as
 * 3.0. */
CBX_API const char *cbx_json_get_string(const cbx_json *object, const char *key, const char *fallback);
CBX_API int64_t cbx_json_get_int(const cbx_json *object, const char *key, int64_t fallback);
CBX_API double cbx_json_get_double(const cbx_json *object, const char *key, double fallback);
CBX_API bool cbx_json_get_bool(const cbx_json *object, const char *key, bool fallback);

/** Strict getters: CBX_EFORMAT with "`path.key`: expected a number, found a string" style
 * messages. */
CBX_API cbx_status cbx_json_need_string(const cbx_json *object, const char *key, const char *path, const char **out,
                                        cbx_err *err);
CBX_API cbx_status cbx_json_need_int(const cbx_json *object, const char *key, const char *path, int64_t *out,
                                     cbx_err *err);
CBX_API cbx_status cbx_json_need_double(const cbx_json *object, const char *key, const char *path, double *out,
                                        cbx_err *err);
CBX_API cbx_status cbx_json_need_object(const cbx_json *object, const char *key, const char *path, cbx_json **out,
                                        cbx_err *err);
CBX_API cbx_status cbx_json_need_array(const cbx_json *object, const char *key, const char *path, cbx_json **out,
                                       cbx_err *err);

/** Values themselves. */
CBX_API const char *cbx_json_string_value(const cbx_json *v); /* NULL if no string */
/* NaN if no number; reads the non-finite strings */
CBX_API double cbx_json_double_value(const cbx_json *v);
CBX_API int64_t cbx_json_int_value(const cbx_json *v); /* 0 if no integer; saturates */
CBX_API bool cbx_json_bool_value(const cbx_json *v);

/*
 * --- building ---
 *
 * Failures are sticky: an object or array to which something could not be added, because memory ran
 * out or the value was NULL, has failed, and so has every one that it is then added to.  So nothing
 * needs a check before the end: what is added to NULL is ignored, cbx_json_check examines the
 * finished value, and cbx_json_write makes its text fail.
 *
 *     cbx_json *o = cbx_json_new_object(), *list = cbx_json_set_array(o, "points");
 *     for (size_t i = 0; i < n; i++)
 *         cbx_json_set_double(cbx_json_push_object(list), "value", value[i]);
 *     st = cbx_json_check(o, err);
 */

/** CBX_OK; CBX_ENOMEM if v is NULL, or has failed or contains what has. */
CBX_API cbx_status cbx_json_check(const cbx_json *v, cbx_err *err);
/** v for the caller; NULL, with v freed, if cbx_json_check refuses it. */
CBX_API cbx_json *cbx_json_finish(cbx_json *v);

CBX_API cbx_json *cbx_json_new_object(void);
CBX_API cbx_json *cbx_json_new_array(void);
CBX_API cbx_json *cbx_json_new_string(const char *s);
CBX_API cbx_json *cbx_json_new_int(int64_t v);
CBX_API cbx_json *cbx_json_new_double(double v);
CBX_API cbx_json *cbx_json_new_bool(bool v);
/** Deep copy. */
CBX_API cbx_json *cbx_json_copy(const cbx_json *v);

/** Adds or replaces; takes over the caller's reference to value (also on failure).  false: out of
 * memory. */
CBX_API bool cbx_json_set(cbx_json *object, const char *key, cbx_json *value);
CBX_API bool cbx_json_set_null(cbx_json *object, const char *key);
/* s NULL: null */
CBX_API bool cbx_json_set_string(cbx_json *object, const char *key, const char *s);
CBX_API bool cbx_json_set_int(cbx_json *object, const char *key, int64_t v);
CBX_API bool cbx_json_set_double(cbx_json *object, const char *key, double v);
CBX_API bool cbx_json_set_bool(cbx_json *object, const char *key, bool v);
/** v, or null if it is not finite: for numbers that may be unknown. */
CBX_API bool cbx_json_set_number(cbx_json *object, const char *key, double v);
/** A new member, borrowed, to be filled: it belongs to the object.  NULL: out of memory. */
CBX_API cbx_json *cbx_json_set_object(cbx_json *object, const char *key);
CBX_API cbx_json *cbx_json_set_array(cbx_json *object, const char *key);
/** An array of n numbers; v may be NULL if n is 0. */
CBX_API bool cbx_json_set_doubles(cbx_json *object, const char *key, const double *v, size_t n);
/**
 * {"value", "lower", "upper", "level"}, each a number, or null if it is not finite: the one form of
 * an interval in every document.  @param level  achieved coverage in (0, 1); 0: there is no
 * interval, and the bounds are null
 */
CBX_API bool cbx_json_set_interval(cbx_json *object, const char *key, double value, double lower, double upper,
                                   double level);
/** The same at the end of an array. */
CBX_API bool cbx_json_push(cbx_json *array, cbx_json *value);
CBX_API bool cbx_json_push_null(cbx_json *array);
CBX_API bool cbx_json_push_string(cbx_json *array, const char *s); /* s NULL: null */
CBX_API bool cbx_json_push_int(cbx_json *array, int64_t v);
CBX_API bool cbx_json_push_double(cbx_json *array, double v);
CBX_API cbx_json *cbx_json_push_object(cbx_json *array);
CBX_API cbx_json *cbx_json_push_array(cbx_json *array);
/** false: the key was not there. */
CBX_API bool cbx_json_remove(cbx_json *object, const char *key);

/* --- writing --- */

enum {
    CBX_JSON_COMPACT = 0,          /* {"a":1,"b":[1,2]} */
    CBX_JSON_INDENT2 = 1,          /* as Python's json.dumps(indent=2) */
    CBX_JSON_NONFINITE_BARE = 0,   /* NaN, Infinity, -Infinity */
    CBX_JSON_NONFINITE_STRING = 2, /* "NaN", "Infinity", "-Infinity" */
    CBX_JSON_ASCII = 4,            /* \uXXXX for everything beyond ASCII */
    CBX_JSON_SORT_KEYS = 8,        /* canonical: for hashing and keys */
    CBX_JSON_NO_CONTROL =
        /* \uXXXX for DEL and control characters beyond ASCII, which Python leaves: for terminals */
    16,
};
/** Appends; doubles in the shortest form that reads back equal.  The text fails if v has
 * (cbx_json_check). */
CBX_API void cbx_json_write(const cbx_json *v, unsigned flags, cbx_text *out);
/** Appends n bytes as a JSON string, quotes included: for documents too long to be built as
 * values. */
CBX_API void cbx_json_write_string(const char *s, size_t n, unsigned flags, cbx_text *out);
CBX_API void cbx_json_write_double(double v, unsigned flags, cbx_text *out);

/** Receives the text that was written so far, and may reset it. */
typedef void (*cbx_json_pour_fn)(void *user, cbx_text *out);

/**
 * Writes a document that is too long to be held as a value, one member or element after the other.
 * Its errors are those of the text, which is checked once, at the end.  Starts as { .out = text,
 * .flags = ..., .pour = ..., .user = ... }.
 */
typedef struct cbx_json_writer {
    cbx_text *out;
    unsigned flags;
    cbx_json_pour_fn pour; /* called after each element and member; NULL: never */
    void *user;
    int level;          /* open containers, its own from here on */
    uint64_t not_empty; /* bit i: the container at level i + 1 has content */
    uint64_t arrays;    /* bit i: that container is an array */
} cbx_json_writer;

/** Opens an object ('{') or an array ('['), at most 64 deep; key NULL: the document itself, or an
 * element of an array. */
CBX_API void cbx_json_writer_begin(cbx_json_writer *w, const char *key, char bracket);
/** Closes the container opened last. */
CBX_API void cbx_json_writer_end(cbx_json_writer *w);
/** A whole value, borrowed; NULL: null. */
CBX_API void cbx_json_writer_add(cbx_json_writer *w, const char *key, const cbx_json *v);
CBX_API void cbx_json_writer_add_double(cbx_json_writer *w, const char *key, double v);
/* s NULL: null */
CBX_API void cbx_json_writer_add_string(cbx_json_writer *w, const char *key, const char *s);

CBX_END_DECLS
#endif
