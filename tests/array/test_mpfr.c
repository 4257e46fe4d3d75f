/*
 * Elementary functions of the reference backend against MPFR at 200 bits.
 *
 * Bounds count whole units from the correctly rounded result, so half a unit comes on top.  For
 * functions of the C library (erf, lgamma, complex numbers, arguments outside of the domain of a
 * vector function) they are glibc's own: its manual, "Known Maximum Errors in Math Functions",
 * column x86_64 (sysdeps/x86_64/fpu/libm-test-ulps of 2.36); one unit where it has no entry.
 * Vector functions (kernels/elementary_float.h) are within one unit in all, or 1.1, 1.5, 2.5 where
 * the table below has it.  Points: specials, binade edges, neighbourhoods of zeros and branch
 * points, and random ones over all exponents and over where the function is busy.
 *
 * CBX_MPFR_POINTS sets the number of random points of each function (`make mpfr`).
 */
#include "check.h"

#include <float.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/ops.h"
#include "calibrax/base/rng.h"

#define BITS         200
#define QUICK_POINTS 1500
#define EDGES_STEP   7 /* every seventh binade */

typedef cbx_array *(*unary)(cbx_ctx *ctx, const cbx_array *x);
typedef cbx_array *(*binary)(cbx_ctx *ctx, const cbx_array *x, const cbx_array *y);
typedef int (*exact1)(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t mode);
typedef int (*exact2)(mpfr_ptr out, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t mode);

/* MPFR's value is not taken where it would need as many bits as the argument has exponents. */
static int exact_lgamma(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t mode)
{
    int sign;
    return mpfr_lgamma(out, &sign, x, mode);
}

/* floor modulo with the divisor's sign */
static int exact_remainder(mpfr_ptr out, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t mode)
{
    mpfr_fmod(out, x, y, mode);
    if (mpfr_zero_p(out)) return mpfr_setsign(out, out, mpfr_signbit(y), mode);
    if (mpfr_number_p(out) && mpfr_number_p(y) && (mpfr_sgn(out) < 0) != (mpfr_sgn(y) < 0))
        return mpfr_add(out, out, y, mode);
    if (mpfr_inf_p(y) && mpfr_number_p(out) && (mpfr_sgn(out) < 0) != (mpfr_sgn(y) < 0))
        return mpfr_set(out, y, mode), 0;
    return 0;
}

static int exact_logaddexp(mpfr_ptr out, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t mode)
{
    mpfr_t a, b;

    mpfr_inits2(2 * BITS, a, b, (mpfr_ptr)0);
    mpfr_max(a, x, y, mode);
    mpfr_min(b, x, y, mode);
    if (mpfr_nan_p(x) || mpfr_nan_p(y)) {
        mpfr_set_nan(out);
    } else if (mpfr_inf_p(a)) {
        mpfr_set(out, a, mode);
    } else {
        mpfr_sub(b, b, a, mode);
        mpfr_exp(b, b, mode);
        mpfr_log1p(b, b, mode);
        mpfr_add(out, a, b, mode);
    }
    mpfr_clears(a, b, (mpfr_ptr)0);
    return 0;
}

/* name, units of the last place for float64 and float32 as in the table, where the function
 * is busy */
