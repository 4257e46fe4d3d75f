/*
 * Sparse matrices in ELL form: SciPy's answers; kernels against the definition, on every
 * instruction set, for any number of threads; padding that must not leak; derivatives by inner
 * products and finite differences; what is refused; memory that runs out.
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/array/ell.h"
#include "calibrax/array/kernels/ell.h"
#include "calibrax/array/random.h"
#include "calibrax/base/rng.h"
#include "ell_answers.h"
#include "fail_alloc.h"

/* --- SciPy --- */

static cbx_array *array_of(cbx_ctx *c, size_t rows, size_t columns, const double *from)
{
    const cbx_array_desc d = { CBX_F64, columns ? 2 : 1, { rows, columns } };
    cbx_array *x = NULL;

    if (cbx_array_wrap(c, &d, NULL, (void *)(uintptr_t)from, NULL, NULL, &x, NULL)) return NULL;
    return cbx_scope_hold(c, x);
}

static double worst(const cbx_array *x, const double *right)
{
    const double *a = cbx_array_data(x);
    double max = 0;

    for (size_t i = 0; i < cbx_array_count(x); i++) {
        const double err = a[i] == right[i] ? 0 : fabs(a[i] - right[i]);
        if (!(err <= max)) max = isnan(err) ? INFINITY : err;
    }
    return max;
}

static void take_larger(double *max, double x) { *max = x > *max ? x : *max; }

static cbx_status scipy_steps(cbx_ctx *c, void *user)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_ell *g = NULL;
    cbx_scope scope;
    cbx_status st = cbx_ell_from_coo(c, ELL_ROWS, ELL_COLS, ELL_ENTRIES, ell_row, ell_col, &g, &err);

    if (st) return st;
    cbx_scope_open(c, &scope);
    cbx_array *entries = array_of(c, ELL_ENTRIES, 0, ell_value), *shares = array_of(c, ELL_ENTRIES, 0, ell_weights),
              *b = array_of(c, ELL_COLS, ELL_D, ell_b), *bt = array_of(c, ELL_ROWS, ELL_D, ell_bt), *d[2];
    if (!entries || !shares || !b || !bt) {
        cbx_scope_close(&scope, NULL);
        cbx_ell_free(g);
        return CBX_ENOMEM;
    }
    cbx_array *v = cbx_ell_pack(c, g, entries), *w = cbx_ell_pack(c, g, shares), *y = cbx_ell_softmax(c, g, v);
    double *max = user;
    for (size_t i = 0; i < CBX_LEN(ell_products); i++) {
        const cbx_semiring *s = cbx_semiring_get(ell_products[i].algebra);
        cbx_array *p = cbx_ell_matmul(c, g, v, b, s), *t = cbx_ell_matmul_transposed(c, g, v, bt, s);
        cbx_ell_matmul_vjp(c, g, v, b, p, bt, s, d);
        if (cbx_array_is_failed(t) || cbx_array_is_failed(d[0]) || cbx_array_is_failed(d[1])) break;
        take_larger(max, worst(p, ell_products[i].c));
        take_larger(max, worst(t, ell_products[i].ct));
    }
    if (!cbx_array_is_failed(y) && !cbx_array_is_failed(w)) take_larger(max, worst(y, cbx_array_data(w)));
    st = cbx_scope_close(&scope, &err);
    cbx_ell_free(g);
    return st;
}

TEST(scipy_agrees)
{
    cbx_ctx *c = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    double max = 0;

    CHECK_OK(scipy_steps(c, &max), &err, "products");
    CHECK_LE(max, 4e-15, "five algebras, their transposes, softmax");
    cbx_ctx_free(c);
}

TEST(memory_may_end)
{
    double max = 0;
    CHECK_GT((double)cbx_test_fail_each(scipy_steps, &max, "ELL functions"), 20.0, "allocations that failed");
}

/* --- kernels against the definition --- */

typedef struct problem {
    cbx_ell *g;
    cbx_ctx *c;
    size_t size, rows, cols, width, d;
    cbx_dtype dtype;
    int32_t *index;
    uint8_t *mask;
    char *values, *b;
} problem;

static void put(const problem *q, char *x, size_t i, double v)
{
    if (q->dtype == CBX_F32)
        ((float *)(void *)x)[i] = (float)v;
    else if (q->dtype == CBX_F64)
        ((double *)(void *)x)[i] = v;
    else
        x[i] = v > 0.8;
}

/* share: of the places that are edges.  A place that is no edge holds an index outside and NaN; a
 * row of B that no edge reaches is NaN. */
