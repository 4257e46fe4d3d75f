/**
 * Modes, steady state, the least effect, and every metric beside the time with its interval over launches.  See estimates.h.
 */
#include "calibrax/perf/sweep/estimates.h"

#include <math.h>
#include <string.h>

#include "calibrax/perf/sweep/pairing.h"
#include "calibrax/statistics/estimate.h"
#include "calibrax/statistics/series.h"
#include "calibrax/statistics/variance.h"

#define LEVEL     0.95
#define MAX_MODES 8
#define ALPHA     0.05
#define POWER     0.9
#define RUNS      400 /* of the simulation: good to some per cent of the effect */
#define MAX_SIDE  50

static cbx_status no_memory(cbx_err *err) { return cbx_fail(err, CBX_ENOMEM, "out of memory for estimates"); }

/* --- of the time --- */

static size_t medians_of(const cbx__attempt *a, double *out)
{
    size_t n = 0;

    for (const cbx__launch *l = a->first; l; l = l->next)
        if (!isnan(l->median_s)) out[n++] = l->median_s;
    return n;
}

static cbx_status put_modes(cbx_ctx *ctx, cbx_arena *arena, const double *medians, size_t n, cbx_row *row, cbx_err *err)
{
    cbx_mode modes[MAX_MODES];
    cbx_row_mode *kept;
    size_t count = 0;
    cbx_status st = n < 2 ? CBX_EINVAL
                          : cbx_stat_modes(ctx, medians, n, CBX_MODES_RESOLUTION, modes, MAX_MODES, &count, NULL);

    if (st) return st == CBX_ENOMEM ? no_memory(err) : CBX_OK;
    kept = cbx_arena_calloc(arena, MAX_MODES, sizeof *kept);
    if (!kept) return no_memory(err);
    row->nmodes = count < MAX_MODES ? count : MAX_MODES;
    for (size_t i = 0; i < row->nmodes; i++)
        kept[i] = (cbx_row_mode){ modes[i].center, modes[i].low, modes[i].high, modes[i].share, modes[i].count };
    row->modes = kept;
    return CBX_OK;
}

static void put_steady_state(const cbx__attempt *a, cbx_row *row)
{
    uint64_t *const counts[] = { [CBX_STEADY_FLAT] = &row->steady_state.flat,
                                 [CBX_STEADY_WARMUP] = &row->steady_state.warm_up,
                                 [CBX_STEADY_SLOWDOWN] = &row->steady_state.slowdown,
                                 [CBX_STEADY_NONE] = &row->steady_state.none };

    for (const cbx__launch *l = a->first; l; l = l->next) {
        if (isnan(l->median_s)) continue;
        ++*counts[l->steady];
        row->steady_state.dropped += l->steady_from;
        row->steady_state.epochs += l->record.epochs;
    }
}

static cbx_status put_detectable(cbx_ctx *ctx, const double *medians, size_t n, cbx_row *row, cbx_err *err)
{
    cbx_detectable_opts opts = CBX_DETECTABLE_OPTS_INIT;
    size_t side = n < MAX_SIDE ? n : MAX_SIDE;

    opts.alpha = ALPHA;
    opts.power = POWER;
    opts.runs = RUNS;
    opts.threads = 1;
    cbx_status st = n < 2 ? CBX_EINVAL
                          : cbx_stat_detectable_ratio(ctx, medians, n, side, &opts, &row->detectable.relative, NULL);
    if (st) return st == CBX_ENOMEM ? no_memory(err) : CBX_OK;
    if (isinf(row->detectable.relative))
        row->detectable.relative = NAN; /* no slow-down would be found: no effect is known */
    row->detectable.launches = side;
    row->detectable.alpha = ALPHA;
    row->detectable.power = POWER;
    return CBX_OK;
}

/* --- of everything else --- */

