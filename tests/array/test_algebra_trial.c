/*
 * An algebra is one file: two that the library does not have (algebras/bottleneck.h,
 * algebras/manhattan.h) are built into kernels of this test's own and held, on products, sparse
 * products, weighted messages, convolutions and all their derivatives, to plain loops over terms
 * that know nothing of those files; devices refuse them.  Operands are small multiples of 1/4, so
 * that every sum is exact: answers are equal, not near.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/cuda/cuda.h"
#include "calibrax/array/ell.h"
#include "calibrax/array/kernels/ell.h"
#include "calibrax/array/semiring.h"
#include "calibrax/base/rng.h"

/* --- the truth --- */

/* What an algebra means, by itself. */
typedef struct meaning {
    const char *name;
    double (*term)(double a, double b);
    double (*fold)(double acc, double t);
    double start;
    bool selects; /* the first term that is the answer takes all */
    double (*by_a)(double a, double b);
    double (*by_b)(double a, double b);
} meaning;

static double larger(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmax(a, b); }
static double smaller(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmin(a, b); }
static double add(double a, double b) { return a + b; }
static double times(double a, double b) { return a * b; }
static double between(double a, double b) { return fabs(a - b); }
static double is_left(double a, double b) { return a >= b; }
static double is_right(double a, double b) { return a < b; }
static double sign(double a, double b) { return (double)((a > b) - (a < b)); }
static double other_sign(double a, double b) { return sign(b, a); }
static double first_of_two(double a, double b) { return (void)b, a; }
static double second_of_two(double a, double b) { return (void)a, b; }

static const meaning meanings[] = {
    { "bottleneck", larger, smaller, INFINITY, true, is_left, is_right },
    { "manhattan", between, add, 0, false, sign, other_sign },
};
/* weighted messages, folded as those fold */
static const meaning weighted[] = {
    { "bottleneck", times, smaller, INFINITY, true, second_of_two, first_of_two },
    { "manhattan", times, add, 0, false, second_of_two, first_of_two },
};

enum { OUTSIDE = -1, MAX_AXES = 3 };

/* An operation as a list of its terms, those of one result in their order: result out folds
 * term(a[left], b[right]); outside of a stands the start. */
typedef struct operation {
    size_t count, capacity, sizes[3];
    struct {
        ptrdiff_t out, left, right;
    } * terms;
    int ndim[3];
    size_t shape[3][MAX_AXES]; /* of a, b and the result */
} operation;

static void put_term(operation *o, size_t out, ptrdiff_t left, size_t right)
{
    if (o->count == o->capacity) {
        o->capacity = o->capacity ? 2 * o->capacity : 4096;
        o->terms = realloc(o->terms, o->capacity * sizeof *o->terms);
        CHECK(o->terms, "memory");
    }
    o->terms[o->count].out = (ptrdiff_t)out;
    o->terms[o->count].left = left;
    o->terms[o->count++].right = (ptrdiff_t)right;
}

static void set_shape(operation *o, int which, int ndim, const size_t *shape)
{
    o->ndim[which] = ndim;
    o->sizes[which] = 1;
    for (int i = 0; i < ndim; i++) o->sizes[which] *= o->shape[which][i] = shape[i];
}

/* Operands and answers in doubles. */
typedef struct values {
    double *a, *b, *c, *h, *ta, *tb, *da, *db, *tc;
    ptrdiff_t *first;
} values;

static double *numbers(size_t n, uint64_t seed)
{
    double *x = malloc((n + 1) * sizeof *x);
    cbx_rng rng = cbx_rng_make(7, seed);

    CHECK(x, "memory");
    for (size_t i = 0; i < n; i++) x[i] = ((double)cbx_rng_below(&rng, 97) - 48) / 4;
    return x;
}

