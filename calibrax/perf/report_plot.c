/*
 * Plots of the page: axes, the plot of time against work, the strips of launches.
 *
 * Lines join points only where something lies between them: between shapes that are one another scaled (cubes with
 * cubes). Coordinates are rounded, and repeated shapes are referred to, because a page of 400 rows should stay small.
 */
#include "calibrax/perf/report_plot.h"

#include <math.h>
#include <string.h>

static const char *const marks[CBX__PLOT_SERIES] = {
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",                /* disc */
    "M-3.5-3.5h7v7h-7z",                                 /* square */
    "M0-5 5 0 0 5-5 0z",                                 /* diamond */
    "M0-4.6 4.6 3.5h-9.2z",                              /* triangle */
    "M0 4.6 4.6-3.5h-9.2z",                              /* triangle upside down */
    "M-1.5-5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z", /* plus */
    "M-5-2.5h10v5h-10z",                                 /* bar */
    "M-2.5-5h5v10h-5z",                                  /* post */
};

void cbx__plot_marks(cbx_text *out)
{
    cbx_text_puts(out, "<svg class=defs width=0 height=0 aria-hidden=true><defs>");
    for (size_t i = 0; i < CBX__PLOT_SERIES; i++) cbx_text_printf(out, "<path id=m%zu d=\"%s\"/>", i, marks[i]);
    cbx_text_puts(out, "</defs></svg>\n");
}

/* [degree] A golden angle from one series to the next: no two come close. */
static double hue_of(int series) { return fmod(137.508 * (series - CBX__PLOT_SERIES) + 20, 360); }

void cbx__plot_put_class(cbx_text *out, const char *extra, int series)
{
    if (series < CBX__PLOT_SERIES)
        cbx_text_printf(out, " class=\"%s%ss%d\"", extra, *extra ? " " : "", series);
    else
        cbx_text_printf(out, " class=\"%s%ssx\" style=\"--h:%.0f\"", extra, *extra ? " " : "", hue_of(series));
}

void cbx__plot_put_colour(cbx_text *out, int series)
{
    if (series < CBX__PLOT_SERIES)
        cbx_text_printf(out, "var(--c%d)", series);
    else
        cbx_text_printf(out, "oklch(var(--l) .13 %.0f)", hue_of(series));
}

/* A series takes another mark when the marks begin again. */
static int mark_of(int series) { return (series + series / CBX__PLOT_SERIES) % CBX__PLOT_SERIES; }

static void put_text(cbx_text *out, cbx_arena *arena, const char *s, size_t max)
{
    cbx_text public;
    cbx_text_init(&public, &arena->al);
    cbx__report_put_public(&public, s, max);
    cbx_text_put_html(out, cbx_text_str(&public));
    cbx_text_clear(&public);
}

/* --- axes --- */

/* Logarithmic scale from a data range to pixels. */
typedef struct log_axis {
    double low, high; /* log10 */
    double from, to;  /* pixels */
} log_axis;

static double place(const log_axis *a, double v)
{
    return a->from + (a->to - a->from) * (log10(v) - a->low) / (a->high - a->low);
}

/* Room of a twentieth on both sides, and at least a third of a decade in all. */
static log_axis axis_over(double min, double max, double from, double to)
{
    log_axis a = { log10(min), log10(max), from, to };
    double room = 0.05 * (a.high - a.low);
    if (a.high - a.low + 2 * room < 1.0 / 3) room = (1.0 / 3 - (a.high - a.low)) / 2;
    a.low -= room;
    a.high += room;
    return a;
}

/* Ticks of a logarithmic axis, at least gap pixels apart: 1, 2 and 5 times each decade where there is room, else
 * decades, else every second, third ... decade. */
typedef struct ticks {
    double at[48];
    size_t n;
} ticks;

static ticks ticks_of(const log_axis *a, double gap)
{
    static const double fine[] = { 1, 2, 5 };
    ticks t = { .n = 0 };
    double decade = fabs(a->to - a->from) / (a->high - a->low);
    size_t steps = decade * log10(2) >= gap ? 3 : 1;
    double stride = fmax(1, ceil(gap / decade));
    for (double e = floor(a->low); e <= a->high; e += 1) {
        if (fmod(e, stride) != 0) continue;
        for (size_t i = 0; i < steps && t.n < CBX_LEN(t.at); i++) {
            double v = fine[i] * pow(10, e);
            if (log10(v) >= a->low && log10(v) <= a->high) t.at[t.n++] = v;
        }
    }
    return t;
}

