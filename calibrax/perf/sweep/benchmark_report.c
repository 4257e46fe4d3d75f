/*
 * From gathered launches to a run: points, targets, failures, references to traces.  Metrics are in
 * the order of the first launch that has them; the value of several launches is their median.
 */
#include <math.h>
#include <string.h>

#include "calibrax/base/hash.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/list.h"
#include "calibrax/base/path.h"
#include "calibrax/perf/sweep/benchmark_session.h"
#include "calibrax/profiling/trace_link.h"
#include "calibrax/statistics/estimate.h"
#include "calibrax/storage/import.h"

static cbx_status no_memory(cbx_err *err) { return cbx_fail_nomem(err, "a report"); }

/* --- launches to a point --- */

/* One benchmark being merged and judged. */
typedef struct merging {
    cbx__session *s;
    const cbx__gathered *g;
    cbx_run_builder *b;
    cbx_allocator al; /* the arena's */
    CBX_LIST(cbx_named_metric) metrics;
    CBX_LIST(const char *) partial; /* metrics that some good launch lacks */
    cbx_named_metric *targets;
    size_t ntargets;
    size_t point; /* of the run; SIZE_MAX: none */
} merging;

static const cbx_point *point_of(const cbx__launch *l) { return cbx_run_point(l->run, 0); }

static bool has(const merging *m, const char *name)
{
    return cbx_point_metric(&(const cbx_point){ .metrics = m->metrics.items, .nmetrics = m->metrics.n }, name) != NULL;
}

/* Adds a metric with a sample of each launch.  A value that is not finite in one launch makes the
 * whole NaN: a target or a gate then reports it. */
static cbx_status add_over_launches(merging *m, const char *name, const double *samples, size_t n, cbx_err *err)
{
    cbx_metric all = cbx_metric_of(NAN);
    cbx_interval i;
    size_t finite = 0;

    all.samples = samples;
    all.nsamples = n;
    while (finite < n && isfinite(samples[finite])) finite++;
    if (finite == n) {
        cbx_status st = cbx_stat_median_interval(m->s->ctx, samples, n, m->s->o->level, &i, err);
        if (st) return st;
        all.value = i.value;
        if (i.level > 0) {
            all.lower = i.lower;
            all.upper = i.upper;
        }
    }
    return cbx_list_push(&m->al, &m->metrics, (cbx_named_metric){ name, all }) ? CBX_OK : no_memory(err);
}

/* The metrics that the benchmark reported itself. */
static cbx_status merge_metrics(merging *m, cbx_err *err)
{
    const cbx__gathered *g = m->g;
    cbx_status st = CBX_OK;

    for (size_t l = 0; l < g->count; l++) {
        const cbx_point *p = g->launches[l].run ? point_of(&g->launches[l]) : NULL;
        for (size_t i = 0; p && i < p->nmetrics && !st; i++) {
            const cbx_named_metric *first = &p->metrics[i];
            size_t n = 0;
            if (has(m, first->name)) continue;
            if (g->good == 1) {
                st = cbx_list_push(&m->al, &m->metrics, *first) ? CBX_OK : no_memory(err);
                continue;
            }
            double *samples = cbx_arena_calloc(m->s->arena, g->good, sizeof *samples);
            if (!samples) return no_memory(err);
            for (const cbx__launch *k = g->launches; k < g->launches + g->count; k++) {
                const cbx_metric *x = k->run ? cbx_point_metric(point_of(k), first->name) : NULL;
                if (x) samples[n++] = x->value;
            }
            if (n < g->good && !cbx_list_push(&m->al, &m->partial, first->name)) return no_memory(err);
            st = add_over_launches(m, first->name, samples, n, err);
        }
    }
    return st;
}

/* A command's time from start to end is what is measured; that of a worker, which also holds the
 * start of an interpreter and what the worker does beside the benchmark, has a name of its own. */
