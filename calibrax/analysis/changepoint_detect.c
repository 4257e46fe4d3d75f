/* The detector: the best split of each segment in turn, kept if the whole series, fitted with it,
 * confirms it.
 *
 * Noise and its correlation are taken from residuals of the fit with the proposed change, so that a
 * real change neither hides itself by its own size nor looks like correlation; the first proposal
 * is tested before any other is made, so that correlated noise cannot be explained away by many
 * short segments. */
#include <math.h>
#include <string.h>

#include "calibrax/analysis/changepoint.h"
#include "calibrax/analysis/regression_internal.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/options.h"
#include "calibrax/base/together.h"
#include "calibrax/statistics/distribution.h"
#include "calibrax/statistics/test.h"

#define LARGEST_PHI 0.95
/** A score beyond sqrt(2 ln n + this) alarms on less than 1 % of series of 100 points without a
 * change: tests/analysis/test_detector.c. */
#define DETECTOR_MARGIN 5.2
#define TOGETHER        1.3
/* An alarm of a gate that checks a growing series after each value: the score, with the correlation
 * raised by GATE_PHI / n more and read as Student's t, is beyond what a normal value of GATE_Z is,
 * and the ranks of both segments alone have a p of at most GATE_P over min(n, 100).  Calibrated on
 * 100 checks of each of 10,000 series: tests/analysis/test_detector.c. */
#define GATE_PHI 3
#define GATE_Z   4.6
#define GATE_P   0.004
/* A spike stands out by more than so many standard deviations of the noise, for no more than so
 * many values; where more than one value in twenty does, that is a mode of the noise, and its
 * spread must count. */
#define SPIKE_SIGMAS  4
#define SPIKE_LONGEST 2
#define SPIKE_RARE    20

#define BESIDE 3 /* values on each side that show what is usual there */

static double median_of_3(double a, double b, double c) { return fmax(fmin(a, b), fmin(fmax(a, b), c)); }

/* What is usual in y[a] .. y[b-1], one to three values. */
static double usual(const double *y, size_t a, size_t b)
{
    if (b - a == 1) return y[a];
    return b - a == 2 ? 0.5 * (y[a] + y[a + 1]) : median_of_3(y[a], y[a + 1], y[a + 2]);
}

/* Whether all of the len values from i on are more than the limit above (sign 1) or below (-1)
 * their neighbours and what is usual. */
static bool is_spike(const double *y, size_t n, size_t i, size_t len, double sign, double limit, double *level)
{
    size_t a = i >= BESIDE ? i - BESIDE : 0, b = i + len + BESIDE < n ? i + len + BESIDE : n;
    double before = usual(y, a, i), after = usual(y, i + len, b);

    double max = fmax(fmax(sign * before, sign * after), fmax(sign * y[i - 1], sign * y[i + len]));
    for (size_t k = i; k < i + len; k++)
        if (!(sign * y[k] > max + limit)) return false;
    *level = 0.5 * (before + after);
    return true;
}

/* Spikes are one value, or two, that stand out from all around them and are gone again.  They are
 * no levels, but they draw the mean of a short segment away and so look like one.  Replaces up to
 * `longest` values in a row that are more than the limit above, or below, everything around them by
 * what is usual there; the first and the last value stay, since what follows is unknown.  Returns
 * how many. */
static size_t flatten_spikes(double *y, size_t n, size_t longest, double limit)
{
    double level = 0;
    size_t count = 0;

    for (size_t i = 1; i + 1 < n; i++) {
        for (size_t len = 1; len <= longest && i + len < n; len++) {
            if (!is_spike(y, n, i, len, 1, limit, &level) && !is_spike(y, n, i, len, -1, limit, &level)) continue;
            for (size_t k = i; k < i + len; k++) y[k] = level;
            count += len;
            break;
        }
    }
    return count;
}

/* --- the fit --- */

typedef struct fit {
    const double *y;    /* the series, or its logarithms */
    const double *sums; /* n + 1, of y - y[0] */
    size_t n, min_segment;
    size_t *ends; /* changes so far, ascending, then n */
    size_t nends;
} fit;

static double mean_of(const fit *f, size_t a, size_t b) { return (f->sums[b] - f->sums[a]) / (double)(b - a); }

/* Variance and AR(1) coefficient of the residuals of all segments.  @param safety  raises the
 * coefficient, by so many n-ths */
static void residuals(const fit *f, double safety, double *variance, double *phi)
{
    double square = 0, product = 0, before = 0, n = (double)f->n;
    size_t a = 0;

    for (size_t k = 0; k < f->nends; k++) {
        double level = mean_of(f, a, f->ends[k]) + f->y[0];
        for (size_t i = a; i < f->ends[k]; i++) {
            double r = f->y[i] - level;
            square += r * r;
            if (i > a) product += before * r;
            before = r;
        }
        a = f->ends[k];
    }
    double dof = n - (double)f->nends;
    *variance = dof > 0 ? square / dof : 0;
    *phi = square > 0 ? product / square : 0;
    *phi += (1 + 3 * *phi + safety) / n + 1 / sqrt(n); /* Kendall's bias, and a standard error on the safe side */
    *phi = fmin(fmax(*phi, 0), LARGEST_PHI);
}

