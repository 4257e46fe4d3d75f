/*
 * What the files of the extension share: the module's state, the Array object, one call into the library.
 *
 * A context belongs to one thread at a time.  The state keeps idle ones; a call borrows one, lets go of the interpreter's
 * lock if there is much to compute, and gives it back.  So threads compute side by side and no context is shared.
 */
#ifndef CALIBRAX_PYTHON_STATE_H
#define CALIBRAX_PYTHON_STATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "calibrax/calibrax.h"
#include "calibrax/tools.h"

enum {
    CX_MAX_ARGS = 24,
    CX_IDLE_CONTEXTS = 8,        /* contexts kept for re-use; more threads make more, which are freed */
    CX_UNLOCK_ELEMENTS = 1 << 14 /* operands of this many elements are computed without the interpreter's lock */
};

/* clang-format off */
#define CX_ANSWERS(X) \
    X(INTERVAL) X(SUMMARY) X(VARIATION) X(COMPONENTS) X(TEST) X(MODE) X(STEADY) X(LOOKS) X(GROWTH) X(SPEEDUP) \
    X(NOISE) X(CHANGE) X(RANK_ENTRY) X(CELL) X(ROW) X(WINNER) X(TIMING) X(BATCHES) X(MEMORY) X(MEMORY_PATTERN) \
    X(FLOPS) X(COMPLEXITY) X(COMPLEXITY_POINT) X(RESOURCE_SAMPLE) X(RESOURCES) X(ENERGY_DOMAIN) X(ENERGY) X(ENERGY_SAMPLE) X(ENERGY_SERIES) \
    X(GPU_READING) X(MATRIX_SHAPE) X(HARDWARE) X(ROOF_LEVEL) X(ROOFS) X(ROOFLINE) X(CARBON_INTENSITY) X(PROFILE_RUN) X(PROFILE) \
    X(HLO) X(SIGNATURE) X(COMPILATION_REPORT) X(SUSPECT) X(BISECT_RESULT) X(DOCTOR_ITEM) X(WINDOW_FACTS) X(ALERT) X(HEALTH_REPORT) X(TENDENCY) X(ACCURACY) X(TOLERANCE) X(CONVERGENCE)
/* clang-format on */

/* Records: immutable, with named fields (records.h). */
typedef enum cx_record_kind {
    CX_METRIC_DEF,
    CX_METRIC,
    CX_POINT,
    CX_RUN_ENTRY,
    CX_TREND_POINT,
    CX_TREND_SERIES,
    CX_FINDING,
    CX_TARGET,
    CX_FAILURE,
    CX_COMPARISON,
    CX_PYTHON_CALL,
    CX_IMPORT_NOTE,
    CX_IMPORTED,
    CX_INGESTED_RUN,
    CX_INGESTED,
    CX_CARE,
    CX_RECORD_COUNT
} cx_record_kind;

/* Answers: what the library fills in, as tuples with names (answers.h). */
typedef enum cx_answer_kind {
#define CX_ANSWER_ENUM(name) CX_##name,
    CX_ANSWERS(CX_ANSWER_ENUM)
#undef CX_ANSWER_ENUM
        CX_ANSWER_COUNT
} cx_answer_kind;

/* Things of the library that live between calls (things.h). */
typedef enum cx_thing_kind {
    CX_SEQUENCE,
    CX_STREAM,
    CX_RESOURCE_MONITOR,
    CX_ENERGY_METER,
    CX_ENERGY_MONITOR,
    CX_COMPILATION,
    CX_BISECTION,
    CX_GPU,
    CX_TIMELINE,
    CX_WINDOW,
    CX_ALERTS,
    CX_HEALTH,
    CX_SINK,
    CX_VALIDATION,
    CX_ELL,
    CX_THING_COUNT
} cx_thing_kind;

