/*
 * A folder for one launch.  Its user's lock marks it as in use: a folder without one was left
 * behind by a program that was killed, and the next one takes it away.
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

#include "calibrax/base/temporary.h"
#include "calibrax/perf/launch/grants.h"

#define PREFIX     "nperf-scratch-"
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

cbx_status cbx__scratch_folder_make(cbx__scratch_folder *s, cbx_err *err)
{
    struct stat info;

    cbx__scratch_folder_init(s);
    for (int i = 0; i < MAKE_TRIES; i++) {
        snprintf(s->path, sizeof s->path, "%s/" PREFIX "XXXXXX", base_folder());
        if (!mkdtemp(s->path)) break;
        const int fd = open_folder(AT_FDCWD, s->path);
        /* a sweeper may have come between the making and the locking */
        if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 && fstat(fd, &info) == 0 && info.st_nlink > 0) {
            s->lock = fd;
            return CBX_OK;
        }
        if (fd >= 0) close(fd);
    }
    cbx_status st = cbx_fail_errno(err, errno, "cannot make a scratch folder for a worker in '%s'", base_folder());
    cbx__scratch_folder_init(s);
    return st;
}

void cbx__scratch_folder_remove(cbx__scratch_folder *s)
{
    if (!s->path[0]) return;
    cbx__temporary_remove(s->path);
    if (s->lock >= 0) close(s->lock);
    cbx__scratch_folder_init(s);
}

size_t cbx__scratch_folder_sweep(void)
{
    DIR *dir = opendir(base_folder());
    struct dirent *e;
    size_t n = 0;

    while (dir && (e = readdir(dir))) {
        char path[sizeof(((cbx__scratch_folder *)0)->path) + 256];
        struct stat info;
        if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0) continue;
        const int fd = open_folder(dirfd(dir), e->d_name);
        const bool left = fd >= 0 && fstat(fd, &info) == 0 && info.st_uid == geteuid() &&
                          flock(fd, LOCK_EX | LOCK_NB) == 0;
        if (fd >= 0) close(fd);
        if (!left) continue;
        snprintf(path, sizeof path, "%s/%s", base_folder(), e->d_name);
        cbx__temporary_remove(path);
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
    const char *user_base = home && home[0] == '/' ? cbx_arena_printf(e->arena, "%s/.local", home) : NULL;

    if (!user_base && home && home[0] == '/') e->failed = true;
    /* packages of `pip install --user` are still found */
    if (user_base) cbx__environment_set(e, "PYTHONUSERBASE", user_base);
    for (size_t i = 0; i < CBX_LEN(here); i++) cbx__environment_set(e, here[i], path);
}
