/* Dense products on a GPU: which kernels run in which order, and where their intermediate results
 * lie in the workspace.
 *
 *   real, tropical, euclidean   one tiled kernel, epilogue included; real by cuBLAS, then an
 *                               epilogue if there is one
 *   log        maxima of rows of A and of columns of B, A' = exp(a - max), B' = exp(b - max), S =
 *              A' B', and C = log(S) + maxima where the certificate (kernels/semiring.h) holds, two
 *              streaming passes for an element where it does not
 *   boolean    A and B to bits, 32 steps of k a word, and one tiled kernel that ends a tile when
 *              all its elements are true
 *
 * Where C is small and k long, the tiled kernel makes parts of the fold along k, and a second one
 * joins them in order (geometry.h). */
#include "calibrax/array/cuda/driver.h"
#include "calibrax/array/cuda/geometry.h"
#include "calibrax/array/kernels/semiring_kernel.h"
#include "calibrax/array/kernels/traits.h"

/* What may lie in a workspace. */
enum { SCALED_A, SCALED_B, SUMS, ROW_SHIFT, ROW_LIMIT, COL_SHIFT, COL_LIMIT, SPLIT, PARTS };

/* A product under way: its arguments for kernels, and its workspace. */
typedef struct job {
    cbx_cuda *g;
    const cbx_cuda_matmul *q;
    const cbx_matmul *p;
    cbx_algebra algebra;
    bool by_cublas, direct;      /* direct: cuBLAS writes C itself */
    size_t batches_a, batches_b; /* operands that differ: 1 if one is repeated */
    size_t words;                /* of bits along k */
    cbx__cuda_split split;       /* of a product that the tiles make */
    cbx__cuda_product args;
    size_t at[PARTS], bytes; /* the workspace's parts begin there */
    char *part[PARTS];
} job;

/* --- checks --- */

static cbx_status check(const cbx_cuda_matmul *q, cbx_err *err)
{
    const cbx_matmul *p = &q->product;

    if (q->struct_size != sizeof *q)
        return cbx_fail(err, CBX_EINVAL, "cbx_cuda_matmul has %u bytes, not %zu: start from CBX_CUDA_MATMUL_INIT",
                        q->struct_size, sizeof *q);
    if (p->semiring && p->semiring->functions)
        return cbx_fail(err, CBX_EUNSUPPORTED, "algebra '%s' is defined by functions, which run on the CPU only",
                        p->semiring->name);
    if (p->semiring && !cbx__traits_of[p->semiring->id].on_gpu)
        return cbx_fail(err, CBX_EUNSUPPORTED, "algebra '%s' has no kernels for GPUs: it runs on the CPU only",
                        p->semiring->name);
    if (p->m > INT32_MAX || p->k > INT32_MAX || p->n > INT32_MAX || q->batches > INT32_MAX)
        return cbx_fail(err, CBX_EOVERFLOW, "m=%zu k=%zu n=%zu, batch %zu: each must be less than 2^31 on a GPU", p->m,
                        p->k, p->n, q->batches);
    if ((unsigned)q->gemm > CBX_CUDA_GEMM_CUBLAS)
        return cbx_fail(err, CBX_EINVAL, "no method of a product has the number %u", (unsigned)q->gemm);
    return CBX_OK;
}

/* Products of a stack write each its own C: batch_c steps over all that one spans, or lies within
 * one step of rows or columns. */
static cbx_status check_batches(const cbx_cuda_matmul *q, cbx_err *err)
{
    const cbx_matmul *p = &q->product;
    const double down = (double)(p->ldc < 0 ? -p->ldc : p->ldc),
                 right = (double)(p->c_step < 0 ? -p->c_step : p->c_step),
                 apart = (double)(q->batch_c < 0 ? -q->batch_c : q->batch_c),
                 spans = down * (double)(p->m - 1) + right * (double)(p->n - 1) + 1;

    if (q->batches < 2 || p->m == 0 || p->n == 0 || apart >= spans) return CBX_OK;
    if (apart > 0 &&
        ((p->m == 1 || apart * (double)q->batches <= down) && (p->n == 1 || apart * (double)q->batches <= right)))
        return CBX_OK; /* interleaved */
    return cbx_fail(err, CBX_EINVAL,
                    "products of a stack overlap: batch_c %td is less than the %.0f elements that C spans", q->batch_c,
                    spans);
}

