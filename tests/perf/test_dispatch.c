/* Queues, locks and rooms of resources, with jobs that compute nothing. */
#include "check.h"
#include "fail_alloc.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "calibrax/base/rng.h"
#include "calibrax/perf/schedule/claim.h"
#include "calibrax/perf/schedule/dispatch.h"

enum { CPU, GPU };

static char folder[64], other_folder[64];
static cbx_ctx *ctx;
static const cbx__accelerator device = { .number = 0, .node = -1, .name = "none", .id = "test-0" };

static cbx__resource slot(size_t queue, int core, const cbx__accelerator *d)
{
    cbx__resource r = { .queue = queue, .device = d };
    r.cores = (cbx__cores){ .cpus = { core }, .ncpus = 1, .cores = { core }, .ncores = 1 };
    snprintf(r.name, sizeof(r.name), "%s of core %d", d ? "device" : "slot", core);
    return r;
}

/* What the jobs of a test share. */
typedef struct shop {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t running, most, order[64], ndone;
    bool on[16];     /* a job is on that core now */
    size_t collided; /* jobs that found another on their core */
    size_t wait_for; /* a job goes on when so many run; 0: at once */
    pid_t release;   /* killed by the job numbered `release_at` */
    size_t release_at;
    size_t fail_at;
    cbx_stop_flag stop;
    size_t stop_at;
    char note[CBX_ERR_MESSAGE_SIZE];
    size_t notes;
    size_t fds; /* of locks, in the last hold */
    bool fresh[64];
} shop;

static void shop_init(shop *s)
{
    memset(s, 0, sizeof(*s));
    s->release_at = s->fail_at = s->stop_at = SIZE_MAX;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
}

static struct timespec soon(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 20;
    return t;
}

static void meet(shop *s)
{
    struct timespec limit = soon();
    while (s->most < s->wait_for && pthread_cond_timedwait(&s->changed, &s->lock, &limit) == 0) continue;
}

/* Whoever waits has said so. */
static void wait_for_note(shop *s)
{
    struct timespec limit = soon();
    while (s->notes == 0 && pthread_cond_timedwait(&s->changed, &s->lock, &limit) == 0) continue;
}

static cbx_status job(void *user, cbx_ctx *c, size_t number, const cbx__hold *hold, cbx_err *err)
{
    shop *s = user;
    int core = hold->resource->cores.cores[0];
    (void)c;
    pthread_mutex_lock(&s->lock);
    s->collided += s->on[core];
    s->on[core] = true;
    if (++s->running > s->most) s->most = s->running;
    pthread_cond_broadcast(&s->changed);
    meet(s);
    s->running--;
    s->on[core] = false;
    s->fds = hold->n;
    s->fresh[number] = hold->fresh;
    s->order[s->ndone++] = number;
    if (number == s->stop_at) s->stop = 1;
    if (number == s->release_at) {
        wait_for_note(s);
        kill(s->release, SIGKILL);
        waitpid(s->release, NULL, 0);
    }
    pthread_mutex_unlock(&s->lock);
    return number == s->fail_at ? cbx_fail(err, CBX_EIO, "job %zu broke", number) : CBX_OK;
}

