/* Products of arrays, and einsum. */
#include <string.h>

#include "python/state.h"

CX_FORMULA(product, CX_FN(const cbx_array *, const cbx_array *)(c->ctx, x1, x2), x1, x2)
CX_FORMULA(do_matrix_transpose, cbx_matrix_transpose(c->ctx, x), x)

/* Of two vectors of real numbers it is their product, which needs no other shapes. */
static bool are_vectors(const cbx_array *a, const cbx_array *b)
{
    const cbx_kind ka = cbx_dtype_kind(cbx_array_dtype(a)), kb = cbx_dtype_kind(cbx_array_dtype(b));

    return cbx_array_ndim(a) == 1 && cbx_array_ndim(b) == 1 && cbx_array_dim(a, 0) == cbx_array_dim(b, 0) &&
           (ka == CBX_KIND_INT || ka == CBX_KIND_FLOAT) && (kb == CBX_KIND_INT || kb == CBX_KIND_FLOAT);
}
CX_FORMULA(do_vecdot,
           axis.value == -1 && are_vectors(x1, x2) ? cbx_matrix_product(c->ctx, x1, x2)
                                                   : cbx_vecdot(c->ctx, x1, x2, axis.value),
           x1, x2, axis)

/* The last n axes of a with the first n of b, or two sequences of axes. */
static bool contracted(cx_call *c, const cbx_array *a, const cbx_array *b, int *n, int *in_a, int *in_b)
{
    const char *wanted = "an integer, or two sequences of as many axes";
    PyObject *pair = cx_arg(c, "axes");
    cx_ints v[2];
    int64_t axes;

    if (!pair || (PyIndex_Check(pair) && !PySequence_Check(pair))) {
        if (!CX_GET(c, axes)) return false;
        if (axes < 0 || axes > cbx_array_ndim(a) || axes > cbx_array_ndim(b))
            return cx_refuse(c, "axes", PyExc_ValueError, "at most the number of axes of both arrays", pair);
        *n = (int)axes;
        for (int k = 0; k < *n; k++) {
            in_a[k] = cbx_array_ndim(a) - *n + k;
            in_b[k] = k;
        }
        return true;
    }
    if (!PySequence_Check(pair) || PySequence_Size(pair) != 2) {
        PyErr_Clear();
        return cx_refuse(c, "axes", PyExc_ValueError, wanted, pair);
    }
    for (int i = 0; i < 2; i++) {
        PyObject *o = PySequence_GetItem(pair, i);
        if (!cx_keep_object(c, o) || !cx_read_ints(c, "axes", o, &v[i])) return false;
    }
    if (v[0].n != v[1].n) return cx_refuse(c, "axes", PyExc_ValueError, wanted, pair);
    *n = v[0].n;
    for (int k = 0; k < *n; k++) {
        in_a[k] = (int)v[0].v[k];
        in_b[k] = (int)v[1].v[k];
    }
    return true;
}

CX_RETURN(do_tensordot, (int n = 0, in_a[CBX_MAX_RANK], in_b[CBX_MAX_RANK]; const cbx_array *x1, *x2),
          CX_GET(c, x1, x2) && contracted(c, x1, x2, &n, in_a, in_b) && cx_begin(c),
          cx_result(c, cbx_tensordot(c->ctx, x1, x2, n, in_a, in_b)))

/* ---- einsum ---- */

enum { LABELS = 256 };

/* An operand whose axes have labels: letters of the subscripts, and numbers below 32 for the axes
 * that '...' covers. */
typedef struct term {
    const cbx_array *x;
    int n;
    unsigned char label[CBX_MAX_RANK];
} term;

/* Reads labels up to the end; an ellipsis stands for the last labels of 1 .. covered, in
 * ascending order. */