static problem problem_open(cbx_dtype t, size_t rows, size_t cols, size_t width, size_t d, double share)
{
    problem q = { .rows = rows, .cols = cols, .width = width, .d = d, .dtype = t, .size = cbx_dtype_size(t) };
    cbx_rng rng = cbx_rng_make(7 + d, 0);
    cbx_err err = CBX_ERR_INIT;

    q.index = calloc(rows * width + 1, sizeof *q.index);
    q.mask = calloc(rows * width + 1, 1);
    q.values = calloc(rows * width + 1, q.size);
    q.b = calloc(cols * d + 1, q.size);
    for (size_t i = 0; i < rows * width; i++) {
        q.mask[i] = cbx_rng_uniform(&rng) < share;
        q.index[i] = q.mask[i] ? (int32_t)((double)(cols - 1) * cbx_rng_uniform(&rng)) : (int32_t)cols + 9;
        put(&q, q.values, i, q.mask[i] ? cbx_rng_normal(&rng) : (double)NAN);
    }
    for (size_t i = 0; i < cols * d; i++) put(&q, q.b, i, i < (cols - 1) * d ? cbx_rng_normal(&rng) : (double)NAN);
    CHECK_OK(cbx_ctx_create(NULL, &q.c, &err), &err, "context");
    CHECK_OK(cbx_ell_create(q.c,
                            &(cbx_ell_source){ sizeof(cbx_ell_source), rows, cols, width, q.index, NULL, q.mask, NULL },
                            &q.g, &err),
             &err, "graph");
    return q;
}

static void problem_close(problem *q)
{
    cbx_ell_free(q->g);
    cbx_ctx_free(q->c);
    free(q->index);
    free(q->mask);
    free(q->values);
    free(q->b);
}

static cbx_ell_product product_of(const problem *q, const cbx_semiring *s, bool scaled, void *c)
{
    cbx_ell_product p;

    cbx_ell_view(q->g, false, &p);
    p.semiring = s, p.scaled = scaled, p.dtype = q->dtype;
    p.values = q->values, p.b = q->b, p.c = c;
    p.d = p.ldb = p.ldc = q->d;
    return p;
}

static double value(const problem *q, const void *x, size_t i)
{
    return q->dtype == CBX_F32   ? (double)((const float *)x)[i]
           : q->dtype == CBX_F64 ? ((const double *)x)[i]
                                 : ((const uint8_t *)x)[i];
}

/* Relative to the sizes at hand, of order 1 .. 30; 0: the same bits but for the sign of 0. */
static double apart(const problem *q, const void *x, const void *y)
{
    double max = 0;

    for (size_t i = 0; i < q->rows * q->d; i++) {
        const double a = value(q, x, i), b = value(q, y, i), err = a == b || (isnan(a) && isnan(b)) ? 0 : fabs(a - b);
        if (!(err <= max)) max = isnan(err) ? INFINITY : err;
    }
    return max;
}

static void check_product(problem *q, const cbx_semiring *s, bool scaled)
{
    const double u = q->dtype == CBX_F64 ? 0x1p-53 : 0x1p-24, bound = s->is_exact ? 0 : 400 * u;
    void *wanted = calloc(q->rows * q->d + 1, q->size), *got = calloc(q->rows * q->d + 1, q->size);
    cbx_ell_product p = product_of(q, s, scaled, wanted);
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_ell_product_define(&p, &err), &err, "definition");
    p.c = got;
    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        p.isa = (cbx_isa)isa;
        for (p.threads = 1; p.threads <= 3; p.threads += 2) {
            memset(got, 0xff, q->rows * q->d * q->size);
            CHECK_OK(cbx_ell_product_run(&p, &err), &err, "product");
            CHECK_LE(apart(q, got, wanted), bound, s->name);
        }
    }
    free(wanted);
    free(got);
}

