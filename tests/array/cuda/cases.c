/*
 * What a device must get right; see cases.h.
 */
#include "cases.h"
#include "host.h"

#include <math.h>
#include <stdlib.h>

#include "check.h"

/* Under a sanitizer, which slows threads played on this CPU down by ten, one of n combinations:
 * each member of each list is still there, with others of the other lists.  Without one all of
 * them run. */
#ifdef __SANITIZE_ADDRESS__
#define LEFT_OUT(n, i) ((i) % (n) != 0)
#else
#define LEFT_OUT(n, i) false
#endif

#define EACH_ALGEBRA(g, t)                                                                                             \
    for (int g = 0; g < CBX_ALGEBRA_COUNT; g++)                                                                        \
        for (cbx_dtype t = CBX_BOOL; t < CBX_DTYPE_COUNT; t = (cbx_dtype)(t + 1))                                      \
            if (cbx_semiring_takes(cbx_semiring_get((cbx_algebra)g), t))

static const struct {
    size_t m, k, n, batches;
    const char *why;
} shapes[] = {
    { 1, 1, 1, 1, "one element" },
    { 3, 0, 5, 1, "nothing to fold" },
    { 0, 4, 3, 1, "no rows" },
    { 16, 8, 16, 2, "whole small tiles" },
    { 33, 7, 17, 3, "less than a panel, tails, a stack" },
    { 65, 19, 66, 1, "one more than a tile" },
    { 130, 33, 70, 1, "several tiles with tails" },
    { 5, 150, 9, 2, "long folds" },
    { 3, 530, 5, 2, "folds in parts" },
};

static cbx_cuda_matmul product_of(cbx_algebra g, cbx_dtype t, size_t m, size_t k, size_t n, size_t batches,
                                  cbx_cuda_gemm gemm)
{
    cbx_cuda_matmul q = CBX_CUDA_MATMUL_INIT;

    q.product.semiring = cbx_semiring_get(g);
    q.product.dtype = t;
    q.product.m = m, q.product.k = k, q.product.n = n;
    q.batches = batches;
    q.gemm = gemm;
    return q;
}

static void try(problem *q, cbx_cuda *g, uint64_t seed)
{
    cbx_err err = CBX_ERR_INIT;

    problem_make(q, seed);
    problem_define(q);
    CHECK_OK(problem_run(q, g, NULL, &err), &err, problem_text(q));
    CHECK_LE(problem_worst(q), 1, problem_text(q));
    problem_free(q);
}

void cases_shapes(cbx_cuda *g, cbx_cuda_gemm gemm)
{
    EACH_ALGEBRA(a, t)
    for (size_t s = 0; s < CBX_LEN(shapes); s++)
        for (int l = 0; l < LAYOUTS; l++) {
            if (LEFT_OUT(LAYOUTS, (size_t)l + s + (size_t)a + (size_t)t)) continue;
            problem q = { .q = product_of((cbx_algebra)a, t, shapes[s].m, shapes[s].k, shapes[s].n, shapes[s].batches,
                                          gemm),
                          .layout = (layout)l };
            try(&q, g, s + 1);
        }
}

void cases_contents(cbx_cuda *g, cbx_cuda_gemm gemm)
{
    EACH_ALGEBRA(a, t)
    for (int c = WIDE; c < CONTENTS; c++)
        for (int l = DENSE; l <= GAPS; l += 2) {
            if (LEFT_OUT(3, l / 2 + c + a + (int)t)) continue;
            problem q = { .q = product_of((cbx_algebra)a, t, 37, 41, 35, 1, gemm),
                          .layout = (layout)l,
                          .content = (content)c };
            try(&q, g, (uint64_t)(10 * c + l));
        }
}

/* Folds in parts, which are joined with the epilogue. */
void cases_parts(cbx_cuda *g, cbx_cuda_gemm gemm)
{
    EACH_ALGEBRA(a, t)
    for (int way = 0; way < 8; way++) {
        if (LEFT_OUT(4, way + a + (int)t)) continue;
        problem q = { .q = product_of((cbx_algebra)a, t, 2 + (size_t)way, 777, 3, 1 + way % 2, gemm),
                      .layout = way & 4 ? GAPS : DENSE,
                      .content = way == 5        ? NOT_NUMBERS
                                 : way == 6      ? MASKED
                                 : t == CBX_BOOL ? SPARSE
                                                 : NORMAL,
                      .d = way & 1,
                      .mask = way & 2 };
        q.q.product.mask_complement = way & 4;
        q.q.product.raw = way == 4 && a == CBX_ALGEBRA_EUCLIDEAN;
        try(&q, g, (uint64_t)way);
    }
}

void cases_epilogues(cbx_cuda *g, cbx_cuda_gemm gemm)
{
    EACH_ALGEBRA(a, t)
    for (int way = 1; way < 32; way += 1 + way % 3) {
        if (LEFT_OUT(3, way + a + (int)t)) continue;
        problem q = { .q = product_of((cbx_algebra)a, t, 35, 21, 38, 1 + way % 2, gemm),
                      .layout = way & 16 ? GAPS : DENSE,
                      .d = way & 1,
                      .mask = way & 2 };
        q.q.product.mask_complement = way & 4;
        q.q.product.raw = (way & 8) && a == CBX_ALGEBRA_EUCLIDEAN;
        try(&q, g, (uint64_t)way);
    }
}

/* --- sparse --- */

