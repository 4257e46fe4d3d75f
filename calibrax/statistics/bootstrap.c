/* Bootstrap of one sample, two samples or pairs.
 *
 * Workload: 10^4 resamples of 10^3 clock readings.  Means are sums of deviations along a stream of
 * indices; order statistics come from counting how often each rank was drawn, so nothing is sorted
 * in the loop. */
#include "calibrax/statistics/bootstrap.h"

#include <math.h>
#include <string.h>

#include "calibrax/base/parallel.h"
#include "calibrax/base/rng.h"
#include "calibrax/statistics/boot_interval.h"
#include "calibrax/statistics/resample.h"
#include "calibrax/statistics/sample.h"

/* One sample, prepared for the loops. */
typedef struct side {
    const double *x;
    size_t n;
    double mean, error2; /* error2: squared standard error of the mean */
    double *centred;     /* x - mean */
    double *sorted;      /* NULL where no ranks are needed */
    double window;       /* trimmed means: see trimmed_without */
    uint32_t *rank;      /* of each x: place of its first equal in sorted */
} side;

typedef struct bootstrap {
    cbx_boot_opts o;
    side a, b; /* b.n = 0: one sample */
    double estimate;
    double *values;
    uint32_t *index, *count; /* a row of `capacity` for each worker */
    double *drawn;           /* for fn: a row of a.n + b.n for each worker */
    size_t capacity, workers;
} bootstrap;

/* ---- statistics of one resample ---- */

static double gathered_stddev(const side *s, const uint32_t *index)
{
    double sum = 0, rest = 0;

    if (s->n < 2) return 0;
    double mean = cbx__gather_sum(s->centred, index, s->n) / (double)s->n;
    for (size_t i = 0; i < s->n; i++) {
        double d = s->centred[index[i]] - mean;
        sum += d * d;
        rest += d;
    }
    return sqrt(fmax(0.0, sum - rest * rest / (double)s->n) / (double)(s->n - 1));
}

static void count_ranks(const side *s, const uint32_t *index, uint32_t *count)
{
    memset(count, 0, s->n * sizeof *count);
    for (size_t i = 0; i < s->n; i++) count[s->rank[index[i]]]++;
}

/* Mean of ranks off .. n - off - 1 of the resample. */
static double counted_trimmed(const side *s, const uint32_t *count, double cut)
{
    size_t off = (size_t)(cut * (double)s->n), keep = s->n - 2 * off, skip = off, left = keep;
    double sum = 0;

    for (size_t i = 0; left > 0; i++) {
        size_t have = count[i], skipped = have < skip ? have : skip, taken = have - skipped;
        skip -= skipped;
        if (taken > left) taken = left;
        left -= taken;
        sum += (double)taken * (s->sorted[i] - s->mean);
    }
    return s->mean + sum / (double)keep;
}

static double of_resample(const bootstrap *boot, const side *s, const uint32_t *index, uint32_t *count)
{
    switch (boot->o.statistic) {
    case CBX_BOOT_MEAN: return s->mean + cbx__gather_sum(s->centred, index, s->n) / (double)s->n;
    case CBX_BOOT_STDDEV: return gathered_stddev(s, index);
    case CBX_BOOT_TRIMMED_MEAN: count_ranks(s, index, count); return counted_trimmed(s, count, boot->o.parameter);
    case CBX_BOOT_MEDIAN:
    case CBX_BOOT_QUANTILE: break;
    }
    count_ranks(s, index, count);
    /* From the nearer neighbour, as cbx_stat_quantile_sorted. */
    double at = (double)(s->n - 1) * boot->o.parameter, pair[2];
    size_t k = (size_t)floor(at), passed = 0, i = 0;

    while (passed + count[i] <= k) passed += count[i++];
    pair[0] = s->sorted[i];
    if (k + 1 >= s->n) return pair[0];
    while (passed + count[i] <= k + 1) passed += count[i++];
    pair[1] = s->sorted[i];
    return cbx_stat_quantile_sorted(pair, 2, at - (double)k);
}