TEST(kernels_follow_the_definition)
{
    static const struct {
        size_t rows, width, d;
        double share;
        const char *why;
    } cases[] = {
        { 40, 5, 1, 1, "a column" },         { 33, 3, 7, 0.5, "less than a vector" },
        { 50, 4, 64, 0.6, "whole vectors" }, { 300, 9, 150, 0.7, "all widths" },
        { 20, 3, 331, 0, "no edge" },        { 700, 16, 33, 0.9, "a tail" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++)
        for (int g = 0; g < CBX_ALGEBRA_COUNT; g++)
            for (int t = 0; t < 3; t++) {
                const cbx_dtype dtype = t == 0 ? CBX_F32 : t == 1 ? CBX_F64 : CBX_BOOL;
                const cbx_semiring *s = cbx_semiring_get((cbx_algebra)g);
                if (!cbx_semiring_takes(s, dtype)) continue;
                problem q = problem_open(dtype, cases[i].rows, 37, cases[i].width, cases[i].d, cases[i].share);
                check_product(&q, s, false);
                if (g == CBX_ALGEBRA_TROPICAL_MAX_PLUS || g == CBX_ALGEBRA_TROPICAL_MIN_PLUS)
                    check_product(&q, s, true);
                problem_close(&q);
            }
}

/* Every number of columns: less than a vector, whole ones, and last ones that reach back, up to
 * more than a block of eight. */
TEST(every_width_follows_the_definition)
{
    for (size_t d = 1; d <= 150; d++)
        for (int t = 0; t < 2; t++) {
            problem q = problem_open(t ? CBX_F64 : CBX_F32, 5, 9, 4, d, 0.8);
            for (int g = 0; g < CBX_ALGEBRA_BOOLEAN; g++) check_product(&q, cbx_semiring_get((cbx_algebra)g), false);
            problem_close(&q);
        }
}

/* A mask as bits is the mask as bytes; bits past the table mean nothing, and degrees hide
 * besides. */
TEST(bits_hide_what_bytes_hide)
{
    enum { N = 11, WIDTH = 13 };
    problem q = problem_open(CBX_F64, N, 7, WIDTH, 3, 0.6);
    uint8_t bits[N * WIDTH / 8 + 1];
    int32_t degree[N];
    cbx_err err = CBX_ERR_INIT;

    memset(bits, 0xff, sizeof bits);
    for (size_t n = 0; n < N * WIDTH; n++)
        if (!q.mask[n]) bits[n / 8] &= (uint8_t) ~(1u << n % 8);
    for (int i = 0; i < N; i++) degree[i] = WIDTH - i;
    for (int way = 0; way < 3; way++) { /* the last: one bit is the other way */
        cbx_ell_source s = { sizeof s, N, 7, WIDTH, q.index, way ? degree : NULL, q.mask, NULL };
        cbx_ell *by_bytes = NULL, *by_bits = NULL;
        cbx_ell_product one, two;
        CHECK_OK(cbx_ell_create(q.c, &s, &by_bytes, &err), &err, "bytes");
        s.mask = NULL, s.bitmap = bits;
        for (size_t n = 0; way == 2 && n < WIDTH; n++)
            if (q.mask[n]) bits[n / 8] &= (uint8_t) ~(1u << n % 8);
        CHECK_OK(cbx_ell_create(q.c, &s, &by_bits, &err), &err, "bits");
        cbx_ell_view(by_bytes, false, &one);
        cbx_ell_view(by_bits, false, &two);
        const size_t edges = cbx_ell_edges(by_bytes);
        CHECK((cbx_ell_edges(by_bits) == edges) == (way < 2), "a bit that differs shows");
        if (way < 2) {
            CHECK(memcmp(one.index, two.index, edges * sizeof *one.index) == 0, "columns");
            CHECK(memcmp(one.place, two.place, edges * sizeof *one.place) == 0, "places");
        }
        cbx_ell_free(by_bytes);
        cbx_ell_free(by_bits);
    }
    problem_close(&q);
}

/* Specials in values and in B: the rules of the definition hold in every lane. */
TEST(specials_follow_the_definition)
{
    static const double specials[] = { NAN, INFINITY, -INFINITY, 0 };
    for (int t = 0; t < 2; t++)
        for (int g = 0; g < CBX_ALGEBRA_BOOLEAN; g++) {
            problem q = problem_open(t ? CBX_F64 : CBX_F32, 90, 37, 6, 77, 0.8);
            for (size_t i = 0; i < 90 * 6; i += 11) put(&q, q.values, i, specials[i % 4]);
            for (size_t i = 0; i < 36 * 77; i += 13) put(&q, q.b, i, specials[i % 4]);
            check_product(&q, cbx_semiring_get((cbx_algebra)g), false);
            problem_close(&q);
        }
}

/* Where all of B is finite and gathered often, max and min do without the care for NaN, unless a
 * value is special. */
TEST(finite_rows_follow_the_definition)
{
    static const double specials[] = { NAN, INFINITY, -INFINITY, 0 };
    for (int t = 0; t < 2; t++)
        for (int g = CBX_ALGEBRA_TROPICAL_MAX_PLUS; g <= CBX_ALGEBRA_TROPICAL_MIN_PLUS; g++) {
            const cbx_semiring *s = cbx_semiring_get((cbx_algebra)g);
            problem q = problem_open(t ? CBX_F64 : CBX_F32, 90, 7, 8, 77, 0.9);
            for (size_t i = 6 * 77; i < 7 * 77; i++) put(&q, q.b, i, 0.5 - (double)(i % 9));
            for (int scaled = 0; scaled < 2; scaled++) check_product(&q, s, scaled);
            put(&q, q.b, 3, t ? 1.7e308 : 3e38); /* sums and products overflow: infinite, and no NaN */
            for (size_t i = 0; i < 90 * 8; i += 7) put(&q, q.values, i, t ? -1.7e308 : -3e38);
            for (int scaled = 0; scaled < 2; scaled++) check_product(&q, s, scaled);
            for (size_t i = 0; i < 90 * 8; i += 11) put(&q, q.values, i, specials[i % 4]);
            for (int scaled = 0; scaled < 2; scaled++) check_product(&q, s, scaled);
            for (size_t i = 0; i < 4; i++) {
                put(&q, q.b, 80 + 77 * i, specials[i]);
                for (int scaled = 0; scaled < 2; scaled++) check_product(&q, s, scaled);
            }
            problem_close(&q);
        }
}

TEST(the_check_can_fail)
{
    float wanted[30 * 45], got[30 * 45];
    problem q = problem_open(CBX_F32, 30, 37, 3, 45, 1);
    cbx_ell_product p = product_of(&q, cbx_semiring_get(CBX_ALGEBRA_TROPICAL_MAX_PLUS), false, wanted), less = p;
    int32_t degree[30];
    cbx_err err = CBX_ERR_INIT;
    for (size_t i = 0; i < 30; i++) degree[i] = i == 20 ? 2 : 3;
    less.start = NULL, less.place = NULL, less.index = q.index, less.degree = degree, less.c = got;
    CHECK_OK(cbx_ell_product_define(&p, &err), &err, "definition");
    CHECK_OK(cbx_ell_product_run(&less, &err), &err, "without one edge");
    CHECK_GT(apart(&q, got, wanted), 0.0, "an edge that is left out shows");
    degree[20] = 3;
    CHECK_OK(cbx_ell_product_run(&less, &err), &err, "a table with degrees");
    CHECK_LE(apart(&q, got, wanted), 0.0, "the form of tables");
    problem_close(&q);
}

TEST(the_gather_reads_every_row)
{
    problem q = problem_open(CBX_F32, 30, 20, 3, 45, 1);
    uint32_t got[30 * 45];
    cbx_ell_product p = product_of(&q, NULL, false, got);
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_ell_gather_run(&p, &err), &err, "gather");
    for (size_t i = 0; i < 30; i++)
        for (size_t j = 0; j < 45; j++) {
            uint32_t all = 0, bits;
            for (size_t e = 0; e < 3; e++) {
                memcpy(&bits, q.b + ((size_t)q.index[i * 3 + e] * 45 + j) * 4, 4);
                all ^= bits;
            }
            CHECK(all == got[i * 45 + j], "exclusive or of the neighbours");
        }
    problem_close(&q);
}

