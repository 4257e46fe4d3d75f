/*
 * Objects of the library that live between calls: a window, a book of alerts, a meter.  Each has a
 * context of its own, and its type is from one table; one thread uses it at a time, and a second
 * one gets a RuntimeError.
 */
#ifndef CALIBRAX_PYTHON_OBJECTS_H
#define CALIBRAX_PYTHON_OBJECTS_H

#include "python/answers.h"

typedef struct cx_object {
    PyObject_HEAD cx_object_kind kind;
    cbx_ctx *ctx;
    void *handle;   /* NULL: closed */
    PyObject *kept; /* what has to live as long; may be NULL */
    PyObject *listener;
    bool busy; /* a call works on it without the interpreter's lock */
} cx_object;

typedef struct cx_object_type {
    const char *name, *doc;
    void (*free)(cx_object *t); /* of the handle */
    PyMethodDef *methods;
    cx_function *make; /* called by the type; NULL: only functions make one */
    bool bare;         /* without a context of its own */
    PyGetSetDef *members;
    ternaryfunc call; /* these may be NULL */
    reprfunc repr;
    richcmpfunc compare;
    hashfunc hash;
} cx_object_type;

/* CX_OBJECT_TYPE(window, window, WINDOW, "monitoring", Window, signature, cbx_window_free,
 * documentation): the type Window, made by window_make, with the methods of the list WINDOW; more
 * initializers of cx_object_type may follow.  CX_TYPE: of any name and maker. */
#define CX_OBJECT_TYPE(type, make_, LIST, space, name_, sig, free_, ...)                                               \
    CX_TYPE(type, make_, LIST, "calibrax_c." space "." #name_, CX_MAKER(name_, sig, make_##_make), free_, __VA_ARGS__)
#define CX_TYPE(type, make_, LIST, name_, maker, free_, documentation, ...)                                            \
    LIST(CX_OF_TYPE)                                                                                                   \
    static PyMethodDef make_##_methods[] = { LIST(CX_OF_TYPE_ROW){ 0 } };                                              \
    static void make_##_free(cx_object *o) { free_(o->handle); }                                                       \
    const cx_object_type cx_##type##_object_type = { .name = name_,                                                    \
                                                     .doc = documentation,                                             \
                                                     .free = make_##_free,                                             \
                                                     .methods = make_##_methods,                                       \
                                                     .make = maker __VA_OPT__(, ) __VA_ARGS__ };
#define CX_MAKER(name, sig, impl)                                                                                      \
    &(cx_function) { #name, sig, #name, impl, 0, CX_LIGHT, NULL, 0, -1 }

/* CX_MADE(alerts_make, CX_ALERTS, cbx_alerts, (size_t keep), CX_GET(c, keep), create): a maker that
 * declares variables and, if a condition holds, makes an object of that kind with what create
 * writes to handle; o is the object. */
#define CX_MADE(name, kind, T, variables, condition, create)                                                           \
    static PyObject *name(cx_call *c)                                                                                  \
    {                                                                                                                  \
        CX_BARE variables;                                                                                             \
        cx_object *o = (condition) ? cx_object_new(c->st, kind) : NULL;                                                \
        cbx_status status_;                                                                                            \
        T *handle = NULL;                                                                                              \
        if (!o) return NULL;                                                                                           \
        status_ = create;                                                                                              \
        o->handle = handle;                                                                                            \
        return cx_object_made(o, status_, &c->err);                                                                    \
    }

/* CX_DO(window_add, cbx_window, (double value;), (value), formula): a method that reads arguments
 * into variables and computes a formula of them and of self, the handle. */
#define CX_DO(name, T, variables, arguments, formula)                                                                  \
    static PyObject *name(cx_call *c)                                                                                  \
    {                                                                                                                  \
        T *self = cx_handle(c);                                                                                        \
        CX_BARE variables;                                                                                             \
        return self && CX_GET(c, CX_BARE arguments) ? (formula) : NULL;                                                \
    }

/* The status of a call on an object without the interpreter's lock: other calls of the object are
 * refused meanwhile. */
#define CX_BUSY(o, call)                                                                                               \
    ({                                                                                                                 \
        PyThreadState *t_ = ((o)->busy = true, PyEval_SaveThread());                                                   \
        const cbx_status status_ = (call);                                                                             \
        PyEval_RestoreThread(t_);                                                                                      \
        (o)->busy = false;                                                                                             \
        status_;                                                                                                       \
    })

#define CX_OBJECT_EXTERN(kind, name) extern const cx_object_type cx_##name##_object_type;
CX_OBJECTS(CX_OBJECT_EXTERN)

/** A new one with a context (unless bare) and no handle yet; NULL with an exception. */
cx_object *cx_object_new(cx_state *st, cx_object_kind kind);
/** self of a method, ready for use; NULL with an exception if it was closed or is busy. */
cx_object *cx_object_self(cx_call *c);
/** Its handle. */
void *cx_handle(cx_call *c);
/** An argument that must be an object of a kind; NULL with an exception. */
cx_object *cx_object_arg(cx_call *c, const char *name, cx_object_kind kind);
/** The object once its maker is done: its reference is passed on, or dropped with the exception of
 * the status. */
PyObject *cx_object_made(cx_object *t, cbx_status status, const cbx_err *err);

/* Methods of an object that ends with its block: itself; and the function that ends it, whose
 * answer is dropped. */
PyObject *cx_do_enter(cx_call *c);
PyObject *cx_do_exit(cx_call *c);

/** The Gpu given as the option gpu: *kept borrows it, and must be kept as long as it is used. */
bool cx_gpu_option(cx_call *c, PyObject **kept, cbx_gpu **out);

bool cx_add_objects(cx_state *st);
bool cx_add_answers(cx_state *st);
/** Puts a type into the namespace of its name. */
bool cx_place_type(cx_state *st, const char *name, PyTypeObject *type);

#endif
