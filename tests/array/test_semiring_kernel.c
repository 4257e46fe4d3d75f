/*
 * The product of plain memory beyond dense operands: strides of any sign, number of threads, masks
 * and merging, algebras given by functions; and the definition that every instruction set is held
 * to, bit for bit where the answer is unique.
 */
#include <math.h>
#include <stdlib.h>

#include "check.h"

#include "calibrax/array/kernels/semiring.h"
#include "calibrax/base/rng.h"

/* A problem whose operands lie in memory as its strides say. */
typedef struct problem {
    cbx_matmul p;
    size_t size, c_bytes;
    char *a, *b, *c, *d, *wanted, *block;
    uint8_t *mask;
} problem;

typedef struct layout {
    int a, b, c; /* 0 rows, 1 columns, 2 every third element, 3 backwards, 4 one row for all */
    const char *why;
} layout;

static const layout layouts[] = {
    { 0, 0, 0, "dense" },
    { 1, 0, 0, "A by columns" },
    { 0, 1, 0, "B by columns" },
    { 1, 1, 1, "all by columns" },
    { 2, 2, 2, "gaps between elements" },
    { 3, 3, 0, "operands backwards" },
    { 4, 4, 3, "rows repeated, C backwards" },
};

/* Strides and first element of an r-by-c matrix in a block of 3 r c elements. */
static char *lay(int kind, char *block, size_t size, size_t r, size_t c, ptrdiff_t *across, ptrdiff_t *along)
{
    const ptrdiff_t rows = (ptrdiff_t)r, columns = (ptrdiff_t)c;

    *across = kind == 1 ? 1 : kind == 2 ? 3 * columns : kind == 3 ? -columns : kind == 4 ? 0 : columns;
    *along = kind == 1 ? rows : kind == 2 ? 3 : kind == 3 ? -1 : 1;
    return kind == 3 ? block + (r * c - 1) * size : block;
}

static void put(cbx_dtype t, void *x, size_t i, double v)
{
    if (t == CBX_F32)
        ((float *)x)[i] = (float)v;
    else if (t == CBX_F64)
        ((double *)x)[i] = v;
    else
        ((uint8_t *)x)[i] = v > 1;
}

static void problem_open(problem *q, const cbx_semiring *s, cbx_dtype t, size_t m, size_t k, size_t n, const layout *l,
                         uint64_t seed)
{
    cbx_rng rng = cbx_rng_make(seed, 0);
    const size_t size = cbx_dtype_size(t);
    const cbx_matmul init = CBX_MATMUL_INIT;

    *q = (problem){ .p = init, .size = size, .c_bytes = 3 * m * n * size };
    q->a = calloc(3 * m * k + 1, size);
    q->b = calloc(3 * k * n + 1, size);
    q->c = calloc(1, q->c_bytes);
    q->d = calloc(m * n, size);
    q->wanted = calloc(1, q->c_bytes);
    q->mask = calloc(m * n, 1);
    for (size_t i = 0; i < 3 * m * k; i++) put(t, q->a, i, 4 * cbx_rng_uniform(&rng) - 2);
    for (size_t i = 0; i < 3 * k * n; i++) put(t, q->b, i, 4 * cbx_rng_uniform(&rng) - 2);
    for (size_t i = 0; i < m * n; i++) {
        put(t, q->d, i, cbx_rng_normal(&rng) + 2);
        q->mask[i] = cbx_rng_uniform(&rng) < 0.4 ? 0 : (uint8_t)(1 + i % 200);
    }
    q->p.semiring = s;
    q->p.dtype = t;
    q->p.m = m, q->p.k = k, q->p.n = n;
    q->p.a = lay(l->a, q->a, size, m, k, &q->p.lda, &q->p.a_step);
    q->p.b = lay(l->b, q->b, size, k, n, &q->p.ldb, &q->p.b_step);
    q->p.c = lay(l->c, q->c, size, m, n, &q->p.ldc, &q->p.c_step);
}

static void problem_close(problem *q)
{
    void *const blocks[] = { q->a, q->b, q->c, q->d, q->wanted, q->mask, q->block };
    for (size_t i = 0; i < CBX_LEN(blocks); i++) free(blocks[i]);
}

