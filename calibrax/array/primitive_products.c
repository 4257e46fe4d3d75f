/*
 * Shape rules of products: of matrices, over algebras, convolutions, over graphs, and of their
 * derivatives.
 */
#include "calibrax/array/ell_internal.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/primitive_rules.h"

typedef cbx__operands operands;
typedef cbx__shape_rule shape_rule;

/* ---- matrices, windows ---- */

/* what: the operand's name in the sentence */
static cbx_status expect(const operands *o, size_t i, const char *what, int ndim, const size_t *shape, cbx_err *err)
{
    cbx_array_desc wanted = { .dtype = o->d[i]->dtype };

    set_shape(&wanted, ndim, shape);
    if (same_shape(o->d[i], &wanted)) return CBX_OK;
    return cbx_fail(err, CBX_ESHAPE, "'%s' expects %s %s, not %s", o->name, what, CBX__DESC_TEXT(&wanted),
                    CBX__DESC_TEXT(o->d[i]));
}

/* (b, m, k) by (b, k, n) is (b, m, n). */
RULE(matmul)
{
    const cbx_array_desc *a = o->d[0], *b = o->d[1];

    if (a->ndim != 3 || b->ndim != 3 || a->shape[0] != b->shape[0] || a->shape[2] != b->shape[1])
        return differ(o, a, b, err);
    set_shape(out, 3, (const size_t[]){ a->shape[0], a->shape[1], b->shape[2] });
    return CBX_OK;
}

static cbx_status check_semiring(const operands *o, cbx_err *err)
{
    const cbx_semiring *s = cbx__algebra_of(o->attrs);

    if (!s) return cbx_fail(err, CBX_EINVAL, "'%s': unknown algebra %d", o->name, o->attrs->mode);
    if (!cbx_semiring_takes(s, o->d[0]->dtype))
        return cbx_fail(err, CBX_EDTYPE, "'%s' over '%s' takes %s, not %s: convert with 'astype'", o->name, s->name,
                        s->functions                    ? cbx_dtype_name(s->functions->dtype)
                        : cbx__traits_of[s->id].of_bool ? "bool"
                                                        : "float32 or float64",
                        cbx_dtype_name(o->d[0]->dtype));
    if (o->attrs->keep && (s->functions || !cbx__traits_of[s->id].has_raw))
        return cbx_fail(err, CBX_EINVAL, "algebra '%s' has no raw form: only euclidean has one", s->name);
    return CBX_OK;
}

RULE(semiring_matmul)
{
    const cbx_status st = check_semiring(o, err);
    return st ? st : cbx__rule_matmul(o, out, err);
}

/* (b, lengths..., channels) by (lengths..., channels, out) is (b, positions..., out). */
RULE(semiring_conv)
{
    const cbx_array_desc *x = o->d[0], *w = o->d[1];
    const cbx_attrs *a = o->attrs;
    const int n = a->ndim;
    cbx_status st = check_semiring(o, err);

    if (st) return st;
    if (n < 1 || n > CBX_CONV_MAX_AXES || x->ndim != n + 2 || w->ndim != n + 2 || x->shape[n + 1] != w->shape[n])
        return differ(o, x, w, err);
    for (int i = 0; i < n; i++)
        if (a->step[i] < 1 || a->axes[i] < 1 || a->start[i] < 0)
            return cbx_fail(err, CBX_EINVAL,
                            "'semiring_conv' along axis %d has stride %td, dilation %d, padding %td: strides and "
                            "dilations are at least 1, padding 0",
                            i, a->step[i], a->axes[i], a->start[i]);
    out->ndim = n + 2;
    out->shape[0] = x->shape[0];
    memcpy(out->shape + 1, a->shape, (size_t)n * sizeof *a->shape);
    out->shape[n + 1] = w->shape[n + 1];
    return CBX_OK;
}

