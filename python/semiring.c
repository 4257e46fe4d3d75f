/* calibrax_c.array.semiring: products and convolutions over an algebra, sparse matrices in ELL
 * form, and their derivatives. */

#include "python/objects.h"

/* ---- arguments ---- */

/* Of the argument algebra, one of the words of ALGEBRA. */
static const cbx_semiring *algebra_arg(cx_call *c)
{
    static const char *const names[] = {
        "real", "log", "tropical_max_plus", "tropical_min_plus", "euclidean", "boolean"
    };
    int algebra;

    return CX_GET(c, algebra) ? cbx_semiring_find(names[algebra]) : NULL;
}

/* An integer for all axes, or one for each of n; false with an exception. */
static bool sizes_arg(cx_call *c, const char *name, int n, size_t *out)
{
    PyObject *o = cx_arg(c, name);
    cx_ints ints;

    if (!o) return true;
    if (!cx_read_ints(c, name, o, &ints)) return false;
    if (PyIndex_Check(o))
        for (ints.n = 1; ints.n < n; ints.n++) ints.v[ints.n] = ints.v[0];
    if (ints.n != n)
        return cx_refused(PyExc_ValueError, "%s: '%s' must be an integer or %d of them, got %R", c->name, name, n, o);
    for (int i = 0; i < n; i++) {
        if (ints.v[i] < 1) return cx_refuse(c, name, PyExc_ValueError, "at least 1", o);
        out[i] = (size_t)ints.v[i];
    }
    return true;
}

/* padding: 'valid', 'same', or a pair (before, after) for each axis. */
static bool padding_arg(cx_call *c, int n, cbx_conv_options *out)
{
    PyObject *o = cx_arg(c, "padding");

    if (!o || (PyUnicode_Check(o) && PyUnicode_CompareWithASCIIString(o, "valid") == 0)) return true;
    if (PyUnicode_Check(o) && PyUnicode_CompareWithASCIIString(o, "same") == 0) {
        out->padding = CBX_CONV_SAME;
        return true;
    }
    CX_OWN PyObject *pairs = PyUnicode_Check(o) || !PySequence_Check(o) ? NULL : PySequence_Tuple(o);
    if (!pairs || PyTuple_Size(pairs) != n)
        return cx_refused(PyExc_ValueError, "%s: 'padding' must be 'valid', 'same' or %d pairs (before, after), got %R",
                          c->name, n, o);
    out->padding = CBX_CONV_EXPLICIT;
    for (int i = 0; i < n; i++) {
        ptrdiff_t v[2] = { -1, -1 };
        int count = 0;
        if (!cx_ints_from(c, "padding", PyTuple_GetItem(pairs, i), "pairs of integers", 2, &count, v)) return false;
        if (count != 2 || v[0] < 0 || v[1] < 0)
            return cx_refuse(c, "padding", PyExc_ValueError, "pairs of integers of at least 0", o);
        out->low[i] = (size_t)v[0];
        out->high[i] = (size_t)v[1];
    }
    return true;
}

static bool conv_options(cx_call *c, const cbx_array *w, cbx_conv_options *out)
{
    int n = cbx_array_ndim(w) - 2;

    if (n < 1 || n > CBX_CONV_MAX_AXES)
        return cx_refused(PyExc_ValueError, "%s: 'w' must have from 3 to %d axes, got %d", c->name,
                          CBX_CONV_MAX_AXES + 2, n + 2);
    return padding_arg(c, n, out) && sizes_arg(c, "stride", n, out->stride) &&
           sizes_arg(c, "dilation", n, out->dilation);
}

/* ---- dense ---- */

/* VJP, JVP and products: CX_FORMULA over an algebra s and options o of the weights w. */
#define OVER(name, options, formula, ...)                                                                              \
    static PyObject *name(cx_call *c)                                                                                  \
    {                                                                                                                  \
        CX_UNUSED const cbx_array *a = NULL, *b = NULL, *x = NULL, *w = NULL, *out = NULL, *cotangent = NULL,          \
                                  *tangent_a = NULL, *tangent_b = NULL, *tangent_x = NULL, *tangent_w = NULL;          \
        CX_UNUSED cbx_conv_options o = CBX_CONV_INIT;                                                                  \
        const cbx_semiring *s = algebra_arg(c);                                                                        \
        CX_UNUSED cbx_array *d[2];                                                                                     \
        return s != NULL && CX_GET(c, __VA_ARGS__) && (options) && cx_begin(c) ? (formula) : NULL;                     \
    }

