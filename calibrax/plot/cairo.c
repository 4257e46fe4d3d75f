/*
 * PDF and PNG of a scene through cairo (1.12 or newer; LGPL-2.1 or MPL-1.1), loaded on first use.
 *
 * Its calls are declared here as its manual gives them (cairographics.org/manual): the binary
 * interface has been stable since 1.0.  PDFs carry the date 1980-01-01, so that equal plots make
 * equal files.
 */
#include <math.h>
#include <string.h>

#include "calibrax/base/library.h"
#include "calibrax/plot/scene.h"

typedef struct cairo_surface cairo_surface;
typedef struct cairo cairo;
typedef int (*cairo_write)(void *closure, const unsigned char *data, unsigned length);

typedef struct cairo_extents {
    double x_bearing, y_bearing, width, height, x_advance, y_advance;
} cairo_extents;

enum {
    ARGB32 = 0,
    WRITE_FAILED = 11,
    NO_MEMORY = 1,
    SLANT_NORMAL = 0,
    WEIGHT_NORMAL = 0,
    WEIGHT_BOLD = 1,
    JOIN_ROUND = 1,
    METADATA_TITLE = 0,
    METADATA_CREATE_DATE = 5,
    METADATA_MOD_DATE = 6
};

/* name, result, arguments: the part of cairo that is used here. */
#define CAIRO_CALLS(X)                                                                                                 \
    X(image_surface_create, cairo_surface *, (int, int, int))                                                          \
    X(pdf_surface_create_for_stream, cairo_surface *, (cairo_write, void *, double, double))                           \
    X(pdf_surface_set_metadata, void, (cairo_surface *, int, const char *))                                            \
    X(surface_write_to_png_stream, int, (cairo_surface *, cairo_write, void *))                                        \
    X(surface_finish, void, (cairo_surface *))                                                                         \
    X(surface_status, int, (cairo_surface *))                                                                          \
    X(surface_destroy, void, (cairo_surface *))                                                                        \
    X(create, cairo *, (cairo_surface *))                                                                              \
    X(destroy, void, (cairo *))                                                                                        \
    X(status, int, (cairo *))                                                                                          \
    X(status_to_string, const char *, (int))                                                                           \
    X(save, void, (cairo *))                                                                                           \
    X(restore, void, (cairo *))                                                                                        \
    X(scale, void, (cairo *, double, double))                                                                          \
    X(rotate, void, (cairo *, double))                                                                                 \
    X(translate, void, (cairo *, double, double))                                                                      \
    X(set_source_rgba, void, (cairo *, double, double, double, double))                                                \
    X(set_line_width, void, (cairo *, double))                                                                         \
    X(set_line_join, void, (cairo *, int))                                                                             \
    X(set_dash, void, (cairo *, const double *, int, double))                                                          \
    X(move_to, void, (cairo *, double, double))                                                                        \
    X(line_to, void, (cairo *, double, double))                                                                        \
    X(new_path, void, (cairo *))                                                                                       \
    X(close_path, void, (cairo *))                                                                                     \
    X(rectangle, void, (cairo *, double, double, double, double))                                                      \
    X(arc, void, (cairo *, double, double, double, double, double))                                                    \
    X(fill_preserve, void, (cairo *))                                                                                  \
    X(stroke, void, (cairo *))                                                                                         \
    X(paint, void, (cairo *))                                                                                          \
    X(select_font_face, void, (cairo *, const char *, int, int))                                                       \
    X(set_font_size, void, (cairo *, double))                                                                          \
    X(text_extents, void, (cairo *, const char *, cairo_extents *))                                                    \
    X(show_text, void, (cairo *, const char *))

typedef struct cairo_calls {
#define CAIRO_MEMBER(name, result, args) result(*name) args;
    CAIRO_CALLS(CAIRO_MEMBER)
#undef CAIRO_MEMBER
} cairo_calls;

static cbx_status open_cairo(cbx_ctx *ctx, cairo_calls *calls, cbx_library **lib, cbx_err *err)
{
    const cbx_library_symbol symbols[] = {
#define CAIRO_SYMBOL(name, result, args) { "cairo_" #name, (void **)(void *)&calls->name },
        CAIRO_CALLS(CAIRO_SYMBOL)
#undef CAIRO_SYMBOL
    };

    return cbx_library_open_known(ctx, CBX_LIBRARY_CAIRO, NULL, symbols, CBX_LEN(symbols), lib, err);
}

/* A drawing under way. */
typedef struct pen {
    cairo_calls c;
    cairo *cr;
} pen;

