/*
 * Fixes the options of a sweep and makes its jobs; see sweep.h.
 */
#include "calibrax/perf/sweep/sweep.h"

#include <stdio.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/core/machine.h"
#include "calibrax/perf/sweep/pilot.h"
#include "calibrax/perf/sweep/resume.h"
#include "calibrax/perf/sweep/stopping.h"
#include "calibrax/perf/sweep/table.h"

/* What the options mean when they are left at 0, one column for --quick. */
static const struct {
    size_t launches, warmup, epochs, slow_epochs;
    double slow_call_s;
} defaults[2] = {
    { 11, 3, 10, 3, 1.0 },
    { 6, 1, 10, 1, 0.1 },
};

static void settle_counts(cbx__session *s)
{
    const cbx_measure_opts *o = s->opts;
    bool chosen = o->repeats > 0; /* who asks for a number of epochs gets it, unless quick */

    s->goal = (cbx__goal){ o->precision, o->decide };
    s->launches = o->launches                ? o->launches
                  : cbx__stopping_by_goal(s) ? CBX__MAX_LAUNCHES
                                             : defaults[o->quick].launches;
    s->warmup = o->warmup >= 0 ? (size_t)o->warmup : defaults[o->quick].warmup;
    s->epochs = chosen ? o->repeats : defaults[o->quick].epochs;
    s->slow_epochs = defaults[o->quick].slow_epochs;
    s->slow_call_s = chosen && !o->quick ? 0 : defaults[o->quick].slow_call_s;
    s->budget_s = o->budget_s;
    s->epoch_target_s = o->epoch_target_s > 0 ? o->epoch_target_s : 0.020;
    s->timeout_s = o->worker_timeout_s > 0 ? o->worker_timeout_s : 3600;
    s->threads = o->threads > 0 ? o->threads : 1;
}

static cbx_status settle_platforms(cbx__session *s, cbx_err *err)
{
    const cbx_measure_opts *o = s->opts;

    s->platforms[0] = "cpu";
    s->nplatforms = 1;
    if (!o->nplatforms) return CBX_OK;
    s->nplatforms = 0;
    for (size_t i = 0; i < o->nplatforms; i++) {
        const char *name;
        bool twice = false;
        cbx_status st = cbx_platform_parse(o->platforms[i], &name, err);
        if (st) return st;
        for (size_t j = 0; j < s->nplatforms; j++) twice = twice || s->platforms[j] == name;
        if (!twice) s->platforms[s->nplatforms++] = name;
    }
    return CBX_OK;
}

/* Cores and devices, for the jobs that there are. */
static cbx_status settle_resources(cbx__sweep *w, cbx_err *err)
{
    const cbx_measure_opts *o = w->s.opts;
    cbx__resources_wish wish = { .platforms = w->s.platforms,
                                 .nplatforms = w->s.nplatforms,
                                 .cpu_slots = o->cpu_slots,
                                 .threads = (size_t)w->s.threads,
                                 .max_parallel = o->max_parallel,
                                 .gpus = o->gpus,
                                 .ngpus = o->ngpus };
    int cpus[CBX__MAX_CPUS];
    cbx_status st;

    for (size_t p = 0; p < wish.nplatforms; p++) wish.jobs[p] = w->npoints;
    st = cbx__resources_find(w->ctx, &wish, &w->resources, err);
    if (st) return st;
    cbx__topology_read(NULL, cpus, cbx__affinity(cpus, CBX_LEN(cpus)), &w->resources.topology);
    cbx__resources_deal(&wish, &w->resources);
    if (w->resources.note[0]) cbx__session_tell(&w->s, CBX_MEASURE_NOTE, 0, "%s", w->resources.note);
    w->s.resources = &w->resources;
    return CBX_OK;
}

#define MEMORY_SHARE 0.8

/* What parallel launches may have together is not more than what is free. */
static void settle_memory(cbx__sweep *w)
{
    uint64_t total, available, asked = w->s.opts->memory_limit_bytes;
    size_t parallel = w->resources.parallel ? w->resources.parallel : 1;

    w->s.memory_limit_bytes = asked;
    if (asked || cbx_machine_read_memory(w->ctx, NULL, &total, &available, NULL)) return;
    w->s.memory_limit_bytes = (uint64_t)(MEMORY_SHARE * (double)available / (double)parallel);
}