/* "10 ms" */
static void put_time_label(cbx_text *out, double seconds)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = { { 1, "s" }, { 1e-3, "ms" }, { 1e-6, "\302\265s" }, { 1e-9, "ns" } };
    size_t i = 0;
    while (i + 1 < CBX_LEN(units) && seconds < units[i].unit * 0.999999) i++;
    cbx_text_printf(out, "%.4g\302\240%s", seconds / units[i].unit, units[i].name);
}

/* "10" with its exponent raised, or "2e5" as 2 times that */
static void put_count_label(cbx_text *out, double v)
{
    int exponent = (int)floor(log10(v) + 1e-9);
    double factor = v / pow(10, exponent);
    if (v < 9999) {
        cbx_text_printf(out, "%.0f", v);
        return;
    }
    if (factor > 1.5) cbx_text_printf(out, "%.0f\302\267", factor);
    cbx_text_printf(out, "10<tspan dy=-4 font-size=8>%d</tspan>", exponent);
}

/* --- time against work --- */

enum { WIDTH = 720, HEIGHT = 380, LEFT = 62, RIGHT = 570, TOP = 14, BOTTOM = 336 };

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
    log_axis x, y;
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
    p->x = axis_over(min_x, max_x, LEFT, RIGHT);
    p->y = axis_over(min_y, max_y, BOTTOM, TOP);
    return true;
}

