/* Results: read from JSON, and the way to a run. */
#include "calibrax/core/result.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/list.h"
#include "calibrax/core/run_internal.h"

/* Members of timing and of resources: kind, and name and unit of the metric that a run gets; NULL:
 * none. */
typedef enum member_kind { NUMBER, NULLABLE, OPTIONAL, COUNT, OPTIONAL_COUNT, LIST } member_kind;

typedef struct member {
    const char *key;
    size_t offset;
    member_kind kind;
    const char *metric, *unit;
} member;

#define TIMING(name, ...)                                                                                              \
    {                                                                                                                  \
#name, offsetof(cbx_timing_sample, name), __VA_ARGS__                                                          \
    }
#define RESOURCE(name, ...)                                                                                            \
    {                                                                                                                  \
#name, offsetof(cbx_resource_summary, name), __VA_ARGS__                                                       \
    }

static const member timing_members[] = {
    TIMING(wall_clock_sec, NUMBER, "wall_clock", "s"),
    TIMING(per_batch_times, LIST),
    TIMING(first_batch_time, NUMBER, "first_batch_time", "s"),
    TIMING(num_batches, COUNT),
    TIMING(num_elements, COUNT),
    TIMING(warmup_batches_excluded, OPTIONAL_COUNT),
    TIMING(compilation_time_sec, OPTIONAL, "compilation_time", "s"),
};
static const member resource_members[] = {
    RESOURCE(peak_rss_mb, NUMBER, "peak_rss", "MB"),
    RESOURCE(mean_rss_mb, NUMBER),
    RESOURCE(peak_gpu_mem_mb, NULLABLE, "peak_gpu_mem", "MB"),
    RESOURCE(mean_gpu_util, NULLABLE),
    RESOURCE(memory_growth_mb, NUMBER, "memory_growth", "MB"),
    RESOURCE(num_samples, COUNT),
    RESOURCE(duration_sec, NUMBER),
    RESOURCE(mean_gpu_clock_mhz, OPTIONAL),
    RESOURCE(mean_gpu_power_w, OPTIONAL, "mean_gpu_power", "W"),
};

/* --- reading --- */

static cbx_status read_members(cbx_arena *arena, const cbx_json *content, const char *path, const member *m, size_t n,
                               void *record, cbx_err *err)
{
    cbx_timing_sample *timing = record; /* of a list */
    cbx_json *v = NULL, *list;
    cbx_status st = cbx_json_need_object(content, path, "", &v, err);

    for (; !st && n; n--, m++) {
        void *at = (char *)record + m->offset;
        int64_t count = 0;
        switch (m->kind) {
        case NUMBER: st = cbx_json_need_double(v, m->key, path, at, err); break;
        case NULLABLE:
        case OPTIONAL:
            *(double *)at = NAN;
            st = cbx__read_maybe_double(v, m->key, path, at, err);
            break;
        case OPTIONAL_COUNT:
            if (!cbx_json_has(v, m->key)) break; /* fall through */
        case COUNT:
            st = cbx_json_need_int(v, m->key, path, &count, err);
            if (!st && count < 0)
                st = cbx_fail(err, CBX_EFORMAT, "'%s.%s': expected a count, found %lld", path, m->key,
                              (long long)count);
            *(uint64_t *)at = (uint64_t)count;
            break;
        case LIST:
            st = cbx_json_need_array(v, m->key, path, &list, err);
            if (!st)
                st = cbx__read_samples(arena, v, m->key, path, &timing->per_batch_times, &timing->nbatch_times, err);
            break;
        }
    }
    return st;
}

cbx_status cbx_result_from_json(const cbx_json *v, const char *what, cbx_arena *arena, cbx_result *out, cbx_err *err)
{
    cbx_timing_sample *timing = cbx_arena_alloc(arena, sizeof *timing);
    cbx_resource_summary *resources = cbx_arena_alloc(arena, sizeof *resources);
    cbx_json *metadata = NULL, *config = NULL;
    cbx_err why = CBX_ERR_INIT;
    cbx_result r = { 0 };
    cbx_status st = timing && resources ? CBX_OK : cbx_fail_nomem(&why, NULL);

    if (!st && cbx_json_typeof(v) != CBX_JSON_OBJECT) st = cbx_fail(&why, CBX_EFORMAT, "expected an object");
    if (!st) st = cbx_json_need_string(v, "name", "", &r.name, &why);
    if (!st && cbx_json_has(v, "domain")) st = cbx_json_need_string(v, "domain", "", &r.domain, &why);
    if (!st) st = cbx__read_tags(arena, v, "", &r.tags, &r.ntags, &why);
    if (!st && cbx_json_get(v, "timing")) {
        st = read_members(arena, v, "timing", timing_members, CBX_LEN(timing_members), timing, &why);
        r.timing = timing;
    }
    if (!st && cbx_json_get(v, "resources")) {
        st = read_members(arena, v, "resources", resource_members, CBX_LEN(resource_members), resources, &why);
        r.resources = resources;
    }
    if (!st) st = cbx__read_metrics(arena, v, "", NULL, &r.metrics, &r.nmetrics, &why);
    if (!st) st = cbx__read_maybe_object(v, "metadata", "", &metadata, &why);
    if (!st) st = cbx__read_maybe_object(v, "config", "", &config, &why);
    if (!st) st = cbx_json_need_double(v, "timestamp", "", &r.timestamp, &why);
    if (st) return cbx__run_refuse(what, st, &why, err);
    r.metadata = metadata;
    r.config = config;
    *out = r;
    return CBX_OK;
}

