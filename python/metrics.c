/*
 * Metric functions: the library's table for metrics.py, the one call that all of them make, states,
 * and rows of Python functions.
 */
#include <math.h>
#include <string.h>

#include "calibrax/metrics/stateful/state.h"
#include "calibrax/metrics/tokens.h"
#include "python/metrics.h"

/* ---- the table ---- */

static PyObject *operands_list(const cbx_metric_function *m)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < cbx_metric_operands(m); i++) {
        const cbx_metric_operand *o = &m->operands[i];
        if (!cx_append(list, Py_BuildValue("(sssO)", o->name, cbx_operand_kind_name(o->kind),
                                           cbx_operand_kind_text(o->kind), o->optional ? Py_True : Py_False)))
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *parameters_list(const cbx_metric_function *m)
{
    static const char *const types[] = { "float", "int", "bool", "choice" };
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < cbx_metric_parameters(m); i++) {
        const cbx_metric_parameter *p = &m->parameters[i];
        if (!cx_append(list, Py_BuildValue("(sssdddz)", p->name, p->help, types[p->type], p->value, p->low, p->high,
                                           p->words)))
            Py_CLEAR(list);
    }
    return list;
}

static const char *const directions[] = { "higher", "lower", "info" };

PyObject *cx_metric_dict(const cbx_metric_function *m)
{
    PyObject *dict = PyDict_New();
    const struct {
        const char *key, *value;
    } texts[] = { { "name", m->name },
                  { "domain", m->domain },
                  { "summary", m->summary },
                  { "formula", m->formula },
                  { "notes", m->notes },
                  { "source", m->source },
                  { "example", m->example },
                  { "function", m->function },
                  { "direction", directions[m->direction] },
                  { "tier", cbx_metric_tier_name(m->tier) },
                  { "form", m->items   ? "items"
                            : m->parts ? "parts"
                                       : "whole" } };
    const struct {
        const char *key;
        unsigned value;
    } bits[] = { { "axioms", m->axioms },
                 { "invariances", m->invariances },
                 { "flags", m->flags },
                 { "shapes", (unsigned)m->shapes } };
    bool fine = dict && cx_put(dict, "operands", operands_list(m)) && cx_put(dict, "parameters", parameters_list(m)) &&
                cx_put(dict, "range", Py_BuildValue("(dd)", m->low, m->high));

    for (size_t i = 0; fine && i < CBX_LEN(texts); i++)
        fine = cx_put(dict, texts[i].key, Py_BuildValue("z", texts[i].value));
    fine = fine && cx_put(dict, "sketch", PyBool_FromLong(m->error != NULL));
    for (size_t i = 0; fine && i < CBX_LEN(bits); i++)
        fine = cx_put(dict, bits[i].key, PyLong_FromUnsignedLong(bits[i].value));
    if (!fine) Py_CLEAR(dict);
    return dict;
}

static PyObject *do_table(cx_call *c)
{
    cbx_ctx *ctx = cx_ctx_borrow(c->st);
    PyObject *list = ctx ? PyList_New(0) : NULL;
    const cbx_metric_function *m;

    if (!ctx) return NULL;
    for (size_t i = 0; list && (m = cbx_metric_at(ctx, i)); i++)
        if (!cx_append(list, cx_metric_dict(m))) Py_CLEAR(list);
    cx_ctx_return(c->st, ctx);
    return list;
}

/* ---- a call ---- */

bool cx_metric_operands(cx_call *c, PyObject *list, size_t n, cbx_array **in)
{
    for (size_t i = 0; i < n; i++) {
        PyObject *o = PyList_GetItem(list, (Py_ssize_t)i);
        if (o == Py_None) continue;
        if (!cx_is_array(c->st, o)) return PyErr_Format(PyExc_TypeError, "%R is not an array", o) != NULL;
        in[i] = cbx_array_ref(((cx_array *)o)->handle);
        c->elements += cbx_array_count(in[i]);
        if (!cx_hold(c, in[i])) return false;
    }
    return true;
}

