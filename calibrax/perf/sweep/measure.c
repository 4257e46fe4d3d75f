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
#include "calibrax/core/machine.h"
#include "calibrax/perf/sweep/budget.h"
#include "calibrax/perf/sweep/pilot.h"
#include "calibrax/perf/sweep/public.h"
#include "calibrax/perf/sweep/run_table.h"
#include "calibrax/perf/sweep/stopping.h"

#define MANY_LAUNCHES 500
#define LAUNCH_S      0.3 /* of a small native point, all in all: a guess that is printed before anything is known */

/* The sweep's own state around the session: the points and what came of them. */
typedef struct sweep {
    cbx__session s;
    cbx_ctx *ctx;
    cbx_arena arena;
    cbx__point *jobs; /* by point, then platform */
    cbx_rows *rows;   /* of each job, once it is done */
    bool *done;
    size_t *queues; /* of each job: its platform */
    size_t *live;   /* jobs that are dispatched */
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
static void settle_memory(sweep *w)
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
    if (!devices->n)
        cbx__plan_fail(&p->plan, CBX_FAILURE_BACKEND_UNAVAILABLE, "no device for platform '%s': %.380s", p->platform,
                       devices->why);
}

/* --- points --- */

static cbx_status prepare_job(sweep *w, size_t i, const char *json, const char *what, cbx_err *err)
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
    st = cbx__plan_make(&p->arena, w->s.opts, p->platform, p->params, &p->plan, err);
    if (!st && cbx__platform_has_devices(p->platform)) skip_deviceless(&w->resources.devices[w->queues[i]], p);
    return st;
}

static cbx_status allocate_jobs(sweep *w, size_t npoints, cbx_err *err)
{
    const size_t n = npoints * w->s.nplatforms;

    w->jobs = cbx_arena_calloc(&w->arena, n, sizeof(*w->jobs));
    w->rows = cbx_arena_calloc(&w->arena, n, sizeof(*w->rows));
    w->done = cbx_arena_calloc(&w->arena, n, sizeof(*w->done));
    w->queues = cbx_arena_calloc(&w->arena, n, sizeof(*w->queues));
    w->live = cbx_arena_calloc(&w->arena, n, sizeof(*w->live));
    w->making = cbx_arena_calloc(&w->arena, npoints, sizeof(*w->making));
    w->npoints = npoints;
    w->result->points = npoints;
    if (!w->jobs || !w->rows || !w->done || !w->queues || !w->live || !w->making)
        return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu points", npoints);
    for (; w->njobs < n; w->njobs++) cbx_rows_init(&w->rows[w->njobs], cbx_ctx_allocator(w->ctx));
    for (; w->nmaking < npoints; w->nmaking++) pthread_mutex_init(&w->making[w->nmaking], NULL);
    return CBX_OK;
}

static cbx_status prepare_jobs(sweep *w, cbx_err *err)
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

static cbx_status check_outputs(sweep *w, cbx_err *err)
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
static bool is_kept(const sweep *w, size_t point)
{
    const cbx__point *p = &w->jobs[point * w->s.nplatforms];
    bool resumed = false;

    for (size_t k = 0; k < w->s.nplatforms; k++) {
        if (cbx__plan_live(&p[k].plan)) return false;
        resumed = resumed || p[k].resumed;
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
        st = cbx__resume_point(&w->s, &w->jobs[i], &w->kept, err);
        if (st) return st;
    }
    for (size_t i = 0; i < w->npoints; i++) w->result->points_kept += is_kept(w, i);
    return CBX_OK;
}

static void sweep_clear(sweep *w)
{
    for (size_t i = 0; i < w->njobs; i++) {
        cbx_params_free(w->jobs[i].params);
        if (w->jobs[i].arena.al.resize) cbx_arena_clear(&w->jobs[i].arena);
        cbx_rows_clear(&w->rows[i]);
    }
    while (w->nmaking) pthread_mutex_destroy(&w->making[--w->nmaking]);
    cbx_arena_clear(&w->arena);
    cbx_rows_clear(&w->kept);
    cbx_rows_clear(&w->older);
    cbx__session_clear(&w->s);
}

static cbx_status sweep_prepare(sweep *w, cbx_err *err)
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

/* --- jobs --- */

