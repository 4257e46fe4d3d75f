/* From gathered launches to a run: points, targets, failures, the trace's reference. */
#include "calibrax/perf/sweep/benchmark_report.h"

#include <math.h>
#include <string.h>

#include "calibrax/base/hash.h"
#include "calibrax/profiling/trace_link.h"

static cbx_status no_memory(cbx_err *err) { return cbx_fail(err, CBX_ENOMEM, "out of memory for a report"); }

/* --- targets --- */

static const cbx_json *targets_told(const cbx__gathered *g)
{
    for (size_t l = 0; l < g->count; l++) {
        const cbx_json *results = g->launches[l].run ? cbx_json_get(cbx_run_metadata(g->launches[l].run), "results")
                                                     : NULL;
        const cbx_json *t = cbx_json_get(cbx_json_get(cbx_json_at(results, 0), "metadata"), "targets");
        if (t) return t;
    }
    return NULL;
}

/* The user's, then the benchmark's own of another name. */
static cbx_status collect(cbx__session *s, const cbx__gathered *g, cbx_named_metric **out, size_t *count, cbx_err *err)
{
    const cbx_benchmark_opts *o = s->o;
    const cbx_json *told = targets_told(g), *v;
    cbx_named_metric *all = cbx_arena_calloc(s->arena, o->ntargets + cbx_json_length(told), sizeof *all);
    cbx_point known = { .metrics = o->targets, .nmetrics = o->ntargets };
    size_t n = o->ntargets;
    const char *key;
    cbx_json *value;

    if (!all) return no_memory(err);
    for (size_t i = 0; i < n; i++) {
        all[i] = o->targets[i];
        all[i].name = cbx_arena_strdup(s->arena, o->targets[i].name);
        if (!all[i].name) return no_memory(err);
    }
    for (size_t i = 0; cbx_json_member(told, i, &key, &value); i++) {
        v = value;
        if (cbx_point_metric(&known, key)) continue;
        all[n].name = cbx_arena_strdup(s->arena, key);
        all[n].metric = cbx_metric_of(cbx_json_double_value(v)); /* NaN if it is no number: it is then not met */
        if (!all[n++].name) return no_memory(err);
    }
    *out = all;
    *count = n;
    return CBX_OK;
}

typedef struct judged {
    const cbx__gathered *g;
    const cbx_named_metric *targets;
    size_t ntargets;
    const char *const *partial;
    size_t npartial;
    size_t point; /* of the run; SIZE_MAX: none */
} judged;

static bool is_partial(const judged *j, const char *name)
{
    for (size_t i = 0; i < j->npartial; i++) {
        if (strcmp(j->partial[i], name) == 0) return true;
    }
    return false;
}

static void judge(cbx_benchmark_report *r, const judged *j)
{
    const cbx_point *p = j->point == SIZE_MAX ? NULL : cbx_run_point(r->run, j->point);

    for (size_t i = 0; i < j->ntargets; i++) {
        const char *name = j->targets[i].name;
        const cbx_metric *value = p && !is_partial(j, name) ? cbx_point_metric(p, name) : NULL;
        const cbx_metric_def *def = r->run ? cbx_run_find_metric_def(r->run, name) : NULL;
        cbx_target_check t = cbx_target_judge(value, def, j->targets[i].metric.value);
        bool untold = t.outcome == CBX_TARGET_MET || (t.outcome == CBX_TARGET_MISSING && !j->g->good);
        if (untold && j->g->failed) t.outcome = CBX_TARGET_INCOMPLETE;
        t.benchmark = j->g->name;
        t.metric = name;
        r->targets[r->ntargets++] = t;
    }
}

static cbx_json *targets_json(const cbx_benchmark_report *r)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t i = 0; list && i < r->ntargets; i++) {
        if (cbx_json_push(list, cbx_target_json(&r->targets[i]))) continue;
        cbx_json_unref(list);
        return NULL;
    }
    return list;
}

/* --- the run --- */