bool cx_metric_parameters(PyObject *list, double *v)
{
    const Py_ssize_t n = PyList_Size(list);

    if (n > CBX_METRIC_MAX_PARAMETERS)
        return PyErr_Format(PyExc_ValueError, "a metric has at most %d parameters", CBX_METRIC_MAX_PARAMETERS) != NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyList_GetItem(list, i);
        v[i] = o == Py_None ? (double)NAN : PyFloat_AsDouble(o);
    }
    return !PyErr_Occurred();
}

PyObject *cx_metric_numbers(size_t n, const double *v)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < n; i++)
        if (!cx_append(list, PyFloat_FromDouble(v[i]))) Py_CLEAR(list);
    return list;
}

bool cx_metric_options(cx_call *c, cbx_metric_options *o)
{
    const cbx_array *mask = NULL, *weights = NULL;

    if (!CX_GET(c, mask, weights)) return false;
    o->mask = mask;
    o->weights = weights;
    return true;
}

const cbx_metric_function *cx_metric_row(cx_call *c, cbx_ctx *ctx)
{
    PyObject *o = cx_arg(c, "metric");
    const cbx_metric_function *m = NULL;
    const char *name;

    if (PyCapsule_CheckExact(o)) return PyCapsule_GetPointer(o, CX_ROW_NAME);
    name = PyUnicode_Check(o) ? PyUnicode_AsUTF8AndSize(o, NULL) : NULL;
    if (!name) return cx_refuse(c, "metric", PyExc_TypeError, "a name", o), NULL;
    if (cbx_metric_find(ctx, name, &m, &c->err)) cx_raise_for(c, c->err.status);
    return m;
}

/* apply(metric, operands, parameters, mask, weights, reduction, axis, keepdims, function) */
static PyObject *do_apply(cx_call *c)
{
    PyObject *operands = cx_arg(c, "operands"), *parameters = cx_arg(c, "parameters"), *f = cx_arg(c, "function");
    const size_t n = (size_t)PyList_Size(operands);
    double v[CBX_METRIC_MAX_PARAMETERS] = { 0 };
    cbx_metric_options o = { .parameters = v };
    const cbx_metric_function *m;
    unsigned reduction = 0;
    cx_ints axis = { 0 };
    bool keepdims = false;
    cbx_axes axes = { 0 };
    cbx_array **in = cx_alloc(c, n + 1, sizeof *in);
    cbx_ctx *ctx;

    if (!in || PyErr_Occurred()) return NULL;
    if (!cx_metric_options(c, &o) || !CX_GET(c, reduction, keepdims) || !cx_metric_operands(c, operands, n, in) ||
        !cx_metric_parameters(parameters, v))
        return NULL;
    if (cx_arg(c, "axis")) {
        if (!CX_GET(c, axis)) return NULL;
        axes.n = axis.n;
        axes.keep = keepdims;
        for (int k = 0; k < axis.n; k++) axes.axis[k] = (int)axis.v[k];
        o.axes = &axes;
    }
    o.reduction = (cbx_metric_reduction)reduction;
    if (f) o.function = ((cx_recorded *)f)->fn;
    if (!(ctx = cx_ctx_borrow(c->st))) return NULL;
    m = cx_metric_row(c, ctx);
    cx_ctx_return(c->st, ctx);
    if (!m) return NULL;
    c->name = m->name;
    c->function = NULL; /* failures come with the library's sentence */
    return cx_begin(c) ? cx_result(c, cbx_metric_apply(c->ctx, m, n, in, &o)) : NULL;
}

/* ---- objects of metrics: busy while code runs that may be Python ---- */

cx_object *cx_metric_enter(cx_call *c, cx_object *other)
{
    cx_object *o = cx_object_self(c);

    if (!o) return NULL;
    c->function = NULL; /* failures come with the library's sentence */
    o->busy = true;
    if (other) other->busy = true;
    if (c->elements >= CX_UNLOCK_ELEMENTS) c->unlocked = PyEval_SaveThread();
    return o;
}

cx_object *cx_metric_enter_long(cx_call *c, cx_object *other)
{
    c->elements = CX_UNLOCK_ELEMENTS;
    return cx_metric_enter(c, other);
}

