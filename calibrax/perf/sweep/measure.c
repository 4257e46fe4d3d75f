/**
 * The sweep: what its options mean, its jobs with their plans, the row file after each job, and the
 * store at the end.
 *
 * A job is a point on one platform.  dispatch.c gives it to a CPU slot or a device, each with a
 * thread, a context and cores of its own.  Jobs meet only under the session's lock, where rows are
 * made (JSON values are not for two threads) and the file is written.
 */
#include "calibrax/perf/sweep/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/idioms.h"
#include "calibrax/core/machine.h"
#include "calibrax/perf/schedule/dispatch.h"
#include "calibrax/perf/sweep/public.h"
#include "calibrax/perf/sweep/run_table.h"
#include "calibrax/perf/sweep/stopping.h"

#define MANY_LAUNCHES 500
#define MEMORY_SHARE  0.8 /* of what is free, for all parallel launches together */
#define LAUNCH_S      0.3 /* of a small native point, all in all: a guess that is printed before anything is known */

/* A point on one platform, and what came of it. */
typedef struct job {
    cbx__point p;
    cbx_rows rows; /* once it is done */
    bool done;
    size_t queue; /* its platform */
} job;

/* The sweep's own state around the session: the points and what came of them. */
typedef struct sweep {
    cbx__session s;
    cbx_ctx *ctx;
    cbx_arena arena;
    job *jobs;    /* by point, then platform */
    size_t *live; /* jobs that are dispatched */
    size_t njobs, npoints;
    pthread_mutex_t *making; /* of each point */
    size_t nmaking;
    cbx__resources resources;
    cbx_rows kept;      /* what resume read */
    cbx_rows older;     /* without resume: what the row file had, of which other keys stay */
    cbx__budget budget; /* under the session's lock */
    cbx_measure_result *result;
} sweep;

/* --- options --- */

/* What the options mean when they are left at 0, one column for --quick. */
static const struct {
    size_t launches, warmup, epochs, slow_epochs;
    double slow_call_s;
} defaults[2] = {
    { 11, 3, 10, 3, 1.0 },
    { 6, 1, 10, 1, 0.1 },
};

static cbx_status settle_platforms(cbx__session *s, cbx_err *err)
{
    for (size_t i = 0; i < s->opts->nplatforms; i++) {
        const char *name;
        bool twice = false;
        cbx_status st = cbx_platform_parse(s->opts->platforms[i], &name, err);
        if (st) return st;
        for (size_t j = 0; j < s->nplatforms; j++) twice = twice || s->platforms[j] == name;
        if (!twice) s->platforms[s->nplatforms++] = name;
    }
    if (!s->nplatforms) s->platforms[s->nplatforms++] = "cpu";
    return CBX_OK;
}

/* Cores and devices, for the jobs that there are. */
static cbx_status settle_resources(sweep *w, cbx_err *err)
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

    for (size_t p = 0; p < wish.nplatforms; p++) wish.jobs[p] = w->npoints;
    cbx_status st = cbx__resources_find(w->ctx, &wish, &w->resources, err);
    if (st) return st;
    cbx__topology_read(NULL, cpus, cbx__affinity(cpus, CBX_LEN(cpus)), &w->resources.topology);
    cbx__resources_deal(&wish, &w->resources);
    if (w->resources.note[0]) cbx__session_tell(&w->s, CBX_MEASURE_NOTE, 0, "%s", w->resources.note);
    w->s.resources = &w->resources;
    return CBX_OK;
}

/* --- points --- */

