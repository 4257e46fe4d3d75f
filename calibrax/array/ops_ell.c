/*
 * ELL products, weighted aggregation, softmax of rows, and their derivatives, in terms of their
 * primitives.
 */

#include "calibrax/array/ell_internal.h"
#include "calibrax/array/ops_internal.h"

void cbx__ell_apply(cbx_ctx *ctx, cbx_prim p, const char *name, const cbx_ell *g, const cbx_ell_edge_functions *f,
                    const cbx_semiring *s, size_t n, const cbx_array *const *in, cbx_attrs attrs, size_t nout,
                    cbx_array **out)
{
    const cbx__renaming renaming = cbx__rename(ctx, cbx_prim_name(p), name);

    for (size_t i = 0; i < nout; i++) out[i] = cbx__array_failed();
    if (cbx__algebra_put(ctx, s, g, f, &attrs, cbx__sticky(ctx))) return;
    cbx_apply_all(ctx, p, n, in, &attrs, out);
    cbx__object_unref(attrs.object);
    cbx__renamed(ctx, renaming, NULL);
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

static cbx_array *multiply(cbx_ctx *ctx, const product *what, const cbx_ell *g, const cbx_array *values,
                           const cbx_array *b, const cbx_semiring *s)
{
    cbx_array *c;

    if (!s) return cbx__refuse(ctx, CBX_EINVAL, "'%s' needs a semiring: get one from cbx_semiring_find", what->name);
    cbx__ell_apply(ctx, CBX_PRIM_ELL_MATMUL, what->name, g, NULL, s, 2, (const cbx_array *const[]){ values, b },
                   (cbx_attrs){ .axis = what->how }, 1, &c);
    return c;
}

static void vjp(cbx_ctx *ctx, const product *what, const cbx_ell *g, const cbx_array *const in[4],
                const cbx_semiring *s, cbx_array *d[2])
{
    d[0] = d[1] = cbx__array_failed();
    if (cbx__has_derivative(ctx, what->vjp, s, 4, in))
        cbx__ell_apply(ctx, CBX_PRIM_ELL_MATMUL_VJP, what->vjp, g, NULL, s, 4, in, (cbx_attrs){ .axis = what->how }, 2,
                       d);
}

static cbx_array *jvp(cbx_ctx *ctx, const product *what, const cbx_ell *g, const cbx_array *const in[5],
                      const cbx_semiring *s)
{
    cbx_array *tc = cbx__array_failed();

    if (cbx__has_derivative(ctx, what->jvp, s, 5, in))
        cbx__ell_apply(ctx, CBX_PRIM_ELL_MATMUL_JVP, what->jvp, g, NULL, s, 5, in, (cbx_attrs){ .axis = what->how }, 1,
                       &tc);
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

cbx_array *cbx_ell_softmax(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values)
{
    return cbx_apply(ctx, CBX_PRIM_ELL_SOFTMAX, 1, &values, &(cbx_attrs){ .object = &g->object });
}

cbx_array *cbx_ell_softmax_vjp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *y, const cbx_array *h)
{
    return cbx_apply(ctx, CBX_PRIM_ELL_SOFTMAX_VJP, 2, (const cbx_array *const[]){ y, h },
                     &(cbx_attrs){ .object = &g->object });
}

cbx_array *cbx_ell_pack(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *entries)
{
    return cbx_apply(ctx, CBX_PRIM_ELL_PACK, 1, &entries, &(cbx_attrs){ .object = &g->object });
}
