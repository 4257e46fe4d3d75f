/* Case semiring_matmul: C[i,j] = update over kk of combine(A[i,kk], B[kk,j]) for six algebras,
 * after nitrix's operation of that name.  This file is the case's table; what it is made of lies in
 * semiring_matmul/. */
#include <stdio.h>
#include <string.h>

#include "suites/common/arrays.h"
#include "suites/common/oracle.h"
#include "suites/common/params.h"
#include "suites/common/rotation.h"
#include "suites/nitrix/semiring_matmul/matmul.h"
#include "suites/suites.h"

#define MAX_EXTENT 16384

static const char *const densities[] = { "even", "sparse", "half", NULL };

static const cbx_param_def params[] = {
    CBX__SUITE_COUNT("m", 0, MAX_EXTENT, "rows of A and C"),
    CBX__SUITE_COUNT("k", 0, MAX_EXTENT, "columns of A, rows of B"),
    CBX__SUITE_COUNT("n", 0, MAX_EXTENT, "columns of B and C"),
    CBX__SUITE_WORD("algebra", cbx__suite_algebras, NULL, "which combine and update"),
    CBX__SUITE_WORD_FROM("dtype", cbx__suite_floats_and_bool, cbx__suite_fitting_dtype,
                         "of A, B and C; f32, and bool for boolean, if absent"),
    { .name = "density",
      .kind = CBX_PARAM_WORD,
      .words = densities,
      .fallback = "even",
      .help = "of boolean operands: even makes half of C true; sparse is 1 %, half 50 %",
      .omits_fallback = true },
    CBX__SUITE_SEED,
};

static cbx_status check_point(const cbx_params *point, cbx_err *err)
{
    if (!cbx__sm_is(point, CBX_ALGEBRA_BOOLEAN) && strcmp(cbx_params_word(point, "density"), "even") != 0)
        return cbx_fail(err, CBX_EINVAL, "'density' is of boolean operands; algebra '%s' has none: leave it out",
                        cbx_params_word(point, "algebra"));
    return cbx__suite_check_algebra(point, err);
}

#define POINT(m, k, n, algebra, dtype)                                                                                 \
    "{\"m\":" #m ",\"k\":" #k ",\"n\":" #n ",\"algebra\":\"" algebra "\",\"dtype\":\"" dtype "\",\"seed\":0}"
#define FLOAT_POINTS(m, k, n, dtype)                                                                                   \
    POINT(m, k, n, "real", dtype), POINT(m, k, n, "log", dtype), POINT(m, k, n, "tropical_max_plus", dtype),           \
        POINT(m, k, n, "tropical_min_plus", dtype), POINT(m, k, n, "euclidean", dtype)
#define ALL_POINTS(m, k, n) FLOAT_POINTS(m, k, n, "f32"), POINT(m, k, n, "boolean", "bool")

#define REPRESENTATIVE 7 /* 512x512x512 (log, f32): row 1 of the second shape of 6 points */

static const char *const points[] = {
    ALL_POINTS(256, 256, 256), /* C stays in the second-level cache */
    ALL_POINTS(512, 512, 512), /* the size that others publish */
    FLOAT_POINTS(512, 512, 512, "f64"),
    ALL_POINTS(1024, 1024, 1024), /* C leaves the second-level cache */
    ALL_POINTS(4096, 64, 64),     /* skinny */
    ALL_POINTS(513, 129, 257),    /* odd: tails everywhere */
    ALL_POINTS(64, 64, 64),       /* with the cubes above, how time grows with size */
    ALL_POINTS(128, 128, 128),
    ALL_POINTS(7, 5, 3),   /* tiny: all overhead */
    ALL_POINTS(64, 0, 64), /* nothing to sum */
};

static const char *const series[] = {
    FLOAT_POINTS(64, 64, 64, "f32"),    FLOAT_POINTS(128, 128, 128, "f32"),    FLOAT_POINTS(256, 256, 256, "f32"),
    FLOAT_POINTS(512, 512, 512, "f32"), FLOAT_POINTS(1024, 1024, 1024, "f32"),
};

