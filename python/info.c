/* finfo and iinfo, and what __array_namespace_info__ tells. */
#include "python/state.h"

bool cx_add_info(cx_state *st, PyObject *module)
{
    static PyStructSequence_Field floats[] = {
        { "bits", "bits of a number (of a complex one: of its parts)" },
        { "eps", "the step above 1" },
        { "max", "the greatest number" },
        { "min", "the least number" },
        { "smallest_normal", "the least positive number of full precision" },
        { "dtype", "the dtype" },
        { 0 },
    };
    static PyStructSequence_Field whole[] = {
        { "bits", "bits of a number" },
        { "max", "the greatest number" },
        { "min", "the least number" },
        { "dtype", "the dtype" },
        { 0 },
    };
    static PyStructSequence_Desc finfo = { "calibrax_c.array.finfo_result", "Range and precision of floats.", floats,
                                           6 };
    static PyStructSequence_Desc iinfo = { "calibrax_c.array.iinfo_result", "Range of integers.", whole, 4 };

    (void)module;
    st->finfo = PyStructSequence_NewType(&finfo);
    st->iinfo = st->finfo ? PyStructSequence_NewType(&iinfo) : NULL;
    return st->iinfo != NULL;
}

/* Fills the record with new references; NULL ones mean failure. */
static PyObject *record(PyTypeObject *type, int n, PyObject **fields)
{
    PyObject *r = PyStructSequence_New(type);
    bool fine = r != NULL;

    for (int i = 0; i < n; i++) {
        fine = fine && fields[i];
        if (r && fields[i])
            PyStructSequence_SetItem(r, i, fields[i]);
        else
            Py_XDECREF(fields[i]);
    }
    if (!fine) Py_CLEAR(r);
    return r;
}

/* The dtype of an array, or a dtype. */
static bool dtype_of(cx_call *c, cbx_dtype *t)
{
    PyObject *o = cx_arg(c, "type") ? cx_arg(c, "type") : Py_None;
    cx_operand v;

    if (!cx_is_array(c->st, o)) return cx_dtype_from(c->st, o, t);
    if (cx_operand_from(c, o, &v) < 0) return false;
    *t = cbx_array_dtype(v.array);
    return true;
}

static PyObject *do_finfo(cx_call *c)
{
    cbx_finfo f;
    cbx_dtype t;

    if (!dtype_of(c, &t)) return NULL;
    if (cbx_dtype_finfo(t, &f, &c->err)) return cx_raise(c->err.status, c->err.message);
    return record(c->st->finfo, 6,
                  (PyObject *[]){ PyLong_FromLong(f.bits), PyFloat_FromDouble(f.eps), PyFloat_FromDouble(f.max),
                                  PyFloat_FromDouble(f.min), PyFloat_FromDouble(f.smallest_normal),
                                  cx_dtype_object(c->st, f.dtype) });
}

static PyObject *do_iinfo(cx_call *c)
{
    cbx_iinfo i;
    cbx_dtype t;

    if (!dtype_of(c, &t)) return NULL;
    if (cbx_dtype_iinfo(t, &i, &c->err)) return cx_raise(c->err.status, c->err.message);
    return record(c->st->iinfo, 4,
                  (PyObject *[]){ PyLong_FromLong(i.bits), PyLong_FromUnsignedLongLong(i.max),
                                  PyLong_FromLongLong(i.min), cx_dtype_object(c->st, i.dtype) });
}

static PyObject *do_info(cx_call *c)
{
    return cx_methods(cx_inquiry_methods, c->st->signatures, "array.__array_namespace_info__.")
               ? cx_namespace_new(c->st, "calibrax_c.array.__array_namespace_info__", cx_inquiry_methods)
               : NULL;
}

/* clang-format off */
#define INFO_FUNCTIONS(X) \
    X(__array_namespace_info__, "", "Any", do_info, 0, "What the namespace has: capabilities, devices, dtypes.") \
    X(finfo, "type: DType | Array, /", "_finfo_result", do_finfo, 0, "Range and precision of a float dtype.") \
    X(iinfo, "type: DType | Array, /", "_iinfo_result", do_iinfo, 0, "Range of a whole-number dtype.")
/* clang-format on */
CX_FUNCTIONS(cx_info_methods, INFO_FUNCTIONS)

/* ---- the functions of __array_namespace_info__() ---- */

static PyObject *do_capabilities(cx_call *c)
{
    (void)c;
    return Py_BuildValue("{s:O,s:O,s:i}", "boolean indexing", Py_True, "data-dependent shapes", Py_True,
                         "max dimensions", CBX_MAX_RANK);
}

static PyObject *do_default_device(cx_call *c)
{
    (void)c;
    return PyUnicode_FromString("cpu");
}

static PyObject *do_default_dtypes(cx_call *c)
{
    PyObject *const *t = c->st->dtypes;

    if (!cx_device_arg(c, "device")) return NULL;
    return Py_BuildValue("{s:O,s:O,s:O,s:O}", "real floating", t[CBX_F64], "complex floating", t[CBX_C128], "integral",
                         t[CBX_I64], "indexing", t[CBX_I64]);
}

static PyObject *do_dtypes(cx_call *c)
{
    PyObject *d;

    if (!cx_device_arg(c, "device")) return NULL;
    d = PyDict_New();
    for (int t = 0; d && t < CBX_DTYPE_COUNT; t++) {
        int is = cx_arg(c, "kind") ? cx_is_dtype(c->st, (cbx_dtype)t, cx_arg(c, "kind")) : 1;
        if (is < 0 || (is && PyDict_SetItemString(d, cbx_dtype_name((cbx_dtype)t), c->st->dtypes[t]) < 0)) Py_CLEAR(d);
    }
    return d;
}

/* clang-format off */
#define INQUIRIES(X) \
    X(capabilities, "", "dict[str, Any]", do_capabilities, 0, "What may be used beyond the least.") \
    X(default_device, "", "str", do_default_device, 0, "Where arrays are made.") \
    X(default_dtypes, "*, device: object = None", "dict[str, dtype]", do_default_dtypes, 0, "dtypes of arrays made without a word about it.") \
    X(devices, "", "list[str]", cx_do_devices, 0, "All devices.") \
    X(dtypes, "*, device: object = None, kind: object = None", "dict[str, dtype]", do_dtypes, 0, "dtypes by name, all or of a kind.")
/* clang-format on */
CX_FUNCTIONS(cx_inquiry_methods, INQUIRIES)