/* --- the plan --- */

static cbx__cuda_matrix matrix(const void *x, ptrdiff_t row, ptrdiff_t col, ptrdiff_t batch)
{
    return (cbx__cuda_matrix){ (void *)(uintptr_t)x, row, col, batch };
}

static int64_t size_of(int64_t stride) { return stride < 0 ? -stride : stride; }

static cbx__cuda_product arguments(const cbx_cuda_matmul *q)
{
    const cbx_matmul *p = &q->product;

    return (cbx__cuda_product){ .a = matrix(p->a, p->lda, p->a_step, q->batch_a),
                                .b = matrix(p->b, p->ldb, p->b_step, q->batch_b),
                                .c = matrix(p->c, p->ldc, p->c_step, q->batch_c),
                                .d = matrix(p->d, p->ldd, p->d_step, q->batch_d),
                                .mask = matrix(p->mask, p->ldm, p->m_step, q->batch_m),
                                .m = (int64_t)p->m,
                                .k = (int64_t)p->k,
                                .n = (int64_t)p->n,
                                .raw = p->raw,
                                .mask_complement = p->mask_complement };
}

static cbx__cublas_product for_cublas(const job *j, cbx__cuda_matrix a, cbx__cuda_matrix b, cbx__cuda_matrix c)
{
    return (cbx__cublas_product){ .dtype = j->p->dtype,
                                  .allow_tf32 = j->q->allow_tf32,
                                  .m = j->p->m,
                                  .k = j->p->k,
                                  .n = j->p->n,
                                  .batches = j->q->batches,
                                  .a = a,
                                  .b = b,
                                  .c = c };
}

/* S in the workspace, or, where cuBLAS can, C. */
static cbx__cuda_matrix sums_of(const job *j)
{
    return j->direct ? j->args.c : matrix(j->part[SUMS], (ptrdiff_t)j->p->n, 1, (ptrdiff_t)(j->p->m * j->p->n));
}

/* A' and B' lie as A and B do: the smaller stride becomes 1. */
static cbx__cuda_matrix scaled(const void *y, const cbx__cuda_matrix *x, size_t rows, size_t cols)
{
    const ptrdiff_t batch = x->batch ? (ptrdiff_t)(rows * cols) : 0;
    return size_of(x->col) <= size_of(x->row) ? matrix(y, (ptrdiff_t)cols, 1, batch)
                                              : matrix(y, 1, (ptrdiff_t)rows, batch);
}

static cbx_status choose_gemm(job *j, cbx_err *err)
{
    const bool real = j->algebra == CBX_ALGEBRA_REAL, log = j->algebra == CBX_ALGEBRA_LOG;
    const cbx__cuda_matrix dense = matrix(NULL, (ptrdiff_t)j->p->n, 1, 0);

    if (!(real || log) || j->q->gemm == CBX_CUDA_GEMM_OWN || j->p->k == 0) return CBX_OK;
    cbx__cublas_product r = real ? for_cublas(j, j->args.a, j->args.b, dense)
                                 : for_cublas(j, scaled(NULL, &j->args.a, j->p->m, j->p->k),
                                              scaled(NULL, &j->args.b, j->p->k, j->p->n), dense);
    j->by_cublas = j->g->blas.library && cbx__cublas_takes(&r);
    r.c = j->args.c;
    j->direct = j->by_cublas && real && !j->p->d && !j->p->mask && cbx__cublas_takes(&r);
    if (j->by_cublas || j->q->gemm == CBX_CUDA_GEMM_AUTO) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "cuBLAS cannot make this product: %s",
                    j->g->blas.library ? "a row or a column of each operand must be dense, with positive strides"
                                       : j->g->blas.why);
}

