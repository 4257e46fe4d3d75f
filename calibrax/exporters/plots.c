/*
 * Plots of a run, one a metric: bars where values are compared, lines where a tag is a number.
 *
 * run-ID-METRIC.svg: the values of the tag that is compared are the series; what else tells points apart is along x.  If that
 * is one tag whose values are numbers > 0 the plot has lines over it, both axes logarithmic where the values span a decade.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/exporters/table.h"
#include "calibrax/plot/plot.h"

/* A metric by place along x and series; both are known by a row that is the first of its kind. */
typedef struct grid {
    const cbx__table *table;
    size_t *x, *series;       /* of each row */
    const char **xs, **names; /* labels */
    size_t nx, nseries;
    double *places;      /* numbers of xs; NULL: they are names */
    const char *x_label; /* NULL: several labels are joined */
} grid;

static cbx_status no_memory(cbx_err *err) { return cbx_fail(err, CBX_ENOMEM, "out of memory for a plot"); }

static bool is_compared(const cbx__table *t, size_t k, const char *by) { return !strcmp(t->labels[k], by); }

/* The labels of a row but for the one compared: "forward, 32". */
static const char *place_of(cbx_export_job *job, const cbx__table *t, size_t row)
{
    const char *out = NULL;

    for (size_t k = 0; k < t->nlabels; k++) {
        const char *value = t->rows[row * t->nlabels + k];
        if (is_compared(t, k, job->opts.group_by)) continue;
        out = cbx_arena_printf(job->arena, "%s%s%s", out ? out : "", out ? ", " : "", value ? value : "-");
        if (!out) return NULL;
    }
    return out ? out : cbx_arena_strdup(job->arena, cbx_run_id(t->run));
}

static size_t index_of(const char **names, size_t *n, const char *name)
{
    for (size_t i = 0; i < *n; i++)
        if (!strcmp(names[i], name)) return i;
    names[*n] = name;
    return (*n)++;
}

/* The one label along x, if there is one. */
static const char *only_label(const cbx__table *t, const char *by)
{
    const char *only = NULL;

    for (size_t k = 0; k < t->nlabels; k++)
        if (!is_compared(t, k, by)) {
            if (only) return NULL;
            only = t->labels[k];
        }
    return only;
}

static bool read_places(cbx_export_job *job, grid *g)
{
    double *places = cbx_arena_calloc(job->arena, g->nx, sizeof *places);

    for (size_t i = 0; places && i < g->nx; i++) {
        char *end;
        places[i] = strtod(g->xs[i], &end);
        if (end == g->xs[i] || *end || !(places[i] > 0) || !isfinite(places[i])) return true; /* names */
    }
    if (places && g->nx > 1 && g->x_label) g->places = places;
    return places;
}

static cbx_status make_grid(cbx_export_job *job, const cbx__table *t, grid *g, cbx_err *err)
{
    size_t n = t->nrows;

    *g = (grid){ .table = t, .x_label = only_label(t, job->opts.group_by) };
    g->x = cbx_arena_calloc(job->arena, n, sizeof *g->x);
    g->series = cbx_arena_calloc(job->arena, n, sizeof *g->series);
    g->xs = cbx_arena_calloc(job->arena, n, sizeof *g->xs);
    g->names = cbx_arena_calloc(job->arena, n, sizeof *g->names);
    if (!g->x || !g->series || !g->xs || !g->names) return no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const char *place = place_of(job, t, i), *name = NULL;
        for (size_t k = 0; k < t->nlabels; k++)
            if (is_compared(t, k, job->opts.group_by)) name = t->rows[i * t->nlabels + k];
        if (!place) return no_memory(err);
        g->x[i] = index_of(g->xs, &g->nx, place);
        g->series[i] = index_of(g->names, &g->nseries, name ? name : "");
    }
    return read_places(job, g) ? CBX_OK : no_memory(err);
}

/* Values of one series over x; what is not there is missing. */
typedef struct strip {
    double *y, *lower, *upper;
} strip;

static bool make_strip(cbx_export_job *job, const grid *g, size_t column, size_t series, strip *s)
{
    s->y = cbx_arena_calloc(job->arena, g->nx, sizeof(double));
    s->lower = cbx_arena_calloc(job->arena, g->nx, sizeof(double));
    s->upper = cbx_arena_calloc(job->arena, g->nx, sizeof(double));
    if (!s->y || !s->lower || !s->upper) return false;
    for (size_t i = 0; i < g->nx; i++) s->y[i] = s->lower[i] = s->upper[i] = NAN;
    for (size_t i = 0; i < g->table->nrows; i++) {
        const cbx_metric *m = g->table->cells[i * g->table->ncolumns + column].metric;
        if (g->series[i] != series || !m) continue;
        s->y[g->x[i]] = m->value;
        s->lower[g->x[i]] = m->lower;
        s->upper[g->x[i]] = m->upper;
    }
    return true;
}

/* All values and bounds above 0, and a decade apart. */
static bool wants_log(const cbx__table *t, size_t column)
{
    double min = INFINITY, max = 0;

    for (size_t i = 0; i < t->nrows; i++) {
        const cbx_metric *m = t->cells[i * t->ncolumns + column].metric;
        if (!m || !isfinite(m->value)) continue;
        min = fmin(min, isfinite(m->lower) ? fmin(m->value, m->lower) : m->value);
        max = fmax(max, m->value);
    }
    return min > 0 && max >= 10 * min;
}

static bool spans_decade(const double *v, size_t n)
{
    double min = INFINITY, max = 0;

    for (size_t i = 0; i < n; i++) min = fmin(min, v[i]), max = fmax(max, v[i]);
    return max >= 10 * min;
}

