/* Case semiring_matmul: C[i,j] = update over kk of combine(A[i,kk], B[kk,j]) for six algebras,
 * after nitrix's operation of that name.  This file is the case's table; what it is made of lies in
 * semiring_matmul/. */
#include <stdio.h>
#include <string.h>

#include "suites/common/params.h"
#include "suites/nitrix/semiring_matmul/matmul.h"
#include "suites/suites.h"

#define MAX_EXTENT 16384

static const cbx_param_def params[] = {
    CBX__SUITE_COUNT("m", 0, MAX_EXTENT, "rows of A and C"),
    CBX__SUITE_COUNT("k", 0, MAX_EXTENT, "columns of A, rows of B"),
    CBX__SUITE_COUNT("n", 0, MAX_EXTENT, "columns of B and C"),
    CBX__SUITE_WORD("algebra", cbx__suite_algebras, NULL, "which combine and update"),
    CBX__SUITE_WORD_FROM("dtype", cbx__suite_floats_and_bool, cbx__suite_fitting_dtype,
                         "of A, B and C; f32, and bool for boolean, if absent"),
    { .name = "density",
      .kind = CBX_PARAM_WORD,
      .words = cbx__sm_densities,
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

static void outputs(const cbx_params *point, cbx_array_desc *out)
{
    const cbx__sm_point p = cbx__sm_read(point);
    out[0] = (cbx_array_desc){ p.dtype, 2, { p.m, p.n } };
}

const cbx_case_ops cbx_semiring_matmul_case = CBX__SUITE_CASE(
    "semiring_matmul", "matrix product over six algebras (real, log, max-plus, min-plus, euclidean, boolean)",
    .make_inputs = cbx__sm_make_inputs, .oracle = cbx__sm_oracle, .rotate_inputs = cbx__sm_rotate_inputs,
    .rotate_output = cbx__sm_rotate_output, .check_point = check_point);
