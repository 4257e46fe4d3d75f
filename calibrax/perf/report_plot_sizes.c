/*
 * Time against work, double logarithmic.
 *
 * Lines join points only where something lies between them: between shapes that are one another scaled (cubes with
 * cubes). Coordinates are rounded, and repeated shapes are referred to, because a page of 400 rows should stay small.
 */
#include "calibrax/perf/report_plot_parts.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 752, HEIGHT = 380, LEFT = 62, RIGHT = 570, TOP = 14, BOTTOM = 336 };

typedef struct size_point {
    const cbx__report_item *item;
    cbx__report_shape shape;
    double time;
} size_point;

typedef struct size_plot {
    size_point *points;
    size_t n;
    const cbx__report_group *head; /* tells variety, platform, machine */
    const char *variety;
    cbx__plot_axis x, y;
} size_plot;

static bool is_plotted(const cbx__report_item *it)
{
    double t = cbx__report_median(it->row);
    return it->class == CBX__REPORT_GOOD && it->quoted && isfinite(t) && t > 0;
}

static bool goes_with(const cbx__report_group *a, const char *variety_a, const cbx__report_group *b,
                      const char *variety_b)
{
    const char *pa = a->head->platform ? a->head->platform : "", *pb = b->head->platform ? b->head->platform : "";
    const char *ma = a->head->machine ? a->head->machine : "", *mb = b->head->machine ? b->head->machine : "";
    return !strcmp(variety_a, variety_b) && !strcmp(pa, pb) && !strcmp(ma, mb) && a->case_index == b->case_index;
}

static void add_points(size_plot *p, const cbx__report_view *v, const cbx__report_group *g,
                       const cbx__report_shape *shape)
{
    for (size_t i = g->first; i < g->first + g->count; i++)
        if (is_plotted(&v->items[i]))
            p->points[p->n++] = (size_point){ &v->items[i], *shape, cbx__report_median(v->items[i].row) };
}

/* The plot that group `from` begins: all later groups of its kind.  false: an earlier group has begun it, or it has no
 * two sizes. */
static bool gather(size_plot *p, const cbx__report_view *v, const cbx__report_shape *shapes, size_t from)
{
    double min_x = INFINITY, max_x = 0, min_y = INFINITY, max_y = 0;
    p->n = 0;
    p->head = &v->groups[from];
    p->variety = shapes[from].variety;
    for (size_t g = 0; g < v->ngroups; g++) {
        if (!goes_with(&v->groups[g], shapes[g].variety, p->head, p->variety) || !(shapes[g].size > 0)) continue;
        if (g < from) return false;
        add_points(p, v, &v->groups[g], &shapes[g]);
    }
    for (size_t i = 0; i < p->n; i++) {
        double bound = p->points[i].item->row->bound_s, t = p->points[i].time;
        min_x = fmin(min_x, p->points[i].shape.size);
        max_x = fmax(max_x, p->points[i].shape.size);
        min_y = fmin(min_y, bound > 0 ? fmin(bound, t) : t);
        max_y = fmax(max_y, t);
    }
    if (!p->n || min_x == max_x) return false;
    p->x = cbx__plot_axis_over(min_x, max_x, LEFT, RIGHT);
    p->y = cbx__plot_axis_over(min_y, max_y, BOTTOM, TOP);
    return true;
}

