/* Cores of commands: read from the affinity, locked as those of a sweep's jobs are; see claim.h. */
#include "calibrax/perf/schedule/claim.h"

#include "calibrax/base/idioms.h"
#include "calibrax/base/process.h"
#include "calibrax/perf/schedule/locks.h"

#define WAIT_S 3600.0

struct cbx_claim {
    cbx_allocator al;
    cbx__locks locks;
};

static cbx_status take(cbx_ctx *ctx, const cbx_claim_opts *o, cbx_arena *arena, cbx__locks *out, cbx_err *err)
{
    cbx__lock_wait wait = { .who = "the measurement", .max_s = o->wait_s > 0 ? o->wait_s : WAIT_S };
    cbx__place place = { .path = "" };
    cbx__locks_wish wish = { .place = &place };
    int *cpus = cbx_arena_calloc(arena, CBX__MAX_CPUS, sizeof *cpus);
    int *cores = cbx_arena_calloc(arena, CBX__MAX_CPUS, sizeof *cores);
    cbx__topology *t = cbx_arena_calloc(arena, 1, sizeof *t);
    char busy[CBX__LOCK_NAME_SIZE], why[CBX_ERR_MESSAGE_SIZE];
    const char *dir;
    cbx_status st = cbx_lock_dir(ctx, arena, &dir, err);

    if (!st && (!cpus || !cores || !t)) st = cbx_fail_nomem(err, "the cores of commands");
    if (st) return st;
    cbx__topology_read(NULL, cpus, cbx__affinity(cpus, CBX__MAX_CPUS), t);
    for (size_t i = 0; i < t->ncpus; i++) /* the CPUs are sorted by core */
        if (!wish.ncores || cores[wish.ncores - 1] != t->cpus[i].core) cores[wish.ncores++] = t->cpus[i].core;
    wish.cores = cores;
    wait.note = o->note;
    wait.user = o->user;
    for (bool taken = false; !st && !taken;) {
        cbx_err here = CBX_ERR_INIT;
        if (o->stop && *o->stop) {
            st = cbx_fail(err, CBX_EINTERRUPTED, "interrupted");
            break;
        }
        cbx_status now = cbx__locks_take(ctx, dir, &wish, out, busy, &here);
        taken = now == CBX_OK;
        if (now && now != CBX_EBUSY) st = cbx_fail(err, now, "%s", here.message);
        if (now == CBX_EBUSY && !cbx__lock_wait_step(&wait, dir, busy, why)) st = cbx_fail(err, CBX_EBUSY, "%s", why);
    }
    cbx__line_leave(&place);
    return st;
}

cbx_status cbx_claim_take(cbx_ctx *ctx, const cbx_claim_opts *opts, cbx_claim **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);

    if (opts->struct_size != sizeof *opts) return cbx_fail(err, CBX_EINVAL, "cbx_claim_opts of another version");
    if (opts->wait_s < 0)
        return cbx_fail(err, CBX_EINVAL, "the wait for locks must be at least 0 s, got %g s", opts->wait_s);
    cbx_claim *c = cbx_mem_calloc(al, 1, sizeof *c);
    if (!c) return cbx_fail_nomem(err, "the cores of commands");
    c->al = *al;
    CBX_SCOPED(cbx_arena, arena, al);
    cbx_status st = take(ctx, opts, &arena, &c->locks, err);
    return CBX_FINISH(st, *out = c, cbx_mem_free(al, c, sizeof *c));
}

void cbx_claim_release(cbx_claim *claim)
{
    if (!claim) return;
    cbx_allocator al = claim->al;
    cbx__locks_give_up(&claim->locks);
    cbx_mem_free(&al, claim, sizeof *claim);
}

void cbx__claim_pass(const cbx_claim *claim, cbx__child_opts *child, cbx__environment *e)
{
    if (!claim) return;
    child->held = claim->locks.fds;
    child->nheld = claim->locks.nfds;
    cbx__locks_tell(&claim->locks, CBX__PROCESS_CHANNEL + 1, e);
}