static double compared(const bootstrap *boot, double a, double b)
{
    if (boot->b.n == 0) return a;
    return boot->o.compare == CBX_BOOT_RATIO ? a / b : a - b;
}

/* ---- one resample ---- */

typedef struct workplace {
    uint32_t *index, *count;
    double *drawn;
} workplace;

/* Index of side 0 or 1 of the resample; pairs share side 0's. */
static const uint32_t *draw_side(const bootstrap *boot, const uint32_t key[2], unsigned which, uint32_t *index)
{
    size_t n = which ? boot->b.n : boot->a.n;
    cbx__draw(key, boot->o.paired ? 0 : which, (uint32_t)n, n, index);
    return index;
}

static double value_of_fn(const bootstrap *boot, const uint32_t key[2], const workplace *w)
{
    double *x = w->drawn, *y = boot->b.n ? x + boot->a.n : NULL;
    const uint32_t *index = draw_side(boot, key, 0, w->index);

    for (size_t i = 0; i < boot->a.n; i++) x[i] = boot->a.x[index[i]];
    if (y) {
        index = draw_side(boot, key, 1, w->index);
        for (size_t i = 0; i < boot->b.n; i++) y[i] = boot->b.x[index[i]];
    }
    return boot->o.fn(x, boot->a.n, y, boot->b.n, boot->o.user);
}

static double value_of(const bootstrap *boot, const uint32_t key[2], const workplace *w)
{
    double b = 0;

    if (boot->o.fn) return value_of_fn(boot, key, w);
    double a = of_resample(boot, &boot->a, draw_side(boot, key, 0, w->index), w->count);
    if (boot->b.n) b = of_resample(boot, &boot->b, draw_side(boot, key, 1, w->index), w->count);
    return compared(boot, a, b);
}

/* Distance from the estimate in the resample's own standard errors; pairs were replaced by their
 * differences. */
static double student_of(const bootstrap *boot, const uint32_t key[2], const workplace *w)
{
    double away = 0, variance = 0;

    for (unsigned which = 0; which < (boot->b.n ? 2u : 1u); which++) {
        const side *s = which ? &boot->b : &boot->a;
        const uint32_t *index = draw_side(boot, key, which, w->index);
        double mean = cbx__gather_sum(s->centred, index, s->n) / (double)s->n, sd = gathered_stddev(s, index);
        away += which ? -mean : mean;
        variance += sd * sd / (double)s->n;
    }
    if (variance > 0) return away / sqrt(variance);
    return away > 0 ? INFINITY : away < 0 ? -INFINITY : 0;
}

static void run_resamples(void *user, size_t worker, size_t begin, size_t end)
{
    const bootstrap *boot = user;
    size_t both = boot->a.n + boot->b.n;
    workplace w = { boot->index + worker * boot->capacity, boot->count ? boot->count + worker * boot->capacity : NULL,
                    boot->drawn ? boot->drawn + worker * both : NULL };

    for (size_t b = begin; b < end; b++) {
        cbx_rng stream = cbx_rng_make(boot->o.seed, b);
        boot->values[b] = boot->o.method == CBX_BOOT_STUDENTISED ? student_of(boot, stream.key, &w)
                                                                 : value_of(boot, stream.key, &w);
    }
}

/* ---- the jackknife ---- */

/* The k-th of the sorted values without the one at `out`. */
static double sorted_without(const side *s, size_t out, size_t k) { return s->sorted[k < out ? k : k + 1]; }

static double quantile_without(const side *s, size_t out, double p)
{
    size_t n = s->n - 1;
    double at = (double)(n - 1) * p, pair[2];

    size_t k = (size_t)floor(at);
    pair[0] = sorted_without(s, out, k);
    if (k + 1 >= n) return pair[0];
    pair[1] = sorted_without(s, out, k + 1);
    return cbx_stat_quantile_sorted(pair, 2, at - (double)k);
}

