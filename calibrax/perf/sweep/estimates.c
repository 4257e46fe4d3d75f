/**
 * Modes, steady state, the least effect, and every metric beside the time with its interval over
 * launches.  See estimates.h.
 */
#include "calibrax/perf/sweep/estimates.h"

#include <math.h>
#include <string.h>

#include "calibrax/analysis/verdict.h"
#include "calibrax/base/idioms.h"
#include "calibrax/statistics/estimate.h"
#include "calibrax/statistics/multiplicity.h"
#include "calibrax/statistics/series.h"
#include "calibrax/statistics/variance.h"

/* --- paired ratios: the median of quotients with its interval, the verdict on it, and the p-value
 * of what it claims --- */

cbx_row_interval cbx__row_interval(const cbx_interval *iv, const char **reason)
{
    if (iv->level > 0) return (cbx_row_interval){ iv->value, iv->lower, iv->upper, iv->level };
    *reason = "too few launches for an interval";
    return (cbx_row_interval){ iv->value, NAN, NAN, 0 };
}

cbx_status cbx__row_pair(cbx_ctx *ctx, const double *mine, const double *theirs, size_t n, double level, cbx_row *row,
                         cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    size_t below = 0, above = 0;
    cbx_interval iv;
    const cbx_status st = cbx_stat_paired_ratio(ctx, mine, theirs, n, level, &iv, err);

    if (st) return st;
    double *q = cbx_arena_calloc(&arena, n, sizeof *q);
    if (!q) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu quotients", n);
    for (size_t i = 0; i < n; i++) {
        q[i] = mine[i] / theirs[i];
        below += q[i] < 1;
        above += q[i] > 1;
    }
    /* two-sided for a difference, two one-sided tests for equivalence */
    const cbx_verdict verdict = cbx_verdict_of_ratio(&iv, CBX_VERDICT_MARGIN);
    row->margin_equal = CBX_VERDICT_MARGIN;
    row->p_difference = cbx_stat_sign_test_p(below, above);
    row->p_equivalence = cbx_stat_equivalence_p(q, n, 1 / (1 + CBX_VERDICT_MARGIN), 1 + CBX_VERDICT_MARGIN);
    row->paired = cbx__row_interval(&iv, &row->paired_reason);
    row->verdict = cbx_verdict_name(verdict);
    row->pairs = n;
    row->paired_p = verdict == CBX_VERDICT_EQUIVALENT ? row->p_equivalence : row->p_difference;
    return CBX_OK;
}

/* *l becomes the first launch after its round, of which the median is read. */
static void take_round(const cbx__launch **l, double *median)
{
    const size_t round = (*l)->round;

    *median = NAN;
    for (; *l && (*l)->round == round; *l = (*l)->next)
        if (!isnan((*l)->median_s)) *median = (*l)->median_s;
}

size_t cbx__pair_rounds(const cbx__attempt *a, const cbx__attempt *rival, double *mine, double *theirs)
{
    const cbx__launch *l = a->first, *m = rival->first;
    size_t n = 0;

    while (l && m) {
        const size_t round = l->round < m->round ? l->round : m->round;
        double x = NAN, y = NAN;
        if (l->round == round) take_round(&l, &x);
        if (m->round == round) take_round(&m, &y);
        if (!(x > 0) || !(y > 0)) continue;
        mine[n] = x;
        theirs[n++] = y;
    }
    return n;
}

#define LEVEL          0.95
#define MAX_MODES      8
#define ALPHA          0.05
#define POWER          0.9
#define RUNS           400 /* of the simulation: good to some per cent of the effect */
#define MODES_LAUNCHES 6   /* one of fewer that differs is an accident, not a mode */
#define MAX_SIDE       50

static cbx_status no_memory(cbx_err *err) { return cbx_fail_nomem(err, "estimates"); }

/* --- of the time --- */