/* --- derivatives --- */

typedef struct bench {
    cbx_ctx *c;
    cbx_scope scope;
    problem q;
} bench;

static void bench_open(bench *t)
{
    t->q = problem_open(CBX_F64, 13, 8, 5, 70, 0.7);
    t->c = t->q.c;
    cbx_scope_open(t->c, &t->scope);
}

static void bench_close(bench *t)
{
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_scope_close(&t->scope, &err), &err, "scope");
    problem_close(&t->q);
}

static cbx_array *draw(bench *t, uint64_t seed, int n, size_t a, size_t b, size_t e)
{
    return cbx_random_normal(t->c, cbx_random_key(t->c, seed), n, (const size_t[]){ a, b, e }, CBX_F64);
}

static double dot(cbx_ctx *c, const cbx_array *x, const cbx_array *y)
{
    double v = NAN;
    cbx_array *s = cbx_sum(c, cbx_multiply(c, x, y), NULL);
    if (!cbx_array_is_failed(s)) cbx_array_read(s, &v, sizeof v, NULL);
    return v;
}

static const cbx_array *moved(cbx_ctx *c, const cbx_array *x, const cbx_array *along, double step)
{
    return cbx_add(c, x, cbx_multiply_scalar(c, along, step));
}

static void check_near(double x, double y, double rtol, const char *why)
{
    CHECK_LE(fabs(x - y), rtol * (1 + fabs(x) + fabs(y)), why);
}

/* The products that have derivatives, in one form. */
typedef struct differentiable {
    const char *name;
    bool transposed, tropical_or_real;
    cbx_array *(*product)(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b,
                          const cbx_semiring *s);
    void (*vjp)(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b, const cbx_array *c,
                const cbx_array *h, const cbx_semiring *s, cbx_array *d[2]);
    cbx_array *(*jvp)(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b, const cbx_array *c,
                      const cbx_array *tv, const cbx_array *tb, const cbx_semiring *s);
} differentiable;

