/*
 * What the files of the extension share: the module's state, the Array object, one call into the
 * library.
 *
 * A context belongs to one thread at a time.  The state keeps idle ones; a call borrows one, lets
 * go of the interpreter's lock if there is much to compute, and gives it back.  So threads compute
 * side by side and no context is shared.
 */
#ifndef CALIBRAX_PYTHON_STATE_H
#define CALIBRAX_PYTHON_STATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <signal.h>
#include <stdbool.h>

#include "calibrax/calibrax.h"
#include "calibrax/tools.h"

enum {
    CX_MAX_ARGS = 24,
    CX_IDLE_CONTEXTS = 8,        /* contexts kept for re-use; more threads make more, which are freed */
    CX_UNLOCK_ELEMENTS = 1 << 14 /* operands of this many elements are computed without the interpreter's lock */
};

/* From how many elements among its arguments on a function runs where Ctrl-C can interrupt it
 * (interrupt.c), by table.  That costs 24 us, so a call of fewer elements must not take long.
 * CX_PRODUCT: as CX_HEAVY, but of a vector as CX_LIGHT. */
enum { CX_WAITS = 0, CX_LONG = 1, CX_SLOW = 1 << 9, CX_HEAVY = 1 << 17, CX_PRODUCT = CX_HEAVY + 1, CX_LIGHT = 1 << 24 };

/* clang-format off */
#define CX_RECORDS(X) \
    X(METRIC_DEF, MetricDef) X(METRIC, Metric) X(POINT, Point) X(RUN_ENTRY, RunEntry) X(TREND_POINT, TrendPoint) X(TREND_SERIES, TrendSeries) \
    X(FINDING, Finding) X(TARGET, Target) X(FAILURE, Failure) X(COMPARISON, Comparison) X(PYTHON_CALL, PythonCall) X(IMPORT_NOTE, ImportNote) \
    X(IMPORTED, Imported) X(INGESTED_RUN, IngestedRun) X(INGESTED, Ingested) X(CARE, Care)
#define CX_OBJECTS(X) \
    X(SEQUENCE, sequence) X(STREAM, stream) X(RESOURCE_MONITOR, resource_monitor) X(ENERGY_METER, energy_meter) X(ENERGY_MONITOR, energy_monitor) \
    X(COMPILATION, compilation) X(BISECTION, bisection) X(GPU, gpu) X(TIMELINE, timeline) X(WINDOW, window) X(ALERTS, alerts) X(HEALTH, health) \
    X(SINK, sink) X(VALIDATION, validation) X(ELL, ell) X(RUN, run) X(STORE_TYPE, store) X(CHECK, check) X(REPORT, report) X(METRIC_STATE, metric_state) \
    X(METRIC_COLLECTION, metric_collection) X(METRIC_TRACK, metric_track) X(STRUCTURE, structure)
/* clang-format on */

/* Records: immutable, with named fields (calibrax_c/_records.py). */
#define CX_RECORD_ENUM(kind, name) CX_##kind,
#define CX_RECORD_NAME(kind, name) #name,
typedef enum cx_record_kind { CX_RECORDS(CX_RECORD_ENUM) CX_RECORD_COUNT } cx_record_kind;

/* Answers: what the library fills in, as tuples with names (answers.h). */
typedef enum cx_answer_kind {
#define TYPE(T, kind, ...) CX_##kind
#include "python/answer_rows.inc"
#undef TYPE
    CX_ANSWER_COUNT
} cx_answer_kind;

/* Objects of the library that live between calls (objects.h). */
#define CX_OBJECT_ENUM(kind, name) CX_##kind,
typedef enum cx_object_kind { CX_OBJECTS(CX_OBJECT_ENUM) CX_OBJECT_COUNT } cx_object_kind;

typedef struct cx_state {
    struct cx_state *home; /* first: a namespace inside the module points to the module's own state */
    PyObject *module;      /* of a namespace: keeps the home alive; NULL in the home */
    PyObject *core;        /* the extension module, borrowed: its types are made in it */
    PyObject *arrays;      /* the namespace of array functions */
    PyObject *signatures;  /* of all functions and methods, by name */
    PyTypeObject *array_type, *dtype_type, *recorded_type, *jit_type;
    PyObject *nodes;                        /* of trees: pairs of functions by type (tree.c) */
    PyObject *concretization_error;         /* the exception class */
    PyTypeObject *records[CX_RECORD_COUNT]; /* records.h */
    PyTypeObject *answers[CX_ANSWER_COUNT]; /* answers.h */
    PyTypeObject *objects[CX_OBJECT_COUNT]; /* objects.h */
    PyObject *dtypes[CBX_DTYPE_COUNT];
    const cbx_backend *backend; /* NULL: the library's choice */
    cbx_ctx *idle[CX_IDLE_CONTEXTS];
    int idle_count;
    struct cx_worker *worker; /* interrupt.c; NULL: none */
} cx_state;

