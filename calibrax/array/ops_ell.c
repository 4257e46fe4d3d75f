/*
 * ELL products, weighted aggregation, softmax of rows, and their derivatives, in terms of their
 * primitives.
 */

#include "calibrax/array/ell_internal.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/ops_internal.h"

bool cbx__ell_expect(cbx_ctx *ctx, const char *name, const char *what, const cbx_array *x, cbx_dtype dtype, int ndim,
                     const size_t *shape)
{
    const cbx_array_desc wanted = { dtype, ndim, { shape[0], ndim > 1 ? shape[1] : 0, ndim > 2 ? shape[2] : 0 } };
    char has[160], wants[160];

    if (cbx__unusable(ctx, name, 1, &x)) return false;
    if (cbx_array_desc_equal(&x->desc, &wanted)) return true;
    return cbx__refused(ctx, x->desc.dtype != dtype ? CBX_EDTYPE : CBX_ESHAPE, "'%s' expects %s %s, not %s", name, what,
                        cbx_array_desc_text(&wanted, wants, sizeof wants),
                        cbx_array_desc_text(&x->desc, has, sizeof has));
}

/* One of the products: how is the axis of its attributes. */
typedef struct product {
    const char *name, *vjp, *jvp;
    int how;
} product;

static const product plain = { "ell_matmul", "ell_matmul_vjp", "ell_matmul_jvp", 0 };
static const product transposed = { "ell_matmul_transposed", "ell_matmul_transposed_vjp", "ell_matmul_transposed_jvp",
                                    CBX__ELL_TRANSPOSED };
static const product weighted = { "ell_aggregate", "ell_aggregate_vjp", "ell_aggregate_jvp", CBX__ELL_SCALED };

/* Lengths of values, b and the product. */
typedef struct shapes {
    size_t values[2], b[2], c[2];
} shapes;

/* False, with a failure recorded, unless values and b fit the graph. */
static bool fit(cbx_ctx *ctx, const product *what, const char *name, const cbx_ell *g, const cbx_array *values,
                const cbx_array *b, shapes *s)
{
    const cbx_dtype t = values->desc.dtype;
    const bool other = what->how & CBX__ELL_TRANSPOSED;
    const size_t d = b->desc.ndim == 2 ? b->desc.shape[1] : 0;

    *s = (shapes){ { g->rows, g->width }, { other ? g->rows : g->cols, d }, { other ? g->cols : g->rows, d } };
    return cbx__ell_expect(ctx, name, "values", values, t, 2, s->values) &&
           cbx__ell_expect(ctx, name, "B", b, t, 2, s->b);
}

/* The operation with the attributes of a product. */
static bool apply(cbx_ctx *ctx, cbx_prim p, const product *what, const cbx_ell *g, const cbx_semiring *s, size_t n,
                  const cbx_array *const *in, cbx_array **out)
{
    cbx_attrs attrs = { .axis = what->how };

    if (cbx__algebra_put(ctx, s, g, NULL, &attrs, cbx__sticky(ctx))) return false;
    cbx_apply_all(ctx, p, n, in, &attrs, out);
    cbx__object_unref(attrs.object);
    return true;
}

static cbx_array *multiply(cbx_ctx *ctx, const product *what, const cbx_ell *g, const cbx_array *values,
                           const cbx_array *b, const cbx_semiring *s)
{
    const cbx_array *in[] = { values, b };
    cbx_array *c = cbx__array_failed();
    shapes n;

    if (cbx__unusable(ctx, what->name, 2, in)) return cbx__array_failed();
    if (!s) return cbx__refuse(ctx, CBX_EINVAL, "'%s' needs a semiring: get one from cbx_semiring_find", what->name);
    if (!cbx_semiring_takes(s, values->desc.dtype))
        return cbx__refuse(ctx, CBX_EDTYPE, "'%s' over '%s' does not take %s: convert with 'astype'", what->name,
                           s->name, cbx_dtype_name(values->desc.dtype));
    if (!fit(ctx, what, what->name, g, values, b, &n)) return cbx__array_failed();
    apply(ctx, CBX_PRIM_ELL_MATMUL, what, g, s, 2, in, &c);
    return c;
}

/* ---- derivatives ---- */

static bool has_derivative(cbx_ctx *ctx, const product *what, const char *name, const cbx_semiring *s, size_t n,
                           const cbx_array *const *in)
{
    if (cbx__unusable(ctx, name, n, in)) return false;
    if (!s || s->functions || cbx__traits_of[s->id].derivative == CBX__NO_DERIVATIVE)
        return cbx__refused(ctx, !s || s->functions ? CBX_EINVAL : CBX_EDTYPE, "'%s' over '%s' has no derivative", name,
                            s ? s->name : "no algebra");
    if (what->how & CBX__ELL_SCALED && cbx__traits_of[s->id].messages == CBX__MESSAGES_NONE)
        return cbx__refused(ctx, CBX_EINVAL,
                            "'%s' is of weighted messages, which '%s' does not fold: real and tropical do", name,
                            s->name);
    if (cbx_semiring_takes(s, in[0]->desc.dtype)) return true;
    return cbx__refused(ctx, CBX_EDTYPE, "'%s' takes float32 or float64, not %s", name,
                        cbx_dtype_name(in[0]->desc.dtype));
}

