/* Tuples with names, finfo and iinfo, and what __array_namespace_info__ returns. */
#include "python/state.h"

#define VALUES                                                                                                         \
    {                                                                                                                  \
        "values", "distinct values"                                                                                    \
    }
#define COUNTS                                                                                                         \
    {                                                                                                                  \
        "counts", "how often each occurs"                                                                              \
    }
#define INVERSE                                                                                                        \
    {                                                                                                                  \
        "inverse_indices", "which of the values each element is"                                                       \
    }
#define DTYPE                                                                                                          \
    {                                                                                                                  \
        "dtype", "the dtype"                                                                                           \
    }

static struct {
    const char *name, *doc;
    PyStructSequence_Field fields[7]; /* the first without a name ends them */
} tuples[CX_TUPLE_COUNT] = {
    [CX_FINFO] = { "calibrax_c.array.finfo_result",
                   "Range and precision of a float dtype.",
                   { { "bits", "bits of a number (of a complex one: of its parts)" },
                     { "eps", "the step above 1" },
                     { "max", "the maximum" },
                     { "min", "the minimum" },
                     { "smallest_normal", "the smallest positive number of full precision" },
                     DTYPE } },
    [CX_IINFO] = { "calibrax_c.array.iinfo_result",
                   "Range of an integer dtype.",
                   { { "bits", "bits of a number" }, { "max", "the maximum" }, { "min", "the minimum" }, DTYPE } },
    [CX_UNIQUE_ALL] = { "calibrax_c.array.unique_all_result",
                        "Distinct values.",
                        { VALUES, { "indices", "first index of each" }, INVERSE, COUNTS } },
    [CX_UNIQUE_COUNTS] = { "calibrax_c.array.unique_counts_result", "Distinct values.", { VALUES, COUNTS } },
    [CX_UNIQUE_INVERSE] = { "calibrax_c.array.unique_inverse_result", "Distinct values.", { VALUES, INVERSE } },
    [CX_EIGH] = { "calibrax_c.array.linalg.eigh_result",
                  "Eigenvalues and eigenvectors.",
                  { { "eigenvalues", "ascending" }, { "eigenvectors", "in columns" } } },
    [CX_QR] = { "calibrax_c.array.linalg.qr_result",
                "QR factors.",
                { { "Q", "orthonormal columns" }, { "R", "upper triangle" } } },
    [CX_SLOGDET] = { "calibrax_c.array.linalg.slogdet_result",
                     "A determinant.",
                     { { "sign", "of the determinant" }, { "logabsdet", "logarithm of its magnitude" } } },
    [CX_SVD] = { "calibrax_c.array.linalg.svd_result",
                 "Singular value decomposition.",
                 { { "U", "left vectors" }, { "S", "singular values, descending" }, { "Vh", "right vectors" } } },
    [CX_LSTSQ] = { "calibrax_c.array.linalg.lstsq_result",
                   "Least squares.",
                   { { "x", "the solution" },
                     { "residuals", "sums of squares left" },
                     { "rank", "of the matrix" },
                     { "S", "its singular values" } } },
};

bool cx_add_tuples(cx_state *st)
{
    for (int k = 0; k < CX_TUPLE_COUNT; k++) {
        PyStructSequence_Desc desc = { tuples[k].name, tuples[k].doc, tuples[k].fields, 0 };
        while (desc.fields[desc.n_in_sequence].name) desc.n_in_sequence++;
        if (!(st->tuples[k] = PyStructSequence_NewType(&desc))) return false;
    }
    return true;
}

/* Takes over the references of the fields; NULL ones mean failure. */
static PyObject *record(cx_call *c, cx_tuple_kind kind, int n, PyObject **fields)
{
    PyObject *r = PyStructSequence_New(c->st->tuples[kind]);
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

PyObject *cx_record(cx_call *c, cx_tuple_kind kind, size_t n, cbx_array **arrays)
{
    PyObject *fields[4];

    if (!cx_keep(c, n, arrays)) return NULL;
    for (size_t i = 0; i < n; i++) fields[i] = cx_array_new(c->st, arrays[i]);
    return record(c, kind, (int)n, fields);
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
    return record(c, CX_FINFO, 6,
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
    return record(c, CX_IINFO, 4,
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
    X(__array_namespace_info__, "", "Any", do_info, 0, "What the namespace has: capabilities, devices, dtypes.\n\n>>> xp.__array_namespace_info__().default_device()\n'cpu'") \
    X(finfo, "type: DType | Array, /", "_finfo_result", do_finfo, 0, "Range and precision of a float dtype.\n\n>>> xp.finfo(xp.float32).bits\n32") \
    X(iinfo, "type: DType | Array, /", "_iinfo_result", do_iinfo, 0, "Range of an integer dtype.\n\n>>> xp.iinfo(xp.int8).max\n127")
/* clang-format on */
CX_FUNCTIONS(cx_info_methods, INFO_FUNCTIONS, CX_LIGHT)

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

    return Py_BuildValue("{s:O,s:O,s:O,s:O}", "real floating", t[CBX_F64], "complex floating", t[CBX_C128], "integral",
                         t[CBX_I64], "indexing", t[CBX_I64]);
}

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
    X(capabilities, "", "dict[str, Any]", do_capabilities, 0, "What the namespace supports beyond the minimum.\n\n>>> sorted(xp.__array_namespace_info__().capabilities())\n['boolean indexing', 'data-dependent shapes', 'max dimensions']") \
    X(default_device, "", "str", do_default_device, 0, "Where arrays are made.\n\n>>> xp.__array_namespace_info__().default_device()\n'cpu'") \
    X(default_dtypes, "*, device: object = None", "dict[str, dtype]", do_default_dtypes, 0, "dtypes of arrays made without one.\n\n>>> xp.__array_namespace_info__().default_dtypes()['integral']\ncalibrax_c.array.int64") \
    X(devices, "", "list[str]", cx_do_devices, 0, "All devices.\n\n>>> xp.__array_namespace_info__().devices()[0]\n'cpu'") \
    X(dtypes, "*, device: object = None, kind: object = None", "dict[str, dtype]", do_dtypes, 0, "dtypes by name, all or of a kind.\n\n>>> sorted(xp.__array_namespace_info__().dtypes(kind='complex floating'))\n['complex128', 'complex64']")
/* clang-format on */
CX_MORE_FUNCTIONS(cx_inquiry_methods, INQUIRIES)