bool cx_metric_leave(cx_call *c, cx_object *o, cx_object *other, cbx_status status)
{
    const bool fine = cx_fine(c, status);

    cx_lock(c);
    o->busy = false;
    if (other) other->busy = false;
    return fine;
}

/* ---- states ---- */

static PyObject *state_make(cx_call *c)
{
    double v[CBX_METRIC_MAX_PARAMETERS] = { 0 };
    cbx_metric_options options = { .parameters = v };
    PyObject *parameters = cx_arg(c, "parameters"), *f = cx_arg(c, "function");
    cx_object *o = cx_object_new(c->st, CX_METRIC_STATE);
    const cbx_metric_function *m = o ? cx_metric_row(c, o->ctx) : NULL;
    cbx_metric_state *handle = NULL;
    cbx_status st;

    if (!m || !cx_metric_parameters(parameters, v)) {
        Py_XDECREF((PyObject *)o);
        return NULL;
    }
    if (f) options.function = ((cx_recorded *)f)->fn;
    st = cbx_metric_state_create(o->ctx, m, &options, &handle, &c->err);
    o->handle = handle;
    o->kept = Py_NewRef(cx_arg(c, "metric"));
    return cx_object_made(o, st, &c->err);
}

static PyObject *state_update(cx_call *c)
{
    PyObject *operands = cx_arg(c, "operands");
    const size_t n = (size_t)PyList_Size(operands);
    PyObject *f = cx_arg(c, "function");
    cbx_array **in = cx_alloc(c, n + 1, sizeof *in);
    cbx_metric_options o = { 0 };
    cx_object *of;

    if (!in || PyErr_Occurred() || !cx_metric_options(c, &o) || !cx_metric_operands(c, operands, n, in)) return NULL;
    if (f) o.function = ((cx_recorded *)f)->fn;
    if (!(of = cx_metric_enter(c, NULL))) return NULL;
    return cx_metric_leave(c, of, NULL, cbx_metric_state_update(of->ctx, of->handle, n, in, &o, &c->err))
               ? Py_NewRef(Py_None)
               : NULL;
}

static PyObject *state_merge(cx_call *c)
{
    cx_object *other = cx_object_arg(c, "other", CX_METRIC_STATE), *of = other ? cx_metric_enter_long(c, other) : NULL;

    if (!of) return NULL;
    return cx_metric_leave(c, of, other, cbx_metric_state_merge(of->ctx, of->handle, other->handle, &c->err))
               ? Py_NewRef(Py_None)
               : NULL;
}

static PyObject *state_compute(cx_call *c)
{
    cx_object *of = cx_metric_enter_long(c, NULL);
    cbx_array *r = NULL;

    if (!of) return NULL;
    return cx_metric_leave(c, of, NULL, cbx_metric_state_compute(of->ctx, of->handle, &r, &c->err))
               ? cx_array_new(c->st, r)
               : NULL;
}

static PyObject *state_error(cx_call *c)
{
    cbx_metric_state *self = cx_handle(c);
    double v = 0;

    if (!self) return NULL;
    c->function = NULL;
    if (!cx_fine(c, cbx_metric_state_error(cx_object_self(c)->ctx, self, &v, &c->err))) return NULL;
    return PyFloat_FromDouble(v);
}

static PyObject *state_bytes(cx_call *c)
{
    cbx_metric_state *self = cx_handle(c);
    PyObject *out = NULL;
    cbx_text text;

    if (!self) return NULL;
    c->function = NULL;
    cbx_text_init(&text, cbx_ctx_allocator(cx_object_self(c)->ctx));
    if (cx_fine(c, cbx_metric_state_pack(cx_object_self(c)->ctx, self, &text, &c->err)))
        out = PyBytes_FromStringAndSize(text.data, (Py_ssize_t)text.len);
    cbx_text_clear(&text);
    return out;
}

CX_DO(state_parameters, cbx_metric_state, (), (),
      cx_metric_numbers(CBX_METRIC_MAX_PARAMETERS, cbx_metric_state_parameters(self)))
