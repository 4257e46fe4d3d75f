/* What the charts of the page share: the axis of times, rows over time, the figure around
 * a plot. */
#include "calibrax/perf/report/report_charts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/idioms.h"

void cbx__charts_put_text(cbx_text *out, cbx_arena *arena, const char *s, size_t max)
{
    CBX_SCOPED(cbx_text, public, &arena->al);
    cbx__report_put_public(&public, s, max);
    cbx_text_put_html(out, cbx_text_str(&public));
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
    CBX_SCOPED(cbx_text, words, &c->arena->al);
    cbx__report_put_public(&words, caption, 160);
    cbx_status st = words.status;
    if (!st) st = cbx__pages_put_figure(out, plot, l, kind, metric, cbx_text_str(&words));
    if (st == CBX_ENOMEM) out->status = CBX_ENOMEM;
}

/* --- the main chart ---
 *
 * The times of one point, a row each, as wide as its place.
 *
 * Places along x are percentages, so that the chart fits a telephone and a wide screen with letters
 * of one size.
 */
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
    CBX_SCOPED(cbx_text, time, &arena->al);
    cbx__report_put_seconds(&time, cbx__report_median(r), &cbx__report_utf8);
    cbx_text_put_html(out, cbx_text_str(&time));
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

/* --- rates of kernels under the roofs that were measured on their machine --- */

#define MAX_LEVELS 8

/* Roofs of one core as the probe of the row's machine found them: fused multiply-adds count
 * twice. */
typedef struct roofs {
    cbx_plot_roof peaks[2], levels[MAX_LEVELS];
    size_t npeaks, nlevels;
} roofs;

static void add_peak(roofs *r, const char *name, double limit)
{
    if (limit > 0 && isfinite(limit)) r->peaks[r->npeaks++] = (cbx_plot_roof){ name, limit };
}

static bool roofs_of(const cbx_row *row, bool is_f64, roofs *r)
{
    const cbx_json *probe = cbx_json_get(row->provenance, "probe");
    const cbx_json *pipes = cbx_json_get(probe, "pipe_ops_per_s_f32_f64"), *levels = cbx_json_get(probe, "levels");

    *r = (roofs){ .npeaks = 0 };
    add_peak(r, is_f64 ? "FMA, float64" : "FMA, float32",
             2 * cbx_json_double_value(cbx_json_at(cbx_json_get(pipes, "fma"), is_f64)));
    add_peak(r, "add", cbx_json_double_value(cbx_json_at(cbx_json_get(pipes, "add"), is_f64)));
    for (size_t i = 0; i < cbx_json_length(levels) && r->nlevels < MAX_LEVELS; i++) {
        const cbx_json *l = cbx_json_at(levels, i);
        double read = cbx_json_get_double(l, "read_bytes_per_s", NAN),
               copy = cbx_json_get_double(l, "copy_bytes_per_s", NAN);
        double best = fmax(read, copy);
        if (best > 0 && isfinite(best))
            r->levels[r->nlevels++] = (cbx_plot_roof){ cbx_json_get_string(l, "name", "level"), best };
    }
    return r->npeaks && r->nlevels;
}

bool cbx__chart_roofline(const cbx__charts *c, const cbx__report_group *g, cbx_text *out)
{
    bool is_f64 = strstr(g->label, "f64") != NULL;
    cbx_plot_kernel *kernels = cbx_arena_calloc(c->arena, g->count + 1, sizeof *kernels);
    cbx_plot_opts opts = CBX_PLOT_OPTS_INIT;
    cbx_plot *plot = NULL;
    size_t before = out->len, n = 0;
    cbx__chart_lines drawn = { .n = 0 };
    const char *caption;
    roofs r = { .npeaks = 0 };

    for (const cbx__report_item *it = g->items; kernels && it < g->items + g->count; it++) {
        const cbx_row *row = it->row;
        double t = cbx__report_median(row), rate = 1e9 * row->gflop_per_s;
        bool known = cbx__report_has_interval(&row->steady) && row->steady.lower > 0;
        if (it->class != CBX__REPORT_GOOD || !it->quoted) continue;
        if (!(row->gflop_per_s > 0 && row->gbyte_per_s > 0) || drawn.n == CBX__SERIES_COLOURS) continue;
        if (!r.npeaks && !roofs_of(row, is_f64, &r)) continue;
        drawn.series[drawn.n++] = it->series;
        kernels[n++] = (cbx_plot_kernel){ cbx__report_name(c->arena, it), row->gflop_per_s / row->gbyte_per_s, rate,
                                          known ? rate * t / row->steady.upper : NAN,
                                          known ? rate * t / row->steady.lower : NAN };
    }
    if (!n || !r.npeaks) return false;
    opts.x = opts.y = CBX_PLOT_LOG;
    opts.x_label = "declared work over declared traffic [flop/byte]";
    opts.y_label = "rate [flop/s]";
    opts.width = 640;
    opts.height = 380;
    caption = cbx_arena_printf(c->arena, "Roofline of one core at %s", cbx__report_where(c->arena, c->view, g));
    if (!caption || cbx_plot_create(c->ctx, &opts, &plot, NULL)) return false;
    cbx_status st = cbx_plot_roofline(plot, r.peaks, r.npeaks, r.levels, r.nlevels, kernels, n, NULL);
    if (!st) cbx__chart_draw(c, plot, &drawn, "roofline", NULL, caption, out);
    if (st == CBX_ENOMEM) out->status = st;
    cbx_plot_free(plot);
    return out->len > before;
}

/* --- strips of launches ---
 *
 * Medians beside the roofline's bound, and every launch by its distance from
 * the median of its row.  On a narrow screen the style sheet moves the second half, classes "w",
 * "d" and "r", below the first, by the height of the strip; an empty drawing keeps the place. */
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
