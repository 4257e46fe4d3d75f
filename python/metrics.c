/* Metric functions: the library's table for metrics.py, and the one call that all of them make. */
#include <math.h>
#include <string.h>

#include "calibrax/metrics/metrics.h"
#include "calibrax/metrics/tokens.h"
#include "python/transforms.h"

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

static PyObject *row_dict(const cbx_metric_function *m)
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
    for (size_t i = 0; fine && i < CBX_LEN(bits); i++)
        fine = cx_put(dict, bits[i].key, PyLong_FromUnsignedLong(bits[i].value));
    if (!fine) Py_CLEAR(dict);
    return dict;
}

static PyObject *do_table(cx_call *c)
{
    PyObject *list = PyList_New(0);
    const cbx_metric_function *m;
    cbx_ctx *ctx = list ? cx_ctx_borrow(c->st) : NULL;

    if (!ctx) return NULL;
    for (size_t i = 0; list && (m = cbx_metric_at(ctx, i)); i++)
        if (!cx_append(list, row_dict(m))) Py_CLEAR(list);
    cx_ctx_return(c->st, ctx);
    return list;
}

/* ---- a call ---- */

static bool read_operands(cx_call *c, PyObject *list, size_t n, cbx_array **in)
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

static bool read_parameters(PyObject *list, double *v)
{
    const Py_ssize_t n = PyList_Size(list);

    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyList_GetItem(list, i);
        v[i] = o == Py_None ? (double)NAN : PyFloat_AsDouble(o);
    }
    return !PyErr_Occurred();
}

/* apply(name, operands, parameters, mask, weights, reduction, axis, keepdims, function) */
static PyObject *do_apply(cx_call *c)
{
    PyObject *operands = cx_arg(c, "operands"), *parameters = cx_arg(c, "parameters"), *f = cx_arg(c, "function");
    const size_t n = (size_t)PyList_Size(operands);
    double v[CBX_METRIC_MAX_PARAMETERS] = { 0 };
    const cbx_array *mask = NULL, *weights = NULL;
    cbx_metric_options o = { .parameters = v };
    const cbx_metric_function *m = NULL;
    const char *name = NULL;
    unsigned reduction = 0;
    cx_ints axis = { 0 };
    bool keepdims = false;
    cbx_axes axes = { 0 };
    cbx_array **in = cx_alloc(c, n + 1, sizeof *in);

    if (!in || PyErr_Occurred() || PyList_Size(parameters) > CBX_METRIC_MAX_PARAMETERS) return NULL;
    if (!CX_GET(c, name, mask, weights, reduction, keepdims) || !read_operands(c, operands, n, in) ||
        !read_parameters(parameters, v))
        return NULL;
    if (cx_arg(c, "axis")) {
        if (!CX_GET(c, axis)) return NULL;
        axes.n = axis.n;
        axes.keep = keepdims;
        for (int k = 0; k < axis.n; k++) axes.axis[k] = (int)axis.v[k];
        o.axes = &axes;
    }
    o.mask = mask;
    o.weights = weights;
    o.reduction = (cbx_metric_reduction)reduction;
    if (f) o.function = ((cx_recorded *)f)->fn;
    c->name = name;
    c->function = NULL; /* failures come with the library's sentence */
    if (!cx_begin(c)) return NULL;
    if (cbx_metric_find(c->ctx, name, &m, &c->err)) return cx_raise_for(c, c->err.status);
    return cx_result(c, cbx_metric_apply(c->ctx, m, n, in, &o));
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

    if (!in || !read_operands(c, list, n, in) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_texts(c->ctx, n, in));
}

/* clang-format off */
#define METRICS(X) \
    X(table, "", "list[dict[str, Any]]", do_table, 0, "The rows of all metric functions.") \
    X(apply, "name: str, operands: list[Array | None], parameters: list[float | None], mask: Array | None = None, weights: Array | None = None, reduction: 'mean' | 'sum' | 'none' | 'batch_sum' = 'mean', axis: int | Sequence[int] | None = None, keepdims: bool = False, function: object | None = None", "Array", do_apply, 0, "A metric of arrays.") \
    X(tokens, "texts: list[str | list[str]]", "list[Array]", do_tokens, 0, "Texts, or lists of words, as token numbers of one vocabulary.") \
    X(texts, "tokens: list[Array]", "Array", do_texts, 0, "Texts as the rows of one array, filled with -1.")
/* clang-format on */
CX_FUNCTIONS(cx_metric_methods, METRICS, CX_HEAVY)