/* Everything known now as one table, in the arena. */
static cbx_status lay_table(sweep *w, cbx_arena *arena, cbx_row **rows, size_t *count, cbx_err *err)
{
    cbx__table_part *parts = cbx_arena_calloc(arena, w->njobs + 1, sizeof(*parts));
    cbx_status st;

    if (!parts) return cbx_fail(err, CBX_ENOMEM, "out of memory for the table of %zu points", w->npoints);
    for (size_t i = 0; i < w->njobs; i++)
        parts[i] = (cbx__table_part){ w->jobs[i].json, w->done[i] ? &w->rows[i] : NULL };
    st = cbx__table_lay(&w->s, parts, w->njobs, &w->kept, arena, rows, count, err);
    return st ? st : cbx__table_correct(w->s.opts->case_ops->name, *rows, *count, arena, err);
}

/* Finished points over kept rows, as one file.  The caller holds the lock. */
static cbx_status write_rows(cbx_ctx *ctx, sweep *w, cbx_err *err)
{
    cbx_arena arena;
    cbx_row *rows = NULL;
    size_t n = 0;
    cbx_status st;

    if (!w->s.opts->out_path) return CBX_OK;
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    st = lay_table(w, &arena, &rows, &n, err);
    if (!st) st = cbx__table_write(ctx, w->s.opts->out_path, rows, n, &w->older, err);
    cbx_arena_clear(&arena);
    return st;
}

static void free_launches(cbx__point *p)
{
    for (size_t i = 0; i < p->plan.count; i++) {
        for (cbx__launch *l = p->plan.attempts[i].first; l; l = l->next) cbx_launch_record_clear(&l->record);
    }
}

/* Rows name no path of this machine; progress notes have the whole sentence. */
static void publish_messages(sweep *w, cbx__point *p)
{
    char whole[CBX_ERR_MESSAGE_SIZE], reported[CBX_ERR_MESSAGE_SIZE] = "";

    for (size_t i = 0; i < p->plan.count; i++) {
        cbx__attempt *a = &p->plan.attempts[i];
        memcpy(whole, a->message, sizeof(whole));
        cbx__public_message(a->message);
        if (!strcmp(whole, a->message) || !strcmp(whole, reported)) continue;
        cbx__session_tell(&w->s, CBX_MEASURE_NOTE, 0, "%s: %s", a->baseline->name, whole);
        memcpy(reported, whole, sizeof(reported));
    }
}

static cbx_status finish_job(cbx_ctx *ctx, sweep *w, size_t i, cbx_err *err)
{
    cbx__point *p = &w->jobs[i];
    cbx_status st = cbx__rows_judge(ctx, &w->s, p, err);

    if (st) return st;
    publish_messages(w, p);
    pthread_mutex_lock(&w->s.lock);
    st = cbx__rows_make(ctx, &w->s, p, &w->rows[i], &w->result->raw, err);
    if (!st) {
        w->done[i] = true;
        st = write_rows(ctx, w, err);
    }
    pthread_mutex_unlock(&w->s.lock);
    if (!st) cbx__session_tell(&w->s, CBX_MEASURE_DONE, 0, "%s", p->label);
    return st;
}

/* Launches the plan made ready but did not make: failed attempts, fewer rounds. */
static void settle_total(cbx__session *s, cbx__point *p)
{
    size_t made = 0;

    for (size_t i = 0; i < p->plan.count; i++) made += p->plan.attempts[i].nlaunches - p->plan.attempts[i].retries;
    cbx__session_promise(s, p, made);
}

static double elapsed_s(const sweep *w) { return 1e-9 * (double)(cbx_clock_ns() - w->s.started_ns); }

/* Its share of the time; where none is left the point is a row with that reason. */
static void begin_in_budget(sweep *w, size_t i)
{
    cbx__point *p = &w->jobs[i];
    bool goes_on;

    pthread_mutex_lock(&w->s.lock);
    goes_on = cbx__budget_begin(&w->budget, w->queues[i], elapsed_s(w), &p->share_s);
    pthread_mutex_unlock(&w->s.lock);
    if (goes_on) return;
    cbx__plan_fail(&p->plan, CBX_FAILURE_BUDGET_SPENT, "the budget of %g s was spent before this point", w->s.budget_s);
    cbx__session_tell(&w->s, CBX_MEASURE_NOTE, 0, "%s: the budget of %g s was spent before this point", p->label,
                      w->s.budget_s);
}

