/**
 * Taking locks of cores and devices, knowing those that are ours already, waiting for others'; see
 * locks.h.
 */
#include "calibrax/perf/schedule/locks.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/list.h"
#include "calibrax/base/path.h"
#include "calibrax/base/process.h"
#include "calibrax/profiling/procfs.h"

/* --- the line ---
 *
 * The line of processes that wait for locks of cores and devices, first come first served, over all
 * invocations of the machine.
 *
 * A sweep releases its cores between two jobs and takes them again at once; a process that polls
 * would never find them free.  So a waiting process has a place in line: a file
 * "wait-WHEN-PID-N.line" of the folder of locks with the names it waits for, locked by it.  A lock
 * is left to the process that is before us for it and is alive.  A waiter that was killed has lost
 * its file's lock and is removed by the next one that looks; one that was stopped, or has not
 * looked for LINE_STALE_S seconds, is ignored until it does.
 *
 * The line is for fairness alone: the locks prevent overlaps, and where the folder cannot be
 * written there is no line.
 *
 * A file gets its name when it is written and locked, so no process sees one that is neither.
 * Names sort by when they were made: the clock counts from the machine's start and is the same in
 * all its processes.
 */
#define LINE_STALE_S 30
#define PREFIX       "wait-"
#define SUFFIX       ".line"
#define MAX_TEXT     65536 /* of a file: some hundred cores */

static bool is_place(const char *name)
{
    size_t n = strlen(name), end = strlen(SUFFIX);
    return n > end && n < CBX__LOCK_NAME_SIZE && !strncmp(name, PREFIX, strlen(PREFIX)) &&
           !strcmp(name + n - end, SUFFIX);
}

/* The first of n names that is a line of the text; NULL: none. */
static const char *in_text(const char *text, const char *const *names, size_t n)
{
    for (const char *line = text; *line; line += strspn(line, "\n")) {
        size_t len = strcspn(line, "\n");
        for (size_t i = 0; i < n; i++)
            if (strlen(names[i]) == len && !strncmp(line, names[i], len)) return names[i];
        line += len;
    }
    return NULL;
}

/* Still waiting: its file is locked, and was touched lately.  A file that is not locked was left
 * behind. */
static bool is_alive(int folder, const char *place, int fd)
{
    struct stat info;
    struct timespec now;

    if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
        unlinkat(folder, place, 0);
        return false;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    return fstat(fd, &info) == 0 && now.tv_sec - info.st_mtim.tv_sec <= LINE_STALE_S;
}

/* The lock of ours that this place is in line for; NULL: none, or its process is gone. */
static const char *waits_for(int folder, const char *place, const char *const *names, size_t n)
{
    static _Thread_local char text[MAX_TEXT];
    const char *found = NULL;
    int fd = openat(folder, place, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0) return NULL;
    ssize_t len = read(fd, text, sizeof text - 1);
    if (len >= 0) {
        text[len] = '\0';
        found = in_text(text, names, n);
    }
    if (found && !is_alive(folder, place, fd)) found = NULL;
    close(fd);
    return found;
}

/* True if another process has waited longer than this one for one of n locks.  @param mine  NULL
 * or without a place: every waiting one has.
 * @param name  CBX__LOCK_NAME_SIZE bytes: that lock's, on true @param who on true: the process that
 *   waits, 0: unknown */
static bool line_is_before(const char *dir, const cbx__place *mine, const char *const *names, size_t n, char *name,
                           pid_t *who)
{
    const char *me = mine && mine->path[0] ? cbx_path_base(mine->path) : NULL, *found = NULL;
    DIR *d = opendir(dir);
    struct dirent *e;

    while (d && !found && (e = readdir(d))) {
        int pid = 0;
        if (!is_place(e->d_name) || (me && strcmp(e->d_name, me) >= 0)) continue;
        found = waits_for(dirfd(d), e->d_name, names, n);
        if (!found) continue;
        sscanf(e->d_name, PREFIX "%*20[0-9]-%d", &pid);
        *who = pid;
    }
    if (d) closedir(d);
    if (found) snprintf(name, CBX__LOCK_NAME_SIZE, "%s", found);
    return found != NULL;
}

/* --- our own place --- */