/* A platform without a device: every attempt is a row with that reason. */
static void skip_deviceless(const cbx__accelerators *devices, cbx__point *p)
{
    for (size_t i = 0; i < p->plan.count && devices->n == 0; i++) {
        cbx__attempt *a = &p->plan.attempts[i];
        if (!cbx__attempt_alive(a)) continue;
        a->failure = CBX_FAILURE_BACKEND_UNAVAILABLE;
        snprintf(a->message, sizeof(a->message), "no device for platform '%s': %.380s", p->platform, devices->why);
    }
}

/* --- points --- */

static cbx_status prepare_job(cbx__sweep *w, size_t i, const char *json, const char *what, cbx_err *err)
{
    const cbx_case_ops *c = w->s.opts->case_ops;
    cbx__point *p = &w->jobs[i];
    cbx_params *representative = NULL;
    cbx_status st;

    cbx_arena_init(&p->arena, cbx_ctx_allocator(w->ctx));
    st = cbx_case_point(w->ctx, c, json, what, &p->params, err);
    if (st) return st;
    p->json = cbx_params_json(p->params);
    c->label(p->params, p->label, sizeof(p->label));
    st = cbx_case_point(w->ctx, c, c->points[c->representative], c->name, &representative, err);
    if (st) return st;
    p->representative = !strcmp(p->json, cbx_params_json(representative));
    cbx_params_free(representative);
    w->queues[i] = i % w->s.nplatforms;
    p->platform = w->s.platforms[w->queues[i]];
    if (w->s.nplatforms > 1) p->making = &w->making[i / w->s.nplatforms];
    st = cbx__plan_make(&p->arena, w->s.opts, &p->platform, 1, p->params, &p->plan, err);
    if (!st && cbx__platform_has_devices(p->platform)) skip_deviceless(&w->resources.devices[w->queues[i]], p);
    return st;
}

static cbx_status allocate_jobs(cbx__sweep *w, size_t npoints, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(w->ctx);
    size_t n = npoints * w->s.nplatforms;

    w->jobs = cbx_mem_calloc(al, n, sizeof(*w->jobs));
    w->rows = cbx_mem_calloc(al, n, sizeof(*w->rows));
    w->done = cbx_mem_calloc(al, n, sizeof(*w->done));
    w->queues = cbx_mem_calloc(al, n, sizeof(*w->queues));
    w->making = cbx_mem_calloc(al, npoints, sizeof(*w->making));
    w->njobs = n;
    w->npoints = npoints;
    w->result->points = npoints;
    if (!w->jobs || !w->rows || !w->done || !w->queues || !w->making)
        return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu points", npoints);
    for (size_t i = 0; i < n; i++) cbx_rows_init(&w->rows[i], al);
    for (; w->nmaking < npoints; w->nmaking++) pthread_mutex_init(&w->making[w->nmaking], NULL);
    return CBX_OK;
}

static cbx_status prepare_jobs(cbx__sweep *w, cbx_err *err)
{
    const cbx_measure_opts *o = w->s.opts;
    const cbx_case_ops *c = o->case_ops;
    const char *const *texts = o->npoints ? o->points : o->quick ? &c->points[c->representative] : c->points;
    cbx_status st = allocate_jobs(w, o->npoints ? o->npoints : o->quick ? 1 : c->npoints, err);

    if (!st) st = settle_resources(w, err);
    for (size_t i = 0; i < w->njobs && !st; i++)
        st = prepare_job(w, i, texts[i / w->s.nplatforms], o->npoints ? "--point" : c->name, err);
    return st;
}

static cbx_status check_outputs(cbx__sweep *w, cbx_err *err)
{
    const cbx_measure_opts *o = w->s.opts;
    cbx_arena scratch;
    const char *probe;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = o->out_path ? cbx_file_check_writable(w->ctx, o->out_path, &why) : CBX_OK;

    if (st) return cbx_fail(err, st, "%s; choose another folder for results", why.message);
    if (!o->store_root) return CBX_OK;
    cbx_arena_init(&scratch, cbx_ctx_allocator(w->ctx));
    probe = cbx_path_join(&scratch, cbx_path_join(&scratch, o->store_root, o->case_ops->name), "writable");
    st = probe ? cbx_file_check_writable(w->ctx, probe, &why)
               : cbx_fail(&why, CBX_ENOMEM, "out of memory for the store's path");
    cbx_arena_clear(&scratch);
    return st ? cbx_fail(err, st, "%s; choose another store", why.message) : CBX_OK;
}

