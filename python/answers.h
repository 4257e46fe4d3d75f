/*
 * What a call of measuring, statistics, analysis or watching takes and gives: samples and options
 * from arguments; the library's structs as immutable tuples with names, all made from one table.
 */
#ifndef CALIBRAX_PYTHON_ANSWERS_H
#define CALIBRAX_PYTHON_ANSWERS_H

#include <stddef.h>

#include "python/records.h"

/* ---- answers ---- */

/* What an answer gathers from several structs of the library. */
typedef struct cx_looks_answer {
    cbx_looks plan;
    double levels[CBX_LOOKS_MAX];
} cx_looks_answer;

typedef struct cx_suspect_answer {
    const char *commit, *subject, *reason;
    double probability;
    size_t launches;
} cx_suspect_answer;

typedef struct cx_bisect_answer {
    cbx_bisect_result r;
    int exit_code;
    const char *good, *bad, *likeliest;
    const cx_suspect_answer *suspects;
} cx_bisect_answer;

typedef struct cx_row_answer {
    const char *key, *metric, *unit;
    cbx_direction direction;
    const cbx_comparison_cell *cells;
    size_t ncells, nmissing;
} cx_row_answer;

typedef struct cx_roofline_answer {
    cbx_roofline r;
    const char *level;
    cbx_roofline_hints hints;
} cx_roofline_answer;

typedef struct cx_profile_answer {
    cbx_interval wall;
    const cbx_profile_run *runs;
    size_t nruns;
} cx_profile_answer;

typedef struct cx_convergence_answer {
    cbx_convergence_result r;
    const cbx_tolerance_result *tolerances;
    size_t ntolerances;
} cx_convergence_answer;

/** The object of a struct; of that kind. */
PyObject *cx_answer_object(cx_state *st, cx_answer_kind kind, const void *from);
/** A tuple of n structs, one behind the other. */
PyObject *cx_answer_list(cx_state *st, cx_answer_kind kind, const void *from, size_t n);
/** Takes the interpreter's lock; the object of the struct, or the exception that a status other
 * than CBX_OK stands for. */
PyObject *cx_answer(cx_call *c, cbx_status status, cx_answer_kind kind, const void *from);
/* CX_COMPUTE(do_order, cbx_test, TEST, (cx_samples x), CX_GET(c, x), cbx_stat_test_order(c->ctx,
 * x.x, x.n, &out, &c->err)): an implementation that declares variables and out, reads arguments,
 * and returns out if the call gives CBX_OK. */
#define CX_COMPUTE(name, T, kind, variables, arguments, call)                                                          \
    static PyObject *name(cx_call *c)                                                                                  \
    {                                                                                                                  \
        T out;                                                                                                         \
        CX_BARE variables;                                                                                             \
        return (arguments) && cx_begin(c) ? cx_answer(c, call, CX_##kind, &out) : NULL;                                \
    }
/* The library's function of a table row of statistics, by its type but for the error at its end;
 * CX_SAMPLE: n numbers. */
#define CX_SAMPLE    const double *, size_t
#define CX_STAT(...) ((cbx_status(*)(__VA_ARGS__, cbx_err *))c->fn)
/** A tuple of float. */
PyObject *cx_numbers_object(const double *x, size_t n);
/** Tuple of n integers. */
PyObject *cx_wholes_object(const size_t *x, size_t n);
/** Tuple of the places where a mask is true. */
PyObject *cx_places_object(cx_call *c, const bool *mask, size_t n);

/* ---- arguments: false with an exception that names function and parameter ---- */

typedef struct cx_samples {
    const double *x; /* held by the call */
    size_t n;
} cx_samples;

bool cx_same_length(const cx_call *c, const cx_samples *x, const cx_samples *y);
/** Rows of equal length, one behind the other, as one block. */
bool cx_table_arg(cx_call *c, const char *name, cx_samples *out, size_t *rows, size_t *columns);
/** Sequences of any lengths, one behind the other. */
typedef struct cx_groups {
    double *x;
    size_t *sizes, n;
} cx_groups;
/** A string or a sequence of them; left out or None: list NULL. */
typedef struct cx_texts {
    PyObject *tuple; /* kept by the call */
    const char **list;
    size_t n;
} cx_texts;
/** Directions, one string for all or a sequence of n; NULL with an exception. */
cbx_direction *cx_directions_arg(cx_call *c, const char *name, size_t n);

/* ---- Python functions called by the library ---- */

/** One of them; the first exception is kept, and nothing is called behind it. */
typedef struct cx_callback {
    PyObject *function;
    PyObject *last; /* what it gave last, if that is kept */
    bool keep;
    PyObject *type, *value, *traceback;
} cx_callback;

/** As cx_answer of a call that called a function of Python: the exception that it raised, if
 * it did. */
PyObject *cx_answer_called(cx_call *c, cx_callback *cb, cbx_status status, cx_answer_kind kind, const void *from);
/** Puts v, whose reference it takes over, in the place of *at. */
static inline void cx_set(PyObject **at, PyObject *v)
{
    PyObject *old = *at;
    *at = v;
    Py_XDECREF(old);
}

/** A cbx_timed_fn: calls without arguments. */
void cx_callback_run(void *callback);
/** A call with a tuple of arguments, which it takes over, for a number; 0 with an exception, which
 * is kept. */
double cx_callback_number(cx_callback *cb, PyObject *args);
/** A statistic of one sample (y NULL) or two, from any thread, with or without the
 * interpreter's lock. */
double cx_callback_statistic(const double *x, size_t n, const double *y, size_t m, void *callback);
/** Keeps the current exception. */
void cx_callback_caught(cx_callback *cb);
/** Drops what it holds; true, with the exception raised, if one was kept. */
bool cx_callback_done(cx_callback *cb);
/** Drops the exception that is kept. */
void cx_callback_drop(cx_callback *cb);

#endif
