/*
 * Time against work, double logarithmic.
 *
 * Lines join only points whose shapes are scaled copies of one another (cubes with cubes).
 * Coordinates are rounded, and repeated shapes are referred to, because a page of 400 rows should
 * stay small.
 */
#include "calibrax/perf/report/report_charts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/idioms.h"

/* The plot, and beside it, or below it on a narrow screen, the names of its lines. */
enum { WIDTH = 568, NAMES_WIDTH = 184, HEIGHT = 380, LEFT = 66, RIGHT = 560, TOP = 14, BOTTOM = 336 };

typedef struct size_point {
    const cbx__report_item *item;
    cbx__report_shape shape;
    double time, bound; /* bound: the least of all rows of this shape; INFINITY: none */
} size_point;

typedef struct size_plot {
    size_point *points;        /* by series, then shape */
    const size_point **shapes; /* the first of each shape, by shape */
    size_t n, nshapes;
    const cbx__report_group *head; /* tells variety, platform, machine */
    const char *variety;
    cbx__axis x, y;
} size_plot;

static bool goes_with(const cbx__report_group *a, const char *variety_a, const cbx__report_group *b,
                      const char *variety_b)
{
    return !strcmp(variety_a, variety_b) && cbx__report_same(a->head->platform, b->head->platform) &&
           cbx__report_same(a->head->machine, b->head->machine) && a->case_index == b->case_index;
}

/* Shapes that are one another scaled are equal; the others have some order. */
static int by_form(const cbx__report_shape *a, const cbx__report_shape *b)
{
    if (a->ndims != b->ndims) return a->ndims < b->ndims ? -1 : 1;
    for (size_t i = 1; i < a->ndims; i++) {
        double x = a->dim[i] * b->dim[0], y = b->dim[i] * a->dim[0];
        if (x != y) return x < y ? -1 : 1;
    }
    return 0;
}

static int by_shape(const cbx__report_shape *a, const cbx__report_shape *b)
{
    int c = by_form(a, b);
    return c ? c : (a->size > b->size) - (a->size < b->size);
}

static int by_series(const void *a, const void *b)
{
    const size_point *x = a, *y = b;
    int c = (x->item->series > y->item->series) - (x->item->series < y->item->series);

    if (!c) c = by_shape(&x->shape, &y->shape);
    return c ? c : (x->item > y->item) - (x->item < y->item);
}

static int by_shape_alone(const void *a, const void *b)
{
    const size_point *x = *(const size_point *const *)a, *y = *(const size_point *const *)b;
    int c = by_shape(&x->shape, &y->shape);
    return c ? c : (x > y) - (x < y);
}

/* The plot that group `from` begins: all later groups of its kind.  false: an earlier group has
 * begun it, or it has no two sizes. */
static bool gather(size_plot *p, const cbx__report_view *v, const cbx__report_shape *shapes, size_t from)
{
    double min_x = INFINITY, max_x = 0, min_y = INFINITY, max_y = 0;
    p->n = 0;
    p->head = &v->groups[from];
    p->variety = shapes[from].variety;
    for (size_t g = 0; g < v->ngroups; g++) {
        if (!goes_with(&v->groups[g], shapes[g].variety, p->head, p->variety) || !(shapes[g].size > 0)) continue;
        if (g < from) return false;
        for (const cbx__report_item *it = v->groups[g].items; it < v->groups[g].items + v->groups[g].count; it++) {
            double t = cbx__report_median(it->row);
            if (it->class == CBX__REPORT_GOOD && it->quoted && isfinite(t) && t > 0)
                p->points[p->n++] = (size_point){ it, shapes[g], t, INFINITY };
        }
    }
    for (const size_point *a = p->points; a < p->points + p->n; a++) {
        double bound = a->item->row->bound_s, t = a->time;
        min_x = fmin(min_x, a->shape.size);
        max_x = fmax(max_x, a->shape.size);
        min_y = fmin(min_y, bound > 0 ? fmin(bound, t) : t);
        max_y = fmax(max_y, t);
    }
    if (!p->n || min_x == max_x) return false;
    /* Points in the order in which they are drawn, and the bounds of their shapes. */
    qsort(p->points, p->n, sizeof *p->points, by_series);
    for (size_t i = 0; i < p->n; i++) p->shapes[i] = &p->points[i];
    qsort(p->shapes, p->n, sizeof *p->shapes, by_shape_alone);
    p->nshapes = 0;
    for (size_t i = 0, next; i < p->n; i = next) {
        double bound = INFINITY;
        for (next = i; next < p->n && !by_shape(&p->shapes[i]->shape, &p->shapes[next]->shape); next++) {
            double b = p->shapes[next]->item->row->bound_s;
            if (b > 0) bound = fmin(bound, b);
        }
        for (size_t k = i; k < next; k++) p->points[p->shapes[k] - p->points].bound = bound;
        p->shapes[p->nshapes++] = p->shapes[i];
    }
    cbx__axis_fit(&p->x, CBX_PLOT_LOG, min_x, max_x);
    cbx__axis_unit(&p->x, NULL);
    cbx__axis_lay(&p->x, LEFT, RIGHT, 48);
    p->y = cbx__charts_time_axis(min_y, max_y, BOTTOM, TOP, 26);
    return true;
}