static const differentiable products[] = {
    { "matmul", false, false, cbx_ell_matmul, cbx_ell_matmul_vjp, cbx_ell_matmul_jvp },
    { "transposed", true, false, cbx_ell_matmul_transposed, cbx_ell_matmul_transposed_vjp,
      cbx_ell_matmul_transposed_jvp },
    { "aggregate", false, true, cbx_ell_aggregate, cbx_ell_aggregate_vjp, cbx_ell_aggregate_jvp },
};

static bool folds(const differentiable *p, cbx_algebra a)
{
    return !p->tropical_or_real || (a != CBX_ALGEBRA_LOG && a != CBX_ALGEBRA_EUCLIDEAN);
}

/* <h, J t> = <J^T h, t>, and J t is what a small step along t shows; -inf of rows without edges is
 * left out by h = 0 there. */
static void directions_agree(const differentiable *p, const cbx_semiring *s)
{
    const double step = 1e-6;
    const size_t in = p->transposed ? 13 : 8, out = p->transposed ? 8 : 13;
    bench t;

    bench_open(&t);
    cbx_ctx *c = t.c;
    const cbx_ell *g = t.q.g;
    cbx_array *v = draw(&t, 1, 2, 13, 5, 0), *b = draw(&t, 2, 2, in, 70, 0), *tv = draw(&t, 3, 2, 13, 5, 0),
              *tb = draw(&t, 4, 2, in, 70, 0), *h = draw(&t, 5, 2, out, 70, 0), *y = p->product(c, g, v, b, s), *d[2];
    cbx_array *ty = p->jvp(c, g, v, b, y, tv, tb, s);
    p->vjp(c, g, v, b, y, h, s, d);
    cbx_array *up = p->product(c, g, moved(c, v, tv, step), moved(c, b, tb, step), s),
              *down = p->product(c, g, moved(c, v, tv, -step), moved(c, b, tb, -step), s);
    cbx_array *change = cbx_where(c, cbx_isfinite(c, y), cbx_subtract(c, up, down), cbx_subtract(c, h, h));
    check_near(dot(c, h, ty), dot(c, d[0], tv) + dot(c, d[1], tb), 1e-12, p->name);
    check_near(dot(c, h, ty), dot(c, h, change) / (2 * step), 1e-5, s->name);
    CHECK_GT(fabs(dot(c, h, ty)), 1e-3, "there is something to compare");
    CHECK_GT(fabs(dot(c, d[0], tv)), 1e-3, "of the values");
    CHECK_GT(fabs(dot(c, d[1], tb)), 1e-3, "of B");
    bench_close(&t);
}

TEST(product_derivatives_agree)
{
    for (size_t i = 0; i < CBX_LEN(products); i++)
        for (int a = 0; a < CBX_ALGEBRA_BOOLEAN; a++)
            if (folds(&products[i], (cbx_algebra)a)) directions_agree(&products[i], cbx_semiring_get((cbx_algebra)a));
}

/* Real: the transposed product's derivative of B is the product, and the other way round. */
TEST(transposed_derivatives_are_products)
{
    const cbx_semiring *s = cbx_semiring_get(CBX_ALGEBRA_REAL);
    bench t;
    bench_open(&t);
    cbx_array *v = draw(&t, 1, 2, 13, 5, 0), *b = draw(&t, 2, 2, 13, 70, 0), *h = draw(&t, 3, 2, 8, 70, 0), *d[2];
    cbx_ell_matmul_transposed_vjp(t.c, t.q.g, v, b, cbx_ell_matmul_transposed(t.c, t.q.g, v, b, s), h, s, d);
    CHECK_LE(worst(d[1], cbx_array_data(cbx_ell_matmul(t.c, t.q.g, v, h, s))), 1e-13, "A h");
    bench_close(&t);
}

TEST(the_first_optimum_takes_all)
{
    bench t;
    bench_open(&t);
    static const int32_t index[] = { 1, 0, 1 };
    cbx_ell *g = NULL;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(
        cbx_ell_create(t.c, &(cbx_ell_source){ sizeof(cbx_ell_source), 1, 2, 3, index, NULL, NULL, NULL }, &g, &err),
        &err, "graph");
    const double zeros[] = { 0, 0, 0 }, one = 2;
    cbx_array *v = array_of(t.c, 1, 3, zeros), *b = array_of(t.c, 2, 1, zeros), *h = array_of(t.c, 1, 1, &one), *d[2];
    const cbx_semiring *s = cbx_semiring_get(CBX_ALGEBRA_TROPICAL_MAX_PLUS);
    cbx_ell_matmul_vjp(t.c, g, v, b, cbx_ell_matmul(t.c, g, v, b, s), h, s, d);
    CHECK_LE(worst(d[0], (const double[]){ 2, 0, 0 }), 0.0, "values: the first place");
    CHECK_LE(worst(d[1], (const double[]){ 0, 2 }), 0.0, "B: the column it leads to");
    cbx_ell_free(g);
    bench_close(&t);
}

