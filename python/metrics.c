/* Metric functions: the library's table for metrics.py, the one call that all of them make,
 * and states. */
#include <math.h>
#include <string.h>

#include "calibrax/metrics/stateful/state.h"
#include "calibrax/metrics/tokens.h"
#include "python/metrics.h"

/* ---- the table ---- */

static PyObject *operands_list(const cbx_metric_function *m)
{
    const cbx_metric_operand *o = m->operands;

    return CX_LIST(cbx_metric_operands(m),
                   Py_BuildValue("(sssO)", o[i].name, cbx_operand_kind_name(o[i].kind),
                                 cbx_operand_kind_text(o[i].kind), o[i].optional ? Py_True : Py_False));
}

/* The word of the items of each operand. */
static PyObject *items_list(const cbx_metric_function *m)
{
    return CX_LIST(cbx_metric_operands(m),
                   PyUnicode_FromString(cbx_operand_items_name(cbx_metric_operand_items(m, i))));
}

static PyObject *parameters_list(const cbx_metric_function *m)
{
    static const char *const types[] = { "float", "int", "bool", "choice" };
    const cbx_metric_parameter *p = m->parameters;

    return CX_LIST(cbx_metric_parameters(m), Py_BuildValue("(sssdddz)", p[i].name, p[i].help, types[p[i].type],
                                                           p[i].value, p[i].low, p[i].high, p[i].words));
}

PyObject *cx_metric_dict(const cbx_metric_function *m)
{
    static const char *const directions[] = { "higher", "lower", "info" };

    return Py_BuildValue("{szszszszszszszsz ssssss sNsNsN s(dd)sN sIsIsIsI}", "name", m->name, "domain", m->domain,
                         "summary", m->summary, "formula", m->formula, "notes", m->notes, "source", m->source,
                         "example", m->example, "function", m->function, "direction", directions[m->direction], "tier",
                         cbx_metric_tier_name(m->tier), "form",
                         m->items   ? "items"
                         : m->parts ? "parts"
                                    : "whole",
                         "operands", operands_list(m), "items", items_list(m), "parameters", parameters_list(m),
                         "range", m->low, m->high, "sketch", PyBool_FromLong(m->error != NULL), "axioms", m->axioms,
                         "invariances", m->invariances, "flags", m->flags, "shapes", (unsigned)m->shapes);
}

CX_RETURN(do_table, (CX_CONTEXT(ctx, c->st)), ctx,
          CX_LIST(cbx_metric_count(ctx), cx_metric_dict(cbx_metric_at(ctx, i))))

/* ---- a call ---- */

/* Arrays of a list, held by the call; None is NULL.  false with an exception. */
static bool read_arrays(cx_call *c, PyObject *list, cx_metric_arguments *a)
{
    a->n = (size_t)PyList_Size(list);
    a->in = PyErr_Occurred() ? NULL : cx_alloc(c, a->n + 1, sizeof *a->in);
    for (size_t i = 0; a->in && i < a->n; i++) {
        PyObject *o = PyList_GetItem(list, (Py_ssize_t)i);
        if (o == Py_None) continue;
        if (!cx_is_array(c->st, o)) return cx_refused(PyExc_TypeError, "%R is not an array", o);
        a->in[i] = cbx_array_ref(((cx_array *)o)->handle);
        c->elements += cbx_array_count(a->in[i]);
        if (!cx_hold(c, a->in[i])) return false;
    }
    return a->in != NULL;
}

/* Numbers of a list; None is NaN.  false with an exception. */
static bool read_parameters(PyObject *list, double *v)
{
    const Py_ssize_t n = PyList_Size(list);

    if (n > CBX_METRIC_MAX_PARAMETERS)
        return cx_refused(PyExc_ValueError, "a metric has at most %d parameters", CBX_METRIC_MAX_PARAMETERS);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyList_GetItem(list, i);
        v[i] = o == Py_None ? (double)NAN : PyFloat_AsDouble(o);
    }
    return !PyErr_Occurred();
}

bool cx_metric_read(cx_call *c, cx_metric_arguments *a)
{
    PyObject *operands = cx_arg(c, "operands"), *parameters = cx_arg(c, "parameters"), *f = cx_arg(c, "function");
    const cbx_array *mask = NULL, *weights = NULL;

    *a = (cx_metric_arguments){ .options.parameters = parameters ? a->parameters : NULL };
    if (f) a->options.function = ((cx_recorded *)f)->fn;
    if (parameters && !read_parameters(parameters, a->parameters)) return false;
    if (!operands) return true;
    if (!CX_GET(c, mask, weights)) return false;
    a->options.mask = mask;
    a->options.weights = weights;
    return read_arrays(c, operands, a);
}

const cbx_metric_function *cx_metric_row(cx_call *c)
{
    PyObject *o = cx_arg(c, "metric");
    const cbx_metric_function *m = NULL;
    const char *name;

    if (PyCapsule_CheckExact(o)) return PyCapsule_GetPointer(o, CX_ROW_NAME);
    name = PyUnicode_Check(o) ? PyUnicode_AsUTF8AndSize(o, NULL) : NULL;
    if (!name) return cx_refuse(c, "metric", PyExc_TypeError, "a name", o), NULL;
    CX_CONTEXT(ctx, c->st);
    if (ctx && cbx_metric_find(ctx, name, &m, &c->err)) cx_raise_for(c, c->err.status);
    return m;
}

