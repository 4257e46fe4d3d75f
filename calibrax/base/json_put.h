/*
 * JSON objects whose members are named in one call:
 *
 *     cbx_json_put(o, J_TEXT("name", p->name), J_INT("calls", calls), J_KNOWN("lower", lower));
 *
 * Members come in the order given.  Failures are sticky, as of all that builds (json.h).
 */
#ifndef CALIBRAX_BASE_JSON_PUT_H
#define CALIBRAX_BASE_JSON_PUT_H

#include "calibrax/base/json.h"

CBX_BEGIN_DECLS

typedef enum cbx_json_entry_kind {
    CBX_JSON_PUT_END,
    CBX_JSON_PUT_TEXT,
    CBX_JSON_PUT_GIVEN,
    CBX_JSON_PUT_NUMBER,
    CBX_JSON_PUT_KNOWN,
    CBX_JSON_PUT_FINITE,
    CBX_JSON_PUT_INT,
    CBX_JSON_PUT_BOOL,
    CBX_JSON_PUT_VALUE,
    CBX_JSON_PUT_COPY,
    CBX_JSON_PUT_NUMBERS,
    CBX_JSON_PUT_TEXTS
} cbx_json_entry_kind;

/** A member of an object, by value. */
typedef struct cbx_json_entry {
    const char *key;
    cbx_json_entry_kind kind;
    size_t n; /* of NUMBERS, TEXTS */
    union {
        const char *text;
        double number;
        int64_t integer;
        bool truth;
        cbx_json *value;
        const cbx_json *source;
        const double *numbers;
        const char *const *texts;
    };
} cbx_json_entry;

#define CBX_JSON_ENTRY(key, kind, n, member, x) ((cbx_json_entry){ key, CBX_JSON_PUT_##kind, n, { .member = (x) } })
#define J_TEXT(key, x)                          CBX_JSON_ENTRY(key, TEXT, 0, text, x)  /* copied; NULL: null */
#define J_GIVEN(key, x)                         CBX_JSON_ENTRY(key, GIVEN, 0, text, x) /* the same; NULL: left out */
#define J_NUMBER(key, x)                        CBX_JSON_ENTRY(key, NUMBER, 0, number, x)
#define J_KNOWN(key, x)                         CBX_JSON_ENTRY(key, KNOWN, 0, number, x)  /* NaN: left out */
#define J_FINITE(key, x)                        CBX_JSON_ENTRY(key, FINITE, 0, number, x) /* not finite: null */
#define J_INT(key, x)                           CBX_JSON_ENTRY(key, INT, 0, integer, (int64_t)(x))
#define J_BOOL(key, x)                          CBX_JSON_ENTRY(key, BOOL, 0, truth, x)
#define J_JSON(key, x)                          CBX_JSON_ENTRY(key, VALUE, 0, value, x) /* taken over */
#define J_COPY(key, x)                          CBX_JSON_ENTRY(key, COPY, 0, source, x) /* copied; NULL: null */
#define J_NUMBERS(key, x, n)                    CBX_JSON_ENTRY(key, NUMBERS, n, numbers, x)
#define J_TEXTS(key, x, n)                      CBX_JSON_ENTRY(key, TEXTS, n, texts, x)
#define J_NULL(key)                             J_TEXT(key, NULL)
/* Nothing, for a member that there may not be: known ? J_BOOL("passed", passed) : J_NONE. */
#define J_NONE J_GIVEN("", NULL)
/* As cbx_json_set_interval, of a struct with these members. */
#define J_INTERVAL(key, iv) J_JSON(key, cbx_json_interval((iv).value, (iv).lower, (iv).upper, (iv).level))

/** Sets members of an object. */
#define cbx_json_put(object, ...)                                                                                      \
    (void)cbx_json_with(object, (const cbx_json_entry[]){ __VA_ARGS__, { .kind = CBX_JSON_PUT_END } })
/** A new object of these members; of a document they come behind {"schema":schema,"version":1}. */
#define cbx_json_object(...)                                                                                           \
    cbx_json_with(cbx_json_new_object(), (const cbx_json_entry[]){ __VA_ARGS__, { .kind = CBX_JSON_PUT_END } })
#define cbx_json_document(schema, ...) cbx_json_object(J_TEXT("schema", schema), J_INT("version", 1), __VA_ARGS__)
#define cbx_json_new_document(schema)  cbx_json_object(J_TEXT("schema", schema), J_INT("version", 1))
/** The object, with members up to an END. */
CBX_API cbx_json *cbx_json_with(cbx_json *object, const cbx_json_entry *members);
/** The interval of cbx_json_set_interval. */
CBX_API cbx_json *cbx_json_interval(double value, double lower, double upper, double level);

CBX_END_DECLS
#endif
