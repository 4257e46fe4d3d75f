/*
 * Derivatives of ELL products: operands made ready for the kernels (kernels/ell_grad.h), those of the values by rows, those of B by
 * the transposed graph.
 */
#include "calibrax/array/ell_internal.h"
#include "calibrax/array/kernels/ell_isa.h"
#include "calibrax/array/kernels/semiring_isa.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/ops_internal.h"

cbx__ell_grad cbx__ell_grad_of(const cbx_ell *g, bool transposed, cbx_algebra algebra)
{
    if (transposed)
        return (cbx__ell_grad){ .algebra = algebra,
                                .rows = { .count = g->cols, .start = g->t_start },
                                .cols = { .count = g->rows, .start = g->start },
                                .index = g->t_index,
                                .t_index = g->index,
                                .place = g->t_place,
                                .t_place = g->place };
    return (cbx__ell_grad){ .algebra = algebra,
                            .rows = { .count = g->rows, .start = g->start },
                            .cols = { .count = g->cols, .start = g->t_start },
                            .index = g->index,
                            .t_index = g->t_index,
                            .place = g->place,
                            .t_place = g->t_place };
}

int cbx__ell_grad_threads(const cbx__ell_grad *q)
{
    return (double)q->rows.start[q->rows.count] * (double)q->d < 1e5 ? 1 : cbx__omp_threads();
}

/* One of the products whose derivatives these are. */
typedef struct product {
    const char *vjp, *jvp;
    bool transposed, scaled;
} product;

static const product plain = { "ell_matmul_vjp", "ell_matmul_jvp", false, false };
static const product transposed = { "ell_matmul_transposed_vjp", "ell_matmul_transposed_jvp", true, false };
static const product weighted = { "ell_aggregate_vjp", "ell_aggregate_jvp", false, true };

static bool check(cbx_ctx *ctx, const product *what, const char *name, const cbx_semiring *s, size_t n,
                  const cbx_array *const *in)
{
    if (cbx__unusable(ctx, name, n, in)) return false;
    if (!s || s->functions || cbx__traits_of[s->id].derivative == CBX__NO_DERIVATIVE) {
        cbx__refuse(ctx, !s || s->functions ? CBX_EINVAL : CBX_EDTYPE, "'%s' over '%s' has no derivative", name,
                    s ? s->name : "no algebra");
        return false;
    }
    if (what->scaled && cbx__traits_of[s->id].messages == CBX__MESSAGES_NONE) {
        cbx__refuse(ctx, CBX_EINVAL, "'%s' is of weighted messages, which '%s' does not fold: real and tropical do",
                    name, s->name);
        return false;
    }
    if (cbx_semiring_takes(s, in[0]->desc.dtype)) return true;
    cbx__refuse(ctx, CBX_EDTYPE, "'%s' takes float32 or float64, not %s", name, cbx_dtype_name(in[0]->desc.dtype));
    return false;
}

/* Values, B and C, and where each tropical element comes from; false with a failure recorded. */
static bool open_gradient(cbx_ctx *ctx, const char *name, const cbx_ell *g, const cbx_array *const in[3],
                          size_t shapes[3][2], cbx__ell_grad *s)
{
    const cbx_dtype t = in[0]->desc.dtype;

    s->dtype = t;
    s->d = in[1]->desc.ndim == 2 ? in[1]->desc.shape[1] : 0;
    s->threads = cbx__ell_grad_threads(s);
    shapes[0][0] = g->rows, shapes[0][1] = g->width;
    shapes[1][0] = s->cols.count, shapes[1][1] = s->d;
    shapes[2][0] = s->rows.count, shapes[2][1] = s->d;
    s->values = cbx__ell_operand(ctx, name, "values", in[0], t, 2, shapes[0]);
    s->b = cbx__ell_operand(ctx, name, "B", in[1], t, 2, shapes[1]);
    s->c = cbx__ell_operand(ctx, name, "C", in[2], t, 2, shapes[2]);
    if (!s->values || !s->b || !s->c) return false;
    if (cbx__traits_of[s->algebra].derivative != CBX__BY_OPTIMUM) return true;
    cbx_array *first = cbx__ell_result(ctx, CBX_I32, 2, shapes[2]);
    if (cbx_array_is_failed(first)) return false;
    s->first = first->data;
    cbx__ell_grad_run(s, CBX__ELL_FIRST);
    return true;
}

