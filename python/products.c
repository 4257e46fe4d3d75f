/* Products of arrays. */
#include "python/state.h"

typedef cbx_array *(*product_fn)(cbx_ctx *, const cbx_array *, const cbx_array *);

static PyObject *product(cx_call *c)
{
    const cbx_array *a = cx_array_arg(c, "x1"), *b = a ? cx_array_arg(c, "x2") : NULL;

    return b && cx_begin(c) ? cx_result(c, ((product_fn)c->fn)(c->ctx, a, b)) : NULL;
}

static PyObject *do_matrix_transpose(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");

    return x && cx_begin(c) ? cx_result(c, cbx_matrix_transpose(c->ctx, x)) : NULL;
}

static PyObject *do_vecdot(cx_call *c)
{
    const cbx_array *a = cx_array_arg(c, "x1"), *b = a ? cx_array_arg(c, "x2") : NULL;
    int axis = -1;

    if (!b || !cx_axis_arg(c, "axis", &axis, NULL)) return NULL;
    return cx_begin(c) ? cx_result(c, cbx_vecdot(c->ctx, a, b, axis)) : NULL;
}

/* The last n axes of a with the first n of b, or two sequences of axes. */
static bool contracted(cx_call *c, const cbx_array *a, const cbx_array *b, int *n, int *in_a, int *in_b)
{
    PyObject *pair = cx_arg(c, "axes");
    ptrdiff_t v[2][CBX_MAX_RANK];
    int many[2];
    int64_t axes;

    if (!pair || (PyIndex_Check(pair) && !PySequence_Check(pair))) {
        if (!CX_GET(c, axes)) return false;
        if (axes < 0 || axes > cbx_array_ndim(a) || axes > cbx_array_ndim(b))
            return cx_raise(CBX_EINVAL, "tensordot: there are not as many axes to contract") != NULL;
        *n = (int)axes;
        for (int k = 0; k < *n; k++) {
            in_a[k] = cbx_array_ndim(a) - *n + k;
            in_b[k] = k;
        }
        return true;
    }
    if (PySequence_Size(pair) != 2) {
        PyErr_SetString(PyExc_ValueError, "tensordot: axes are a number, or two sequences of axes");
        return false;
    }
    for (int i = 0; i < 2; i++) {
        PyObject *o = PySequence_GetItem(pair, i);
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

static PyObject *do_tensordot(cx_call *c)
{
    const cbx_array *a = cx_array_arg(c, "x1"), *b = a ? cx_array_arg(c, "x2") : NULL;
    int n = 0, in_a[CBX_MAX_RANK], in_b[CBX_MAX_RANK];

    if (!b || !contracted(c, a, b, &n, in_a, in_b) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_tensordot(c->ctx, a, b, n, in_a, in_b));
}

/* clang-format off */
#define PRODUCTS(X) \
    X(matmul, "x1: Operand, x2: Operand, /", "Array", product, cbx_matrix_product, "Matrix product; leading axes broadcast.") \
    X(matrix_transpose, "x: Array, /", "Array", do_matrix_transpose, 0, "The last two axes swapped.") \
    X(outer, "x1: Operand, x2: Operand, /", "Array", product, cbx_outer, "Products of all pairs.") \
    X(tensordot, "x1: Operand, x2: Operand, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2", "Array", do_tensordot, 0, "Sum of products over pairs of axes.") \
    X(vecdot, "x1: Operand, x2: Operand, /, *, axis: int = -1", "Array", do_vecdot, 0, "Sum of conj(x1) * x2 along an axis.")
/* clang-format on */
CX_FUNCTIONS(cx_product_methods, PRODUCTS)
