/* Plots with a meaning, made of marks. */
#include "calibrax/plot/charts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/plot/model.h"

static cbx_status need_log(const cbx_plot *p, const char *what, cbx_err *err)
{
    if (p->opts.x == CBX_PLOT_LOG && p->opts.y == CBX_PLOT_LOG) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "%s needs a plot with two logarithmic axes", what);
}

/* --- roofline --- */

typedef struct span {
    double low, high;
} span;

static const cbx_plot_roof *highest(const cbx_plot_roof *roofs, size_t n)
{
    const cbx_plot_roof *best = &roofs[0];

    for (size_t i = 1; i < n; i++)
        if (roofs[i].limit > best->limit) best = &roofs[i];
    return best;
}

static cbx_status check_roofs(const cbx_plot_roof *roofs, size_t n, const char *what, cbx_err *err)
{
    if (!n) return cbx_fail(err, CBX_EINVAL, "a roofline without a %s", what);
    for (size_t i = 0; i < n; i++)
        if (!(roofs[i].limit > 0) || !isfinite(roofs[i].limit) || !roofs[i].name)
            return cbx_fail(err, CBX_EDOM, "roof '%s' has the limit %g: it must be above 0",
                            roofs[i].name ? roofs[i].name : "?", roofs[i].limit);
    return CBX_OK;
}

static span intensities(double peak, const cbx_plot_roof *bandwidths, size_t n, const cbx_plot_kernel *k, size_t nk)
{
    span s = { INFINITY, 0 };

    for (size_t i = 0; i < n; i++) {
        s.low = fmin(s.low, peak / bandwidths[i].limit);
        s.high = fmax(s.high, peak / bandwidths[i].limit);
    }
    for (size_t i = 0; i < nk; i++) {
        s.low = fmin(s.low, k[i].intensity);
        s.high = fmax(s.high, k[i].intensity);
    }
    return (span){ s.low / 4, s.high * 4 };
}

static cbx_status add_slope(cbx_plot *p, const cbx_plot_roof *b, double peak, span s, cbx_err *err)
{
    double x[] = { s.low, peak / b->limit }, y[] = { s.low * b->limit, peak };
    cbx_plot_series line = { NULL, x, y, NULL, NULL, 2, CBX_PLOT_JOIN | CBX_PLOT_FAINT, NULL, NULL };
    cbx_status st = cbx_plot_line(p, &line, err);

    return st ? st : cbx_plot_note(p, s.low * 1.6, y[0], b->name, err); /* below the line */
}

static bool same_name(const cbx_plot_kernel *a, const cbx_plot_kernel *b)
{
    return a->name && b->name ? !strcmp(a->name, b->name) : a->name == b->name;
}

/* Neighbours of one name: a series. */
static cbx_status add_kernels(cbx_plot *p, const cbx_plot_kernel *k, size_t n, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t from = 0, to; !st && from < n; from = to) {
        for (to = from + 1; to < n && same_name(&k[from], &k[to]);) to++;
        double *x = cbx_arena_calloc(&p->arena, 4 * (to - from), sizeof *x);
        if (!x) return cbx_fail_nomem(err, "a roofline");
        double *y = x + (to - from), *lower = y + (to - from), *upper = lower + (to - from);
        for (size_t i = from; i < to; i++) {
            x[i - from] = k[i].intensity;
            y[i - from] = k[i].flop_per_s;
            lower[i - from] = k[i].lower;
            upper[i - from] = k[i].upper;
        }
        const cbx_plot_series s = { k[from].name, x,   y, lower, upper, to - from, CBX_PLOT_MARK | CBX_PLOT_WHISK,
                                    NULL,         NULL };
        st = cbx_plot_line(p, &s, err);
    }
    return st;
}

cbx_status cbx_plot_roofline(cbx_plot *p, const cbx_plot_roof *peaks, size_t npeaks, const cbx_plot_roof *bandwidths,
                             size_t nbandwidths, const cbx_plot_kernel *kernels, size_t nkernels, cbx_err *err)
{
    cbx_status st = need_log(p, "a roofline", err);
    double peak, fastest;
    span s;

    if (!st) st = check_roofs(peaks, npeaks, "peak", err);
    if (!st) st = check_roofs(bandwidths, nbandwidths, "bandwidth", err);
    if (st) return st;
    peak = highest(peaks, npeaks)->limit;
    fastest = highest(bandwidths, nbandwidths)->limit;
    s = intensities(peak, bandwidths, nbandwidths, kernels, nkernels);
    for (size_t i = 0; !st && i < nbandwidths; i++) st = add_slope(p, &bandwidths[i], peak, s, err);
    for (size_t i = 0; !st && i < npeaks; i++) {
        double x[] = { peaks[i].limit / fastest, s.high }, y[] = { peaks[i].limit, peaks[i].limit };
        cbx_plot_series line = { NULL, x, y, NULL, NULL, 2, CBX_PLOT_JOIN | CBX_PLOT_FAINT, NULL, NULL };
        st = cbx_plot_line(p, &line, err);
        if (!st) st = cbx_plot_note(p, s.high, peaks[i].limit, peaks[i].name, err);
    }
    return st ? st : add_kernels(p, kernels, nkernels, err);
}

/* --- Pareto --- */

static int by_x(const void *a, const void *b)
{
    const cbx__xy *p = a, *q = b;

    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return (p->y > q->y) - (p->y < q->y);
}

