/**
 * Plots with a meaning, made of the marks of plot.h: roofline, Pareto front, convergence.
 *
 * Each adds to a plot that the caller made with the scales named here, and draws nothing.  Errors
 * as in plot.h; a wrong scale is CBX_EINVAL.  After a failure a part may have been added.
 */
#ifndef CALIBRAX_PLOT_CHARTS_H
#define CALIBRAX_PLOT_CHARTS_H

#include "calibrax/plot/plot.h"

CBX_BEGIN_DECLS

/** A level that limits: flop/s for a roof that is flat, bytes/s for one that rises. */
typedef struct cbx_plot_roof {
    const char *name; /* "FMA, float32", "L2", "DRAM" */
    double limit;     /* > 0 */
} cbx_plot_roof;
typedef struct cbx_plot_kernel {
    const char *name;    /* neighbours of one name are one series */
    double intensity;    /* [flop/byte] > 0 */
    double flop_per_s;   /* > 0 */
    double lower, upper; /* interval of flop_per_s; NaN: none */
} cbx_plot_kernel;

/**
 * Attainable flop/s against flop/byte: min(peak, bandwidth * intensity) for each pair with the
 * highest peak, lower peaks as flat lines.  Source: Williams, Waterman & Patterson, Commun. ACM 52
 * (2009) 65-76.  Both axes logarithmic.
 * @param peaks  [flop/s] at least one; @param bandwidths  [byte/s] at least one
 */
CBX_API cbx_status cbx_plot_roofline(cbx_plot *p, const cbx_plot_roof *peaks, size_t npeaks,
                                     const cbx_plot_roof *bandwidths, size_t nbandwidths,
                                     const cbx_plot_kernel *kernels, size_t nkernels, cbx_err *err);

/**
 * Candidates by two objectives, and the front through those that no other beats, as steps.  Any two
 * numeric axes.
 * @param on_front  n flags, as the caller computed them (a candidate that is not finite must not be
 *   on it)
 * @param names     n; written beside those on the front; NULL: none
 * @param right_is_better  of the first objective: the steps bound what the front beats
 */
CBX_API cbx_status cbx_plot_pareto(cbx_plot *p, const double *x, const double *y, const bool *on_front,
                                   const char *const *names, size_t n, bool right_is_better, cbx_err *err);

/**
 * A series in order, its interval as a band, and the tolerances that it ought to come below as
 * lines across.  Any scales.
 * @param s           label, x, y, bounds and n; how is not read
 * @param tolerances  each is named by its value; NULL and 0: none.  CBX_EDOM: one that its axis
 *   cannot show
 */
CBX_API cbx_status cbx_plot_convergence(cbx_plot *p, const cbx_plot_series *s, const double *tolerances,
                                        size_t ntolerances, cbx_err *err);

CBX_END_DECLS
#endif
