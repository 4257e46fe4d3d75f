/*
 * What is to be drawn, in px from the upper left corner, in order: the one thing that writers of
 * SVG, PDF and PNG read.
 */
#ifndef CALIBRAX_PLOT_SCENE_H
#define CALIBRAX_PLOT_SCENE_H

#include "calibrax/base/arena.h"
#include "calibrax/plot/plot.h"

#define CBX__NO_COLOUR UINT32_MAX

typedef enum cbx__item_kind { CBX__PATH, CBX__RECT, CBX__DISC, CBX__WORDS } cbx__item_kind;
typedef enum cbx__anchor { CBX__START, CBX__MIDDLE, CBX__END } cbx__anchor;

typedef struct cbx__xy {
    double x, y;
} cbx__xy;

typedef struct cbx__paint {
    uint32_t fill, stroke; /* 0xRRGGBB or CBX__NO_COLOUR */
    double width;          /* of the stroke */
    double opacity;        /* of the fill */
    unsigned dash;         /* 0: solid; see cbx__dashes */
} cbx__paint;

typedef struct cbx__item {
    struct cbx__item *next;
    cbx__item_kind kind;
    cbx__paint paint;
    const char *role; /* class of the SVG element; NULL: none */
    cbx__xy at;       /* RECT: upper left corner; DISC: centre; WORDS: base line */
    cbx__xy size;     /* RECT; DISC: x is the radius; WORDS: x is the height of the letters */
    cbx__anchor anchor;
    double turn;       /* WORDS: degrees, clockwise */
    bool bold, closed; /* PATH: closed */
    const char *words; /* WORDS: the text; others: what a pointer resting on it shows, or NULL */
    cbx__xy *path;
    size_t n;
} cbx__item;

typedef struct cbx__scene {
    cbx_arena *arena;
    cbx__item *first, **last;
    double width, height;
    uint32_t paper;
    const char *title; /* NULL: none */
    bool full;         /* memory ran out: what was added after is missing */
    cbx__item lost;    /* in place of an item that there was no memory for */
} cbx__scene;

/* Four patterns of a dashed line, [0] solid: lengths in px, ending with 0. */
extern const double cbx__dashes[4][5];

void cbx__scene_init(cbx__scene *s, cbx_arena *arena, double width, double height, uint32_t paper);
/* Each returns the item, to be changed further, or one that is thrown away when memory has run
 * out. */
cbx__item *cbx__scene_path(cbx__scene *s, const char *role, cbx__paint paint, const cbx__xy *path, size_t n,
                           bool closed);
cbx__item *cbx__scene_line(cbx__scene *s, const char *role, cbx__paint paint, double x0, double y0, double x1,
                           double y1);
cbx__item *cbx__scene_rect(cbx__scene *s, const char *role, cbx__paint paint, double x, double y, double w, double h);
cbx__item *cbx__scene_disc(cbx__scene *s, const char *role, cbx__paint paint, double x, double y, double r);
cbx__item *cbx__scene_words(cbx__scene *s, const char *role, uint32_t colour, double x, double y, double size,
                            cbx__anchor anchor, const char *words);

/* A copy without control characters and without bytes that are not UTF-8, cut after `max`
 * characters; NULL: no memory. */
char *cbx__plain_words(cbx_arena *arena, const char *s, size_t max);
/* Width in px, from the letters' widths of Helvetica with a margin for wider fonts. */
double cbx__words_width(const char *s, double size);
/* v with so many decimals (0..9), cut of trailing zeros if asked; the same in every locale. */
const char *cbx__fixed(double v, int decimals, bool cut, char buf[CBX_FORMAT_SIZE]);

void cbx__scene_write_svg(const cbx__scene *s, cbx_text *out);
cbx_status cbx__scene_write_cairo(cbx_ctx *ctx, const cbx__scene *s, cbx_plot_format format, double scale,
                                  cbx_text *out, cbx_err *err);

#endif
