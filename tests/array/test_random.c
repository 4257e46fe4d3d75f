/*
 * Random arrays: the published known answers of the hash, JAX's draws, and that draws have the
 * distribution they claim.
 *
 * Keys are fixed, so that every statistic is a number that does not change; limits are those that a
 * right generator passes 999 times in 1000.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/random.h"
#include "calibrax/array/transform.h"
#include "calibrax/base/pool.h"
#include "fail_alloc.h"

enum {
    SPLIT,
    FOLD_IN,
    BITS,
    UNIFORM,
    NORMAL,
    NORMAL_PARTS,
    EXPONENTIAL,
    GUMBEL,
    GAMMA,
    GAMMA_GRAD,
    RANDINT,
    BERNOULLI,
    PERMUTATION,
    CATEGORICAL,
    CHOICE
};
#include "random_answers.h"

#define DRAWS 100000

static void read_as(cbx_ctx *c, const cbx_array *x, cbx_dtype t, void *to)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_array *wide = cbx_astype(c, x, t);
    CHECK_OK(cbx_ctx_pending(c, &err), &err, "draw");
    CHECK_OK(cbx_array_read(wide, to, cbx_array_bytes(wide), &err), &err, "read");
}

/* ---- the hash ---- */

/* Threefry with whatever rotations and rounds. */
static uint64_t other_hash(uint64_t key, uint64_t counter, const unsigned rotations[8], unsigned rounds)
{
    const uint32_t k0 = (uint32_t)(key >> 32), k1 = (uint32_t)key, ks[3] = { k0, k1, k0 ^ k1 ^ 0x1BD11BDAu };
    uint32_t a = (uint32_t)(counter >> 32) + k0, b = (uint32_t)counter + k1;

    for (unsigned i = 0; i < rounds; i++) {
        unsigned by = rotations[i % 8];
        a += b;
        b = (by ? b << by | b >> (32 - by) : b) ^ a;
        if (i % 4 == 3) {
            a += ks[(i / 4 + 1) % 3];
            b += ks[(i / 4 + 2) % 3] + i / 4 + 1;
        }
    }
    return (uint64_t)a << 32 | b;
}

static const unsigned right[8] = { 13, 15, 26, 6, 17, 29, 16, 24 }, one_wrong[8] = { 13, 15, 26, 6, 17, 29, 16, 23 },
                      no_rotation[8] = { 0 };

TEST(hash_gives_the_known_answers)
{
    /* Random123, tests/kat_vectors: threefry2x32; counter, key, result of 20 and of 13 rounds */
    static const struct {
        uint64_t counter, key, wanted, thirteen;
    } cases[] = {
        { 0, 0, 0x6b20015999ba4efe, 0x9d1c5ec68bd50731 },
        { UINT64_MAX, UINT64_MAX, 0x1cb996fcbb002be7, 0xfd36d0482d17272c },
        { 0x243f6a8885a308d3, 0x13198a2e03707344, 0xc4923a9c483df7a0, 0xba3e4725f27d669e },
    };
    cbx_ctx *c = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_array *in[2];
        uint64_t got;
        in[0] = cbx_asarray(c, &(cbx_array_desc){ CBX_U64, 0, { 0 } }, &cases[i].key);
        in[1] = cbx_asarray(c, &(cbx_array_desc){ CBX_U64, 0, { 0 } }, &cases[i].counter);
        read_as(c, cbx_apply(c, CBX_PRIM_THREEFRY, 2, in, NULL), CBX_U64, &got);
        CHECK(got == cases[i].wanted, "Random123");
        CHECK(other_hash(cases[i].key, cases[i].counter, right, 20) == got, "as written again above");
        CHECK(other_hash(cases[i].key, cases[i].counter, right, 13) == cases[i].thirteen, "and with 13 rounds");
        CHECK(other_hash(cases[i].key, cases[i].counter, one_wrong, 20) != got, "one wrong rotation is seen");
        CHECK(other_hash(cases[i].key, cases[i].counter, right, 16) != got, "so are missing rounds");
    }
    cbx_ctx_free(c);
}

/* ---- JAX ---- */

static cbx_array *key_of(cbx_ctx *c, const answer *a)
{
    return cbx_asarray(c, &(cbx_array_desc){ CBX_U32, 1, { 2 } }, a->key);
}

static cbx_array *logits_of(cbx_ctx *c)
{
    cbx_array *x = cbx_log(c, cbx_arange(c, 1, 13, 1, CBX_F64));
    return cbx_reshape(c, x, 2, (const ptrdiff_t[]){ 3, 4 });
}

static cbx_status gamma_sum(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const answer *a = user;

    (void)nin, (void)nout;
    out[0] = cbx_sum(c, cbx_random_gamma(c, key_of(c, a), in[0], a->ndim, a->shape, a->dtype), NULL);
    return CBX_OK;
}

static cbx_array *gamma_gradient(cbx_ctx *c, const answer *a)
{
    cbx_array *alpha = cbx_full(c, a->ndim, a->shape, a->dtype, cbx_float(a->numbers[0])), *gradient = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *f = NULL;

    CHECK_OK(cbx_grad(c, CBX_FN(gamma_sum, (void *)(uintptr_t)a, 1, 1), 0, NULL, &f, &err), &err, "grad");
    CHECK_OK(cbx_fn_call(c, f, 1, &alpha, 1, &gradient), &err, "the gradient");
    cbx_fn_free(f);
    return gradient;
}

