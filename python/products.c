/* Products of arrays. */
#include "python/state.h"

typedef cbx_array *(*product_fn)(cbx_ctx *, const cbx_array *, const cbx_array *);

static PyObject *product(cx_call *c, cx_fn fn)
{
    const cbx_array *a = cx_array_arg(c, 0), *b = a ? cx_array_arg(c, 1) : NULL;

    return b && cx_begin(c) ? cx_result(c, ((product_fn)fn)(c->ctx, a, b)) : NULL;
}

static PyObject *do_matrix_transpose(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0);

    (void)fn;
    return x && cx_begin(c) ? cx_result(c, cbx_matrix_transpose(c->ctx, x)) : NULL;
}

static PyObject *do_vecdot(cx_call *c, cx_fn fn)
{
    const cbx_array *a = cx_array_arg(c, 0), *b = a ? cx_array_arg(c, 1) : NULL;
    int axis = -1;

    (void)fn;
    if (!b || !cx_axis_arg(c, 2, &axis, NULL)) return NULL;
    return cx_begin(c) ? cx_result(c, cbx_vecdot(c->ctx, a, b, axis)) : NULL;
}

/* The last n axes of a with the first n of b, or two sequences of axes. */
static bool contracted(cx_call *c, const cbx_array *a, const cbx_array *b, int *n, int *in_a, int *in_b)
{
    ptrdiff_t v[2][CBX_MAX_RANK];
    int many[2];
    int64_t count = 2;

    if (!c->arg[2] || (PyIndex_Check(c->arg[2]) && !PySequence_Check(c->arg[2]))) {
        if (!cx_int_arg(c, 2, &count)) return false;
        if (count < 0 || count > cbx_array_ndim(a) || count > cbx_array_ndim(b))
            return cx_raise(CBX_EINVAL, "tensordot: there are not as many axes to contract") != NULL;
        *n = (int)count;
        for (int k = 0; k < *n; k++) {
            in_a[k] = cbx_array_ndim(a) - *n + k;
            in_b[k] = k;
        }
        return true;
    }
    if (PySequence_Size(c->arg[2]) != 2) {
        PyErr_SetString(PyExc_ValueError, "tensordot: axes are a number, or two sequences of axes");
        return false;
    }
    for (int i = 0; i < 2; i++) {
        PyObject *o = PySequence_GetItem(c->arg[2], i);
        bool fine = o && cx_ints_from(c, o, "axes", CBX_MAX_RANK, &many[i], v[i]);
        Py_XDECREF(o);
        if (!fine) return false;
    }
    *n = many[0];
    for (int k = 0; k < *n; k++) {
        in_a[k] = (int)v[0][k];
        in_b[k] = (int)v[1][k];
    }
    if (many[0] == many[1]) return true;
    return cx_raise(CBX_EINVAL, "tensordot: the sequences of axes are not of one length") != NULL;
}

static PyObject *do_tensordot(cx_call *c, cx_fn fn)
{
    const cbx_array *a = cx_array_arg(c, 0), *b = a ? cx_array_arg(c, 1) : NULL;
    int n = 0, in_a[CBX_MAX_RANK], in_b[CBX_MAX_RANK];

    (void)fn;
    if (!b || !contracted(c, a, b, &n, in_a, in_b) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_tensordot(c->ctx, a, b, n, in_a, in_b));
}

/* clang-format off */
#define PRODUCTS(X) \
    X(matmul, "x1, x2, /", product, cbx_matrix_product, "Matrix product; leading axes broadcast.") \
    X(matrix_transpose, "x, /", do_matrix_transpose, 0, "The last two axes swapped.") \
    X(outer, "x1, x2, /", product, cbx_outer, "Products of all pairs.") \
    X(tensordot, "x1, x2, /, *, axes=2", do_tensordot, 0, "Sum of products over pairs of axes.") \
    X(vecdot, "x1, x2, /, *, axis=-1", do_vecdot, 0, "Sum of conj(x1) * x2 along an axis.")
/* clang-format on */
CX_FUNCTIONS(cx_product_methods, PRODUCTS)