TEST(softmax_derivatives_agree)
{
    const double step = 1e-5;
    bench t;
    bench_open(&t);
    cbx_ctx *c = t.c;
    cbx_array *v = draw(&t, 1, 2, 13, 5, 0), *tv = draw(&t, 2, 2, 13, 5, 0), *h = draw(&t, 3, 2, 13, 5, 0),
              *y = cbx_ell_softmax(c, t.q.g, v), *d = cbx_ell_softmax_vjp(c, t.q.g, y, h);
    cbx_array *change = cbx_subtract(c, cbx_ell_softmax(c, t.q.g, moved(c, v, tv, step)),
                                     cbx_ell_softmax(c, t.q.g, moved(c, v, tv, -step)));
    check_near(dot(c, d, tv), dot(c, h, change) / (2 * step), 1e-8, "softmax");
    bench_close(&t);
}

/* m[o] = attr[0] * tanh(x_row[o] * x_col[o]) + attr[1] * x_col[o]^2, o < 6 */
static void message(void *user, const cbx_ell_edge *e, void *out)
{
    const double *x = e->x_row, *y = e->x_col, *a = e->attr;
    double *m = out;
    (void)user;
    for (int o = 0; o < 6; o++) m[o] = a[0] * tanh(x[o] * y[o]) + a[1] * y[o] * y[o];
}

static void edge_vjp(void *user, const cbx_ell_edge *e, const void *cotangent, void *d_row, void *d_col, void *d_attr)
{
    const double *x = e->x_row, *y = e->x_col, *a = e->attr, *h = cotangent;
    double *dx = d_row, *dy = d_col, *da = d_attr;
    (void)user;
    for (int o = 0; o < 6; o++) {
        const double th = tanh(x[o] * y[o]), slope = a[0] * (1 - th * th);
        if (dx) dx[o] += h[o] * slope * y[o];
        if (dy) dy[o] += h[o] * (slope * x[o] + 2 * a[1] * y[o]);
        if (da) da[0] += h[o] * th, da[1] += h[o] * y[o] * y[o];
    }
}

static void edge_jvp(void *user, const cbx_ell_edge *e, const void *t_row, const void *t_col, const void *t_attr,
                     void *out)
{
    const double *x = e->x_row, *y = e->x_col, *a = e->attr, *tx = t_row, *ty = t_col, *ta = t_attr;
    double *t = out;
    (void)user;
    for (int o = 0; o < 6; o++) {
        const double th = tanh(x[o] * y[o]), slope = a[0] * (1 - th * th);
        t[o] = slope * (tx[o] * y[o] + x[o] * ty[o]) + 2 * a[1] * y[o] * ty[o] + ta[0] * th + ta[1] * y[o] * y[o];
    }
}

TEST(functions_of_an_edge_are_folded)
{
    static const cbx_algebra algebras[] = { CBX_ALGEBRA_REAL, CBX_ALGEBRA_TROPICAL_MAX_PLUS,
                                            CBX_ALGEBRA_TROPICAL_MIN_PLUS };
    const cbx_ell_edge_functions f = { sizeof f, 6, NULL, message, edge_vjp, edge_jvp };
    const double step = 1e-6;
    for (size_t k = 0; k < CBX_LEN(algebras); k++) {
        const cbx_semiring *s = cbx_semiring_get(algebras[k]);
        bench t;
        bench_open(&t);
        cbx_ctx *c = t.c;
        const cbx_ell *g = t.q.g;
        cbx_array *x = draw(&t, 1, 2, 13, 6, 0), *y = draw(&t, 2, 2, 8, 6, 0), *a = draw(&t, 3, 3, 13, 5, 2),
                  *tx = draw(&t, 4, 2, 13, 6, 0), *ty = draw(&t, 5, 2, 8, 6, 0), *ta = draw(&t, 6, 3, 13, 5, 2),
                  *h = draw(&t, 7, 2, 13, 6, 0), *out = cbx_ell_edge_aggregate(c, g, x, y, a, &f, s), *d[3];
        cbx_ell_edge_aggregate_vjp(c, g, x, y, a, &f, s, h, d);
        cbx_array *up = cbx_ell_edge_aggregate(c, g, moved(c, x, tx, step), moved(c, y, ty, step),
                                               moved(c, a, ta, step), &f, s),
                  *down = cbx_ell_edge_aggregate(c, g, moved(c, x, tx, -step), moved(c, y, ty, -step),
                                                 moved(c, a, ta, -step), &f, s);
        cbx_array *change = cbx_where(c, cbx_isfinite(c, out), cbx_subtract(c, up, down), cbx_subtract(c, h, h));
        check_near(dot(c, d[0], tx) + dot(c, d[1], ty) + dot(c, d[2], ta), dot(c, h, change) / (2 * step), 1e-6,
                   s->name);
        check_near(dot(c, cbx_ell_edge_aggregate_jvp(c, g, x, y, a, &f, s, tx, ty, ta), h),
                   dot(c, d[0], tx) + dot(c, d[1], ty) + dot(c, d[2], ta), 1e-12, s->name);
        CHECK_GT(fabs(dot(c, h, change)), 1e-9, "there is something to compare");
        bench_close(&t);
    }
}