/* "5\302\26710^6" with its exponent raised. */
static void put_raised(cbx_text *out, const char *label)
{
    static const char *const raised[] = { "\342\201\260", "\302\271",     "\302\262",     "\302\263",
                                          "\342\201\264", "\342\201\265", "\342\201\266", "\342\201\267",
                                          "\342\201\270", "\342\201\271" };
    const char *power = strchr(label, '^');

    cbx_text_add(out, label, power ? (size_t)(power - label) : strlen(label));
    for (const char *c = power ? power + 1 : ""; *c; c++)
        cbx_text_puts(out, *c == '-' ? "\342\201\273" : raised[(*c - '0') % 10]);
}

static void put_size_axes(cbx_text *out, const size_plot *p)
{
    const cbx__axis *x = &p->x, *y = &p->y;
    char label[CBX_FORMAT_SIZE];

    cbx_text_puts(out, "<path class=grid d=\"");
    for (size_t i = 0; i < x->n; i++) cbx_text_printf(out, "M%.0f %dV%d", cbx__axis_place(x, x->at[i]), TOP, BOTTOM);
    for (size_t i = 0; i < y->n; i++) cbx_text_printf(out, "M%d %.0fH%d", LEFT, cbx__axis_place(y, y->at[i]), RIGHT);
    cbx_text_puts(out, "\"/><g class=x>");
    for (size_t i = 0; i < x->n; i++) {
        cbx_text_printf(out, "<text x=%.0f y=%d>", cbx__axis_place(x, x->at[i]), BOTTOM + 17);
        put_raised(out, cbx__axis_label(x, x->at[i], label));
        cbx_text_puts(out, "</text>");
    }
    cbx_text_printf(out, "<text x=%d y=%d>work: product of the sizes</text></g><g class=y>", (LEFT + RIGHT) / 2,
                    HEIGHT - 8);
    for (size_t i = 0; i < y->n; i++)
        cbx_text_printf(out, "<text x=%d y=%.0f>%s</text>", LEFT - 7, cbx__axis_place(y, y->at[i]) + 4,
                        cbx__axis_label(y, y->at[i], label));
    cbx_text_puts(out, "</g>\n");
}

#define MANY     64   /* points of a series from which on what would fall on one another is drawn once */
#define MARK_GAP 24.0 /* pixels between marks of a series that has so many: the others are dots */

/* A line that goes on as long as it can: "M1 2 3 4 5 6M..."; a coarse one skips steps of less than
 * a pixel. */
typedef struct pen {
    cbx_text *out;
    const char *open; /* written before the first stroke; NULL: it is */
    bool coarse;
    double x, y, drawn_x, drawn_y; /* where it is, and how far the line has come */
} pen;

static void stroke(pen *p, double from_x, double from_y, double x, double y)
{
    bool goes_on = !p->open && p->x == from_x && p->y == from_y;

    if (p->open) cbx_text_puts(p->out, p->open);
    if (!goes_on) cbx_text_printf(p->out, "M%.1f %.1f", from_x, from_y);
    p->open = NULL;
    p->x = x;
    p->y = y;
    if (goes_on && p->coarse && fabs(x - p->drawn_x) < 1 && fabs(y - p->drawn_y) < 1) return;
    cbx_text_printf(p->out, " %.1f %.1f", x, y);
    p->drawn_x = x;
    p->drawn_y = y;
}

static void end_line(const pen *p)
{
    if (!p->open) cbx_text_puts(p->out, "\"/>");
}

static double x_of(const size_plot *p, const size_point *a) { return cbx__axis_place(&p->x, a->shape.size); }

static double y_of(const size_plot *p, const size_point *a) { return cbx__axis_place(&p->y, a->time); }

/* Whether point i of a series gets its mark: of many, those that are not too close to the last one
 * that did, and the ends of a line. */
static bool is_marked(const size_plot *p, size_t first, size_t n, size_t i, double *last_x)
{
    double x = x_of(p, &p->points[i]);
    bool ends = i == first || i + 1 == first + n || by_form(&p->points[i - 1].shape, &p->points[i].shape) ||
                by_form(&p->points[i + 1].shape, &p->points[i].shape);

    if (n >= MANY && !ends && fabs(x - *last_x) < MARK_GAP) return false;
    *last_x = x;
    return true;
}

