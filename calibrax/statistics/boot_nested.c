/* Hierarchical bootstrap: launches, then epochs within them. */
#include <math.h>
#include <string.h>

#include "calibrax/base/parallel.h"
#include "calibrax/base/rng.h"
#include "calibrax/statistics/boot_interval.h"
#include "calibrax/statistics/resample.h"
#include "calibrax/statistics/sample.h"

typedef struct nested_side {
    const cbx_nested *of;
    size_t *start; /* where each launch begins */
    size_t values, max;
} nested_side;

typedef struct nested_boot {
    cbx_boot_opts o;
    nested_side a, b;
    double *results;
    uint32_t *index; /* two rows for each worker: launches drawn, epochs drawn */
    double *work;    /* two rows for each worker: epochs of a launch, launch values */
    size_t index_capacity, work_capacity, workers;
} nested_boot;

/* Mean or median; x may be rearranged. */
static double reduced(const nested_boot *boot, double *x, size_t n)
{
    if (boot->o.statistic == CBX_BOOT_MEDIAN) return cbx__quantile_select(x, n, 0.5);
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

static double nested_estimate(const nested_boot *boot, const uint32_t *key, uint32_t *index, double *work)
{
    double a = nested_value(boot, &boot->a, 0, key, index, work);

    if (!boot->b.of) return a;
    double b = nested_value(boot, &boot->b, 1, key, index, work);
    return boot->o.compare == CBX_BOOT_RATIO ? a / b : a - b;
}

static void run_nested(void *user, size_t worker, size_t begin, size_t end)
{
    const nested_boot *boot = user;
    uint32_t *index = boot->index + 2 * worker * boot->index_capacity;
    double *work = boot->work + 2 * worker * boot->work_capacity;

    for (size_t b = begin; b < end; b++) {
        cbx_rng stream = cbx_rng_make(boot->o.seed, b);
        boot->results[b] = nested_estimate(boot, stream.key, index, work);
    }
}

static cbx_status nested_open(cbx_ctx *ctx, const cbx_nested *d, nested_side *s, cbx_err *err)
{
    if (d->groups == 0) return cbx_fail(err, CBX_EINVAL, "no launches: nothing to resample");
    if (d->groups > CBX__RESAMPLE_LIMIT / 4) return cbx_fail(err, CBX_EINVAL, "%zu launches are too many", d->groups);
    s->start = cbx_mem_calloc(cbx_ctx_allocator(ctx), d->groups, sizeof *s->start);
    if (!s->start) return cbx_fail(err, CBX_ENOMEM, "no memory for %zu launches", d->groups);
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

static cbx_status nested_rooms(cbx_ctx *ctx, nested_boot *boot, cbx_err *err)
{
    size_t max = boot->a.max > boot->b.max ? boot->a.max : boot->b.max;

    boot->workers = cbx__workers(boot->o.threads, boot->o.resamples);
    boot->index_capacity = cbx__draws_capacity(max);
    boot->work_capacity = max;
    boot->index = cbx_mem_calloc(cbx_ctx_allocator(ctx), 2 * boot->workers * boot->index_capacity, sizeof *boot->index);
    if (!boot->index) return cbx_fail(err, CBX_ENOMEM, "no memory for %zu indices", boot->index_capacity);
    cbx_status st = cbx__doubles(ctx, 2 * boot->workers * boot->work_capacity, &boot->work, err);
    return st ? st : cbx__doubles(ctx, boot->o.resamples, &boot->results, err);
}

static void nested_close(cbx_ctx *ctx, nested_boot *boot)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);

    if (boot->a.start) cbx_mem_free(al, boot->a.start, boot->a.of->groups * sizeof(size_t));
    if (boot->b.start) cbx_mem_free(al, boot->b.start, boot->b.of->groups * sizeof(size_t));
    cbx_mem_free(al, boot->index, 2 * boot->workers * boot->index_capacity * sizeof *boot->index);
    cbx__doubles_free(ctx, boot->work, 2 * boot->workers * boot->work_capacity);
    cbx__doubles_free(ctx, boot->results, boot->o.resamples);
}

static cbx_status nested_options(const cbx_boot_opts *opts, cbx_boot_opts *o, cbx_err *err)
{
    cbx_status st = cbx__boot_options(opts, o, err);

    if (st) return st;
    if (!opts) o->method = CBX_BOOT_PERCENTILE;
    if (o->statistic != CBX_BOOT_MEAN && o->statistic != CBX_BOOT_MEDIAN)
        return cbx_fail(err, CBX_EINVAL, "launches and epochs are reduced by mean or median only");
    if (o->method != CBX_BOOT_PERCENTILE && o->method != CBX_BOOT_BASIC)
        return cbx_fail(err, CBX_EINVAL, "a hierarchical bootstrap is percentile or basic");
    return CBX_OK;
}

cbx_status cbx_stat_bootstrap_nested(cbx_ctx *ctx, const cbx_nested *x, const cbx_nested *y, const cbx_boot_opts *opts,
                                     cbx_interval *out, cbx_err *err)
{
    nested_boot boot = { 0 };
    double estimate = 0;
    cbx_status st = nested_options(opts, &boot.o, err);

    if (st) return st;
    st = nested_open(ctx, x, &boot.a, err);
    if (!st && y) st = nested_open(ctx, y, &boot.b, err);
    if (!st) st = nested_rooms(ctx, &boot, err);
    if (st) goto done;
    estimate = nested_estimate(&boot, NULL, boot.index, boot.work);
    cbx__parallel(boot.workers, boot.o.resamples, run_nested, &boot);
    for (size_t i = 0; i < boot.o.resamples && !st; i++)
        if (!isfinite(boot.results[i]) || !isfinite(estimate))
            st = cbx_fail(err, CBX_EDOM, "the ratio of resample %zu is not finite", i);
    if (st) goto done;
    if (boot.o.distribution) memcpy(boot.o.distribution, boot.results, boot.o.resamples * sizeof(double));
    *out = boot.o.method == CBX_BOOT_BASIC
               ? cbx__boot_basic(boot.results, boot.o.resamples, estimate, boot.o.level)
               : cbx__boot_percentile(boot.results, boot.o.resamples, estimate, boot.o.level);
done:
    nested_close(ctx, &boot);
    return st;
}
