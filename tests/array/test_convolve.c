/*
 * Convolutions against products of their windows, which this test lays out itself: the same bits in
 * every algebra and dtype, at edges, with specials, by one, two and three threads; and over
 * algebras given by functions, where what lies outside is left out.
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

#include "calibrax/array/kernels/semiring.h"
#include "calibrax/array/semiring.h"
#include "calibrax/base/rng.h"
#include "fail_alloc.h"

enum { AXES = 3 };

/* Images of up to three axes; a missing axis has length 0. */
typedef struct shape {
    size_t images, length[AXES], taps[AXES], channels, outs, stride[AXES], dilation[AXES], low[AXES], high[AXES];
    const char *why;
} shape;

static const shape shapes[] = {
    { 1, { 16, 16 }, { 3, 3 }, 16, 32, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, "same, whole tiles" },
    { 2, { 9, 7 }, { 3, 3 }, 5, 3, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, "lines shorter than a tile" },
    { 3,
      { 11, 23 },
      { 5, 4 },
      3,
      49,
      { 2, 3 },
      { 1, 1 },
      { 2, 1 },
      { 2, 2 },
      "strides that differ, one channel in vectors" },
    { 2, { 14, 19 }, { 3, 3 }, 4, 17, { 1, 1 }, { 2, 3 }, { 2, 3 }, { 2, 3 }, "dilation" },
    { 2, { 12, 13 }, { 2, 3 }, 1, 70, { 1, 2 }, { 3, 1 }, { 0, 0 }, { 0, 0 }, "one channel, nothing outside" },
    { 1, { 3, 4 }, { 3, 3 }, 7, 5, { 1, 1 }, { 1, 1 }, { 4, 5 }, { 3, 6 }, "windows that lie outside" },
    { 2, { 40 }, { 5 }, 6, 33, { 1 }, { 1 }, { 2 }, { 2 }, "one axis" },
    { 1, { 5, 6, 9 }, { 3, 2, 3 }, 3, 20, { 1, 2, 1 }, { 1, 1, 2 }, { 1, 0, 2 }, { 1, 1, 2 }, "three axes" },
    { 1, { 9, 1 }, { 3, 1 }, 9, 64, { 1, 1 }, { 1, 1 }, { 1, 0 }, { 1, 0 }, "lines of one place" },
    { 2, { 6, 6 }, { 1, 1 }, 40, 24, { 1, 1 }, { 1, 1 }, { 0, 0 }, { 0, 0 }, "one tap: a product" },
    { 2, { 7, 6 }, { 1, 1 }, 11, 24, { 2, 2 }, { 1, 1 }, { 0, 0 }, { 0, 0 }, "one tap with strides" },
    { 1, { 10, 10 }, { 3, 3 }, 150, 130, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, "several blocks of terms, of panels" },
    { 1, { 4, 4 }, { 3, 3 }, 48, 800, { 1, 1 }, { 1, 1 }, { 0, 0 }, { 0, 0 }, "few places, a filter read as it lies" },
    { 1, { 1026 }, { 2 }, 1, 1, { 1 }, { 1 }, { 0 }, { 0 }, "a last block of one position" },
    { 1, { 896 }, { 1 }, 1025, 8, { 1 }, { 1 }, { 0 }, { 0 }, "a last block whose parts are longer" },
    { 1, { 2 }, { 2 }, 3, 4, { 1000000 }, { 1000000 }, { 1000000 }, { 1999999 }, "padding far longer than x" },
};

static int axes_of(const shape *s) { return s->length[1] == 0 ? 1 : s->length[2] == 0 ? 2 : 3; }

static size_t positions_of(const shape *s, int i)
{
    return (s->length[i] + s->low[i] + s->high[i] - (s->taps[i] - 1) * s->dilation[i] - 1) / s->stride[i] + 1;
}

static size_t terms_of(const shape *s)
{
    size_t n = s->channels;
    for (int i = 0; i < axes_of(s); i++) n *= s->taps[i];
    return n;
}

static size_t rows_of(const shape *s)
{
    size_t n = s->images;
    for (int i = 0; i < axes_of(s); i++) n *= positions_of(s, i);
    return n;
}

