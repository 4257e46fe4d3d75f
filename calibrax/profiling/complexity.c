/*
 * Orders of growth: measured, fitted, decided.  Sizes of models.
 */
#include "calibrax/profiling/complexity.h"

#include <math.h>
#include <stdio.h>

#include "calibrax/array/trace/cost.h"
#include "calibrax/base/options.h"

#define LEAST_POWER_GAIN 4 /* AICc: a model 4 behind has "considerably less" support (Burnham & Anderson 2002, p. 70) */
#define LEAST_RESAMPLED  8
/* Every order with an intercept contains the constant, which can so never have all the weight: it is judged by what is left to explain. */
#define FLAT_WEIGHT 0.5
#define FLAT_ERROR  0.1

static cbx_status check_opts(const cbx_complexity_opts *given, cbx_complexity_opts *o, cbx_err *err)
{
    cbx_status st = cbx_take_options(o, sizeof *o, given, "cbx_complexity_opts", err);

    if (!st && !(o->least_weight > 0 && o->least_weight <= 1))
        st = cbx_fail(err, CBX_EINVAL, "'least_weight' must be greater than 0 and at most 1, got %g", o->least_weight);
    if (!st && !(o->most_error > 0))
        st = cbx_fail(err, CBX_EINVAL, "'most_error' must be greater than 0, got %g", o->most_error);
    return st ? st : cbx_check_range("least_span", o->least_span, 1, INFINITY, err);
}

static double span_of(const double *sizes, size_t n)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < n; i++) {
        least = fmin(least, sizes[i]);
        most = fmax(most, sizes[i]);
    }
    return most / least;
}

static cbx_complexity second_of(const cbx_growth *g)
{
    cbx_complexity best = g->order == CBX_COMPLEXITY_CONSTANT ? CBX_COMPLEXITY_LOG : CBX_COMPLEXITY_CONSTANT;
    for (int k = 0; k < CBX_COMPLEXITY_COUNT; k++) {
        if (k != (int)g->order && g->weight[k] > g->weight[best]) best = (cbx_complexity)k;
    }
    return best;
}

static bool has_weight(const cbx_complexity_opts *o, const cbx_growth *g)
{
    bool flat = g->order == CBX_COMPLEXITY_CONSTANT && g->relative_error <= FLAT_ERROR;
    return g->weight[g->order] >= (flat ? fmin(FLAT_WEIGHT, o->least_weight) : o->least_weight);
}

static void decide(const cbx_complexity_opts *o, double span, cbx_complexity_report *r)
{
    const cbx_growth *g = &r->growth;

    r->is_power = g->power_gain > LEAST_POWER_GAIN;
    if (r->is_power)
        snprintf(r->order, sizeof r->order, "O(n^%.3g)", g->exponent.value);
    else
        snprintf(r->order, sizeof r->order, "%s", cbx_complexity_name(g->order));
    if (span < o->least_span)
        snprintf(r->why, sizeof r->why, "sizes span a factor of %.3g only, %.3g at least are needed", span,
                 o->least_span);
    else if (!(g->relative_error <= o->most_error) && !r->is_power)
        snprintf(r->why, sizeof r->why, "points lie %.0f %% off the best curve: no order explains them",
                 100 * g->relative_error);
    else if (!r->is_power && !has_weight(o, g))
        snprintf(r->why, sizeof r->why, "%s has a weight of %.2f, %s %.2f: measure larger sizes, or more of them",
                 cbx_complexity_name(g->order), g->weight[g->order], cbx_complexity_name(second_of(g)),
                 g->weight[second_of(g)]);
    r->decided = r->why[0] == '\0';
}

cbx_status cbx_complexity_of_points(cbx_ctx *ctx, const double *sizes, const double *times, size_t n,
                                    const cbx_complexity_opts *opts, cbx_complexity_report *out, cbx_err *err)
{
    cbx_complexity_opts o = CBX_COMPLEXITY_OPTS_INIT;
    cbx_complexity_report r = { .npoints = n, .exponent = { NAN, -INFINITY, INFINITY, 0 } };
    cbx_status st = check_opts(opts, &o, err);

    if (!st) st = cbx_scaling_growth(ctx, sizes, times, n, o.level, &r.growth, err);
    if (st) return st;
    decide(&o, span_of(sizes, n), &r);
    r.exponent.value = r.growth.exponent.value;
    if (n >= LEAST_RESAMPLED)
        st = cbx_scaling_exponent_bootstrap(ctx, sizes, times, n, &r.growth, o.level, o.resamples, o.seed, &r.exponent,
                                            err);
    if (!st) *out = r;
    return st;
}

/* --- measuring --- */

