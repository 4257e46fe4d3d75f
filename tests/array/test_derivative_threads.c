/*
 * Derivatives of products, convolutions and sparse products by one, two and three threads: the same
 * bits, in every algebra and dtype, also where elements are not certain and operands hold specials;
 * and the division of a graph's rows among threads.
 */
#include "check.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

#include "calibrax/array/ell.h"
#include "calibrax/array/kernels/ell_isa.h"
#include "calibrax/array/kernels/semiring.h"
#include "calibrax/array/random.h"
#include "calibrax/array/semiring.h"
#include "calibrax/base/rng.h"

enum { MAX_OUT = 3 };

/* What one number of threads gave. */
typedef struct answer {
    char *data[MAX_OUT];
    size_t bytes[MAX_OUT];
} answer;

static void keep(answer *a, int i, const cbx_array *x)
{
    cbx_err err = CBX_ERR_INIT;

    if (!x) return;
    CHECK(!cbx_array_is_failed(x), "a derivative");
    a->bytes[i] = cbx_array_count(x) * cbx_dtype_size(cbx_array_dtype(x));
    a->data[i] = malloc(a->bytes[i] + 1);
    CHECK_OK(cbx_array_read(x, a->data[i], a->bytes[i], &err), &err, "read");
}

static void answer_free(answer *a)
{
    for (int i = 0; i < MAX_OUT; i++) free(a->data[i]);
}

static bool same(const answer *a, const answer *b)
{
    for (int i = 0; i < MAX_OUT; i++)
        if (a->bytes[i] != b->bytes[i] || (a->bytes[i] && memcmp(a->data[i], b->data[i], a->bytes[i]) != 0))
            return false;
    return true;
}

/* Calls what records its results, by one thread and by more. */
typedef void derivative(cbx_ctx *c, const void *how, answer *out);

static answer by_threads(int n, derivative *go, const void *how)
{
    answer a = { { NULL }, { 0 } };
    cbx_ctx *c = cbx_test_context();
    cbx_scope scope;
    cbx_err err = CBX_ERR_INIT;

    omp_set_num_threads(n);
    cbx_scope_open(c, &scope);
    go(c, how, &a);
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "scope");
    cbx_ctx_free(c);
    return a;
}

static void check_same(derivative *go, const void *how, const char *why)
{
    answer one = by_threads(1, go, how);

    CHECK(one.bytes[0] > 0, "there is something to compare");
    for (int n = 2; n <= 3; n++) {
        answer more = by_threads(n, go, how);
        if (!same(&one, &more)) fail_msg("%s: %d threads give other bits than one", why, n);
        answer_free(&more);
    }
    one.data[0][one.bytes[0] / 2] ^= 1;
    answer again = by_threads(1, go, how);
    CHECK(!same(&one, &again), "a bit that differs shows");
    answer_free(&again);
    answer_free(&one);
}

/* Normal numbers times `spread`; with specials, rows that hold NaN, infinities, nothing
 * but -inf. */
static cbx_array *draw(cbx_ctx *c, uint64_t seed, int n, const size_t *shape, cbx_dtype t, double spread, bool special)
{
    cbx_array *x = cbx_multiply_scalar(c, cbx_random_normal(c, cbx_random_key(c, seed), n, shape, t), spread);

    if (!special) return x;
    x = cbx_copy(c, x);
    CHECK(!cbx_array_is_failed(x), "operand");
    const size_t columns = shape[n - 1];
    void *data = cbx_array_data_mut(x);
    for (size_t j = 0; j < columns; j++) {
        const double row[] = { j == 3 ? (double)NAN : 1.0, j == 5 ? (double)INFINITY : 2.0, -(double)INFINITY };
        for (size_t r = 0; r < 3; r++)
            if (t == CBX_F32)
                ((float *)data)[(r + 2) * columns + j] = (float)row[r];
            else
                ((double *)data)[(r + 2) * columns + j] = row[r];
    }
    return x;
}

/* --- products --- */

typedef struct product {
    const cbx_semiring *s;
    cbx_dtype t;
    size_t batch, m, k, n;
    double spread;
    bool special;
} product;

