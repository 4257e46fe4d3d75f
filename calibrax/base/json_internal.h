/*
 * What a JSON value is made of; for json*.c alone.
 *
 * A value is 16 bytes.  Containers hold the small kinds (null, boolean, number) in place, so that
 * ten million numbers are one block of 160 MB, and refer to strings and containers, which are
 * separate blocks and count their references.
 */
#ifndef CALIBRAX_BASE_JSON_INTERNAL_H
#define CALIBRAX_BASE_JSON_INTERNAL_H

#include "calibrax/base/json.h"

#define CBX__JSON_MAX_DEPTH 64

typedef enum kind {
    KIND_NULL, /* only in a container: outside a null is a NULL pointer */
    KIND_BOOL,
    KIND_INT,
    KIND_DOUBLE,
    KIND_STRING,
    KIND_ARRAY,
    KIND_OBJECT,
    KIND_LONG, /* an integer that int64_t does not hold: a string of its digits */
    KIND_REF   /* only in a container: a string, an array, an object or a long integer elsewhere */
} kind;

struct cbx_json {
    uint32_t refs; /* 0: in place, lives and dies with its container */
    uint16_t kind;
    bool failed; /* a container that lacks what could not be added */
    union {
        bool truth;
        int64_t number;
        double real;
        cbx_json *ref;
        size_t count; /* bytes of a string, elements, members */
    };
};

typedef struct json_string {
    cbx_json head;
    char bytes[]; /* NUL-terminated */
} json_string;

/* A container that was read is one block with its content, until it is changed. */
typedef struct json_array {
    cbx_json head;
    cbx_json *items;
    size_t capacity; /* 0: in the block, or empty */
} json_array;

typedef struct json_member {
    uint32_t key_at, key_len; /* in keys, NUL-terminated */
    cbx_json value;
} json_member;

typedef struct json_object {
    cbx_json head;
    json_member *members;
    char *keys;      /* of all members, one after the other */
    uint32_t *slots; /* open addressing: 1 + number of the member, 0: free; NULL while members are few */
    uint32_t nslots, keys_len, keys_capacity;
    uint32_t capacity; /* 0: members and keys in the block, or empty */
} json_object;

static inline json_string *cbx__as_string(const cbx_json *v) { return (json_string *)(uintptr_t)v; }
static inline json_array *cbx__as_array(const cbx_json *v) { return (json_array *)(uintptr_t)v; }
static inline json_object *cbx__as_object(const cbx_json *v) { return (json_object *)(uintptr_t)v; }

/** The value at a place in a container, as callers of json.h receive it. */
static inline cbx_json *cbx__json_resolve(const cbx_json *place)
{
    return place->kind == KIND_NULL ? NULL : place->kind == KIND_REF ? place->ref : (cbx_json *)(uintptr_t)place;
}

/** Gives back the reference of a place. */
static inline void cbx__json_drop(const cbx_json *place)
{
    if (place->kind == KIND_REF) cbx_json_unref(place->ref);
}

/** The member of a key; NULL: no such key. */
json_member *cbx__json_find(const json_object *o, const char *key, size_t len);
/** A string of n bytes that the caller fills; NULL: out of memory. */
json_string *cbx__json_string_new(size_t n);
/** A copy of n bytes as a string, or of digits as a long integer. */
cbx_json *cbx__json_text_new(kind k, const char *s, size_t n);
/** Moves a small value, or a KIND_REF with its reference, to the end of an array; false: out of
 * memory. */
bool cbx__json_append(cbx_json *array, cbx_json value);
/** Copies of n places in one block, whose references it takes over.  NULL: out of memory, they are
 * still the caller's. */
cbx_json *cbx__json_array_of(const cbx_json *items, size_t n);
/** The same for members, whose key_at counts from keys.  NULL: *twice is a key that is listed
 * twice, or NULL: out of memory. */
cbx_json *cbx__json_object_of(const json_member *members, size_t n, const char *keys, size_t keys_len,
                              const char **twice);

#endif