static const cbx_metric_def process_defs[] = {
    { "wall_time", "s", CBX_DIRECTION_LOWER, "process", CBX_PRIORITY_PRIMARY, "of a command, from start to end" },
    { "launch_seconds", "s", CBX_DIRECTION_INFO, "process", CBX_PRIORITY_SECONDARY, "of a worker, from start to end" },
    { "cpu_user", "s", CBX_DIRECTION_INFO, "process", CBX_PRIORITY_SECONDARY, "of all processes" },
    { "cpu_system", "s", CBX_DIRECTION_INFO, "process", CBX_PRIORITY_SECONDARY, "of all processes" },
    { "max_rss", "MiB", CBX_DIRECTION_LOWER, "process", CBX_PRIORITY_SECONDARY, "maximum of a single process" },
    { "peak_rss", "MiB", CBX_DIRECTION_INFO, "process", CBX_PRIORITY_SECONDARY, "maximum over all processes together" },
};

static cbx_status add_process(merging *m, cbx_err *err)
{
    const bool command = m->s->source->kind == CBX_BENCHMARK_COMMAND;
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < CBX_LEN(process_defs) && !st; i++) {
        const char *name = process_defs[i].name;
        size_t n = 0;
        if (has(m, name)) continue;
        double *samples = cbx_arena_calloc(m->s->arena, m->g->good, sizeof *samples);
        if (!samples) return no_memory(err);
        for (const cbx__launch *l = m->g->launches; l < m->g->launches + m->g->count; l++) {
            const cbx__process_use *p = &l->process;
            const double values[CBX_LEN(process_defs)] = { command ? p->wall_s : NAN,
                                                           command ? NAN : p->wall_s,
                                                           p->cpu_user_s,
                                                           p->cpu_system_s,
                                                           p->max_rss_mb,
                                                           p->peak_rss_mb };
            if (l->run && l->has_process && !isnan(values[i])) samples[n++] = values[i];
        }
        if (n == 0) continue;
        if (n > 1)
            st = add_over_launches(m, name, samples, n, err);
        else if (!cbx_list_push(&m->al, &m->metrics, (cbx_named_metric){ name, cbx_metric_of(samples[0]) }))
            st = no_memory(err);
        if (!st) st = cbx_run_builder_add_metric_def(m->b, &process_defs[i], err);
    }
    return st;
}

/* Adds the point and its definitions.  Tags: the user's, the benchmark's of another key, then that
 * of a benchmark that failed. */
static cbx_status merge(merging *m, cbx_err *err)
{
    const cbx_benchmark_opts *o = m->s->o;
    const cbx__launch *good = m->g->launches;
    const cbx_point known = { .tags = o->tags, .ntags = o->ntags };
    cbx_point p = { .name = o->name ? o->name : m->g->name };
    cbx_status st = merge_metrics(m, err);

    if (!st) st = add_process(m, err);
    for (size_t l = 0; l < m->g->count; l++) {
        const cbx_run *run = m->g->launches[l].run;
        for (size_t i = 0; run && i < cbx_run_nmetric_defs(run) && !st; i++)
            st = cbx_run_builder_add_metric_def(m->b, cbx_run_metric_def(run, i), err);
    }
    for (size_t i = 0; i < o->ndefs && !st; i++) st = cbx_run_builder_add_metric_def(m->b, &o->defs[i], err);
    if (st) return st;
    while (!good->run) good++;
    const cbx_point *first = point_of(good);
    cbx_tag *tags = cbx_arena_calloc(m->s->arena, o->ntags + first->ntags + 1, sizeof *tags);
    if (!tags) return no_memory(err);
    if (o->ntags) memcpy(tags, o->tags, o->ntags * sizeof *tags);
    p.ntags = o->ntags;
    for (size_t i = 0; i < first->ntags; i++)
        if (!cbx_point_tag(&known, first->tags[i].key)) tags[p.ntags++] = first->tags[i];
    if (m->g->failed) {
        const char *share = cbx_arena_printf(m->s->arena, "%zu of %zu", m->g->count - m->g->good, m->g->count);
        if (!share) return no_memory(err);
        tags[p.ntags++] = (cbx_tag){ "failed_launches", share };
    }
    p.scenario = o->scenario ? o->scenario : first->scenario;
    p.tags = tags;
    p.metrics = m->metrics.items;
    p.nmetrics = m->metrics.n;
    return cbx_run_builder_add_point(m->b, &p, err);
}

