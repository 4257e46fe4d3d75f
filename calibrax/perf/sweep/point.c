/**
 * One point: its inputs once, then rounds of interleaved launches over the attempts that are alive.
 *
 * The first round fixes the calls of an epoch of each attempt, finds the attempts that cannot run
 * here at all, and what a launch costs, so that no budget is overrun by what follows; the first
 * three are the pilot, after which the counts are fixed (pilot.h).  Under a goal the rounds are
 * looked at, and attempts that have reached it are launched no more (stopping.h).  A crash is
 * repeated once, in place.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/perf/sweep/launch_health.h"
#include "calibrax/perf/sweep/pilot.h"
#include "calibrax/perf/sweep/session.h"
#include "calibrax/perf/sweep/stopping.h"
#include "calibrax/statistics/estimate.h"

#define MIN_ORACLE_S 60.0
#define MIN_FLUSH    (UINT64_C(32) << 20)
#define MAX_FLUSH    (UINT64_C(1) << 30)

static const char *attempt_name(const cbx__attempt *a, char *buf, size_t size)
{
    bool plain = !strcmp(a->variant, "default");
    snprintf(buf, size, "%s%s%s%s", a->baseline->name, plain ? "" : " (", plain ? "" : a->variant, plain ? "" : ")");
    return buf;
}

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

static void find_interpreter(cbx_ctx *ctx, cbx__point *p, cbx__attempt *a)
{
    const cbx_provider_ops *provider = cbx_provider_find(a->baseline->provider);
    cbx_err err = CBX_ERR_INIT;

    if (!provider) {
        a->failure = CBX_FAILURE_MODULE_MISSING;
        snprintf(a->message, sizeof(a->message), "no provider '%s' is registered", a->baseline->provider);
        return;
    }
    a->remedy = provider->setup ? cbx_arena_printf(&p->arena, "run %s", provider->setup) : NULL;
    if (!provider->python) return;
    if (cbx_provider_interpreter(ctx, provider->name, a->platform, &p->arena, &a->interpreter, NULL, &err)) {
        a->failure = CBX_FAILURE_INTERPRETER_MISSING;
        snprintf(a->message, sizeof(a->message), "%s", err.message);
    }
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
    uint64_t id = (uint64_t)(a - p->plan.attempts), stream;
    char hash[CBX_HASH_SIZE];
    uint64_t point_id = 0;

    if (!l) return NULL;
    cbx_hash_bytes(p->json, strlen(p->json), hash);
    for (int i = 0; i < 8; i++) point_id = point_id * 256 + (unsigned char)hash[i];
    stream = cbx__stream_of(point_id, id, 4 * round + retry);
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
    uint64_t before = cbx_clock_ns();
    bool here = s->opts->in_process && !strcmp(a->baseline->provider, "native");
    const cbx_launch_record *r = &l->record;
    cbx_launch_opts o;
    cbx_status st;

    cbx__point_launch_opts(s, p, a, l, &o);
    st = here ? cbx__launch_in_process(ctx, s->opts->case_ops, p->params, w, a, &o, &l->record, err)
              : cbx_launch_run(ctx, w, a->baseline, &o, &l->record, err);
    l->wall_s = 1e-9 * (double)(cbx_clock_ns() - before);
    if (st == CBX_ENOMEM) return st;
    if (st) { /* this program itself could not work: data of this attempt, not the end of the sweep */
        l->record.failure = CBX_FAILURE_MACHINE;
        snprintf(l->record.message, sizeof(l->record.message), "%s", err ? err->message : cbx_status_words(st));
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

/* What is missing for one attempt of a provider is missing for all of them on that platform. */
static void spread(cbx__point *p, const cbx__attempt *from)
{
    if (from->failure != CBX_FAILURE_MODULE_MISSING && from->failure != CBX_FAILURE_INTERPRETER_MISSING) return;
    for (size_t i = 0; i < p->plan.count; i++) {
        cbx__attempt *a = &p->plan.attempts[i];
        if (!cbx__attempt_alive(a) || a->first || a->platform != from->platform) continue;
        if (strcmp(a->baseline->provider, from->baseline->provider)) continue;
        a->failure = from->failure;
        memcpy(a->message, from->message, sizeof(a->message));
    }
}

