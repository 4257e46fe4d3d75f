/*
 * Axes: from data to px, and the ticks that people like: 1, 2 and 5 times powers of ten.
 */
#ifndef CALIBRAX_PLOT_AXIS_H
#define CALIBRAX_PLOT_AXIS_H

#include "calibrax/base/arena.h"
#include "calibrax/plot/plot.h"

enum { CBX__TICKS = 40 };

typedef struct cbx__axis {
    cbx_plot_scale scale;
    double low, high; /* of log10 v on a logarithmic axis */
    double from, to;  /* px */
    double at[CBX__TICKS];
    size_t n;
    int exponent; /* labels are in units of 10^exponent; 0 on a logarithmic axis */
    int decimals;
    bool has_unit; /* one whose prefixes people read: ns, Gflop/s */
    size_t unit;   /* number of it */
} cbx__axis;

/* Range over the data, with some room; a linear axis that begins or ends at 0 stays there.  min <=
 * max, finite, > 0 if logarithmic.  false: the range is wider than a double can say. */
bool cbx__axis_fit(cbx__axis *a, cbx_plot_scale scale, double min, double max);
/* Where the axis lies, and its ticks, at least gap px apart. */
void cbx__axis_lay(cbx__axis *a, double from, double to, double gap);
double cbx__axis_place(const cbx__axis *a, double v);
/* "0.25", "2\302\26710^6" */
const char *cbx__axis_label(const cbx__axis *a, double v, char buf[CBX_FORMAT_SIZE]);
/* Finds the unit of an axis in its label: "time [s]", "flop/s".  Before cbx__axis_lay. */
void cbx__axis_unit(cbx__axis *a, const char *label);
/* The label with the prefix of its unit, "time [ns]", or the power of ten that the numbers leave
 * out; without the unit on a logarithmic axis, whose labels have it; NULL: out of memory. */
const char *cbx__axis_title(const cbx__axis *a, const char *label, cbx_arena *arena);
/* Three digits, for labels in fields: "0.125", "1.2e-06" */
const char *cbx__short_number(double v, char buf[CBX_FORMAT_SIZE]);

#endif