/* True if earlier rows leave nothing to measure of a point. */
static bool is_kept(const cbx__sweep *w, size_t point)
{
    const cbx__point *p = &w->jobs[point * w->s.nplatforms];
    bool resumed = false;

    for (size_t k = 0; k < w->s.nplatforms; k++) {
        if (cbx__plan_live(&p[k].plan)) return false;
        resumed = resumed || p[k].resumed;
    }
    return resumed;
}

static cbx_status take_over_rows(cbx__sweep *w, cbx_err *err)
{
    const cbx_measure_opts *o = w->s.opts;
    cbx_status st;

    if (o->out_path && !o->resume) {
        st = cbx__table_older(w->ctx, o->out_path, &w->older, err);
        if (!st && w->older.damaged)
            cbx__session_tell(&w->s, CBX_MEASURE_NOTE, 0, "%s; the line is removed", w->older.first_damage);
        return st;
    }
    if (!o->resume || !o->out_path || !cbx_path_exists(o->out_path)) return CBX_OK;
    st = cbx_rows_read(w->ctx, o->out_path, &w->kept, err);
    if (st) return st;
    if (w->kept.damaged)
        cbx__session_tell(&w->s, CBX_MEASURE_NOTE, 0, "%s; it will be measured again", w->kept.first_damage);
    for (size_t i = 0; i < w->njobs; i++) {
        st = cbx__resume_point(&w->s, &w->jobs[i], &w->kept, err);
        if (st) return st;
    }
    for (size_t i = 0; i < w->npoints; i++) w->result->points_kept += is_kept(w, i);
    return CBX_OK;
}

/* --- the whole --- */

void cbx__sweep_clear(cbx__sweep *w)
{
    const cbx_allocator *al = cbx_ctx_allocator(w->ctx);

    for (size_t i = 0; w->jobs && w->rows && i < w->njobs; i++) {
        if (w->jobs[i].params) cbx_params_free(w->jobs[i].params);
        if (w->jobs[i].arena.al.resize) cbx_arena_clear(&w->jobs[i].arena);
        cbx_rows_clear(&w->rows[i]);
    }
    while (w->nmaking) pthread_mutex_destroy(&w->making[--w->nmaking]);
    cbx_mem_free(al, w->jobs, w->njobs * sizeof(*w->jobs));
    cbx_mem_free(al, w->rows, w->njobs * sizeof(*w->rows));
    cbx_mem_free(al, w->done, w->njobs * sizeof(*w->done));
    cbx_mem_free(al, w->queues, w->njobs * sizeof(*w->queues));
    cbx_mem_free(al, w->live, w->njobs * sizeof(*w->live));
    cbx_mem_free(al, w->making, w->npoints * sizeof(*w->making));
    cbx_rows_clear(&w->kept);
    cbx_rows_clear(&w->older);
    cbx__session_clear(&w->s);
}

cbx_status cbx__sweep_prepare(cbx__sweep *w, cbx_err *err)
{
    cbx_status st = cbx__plan_check(w->s.opts, err);

    if (st) return st;
    settle_counts(&w->s);
    st = settle_platforms(&w->s, err);
    if (!st) st = cbx__session_confine(w->ctx, &w->s, err);
    if (st) return st;
    st = cbx__policy_precision(w->s.opts->matmul_precision, &w->s.precision, err);
    if (st) return st;
    st = prepare_jobs(w, err);
    if (st) return st;
    st = check_outputs(w, err);
    if (st) return st;
    settle_memory(w);
    cbx__session_learn(w->ctx, &w->s);
    st = take_over_rows(w, err);
    if (st) return st;
    for (size_t i = 0; i < w->njobs; i++)
        cbx__session_promise(&w->s, &w->jobs[i], cbx__plan_live(&w->jobs[i].plan) * w->s.launches);
    return CBX_OK;
}
