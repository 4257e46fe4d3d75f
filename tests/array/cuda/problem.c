/*
 * Products on a device beside their definition; see problem.h.
 */
#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { A, B, C, D, MASK, WANTED };
#define POISON 0x5b

/* --- values --- */

static double draw(content c, cbx_rng *rng, size_t i)
{
    const double x = cbx_rng_normal(rng), u = cbx_rng_uniform(rng);

    switch (c) {
    case WIDE: return 700 * x; /* log: sums that no certificate holds for */
    case MASKED: return u < 0.5 || i % 97 < 20 ? -INFINITY : x;
    case INFINITE: return u < 0.02 ? INFINITY : u < 0.04 ? -INFINITY : x;
    case NOT_NUMBERS: return u < 0.02 ? NAN : u < 0.03 ? INFINITY : u < 0.04 ? -INFINITY : x;
    case SPARSE: return u < 0.03 ? x : 0;
    default: return x;
    }
}

static void put(cbx_dtype t, void *x, size_t i, double v)
{
    if (t == CBX_F32)
        ((float *)x)[i] = (float)v;
    else if (t == CBX_F64)
        ((double *)x)[i] = v;
    else
        ((uint8_t *)x)[i] = isnan(v) || v > 1 ? (uint8_t)(1 + i % 200) : 0;
}

static double get(cbx_dtype t, const void *x, size_t i)
{
    if (t == CBX_F32) return (double)((const float *)x)[i];
    return t == CBX_F64 ? ((const double *)x)[i] : (double)((const uint8_t *)x)[i];
}

static char *fill(cbx_dtype t, size_t count, content c, cbx_rng *rng)
{
    char *x = malloc(count * cbx_dtype_size(t) + 1);
    for (size_t i = 0; i < count; i++) put(t, x, i, draw(c, rng, i));
    return x;
}

/* --- dense --- */

/* Strides of a rows-by-cols matrix, how many elements it reaches over, and which of them is
 * its first. */
static size_t lay(int kind, size_t rows, size_t cols, ptrdiff_t *row, ptrdiff_t *col, size_t *first)
{
    const ptrdiff_t r = (ptrdiff_t)rows, c = (ptrdiff_t)cols;

    *first = 0;
    *row = kind == 1 ? 1 : kind == 2 ? 3 * c + 1 : kind == 3 ? -c : kind == 4 ? 0 : c;
    *col = kind == 1 ? (r ? r : 1) : kind == 2 ? 3 : kind == 3 ? -1 : 1;
    if (kind == 3) *first = rows * cols - 1;
    return kind == 2 ? rows * (3 * cols + 1) : rows * cols;
}

void problem_make(problem *q, uint64_t seed)
{
    static const struct {
        int a, b, c;
    } kinds[LAYOUTS] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 1, 1, 1 }, { 2, 2, 2 }, { 3, 3, 0 }, { 4, 4, 3 } };
    cbx_matmul *p = &q->q.product;
    const size_t z = q->q.batches, size = cbx_dtype_size(p->dtype);
    const cbx_dtype types[] = { p->dtype, p->dtype, p->dtype, p->dtype, CBX_BOOL };
    cbx_rng rng = cbx_rng_make(seed, 0);
    size_t first[5], each[5];

    each[A] = lay(kinds[q->layout].a, p->m, p->k, &p->lda, &p->a_step, &first[A]);
    each[B] = lay(kinds[q->layout].b, p->k, p->n, &p->ldb, &p->b_step, &first[B]);
    each[C] = lay(kinds[q->layout].c, p->m, p->n, &p->ldc, &p->c_step, &first[C]);
    each[D] = lay(q->layout == DENSE ? 0 : 1, p->m, p->n, &p->ldd, &p->d_step, &first[D]);
    each[MASK] = lay(q->layout == DENSE ? 0 : 1, p->m, p->n, &p->ldm, &p->m_step, &first[MASK]);
    for (int i = 0; i < 5; i++) {
        q->bytes[i] = each[i] * z * (i == MASK ? 1 : size);
        q->block[i] = fill(types[i], each[i] * z, i == MASK ? NORMAL : q->content, &rng);
    }
    for (size_t i = 0; i < q->bytes[MASK]; i++)
        q->block[MASK][i] = cbx_rng_uniform(&rng) < 0.4 ? 0 : (char)(1 + i % 99);
    q->bytes[WANTED] = q->bytes[C];
    q->block[WANTED] = malloc(q->bytes[C] + 1);
    memset(q->block[C], POISON, q->bytes[C]);
    memset(q->block[WANTED], POISON, q->bytes[C]);
    p->a = q->block[A] + first[A] * size;
    p->b = q->block[B] + first[B] * size;
    p->c = q->block[C] + first[C] * size;
    p->d = q->d ? q->block[D] : NULL;
    p->mask = q->mask ? (uint8_t *)q->block[MASK] : NULL;
    q->q.batch_a = (ptrdiff_t)each[A], q->q.batch_b = (ptrdiff_t)each[B], q->q.batch_c = (ptrdiff_t)each[C];
    q->q.batch_d = (ptrdiff_t)each[D], q->q.batch_m = (ptrdiff_t)each[MASK];
    if (q->layout == REPEATED) q->q.batch_b = 0;
}