static values values_of(const operation *o)
{
    values v = { numbers(o->sizes[0], 1), numbers(o->sizes[1], 2),
                 numbers(o->sizes[2], 3), numbers(o->sizes[2], 4),
                 numbers(o->sizes[0], 5), numbers(o->sizes[1], 6),
                 numbers(o->sizes[0], 7), numbers(o->sizes[1], 8),
                 numbers(o->sizes[2], 9), calloc(o->sizes[2] + 1, sizeof(ptrdiff_t)) };
    CHECK(v.first, "memory");
    return v;
}

static void values_free(values *v)
{
    double *const all[] = { v->a, v->b, v->c, v->h, v->ta, v->tb, v->da, v->db, v->tc };
    for (size_t i = 0; i < CBX_LEN(all); i++) free(all[i]);
    free(v->first);
}

static double left_of(const meaning *m, const values *v, ptrdiff_t at) { return at == OUTSIDE ? m->start : v->a[at]; }

static void fold_terms(const operation *o, const meaning *m, values *v)
{
    for (size_t i = 0; i < o->sizes[2]; i++) v->c[i] = m->start, v->first[i] = -1;
    for (size_t e = 0; e < o->count; e++) {
        double *c = &v->c[o->terms[e].out];
        *c = m->fold(*c, m->term(left_of(m, v, o->terms[e].left), v->b[o->terms[e].right]));
    }
    for (size_t e = 0; e < o->count; e++) {
        const ptrdiff_t out = o->terms[e].out;
        const double t = m->term(left_of(m, v, o->terms[e].left), v->b[o->terms[e].right]);
        if (v->first[out] < 0 && t == v->c[out] && t != m->start) v->first[out] = (ptrdiff_t)e;
    }
}

static void derive_terms(const operation *o, const meaning *m, values *v)
{
    for (size_t i = 0; i < o->sizes[0]; i++) v->da[i] = 0;
    for (size_t i = 0; i < o->sizes[1]; i++) v->db[i] = 0;
    for (size_t i = 0; i < o->sizes[2]; i++) v->tc[i] = 0;
    for (size_t e = 0; e < o->count; e++) {
        const ptrdiff_t out = o->terms[e].out, left = o->terms[e].left, right = o->terms[e].right;
        const double a = left_of(m, v, left), b = v->b[right];
        if (m->selects && v->first[out] != (ptrdiff_t)e) continue;
        if (left != OUTSIDE) v->da[left] += v->h[out] * m->by_a(a, b);
        v->db[right] += v->h[out] * m->by_b(a, b);
        v->tc[out] += (left == OUTSIDE ? 0 : m->by_a(a, b) * v->ta[left]) + m->by_b(a, b) * v->tb[right];
    }
}

/* --- the operations --- */

static operation product_of(size_t m, size_t k, size_t n)
{
    operation o = { 0 };

    set_shape(&o, 0, 2, (const size_t[]){ m, k });
    set_shape(&o, 1, 2, (const size_t[]){ k, n });
    set_shape(&o, 2, 2, (const size_t[]){ m, n });
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t kk = 0; kk < k; kk++) put_term(&o, i * n + j, (ptrdiff_t)(i * k + kk), kk * n + j);
    return o;
}

enum { ROWS = 37, COLS = 29, WIDTH = 5 };

/* Each row a few neighbours, row 3 none. */
static size_t degree_of(size_t row) { return row == 3 ? 0 : 1 + row * 7 % WIDTH; }
static size_t column_of(size_t row, size_t place) { return (row * 11 + place * place * 5 + place) % COLS; }

static operation sparse_of(bool transposed, size_t d)
{
    const size_t from = transposed ? ROWS : COLS, to = transposed ? COLS : ROWS;
    operation o = { 0 };

    set_shape(&o, 0, 2, (const size_t[]){ ROWS, WIDTH });
    set_shape(&o, 1, 2, (const size_t[]){ from, d });
    set_shape(&o, 2, 2, (const size_t[]){ to, d });
    for (size_t i = 0; i < ROWS; i++)
        for (size_t q = 0; q < degree_of(i); q++)
            for (size_t j = 0; j < d; j++) {
                const size_t col = column_of(i, q);
                put_term(&o, (transposed ? col : i) * d + j, (ptrdiff_t)(i * WIDTH + q),
                         (transposed ? i : col) * d + j);
            }
    return o;
}

