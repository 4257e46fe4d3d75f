/**
 * Plots: one drawing for SVG, PDF and PNG.
 *
 * A plot is built from marks in data coordinates, then drawn.  SVG is written here, the same bytes
 * for the same calls; PDF and PNG are drawn by cairo, which is loaded on first use
 * (CBX_EUNAVAILABLE names the package without it).  Colours are those of Okabe and Ito ("Color
 * Universal Design", 2008), distinct to all kinds of colour vision; from the seventeenth series on,
 * lines are dashed too, and every series has a marker of its own.
 *
 * A value that is not finite is missing, and is shown as missing, never as 0.  Everything given is
 * copied.  Text is UTF-8; what is not, and control characters, become U+FFFD.  Calls that add fail
 * with CBX_EINVAL (a NULL or a count of 0 where something is needed), CBX_EDOM (a value that its
 * axis cannot show) and CBX_ENOMEM, and then add nothing.  One thread uses a plot, and its context,
 * at a time.  Since 0.1.
 */
#ifndef CALIBRAX_PLOT_PLOT_H
#define CALIBRAX_PLOT_PLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "calibrax/base/ctx.h"
#include "calibrax/base/text.h"

CBX_BEGIN_DECLS

typedef struct cbx_plot cbx_plot;

/** Categories are at 0, 1, 2 ... of their axis; dates are in seconds since 1970-01-01T00:00:00 UTC,
 * and only along x. */
typedef enum cbx_plot_scale { CBX_PLOT_LINEAR, CBX_PLOT_LOG, CBX_PLOT_CATEGORIES, CBX_PLOT_DATES } cbx_plot_scale;
typedef enum cbx_plot_theme { CBX_PLOT_LIGHT, CBX_PLOT_DARK } cbx_plot_theme;
typedef enum cbx_plot_format { CBX_PLOT_SVG, CBX_PLOT_PDF, CBX_PLOT_PNG } cbx_plot_format;

typedef struct cbx_plot_opts {
    uint32_t struct_size;                  /* sizeof(cbx_plot_opts) of the header compiled with */
    const char *title, *x_label, *y_label; /* NULL: none */
    cbx_plot_scale x, y;                   /* y: LINEAR or LOG, except under a heat map */
    cbx_plot_theme theme;
    /* in px of 1/96 inch, 160..10000; 0: 720 and 420.  A long legend makes a plot higher */
    double width, height;
    double png_scale; /* pixels a px, (0, 8]; 0: 2 */
} cbx_plot_opts;

#define CBX_PLOT_OPTS_INIT CBX_OPTS(cbx_plot_opts, 0, 0, 0, CBX_PLOT_LINEAR, CBX_PLOT_LINEAR, CBX_PLOT_LIGHT, 0, 0, 0)

/** @param opts  NULL: all defaults.  @return CBX_OK; CBX_EINVAL (struct_size, a size out of its
 *   range); CBX_ENOMEM */
CBX_API cbx_status cbx_plot_create(cbx_ctx *ctx, const cbx_plot_opts *opts, cbx_plot **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_plot_free(cbx_plot *p);

/** Names under a category axis, in order; longer ones than 48 characters are cut. */
CBX_API cbx_status cbx_plot_categories(cbx_plot *p, const char *const *names, size_t n, cbx_err *err);

enum {
    CBX_PLOT_JOIN = 1,   /* a line through the values; a missing one breaks it */
    CBX_PLOT_MARK = 2,   /* a marker at each */
    CBX_PLOT_BAND = 4,   /* the interval as a band */
    CBX_PLOT_WHISK = 8,  /* the interval as an error bar */
    CBX_PLOT_STEP = 16,  /* JOIN by steps: over to the next x, then up or down */
    CBX_PLOT_FAINT = 32, /* thin, in the colour of the axes, and not in the legend: a guide */
};

typedef struct cbx_plot_series {
    const char *label; /* in the legend; NULL: not there */
    const double *x;   /* n; NULL: 0, 1, 2 ... */
    const double *y;   /* n */
    /* n each, an interval about y; NULL, or a value not finite: none */
    const double *lower, *upper;
    size_t n;
    unsigned how; /* of the flags above; 0: JOIN | MARK */
    /* n each, an interval about x, drawn with WHISK; NULL, or a value that is not finite: none.
     * Bars do not read them. */
    const double *x_lower, *x_upper;
} cbx_plot_series;

/** A series of points.  CBX_EDOM: a value or bound <= 0 on a logarithmic axis. */
CBX_API cbx_status cbx_plot_line(cbx_plot *p, const cbx_plot_series *s, cbx_err *err);
/**
 * A bar a category from 0 to the value; the bars of several calls are side by side.  x and how of
 * the series are not read.  CBX_EINVAL: the y axis is logarithmic, where the length of a bar has no
 * meaning.
 */
CBX_API cbx_status cbx_plot_bars(cbx_plot *p, const cbx_plot_series *s, cbx_err *err);

/** Box and whiskers of one sample, as the caller computed them. */
typedef struct cbx_plot_box {
    double low, q1, median, q3, high; /* rising */
    const double *outliers;
    size_t noutliers;
} cbx_plot_box;
/** Above category `at`.  CBX_EDOM: one of the five is not finite, or they do not rise. */
CBX_API cbx_status cbx_plot_boxes(cbx_plot *p, size_t at, const cbx_plot_box *box, cbx_err *err);
/**
 * Density of a sample above category `at`: Gaussian kernels with Scott's bandwidth s * n^(-1/5), s
 * with n - 1, cut at the extremes of the sample; all violins have the same width.  Equal values are
 * drawn as a line.  Values not finite are left out.  Source: Scott, Multivariate Density Estimation
 * (1992), section 6.2.  CBX_EINVAL: no finite value; a logarithmic axis
 */
CBX_API cbx_status cbx_plot_violin(cbx_plot *p, size_t at, const double *samples, size_t n, cbx_err *err);
/** The density that a violin draws, at m places; x finite.  0 everywhere if the values are all
 * equal. */
CBX_API void cbx_plot_density(const double *samples, size_t n, const double *at, size_t m, double *out);

/**
 * A table as colours, the value written in each field where it fits; fields without a value are
 * hatched.  Colours go by the logarithm where all values are > 0 and span a decade.  Alone in its
 * plot.
 * @param values        nrows-by-ncols, row-major
 * @param lower, upper  as many, an interval about each value, written below it where it fits; NULL,
 *   or one not finite: none
 */
CBX_API cbx_status cbx_plot_heat(cbx_plot *p, const double *values, const double *lower, const double *upper,
                                 const char *const *rows, size_t nrows, const char *const *columns, size_t ncols,
                                 cbx_err *err);
/** Words at a place of the data, to its right. */
CBX_API cbx_status cbx_plot_note(cbx_plot *p, double x, double y, const char *words, cbx_err *err);

/**
 * Draws.  A plot may be drawn several times, also after more was added.
 * @param out  initialised; what is drawn is added to it
 * @return CBX_OK; CBX_EINVAL (nothing was added; more categories than names); CBX_EUNAVAILABLE (no
 *         cairo); CBX_EDOM (values span more than a double can say); CBX_ENOMEM; CBX_EIO (cairo
 *         failed).  After a failure out holds what it held
 */
CBX_API cbx_status cbx_plot_draw(cbx_plot *p, cbx_plot_format format, cbx_text *out, cbx_err *err);
/** "svg", "pdf", "png"; "?" for any other number. */
CBX_API const char *cbx_plot_format_name(cbx_plot_format format);

CBX_END_DECLS
#endif