static const struct {
    const char *name;
    unary fn;
    exact1 exact;
    double units[2], busy;
} one[] = {
    { "sqrt", cbx_sqrt, mpfr_sqrt, { 0, 0 }, 1e6 },       { "cbrt", cbx_cbrt, mpfr_cbrt, { 0.5, 0.5 }, 1e6 },
    { "exp", cbx_exp, mpfr_exp, { 0.3, 0.3 }, 745 },      { "exp2", cbx_exp2, mpfr_exp2, { 0.5, 0.5 }, 1075 },
    { "expm1", cbx_expm1, mpfr_expm1, { 0.5, 0.5 }, 40 }, { "log", cbx_log, mpfr_log, { 0.5, 0.5 }, 10 },
    { "log2", cbx_log2, mpfr_log2, { 0.5, 0.5 }, 10 },    { "log10", cbx_log10, mpfr_log10, { 0.5, 1 }, 10 },
    { "log1p", cbx_log1p, mpfr_log1p, { 0.5, 0.5 }, 4 },  { "sin", cbx_sin, mpfr_sin, { 0.5, 0.5 }, 100 },
    { "cos", cbx_cos, mpfr_cos, { 0.5, 0.5 }, 100 },      { "tan", cbx_tan, mpfr_tan, { 0.6, 0.6 }, 100 },
    { "asin", cbx_asin, mpfr_asin, { 0.5, 0.5 }, 1 },     { "acos", cbx_acos, mpfr_acos, { 0.6, 0.6 }, 1 },
    { "atan", cbx_atan, mpfr_atan, { 0.5, 0.5 }, 20 },    { "sinh", cbx_sinh, mpfr_sinh, { 0.5, 0.5 }, 20 },
    { "cosh", cbx_cosh, mpfr_cosh, { 0.5, 0.5 }, 20 },    { "tanh", cbx_tanh, mpfr_tanh, { 0.5, 0.5 }, 5 },
    { "asinh", cbx_asinh, mpfr_asinh, { 1, 1 }, 20 },     { "acosh", cbx_acosh, mpfr_acosh, { 2, 1 }, 20 },
    { "atanh", cbx_atanh, mpfr_atanh, { 2, 2 }, 1 },      { "erf", cbx_erf, mpfr_erf, { 1, 1 }, 6 },
    { "erfc", cbx_erfc, mpfr_erfc, { 0.5, 0.5 }, 27 },    { "lgamma", cbx_lgamma, exact_lgamma, { 4, 7 }, 20 },
};

/* wide: units of the larger operand, where a sum of a number and a small logarithm cancels */
static const struct {
    const char *name;
    binary fn;
    exact2 exact;
    double units[2], busy;
    bool wide;
} two[] = {
    { "pow", cbx_pow, mpfr_pow, { 0.5, 0.5 }, 30, false },
    { "atan2", cbx_atan2, mpfr_atan2, { 0.5, 0.5 }, 10, false },
    { "hypot", cbx_hypot, mpfr_hypot, { 0.5, 0.5 }, 1e3, false },
    { "logaddexp", cbx_logaddexp, exact_logaddexp, { 2, 2 }, 50, true },
    { "divide", cbx_divide, mpfr_div, { 0, 0 }, 1e3, false },
    { "remainder", cbx_remainder, exact_remainder, { 0, 0 }, 1e3, false },
};

/* ---- points ---- */

typedef struct points {
    double *x;
    size_t n, capacity;
    bool narrow; /* numbers of float32 */
} points;

static void put(points *p, double x)
{
    if (p->n == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 4096;
        p->x = realloc(p->x, p->capacity * sizeof *p->x);
    }
    CHECK(p->x != NULL, "memory for points");
    p->x[p->n++] = p->narrow ? (double)(float)x : x;
}

static double step_from(const points *p, double x, int steps)
{
    const double to = steps < 0 ? -INFINITY : INFINITY;

    for (int i = abs(steps); i > 0; i--) x = p->narrow ? (double)nextafterf((float)x, (float)to) : nextafter(x, to);
    return x;
}

static void put_around(points *p, double x)
{
    for (int s = -3; s <= 3; s++) {
        put(p, step_from(p, p->narrow ? (double)(float)x : x, s));
        put(p, -step_from(p, p->narrow ? (double)(float)x : x, s));
    }
}

