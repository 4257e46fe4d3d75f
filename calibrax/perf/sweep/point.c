/**
 * One point: its inputs once, then rounds of interleaved launches over the attempts that are alive.
 *
 * The first round fixes the calls of an epoch of each attempt, finds the attempts that cannot run
 * here at all, and what a launch costs, so that no budget is overrun by what follows; the first
 * three are the pilot, after which the counts are fixed (stopping.h).  Under a goal the rounds are
 * looked at, and attempts that have reached it are launched no more (stopping.h).  A crash is
 * repeated once, in place.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/temporary.h"
#include "calibrax/perf/sweep/plan.h"
#include "calibrax/perf/sweep/session.h"
#include "calibrax/perf/sweep/stopping.h"

#define MIN_ORACLE_S 60.0
#define MIN_FLUSH    (UINT64_C(32) << 20)
#define MAX_FLUSH    (UINT64_C(1) << 30)

static double seconds_since(uint64_t start_ns) { return 1e-9 * (double)(cbx_clock_ns() - start_ns); }

/* Causes that may pass, and the launches they get in one round.  What is no finding, but a busy
 * machine, gets more; a crash, or clocks that disagree, are confirmed once, and a finding that is
 * not confirmed still counts (judge.c); what the host took the CPU from is made again once. */
static int tries_of(const cbx__attempt *a, const cbx__launch *l, int again)
{
    cbx_failure f = l->record.failure;

    if (l->unhealthy && !f) return again == 0 && cbx__launch_repeats(a) ? 2 : 1;
    if (f == CBX_FAILURE_CONTENDED) return 4;
    return f == CBX_FAILURE_CRASHED || f == CBX_FAILURE_EXITED || f == CBX_FAILURE_CLOCKS_DISAGREE ? 2 : 1;
}

/* Twice the largest cache, as far as the probe knows it. */
static uint64_t flush_bytes(const cbx__session *s)
{
    size_t largest = 0;

    for (int i = 0; s->have_probe && i < s->probe.nlevels; i++)
        if (s->probe.level[i].bytes > largest) largest = s->probe.level[i].bytes;
    if (largest < MIN_FLUSH / 2) return MIN_FLUSH;
    return largest > MAX_FLUSH / 2 ? MAX_FLUSH : 2 * (uint64_t)largest;
}

void cbx__point_launch_opts(const cbx__session *s, const cbx__point *p, const cbx__attempt *a, const cbx__launch *l,
                            cbx_launch_opts *o)
{
    bool slow_rule = s->slow_call_s > 0;

    *o = (cbx_launch_opts){
        .struct_size = sizeof(*o), .platform = a->platform, .cores = p->cores, .ncores = p->ncores
    };
    if (p->hold) {
        o->held = p->hold->fds;
        o->nheld = p->hold->n;
    }
    o->device = p->device ? p->device_word : NULL;
    o->precision = s->precision;
    o->threads = s->threads;
    o->warmup = p->counts.warmup ? s->warmup : 0;
    o->epochs = cbx__epochs_of(p, a);
    o->iterations = a->iterations;
    o->epoch_target_s = s->epoch_target_s;
    o->slow_call_s = s->slow_call_s;
    o->slow_epochs = slow_rule && s->slow_epochs < o->epochs ? s->slow_epochs : o->epochs;
    o->message_timeout_s = s->timeout_s;
    o->memory_limit_bytes = s->memory_limit_bytes;
    o->env_pad_bytes = l->layout.env_pad_bytes;
    o->stack_pad_bytes = l->layout.stack_pad_bytes;
    o->heap_pad_bytes = l->layout.heap_pad_bytes;
    o->seed = l->seed;
    o->env = a->settings ? a->settings->env : NULL;
    o->nenv = a->settings ? a->settings->nenv : 0;
    o->interpreter = a->interpreter;
    o->stop = s->opts->stop;
    o->sandbox = &s->sandbox;
    o->kept = s->kept;
    o->cold = s->opts->cold_cache;
    o->flush_bytes = flush_bytes(s);
    o->energy = s->have_energy ? &s->energy : NULL;
}

static cbx__launch *new_launch(const cbx__session *s, cbx__point *p, cbx__attempt *a, size_t round, size_t position,
                               size_t retry)
{
    cbx__launch *l = cbx__attempt_add(&p->arena, a);
    char hash[CBX_HASH_SIZE];
    uint64_t point_id = 0;

    if (!l) return NULL;
    cbx_hash_bytes(p->json, strlen(p->json), hash);
    for (int i = 0; i < 8; i++) point_id = point_id * 256 + (unsigned char)hash[i];
    const uint64_t stream = cbx__stream_of(point_id, (uint64_t)(a - p->plan.attempts), 4 * round + retry);
    l->round = round;
    l->position = position;
    l->attempt = retry + 1;
    l->retry = retry > 0;
    l->seed = cbx__stream_of(s->opts->seed, stream, 1);
    l->layout = cbx__layout_draw(s->opts->seed, stream);
    return l;
}

