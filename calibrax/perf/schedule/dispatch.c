/**
 * Threads that take jobs for their resources; see dispatch.h.
 */
#include "calibrax/perf/schedule/dispatch.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/idioms.h"

/* --- the crew --- */

typedef struct member member;

typedef struct crew {
    const cbx__dispatch *d;
    member *members;
    const char *dir; /* of locks */
    bool *taken;
    pthread_mutex_t lock; /* guards what changes below and in the members' `active` */
    pthread_cond_t ended; /* a job ended */
    size_t running, max_running;
    cbx_status status;
    cbx_err err;
    char held[CBX_ERR_MESSAGE_SIZE]; /* why the last resource that stopped waiting did so; "" */
} crew;

struct member {
    pthread_t thread;
    crew *crew;
    cbx_ctx *ctx;
    const cbx__resource *resource;
    bool active; /* has a job, or tries for its locks */
    bool fresh;
    cbx__lock_wait wait;
};

static bool stopped(const crew *c) { return c->d->stop && *c->d->stop; }

/* First job of a queue that is not taken; njobs: none.  The caller holds the lock. */
static size_t first_open(const crew *c, size_t queue)
{
    size_t i = 0;
    while (i < c->d->njobs && (c->taken[i] || c->d->queues[i] != queue)) i++;
    return i;
}

/* Fewer than the maximum are running, and none of ours on the same cores, where there are too few
 * for all.  The caller holds the lock. */
static bool may_run(const crew *c, const member *m)
{
    const cbx__cores *mine = &m->resource->cores;

    for (const member *other = c->members; other < c->members + c->d->nresources; other++)
        for (size_t i = 0; i < other->resource->cores.ncores && other != m && other->active; i++)
            for (size_t k = 0; k < mine->ncores; k++)
                if (mine->cores[k] == other->resource->cores.cores[i]) return false;
    return c->running < c->max_running;
}

/* Waits until a job may run; false: there is nothing left to do here. */
static bool enter(member *m)
{
    crew *c = m->crew;
    bool more;

    pthread_mutex_lock(&c->lock);
    for (;;) {
        more = !c->status && !stopped(c) && first_open(c, m->resource->queue) < c->d->njobs;
        if (!more || may_run(c, m)) break;
        pthread_cond_wait(&c->ended, &c->lock);
    }
    if (more) c->running++, m->active = true;
    pthread_mutex_unlock(&c->lock);
    return more;
}

/* Records the failure of a job, or of a member; the first one stays. */
static void fail(crew *c, const cbx_err *err)
{
    pthread_mutex_lock(&c->lock);
    if (!c->status) {
        c->status = err->status;
        c->err = *err;
    }
    pthread_mutex_unlock(&c->lock);
}

/* A job under the resource's locks; false: no job is left. */
static bool do_job(member *m, const cbx__locks *locks)
{
    crew *c = m->crew;
    cbx__hold hold = { .resource = m->resource, .fds = locks->fds, .n = locks->nfds, .fresh = m->fresh };
    cbx_err err = CBX_ERR_INIT;

    pthread_mutex_lock(&c->lock);
    size_t job = c->status || stopped(c) ? c->d->njobs : first_open(c, m->resource->queue);
    if (job < c->d->njobs) c->taken[job] = true;
    pthread_mutex_unlock(&c->lock);
    if (job == c->d->njobs) return false;
    err.status = c->d->run(c->d->user, m->ctx, job, &hold, &err);
    if (err.status) fail(c, &err);
    return true;
}

static void *work(void *arg)
{
    member *m = arg;
    crew *c = m->crew;
    const cbx__resource *r = m->resource;
    cbx__place place = { .path = "" };
    const cbx__locks_wish wish = { r->cores.cores, r->cores.ncores, r->device ? r->device->id : NULL, &place };
    bool more = true;

    m->fresh = true;
    m->wait = (cbx__lock_wait){ r->name, c->d->lock_wait_s, c->d->note, c->d->user, 0, 0, false };
    while (more && enter(m)) {
        cbx__locks locks;
        cbx_err err = CBX_ERR_INIT;
        char busy[CBX__LOCK_NAME_SIZE], why[CBX_ERR_MESSAGE_SIZE];
        cbx_status st = cbx__locks_take(m->ctx, c->dir, &wish, &locks, busy, &err);
        if (st == CBX_OK) {
            m->wait.since = 0;
            more = do_job(m, &locks);
            m->fresh = false;
        } else if (st != CBX_EBUSY) {
            fail(c, &err);
        }
        cbx__locks_release(&locks);
        pthread_mutex_lock(&c->lock);
        c->running--;
        m->active = false;
        pthread_cond_broadcast(&c->ended);
        pthread_mutex_unlock(&c->lock);
        if (st != CBX_EBUSY) continue;
        m->fresh = true;
        more = cbx__lock_wait_step(&m->wait, c->dir, busy, why);
        if (more) continue;
        pthread_mutex_lock(&c->lock);
        memcpy(c->held, why, sizeof(why));
        pthread_mutex_unlock(&c->lock);
    }
    cbx__line_leave(&place);
    return NULL;
}

