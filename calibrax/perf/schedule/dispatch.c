/**
 * Threads that take jobs for their resources; see dispatch.h.
 */
#include "calibrax/perf/schedule/dispatch.h"

#include <pthread.h>
#include <string.h>

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
    cbx_arena arena;

    if (d->njobs == 0) return CBX_OK;
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
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
    cbx_arena_clear(&arena);
    return st;
}