static void put_specials(points *p)
{
    static const double around[] = { 0.5, 1, 1.5, 2, 3, 8, 0.25, 0x1p-27, 0x1p-54, 22, 88.7228391, 103.2789,
                                     709.782712893384, 745.1332191019411,
                                     /* zeros of lgamma, and of its derivative */
                                     -2.4570247382208005, -2.7476826467274126, -3.143580888349980, -3.955294284858598,
                                     -4.0393618397405225, -10.000000275, 1.4616321449683623, 0.84375, 1.25,
                                     2.857142925262451, 5.9, 26.54325845425098 };
    const double tiny = p->narrow ? 0x1p-149 : 0x1p-1074, min = p->narrow ? (double)FLT_MIN : DBL_MIN;
    const double max = p->narrow ? (double)FLT_MAX : DBL_MAX;

    put(p, 0.0);
    put(p, -0.0);
    put(p, INFINITY);
    put(p, -INFINITY);
    put(p, NAN);
    put(p, tiny);
    put(p, -tiny);
    put(p, max);
    put(p, -max);
    put_around(p, min);
    for (size_t i = 0; i < CBX_LEN(around); i++) put_around(p, around[i]);
    for (int k = 1; k <= 64; k++) put_around(p, k * M_PI_2);
    for (int k = 10; k < 1000; k += 97) put_around(p, ldexp(M_PI_2, k > (p->narrow ? 120 : 1000) ? 20 : k % 120));
    for (int k = 1; k <= 12; k++) put_around(p, k);
}

static double random_bits(const points *p, cbx_rng *rng)
{
    uint64_t bits = cbx_rng_u64(rng);
    uint32_t half = (uint32_t)bits;
    double d;
    float f;

    memcpy(&d, &bits, sizeof d);
    memcpy(&f, &half, sizeof f);
    return p->narrow ? (double)f : d;
}

static size_t wanted_points(void)
{
    const char *text = getenv("CBX_MPFR_POINTS");
    const long n = text ? strtol(text, NULL, 10) : 0;
    return n > 0 ? (size_t)n : QUICK_POINTS;
}

static void fill(points *p, bool narrow, double busy, uint64_t stream)
{
    cbx_rng rng = cbx_rng_make(20, stream);
    const int low = narrow ? -149 : -1074, high = narrow ? 127 : 1023;

    *p = (points){ .narrow = narrow };
    put_specials(p);
    for (int e = low + (int)(stream % EDGES_STEP); e <= high; e += EDGES_STEP) {
        put(p, ldexp(1.0, e));
        put(p, step_from(p, ldexp(1.0, e), -1));
        put(p, step_from(p, ldexp(1.0, e), 1));
        put(p, -step_from(p, ldexp(1.0, e), 1));
    }
    for (size_t i = 0; i < wanted_points(); i++) {
        put(p, random_bits(p, &rng));
        put(p, busy * (2 * cbx_rng_uniform(&rng) - 1));
        put(p, busy * (2 * cbx_rng_uniform(&rng) - 1));
    }
}

/* ---- errors ---- */

/* |got - exact| in units of the last place at the larger of |exact| and scale. */
static double error_units(double got, mpfr_srcptr exact, double scale, bool narrow)
{
    const int bits = narrow ? 24 : 53, lowest = narrow ? -149 : -1074;
    const double rounded = narrow ? (double)mpfr_get_flt(exact, MPFR_RNDN) : mpfr_get_d(exact, MPFR_RNDN);
    mpfr_t d;
    long exponent;
    double units;

    if (isnan(got) || isnan(rounded)) return isnan(got) && isnan(rounded) ? 0 : INFINITY;
    if (got == rounded && (isinf(got) || mpfr_zero_p(exact)))
        return got == 0 && signbit(got) != signbit(rounded) ? INFINITY : 0;
    if (isinf(got) || mpfr_inf_p(exact)) return INFINITY;
    exponent = mpfr_zero_p(exact) ? lowest : (long)mpfr_get_exp(exact) - bits;
    if (scale != 0 && isfinite(scale) && ilogb(scale) + 1 - bits > exponent) exponent = ilogb(scale) + 1 - bits;
    if (exponent < lowest) exponent = lowest;
    mpfr_init2(d, BITS);
    mpfr_sub_d(d, exact, got, MPFR_RNDN);
    mpfr_mul_2si(d, d, -exponent, MPFR_RNDN);
    units = fabs(mpfr_get_d(d, MPFR_RNDA));
    mpfr_clear(d);
    return units;
}

