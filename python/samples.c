/* Arguments of measuring and statistics: samples, words, options; and Python functions that the library calls. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "python/answers.h"

static bool given(const cx_call *c, int i) { return c->arg[i] && c->arg[i] != Py_None; }

/* Raises "median: 'x' has to be a flat sequence of numbers, not <object>". */
static bool refuse(const cx_call *c, int i, PyObject *kind, const char *wanted, PyObject *found)
{
    PyObject *name = cx_parameter_name(c, i);
    if (name) PyErr_Format(kind, "%s: '%U' has to be %s, not %R", c->name, name, wanted, found);
    Py_XDECREF(name);
    return false;
}

/* ---- samples ---- */

/* The elements of an array of float64 in their order, held by the call. */
static bool lay_flat(cx_call *c, const cbx_array *a, cx_samples *out)
{
    size_t n = cbx_array_count(a);
    cbx_err err = CBX_ERR_INIT;
    cbx_array *flat = NULL;
    cbx_status status;
    cbx_ctx *ctx;

    if (cbx_array_is_contiguous(a)) {
        *out = (cx_samples){ cbx_array_data(a), n };
        return cx_hold(c, cbx_array_ref(a));
    }
    ctx = cx_ctx_borrow(c->st);
    if (!ctx) return false;
    status = cbx_array_create(ctx, cbx_array_get_desc(a), &flat, &err);
    if (!status) status = cbx_array_read(a, cbx_array_data_mut(flat), cbx_array_bytes(a), &err);
    cx_ctx_return(c->st, ctx);
    if (status) {
        cbx_array_free(flat);
        return cx_raise(status, err.message) != NULL;
    }
    *out = (cx_samples){ cbx_array_data(flat), n };
    return cx_hold(c, flat);
}

static bool read_numbers(cx_call *c, PyObject *o, int i, int ndim, cx_samples *out, size_t *shape)
{
    const char *wanted = ndim == 1 ? "a flat sequence of numbers" : "rows of numbers, all of one length";
    PyObject *a;
    bool fine;

    a = PyUnicode_Check(o) ? NULL : cx_asarray(c->st, o, CBX_F64, -1);
    if (!a && PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError))
        return false;
    if (!a || cbx_array_ndim(((cx_array *)a)->handle) != ndim) {
        PyErr_Clear();
        Py_XDECREF(a);
        return refuse(c, i, PyExc_TypeError, wanted, o);
    }
    for (int k = 0; k < ndim; k++) shape[k] = cbx_array_dim(((cx_array *)a)->handle, k);
    fine = lay_flat(c, ((cx_array *)a)->handle, out);
    Py_DECREF(a);
    return fine;
}

bool cx_samples_from(cx_call *c, PyObject *o, int i, cx_samples *out)
{
    size_t shape[1];
    return read_numbers(c, o, i, 1, out, shape);
}

bool cx_samples_arg(cx_call *c, int i, cx_samples *out)
{
    *out = (cx_samples){ NULL, 0 };
    return !given(c, i) || cx_samples_from(c, c->arg[i], i, out);
}

bool cx_two_samples(cx_call *c, cx_samples *x, cx_samples *y, bool same)
{
    if (!cx_samples_arg(c, 0, x) || !cx_samples_arg(c, 1, y)) return false;
    if (!same || x->n == y->n) return true;
    PyErr_Format(PyExc_ValueError, "%s: pairs need as many values on both sides, not %zu and %zu", c->name, x->n, y->n);
    return false;
}

bool cx_table_arg(cx_call *c, int i, cx_samples *out, size_t *rows, size_t *columns)
{
    size_t shape[2];

    if (!read_numbers(c, c->arg[i], i, 2, out, shape)) return false;
    *rows = shape[0];
    *columns = shape[1];
    return true;
}

void cx_groups_free(cx_groups *g)
{
    PyMem_Free(g->x);
    PyMem_Free(g->sizes);
    *g = (cx_groups){ 0 };
}

static bool join(cx_groups *g, const cx_samples *parts)
{
    size_t total = 0;

    for (size_t k = 0; k < g->n; k++) total += parts[k].n;
    g->x = PyMem_Calloc(total + 1, sizeof *g->x);
    g->sizes = PyMem_Calloc(g->n + 1, sizeof *g->sizes);
    if (!g->x || !g->sizes) return PyErr_NoMemory() != NULL;
    total = 0;
    for (size_t k = 0; k < g->n; k++) {
        if (parts[k].n) memcpy(g->x + total, parts[k].x, parts[k].n * sizeof *g->x);
        g->sizes[k] = parts[k].n;
        total += parts[k].n;
    }
    return true;
}

