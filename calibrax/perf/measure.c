/**
 * The sweep: settles the options, deals points to slots, writes the row file after each point, and stores the run at the end.
 *
 * A slot is a thread with a context and a group of cores of its own; the point is the unit that slots share out.  Slots meet only
 * under the session's lock, where rows are made (JSON values are not for two threads) and the file is written.
 */
#include "calibrax/perf/measure.h"

#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/perf/public.h"
#include "calibrax/perf/resume.h"
#include "calibrax/perf/session.h"
#include "calibrax/perf/table.h"

/** The sweep's own state around the session: the points and what came of them. */
typedef struct sweep {
    cbx__session s;
    cbx_ctx *ctx;
    cbx__point *points;
    cbx_rows *rows; /* of each point, once it is done */
    bool *done;
    size_t npoints;
    cbx_rows kept; /* what resume read */
    cbx_measure_result *result;
} sweep;

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

    s->launches = o->launches ? o->launches : defaults[o->quick].launches;
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

static void settle_slots(cbx__session *s, size_t npoints)
{
    size_t wanted = s->opts->cpu_slots ? s->opts->cpu_slots : 1;

    s->ncpus = cbx__affinity(s->cpus, CBX_LEN(s->cpus));
    s->slots = wanted;
    if (s->slots > s->ncpus) {
        s->slots = s->ncpus;
        cbx__session_tell(s, CBX_MEASURE_NOTE, 0, "--cpu-slots %zu: this process may use %zu CPUs, so it is %zu slots",
                          wanted, s->ncpus, s->slots);
    }
    if (s->slots > npoints) s->slots = npoints ? npoints : 1;
    if ((size_t)s->threads > s->ncpus / s->slots) {
        cbx__session_tell(s, CBX_MEASURE_NOTE, 0, "--threads %d: a slot has %zu CPUs, so workers are pinned to those",
                          s->threads, s->ncpus / s->slots);
    }
}

/* --- points --- */

static cbx_status prepare_point(sweep *w, size_t i, const char *json, const char *what, cbx_err *err)
{
    const cbx_case_ops *c = w->s.opts->case_ops;
    cbx__point *p = &w->points[i];
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
    return cbx__plan_make(&p->arena, w->s.opts, w->s.platforms, w->s.nplatforms, p->params, &p->plan, err);
}

static cbx_status prepare_points(sweep *w, cbx_err *err)
{
    const cbx_measure_opts *o = w->s.opts;
    const cbx_case_ops *c = o->case_ops;
    const cbx_allocator *al = cbx_ctx_allocator(w->ctx);
    const char *const *texts = o->npoints ? o->points : o->quick ? &c->points[c->representative] : c->points;
    size_t n = o->npoints ? o->npoints : o->quick ? 1 : c->npoints;

    w->points = cbx_mem_calloc(al, n, sizeof(*w->points));
    w->rows = cbx_mem_calloc(al, n, sizeof(*w->rows));
    w->done = cbx_mem_calloc(al, n, sizeof(*w->done));
    if (!w->points || !w->rows || !w->done) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu points", n);
    w->npoints = n;
    w->result->points = n;
    for (size_t i = 0; i < n; i++) cbx_rows_init(&w->rows[i], al);
    for (size_t i = 0; i < n; i++) {
        cbx_status st = prepare_point(w, i, texts[i], o->npoints ? "--point" : c->name, err);
        if (st) return st;
    }
    return CBX_OK;
}

static cbx_status check_outputs(sweep *w, cbx_err *err)
{
    const cbx_measure_opts *o = w->s.opts;
    cbx_arena scratch;
    const char *probe;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = o->out_path ? cbx_file_check_writable(w->ctx, o->out_path, &why) : CBX_OK;

    if (st) return cbx_fail(err, st, "%s; choose another --out", why.message);
    if (!o->store_root) return CBX_OK;
    cbx_arena_init(&scratch, cbx_ctx_allocator(w->ctx));
    probe = cbx_path_join(&scratch, cbx_path_join(&scratch, o->store_root, o->case_ops->name), "writable");
    st = probe ? cbx_file_check_writable(w->ctx, probe, &why)
               : cbx_fail(&why, CBX_ENOMEM, "out of memory for the store's path");
    cbx_arena_clear(&scratch);
    return st ? cbx_fail(err, st, "%s; choose another --store", why.message) : CBX_OK;
}

static cbx_status take_over_rows(sweep *w, cbx_err *err)
{
    const cbx_measure_opts *o = w->s.opts;
    cbx_status st;

    if (!o->resume || !o->out_path || !cbx_path_exists(o->out_path)) return CBX_OK;
    st = cbx_rows_read(w->ctx, o->out_path, &w->kept, err);
    if (st) return st;
    if (w->kept.damaged)
        cbx__session_tell(&w->s, CBX_MEASURE_NOTE, 0, "%s; it will be measured again", w->kept.first_damage);
    for (size_t i = 0; i < w->npoints; i++) {
        st = cbx__resume_point(&w->s, &w->points[i], &w->kept, err);
        if (st) return st;
        if (w->points[i].resumed && cbx__plan_live(&w->points[i].plan) == 0) w->result->points_kept++;
    }
    return CBX_OK;
}

