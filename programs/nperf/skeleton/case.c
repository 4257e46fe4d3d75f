/*
 * Case NAME: out[i] = alpha * x[i] + y[i].  A whole case to change into your own: parameters, inputs, the right answer and how far from it
 * a right implementation may be, baselines, and a planted fault that the check must find.
 *
 *     cc -std=gnu17 -O3 -fPIC -shared -o NAME.so NAME.c $(pkg-config --cflags --libs calibrax)
 *     nperf --plugin ./NAME.so --case NAME
 *     nperf selftest --mutants --plugin ./NAME.so
 */
#include <calibrax/base/rng.h>
#include <calibrax/perf/case/plugin.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ALPHA 0.75f

/* --- what a measurement is of --- */

static const cbx_param_def params[] = {
    { .name = "n", .kind = CBX_PARAM_INT, .min = 1, .max = 1 << 26, .help = "elements" },
    { .name = "seed",
      .kind = CBX_PARAM_INT,
      .min = 0,
      .max = INT64_MAX,
      .fallback = "0",
      .help = "of the random inputs" },
};

static const char *const points[] = {
    "{\"n\":1000,\"seed\":0}",
    "{\"n\":100000,\"seed\":0}",
    "{\"n\":4194304,\"seed\":0}",
};

enum { X, Y, INPUTS };
static const char *const input_names[] = { "x", "y" };
static const char *const output_names[] = { "out" };

static size_t count_of(const cbx_params *point) { return (size_t)cbx_params_int(point, "n"); }

static void label(const cbx_params *point, char *buf, size_t size) { snprintf(buf, size, "n=%zu", count_of(point)); }

static void outputs(const cbx_params *point, cbx_array_desc *out)
{
    out[0] = (cbx_array_desc){ CBX_F32, 1, { count_of(point) } };
}

/* --- inputs; and another problem of equal work with a known answer: elements change places --- */

static cbx_status make_arrays(cbx_ctx *ctx, size_t n, cbx_array **out, cbx_err *err)
{
    const cbx_array_desc d = { CBX_F32, 1, { n } };
    cbx_status st = cbx_array_create(ctx, &d, &out[X], err);

    if (st) return st;
    st = cbx_array_create(ctx, &d, &out[Y], err);
    if (st) cbx_array_free(out[X]);
    return st;
}

static cbx_status make_inputs(cbx_ctx *ctx, const cbx_params *point, cbx_array **in, cbx_err *err)
{
    cbx_rng rng = cbx_rng_make((uint64_t)cbx_params_int(point, "seed"), 0);
    cbx_array *a[INPUTS];
    cbx_status st = make_arrays(ctx, count_of(point), a, err);

    if (st) return st;
    for (size_t i = 0; i < INPUTS; i++) {
        float *data = cbx_array_data_mut(a[i]);
        for (size_t k = 0; k < count_of(point); k++) data[k] = (float)cbx_rng_normal(&rng);
        in[i] = a[i];
    }
    return CBX_OK;
}

/* Places to shift by in turn r: 1 to n - 1. */
static size_t shift_of(const cbx_params *point, uint64_t r)
{
    cbx_rng rng = cbx_rng_make((uint64_t)cbx_params_int(point, "seed"), 16 + r);
    const size_t n = count_of(point);
    return n > 1 ? 1 + (size_t)cbx_rng_below(&rng, n - 1) : 0;
}

static void shift_into(const cbx_array *a, size_t shift, cbx_array *out)
{
    const size_t size = cbx_dtype_size(cbx_array_dtype(a)), head = shift * size, all = cbx_array_bytes(a);
    memcpy(cbx_array_data_mut(out), (const char *)cbx_array_data(a) + head, all - head);
    memcpy((char *)cbx_array_data_mut(out) + (all - head), cbx_array_data(a), head);
}

static cbx_status rotate_inputs(cbx_ctx *ctx, const cbx_params *point, uint64_t r, cbx_array *const *in,
                                cbx_array **rotated, cbx_err *err)
{
    cbx_array *a[INPUTS];
    cbx_status st = make_arrays(ctx, count_of(point), a, err);

    if (st) return st;
    for (size_t i = 0; i < INPUTS; i++) {
        shift_into(in[i], shift_of(point, r), a[i]);
        rotated[i] = a[i];
    }
    return CBX_OK;
}

static cbx_status rotate_output(cbx_ctx *ctx, const cbx_params *point, uint64_t r, size_t output, const cbx_array *a,
                                cbx_array **rotated, cbx_err *err)
{
    cbx_array *out;
    cbx_status st = cbx_array_create(ctx, cbx_array_get_desc(a), &out, err);

    (void)output;
    if (st) return st;
    shift_into(a, shift_of(point, r), out);
    *rotated = out;
    return CBX_OK;
}

/* --- the oracle: other code than any baseline's, in higher precision --- */