typedef struct cx_array {
    PyObject_HEAD cbx_array *handle; /* immutable; assignment puts another one here */
    bool weak;                       /* traced, of a Python number: promotes as one */
} cx_array;

cx_state *cx_state_of(PyObject *module);
/** Of an instance of a type of this module, and of the type. */
cx_state *cx_state_of_instance(PyObject *self);
cx_state *cx_state_of_type(PyObject *type);

typedef struct cx_call cx_call;

/** Raises what a status stands for, with the library's sentence; returns NULL. */
PyObject *cx_raise(cbx_status status, const char *message);
/** The same of a call's error: the message names the function as Python calls it. */
PyObject *cx_raise_for(const cx_call *c, cbx_status status);
/** Raises with a sentence made as PyErr_Format's: always false. */
#define cx_refused(...) (PyErr_Format(__VA_ARGS__), false)
/** Takes the interpreter's lock and raises, if the status is not CBX_OK; true if it is. */
bool cx_fine(cx_call *c, cbx_status status);
/** None, or NULL with the exception of the status. */
PyObject *cx_none(cx_call *c, cbx_status status);

/** A context of this thread alone until it is returned; NULL with an exception.  Needs the
 * interpreter's lock, as its return. */
cbx_ctx *cx_ctx_borrow(cx_state *st);
void cx_ctx_return(cx_state *st, cbx_ctx *ctx);
/** The context of the function that this thread records, NULL: none (recording.c). */
cbx_ctx *cx_traced_ctx(const cx_state *st);
/** False, with an exception that names the user's line, if an array is traced: what needs its
 * elements. */
bool cx_concrete(cx_state *st, const cbx_array *a, const char *what);
/** The element of an array of rank 0 as a Python number; NULL with an exception. */
PyObject *cx_item(cx_state *st, const cbx_array *a);
/** True of an array whose elements are not on the CPU. */
static inline bool cx_is_elsewhere(const cbx_array *a) { return cbx_array_device(a).kind != CBX_DEVICE_CPU; }
/** The array itself, or a copy on the CPU of one that is elsewhere, the caller's; NULL with an
 * exception. */
cbx_array *cx_here(cx_state *st, const cbx_array *a);
/** An Array on a device; takes o over and returns it if it is there, or no Array.  NULL with an
 * exception. */
PyObject *cx_moved(cx_state *st, PyObject *o, cbx_device_id device);
/** False, with an exception, if elements of a cannot be handed out as memory of this process. */
bool cx_shareable(const cbx_array *a, const char *what, PyObject *exception);

/* ---- one call ---- */

typedef struct cx_operand {
    cbx_array *array; /* held by the call; NULL: the scalar */
    cbx_scalar scalar;
    PyObject *big; /* borrowed: an integer beyond 64 bits, scalar is its nearest float */
    bool weak;     /* the array is traced, of a Python number */
} cx_operand;

typedef void (*cx_fn)(void);
typedef PyObject *(*cx_impl)(cx_call *c);

/** A parameter of a signature: views of its text. */
typedef struct cx_parameter {
    const char *name, *annotation, *fallback; /* NULL: none */
    size_t name_length, annotation_length, fallback_length;
    enum { CX_BY_POSITION, CX_BY_EITHER, CX_BY_NAME, CX_BY_REST, CX_BY_KEYWORDS } how;
    PyObject *value; /* the default, once it was needed */
} cx_parameter;

/** A function of the module.  The signature is Python's, with annotations: arguments are bound and
 * converted by it, the text signature, the stubs and the documentation are made from it.  An
 * annotation of quoted words ('a' | 'b') is a choice. */
typedef struct cx_function {
    const char *name, *signature, *returns;
    cx_impl impl;
    cx_fn fn;                 /* for impl: c->fn */
    size_t wait;              /* CX_WAITS ... */
    cx_parameter *parameters; /* parsed at the first call, kept as long as the process */
    int nparameters, device;  /* place of the parameter device; -1: none */
} cx_function;