/* Order along x, so that lines do not run back. */
static void sort_strip(const grid *g, strip *s, double *places)
{
    memcpy(places, g->places, g->nx * sizeof *places);
    for (size_t i = 1; i < g->nx; i++)
        for (size_t k = i; k && places[k - 1] > places[k]; k--) {
            double *const all[] = { places, s->y, s->lower, s->upper };
            for (size_t a = 0; a < CBX_LEN(all); a++) {
                double v = all[a][k];
                all[a][k] = all[a][k - 1];
                all[a][k - 1] = v;
            }
        }
}

static cbx_status add_series(cbx_export_job *job, const grid *g, cbx_plot *p, size_t column, size_t series,
                             cbx_err *err)
{
    cbx_plot_series s = {
        g->names[series], NULL, NULL, NULL, NULL, g->nx, CBX_PLOT_JOIN | CBX_PLOT_MARK | CBX_PLOT_WHISK
    };
    double *places = g->places ? cbx_arena_calloc(job->arena, g->nx, sizeof *places) : NULL;
    strip v;

    if ((g->places && !places) || !make_strip(job, g, column, series, &v)) return no_memory(err);
    if (places) sort_strip(g, &v, places);
    s.x = places;
    s.y = v.y;
    s.lower = v.lower;
    s.upper = v.upper;
    return places ? cbx_plot_line(p, &s, err) : cbx_plot_bars(p, &s, err);
}

static cbx_status begin_plot(cbx_export_job *job, const grid *g, size_t column, cbx_plot **out, cbx_err *err)
{
    const cbx__column *c = &g->table->columns[column];
    cbx_plot_opts o = CBX_PLOT_OPTS_INIT;

    o.title = *g->table->facts ? cbx_arena_printf(job->arena, "%s (%s)", c->name, g->table->facts) : c->name;
    o.y_label = c->def && *c->def->unit ? cbx_arena_printf(job->arena, "%s [%s]", c->name, c->def->unit) : c->name;
    if (!o.title || !o.y_label) return no_memory(err);
    o.x_label = g->x_label;
    o.x = !g->places ? CBX_PLOT_CATEGORIES : spans_decade(g->places, g->nx) ? CBX_PLOT_LOG : CBX_PLOT_LINEAR;
    o.y = g->places && wants_log(g->table, column) ? CBX_PLOT_LOG : CBX_PLOT_LINEAR;
    o.theme = job->opts.dark ? CBX_PLOT_DARK : CBX_PLOT_LIGHT;
    return cbx_plot_create(job->ctx, &o, out, err);
}

static cbx_status draw_metric(cbx_export_job *job, const grid *g, size_t column, cbx_plot_format format, cbx_err *err)
{
    const char *metric = cbx__export_safe_name(job->arena, g->table->columns[column].name), *name = NULL;
    cbx_plot *p = NULL;
    cbx_text text;
    cbx_status st;

    if (metric)
        name = cbx_arena_printf(job->arena, "run-%s-%s.%s", cbx_run_id(g->table->run), metric,
                                cbx_plot_format_name(format));
    if (!name) return no_memory(err);
    cbx_text_init(&text, cbx_ctx_allocator(job->ctx));
    st = begin_plot(job, g, column, &p, err);
    if (!st && !g->places) st = cbx_plot_categories(p, g->xs, g->nx, err);
    for (size_t i = 0; !st && i < g->nseries; i++) st = add_series(job, g, p, column, i, err);
    if (!st) st = cbx_plot_draw(p, format, &text, err);
    if (!st) st = cbx__export_file(job, name, &text, err);
    cbx_plot_free(p);
    cbx_text_clear(&text);
    return st;
}

static cbx_status draw_run(cbx_export_job *job, const cbx_run *run, cbx_plot_format format, cbx_err *err)
{
    cbx__table t;
    grid g;
    cbx_status st = cbx__table_make(job, run, &t, err);

    if (st) return st;
    if (!t.nrows || !t.ncolumns) return cbx_fail(err, CBX_EINVAL, "run '%s' has no values to draw", cbx_run_id(run));
    st = make_grid(job, &t, &g, err);
    for (size_t k = 0; !st && k < t.ncolumns; k++) st = draw_metric(job, &g, k, format, err);
    return st;
}

static cbx_status draw_runs(cbx_export_job *job, const cbx_run *const *runs, size_t n, cbx_plot_format format,
                            cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t i = 0; !st && i < n; i++) st = draw_run(job, runs[i], format, err);
    return st;
}

static cbx_status svg_runs(cbx_export_job *job, const cbx_run *const *runs, size_t n, cbx_err *err)
{
    return draw_runs(job, runs, n, CBX_PLOT_SVG, err);
}

static cbx_status pdf_runs(cbx_export_job *job, const cbx_run *const *runs, size_t n, cbx_err *err)
{
    return draw_runs(job, runs, n, CBX_PLOT_PDF, err);
}

static cbx_status png_runs(cbx_export_job *job, const cbx_run *const *runs, size_t n, cbx_err *err)
{
    return draw_runs(job, runs, n, CBX_PLOT_PNG, err);
}

const cbx_exporter cbx__export_svg = {
    sizeof(cbx_exporter), CBX_EXPORTER_ABI, "svg", "a plot a metric: run-ID-METRIC.svg", svg_runs, NULL
};
const cbx_exporter cbx__export_pdf = {
    sizeof(cbx_exporter), CBX_EXPORTER_ABI, "pdf", "a plot a metric: run-ID-METRIC.pdf", pdf_runs, NULL
};
const cbx_exporter cbx__export_png = {
    sizeof(cbx_exporter), CBX_EXPORTER_ABI, "png", "a plot a metric: run-ID-METRIC.png", png_runs, NULL
};