/* Element of x, counted without its channels, under a tap of a row's window; -1 outside. */
static long long place(const shape *s, size_t row, size_t tap)
{
    long long at = 0, across = 1;

    for (int i = axes_of(s) - 1; i >= 0; i--) {
        const long long to = (long long)(row % positions_of(s, i) * s->stride[i] + tap % s->taps[i] * s->dilation[i]) -
                             (long long)s->low[i];
        if (to < 0 || to >= (long long)s->length[i]) return -1;
        at += to * across;
        across *= (long long)s->length[i];
        row /= positions_of(s, i), tap /= s->taps[i];
    }
    return at + across * (long long)row;
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

static bool is_nan(cbx_dtype t, const void *x, size_t i)
{
    return t == CBX_F32 ? isnan(((const float *)x)[i]) : t == CBX_F64 && isnan(((const double *)x)[i]);
}

/* Equal bits, NaN of any kind, zeros of any sign. */
static bool same(cbx_dtype t, const void *x, const void *y, size_t n)
{
    const size_t size = cbx_dtype_size(t);

    for (size_t i = 0; i < n; i++) {
        if (memcmp((const char *)x + i * size, (const char *)y + i * size, size) == 0) continue;
        if (is_nan(t, x, i) && is_nan(t, y, i)) continue;
        if (t == CBX_F32 && ((const float *)x)[i] == 0 && ((const float *)y)[i] == 0) continue;
        if (t == CBX_F64 && ((const double *)x)[i] == 0 && ((const double *)y)[i] == 0) continue;
        return false;
    }
    return true;
}

typedef struct problem {
    const shape *s;
    const cbx_semiring *semiring;
    cbx_dtype t;
    cbx_array *x, *w;
} problem;

static cbx_array *array_of(cbx_ctx *c, cbx_dtype t, size_t lead, const size_t *lengths, int n, size_t a, size_t b)
{
    cbx_array_desc d = { t, 0, { 0 } };
    cbx_array *x = NULL;
    cbx_err err = CBX_ERR_INIT;

    if (lead) d.shape[d.ndim++] = lead;
    for (int i = 0; i < n; i++) d.shape[d.ndim++] = lengths[i];
    d.shape[d.ndim++] = a;
    if (b) d.shape[d.ndim++] = b;
    CHECK_OK(cbx_array_create(c, &d, &x, &err), &err, "operand");
    return cbx_scope_hold(c, x);
}

static problem draw(cbx_ctx *c, const shape *s, const cbx_semiring *g, cbx_dtype t, bool special)
{
    static const double odd[] = { (double)NAN, (double)INFINITY, -(double)INFINITY, -(double)INFINITY };
    problem p = { .s = s, .semiring = g, .t = t };
    cbx_rng rng = cbx_rng_make(7, (uint64_t)(s - shapes));

    p.x = array_of(c, t, s->images, s->length, axes_of(s), s->channels, 0);
    p.w = array_of(c, t, 0, s->taps, axes_of(s), s->channels, s->outs);
    for (int k = 0; k < 2; k++) {
        cbx_array *a = k ? p.w : p.x;
        const size_t n = cbx_array_count(a);
        void *data = cbx_array_data_mut(a);
        for (size_t i = 0; i < n; i++) put(t, data, i, cbx_rng_normal(&rng));
        for (size_t i = 0; special && i < CBX_LEN(odd); i++)
            put(t, data, (size_t)(cbx_rng_uniform(&rng) * (double)n), odd[i]);
    }
    return p;
}

static cbx_conv_options options_of(const shape *s)
{
    cbx_conv_options o = CBX_CONV_INIT;

    o.padding = CBX_CONV_EXPLICIT;
    for (int i = 0; i < axes_of(s); i++)
        o.stride[i] = s->stride[i], o.dilation[i] = s->dilation[i], o.low[i] = s->low[i], o.high[i] = s->high[i];
    return o;
}

static const cbx_array *convolve(cbx_ctx *c, const problem *p)
{
    const cbx_conv_options o = options_of(p->s);
    const cbx_array *y = cbx_semiring_conv(c, p->x, p->w, p->semiring, &o);
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_ctx_pending(c, &err), &err, p->s->why);
    CHECK_INT(cbx_array_count(y), rows_of(p->s) * p->s->outs, p->s->why);
    return y;
}