bool cx_groups_arg(cx_call *c, int i, cx_groups *out)
{
    PyObject *list = PyUnicode_Check(c->arg[i]) ? NULL : PySequence_Tuple(c->arg[i]);
    cx_samples *parts;
    bool fine;

    *out = (cx_groups){ 0 };
    if (!list) {
        PyErr_Clear();
        return refuse(c, i, PyExc_TypeError, "a sequence of sequences of numbers", c->arg[i]);
    }
    out->n = (size_t)PyTuple_Size(list);
    parts = PyMem_Calloc(out->n + 1, sizeof *parts);
    fine = parts || PyErr_NoMemory();
    for (size_t k = 0; fine && k < out->n; k++)
        fine = cx_samples_from(c, PyTuple_GetItem(list, (Py_ssize_t)k), i, &parts[k]);
    fine = fine && join(out, parts);
    PyMem_Free(parts);
    Py_DECREF(list);
    return fine;
}

/* ---- words and numbers ---- */

bool cx_size_arg(cx_call *c, int i, size_t *inout)
{
    int64_t v = -1;

    if (!given(c, i)) return true;
    if (!cx_int_arg(c, i, &v)) return false;
    if (v < 0) return refuse(c, i, PyExc_ValueError, "0 or more", c->arg[i]);
    *inout = (size_t)v;
    return true;
}

bool cx_text_arg(cx_call *c, int i, const char **inout)
{
    const char *text;

    if (!given(c, i)) return true;
    if (!PyUnicode_Check(c->arg[i])) return refuse(c, i, PyExc_TypeError, "text", c->arg[i]);
    text = cx_text_of(c->arg[i], c->name);
    if (text) *inout = text;
    return text != NULL;
}

bool cx_texts_arg(cx_call *c, int i, cx_texts *out)
{
    PyObject *o = c->arg[i];

    *out = (cx_texts){ 0 };
    if (!given(c, i)) return true;
    out->tuple = PyUnicode_Check(o) ? PyTuple_Pack(1, o) : PySequence_Tuple(o);
    if (!out->tuple) return false;
    out->n = (size_t)PyTuple_Size(out->tuple);
    out->list = cbx_mem_calloc(cbx_allocator_default(), out->n + 1, sizeof *out->list);
    if (!out->list) return PyErr_NoMemory() != NULL;
    for (size_t k = 0; k < out->n; k++) {
        PyObject *item = PyTuple_GetItem(out->tuple, (Py_ssize_t)k);
        if (!PyUnicode_Check(item)) return refuse(c, i, PyExc_TypeError, "text or a sequence of it", o);
        if (!(out->list[k] = cx_text_of(item, c->name))) return false;
    }
    return true;
}

void cx_texts_free(cx_texts *t)
{
    cbx_mem_free(cbx_allocator_default(), (void *)(uintptr_t)t->list, (t->n + 1) * sizeof *t->list);
    Py_XDECREF(t->tuple);
}

static bool refuse_word(const cx_call *c, PyObject *o, int i, const char *const *words, size_t n)
{
    char list[256] = "";

    for (size_t k = 0; k < n; k++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s'%s'",
                 !k          ? ""
                 : k + 1 < n ? ", "
                             : " or ",
                 words[k]);
    return refuse(c, i, PyExc_ValueError, list, o);
}

bool cx_word_from(cx_call *c, PyObject *o, int i, const char *const *words, size_t n, int *out)
{
    PyObject *value = PyUnicode_Check(o) ? Py_NewRef(o) : PyObject_GetAttrString(o, "value"); /* of an enum */
    bool word = value && PyUnicode_Check(value), found = false;

    PyErr_Clear();
    for (size_t k = 0; word && k < n && !found; k++) {
        found = PyUnicode_CompareWithASCIIString(value, words[k]) == 0;
        if (found) *out = (int)k;
    }
    Py_XDECREF(value);
    return found || refuse_word(c, o, i, words, n);
}

bool cx_word_arg(cx_call *c, int i, const char *const *words, size_t n, int *inout)
{
    return !given(c, i) || cx_word_from(c, c->arg[i], i, words, n, inout);
}

static const char *const directions[] = { "higher", "lower", "info" };

