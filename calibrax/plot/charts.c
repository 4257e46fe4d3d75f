/* Plots with a meaning, made of marks. */
#include "calibrax/plot/charts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/plot/model.h"

/* A faint line between two places. */
static cbx_status add_guide(cbx_plot *p, double x0, double y0, double x1, double y1, cbx_err *err)
{
    const double x[] = { x0, x1 }, y[] = { y0, y1 };
    const cbx_plot_series line = { .x = x, .y = y, .n = 2, .how = CBX_PLOT_JOIN | CBX_PLOT_FAINT };
    return cbx_plot_line(p, &line, err);
}

/* --- roofline --- */

/* @param max  written: the highest limit */
static cbx_status check_roofs(const cbx_plot_roof *roofs, size_t n, const char *what, double *max, cbx_err *err)
{
    *max = 0;
    if (!n) return cbx_fail(err, CBX_EINVAL, "a roofline without a %s", what);
    for (size_t i = 0; i < n; i++) {
        if (!(roofs[i].limit > 0) || !isfinite(roofs[i].limit) || !roofs[i].name)
            return cbx_fail(err, CBX_EDOM, "roof '%s' has the limit %g: it must be above 0",
                            roofs[i].name ? roofs[i].name : "?", roofs[i].limit);
        *max = fmax(*max, roofs[i].limit);
    }
    return CBX_OK;
}

/* Neighbours of one name: a series. */
static cbx_status add_kernels(cbx_plot *p, const cbx_plot_kernel *k, size_t n, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t from = 0, to; !st && from < n; from = to) {
        const char *name = k[from].name;
        for (to = from + 1; to < n && (name && k[to].name ? !strcmp(name, k[to].name) : name == k[to].name);) to++;
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
    double peak, fastest, low = INFINITY, high = 0; /* low, high: ends of the roofs [flop/byte] */

    if (p->opts.x != CBX_PLOT_LOG || p->opts.y != CBX_PLOT_LOG)
        return cbx_fail(err, CBX_EINVAL, "a roofline needs a plot with two logarithmic axes");
    cbx_status st = check_roofs(peaks, npeaks, "peak", &peak, err);
    if (!st) st = check_roofs(bandwidths, nbandwidths, "bandwidth", &fastest, err);
    if (st) return st;
    for (size_t i = 0; i < nbandwidths + nkernels; i++) {
        const double at = i < nbandwidths ? peak / bandwidths[i].limit : kernels[i - nbandwidths].intensity;
        low = fmin(low, at / 4);
        high = fmax(high, at * 4);
    }
    for (size_t i = 0; !st && i < nbandwidths; i++) {
        const cbx_plot_roof *b = &bandwidths[i];
        st = add_guide(p, low, low * b->limit, peak / b->limit, peak, err);
        if (!st) st = cbx_plot_note(p, low * 1.6, low * b->limit, b->name, err); /* below the line */
    }
    for (size_t i = 0; !st && i < npeaks; i++) {
        st = add_guide(p, peaks[i].limit / fastest, peaks[i].limit, high, peaks[i].limit, err);
        if (!st) st = cbx_plot_note(p, high, peaks[i].limit, peaks[i].name, err);
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

/* Those on the front in order of x, as a staircase that starts where x is best and ends where the
 * other objective is; or the others. */
static cbx_status add_candidates(cbx_plot *p, cbx_arena *arena, const double *x, const double *y, const bool *on,
                                 size_t n, bool front, bool from_right, cbx_err *err)
{
    cbx__xy *at = cbx_arena_calloc(arena, n, sizeof *at);
    double *px = cbx_arena_calloc(arena, n, sizeof *px), *py = cbx_arena_calloc(arena, n, sizeof *py);
    size_t k = 0;

    if (!at || !px || !py) return cbx_fail_nomem(err, "a front");
    for (size_t i = 0; i < n; i++)
        if (on[i] == front) at[k++] = (cbx__xy){ x[i], y[i] };
    if (!k) return CBX_OK;
    if (front) qsort(at, k, sizeof *at, by_x);
    for (size_t i = 0; i < k; i++) {
        size_t to = front && from_right ? k - 1 - i : i;
        px[to] = at[i].x;
        py[to] = at[i].y;
    }
    const cbx_plot_series s = { .label = front ? "front" : "beaten",
                                .x = px,
                                .y = py,
                                .n = k,
                                .how = CBX_PLOT_MARK | (front ? CBX_PLOT_STEP : 0) };
    return cbx_plot_line(p, &s, err);
}

/* Whether the front goes up to the right: there is more room below its points then, above them
 * else. */
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
    cbx_status st = CBX_OK;

    if (!x || !y || !on_front || !n) return cbx_fail(err, CBX_EINVAL, "a Pareto plot without candidates");
    for (size_t i = 0; i < n; i++)
        if (on_front[i] && !(isfinite(x[i]) && isfinite(y[i])))
            return cbx_fail(err, CBX_EDOM, "candidate %zu is on the front without being finite", i);
    CBX_SCOPED(cbx_arena, arena, &p->arena.al);
    st = add_candidates(p, &arena, x, y, on_front, n, true, right_is_better, err);
    if (!st) st = add_candidates(p, &arena, x, y, on_front, n, false, false, err);
    bool below = rises(x, y, on_front, n);
    for (size_t i = 0; !st && names && i < n; i++)
        if (on_front[i] && names[i]) st = cbx__plot_note_at(p, x[i], y[i], names[i], below, err);
    return st;
}

/* --- convergence --- */

cbx_status cbx_plot_convergence(cbx_plot *p, const cbx_plot_series *s, const double *tolerances, size_t ntolerances,
                                cbx_err *err)
{
    cbx_plot_series line = *s;

    line.how = CBX_PLOT_JOIN | CBX_PLOT_MARK | CBX_PLOT_BAND;
    cbx_status st = cbx_plot_line(p, &line, err);
    for (size_t i = 0; !st && i < ntolerances; i++) {
        double first = s->x ? s->x[0] : 0, last = s->x ? s->x[s->n - 1] : (double)(s->n - 1);
        char words[32];
        if (!isfinite(tolerances[i])) return cbx_fail(err, CBX_EDOM, "a tolerance of %g", tolerances[i]);
        snprintf(words, sizeof words, "%.6g", tolerances[i]);
        st = add_guide(p, first, tolerances[i], last, tolerances[i], err);
        if (!st) st = cbx_plot_note(p, last, tolerances[i], words, err);
    }
    return st;
}
