/*
 * The plots of the page, as inline SVG that is whole without a script.
 */
#ifndef CALIBRAX_PERF_REPORT_REPORT_PLOT_H
#define CALIBRAX_PERF_REPORT_REPORT_PLOT_H

#include "calibrax/perf/report/format.h"

/* Marks there are. */
#define CBX__PLOT_SERIES 8
/* Colours that the style sheet names; later series have hues of their own, a golden angle apart. */
#define CBX__PLOT_COLOURS 16

/* Attributes that give an element the colour of a series: ` class="k s3"`. extra: more classes, "" for none. */
void cbx__plot_put_class(cbx_text *out, const char *extra, int series);
/* The same colour as a value of CSS: "var(--c3)". */
void cbx__plot_put_colour(cbx_text *out, int series);

/* The marks, once a page: other SVG refers to them as #m0 .. #m7. */
void cbx__plot_marks(cbx_text *out);
/*
 * Time against work of one case, double logarithmic: a plot for each set of points that differ in shape only (same algebra,
 * dtype, platform, machine) and have at least two sizes.  Work is the product of the whole-number parameters.
 * @param arena  for the plots' scratch
 * @param most   of these plots, that of the representative point first
 * @return number of plots written
 */
size_t cbx__plot_sizes(cbx_text *out, const cbx__report_view *v, size_t case_index, size_t most, cbx_arena *arena);
/* Launches of one group: left the medians on a common logarithmic axis with the roofline's bound, right every launch as a
 * dot, as its distance from the median of its row, with the interval.  Nothing if no row of the group was measured. */
bool cbx__plot_launches(cbx_text *out, const cbx__report_view *v, const cbx__report_group *g, cbx_arena *arena);

#endif
