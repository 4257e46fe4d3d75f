/*
 * A Python object as a benchmark of the library: its methods are called back with the interpreter's lock held.
 */
#ifndef CALIBRAX_PYTHON_PROTOCOL_H
#define CALIBRAX_PYTHON_PROTOCOL_H

#include "python/records.h"

typedef struct cx_bench {
    cx_state *st;
    PyObject *object;
    PyObject *dataset, *batch; /* of the pass under way */
    PyObject *name, *domain;   /* text that ops points to */
    PyObject *records;         /* MetricDef that defs point to */
    cbx_metric_def *defs;
    PyObject *type, *value, *traceback; /* the first exception of a callback; type NULL: none */
    cbx_benchmark_ops ops;
    cbx_dataset_ops dataset_ops;
} cx_bench;

/** @param name  NULL: the object's.  The bench is cleared by the caller, whatever comes.  false with an exception */
bool cx_bench_make(cx_bench *b, cx_state *st, PyObject *object, const char *name);
void cx_bench_clear(cx_bench *b);
/** Raises the exception of a callback, if there was one and it has to be: with all false only what no benchmark may swallow. */
bool cx_bench_raise(cx_bench *b, bool all);

/** Definitions of a dict by name or a sequence, as records in a list (new) and views of them (PyMem); false with an exception. */
bool cx_defs_from(cx_state *st, PyObject *defs, PyObject **records, cbx_metric_def **views, size_t *n);
/** Values to reach, of a dict of numbers by metric, in the arena; None and NULL: none.  false with an exception */
bool cx_targets_from(PyObject *o, cbx_arena *arena, const cbx_named_metric **out, size_t *n);
/** A Report that takes it over. */
PyObject *cx_report_object(cx_state *st, cbx_benchmark_report *report);

#endif
