/*
 * ELL products, weighted aggregation and softmax of arrays.
 */
#include <string.h>

#include "calibrax/array/ell_internal.h"
#include "calibrax/array/ops_internal.h"
#include "calibrax/array/reference/reference.h"

/* --- operands and results --- */

const void *cbx__ell_operand(cbx_ctx *ctx, const char *name, const char *what, const cbx_array *x, cbx_dtype dtype,
                             int ndim, const size_t *shape)
{
    const cbx_array_desc wanted = { dtype, ndim, { shape[0], ndim > 1 ? shape[1] : 0, ndim > 2 ? shape[2] : 0 } };
    cbx_array *copy = NULL;
    char has[160], wants[160];

    if (cbx__unusable(ctx, name, 1, &x)) return NULL;
    if (x->desc.dtype != dtype ||
        !(x->desc.ndim == ndim && memcmp(x->desc.shape, shape, (size_t)ndim * sizeof *shape) == 0)) {
        cbx__refuse(ctx, x->desc.dtype != dtype ? CBX_EDTYPE : CBX_ESHAPE, "'%s' expects %s %s, not %s", name, what,
                    cbx_array_desc_text(&wanted, wants, sizeof wants), cbx_array_desc_text(&x->desc, has, sizeof has));
        return NULL;
    }
    if (x->flags & CBX__ABSTRACT) {
        cbx__refuse(ctx, CBX_EINVAL, "'%s' needs data, %s is abstract", name, what);
        return NULL;
    }
    if (cbx__ref_dense(ctx, x, &copy, cbx__sticky(ctx))) return NULL;
    return cbx_array_is_failed(cbx_scope_hold(ctx, copy)) ? NULL : copy->data ? copy->data : "";
}

cbx_array *cbx__ell_result(cbx_ctx *ctx, cbx_dtype dtype, int ndim, const size_t *shape)
{
    cbx_array_desc d = { dtype, ndim, { 0 } };
    cbx_array *x = NULL;

    memcpy(d.shape, shape, (size_t)ndim * sizeof *shape);
    return cbx_array_create(ctx, &d, &x, cbx__sticky(ctx)) ? cbx__array_failed() : cbx_scope_hold(ctx, x);
}

cbx_array *cbx__ell_values(cbx_ctx *ctx, const cbx_ell *g, cbx_dtype dtype)
{
    cbx_array *x = cbx__ell_result(ctx, dtype, 2, (const size_t[]){ g->rows, g->width });

    if (!cbx_array_is_failed(x) && g->place) memset(x->data, 0, cbx_array_bytes(x));
    return x;
}

/* --- products --- */

static cbx_array *product(cbx_ctx *ctx, const char *name, const cbx_ell *g, bool transposed, bool scaled,
                          const cbx_array *values, const cbx_array *b, const cbx_semiring *s)
{
    const cbx_array *in[] = { values, b };
    const size_t mark = cbx__mark(ctx), table[] = { g->rows, g->width };
    cbx_ell_product p;

    if (cbx__unusable(ctx, name, 2, in)) return cbx__array_failed();
    cbx_ell_view(g, transposed, &p);
    p.semiring = s;
    p.scaled = scaled;
    p.dtype = values->desc.dtype;
    if (!s) return cbx__refuse(ctx, CBX_EINVAL, "'%s' needs a semiring: get one from cbx_semiring_find", name);
    if (!cbx_semiring_takes(s, p.dtype))
        return cbx__refuse(ctx, CBX_EDTYPE, "'%s' over '%s' does not take %s: convert with 'astype'", name, s->name,
                           cbx_dtype_name(p.dtype));
    const size_t dense[] = { p.cols, b->desc.ndim == 2 ? b->desc.shape[1] : 0 }, out[] = { p.rows, dense[1] };
    cbx_array *c;

    p.values = cbx__ell_operand(ctx, name, "values", values, p.dtype, 2, table);
    p.b = cbx__ell_operand(ctx, name, "B", b, p.dtype, 2, dense);
    if (!p.values || !p.b) return cbx__array_failed();
    c = cbx__ell_result(ctx, p.dtype, 2, out);
    if (cbx_array_is_failed(c)) return cbx__tidy(ctx, mark, c);
    p.c = c->data;
    p.d = p.ldb = p.ldc = dense[1];
    return cbx__tidy(ctx, mark, cbx_ell_product_run(&p, cbx__sticky(ctx)) ? cbx__array_failed() : c);
}

