/*
 * Products of stacks of matrices.  Floats: by the kernel of the real semiring.  Others: rows of B,
 * scaled, are added to a row of 64-bit accumulators, k ascending; with few columns a row of A and a
 * column of B at a time.  Scratch: two rows, of A or of the result, in the wide dtype; B in it,
 * unless its rows lie like that.
 */
#include <string.h>

#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/kernels/semiring_kernel.h"
#include "calibrax/array/reference/reference.h"

/* acc[j] += a * b[j] */
typedef void (*axpy)(size_t n, const void *a, const void *b, void *acc);

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
    cbx_dtype dtype; /* of elements as they are multiplied by columns */
    size_t m, k, n, wide_size;
    bool in_place; /* rows and columns without gaps are read where they lie */
    cbx__strided a, b, r;
    cbx__loop load, store;
    axpy step;
    const cbx__fold *fold;
} product;

/* sum of a[k] b[k] over m elements of float from at on. */
static double piece(const product *p, const char *x, const char *y, size_t at, size_t m)
{
    if (p->dtype == CBX_F32)
        return p->fold->run_dot_f32((const float *)(const void *)x + at, (const float *)(const void *)y + at, m);
    return p->fold->run_dot_f64((const double *)(const void *)x + at, (const double *)(const void *)y + at, m);
}

static bool is_float(const product *p) { return p->dtype == CBX_F32 || p->dtype == CBX_F64; }

enum { PIECE = 65536 }; /* elements of float whose products have one sum */

/* sum of a[k] b[k] as 64 bits; of floats in float64, in pieces whose length does not depend on
 * threads. */
static uint64_t dot(const product *p, const char *x, const char *y)
{
    enum { PIECES = 64 };
    const size_t n = p->k;
    double part[PIECES], sum = 0;
    uint64_t bits;

    if (!is_float(p)) return p->fold->run_dot_u64((const uint64_t *)(const void *)x, (const void *)y, n);
    if (n <= PIECE) sum = piece(p, x, y, 0, n);
    for (size_t first = 0; n > PIECE && first < n; first += (size_t)PIECE * PIECES) {
        const size_t rest = n - first, left = (rest + PIECE - 1) / PIECE, pieces = left < PIECES ? left : PIECES;
        const int threads = pieces >= 4 ? cbx__omp_threads() : 1;
#define PART(i) part[i] = piece(p, x, y, first + (i)*PIECE, rest - (i)*PIECE < PIECE ? rest - (i)*PIECE : PIECE)
        if (threads > 1) { /* a team of one costs more than a short product */
#pragma omp parallel for schedule(static) num_threads(threads)
            for (size_t i = 0; i < pieces; i++) PART(i);
        } else {
            for (size_t i = 0; i < pieces; i++) PART(i);
        }
#undef PART
        for (size_t i = 0; i < pieces; i++) sum = first + i ? sum + part[i] : part[0];
    }
    memcpy(&bits, &sum, sizeof bits);
    return bits;
}

/* Of integers of 64 bits with gaps, whose order does not matter: without copies. */
static uint64_t dot_of_steps(size_t n, const char *a, ptrdiff_t a_step, const char *b, ptrdiff_t b_step)
{
    uint64_t sum = 0;

    _Pragma("GCC unroll 4") for (; n > 0; n--, a += a_step, b += b_step)
        sum += *(const uint64_t *)(const void *)a * *(const uint64_t *)(const void *)b;
    return sum;
}

/* As the sums of kernels/fold.h (run_dot), of elements with gaps. */
#define DOT_OF_STEPS(name, T)                                                                                          \
    static double name(size_t n, const char *a, ptrdiff_t a_step, const char *b, ptrdiff_t b_step)                     \
    {                                                                                                                  \
        double part[16] = { 0 };                                                                                       \
        for (size_t k = 0; k < n; k += 16)                                                                             \
            for (size_t l = 0; l < 16 && k + l < n; l++, a += a_step, b += b_step)                                     \
                part[l] += (double)*(const T *)(const void *)a * (double)*(const T *)(const void *)b;                  \
        for (size_t l = 8; l > 0; l /= 2)                                                                              \
            for (size_t i = 0; i < l; i++) part[i] += part[i + l];                                                     \
        return part[0];                                                                                                \
    }
DOT_OF_STEPS(dot_of_steps_f64, double)
DOT_OF_STEPS(dot_of_steps_f32, float)

/* As dot, of elements with gaps or of another dtype, which are converted a piece at a time. */
static uint64_t dot_with_gaps(const product *p, char *a, char *b, char *column, char *row)
{
    const size_t length = is_float(p) ? PIECE : 2048;
    const ptrdiff_t a_step = p->a.strides[2], b_step = p->b.strides[1];
    uint64_t total = 0;
    double sum = 0;

    if (p->in_place && !is_float(p)) return dot_of_steps(p->k, a, a_step, b, b_step);
    for (size_t done = 0; done < p->k;
         done += length, a += (ptrdiff_t)length * a_step, b += (ptrdiff_t)length * b_step) {
        const size_t m = p->k - done < length ? p->k - done : length;
        double part;
        if (is_float(p)) {
            part = (p->dtype == CBX_F32 ? dot_of_steps_f32 : dot_of_steps_f64)(m, a, a_step, b, b_step);
            sum = done ? sum + part : part;
        } else {
            const ptrdiff_t size = (ptrdiff_t)sizeof total;
            cbx__move(p->load, m, row, size, a, a_step);
            cbx__move(p->load, m, column, size, b, b_step);
            total += p->fold->run_dot_u64((const uint64_t *)(const void *)row, (const void *)column, m);
        }
    }
    if (is_float(p)) memcpy(&total, &sum, sizeof total);
    return total;
}