/* --- what a benchmark reported beside its metrics --- */

static const cbx_json *reported(const cbx__launch *l)
{
    const cbx_json *results = l->run ? cbx_json_get(cbx_run_metadata(l->run), "results") : NULL;
    return cbx_json_get(cbx_json_at(results, 0), "metadata");
}

static void add_failure(cbx_json *list, const char *benchmark, size_t launch, const char *phase, cbx_status st,
                        const char *message)
{
    cbx_json_put(cbx_json_push_object(list), J_GIVEN("benchmark", benchmark), J_INT("launch", launch),
                 J_TEXT("phase", phase), J_TEXT("status", cbx_status_name(st)), J_TEXT("message", message));
}

/* The entry of metadata.benchmarks. */
static void add_gathered(const merging *m, cbx_json *o)
{
    const cbx__gathered *g = m->g;
    const cbx_json *config = m->s->o->measure.config;

    cbx_json_put(o, J_TEXT("name", g->name), J_TEXT("driver", cbx_benchmark_kind_name(m->s->source->kind)),
                 J_INT("launches", g->good), J_JSON("config", config ? cbx_json_copy(config) : cbx_json_new_object()));
    cbx_json *targets = cbx_json_set_object(o, "targets"), *failures = cbx_json_set_array(o, "failures"),
             *reports = cbx_json_set_array(o, "told");
    for (size_t i = 0; i < m->ntargets; i++)
        cbx_json_set_double(targets, m->targets[i].name, m->targets[i].metric.value);
    for (size_t l = 0; l < g->count; l++) {
        const cbx__launch *x = &g->launches[l];
        const cbx_json *metadata = reported(x);
        if (!x->run) {
            add_failure(failures, NULL, l + 1, x->phase, x->status, x->message);
            continue;
        }
        cbx_json *copy = metadata ? cbx_json_copy(metadata) : cbx_json_new_object();
        cbx_json_remove(copy, "targets"); /* are the same in all launches, as the source is */
        cbx_json_remove(copy, "source");
        cbx_json_push(reports, copy);
    }
}

/* --- targets --- */

/* The user's targets, then the benchmark's own of another name. */
static cbx_status collect_targets(merging *m, cbx_err *err)
{
    const cbx_benchmark_opts *o = m->s->o;
    const cbx_point known = { .metrics = o->targets, .nmetrics = o->ntargets };
    const cbx_json *own = NULL;
    const char *key;
    cbx_json *value;
    size_t n = o->ntargets;

    for (size_t l = 0; l < m->g->count && !own; l++) own = cbx_json_get(reported(&m->g->launches[l]), "targets");
    m->targets = cbx_arena_calloc(m->s->arena, n + cbx_json_length(own), sizeof *m->targets);
    if (!m->targets) return no_memory(err);
    for (size_t i = 0; i < n; i++)
        m->targets[i] = (cbx_named_metric){ cbx_arena_strdup(m->s->arena, o->targets[i].name), o->targets[i].metric };
    for (size_t i = 0; cbx_json_member(own, i, &key, &value); i++) /* NaN if it is not a number: it is then not met */
        if (!cbx_point_metric(&known, key))
            m->targets[n++] = (cbx_named_metric){ cbx_arena_strdup(m->s->arena, key),
                                                  cbx_metric_of(cbx_json_double_value(value)) };
    m->ntargets = n;
    for (size_t i = 0; i < n; i++)
        if (!m->targets[i].name) return no_memory(err);
    return CBX_OK;
}

