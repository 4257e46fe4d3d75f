/* The namespace linalg: the extension of the standard, and lstsq, triangular_solve, which it lacks. */
#include <math.h>
#include <string.h>

#include "python/state.h"

typedef cbx_array *(*one_fn)(cbx_ctx *, const cbx_array *);
typedef cbx_array *(*two_fn)(cbx_ctx *, const cbx_array *, const cbx_array *);

bool cx_add_linalg(cx_state *st, PyObject *module)
{
    static PyStructSequence_Field eigh[] = { { "eigenvalues", "ascending" }, { "eigenvectors", "in columns" }, { 0 } };
    static PyStructSequence_Field qr[] = { { "Q", "orthonormal columns" }, { "R", "upper triangle" }, { 0 } };
    static PyStructSequence_Field slogdet[] = { { "sign", "of the determinant" },
                                                { "logabsdet", "logarithm of its magnitude" },
                                                { 0 } };
    static PyStructSequence_Field svd[] = {
        { "U", "left vectors" }, { "S", "singular values, descending" }, { "Vh", "right vectors" }, { 0 }
    };
    static PyStructSequence_Field lstsq[] = { { "x", "the solution" },
                                              { "residuals", "sums of squares left" },
                                              { "rank", "of the matrix" },
                                              { "S", "its singular values" },
                                              { 0 } };
    static PyStructSequence_Desc descs[] = {
        { "calibrax_c.array.linalg.eigh_result", "Eigenvalues and vectors.", eigh, 2 },
        { "calibrax_c.array.linalg.qr_result", "QR factors.", qr, 2 },
        { "calibrax_c.array.linalg.slogdet_result", "A determinant.", slogdet, 2 },
        { "calibrax_c.array.linalg.svd_result", "Singular value decomposition.", svd, 3 },
        { "calibrax_c.array.linalg.lstsq_result", "Least squares.", lstsq, 4 },
    };
    PyTypeObject **const types[] = { &st->eigh, &st->qr, &st->slogdet, &st->svd, &st->lstsq };

    (void)module;
    for (size_t i = 0; i < CBX_LEN(descs); i++)
        if (!(*types[i] = PyStructSequence_NewType(&descs[i]))) return false;
    return true;
}

static PyObject *of_one(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");

    return x && cx_begin(c) ? cx_result(c, ((one_fn)c->fn)(c->ctx, x)) : NULL;
}

static PyObject *of_two(cx_call *c)
{
    const cbx_array *a = cx_array_arg(c, "x1"), *b = a ? cx_array_arg(c, "x2") : NULL;

    return b && cx_begin(c) ? cx_result(c, ((two_fn)c->fn)(c->ctx, a, b)) : NULL;
}

static PyObject *do_cholesky(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    bool upper = false;

    if (!x || !CX_GET(c, upper) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_cholesky(c->ctx, x, upper));
}

static PyObject *do_cross(cx_call *c)
{
    const cbx_array *a = cx_array_arg(c, "x1"), *b = a ? cx_array_arg(c, "x2") : NULL;
    int axis = -1;

    if (!b || !cx_axis_arg(c, "axis", &axis, NULL)) return NULL;
    return cx_begin(c) ? cx_result(c, cbx_cross(c->ctx, a, b, axis)) : NULL;
}

static PyObject *do_diagonal(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    int64_t offset;

    if (!x || !CX_GET(c, offset) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_diagonal(c->ctx, x, (ptrdiff_t)offset));
}

static PyObject *do_trace(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    cbx_dtype dtype = CBX_DTYPE_COUNT;
    int64_t offset;

    if (!x || !CX_GET(c, offset, dtype) || !cx_begin(c)) return NULL;
    if (dtype == CBX_DTYPE_COUNT) return cx_result(c, cbx_trace(c->ctx, x, (ptrdiff_t)offset));
    return cx_result(c, cbx_astype(c->ctx, cbx_trace(c->ctx, cbx_astype(c->ctx, x, dtype), (ptrdiff_t)offset), dtype));
}