CX_RETURN(do_matmul,
          (cbx_semiring_options o = CBX_SEMIRING_OPTIONS_INIT; const cbx_semiring *s = algebra_arg(c);
           const cbx_array *a, *b),
          s != NULL && CX_GET(c, a, b, o.merge, o.mask, o.mask_complement, o.raw) && cx_begin(c),
          cx_result(c, cbx_semiring_matmul_with(c->ctx, a, b, s, &o)))

#define SLIDES conv_options(c, w, &o)
OVER(do_matmul_vjp, true, (cbx_semiring_matmul_vjp(c->ctx, a, b, out, cotangent, s, d), cx_results(c, 2, d, true)), a,
     b, out, cotangent)
OVER(do_matmul_jvp, true, cx_result(c, cbx_semiring_matmul_jvp(c->ctx, a, b, out, tangent_a, tangent_b, s)), a, b, out,
     tangent_a, tangent_b)
OVER(do_conv, SLIDES, cx_result(c, cbx_semiring_conv(c->ctx, x, w, s, &o)), x, w)
OVER(do_conv_vjp, SLIDES, (cbx_semiring_conv_vjp(c->ctx, x, w, out, cotangent, s, &o, d), cx_results(c, 2, d, true)), x,
     w, out, cotangent)
OVER(do_conv_jvp, SLIDES, cx_result(c, cbx_semiring_conv_jvp(c->ctx, x, w, out, tangent_x, tangent_w, s, &o)), x, w,
     out, tangent_x, tangent_w)

/* clang-format off */
#define ALGEBRA "algebra: 'real' | 'log' | 'tropical_max_plus' | 'tropical_min_plus' | 'euclidean' | 'boolean' = 'real'"
#define SLIDE "padding: str | Sequence[tuple[int, int]] = 'valid', stride: int | Sequence[int] = 1, dilation: int | Sequence[int] = 1"
#define SEMIRING(X) \
    X(matmul, "a: Operand, b: Operand, /, " ALGEBRA ", *, merge: Array | None = None, mask: Array | None = None, mask_complement: bool = False, raw: bool = False", "Array", do_matmul, 0, "Matrix product over an algebra: 'real', 'log', 'tropical_max_plus', 'tropical_min_plus', 'euclidean' or 'boolean'. Leading axes broadcast.\n\nmerge: joined with the product by the algebra's addition. mask: where it is False (mask_complement: True) the result is the empty value.\nraw: squared distances (euclidean).\n\n>>> xp.semiring.matmul(xp.asarray([[0.0, 1.0]]), xp.asarray([[5.0], [2.0]]), 'tropical_min_plus')\nArray([[3.0]], dtype=float64)") \
    X(matmul_vjp, "a: Array, b: Array, out: Array, cotangent: Array, /, " ALGEBRA, "tuple[Array, Array]", do_matmul_vjp, 0, "Cotangents of a and b from that of out = matmul(a, b, algebra). Of a maximum or minimum the first optimum takes all.\n\n>>> a, b = xp.ones((1, 2)), xp.ones((2, 1))\n>>> xp.semiring.matmul_vjp(a, b, a @ b, xp.ones((1, 1)))[0]\nArray([[1.0, 1.0]], dtype=float64)") \
    X(matmul_jvp, "a: Array, b: Array, out: Array, tangent_a: Array, tangent_b: Array, /, " ALGEBRA, "Array", do_matmul_jvp, 0, "Tangent of out = matmul(a, b, algebra).\n\n>>> a, b = xp.ones((1, 2)), xp.ones((2, 1))\n>>> xp.semiring.matmul_jvp(a, b, a @ b, a, b)\nArray([[4.0]], dtype=float64)") \
    X(conv, "x: Array, w: Array, /, " ALGEBRA ", *, " SLIDE, "Array", do_conv, 0, "Convolution over an algebra, channels last, nothing flipped: x (..., lengths, channels), w (taps, channels, channels out).\n\nOutside of x is the algebra's identity. padding: 'valid', 'same' or a pair (before, after) for each axis.\n\n>>> xp.semiring.conv(xp.ones((1, 3, 1)), xp.ones((2, 1, 1)), 'real').shape\n(1, 2, 1)") \
    X(conv_vjp, "x: Array, w: Array, out: Array, cotangent: Array, /, " ALGEBRA ", *, " SLIDE, "tuple[Array, Array]", do_conv_vjp, 0, "Cotangents of x and w from that of out = conv(x, w, algebra).\n\n>>> x, w = xp.ones((1, 3, 1)), xp.ones((2, 1, 1))\n>>> y = xp.semiring.conv(x, w)\n>>> xp.semiring.conv_vjp(x, w, y, y)[1].shape\n(2, 1, 1)") \
    X(conv_jvp, "x: Array, w: Array, out: Array, tangent_x: Array, tangent_w: Array, /, " ALGEBRA ", *, " SLIDE, "Array", do_conv_jvp, 0, "Tangent of out = conv(x, w, algebra).\n\n>>> x, w = xp.ones((1, 3, 1)), xp.ones((2, 1, 1))\n>>> y = xp.semiring.conv(x, w)\n>>> xp.semiring.conv_jvp(x, w, y, x, w).shape\n(1, 2, 1)")