/* Variance of the mean of m points of AR(1) noise of variance 1: (1 + 2 sum_{k<m} (1 - k/m) phi^k)
 * / m, summed. */
static double mean_variance(double m, double phi)
{
    double q = 1 - phi;
    return (1 + 2 * phi / q - 2 * phi * (1 - pow(phi, m)) / (m * q * q)) / m;
}

/* Median of a segment shorter than two minimal ones, in which one wild value decides the mean; else
 * the mean. */
static double level_of(const fit *f, size_t a, size_t b)
{
    double short_one[64];

    if (b - a >= 2 * f->min_segment || b - a > CBX_LEN(short_one)) return mean_of(f, a, b);
    memcpy(short_one, f->y + a, (b - a) * sizeof *short_one);
    cbx_stat_sort(short_one, b - a);
    return cbx_stat_quantile_sorted(short_one, b - a, 0.5) - f->y[0];
}

/* Score of change k of the fit; 0 where the medians of short segments do not confirm half of the
 * difference of means. */
static double score_of(const fit *f, size_t k, double safety)
{
    size_t a = k ? f->ends[k - 1] : 0, t = f->ends[k], b = f->ends[k + 1];
    double variance, phi, gap = mean_of(f, t, b) - mean_of(f, a, t);

    if (gap == 0 || (level_of(f, t, b) - level_of(f, a, t)) / gap < 0.5) return 0;
    residuals(f, safety, &variance, &phi);
    double noise = variance * (mean_variance((double)(t - a), phi) + mean_variance((double)(b - t), phi));
    return noise > 0 ? gap / sqrt(noise) : copysign(INFINITY, gap);
}

static void take_out(fit *f, size_t k)
{
    memmove(f->ends + k, f->ends + k + 1, (f->nends - k - 1) * sizeof(*f->ends));
    f->nends--;
}

/* A split of segment k that stands; false: none does. */
static bool split(fit *f, size_t k, double threshold)
{
    size_t a = k ? f->ends[k - 1] : 0;
    double best = 0;
    size_t at = 0;
    for (size_t t = a + f->min_segment; t + f->min_segment <= f->ends[k]; t++) {
        double gap = mean_of(f, t, f->ends[k]) - mean_of(f, a, t);
        double gain = gap * gap * (double)(t - a) * (double)(f->ends[k] - t) / (double)(f->ends[k] - a);
        if (gain > best) {
            best = gain;
            at = t;
        }
    }
    if (!at) return false;
    memmove(f->ends + k + 1, f->ends + k, (f->nends - k) * sizeof(*f->ends));
    f->ends[k] = at;
    f->nends++;
    if (fabs(score_of(f, k, 0)) > threshold) return true;
    take_out(f, k);
    return false;
}

/* Takes out the weakest change until all that are left stand. */
static void prune(fit *f, double threshold)
{
    while (f->nends > 1) {
        double min = INFINITY;
        size_t weakest = 0;
        for (size_t k = 0; k + 1 < f->nends; k++) {
            double z = fabs(score_of(f, k, 0));
            if (z < min) {
                min = z;
                weakest = k;
            }
        }
        if (min > threshold) return;
        take_out(f, weakest);
    }
}

/* Changes that hide each other, up and down again: what PELT finds together, if it stands, instead
 * of fewer found one by one. */
static cbx_status search_together(cbx_ctx *ctx, fit *f, size_t *spare, double threshold, cbx_err *err)
{
    cbx_changepoint_opts o = CBX_CHANGEPOINT_OPTS_INIT;
    fit together = *f;
    size_t count;

    o.min_segment = f->min_segment;
    cbx_status st = cbx_changepoints_find(ctx, f->y, f->n, &o, spare, &count, err);
    if (st) return st;
    together.ends = spare;
    together.nends = count + 1;
    spare[count] = f->n;
    prune(&together, TOGETHER * threshold); /* chosen among many, so they have more to show */
    if (together.nends <= f->nends) return CBX_OK;
    memcpy(f->ends, spare, together.nends * sizeof(*spare));
    f->nends = together.nends;
    return CBX_OK;
}

/* Mann-Whitney's p of the segments beside a change, of at most 100 values in all, exact unless both
 * are long. */
static cbx_status rank_p(cbx_ctx *ctx, const double *x, size_t a, size_t t, size_t b, double *p, cbx_err *err)
{
    enum { MAX = 100, COUNTED = 12 };
    size_t n = t - a, m = b - t;
    cbx_test test;

    if (n + m > MAX) {
        n = n <= MAX / 2 ? n : m <= MAX / 2 ? MAX - m : MAX / 2;
        m = m <= MAX - n ? m : MAX - n;
    }
    cbx_status st = cbx_stat_test_mann_whitney(
        ctx, x + t - n, n, x + t, m, n <= COUNTED || m <= COUNTED ? CBX_TEST_EXACT : CBX_TEST_AUTO, &test, err);
    if (!st) *p = test.p;
    return st;
}

