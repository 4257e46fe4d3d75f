/*
 * Plots of a run: bars where values are compared, lines where a tag is a number, or the kinds that are asked for.
 *
 * run-ID-METRIC.svg, followed by the kind where it was asked for: the values of the tag that is compared are the series; the
 * other labels that distinguish points are along x.  If that is one tag, and numbers > 0 where the metric has values, the plot
 * has lines over it, both axes logarithmic where the values span a decade.
 */
#include "calibrax/exporters/plots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static cbx_status make_grid(cbx_export_job *job, const cbx__table *t, cbx__grid *g, cbx_err *err)
{
    size_t n = t->nrows;

    *g = (cbx__grid){ .table = t, .x_label = only_label(t, job->opts.group_by) };
    g->x = cbx_arena_calloc(job->arena, n, sizeof *g->x);
    g->series = cbx_arena_calloc(job->arena, n, sizeof *g->series);
    g->xs = cbx_arena_calloc(job->arena, n, sizeof *g->xs);
    g->names = cbx_arena_calloc(job->arena, n, sizeof *g->names);
    g->places = cbx_arena_calloc(job->arena, n, sizeof *g->places);
    if (!g->x || !g->series || !g->xs || !g->names || !g->places) return cbx_fail_nomem(err, "a plot");
    for (size_t i = 0; i < n; i++) {
        const char *place = place_of(job, t, i), *name = NULL;
        for (size_t k = 0; k < t->nlabels; k++)
            if (is_compared(t, k, job->opts.group_by)) name = t->rows[i * t->nlabels + k];
        if (!place) return cbx_fail_nomem(err, "a plot");
        g->x[i] = index_of(g->xs, &g->nx, place);
        g->series[i] = index_of(g->names, &g->nseries, name ? name : "");
    }
    for (size_t i = 0; i < g->nx; i++) {
        char *end;
        double v = strtod(g->xs[i], &end);
        g->places[i] = end != g->xs[i] && !*end && v > 0 && isfinite(v) ? v : NAN;
    }
    return CBX_OK;
}

/* Whether the points that have the metric are at numbers, and at least two; their range. */
static bool is_over_numbers(const cbx__grid *g, size_t column, double *min, double *max)
{
    *min = INFINITY;
    *max = 0;
    for (size_t i = 0; g->x_label && i < g->table->nrows; i++) {
        if (!g->table->cells[i * g->table->ncolumns + column].metric) continue;
        if (isnan(g->places[g->x[i]])) return false;
        *min = fmin(*min, g->places[g->x[i]]);
        *max = fmax(*max, g->places[g->x[i]]);
    }
    return *min < *max;
}

/* Values of one series over x; NaN: missing. */
typedef struct strip {
    double *y, *lower, *upper;
} strip;

static bool make_strip(cbx_export_job *job, const cbx__grid *g, size_t column, size_t series, strip *s)
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

bool cbx__plot_wants_log(const cbx__table *t, size_t column)
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

/* Order along x, so that lines do not run back; places that are not numbers last. */
static void sort_strip(const cbx__grid *g, strip *s, double *places)
{
    memcpy(places, g->places, g->nx * sizeof *places);
    for (size_t i = 1; i < g->nx; i++)
        for (size_t k = i; k && (places[k - 1] > places[k] || (isnan(places[k - 1]) && !isnan(places[k]))); k--) {
            double *const all[] = { places, s->y, s->lower, s->upper };
            for (size_t a = 0; a < CBX_LEN(all); a++) {
                double v = all[a][k];
                all[a][k] = all[a][k - 1];
                all[a][k - 1] = v;
            }
        }
}

static cbx_status add_series(cbx_export_job *job, const cbx__grid *g, cbx_plot *p, size_t column, size_t series,
                             bool lines, cbx_err *err)
{
    double *places = cbx_arena_calloc(job->arena, g->nx, sizeof *places);
    cbx_plot_series s = { .label = g->names[series], .how = CBX_PLOT_JOIN | CBX_PLOT_MARK | CBX_PLOT_WHISK };
    strip v;

    if (!places || !make_strip(job, g, column, series, &v)) return cbx_fail_nomem(err, "a plot");
    if (lines) sort_strip(g, &v, places);
    while (s.n < g->nx && !(lines && isnan(places[s.n]))) s.n++;
    s.x = lines ? places : NULL;
    s.y = v.y;
    s.lower = v.lower;
    s.upper = v.upper;
    return lines ? cbx_plot_line(p, &s, err) : cbx_plot_bars(p, &s, err);
}

