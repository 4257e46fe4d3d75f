/*
 * What transforms of Python functions share: trees, functions that were recorded, and the trace
 * that a thread is in.
 *
 * A transform records the user's function once: it runs with abstract Arrays, in one context, and
 * what it does becomes a cbx_fn, which the library transforms.  While a function is recorded, every
 * call of its thread uses that context.
 */
#ifndef CALIBRAX_PYTHON_TRANSFORMS_H
#define CALIBRAX_PYTHON_TRANSFORMS_H

#include "python/state.h"

/* ---- trees (tree.c) ---- */

/** The structure of a tree, whose leaves are appended to a list; is_leaf may be NULL.  NULL with an
 * exception. */
PyObject *cx_tree_flatten(cx_state *st, PyObject *o, PyObject *is_leaf, PyObject *leaves);
/** A tree of a structure with the leaves of a list. */
PyObject *cx_tree_build(cx_state *st, PyObject *structure, PyObject *leaves);

/* ---- recording (recording.c); cx_traced_ctx and cx_concrete are in state.h ---- */

/** record(name, body, like, axes) of the namespace _recording, and rule(name, body, nin,
 * results, more). */
PyObject *cx_do_record(cx_call *c);
PyObject *cx_do_rule(cx_call *c);
/** If this thread records a function: that it contains a loop that may run long. */
void cx_note_loops(bool loops);
/** A Python number as an array of rank 0 of the dtype of its kind, the caller's; NULL with an
 * exception. */
cbx_array *cx_number(cx_state *st, PyObject *o);
/** Dtype and shape of an Array or a number, without one axis unless that is NULL or None; weak: it
 * is a number. */
bool cx_describe(cx_state *st, PyObject *o, PyObject *axis, cbx_array_desc *d, bool *weak);

/* ---- recorded functions (recorded.c) ---- */

/** A function of arrays that was recorded, or a transform of one. */
typedef struct cx_recorded {
    PyObject_HEAD cbx_fn *fn;
    bool captures; /* it reads arrays of an enclosing recording, and ends with it */
    bool loops;    /* it may run long, however few elements it gets */
    bool unlocks;  /* it computes so much that other threads should run meanwhile */
    bool jitted;   /* it was made by cbx_jit */
    bool fresh;    /* the next call compiles it */
    bool *donated; /* of each operand whether calls take its elements; NULL: of none */
} cx_recorded;

bool cx_add_recorded_type(cx_state *st);
/** A new one that takes the function over; NULL frees it. */
PyObject *cx_recorded_new(cx_state *st, cbx_fn *fn, bool captures, bool loops);

/**
 * Before a call of a compiled function: donated leaves whose elements nothing else has give them to
 * new Arrays, which take their places.
 * @param fresh  n, those Arrays, the caller's to drop after the call; NULL: the leaf stays
 * @return false with an exception
 */
bool cx_donate(cx_state *st, const cx_recorded *r, size_t n, PyObject **leaves, PyObject **fresh);
/** Of a method of a recorded function: descriptions of operands like the argument like, which end
 * with the call; NULL with an exception. */
cbx_array_desc *cx_recorded_descriptions(cx_call *c);
/** Methods of recorded functions (programs.c): cost_compile(like), a dict; dump(like, stage), a
 * text; aot_write(like, path). */
PyObject *cx_do_cost_compile(cx_call *c);
PyObject *cx_do_dump(cx_call *c);
PyObject *cx_do_aot_write(cx_call *c);

/* ---- compiled functions (jit.c) ---- */

bool cx_add_jit_type(cx_state *st, PyObject *module);
/** A compiled function; plan is a JitPlan of _compiled.py. */
PyObject *cx_jitted_new(cx_state *st, PyObject *fun, PyObject *plan);

#endif
