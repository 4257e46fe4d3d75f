/* Bootstrap of one sample, two samples or pairs.
 *
 * Workload: 10^4 resamples of 10^3 clock readings.  Means are sums of deviations along a stream of
 * indices; order statistics come from counting how often each rank was drawn, so nothing is sorted
 * in the loop. */
#include "calibrax/statistics/bootstrap.h"

#include <math.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/parallel.h"
#include "calibrax/base/rng.h"
#include "calibrax/base/together.h"
#include "calibrax/statistics/distribution.h"
#include "calibrax/statistics/resample.h"
#include "calibrax/statistics/sample.h"

/* ---- options, and from resampled values to an interval.  Efron & Tibshirani (1993): percentile
 * 13.3, BCa 14.3; Davison & Hinkley (1997): basic and studentised 5.2.  Quantiles are of type 7, as
 * SciPy's. ---- */

static cbx_status boot_options(const cbx_boot_opts *given, cbx_boot_opts *out, cbx_err *err)
{
    cbx_boot_opts o = CBX_BOOT_OPTS_INIT;
    cbx_status st = cbx_take_options(&o, sizeof o, given, "cbx_boot_opts", err);

    if (st) return st;
    if ((unsigned)o.statistic > CBX_BOOT_STDDEV)
        return cbx_fail(err, CBX_EINVAL, "unknown statistic %d", (int)o.statistic);
    if ((unsigned)o.method > CBX_BOOT_STUDENTISED)
        return cbx_fail(err, CBX_EINVAL, "unknown bootstrap method %d", (int)o.method);
    if ((unsigned)o.compare > CBX_BOOT_RATIO) return cbx_fail(err, CBX_EINVAL, "unknown comparison %d", (int)o.compare);
    if (!o.fn && o.statistic == CBX_BOOT_TRIMMED_MEAN && !(o.parameter >= 0 && o.parameter < 0.5))
        return cbx_fail(err, CBX_EINVAL, "a share of %g cannot be cut from both ends: 0 <= cut < 0.5", o.parameter);
    if (!o.fn && o.statistic == CBX_BOOT_QUANTILE && !(o.parameter >= 0 && o.parameter <= 1))
        return cbx_fail(err, CBX_EINVAL, "quantile %g is not between 0 and 1", o.parameter);
    if (!o.resamples) return cbx_fail(err, CBX_EINVAL, "'resamples' must be at least 1, got 0");
    if (o.statistic == CBX_BOOT_MEDIAN) o.parameter = 0.5;
    *out = o;
    return cbx_check_level("level", o.level, err);
}

static double bca_share(double z0, double acceleration, double z)
{
    double shifted = z0 + z, scale = 1 - acceleration * shifted;
    if (scale <= 0) return shifted > 0 ? 1 : 0; /* as far as there is */
    return cbx_stat_normal_cdf(z0 + shifted / scale);
}

/* ---- what both bootstraps are: a value of each resample, which its key draws ---- */

typedef struct engine {
    cbx_boot_opts o;
    double (*value)(const struct engine *e, const uint32_t key[2], size_t worker);
    double estimate, *values;
    size_t workers;
} engine;

static bool is_stopped(const cbx_boot_opts *o) { return o->stop && *o->stop; }

static void run_resamples(void *user, size_t worker, size_t begin, size_t end)
{
    const engine *e = user;

    for (size_t b = begin; b < end && !is_stopped(&e->o); b++) {
        cbx_rng stream = cbx_rng_make(e->o.seed, b);
        e->values[b] = e->value(e, stream.key, worker);
    }
}

static cbx_status resample(cbx_arena *arena, engine *e, cbx_err *err)
{
    e->values = cbx_arena_calloc(arena, e->o.resamples, sizeof *e->values);
    if (!e->values) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu resamples", e->o.resamples);
    cbx__parallel(e->workers, e->o.resamples, run_resamples, e);
    if (is_stopped(&e->o)) return cbx_fail(err, CBX_EINTERRUPTED, "the bootstrap was interrupted");
    if (!isfinite(e->estimate)) return cbx_fail(err, CBX_EDOM, "the statistic of the sample is not finite");
    for (size_t i = 0; e->o.method != CBX_BOOT_STUDENTISED && i < e->o.resamples; i++)
        if (!isfinite(e->values[i])) return cbx_fail(err, CBX_EDOM, "the statistic of resample %zu is not finite", i);
    if (e->o.distribution) memcpy(e->o.distribution, e->values, e->o.resamples * sizeof *e->values);
    return CBX_OK;
}