static void vjp(cbx_ctx *ctx, const product *what, const cbx_ell *g, const cbx_array *const in[4],
                const cbx_semiring *s, cbx_array *d[2])
{
    shapes n;

    d[0] = d[1] = cbx__array_failed();
    if (!has_derivative(ctx, what, what->vjp, s, 4, in) || !fit(ctx, what, what->vjp, g, in[0], in[1], &n) ||
        !cbx__ell_expect(ctx, what->vjp, "C", in[2], in[0]->desc.dtype, 2, n.c) ||
        !cbx__ell_expect(ctx, what->vjp, "the cotangent", in[3], in[0]->desc.dtype, 2, n.c))
        return;
    apply(ctx, CBX_PRIM_ELL_MATMUL_VJP, what, g, s, 4, in, d);
}

static cbx_array *jvp(cbx_ctx *ctx, const product *what, const cbx_ell *g, const cbx_array *const in[5],
                      const cbx_semiring *s)
{
    cbx_array *tc = cbx__array_failed();
    shapes n;

    if (!has_derivative(ctx, what, what->jvp, s, 5, in) || !fit(ctx, what, what->jvp, g, in[0], in[1], &n) ||
        !cbx__ell_expect(ctx, what->jvp, "C", in[2], in[0]->desc.dtype, 2, n.c) ||
        !cbx__ell_expect(ctx, what->jvp, "the tangent of values", in[3], in[0]->desc.dtype, 2, n.values) ||
        !cbx__ell_expect(ctx, what->jvp, "the tangent of B", in[4], in[0]->desc.dtype, 2, n.b))
        return tc;
    apply(ctx, CBX_PRIM_ELL_MATMUL_JVP, what, g, s, 5, in, &tc);
    return tc;
}

#define CALLS(function, what)                                                                                          \
    cbx_array *function(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b,                   \
                        const cbx_semiring *s)                                                                         \
    {                                                                                                                  \
        return multiply(ctx, &what, g, values, b, s);                                                                  \
    }                                                                                                                  \
    void function##_vjp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b,                   \
                        const cbx_array *c, const cbx_array *h, const cbx_semiring *s, cbx_array *d[2])                \
    {                                                                                                                  \
        vjp(ctx, &what, g, (const cbx_array *const[]){ values, b, c, h }, s, d);                                       \
    }                                                                                                                  \
    cbx_array *function##_jvp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b,             \
                              const cbx_array *c, const cbx_array *tv, const cbx_array *tb, const cbx_semiring *s)     \
    {                                                                                                                  \
        return jvp(ctx, &what, g, (const cbx_array *const[]){ values, b, c, tv, tb }, s);                              \
    }
CALLS(cbx_ell_matmul, plain)
CALLS(cbx_ell_matmul_transposed, transposed)
CALLS(cbx_ell_aggregate, weighted)

/* ---- softmax, values ---- */

/* n operands of the shape of the table and of one float type. */
static bool are_values(cbx_ctx *ctx, const char *name, const cbx_ell *g, size_t n, const cbx_array *const *in,
                       const char *const *words)
{
    const size_t table[] = { g->rows, g->width };

    if (cbx__unusable(ctx, name, 1, in)) return false;
    if (in[0]->desc.dtype != CBX_F32 && in[0]->desc.dtype != CBX_F64)
        return cbx__refused(ctx, CBX_EDTYPE, "'%s' takes float32 or float64, not %s", name,
                            cbx_dtype_name(in[0]->desc.dtype));
    for (size_t i = 0; i < n; i++)
        if (!cbx__ell_expect(ctx, name, words[i], in[i], in[0]->desc.dtype, 2, table)) return false;
    return true;
}

cbx_array *cbx_ell_softmax(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values)
{
    if (!are_values(ctx, "ell_softmax", g, 1, &values, (const char *const[]){ "values" })) return cbx__array_failed();
    return cbx_apply(ctx, CBX_PRIM_ELL_SOFTMAX, 1, &values, &(cbx_attrs){ .object = &g->object });
}

cbx_array *cbx_ell_softmax_vjp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *y, const cbx_array *h)
{
    const cbx_array *const in[] = { y, h };

    if (!are_values(ctx, "ell_softmax_vjp", g, 2, in, (const char *const[]){ "y", "h" })) return cbx__array_failed();
    return cbx_apply(ctx, CBX_PRIM_ELL_SOFTMAX_VJP, 2, in, &(cbx_attrs){ .object = &g->object });
}

cbx_array *cbx_ell_pack(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *entries)
{
    if (cbx__unusable(ctx, "ell_pack", 1, &entries) ||
        !cbx__ell_expect(ctx, "ell_pack", "entries", entries, entries->desc.dtype, 1, (const size_t[]){ g->entries }))
        return cbx__array_failed();
    return cbx_apply(ctx, CBX_PRIM_ELL_PACK, 1, &entries, &(cbx_attrs){ .object = &g->object });
}
