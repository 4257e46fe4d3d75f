/*
 * Places in line as files of the folder of locks; see waiting_line.h.
 *
 * A file gets its name when it is written and locked, so no process sees one that is neither.
 * Names sort by when they were made: the clock counts from the machine's start and is the same in
 * all its processes.
 */
#include "calibrax/perf/schedule/waiting_line.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/path.h"
#include "calibrax/base/process.h"

#define PREFIX   "wait-"
#define SUFFIX   ".line"
#define MAX_TEXT 65536 /* of a file: some hundred cores */

static bool is_place(const char *name)
{
    size_t n = strlen(name), end = strlen(SUFFIX);
    return n > end && n < CBX__LINE_NAME && !strncmp(name, PREFIX, strlen(PREFIX)) && !strcmp(name + n - end, SUFFIX);
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
    return fstat(fd, &info) == 0 && now.tv_sec - info.st_mtim.tv_sec <= CBX__LINE_STALE_S;
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

bool cbx__line_is_before(const char *dir, const cbx__place *mine, const char *const *names, size_t n, char *name,
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
    if (found) snprintf(name, CBX__LINE_NAME, "%s", found);
    return found != NULL;
}

/* --- our own place --- */

void cbx__line_join(const char *dir, cbx__place *p, const char *const *names, size_t n)
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