static cbx_status run_crew(cbx_ctx *ctx, crew *c, cbx_err *err)
{
    size_t n = c->d->nresources, started = 1;
    member *members = c->members;
    cbx_err why = CBX_ERR_INIT;

    for (size_t i = 0; i < n; i++) {
        members[i].crew = c;
        members[i].resource = &c->d->resources[i];
    }
    members[0].ctx = ctx;
    for (; started < n && !why.status; started += !why.status) {
        member *m = &members[started];
        why.status = cbx_ctx_create(NULL, &m->ctx, &why);
        if (why.status || !pthread_create(&m->thread, NULL, work, m)) continue;
        cbx_ctx_free(m->ctx);
        cbx_fail(&why, CBX_EIO, "cannot start a thread for %s", m->resource->name);
    }
    if (why.status) fail(c, &why);
    work(&members[0]);
    for (size_t i = 1; i < started; i++) {
        pthread_join(members[i].thread, NULL);
        cbx_ctx_free(members[i].ctx);
    }
    if (c->status) return cbx_fail(err, c->status, "%s", c->err.message);
    /* a job that is left: its resources stopped waiting for locks */
    for (size_t i = 0; i < c->d->njobs && !stopped(c); i++)
        if (!c->taken[i]) return cbx_fail(err, CBX_EBUSY, "%s", c->held);
    return CBX_OK;
}

cbx_status cbx__dispatch_run(cbx_ctx *ctx, const cbx__dispatch *d, cbx_err *err)
{
    crew c = { .d = d,
               .max_running = d->max_parallel && d->max_parallel < d->nresources ? d->max_parallel : d->nresources };

    if (d->njobs == 0) return CBX_OK;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    cbx_status st = cbx_lock_dir(ctx, &arena, &c.dir, err);
    c.taken = cbx_arena_calloc(&arena, d->njobs, sizeof(*c.taken));
    c.members = cbx_arena_calloc(&arena, d->nresources, sizeof(*c.members));
    if (!st && (!c.taken || !c.members)) st = cbx_fail(err, CBX_ENOMEM, "out of memory for %zu jobs", d->njobs);
    if (!st) {
        pthread_mutex_init(&c.lock, NULL);
        pthread_cond_init(&c.ended, NULL);
        st = run_crew(ctx, &c, err);
        pthread_cond_destroy(&c.ended);
        pthread_mutex_destroy(&c.lock);
    }
    return st;
}

/* --- slots and devices, and the cores of each ---
 *
 * A device's worker has a thread on the host that feeds it, and gets cores of its own for that,
 * near to the device; CPU slots get what is left, at least one.  Where there are not even so many
 * cores, devices and slots share some, and what shares does not run at a time.
 */