static cbx_array *draw(cbx_ctx *c, const answer *a)
{
    const double *v = a->numbers;
    cbx_array *key = key_of(c, a), *p = NULL, *r;

    switch (a->fn) {
    case SPLIT: return cbx_random_split(c, key, a->shape[0]);
    case FOLD_IN: return cbx_random_fold_in(c, key, (uint32_t)v[0]);
    case BITS: return cbx_random_bits(c, key, a->ndim, a->shape, a->dtype);
    case UNIFORM: return cbx_random_uniform(c, key, a->ndim, a->shape, a->dtype, v[0], v[1]);
    case NORMAL: return cbx_random_normal(c, key, a->ndim, a->shape, a->dtype);
    case NORMAL_PARTS:
        r = cbx_random_normal(c, key, a->ndim, a->shape, a->dtype == CBX_F32 ? CBX_C64 : CBX_C128);
        return cbx_stack(c, 2, (const cbx_array *const[]){ cbx_real(c, r), cbx_imag(c, r) }, -1);
    case EXPONENTIAL: return cbx_random_exponential(c, key, a->ndim, a->shape, a->dtype);
    case GUMBEL: return cbx_random_gumbel(c, key, a->ndim, a->shape, a->dtype);
    case GAMMA:
        p = cbx_full(c, 0, NULL, a->dtype, cbx_float(v[0]));
        return cbx_random_gamma(c, key, p, a->ndim, a->shape, a->dtype);
    case GAMMA_GRAD: return gamma_gradient(c, a);
    case RANDINT: return cbx_random_randint(c, key, a->ndim, a->shape, (int64_t)v[0], (int64_t)v[1], a->dtype);
    case BERNOULLI:
        return cbx_random_bernoulli(c, key, cbx_full(c, 0, NULL, CBX_F64, cbx_float(v[0])), a->ndim, a->shape);
    case PERMUTATION: return cbx_slice(c, cbx_random_permutation(c, key, a->shape[0]), 0, 0, 40, 1);
    case CATEGORICAL: return cbx_random_categorical(c, key, logits_of(c), (int)v[0], a->ndim, a->shape);
    default:
        if (v[1] != 0) p = cbx_divide_scalar(c, cbx_arange(c, 1, 8, 1, CBX_F64), 28.0);
        r = cbx_arange_int(c, 0, 7, 1, CBX_I64);
        return cbx_random_choice(c, key, r, 0, a->ndim, a->shape, v[0] != 0, p);
    }
}

/* Distance in units of the last place of the wanted number; XLA takes numbers below the normal
 * ones for 0. */
static double ulps(cbx_dtype t, double got, double want)
{
    double size = fabs(want), unit = t == CBX_F32 ? (double)(nextafterf((float)size, INFINITY) - (float)size)
                                                  : nextafter(size, INFINITY) - size;
    if (got == want || (isnan(got) && isnan(want)) || (t == CBX_F32 && fabs(got) < 0x1p-126 && want == 0)) return 0;
    return fabs(got - want) / unit;
}

TEST(draws_are_those_of_jax)
{
    /* float32, float64 [units]; 0: the same bits.  test_erfinv.c and test_mpfr.c show that the
     * distance is XLA's error, and of Gumbel numbers that one unit of the inner logarithm is 1/|x|
     * units of a number x near 0. */
    static const double limit[][2] = {
        [UNIFORM] = { 0, 0 },
        [NORMAL] = { 64, 48 },
        [NORMAL_PARTS] = { 64, 48 },
        [EXPONENTIAL] = { 4, 256 },
        [GUMBEL] = { 8, 16 },
        [GAMMA] = { 64, 256 },
        [GAMMA_GRAD] = { 64, 4096 } /* XLA is up to 4e-13 off */,
    };
    uint64_t *got = calloc(4096, sizeof *got);

    for (size_t i = 0; i < CBX_LEN(answers); i++) {
        const answer *a = &answers[i];
        cbx_ctx *c = cbx_test_context();
        cbx_array *r = draw(c, a);
        bool real = a->dtype >= CBX_F32;
        char why[120];
        cbx_err err = CBX_ERR_INIT;
        snprintf(why, sizeof why, "answer %zu, function %d", i, a->fn);
        CHECK_OK(cbx_ctx_pending(c, &err), &err, why);
        CHECK_INT(cbx_array_count(r), a->n, why);
        if (a->fn < PERMUTATION && a->fn != NORMAL_PARTS) CHECK_INT(cbx_array_dtype(r), a->dtype, why);
        read_as(c, r, real ? CBX_F64 : CBX_I64, got);
        for (size_t k = 0; k < a->n; k++) {
            double v;
            memcpy(&v, &got[k], sizeof v);
            if (real ? !(ulps(a->dtype, v, a->f[k]) <= limit[a->fn][a->dtype == CBX_F64]) : got[k] != a->u[k])
                fail_msg("%s: element %zu is %.17g (%#llx), JAX's %.17g (%#llx)", why, k, v, (unsigned long long)got[k],
                         real ? a->f[k] : 0.0, real ? 0ULL : (unsigned long long)a->u[k]);
        }
        cbx_ctx_free(c);
    }
    CHECK_GT(ulps(CBX_F64, 1.0 + 1e-13, 1.0), 256, "a distance is seen");
    free(got);
}

