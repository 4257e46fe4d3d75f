/*
 * Inline exp and log against the C library: float against its double, double against its
 * long double.
 */
#include "check.h"

#include <float.h>
#include <math.h>

#include "calibrax/array/kernels/vmath.h"
#include "calibrax/base/rng.h"

/* Distance in units of the last place of the right answer, `digits` bits wide. */
static double ulps(long double seen, long double right, int digits)
{
    const int e = ilogbl(right);
    return (double)(fabsl(seen - right) / scalbnl(1, e - digits + 1));
}

static const struct {
    double low, high;
    const char *why;
} exp_ranges[] = {
    { -87.3, 88.3, "all of float" },    { -1, 1, "around 0" },
    { -0.35, 0.35, "no reduction" },    { -20, 0, "what kernels see" },
    { -708.3, 709.4, "all of double" }, { -1e-9, 1e-9, "tiny" },
};

TEST(test_exp)
{
    cbx_rng rng = cbx_rng_make(1, 0);
    double worst32 = 0, worst64 = 0;
    for (size_t i = 0; i < CBX_LEN(exp_ranges); i++) {
        for (int n = 0; n < 20000; n++) {
            const double x = exp_ranges[i].low + (exp_ranges[i].high - exp_ranges[i].low) * cbx_rng_uniform(&rng);
            const double r64 = ulps(cbx_vm_exp_f64(x), expl((long double)x), DBL_MANT_DIG);
            worst64 = worse(worst64, r64);
            if (x < -87.3 || x > 88.3) continue;
            const float y = (float)x;
            worst32 = worse(worst32, ulps(cbx_vm_exp_f32(y), exp((double)y), FLT_MANT_DIG));
        }
    }
    print_message("# exp: %.3f ulp (f32), %.3f ulp (f64)\n", worst32, worst64);
    assert_true(worst32 > 0 && worst32 <= 1.5);
    assert_true(worst64 > 0 && worst64 <= 1.5);
    assert_true(ulps(expl(1.0L) * (1 + 4 * (long double)DBL_EPSILON), expl(1.0L), DBL_MANT_DIG) >
                1.5); /* the measure sees an error */
}

TEST(test_log)
{
    cbx_rng rng = cbx_rng_make(2, 0);
    double worst32 = 0, worst64 = 0;
    for (int n = 0; n < 100000; n++) {
        const double span = n % 2 ? 0.5 : 60;
        const double x = exp(span * (2 * cbx_rng_uniform(&rng) - 1));
        const float y = (float)x;
        if (x != 1) worst64 = worse(worst64, ulps(cbx_vm_log_f64(x), logl((long double)x), DBL_MANT_DIG));
        if (y != 1) worst32 = worse(worst32, ulps(cbx_vm_log_f32(y), log((double)y), FLT_MANT_DIG));
    }
    print_message("# log: %.3f ulp (f32), %.3f ulp (f64)\n", worst32, worst64);
    assert_true(worst32 > 0 && worst32 <= 1.5);
    assert_true(worst64 > 0 && worst64 <= 1.5);
    assert_true(cbx_vm_log_f32(1) == 0 && cbx_vm_log_f64(1) == 0);
}

TEST(test_edges)
{
    assert_true(cbx_vm_exp_f32(0) == 1 && cbx_vm_exp_f64(0) == 1);
    assert_true(cbx_vm_exp_f32(-0.0f) == 1 && cbx_vm_exp_f64(-0.0) == 1);
    assert_true(cbx_vm_exp_f32(-INFINITY) == 0 && cbx_vm_exp_f64(-INFINITY) == 0);
    assert_true(cbx_vm_exp_f32(-87.34f) == 0 && cbx_vm_exp_f64(-708.4) == 0); /* no subnormals */
    assert_true(cbx_vm_exp_f32(-87.336f) >= FLT_MIN && cbx_vm_exp_f64(-708.396) >= DBL_MIN);
    assert_true(cbx_vm_exp_f32(-FLT_MAX) == 0 && cbx_vm_exp_f64(-DBL_MAX) == 0);
    assert_true(isinf(cbx_vm_exp_f32(INFINITY)) && isinf(cbx_vm_exp_f64(INFINITY)));
    assert_true(isinf(cbx_vm_exp_f32(FLT_MAX)) && isinf(cbx_vm_exp_f64(DBL_MAX)));
    assert_true(isnan(cbx_vm_exp_f32(NAN)) && isnan(cbx_vm_exp_f64(NAN)));
    assert_true(fabs(cbx_vm_log_f64(DBL_MIN) - log(DBL_MIN)) < 1e-12 &&
                fabs(cbx_vm_log_f64(DBL_MAX) - log(DBL_MAX)) < 1e-12);
    assert_true(fabs((double)cbx_vm_log_f32(FLT_MIN) - log(FLT_MIN)) < 1e-5);
}

/* A loop over an array gives the bits of single calls, at every length and offset. */
TEST(test_lanes_are_independent)
{
    float x[67], y[67];
    for (int i = 0; i < 67; i++) x[i] = -0.37f * (float)i;
    for (int first = 0; first < 67; first += 3) {
        for (int i = first; i < 67; i++) y[i] = cbx_vm_exp_f32(x[i]);
        for (int i = first; i < 67; i++) {
            const volatile float alone = x[i];
            assert_true(y[i] == cbx_vm_exp_f32(alone));
        }
    }
}

TESTS(.seconds = 600)