static PyObject *do_eigh(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    cbx_eigh_parts p;

    if (!x || !cx_begin(c)) return NULL;
    p = cbx_eigh(c->ctx, x);
    return cx_record(c, c->st->eigh, 2, (cbx_array *[]){ p.values, p.vectors });
}

static PyObject *do_qr(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    cbx_qr_parts p;
    int mode;

    if (!x || !CX_GET(c, mode) || !cx_begin(c)) return NULL;
    p = cbx_qr(c->ctx, x, mode == 1);
    return cx_record(c, c->st->qr, 2, (cbx_array *[]){ p.q, p.r });
}

static PyObject *do_slogdet(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    cbx_slogdet_parts p;

    if (!x || !cx_begin(c)) return NULL;
    p = cbx_slogdet(c->ctx, x);
    return cx_record(c, c->st->slogdet, 2, (cbx_array *[]){ p.sign, p.logabsdet });
}

static PyObject *do_svd(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    bool full_matrices = true;
    cbx_svd_parts p;

    if (!x || !CX_GET(c, full_matrices) || !cx_begin(c)) return NULL;
    p = cbx_svd(c->ctx, x, full_matrices);
    return cx_record(c, c->st->svd, 3, (cbx_array *[]){ p.u, p.s, p.vh });
}

static PyObject *with_tolerance(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x"), *rtol = NULL;

    return x && CX_GET(c, rtol) && cx_begin(c) ? cx_result(c, ((two_fn)c->fn)(c->ctx, x, rtol)) : NULL;
}

static PyObject *do_lstsq(cx_call *c)
{
    const cbx_array *a = cx_array_arg(c, "x1"), *b = a ? cx_array_arg(c, "x2") : NULL, *rtol = NULL;
    cbx_lstsq_parts p;

    if (!b || !CX_GET(c, rtol) || !cx_begin(c)) return NULL;
    p = cbx_lstsq(c->ctx, a, b, rtol);
    return cx_record(c, c->st->lstsq, 4, (cbx_array *[]){ p.x, p.residuals, p.rank, p.s });
}

static PyObject *do_triangular_solve(cx_call *c)
{
    const cbx_array *a = cx_array_arg(c, "x1"), *b = a ? cx_array_arg(c, "x2") : NULL;
    bool upper, transpose, adjoint, unit;

    if (!b || !CX_GET(c, upper, transpose, adjoint, unit) || !cx_begin(c)) return NULL;
    return cx_result(
        c, cbx_triangular_solve(c->ctx, a, b,
                                (upper ? CBX_TRIANGLE_UPPER : 0u) | (transpose ? CBX_TRIANGLE_TRANSPOSE : 0u) |
                                    (adjoint ? CBX_TRIANGLE_ADJOINT : 0u) | (unit ? CBX_TRIANGLE_UNIT : 0u)));
}

static PyObject *do_matrix_power(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    int64_t n = 0;

    if (!x || !CX_GET(c, n) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_matrix_power(c->ctx, x, n));
}

/* ---- norms ---- */

static bool matrix_ord(PyObject *o, cbx_matrix_ord *out)
{
    const struct {
        double number;
        cbx_matrix_ord ord;
    } by[] = { { 1, CBX_ORD_1 },        { -1, CBX_ORD_MINUS_1 },           { 2, CBX_ORD_2 },
               { -2, CBX_ORD_MINUS_2 }, { (double)INFINITY, CBX_ORD_INF }, { -(double)INFINITY, CBX_ORD_MINUS_INF } };

    if (!o) return true;
    *out = CBX_ORD_COUNT;
    if (PyUnicode_Check(o)) {
        if (PyUnicode_CompareWithASCIIString(o, "fro") == 0) *out = CBX_ORD_FRO;
        if (PyUnicode_CompareWithASCIIString(o, "nuc") == 0) *out = CBX_ORD_NUC;
    } else if (PyNumber_Check(o)) {
        double v = PyFloat_AsDouble(o);
        for (size_t i = 0; i < CBX_LEN(by); i++)
            if (v == by[i].number) *out = by[i].ord;
        PyErr_Clear();
    }
    if (*out == CBX_ORD_COUNT)
        PyErr_Format(PyExc_ValueError, "matrix_norm: ord may be 'fro', 'nuc', 1, 2, inf or one of these less, not %R",
                     o);
    return *out != CBX_ORD_COUNT;
}

