/* From results to a run: timing and resources become metrics with definitions, the free-form parts go to metadata.results. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/core/record.h"
#include "calibrax/core/result.h"
#include "calibrax/core/run_parts.h"

#define DERIVED_MOST 8

/* Members of timing and resources as metrics; NaN: left out. */
static const struct derived {
    cbx_metric_def def;
    size_t offset;
} timing_members[] = {
    { { .name = "wall_clock", .unit = "s", .direction = CBX_DIRECTION_LOWER, .group = "timing" }, offsetof(cbx_timing_sample, wall_clock_sec) },
    { { .name = "first_batch_time", .unit = "s", .direction = CBX_DIRECTION_LOWER, .group = "timing" },
      offsetof(cbx_timing_sample, first_batch_time) },
    { { .name = "compilation_time", .unit = "s", .direction = CBX_DIRECTION_LOWER, .group = "timing" },
      offsetof(cbx_timing_sample, compilation_time_sec) },
}, resource_members[] = {
    { { .name = "peak_rss", .unit = "MB", .direction = CBX_DIRECTION_LOWER, .group = "resources" },
      offsetof(cbx_resource_summary, peak_rss_mb) },
    { { .name = "memory_growth", .unit = "MB", .direction = CBX_DIRECTION_LOWER, .group = "resources" },
      offsetof(cbx_resource_summary, memory_growth_mb) },
    { { .name = "peak_gpu_mem", .unit = "MB", .direction = CBX_DIRECTION_LOWER, .group = "resources" },
      offsetof(cbx_resource_summary, peak_gpu_mem_mb) },
    { { .name = "mean_gpu_power", .unit = "W", .direction = CBX_DIRECTION_LOWER, .group = "resources" },
      offsetof(cbx_resource_summary, mean_gpu_power_w) },
};
static const cbx_metric_def batch_time = { .name = "batch_time",
                                           .unit = "s",
                                           .direction = CBX_DIRECTION_LOWER,
                                           .group = "timing",
                                           .priority = CBX_PRIORITY_PRIMARY,
                                           .description = "median over the batches" };

typedef struct conversion {
    cbx_run_builder *b;
    cbx_named_metric *metrics;
    size_t nmetrics;
} conversion;

static bool has_metric(const conversion *c, const char *name)
{
    for (size_t i = 0; i < c->nmetrics; i++) {
        if (strcmp(c->metrics[i].name, name) == 0) return true;
    }
    return false;
}

static cbx_status add_derived(conversion *c, const cbx_metric_def *def, cbx_metric m, cbx_err *err)
{
    if (isnan(m.value) || has_metric(c, def->name)) return CBX_OK;
    c->metrics[c->nmetrics++] = (cbx_named_metric){ def->name, m };
    return cbx_run_builder_add_metric_def(c->b, def, err);
}

static cbx_status add_members(conversion *c, const struct derived *members, size_t n, const void *record, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t i = 0; record && i < n && !st; i++) {
        double v = *(const double *)(const void *)((const char *)record + members[i].offset);
        st = add_derived(c, &members[i].def, cbx_metric_of(v), err);
    }
    return st;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static cbx_status add_batches(conversion *c, cbx_arena *arena, const cbx_timing_sample *t, cbx_err *err)
{
    size_t n = t ? t->nbatch_times : 0;
    double *sorted;
    cbx_metric m = cbx_metric_of(NAN);

    if (n == 0) return CBX_OK;
    sorted = cbx_arena_calloc(arena, n, sizeof *sorted);
    if (!sorted) return cbx_fail_nomem(err, NULL);
    memcpy(sorted, t->per_batch_times, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    m.value = 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
    m.samples = t->per_batch_times;
    m.nsamples = n;
    return add_derived(c, &batch_time, m, err);
}

/* metadata.results of a run under construction with one entry more. */
static cbx_status add_metadata(cbx_run_builder *b, const cbx_result_content *r, cbx_err *err)
{
    const cbx_json *old = cbx_json_get(cbx__run_builder_metadata(b), "results");
    cbx_json *list = old && cbx_json_typeof(old) == CBX_JSON_ARRAY ? cbx_json_copy(old) : cbx_json_new_array();
    cbx_json *entry = cbx_json_push_object(list);

    cbx_json_set_string(entry, "name", r->name);
    cbx_json_set_double(entry, "timestamp", r->timestamp);
    cbx__set_copy(entry, "metadata", r->metadata);
    cbx__set_copy(entry, "config", r->config);
    return cbx_run_builder_set_metadata(b, "results", cbx_json_finish(list), err);
}

cbx_status cbx_run_builder_add_result(cbx_run_builder *b, const cbx_result *result, cbx_err *err)
{
    const cbx_result_content *r = cbx_result_get(result);
    conversion c = { .b = b };
    cbx_point point = { .name = r->name, .scenario = r->domain, .tags = r->tags, .ntags = r->ntags };
    cbx_arena arena;
    cbx_status st;

    if (!cbx__run_builder_metadata(b)) return cbx_fail(err, CBX_EINVAL, "the run was taken out of its builder already");
    cbx_arena_init(&arena, cbx__run_builder_allocator(b));
    c.metrics = cbx_arena_calloc(&arena, r->nmetrics + DERIVED_MOST, sizeof *c.metrics);
    st = c.metrics ? CBX_OK : cbx_fail_nomem(err, NULL);
    if (!st && r->nmetrics) memcpy(c.metrics, r->metrics, r->nmetrics * sizeof *c.metrics);
    c.nmetrics = r->nmetrics;
    if (!st) st = add_batches(&c, &arena, r->timing, err);
    if (!st) st = add_members(&c, timing_members, CBX_LEN(timing_members), r->timing, err);
    if (!st) st = add_members(&c, resource_members, CBX_LEN(resource_members), r->resources, err);
    point.metrics = c.metrics;
    point.nmetrics = c.nmetrics;
    if (!st) st = add_metadata(b, r, err);
    if (!st) st = cbx_run_builder_add_point(b, &point, err);
    cbx_arena_clear(&arena);
    return st;
}
_Static_assert(CBX_LEN(timing_members) + CBX_LEN(resource_members) + 1 <= DERIVED_MOST,
               "room for every derived metric");