/* Those on the front in order of x, as a staircase that starts where x is best and ends where the other objective is. */
static cbx_status add_front(cbx_plot *p, cbx_arena *arena, const double *x, const double *y, const bool *on, size_t n,
                            bool from_right, cbx_err *err)
{
    cbx__xy *front = cbx_arena_calloc(arena, n, sizeof *front);
    double *fx = cbx_arena_calloc(arena, n, sizeof *fx), *fy = cbx_arena_calloc(arena, n, sizeof *fy);
    size_t k = 0;

    if (!front || !fx || !fy) return cbx_fail_nomem(err, "a front");
    for (size_t i = 0; i < n; i++)
        if (on[i]) front[k++] = (cbx__xy){ x[i], y[i] };
    qsort(front, k, sizeof *front, by_x);
    for (size_t i = 0; i < k; i++) {
        size_t to = from_right ? k - 1 - i : i;
        fx[to] = front[i].x;
        fy[to] = front[i].y;
    }
    if (!k) return CBX_OK;
    const cbx_plot_series s = { "front", fx, fy, NULL, NULL, k, CBX_PLOT_STEP | CBX_PLOT_MARK, NULL, NULL };
    return cbx_plot_line(p, &s, err);
}

static cbx_status add_rest(cbx_plot *p, cbx_arena *arena, const double *x, const double *y, const bool *on, size_t n,
                           cbx_err *err)
{
    double *rx = cbx_arena_calloc(arena, n, sizeof *rx), *ry = cbx_arena_calloc(arena, n, sizeof *ry);
    size_t k = 0;

    if (!rx || !ry) return cbx_fail_nomem(err, "a front");
    for (size_t i = 0; i < n; i++)
        if (!on[i]) rx[k] = x[i], ry[k++] = y[i];
    if (!k) return CBX_OK;
    const cbx_plot_series s = { "beaten", rx, ry, NULL, NULL, k, CBX_PLOT_MARK, NULL, NULL };
    return cbx_plot_line(p, &s, err);
}

/* Whether the front goes up to the right: there is more room below its points then, above them else. */
static bool rises(const double *x, const double *y, const bool *on, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; on[i] && k < i; k++)
            if (on[k] && x[i] != x[k] && y[i] != y[k]) return (x[i] > x[k]) == (y[i] > y[k]);
    return false;
}

cbx_status cbx_plot_pareto(cbx_plot *p, const double *x, const double *y, const bool *on_front,
                           const char *const *names, size_t n, bool right_is_better, cbx_err *err)
{
    cbx_arena arena;
    bool below;
    cbx_status st = CBX_OK;

    if (!x || !y || !on_front || !n) return cbx_fail(err, CBX_EINVAL, "a Pareto plot without candidates");
    for (size_t i = 0; i < n; i++)
        if (on_front[i] && !(isfinite(x[i]) && isfinite(y[i])))
            return cbx_fail(err, CBX_EDOM, "candidate %zu is on the front without being finite", i);
    cbx_arena_init(&arena, &p->arena.al);
    st = add_front(p, &arena, x, y, on_front, n, right_is_better, err);
    if (!st) st = add_rest(p, &arena, x, y, on_front, n, err);
    below = rises(x, y, on_front, n);
    for (size_t i = 0; !st && names && i < n; i++)
        if (on_front[i] && names[i]) st = cbx__plot_note_at(p, x[i], y[i], names[i], below, err);
    cbx_arena_clear(&arena);
    return st;
}

/* --- scaling --- */

cbx_status cbx_plot_scaling(cbx_plot *p, const cbx_plot_series *s, double slope, cbx_err *err)
{
    cbx_status st = need_log(p, "a scaling plot", err);
    double x[2] = { INFINITY, 0 }, y[2] = { 0, 0 };

    if (!st) st = cbx_plot_line(p, s, err);
    if (st || !isfinite(slope)) return st;
    for (size_t i = 0; i < s->n; i++) {
        if (!isfinite(s->x[i]) || !isfinite(s->y[i])) continue;
        if (s->x[i] < x[0]) x[0] = s->x[i], y[0] = s->y[i];
        x[1] = fmax(x[1], s->x[i]);
    }
    if (!(x[0] < x[1])) return CBX_OK;
    y[1] = y[0] * pow(x[1] / x[0], slope);
    if (!(y[1] > 0) || !isfinite(y[1])) return CBX_OK;
    const cbx_plot_series guide = { NULL, x, y, NULL, NULL, 2, CBX_PLOT_JOIN | CBX_PLOT_FAINT, NULL, NULL };
    return cbx_plot_line(p, &guide, err);
}

/* --- convergence --- */

static cbx_status add_tolerance(cbx_plot *p, const cbx_plot_series *s, double tolerance, cbx_err *err)
{
    double x[] = { s->x ? s->x[0] : 0, s->x ? s->x[s->n - 1] : (double)(s->n - 1) }, y[] = { tolerance, tolerance };
    const cbx_plot_series line = { NULL, x, y, NULL, NULL, 2, CBX_PLOT_JOIN | CBX_PLOT_FAINT, NULL, NULL };
    char words[32];
    cbx_status st;

    if (!isfinite(tolerance)) return cbx_fail(err, CBX_EDOM, "a tolerance of %g", tolerance);
    snprintf(words, sizeof words, "%.6g", tolerance);
    st = cbx_plot_line(p, &line, err);
    return st ? st : cbx_plot_note(p, x[1], tolerance, words, err);
}

cbx_status cbx_plot_convergence(cbx_plot *p, const cbx_plot_series *s, const double *tolerances, size_t ntolerances,
                                cbx_err *err)
{
    cbx_plot_series line = *s;
    cbx_status st;

    line.how = CBX_PLOT_JOIN | CBX_PLOT_MARK | CBX_PLOT_BAND;
    st = cbx_plot_line(p, &line, err);
    for (size_t i = 0; !st && i < ntolerances; i++) st = add_tolerance(p, s, tolerances[i], err);
    return st;
}
