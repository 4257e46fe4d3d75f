/*
 * Drift by a slope and its interval; modes by gaps, and by how often the series crosses the gap.
 */
#include "calibrax/monitoring/pattern.h"

#include <math.h>
#include <string.h>

#include "calibrax/statistics/series.h"

#define RESOLUTION 0.005 /* of modes: clocks and counters round, and nobody is woken for less */
#define PLAIN      6.0   /* times the range about a line: a random walk of 50 values seldom has one */
enum { MOST_MODES = 64 };

static const char *const names[] = { "value", "drift", "modes" };

const char *cbx_pattern_name(cbx_pattern_kind kind) { return (size_t)kind < CBX_LEN(names) ? names[kind] : "?"; }

bool cbx_pattern_parse(const char *word, cbx_pattern_kind *out)
{
    for (size_t i = CBX_PATTERN_DRIFT; word && i < CBX_LEN(names); i++) {
        if (strcmp(word, names[i])) continue;
        *out = (cbx_pattern_kind)i;
        return true;
    }
    return false;
}

/* --- drift --- */

/* Slopes from the first value to the last as shares of the level. */
static void scale_drift(const cbx_interval *slope, double median, cbx_pattern *out)
{
    double times = (double)(out->n - 1) / fabs(median);

    if (slope->lower <= 0 && slope->upper >= 0) return;
    out->strength = median != 0 ? slope->value * times : copysign(INFINITY, slope->value);
    out->low = slope->lower * times;
    out->high = slope->upper * times;
}

/* Whether a line goes so much farther than the values leave it that ranks of few independent ones need not say so. */
static bool is_plain(const cbx_interval *slope, const double *rest, size_t n)
{
    double low = rest[0], high = rest[0];

    for (size_t i = 1; i < n; i++) {
        low = fmin(low, rest[i]);
        high = fmax(high, rest[i]);
    }
    return fabs(slope->value) * (double)(n - 1) > PLAIN * (high - low);
}

/* The interval as if values were independent, and wider where what the slope leaves depends on itself. */
static cbx_status find_slope(cbx_ctx *ctx, const double *x, size_t n, double *rest, cbx_interval *slope, cbx_err *err)
{
    double effective;
    cbx_status st = cbx_stat_theil_sen(ctx, x, n, 1, 1 - CBX_PATTERN_ALPHA, slope, err);

    if (st || (slope->lower <= 0 && slope->upper >= 0)) return st;
    for (size_t i = 0; i < n; i++) rest[i] = x[i] - slope->value * (double)i;
    if (is_plain(slope, rest, n)) return CBX_OK;
    st = cbx_stat_effective_size(rest, n, &effective, err);
    if (st || effective >= (double)n) return st;
    return cbx_stat_theil_sen(ctx, x, n, (double)n / effective, 1 - CBX_PATTERN_ALPHA, slope, err);
}

static cbx_status find_drift(cbx_ctx *ctx, const double *x, size_t n, cbx_pattern *out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    double *rest = cbx_mem_calloc(al, n, sizeof *rest), median;
    cbx_interval slope;
    cbx_status st;

    if (!rest) return cbx_fail(err, CBX_ENOMEM, "no memory for a series of %zu values", n);
    st = find_slope(ctx, x, n, rest, &slope, err);
    if (!st) st = cbx_stat_median(ctx, x, n, &median, err);
    if (!st) scale_drift(&slope, median, out);
    cbx_mem_free(al, rest, n * sizeof *rest);
    return st;
}

/* --- modes --- */

static bool is_in(const cbx_mode *m, double x) { return x >= m->low && x <= m->high; }

/* How often the series goes from one of two modes to the other; values of a third do not count. */
static size_t turns_between(const double *x, size_t n, const cbx_mode *a, const cbx_mode *b)
{
    const cbx_mode *last = NULL;
    size_t turns = 0;

    for (size_t i = 0; i < n; i++) {
        const cbx_mode *here = is_in(a, x[i]) ? a : is_in(b, x[i]) ? b : NULL;
        if (!here) continue;
        turns += last && last != here;
        last = here;
    }
    return turns;
}

/* The two with the most values; of equal ones the lowest. */
static void two_largest(const cbx_mode *modes, size_t n, const cbx_mode **first, const cbx_mode **second)
{
    *first = &modes[0];
    *second = NULL;
    for (size_t i = 1; i < n; i++) {
        if (modes[i].count > (*first)->count) {
            *second = *first;
            *first = &modes[i];
        } else if (!*second || modes[i].count > (*second)->count) {
            *second = &modes[i];
        }
    }
}

static cbx_status find_modes(cbx_ctx *ctx, const double *x, size_t n, cbx_pattern *out, cbx_err *err)
{
    cbx_mode modes[MOST_MODES];
    const cbx_mode *a, *b;
    size_t count;
    cbx_status st = cbx_stat_modes(ctx, x, n, RESOLUTION, modes, MOST_MODES, &count, err);

    if (st || count < 2) return st;
    two_largest(modes, count < MOST_MODES ? count : MOST_MODES, &a, &b);
    if (b->count < CBX_PATTERN_MODE_LEAST || turns_between(x, n, a, b) < CBX_PATTERN_TURNS) return CBX_OK;
    out->strength = b->share;
    out->low = fmin(a->center, b->center);
    out->high = fmax(a->center, b->center);
    return CBX_OK;
}

cbx_status cbx_pattern_find(cbx_ctx *ctx, cbx_pattern_kind kind, const double *x, size_t n, cbx_pattern *out,
                            cbx_err *err)
{
    cbx_pattern found = { .strength = 0, .low = NAN, .high = NAN, .n = n };
    cbx_status st = CBX_OK;

    if (kind != CBX_PATTERN_DRIFT && kind != CBX_PATTERN_MODES)
        return cbx_fail(err, CBX_EINVAL, "no pattern of a series has the number %d", (int)kind);
    if (n > CBX_PATTERN_MOST)
        return cbx_fail(err, CBX_EINVAL, "a pattern of %zu values: at most %d are looked at", n, CBX_PATTERN_MOST);
    if (n >= CBX_PATTERN_LEAST) st = (kind == CBX_PATTERN_DRIFT ? find_drift : find_modes)(ctx, x, n, &found, err);
    if (!st) *out = found;
    return st;
}