/* Takes memory for `batches` matrices; false if no memory is as large. */
static bool take(job *j, int part, size_t rows, size_t cols, size_t batches, size_t size)
{
    size_t bytes;

    j->at[part] = j->bytes;
    return !__builtin_mul_overflow(rows, cols, &bytes) && !__builtin_mul_overflow(bytes, batches, &bytes) &&
           !__builtin_mul_overflow(bytes, size, &bytes) && bytes <= SIZE_MAX - 255 &&
           !__builtin_add_overflow(j->bytes, (bytes + 255) / 256 * 256, &j->bytes);
}

static bool lay_out(job *j)
{
    const size_t m = j->p->m, k = j->p->k, n = j->p->n, size = cbx_dtype_size(j->p->dtype), z = j->q->batches;
    size_t parts = 0;

    if (j->split.parts > 1 &&
        (__builtin_mul_overflow(z, (size_t)j->split.parts, &parts) || !take(j, SPLIT, m, n, parts, size)))
        return false;
    if (j->algebra == CBX_ALGEBRA_BOOLEAN)
        return take(j, SCALED_A, m, j->words, j->batches_a, 4) && take(j, SCALED_B, n, j->words, j->batches_b, 4);
    if (j->algebra == CBX_ALGEBRA_LOG && k > 0)
        return take(j, SCALED_A, m, k, j->batches_a, size) && take(j, SCALED_B, k, n, j->batches_b, size) &&
               take(j, ROW_SHIFT, m, 1, z, size) && take(j, ROW_LIMIT, m, 1, z, size) &&
               take(j, COL_SHIFT, n, 1, z, size) && take(j, COL_LIMIT, n, 1, z, size) && take(j, SUMS, m, n, z, size);
    return !j->by_cublas || j->direct || take(j, SUMS, m, n, z, size);
}

static cbx_status plan(cbx_cuda *g, const cbx_cuda_matmul *q, job *j, cbx_err *err)
{
    cbx_status st = check(q, err);

    if (!st) st = cbx__semiring_check(&q->product, err);
    if (!st) st = check_batches(q, err);
    if (st) return st;
    *j = (job){ .g = g, .q = q, .p = &q->product, .algebra = q->product.semiring->id, .args = arguments(q) };
    j->batches_a = q->batch_a ? q->batches : 1;
    j->batches_b = q->batch_b ? q->batches : 1;
    j->words = (q->product.k + 31) / 32;
    st = choose_gemm(j, err);
    if (!st) {
        /* Where C is small and k long; booleans, 32 steps a word, go without. */
        const bool boolean = j->algebra == CBX_ALGEBRA_BOOLEAN;

        j->split = (cbx__cuda_split){ 1, (int64_t)(boolean ? j->words : j->p->k) };
        if (!j->by_cublas && !boolean)
            j->split = cbx__cuda_split_k(j->p->dtype == CBX_F64 ? 64 : 32, j->p->m, j->p->k, j->p->n);
    }
    if (!st && !lay_out(j))
        st = cbx_fail(err, CBX_EOVERFLOW,
                      "the workspace of m=%zu k=%zu n=%zu, batch %zu, is larger than the address space", q->product.m,
                      q->product.k, q->product.n, q->batches);
    return st;
}

cbx_status cbx_cuda_matmul_workspace(cbx_cuda *g, const cbx_cuda_matmul *p, size_t *out, cbx_err *err)
{
    cbx_cuda_matmul shape = *p;
    _Alignas(double) const uint8_t there = 0;
    job j;

    /* operands' places are not looked at */
    shape.product.a = shape.product.b = shape.product.workspace = NULL;
    shape.product.c = NULL;
    if (shape.product.d) shape.product.d = &there;
    if (shape.product.mask) shape.product.mask = &there;
    cbx_status st = plan(g, &shape, &j, err);
    if (!st) *out = j.bytes;
    return st;
}