/* A function that weighs its column's features is the weighted aggregation. */
static void weigh(void *user, const cbx_ell_edge *e, void *out)
{
    const size_t d = *(const size_t *)user;
    for (size_t o = 0; o < d; o++) ((double *)out)[o] = ((const double *)e->attr)[0] * ((const double *)e->x_col)[o];
}

TEST(weights_are_a_function_of_an_edge)
{
    bench t;
    bench_open(&t);
    size_t d = 70;
    const cbx_ell_edge_functions f = { sizeof f, d, &d, weigh, NULL, NULL };
    const cbx_semiring *s = cbx_semiring_get(CBX_ALGEBRA_TROPICAL_MAX_PLUS);
    cbx_array *w = draw(&t, 1, 2, 13, 5, 0), *x = draw(&t, 2, 2, 8, 70, 0);
    const cbx_array *w3 = cbx_reshape(t.c, w, 3, (const ptrdiff_t[]){ 13, 5, 1 });
    cbx_array *one = cbx_ell_aggregate(t.c, t.q.g, w, x, s),
              *other = cbx_ell_edge_aggregate(t.c, t.q.g, NULL, x, w3, &f, s);
    CHECK_LE(worst(one, cbx_array_data(other)), 0.0, "the same bits");
    CHECK(cbx_array_is_failed(cbx_ell_edge_aggregate_jvp(t.c, t.q.g, NULL, x, w3, &f, s, NULL, x, w3)), "no jvp");
    cbx_err err = CBX_ERR_INIT;
    CHECK_STATUS(cbx_ctx_pending(t.c, &err), CBX_EINVAL, "no jvp");
    CHECK(strstr(err.message, "message and jvp"), err.message);
    CHECK_STATUS(cbx_scope_close(&t.scope, &err), CBX_EINVAL, "no jvp");
    problem_close(&t.q);
}

/* --- graphs --- */

static int bandwidth(const int32_t *order)
{
    int32_t at[MESH_VERTICES];
    int max = 0;

    for (int i = 0; i < MESH_VERTICES; i++) at[i] = -1;
    for (int i = 0; i < MESH_VERTICES; i++) at[order[i]] = i;
    for (int e = 0; e < MESH_EDGES; e++) {
        const int away = abs(at[mesh_row[e]] - at[mesh_col[e]]);
        CHECK(at[mesh_row[e]] >= 0, "every vertex has a number");
        max = away > max ? away : max;
    }
    return max;
}

TEST(rcm_is_as_narrow_as_scipy_s)
{
    cbx_ctx *c = cbx_test_context();
    cbx_ell *g = NULL, *named = NULL;
    cbx_err err = CBX_ERR_INIT;
    int32_t order[MESH_VERTICES], plain[MESH_VERTICES];
    CHECK_OK(cbx_ell_from_coo(c, MESH_VERTICES, MESH_VERTICES, MESH_EDGES, mesh_row, mesh_col, &g, &err), &err, "mesh");
    CHECK_OK(cbx_ell_rcm(c, g, order, &err), &err, "order");
    for (int i = 0; i < MESH_VERTICES; i++) plain[i] = i;
    CHECK_INT(bandwidth(plain), MESH_SHUFFLED, "as it came");
    CHECK_LE((double)bandwidth(order), (double)MESH_BEST, "no wider than SciPy's");
    CHECK_OK(cbx_ell_reorder(c, g, order, &named, &err), &err, "names");
    CHECK_INT((int)cbx_ell_edges(named), MESH_EDGES, "no edge is lost");
    order[3] = order[5];
    CHECK_STATUS(cbx_ell_reorder(c, g, order, &named, &err), CBX_EDOM, "no permutation");
    cbx_ell_free(named);
    cbx_ell_free(g);
    cbx_ctx_free(c);
}

