/*
 * Aggregation over edges by a function of an edge, and its derivatives, in terms of their
 * primitives.
 */
#include <string.h>

#include "calibrax/array/ell_internal.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/ops_internal.h"

enum { OPERANDS = CBX__EDGE_OPERANDS };

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

/* The operands that are given, in order, and their roles in attrs->axis: how many they are. */
static size_t take_operands(const cbx_array *const x[OPERANDS], const cbx_array **in, cbx_attrs *attrs)
{
    size_t n = 0;

    for (int r = 0; r < OPERANDS; r++) {
        if (!x[r] && r != CBX__X_COL) continue;
        attrs->axis |= 1 << r;
        in[n++] = x[r];
    }
    return n;
}

cbx_array *cbx_ell_edge_aggregate(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *x_row, const cbx_array *x_col,
                                  const cbx_array *attr, const cbx_ell_edge_functions *f, const cbx_semiring *s)
{
    const char *name = "ell_edge_aggregate";
    const cbx_array *in[OPERANDS];
    cbx_attrs attrs = { 0 };
    size_t n;
    cbx_array *out;

    if (!check(ctx, name, f, s, FOLD_ONLY)) return cbx__array_failed();
    n = take_operands((const cbx_array *const[]){ x_row, x_col, attr }, in, &attrs);
    cbx__ell_apply(ctx, CBX_PRIM_ELL_EDGE, name, g, f, s, n, in, attrs, 1, &out);
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
    size_t n;

    for (int r = 0; r < OPERANDS; r++) d[r] = x[r] ? cbx__array_failed() : NULL;
    if (!check(ctx, name, f, s, BACKWARD)) return;
    n = take_operands(x, in, &attrs);
    in[n] = h;
    cbx__ell_apply(ctx, CBX_PRIM_ELL_EDGE_VJP, name, g, f, s, n + 1, in, attrs, OPERANDS, all);
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
    size_t n;
    cbx_array *out;

    if (!check(ctx, name, f, s, FORWARD)) return cbx__array_failed();
    n = take_operands(x, in, &attrs);
    for (int r = 0; r < OPERANDS; r++) {
        if (!x[r] && !t[r]) continue;
        if (!x[r] || !t[r])
            return cbx__refuse(ctx, CBX_EINVAL, "'%s' has %s without %s: pass both, or neither", name,
                               t[r] ? words[r] : words[r] + strlen("the tangent of "),
                               t[r] ? words[r] + strlen("the tangent of ") : words[r]);
        in[n++] = t[r];
    }
    cbx__ell_apply(ctx, CBX_PRIM_ELL_EDGE_JVP, name, g, f, s, n, in, attrs, 1, &out);
    return out;
}