static sparse_problem sparse_of(cbx_algebra a, cbx_dtype t, size_t rows, size_t width, size_t d, size_t gap)
{
    sparse_problem q = { .p = CBX_ELL_PRODUCT_INIT };

    q.p.semiring = cbx_semiring_get(a);
    q.p.dtype = t;
    q.p.rows = rows, q.p.cols = rows / 2 + 3, q.p.width = width, q.p.d = d;
    q.p.ldb = q.p.ldc = d + gap;
    return q;
}

static void try_sparse(sparse_problem *q, cbx_cuda *g, sparse_run *run, sparse_define *define, bool exact,
                       uint64_t seed)
{
    cbx_err err = CBX_ERR_INIT;

    sparse_make(q, seed);
    sparse_by_definition(q, define);
    CHECK_OK(sparse_on_device(q, g, run, &err), &err, "a sparse product");
    CHECK_LE(sparse_worst(q, exact), 1, q->p.semiring->name);
    sparse_free(q);
}

static void softmax_case(cbx_cuda *g, cbx_dtype t, size_t width, int form)
{
    sparse_problem q = sparse_of(CBX_ALGEBRA_REAL, t, 45, width, 1, 0);

    q.by_start = form & 1;
    q.content = form & 2 ? NOT_NUMBERS : form & 4 ? MASKED : NORMAL;
    q.p.ldc = width; /* C is as large as the values */
    try_sparse(&q, g, cbx_cuda_ell_softmax_run, cbx_ell_softmax_run, false, (uint64_t)form);
}

void cases_sparse(cbx_cuda *g)
{
    static const struct {
        size_t rows, width, d, gap;
    } sizes[] = { { 1, 1, 1, 0 },  { 50, 7, 33, 2 },  { 40, 5, 64, 0 },
                  { 33, 9, 8, 4 }, { 20, 3, 150, 2 }, { 9, 40, 4, 0 } };

    EACH_ALGEBRA(a, t)
    for (size_t s = 0; s < CBX_LEN(sizes); s++)
        for (int form = 0; form < 8; form++) {
            if (LEFT_OUT(3, (size_t)form + s + (size_t)a + (size_t)t)) continue;
            sparse_problem q = sparse_of((cbx_algebra)a, t, sizes[s].rows, sizes[s].width, sizes[s].d, sizes[s].gap);
            q.by_start = form & 1;
            q.p.scaled = (form & 2) && a != CBX_ALGEBRA_LOG && a != CBX_ALGEBRA_EUCLIDEAN && a != CBX_ALGEBRA_BOOLEAN;
            q.content = form & 4 ? NOT_NUMBERS : a == CBX_ALGEBRA_LOG && form & 2 ? MASKED : NORMAL;
            try_sparse(&q, g, cbx_cuda_ell_product_run, cbx_ell_product_define, q.p.semiring->is_exact,
                       (uint64_t)form + 1);
            if (t != CBX_BOOL && form < 2 && a == CBX_ALGEBRA_REAL)
                try_sparse(&q, g, cbx_cuda_ell_gather_run, cbx_ell_gather_run, true, 9);
        }
    for (int form = 0; form < 6; form++)
        for (size_t width = 1; width < 100; width += 32 + width / 2) {
            softmax_case(g, CBX_F32, width, form);
            softmax_case(g, CBX_F64, width, form);
        }
}

/* --- the host's own arrays --- */

static void host_sparse(cbx_cuda *g, int form)
{
    sparse_problem q = sparse_of(CBX_ALGEBRA_TROPICAL_MAX_PLUS, CBX_F64, 30, 6, 10, form & 2 ? 3 : 0);
    cbx_err err = CBX_ERR_INIT;

    q.by_start = form & 1;
    sparse_make(&q, 5);
    sparse_by_definition(&q, cbx_ell_product_define);
    CHECK_OK(host_ell_product(g, &q.p, &err), &err, "a sparse product of the host's arrays");
    CHECK_LE(sparse_worst(&q, true), 0, "the same");
    sparse_free(&q);
}

void cases_host(cbx_cuda *g)
{
    cbx_err err = CBX_ERR_INIT;

    EACH_ALGEBRA(a, t)
    for (int l = 0; l < LAYOUTS; l++) {
        problem q = { .q = product_of((cbx_algebra)a, t, 19, 12, 23, 1, CBX_CUDA_GEMM_AUTO),
                      .layout = (layout)l,
                      .d = l % 2,
                      .mask = l % 3 == 1 };
        problem_make(&q, 77);
        problem_define(&q);
        CHECK_OK(host_matmul(g, &q.q.product, &err), &err, problem_text(&q));
        CHECK_LE(problem_worst(&q), 1, problem_text(&q));
        problem_free(&q);
    }
    for (int form = 0; form < 4; form++) host_sparse(g, form);
}

void cases_faulty(cbx_cuda *g)
{
    cbx_err err = CBX_ERR_INIT;

    EACH_ALGEBRA(a, t)
    {
        problem q = { .q = product_of((cbx_algebra)a, t, 33, 40, 29, 1, CBX_CUDA_GEMM_OWN) };
        problem_make(&q, 3);
        problem_define(&q);
        q.q.product.k--; /* the last term is left out */
        CHECK_OK(problem_run(&q, g, NULL, &err), &err, problem_text(&q));
        q.q.product.k++;
        CHECK_GT(problem_worst(&q), 1, problem_text(&q));
        problem_free(&q);
    }
}
