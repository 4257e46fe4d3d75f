/* Rows over time: a chart a metric with its change points, and the changes in words. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/analysis/changepoint.h"
#include "calibrax/perf/report/report_charts_internal.h"

/* Fewer points than this say nothing of a change. */
#define LEAST_CHANGE 6
/* More runs than this are drawn as lines with bands, without marks. */
#define MARKED_RUNS 24
/* The newest runs of a chart. */
#define MOST_RUNS 120

/* name: of the chart and in the picker; head, up, down, unit: of a change in words, NULL where it would only say again what the time says */
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

static size_t good_past(const cbx_row_series *s, cbx__followed what)
{
    size_t n = 0;

    for (size_t i = 0; s && i < s->npast; i++) n += !isnan(past_value(&s->past[i], what));
    return n;
}

/* Baselines that have a line to draw. */
static size_t lines_of(const cbx__charts *c, const cbx__report_group *g, cbx__followed what)
{
    size_t n = 0;

    for (size_t i = g->first; c->past && i < g->first + g->count; i++)
        n += c->view->items[i].quoted && good_past(c->past[i], what) > 1;
    return n;
}

bool cbx__charts_has_history(const cbx__charts *c, const cbx__report_group *g, cbx__followed what)
{
    return lines_of(c, g, what) > 0;
}

typedef struct run_list {
    const char **ids; /* sorted, different */
    size_t n;
} run_list;

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* The runs of a group's series, the newest MOST_RUNS of them. */
static bool list_runs(const cbx__charts *c, const cbx__report_group *g, cbx__followed what, run_list *out)
{
    size_t room = 0, kept = 0;

    for (size_t i = g->first; i < g->first + g->count; i++) room += good_past(c->past[i], what);
    *out = (run_list){ .ids = cbx_arena_calloc(c->arena, room, sizeof *out->ids) };
    if (!out->ids) return false;
    for (size_t i = g->first; i < g->first + g->count; i++)
        for (size_t k = 0; c->past[i] && k < c->past[i]->npast; k++)
            if (!isnan(past_value(&c->past[i]->past[k], what))) out->ids[out->n++] = c->past[i]->past[k].run_id;
    qsort(out->ids, out->n, sizeof *out->ids, by_text);
    for (size_t i = 0; i < out->n; i++)
        if (!i || strcmp(out->ids[i], out->ids[kept - 1]) != 0) out->ids[kept++] = out->ids[i];
    out->n = kept;
    if (out->n > MOST_RUNS) {
        out->ids += out->n - MOST_RUNS;
        out->n = MOST_RUNS;
    }
    return true;
}

/* One baseline over the runs of a chart. */
typedef struct line {
    double *x, *y, *lower, *upper;
    const char **ids;
    size_t n;
} line;

static bool make_line(const cbx__charts *c, const cbx_row_series *s, cbx__followed what, const run_list *runs, line *l)
{
    l->x = cbx_arena_calloc(c->arena, 4 * runs->n + 4, sizeof *l->x);
    l->ids = cbx_arena_calloc(c->arena, runs->n + 1, sizeof *l->ids);
    l->n = 0;
    if (!l->x || !l->ids) return false;
    l->y = l->x + runs->n + 1;
    l->lower = l->y + runs->n + 1;
    l->upper = l->lower + runs->n + 1;
    for (size_t i = 0, k = 0; i < s->npast; i++) {
        const cbx_row_past *p = &s->past[i];
        while (k < runs->n && strcmp(runs->ids[k], p->run_id) < 0) k++;
        if (k == runs->n) break;
        bool bounded = metrics[what].is_time && p->lower_s > 0;
        if (strcmp(runs->ids[k], p->run_id) != 0 || isnan(past_value(p, what))) continue;
        l->x[l->n] = (double)k + 1;
        l->y[l->n] = past_value(p, what);
        l->lower[l->n] = bounded ? p->lower_s : NAN;
        l->upper[l->n] = bounded ? p->upper_s : NAN;
        l->ids[l->n++] = p->run_id;
    }
    return true;
}

/* Where the level of a line changed. */
static size_t changes_of(const cbx__charts *c, const line *l, cbx_change **out)
{
    size_t n = 0;

    *out = cbx_arena_calloc(c->arena, l->n + 1, sizeof **out);
    if (!*out || l->n < LEAST_CHANGE || cbx_changes_detect(c->ctx, l->y, l->n, 2, *out, &n, NULL)) return 0;
    return n;
}

