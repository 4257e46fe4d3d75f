/*
 * Functions of Python recorded: the user's code runs once with abstract Arrays, and what it does
 * with them becomes a cbx_fn.
 *
 * The library runs no Python code but the rules of custom derivatives: an exception passes through
 * the recording, which ends, and a call of a recorded function needs no interpreter's lock.
 */
#include <stdio.h>
#include <string.h>

#include "python/transforms.h"

/* ---- the trace that a thread is in ---- */

typedef struct tracing {
    cx_state *st;
    cbx_ctx *ctx;
    bool loops;
    struct tracing *outer;
} tracing;

static _Thread_local tracing *innermost; /* on the stack of record() */

cbx_ctx *cx_traced_ctx(const cx_state *st)
{
    const tracing *t = innermost;

    while (t && t->st != st) t = t->outer;
    return t ? t->ctx : NULL;
}

void cx_note_loops(bool loops)
{
    if (innermost) innermost->loops |= loops;
}

/* file:line of the innermost frame whose code is not of this package, a new reference; NULL without
 * an exception: unknown. */
static PyObject *users_line(void)
{
    PyObject *frame = Py_XNewRef((PyObject *)PyEval_GetFrame()), *line = NULL;

    while (frame && frame != Py_None && !line) {
        CX_OWN PyObject *globals = PyObject_GetAttrString(frame, "f_globals"), *inner = frame;
        PyObject *name = globals ? PyDict_GetItemString(globals, "__name__") : NULL; /* borrowed */
        const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
        if (!text || strncmp(text, "calibrax_c.", strlen("calibrax_c.")) != 0) {
            CX_OWN PyObject *code = PyObject_GetAttrString(frame, "f_code");
            CX_OWN PyObject *file = code ? PyObject_GetAttrString(code, "co_filename") : NULL;
            if (file) line = PyUnicode_FromFormat("%U:%d", file, PyFrame_GetLineNumber((PyFrameObject *)frame));
        }
        frame = PyObject_GetAttrString(inner, "f_back");
    }
    Py_XDECREF(frame);
    PyErr_Clear();
    return line;
}

bool cx_concrete(cx_state *st, const cbx_array *a, const char *what)
{
    char is[160];

    if (!cbx_array_is_abstract(a)) return true;
    const bool taken = cbx_array_is_taken(a);
    CX_OWN PyObject *line = users_line();
    return cx_refused(
        taken ? PyExc_ValueError : st->concretization_error, "%s of a %s %s array%s%V: %s", what,
        taken ? "donated" : "traced", cbx_array_desc_text(cbx_array_get_desc(a), is, sizeof is), line ? " at " : "",
        line, "",
        taken ? "a call of a compiled function took its elements; copy it before, or do not donate it"
        : cx_traced_ctx(st)
            ? "its values are not known while a function is traced; decide with cond, where or while_loop, or make "
              "the argument static (static_argnums)"
            : "it was made while a function was traced, and that trace has ended: return it from the function");
}

/* ---- record ---- */

cbx_array *cx_number(cx_state *st, PyObject *o)
{
    static const cbx_dtype own[] = { CBX_BOOL, CBX_I64, CBX_F64, CBX_C128 };
    cbx_array_desc d = { 0 };
    cx_operand v;
    cbx_array *a;
    const int is = cx_scalar_from(o, &v);

    if (is < 0) return NULL;
    if (!is) return (void *)PyErr_Format(PyExc_TypeError, "%R is not an array or a number", (PyObject *)Py_TYPE(o));
    if (v.big) return (void *)PyErr_Format(PyExc_OverflowError, "%R has more than 64 bits: write it as a float", o);
    d.dtype = v.scalar.dtype == CBX_U64 ? CBX_U64 : own[cbx_dtype_kind(v.scalar.dtype)];
    a = cx_create(st, &d);
    if (!a || cx_store(d.dtype, cbx_array_data_mut(a), o)) return a;
    cbx_array_free(a);
    return NULL;
}

/* The description of an operand like o, without one axis unless that is NULL or None; weak: o is
 * a number. */