static cbx_array *line_of(cbx_ctx *ctx, const points *p)
{
    cbx_array *x = cbx_asarray(ctx, &(cbx_array_desc){ CBX_F64, 1, { p->n } }, p->x);
    return p->narrow ? cbx_astype(ctx, x, CBX_F32) : x;
}

static void read_back(cbx_ctx *ctx, const cbx_array *r, const points *p, double *out, const char *name)
{
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_ctx_pending(ctx, &err), &err, name);
    CHECK(cbx_array_dtype(r) == (p->narrow ? CBX_F32 : CBX_F64), name);
    r = cbx_astype(ctx, r, CBX_F64);
    CHECK_OK(cbx_array_read(r, out, p->n * sizeof *out, &err), &err, name);
}

typedef struct worst {
    double units, x, y, got;
} worst;

static void note(worst *w, double units, double x, double y, double got)
{
    if (units > w->units) *w = (worst){ units, x, y, got };
}

static worst worst_of_one(unary fn, exact1 exact, const points *p, const char *name)
{
    worst w = { 0, 0, 0, 0 };
    double *got = malloc(p->n * sizeof *got);
    cbx_ctx *ctx = cbx_test_context();
    mpfr_t x, e;

    read_back(ctx, fn(ctx, line_of(ctx, p)), p, got, name);
    mpfr_inits2(BITS, x, e, (mpfr_ptr)0);
    for (size_t i = 0; i < p->n; i++) {
        mpfr_set_d(x, p->x[i], MPFR_RNDN);
        exact(e, x, MPFR_RNDN);
        note(&w, error_units(got[i], e, 0, p->narrow), p->x[i], 0, got[i]);
    }
    mpfr_clears(x, e, (mpfr_ptr)0);
    cbx_ctx_free(ctx);
    free(got);
    return w;
}

static worst worst_of_two(binary fn, exact2 exact, const points *p, const points *q, bool wide, const char *name)
{
    worst w = { 0, 0, 0, 0 };
    double *got = malloc(p->n * sizeof *got);
    cbx_ctx *ctx = cbx_test_context();
    mpfr_t x, y, e;

    read_back(ctx, fn(ctx, line_of(ctx, p), line_of(ctx, q)), p, got, name);
    mpfr_inits2(BITS, x, y, e, (mpfr_ptr)0);
    for (size_t i = 0; i < p->n; i++) {
        mpfr_set_d(x, p->x[i], MPFR_RNDN);
        mpfr_set_d(y, q->x[i], MPFR_RNDN);
        exact(e, x, y, MPFR_RNDN);
        note(&w, error_units(got[i], e, wide ? fmax(fabs(p->x[i]), fabs(q->x[i])) : 0, p->narrow), p->x[i], q->x[i],
             got[i]);
    }
    mpfr_clears(x, y, e, (mpfr_ptr)0);
    cbx_ctx_free(ctx);
    free(got);
    return w;
}

static void judge(const char *name, bool narrow, const worst *w, double units)
{
    print_message("# %-10s %s  worst %6.3f ulp of %.1f allowed, at %a %a\n", name, narrow ? "float32" : "float64",
                  w->units, units + 0.5, w->x, w->y);
    if (!(w->units <= units + 0.5))
        fail_msg("%s of %s: %g ulp at %.17g, %.17g (%a, %a): got %.17g, allowed are %g", name,
                 narrow ? "float32" : "float64", w->units, w->x, w->y, w->x, w->y, w->got, units + 0.5);
}

TEST(functions_of_one_number)
{
    for (size_t i = 0; i < CBX_LEN(one); i++)
        for (int narrow = 0; narrow < 2; narrow++) {
            points p;
            worst w;
            fill(&p, narrow, one[i].busy, i);
            w = worst_of_one(one[i].fn, one[i].exact, &p, one[i].name);
            free(p.x);
            judge(one[i].name, narrow, &w, one[i].units[narrow]);
        }
    mpfr_free_cache();
}