static void run(problem *q)
{
    cbx_err err = CBX_ERR_INIT;

    free(q->block);
    CHECK_OK(cbx_matmul_workspace(&q->p, &q->p.workspace_bytes, &err), &err, "workspace");
    q->block = malloc(q->p.workspace_bytes + 64);
    memset(q->block, 0xff, q->p.workspace_bytes + 64); /* NaN, if it is read before it is written */
    q->p.workspace = (void *)(((uintptr_t)q->block + 63) / 64 * 64);
    CHECK_OK(cbx_matmul_run(&q->p, &err), &err, "run");
}

static void define(problem *q)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_matmul p = q->p;
    p.c = q->wanted + ((char *)p.c - q->c);
    CHECK_OK(cbx_matmul_define(&p, &err), &err, "definition");
}

/* Largest difference between C and the definition, in units of u k (1 + |c|) (exact algebras: any
 * difference is infinite). */
static double apart(const problem *q)
{
    const double u = q->p.dtype == CBX_F32 ? 0x1p-24 : 0x1p-53;
    double worst = 0;

    for (size_t i = 0; i < q->c_bytes / q->size; i++) {
        double x, y;
        if (q->p.dtype == CBX_BOOL)
            x = q->c[i], y = q->wanted[i];
        else if (q->p.dtype == CBX_F32)
            x = (double)((float *)(void *)q->c)[i], y = (double)((float *)(void *)q->wanted)[i];
        else
            x = ((double *)(void *)q->c)[i], y = ((double *)(void *)q->wanted)[i];
        if (x == y || (isnan(x) && isnan(y))) continue;
        if (q->p.semiring->is_exact) return INFINITY;
        worst = worse(worst, fabs(x - y) / (u * ((double)q->p.k + 8) * (4 + fabs(y))));
    }
    return worst;
}

/* What every instruction set gives is what define() gave. */
static void agree_with_definition(problem *q, const char *why)
{
    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        q->p.isa = (cbx_isa)isa;
        run(q);
        if (!(apart(q) <= 1))
            fail_msg("%s %s %s, %s: %g", cbx_isa_name((cbx_isa)isa), q->p.semiring->name, cbx_dtype_name(q->p.dtype),
                     why, apart(q));
    }
}

static void agree(problem *q, const char *why)
{
    define(q);
    agree_with_definition(q, why);
}

static const struct {
    size_t m, k, n;
} shapes[] = { { 1, 1, 1 }, { 9, 7, 25 }, { 30, 270, 41 }, { 5, 70, 600 } };

#define EACH_ALGEBRA(g, t)                                                                                             \
    for (int g = 0; g < CBX_ALGEBRA_COUNT; g++)                                                                        \
        for (cbx_dtype t = CBX_BOOL; t < CBX_DTYPE_COUNT; t = (cbx_dtype)(t + 1))                                      \
            if (cbx_semiring_takes(cbx_semiring_get((cbx_algebra)g), t))

static void strides(void **state)
{
    (void)state;
    EACH_ALGEBRA(g, t)
    for (size_t l = 0; l < CBX_LEN(layouts); l++)
        for (size_t s = 0; s < CBX_LEN(shapes); s++) {
            problem q;
            problem_open(&q, cbx_semiring_get((cbx_algebra)g), t, shapes[s].m, shapes[s].k, shapes[s].n, &layouts[l],
                         s + 1);
            agree(&q, layouts[l].why);
            problem_close(&q);
        }
    problem q;
    problem_open(&q, cbx_semiring_get(CBX_ALGEBRA_TROPICAL_MAX_PLUS), CBX_F64, 30, 40, 50, &layouts[1], 3);
    define(&q);
    q.p.a_step++; /* the check sees a wrong stride */
    run(&q);
    CHECK(!(apart(&q) <= 1), "a wrong stride shows");
    problem_close(&q);
}

/* Products that take no blocks, up to the last extent that is one and beyond, by name of the
 * instruction set and as callers have them. */
