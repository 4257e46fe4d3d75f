/*
 * The process that compares outputs where plug-ins are loaded.
 *
 * A plug-in's code runs in the process that loads it, and could change the functions there that judge it.  So this process is forked
 * before, and never loads one: it gets the three arrays of each comparison in a memory file, and returns the result.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "calibrax/base/process.h"
#include "calibrax/perf/launch/check.h"

#define CACHE_LINE 64u

/* Of output, answer and bound: their forms, and where they begin in the file. */
typedef struct request {
    cbx_array_desc desc[3];
    size_t offset[3], bytes;
    cbx_fidelity io;
} request;

static struct {
    int channel; /* -1: there is no comparer, and comparisons are made here */
    pthread_mutex_t lock;
} comparer = { -1, PTHREAD_MUTEX_INITIALIZER };

static bool compare(cbx_ctx *ctx, request *q, int file)
{
    cbx_array *a[3] = { NULL };
    char *data = mmap(NULL, q->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    bool ok = data != MAP_FAILED;

    for (int i = 0; ok && i < 3; i++)
        ok = !cbx_array_wrap(ctx, &q->desc[i], NULL, data + q->offset[i], NULL, NULL, &a[i], NULL);
    if (ok) cbx_fidelity_compare(a[0], a[1], a[2], &q->io);
    for (int i = 0; i < 3; i++) cbx_array_free(a[i]);
    if (data != MAP_FAILED) munmap(data, q->bytes);
    return ok;
}

/* @param file  sent beside the request; -1: none.  @return as sendmsg and recvmsg */
static ssize_t exchange(int channel, bool out, request *q, int *file)
{
    union {
        struct cmsghdr align;
        char data[CMSG_SPACE(sizeof(int))];
    } extra = { .data = { 0 } };
    struct iovec part = { q, sizeof *q };
    struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = extra.data, .msg_controllen = sizeof extra };
    ssize_t n;

    if (out) {
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        *c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(c), file, sizeof *file);
    }
    do n = out ? sendmsg(channel, &m, MSG_NOSIGNAL) : recvmsg(channel, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (!out && n > 0 && m.msg_controllen >= CMSG_LEN(sizeof(int)))
        memcpy(file, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof *file);
    return n;
}

static _Noreturn void serve(int channel)
{
    cbx_ctx *ctx = NULL;
    request q;
    int file = -1;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN); /* the parent ends it */
    bool ok = !cbx_ctx_create(NULL, &ctx, NULL);
    while (ok && exchange(channel, false, &q, &file) == (ssize_t)sizeof q && file >= 0) {
        ok = compare(ctx, &q, file);
        close(file);
        file = -1;
        ok = ok && send(channel, &q.io, sizeof q.io, MSG_NOSIGNAL) == (ssize_t)sizeof q.io;
    }
    for (;;) raise(SIGKILL); /* exit handlers are the parent's */
}

cbx_status cbx_fidelity_isolate(cbx_err *err)
{
    int pair[2];
    pid_t child;

    if (comparer.channel >= 0) return CBX_OK;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return cbx_fail_errno(err, errno, "no channel to a process that compares outputs");
    child = fork();
    if (child == 0) {
        close(pair[0]);
        serve(pair[1]);
    }
    close(pair[1]);
    if (child < 0) {
        close(pair[0]);
        return cbx_fail_errno(err, errno, "cannot start a process that compares outputs");
    }
    comparer.channel = pair[0];
    return CBX_OK;
}

/* Row-major, whatever the array's strides are. */
static void pack(const cbx_array *a, char *to)
{
    const size_t size = cbx_dtype_size(cbx_array_dtype(a)), n = cbx_array_count(a);
    const ptrdiff_t *strides = cbx_array_strides(a);
    const char *data = cbx_array_data(a);

    if (cbx_array_is_contiguous(a)) {
        if (n) memcpy(to, data, n * size);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        ptrdiff_t at = 0;
        size_t left = i;
        for (int axis = cbx_array_ndim(a) - 1; axis >= 0; left /= cbx_array_dim(a, axis), axis--)
            at += (ptrdiff_t)(left % cbx_array_dim(a, axis)) * strides[axis];
        memcpy(to + i * size, data + at * (ptrdiff_t)size, size);
    }
}

cbx_status cbx__fidelity_compare_apart(const cbx_array *output, const cbx_array *answer, const cbx_array *bound,
                                       cbx_fidelity *io, cbx_err *err)
{
    const cbx_array *const a[3] = { output, answer, bound };
    request q = { .bytes = CACHE_LINE, .io = *io };
    cbx_status st;
    int file;

    if (comparer.channel < 0) {
        cbx_fidelity_compare(output, answer, bound, io);
        return CBX_OK;
    }
    for (int i = 0; i < 3; i++) {
        q.desc[i] = *cbx_array_get_desc(a[i]);
        q.offset[i] = q.bytes;
        q.bytes += (cbx_array_bytes(a[i]) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    }
    st = cbx__memory_file("comparison", &file, err);
    if (st) return st;
    char *data = ftruncate(file, (off_t)q.bytes) ? MAP_FAILED
                                                 : mmap(NULL, q.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) {
        close(file);
        return cbx_fail(err, CBX_ENOMEM, "no memory for a comparison of %zu bytes", q.bytes);
    }
    for (int i = 0; i < 3; i++) pack(a[i], data + q.offset[i]);
    munmap(data, q.bytes);
    pthread_mutex_lock(&comparer.lock);
    if (exchange(comparer.channel, true, &q, &file) != (ssize_t)sizeof q ||
        recv(comparer.channel, io, sizeof *io, 0) != (ssize_t)sizeof *io)
        st = cbx_fail(err, CBX_EIO, "the process that compares outputs has ended");
    pthread_mutex_unlock(&comparer.lock);
    close(file);
    return st;
}
