/* Free-form values between Python and the library's JSON, by way of its text: Python's json reads
 * and writes the same numbers. */
#include "python/records.h"

cbx_json *cx_json_from(PyObject *o, const char *path)
{
    CX_OWN PyObject *text = o == Py_None ? NULL : cx_python("_values", "to_json", "Os", o, path);
    cbx_err err = CBX_ERR_INIT;
    cbx_json *v = NULL;
    Py_ssize_t length;
    const char *s = text ? PyUnicode_AsUTF8AndSize(text, &length) : NULL;

    if (s && cbx_json_parse(s, (size_t)length, path, &v, &err)) cx_raise(err.status, err.message);
    return v;
}

PyObject *cx_json_object(const cbx_json *v)
{
    CX_TEXT(text);

    if (!v) Py_RETURN_NONE;
    cbx_json_write(v, 0, &text);
    return text.status ? PyErr_NoMemory()
                       : cx_python("_values", "from_json", "s#", cbx_text_str(&text), (Py_ssize_t)text.len);
}

PyObject *cx_json_answer(cbx_json *v)
{
    CX_OWN_JSON cbx_json *owned = v;
    return v ? cx_json_object(v) : PyErr_NoMemory();
}