static bool read_labels(const char *s, const char *end, int covered, term *t)
{
    t->n = 0;
    for (; s < end; s++) {
        bool dots = end - s >= 3 && memcmp(s, "...", 3) == 0;
        if (*s == ' ') continue;
        if (!dots && !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", *s))
            return cx_refused(PyExc_ValueError,
                              "einsum: 'subscripts' must be of letters, ',', '->' and '...', got '%c'", *s);
        for (int k = dots ? covered : 1; k > 0; k--) {
            if (t->n == CBX_MAX_RANK)
                return cx_refused(PyExc_ValueError, "einsum: an array has at most %d axes", CBX_MAX_RANK);
            t->label[t->n++] = (unsigned char)(dots ? k : *s);
        }
        if (dots) s += 2;
    }
    return true;
}

static int place_in(const term *t, unsigned char label)
{
    for (int k = 0; k < t->n; k++)
        if (t->label[k] == label) return k;
    return -1;
}

static void drop(term *t, int axis)
{
    memmove(t->label + axis, t->label + axis + 1, (size_t)(t->n - axis - 1));
    t->n--;
}

/* A label that occurs twice: the diagonal, as its last axis. */
static void take_diagonals(cbx_ctx *ctx, term *t)
{
    for (int k = 0; k < t->n && !cbx_array_is_failed(t->x); k++)
        for (int j = k + 1; j < t->n; j++) {
            if (t->label[j] != t->label[k]) continue;
            const unsigned char label = t->label[k];
            t->x = cbx_diagonal(ctx, cbx_moveaxes(ctx, t->x, 2, (int[]){ k, j }, (int[]){ -2, -1 }), 0);
            drop(t, j);
            drop(t, k);
            t->label[t->n++] = label;
            k = -1;
            break;
        }
}

/* Sums over the labels that needed has not. */
static void sum_out(cbx_ctx *ctx, term *t, const int *needed)
{
    cbx_axes axes = { 0 };

    for (int k = 0; k < t->n; k++)
        if (!needed[t->label[k]]) axes.axis[axes.n++] = k;
    if (axes.n) t->x = cbx_astype(ctx, cbx_sum(ctx, t->x, &axes), cbx_array_dtype(t->x));
    for (int k = axes.n - 1; k >= 0; k--) drop(t, axes.axis[k]);
}

/* The axes in the order of the labels, as one matrix a batch: lengths of each of the three groups
 * become one axis. */
static const cbx_array *as_matrices(cbx_ctx *ctx, const term *t, const unsigned char *labels, const int *counts,
                                    const size_t *lengths)
{
    size_t dims[CBX_MAX_RANK];
    ptrdiff_t shape[3] = { 1, 1, 1 };
    int order[CBX_MAX_RANK], n = 0;

    for (int g = 0; g < 3; g++)
        for (int k = 0; k < counts[g]; k++, n++) {
            order[n] = place_in(t, labels[n]);
            dims[n] = lengths[labels[n]];
            shape[g] *= (ptrdiff_t)dims[n];
        }
    return cbx_reshape(ctx, cbx_broadcast_to(ctx, cbx_permute_dims(ctx, t->x, order), n, dims), 3, shape);
}

/* a and b as one term: a product of matrices over the labels that nothing else needs, for each of
 * those that both keep. */
static term contract(cbx_ctx *ctx, term a, term b, const int *needed, const size_t *lengths)
{
    unsigned char batch[CBX_MAX_RANK], of_a[CBX_MAX_RANK], of_b[CBX_MAX_RANK], summed[CBX_MAX_RANK];
    unsigned char left[3 * CBX_MAX_RANK], right[3 * CBX_MAX_RANK];
    ptrdiff_t shape[2 * CBX_MAX_RANK];
    int nb = 0, na = 0, nc = 0, ns = 0;
    term out = { 0 };

    for (int k = 0; k < a.n; k++) {
        if (place_in(&b, a.label[k]) < 0)
            of_a[na++] = a.label[k];
        else if (needed[a.label[k]])
            batch[nb++] = a.label[k];
        else
            summed[ns++] = a.label[k];
    }
    for (int k = 0; k < b.n; k++)
        if (place_in(&a, b.label[k]) < 0) of_b[nc++] = b.label[k];
    if (nb + na + nc > CBX_MAX_RANK || nb + na + ns > CBX_MAX_RANK || nb + nc + ns > CBX_MAX_RANK) {
        out.x = cbx_reshape(ctx, a.x, CBX_MAX_RANK + 1, NULL); /* refused by the library */
        return out;
    }
    memcpy(left, batch, (size_t)nb), memcpy(left + nb, of_a, (size_t)na), memcpy(left + nb + na, summed, (size_t)ns);
    memcpy(right, batch, (size_t)nb), memcpy(right + nb, summed, (size_t)ns), memcpy(right + nb + ns, of_b, (size_t)nc);
    out.n = nb + na + nc;
    memcpy(out.label, left, (size_t)(nb + na)), memcpy(out.label + nb + na, of_b, (size_t)nc);
    for (int k = 0; k < out.n; k++) shape[k] = (ptrdiff_t)lengths[out.label[k]];
    out.x = cbx_matrix_product(ctx, as_matrices(ctx, &a, left, (int[]){ nb, na, ns }, lengths),
                               as_matrices(ctx, &b, right, (int[]){ nb, ns, nc }, lengths));
    out.x = cbx_reshape(ctx, out.x, out.n, shape);
    return out;
}

/* Reads the subscripts into terms, and into out what is behind '->', or else '...' and the letters
 * that occur once, sorted. */
static bool read_subscripts(const char *s, const cx_arrays *arrays, term *terms, term *out)
{
    const char *arrow = strstr(s, "->"), *end = arrow ? arrow : s + strlen(s), *at = s;
    int seen[LABELS] = { 0 }, max_covered = 0;
    size_t parts = 1;

    for (const char *q = s; q < end; q++) parts += *q == ',';
    if (parts != arrays->n)
        return cx_refused(PyExc_ValueError, "einsum: 'subscripts' must have a part for each of %zu operands, got '%s'",
                          arrays->n, s);
    for (size_t i = 0; i < parts; i++) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        term *t = &terms[i];
        int covered;
        t->x = arrays->list[i];
        if (!read_labels(at, stop, 0, t)) return false;
        covered = cbx_array_ndim(t->x) - t->n;
        if (covered < 0 || (covered > 0 && !memchr(at, '.', (size_t)(stop - at))))
            return cx_refused(
                PyExc_ValueError,
                "einsum: 'subscripts' must have a letter for each axis of operand %zu, which has %d, got '%s'", i,
                cbx_array_ndim(t->x), s);
        if (!read_labels(at, stop, covered, t)) return false;
        max_covered = covered > max_covered ? covered : max_covered;
        for (int k = 0; k < t->n; k++) seen[t->label[k]]++;
        at = stop + 1;
    }
    if (!arrow) {
        for (int k = max_covered; k > 0; k--) out->label[out->n++] = (unsigned char)k;
        for (int label = 'A'; label <= 'z' && out->n < CBX_MAX_RANK; label++)
            if (seen[label] == 1) out->label[out->n++] = (unsigned char)label;
        return true;
    }
    if (!read_labels(arrow + 2, s + strlen(s), max_covered, out)) return false;
    for (int k = 0; k < out->n; k++) {
        bool twice = place_in(out, out->label[k]) != k;
        if (seen[out->label[k]] && !twice) continue;
        return cx_refused(PyExc_ValueError, "einsum: 'subscripts' must have the letter '%c' %s, got '%s'",
                          out->label[k], twice ? "at most once after '->'" : "in an operand", s);
    }
    return true;
}