/*
 * exp is within 0.6 units.  Where its result is not normal a second rounding, of the product with
 * 2^n, adds up to 0.3 of a unit.  erfc is within 1 unit; one rounding makes its results that are
 * not normal, and those of negative arguments.
 */
TEST(exp_and_erfc_in_their_ranges)
{
    static const struct {
        unary fn;
        exact1 exact;
        double low[2], high[2]; /* of float64 and of float32 */
        double units;
        const char *why;
    } ranges[] = {
        { cbx_exp, mpfr_exp, { -708.396, -87.336 }, { 709.782, 88.722 }, 0.1, "exp, normal results" },
        { cbx_exp, mpfr_exp, { -0.35, -0.35 }, { 0.35, 0.35 }, 0.1, "exp without reduction" },
        { cbx_exp, mpfr_exp, { -20, -20 }, { 20, 20 }, 0.1, "exp around 1" },
        { cbx_exp, mpfr_exp, { -745.14, -103.98 }, { -708.397, -87.337 }, 0.3, "exp, subnormal results" },
        { cbx_erfc, mpfr_erfc, { 0, 0 }, { 0.5, 0.5 }, 0.5, "erfc near 1" },
        { cbx_erfc, mpfr_erfc, { 0.5, 0.5 }, { 3, 3 }, 0.5, "erfc" },
        { cbx_erfc, mpfr_erfc, { 3, 3 }, { 26.543, 9.194 }, 0.5, "erfc, small results" },
        { cbx_erfc, mpfr_erfc, { 26.543, 9.194 }, { 27.23, 10.06 }, 0.4, "erfc, subnormal results" },
        { cbx_erfc, mpfr_erfc, { -6, -4 }, { 0, 0 }, 0.1, "erfc of negative arguments" },
    };
    for (size_t i = 0; i < CBX_LEN(ranges); i++)
        for (int narrow = 0; narrow < 2; narrow++) {
            points p = { .narrow = narrow };
            cbx_rng rng = cbx_rng_make(23, i);
            worst w;
            for (size_t k = 0; k < 10 * wanted_points(); k++)
                put(&p,
                    ranges[i].low[narrow] + (ranges[i].high[narrow] - ranges[i].low[narrow]) * cbx_rng_uniform(&rng));
            w = worst_of_one(ranges[i].fn, ranges[i].exact, &p, ranges[i].why);
            free(p.x);
            judge(ranges[i].why, narrow, &w, ranges[i].units);
        }
    mpfr_free_cache();
}

/* The second operand is the first one's points in another order. */
TEST(functions_of_two_numbers)
{
    for (size_t i = 0; i < CBX_LEN(two); i++)
        for (int narrow = 0; narrow < 2; narrow++) {
            points p, q;
            cbx_rng rng = cbx_rng_make(21, i);
            worst w;
            fill(&p, narrow, two[i].busy, 100 + i);
            fill(&q, narrow, two[i].busy, 100 + i);
            for (size_t k = q.n; k > 1; k--) {
                const size_t j = (size_t)cbx_rng_below(&rng, k);
                const double x = q.x[k - 1];
                q.x[k - 1] = q.x[j];
                q.x[j] = x;
            }
            w = worst_of_two(two[i].fn, two[i].exact, &p, &q, two[i].wide, two[i].name);
            free(p.x);
            free(q.x);
            judge(two[i].name, narrow, &w, two[i].units[narrow]);
        }
    mpfr_free_cache();
}

/* A sine that was computed in float32. */
static cbx_array *wrong_sin(cbx_ctx *ctx, const cbx_array *x)
{
    return cbx_astype(ctx, cbx_sin(ctx, cbx_astype(ctx, x, CBX_F32)), CBX_F64);
}

/* A logarithm that is right but for two units around 1. */
static cbx_array *wrong_log(cbx_ctx *ctx, const cbx_array *x)
{
    const cbx_array *r = cbx_log(ctx, x),
                    *near = cbx_less_scalar(ctx, cbx_abs(ctx, cbx_subtract_scalar(ctx, x, 1)), 0.1);
    return cbx_where(ctx, near, cbx_multiply_scalar(ctx, r, 1 + 0x1p-51), r);
}