/* One axis, padded by LOW on both sides. */
enum { LOW = 2 };

static operation conv_of(size_t length, size_t channels, size_t taps, size_t outs)
{
    const size_t positions = length + 2 * LOW - taps + 1;
    operation o = { 0 };

    set_shape(&o, 0, 2, (const size_t[]){ length, channels });
    set_shape(&o, 1, 3, (const size_t[]){ taps, channels, outs });
    set_shape(&o, 2, 2, (const size_t[]){ positions, outs });
    for (size_t p = 0; p < positions; p++)
        for (size_t j = 0; j < outs; j++)
            for (size_t t = 0; t < taps; t++)
                for (size_t ch = 0; ch < channels; ch++) {
                    const size_t at = p + t;
                    const bool inside = at >= LOW && at < length + LOW;
                    put_term(&o, p * outs + j, inside ? (ptrdiff_t)((at - LOW) * channels + ch) : OUTSIDE,
                             (t * channels + ch) * outs + j);
                }
    return o;
}

/* --- what the library makes of them --- */

typedef enum kind { PRODUCT, SPARSE, SPARSE_TURNED, MESSAGES, CONV } kind;

typedef struct library {
    cbx_ctx *c;
    kind kind;
    const cbx_semiring *s;
    cbx_ell *g;
    cbx_conv_options conv;
} library;

static cbx_array *run_it(const library *l, const cbx_array *a, const cbx_array *b)
{
    switch (l->kind) {
    case PRODUCT: return cbx_semiring_matmul(l->c, a, b, l->s);
    case SPARSE: return cbx_ell_matmul(l->c, l->g, a, b, l->s);
    case SPARSE_TURNED: return cbx_ell_matmul_transposed(l->c, l->g, a, b, l->s);
    case MESSAGES: return cbx_ell_aggregate(l->c, l->g, a, b, l->s);
    default: return cbx_semiring_conv(l->c, a, b, l->s, &l->conv);
    }
}

static void back(const library *l, const cbx_array *a, const cbx_array *b, const cbx_array *y, const cbx_array *h,
                 cbx_array *d[2])
{
    switch (l->kind) {
    case PRODUCT: cbx_semiring_matmul_vjp(l->c, a, b, y, h, l->s, d); break;
    case SPARSE: cbx_ell_matmul_vjp(l->c, l->g, a, b, y, h, l->s, d); break;
    case SPARSE_TURNED: cbx_ell_matmul_transposed_vjp(l->c, l->g, a, b, y, h, l->s, d); break;
    case MESSAGES: cbx_ell_aggregate_vjp(l->c, l->g, a, b, y, h, l->s, d); break;
    default: cbx_semiring_conv_vjp(l->c, a, b, y, h, l->s, &l->conv, d);
    }
}

static cbx_array *forth(const library *l, const cbx_array *a, const cbx_array *b, const cbx_array *y,
                        const cbx_array *ta, const cbx_array *tb)
{
    switch (l->kind) {
    case PRODUCT: return cbx_semiring_matmul_jvp(l->c, a, b, y, ta, tb, l->s);
    case SPARSE: return cbx_ell_matmul_jvp(l->c, l->g, a, b, y, ta, tb, l->s);
    case SPARSE_TURNED: return cbx_ell_matmul_transposed_jvp(l->c, l->g, a, b, y, ta, tb, l->s);
    case MESSAGES: return cbx_ell_aggregate_jvp(l->c, l->g, a, b, y, ta, tb, l->s);
    default: return cbx_semiring_conv_jvp(l->c, a, b, y, ta, tb, l->s, &l->conv);
    }
}