static void put_size_axes(cbx_text *out, const size_plot *p)
{
    cbx__plot_ticks x = cbx__plot_ticks_of(&p->x, 40), y = cbx__plot_ticks_of(&p->y, 24);
    cbx_text_puts(out, "<path class=grid d=\"");
    for (size_t i = 0; i < x.n; i++) cbx_text_printf(out, "M%.0f %dV%d", cbx__plot_place(&p->x, x.at[i]), TOP, BOTTOM);
    for (size_t i = 0; i < y.n; i++) cbx_text_printf(out, "M%d %.0fH%d", LEFT, cbx__plot_place(&p->y, y.at[i]), RIGHT);
    cbx_text_puts(out, "\"/><g class=x>");
    for (size_t i = 0; i < x.n; i++) {
        cbx_text_printf(out, "<text x=%.0f y=%d>", cbx__plot_place(&p->x, x.at[i]), BOTTOM + 16);
        cbx__plot_put_count(out, x.at[i]);
        cbx_text_puts(out, "</text>");
    }
    cbx_text_printf(out, "<text x=%d y=%d>work: product of the sizes</text></g><g class=y>", (LEFT + RIGHT) / 2,
                    HEIGHT - 8);
    for (size_t i = 0; i < y.n; i++) {
        cbx_text_printf(out, "<text x=%d y=%.0f>", LEFT - 7, cbx__plot_place(&p->y, y.at[i]) + 4);
        cbx__plot_put_time(out, y.at[i]);
        cbx_text_puts(out, "</text>");
    }
    cbx_text_puts(out, "</g>\n");
}

/* The next larger point of the same series that is this one scaled; NULL if there is none. */
static const size_point *successor(const size_plot *p, const size_point *a)
{
    const size_point *best = NULL;
    for (size_t i = 0; i < p->n; i++) {
        const size_point *b = &p->points[i];
        if (b->item->series != a->item->series || b->shape.size <= a->shape.size) continue;
        if (cbx__report_shapes_alike(&a->shape, &b->shape) && (!best || b->shape.size < best->shape.size)) best = b;
    }
    return best;
}

static void put_series_lines(cbx_text *out, const size_plot *p, int series)
{
    bool any = false;
    for (size_t i = 0; i < p->n; i++) {
        const size_point *a = &p->points[i], *b = a->item->series == series ? successor(p, a) : NULL;
        if (!b) continue;
        cbx_text_puts(out, any ? "" : "<path class=l d=\"");
        cbx_text_printf(out, "M%.1f %.1fL%.1f %.1f", cbx__plot_place(&p->x, a->shape.size),
                        cbx__plot_place(&p->y, a->time), cbx__plot_place(&p->x, b->shape.size),
                        cbx__plot_place(&p->y, b->time));
        any = true;
    }
    if (any) cbx_text_puts(out, "\"/>");
}

/* Whiskers that would be hidden by the mark are left out. */
static void put_series_marks(cbx_text *out, const size_plot *p, int series)
{
    for (size_t i = 0; i < p->n; i++) {
        const size_point *a = &p->points[i];
        const cbx_row_interval *t = &a->item->row->steady;
        double x = cbx__plot_place(&p->x, a->shape.size);
        if (a->item->series != series) continue;
        if (cbx__report_has_interval(t) && t->lower > 0 &&
            cbx__plot_place(&p->y, t->lower) - cbx__plot_place(&p->y, t->upper) > 9)
            cbx_text_printf(out, "<path class=w d=\"M%.0f %.0fV%.0f\"/>", x, cbx__plot_place(&p->y, t->lower),
                            cbx__plot_place(&p->y, t->upper));
        cbx_text_printf(out, "<use href=#m%d x=%.0f y=%.0f />", cbx__plot_mark(series), x,
                        cbx__plot_place(&p->y, a->time));
    }
}

/* Smallest bound of the rows of one size and shape. */
static double bound_at(const size_plot *p, const cbx__report_shape *s)
{
    double bound = INFINITY;
    for (size_t i = 0; i < p->n; i++) {
        double b = p->points[i].item->row->bound_s;
        if (p->points[i].shape.size == s->size && cbx__report_shapes_alike(&p->points[i].shape, s) && b > 0)
            bound = fmin(bound, b);
    }
    return bound;
}

static const size_point *next_shape(const size_plot *p, const size_point *a)
{
    const size_point *best = NULL;
    for (size_t i = 0; i < p->n; i++) {
        const size_point *b = &p->points[i];
        if (b->shape.size > a->shape.size && cbx__report_shapes_alike(&a->shape, &b->shape) &&
            (!best || b->shape.size < best->shape.size))
            best = b;
    }
    return best;
}