typedef struct cx_state {
    struct cx_state *home; /* first: a namespace inside the module points to the module's own state */
    PyObject *module;      /* of a namespace: keeps the home alive; NULL in the home */
    PyObject *core;        /* the extension module, borrowed: its types are made in it */
    PyObject *arrays;      /* the namespace of array functions */
    PyObject *signatures;  /* of all functions and methods, by name */
    PyTypeObject *array_type, *dtype_type;
    PyTypeObject *unique_all, *unique_counts, *unique_inverse, *finfo, *iinfo, *eigh, *qr, *slogdet, *svd,
        *lstsq;                             /* tuples with names */
    PyTypeObject *records[CX_RECORD_COUNT]; /* records.h */
    PyTypeObject *run_type, *store_type, *check_type, *report_type;
    PyTypeObject *answers[CX_ANSWER_COUNT]; /* answers.h */
    PyTypeObject *things[CX_THING_COUNT];   /* things.h */
    PyObject *dtypes[CBX_DTYPE_COUNT];
    const cbx_backend *backend; /* NULL: the library's choice */
    cbx_ctx *idle[CX_IDLE_CONTEXTS];
    int idle_count;
} cx_state;

typedef struct cx_array {
    PyObject_HEAD cbx_array *handle; /* immutable; assignment puts another one here */
} cx_array;

cx_state *cx_state_of(PyObject *module);
/** Of an Array or dtype object. */
cx_state *cx_state_of_instance(PyObject *self);

/** Raises what a status stands for, with the library's sentence; returns NULL. */
PyObject *cx_raise(cbx_status status, const char *message);

/** A context of this thread alone until it is returned; NULL with an exception.  Needs the interpreter's lock, as its return. */
cbx_ctx *cx_ctx_borrow(cx_state *st);
void cx_ctx_return(cx_state *st, cbx_ctx *ctx);

/* ---- one call ---- */

typedef struct cx_operand {
    cbx_array *array; /* held by the call; NULL: the scalar */
    cbx_scalar scalar;
    PyObject *big; /* borrowed: a whole number beyond 64 bits, scalar is its nearest float */
} cx_operand;

typedef struct cx_call cx_call;
typedef void (*cx_fn)(void);
typedef PyObject *(*cx_impl)(cx_call *c);

/** A parameter of a signature: views of its text. */
typedef struct cx_parameter {
    const char *name, *annotation, *fallback; /* NULL: none */
    size_t name_length, annotation_length, fallback_length;
    enum { CX_BY_POSITION, CX_BY_EITHER, CX_BY_NAME, CX_BY_REST } how;
} cx_parameter;

/** A function of the module.  The signature is Python's, with annotations: arguments are bound and converted by it, the text
 * signature, the stubs and the documentation are made from it.  An annotation of quoted words ('a' | 'b') is a choice. */
typedef struct cx_function {
    const char *name, *signature, *returns;
    cx_impl impl;
    cx_fn fn;                 /* for impl: c->fn */
    cx_parameter *parameters; /* parsed at the first call, kept as long as the process */
    int nparameters;
} cx_function;

struct cx_call {
    cx_state *st;
    const char *name;
    const cx_function *function; /* NULL: an operator */
    cx_fn fn;
    PyObject *self;             /* of a method */
    PyObject *arg[CX_MAX_ARGS]; /* borrowed; NULL: left out */
    PyObject *const *rest;      /* of a signature with *arrays */
    Py_ssize_t nrest;
    cbx_array **held; /* references for as long as the call runs */
    size_t nheld, capacity;
    cbx_array *held_inline[6];
    size_t elements;        /* of all operands */
    PyObject *domain_error; /* what CBX_EDOM raises; NULL: ValueError */
    cbx_err err;
    cbx_ctx *ctx; /* borrowed from the state; NULL: none */
    cbx_scope scope;
    PyThreadState *unlocked;
};

/** Reads the arguments, runs the implementation, drops what the call held. */
PyObject *cx_invoke(cx_state *st, cx_function *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                    PyObject *kwnames);

/* A list X(name, signature, type of the result, implementation, library function or 0, documentation) becomes a method table:
 *     CX_FUNCTIONS(cx_elementwise_methods, ELEMENTWISE)
 * A prefix keeps functions apart from methods of the same name in one file. */
