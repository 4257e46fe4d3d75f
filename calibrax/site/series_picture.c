/* Pictures of series: a line of up to SPANS points, whatever their length. */
#include "calibrax/site/series_picture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SPANS       400
#define SPARK_SPANS 60
#define MARKED      60 /* more points are a line without marks */
#define MIN_SEGMENT 3

cbx__drawn cbx__series_values(cbx__view *v, const cbx_trend_series *s, const char *machine)
{
    cbx__drawn d = { .at = cbx__view_alloc(v, s->npoints, sizeof *d.at),
                     .x = cbx__view_alloc(v, s->npoints, sizeof *d.x),
                     .y = cbx__view_alloc(v, s->npoints, sizeof *d.y) };

    for (size_t i = 0; d.at && d.x && d.y && i < s->npoints; i++) {
        const cbx_trend_point *p = &s->points[i];
        if (!machine || !p->machine ? machine != p->machine : strcmp(machine, p->machine) != 0) continue;
        d.left_out += !isfinite(p->value);
        if (!isfinite(p->value)) continue;
        d.at[d.n] = p;
        d.x[d.n] = (double)p->timestamp_us / 1e6;
        d.y[d.n++] = p->value;
    }
    return d;
}

size_t cbx__series_changes(cbx__view *v, const cbx__drawn *d, size_t max, cbx_change **out)
{
    size_t skip = max && d->n > max ? d->n - max : 0, n = 0;

    *out = NULL;
    if (d->n - skip < 2 * MIN_SEGMENT) return 0;
    *out = cbx__view_alloc(v, d->n - skip, sizeof **out);
    if (!*out || !cbx__view_got(v, cbx_changes_detect(v->ctx, d->y + skip, d->n - skip, MIN_SEGMENT, *out, &n, NULL)))
        return 0;
    for (size_t i = 0; i < n; i++) (*out)[i].index += skip;
    return n;
}

/* --- spans --- */

/* Values of a span: where it is, its mean and extremes. */
typedef struct spans {
    double *x, *mean, *low, *high;
    size_t n;
} spans;

/* Spans of equal numbers of values, at most max of them. */
static spans spans_of(cbx__view *v, const cbx__drawn *d, size_t max)
{
    size_t n = d->n < max ? d->n : max;
    double *all = cbx__view_alloc(v, 4 * n + 4, sizeof *all);
    spans s = { all, all + n + 1, all + 2 * (n + 1), all + 3 * (n + 1), all ? n : 0 };

    for (size_t k = 0; k < s.n; k++) {
        size_t from = d->n * k / n, to = d->n * (k + 1) / n;
        s.low[k] = INFINITY;
        s.high[k] = -INFINITY;
        for (size_t i = from; i < to; i++) {
            s.x[k] += d->x[i] / (double)(to - from);
            s.mean[k] += d->y[i] / (double)(to - from);
            s.low[k] = fmin(s.low[k], d->y[i]);
            s.high[k] = fmax(s.high[k], d->y[i]);
        }
    }
    return s;
}

void cbx__series_spark(cbx__view *v, const cbx__drawn *d, const char *words)
{
    const double width = 160, height = 28, pad = 3;
    spans s;
    double low = INFINITY, high = -INFINITY;

    if (v->document) return;
    s = spans_of(v, d, SPARK_SPANS);
    for (size_t i = 0; i < s.n; i++) {
        low = fmin(low, s.mean[i]);
        high = fmax(high, s.mean[i]);
    }
    if (s.n < 2 || !isfinite(high - low)) return;
    cbx_text_puts(v->out, "<svg class=spark width=160 height=28 viewBox=\"0 0 160 28\" role=img aria-label=\"");
    cbx__view_words(v, words);
    cbx_text_puts(v->out, "\"><path d=\"");
    for (size_t i = 0; i < s.n; i++) {
        double share = high > low ? (s.mean[i] - low) / (high - low) : 0.5;
        cbx_text_printf(v->out, "%c%.1f %.1f", i ? 'L' : 'M', pad + (width - 2 * pad) * (double)i / (double)(s.n - 1),
                        height - pad - (height - 2 * pad) * share);
    }
    cbx_text_puts(v->out, "\"/></svg>");
}

cbx_status cbx__series_plot(cbx__view *v, cbx_plot *plot, const cbx__drawn *d, const char *label, cbx_err *err)
{
    const spans s = spans_of(v, d, SPANS);
    cbx_plot_series line = { .label = label, .x = s.x, .y = s.mean, .lower = s.low, .upper = s.high, .n = s.n };

    if (!s.n) return cbx_fail_nomem(err, "a page");
    for (size_t i = 0; d->n <= SPANS && i < d->n; i++) { /* a value a span: its interval */
        s.low[i] = d->at[i]->lower;
        s.high[i] = d->at[i]->upper;
    }
    line.how = CBX_PLOT_JOIN | (d->n <= MARKED ? CBX_PLOT_MARK | CBX_PLOT_WHISK : CBX_PLOT_BAND);
    return cbx_plot_line(plot, &line, err);
}

cbx_status cbx__series_plot_levels(cbx__view *v, cbx_plot *plot, const cbx__drawn *d, const cbx_change *changes,
                                   size_t n, cbx_err *err)
{
    double *x = cbx__view_alloc(v, 3 * (n + 1), sizeof *x), *y = cbx__view_alloc(v, 3 * (n + 1), sizeof *y);

    if (!x || !y) return cbx_fail_nomem(err, "a page");
    if (!n) return CBX_OK;
    for (size_t k = 0; k <= n; k++) { /* a level, and a gap before the next one */
        size_t from = k ? changes[k - 1].index : 0, to = k < n ? changes[k].index : d->n - 1;
        x[3 * k] = d->x[from];
        x[3 * k + 1] = x[3 * k + 2] = d->x[to];
        y[3 * k] = y[3 * k + 1] = k ? changes[k - 1].after : changes[0].before;
        y[3 * k + 2] = NAN;
    }
    return cbx_plot_line(
        plot, &(cbx_plot_series){ .label = "level", .x = x, .y = y, .n = 3 * (n + 1) - 1, .how = CBX_PLOT_JOIN }, err);
}
