/* Products of arrays in the host's memory: there, computed, and back. */
#include "host.h"

#include <string.h>

#include "calibrax/array/cuda/driver.h"
#include "calibrax/array/kernels/ell_isa.h"
#include "calibrax/array/kernels/semiring_kernel.h"

/* Device memory of one call, freed together. */
enum { MAX = 8 };
typedef struct scratch {
    cbx_cuda *g;
    void *p[MAX];
    size_t count;
} scratch;

static cbx_status scratch_take(scratch *r, size_t bytes, void **out, cbx_err *err)
{
    const cbx_status st = cbx_cuda_alloc(r->g, bytes, &r->p[r->count], err);
    if (st) return st;
    *out = r->p[r->count++];
    return CBX_OK;
}

static void scratch_clear(scratch *r)
{
    while (r->count) cbx_cuda_free(r->g, r->p[--r->count]);
}

/* A copy on the device; NULL stays NULL. */
static cbx_status scratch_copy(scratch *r, const void *x, size_t bytes, const void **out, cbx_err *err)
{
    void *p = NULL;
    cbx_status st = CBX_OK;

    if (x) st = scratch_take(r, bytes, &p, err);
    if (x && !st) st = cbx_cuda_upload(r->g, p, x, bytes, NULL, err);
    if (!st) *out = p;
    return st;
}

/* --- dense --- */

typedef struct view {
    char *x;
    size_t rows, cols, size;
    ptrdiff_t row, col;
} view;

static void move(const view *v, char *dense, bool out)
{
    for (size_t i = 0; i < v->rows; i++)
        for (size_t j = 0; j < v->cols; j++) {
            char *here = v->x + ((ptrdiff_t)i * v->row + (ptrdiff_t)j * v->col) * (ptrdiff_t)v->size;
            char *there = dense + (i * v->cols + j) * v->size;
            memcpy(out ? here : there, out ? there : here, v->size);
        }
}

/* A dense copy of an operand of any strides on the device. */
static cbx_status bring(scratch *r, const void *x, size_t rows, size_t cols, size_t size, ptrdiff_t *row,
                        ptrdiff_t *col, const void **out, cbx_err *err)
{
    const view v = { (char *)(uintptr_t)x, rows, cols, size, *row, *col };
    const cbx_allocator *al = cbx_ctx_allocator(r->g->ctx);
    const size_t bytes = rows * cols * size;

    if (!x) return CBX_OK;
    *row = (ptrdiff_t)cols;
    *col = 1;
    if (v.col == 1 && v.row == (ptrdiff_t)cols) return scratch_copy(r, x, bytes, out, err);
    char *dense = cbx_mem_alloc(al, bytes + 1);
    if (!dense) return cbx_fail(err, CBX_ENOMEM, "no memory for a dense copy of %zu bytes", bytes);
    move(&v, dense, false);
    cbx_status st = scratch_copy(r, dense, bytes, out, err);
    cbx_mem_free(al, dense, bytes + 1);
    return st;
}

static cbx_status take_back(scratch *r, const void *from, const cbx_matmul *p, cbx_err *err)
{
    const size_t size = cbx_dtype_size(p->dtype), bytes = p->m * p->n * size;
    const view v = { p->c, p->m, p->n, size, p->ldc, p->c_step };
    const bool direct = p->c_step == 1 && p->ldc == (ptrdiff_t)p->n;
    const cbx_allocator *al = cbx_ctx_allocator(r->g->ctx);
    char *dense = direct ? p->c : cbx_mem_alloc(al, bytes + 1);

    if (!dense && bytes) return cbx_fail(err, CBX_ENOMEM, "no memory for a dense copy of %zu bytes", bytes);
    cbx_status st = cbx_cuda_download(r->g, dense, from, bytes, NULL, err);
    if (!st) st = cbx_cuda_wait(r->g, NULL, err);
    if (!st && !direct) move(&v, dense, true);
    if (!direct) cbx_mem_free(al, dense, bytes + 1);
    return st;
}

