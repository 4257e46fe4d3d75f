/* Arguments of measuring and statistics: samples, words, options; and Python functions that the
 * library calls. */
#include <string.h>

#include "python/answers.h"

/* ---- samples ---- */

static bool read_numbers(cx_call *c, PyObject *o, const char *name, int ndim, cx_samples *out, size_t *shape)
{
    const char *wanted = ndim == 1 ? "a flat sequence of numbers" : "rows of numbers, all of one length";
    CX_OWN PyObject *a = PyUnicode_Check(o) ? NULL : cx_asarray(c->st, o, CBX_F64, -1);

    if (!a && PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError))
        return false;
    if (!a || cbx_array_ndim(((cx_array *)a)->handle) != ndim) {
        PyErr_Clear();
        return cx_refuse(c, name, PyExc_TypeError, wanted, o);
    }
    for (int k = 0; k < ndim; k++) shape[k] = cbx_array_dim(((cx_array *)a)->handle, k);
    out->n = cbx_array_count(((cx_array *)a)->handle);
    out->x = cx_elements(c, ((cx_array *)a)->handle);
    return out->x || (!out->n && !PyErr_Occurred());
}

static bool samples_from(cx_call *c, PyObject *o, const char *name, cx_samples *out)
{
    size_t shape[1];
    return read_numbers(c, o, name, 1, out, shape);
}

bool cx_read_samples(cx_call *c, const char *name, PyObject *o, void *out)
{
    *(cx_samples *)out = (cx_samples){ NULL, 0 };
    return !o || samples_from(c, o, name, out);
}

bool cx_same_length(const cx_call *c, const cx_samples *x, const cx_samples *y)
{
    if (x->n == y->n) return true;
    return cx_refused(PyExc_ValueError, "%s: pairs need as many values on both sides, got %zu and %zu", c->name, x->n,
                      y->n);
}

bool cx_table_arg(cx_call *c, const char *name, cx_samples *out, size_t *rows, size_t *columns)
{
    size_t shape[2] = { 0 };
    PyObject *o = cx_arg(c, name);

    if (o && PySequence_Check(o) && PySequence_Size(o) == 0)
        return cx_refuse(c, name, PyExc_ValueError, "at least one row of numbers", o);
    if (!read_numbers(c, cx_arg(c, name), name, 2, out, shape)) return false;
    *rows = shape[0];
    *columns = shape[1];
    return true;
}

bool cx_read_groups(cx_call *c, const char *name, PyObject *o, void *into)
{
    CX_OWN PyObject *list = !o || PyUnicode_Check(o) ? NULL : PySequence_Tuple(o);
    cx_groups *out = into;
    cx_samples *parts;
    size_t total = 0;

    *out = (cx_groups){ 0 };
    if (!o) return true;
    if (!list) {
        PyErr_Clear();
        return cx_refuse(c, name, PyExc_TypeError, "a sequence of sequences of numbers", o);
    }
    out->n = (size_t)PyTuple_Size(list);
    if (!(parts = cx_alloc(c, out->n, sizeof *parts))) return false;
    for (size_t k = 0; k < out->n; total += parts[k++].n)
        if (!samples_from(c, PyTuple_GetItem(list, (Py_ssize_t)k), name, &parts[k])) return false;
    out->x = cx_alloc(c, total, sizeof *out->x);
    out->sizes = cx_alloc(c, out->n, sizeof *out->sizes);
    if (!out->x || !out->sizes) return false;
    for (size_t k = 0, at = 0; k < out->n; at += parts[k++].n) {
        if (parts[k].n) memcpy(out->x + at, parts[k].x, parts[k].n * sizeof *out->x);
        out->sizes[k] = parts[k].n;
    }
    return true;
}

/* ---- strings and choices ---- */

bool cx_read_texts(cx_call *c, const char *name, PyObject *o, void *into)
{
    cx_texts *out = into;

    *out = (cx_texts){ 0 };
    if (!o) return true;
    if (!cx_keep_object(c, out->tuple = PyUnicode_Check(o) ? PyTuple_Pack(1, o) : PySequence_Tuple(o))) return false;
    out->n = (size_t)PyTuple_Size(out->tuple);
    if (!(out->list = cx_alloc(c, out->n, sizeof *out->list))) return false;
    for (size_t k = 0; k < out->n; k++) {
        PyObject *item = PyTuple_GetItem(out->tuple, (Py_ssize_t)k);
        if (!PyUnicode_Check(item)) return cx_refuse(c, name, PyExc_TypeError, "a string or a sequence of strings", o);
        if (!(out->list[k] = cx_text_of(item, c->name))) return false;
    }
    return true;
}

cbx_direction *cx_directions_arg(cx_call *c, const char *name, size_t n)
{
    PyObject *o = cx_arg(c, name);
    CX_OWN PyObject *list = PyUnicode_Check(o) || !PySequence_Check(o) ? NULL : PySequence_Tuple(o);
    cbx_direction *out;

    if (list && (size_t)PyTuple_Size(list) != n)
        return (void *)PyErr_Format(PyExc_ValueError, "%s: %zd directions for %zu objectives", c->name,
                                    PyTuple_Size(list), n);
    if (PyErr_Occurred() || !(out = cx_alloc(c, n, sizeof *out))) return NULL;
    for (size_t k = 0; k < n; k++) {
        int v = 0;
        if (!cx_read_choice(c, name, list ? PyTuple_GetItem(list, (Py_ssize_t)k) : o, &v)) return NULL;
        out[k] = (cbx_direction)v;
    }
    return out;
}

bool cx_read_callback(cx_call *c, const char *name, PyObject *o, void *out)
{
    if (o && !PyCallable_Check(o)) return cx_refuse(c, name, PyExc_TypeError, "callable", o);
    ((cx_callback *)out)->function = o;
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
    CX_OWN PyObject *r = cb->type ? NULL : PyObject_CallNoArgs(cb->function);

    if (cb->type) return;
    if (!r) cx_callback_caught(cb);
    cx_set(&cb->last, cb->keep ? Py_XNewRef(r) : NULL);
}

double cx_callback_number(cx_callback *cb, PyObject *args)
{
    CX_OWN PyObject *given = args, *r = args && !cb->type ? PyObject_CallObject(cb->function, args) : NULL;
    const double v = r ? PyFloat_AsDouble(r) : 0;

    if (!PyErr_Occurred()) return v;
    cx_callback_caught(cb);
    return 0;
}

double cx_callback_statistic(const double *x, size_t n, const double *y, size_t m, void *callback)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *args = y ? Py_BuildValue("(NN)", cx_numbers_object(x, n), cx_numbers_object(y, m))
                       : Py_BuildValue("(N)", cx_numbers_object(x, n));
    const double v = cx_callback_number(callback, args);

    PyGILState_Release(state);
    return v;
}

bool cx_callback_done(cx_callback *cb)
{
    Py_CLEAR(cb->last);
    if (!cb->type) return false;
    PyErr_Restore(cb->type, cb->value, cb->traceback);
    cb->type = cb->value = cb->traceback = NULL;
    return true;
}

void cx_callback_drop(cx_callback *cb)
{
    Py_CLEAR(cb->type);
    Py_CLEAR(cb->value);
    Py_CLEAR(cb->traceback);
}