static void note(void *user, const char *text)
{
    shop *s = user;
    pthread_mutex_lock(&s->lock);
    snprintf(s->note, sizeof(s->note), "%s", text);
    s->notes++;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static cbx__dispatch plan(shop *s, const cbx__resource *r, size_t nr, const size_t *queues, size_t n)
{
    return (cbx__dispatch){ .resources = r,
                            .nresources = nr,
                            .queues = queues,
                            .njobs = n,
                            .lock_wait_s = 20,
                            .stop = &s->stop,
                            .run = job,
                            .note = note,
                            .user = s };
}

/* A process that holds the locks of a resource until it is killed. */
static pid_t holder(const cbx__resource *r)
{
    int said[2];
    const cbx__locks_wish wish = { r->cores.cores, r->cores.ncores, r->device ? r->device->id : NULL, NULL };
    char byte = 0, busy[CBX__LOCK_NAME_SIZE];
    CHECK(pipe(said) == 0, "pipe");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        cbx__locks locks;
        if (cbx__locks_take(ctx, folder, &wish, &locks, busy, NULL) || write(said[1], "x", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(said[1]);
    CHECK(read(said[0], &byte, 1) == 1, "the child holds it");
    close(said[0]);
    return child;
}

/* Jobs of the other kind are done while one kind's resource is held elsewhere: the last of them
 * ends the holder. */
TEST(no_kind_waits_for_another)
{
    static const size_t queues[] = { GPU, GPU, CPU, CPU, GPU, CPU };
    for (int held = CPU; held <= GPU; held++) {
        cbx__resource r[] = { slot(CPU, 1, NULL), slot(GPU, 2, &device) };
        size_t done_first[6] = { 0 }, n = 0;
        cbx_err err = CBX_ERR_INIT;
        shop s;
        shop_init(&s);
        s.release = holder(&r[held]);
        s.release_at = held == GPU ? 5 : 4; /* the last of the others */
        pid_t pid = s.release;
        cbx__dispatch d = plan(&s, r, 2, queues, CBX_LEN(queues));
        CHECK_OK(cbx__dispatch_run(ctx, &d, &err), &err, "all jobs");
        CHECK_INT(s.ndone, 6, "all jobs");
        for (size_t i = 0; i < 6; i++) {
            if (queues[s.order[i]] != (size_t)held && n == i) done_first[n++] = s.order[i];
        }
        CHECK_INT(n, 3, "the free kind did all of its own before the other could begin");
        CHECK(done_first[0] < done_first[1] && done_first[1] < done_first[2], "in their order");
        char wanted[32];
        snprintf(wanted, sizeof(wanted), "process %d", (int)pid);
        CHECK(strstr(s.note, wanted) && strstr(s.note, r[held].name), s.note);
        CHECK_INT(s.notes, 1, "said once");
    }
}

TEST(resources_run_side_by_side)
{
    static const size_t queues[] = { CPU, CPU, CPU, GPU, GPU, CPU };
    cbx__resource r[] = { slot(CPU, 1, NULL), slot(CPU, 2, NULL), slot(GPU, 3, &device) };
    cbx_err err = CBX_ERR_INIT;
    shop s;
    shop_init(&s);
    s.wait_for = 3; /* the first jobs wait until three run */
    cbx__dispatch d = plan(&s, r, 3, queues, CBX_LEN(queues));
    CHECK_OK(cbx__dispatch_run(ctx, &d, &err), &err, "three at a time");
    CHECK_INT(s.most, 3, "each resource has a job");
    CHECK_INT(s.ndone, 6, "all of them");
    CHECK_INT(s.notes, 0, "nobody waited");

    shop_init(&s);
    d = plan(&s, r, 3, queues, CBX_LEN(queues));
    d.max_parallel = 1;
    CHECK_OK(cbx__dispatch_run(ctx, &d, &err), &err, "one at a time");
    CHECK_INT(s.most, 1, "--max-parallel 1");
    CHECK_INT(s.ndone, 6, "all of them");
}

TEST(what_shares_cores_takes_turns)
{
    static const size_t queues[] = { CPU, GPU, CPU, GPU, CPU, GPU };
    cbx__resource r[] = { slot(CPU, 4, NULL), slot(GPU, 4, &device) };
    cbx_err err = CBX_ERR_INIT;
    shop s;
    shop_init(&s);
    cbx__dispatch d = plan(&s, r, 2, queues, CBX_LEN(queues));
    d.lock_wait_s = 0.001; /* waiting for one's own is no waiting for another's */
    CHECK_OK(cbx__dispatch_run(ctx, &d, &err), &err, "turns");
    CHECK_INT(s.collided, 0, "never both");
    CHECK_INT(s.most, 1, "never both");
    CHECK_INT(s.ndone, 6, "all of them");
}

TEST(waiting_ends)
{
    static const size_t queues[] = { GPU, CPU, CPU };
    cbx__resource r[] = { slot(CPU, 1, NULL), slot(GPU, 2, &device) };
    cbx_err err = CBX_ERR_INIT;
    char wanted[32];
    shop s;
    shop_init(&s);
    pid_t child = holder(&r[GPU]);
    cbx__dispatch d = plan(&s, r, 2, queues, CBX_LEN(queues));
    d.lock_wait_s = 0.05;
    CHECK_STATUS(cbx__dispatch_run(ctx, &d, &err), CBX_EBUSY, "the device does not come free");
    snprintf(wanted, sizeof(wanted), "process %d", (int)child);
    CHECK(strstr(err.message, wanted) && strstr(err.message, "wait longer for locks"), err.message);
    CHECK(s.ndone == 2 && s.order[0] == 1 && s.order[1] == 2, "what could be done was");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    shop_init(&s);
    d = plan(&s, r, 2, queues, CBX_LEN(queues));
    CHECK_OK(cbx__dispatch_run(ctx, &d, &err), &err, "a killed holder holds nothing");
    CHECK_INT(s.notes, 0, "so nobody waits");
}

TEST(faults_and_stops)
{
    static const size_t queues[] = { CPU, CPU, CPU, CPU };
    cbx__resource r[] = { slot(CPU, 1, NULL) };
    cbx_err err = CBX_ERR_INIT;
    shop s;
    shop_init(&s);
    s.fail_at = 1;
    cbx__dispatch d = plan(&s, r, 1, queues, CBX_LEN(queues));
    CHECK_STATUS(cbx__dispatch_run(ctx, &d, &err), CBX_EIO, "a job fails");
    CHECK_STR(err.message, "job 1 broke", "in its words");
    CHECK_INT(s.ndone, 2, "and no other begins");
    shop_init(&s);
    s.stop_at = 0;
    d = plan(&s, r, 1, queues, CBX_LEN(queues));
    CHECK_OK(cbx__dispatch_run(ctx, &d, &err), &err, "stopped");
    CHECK_INT(s.ndone, 1, "after the job that was on");
    CHECK_INT(s.fds, 1, "a lock for its core");
    CHECK(s.fresh[0], "its first");
    d.njobs = 0;
    CHECK_OK(cbx__dispatch_run(ctx, &d, &err), &err, "nothing to do");
    setenv("CALIBRAX_LOCK_DIR", "/nowhere/locks", 1);
    d = plan(&s, r, 1, queues, 1);
    CHECK_STATUS(cbx__dispatch_run(ctx, &d, &err), CBX_EPERM, "no folder for locks");
    setenv("CALIBRAX_LOCK_DIR", folder, 1);
}

TEST(a_device_settles_when_it_is_new)
{
    static const size_t queues[] = { GPU, GPU };
    cbx__resource r[] = { slot(GPU, 2, &device) };
    cbx_err err = CBX_ERR_INIT;
    shop s;
    shop_init(&s);
    cbx__dispatch d = plan(&s, r, 1, queues, 2);
    CHECK_OK(cbx__dispatch_run(ctx, &d, &err), &err, "two jobs");
    CHECK(s.fresh[0] && !s.fresh[1], "somebody else may have had it before the first");
    CHECK_INT(s.fds, 2, "locks for its cores and itself");
}

/* --- two invocations --- */

/* A job that marks its core in a folder which both invocations share: a mark that is there already
 * is an overlap. */
typedef struct marks {
    size_t overlaps;
    int meet_out, meet_in; /* the first job waits for the other invocation's; -1: it does not */
} marks;

static cbx_status mark_job(void *user, cbx_ctx *c, size_t number, const cbx__hold *hold, cbx_err *err)
{
    marks *m = user;
    char path[128], byte = 'x';
    (void)c, (void)err;
    snprintf(path, sizeof(path), "%s/mark-%d", folder, hold->resource->cores.cores[0]);
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd < 0) __atomic_add_fetch(&m->overlaps, 1, __ATOMIC_RELAXED);
    if (number == 0 && m->meet_out >= 0 && (write(m->meet_out, &byte, 1) != 1 || read(m->meet_in, &byte, 1) != 1))
        return CBX_EIO;
    sched_yield();
    if (fd < 0) return CBX_OK;
    close(fd);
    unlink(path);
    return CBX_OK;
}

static void no_note(void *user, const char *text) { (void)user, (void)text; }

/* One invocation: jobs on a few of three cores, drawn anew for each batch.  @return overlaps
 * that it saw */
static size_t invocation(uint64_t seed, size_t batches, marks m)
{
    size_t queues[25];
    cbx_rng rng = cbx_rng_make(seed, 1);
    memset(queues, 0, sizeof(queues));
    for (size_t b = 0; b < batches; b++) {
        int core = m.meet_out >= 0 ? 5 : (int)cbx_rng_below(&rng, 3) + 5;
        cbx__resource r[] = { slot(0, core, NULL), slot(0, core + 1, NULL) };
        shop s;
        shop_init(&s);
        cbx__dispatch d = plan(&s, r, m.meet_out >= 0 ? 1 : 2, queues, m.meet_out >= 0 ? 1 : CBX_LEN(queues));
        d.run = mark_job;
        d.lock_wait_s = 60;
        d.user = &m;
        d.note = no_note;
        d.stop = NULL;
        cbx_err err = CBX_ERR_INIT;
        if (cbx__dispatch_run(ctx, &d, &err)) return 1000000;
    }
    return m.overlaps;
}

/* Both invocations at once, as processes; the second under another folder of locks if they are not
 * to see each other. */
static size_t two_invocations(bool see_each_other, size_t batches)
{
    int there[2], back[2], status = 0;
    size_t mine;
    CHECK(pipe(there) == 0 && pipe(back) == 0, "pipes");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!see_each_other) setenv("CALIBRAX_LOCK_DIR", other_folder, 1);
        size_t n = invocation(2, batches, (marks){ 0, see_each_other ? -1 : back[1], there[0] });
        _exit(n > 100 ? 100 : (int)n);
    }
    mine = invocation(1, batches, (marks){ 0, see_each_other ? -1 : there[1], back[0] });
    waitpid(child, &status, 0);
    close(there[0]), close(there[1]), close(back[0]), close(back[1]);
    CHECK(WIFEXITED(status), "the other invocation");
    return mine + (size_t)WEXITSTATUS(status);
}

