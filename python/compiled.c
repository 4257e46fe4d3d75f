/* calibrax_c.profiling.CompilationProfiler: calls of a Python function by the signature that a compiler would see. */
#include <math.h>
#include <string.h>

#include "python/objects.h"

/* What the object keeps: the function, how to wait for what it gives, and which arguments count by their values. */
enum { FUNCTION, SYNC, STATIC };

static PyObject *part(const cx_object *t, Py_ssize_t i) { return PyTuple_GetItem(t->kept, i); }

/* ---- signatures ---- */

enum { MAX_DEPTH = 32 };

static bool describe(PyObject *o, PyObject *words, int depth);

static bool describe_sequence(PyObject *o, PyObject *words, int depth)
{
    PyObject *list = PySequence_Tuple(o);
    bool fine = list && cx_append(words, PyUnicode_FromString("("));

    for (Py_ssize_t i = 0; fine && i < PyTuple_Size(list); i++)
        fine = describe(PyTuple_GetItem(list, i), words, depth + 1);
    Py_XDECREF(list);
    return fine && cx_append(words, PyUnicode_FromString(")"));
}

static bool describe_dict(PyObject *o, PyObject *words, int depth)
{
    PyObject *items = PyMapping_Items(o);
    bool fine = items && cx_append(words, PyUnicode_FromString("{"));

    for (Py_ssize_t i = 0; fine && i < PyList_Size(items); i++) {
        PyObject *pair = PyList_GetItem(items, i);
        fine = cx_append(words, PyUnicode_FromFormat("%R:", PyTuple_GetItem(pair, 0))) &&
               describe(PyTuple_GetItem(pair, 1), words, depth + 1);
    }
    Py_XDECREF(items);
    return fine && cx_append(words, PyUnicode_FromString("}"));
}

/* "float32(3, 4)" of what has dtype and shape; 0: o has none of it, -1 with an exception. */
static int describe_array(PyObject *o, PyObject *words)
{
    PyObject *dtype = PyObject_HasAttrString(o, "shape") ? PyObject_GetAttrString(o, "dtype") : NULL;
    PyObject *shape = dtype ? PyObject_GetAttrString(o, "shape") : NULL, *tuple = NULL;
    PyObject *weak = shape && PyObject_HasAttrString(o, "weak_type") ? PyObject_GetAttrString(o, "weak_type") : NULL;
    int is = 0;

    PyErr_Clear();
    if (shape) {
        tuple = PySequence_Tuple(shape);
        is = tuple && cx_append(words, PyUnicode_FromFormat("%S%S%s", dtype, tuple, weak == Py_True ? "~" : "")) ? 1
                                                                                                                 : -1;
    }
    Py_XDECREF(tuple);
    Py_XDECREF(weak);
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    return is;
}

/* Numbers are traced, so their types count; text and None are not, so their values do. */
static bool describe(PyObject *o, PyObject *words, int depth)
{
    int is;

    if (depth > MAX_DEPTH) {
        PyErr_SetString(PyExc_ValueError, "CompilationProfiler: the arguments are nested too deeply");
        return false;
    }
    if (o == Py_None || PyUnicode_Check(o) || PyBytes_Check(o)) return cx_append(words, PyObject_Repr(o));
    if (PyTuple_Check(o) || PyList_Check(o)) return describe_sequence(o, words, depth);
    if (PyDict_Check(o)) return describe_dict(o, words, depth);
    is = describe_array(o, words);
    if (is) return is > 0;
    return cx_append(words, PyObject_GetAttrString((PyObject *)Py_TYPE(o), "__qualname__"));
}

static bool describe_argument(const cx_object *t, PyObject *key, PyObject *value, PyObject *words)
{
    int fixed = PySequence_Contains(part(t, STATIC), key);

    if (fixed < 0) return false;
    return fixed ? cx_append(words, PyUnicode_FromFormat("=%R", value)) : describe(value, words, 0);
}

/* The text of a call; NULL with an exception. */
static PyObject *signature_of(const cx_object *t, PyObject *args, PyObject *kw)
{
    PyObject *words = PyList_New(0), *space = PyUnicode_FromString(" "), *text, *key, *value;
    bool fine = words && space;
    Py_ssize_t at = 0;

    for (Py_ssize_t i = 0; fine && i < PyTuple_Size(args); i++) {
        PyObject *place = PyLong_FromSsize_t(i);
        fine = place && describe_argument(t, place, PyTuple_GetItem(args, i), words);
        Py_XDECREF(place);
    }
    while (fine && kw && PyDict_Next(kw, &at, &key, &value))
        fine = cx_append(words, PyUnicode_FromFormat("%U:", key)) && describe_argument(t, key, value, words);
    text = fine ? PyUnicode_Join(space, words) : NULL;
    Py_XDECREF(words);
    Py_XDECREF(space);
    return text;
}

