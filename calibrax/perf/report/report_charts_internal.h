/* Between the files of the page's charts. */
#ifndef CALIBRAX_PERF_REPORT_REPORT_CHARTS_INTERNAL_H
#define CALIBRAX_PERF_REPORT_REPORT_CHARTS_INTERNAL_H

#include "calibrax/perf/report/report_charts.h"
#include "calibrax/perf/report/report_plot.h"
#include "calibrax/plot/charts.h"

/* Lines of a chart: as many as have a colour of their own. */
#define CBX__CHART_LINES CBX__PLOT_COLOURS

/* The page's series that the lines of a plot are, in the order added. */
typedef struct cbx__chart_lines {
    int series[CBX__CHART_LINES];
    size_t n;
} cbx__chart_lines;

/* Draws, and puts the figure; a plot that cannot be drawn is left out, memory apart. */
void cbx__chart_draw(const cbx__charts *c, cbx_plot *plot, const cbx__chart_lines *l, const char *kind,
                     const char *metric, const char *caption, cbx_text *out);

#endif
