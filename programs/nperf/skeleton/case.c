/*
 * Case NAME: out[i] = x[i] y[i] + y[i], to change into your own: parameters, inputs, the right
 * answer and how far from it a right implementation may be, a baseline, a planted fault to find.
 * Next: nperf --plugin ./NAME.so, then nperf selftest --mutants --plugin ./NAME.so
 */
#include <calibrax/array/random.h>
#include <calibrax/perf/case/plugin.h>
#include <stdio.h>

static const cbx_param_def params[] = {
    { .name = "n", .min = 2, .max = 1 << 26, .help = "elements" },
    { .name = "seed", .max = INT32_MAX, .fallback = "0", .help = "of the random inputs" }
};
static const char *const points[] = { "{\"n\":1000}", "{\"n\":100000}", "{\"n\":4194304}" };
enum { X, Y, INPUTS }; /* every input is an argument: a constant may be folded away by a compiler */
static const char *const input_names[] = { "x", "y" }, *const output_names[] = { "out" };

static size_t count_of(const cbx_params *point) { return (size_t)cbx_params_int(point, "n"); }
static void label(const cbx_params *point, char *buf, size_t size) { snprintf(buf, size, "n=%zu", count_of(point)); }
static void outputs(const cbx_params *point, cbx_array_desc *out)
{
    out[0] = (cbx_array_desc){ CBX_F32, 1, { count_of(point) } };
}

static cbx_status make_inputs(cbx_ctx *ctx, const cbx_params *point, cbx_array **in, cbx_err *err)
{
    const size_t n = count_of(point);
    cbx_scope scope;

    cbx_scope_open(ctx, &scope);
    for (uint64_t i = 0, seed = (uint64_t)cbx_params_int(point, "seed"); i < INPUTS; i++)
        in[i] = cbx_random_normal(ctx, cbx_random_key(ctx, seed * INPUTS + i), 1, &n, CBX_F32);
    return cbx_scope_close_keep(&scope, INPUTS, in, err);
}

/* Another problem of equal work with a known answer: elements change places. */
static cbx_status rotate_output(cbx_ctx *ctx, const cbx_params *point, uint64_t r, size_t output, const cbx_array *a,
                                cbx_array **rotated, cbx_err *err)
{
    cbx_scope scope;
    (void)output;
    cbx_scope_open(ctx, &scope);
    *rotated = cbx_roll(ctx, a, (ptrdiff_t)(1 + r % (count_of(point) - 1)), 0);
    return cbx_scope_close_keep(&scope, 1, rotated, err);
}
static cbx_status rotate_inputs(cbx_ctx *ctx, const cbx_params *point, uint64_t r, cbx_array *const *in,
                                cbx_array **rotated, cbx_err *err)
{
    cbx_status st = rotate_output(ctx, point, r, 0, in[X], &rotated[X], err);
    return st ? st : rotate_output(ctx, point, r, 0, in[Y], &rotated[Y], err);
}

/* Other code than any baseline's, in higher precision.  |error| <= gamma_2 (|x y| + |y|),
 * gamma_k = k u / (1 - k u), u = 2^-24: a product and a sum; Higham (2002), Lemma 3.1. */
static cbx_status oracle(cbx_ctx *ctx, const cbx_params *point, cbx_array *const *in, cbx_array **answer,
                         cbx_array **bound, cbx_err *err)
{
    const double u = 0x1p-24; /* of float32 */
    cbx_array *y, *product, *out[2];
    cbx_scope scope;
    cbx_status st;
    (void)point;
    cbx_scope_open(ctx, &scope);
    y = cbx_astype(ctx, in[Y], CBX_F64);
    product = cbx_multiply(ctx, cbx_astype(ctx, in[X], CBX_F64), y);
    out[0] = cbx_add(ctx, product, y);
    out[1] = cbx_multiply_scalar(ctx, cbx_add(ctx, cbx_abs(ctx, product), cbx_abs(ctx, y)), 2 * u / (1 - 2 * u));
    st = cbx_scope_close_keep(&scope, 2, out, err);
    if (!st) *answer = out[0], *bound = out[1];
    return st;
}
static void work(const cbx_params *point, cbx_work *out) /* of a call: a lower bound, by formula */
{
    const double n = (double)count_of(point);
    *out = (cbx_work){ n, 2 * n, 12 * n, CBX_PIPE_FMA, n, 12 * n };
}

static size_t n; /* the plan: one a process is enough */
static const float *x, *y;
static float *out;
static cbx_status prepare(cbx_ctx *ctx, const cbx_params *point, void **plan, cbx_err *err)
{
    (void)ctx, (void)err;
    n = count_of(point);
    *plan = &n;
    return CBX_OK;
}
static void bind(void *plan, cbx_array *const *inputs, cbx_array *const *results)
{
    (void)plan;
    x = cbx_array_data(inputs[X]), y = cbx_array_data(inputs[Y]), out = cbx_array_data_mut(results[0]);
}

static void run_loop(void *plan) /* timed: no allocation, input, output or lock; writes all of out */
{
    (void)plan;
    for (size_t i = 0; i < n; i++) out[i] = x[i] * y[i] + y[i];
}

static void run_drop_last(void *plan) /* the planted fault */
{
    run_loop(plan);
    out[n - 1] = y[n - 1];
}

static void finish(void *plan) { (void)plan; }
/* clang-format off */
#define BASELINE(name_, summary_, run_, mutant_) \
    { .struct_size = sizeof(cbx_baseline_ops), .abi = CBX_CASE_ABI, .name = name_, .provider = "native", .summary = summary_, \
      .mutant_reason = mutant_, .work = work, .prepare = prepare, .bind = bind, .run = run_, .finish = finish }
static const cbx_baseline_ops loop = BASELINE("loop", "a plain loop", run_loop, NULL);
static const cbx_baseline_ops drop = BASELINE("mutant-drop-last", "drops a product", run_drop_last, "the loop stops one early");
static const cbx_baseline_ops *const baselines[] = { &loop, &drop }; /* the ratio reference first, mutants last */
static const cbx_case_ops the_case = {
    .struct_size = sizeof(cbx_case_ops), .abi = CBX_CASE_ABI, .name = "NAME", .summary = "x times y plus y", .params = params,
    .nparams = 2, .points = points, .npoints = 3, .representative = 1, .baselines = baselines, .nbaselines = 2, .ninputs = INPUTS,
    .noutputs = 1, .input_names = input_names, .output_names = output_names, .label = label, .outputs = outputs,
    .make_inputs = make_inputs, .oracle = oracle, .rotate_inputs = rotate_inputs, .rotate_output = rotate_output
};
CBX_CASE_PLUGIN("NAME", &the_case);