static cbx_status put_modes(cbx_ctx *ctx, cbx_arena *arena, const double *medians, size_t n, cbx_row *row, cbx_err *err)
{
    cbx_mode modes[MAX_MODES];
    size_t count = 0;
    const cbx_status st = n < MODES_LAUNCHES
                              ? CBX_EINVAL
                              : cbx_stat_modes(ctx, medians, n, CBX_MODES_RESOLUTION, modes, MAX_MODES, &count, NULL);

    if (st) return st == CBX_ENOMEM ? no_memory(err) : CBX_OK;
    cbx_row_mode *kept = cbx_arena_calloc(arena, MAX_MODES, sizeof *kept);
    if (!kept) return no_memory(err);
    row->nmodes = count < MAX_MODES ? count : MAX_MODES;
    for (size_t i = 0; i < row->nmodes; i++)
        kept[i] = (cbx_row_mode){ modes[i].center, modes[i].low, modes[i].high, modes[i].share, modes[i].count };
    row->modes = kept;
    return CBX_OK;
}

static cbx_status put_detectable(cbx_ctx *ctx, const double *medians, size_t n, cbx_row *row, cbx_err *err)
{
    cbx_detectable_opts opts = CBX_DETECTABLE_OPTS_INIT;
    const size_t side = n < MAX_SIDE ? n : MAX_SIDE;
    double *smallest = &row->detectable.relative;

    opts.alpha = ALPHA;
    opts.power = POWER;
    opts.runs = RUNS;
    opts.threads = 1;
    const cbx_status st = n < MODES_LAUNCHES ? CBX_EINVAL
                                             : cbx_stat_detectable_ratio(ctx, medians, n, side, &opts, smallest, NULL);
    if (st) return st == CBX_ENOMEM ? no_memory(err) : CBX_OK;
    if (isinf(*smallest)) *smallest = NAN; /* no slow-down would be found: no effect is known */
    row->detectable.launches = side;
    row->detectable.alpha = ALPHA;
    row->detectable.power = POWER;
    return CBX_OK;
}

/* --- of everything else --- */

/* Median and interval of the values; nothing for none. */
static cbx_status put_over(cbx_ctx *ctx, const double *x, size_t n, cbx_row_metric *out, cbx_err *err)
{
    cbx_interval iv;

    if (!n) return CBX_OK;
    cbx_status st = cbx_stat_median_interval(ctx, x, n, LEVEL, &iv, err);
    if (st) return st;
    out->over = cbx__row_interval(&iv, &out->reason);
    out->launches = x;
    out->nlaunches = n;
    return CBX_OK;
}

cbx_status cbx__estimates_put_error(cbx_ctx *ctx, cbx_arena *arena, const cbx__attempt *a, cbx_row *row, cbx_err *err)
{
    double *x = cbx_arena_calloc(arena, a->nlaunches + 1, sizeof *x);
    size_t n = 0;

    if (!x) return no_memory(err);
    if (isfinite(row->rel_to_tol)) row->margin = 1 - row->rel_to_tol;
    for (const cbx__launch *l = a->first; l; l = l->next) {
        const cbx_fidelity *f = &l->record.fidelity;
        if (f->checked && isfinite(f->rel_to_tol)) x[n++] = f->rel_to_tol;
    }
    return put_over(ctx, x, n, &row->error, err);
}

