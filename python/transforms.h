/*
 * What transforms of Python functions share: trees, functions that were recorded, and the trace that a thread is in.
 *
 * A transform records the user's function once: it runs with abstract Arrays, in one context, and what it does becomes a cbx_fn, which
 * the library transforms.  While a function is recorded, every call of its thread uses that context.
 */
#ifndef CALIBRAX_PYTHON_TRANSFORMS_H
#define CALIBRAX_PYTHON_TRANSFORMS_H

#include "python/state.h"

/* ---- trees (tree.c) ---- */

/** The structure of a tree, whose leaves are appended to a list; is_leaf may be NULL.  NULL with an exception. */
PyObject *cx_tree_flatten(cx_state *st, PyObject *o, PyObject *is_leaf, PyObject *leaves);
/** A tree of a structure with the leaves of a list. */
PyObject *cx_tree_build(cx_state *st, PyObject *structure, PyObject *leaves);
/** The structure as an object; takes its reference over, NULL gives NULL. */
PyObject *cx_tree_new(cx_state *st, PyObject *structure, Py_ssize_t leaves);
bool cx_add_tree_type(cx_state *st);

/* ---- recorded functions (recording.c) ---- */

/** A function of arrays that was recorded, or a transform of one. */
typedef struct cx_recorded {
    PyObject_HEAD cbx_fn *fn;
    bool captures; /* it reads arrays of an enclosing recording, and ends with it */
    bool loops;    /* it may run long, however few elements it gets */
} cx_recorded;

bool cx_add_recorded_type(cx_state *st);
/** A Python number as an array of rank 0 of the dtype of its kind, the caller's; NULL with an exception. */
cbx_array *cx_number(cx_state *st, PyObject *o);

/* ---- compiled functions (jit.c) ---- */

bool cx_add_jit_type(cx_state *st, PyObject *module);
/** A compiled function; plan is a JitPlan of _transforms.py. */
PyObject *cx_jitted_new(cx_state *st, PyObject *fun, PyObject *plan);

extern PyMethodDef cx_tree_methods[], cx_transform_methods[], cx_recording_methods[];

#endif
