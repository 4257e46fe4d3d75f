/*
 * Plots of the page: marks and colours of series, axes and their labels.
 */
#include "calibrax/perf/report/report_plot_internal.h"

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
static double hue_of(int series) { return fmod(137.508 * (series - CBX__PLOT_COLOURS) + 20, 360); }

void cbx__plot_put_class(cbx_text *out, const char *extra, int series)
{
    if (series < CBX__PLOT_COLOURS)
        cbx_text_printf(out, " class=\"%s%ss%d\"", extra, *extra ? " " : "", series);
    else
        cbx_text_printf(out, " class=\"%s%ssx\" style=\"--h:%.0f\"", extra, *extra ? " " : "", hue_of(series));
}

void cbx__plot_put_colour(cbx_text *out, int series)
{
    if (series < CBX__PLOT_COLOURS)
        cbx_text_printf(out, "var(--c%d)", series);
    else
        cbx_text_printf(out, "oklch(var(--l) .13 %.0f)", hue_of(series));
}

/* A series takes another mark when the marks begin again. */
int cbx__plot_mark(int series) { return (series + series / CBX__PLOT_SERIES) % CBX__PLOT_SERIES; }

void cbx__plot_put_text(cbx_text *out, cbx_arena *arena, const char *s, size_t max)
{
    cbx_text public;
    cbx_text_init(&public, &arena->al);
    cbx__report_put_public(&public, s, max);
    cbx_text_put_html(out, cbx_text_str(&public));
    cbx_text_clear(&public);
}

/* --- axes --- */

double cbx__plot_place(const cbx__plot_axis *a, double v)
{
    return a->from + (a->to - a->from) * (log10(v) - a->low) / (a->high - a->low);
}

/* Room of a twentieth on both sides, and at least a third of a decade in all. */
cbx__plot_axis cbx__plot_axis_over(double min, double max, double from, double to)
{
    cbx__plot_axis a = { log10(min), log10(max), from, to };
    double room = 0.05 * (a.high - a.low);
    if (a.high - a.low + 2 * room < 1.0 / 3) room = (1.0 / 3 - (a.high - a.low)) / 2;
    a.low -= room;
    a.high += room;
    return a;
}

cbx__plot_ticks cbx__plot_ticks_of(const cbx__plot_axis *a, double gap)
{
    static const double fine[] = { 1, 2, 5 };
    cbx__plot_ticks t = { .n = 0 };
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
void cbx__plot_put_time(cbx_text *out, double seconds)
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
void cbx__plot_put_count(cbx_text *out, double v)
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
