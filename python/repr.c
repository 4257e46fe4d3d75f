/* An Array as text: nested brackets, shortest numbers that read back to the same bits, aligned, the middle of long axes left out. */
#include <stdlib.h>
#include <string.h>

#include "python/state.h"

enum { SHOW_ALL = 1000, EDGE = 3, LINE = 75 };

typedef struct writer {
    const cbx_array *a;
    PyObject *parts; /* list of str, joined at the end */
    size_t column;   /* characters on the line so far */
    size_t width;    /* of an element: shorter ones get blanks on the left */
    bool shorten, measuring;
} writer;

static bool put(writer *w, PyObject *s)
{
    if (w->measuring) {
        Py_XDECREF(s);
        return s != NULL;
    }
    bool fine = s && PyList_Append(w->parts, s) == 0;
    if (fine) w->column += (size_t)PyUnicode_GetLength(s);
    Py_XDECREF(s);
    return fine;
}
static bool put_text(writer *w, const char *s) { return put(w, PyUnicode_FromString(s)); }

static bool new_line(writer *w, int depth, size_t indent)
{
    char spaces[64];
    size_t n = indent + (size_t)depth;

    n = n < sizeof spaces ? n : sizeof spaces - 1;
    memset(spaces, ' ', n);
    spaces[n] = 0;
    if (!put_text(w, "\n") || !put_text(w, spaces)) return false;
    w->column = n;
    return true;
}

/* The shortest decimal that gives the same float32. */
static PyObject *short_float32(float f)
{
    char *text = NULL;
    PyObject *s;

    for (int digits = 1; digits <= 9; digits++) {
        PyMem_Free(text);
        text = PyOS_double_to_string((double)f, 'g', digits, Py_DTSF_ADD_DOT_0, NULL);
        if (!text || strtof(text, NULL) == f || f != f) break;
    }
    if (text && f == f) { /* those digits laid out as Python does: 3.0, not 3e+00 */
        double shown = strtod(text, NULL);
        PyMem_Free(text);
        text = PyOS_double_to_string(shown, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    }
    s = text ? PyUnicode_FromString(text) : NULL;
    PyMem_Free(text);
    return s;
}

static PyObject *element_text(cbx_dtype t, const void *p)
{
    PyObject *v, *s;
    float f;

    if (t == CBX_F32) {
        memcpy(&f, p, sizeof f);
        return short_float32(f);
    }
    v = cx_element(t, p);
    s = v ? PyObject_Repr(v) : NULL;
    Py_XDECREF(v);
    return s;
}

static bool put_element(writer *w, const void *p)
{
    PyObject *s = element_text(cbx_array_dtype(w->a), p);
    size_t n = s ? (size_t)PyUnicode_GetLength(s) : 0;

    if (w->measuring && n > w->width) w->width = n;
    for (; s && !w->measuring && n < w->width; n++)
        if (!put_text(w, " ")) Py_CLEAR(s);
    return put(w, s);
}

static bool write_axis(writer *w, int axis, const char *p, size_t indent)
{
    size_t n = cbx_array_dim(w->a, axis), bytes = cbx_dtype_size(cbx_array_dtype(w->a));
    bool inner = axis == cbx_array_ndim(w->a) - 1;

    if (axis == cbx_array_ndim(w->a)) return put_element(w, p);
    if (!put_text(w, "[")) return false;
    for (size_t i = 0; i < n; i++) {
        bool wrap = i > 0 && (!inner || w->column > LINE);
        if (i > 0 && !put_text(w, inner && !wrap ? ", " : ",")) return false;
        if (wrap && !new_line(w, axis + 1, indent)) return false;
        if (w->shorten && n > 2 * EDGE + 1 && i == EDGE) {
            if (!put_text(w, "...")) return false;
            i = n - EDGE - 1;
            continue;
        }
        if (!write_axis(w, axis + 1, p + (ptrdiff_t)i * cbx_array_strides(w->a)[axis] * (ptrdiff_t)bytes, indent))
            return false;
    }
    return put_text(w, "]");
}

static PyObject *text_of(const cbx_array *a, size_t indent)
{
    writer w = { .a = a, .parts = PyList_New(0), .column = indent, .shorten = cbx_array_count(a) > SHOW_ALL };
    PyObject *empty = PyUnicode_FromString(""), *all = NULL;

    bool fine = w.parts && empty;

    w.measuring = true;
    fine = fine && write_axis(&w, 0, cbx_array_data(a), indent);
    w.measuring = false;
    w.column = indent;
    if (fine && write_axis(&w, 0, cbx_array_data(a), indent)) all = PyUnicode_Join(empty, w.parts);
    Py_XDECREF(w.parts);
    Py_XDECREF(empty);
    return all;
}

PyObject *cx_str(PyObject *self)
{
    cbx_array *a = cbx_array_ref(((cx_array *)self)->handle);
    PyObject *s = text_of(a, 0);

    cbx_array_free(a);
    return s;
}

PyObject *cx_repr(PyObject *self)
{
    cbx_array *a = cbx_array_ref(((cx_array *)self)->handle);
    PyObject *text = text_of(a, strlen("Array(")), *shape = NULL, *s = NULL;

    if (text && cbx_array_count(a) == 0) shape = cx_shape_tuple(a);
    if (shape)
        s = PyUnicode_FromFormat("Array(%U, shape=%R, dtype=%s)", text, shape, cbx_dtype_name(cbx_array_dtype(a)));
    else if (text && !PyErr_Occurred())
        s = PyUnicode_FromFormat("Array(%U, dtype=%s)", text, cbx_dtype_name(cbx_array_dtype(a)));
    Py_XDECREF(text);
    Py_XDECREF(shape);
    cbx_array_free(a);
    return s;
}
