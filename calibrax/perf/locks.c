/**
 * Taking locks of cores and devices, knowing those that are ours already, waiting for others'; see locks.h.
 */
#include "calibrax/perf/locks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/process.h"
#include "calibrax/profiling/procfs.h"

/* Between looks at a lock that another invocation holds: at first short, as between two jobs, then doubled. */
#define POLL_FIRST_NS 1000000
#define POLL_MOST_NS  100000000
#define PATH_SIZE     512
#define NO_FD         (-1)

struct cbx__held_lock {
    cbx_lock *lock; /* NULL: of who started us */
    int fd;         /* NO_FD: an ancestor has it, and it was closed on the way to us */
    pid_t holder;   /* who took it */
    char name[CBX__LOCK_NAME_SIZE];
};

/* --- what is ours already --- */

static pid_t parent_of(pid_t pid)
{
    char path[64], text[1024];
    const char *end;
    int parent = 0;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (!cbx__proc_read(path, text, sizeof text)) return 0;
    end = strrchr(text, ')'); /* a name may hold anything */
    return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static bool is_ancestor(pid_t pid)
{
    for (pid_t p = getppid(); p > 1; p = parent_of(p))
        if (p == pid) return true;
    return false;
}

/* The lock goes with the open file, so a descriptor that somebody else's lock keeps from locking is not the one that was inherited. */
static bool holds_through(int fd, const char *path)
{
    struct stat mine, wanted;
    int flags = fcntl(fd, F_GETFD);

    if (flags < 0 || (flags & FD_CLOEXEC)) return false; /* of our own making */
    if (fstat(fd, &mine) != 0 || stat(path, &wanted) != 0) return false;
    return mine.st_ino == wanted.st_ino && mine.st_dev == wanted.st_dev && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* "5:1234:cpu-0.lock" up to the name; NULL: it is something else. */
static const char *read_numbers(const char *word, int *fd, int *holder)
{
    int *const places[] = { fd, holder };

    for (int i = 0; i < 2; i++) {
        char *end;
        long n = strtol(word, &end, 10);
        if (end == word || *end != ':' || n < NO_FD || n > INT_MAX) return NULL;
        *places[i] = (int)n;
        word = end + 1;
    }
    return word;
}

/* One word of NPERF_LOCKS against the lock that is asked for.  *out gets a descriptor of its own. */
static bool word_is(const char *word, size_t len, const char *path, const char *name, cbx__held_lock *out)
{
    int fd, holder;
    const char *from = read_numbers(word, &fd, &holder);
    size_t left = from && from <= word + len ? len - (size_t)(from - word) : 0;

    if (strlen(name) != left || strncmp(from, name, left) != 0) return false;
    *out = (cbx__held_lock){ .fd = NO_FD, .holder = holder };
    if (fd > STDERR_FILENO && holds_through(fd, path)) {
        out->fd = cbx__fd_up(dup(fd));
        if (out->fd >= 0) return true;
    }
    return is_ancestor(holder) && cbx_lock_held_by(holder, path);
}

static bool is_ours(const char *path, const char *name, cbx__held_lock *out)
{
    const char *words = getenv(CBX__LOCKS_VARIABLE);

    for (const char *w = words ? words : ""; *w; w += strspn(w, " ")) {
        size_t len = strcspn(w, " ");
        if (word_is(w, len, path, name, out)) return true;
        w += len;
    }
    return false;
}

/* --- taking and releasing --- */

static cbx_status no_memory(cbx_err *err) { return cbx_fail(err, CBX_ENOMEM, "out of memory for locks"); }

/* Room for one more; the list stays as it is if there is none. */
static bool grow(cbx__locks *l)
{
    size_t room = l->room ? 2 * l->room : 8;
    void *list, *fds;

    if (l->n < l->room) return true;
    list = cbx_mem_resize(&l->al, l->list, l->room * sizeof *l->list, room * sizeof *l->list);
    if (!list) return false;
    l->list = list;
    l->room = room;
    fds = cbx_mem_resize(&l->al, l->fds, l->fds_room * sizeof *l->fds, room * sizeof *l->fds);
    if (!fds) return false;
    l->fds = fds;
    l->fds_room = room;
    return true;
}

static void keep(cbx__locks *l, const cbx__held_lock *h, const char *name)
{
    cbx__held_lock *mine = &l->list[l->n++];

    *mine = *h;
    snprintf(mine->name, sizeof mine->name, "%s", name);
    if (mine->fd >= 0) l->fds[l->nfds++] = mine->fd;
}

/* Under those of the same core or device that are ours already. */
static cbx_status take_one(cbx_ctx *ctx, const char *dir, const char *what, cbx__locks *l,
                           char name[CBX__LOCK_NAME_SIZE], cbx_err *err)
{
    cbx__held_lock h;
    char path[PATH_SIZE];
    cbx_status st;

    for (unsigned depth = 0;; depth++) {
        if (depth)
            snprintf(name, CBX__LOCK_NAME_SIZE, "%s.in-%u.lock", what, depth);
        else
            snprintf(name, CBX__LOCK_NAME_SIZE, "%s.lock", what);
        if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
            return cbx_fail(err, CBX_EINVAL, "the folder of locks has too long a name");
        if (l->n == l->room && !grow(l)) return no_memory(err);
        if (!is_ours(path, name, &h)) break;
        keep(l, &h, name);
    }
    h = (cbx__held_lock){ .holder = getpid() };
    st = cbx_lock_take(ctx, path, 0, &h.lock, err);
    if (st) return st;
    h.fd = cbx_lock_fd(h.lock);
    keep(l, &h, name);
    return CBX_OK;
}

cbx_status cbx__locks_take(cbx_ctx *ctx, const char *dir, const cbx__locks_wish *wish, cbx__locks *out,
                           char busy[CBX__LOCK_NAME_SIZE], cbx_err *err)
{
    cbx_status st = CBX_OK;
    char what[64];

    *out = (cbx__locks){ .al = *cbx_ctx_allocator(ctx) };
    for (size_t i = 0; i < wish->ncores && !st; i++) {
        snprintf(what, sizeof what, "cpu-%d", wish->cores[i]);
        st = take_one(ctx, dir, what, out, busy, err);
    }
    if (!st && wish->device) {
        snprintf(what, sizeof what, "device-%.48s", wish->device);
        st = take_one(ctx, dir, what, out, busy, err);
    }
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
    if (l->list) cbx_mem_free(&l->al, l->list, l->room * sizeof *l->list);
    if (l->fds) cbx_mem_free(&l->al, l->fds, l->fds_room * sizeof *l->fds);
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

/* Who has it, for a sentence: "process 1234". */
static const char *holder_text(const char *dir, const char *busy, char *out, size_t size)
{
    char path[PATH_SIZE];
    pid_t pid = 0;

    if (snprintf(path, sizeof path, "%s/%s", dir, busy) < (int)sizeof path) pid = cbx_lock_holder(path);
    if (pid > 0)
        snprintf(out, size, "process %d", (int)pid);
    else
        snprintf(out, size, "another process");
    return out;
}

bool cbx__lock_wait_step(cbx__lock_wait *w, const char *dir, const char *busy, char why[CBX_ERR_MESSAGE_SIZE])
{
    char text[CBX_ERR_MESSAGE_SIZE], who[64];
    uint64_t now = cbx_clock_ns();

    if (!w->since) w->since = now, w->pause_ns = POLL_FIRST_NS;
    if (!w->told) {
        snprintf(text, sizeof text, "%s waits for '%s', which %s holds", w->who, busy,
                 holder_text(dir, busy, who, sizeof who));
        w->note(w->user, text);
        w->told = true;
    }
    if ((double)(now - w->since) >= 1e9 * w->most_s) {
        snprintf(why, CBX_ERR_MESSAGE_SIZE,
                 "%s: '%s' is still held by %s after %g s; wait for it, end it, or raise --lock-wait", w->who, busy,
                 holder_text(dir, busy, who, sizeof who), w->most_s);
        return false;
    }
    nanosleep(&(struct timespec){ 0, w->pause_ns }, NULL);
    w->pause_ns = w->pause_ns < POLL_MOST_NS / 2 ? 2 * w->pause_ns : POLL_MOST_NS;
    return true;
}