/* What is kept without place `out`: the window of the others begins with the first n - 1 - 2 off
 * values from off on, whose sum is s->window. */
static double trimmed_without(const side *s, size_t out, double cut)
{
    size_t n = s->n - 1, off = (size_t)(cut * (double)n), end = n - off;
    double sum = s->window;

    if (out < end) sum += (s->sorted[end] - s->mean) - (s->sorted[out < off ? off : out] - s->mean);
    return s->mean + sum / (double)(n - 2 * off);
}

/* The statistic without value i. */
static double without(const bootstrap *boot, const side *s, size_t i)
{
    double n = (double)s->n, d = s->centred[i], squares = s->error2 * n * (n - 1);

    switch (boot->o.statistic) {
    case CBX_BOOT_MEAN: return s->mean - d / (n - 1);
    case CBX_BOOT_STDDEV: return s->n < 3 ? 0 : sqrt(fmax(0.0, squares - d * d * n / (n - 1)) / (n - 2));
    case CBX_BOOT_TRIMMED_MEAN: return trimmed_without(s, s->rank[i], boot->o.parameter);
    case CBX_BOOT_MEDIAN:
    case CBX_BOOT_QUANTILE: break;
    }
    return quantile_without(s, s->rank[i], boot->o.parameter);
}

static double of_sample(const bootstrap *boot, const side *s)
{
    switch (boot->o.statistic) {
    case CBX_BOOT_MEAN: return s->mean;
    case CBX_BOOT_STDDEV: return sqrt(s->error2 * (double)s->n);
    case CBX_BOOT_TRIMMED_MEAN: {
        size_t off = (size_t)(boot->o.parameter * (double)s->n);
        cbx__moments m = cbx__moments_of(s->sorted + off, s->n - 2 * off);
        return cbx__mean_of(&m);
    }
    case CBX_BOOT_MEDIAN:
    case CBX_BOOT_QUANTILE: break;
    }
    return cbx_stat_quantile_sorted(s->sorted, s->n, boot->o.parameter);
}

/* fn without value i of one side, or of both for pairs. */
static double fn_without(const bootstrap *boot, bool first, bool second, size_t i)
{
    size_t n = boot->a.n, m = boot->b.n, k = 0;
    double *x = boot->drawn, *y = m ? x + n : NULL;

    for (size_t j = 0; j < n; j++)
        if (!first || j != i) x[k++] = boot->a.x[j];
    k = 0;
    for (size_t j = 0; j < m; j++)
        if (!second || j != i) y[k++] = boot->b.x[j];
    return boot->o.fn(x, n - first, y, m - second, boot->o.user);
}

/* The whole estimate without value i of side `which` (pairs: of both). */
static double estimate_without(const bootstrap *boot, unsigned which, size_t i)
{
    bool first = boot->o.paired || which == 0, second = boot->b.n && (boot->o.paired || which == 1);

    if (boot->o.fn) return fn_without(boot, first, second, i);
    return compared(boot, first ? without(boot, &boot->a, i) : of_sample(boot, &boot->a),
                    second      ? without(boot, &boot->b, i)
                    : boot->b.n ? of_sample(boot, &boot->b)
                                : 0);
}

/* Sums of squares and cubes of the influences (n - 1)(mean - value) / n over one side. */
static void add_influence(const bootstrap *boot, unsigned which, double *left_out, double *squares, double *cubes)
{
    size_t n = which ? boot->b.n : boot->a.n;

    for (size_t i = 0; i < n; i++) left_out[i] = estimate_without(boot, which, i);
    cbx__moments m = cbx__moments_of(left_out, n);
    for (size_t i = 0; i < n; i++) {
        double u = (double)(n - 1) * (m.offset - (left_out[i] - m.origin)) / (double)n;
        *squares += u * u;
        *cubes += u * u * u;
    }
}

