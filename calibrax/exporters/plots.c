/*
 * Plots of a run: bars where values are compared, lines where a tag is a number, or the kinds that are asked for.
 *
 * run-ID-METRIC.svg, with the kind behind it where it was asked for: the values of the tag that is compared are the series; what else
 * tells points apart is along x.  If that is one tag whose values are numbers > 0 the plot has lines over it, both axes logarithmic
 * where the values span a decade.
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

static bool read_places(cbx_export_job *job, cbx__grid *g)
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

static cbx_status make_grid(cbx_export_job *job, const cbx__table *t, cbx__grid *g, cbx_err *err)
{
    size_t n = t->nrows;

    *g = (cbx__grid){ .table = t, .x_label = only_label(t, job->opts.group_by) };
    g->x = cbx_arena_calloc(job->arena, n, sizeof *g->x);
    g->series = cbx_arena_calloc(job->arena, n, sizeof *g->series);
    g->xs = cbx_arena_calloc(job->arena, n, sizeof *g->xs);
    g->names = cbx_arena_calloc(job->arena, n, sizeof *g->names);
    if (!g->x || !g->series || !g->xs || !g->names) return cbx_fail_nomem(err, "a plot");
    for (size_t i = 0; i < n; i++) {
        const char *place = place_of(job, t, i), *name = NULL;
        for (size_t k = 0; k < t->nlabels; k++)
            if (is_compared(t, k, job->opts.group_by)) name = t->rows[i * t->nlabels + k];
        if (!place) return cbx_fail_nomem(err, "a plot");
        g->x[i] = index_of(g->xs, &g->nx, place);
        g->series[i] = index_of(g->names, &g->nseries, name ? name : "");
    }
    return read_places(job, g) ? CBX_OK : cbx_fail_nomem(err, "a plot");
}

/* Values of one series over x; what is not there is missing. */
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

static bool spans_decade(const double *v, size_t n)
{
    double min = INFINITY, max = 0;

    for (size_t i = 0; i < n; i++) min = fmin(min, v[i]), max = fmax(max, v[i]);
    return max >= 10 * min;
}

/* Order along x, so that lines do not run back. */
static void sort_strip(const cbx__grid *g, strip *s, double *places)
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

