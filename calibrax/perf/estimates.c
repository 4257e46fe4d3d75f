/**
 * What the launches of an attempt say beside their median: modes, steady state, the least effect that would have shown, intervals of compile
 * time and memory.  See estimates.h.
 */
#include "calibrax/perf/estimates.h"

#include <math.h>

#include "calibrax/statistics/estimate.h"
#include "calibrax/statistics/series.h"
#include "calibrax/statistics/variance.h"

#define LEVEL      0.95
#define MOST_MODES 8
#define RUNS       400 /* of the simulation: good to some per cent of the effect */
#define MOST_SIDE  50

static bool put(cbx_json *object, const char *key, cbx_json *child)
{
    return child && cbx_json_set(object, key, child);
}

/* --- modes --- */

static cbx_json *mode_json(const cbx_mode *m)
{
    cbx_json *o = cbx_json_new_object();
    if (!o) return NULL;
    cbx_json_set_double(o, "center_s", m->center);
    cbx_json_set_double(o, "low_s", m->low);
    cbx_json_set_double(o, "high_s", m->high);
    cbx_json_set_int(o, "launches", (int64_t)m->count);
    cbx_json_set_double(o, "share", m->share);
    return o;
}

static cbx_json *modes_json(cbx_ctx *ctx, const double *medians, size_t n)
{
    cbx_mode modes[MOST_MODES];
    size_t count = 0;
    cbx_json *list;

    if (n < 2 || cbx_stat_modes(ctx, medians, n, 0, modes, MOST_MODES, &count, NULL)) return NULL;
    list = cbx_json_new_array();
    for (size_t i = 0; list && i < count && i < MOST_MODES; i++) cbx_json_push(list, mode_json(&modes[i]));
    return list;
}

/* --- steady state: how many launches are of which class --- */

static cbx_json *steady_json(const cbx__attempt *a)
{
    size_t counts[CBX_STEADY_NONE + 1] = { 0 }, dropped = 0, epochs = 0;
    cbx_json *o = cbx_json_new_object();

    for (const cbx__launch *l = a->first; o && l; l = l->next) {
        if (isnan(l->median_s)) continue;
        counts[l->steady]++;
        dropped += l->steady_from;
        epochs += l->record.epochs;
    }
    for (int k = 0; o && k <= CBX_STEADY_NONE; k++)
        cbx_json_set_int(o, cbx_steady_name((cbx_steady_class)k), (int64_t)counts[k]);
    if (o) cbx_json_set_int(o, "epochs", (int64_t)epochs);
    if (o) cbx_json_set_int(o, "epochs_dropped", (int64_t)dropped);
    return o;
}

/* --- the least effect --- */

static cbx_json *detectable_json(cbx_ctx *ctx, const double *medians, size_t n)
{
    cbx_detectable_opts opts = CBX_DETECTABLE_OPTS_INIT;
    double effect;
    cbx_json *o;

    opts.runs = RUNS;
    opts.threads = 1;
    if (n < 2 || cbx_stat_detectable_ratio(ctx, medians, n, n < MOST_SIDE ? n : MOST_SIDE, &opts, &effect, NULL))
        return NULL;
    o = cbx_json_new_object();
    if (!o) return NULL;
    cbx_json_set_double(o, "relative", effect);
    cbx_json_set_int(o, "launches_a_side", (int64_t)(n < MOST_SIDE ? n : MOST_SIDE));
    cbx_json_set_double(o, "alpha", 0.05);
    cbx_json_set_double(o, "power", 0.9);
    return o;
}

/* --- other metrics, each with an interval over launches --- */

typedef double (*number_of)(const cbx_launch_record *r);
static double compile_of(const cbx_launch_record *r) { return 1e-9 * r->compile_ns; }
static double first_call_of(const cbx_launch_record *r) { return 1e-9 * r->first_call_ns; }
static double memory_of(const cbx_launch_record *r) { return 1e-6 * r->hwm_bytes; }
static double increase_of(const cbx_launch_record *r) { return 1e-6 * r->hwm_increase_bytes; }
static double device_of(const cbx_launch_record *r) { return 1e-6 * r->device_peak_bytes; }

static const struct {
    const char *name;
    number_of of;
} metrics[] = {
    { "compile_s", compile_of },           { "first_call_s", first_call_of }, { "memory_mb", memory_of },
    { "memory_increase_mb", increase_of }, { "device_memory_mb", device_of },
};

static cbx_json *interval_json(cbx_ctx *ctx, const double *x, size_t n)
{
    cbx_interval iv;
    cbx_json *o;

    if (!n || cbx_stat_median_interval(ctx, x, n, LEVEL, &iv, NULL)) return NULL;
    o = cbx_json_new_object();
    if (!o) return NULL;
    cbx_json_set_double(o, "median", iv.value);
    cbx_json_set_double(o, "lower", iv.lower);
    cbx_json_set_double(o, "upper", iv.upper);
    cbx_json_set_double(o, "level", iv.level);
    cbx_json_set_int(o, "launches", (int64_t)n);
    return o;
}

static void put_metrics(cbx_ctx *ctx, const cbx__attempt *a, double *scratch, cbx_json *o)
{
    for (size_t m = 0; m < CBX_LEN(metrics); m++) {
        size_t n = 0;
        for (const cbx__launch *l = a->first; l; l = l->next) {
            double v = metrics[m].of(&l->record);
            if (!isnan(l->median_s) && isfinite(v)) scratch[n++] = v;
        }
        put(o, metrics[m].name, interval_json(ctx, scratch, n));
    }
}

cbx_json *cbx__estimates_make(cbx_ctx *ctx, cbx_arena *arena, const cbx__attempt *a)
{
    double *scratch = cbx_arena_calloc(arena, a->nlaunches + 1, sizeof *scratch);
    cbx_json *o = scratch ? cbx_json_new_object() : NULL;
    size_t n = 0;

    if (!o) return NULL;
    for (const cbx__launch *l = a->first; l; l = l->next)
        if (!isnan(l->median_s)) scratch[n++] = l->median_s;
    put(o, "modes", modes_json(ctx, scratch, n));
    put(o, "steady_state", steady_json(a));
    put(o, "detectable_effect", detectable_json(ctx, scratch, n));
    put_metrics(ctx, a, scratch, o);
    return o;
}
