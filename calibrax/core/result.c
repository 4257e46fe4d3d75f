/* Results: making, sharing, JSON and files, and the way to a run. */
#include "calibrax/core/result.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/list.h"
#include "calibrax/core/run_internal.h"

struct cbx_result {
    atomic_size_t refs;
    cbx_arena arena;
    cbx_result_content content;
    cbx_timing_sample timing;
    cbx_resource_summary resources;
    cbx_json *metadata, *config;
    cbx_json *raw; /* the object it was read from, for members that are unknown here; NULL: made here */
};

/* --- making --- */

static cbx_status copy_timing(cbx_result *r, const cbx_timing_sample *from, cbx_err *err)
{
    double *times;

    if (!from) return CBX_OK;
    times = cbx_arena_calloc(&r->arena, from->nbatch_times, sizeof *times);
    if (!times) return cbx_fail_nomem(err, NULL);
    for (size_t i = 0; i < from->nbatch_times; i++) times[i] = from->per_batch_times[i];
    r->timing = *from;
    r->timing.per_batch_times = times;
    r->content.timing = &r->timing;
    return CBX_OK;
}

static cbx_status copy_object(const cbx_json *from, const char *name, cbx_json **slot, cbx_err *err)
{
    if (from && cbx_json_typeof(from) != CBX_JSON_OBJECT)
        return cbx_fail(err, CBX_EINVAL, "'%s' of a result is no object", name);
    cbx_status st = from ? cbx__record_check_json(from, name, err) : CBX_OK;
    if (st) return st;
    *slot = from ? cbx_json_copy(from) : cbx_json_new_object();
    return *slot ? CBX_OK : cbx_fail_nomem(err, NULL);
}

cbx_status cbx_result_create(cbx_ctx *ctx, const cbx_result_content *content, cbx_result **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_result *r = cbx_mem_zalloc(al, sizeof *r);
    cbx_status st;

    if (!r) return cbx_fail_nomem(err, NULL);
    atomic_init(&r->refs, 1);
    cbx_arena_init(&r->arena, al);
    cbx_result_content *to = &r->content;
    st = cbx__record_text(&r->arena, content->name, "name", &to->name, err);
    to->ntags = content->ntags;
    to->nmetrics = content->nmetrics;
    to->timestamp = content->timestamp != 0 ? content->timestamp : (double)cbx_time_now_us() / 1e6;
    if (!st) st = cbx__record_text(&r->arena, content->domain ? content->domain : "", "domain", &to->domain, err);
    if (!st) st = cbx__record_tags(&r->arena, content->tags, content->ntags, &to->tags, err);
    if (!st) st = cbx__record_metrics(&r->arena, content->metrics, content->nmetrics, &to->metrics, err);
    if (!st) st = copy_timing(r, content->timing, err);
    if (!st && content->resources) {
        r->resources = *content->resources;
        to->resources = &r->resources;
    }
    if (!st) st = copy_object(content->metadata, "metadata", &r->metadata, err);
    if (!st) st = copy_object(content->config, "config", &r->config, err);
    to->metadata = r->metadata;
    to->config = r->config;
    if (st)
        cbx_result_free(r);
    else
        *out = r;
    return st;
}

cbx_result *cbx_result_ref(cbx_result *result)
{
    atomic_fetch_add_explicit(&result->refs, 1, memory_order_relaxed);
    return result;
}

void cbx_result_free(cbx_result *result)
{
    cbx_allocator al;

    if (!result || atomic_fetch_sub_explicit(&result->refs, 1, memory_order_acq_rel) != 1) return;
    al = result->arena.al;
    cbx_json_unref(result->metadata);
    cbx_json_unref(result->config);
    cbx_json_unref(result->raw);
    cbx_arena_clear(&result->arena);
    cbx_mem_free(&al, result, sizeof *result);
}

const cbx_result_content *cbx_result_get(const cbx_result *result) { return &result->content; }

/* --- writing --- */

/* Members of timing and of resources: kind, and name and unit of the metric that a run gets; NULL: none. */
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

