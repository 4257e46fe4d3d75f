/* The benchmark protocol's functions for a Python object: what it raises is kept, passed on as a status, and raised at the end. */
#include "python/protocol.h"

#include <string.h>

/* ---- exceptions ---- */

/* Keeps the first one; the status that the library sees, with its words. */
static cbx_status caught(cx_bench *b, cbx_err *err)
{
    PyObject *type, *value, *traceback, *text;
    bool interrupt = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
    const char *words;
    cbx_status st;

    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    text = value ? PyObject_Str(value) : NULL;
    words = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    PyErr_Clear();
    st = cbx_fail(err, interrupt ? CBX_EINTERRUPTED : CBX_ECHILD, "%s",
                  words && *words ? words : "it raised an exception");
    Py_XDECREF(text);
    if (b->type) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
    } else {
        b->type = type;
        b->value = value;
        b->traceback = traceback;
    }
    return st;
}

bool cx_bench_raise(cx_bench *b, bool all)
{
    if (!b->type) return false;
    if (!all && PyErr_GivenExceptionMatches(b->type, PyExc_Exception)) return false;
    PyErr_Restore(b->type, b->value, b->traceback);
    b->type = b->value = b->traceback = NULL;
    return true;
}

/* ---- callbacks ---- */

static cbx_status call(cx_bench *b, const char *method, cbx_err *err)
{
    PyObject *r = PyObject_CallMethod(b->object, method, NULL);

    if (!r) return caught(b, err);
    Py_DECREF(r);
    return CBX_OK;
}

static bool add_value(cbx_values *out, const char *method, PyObject *key, PyObject *value)
{
    const char *name = PyUnicode_Check(key) ? cx_text_of(key, method) : NULL;
    cbx_err err = CBX_ERR_INIT;
    PyObject *x;
    bool fine;

    if (!name || PyBool_Check(value) || PyUnicode_Check(value)) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "%s must return numbers by name, got %R for %R", method, value, key);
        return false;
    }
    x = PyNumber_Float(value);
    fine = x && cbx_values_add(out, name, PyFloat_AsDouble(x), &err) == CBX_OK;
    if (x && !fine) cx_raise(err.status, err.message);
    Py_XDECREF(x);
    return fine;
}

static cbx_status values(cx_bench *b, const char *method, cbx_values *out, cbx_err *err)
{
    PyObject *given = PyObject_CallMethod(b->object, method, NULL), *dict = NULL, *key, *value;
    Py_ssize_t at = 0;
    bool fine = given != NULL;

    if (given && given != Py_None) {
        dict = PyDict_New();
        fine = dict && PyDict_Update(dict, given) == 0;
        if (dict && !fine) {
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError, "%s must return a dict of numbers, got %R", method, given);
        }
    }
    while (fine && dict && PyDict_Next(dict, &at, &key, &value)) fine = add_value(out, method, key, value);
    Py_XDECREF(dict);
    Py_XDECREF(given);
    return fine ? CBX_OK : caught(b, err);
}

static cbx_status setup(cbx_ctx *ctx, void *self, cbx_err *err)
{
    (void)ctx;
    return call(self, "setup", err);
}
static cbx_status train(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err)
{
    (void)ctx;
    return values(self, "run_training", out, err);
}
static cbx_status evaluate(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err)
{
    (void)ctx;
    return values(self, "run_evaluation", out, err);
}
static cbx_status targets(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err)
{
    (void)ctx;
    return values(self, "get_performance_targets", out, err);
}
static cbx_status work(cbx_ctx *ctx, void *self, cbx_err *err)
{
    (void)ctx;
    return call(self, "work", err);
}
static void teardown(cbx_ctx *ctx, void *self)
{
    (void)ctx;
    (void)call(self, "teardown", NULL);
}

/* ---- a dataset: the library sees no arrays, run_batch gets what the dataset gave ---- */

static size_t length(const void *self)
{
    Py_ssize_t n = PyObject_Size(((const cx_bench *)self)->dataset);

    if (n >= 0) return (size_t)n;
    caught((cx_bench *)(uintptr_t)self, NULL);
    return 0;
}

static PyObject *examples(cx_bench *b, size_t size, size_t start)
{
    size_t n = length(b), end = start + size < n ? start + size : n;
    PyObject *list = PyList_New(0);

    for (size_t i = start; list && i < end; i++)
        if (!cx_append(list, PySequence_GetItem(b->dataset, (Py_ssize_t)i))) Py_CLEAR(list);
    return list;
}

/* Of an array its first extent, of a list or a tuple its length; -1: of anything else nothing is known.  Leaves no exception. */
static Py_ssize_t rows_of(PyObject *x)
{
    PyObject *shape = PyObject_GetAttrString(x, "shape");
    PyObject *extent = shape && PyTuple_Check(shape) && PyTuple_Size(shape) > 0 ? PyTuple_GetItem(shape, 0) : NULL;
    Py_ssize_t n = -1;

    if (extent)
        n = PyNumber_AsSsize_t(extent, NULL);
    else if (PyList_Check(x) || PyTuple_Check(x))
        n = PyObject_Size(x);
    Py_XDECREF(shape);
    PyErr_Clear();
    return n;
}

/* Throughput counts the examples asked for: the batch, or a part of it, has to hold them. */
static bool check_rows(PyObject *batch, Py_ssize_t wanted, size_t start)
{
    PyObject *parts = PyDict_Check(batch)                           ? PyDict_Values(batch)
                      : PyTuple_Check(batch) || PyList_Check(batch) ? PySequence_List(batch)
                                                                    : PyList_New(0);
    Py_ssize_t found = PyDict_Check(batch) ? -1 : rows_of(batch);
    bool there = found == wanted, is_known = false;

    for (Py_ssize_t i = 0; parts && i < PyList_Size(parts); i++) {
        Py_ssize_t n = rows_of(PyList_GetItem(parts, i));
        there = there || n == wanted;
        if (n >= 0 && !is_known) found = n, is_known = true;
    }
    Py_XDECREF(parts);
    if (!parts) return false;
    if (there || found < 0) return true;
    PyErr_Format(PyExc_ValueError, "the batch from example %zu on has %zd rows: get_batch must return %zd", start,
                 found, wanted);
    return false;
}