/* The derivative of the quantile in the shape, by mpmath 1.3.0 with 40 digits from the integral of
 * the density's derivative. */
TEST(gamma_numbers_move_with_their_shape)
{
    static const struct {
        double alpha, x, derivative;
    } rows[] = {
        { 0.016191168669277785, 0.08019470070336224, 10.980187150497304 },
        { 0.11451437086286428, 1.4173032528044234, 6.8076832962743215 },
        { 1, 1.0737735374655817, 1.2164974891760219 }, /* near its median: the integrand falls off late */
        { 2.5, 4.744620073981052, 1.447262734220107 },
        { 7481.20526432662, 7474.761963218436, 0.9995915125106887 },
        { 2, 0, 0 },
        { 0, 0, 0 },
        { INFINITY, 1, NAN },
        { 1, NAN, NAN },
        { -1, 1, NAN },
    };
    cbx_ctx *c = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(rows); i++) {
        const cbx_array *in[] = { cbx_full(c, 0, NULL, CBX_F64, cbx_float(rows[i].alpha)),
                                  cbx_full(c, 0, NULL, CBX_F64, cbx_float(rows[i].x)) };
        double got = -1;
        read_as(c, cbx_apply(c, CBX_PRIM_RANDOM_GAMMA_GRAD, 2, in, NULL), CBX_F64, &got);
        CHECK(isnan(rows[i].derivative) ? isnan(got)
                                        : fabs(got - rows[i].derivative) <= 1e-14 * fabs(rows[i].derivative),
              "a derivative");
    }
    CHECK_STATUS(cbx_ctx_pending(c, NULL), CBX_OK, "nothing failed");
    cbx_ctx_free(c);
}

/* Of g above: derivatives in the shape, in the number, and twice in the shape and once in the
 * number; by mpmath with 90 digits, differences of the incomplete gamma function. */
static const struct {
    double alpha, x, of[4], in_number, twice;
} moves[] = {
    { 0.016191168669277785,
      0.08019470070336224,
      { 10.980187150497304, -671.16411720068649, 82895.321565318179, -15359333.329534225 },
      85.892758725528705,
      645381.48430963735 },
    { 0.11451437086286428,
      1.4173032528044234,
      { 6.8076832962743216, -51.027649569167957, 882.56030686244503, -23101.873800469551 },
      1.576475851340124,
      172.33103594744751 },
    { 1,
      1.0737735374655817,
      { 1.2164974891760218, -0.78999203685270724, 1.3628652136412383, -3.849599908179489 },
      0.56810270939228855,
      0.43018278328484093 },
    { 2.5,
      4.744620073981052,
      { 1.4472627342201071, -0.29623911580484778, 0.17411172874641719, -0.17621394578619674 },
      0.13585945076875221,
      0.0077363743078523821 },
    { 40,
      33.25,
      { 0.91423029793173408, -0.011876145656460036, 0.00040593549204426842, -2.3291910786172389e-5 },
      0.014172630598920703,
      3.3349833125368567e-6 },
    { 0.3,
      0.001,
      { 0.022481140914591294, -0.071169719022512626, 0.47048984008342754, -4.6969401945793712 },
      19.164510837910501,
      396.88027935601582 },
    { 6,
      0.7,
      { 0.29055316174387716, -0.033552808292044458, 0.0091515733069130544, -0.0040030028871169033 },
      0.27796604737243023,
      0.0068586268468323368 },
};

static double moved(cbx_ctx *c, double alpha, double x, int mode)
{
    const cbx_array *in[] = { cbx_full(c, 0, NULL, CBX_F64, cbx_float(alpha)),
                              cbx_full(c, 0, NULL, CBX_F64, cbx_float(x)) };
    const cbx_attrs attrs = { .mode = mode };
    double v = NAN;

    read_as(c, cbx_apply(c, CBX_PRIM_RANDOM_GAMMA_GRAD, 2, in, &attrs), CBX_F64, &v);
    return v;
}

static double nth_derivative(cbx_ctx *c, const answer *a, int n)
{
    cbx_array *alpha = cbx_full(c, 0, NULL, CBX_F64, cbx_float(a->numbers[0])), *r = NULL;
    cbx_fn *f[12] = { NULL };
    cbx_err err = CBX_ERR_INIT;
    double v = NAN;

    for (int i = 0; i < n; i++)
        CHECK_OK(cbx_grad(c, i ? f[i - 1] : CBX_FN(gamma_sum, (void *)(uintptr_t)a, 1, 1), 0, NULL, &f[i], &err), &err,
                 "grad");
    cbx_fn_call(c, f[n - 1], 1, &alpha, 1, &r);
    if (!cbx_ctx_pending(c, NULL)) read_as(c, r, CBX_F64, &v);
    while (n-- > 0) cbx_fn_free(f[n]);
    return v;
}

