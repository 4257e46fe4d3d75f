/* What the charts of the page share: the series of their rows, the page's colours, the figure around a plot. */
#include "calibrax/perf/report/report_charts_internal.h"

#include <stdlib.h>
#include <string.h>

#include "calibrax/plot/charts.h"
#include "calibrax/plot/model.h"

/* --- opening --- */

typedef struct named_series {
    const char *key;
    const cbx_row_series *series;
} named_series;

static int by_key(const void *a, const void *b)
{
    return strcmp(((const named_series *)a)->key, ((const named_series *)b)->key);
}

static bool join_history(cbx__charts *c, const cbx_row_index *ix)
{
    size_t n = cbx_row_index_count(ix);
    named_series *sorted = cbx_arena_calloc(c->arena, n, sizeof *sorted);

    c->past = cbx_arena_calloc(c->arena, c->view->nitems, sizeof *c->past);
    if (!sorted || !c->past) return false;
    for (size_t i = 0; i < n; i++) {
        sorted[i].series = cbx_row_index_series(ix, i);
        sorted[i].key = sorted[i].series->key;
    }
    qsort(sorted, n, sizeof *sorted, by_key);
    for (size_t i = 0; i < c->view->nitems; i++) {
        named_series wanted = { cbx_row_key(c->arena, c->view->items[i].row), NULL };
        const named_series *hit;
        if (!wanted.key) return false;
        hit = bsearch(&wanted, sorted, n, sizeof *sorted, by_key);
        c->past[i] = hit ? hit->series : NULL;
    }
    return true;
}

bool cbx__charts_open(cbx__charts *c, const cbx__report_view *v, cbx_arena *arena, const cbx_row_index *history)
{
    cbx_ctx_opts opts = CBX_CTX_OPTS_INIT;

    *c = (cbx__charts){ .view = v, .arena = arena };
    opts.allocator = arena->al;
    opts.backend = "reference"; /* nothing of the environment matters to a page */
    opts.use_gpu = CBX_CHOICE_OFF;
    opts.gpu_fallback = CBX_CHOICE_ON;
    opts.gpu_memory_fraction = 0.5;
    if (cbx_ctx_create(&opts, &c->ctx, NULL)) return false;
    return !history || join_history(c, history);
}

void cbx__charts_close(cbx__charts *c)
{
    cbx_ctx_free(c->ctx);
    c->ctx = NULL;
}

/* --- figures --- */

static int line_of_colour(const char *hex)
{
    unsigned long colour = strtoul(hex, NULL, 16);

    for (int k = 0; k < CBX__CHART_LINES; k++)
        if (cbx__series_colour(&cbx__themes[CBX_PLOT_LIGHT], (size_t)k) == colour) return k;
    return -1;
}

/* What the page's style sheet says of the parts of a plot by their class. */
static const char *const styled[][2] = {
    { "<path class=\"grid\" fill=\"none\" stroke=\"#E4E4E4\" stroke-width=\"1\"", "<path class=grid" },
    { "<text class=\"tick-x\" fill=\"#5A5A5A\"", "<text class=tick-x" },
    { "<text class=\"tick-y\" fill=\"#5A5A5A\"", "<text class=tick-y" },
    { " font-size=\"11\" text-anchor=\"middle\"", "" },
    { " font-size=\"11\" text-anchor=\"end\"", "" },
    { " stroke=\"#FFFFFF\" stroke-width=\"0.8\"", "" },
};

/* A plot without what the page says of all of them; the plot is the caller's and is changed. */
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
        memcpy(to, styled[k][1], strlen(styled[k][1]));
        to += strlen(styled[k][1]);
        svg += strlen(styled[k][0]);
    }
    *to = 0;
}

/* The plot with the page's colours in place of its own, so that a baseline looks the same everywhere. */
static void put_recoloured(cbx_text *out, const char *svg, const cbx__chart_lines *l)
{
    while (*svg) {
        const char *mark = strstr(svg, "\"#");
        int k = mark && strlen(mark) > 8 && mark[8] == '"' ? line_of_colour(mark + 2) : -1;
        if (!mark) break;
        cbx_text_add(out, svg, (size_t)(mark - svg));
        svg = mark + 9;
        if (k < 0 || (size_t)k >= l->n) {
            cbx_text_add(out, mark, 9);
            continue;
        }
        cbx_text_putc(out, '"');
        cbx__plot_put_colour(out, l->series[k]);
        cbx_text_putc(out, '"');
    }
    cbx_text_puts(out, svg);
}

static void put_figure(cbx_text *out, const char *kind, const char *metric, const char *caption, const char *svg,
                       const cbx__chart_lines *l)
{
    const char *first = strstr(svg, "<svg");
    cbx_text words;

    if (!first) return;
    cbx_text_init(&words, &out->al);
    cbx__report_put_public(&words, caption, 160);
    cbx_text_printf(out, "<figure class=\"chart %s\"", kind);
    if (metric) cbx_text_printf(out, " data-m=\"%s\"", metric);
    cbx_text_puts(out, "><figcaption>");
    cbx_text_put_html(out, cbx_text_str(&words));
    cbx_text_puts(out, "</figcaption><div class=scroll tabindex=0 role=region aria-label=\"");
    cbx_text_put_html(out, cbx_text_str(&words));
    cbx_text_puts(out, "\">");
    put_recoloured(out, first, l);
    cbx_text_puts(out, "</div></figure>\n");
    if (words.status) out->status = words.status;
    cbx_text_clear(&words);
}

void cbx__chart_draw(const cbx__charts *c, cbx_plot *plot, const cbx__chart_lines *l, const char *kind,
                     const char *metric, const char *caption, cbx_text *out)
{
    cbx_text svg;
    cbx_status st;

    cbx_text_init(&svg, &c->arena->al);
    st = cbx_plot_draw(plot, CBX_PLOT_SVG, &svg, NULL);
    if (!st && svg.len) strip_styled(svg.data);
    if (!st) put_figure(out, kind, metric, caption, cbx_text_str(&svg), l);
    if (st == CBX_ENOMEM || svg.status) out->status = CBX_ENOMEM;
    cbx_text_clear(&svg);
}