static void do_product(cbx_ctx *c, const void *how, answer *out)
{
    const product *p = how;
    const size_t sa[] = { p->batch, p->m, p->k }, sb[] = { p->batch, p->k, p->n }, sc[] = { p->batch, p->m, p->n };
    cbx_array *a = draw(c, 1, 3, sa, p->t, p->spread, p->special), *b = draw(c, 2, 3, sb, p->t, p->spread, p->special),
              *h = draw(c, 3, 3, sc, p->t, 1, false), *y = cbx_semiring_matmul(c, a, b, p->s), *d[2];

    cbx_semiring_matmul_vjp(c, a, b, y, h, p->s, d);
    keep(out, 0, d[0]);
    keep(out, 1, d[1]);
    keep(out, 2,
         cbx_semiring_matmul_jvp(c, a, b, y, draw(c, 4, 3, sa, p->t, 1, false), draw(c, 5, 3, sb, p->t, 1, false),
                                 p->s));
}

TEST(products)
{
    static const struct {
        size_t batch, m, k, n;
        double spread;
        bool special;
        const char *why;
    } cases[] = {
        { 1, 90, 131, 143, 1, false, "one large matrix" },
        { 1, 141, 64, 301, 1, true, "specials" },
        { 1, 70, 60, 290, 400, false, "sums that are not certain" },
        { 23, 37, 41, 43, 1, false, "a stack of small ones" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++)
        for (int g = 0; g < CBX_ALGEBRA_BOOLEAN; g++)
            for (int t = 0; t < 2; t++) {
                const product p = { cbx_semiring_get((cbx_algebra)g),
                                    t ? CBX_F64 : CBX_F32,
                                    cases[i].batch,
                                    cases[i].m,
                                    cases[i].k,
                                    cases[i].n,
                                    cases[i].spread,
                                    cases[i].special };
                check_same(do_product, &p, cases[i].why);
            }
}

/* --- convolutions --- */

typedef struct convolution {
    const cbx_semiring *s;
    cbx_dtype t;
    size_t images;
    cbx_conv_options options;
} convolution;

static void do_convolution(cbx_ctx *c, const void *how, answer *out)
{
    const convolution *v = how;
    const size_t sx[] = { v->images, 37, 31, 9 }, sw[] = { 3, 4, 9, 11 };
    cbx_array *x = draw(c, 1, 4, sx, v->t, 1, false), *w = draw(c, 2, 4, sw, v->t, 1, false),
              *y = cbx_semiring_conv(c, x, w, v->s, &v->options), *d[2];

    CHECK(!cbx_array_is_failed(y), "convolution");
    cbx_semiring_conv_vjp(c, x, w, y, cbx_multiply_scalar(c, y, 0.5), v->s, &v->options, d);
    keep(out, 0, d[0]);
    keep(out, 1, d[1]);
}

TEST(convolutions)
{
    for (int g = 0; g < CBX_ALGEBRA_BOOLEAN; g++)
        for (int i = 0; i < 4; i++) {
            convolution v = { cbx_semiring_get((cbx_algebra)g), i % 2 ? CBX_F64 : CBX_F32, i < 2 ? 1 : 5,
                              CBX_CONV_INIT };
            v.options.padding = i == 1 ? CBX_CONV_VALID : CBX_CONV_SAME;
            if (g == CBX_ALGEBRA_LOG || i == 1) v.options.padding = CBX_CONV_VALID;
            v.options.stride[0] = i == 2 ? 2 : 1, v.options.dilation[0] = i == 3 ? 3 : 1;
            check_same(do_convolution, &v, v.s->name);
        }
}

/* --- sparse products --- */

enum { ROWS = 400, COLS = 190, WIDTH = 24, D = 83 };

/* Skewed: one row in sixteen has all its places, the others few. */
static void make_graph(cbx_ctx *c, cbx_ell **g)
{
    static int32_t index[ROWS * WIDTH], degree[ROWS];
    cbx_rng rng = cbx_rng_make(5, 0);
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; i < ROWS * WIDTH; i++) index[i] = (int32_t)(COLS * cbx_rng_uniform(&rng));
    for (size_t i = 0; i < ROWS; i++) degree[i] = i % 16 == 0 ? WIDTH : (int32_t)(i % 5);
    CHECK_OK(cbx_ell_create(
                 c, &(cbx_ell_source){ sizeof(cbx_ell_source), ROWS, COLS, WIDTH, index, degree, NULL, NULL }, g, &err),
             &err, "graph");
}