static cbx_status launch_once(cbx_ctx *ctx, cbx__session *s, cbx__point *p, const cbx_workload *w, cbx__attempt *a,
                              cbx__launch *l, cbx_err *err)
{
    const uint64_t before = cbx_clock_ns();
    const bool here = s->opts->in_process && !strcmp(a->baseline->provider, "native");
    cbx_launch_record *r = &l->record;
    cbx_launch_opts o;

    cbx__point_launch_opts(s, p, a, l, &o);
    cbx_status st = here ? CBX_OK : cbx_launch_run(ctx, w, a->baseline, &o, r, err);
    if (here) cbx__launch_in_process(ctx, s->opts->case_ops, p->params, w, a, &o, r);
    l->wall_s = seconds_since(before);
    if (st == CBX_ENOMEM) return st;
    if (st) { /* this program itself could not work: data of this attempt, not the end of the sweep */
        r->failure = CBX_FAILURE_MACHINE;
        snprintf(r->message, sizeof(r->message), "%s", err ? err->message : cbx_status_words(st));
        return CBX_OK;
    }
    if (r->epochs && (!r->failure || r->failure == CBX_FAILURE_FIDELITY || r->failure == CBX_FAILURE_CLOCKS_DISAGREE))
        st = cbx__launch_settle(ctx, l, err);
    l->unhealthy = cbx__launch_complaint(l);
    return st;
}

/* One launch that the machine was too busy for is left out, of every four good ones another. */
static bool may_leave_out(const cbx__attempt *a, const cbx__launch *l)
{
    size_t good = 0, lost = 0;

    for (const cbx__launch *k = a->first; k; k = k->next) {
        good += !k->record.failure;
        lost += k->record.failure == CBX_FAILURE_CONTENDED && (!k->next || k->next->round != k->round);
    }
    return l->record.failure == CBX_FAILURE_CONTENDED && good > 0 && lost <= 1 + good / 4;
}

/* Launches an attempt, again if it failed for a cause that may pass, and records the outcome. */
static cbx_status launch_attempt(cbx_ctx *ctx, cbx__session *s, cbx__point *p, const cbx_workload *w, cbx__attempt *a,
                                 size_t round, size_t position, cbx_err *err)
{
    cbx_failure repeats = CBX_FAILURE_NONE;
    cbx__launch *l;
    char name[160];

    for (int again = 0;; again++) {
        l = new_launch(s, p, a, round, position, (size_t)again);
        if (!l) return cbx_fail(err, CBX_ENOMEM, "out of memory for a launch record");
        l->repeats = repeats;
        const cbx_status st = launch_once(ctx, s, p, w, a, l, err);
        if (st) return st;
        repeats = l->record.failure;
        if (p->device) cbx__session_pause(s, s->opts->gpu_settle_s); /* held, and left alone */
        if (again + 1 >= tries_of(a, l, again) || cbx__session_stopped(s)) break;
        l->median_s = NAN;
        a->retries++;
        if (repeats == CBX_FAILURE_CONTENDED) cbx__session_pause(s, 0.2 * (1 << again)); /* let others finish */
    }
    const bool plain = !strcmp(a->variant, "default");
    snprintf(name, sizeof(name), "%s%s%s%s", a->baseline->name, plain ? "" : " (", plain ? "" : a->variant,
             plain ? "" : ")");
    if (a->iterations == 0 && !l->record.failure) a->iterations = l->record.iterations_chosen;
    if (l->record.failure && !may_leave_out(a, l)) {
        a->failure = l->record.failure;
        snprintf(a->message, sizeof(a->message), "%s", l->record.message);
        if (a->failure == CBX_FAILURE_CONTENDED) cbx__session_tell(s, CBX_MEASURE_NOTE, 0, "%s: %s", name, a->message);
    }
    /* what is missing for one attempt of a provider is missing for all of them on that platform */
    const bool missing = a->failure == CBX_FAILURE_MODULE_MISSING || a->failure == CBX_FAILURE_INTERPRETER_MISSING;
    for (cbx__attempt *b = p->plan.attempts; missing && b < p->plan.attempts + p->plan.count; b++) {
        if (!cbx__attempt_alive(b) || b->first || b->platform != a->platform ||
            strcmp(b->baseline->provider, a->baseline->provider))
            continue;
        b->failure = a->failure;
        memcpy(b->message, a->message, sizeof(b->message));
    }
    cbx__session_tell(s, CBX_MEASURE_LAUNCH, 1, "%s", name);
    return CBX_OK;
}