/* apply(metric, operands, parameters, mask, weights, reduction, axis, keepdims, function) */
static PyObject *do_apply(cx_call *c)
{
    const cbx_metric_function *m = cx_metric_row(c);
    cx_metric_arguments a;
    unsigned reduction = 0;
    cx_ints axis = { 0 };
    bool keepdims = false;
    cbx_axes axes = { 0 };

    if (!m) return NULL;
    c->name = m->name;
    if (!cx_metric_read(c, &a) || !CX_GET(c, reduction, keepdims)) return NULL;
    if (cx_arg(c, "axis")) {
        if (!CX_GET(c, axis)) return NULL;
        axes.n = axis.n;
        axes.keep = keepdims;
        for (int k = 0; k < axis.n; k++) axes.axis[k] = (int)axis.v[k];
        a.options.axes = &axes;
    }
    a.options.reduction = (cbx_metric_reduction)reduction;
    c->function = NULL; /* failures come with the library's sentence */
    return cx_begin(c) ? cx_result(c, cbx_metric_apply(c->ctx, m, a.n, a.in, &a.options)) : NULL;
}

/* ---- objects of metrics: busy while code runs that may be Python ---- */

cx_object *cx_metric_enter(cx_call *c, cx_object *other, bool is_long)
{
    cx_object *o = cx_object_self(c);

    if (!o) return NULL;
    c->function = NULL; /* failures come with the library's sentence */
    o->busy = true;
    if (other) other->busy = true;
    if (is_long || c->elements >= CX_UNLOCK_ELEMENTS) c->unlocked = PyEval_SaveThread();
    return o;
}

/* ---- states ---- */

CX_MADE(state_make, CX_METRIC_STATE, cbx_metric_state,
        (const cbx_metric_function *m = cx_metric_row(c); cx_metric_arguments a), m != NULL && cx_metric_read(c, &a),
        (o->kept = Py_NewRef(cx_arg(c, "metric")), cbx_metric_state_create(o->ctx, m, &a.options, &handle, &c->err)))

CX_ACCUMULATOR(state, CX_METRIC_STATE)

CX_RETURN(state_compute, (CX_ENTERED of = cx_metric_enter(c, NULL, true); cbx_array *r = NULL),
          of != NULL && cx_fine(c, cbx_metric_state_compute(of->ctx, of->handle, &r, &c->err)), cx_array_new(c->st, r))
CX_RETURN(state_error, (CX_ENTERED of = cx_metric_enter(c, NULL, false); double v = 0),
          of != NULL && cx_fine(c, cbx_metric_state_error(of->ctx, of->handle, &v, &c->err)), PyFloat_FromDouble(v))

CX_DO(state_parameters, cbx_metric_state, (), (),
      CX_LIST(CBX_METRIC_MAX_PARAMETERS, PyFloat_FromDouble(cbx_metric_state_parameters(self)[i])))

/* clang-format off */
#define STATE(X) \
    X(update, CX_METRIC_OPERANDS ", " CX_METRIC_MASKED ", " CX_METRIC_FUNCTION, "None", state_update, 0, "Adds a batch.") \
    X(merge, "other: State", "None", state_merge, 0, "Adds what another state has seen.") \
    X(compute, "", "Array", state_compute, 0, "The metric of all that was added.") \
    X(reset, "", "None", state_reset, 0, "As it was made.") \
    X(updates, "", "int", state_updates, 0, "Number of batches.") \
    X(parameters, "", "list[float]", state_parameters, 0, "Its parameters, and zeros.") \
    X(error, "", "float", state_error, 0, "Bound of the error of a sketch.") \
    X(to_bytes, "", "bytes", state_bytes, 0, "What it keeps, for unpack.")
CX_OBJECT_TYPE(metric_state, state, STATE, "_metrics", State, "metric: object, " CX_METRIC_PARAMETERS ", " CX_METRIC_FUNCTION,
               cbx_metric_state_free, "A metric over batches.")
/* clang-format on */

/* unpack(metric, data, function) */
CX_MADE(do_unpack, CX_METRIC_STATE, cbx_metric_state,
        (PyObject *data = cx_arg(c, "data"); const cbx_metric_function *m; cx_metric_arguments a),
        (PyBytes_Check(data) || cx_refuse(c, "data", PyExc_TypeError, "bytes", data)) && (m = cx_metric_row(c)) &&
            cx_metric_read(c, &a),
        (o->kept = Py_NewRef(cx_arg(c, "metric")),
         cbx_metric_state_unpack(o->ctx, m, PyBytes_AsString(data), (size_t)PyBytes_Size(data), a.options.function,
                                 &handle, &c->err)))

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
    if (!PyList_Check(o)) return cx_refused(PyExc_TypeError, "%R must be a string or a list", o);
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
CX_RETURN(do_texts, (cx_metric_arguments a), read_arrays(c, cx_arg(c, "tokens"), &a) && cx_begin(c),
          cx_result(c, cbx_texts(c->ctx, a.n, a.in)))

/* clang-format off */
#define METRICS(X) \
    X(table, "", "list[dict[str, Any]]", do_table, 0, "The rows of all metric functions.") \
    X(apply, CX_METRIC_CALL ", " CX_METRIC_MASKED ", reduction: 'mean' | 'sum' | 'none' | 'batch_sum' = 'mean', axis: int | Sequence[int] | None = None, keepdims: bool = False, " CX_METRIC_FUNCTION, "Array", do_apply, 0, "A metric of arrays.") \
    X(unpack, "metric: object, data: bytes, " CX_METRIC_FUNCTION, "object", do_unpack, 0, "A state from its bytes.") \
    X(tokens, "texts: list[str | list[str]]", "list[Array]", do_tokens, 0, "Texts, or lists of words, as token numbers of one vocabulary.") \
    X(texts, "tokens: list[Array]", "Array", do_texts, 0, "Texts as the rows of one array, filled with -1.")
/* clang-format on */
CX_FUNCTIONS(cx_metric_methods, METRICS, HEAVY)
