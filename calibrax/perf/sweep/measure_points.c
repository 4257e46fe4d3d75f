/**
 * The sweep: runs the jobs that sweep.c has made, writes the row file after each, and stores the run at the end.
 *
 * A job is a point on one platform.  dispatch.c gives it to a CPU slot or a device, each with a thread, a context and cores of its own.
 * Jobs meet only under the session's lock, where rows are made (JSON values are not for two threads) and the file is written.
 */
#include "calibrax/perf/sweep/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/perf/sweep/budget.h"
#include "calibrax/perf/sweep/public.h"
#include "calibrax/perf/sweep/sweep.h"
#include "calibrax/perf/sweep/table.h"

#define MANY_LAUNCHES 500
#define LAUNCH_S      0.3 /* of a small native point, all in all: a guess that is printed before anything is known */

/* --- jobs --- */

/* Everything known now as one table, in the arena. */
static cbx_status lay_table(cbx__sweep *w, cbx_arena *arena, cbx_row **rows, size_t *count, cbx_err *err)
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
static cbx_status write_rows(cbx_ctx *ctx, cbx__sweep *w, cbx_err *err)
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
static void publish_messages(cbx__sweep *w, cbx__point *p)
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

static cbx_status finish_job(cbx_ctx *ctx, cbx__sweep *w, size_t i, cbx_err *err)
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

static double elapsed_s(const cbx__sweep *w) { return 1e-9 * (double)(cbx_clock_ns() - w->s.started_ns); }

/* Its share of the time; where none is left the point is a row with that reason. */
static void begin_in_budget(cbx__sweep *w, size_t i)
{
    cbx__point *p = &w->jobs[i];
    bool goes_on;

    pthread_mutex_lock(&w->s.lock);
    goes_on = cbx__budget_begin(&w->budget, w->queues[i], elapsed_s(w), &p->share_s);
    pthread_mutex_unlock(&w->s.lock);
    for (size_t k = 0; k < p->plan.count && !goes_on; k++) {
        cbx__attempt *a = &p->plan.attempts[k];
        if (!cbx__attempt_alive(a)) continue;
        a->failure = CBX_FAILURE_BUDGET_SPENT;
        snprintf(a->message, sizeof(a->message), "the budget of %g s was spent before this point", w->s.budget_s);
    }
    if (!goes_on)
        cbx__session_tell(&w->s, CBX_MEASURE_NOTE, 0, "%s: the budget of %g s was spent before this point", p->label,
                          w->s.budget_s);
}

/* One job on the cores and the device that are held for it; hold NULL: nothing is left to measure. */
static cbx_status measure_job(cbx_ctx *ctx, cbx__sweep *w, size_t i, const cbx__hold *hold, cbx_err *err)
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
    cbx__sweep *w = user;
    return measure_job(ctx, w, w->live[job], hold, err);
}

static void tell_note(void *user, const char *text)
{
    cbx__sweep *w = user;
    cbx__session_tell(&w->s, CBX_MEASURE_NOTE, 0, "%s", text);
}

/* Jobs with nothing to measure are rows at once; the others wait for their slot or device, the representative point's first: a run that is
 * stopped has measured what matters. */
static cbx_status run_jobs(cbx__sweep *w, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(w->ctx);
    size_t *queues = cbx_mem_calloc(al, w->njobs, sizeof(*queues)), n = 0;
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

    w->live = cbx_mem_calloc(al, w->njobs, sizeof(*w->live));
    cbx__budget_init(&w->budget, w->s.budget_s, &w->resources);
    if (!queues || !w->live) st = cbx_fail(err, CBX_ENOMEM, "out of memory for %zu jobs", w->njobs);
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
    if (!st) st = cbx__dispatch_run(w->ctx, &d, NULL, err);
    cbx_mem_free(al, queues, w->njobs * sizeof(*queues));
    return st;
}

/* --- results --- */

static bool has_good_row(const cbx__sweep *w, size_t point)
{
    for (size_t i = point * w->s.nplatforms; i < (point + 1) * w->s.nplatforms; i++) {
        for (size_t r = 0; w->done[i] && r < w->rows[i].count; r++) {
            if (cbx_row_is_good(&w->rows[i].rows[r]) && !cbx_row_is_limit(&w->rows[i].rows[r])) return true;
        }
    }
    return false;
}

/* The table as the file has it; a point is good by the rows of this run and those it took over. */
static cbx_status collect(cbx__sweep *w, cbx_err *err)
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
static cbx_status store_rows(cbx__sweep *w, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(w->ctx);
    cbx_rows *all = &w->result->rows;
    cbx_row *mine;
    size_t n = 0;
    cbx_status st = CBX_OK;

    if (!w->s.opts->store_root) return CBX_OK;
    mine = cbx_mem_calloc(al, all->count + 1, sizeof(*mine));
    if (!mine) return cbx_fail(err, CBX_ENOMEM, "out of memory for the store");
    for (size_t i = 0; i < all->count; i++) {
        if (all->rows[i].run_id && !strcmp(all->rows[i].run_id, w->s.run_id)) mine[n++] = all->rows[i];
    }
    if (n) {
        st = cbx_row_store_put(w->ctx, w->s.opts->store_root, w->s.opts->case_ops->name, w->s.run_id, mine, n,
                               cbx_text_str(&w->result->raw), err);
    }
    cbx_mem_free(al, mine, (all->count + 1) * sizeof(*mine));
    return st;
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
    cbx__sweep w = { .ctx = ctx, .result = result };
    cbx_err second = CBX_ERR_INIT;
    cbx_status st, end;

    cbx__session_init(&w.s, opts);
    cbx_rows_init(&w.kept, cbx_ctx_allocator(ctx));
    cbx_rows_init(&w.older, cbx_ctx_allocator(ctx));
    st = cbx__sweep_prepare(&w, err);
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
    cbx__sweep_clear(&w);
    return st;
}