bool cx_direction_from(cx_call *c, PyObject *o, int i, cbx_direction *out)
{
    int v = 0;

    if (!cx_word_from(c, o, i, directions, CBX_LEN(directions), &v)) return false;
    *out = (cbx_direction)v;
    return true;
}

cbx_direction *cx_directions_arg(cx_call *c, int i, size_t n)
{
    PyObject *o = c->arg[i], *list = PyUnicode_Check(o) || !PySequence_Check(o) ? NULL : PySequence_Tuple(o);
    cbx_direction *out = NULL;
    bool fine = true;

    if (PyErr_Occurred()) return NULL;
    if (list && (size_t)PyTuple_Size(list) != n) {
        PyErr_Format(PyExc_ValueError, "%s: %zd directions for %zu objectives", c->name, PyTuple_Size(list), n);
        fine = false;
    }
    if (fine && !(out = PyMem_Malloc((n + 1) * sizeof *out))) PyErr_NoMemory();
    for (size_t k = 0; fine && out && k < n; k++)
        fine = cx_direction_from(c, list ? PyTuple_GetItem(list, (Py_ssize_t)k) : o, i, &out[k]);
    Py_XDECREF(list);
    if (!fine) {
        PyMem_Free(out);
        out = NULL;
    }
    return out;
}

bool cx_callable_arg(cx_call *c, int i, PyObject **out)
{
    *out = NULL;
    if (!given(c, i)) return true;
    if (!PyCallable_Check(c->arg[i])) return refuse(c, i, PyExc_TypeError, "callable", c->arg[i]);
    *out = c->arg[i];
    return true;
}

static bool ns_arg(cx_call *c, int i, uint64_t *out)
{
    double s = 0;

    if (!cx_double_arg(c, i, &s)) return false;
    if (!(s >= 0 && s < 1.8e10)) return refuse(c, i, PyExc_ValueError, "a time in seconds, 0 or more", c->arg[i]);
    *out = (uint64_t)(s * 1e9);
    return true;
}

bool cx_now_arg(cx_call *c, int i, uint64_t *out)
{
    *out = cbx_clock_ns();
    return !given(c, i) || ns_arg(c, i, out);
}

/* ---- options ---- */

static bool set_whole(cx_call *c, const cx_option *o, char *at)
{
    size_t v = 0;

    if (!cx_size_arg(c, o->arg, &v)) return false;
    if (o->width == sizeof(uint32_t)) {
        uint32_t half = v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
        memcpy(at, &half, sizeof half);
    } else {
        memcpy(at, &v, sizeof v);
    }
    return true;
}

static bool set_option(cx_call *c, const cx_option *o, char *at)
{
    union {
        double number;
        bool flag;
        const char *text;
        int word;
        uint64_t ns;
    } v = { 0 };
    bool fine = false;

    switch (o->kind) {
    case CX_O_WHOLE: return set_whole(c, o, at);
    case CX_O_NUMBER: fine = cx_double_arg(c, o->arg, &v.number); break;
    case CX_O_FLAG: fine = cx_bool_arg(c, o->arg, &v.flag); break;
    case CX_O_TEXT: fine = cx_text_arg(c, o->arg, &v.text); break;
    case CX_O_WORD: fine = cx_word_arg(c, o->arg, o->words, o->nwords, &v.word); break;
    case CX_O_NS: fine = ns_arg(c, o->arg, &v.ns); break;
    }
    if (fine) memcpy(at, &v, o->width);
    return fine;
}

bool cx_options(cx_call *c, const cx_option *list, size_t n, void *into)
{
    for (size_t i = 0; i < n; i++)
        if (given(c, list[i].arg) && !set_option(c, &list[i], (char *)into + list[i].at)) return false;
    return true;
}

/* ---- callbacks ---- */

void cx_callback_caught(cx_callback *cb)
{
    if (cb->type)
        PyErr_Clear();
    else
        PyErr_Fetch(&cb->type, &cb->value, &cb->traceback);
}

void cx_callback_run(void *callback)
{
    cx_callback *cb = callback;
    PyObject *r;

    if (cb->type) return;
    r = PyObject_CallNoArgs(cb->function);
    if (!r) cx_callback_caught(cb);
    cx_set(&cb->last, cb->keep ? Py_XNewRef(r) : NULL);
    Py_XDECREF(r);
}

bool cx_callback_done(cx_callback *cb)
{
    Py_CLEAR(cb->last);
    if (!cb->type) return false;
    PyErr_Restore(cb->type, cb->value, cb->traceback);
    cb->type = cb->value = cb->traceback = NULL;
    return true;
}