static void judge(cbx_benchmark_report *r, const merging *m)
{
    const cbx_point *p = m->point == SIZE_MAX ? NULL : cbx_run_point(r->run, m->point);

    for (size_t i = 0; i < m->ntargets; i++) {
        const char *name = m->targets[i].name;
        const cbx_metric *value = p ? cbx_point_metric(p, name) : NULL;
        const cbx_metric_def *def = r->run ? cbx_run_find_metric_def(r->run, name) : NULL;
        for (size_t k = 0; k < m->partial.n; k++)
            if (strcmp(m->partial.items[k], name) == 0) value = NULL;
        cbx_target_check t = cbx_target_judge(value, def, m->targets[i].metric.value);
        if (m->g->failed && (t.outcome == CBX_TARGET_MET || (t.outcome == CBX_TARGET_MISSING && !m->g->good)))
            t.outcome = CBX_TARGET_INCOMPLETE;
        t.benchmark = m->g->name;
        t.metric = name;
        r->targets[r->ntargets++] = t;
    }
}

/* --- the run --- */

#define TOP_KERNELS 10

/* The kernels of each process that took longest, and the gaps of each lane, of the first trace that
 * can be read. */
static cbx_status add_kernels(cbx__session *s, const cbx_trace_link *link, cbx_json *o, cbx_err *err)
{
    static const struct {
        const char *key, *metric;
        bool gaps;
    } members[] = {
        { "self_s", "self_time", false }, { "total_s", "total_time", false },   { "calls", "calls", false },
        { "share", "share", false },      { "gap_s", "gap_time", true },        { "longest_s", "longest_gap", true },
        { "gaps", "gaps", true },         { "busy_share", "busy_share", true },
    };
    cbx_import_opts opts = CBX_IMPORT_OPTS_INIT;
    cbx_import trace = { 0 };
    cbx_status st = CBX_EFORMAT;

    opts.format = "trace";
    for (size_t i = 0; st && st != CBX_ENOMEM && i < link->nfiles; i++) {
        const char *path = cbx_path_join(s->arena, link->folder, link->files[i].path);
        st = path ? cbx_import_file(s->ctx, path, &opts, &trace, NULL) : CBX_ENOMEM;
    }
    if (st)
        return st == CBX_ENOMEM ? no_memory(err) : CBX_OK; /* an empty one, or of Perfetto's own format: no kernels */
    cbx_json *kernels = cbx_json_set_array(o, "kernels"), *gaps = cbx_json_set_array(o, "gaps");
    for (size_t r = 0; r < trace.nruns; r++) {
        const char *process = "";
        size_t of_process = 0; /* points come process by process, the longest kernel first */
        for (size_t i = 0; i < cbx_run_npoints(trace.runs[r]); i++) {
            const cbx_point *p = cbx_run_point(trace.runs[r], i);
            bool is_gap = !strcmp(p->name, "(gaps)");
            if (strcmp(process, p->scenario)) process = p->scenario, of_process = 0;
            if (!is_gap && (of_process++ >= TOP_KERNELS || !strcmp(p->name, "(others)"))) continue;
            cbx_json *one = cbx_json_push_object(is_gap ? gaps : kernels);
            cbx_json_set_string(one, is_gap ? "lane" : "name", is_gap ? cbx_point_tag(p, "lane") : p->name);
            cbx_json_set_string(one, "process", p->scenario);
            for (size_t k = 0; k < CBX_LEN(members); k++) {
                const cbx_metric *m = members[k].gaps == is_gap ? cbx_point_metric(p, members[k].metric) : NULL;
                if (m) cbx_json_set_double(one, members[k].key, m->value);
            }
        }
    }
    cbx_import_clear(&trace);
    return CBX_OK;
}