/* One job on the cores and the device that are held for it; hold NULL: nothing is left to
 * measure. */
static cbx_status measure_job(cbx_ctx *ctx, sweep *w, size_t i, const cbx__hold *hold, cbx_err *err)
{
    cbx__point *p = &w->jobs[i];
    cbx_status st;

    p->share_s = INFINITY;
    if (hold) begin_in_budget(w, i);
    if (hold) {
        const cbx__cores *cores = &hold->resource->cores;
        memcpy(p->cores, cores->cpus, cores->ncpus * sizeof(*p->cores));
        p->ncores = cores->ncpus;
        p->device = hold->resource->device;
        if (p->device) snprintf(p->device_word, sizeof(p->device_word), "%u", p->device->number);
        p->hold = hold;
    }
    if (p->promised && p->device)
        cbx__session_tell(&w->s, CBX_MEASURE_POINT, 0, "%s on device %s", p->label, p->device_word);
    else if (p->promised)
        cbx__session_tell(&w->s, CBX_MEASURE_POINT, 0, "%s", p->label);
    st = cbx__point_measure(ctx, &w->s, p, err);
    p->hold = NULL;
    settle_total(&w->s, p);
    if (!st) st = finish_job(ctx, w, i, err);
    free_launches(p);
    return st;
}

static cbx_status run_job(void *user, cbx_ctx *ctx, size_t job, const cbx__hold *hold, cbx_err *err)
{
    sweep *w = user;
    return measure_job(ctx, w, w->live[job], hold, err);
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
        const size_t i = k % w->njobs;
        if (w->jobs[i].representative != (k < w->njobs)) continue;
        if (cbx__plan_live(&w->jobs[i].plan) == 0) {
            st = measure_job(w->ctx, w, i, NULL, err);
            continue;
        }
        cbx__budget_add(&w->budget, w->queues[i]);
        queues[n] = w->queues[i];
        w->live[n++] = i;
    }
    d.njobs = n;
    return st ? st : cbx__dispatch_run(w->ctx, &d, err);
}

/* --- results --- */

static bool has_good_row(const sweep *w, size_t point)
{
    for (size_t i = point * w->s.nplatforms; i < (point + 1) * w->s.nplatforms; i++) {
        for (size_t r = 0; w->done[i] && r < w->rows[i].count; r++) {
            if (cbx_row_is_good(&w->rows[i].rows[r]) && !cbx_row_is_limit(&w->rows[i].rows[r])) return true;
        }
    }
    return false;
}

/* The table as the file has it; a point is good by the rows of this run and those it took over. */
static cbx_status collect(sweep *w, cbx_err *err)
{
    cbx_arena arena;
    cbx_row *rows = NULL;
    size_t n = 0;
    cbx_status st;

    for (size_t i = 0; i < w->npoints; i++) w->result->points_good += has_good_row(w, i);
    cbx_arena_init(&arena, cbx_ctx_allocator(w->ctx));
    st = lay_table(w, &arena, &rows, &n, err);
    if (!st) st = cbx__table_read(rows, n, &w->result->rows, err);
    cbx_arena_clear(&arena);
    return st;
}

/* Rows of this run only: kept ones are in the store already. */
static cbx_status store_rows(sweep *w, cbx_err *err)
{
    cbx_rows *all = &w->result->rows;
    cbx_row *mine;
    size_t n = 0;

    if (!w->s.opts->store_root) return CBX_OK;
    mine = cbx_arena_calloc(&w->arena, all->count + 1, sizeof(*mine));
    if (!mine) return cbx_fail(err, CBX_ENOMEM, "out of memory for the store");
    for (size_t i = 0; i < all->count; i++) {
        if (all->rows[i].run_id && !strcmp(all->rows[i].run_id, w->s.run_id)) mine[n++] = all->rows[i];
    }
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
    cbx_status st, end;

    cbx__session_init(&w.s, opts);
    cbx_arena_init(&w.arena, cbx_ctx_allocator(ctx));
    cbx_rows_init(&w.kept, cbx_ctx_allocator(ctx));
    cbx_rows_init(&w.older, cbx_ctx_allocator(ctx));
    st = sweep_prepare(&w, err);
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
    end = collect(&w, &second);
    if (!end) end = store_rows(&w, &second);
    if (!st && end) st = cbx_fail(err, end, "%s", second.message);
done:
    sweep_clear(&w);
    return st;
}
