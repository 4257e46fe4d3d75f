/*
 * From launches to a point.  Metrics stand in the order of the first launch that has them; a value of several launches is their median.
 */
#include "calibrax/perf/sweep/merge.h"

#include <math.h>
#include <string.h>

#include "calibrax/statistics/estimate.h"

typedef struct merging {
    cbx__session *s;
    const cbx__gathered *g;
    cbx_run_builder *b;
    cbx_named_metric *metrics;
    const char **partial;
    size_t count, room, npartial;
} merging;

static cbx_status no_memory(const merging *m, cbx_err *err)
{
    return cbx_fail(err, CBX_ENOMEM, "out of memory for the launches of '%s'", m->g->name);
}

/* --- the process of a launch --- */

#define PROCESS_METRICS 6

/* A command's time from start to end is what is measured; that of a worker, which also holds the start of an interpreter and what
 * the worker does beside the benchmark, has a name of its own. */
static const cbx_metric_def process_defs[PROCESS_METRICS] = {
    { "wall_time", "s", CBX_DIRECTION_LOWER, "process", CBX_PRIORITY_PRIMARY, "of a command, from start to end" },
    { "launch_seconds", "s", CBX_DIRECTION_INFO, "process", CBX_PRIORITY_SECONDARY, "of a worker, from start to end" },
    { "cpu_user", "s", CBX_DIRECTION_INFO, "process", CBX_PRIORITY_SECONDARY, "of all processes" },
    { "cpu_system", "s", CBX_DIRECTION_INFO, "process", CBX_PRIORITY_SECONDARY, "of all processes" },
    { "max_rss", "MiB", CBX_DIRECTION_LOWER, "process", CBX_PRIORITY_SECONDARY, "maximum of a single process" },
    { "peak_rss", "MiB", CBX_DIRECTION_INFO, "process", CBX_PRIORITY_SECONDARY, "maximum over all processes together" },
};

/* NaN: unknown, or no metric of this kind of launch. */
static double process_value(const merging *m, const cbx__process_use *p, size_t i)
{
    bool command = m->s->source->kind == CBX_BENCHMARK_COMMAND;
    const double v[PROCESS_METRICS] = { command ? p->wall_s : NAN,
                                        command ? NAN : p->wall_s,
                                        p->cpu_user_s,
                                        p->cpu_system_s,
                                        p->max_rss_mb,
                                        p->peak_rss_mb };
    return v[i];
}

/* --- values over launches --- */

static const cbx_point *point_of(const cbx__launch *l) { return cbx_run_point(l->run, 0); }

static bool has(const merging *m, const char *name)
{
    for (size_t i = 0; i < m->count; i++) {
        if (strcmp(m->metrics[i].name, name) == 0) return true;
    }
    return false;
}

/* A value that is not finite in one launch makes the whole no number: a target or a gate then sees it. */
static cbx_status over_launches(merging *m, const double *samples, size_t n, cbx_metric *out, cbx_err *err)
{
    cbx_interval i;
    cbx_status st;

    *out = cbx_metric_of(NAN);
    out->samples = samples;
    out->nsamples = n;
    for (size_t k = 0; k < n; k++) {
        if (!isfinite(samples[k])) return CBX_OK;
    }
    st = cbx_stat_median_interval(m->s->ctx, samples, n, m->s->o->level, &i, err);
    if (st) return st;
    out->value = i.value;
    if (i.level > 0) {
        out->lower = i.lower;
        out->upper = i.upper;
    }
    return CBX_OK;
}

static cbx_status add_metric(merging *m, const char *name, cbx_metric metric, cbx_err *err)
{
    if (m->count == m->room) {
        size_t room = m->room ? 2 * m->room : 32;
        cbx_named_metric *grown = cbx_arena_calloc(m->s->arena, room, sizeof *grown);
        if (!grown) return no_memory(m, err);
        if (m->count) memcpy(grown, m->metrics, m->count * sizeof *grown);
        m->metrics = grown;
        m->room = room;
    }
    m->metrics[m->count++] = (cbx_named_metric){ name, metric };
    return CBX_OK;
}

