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
/**
 * self, and other if it is not NULL, busy until the block of CX_ENTERED ends: code that runs
 * meanwhile may be Python, in which another thread, or that code, reaches the same one.  The
 * interpreter's lock is released where the call's operands are large, or the work depends on what
 * self keeps (is_long), until cx_fine.  NULL with an exception.
 */
cx_object *cx_metric_enter(cx_call *c, cx_object *other, bool is_long);
#define CX_ENTERED CX_ENDED_BY(cx_metric_leave) cx_object *
static inline void cx_metric_leave(cx_object **o)
{
    if (*o) (*o)->busy = false;
}

/* Signatures: what calls read into cx_metric_arguments. */
#define CX_METRIC_OPERANDS   "operands: list[Array | None]"
#define CX_METRIC_PARAMETERS "parameters: list[float | None]"
#define CX_METRIC_MASKED     "mask: Array | None = None, weights: Array | None = None"
#define CX_METRIC_FUNCTION   "function: object | None = None"
#define CX_METRIC_CALL       "metric: object, " CX_METRIC_OPERANDS ", " CX_METRIC_PARAMETERS

/* The methods that states and collections share: CX_ACCUMULATOR(state, CX_METRIC_STATE) makes
 * state_update, state_merge, state_bytes, state_reset and state_updates of the functions of
 * cbx_metric_state. */
#define CX_ACCUMULATOR(name, kind)                                                                                     \
    CX_RETURN(name##_update, (cx_metric_arguments a; CX_ENTERED of = NULL),                                            \
              cx_metric_read(c, &a) && (of = cx_metric_enter(c, NULL, false)),                                         \
              cx_none(c, cbx_metric_##name##_update(of->ctx, of->handle, a.n, a.in, &a.options, &c->err)))             \
    CX_RETURN(name##_merge,                                                                                            \
              (CX_ENTERED other = cx_object_arg(c, "other", kind);                                                     \
               CX_ENTERED of = other ? cx_metric_enter(c, other, true) : NULL),                                        \
              of, cx_none(c, cbx_metric_##name##_merge(of->ctx, of->handle, other->handle, &c->err)))                  \
    static PyObject *name##_bytes(cx_call *c)                                                                          \
    {                                                                                                                  \
        CX_ENTERED of = cx_metric_enter(c, NULL, false);                                                               \
        CX_TEXT(text);                                                                                                 \
        return of && cx_fine(c, cbx_metric_##name##_pack(of->ctx, of->handle, &text, &c->err))                         \
                   ? PyBytes_FromStringAndSize(cbx_text_str(&text), (Py_ssize_t)text.len)                              \
                   : NULL;                                                                                             \
    }                                                                                                                  \
    CX_DO(name##_reset, cbx_metric_##name, (), (), (cbx_metric_##name##_reset(self), Py_NewRef(Py_None)))              \
    CX_DO(name##_updates, cbx_metric_##name, (), (), PyLong_FromSize_t(cbx_metric_##name##_updates(self)))

#endif
