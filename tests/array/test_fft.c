/*
 * Fourier transforms: NumPy's answers, a transform by definition in long double, identities, and
 * what is refused.
 */
#include "check.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/fft.h"
#include "calibrax/array/kernels/fft.h"
#include "calibrax/base/pool.h"
#include "calibrax/base/rng.h"
#include "cases.h"
#include "fail_alloc.h"

/* ---- NumPy's answers ---- */

#define ALONG(name)                                                                                                    \
    static void do_##name(cbx_ctx *c, const array_case *k, cbx_array **out)                                            \
    {                                                                                                                  \
        out[0] = cbx_##name(c, k->in[0], (size_t)k->attr[0], (int)k->attr[1], (cbx_fft_norm)k->attr[2]);               \
    }
ALONG(fft)
ALONG(ifft)
ALONG(rfft)
ALONG(irfft)
ALONG(hfft)
ALONG(ihfft)

/* norm, number of lengths, lengths, axes */
static const size_t *lengths_of(const array_case *k, size_t s[CASE_ATTRS])
{
    int n = (int)k->attr[1];
    for (int i = 0; i < n; i++) s[i] = (size_t)k->attr[2 + i];
    return n ? s : NULL;
}

#define SEVERAL(name)                                                                                                  \
    static void do_##name(cbx_ctx *c, const array_case *k, cbx_array **out)                                            \
    {                                                                                                                  \
        size_t s[CASE_ATTRS];                                                                                          \
        const cbx_axes *axes = case_axes(k, 2 + (int)k->attr[1], false, &(cbx_axes){ 0 });                             \
        out[0] = cbx_##name(c, k->in[0], lengths_of(k, s), axes, (cbx_fft_norm)k->attr[0]);                            \
    }
SEVERAL(fftn)
SEVERAL(ifftn)
SEVERAL(rfftn)
SEVERAL(irfftn)

static void do_fftshift(cbx_ctx *c, const array_case *k, cbx_array **out)
{
    out[0] = cbx_fftshift(c, k->in[0], case_axes(k, 0, false, &(cbx_axes){ 0 }));
}
static void do_ifftshift(cbx_ctx *c, const array_case *k, cbx_array **out)
{
    out[0] = cbx_ifftshift(c, k->in[0], case_axes(k, 0, false, &(cbx_axes){ 0 }));
}
static void do_fftfreq(cbx_ctx *c, const array_case *k, cbx_array **out)
{
    out[0] = cbx_fftfreq(c, (size_t)k->attr[0], k->attr[1]);
}
static void do_rfftfreq(cbx_ctx *c, const array_case *k, cbx_array **out)
{
    out[0] = cbx_rfftfreq(c, (size_t)k->attr[0], k->attr[1]);
}

/* clang-format off */
#define ROW(name) { #name, do_##name }
static const case_row rows[] = {
    ROW(fft), ROW(ifft), ROW(rfft), ROW(irfft), ROW(hfft), ROW(ihfft), ROW(fftn), ROW(ifftn), ROW(rfftn), ROW(irfftn),
    ROW(fftshift), ROW(ifftshift), ROW(fftfreq), ROW(rfftfreq),
};
/* clang-format on */

TEST(functions_agree_with_numpy) { cases_agree("fft.bin", rows, CBX_LEN(rows), 1000); }

TEST(the_comparison_can_fail) { cases_can_fail("fft.bin", rows, CBX_LEN(rows)); }

TEST(every_allocation_may_fail) { cases_survive("fft.bin", rows, CBX_LEN(rows)); }

/* ---- by definition, in long double ---- */

