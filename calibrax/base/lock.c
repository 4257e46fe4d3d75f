/*
 * Locks between processes: flock on a file, held by an open descriptor, so that a lock dies with
 * its last holder, however that ends.
 *
 * A descriptor through which a lock is held has a line "lock:" in /proc/PID/fdinfo/FD (proc(5),
 * since Linux 4.1), also in a process that only inherited it.
 */
#include "calibrax/base/file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/internal.h"
#include "calibrax/base/process.h"

struct cbx_lock {
    cbx_allocator al;
    int fd;
};

/* Not for writing: who inherits the descriptor could leave something in the file.  NFS locks what
 * is open for writing only. */
static int lock_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0 && (errno == EACCES || errno == EROFS)) return open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EBADF) return fd;
    close(fd);
    return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
}

/* Tries until the deadline, at first often: a lock is mostly held for a few milliseconds. */
static cbx_status lock_wait(int fd, const char *path, uint64_t wait_ns, cbx_err *err)
{
    uint64_t start = cbx_clock_ns(), pause = 1000000;
    bool for_ever = wait_ns == UINT64_MAX;
    for (;;) {
        if (flock(fd, for_ever ? LOCK_EX : LOCK_EX | LOCK_NB) == 0) return CBX_OK;
        if (errno != EWOULDBLOCK) return cbx_fail_errno(err, errno, "cannot lock '%s'", path);
        uint64_t gone = cbx_clock_ns() - start;
        if (gone >= wait_ns)
            return cbx_fail(err, CBX_EBUSY, "'%s' is locked by another process: try again when it has finished", path);
        if (pause > wait_ns - gone) pause = wait_ns - gone;
        struct timespec t = { .tv_sec = 0, .tv_nsec = (long)pause };
        if (nanosleep(&t, NULL)) return cbx_fail_errno(err, errno, "cannot lock '%s'", path);
        if (pause < 50000000) pause *= 2;
    }
}

cbx_status cbx_lock_take(cbx_ctx *ctx, const char *path, uint64_t wait_ns, cbx_lock **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    int fd = cbx__fd_up(lock_open(path)); /* whoever hands the lock on gives it a low number */
    if (fd < 0) return cbx_fail_errno(err, errno, "cannot open the lock file '%s'", path);
    cbx_lock *lock = cbx_mem_alloc(al, sizeof *lock);
    cbx_status st = lock ? lock_wait(fd, path, wait_ns, err) : cbx_fail_nomem(err, path);
    if (st) {
        cbx_mem_free(al, lock, sizeof *lock);
        close(fd);
        return st;
    }
    *lock = (cbx_lock){ *al, fd };
    *out = lock;
    return CBX_OK;
}

int cbx_lock_fd(const cbx_lock *lock) { return lock->fd; }

/* Only root and its owner can put another folder in its place. */
static bool is_shared_folder(const char *path)
{
    struct stat info;
    if (lstat(path, &info) != 0 || !S_ISDIR(info.st_mode)) return false;
    return !(info.st_mode & S_IWOTH) || (info.st_mode & S_ISVTX);
}

cbx_status cbx_lock_dir(cbx_ctx *ctx, cbx_arena *arena, const char **path, cbx_err *err)
{
    const char *chosen = getenv("CALIBRAX_LOCK_DIR");
    const char *places[] = { chosen, "/run/lock/calibrax", "/tmp/calibrax-locks" };
    (void)ctx;
    for (size_t i = 0; i < CBX_LEN(places); i++) {
        const char *place = places[i];
        if (!place || !*place) continue;
        if (mkdir(place, 01777) == 0) chmod(place, 01777); /* whatever the mask says: others lock here too */
        if (is_shared_folder(place) && access(place, W_OK | X_OK) == 0) {
            *path = cbx_arena_strdup(arena, place);
            return *path ? CBX_OK : cbx_fail_nomem(err, "the folder of locks");
        }
        if (place == chosen) break; /* an error, if it was named */
    }
    return cbx_fail(err, CBX_EPERM, "no folder for locks: '%s' cannot be used; name one in CALIBRAX_LOCK_DIR",
                    chosen && *chosen ? chosen : places[2]);
}

void cbx_lock_release(cbx_lock *lock)
{
    if (!lock) return;
    close(lock->fd);
    cbx_mem_free(&lock->al, lock, sizeof *lock);
}

/* --- who holds one --- */

bool cbx__fdinfo_has_lock(FILE *info)
{
    char text[256];
    bool begins = true; /* a long line comes in pieces, of which only the first one begins it */
    while (fgets(text, sizeof text, info)) {
        if (begins && strncmp(text, "lock:", 5) == 0) return true;
        begins = strchr(text, '\n') != NULL;
    }
    return false;
}

/* True if the process holds a lock through this descriptor of its own. */
static bool locks_through(const char *process, const char *fd)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%.20s/fdinfo/%.20s", process, fd);
    FILE *info = fopen(path, "re");
    bool found = info && cbx__fdinfo_has_lock(info);
    if (info) fclose(info);
    return found;
}

static bool holds(const char *process, const struct stat *wanted)
{
    char path[96];
    struct dirent *e;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%.20s/fd", process);
    DIR *d = opendir(path);
    if (!d) return false;
    while (!found && (e = readdir(d))) {
        struct stat info;
        if (!isdigit((unsigned char)e->d_name[0]) || fstatat(dirfd(d), e->d_name, &info, 0) != 0) continue;
        found = info.st_ino == wanted->st_ino && info.st_dev == wanted->st_dev && locks_through(process, e->d_name);
    }
    closedir(d);
    return found;
}

bool cbx_lock_held_by(pid_t process, const char *path)
{
    struct stat wanted;
    char number[24];
    snprintf(number, sizeof number, "%d", (int)process);
    return process > 0 && stat(path, &wanted) == 0 && holds(number, &wanted);
}

pid_t cbx_lock_holder(const char *path)
{
    struct stat wanted;
    struct dirent *e;
    pid_t holder = 0;
    DIR *d = stat(path, &wanted) == 0 ? opendir("/proc") : NULL;
    if (!d) return 0;
    while (!holder && (e = readdir(d)))
        if (isdigit((unsigned char)e->d_name[0]) && holds(e->d_name, &wanted)) holder = (pid_t)atoi(e->d_name);
    closedir(d);
    return holder;
}
