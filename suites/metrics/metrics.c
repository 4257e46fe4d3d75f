/*
 * Case metrics: one call of a metric function of the library, at a size that fits it, beside
 * scikit-learn, SciPy, the packages of single domains, torchmetrics and the Python package
 * calibrax.
 *
 * The operands are what users have: float64 and int64 arrays.  The oracle is
 * workers/python/cases/metrics_oracle: formulas in extended precision, or another algorithm.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "suites/common/arrays.h"
#include "suites/common/engine.h"
#include "suites/common/params.h"
#include "suites/common/plan.h"
#include "suites/metrics/metrics.h"
#include "suites/suites.h"

#define MAX_COUNT  (1 << 26)
#define MAX_SQUARE 2048

#define ROW(name, operands, n, d, result, rivals) { #name, operands, CBX__MS_##result, rivals },
static const cbx__ms_row rows[] = { CBX__MS_MAP(ROW) };
#undef ROW

#define NAME(name, operands, n, d, result, rivals) #name,
static const char *const names[] = { CBX__MS_MAP(NAME) NULL };
#undef NAME

#define POINT(name, operands, n, d, result, rivals) "{\"metric\":\"" #name "\",\"n\":" #n ",\"d\":" #d "}",
static const char *const points[] = { CBX__MS_MAP(POINT) };
#undef POINT
#define REPRESENTATIVE 2 /* rmse */

static const cbx_param_def params[] = {
    CBX__SUITE_WORD("metric", names, NULL, "which metric"),
    CBX__SUITE_COUNT("n", 1, MAX_COUNT, "items: numbers, labels, points, rows, words"),
    CBX__SUITE_COUNT_OR("d", 1, 1 << 20, "1", "columns, classes, members, dimensions"),
    CBX__SUITE_SEED,
};

cbx__ms_point cbx__ms_read(const cbx_params *given)
{
    cbx__ms_point p = { .n = cbx__suite_count(given, "n"),
                        .d = cbx__suite_count(given, "d"),
                        .seed = cbx__suite_seed(given) };
    const char *name = cbx_params_word(given, "metric");

    for (size_t i = 0; i < CBX_LEN(rows); i++)
        if (strcmp(rows[i].name, name) == 0) p.row = &rows[i];
    p.operands = strlen(p.row->operands);
    return p;
}

/* Matrices of n by n, and transport between n points, which takes a thousand of them. */
static cbx_status check_point(const cbx_params *given, cbx_err *err)
{
    const cbx__ms_point p = cbx__ms_read(given);

    if (p.n <= MAX_SQUARE || (p.row->result != CBX__MS_SQUARE && !strpbrk(p.row->operands, "ASiU") &&
                              strcmp(p.row->name, "sinkhorn_divergence")))
        return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "metric '%s' takes 'n' up to %d", p.row->name, MAX_SQUARE);
}

static void label(const cbx_params *given, char *buf, size_t size)
{
    const cbx__ms_point p = cbx__ms_read(given);
    if (p.d > 1)
        snprintf(buf, size, "%s of %zu (%zu)", p.row->name, p.n, p.d);
    else
        snprintf(buf, size, "%s of %zu", p.row->name, p.n);
}

enum { N = -1, D = -2, D_AND_ONE = -3 };

static const struct {
    int ndim, shape[2];
} shapes[] = {
    [CBX__MS_ONE] = { 0, { 0 } },
    [CBX__MS_FOUR] = { 1, { 4 } },
    [CBX__MS_FIVE] = { 1, { 5 } },
    [CBX__MS_TEN] = { 1, { 10 } },
    [CBX__MS_TEN_BY_THREE] = { 2, { 10, 3 } },
    [CBX__MS_EACH] = { 1, { N } },
    [CBX__MS_N_BY_TWO] = { 2, { N, 2 } },
    [CBX__MS_ROWS] = { 2, { N, D } },
    [CBX__MS_SQUARE] = { 2, { N, N } },
    [CBX__MS_D_AND_ONE] = { 1, { D_AND_ONE } },
    [CBX__MS_D_BY_SIX] = { 2, { D, 6 } },
    [CBX__MS_TABLE] = { 2, { D, D } },
};

