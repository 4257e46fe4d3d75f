/*
 * ELL products and aggregations over algebras that are given by functions: against the definition,
 * against the built-in algebra that they imitate, and with states wider than an element; what is
 * refused.
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/array/ell.h"
#include "calibrax/array/kernels/ell.h"
#include "calibrax/base/rng.h"
#include "fail_alloc.h"

/* --- algebras --- */

/* max-plus, as the built-in one */
static void max_start(void *user, size_t n, void *state)
{
    (void)user;
    for (size_t j = 0; j < n; j++) ((float *)state)[j] = -INFINITY;
}
static void max_update(void *user, size_t n, const void *t, void *state)
{
    const float *x = t;
    float *s = state;
    (void)user;
    for (size_t j = 0; j < n; j++) s[j] = x[j] > s[j] ? x[j] : s[j];
}
static void max_step(void *user, size_t n, const void *a, const void *b, void *state)
{
    const float *x = b;
    float *s = state;
    (void)user;
    for (size_t j = 0; j < n; j++) {
        const float t = *(const float *)a + x[j];
        s[j] = t > s[j] ? t : s[j];
    }
}
static void max_finish(void *user, size_t n, const void *state, void *c)
{
    (void)user;
    memcpy(c, state, n * sizeof(float));
}
static const cbx_semiring_functions max = { CBX_F32, sizeof(float), NULL, max_start, max_step, max_finish, max_update };

/* The variance of a*b: a state of three doubles, rounded up to 256 bytes to be as wide as one
 * can be. */
typedef struct moments {
    double n, mean, m2;
    char rest[256 - 3 * sizeof(double)];
} moments;
static void spread_start(void *user, size_t n, void *state)
{
    (void)user;
    for (size_t j = 0; j < n; j++) ((moments *)state)[j].n = ((moments *)state)[j].mean = ((moments *)state)[j].m2 = 0;
}
static void spread_add(moments *s, double t)
{
    const double off = t - s->mean;
    s->n += 1;
    s->mean += off / s->n;
    s->m2 += off * (t - s->mean);
}
static void spread_update(void *user, size_t n, const void *t, void *state)
{
    (void)user;
    for (size_t j = 0; j < n; j++) spread_add((moments *)state + j, ((const double *)t)[j]);
}
static void spread_step(void *user, size_t n, const void *a, const void *b, void *state)
{
    (void)user;
    for (size_t j = 0; j < n; j++) spread_add((moments *)state + j, *(const double *)a * ((const double *)b)[j]);
}
static void spread_finish(void *user, size_t n, const void *state, void *c)
{
    const moments *s = state;
    (void)user;
    for (size_t j = 0; j < n; j++) ((double *)c)[j] = s[j].n > 0 ? s[j].m2 / s[j].n : -1;
}
static const cbx_semiring_functions spread = { CBX_F64,     sizeof(moments), NULL,         spread_start,
                                               spread_step, spread_finish,   spread_update };

/* xor of and: integers, and no update */
static void parity_start(void *user, size_t n, void *state)
{
    (void)user;
    memset(state, 0, n * sizeof(uint64_t));
}
static void parity_step(void *user, size_t n, const void *a, const void *b, void *state)
{
    (void)user;
    for (size_t j = 0; j < n; j++) ((uint64_t *)state)[j] ^= *(const uint64_t *)a & ((const uint64_t *)b)[j];
}
static void parity_finish(void *user, size_t n, const void *state, void *c)
{
    (void)user;
    memcpy(c, state, n * sizeof(uint64_t));
}
static const cbx_semiring_functions parity = { CBX_U64, 8, NULL, parity_start, parity_step, parity_finish, NULL };

static cbx_semiring algebra(const char *name, const cbx_semiring_functions *f)
{
    cbx_semiring s;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_semiring_define(name, f, &s, &err), &err, name);
    return s;
}

/* --- a graph with holes --- */

enum { ROWS = 61, COLS = 47, WIDTH = 9 };