/* Windows one after the other. */
static void lay_out(const problem *p, char *a)
{
    const shape *s = p->s;
    const size_t size = cbx_dtype_size(p->t), k = terms_of(s), run = s->channels;

    for (size_t r = 0; r < rows_of(s); r++)
        for (size_t t = 0; t < k / run; t++) {
            const long long at = place(s, r, t);
            for (size_t i = 0; at < 0 && i < run; i++)
                put(p->t, a, (r * (k / run) + t) * run + i, p->semiring->identity);
            if (at >= 0)
                memcpy(a + (r * (k / run) + t) * run * size,
                       (const char *)cbx_array_data(p->x) + (size_t)at * run * size, run * size);
        }
}

/* A convolution that is handed on as the product of x as it lies. */
static bool is_product(const shape *s)
{
    bool is = true;

    for (int i = 0; i < axes_of(s); i++) is = is && s->taps[i] == 1 && s->stride[i] == 1 && s->low[i] + s->high[i] == 0;
    return is;
}

/* Their product with the filter, by blocks: products of few elements sum in another order, but not
 * those with a mask. */
static void by_windows(const problem *p, void *out)
{
    const shape *s = p->s;
    const size_t m = rows_of(s), k = terms_of(s);
    char *a = malloc(m * k * cbx_dtype_size(p->t)), *capacity;
    cbx_matmul q = CBX_MATMUL_INIT;
    const uint8_t all = 1;
    cbx_err err = CBX_ERR_INIT;

    lay_out(p, a);
    q.semiring = p->semiring, q.dtype = p->t, q.m = m, q.k = k, q.n = s->outs;
    q.a = a, q.lda = (ptrdiff_t)k, q.b = cbx_array_data(p->w), q.ldb = (ptrdiff_t)s->outs;
    q.c = out, q.ldc = (ptrdiff_t)s->outs;
    if (!is_product(s)) q.mask = &all, q.ldm = q.m_step = 0;
    CHECK_OK(cbx_matmul_workspace(&q, &q.workspace_bytes, &err), &err, "workspace");
    capacity = malloc(q.workspace_bytes + 64);
    q.workspace = (void *)(((uintptr_t)capacity + 63) / 64 * 64);
    CHECK_OK(cbx_matmul_run(&q, &err), &err, "product");
    free(capacity);
    free(a);
}

static void check_one(const shape *s, const cbx_semiring *g, cbx_dtype t, bool special)
{
    const size_t n = rows_of(s) * s->outs, size = cbx_dtype_size(t);
    char *wanted = malloc(n * size);
    cbx_ctx *c = cbx_test_context();
    cbx_scope scope;
    cbx_err err = CBX_ERR_INIT;

    cbx_scope_open(c, &scope);
    const problem p = draw(c, s, g, t, special);
    by_windows(&p, wanted);
    for (int threads = 1; threads <= 3; threads++) {
#if defined(_OPENMP)
        omp_set_num_threads(threads);
#endif
        if (!same(t, cbx_array_data(convolve(c, &p)), wanted, n))
            fail_msg("%s over %s%s by %d threads is not the product of its windows", s->why, g->name,
                     special ? " with specials" : "", threads);
    }
    wanted[n / 2 * size + size - 1] ^= 1;
    CHECK(!same(t, cbx_array_data(convolve(c, &p)), wanted, n) || is_nan(t, wanted, n / 2), "a bit that differs shows");
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "scope");
    cbx_ctx_free(c);
    free(wanted);
}

TEST(products_of_windows)
{
    for (size_t i = 0; i < CBX_LEN(shapes); i++)
        for (int g = 0; g < CBX_ALGEBRA_COUNT; g++)
            for (int t = 0; t < 2; t++)
                for (int special = 0; special < 2; special++) {
                    const bool bools = g == CBX_ALGEBRA_BOOLEAN;
                    if (bools && (t || special)) continue;
                    check_one(&shapes[i], cbx_semiring_get((cbx_algebra)g),
                              bools ? CBX_BOOL
                              : t   ? CBX_F64
                                    : CBX_F32,
                              special != 0);
                }
}