/* sum x[j] exp(-+ 2 pi i j k / n), j k reduced modulo n. */
static void slow_transform(size_t n, const double _Complex *x, long double _Complex *out, bool back)
{
    const long double pi = 3.14159265358979323846264338327950288L;
    long double _Complex *root = malloc(n * sizeof *root);

    for (size_t k = 0; k < n; k++) {
        long double angle = 2 * pi * (long double)k / (long double)n;
        root[k] = cosl(angle) + (back ? 1 : -1) * sinl(angle) * (long double _Complex)I;
    }
    for (size_t k = 0; k < n; k++) {
        out[k] = 0;
        for (size_t j = 0; j < n; j++) out[k] += (long double _Complex)x[j] * root[j * k % n];
    }
    free(root);
}

/*
 * Root mean square error over eps log2(n) root mean square of the result, for numbers of both
 * signs.  For radix 2 theory gives about 0.6; a chirp is three transforms of more than twice the
 * length.  Source: Schatzman, SIAM J. Sci. Comput. 17 (1996) 1150-1166.
 */
static double error_ratio(size_t n, const double _Complex *got, const long double _Complex *want)
{
    long double error = 0, size = 0;

    for (size_t k = 0; k < n; k++) {
        long double d = cabsl((long double _Complex)got[k] - want[k]), s = cabsl(want[k]);
        error += d * d;
        size += s * s;
    }
    return (double)(sqrtl(error / size) / (0x1p-53L * log2l((long double)n + 1)));
}

static cbx_array *noise(cbx_ctx *c, size_t n)
{
    cbx_rng rng = cbx_rng_make(n, 1);
    cbx_array *a = NULL;
    double *x;

    CHECK_OK(cbx_array_create(c, &(cbx_array_desc){ CBX_C128, 1, { n } }, &a, NULL), (&(cbx_err){ 0 }), "noise");
    x = cbx_array_data_mut(a);
    for (size_t i = 0; i < 2 * n; i++) x[i] = 2 * cbx_rng_uniform(&rng) - 1;
    return cbx_scope_hold(c, a);
}

#define ERROR_LIMIT 1.0

TEST(transforms_are_accurate)
{
    static const size_t lengths[] = { 2,   3,   4,   5,   7,   8,   16,  31,  61,   64,   67,   97,   100,  127,
                                      128, 210, 243, 256, 343, 360, 509, 512, 1000, 1009, 1024, 1331, 2048, 2310 };
    cbx_ctx *c = cbx_test_context();
    double worst = 0;

    for (size_t i = 0; i < CBX_LEN(lengths); i++)
        for (int back = 0; back < 2; back++) {
            size_t n = lengths[i];
            char why[64];
            cbx_scope scope;
            cbx_scope_open(c, &scope);
            cbx_array *x = noise(c, n), *y = back ? cbx_ifft(c, x, 0, 0, CBX_FFT_FORWARD) : cbx_fft(c, x, 0, 0, 0);
            long double _Complex *want = malloc(n * sizeof *want);
            slow_transform(n, cbx_array_data(x), want, back);
            double ratio = error_ratio(n, cbx_array_data(y), want);
            snprintf(why, sizeof why, "error of %zu numbers", n);
            CHECK_LE(ratio, ERROR_LIMIT, why);
            if (ratio > worst) worst = ratio;
            if (n == 64) {
                want[3] *= 1 + 1e-13L;
                CHECK_GT(error_ratio(n, cbx_array_data(y), want), ERROR_LIMIT, "one number off by 1e-13 is seen");
            }
            free(want);
            cbx_scope_close(&scope, NULL);
        }
    print_message("# largest error %.2f eps log2 n\n", worst);
    cbx_ctx_free(c);
}

/* float32 is computed in float64 and rounded once: half a unit in the last place, and never the
 * error of the sums. */