cbx_array *cbx_ell_matmul(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b,
                          const cbx_semiring *s)
{
    return product(ctx, "ell_matmul", g, false, false, values, b, s);
}

cbx_array *cbx_ell_matmul_transposed(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b,
                                     const cbx_semiring *s)
{
    return product(ctx, "ell_matmul_transposed", g, true, false, values, b, s);
}

cbx_array *cbx_ell_aggregate(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b,
                             const cbx_semiring *s)
{
    return product(ctx, "ell_aggregate", g, false, true, values, b, s);
}

/* --- softmax --- */

static bool is_float(cbx_ctx *ctx, const char *name, const cbx_array *x)
{
    if (cbx__unusable(ctx, name, 1, &x)) return false;
    if (x->desc.dtype == CBX_F32 || x->desc.dtype == CBX_F64) return true;
    cbx__refuse(ctx, CBX_EDTYPE, "'%s' takes float32 or float64, not %s", name, cbx_dtype_name(x->desc.dtype));
    return false;
}

cbx_array *cbx_ell_softmax(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values)
{
    const size_t mark = cbx__mark(ctx), table[] = { g->rows, g->width };
    cbx_ell_product p;
    cbx_array *y;

    if (!is_float(ctx, "ell_softmax", values)) return cbx__array_failed();
    cbx_ell_view(g, false, &p);
    p.dtype = values->desc.dtype;
    p.values = cbx__ell_operand(ctx, "ell_softmax", "values", values, p.dtype, 2, table);
    y = p.values ? cbx__ell_result(ctx, p.dtype, 2, table) : cbx__array_failed();
    if (!cbx_array_is_failed(y)) {
        p.c = y->data;
        if (cbx_ell_softmax_run(&p, cbx__sticky(ctx))) y = cbx__array_failed();
    }
    return cbx__tidy(ctx, mark, y);
}

cbx_array *cbx_ell_softmax_vjp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *y, const cbx_array *h)
{
    const size_t mark = cbx__mark(ctx), table[] = { g->rows, g->width };
    cbx__ell_grad q = cbx__ell_grad_of(g, false, CBX_ALGEBRA_REAL);
    cbx_array *d;

    if (!is_float(ctx, "ell_softmax_vjp", y)) return cbx__array_failed();
    q.dtype = y->desc.dtype;
    q.d = 8; /* columns of a product that take as long as an element here */
    q.threads = cbx__ell_grad_threads(&q);
    q.c = cbx__ell_operand(ctx, "ell_softmax_vjp", "y", y, q.dtype, 2, table);
    q.h = cbx__ell_operand(ctx, "ell_softmax_vjp", "h", h, q.dtype, 2, table);
    d = q.c && q.h ? cbx__ell_values(ctx, g, q.dtype) : cbx__array_failed();
    if (!cbx_array_is_failed(d)) {
        q.dv = d->data;
        cbx__ell_grad_run(&q, CBX__ELL_BACK_SOFTMAX);
    }
    return cbx__tidy(ctx, mark, d);
}

/* --- values --- */

cbx_array *cbx_ell_pack(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *entries)
{
    const size_t mark = cbx__mark(ctx), table[] = { g->rows, g->width }, list[] = { g->entries };
    const char *from;
    cbx_array *y;

    if (cbx__unusable(ctx, "ell_pack", 1, &entries)) return cbx__array_failed();
    from = cbx__ell_operand(ctx, "ell_pack", "entries", entries, entries->desc.dtype, 1, list);
    y = from ? cbx__ell_result(ctx, entries->desc.dtype, 2, table) : cbx__array_failed();
    if (!cbx_array_is_failed(y)) {
        const size_t size = cbx_dtype_size(entries->desc.dtype);
        memset(y->data, 0, cbx_array_bytes(y));
        for (size_t e = 0; e < g->entries; e++) memcpy((char *)y->data + g->entry[e] * size, from + e * size, size);
    }
    return cbx__tidy(ctx, mark, y);
}