static void set_colour(const pen *p, uint32_t colour, double opacity)
{
    p->c.set_source_rgba(p->cr, (colour >> 16) / 255.0, (colour >> 8 & 255) / 255.0, (colour & 255) / 255.0, opacity);
}

static void draw_shape(const pen *p, const cbx__item *it)
{
    const cbx__paint *paint = &it->paint;
    const double *dash = cbx__dashes[paint->dash];
    int n = 0;

    for (size_t i = 0; i < it->n; i++) (i ? p->c.line_to : p->c.move_to)(p->cr, it->path[i].x, it->path[i].y);
    if (it->kind == CBX__RECT) p->c.rectangle(p->cr, it->at.x, it->at.y, it->size.x, it->size.y);
    if (it->kind == CBX__DISC) p->c.arc(p->cr, it->at.x, it->at.y, it->size.x, 0, 2 * acos(-1));
    if (it->closed) p->c.close_path(p->cr);
    if (paint->fill != CBX__NO_COLOUR) {
        set_colour(p, paint->fill, paint->opacity);
        p->c.fill_preserve(p->cr);
    }
    if (paint->stroke != CBX__NO_COLOUR) {
        while (dash[n] > 0) n++;
        p->c.set_dash(p->cr, dash, n, 0);
        p->c.set_line_width(p->cr, paint->width);
        set_colour(p, paint->stroke, 1);
        p->c.stroke(p->cr);
    }
    p->c.new_path(p->cr);
}

static void draw_words(const pen *p, const cbx__item *it)
{
    static const double part[] = { 0, 0.5, 1 };
    cairo_extents e = { 0 };

    p->c.save(p->cr);
    p->c.translate(p->cr, it->at.x, it->at.y);
    p->c.rotate(p->cr, it->turn * acos(-1) / 180);
    p->c.select_font_face(p->cr, "Helvetica", SLANT_NORMAL, it->bold ? WEIGHT_BOLD : WEIGHT_NORMAL);
    p->c.set_font_size(p->cr, it->size.x);
    p->c.text_extents(p->cr, it->words, &e);
    p->c.move_to(p->cr, -part[it->anchor] * e.x_advance, 0);
    set_colour(p, it->paint.fill, 1);
    p->c.show_text(p->cr, it->words);
    p->c.restore(p->cr);
    p->c.new_path(p->cr);
}

static int write_bytes(void *closure, const unsigned char *data, unsigned length)
{
    cbx_text *out = closure;

    cbx_text_add(out, (const char *)data, length);
    return out->status ? WRITE_FAILED : 0;
}

cbx_status cbx__scene_write_cairo(cbx_ctx *ctx, const cbx__scene *s, cbx_plot_format format, double scale,
                                  cbx_text *out, cbx_err *err)
{
    pen p;
    cbx_library *lib = NULL;
    int status;
    cbx_status st = open_cairo(ctx, &p.c, &lib, err);

    if (st) return st;
    cairo_surface *surface;
    if (format == CBX_PLOT_PNG) {
        surface = p.c.image_surface_create(ARGB32, (int)lround(s->width * scale), (int)lround(s->height * scale));
    } else {
        scale = 0.75; /* points of 1/72 inch */
        surface = p.c.pdf_surface_create_for_stream(write_bytes, out, s->width * scale, s->height * scale);
        p.c.pdf_surface_set_metadata(surface, METADATA_CREATE_DATE, "1980-01-01T00:00:00Z");
        if (s->title) p.c.pdf_surface_set_metadata(surface, METADATA_TITLE, s->title);
    }
    p.cr = p.c.create(surface);
    p.c.scale(p.cr, scale, scale);
    set_colour(&p, s->paper, 1);
    p.c.paint(p.cr);
    p.c.set_line_join(p.cr, JOIN_ROUND);
    for (const cbx__item *it = s->first; it; it = it->next) (it->kind == CBX__WORDS ? draw_words : draw_shape)(&p, it);
    status = p.c.status(p.cr);
    p.c.destroy(p.cr);
    if (!status && format == CBX_PLOT_PNG) status = p.c.surface_write_to_png_stream(surface, write_bytes, out);
    p.c.surface_finish(surface);
    if (!status) status = p.c.surface_status(surface);
    p.c.surface_destroy(surface);
    if (status && (out->status || status == NO_MEMORY))
        st = cbx_fail(err, CBX_ENOMEM, "out of memory to draw a plot");
    else if (status)
        st = cbx_fail(err, CBX_EIO, "cairo cannot draw a plot: %s", p.c.status_to_string(status));
    cbx_library_close(lib);
    return st;
}
