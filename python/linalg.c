/* The namespace linalg: the extension of the standard, and lstsq, triangular_solve, which it
 * lacks. */
#include <math.h>

#include "python/state.h"

#define TRIANGLE                                                                                                       \
    (upper ? CBX_TRIANGLE_UPPER : 0u) | (transpose ? CBX_TRIANGLE_TRANSPOSE : 0u) |                                    \
        (adjoint ? CBX_TRIANGLE_ADJOINT : 0u) | (unit ? CBX_TRIANGLE_UNIT : 0u)
#define TRACE(x) cbx_trace(c->ctx, x, (ptrdiff_t)offset)

CX_FORMULA(of_one, CX_FN(const cbx_array *)(c->ctx, x), x)
CX_FORMULA(of_two, CX_FN(const cbx_array *, const cbx_array *)(c->ctx, x1, x2), x1, x2)
CX_FORMULA(with_tolerance, CX_FN(const cbx_array *, const cbx_array *)(c->ctx, x, rtol), x, rtol)
CX_FORMULA(do_cholesky, cbx_cholesky(c->ctx, x, upper), x, upper)
CX_FORMULA(do_cross, cbx_cross(c->ctx, x1, x2, axis.value), x1, x2, axis)
CX_FORMULA(do_diagonal, cbx_diagonal(c->ctx, x, (ptrdiff_t)offset), x, offset)
CX_FORMULA(do_trace,
           dtype == CBX_DTYPE_COUNT ? TRACE(x) : cbx_astype(c->ctx, TRACE(cbx_astype(c->ctx, x, dtype)), dtype), x,
           offset, dtype)
CX_FORMULA(do_matrix_power, cbx_matrix_power(c->ctx, x, n), x, n)
CX_FORMULA(do_triangular_solve, cbx_triangular_solve(c->ctx, x1, x2, TRIANGLE), x1, x2, upper, transpose, adjoint, unit)

/* Several results, as a tuple with names. */
#define PARTS(name, kind, parts, formula, arguments, ...)                                                              \
    static PyObject *name(cx_call *c)                                                                                  \
    {                                                                                                                  \
        CX_VARIABLES                                                                                                   \
        parts p_;                                                                                                      \
        if (!CX_GET(c, CX_BARE arguments) || !cx_begin(c)) return NULL;                                                \
        p_ = formula;                                                                                                  \
        cbx_array *all[] = { __VA_ARGS__ };                                                                            \
        return cx_record(c, kind, CBX_LEN(all), all);                                                                  \
    }
PARTS(do_eigh, CX_EIGH, cbx_eigh_parts, cbx_eigh(c->ctx, x), (x), p_.values, p_.vectors)
PARTS(do_qr, CX_QR, cbx_qr_parts, cbx_qr(c->ctx, x, mode == 1), (x, mode), p_.q, p_.r)
PARTS(do_slogdet, CX_SLOGDET, cbx_slogdet_parts, cbx_slogdet(c->ctx, x), (x), p_.sign, p_.logabsdet)
PARTS(do_svd, CX_SVD, cbx_svd_parts, cbx_svd(c->ctx, x, full_matrices), (x, full_matrices), p_.u, p_.s, p_.vh)
PARTS(do_lstsq, CX_LSTSQ, cbx_lstsq_parts, cbx_lstsq(c->ctx, x1, x2, rtol), (x1, x2, rtol), p_.x, p_.residuals, p_.rank,
      p_.s)

/* ---- norms ---- */

static bool matrix_ord(cx_call *c, cbx_matrix_ord *out)
{
    PyObject *o = cx_arg(c, "ord");
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
    if (*out != CBX_ORD_COUNT) return true;
    return cx_refuse(c, "ord", PyExc_ValueError, "'fro', 'nuc', 1, -1, 2, -2, inf or -inf", o);
}

CX_RETURN(do_matrix_norm, (cbx_matrix_ord ord = CBX_ORD_FRO; const cbx_array *x; bool keepdims),
          CX_GET(c, x, keepdims) && matrix_ord(c, &ord) && cx_begin(c),
          cx_result(c, cbx_matrix_norm(c->ctx, x, ord, keepdims)))

CX_RETURN(do_vector_norm, (const cbx_array *x; cbx_axes axis; double ord), CX_GET(c, x, axis, ord) && cx_begin(c),
          cx_result(c, cbx_vector_norm(c->ctx, x, ord, &axis)))

