/*
 * Aggregation over edges by a function of an edge, and its derivatives, in terms of their
 * primitives.
 */
#include <string.h>

#include "calibrax/array/ell_internal.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/ops_internal.h"

enum { X_ROW = CBX__X_ROW, X_COL = CBX__X_COL, ATTR = CBX__ATTR, OPERANDS = CBX__EDGE_OPERANDS };

typedef enum direction { FOLD_ONLY, BACKWARD, FORWARD } direction;

static bool check(cbx_ctx *ctx, const char *name, const cbx_ell_edge_functions *f, const cbx_semiring *s, direction way)
{
    static const char *const words[] = { "message", "message and vjp", "message and jvp" };

    if (!f || f->struct_size != sizeof *f || !f->message || (way == BACKWARD && !f->vjp) || (way == FORWARD && !f->jvp))
        return cbx__refused(ctx, CBX_EINVAL, "'%s' needs functions of an edge: %s, with struct_size %zu", name,
                            words[way], sizeof *f);
    if (s && s->functions && way == FOLD_ONLY && s->functions->update) return true;
    if (s && !s->functions && cbx__traits_of[s->id].messages != CBX__MESSAGES_NONE) return true;
    if (s && s->functions)
        return cbx__refused(ctx, CBX_EINVAL,
                            way == FOLD_ONLY ? "'%s' over '%s' cannot fold messages: define 'update' in its functions"
                                             : "'%s' over '%s', defined by functions, has no derivative",
                            name, s->name);
    return cbx__refused(ctx, CBX_EINVAL,
                        "'%s' folds by the sum, maximum or minimum of an algebra (real, tropical), not of '%s'", name,
                        s ? s->name : "no algebra");
}

/*
 * The operands that are given, in order, and their roles in attrs->axis; false with a failure
 * recorded.
 */
static bool take_operands(cbx_ctx *ctx, const char *name, const cbx_ell *g, const cbx_array *const x[OPERANDS],
                          const cbx_semiring *s, const cbx_array **in, size_t *n, cbx_attrs *attrs)
{
    static const char *const words[] = { "x_row", "x_col", "attr" };
    cbx_dtype t;

    if (cbx__unusable(ctx, name, 1, &x[X_COL])) return false;
    t = x[X_COL]->desc.dtype;
    if (t != CBX_F32 && t != CBX_F64)
        return cbx__refused(ctx, CBX_EDTYPE, "'%s' takes float32 or float64, not %s", name, cbx_dtype_name(t));
    if (s->functions && t != s->functions->dtype)
        return cbx__refused(ctx, CBX_EDTYPE, "'%s' over '%s' takes %s, not %s: convert with 'astype'", name, s->name,
                            cbx_dtype_name(s->functions->dtype), cbx_dtype_name(t));
    for (int r = 0; r < OPERANDS; r++) {
        const int ndim = r == ATTR ? 3 : 2;
        size_t shape[3] = { r == X_COL ? g->cols : g->rows, r == ATTR ? g->width : 0, 0 };
        if (!x[r]) continue;
        shape[ndim - 1] = x[r]->flags & CBX__FAILED || x[r]->desc.ndim != ndim ? 0 : x[r]->desc.shape[ndim - 1];
        if (!cbx__ell_expect(ctx, name, words[r], x[r], t, ndim, shape)) return false;
        attrs->axis |= 1 << r;
        in[(*n)++] = x[r];
    }
    return true;
}

static void apply(cbx_ctx *ctx, cbx_prim p, const cbx_ell *g, const cbx_ell_edge_functions *f, const cbx_semiring *s,
                  size_t n, const cbx_array *const *in, cbx_attrs *attrs, size_t nout, cbx_array **out)
{
    if (cbx__algebra_put(ctx, s, g, f, attrs, cbx__sticky(ctx))) {
        for (size_t i = 0; i < nout; i++) out[i] = cbx__array_failed();
        return;
    }
    cbx_apply_all(ctx, p, n, in, attrs, out);
    cbx__object_unref(attrs->object);
}

