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

#define ROOF (-1) /* the series of the roofline, which is drawn before the others */

typedef struct size_point {
    const cbx__report_item *item;
    int series; /* of the item; ROOF: time is the smallest bound of its group */
    cbx__report_shape shape;
    double time;
} size_point;

typedef struct size_plot {
    size_point *points; /* by series, then shape */
    size_t n;
    const cbx__report_group *head; /* has variety, platform, machine */
    const char *variety;
    bool representative; /* a group of it is */
    cbx__axis x, y;
} size_plot;

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

static int by_series(const void *a, const void *b)
{
    const size_point *x = a, *y = b;
    int c = (x->series > y->series) - (x->series < y->series);

    if (!c) c = by_form(&x->shape, &y->shape);
    if (!c) c = (x->shape.size > y->shape.size) - (x->shape.size < y->shape.size);
    return c ? c : (x->item > y->item) - (x->item < y->item);
}

/* The plot that group `from` begins: all later groups of its kind.  false: an earlier group has
 * begun it, or it has no two sizes. */
static bool gather(size_plot *p, const cbx__report_view *v, const cbx__report_shape *shapes, size_t from)
{
    double min_x = INFINITY, max_x = 0, min_y = INFINITY, max_y = 0;
    *p = (size_plot){ .points = p->points, .head = &v->groups[from], .variety = shapes[from].variety };
    for (size_t g = 0; g < v->ngroups; g++) {
        const cbx__report_group *group = &v->groups[g];
        if (group->case_index != p->head->case_index || strcmp(shapes[g].variety, p->variety) != 0 ||
            !cbx__report_same(group->head->platform, p->head->head->platform) ||
            !cbx__report_same(group->head->machine, p->head->head->machine) || !(shapes[g].size > 0))
            continue;
        if (g < from) return false;
        p->representative |= group->representative;
        size_point roof = { NULL, ROOF, shapes[g], INFINITY };
        for (const cbx__report_item *it = group->items; it < group->items + group->count; it++) {
            double t = cbx__report_median(it->row), bound = it->row->bound_s;
            if (it->class != CBX__REPORT_GOOD || !it->quoted || !isfinite(t) || !(t > 0)) continue;
            p->points[p->n++] = (size_point){ it, it->series, shapes[g], t };
            if (bound > 0 && bound < roof.time) roof = (size_point){ it, ROOF, shapes[g], bound };
        }
        if (roof.item) p->points[p->n++] = roof;
    }
    for (const size_point *a = p->points; a < p->points + p->n; a++) {
        min_x = fmin(min_x, a->shape.size);
        max_x = fmax(max_x, a->shape.size);
        min_y = fmin(min_y, a->time);
        max_y = fmax(max_y, a->time);
    }
    if (!p->n || min_x == max_x) return false;
    qsort(p->points, p->n, sizeof *p->points, by_series);
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

static double x_of(const size_plot *p, const size_point *a) { return cbx__axis_place(&p->x, a->shape.size); }

static double y_of(const size_plot *p, const size_point *a) { return cbx__axis_place(&p->y, a->time); }

/* Whether point i of a series begins or ends a line. */
static bool is_end(const size_point *a, size_t n, size_t i)
{
    return !i || i + 1 == n || by_form(&a[i - 1].shape, &a[i].shape) || by_form(&a[i].shape, &a[i + 1].shape);
}

/* Whether it gets its mark: of many, those that are not too close to the last one that did, and the
 * ends of a line. */
static bool is_marked(const size_plot *p, const size_point *a, size_t n, size_t i, double *last_x)
{
    double x = x_of(p, &a[i]);

    if (n >= MANY && !is_end(a, n, i) && fabs(x - *last_x) < MARK_GAP) return false;
    *last_x = x;
    return true;
}

/* A line through the points of each form: "1 2 3 4M5 6 ..."; of many without steps of less than a
 * pixel. */
static void put_lines(cbx_text *out, const size_plot *p, const size_point *a, size_t n)
{
    double drawn_x = NAN, drawn_y = NAN;

    for (size_t i = 0; i < n; i++) {
        const double x = x_of(p, &a[i]), y = y_of(p, &a[i]);
        if (n >= MANY && !is_end(a, n, i) && fabs(x - drawn_x) < 1 && fabs(y - drawn_y) < 1) continue;
        cbx_text_printf(out, "%c%.1f %.1f", !i || by_form(&a[i - 1].shape, &a[i].shape) ? 'M' : ' ', x, y);
        drawn_x = x;
        drawn_y = y;
    }
}

static void put_roof(cbx_text *out, const size_plot *p, const size_point *a, size_t n)
{
    double last_x = -MARK_GAP;

    cbx_text_puts(out, "<path class=roof d=\"");
    put_lines(out, p, a, n);
    for (size_t i = 0; i < n; i++)
        if (is_marked(p, a, n, i, &last_x)) cbx_text_printf(out, "M%.1f %.1fh10", x_of(p, &a[i]) - 5, y_of(p, &a[i]));
    cbx_text_puts(out, "\"/>\n");
}

static void put_series(cbx_text *out, const size_plot *p, const size_point *a, size_t n)
{
    double last_x = -MARK_GAP, dot_x = NAN, dot_y = NAN;

    cbx_text_puts(out, "<g");
    cbx__series_put_class(out, "", a->series);
    cbx_text_printf(out, " data-s=%d><path class=l d=\"", a->series);
    put_lines(out, p, a, n);
    /* Whiskers that would be hidden by the mark are left out. */
    cbx_text_puts(out, "\"/><path class=w d=\"");
    for (size_t i = 0; i < n; i++) {
        const cbx_row_interval *t = &a[i].item->row->steady;
        double from = cbx__axis_place(&p->y, t->lower), to = cbx__axis_place(&p->y, t->upper);
        if (cbx__report_has_interval(t) && t->lower > 0 && from - to > 9)
            cbx_text_printf(out, "M%.0f %.0fV%.0f", x_of(p, &a[i]), from, to);
    }
    /* Marks; of many the ones between are dots, each once a pixel. */
    if (n >= MANY) cbx_text_puts(out, "\"/><path class=d d=\"");
    for (size_t i = 0; i < n; i++) {
        const double x = round(x_of(p, &a[i])), y = round(y_of(p, &a[i]));
        if (is_marked(p, a, n, i, &last_x) || (x == dot_x && y == dot_y)) continue;
        dot_x = x;
        dot_y = y;
        cbx_text_printf(out, "M%.0f %.0fh0", x, y);
    }
    cbx_text_puts(out, "\"/>");
    last_x = -MARK_GAP;
    for (size_t i = 0; i < n; i++)
        if (is_marked(p, a, n, i, &last_x))
            cbx_text_printf(out, "<use href=#m%d x=%.0f y=%.0f />", cbx__series_mark(a->series), x_of(p, &a[i]),
                            y_of(p, &a[i]));
    cbx_text_puts(out, "</g>\n");
}

/* Names at the right edge, at the height of their rightmost point, moved apart where they would
 * touch. */
typedef struct edge_label {
    const size_point *point;
    double y;
} edge_label;

CBX_BY(by_height, edge_label, y)

#define MAX_LABELS 24
#define LABEL_GAP  16.0

static void put_labels(cbx_text *out, const size_plot *p, cbx_arena *arena)
{
    edge_label labels[MAX_LABELS];
    size_t n = 0;
    for (size_t i = 0, next; i < p->n && n < MAX_LABELS; i = next) {
        const size_point *last = &p->points[i];
        for (next = i + 1; next < p->n && p->points[next].series == last->series; next++)
            if (p->points[next].shape.size > last->shape.size) last = &p->points[next];
        labels[n++] = (edge_label){ last, y_of(p, last) };
    }
    qsort(labels, n, sizeof *labels, by_height);
    for (size_t i = 1; i < n; i++) labels[i].y = fmax(labels[i].y, labels[i - 1].y + LABEL_GAP);
    double excess = n ? labels[n - 1].y - BOTTOM : 0;
    if (excess > 0) labels[n - 1].y -= excess;
    for (size_t i = n; excess > 0 && i-- > 1;) labels[i - 1].y = fmin(labels[i - 1].y, labels[i].y - LABEL_GAP);
    for (size_t i = 0; i < n; i++) {
        const int series = labels[i].point->series;
        if (series == ROOF) {
            cbx_text_printf(out, "<path class=roof d=\"M0 %.0fh12\"/><text x=17 y=%.0f>roofline</text>", labels[i].y,
                            labels[i].y + 4);
            continue;
        }
        cbx_text_puts(out, "<g");
        cbx__series_put_class(out, "k", series);
        cbx_text_printf(out, " data-s=%d><use href=#m%d x=6 y=%.0f /><text x=17 y=%.0f>", series,
                        cbx__series_mark(series), labels[i].y, labels[i].y + 4);
        cbx__charts_put_text(out, arena, cbx__report_name(arena, labels[i].point->item), 24);
        cbx_text_puts(out, "</text></g>");
    }
    cbx_text_putc(out, '\n');
}

static void put_size_plot(cbx_text *out, const cbx__report_view *v, const size_plot *p, size_t number, cbx_arena *arena)
{
    const char *label = p->variety[0] ? p->variety : v->cases[p->head->case_index];
    const char *name = cbx__report_apart(arena, v, p->head, label);
    cbx_text_printf(out, "<figure class=plot data-plot=%zu%s><figcaption>Time against work: <span>", number,
                    p->representative ? " data-first" : "");
    cbx__charts_put_text(out, arena, name, 60);
    cbx_text_printf(out,
                    "</span></figcaption><div class=panels><svg width=%d height=%d viewBox=\"0 0 %d %d\" "
                    "role=img aria-label=\"time against work, double logarithmic: ",
                    WIDTH, HEIGHT, WIDTH, HEIGHT);
    cbx__charts_put_text(out, arena, name, 60);
    cbx_text_puts(out, "\">");
    put_size_axes(out, p);
    for (size_t i = 0, n; i < p->n; i += n) {
        const size_point *a = &p->points[i];
        for (n = 1; i + n < p->n && a[n].series == a->series;) n++;
        (a->series == ROOF ? put_roof : put_series)(out, p, a, n);
    }
    cbx_text_printf(out, "</svg><svg width=%d height=%d role=img aria-label=\"names of the lines\">", NAMES_WIDTH,
                    HEIGHT);
    put_labels(out, p, arena);
    cbx_text_puts(out, "</svg></div></figure>\n");
}

size_t cbx__chart_sizes(cbx_text *out, const cbx__report_view *v, size_t case_index, size_t max, cbx_arena *arena)
{
    cbx__report_shape *shapes = cbx_arena_calloc(arena, v->ngroups + 1, sizeof *shapes);
    size_plot p = { .points = cbx_arena_calloc(arena, v->nitems + v->ngroups + 1, sizeof *p.points) };
    size_t n = 0;
    if (!shapes || !p.points) return 0;
    for (size_t g = 0; g < v->ngroups; g++) cbx__report_shape_of(v->groups[g].head, arena, &shapes[g]);
    for (size_t g = 0; g < v->ngroups; g++) {
        if (v->groups[g].case_index != case_index || !(shapes[g].size > 0) || !gather(&p, v, shapes, g)) continue;
        if (n < max || p.representative) put_size_plot(out, v, &p, n++, arena);
    }
    return n;
}
