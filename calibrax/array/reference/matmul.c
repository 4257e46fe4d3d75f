/*
 * Products of stacks of matrices: rows of B, scaled, are added to a row of 64-bit accumulators, k ascending.
 * Scratch: two rows of the result in the wide dtype.
 */
#include <string.h>

#include "calibrax/array/reference/reference.h"

/* acc[j] += a * b[j] */
typedef void (*axpy)(size_t n, const void *a, const void *b, void *acc);

static void axpy_f64(size_t n, const void *a, const void *b, void *acc)
{
    const double x = *(const double *)a, *y = b;
    double *to = acc;
    for (size_t j = 0; j < n; j++) to[j] += x * y[j];
}

static void axpy_u64(size_t n, const void *a, const void *b, void *acc)
{
    const uint64_t x = *(const uint64_t *)a, *y = b;
    uint64_t *to = acc;
    for (size_t j = 0; j < n; j++) to[j] += x * y[j];
}

static void axpy_c128(size_t n, const void *a, const void *b, void *acc)
{
    const double *x = a, *y = b;
    double *to = acc;
    for (size_t j = 0; j < n; j++, y += 2, to += 2) {
        to[0] += x[0] * y[0] - x[1] * y[1];
        to[1] += x[0] * y[1] + x[1] * y[0];
    }
}

typedef struct product {
    size_t m, k, n, wide_size;
    cbx__strided a, b, r;
    cbx__loop load, store;
    axpy step;
} product;

static void one_matrix(const product *p, char *a, char *b, char *r, char *acc, char *line)
{
    ptrdiff_t wide = (ptrdiff_t)p->wide_size;

    for (size_t i = 0; i < p->m; i++) {
        memset(acc, 0, p->n * p->wide_size);
        for (size_t k = 0; k < p->k; k++) {
            double x[2];
            char *at = a + (ptrdiff_t)i * p->a.strides[1] + (ptrdiff_t)k * p->a.strides[2];
            p->load(1, (char *const[]){ (char *)x, at }, (const ptrdiff_t[]){ 0, 0 });
            p->load(p->n, (char *const[]){ line, b + (ptrdiff_t)k * p->b.strides[1] },
                    (const ptrdiff_t[]){ wide, p->b.strides[2] });
            p->step(p->n, x, line, acc);
        }
        p->store(p->n, (char *const[]){ r + (ptrdiff_t)i * p->r.strides[1], acc },
                 (const ptrdiff_t[]){ p->r.strides[2], wide });
    }
}

cbx_status cbx__ref_run_matmul(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_array *a = call->in[0], *b = call->in[1];
    cbx_dtype t = a->desc.dtype, wide = cbx__ref_wide(t);
    product p = { a->desc.shape[1], a->desc.shape[2], b->desc.shape[2], cbx_dtype_size(wide) };
    cbx_block scratch = { 0 };
    cbx_status st = cbx_pool_get(cbx_ctx_pool(call->ctx), 2 * p.n * p.wide_size, &scratch, err);

    if (!st) st = cbx_array_create(call->ctx, call->result, out, err);
    if (st || (*out)->count == 0) goto done;
    p.a = cbx__ref_strided(a);
    p.b = cbx__ref_strided(b);
    p.r = cbx__ref_strided(*out);
    p.load = t == wide ? cbx__ref_copy(t) : cbx__loops_get()->cast(t, wide);
    p.store = t == wide ? cbx__ref_copy(t) : cbx__loops_get()->cast(wide, t);
    p.step = wide == CBX_F64 ? axpy_f64 : wide == CBX_C128 ? axpy_c128 : axpy_u64;
    for (size_t i = 0; i < a->desc.shape[0]; i++)
        one_matrix(&p, p.a.data + (ptrdiff_t)i * p.a.strides[0], p.b.data + (ptrdiff_t)i * p.b.strides[0],
                   p.r.data + (ptrdiff_t)i * p.r.strides[0], scratch.data, (char *)scratch.data + p.n * p.wide_size);
done:
    cbx_pool_put(cbx_ctx_pool(call->ctx), scratch);
    return st;
}