/* Takes a place in line for n locks, the last one; with a place already: marks it as alive. */
static void line_join(const char *dir, cbx__place *p, const char *const *names, size_t n)
{
    static atomic_uint made;
    unsigned number = atomic_fetch_add(&made, 1);
    char fresh[sizeof p->path];

    if (p->path[0]) {
        futimens(p->fd, NULL);
        return;
    }
    if (snprintf(fresh, sizeof fresh, "%s/.place-%d-%u", dir, (int)getpid(), number) >= (int)sizeof fresh) return;
    p->fd = cbx__fd_up(open(fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (p->fd < 0) return;
    fchmod(p->fd, 0644); /* whatever the mask is: others read it */
    bool ok = flock(p->fd, LOCK_EX | LOCK_NB) == 0;
    for (size_t i = 0; i < n && ok; i++) ok = dprintf(p->fd, "%s\n", names[i]) >= 0;
    ok = ok &&
         snprintf(p->path, sizeof p->path, "%s/" PREFIX "%020llu-%d-%u" SUFFIX, dir, (unsigned long long)cbx_clock_ns(),
                  (int)getpid(), number) < (int)sizeof p->path &&
         rename(fresh, p->path) == 0;
    if (ok) return;
    unlink(fresh);
    close(p->fd);
    p->path[0] = '\0';
}

void cbx__line_leave(cbx__place *p)
{
    if (!p->path[0]) return;
    unlink(p->path);
    close(p->fd);
    p->path[0] = '\0';
}

/* Between looks at a lock that another invocation holds: at first short, as between two jobs, then
 * doubled. */
#define POLL_FIRST_NS 1000000
#define POLL_MAX_NS   100000000
#define PATH_SIZE     512
#define NO_FD         (-1)

struct cbx__held_lock {
    cbx_lock *lock; /* NULL: of an ancestor */
    int fd;         /* NO_FD: an ancestor has it, and it was closed on the way to us */
    pid_t holder;   /* the process that took it */
    char name[CBX__LOCK_NAME_SIZE];
};

/* --- what is ours already --- */

static pid_t parent_of(pid_t pid)
{
    cbx__proc_stat s;
    return cbx__proc_stat_of("/proc", pid, &s) ? s.parent : 0;
}

/* The lock goes with the open file, so a descriptor that the lock of another process keeps from
 * locking is not the one that was inherited. */
static bool holds_through(int fd, const char *path)
{
    struct stat mine, wanted;
    int flags = fcntl(fd, F_GETFD);

    if (flags < 0 || (flags & FD_CLOEXEC)) return false; /* of our own making */
    if (fstat(fd, &mine) != 0 || stat(path, &wanted) != 0) return false;
    return mine.st_ino == wanted.st_ino && mine.st_dev == wanted.st_dev && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* One word of NPERF_LOCKS against the lock that is asked for.  *out gets a descriptor of its
 * own. */
static bool word_is(const char *word, size_t len, const char *path, const char *name, cbx__held_lock *out)
{
    int fd, holder, at = 0; /* "5:1234:cpu-0.lock" */

    if (sscanf(word, "%9d:%9d:%n", &fd, &holder, &at) != 2 || at == 0 || strlen(name) + (size_t)at != len ||
        strncmp(word + at, name, len - (size_t)at) != 0)
        return false;
    *out = (cbx__held_lock){ .fd = NO_FD, .holder = holder };
    if (fd > STDERR_FILENO && holds_through(fd, path)) {
        out->fd = cbx__fd_up(dup(fd));
        if (out->fd >= 0) return true;
    }
    pid_t p = getppid();
    while (p > 1 && p != holder) p = parent_of(p); /* only an ancestor's lock counts as ours */
    return p > 1 && cbx_lock_held_by(holder, path);
}

/* --- taking and releasing --- */

static void keep(cbx__locks *l, const cbx__held_lock *h, const char *name)
{
    cbx__held_lock *mine = &l->list[l->n++];

    *mine = *h;
    snprintf(mine->name, sizeof mine->name, "%s", name);
    if (mine->fd >= 0) l->fds[l->nfds++] = mine->fd;
}

/* The name that is to be locked: below those of the same core or device that are ours already. */
static cbx_status find_one(const char *dir, const char *what, cbx__locks *l, cbx_err *err)
{
    const char *words = getenv(CBX__LOCKS_VARIABLE);
    cbx__held_lock h;
    char path[PATH_SIZE], name[CBX__LOCK_NAME_SIZE];

    for (unsigned depth = 0;; depth++) {
        bool ours = false;
        if (depth)
            snprintf(name, sizeof name, "%s.in-%u.lock", what, depth);
        else
            snprintf(name, sizeof name, "%s.lock", what);
        if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
            return cbx_fail(err, CBX_EINVAL, "the folder of locks has too long a name");
        if (!cbx_grow(&l->al, &l->list, &l->capacity, l->n + 1, sizeof *l->list) ||
            !cbx_grow(&l->al, &l->fds, &l->fds_capacity, l->n + 1, sizeof *l->fds))
            return cbx_fail_nomem(err, "locks");
        for (const char *w = words ? words : ""; *w && !ours; w += strspn(w, " ")) {
            size_t len = strcspn(w, " ");
            ours = word_is(w, len, path, name, &h);
            w += len;
        }
        if (!ours) break;
        keep(l, &h, name);
    }
    keep(l, &(cbx__held_lock){ .fd = NO_FD }, name);
    return CBX_OK;
}

cbx_status cbx__locks_take(cbx_ctx *ctx, const char *dir, const cbx__locks_wish *wish, cbx__locks *out,
                           char busy[CBX__LOCK_NAME_SIZE], cbx_err *err)
{
    const char **names = NULL;
    char what[64];
    size_t n = 0;
    cbx_status st = CBX_OK;
    pid_t who;

    *out = (cbx__locks){ .al = *cbx_ctx_allocator(ctx) };
    CBX_SCOPED(cbx_arena, arena, &out->al);
    for (size_t i = 0; i < wish->ncores && !st; i++) {
        snprintf(what, sizeof what, "cpu-%d", wish->cores[i]);
        st = find_one(dir, what, out, err);
    }
    if (!st && wish->device) {
        snprintf(what, sizeof what, "device-%.48s", wish->device);
        st = find_one(dir, what, out, err);
    }
    if (!st) names = cbx_arena_calloc(&arena, out->n + 1, sizeof *names);
    if (!st && !names) st = cbx_fail_nomem(err, "locks");
    for (size_t i = 0; !st && i < out->n; i++)
        if (!out->list[i].holder) names[n++] = out->list[i].name;
    if (!st && line_is_before(dir, wish->place, names, n, busy, &who))
        st = cbx_fail(err, CBX_EBUSY, "another process waits for '%s'", busy);
    for (cbx__held_lock *h = out->list; h < out->list + out->n && !st; h++) {
        char path[PATH_SIZE];
        if (h->holder) continue; /* ours already */
        memcpy(busy, h->name, sizeof h->name);
        snprintf(path, sizeof path, "%s/%s", dir, h->name); /* it fitted before */
        st = cbx_lock_take(ctx, path, 0, &h->lock, err);
        if (st) break;
        h->fd = cbx_lock_fd(h->lock);
        h->holder = getpid();
        out->fds[out->nfds++] = h->fd;
    }
    if (wish->place && st == CBX_EBUSY)
        line_join(dir, wish->place, names, n);
    else if (wish->place)
        cbx__line_leave(wish->place);
    if (st) cbx__locks_release(out);
    return st;
}

void cbx__locks_release(cbx__locks *l)
{
    while (l->n) {
        cbx__held_lock *h = &l->list[--l->n];
        if (h->lock)
            cbx_lock_release(h->lock);
        else if (h->fd >= 0)
            close(h->fd);
    }
    if (l->list) cbx_mem_free(&l->al, l->list, l->capacity * sizeof *l->list);
    if (l->fds) cbx_mem_free(&l->al, l->fds, l->fds_capacity * sizeof *l->fds);
    *l = (cbx__locks){ .al = l->al };
}

void cbx__locks_give_up(cbx__locks *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->list[i].lock) flock(l->list[i].fd, LOCK_UN);
    cbx__locks_release(l);
}

void cbx__locks_tell(const cbx__locks *l, int first, cbx__environment *e)
{
    const char *text = "";

    for (size_t i = 0; i < l->n && text; i++) {
        const cbx__held_lock *h = &l->list[i];
        int fd = h->fd >= 0 ? first++ : NO_FD;
        text = cbx_arena_printf(e->arena, "%s%s%d:%d:%s", text, i ? " " : "", fd, (int)h->holder, h->name);
    }
    if (!text) e->failed = true;
    if (l->n && text) cbx__environment_set(e, CBX__LOCKS_VARIABLE, text);
}

/* --- waiting --- */

/* The process that we wait for. */
typedef struct rival {
    char who[64]; /* "process 1234" */
    bool waits;   /* it came first, and has not got it either */
} rival;

static rival rival_of(const char *dir, const char *busy)
{
    char path[PATH_SIZE], name[CBX__LOCK_NAME_SIZE];
    rival r = { "another process", false };
    pid_t pid = 0;

    if (snprintf(path, sizeof path, "%s/%s", dir, busy) < (int)sizeof path) pid = cbx_lock_holder(path);
    if (pid <= 0) r.waits = line_is_before(dir, NULL, &busy, 1, name, &pid) && pid > 0 && pid != getpid();
    if (pid > 0 && pid != getpid()) snprintf(r.who, sizeof r.who, "process %d", (int)pid);
    return r;
}

bool cbx__lock_wait_step(cbx__lock_wait *w, const char *dir, const char *busy, char why[CBX_ERR_MESSAGE_SIZE])
{
    uint64_t now = cbx_clock_ns();
    char text[CBX_ERR_MESSAGE_SIZE];
    rival r;

    if (!w->since) w->since = now, w->pause_ns = POLL_FIRST_NS;
    if (!w->reported && w->note) {
        r = rival_of(dir, busy);
        snprintf(text, sizeof text, "%s waits for '%s', which %s %s", w->who, busy, r.who,
                 r.waits ? "has waited for longer" : "holds");
        w->note(w->user, text);
        w->reported = true;
    }
    if ((double)(now - w->since) >= 1e9 * w->max_s) {
        r = rival_of(dir, busy);
        snprintf(why, CBX_ERR_MESSAGE_SIZE,
                 "%s: '%s' is still %s by %s after %g s; wait for it, end it, or wait longer for locks", w->who, busy,
                 r.waits ? "waited for" : "held", r.who, w->max_s);
        return false;
    }
    nanosleep(&(struct timespec){ 0, w->pause_ns }, NULL);
    w->pause_ns = w->pause_ns < POLL_MAX_NS / 2 ? 2 * w->pause_ns : POLL_MAX_NS;
    return true;
}
