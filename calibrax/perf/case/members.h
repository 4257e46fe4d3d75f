/*
 * Members of the JSON objects in files of cases and of commands: each is known, of the right kind
 * and kept in its place, or a message names file, place and member.  What is kept lives in the
 * reader's arena.  Internal to perf/case.
 */
#ifndef CALIBRAX_PERF_CASE_MEMBERS_H
#define CALIBRAX_PERF_CASE_MEMBERS_H

#include "calibrax/base/arena.h"
#include "calibrax/base/json.h"

typedef struct cbx__reader {
    cbx_ctx *ctx;
    cbx_arena *arena;
    const char *what, *folder; /* name of the file in messages; folder that its paths are relative to */
    cbx_err *err;
    cbx_status st;  /* the first failure: nothing is read after it */
    char where[96]; /* the object being read: "inputs[1]"; "": the document */
} cbx__reader;

typedef struct cbx__member {
    const char *name;
    void (*read)(cbx__reader *r, const char *name, const cbx_json *v, void *out); /* NULL: is read elsewhere */
    size_t place; /* of `out` in the struct that cbx__read_members fills */
    bool required;
} cbx__member;

/* Records CBX_EFORMAT, "'FILE': PLACE: TEXT", unless something failed before. */
void cbx__read_fault(cbx__reader *r, const char *fmt, ...) CBX_PRINTF(2, 3);
/* p; if it is NULL, CBX_ENOMEM is recorded. */
void *cbx__read_made(cbx__reader *r, const void *p);
/* Entry i of `list` is read next; list NULL: the document. */
void cbx__read_at(cbx__reader *r, const char *list, size_t i);

/* Fills `out` from an object that has no other members than these, no null among them. */
void cbx__read_members(cbx__reader *r, const cbx_json *o, const cbx__member *members, size_t n, void *out);
/* The member as an array of min to max entries; missing: NULL with *n = 0 if min is 0.  A failure:
 * *n = 0. */
const cbx_json *cbx__read_list(cbx__reader *r, const cbx_json *o, const char *name, size_t min, size_t max, size_t *n);

/* Kinds of members.  `out` is a const char * for text that is not empty and for names (letters,
 * digits, '.', '_', '-'), a double for finite numbers and for tolerances, which are not
 * negative. */
void cbx__read_text(cbx__reader *r, const char *name, const cbx_json *v, void *out);
void cbx__read_name(cbx__reader *r, const char *name, const cbx_json *v, void *out);
void cbx__read_number(cbx__reader *r, const char *name, const cbx_json *v, void *out);
void cbx__read_tolerance(cbx__reader *r, const char *name, const cbx_json *v, void *out);

#endif
