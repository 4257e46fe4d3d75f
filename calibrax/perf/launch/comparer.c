/*
 * The process that compares outputs where plug-ins are loaded.
 *
 * A plug-in's code runs in the process that loads it, and could change the functions there that
 * judge it.  So this process is forked before, and never loads one: each comparison is a memory
 * file with the three arrays, into which it writes the result.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/process.h"
#include "calibrax/perf/launch/check.h"
#include "calibrax/perf/launch/wire.h"

#define CACHE_LINE 64u

/* The beginning of the file: of output, answer and bound the forms, and where they begin. */
typedef struct request {
    cbx_array_desc desc[3];
    size_t offset[3];
    cbx_fidelity io;
} request;

static struct {
    bool started; /* else comparisons are made here */
    pthread_mutex_t lock;
    cbx__wire wire; /* of this end */
} comparer = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool compare(cbx_ctx *ctx, int file)
{
    cbx_array *a[3] = { NULL };
    struct stat info;
    bool ok = fstat(file, &info) == 0;
    size_t bytes = ok ? (size_t)info.st_size : 0;
    char *data = ok ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;

    if (data == MAP_FAILED) return false;
    request *q = (void *)data;
    for (int i = 0; ok && i < 3; i++)
        ok = !cbx_array_wrap(ctx, &q->desc[i], NULL, data + q->offset[i], NULL, NULL, &a[i], NULL);
    if (ok) cbx_fidelity_compare(a[0], a[1], a[2], &q->io);
    for (int i = 0; i < 3; i++) cbx_array_free(a[i]);
    munmap(data, bytes);
    return ok;
}

/* A line with a descriptor is answered with a line, when the result is in its file. */
static _Noreturn void serve(int channel)
{
    static cbx__wire wire;
    cbx_ctx *ctx = NULL;
    char *line;
    size_t len;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN); /* the parent ends it */
    cbx__wire_init(&wire, channel, true);
    bool ok = !cbx_ctx_create(NULL, &ctx, NULL);
    while (ok && !cbx__wire_fill(&wire, NULL)) {
        ok = !cbx__wire_next_line(&wire, &line, &len, NULL) && line && wire.nfds == 1 && compare(ctx, wire.fds[0]) &&
             !cbx__wire_send_text(&wire, "\n", 1, NULL, 0, NULL);
        cbx__wire_clear(&wire);
    }
    for (;;) raise(SIGKILL); /* exit handlers are the parent's */
}

cbx_status cbx_fidelity_isolate(cbx_err *err)
{
    int pair[2];

    if (comparer.started) return CBX_OK;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return cbx_fail_errno(err, errno, "no channel to a process that compares outputs");
    pid_t child = fork();
    if (child == 0) {
        close(pair[0]);
        serve(pair[1]);
    }
    close(pair[1]);
    if (child < 0) {
        close(pair[0]);
        return cbx_fail_errno(err, errno, "cannot start a process that compares outputs");
    }
    cbx__wire_init(&comparer.wire, pair[0], false);
    comparer.started = true;
    return CBX_OK;
}

/* Row-major, whatever the array's strides are. */
static void pack(const cbx_array *a, char *to)
{
    const size_t size = cbx_dtype_size(cbx_array_dtype(a)), n = cbx_array_count(a);
    const char *data = cbx_array_data(a);

    if (cbx_array_is_contiguous(a)) {
        if (n) memcpy(to, data, n * size);
        return;
    }
    for (size_t i = 0; i < n; i++) memcpy(to + i * size, data + cbx__element_offset(a, i) * (ptrdiff_t)size, size);
}

cbx_status cbx__fidelity_compare_apart(const cbx_array *output, const cbx_array *answer, const cbx_array *bound,
                                       cbx_fidelity *io, cbx_err *err)
{
    const cbx_array *const a[3] = { output, answer, bound };
    size_t bytes = (sizeof(request) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    request q = { .io = *io };
    char reply;
    int file;

    if (!comparer.started) {
        cbx_fidelity_compare(output, answer, bound, io);
        return CBX_OK;
    }
    for (int i = 0; i < 3; i++) {
        q.desc[i] = *cbx_array_get_desc(a[i]);
        q.offset[i] = bytes;
        bytes += (cbx_array_bytes(a[i]) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    }
    cbx_status st = cbx__memory_file("comparison", &file, err);
    if (st) return st;
    char *data = ftruncate(file, (off_t)bytes) ? MAP_FAILED
                                               : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) {
        close(file);
        return cbx_fail(err, CBX_ENOMEM, "no memory for a comparison of %zu bytes", bytes);
    }
    memcpy(data, &q, sizeof q);
    for (int i = 0; i < 3; i++) pack(a[i], data + q.offset[i]);
    pthread_mutex_lock(&comparer.lock);
    if (cbx__wire_send_text(&comparer.wire, "\n", 1, &file, 1, NULL) || recv(comparer.wire.fd, &reply, 1, 0) != 1)
        st = cbx_fail(err, CBX_EIO, "the process that compares outputs has ended");
    pthread_mutex_unlock(&comparer.lock);
    if (!st) *io = ((const request *)(void *)data)->io;
    munmap(data, bytes);
    close(file);
    return st;
}