/* --- slots --- */

/* Everything known now as one table, in the arena. */
static cbx_status lay_table(sweep *w, cbx_arena *arena, cbx_row **rows, size_t *count, cbx_err *err)
{
    cbx__table_part *parts = cbx_arena_calloc(arena, w->npoints + 1, sizeof(*parts));
    cbx_status st;

    if (!parts) return cbx_fail(err, CBX_ENOMEM, "out of memory for the table of %zu points", w->npoints);
    for (size_t i = 0; i < w->npoints; i++)
        parts[i] = (cbx__table_part){ w->points[i].json, w->done[i] ? &w->rows[i] : NULL };
    st = cbx__table_lay(&w->s, parts, w->npoints, &w->kept, arena, rows, count, err);
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
    if (!st) st = cbx_rows_write(ctx, w->s.opts->out_path, rows, n, err);
    cbx_arena_clear(&arena);
    return st;
}

static void free_launches(cbx__point *p)
{
    for (size_t i = 0; i < p->plan.count; i++) {
        for (cbx__launch *l = p->plan.attempts[i].first; l; l = l->next) cbx_launch_record_clear(&l->record);
    }
}

/* Rows name no path of this machine; who sits at it is told the whole sentence. */
static void publish_messages(sweep *w, cbx__point *p)
{
    char whole[CBX_ERR_MESSAGE_SIZE], told[CBX_ERR_MESSAGE_SIZE] = "";

    for (size_t i = 0; i < p->plan.count; i++) {
        cbx__attempt *a = &p->plan.attempts[i];
        memcpy(whole, a->message, sizeof(whole));
        cbx__public_message(a->message);
        if (!strcmp(whole, a->message) || !strcmp(whole, told)) continue;
        cbx__session_tell(&w->s, CBX_MEASURE_NOTE, 0, "%s: %s", a->baseline->name, whole);
        memcpy(told, whole, sizeof(told));
    }
}