TEST(single_precision_is_rounded_once)
{
    cbx_ctx *c = cbx_test_context();
    cbx_array *x = cbx_astype(c, noise(c, 1000), CBX_C64), *y = cbx_fft(c, x, 0, 0, 0);
    cbx_array *same = cbx_astype(c, cbx_fft(c, cbx_astype(c, x, CBX_C128), 0, 0, 0), CBX_C64);
    bool equal = false;

    CHECK_OK(cbx_array_read(cbx_all(c, cbx_equal(c, y, same), NULL), &equal, 1, NULL), (&(cbx_err){ 0 }), "compare");
    CHECK(equal, "to the bit");
    CHECK_INT(cbx_array_dtype(cbx_rfft(c, cbx_real(c, x), 0, 0, 0)), CBX_C64, "complex64 of float32");
    CHECK_INT(cbx_array_dtype(cbx_irfft(c, x, 0, 0, 0)), CBX_F32, "float32 of complex64");
    cbx_ctx_free(c);
}

/* ---- identities ---- */

static double largest(cbx_ctx *c, const cbx_array *x)
{
    double v = 0;
    CHECK_OK(cbx_array_read(cbx_max(c, cbx_abs(c, x), NULL), &v, sizeof v, NULL), (&(cbx_err){ 0 }), "largest");
    return v;
}

static double distance(cbx_ctx *c, const cbx_array *a, const cbx_array *b) { return largest(c, cbx_subtract(c, a, b)); }

static double energy(cbx_ctx *c, const cbx_array *x)
{
    double v = 0;
    cbx_array *sum = cbx_sum(c, cbx_square(c, cbx_abs(c, x)), NULL);
    CHECK_OK(cbx_array_read(sum, &v, sizeof v, NULL), (&(cbx_err){ 0 }), "energy");
    return v;
}

TEST(identities)
{
    static const size_t lengths[] = { 1, 2, 9, 100, 127, 134, 4096, 10007, 44100 };
    cbx_ctx *c = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(lengths); i++) {
        size_t n = lengths[i];
        cbx_scope scope;
        cbx_err err = CBX_ERR_INIT;
        cbx_scope_open(c, &scope);
        cbx_array *x = noise(c, n), *y = cbx_fft(c, x, 0, 0, CBX_FFT_ORTHO), *r = cbx_real(c, x), *z;
        double tol = 1e-15 * (log2((double)n) + 2), many = tol * 5 * sqrt((double)n);
        CHECK_LE(fabs(energy(c, y) / energy(c, x) - 1), tol, "Parseval");
        CHECK_LE(distance(c, cbx_ifft(c, y, 0, 0, CBX_FFT_ORTHO), x), 4 * tol, "there and back");
        CHECK_LE(distance(c, cbx_irfft(c, cbx_rfft(c, r, 0, 0, 0), n, 0, 0), r), 4 * tol, "real numbers, too");
        CHECK_LE(distance(c, cbx_hfft(c, cbx_ihfft(c, r, 0, 0, 0), n, 0, 0), r), 4 * tol, "and Hermitian ones");
        z = cbx_fft(c, cbx_add(c, x, cbx_multiply_scalar(c, r, 3)), 0, 0, 0);
        z = cbx_subtract(c, z, cbx_multiply_scalar(c, cbx_fft(c, r, 0, 0, 0), 3));
        CHECK_LE(distance(c, z, cbx_fft(c, x, 0, 0, 0)), 4 * many, "linear");
        z = cbx_slice(c, cbx_fft(c, r, 0, 0, 0), 0, 0, (ptrdiff_t)(n / 2 + 1), 1);
        CHECK_LE(distance(c, cbx_rfft(c, r, 0, 0, 0), z), many, "the first half of the complex one");
        CHECK_LE(distance(c, cbx_ifftshift(c, cbx_fftshift(c, x, NULL), NULL), x), 0, "shifted there and back");
        CHECK_OK(cbx_scope_close(&scope, &err), &err, "close");
    }
    cbx_ctx_free(c);
}