void problem_free(problem *q)
{
    for (size_t i = 0; i < CBX_LEN(q->block); i++) free(q->block[i]);
}

void problem_define(problem *q)
{
    const ptrdiff_t size = (ptrdiff_t)cbx_dtype_size(q->q.product.dtype);
    cbx_err err = CBX_ERR_INIT;

    for (ptrdiff_t z = 0; z < (ptrdiff_t)q->q.batches; z++) {
        cbx_matmul p = q->q.product;
        p.a = (const char *)p.a + z * q->q.batch_a * size;
        p.b = (const char *)p.b + z * q->q.batch_b * size;
        p.c = q->block[WANTED] + ((char *)p.c - q->block[C]) + z * q->q.batch_c * size;
        if (p.d) p.d = (const char *)p.d + z * q->q.batch_d * size;
        if (p.mask) p.mask += z * q->q.batch_m;
        CHECK_OK(cbx_matmul_define(&p, &err), &err, problem_text(q));
    }
}

/* An operand's place in the device's copy of its block; an empty block has no copy and no place. */
static void *moved(void *to, const void *p, const void *block)
{
    return (void *)((uintptr_t)to + (uintptr_t)p - (uintptr_t)block);
}

cbx_status problem_run(problem *q, cbx_cuda *g, void *stream, cbx_err *err)
{
    cbx_cuda_matmul there = q->q;
    cbx_matmul *p = &there.product;
    void *at[5] = { NULL }, *workspace = NULL;
    cbx_status st = CBX_OK;

    for (int i = 0; i < 5 && !st; i++) {
        st = cbx_cuda_alloc(g, q->bytes[i], &at[i], err);
        if (!st) st = cbx_cuda_upload(g, at[i], q->block[i], q->bytes[i], stream, err);
    }
    p->a = moved(at[A], p->a, q->block[A]);
    p->b = moved(at[B], p->b, q->block[B]);
    p->c = moved(at[C], p->c, q->block[C]);
    if (p->d) p->d = at[D];
    if (p->mask) p->mask = at[MASK];
    if (!st) st = cbx_cuda_matmul_workspace(g, &there, &p->workspace_bytes, err);
    if (!st) st = cbx_cuda_alloc(g, p->workspace_bytes, &workspace, err);
    p->workspace = workspace;
    if (!st) st = cbx_cuda_matmul_run(g, &there, stream, err);
    if (!st) st = cbx_cuda_download(g, q->block[C], at[C], q->bytes[C], stream, err);
    if (!st) st = cbx_cuda_wait(g, stream, err);
    for (int i = 0; i < 5; i++) cbx_cuda_free(g, at[i]);
    cbx_cuda_free(g, workspace);
    return st;
}

/* 1 or less: x is a right y.  scale: sum of |terms|, or |y| where nothing cancels. */
static double error_of(cbx_dtype t, bool exact, double terms, double x, double y)
{
    const double u = t == CBX_F32 ? 0x1p-24 : 0x1p-53;

    if (x == y || (isnan(x) && isnan(y))) return 0;
    return exact || !isfinite(x) || !isfinite(y) ? INFINITY : fabs(x - y) / (u * (terms + 8) * (4 + fabs(y)));
}

double problem_worst(const problem *q)
{
    const cbx_matmul *p = &q->q.product;
    const size_t size = cbx_dtype_size(p->dtype), count = q->bytes[C] / size;
    const double wide = q->content == WIDE ? 4096 : 1; /* sums of what is as large cancel, and a + b rounds */
    double worst = 0;

    for (size_t i = 0; i < count; i++) {
        const double x = get(p->dtype, q->block[C], i), y = get(p->dtype, q->block[WANTED], i);
        if (memcmp(q->block[C] + i * size, q->block[WANTED] + i * size, size) == 0) continue;
        worst = fmax(worst, error_of(p->dtype, p->semiring->is_exact, 2 * (double)p->k, x, y) / wide);
    }
    return worst;
}

const char *problem_text(const problem *q)
{
    static char text[200];
    const cbx_matmul *p = &q->q.product;

    snprintf(text, sizeof text, "%s %s %zux%zux%zu by %zu, layout %d, content %d%s%s%s", p->semiring->name,
             cbx_dtype_name(p->dtype), p->m, p->k, p->n, q->q.batches, (int)q->layout, (int)q->content,
             q->d ? ", D" : "", q->mask ? ", mask" : "", p->raw ? ", raw" : "");
    return text;
}

