/* The state of a native baseline between calls: its point, where the arrays are, and one block of
 * scratch memory. */
#ifndef SUITES_COMMON_PLAN_H
#define SUITES_COMMON_PLAN_H

#include <stdio.h>

#include "calibrax/perf/case/case.h"

typedef struct cbx__suite_plan {
    cbx_allocator al;
    const void *in[CBX_CASE_MAX_ARRAYS];
    void *out[CBX_CASE_MAX_ARRAYS];
    const cbx_array *inputs[CBX_CASE_MAX_ARRAYS]; /* the arrays of `in` */
    void *point;                                  /* a copy of what the case reads a point into */
    size_t point_bytes;
    void *scratch, *spare; /* 64-byte aligned; spare is memory of mutants, which honest baselines leave alone */
    char *block;           /* as allocated */
    size_t block_bytes, scratch_bytes;
    size_t ninputs, noutputs, out_bytes; /* out_bytes: of output 0 */
    bool ran;
} cbx__suite_plan;

/* @param point  copied  @param c  for its numbers of arrays */
cbx_status cbx__suite_plan_create(cbx_ctx *ctx, const cbx_case_ops *c, const void *point, size_t point_bytes,
                                  size_t scratch_bytes, size_t spare_bytes, void **plan, cbx_err *err);
void cbx__suite_plan_bind(void *plan, cbx_array *const *in, cbx_array *const *out);
void cbx__suite_plan_finish(void *plan);

/* Planted faults, each by the `run` of the honest baseline: with another input i; with input i
 * rounded to fewer bits; and the first call's answer forever.  The last two need spare memory for a
 * copy of the input, and of output 0. */
typedef void cbx__suite_run_fn(void *plan);
void cbx__suite_run_with(cbx__suite_plan *s, cbx__suite_run_fn *run, size_t i, const void *other);
void cbx__suite_run_rounded(void *plan, cbx__suite_run_fn *run, size_t i, int bits);
void cbx__suite_run_stale(void *plan, cbx__suite_run_fn *run);
/* count elements of float32 or float64 rounded to fewer bits (rounding.h); in place is fine. */
void cbx__suite_round(cbx_dtype t, const void *from, size_t count, int bits, void *to);

/* `prepare` of a baseline: read(params) is a point p, of which is what returns the status. */
#define CBX__SUITE_PREPARE_BY(name, point, read, ...)                                                                  \
    static cbx_status name(cbx_ctx *ctx, const cbx_params *given, void **plan, cbx_err *err)                           \
    {                                                                                                                  \
        const point p = read(given);                                                                                   \
        return __VA_ARGS__;                                                                                            \
    }
/* ... with a plan as above, of p the bytes of scratch and spare memory. */
#define CBX__SUITE_PREPARE(name, case_, point, read, scratch, spare)                                                   \
    CBX__SUITE_PREPARE_BY(name, point, read,                                                                           \
                          cbx__suite_plan_create(ctx, &case_, &p, sizeof p, scratch, spare, plan, err))
/* `supports` of a baseline: whether it `holds` of point p; where it does not, that is no gap. */
#define CBX__SUITE_SUPPORTS(name, point, read, holds)                                                                  \
    static bool name(const cbx_params *given, const char **reason)                                                     \
    {                                                                                                                  \
        const point p = read(given);                                                                                   \
        *reason = NULL;                                                                                                \
        return holds;                                                                                                  \
    }

/* `outputs` of a case with one, which is described of point p. */
#define CBX__SUITE_OUTPUT(point, read, ...)                                                                            \
    static void outputs(const cbx_params *given, cbx_array_desc *out)                                                  \
    {                                                                                                                  \
        const point p = read(given);                                                                                   \
        *out = (cbx_array_desc)__VA_ARGS__;                                                                            \
    }

/* `label` of a case: format and arguments, of point p and the parameters given. */
#define CBX__SUITE_LABEL(point, read, ...)                                                                             \
    static void label(const cbx_params *given, char *buf, size_t size)                                                 \
    {                                                                                                                  \
        const point p = read(given);                                                                                   \
        snprintf(buf, size, __VA_ARGS__);                                                                              \
    }

/* Entries of a list of baselines. */
#define CBX__SUITE_BASELINE(name_, provider_, summary_, ...)                                                           \
    {                                                                                                                  \
        .struct_size = sizeof(cbx_baseline_ops), .abi = CBX_CASE_ABI, .name = name_, .provider = provider_,            \
        .summary = summary_, __VA_ARGS__                                                                               \
    }
/* Before one of these: its address, in a list of such. */
#define CBX__SUITE_ENTRY &(const cbx_baseline_ops)
/* ... with the plan above. */
#define CBX__SUITE_NATIVE(name_, summary_, prepare_, run_, ...)                                                        \
    CBX__SUITE_BASELINE(name_, "native", summary_, .prepare = prepare_, .bind = cbx__suite_plan_bind, .run = run_,     \
                        .finish = cbx__suite_plan_finish, __VA_ARGS__)
#define CBX__SUITE_MUTANT(name_, summary_, reason_, prepare_, run_, ...)                                               \
    CBX__SUITE_NATIVE(name_, summary_, prepare_, run_, .mutant_reason = reason_, __VA_ARGS__)

/* A case whose file names its tables and functions params, points, REPRESENTATIVE, baselines,
 * input_names, output_names, label, outputs and, unless it has none, series, make_inputs, oracle,
 * rotate_inputs and rotate_output. */
#define CBX__SUITE_CASE(name_, summary_, ...)                                                                          \
    CBX__SUITE_CASE_WITHOUT_SERIES(name_, summary_, .series = series, .nseries = CBX_LEN(series),                      \
                                   .make_inputs = make_inputs, .oracle = oracle, .rotate_inputs = rotate_inputs,       \
                                   .rotate_output = rotate_output, __VA_ARGS__)
#define CBX__SUITE_CASE_WITHOUT_SERIES(name_, summary_, ...)                                                           \
    {                                                                                                                  \
        .struct_size = sizeof(cbx_case_ops), .abi = CBX_CASE_ABI, .name = name_, .summary = summary_,                  \
        .params = params, .nparams = CBX_LEN(params), .points = points, .npoints = CBX_LEN(points),                    \
        .representative = REPRESENTATIVE, .baselines = baselines, .nbaselines = CBX_LEN(baselines),                    \
        .ninputs = CBX_LEN(input_names), .noutputs = CBX_LEN(output_names), .input_names = input_names,                \
        .output_names = output_names, .label = label, .outputs = outputs, __VA_ARGS__                                  \
    }

#endif