static cbx_status prepare_job(sweep *w, size_t i, const char *json, const char *what, cbx_err *err)
{
    const cbx_case_ops *c = w->s.opts->case_ops;
    cbx__point *p = &w->jobs[i].p;
    cbx_params *representative = NULL;

    cbx_arena_init(&p->arena, cbx_ctx_allocator(w->ctx));
    cbx_status st = cbx_case_point(w->ctx, c, json, what, &p->params, err);
    if (!st) st = cbx_case_point(w->ctx, c, c->points[c->representative], c->name, &representative, err);
    if (st) return st;
    p->json = cbx_params_json(p->params);
    c->label(p->params, p->label, sizeof(p->label));
    p->representative = !strcmp(p->json, cbx_params_json(representative));
    cbx_params_free(representative);
    w->jobs[i].queue = i % w->s.nplatforms;
    p->platform = w->s.platforms[w->jobs[i].queue];
    if (w->s.nplatforms > 1) p->making = &w->making[i / w->s.nplatforms];
    st = cbx__plan_make(&p->arena, w->s.opts, p->platform, p->params, &p->plan, err);
    const cbx__accelerators *devices = &w->resources.devices[w->jobs[i].queue];
    if (!st && cbx__platform_has_devices(p->platform) && !devices->n) /* every attempt is a row with that reason */
        cbx__plan_fail(&p->plan, CBX_FAILURE_BACKEND_UNAVAILABLE, "no device for platform '%s': %.380s", p->platform,
                       devices->why);
    return st;
}

static cbx_status prepare_jobs(sweep *w, cbx_err *err)
{
    const cbx_measure_opts *o = w->s.opts;
    const cbx_case_ops *c = o->case_ops;
    const char *const *texts = o->npoints ? o->points : o->quick ? &c->points[c->representative] : c->points;
    const size_t npoints = o->npoints ? o->npoints : o->quick ? 1 : c->npoints, n = npoints * w->s.nplatforms;

    w->jobs = cbx_arena_calloc(&w->arena, n, sizeof(*w->jobs));
    w->live = cbx_arena_calloc(&w->arena, n, sizeof(*w->live));
    w->making = cbx_arena_calloc(&w->arena, npoints, sizeof(*w->making));
    w->npoints = w->result->points = npoints;
    if (!w->jobs || !w->live || !w->making) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu points", npoints);
    for (; w->njobs < n; w->njobs++) cbx_rows_init(&w->jobs[w->njobs].rows, cbx_ctx_allocator(w->ctx));
    for (; w->nmaking < npoints; w->nmaking++) pthread_mutex_init(&w->making[w->nmaking], NULL);
    cbx_status st = settle_resources(w, err);
    for (size_t i = 0; i < n && !st; i++)
        st = prepare_job(w, i, texts[i / w->s.nplatforms], o->npoints ? "--point" : c->name, err);
    return st;
}

static cbx_status check_outputs(sweep *w, cbx_err *err)
{
    const cbx_measure_opts *o = w->s.opts;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = o->out_path ? cbx_file_check_writable(w->ctx, o->out_path, &why) : CBX_OK;

    if (st) return cbx_fail(err, st, "%s; choose another folder for results", why.message);
    if (!o->store_root) return CBX_OK;
    CBX_SCOPED(cbx_arena, scratch, cbx_ctx_allocator(w->ctx));
    const char *probe = cbx_path_join(&scratch, cbx_path_join(&scratch, o->store_root, o->case_ops->name), "writable");
    st = probe ? cbx_file_check_writable(w->ctx, probe, &why)
               : cbx_fail(&why, CBX_ENOMEM, "out of memory for the store's path");
    return st ? cbx_fail(err, st, "%s; choose another store", why.message) : CBX_OK;
}

/* True if earlier rows leave nothing to measure of a point. */
static bool is_kept(const sweep *w, size_t point)
{
    const job *j = &w->jobs[point * w->s.nplatforms];
    bool resumed = false;

    for (const job *end = j + w->s.nplatforms; j < end; j++) {
        if (cbx__plan_live(&j->p.plan)) return false;
        resumed = resumed || j->p.resumed;
    }
    return resumed;
}

static cbx_status take_over_rows(sweep *w, cbx_err *err)
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
        st = cbx__resume_point(&w->s, &w->jobs[i].p, &w->kept, err);
        if (st) return st;
    }
    for (size_t i = 0; i < w->npoints; i++) w->result->points_kept += is_kept(w, i);
    return CBX_OK;
}