/* clang-format off */
#define LINALG(X) \
    X(cholesky, "x: Array, /, *, upper: bool = False", "Array", do_cholesky, 0, "Triangular factor of a positive definite matrix.\n\n>>> xp.linalg.cholesky(xp.asarray([[4.0, 0.0], [0.0, 1.0]]))\nArray([[2.0, 0.0],\n       [0.0, 1.0]], dtype=float64)") \
    X(det, "x: Array, /", "Array", of_one, cbx_det, "Determinant.\n\n>>> xp.linalg.det(xp.asarray([[4.0, 0.0], [0.0, 1.0]]))\nArray(4.0, dtype=float64)") \
    X(eigh, "x: Array, /", "_eigh_result", do_eigh, 0, "Eigenvalues and eigenvectors of a Hermitian matrix.\n\n>>> xp.linalg.eigh(xp.eye(2)).eigenvalues\nArray([1.0, 1.0], dtype=float64)") \
    X(eigvalsh, "x: Array, /", "Array", of_one, cbx_eigvalsh, "Eigenvalues of a Hermitian matrix.\n\n>>> xp.linalg.eigvalsh(xp.asarray([[4.0, 0.0], [0.0, 1.0]]))\nArray([1.0, 4.0], dtype=float64)") \
    X(inv, "x: Array, /", "Array", of_one, cbx_inv, "Inverse.\n\n>>> xp.linalg.inv(xp.asarray([[4.0, 0.0], [0.0, 1.0]]))\nArray([[0.25,  0.0],\n       [ 0.0,  1.0]], dtype=float64)") \
    X(lstsq, "x1: Operand, x2: Operand, /, *, rtol: float | Array | None = None", "_lstsq_result", do_lstsq, 0, "Least-squares solution of minimum norm.\n\n>>> xp.linalg.lstsq(xp.eye(2), xp.ones(2)).x\nArray([1.0, 1.0], dtype=float64)") \
    X(matrix_norm, "x: Array, /, *, keepdims: bool = False, ord: float | str = 'fro'", "Array", do_matrix_norm, 0, "Norm of matrices.\n\n>>> xp.linalg.matrix_norm(xp.asarray([[4.0, 0.0], [0.0, 1.0]]))\nArray(4.123105625617661, dtype=float64)") \
    X(matrix_power, "x: Array, n: int, /", "Array", do_matrix_power, 0, "Matrix to the power n.\n\n>>> xp.linalg.matrix_power(xp.asarray([[1, 1], [0, 1]]), 3)\nArray([[1, 3],\n       [0, 1]], dtype=int64)") \
    X(matrix_rank, "x: Array, /, *, rtol: float | Array | None = None", "Array", with_tolerance, cbx_matrix_rank, "Number of singular values above a tolerance.\n\n>>> xp.linalg.matrix_rank(xp.asarray([[4.0, 0.0], [0.0, 1.0]]))\nArray(2, dtype=int64)") \
    X(pinv, "x: Array, /, *, rtol: float | Array | None = None", "Array", with_tolerance, cbx_pinv, "Pseudo-inverse.\n\n>>> xp.linalg.pinv(xp.asarray([[4.0, 0.0], [0.0, 1.0]]))\nArray([[0.25,  0.0],\n       [ 0.0,  1.0]], dtype=float64)") \
    X(qr, "x: Array, /, *, mode: 'reduced' | 'complete' = 'reduced'", "_qr_result", do_qr, 0, "QR factors.\n\n>>> xp.linalg.qr(xp.eye(2)).R.shape\n(2, 2)") \
    X(slogdet, "x: Array, /", "_slogdet_result", do_slogdet, 0, "Sign and logarithm of the determinant.\n\n>>> xp.linalg.slogdet(xp.eye(2)).sign\nArray(1.0, dtype=float64)") \
    X(solve, "x1: Operand, x2: Operand, /", "Array", of_two, cbx_solve, "Solution of x1 x = x2.\n\n>>> xp.linalg.solve(2 * xp.eye(2), xp.asarray([2.0, 4.0]))\nArray([1.0, 2.0], dtype=float64)") \
    X(svd, "x: Array, /, *, full_matrices: bool = True", "_svd_result", do_svd, 0, "Singular value decomposition.\n\n>>> xp.linalg.svd(xp.eye(2)).S\nArray([1.0, 1.0], dtype=float64)") \
    X(svdvals, "x: Array, /", "Array", of_one, cbx_svdvals, "Singular values.\n\n>>> xp.linalg.svdvals(xp.asarray([[4.0, 0.0], [0.0, 1.0]]))\nArray([4.0, 1.0], dtype=float64)") \
    X(triangular_solve, "x1: Operand, x2: Operand, /, *, upper: bool = False, transpose: bool = False, adjoint: bool = False, unit: bool = False", "Array", do_triangular_solve, 0, "Solution of x1 x = x2 for a triangular x1.\n\n>>> xp.linalg.triangular_solve(xp.asarray([[2.0, 0.0], [0.0, 1.0]]), xp.ones((2, 1)))\nArray([[0.5],\n       [1.0]], dtype=float64)")
#define VECTORS(X) \
    X(cross, "x1: Operand, x2: Operand, /, *, axis: int = -1", "Array", do_cross, 0, "Cross product.\n\n>>> xp.linalg.cross(xp.asarray([1, 0, 0]), xp.asarray([0, 1, 0]))\nArray([0, 0, 1], dtype=int64)") \
    X(diagonal, "x: Array, /, *, offset: offset = 0", "Array", do_diagonal, 0, "Elements on a diagonal.\n\n>>> xp.linalg.diagonal(xp.asarray([[4.0, 0.0], [0.0, 1.0]]))\nArray([4.0, 1.0], dtype=float64)") \
    X(trace, "x: Array, /, *, offset: offset = 0, dtype: DType | None = None", "Array", do_trace, 0, "Sum of a diagonal.\n\n>>> xp.linalg.trace(xp.asarray([[4.0, 0.0], [0.0, 1.0]]))\nArray(5.0, dtype=float64)") \
    X(vector_norm, "x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: float | str = 2", "Array", do_vector_norm, 0, "Norm of vectors.\n\n>>> xp.linalg.vector_norm(xp.asarray([[4.0, 0.0], [0.0, 1.0]]))\nArray(4.123105625617661, dtype=float64)")
/* clang-format on */
CX_FUNCTIONS(cx_linalg_methods, LINALG, HEAVY)
CX_FUNCTIONS(cx_vector_methods, VECTORS, LIGHT) /* each element once */