struct cx_call {
    cx_state *st;
    const char *name;
    const cx_function *function; /* NULL: an operator */
    cx_fn fn;
    PyObject *self;        /* of a method */
    PyObject *const *rest; /* of a signature with *arrays */
    Py_ssize_t nrest;
    cbx_array **held; /* references for as long as the call runs */
    size_t nheld, capacity;
    cbx_array *held_inline[6];
    PyObject *kept[8]; /* dropped when the call is done */
    int nkept;
    bool has_arena, weak, strong;          /* weak, strong: which kinds of arrays are among the operands */
    size_t elements;                       /* of all operands */
    volatile sig_atomic_t *stop, own_stop; /* not 0: the call was interrupted, or one of its callbacks raised */
    cbx_ctx *ctx;                          /* borrowed from the state; NULL: none */
    PyThreadState *unlocked;
    PyObject *arg[CX_MAX_ARGS]; /* borrowed; NULL: left out */
    cbx_err err;                /* from here on not zeroed by cx_call_init, but for the status */
    cbx_arena arena;            /* has_arena: ends with the call */
    cbx_scope scope;
};

/** Reads the arguments, runs the implementation, drops what the call held. */
PyObject *cx_invoke(cx_state *st, cx_function *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                    PyObject *kwnames);

PyObject *cx_call_function(cx_state *st, cx_function *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames, volatile sig_atomic_t *stop);

/* ---- Ctrl-C (interrupt.c) ---- */

/** True if the arguments have so many elements that it is a long call, and this thread is the one
 * that receives signals. */
bool cx_should_wait(cx_state *st, const cx_function *f, PyObject *self, PyObject *const *args, Py_ssize_t n);
/** As cx_call_function, on another thread: this one waits for it, or for a signal whose
 * handler raises. */
PyObject *cx_run_interruptible(cx_state *st, cx_function *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames);
void cx_worker_free(cx_state *st);

/* ---- tables of functions ---- */

/* A list X(name, signature, type of the result, implementation, library function or 0,
 * documentation) becomes a method table:
 *     CX_FUNCTIONS(cx_elementwise_methods, ELEMENTWISE, LIGHT)
 * A prefix keeps functions apart from methods of the same name in one file.  The last argument:
 * from when on to wait for Ctrl-C. */