static void outputs(const cbx_params *given, cbx_array_desc *out)
{
    const cbx__ms_point p = cbx__ms_read(given);

    *out = (cbx_array_desc){ CBX_F64, shapes[p.row->result].ndim, { 0 } };
    for (int k = 0; k < out->ndim; k++) {
        const int size = shapes[p.row->result].shape[k];
        out->shape[k] = size == N ? p.n : size == D ? p.d : size == D_AND_ONE ? p.d + 1 : (size_t)size;
    }
}

/* A lower bound: every operand is read. */
static void work(const cbx_params *given, cbx_work *out)
{
    const cbx__ms_point p = cbx__ms_read(given);
    double elements = 0;

    for (size_t i = 0; i < p.operands; i++) {
        cbx_array_desc d;
        size_t count = 0;
        cbx__ms_input(&p, i, &d);
        (void)cbx_array_desc_count(&d, &count, NULL);
        elements += (double)count;
    }
    *out = (cbx_work){
        .macs = elements, .bytes = 8 * elements, .pipe = CBX_PIPE_MAX, .working_set_bytes = 8 * elements
    };
}

/* --- the library --- */

typedef struct plan {
    cbx__suite_engine call; /* first */
    const cbx_metric_function *metric;
    size_t operands;
    double parameters[CBX_METRIC_MAX_PARAMETERS];
    cbx_metric_options options;
} plan;

/* t log(t), of which the f-divergence is that of Kullback and Leibler. */
static cbx_status t_log_t(cbx_ctx *ctx, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    (void)nin, (void)nout, (void)user;
    out[0] = cbx_multiply(ctx, in[0], cbx_log(ctx, in[0]));
    return CBX_OK;
}

/* sum(x log(x)), of which the Bregman divergence is the same for masses that need not be equal. */
static cbx_status negative_entropy(cbx_ctx *ctx, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out,
                                   void *user)
{
    (void)nin, (void)nout, (void)user;
    out[0] = cbx_sum(ctx, cbx_multiply(ctx, in[0], cbx_log(ctx, in[0])), NULL);
    return CBX_OK;
}

/* -sum(cosh(x)) - sum(x)^2 / 2: no second derivative of it is 0. */
static cbx_status log_likelihood(cbx_ctx *ctx, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out,
                                 void *user)
{
    const cbx_array *sum = cbx_sum(ctx, in[0], NULL);

    (void)nin, (void)nout, (void)user;
    out[0] = cbx_subtract(ctx, cbx_multiply_scalar(ctx, cbx_square(ctx, sum), -0.5),
                          cbx_sum(ctx, cbx_cosh(ctx, in[0]), NULL));
    return CBX_OK;
}

static const struct {
    const char *metric;
    cbx_fn function;
} functions[] = {
    { "f_divergence", { "t_log_t", t_log_t, NULL, 1, 1, NULL } },
    { "bregman_divergence", { "negative_entropy", negative_entropy, NULL, 1, 1, NULL } },
    { "fisher_information_matrix", { "log_likelihood", log_likelihood, NULL, 1, 1, NULL } },
};

static cbx_status prepare(cbx_ctx *ctx, const cbx_params *given, void **out, cbx_err *err)
{
    const cbx__ms_point p = cbx__ms_read(given);
    void *made = NULL;
    cbx_status st = cbx__suite_engine_create(ctx, NULL, CBX__MS_INPUTS, sizeof(plan), &made, err);
    plan *s = made;

    if (st) return st;
    s->operands = p.operands;
    s->options.parameters = s->parameters;
    for (size_t i = 0; i < CBX_METRIC_MAX_PARAMETERS; i++) s->parameters[i] = NAN;
    for (size_t i = 0; i < CBX_LEN(functions); i++)
        if (strcmp(functions[i].metric, p.row->name) == 0) s->options.function = &functions[i].function;
    /* without these they draw at random */
    if (strcmp(p.row->name, "kid") == 0) s->parameters[1] = (double)p.n;         /* each subset is the whole set */
    if (strcmp(p.row->name, "image_inception_score") == 0) s->parameters[0] = 1; /* split */
    st = cbx_metric_find(s->call.ctx, p.row->name, &s->metric, err);
    if (st)
        cbx__suite_engine_finish(s);
    else
        *out = s;
    return st;
}