/* --- counts after the pilot --- */

/* Under a goal the first rounds are as many as the pilot and an interval take: more are not
 * promised. */
static size_t launches_to_fit(const cbx__session *s)
{
    return cbx__stopping_by_goal(s) && s->launches > CBX__FIRST_LOOK ? CBX__FIRST_LOOK : s->launches;
}

static void fit_budget(cbx__session *s, cbx__point *p, double spent_s)
{
    cbx__cost *costs = cbx_arena_calloc(&p->arena, p->plan.count, sizeof(*costs));
    size_t n = 0;

    if (!costs) return;
    for (const cbx__attempt *a = p->plan.attempts; a < p->plan.attempts + p->plan.count; a++)
        if (cbx__attempt_alive(a) && a->last && !isnan(a->last->median_s)) costs[n++] = cbx__launch_cost(s, a->last);
    p->counts = cbx__plan_fit(costs, n, p->share_s - spent_s, launches_to_fit(s), s->epochs);
    p->limit = p->counts.launches < launches_to_fit(s) ? "budget" : "asked";
}

static void tell_counts(cbx__session *s, cbx__point *p)
{
    if (strcmp(p->limit, "budget") != 0 || p->counts.launches >= s->launches) return;
    if (p->counts.launches < CBX__MIN_LAUNCHES && s->launches >= CBX__MIN_LAUNCHES) {
        snprintf(p->note, sizeof(p->note),
                 "its %.3g s of the budget of %g s allow only %zu launches, too few for an interval", p->share_s,
                 s->budget_s, p->counts.launches);
        cbx__session_tell(s, CBX_MEASURE_NOTE, 0, "%s: %s", p->label, p->note);
    } else {
        snprintf(p->note, sizeof(p->note), "its %.3g s of the budget of %g s allow %zu of %zu launches", p->share_s,
                 s->budget_s, p->counts.launches, s->launches);
    }
}

/* --- rounds --- */

static void mark_interrupted(cbx__point *p)
{
    cbx__plan_fail(&p->plan, CBX_FAILURE_INTERRUPTED, "interrupted in round %zu of %zu", p->rounds + 1,
                   p->counts.launches);
}

/* No attempt is left, or only those that others' ratios need. */
static bool nothing_to_learn(const cbx__plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        if (cbx__attempt_alive(&plan->attempts[i]) && !plan->attempts[i].kept) return false;
    return true;
}

/* What follows from the rounds so far: counts after the first and the third, looks. */
static cbx_status learn(cbx_ctx *ctx, cbx__session *s, cbx__point *p, double spent_s, cbx_err *err)
{
    bool last = p->rounds > 1 && p->rounds == p->counts.launches; /* so few that all of them are the pilot */
    cbx_status st = CBX_OK;

    if (p->rounds == 1) fit_budget(s, p, spent_s);
    if (!p->piloted && (p->rounds == CBX__PILOT_LAUNCHES || last)) {
        st = cbx__pilot_plan(ctx, s, p, spent_s, err);
        p->piloted = true;
    }
    size_t now = 0; /* the session's total falls to what is planned now */
    for (const cbx__attempt *a = p->plan.attempts; a < p->plan.attempts + p->plan.count; a++) {
        const size_t made = a->nlaunches - a->retries;
        now += cbx__attempt_alive(a) && made < p->counts.launches ? p->counts.launches : made;
    }
    if (p->rounds <= CBX__PILOT_LAUNCHES) cbx__session_promise(s, p, now);
    return st ? st : cbx__stopping_look(ctx, s, p, err);
}

