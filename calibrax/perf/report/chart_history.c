/* Rows over time: a chart a metric with its change points, and a list of the changes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/analysis/changepoint.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/list.h"
#include "calibrax/perf/report/report_charts.h"

#define MIN_POINTS  6   /* of a series with a change */
#define MARKED_RUNS 24  /* more runs are drawn as lines with bands, without marks */
#define MAX_RUNS    120 /* of a chart, the newest */

/* name: of the chart and in the picker; head, up, down, unit: of a change in the list, NULL where
 * it would only repeat the change of the time */
static const struct {
    const char *name, *axis, *better, *head, *up, *down, *unit;
    bool is_time;
} metrics[CBX__FOLLOW_COUNT] = {
    [CBX__FOLLOW_TIME] = { "time", "time over the time of the first run", "lower is faster", "", "slower", "faster",
                           "s", true },
    [CBX__FOLLOW_COMPILE] = { "compile time", "compile time over that of the first run", "lower is faster",
                              "compile time of ", "longer", "shorter", "s", false },
    [CBX__FOLLOW_MEMORY] = { "memory", "memory over that of the first run", "lower is less", "memory of ", "more",
                             "less", "MB", false },
    [CBX__FOLLOW_ENERGY] = { "energy", "energy of a call over that of the first run", "lower is less", "energy of ",
                             "more", "less", "J", false },
    [CBX__FOLLOW_GFLOP] = { "GFLOP/s", "GFLOP/s over those of the first run", "higher is faster", NULL, NULL, NULL,
                            NULL, false },
    [CBX__FOLLOW_GBYTE] = { "GB/s", "GB/s over those of the first run", "higher is faster", NULL, NULL, NULL, NULL,
                            false },
};

/* Above 0, or NaN: nothing to draw. */
static double past_value(const cbx_row_past *p, cbx__followed what)
{
    const double values[] = {
        [CBX__FOLLOW_TIME] = p->median_s,   [CBX__FOLLOW_COMPILE] = p->compile_s, [CBX__FOLLOW_MEMORY] = p->memory_mb,
        [CBX__FOLLOW_ENERGY] = p->energy_j, [CBX__FOLLOW_GFLOP] = p->gflop_per_s, [CBX__FOLLOW_GBYTE] = p->gbyte_per_s
    };
    double v = values[what];
    return p->good && v > 0 && isfinite(v) ? v : NAN;
}

static const cbx_row_series *past_of(const cbx__charts *c, const cbx__report_item *it)
{
    return c->past[it - c->view->items];
}

static size_t good_past(const cbx_row_series *s, cbx__followed what)
{
    size_t n = 0;

    for (size_t i = 0; s && i < s->npast; i++) n += !isnan(past_value(&s->past[i], what));
    return n;
}

size_t cbx__charts_has_history(const cbx__charts *c, const cbx__report_group *g, cbx__followed what)
{
    size_t n = 0;

    for (const cbx__report_item *it = g->items; c->past && it < g->items + g->count; it++)
        n += it->quoted && good_past(past_of(c, it), what) > 1;
    return n;
}

typedef struct run_list {
    const char **ids; /* sorted, different */
    size_t n;
} run_list;

/* The runs of a group's series, the newest MAX_RUNS of them. */
static bool list_runs(const cbx__charts *c, const cbx__report_group *g, cbx__followed what, run_list *out)
{
    size_t n = 0, kept = 0;

    for (const cbx__report_item *it = g->items; it < g->items + g->count; it++) n += good_past(past_of(c, it), what);
    *out = (run_list){ .ids = cbx_arena_calloc(c->arena, n, sizeof *out->ids) };
    if (!out->ids) return false;
    for (const cbx__report_item *it = g->items; it < g->items + g->count; it++) {
        const cbx_row_series *s = past_of(c, it);
        for (size_t k = 0; s && k < s->npast; k++)
            if (!isnan(past_value(&s->past[k], what))) out->ids[out->n++] = s->past[k].run_id;
    }
    qsort(out->ids, out->n, sizeof *out->ids, cbx_compare_texts);
    for (size_t i = 0; i < out->n; i++)
        if (!i || strcmp(out->ids[i], out->ids[kept - 1]) != 0) out->ids[kept++] = out->ids[i];
    out->n = kept < MAX_RUNS ? kept : MAX_RUNS;
    out->ids += kept - out->n;
    return true;
}

