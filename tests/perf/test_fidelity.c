/* Outputs against answers: bounds, special values, forms. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/perf/launch/launch.h"

static cbx_ctx *ctx;

static int setup(void **state)
{
    (void)state;
    ctx = cbx_test_context();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cbx_ctx_free(ctx);
    return 0;
}

static cbx_array *make(cbx_dtype type, size_t n)
{
    cbx_array_desc desc = { type, 1, { n } };
    cbx_array *a = NULL;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_array_create(ctx, &desc, &a, &err), &err, "an array");
    return a;
}

static cbx_array *one(cbx_dtype type, double value)
{
    cbx_array *a = make(type, 1);
    void *p = cbx_array_data_mut(a);
    if (type == CBX_F32) *(float *)p = (float)value;
    if (type == CBX_F64) *(double *)p = value;
    if (type == CBX_BOOL) *(uint8_t *)p = (uint8_t)value;
    if (type == CBX_I32) *(int32_t *)p = (int32_t)value;
    return a;
}

static void free3(cbx_array *a, cbx_array *b, cbx_array *c)
{
    cbx_array_free(a);
    cbx_array_free(b);
    cbx_array_free(c);
}

/* 2^53 + 1 and 2^53 are one number in float64; of 64-bit integers they are two. */
TEST(integers)
{
    static const struct {
        uint64_t output, answer;
        double bound;
        bool is_signed, ok;
        const char *why;
    } cases[] = {
        { 9007199254740993, 9007199254740992, 0, true, false, "neighbours above 2^53" },
        { 9007199254740993, 9007199254740993, 0, true, true, "equal" },
        { 9007199254740993, 9007199254740992, 1, true, true, "within a tolerance of one" },
        { (uint64_t)INT64_MIN, INT64_MAX, 1e18, true, false, "a difference that int64 does not hold" },
        { UINT64_MAX, UINT64_MAX - 1, 0, false, false, "neighbours at the upper end" },
        { (uint64_t)-5, (uint64_t)-3, 2, true, true, "negative" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_dtype type = cases[i].is_signed ? CBX_I64 : CBX_U64;
        cbx_array *o = make(type, 1), *a = make(type, 1), *b = one(CBX_F64, cases[i].bound);
        cbx_fidelity f = { 0 };
        memcpy(cbx_array_data_mut(o), &cases[i].output, 8);
        memcpy(cbx_array_data_mut(a), &cases[i].answer, 8);
        cbx_fidelity_compare(o, a, b, &f);
        CHECK_INT(f.ok, cases[i].ok, cases[i].why);
        free3(o, a, b);
    }
}

TEST(single_elements)
{
    static const struct {
        cbx_dtype type, answer_type;
        double output, answer, bound;
        bool ok;
        double ratio;
        const char *why;
    } cases[] = {
        { CBX_F64, CBX_F64, 1, 1, 0, true, 0, "equal, with a bound of nothing" },
        { CBX_F64, CBX_F64, 1.5, 1, 1, true, 0.5, "half the bound" },
        { CBX_F64, CBX_F64, 2, 1, 1, true, 1, "on the bound" },
        { CBX_F64, CBX_F64, 3, 1, 1, false, 2, "twice the bound" },
        { CBX_F64, CBX_F64, 1, 1.0000001, 0, false, INFINITY, "different, and the bound is nothing" },
        { CBX_F32, CBX_F64, 0.1f, 0.1, 2e-9, true, 0.7450580707946131, "float against double" },
        { CBX_F64, CBX_F64, NAN, NAN, 0, true, 0, "NaN matches NaN" },
        { CBX_F64, CBX_F64, NAN, 1, 10, false, INFINITY, "NaN for a number" },
        { CBX_F64, CBX_F64, 1, NAN, 10, false, INFINITY, "a number for NaN" },
        { CBX_F64, CBX_F64, INFINITY, INFINITY, 0, true, 0, "equal infinities" },
        { CBX_F64, CBX_F64, -INFINITY, INFINITY, 1, false, INFINITY, "opposite infinities" },
        { CBX_F64, CBX_F64, INFINITY, 1e300, 1e290, false, INFINITY, "overflow" },
        { CBX_F64, CBX_F64, INFINITY, 1e300, INFINITY, true, 0, "overflow that the bound allows" },
        { CBX_F64, CBX_F64, NAN, 1, INFINITY, false, INFINITY, "NaN is within no bound" },
        { CBX_F64, CBX_F64, 0.0, -0.0, 0, true, 0, "the zeros are equal" },
        { CBX_BOOL, CBX_BOOL, 1, 1, 0, true, 0, "true" },
        { CBX_BOOL, CBX_BOOL, 0, 1, 0, false, INFINITY, "false for true" },
        { CBX_BOOL, CBX_BOOL, 0x7e, 1, 0, false, INFINITY, "a poisoned byte is not true" },
        { CBX_I32, CBX_F64, 7, 7, 0, true, 0, "integers" },
        { CBX_I32, CBX_F64, 7, 8, 0, false, INFINITY, "other integers" },
        { CBX_F32, CBX_BOOL, 1, 1, 0, false, INFINITY, "float where bool is due" },
        { CBX_BOOL, CBX_F64, 1, 1, 0, false, INFINITY, "bool where a number is due" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_array *o = one(cases[i].type, cases[i].output), *a = one(cases[i].answer_type, cases[i].answer),
                  *b = one(CBX_F64, cases[i].bound);
        cbx_fidelity f = { 0 };
        cbx_fidelity_compare(o, a, b, &f);
        CHECK(f.checked && f.checks == 1, cases[i].why);
        CHECK_INT(f.ok, cases[i].ok, cases[i].why);
        CHECK(f.rel_to_tol == cases[i].ratio || fabs(f.rel_to_tol / cases[i].ratio - 1) < 1e-6, cases[i].why);
        free3(o, a, b);
    }
}

/* The fast walk over blocks against a count by hand, faults planted at every kind of place. */
TEST(blocks)
{
    static const size_t sizes[] = { 1, 2, 255, 256, 257, 512, 1000, 5003 };
    for (size_t s = 0; s < CBX_LEN(sizes); s++) {
        size_t n = sizes[s];
        cbx_array *o = make(CBX_F32, n), *a = make(CBX_F64, n), *b = make(CBX_F64, n);
        float *po = cbx_array_data_mut(o);
        double *pa = cbx_array_data_mut(a), *pb = cbx_array_data_mut(b);
        double ratio = 0, max_abs = 0, max_rel = 0;
        srand(1);
        for (size_t i = 0; i < n; i++) {
            pa[i] = (double)rand() / RAND_MAX - 0.5;
            po[i] = (float)(pa[i] * (1 + 1e-5 * ((double)rand() / RAND_MAX)));
            pb[i] = 1e-5;
            double e = fabs(po[i] - pa[i]);
            ratio = fmax(ratio, e / pb[i]);
            max_abs = fmax(max_abs, e);
            max_rel = fmax(max_rel, e / fabs(pa[i]));
        }
        cbx_fidelity f = { 0 };
        cbx_fidelity_compare(o, a, b, &f);
        CHECK(f.ok && f.mismatched == 0, "all within");
        CHECK(f.rel_to_tol == ratio && f.max_abs == max_abs && f.max_rel == max_rel, "maxima as by hand");
        size_t places[] = { 0, n / 2, n - 1 };
        for (size_t p = 0; p < CBX_LEN(places); p++) {
            float kept = po[places[p]];
            po[places[p]] += 0.01f;
            cbx_fidelity g = f;
            cbx_fidelity_compare(o, a, b, &g);
            CHECK(!g.ok && g.mismatched == 1 && g.checks == 2, "one element is outside");
            CHECK_GT(g.rel_to_tol, 900, "by a factor of a thousand");
            po[places[p]] = NAN;
            g = f;
            cbx_fidelity_compare(o, a, b, &g);
            CHECK(!g.ok && g.mismatched == 1 && isinf(g.rel_to_tol), "a NaN is never lost");
            po[places[p]] = kept;
        }
        free3(o, a, b);
    }
}

TEST(strided)
{
    static const double data[6] = { 1, 2, 3, 4, 5, 6 }, turned[6] = { 1, 4, 2, 5, 3, 6 };
    static double zero[6];
    const cbx_array_desc desc = { CBX_F64, 2, { 2, 3 } };
    const ptrdiff_t columns[] = { 1, 2 };
    cbx_array *o = NULL, *a = NULL, *b = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_fidelity f = { 0 };
    CHECK_OK(cbx_array_wrap(ctx, &desc, NULL, (void *)(uintptr_t)data, NULL, NULL, &a, &err), &err, "rows");
    CHECK_OK(cbx_array_wrap(ctx, &desc, columns, (void *)(uintptr_t)turned, NULL, NULL, &o, &err), &err, "columns");
    CHECK_OK(cbx_array_wrap(ctx, &desc, NULL, zero, NULL, NULL, &b, &err), &err, "bound");
    cbx_fidelity_compare(o, a, b, &f);
    CHECK(f.ok && f.rel_to_tol == 0, "column-major order is the same matrix");
    cbx_fidelity_compare(a, o, b, &f);
    CHECK(f.ok && f.checks == 2, "either way");
    free3(o, a, b);
}

TEST(forms)
{
    cbx_array *o = make(CBX_F32, 3), *a = make(CBX_F64, 4), *b = make(CBX_F64, 4);
    cbx_fidelity f = { 0 };
    cbx_fidelity_compare(o, a, b, &f);
    CHECK(f.checked && !f.ok && isinf(f.rel_to_tol), "wrong shape");
    CHECK(strstr(f.note, "float32 (3,)") && strstr(f.note, "(4,)"), f.note);
    free3(o, a, b);
    o = make(CBX_C64, 4);
    a = make(CBX_F64, 4);
    b = make(CBX_F64, 4);
    f = (cbx_fidelity){ 0 };
    cbx_fidelity_compare(o, a, b, &f);
    CHECK(!f.ok && strstr(f.note, "dtype"), f.note);
    free3(o, a, b);
    o = make(CBX_F64, 0);
    a = make(CBX_F64, 0);
    b = make(CBX_F64, 0);
    f = (cbx_fidelity){ 0 };
    cbx_fidelity_compare(o, a, b, &f);
    CHECK(f.ok && f.checked && f.rel_to_tol == 0, "nothing to compare");
    free3(o, a, b);
}

TESTS(.seconds = 600, .before = setup, .after = teardown)
