/* What the kinds of plots share: the table of a run as a grid, and how a plot becomes a file. */
#ifndef CALIBRAX_EXPORTERS_PLOTS_H
#define CALIBRAX_EXPORTERS_PLOTS_H

#include "calibrax/exporters/table.h"
#include "calibrax/plot/plot.h"

/* A metric by place along x and series; both are known by a row that is the first of its kind. */
typedef struct cbx__grid {
    const cbx__table *table;
    size_t *x, *series;       /* of each row */
    const char **xs, **names; /* labels */
    size_t nx, nseries;
    double *places;      /* numbers of xs; NaN for what is not a number above 0 */
    const char *x_label; /* NULL: several labels are joined */
} cbx__grid;

/* A kind of plot. */
typedef struct cbx__plot_kind {
    const char *name, *summary;
    /* Draws one metric, a column; CBX_ENOENT: it has nothing of this kind.  NULL: the kind draws a run. */
    cbx_status (*draw_metric)(cbx_export_job *job, const cbx__grid *g, size_t column, cbx_plot **out, cbx_err *err);
    /* Draws a run; *part is put into the file's name. */
    cbx_status (*draw_run)(cbx_export_job *job, const cbx__grid *g, cbx_plot **out, const char **part, cbx_err *err);
} cbx__plot_kind;

extern const cbx__plot_kind cbx__plot_box, cbx__plot_violin, cbx__plot_convergence, cbx__plot_heat, cbx__plot_pareto,
    cbx__plot_roofline;

/* A plot with the title, the unit and the theme of a metric; the caller sets x and y and creates it. */
cbx_status cbx__plot_options(cbx_export_job *job, const cbx__table *t, size_t column, cbx_plot_opts *out, cbx_err *err);
/* "jax, 32": all labels of a row, which name a competitor first. */
const char *cbx__plot_row_name(cbx_export_job *job, const cbx__grid *g, size_t row);
/* "latency [ms]"; NULL: out of memory. */
const char *cbx__plot_metric_name(cbx_export_job *job, const cbx__column *c);
/* The form of a plot that an exporter writes; false: it writes tables. */
bool cbx__plot_format_of(const cbx_exporter *format, cbx_plot_format *out);
/* Writes PREFIX-PART[-KIND].svg; prefix NULL: out of memory. */
cbx_status cbx__plot_put(cbx_export_job *job, const char *prefix, const char *part, const char *kind, cbx_plot *p,
                         cbx_plot_format format, cbx_err *err);
/* All values and bounds above 0, and a decade apart. */
bool cbx__plot_wants_log(const cbx__table *t, size_t column);

#endif