typedef double (*number_of)(const cbx_launch_record *r);
static double compile_of(const cbx_launch_record *r) { return 1e-9 * r->compile_ns; }
static double first_call_of(const cbx_launch_record *r) { return 1e-9 * r->first_call_ns; }
static double increase_of(const cbx_launch_record *r) { return 1e-6 * r->hwm_increase_bytes; }
static double device_of(const cbx_launch_record *r) { return 1e-6 * r->device_peak_bytes; }
static double overhead_of(const cbx_launch_record *r) { return 1e-9 * r->call_overhead_ns; }
static double error_of(const cbx_launch_record *r) { return r->fidelity.checked ? r->fidelity.rel_to_tol : NAN; }
static double energy_of(const cbx_launch_record *r) { return r->energy_call_j; }

/* Median and interval of the values; nothing for none. */
static cbx_status put_over(cbx_ctx *ctx, const double *x, size_t n, cbx_row_metric *out, cbx_err *err)
{
    cbx_interval iv;
    cbx_status st;

    if (!n) return CBX_OK;
    st = cbx_stat_median_interval(ctx, x, n, LEVEL, &iv, err);
    if (st) return st;
    out->over = cbx__row_interval(&iv, &out->reason);
    out->launches = x;
    out->nlaunches = n;
    return CBX_OK;
}

/* @param timed  only of launches that gave a time */
static cbx_status put_metric(cbx_ctx *ctx, cbx_arena *arena, const cbx__attempt *a, number_of f, bool timed,
                             cbx_row_metric *out, cbx_err *err)
{
    double *x = cbx_arena_calloc(arena, a->nlaunches + 1, sizeof *x);
    size_t n = 0;

    if (!x) return no_memory(err);
    for (const cbx__launch *l = a->first; l; l = l->next) {
        double v = f(&l->record);
        if ((!timed || !isnan(l->median_s)) && isfinite(v)) x[n++] = v;
    }
    return put_over(ctx, x, n, out, err);
}

static cbx_status put_warm(cbx_ctx *ctx, cbx_arena *arena, const cbx__attempt *a, cbx_row *row, cbx_err *err)
{
    double *x = cbx_arena_calloc(arena, a->nwarm + 1, sizeof *x);

    if (!x) return no_memory(err);
    for (size_t i = 0; i < a->nwarm; i++) x[i] = 1e-9 * a->warm_ns[i];
    return put_over(ctx, x, a->nwarm, &row->compile_warm, err);
}

/* The reason for each missing metric. */
static void put_reasons(const cbx__attempt *a, cbx_row *row)
{
    const cbx_provider_ops *provider = cbx_provider_find(a->baseline->provider);
    const char *no_compiler = provider ? provider->no_compiler : "the compiler is not known";
    bool cpu = strncmp(a->platform, "cuda", 4) != 0;

    if (isnan(row->compile.over.value)) row->compile.reason = no_compiler ? no_compiler : "no launch reported it";
    if (isnan(row->compile_warm.over.value))
        row->compile_warm.reason = !isnan(row->compile.over.value) || !no_compiler
                                       ? a->warm_reason ? a->warm_reason
                                                        : "its framework keeps no cache that is known here"
                                       : no_compiler;
    if (isnan(row->memory.over.value)) row->memory.reason = "the kernel did not let the high-water mark be reset";
    if (isnan(row->device_memory.over.value))
        row->device_memory.reason = cpu ? "the platform has no device memory" : "the framework does not report it";
    if (isnan(row->call_overhead.over.value)) row->call_overhead.reason = "the worker cannot measure it";
    if (isnan(row->energy.over.value))
        row->energy.reason = a->last && a->last->record.energy_why[0] ? a->last->record.energy_why : "not measured";
}

static void put_power(const cbx__attempt *a, cbx_row *row)
{
    double sum = 0;
    size_t n = 0;

    for (const cbx__launch *l = a->first; l; l = l->next) {
        if (isnan(l->median_s) || !isfinite(l->record.power_w)) continue;
        sum += l->record.power_w;
        n++;
        row->energy_scope = l->record.energy_scope;
    }
    if (n) row->power_w = sum / (double)n;
}