bool cx_describe(cx_state *st, PyObject *o, PyObject *axis, cbx_array_desc *d, bool *weak)
{
    Py_ssize_t k;
    cbx_array *a = cx_is_array(st, o) ? cbx_array_ref(((cx_array *)o)->handle) : cx_number(st, o);

    if (!a) return false;
    *weak = !cx_is_array(st, o) || ((cx_array *)o)->weak;
    *d = *cbx_array_get_desc(a);
    cbx_array_free(a);
    if (!axis || axis == Py_None) return true;
    k = PyLong_AsSsize_t(axis);
    if (PyErr_Occurred()) return false;
    if (k < -d->ndim || k >= d->ndim) {
        char is[160];
        return cx_refused(PyExc_ValueError, "axis %zd is mapped of an array that is %s", k,
                          cbx_array_desc_text(d, is, sizeof is));
    }
    if (k < 0) k += d->ndim;
    d->ndim--;
    for (Py_ssize_t i = k; i < d->ndim; i++) d->shape[i] = d->shape[i + 1];
    return true;
}

/* Results of the user's function as handles that the call holds; false with an exception. */
static bool read_results(cx_call *c, PyObject *list, const char *name, cbx_array ***out)
{
    const Py_ssize_t n = PyList_Size(list);

    *out = cx_alloc(c, (size_t)n, sizeof **out);
    if (!*out) return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyList_GetItem(list, i);
        if (!cx_is_array(c->st, o) && !PyFloat_Check(o) && !PyLong_Check(o) && !PyComplex_Check(o) &&
            !cx_is_foreign_array(o))
            return cx_refused(PyExc_TypeError,
                              "'%s' returned %R: a traced function returns arrays, numbers, None, and trees of them",
                              name, o);
        CX_OWN PyObject *a = cx_asarray(c->st, o, CBX_DTYPE_COUNT, -1);
        if (!a) return false;
        (*out)[i] = cbx_array_ref(((cx_array *)a)->handle);
        if (!cx_hold(c, (*out)[i])) return false;
    }
    return true;
}

/* The operands of a recording as a tuple of Arrays. */
static PyObject *operands_tuple(cx_state *st, size_t n, cbx_array **operands, const bool *weak)
{
    PyObject *t = cx_arrays_object(st, n, operands, true);

    for (size_t i = 0; t && i < n; i++) ((cx_array *)PyTuple_GetItem(t, (Py_ssize_t)i))->weak = weak[i];
    return t;
}

static PyObject *record_call(cx_call *c, const char *name, PyObject *body, size_t n, const cbx_array_desc *d,
                             const bool *weak)
{
    tracing now = { c->st, cx_ctx_borrow(c->st), false, innermost };
    cbx_array **operands = cx_alloc(c, n, sizeof *operands), **results = NULL;
    CX_OWN PyObject *tuple = NULL, *list = NULL;
    cbx_recording *r = NULL;
    cbx_fn *fn = NULL;
    size_t captured = 0;
    cbx_status status;

    if (!now.ctx || !operands) return NULL;
    status = cbx_recording_open(now.ctx, name, n, d, operands, &r, &c->err);
    if (!status) {
        tuple = operands_tuple(c->st, n, operands, weak);
        innermost = &now;
        if (tuple) list = PyObject_CallObject(body, tuple);
        if (list && read_results(c, list, name, &results))
            status = cbx_recording_close(r, (size_t)PyList_Size(list), results, &fn, &captured, &c->err);
        else
            cbx_recording_abandon(r);
        innermost = now.outer;
        cx_note_loops(now.loops);
    }
    cx_ctx_return(c->st, now.ctx);
    if (status) return cx_raise(status, c->err.message);
    return fn ? cx_recorded_new(c->st, fn, captured > 0, now.loops) : NULL;
}

/* record(name, body, like, axes): body(*Arrays) gives a list of results; like: Arrays and numbers;
 * axes: None, or one to drop of each */