static cbx_status add_trace(const cbx_benchmark_report *r, cbx__session *s, cbx_run_builder *b, cbx_err *err)
{
    char hash[CBX_HASH_SIZE];
    cbx_json *o;
    cbx_status st;

    if (!s->o->trace) return CBX_OK;
    st = r->trace_fault ? CBX_OK : cbx_hash_file(s->ctx, s->o->trace, hash, err);
    if (st) return st;
    o = cbx_json_new_object();
    if (o && cbx_json_set_string(o, "file", s->o->trace) && cbx_json_set_string(o, "format", "trace-event-json") &&
        (r->trace_fault ? cbx_json_set_string(o, "fault", r->trace_fault) : cbx_json_set_string(o, "hash", hash)))
        return cbx_run_builder_set_metadata(b, "trace", o, err);
    cbx_json_unref(o);
    return no_memory(err);
}

static cbx_status add_points(cbx_benchmark_report *r, cbx__session *s, cbx_run_builder *b, judged *j, cbx_err *err)
{
    cbx_json *list = cbx_json_new_array();
    size_t points = 0;
    cbx_status st = list ? CBX_OK : no_memory(err);

    for (size_t i = 0; i < r->ngathered && !st; i++) {
        const cbx__gathered *g = &r->gathered[i];
        cbx_named_metric *targets = NULL;
        j[i].g = g;
        j[i].point = SIZE_MAX;
        st = collect(s, g, &targets, &j[i].ntargets, err);
        j[i].targets = targets;
        if (!st && g->good) {
            st = cbx__merge(s, g, b, &j[i].partial, &j[i].npartial, err);
            j[i].point = points++;
        }
        if (!st && !cbx_json_push(list, cbx__gathered_json(s, g, targets, j[i].ntargets))) st = no_memory(err);
    }
    if (st) {
        cbx_json_unref(list);
        return st;
    }
    return cbx_run_builder_set_metadata(b, "benchmarks", list, err);
}

static cbx_status judge_all(cbx_benchmark_report *r, cbx__session *s, const judged *j, cbx_err *err)
{
    size_t most = 0;
    cbx_run *with;
    cbx_status st;

    for (size_t i = 0; i < r->ngathered; i++) most += j[i].ntargets;
    r->targets = cbx_arena_calloc(&r->arena, most, sizeof *r->targets);
    if (!r->targets) return no_memory(err);
    for (size_t i = 0; i < r->ngathered; i++) judge(r, &j[i]);
    if (!r->run || !r->ntargets) return CBX_OK;
    st = cbx_run_with_metadata(s->ctx, r->run, "targets", targets_json(r), &with, err);
    if (st) return st;
    cbx_run_free(r->run);
    r->run = with;
    r->ntargets = 0;
    for (size_t i = 0; i < r->ngathered; i++) judge(r, &j[i]); /* pointers lead into the new run */
    return CBX_OK;
}

static bool any_good(const cbx_benchmark_report *r)
{
    for (size_t i = 0; i < r->ngathered; i++) {
        if (r->gathered[i].good) return true;
    }
    return false;
}

static cbx_status gather_failures(cbx_benchmark_report *r, cbx_err *err)
{
    size_t n = 0;

    for (size_t i = 0; i < r->ngathered; i++) n += r->gathered[i].count - r->gathered[i].good;
    r->failures = cbx_arena_calloc(&r->arena, n, sizeof *r->failures);
    if (!r->failures) return no_memory(err);
    for (size_t i = 0; i < r->ngathered; i++) {
        const cbx__gathered *g = &r->gathered[i];
        for (size_t l = 0; l < g->count; l++) {
            const cbx__launch *x = &g->launches[l];
            if (!x->run)
                r->failures[r->nfailures++] = (cbx_benchmark_failure){ g->name, l + 1, x->phase, x->status,
                                                                       x->message };
        }
    }
    return CBX_OK;
}

/* Traces that the benchmarks wrote themselves. */
static cbx_status add_link(cbx_benchmark_report *r, cbx__session *s, cbx_run_builder *b, cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT;
    cbx_trace_link link;
    cbx_json *o;

    if (!s->o->trace_dir) return CBX_OK;
    if (cbx_trace_find(s->ctx, s->o->trace_dir, &link, &why)) {
        if (why.status == CBX_ENOMEM) return no_memory(err);
        r->link_fault = cbx_arena_strdup(&r->arena, why.message);
        o = r->link_fault ? cbx_json_new_object() : NULL;
        if (o && cbx_json_set_string(o, "trace_dir", s->o->trace_dir) && cbx_json_set_string(o, "fault", r->link_fault))
            return cbx_run_builder_set_metadata(b, "trace_link", o, err);
        cbx_json_unref(o);
        return no_memory(err);
    }
    o = cbx_trace_link_json(&link, NULL);
    cbx_trace_link_clear(&link);
    return o ? cbx_run_builder_set_metadata(b, "trace_link", o, err) : no_memory(err);
}