/* (a, b, c, g) with c and g like the product, to cotangents of a and b. */
static cbx_status derivative_back(const operands *o, shape_rule product, cbx_array_desc *out, cbx_err *err)
{
    const cbx_semiring *s = cbx__algebra_of(o->attrs);
    cbx_array_desc c = { .dtype = o->d[0]->dtype };
    cbx_status st = product(o, &c, err);

    if (st) return st;
    if (s->functions || cbx__traits_of[s->id].derivative == CBX__NO_DERIVATIVE)
        return cbx_fail(err, CBX_EUNSUPPORTED, "'%s' over '%s' has no derivative", o->name, s->name);
    st = expect(o, 2, "C", c.ndim, c.shape, err);
    if (!st) st = expect(o, 3, "the cotangent", c.ndim, c.shape, err);
    for (int i = 0; i < 2; i++) set_shape(&out[i], o->d[i]->ndim, o->d[i]->shape);
    return st;
}
/* (a, b, c, ta, tb) to the tangent of c */
static cbx_status derivative_forward(const operands *o, shape_rule product, cbx_array_desc *out, cbx_err *err)
{
    const cbx_array_desc *like[] = { o->d[0], o->d[1], o->d[2], o->d[2] };
    operands back = *o;
    cbx_array_desc d[2];
    cbx_status st;

    back.d = like;
    st = derivative_back(&back, product, d, err);
    if (!st) st = expect(o, 3, "the first tangent", o->d[0]->ndim, o->d[0]->shape, err);
    if (!st) st = expect(o, 4, "the second tangent", o->d[1]->ndim, o->d[1]->shape, err);
    set_shape(out, o->d[2]->ndim, o->d[2]->shape);
    return st;
}

/* The place of an optimum is a number of 32 bits in float32. */
static cbx_status check_terms(const operands *o, cbx_err *err)
{
    const size_t k = o->d[0]->ndim > 0 ? o->d[0]->shape[o->d[0]->ndim - 1] : 0;
    if (k <= INT32_MAX) return CBX_OK;
    return cbx_fail(err, CBX_EOVERFLOW, "'%s' counts %zu terms by 32 bits, which reach %d: split k", o->name, k,
                    INT32_MAX);
}

/* (..., m, k) by (..., k, n) with equal leading axes is (..., m, n). */
static cbx_status stacks(const operands *o, cbx_array_desc *out, cbx_err *err)
{
    const cbx_array_desc *a = o->d[0], *b = o->d[1];
    const int lead = a->ndim - 2;
    const cbx_status st = check_semiring(o, err);

    if (st) return st;
    if (lead < 0 || b->ndim != a->ndim || memcmp(a->shape, b->shape, (size_t)lead * sizeof *a->shape) != 0 ||
        a->shape[lead + 1] != b->shape[lead])
        return differ(o, a, b, err);
    set_shape(out, a->ndim, a->shape);
    out->shape[lead + 1] = b->shape[lead + 1];
    return CBX_OK;
}

RULE(semiring_matmul_vjp)
{
    const cbx_status st = check_terms(o, err);
    return st ? st : derivative_back(o, stacks, out, err);
}
RULE(semiring_matmul_jvp)
{
    const cbx_status st = check_terms(o, err);
    return st ? st : derivative_forward(o, stacks, out, err);
}
RULE(semiring_conv_vjp) { return derivative_back(o, cbx__rule_semiring_conv, out, err); }
RULE(semiring_conv_jvp) { return derivative_forward(o, cbx__rule_semiring_conv, out, err); }

/* ---- graphs: operands are values (rows, width), and matrices with a row for each vertex ---- */

static cbx_status check_graph(const operands *o, cbx_err *err)
{
    if (cbx__ell_of(o->attrs)) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "'%s' needs a graph", o->name);
}

/* All operands and the result are values. */
RULE(ell_values)
{
    const cbx_ell *g = cbx__ell_of(o->attrs);
    cbx_status st = check_graph(o, err);

    for (size_t i = 0; !st && i < o->n; i++)
        st = expect(o, i, o->n == 1 ? "values" : i == 0 ? "y" : "h", 2, (const size_t[]){ g->rows, g->width }, err);
    if (!st) set_shape(out, 2, o->d[0]->shape);
    return st;
}

RULE(ell_pack)
{
    const cbx_ell *g = cbx__ell_of(o->attrs);
    cbx_status st = check_graph(o, err);

    if (!st) st = expect(o, 0, "entries", 1, &g->entries, err);
    if (!st) set_shape(out, 2, (const size_t[]){ g->rows, g->width });
    return st;
}

