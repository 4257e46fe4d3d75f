/*
 * Strips of launches: medians beside the roofline's bound, and every launch by its distance from the median of its row.
 */
#include "calibrax/perf/report/report_plot_internal.h"

#include <math.h>

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
    cbx__plot_axis time;
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
    cbx__plot_ticks t = cbx__plot_ticks_of(&s->time, 42);
    int bottom = STRIP_HEAD + (int)s->n * STRIP_ROW;
    cbx_text_puts(out, "<path class=grid d=\"");
    for (size_t i = 0; i < t.n; i++)
        cbx_text_printf(out, "M%.0f %dV%d", cbx__plot_place(&s->time, t.at[i]), STRIP_HEAD, bottom);
    for (size_t i = 0; i < CBX_LEN(spread_ticks); i++)
        cbx_text_printf(out, "M%.0f %dV%d", spread_x(s, spread_ticks[i] * s->spread), STRIP_HEAD, bottom);
    cbx_text_puts(out, "\"/><g class=x>");
    for (size_t i = 0; i < t.n; i++) {
        cbx_text_printf(out, "<text x=%.0f y=%d>", cbx__plot_place(&s->time, t.at[i]), STRIP_HEAD - 8);
        cbx__plot_put_time(out, t.at[i]);
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
    double x = cbx__plot_place(&s->time, cbx__report_median(r));
    if (r->bound_s > 0) {
        double bound = cbx__plot_place(&s->time, r->bound_s);
        cbx_text_printf(out, "<path class=roof d=\"M%.0f %dv8m0-4H%.0f\"/>", bound, y - 4, x);
    }
    cbx_text_printf(out, "<use href=#m%d x=%.0f y=%d />", cbx__plot_mark(series), x, y);
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
    cbx__plot_put_text(out, arena, cbx__report_name(arena, it), 21);
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
    s->time = cbx__plot_axis_over(min, max, STRIP_FROM, STRIP_TO);
    s->spread = nice_above(widest(s));
    return true;
}

bool cbx__plot_launches(cbx_text *out, const cbx__report_view *v, const cbx__report_group *g, cbx_arena *arena)
{
    strip s = { 0 };
    if (!gather_strip(&s, v, g, arena)) return false;
    cbx_text_printf(out, "<figure class=strip data-g=%zu><figcaption>", (size_t)(g - v->groups));
    cbx__plot_put_text(out, arena, cbx__report_where(arena, v, g), 80);
    cbx_text_printf(out, "</figcaption><svg viewBox=\"0 0 %d %d\" role=img aria-label=\"launches\">", STRIP_WIDTH,
                    STRIP_HEAD + (int)s.n * STRIP_ROW + 4);
    put_strip_axes(out, &s);
    for (size_t i = 0; i < s.n; i++) put_strip_row(out, &s, i, arena);
    cbx_text_puts(out, "</svg></figure>\n");
    return true;
}
