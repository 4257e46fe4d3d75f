/* Functions of the rows of test_derivatives.c over a graph, of functions of an edge, and over an
 * algebra given by functions. */
#ifndef CALIBRAX_TESTS_ARRAY_DERIVATIVE_GRAPH_H
#define CALIBRAX_TESTS_ARRAY_DERIVATIVE_GRAPH_H

#include "derivative_rows.h"

#include "calibrax/array/backend.h"
#include "calibrax/array/kernels/semiring.h"

/* A row without edges gives an infinity, which has no differences. */
static cbx_array *finite_of(cbx_ctx *c, const cbx_array *y)
{
    return cbx_where(c, cbx_isfinite(c, y), y, cbx_zeros_like(c, y));
}

FN(on_graph)
{
    UNUSED;
    const row *r = user;
    cbx_attrs attrs = r->attrs;
    const cbx_array *all[OPERANDS];

    attrs.object = &derivative_graph->object;
    for (size_t i = 0; i < nin; i++) all[i] = in[i];
    if (r->prim == CBX_PRIM_ELL_SOFTMAX_VJP) all[0] = cbx_ell_softmax(c, derivative_graph, in[0]);
    if (r->prim == CBX_PRIM_ELL_MATMUL_VJP || r->prim == CBX_PRIM_ELL_MATMUL_JVP) {
        all[2] = cbx_apply(c, CBX_PRIM_ELL_MATMUL, 2, all, &attrs);
        for (size_t i = 2; i < nin; i++) all[i + 1] = in[i];
        nin++;
    }
    cbx_apply_all(c, r->prim, nin, all, &attrs, out);
    if (r->prim == CBX_PRIM_ELL_MATMUL) out[0] = finite_of(c, out[0]);
    return CBX_OK;
}

enum { D_OUT = 2 };

/* m = sin(x_row attr) + x_col^2 */
static void message(void *user, const cbx_ell_edge *e, void *m)
{
    const double *r = e->x_row, *k = e->x_col, *a = e->attr;
    (void)user;
    for (int o = 0; o < D_OUT; o++) ((double *)m)[o] = sin(r[o] * a[o]) + k[o] * k[o];
}
static void message_vjp(void *user, const cbx_ell_edge *e, const void *h, void *d_row, void *d_col, void *d_attr)
{
    const double *r = e->x_row, *k = e->x_col, *a = e->attr, *g = h;
    (void)user;
    for (int o = 0; o < D_OUT; o++) {
        if (d_row) ((double *)d_row)[o] += g[o] * a[o] * cos(r[o] * a[o]);
        if (d_col) ((double *)d_col)[o] += g[o] * 2 * k[o];
        if (d_attr) ((double *)d_attr)[o] += g[o] * r[o] * cos(r[o] * a[o]);
    }
}
static void message_jvp(void *user, const cbx_ell_edge *e, const void *t_row, const void *t_col, const void *t_attr,
                        void *t)
{
    const double *r = e->x_row, *k = e->x_col, *a = e->attr, *tr = t_row, *tc = t_col, *ta = t_attr;
    (void)user;
    for (int o = 0; o < D_OUT; o++)
        ((double *)t)[o] = (tr[o] * a[o] + r[o] * ta[o]) * cos(r[o] * a[o]) + 2 * k[o] * tc[o];
}
FN(message_formula)
{
    UNUSED;
    out[0] = cbx_add(c, cbx_sin(c, cbx_multiply(c, in[0], in[2])), cbx_square(c, in[1]));
    return CBX_OK;
}
static const cbx_ell_edge_functions edge = { sizeof edge, D_OUT,       NULL,           message,
                                             message_vjp, message_jvp, message_formula };
static const cbx_ell_edge_functions edge_formula = { sizeof edge, D_OUT, NULL, message, NULL, NULL, message_formula };

static const cbx_semiring *fold_of(const row *r) { return cbx_semiring_get((cbx_algebra)r->attrs.mode); }