static cbx_status sweep_prepare(sweep *w, cbx_err *err)
{
    cbx_status st = cbx__plan_check(w->s.opts, err);

    if (st) return st;
    const cbx_measure_opts *o = w->s.opts;
    bool chosen = o->repeats > 0; /* who asks for a number of epochs gets it, unless quick */
    w->s.goal = (cbx__goal){ o->precision, o->decide };
    w->s.launches = o->launches                    ? o->launches
                    : cbx__stopping_by_goal(&w->s) ? CBX__MAX_LAUNCHES
                                                   : defaults[o->quick].launches;
    w->s.warmup = o->warmup >= 0 ? (size_t)o->warmup : defaults[o->quick].warmup;
    w->s.epochs = chosen ? o->repeats : defaults[o->quick].epochs;
    w->s.slow_epochs = defaults[o->quick].slow_epochs;
    w->s.slow_call_s = chosen && !o->quick ? 0 : defaults[o->quick].slow_call_s;
    w->s.budget_s = o->budget_s;
    w->s.epoch_target_s = o->epoch_target_s > 0 ? o->epoch_target_s : 0.020;
    w->s.timeout_s = o->worker_timeout_s > 0 ? o->worker_timeout_s : 3600;
    w->s.threads = o->threads > 0 ? o->threads : 1;
    st = settle_platforms(&w->s, err);
    if (!st) st = cbx__session_confine(w->ctx, &w->s, err);
    if (!st) st = cbx__policy_precision(w->s.opts->matmul_precision, &w->s.precision, err);
    if (!st) st = prepare_jobs(w, err);
    if (!st) st = check_outputs(w, err);
    if (st) return st;
    uint64_t total, available, *limit = &w->s.memory_limit_bytes;
    *limit = w->s.opts->memory_limit_bytes;
    if (!*limit && !cbx_machine_read_memory(w->ctx, NULL, &total, &available, NULL))
        *limit = (uint64_t)(MEMORY_SHARE * (double)available / fmax(1, (double)w->resources.parallel));
    cbx__session_learn(w->ctx, &w->s);
    st = take_over_rows(w, err);
    for (job *j = w->jobs; !st && j < w->jobs + w->njobs; j++)
        cbx__session_promise(&w->s, &j->p, cbx__plan_live(&j->p.plan) * w->s.launches);
    return st;
}

/* --- jobs --- */

/* Everything known now as one table, in the arena. */
static cbx_status lay_table(sweep *w, cbx_arena *arena, cbx_row **rows, size_t *count, cbx_err *err)
{
    cbx__table_part *parts = cbx_arena_calloc(arena, w->njobs + 1, sizeof(*parts));

    if (!parts) return cbx_fail(err, CBX_ENOMEM, "out of memory for the table of %zu points", w->npoints);
    for (size_t i = 0; i < w->njobs; i++)
        parts[i] = (cbx__table_part){ w->jobs[i].p.json, w->jobs[i].done ? &w->jobs[i].rows : NULL };
    cbx_status st = cbx__table_lay(&w->s, parts, w->njobs, &w->kept, arena, rows, count, err);
    return st ? st : cbx__table_correct(w->s.opts->case_ops->name, *rows, *count, arena, err);
}

/* Its rows, and the row file: finished points over kept rows. */
static cbx_status finish_job(cbx_ctx *ctx, sweep *w, job *j, cbx_err *err)
{
    const char *path = w->s.opts->out_path;
    char whole[CBX_ERR_MESSAGE_SIZE], reported[CBX_ERR_MESSAGE_SIZE] = "";
    cbx_row *rows = NULL;
    size_t n = 0;
    cbx_status st = cbx__rows_judge(ctx, &w->s, &j->p, err);

    if (st) return st;
    for (cbx__attempt *a = j->p.plan.attempts; a < j->p.plan.attempts + j->p.plan.count; a++) {
        memcpy(whole, a->message, sizeof(whole)); /* rows name no path of this machine; notes have it all */
        cbx__public_message(a->message);
        if (!strcmp(whole, a->message) || !strcmp(whole, reported)) continue;
        cbx__session_tell(&w->s, CBX_MEASURE_NOTE, 0, "%s: %s", a->baseline->name, whole);
        memcpy(reported, whole, sizeof(reported));
    }
    pthread_mutex_lock(&w->s.lock);
    st = cbx__rows_make(ctx, &w->s, &j->p, &j->rows, &w->result->raw, err);
    j->done = !st;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    if (!st && path) st = lay_table(w, &arena, &rows, &n, err);
    if (!st && path) st = cbx__table_write(ctx, path, rows, n, &w->older, err);
    pthread_mutex_unlock(&w->s.lock);
    if (!st) cbx__session_tell(&w->s, CBX_MEASURE_DONE, 0, "%s", j->p.label);
    return st;
}