TEST(invocations_never_overlap)
{
    CHECK_INT(two_invocations(true, 20), 0, "a thousand jobs on three cores");
    CHECK_GT(two_invocations(false, 1), 0, "the check sees two that do not see each other's locks");
}

/* --- turns --- */

/* A sweep whose first job lasts until it is told to end, and single jobs that others wait to do;
 * each marks its letter in one file. */
typedef struct turn {
    char letter;
    int begun, go_on; /* -1: a job of no length */
} turn;

static cbx_status turn_job(void *user, cbx_ctx *c, size_t number, const cbx__hold *hold, cbx_err *err)
{
    const turn *t = user;
    char path[128], byte = 'x';
    (void)c, (void)hold, (void)err;
    snprintf(path, sizeof path, "%s/turns", folder);
    int fd = open(path, O_CREAT | O_APPEND | O_WRONLY, 0600);
    bool ok = fd >= 0 && write(fd, &t->letter, 1) == 1;
    if (fd >= 0) close(fd);
    if (number == 0 && t->begun >= 0) ok = ok && write(t->begun, &byte, 1) == 1 && read(t->go_on, &byte, 1) == 1;
    return ok ? CBX_OK : CBX_EIO;
}

static void say_so(void *user, const char *text)
{
    const turn *t = user;
    (void)text;
    if (write(t->go_on, "w", 1) != 1) _exit(2);
}

