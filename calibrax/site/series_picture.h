/* Series over time as pictures: all of a long one is drawn as the extremes of short spans. */
#ifndef CALIBRAX_SITE_SERIES_PICTURE_H
#define CALIBRAX_SITE_SERIES_PICTURE_H

#include "calibrax/analysis/changepoint.h"
#include "calibrax/site/page_view.h"

/* The values of a series that can be drawn, oldest first. */
typedef struct cbx__drawn {
    const cbx_trend_point **at;
    double *x, *y; /* [s] since 1970; value */
    size_t n;
    size_t left_out; /* values that are not finite */
} cbx__drawn;

/* The finite values of one machine.  @param machine  fingerprint; NULL: of runs that name none */
cbx__drawn cbx__series_values(cbx__view *v, const cbx_trend_series *s, const char *machine);
/* Where the level of the newest values changes.  Indices are those of d.
 * @param max  values looked at; 0: all */
size_t cbx__series_changes(cbx__view *v, const cbx__drawn *d, size_t max, cbx_change **out);
/* A small line without axes. */
void cbx__series_spark(cbx__view *v, const cbx__drawn *d, const char *words);
/* A line and, of long series, the extremes as a band.  @param label  in the legend; NULL: none */
cbx_status cbx__series_plot(cbx__view *v, cbx_plot *plot, const cbx__drawn *d, const char *label, cbx_err *err);
/* The levels between changes. */
cbx_status cbx__series_plot_levels(cbx__view *v, cbx_plot *plot, const cbx__drawn *d, const cbx_change *changes,
                                   size_t n, cbx_err *err);

#endif
