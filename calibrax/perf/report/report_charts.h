/*
 * The charts of the page, as SVG that is whole without a script.  A series has one colour and one
 * mark in all of them.
 *
 * Those of calibrax/plot (history, roofline) get the page's colours and marks when they are put
 * into it.
 */
#ifndef CALIBRAX_PERF_REPORT_REPORT_CHARTS_H
#define CALIBRAX_PERF_REPORT_REPORT_CHARTS_H

#include "calibrax/pages/page_figure.h"
#include "calibrax/perf/report/view.h"
#include "calibrax/plot/axis.h"
#include "calibrax/plot/charts.h"

/* Words from rows, fit to be published and escaped; at most max bytes. */
void cbx__charts_put_text(cbx_text *out, cbx_arena *arena, const char *s, size_t max);
/* A logarithmic axis of times, labelled in units that people read, with ticks at least gap px
 * apart. */
cbx__axis cbx__charts_time_axis(double min_s, double max_s, double from, double to, double gap);

/* The main chart: the times of one group on a common logarithmic axis, the fastest first, limits
 * last, with intervals and the roofline's bound.  As wide as its place.  false: no row of the group
 * has a time. */
bool cbx__chart_times(cbx_text *out, const cbx__report_view *v, const cbx__report_group *g, cbx_arena *arena);
/*
 * Time against work of one case, double logarithmic: a plot for each set of points that differ in
 * shape only (same algebra, dtype, platform, machine) and have at least two sizes.  Work is the
 * product of the integer parameters.
 * @param max  of these plots, that of the representative point first
 * @return number of plots written
 */
size_t cbx__chart_sizes(cbx_text *out, const cbx__report_view *v, size_t case_index, size_t max, cbx_arena *arena);
/* Launches of one group: left the medians with the roofline's bound, right every launch as a dot,
 * as its distance from the median of its row, with the interval.  Nothing if no row of the group
 * was measured. */
bool cbx__chart_launches(cbx_text *out, const cbx__report_view *v, const cbx__report_group *g, cbx_arena *arena);

/* What the charts of one page share that calibrax/plot draws. */
typedef struct cbx__charts {
    cbx_ctx *ctx; /* of its own, over the page's allocator */
    const cbx__report_view *view;
    cbx_arena *arena;
    const cbx_row_series **past; /* of each item of the view; NULL: no history */
    bool brief;                  /* a small page: no marks but on times */
} cbx__charts;

/* false: out of memory. */
bool cbx__charts_open(cbx__charts *c, const cbx__report_view *v, cbx_arena *arena, const cbx_row_index *history);
void cbx__charts_close(cbx__charts *c);

/* Draws, and puts the figure; a plot that cannot be drawn is left out, unless memory ran out. */
void cbx__chart_draw(const cbx__charts *c, cbx_plot *plot, const cbx__chart_lines *l, const char *kind,
                     const char *metric, const char *caption, cbx_text *out);

/* What is followed over the runs; the time first, which has intervals. */
typedef enum cbx__followed {
    CBX__FOLLOW_TIME,
    CBX__FOLLOW_COMPILE,
    CBX__FOLLOW_MEMORY,
    CBX__FOLLOW_ENERGY,
    CBX__FOLLOW_GFLOP,
    CBX__FOLLOW_GBYTE,
    CBX__FOLLOW_COUNT
} cbx__followed;

/* Baselines of the group that have the metric in two good rows or more: each has a line to draw. */
size_t cbx__charts_has_history(const cbx__charts *c, const cbx__report_group *g, cbx__followed what);
/* A metric of a group's baselines over the dates of the runs, and where it changed. */
void cbx__chart_history(const cbx__charts *c, const cbx__report_group *g, cbx__followed what, cbx_text *out);
/* A list of the changes of all series of a case, the largest first, at most `max`.  Returns how
 * many there are. */
size_t cbx__chart_changes(const cbx__charts *c, size_t case_index, size_t max, cbx_text *out);
/* Rates of the group's rows under the roofs that were measured on their machine; false: nothing to
 * draw. */
bool cbx__chart_roofline(const cbx__charts *c, const cbx__report_group *g, cbx_text *out);

#endif