static cbx_status matmul_there(scratch *r, const cbx_matmul *p, cbx_err *err)
{
    const size_t size = cbx_dtype_size(p->dtype);
    cbx_cuda_matmul q = CBX_CUDA_MATMUL_INIT;
    cbx_matmul *d = &q.product;

    *d = *p;
    cbx_status st = bring(r, p->a, p->m, p->k, size, &d->lda, &d->a_step, &d->a, err);
    if (!st) st = bring(r, p->b, p->k, p->n, size, &d->ldb, &d->b_step, &d->b, err);
    if (!st && p->d) st = bring(r, p->d, p->m, p->n, size, &d->ldd, &d->d_step, &d->d, err);
    if (!st && p->mask) st = bring(r, p->mask, p->m, p->n, 1, &d->ldm, &d->m_step, (const void **)&d->mask, err);
    if (!st) st = scratch_take(r, p->m * p->n * size, &d->c, err);
    d->ldc = (ptrdiff_t)p->n;
    d->c_step = 1;
    d->workspace = NULL;
    if (!st) st = cbx_cuda_matmul_workspace(r->g, &q, &d->workspace_bytes, err);
    if (!st) st = scratch_take(r, d->workspace_bytes, &d->workspace, err);
    if (!st) st = cbx_cuda_matmul_run(r->g, &q, NULL, err);
    return st ? st : take_back(r, d->c, p, err);
}

cbx_status host_matmul(cbx_cuda *g, const cbx_matmul *p, cbx_err *err)
{
    cbx_matmul q = *p;
    cbx_cuda_matmul whole = CBX_CUDA_MATMUL_INIT;
    scratch r = { .g = g };
    size_t bytes;

    q.workspace = NULL;
    q.workspace_bytes = 0;
    whole.product = q;
    cbx_status st = cbx_cuda_matmul_workspace(g, &whole, &bytes, err);
    if (!st) st = cbx__semiring_check(&q, err);
    if (st || p->m == 0 || p->n == 0) return st;
    st = matmul_there(&r, &q, err);
    scratch_clear(&r);
    return st;
}

/* --- sparse --- */

/* Elements of values that the edges name. */
static size_t values_of(const cbx_ell_product *p, size_t edges)
{
    size_t max = 0;

    if (!p->place) return edges;
    for (size_t e = 0; e < edges; e++) max = p->place[e] >= max ? (size_t)p->place[e] + 1 : max;
    return max;
}

static cbx_status ell_there(scratch *r, const cbx_ell_product *p, cbx_err *err)
{
    const size_t size = cbx_dtype_size(p->dtype), edges = p->start ? p->start[p->rows] : p->rows * p->width;
    const size_t rows = p->rows * p->d * size;
    cbx_ell_product q = *p;
    char *c = NULL;
    cbx_status st = scratch_copy(r, p->index, edges * sizeof *p->index, (const void **)&q.index, err);

    if (!st) st = scratch_copy(r, p->degree, p->rows * sizeof *p->degree, (const void **)&q.degree, err);
    if (!st) st = scratch_copy(r, p->start, (p->rows + 1) * sizeof *p->start, (const void **)&q.start, err);
    if (!st) st = scratch_copy(r, p->place, edges * sizeof *p->place, (const void **)&q.place, err);
    if (!st) st = scratch_copy(r, p->values, values_of(p, edges) * size, &q.values, err);
    if (!st && p->cols) st = scratch_copy(r, p->b, ((p->cols - 1) * p->ldb + p->d) * size, &q.b, err);
    if (!st) st = scratch_take(r, rows, &q.c, err);
    q.ldc = p->d;
    if (!st) st = cbx_cuda_ell_product_run(r->g, &q, NULL, err);
    if (st) return st;
    if (p->ldc != p->d && !(c = cbx_mem_alloc(cbx_ctx_allocator(r->g->ctx), rows)))
        return cbx_fail(err, CBX_ENOMEM, "no memory for a dense copy of %zu bytes", rows);
    st = cbx_cuda_download(r->g, c ? c : p->c, q.c, rows, NULL, err);
    if (!st) st = cbx_cuda_wait(r->g, NULL, err);
    for (size_t i = 0; c && !st && i < p->rows; i++)
        memcpy((char *)p->c + i * p->ldc * size, c + i * p->d * size, p->d * size);
    cbx_mem_free(cbx_ctx_allocator(r->g->ctx), c, rows);
    return st;
}

cbx_status host_ell_product(cbx_cuda *g, const cbx_ell_product *p, cbx_err *err)
{
    scratch r = { .g = g };
    cbx_status st = cbx__ell_check(p, CBX__ELL_PRODUCT, err);

    if (st || !p->rows || !p->d) return st;
    st = ell_there(&r, p, err);
    scratch_clear(&r);
    return st;
}
