/* An Array as text: cbx_array_format, with its shape where there are no elements, and its dtype. */
#include <stdio.h>
#include <string.h>

#include "python/state.h"

static PyObject *text_of(cx_state *st, const cbx_array *a, size_t indent)
{
    cbx_array *here = cx_here(st, a);
    PyObject *s = NULL;
    cbx_text text;

    if (!here) return NULL;
    cbx_text_init(&text, cbx_allocator_default());
    cbx_array_format(here, indent, &text);
    cbx_array_free(here);
    s = text.status ? PyErr_NoMemory() : PyUnicode_FromStringAndSize(cbx_text_str(&text), (Py_ssize_t)text.len);
    cbx_text_clear(&text);
    return s;
}

PyObject *cx_str(PyObject *self)
{
    cbx_array *a = cbx_array_ref(((cx_array *)self)->handle);
    PyObject *s = text_of(cx_state_of_instance(self), a, 0);

    cbx_array_free(a);
    return s;
}

PyObject *cx_repr(PyObject *self)
{
    cbx_array *a = cbx_array_ref(((cx_array *)self)->handle);
    char device[48] = "", word[32];
    PyObject *text = text_of(cx_state_of_instance(self), a, strlen("Array(")), *shape = NULL, *s = NULL;

    if (cx_is_elsewhere(a))
        snprintf(device, sizeof device, ", device='%s'", cbx_device_id_text(cbx_array_device(a), word, sizeof word));
    if (text && cbx_array_count(a) == 0 && !cbx_array_is_abstract(a)) shape = cx_shape_tuple(a);
    if (text && cbx_array_is_abstract(a))
        s = PyUnicode_FromFormat("Array(%U, %s)", text, cbx_array_is_taken(a) ? "donated" : "traced");
    else if (shape)
        s = PyUnicode_FromFormat("Array(%U, shape=%R, dtype=%s%s)", text, shape, cbx_dtype_name(cbx_array_dtype(a)),
                                 device);
    else if (text && !PyErr_Occurred())
        s = PyUnicode_FromFormat("Array(%U, dtype=%s%s)", text, cbx_dtype_name(cbx_array_dtype(a)), device);
    Py_XDECREF(text);
    Py_XDECREF(shape);
    cbx_array_free(a);
    return s;
}