/* The length of each label: 1 is repeated where another operand has more. */
static bool find_lengths(const char *subscripts, const term *terms, size_t n, size_t *lengths)
{
    for (int label = 0; label < LABELS; label++) lengths[label] = 1;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < terms[i].n; k++) {
            size_t *known = &lengths[terms[i].label[k]], length = cbx_array_dim(terms[i].x, k);
            int first = place_in(&terms[i], terms[i].label[k]);
            bool twice = cbx_array_dim(terms[i].x, first) != length;
            if (twice || (length != 1 && *known != 1 && length != *known))
                return cx_refused(PyExc_ValueError,
                                  "einsum: axes of one letter must have one length, got %zu and %zu in '%s'",
                                  twice ? cbx_array_dim(terms[i].x, first) : *known, length, subscripts);
            if (length != 1) *known = length;
        }
    return true;
}

/* From left to right, two operands at a time. */
static PyObject *do_einsum(cx_call *c)
{
    int needed[LABELS] = { 0 }, also[LABELS], order[CBX_MAX_RANK];
    size_t lengths[LABELS];
    const char *subscripts;
    term *terms, out = { 0 }, all;
    cx_arrays operands;

    if (!CX_GET(c, subscripts, operands) || !(terms = cx_alloc(c, operands.n, sizeof *terms)) ||
        !read_subscripts(subscripts, &operands, terms, &out) || !find_lengths(subscripts, terms, operands.n, lengths) ||
        !cx_begin(c))
        return NULL;
    for (int k = 0; k < out.n; k++) needed[out.label[k]]++;
    for (size_t i = 0; i < operands.n; i++) {
        take_diagonals(c->ctx, &terms[i]);
        for (int k = 0; i > 0 && k < terms[i].n; k++) needed[terms[i].label[k]]++;
    }
    all = terms[0];
    sum_out(c->ctx, &all, needed);
    for (size_t i = 1; i < operands.n && !cbx_array_is_failed(all.x); i++) {
        for (int k = 0; k < terms[i].n; k++) needed[terms[i].label[k]]--;
        memcpy(also, needed, sizeof also);
        for (int k = 0; k < all.n; k++) also[all.label[k]]++;
        sum_out(c->ctx, &terms[i], also);
        all = contract(c->ctx, all, terms[i], needed, lengths);
    }
    for (int k = 0; k < out.n; k++) order[k] = place_in(&all, out.label[k]);
    return cx_result(c, cbx_array_is_failed(all.x) ? (cbx_array *)(uintptr_t)all.x
                                                   : cbx_permute_dims(c->ctx, all.x, order));
}