CX_DO(state_reset, cbx_metric_state, (), (), (cbx_metric_state_reset(self), Py_NewRef(Py_None)))
CX_DO(state_updates, cbx_metric_state, (), (), PyLong_FromSize_t(cbx_metric_state_updates(self)))

/* clang-format off */
#define STATE(X) \
    X(update, \
      "operands: list[Array | None], mask: Array | None = None, weights: Array | None = None, " \
      "function: object | None = None", \
      "None", state_update, 0, "Adds a batch.") \
    X(merge, "other: State", "None", state_merge, 0, "Adds what another state has seen.") \
    X(compute, "", "Array", state_compute, 0, "The metric of all that was added.") \
    X(reset, "", "None", state_reset, 0, "As it was made.") \
    X(updates, "", "int", state_updates, 0, "Number of batches.") \
    X(parameters, "", "list[float]", state_parameters, 0, "Its parameters, and zeros.") \
    X(error, "", "float", state_error, 0, "Bound of the error of a sketch.") \
    X(to_bytes, "", "bytes", state_bytes, 0, "What it keeps, for unpack.")
CX_OBJECT_TYPE(metric_state, state, STATE, "_metrics", State,
               "metric: object, parameters: list[float | None], function: object | None = None",
               cbx_metric_state_free,
               "A metric over batches.")
/* clang-format on */

/* unpack(metric, data, function) */
static PyObject *do_unpack(cx_call *c)
{
    PyObject *data = cx_arg(c, "data"), *f = cx_arg(c, "function");
    cx_object *o = PyBytes_Check(data) ? cx_object_new(c->st, CX_METRIC_STATE) : NULL;
    const cbx_metric_function *m = o ? cx_metric_row(c, o->ctx) : NULL;
    cbx_metric_state *handle = NULL;
    cbx_status st;

    if (!PyBytes_Check(data)) return cx_refuse(c, "data", PyExc_TypeError, "bytes", data), NULL;
    if (!m) {
        Py_XDECREF((PyObject *)o);
        return NULL;
    }
    st = cbx_metric_state_unpack(o->ctx, m, PyBytes_AsString(data), (size_t)PyBytes_Size(data),
                                 f ? ((cx_recorded *)f)->fn : NULL, &handle, &c->err);
    o->handle = handle;
    o->kept = Py_NewRef(cx_arg(c, "metric"));
    return cx_object_made(o, st, &c->err);
}

/* ---- rows of Python functions ---- */

/* The code of a row: functions that run Python (_recording.rule). */
typedef struct python_row {
    cbx_metric_function row; /* first: its code finds the rest from it */
    PyObject *texts;         /* what the strings of the row are parts of */
    cbx_fn *code, *merge, *finish;
} python_row;

static void row_free(PyObject *capsule)
{
    python_row *r = PyCapsule_GetPointer(capsule, CX_ROW_NAME);

    Py_XDECREF(r->texts);
    cbx_fn_free(r->code);
    cbx_fn_free(r->merge);
    cbx_fn_free(r->finish);
    PyMem_Free(r);
}

static const python_row *code_of(const cbx_metric_call *call) { return (const python_row *)call->metric; }

/* f of n operands and, where the row has parameters, a vector of them, whose values Python reads in a trace, too. */
static cbx_array *run_python(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_fn *f, size_t n, cbx_array *const *in)
{
    const size_t count = cbx_metric_parameters(call->metric);
    const cbx_array_desc d = { .dtype = CBX_F64, .ndim = 1, .shape = { count } };
    cbx_array *all[CBX_METRIC_MAX_OPERANDS + 1], *out = NULL;

    memcpy(all, in, n * sizeof *in);
    if (count) all[n] = cbx_asarray(ctx, &d, call->parameters);
    cbx_fn_call(ctx, f, n + (count > 0), all, 1, &out);
    return out;
}

static cbx_array *python_code(cbx_ctx *ctx, const cbx_metric_call *call)
{
    return run_python(ctx, call, code_of(call)->code, cbx_metric_operands(call->metric), call->in);
}