#define CX_TRAMPOLINE(prefix, state, instance, name, sig, returns, impl, fun)                                          \
    static PyObject *prefix##name(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kw)                   \
    {                                                                                                                  \
        static cx_function f = { #name, sig, returns, impl, (cx_fn)(fun), NULL, 0 };                                   \
        return cx_invoke(state(self), &f, instance, args, n, kw);                                                      \
    }
#define CX_METHOD(prefix, self, name, sig, returns, doc)                                                               \
    { #name, (PyCFunction)(void (*)(void))prefix##name, METH_FASTCALL | METH_KEYWORDS,                                 \
      #name "(" self sig ") -> " returns "\n--\n\n" doc },
#define CX_CALL(name, sig, returns, impl, fun, doc)                                                                    \
    CX_TRAMPOLINE(call_, cx_state_of, NULL, name, sig, returns, impl, fun)
#define CX_CALL_ROW(name, sig, returns, impl, fun, doc) CX_METHOD(call_, , name, sig, returns, doc)
#define CX_OF_TYPE(name, sig, returns, impl, fun, doc)                                                                 \
    CX_TRAMPOLINE(method_, cx_state_of_instance, self, name, sig, returns, impl, fun)
#define CX_OF_TYPE_ROW(name, sig, returns, impl, fun, doc) CX_METHOD(method_, "$self, ", name, sig, returns, doc)
#define CX_FUNCTIONS(table, LIST)                                                                                      \
    LIST(CX_CALL)                                                                                                      \
    PyMethodDef table[] = { LIST(CX_CALL_ROW){ 0 } };
/* Methods of Array that are functions of x: what they read as x is self. */
#define CX_ARRAY_FUNCTIONS(table, LIST)                                                                                \
    LIST(CX_OF_TYPE)                                                                                                   \
    PyMethodDef table[] = { LIST(CX_OF_TYPE_ROW){ 0 } };
#define CX_TYPE_FUNCTIONS(table, LIST)                                                                                 \
    LIST(CX_OF_TYPE)                                                                                                   \
    static PyMethodDef table[] = { LIST(CX_OF_TYPE_ROW){ 0 } };

/* Documentation starts with name(signature with annotations) -> result and an empty line; these take the annotations out, once,
 * and add the signature to the module's dict of all, by its dotted name.  NULL with an exception. */
PyMethodDef *cx_methods(PyMethodDef *table, PyObject *signatures, const char *prefix);
PyTypeObject *cx_type(cx_state *st, PyType_Spec *spec);
/** Fills f->parameters. */
bool cx_parse(cx_function *f);

/** Starts and ends a call that has no table entry (operators). */
void cx_call_init(cx_call *c, cx_state *st, const char *name);
void cx_call_done(cx_call *c);
/** Borrows a context and opens a scope; false with an exception set.  Until cx_result no Python object may be touched. */
bool cx_begin(cx_call *c);
/** Takes the interpreter's lock again, inside a begun call. */
void cx_lock(cx_call *c);
/** Closes the scope: the result as an Array, or the exception of the first failure. */
PyObject *cx_result(cx_call *c, cbx_array *r);
/** Closes the scope and hands n results over to the caller, who frees them. */
bool cx_keep(cx_call *c, size_t n, cbx_array **arrays);
/** Closes the scope: the results as a list, or a tuple. */
PyObject *cx_results(cx_call *c, size_t n, cbx_array **arrays, bool tuple);
/** Closes the scope: the results as a tuple with names. */
PyObject *cx_record(cx_call *c, PyTypeObject *type, size_t n, cbx_array **arrays);
/** A reference for as long as the call runs; takes over the caller's. */
bool cx_hold(cx_call *c, cbx_array *a);

/* ---- arguments by name: false (NULL) with an exception that names function and parameter ---- */

/** The argument called name as it was given; NULL if it has a default and was left out or is None. */
PyObject *cx_arg(cx_call *c, const char *name);

/** The parameter of that name; NULL if there is none. */
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

bool cx_read_double(cx_call *c, const char *name, PyObject *o, void *out);
bool cx_read_size(cx_call *c, const char *name, PyObject *o, void *out); /* annotation seconds: nanoseconds */
bool cx_read_int64(cx_call *c, const char *name, PyObject *o, void *out);
bool cx_read_bool(cx_call *c, const char *name, PyObject *o, void *out);
bool cx_read_text(cx_call *c, const char *name, PyObject *o, void *out);
bool cx_read_unsigned(cx_call *c, const char *name, PyObject *o, void *out); /* a choice, a dtype or a count */
bool cx_read_int(cx_call *c, const char *name, PyObject *o, void *out);      /* a choice, an axis, or 32 bits */
/** The place of a string, or of the value of an enum, among the quoted words of the annotation. */
bool cx_read_choice(cx_call *c, const char *name, PyObject *o, int *out);
bool cx_read_array(cx_call *c, const char *name, PyObject *o, void *out);
bool cx_read_object(cx_call *c, const char *name, PyObject *o, void *out);
bool cx_read_samples(cx_call *c, const char *name, PyObject *o, void *out);
bool cx_read_texts(cx_call *c, const char *name, PyObject *o, void *out);
bool cx_read_groups(cx_call *c, const char *name, PyObject *o, void *out);
bool cx_read_callback(cx_call *c, const char *name, PyObject *o, void *out);

/* CX_GET(c, x, level, o.seed) reads the arguments of these names into these variables and members, each by its type.  One that is
 * left out or None gets the default of the signature; where that is None or text, the variable stays as it is. */
#define CX_GET(c, ...) cx_get(c, (const cx_target[]){ CX_EACH(CX_TARGET, __VA_ARGS__){ NULL, NULL, NULL } })
/** The first n arguments, all numbers. */
bool cx_numbers(cx_call *c, int n, double *v);

/* One argument into a variable of another name. */
#define CX_GET_AS(c, name, v) cx_get(c, (const cx_target[]){ { name, CX_READER(v), &(v) }, { NULL, NULL, NULL } })
#define CX_TARGET(v)          { #v, CX_READER(v), &(v) },
#define CX_READER(v)                                                                                                   \
    _Generic(&(v), double *: cx_read_double, size_t *: cx_read_size, unsigned long long *: cx_read_size, int64_t *: cx_read_int64, bool *: cx_read_bool,   \
             const char **: cx_read_text, unsigned *: cx_read_unsigned, int *: cx_read_int,                            \
             const cbx_array **: cx_read_array, PyObject **: cx_read_object, struct cx_samples *: cx_read_samples,     \
             struct cx_texts *: cx_read_texts, struct cx_groups *: cx_read_groups,                                     \
             struct cx_callback *: cx_read_callback)
#define CX_EACH(f, ...)         __VA_OPT__(CX_EXPAND(CX_EACH_STEP(f, __VA_ARGS__)))
#define CX_EACH_STEP(f, v, ...) f(v) __VA_OPT__(CX_EACH_AGAIN CX_PARENS(f, __VA_ARGS__))
#define CX_EACH_AGAIN()         CX_EACH_STEP
#define CX_PARENS               ()
#define CX_EXPAND(...)          CX_EXPAND1(CX_EXPAND1(CX_EXPAND1(__VA_ARGS__)))
#define CX_EXPAND1(...)         CX_EXPAND2(CX_EXPAND2(CX_EXPAND2(__VA_ARGS__)))
#define CX_EXPAND2(...)         CX_EXPAND3(CX_EXPAND3(CX_EXPAND3(__VA_ARGS__)))
#define CX_EXPAND3(...)         __VA_ARGS__

/* ---- arguments: false with an exception set ---- */

bool cx_is_array(cx_state *st, PyObject *o);
/** An argument as an array; numbers become arrays of rank 0. */
const cbx_array *cx_array_arg(cx_call *c, const char *name);
const cbx_array *cx_array_from(cx_call *c, PyObject *o, const char *what);
/** An array or a number: 1, or 0 if o is neither, -1 with an exception. */
int cx_operand_from(cx_call *c, PyObject *o, cx_operand *out);
typedef cbx_array *(*cx_binary)(cbx_ctx *, const cbx_array *, const cbx_array *);
/** Before cx_meet: lets whole numbers that the array's dtype cannot hold through quotients (float64) and comparisons. */
void cx_ease(cx_binary f, cx_operand *a, cx_operand *b);
/* True if a whole number lies beyond the range of t, a dtype of whole numbers too, on that side. */
bool cx_beyond(const cx_operand *v, cbx_dtype t, bool above);
/** The two operands of a binary function inside a begun call, a number in the dtype in which it meets the other. */
bool cx_meet(cx_call *c, cx_operand *a, cx_operand *b, const cbx_array **x, const cbx_array **y);
/** A number in the dtype in which it meets x. */
const cbx_array *cx_weak(cx_call *c, const cbx_array *x, const cx_operand *scalar);
/** True if a whole number fits the dtype of x, or its kind has no bounds; else OverflowError. */
bool cx_fits(cbx_dtype t, const cx_operand *v);
/** 1, 0 if o is no number, -1 with an exception. */
int cx_scalar_from(PyObject *o, cx_operand *out);
/** Axes of x; None and left out: all of them. */
bool cx_axes_arg(cx_call *c, const char *name, const cbx_array *x, bool keep, cbx_axes *out);
/** One axis; *none (may be NULL) tells if it is None or left out: then *axis stays. */
bool cx_axis_arg(cx_call *c, const char *name, int *axis, bool *none);
/** A whole number or a sequence of them, limit at most; *n is their number. */
bool cx_ints_from(cx_call *c, PyObject *o, const char *what, int limit, int *n, ptrdiff_t *out);
/** As cx_ints_from, none negative. */
bool cx_shape_arg(cx_call *c, const char *name, int *ndim, size_t *shape);
bool cx_device_arg(cx_call *c, const char *name);
/** A sequence of arrays: handles held by the call, the array of them freed with PyMem_Free by the caller. */
const cbx_array **cx_arrays_from(cx_call *c, PyObject *const *items, size_t n);
const cbx_array **cx_array_list_arg(cx_call *c, const char *name, size_t *n);

/* ---- objects ---- */

/** A new Array that takes the reference over; NULL frees it. */
PyObject *cx_array_new(cx_state *st, cbx_array *handle);
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
PyObject *cx_do_dlpack_device(cx_call *c);
PyObject *cx_do_devices(cx_call *c);
/** An Array of o: asarray(o, dtype, copy).  dtype CBX_DTYPE_COUNT: as found; copy -1: if needed, 0: never, 1: always. */
PyObject *cx_asarray(cx_state *st, PyObject *o, cbx_dtype dtype, int copy);
/** A handle on the elements of an object with the buffer protocol. */
cbx_array *cx_import_buffer(cx_state *st, PyObject *o, int copy);
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
bool cx_add_info(cx_state *st, PyObject *module);
bool cx_add_sets(cx_state *st, PyObject *module);
bool cx_add_linalg(cx_state *st, PyObject *module);
bool cx_add_records(cx_state *st, PyObject *module);
bool cx_add_run(cx_state *st, PyObject *module);
bool cx_add_store(cx_state *st, PyObject *module);
bool cx_add_check(cx_state *st, PyObject *module);
bool cx_add_benchmark(cx_state *st, PyObject *module);
/** A namespace "calibrax_c.<name>" in parent, with n tables of methods; borrowed, NULL with an exception. */
PyObject *cx_add_namespace(cx_state *st, PyObject *parent, const char *name, PyMethodDef *const *tables, size_t n);
PyObject *cx_namespace_new(cx_state *st, const char *full_name, PyMethodDef *methods);
extern PyMethodDef cx_elementwise_methods[], cx_creation_methods[], cx_manipulation_methods[], cx_reduction_methods[],
    cx_searching_methods[], cx_set_methods[], cx_product_methods[], cx_dtype_methods[], cx_info_methods[],
    cx_device_methods[], cx_inquiry_methods[], cx_dlpack_methods[], cx_linalg_methods[], cx_fft_methods[],
    cx_random_methods[], cx_statistics_methods[], cx_hypothesis_methods[], cx_resampling_methods[],
    cx_analysis_methods[], cx_profiling_methods[], cx_machine_methods[], cx_monitoring_methods[],
    cx_validation_methods[], cx_exporter_methods[], cx_bisection_methods[], cx_ingest_methods[], cx_launch_methods[],
    cx_doctor_methods[], cx_semiring_methods[], cx_file_methods[], cx_array_reductions[], cx_array_searches[],
    cx_array_elementwise[], cx_array_movements[];

#endif
