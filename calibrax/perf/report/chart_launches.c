/* Strips of launches: medians beside the roofline's bound, and every launch by its distance from
 * the median of its row.  On a narrow screen the style sheet moves the second half, classes "w", "d"
 * and "r", below the first, by the height of the strip; an empty drawing keeps the place. */
#include "calibrax/perf/report/report_charts.h"

#include <math.h>

enum {
    STRIP_WIDTH = 680,
    STRIP_ROW = 22,
    STRIP_HEAD = 24,
    STRIP_NAME = 2,
    STRIP_FROM = 170,
    STRIP_TO = 330,
    SPREAD_FROM = 400, /* style.css moves it to 40 */
    SPREAD_TO = 650
};

typedef struct strip {
    const cbx__report_item **items;
    size_t n;
    cbx__axis time;
    double spread; /* right axis: this share of the median either way */
} strip;

/* 1, 2, 5, 10 ... percent, whichever holds it */
static double nice_above(double share)
{
    static const double steps[] = { 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100 };
    for (size_t i = 0; i < CBX_LEN(steps); i++)
        if (share <= steps[i]) return steps[i];
    return share;
}

/* Distances are drawn by their square root, so that steady rows stay readable beside one with two
 * modes. */
static double spread_x(const strip *s, double share)
{
    double way = copysign(sqrt(fabs(share) / s->spread), share);
    return SPREAD_FROM + (SPREAD_TO - SPREAD_FROM) * (way + 1) / 2;
}

static const double spread_ticks[] = { -1, -0.25, 0, 0.25, 1 }; /* of the axis's end */

static void put_strip_row(cbx_text *out, const strip *s, size_t i, cbx_arena *arena)
{
    const cbx__report_item *it = s->items[i];
    const cbx_row *r = it->row;
    int y = STRIP_HEAD + (int)i * STRIP_ROW + STRIP_ROW / 2;
    double median = cbx__report_median(r), x = cbx__axis_place(&s->time, median);
    int last = -1; /* a launch is a line of no length, placed from the one before */

    cbx_text_puts(out, "<g");
    cbx__series_put_class(out, it->class == CBX__REPORT_GOOD ? "" : "bad", it->series);
    cbx_text_printf(out, " data-s=%d><text x=%d y=%d>", it->series, STRIP_NAME, y + 4);
    cbx__charts_put_text(out, arena, cbx__report_name(arena, it), 21);
    cbx_text_puts(out, "</text>");
    if (r->bound_s > 0) /* left: from the roofline's bound to the median */
        cbx_text_printf(out, "<path class=roof d=\"M%.0f %dv8m0-4H%.0f\"/>", cbx__axis_place(&s->time, r->bound_s),
                        y - 4, x);
    cbx_text_printf(out, "<use href=#m%d x=%.0f y=%d />", cbx__series_mark(it->series), x, y);
    if (cbx__report_has_interval(&r->steady)) /* right: the interval of the median, and every launch */
        cbx_text_printf(out, "<path class=w d=\"M%.0f %dv8m0-4H%.0fm0-4v8\"/>",
                        spread_x(s, r->steady.lower / median - 1), y - 4, spread_x(s, r->steady.upper / median - 1));
    for (size_t k = 0; k < r->nlaunches; k++) {
        if (!isfinite(r->launch_medians_s[k])) continue;
        const int place = (int)lround(spread_x(s, r->launch_medians_s[k] / median - 1));
        if (last < 0)
            cbx_text_printf(out, "<path class=d d=\"M%d %dz", place, y);
        else
            cbx_text_printf(out, "m%d 0z", place - last);
        last = place;
    }
    cbx_text_puts(out, last >= 0 ? "\"/></g>\n" : "</g>\n");
}

static bool gather_strip(strip *s, const cbx__report_group *g, cbx_arena *arena)
{
    double min = INFINITY, max = 0,
           widest = 0; /* widest: distance of a launch or of an interval's end from its median */

    s->items = cbx_arena_calloc(arena, g->count + 1, sizeof *s->items);
    for (const cbx__report_item *it = g->items; s->items && it < g->items + g->count; it++) {
        const cbx_row *r = it->row;
        double t = cbx__report_median(r), bound = r->bound_s > 0 ? r->bound_s : t;
        if (!r->has_metrics || !isfinite(t) || t <= 0) continue;
        s->items[s->n++] = it;
        min = fmin(min, fmin(bound, t));
        max = fmax(max, fmax(bound, t));
        for (size_t k = 0; k < r->nlaunches; k++)
            if (isfinite(r->launch_medians_s[k])) widest = fmax(widest, fabs(r->launch_medians_s[k] / t - 1));
        if (cbx__report_has_interval(&r->steady))
            widest = fmax(widest, fmax(r->steady.upper / t - 1, 1 - r->steady.lower / t));
    }
    if (!s->n) return false;
    s->time = cbx__charts_time_axis(min, max, STRIP_FROM, STRIP_TO, 52);
    s->spread = nice_above(widest);
    return true;
}

bool cbx__chart_launches(cbx_text *out, const cbx__report_view *v, const cbx__report_group *g, cbx_arena *arena)
{
    strip s = { 0 };

    if (!gather_strip(&s, g, arena)) return false;
    cbx_text_printf(out, "<figure class=strip data-g=%zu><figcaption>", (size_t)(g - v->groups));
    cbx__charts_put_text(out, arena, cbx__report_where(arena, v, g), 80);
    cbx_text_printf(
        out,
        "</figcaption><div class=scroll tabindex=0 role=region aria-label=launches><svg width=%d height=%d role=img "
        "aria-label=launches>",
        STRIP_WIDTH, STRIP_HEAD + (int)s.n * STRIP_ROW + 4);
    const cbx__axis *t = &s.time;
    int bottom = STRIP_HEAD + (int)s.n * STRIP_ROW;
    char label[CBX_FORMAT_SIZE];
    cbx_text_puts(out, "<path class=grid d=\"");
    for (size_t i = 0; i < t->n; i++)
        cbx_text_printf(out, "M%.0f %dV%d", cbx__axis_place(t, t->at[i]), STRIP_HEAD, bottom);
    cbx_text_puts(out, "\"/><path class=\"grid r\" d=\"");
    for (size_t i = 0; i < CBX_LEN(spread_ticks); i++)
        cbx_text_printf(out, "M%.0f %dV%d", spread_x(&s, spread_ticks[i] * s.spread), STRIP_HEAD, bottom);
    cbx_text_puts(out, "\"/><g class=x>");
    for (size_t i = 0; i < t->n; i++)
        cbx_text_printf(out, "<text x=%.0f y=%d>%s</text>", cbx__axis_place(t, t->at[i]), STRIP_HEAD - 8,
                        cbx__axis_label(t, t->at[i], label));
    cbx_text_puts(out, "</g><g class=\"x r\">");
    for (size_t i = 0; i < CBX_LEN(spread_ticks); i++) {
        double share = spread_ticks[i] * s.spread;
        const char *sign = share < 0 ? "\342\210\222" : share > 0 ? "+" : "";
        cbx_text_printf(out, "<text x=%.0f y=%d>%s%.4g%s</text>", spread_x(&s, share), STRIP_HEAD - 8, sign,
                        fabs(share) * 100, "\302\240%");
    }
    cbx_text_puts(out, "</g>\n");
    for (size_t i = 0; i < s.n; i++) put_strip_row(out, &s, i, arena);
    cbx_text_printf(out, "</svg><svg height=%d /></div></figure>\n", bottom + 4);
    return true;
}
