/*
 * Plots of a run: bars where values are compared, lines where a tag is a number, or the kinds that
 * are asked for.
 *
 * run-ID-METRIC.svg, followed by the kind where it was asked for: the values of the tag that is
 * compared are the series; the other labels that distinguish points are along x.  If that is one
 * tag, and numbers > 0 where the metric has values, the plot has lines over it, both axes
 * logarithmic where the values span a decade.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/analysis/pareto.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/together.h"
#include "calibrax/core/machine.h"
#include "calibrax/exporters/table.h"
#include "calibrax/plot/charts.h"
#include "calibrax/profiling/roofline.h"
#include "calibrax/statistics/estimate.h"

/* A metric by place along x and series; both are known by a row that is the first of its kind. */
typedef struct grid {
    const cbx__table *table;
    size_t *x, *series;       /* of each row */
    const char **xs, **names; /* labels */
    size_t nx, nseries;
    double *places;      /* numbers of xs; NaN for what is not a number above 0 */
    const char *x_label; /* NULL: several labels are joined */
} grid;

/* A plot under way. */
typedef struct drawing {
    cbx_export_job *job;
    const grid *g;
    const cbx__table *t; /* of the grid */
    size_t column;       /* the metric that is drawn */
    cbx_plot_opts o;     /* with title, y_label and theme of the metric */
    cbx_plot *plot;      /* NULL: not made yet */
    const char *part;    /* in the file's name: the metric; a plot of several metrics writes its own */
} drawing;

static const cbx_metric *metric_at(const cbx__table *t, size_t row, size_t column)
{
    return t->cells[row * t->ncolumns + column].metric;
}

static bool is_compared(const cbx__table *t, size_t k, const char *by) { return !strcmp(t->labels[k], by); }

static size_t index_of(const char **names, size_t *n, const char *name)
{
    for (size_t i = 0; i < *n; i++)
        if (!strcmp(names[i], name)) return i;
    names[*n] = name;
    return (*n)++;
}