/* One of the live jobs on the cores and the device that are held for it; hold NULL: nothing is left
 * to measure. */
static cbx_status run_job(void *user, cbx_ctx *ctx, size_t number, const cbx__hold *hold, cbx_err *err)
{
    sweep *w = user;
    job *j = &w->jobs[w->live[number]];
    cbx__point *p = &j->p;
    size_t made = 0;

    p->share_s = INFINITY;
    if (hold) {
        const cbx__cores *cores = &hold->resource->cores;
        /* its share of the time; where none is left the point is a row with that reason */
        pthread_mutex_lock(&w->s.lock);
        const double elapsed_s = 1e-9 * (double)(cbx_clock_ns() - w->s.started_ns);
        const bool goes_on = cbx__budget_begin(&w->budget, j->queue, elapsed_s, &p->share_s);
        pthread_mutex_unlock(&w->s.lock);
        if (!goes_on) {
            cbx__plan_fail(&p->plan, CBX_FAILURE_BUDGET_SPENT, "the budget of %g s was spent before this point",
                           w->s.budget_s);
            cbx__session_tell(&w->s, CBX_MEASURE_NOTE, 0, "%s: the budget of %g s was spent before this point",
                              p->label, w->s.budget_s);
        }
        memcpy(p->cores, cores->cpus, cores->ncpus * sizeof(*p->cores));
        p->ncores = cores->ncpus;
        p->device = hold->resource->device;
        if (p->device) snprintf(p->device_word, sizeof(p->device_word), "%u", p->device->number);
        p->hold = hold;
    }
    if (p->promised)
        cbx__session_tell(&w->s, CBX_MEASURE_POINT, 0, p->device ? "%s on device %s" : "%s", p->label, p->device_word);
    cbx_status st = cbx__point_measure(ctx, &w->s, p, err);
    p->hold = NULL;
    for (const cbx__attempt *a = p->plan.attempts; a < p->plan.attempts + p->plan.count; a++)
        made += a->nlaunches - a->retries;
    cbx__session_promise(&w->s, p, made); /* of those that were planned some may not have been made */
    if (!st) st = finish_job(ctx, w, j, err);
    for (cbx__attempt *a = p->plan.attempts; a < p->plan.attempts + p->plan.count; a++)
        for (cbx__launch *l = a->first; l; l = l->next) cbx_launch_record_clear(&l->record);
    return st;
}

static void tell_note(void *user, const char *text)
{
    sweep *w = user;
    cbx__session_tell(&w->s, CBX_MEASURE_NOTE, 0, "%s", text);
}

/* Jobs with nothing to measure are rows at once; the others wait for their slot or device, the
 * representative point's first: a run that is stopped has measured what matters. */
static cbx_status run_jobs(sweep *w, cbx_err *err)
{
    size_t *queues = cbx_arena_calloc(&w->arena, w->njobs, sizeof(*queues)), n = 0;
    cbx__dispatch d = { .resources = w->resources.list,
                        .nresources = w->resources.n,
                        .queues = queues,
                        .max_parallel = w->resources.parallel,
                        .lock_wait_s = w->s.opts->lock_wait_s > 0 ? w->s.opts->lock_wait_s : w->s.timeout_s,
                        .stop = w->s.opts->stop,
                        .run = run_job,
                        .note = tell_note,
                        .user = w };
    cbx_status st = CBX_OK;

    cbx__budget_init(&w->budget, w->s.budget_s, &w->resources);
    if (!queues) st = cbx_fail(err, CBX_ENOMEM, "out of memory for %zu jobs", w->njobs);
    for (size_t k = 0; k < 2 * w->njobs && !st; k++) {
        const job *j = &w->jobs[k % w->njobs];
        if (j->p.representative != (k < w->njobs)) continue;
        w->live[n] = k % w->njobs;
        if (cbx__plan_live(&j->p.plan) == 0) {
            st = run_job(w, w->ctx, n, NULL, err);
            continue;
        }
        cbx__budget_add(&w->budget, j->queue);
        queues[n++] = j->queue;
    }
    d.njobs = n;
    return st ? st : cbx__dispatch_run(w->ctx, &d, err);
}

