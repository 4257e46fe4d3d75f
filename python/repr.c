/* An Array as text: cbx_array_format, with its shape where there are no elements, and its dtype. */
#include <stdio.h>
#include <string.h>

#include "python/state.h"

static PyObject *text_of(cx_state *st, const cbx_array *a, size_t indent)
{
    CX_OWN_ARRAY cbx_array *here = cx_here(st, a);
    CX_TEXT(text);

    if (!here) return NULL;
    cbx_array_format(here, indent, &text);
    return text.status ? PyErr_NoMemory() : PyUnicode_FromStringAndSize(cbx_text_str(&text), (Py_ssize_t)text.len);
}

PyObject *cx_str(PyObject *self)
{
    CX_OWN_ARRAY cbx_array *a = cbx_array_ref(((cx_array *)self)->handle);
    return text_of(cx_state_of_instance(self), a, 0);
}

PyObject *cx_repr(PyObject *self)
{
    CX_OWN_ARRAY cbx_array *a = cbx_array_ref(((cx_array *)self)->handle);
    char device[48] = "", word[32];
    CX_OWN PyObject *text = text_of(cx_state_of_instance(self), a, strlen("Array(")), *shape = NULL;

    if (cx_is_elsewhere(a))
        snprintf(device, sizeof device, ", device='%s'", cbx_device_id_text(cbx_array_device(a), word, sizeof word));
    if (text && cbx_array_count(a) == 0 && !cbx_array_is_abstract(a)) shape = cx_shape_tuple(a);
    if (PyErr_Occurred()) return NULL;
    if (cbx_array_is_abstract(a))
        return PyUnicode_FromFormat("Array(%U, %s)", text, cbx_array_is_taken(a) ? "donated" : "traced");
    if (shape)
        return PyUnicode_FromFormat("Array(%U, shape=%R, dtype=%s%s)", text, shape, cbx_dtype_name(cbx_array_dtype(a)),
                                    device);
    return PyUnicode_FromFormat("Array(%U, dtype=%s%s)", text, cbx_dtype_name(cbx_array_dtype(a)), device);
}