static cbx_array *python_merge(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *a, const cbx_array *b)
{
    return run_python(ctx, call, code_of(call)->merge, 2,
                      (cbx_array *[]){ (cbx_array *)(uintptr_t)a, (cbx_array *)(uintptr_t)b });
}

static cbx_array *python_finish(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *state)
{
    return run_python(ctx, call, code_of(call)->finish, 1, (cbx_array *[]){ (cbx_array *)(uintptr_t)state });
}

/* A string of the row, which lives as long as its texts; NULL for None, or with an exception. */
static const char *text_of(PyObject *o) { return o && o != Py_None ? PyUnicode_AsUTF8AndSize(o, NULL) : NULL; }

/* Operands: pairs of name and kind. */
static bool read_row_operands(PyObject *list, cbx_metric_function *row)
{
    const Py_ssize_t n = PyList_Size(list);

    if (n > CBX_METRIC_MAX_OPERANDS)
        return PyErr_Format(PyExc_ValueError, "a metric has at most %d operands", CBX_METRIC_MAX_OPERANDS) != NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *pair = PyList_GetItem(list, i);
        const char *kind = text_of(PyTuple_GetItem(pair, 1));
        unsigned k = 0;
        if (!kind || !(row->operands[i].name = text_of(PyTuple_GetItem(pair, 0)))) return false;
        while (k < CBX_OPERAND_KINDS && strcmp(cbx_operand_kind_name((cbx_operand_kind)k), kind) != 0) k++;
        row->operands[i].kind = (cbx_operand_kind)k;
        if (k == CBX_OPERAND_KINDS)
            return PyErr_Format(PyExc_ValueError, "%R is no kind of operand", PyTuple_GetItem(pair, 1)) != NULL;
    }
    return true;
}

/* Parameters: as parameters_list makes them, with the number of the type. */
static bool read_row_parameters(PyObject *list, cbx_metric_function *row)
{
    const Py_ssize_t n = PyList_Size(list);

    if (n > CBX_METRIC_MAX_PARAMETERS)
        return PyErr_Format(PyExc_ValueError, "a metric has at most %d parameters", CBX_METRIC_MAX_PARAMETERS) != NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *t = PyList_GetItem(list, i);
        cbx_metric_parameter *p = &row->parameters[i];
        p->name = text_of(PyTuple_GetItem(t, 0));
        p->help = text_of(PyTuple_GetItem(t, 1));
        p->type = (cbx_parameter_type)PyLong_AsLong(PyTuple_GetItem(t, 2));
        p->value = PyFloat_AsDouble(PyTuple_GetItem(t, 3));
        p->low = PyFloat_AsDouble(PyTuple_GetItem(t, 4));
        p->high = PyFloat_AsDouble(PyTuple_GetItem(t, 5));
        p->words = text_of(PyTuple_GetItem(t, 6));
    }
    return !PyErr_Occurred();
}

static bool read_row(cx_call *c, python_row *r)
{
    cbx_metric_function *row = &r->row;
    unsigned direction, shapes, tier;
    const struct {
        const char *key, **text;
    } texts[] = { { "name", &row->name },       { "domain", &row->domain }, { "summary", &row->summary },
                  { "formula", &row->formula }, { "notes", &row->notes },   { "source", &row->source },
                  { "example", &row->example } };

    for (size_t i = 0; i < CBX_LEN(texts); i++)
        *texts[i].text = text_of(PyDict_GetItemString(cx_arg(c, "texts"), texts[i].key));
    if (PyErr_Occurred() || !read_row_operands(cx_arg(c, "operands"), row) ||
        !read_row_parameters(cx_arg(c, "parameters"), row) ||
        !CX_GET(c, direction, shapes, tier, row->low, row->high, row->axioms, row->invariances, row->flags))
        return false;
    row->direction = (cbx_direction)direction;
    row->shapes = (cbx_metric_shapes)shapes;
    row->tier = (cbx_metric_tier)tier;
    return true;
}