static cbx_array *array_of(cbx_ctx *c, const operation *o, int which, const double *from, cbx_dtype t)
{
    cbx_array_desc d = { CBX_F64, o->ndim[which], { 0 } };
    cbx_array *x = NULL;
    cbx_err err = CBX_ERR_INIT;

    memcpy(d.shape, o->shape[which], (size_t)o->ndim[which] * sizeof *d.shape);
    CHECK_OK(cbx_array_wrap(c, &d, NULL, (void *)(uintptr_t)from, NULL, NULL, &x, &err), &err, "wrap");
    return cbx_astype(c, cbx_scope_hold(c, x), t);
}

static size_t count_wrong(cbx_ctx *c, const cbx_array *got, const double *right, size_t n)
{
    const cbx_array *x = cbx_astype(c, got, CBX_F64);
    const double *data = cbx_array_is_failed(x) ? NULL : cbx_array_data(x);
    size_t wrong = 0;

    if (!data || cbx_array_count(x) != n) return n + 1;
    for (size_t i = 0; i < n; i++) wrong += !(data[i] == right[i] || (isnan(data[i]) && isnan(right[i])));
    return wrong;
}

typedef struct verdict {
    size_t value, by_a, by_b, forward;
} verdict;

static verdict judge(library *l, const operation *o, const values *v, cbx_dtype t)
{
    cbx_array *d[2] = { NULL, NULL };
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;
    verdict wrong;

    cbx_scope_open(l->c, &scope);
    const cbx_array *a = array_of(l->c, o, 0, v->a, t), *b = array_of(l->c, o, 1, v->b, t),
                    *h = array_of(l->c, o, 2, v->h, t), *ta = array_of(l->c, o, 0, v->ta, t),
                    *tb = array_of(l->c, o, 1, v->tb, t), *y = run_it(l, a, b);
    wrong.value = count_wrong(l->c, y, v->c, o->sizes[2]);
    back(l, a, b, y, h, d);
    wrong.by_a = count_wrong(l->c, d[0], v->da, o->sizes[0]);
    wrong.by_b = count_wrong(l->c, d[1], v->db, o->sizes[1]);
    wrong.forward = count_wrong(l->c, forth(l, a, b, y, ta, tb), v->tc, o->sizes[2]);
    CHECK_OK(cbx_scope_close(&scope, &err), &err, l->s->name);
    return wrong;
}

static void open_library(library *l, kind k)
{
    int32_t index[ROWS * WIDTH], degree[ROWS];
    cbx_err err = CBX_ERR_INIT;

    *l = (library){ .kind = k, .conv = CBX_CONV_INIT };
    l->conv.padding = CBX_CONV_EXPLICIT;
    l->conv.low[0] = l->conv.high[0] = LOW;
    CHECK_OK(cbx_ctx_create(NULL, &l->c, &err), &err, "context");
    for (size_t i = 0; i < ROWS; i++) {
        degree[i] = (int32_t)degree_of(i);
        for (size_t q = 0; q < WIDTH; q++) index[i * WIDTH + q] = (int32_t)column_of(i, q);
    }
    const cbx_ell_source source = { sizeof source, ROWS, COLS, WIDTH, index, degree, NULL, NULL };
    CHECK_OK(cbx_ell_create(l->c, &source, &l->g, &err), &err, "graph");
}

static void close_library(library *l)
{
    cbx_ell_free(l->g);
    cbx_ctx_free(l->c);
}

/* Both algebras and both dtypes; a planted fault is the other algebra's answer. */
static void hold(kind k, operation o, const char *why)
{
    library l;

    open_library(&l, k);
    for (size_t i = 0; i < CBX_LEN(meanings); i++) {
        const meaning *m = k == MESSAGES ? &weighted[i] : &meanings[i],
                      *other = k == MESSAGES ? &weighted[1 - i] : &meanings[1 - i];
        values v = values_of(&o);
        l.s = cbx_semiring_find(m->name);
        CHECK(l.s, "the list of algebras has it");
        fold_terms(&o, m, &v);
        derive_terms(&o, m, &v);
        for (int t = 0; t < 2; t++) {
            const verdict wrong = judge(&l, &o, &v, t ? CBX_F64 : CBX_F32);
            CHECK_INT(wrong.value, 0, why);
            CHECK_INT(wrong.by_a, 0, why);
            CHECK_INT(wrong.by_b, 0, why);
            CHECK_INT(wrong.forward, 0, why);
        }
        fold_terms(&o, other, &v);
        derive_terms(&o, other, &v);
        const verdict seen = judge(&l, &o, &v, CBX_F64);
        CHECK(seen.value && seen.by_a && seen.by_b && seen.forward, "the other algebra's answers are seen as wrong");
        values_free(&v);
    }
    free(o.terms);
    close_library(&l);
}

