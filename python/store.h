/*
 * Inside the Store: its object, and how a method gets at the library's store while other threads ask it, too.
 */
#ifndef CALIBRAX_PYTHON_STORE_H
#define CALIBRAX_PYTHON_STORE_H

#include <pthread.h>

#include "python/records.h"

typedef struct cx_store_object {
    PyObject_HEAD cbx_ctx *ctx;
    cbx_store *store; /* NULL: closed */
    pthread_mutex_t lock;
    bool has_lock;
} cx_store_object;

static inline cx_store_object *cx_store_of(PyObject *self) { return (cx_store_object *)self; }

/** Lets go of the interpreter's lock and takes the store's; between the two no Python object may be touched. */
PyThreadState *cx_store_enter(PyObject *self);
void cx_store_leave(PyObject *self, PyThreadState *t);
/** CBX_OK, or the refusal of a store that was closed. */
cbx_status cx_store_closed(PyObject *self, cbx_err *err);

/** What runs are asked for, read from keywords; the arena is cleared by the caller, whatever comes.  false with an exception */
typedef struct cx_query {
    cbx_store_query query;
    cbx_arena arena;
} cx_query;
bool cx_query_read(PyObject *args, PyObject *kw, cx_query *out);

/* Methods of other files, for the table in store.c. */
PyObject *cx_store_ingest(PyObject *self, PyObject *args, PyObject *kw);
PyObject *cx_store_export(PyObject *self, PyObject *args, PyObject *kw);
PyObject *cx_store_compact_runs(PyObject *self, PyObject *args, PyObject *kw);
PyObject *cx_store_migrate_runs(PyObject *self, PyObject *args, PyObject *kw);

#endif
