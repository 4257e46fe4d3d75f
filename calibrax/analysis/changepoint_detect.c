/*
 * The detector: the best split of each segment in turn, kept if the whole series, fitted with it, bears it out.
 *
 * Noise and its correlation are taken from residuals of the fit with the proposed change, so that a real change neither hides itself by
 * its own size nor passes for correlation; the first proposal is tested before any other is made, so that correlated noise cannot be
 * explained away by many short segments.
 */
#include <math.h>
#include <string.h>

#include "calibrax/analysis/changepoint_parts.h"
#include "calibrax/analysis/regression_internal.h"

#define LARGEST_PHI 0.95
/** A score beyond sqrt(2 ln n + this) alarms on less than 1 % of series of 100 points without a change: tests/analysis/test_detector.c. */
#define DETECTOR_MARGIN 5.2
#define TOGETHER        1.3
/* A spike stands out by more than so many standard deviations of the noise, for no more than so many values; where more than one value in
 * twenty does, that is a mode of the noise, and its spread must count. */
#define SPIKE_SIGMAS  4
#define SPIKE_LONGEST 2
#define SPIKE_RARE    20

typedef struct fit {
    const double *y;    /* the series, or its logarithms */
    const double *sums; /* n + 1, of y - y[0] */
    size_t n, min_segment;
    size_t *ends; /* changes so far, ascending, then n */
    size_t nends;
} fit;

static double mean_of(const fit *f, size_t a, size_t b) { return (f->sums[b] - f->sums[a]) / (double)(b - a); }

/* Variance and AR(1) coefficient of the residuals of all segments. */
static void residuals(const fit *f, double *variance, double *phi)
{
    double square = 0, product = 0, before = 0, n = (double)f->n, dof;
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
    dof = n - (double)f->nends;
    *variance = dof > 0 ? square / dof : 0;
    *phi = square > 0 ? product / square : 0;
    *phi += (1 + 3 * *phi) / n + 1 / sqrt(n); /* Kendall's bias, and a standard error on the safe side */
    *phi = fmin(fmax(*phi, 0), LARGEST_PHI);
}

/* Variance of the mean of m points of AR(1) noise of variance 1: (1 + 2 sum_{k<m} (1 - k/m) phi^k) / m, summed. */
static double mean_variance(double m, double phi)
{
    double q = 1 - phi;
    return (1 + 2 * phi / q - 2 * phi * (1 - pow(phi, m)) / (m * q * q)) / m;
}

/* Score of change k of the fit. */
static double score_of(const fit *f, size_t k)
{
    size_t a = k ? f->ends[k - 1] : 0, t = f->ends[k], b = f->ends[k + 1];
    double variance, phi, gap = mean_of(f, t, b) - mean_of(f, a, t), noise;

    residuals(f, &variance, &phi);
    noise = variance * (mean_variance((double)(t - a), phi) + mean_variance((double)(b - t), phi));
    if (gap == 0) return 0;
    return noise > 0 ? gap / sqrt(noise) : copysign(INFINITY, gap);
}

static size_t propose(const fit *f, size_t a, size_t b)
{
    double best = 0;
    size_t at = 0;

    for (size_t t = a + f->min_segment; t + f->min_segment <= b; t++) {
        double gap = mean_of(f, t, b) - mean_of(f, a, t);
        double gain = gap * gap * (double)(t - a) * (double)(b - t) / (double)(b - a);
        if (gain > best) {
            best = gain;
            at = t;
        }
    }
    return at;
}

static void insert(fit *f, size_t k, size_t t)
{
    memmove(f->ends + k + 1, f->ends + k, (f->nends - k) * sizeof(*f->ends));
    f->ends[k] = t;
    f->nends++;
}

static void take_out(fit *f, size_t k)
{
    memmove(f->ends + k, f->ends + k + 1, (f->nends - k - 1) * sizeof(*f->ends));
    f->nends--;
}

/* A split of segment k that stands; false: none does. */
static bool split(fit *f, size_t k, double threshold)
{
    size_t t = propose(f, k ? f->ends[k - 1] : 0, f->ends[k]);

    if (!t) return false;
    insert(f, k, t);
    if (fabs(score_of(f, k)) > threshold) return true;
    take_out(f, k);
    return false;
}

/* Takes out the weakest change until all that are left stand. */
static void prune(fit *f, double threshold)
{
    while (f->nends > 1) {
        double least = INFINITY;
        size_t weakest = 0;
        for (size_t k = 0; k + 1 < f->nends; k++) {
            double z = fabs(score_of(f, k));
            if (z < least) {
                least = z;
                weakest = k;
            }
        }
        if (least > threshold) return;
        take_out(f, weakest);
    }
}