const char *cbx__plot_metric_name(cbx_export_job *job, const cbx__column *c)
{
    if (!c->def || !*c->def->unit) return c->name;
    return cbx_arena_printf(job->arena, "%s [%s]", c->name, c->def->unit);
}

cbx_status cbx__plot_options(cbx_export_job *job, const cbx__table *t, size_t column, cbx_plot_opts *out, cbx_err *err)
{
    const cbx__column *c = &t->columns[column];

    *out = (cbx_plot_opts)CBX_PLOT_OPTS_INIT;
    out->title = *t->facts ? cbx_arena_printf(job->arena, "%s (%s)", c->name, t->facts) : c->name;
    out->y_label = cbx__plot_metric_name(job, c);
    out->theme = job->opts.dark ? CBX_PLOT_DARK : CBX_PLOT_LIGHT;
    return out->title && out->y_label ? CBX_OK : cbx_fail_nomem(err, "a plot");
}

const char *cbx__plot_row_name(cbx_export_job *job, const cbx__grid *g, size_t row)
{
    const char *series = g->names[g->series[row]], *place = g->xs[g->x[row]];

    if (g->nx == 1 && *series) return series;
    return *series ? cbx_arena_printf(job->arena, "%s, %s", series, place) : place;
}

/* --- bars and lines --- */

static cbx_status draw_bars(cbx_export_job *job, const cbx__grid *g, size_t column, cbx_plot **out, cbx_err *err)
{
    cbx_plot_opts o;
    cbx_status st = cbx__plot_options(job, g->table, column, &o, err);

    if (st) return st;
    o.x_label = g->x_label;
    o.x = CBX_PLOT_CATEGORIES;
    st = cbx_plot_create(job->ctx, &o, out, err);
    if (!st) st = cbx_plot_categories(*out, g->xs, g->nx, err);
    for (size_t i = 0; !st && i < g->nseries; i++) st = add_series(job, g, *out, column, i, false, err);
    return st;
}

static cbx_status draw_lines(cbx_export_job *job, const cbx__grid *g, size_t column, cbx_plot **out, cbx_err *err)
{
    double min, max;
    cbx_plot_opts o;
    cbx_status st = cbx__plot_options(job, g->table, column, &o, err);

    if (st) return st;
    if (!is_over_numbers(g, column, &min, &max))
        return cbx_fail(
            err, CBX_ENOENT,
            "the points of run '%s' that have '%s' do not differ in one tag of numbers above 0, beside '%s'",
            cbx_run_id(g->table->run), g->table->columns[column].name, job->opts.group_by);
    o.x_label = g->x_label;
    o.x = max >= 10 * min ? CBX_PLOT_LOG : CBX_PLOT_LINEAR;
    o.y = cbx__plot_wants_log(g->table, column) ? CBX_PLOT_LOG : CBX_PLOT_LINEAR;
    st = cbx_plot_create(job->ctx, &o, out, err);
    for (size_t i = 0; !st && i < g->nseries; i++) st = add_series(job, g, *out, column, i, true, err);
    return st;
}

static cbx_status draw_auto(cbx_export_job *job, const cbx__grid *g, size_t column, cbx_plot **out, cbx_err *err)
{
    double min, max;

    return (is_over_numbers(g, column, &min, &max) ? draw_lines : draw_bars)(job, g, column, out, err);
}

static const cbx__plot_kind plot_auto = { "auto", "lines over a tag of numbers, else bars", draw_auto, NULL };
static const cbx__plot_kind plot_bar = { "bar", "values side by side, with their intervals", draw_bars, NULL };
static const cbx__plot_kind plot_line = { "line", "values over a tag of numbers", draw_lines, NULL };

/* --- kinds --- */

static const cbx__plot_kind *const kinds[] = {
    &plot_auto,      &plot_bar,         &plot_line,          &cbx__plot_box, &cbx__plot_violin, &cbx__plot_convergence,
    &cbx__plot_heat, &cbx__plot_pareto, &cbx__plot_roofline,
};

size_t cbx_export_nplots(void) { return CBX_LEN(kinds); }
const char *cbx_export_plot_name(size_t i) { return i < CBX_LEN(kinds) ? kinds[i]->name : NULL; }
const char *cbx_export_plot_summary(size_t i) { return i < CBX_LEN(kinds) ? kinds[i]->summary : NULL; }

