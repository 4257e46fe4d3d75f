/*
 * Derivatives of products and convolutions over an algebra, in terms of their primitives.
 */
#include <string.h>

#include "calibrax/array/algebra_object.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/ops_internal.h"
#include "calibrax/array/semiring.h"

enum { A, B, C };

/* Shapes of operands and product under their common lead. */
typedef struct stacks {
    int lead;
    size_t shape[3][CBX_MAX_RANK];
} stacks;

bool cbx__has_derivative(cbx_ctx *ctx, const char *name, const cbx_semiring *s, size_t n, const cbx_array *const *in)
{
    if (cbx__unusable(ctx, name, n, in)) return false;
    if (s && !s->functions && cbx__traits_of[s->id].derivative != CBX__NO_DERIVATIVE) return true;
    return cbx__refused(ctx, !s || s->functions ? CBX_EINVAL : CBX_EDTYPE, "'%s' over '%s' has no derivative", name,
                        s ? s->name : "no algebra");
}

static bool same_shape(const cbx_array *x, int ndim, const size_t *shape)
{
    return x->desc.ndim == ndim && memcmp(x->desc.shape, shape, (size_t)ndim * sizeof *shape) == 0;
}

/* Tangents must be shaped as their operands. */
static bool tangents_fit(cbx_ctx *ctx, const char *name, const cbx_array *const *in)
{
    for (int i = 0; i < 2; i++) {
        if (same_shape(in[3 + i], in[i]->desc.ndim, in[i]->desc.shape)) continue;
        return cbx__refused(ctx, CBX_ESHAPE, "the %s tangent of '%s' is %s, its operand %s", i ? "second" : "first",
                            name, CBX__DESC_TEXT(&in[3 + i]->desc), CBX__DESC_TEXT(&in[i]->desc));
    }
    return true;
}

static void fail_both(cbx_array *d[2]) { d[0] = d[1] = cbx__array_failed(); }

/* ---- matrices ---- */

/* c must have the product's shape. */
static bool stacks_of(cbx_ctx *ctx, const char *name, const cbx_array *a, const cbx_array *b, const cbx_array *c,
                      stacks *s)
{
    bool fits = a->desc.ndim >= 2 && b->desc.ndim >= 2;

    if (fits) {
        const size_t *ea = a->desc.shape + a->desc.ndim - 2, *eb = b->desc.shape + b->desc.ndim - 2;
        fits = cbx__common_lead(a, b, &s->lead, s->shape[A]) && ea[1] == eb[0];
        for (int i = 0; fits && i < s->lead; i++) s->shape[B][i] = s->shape[C][i] = s->shape[A][i];
        if (fits) {
            s->shape[A][s->lead] = s->shape[C][s->lead] = ea[0];
            s->shape[A][s->lead + 1] = s->shape[B][s->lead] = ea[1];
            s->shape[B][s->lead + 1] = s->shape[C][s->lead + 1] = eb[1];
        }
    }
    if (fits && same_shape(c, s->lead + 2, s->shape[C])) return true;
    return cbx__refused(ctx, CBX_ESHAPE, "'%s' cannot join %s with %s to %s", name, CBX__DESC_TEXT(&a->desc),
                        CBX__DESC_TEXT(&b->desc), CBX__DESC_TEXT(&c->desc));
}

/* x with the lead of the others. */
static cbx_array *stack_of(cbx_ctx *ctx, const stacks *s, const cbx_array *x, int role)
{
    return cbx__to_shape(ctx, x, s->lead + 2, s->shape[role]);
}

/* A cotangent summed over the axes that its operand was broadcast along. */
static cbx_array *narrowed(cbx_ctx *ctx, cbx_array *d, const cbx_array *like)
{
    cbx_axes axes = { .keep = true };
    const int extra = d->desc.ndim - like->desc.ndim;

    if (cbx_array_is_failed(d)) return d;
    for (int i = 0; i < d->desc.ndim; i++)
        if (i < extra || like->desc.shape[i - extra] != d->desc.shape[i]) axes.axis[axes.n++] = i;
    if (axes.n > 0) d = cbx_sum(ctx, d, &axes);
    if (cbx_array_is_failed(d)) return d;
    return extra ? cbx__reshaped(ctx, d, like->desc.ndim, like->desc.shape) : d;
}

void cbx_semiring_matmul_vjp(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, const cbx_array *c,
                             const cbx_array *g, const cbx_semiring *s, cbx_array *d[2])
{
    const cbx_array *in[4] = { a, b, c, g };
    const char *name = "semiring_matmul_vjp";
    const size_t mark = cbx__mark(ctx);
    stacks k;

    fail_both(d);
    if (!cbx__has_derivative(ctx, name, s, 4, in) || !stacks_of(ctx, name, a, b, c, &k) ||
        !stacks_of(ctx, name, a, b, g, &k))
        return;
    for (int i = 0; i < 4; i++) in[i] = stack_of(ctx, &k, in[i], i < C ? i : C);
    cbx_apply_all(ctx, CBX_PRIM_SEMIRING_MATMUL_VJP, 4, in, &(cbx_attrs){ .mode = (int)s->id }, d);
    d[0] = narrowed(ctx, d[0], a);
    d[1] = narrowed(ctx, d[1], b);
    cbx__tidy_list(ctx, mark, 2, d);
}