static void put_size_axes(cbx_text *out, const size_plot *p)
{
    ticks x = ticks_of(&p->x, 40), y = ticks_of(&p->y, 24);
    cbx_text_puts(out, "<path class=grid d=\"");
    for (size_t i = 0; i < x.n; i++) cbx_text_printf(out, "M%.0f %dV%d", place(&p->x, x.at[i]), TOP, BOTTOM);
    for (size_t i = 0; i < y.n; i++) cbx_text_printf(out, "M%d %.0fH%d", LEFT, place(&p->y, y.at[i]), RIGHT);
    cbx_text_puts(out, "\"/><g class=x>");
    for (size_t i = 0; i < x.n; i++) {
        cbx_text_printf(out, "<text x=%.0f y=%d>", place(&p->x, x.at[i]), BOTTOM + 16);
        put_count_label(out, x.at[i]);
        cbx_text_puts(out, "</text>");
    }
    cbx_text_printf(out, "<text x=%d y=%d>work: product of the sizes</text></g><g class=y>", (LEFT + RIGHT) / 2,
                    HEIGHT - 8);
    for (size_t i = 0; i < y.n; i++) {
        cbx_text_printf(out, "<text x=%d y=%.0f>", LEFT - 7, place(&p->y, y.at[i]) + 4);
        put_time_label(out, y.at[i]);
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
        cbx_text_printf(out, "M%.1f %.1fL%.1f %.1f", place(&p->x, a->shape.size), place(&p->y, a->time),
                        place(&p->x, b->shape.size), place(&p->y, b->time));
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
        double x = place(&p->x, a->shape.size);
        if (a->item->series != series) continue;
        if (cbx__report_has_interval(t) && t->lower > 0 && place(&p->y, t->lower) - place(&p->y, t->upper) > 9)
            cbx_text_printf(out, "<path class=w d=\"M%.0f %.0fV%.0f\"/>", x, place(&p->y, t->lower),
                            place(&p->y, t->upper));
        cbx_text_printf(out, "<use href=#m%d x=%.0f y=%.0f />", mark_of(series), x, place(&p->y, a->time));
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
        double here = bound_at(p, &a->shape), x = place(&p->x, a->shape.size);
        bool told = !isfinite(here);
        for (size_t j = 0; j < i; j++)
            told = told || (p->points[j].shape.size == a->shape.size &&
                            cbx__report_shapes_alike(&p->points[j].shape, &a->shape));
        if (told) continue;
        cbx_text_printf(out, "M%.1f %.1fh10", x - 5, place(&p->y, here));
        if (b && isfinite(bound_at(p, &b->shape)))
            cbx_text_printf(out, "M%.1f %.1fL%.1f %.1f", x, place(&p->y, here), place(&p->x, b->shape.size),
                            place(&p->y, bound_at(p, &b->shape)));
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
            roof = (edge_label){ NULL, place(&p->y, bound_at(p, &a->shape)), a->shape.size };
        if (k == MAX_LABELS - 1 || (k < n && labels[k].x_of_point >= a->shape.size)) continue;
        labels[k] = (edge_label){ a->item, place(&p->y, a->time), a->shape.size };
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
                        mark_of(labels[i].item->series), RIGHT + 14, labels[i].y, RIGHT + 25, labels[i].y + 4);
        put_text(out, arena, cbx__report_name(arena, labels[i].item), 19);
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
    put_text(out, arena, plot_name(arena, v, p), 60);
    cbx_text_printf(
        out,
        "</figcaption><svg viewBox=\"0 0 %d %d\" role=img aria-label=\"time against work, double logarithmic: ", WIDTH,
        HEIGHT);
    put_text(out, arena, plot_name(arena, v, p), 60);
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

/* --- launches --- */

enum {
    STRIP_WIDTH = 700,
    STRIP_ROW = 20,
    STRIP_HEAD = 24,
    STRIP_NAME = 8,
    STRIP_FROM = 158,
    STRIP_TO = 412,
    SPREAD_FROM = 462,
    SPREAD_TO = 674
};

typedef struct strip {
    const cbx__report_item **items;
    size_t n;
    log_axis time;
    double spread; /* right axis: this share of the median either way */
} strip;

static bool has_strip(const cbx__report_item *it)
{
    double t = cbx__report_median(it->row);
    return it->row->has_metrics && isfinite(t) && t > 0;
}

/* Largest distance of a launch or of an interval's end from its row's median. */
static double widest(const strip *s)
{
    double most = 0;
    for (size_t i = 0; i < s->n; i++) {
        const cbx_row *r = s->items[i]->row;
        double median = cbx__report_median(r);
        for (size_t k = 0; k < r->nlaunches; k++)
            if (isfinite(r->launch_medians_s[k])) most = fmax(most, fabs(r->launch_medians_s[k] / median - 1));
        if (cbx__report_has_interval(&r->steady))
            most = fmax(most, fmax(r->steady.upper / median - 1, 1 - r->steady.lower / median));
    }
    return most;
}

/* 1, 2, 5, 10 ... percent, whichever holds it */
static double nice_above(double share)
{
    static const double steps[] = { 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100 };
    for (size_t i = 0; i < CBX_LEN(steps); i++)
        if (share <= steps[i]) return steps[i];
    return share;
}

/* Distances are drawn by their square root, so that a row with two modes does not crush the steady ones into one dot.
 */
static double spread_x(const strip *s, double share)
{
    double way = copysign(sqrt(fabs(share) / s->spread), share);
    return SPREAD_FROM + (SPREAD_TO - SPREAD_FROM) * (way + 1) / 2;
}

static const double spread_ticks[] = { -1, -0.25, 0, 0.25, 1 }; /* of the axis's end */

static void put_strip_axes(cbx_text *out, const strip *s)
{
    ticks t = ticks_of(&s->time, 42);
    int bottom = STRIP_HEAD + (int)s->n * STRIP_ROW;
    cbx_text_puts(out, "<path class=grid d=\"");
    for (size_t i = 0; i < t.n; i++) cbx_text_printf(out, "M%.0f %dV%d", place(&s->time, t.at[i]), STRIP_HEAD, bottom);
    for (size_t i = 0; i < CBX_LEN(spread_ticks); i++)
        cbx_text_printf(out, "M%.0f %dV%d", spread_x(s, spread_ticks[i] * s->spread), STRIP_HEAD, bottom);
    cbx_text_puts(out, "\"/><g class=x>");
    for (size_t i = 0; i < t.n; i++) {
        cbx_text_printf(out, "<text x=%.0f y=%d>", place(&s->time, t.at[i]), STRIP_HEAD - 8);
        put_time_label(out, t.at[i]);
        cbx_text_puts(out, "</text>");
    }
    for (size_t i = 0; i < CBX_LEN(spread_ticks); i++) {
        double share = spread_ticks[i] * s->spread;
        const char *sign = share < 0 ? "\342\210\222" : share > 0 ? "+" : "";
        cbx_text_printf(out, "<text x=%.0f y=%d>%s%.4g%s</text>", spread_x(s, share), STRIP_HEAD - 8, sign,
                        fabs(share) * 100, "\302\240%");
    }
    cbx_text_puts(out, "</g>\n");
}

/* Left: from the roofline's bound to the median. */
static void put_strip_time(cbx_text *out, const strip *s, const cbx_row *r, int series, int y)
{
    double x = place(&s->time, cbx__report_median(r));
    if (r->bound_s > 0) {
        double bound = place(&s->time, r->bound_s);
        cbx_text_printf(out, "<path class=roof d=\"M%.0f %dv8m0-4H%.0f\"/>", bound, y - 4, x);
    }
    cbx_text_printf(out, "<use href=#m%d x=%.0f y=%d />", mark_of(series), x, y);
}

/* Right: every launch, and the interval of the median. */
static void put_strip_launches(cbx_text *out, const strip *s, const cbx_row *r, int y)
{
    double median = cbx__report_median(r);
    if (cbx__report_has_interval(&r->steady)) {
        double low = spread_x(s, r->steady.lower / median - 1), high = spread_x(s, r->steady.upper / median - 1);
        cbx_text_printf(out, "<path class=w d=\"M%.0f %dv8m0-4H%.0fm0-4v8\"/>", low, y - 4, high);
    }
    if (!r->nlaunches) return;
    cbx_text_puts(out, "<path class=d d=\"");
    for (size_t i = 0; i < r->nlaunches; i++)
        if (isfinite(r->launch_medians_s[i]))
            cbx_text_printf(out, "M%.0f %dh0", spread_x(s, r->launch_medians_s[i] / median - 1), y);
    cbx_text_puts(out, "\"/>");
}

static void put_strip_row(cbx_text *out, const strip *s, size_t i, cbx_arena *arena)
{
    const cbx__report_item *it = s->items[i];
    int y = STRIP_HEAD + (int)i * STRIP_ROW + STRIP_ROW / 2;
    cbx_text_puts(out, "<g");
    cbx__plot_put_class(out, it->class == CBX__REPORT_GOOD ? "" : "bad", it->series);
    cbx_text_printf(out, " data-s=%d><text x=%d y=%d>", it->series, STRIP_NAME, y + 4);
    put_text(out, arena, cbx__report_name(arena, it), 21);
    cbx_text_puts(out, "</text>");
    put_strip_time(out, s, it->row, it->series, y);
    put_strip_launches(out, s, it->row, y);
    cbx_text_puts(out, "</g>\n");
}

static bool gather_strip(strip *s, const cbx__report_view *v, const cbx__report_group *g, cbx_arena *arena)
{
    double min = INFINITY, max = 0;
    s->items = cbx_arena_calloc(arena, g->count + 1, sizeof *s->items);
    for (size_t i = g->first; s->items && i < g->first + g->count; i++) {
        double t = cbx__report_median(v->items[i].row), bound = v->items[i].row->bound_s;
        if (!has_strip(&v->items[i])) continue;
        s->items[s->n++] = &v->items[i];
        min = fmin(min, bound > 0 ? fmin(bound, t) : t);
        max = fmax(max, bound > 0 ? fmax(bound, t) : t);
    }
    if (!s->n) return false;
    s->time = axis_over(min, max, STRIP_FROM, STRIP_TO);
    s->spread = nice_above(widest(s));
    return true;
}

bool cbx__plot_launches(cbx_text *out, const cbx__report_view *v, const cbx__report_group *g, cbx_arena *arena)
{
    strip s = { 0 };
    if (!gather_strip(&s, v, g, arena)) return false;
    cbx_text_printf(out, "<figure class=strip data-g=%zu><figcaption>", (size_t)(g - v->groups));
    put_text(out, arena, cbx__report_where(arena, v, g), 80);
    cbx_text_printf(out, "</figcaption><svg viewBox=\"0 0 %d %d\" role=img aria-label=\"launches\">", STRIP_WIDTH,
                    STRIP_HEAD + (int)s.n * STRIP_ROW + 4);
    put_strip_axes(out, &s);
    for (size_t i = 0; i < s.n; i++) put_strip_row(out, &s, i, arena);
    cbx_text_puts(out, "</svg></figure>\n");
    return true;
}