TEST(gamma_numbers_have_further_derivatives)
{
    cbx_ctx *c = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;

    for (size_t i = 0; i < CBX_LEN(moves); i++) {
        for (int n = 0; n < 4; n++)
            CHECK_LE(fabs(moved(c, moves[i].alpha, moves[i].x, 2 * n) / moves[i].of[n] - 1), 1e-12, "in the shape");
        CHECK_LE(fabs(moved(c, moves[i].alpha, moves[i].x, 1) / moves[i].in_number - 1), 1e-12, "in the number");
        CHECK_LE(fabs(moved(c, moves[i].alpha, moves[i].x, 5) / moves[i].twice - 1), 1e-11, "twice, and in the number");
    }
    for (double alpha = 0.4; alpha < 50; alpha *= 3) {
        const answer a = { .dtype = CBX_F64, .key = { 0, 20 }, .numbers = { alpha } };
        double x, numbers[3];
        read_as(c,
                cbx_random_gamma(c, key_of(c, &a), cbx_full(c, 0, NULL, CBX_F64, cbx_float(alpha)), 0, NULL, CBX_F64),
                CBX_F64, &x);
        for (int mode = 0; mode < 3; mode++) numbers[mode] = moved(c, alpha, x, mode);
        CHECK_LE(fabs(nth_derivative(c, &a, 2) - (numbers[2] + numbers[0] * numbers[1])), 1e-13, "along the path");
        CHECK(isfinite(nth_derivative(c, &a, 4)), "a fourth one");
    }
    const answer one = { .dtype = CBX_F64, .numbers = { 1 } };
    cbx_scope_open(c, &scope);
    nth_derivative(c, &one, 10);
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EUNSUPPORTED, "a tenth one");
    CHECK(strstr(err.message, "'random_gamma' has no derivatives in its shape beyond number 9"), err.message);
    CHECK(cbx_ctx_pending(c, NULL) == CBX_OK, "nothing else failed");
    cbx_ctx_free(c);
}

/* ---- distributions ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov: sqrt(n) sup |F_n - F|; above 1.95 once in 1000. */
#define KS_LIMIT 1.95
static double ks(double *v, size_t n, double (*cdf)(double))
{
    double worst = 0;

    qsort(v, n, sizeof *v, compare_doubles);
    for (size_t i = 0; i < n; i++) {
        double f = cdf(v[i]);
        worst = fmax(worst, fmax(fabs(f - (double)i / (double)n), fabs((double)(i + 1) / (double)n - f)));
    }
    return worst * sqrt((double)n);
}

/* Pearson's sum (counted - expected)^2 / expected, over its limit of 1 in 1000 (Wilson and
 * Hilferty's approximation). */
static double chi_square(const double *counted, const double *expected, size_t n)
{
    double sum = 0, k = (double)(n - 1), w = 2.0 / (9.0 * k);

    for (size_t i = 0; i < n; i++) sum += (counted[i] - expected[i]) * (counted[i] - expected[i]) / expected[i];
    return sum / (k * pow(1.0 - w + 3.0902 * sqrt(w), 3.0));
}

static double cdf_uniform(double x) { return x; }
static double cdf_normal(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }
static double cdf_exponential(double x) { return -expm1(-x); }
static double cdf_gumbel(double x) { return exp(-exp(-x)); }
static double cdf_half(double x) { return erf(sqrt(x)); }                             /* gamma of 1/2 */
static double cdf_three(double x) { return 1.0 - exp(-x) * (1.0 + x + 0.5 * x * x); } /* gamma of 3 */

static cbx_array *gamma_of(cbx_ctx *c, const cbx_array *key, double alpha, size_t n, cbx_dtype t)
{
    return cbx_random_gamma(c, key, cbx_full(c, 0, NULL, t, cbx_float(alpha)), 1, &n, t);
}

static cbx_array *real_draw(cbx_ctx *c, int which, const cbx_array *key, size_t n, cbx_dtype t)
{
    switch (which) {
    case 0: return cbx_random_uniform(c, key, 1, &n, t, 0, 1);
    case 1: return cbx_random_normal(c, key, 1, &n, t);
    case 2: return cbx_random_exponential(c, key, 1, &n, t);
    case 3: return cbx_random_gumbel(c, key, 1, &n, t);
    case 4: return gamma_of(c, key, 0.5, n, t);
    case 5: return gamma_of(c, key, 1.0, n, t);
    default: return gamma_of(c, key, 3.0, n, t);
    }
}

