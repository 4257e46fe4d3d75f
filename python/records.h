/*
 * Records: small immutable objects with named fields (calibrax_c/_records.py), converted from and
 * to JSON and the library's views.
 */
#ifndef CALIBRAX_PYTHON_RECORDS_H
#define CALIBRAX_PYTHON_RECORDS_H

#include "python/state.h"

/** A new record, its fields by a format of Py_BuildValue; an object of N that is NULL means
 * failure.  NULL with an exception. */
PyObject *cx_record_new(cx_state *st, cx_record_kind kind, const char *format, ...);
bool cx_is_record(cx_state *st, PyObject *o, cx_record_kind kind);

/* ---- JSON (json.c): NULL with an exception ---- */

/** dict, list, tuple, text, numbers, and objects with to_dict() or item(); the caller unrefs it.
 * NULL without an exception: None. */
cbx_json *cx_json_from(PyObject *o, const char *path);
/** NULL is None. */
PyObject *cx_json_object(const cbx_json *v);
/** The same of one whose reference is taken over; NULL: there was no memory for it. */
PyObject *cx_json_answer(cbx_json *v);

/* ---- the library's views (convert_records.c) ---- */

PyObject *cx_metric_def_object(cx_state *st, const cbx_metric_def *d);
PyObject *cx_point_object(cx_state *st, const cbx_point *p);
PyObject *cx_tags_object(const cbx_tag *tags, size_t n);
/** None for NULL. */
PyObject *cx_text_or_none(const char *s);
/** None for NaN. */
PyObject *cx_number_or_none(double v);
/** A datetime of UTC. */
PyObject *cx_time_object(int64_t us);
/** A datetime, a date (its midnight, UTC) or ISO text of either; false with an exception. */
bool cx_time_from(PyObject *o, int64_t *us);
/** Views of records; text and arrays live as long as the record and the arena.  false with an
 * exception. */
bool cx_tags_from(PyObject *o, cbx_arena *arena, const cbx_tag **tags, size_t *n);
bool cx_metric_from(PyObject *record, cbx_arena *arena, cbx_metric *out);
bool cx_point_from(PyObject *record, cbx_arena *arena, cbx_point *out);
bool cx_metric_def_from(PyObject *record, cbx_metric_def *out);
/** Text of a str; NULL with an exception that names what it is for. */
const char *cx_text_of(PyObject *o, const char *what);

/* ---- runs (run.c) ---- */

/** A Run that takes the reference over; NULL frees it. */
PyObject *cx_run_object(cx_state *st, cbx_run *run);
/** Of a Run; borrowed. */
cbx_run *cx_run_of(PyObject *o);
/** A Run, or a sequence of them, as an array of n that ends with the call; NULL with an
 * exception. */
const cbx_run **cx_runs_arg(cx_call *c, const char *name, size_t *n);

/* ---- arguments of benchmarks and queries, which end with the call; None and left out: none.
 * false with an exception ---- */

bool cx_tags_arg(cx_call *c, const char *name, const cbx_tag **tags, size_t *n);
/** Definitions of a dict by name or a sequence. */
bool cx_defs_arg(cx_call *c, PyObject *o, const cbx_metric_def **defs, size_t *n);
/** A dict of numbers by name. */
bool cx_numbers_by_name(cx_call *c, const char *name, const char ***names, double **values, size_t *n);
/** A dict as JSON, which the caller unrefs; NULL if it is missing, or with an exception. */
cbx_json *cx_json_arg(cx_call *c, const char *name);

#endif