/* The interval of the values, which are rearranged.  error: of the estimate, if studentised. */
static cbx_interval interval_of(const engine *e, double error, double acceleration)
{
    const double estimate = e->estimate, level = e->o.level, tail = (1 - level) / 2;
    const size_t n = e->o.resamples;
    double low = tail, high = 1 - tail;

    if (e->o.method == CBX_BOOT_BCA) {
        double below = 0, z = cbx_stat_normal_isf(tail);
        /* The share of values below the estimate, ties a half, kept off 0 and 1. */
        for (size_t i = 0; i < n; i++) below += e->values[i] < estimate ? 1 : e->values[i] == estimate ? 0.5 : 0;
        double z0 = cbx_stat_normal_quantile(fmin(fmax(below, 0.5), (double)n - 0.5) / (double)n);
        low = bca_share(z0, acceleration, -z);
        high = bca_share(z0, acceleration, z);
    }
    const double lower = cbx__quantile_select(e->values, n, low), upper = cbx__quantile_select(e->values, n, high);
    switch (e->o.method) {
    case CBX_BOOT_BASIC:
        return (cbx_interval){ estimate, estimate + (estimate - upper), estimate + (estimate - lower), level };
    case CBX_BOOT_STUDENTISED:
        if (!(error > 0)) return (cbx_interval){ estimate, estimate, estimate, level };
        return (cbx_interval){ estimate, estimate - upper * error, estimate - lower * error, level };
    case CBX_BOOT_PERCENTILE:
    case CBX_BOOT_BCA: break;
    }
    return (cbx_interval){ estimate, lower, upper, level };
}

/* ---- one sample, two samples or pairs ---- */

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
    engine e;
    side a, b;               /* b.n = 0: one sample */
    uint32_t *index, *count; /* a row of `capacity` for each worker */
    double *drawn;           /* for fn: a row of a.n + b.n for each worker */
    size_t capacity;
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
    switch (boot->e.o.statistic) {
    case CBX_BOOT_MEAN: return s->mean + cbx__gather_sum(s->centred, index, s->n) / (double)s->n;
    case CBX_BOOT_STDDEV: return gathered_stddev(s, index);
    case CBX_BOOT_TRIMMED_MEAN: count_ranks(s, index, count); return counted_trimmed(s, count, boot->e.o.parameter);
    case CBX_BOOT_MEDIAN:
    case CBX_BOOT_QUANTILE: break;
    }
    count_ranks(s, index, count);
    /* From the nearer neighbour, as cbx_stat_quantile_sorted. */
    double at = (double)(s->n - 1) * boot->e.o.parameter, pair[2];
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
    return boot->e.o.compare == CBX_BOOT_RATIO ? a / b : a - b;
}

/* Index of side 0 or 1 of the resample; pairs share side 0's. */
static const uint32_t *draw_side(const bootstrap *boot, const uint32_t key[2], unsigned which, uint32_t *index)
{
    size_t n = which ? boot->b.n : boot->a.n;
    cbx__draw(key, boot->e.o.paired ? 0 : which, (uint32_t)n, n, index);
    return index;
}

/* Distance from the estimate in the resample's own standard errors; pairs were replaced by their
 * differences. */
static double student_of(const bootstrap *boot, const uint32_t key[2], uint32_t *work)
{
    double away = 0, variance = 0;

    for (unsigned which = 0; which < (boot->b.n ? 2u : 1u); which++) {
        const side *s = which ? &boot->b : &boot->a;
        const uint32_t *index = draw_side(boot, key, which, work);
        double mean = cbx__gather_sum(s->centred, index, s->n) / (double)s->n, sd = gathered_stddev(s, index);
        away += which ? -mean : mean;
        variance += sd * sd / (double)s->n;
    }
    if (variance > 0) return away / sqrt(variance);
    return away > 0 ? INFINITY : away < 0 ? -INFINITY : 0;
}

static bool needs_ranks(const cbx_boot_opts *o)
{
    return !o->fn && o->statistic != CBX_BOOT_MEAN && o->statistic != CBX_BOOT_STDDEV;
}