/* The time of a run, the head of its id, in seconds since 1970; NaN: its id has another form. */
static double time_of(const char *run_id)
{
    char head[32] = "";
    int64_t us;

    strncpy(head, run_id, strcspn(run_id, "+-Z") < 24 ? strcspn(run_id, "+-Z") : 0);
    strcat(head, "Z");
    return cbx_time_parse_iso(head, &us, NULL) ? NAN : (double)us / 1e6;
}

/* One baseline over the runs of a chart. */
typedef struct line {
    double *x, *y, *lower, *upper;
    size_t n;
} line;

/* By the first value, so that lines of all speeds share an axis on which changes are seen. */
static bool make_line(const cbx__charts *c, const cbx_row_series *s, cbx__followed what, const run_list *runs,
                      bool dates, line *l)
{
    l->x = cbx_arena_calloc(c->arena, 4 * runs->n + 4, sizeof *l->x);
    l->n = 0;
    if (!l->x) return false;
    l->y = l->x + runs->n + 1;
    l->lower = l->y + runs->n + 1;
    l->upper = l->lower + runs->n + 1;
    for (size_t i = 0, k = 0; i < s->npast; i++) {
        const cbx_row_past *p = &s->past[i];
        while (k < runs->n && strcmp(runs->ids[k], p->run_id) < 0) k++;
        if (k == runs->n) break;
        bool bounded = metrics[what].is_time && p->lower_s > 0;
        if (strcmp(runs->ids[k], p->run_id) != 0 || isnan(past_value(p, what))) continue;
        l->x[l->n] = dates ? time_of(p->run_id) : (double)k + 1;
        l->y[l->n] = past_value(p, what);
        l->lower[l->n] = bounded ? p->lower_s : NAN;
        l->upper[l->n++] = bounded ? p->upper_s : NAN;
    }
    for (size_t i = l->n; i-- > 0;) {
        l->lower[i] /= l->y[0];
        l->upper[i] /= l->y[0];
        l->y[i] /= l->y[0];
    }
    return true;
}

/* Where the level of a series changed. */
static size_t changes_of(const cbx__charts *c, const double *y, size_t ny, cbx_change **out)
{
    size_t n = 0;

    *out = cbx_arena_calloc(c->arena, ny + 1, sizeof **out);
    if (!*out || ny < MIN_POINTS || cbx_changes_detect(c->ctx, y, ny, 2, *out, &n, NULL)) return 0;
    return n;
}

static cbx_status add_line(const cbx__charts *c, cbx_plot *plot, const cbx__report_item *it, cbx__followed what,
                           const run_list *runs, bool dates, cbx__chart_lines *drawn)
{
    unsigned how = CBX_PLOT_JOIN | (runs->n <= MARKED_RUNS && !(what && c->brief) ? CBX_PLOT_MARK : 0) |
                   (metrics[what].is_time ? CBX_PLOT_BAND : 0);
    cbx_change *changes;
    line l;

    if (!make_line(c, past_of(c, it), what, runs, dates, &l)) return CBX_ENOMEM;
    if (l.n < 2 || drawn->n == CBX__SERIES_COLOURS) return CBX_OK;
    drawn->series[drawn->n++] = it->series;
    cbx_plot_series s = { cbx__report_name(c->arena, it), l.x, l.y, l.lower, l.upper, l.n, how, NULL, NULL };
    cbx_status st = cbx_plot_line(plot, &s, NULL);
    size_t n = changes_of(c, l.y, l.n, &changes);
    for (size_t i = 0; !st && i < n; i++) {
        /* "+12 %", "−30 %", "2.1×" where a per cent would mislead */
        const double by = changes[i].change;
        const char *words = by > 1 ? cbx_arena_printf(c->arena, "\303\227%.2g", 1 + by)
                                   : cbx_arena_printf(c->arena, "%s%.2g\302\240%%", by < 0 ? "\342\210\222" : "+",
                                                      fabs(100 * by));
        st = words ? cbx_plot_note(plot, l.x[changes[i].index], l.y[changes[i].index], words, NULL) : CBX_ENOMEM;
    }
    return st;
}