cbx_array *cbx_semiring_matmul_jvp(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, const cbx_array *c,
                                   const cbx_array *ta, const cbx_array *tb, const cbx_semiring *s)
{
    static const int roles[] = { A, B, C, A, B };
    const cbx_array *in[5] = { a, b, c, ta, tb };
    const char *name = "semiring_matmul_jvp";
    const size_t mark = cbx__mark(ctx);
    cbx_array *tc;
    stacks k;

    if (!cbx__has_derivative(ctx, name, s, 5, in) || !stacks_of(ctx, name, a, b, c, &k) || !tangents_fit(ctx, name, in))
        return cbx__array_failed();
    for (int i = 0; i < 5; i++) in[i] = stack_of(ctx, &k, in[i], roles[i]);
    tc = cbx_apply(ctx, CBX_PRIM_SEMIRING_MATMUL_JVP, 5, in, &(cbx_attrs){ .mode = (int)s->id });
    return cbx__tidy(ctx, mark, tc);
}

/* ---- convolutions ---- */

/* Attributes of a convolution; y and, of the backward direction, g must have its shape. */
static bool conv_fits(cbx_ctx *ctx, const char *name, const cbx_array *x, const cbx_array *w,
                      const cbx_array *const like_y[2], const cbx_semiring *s, const cbx_conv_options *options,
                      cbx_attrs *attrs)
{
    size_t shape[CBX_MAX_RANK];
    cbx_dtype t;
    int lead;

    if (!cbx__conv_attrs(ctx, x, w, s, options, attrs, &t)) return false;
    lead = x->desc.ndim - 1 - attrs->ndim;
    memcpy(shape, x->desc.shape, (size_t)lead * sizeof *shape);
    memcpy(shape + lead, attrs->shape, (size_t)attrs->ndim * sizeof *shape);
    shape[lead + attrs->ndim] = w->desc.shape[attrs->ndim + 1];
    for (int i = 0; i < 2; i++) {
        if (!like_y[i] || same_shape(like_y[i], x->desc.ndim, shape)) continue;
        return cbx__refused(ctx, CBX_ESHAPE, "operand %d of '%s' is %s, which is not the convolution's shape", i + 3,
                            name, CBX__DESC_TEXT(&like_y[i]->desc));
    }
    return true;
}

void cbx_semiring_conv_vjp(cbx_ctx *ctx, const cbx_array *x, const cbx_array *w, const cbx_array *y, const cbx_array *g,
                           const cbx_semiring *s, const cbx_conv_options *options, cbx_array *d[2])
{
    const cbx_array *in[4] = { x, w, y, g };
    const size_t mark = cbx__mark(ctx);
    cbx_attrs attrs;

    fail_both(d);
    if (!cbx__has_derivative(ctx, "semiring_conv_vjp", s, 4, in) ||
        !conv_fits(ctx, "semiring_conv_vjp", x, w, in + 2, s, options, &attrs))
        return;
    for (int i = 0; i < 4; i++)
        if (i != 1) in[i] = cbx__conv_images(ctx, in[i], attrs.ndim);
    cbx_apply_all(ctx, CBX_PRIM_SEMIRING_CONV_VJP, 4, in, &attrs, d);
    d[0] = cbx__reshaped(ctx, d[0], x->desc.ndim, x->desc.shape);
    cbx__tidy_list(ctx, mark, 2, d);
}

cbx_array *cbx_semiring_conv_jvp(cbx_ctx *ctx, const cbx_array *x, const cbx_array *w, const cbx_array *y,
                                 const cbx_array *tx, const cbx_array *tw, const cbx_semiring *s,
                                 const cbx_conv_options *options)
{
    const cbx_array *in[5] = { x, w, y, tx, tw }, *const like_y[2] = { y, NULL };
    const size_t mark = cbx__mark(ctx);
    cbx_attrs attrs;
    cbx_array *ty;

    if (!cbx__has_derivative(ctx, "semiring_conv_jvp", s, 5, in) ||
        !conv_fits(ctx, "semiring_conv_jvp", x, w, like_y, s, options, &attrs) ||
        !tangents_fit(ctx, "semiring_conv_jvp", in))
        return cbx__array_failed();
    for (int i = 0; i < 4; i++)
        if (i != 1) in[i] = cbx__conv_images(ctx, in[i], attrs.ndim);
    ty = cbx_apply(ctx, CBX_PRIM_SEMIRING_CONV_JVP, 5, in, &attrs);
    return cbx__tidy(ctx, mark, cbx__reshaped(ctx, ty, y->desc.ndim, y->desc.shape));
}