/* References to the trace of this session, and to those that the benchmarks wrote themselves. */
static cbx_status add_traces(cbx_benchmark_report *r, cbx__session *s, cbx_run_builder *b, cbx_err *err)
{
    char hash[CBX_HASH_SIZE];
    cbx_err why = CBX_ERR_INIT;
    cbx_trace_link link;
    cbx_json *o;
    cbx_status st = CBX_OK;

    if (s->o->trace) {
        if (!r->trace_fault) st = cbx_hash_file(s->ctx, s->o->trace, hash, err);
        if (st) return st;
        o = cbx_json_object(J_TEXT("file", s->o->trace), J_TEXT("format", "trace-event-json"),
                            J_TEXT(r->trace_fault ? "fault" : "hash", r->trace_fault ? r->trace_fault : hash));
        st = cbx_run_builder_set_metadata(b, "trace", o, err);
    }
    if (st || !s->o->trace_dir) return st;
    if (!cbx_trace_find(s->ctx, s->o->trace_dir, &link, &why)) {
        o = cbx_trace_link_json(&link, NULL);
        st = add_kernels(s, &link, o, err);
        cbx_trace_link_clear(&link);
        if (st) cbx_json_unref(o);
        if (st) return st;
    } else {
        if (why.status == CBX_ENOMEM) return no_memory(err);
        r->link_fault = cbx_arena_strdup(&r->arena, why.message);
        if (!r->link_fault) return no_memory(err);
        o = cbx_json_object(J_TEXT("trace_dir", s->o->trace_dir), J_TEXT("fault", r->link_fault));
    }
    return cbx_run_builder_set_metadata(b, "trace_link", o, err);
}

static cbx_status make_run(cbx_benchmark_report *r, cbx__session *s, merging *all, cbx_err *err)
{
    cbx_run_builder *b = NULL;
    cbx_json *list = cbx_json_new_array(), *sources = cbx_json_new_array();
    size_t points = 0;
    cbx_status st = cbx_run_builder_create(s->ctx, s->o->run, &b, err);

    for (size_t i = 0; i < r->ngathered && !st; i++) {
        merging *m = &all[i];
        const cbx_json *source = NULL; /* of a benchmark whose code has a known place */
        *m = (merging){ s, &r->gathered[i], b, .al = cbx_arena_allocator(s->arena), .point = SIZE_MAX };
        st = collect_targets(m, err);
        if (!st && m->g->good) {
            st = merge(m, err);
            m->point = points++;
            for (size_t l = 0; l < m->g->count && !source; l++)
                source = cbx_json_get(reported(&m->g->launches[l]), "source");
        }
        if (source) {
            cbx_json_put(cbx_json_push_object(sources), J_TEXT("point", s->o->name ? s->o->name : m->g->name),
                         J_TEXT("file", cbx_json_get_string(source, "file", "")),
                         J_INT("line", cbx_json_get_int(source, "line", 0)));
        }
        if (!st) add_gathered(m, cbx_json_push_object(list));
    }
    if (st)
        cbx_json_unref(list);
    else
        st = cbx_run_builder_set_metadata(b, "benchmarks", list, err);
    if (!st) st = cbx_json_check(sources, err);
    if (!st && cbx_json_length(sources))
        st = cbx_run_builder_set_metadata(b, "sources", sources, err);
    else
        cbx_json_unref(sources);
    if (!st) st = add_traces(r, s, b, err);
    if (!st && r->interrupted) st = cbx_run_builder_set_metadata(b, "interrupted", cbx_json_new_bool(true), err);
    if (!st && points) st = cbx_run_builder_freeze(b, &r->run, err);
    cbx_run_builder_free(b);
    return st;
}

static cbx_json *targets_json(const cbx_benchmark_report *r)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t i = 0; i < r->ntargets; i++) cbx_json_push(list, cbx_target_json(&r->targets[i]));
    return list;
}