cbx_status cbx__estimates_put_error(cbx_ctx *ctx, cbx_arena *arena, const cbx__attempt *a, cbx_row *row, cbx_err *err)
{
    if (isfinite(row->rel_to_tol)) row->margin = 1 - row->rel_to_tol;
    return put_metric(ctx, arena, a, error_of, false, &row->error, err);
}

cbx_status cbx__estimates_put(cbx_ctx *ctx, cbx_arena *arena, const cbx__attempt *a, cbx_row *row, cbx_err *err)
{
    const struct {
        number_of f;
        cbx_row_metric *out;
    } metrics[] = {
        { compile_of, &row->compile },      { first_call_of, &row->first_call },  { increase_of, &row->memory },
        { device_of, &row->device_memory }, { overhead_of, &row->call_overhead }, { energy_of, &row->energy },
    };
    double *medians = cbx_arena_calloc(arena, a->nlaunches + 1, sizeof *medians);
    size_t n = medians ? medians_of(a, medians) : 0;
    cbx_status st = medians ? put_modes(ctx, arena, medians, n, row, err) : no_memory(err);

    for (size_t i = 0; !st && i < CBX_LEN(metrics); i++)
        st = put_metric(ctx, arena, a, metrics[i].f, true, metrics[i].out, err);
    if (!st) st = put_warm(ctx, arena, a, row, err);
    if (!st) st = put_detectable(ctx, medians, n, row, err);
    if (st) return st;
    put_steady_state(a, row);
    put_power(a, row);
    put_reasons(a, row);
    row->compile_s = row->compile.over.value;
    row->first_call_s = row->first_call.over.value;
    return CBX_OK;
}

/* --- layout: the share of the launches' variance that a drawn factor explains --- */

#define PAGE       4096
#define MIN_LAYOUT 24 /* launches: three a bin */
enum { BINS = 8 };

typedef size_t (*factor_of)(const cbx__layout *l);
static size_t env_of(const cbx__layout *l) { return l->env_pad_bytes; }
static size_t stack_of(const cbx__layout *l) { return l->stack_pad_bytes; }
static size_t heap_of(const cbx__layout *l) { return l->heap_pad_bytes; }

static const struct {
    const char *name;
    factor_of of;
} factors[] = { { "environment", env_of }, { "stack", stack_of }, { "heap", heap_of } };

/* Launch medians by the eighth of a page that the factor shifts them by: one-way components of their logarithms. */
static double layout_share(const cbx__attempt *a, factor_of of, double *x)
{
    size_t sizes[BINS], groups = 0, n = 0;
    cbx_components c;

    for (size_t bin = 0; bin < BINS; bin++) {
        size_t before = n;
        for (const cbx__launch *l = a->first; l; l = l->next) {
            if (isnan(l->median_s) || of(&l->layout) % PAGE / (PAGE / BINS) != bin) continue;
            x[n++] = log(l->median_s);
        }
        if (n > before) sizes[groups++] = n - before;
    }
    if (groups < 2 || cbx_stat_components(&(cbx_nested){ x, sizes, groups }, &c, NULL)) return NAN;
    return c.share;
}

cbx_json *cbx__estimates_layout(cbx_arena *arena, const cbx__attempt *a)
{
    double *x = cbx_arena_calloc(arena, a->nlaunches + 1, sizeof *x);
    cbx_json *o;
    size_t n = 0;

    for (const cbx__launch *l = a->first; l; l = l->next) n += !isnan(l->median_s);
    o = !x || n < MIN_LAYOUT ? NULL : cbx_json_new_object();
    for (size_t f = 0; o && f < CBX_LEN(factors); f++)
        cbx_json_set_double(o, factors[f].name, layout_share(a, factors[f].of, x));
    return o;
}
