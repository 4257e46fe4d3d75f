/*
 * Figures of a page: series, and plots of calibrax/plot.
 *
 * A series has one colour and one mark in all figures of a page; plots get both when they are put
 * into it, so that they follow the page from light to dark.
 */
#ifndef CALIBRAX_PAGES_PAGE_FIGURE_H
#define CALIBRAX_PAGES_PAGE_FIGURE_H

#include "calibrax/plot/plot.h"

/* Colours that the style sheet names; later series have hues of their own, a golden angle apart. */
#define CBX__SERIES_COLOURS 16

/* Attributes that give an element of SVG the colour of a series: ` class="k s3"`.  extra: more
 * classes, "" for none. */
void cbx__series_put_class(cbx_text *out, const char *extra, int series);
/* Number of a series's mark; it gets another one when its colour repeats. */
int cbx__series_mark(int series);
/* The marks, once a page: other SVG refers to them as #m0 .. #m7. */
void cbx__pages_put_marks(cbx_text *out);

/* The page's series that the lines of a plot are, in the order added; as many as have a colour of
 * their own. */
typedef struct cbx__chart_lines {
    int series[CBX__SERIES_COLOURS];
    size_t n;
} cbx__chart_lines;

/*
 * Draws a plot and puts it as a figure.
 * @param kind     class of the figure
 * @param metric   for a script: data-m; NULL: none
 * @param caption  not escaped yet
 * @return as cbx_plot_draw, and then nothing was added
 */
cbx_status cbx__pages_put_figure(cbx_text *out, cbx_plot *plot, const cbx__chart_lines *l, const char *kind,
                                 const char *metric, const char *caption);

#endif