#define CX_TRAMPOLINE(prefix, wait, state, instance, name, sig, returns, impl, fun)                                    \
    static PyObject *prefix##name(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kw)                   \
    {                                                                                                                  \
        static cx_function f = { #name, sig, returns, impl, (cx_fn)(fun), wait, NULL, 0, -1 };                         \
        return cx_invoke(state(self), &f, instance, args, n, kw);                                                      \
    }
#define CX_METHOD(prefix, self, name, sig, returns, doc)                                                               \
    { #name, (PyCFunction)(void (*)(void))prefix##name, METH_FASTCALL | METH_KEYWORDS,                                 \
      #name "(" self sig ") -> " returns "\n--\n\n" doc },
#define CX_CALL(wait, name, sig, returns, impl, fun, doc)                                                              \
    CX_TRAMPOLINE(call_, wait, cx_state_of, NULL, name, sig, returns, impl, fun)
#define CX_CALL_LIGHT(...)                              CX_CALL(CX_LIGHT, __VA_ARGS__)
#define CX_CALL_HEAVY(...)                              CX_CALL(CX_HEAVY, __VA_ARGS__)
#define CX_CALL_PRODUCT(...)                            CX_CALL(CX_PRODUCT, __VA_ARGS__)
#define CX_CALL_SLOW(...)                               CX_CALL(CX_SLOW, __VA_ARGS__)
#define CX_CALL_LONG(...)                               CX_CALL(CX_LONG, __VA_ARGS__)
#define CX_CALL_WAITS(...)                              CX_CALL(CX_WAITS, __VA_ARGS__)
#define CX_CALL_ROW(name, sig, returns, impl, fun, doc) CX_METHOD(call_, , name, sig, returns, doc)
#define CX_SELF(wait, name, sig, returns, impl, fun, doc)                                                              \
    CX_TRAMPOLINE(method_, wait, cx_state_of_instance, self, name, sig, returns, impl, fun)
#define CX_SELF_LIGHT(...)                                 CX_SELF(CX_LIGHT, __VA_ARGS__)
#define CX_SELF_HEAVY(...)                                 CX_SELF(CX_HEAVY, __VA_ARGS__)
#define CX_SELF_WAITS(...)                                 CX_SELF(CX_WAITS, __VA_ARGS__)
#define CX_OF_TYPE                                         CX_SELF_LIGHT
#define CX_OF_TYPE_ROW(name, sig, returns, impl, fun, doc) CX_METHOD(method_, "$self, ", name, sig, returns, doc)
#define CX_OF_CLASS(name, sig, returns, impl, fun, doc)                                                                \
    CX_TRAMPOLINE(class_, CX_LIGHT, cx_state_of_type, self, name, sig, returns, impl, fun)
#define CX_OF_CLASS_ROW(name, sig, returns, impl, fun, doc)                                                            \
    { #name, (PyCFunction)(void (*)(void))class_##name, METH_FASTCALL | METH_KEYWORDS | METH_CLASS,                    \
      #name "($type, " sig ") -> " returns "\n--\n\n" doc },
#define CX_FUNCTIONS(table, LIST, wait)                                                                                \
    LIST(CX_CALL_##wait)                                                                                               \
    PyMethodDef table[] = { LIST(CX_CALL_ROW){ 0 } };
/* Methods of Array that are functions of x: what they read as x is self. */
#define CX_ARRAY_FUNCTIONS(table, LIST, wait)                                                                          \
    LIST(CX_SELF_##wait)                                                                                               \
    PyMethodDef table[] = { LIST(CX_OF_TYPE_ROW){ 0 } };
/* A row of both: a function of x with its other arguments by name, and the method, whose first one
 * may be given by position.  They have one example, of an operand: BOTH(F, X) lists F(X, name,
 * first argument, further ones, implementation, library function, sentence, operand, result), and
 * is BOTH(CX_AS_FUNCTION, X) and BOTH(CX_AS_METHOD, X). */
#define CX_AS_FUNCTION(X, name, first, more, impl, fun, text, operand, result)                                         \
    X(name, "x: Array, /, *, " first more, "Array", impl, fun, text "\n\n>>> xp." #name "(" operand ")\n" result)
#define CX_AS_METHOD(X, name, first, more, impl, fun, text, operand, result)                                           \
    X(name, first ", *" more, "Array", impl, fun, text "\n\n>>> " operand "." #name "()\n" result)

/** What a parameter of that name is, NULL: unknown; and the rules of the functions of a table
 * (parameters.c). */
const char *cx_parameter_text(const char *name, size_t length);
const char *cx_rules_of(const PyMethodDef *table);

/* Documentation starts with name(signature with annotations) -> result and an empty line; these
 * take the annotations out, once, and add the signature to the module's dict of all, by its dotted
 * name.  NULL with an exception. */
PyMethodDef *cx_methods(PyMethodDef *table, PyObject *signatures, const char *prefix);
PyTypeObject *cx_type(cx_state *st, PyType_Spec *spec);
/** Fills f->parameters. */
bool cx_parse(cx_function *f);

/** Starts and ends a call that has no table entry (operators):
 *     CX_ENDED_BY(cx_call_done) cx_call c; */
void cx_call_init(cx_call *c, cx_state *st, const char *name);
void cx_call_done(cx_call *c);
/** Borrows a context and opens a scope; false with an exception set.  Until cx_result no Python
 * object may be touched. */
bool cx_begin(cx_call *c);
/** The same without the interpreter's lock, however few the elements: for calls that wait, or
 * compute long. */
bool cx_begin_long(cx_call *c);
/** Takes the interpreter's lock again, inside a begun call. */
void cx_lock(cx_call *c);
/** Closes the scope: the result as an Array, or the exception of the first failure. */
PyObject *cx_result(cx_call *c, cbx_array *r);
/** The same of a function element by element: of weak operands alone the result is weak. */
PyObject *cx_weak_result(cx_call *c, cbx_array *r);
/** Closes the scope and hands n results over to the caller, who frees them. */
bool cx_keep(cx_call *c, size_t n, cbx_array **arrays);
/** Closes the scope: the results as a list, or a tuple. */
PyObject *cx_results(cx_call *c, size_t n, cbx_array **arrays, bool tuple);
/** Closes the scope: the results as a tuple with names, of that kind. */
PyObject *cx_record(cx_call *c, cx_answer_kind kind, size_t n, cbx_array **arrays);
/** A reference for as long as the call runs; takes over the caller's. */
bool cx_hold(cx_call *c, cbx_array *a);

/** An arena that ends with the call. */
cbx_arena *cx_arena(cx_call *c);
/** Zeroed memory that ends with the call; NULL with an exception. */
void *cx_alloc(cx_call *c, size_t n, size_t size);
/** The arguments of *name as a new tuple. */
PyObject *cx_rest_tuple(cx_call *c);
/** Drops the object when the call is done; false if it is NULL. */
bool cx_keep_object(cx_call *c, PyObject *o);

/* ---- arguments by name: false (NULL) with an exception that names function and parameter ---- */

/** The argument called name as it was given; NULL if it has a default and was left out or
 * is None. */
PyObject *cx_arg(cx_call *c, const char *name);
/** The parameter of that name; NULL: unknown. */
const cx_parameter *cx_parameter_of(const cx_call *c, const char *name);
/** Raises "mean: 'x' must be wanted, got <object>"; false. */
bool cx_refuse(const cx_call *c, const char *name, PyObject *kind, const char *wanted, PyObject *got);

/** Converts o, the argument called name, into *out. */
typedef bool (*cx_reader)(cx_call *c, const char *name, PyObject *o, void *out);
typedef struct cx_target {
    const char *name; /* "level", "o.level" or "o->level" */
    cx_reader read;
    void *out;
} cx_target;
bool cx_get(cx_call *c, const cx_target *list);

/** One axis; none: None, or left out where that is the default, and value stays. */
typedef struct cx_axis {
    int value;
    bool none;
} cx_axis;
typedef struct cx_shape {
    int ndim;
    size_t of[CBX_MAX_RANK];
} cx_shape;
typedef struct cx_ints {
    int n;
    ptrdiff_t v[CBX_MAX_RANK];
} cx_ints;
typedef struct cx_arrays {
    size_t n;
    const cbx_array **list; /* held by the call */
} cx_arrays;

/* A reader a type of variable; those of samples, texts, groups and callbacks are in answers.h.
 * Numbers of Python are weak. */
#define CX_READERS(X)                                                                                                  \
    X(double, double)                                                                                                  \
    X(size, size_t)   /* annotation seconds: nanoseconds */                                                            \
    X(int64, int64_t) /* annotation Time: microseconds */                                                              \
    X(bool, bool)                                                                                                      \
    X(text, const char *) /* annotation Path: of the file system */                                                    \
    X(unsigned, unsigned) /* a choice, a dtype or a count */                                                           \
    X(int, int)           /* a choice, an axis, or 32 bits */                                                          \
    X(array, const cbx_array *)                                                                                        \
    X(object, PyObject *)                                                                                              \
    X(operand, cx_operand)                                                                                             \
    X(axis, cx_axis)                                                                                                   \
    X(axes, cbx_axes) /* left out: all axes of the first array; keepdims is read with it */                            \
    X(shape, cx_shape)                                                                                                 \
    X(ints, cx_ints)                                                                                                   \
    X(arrays, cx_arrays)                                                                                               \
    X(run, cbx_run *)     /* borrowed */                                                                               \
    X(fn, const cbx_fn *) /* of a recorded function, borrowed */                                                       \
    X(samples, struct cx_samples)                                                                                      \
    X(texts, struct cx_texts)                                                                                          \
    X(groups, struct cx_groups)                                                                                        \
    X(callback, struct cx_callback)
#define CX_DECLARE_READER(name, type) bool cx_read_##name(cx_call *c, const char *parameter, PyObject *o, void *out);
CX_READERS(CX_DECLARE_READER)
/** The place of a string, or of the value of an enum, among the quoted words of the annotation. */
bool cx_read_choice(cx_call *c, const char *name, PyObject *o, int *out);

/* CX_GET(c, x, level, o.seed) reads the arguments of these names into these variables and members,
 * each by its type.  One that is left out or None gets the default of the signature; if the default
 * is None or text, the variable stays as it is. */
#define CX_GET(c, ...) cx_get(c, (const cx_target[]){ CX_EACH(CX_TARGET, __VA_ARGS__){ NULL, NULL, NULL } })
/** The first n arguments, all numbers. */
bool cx_numbers(cx_call *c, int n, double *v);

/* One argument into a variable of another name. */
#define CX_GET_AS(c, name, v)    cx_get(c, (const cx_target[]){ { name, CX_READER(v), &(v) }, { NULL, NULL, NULL } })
#define CX_TARGET(v)             { #v, CX_READER(v), &(v) },
#define CX_READER_OF(name, type) type * : cx_read_##name,
#define CX_READER(v)             _Generic(&(v), CX_READERS(CX_READER_OF) unsigned long long * : cx_read_size)
#define CX_EACH(f, ...)          __VA_OPT__(CX_EXPAND(CX_EACH_STEP(f, __VA_ARGS__)))
#define CX_EACH_STEP(f, v, ...)  f(v) __VA_OPT__(CX_EACH_AGAIN CX_PARENS(f, __VA_ARGS__))
#define CX_EACH_AGAIN()          CX_EACH_STEP
#define CX_PARENS                ()
#define CX_EXPAND(...)           CX_EXPAND1(CX_EXPAND1(CX_EXPAND1(__VA_ARGS__)))
#define CX_EXPAND1(...)          CX_EXPAND2(CX_EXPAND2(CX_EXPAND2(__VA_ARGS__)))
#define CX_EXPAND2(...)          CX_EXPAND3(CX_EXPAND3(CX_EXPAND3(__VA_ARGS__)))
#define CX_EXPAND3(...)          __VA_ARGS__
#define CX_UNUSED                __attribute__((unused))
#define CX_BARE(...)             __VA_ARGS__

/* CX_FORMULA(do_tril, cbx_tril(c->ctx, x, k), x, k): an implementation that reads arguments into
 * variables of their names, declared here, and computes a formula of arrays. */
#define CX_VARIABLES                                                                                                   \
    CX_UNUSED const cbx_array *x = NULL, *x1 = NULL, *x2 = NULL, *indices = NULL, *updates = NULL, *ids = NULL,        \
                              *edges = NULL, *weights = NULL, *condition = NULL, *key = NULL, *data = NULL, *p = NULL, \
                              *logits = NULL, *alpha = NULL, *rtol = NULL, *counts = NULL;                             \
    CX_UNUSED bool invert, descending, stable, upper, full_matrices, replace, transpose, adjoint, unit, keepdims;      \
    CX_UNUSED int64_t k, offset, n, num, low, high;                                                                    \
    CX_UNUSED cbx_dtype dtype = CBX_DTYPE_COUNT;                                                                       \
    CX_UNUSED size_t minlength, size, segments;                                                                        \
    CX_UNUSED double correction, d;                                                                                    \
    CX_UNUSED unsigned mode, norm;                                                                                     \
    CX_UNUSED struct {                                                                                                 \
        cbx_axes axis, axes;                                                                                           \
    } over;                                                                                                            \
    CX_UNUSED cx_shape shape, repetitions;                                                                             \
    CX_UNUSED cx_axis axis = { 0 };
#define CX_FORMULA(name, formula, ...)                                                                                 \
    static PyObject *name(cx_call *c)                                                                                  \
    {                                                                                                                  \
        CX_VARIABLES                                                                                                   \
        return CX_GET(c, __VA_ARGS__) && cx_begin(c) ? cx_result(c, formula) : NULL;                                   \
    }
/* CX_RETURN(do_sign_test, (size_t below, above), CX_GET(c, below, above), formula): an
 * implementation that declares variables and returns a formula of them if a condition holds,
 * else NULL. */
#define CX_RETURN(name, variables, condition, formula)                                                                 \
    static PyObject *name(cx_call *c)                                                                                  \
    {                                                                                                                  \
        CX_BARE variables;                                                                                             \
        return (condition) ? (formula) : NULL;                                                                         \
    }
/* CX_VALUE(do_words, (), formula): an implementation that declares variables and returns a formula
 * of them. */
#define CX_VALUE(name, variables, formula)                                                                             \
    static PyObject *name(cx_call *c)                                                                                  \
    {                                                                                                                  \
        (void)c;                                                                                                       \
        CX_BARE variables;                                                                                             \
        return (formula);                                                                                              \
    }
/* The library's function of a table row, by its type. */
#define CX_FN(...) ((cbx_array * (*)(cbx_ctx *, __VA_ARGS__)) c->fn)

/* A table of attributes: X(name, "type: documentation", expression of self). */
#define CX_GETTER(name, doc, expression)                                                                               \
    static PyObject *get_##name(PyObject *self, void *unused)                                                          \
    {                                                                                                                  \
        (void)unused;                                                                                                  \
        return expression;                                                                                             \
    }
#define CX_GETTER_ROW(name, doc, expression) { #name, get_##name, NULL, doc, NULL },
#define CX_GETTERS(table, LIST)                                                                                        \
    LIST(CX_GETTER)                                                                                                    \
    static PyGetSetDef table[] = { LIST(CX_GETTER_ROW){ 0 } };

/* Fills a new tuple with n objects made by an expression of i; it becomes NULL if one is. */
#define CX_FILL(tuple, n, expression)                                                                                  \
    for (size_t i = 0; (tuple) && i < (n); i++) {                                                                      \
        PyObject *item_ = (expression);                                                                                \
        if (!item_ || PyTuple_SetItem(tuple, (Py_ssize_t)i, item_) < 0) Py_CLEAR(tuple);                               \
    }
/* A new tuple, list or dict of n objects, each made by an expression of i; NULL with an exception
 * if one is NULL. */
#define CX_TUPLE(n, expression)                                                                                        \
    ({                                                                                                                 \
        PyObject *all_ = PyTuple_New((Py_ssize_t)(n));                                                                 \
        CX_FILL(all_, (size_t)(n), expression)                                                                         \
        all_;                                                                                                          \
    })
#define CX_LIST(n, expression)      CX_COLLECT(PyList_New(0), n, cx_append(all_, expression))
#define CX_DICT(n, key, expression) CX_COLLECT(PyDict_New(), n, cx_put(all_, key, expression))
#define CX_COLLECT(empty, n, add)                                                                                      \
    ({                                                                                                                 \
        PyObject *all_ = empty;                                                                                        \
        for (size_t i = 0; all_ && i < (size_t)(n); i++)                                                               \
            if (!(add)) Py_CLEAR(all_);                                                                                \
        all_;                                                                                                          \
    })
/* What ends with its block, whichever way that is left: by a function of its address.
 *     CX_OWN PyObject *o = ...;      a reference, as CX_OWN_JSON and CX_OWN_ARRAY of the library's
 *     CX_TEXT(text);                 an empty cbx_text
 *     CX_CONTEXT(ctx, c->st);        a borrowed context; NULL with an exception */
#define CX_ENDED_BY(function) __attribute__((cleanup(function), unused))
#define CX_OWN                CX_ENDED_BY(cx_drop)
#define CX_TEXT(name)         CBX_SCOPED(cbx_text, name, cbx_allocator_default())
#define CX_OWN_JSON           CX_ENDED_BY(cx_drop_json)
#define CX_OWN_ARRAY          CX_ENDED_BY(cx_drop_array)
#define CX_CONTEXT(name, state)                                                                                        \
    CX_ENDED_BY(cx_give_back) cx_loan name##_loan = { state, cx_ctx_borrow(state) };                                   \
    cbx_ctx *name = name##_loan.ctx
typedef struct cx_loan {
    cx_state *st;
    cbx_ctx *ctx;
} cx_loan;
static inline void cx_give_back(cx_loan *loan)
{
    if (loan->ctx) cx_ctx_return(loan->st, loan->ctx);
}
static inline void cx_drop(PyObject **o) { Py_XDECREF(*o); }
static inline void cx_drop_json(cbx_json **v) { cbx_json_unref(*v); }
static inline void cx_drop_array(cbx_array **a) { cbx_array_free(*a); }
/** Calls a function of the package's Python files, "calibrax_c.<module>", with arguments by a
 * format of Py_BuildValue. */
PyObject *cx_python(const char *module, const char *function, const char *format, ...);
/** Adds an object, whose reference is taken over, to a dict or a list; false with an exception. */
bool cx_put(PyObject *dict, const char *key, PyObject *v);
bool cx_append(PyObject *list, PyObject *v);

/* ---- arguments: false with an exception set ---- */

bool cx_is_array(cx_state *st, PyObject *o);
/** An array of rank 0 or more that another package lends: an object with a dtype and the buffer
 * protocol. */
bool cx_is_foreign_array(PyObject *o);
const cbx_array *cx_array_from(cx_call *c, PyObject *o, const char *name, const char *wanted);
/** An array or a number: 1, or 0 if o is neither, -1 with an exception. */
int cx_operand_from(cx_call *c, PyObject *o, cx_operand *out);
typedef cbx_array *(*cx_binary)(cbx_ctx *, const cbx_array *, const cbx_array *);
/**
 * Before cx_meet: lets integers that the array's dtype cannot hold through quotients (float64) and
 * comparisons.
 * @return f, or of the number 2 as a power the product, of the operand with itself
 */
cx_binary cx_ease(cx_binary f, cx_operand *a, cx_operand *b);
/* True if an integer lies beyond the range of t, an integer dtype too, on that side. */
bool cx_beyond(const cx_operand *v, cbx_dtype t, bool above);
/** The two operands of a binary function inside a begun call, a number in the dtype in which it
 * meets the other. */
bool cx_meet(cx_call *c, cx_operand *a, cx_operand *b, const cbx_array **x, const cbx_array **y);
/** A number in the dtype in which it meets x. */
const cbx_array *cx_weak(cx_call *c, const cbx_array *x, const cx_operand *scalar);
/** True if an integer fits the dtype of x, or its kind has no bounds; else OverflowError. */
bool cx_fits(cbx_dtype t, const cx_operand *v);
/** 1, 0 if o is not a number, -1 with an exception. */
int cx_scalar_from(PyObject *o, cx_operand *out);
/** An integer or a sequence of them, limit at most; *n is their number. */
bool cx_ints_from(cx_call *c, const char *name, PyObject *o, const char *wanted, int limit, int *n, ptrdiff_t *out);
/** The key of random draws: an array, or of a seed. */
const cbx_array *cx_key_from(cx_call *c, PyObject *o);

/* ---- objects ---- */

/** A new Array that takes the reference over; NULL frees it. */
PyObject *cx_array_new(cx_state *st, cbx_array *handle);
/** A tuple or list of n of them; each reference is taken over. */
PyObject *cx_arrays_object(cx_state *st, size_t n, cbx_array **arrays, bool tuple);
/** A handle on elements yet to be written, the caller's; NULL with an exception. */
cbx_array *cx_create(cx_state *st, const cbx_array_desc *desc);
/** The elements of an array in row-major order, which end with the call; NULL with an exception. */
const void *cx_elements(cx_call *c, const cbx_array *a);
PyObject *cx_dtype_object(cx_state *st, cbx_dtype t);
/** A dtype object, a name or one of Python's bool, int, float, complex. */
bool cx_dtype_from(cx_state *st, PyObject *o, cbx_dtype *out);
/** The element at p as a Python number. */
PyObject *cx_element(cbx_dtype t, const void *p);
/** Writes a Python number as an element; false with an exception. */
bool cx_store(cbx_dtype t, void *p, PyObject *o);
PyObject *cx_shape_tuple(const cbx_array *a);
/** Whether a dtype is of a kind (a word, a dtype, a tuple of them); -1 with an exception. */
int cx_is_dtype(cx_state *st, cbx_dtype t, PyObject *kind);
PyObject *cx_do_astype(cx_call *c);
PyObject *cx_do_dlpack(cx_call *c);
PyObject *cx_do_devices(cx_call *c);
/** "cpu", "cuda:0" */
PyObject *cx_device_word(cbx_device_id id);
/** An Array of o: asarray(o, dtype, copy).  dtype CBX_DTYPE_COUNT: as found; copy -1: if needed, 0:
 * never, 1: always. */
PyObject *cx_asarray(cx_state *st, PyObject *o, cbx_dtype dtype, int copy);
/** A handle on the elements of an object with the buffer protocol; copies of those in another byte
 * order, and of half precision, as float32.  rounds: of longdouble, too, as float64, which is
 * refused else. */
cbx_array *cx_import_buffer(cx_state *st, PyObject *o, bool rounds, int copy);
/** 1 if an object has __dlpack__, 0, or -1 with an exception. */
int cx_lends_dlpack(PyObject *o);
/** A handle on the elements of an object with __dlpack__. */
cbx_array *cx_import_dlpack(cx_state *st, PyObject *o, int copy);
PyObject *cx_subscript(PyObject *self, PyObject *key);
int cx_assign(PyObject *self, PyObject *key, PyObject *value);
PyObject *cx_repr(PyObject *self);
PyObject *cx_str(PyObject *self);
int cx_get_buffer(PyObject *self, Py_buffer *view, int flags);
void cx_release_buffer(PyObject *self, Py_buffer *view);

/* ---- what the files add to the module ---- */

bool cx_add_dtypes(cx_state *st, PyObject *module);
bool cx_add_array_type(cx_state *st, PyObject *module);
bool cx_add_records(cx_state *st, PyObject *module);
/** A namespace inside the module, with the functions of a table; NULL with an exception. */
PyObject *cx_namespace_new(cx_state *st, const char *full_name, PyMethodDef *methods);
/* clang-format off */
/* The tables of functions by the namespace that they are put into, "": the module; those of one
 * namespace follow each other. */
#define CX_TABLES(X) \
    X("array", dtype) X("array", creation) X("array", elementwise) X("array", reduction) X("array", searching) X("array", scan) \
    X("array", vector_product) X("array", set) X("array", product) X("array", info) X("array", device) X("array", manipulation) \
    X("array", dlpack) X("array", file) X("array", matrix) \
    X("array.linalg", linalg) X("array.linalg", vector) X("array.linalg", product) X("array.linalg", vector_product) \
    X("array.linalg", matrix) \
    X("array.fft", fft) X("array.fft", shift) X("array.random", random) X("array.semiring", semiring) X("", ingest) X("", run) \
    X("", launch) X("", doctor) X("", transform) X("tree", tree) X("_recording", recording) X("_metrics", metric) \
    X("_metrics", metric_row) X("_metrics", metric_collection) X("statistics", statistics) X("statistics", hypothesis) \
    X("statistics", resampling) X("analysis", analysis) X("ci", bisection) X("profiling", profiling) X("profiling", machine) \
    X("profiling", command) X("monitoring", monitoring) X("validation", validation) X("exporters", exporter)
/* clang-format on */
#define CX_TABLE_EXTERN(space, name) extern PyMethodDef cx_##name##_methods[];
CX_TABLES(CX_TABLE_EXTERN)
extern PyMethodDef cx_inquiry_methods[], cx_array_reductions[], cx_array_searches[], cx_array_scans[],
    cx_array_elementwise[], cx_array_movements[];

#endif
