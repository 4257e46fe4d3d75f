/* Files without a name. */
#include "calibrax/base/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct cbx__scratch {
    cbx_allocator al;
    int fd;
    uint64_t end;
};

/* Where the file system knows no file without a name, one that is unlinked at once. */
static int nameless(const char *folder)
{
    char name[PATH_MAX];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return fd;
    if ((size_t)snprintf(name, sizeof name, "%s/.cbx-XXXXXX.tmp", folder) >= sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemps(name, 4, O_CLOEXEC);
    if (fd >= 0) unlink(name);
    return fd;
}

cbx_status cbx__scratch_create(const cbx_allocator *al, const char *folder, cbx__scratch **out, cbx_err *err)
{
    cbx__scratch *s = cbx_mem_zalloc(al, sizeof *s);

    if (!s) return cbx_fail(err, CBX_ENOMEM, "out of memory for a temporary file");
    s->al = *al;
    s->fd = nameless(folder);
    if (s->fd < 0) {
        cbx_status st = cbx_fail_errno(err, errno, "cannot make a temporary file in '%s'", folder);
        cbx_mem_free(al, s, sizeof *s);
        return st;
    }
    *out = s;
    return CBX_OK;
}

void cbx__scratch_free(cbx__scratch *s)
{
    cbx_allocator al;

    if (!s) return;
    al = s->al;
    close(s->fd);
    cbx_mem_free(&al, s, sizeof *s);
}

cbx_status cbx__scratch_add(cbx__scratch *s, const void *data, size_t len, uint64_t *at, cbx_err *err)
{
    uint64_t begin = s->end;

    for (size_t done = 0; done < len;) {
        ssize_t n = pwrite(s->fd, (const char *)data + done, len - done, (off_t)(begin + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cbx_fail_errno(err, errno, "cannot write a temporary file");
        done += (size_t)n;
    }
    s->end = begin + len;
    if (at) *at = begin;
    return CBX_OK;
}

cbx_status cbx__scratch_read(const cbx__scratch *s, uint64_t at, void *to, size_t room, size_t *got, cbx_err *err)
{
    ssize_t n;

    do n = pread(s->fd, to, room, (off_t)at);
    while (n < 0 && errno == EINTR);
    if (n < 0) return cbx_fail_errno(err, errno, "cannot read a temporary file");
    *got = (size_t)n;
    return CBX_OK;
}

cbx_status cbx__scratch_need(const cbx__scratch *s, uint64_t at, void *to, size_t n, cbx_err *err)
{
    for (size_t done = 0, got = 0; done < n; done += got) {
        cbx_status st = cbx__scratch_read(s, at + done, (char *)to + done, n - done, &got, err);
        if (!st && !got) st = cbx_fail(err, CBX_EIO, "a temporary file was cut");
        if (st) return st;
    }
    return CBX_OK;
}

uint64_t cbx__scratch_size(const cbx__scratch *s) { return s->end; }