static double value_of_resample(const engine *e, const uint32_t key[2], size_t worker)
{
    const bootstrap *boot = (const bootstrap *)e;
    const size_t n = boot->a.n, m = boot->b.n;
    uint32_t *work = boot->index + worker * boot->capacity;
    uint32_t *count = boot->count + (needs_ranks(&e->o) ? worker * boot->capacity : 0);
    double b = 0;

    if (e->o.method == CBX_BOOT_STUDENTISED) return student_of(boot, key, work);
    if (e->o.fn) {
        double *x = boot->drawn + worker * (n + m), *y = m ? x + n : NULL;
        const uint32_t *index = draw_side(boot, key, 0, work);
        for (size_t i = 0; i < n; i++) x[i] = boot->a.x[index[i]];
        if (y) index = draw_side(boot, key, 1, work);
        for (size_t i = 0; y && i < m; i++) y[i] = boot->b.x[index[i]];
        return e->o.fn(x, n, y, m, e->o.user);
    }
    double a = of_resample(boot, &boot->a, draw_side(boot, key, 0, work), count);
    if (m) b = of_resample(boot, &boot->b, draw_side(boot, key, 1, work), count);
    return compared(boot, a, b);
}

/* ---- the jackknife ---- */

/* The statistic without value i. */
static double without(const bootstrap *boot, const side *s, size_t i)
{
    double n = (double)s->n, d = s->centred[i], squares = s->error2 * n * (n - 1), parameter = boot->e.o.parameter;
    size_t left = s->n - 1;

    switch (boot->e.o.statistic) {
    case CBX_BOOT_MEAN: return s->mean - d / (n - 1);
    case CBX_BOOT_STDDEV: return s->n < 3 ? 0 : sqrt(fmax(0.0, squares - d * d * n / (n - 1)) / (n - 2));
    case CBX_BOOT_TRIMMED_MEAN: {
        /* The window of the others begins with the first n - 1 - 2 off values from off on, whose
         * sum is s->window. */
        size_t out = s->rank[i], off = (size_t)(parameter * (double)left), end = left - off;
        double sum = s->window;
        if (out < end) sum += (s->sorted[end] - s->mean) - (s->sorted[out < off ? off : out] - s->mean);
        return s->mean + sum / (double)(left - 2 * off);
    }
    case CBX_BOOT_MEDIAN:
    case CBX_BOOT_QUANTILE: break;
    }
    double at = (double)(left - 1) * parameter, pair[2] = { 0 };
    size_t k = (size_t)floor(at);
    for (size_t j = 0; j < 2 && k + j < left; j++) pair[j] = s->sorted[k + j < s->rank[i] ? k + j : k + j + 1];
    return k + 1 < left ? cbx_stat_quantile_sorted(pair, 2, at - (double)k) : pair[0];
}

static double of_sample(const bootstrap *boot, const side *s)
{
    switch (boot->e.o.statistic) {
    case CBX_BOOT_MEAN: return s->mean;
    case CBX_BOOT_STDDEV: return sqrt(s->error2 * (double)s->n);
    case CBX_BOOT_TRIMMED_MEAN: {
        size_t off = (size_t)(boot->e.o.parameter * (double)s->n);
        cbx__moments m = cbx__moments_of(s->sorted + off, s->n - 2 * off);
        return cbx__mean_of(&m);
    }
    case CBX_BOOT_MEDIAN:
    case CBX_BOOT_QUANTILE: break;
    }
    return cbx_stat_quantile_sorted(s->sorted, s->n, boot->e.o.parameter);
}