static cbx_status make_grid(cbx_export_job *job, const cbx__table *t, grid *g, cbx_err *err)
{
    size_t n = t->nrows, along = 0;

    *g = (grid){ .table = t };
    for (size_t k = 0; k < t->nlabels; k++)
        if (!is_compared(t, k, job->opts.group_by)) g->x_label = along++ ? NULL : t->labels[k];
    if (!cbx_arena_arrays(job->arena, CBX_ARRAY(g->x, n), CBX_ARRAY(g->series, n), CBX_ARRAY(g->xs, n),
                          CBX_ARRAY(g->names, n), CBX_ARRAY(g->places, n)))
        return cbx_fail_nomem(err, "a plot");
    for (size_t i = 0; i < n; i++) {
        const char *name = NULL;
        size_t put = 0;
        cbx_text place = cbx__arena_text(job->arena); /* the labels but for the one compared: "forward, 32" */
        for (size_t k = 0; k < t->nlabels; k++) {
            const char *value = t->rows[i * t->nlabels + k];
            if (is_compared(t, k, job->opts.group_by))
                name = value;
            else
                cbx_text_printf(&place, "%s%s", put++ ? ", " : "", value ? value : "-");
        }
        if (!along) cbx_text_puts(&place, cbx_run_id(t->run));
        if (place.status) return cbx_fail_nomem(err, "a plot");
        g->x[i] = index_of(g->xs, &g->nx, cbx_text_str(&place));
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
static bool is_over_numbers(const grid *g, size_t column, double *min, double *max)
{
    *min = INFINITY;
    *max = 0;
    for (size_t i = 0; g->x_label && i < g->table->nrows; i++) {
        if (!metric_at(g->table, i, column)) continue;
        if (isnan(g->places[g->x[i]])) return false;
        *min = fmin(*min, g->places[g->x[i]]);
        *max = fmax(*max, g->places[g->x[i]]);
    }
    return *min < *max;
}

/* Logarithmic where values above 0 span a decade. */
static cbx_plot_scale scale_of(double min, double max)
{
    return min > 0 && max >= 10 * min ? CBX_PLOT_LOG : CBX_PLOT_LINEAR;
}

static cbx_plot_scale scale_of_values(const cbx__table *t, size_t column)
{
    double min = INFINITY, max = 0;

    for (size_t i = 0; i < t->nrows; i++) {
        const cbx_metric *m = metric_at(t, i, column);
        if (!m || !isfinite(m->value)) continue;
        min = fmin(min, isfinite(m->lower) ? fmin(m->value, m->lower) : m->value);
        max = fmax(max, m->value);
    }
    return scale_of(min, max);
}

/* Values of one series over x; NaN: missing. */
static cbx_status add_series(const drawing *d, size_t series, bool lines, cbx_err *err)
{
    const grid *g = d->g;
    const size_t n = g->nx;
    double *x = cbx_arena_calloc(d->job->arena, 4 * n, sizeof *x);
    if (!x) return cbx_fail_nomem(err, "a plot");
    double *y = x + n, *lower = y + n, *upper = lower + n;
    cbx_plot_series s = { .label = g->names[series], .y = y, .lower = lower, .upper = upper };

    s.how = CBX_PLOT_JOIN | CBX_PLOT_MARK | CBX_PLOT_WHISK;
    if (lines) s.x = x;
    memcpy(x, g->places, n * sizeof *x);
    for (size_t i = 0; i < 3 * n; i++) y[i] = NAN;
    for (size_t i = 0; i < g->table->nrows; i++) {
        const cbx_metric *m = metric_at(d->t, i, d->column);
        if (g->series[i] != series || !m) continue;
        y[g->x[i]] = m->value;
        lower[g->x[i]] = m->lower;
        upper[g->x[i]] = m->upper;
    }
    /* Order along x, so that lines do not run back; places that are not numbers last. */
    for (size_t i = 1; lines && i < n; i++)
        for (size_t k = i; k && (x[k - 1] > x[k] || (isnan(x[k - 1]) && !isnan(x[k]))); k--)
            for (double *v = x; v < x + 4 * n; v += n) {
                double swap = v[k];
                v[k] = v[k - 1];
                v[k - 1] = swap;
            }
    while (s.n < n && !(lines && isnan(x[s.n]))) s.n++;
    return lines ? cbx_plot_line(d->plot, &s, err) : cbx_plot_bars(d->plot, &s, err);
}

static const char *metric_name(cbx_export_job *job, const cbx__column *c)
{
    if (!c->def || !*c->def->unit) return c->name;
    return cbx_arena_printf(job->arena, "%s [%s]", c->name, c->def->unit);
}

/* "words (facts)" */
static const char *title_of(const drawing *d, const char *words)
{
    return *d->t->facts ? cbx_arena_printf(d->job->arena, "%s (%s)", words, d->t->facts) : words;
}

static const char *row_name(const drawing *d, size_t row)
{
    const grid *g = d->g;
    const char *series = g->names[g->series[row]], *place = g->xs[g->x[row]];

    if (g->nx == 1 && *series) return series;
    return *series ? cbx_arena_printf(d->job->arena, "%s, %s", series, place) : place;
}

/* --- bars and lines --- */

static cbx_status draw_bars(drawing *d, cbx_err *err)
{
    d->o.x_label = d->g->x_label;
    d->o.x = CBX_PLOT_CATEGORIES;
    cbx_status st = cbx_plot_create(d->job->ctx, &d->o, &d->plot, err);
    if (!st) st = cbx_plot_categories(d->plot, d->g->xs, d->g->nx, err);
    for (size_t i = 0; !st && i < d->g->nseries; i++) st = add_series(d, i, false, err);
    return st;
}

static cbx_status draw_lines(drawing *d, cbx_err *err)
{
    double min, max;

    if (!is_over_numbers(d->g, d->column, &min, &max))
        return cbx_fail(
            err, CBX_ENOENT,
            "the points of run '%s' that have '%s' do not differ in one tag of numbers above 0, beside '%s'",
            cbx_run_id(d->t->run), d->part, d->job->opts.group_by);
    d->o.x_label = d->g->x_label;
    d->o.x = scale_of(min, max);
    d->o.y = scale_of_values(d->t, d->column);
    cbx_status st = cbx_plot_create(d->job->ctx, &d->o, &d->plot, err);
    for (size_t i = 0; !st && i < d->g->nseries; i++) st = add_series(d, i, true, err);
    return st;
}

static cbx_status draw_auto(drawing *d, cbx_err *err)
{
    double min, max;

    return (is_over_numbers(d->g, d->column, &min, &max) ? draw_lines : draw_bars)(d, err);
}

/* --- boxes and violins of samples --- */

static cbx_status add_box(const drawing *d, size_t at, const double *x, size_t n, cbx_err *err)
{
    double q1 = cbx_stat_quantile_sorted(x, n, 0.25), q3 = cbx_stat_quantile_sorted(x, n, 0.75);
    double reach = 1.5 * (q3 - q1), *outliers = cbx_arena_calloc(d->job->arena, n, sizeof *outliers);
    size_t first = 0, last = n - 1, k = 0;

    if (!outliers) return cbx_fail_nomem(err, "a plot");
    while (x[first] < q1 - reach) outliers[k++] = x[first++];
    while (x[last] > q3 + reach) outliers[k++] = x[last--];
    const cbx_plot_box box = { fmin(x[first], q1), q1, cbx_stat_quantile_sorted(x, n, 0.5), q3, fmax(x[last], q3),
                               outliers,           k };
    return cbx_plot_boxes(d->plot, at, &box, err);
}

static cbx_status fail_no_samples(const drawing *d, cbx_err *err)
{
    return cbx_fail(err, CBX_ENOENT, "no point of run '%s' has samples of '%s'", cbx_run_id(d->t->run), d->part);
}

/* Of the finite samples, sorted, of the rows that have some. */
static cbx_status draw_samples(drawing *d, bool boxes, cbx_err *err)
{
    const cbx__table *t = d->t;
    const char **names;
    double **x, min = INFINITY, max = -INFINITY;
    size_t *n, count = 0;

    if (!cbx_arena_arrays(d->job->arena, CBX_ARRAY(names, t->nrows), CBX_ARRAY(x, t->nrows), CBX_ARRAY(n, t->nrows)))
        return cbx_fail_nomem(err, "a plot");
    for (size_t row = 0; row < t->nrows; row++) {
        const cbx_metric *m = metric_at(t, row, d->column);
        double *v = x[count] = cbx_arena_calloc(d->job->arena, m ? m->nsamples : 0, sizeof *v);
        names[count] = row_name(d, row);
        if (!v || !names[count]) return cbx_fail_nomem(err, "a plot");
        for (size_t i = 0; m && i < m->nsamples; i++)
            if (isfinite(m->samples[i])) v[n[count]++] = m->samples[i];
        if (!n[count]) continue;
        cbx_stat_sort(v, n[count]);
        min = fmin(min, v[0]);
        max = fmax(max, v[n[count++] - 1]);
    }
    if (!count) return fail_no_samples(d, err);
    d->o.x = CBX_PLOT_CATEGORIES;
    if (boxes) d->o.y = scale_of(min, max);
    cbx_status st = cbx_plot_create(d->job->ctx, &d->o, &d->plot, err);
    if (!st) st = cbx_plot_categories(d->plot, names, count, err);
    for (size_t i = 0; !st && i < count; i++)
        st = boxes ? add_box(d, i, x[i], n[i], err) : cbx_plot_violin(d->plot, i, x[i], n[i], err);
    return st;
}

static cbx_status draw_boxes(drawing *d, cbx_err *err) { return draw_samples(d, true, err); }
static cbx_status draw_violins(drawing *d, cbx_err *err) { return draw_samples(d, false, err); }

/* --- samples in their order --- */

static cbx_status draw_convergence(drawing *d, cbx_err *err)
{
    const cbx__table *t = d->t;
    double *numbers, min = INFINITY, max = 0;
    size_t longest = 0;

    for (size_t row = 0; row < t->nrows; row++) {
        const cbx_metric *m = metric_at(t, row, d->column);
        for (size_t i = 0; m && i < m->nsamples; i++) {
            if (i == longest) longest++;
            if (!isfinite(m->samples[i])) continue;
            min = fmin(min, m->samples[i]);
            max = fmax(max, m->samples[i]);
        }
    }
    if (!longest) return fail_no_samples(d, err);
    numbers = cbx_arena_calloc(d->job->arena, longest, sizeof *numbers);
    if (!numbers) return cbx_fail_nomem(err, "a plot");
    for (size_t i = 0; i < longest; i++) numbers[i] = (double)(i + 1);
    d->o.x_label = "iteration";
    d->o.y = scale_of(min, max);
    cbx_status st = cbx_plot_create(d->job->ctx, &d->o, &d->plot, err);
    for (size_t row = 0; !st && row < t->nrows; row++) {
        const cbx_metric *m = metric_at(t, row, d->column);
        if (!m || !m->nsamples) continue;
        const cbx_plot_series s = { .label = row_name(d, row), .x = numbers, .y = m->samples, .n = m->nsamples };
        st = s.label ? cbx_plot_convergence(d->plot, &s, NULL, 0, err) : cbx_fail_nomem(err, "a plot");
    }
    return st;
}

/* --- a field of colours --- */

static cbx_status draw_heat(drawing *d, cbx_err *err)
{
    const grid *g = d->g;
    size_t fields = g->nseries * g->nx;
    double *values, *lower, *upper;
    const char **rows;

    if (!cbx_arena_arrays(d->job->arena, CBX_ARRAY(values, fields), CBX_ARRAY(lower, fields), CBX_ARRAY(upper, fields),
                          CBX_ARRAY(rows, g->nseries)))
        return cbx_fail_nomem(err, "a plot");
    for (size_t i = 0; i < fields; i++) values[i] = lower[i] = upper[i] = NAN;
    for (size_t i = 0; i < g->nseries; i++) rows[i] = *g->names[i] ? g->names[i] : "all";
    for (size_t i = 0; i < g->table->nrows; i++) {
        const cbx_metric *m = metric_at(d->t, i, d->column);
        size_t at_field = g->series[i] * g->nx + g->x[i];
        if (!m) continue;
        values[at_field] = m->value;
        lower[at_field] = m->lower;
        upper[at_field] = m->upper;
    }
    d->o.x = d->o.y = CBX_PLOT_CATEGORIES;
    d->o.title = title_of(d, d->o.y_label);
    d->o.y_label = NULL;
    d->o.x_label = g->x_label;
    if (!d->o.title) return cbx_fail_nomem(err, "a plot");
    cbx_status st = cbx_plot_create(d->job->ctx, &d->o, &d->plot, err);
    return st ? st : cbx_plot_heat(d->plot, values, lower, upper, rows, g->nseries, g->xs, g->nx, err);
}

/* --- a front --- */

/* The first two metrics that have a better side; those asked for must have one. */
static cbx_status choose_objectives(const cbx_export_job *job, const cbx__table *t, size_t columns[2], cbx_err *err)
{
    size_t n = 0;

    for (size_t k = 0; n < 2 && k < t->ncolumns; k++) {
        const cbx_metric_def *def = t->columns[k].def;
        if (def && def->direction != CBX_DIRECTION_INFO)
            columns[n++] = k;
        else if (job->opts.nmetrics)
            return cbx_fail(err, CBX_EINVAL,
                            "'%s' has no direction: define it as lower or higher in the run, or choose another metric",
                            t->columns[k].name);
    }
    if (n == 2) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "a Pareto plot needs two metrics with a direction, run '%s' has %zu",
                    cbx_run_id(t->run), n);
}

static cbx_status draw_pareto(drawing *d, cbx_err *err)
{
    static const cbx_metric missing = { .value = NAN, .lower = NAN, .upper = NAN };
    const cbx__table *t = d->t;
    const size_t n = t->nrows;
    double *xy /* [row][2] for the front */, *x, *y, *lower, *upper, *x_lower, *x_upper;
    const char **names;
    size_t columns[2], nfront = 0;
    bool *on_front;
    cbx_status st = choose_objectives(d->job, t, columns, err);

    if (st) return st;
    if (!cbx_arena_arrays(d->job->arena, CBX_ARRAY(xy, 2 * n), CBX_ARRAY(x, n), CBX_ARRAY(y, n), CBX_ARRAY(lower, n),
                          CBX_ARRAY(upper, n), CBX_ARRAY(x_lower, n), CBX_ARRAY(x_upper, n), CBX_ARRAY(on_front, n),
                          CBX_ARRAY(names, n)))
        return cbx_fail_nomem(err, "a plot");
    for (size_t i = 0; i < n; i++) {
        const cbx_metric *a = metric_at(t, i, columns[0]), *b = metric_at(t, i, columns[1]);
        if (!a || !b || !isfinite(a->value) || !isfinite(b->value)) a = b = &missing;
        x[i] = xy[2 * i] = a->value;
        y[i] = xy[2 * i + 1] = b->value;
        lower[i] = b->lower;
        upper[i] = b->upper;
        x_lower[i] = a->lower;
        x_upper[i] = a->upper;
        names[i] = row_name(d, i);
        if (!names[i]) return cbx_fail_nomem(err, "a plot");
    }
    const cbx__column *across = &t->columns[columns[0]], *up = &t->columns[columns[1]];
    const cbx_direction directions[] = { across->def->direction, up->def->direction };
    st = cbx_pareto_front(d->job->ctx, xy, n, 2, directions, on_front, &nfront, NULL, err);
    if (st) return st;
    if (!nfront)
        return cbx_fail(err, CBX_ENOENT, "no point of run '%s' has both '%s' and '%s'", cbx_run_id(t->run),
                        across->name, up->name);
    d->o.x_label = metric_name(d->job, across);
    d->o.y_label = metric_name(d->job, up);
    d->o.title = cbx_arena_printf(d->job->arena, "better: %s and %s",
                                  directions[0] == CBX_DIRECTION_LOWER ? "left" : "right",
                                  directions[1] == CBX_DIRECTION_LOWER ? "down" : "up");
    if (d->o.title) d->o.title = title_of(d, d->o.title);
    d->part = cbx_arena_printf(d->job->arena, "%s-%s", across->name, up->name);
    if (!d->o.x_label || !d->o.y_label || !d->o.title || !d->part) return cbx_fail_nomem(err, "a plot");
    d->o.x = scale_of_values(t, columns[0]);
    d->o.y = scale_of_values(t, columns[1]);
    st = cbx_plot_create(d->job->ctx, &d->o, &d->plot, err);
    const cbx_plot_series bars = { NULL, x, y, lower, upper, n, CBX_PLOT_WHISK | CBX_PLOT_FAINT, x_lower, x_upper };
    if (!st) st = cbx_plot_line(d->plot, &bars, err);
    return st ? st : cbx_plot_pareto(d->plot, x, y, on_front, names, n, directions[0] == CBX_DIRECTION_HIGHER, err);
}

/* --- kernels under roofs: a series a value of the compared tag, else a kernel --- */

typedef struct roofs {
    cbx_plot_roof *peaks, *bandwidths;
    size_t npeaks, nbandwidths;
} roofs;

static cbx_status read_roofs(cbx_export_job *job, const cbx_json *all, const char *key, cbx_plot_roof **out, size_t *n,
                             cbx_err *err)
{
    const cbx_json *o = cbx_json_get(all, key);
    const char *name;
    cbx_json *value;

    *out = cbx_arena_calloc(job->arena, cbx_json_length(o), sizeof **out);
    if (!*out) return cbx_fail_nomem(err, "a plot");
    for (*n = 0; cbx_json_typeof(o) == CBX_JSON_OBJECT && cbx_json_member(o, *n, &name, &value); ++*n)
        (*out)[*n] = (cbx_plot_roof){ name, cbx_json_double_value(value) };
    if (*n) return CBX_OK;
    return cbx_fail(err, CBX_EFORMAT,
                    "the run's metadata.roofs has no '%s': it must be {\"flop_per_s\": {NAME: X}, "
                    "\"bytes_per_s\": {NAME: X}}",
                    key);
}

static cbx_status roofs_of_machine(cbx_export_job *job, const char *id, roofs *out, cbx_err *err)
{
    cbx_roofs *measured = cbx_arena_calloc(job->arena, 2, sizeof *measured);
    cbx_probe probe;
    cbx_status st = measured ? cbx_probe_get(job->ctx, id, false, &probe, err) : cbx_fail_nomem(err, "a plot");

    for (int f64 = 0; !st && f64 < 2; f64++) st = cbx_roofs_of_probe(&probe, f64, 1, &measured[f64], err);
    if (st) return st;
    if (!cbx_arena_arrays(job->arena, CBX_ARRAY(out->peaks, 2), CBX_ARRAY(out->bandwidths, measured->nlevels)))
        return cbx_fail_nomem(err, "a plot");
    out->peaks[0] = (cbx_plot_roof){ "float32, one core", measured[0].flop_per_s };
    out->peaks[1] = (cbx_plot_roof){ "float64, one core", measured[1].flop_per_s };
    out->npeaks = 2;
    for (; out->nbandwidths < measured->nlevels; out->nbandwidths++)
        out->bandwidths[out->nbandwidths] = (cbx_plot_roof){ measured->level[out->nbandwidths].name,
                                                             measured->level[out->nbandwidths].bytes_per_s };
    return CBX_OK;
}

/* The roofs in the run's metadata, else those of this machine if the run is of it. */
static cbx_status find_roofs(cbx_export_job *job, const cbx_run *run, roofs *out, cbx_err *err)
{
    const cbx_json *given = cbx_json_get(cbx_run_metadata(run), "roofs");
    const char *machine = cbx_json_get_string(cbx_run_environment(run), "machine", "");
    cbx_machine here;
    cbx_status st;

    if (given) {
        st = read_roofs(job, given, "flop_per_s", &out->peaks, &out->npeaks, err);
        return st ? st : read_roofs(job, given, "bytes_per_s", &out->bandwidths, &out->nbandwidths, err);
    }
    st = cbx_machine_read(job->ctx, NULL, &here, err);
    if (st) return st;
    if (!strcmp(machine, here.id)) return roofs_of_machine(job, here.id, out, err);
    return cbx_fail(err, CBX_ENOENT,
                    "run '%s' is from a different machine, and its metadata has no roofs: add \"roofs\": "
                    "{\"flop_per_s\": {NAME: X}, \"bytes_per_s\": {NAME: X}}",
                    cbx_run_id(run));
}

static size_t column_of(const cbx__table *t, const char *name)
{
    size_t k = 0;

    while (k < t->ncolumns && strcmp(t->columns[k].name, name)) k++;
    return k;
}

static cbx_status find_kernels(cbx_export_job *job, const grid *g, cbx_plot_kernel **out, size_t *n, cbx_err *err)
{
    const cbx__table *t = g->table;
    size_t rate = column_of(t, "flop_per_s"), intensity = column_of(t, "intensity");

    *n = 0;
    *out = cbx_arena_calloc(job->arena, t->nrows, sizeof **out);
    if (!*out) return cbx_fail_nomem(err, "a plot");
    for (size_t s = 0; rate < t->ncolumns && intensity < t->ncolumns && s < g->nseries; s++)
        for (size_t i = 0; i < t->nrows; i++) {
            const cbx_metric *y = metric_at(t, i, rate), *x = metric_at(t, i, intensity);
            const char *name = g->nseries > 1 ? g->names[s] : g->xs[g->x[i]];
            if (g->series[i] != s || !x || !y || !(x->value > 0 && y->value > 0)) continue;
            if (!isfinite(x->value) || !isfinite(y->value)) continue;
            (*out)[(*n)++] = (cbx_plot_kernel){ name, x->value, y->value, y->lower > 0 ? y->lower : NAN, y->upper };
        }
    if (*n) return CBX_OK;
    if (rate == t->ncolumns || intensity == t->ncolumns)
        if (job->opts.nmetrics)
            return cbx_fail(err, CBX_EINVAL,
                            "a roofline plot needs the metrics flop_per_s and intensity, and '%s' was not selected: "
                            "name both, or no metrics",
                            rate == t->ncolumns ? "flop_per_s" : "intensity");
    return cbx_fail(err, CBX_ENOENT,
                    "no point of run '%s' has the metrics flop_per_s and intensity [flop/byte], both above 0",
                    cbx_run_id(t->run));
}

static cbx_status draw_roofline(drawing *d, cbx_err *err)
{
    cbx_plot_kernel *kernels;
    size_t nkernels;
    roofs r = { 0 };
    cbx_status st = find_kernels(d->job, d->g, &kernels, &nkernels, err);

    if (!st) st = find_roofs(d->job, d->t->run, &r, err);
    if (st) return st;
    d->part = "kernels";
    d->o.title = title_of(d, "roofline");
    if (!d->o.title) return cbx_fail_nomem(err, "a plot");
    d->o.x_label = "intensity [flop/byte]";
    d->o.y_label = "flop/s";
    d->o.x = d->o.y = CBX_PLOT_LOG;
    st = cbx_plot_create(d->job->ctx, &d->o, &d->plot, err);
    if (st) return st;
    return cbx_plot_roofline(d->plot, r.peaks, r.npeaks, r.bandwidths, r.nbandwidths, kernels, nkernels, err);
}

/* --- kinds --- */

static const struct kind {
    const char *name, *summary;
    cbx_status (*draw)(drawing *d, cbx_err *err); /* CBX_ENOENT: the metric has nothing of this kind */
    bool of_run;                                  /* draws a run, not each of its metrics */
} kinds[] = {
    { "auto", "lines over a tag of numbers, else bars", draw_auto, false }, /* the first: its files do not name it */
    { "bar", "values side by side, with their intervals", draw_bars, false },
    { "line", "values over a tag of numbers", draw_lines, false },
    { "box", "quartiles and whiskers of the samples", draw_boxes, false },
    { "violin", "density of the samples", draw_violins, false },
    { "convergence", "samples in their order, as errors over iterations", draw_convergence, false },
    { "heat", "a metric as a table of colours", draw_heat, false },
    { "pareto", "two metrics, and the front", draw_pareto, true },
    { "roofline", "kernels under the limits of the machine", draw_roofline, true },
};

size_t cbx_export_nplots(void) { return CBX_LEN(kinds); }
const char *cbx_export_plot_name(size_t i) { return i < CBX_LEN(kinds) ? kinds[i].name : NULL; }
const char *cbx_export_plot_summary(size_t i) { return i < CBX_LEN(kinds) ? kinds[i].summary : NULL; }

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
                         cbx_err *err)
{
    cbx_plot_format format = CBX_PLOT_SVG;
    const char *safe = cbx__export_safe_name(job->arena, part), *name = NULL;
    cbx_status st;

    cbx__plot_format_of(job->format, &format);
    if (safe && prefix)
        name = cbx_arena_printf(job->arena, "%s-%s%s%s.%s", prefix, safe, *kind ? "-" : "", kind,
                                cbx_plot_format_name(format));
    if (!name) return cbx_fail_nomem(err, "a plot");
    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(job->ctx));
    st = cbx_plot_draw(p, format, &text, err);
    return st ? st : cbx__export_file(job, name, &text, err);
}