RULE(ell_matmul)
{
    const cbx_ell *g = cbx__ell_of(o->attrs);
    const bool transposed = o->attrs->axis & CBX__ELL_TRANSPOSED, scaled = o->attrs->axis & CBX__ELL_SCALED;
    const cbx_semiring *s = cbx__algebra_of(o->attrs);
    cbx_status st = check_graph(o, err);

    if (!st) st = check_semiring(o, err);
    if (!st && scaled && !s->functions && cbx__traits_of[s->id].messages == CBX__MESSAGES_NONE)
        st = cbx_fail(err, CBX_EINVAL,
                      "'%s' is of weighted messages, which '%s' does not fold: real and the tropical ones do", o->name,
                      s->name);
    if (!st && scaled && s->functions && !s->functions->update)
        st = cbx_fail(err, CBX_EINVAL, "algebra '%s' cannot fold weighted messages: define 'update' in its functions",
                      s->name);
    if (st) return st;
    const size_t d = o->d[1]->ndim == 2 ? o->d[1]->shape[1] : 0;
    st = expect(o, 0, "values", 2, (const size_t[]){ g->rows, g->width }, err);
    if (!st) st = expect(o, 1, "B", 2, (const size_t[]){ transposed ? g->rows : g->cols, d }, err);
    if (!st) set_shape(out, 2, (const size_t[]){ transposed ? g->cols : g->rows, d });
    return st;
}
RULE(ell_matmul_vjp) { return derivative_back(o, cbx__rule_ell_matmul, out, err); }
RULE(ell_matmul_jvp) { return derivative_forward(o, cbx__rule_ell_matmul, out, err); }

/* The operands that are given: their number and shapes; *n: how many. */
static cbx_status check_edges(const operands *o, size_t *n, cbx_err *err)
{
    const cbx_ell *g = cbx__ell_of(o->attrs);
    const cbx_ell_edge_functions *f = cbx__ell_edge_of(o->attrs);
    static const char *const words[] = { "x_row", "x_col", "attr" };
    cbx_status st = check_graph(o, err);

    *n = 0;
    if (!st && !f) st = cbx_fail(err, CBX_EINVAL, "'%s' needs functions of an edge", o->name);
    if (!st) st = check_semiring(o, err);
    for (int r = 0; !st && r < CBX__EDGE_OPERANDS; r++) {
        const int ndim = r == CBX__ATTR ? 3 : 2;
        size_t shape[3] = { r == CBX__X_COL ? g->cols : g->rows, r == CBX__ATTR ? g->width : 0, 0 };
        if (!(o->attrs->axis >> r & 1)) continue;
        if (*n == o->n)
            return cbx_fail(err, CBX_EINVAL, "'%s' got %zu operands, fewer than its attributes say", o->name, o->n);
        if (o->d[*n]->ndim == ndim) shape[ndim - 1] = o->d[*n]->shape[ndim - 1];
        st = expect(o, *n, words[r], ndim, shape, err);
        ++*n;
    }
    return st;
}
static cbx_status check_operands(const operands *o, size_t n, cbx_err *err)
{
    return o->n == n ? CBX_OK : cbx_fail(err, CBX_EINVAL, "'%s' takes %zu operands, not %zu", o->name, n, o->n);
}

RULE(ell_edge)
{
    size_t n;
    cbx_status st = check_edges(o, &n, err);

    if (!st) st = check_operands(o, n, err);
    if (!st) set_shape(out, 2, (const size_t[]){ cbx__ell_of(o->attrs)->rows, cbx__ell_edge_of(o->attrs)->d_out });
    return st;
}

RULE(ell_edge_vjp)
{
    size_t n, at = 0;
    cbx_status st = check_edges(o, &n, err);

    if (!st) st = check_operands(o, n + 1, err);
    if (!st)
        st = expect(o, n, "the cotangent", 2,
                    (const size_t[]){ cbx__ell_of(o->attrs)->rows, cbx__ell_edge_of(o->attrs)->d_out }, err);
    for (int r = 0; !st && r < CBX__EDGE_OPERANDS; r++) {
        if (!(o->attrs->axis >> r & 1)) {
            set_shape(&out[r], 1, (const size_t[]){ 0 });
            continue;
        }
        set_shape(&out[r], o->d[at]->ndim, o->d[at]->shape);
        at++;
    }
    return st;
}

RULE(ell_edge_jvp)
{
    static const char *const words[] = { "the tangent of x_row", "the tangent of x_col", "the tangent of attr" };
    size_t n, at = 0;
    cbx_status st = check_edges(o, &n, err);

    if (!st) st = check_operands(o, 2 * n, err);
    for (int r = 0; !st && r < CBX__EDGE_OPERANDS; r++) {
        if (!(o->attrs->axis >> r & 1)) continue;
        st = expect(o, n + at, words[r], o->d[at]->ndim, o->d[at]->shape, err);
        at++;
    }
    if (!st) set_shape(out, 2, (const size_t[]){ cbx__ell_of(o->attrs)->rows, cbx__ell_edge_of(o->attrs)->d_out });
    return st;
}