/* clang-format off */
#define PRODUCTS(X) \
    X(einsum, "subscripts: str, /, *operands: Operand", "Array", do_einsum, 0, "Sums of products over axes that are named by letters.\n\n>>> xp.einsum('ij,jk->ik', xp.ones((2, 3)), xp.ones((3, 2)))\nArray([[3.0, 3.0],\n       [3.0, 3.0]], dtype=float64)") \
    X(matmul, "x1: Operand, x2: Operand, /", "Array", product, cbx_matrix_product, "Matrix product; leading axes broadcast.\n\n>>> xp.matmul(xp.asarray([[2.0, 1.0], [1.0, 3.0]]), xp.asarray([1.0, 1.0]))\nArray([3.0, 4.0], dtype=float64)") \
    X(tensordot, "x1: Operand, x2: Operand, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2", "Array", do_tensordot, 0, "Sum of products over pairs of axes.\n\n>>> xp.tensordot(xp.ones((2, 3)), xp.ones((3, 2)), axes=1)\nArray([[3.0, 3.0],\n       [3.0, 3.0]], dtype=float64)")
#define LINEAR(X) \
    X(outer, "x1: Operand, x2: Operand, /", "Array", product, cbx_outer, "Outer product.\n\n>>> xp.outer(xp.arange(2), xp.arange(2))\nArray([[0, 0],\n       [0, 1]], dtype=int64)") \
    X(vecdot, "x1: Operand, x2: Operand, /, *, axis: int = -1", "Array", do_vecdot, 0, "Sum of conj(x1) * x2 along an axis.\n\n>>> xp.vecdot(xp.arange(3), xp.arange(3))\nArray(5, dtype=int64)")
#define VIEWS(X) \
    X(matrix_transpose, "x: Array, /", "Array", do_matrix_transpose, 0, "Swap the last two axes.\n\n>>> xp.matrix_transpose(xp.asarray([[2.0, 1.0], [1.0, 3.0]]))\nArray([[2.0, 1.0],\n       [1.0, 3.0]], dtype=float64)")
/* clang-format on */
CX_FUNCTIONS(cx_product_methods, PRODUCTS, PRODUCT)
CX_FUNCTIONS(cx_vector_product_methods, LINEAR, LIGHT) /* each element, or each of the result, once */
CX_FUNCTIONS(cx_matrix_methods, VIEWS, LIGHT)          /* each element, or each of the result, once */