/* Marks; of many the ones between are dots, each once a pixel. */
static void put_series_marks(cbx_text *out, const size_plot *p, size_t first, size_t n)
{
    double last_x = -MARK_GAP, dot_x = NAN, dot_y = NAN;
    const char *open = "<path class=d d=\"";

    for (size_t i = first; i < first + n; i++) {
        double x = round(x_of(p, &p->points[i])), y = round(y_of(p, &p->points[i]));
        if (is_marked(p, first, n, i, &last_x) || (x == dot_x && y == dot_y)) continue;
        cbx_text_puts(out, open);
        open = "";
        dot_x = x;
        dot_y = y;
        cbx_text_printf(out, "M%.0f %.0fh0", x, y);
    }
    if (!*open) cbx_text_puts(out, "\"/>");
    last_x = -MARK_GAP;
    for (size_t i = first; i < first + n; i++)
        if (is_marked(p, first, n, i, &last_x))
            cbx_text_printf(out, "<use href=#m%d x=%.0f y=%.0f />", cbx__series_mark(p->points[first].item->series),
                            x_of(p, &p->points[i]), y_of(p, &p->points[i]));
}

/* Names at the right edge, at the height of their rightmost point, moved apart where they would
 * touch. */
typedef struct edge_label {
    const cbx__report_item *item; /* NULL: the roofline */
    double y, x_of_point;
} edge_label;

CBX_BY(by_height, edge_label, y)

#define MAX_LABELS 24
#define LABEL_GAP  16.0

static void put_labels(cbx_text *out, const size_plot *p, cbx_arena *arena)
{
    edge_label labels[MAX_LABELS], roof = { NULL, NAN, -1 };
    size_t n = 0;
    for (const size_point *a = p->points; a < p->points + p->n; a++) {
        size_t k = 0;
        while (k < n && labels[k].item->series != a->item->series) k++;
        if (isfinite(a->bound) && a->shape.size > roof.x_of_point)
            roof = (edge_label){ NULL, cbx__axis_place(&p->y, a->bound), a->shape.size };
        if (k == MAX_LABELS - 1 || (k < n && labels[k].x_of_point >= a->shape.size)) continue;
        labels[k] = (edge_label){ a->item, cbx__axis_place(&p->y, a->time), a->shape.size };
        if (k == n) n++;
    }
    if (roof.x_of_point >= 0) labels[n++] = roof;
    qsort(labels, n, sizeof *labels, by_height);
    for (size_t i = 1; i < n; i++) labels[i].y = fmax(labels[i].y, labels[i - 1].y + LABEL_GAP);
    double excess = n ? labels[n - 1].y - BOTTOM : 0;
    if (excess > 0) labels[n - 1].y -= excess;
    for (size_t i = n; excess > 0 && i-- > 1;) labels[i - 1].y = fmin(labels[i - 1].y, labels[i].y - LABEL_GAP);
    for (size_t i = 0; i < n; i++) {
        if (!labels[i].item) {
            cbx_text_printf(out, "<path class=roof d=\"M0 %.0fh12\"/><text x=17 y=%.0f>roofline</text>", labels[i].y,
                            labels[i].y + 4);
            continue;
        }
        cbx_text_puts(out, "<g");
        cbx__series_put_class(out, "k", labels[i].item->series);
        cbx_text_printf(out, " data-s=%d><use href=#m%d x=6 y=%.0f /><text x=17 y=%.0f>", labels[i].item->series,
                        cbx__series_mark(labels[i].item->series), labels[i].y, labels[i].y + 4);
        cbx__charts_put_text(out, arena, cbx__report_name(arena, labels[i].item), 24);
        cbx_text_puts(out, "</text></g>");
    }
    cbx_text_putc(out, '\n');
}