cbx_status cbx__report_finish(cbx_benchmark_report *r, cbx__session *s, cbx_err *err)
{
    merging *all = cbx_arena_calloc(&r->arena, r->ngathered, sizeof *all);
    size_t ntargets = 0, nfailures = 0;

    cbx_run_free(r->run);
    r->run = NULL;
    r->ntargets = r->nfailures = 0;
    r->link_fault = NULL;
    cbx_status st = all ? make_run(r, s, all, err) : no_memory(err);
    if (st) return st;
    for (size_t i = 0; i < r->ngathered; i++) {
        ntargets += all[i].ntargets;
        nfailures += r->gathered[i].count - r->gathered[i].good;
    }
    r->targets = cbx_arena_calloc(&r->arena, ntargets, sizeof *r->targets);
    r->failures = cbx_arena_calloc(&r->arena, nfailures, sizeof *r->failures);
    if (!r->targets || !r->failures) return no_memory(err);
    for (size_t i = 0; i < r->ngathered; i++) judge(r, &all[i]);
    if (r->run && r->ntargets) {
        cbx_run *with;
        st = cbx_run_with_metadata(s->ctx, r->run, "targets", targets_json(r), &with, err);
        if (st) return st;
        cbx_run_free(r->run);
        r->run = with;
        r->ntargets = 0;
        for (size_t i = 0; i < r->ngathered; i++) judge(r, &all[i]); /* with pointers into the new run */
    }
    for (const cbx__gathered *g = r->gathered; g < r->gathered + r->ngathered; g++)
        for (size_t l = 0; l < g->count; l++) {
            const cbx__launch *x = &g->launches[l];
            if (x->run) continue;
            r->failures[r->nfailures++] = (cbx_benchmark_failure){ g->name, l + 1, x->phase, x->status, x->message };
        }
    return CBX_OK;
}

/* --- from outside --- */

void cbx_benchmark_report_free(cbx_benchmark_report *r)
{
    if (!r) return;
    for (size_t i = 0; i < r->ngathered; i++)
        for (size_t l = 0; l < r->gathered[i].count; l++) cbx__launch_clear(&r->gathered[i].launches[l]);
    cbx_run_free(r->run);
    cbx_arena_end(&r->arena);
}

cbx_run *cbx_benchmark_report_run(const cbx_benchmark_report *r) { return r->run; }

const cbx_target_check *cbx_benchmark_report_targets(const cbx_benchmark_report *r, size_t *count)
{
    *count = r->ntargets;
    return r->targets;
}

const cbx_benchmark_failure *cbx_benchmark_report_failures(const cbx_benchmark_report *r, size_t *count)
{
    *count = r->nfailures;
    return r->failures;
}

const char *cbx_benchmark_report_trace_fault(const cbx_benchmark_report *r) { return r->trace_fault; }
const char *cbx_benchmark_report_link_fault(const cbx_benchmark_report *r) { return r->link_fault; }

int cbx_benchmark_report_exit_code(const cbx_benchmark_report *r)
{
    int code = cbx_targets_exit_code(r->targets, r->ntargets);

    if (r->interrupted) return 130;
    for (size_t i = 0; i < r->ngathered; i++)
        if (r->gathered[i].failed && code != 1) code = 2;
    return code;
}

cbx_json *cbx_benchmark_report_json(const cbx_benchmark_report *r)
{
    cbx_json *failures = cbx_json_new_array();

    for (const cbx_benchmark_failure *f = r->failures; f < r->failures + r->nfailures; f++)
        add_failure(failures, f->benchmark, f->launch, f->phase, f->status, f->message);
    return cbx_json_finish(cbx_json_document(
        "calibrax-benchmark-report", r->run ? J_JSON("run", cbx_run_to_json(r->run)) : J_NULL("run"),
        J_JSON("targets", targets_json(r)), J_JSON("failures", failures), J_BOOL("interrupted", r->interrupted),
        J_INT("exit_code", cbx_benchmark_report_exit_code(r))));
}