void cbx__chart_history(const cbx__charts *c, const cbx__report_group *g, cbx__followed what, cbx_text *out)
{
    cbx_plot_opts opts = CBX_PLOT_OPTS_INIT;
    cbx_plot *plot = NULL;
    const char *where = cbx__report_where(c->arena, c->view, g), *caption;
    cbx__chart_lines drawn = { .n = 0 };
    run_list runs;
    bool dates = true;

    if (!list_runs(c, g, what, &runs) || !runs.n) return;
    for (size_t i = 0; i < runs.n; i++) dates = dates && !isnan(time_of(runs.ids[i]));
    opts.x = dates ? CBX_PLOT_DATES : CBX_PLOT_LINEAR;
    opts.y = CBX_PLOT_LOG;
    opts.x_label = dates ? "date of the run, UTC" : "run";
    opts.y_label = metrics[what].axis;
    opts.height = 340;
    caption = cbx_arena_printf(
        c->arena, "History of %s%s over %zu runs: %s%s",
        what ? cbx_arena_printf(c->arena, "%s, ", metrics[what].name) : "", where, runs.n, metrics[what].better,
        cbx__charts_has_history(c, g, what) > CBX__SERIES_COLOURS ? "; the first sixteen baselines" : "");
    if (!caption || cbx_plot_create(c->ctx, &opts, &plot, NULL)) return;
    cbx_status st = CBX_OK;
    for (const cbx__report_item *it = g->items; !st && it < g->items + g->count; it++)
        if (good_past(past_of(c, it), what) > 1 && it->quoted) st = add_line(c, plot, it, what, &runs, dates, &drawn);
    if (!st && drawn.n) cbx__chart_draw(c, plot, &drawn, "history", metrics[what].name, caption, out);
    if (st == CBX_ENOMEM) out->status = st;
    cbx_plot_free(plot);
}

/* --- the list of changes --- */

typedef struct change_text {
    const char *words;
    double size;
    size_t order;
} change_text;

typedef CBX_LIST(change_text) change_list;

static int by_size(const void *a, const void *b)
{
    const change_text *x = a, *y = b;

    if (x->size != y->size) return x->size < y->size ? 1 : -1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Adds the changes of one metric of a series, from its good values; false: out of memory. */
static bool add_changes(const cbx__charts *c, const cbx__report_item *it, cbx__followed what, change_list *list)
{
    const cbx_row_series *s = past_of(c, it);
    cbx_allocator al = cbx_arena_allocator(c->arena);
    double *y = cbx_arena_calloc(c->arena, s->npast + 1, sizeof *y);
    const char **ids = cbx_arena_calloc(c->arena, s->npast + 1, sizeof *ids);
    cbx_change *changes;
    size_t n = 0, found;

    if (!y || !ids) return false;
    for (size_t i = 0; i < s->npast; i++) {
        if (isnan(past_value(&s->past[i], what))) continue;
        y[n] = past_value(&s->past[i], what);
        ids[n++] = s->past[i].run_id;
    }
    found = changes_of(c, y, n, &changes);
    for (size_t i = 0; i < found; i++) {
        double by = changes[i].change;
        const char *words = cbx_arena_printf(
            c->arena, "%s%s at %s: %s by %.3g\302\240%% at run %s (from %.4g to %.4g %s)", metrics[what].head,
            cbx__report_name(c->arena, it), cbx__report_where(c->arena, c->view, it->group),
            by > 0 ? metrics[what].up : metrics[what].down, 100 * fabs(by), ids[changes[i].index], changes[i].before,
            changes[i].after, metrics[what].unit);
        if (!words) return false;
        if (!cbx_list_push(&al, list, (change_text){ words, fabs(log1p(fmax(by, -0.999999))), list->n })) return false;
    }
    return true;
}

size_t cbx__chart_changes(const cbx__charts *c, size_t case_index, size_t max, cbx_text *out)
{
    change_list list = { 0 };

    for (const cbx__report_item *it = c->view->items; c->past && it < c->view->items + c->view->nitems; it++)
        for (int what = 0; it->group->case_index == case_index && what < CBX__FOLLOW_COUNT; what++)
            if (metrics[what].head && good_past(past_of(c, it), CBX__FOLLOW_TIME) >= MIN_POINTS &&
                !add_changes(c, it, (cbx__followed)what, &list))
                return 0;
    if (!list.n) return 0;
    qsort(list.items, list.n, sizeof *list.items, by_size);
    cbx_text_puts(out, "<ul class=changes>\n");
    for (size_t i = 0; i < list.n && i < max; i++) {
        cbx_text_puts(out, "<li>");
        cbx__charts_put_text(out, c->arena, list.items[i].words, 300);
        cbx_text_putc(out, '\n');
    }
    if (list.n > max) cbx_text_printf(out, "<li>and %zu smaller ones\n", list.n - max);
    cbx_text_puts(out, "</ul>\n");
    return list.n;
}
