/*
 * A Python object as a benchmark of the library: its methods are called back with the interpreter's lock held.
 */
#ifndef CALIBRAX_PYTHON_PROTOCOL_H
#define CALIBRAX_PYTHON_PROTOCOL_H

#include "python/records.h"

typedef struct cx_bench {
    PyObject *object;
    PyObject *dataset, *batch;          /* of the pass under way */
    PyObject *name, *domain;            /* text that ops points to */
    PyObject *type, *value, *traceback; /* the first exception of a callback; type NULL: none */
    cbx_benchmark_ops ops;
    cbx_dataset_ops dataset_ops;
} cx_bench;

/** @param name  NULL: the object's.  The bench is cleared by the caller, whatever is returned.  false with an exception */
bool cx_bench_make(cx_call *c, cx_bench *b, PyObject *object, const char *name);
void cx_bench_clear(cx_bench *b);
/** Raises the exception of a callback, if there was one: with all false only what no benchmark may swallow. */
bool cx_bench_raise(cx_bench *b, bool all);

#endif