static void put_size_plot(cbx_text *out, const cbx__report_view *v, const size_plot *p, size_t number, cbx_arena *arena)
{
    const char *label = p->variety[0] ? p->variety : v->cases[p->head->case_index];
    const char *name = cbx__report_apart(arena, v, p->head, label);
    bool representative = false;
    for (size_t i = 0; i < p->n; i++) representative = representative || p->points[i].item->row->representative;
    cbx_text_printf(out, "<figure class=plot data-plot=%zu%s><figcaption>Time against work: <span>", number,
                    representative ? " data-first" : "");
    cbx__charts_put_text(out, arena, name, 60);
    cbx_text_printf(out,
                    "</span></figcaption><div class=panels><svg width=%d height=%d viewBox=\"0 0 %d %d\" "
                    "role=img aria-label=\"time against work, double logarithmic: ",
                    WIDTH, HEIGHT, WIDTH, HEIGHT);
    cbx__charts_put_text(out, arena, name, 60);
    cbx_text_puts(out, "\">");
    put_size_axes(out, p);
    /* The bound of each shape as a dash, and lines between those of one form. */
    pen roof = { .out = out, .open = "<path class=roof d=\"", .coarse = p->nshapes >= MANY };
    double dash_x = -2 * MARK_GAP;

    for (size_t i = 0; i + 1 < p->nshapes; i++) {
        const size_point *a = p->shapes[i], *b = p->shapes[i + 1];
        if (isfinite(a->bound) && !by_form(&a->shape, &b->shape) && isfinite(b->bound))
            stroke(&roof, x_of(p, a), cbx__axis_place(&p->y, a->bound), x_of(p, b), cbx__axis_place(&p->y, b->bound));
    }
    for (size_t i = 0; i < p->nshapes; i++) {
        const size_point *a = p->shapes[i];
        double x = x_of(p, a), y = cbx__axis_place(&p->y, a->bound);
        if (!isfinite(a->bound) || (p->nshapes >= MANY && fabs(x - dash_x) < MARK_GAP)) continue;
        dash_x = x;
        if (roof.open) cbx_text_puts(out, roof.open);
        roof.open = NULL;
        cbx_text_printf(out, "M%.1f %.1fh10", x - 5, y);
    }
    end_line(&roof);
    cbx_text_putc(out, '\n');
    for (size_t i = 0, n; i < p->n; i += n) {
        int series = p->points[i].item->series;
        for (n = 1; i + n < p->n && p->points[i + n].item->series == series;) n++;
        cbx_text_puts(out, "<g");
        cbx__series_put_class(out, "", series);
        cbx_text_printf(out, " data-s=%d>", series);
        /* From each point to the next larger one of its form. */
        pen line = { .out = out, .open = "<path class=l d=\"", .coarse = n >= MANY };

        for (size_t k = i; k < i + n; k++) {
            const size_point *a = &p->points[k], *b = a;
            while (b < p->points + i + n && !by_shape(&a->shape, &b->shape)) b++;
            if (b == p->points + i + n || by_form(&a->shape, &b->shape)) continue;
            stroke(&line, x_of(p, a), y_of(p, a), x_of(p, b), y_of(p, b));
        }
        end_line(&line);
        /* Whiskers that would be hidden by the mark are left out. */
        const char *open = "<path class=w d=\"";
        for (size_t k = i; k < i + n; k++) {
            const cbx_row_interval *t = &p->points[k].item->row->steady;
            if (!cbx__report_has_interval(t) || !(t->lower > 0) ||
                cbx__axis_place(&p->y, t->lower) - cbx__axis_place(&p->y, t->upper) <= 9)
                continue;
            cbx_text_puts(out, open);
            open = "";
            cbx_text_printf(out, "M%.0f %.0fV%.0f", x_of(p, &p->points[k]), cbx__axis_place(&p->y, t->lower),
                            cbx__axis_place(&p->y, t->upper));
        }
        if (!*open) cbx_text_puts(out, "\"/>");
        put_series_marks(out, p, i, n);
        cbx_text_puts(out, "</g>\n");
    }
    cbx_text_printf(out, "</svg><svg width=%d height=%d role=img aria-label=\"names of the lines\">", NAMES_WIDTH,
                    HEIGHT);
    put_labels(out, p, arena);
    cbx_text_puts(out, "</svg></div></figure>\n");
}

size_t cbx__chart_sizes(cbx_text *out, const cbx__report_view *v, size_t case_index, size_t max, cbx_arena *arena)
{
    cbx__report_shape *shapes = cbx_arena_calloc(arena, v->ngroups + 1, sizeof *shapes);
    size_plot p = { .points = cbx_arena_calloc(arena, v->nitems + 1, sizeof *p.points),
                    .shapes = cbx_arena_calloc(arena, v->nitems + 1, sizeof *p.shapes) };
    size_t n = 0;
    if (!shapes || !p.points || !p.shapes) return 0;
    for (size_t g = 0; g < v->ngroups; g++) cbx__report_shape_of(v->groups[g].head, arena, &shapes[g]);
    for (size_t g = 0; g < v->ngroups; g++) {
        if (v->groups[g].case_index != case_index || !(shapes[g].size > 0) || !gather(&p, v, shapes, g)) continue;
        bool wanted = n < max; /* or some group of the plot is representative */
        for (size_t k = g; k < v->ngroups && !wanted; k++)
            wanted = v->groups[k].representative &&
                     goes_with(&v->groups[k], shapes[k].variety, &v->groups[g], shapes[g].variety);
        if (wanted) put_size_plot(out, v, &p, n++, arena);
    }
    return n;
}