static cbx_status time_size(cbx_ctx *ctx, const cbx_sized_call *call, size_t size, const cbx_timing_opts *timing,
                            cbx_complexity_point *out, cbx_err *err)
{
    cbx_call_timing t = { 0 };
    cbx_err why = CBX_ERR_INIT;
    void *state = call->user;
    cbx_status st = CBX_OK;

    if (size == 0) return cbx_fail(err, CBX_EINVAL, "a size is 0: say 1 or more");
    if (call->setup) st = call->setup(size, call->user, &state, &why);
    if (!st) {
        st = cbx_time_calls(ctx, call->run, state, timing, &t, &why);
        if (call->teardown) call->teardown(state);
    }
    if (st) return cbx_fail(err, st, "size %zu: %s", size, why.message);
    *out = (cbx_complexity_point){ size, t.steady };
    cbx_call_timing_clear(&t);
    return CBX_OK;
}

cbx_status cbx_complexity_measure(cbx_ctx *ctx, const cbx_sized_call *call, const size_t *sizes, size_t n,
                                  const cbx_timing_opts *timing, cbx_complexity_point *points, cbx_err *err)
{
    cbx_complexity_point *all = cbx_mem_calloc(cbx_ctx_allocator(ctx), n + 1, sizeof *all);
    cbx_status st = all ? CBX_OK : cbx_fail_nomem(err, "sizes");

    for (size_t i = 0; i < n && !st; i++) st = time_size(ctx, call, sizes[i], timing, &all[i], err);
    for (size_t i = 0; i < n && !st; i++) points[i] = all[i];
    cbx_mem_free(cbx_ctx_allocator(ctx), all, (n + 1) * sizeof *all);
    return st;
}

cbx_status cbx_complexity_of_measured(cbx_ctx *ctx, const cbx_complexity_point *points, size_t n,
                                      const cbx_complexity_opts *opts, cbx_complexity_report *out, cbx_err *err)
{
    double *xy = cbx_mem_calloc(cbx_ctx_allocator(ctx), 2 * n + 1, sizeof *xy);
    cbx_status st;

    if (!xy) return cbx_fail_nomem(err, "points");
    for (size_t i = 0; i < n; i++) {
        xy[i] = (double)points[i].size;
        xy[n + i] = points[i].time.value;
    }
    st = cbx_complexity_of_points(ctx, xy, xy + n, n, opts, out, err);
    cbx_mem_free(cbx_ctx_allocator(ctx), xy, (2 * n + 1) * sizeof *xy);
    return st;
}

/* --- models --- */

static cbx_status see_parameters(size_t n, const cbx_parameter *p, cbx_model_facts *m, cbx_err *err)
{
    uint64_t most = 0;
    cbx_status st = CBX_OK;

    m->largest = SIZE_MAX;
    for (size_t i = 0; i < n && !st; i++) {
        size_t count = 0;
        st = cbx_array_desc_count(&p[i].desc, &count, err);
        if (st) break;
        m->parameters += count;
        m->parameter_bytes += count * cbx_dtype_size(p[i].desc.dtype);
        if (m->largest != SIZE_MAX && count <= most) continue;
        most = count;
        m->largest = i;
    }
    return st;
}

static cbx_status see_inputs(size_t n, const cbx_array_desc *d, cbx_model_facts *m, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < n && !st; i++) {
        size_t count = 0;
        st = cbx_array_desc_count(&d[i], &count, err);
        m->input_bytes += count * cbx_dtype_size(d[i].dtype);
    }
    return st;
}

static cbx_status see_work(cbx_ctx *ctx, const cbx_fn *f, const cbx_array_desc *in, cbx_model_facts *m, cbx_err *err)
{
    cbx_cost_report r;
    cbx_status st = cbx_cost_count(ctx, f, f->nin, in, &r, err);

    if (!st) st = cbx_flops_of_fn(ctx, f, f->nin, in, &m->work, err);
    if (st) return st;
    m->output_bytes = r.out_bytes;
    m->passing_bytes = r.total.bytes_written > r.out_bytes ? r.total.bytes_written - r.out_bytes : 0;
    m->memory_bytes = m->parameter_bytes + m->input_bytes + m->output_bytes + m->passing_bytes;
    return CBX_OK;
}

cbx_status cbx_model_measure(cbx_ctx *ctx, const cbx_fn *f, size_t n, const cbx_parameter *parameters, size_t ninputs,
                             const cbx_array_desc *inputs, cbx_model_facts *out, cbx_err *err)
{
    cbx_array_desc *in = NULL;
    cbx_model_facts m = { 0 };
    cbx_status st;

    if (!f || f->nin != n + ninputs)
        return cbx_fail(err, CBX_EINVAL, "a model of %zu operands got %zu parameters and %zu inputs", f ? f->nin : 0, n,
                        ninputs);
    in = cbx_mem_calloc(cbx_ctx_allocator(ctx), f->nin + 1, sizeof *in);
    if (!in) return cbx_fail_nomem(err, "operands");
    for (size_t i = 0; i < n; i++) in[i] = parameters[i].desc;
    for (size_t i = 0; i < ninputs; i++) in[n + i] = inputs[i];
    st = see_parameters(n, parameters, &m, err);
    if (!st) st = see_inputs(ninputs, inputs, &m, err);
    if (!st) st = see_work(ctx, f, in, &m, err);
    cbx_mem_free(cbx_ctx_allocator(ctx), in, (f->nin + 1) * sizeof *in);
    if (!st) *out = m;
    return st;
}