TEST(compressed_rows_are_a_list)
{
    static const int64_t start[] = { 0, 2, 2, 3 }, wrong[] = { 0, 2, 1, 3 };
    static const int32_t col[] = { 1, 0, 1 }, row[] = { 0, 0, 2 };
    cbx_ctx *c = cbx_test_context();
    cbx_ell *g = NULL, *h = NULL;
    cbx_ell_product p, q;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_ell_from_csr(c, 3, 2, start, col, &g, &err), &err, "compressed rows");
    CHECK_OK(cbx_ell_from_coo(c, 3, 2, 3, row, col, &h, &err), &err, "a list");
    cbx_ell_view(g, true, &p);
    cbx_ell_view(h, true, &q);
    CHECK(memcmp(p.index, q.index, 3 * sizeof *p.index) == 0 && memcmp(p.place, q.place, 3 * sizeof *p.place) == 0,
          "edges");
    CHECK_INT((int)cbx_ell_width(g), 2, "the longest row");
    cbx_ell_free(g);
    CHECK_STATUS(cbx_ell_from_csr(c, 3, 2, wrong, col, &g, &err), CBX_EDOM, "rows that go back");
    CHECK_STATUS(cbx_ell_from_csr(c, 3, 1, start, col, &g, &err), CBX_EDOM, "a column outside");
    cbx_ell_free(h);
    cbx_ctx_free(c);
}

TEST(bad_input_is_named)
{
    static const int32_t index[] = { 0, 1, 2, 7 }, degree[] = { 2, 1 }, long_degree[] = { 2, 3 };
    cbx_ctx *c = cbx_test_context();
    cbx_ell *g = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;
    cbx_ell_source s = { sizeof s, 2, 3, 2, index, NULL, NULL };
    CHECK_STATUS(cbx_ell_create(c, &s, &g, &err), CBX_EDOM, "an index outside");
    CHECK(strstr(err.message, "row 1, place 1 refers to column 7 of 3"), "row, place and column are named");
    s.degree = long_degree;
    CHECK_STATUS(cbx_ell_create(c, &s, &g, &err), CBX_EDOM, "a row longer than its room");
    s.rows = (size_t)1 << 20, s.width = 1 << 13;
    CHECK_STATUS(cbx_ell_create(c, &s, &g, &err), CBX_EOVERFLOW, "more places than 32 bits count");
    s.rows = 2, s.width = 2, s.degree = degree;
    CHECK_OK(cbx_ell_create(c, &s, &g, &err), &err, "the bad index is padding");
    cbx_scope_open(c, &scope);
    const double four[] = { 1, 2, 3, NAN }, six[] = { 1, 2, 3, 4, 5, 6 };
    cbx_array *v = array_of(c, 2, 2, four), *b = array_of(c, 3, 2, six);
    const cbx_semiring *real = cbx_semiring_get(CBX_ALGEBRA_REAL);
    CHECK_LE(worst(cbx_ell_matmul(c, g, v, b, real), (const double[]){ 7, 10, 15, 18 }), 0.0, "NaN in the padding");
    CHECK(cbx_array_is_failed(cbx_ell_matmul(c, g, b, v, real)), "shapes that do not fit");
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_ESHAPE, "shapes");
    cbx_scope_open(c, &scope); /* v and b went with the first one */
    v = array_of(c, 2, 2, four), b = array_of(c, 3, 2, six);
    CHECK(cbx_array_is_failed(cbx_ell_matmul(c, g, v, b, cbx_semiring_get(CBX_ALGEBRA_BOOLEAN))),
          "numbers for booleans");
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EDTYPE, "dtype");
    cbx_scope_open(c, &scope);
    v = array_of(c, 2, 2, four), b = array_of(c, 3, 2, six);
    CHECK(cbx_array_is_failed(cbx_ell_aggregate_jvp(c, g, v, b, v, v, b, cbx_semiring_get(CBX_ALGEBRA_LOG))),
          "weighted messages are not folded by log");
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINVAL, "algebra");
    CHECK(strstr(err.message, "'ell_aggregate_jvp'") && strstr(err.message, "'log'"), err.message);
    cbx_scope_open(c, &scope);
    v = array_of(c, 2, 2, four), b = array_of(c, 3, 2, six);
    CHECK(cbx_array_is_failed(cbx_ell_matmul_transposed_jvp(c, g, v, b, b, v, b, real)), "B has a row for a row of A");
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_ESHAPE, "shapes");
    cbx_ell_product p;
    double y[6];
    cbx_ell_view(g, false, &p);
    p.semiring = real, p.dtype = CBX_F64, p.values = four, p.b = y, p.c = y + 2, p.d = p.ldb = p.ldc = 2;
    CHECK_STATUS(cbx_ell_product_run(&p, &err), CBX_EINVAL, "C over B");
    p.ldb = 1;
    CHECK_STATUS(cbx_ell_product_run(&p, &err), CBX_EINVAL, "rows that overlap");
    cbx_ell_free(g);
    cbx_ctx_free(c);
}

TESTS(.seconds = 600)