static cbx_status make_run(cbx_benchmark_report *r, cbx__session *s, judged *j, cbx_err *err)
{
    cbx_run_builder *b = NULL;
    cbx_status st = cbx_run_builder_create(s->ctx, s->o->run, &b, err);

    if (!st) st = add_points(r, s, b, j, err);
    if (!st) st = add_trace(r, s, b, err);
    if (!st) st = add_link(r, s, b, err);
    if (!st && r->interrupted) st = cbx_run_builder_set_metadata(b, "interrupted", cbx_json_new_bool(true), err);
    if (!st && any_good(r)) st = cbx_run_builder_freeze(b, &r->run, err);
    cbx_run_builder_free(b);
    return st;
}

cbx_status cbx__report_finish(cbx_benchmark_report *r, cbx__session *s, cbx_err *err)
{
    judged *j = cbx_arena_calloc(&r->arena, r->ngathered, sizeof *j);
    cbx_status st = j ? make_run(r, s, j, err) : no_memory(err);

    if (!st) st = judge_all(r, s, j, err);
    return st ? st : gather_failures(r, err);
}

/* --- from outside --- */

void cbx_benchmark_report_free(cbx_benchmark_report *r)
{
    cbx_allocator al;

    if (!r) return;
    al = r->arena.al;
    for (size_t i = 0; i < r->ngathered; i++) {
        for (size_t l = 0; l < r->gathered[i].count; l++) cbx__launch_clear(&r->gathered[i].launches[l]);
    }
    cbx_run_free(r->run);
    cbx_arena_clear(&r->arena);
    cbx_mem_free(&al, r, sizeof *r);
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

bool cbx_benchmark_report_interrupted(const cbx_benchmark_report *r) { return r->interrupted; }

const char *cbx_benchmark_report_trace_fault(const cbx_benchmark_report *r) { return r->trace_fault; }

const char *cbx_benchmark_report_link_fault(const cbx_benchmark_report *r) { return r->link_fault; }

int cbx_benchmark_report_exit_code(const cbx_benchmark_report *r)
{
    int code = cbx_targets_exit_code(r->targets, r->ntargets);

    if (r->interrupted) return 130;
    for (size_t i = 0; i < r->ngathered; i++) {
        if (r->gathered[i].failed && code != 1) code = 2;
    }
    return code;
}

static cbx_json *failures_json(const cbx_benchmark_report *r)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t i = 0; list && i < r->nfailures; i++) {
        const cbx_benchmark_failure *f = &r->failures[i];
        cbx_json *o = cbx_json_new_object();
        bool ok = o && cbx_json_set_string(o, "benchmark", f->benchmark) &&
                  cbx_json_set_int(o, "launch", (int64_t)f->launch) && cbx_json_set_string(o, "phase", f->phase) &&
                  cbx_json_set_string(o, "status", cbx_status_name(f->status)) &&
                  cbx_json_set_string(o, "message", f->message);
        if (!ok) cbx_json_unref(o);
        if (ok && cbx_json_push(list, o)) continue;
        cbx_json_unref(list);
        return NULL;
    }
    return list;
}

cbx_json *cbx_benchmark_report_json(const cbx_benchmark_report *r)
{
    cbx_json *o = cbx_json_new_object();
    bool ok = o && cbx_json_set_string(o, "schema", "calibrax-benchmark-report") && cbx_json_set_int(o, "version", 1) &&
              (r->run ? cbx_json_set(o, "run", cbx_run_to_json(r->run)) : cbx_json_set_null(o, "run")) &&
              cbx_json_set(o, "targets", targets_json(r)) && cbx_json_set(o, "failures", failures_json(r)) &&
              cbx_json_set_bool(o, "interrupted", r->interrupted) &&
              cbx_json_set_int(o, "exit_code", cbx_benchmark_report_exit_code(r));

    if (ok) return o;
    cbx_json_unref(o);
    return NULL;
}