/* ---- calls ---- */

/* What a device still works on is waited for; false with an exception. */
static bool wait_for(const cx_object *t, PyObject *result)
{
    PyObject *sync = part(t, SYNC), *r;

    if (sync != Py_None)
        r = PyObject_CallFunctionObjArgs(sync, result, NULL);
    else if (PyObject_HasAttrString(result, "block_until_ready"))
        r = PyObject_CallMethod(result, "block_until_ready", NULL);
    else
        return true;
    Py_XDECREF(r);
    return r != NULL;
}

static PyObject *compilation_call(PyObject *self, PyObject *args, PyObject *kw)
{
    cx_object *t = (cx_object *)self;
    PyObject *signature = signature_of(t, args, kw), *r;
    const char *text = signature ? cx_text_of(signature, "the signature of a call") : NULL;
    cbx_err err = CBX_ERR_INIT;
    uint64_t start;

    if (!text) {
        Py_XDECREF(signature);
        return NULL;
    }
    start = cbx_clock_ns();
    r = PyObject_Call(part(t, FUNCTION), args, kw);
    if (r && !wait_for(t, r)) Py_CLEAR(r);
    if (r && cbx_compilation_record(t->handle, text, 1e-9 * (double)(cbx_clock_ns() - start), &err)) {
        cx_raise(err.status, err.message);
        Py_CLEAR(r);
    }
    Py_DECREF(signature);
    return r;
}

static PyObject *static_of(PyObject *given)
{
    if (!given || given == Py_None) return PyTuple_New(0);
    if (PyUnicode_Check(given) || PyLong_Check(given)) return PyTuple_Pack(1, given);
    return PySequence_Tuple(given);
}

static PyObject *compilation_make(cx_call *c)
{
    PyObject *function = NULL, *sync = NULL, *fixed;
    cbx_compilation *book = NULL;
    cbx_status status;
    cx_object *t;

    if (!CX_GET(c, function, sync)) return NULL;
    if (!function) return PyErr_Format(PyExc_TypeError, "CompilationProfiler: 'function' has to be callable, not None");
    fixed = static_of(cx_arg(c, "static"));
    if (!fixed) return NULL;
    t = cx_object_new(c->st, CX_COMPILATION);
    if (t) t->kept = PyTuple_Pack(3, function, sync ? sync : Py_None, fixed);
    Py_DECREF(fixed);
    if (!t || !t->kept) {
        Py_XDECREF((PyObject *)t);
        return NULL;
    }
    status = cbx_compilation_open(t->ctx, &book, &c->err);
    t->handle = book;
    return cx_object_made(t, status, &c->err);
}

CX_DO(compilation_report, cbx_compilation, (cbx_compilation_report out), (),
      (cbx_compilation_see(self, &out), cx_answer_object(c->st, CX_COMPILATION_REPORT, &out)))

static PyObject *compilation_signatures(cx_call *c)
{
    cx_object *t = cx_object_self(c);
    PyObject *list = t ? PyList_New(0) : NULL, *tuple;
    cbx_compiled_signature s;

    for (size_t i = 0; list && cbx_compilation_signature(t->handle, i, &s); i++)
        if (!cx_append(list, cx_answer_object(c->st, CX_SIGNATURE, &s))) Py_CLEAR(list);
    tuple = list ? PySequence_Tuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

CX_DO(compilation_reset, cbx_compilation, (), (), (cbx_compilation_reset(self), Py_NewRef(Py_None)))

/* clang-format off */
#define COMPILATION(X) \
    X(report, "/", "CompilationReport", compilation_report, 0, "Calls, hits, misses, what compiling costs, and what to do about it.\n\n>>> f = profiling.CompilationProfiler(abs)\n>>> y = f(-1)\n>>> f.report().calls\n1") \
    X(signatures, "/", "int", compilation_signatures, 0, "A Signature for each set of dtypes and shapes, in the order of their first calls.\n\n>>> f = profiling.CompilationProfiler(abs)\n>>> y = f(-1)\n>>> f.signatures()[0].text\n'int'") \
    X(reset, "/", "None", compilation_reset, 0, "Forgets all calls; what is compiled stays compiled.\n\n>>> f = profiling.CompilationProfiler(abs)\n>>> f.reset()")
CX_CALLABLE_TYPE(compilation, compilation, COMPILATION, "profiling", CompilationProfiler, "function: Callable[..., Any], *, sync: Callable[[Any], object] | None = None, static: int | str | Sequence[int | str] | None = None", cbx_compilation_free, compilation_call,
    "Called in the place of a function that is compiled on first use (jax.jit, torch.compile, numba), and distinguishes its calls by the dtypes and shapes of all arguments. The first call of a signature less the later ones is what compiling costs. Results with block_until_ready() are waited for, or sync(result) is called. static: names or places of arguments whose values count.")
/* clang-format on */