/* define(texts, operands, parameters, form, code, merge, finish, ...) */
static PyObject *do_define(cx_call *c)
{
    static uintptr_t
        made; /* rows may follow each other at one address, and compiled calls are found by it and by this number */
    PyObject *code = cx_arg(c, "code"), *merge = cx_arg(c, "merge"), *finish = cx_arg(c, "finish"), *capsule;
    python_row *r = PyMem_Calloc(1, sizeof *r);
    unsigned form;
    cbx_ctx *ctx = NULL;
    cbx_status st;

    if (!r) return PyErr_NoMemory();
    if (merge == Py_None) merge = NULL;
    if (finish == Py_None) finish = NULL;
    capsule = PyCapsule_New(r, CX_ROW_NAME, row_free);
    if (!capsule) {
        PyMem_Free(r);
        return NULL;
    }
    r->texts = PyTuple_Pack(3, cx_arg(c, "texts"), cx_arg(c, "operands"), cx_arg(c, "parameters"));
    r->row.user = (void *)++made;
    if (!r->texts || !read_row(c, r) || !CX_GET(c, form) || !(ctx = cx_ctx_borrow(c->st))) {
        Py_DECREF(capsule);
        return NULL;
    }
    /* code that is not declared to be traceable may read values, with NumPy for example */
    if (!(r->row.flags & CBX_METRIC_DIFFERENTIABLE)) r->row.flags |= CBX_METRIC_EAGER;
    *(form == 0 ? &r->row.items : form == 1 ? &r->row.parts : &r->row.whole) = python_code;
    st = cbx_fn_keep(ctx, ((cx_recorded *)code)->fn, &r->code, &c->err);
    if (!st && merge) st = cbx_fn_keep(ctx, ((cx_recorded *)merge)->fn, &r->merge, &c->err);
    if (!st && finish) st = cbx_fn_keep(ctx, ((cx_recorded *)finish)->fn, &r->finish, &c->err);
    if (merge) r->row.merge = python_merge;
    if (finish) r->row.finish = python_finish;
    if (!st) st = cbx_metric_row_check(&r->row, &c->err);
    cx_ctx_return(c->st, ctx);
    if (!st) return capsule;
    Py_DECREF(capsule);
    c->function = NULL;
    return cx_raise_for(c, st);
}

/* row(metric): what table has of all */
static PyObject *do_row(cx_call *c)
{
    cbx_ctx *ctx = cx_ctx_borrow(c->st);
    const cbx_metric_function *m = ctx ? cx_metric_row(c, ctx) : NULL;

    if (ctx) cx_ctx_return(c->st, ctx);
    return m ? cx_metric_dict(m) : NULL;
}

/* check(metric, parameters, function, draws, seed) */
static PyObject *do_check(cx_call *c)
{
    PyObject *parameters = cx_arg(c, "parameters"), *f = cx_arg(c, "function");
    double v[CBX_METRIC_MAX_PARAMETERS] = { 0 };
    cbx_metric_options o = { .parameters = v };
    const cbx_metric_function *m;
    size_t draws = 0;
    size_t seed = 0;
    cbx_status st;
    cbx_ctx *ctx;

    if (!CX_GET(c, draws, seed) || !cx_metric_parameters(parameters, v)) return NULL;
    if (f) o.function = ((cx_recorded *)f)->fn;
    if (!(ctx = cx_ctx_borrow(c->st))) return NULL;
    m = cx_metric_row(c, ctx);
    st = m ? cbx_metric_check_properties(ctx, m, &o, draws, seed, &c->err) : CBX_OK;
    cx_ctx_return(c->st, ctx);
    c->function = NULL;
    return m ? cx_none(c, st) : NULL;
}

/* ---- texts ---- */

typedef struct text {
    const char *whole; /* NULL: words */
    const char **words;
    size_t n;
} text;

/* Ends with its object; NULL with an exception. */
static const char *utf8(PyObject *o)
{
    Py_ssize_t length = 0;
    const char *s = PyUnicode_Check(o) ? PyUnicode_AsUTF8AndSize(o, &length) : NULL;

    if (s && strlen(s) == (size_t)length) return s;
    if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "%R must be a string without NUL", o);
    return NULL;
}