TEST(wrong_functions_are_seen)
{
    points p;

    fill(&p, false, 2, 9);
    CHECK_GT(worst_of_one(wrong_sin, mpfr_sin, &p, "wrong sin").units, 1e6, "a float32 sine");
    CHECK_GT(worst_of_one(wrong_log, mpfr_log, &p, "wrong log").units, 1.5, "a logarithm that is off near 1");
    CHECK_GT(worst_of_one(cbx_sinh, mpfr_tanh, &p, "another function").units, 1e6, "another function");
    free(p.x);
    mpfr_free_cache();
}

/* ---- complex numbers, from the real functions by formula, with bits to spare for what
 * cancels ---- */

#define COMPLEX_BITS 600

typedef struct number {
    mpfr_t re, im;
} number;

static void number_init(number *z) { mpfr_inits2(COMPLEX_BITS, z->re, z->im, (mpfr_ptr)0); }
static void number_clear(number *z) { mpfr_clears(z->re, z->im, (mpfr_ptr)0); }

static void number_set(number *out, const number *z)
{
    mpfr_set(out->re, z->re, MPFR_RNDN);
    mpfr_set(out->im, z->im, MPFR_RNDN);
}

static void turn(number *z, int sign) /* times i or -i */
{
    mpfr_swap(z->re, z->im);
    mpfr_neg(sign > 0 ? z->re : z->im, sign > 0 ? z->re : z->im, MPFR_RNDN);
}

static void times(number *out, const number *a, const number *b)
{
    number r;

    number_init(&r);
    mpfr_fmms(r.re, a->re, b->re, a->im, b->im, MPFR_RNDN);
    mpfr_fmma(r.im, a->re, b->im, a->im, b->re, MPFR_RNDN);
    number_set(out, &r);
    number_clear(&r);
}

static void over(number *out, const number *a, const number *b)
{
    number r;
    mpfr_t norm;

    number_init(&r);
    mpfr_init2(norm, COMPLEX_BITS);
    mpfr_fmma(norm, b->re, b->re, b->im, b->im, MPFR_RNDN);
    mpfr_fmma(r.re, a->re, b->re, a->im, b->im, MPFR_RNDN);
    mpfr_fmms(r.im, a->im, b->re, a->re, b->im, MPFR_RNDN);
    mpfr_div(r.re, r.re, norm, MPFR_RNDN);
    mpfr_div(r.im, r.im, norm, MPFR_RNDN);
    number_set(out, &r);
    mpfr_clear(norm);
    number_clear(&r);
}

static void z_exp(number *z)
{
    mpfr_t size, s, c;

    mpfr_inits2(COMPLEX_BITS, size, s, c, (mpfr_ptr)0);
    mpfr_exp(size, z->re, MPFR_RNDN);
    mpfr_sin_cos(s, c, z->im, MPFR_RNDN);
    mpfr_mul(z->re, size, c, MPFR_RNDN);
    mpfr_mul(z->im, size, s, MPFR_RNDN);
    mpfr_clears(size, s, c, (mpfr_ptr)0);
}

static void z_log(number *z)
{
    mpfr_t size;

    mpfr_init2(size, COMPLEX_BITS);
    mpfr_hypot(size, z->re, z->im, MPFR_RNDN);
    mpfr_atan2(z->im, z->im, z->re, MPFR_RNDN);
    mpfr_log(z->re, size, MPFR_RNDN);
    mpfr_clear(size);
}

static void z_sqrt(number *z) /* exp(log(z) / 2) */
{
    z_log(z);
    mpfr_div_2ui(z->re, z->re, 1, MPFR_RNDN);
    mpfr_div_2ui(z->im, z->im, 1, MPFR_RNDN);
    z_exp(z);
}