static void put_roofline(cbx_text *out, const size_plot *p)
{
    cbx_text_puts(out, "<path class=roof d=\"");
    for (size_t i = 0; i < p->n; i++) {
        const size_point *a = &p->points[i], *b = next_shape(p, a);
        double here = bound_at(p, &a->shape), x = cbx__plot_place(&p->x, a->shape.size);
        bool told = !isfinite(here);
        for (size_t j = 0; j < i; j++)
            told = told || (p->points[j].shape.size == a->shape.size &&
                            cbx__report_shapes_alike(&p->points[j].shape, &a->shape));
        if (told) continue;
        cbx_text_printf(out, "M%.1f %.1fh10", x - 5, cbx__plot_place(&p->y, here));
        if (b && isfinite(bound_at(p, &b->shape)))
            cbx_text_printf(out, "M%.1f %.1fL%.1f %.1f", x, cbx__plot_place(&p->y, here),
                            cbx__plot_place(&p->x, b->shape.size), cbx__plot_place(&p->y, bound_at(p, &b->shape)));
    }
    cbx_text_puts(out, "\"/>\n");
}

/* Names at the right edge, at the height of their rightmost point, moved apart where they would touch. */
typedef struct edge_label {
    const cbx__report_item *item; /* NULL: the roofline */
    double y, x_of_point;
} edge_label;

#define MAX_LABELS 24
#define LABEL_GAP  15.0

static size_t gather_labels(const size_plot *p, edge_label *labels)
{
    size_t n = 0;
    edge_label roof = { NULL, NAN, -1 };
    for (size_t i = 0; i < p->n; i++) {
        const size_point *a = &p->points[i];
        size_t k = 0;
        while (k < n && labels[k].item->series != a->item->series) k++;
        if (isfinite(bound_at(p, &a->shape)) && a->shape.size > roof.x_of_point)
            roof = (edge_label){ NULL, cbx__plot_place(&p->y, bound_at(p, &a->shape)), a->shape.size };
        if (k == MAX_LABELS - 1 || (k < n && labels[k].x_of_point >= a->shape.size)) continue;
        labels[k] = (edge_label){ a->item, cbx__plot_place(&p->y, a->time), a->shape.size };
        if (k == n) n++;
    }
    if (roof.x_of_point >= 0) labels[n++] = roof;
    return n;
}

static void spread_labels(edge_label *labels, size_t n)
{
    double excess;
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && labels[k].y < labels[k - 1].y; k--) {
            edge_label swap = labels[k];
            labels[k] = labels[k - 1];
            labels[k - 1] = swap;
        }
    for (size_t i = 1; i < n; i++) labels[i].y = fmax(labels[i].y, labels[i - 1].y + LABEL_GAP);
    excess = n ? labels[n - 1].y - BOTTOM : 0;
    if (excess > 0) labels[n - 1].y -= excess;
    for (size_t i = n; excess > 0 && i-- > 1;) labels[i - 1].y = fmin(labels[i - 1].y, labels[i].y - LABEL_GAP);
}

static void put_labels(cbx_text *out, const size_plot *p, cbx_arena *arena)
{
    edge_label labels[MAX_LABELS];
    size_t n = gather_labels(p, labels);
    spread_labels(labels, n);
    for (size_t i = 0; i < n; i++) {
        if (!labels[i].item) {
            cbx_text_printf(out, "<path class=roof d=\"M%d %.0fh12\"/><text x=%d y=%.0f>roofline</text>", RIGHT + 8,
                            labels[i].y, RIGHT + 25, labels[i].y + 4);
            continue;
        }
        cbx_text_puts(out, "<g");
        cbx__plot_put_class(out, "k", labels[i].item->series);
        cbx_text_printf(out, " data-s=%d><use href=#m%d x=%d y=%.0f /><text x=%d y=%.0f>", labels[i].item->series,
                        cbx__plot_mark(labels[i].item->series), RIGHT + 14, labels[i].y, RIGHT + 25, labels[i].y + 4);
        cbx__plot_put_text(out, arena, cbx__report_name(arena, labels[i].item), 24);
        cbx_text_puts(out, "</text></g>");
    }
    cbx_text_putc(out, '\n');
}