static void vjp_steps(cbx_ctx *ctx, const char *name, const cbx_ell *g, const cbx_array *const in[4], cbx__ell_grad *s,
                      cbx_array *d[2])
{
    const cbx_dtype t = in[0]->desc.dtype;
    size_t shapes[3][2];
    cbx_array *dv, *db;

    if (!open_gradient(ctx, name, g, in, shapes, s)) return;
    s->h = cbx__ell_operand(ctx, name, "the cotangent", in[3], t, 2, shapes[2]);
    dv = cbx__ell_values(ctx, g, t);
    db = cbx__ell_result(ctx, t, 2, shapes[1]);
    if (!s->h || cbx_array_is_failed(dv) || cbx_array_is_failed(db)) return;
    s->dv = dv->data, s->db = db->data;
    cbx__ell_grad_run(s, CBX__ELL_BACK_VALUES);
    cbx__ell_grad_run(s, CBX__ELL_BACK_DENSE);
    d[0] = dv, d[1] = db;
}

static void vjp(cbx_ctx *ctx, const product *what, const cbx_ell *g, const cbx_array *const in[4],
                const cbx_semiring *s, cbx_array *d[2])
{
    const size_t mark = cbx__mark(ctx);

    d[0] = d[1] = cbx__array_failed();
    if (!check(ctx, what, what->vjp, s, 4, in)) return;
    cbx__ell_grad q = cbx__ell_grad_of(g, what->transposed, s->id);
    q.scaled = what->scaled;
    vjp_steps(ctx, what->vjp, g, in, &q, d);
    cbx__tidy_list(ctx, mark, 2, d);
}

static cbx_array *jvp(cbx_ctx *ctx, const product *what, const cbx_ell *g, const cbx_array *const in[5],
                      const cbx_semiring *s)
{
    const size_t mark = cbx__mark(ctx);

    if (!check(ctx, what, what->jvp, s, 5, in)) return cbx__array_failed();
    cbx__ell_grad q = cbx__ell_grad_of(g, what->transposed, s->id);
    q.scaled = what->scaled;
    const cbx_dtype t = in[0]->desc.dtype;
    size_t shapes[3][2];
    cbx_array *tc;

    if (!open_gradient(ctx, what->jvp, g, in, shapes, &q)) return cbx__array_failed();
    q.tv = cbx__ell_operand(ctx, what->jvp, "the tangent of values", in[3], t, 2, shapes[0]);
    q.tb = cbx__ell_operand(ctx, what->jvp, "the tangent of B", in[4], t, 2, shapes[1]);
    tc = cbx__ell_result(ctx, t, 2, shapes[2]);
    if (!q.tv || !q.tb || cbx_array_is_failed(tc)) return cbx__array_failed();
    q.tc = tc->data;
    cbx__ell_grad_run(&q, CBX__ELL_FORWARD);
    return cbx__tidy(ctx, mark, tc);
}

/* --- the calls --- */

#define CALLS(name, what)                                                                                              \
    void name##_vjp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b, const cbx_array *c,   \
                    const cbx_array *h, const cbx_semiring *s, cbx_array *d[2])                                        \
    {                                                                                                                  \
        vjp(ctx, &what, g, (const cbx_array *const[]){ values, b, c, h }, s, d);                                       \
    }                                                                                                                  \
    cbx_array *name##_jvp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b,                 \
                          const cbx_array *c, const cbx_array *tv, const cbx_array *tb, const cbx_semiring *s)         \
    {                                                                                                                  \
        return jvp(ctx, &what, g, (const cbx_array *const[]){ values, b, c, tv, tb }, s);                              \
    }
CALLS(cbx_ell_matmul, plain)
CALLS(cbx_ell_matmul_transposed, transposed)
CALLS(cbx_ell_aggregate, weighted)