/* Launches an attempt, again if it failed for a cause that may pass, and records the outcome. */
static cbx_status launch_attempt(cbx_ctx *ctx, cbx__session *s, cbx__point *p, const cbx_workload *w, cbx__attempt *a,
                                 size_t round, size_t position, cbx_err *err)
{
    cbx_failure repeats = CBX_FAILURE_NONE;
    cbx__launch *l;
    char name[160];

    for (int again = 0;; again++) {
        cbx_status st;
        l = new_launch(s, p, a, round, position, (size_t)again);
        if (!l) return cbx_fail(err, CBX_ENOMEM, "out of memory for a launch record");
        if (repeats) l->repeats = repeats;
        st = launch_once(ctx, s, p, w, a, l, err);
        if (st) return st;
        repeats = l->record.failure;
        if (p->device) cbx__session_pause(s, s->opts->gpu_settle_s); /* held, and left alone */
        if (again + 1 >= tries_of(a, l, again) || cbx__session_stopped(s)) break;
        l->median_s = NAN;
        a->retries++;
        if (l->record.failure == CBX_FAILURE_CONTENDED)
            cbx__session_pause(s, 0.2 * (1 << again)); /* let others finish */
    }
    if (a->iterations == 0 && !l->record.failure) a->iterations = l->record.iterations_chosen;
    if (l->record.failure && !may_leave_out(a, l)) {
        a->failure = l->record.failure;
        snprintf(a->message, sizeof(a->message), "%s", l->record.message);
        if (a->failure == CBX_FAILURE_CONTENDED)
            cbx__session_tell(s, CBX_MEASURE_NOTE, 0, "%s: %s", attempt_name(a, name, sizeof(name)), a->message);
        spread(p, a);
    }
    cbx__session_tell(s, CBX_MEASURE_LAUNCH, 1, "%s", attempt_name(a, name, sizeof(name)));
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
    double left = p->share_s - spent_s;
    size_t n = 0;

    if (!costs) return;
    for (size_t i = 0; i < p->plan.count; i++) {
        const cbx__attempt *a = &p->plan.attempts[i];
        if (cbx__attempt_alive(a) && a->last && !isnan(a->last->median_s)) costs[n++] = cbx__launch_cost(s, a->last);
    }
    p->counts = cbx__plan_fit(costs, n, left, launches_to_fit(s), s->epochs);
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

/* The session's total falls to what is planned now. */
static void promise(cbx__session *s, cbx__point *p)
{
    size_t now = 0;

    for (size_t i = 0; i < p->plan.count; i++) {
        const cbx__attempt *a = &p->plan.attempts[i];
        size_t made = a->nlaunches - a->retries;
        now += cbx__attempt_alive(a) && made < p->counts.launches ? p->counts.launches : made;
    }
    cbx__session_promise(s, p, now);
}

/* --- rounds --- */

static size_t alive(const cbx__plan *plan, size_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->count; i++) {
        if (cbx__attempt_alive(&plan->attempts[i])) out[n++] = i;
    }
    return n;
}

static void mark_interrupted(cbx__point *p)
{
    cbx__plan_fail(&p->plan, CBX_FAILURE_INTERRUPTED, "interrupted in round %zu of %zu", p->rounds + 1,
                   p->counts.launches);
}

typedef struct deal {
    size_t *live, n;         /* attempts in the square */
    size_t *order, *scratch; /* places, and memory for the draw */
    size_t first;            /* round at which this square began */
} deal;

static cbx_status run_round(cbx_ctx *ctx, cbx__session *s, cbx__point *p, const cbx_workload *w, deal *d, size_t round,
                            cbx_err *err)
{
    cbx__schedule_order(s->opts->seed, d->n, round - d->first, d->scratch, d->order);
    for (size_t place = 0; place < d->n; place++) {
        cbx__attempt *a = &p->plan.attempts[d->live[d->order[place]]];
        cbx_status st;
        if (a->failure) continue;
        if (cbx__session_stopped(s)) return CBX_OK;
        st = launch_attempt(ctx, s, p, w, a, round, place, err);
        if (st) return st;
    }
    if (!cbx__session_stopped(s)) p->rounds = round + 1;
    return CBX_OK;
}

/* No attempt is left, or only those that others' ratios need. */
static bool nothing_to_learn(const cbx__plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (cbx__attempt_alive(&plan->attempts[i]) && !plan->attempts[i].kept) return false;
    }
    return true;
}