/* The whole estimate without value i of side `which` (pairs: of both). */
static double estimate_without(const bootstrap *boot, unsigned which, size_t i)
{
    bool first = boot->e.o.paired || which == 0, second = boot->b.n && (boot->e.o.paired || which == 1);

    if (boot->e.o.fn) {
        /* fn without value i of one side, or of both for pairs. */
        size_t n = boot->a.n, m = boot->b.n, k = 0;
        double *x = boot->drawn, *y = m ? x + n : NULL;
        for (size_t j = 0; j < n; j++)
            if (!first || j != i) x[k++] = boot->a.x[j];
        k = 0;
        for (size_t j = 0; j < m; j++)
            if (!second || j != i) y[k++] = boot->b.x[j];
        return boot->e.o.fn(x, n - first, y, m - second, boot->e.o.user);
    }
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
static cbx_status acceleration_of(cbx_arena *arena, const bootstrap *boot, double *out, cbx_err *err)
{
    size_t max = boot->a.n > boot->b.n ? boot->a.n : boot->b.n;
    double *left_out = cbx_arena_calloc(arena, max, sizeof *left_out), squares = 0, cubes = 0;

    if (!left_out) return cbx_fail_nomem(err, "the jackknife");
    if (boot->a.n > 1) add_influence(boot, 0, left_out, &squares, &cubes);
    if (boot->b.n > 1 && !boot->e.o.paired) add_influence(boot, 1, left_out, &squares, &cubes);
    *out = squares > 0 ? cubes / (6 * pow(squares, 1.5)) : 0;
    if (isfinite(*out)) return CBX_OK;
    return cbx_fail(err, CBX_EDOM, "the statistic is not finite without one of the values");
}

/* ---- memory and the whole ---- */

static cbx_status side_open(cbx_arena *arena, const cbx_boot_opts *o, const double *x, size_t n, side *s, cbx_err *err)
{
    cbx_status st = cbx__sample_check(x, n, 1, err);

    if (!st && n > CBX__RESAMPLE_LIMIT) st = cbx_fail(err, CBX_EINVAL, "%zu values are too many to resample", n);
    if (st) return st;
    *s = (side){ .x = x, .n = n, .centred = cbx_arena_calloc(arena, n, sizeof *s->centred) };
    if (!s->centred) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu samples", n);
    cbx__moments m = cbx__moments_of(x, n);
    s->mean = cbx__mean_of(&m);
    s->error2 = m.variance / (double)n;
    for (size_t i = 0; i < n; i++) s->centred[i] = (x[i] - m.origin) - m.offset;
    if (!needs_ranks(o)) return CBX_OK;
    if (!cbx_arena_arrays(arena, CBX_ARRAY(s->sorted, n), CBX_ARRAY(s->rank, n)))
        return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu samples", n);
    memcpy(s->sorted, x, n * sizeof *x);
    cbx_stat_sort(s->sorted, n);
    for (size_t i = 0; i < n; i++) s->rank[i] = (uint32_t)cbx__count_below(s->sorted, n, x[i]);
    if (o->statistic == CBX_BOOT_TRIMMED_MEAN) {
        size_t off = (size_t)(o->parameter * (double)(n - 1));
        for (size_t k = off; k + 1 + off < n; k++) s->window += s->sorted[k] - s->mean;
    }
    return CBX_OK;
}

cbx_status cbx_stat_bootstrap(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m,
                              const cbx_boot_opts *opts, cbx_interval *out, cbx_err *err)
{
    bootstrap boot = { .e.value = value_of_resample };
    const cbx_boot_opts *o = &boot.e.o;
    double acceleration = 0;
    cbx_status st = boot_options(opts, &boot.e.o, err);

    if (!st && o->paired && m != n)
        st = cbx_fail(err, CBX_EINVAL, "pairs need samples of one size, not %zu and %zu", n, m);
    if (st) return st;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    st = side_open(&arena, o, x, n, &boot.a, err);
    if (!st && m) st = side_open(&arena, o, y, m, &boot.b, err);
    if (!st && o->method == CBX_BOOT_STUDENTISED &&
        (o->fn || o->statistic != CBX_BOOT_MEAN || o->paired || (m && o->compare != CBX_BOOT_DIFFERENCE)))
        st = cbx_fail(
            err, CBX_EINVAL,
            "a studentised interval is of a mean or a difference of means: take the differences of pairs first");
    boot.e.workers = cbx__workers(o->threads, o->resamples);
    boot.capacity = cbx__draws_capacity(n > m ? n : m);
    if (!st) {
        const size_t rows = boot.e.workers * boot.capacity;
        if (!cbx_arena_arrays(&arena, CBX_ARRAY(boot.index, rows), CBX_ARRAY(boot.count, needs_ranks(o) ? rows : 0),
                              CBX_ARRAY(boot.drawn, o->fn ? boot.e.workers * (n + m) : 0)))
            st = cbx_fail_nomem(err, "resamples");
    }
    if (!st) {
        boot.e.estimate = o->fn ? o->fn(x, n, m ? y : NULL, m, o->user)
                                : compared(&boot, of_sample(&boot, &boot.a), m ? of_sample(&boot, &boot.b) : 0);
        st = resample(&arena, &boot.e, err);
    }
    if (!st && o->method == CBX_BOOT_BCA) st = acceleration_of(&arena, &boot, &acceleration, err);
    if (!st) *out = interval_of(&boot.e, sqrt(boot.a.error2 + boot.b.error2), acceleration);
    return st;
}

/* ---- launches, then epochs within them ---- */

typedef struct nested_side {
    const cbx_nested *of;
    size_t *start; /* where each launch begins */
    size_t values, max;
} nested_side;

typedef struct nested_boot {
    engine e;
    nested_side a, b;
    uint32_t *index; /* two rows for each worker: launches drawn, epochs drawn */
    double *work;    /* two rows for each worker: epochs of a launch, launch values */
    size_t index_capacity, work_capacity;
} nested_boot;

/* Mean or median; x may be rearranged. */
static double reduced(const nested_boot *boot, double *x, size_t n)
{
    if (boot->e.o.statistic == CBX_BOOT_MEDIAN) return cbx__quantile_select(x, n, 0.5);
    cbx__moments m = cbx__moments_of(x, n);
    return cbx__mean_of(&m);
}

/* key NULL: the data as they are. */
static double nested_value(const nested_boot *boot, const nested_side *s, unsigned which, const uint32_t *key,
                           uint32_t *index, double *work)
{
    const cbx_nested *d = s->of;
    uint32_t *epochs = index + boot->index_capacity;
    double *launch_values = work + boot->work_capacity;

    if (key) cbx__draw(key, which, (uint32_t)d->groups, d->groups, index);
    for (size_t g = 0; g < d->groups; g++) {
        size_t launch = key ? index[g] : g, n = d->sizes[launch];
        const double *x = d->x + s->start[launch];
        if (key) cbx__draw(key, 2 + 2 * (uint32_t)g + which, (uint32_t)n, n, epochs);
        for (size_t i = 0; i < n; i++) work[i] = x[key ? epochs[i] : i];
        launch_values[g] = reduced(boot, work, n);
    }
    return reduced(boot, launch_values, d->groups);
}

static double nested_resample(const engine *e, const uint32_t key[2], size_t worker)
{
    const nested_boot *boot = (const nested_boot *)e;
    uint32_t *index = boot->index + 2 * worker * boot->index_capacity;
    double *work = boot->work + 2 * worker * boot->work_capacity;
    double a = nested_value(boot, &boot->a, 0, key, index, work);

    if (!boot->b.of) return a;
    double b = nested_value(boot, &boot->b, 1, key, index, work);
    return e->o.compare == CBX_BOOT_RATIO ? a / b : a - b;
}

static cbx_status nested_open(cbx_arena *arena, const cbx_nested *d, nested_side *s, cbx_err *err)
{
    if (d->groups == 0) return cbx_fail(err, CBX_EINVAL, "no launches: nothing to resample");
    if (d->groups > CBX__RESAMPLE_LIMIT / 4) return cbx_fail(err, CBX_EINVAL, "%zu launches are too many", d->groups);
    s->start = cbx_arena_calloc(arena, d->groups, sizeof *s->start);
    if (!s->start) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu launches", d->groups);
    s->of = d;
    s->max = d->groups;
    for (size_t g = 0; g < d->groups; g++) {
        if (d->sizes[g] == 0) return cbx_fail(err, CBX_EINVAL, "launch %zu has no epochs", g);
        s->start[g] = s->values;
        s->values += d->sizes[g];
        if (d->sizes[g] > s->max) s->max = d->sizes[g];
    }
    if (s->max > CBX__RESAMPLE_LIMIT) return cbx_fail(err, CBX_EINVAL, "%zu epochs are too many to resample", s->max);
    return cbx__sample_check(d->x, s->values, 1, err);
}

cbx_status cbx_stat_bootstrap_nested(cbx_ctx *ctx, const cbx_nested *x, const cbx_nested *y, const cbx_boot_opts *opts,
                                     cbx_interval *out, cbx_err *err)
{
    nested_boot boot = { .e.value = nested_resample };
    engine *e = &boot.e;
    cbx_status st = boot_options(opts, &e->o, err);

    if (st) return st;
    if (!opts) e->o.method = CBX_BOOT_PERCENTILE;
    if (e->o.statistic != CBX_BOOT_MEAN && e->o.statistic != CBX_BOOT_MEDIAN)
        return cbx_fail(err, CBX_EINVAL, "launches and epochs are reduced by mean or median only");
    if (e->o.method != CBX_BOOT_PERCENTILE && e->o.method != CBX_BOOT_BASIC)
        return cbx_fail(err, CBX_EINVAL, "a hierarchical bootstrap is percentile or basic");
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    st = nested_open(&arena, x, &boot.a, err);
    if (!st && y) st = nested_open(&arena, y, &boot.b, err);
    e->workers = cbx__workers(e->o.threads, e->o.resamples);
    boot.work_capacity = boot.a.max > boot.b.max ? boot.a.max : boot.b.max;
    boot.index_capacity = cbx__draws_capacity(boot.work_capacity);
    if (!st && !cbx_arena_arrays(&arena, CBX_ARRAY(boot.index, 2 * e->workers * boot.index_capacity),
                                 CBX_ARRAY(boot.work, 2 * e->workers * boot.work_capacity)))
        st = cbx_fail_nomem(err, "resamples");
    if (!st) {
        e->estimate = nested_resample(e, NULL, 0);
        st = resample(&arena, e, err);
    }
    if (!st) *out = interval_of(e, 0, 0);
    return st;
}