static void few_elements(void **state)
{
    static const size_t rows[] = { 1, 2, 3, 5, 6, 7, 8, 10, 12, 13, 32, 33 }, terms[] = { 1, 5, 32 },
                        columns[] = { 1,  2,  3,  4,  5,  7,  8,  9,  12, 15, 16, 17,
                                      20, 23, 24, 25, 28, 31, 32, 33, 40, 52, 56, 64 };
    static const cbx_algebra algebras[] = { CBX_ALGEBRA_REAL, CBX_ALGEBRA_TROPICAL_MAX_PLUS, CBX_ALGEBRA_EUCLIDEAN };
    const size_t shapes_of[] = { CBX_LEN(rows), CBX_LEN(terms), CBX_LEN(columns) };
    (void)state;
    for (size_t i = 0; i < shapes_of[0] * shapes_of[1] * shapes_of[2] * CBX_LEN(algebras) * 2; i++) {
        const size_t shape = i / (CBX_LEN(algebras) * 2);
        problem q;
        problem_open(&q, cbx_semiring_get(algebras[i / 2 % CBX_LEN(algebras)]), i % 2 ? CBX_F32 : CBX_F64,
                     rows[shape % shapes_of[0]], terms[shape / shapes_of[0] % shapes_of[1]],
                     columns[shape / shapes_of[0] / shapes_of[1]], &layouts[0], i + 1);
        agree(&q, "few elements");
        q.p.isa = CBX_ISA_COUNT;
        memset(q.c, 0, q.c_bytes);
        run(&q);
        CHECK(apart(&q) <= 1, "the same as callers have it");
        problem_close(&q);
    }
}

/* Real ones are few up to larger extents: vectors whose last columns fill a part of one, columns by
 * dot products, rows that are left; with other strides the same shapes go by blocks, in the room
 * that is known without a look at those. */
static void few_real_elements(void **state)
{
    static const struct {
        size_t m, k, n;
    } real[] = {
        { 33, 33, 33 },    { 50, 50, 50 },   { 13, 70, 34 },    { 14, 70, 36 },  { 15, 70, 40 },    { 9, 61, 65 },
        { 64, 64, 1 },     { 64, 65, 2 },    { 7, 100, 3 },     { 100, 129, 5 }, { 3, 40, 70 },     { 10, 66, 111 },
        { 1000, 5, 5 },    { 1024, 100, 7 }, { 5, 1024, 20 },   { 6, 20, 1024 }, { 1, 1000, 1000 }, { 1000, 1000, 1 },
        { 100, 100, 100 }, { 99, 101, 100 }, { 100, 100, 101 }, { 1025, 3, 3 },  { 2, 1023, 9 },
    };
    (void)state;
    for (size_t i = 0; i < CBX_LEN(real) * CBX_LEN(layouts) * 2; i++) {
        const size_t shape = i / 2 % CBX_LEN(real), l = i / 2 / CBX_LEN(real);
        cbx_err err = CBX_ERR_INIT;
        problem q;
        if (l > 0 && real[shape].m * real[shape].k * real[shape].n > 200000) continue;
        problem_open(&q, cbx_semiring_get(CBX_ALGEBRA_REAL), i % 2 ? CBX_F32 : CBX_F64, real[shape].m, real[shape].k,
                     real[shape].n, &layouts[l], i + 1);
        agree(&q, layouts[l].why);
        q.p.isa = CBX_ISA_COUNT;
        memset(q.c, 0, q.c_bytes);
        run(&q);
        CHECK(apart(&q) <= 1, "the same as callers have it");
        q.p.workspace_bytes--;
        CHECK_INT(cbx_matmul_run(&q.p, &err), CBX_EINVAL, "a byte less than was asked for");
        problem_close(&q);
    }
}

static void threads(void **state)
{
    static const struct {
        size_t m, k, n;
    } large[] = { { 330, 300, 130 }, { 1400, 12, 70 }, { 700, 64, 700 } }; /* panels of k, blocks of rows, bits */
    (void)state;
    EACH_ALGEBRA(g, t)
    for (size_t i = 0; i < (t == CBX_F64 ? 1 : CBX_LEN(large)); i++) {
        problem q;
        problem_open(&q, cbx_semiring_get((cbx_algebra)g), t, large[i].m, large[i].k, large[i].n, &layouts[0], 11);
        run(&q);
        memcpy(q.wanted, q.c, q.c_bytes);
        for (int n = 2; n <= 3; n++) {
            q.p.threads = n;
            memset(q.c, 0x55, q.p.m * q.p.n * q.size);
            run(&q);
            CHECK(memcmp(q.wanted, q.c, q.p.m * q.p.n * q.size) == 0, "the same bits for any number of threads");
        }
        problem_close(&q);
    }
}

