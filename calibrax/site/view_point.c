/* A point of a run: its metrics, and every launch behind them. */
#include <math.h>

#include "calibrax/core/point_index.h"
#include "calibrax/site/page_view.h"
#include "calibrax/statistics/estimate.h"

#define METRICS_A_PAGE 200
#define MAX_FIGURES    6    /* of metrics with samples */
#define MAX_DOTS       1500 /* of a figure */
#define LEVEL          0.95

static const cbx_point *find_point(cbx__view *v, const cbx_run *run, cbx_err *err)
{
    const char *name = cbx__request_param(v->request, "point"), *scenario = cbx__request_param(v->request, "scenario");
    cbx_point wanted = { .name = name ? name : "", .scenario = scenario ? scenario : "" };

    if (cbx__request_tags(v->request, v->arena, &wanted.tags, &wanted.ntags, err)) return NULL;
    for (size_t i = 0; i < cbx_run_npoints(run); i++)
        if (cbx_point_same(&wanted, cbx_run_point(run, i), NULL)) return cbx_run_point(run, i);
    cbx_fail(err, CBX_ENOENT, "run '%s' has no such point", cbx_run_id(run));
    return NULL;
}

/* The finite samples of a metric, in their order. */
static double *finite_samples(cbx__view *v, const cbx_metric *m, size_t *n)
{
    double *x = cbx__view_alloc(v, m->nsamples + 1, sizeof *x);

    *n = 0;
    for (size_t i = 0; x && i < m->nsamples; i++)
        if (isfinite(m->samples[i])) x[(*n)++] = m->samples[i];
    return x;
}

static cbx_status put_figure(cbx__view *v, const cbx_named_metric *m, const double *x, size_t n,
                             const cbx_interval *median, const char *unit, cbx_err *err)
{
    size_t step = n / MAX_DOTS + 1, shown = 0;
    double *at = cbx__view_alloc(v, n / step + 1, sizeof *at), *y = cbx__view_alloc(v, n / step + 1, sizeof *y),
           ends[2] = { 1, (double)n }, level[2] = { median->value, median->value };
    static const int colours[] = { 2, 4 };
    cbx_plot_opts o = { .struct_size = sizeof o, .width = 960, .height = 260, .x_label = "sample" };
    cbx_plot *plot = NULL;
    cbx_status st;

    if (!at || !y) return cbx_fail_nomem(err, "a page");
    for (size_t i = 0; i < n; i += step) {
        at[shown] = (double)i + 1;
        y[shown++] = x[i];
    }
    o.y_label = unit && *unit ? cbx__view_text(v, "%s [%s]", m->name, unit) : m->name;
    st = cbx_plot_create(v->ctx, &o, &plot, err);
    if (!st)
        st = cbx_plot_line(
            plot, &(cbx_plot_series){ .label = "sample", .x = at, .y = y, .n = shown, .how = CBX_PLOT_MARK }, err);
    if (!st && median->level > 0) {
        double low[2] = { median->lower, median->lower }, high[2] = { median->upper, median->upper };
        const cbx_plot_series line = { "median", ends, level, low, high, 2, CBX_PLOT_JOIN | CBX_PLOT_BAND, NULL, NULL };
        st = cbx_plot_line(plot, &line, err);
    }
    return cbx__view_figure(
        v, st, plot, colours, CBX_LEN(colours),
        step > 1
            ? cbx__view_text(v, "%s: every %zuth of %zu samples, and the interval of their median", m->name, step, n)
            : cbx__view_text(v, "%s: %zu samples in the order measured, and the interval of their median", m->name, n));
}

/* What the samples say. */
static cbx_status put_samples(cbx__view *v, const cbx_named_metric *m, const char *unit, cbx_err *err)
{
    size_t n;
    double *x = finite_samples(v, &m->metric, &n);
    cbx_summary s;
    cbx_interval median;
    cbx_status st = x ? CBX_OK : cbx_fail_nomem(err, "a page");

    if (!st && n) st = cbx_stat_summary(v->ctx, x, n, &s, err);
    if (!st && n) st = cbx_stat_median_interval(v->ctx, x, n, LEVEL, &median, err);
    if (st) return st;
    cbx__view_row(v, NULL);
    cbx__view_cell(v, m->name);
    cbx__view_cell_count(v, m->metric.nsamples);
    if (!n) return CBX_OK;
    cbx__view_cell_value(v, s.min, NAN, NAN, unit);
    cbx__view_cell_value(v, s.median, median.lower, median.upper, unit);
    cbx__view_cell_value(v, s.p95, NAN, NAN, unit);
    cbx__view_cell_value(v, s.max, NAN, NAN, unit);
    cbx__view_cell_value(v, s.mad, NAN, NAN, unit);
    return CBX_OK;
}

