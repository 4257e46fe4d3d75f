/* Metric functions: the library's table for metrics.py, the one call that all of them make, and states. */
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

/* The word of the items of each operand. */
static PyObject *items_list(const cbx_metric_function *m)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < cbx_metric_operands(m); i++)
        if (!cx_append(list, PyUnicode_FromString(cbx_operand_items_name(cbx_metric_operand_items(m, i)))))
            Py_CLEAR(list);
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
    bool fine = dict && cx_put(dict, "operands", operands_list(m)) && cx_put(dict, "items", items_list(m)) &&
                cx_put(dict, "parameters", parameters_list(m)) &&
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

    if (!in || PyErr_Occurred() || !(ctx = cx_ctx_borrow(c->st))) return NULL;
    m = cx_metric_row(c, ctx);
    cx_ctx_return(c->st, ctx);
    if (!m) return NULL;
    c->name = m->name;
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
