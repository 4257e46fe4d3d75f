/*
 * NumPy's answers; see foreign.h.
 */
#include "foreign.h"
#include "host.h"

#include <stdlib.h>

#include "check.h"

#include "calibrax/array/ell_internal.h"
#include "calibrax/array/kernels/ell.h"
#include "tests/array/cases.h"

static cbx_cuda *device;

static cbx_array *result(cbx_ctx *c, const cbx_array *like, size_t rows, size_t cols)
{
    return cbx_zeros(c, 2, (const size_t[]){ rows, cols }, cbx_array_dtype(like));
}

/* a, b and what comes third, as they lie */
static cbx_matmul product(const array_case *k, cbx_array *out)
{
    const ptrdiff_t *a = cbx_array_strides(k->in[0]), *b = cbx_array_strides(k->in[1]);
    cbx_matmul p = CBX_MATMUL_INIT;

    p.semiring = cbx_semiring_get((cbx_algebra)k->attr[0]);
    p.raw = k->attr[1] != 0;
    p.dtype = cbx_array_dtype(out);
    p.m = cbx_array_dim(k->in[0], 0), p.k = cbx_array_dim(k->in[0], 1), p.n = cbx_array_dim(k->in[1], 1);
    p.a = cbx_array_data(k->in[0]), p.lda = a[0], p.a_step = a[1];
    p.b = cbx_array_data(k->in[1]), p.ldb = b[0], p.b_step = b[1];
    p.c = cbx_array_data_mut(out), p.ldc = (ptrdiff_t)p.n, p.c_step = 1;
    return p;
}

static cbx_array *multiply(cbx_ctx *c, const array_case *k, bool merges, bool masks)
{
    cbx_array *out = result(c, k->in[0], cbx_array_dim(k->in[0], 0), cbx_array_dim(k->in[1], 1));
    const ptrdiff_t *third = k->nin == 3 ? cbx_array_strides(k->in[2]) : NULL;
    cbx_err err = CBX_ERR_INIT;

    if (cbx_array_is_failed(out)) return out;
    cbx_matmul p = product(k, out);
    if (merges) p.d = cbx_array_data(k->in[2]), p.ldd = third[0], p.d_step = third[1];
    if (masks) p.mask = cbx_array_data(k->in[2]), p.ldm = third[0], p.m_step = third[1];
    CHECK_OK(host_matmul(device, &p, &err), &err, p.semiring->name);
    return out;
}

static void do_matmul(cbx_ctx *c, const array_case *k, cbx_array **out) { out[0] = multiply(c, k, false, false); }
static void do_merge(cbx_ctx *c, const array_case *k, cbx_array **out) { out[0] = multiply(c, k, true, false); }
static void do_mask(cbx_ctx *c, const array_case *k, cbx_array **out) { out[0] = multiply(c, k, false, true); }

/* --- sparse --- */

typedef struct graph {
    cbx_ell_product p;
    int32_t *index, *degree;
    char *values, *b;
} graph;

static void *dense(const cbx_array *x)
{
    cbx_err err = CBX_ERR_INIT;
    void *data = calloc(1, cbx_array_bytes(x) + 1);
    CHECK_OK(cbx_array_read(x, data, cbx_array_bytes(x), &err), &err, "read");
    return data;
}

static graph graph_of(const array_case *k)
{
    graph q = { .p = CBX_ELL_PRODUCT_INIT };

    q.p.semiring = cbx_semiring_get((cbx_algebra)k->attr[0]);
    q.p.dtype = cbx_array_dtype(k->in[1]);
    q.p.rows = cbx_array_dim(k->in[0], 0), q.p.width = cbx_array_dim(k->in[0], 1);
    q.index = dense(k->in[0]);
    q.values = dense(k->in[1]);
    q.degree = calloc(q.p.rows + 1, sizeof *q.degree);
    for (size_t i = 0; i < q.p.rows * q.p.width; i++) q.degree[i / q.p.width] += q.index[i] >= 0;
    q.p.index = q.index, q.p.degree = q.degree, q.p.values = q.values;
    return q;
}

static void graph_clear(graph *q)
{
    free(q->index);
    free(q->degree);
    free(q->values);
    free(q->b);
}

static void do_ell(cbx_ctx *c, const array_case *k, cbx_array **out)
{
    graph q = graph_of(k);
    cbx_err err = CBX_ERR_INIT;

    q.p.cols = cbx_array_dim(k->in[2], 0), q.p.d = q.p.ldb = q.p.ldc = cbx_array_dim(k->in[2], 1);
    q.p.b = q.b = dense(k->in[2]);
    out[0] = result(c, k->in[1], q.p.rows, q.p.d);
    q.p.c = cbx_array_data_mut(out[0]);
    CHECK_OK(host_ell_product(device, &q.p, &err), &err, q.p.semiring->name);
    graph_clear(&q);
}

/* There is no call for the host's arrays: copies here. */
static void do_softmax(cbx_ctx *c, const array_case *k, cbx_array **out)
{
    graph q = graph_of(k);
    const size_t places = q.p.rows * q.p.width, bytes = places * cbx_dtype_size(q.p.dtype);
    const size_t sizes[] = { places * 4, q.p.rows * 4, bytes, bytes };
    const void *from[] = { q.index, q.degree, q.values, q.values };
    void *at[4];
    cbx_err err = CBX_ERR_INIT;

    for (int i = 0; i < 4; i++) {
        CHECK_OK(cbx_cuda_alloc(device, sizes[i], &at[i], &err), &err, "memory");
        CHECK_OK(cbx_cuda_upload(device, at[i], from[i], sizes[i], NULL, &err), &err, "upload");
    }
    q.p.index = at[0], q.p.degree = at[1], q.p.values = at[2], q.p.c = at[3];
    q.p.cols = 100, q.p.d = 1, q.p.ldb = 1, q.p.ldc = q.p.width;
    CHECK_OK(cbx_cuda_ell_softmax_run(device, &q.p, NULL, &err), &err, "softmax");
    out[0] = result(c, k->in[1], q.p.rows, q.p.width);
    CHECK_OK(cbx_cuda_download(device, cbx_array_data_mut(out[0]), at[3], bytes, NULL, &err), &err, "download");
    CHECK_OK(cbx_cuda_wait(device, NULL, &err), &err, "wait");
    for (int i = 0; i < 4; i++) cbx_cuda_free(device, at[i]);
    graph_clear(&q);
}

static const case_row rows[] = {
    { "matmul", do_matmul }, { "merge", do_merge }, { "mask", do_mask }, { "ell", do_ell }, { "softmax", do_softmax },
};

void foreign_agrees(cbx_cuda *g)
{
    device = g;
    cases_agree("gpu.bin", rows, CBX_LEN(rows), 300);
}

void foreign_can_fail(cbx_cuda *g)
{
    device = g;
    cases_can_fail("gpu.bin", rows, CBX_LEN(rows));
}