static void put_members(cbx_json *v, const member *m, size_t n, const void *record)
{
    for (size_t i = 0; i < n; i++, m++) {
        const void *at = (const char *)record + m->offset;
        const cbx_timing_sample *timing = record; /* of a list */
        switch (m->kind) {
        case OPTIONAL:
            if (isnan(*(const double *)at)) break; /* fall through */
        case NUMBER: cbx_json_set_double(v, m->key, *(const double *)at); break;
        case NULLABLE: cbx__set_maybe_double(v, m->key, *(const double *)at); break;
        case COUNT:
        case OPTIONAL_COUNT: cbx_json_set_int(v, m->key, (int64_t) * (const uint64_t *)at); break;
        case LIST: cbx_json_set_doubles(v, m->key, timing->per_batch_times, timing->nbatch_times); break;
        }
    }
}

static const char *const known[] = { "name",    "domain",   "tags",   "timing",    "resources",
                                     "metrics", "metadata", "config", "timestamp", NULL };

cbx_json *cbx_result_to_json(const cbx_result *result)
{
    const cbx_result_content *c = &result->content;
    cbx_json *v = cbx_json_new_object();

    cbx_json_set_string(v, "name", c->name);
    cbx_json_set_string(v, "domain", c->domain);
    cbx__set_tags(v, c->tags, c->ntags);
    cbx_json_set_null(v, "timing");
    if (c->timing) put_members(cbx_json_set_object(v, "timing"), timing_members, CBX_LEN(timing_members), c->timing);
    cbx_json_set_null(v, "resources");
    if (c->resources)
        put_members(cbx_json_set_object(v, "resources"), resource_members, CBX_LEN(resource_members), c->resources);
    cbx__set_metrics(v, c->metrics, c->nmetrics, result->raw);
    cbx__set_copy(v, "metadata", c->metadata);
    cbx__set_copy(v, "config", c->config);
    cbx_json_set_double(v, "timestamp", c->timestamp);
    cbx__keep_unknown(v, result->raw, known);
    return cbx_json_finish(v);
}

cbx_status cbx_result_write(cbx_ctx *ctx, const cbx_result *result, const char *path, cbx_err *err)
{
    cbx_text text;
    cbx_json *v = cbx_result_to_json(result);
    cbx_status st;

    if (!v) return cbx_fail_nomem(err, NULL);
    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    cbx_json_write(v, CBX_JSON_INDENT2 | CBX_JSON_ASCII, &text);
    cbx_json_unref(v);
    st = cbx_text_check(&text, err);
    if (!st) st = cbx_dir_create_parent(ctx, path, err);
    if (!st) st = cbx_file_write_atomic(ctx, path, cbx_text_str(&text), text.len, err);
    cbx_text_clear(&text);
    return st;
}

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

static cbx_status read_content(cbx_arena *arena, const cbx_json *v, cbx_result_content *c, cbx_timing_sample *t,
                               cbx_resource_summary *s, cbx_err *err)
{
    cbx_json *metadata = NULL, *config = NULL;
    cbx_status st;

    if (cbx_json_typeof(v) != CBX_JSON_OBJECT) return cbx_fail(err, CBX_EFORMAT, "expected an object");
    st = cbx_json_need_string(v, "name", "", &c->name, err);
    if (!st && cbx_json_has(v, "domain")) st = cbx_json_need_string(v, "domain", "", &c->domain, err);
    if (!st) st = cbx__read_tags(arena, v, "", &c->tags, &c->ntags, err);
    if (!st && cbx_json_get(v, "timing")) {
        st = read_members(arena, v, "timing", timing_members, CBX_LEN(timing_members), t, err);
        c->timing = t;
    }
    if (!st && cbx_json_get(v, "resources")) {
        st = read_members(arena, v, "resources", resource_members, CBX_LEN(resource_members), s, err);
        c->resources = s;
    }
    if (!st) st = cbx__read_metrics(arena, v, "", NULL, &c->metrics, &c->nmetrics, err);
    if (!st) st = cbx__read_maybe_object(v, "metadata", "", &metadata, err);
    if (!st) st = cbx__read_maybe_object(v, "config", "", &config, err);
    if (!st) st = cbx_json_need_double(v, "timestamp", "", &c->timestamp, err);
    c->metadata = metadata;
    c->config = config;
    return st;
}

