/*
 * Inside the plots: axes, ticks and marks that the plot of sizes and the strips of launches share.
 */
#ifndef CALIBRAX_PERF_REPORT_REPORT_PLOT_INTERNAL_H
#define CALIBRAX_PERF_REPORT_REPORT_PLOT_INTERNAL_H

#include "calibrax/perf/report/report_plot.h"

/* Logarithmic scale from a data range to pixels. */
typedef struct cbx__plot_axis {
    double low, high; /* log10 */
    double from, to;  /* pixels */
} cbx__plot_axis;

double cbx__plot_place(const cbx__plot_axis *a, double v);
/* Room of a twentieth on both sides, and at least a third of a decade in all. */
cbx__plot_axis cbx__plot_axis_over(double min, double max, double from, double to);

typedef struct cbx__plot_ticks {
    double at[48];
    size_t n;
} cbx__plot_ticks;

/* At least gap pixels apart: 1, 2 and 5 times each decade where there is room, else decades, else every second, third ... decade. */
cbx__plot_ticks cbx__plot_ticks_of(const cbx__plot_axis *a, double gap);
/* "10 ms" */
void cbx__plot_put_time(cbx_text *out, double seconds);
/* "10" with its exponent raised, or "2e5" as 2 times that */
void cbx__plot_put_count(cbx_text *out, double v);

/* Number of a series's mark; it takes another one when its colour comes again. */
int cbx__plot_mark(int series);
/* Words from rows, fit to be published and escaped. */
void cbx__plot_put_text(cbx_text *out, cbx_arena *arena, const char *s, size_t max);

#endif
