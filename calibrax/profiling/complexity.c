/* Orders of growth: measured, fitted, decided. */
#include "calibrax/profiling/complexity.h"

#include <math.h>
#include <stdio.h>

#include "calibrax/base/options.h"

#define MIN_RESAMPLED 8
/* Every order with an intercept contains the constant, so that can never have all the weight: it is
 * judged by the rest. */
#define FLAT_WEIGHT 0.5
#define FLAT_ERROR  0.1

static void decide(const cbx_complexity_opts *o, double span, cbx_complexity_report *r)
{
    const cbx_growth *g = &r->growth;
    bool flat = g->order == CBX_COMPLEXITY_CONSTANT && g->relative_error <= FLAT_ERROR;
    double min_weight = flat ? fmin(FLAT_WEIGHT, o->min_weight) : o->min_weight;
    cbx_complexity second = g->order == CBX_COMPLEXITY_CONSTANT ? CBX_COMPLEXITY_LOG : CBX_COMPLEXITY_CONSTANT;

    for (int k = 0; k < CBX_COMPLEXITY_COUNT; k++)
        if (k != (int)g->order && g->weight[k] > g->weight[second]) second = (cbx_complexity)k;
    r->is_power = g->free_exponent;
    cbx_growth_text(g, r->order);
    if (span < o->min_span)
        snprintf(r->why, sizeof r->why, "sizes span a factor of %.3g only, at least %.3g is needed", span, o->min_span);
    else if (!(g->relative_error <= o->max_error))
        snprintf(r->why, sizeof r->why, "points lie %.0f %% off the best curve: no order explains them",
                 100 * g->relative_error);
    else if (!r->is_power && g->weight[g->order] < min_weight)
        snprintf(r->why, sizeof r->why, "%s has a weight of %.2f, %s %.2f: measure larger sizes, or more of them",
                 cbx_complexity_name(g->order), g->weight[g->order], cbx_complexity_name(second), g->weight[second]);
    r->decided = r->why[0] == '\0';
}

cbx_status cbx_complexity_of_points(cbx_ctx *ctx, const double *sizes, const double *times, size_t n,
                                    const cbx_complexity_opts *opts, cbx_complexity_report *out, cbx_err *err)
{
    cbx_complexity_opts o = CBX_COMPLEXITY_OPTS_INIT;
    cbx_complexity_report r = { .npoints = n, .exponent = { NAN, -INFINITY, INFINITY, 0 } };
    double smallest = INFINITY, largest = 0;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_complexity_opts", err);

    if (!st && !(o.min_weight > 0 && o.min_weight <= 1))
        st = cbx_fail(err, CBX_EINVAL, "'min_weight' must be greater than 0 and at most 1, got %g", o.min_weight);
    if (!st && !(o.max_error > 0))
        st = cbx_fail(err, CBX_EINVAL, "'max_error' must be greater than 0, got %g", o.max_error);
    if (!st) st = cbx_check_range("min_span", o.min_span, 1, INFINITY, err);
    if (!st) st = cbx_scaling_growth(ctx, sizes, times, n, o.level, &r.growth, err);
    if (st) return st;
    for (size_t i = 0; i < n; i++) {
        smallest = fmin(smallest, sizes[i]);
        largest = fmax(largest, sizes[i]);
    }
    decide(&o, largest / smallest, &r);
    r.exponent.value = r.growth.exponent.value;
    if (n >= MIN_RESAMPLED)
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

    if (size == 0) return cbx_fail(err, CBX_EINVAL, "a size must be at least 1, got 0");
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

    if (!xy) return cbx_fail_nomem(err, "points");
    for (size_t i = 0; i < n; i++) {
        xy[i] = (double)points[i].size;
        xy[n + i] = points[i].time.value;
    }
    cbx_status st = cbx_complexity_of_points(ctx, xy, xy + n, n, opts, out, err);
    cbx_mem_free(cbx_ctx_allocator(ctx), xy, (2 * n + 1) * sizeof *xy);
    return st;
}
