/* Series with their colours and marks, and figures drawn by calibrax/plot. */
#include "calibrax/pages/page_figure.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/base/together.h"
#include "calibrax/plot/model.h"

/* [degree] A golden angle from one series to the next: no two come close. */
static double hue_of(int series) { return fmod(137.508 * (series - CBX__SERIES_COLOURS) + 20, 360); }

void cbx__series_put_class(cbx_text *out, const char *extra, int series)
{
    if (series < CBX__SERIES_COLOURS && !*extra)
        cbx_text_printf(out, " class=s%d", series);
    else if (series < CBX__SERIES_COLOURS)
        cbx_text_printf(out, " class=\"%s s%d\"", extra, series);
    else
        cbx_text_printf(out, " class=\"%s%ssx\" color=\"oklch(var(--l) .13 %.0f)\"", extra, *extra ? " " : "",
                        hue_of(series));
}

int cbx__series_mark(int series) { return (series + series / CBX__MARKER_FORMS) % CBX__MARKER_FORMS; }

void cbx__pages_put_marks(cbx_text *out)
{
    cbx_text_puts(out, "<svg class=defs width=0 height=0 aria-hidden=true><defs>");
    for (size_t i = 0; i < CBX__MARKER_FORMS; i++) {
        cbx_text_printf(out, "<path id=m%zu d=\"", i);
        cbx__marker_put_path(out, i);
        cbx_text_puts(out, "\"/>");
    }
    cbx_text_puts(out, "</defs></svg>\n");
}

/* What the page's style sheet has for the parts of a plot by their class. */
static const char *const styled[][2] = {
    { "<path class=\"grid\" fill=\"none\" stroke=\"#E4E4E4\" stroke-width=\"1\"", "<path class=grid" },
    { "<text class=\"tick-x\" fill=\"#5A5A5A\"", "<text class=tick-x" },
    { "<text class=\"tick-y\" fill=\"#5A5A5A\"", "<text class=tick-y" },
    { " font-size=\"12\" text-anchor=\"middle\"", "" },
    { " font-size=\"12\" text-anchor=\"end\"", "" },
    { " stroke=\"#FFFFFF\" stroke-width=\"0.8\"", "" },
};

/* Removes from a plot what the style sheet sets for all of them. */
static void strip_styled(char *svg)
{
    char *to = svg;

    while (*svg) {
        size_t k = 0;
        while (k < CBX_LEN(styled) && strncmp(svg, styled[k][0], strlen(styled[k][0])) != 0) k++;
        if (k == CBX_LEN(styled)) {
            *to++ = *svg++;
            continue;
        }
        to = stpcpy(to, styled[k][1]);
        svg += strlen(styled[k][0]);
    }
    *to = 0;
}

/* The plot with the page's colours in place of its own, so that a baseline looks the same
 * everywhere. */
static void put_recoloured(cbx_text *out, const char *svg, const cbx__chart_lines *l)
{
    for (const char *mark; (mark = strstr(svg, "\"#")) != NULL; svg = mark + 9) {
        unsigned long colour = strlen(mark) > 8 && mark[8] == '"' ? strtoul(mark + 2, NULL, 16) : ULONG_MAX;
        size_t k = 0;
        while (k < l->n && cbx__series_colour(&cbx__themes[CBX_PLOT_LIGHT], k) != colour) k++;
        cbx_text_add(out, svg, (size_t)(mark - svg));
        if (k == l->n)
            cbx_text_add(out, mark, 9);
        else if (l->series[k] < CBX__SERIES_COLOURS)
            cbx_text_printf(out, "\"var(--c%d)\"", l->series[k]);
        else
            cbx_text_printf(out, "\"oklch(var(--l) .13 %.0f)\"", hue_of(l->series[k]));
    }
    cbx_text_puts(out, svg);
}

cbx_status cbx__pages_put_figure(cbx_text *out, cbx_plot *plot, const cbx__chart_lines *l, const char *kind,
                                 const char *metric, const char *caption)
{
    cbx_status st;

    for (cbx__mark *m = plot->first; m; m = m->next)
        if (m->series < l->n) m->form = (size_t)cbx__series_mark(l->series[m->series]);
    CBX_SCOPED(cbx_text, svg, &out->al);
    st = cbx_plot_draw(plot, CBX_PLOT_SVG, &svg, NULL);
    if (!st && svg.len) {
        const char *first = strstr(cbx_text_str(&svg), "<svg");
        strip_styled(svg.data);
        cbx_text_printf(out, "<figure class=\"chart %s\"", kind);
        if (metric) cbx_text_printf(out, " data-m=\"%s\"", metric);
        cbx__put_mixed(out, cbx_text_put_html, "><figcaption>", caption,
                       "</figcaption><div class=scroll tabindex=0 role=region aria-label=\"", caption,
                       "\"><svg aria-label=\"", caption, "\"", NULL);
        put_recoloured(out, first + strlen("<svg"), l);
        cbx_text_puts(out, "</div></figure>\n");
    }
    return st ? st : svg.status ? svg.status : out->status;
}