typedef struct bench {
    cbx_ctx *c;
    cbx_scope scope;
    cbx_ell *g;
    cbx_rng rng;
} bench;

/* Places without an edge lead outside; row 0 has none at all. */
static cbx_status graph_of(cbx_ctx *c, bool full, cbx_ell **out, cbx_err *err)
{
    int32_t index[ROWS * WIDTH];
    uint8_t mask[ROWS * WIDTH];
    cbx_rng rng = cbx_rng_make(11, 0);

    for (size_t p = 0; p < CBX_LEN(index); p++) {
        mask[p] = full || (p >= WIDTH && cbx_rng_uniform(&rng) < 0.7);
        index[p] = mask[p] ? (int32_t)(cbx_rng_u64(&rng) % COLS) : COLS + 100;
    }
    return cbx_ell_create(c, &(cbx_ell_source){ sizeof(cbx_ell_source), ROWS, COLS, WIDTH, index, NULL, mask, NULL },
                          out, err);
}

static void bench_open(bench *t, bool full)
{
    cbx_err err = CBX_ERR_INIT;

    t->rng = cbx_rng_make(5, 0);
    CHECK_OK(cbx_ctx_create(NULL, &t->c, &err), &err, "context");
    CHECK_OK(graph_of(t->c, full, &t->g, &err), &err, "graph");
    cbx_scope_open(t->c, &t->scope);
}

static void bench_close(bench *t)
{
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_scope_close(&t->scope, &err), &err, "nothing failed");
    cbx_ell_free(t->g);
    cbx_ctx_free(t->c);
}

static cbx_array *draw(bench *t, cbx_dtype dtype, int ndim, size_t n0, size_t n1, size_t n2)
{
    const cbx_array_desc d = { dtype, ndim, { n0, n1, n2 } };
    const size_t count = n0 * n1 * (ndim > 2 ? n2 : 1);
    double *x = calloc(count + 1, sizeof *x);

    for (size_t i = 0; i < count; i++) {
        const double v = cbx_rng_normal(&t->rng);
        const uint64_t word = cbx_rng_u64(&t->rng);
        if (dtype == CBX_F32)
            ((float *)x)[i] = (float)v;
        else if (dtype == CBX_U64)
            ((uint64_t *)x)[i] = word;
        else
            x[i] = v;
    }
    cbx_array *a = cbx_asarray(t->c, &d, x);
    free(x);
    return a;
}

static void check_same(const cbx_array *a, const cbx_array *b, const char *why)
{
    CHECK(!cbx_array_is_failed(a) && !cbx_array_is_failed(b), why);
    CHECK_INT(cbx_array_bytes(a), cbx_array_bytes(b), why);
    CHECK(memcmp(cbx_array_data(a), cbx_array_data(b), cbx_array_bytes(a)) == 0, why);
}

/* --- products --- */

static void check_defined(bench *t, const cbx_semiring *s, bool turned, bool scaled, size_t d)
{
    const cbx_dtype dtype = s->functions->dtype;
    const size_t rows = turned ? COLS : ROWS, size = cbx_dtype_size(dtype), bytes = rows * d * size;
    const cbx_array *v = draw(t, dtype, 2, ROWS, WIDTH, 0), *b = draw(t, dtype, 2, turned ? ROWS : COLS, d, 0);
    char *wanted = calloc(bytes, 1), *got = calloc(bytes, 1);
    cbx_err err = CBX_ERR_INIT;
    cbx_ell_product p;

    cbx_ell_view(t->g, turned, &p);
    p.semiring = s, p.scaled = scaled, p.dtype = dtype;
    p.values = cbx_array_data(v), p.b = cbx_array_data(b), p.c = wanted;
    p.d = p.ldb = p.ldc = d;
    CHECK_OK(cbx_ell_product_define(&p, &err), &err, s->name);
    p.c = got;
    for (p.threads = 1; p.threads <= 3; p.threads++) {
        memset(got, 0xee, bytes);
        CHECK_OK(cbx_ell_product_run(&p, &err), &err, s->name);
        CHECK(memcmp(got, wanted, bytes) == 0, s->name);
    }
    got[bytes / 2] ^= 1;
    CHECK(memcmp(got, wanted, bytes) != 0, "a wrong bit shows");
    free(wanted);
    free(got);
}