static double seconds_since(uint64_t start_ns) { return 1e-9 * (double)(cbx_clock_ns() - start_ns); }

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
    if (p->rounds <= CBX__PILOT_LAUNCHES) promise(s, p);
    return st ? st : cbx__stopping_look(ctx, s, p, err);
}

/* The number of rounds is a plan, the budget a promise; what an interval needs is made all the
 * same. */
static bool budget_is_spent(const cbx__point *p, double spent_s, double on_rounds_s)
{
    double round = on_rounds_s / (double)(p->rounds ? p->rounds : 1);
    return p->rounds >= CBX__MIN_LAUNCHES && p->rounds < p->counts.launches && spent_s + round > p->share_s;
}

static const char *why_it_ended(const cbx__session *s, const cbx__point *p)
{
    if (!cbx__stopping_by_goal(s)) return !strcmp(p->limit, "budget") ? "budget" : "asked";
    return cbx__stopping_done(p) && strcmp(p->limit, "budget") != 0 ? "plan" : "budget";
}

static cbx_status run_rounds(cbx_ctx *ctx, cbx__session *s, cbx__point *p, const cbx_workload *w, cbx_err *err)
{
    size_t count = p->plan.count;
    size_t *memory = cbx_arena_calloc(&p->arena, 3 * count + 1, sizeof(*memory));
    deal d = { memory, 0, memory + count, memory + 2 * count, 0 };
    uint64_t start = cbx_clock_ns();
    cbx_status st = CBX_OK;

    if (!memory) return cbx_fail(err, CBX_ENOMEM, "out of memory for the schedule");
    d.n = alive(&p->plan, d.live);
    for (size_t round = 0; round < p->counts.launches && !nothing_to_learn(&p->plan) && !st; round++) {
        size_t before = p->plan.count ? cbx__plan_live(&p->plan) : 0;
        st = run_round(ctx, s, p, w, &d, round, err);
        if (st || cbx__session_stopped(s)) break;
        st = learn(ctx, s, p, seconds_since(p->began_ns), err);
        if (cbx__plan_live(&p->plan) != before) { /* a new square for those that are left */
            d.n = alive(&p->plan, d.live);
            d.first = round + 1;
        }
        if (!budget_is_spent(p, seconds_since(p->began_ns), seconds_since(start))) continue;
        p->limit = "budget";
        p->counts.launches = p->rounds;
    }
    if (cbx__session_stopped(s)) mark_interrupted(p);
    if (!st) st = cbx__stopping_end(p, why_it_ended(s, p), err);
    tell_counts(s, p);
    return st;
}

/* --- inputs --- */

static cbx_status make_workload(cbx_ctx *ctx, cbx__session *s, cbx__point *p, cbx_workload **w, cbx_err *err)
{
    cbx_workload_opts o = CBX_WORKLOAD_OPTS_INIT;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st;

    o.rotations = s->opts->case_ops->rotate_inputs ? 1 : 0;
    o.cache_dir = s->opts->cache_dir;
    o.oracle_timeout_s = fmax(s->timeout_s,
                              MIN_ORACLE_S); /* a limit made for quick calls does not hold for the oracle */
    o.stop = s->opts->stop;
    o.hide_answers = s->hide_answers;
    if (s->resources && s->resources->parallel > 1) { /* others are measured meanwhile: it stays on its own cores */
        o.cores = p->cores;
        o.ncores = p->ncores;
    }
    if (p->making) pthread_mutex_lock(p->making); /* a second platform finds the answer in the cache */
    st = cbx_workload_create(ctx, s->opts->case_ops, p->params, &o, w, &why);
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
    cbx_status st = CBX_OK;

    p->counts = (cbx__counts){ .launches = s->launches, .epochs = s->epochs, .warmup = true };
    p->limit = "asked";
    p->began_ns = cbx_clock_ns();
    for (size_t i = 0; i < p->plan.count; i++) {
        if (cbx__attempt_alive(&p->plan.attempts[i])) find_interpreter(ctx, p, &p->plan.attempts[i]);
    }
    if (nothing_to_learn(&p->plan)) return CBX_OK;
    st = make_workload(ctx, s, p, &w, err);
    if (!st && w && p->device && p->hold && p->hold->fresh) cbx__session_pause(s, s->opts->gpu_settle_s);
    if (!st && w) st = run_rounds(ctx, s, p, w, err);
    if (!st && w) st = cbx__point_warm(ctx, s, p, w, err);
    cbx_workload_free(w);
    return st;
}