static cbx_status merge_one(merging *m, const char *name, const cbx_metric *only, cbx_err *err)
{
    double *samples;
    size_t n = 0;
    cbx_metric all;
    cbx_status st;

    if (m->g->good == 1) return add_metric(m, name, *only, err);
    samples = cbx_arena_calloc(m->s->arena, m->g->good, sizeof *samples);
    if (!samples) return no_memory(m, err);
    for (size_t l = 0; l < m->g->count; l++) {
        const cbx_metric *x = m->g->launches[l].run ? cbx_point_metric(point_of(&m->g->launches[l]), name) : NULL;
        if (x) samples[n++] = x->value;
    }
    if (n < m->g->good) m->partial[m->npartial++] = name;
    st = over_launches(m, samples, n, &all, err);
    return st ? st : add_metric(m, name, all, err);
}

static size_t most_metrics(const cbx__gathered *g)
{
    size_t n = 0;
    for (size_t l = 0; l < g->count; l++) n += g->launches[l].run ? point_of(&g->launches[l])->nmetrics : 0;
    return n;
}

static cbx_status merge_metrics(merging *m, cbx_err *err)
{
    cbx_status st = CBX_OK;

    m->partial = cbx_arena_calloc(m->s->arena, most_metrics(m->g), sizeof *m->partial);
    if (!m->partial) return no_memory(m, err);
    for (size_t l = 0; l < m->g->count; l++) {
        const cbx_point *p = m->g->launches[l].run ? point_of(&m->g->launches[l]) : NULL;
        for (size_t i = 0; p && i < p->nmetrics && !st; i++) {
            if (!has(m, p->metrics[i].name)) st = merge_one(m, p->metrics[i].name, &p->metrics[i].metric, err);
        }
    }
    return st;
}

static cbx_status add_process(merging *m, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < PROCESS_METRICS && !st; i++) {
        const cbx_metric_def def = process_defs[i];
        double *samples;
        size_t n = 0;
        cbx_metric all;
        if (has(m, def.name)) continue;
        samples = cbx_arena_calloc(m->s->arena, m->g->good, sizeof *samples);
        if (!samples) return no_memory(m, err);
        for (size_t l = 0; l < m->g->count; l++) {
            const cbx__launch *x = &m->g->launches[l];
            double v = x->run && x->has_process ? process_value(m, &x->process, i) : NAN;
            if (!isnan(v)) samples[n++] = v;
        }
        if (n == 0) continue;
        all = cbx_metric_of(samples[0]);
        if (n > 1) st = over_launches(m, samples, n, &all, err);
        if (!st) st = add_metric(m, def.name, all, err);
        if (!st) st = cbx_run_builder_add_metric_def(m->b, &def, err);
    }
    return st;
}

/* --- definitions, tags --- */

static cbx_status add_defs(merging *m, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t l = 0; l < m->g->count; l++) {
        const cbx_run *run = m->g->launches[l].run;
        for (size_t i = 0; run && i < cbx_run_nmetric_defs(run) && !st; i++)
            st = cbx_run_builder_add_metric_def(m->b, cbx_run_metric_def(run, i), err);
    }
    for (size_t i = 0; i < m->s->o->ndefs && !st; i++)
        st = cbx_run_builder_add_metric_def(m->b, &m->s->o->defs[i], err);
    return st;
}

/* The user's tags, then those of the benchmark that have another key, then that of a benchmark that failed. */
static cbx_status make_tags(merging *m, const cbx_point *first, cbx_point *out, cbx_err *err)
{
    const cbx_benchmark_opts *o = m->s->o;
    cbx_tag *tags = cbx_arena_calloc(m->s->arena, o->ntags + first->ntags + 1, sizeof *tags);
    cbx_point known = { .tags = o->tags, .ntags = o->ntags };
    size_t n = o->ntags;

    if (!tags) return no_memory(m, err);
    if (n) memcpy(tags, o->tags, n * sizeof *tags);
    for (size_t i = 0; i < first->ntags; i++) {
        if (!cbx_point_tag(&known, first->tags[i].key)) tags[n++] = first->tags[i];
    }
    if (m->g->failed) {
        tags[n] = (cbx_tag){ "failed_launches",
                             cbx_arena_printf(m->s->arena, "%zu of %zu", m->g->count - m->g->good, m->g->count) };
        if (!tags[n++].value) return no_memory(m, err);
    }
    out->tags = tags;
    out->ntags = n;
    return CBX_OK;
}