static const char *plot_name(cbx_arena *arena, const cbx__report_view *v, const size_plot *p)
{
    const char *name = p->variety[0] ? p->variety : v->cases[p->head->case_index];
    if (v->nplatforms > 1)
        name = cbx_arena_printf(arena, "%s, %s", name, p->head->head->platform ? p->head->head->platform : "");
    if (name && v->nmachines > 1)
        name = cbx_arena_printf(arena, "%s, machine %.12s", name, p->head->head->machine ? p->head->head->machine : "");
    return name ? name : p->variety;
}

static bool has_series(const size_plot *p, int series)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->points[i].item->series == series) return true;
    return false;
}

static void put_size_plot(cbx_text *out, const cbx__report_view *v, const size_plot *p, size_t number, cbx_arena *arena)
{
    int last = -1;
    bool representative = false;
    for (size_t i = 0; i < p->n; i++) {
        representative = representative || p->points[i].item->row->representative;
        if (p->points[i].item->series > last) last = p->points[i].item->series;
    }
    cbx_text_printf(out, "<figure class=plot data-plot=%zu%s><figcaption>", number,
                    representative ? " data-first" : "");
    cbx__plot_put_text(out, arena, plot_name(arena, v, p), 60);
    cbx_text_printf(
        out,
        "</figcaption><svg viewBox=\"0 0 %d %d\" role=img aria-label=\"time against work, double logarithmic: ", WIDTH,
        HEIGHT);
    cbx__plot_put_text(out, arena, plot_name(arena, v, p), 60);
    cbx_text_puts(out, "\">");
    put_size_axes(out, p);
    put_roofline(out, p);
    for (int s = 0; s <= last; s++) {
        if (!has_series(p, s)) continue;
        cbx_text_puts(out, "<g");
        cbx__plot_put_class(out, "", s);
        cbx_text_printf(out, " data-s=%d>", s);
        put_series_lines(out, p, s);
        put_series_marks(out, p, s);
        cbx_text_puts(out, "</g>\n");
    }
    put_labels(out, p, arena);
    cbx_text_puts(out, "</svg></figure>\n");
}

/* True if some group of the plot that `from` begins is representative. */
static bool begins_representative(const cbx__report_view *v, const cbx__report_shape *shapes, size_t from)
{
    for (size_t g = from; g < v->ngroups; g++)
        if (v->groups[g].representative &&
            goes_with(&v->groups[g], shapes[g].variety, &v->groups[from], shapes[from].variety))
            return true;
    return false;
}

size_t cbx__plot_sizes(cbx_text *out, const cbx__report_view *v, size_t case_index, size_t most, cbx_arena *arena)
{
    cbx__report_shape *shapes = cbx_arena_calloc(arena, v->ngroups + 1, sizeof *shapes);
    size_plot p = { .points = cbx_arena_calloc(arena, v->nitems + 1, sizeof *p.points) };
    size_t n = 0;
    if (!shapes || !p.points) return 0;
    for (size_t g = 0; g < v->ngroups; g++) cbx__report_shape_of(v->groups[g].head, arena, &shapes[g]);
    for (size_t g = 0; g < v->ngroups; g++) {
        if (v->groups[g].case_index != case_index || !(shapes[g].size > 0) || !gather(&p, v, shapes, g)) continue;
        if (n < most || begins_representative(v, shapes, g)) put_size_plot(out, v, &p, n++, arena);
    }
    return n;
}