/* An infinite filter meets the padding of max-plus: -inf + inf is NaN there, inf inside. */
TEST(padding_is_read)
{
    cbx_ctx *c = cbx_test_context();
    cbx_scope scope;
    cbx_err err = CBX_ERR_INIT;
    cbx_conv_options o = CBX_CONV_INIT;

    cbx_scope_open(c, &scope);
    o.padding = CBX_CONV_SAME;
    cbx_array *x = cbx_ones(c, 2, (const size_t[]){ 40, 1 }, CBX_F32),
              *w = cbx_full(c, 3, (const size_t[]){ 3, 1, 1 }, CBX_F32, cbx_float((double)INFINITY));
    const float *y = cbx_array_data(cbx_semiring_conv(c, x, w, cbx_semiring_find("tropical_max_plus"), &o));
    CHECK(isnan(y[0]) && isnan(y[39]), "at the edges");
    CHECK(isinf(y[1]) && isinf(y[20]) && isinf(y[38]), "inside");
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "scope");
    cbx_ctx_free(c);
}

/* --- derivatives --- */

static void fill(cbx_array *a, uint64_t stream)
{
    cbx_rng rng = cbx_rng_make(11, stream);
    double *x = cbx_array_data_mut(a);
    for (size_t i = 0; i < cbx_array_count(a); i++) x[i] = cbx_rng_normal(&rng);
}

/* The largest difference, in units of the largest element. */
static double apart(const double *x, const double *y, size_t n)
{
    double worst = 0, max = 1e-300;

    for (size_t i = 0; i < n; i++) {
        worst = worse(worst, fabs(x[i] - y[i]));
        max = fmax(max, fabs(y[i]));
    }
    return worst / max;
}

static double dot(const cbx_array *x, const cbx_array *y)
{
    const double *a = cbx_array_data(x), *b = cbx_array_data(y);
    double sum = 0;
    for (size_t i = 0; i < cbx_array_count(x); i++) sum += a[i] * b[i];
    return sum;
}

/* Backward as the product of the windows, whose cotangents are added up where they came from;
 * forward as backward, by <h, J v>. */
static void check_derivatives(cbx_ctx *c, const problem *p)
{
    const shape *s = p->s;
    const size_t m = rows_of(s), k = terms_of(s), run = s->channels;
    const ptrdiff_t flat[2] = { (ptrdiff_t)k, (ptrdiff_t)s->outs }, like_c[2] = { (ptrdiff_t)m, (ptrdiff_t)s->outs };
    const cbx_conv_options o = options_of(s);
    const cbx_array *y = convolve(c, p);
    cbx_array *h = cbx_copy(c, cbx_zeros_like(c, y)), *tx = cbx_copy(c, cbx_zeros_like(c, p->x)),
              *tw = cbx_copy(c, cbx_zeros_like(c, p->w)), *a = array_of(c, CBX_F64, m, NULL, 0, k, 0), *d[2],
              *wanted[2];
    double *dx = calloc(cbx_array_count(p->x), sizeof *dx);
    cbx_err err = CBX_ERR_INIT;

    fill(h, 1), fill(tx, 2), fill(tw, 3);
    lay_out(p, cbx_array_data_mut(a));
    cbx_semiring_conv_vjp(c, p->x, p->w, y, h, p->semiring, &o, d);
    cbx_semiring_matmul_vjp(c, a, cbx_reshape(c, p->w, 2, flat), cbx_reshape(c, y, 2, like_c),
                            cbx_reshape(c, h, 2, like_c), p->semiring, wanted);
    cbx_array *ty = cbx_semiring_conv_jvp(c, p->x, p->w, y, tx, tw, p->semiring, &o);
    CHECK_OK(cbx_ctx_pending(c, &err), &err, s->why);
    const double *da = cbx_array_data(wanted[0]);
    for (size_t r = 0; r < m; r++)
        for (size_t t = 0; t < k / run; t++)
            for (size_t i = 0; place(s, r, t) >= 0 && i < run; i++)
                dx[(size_t)place(s, r, t) * run + i] += da[(r * (k / run) + t) * run + i];
    CHECK_LE(apart(cbx_array_data(d[0]), dx, cbx_array_count(p->x)), 1e-12, s->why);
    CHECK_LE(apart(cbx_array_data(d[1]), cbx_array_data(wanted[1]), k * s->outs), 1e-12, s->why);
    const double forward = dot(h, ty), backward = dot(d[0], tx) + dot(d[1], tw),
                 scale = sqrt(dot(h, h) * dot(ty, ty)) + 1e-300;
    CHECK_LE(fabs(forward - backward) / scale, 1e-12, s->why);
    dx[0] += 1e-9 * (1 + fabs(dx[0]));
    CHECK_GT(apart(cbx_array_data(d[0]), dx, 1), 1e-12, "an error shows");
    free(dx);
}