/* A product and a sum, each rounded once (or the two together): |error| <= u (2 |alpha x| + |y|) and second-order terms, u = 2^-24. */
static cbx_status oracle(cbx_ctx *ctx, const cbx_params *point, cbx_array *const *in, cbx_array **answer,
                         cbx_array **bound, cbx_err *err)
{
    const size_t n = count_of(point);
    const cbx_array_desc d = { CBX_F64, 1, { n } };
    const float *x = cbx_array_data(in[X]), *y = cbx_array_data(in[Y]);
    cbx_array *c = NULL, *e = NULL;
    cbx_status st = cbx_array_create(ctx, &d, &c, err);

    if (st) return st;
    st = cbx_array_create(ctx, &d, &e, err);
    if (st) {
        cbx_array_free(c);
        return st;
    }
    for (size_t i = 0; i < n; i++) {
        const double product = (double)ALPHA * (double)x[i];
        ((double *)cbx_array_data_mut(c))[i] = product + (double)y[i];
        ((double *)cbx_array_data_mut(e))[i] = 0x1p-24 * 1.001 * (2 * fabs(product) + fabs((double)y[i]));
    }
    *answer = c;
    *bound = e;
    return CBX_OK;
}

/* --- work of a call: a lower bound, by formula --- */

static void work(const cbx_params *point, cbx_work *out)
{
    const double n = (double)count_of(point);
    *out = (cbx_work){ .macs = n, .flop = 2 * n, .bytes = 12 * n, .pipe = CBX_PIPE_FMA, .pipe_ops = n };
    out->working_set_bytes = out->bytes;
}

/* --- baselines --- */

typedef struct plan {
    cbx_allocator al;
    size_t n;
    const float *x, *y;
    float *out;
} plan;

static cbx_status prepare(cbx_ctx *ctx, const cbx_params *point, void **out, cbx_err *err)
{
    plan *p = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *p);

    if (!p) return cbx_fail(err, CBX_ENOMEM, "out of memory for a plan");
    p->al = *cbx_ctx_allocator(ctx);
    p->n = count_of(point);
    *out = p;
    return CBX_OK;
}

static void bind(void *of, cbx_array *const *in, cbx_array *const *out)
{
    plan *p = of;
    p->x = cbx_array_data(in[X]);
    p->y = cbx_array_data(in[Y]);
    p->out = cbx_array_data_mut(out[0]);
}

/* Timed: no allocation, no input or output, no lock; writes all of out. */
static void run_loop(void *of)
{
    const plan *p = of;
    for (size_t i = 0; i < p->n; i++) p->out[i] = ALPHA * p->x[i] + p->y[i];
}

static void run_drop_last(void *of)
{
    plan *p = of;
    p->n--;
    run_loop(of);
    p->n++;
    p->out[p->n - 1] = p->y[p->n - 1];
}

static void finish(void *of)
{
    plan *p = of;
    if (!p) return;
    const cbx_allocator al = p->al;
    cbx_mem_free(&al, p, sizeof *p);
}

static const cbx_baseline_ops loop = {
    .struct_size = sizeof(cbx_baseline_ops),
    .abi = CBX_CASE_ABI,
    .name = "loop",
    .provider = "native",
    .summary = "a plain loop",
    .work = work,
    .prepare = prepare,
    .bind = bind,
    .run = run_loop,
    .finish = finish,
};

/* Foreign: a function of a Python file beside the plug-in would be
 *     .provider = "numpy", .definition = "{\"file\":\"/path/NAME.py\",\"call\":\"fast\"}" */

static const cbx_baseline_ops mutant_drop_last = {
    .struct_size = sizeof(cbx_baseline_ops),
    .abi = CBX_CASE_ABI,
    .name = "mutant-drop-last",
    .provider = "native",
    .summary = "the loop stops one early",
    .mutant_reason = "leaves the product out of the last element",
    .work = work,
    .prepare = prepare,
    .bind = bind,
    .run = run_drop_last,
    .finish = finish,
};

/* The ratio reference first, mutants last. */
static const cbx_baseline_ops *const baselines[] = { &loop, &mutant_drop_last };

static const cbx_case_ops the_case = {
    .struct_size = sizeof(cbx_case_ops),
    .abi = CBX_CASE_ABI,
    .name = "NAME",
    .summary = "alpha times x plus y",
    .params = params,
    .nparams = sizeof params / sizeof *params,
    .points = points,
    .npoints = sizeof points / sizeof *points,
    .representative = 1,
    .baselines = baselines,
    .nbaselines = sizeof baselines / sizeof *baselines,
    .ninputs = INPUTS,
    .noutputs = 1,
    .input_names = input_names,
    .output_names = output_names,
    .label = label,
    .outputs = outputs,
    .make_inputs = make_inputs,
    .oracle = oracle,
    .rotate_inputs = rotate_inputs,
    .rotate_output = rotate_output,
};

CBX_CASE_PLUGIN("NAME", &the_case);
