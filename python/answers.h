/*
 * What a call of measuring, statistics, analysis or watching takes and gives: samples and options from arguments; the library's
 * structs as immutable tuples with names, all made from one table.
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
    double intensity, ridge;
    cbx_bound bound;
    const char *level;
    double attainable_flop_per_s, flop_per_s, bytes_per_s, flop_share, bytes_share, efficiency;
    bool beyond_roof;
    char hint[CBX_ROOFLINE_HINTS_MOST][CBX_ROOFLINE_HINT_SIZE];
    size_t nhints;
} cx_roofline_answer;

typedef struct cx_profile_answer {
    cbx_interval wall;
    const cbx_profile_run *runs;
    size_t nruns;
} cx_profile_answer;

typedef struct cx_convergence_answer {
    cbx_convergence_outcome outcome;
    double rate, rate_error;
    size_t iterations, bad;
    const cbx_tolerance_result *tolerances;
    size_t ntolerances;
} cx_convergence_answer;

/** The object of a struct; its kind says which. */
PyObject *cx_answer_object(cx_state *st, cx_answer_kind kind, const void *from);
/** A tuple of n structs, one behind the other. */
PyObject *cx_answer_list(cx_state *st, cx_answer_kind kind, const void *from, size_t n);
/** Takes the interpreter's lock; the object of the struct, or the exception that a status other than CBX_OK stands for. */
PyObject *cx_answer(cx_call *c, cbx_status status, const cbx_err *err, cx_answer_kind kind, const void *from);
/** As cx_answer, of a number, a list of numbers, of texts that a struct holds. */
PyObject *cx_answer_number(cx_call *c, cbx_status status, const cbx_err *err, double v);
PyObject *cx_answer_numbers(cx_call *c, cbx_status status, const cbx_err *err, const double *x, size_t n);
/** A tuple of float. */
PyObject *cx_numbers_object(const double *x, size_t n);
/** Tuple of n whole numbers. */
PyObject *cx_wholes_object(const size_t *x, size_t n);
/** Takes the lock and raises, if the status is not CBX_OK; true if it is. */
bool cx_fine(cx_call *c, cbx_status status, const cbx_err *err);

/* ---- arguments: false with an exception that names function and parameter ---- */

typedef struct cx_samples {
    const double *x; /* held by the call */
    size_t n;
} cx_samples;

/** A flat sequence of numbers, a buffer or an Array; a left-out one or None gives NULL and 0. */
bool cx_samples_arg(cx_call *c, int i, cx_samples *out);
bool cx_samples_from(cx_call *c, PyObject *o, int i, cx_samples *out);
/** Two of them; of pairs (same) the lengths have to be the same. */
bool cx_two_samples(cx_call *c, cx_samples *x, cx_samples *y, bool same);
/** Rows of equal length, one behind the other, as one block. */
bool cx_table_arg(cx_call *c, int i, cx_samples *out, size_t *rows, size_t *columns);
/** Sequences of any lengths, one behind the other; cx_groups_free whatever comes back. */
typedef struct cx_groups {
    double *x;
    size_t *sizes, n;
} cx_groups;
bool cx_groups_arg(cx_call *c, int i, cx_groups *out);
void cx_groups_free(cx_groups *g);
/** A text or a sequence of them; left out or None: list NULL.  cx_texts_free whatever comes back. */
typedef struct cx_texts {
    PyObject *tuple; /* keeps the texts alive */
    const char **list;
    size_t n;
} cx_texts;
bool cx_texts_arg(cx_call *c, int i, cx_texts *out);
void cx_texts_free(cx_texts *t);
bool cx_size_arg(cx_call *c, int i, size_t *inout);
bool cx_text_arg(cx_call *c, int i, const char **inout);
/** The place of a word in a list; left out: as it is. */
bool cx_word_arg(cx_call *c, int i, const char *const *words, size_t n, int *inout);
bool cx_word_from(cx_call *c, PyObject *o, int i, const char *const *words, size_t n, int *out);
bool cx_direction_from(cx_call *c, PyObject *o, int i, cbx_direction *out);
/** Directions, one text for all or a sequence of n; the caller frees them with PyMem_Free.  NULL with an exception. */
cbx_direction *cx_directions_arg(cx_call *c, int i, size_t n);
/** A callable; None and left out: NULL. */
bool cx_callable_arg(cx_call *c, int i, PyObject **out);
/** [ns] Of seconds; left out: now, by cbx_clock_ns. */
bool cx_now_arg(cx_call *c, int i, uint64_t *out);

typedef enum cx_option_kind { CX_O_NUMBER, CX_O_WHOLE, CX_O_FLAG, CX_O_TEXT, CX_O_WORD, CX_O_NS } cx_option_kind;

/** A member of a struct of options, and the argument that sets it. */
typedef struct cx_option {
    int arg;
    cx_option_kind kind;
    size_t at, width;
    const char *const *words; /* of CX_O_WORD */
    size_t nwords;
} cx_option;

#define CX_OPTION(arg, kind, type, member)                                                                             \
    {                                                                                                                  \
        arg, CX_O_##kind, offsetof(type, member), sizeof(((type *)0)->member), NULL, 0                                 \
    }
#define CX_OPTION_WORD(arg, type, member, list)                                                                        \
    {                                                                                                                  \
        arg, CX_O_WORD, offsetof(type, member), sizeof(((type *)0)->member), list, CBX_LEN(list)                       \
    }

/** Sets what was given, leaves the rest. */
bool cx_options(cx_call *c, const cx_option *list, size_t n, void *into);

/* ---- Python functions called by the library ---- */

/** One of them; the first exception is kept, and nothing is called behind it. */
typedef struct cx_callback {
    PyObject *function;
    PyObject *last; /* what it gave last, if that is kept */
    bool keep;
    PyObject *type, *value, *traceback;
} cx_callback;

/** Puts v, whose reference it takes over, in the place of *at. */
static inline void cx_set(PyObject **at, PyObject *v)
{
    PyObject *old = *at;
    *at = v;
    Py_XDECREF(old);
}

/** A cbx_timed_fn: calls without arguments. */
void cx_callback_run(void *callback);
/** Keeps the current exception. */
void cx_callback_caught(cx_callback *cb);
/** Drops what it holds; true, with the exception raised, if one was kept. */
bool cx_callback_done(cx_callback *cb);

#endif
