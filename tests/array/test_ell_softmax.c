/*
 * Softmax of rows of every width, against its definition in long double, at each instruction set;
 * rows in memory of exactly their size.
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/kernels/ell.h"
#include "calibrax/base/rng.h"

#define ROWS 131 /* two blocks of a thread and some */

typedef struct table {
    cbx_dtype dtype;
    size_t size, width;
    int32_t degree[ROWS];
    void *values, *y;
} table;

static double at(const table *t, const void *x, size_t i)
{
    return t->dtype == CBX_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static void set(const table *t, void *x, size_t i, double v)
{
    if (t->dtype == CBX_F32)
        ((float *)x)[i] = (float)v;
    else
        ((double *)x)[i] = v;
}

/* Rows 5, 6, 7 hold a NaN, an infinity and nothing but -inf; row 8 is empty, row 9 whole; places
 * that are no edges hold NaN. */
static table table_make(cbx_dtype dtype, size_t width)
{
    table t = { .dtype = dtype, .size = cbx_dtype_size(dtype), .width = width };
    cbx_rng rng = cbx_rng_make(11, width);

    t.values = malloc(ROWS * width * t.size);
    t.y = malloc(ROWS * width * t.size);
    for (size_t i = 0; i < ROWS; i++) {
        t.degree[i] = (int32_t)((double)width * cbx_rng_uniform(&rng) + 0.999);
        if (i >= 5 && i <= 9) t.degree[i] = i == 8 ? 0 : (int32_t)width;
        for (size_t q = 0; q < width; q++)
            set(&t, t.values, i * width + q,
                q >= (size_t)t.degree[i] ? (double)NAN
                : i == 7                 ? -(double)INFINITY
                                         : 9 * cbx_rng_normal(&rng));
    }
    set(&t, t.values, 5 * width + width / 2, (double)NAN);
    set(&t, t.values, 6 * width + width / 3, (double)INFINITY);
    memset(t.y, 0x5a, ROWS * width * t.size);
    return t;
}

static void table_free(table *t)
{
    free(t->values);
    free(t->y);
}

static void run(const table *t, cbx_isa isa, int threads)
{
    cbx_ell_product p = CBX_ELL_PRODUCT_INIT;
    cbx_err err = CBX_ERR_INIT;

    p.dtype = t->dtype, p.isa = isa, p.threads = threads;
    p.rows = ROWS, p.width = t->width, p.degree = t->degree;
    p.values = t->values, p.c = t->y;
    CHECK_OK(cbx_ell_softmax_run(&p, &err), &err, "softmax");
}

static long double exact(const table *t, size_t i, size_t q)
{
    const size_t n = (size_t)t->degree[i], first = i * t->width;
    long double top = -INFINITY, sum = 0;

    if (q >= n) return 0;
    for (size_t e = 0; e < n; e++) {
        const double v = at(t, t->values, first + e);
        if (isnan(v) || (isinf(v) && v > 0)) return NAN;
        top = (long double)v > top ? (long double)v : top;
    }
    if (isinf(top)) return 0;
    for (size_t e = 0; e < n; e++) sum += expl((long double)at(t, t->values, first + e) - top);
    return expl((long double)at(t, t->values, first + q) - top) / sum;
}

/* In units of roundoff of 1: exponents of up to 60 lose as many of the quotient's own, which is the
 * smaller the larger they are. */
static double worst(const table *t)
{
    const double unit = t->dtype == CBX_F32 ? 0x1p-24 : 0x1p-53;
    double max = 0;

    for (size_t i = 0; i < ROWS; i++)
        for (size_t q = 0; q < t->width; q++) {
            const long double want = exact(t, i, q);
            const double got = at(t, t->y, i * t->width + q);
            if (isnan(want) && isnan(got)) continue;
            if (q >= (size_t)t->degree[i]) CHECK_INT(got == 0, 1, "a place that is no edge");
            const double off = (double)fabsl((long double)got - want) / unit;
            if (!(off <= max)) max = isnan(off) ? (double)INFINITY : off;
        }
    return max;
}

TEST(every_width_agrees)
{
    static const size_t widths[] = { 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 48, 63, 64, 65, 100, 129, 300 };

    for (int isa = 0; isa < CBX_ISA_COUNT; isa++)
        for (size_t w = 0; w < CBX_LEN(widths) && cbx_isa_available((cbx_isa)isa); w++)
            for (int f = 0; f < 2; f++) {
                table t = table_make(f ? CBX_F64 : CBX_F32, widths[w]);
                run(&t, (cbx_isa)isa, 1);
                CHECK_LE(worst(&t), 12, cbx_isa_name((cbx_isa)isa));
                table_free(&t);
            }
}

TEST(threads_give_the_same_bits)
{
    for (size_t width = 200; width < 2000; width += 577) {
        table t = table_make(CBX_F32, width);
        void *alone = malloc(ROWS * width * t.size);
        run(&t, CBX_ISA_COUNT, 1);
        memcpy(alone, t.y, ROWS * width * t.size);
        for (int threads = 2; threads <= 3; threads++) {
            memset(t.y, 0x5a, ROWS * width * t.size);
            run(&t, CBX_ISA_COUNT, threads);
            CHECK_INT(memcmp(alone, t.y, ROWS * width * t.size), 0, "bits");
        }
        free(alone);
        table_free(&t);
    }
}

TESTS(.seconds = 600)