/* One NaN makes every frequency of its lane NaN, and of no other. */
TEST(what_is_not_finite)
{
    static const size_t lengths[] = { 8, 15, 67, 121 };
    cbx_ctx *c = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(lengths); i++)
        for (int infinite = 0; infinite < 2; infinite++) {
            size_t n = lengths[i];
            bool finite[2 * 121];
            cbx_array *x = noise(c, 2 * n), *at = cbx_full(c, 0, NULL, CBX_I64, cbx_int((int64_t)n + 3));
            cbx_array *bad = cbx_full(c, 0, NULL, CBX_F64, cbx_float(infinite ? (double)INFINITY : (double)NAN));
            x = cbx_reshape(c, cbx_scatter(c, x, at, bad, 0, CBX_SCATTER_SET), 2,
                            (const ptrdiff_t[]){ 2, (ptrdiff_t)n });
            CHECK_OK(cbx_array_read(cbx_isfinite(c, cbx_fft(c, x, 0, 1, 0)), finite, 2 * n, NULL), (&(cbx_err){ 0 }),
                     "which are finite");
            for (size_t k = 0; k < 2 * n; k++) CHECK(finite[k] == (k < n), k < n ? "first lane" : "second lane");
        }
    cbx_ctx_free(c);
}

/* ---- refusals, abstract operands, plans ---- */

TEST(what_is_refused)
{
    static const struct {
        cbx_status status;
        const char *words, *why;
    } cases[] = {
        { CBX_ESHAPE, "'fft' along an empty axis", "nothing has no frequencies" },
        { CBX_EDTYPE, "'rfft' takes real numbers, not complex128", "complex numbers" },
        { CBX_EINVAL, "axis 1 of 'fft' is outside -1..0", "no such axis" },
        { CBX_EINVAL, "'ifft': unknown norm 7", "no such norm" },
        { CBX_ESHAPE, "'irfft' of 1 frequencies needs a length", "one frequency" },
        { CBX_EINVAL, "axis 0 of 'fftn' is named twice", "an axis twice" },
        { CBX_EINVAL, "'rfftn' over no axes", "no axis is real" },
        { CBX_EINVAL, "'fftfreq' of no samples", "no samples" },
        { CBX_EINVAL, "operand 1 of 'fft' is NULL", "no operand" },
        { CBX_EINVAL, "a scalar has none", "a scalar" },
    };
    cbx_ctx *c = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_scope scope;
        cbx_err err = CBX_ERR_INIT;
        cbx_scope_open(c, &scope);
        cbx_array *x = noise(c, 4), *one = noise(c, 1), *r = NULL;
        switch (i) {
        case 0: r = cbx_fft(c, cbx_slice(c, x, 0, 0, 0, 1), 0, 0, 0); break;
        case 1: r = cbx_rfft(c, x, 0, 0, 0); break;
        case 2: r = cbx_fft(c, x, 0, 1, 0); break;
        case 3: r = cbx_ifft(c, x, 0, 0, (cbx_fft_norm)7); break;
        case 4: r = cbx_irfft(c, one, 0, 0, 0); break;
        case 5: r = cbx_fftn(c, x, NULL, &(const cbx_axes){ .n = 2, .axis = { 0, -1 } }, 0); break;
        case 6: r = cbx_rfftn(c, cbx_real(c, x), NULL, &(const cbx_axes){ 0 }, 0); break;
        case 7: r = cbx_fftfreq(c, 0, 1); break;
        case 8: r = cbx_fft(c, NULL, 0, 0, 0); break;
        case 9: r = cbx_fftn(c, cbx_index(c, cbx_fft(c, cbx_index(c, x, 0, 0), 0, 0, 0), 0, 0), NULL, NULL, 0); break;
        }
        CHECK(cbx_array_is_failed(r), cases[i].why);
        CHECK_STATUS(cbx_scope_close(&scope, &err), cases[i].status, cases[i].why);
        if (!strstr(err.message, cases[i].words))
            fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].why, err.message, cases[i].words);
    }
    cbx_ctx_free(c);
}