cbx_status cbx__resources_find(cbx_ctx *ctx, const cbx__resources_wish *wish, cbx__resources *out, cbx_err *err)
{
    bool any = false;

    for (size_t i = 0; i < wish->nplatforms; i++) {
        cbx__accelerators all;
        cbx_status st;
        if (!cbx__platform_has_devices(wish->platforms[i])) continue;
        any = true;
        cbx__accelerators_find(ctx, wish->platforms[i], &all);
        st = cbx__accelerators_choose(wish->platforms[i], &all, wish->gpus, wish->ngpus, &out->devices[i], err);
        if (st) return st;
    }
    if (wish->ngpus && !any)
        return cbx_fail(err, CBX_EINVAL, "GPUs are given, but no platform that has devices: add the platform cuda12");
    return CBX_OK;
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

CBX_PRINTF(2, 3) static void add_note(cbx__resources *out, const char *fmt, ...)
{
    size_t len = strlen(out->note);
    va_list args;

    if (len && len + 3 < sizeof(out->note)) len += (size_t)snprintf(out->note + len, sizeof(out->note) - len, "; ");
    va_start(args, fmt);
    vsnprintf(out->note + len, sizeof(out->note) - len, fmt, args);
    va_end(args);
}

void cbx__resources_deal(const cbx__resources_wish *wish, cbx__resources *out)
{
    cbx__cores dealt[CBX__MAX_RESOURCES];
    int nodes[CBX__MAX_RESOURCES];

    /* Devices and slots with something to do. */
    for (size_t p = 0; p < wish->nplatforms; p++) {
        const cbx__accelerators *found = &out->devices[p];
        for (size_t i = 0; i < smaller(found->n, wish->jobs[p]); i++) {
            cbx__resource *r = &out->list[out->n++];
            r->queue = p;
            r->device = &found->list[i];
            snprintf(r->name, sizeof(r->name), "device %u of %s", found->list[i].number, wish->platforms[p]);
        }
    }
    out->gpus = out->n;
    const size_t cores = out->topology.ncores, left = cores > out->gpus + 1 ? cores - out->gpus : 1;
    for (size_t p = 0; p < wish->nplatforms; p++) {
        size_t wanted = wish->cpu_slots ? wish->cpu_slots : 1, given;
        if (cbx__platform_has_devices(wish->platforms[p]) || wish->jobs[p] == 0) continue;
        given = smaller(smaller(wanted, CBX__MAX_RESOURCES - out->n), left);
        if (given < wanted)
            snprintf(out->note, sizeof(out->note),
                     "%zu CPU slots were asked for; this process may use %zu cores%s, so there %s %zu", wanted, cores,
                     out->gpus ? ", of which devices get theirs first" : "", given == 1 ? "is" : "are", given);
        for (size_t i = 0; i < smaller(given, wish->jobs[p]); i++) {
            cbx__resource *r = &out->list[out->n++];
            r->queue = p;
            snprintf(r->name, sizeof(r->name), "CPU slot %zu", i);
            out->slots++;
        }
    }
    size_t groups = smaller(out->n, out->topology.ncores);
    for (size_t g = 0; g < groups; g++) nodes[g] = out->list[g].device ? out->list[g].device->node : -1;
    if (groups) cbx__cores_deal(&out->topology, groups, wish->threads, nodes, dealt);
    for (size_t i = 0; i < out->n && groups; i++) out->list[i].cores = dealt[i % groups];
    out->shared = groups && groups < out->n;
    if (out->shared)
        add_note(out, "%zu devices and %zu CPU slots share %zu cores, so not all of them run at a time", out->gpus,
                 out->slots, out->topology.ncores);
    if (out->n && out->list[0].cores.ncpus < wish->threads)
        add_note(out, "%zu threads were asked for; a worker gets %zu of the %zu CPUs, and is pinned to those",
                 wish->threads, out->list[0].cores.ncpus, out->topology.ncpus);
    out->parallel = wish->max_parallel && wish->max_parallel < out->n ? wish->max_parallel : out->n;
}

/* --- shares of a run's time --- */

void cbx__budget_init(cbx__budget *b, double total_s, const cbx__resources *r)
{
    *b = (cbx__budget){ .total_s = total_s, .pooled = r->shared || r->parallel < r->n };
    for (size_t i = 0; i < r->n && !b->pooled; i++) b->lanes[r->list[i].queue]++;
    if (b->pooled) b->lanes[0] = r->shared || !r->parallel ? 1 : r->parallel;
}

void cbx__budget_add(cbx__budget *b, size_t queue) { b->waiting[b->pooled ? 0 : queue]++; }

bool cbx__budget_begin(cbx__budget *b, size_t queue, double elapsed_s, double *share_s)
{
    size_t q = b->pooled ? 0 : queue, lanes = b->lanes[q] ? b->lanes[q] : 1;
    size_t turns = (b->waiting[q] + lanes - 1) / lanes;
    double left = fmax(0, b->total_s - elapsed_s);

    *share_s = !(b->total_s > 0) ? INFINITY : left / (double)(turns ? turns : 1);
    if (b->waiting[q]) b->waiting[q]--;
    return b->begun++ == 0 || *share_s > 0;
}
