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

/** What calls of metrics read, each those of its signature. */
typedef struct cx_metric_arguments {
    size_t n;
    cbx_array **in;                               /* held by the call; NULL of None */
    double parameters[CBX_METRIC_MAX_PARAMETERS]; /* NaN of None */
    cbx_metric_options options;
} cx_metric_arguments;

/**
 * The row of the argument 'metric': the name of a built-in one, or a capsule; NULL with an
 * exception.
 */
const cbx_metric_function *cx_metric_row(cx_call *c);
/** What metrics.py keeps of a row; NULL with an exception. */
PyObject *cx_metric_dict(const cbx_metric_function *m);
/**
 * Reads operands with mask and weights, parameters and function.  false with an exception.
 */
bool cx_metric_read(cx_call *c, cx_metric_arguments *a);
/** A list of floats; NULL with an exception. */
PyObject *cx_metric_numbers(size_t n, const double *v);

/**
 * self, and other if it is not NULL, busy until the block of CX_ENTERED ends: code that runs
 * meanwhile may be Python, in which another thread, or that code, reaches the same one.  The
 * interpreter's lock is released where the call's operands are large, until cx_fine.  NULL with an
 * exception.
 */
cx_object *cx_metric_enter(cx_call *c, cx_object *other);
/** The same, and the lock is released always: the work depends on what self keeps. */
cx_object *cx_metric_enter_long(cx_call *c, cx_object *other);
#define CX_ENTERED CX_ENDED_BY(cx_metric_leave) cx_object *
static inline void cx_metric_leave(cx_object **o)
{
    if (*o) (*o)->busy = false;
}

#endif