/* A row of A along a column of B; a row with gaps, or of another dtype, is copied first. */
static void one_element(const product *p, char *a, const char *column, char *r, char *row, size_t i)
{
    const ptrdiff_t size = (ptrdiff_t)cbx__dtype_size(p->dtype);
    char *at = a + (ptrdiff_t)i * p->a.strides[1];
    uint64_t sum; /* or a double */

    if (row) cbx__move(p->load, p->k, row, size, at, p->a.strides[2]);
    sum = dot(p, row ? row : at, column);
    cbx__move(p->store, 1, r + (ptrdiff_t)i * p->r.strides[1], 0, &sum, 0);
}

static void one_matrix_by_columns(const product *p, char *a, char *b, char *r, char *column, char *row)
{
    const ptrdiff_t size = (ptrdiff_t)cbx__dtype_size(p->dtype);
    const int threads = p->in_place && p->a.strides[2] == size && p->m >= 8 && p->m * p->k >= 1 << 17
                            ? cbx__omp_threads()
                            : 1;

    if (p->m == 1 && p->n == 1 && !(p->in_place && p->a.strides[2] == size && p->b.strides[1] == size)) {
        const uint64_t sum = dot_with_gaps(p, a, b, column, row);
        cbx__move(p->store, 1, r, 0, &sum, 0);
        return;
    }
    if (p->in_place && p->a.strides[2] == size) row = NULL;
    for (size_t j = 0; j < p->n; j++) {
        char *with = b + (ptrdiff_t)j * p->b.strides[2], *to = r + (ptrdiff_t)j * p->r.strides[2];
        if (!p->in_place || p->b.strides[1] != size) {
            cbx__move(p->load, p->k, column, size, with, p->b.strides[1]);
            with = column;
        }
        if (threads > 1) {
#pragma omp parallel for schedule(static) num_threads(threads)
            for (size_t i = 0; i < p->m; i++) one_element(p, a, with, to, NULL, i);
        } else {
            for (size_t i = 0; i < p->m; i++) one_element(p, a, with, to, row, i);
        }
    }
}

/* lined_up: B without gaps and converted, or NULL, where it lies like that. */
static void one_matrix(const product *p, char *a, char *b, char *r, char *acc, char *lined_up)
{
    const ptrdiff_t wide = (ptrdiff_t)p->wide_size, row = lined_up ? (ptrdiff_t)p->n * wide : p->b.strides[1];

    for (size_t k = 0; lined_up && k < p->k; k++)
        cbx__move(p->load, p->n, lined_up + (ptrdiff_t)k * row, wide, b + (ptrdiff_t)k * p->b.strides[1],
                  p->b.strides[2]);
    if (lined_up) b = lined_up;
    for (size_t i = 0; i < p->m; i++) {
        memset(acc, 0, p->n * p->wide_size);
        for (size_t k = 0; k < p->k; k++) {
            double x[2];
            char *at = a + (ptrdiff_t)i * p->a.strides[1] + (ptrdiff_t)k * p->a.strides[2];
            if (p->in_place)
                memcpy(x, at, p->wide_size);
            else
                cbx__move(p->load, 1, x, 0, at, 0);
            p->step(p->n, x, b + (ptrdiff_t)k * row, acc);
        }
        cbx__move(p->store, p->n, r + (ptrdiff_t)i * p->r.strides[1], p->r.strides[2], acc, wide);
    }
}

CBX__RUN(matmul)
{
    const cbx_array *a = call->in[0], *b = call->in[1];
    cbx_dtype t = a->desc.dtype, wide = cbx__ref_wide(t);
    product p = { wide == CBX_F64 ? t : wide, a->desc.shape[1], a->desc.shape[2], b->desc.shape[2],
                  cbx_dtype_size(wide) };
    const bool by_columns = p.n < 4 && p.k > p.n && wide != CBX_C128;
    const bool there = t == p.dtype && b->strides[2] == 1; /* rows of B are multiplied where they lie */
    const size_t line = (by_columns ? p.k : p.n) * p.wide_size, second = by_columns ? line : there ? 0 : p.k * line;

    if (wide == CBX_F64 && !by_columns)
        return cbx__ref_semiring_stack(call->ctx, cbx_semiring_get(CBX_ALGEBRA_REAL), false, a, b, *out, err);
    CBX_SCOPED(cbx__scratch, scratch, call->ctx);
    const cbx_status st = cbx__scratch_get(&scratch, line + second, err);
    if (st || (*out)->count == 0) return st;
    p.a = cbx__ref_strided(a);
    p.b = cbx__ref_strided(b);
    p.r = cbx__ref_strided(*out);
    p.in_place = t == p.dtype; /* nothing to convert */
    p.load = cbx__move_loop(t, p.in_place ? t : wide);
    p.store = cbx__move_loop(wide, t);
    p.fold = cbx__fold_get(cbx_isa_best());
    p.step = wide == CBX_C128 ? axpy_c128 : p.fold->run_axpy_u64;
    for (size_t i = 0; i < a->desc.shape[0]; i++)
        (by_columns ? one_matrix_by_columns : one_matrix)(
            &p, p.a.data + (ptrdiff_t)i * p.a.strides[0], p.b.data + (ptrdiff_t)i * p.b.strides[0],
            p.r.data + (ptrdiff_t)i * p.r.strides[0], scratch.data, second ? (char *)scratch.data + line : NULL);
    return CBX_OK;
}