cbx_status cbx_result_from_json(cbx_ctx *ctx, const cbx_json *json, const char *what, cbx_result **out, cbx_err *err)
{
    cbx_result_content content = { 0 };
    cbx_timing_sample timing = { 0 };
    cbx_resource_summary resources = { 0 };
    cbx_err why = CBX_ERR_INIT;
    cbx_result *r = NULL;
    cbx_arena arena;
    cbx_status st;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    st = read_content(&arena, json, &content, &timing, &resources, &why);
    if (!st) st = cbx_result_create(ctx, &content, &r, &why);
    cbx_arena_clear(&arena);
    if (!st) {
        r->content.timestamp = content.timestamp; /* 0 is a time, too, in a file */
        r->raw = cbx_json_copy(json);
        if (!r->raw) st = cbx_fail_nomem(&why, NULL);
    }
    if (!st) {
        *out = r;
        return CBX_OK;
    }
    cbx_result_free(r);
    if (st == CBX_EINVAL) st = CBX_EFORMAT;
    return cbx_fail(err, st, "'%s': %s", what, why.message);
}

cbx_status cbx_result_read(cbx_ctx *ctx, const char *path, cbx_result **out, cbx_err *err)
{
    cbx_json *v = NULL;
    cbx_status st = cbx_json_read(ctx, path, &v, err);

    if (!st) st = cbx_result_from_json(ctx, v, path, out, err);
    cbx_json_unref(v);
    return st;
}

/* --- to a run: timing and resources become metrics with definitions, the free-form parts go to metadata.results --- */

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

static cbx_status add_derived(conversion *c, const cbx_metric_def *def, cbx_metric m, cbx_err *err)
{
    for (size_t i = 0; i < c->nmetrics; i++)
        if (strcmp(c->metrics[i].name, def->name) == 0) return CBX_OK;
    if (isnan(m.value)) return CBX_OK;
    c->metrics[c->nmetrics++] = (cbx_named_metric){ def->name, m };
    return cbx_run_builder_add_metric_def(c->b, def, err);
}

/* Members that are NaN are left out. */
static cbx_status add_members(conversion *c, const member *m, size_t n, const void *record, const char *group,
                              cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (; record && n && !st; n--, m++) {
        const cbx_metric_def def = {
            .name = m->metric, .unit = m->unit, .direction = CBX_DIRECTION_LOWER, .group = group
        };
        const void *at = (const char *)record + m->offset;
        if (m->metric) st = add_derived(c, &def, cbx_metric_of(*(const double *)at), err);
    }
    return st;
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
    return add_derived(c, &batch_time, m, err);
}

cbx_status cbx_run_builder_add_result(cbx_run_builder *b, const cbx_result *result, cbx_err *err)
{
    const cbx_result_content *r = cbx_result_get(result);
    conversion c = { .b = b };
    cbx_point point = { .name = r->name, .scenario = r->domain, .tags = r->tags, .ntags = r->ntags };
    cbx_arena arena;
    cbx_status st;

    if (!b->run) return cbx_fail(err, CBX_EINVAL, "the run was taken out of its builder already");
    cbx_arena_init(&arena, &b->al);
    c.metrics = cbx_arena_calloc(&arena, r->nmetrics + CBX_LEN(timing_members) + CBX_LEN(resource_members) + 1,
                                 sizeof *c.metrics);
    st = c.metrics ? CBX_OK : cbx_fail_nomem(err, NULL);
    if (!st && r->nmetrics) memcpy(c.metrics, r->metrics, r->nmetrics * sizeof *c.metrics);
    c.nmetrics = r->nmetrics;
    if (!st) st = add_batches(&c, &arena, r->timing, err);
    if (!st) st = add_members(&c, timing_members, CBX_LEN(timing_members), r->timing, "timing", err);
    if (!st) st = add_members(&c, resource_members, CBX_LEN(resource_members), r->resources, "resources", err);
    point.metrics = c.metrics;
    point.nmetrics = c.nmetrics;
    /* metadata.results of a run under construction with one entry more. */
    if (!st) {
        const cbx_json *old = cbx_json_get(b->run->metadata, "results");
        cbx_json *list = old && cbx_json_typeof(old) == CBX_JSON_ARRAY ? cbx_json_copy(old) : cbx_json_new_array();
        cbx_json *entry = cbx_json_push_object(list);
        cbx_json_set_string(entry, "name", r->name);
        cbx_json_set_double(entry, "timestamp", r->timestamp);
        cbx__set_copy(entry, "metadata", r->metadata);
        cbx__set_copy(entry, "config", r->config);
        st = cbx_run_builder_set_metadata(b, "results", cbx_json_finish(list), err);
    }
    if (!st) st = cbx_run_builder_add_point(b, &point, err);
    cbx_arena_clear(&arena);
    return st;
}
