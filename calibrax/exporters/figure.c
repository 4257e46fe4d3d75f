/* Figures: plots of the caller's values, as files of an exporter. */
#include "calibrax/exporters/figure.h"

#include <math.h>

#include "calibrax/exporters/job.h"
#include "calibrax/plot/charts.h"

/* Draws what data holds into KIND-NAME.svg.  @param missing  what it lacks; NULL: nothing */
static cbx_status export_figure(cbx_ctx *ctx, const cbx_exporter *format, const char *kind, const char *name,
                                const char *missing,
                                cbx_status (*draw)(cbx_export_job *job, const void *data, cbx_plot **out, cbx_err *err),
                                const void *data, const cbx_export_opts *opts, cbx_export_report *out, cbx_err *err)
{
    cbx_plot_format form;
    cbx_plot *p = NULL;
    cbx_export_job job;
    cbx_status st;

    if (!cbx__plot_format_of(format, &form))
        return cbx_fail(err, CBX_EUNSUPPORTED, "'%s' is not a format of plots: use svg, pdf or png", format->name);
    if (missing) return cbx_fail(err, CBX_EINVAL, "a figure of kind '%s' without %s", kind, missing);
    st = cbx__export_begin(ctx, format, opts, &job, err);
    if (st) return st;
    st = draw(&job, data, &p, err);
    if (!st) st = cbx__plot_put(&job, kind, name, "", p, form, err);
    cbx_plot_free(p);
    return cbx__export_end(st, &job, out, err);
}

/* --- convergence --- */

typedef struct range {
    double min, max;
    bool positive;
} range;

static void see(range *r, const double *v, size_t n)
{
    for (size_t i = 0; v && i < n; i++) {
        if (!isfinite(v[i])) continue;
        r->min = fmin(r->min, v[i]);
        r->max = fmax(r->max, v[i]);
        r->positive = r->positive && v[i] > 0;
    }
}

static bool wants_log(const cbx_convergence_figure *f)
{
    range values = { INFINITY, -INFINITY, true }, rest = values;

    see(&values, f->y, f->n);
    see(&rest, f->lower, f->n);
    see(&rest, f->upper, f->n);
    see(&rest, f->tolerances, f->ntolerances);
    return values.positive && rest.positive && values.max >= 10 * values.min;
}

static cbx_status draw_convergence(cbx_export_job *job, const void *data, cbx_plot **out, cbx_err *err)
{
    const cbx_convergence_figure *f = data;
    cbx_plot_opts o = CBX_PLOT_OPTS_INIT;
    cbx_plot_series s = { .y = f->y, .lower = f->lower, .upper = f->upper, .n = f->n };
    double *x = cbx_arena_calloc(job->arena, f->n, sizeof *x);
    cbx_status st;

    if (!x) return cbx_fail_nomem(err, "a figure");
    const bool dates = f->times_s && f->times_s[0] < f->times_s[f->n - 1];
    for (size_t i = 0; i < f->n; i++) x[i] = dates ? f->times_s[i] : (double)(i + 1);
    s.x = x;
    o.title = f->title;
    o.x_label = f->x_label;
    o.y_label = f->y_label;
    if (dates) o.x = CBX_PLOT_DATES;
    o.y = wants_log(f) ? CBX_PLOT_LOG : CBX_PLOT_LINEAR;
    o.theme = job->opts.dark ? CBX_PLOT_DARK : CBX_PLOT_LIGHT;
    st = cbx_plot_create(job->ctx, &o, out, err);
    return st ? st : cbx_plot_convergence(*out, &s, f->tolerances, f->ntolerances, err);
}

cbx_status cbx_export_convergence(cbx_ctx *ctx, const cbx_exporter *format, const cbx_convergence_figure *figure,
                                  const cbx_export_opts *opts, cbx_export_report *out, cbx_err *err)
{
    const char *missing = !figure->n || !figure->y ? "values" : !figure->name || !*figure->name ? "a name" : NULL;

    return export_figure(ctx, format, "convergence", figure->name, missing, draw_convergence, figure, opts, out, err);
}

/* --- values --- */

static cbx_status draw_values(cbx_export_job *job, const void *data, cbx_plot **out, cbx_err *err)
{
    const cbx_values_figure *f = data;
    const cbx_plot_series s = { .y = f->values, .lower = f->lower, .upper = f->upper, .n = f->n };
    cbx_plot_opts o = CBX_PLOT_OPTS_INIT;
    cbx_status st;

    o.title = f->title;
    o.y_label = f->y_label;
    o.x = CBX_PLOT_CATEGORIES;
    o.theme = job->opts.dark ? CBX_PLOT_DARK : CBX_PLOT_LIGHT;
    st = cbx_plot_create(job->ctx, &o, out, err);
    if (!st) st = cbx_plot_categories(*out, f->names, f->n, err);
    return st ? st : cbx_plot_bars(*out, &s, err);
}

cbx_status cbx_export_values(cbx_ctx *ctx, const cbx_exporter *format, const cbx_values_figure *figure,
                             const cbx_export_opts *opts, cbx_export_report *out, cbx_err *err)
{
    bool named = figure->names && figure->name && *figure->name;
    const char *missing = !figure->n || !figure->values ? "any value" : named ? NULL : "names";

    return export_figure(ctx, format, "values", figure->name, missing, draw_values, figure, opts, out, err);
}
