/**
 * Figures of values that belong to no run: a series that converges, and free values side by side.
 *
 * The forms are the plots svg, pdf and png of cbx_exporters; folder, replace and dark of the
 * options count.  Since 0.1.
 */
#ifndef CALIBRAX_EXPORTERS_FIGURE_H
#define CALIBRAX_EXPORTERS_FIGURE_H

#include "calibrax/exporters/exporter.h"

CBX_BEGIN_DECLS

/** A series in order: errors over iterations, a metric over runs.  What is not finite is shown as
 * missing. */
typedef struct cbx_convergence_figure {
    const char *name;                      /* the file is convergence-NAME.svg; made safe where it is not */
    const char *title, *x_label, *y_label; /* NULL: none */
    const double *y;                       /* n >= 1 */
    const double *lower, *upper;           /* n each, drawn as a band; NULL, or one not finite: none */
    size_t n;
    const double *tolerances; /* finite; a line across each, named by its value; NULL: none */
    size_t ntolerances;
    const double *times_s; /* n, seconds since 1970, rising: dates along x; NULL, or all equal: 1, 2, 3 ... */
} cbx_convergence_figure;

/**
 * The y axis is logarithmic where all values, bounds and tolerances are above 0 and the values span
 * a decade.
 * @param out  written on success only; the caller clears it
 * @return as cbx_export_runs; CBX_EINVAL: nothing to draw, no name; CBX_EUNSUPPORTED: the form has
 *   no plots
 */
CBX_API cbx_status cbx_export_convergence(cbx_ctx *ctx, const cbx_exporter *format,
                                          const cbx_convergence_figure *figure, const cbx_export_opts *opts,
                                          cbx_export_report *out, cbx_err *err);

/** Values that share no more than a unit: a bar each. */
typedef struct cbx_values_figure {
    const char *name;                     /* the file is values-NAME.svg */
    const char *title, *y_label;          /* NULL: none */
    const char *const *names;             /* n >= 1 */
    const double *values, *lower, *upper; /* n each; bounds NULL, or one not finite: none */
    size_t n;
} cbx_values_figure;

/** @return as cbx_export_convergence */
CBX_API cbx_status cbx_export_values(cbx_ctx *ctx, const cbx_exporter *format, const cbx_values_figure *figure,
                                     const cbx_export_opts *opts, cbx_export_report *out, cbx_err *err);

CBX_END_DECLS
#endif