/* @param begun  gets a byte when the first job has begun; -1: go_on gets one when the invocation
 *               is in line */
static pid_t invoke(char letter, size_t njobs, int begun, int go_on)
{
    static const size_t queues[3];
    fflush(stdout);
    pid_t child = fork();
    if (child) return child;
    turn t = { letter, begun, go_on };
    cbx__resource r = slot(0, 12, NULL);
    cbx__dispatch d = { .resources = &r,
                        .nresources = 1,
                        .queues = queues,
                        .njobs = njobs,
                        .lock_wait_s = 60,
                        .run = turn_job,
                        .note = begun >= 0 ? no_note : say_so,
                        .user = &t };
    _exit(cbx__dispatch_run(ctx, &d, NULL) ? 1 : 0);
}

/* What may happen to the first waiter while it is in line. */
enum { STAYS, IS_KILLED, IS_STOPPED };

/* One who was stopped long ago. */
static void age_place_of(pid_t pid)
{
    const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
    char wanted[32];
    DIR *d = opendir(folder);
    struct dirent *e;
    size_t aged = 0;
    snprintf(wanted, sizeof wanted, "-%d-", (int)pid);
    while (d && (e = readdir(d)))
        if (!strncmp(e->d_name, "wait-", 5) && strstr(e->d_name, wanted))
            aged += utimensat(dirfd(d), e->d_name, old, 0) == 0;
    if (d) closedir(d);
    CHECK_INT(aged, 1, "one place in line");
}

static void wait_ended(pid_t pid, const char *who)
{
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0, who);
}