static void run(void *p)
{
    plan *s = p;

    cbx__suite_engine_begin(&s->call);
    s->call.result = cbx_metric_apply(s->call.ctx, s->metric, s->operands, s->call.in, &s->options);
}

/* As numbers, of places and counts too. */
static void collect(void *p)
{
    const cbx__suite_engine *e = p;
    char *out = cbx_array_data_mut(e->out);

    cbx__suite_engine_collect(p);
    if (!e->result || cbx_array_is_failed(e->result) || cbx_array_dtype(e->result) != CBX_I64) return;
    for (size_t i = 0; i < cbx_array_bytes(e->out); i += sizeof(int64_t)) {
        int64_t place;
        memcpy(&place, out + i, sizeof place);
        memcpy(out + i, &(double){ (double)place }, sizeof(double));
    }
}

#define LIBRARY(name, summary, run_, collect_, ...)                                                                    \
    CBX__SUITE_BASELINE(name, "native", summary, .work = work, .prepare = prepare, .bind = cbx__suite_engine_bind,     \
                        .run = run_, .finish = cbx__suite_engine_finish, .collect = collect_, __VA_ARGS__)

static const cbx_baseline_ops library = LIBRARY("calibrax", "cbx_metric_apply: a scope and a new result each call", run,
                                                collect, .supports = NULL);

/* --- planted faults --- */

/* Counts and ones; and those of which bounds are wide: transport that is not converged, directions
 * at random, sketches. */
static bool is_blunt(const cbx__ms_point *p)
{
    return p->row->rivals[0] == '=' || !strcmp(p->row->name, "sliced_wasserstein") ||
           !strcmp(p->row->name, "sinkhorn_divergence") || !strncmp(p->row->name, "streaming_", 10);
}

CBX__SUITE_SUPPORTS(supports_bf16, cbx__ms_point, cbx__ms_read, !is_blunt(&p))

static void collect_bf16(void *p)
{
    cbx_array *out = ((plan *)p)->call.out;
    void *data = cbx_array_data_mut(out);

    collect(p);
    cbx__suite_round(CBX_F64, data, cbx_array_count(out), 8, data);
}

/* Of metrics whose operands have an item a row; the largest is seldom the last, nor are the
 * first ten. */
CBX__SUITE_SUPPORTS(supports_drop_last, cbx__ms_point, cbx__ms_read,
                    !is_blunt(&p) && p.row->result == CBX__MS_ONE && p.n > 2 &&
                        strspn(p.row->operands, "rspmunbzlvPGLCEoVKM") == p.operands && !strstr(p.row->name, "_at_k") &&
                        strcmp(p.row->name, "directed_hausdorff") && strcmp(p.row->name, "hausdorff_distance") &&
                        strcmp(p.row->name, "maximum_calibration_error"))

static void run_drop_last(void *q)
{
    plan *s = q;
    cbx_array *in[CBX__MS_INPUTS];

    cbx__suite_engine_begin(&s->call);
    for (size_t i = 0; i < s->operands; i++) in[i] = cbx_slice(s->call.ctx, s->call.in[i], 0, 0, -1, 1);
    s->call.result = cbx_metric_apply(s->call.ctx, s->metric, s->operands, in, &s->options);
}

/* Of metrics of two operands of one kind that is not symmetric in them. */
static bool supports_swapped(const cbx_params *given, const char **reason)
{
    const cbx__ms_point p = cbx__ms_read(given);
    static const char *const asymmetric[] = { "r_squared",
                                              "mape",
                                              "relative_error",
                                              "explained_variance",
                                              "kl_divergence",
                                              "cross_entropy",
                                              "reverse_kl_divergence",
                                              "directed_hausdorff",
                                              "spectral_convergence",
                                              "f_divergence",
                                              "bregman_divergence",
                                              "info_nce_loss" };

    *reason = NULL;
    for (size_t i = 0; i < CBX_LEN(asymmetric); i++)
        if (strcmp(asymmetric[i], p.row->name) == 0) return true;
    return false;
}