static PyObject *do_matrix_norm(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    cbx_matrix_ord ord = CBX_ORD_FRO;
    bool keepdims = false;

    if (!x || !CX_GET(c, keepdims) || !matrix_ord(cx_arg(c, "ord"), &ord) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_matrix_norm(c->ctx, x, ord, keepdims));
}

static PyObject *do_vector_norm(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    bool keepdims = false;
    double ord = 2;
    cbx_axes axes;

    if (!x || !CX_GET(c, keepdims) || !cx_axes_arg(c, "axis", x, keepdims, &axes) || !CX_GET(c, ord)) return NULL;
    return cx_begin(c) ? cx_result(c, cbx_vector_norm(c->ctx, x, ord, &axes)) : NULL;
}

/* clang-format off */
#define LINALG(X) \
    X(cholesky, "x: Array, /, *, upper: bool = False", "Array", do_cholesky, 0, "Triangular factor of a positive definite matrix.") \
    X(cross, "x1: Operand, x2: Operand, /, *, axis: int = -1", "Array", do_cross, 0, "Vector product.") \
    X(det, "x: Array, /", "Array", of_one, cbx_det, "Determinant.") \
    X(diagonal, "x: Array, /, *, offset: offset = 0", "Array", do_diagonal, 0, "Elements on a diagonal.") \
    X(eigh, "x: Array, /", "_eigh_result", do_eigh, 0, "Eigenvalues and vectors of a Hermitian matrix.") \
    X(eigvalsh, "x: Array, /", "Array", of_one, cbx_eigvalsh, "Eigenvalues of a Hermitian matrix.") \
    X(inv, "x: Array, /", "Array", of_one, cbx_inv, "Inverse.") \
    X(lstsq, "x1: Operand, x2: Operand, /, *, rtol: float | Array | None = None", "_lstsq_result", do_lstsq, 0, "The shortest solution of least squares.") \
    X(matrix_norm, "x: Array, /, *, keepdims: bool = False, ord: float | str = 'fro'", "Array", do_matrix_norm, 0, "Norm of matrices.") \
    X(matrix_power, "x: Array, n: int, /", "Array", do_matrix_power, 0, "A matrix multiplied n times.") \
    X(matrix_rank, "x: Array, /, *, rtol: float | Array | None = None", "Array", with_tolerance, cbx_matrix_rank, "Number of singular values above a tolerance.") \
    X(pinv, "x: Array, /, *, rtol: float | Array | None = None", "Array", with_tolerance, cbx_pinv, "Pseudo-inverse.") \
    X(qr, "x: Array, /, *, mode: 'reduced' | 'complete' = 'reduced'", "_qr_result", do_qr, 0, "QR factors.") \
    X(slogdet, "x: Array, /", "_slogdet_result", do_slogdet, 0, "Sign and logarithm of the determinant.") \
    X(solve, "x1: Operand, x2: Operand, /", "Array", of_two, cbx_solve, "Solution of x1 x = x2.") \
    X(svd, "x: Array, /, *, full_matrices: bool = True", "_svd_result", do_svd, 0, "Singular value decomposition.") \
    X(svdvals, "x: Array, /", "Array", of_one, cbx_svdvals, "Singular values.") \
    X(trace, "x: Array, /, *, offset: offset = 0, dtype: DType | None = None", "Array", do_trace, 0, "Sum of a diagonal.") \
    X(triangular_solve, "x1: Operand, x2: Operand, /, *, upper: bool = False, transpose: bool = False, adjoint: bool = False, unit: bool = False", "Array", do_triangular_solve, 0, "Solution of x1 x = x2 for a triangular x1.") \
    X(vector_norm, "x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: float | str = 2", "Array", do_vector_norm, 0, "Norm of vectors.")
/* clang-format on */
CX_FUNCTIONS(cx_linalg_methods, LINALG)