/* A sweep S of three jobs, B and then C in line during its first. */
static void take_turns(int fate, const char *expected)
{
    char path[128], byte, found[16] = "";
    int begun[2], go_on[2], in_line[2];
    snprintf(path, sizeof path, "%s/turns", folder);
    unlink(path);
    CHECK(pipe(begun) == 0 && pipe(go_on) == 0 && pipe(in_line) == 0, "pipes");
    pid_t s = invoke('S', 3, begun[1], go_on[0]);
    CHECK(read(begun[0], &byte, 1) == 1, "its first job has begun");
    pid_t b = invoke('B', 1, -1, in_line[1]);
    CHECK(read(in_line[0], &byte, 1) == 1, "the first in line");
    pid_t c = invoke('C', 1, -1, in_line[1]);
    CHECK(read(in_line[0], &byte, 1) == 1, "the second");
    if (fate == IS_KILLED) {
        kill(b, SIGKILL);
        waitpid(b, NULL, 0);
    } else if (fate == IS_STOPPED) {
        kill(b, SIGSTOP);
        waitpid(b, NULL, WUNTRACED);
        age_place_of(b);
    }
    CHECK(write(go_on[1], "x", 1) == 1, "the sweep goes on");
    wait_ended(c, "the second in line");
    wait_ended(s, "the sweep");
    if (fate == IS_STOPPED) kill(b, SIGCONT);
    if (fate != IS_KILLED) wait_ended(b, "the first in line");
    FILE *fp = fopen(path, "r");
    CHECK(fp && fgets(found, sizeof found, fp), "who had which turn");
    if (fp) fclose(fp);
    CHECK_STR(found, expected, "first come, first served");
    for (int i = 0; i < 2; i++) close(begun[i]), close(go_on[i]), close(in_line[i]);
}

static size_t places_left(void)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    size_t n = 0;
    while (d && (e = readdir(d))) n += strncmp(e->d_name, "wait-", 5) == 0 || strncmp(e->d_name, ".place-", 7) == 0;
    if (d) closedir(d);
    return n;
}

TEST(waiters_take_turns)
{
    take_turns(STAYS, "SBCSS");
    take_turns(IS_KILLED, "SCSS");
    take_turns(IS_STOPPED, "SCSSB");
    CHECK_INT(places_left(), 0, "no worker waits any more");
}

static cbx_status run_two(cbx_ctx *c, void *user)
{
    static const size_t queues[] = { 0, 0 };
    cbx__resource r[] = { slot(0, 9, NULL) };
    cbx__dispatch d = { .resources = r, .nresources = 1, .queues = queues, .njobs = 2, .run = job, .note = no_note };
    cbx_err err = CBX_ERR_INIT;
    shop s;
    (void)user;
    shop_init(&s);
    d.user = &s;
    return cbx__dispatch_run(c, &d, &err);
}

TEST(every_allocation_can_fail) { CHECK_GT(cbx_test_fail_each(run_two, NULL, "dispatch"), 2, "arena, members, locks"); }

/* --- commands --- */

static cbx_status claim_once(cbx_ctx *c, void *user)
{
    const cbx_claim_opts o = CBX_CLAIM_OPTS_INIT;
    cbx_claim *claim = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_claim_take(c, &o, &claim, &err);
    (void)user;
    cbx_claim_release(claim);
    return st;
}

TEST(commands_claim_all_cores)
{
    cbx_claim_opts o = CBX_CLAIM_OPTS_INIT;
    cbx_claim *claim = NULL, *second = NULL;
    cbx_stop_flag stop = 1;
    cbx_err err = CBX_ERR_INIT;
    shop s;
    shop_init(&s);
    CHECK_OK(cbx_claim_take(ctx, &o, &claim, &err), &err, "the first");
    o.wait_s = 0.01;
    o.note = note;
    o.user = &s;
    CHECK_STATUS(cbx_claim_take(ctx, &o, &second, &err), CBX_EBUSY, "the second, of the same process too");
    CHECK(strstr(err.message, "wait longer for locks") && strstr(s.note, "cpu-"), err.message);
    o.stop = &stop;
    CHECK_STATUS(cbx_claim_take(ctx, &o, &second, &err), CBX_EINTERRUPTED, "a stop ends the wait");
    cbx_claim_release(claim);
    o.stop = NULL;
    CHECK_OK(cbx_claim_take(ctx, &o, &second, &err), &err, "released");
    cbx_claim_release(second);
    o.wait_s = -1;
    CHECK_STATUS(cbx_claim_take(ctx, &o, &second, &err), CBX_EINVAL, "no time to wait");
    o.struct_size = 1;
    CHECK_STATUS(cbx_claim_take(ctx, &o, &second, &err), CBX_EINVAL, "another version");
    CHECK_GT(cbx_test_fail_each(claim_once, NULL, "claim"), 3, "itself, topology, locks");
}

static int setup(void **state)
{
    (void)state;
    ctx = cbx_test_context();
    cbx_test_folder(folder);
    cbx_test_folder(other_folder);
    setenv("CALIBRAX_LOCK_DIR", folder, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cbx_ctx_free(ctx);
    cbx_test_folder_remove(folder);
    cbx_test_folder_remove(other_folder);
    return 0;
}

TESTS(.before = setup, .after = teardown)