/* --- sparse --- */

enum { INDEX, DEGREE, START, PLACE, VALUES, FEATURES, OUT, OUT_WANTED };

static void *capacity(sparse_problem *q, int i, size_t bytes)
{
    q->bytes[i] = bytes;
    q->block[i] = calloc(bytes + 1, 1);
    return q->block[i];
}

void sparse_make(sparse_problem *q, uint64_t seed)
{
    cbx_ell_product *p = &q->p;
    const size_t places = p->rows * p->width, size = cbx_dtype_size(p->dtype);
    cbx_rng rng = cbx_rng_make(seed, 1);
    int32_t *index = capacity(q, INDEX, places * 4), *degree = capacity(q, DEGREE, p->rows * 4);
    size_t *start = capacity(q, START, (p->rows + 1) * sizeof *start), edges = 0;
    uint32_t *place = capacity(q, PLACE, places * 4);

    for (size_t i = 0; i < p->rows; i++) {
        degree[i] = i % 5 == 3 ? 0 : (int32_t)(cbx_rng_uniform(&rng) * (double)(p->width + 1));
        for (size_t e = 0; e < p->width; e++) { /* padding names no row of B */
            const int32_t j = (int32_t)(cbx_rng_uniform(&rng) * (double)p->cols);
            if (!q->by_start) index[i * p->width + e] = (int32_t)e < degree[i] ? j : -1;
            if (!q->by_start || (int32_t)e >= degree[i]) continue;
            index[edges] = j;
            place[edges++] = (uint32_t)(i * p->width + (p->width - 1 - e)); /* values from behind */
        }
        start[i + 1] = edges;
    }
    capacity(q, OUT, p->rows * p->ldc * size);
    capacity(q, OUT_WANTED, q->bytes[OUT]);
    q->block[VALUES] = fill(p->dtype, places, q->content, &rng), q->bytes[VALUES] = places * size;
    q->block[FEATURES] = fill(p->dtype, p->cols * p->ldb, q->content, &rng),
    q->bytes[FEATURES] = p->cols * p->ldb * size;
    memset(q->block[OUT], POISON, q->bytes[OUT]);
    memset(q->block[OUT_WANTED], POISON, q->bytes[OUT]);
    p->index = index;
    p->degree = q->by_start ? NULL : degree;
    p->start = q->by_start ? start : NULL;
    p->place = q->by_start ? place : NULL;
    p->values = q->block[VALUES], p->b = q->block[FEATURES], p->c = q->block[OUT];
}

void sparse_free(sparse_problem *q)
{
    for (size_t i = 0; i < CBX_LEN(q->block); i++) free(q->block[i]);
}

cbx_status sparse_on_device(sparse_problem *q, cbx_cuda *g, sparse_run *run, cbx_err *err)
{
    cbx_ell_product p = q->p;
    void *at[OUT + 1] = { NULL };
    cbx_status st = CBX_OK;

    for (int i = 0; i <= OUT && !st; i++) {
        st = cbx_cuda_alloc(g, q->bytes[i], &at[i], err);
        if (!st) st = cbx_cuda_upload(g, at[i], q->block[i], q->bytes[i], NULL, err);
    }
    p.index = at[INDEX], p.values = at[VALUES], p.b = at[FEATURES], p.c = at[OUT];
    if (p.degree) p.degree = at[DEGREE];
    if (p.start) p.start = at[START];
    if (p.place) p.place = at[PLACE];
    if (!st) st = run(g, &p, NULL, err);
    if (!st) st = cbx_cuda_download(g, q->block[OUT], at[OUT], q->bytes[OUT], NULL, err);
    if (!st) st = cbx_cuda_wait(g, NULL, err);
    for (int i = 0; i <= OUT; i++) cbx_cuda_free(g, at[i]);
    return st;
}

void sparse_by_definition(sparse_problem *q, sparse_define *define)
{
    cbx_ell_product p = q->p;
    cbx_err err = CBX_ERR_INIT;

    p.c = q->block[OUT_WANTED];
    CHECK_OK(define(&p, &err), &err, "the definition");
}

double sparse_worst(const sparse_problem *q, bool exact)
{
    const size_t size = cbx_dtype_size(q->p.dtype);
    const double wide = q->content == WIDE ? 4096 : 1;
    double worst = 0;

    for (size_t i = 0; i < q->bytes[OUT] / size; i++) {
        if (memcmp(q->block[OUT] + i * size, q->block[OUT_WANTED] + i * size, size) == 0) continue;
        worst = fmax(worst, error_of(q->p.dtype, exact, 2 * (double)q->p.width, get(q->p.dtype, q->block[OUT], i),
                                     get(q->p.dtype, q->block[OUT_WANTED], i)) /
                                wide);
    }
    return worst;
}
