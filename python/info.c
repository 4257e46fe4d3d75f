/* finfo and iinfo, and what __array_namespace_info__ returns. */
#include "python/answers.h"

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

CX_RETURN(do_finfo, (cbx_finfo f; cbx_dtype t), dtype_of(c, &t),
          cx_answer(c, cbx_dtype_finfo(t, &f, &c->err), CX_FINFO, &f))

CX_RETURN(do_iinfo, (cbx_iinfo i; cbx_dtype t), dtype_of(c, &t),
          cx_answer(c, cbx_dtype_iinfo(t, &i, &c->err), CX_IINFO, &i))

CX_RETURN(do_info, (), cx_methods(cx_inquiry_methods, c->st->signatures, "array.__array_namespace_info__."),
          cx_namespace_new(c->st, "calibrax_c.array.__array_namespace_info__", cx_inquiry_methods))

/* clang-format off */
#define INFO_FUNCTIONS(X) \
    X(__array_namespace_info__, "", "Any", do_info, 0, "Capabilities, devices and dtypes of the namespace.\n\n>>> xp.__array_namespace_info__().default_device()\n'cpu'") \
    X(finfo, "type: DType | Array, /", "_finfo_result", do_finfo, 0, "Range and precision of a float dtype.\n\n>>> xp.finfo(xp.float32).bits\n32") \
    X(iinfo, "type: DType | Array, /", "_iinfo_result", do_iinfo, 0, "Range of an integer dtype.\n\n>>> xp.iinfo(xp.int8).max\n127")
/* clang-format on */
CX_FUNCTIONS(cx_info_methods, INFO_FUNCTIONS, LIGHT)

/* ---- the functions of __array_namespace_info__() ---- */

CX_VALUE(do_capabilities, (),
         Py_BuildValue("{s:O,s:O,s:i}", "boolean indexing", Py_True, "data-dependent shapes", Py_True, "max dimensions",
                       CBX_MAX_RANK))

CX_VALUE(do_default_device, (), PyUnicode_FromString("cpu"))

CX_VALUE(do_default_dtypes, (PyObject *const *t = c->st->dtypes),
         Py_BuildValue("{s:O,s:O,s:O,s:O}", "real floating", t[CBX_F64], "complex floating", t[CBX_C128], "integral",
                       t[CBX_I64], "indexing", t[CBX_I64]))

static PyObject *do_dtypes(cx_call *c)
{
    PyObject *d = PyDict_New();

    for (int t = 0; d && t < CBX_DTYPE_COUNT; t++) {
        int is = cx_arg(c, "kind") ? cx_is_dtype(c->st, (cbx_dtype)t, cx_arg(c, "kind")) : 1;
        if (is < 0 || (is && PyDict_SetItemString(d, cbx_dtype_name((cbx_dtype)t), c->st->dtypes[t]) < 0)) Py_CLEAR(d);
    }
    return d;
}

/* clang-format off */
#define INQUIRIES(X) \
    X(capabilities, "", "dict[str, Any]", do_capabilities, 0, "Optional capabilities that the namespace supports.\n\n>>> sorted(xp.__array_namespace_info__().capabilities())\n['boolean indexing', 'data-dependent shapes', 'max dimensions']") \
    X(default_device, "", "str", do_default_device, 0, "The default device of new arrays.\n\n>>> xp.__array_namespace_info__().default_device()\n'cpu'") \
    X(default_dtypes, "*, device: object = None", "dict[str, dtype]", do_default_dtypes, 0, "The default dtypes of new arrays.\n\n>>> xp.__array_namespace_info__().default_dtypes()['integral']\ncalibrax_c.array.int64") \
    X(devices, "", "list[str]", cx_do_devices, 0, "All devices.\n\n>>> xp.__array_namespace_info__().devices()[0]\n'cpu'") \
    X(dtypes, "*, device: object = None, kind: object = None", "dict[str, dtype]", do_dtypes, 0, "dtypes by name, all or those of a kind.\n\n>>> sorted(xp.__array_namespace_info__().dtypes(kind='complex floating'))\n['complex128', 'complex64']")
/* clang-format on */
CX_FUNCTIONS(cx_inquiry_methods, INQUIRIES, LIGHT)
