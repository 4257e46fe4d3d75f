/*
 * Things of the library that live between calls: a window, a book of alerts, a meter.  Each is an object with a context of its own, from
 * one table; one thread uses it at a time, and a second one is told so.
 */
#ifndef CALIBRAX_PYTHON_THINGS_H
#define CALIBRAX_PYTHON_THINGS_H

#include "python/answers.h"

typedef struct cx_thing {
    PyObject_HEAD cx_thing_kind kind;
    cbx_ctx *ctx;
    void *handle;   /* NULL: closed */
    PyObject *kept; /* what has to live as long; may be NULL */
    PyObject *listener;
    bool busy; /* a call works on it without the interpreter's lock */
} cx_thing;

typedef struct cx_thing_type {
    const char *name, *doc;
    void (*free)(cx_thing *t); /* of the handle */
    PyMethodDef *methods;
    cx_function *make; /* called by the type */
    ternaryfunc call;  /* called by the thing; NULL: it cannot be called */
} cx_thing_type;

/** "calibrax_c.monitoring.Window" */
const char *cx_thing_type_name(cx_thing_kind kind);

extern const cx_thing_type cx_sequence_thing, cx_stream_thing, cx_resource_monitor_thing, cx_energy_meter_thing,
    cx_energy_monitor_thing, cx_compilation_thing, cx_bisection_thing, cx_gpu_thing, cx_timeline_thing, cx_window_thing,
    cx_alerts_thing, cx_health_thing, cx_sink_thing, cx_validation_thing, cx_ell_thing;

/** A new one with a context and no handle yet; NULL with an exception. */
cx_thing *cx_thing_new(cx_state *st, cx_thing_kind kind);
/** self of a method, ready for use; NULL with an exception if it was closed or is busy. */
cx_thing *cx_thing_self(cx_call *c);
/** An argument that has to be a thing of a kind; NULL with an exception. */
cx_thing *cx_thing_arg(cx_call *c, const char *name, cx_thing_kind kind);
/** The thing once its maker is done: its reference is given away, or dropped with the exception of the status. */
PyObject *cx_thing_made(cx_thing *t, cbx_status status, const cbx_err *err);

/* Methods of a thing that ends with its block: itself; and the function that ends it, whose answer is dropped. */
PyObject *cx_do_enter(cx_call *c);
PyObject *cx_do_exit(cx_call *c);
/** The Gpu given as the option gpu: *kept borrows it, and has to be kept as long as it is used. */
bool cx_gpu_option(cx_call *c, PyObject **kept, cbx_gpu **out);

bool cx_add_things(cx_state *st);
bool cx_add_answers(cx_state *st);
/** Puts types into the namespaces that their names tell. */
bool cx_place_types(cx_state *st, PyObject *module);

#endif