/* --- kernels in order --- */

/* Of an algebra, in float32 and float64: the tiled kernel, the first of three sizes, and the one
 * that joins parts of a fold. */
static const struct {
    cbx__cuda_kernel first[2], join[2];
} steps[CBX_ALGEBRA_COUNT] = {
    [CBX_ALGEBRA_BOOLEAN] = { { CBX__CUDA_cbx_or_bits_large, CBX__CUDA_cbx_or_bits_large }, { 0 } },
#define STEP(algebra, step)                                                                                            \
    [CBX_ALGEBRA_##algebra] = { { CBX__CUDA_cbx_##step##_f32_large, CBX__CUDA_cbx_##step##_f64_large },                \
                                { CBX__CUDA_cbx_join_##step##_f32, CBX__CUDA_cbx_join_##step##_f64 } },
    STEP(REAL, fma) STEP(LOG, fma) STEP(TROPICAL_MAX_PLUS, max) STEP(TROPICAL_MIN_PLUS, min) STEP(EUCLIDEAN, square)
#undef STEP
};

static cbx_status launch_tiles(const job *j, cbx__cuda_product *args, void *stream, cbx_err *err)
{
    const size_t parts = (size_t)j->split.parts;
    const size_t products = j->q->batches > SIZE_MAX / parts ? SIZE_MAX : j->q->batches * parts;
    const cbx__cuda_tiling t = cbx__cuda_tile(j->p->dtype == CBX_F64 ? 64 : 32, j->p->m, j->p->n, products,
                                              j->g->multiprocessors);
    /* log of nothing is -inf, as the maximum of nothing, and merges as it */
    const cbx_algebra a = j->algebra == CBX_ALGEBRA_LOG && j->p->k == 0 ? CBX_ALGEBRA_TROPICAL_MAX_PLUS : j->algebra;
    const cbx__cuda_kernel first = steps[a].first[j->p->dtype == CBX_F64];

    args->tiles_m = t.tiles_m;
    args->tiles_n = t.tiles_n;
    args->parts = j->split.parts;
    args->chunk = j->split.chunk;
    args->a_along_k = size_of(args->a.col) <= size_of(args->a.row);
    args->b_along_n = size_of(args->b.col) <= size_of(args->b.row);
    return cbx__cuda_launch(j->g, (cbx__cuda_kernel)((int)first + (int)t.size), t.blocks, t.threads, args, stream, err);
}

/* Tiles into C, epilogue included; or, where k is split, parts into the workspace, which then
 * become C. */
static cbx_status run_tiles(const job *j, cbx__cuda_product *args, void *stream, cbx_err *err)
{
    const int64_t each = args->m * args->n;
    cbx__cuda_join q = { .p = *args, .s = j->part[SPLIT], .batches = (int64_t)j->q->batches };

    if (j->split.parts < 2) return launch_tiles(j, args, stream, err);
    args->c = matrix(j->part[SPLIT], (ptrdiff_t)args->n, 1, (ptrdiff_t)each);
    args->d.x = args->mask.x = NULL;
    args->raw = j->algebra == CBX_ALGEBRA_EUCLIDEAN; /* squares are what adds up */
    cbx_status st = launch_tiles(j, args, stream, err);
    q.p.parts = j->split.parts;
    return st ? st
              : cbx__cuda_launch(j->g, steps[j->algebra].join[j->p->dtype == CBX_F64],
                                 cbx__cuda_parts(each * q.batches, CBX__CUDA_BLOCK), CBX__CUDA_BLOCK, &q, stream, err);
}

/* One of two kernels by dtype. */
static cbx__cuda_kernel typed(const job *j, cbx__cuda_kernel f32, cbx__cuda_kernel f64)
{
    return j->p->dtype == CBX_F64 ? f64 : f32;
}
#define TYPED(j, word) typed(j, CBX__CUDA_cbx_##word##_f32, CBX__CUDA_cbx_##word##_f64)

/* x: rows of the operand as the maxima see it. */
static cbx_status run_top(const job *j, cbx__cuda_matrix x, size_t rows, char *shift, char *limit, void *stream,
                          cbx_err *err)
{
    cbx__cuda_top t = { .x = x, .shift = shift, .limit = limit, .rows = (int64_t)rows, .len = (int64_t)j->p->k };

    t.lanes_along = size_of(x.col) <= size_of(x.row);
    t.blocks = cbx__cuda_parts(t.rows, t.lanes_along ? 8 : 32);
    return cbx__cuda_launch(j->g, TYPED(j, top), t.blocks * (int64_t)j->q->batches, CBX__CUDA_BLOCK, &t, stream, err);
}

/* rows, cols: of the operand; the shift belongs to its rows (A) or columns (B). */
static cbx_status run_scale(const job *j, cbx__cuda_matrix x, size_t rows, size_t cols, size_t batches, char *y,
                            const char *shift, bool shift_of_rows, void *stream, cbx_err *err)
{
    const bool along_row = size_of(x.col) <= size_of(x.row);
    cbx__cuda_scale s = { .x = x,
                          .y = y,
                          .shift = shift,
                          .outer = (int64_t)(along_row ? rows : cols),
                          .inner = (int64_t)(along_row ? cols : rows),
                          .batches = (int64_t)batches,
                          .shift_by_inner = shift_of_rows != along_row };

    if (!along_row) s.x.row = x.col, s.x.col = x.row;
    return cbx__cuda_launch(j->g, TYPED(j, scale), cbx__cuda_parts(s.outer * s.inner * s.batches, CBX__CUDA_BLOCK),
                            CBX__CUDA_BLOCK, &s, stream, err);
}

static cbx_status run_finish(const job *j, void *stream, cbx_err *err)
{
    const cbx__cuda_finish f = { .p = j->args,
                                 .s = j->part[SUMS],
                                 .row_shift = j->part[ROW_SHIFT],
                                 .row_limit = j->part[ROW_LIMIT],
                                 .col_shift = j->part[COL_SHIFT],
                                 .col_limit = j->part[COL_LIMIT],
                                 .batches = (int64_t)j->q->batches };
    const cbx__cuda_kernel k = j->algebra == CBX_ALGEBRA_LOG ? TYPED(j, finish_log) : TYPED(j, finish_real);

    return cbx__cuda_launch(j->g, k, cbx__cuda_parts(f.p.m * f.p.n * f.batches, CBX__CUDA_BLOCK), CBX__CUDA_BLOCK, &f,
                            stream, err);
}

static cbx_status run_log(const job *j, void *stream, cbx_err *err)
{
    const size_t m = j->p->m, k = j->p->k, n = j->p->n;
    const cbx__cuda_matrix columns = matrix(j->args.b.x, j->args.b.col, j->args.b.row, j->args.b.batch);
    cbx__cuda_product sums = { .a = scaled(j->part[SCALED_A], &j->args.a, m, k),
                               .b = scaled(j->part[SCALED_B], &j->args.b, k, n),
                               .c = sums_of(j),
                               .m = (int64_t)m,
                               .k = (int64_t)k,
                               .n = (int64_t)n };
    cbx_status st = run_top(j, j->args.a, m, j->part[ROW_SHIFT], j->part[ROW_LIMIT], stream, err);

    if (!st) st = run_top(j, columns, n, j->part[COL_SHIFT], j->part[COL_LIMIT], stream, err);
    if (!st) st = run_scale(j, j->args.a, m, k, j->batches_a, j->part[SCALED_A], j->part[ROW_SHIFT], true, stream, err);
    if (!st)
        st = run_scale(j, j->args.b, k, n, j->batches_b, j->part[SCALED_B], j->part[COL_SHIFT], false, stream, err);
    if (!st && j->by_cublas) {
        const cbx__cublas_product r = for_cublas(j, sums.a, sums.b, sums.c);
        st = cbx__cublas_run(j->g, &r, stream, err);
    } else if (!st) {
        st = run_tiles(j, &sums, stream, err);
    }
    return st ? st : run_finish(j, stream, err);
}

static cbx_status run_bits(const job *j, cbx__cuda_matrix x, size_t lines, size_t batches, char *y, bool words_along,
                           void *stream, cbx_err *err)
{
    const cbx__cuda_bits b = { .x = x,
                               .y = (uint32_t *)(void *)y,
                               .lines = (int64_t)lines,
                               .len = (int64_t)j->p->k,
                               .words = (int64_t)j->words,
                               .y_line = words_along ? (int64_t)j->words : 1,
                               .y_word = words_along ? 1 : (int64_t)lines,
                               .batches = (int64_t)batches,
                               .lanes_along = size_of(x.col) <= size_of(x.row) };
    const int64_t threads = b.lines * b.words * b.batches * (b.lanes_along ? 32 : 1);

    return cbx__cuda_launch(j->g, CBX__CUDA_cbx_bits, cbx__cuda_parts(threads, CBX__CUDA_BLOCK), CBX__CUDA_BLOCK, &b,
                            stream, err);
}

static cbx_status run_boolean(const job *j, void *stream, cbx_err *err)
{
    const ptrdiff_t words = (ptrdiff_t)j->words, m = (ptrdiff_t)j->p->m, n = (ptrdiff_t)j->p->n;
    const cbx__cuda_matrix columns = matrix(j->args.b.x, j->args.b.col, j->args.b.row, j->args.b.batch);
    cbx__cuda_product args = j->args;
    cbx_status st = run_bits(j, j->args.a, j->p->m, j->batches_a, j->part[SCALED_A], true, stream, err);

    if (!st) st = run_bits(j, columns, j->p->n, j->batches_b, j->part[SCALED_B], false, stream, err);
    args.a = matrix(j->part[SCALED_A], words, 1, j->args.a.batch ? m * words : 0);
    args.b = matrix(j->part[SCALED_B], n, 1, j->args.b.batch ? n * words : 0);
    args.k = words;
    return st ? st : run_tiles(j, &args, stream, err);
}

static cbx_status run(const job *j, void *stream, cbx_err *err)
{
    if (j->algebra == CBX_ALGEBRA_BOOLEAN) return run_boolean(j, stream, err);
    if (j->algebra == CBX_ALGEBRA_LOG && j->p->k > 0) return run_log(j, stream, err);
    if (!j->by_cublas) {
        cbx__cuda_product args = j->args;
        return run_tiles(j, &args, stream, err);
    }
    cbx__cublas_product r = for_cublas(j, j->args.a, j->args.b, sums_of(j));
    cbx_status st = cbx__cublas_run(j->g, &r, stream, err);
    return st || j->direct ? st : run_finish(j, stream, err);
}

cbx_status cbx_cuda_matmul_run(cbx_cuda *g, const cbx_cuda_matmul *p, void *stream, cbx_err *err)
{
    job j;
    cbx_status st = plan(g, p, &j, err);

    if (!st && j.bytes > 0 && (j.p->workspace_bytes < j.bytes || (uintptr_t)j.p->workspace % 256 != 0))
        st = cbx_fail(err, CBX_EINVAL,
                      "the workspace has %zu bytes of %zu, or is not 256-byte aligned: see cbx_cuda_matmul_workspace",
                      j.p->workspace_bytes, j.bytes);
    for (size_t i = 0; !st && j.bytes > 0 && i < PARTS; i++) j.part[i] = (char *)j.p->workspace + j.at[i];
    if (st || p->product.m == 0 || p->product.n == 0 || p->batches == 0) return st;
    st = cbx__cuda_enter(g, err);
    if (st) return st;
    st = run(&j, stream, err);
    cbx__cuda_leave(g);
    return st;
}