/* Metrics that have nothing of the kind are skipped, unless none has. */
static cbx_status draw_kind(cbx_export_job *job, const grid *g, const char *kind_name, cbx_err *err)
{
    const char *prefix = cbx_arena_printf(job->arena, "run-%s", cbx_run_id(g->table->run));
    const struct kind *kind = kinds;
    size_t drawn = 0;
    cbx_status st = CBX_OK;

    while (kind < kinds + CBX_LEN(kinds) && strcmp(kind->name, kind_name) != 0) kind++;
    if (kind == kinds + CBX_LEN(kinds))
        return cbx_fail(err, CBX_EINVAL,
                        "unknown plot '%s': use auto, bar, line, box, violin, convergence, heat, pareto or roofline",
                        kind_name);
    const char *suffix = kind == kinds ? "" : kind->name;
    for (size_t k = 0; !st && k < (kind->of_run ? 1 : g->table->ncolumns); k++) {
        const cbx__column *c = &g->table->columns[k];
        drawing d = { .job = job, .g = g, .t = g->table, .column = k, .o = CBX_PLOT_OPTS_INIT, .part = c->name };
        d.o.title = title_of(&d, c->name);
        d.o.y_label = metric_name(job, c);
        d.o.theme = job->opts.dark ? CBX_PLOT_DARK : CBX_PLOT_LIGHT;
        st = d.o.title && d.o.y_label ? kind->draw(&d, err) : cbx_fail_nomem(err, "a plot");
        if (!st) st = cbx__plot_put(job, prefix, d.part, suffix, d.plot, err);
        cbx_plot_free(d.plot);
        drawn += !st;
        if (st == CBX_ENOENT && !kind->of_run && (drawn || k + 1 < g->table->ncolumns)) st = CBX_OK;
    }
    return st;
}

static cbx_status draw_run(cbx_export_job *job, const cbx_run *run, cbx_err *err)
{
    cbx__table t;
    grid g;
    cbx_status st = cbx__table_make(job, run, &t, err);

    if (st) return st;
    if (!t.nrows || !t.ncolumns) return cbx_fail(err, CBX_ENOENT, "run '%s' has no values to draw", cbx_run_id(run));
    st = make_grid(job, &t, &g, err);
    if (!st && !job->opts.nplots) st = draw_kind(job, &g, "auto", err);
    for (size_t i = 0; !st && i < job->opts.nplots; i++) st = draw_kind(job, &g, job->opts.plots[i], err);
    return st;
}

#define PLOT_EXPORTER(form)                                                                                            \
    CBX__EXPORTER(form, .name = #form, .summary = "plots, by default one for each metric: run-ID-METRIC." #form,       \
                  .export_run = draw_run)
PLOT_EXPORTER(svg);
PLOT_EXPORTER(pdf);
PLOT_EXPORTER(png);
