/*
 * A folder for one launch.  Its user's lock marks it as in use: a folder without one was left
 * behind by a program that was killed, and the next one takes it away.
 *
 * What is in it was made by a worker that may mean ill: names that are links, folders without
 * rights, trees deeper than a path is long.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/perf/launch/grants.h"

#define PREFIX     "nperf-scratch-"
#define DEPTH_MAX  16    /* below, folders are moved up before they are emptied */
#define ROUNDS_MAX 65536 /* of moving up */
#define MAKE_TRIES 10

static const char *base_folder(void)
{
    const char *base = getenv("TMPDIR");
    return base && base[0] == '/' && strlen(base) < sizeof(((cbx__scratch_folder *)0)->path) - 32 ? base : "/tmp";
}

void cbx__scratch_folder_init(cbx__scratch_folder *s)
{
    s->path[0] = '\0';
    s->lock = -1;
}

static int open_folder(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* A sweeper may have come between the making and the locking. */
static bool take(const char *path, int *lock)
{
    struct stat info;
    int fd = open_folder(AT_FDCWD, path);
    bool ok = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 && fstat(fd, &info) == 0 && info.st_nlink > 0;

    if (!ok && fd >= 0) close(fd);
    if (ok) *lock = fd;
    return ok;
}

cbx_status cbx__scratch_folder_make(cbx__scratch_folder *s, cbx_err *err)
{
    cbx__scratch_folder_init(s);
    for (int i = 0; i < MAKE_TRIES; i++) {
        snprintf(s->path, sizeof s->path, "%s/" PREFIX "XXXXXX", base_folder());
        if (!mkdtemp(s->path)) break;
        if (take(s->path, &s->lock)) return CBX_OK;
    }
    cbx_status st = cbx_fail_errno(err, errno, "cannot make a scratch folder for a worker in '%s'", base_folder());
    cbx__scratch_folder_init(s);
    return st;
}

/* --- removing --- */

typedef struct removal {
    int top;
    unsigned long moved; /* folders that were moved up, which gives them their names */
} removal;

static void empty(removal *r, int folder, int depth);

static void remove_folder(removal *r, int at, const char *name, int depth)
{
    char up[32];
    int fd;

    fchmodat(at, name, 0700, 0); /* folders only come here, and links are none */
    if (depth >= DEPTH_MAX) {
        snprintf(up, sizeof up, ".up-%lu", r->moved++);
        renameat(at, name, r->top, up);
        return;
    }
    fd = open_folder(at, name);
    if (fd >= 0) empty(r, fd, depth + 1);
    unlinkat(at, name, AT_REMOVEDIR);
}

/* Empties an open folder, and closes it. */
static void empty(removal *r, int folder, int depth)
{
    DIR *dir = fdopendir(folder);
    struct dirent *e;

    if (!dir) {
        close(folder);
        return;
    }
    while ((e = readdir(dir))) {
        struct stat info;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        if (fstatat(dirfd(dir), e->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (S_ISDIR(info.st_mode))
            remove_folder(r, dirfd(dir), e->d_name, depth);
        else
            unlinkat(dirfd(dir), e->d_name, 0);
    }
    closedir(dir);
}

static bool is_empty(const char *path) { return rmdir(path) == 0 || errno == ENOENT; }

static void remove_tree(const char *path)
{
    removal r = { open_folder(AT_FDCWD, path), 0 };

    if (r.top < 0) return;
    for (int round = 0; round < ROUNDS_MAX; round++) {
        unsigned long before = r.moved;
        int again = open_folder(r.top, ".");
        if (again >= 0) empty(&r, again, 0);
        if (is_empty(path) || r.moved == before) break;
    }
    close(r.top);
}

void cbx__scratch_folder_remove(cbx__scratch_folder *s)
{
    if (!s->path[0]) return;
    remove_tree(s->path);
    if (s->lock >= 0) close(s->lock);
    cbx__scratch_folder_init(s);
}

static bool is_left_behind(int base, const char *name)
{
    struct stat info;
    int fd;
    bool left;

    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) return false;
    fd = open_folder(base, name);
    left = fd >= 0 && fstat(fd, &info) == 0 && info.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0) close(fd);
    return left;
}

size_t cbx__scratch_folder_sweep(void)
{
    DIR *dir = opendir(base_folder());
    struct dirent *e;
    size_t n = 0;

    while (dir && (e = readdir(dir))) {
        char path[sizeof(((cbx__scratch_folder *)0)->path) + 256];
        if (!is_left_behind(dirfd(dir), e->d_name)) continue;
        snprintf(path, sizeof path, "%s/%s", base_folder(), e->d_name);
        remove_tree(path);
        n++;
    }
    if (dir) closedir(dir);
    return n;
}

/* --- the environment --- */

void cbx__scratch_folder_environment(cbx__environment *e, const char *path)
{
    static const char *const here[] = { "HOME",          "TMPDIR",         "TMP",
                                        "TEMP",          "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
                                        "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR" };
    const char *home = getenv("HOME");
    char *user_base = home && home[0] == '/' ? cbx_arena_printf(e->arena, "%s/.local", home) : NULL;

    if (!user_base && home && home[0] == '/') e->failed = true;
    if (user_base)
        cbx__environment_set(e, "PYTHONUSERBASE", user_base); /* packages of `pip install --user` are still found */
    for (size_t i = 0; i < CBX_LEN(here); i++) cbx__environment_set(e, here[i], path);
}
