/* Free-form values between Python and the library's JSON. */
#include <stdio.h>
#include <string.h>

#include "python/records.h"

#define MAX_DEPTH 60

static cbx_json *from(PyObject *o, const char *path, int depth, bool *none);

static cbx_json *no_memory(cbx_json *v)
{
    cbx_json_unref(v);
    PyErr_NoMemory();
    return NULL;
}

static bool push(cbx_json *list, PyObject *item, const char *path, int depth)
{
    bool none = false;
    cbx_json *v = from(item, path, depth + 1, &none);

    if (!v && !none) return false;
    if (none ? cbx_json_push_null(list) : cbx_json_push(list, v)) return true;
    return PyErr_NoMemory() != NULL;
}

static cbx_json *from_sequence(PyObject *o, const char *path, int depth)
{
    cbx_json *list = cbx_json_new_array();
    Py_ssize_t n = PySequence_Size(o);

    if (!list) return no_memory(NULL);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(o, i);
        bool fine = item && push(list, item, path, depth);
        Py_XDECREF(item);
        if (fine) continue;
        cbx_json_unref(list);
        return NULL;
    }
    return list;
}

static bool set_member(cbx_json *object, PyObject *key, PyObject *value, const char *path, int depth)
{
    const char *name;
    bool none = false;
    cbx_json *v;

    if (!PyUnicode_Check(key)) return PyErr_Format(PyExc_TypeError, "%s: keys must be text, got %R", path, key) != NULL;
    name = cx_text_of(key, "a key");
    if (!name) return false;
    v = from(value, name, depth + 1, &none);
    if (!v && !none) return false;
    if (none ? cbx_json_set_null(object, name) : cbx_json_set(object, name, v)) return true;
    return PyErr_NoMemory() != NULL;
}

static cbx_json *from_dict(PyObject *o, const char *path, int depth)
{
    cbx_json *object = cbx_json_new_object();
    PyObject *copy = PyDict_Copy(o), *key, *value; /* to_dict() of a member may change o */
    bool fine = object && copy;
    Py_ssize_t at = 0;

    if (!object) PyErr_NoMemory();
    while (fine && PyDict_Next(copy, &at, &key, &value)) fine = set_member(object, key, value, path, depth);
    Py_XDECREF(copy);
    if (fine) return object;
    cbx_json_unref(object);
    return NULL;
}

/* An object that converts itself: to_dict() of records, item() of array scalars. */
static cbx_json *from_method(PyObject *o, const char *path, int depth, bool *none)
{
    static const char *const methods[] = { "to_dict", "item" };

    for (size_t i = 0; i < CBX_LEN(methods); i++) {
        PyObject *v;
        cbx_json *json;
        if (!PyObject_HasAttrString(o, methods[i])) continue;
        v = PyObject_CallMethod(o, methods[i], NULL);
        if (!v) return NULL;
        json = from(v, path, depth + 1, none);
        Py_DECREF(v);
        return json;
    }
    PyErr_Format(PyExc_TypeError, "%s: %R cannot be kept: numbers, text, lists, dicts and None can", path,
                 (PyObject *)Py_TYPE(o));
    return NULL;
}

/* Integers from -2^63 to 2^64 - 1 are exact; those that int64 does not hold travel as text. */
static cbx_json *from_number(PyObject *o, const char *path)
{
    cbx_json *v = NULL;
    char text[24];
    int over = 0;

    if (PyFloat_Check(o)) return cbx_json_new_double(PyFloat_AsDouble(o));
    long long number = PyLong_AsLongLongAndOverflow(o, &over);
    if (!over) return PyErr_Occurred() ? NULL : cbx_json_new_int(number);
    unsigned long long large = over > 0 ? PyLong_AsUnsignedLongLong(o) : 0;
    if (over < 0 || PyErr_Occurred())
        return PyErr_Format(PyExc_OverflowError, "%s: the number has more than 64 bits: write it as text or a float",
                            path),
               NULL;
    cbx_json_parse(text, (size_t)snprintf(text, sizeof text, "%llu", large), path, &v, NULL);
    return v;
}

static PyObject *integer_object(const cbx_json *v)
{
    PyObject *number = NULL;
    cbx_text text;

    if (cbx_json_int_value(v) < INT64_MAX) return PyLong_FromLongLong(cbx_json_int_value(v));
    cbx_text_init(&text, cbx_allocator_default());
    cbx_json_write(v, 0, &text);
    number = text.status ? PyErr_NoMemory() : PyLong_FromString(cbx_text_str(&text), NULL, 10);
    cbx_text_clear(&text);
    return number;
}

static cbx_json *from(PyObject *o, const char *path, int depth, bool *none)
{
    cbx_json *v = NULL;

    if (depth > MAX_DEPTH) {
        PyErr_Format(PyExc_ValueError, "%s is nested too deeply", path);
        return NULL;
    }
    if (o == Py_None) {
        *none = true;
        return NULL;
    }
    if (PyDict_Check(o)) return from_dict(o, path, depth);
    if (PyList_Check(o) || PyTuple_Check(o)) return from_sequence(o, path, depth);
    if (PyBool_Check(o)) {
        v = cbx_json_new_bool(o == Py_True);
    } else if (PyUnicode_Check(o)) {
        const char *s = cx_text_of(o, path);
        v = s ? cbx_json_new_string(s) : NULL;
    } else if (PyFloat_Check(o) || PyLong_Check(o)) {
        v = from_number(o, path);
    } else {
        return from_method(o, path, depth, none);
    }
    return v || PyErr_Occurred() ? v : no_memory(NULL);
}

cbx_json *cx_json_from(PyObject *o, const char *path, bool *none)
{
    bool unused = false;
    return from(o, path, 0, none ? none : &unused);
}

/* ---- the other way ---- */

static PyObject *list_object(const cbx_json *v)
{
    size_t n = cbx_json_length(v);
    PyObject *list = PyList_New((Py_ssize_t)n);

    for (size_t i = 0; list && i < n; i++) {
        PyObject *item = cx_json_object(cbx_json_at(v, i));
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *dict_object(const cbx_json *v)
{
    PyObject *dict = PyDict_New();
    const char *key;
    cbx_json *value;

    for (size_t i = 0; dict && cbx_json_member(v, i, &key, &value); i++)
        if (!cx_put(dict, key, cx_json_object(value))) Py_CLEAR(dict);
    return dict;
}

PyObject *cx_json_object(const cbx_json *v)
{
    switch (cbx_json_typeof(v)) {
    case CBX_JSON_BOOL: return PyBool_FromLong(cbx_json_bool_value(v));
    case CBX_JSON_INT: return integer_object(v);
    case CBX_JSON_DOUBLE: return PyFloat_FromDouble(cbx_json_double_value(v));
    case CBX_JSON_STRING: return PyUnicode_FromString(cbx_json_string_value(v));
    case CBX_JSON_ARRAY: return list_object(v);
    case CBX_JSON_OBJECT: return dict_object(v);
    case CBX_JSON_NULL: break;
    }
    Py_RETURN_NONE;
}

PyObject *cx_json_answer(cbx_json *v)
{
    PyObject *o = v ? cx_json_object(v) : PyErr_NoMemory();

    cbx_json_unref(v);
    return o;
}