TEST(derivatives_of_products)
{
    for (size_t i = 0; i < CBX_LEN(shapes); i++)
        for (int g = 0; g < CBX_ALGEBRA_BOOLEAN; g++) {
            cbx_ctx *c = NULL;
            cbx_scope scope;
            cbx_err err = CBX_ERR_INIT;
            CHECK_OK(cbx_ctx_create(NULL, &c, &err), &err, "context");
            cbx_scope_open(c, &scope);
            const problem p = draw(c, &shapes[i], cbx_semiring_get((cbx_algebra)g), CBX_F64, false);
            check_derivatives(c, &p);
            CHECK_OK(cbx_scope_close(&scope, &err), &err, "scope");
            cbx_ctx_free(c);
        }
}

/* --- algebras given by functions --- */

static void max_start(void *user, size_t n, void *state)
{
    (void)user;
    for (size_t i = 0; i < n; i++) ((double *)state)[i] = -(double)INFINITY;
}
static void max_step(void *user, size_t n, const void *a, const void *b, void *state)
{
    (void)user;
    const double x = *(const double *)a;
    for (size_t i = 0; i < n; i++) {
        const double t = x + ((const double *)b)[i], s = ((double *)state)[i];
        ((double *)state)[i] = t > s || isnan(t) ? t : s;
    }
}
static void max_finish(void *user, size_t n, const void *state, void *c)
{
    (void)user;
    memcpy(c, state, n * sizeof(double));
}

/* A fold that depends on the order of its terms and counts them: h = 31 h + a b + 1. */
static void hash_start(void *user, size_t n, void *state)
{
    (void)user;
    memset(state, 0, n * sizeof(uint64_t) * 2);
}
static void hash_step(void *user, size_t n, const void *a, const void *b, void *state)
{
    (void)user;
    for (size_t i = 0; i < n; i++) {
        uint64_t *s = (uint64_t *)state + 2 * i;
        s[0] = 31 * s[0] + *(const uint64_t *)a * ((const uint64_t *)b)[i] + 1;
        s[1]++;
    }
}
static void hash_finish(void *user, size_t n, const void *state, void *c)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        ((uint64_t *)c)[i] = ((const uint64_t *)state)[2 * i] ^ ((const uint64_t *)state)[2 * i + 1];
}

static const cbx_semiring_functions max_functions = { CBX_F64, sizeof(double), NULL, max_start, max_step, max_finish };
static const cbx_semiring_functions hash_functions = { CBX_U64,   2 * sizeof(uint64_t), NULL, hash_start,
                                                       hash_step, hash_finish };

/* Max-plus by functions is max-plus: leaving a term out is what its -inf does. */
TEST(functions_as_built_in)
{
    for (size_t i = 0; i < CBX_LEN(shapes); i++) {
        cbx_ctx *c = NULL;
        cbx_scope scope;
        cbx_err err = CBX_ERR_INIT;
        cbx_semiring mine;
        CHECK_OK(cbx_ctx_create(NULL, &c, &err), &err, "context");
        CHECK_OK(cbx_semiring_define("my max", &max_functions, &mine, &err), &err, "algebra");
        cbx_scope_open(c, &scope);
        problem p = draw(c, &shapes[i], cbx_semiring_find("tropical_max_plus"), CBX_F64, false);
        const void *wanted = cbx_array_data(convolve(c, &p));
        p.semiring = &mine;
        if (!same(CBX_F64, cbx_array_data(convolve(c, &p)), wanted, rows_of(p.s) * p.s->outs))
            fail_msg("%s: by functions it is not max-plus", p.s->why);
        CHECK_OK(cbx_scope_close(&scope, &err), &err, "scope");
        cbx_ctx_free(c);
    }
}

