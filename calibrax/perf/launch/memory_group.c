/*
 * Control groups by their files; see memory_group.h.
 */
#include "calibrax/perf/launch/memory_group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/profiling/procfs.h"

#define FILE_MAX  4096
#define WHY_SIZE  160
#define END_TRIES 100 /* of removing a group whose last processes are on their way out, 2 ms apart */

static size_t read_file(const char *folder, const char *name, char *text, size_t size)
{
    char path[CBX__GROUP_PATH + 32];
    text[0] = '\0';
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return 0;
    return cbx__proc_read(path, text, size);
}

static bool write_file(const char *folder, const char *name, const char *text)
{
    char path[CBX__GROUP_PATH + 32];
    size_t len = strlen(text);
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    bool done = write(fd, text, len) == (ssize_t)len;
    close(fd);
    return done;
}

/* A word of a list that is separated by blanks. */
static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *s = text; (s = strstr(s, word)); s += n)
        if ((s == text || s[-1] == ' ') && (s[n] == '\0' || s[n] == ' ' || s[n] == '\n')) return true;
    return false;
}

/* Gives its children the controller, and lets this process make children and move its own into
 * them. */
static bool is_base(const char *folder)
{
    char text[FILE_MAX], procs[CBX__GROUP_PATH + 32];
    if (!read_file(folder, "cgroup.subtree_control", text, sizeof text) || !has_word(text, "memory")) return false;
    snprintf(procs, sizeof procs, "%s/cgroup.procs", folder);
    return access(folder, W_OK | X_OK) == 0 && access(procs, W_OK) == 0;
}

/* Our own group, as a folder; "" where there is no version 2. */
static void own_group(const char *root, char *out)
{
    char text[FILE_MAX], path[256];
    out[0] = '\0';
    snprintf(path, sizeof path, "%s/sys/fs/cgroup/cgroup.controllers", root);
    if (access(path, R_OK) != 0) return;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    cbx__proc_read(path, text, sizeof text);
    const char *line = strncmp(text, "0::/", 4) == 0 ? text : strstr(text, "\n0::/");
    if (!line) return;
    line = strchr(line, '/');
    int len = (int)strcspn(line, "\n");
    if (len == 1) len = 0;
    snprintf(out, CBX__GROUP_PATH, "%s/sys/fs/cgroup%.*s", root, len, line);
}

bool cbx__memory_group_base(const char *root, char *base, char *why)
{
    const char *named = getenv("CALIBRAX_CGROUP");
    char own[CBX__GROUP_PATH], reason[WHY_SIZE] = "";
    bool found = false;

    if (named && *named) {
        snprintf(base, CBX__GROUP_PATH, "%s", named);
        found = is_base(base);
        if (!found) snprintf(reason, sizeof reason, "CALIBRAX_CGROUP names no group that is ours and has memory");
    } else {
        own_group(root, own);
        snprintf(base, CBX__GROUP_PATH, "%s", own);
        found = own[0] && is_base(base);
        char *slash = strrchr(own, '/');
        if (!found && slash && !strstr(slash, "/cgroup")) {
            snprintf(base, CBX__GROUP_PATH, "%.*s", (int)(slash - own), own);
            found = is_base(base);
        }
        if (!found)
            snprintf(reason, sizeof reason,
                     own[0] ? "no control group with memory is delegated to this user"
                            : "there are no control groups of version 2");
    }
    if (!found) base[0] = '\0';
    if (why) memcpy(why, reason, WHY_SIZE);
    return found;
}

bool cbx__memory_group_open(const char *base, pid_t pid, uint64_t limit_bytes, cbx__memory_group *out)
{
    static atomic_uint serial;
    char number[32];
    cbx__memory_group g;

    out->path[0] = '\0';
    if (!base[0]) return false;
    if (snprintf(g.path, sizeof g.path, "%.400s/nperf-%d-%u", base, (int)getpid(), atomic_fetch_add(&serial, 1)) >=
        (int)sizeof g.path)
        return false;
    if (mkdir(g.path, 0755) != 0) return false;
    snprintf(number, sizeof number, "%llu", (unsigned long long)limit_bytes);
    bool set = write_file(g.path, "memory.max", number);
    write_file(g.path, "memory.swap.max", "0"); /* where there is swap: paging is no measurement */
    write_file(g.path, "memory.oom.group", "1");
    snprintf(number, sizeof number, "%d", (int)pid);
    if (!set || !write_file(g.path, "cgroup.procs", number)) {
        rmdir(g.path);
        return false;
    }
    *out = g;
    return true;
}

uint64_t cbx__memory_group_kills(const cbx__memory_group *g)
{
    char text[FILE_MAX];
    uint64_t kills = 0;
    if (g->path[0] && read_file(g->path, "memory.events", text, sizeof text))
        cbx__proc_counter(text, "oom_kill", &kills);
    return kills;
}

uint64_t cbx__memory_group_peak(const cbx__memory_group *g)
{
    char text[64];
    return g->path[0] && read_file(g->path, "memory.peak", text, sizeof text) ? strtoull(text, NULL, 10) : 0;
}

void cbx__memory_group_close(cbx__memory_group *g)
{
    struct timespec pause = { 0, 2000000 };
    char text[FILE_MAX];
    if (!g->path[0]) return;
    if (read_file(g->path, "cgroup.procs", text, sizeof text)) write_file(g->path, "cgroup.kill", "1");
    for (int i = 0; i < END_TRIES && rmdir(g->path) != 0 && errno == EBUSY; i++) nanosleep(&pause, NULL);
    g->path[0] = '\0';
}
