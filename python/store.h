/* Inside the Store: its object, and how a method reaches the library's store while other threads use it. */
#ifndef CALIBRAX_PYTHON_STORE_H
#define CALIBRAX_PYTHON_STORE_H

#include <pthread.h>

#include "python/objects.h"

/* The handle of a Store. */
typedef struct cx_shared_store {
    cbx_store *store; /* NULL: closed */
    pthread_mutex_t lock;
} cx_shared_store;

/** Releases the interpreter's lock and takes the store's; between the two no Python object may be touched. */
PyThreadState *cx_store_enter(PyObject *self);
void cx_store_leave(PyObject *self, PyThreadState *t);
/** CBX_OK, or the refusal of a store that was closed. */
cbx_status cx_store_closed(PyObject *self, cbx_err *err);
/** status = call, alone with the store of c->self and without the interpreter's lock. */
#define CX_IN_STORE(c, status, call)                                                                                   \
    do {                                                                                                               \
        PyThreadState *t_ = cx_store_enter((c)->self);                                                                 \
        status = cx_store_closed((c)->self, &(c)->err);                                                                \
        if (!status) status = call;                                                                                    \
        cx_store_leave((c)->self, t_);                                                                                 \
    } while (0)
#define CX_STORE(c) ((cx_shared_store *)((cx_object *)(c)->self)->handle)->store

/* CX_STORED(name, (variables), condition, call, result): a method that reads arguments, makes a call alone with the store, and returns
 * a result of its status. */
#define CX_STORED(name, variables, condition, call, result)                                                            \
    static PyObject *name(cx_call *c)                                                                                  \
    {                                                                                                                  \
        CX_BARE variables;                                                                                             \
        cbx_status status;                                                                                             \
        if (!(condition)) return NULL;                                                                                 \
        CX_IN_STORE(c, status, call);                                                                                  \
        return result;                                                                                                 \
    }

PyObject *cx_store_ingest(cx_call *c);

#endif