static cbx_status run_rounds(cbx_ctx *ctx, cbx__session *s, cbx__point *p, const cbx_workload *w, cbx_err *err)
{
    cbx__square q = { .n = 0 };
    const uint64_t start = cbx_clock_ns();
    cbx_status st = CBX_OK;

    for (size_t round = 0; round < p->counts.launches && !nothing_to_learn(&p->plan) && !st; round++) {
        if (!cbx__square_order(&p->arena, &p->plan, s->opts->seed, round, &q))
            return cbx_fail(err, CBX_ENOMEM, "out of memory for the schedule");
        for (size_t place = 0; place < q.n && !st && !cbx__session_stopped(s); place++) {
            cbx__attempt *a = &p->plan.attempts[q.order[place]];
            if (!a->failure) st = launch_attempt(ctx, s, p, w, a, round, place, err);
        }
        if (st || cbx__session_stopped(s)) break;
        p->rounds = round + 1;
        st = learn(ctx, s, p, seconds_since(p->began_ns), err);
        /* the number of rounds is a plan, the budget a promise; what an interval needs is made all
         * the same */
        const double next_s = seconds_since(start) / (double)p->rounds;
        if (p->rounds < CBX__MIN_LAUNCHES || p->rounds >= p->counts.launches ||
            seconds_since(p->began_ns) + next_s <= p->share_s)
            continue;
        p->limit = "budget";
        p->counts.launches = p->rounds;
    }
    if (cbx__session_stopped(s)) mark_interrupted(p);
    const bool budget = !strcmp(p->limit, "budget");
    const char *why = !cbx__stopping_by_goal(s)          ? (budget ? "budget" : "asked")
                      : cbx__stopping_done(p) && !budget ? "plan"
                                                         : "budget";
    if (!st) st = cbx__stopping_end(p, why, err);
    tell_counts(s, p);
    return st;
}

/* --- inputs --- */

static cbx_status make_workload(cbx_ctx *ctx, cbx__session *s, cbx__point *p, cbx_workload **w, cbx_err *err)
{
    cbx_workload_opts o = CBX_WORKLOAD_OPTS_INIT;
    cbx_err why = CBX_ERR_INIT;

    o.rotations = s->opts->case_ops->rotate_inputs ? 1 : 0;
    o.cache_dir = s->opts->cache_dir;
    /* a limit made for quick calls does not hold for the oracle */
    o.oracle_timeout_s = fmax(s->timeout_s, MIN_ORACLE_S);
    o.stop = s->opts->stop;
    o.hide_answers = s->hide_answers;
    if (s->resources && s->resources->parallel > 1) { /* others are measured meanwhile: it stays on its own cores */
        o.cores = p->cores;
        o.ncores = p->ncores;
    }
    if (p->making) pthread_mutex_lock(p->making); /* a second platform finds the answer in the cache */
    const cbx_status st = cbx_workload_create(ctx, s->opts->case_ops, p->params, &o, w, &why);
    if (p->making) pthread_mutex_unlock(p->making);
    if (!st) {
        snprintf(p->workload_hash, sizeof(p->workload_hash), "%s", cbx_workload_hash(*w));
        p->oracle_cached = cbx_workload_oracle_cached(*w);
        return CBX_OK;
    }
    if (st == CBX_EINTERRUPTED || cbx__session_stopped(s)) {
        mark_interrupted(p);
        return CBX_OK;
    }
    if (st == CBX_ENOSPC || st == CBX_EINVAL) return cbx_fail(err, st, "%s", why.message);
    cbx__plan_fail(&p->plan, CBX_FAILURE_ORACLE_FAILED, "%s", why.message);
    return CBX_OK;
}

cbx_status cbx__point_measure(cbx_ctx *ctx, cbx__session *s, cbx__point *p, cbx_err *err)
{
    cbx_workload *w = NULL;

    p->counts = (cbx__counts){ .launches = s->launches, .epochs = s->epochs, .warmup = true };
    p->limit = "asked";
    p->began_ns = cbx_clock_ns();
    for (cbx__attempt *a = p->plan.attempts; a < p->plan.attempts + p->plan.count; a++) {
        const cbx_provider_ops *provider = cbx_provider_find(a->baseline->provider);
        cbx_err why = CBX_ERR_INIT;
        if (!cbx__attempt_alive(a)) continue;
        a->remedy = provider && provider->setup ? cbx_arena_printf(&p->arena, "run %s", provider->setup) : NULL;
        if (!provider) {
            a->failure = CBX_FAILURE_MODULE_MISSING;
            cbx_fail(&why, CBX_ENOENT, "no provider '%s' is registered", a->baseline->provider);
        } else if (provider->python &&
                   cbx_provider_interpreter(ctx, provider->name, a->platform, &p->arena, &a->interpreter, NULL, &why)) {
            a->failure = CBX_FAILURE_INTERPRETER_MISSING;
        }
        if (a->failure) memcpy(a->message, why.message, sizeof(a->message));
    }
    if (nothing_to_learn(&p->plan)) return CBX_OK;
    cbx_status st = make_workload(ctx, s, p, &w, err);
    if (!st && w && p->device && p->hold && p->hold->fresh) cbx__session_pause(s, s->opts->gpu_settle_s);
    if (!st && w) st = run_rounds(ctx, s, p, w, err);
    if (!st && w) st = cbx__point_warm(ctx, s, p, w, err);
    cbx_workload_free(w);
    return st;
}