static bool read_text(cx_call *c, PyObject *o, text *out)
{
    if (PyUnicode_Check(o)) return (out->whole = utf8(o)) != NULL;
    if (!PyList_Check(o)) return PyErr_Format(PyExc_TypeError, "%R must be a string or a list", o) != NULL;
    out->n = (size_t)PyList_Size(o);
    out->words = cx_alloc(c, out->n + 1, sizeof *out->words);
    for (size_t i = 0; out->words && i < out->n; i++)
        if (!(out->words[i] = utf8(PyList_GetItem(o, (Py_ssize_t)i)))) return false;
    return out->words != NULL;
}

/* tokens(texts): the lists, and the strings in them, are not changed while it runs */
static PyObject *do_tokens(cx_call *c)
{
    PyObject *list = cx_arg(c, "texts");
    const size_t n = (size_t)PyList_Size(list);
    text *texts = cx_alloc(c, n + 1, sizeof *texts);
    cbx_array **out = cx_alloc(c, n + 1, sizeof *out);
    cbx_vocabulary *v = NULL;

    for (size_t i = 0; texts && out && i < n; i++)
        if (!read_text(c, PyList_GetItem(list, (Py_ssize_t)i), &texts[i])) return NULL;
    if (!texts || !out || !cx_begin(c)) return NULL;
    if (cbx_vocabulary_create(c->ctx, &v, &c->err)) return cx_raise_for(c, c->err.status);
    for (size_t i = 0; i < n; i++)
        out[i] = texts[i].whole ? cbx_tokens_of_text(c->ctx, v, texts[i].whole)
                                : cbx_tokens_of_words(c->ctx, v, texts[i].n, texts[i].words);
    cbx_vocabulary_free(v);
    return cx_results(c, n, out, false);
}

/* texts(tokens) */
static PyObject *do_texts(cx_call *c)
{
    PyObject *list = cx_arg(c, "tokens");
    const size_t n = (size_t)PyList_Size(list);
    cbx_array **in = cx_alloc(c, n + 1, sizeof *in);

    if (!in || !cx_metric_operands(c, list, n, in) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_texts(c->ctx, n, in));
}

/* clang-format off */
#define METRICS(X) \
    X(table, "", "list[dict[str, Any]]", do_table, 0, "The rows of all metric functions.") \
    X(apply, \
      "metric: object, operands: list[Array | None], parameters: list[float | None], " \
      "mask: Array | None = None, weights: Array | None = None, " \
      "reduction: 'mean' | 'sum' | 'none' | 'batch_sum' = 'mean', " \
      "axis: int | Sequence[int] | None = None, keepdims: bool = False, " \
      "function: object | None = None", \
      "Array", do_apply, 0, "A metric of arrays.") \
    X(define, \
      "texts: dict[str, str | None], operands: list[tuple[str, str]], parameters: list[tuple[str, " \
      "str, int, float, float, float, str | None]], form: 'items' | 'parts' | 'whole', " \
      "code: object, merge: object | None, finish: object | None, " \
      "direction: 'higher' | 'lower' | 'info', shapes: 'same' | 'length' | 'rows' | 'free', " \
      "tier: 'pure_function' | 'frozen_backbone' | 'learned' | 'metric_learning', low: float, " \
      "high: float, axioms: int, invariances: int, flags: int", \
      "object", do_define, 0, "A row of Python functions.") \
    X(row, "metric: object", "dict[str, Any]", do_row, 0, "A row as table has it.") \
    X(check, \
      "metric: object, parameters: list[float | None], function: object | None, draws: int, " \
      "seed: int", \
      "None", do_check, 0, "Tries the properties of a metric.") \
    X(unpack, \
      "metric: object, data: bytes, function: object | None = None", \
      "object", do_unpack, 0, "A state from its bytes.") \
    X(tokens, \
      "texts: list[str | list[str]]", \
      "list[Array]", do_tokens, 0, \
      "Texts, or lists of words, as token numbers of one vocabulary.") \
    X(texts, \
      "tokens: list[Array]", \
      "Array", do_texts, 0, "Texts as the rows of one array, filled with -1.")
/* clang-format on */
CX_FUNCTIONS(cx_metric_methods, METRICS, CX_HEAVY)