TEST(real_draws_have_their_distribution)
{
    static const struct {
        double (*cdf)(double);
        double mean, variance, fourth; /* central moments */
        const char *why;
    } cases[] = {
        { cdf_uniform, 0.5, 1.0 / 12.0, 1.0 / 80.0, "uniform" },
        { cdf_normal, 0, 1, 3, "normal" },
        { cdf_exponential, 1, 1, 9, "exponential" },
        { cdf_gumbel, 0.57721566490153286, M_PI * M_PI / 6, 14.6114, "gumbel" },
        { cdf_half, 0.5, 0.5, 3.75, "gamma of 1/2" },
        { cdf_exponential, 1, 1, 9, "gamma of 1" },
        { cdf_three, 3, 3, 45, "gamma of 3" },
    };
    double *v = malloc(DRAWS * sizeof *v), fault;

    for (size_t i = 0; i < 2 * CBX_LEN(cases); i++) {
        cbx_ctx *c = cbx_test_context();
        cbx_array *x = real_draw(c, (int)(i / 2), cbx_random_key(c, 100 + i), DRAWS, i % 2 ? CBX_F64 : CBX_F32);
        double mean = 0, square = 0, m = cases[i / 2].mean, var = cases[i / 2].variance, n = DRAWS;
        read_as(c, x, CBX_F64, v);
        for (size_t k = 0; k < DRAWS; k++) {
            mean += (v[k] - m) / n;
            square += (v[k] - m) * (v[k] - m) / n;
        }
        CHECK_LE(fabs(mean), 4.0 * sqrt(var / n), cases[i / 2].why);
        CHECK_LE(fabs(square - var), 4.0 * sqrt((cases[i / 2].fourth - var * var) / n), cases[i / 2].why);
        CHECK_LE(ks(v, DRAWS, cases[i / 2].cdf), KS_LIMIT, cases[i / 2].why);
        for (size_t k = 0; k < DRAWS; k++) v[k] = v[k] * 1.03 + 0.002;
        fault = ks(v, DRAWS, cases[i / 2].cdf);
        CHECK_GT(fault, KS_LIMIT, "three per cent are seen");
        cbx_ctx_free(c);
    }
    free(v);
}

TEST(hash_bits_are_even)
{
    enum { bins = 256, n = 65536 };
    static const struct {
        const unsigned *rotations;
        unsigned rounds;
        bool good;
        const char *why;
    } cases[] = {
        { right, 20, true, "the hash" },
        { right, 4, false, "too few rounds" },
        { no_rotation, 20, false, "rotations of 0" },
    };
    double *expected = malloc(bins * sizeof *expected);
    unsigned char *got = malloc(n);
    cbx_ctx *c = cbx_test_context();

    for (int i = 0; i < bins; i++) expected[i] = n / bins;
    for (size_t k = 0; k < CBX_LEN(cases); k++) {
        double worst = 0;
        for (int shift = 0; shift < 64; shift += 8) { /* each byte of the words of counters 0, 1, 2, ... */
            double counted[bins] = { 0 };
            for (uint64_t i = 0; i < n; i++)
                counted[other_hash(42, i, cases[k].rotations, cases[k].rounds) >> shift & 255]++;
            worst = fmax(worst, chi_square(counted, expected, bins));
        }
        CHECK(cases[k].good ? worst < 1.2 : worst > 1.2, cases[k].why); /* the worst of eight */
    }
    read_as(c, cbx_random_bits(c, cbx_random_key(c, 42), 1, (const size_t[]){ n }, CBX_U8), CBX_U8, got);
    double counted[bins] = { 0 };
    for (size_t i = 0; i < n; i++) counted[got[i]]++;
    CHECK_LE(chi_square(counted, expected, bins), 1.0, "bytes");
    cbx_ctx_free(c);
    free(expected);
    free(got);
}

/* Draws of integers below n, with their probabilities. */
static void check_shares(cbx_ctx *c, const cbx_array *x, const double *p, size_t n, const char *why)
{
    double counted[32] = { 0 }, expected[32], total = (double)cbx_array_count(x);
    int64_t *v = malloc(cbx_array_count(x) * sizeof *v);

    read_as(c, x, CBX_I64, v);
    for (size_t i = 0; i < cbx_array_count(x); i++) {
        CHECK(v[i] >= 0 && v[i] < (int64_t)n, why);
        counted[v[i]]++;
    }
    for (size_t i = 0; i < n; i++) expected[i] = p[i] * total;
    CHECK_LE(chi_square(counted, expected, n), 1.0, why);
    counted[0] += 0.03 * total;
    CHECK_GT(chi_square(counted, expected, n), 1.0, "a share too large is seen");
    free(v);
}

TEST(whole_draws_have_their_shares)
{
    static const double even[] = { 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1 },
                        rising[] = { 0.1, 0.2, 0.3, 0.4 }, coin[] = { 0.7, 0.3 };
    const size_t n = DRAWS;
    cbx_ctx *c = cbx_test_context();
    cbx_array *keys = cbx_random_split(c, cbx_random_key(c, 5), 8), *p, *r;

#define KEY(i) cbx_index(c, keys, 0, i)
    check_shares(c, cbx_random_randint(c, KEY(0), 1, &n, 0, 10, CBX_I64), even, 10, "randint of int64");
    check_shares(c, cbx_random_randint(c, KEY(1), 1, &n, 0, 10, CBX_I8), even, 10, "randint of int8");
    check_shares(c, cbx_random_bernoulli(c, KEY(2), cbx_full(c, 0, NULL, CBX_F32, cbx_float(0.3)), 1, &n), coin, 2,
                 "bernoulli");
    p = cbx_divide_scalar(c, cbx_arange(c, 1, 5, 1, CBX_F64), 10);
    check_shares(c, cbx_random_categorical(c, KEY(3), cbx_log(c, p), 0, 1, &n), rising, 4, "categorical");
    r = cbx_arange_int(c, 0, 4, 1, CBX_I64);
    check_shares(c, cbx_random_choice(c, KEY(4), r, 0, 1, &n, true, cbx_multiply_scalar(c, p, 3)), rising, 4,
                 "choice, probabilities that do not sum to 1");
    check_shares(c, cbx_random_choice(c, KEY(5), cbx_arange_int(c, 0, 10, 1, CBX_I64), 0, 1, &n, true, NULL), even, 10,
                 "choice of equals");
    cbx_ctx_free(c);
}