cbx_status cbx__estimates_put(cbx_ctx *ctx, cbx_arena *arena, const cbx__attempt *a, cbx_row *row, cbx_err *err)
{
    const struct {
        size_t number;
        double scale;
        cbx_row_metric *out;
    } metrics[] = {
#define METRIC(member, scale, field) { offsetof(cbx_launch_record, member), scale, &row->field }
        METRIC(compile_ns, 1e-9, compile),
        METRIC(first_call_ns, 1e-9, first_call),
        METRIC(hwm_increase_bytes, 1e-6, memory),
        METRIC(device_peak_bytes, 1e-6, device_memory),
        METRIC(call_overhead_ns, 1e-9, call_overhead),
        METRIC(energy_call_j, 1, energy),
#undef METRIC
    };
    uint64_t *const states[] = { [CBX_STEADY_FLAT] = &row->steady_state.flat,
                                 [CBX_STEADY_WARMUP] = &row->steady_state.warm_up,
                                 [CBX_STEADY_SLOWDOWN] = &row->steady_state.slowdown,
                                 [CBX_STEADY_NONE] = &row->steady_state.none };
    double *x, sum_w = 0;
    size_t powers = 0;
    cbx__times t;
    cbx_status st = cbx__attempt_times(arena, a, &t, err);

    if (!st) st = put_modes(ctx, arena, t.medians, t.launches, row, err);
    for (size_t i = 0; !st && i < CBX_LEN(metrics); i++) {
        x = cbx_arena_calloc(arena, a->nlaunches + 1, sizeof *x);
        if (!x) return no_memory(err);
        st = put_over(ctx, x, cbx__attempt_numbers(a, metrics[i].number, metrics[i].scale, true, x), metrics[i].out,
                      err);
    }
    x = cbx_arena_calloc(arena, a->nwarm + 1, sizeof *x);
    if (!st && !x) st = no_memory(err);
    for (size_t i = 0; !st && i < a->nwarm; i++) x[i] = 1e-9 * a->warm_ns[i];
    if (!st) st = put_over(ctx, x, a->nwarm, &row->compile_warm, err);
    if (!st) st = put_detectable(ctx, t.medians, t.launches, row, err);
    if (st) return st;
    for (const cbx__launch *l = a->first; l; l = l->next) {
        if (isnan(l->median_s)) continue;
        ++*states[l->steady];
        row->steady_state.dropped += l->steady_from;
        row->steady_state.epochs += l->record.epochs;
        if (!isfinite(l->record.power_w)) continue;
        sum_w += l->record.power_w;
        powers++;
        row->energy_scope = l->record.energy_scope;
    }
    if (powers) row->power_w = sum_w / (double)powers;
    /* The reason for each missing metric. */
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
    row->compile_s = row->compile.over.value;
    row->first_call_s = row->first_call.over.value;
    return CBX_OK;
}

/* --- layout: the share of the launches' variance that a drawn factor explains --- */

#define PAGE       4096
#define MIN_LAYOUT 24 /* launches: three a bin */
enum { BINS = 8 };

static const struct {
    const char *name;
    size_t offset;
} factors[] = { { "environment", offsetof(cbx__layout, env_pad_bytes) },
                { "stack", offsetof(cbx__layout, stack_pad_bytes) },
                { "heap", offsetof(cbx__layout, heap_pad_bytes) } };

/* Launch medians by the eighth of a page that the factor shifts them by: one-way components of
 * their logarithms. */
cbx_json *cbx__estimates_layout(cbx_arena *arena, const cbx__attempt *a)
{
    double *x = cbx_arena_calloc(arena, a->nlaunches + 1, sizeof *x);
    size_t timed = 0;

    for (const cbx__launch *l = a->first; l; l = l->next) timed += !isnan(l->median_s);
    cbx_json *o = !x || timed < MIN_LAYOUT ? NULL : cbx_json_new_object();
    for (size_t f = 0; o && f < CBX_LEN(factors); f++) {
        size_t sizes[BINS], groups = 0, n = 0;
        cbx_components c;
        for (size_t bin = 0; bin < BINS; bin++) {
            const size_t before = n;
            for (const cbx__launch *l = a->first; l; l = l->next) {
                const size_t *shift = (const void *)((const char *)&l->layout + factors[f].offset);
                if (!isnan(l->median_s) && *shift % PAGE / (PAGE / BINS) == bin) x[n++] = log(l->median_s);
            }
            if (n > before) sizes[groups++] = n - before;
        }
        const bool none = groups < 2 || cbx_stat_components(&(cbx_nested){ x, sizes, groups }, &c, NULL);
        cbx_json_set_double(o, factors[f].name, none ? NAN : c.share);
    }
    return o;
}
