/*
 * The inverse error function against MPFR, which has erf but not its inverse: the error of y =
 * erfinv(x) is (erf(y) - x) / erf'(y), computed in 300 bits.
 */
#include "check.h"

#include <math.h>
#include <mpfr.h>

#include "calibrax/array/ops.h"
#include "calibrax/base/rng.h"

#define POINTS 20000

/* Error of y in units of the last place. */
static double error_units(double x, double y, double unit)
{
    mpfr_t v, s;
    double r;

    mpfr_inits2(300, v, s, (mpfr_ptr)0);
    mpfr_set_d(v, y, MPFR_RNDN);
    mpfr_sqr(s, v, MPFR_RNDN);
    mpfr_exp(s, s, MPFR_RNDN); /* 1 / erf'(y) = exp(y^2) sqrt(pi) / 2 */
    mpfr_erf(v, v, MPFR_RNDN);
    mpfr_sub_d(v, v, x, MPFR_RNDN);
    mpfr_mul(v, v, s, MPFR_RNDN);
    r = mpfr_get_d(v, MPFR_RNDN) * 0.88622692545275801365 / unit;
    mpfr_clears(v, s, (mpfr_ptr)0);
    return fabs(r);
}

/* Everywhere in (-1, 1): evenly, towards 0, and towards 1 down to the last number before it. */
static double point(cbx_rng *rng, int i)
{
    double u = cbx_rng_uniform(rng), sign = cbx_rng_u64(rng) & 1 ? 1 : -1;

    if (i % 3 == 0) return sign * u;
    if (i % 3 == 1) return sign * ldexp(1.0 + u, -(int)(u * 500) - 2);
    return sign * (1.0 - ldexp(1.0 + u, -(int)cbx_rng_below(rng, 52) - 2));
}

TEST(erfinv_is_within_its_bound)
{
    static double x[POINTS], y[POINTS];
    static float single[POINTS];
    cbx_rng rng = cbx_rng_make(20260220, 3);
    cbx_ctx *c = cbx_test_context();
    double worst[2] = { 0, 0 };
    cbx_array *in, *wide;

    for (int i = 0; i < POINTS; i++) {
        x[i] = i == 0 ? nextafter(1.0, 0.0) : i == 1 ? 0x1p-1000 : i == 2 ? nextafterf(1.0f, 0.0f) : point(&rng, i);
        if (fabs(x[i]) == 1) x[i] = 0.5;
    }
    in = cbx_asarray(c, &(cbx_array_desc){ CBX_F64, 1, { POINTS } }, x);
    wide = cbx_erfinv(c, in);
    CHECK_OK(cbx_array_read(wide, y, sizeof y, NULL), (&(cbx_err){ 0 }), "float64");
    for (int i = 0; i < POINTS; i++)
        worst[0] = worse(worst[0], error_units(x[i], y[i], nextafter(fabs(y[i]), INFINITY) - fabs(y[i])));
    CHECK_LE(worst[0], 2.0, "float64, units in the last place");
    for (int i = 0; i < POINTS; i++) single[i] = (float)x[i] == 1.0f || (float)x[i] == -1.0f ? 0.25f : (float)x[i];
    for (int i = 0; i < POINTS; i++) x[i] = single[i];
    in = cbx_asarray(c, &(cbx_array_desc){ CBX_F32, 1, { POINTS } }, single);
    CHECK_OK(cbx_array_read(cbx_erfinv(c, in), single, sizeof single, NULL), (&(cbx_err){ 0 }), "float32");
    for (int i = 0; i < POINTS; i++) {
        double unit = (double)nextafterf(fabsf(single[i]), INFINITY) - fabs(single[i]);
        if (fabs(single[i]) >= 0x1p-126) worst[1] = worse(worst[1], error_units(x[i], single[i], unit));
    }
    CHECK_LE(worst[1], 0.501, "float32, rounded once");
    print_message("# erfinv: float64 %.3f, float32 %.4f units\n", worst[0], worst[1]);
    CHECK_GT(error_units(0.5, 0.47693627620446990 + 0x1p-51, 0x1p-54), 2.0, "an error is seen");
    cbx_ctx_free(c);
}

TESTS(.seconds = 600)