TEST(products_follow_the_definition)
{
    static const size_t widths[] = { 1, 7, 64, 65, 1024, 1500 }; /* a state of 256 bytes has its room in 64 columns */
    const cbx_semiring all[] = { algebra("most", &max), algebra("spread", &spread), algebra("parity", &parity) };

    for (size_t w = 0; w < CBX_LEN(widths); w++)
        for (size_t k = 0; k < CBX_LEN(all); k++)
            for (int way = 0; way < 4; way++) {
                bench t;
                bench_open(&t, way & 2);
                check_defined(&t, &all[k], way & 1, false, widths[w]);
                if (all[k].functions->update) check_defined(&t, &all[k], way & 1, true, widths[w]);
                bench_close(&t);
            }
}

TEST(imitations_are_what_they_imitate)
{
    const cbx_semiring s = algebra("most", &max), *built_in = cbx_semiring_get(CBX_ALGEBRA_TROPICAL_MAX_PLUS);
    bench t;
    bench_open(&t, false);
    const cbx_array *v = draw(&t, CBX_F32, 2, ROWS, WIDTH, 0), *b = draw(&t, CBX_F32, 2, COLS, 70, 0),
                    *bt = draw(&t, CBX_F32, 2, ROWS, 70, 0);

    check_same(cbx_ell_matmul(t.c, t.g, v, b, &s), cbx_ell_matmul(t.c, t.g, v, b, built_in), "product");
    check_same(cbx_ell_matmul_transposed(t.c, t.g, v, bt, &s), cbx_ell_matmul_transposed(t.c, t.g, v, bt, built_in),
               "transposed product");
    check_same(cbx_ell_aggregate(t.c, t.g, v, b, &s), cbx_ell_aggregate(t.c, t.g, v, b, built_in), "aggregation");
    CHECK(((const float *)cbx_array_data(cbx_ell_matmul(t.c, t.g, v, b, &s)))[3] == -INFINITY, "row 0 has no edge");
    bench_close(&t);
}

/* --- functions of edges --- */

typedef struct shape {
    size_t d;
    bool wide; /* float64 */
} shape;

/* m[o] = attr[0] * x_col[o] - x_row[o] */
static void message(void *user, const cbx_ell_edge *e, void *m)
{
    const shape *s = user;
    for (size_t o = 0; o < s->d; o++) {
        if (s->wide)
            ((double *)m)[o] = ((const double *)e->attr)[0] * ((const double *)e->x_col)[o] -
                               ((const double *)e->x_row)[o];
        else
            ((float *)m)[o] = ((const float *)e->attr)[0] * ((const float *)e->x_col)[o] - ((const float *)e->x_row)[o];
    }
}

TEST(messages_fold_over_functions)
{
    shape user = { 37, false };
    const cbx_ell_edge_functions f = { sizeof f, user.d, &user, message, NULL, NULL };
    const cbx_semiring s = algebra("most", &max), wide = algebra("spread", &spread);
    bench t;
    bench_open(&t, false);
    const cbx_array *x = draw(&t, CBX_F32, 2, ROWS, user.d, 0), *y = draw(&t, CBX_F32, 2, COLS, user.d, 0),
                    *a = draw(&t, CBX_F32, 3, ROWS, WIDTH, 1);

    check_same(cbx_ell_edge_aggregate(t.c, t.g, x, y, a, &f, &s),
               cbx_ell_edge_aggregate(t.c, t.g, x, y, a, &f, cbx_semiring_get(CBX_ALGEBRA_TROPICAL_MAX_PLUS)),
               "the largest message");
    user.wide = true;
    x = cbx_astype(t.c, x, CBX_F64), y = cbx_astype(t.c, y, CBX_F64), a = cbx_astype(t.c, a, CBX_F64);
    /* weights alone: the same messages as values * b */
    x = cbx_subtract(t.c, x, x);
    check_same(cbx_ell_edge_aggregate(t.c, t.g, x, y, a, &f, &wide),
               cbx_ell_aggregate(t.c, t.g, cbx_reshape(t.c, a, 2, (const ptrdiff_t[]){ ROWS, WIDTH }), y, &wide),
               "the variance of messages");
    bench_close(&t);
}