/* clang-format on */
CX_FUNCTIONS(cx_semiring_methods, SEMIRING, HEAVY)

/* ---- Ell ---- */

/* An array argument of another dtype as contiguous elements of t; NULL without an exception if it
 * is left out. */
static const void *elements(cx_call *c, const char *name, cbx_dtype t, size_t *n)
{
    PyObject *o = cx_arg(c, name), *a = o ? cx_asarray(c->st, o, t, -1) : NULL;

    *n = 0;
    if (!cx_keep_object(c, a)) return NULL;
    *n = cbx_array_count(((cx_array *)a)->handle);
    if (!cx_hold(c, cbx_array_ref(((cx_array *)a)->handle))) return NULL;
    return cx_elements(c, ((cx_array *)a)->handle);
}

/* From CSR (start and index) or from a table of indices (rows, width). */
static PyObject *ell_make(cx_call *c)
{
    size_t cols = 0, n = 0, nstart = 0, ndegree = 0, nmask = 0, rows = 0;
    const int32_t *index = elements(c, "index", CBX_I32, &n);
    const int64_t *start = elements(c, "start", CBX_I64, &nstart);
    const int32_t *degree = elements(c, "degree", CBX_I32, &ndegree);
    const uint8_t *mask = elements(c, "mask", CBX_BOOL, &nmask);
    cbx_ell *graph = NULL;
    cbx_status status;
    cx_object *t;

    if (PyErr_Occurred() || !CX_GET(c, cols)) return NULL;
    if (start) {
        rows = nstart ? nstart - 1 : 0;
        if (!nstart || degree || mask || start[rows] < 0 || (size_t)start[rows] > n)
            return cx_raise(CBX_EINVAL,
                            "Ell: 'start' must ascend from 0 to the length of 'index', without 'degree' and 'mask'");
        if (!(t = cx_object_new(c->st, CX_ELL))) return NULL;
        status = cbx_ell_from_csr(t->ctx, rows, cols, start, index, &graph, &c->err);
    } else {
        const cbx_array_desc *d = c->nheld ? cbx_array_get_desc(c->held[0]) : NULL;
        if (!d || d->ndim != 2)
            return cx_raise(CBX_ESHAPE, "Ell: 'index' must have two axes (rows, width) without 'start'");
        rows = d->shape[0];
        if ((degree && ndegree != rows) || (mask && nmask != n))
            return cx_raise(CBX_ESHAPE, "Ell: 'degree' must be of length rows, and 'mask' of the shape of 'index'");
        if (!(t = cx_object_new(c->st, CX_ELL))) return NULL;
        status = cbx_ell_create(
            t->ctx, &(cbx_ell_source){ sizeof(cbx_ell_source), rows, cols, d->shape[1], index, degree, mask, NULL },
            &graph, &c->err);
    }
    t->handle = graph;
    return cx_object_made(t, status, &c->err);
}