/* Where the last segment is as short as it may be, the change may be at a later value. */
static size_t place_of(const fit *f, size_t k, double before, double after)
{
    size_t t = f->ends[k];

    if (k + 2 < f->nends || f->n - t > f->min_segment) return t;
    while (t + 1 < f->n && fabs(f->y[t] - f->y[0] - before) < fabs(f->y[t] - f->y[0] - after)) t++;
    return t;
}

static cbx_status report(cbx_ctx *ctx, const fit *f, const double *x, bool logs, cbx_change *out, size_t *count,
                         cbx_err *err)
{
    double freedom = (double)f->n - (double)f->nends;
    cbx_status st = CBX_OK;

    *count = f->nends - 1;
    for (size_t k = 0; !st && k + 1 < f->nends; k++) {
        size_t a = k ? f->ends[k - 1] : 0, t = f->ends[k], b = f->ends[k + 1];
        double before = mean_of(f, a, t), after = mean_of(f, t, b), gate = fabs(score_of(f, k, GATE_PHI)), p = 1;
        bool clear = isinf(gate) || cbx_stat_t_sf(gate, freedom) < cbx_stat_normal_sf(GATE_Z);
        if (clear) st = rank_p(ctx, x, a, t, b, &p, err);
        t = place_of(f, k, before, level_of(f, t, b));
        before += f->y[0];
        after += f->y[0];
        if (logs) before = exp(before), after = exp(after);
        out[k] = (cbx_change){ .index = t,
                               .before = before,
                               .after = after,
                               .change = after == before ? 0 : (after - before) / fabs(before),
                               .score = score_of(f, k, 0),
                               .alarm = clear && p * fmin((double)f->n, 100) <= GATE_P };
    }
    return st;
}

static void take_values(const double *x, size_t n, bool logs, double *y)
{
    for (size_t i = 0; i < n; i++) y[i] = logs ? log(x[i]) : x[i];
}

cbx_status cbx_changes_detect(cbx_ctx *ctx, const double *x, size_t n, size_t min_segment, cbx_change *out,
                              size_t *count, cbx_err *err)
{
    double *y, *sums;
    size_t *ends, *spare;
    cbx_status st = cbx__series_check(x, n, err);
    double threshold = n ? sqrt(2 * log((double)n) + DETECTOR_MARGIN) : 0;
    bool logs = true;

    if (st) return st;
    if (!min_segment) return cbx_fail(err, CBX_EINVAL, "'min_segment' must be at least 1, got 0");
    if (n < 4 || n / 2 < min_segment)
        return cbx_fail(err, CBX_EINVAL, "the series has %zu values, and segments of %zu need %zu", n, min_segment,
                        min_segment < 2 ? 4 : 2 * min_segment);
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    for (size_t i = 0; i < n; i++) logs &= x[i] > 0;
    if (!cbx_arena_arrays(&arena, CBX_ARRAY(y, n), CBX_ARRAY(sums, n + 1), CBX_ARRAY(ends, n + 2),
                          CBX_ARRAY(spare, n + 2)))
        return cbx_fail(err, CBX_ENOMEM, "out of memory for a series of %zu points", n);
    fit f = { .y = y, .sums = sums, .n = n, .min_segment = min_segment, .ends = ends };
    /* The values, or their logarithms; a value or two alone are no level, unless a segment may be
     * as short. */
    size_t longest = min_segment - 1 < SPIKE_LONGEST ? min_segment - 1 : SPIKE_LONGEST;
    cbx_noise noise;
    take_values(x, n, logs, y);
    st = cbx_noise_estimate(ctx, y, n, &noise, err);
    if (st) return st;
    if (noise.sigma > 0 && flatten_spikes(y, n, longest, SPIKE_SIGMAS * noise.sigma) > SPIKE_LONGEST + n / SPIKE_RARE)
        take_values(x, n, logs, y);
    for (size_t i = 0; i < n; i++) sums[i + 1] = sums[i] + (y[i] - y[0]);
    f.ends[0] = f.n;
    f.nends = 1;
    for (size_t k = 0; k < f.nends;)
        if (!split(&f, k, threshold)) k++;
    prune(&f, threshold);
    st = search_together(ctx, &f, spare, threshold, err);
    return st ? st : report(ctx, &f, x, logs, out, count, err);
}

cbx_status cbx_change_confirm(cbx_ctx *ctx, const double *before, size_t nbefore, const double *after, size_t nafter,
                              double level, double threshold, cbx_verdict *verdict, cbx_interval *change, cbx_err *err)
{
    cbx_interval found;
    double scale;
    cbx_status st = cbx_check_range("threshold", threshold, 0, INFINITY, err);

    if (!st) st = cbx__change_of_samples(ctx, after, nafter, before, nbefore, level, &scale, &found, err);
    if (st) return st;
    if (scale == 0) return cbx_fail(err, CBX_EDOM, "the median before is 0, so there is no relative change");
    *verdict = found.level > 0 ? cbx_verdict_of_change(&found, threshold) : CBX_VERDICT_UNDECIDED;
    if (change) *change = found;
    return CBX_OK;
}