/* Sums, maxima and minima of messages, by vectors, are what folding one after the other gives, NaN
 * included. */
TEST(messages_fold_in_order)
{
    for (int way = 0; way < 6; way++) {
        static const cbx_algebra algebras[] = { CBX_ALGEBRA_REAL, CBX_ALGEBRA_TROPICAL_MAX_PLUS,
                                                CBX_ALGEBRA_TROPICAL_MIN_PLUS };
        const cbx_semiring *s = cbx_semiring_get(algebras[way % 3]);
        shape user = { 45, way >= 3 };
        const cbx_dtype dtype = user.wide ? CBX_F64 : CBX_F32;
        const cbx_ell_edge_functions f = { sizeof f, user.d, &user, message, NULL, NULL };
        bench t;
        bench_open(&t, false);
        cbx_array *x = draw(&t, dtype, 2, ROWS, user.d, 0), *y = draw(&t, dtype, 2, COLS, user.d, 0),
                  *a = draw(&t, dtype, 3, ROWS, WIDTH, 1);
        cbx_ell_product p;
        if (user.wide)
            ((double *)(uintptr_t)cbx_array_data(y))[5 * user.d + 3] = NAN;
        else
            ((float *)(uintptr_t)cbx_array_data(y))[5 * user.d + 3] = NAN;
        const cbx_array *out = cbx_ell_edge_aggregate(t.c, t.g, x, y, a, &f, s);
        CHECK(!cbx_array_is_failed(out), s->name);
        cbx_ell_view(t.g, false, &p);
        for (size_t i = 0; i < ROWS; i++)
            for (size_t o = 0; o < user.d; o++) {
                double acc = s->identity, m[64];
                for (size_t e = p.start[i]; e < p.start[i + 1]; e++) {
                    const size_t place = p.place[e], size = cbx_dtype_size(dtype);
                    const cbx_ell_edge edge = { i,
                                                (size_t)p.index[e],
                                                place - i * WIDTH,
                                                (const char *)cbx_array_data(x) + i * user.d * size,
                                                (const char *)cbx_array_data(y) + (size_t)p.index[e] * user.d * size,
                                                (const char *)cbx_array_data(a) + place * size };
                    message(&user, &edge, m);
                    const double v = user.wide ? m[o] : (double)((float *)m)[o];
                    if (way % 3 == 0)
                        acc = user.wide ? acc + v : (double)((float)acc + (float)v);
                    else if (!isnan(acc) && (isnan(v) || (way % 3 == 1 ? v > acc : v < acc)))
                        acc = v;
                }
                const size_t at = i * user.d + o;
                const double got = user.wide ? ((const double *)cbx_array_data(out))[at]
                                             : (double)((const float *)cbx_array_data(out))[at];
                CHECK((isnan(got) && isnan(acc)) || got == acc, s->name);
            }
        bench_close(&t);
    }
}

/* --- refusals --- */