static cbx_status put_launches(cbx__view *v, const cbx_run *run, const cbx_named_metric *metrics, size_t n,
                               cbx_err *err)
{
    static const cbx__column columns[] = { { "Metric", "metric", NULL },      { "Samples", "samples", "n" },
                                           { "Minimum", "min", "n" },         { "Median [95 %]", "median", "n" },
                                           { "95th percentile", "p95", "n" }, { "Maximum", "max", "n" },
                                           { "Spread (MAD)", "mad", "n" } };
    cbx_status st = CBX_OK;
    size_t sampled = 0, figures = 0;

    for (size_t i = 0; i < n; i++) sampled += metrics[i].metric.nsamples > 0;
    cbx__view_section(v, "Launches");
    if (!sampled) {
        cbx__view_note(v, "The run kept no samples of this point.");
        if (!v->document) return CBX_OK;
    }
    cbx__view_table(v, "samples", "samples of each metric", columns, CBX_LEN(columns));
    for (size_t i = 0; !st && i < n; i++) {
        const cbx_metric_def *def = cbx_run_find_metric_def(run, metrics[i].name);
        if (metrics[i].metric.nsamples) st = put_samples(v, &metrics[i], def ? def->unit : NULL, err);
    }
    cbx__view_table_end(v);
    for (size_t i = 0; !st && !v->document && i < n && figures < MAX_FIGURES; i++) {
        const cbx_metric_def *def = cbx_run_find_metric_def(run, metrics[i].name);
        cbx_interval median = { 0 };
        size_t finite;
        double *x = finite_samples(v, &metrics[i].metric, &finite);
        if (!x || finite < 2) continue;
        figures++;
        st = cbx_stat_median_interval(v->ctx, x, finite, LEVEL, &median, err);
        if (!st) st = put_figure(v, &metrics[i], x, finite, &median, def ? def->unit : NULL, err);
    }
    return st;
}

cbx_status cbx__view_point(cbx__view *v, cbx_err *err)
{
    static const cbx__column columns[] = { { "Metric", "metric", NULL },
                                           { "Value", "value", "n" },
                                           { "Better", "better", NULL },
                                           { "Meaning", "description", NULL } };
    CBX_OWNED(cbx_run) *run = NULL;
    cbx_status st = cbx__view_load(v, "run", &run, err);
    const cbx_point *p = st ? NULL : find_point(v, run, err);

    if (!p) return st ? st : err->status;
    cbx__view_begin(v, "", cbx__view_text(v, "%s in run %s", p->name, cbx_run_id(run)));
    cbx__view_facts(v);
    cbx__view_fact_link(v, "Run", cbx__view_to_run(v, cbx_run_id(run)), cbx_run_id(run));
    cbx__view_fact(v, "Time", cbx__view_time(v, cbx_run_timestamp_us(run)));
    cbx__view_fact(v, "Scenario", p->scenario);
    cbx__view_fact(v, "Tags", cbx__view_tags(v, p->tags, p->ntags));
    cbx__view_facts_end(v);
    cbx__view_table(v, "metrics", "metrics", columns, CBX_LEN(columns));
    const cbx__paging rows = cbx__view_page(v, METRICS_A_PAGE, p->nmetrics);
    for (size_t i = rows.from; i < rows.to; i++) {
        const cbx_named_metric *m = &p->metrics[i];
        const cbx_metric_def *def = cbx_run_find_metric_def(run, m->name);
        cbx__view_row(v, NULL);
        cbx__view_cell_link(v, cbx__view_to_trend(v, m->name, p->name, p->scenario, p->tags, p->ntags), m->name);
        cbx__view_cell_value(v, m->metric.value, m->metric.lower, m->metric.upper, def ? def->unit : NULL);
        cbx__view_cell(v, def ? cbx_direction_name(def->direction) : NULL);
        cbx__view_cell(v, def ? def->description : NULL);
    }
    cbx__view_table_end(v);
    cbx__view_pager(v, &rows, "metrics");
    return put_launches(v, run, p->metrics + rows.from, rows.to - rows.from, err);
}
