/*
 * Case `exits`, for tests/cli/test_exits.py: baselines that are right, wrong, or crash, with and
 * without the declaration that they must fail.
 */
#include "calibrax/perf/case/plugin.h"

#include <stdlib.h>

typedef struct plan {
    const float *x;
    float *out;
} plan;

enum { N = 1000 };

static const char *const points[] = { "{\"n\":1000}" };
static const cbx_param_def params[] = {
    { .name = "n", .kind = CBX_PARAM_INT, .min = N, .max = N, .help = "elements" }
};
static const char *const inputs[] = { "x" }, *const results[] = { "out" };

static void label(const cbx_params *point, char *buf, size_t size)
{
    (void)point;
    if (size > 1) buf[0] = 'n', buf[1] = 0;
}

static void outputs(const cbx_params *point, cbx_array_desc *out)
{
    (void)point;
    out[0] = (cbx_array_desc){ CBX_F32, 1, { N } };
}

static cbx_status make(cbx_ctx *ctx, cbx_dtype dtype, double first, double step, cbx_array **out, cbx_err *err)
{
    const cbx_array_desc d = { dtype, 1, { N } };
    cbx_status st = cbx_array_create(ctx, &d, out, err);

    for (size_t i = 0; !st && i < N; i++) {
        double v = first + step * (double)i;
        if (dtype == CBX_F32)
            ((float *)cbx_array_data_mut(*out))[i] = (float)v;
        else
            ((double *)cbx_array_data_mut(*out))[i] = v;
    }
    return st;
}

static cbx_status make_inputs(cbx_ctx *ctx, const cbx_params *point, cbx_array **in, cbx_err *err)
{
    (void)point;
    return make(ctx, CBX_F32, 1, 1, &in[0], err);
}

static cbx_status oracle(cbx_ctx *ctx, const cbx_params *point, cbx_array *const *in, cbx_array **answer,
                         cbx_array **bound, cbx_err *err)
{
    cbx_status st = make(ctx, CBX_F64, 2, 2, answer, err);

    (void)point;
    (void)in;
    if (!st) st = make(ctx, CBX_F64, 0, 0, bound, err);
    return st;
}

static void work(const cbx_params *point, cbx_work *out)
{
    (void)point;
    *out = (cbx_work){ N, N, 8.0 * N, CBX_PIPE_FMA, N, 8.0 * N };
}

static cbx_status prepare(cbx_ctx *ctx, const cbx_params *point, void **out, cbx_err *err)
{
    static plan the_plan; /* one a process is enough */

    (void)ctx;
    (void)point;
    (void)err;
    *out = &the_plan;
    return CBX_OK;
}

static void finish(void *of) { (void)of; }

static void bind(void *of, cbx_array *const *in, cbx_array *const *out)
{
    *(plan *)of = (plan){ cbx_array_data(in[0]), cbx_array_data_mut(out[0]) };
}

static void run_right(void *of)
{
    const plan *p = of;
    for (size_t i = 0; i < N; i++) p->out[i] = 2 * p->x[i];
}

static void run_wrong(void *of)
{
    run_right(of);
    ((plan *)of)->out[N / 2] += 1;
}

static void run_crash(void *of)
{
    (void)of;
    abort();
}

#define BASELINE(name_, run_, why_)                                                                                    \
    {                                                                                                                  \
        .struct_size = sizeof(cbx_baseline_ops), .abi = CBX_CASE_ABI, .name = name_, .provider = "native",             \
        .summary = name_, .work = work, .prepare = prepare, .bind = bind, .run = run_, .must_fail = why_,              \
        .finish = finish                                                                                               \
    }

static const cbx_baseline_ops all[] = {
    BASELINE("right", run_right, NULL),
    BASELINE("wrong", run_wrong, NULL),
    BASELINE("crash", run_crash, NULL),
    BASELINE("fails-as-declared", run_wrong, "one is added to one element"),
    BASELINE("passes-against-its-declaration", run_right, "it is not"),
};
static const cbx_baseline_ops *const baselines[] = { &all[0], &all[1], &all[2], &all[3], &all[4] };

static const cbx_case_ops exits = {
    .struct_size = sizeof(cbx_case_ops),
    .abi = CBX_CASE_ABI,
    .name = "exits",
    .summary = "baselines that end in each way",
    .params = params,
    .nparams = CBX_LEN(params),
    .points = points,
    .npoints = CBX_LEN(points),
    .baselines = baselines,
    .nbaselines = CBX_LEN(baselines),
    .ninputs = 1,
    .noutputs = 1,
    .input_names = inputs,
    .output_names = results,
    .label = label,
    .outputs = outputs,
    .make_inputs = make_inputs,
    .oracle = oracle,
};

CBX_CASE_PLUGIN("exits", &exits);