/* All 24 orders of 4, and of 3000 numbers each once. */
TEST(permutations_are_even)
{
    double counted[24] = { 0 }, expected[24];
    enum { tries = 12000 };
    cbx_ctx *c = cbx_test_context();
    cbx_scope scope;
    int64_t v[4], *all = malloc(3000 * sizeof *all);

    for (uint64_t i = 0; i < tries; i++) {
        int rank = 0;
        cbx_scope_open(c, &scope);
        read_as(c, cbx_random_permutation(c, cbx_random_key(c, i), 4), CBX_I64, v);
        for (int a = 0, left = 6; a < 3; left /= 3 - a, a++) {
            int below = 0;
            for (int b = a + 1; b < 4; b++) below += v[b] < v[a];
            rank += below * left;
        }
        counted[rank]++;
        cbx_scope_close(&scope, NULL);
    }
    for (int i = 0; i < 24; i++) expected[i] = tries / 24.0;
    CHECK_LE(chi_square(counted, expected, 24), 1.0, "all orders");
    cbx_array *x = cbx_reshape(c, cbx_arange_int(c, 0, 6000, 1, CBX_I32), 2, (const ptrdiff_t[]){ 2, 3000 }), *y;
    y = cbx_random_permute(c, cbx_random_key(c, 1), x, 1);
    read_as(c, cbx_sort(c, cbx_index(c, y, 0, 1), 0, false), CBX_I64, all);
    for (int64_t i = 0; i < 3000; i++) CHECK(all[i] == 3000 + i, "each once");
    read_as(c, cbx_max(c, cbx_abs(c, cbx_subtract(c, cbx_index(c, y, 0, 1), cbx_index(c, y, 0, 0))), NULL), CBX_I64, v);
    CHECK_INT(v[0], 3000, "rows stay together");
    cbx_ctx_free(c);
    free(all);
}

static double correlation(cbx_ctx *c, const cbx_array *x, const cbx_array *y, double *capacity)
{
    cbx_array *r = cbx_mean(c, cbx_multiply(c, x, y), NULL);
    read_as(c, r, CBX_F64, capacity);
    return *capacity * sqrt((double)cbx_array_count(x));
}

TEST(streams_are_independent)
{
    const size_t n = 20000;
    cbx_ctx *c = cbx_test_context();
    cbx_array *key = cbx_random_key(c, 9), *keys = cbx_random_split(c, key, 6), *x[12];
    double capacity;

    for (int i = 0; i < 12; i++)
        x[i] = cbx_random_normal(c, i < 6 ? cbx_index(c, keys, 0, i) : cbx_random_fold_in(c, key, (uint32_t)(1000 * i)),
                                 1, &n, CBX_F64);
    for (int i = 0; i < 12; i++)
        for (int k = 0; k < i; k++) CHECK_LE(fabs(correlation(c, x[i], x[k], &capacity)), 4.2, "66 pairs, 1 in 1000");
    for (ptrdiff_t lag = 1; lag < 5; lag++)
        CHECK_LE(fabs(correlation(c, x[0], cbx_roll(c, x[0], lag, 0), &capacity)), 3.7,
                 "a stream with itself, shifted");
    CHECK_GT(correlation(c, x[0], cbx_add(c, x[1], cbx_multiply_scalar(c, x[0], 0.1)), &capacity), 4.2,
             "a tenth is seen");
    cbx_ctx_free(c);
}

static void same_numbers(cbx_ctx *c, const cbx_array *a, const cbx_array *b, const char *why)
{
    bool same;
    read_as(c, cbx_all(c, cbx_equal(c, cbx_flatten(c, a), cbx_flatten(c, b)), NULL), CBX_BOOL, &same);
    CHECK(same, why);
}

/* Element i depends on key and i alone: not on the length, the shape, or its neighbours. */
TEST(elements_stand_alone)
{
    cbx_ctx *c = cbx_test_context();
    cbx_array *key = cbx_random_key(c, 77), *step = cbx_full(c, 0, NULL, CBX_I32, cbx_int(-3)), *alpha;

    for (int which = 0; which < 7; which++)
        same_numbers(c, cbx_slice(c, real_draw(c, which, key, 1000, CBX_F64), 0, 0, 10, 1),
                     real_draw(c, which, key, 10, CBX_F64), "a prefix");
    same_numbers(c, cbx_random_normal(c, key, 2, (const size_t[]){ 5, 2 }, CBX_F64), real_draw(c, 1, key, 10, CBX_F64),
                 "row-major");
    alpha = cbx_asarray(c, &(cbx_array_desc){ CBX_F64, 1, { 3 } }, (const double[]){ 50, 3, 0.5 });
    same_numbers(c, cbx_index(c, cbx_random_gamma(c, key, alpha, 1, (const size_t[]){ 3 }, CBX_F64), 0, 1),
                 cbx_index(c, gamma_of(c, key, 3.0, 2, CBX_F64), 0, 1), "gamma numbers draw from keys of their own");
    same_numbers(c, cbx_random_fold_in_array(c, key, step), cbx_random_fold_in(c, key, (uint32_t)-3), "as an array");
    CHECK_STATUS(cbx_ctx_pending(c, NULL), CBX_OK, "nothing failed");
    cbx_ctx_free(c);
}