static PyObject *own_batch(cx_bench *b, size_t size, size_t start)
{
    PyObject *batch = PyObject_CallMethod(b->dataset, "get_batch", "nn", (Py_ssize_t)size, (Py_ssize_t)start);
    size_t n = batch ? length(b) : 0, end = start + size < n ? start + size : n;

    if (batch && !check_rows(batch, (Py_ssize_t)(end - start), start)) Py_CLEAR(batch);
    return batch;
}

static cbx_status get_batch(cbx_ctx *ctx, void *self, size_t size, size_t start, cbx_named_array *out, size_t capacity,
                            size_t *n, cbx_err *err)
{
    cx_bench *b = self;

    (void)ctx, (void)out, (void)capacity;
    Py_CLEAR(b->batch);
    b->batch = PyObject_HasAttrString(b->dataset, "get_batch") ? own_batch(b, size, start) : examples(b, size, start);
    *n = 0;
    return b->batch ? CBX_OK : caught(b, err);
}

static cbx_status get(cbx_ctx *ctx, void *self, size_t i, cbx_named_array *out, size_t capacity, size_t *n,
                      cbx_err *err)
{
    return get_batch(ctx, self, 1, i, out, capacity, n, err);
}

static cbx_status run_batch(cbx_ctx *ctx, void *self, const cbx_named_array *batch, size_t n, cbx_err *err)
{
    cx_bench *b = self;
    PyObject *r = PyObject_CallMethod(b->object, "run_batch", "(O)", b->batch);

    (void)ctx, (void)batch, (void)n;
    if (!r) return caught(b, err);
    Py_DECREF(r);
    return CBX_OK;
}

/* ---- making ---- */

static bool has(PyObject *o, const char *method)
{
    PyObject *m = PyObject_GetAttrString(o, method);
    bool callable = m && PyCallable_Check(m);

    if (!m) PyErr_Clear();
    Py_XDECREF(m);
    return callable;
}

/* An attribute that is text; NULL: none, no exception. */
static PyObject *text_of(PyObject *o, const char *name)
{
    PyObject *v = PyObject_GetAttrString(o, name);

    if (!v) PyErr_Clear();
    if (v && !PyUnicode_Check(v)) Py_CLEAR(v);
    return v;
}

static bool find_names(cx_bench *b, const char *name)
{
    b->name = name ? PyUnicode_FromString(name) : text_of(b->object, "name");
    if (!b->name && !PyErr_Occurred()) b->name = PyObject_GetAttrString((PyObject *)Py_TYPE(b->object), "__name__");
    b->domain = b->name ? text_of(b->object, "domain") : NULL;
    b->ops.name = b->name ? cx_text_of(b->name, "the name of a benchmark") : NULL;
    b->ops.domain = b->domain ? cx_text_of(b->domain, "the domain of a benchmark") : "";
    return b->ops.name && b->ops.domain;
}

static bool find_dataset(cx_bench *b)
{
    static const cbx_dataset_ops ops = { sizeof ops, CBX_DATASET_ABI, "dataset", length, get, get_batch };

    if (!has(b->object, "run_batch") || b->ops.work) return true;
    b->dataset = PyObject_GetAttrString(b->object, "dataset");
    if (!b->dataset) return false;
    b->dataset_ops = ops;
    b->ops.dataset = &b->dataset_ops;
    b->ops.run_batch = run_batch;
    return true;
}

bool cx_bench_make(cx_call *c, cx_bench *b, PyObject *object, const char *name)
{
    cbx_benchmark_ops checked;
    PyObject *defs;
    bool fine;

    *b = (cx_bench){ .object = Py_NewRef(object) };
    b->ops = (cbx_benchmark_ops){ .struct_size = sizeof b->ops, .abi = CBX_BENCHMARK_ABI };
    if (has(object, "setup")) b->ops.setup = setup;
    if (has(object, "run_training")) b->ops.run_training = train;
    if (has(object, "work")) b->ops.work = work;
    if (has(object, "run_evaluation")) b->ops.run_evaluation = evaluate;
    if (has(object, "teardown")) b->ops.teardown = teardown;
    if (has(object, "get_performance_targets")) b->ops.targets = targets;
    if (!find_names(b, name) || !find_dataset(b)) return false;
    defs = PyObject_GetAttrString(object, "metric_defs");
    if (!defs) PyErr_Clear();
    fine = cx_defs_arg(c, defs, &b->ops.metric_defs, &b->ops.nmetric_defs);
    Py_XDECREF(defs);
    if (!fine) return false;
    if (!b->ops.run_training && !b->ops.work && !b->ops.run_batch && !b->ops.run_evaluation)
        return cx_refuse(c, "benchmark", PyExc_TypeError,
                         "an object with run_training, run_evaluation, work or run_batch", object);
    return cx_fine(c, cbx_benchmark_ops_read(&b->ops, &checked, &c->err));
}

void cx_bench_clear(cx_bench *b)
{
    Py_CLEAR(b->object);
    Py_CLEAR(b->dataset);
    Py_CLEAR(b->batch);
    Py_CLEAR(b->name);
    Py_CLEAR(b->domain);
    Py_CLEAR(b->type);
    Py_CLEAR(b->value);
    Py_CLEAR(b->traceback);
}