/* --- inputs, and the transformation under which the answer is known --- */

/* Floats are standard normal draws, A then B, one stream of the point's seed, drawn in double and
 * rounded to the dtype. Booleans are true with probability p = sqrt(1 - 2^(-1/k)), so that C[i,j],
 * false with probability (1 - p^2)^k, is true half the time, whatever k is: 36 % at k = 5, 3.7 % at
 * 512, 2.6 % at 1024.  A fixed density makes C all false where k is small, which every wrong kernel
 * passes, and all true where it is large, which flatters one that stops at the first true term;
 * here half of the elements need the whole loop.  The other densities, "sparse" and "half", are for
 * speeds: there C is nearly all true, by few terms or by very few. */
static double density_of(const cbx_params *given, size_t k)
{
    const char *word = cbx_params_word(given, "density");
    return !strcmp(word, "sparse") ? 0.01 : !strcmp(word, "half") ? 0.5 : cbx__suite_bool_density(k);
}

static cbx_status make_inputs(cbx_ctx *ctx, const cbx_params *given, cbx_array **in, cbx_err *err)
{
    const cbx__sm_point p = cbx__sm_read(given);
    const cbx_array_desc shapes[] = { { p.dtype, 2, { p.m, p.k } }, { p.dtype, 2, { p.k, p.n } } };
    return cbx__suite_inputs(ctx, shapes, CBX_LEN(shapes), p.seed, density_of(given, p.k), in, err);
}

/* Rotation: rows of A and columns of B are permuted, and the product's rows and columns permute
 * with them.  Every step of the work is the same, and no element of C stays where it was. */
static const cbx__suite_axes axes[] = { { 0, -1 }, { -1, 1 } };

CBX__SUITE_ROTATIONS(cbx__sm_point, cbx__sm_read, axes, CBX_LEN(axes), 0, 1, { p.seed, r, p.m, p.n, NULL })
CBX__SUITE_ORACLE(cbx_semiring_matmul_case, cbx__sm_point, cbx__sm_read, CBX__SM_ROW *p.n + p.m + p.n, cbx__sm_solve)

/* --- the table --- */

/* In the order they are shown; the ratio reference first, limits and mutants last. */
static const cbx_baseline_ops *const baselines[] = {
    &cbx__sm_stream,     &cbx__sm_naive_dense, &cbx__sm_tiled,      &cbx__sm_calibrax,   &cbx__sm_calibrax_cuda,
    &cbx__sm_openblas,   &cbx__sm_foreign[0],  &cbx__sm_foreign[1], &cbx__sm_foreign[2], &cbx__sm_foreign[3],
    &cbx__sm_foreign[4], &cbx__sm_foreign[5],  &cbx__sm_foreign[6], &cbx__sm_pipes,      &cbx__sm_fed,
    &cbx__sm_mutants[0], &cbx__sm_mutants[1],  &cbx__sm_mutants[2], &cbx__sm_mutants[3], &cbx__sm_mutants[4],
    &cbx__sm_mutants[5],
};

static const char *const input_names[] = { "A", "B" };
static const char *const output_names[] = { "C" };

static void label(const cbx_params *point, char *buf, size_t size)
{
    const cbx__sm_point p = cbx__sm_read(point);
    const char *density = cbx_params_word(point, "density");
    const bool reported = strcmp(density, "even") != 0;
    snprintf(buf, size, "%zux%zux%zu (%s, %s%s%s)", p.m, p.k, p.n, p.semiring->name, cbx_params_word(point, "dtype"),
             reported ? ", " : "", reported ? density : "");
}

CBX__SUITE_OUTPUT(cbx__sm_point, cbx__sm_read, { p.dtype, 2, { p.m, p.n } })

const cbx_case_ops cbx_semiring_matmul_case = CBX__SUITE_CASE(
    "semiring_matmul", "matrix product over six algebras (real, log, max-plus, min-plus, euclidean, boolean)",
    .check_point = check_point);