TEST(ends_of_ranges)
{
    cbx_ctx *c = cbx_test_context();
    cbx_array *key = cbx_random_key(c, 3);
    const size_t n = 20000;
    double low, high, v[4];

    cbx_array *u = cbx_random_uniform(c, key, 1, &n, CBX_F32, -2, 5);
    read_as(c, cbx_min(c, u, NULL), CBX_F64, &low);
    read_as(c, cbx_max(c, u, NULL), CBX_F64, &high);
    CHECK(low >= -2 && low < -1.99 && high <= 5 && high > 4.99, "the range is filled and kept");
    u = cbx_random_randint(c, key, 1, &n, INT64_MIN, INT64_MAX, CBX_I64);
    read_as(c, cbx_astype(c, cbx_min(c, u, NULL), CBX_F64), CBX_F64, &low);
    CHECK_LE(low, -0x1.ff0p62, "the whole of int64");
    u = cbx_random_gamma(
        c, key, cbx_asarray(c, &(cbx_array_desc){ CBX_F64, 1, { 4 } }, (const double[]){ 0, -1, NAN, INFINITY }), 1,
        (const size_t[]){ 4 }, CBX_F64);
    read_as(c, u, CBX_F64, v);
    CHECK(v[0] == 0 && isnan(v[1]) && isnan(v[2]) && isinf(v[3]), "gamma where there is no distribution");
    u = cbx_erfinv(c, cbx_asarray(c, &(cbx_array_desc){ CBX_F64, 1, { 4 } }, (const double[]){ -1, 1, 1.5, -0.0 }));
    read_as(c, u, CBX_F64, v);
    CHECK(v[0] == -INFINITY && v[1] == INFINITY && isnan(v[2]) && v[3] == 0 && signbit(v[3]), "erfinv at its ends");
    cbx_ctx_free(c);
}

TEST(keys_may_be_abstract)
{
    cbx_ctx *c = cbx_test_context();
    cbx_array *key = NULL, *r;
    cbx_err err = CBX_ERR_INIT;
    const size_t shape[2] = { 3, 4 };

    CHECK_OK(cbx_array_create_abstract(c, &(cbx_array_desc){ CBX_U32, 1, { 2 } }, &key, &err), &err, "abstract");
    r = cbx_random_split(c, cbx_random_fold_in(c, key, 1), 2);
    for (size_t i = 0; i < 7; i++) {
        cbx_array *x = real_draw(c, (int)i, cbx_index(c, r, 0, 1), 6, CBX_F32);
        CHECK(!cbx_array_is_failed(x) && cbx_array_is_abstract(x) && cbx_array_count(x) == 6, "real draws");
    }
    CHECK(cbx_array_is_abstract(cbx_random_categorical(c, key, logits_of(c), 1, 2, shape)), "categorical");
    CHECK(cbx_array_is_abstract(cbx_random_permute(c, key, logits_of(c), 0)), "permute");
    CHECK(cbx_array_is_abstract(cbx_random_randint(c, key, 2, shape, 0, 9, CBX_U8)), "randint");
    r = cbx_random_choice(c, key, logits_of(c), 1, 2, (const size_t[]){ 2, 2 }, false, NULL);
    CHECK(cbx_array_desc_equal(cbx_array_get_desc(r), &(cbx_array_desc){ CBX_F64, 3, { 3, 2, 2 } }), "choice");
    CHECK_OK(cbx_ctx_pending(c, &err), &err, "nothing failed");
    cbx_array_free(key);
    cbx_ctx_free(c);
}

static cbx_array *refused(cbx_ctx *c, int which)
{
    cbx_array *key = cbx_random_key(c, 0), *x = logits_of(c), *p = cbx_ones(c, 1, (const size_t[]){ 4 }, CBX_F64);
    const size_t two[2] = { 2, 2 };

    switch (which) {
    case 0: return cbx_random_uniform(c, x, 2, two, CBX_F64, 0, 1);
    case 1: return cbx_random_split(c, cbx_random_split(c, key, 3), 2);
    case 2: return cbx_random_uniform(c, key, 2, two, CBX_I32, 0, 1);
    case 3: return cbx_random_uniform(c, key, 2, two, CBX_F64, 1, 0);
    case 4: return cbx_random_uniform(c, key, 2, two, CBX_F64, 0, INFINITY);
    case 5: return cbx_random_bits(c, key, 2, two, CBX_I32);
    case 6: return cbx_random_randint(c, key, 2, two, 3, 3, CBX_I32);
    case 7: return cbx_random_randint(c, key, 2, two, 0, 257, CBX_U8);
    case 8: return cbx_random_randint(c, key, 2, two, 0, 5, CBX_F32);
    case 9: return cbx_random_normal(c, key, 17, two, CBX_F64);
    case 10: return cbx_random_choice(c, key, x, 1, 1, (const size_t[]){ 5 }, false, NULL);
    case 11: return cbx_random_choice(c, key, x, 0, 2, two, true, p);
    case 12: return cbx_random_categorical(c, key, x, 2, 0, NULL);
    case 13: return cbx_random_fold_in_array(c, key, x);
    case 14: return cbx_random_gamma(c, key, p, 1, (const size_t[]){ 3 }, CBX_F64);
    case 15: return cbx_random_normal(c, NULL, 0, NULL, CBX_F64);
    case 16: return cbx_random_permutation(c, x, 1);
    default: return cbx_random_normal(c, key, 2, (const size_t[]){ SIZE_MAX / 8, 16 }, CBX_F32);
    }
}

