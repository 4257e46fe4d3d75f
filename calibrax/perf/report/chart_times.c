/*
 * The main chart: the times of one point, a row each, as wide as its place.
 *
 * Places along x are percentages, so that the chart fits a telephone and a wide screen with letters
 * of one size.
 */
#include <math.h>
#include <stdlib.h>

#include "calibrax/perf/report/report_charts.h"

#define NARROW_TRACK 150 /* px: ticks keep apart even there */

static int by_time(const void *a, const void *b)
{
    const cbx__report_item *x = *(const cbx__report_item *const *)a, *y = *(const cbx__report_item *const *)b;
    double s = cbx__report_median(x->row), t = cbx__report_median(y->row);

    if (x->limit != y->limit) return x->limit ? 1 : -1;
    return s != t ? (s < t ? -1 : 1) : (x > y) - (x < y);
}

static double percent(const cbx__axis *a, double seconds) { return cbx__axis_place(a, seconds) / NARROW_TRACK * 100; }

static void put_row(cbx_text *out, const cbx__axis *a, const cbx__report_item *it, cbx_arena *arena)
{
    const cbx_row *r = it->row;
    double at = percent(a, cbx__report_median(r));
    cbx_text time;

    cbx_text_printf(out, "<div class=\"%s\"><span>", it->reference ? "row ref" : it->limit ? "row limit" : "row");
    cbx__charts_put_text(out, arena, cbx__report_name(arena, it), 40);
    cbx_text_puts(out, "</span><svg>");
    for (size_t i = 0; i < a->n; i++)
        cbx_text_printf(out, "<line class=grid x1=%.1f%% x2=%.1f%% y2=20 />", percent(a, a->at[i]),
                        percent(a, a->at[i]));
    if (r->bound_s > 0)
        cbx_text_printf(out,
                        "<line class=roof x1=%.1f%% x2=%.1f%% y1=10 y2=10 /><line class=roof x1=%.1f%% x2=%.1f%% "
                        "y1=5 y2=15 />",
                        percent(a, r->bound_s), at, percent(a, r->bound_s), percent(a, r->bound_s));
    cbx_text_puts(out, "<g");
    cbx__series_put_class(out, "", it->series);
    cbx_text_puts(out, ">");
    if (cbx__report_has_interval(&r->steady) && r->steady.lower > 0)
        cbx_text_printf(out, "<line class=i x1=%.1f%% x2=%.1f%% y1=10 y2=10 />", percent(a, r->steady.lower),
                        percent(a, r->steady.upper));
    cbx_text_printf(out, "<use href=#m%d x=%.1f%% y=10 /></g></svg><span>", cbx__series_mark(it->series), at);
    cbx_text_init(&time, &arena->al);
    cbx__report_put_seconds(&time, cbx__report_median(r), &cbx__report_utf8);
    cbx_text_put_html(out, cbx_text_str(&time));
    cbx_text_clear(&time);
    cbx_text_puts(out, "</span></div>\n");
}

bool cbx__chart_times(cbx_text *out, const cbx__report_view *v, const cbx__report_group *g, cbx_arena *arena)
{
    const cbx__report_item **items = cbx_arena_calloc(arena, g->count + 1, sizeof *items);
    double min = INFINITY, max = 0;
    char label[CBX_FORMAT_SIZE];
    bool bounds = false;
    size_t n = 0;

    for (const cbx__report_item *it = g->items; items && it < g->items + g->count; it++) {
        const cbx_row *r = it->row;
        double t = cbx__report_median(r);
        if (it->class != CBX__REPORT_GOOD || !(t > 0) || !isfinite(t)) continue;
        items[n++] = it;
        min = fmin(min, fmin(t, r->bound_s > 0 ? r->bound_s : t));
        max = fmax(max, fmax(t, r->bound_s > 0 ? r->bound_s : t));
        bounds = bounds || r->bound_s > 0;
        if (!cbx__report_has_interval(&r->steady) || !(r->steady.lower > 0)) continue;
        min = fmin(min, r->steady.lower);
        max = fmax(max, r->steady.upper);
    }
    if (!n) return false;
    qsort(items, n, sizeof *items, by_time);
    cbx__axis axis = cbx__charts_time_axis(min, max, 0, NARROW_TRACK, 52);
    cbx_text_puts(out, "<figure class=times><figcaption>Time of one call at ");
    cbx__charts_put_text(out, arena, cbx__report_where(arena, v, g), 80);
    cbx_text_puts(out, bounds ? ". Wide: interval; thin: from the roofline's bound</figcaption>\n"
                              : ". Wide: interval</figcaption>\n");
    for (size_t i = 0; i < n; i++) put_row(out, &axis, items[i], arena);
    cbx_text_puts(out, "<div class=\"row x\"><span></span><svg>");
    for (size_t i = 0; i < axis.n; i++)
        cbx_text_printf(out, "<text x=%.1f%% y=14>%s</text>", percent(&axis, axis.at[i]),
                        cbx__axis_label(&axis, axis.at[i], label));
    cbx_text_puts(out, "</svg><span></span></div></figure>\n");
    return true;
}
