/* Real products by cuBLAS, loaded at run time: full precision (CUBLAS_PEDANTIC_MATH), tensor cores
 * in 11 bits only where asked for.
 *
 * Values of cublas_api.h: operations 0 (as it is) and 1 (transposed), math modes 2 (pedantic) and 3
 * (TF32). */
#include <limits.h>
#include <string.h>

#include "calibrax/array/cuda/driver.h"

enum { AS_IT_IS = 0, TRANSPOSED = 1, PEDANTIC = 2, TF32 = 3 };

void cbx__cublas_open(cbx_cuda *g, const char *path)
{
    cbx__cublas *b = &g->blas;
    const cbx_library_symbol symbols[] = {
#define SYMBOL(name, symbol, args) { symbol, (void **)(void *)&b->name },
        CBX__CUBLAS_CALLS(SYMBOL)
#undef SYMBOL
    };
    cbx_err why = CBX_ERR_INIT;
    int number;

    if (path && !*path) {
        (void)cbx_fail(&why, CBX_EUNAVAILABLE, "cuBLAS is disabled");
    } else if (!cbx_library_open_known(g->ctx, CBX_LIBRARY_CUBLAS, path, symbols, CBX_LEN(symbols), &b->library,
                                       &why)) {
        number = b->create(&b->handle);
        if (!number) return;
        (void)cbx_fail(&why, CBX_EUNAVAILABLE, "'cublasCreate_v2' of '%s' failed with status %d",
                       cbx_library_name(b->library), number);
        cbx_library_close(b->library);
        b->library = NULL;
    }
    memcpy(b->why, why.message, sizeof b->why);
}

void cbx__cublas_close(cbx_cuda *g)
{
    if (g->blas.library) (void)g->blas.destroy(g->blas.handle);
}

/* A row-major r-by-c matrix is, read by columns, its transpose with leading dimension `row`; or it
 * lies by columns already. */
static bool leading(const cbx__cuda_matrix *x, size_t r, size_t c, int *ld, bool *by_columns)
{
    *by_columns = !(x->col == 1 && x->row >= (int64_t)c) && x->row == 1 && x->col >= (int64_t)r;
    const int64_t apart = *by_columns ? x->col : x->row;

    if (!*by_columns && !(x->col == 1 && x->row >= (int64_t)c)) return false;
    *ld = (int)(apart < 1 ? 1 : apart);
    return apart <= INT_MAX;
}

bool cbx__cublas_takes(const cbx__cublas_product *q)
{
    int ld;
    bool turned;

    return q->m <= INT_MAX && q->k <= INT_MAX && q->n <= INT_MAX && q->batches <= INT_MAX && q->k > 0 &&
           leading(&q->a, q->m, q->k, &ld, &turned) && leading(&q->b, q->k, q->n, &ld, &turned) &&
           leading(&q->c, q->m, q->n, &ld, &turned) && !turned;
}

/* By columns, C^T = B^T A^T. */
cbx_status cbx__cublas_run(cbx_cuda *g, const cbx__cublas_product *q, void *stream, cbx_err *err)
{
    static const float one_f32 = 1, zero_f32 = 0;
    static const double one_f64 = 1, zero_f64 = 0;
    const cbx__cublas *u = &g->blas;
    const int m = (int)q->m, k = (int)q->k, n = (int)q->n, batches = (int)q->batches;
    int lda = 1, ldb = 1, ldc = 1;
    bool transpose_a = false, transpose_b = false, turn_c = false;

    (void)leading(&q->a, q->m, q->k, &lda, &transpose_a);
    (void)leading(&q->b, q->k, q->n, &ldb, &transpose_b);
    (void)leading(&q->c, q->m, q->n, &ldc, &turn_c);
    const int op_a = transpose_a ? TRANSPOSED : AS_IT_IS, op_b = transpose_b ? TRANSPOSED : AS_IT_IS;
    int number = u->set_stream(u->handle, stream);
    if (!number) number = u->set_math(u->handle, q->allow_tf32 ? TF32 : PEDANTIC);
    if (!number && q->dtype == CBX_F32)
        number = u->gemm_f32(u->handle, op_b, op_a, n, m, k, &one_f32, q->b.x, ldb, q->b.batch, q->a.x, lda, q->a.batch,
                             &zero_f32, q->c.x, ldc, q->c.batch, batches);
    else if (!number)
        number = u->gemm_f64(u->handle, op_b, op_a, n, m, k, &one_f64, q->b.x, ldb, q->b.batch, q->a.x, lda, q->a.batch,
                             &zero_f64, q->c.x, ldc, q->c.batch, batches);
    if (!number) return CBX_OK;
    return cbx_fail(err, number == 3 ? CBX_ENOMEM : CBX_EINTERNAL,
                    "cuBLAS failed for a product of m=%d k=%d n=%d with status %d", m, k, n, number);
}