TEST(products)
{
    hold(PRODUCT, product_of(5, 7, 3), "few elements");
    hold(PRODUCT, product_of(19, 31, 33), "a tail of columns");
    hold(PRODUCT, product_of(67, 45, 70), "tiles and tails, more than one panel");
    hold(PRODUCT, product_of(20, 600, 27), "more terms than a block has");
}

TEST(sparse_products)
{
    hold(SPARSE, sparse_of(false, 1), "one column");
    hold(SPARSE, sparse_of(false, 43), "vectors and a tail");
    hold(SPARSE_TURNED, sparse_of(true, 19), "the transposed graph");
    hold(MESSAGES, sparse_of(false, 43), "weighted messages");
}

TEST(convolutions)
{
    hold(CONV, conv_of(23, 3, 4, 5), "few channels");
    hold(CONV, conv_of(40, 9, 5, 37), "panels of the filter");
}

/* --- plain memory: specials, the epilogue, C by columns --- */

enum { M = 41, K = 53, N = 39 };

static void fill_specials(double *x, size_t n, bool with_nan)
{
    const double specials[] = { INFINITY, -INFINITY, 0, -0.0 };

    for (size_t i = 5; i < n; i += 61) x[i] = specials[i / 61 % CBX_LEN(specials)];
    if (with_nan) x[n / 3] = NAN;
}

static void run_plain(const cbx_semiring *s, const double *a, const double *b, const double *d, const uint8_t *mask,
                      bool by_columns, double *c)
{
    cbx_matmul p = CBX_MATMUL_INIT;
    cbx_err err = CBX_ERR_INIT;
    size_t bytes = 0;

    p.semiring = s, p.dtype = CBX_F64, p.m = M, p.k = K, p.n = N;
    p.a = a, p.lda = K, p.b = b, p.ldb = N, p.d = d, p.ldd = N, p.mask = mask, p.ldm = N;
    p.c = c, p.ldc = by_columns ? 1 : N, p.c_step = by_columns ? M : 1;
    CHECK_OK(cbx_matmul_workspace(&p, &bytes, &err), &err, "workspace");
    p.workspace_bytes = (bytes + 63) / 64 * 64;
    p.workspace = aligned_alloc(64, p.workspace_bytes);
    CHECK(p.workspace, "memory");
    CHECK_OK(cbx_matmul_run(&p, &err), &err, "product");
    free(p.workspace);
    double defined[M * N];
    p.c = defined;
    CHECK_OK(cbx_matmul_define(&p, &err), &err, "definition");
    for (size_t i = 0; i < M * N; i++)
        CHECK(c[i] == defined[i] || (isnan(c[i]) && isnan(defined[i])), "the definition in the algebra's file");
}

TEST(specials)
{
    const operation o = product_of(M, K, N);

    for (size_t i = 0; i < CBX_LEN(meanings); i++)
        for (int way = 0; way < 8; way++) {
            const meaning *m = &meanings[i];
            const bool merged = way & 2, by_columns = way & 4;
            values v = values_of(&o);
            uint8_t mask[M * N];
            double c[M * N];
            fill_specials(v.a, M * K, way & 1);
            fill_specials(v.b, K * N, false);
            fold_terms(&o, m, &v);
            for (size_t j = 0; j < M * N; j++) mask[j] = j % 5 != 0;
            run_plain(cbx_semiring_find(m->name), v.a, v.b, merged ? v.h : NULL, merged ? mask : NULL, by_columns, c);
            for (size_t j = 0; j < M * N; j++) {
                const double got = c[by_columns ? j % N * M + j / N : j];
                const double right = !merged ? v.c[j] : mask[j] ? m->fold(v.h[j], v.c[j]) : m->start;
                CHECK(got == right || (isnan(got) && isnan(right)), m->name);
            }
            values_free(&v);
        }
    free(o.terms);
}