/* --- to a run: timing and resources become metrics with definitions, the free-form parts go to
 * metadata.results --- */

#define DERIVED_MAX (CBX_LEN(timing_members) + CBX_LEN(resource_members) + 1)

static const cbx_metric_def batch_time = { .name = "batch_time",
                                           .unit = "s",
                                           .direction = CBX_DIRECTION_LOWER,
                                           .group = "timing",
                                           .priority = CBX_PRIORITY_PRIMARY,
                                           .description = "median over the batches" };

typedef struct conversion {
    cbx_named_metric *metrics; /* of the point */
    size_t nmetrics;
    cbx_metric_def defs[DERIVED_MAX]; /* of those that are derived */
    size_t ndefs;
} conversion;

static void add_derived(conversion *c, cbx_metric_def def, cbx_metric m)
{
    if (isnan(m.value)) return;
    for (size_t i = 0; i < c->nmetrics; i++)
        if (strcmp(c->metrics[i].name, def.name) == 0) return;
    c->metrics[c->nmetrics++] = (cbx_named_metric){ def.name, m };
    c->defs[c->ndefs++] = def;
}

/* Members that are NaN are left out. */
static void add_members(conversion *c, const member *m, size_t n, const void *record, const char *group)
{
    for (; record && n; n--, m++) {
        const double *at = (const void *)((const char *)record + m->offset);
        if (m->metric)
            add_derived(c,
                        (cbx_metric_def){
                            .name = m->metric, .unit = m->unit, .direction = CBX_DIRECTION_LOWER, .group = group },
                        cbx_metric_of(*at));
    }
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
    qsort(sorted, n, sizeof *sorted, cbx_compare_doubles);
    m.value = 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
    m.samples = t->per_batch_times;
    m.nsamples = n;
    add_derived(c, batch_time, m);
    return CBX_OK;
}

static cbx_status check_object(const cbx_json *v, const char *name, cbx_err *err)
{
    if (v && cbx_json_typeof(v) != CBX_JSON_OBJECT)
        return cbx_fail(err, CBX_EINVAL, "'%s' of a result is not an object", name);
    return v ? cbx__record_check_json(v, name, err) : CBX_OK;
}

static cbx_json *copy_of(const cbx_json *v) { return v ? cbx_json_copy(v) : cbx_json_new_object(); }

cbx_status cbx_run_builder_add_result(cbx_run_builder *b, const cbx_result *r, cbx_err *err)
{
    conversion c = { .nmetrics = r->nmetrics };
    cbx_point point = { .name = r->name, .scenario = r->domain ? r->domain : "", .tags = r->tags, .ntags = r->ntags };
    CBX_SCOPED(cbx_arena, arena, &b->al);
    cbx_status st = check_object(r->metadata, "metadata", err);

    if (!st) st = check_object(r->config, "config", err);
    if (!st && !b->run) st = cbx_fail(err, CBX_EINVAL, "the run was already taken from its builder");
    if (st) return st;
    c.metrics = cbx_arena_calloc(&arena, r->nmetrics + DERIVED_MAX, sizeof *c.metrics);
    if (!c.metrics) return cbx_fail_nomem(err, NULL);
    if (r->nmetrics) memcpy(c.metrics, r->metrics, r->nmetrics * sizeof *c.metrics);
    st = add_batches(&c, &arena, r->timing, err);
    add_members(&c, timing_members, CBX_LEN(timing_members), r->timing, "timing");
    add_members(&c, resource_members, CBX_LEN(resource_members), r->resources, "resources");
    point.metrics = c.metrics;
    point.nmetrics = c.nmetrics;
    if (!st) st = cbx_run_builder_add_point(b, &point, err);
    for (size_t i = 0; !st && i < c.ndefs; i++) st = cbx_run_builder_add_metric_def(b, &c.defs[i], err);
    if (st) return st;
    /* metadata.results of a run under construction with one entry more. */
    const cbx_json *old = cbx_json_get(b->run->metadata, "results");
    cbx_json *list = old && cbx_json_typeof(old) == CBX_JSON_ARRAY ? cbx_json_copy(old) : cbx_json_new_array();

    cbx_json_push(list,
                  cbx_json_object(J_TEXT("name", r->name), J_NUMBER("timestamp", r->timestamp),
                                  J_JSON("metadata", copy_of(r->metadata)), J_JSON("config", copy_of(r->config))));
    return cbx_run_builder_set_metadata(b, "results", cbx_json_finish(list), err);
}