static void refuse(bench *t, int fault, const cbx_semiring *s, const cbx_semiring *whole)
{
    shape user = { 4, false };
    const cbx_ell_edge_functions f = { sizeof f, 4, &user, message, NULL, NULL };
    cbx_array *v = draw(t, CBX_F32, 2, ROWS, WIDTH, 0), *b = draw(t, CBX_F32, 2, COLS, 4, 0),
              *c = draw(t, CBX_F32, 2, ROWS, 4, 0), *wide = draw(t, CBX_F64, 2, COLS, 4, 0), *d[3],
              *words = draw(t, CBX_U64, 2, ROWS, WIDTH, 0);

    if (fault == 0) cbx_ell_matmul(t->c, t->g, v, b, whole);
    if (fault == 1) cbx_ell_aggregate(t->c, t->g, words, draw(t, CBX_U64, 2, COLS, 4, 0), whole);
    if (fault == 2) cbx_ell_matmul_vjp(t->c, t->g, v, b, c, c, s, d);
    if (fault == 3) cbx_ell_matmul(t->c, t->g, v, b, NULL);
    if (fault == 4) cbx_ell_edge_aggregate(t->c, t->g, NULL, wide, NULL, &f, s);
    if (fault == 5) cbx_ell_edge_aggregate(t->c, t->g, NULL, b, NULL, &f, whole);
    if (fault == 7) cbx_ell_edge_aggregate(t->c, t->g, b, b, NULL, &f, s);
    if (fault == 6) {
        cbx_ell_edge_functions both = f;
        both.vjp = (void (*)(void *, const cbx_ell_edge *, const void *, void *, void *, void *))(uintptr_t)1;
        cbx_ell_edge_aggregate_vjp(t->c, t->g, NULL, b, NULL, &both, s, c, d);
    }
}

TEST(what_is_refused)
{
    static const struct {
        cbx_status status;
        const char *words;
    } cases[] = {
        { CBX_EDTYPE, "'ell_matmul' over 'parity' takes uint64, not float32" },
        { CBX_EINVAL, "algebra 'parity' cannot fold weighted messages: define 'update' in its functions" },
        { CBX_EINVAL, "'ell_matmul_vjp' over 'most' has no derivative" },
        { CBX_EINVAL, "'ell_matmul' needs a semiring" },
        { CBX_EDTYPE, "'ell_edge_aggregate' over 'most' takes float32, not float64" },
        { CBX_EINVAL, "'ell_edge_aggregate' over 'parity' cannot fold messages: define 'update' in its functions" },
        { CBX_EINVAL, "'ell_edge_aggregate_vjp' over 'most', defined by functions, has no derivative" },
        { CBX_ESHAPE, "'ell_edge_aggregate' expects x_row float32 (" },
    };
    const cbx_semiring s = algebra("most", &max), whole = algebra("parity", &parity);

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        bench t;
        bench_open(&t, false);
        cbx_err err = CBX_ERR_INIT;
        refuse(&t, (int)i, &s, &whole);
        CHECK_STATUS(cbx_scope_close(&t.scope, &err), cases[i].status, cases[i].words);
        if (!strstr(err.message, cases[i].words))
            fail_msg("case %zu: '%s' without '%s'", i, err.message, cases[i].words);
        cbx_ell_free(t.g);
        cbx_ctx_free(t.c);
    }
}

static cbx_status steps(cbx_ctx *c, void *user)
{
    shape s = { 4, true };
    const cbx_ell_edge_functions f = { sizeof f, 4, &s, message, NULL, NULL };
    const cbx_semiring wide = algebra("spread", &spread);
    cbx_err err = CBX_ERR_INIT;
    cbx_ell *g = NULL;
    cbx_scope scope;
    cbx_status st = graph_of(c, false, &g, &err);

    (void)user;
    if (st) return st;
    cbx_scope_open(c, &scope);
    cbx_array *x = cbx_ones(c, 2, (const size_t[]){ ROWS, 4 }, CBX_F64),
              *y = cbx_ones(c, 2, (const size_t[]){ COLS, 4 }, CBX_F64),
              *a = cbx_ones(c, 3, (const size_t[]){ ROWS, WIDTH, 1 }, CBX_F64);
    cbx_ell_edge_aggregate(c, g, x, y, a, &f, &wide);
    cbx_ell_matmul(c, g, cbx_reshape(c, a, 2, (const ptrdiff_t[]){ ROWS, WIDTH }), y, &wide);
    st = cbx_scope_close(&scope, &err);
    cbx_ell_free(g);
    return st;
}

TEST(memory_may_end)
{
    CHECK_GT((double)cbx_test_fail_each(steps, NULL, "ELL over functions"), 10.0, "allocations that failed");
}

TESTS(.seconds = 600)
