/* Drift by the Theil-Sen slope and its interval; modes by gaps and by how often the series crosses
 * them. */
#include "calibrax/monitoring/pattern.h"

#include <math.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/statistics/series.h"

#define RESOLUTION 0.005 /* of modes: clocks and counters round */
#define PLAIN      6.0   /* times the range about a line: a random walk of 50 values seldom has one */
enum { MAX_MODES = 64 };

static const char *const names[] = { "value", "drift", "modes" };

const char *cbx_pattern_name(cbx_pattern_kind kind) { return CBX_WORD(names, kind); }

bool cbx_pattern_parse(const char *word, cbx_pattern_kind *out)
{
    size_t at = CBX_WORD_AT(names, word);
    bool known = at >= CBX_PATTERN_DRIFT && at < CBX_LEN(names);

    if (known) *out = (cbx_pattern_kind)at;
    return known;
}

/* --- drift --- */

/* The interval as if values were independent, widened if the residuals are autocorrelated, unless
 * the trend is far above them. */
static cbx_status find_trend(cbx_ctx *ctx, const double *x, size_t n, double *rest, cbx_interval *trend, cbx_err *err)
{
    double effective, low = INFINITY, high = -INFINITY;
    cbx_status st = cbx_stat_theil_sen(ctx, x, n, 1, 1 - CBX_PATTERN_ALPHA, trend, err);

    if (st || (trend->lower <= 0 && trend->upper >= 0)) return st;
    for (size_t i = 0; i < n; i++) {
        rest[i] = x[i] - trend->value * (double)i;
        low = fmin(low, rest[i]);
        high = fmax(high, rest[i]);
    }
    if (fabs(trend->value) * (double)(n - 1) > PLAIN * (high - low)) return CBX_OK;
    st = cbx_stat_effective_size(rest, n, &effective, err);
    if (st || effective >= (double)n) return st;
    return cbx_stat_theil_sen(ctx, x, n, (double)n / effective, 1 - CBX_PATTERN_ALPHA, trend, err);
}

static cbx_status find_drift(cbx_ctx *ctx, const double *x, size_t n, cbx_pattern *out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    double *rest = cbx_mem_calloc(al, n, sizeof *rest), median, times;
    cbx_interval trend;

    if (!rest) return cbx_fail_nomem(err, "a series");
    cbx_status st = find_trend(ctx, x, n, rest, &trend, err);
    if (!st) st = cbx_stat_median(ctx, x, n, &median, err);
    cbx_mem_free(al, rest, n * sizeof *rest);
    if (st || (trend.lower <= 0 && trend.upper >= 0)) return st;
    times = (double)(n - 1) / fabs(median); /* from the first value to the last, as a share of the level */
    out->strength = median != 0 ? trend.value * times : copysign(INFINITY, trend.value);
    out->low = trend.lower * times;
    out->high = trend.upper * times;
    return CBX_OK;
}

/* --- modes --- */

static bool is_in(const cbx_mode *m, double x) { return x >= m->low && x <= m->high; }

static cbx_status find_modes(cbx_ctx *ctx, const double *x, size_t n, cbx_pattern *out, cbx_err *err)
{
    cbx_mode modes[MAX_MODES];
    const cbx_mode *a = modes, *b = NULL, *last = NULL; /* the two with the most values; of equal ones the lowest */
    size_t count, turns = 0;
    cbx_status st = cbx_stat_modes(ctx, x, n, RESOLUTION, modes, MAX_MODES, &count, err);

    if (st || count < 2) return st;
    for (size_t i = 1; i < count && i < MAX_MODES; i++) {
        if (modes[i].count > a->count)
            b = a, a = &modes[i];
        else if (!b || modes[i].count > b->count)
            b = &modes[i];
    }
    for (size_t i = 0; i < n; i++) { /* values of a third mode do not count */
        const cbx_mode *here = is_in(a, x[i]) ? a : is_in(b, x[i]) ? b : NULL;
        if (!here) continue;
        turns += last && last != here;
        last = here;
    }
    if (b->count < CBX_PATTERN_MODE_MIN || turns < CBX_PATTERN_TURNS) return CBX_OK;
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
    if (n > CBX_PATTERN_MAX)
        return cbx_fail(err, CBX_EINVAL, "a pattern of %zu values: at most %d are allowed", n, CBX_PATTERN_MAX);
    if (n >= CBX_PATTERN_MIN) st = (kind == CBX_PATTERN_DRIFT ? find_drift : find_modes)(ctx, x, n, &found, err);
    if (!st) *out = found;
    return st;
}
