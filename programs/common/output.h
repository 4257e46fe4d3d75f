/*
 * Results on standard output.
 */
#ifndef CALIBRAX_PROGRAMS_OUTPUT_H
#define CALIBRAX_PROGRAMS_OUTPUT_H

#include "calibrax/base/json_put.h"
#include "calibrax/core/doctor.h"
#include "programs/common/options.h"
#include "programs/common/terminal.h"

/* Writes a text to a file, whose folder is made if missing, or prints why not. */
int write_text(const opt_run *run, const char *path, const cbx_text *text);
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

/* The report of a doctor, for people. */
void print_doctor(const opt_run *run, const cbx_doctor_report *r);
/* 0; if something is broken that the program needs, 2 after a message. */
int doctor_verdict(const opt_run *run, const cbx_doctor_report *r);
/* {"schema":schema,"version":1,"release":...,"revision":...,"items":[...]}; NULL: out of memory. */
cbx_json *doctor_json(const cbx_doctor_report *r, const char *schema);

#endif
