/* A plot as it was built: marks in the order added, and the colours they have. */
#ifndef CALIBRAX_PLOT_MODEL_H
#define CALIBRAX_PLOT_MODEL_H

#include "calibrax/plot/axis.h"
#include "calibrax/plot/scene.h"

typedef enum cbx__mark_kind {
    CBX__MARK_LINE,
    CBX__MARK_BARS,
    CBX__MARK_BOX,
    CBX__MARK_VIOLIN,
    CBX__MARK_HEAT,
    CBX__MARK_NOTE
} cbx__mark_kind;

typedef struct cbx__mark {
    struct cbx__mark *next;
    cbx__mark_kind kind;
    size_t series;        /* number among those with a colour of their own */
    size_t form;          /* of the markers, below CBX__MARKER_FORMS */
    cbx_plot_series line; /* LINE, BARS; VIOLIN: y has its finite samples, not sorted; HEAT: bounds only */
    size_t at;            /* BOX, VIOLIN: category; BARS: place within the group */
    cbx_plot_box box;
    const char *words; /* NOTE */
    bool below;        /* of its place */
    cbx__xy place;
    const double *values; /* HEAT */
    size_t nrows, ncols;
} cbx__mark;

struct cbx_plot {
    cbx_ctx *ctx;
    cbx_arena arena;
    cbx_plot_opts opts;
    const char *const *names, *const *rows; /* of categories along x and, of a heat map, along y */
    size_t nnames, nrows;
    cbx__mark *first, **last;
    size_t nseries, nbars;
    bool full; /* of what is copied for a mark, something was not: memory ran out */
};

/* Colours of what is under the marks, and of the series. */
typedef struct cbx__theme {
    uint32_t paper, ink, muted, grid, missing;
    uint32_t series[16];
} cbx__theme;

/* A plot being drawn. */
typedef struct cbx__sheet {
    const cbx_plot *plot;
    const cbx__theme *theme;
    cbx__scene *scene;
    cbx__axis x, y;
    double height;             /* of the page */
    double heat_min, heat_max; /* of the values of a heat map */
    bool heat_log;             /* its colours go by the logarithm */
} cbx__sheet;

extern const cbx__theme cbx__themes[2];
/* Colour of a series; the paint of its line, dashed from the seventeenth on. */
uint32_t cbx__series_colour(const cbx__theme *t, size_t series);
cbx__paint cbx__series_line(const cbx__theme *t, size_t series, double width);
#define CBX__MARKER_FORMS 8
/* Marker of a series, about 7 px wide; the same outline about (0, 0) as the data of an SVG path. */
void cbx__draw_marker(cbx__sheet *sh, const cbx__mark *m, double x, double y, const char *tip);
void cbx__marker_put_path(cbx_text *out, size_t form);
/* Colour of a fraction 0..1: dark blue, green, yellow, even in lightness. */
uint32_t cbx__ramp(double fraction);

void cbx__draw_mark(cbx__sheet *sh, const cbx__mark *m);
cbx_status cbx__lay_out(const cbx_plot *p, cbx__scene *scene, cbx_arena *arena, cbx_err *err);

/* cbx_plot_note, above its place or below it. */
cbx_status cbx__plot_note_at(cbx_plot *p, double x, double y, const char *words, bool below, cbx_err *err);

#endif