cbx_array *cbx_ell_edge_aggregate(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *x_row, const cbx_array *x_col,
                                  const cbx_array *attr, const cbx_ell_edge_functions *f, const cbx_semiring *s)
{
    const char *name = "ell_edge_aggregate";
    const cbx_array *in[OPERANDS];
    cbx_attrs attrs = { 0 };
    size_t n = 0;
    cbx_array *out;

    if (!check(ctx, name, f, s, FOLD_ONLY) ||
        !take_operands(ctx, name, g, (const cbx_array *const[]){ x_row, x_col, attr }, s, in, &n, &attrs))
        return cbx__array_failed();
    apply(ctx, CBX_PRIM_ELL_EDGE, g, f, s, n, in, &attrs, 1, &out);
    return out;
}

void cbx_ell_edge_aggregate_vjp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *x_row, const cbx_array *x_col,
                                const cbx_array *attr, const cbx_ell_edge_functions *f, const cbx_semiring *s,
                                const cbx_array *h, cbx_array *d[3])
{
    const char *name = "ell_edge_aggregate_vjp";
    const cbx_array *const x[OPERANDS] = { x_row, x_col, attr }, *in[OPERANDS + 1];
    const size_t mark = cbx__mark(ctx);
    cbx_array *all[OPERANDS];
    cbx_attrs attrs = { 0 };
    size_t n = 0;

    for (int r = 0; r < OPERANDS; r++) d[r] = x[r] ? cbx__array_failed() : NULL;
    if (!check(ctx, name, f, s, BACKWARD) || !take_operands(ctx, name, g, x, s, in, &n, &attrs) ||
        !cbx__ell_expect(ctx, name, "the cotangent", h, in[0]->desc.dtype, 2, (const size_t[]){ g->rows, f->d_out }))
        return;
    in[n] = h;
    apply(ctx, CBX_PRIM_ELL_EDGE_VJP, g, f, s, n + 1, in, &attrs, OPERANDS, all);
    cbx__tidy_list(ctx, mark, OPERANDS, all);
    for (int r = 0; r < OPERANDS; r++)
        if (x[r]) d[r] = all[r];
}

cbx_array *cbx_ell_edge_aggregate_jvp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *x_row, const cbx_array *x_col,
                                      const cbx_array *attr, const cbx_ell_edge_functions *f, const cbx_semiring *s,
                                      const cbx_array *t_row, const cbx_array *t_col, const cbx_array *t_attr)
{
    static const char *const words[] = { "the tangent of x_row", "the tangent of x_col", "the tangent of attr" };
    const char *name = "ell_edge_aggregate_jvp";
    const cbx_array *const x[OPERANDS] = { x_row, x_col, attr }, *const t[OPERANDS] = { t_row, t_col, t_attr };
    const cbx_array *in[2 * OPERANDS];
    cbx_attrs attrs = { 0 };
    size_t n = 0, all;
    cbx_array *out;

    if (!check(ctx, name, f, s, FORWARD) || !take_operands(ctx, name, g, x, s, in, &n, &attrs))
        return cbx__array_failed();
    all = n;
    for (int r = 0; r < OPERANDS; r++) {
        if (!x[r] && !t[r]) continue;
        if (!x[r] || !t[r])
            return cbx__refuse(ctx, CBX_EINVAL, "'%s' has %s without %s: pass both, or neither", name,
                               t[r] ? words[r] : words[r] + strlen("the tangent of "),
                               t[r] ? words[r] + strlen("the tangent of ") : words[r]);
        if (!cbx__ell_expect(ctx, name, words[r], t[r], in[0]->desc.dtype, x[r]->desc.ndim, x[r]->desc.shape))
            return cbx__array_failed();
        in[all++] = t[r];
    }
    apply(ctx, CBX_PRIM_ELL_EDGE_JVP, g, f, s, all, in, &attrs, 1, &out);
    return out;
}