/* --- compile times with a cache that an earlier process has filled ---
 *
 * The launches of the rounds compile with nothing kept: cold.  After them each attempt whose
 * framework can keep what it compiled gets a folder for it, one launch that fills the folder, and
 * some that find it filled; they compile, are checked, and end.
 */
#define WARM_LAUNCHES 7 /* what an interval of two sides at 95 % together needs */

static bool budget_is_spent(const cbx__point *p) { return 1e-9 * (double)(cbx_clock_ns() - p->began_ns) >= p->share_s; }

/* One launch that only compiles.  @param ns  NaN: it failed, or did not report it */
static cbx_status compile_once(cbx_ctx *ctx, const cbx__session *s, const cbx__point *p, const cbx_workload *w,
                               const cbx__attempt *a, const char *folder, double *ns, cbx_err *err)
{
    cbx_launch_record *r = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *r);
    cbx_launch_opts o;

    if (!r) return cbx_fail(err, CBX_ENOMEM, "out of memory for a launch record");
    cbx__point_launch_opts(s, p, a, a->first, &o);
    o.compile_only = true;
    o.cold = false;
    o.jit_cache = folder;
    o.energy = NULL;
    const cbx_status st = cbx_launch_run(ctx, w, a->baseline, &o, r, err);
    *ns = !st && !r->failure ? r->compile_ns : NAN;
    cbx_launch_record_clear(r);
    cbx_mem_free(cbx_ctx_allocator(ctx), r, sizeof *r);
    return st == CBX_ENOMEM ? st : CBX_OK;
}

static cbx_status warm_attempt(cbx_ctx *ctx, cbx__session *s, cbx__point *p, const cbx_workload *w, cbx__attempt *a,
                               size_t n, cbx_err *err)
{
    char folder[CBX__TEMPORARY_SIZE];
    cbx_status st = CBX_OK;
    double ns = NAN;

    a->warm_ns = cbx_arena_calloc(&p->arena, n, sizeof *a->warm_ns);
    if (!a->warm_ns) return cbx_fail(err, CBX_ENOMEM, "out of memory for compile times");
    a->warm_reason = "no scratch folder could be made for a cache";
    if (cbx__temporary_make("cache", folder, NULL)) return CBX_OK;
    a->warm_reason = "the launches that should have found it filled failed";
    for (size_t i = 0; i <= n && !st && !cbx__session_stopped(s); i++) {
        const char *const *names;
        size_t files = 0;
        st = compile_once(ctx, s, p, w, a, folder, &ns, err);
        if (i && isfinite(ns)) a->warm_ns[a->nwarm++] = ns;
        if (st || !isfinite(ns)) break;
        /* a folder that is still empty was no cache: what is compiled next is compiled as cold as
         * before */
        if (i == 0) st = cbx_dir_list(ctx, folder, NULL, &p->arena, &names, &files, err);
        if (i || files) continue;
        a->warm_reason = "the framework left nothing in the folder of its cache";
        break;
    }
    cbx__temporary_remove(folder);
    return st == CBX_ENOMEM ? st : CBX_OK;
}

cbx_status cbx__point_warm(cbx_ctx *ctx, cbx__session *s, cbx__point *p, const cbx_workload *w, cbx_err *err)
{
    const int asked = s->opts->warm_compiles;
    const size_t n = asked >= 0 ? (size_t)asked : s->opts->quick || !p->representative ? 0 : WARM_LAUNCHES;
    const char *why = asked == 0       ? "left out on request"
                      : s->opts->quick ? "not measured by a quick run"
                                       : "measured at the representative point; ask for warm compiles to measure it at "
                                         "every point";
    cbx_status st = CBX_OK;

    for (cbx__attempt *a = p->plan.attempts; a < p->plan.attempts + p->plan.count && !st; a++) {
        const cbx_provider_ops *provider = cbx_provider_find(a->baseline->provider);
        if (!provider || !provider->cache_folder || a->failure || a->idle || !a->first) continue;
        a->warm_reason = why;
        if (n && budget_is_spent(p))
            a->warm_reason = "the budget was spent before it was measured";
        else if (n && !s->opts->in_process && !cbx__session_stopped(s))
            st = warm_attempt(ctx, s, p, w, a, n, err);
    }
    return st;
}