PyObject *cx_do_record(cx_call *c)
{
    PyObject *body = cx_arg(c, "body"), *like = cx_arg(c, "like"), *axes = cx_arg(c, "axes"), *r = NULL;
    const Py_ssize_t n = PyList_Size(like);
    const char *name = NULL;
    cbx_array_desc *d;
    bool *weak;

    if (n < 0 || !CX_GET(c, name)) return NULL;
    d = cx_alloc(c, (size_t)n, sizeof *d);
    weak = cx_alloc(c, (size_t)n, sizeof *weak);
    if (!d || !weak) return NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        CX_OWN PyObject *axis = axes ? PySequence_GetItem(axes, i) : NULL;
        if ((axes && !axis) || !cx_describe(c->st, PyList_GetItem(like, i), axis, &d[i], &weak[i])) return NULL;
    }
    if (Py_EnterRecursiveCall(" in a traced function")) return NULL;
    r = record_call(c, name, body, (size_t)n, d, weak);
    Py_LeaveRecursiveCall();
    return r;
}

/* ---- rules of the user: they run when a derivative is taken ---- */

typedef struct rule {
    cx_state *st;
    PyObject *core, *body; /* the module lives as long */
    size_t results;        /* that body must give; it may give more, up to those of the function */
    char name[64];
} rule;

/* Maybe without the interpreter's lock, on any thread. */
static void rule_free(void *user)
{
    rule *r = user;
    PyGILState_STATE state;

    if (!Py_IsInitialized()) return;
    state = PyGILState_Ensure();
    Py_DECREF(r->body);
    Py_DECREF(r->core);
    PyMem_Free(r);
    PyGILState_Release(state);
}

/* The results of body(*Arrays), which the library's scope holds.  An exception stays set: whoever
 * called the library finds it. */
static cbx_status rule_call(cbx_ctx *ctx, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const rule *r = user;
    PyGILState_STATE state = PyGILState_Ensure();
    tracing now = { r->st, ctx, false, innermost };
    PyObject *args = CX_TUPLE(nin, cx_array_new(r->st, cbx_array_ref(in[i]))), *list = NULL;
    cbx_array **results = NULL;
    Py_ssize_t n = 0;
    bool fine = false;
    cx_call c;

    cx_call_init(&c, r->st, r->name);
    innermost = &now;
    if (args) list = PyObject_CallObject(r->body, args);
    if (list) {
        n = PyList_Size(list);
        fine = (size_t)n >= r->results && (size_t)n <= nout;
        if (!fine)
            PyErr_Format(PyExc_ValueError, "'%s' keeps %zd arrays for its derivative: at most %zd can be kept", r->name,
                         n - (Py_ssize_t)r->results, (Py_ssize_t)(nout - r->results));
        fine = fine && read_results(&c, list, r->name, &results);
    }
    for (Py_ssize_t i = 0; fine && i < n; i++) out[i] = cbx_scope_hold(ctx, cbx_array_ref(results[i]));
    cx_call_done(&c);
    innermost = now.outer;
    cx_note_loops(now.loops);
    Py_XDECREF(args);
    Py_XDECREF(list);
    PyGILState_Release(state);
    return fine ? CBX_OK : CBX_EDOM;
}

/* rule(name, body, nin, results, more): a function that calls body, which gives a list of results
 * and up to so many more */
PyObject *cx_do_rule(cx_call *c)
{
    PyObject *body = cx_arg(c, "body");
    rule *r = PyMem_Calloc(1, sizeof *r);
    size_t nin, results, more;
    const char *name = NULL;
    cbx_fn *made = NULL;
    cbx_status status;

    if (!r) return PyErr_NoMemory();
    CX_CONTEXT(ctx, c->st);
    if (!ctx || !CX_GET(c, name, nin, results, more)) return PyMem_Free(r), NULL;
    *r = (rule){ c->st, Py_NewRef(c->st->core), Py_NewRef(body), results, "" };
    snprintf(r->name, sizeof r->name, "%s", name);
    status = cbx_fn_create(ctx, &(cbx_fn){ r->name, rule_call, r, nin, results + more, NULL }, rule_free, &made,
                           &c->err);
    if (!status) return cx_recorded_new(c->st, made, false, false);
    rule_free(r);
    return cx_raise(status, c->err.message);
}
