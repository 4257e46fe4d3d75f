/* Figures: plots of the caller's values, as files of an exporter. */
#include "calibrax/exporters/figure.h"

#include <math.h>

#include "calibrax/exporters/job.h"
#include "calibrax/plot/charts.h"

/* Begins a figure.  @param missing  what it lacks; NULL: nothing */
static cbx_status begin(cbx_ctx *ctx, const cbx_exporter *format, const char *kind, const char *missing,
                        const cbx_export_opts *opts, cbx_export_job *job, cbx_err *err)
{
    cbx_plot_format form;

    if (!cbx__plot_format_of(format, &form))
        return cbx_fail(err, CBX_EUNSUPPORTED, "'%s' is not a format of plots: use svg, pdf or png", format->name);
    if (missing) return cbx_fail(err, CBX_EINVAL, "a figure of kind '%s' without %s", kind, missing);
    return cbx__export_begin(ctx, format, opts, job, err);
}

/* Puts the plot into KIND-NAME.svg, and frees it. */
static cbx_status end(cbx_status st, cbx_export_job *job, const char *kind, const char *name, cbx_plot *p,
                      cbx_export_report *out, cbx_err *err)
{
    if (!st) st = cbx__plot_put(job, kind, name, "", p, err);
    cbx_plot_free(p);
    return cbx__export_end(st, job, out, err);
}

/* --- convergence --- */

static bool wants_log(const cbx_convergence_figure *f)
{
    const double *const columns[] = { f->y, f->lower, f->upper, f->tolerances };
    double min = INFINITY, max = -INFINITY; /* of y */
    bool positive = true;

    for (size_t k = 0; k < CBX_LEN(columns); k++)
        for (size_t i = 0; columns[k] && i < (k == 3 ? f->ntolerances : f->n); i++) {
            const double v = columns[k][i];
            if (!isfinite(v)) continue;
            positive &= v > 0;
            min = fmin(min, k ? min : v);
            max = fmax(max, k ? max : v);
        }
    return positive && max >= 10 * min;
}

cbx_status cbx_export_convergence(cbx_ctx *ctx, const cbx_exporter *format, const cbx_convergence_figure *f,
                                  const cbx_export_opts *opts, cbx_export_report *out, cbx_err *err)
{
    const char *missing = !f->n || !f->y ? "values" : !f->name || !*f->name ? "a name" : NULL;
    cbx_plot_series s = { .y = f->y, .lower = f->lower, .upper = f->upper, .n = f->n };
    cbx_plot_opts o = CBX_PLOT_OPTS_INIT;
    cbx_plot *plot = NULL;
    cbx_export_job job;
    cbx_status st = begin(ctx, format, "convergence", missing, opts, &job, err);

    if (st) return st;
    const bool dates = f->times_s && f->times_s[0] < f->times_s[f->n - 1];
    double *x = cbx_arena_calloc(job.arena, f->n, sizeof *x);
    for (size_t i = 0; x && i < f->n; i++) x[i] = dates ? f->times_s[i] : (double)(i + 1);
    s.x = x;
    o.title = f->title;
    o.x_label = f->x_label;
    o.y_label = f->y_label;
    if (dates) o.x = CBX_PLOT_DATES;
    o.y = wants_log(f) ? CBX_PLOT_LOG : CBX_PLOT_LINEAR;
    o.theme = job.opts.dark ? CBX_PLOT_DARK : CBX_PLOT_LIGHT;
    st = x ? cbx_plot_create(ctx, &o, &plot, err) : cbx_fail_nomem(err, "a figure");
    if (!st) st = cbx_plot_convergence(plot, &s, f->tolerances, f->ntolerances, err);
    return end(st, &job, "convergence", f->name, plot, out, err);
}

cbx_status cbx_export_values(cbx_ctx *ctx, const cbx_exporter *format, const cbx_values_figure *f,
                             const cbx_export_opts *opts, cbx_export_report *out, cbx_err *err)
{
    bool named = f->names && f->name && *f->name;
    const char *missing = !f->n || !f->values ? "any value" : named ? NULL : "names";
    const cbx_plot_series s = { .y = f->values, .lower = f->lower, .upper = f->upper, .n = f->n };
    cbx_plot_opts o = CBX_PLOT_OPTS_INIT;
    cbx_plot *plot = NULL;
    cbx_export_job job;
    cbx_status st = begin(ctx, format, "values", missing, opts, &job, err);

    if (st) return st;
    o.title = f->title;
    o.y_label = f->y_label;
    o.x = CBX_PLOT_CATEGORIES;
    o.theme = job.opts.dark ? CBX_PLOT_DARK : CBX_PLOT_LIGHT;
    st = cbx_plot_create(ctx, &o, &plot, err);
    if (!st) st = cbx_plot_categories(plot, f->names, f->n, err);
    if (!st) st = cbx_plot_bars(plot, &s, err);
    return end(st, &job, "values", f->name, plot, out, err);
}