static void search(fit *f, double threshold)
{
    f->ends[0] = f->n;
    f->nends = 1;
    for (size_t k = 0; k < f->nends;)
        if (!split(f, k, threshold)) k++;
    prune(f, threshold);
}

/* Changes that hide each other, up and down again: what PELT finds together, if it stands, instead of fewer found one by one. */
static cbx_status search_together(cbx_ctx *ctx, fit *f, size_t *spare, double threshold, cbx_err *err)
{
    cbx_changepoint_opts o = CBX_CHANGEPOINT_OPTS_INIT;
    fit together = *f;
    size_t count;
    cbx_status st;

    o.min_segment = f->min_segment;
    st = cbx_changepoints_find(ctx, f->y, f->n, &o, spare, &count, err);
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

static void report(const fit *f, bool logs, cbx_change *out, size_t *count)
{
    *count = f->nends - 1;
    for (size_t k = 0; k + 1 < f->nends; k++) {
        size_t a = k ? f->ends[k - 1] : 0, t = f->ends[k], b = f->ends[k + 1];
        double before = mean_of(f, a, t) + f->y[0], after = mean_of(f, t, b) + f->y[0];
        if (logs) before = exp(before), after = exp(after);
        out[k] = (cbx_change){ t, before, after, after == before ? 0 : (after - before) / fabs(before),
                               score_of(f, k) };
    }
}

static void take_values(const double *x, size_t n, bool logs, double *y)
{
    for (size_t i = 0; i < n; i++) y[i] = logs ? log(x[i]) : x[i];
}

/* The values, or their logarithms; a value or two alone are no level, unless a segment may be as short. */
static cbx_status take_series(cbx_ctx *ctx, const double *x, size_t n, size_t min_segment, bool logs, double *y,
                              cbx_err *err)
{
    size_t longest = min_segment - 1 < SPIKE_LONGEST ? min_segment - 1 : SPIKE_LONGEST;
    cbx_noise noise;
    cbx_status st;

    take_values(x, n, logs, y);
    st = cbx_noise_estimate(ctx, y, n, &noise, err);
    if (!st && noise.sigma > 0 &&
        cbx__spikes_flatten(y, n, longest, SPIKE_SIGMAS * noise.sigma) > SPIKE_LONGEST + n / SPIKE_RARE)
        take_values(x, n, logs, y);
    return st;
}

cbx_status cbx_changes_detect(cbx_ctx *ctx, const double *x, size_t n, size_t min_segment, cbx_change *out,
                              size_t *count, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_status st = cbx__series_check(x, n, err);
    double *y, *sums;
    double threshold = n ? sqrt(2 * log((double)n) + DETECTOR_MARGIN) : 0;
    size_t *ends, *spare;
    bool logs = true;

    if (st) return st;
    if (!min_segment) return cbx_fail(err, CBX_EINVAL, "a segment has at least one point");
    y = cbx_mem_calloc(al, n + 1, sizeof(*y));
    sums = cbx_mem_calloc(al, n + 1, sizeof(*sums));
    ends = cbx_mem_calloc(al, 2 * n + 4, sizeof(*ends));
    spare = ends ? ends + n + 2 : NULL;
    for (size_t i = 0; i < n; i++) logs &= x[i] > 0;
    if (y && sums && ends) {
        fit f = { .y = y, .sums = sums, .n = n, .min_segment = min_segment, .ends = ends };
        *count = 0;
        if (n / 2 >= min_segment && n >= 4) {
            st = take_series(ctx, x, n, min_segment, logs, y, err);
            for (size_t i = 0; i < n; i++) sums[i + 1] = sums[i] + (y[i] - y[0]);
            if (!st) search(&f, threshold);
            if (!st) st = search_together(ctx, &f, spare, threshold, err);
            if (!st) report(&f, logs, out, count);
        }
    } else {
        st = cbx_fail(err, CBX_ENOMEM, "out of memory for a series of %zu points", n);
    }
    cbx_mem_free(al, y, (n + 1) * sizeof(*y));
    cbx_mem_free(al, sums, (n + 1) * sizeof(*sums));
    cbx_mem_free(al, ends, (2 * n + 4) * sizeof(*ends));
    return st;
}

cbx_status cbx_change_confirm(cbx_ctx *ctx, const double *before, size_t nbefore, const double *after, size_t nafter,
                              double level, double threshold, cbx_verdict *verdict, cbx_interval *change, cbx_err *err)
{
    cbx_interval found;
    double scale;
    cbx_status st = cbx__change_of_samples(ctx, after, nafter, before, nbefore, level, &scale, &found, err);

    if (st) return st;
    if (scale == 0) return cbx_fail(err, CBX_EDOM, "the median before is 0, so there is no relative change");
    *verdict = found.level > 0 ? cbx_verdict_of_change(&found, threshold) : CBX_VERDICT_UNDECIDED;
    if (change) *change = found;
    return CBX_OK;
}