static void epilogues(void **state)
{
    (void)state;
    EACH_ALGEBRA(g, t)
    for (int way = 1; way < 16; way++) {
        problem q;
        problem_open(&q, cbx_semiring_get((cbx_algebra)g), t, 37, 300, 71, &layouts[way % 2 ? 0 : 3], (uint64_t)way);
        if (way & 1) q.p.d = q.d, q.p.ldd = 71;
        if (way & 2) q.p.mask = q.mask, q.p.ldm = 71;
        q.p.mask_complement = way & 4;
        q.p.raw = (way & 8) && g == CBX_ALGEBRA_EUCLIDEAN;
        if (way == 6) memset(q.mask, 1, 16 * 71); /* whole tiles hidden */
        agree(&q, "an epilogue");
        problem_close(&q);
    }
}

/* --- algebras given by functions --- */

/* a*b and the best second, as a pair: the state is wider than an element. */
typedef struct best {
    float value, count;
} best;
static void best_start(void *user, size_t n, void *state)
{
    (void)user;
    for (size_t i = 0; i < n; i++) ((best *)state)[i] = (best){ -INFINITY, 0 };
}
static void best_step(void *user, size_t n, const void *a, const void *b, void *state)
{
    const float x = *(const float *)a, *y = b;
    best *s = state;
    (void)user;
    for (size_t i = 0; i < n; i++) {
        const float t = x < y[i] ? x : y[i];
        s[i].count = t > s[i].value ? 1 : t == s[i].value ? s[i].count + 1 : s[i].count;
        s[i].value = t > s[i].value ? t : s[i].value;
    }
}
static void best_finish(void *user, size_t n, const void *state, void *c)
{
    const best *s = state;
    for (size_t i = 0; i < n; i++) ((float *)c)[i] = s[i].value * *(float *)user + s[i].count;
}

static void by_functions(void **state)
{
    (void)state;
    float scale = 10;
    const cbx_semiring_functions f = { CBX_F32, sizeof(best), &scale, best_start, best_step, best_finish };
    cbx_semiring bottleneck, none;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_semiring_define("bottleneck", &f, &bottleneck, &err), &err, "max of min, counted");
    bottleneck.is_exact = true; /* for the comparison here */
    for (size_t l = 0; l < CBX_LEN(layouts); l++)
        for (size_t s = 0; s < CBX_LEN(shapes); s++)
            for (int n = 1; n < 4; n++) {
                problem q;
                problem_open(&q, &bottleneck, CBX_F32, shapes[s].m, shapes[s].k, shapes[s].n, &layouts[l], s);
                q.p.threads = n;
                if (n == 2) q.p.mask = q.mask, q.p.ldm = (ptrdiff_t)q.p.n;
                agree(&q, layouts[l].why);
                problem_close(&q);
            }
    for (int fault = 0; fault < 7; fault++) {
        const cbx_semiring_formulas none_of_them = { .struct_size = fault == 6 ? sizeof none_of_them : 0 };
        cbx_semiring_functions bad = f;
        if (fault == 0) bad.start = NULL;
        if (fault == 1) bad.finish = NULL;
        if (fault == 2) bad.state_bytes = 3;
        if (fault == 3) bad.state_bytes = 257;
        if (fault == 4) bad.dtype = CBX_DTYPE_COUNT;
        if (fault > 4) bad.formulas = &none_of_them;
        CHECK_STATUS(cbx_semiring_define("bad", &bad, &none, &err), fault == 4 ? CBX_EDTYPE : CBX_EINVAL,
                     "not an algebra");
    }
    problem q;
    problem_open(&q, &bottleneck, CBX_F64, 2, 2, 2, &layouts[0], 1);
    CHECK_STATUS(cbx_matmul_run(&q.p, &err), CBX_EDTYPE, "another dtype than its own");
    q.p.dtype = CBX_F32, q.p.d = q.d;
    CHECK_STATUS(cbx_matmul_run(&q.p, &err), CBX_EINVAL, "no merging");
    problem_close(&q);
}