static void run_swapped(void *q)
{
    plan *s = q;
    cbx_array *in[] = { s->call.in[1], s->call.in[0] };

    cbx__suite_engine_begin(&s->call);
    s->call.result = cbx_metric_apply(s->call.ctx, s->metric, 2, in, &s->options);
}

static const cbx_baseline_ops mutant_bf16 = LIBRARY("mutant-bf16", "results of 8 bits", run, collect_bf16,
                                                    .mutant_reason = "rounds the result to bfloat16",
                                                    .supports = supports_bf16);
static const cbx_baseline_ops mutant_drop_last = LIBRARY("mutant-drop-last", "one item fewer", run_drop_last, collect,
                                                         .mutant_reason = "leaves out the last item of each operand",
                                                         .supports = supports_drop_last);
static const cbx_baseline_ops mutant_swapped = LIBRARY("mutant-swapped", "predictions as targets", run_swapped, collect,
                                                       .mutant_reason = "exchanges the operands",
                                                       .supports = supports_swapped);

/* --- other packages: workers/python/cases/metrics.py --- */

#define RIVAL(id, letter, name_, provider_, summary_, ...)                                                             \
    CBX__SUITE_SUPPORTS(supports_##id, cbx__ms_point, cbx__ms_read, strchr(p.row->rivals, letter) != NULL)             \
    static const cbx_baseline_ops id = CBX__SUITE_BASELINE(name_, provider_, summary_, .work = work,                   \
                                                           .supports = supports_##id, __VA_ARGS__);
RIVAL(sklearn, 's', "scikit-learn", "metrics", "scikit-learn's function, or its natural form", .slow_reason = NULL)
RIVAL(scipy, 'y', "scipy", "metrics", "SciPy's function, or its natural form", .slow_reason = NULL)
RIVAL(domain, 'o', "domain", "metrics",
      "a package of the domain: scikit-image, properscoring, fairlearn, POT, nltk, rouge_score, networkx",
      .slow_reason = NULL)
RIVAL(learning, 'l', "pytorch-metric-learning", "torchmetrics",
      "pytorch-metric-learning's function, or PyTorch's natural form, on float64", .slow_reason = NULL)
RIVAL(learning_less, 'L', "pytorch-metric-learning-less", "torchmetrics",
      "pytorch-metric-learning where it is less exact", .must_fail = "adds a small number to norms or counts")
RIVAL(torch, 't', "torchmetrics", "torchmetrics", "torchmetrics' function, on float64", .slow_reason = NULL)
RIVAL(torch_less, 'T', "torchmetrics-less", "torchmetrics", "torchmetrics where it is less exact",
      .must_fail = "computes in float32, or by a definition that is less exact")
RIVAL(python, 'c', "calibrax-python", "calibrax", "the Python package's function, 64-bit types on", .slow_reason = NULL)
RIVAL(python_less, 'C', "calibrax-python-less", "calibrax", "the Python package's function where it is less exact",
      .must_fail = "computes in float32, or by a definition that is less exact")

static const cbx_baseline_ops *const baselines[] = {
    &library,    &sklearn, &scipy,       &domain,      &learning,         &learning_less,  &torch,
    &torch_less, &python,  &python_less, &mutant_bf16, &mutant_drop_last, &mutant_swapped,
};

static const char *const input_names[] = { "a", "b", "c", "d" };
static const char *const output_names[] = { "result" };

const cbx_case_ops cbx_metrics_case = CBX__SUITE_CASE_WITHOUT_SERIES(
    "metrics", "one call of a metric function beside scikit-learn, SciPy, torchmetrics and others",
    .make_inputs = cbx__ms_make_inputs, .oracle_provider = "numpy", .oracle_definition = "{}",
    .rotate_inputs = cbx__ms_rotate_inputs, .rotate_output = cbx__ms_rotate_output, .check_point = check_point);