/* A formula of the graph g, and over an algebra s. */
#define OF_GRAPH(name, algebra, formula, ...)                                                                          \
    static PyObject *name(cx_call *c)                                                                                  \
    {                                                                                                                  \
        CX_UNUSED const cbx_array *values = NULL, *b = NULL, *out = NULL, *cotangent = NULL, *tangent_values = NULL,   \
                                  *tangent_b = NULL, *entries = NULL;                                                  \
        const cbx_ell *g = cx_handle(c);                                                                               \
        CX_UNUSED const cbx_semiring *s = NULL;                                                                        \
        CX_UNUSED cbx_array *d[2];                                                                                     \
        return g && (algebra) && CX_GET(c, __VA_ARGS__) && cx_begin(c) ? (formula) : NULL;                             \
    }
#define ALGEBRA_OF_CALL (s = algebra_arg(c)) != NULL
#define A               const cbx_array *
typedef size_t (*count_of)(const cbx_ell *);
typedef void (*vjp_of)(cbx_ctx *, const cbx_ell *, A, A, A, A, const cbx_semiring *, cbx_array **);

OF_GRAPH(ell_count, true, (cx_lock(c), PyLong_FromSize_t(((count_of)c->fn)(g))))
OF_GRAPH(ell_pack, true, cx_result(c, cbx_ell_pack(c->ctx, g, entries)), entries)
OF_GRAPH(ell_product, ALGEBRA_OF_CALL,
         cx_result(c, CX_FN(const cbx_ell *, A, A, const cbx_semiring *)(c->ctx, g, values, b, s)), values, b)
OF_GRAPH(ell_vjp, ALGEBRA_OF_CALL,
         (((vjp_of)c->fn)(c->ctx, g, values, b, out, cotangent, s, d), cx_results(c, 2, d, true)), values, b, out,
         cotangent)
OF_GRAPH(ell_jvp, ALGEBRA_OF_CALL,
         cx_result(c, CX_FN(const cbx_ell *, A, A, A, A, A, const cbx_semiring *)(c->ctx, g, values, b, out,
                                                                                  tangent_values, tangent_b, s)),
         values, b, out, tangent_values, tangent_b)
OF_GRAPH(ell_softmax, true, cx_result(c, cbx_ell_softmax(c->ctx, g, values)), values)
OF_GRAPH(ell_softmax_vjp, true, cx_result(c, cbx_ell_softmax_vjp(c->ctx, g, out, cotangent)), out, cotangent)

static PyObject *ell_rcm(cx_call *c)
{
    cx_object *t = cx_object_self(c);
    size_t n = t ? cbx_ell_rows(t->handle) : 0;
    cbx_array *order = NULL;
    cbx_status status;

    if (!t || !cx_begin(c)) return NULL;
    order = cbx_zeros(c->ctx, 1, &n, CBX_I32);
    status = cbx_ell_rcm(c->ctx, t->handle, cbx_array_data_mut(order), &c->err);
    return status ? (cx_fine(c, status), NULL) : cx_result(c, order);
}

static PyObject *ell_reorder(cx_call *c)
{
    cx_object *t = cx_object_self(c), *made;
    size_t n = 0;
    const int32_t *order = t ? elements(c, "order", CBX_I32, &n) : NULL;
    cbx_ell *graph = NULL;
    cbx_status status;

    if (!order) return NULL;
    if (n != cbx_ell_rows(t->handle)) return cx_raise(CBX_ESHAPE, "reorder: 'order' must be of length rows");
    if (!(made = cx_object_new(c->st, CX_ELL))) return NULL;
    status = cbx_ell_reorder(made->ctx, t->handle, order, &graph, &c->err);
    made->handle = graph;
    return cx_object_made(made, status, &c->err);
}