/* --- results --- */

/* Rows of this run only: kept ones are in the store already. */
static cbx_status store_rows(sweep *w, cbx_err *err)
{
    cbx_rows *all = &w->result->rows;
    size_t n = 0;

    if (!w->s.opts->store_root) return CBX_OK;
    cbx_row *mine = cbx_arena_calloc(&w->arena, all->count + 1, sizeof(*mine));
    if (!mine) return cbx_fail(err, CBX_ENOMEM, "out of memory for the store");
    for (size_t i = 0; i < all->count; i++)
        if (all->rows[i].run_id && !strcmp(all->rows[i].run_id, w->s.run_id)) mine[n++] = all->rows[i];
    if (!n) return CBX_OK;
    return cbx_row_store_put(w->ctx, w->s.opts->store_root, w->s.opts->case_ops->name, w->s.run_id, mine, n,
                             cbx_text_str(&w->result->raw), err);
}

void cbx_measure_result_init(cbx_measure_result *r, const cbx_allocator *al)
{
    memset(r, 0, sizeof(*r));
    cbx_rows_init(&r->rows, al);
    cbx_text_init(&r->raw, al);
}

void cbx_measure_result_clear(cbx_measure_result *r)
{
    cbx_rows_clear(&r->rows);
    cbx_text_clear(&r->raw);
    memset(r, 0, sizeof(*r));
}

cbx_status cbx_measure_run(cbx_ctx *ctx, const cbx_measure_opts *opts, cbx_measure_result *result, cbx_err *err)
{
    sweep w = { .ctx = ctx, .result = result };
    cbx_err second = CBX_ERR_INIT;

    cbx__session_init(&w.s, opts);
    cbx_arena_init(&w.arena, cbx_ctx_allocator(ctx));
    cbx_rows_init(&w.kept, cbx_ctx_allocator(ctx));
    cbx_rows_init(&w.older, cbx_ctx_allocator(ctx));
    cbx_status st = sweep_prepare(&w, err);
    if (st) goto done;
    memcpy(result->run_id, w.s.run_id, sizeof(result->run_id));
    if (w.s.launches_total >= MANY_LAUNCHES)
        cbx__session_tell(
            &w.s, CBX_MEASURE_NOTE, 0,
            "%zu launches at %zu points, about %.0f min at %.1f s each; fewer points, fewer launches or a "
            "budget of time shorten it",
            w.s.launches_total, w.npoints, (double)w.s.launches_total * LAUNCH_S / 60, LAUNCH_S);
    st = run_jobs(&w, err);
    result->interrupted = cbx__session_stopped(&w.s);
    /* The table as the file has it; a point is good by the rows of this run and those it
     * took over. */
    cbx_row *rows = NULL;
    size_t n = 0;
    for (size_t i = 0; i < w.npoints; i++) {
        bool good = false;
        for (const job *j = w.jobs + i * w.s.nplatforms; j < w.jobs + (i + 1) * w.s.nplatforms; j++)
            for (size_t r = 0; j->done && r < j->rows.count; r++)
                good = good || (cbx_row_is_good(&j->rows.rows[r]) && !cbx_row_is_limit(&j->rows.rows[r]));
        w.result->points_good += good;
    }
    cbx_status end = lay_table(&w, &w.arena, &rows, &n, &second);
    if (!end) end = cbx__table_read(rows, n, &w.result->rows, &second);
    if (!end) end = store_rows(&w, &second);
    if (!st && end) st = cbx_fail(err, end, "%s", second.message);
done:
    for (size_t i = 0; i < w.njobs; i++) {
        cbx_params_free(w.jobs[i].p.params);
        if (w.jobs[i].p.arena.al.resize) cbx_arena_clear(&w.jobs[i].p.arena);
        cbx_rows_clear(&w.jobs[i].rows);
    }
    while (w.nmaking) pthread_mutex_destroy(&w.making[--w.nmaking]);
    cbx_arena_clear(&w.arena);
    cbx_rows_clear(&w.kept);
    cbx_rows_clear(&w.older);
    cbx__session_clear(&w.s);
    return st;
}
