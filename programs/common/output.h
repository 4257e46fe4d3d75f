/*
 * Results on standard output.
 */
#ifndef CALIBRAX_PROGRAMS_OUTPUT_H
#define CALIBRAX_PROGRAMS_OUTPUT_H

#include "calibrax/base/json.h"
#include "calibrax/core/doctor.h"
#include "programs/common/options.h"
#include "programs/common/terminal.h"

/* One line of JSON on standard output; takes the reference.  NULL: out of memory. */
int print_json(const opt_run *run, cbx_json *document);
/* The same, one of many lines that people read, too: keys are faint on a terminal. */
int print_json_line(const opt_run *run, cbx_json *document);

/*
 * A document too long to be held: an object on standard output, one list of which comes element by
 * element.  What is added is taken over; NULL: out of memory, which the end tells.
 */
typedef struct json_stream {
    cbx_text text;
    cbx_json_writer writer;
    bool failed;
} json_stream;
/* An object that is written through s->writer and json_stream_add; and its end.  @param flags  as
 * of cbx_json_write */
void json_stream_open(json_stream *s, unsigned flags);
int json_stream_close(json_stream *s, const opt_run *run);
/* All members before the list, and its name. */
void json_stream_begin(json_stream *s, cbx_json *head, const char *list);
void json_stream_add(json_stream *s, cbx_json *element);
/* The list is over; the members behind it, and another list if it has a name. */
void json_stream_next(json_stream *s, cbx_json *more, const char *list);
/* All members behind the last list; NULL: none. */
int json_stream_end(json_stream *s, const opt_run *run, cbx_json *tail);

/* An array of texts; NULL: out of memory. */
cbx_json *sentences_json(const char *const *sentences, size_t n);

/* A member of a JSON object, by value. */
typedef struct json_member {
    const char *key;
    enum { JSON_END, JSON_STRING, JSON_NUMBER, JSON_INTEGER, JSON_TRUTH, JSON_VALUE } kind;
    union {
        const char *text; /* copied; NULL: null */
        double number;
        int64_t integer;
        bool truth;
        cbx_json *value; /* taken over */
    };
} json_member;
#define J_MEMBER(key, kind, member, x)                                                                                 \
    {                                                                                                                  \
        key, kind, { .member = (x) }                                                                                   \
    }
#define J_TEXT(key, x)        J_MEMBER(key, JSON_STRING, text, x)
#define J_NUMBER(key, x)      J_MEMBER(key, JSON_NUMBER, number, x)
#define J_INT(key, x)         J_MEMBER(key, JSON_INTEGER, integer, (int64_t)(x))
#define J_BOOL(key, x)        J_MEMBER(key, JSON_TRUTH, truth, x)
#define J_JSON(key, x)        J_MEMBER(key, JSON_VALUE, value, x)
#define J_TEXTS(key, list, n) J_JSON(key, sentences_json(list, n))
/* Sets members of an object in their order; nothing of one that is NULL: out of memory. */
#define json_put(object, ...) (void)json_with(object, (const json_member[]){ __VA_ARGS__, { .kind = JSON_END } })
/* {"schema":schema,"version":1} to which the rest is added. */
cbx_json *new_document(const char *schema);
/* New objects of these members; NULL: out of memory. */
#define json_object(...) json_with(cbx_json_new_object(), (const json_member[]){ __VA_ARGS__, { .kind = JSON_END } })
#define json_document(schema, ...)                                                                                     \
    json_with(new_document(schema), (const json_member[]){ __VA_ARGS__, { .kind = JSON_END } })
cbx_json *json_with(cbx_json *object, const json_member *members);

/* The report of a doctor, for people. */
void print_doctor(const opt_run *run, const cbx_doctor_report *r);
/* 0; if something is broken that the program needs, 2 after a message. */
int doctor_verdict(const opt_run *run, const cbx_doctor_report *r);
/* {"schema":schema,"version":1,"release":...,"revision":...,"items":[...]}; NULL: out of memory. */
cbx_json *doctor_json(const cbx_doctor_report *r, const char *schema);

#endif