TEST(abstract_operands_give_abstract_results)
{
    cbx_ctx *c = cbx_test_context();
    cbx_array *x = NULL, *r;

    CHECK_OK(cbx_array_create_abstract(c, &(cbx_array_desc){ CBX_F32, 2, { 3, 8 } }, &x, NULL), (&(cbx_err){ 0 }), "x");
    r = cbx_rfftn(c, x, (const size_t[]){ 5, 7 }, NULL, CBX_FFT_ORTHO);
    CHECK(cbx_array_is_abstract(r) &&
              cbx_array_desc_equal(cbx_array_get_desc(r), &(cbx_array_desc){ CBX_C64, 2, { 5, 4 } }),
          "shape and dtype are known");
    r = cbx_fftshift(c, cbx_irfftn(c, r, NULL, NULL, 0), NULL);
    CHECK(cbx_array_is_abstract(r) &&
              cbx_array_desc_equal(cbx_array_get_desc(r), &(cbx_array_desc){ CBX_F32, 2, { 5, 6 } }),
          "and back");
    cbx_array_free(x);
    cbx_ctx_free(c);
}

/* A length that was seen before costs no allocation but the result's; the cache ends with the
 * context. */
TEST(plans_are_kept)
{
    cbx_test_alloc al;
    size_t before, after;

    cbx_test_alloc_init(&al);
    cbx_ctx *c = cbx_test_ctx(&al);
    cbx_array *x = noise(c, 67);
    cbx_fft(c, x, 0, 0, 0);
    before = al.calls;
    cbx_fft(c, x, 0, 0, 0);
    after = al.calls;
    CHECK_LE((double)(after - before), 2, "a handle");
    before = al.live_bytes;
    for (size_t n = 1; n < 40; n++) cbx_fft(c, x, n, 0, 0);
    CHECK_LE((double)al.live_bytes - (double)before, 60000, "eight plans at most, and 39 small results");
    cbx_ctx_free(c);
    cbx_test_alloc_check(&al, "plans end with the context");
}

/* Runs shorter than a vector, of whole vectors, and with an overlap at the end; nothing behind the
 * results is written. */
TEST(instruction_sets_agree)
{
    enum { MOST = 11 * 5 * 7, GUARD = 8 };
    static const size_t radices[] = { 2, 3, 4, 5, 7, 11 }, counts[] = { 1, 2, 3, 5 }, runs[] = { 1, 2, 3, 4, 7 };
    static double x[2 * MOST], twiddles[2 * MOST], want[2 * MOST + GUARD], got[2 * MOST + GUARD];
    cbx_rng rng = cbx_rng_make(7, 0);

    for (size_t i = 0; i < CBX_LEN(x); i++) {
        x[i] = 2 * cbx_rng_uniform(&rng) - 1;
        twiddles[i] = 2 * cbx_rng_uniform(&rng) - 1;
    }
    for (size_t i = 0; i < CBX_LEN(radices) * CBX_LEN(counts) * CBX_LEN(runs) * 2; i++) {
        const cbx__cx *w = (const cbx__cx *)(const void *)twiddles, *in = (const cbx__cx *)(const void *)x;
        const size_t r = radices[i / 2 % CBX_LEN(radices)], rest = i / 2 / CBX_LEN(radices);
        const size_t m = counts[rest % CBX_LEN(counts)], s = runs[rest / CBX_LEN(counts)];
        const cbx__fft_stage g = { r, m, s, w, w + r * m };
        char why[96];
        memset(want, 0, sizeof want);
        cbx__fft_stage_get(CBX_ISA_PLAIN)(&g, in, (cbx__cx *)(void *)want, i % 2);
        for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
            if (!cbx_isa_available((cbx_isa)isa)) continue;
            snprintf(why, sizeof why, "%s: radix %zu, %zu of %zu", cbx_isa_name((cbx_isa)isa), r, m, s);
            memset(got, 0, sizeof got);
            cbx__fft_stage_get((cbx_isa)isa)(&g, in, (cbx__cx *)(void *)got, i % 2);
            CHECK(memcmp(got, want, sizeof got) == 0, why);
            CHECK(got[2 * r * m * s] == 0, why);
        }
    }
}

TESTS()