/* clang-format off */
#define VALUES "values: Array, b: Array, "
#define BACK VALUES "out: Array, cotangent: Array, /, " ALGEBRA
#define FORTH VALUES "out: Array, tangent_values: Array, tangent_b: Array, /, " ALGEBRA
#define ELL(X) \
    X(rows, "/", "int", ell_count, cbx_ell_rows, "Number of rows.\n\n>>> g = xp.semiring.Ell([[0, 1], [1, 0]], 2)\n>>> v, b = xp.ones((2, 2)), xp.ones((2, 1))\n>>> g.rows()\n2") \
    X(cols, "/", "int", ell_count, cbx_ell_cols, "Number of columns.\n\n>>> g = xp.semiring.Ell([[0, 1], [1, 0]], 2)\n>>> v, b = xp.ones((2, 2)), xp.ones((2, 1))\n>>> g.cols()\n2") \
    X(width, "/", "int", ell_count, cbx_ell_width, "Number of positions of a row.\n\n>>> g = xp.semiring.Ell([[0, 1], [1, 0]], 2)\n>>> v, b = xp.ones((2, 2)), xp.ones((2, 1))\n>>> g.width()\n2") \
    X(edges, "/", "int", ell_count, cbx_ell_edges, "Number of edges.\n\n>>> g = xp.semiring.Ell([[0, 1], [1, 0]], 2)\n>>> v, b = xp.ones((2, 2)), xp.ones((2, 1))\n>>> g.edges()\n4") \
    X(pack, "entries: Array, /", "Array", ell_pack, 0, "Entries of a graph built from CSR, in CSR order, as values (rows, width).\n\n>>> g = xp.semiring.Ell([0, 1], 2, start=[0, 1, 2])\n>>> g.pack(xp.ones(2)).shape\n(2, 1)") \
    X(matmul, VALUES "/, " ALGEBRA, "Array", ell_product, cbx_ell_matmul, "The matrix with these values (rows, width) by b (cols, d), over an algebra.\n\n>>> g = xp.semiring.Ell([[0, 1], [1, 0]], 2)\n>>> v, b = xp.ones((2, 2)), xp.ones((2, 1))\n>>> g.matmul(v, b).shape\n(2, 1)") \
    X(matmul_vjp, BACK, "tuple[Array, Array]", ell_vjp, cbx_ell_matmul_vjp, "Cotangents of values and b from that of out = matmul(values, b, algebra).\n\n>>> g = xp.semiring.Ell([[0, 1], [1, 0]], 2)\n>>> v, b = xp.ones((2, 2)), xp.ones((2, 1))\n>>> y = g.matmul(v, b)\n>>> g.matmul_vjp(v, b, y, y)[0].shape\n(2, 2)") \
    X(matmul_jvp, FORTH, "Array", ell_jvp, cbx_ell_matmul_jvp, "Tangent of out = matmul(values, b, algebra).\n\n>>> g = xp.semiring.Ell([[0, 1], [1, 0]], 2)\n>>> v, b = xp.ones((2, 2)), xp.ones((2, 1))\n>>> y = g.matmul(v, b)\n>>> g.matmul_jvp(v, b, y, v, b).shape\n(2, 1)") \
    X(matmul_transposed, VALUES "/, " ALGEBRA, "Array", ell_product, cbx_ell_matmul_transposed, "The transposed matrix with these values by b (rows, d).\n\n>>> g = xp.semiring.Ell([[0, 1], [1, 0]], 2)\n>>> v, b = xp.ones((2, 2)), xp.ones((2, 1))\n>>> g.matmul_transposed(v, b).shape\n(2, 1)") \
    X(matmul_transposed_vjp, BACK, "tuple[Array, Array]", ell_vjp, cbx_ell_matmul_transposed_vjp, "Cotangents of values and b from that of out = matmul_transposed(values, b, algebra).\n\n>>> g = xp.semiring.Ell([[0, 1], [1, 0]], 2)\n>>> v, b = xp.ones((2, 2)), xp.ones((2, 1))\n>>> y = g.matmul_transposed(v, b)\n>>> g.matmul_transposed_vjp(v, b, y, y)[0].shape\n(2, 2)") \
    X(matmul_transposed_jvp, FORTH, "Array", ell_jvp, cbx_ell_matmul_transposed_jvp, "Tangent of out = matmul_transposed(values, b, algebra).\n\n>>> g = xp.semiring.Ell([[0, 1], [1, 0]], 2)\n>>> v, b = xp.ones((2, 2)), xp.ones((2, 1))\n>>> y = g.matmul_transposed(v, b)\n>>> g.matmul_transposed_jvp(v, b, y, v, b).shape\n(2, 1)") \
    X(aggregate, VALUES "/, " ALGEBRA, "Array", ell_product, cbx_ell_aggregate, "Sum ('real'), maximum or minimum ('tropical_max_plus', 'tropical_min_plus') over the edges of values * b.\n\n>>> g = xp.semiring.Ell([[0, 1], [1, 0]], 2)\n>>> v, b = xp.ones((2, 2)), xp.ones((2, 1))\n>>> g.aggregate(v, b).shape\n(2, 1)") \
    X(aggregate_vjp, BACK, "tuple[Array, Array]", ell_vjp, cbx_ell_aggregate_vjp, "Cotangents of values and b from that of out = aggregate(values, b, algebra).\n\n>>> g = xp.semiring.Ell([[0, 1], [1, 0]], 2)\n>>> v, b = xp.ones((2, 2)), xp.ones((2, 1))\n>>> y = g.aggregate(v, b)\n>>> g.aggregate_vjp(v, b, y, y)[0].shape\n(2, 2)") \
    X(aggregate_jvp, FORTH, "Array", ell_jvp, cbx_ell_aggregate_jvp, "Tangent of out = aggregate(values, b, algebra).\n\n>>> g = xp.semiring.Ell([[0, 1], [1, 0]], 2)\n>>> v, b = xp.ones((2, 2)), xp.ones((2, 1))\n>>> y = g.aggregate(v, b)\n>>> g.aggregate_jvp(v, b, y, v, b).shape\n(2, 1)") \
    X(softmax, "values: Array, /", "Array", ell_softmax, 0, "Softmax of each row over its edges; 0 elsewhere.\n\n>>> g = xp.semiring.Ell([[0, 1], [1, 0]], 2)\n>>> v, b = xp.ones((2, 2)), xp.ones((2, 1))\n>>> g.softmax(v)\nArray([[0.5, 0.5],\n       [0.5, 0.5]], dtype=float64)") \
    X(softmax_vjp, "out: Array, cotangent: Array, /", "Array", ell_softmax_vjp, 0, "Cotangent of values from that of out = softmax(values); the tangent by the same map.\n\n>>> g = xp.semiring.Ell([[0, 1], [1, 0]], 2)\n>>> v, b = xp.ones((2, 2)), xp.ones((2, 1))\n>>> g.softmax_vjp(g.softmax(v), v).shape\n(2, 2)") \
    X(rcm, "/", "Array", ell_rcm, 0, "Order of the vertices of a square graph by reverse Cuthill-McKee: vertex order[i] should be called i.\n\n>>> g = xp.semiring.Ell([[0, 1], [1, 0]], 2)\n>>> v, b = xp.ones((2, 2)), xp.ones((2, 1))\n>>> g.rcm().shape\n(2,)") \
    X(reorder, "order: Samples, /", "Ell", ell_reorder, 0, "The square graph with vertex order[i] called i.\n\n>>> g = xp.semiring.Ell([[0, 1], [1, 0]], 2)\n>>> v, b = xp.ones((2, 2)), xp.ones((2, 1))\n>>> g.reorder([1, 0]).edges()\n4")
CX_OBJECT_TYPE(ell, ell, ELL, "array.semiring", Ell, "index: Array | Sequence[Sequence[int]] | Sequence[int], cols: int, *, start: Samples | None = None, degree: Samples | None = None, mask: Array | None = None", cbx_ell_free,
    "A sparse matrix in ELL form: which places of a table (rows, width) are edges, and to which column each leads. Values are arrays (rows, width) of their own.\n\nindex: columns (rows, width); row i has its first degree[i] places, and none where mask is False. With start: the columns of compressed rows (CSR), entries start[i] to start[i + 1] of row i. It never changes; any number of threads may use it.")
/* clang-format on */