/* "+12 %", "−30 %", "2.1×" where a per cent would mislead. */
static const char *change_words(const cbx__charts *c, double change)
{
    const char *sign = change < 0 ? "\342\210\222" : "+";

    if (change > 1) return cbx_arena_printf(c->arena, "\303\227%.2g", 1 + change);
    return cbx_arena_printf(c->arena, "%s%.2g\302\240%%", sign, fabs(100 * change));
}

/* By the first value, so that lines of all speeds share an axis on which changes are seen. */
static void make_relative(line *l)
{
    double first = l->n ? l->y[0] : 1;

    for (size_t i = 0; i < l->n; i++) {
        l->y[i] /= first;
        l->lower[i] /= first;
        l->upper[i] /= first;
    }
}

static cbx_status add_line(const cbx__charts *c, cbx_plot *plot, size_t item, cbx__followed what, const run_list *runs,
                           cbx__chart_lines *drawn)
{
    unsigned how = CBX_PLOT_JOIN | (runs->n <= MARKED_RUNS && !(what && c->brief) ? CBX_PLOT_MARK : 0) |
                   (metrics[what].is_time ? CBX_PLOT_BAND : 0);
    cbx_change *changes;
    cbx_status st;
    size_t n;
    line l;

    if (!make_line(c, c->past[item], what, runs, &l)) return CBX_ENOMEM;
    if (l.n < 2 || drawn->n == CBX__CHART_LINES) return CBX_OK;
    make_relative(&l);
    drawn->series[drawn->n++] = c->view->items[item].series;
    cbx_plot_series s = {
        cbx__report_name(c->arena, &c->view->items[item]), l.x, l.y, l.lower, l.upper, l.n, how, NULL, NULL
    };
    st = cbx_plot_line(plot, &s, NULL);
    n = changes_of(c, &l, &changes);
    for (size_t i = 0; !st && i < n; i++) {
        const char *words = change_words(c, changes[i].change);
        st = words ? cbx_plot_note(plot, l.x[changes[i].index], l.y[changes[i].index], words, NULL) : CBX_ENOMEM;
    }
    return st;
}

/* "20260101T000000..." -> "2026-01-01" */
static const char *day_of(cbx_arena *arena, const char *run_id)
{
    const char *day = NULL;
    if (strlen(run_id) >= 8) day = cbx_arena_printf(arena, "%.4s-%.2s-%.2s", run_id, run_id + 4, run_id + 6);
    return day ? day : run_id;
}

void cbx__chart_history(const cbx__charts *c, const cbx__report_group *g, cbx__followed what, cbx_text *out)
{
    cbx_plot_opts opts = CBX_PLOT_OPTS_INIT;
    cbx_plot *plot = NULL;
    const char *where = cbx__report_where(c->arena, c->view, g), *caption;
    cbx__chart_lines drawn = { .n = 0 };
    cbx_status st;
    run_list runs;

    if (!list_runs(c, g, what, &runs) || !runs.n) return;
    opts.y = CBX_PLOT_LOG;
    opts.x_label = cbx_arena_printf(c->arena, "run, %s to %s", day_of(c->arena, runs.ids[0]),
                                    day_of(c->arena, runs.ids[runs.n - 1]));
    opts.y_label = metrics[what].axis;
    opts.height = 340;
    caption = cbx_arena_printf(c->arena, "History of %s%s over %zu runs: %s%s",
                               what ? cbx_arena_printf(c->arena, "%s, ", metrics[what].name) : "", where, runs.n,
                               metrics[what].better,
                               lines_of(c, g, what) > CBX__CHART_LINES ? "; the first sixteen baselines" : "");
    if (!caption || cbx_plot_create(c->ctx, &opts, &plot, NULL)) return;
    st = CBX_OK;
    for (size_t i = g->first; !st && i < g->first + g->count; i++)
        if (good_past(c->past[i], what) > 1 && c->view->items[i].quoted) st = add_line(c, plot, i, what, &runs, &drawn);
    if (!st && drawn.n) cbx__chart_draw(c, plot, &drawn, "history", metrics[what].name, caption, out);
    if (st == CBX_ENOMEM) out->status = st;
    cbx_plot_free(plot);
}

