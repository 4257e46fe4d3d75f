/*
 * What the files of metrics share: rows of the table and of Python functions, arguments of calls.
 */
#ifndef CALIBRAX_PYTHON_METRICS_H
#define CALIBRAX_PYTHON_METRICS_H

#include "calibrax/metrics/metrics.h"
#include "python/objects.h"
#include "python/transforms.h"

/** The name of capsules that hold a row. */
#define CX_ROW_NAME "calibrax_c.metric"

/**
 * The row of the argument 'metric': the name of a built-in one, or a capsule; NULL with an
 * exception.
 */
const cbx_metric_function *cx_metric_row(cx_call *c, cbx_ctx *ctx);
/** What metrics.py keeps of a row; NULL with an exception. */
PyObject *cx_metric_dict(const cbx_metric_function *m);
/** Arrays of a list of n, held by the call; None is NULL.  false with an exception. */
bool cx_metric_operands(cx_call *c, PyObject *list, size_t n, cbx_array **in);
/**
 * Numbers of a list of at most CBX_METRIC_MAX_PARAMETERS; None is NaN.  false with an exception.
 */
bool cx_metric_parameters(PyObject *list, double *v);
/** A list of floats; NULL with an exception. */
PyObject *cx_metric_numbers(size_t n, const double *v);
/** The arguments 'mask' and 'weights'.  false with an exception. */
bool cx_metric_options(cx_call *c, cbx_metric_options *o);

/**
 * self, and other if it is not NULL, busy until cx_metric_leave: code that runs meanwhile may be
 * Python, in which another thread, or that code, reaches the same one.  The interpreter's lock is
 * released where the call's operands are large.  NULL with an exception.
 */
cx_object *cx_metric_enter(cx_call *c, cx_object *other);
/** The same, and the lock is released always: the work depends on what self keeps. */
cx_object *cx_metric_enter_long(cx_call *c, cx_object *other);
/** Takes the lock again.  false with an exception. */
bool cx_metric_leave(cx_call *c, cx_object *o, cx_object *other, cbx_status status);

#endif