/* Efron & Tibshirani (14.15); with two samples their influences stand side by side. */
static cbx_status acceleration_of(cbx_ctx *ctx, const bootstrap *boot, double *out, cbx_err *err)
{
    size_t max = boot->a.n > boot->b.n ? boot->a.n : boot->b.n;
    double *left_out = NULL, squares = 0, cubes = 0;
    cbx_status st = cbx__doubles(ctx, max, &left_out, err);

    if (st) return st;
    if (boot->a.n > 1) add_influence(boot, 0, left_out, &squares, &cubes);
    if (boot->b.n > 1 && !boot->o.paired) add_influence(boot, 1, left_out, &squares, &cubes);
    cbx__doubles_free(ctx, left_out, max);
    *out = squares > 0 ? cubes / (6 * pow(squares, 1.5)) : 0;
    if (isfinite(*out)) return CBX_OK;
    return cbx_fail(err, CBX_EDOM, "the statistic is not finite without one of the values");
}

/* ---- memory and the whole ---- */

static bool needs_ranks(const cbx_boot_opts *o)
{
    return !o->fn && o->statistic != CBX_BOOT_MEAN && o->statistic != CBX_BOOT_STDDEV;
}

static cbx_status words(cbx_ctx *ctx, size_t n, uint32_t **out, cbx_err *err)
{
    *out = cbx_mem_alloc(cbx_ctx_allocator(ctx), n * sizeof **out);
    return *out ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "no memory for %zu indices", n);
}

static cbx_status side_open(cbx_ctx *ctx, const cbx_boot_opts *o, const double *x, size_t n, side *s, cbx_err *err)
{
    cbx_status st = cbx__sample_check(x, n, 1, err);

    if (!st && n > CBX__RESAMPLE_LIMIT) st = cbx_fail(err, CBX_EINVAL, "%zu values are too many to resample", n);
    if (!st) st = cbx__doubles(ctx, n, &s->centred, err);
    if (st) return st;
    s->x = x;
    s->n = n;
    cbx__moments m = cbx__moments_of(x, n);
    s->mean = cbx__mean_of(&m);
    s->error2 = m.variance / (double)n;
    for (size_t i = 0; i < n; i++) s->centred[i] = (x[i] - m.origin) - m.offset;
    if (!needs_ranks(o)) return CBX_OK;
    st = cbx__sorted_copy(ctx, x, n, 1, &s->sorted, err);
    if (!st) st = words(ctx, n, &s->rank, err);
    if (st) return st;
    for (size_t i = 0; i < n; i++) s->rank[i] = (uint32_t)cbx__count_below(s->sorted, n, x[i]);
    if (o->statistic == CBX_BOOT_TRIMMED_MEAN) {
        size_t off = (size_t)(o->parameter * (double)(n - 1));
        for (size_t k = off; k + 1 + off < n; k++) s->window += s->sorted[k] - s->mean;
    }
    return CBX_OK;
}

static void side_close(cbx_ctx *ctx, side *s)
{
    cbx__doubles_free(ctx, s->centred, s->n);
    cbx__doubles_free(ctx, s->sorted, s->n);
    cbx_mem_free(cbx_ctx_allocator(ctx), s->rank, s->n * sizeof *s->rank);
}

static void boot_close(cbx_ctx *ctx, bootstrap *boot)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    size_t row = boot->workers * boot->capacity * sizeof(uint32_t);

    cbx_mem_free(al, boot->index, row);
    cbx_mem_free(al, boot->count, row);
    cbx__doubles_free(ctx, boot->drawn, boot->workers * (boot->a.n + boot->b.n));
    cbx__doubles_free(ctx, boot->values, boot->o.resamples);
    side_close(ctx, &boot->a);
    side_close(ctx, &boot->b);
}