static cbx_status add_series(cbx_export_job *job, const cbx__grid *g, cbx_plot *p, size_t column, size_t series,
                             cbx_err *err)
{
    cbx_plot_series s = {
        g->names[series], NULL, NULL, NULL, NULL, g->nx, CBX_PLOT_JOIN | CBX_PLOT_MARK | CBX_PLOT_WHISK, NULL, NULL
    };
    double *places = g->places ? cbx_arena_calloc(job->arena, g->nx, sizeof *places) : NULL;
    strip v;

    if ((g->places && !places) || !make_strip(job, g, column, series, &v)) return cbx_fail_nomem(err, "a plot");
    if (places) sort_strip(g, &v, places);
    s.x = places;
    s.y = v.y;
    s.lower = v.lower;
    s.upper = v.upper;
    return places ? cbx_plot_line(p, &s, err) : cbx_plot_bars(p, &s, err);
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

static cbx_status draw_grid(cbx_export_job *job, const cbx__grid *g, size_t column, cbx_plot **out, cbx_err *err)
{
    cbx_plot_opts o;
    cbx_status st = cbx__plot_options(job, g->table, column, &o, err);

    if (st) return st;
    o.x_label = g->x_label;
    o.x = !g->places ? CBX_PLOT_CATEGORIES : spans_decade(g->places, g->nx) ? CBX_PLOT_LOG : CBX_PLOT_LINEAR;
    o.y = g->places && cbx__plot_wants_log(g->table, column) ? CBX_PLOT_LOG : CBX_PLOT_LINEAR;
    st = cbx_plot_create(job->ctx, &o, out, err);
    if (!st && !g->places) st = cbx_plot_categories(*out, g->xs, g->nx, err);
    for (size_t i = 0; !st && i < g->nseries; i++) st = add_series(job, g, *out, column, i, err);
    return st;
}

static cbx_status draw_bars(cbx_export_job *job, const cbx__grid *g, size_t column, cbx_plot **out, cbx_err *err)
{
    cbx__grid named = *g;

    named.places = NULL;
    return draw_grid(job, &named, column, out, err);
}

static cbx_status draw_lines(cbx_export_job *job, const cbx__grid *g, size_t column, cbx_plot **out, cbx_err *err)
{
    if (!g->places)
        return cbx_fail(err, CBX_ENOENT,
                        "run '%s' has no points that differ in one tag of numbers above 0, beside '%s'",
                        cbx_run_id(g->table->run), job->opts.group_by);
    return draw_grid(job, g, column, out, err);
}

static const cbx__plot_kind plot_auto = { "auto", "lines over a tag of numbers, else bars", draw_grid, NULL };
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

/* Takes the plot. */
static cbx_status put_plot(cbx_export_job *job, const cbx_run *run, const char *part, const cbx__plot_kind *kind,
                           cbx_plot *p, cbx_plot_format format, cbx_err *err)
{
    const char *safe = cbx__export_safe_name(job->arena, part), *name = NULL;
    bool is_auto = kind == &plot_auto;
    cbx_text text;
    cbx_status st = CBX_OK;

    if (safe)
        name = cbx_arena_printf(job->arena, "run-%s-%s%s%s.%s", cbx_run_id(run), safe, is_auto ? "" : "-",
                                is_auto ? "" : kind->name, cbx_plot_format_name(format));
    cbx_text_init(&text, cbx_ctx_allocator(job->ctx));
    st = name ? cbx_plot_draw(p, format, &text, err) : cbx_fail_nomem(err, "a plot");
    if (!st) st = cbx__export_file(job, name, &text, err);
    cbx_text_clear(&text);
    cbx_plot_free(p);
    return st;
}

/* Metrics that have nothing of the kind are passed over, unless none has. */
static cbx_status draw_metrics(cbx_export_job *job, const cbx__grid *g, const cbx__plot_kind *kind,
                               cbx_plot_format format, cbx_err *err)
{
    size_t drawn = 0;
    cbx_status st = CBX_OK;

    for (size_t k = 0; !st && k < g->table->ncolumns; k++) {
        cbx_plot *p = NULL;
        st = kind->draw_metric(job, g, k, &p, err);
        if (!st)
            st = put_plot(job, g->table->run, g->table->columns[k].name, kind, p, format, err);
        else
            cbx_plot_free(p);
        drawn += !st;
        if (st == CBX_ENOENT && (drawn || k + 1 < g->table->ncolumns)) st = CBX_OK;
    }
    return st;
}

static cbx_status draw_kind(cbx_export_job *job, const cbx__grid *g, const char *name, cbx_plot_format format,
                            cbx_err *err)
{
    const cbx__plot_kind *kind;
    const char *part = NULL;
    cbx_plot *p = NULL;
    cbx_status st = find_kind(name, &kind, err);

    if (st) return st;
    if (kind->draw_metric) return draw_metrics(job, g, kind, format, err);
    st = kind->draw_run(job, g, &p, &part, err);
    if (!st) return put_plot(job, g->table->run, part, kind, p, format, err);
    cbx_plot_free(p);
    return st;
}

static cbx_status draw_run(cbx_export_job *job, const cbx_run *run, cbx_plot_format format, cbx_err *err)
{
    cbx__table t;
    cbx__grid g;
    cbx_status st = cbx__table_make(job, run, &t, err);

    if (st) return st;
    if (!t.nrows || !t.ncolumns) return cbx_fail(err, CBX_EINVAL, "run '%s' has no values to draw", cbx_run_id(run));
    st = make_grid(job, &t, &g, err);
    if (!st && !job->opts.nplots) st = draw_kind(job, &g, "auto", format, err);
    for (size_t i = 0; !st && i < job->opts.nplots; i++) st = draw_kind(job, &g, job->opts.plots[i], format, err);
    return st;
}

static cbx_status svg_run(cbx_export_job *job, const cbx_run *run, cbx_err *err)
{
    return draw_run(job, run, CBX_PLOT_SVG, err);
}

static cbx_status pdf_run(cbx_export_job *job, const cbx_run *run, cbx_err *err)
{
    return draw_run(job, run, CBX_PLOT_PDF, err);
}

static cbx_status png_run(cbx_export_job *job, const cbx_run *run, cbx_err *err)
{
    return draw_run(job, run, CBX_PLOT_PNG, err);
}

const cbx_exporter cbx__export_svg = { sizeof(cbx_exporter),
                                       CBX_EXPORTER_ABI,
                                       "svg",
                                       "plots, one a metric unless others are asked for: run-ID-METRIC.svg",
                                       svg_run,
                                       NULL };
const cbx_exporter cbx__export_pdf = { sizeof(cbx_exporter),
                                       CBX_EXPORTER_ABI,
                                       "pdf",
                                       "plots, one a metric unless others are asked for: run-ID-METRIC.pdf",
                                       pdf_run,
                                       NULL };
const cbx_exporter cbx__export_png = { sizeof(cbx_exporter),
                                       CBX_EXPORTER_ABI,
                                       "png",
                                       "plots, one a metric unless others are asked for: run-ID-METRIC.png",
                                       png_run,
                                       NULL };