/* What else follows the list. */
TEST(descriptors)
{
    for (size_t i = 0; i < CBX_LEN(meanings); i++) {
        const cbx_semiring *s = cbx_semiring_find(meanings[i].name);
        cbx_matmul p = CBX_MATMUL_INIT;
        CHECK(s && cbx_semiring_get(s->id) == s, "its constant finds it");
        CHECK_STR(s->name, meanings[i].name, "its own row");
        CHECK(cbx_semiring_takes(s, CBX_F32) && !cbx_semiring_takes(s, CBX_BOOL), "floats");
        p.semiring = s, p.m = p.k = p.n = 8;
        CHECK_STATUS(cbx_matmul_limit_run(&p, NULL), CBX_OK, "its limit in registers");
        CHECK_STATUS(cbx_matmul_fed_limit_run(&p, NULL), CBX_OK, "its limit by the tile");
        p.raw = true;
        CHECK_STATUS(cbx_matmul_limit_run(&p, NULL), CBX_EINVAL, "it has no raw form");
    }
    CHECK_INT(CBX_ALGEBRA_BOTTLENECK, CBX_ALGEBRA_BOOLEAN + 1, "constants of the others stay as they are");
}

/* One sentence, before a device is used: the file has no such functions. */
TEST(on_gpu)
{
    static const struct {
        const char *name;
        cbx_status product, sparse;
        const char *why;
    } cases[] = {
        { "bottleneck", CBX_EUNSUPPORTED, CBX_EUNSUPPORTED, "its file has no .on_gpu" },
        { "manhattan", CBX_EUNSUPPORTED, CBX_EUNSUPPORTED, "nor this one's" },
        { "euclidean", CBX_EOVERFLOW, CBX_EINVAL, "the same calls pass that check, and meet the next" },
        { "log", CBX_EOVERFLOW, CBX_EINVAL, "as euclidean" },
    };

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_cuda_matmul q = CBX_CUDA_MATMUL_INIT;
        cbx_ell_product e = CBX_ELL_PRODUCT_INIT;
        cbx_err err = CBX_ERR_INIT;
        char words[96];
        size_t bytes = 17;

        snprintf(words, sizeof words, "algebra '%s' has no kernels for GPUs: it runs on the CPU only", cases[i].name);
        q.product.semiring = e.semiring = cbx_semiring_find(cases[i].name);
        q.product.m = (size_t)1 << 31, q.product.k = q.product.n = 4;
        CHECK_STATUS(cbx_cuda_matmul_workspace(NULL, &q, &bytes, &err), cases[i].product, cases[i].why);
        CHECK((cases[i].product == CBX_EUNSUPPORTED) == !strcmp(err.message, words), err.message);
        CHECK_STATUS(cbx_cuda_matmul_run(NULL, &q, NULL, &err), cases[i].product, cases[i].why);
        CHECK((cases[i].product == CBX_EUNSUPPORTED) == !strcmp(err.message, words), err.message);
        CHECK_INT(bytes, 17, "untouched");
        e.dtype = CBX_F64, e.rows = e.cols = e.width = e.d = 4; /* no operands */
        CHECK_STATUS(cbx_cuda_ell_product_run(NULL, &e, NULL, &err), cases[i].sparse, cases[i].why);
        CHECK((cases[i].sparse == CBX_EUNSUPPORTED) == !strcmp(err.message, words), err.message);
    }
}

TESTS(.seconds = 600)