TEST(bad_input_gets_one_sentence)
{
    static const struct {
        cbx_status status;
        const char *words;
    } cases[] = {
        { CBX_EDTYPE, "the key of 'random_uniform' is float64 (3, 4)" },
        { CBX_ESHAPE, "the key of 'random_split' is uint32 (3, 2)" },
        { CBX_EDTYPE, "float32 or float64, not int32" },
        { CBX_EDOM, "from 1 to 0" },
        { CBX_EDOM, "from 0 to inf" },
        { CBX_EDTYPE, "not int32" },
        { CBX_EDOM, "from 3 to 3" },
        { CBX_EDOM, "'random_randint' of uint8 from 0 to 257" },
        { CBX_EDTYPE, "integers, not float32" },
        { CBX_EINVAL, "rank 17" },
        { CBX_EINVAL, "draw 5 of 4" },
        { CBX_ESHAPE, "3 places" },
        { CBX_EINVAL, "axis 2 of 'random_categorical'" },
        { CBX_EDTYPE, "integer, not float64" },
        { CBX_ESHAPE, "does not broadcast" },
        { CBX_EINVAL, "NULL" },
        { CBX_EDTYPE, "the key of 'random_permutation'" },
        { CBX_EOVERFLOW, "more bytes" },
    };
    cbx_ctx *c = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_scope scope;
        cbx_err err = CBX_ERR_INIT;
        cbx_scope_open(c, &scope);
        CHECK(cbx_array_is_failed(refused(c, (int)i)), cases[i].words);
        CHECK_STATUS(cbx_scope_close(&scope, &err), cases[i].status, cases[i].words);
        if (!strstr(err.message, cases[i].words)) fail_msg("\"%s\" lacks \"%s\"", err.message, cases[i].words);
    }
    cbx_ctx_free(c);
}

static cbx_status draw_all(cbx_ctx *c, void *user)
{
    cbx_scope scope;
    cbx_err err = CBX_ERR_INIT;
    const size_t n = 5;
    (void)user;

    cbx_scope_open(c, &scope);
    cbx_array *keys = cbx_random_split(c, cbx_random_fold_in(c, cbx_random_key(c, 1), 2), 4),
              *key = cbx_index(c, keys, 0, 1);
    for (int i = 0; i < 7; i++) real_draw(c, i, key, n, i % 2 ? CBX_F32 : CBX_F64);
    cbx_random_normal(c, key, 1, &n, CBX_C64);
    cbx_random_randint(c, key, 1, &n, 0, 7, CBX_I16);
    cbx_random_bernoulli(c, key, cbx_full(c, 0, NULL, CBX_F64, cbx_float(0.5)), 1, &n);
    cbx_random_categorical(c, key, logits_of(c), 0, 1, &n);
    cbx_random_permute(c, key, logits_of(c), 1);
    cbx_random_choice(c, key, logits_of(c), 1, 1, &n, true, cbx_ones(c, 1, (const size_t[]){ 4 }, CBX_F64));
    return cbx_scope_close(&scope, &err);
}

TEST(every_allocation_may_fail)
{
    CHECK_GT(cbx_test_fail_each(draw_all, NULL, "draws"), 50, "allocations were made to fail");
}

/* Bytes an element at the highest point. */
TEST(scratch_is_what_is_written)
{
    const size_t n = 1 << 20;

    for (int i = 0; i < 9; i++) {
        cbx_ctx *c = cbx_test_context();
        cbx_array *key = cbx_random_key(c, 1);
        cbx_pool_stats stats;
        if (i < 7) real_draw(c, i, key, n, CBX_F64);
        if (i == 7) cbx_random_randint(c, key, 1, &n, 0, 1000, CBX_I64);
        if (i == 8) cbx_random_bernoulli(c, key, cbx_full(c, 0, NULL, CBX_F32, cbx_float(0.5)), 1, &n);
        cbx_pool_get_stats(cbx_ctx_pool(c), &stats);
        CHECK_LE((double)stats.bytes_in_use_peak / (double)n, i == 7 ? 100.5 : 56.5, "result and scratch");
        CHECK_LE((double)stats.bytes_in_use / (double)n, 8.5, "steps are not kept");
        cbx_ctx_free(c);
    }
}

TESTS(.seconds = 600)
