/* The Theil-Sen slope of a series, its interval, and the resulting tendency. */
#include "calibrax/monitoring/tendency.h"

#include <math.h>

#include "calibrax/statistics/series.h"

static const char *const words[CBX_TENDENCY_COUNT][3] = {
#define ROW(name, word, lower, higher) { word, lower, higher },
    CBX_TENDENCY_MAP(ROW)
#undef ROW
};

const char *cbx_tendency_name(cbx_tendency_kind kind, cbx_direction direction)
{
    int column = direction == CBX_DIRECTION_LOWER ? 1 : direction == CBX_DIRECTION_HIGHER ? 2 : 0;

    return (unsigned)kind < CBX_TENDENCY_COUNT ? words[kind][column] : "?";
}

static cbx_tendency_kind decide(const cbx_interval *s, double threshold)
{
    if (s->lower > 0 && s->value > threshold) return CBX_TENDENCY_RISING;
    if (s->upper < 0 && s->value < -threshold) return CBX_TENDENCY_FALLING;
    return s->lower >= -threshold && s->upper <= threshold ? CBX_TENDENCY_STABLE : CBX_TENDENCY_UNDECIDED;
}

/* @param x  n finite values, and space for as many residuals after CBX_TENDENCY_MAX */
static cbx_status measure(cbx_ctx *ctx, double *x, size_t n, double threshold, double level, cbx_tendency *out,
                          cbx_err *err)
{
    double median, *rest = x + CBX_TENDENCY_MAX;
    cbx_interval s;
    cbx_status st = cbx_stat_theil_sen(ctx, x, n, 1, level, &s, err);

    if (!st) st = cbx_stat_median(ctx, x, n, &median, err);
    for (size_t i = 0; !st && i < n; i++) rest[i] = x[i] - s.value * (double)i;
    if (!st) st = cbx_stat_effective_size(rest, n, &out->effective, err);
    if (!st && out->effective < (double)n)
        st = cbx_stat_theil_sen(ctx, x, n, (double)n / out->effective, level, &s, err);
    if (st) return st;
    if (median == 0 && (s.lower != 0 || s.upper != 0)) {
        s.value = s.lower = s.upper = NAN;
    } else {
        const double scale = median != 0 ? fabs(median) : 1;
        s.value /= scale;
        s.lower /= scale;
        s.upper /= scale;
        out->kind = decide(&s, threshold);
    }
    out->slope = s; /* words:ok */
    return CBX_OK;
}

cbx_status cbx_tendency_find(cbx_ctx *ctx, const double *x, size_t n, double threshold, double level, cbx_tendency *out,
                             cbx_err *err)
{
    enum { SIZE = 2 * CBX_TENDENCY_MAX };
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_tendency t = { .slope = { NAN, NAN, NAN, 0 }, .effective = NAN }; /* words:ok */
    cbx_status st = CBX_OK;
    double *kept;

    if (!(threshold > 0)) return cbx_fail(err, CBX_EINVAL, "'threshold' must be above 0, got %g", threshold);
    if (!(level > 0 && level < 1)) return cbx_fail(err, CBX_EINVAL, "'level' must be between 0 and 1, got %g", level);
    kept = cbx_mem_calloc(al, SIZE, sizeof *kept);
    if (!kept) return cbx_fail_nomem(err, "a series");
    /* The newest finite values, oldest first. */
    size_t m = 0, from = n;
    while (from > 0 && m < CBX_TENDENCY_MAX) m += isfinite(x[--from]);
    m = 0;
    for (size_t i = from; i < n; i++)
        if (isfinite(x[i])) kept[m++] = x[i];
    t.n = m;
    if (t.n >= CBX_TENDENCY_MIN) st = measure(ctx, kept, t.n, threshold, level, &t, err);
    cbx_mem_free(al, kept, SIZE * sizeof *kept);
    if (!st) *out = t;
    return st;
}