static cbx_status find_kind(const char *name, const cbx__plot_kind **out, cbx_err *err)
{
    for (size_t i = 0; i < CBX_LEN(kinds); i++) {
        *out = kinds[i];
        if (!strcmp(kinds[i]->name, name)) return CBX_OK;
    }
    return cbx_fail(err, CBX_EINVAL,
                    "no plot '%s': auto, bar, line, box, violin, convergence, heat, pareto and roofline are known",
                    name);
}

/* --- files --- */

bool cbx__plot_format_of(const cbx_exporter *format, cbx_plot_format *out)
{
    for (int f = CBX_PLOT_SVG; f <= CBX_PLOT_PNG; f++) {
        *out = (cbx_plot_format)f;
        if (!strcmp(format->name, cbx_plot_format_name(*out))) return true;
    }
    return false;
}

cbx_status cbx__plot_put(cbx_export_job *job, const char *prefix, const char *part, const char *kind, cbx_plot *p,
                         cbx_plot_format format, cbx_err *err)
{
    const char *safe = cbx__export_safe_name(job->arena, part), *name = NULL;
    cbx_text text;
    cbx_status st;

    if (safe && prefix)
        name = cbx_arena_printf(job->arena, "%s-%s%s%s.%s", prefix, safe, *kind ? "-" : "", kind,
                                cbx_plot_format_name(format));
    if (!name) return cbx_fail_nomem(err, "a plot");
    cbx_text_init(&text, cbx_ctx_allocator(job->ctx));
    st = cbx_plot_draw(p, format, &text, err);
    if (!st) st = cbx__export_file(job, name, &text, err);
    cbx_text_clear(&text);
    return st;
}

/* Metrics that have nothing of the kind are skipped, unless none has. */
static cbx_status draw_kind(cbx_export_job *job, const cbx__grid *g, const char *kind_name, cbx_err *err)
{
    const char *prefix = cbx_arena_printf(job->arena, "run-%s", cbx_run_id(g->table->run)), *part = NULL;
    cbx_plot_format format = CBX_PLOT_SVG;
    const cbx__plot_kind *kind;
    size_t drawn = 0;
    cbx_status st = find_kind(kind_name, &kind, err);
    const char *suffix = !st && kind != &plot_auto ? kind->name : "";

    cbx__plot_format_of(job->format, &format);
    for (size_t k = 0; !st && k < (kind->draw_metric ? g->table->ncolumns : 1); k++) {
        cbx_plot *p = NULL;
        if (kind->draw_metric)
            st = kind->draw_metric(job, g, k, &p, err);
        else
            st = kind->draw_run(job, g, &p, &part, err);
        if (!st)
            st = cbx__plot_put(job, prefix, kind->draw_metric ? g->table->columns[k].name : part, suffix, p, format,
                               err);
        cbx_plot_free(p);
        drawn += !st;
        if (st == CBX_ENOENT && kind->draw_metric && (drawn || k + 1 < g->table->ncolumns)) st = CBX_OK;
    }
    return st;
}

static cbx_status draw_run(cbx_export_job *job, const cbx_run *run, cbx_err *err)
{
    cbx__table t;
    cbx__grid g;
    cbx_status st = cbx__table_make(job, run, &t, err);

    if (st) return st;
    if (!t.nrows || !t.ncolumns) return cbx_fail(err, CBX_EINVAL, "run '%s' has no values to draw", cbx_run_id(run));
    st = make_grid(job, &t, &g, err);
    if (!st && !job->opts.nplots) st = draw_kind(job, &g, "auto", err);
    for (size_t i = 0; !st && i < job->opts.nplots; i++) st = draw_kind(job, &g, job->opts.plots[i], err);
    return st;
}

#define PLOT_EXPORTER(form)                                                                                            \
    const cbx_exporter cbx__export_##form = { sizeof(cbx_exporter),                                                    \
                                              CBX_EXPORTER_ABI,                                                        \
                                              #form,                                                                   \
                                              "plots, one a metric unless others are asked for: run-ID-METRIC." #form, \
                                              draw_run,                                                                \
                                              NULL }
PLOT_EXPORTER(svg);
PLOT_EXPORTER(pdf);
PLOT_EXPORTER(png);
