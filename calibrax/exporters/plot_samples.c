/*
 * Box and violin plots of the samples of each point, and lines of samples in their order.
 *
 * Boxes are Tukey's: quartiles (type 7), whiskers to the farthest sample within 1.5 times the box, each sample beyond as a dot.
 */
#include <math.h>
#include <string.h>

#include "calibrax/exporters/plots.h"
#include "calibrax/plot/charts.h"
#include "calibrax/statistics/estimate.h"

/* Finite samples of the rows that have some, sorted. */
typedef struct crowd {
    const char **names;
    double **x;
    size_t *n, count;
    double min, max;
} crowd;

static size_t keep_finite(const cbx_metric *m, double *out)
{
    size_t n = 0;

    for (size_t i = 0; i < m->nsamples; i++)
        if (isfinite(m->samples[i])) out[n++] = m->samples[i];
    cbx_stat_sort(out, n);
    return n;
}

static cbx_status make_crowd(cbx_export_job *job, const cbx__grid *g, size_t column, crowd *c, cbx_err *err)
{
    const cbx__table *t = g->table;

    *c = (crowd){ .names = cbx_arena_calloc(job->arena, t->nrows, sizeof *c->names),
                  .x = cbx_arena_calloc(job->arena, t->nrows, sizeof *c->x),
                  .n = cbx_arena_calloc(job->arena, t->nrows, sizeof *c->n),
                  .min = INFINITY,
                  .max = -INFINITY };
    if (!c->names || !c->x || !c->n) return cbx_fail_nomem(err, "a plot");
    for (size_t row = 0; row < t->nrows; row++) {
        const cbx_metric *m = t->cells[row * t->ncolumns + column].metric;
        double *x = m && m->nsamples ? cbx_arena_calloc(job->arena, m->nsamples, sizeof *x) : NULL;
        size_t n = x ? keep_finite(m, x) : 0;
        if (m && m->nsamples && !x) return cbx_fail_nomem(err, "a plot");
        if (!n) continue;
        c->names[c->count] = cbx__plot_row_name(job, g, row);
        if (!c->names[c->count]) return cbx_fail_nomem(err, "a plot");
        c->x[c->count] = x;
        c->n[c->count++] = n;
        c->min = fmin(c->min, x[0]);
        c->max = fmax(c->max, x[n - 1]);
    }
    if (c->count) return CBX_OK;
    return cbx_fail(err, CBX_ENOENT, "no point of run '%s' has samples of '%s'", cbx_run_id(t->run),
                    t->columns[column].name);
}

static cbx_status begin(cbx_export_job *job, const cbx__grid *g, size_t column, bool may_log, crowd *c, cbx_plot **out,
                        cbx_err *err)
{
    cbx_plot_opts o;
    cbx_status st = make_crowd(job, g, column, c, err);

    if (!st) st = cbx__plot_options(job, g->table, column, &o, err);
    if (st) return st;
    o.x = CBX_PLOT_CATEGORIES;
    o.y = may_log && c->min > 0 && c->max >= 10 * c->min ? CBX_PLOT_LOG : CBX_PLOT_LINEAR;
    st = cbx_plot_create(job->ctx, &o, out, err);
    return st ? st : cbx_plot_categories(*out, c->names, c->count, err);
}

/* --- boxes --- */

static cbx_status add_box(cbx_export_job *job, cbx_plot *p, size_t at, const double *x, size_t n, cbx_err *err)
{
    double q1 = cbx_stat_quantile_sorted(x, n, 0.25), q3 = cbx_stat_quantile_sorted(x, n, 0.75);
    double reach = 1.5 * (q3 - q1), *outliers = cbx_arena_calloc(job->arena, n, sizeof *outliers);
    size_t first = 0, last = n - 1, k = 0;

    if (!outliers) return cbx_fail_nomem(err, "a plot");
    while (x[first] < q1 - reach) outliers[k++] = x[first++];
    while (x[last] > q3 + reach) outliers[k++] = x[last--];
    const cbx_plot_box box = { fmin(x[first], q1), q1, cbx_stat_quantile_sorted(x, n, 0.5), q3, fmax(x[last], q3),
                               outliers,           k };
    return cbx_plot_boxes(p, at, &box, err);
}

static cbx_status draw_boxes(cbx_export_job *job, const cbx__grid *g, size_t column, cbx_plot **out, cbx_err *err)
{
    crowd c;
    cbx_status st = begin(job, g, column, true, &c, out, err);

    for (size_t i = 0; !st && i < c.count; i++) st = add_box(job, *out, i, c.x[i], c.n[i], err);
    return st;
}

/* --- violins --- */

static cbx_status draw_violins(cbx_export_job *job, const cbx__grid *g, size_t column, cbx_plot **out, cbx_err *err)
{
    crowd c;
    cbx_status st = begin(job, g, column, false, &c, out, err);

    for (size_t i = 0; !st && i < c.count; i++) st = cbx_plot_violin(*out, i, c.x[i], c.n[i], err);
    return st;
}

/* --- samples in their order --- */

static bool wants_log_samples(const cbx__table *t, size_t column)
{
    double min = INFINITY, max = 0;

    for (size_t row = 0; row < t->nrows; row++) {
        const cbx_metric *m = t->cells[row * t->ncolumns + column].metric;
        for (size_t i = 0; m && i < m->nsamples; i++) {
            if (!isfinite(m->samples[i])) continue;
            min = fmin(min, m->samples[i]);
            max = fmax(max, m->samples[i]);
        }
    }
    return min > 0 && max >= 10 * min;
}

static cbx_status add_course(cbx_export_job *job, const cbx__grid *g, cbx_plot *p, size_t row, const cbx_metric *m,
                             cbx_err *err)
{
    cbx_plot_series s = { .label = cbx__plot_row_name(job, g, row), .y = m->samples, .n = m->nsamples };
    double *x = cbx_arena_calloc(job->arena, m->nsamples, sizeof *x);

    if (!s.label || !x) return cbx_fail_nomem(err, "a plot");
    for (size_t i = 0; i < m->nsamples; i++) x[i] = (double)(i + 1);
    s.x = x;
    return cbx_plot_convergence(p, &s, NULL, 0, err);
}

static cbx_status draw_convergence(cbx_export_job *job, const cbx__grid *g, size_t column, cbx_plot **out, cbx_err *err)
{
    const cbx__table *t = g->table;
    cbx_plot_opts o;
    cbx_status st = cbx__plot_options(job, t, column, &o, err);
    size_t drawn = 0;

    if (st) return st;
    o.x_label = "iteration";
    o.y = wants_log_samples(t, column) ? CBX_PLOT_LOG : CBX_PLOT_LINEAR;
    st = cbx_plot_create(job->ctx, &o, out, err);
    for (size_t row = 0; !st && row < t->nrows; row++) {
        const cbx_metric *m = t->cells[row * t->ncolumns + column].metric;
        if (!m || !m->nsamples) continue;
        st = add_course(job, g, *out, row, m, err);
        drawn++;
    }
    if (st || drawn) return st;
    return cbx_fail(err, CBX_ENOENT, "no point of run '%s' has samples of '%s'", cbx_run_id(t->run),
                    t->columns[column].name);
}

const cbx__plot_kind cbx__plot_convergence = { "convergence", "samples in their order, as errors over iterations",
                                               draw_convergence, NULL };
const cbx__plot_kind cbx__plot_box = { "box", "quartiles and whiskers of the samples", draw_boxes, NULL };
const cbx__plot_kind cbx__plot_violin = { "violin", "density of the samples", draw_violins, NULL };
