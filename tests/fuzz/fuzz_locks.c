/*
 * Any bytes as what tells of locks: /proc/PID/fdinfo/FD, and the words of NPERF_LOCKS, by which a
 * program says to those it starts which locks they have already.  The first byte chooses.
 *
 * A descriptor holds a lock exactly if a line of its own begins with "lock:"; and no word makes a
 * lock ours that nobody gave us.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "calibrax/base/internal.h"
#include "calibrax/perf/schedule/locks.h"
#include "files.h"
#include "fuzz.h"

static void require(bool good)
{
    if (!good) abort();
}

static void fdinfo(const char *text, size_t n)
{
    FILE *f = n ? fmemopen((void *)(uintptr_t)text, n, "r") : fopen("/dev/null", "r");
    bool wanted = !strncmp(text, "lock:", 5) || strstr(text, "\nlock:");

    require(f != NULL && cbx__fdinfo_has_lock(f) == wanted);
    fclose(f);
}

/* Somebody else's look at a lock: free or not. */
static bool is_locked(const char *dir, const char *name)
{
    char path[256];
    int fd;
    bool locked;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    fd = open(path, O_RDWR | O_CLOEXEC);
    require(fd >= 0);
    locked = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    return locked;
}

static void words(cbx_ctx *ctx, const char *text)
{
    static const char *const files[] = { "cpu-7.lock", "device-0.lock" };
    static const int cores[] = { 7 };
    const cbx__locks_wish wish = { cores, 1, "0" };
    const char *dir = fuzz_files_folder(files, CBX_LEN(files));
    char busy[CBX__LOCK_NAME_SIZE];
    cbx__locks locks;

    setenv(CBX__LOCKS_VARIABLE, text, 1);
    require(cbx__locks_take(ctx, dir, &wish, &locks, busy, NULL) == CBX_OK);
    require(locks.nfds == 2 && is_locked(dir, files[0]) && is_locked(dir, files[1]));
    cbx__locks_release(&locks);
    require(!is_locked(dir, files[0]) && !is_locked(dir, files[1]));
}

FUZZ_ENTRY()
{
    static cbx_ctx *ctx;
    char *text;

    if (size < 1 || size > 16384) return 0;
    if (!ctx) require(cbx_ctx_create(NULL, &ctx, NULL) == CBX_OK);
    text = strndup((const char *)data + 1, size - 1);
    require(text != NULL);
    if (data[0] & 1)
        fdinfo(text, strlen(text));
    else
        words(ctx, text);
    free(text);
    return 0;
}