static void do_sparse(cbx_ctx *c, const void *how, answer *out)
{
    const product *p = how;
    const size_t sv[] = { ROWS, WIDTH }, sb[] = { COLS, D }, sc[] = { ROWS, D };
    cbx_ell *g = NULL;
    cbx_array *d[2];

    make_graph(c, &g);
    cbx_array *v = draw(c, 1, 2, sv, p->t, 1, p->special), *b = draw(c, 2, 2, sb, p->t, 1, p->special),
              *y = cbx_ell_matmul(c, g, v, b, p->s);
    cbx_ell_matmul_vjp(c, g, v, b, y, draw(c, 3, 2, sc, p->t, 1, false), p->s, d);
    keep(out, 0, d[0]);
    keep(out, 1, d[1]);
    keep(out, 2,
         cbx_ell_matmul_jvp(c, g, v, b, y, draw(c, 4, 2, sv, p->t, 1, false), draw(c, 5, 2, sb, p->t, 1, false), p->s));
    cbx_ell_free(g);
}

static void do_softmax(cbx_ctx *c, const void *how, answer *out)
{
    const product *p = how;
    const size_t sv[] = { ROWS, WIDTH };
    cbx_ell *g = NULL;

    make_graph(c, &g);
    cbx_array *y = cbx_ell_softmax(c, g, draw(c, 1, 2, sv, p->t, 1, false));
    keep(out, 0, y);
    keep(out, 1, cbx_ell_softmax_vjp(c, g, y, draw(c, 2, 2, sv, p->t, 1, false)));
    cbx_ell_free(g);
}

TEST(sparse_products)
{
    for (int t = 0; t < 2; t++)
        for (int special = 0; special < 2; special++) {
            product p = { .t = t ? CBX_F64 : CBX_F32, .special = special != 0 };
            for (int g = 0; g < CBX_ALGEBRA_BOOLEAN; g++) {
                p.s = cbx_semiring_get((cbx_algebra)g);
                check_same(do_sparse, &p, p.s->name);
            }
            check_same(do_softmax, &p, "softmax");
        }
}

/* --- the division of rows --- */

typedef struct tally {
    atomic_int seen[5000];
} tally;

static void count_rows(const void *job, size_t from, size_t to)
{
    tally *t = (tally *)(uintptr_t)job;
    for (size_t i = from; i < to; i++) atomic_fetch_add(&t->seen[i], 1);
}

/* Every row is done once, however few rows and many threads there are, by starts, degrees
 * and width. */
TEST(every_row_is_done_once)
{
    static const size_t counts[] = { 0, 1, 2, 7, 64, 4999 };
    static const int threads[] = { 1, 2, 3, 7, 300 };
    static size_t start[5001];
    static int32_t degree[5000];
    static tally t;

    for (int skew = 0; skew < 3; skew++) {
        for (size_t i = 0; i < 5000; i++) {
            degree[i] = skew == 0 ? 0 : skew == 1 ? (int32_t)(i % 3) : i == 1 ? 1000000 : 1;
            start[i + 1] = start[i] + (size_t)degree[i];
        }
        for (size_t n = 0; n < CBX_LEN(counts); n++)
            for (size_t k = 0; k < CBX_LEN(threads); k++)
                for (int form = 0; form < 3; form++) {
                    const cbx__ell_rows r = { counts[n], 9, form == 0 ? start : NULL, form == 1 ? degree : NULL };
                    memset(&t, 0, sizeof t);
                    cbx__ell_share(&r, threads[k], count_rows, &t);
                    for (size_t i = 0; i < 5000; i++)
                        CHECK_INT(t.seen[i], i < counts[n] ? 1 : 0, "times that a row was done");
                }
    }
}

TESTS(.seconds = 600)
