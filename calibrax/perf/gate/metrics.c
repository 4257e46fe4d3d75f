/* What of two rows is compared: the outcome, times, compile times, memory, errors; by launches where both sides have them. */
#include <math.h>
#include <string.h>

#include "calibrax/perf/gate/gate_internal.h"

typedef enum metric_id {
    OK,
    TIME,
    TIME_MIN,
    TIME_P95,
    COMPILE,
    COMPILE_WARM,
    MEMORY,
    DEVICE_MEMORY,
    ERROR,
    NMETRICS
} metric_id;

_Static_assert(NMETRICS == CBX__GATE_METRICS, "as many as the header says");

const cbx_metric_def cbx__gate_defs[CBX__GATE_METRICS] = {
    [OK] = { "ok", "", CBX_DIRECTION_HIGHER, "outcome", CBX_PRIORITY_PRIMARY, "1: the row came out good" },
    [TIME] = { "time", "s", CBX_DIRECTION_LOWER, "time", CBX_PRIORITY_PRIMARY, "median of launch medians" },
    [TIME_MIN] = { "time_min", "s", CBX_DIRECTION_LOWER, "time", CBX_PRIORITY_SECONDARY, "least epoch" },
    [TIME_P95] = { "time_p95", "s", CBX_DIRECTION_LOWER, "time", CBX_PRIORITY_SECONDARY, "95th percentile of epochs" },
    [COMPILE] = { "compile_time", "s", CBX_DIRECTION_LOWER, "time", CBX_PRIORITY_SECONDARY, "cold" },
    [COMPILE_WARM] = { "compile_time_warm", "s", CBX_DIRECTION_LOWER, "time", CBX_PRIORITY_SECONDARY,
                       "with a cache that is filled" },
    [MEMORY] = { "memory", "MB", CBX_DIRECTION_LOWER, "memory", CBX_PRIORITY_SECONDARY,
                 "growth of the worker, 10^6 bytes" },
    [DEVICE_MEMORY] = { "device_memory", "MB", CBX_DIRECTION_LOWER, "memory", CBX_PRIORITY_SECONDARY, "peak" },
    [ERROR] = { "error_to_tolerance", "", CBX_DIRECTION_LOWER, "fidelity", CBX_PRIORITY_SECONDARY,
                "largest error over its bound" },
};

/* What the launches said of a metric; NULL with *n 0 where the row does not hold it. */
static const double *launches_of(const cbx_row *row, metric_id id, size_t *n)
{
    const cbx_row_metric *metric = id == COMPILE         ? &row->compile
                                   : id == COMPILE_WARM  ? &row->compile_warm
                                   : id == MEMORY        ? &row->memory
                                   : id == DEVICE_MEMORY ? &row->device_memory
                                   : id == ERROR         ? &row->error
                                                         : NULL;

    *n = id == TIME ? row->nlaunches : metric ? metric->nlaunches : 0;
    return id == TIME ? row->launch_medians_s : metric ? metric->launches : NULL;
}

static bool both_launched(const cbx_row *a, const cbx_row *b, metric_id id)
{
    size_t na, nb;

    launches_of(a, id, &na);
    launches_of(b, id, &nb);
    return na && nb;
}

/* Of rows that do not hold their launches: what is kept instead, the same on both sides. */
static double memory_of(const cbx_row *row, bool launched, bool increase)
{
    return launched ? row->memory.over.value : increase ? row->host_rss_increase_mb : row->host_rss_mb;
}

/* A row whose answer is wrong, was not compared with the oracle although its counterpart's was, or is no number, is not good. */
static bool passed(const cbx_row *row, const cbx_row *other)
{
    if (!cbx_row_is_good(row)) return false;
    if (!row->fidelity_status) return !other || !other->fidelity_status;
    return !strcmp(row->fidelity_status, "ok") && !(row->rel_to_tol > 1) &&
           (!isnan(row->rel_to_tol) || !other || isnan(other->rel_to_tol));
}

/* Values of a pair; NaN where the row has none.  Time is never ignored. */
static void value_pair(const cbx_row *a, const cbx_row *b, metric_id id, double out[2])
{
    const cbx_row *rows[2] = { a, b };
    bool increase = isfinite(a->host_rss_increase_mb) && isfinite(b->host_rss_increase_mb);
    bool launched[CBX__GATE_METRICS];

    for (int k = 0; k < CBX__GATE_METRICS; k++) launched[k] = both_launched(a, b, (metric_id)k);
    for (int i = 0; i < 2; i++) {
        const cbx_row *r = rows[i];
        const double values[CBX__GATE_METRICS] = { [OK] = passed(r, rows[1 - i]),
                                                   [TIME] = r->median_s,
                                                   [TIME_MIN] = r->min_s,
                                                   [TIME_P95] = r->p95_s,
                                                   [COMPILE] = r->compile_s,
                                                   [COMPILE_WARM] = r->compile_warm.over.value,
                                                   [MEMORY] = memory_of(r, launched[MEMORY], increase),
                                                   [DEVICE_MEMORY] = launched[DEVICE_MEMORY]
                                                                         ? r->device_memory.over.value
                                                                         : r->peak_hbm_mb,
                                                   [ERROR] = launched[ERROR] ? r->error.over.value : r->rel_to_tol };
        out[i] = values[id];
    }
}

/* Whether the metric of `row` is laid before the engine; one that only this row has is then dropped or new. */
static bool has_finding(const cbx__gate *g, const cbx_row *row, const cbx_row *other, metric_id id, double value)
{
    bool launches = row->nlaunches && other->nlaunches;

    if (!passed(row, other) || !passed(other, row)) return false;
    if (id == TIME) return launches || isnan(row->min_s) || isnan(other->min_s);
    if (id == TIME_MIN && launches && isnan(g->opts->min_ratio)) return false;
    if (id == TIME_P95 && launches && isnan(g->opts->p95_ratio)) return false;
    return !isnan(value);
}

size_t cbx__gate_metrics(const cbx__gate *g, const cbx_row *row, const cbx_row *other, cbx_named_metric *out)
{
    size_t n = 0;

    out[n++] = (cbx_named_metric){ cbx__gate_defs[OK].name, cbx_metric_of(passed(row, other)) };
    for (int id = TIME; other && id < CBX__GATE_METRICS; id++) {
        double v[2];
        value_pair(row, other, (metric_id)id, v);
        if (!has_finding(g, row, other, (metric_id)id, v[0])) continue;
        out[n] = (cbx_named_metric){ cbx__gate_defs[id].name, cbx_metric_of(v[0]) };
        /* time is by launches or not at all; the others by launches where both sides have them */
        if (id == TIME ? row->nlaunches > 0 : both_launched(row, other, (metric_id)id))
            out[n].metric.samples = launches_of(row, (metric_id)id, &out[n].metric.nsamples);
        n++;
    }
    return n;
}
