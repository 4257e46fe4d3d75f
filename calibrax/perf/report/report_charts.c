/* What the charts of the page share: the axis of times, rows over time, the figure around a plot. */
#include "calibrax/perf/report/report_charts.h"

#include <stdlib.h>
#include <string.h>

void cbx__charts_put_text(cbx_text *out, cbx_arena *arena, const char *s, size_t max)
{
    cbx_text public;

    cbx_text_init(&public, &arena->al);
    cbx__report_put_public(&public, s, max);
    cbx_text_put_html(out, cbx_text_str(&public));
    cbx_text_clear(&public);
}

cbx__axis cbx__charts_time_axis(double min_s, double max_s, double from, double to, double gap)
{
    cbx__axis a;

    cbx__axis_fit(&a, CBX_PLOT_LOG, min_s, max_s);
    cbx__axis_unit(&a, "time [s]");
    cbx__axis_lay(&a, from, to, gap);
    return a;
}

/* --- rows over time --- */

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
        if (!wanted.key) return false;
        const named_series *hit = bsearch(&wanted, sorted, n, sizeof *sorted, by_key);
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

void cbx__chart_draw(const cbx__charts *c, cbx_plot *plot, const cbx__chart_lines *l, const char *kind,
                     const char *metric, const char *caption, cbx_text *out)
{
    cbx_text words;

    cbx_text_init(&words, &c->arena->al);
    cbx__report_put_public(&words, caption, 160);
    cbx_status st = words.status;
    if (!st) st = cbx__pages_put_figure(out, plot, l, kind, metric, cbx_text_str(&words));
    if (st == CBX_ENOMEM) out->status = CBX_ENOMEM;
    cbx_text_clear(&words);
}