static cbx_status finite_check(const bootstrap *boot, cbx_err *err)
{
    if (!isfinite(boot->estimate)) return cbx_fail(err, CBX_EDOM, "the statistic of the sample is not finite");
    if (boot->o.method == CBX_BOOT_STUDENTISED) return CBX_OK;
    for (size_t i = 0; i < boot->o.resamples; i++)
        if (!isfinite(boot->values[i]))
            return cbx_fail(err, CBX_EDOM, "the statistic of resample %zu is not finite", i);
    return CBX_OK;
}

static cbx_status interval_of(cbx_ctx *ctx, bootstrap *boot, cbx_interval *out, cbx_err *err)
{
    const cbx_boot_opts *o = &boot->o;
    double acceleration = 0;
    cbx_status st = CBX_OK;

    switch (o->method) {
    case CBX_BOOT_PERCENTILE: *out = cbx__boot_percentile(boot->values, o->resamples, boot->estimate, o->level); break;
    case CBX_BOOT_BASIC: *out = cbx__boot_basic(boot->values, o->resamples, boot->estimate, o->level); break;
    case CBX_BOOT_STUDENTISED:
        *out = cbx__boot_studentised(boot->values, o->resamples, boot->estimate, sqrt(boot->a.error2 + boot->b.error2),
                                     o->level);
        break;
    case CBX_BOOT_BCA:
        st = acceleration_of(ctx, boot, &acceleration, err);
        if (!st) *out = cbx__boot_bca(boot->values, o->resamples, boot->estimate, acceleration, o->level);
        break;
    }
    return st;
}

static cbx_status studentised_check(const bootstrap *boot, cbx_err *err)
{
    const cbx_boot_opts *o = &boot->o;

    if (o->method != CBX_BOOT_STUDENTISED) return CBX_OK;
    if (!o->fn && o->statistic == CBX_BOOT_MEAN && !o->paired && (!boot->b.n || o->compare == CBX_BOOT_DIFFERENCE))
        return CBX_OK;
    return cbx_fail(
        err, CBX_EINVAL,
        "a studentised interval is of a mean or a difference of means: take the differences of pairs first");
}

cbx_status cbx_stat_bootstrap(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m,
                              const cbx_boot_opts *opts, cbx_interval *out, cbx_err *err)
{
    bootstrap boot = { 0 };
    cbx_status st = cbx__boot_options(opts, &boot.o, err);

    if (!st && boot.o.paired && m != n)
        st = cbx_fail(err, CBX_EINVAL, "pairs need samples of one size, not %zu and %zu", n, m);
    if (st) return st;
    st = side_open(ctx, &boot.o, x, n, &boot.a, err);
    if (!st && m) st = side_open(ctx, &boot.o, y, m, &boot.b, err);
    if (!st) st = studentised_check(&boot, err);
    if (!st) {
        size_t max = boot.a.n > boot.b.n ? boot.a.n : boot.b.n;

        boot.workers = cbx__workers(boot.o.threads, boot.o.resamples);
        boot.capacity = cbx__draws_capacity(max);
        st = words(ctx, boot.workers * boot.capacity, &boot.index, err);
        if (!st && needs_ranks(&boot.o)) st = words(ctx, boot.workers * boot.capacity, &boot.count, err);
        if (!st && boot.o.fn) st = cbx__doubles(ctx, boot.workers * (boot.a.n + boot.b.n), &boot.drawn, err);
        if (!st) st = cbx__doubles(ctx, boot.o.resamples, &boot.values, err);
    }
    if (st) goto done;
    boot.estimate = boot.o.fn ? boot.o.fn(x, n, m ? y : NULL, m, boot.o.user)
                              : compared(&boot, of_sample(&boot, &boot.a), m ? of_sample(&boot, &boot.b) : 0);
    cbx__parallel(boot.workers, boot.o.resamples, run_resamples, &boot);
    st = finite_check(&boot, err);
    if (st) goto done;
    if (boot.o.distribution) memcpy(boot.o.distribution, boot.values, boot.o.resamples * sizeof(double));
    st = interval_of(ctx, &boot, out, err);
done:
    boot_close(ctx, &boot);
    return st;
}