FN(edges)
{
    UNUSED;
    out[0] = finite_of(c, cbx_ell_edge_aggregate(c, derivative_graph, in[0], in[1], in[2], &edge, fold_of(user)));
    return CBX_OK;
}
FN(edges_by_formula)
{
    UNUSED;
    out[0] = finite_of(c,
                       cbx_ell_edge_aggregate(c, derivative_graph, in[0], in[1], in[2], &edge_formula, fold_of(user)));
    return CBX_OK;
}
FN(edges_vjp)
{
    UNUSED;
    cbx_ell_edge_aggregate_vjp(c, derivative_graph, in[0], in[1], in[2], &edge, fold_of(user), in[3], out);
    return CBX_OK;
}
FN(edges_jvp)
{
    UNUSED;
    out[0] = cbx_ell_edge_aggregate_jvp(c, derivative_graph, in[0], in[1], in[2], &edge, fold_of(user), in[3], in[4],
                                        in[5]);
    return CBX_OK;
}

/* ---- an algebra given by functions: s / sqrt(q) of sums s of terms and q of their squares, terms
 * a b + cos a ---- */

typedef struct sums {
    double s, q;
} sums;

static void moments_start(void *user, size_t n, void *state)
{
    (void)user;
    for (size_t j = 0; j < n; j++) ((sums *)state)[j] = (sums){ 0, 1 };
}
static void moments_update(void *user, size_t n, const void *t, void *state)
{
    const double *x = t;
    (void)user;
    for (size_t j = 0; j < n; j++) ((sums *)state)[j].s += x[j], ((sums *)state)[j].q += x[j] * x[j];
}
static void moments_step(void *user, size_t n, const void *a, const void *b, void *state)
{
    const double x = *(const double *)a, *y = b;
    for (size_t j = 0; j < n; j++) moments_update(user, 1, &(double){ x * y[j] + cos(x) }, (sums *)state + j);
}
static void moments_finish(void *user, size_t n, const void *state, void *c)
{
    const sums *x = state;
    (void)user;
    for (size_t j = 0; j < n; j++) ((double *)c)[j] = x[j].s / sqrt(x[j].q);
}
FN(moments_combine)
{
    UNUSED;
    out[0] = cbx_add(c, cbx_multiply(c, in[0], in[1]), cbx_cos(c, in[0]));
    return CBX_OK;
}
FN(moments_updated)
{
    UNUSED;
    out[0] = cbx_add(c, in[0], in[2]);
    out[1] = cbx_add(c, in[1], cbx_square(c, in[2]));
    return CBX_OK;
}
FN(moments_finished)
{
    UNUSED;
    out[0] = cbx_divide(c, in[0], cbx_sqrt(c, in[1]));
    return CBX_OK;
}
static const cbx_semiring_formulas moments_formulas = { sizeof moments_formulas,  2,
                                                        (const double[]){ 0, 1 }, moments_combine,
                                                        moments_updated,          moments_finished };
static const cbx_semiring_functions moments_functions = { CBX_F64,        sizeof(sums),     NULL,
                                                          moments_start,  moments_step,     moments_finish,
                                                          moments_update, &moments_formulas };
static cbx_semiring moments;

FN(functions_matmul)
{
    UNUSED;
    out[0] = cbx_semiring_matmul(c, in[0], in[1], &moments);
    return CBX_OK;
}
FN(functions_conv)
{
    UNUSED;
    cbx_conv_options o = CBX_CONV_INIT;
    o.padding = (cbx_conv_padding)((const row *)user)->attrs.mode;
    o.stride[0] = 2;
    out[0] = cbx_semiring_conv(c, in[0], in[1], &moments, &o);
    return CBX_OK;
}
FN(functions_ell)
{
    UNUSED;
    const int how = ((const row *)user)->attrs.axis;
    out[0] = how & CBX__ELL_SCALED       ? cbx_ell_aggregate(c, derivative_graph, in[0], in[1], &moments)
             : how & CBX__ELL_TRANSPOSED ? cbx_ell_matmul_transposed(c, derivative_graph, in[0], in[1], &moments)
                                         : cbx_ell_matmul(c, derivative_graph, in[0], in[1], &moments);
    return CBX_OK;
}
FN(edges_folded)
{
    UNUSED;
    out[0] = cbx_ell_edge_aggregate(c, derivative_graph, in[0], in[1], in[2], &edge, &moments);
    return CBX_OK;
}

#endif