/* Booleans so dense that their first terms fill C, and such where they do not: a row of A without
 * ones there, a column of B, all of B. */
static void first_terms_may_be_enough(void **state)
{
    (void)state;
    enum { K = 1000, FIRST = 128 };
    static const struct {
        size_t m, n;
        int open; /* 0: nothing; 1: a row of A, 2: a column of B has ones late; 3: B has none but late; 4: its last column never has */
        const char *why;
    } cases[] = {
        { 200, 530, 0, "full at once" },       { 200, 530, 1, "one row is open" },
        { 200, 530, 2, "one column is open" }, { 9, 530, 3, "all of it is open" },
        { 5, 4200, 1, "groups and one open" }, { 200, 530, 4, "a column stays open" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        problem q;
        problem_open(&q, cbx_semiring_get(CBX_ALGEBRA_BOOLEAN), CBX_BOOL, cases[i].m, K, cases[i].n, &layouts[0], i);
        for (size_t e = 0; e < cases[i].m * K; e++)
            q.a[e] = cases[i].open == 1 && e / K == cases[i].m - 2 ? e % K == K - 1 : e % 3 != 0;
        for (size_t e = 0; e < K * cases[i].n; e++) {
            const size_t kk = e / cases[i].n, j = e % cases[i].n;
            q.b[e] = e % 2 == 0;
            if (cases[i].open == 2 && j == 519) q.b[e] = kk == FIRST + 1;
            if (cases[i].open == 3) q.b[e] = kk == K - 2;
            if (cases[i].open == 4 && j == cases[i].n - 1) q.b[e] = 0;
        }
        define(&q);
        for (q.p.threads = 1; q.p.threads < 4; q.p.threads++) agree_with_definition(&q, cases[i].why);
        problem_close(&q);
    }
}

/* Booleans of extents around those of octets of rows, digits and vectors of columns; true is any
 * byte but 0, rows of C have gaps. */
static void booleans_of_any_extent(void **state)
{
    (void)state;
    static const size_t rows[] = { 1, 8, 33, 75 }, terms[] = { 1, 4, 5, 63, 64, 69, 129, 320, 321 },
                        columns[] = { 15, 16, 17, 33, 64, 65, 127, 257, 400, 513 };
    enum { A = CBX_LEN(rows), B = CBX_LEN(terms), ALL = A * B * CBX_LEN(columns) };
    for (size_t e = 0; e <= ALL; e++) { /* the last one is worth several threads */
        const size_t m = e == ALL ? 700 : rows[e % A], k = e == ALL ? 210 : terms[e / A % B],
                     n = e == ALL ? 300 : columns[e / A / B];
        problem q;
        problem_open(&q, cbx_semiring_get(CBX_ALGEBRA_BOOLEAN), CBX_BOOL, m, k, n, &layouts[0], e);
        for (size_t x = 0; x < m * k; x++) q.a[x] = (char)(q.a[x] && x % 7 < 3 ? 1 << x % 8 : 0);
        for (size_t x = 0; x < k * n; x++) q.b[x] = (char)(q.b[x] ? 255 - x % 200 : 0);
        q.p.ldc += 3;
        define(&q);
        for (q.p.threads = 1; q.p.threads < (e == ALL ? 4 : 2); q.p.threads++) agree_with_definition(&q, "any extent");
        problem_close(&q);
    }
}

TEST_FILE(.seconds = 600)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strides),
        cmocka_unit_test(few_elements),
        cmocka_unit_test(few_real_elements),
        cmocka_unit_test(threads),
        cmocka_unit_test(epilogues),
        cmocka_unit_test(by_functions),
        cmocka_unit_test(first_terms_may_be_enough),
        cmocka_unit_test(booleans_of_any_extent),
    };
    return cmocka_run_group_tests_name("array/semiring_kernel", tests, NULL, NULL);
}