static cbx_status finish_point(cbx_ctx *ctx, sweep *w, size_t i, cbx_err *err)
{
    cbx__point *p = &w->points[i];
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
static void settle_total(cbx__session *s, cbx__point *p, size_t planned)
{
    size_t made = 0;

    for (size_t i = 0; i < p->plan.count; i++) made += p->plan.attempts[i].nlaunches - p->plan.attempts[i].retries;
    pthread_mutex_lock(&s->lock);
    if (made < planned) s->launches_total -= planned - made;
    pthread_mutex_unlock(&s->lock);
}

static cbx_status measure_point(cbx_ctx *ctx, sweep *w, size_t i, size_t slot, cbx_err *err)
{
    cbx__point *p = &w->points[i];
    size_t first, count, planned = cbx__plan_live(&p->plan) * w->s.launches;
    cbx_status st;

    cbx__core_group(w->s.ncpus, w->s.slots, slot, &first, &count);
    for (size_t c = 0; c < count && c < (size_t)w->s.threads && c < CBX_LEN(p->cores); c++)
        p->cores[p->ncores++] = w->s.cpus[first + c];
    if (planned) cbx__session_tell(&w->s, CBX_MEASURE_POINT, 0, "%s", p->label);
    st = cbx__point_measure(ctx, &w->s, p, err);
    settle_total(&w->s, p, planned);
    if (!st) st = finish_point(ctx, w, i, err);
    free_launches(p);
    return st;
}

/* Next point for a slot; false: none, or the sweep is over. */
static bool next_point(sweep *w, size_t *i)
{
    bool more;

    pthread_mutex_lock(&w->s.lock);
    more = w->s.status == CBX_OK && w->s.next_point < w->npoints && !cbx__session_stopped(&w->s);
    if (more) *i = w->s.next_point++;
    pthread_mutex_unlock(&w->s.lock);
    return more;
}

static void run_slot(cbx_ctx *ctx, sweep *w, size_t slot)
{
    size_t i;

    while (next_point(w, &i)) {
        cbx_err err = CBX_ERR_INIT;
        if (measure_point(ctx, w, i, slot, &err) == CBX_OK) continue;
        pthread_mutex_lock(&w->s.lock);
        if (w->s.status == CBX_OK) {
            w->s.status = err.status;
            w->s.err = err;
        }
        pthread_mutex_unlock(&w->s.lock);
    }
}

typedef struct slot_thread {
    pthread_t thread;
    cbx_ctx *ctx;
    sweep *w;
    size_t slot;
} slot_thread;

static void *slot_main(void *arg)
{
    slot_thread *t = arg;
    run_slot(t->ctx, t->w, t->slot);
    return NULL;
}

static cbx_status run_slots(sweep *w, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(w->ctx);
    size_t extra = w->s.slots - 1, started = 0;
    slot_thread *t = cbx_mem_calloc(al, extra + 1, sizeof(*t));
    cbx_status st = CBX_OK;

    if (!t) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu slots", w->s.slots);
    for (; started < extra && !st; started++) {
        t[started].w = w;
        t[started].slot = started + 1;
        st = cbx_ctx_create(NULL, &t[started].ctx, err);
        if (st) break;
        if (pthread_create(&t[started].thread, NULL, slot_main, &t[started])) {
            cbx_ctx_free(t[started].ctx);
            st = cbx_fail(err, CBX_EIO, "cannot start a thread for slot %zu", started + 1);
            break;
        }
    }
    if (!st) run_slot(w->ctx, w, 0);
    for (size_t i = 0; i < started; i++) {
        pthread_join(t[i].thread, NULL);
        cbx_ctx_free(t[i].ctx);
    }
    cbx_mem_free(al, t, (extra + 1) * sizeof(*t));
    if (!st && w->s.status) st = cbx_fail(err, w->s.status, "%s", w->s.err.message);
    return st;
}

/* --- results --- */

/* The table as the file has it; a point is good by the rows of this run and those it took over. */
static cbx_status collect(sweep *w, cbx_err *err)
{
    cbx_arena arena;
    cbx_row *rows = NULL;
    size_t n = 0;
    cbx_status st;

    for (size_t i = 0; i < w->npoints; i++) {
        bool good = false;
        for (size_t r = 0; w->done[i] && r < w->rows[i].count; r++) {
            const cbx_row *row = &w->rows[i].rows[r];
            good = good || (cbx_row_is_good(row) && !cbx_row_is_limit(row));
        }
        w->result->points_good += good;
    }
    cbx_arena_init(&arena, cbx_ctx_allocator(w->ctx));
    st = lay_table(w, &arena, &rows, &n, err);
    for (size_t i = 0; i < n && !st; i++) {
        cbx_json *json = cbx_row_to_json(&rows[i]);
        st = json ? cbx_rows_add_json(&w->result->rows, json, "row of the table", err)
                  : cbx_fail(err, CBX_ENOMEM, "out of memory for the table");
        cbx_json_unref(json);
    }
    cbx_arena_clear(&arena);
    return st;
}

/* Rows of this run only: kept ones are in the store already. */
static cbx_status store_rows(sweep *w, cbx_err *err)
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

static void sweep_clear(sweep *w)
{
    const cbx_allocator *al = cbx_ctx_allocator(w->ctx);

    for (size_t i = 0; i < w->npoints; i++) {
        if (w->points[i].params) cbx_params_free(w->points[i].params);
        if (w->points[i].arena.al.resize) cbx_arena_clear(&w->points[i].arena);
        cbx_rows_clear(&w->rows[i]);
    }
    cbx_mem_free(al, w->points, w->npoints * sizeof(*w->points));
    cbx_mem_free(al, w->rows, w->npoints * sizeof(*w->rows));
    cbx_mem_free(al, w->done, w->npoints * sizeof(*w->done));
    cbx_rows_clear(&w->kept);
    cbx__session_clear(&w->s);
}

static cbx_status prepare(sweep *w, cbx_err *err)
{
    cbx_status st = cbx__plan_check(w->s.opts, err);

    if (st) return st;
    settle_counts(&w->s);
    st = settle_platforms(&w->s, err);
    if (st) return st;
    st = prepare_points(w, err);
    if (st) return st;
    st = check_outputs(w, err);
    if (st) return st;
    settle_slots(&w->s, w->npoints);
    cbx__session_learn(w->ctx, &w->s);
    st = take_over_rows(w, err);
    if (st) return st;
    for (size_t i = 0; i < w->npoints; i++) w->s.launches_total += cbx__plan_live(&w->points[i].plan) * w->s.launches;
    return CBX_OK;
}

cbx_status cbx_measure_run(cbx_ctx *ctx, const cbx_measure_opts *opts, cbx_measure_result *result, cbx_err *err)
{
    sweep w = { .ctx = ctx, .result = result };
    cbx_err second = CBX_ERR_INIT;
    cbx_status st, end;

    cbx__session_init(&w.s, opts);
    cbx_rows_init(&w.kept, cbx_ctx_allocator(ctx));
    st = prepare(&w, err);
    if (st) goto done;
    memcpy(result->run_id, w.s.run_id, sizeof(result->run_id));
    st = run_slots(&w, err);
    result->interrupted = cbx__session_stopped(&w.s);
    end = collect(&w, &second);
    if (!end) end = store_rows(&w, &second);
    if (!st && end) st = cbx_fail(err, end, "%s", second.message);
done:
    sweep_clear(&w);
    return st;
}