/* --- changes in words --- */

typedef struct told {
    const char *words;
    double size;
    size_t order;
} told;

static int by_size(const void *a, const void *b)
{
    const told *x = a, *y = b;

    if (x->size != y->size) return x->size < y->size ? 1 : -1;
    return (x->order > y->order) - (x->order < y->order);
}

typedef struct telling {
    told *all;
    size_t n, room;
} telling;

static bool tell(const cbx__charts *c, telling *t, const char *words, double size)
{
    if (!words) return false;
    if (t->n == t->room) {
        size_t room = t->room ? 2 * t->room : 32;
        told *more = cbx_arena_calloc(c->arena, room, sizeof *more);
        if (!more) return false;
        if (t->n) memcpy(more, t->all, t->n * sizeof *more);
        t->all = more;
        t->room = room;
    }
    t->all[t->n] = (told){ words, size, t->n };
    t->n++;
    return true;
}

/* The good values of a series, oldest first. */
static bool follow(const cbx__charts *c, const cbx_row_series *s, cbx__followed what, line *l)
{
    l->y = cbx_arena_calloc(c->arena, s->npast + 1, sizeof *l->y);
    l->ids = cbx_arena_calloc(c->arena, s->npast + 1, sizeof *l->ids);
    l->n = 0;
    if (!l->y || !l->ids) return false;
    for (size_t i = 0; i < s->npast; i++) {
        double v = past_value(&s->past[i], what);
        if (isnan(v)) continue;
        l->y[l->n] = v;
        l->ids[l->n++] = s->past[i].run_id;
    }
    return true;
}

static const char *told_change(const cbx__charts *c, const cbx__report_group *g, size_t item, cbx__followed what,
                               const cbx_change *change, const char *run_id)
{
    double by = change->change;

    return cbx_arena_printf(c->arena, "%s%s at %s: %s by %.3g\302\240%% at run %s (from %.4g to %.4g %s)",
                            metrics[what].head, cbx__report_name(c->arena, &c->view->items[item]),
                            cbx__report_where(c->arena, c->view, g), by > 0 ? metrics[what].up : metrics[what].down,
                            100 * fabs(by), run_id, change->before, change->after, metrics[what].unit);
}

static bool tell_changes(const cbx__charts *c, const cbx__report_group *g, size_t item, telling *t)
{
    for (int what = 0; what < CBX__FOLLOW_COUNT; what++) {
        cbx_change *changes;
        size_t n;
        line l;

        if (!metrics[what].head) continue;
        if (!follow(c, c->past[item], (cbx__followed)what, &l)) return false;
        n = changes_of(c, &l, &changes);
        for (size_t i = 0; i < n; i++) {
            const char *words = told_change(c, g, item, (cbx__followed)what, &changes[i], l.ids[changes[i].index]);
            if (!tell(c, t, words, fabs(log1p(fmax(changes[i].change, -0.999999))))) return false;
        }
    }
    return true;
}

size_t cbx__chart_changes(const cbx__charts *c, size_t case_index, size_t most, cbx_text *out)
{
    telling t = { 0 };

    for (size_t k = 0; c->past && k < c->view->ngroups; k++) {
        const cbx__report_group *g = &c->view->groups[k];
        for (size_t i = g->first; g->case_index == case_index && i < g->first + g->count; i++)
            if (good_past(c->past[i], CBX__FOLLOW_TIME) >= LEAST_CHANGE && !tell_changes(c, g, i, &t)) return 0;
    }
    if (!t.n) return 0;
    qsort(t.all, t.n, sizeof *t.all, by_size);
    cbx_text_puts(out, "<ul class=changes>\n");
    for (size_t i = 0; i < t.n && i < most; i++) {
        cbx_text words;
        cbx_text_init(&words, &c->arena->al);
        cbx__report_put_public(&words, t.all[i].words, 300);
        cbx_text_puts(out, "<li>");
        cbx_text_put_html(out, cbx_text_str(&words));
        cbx_text_putc(out, '\n');
        cbx_text_clear(&words);
    }
    if (t.n > most) cbx_text_printf(out, "<li>and %zu smaller ones\n", t.n - most);
    cbx_text_puts(out, "</ul>\n");
    return t.n;
}