static const cbx__launch *first_good(const cbx__gathered *g)
{
    const cbx__launch *l = g->launches;
    while (!l->run) l++;
    return l;
}

cbx_status cbx__merge(cbx__session *s, const cbx__gathered *g, cbx_run_builder *b, const char *const **partial,
                      size_t *npartial, cbx_err *err)
{
    merging m = { .s = s, .g = g, .b = b };
    const cbx_point *first = point_of(first_good(g));
    cbx_point p = { .name = s->o->name ? s->o->name : g->name,
                    .scenario = s->o->scenario ? s->o->scenario : first->scenario };
    cbx_status st = merge_metrics(&m, err);

    if (!st) st = add_process(&m, err);
    if (!st) st = add_defs(&m, err);
    if (!st) st = make_tags(&m, first, &p, err);
    p.metrics = m.metrics;
    p.nmetrics = m.count;
    if (!st) st = cbx_run_builder_add_point(b, &p, err);
    *partial = m.partial;
    *npartial = m.npartial;
    return st;
}

/* --- what is told beside the metrics --- */

static const cbx_json *told(const cbx__launch *l)
{
    return l->run ? cbx_json_at(cbx_json_get(cbx_run_metadata(l->run), "results"), 0) : NULL;
}

static cbx_json *failure_json(const cbx__launch *l, size_t number)
{
    cbx_json *o = cbx_json_new_object();

    if (o && cbx_json_set_int(o, "launch", (int64_t)number) && cbx_json_set_string(o, "phase", l->phase) &&
        cbx_json_set_string(o, "status", cbx_status_name(l->status)) && cbx_json_set_string(o, "message", l->message))
        return o;
    cbx_json_unref(o);
    return NULL;
}

static cbx_json *failures_json(const cbx__gathered *g)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t l = 0; list && l < g->count; l++) {
        if (g->launches[l].run || cbx_json_push(list, failure_json(&g->launches[l], l + 1))) continue;
        cbx_json_unref(list);
        return NULL;
    }
    return list;
}

static cbx_json *launches_json(const cbx__gathered *g)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t l = 0; list && l < g->count; l++) {
        const cbx_json *metadata = cbx_json_get(told(&g->launches[l]), "metadata");
        cbx_json *copy = metadata ? cbx_json_copy(metadata) : cbx_json_new_object();
        if (!g->launches[l].run) {
            cbx_json_unref(copy);
            continue;
        }
        cbx_json_remove(copy, "targets"); /* told once, for all launches */
        if (copy && cbx_json_push(list, copy)) continue;
        cbx_json_unref(list);
        return NULL;
    }
    return list;
}

static cbx_json *targets_json(const cbx_named_metric *targets, size_t n)
{
    cbx_json *o = cbx_json_new_object();

    for (size_t i = 0; o && i < n; i++) {
        if (cbx_json_set_double(o, targets[i].name, targets[i].metric.value)) continue;
        cbx_json_unref(o);
        return NULL;
    }
    return o;
}

cbx_json *cbx__gathered_json(const cbx__session *s, const cbx__gathered *g, const cbx_named_metric *targets,
                             size_t ntargets)
{
    const cbx_json *config = s->o->measure.config;
    cbx_json *o = cbx_json_new_object();
    bool ok = o && cbx_json_set_string(o, "name", g->name) &&
              cbx_json_set_string(o, "driver", cbx_benchmark_kind_name(s->source->kind)) &&
              cbx_json_set_int(o, "launches", (int64_t)g->good) &&
              cbx_json_set(o, "config", config ? cbx_json_copy(config) : cbx_json_new_object()) &&
              cbx_json_set(o, "targets", targets_json(targets, ntargets)) &&
              cbx_json_set(o, "failures", failures_json(g)) && cbx_json_set(o, "told", launches_json(g));

    if (ok) return o;
    cbx_json_unref(o);
    return NULL;
}
