/* Derivatives of products of dense matrices: which parts of semiring_grad.h follow each other, and
 * the products between them. */
#include "calibrax/array/kernels/semiring_kernel.h"
#include "calibrax/array/kernels/traits.h"

/* C = A B over the reals, of dense row-major matrices that are read as they lie or transposed. */
static cbx_matmul real_product(const cbx__grad *q, size_t m, size_t k, size_t n, const void *a, bool transpose_a,
                               const void *b, bool transpose_b, void *c)
{
    cbx_matmul p = CBX_MATMUL_INIT;

    p.semiring = cbx_semiring_get(CBX_ALGEBRA_REAL);
    p.dtype = q->dtype;
    p.threads = q->threads;
    p.m = m, p.k = k, p.n = n;
    p.a = a, p.lda = transpose_a ? 1 : (ptrdiff_t)k, p.a_step = transpose_a ? (ptrdiff_t)m : 1;
    p.b = b, p.ldb = transpose_b ? 1 : (ptrdiff_t)n, p.b_step = transpose_b ? (ptrdiff_t)k : 1;
    p.c = c, p.ldc = (ptrdiff_t)n;
    return p;
}

/* dA = W B^T, dB = A^T W; w, a, b are the cotangent and the operands, or what stands for them. */
static void backward_products(const cbx__grad *q, const void *w, const void *a, const void *b, cbx_matmul out[2])
{
    out[0] = real_product(q, q->m, q->n, q->k, w, false, b, true, q->da);
    out[1] = real_product(q, q->k, q->m, q->n, a, true, w, false, q->db);
}

int cbx__semiring_grad_threads(const cbx__grad *q)
{
    const double steps = (double)q->m * (double)q->k * (double)q->n;
    return steps < 1e6 ? 1 : cbx__omp_threads();
}

static size_t workspace_of(const cbx_matmul *p)
{
    size_t bytes = 0;
    (void)cbx_matmul_workspace(p, &bytes, NULL); /* fails on bad arguments alone */
    return (bytes + 63) / 64 * 64;
}

static void run(cbx_matmul *p, char *space, size_t bytes)
{
    p->workspace = space;
    p->workspace_bytes = bytes;
    (void)cbx_matmul_run(p, NULL);
}

size_t cbx__semiring_grad_bytes(cbx__grad *q)
{
    cbx_matmul p[3];
    size_t products = 0;

    q->scratch = NULL;
    cbx__semiring_best(q->dtype)->grad(q, CBX__GRAD_SIZE);
    backward_products(q, q->w, q->a, q->b, p);
    p[2] = real_product(q, q->m, q->k, q->n, q->a, false, q->b, false, q->w);
    for (int i = 0; i < 3; i++) products = workspace_of(&p[i]) > products ? workspace_of(&p[i]) : products;
    return q->scratch_bytes + products;
}

void cbx__semiring_backward(cbx__grad *q)
{
    const cbx__semiring_kernel *kernel = cbx__semiring_best(q->dtype);
    const cbx__derivative way = cbx__traits_of[q->semiring->id].derivative;
    cbx_matmul p[2];

    kernel->grad(q, CBX__GRAD_SIZE);
    char *space = (char *)q->scratch + q->scratch_bytes;
    if (way == CBX__BY_PRODUCTS) {
        backward_products(q, q->g, q->a, q->b, p);
    } else {
        kernel->grad(q, CBX__GRAD_BEFORE);
        if (way != CBX__BY_SCALED_PRODUCTS) return;
        backward_products(q, q->w, q->scaled_a, q->scaled_b, p);
    }
    for (int i = 0; i < 2; i++) run(&p[i], space, workspace_of(&p[i]));
    if (way == CBX__BY_SCALED_PRODUCTS) kernel->grad(q, CBX__GRAD_AFTER);
}

void cbx__semiring_forward(cbx__grad *q)
{
    const cbx__semiring_kernel *kernel = cbx__semiring_best(q->dtype);

    kernel->grad(q, CBX__GRAD_SIZE);
    char *space = (char *)q->scratch + q->scratch_bytes;
    if (cbx__traits_of[q->semiring->id].derivative != CBX__BY_PRODUCTS) {
        kernel->grad(q, CBX__GRAD_FORWARD);
        return;
    }
    cbx_matmul p = real_product(q, q->m, q->k, q->n, q->ta, false, q->b, false, q->w);
    run(&p, space, workspace_of(&p));
    p = real_product(q, q->m, q->k, q->n, q->a, false, q->tb, false, q->tc);
    p.d = q->w, p.ldd = (ptrdiff_t)q->n;
    run(&p, space, workspace_of(&p));
}