static uint64_t hash_of(const problem *p, size_t row, size_t out)
{
    const shape *s = p->s;
    const uint64_t *x = cbx_array_data(p->x), *w = cbx_array_data(p->w);
    uint64_t h = 0, count = 0;

    for (size_t t = 0; t < terms_of(s) / s->channels; t++) {
        const long long at = place(s, row, t);
        for (size_t i = 0; at >= 0 && i < s->channels; i++, count++)
            h = 31 * h + x[(size_t)at * s->channels + i] * w[(t * s->channels + i) * s->outs + out] + 1;
    }
    return h ^ count;
}

TEST(functions_fold_in_order)
{
    for (size_t i = 0; i < CBX_LEN(shapes); i++) {
        cbx_ctx *c = NULL;
        cbx_scope scope;
        cbx_err err = CBX_ERR_INIT;
        cbx_semiring mine;
        problem p = { .s = &shapes[i], .semiring = &mine, .t = CBX_U64 };
        CHECK_OK(cbx_ctx_create(NULL, &c, &err), &err, "context");
        CHECK_OK(cbx_semiring_define("hash", &hash_functions, &mine, &err), &err, "algebra");
        cbx_scope_open(c, &scope);
        p.x = array_of(c, p.t, p.s->images, p.s->length, axes_of(p.s), p.s->channels, 0);
        p.w = array_of(c, p.t, 0, p.s->taps, axes_of(p.s), p.s->channels, p.s->outs);
        for (int k = 0; k < 2; k++) {
            uint64_t *v = cbx_array_data_mut(k ? p.w : p.x);
            for (size_t e = 0; e < cbx_array_count(k ? p.w : p.x); e++)
                v[e] = 0x9e3779b97f4a7c15u * (e + 1 + (size_t)k);
        }
        const uint64_t *y = cbx_array_data(convolve(c, &p));
        for (size_t e = 0; e < rows_of(p.s) * p.s->outs; e++)
            if (y[e] != hash_of(&p, e / p.s->outs, e % p.s->outs)) fail_msg("%s: element %zu", p.s->why, e);
        CHECK(y[0] != hash_of(&p, 0, 0) + 1, "another answer shows");
        CHECK_OK(cbx_scope_close(&scope, &err), &err, "scope");
        cbx_ctx_free(c);
    }
}

/* --- memory --- */

static cbx_status both_ways(cbx_ctx *c, void *user)
{
    cbx_semiring mine;
    cbx_scope scope;
    cbx_err err = CBX_ERR_INIT;

    (void)user;
    CHECK_OK(cbx_semiring_define("my max", &max_functions, &mine, &err), &err, "algebra");
    cbx_scope_open(c, &scope);
    cbx_array *x = cbx_ones(c, 3, (const size_t[]){ 9, 8, 3 }, CBX_F64),
              *w = cbx_ones(c, 4, (const size_t[]){ 3, 3, 3, 5 }, CBX_F64);
    cbx_semiring_conv(c, x, w, cbx_semiring_find("real"), NULL);
    cbx_semiring_conv(c, x, w, cbx_semiring_find("log"), NULL);
    cbx_semiring_conv(c, x, w, &mine, NULL);
    for (int i = 0; i < 2; i++) { /* three channels by blocks of windows, nine in place */
        cbx_array *z = i ? cbx_ones(c, 3, (const size_t[]){ 9, 8, 9 }, CBX_F64) : x,
                  *f = i ? cbx_ones(c, 4, (const size_t[]){ 3, 3, 9, 5 }, CBX_F64) : w, *d[2];
        const cbx_array *y = cbx_semiring_conv(c, z, f, cbx_semiring_find("real"), NULL);
        cbx_semiring_conv_vjp(c, z, f, y, y, cbx_semiring_find("real"), NULL, d);
        cbx_semiring_conv_jvp(c, z, f, y, z, f, cbx_semiring_find("real"), NULL);
    }
    return cbx_scope_close(&scope, NULL);
}

TEST(memory_may_end)
{
    CHECK_GT(cbx_test_fail_each(both_ways, NULL, "cbx_semiring_conv"), 3, "allocations that failed");
}

TESTS(.seconds = 600)
