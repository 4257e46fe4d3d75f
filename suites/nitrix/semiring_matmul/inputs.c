/*
 * Inputs, and the transformation under which the answer is known.
 *
 * Floats are standard normal draws, A then B, one stream of the point's seed, drawn in double and rounded to the dtype.
 * Booleans are true with probability p = sqrt(1 - 2^(-1/k)), so that C[i,j], false with probability (1 - p^2)^k, is true
 * half the time, whatever k is: 36 % at k = 5, 3.7 % at 512, 2.6 % at 1024.  A fixed density makes C all false where k
 * is small, which every wrong kernel passes, and all true where it is large, which flatters one that stops at the first
 * true term; here half of the elements need the whole loop.
 *
 * Rotation: rows of A and columns of B are permuted, and the product's rows and columns permute with them.  Every step
 * of the work is the same, and no element of C stays where it was.
 */
#include <math.h>
#include <string.h>

#include "calibrax/base/rng.h"
#include "suites/nitrix/semiring_matmul/matmul.h"

#define STREAM_INPUTS   0
#define STREAM_ROTATION 16 /* and above: two a rotation */

static double boolean_density(size_t k) { return k ? sqrt(-expm1(-log(2) / (double)k)) : 0; }

static void fill(cbx_array *a, double density, cbx_rng *rng)
{
    const size_t count = cbx_array_count(a);
    void *data = cbx_array_data_mut(a);
    if (cbx_array_dtype(a) == CBX_F32)
        for (size_t i = 0; i < count; i++) ((float *)data)[i] = (float)cbx_rng_normal(rng);
    else if (cbx_array_dtype(a) == CBX_F64)
        for (size_t i = 0; i < count; i++) ((double *)data)[i] = cbx_rng_normal(rng);
    else
        for (size_t i = 0; i < count; i++) ((uint8_t *)data)[i] = cbx_rng_uniform(rng) < density;
}

cbx_status cbx__sm_make_inputs(cbx_ctx *ctx, const cbx_params *params, cbx_array **in, cbx_err *err)
{
    const cbx__sm_point p = cbx__sm_read(params);
    const cbx_array_desc shape_a = { p.dtype, 2, { p.m, p.k } }, shape_b = { p.dtype, 2, { p.k, p.n } };
    cbx_array *a = NULL, *b = NULL;
    cbx_rng rng = cbx_rng_make(p.seed, STREAM_INPUTS);
    cbx_status st = cbx_array_create(ctx, &shape_a, &a, err);
    if (st) goto done;
    st = cbx_array_create(ctx, &shape_b, &b, err);
    if (st) goto done;
    fill(a, boolean_density(p.k), &rng);
    fill(b, boolean_density(p.k), &rng);
    in[0] = a;
    in[1] = b;
    a = b = NULL;
done:
    cbx_array_free(a);
    cbx_array_free(b);
    return st;
}

/* The permutation of `count` rows (axis 0) or columns (axis 1) in rotation r; the caller frees count * sizeof(size_t).
 */
static cbx_status permutation(cbx_ctx *ctx, uint64_t seed, uint64_t r, int axis, size_t count, size_t **out,
                              cbx_err *err)
{
    size_t *order = cbx_mem_calloc(cbx_ctx_allocator(ctx), count ? count : 1, sizeof *order);
    if (!order) return cbx_fail(err, CBX_ENOMEM, "out of memory for a permutation of %zu", count);
    cbx_rng rng = cbx_rng_make(seed, STREAM_ROTATION + 2 * r + (uint64_t)axis);
    if (count) cbx_rng_permutation(&rng, count, order);
    *out = order;
    return CBX_OK;
}

/* out[i,j] = in[rows[i], cols[j]]; NULL rows or cols: the identity. */
static cbx_status gather(cbx_ctx *ctx, const cbx_array *in, const size_t *rows, const size_t *cols, cbx_array **out,
                         cbx_err *err)
{
    const size_t m = cbx_array_dim(in, 0), n = cbx_array_dim(in, 1), size = cbx_dtype_size(cbx_array_dtype(in));
    cbx_array *a = NULL;
    const cbx_status st = cbx_array_create(ctx, cbx_array_get_desc(in), &a, err);
    if (st) return st;
    const char *from = cbx_array_data(in);
    char *to = cbx_array_data_mut(a);
    for (size_t i = 0; i < m; i++) {
        const char *row = from + (rows ? rows[i] : i) * n * size;
        if (!cols)
            memcpy(to + i * n * size, row, n * size);
        else
            for (size_t j = 0; j < n; j++) memcpy(to + (i * n + j) * size, row + cols[j] * size, size);
    }
    *out = a;
    return CBX_OK;
}

/* Both permutations of a rotation. */
static cbx_status permutations(cbx_ctx *ctx, const cbx__sm_point *p, uint64_t r, size_t **rows, size_t **cols,
                               cbx_err *err)
{
    cbx_status st = permutation(ctx, p->seed, r, 0, p->m, rows, err);
    if (!st) st = permutation(ctx, p->seed, r, 1, p->n, cols, err);
    return st;
}

static void free_permutations(cbx_ctx *ctx, const cbx__sm_point *p, size_t *rows, size_t *cols)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_mem_free(al, rows, (p->m ? p->m : 1) * sizeof *rows);
    cbx_mem_free(al, cols, (p->n ? p->n : 1) * sizeof *cols);
}

cbx_status cbx__sm_rotate_inputs(cbx_ctx *ctx, const cbx_params *params, uint64_t r, cbx_array *const *in,
                                 cbx_array **rotated, cbx_err *err)
{
    const cbx__sm_point p = cbx__sm_read(params);
    size_t *rows = NULL, *cols = NULL;
    cbx_array *a = NULL;
    cbx_status st = permutations(ctx, &p, r, &rows, &cols, err);
    if (st) goto done;
    st = gather(ctx, in[0], rows, NULL, &a, err);
    if (st) goto done;
    st = gather(ctx, in[1], NULL, cols, &rotated[1], err);
    if (st) goto done;
    rotated[0] = a;
    a = NULL;
done:
    cbx_array_free(a);
    free_permutations(ctx, &p, rows, cols);
    return st;
}

cbx_status cbx__sm_rotate_output(cbx_ctx *ctx, const cbx_params *params, uint64_t r, size_t output, const cbx_array *a,
                                 cbx_array **rotated, cbx_err *err)
{
    const cbx__sm_point p = cbx__sm_read(params);
    size_t *rows = NULL, *cols = NULL;
    (void)output;
    cbx_status st = permutations(ctx, &p, r, &rows, &cols, err);
    if (!st) st = gather(ctx, a, rows, cols, rotated, err);
    free_permutations(ctx, &p, rows, cols);
    return st;
}