/* sinh (sign -1) and cosh (sign +1): (exp z + sign exp -z) / 2 */
static void hyperbolic(number *z, int sign)
{
    number m;

    number_init(&m);
    number_set(&m, z);
    mpfr_neg(m.re, m.re, MPFR_RNDN);
    mpfr_neg(m.im, m.im, MPFR_RNDN);
    z_exp(z);
    z_exp(&m);
    (sign > 0 ? mpfr_add : mpfr_sub)(z->re, z->re, m.re, MPFR_RNDN);
    (sign > 0 ? mpfr_add : mpfr_sub)(z->im, z->im, m.im, MPFR_RNDN);
    mpfr_div_2ui(z->re, z->re, 1, MPFR_RNDN);
    mpfr_div_2ui(z->im, z->im, 1, MPFR_RNDN);
    number_clear(&m);
}
static void z_sinh(number *z) { hyperbolic(z, -1); }
static void z_cosh(number *z) { hyperbolic(z, 1); }

static void z_tanh(number *z)
{
    number c;

    number_init(&c);
    number_set(&c, z);
    z_cosh(&c);
    z_sinh(z);
    over(z, z, &c);
    number_clear(&c);
}

static void z_asinh(number *z) /* log(z + sqrt(z^2 + 1)) */
{
    number r;

    number_init(&r);
    times(&r, z, z);
    mpfr_add_ui(r.re, r.re, 1, MPFR_RNDN);
    z_sqrt(&r);
    mpfr_add(z->re, z->re, r.re, MPFR_RNDN);
    mpfr_add(z->im, z->im, r.im, MPFR_RNDN);
    z_log(z);
    number_clear(&r);
}

static void z_acosh(number *z) /* log(z + sqrt(z + 1) sqrt(z - 1)) */
{
    number a, b;

    number_init(&a);
    number_init(&b);
    number_set(&a, z);
    number_set(&b, z);
    mpfr_add_ui(a.re, a.re, 1, MPFR_RNDN);
    mpfr_sub_ui(b.re, b.re, 1, MPFR_RNDN);
    z_sqrt(&a);
    z_sqrt(&b);
    times(&a, &a, &b);
    mpfr_add(z->re, z->re, a.re, MPFR_RNDN);
    mpfr_add(z->im, z->im, a.im, MPFR_RNDN);
    z_log(z);
    number_clear(&a);
    number_clear(&b);
}

static void z_atanh(number *z) /* (log(1 + z) - log(1 - z)) / 2 */
{
    number m;

    number_init(&m);
    mpfr_ui_sub(m.re, 1, z->re, MPFR_RNDN);
    mpfr_neg(m.im, z->im, MPFR_RNDN);
    mpfr_add_ui(z->re, z->re, 1, MPFR_RNDN);
    z_log(z);
    z_log(&m);
    mpfr_sub(z->re, z->re, m.re, MPFR_RNDN);
    mpfr_sub(z->im, z->im, m.im, MPFR_RNDN);
    mpfr_div_2ui(z->re, z->re, 1, MPFR_RNDN);
    mpfr_div_2ui(z->im, z->im, 1, MPFR_RNDN);
    number_clear(&m);
}

/* f(iz) / i */
#define TURNED(name, of)                                                                                               \
    static void name(number *z)                                                                                        \
    {                                                                                                                  \
        turn(z, 1);                                                                                                    \
        of(z);                                                                                                         \
        turn(z, -1);                                                                                                   \
    }
TURNED(z_sin, z_sinh)
TURNED(z_tan, z_tanh)
TURNED(z_asin, z_asinh)
TURNED(z_atan, z_atanh)

static void z_cos(number *z)
{
    turn(z, 1);
    z_cosh(z);
}

static void z_acos(number *z) /* pi / 2 - asin z */
{
    mpfr_t quarter;

    z_asin(z);
    mpfr_init2(quarter, COMPLEX_BITS);
    mpfr_const_pi(quarter, MPFR_RNDN);
    mpfr_div_2ui(quarter, quarter, 1, MPFR_RNDN);
    mpfr_sub(z->re, quarter, z->re, MPFR_RNDN);
    mpfr_neg(z->im, z->im, MPFR_RNDN);
    mpfr_clear(quarter);
}

/* The table's entries for complex functions (1 to 3) are of few points: most are made of two real
 * functions, whose errors add up.  So this is a check that each is the right function to the last
 * bits, not of a documented bound. */
#define COMPLEX_UNITS 12

static const struct {
    const char *name;
    unary fn;
    void (*exact)(number *z);
} complexes[] = {
    { "csqrt", cbx_sqrt, z_sqrt },    { "cexp", cbx_exp, z_exp },       { "clog", cbx_log, z_log },
    { "csin", cbx_sin, z_sin },       { "ccos", cbx_cos, z_cos },       { "ctan", cbx_tan, z_tan },
    { "casin", cbx_asin, z_asin },    { "cacos", cbx_acos, z_acos },    { "catan", cbx_atan, z_atan },
    { "csinh", cbx_sinh, z_sinh },    { "ccosh", cbx_cosh, z_cosh },    { "ctanh", cbx_tanh, z_tanh },
    { "casinh", cbx_asinh, z_asinh }, { "cacosh", cbx_acosh, z_acosh }, { "catanh", cbx_atanh, z_atanh },
};

/* Points of all sizes in all quadrants; each part is a part of the result's own size, as the
 * table counts. */
static worst worst_of_complex(unary fn, void (*exact)(number *), bool narrow, size_t n, uint64_t stream)
{
    cbx_rng rng = cbx_rng_make(22, stream);
    double *x = malloc(4 * n * sizeof *x), *got = x + 2 * n;
    worst w = { 0, 0, 0, 0 };
    cbx_ctx *ctx = NULL;
    cbx_array *a;
    cbx_err err = CBX_ERR_INIT;
    number z;

    CHECK(x != NULL, "memory for points");
    for (size_t i = 0; i < 2 * n; i++) {
        x[i] = ldexp(2 * cbx_rng_uniform(&rng) - 1, (int)cbx_rng_below(&rng, 10) - 5);
        if (narrow) x[i] = (double)(float)x[i];
    }
    CHECK_OK(cbx_ctx_create(NULL, &ctx, NULL), &err, "context");
    a = cbx_asarray(ctx, &(cbx_array_desc){ CBX_C128, 1, { n } }, x);
    if (narrow) a = cbx_astype(ctx, a, CBX_C64);
    a = cbx_astype(ctx, fn(ctx, a), CBX_C128);
    CHECK_OK(cbx_ctx_pending(ctx, &err), &err, "complex");
    CHECK_OK(cbx_array_read(a, got, 2 * n * sizeof *got, &err), &err, "complex");
    number_init(&z);
    for (size_t i = 0; i < n; i++) {
        mpfr_set_d(z.re, x[2 * i], MPFR_RNDN);
        mpfr_set_d(z.im, x[2 * i + 1], MPFR_RNDN);
        exact(&z);
        note(&w, error_units(got[2 * i], z.re, 0, narrow), x[2 * i], x[2 * i + 1], got[2 * i]);
        note(&w, error_units(got[2 * i + 1], z.im, 0, narrow), x[2 * i], x[2 * i + 1], got[2 * i + 1]);
    }
    number_clear(&z);
    cbx_ctx_free(ctx);
    free(x);
    return w;
}

TEST(functions_of_complex_numbers)
{
    for (size_t i = 0; i < CBX_LEN(complexes); i++)
        for (int narrow = 0; narrow < 2; narrow++) {
            worst w = worst_of_complex(complexes[i].fn, complexes[i].exact, narrow, wanted_points() / 3 + 100, i);
            judge(complexes[i].name, narrow, &w, COMPLEX_UNITS);
        }
    CHECK_GT(worst_of_complex(cbx_sin, z_sinh, false, 50, 0).units, 1e6, "another function is seen");
    mpfr_free_cache();
}

TESTS(.seconds = 600)
