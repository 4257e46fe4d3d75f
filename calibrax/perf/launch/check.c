/*
 * A worker's outputs.  The files are shared with a live process that may do anything with them, so
 * they are read with pread, never mapped: a file that shrinks under the reader is a short read, not
 * a SIGBUS.
 */
#include "calibrax/perf/launch/check.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/array/io/npy.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/process.h"
#include "calibrax/perf/launch/wire.h"

/* --- the process that compares outputs where plug-ins are loaded ---
 *
 * A plug-in's code runs in the process that loads it, and could change the functions there that
 * judge it.  So this process is forked before, and never loads one: each comparison is a memory
 * file with the three arrays, into which it writes the result.
 */
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

/* cbx_fidelity_compare, in the process of cbx_fidelity_isolate if there is one.  @return CBX_OK;
 * CBX_EIO, CBX_ENOMEM */
static cbx_status compare_apart(const cbx_array *output, const cbx_array *answer, const cbx_array *bound,
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

#define HEADER_MAX 65536

cbx_status cbx__checker_init(cbx_ctx *ctx, const cbx_workload *w, cbx__checker *c, cbx_err *err)
{
    cbx_status st = CBX_OK;
    memset(c, 0, sizeof *c);
    c->w = w;
    for (size_t i = 0; i < CBX_CASE_MAX_ARRAYS; i++) c->fds[i] = -1;
    for (size_t i = 0; !st && i < w->c->noutputs; i++) {
        st = cbx__memory_file("output", &c->fds[i], err);
        if (!st) st = cbx_array_create(ctx, &w->outputs[i], &c->arrays[i], err);
        if (!st) c->max_bytes[i] = cbx_array_bytes(c->arrays[i]) + HEADER_MAX;
    }
    if (st) cbx__checker_clear(c);
    return st;
}

void cbx__checker_clear(cbx__checker *c)
{
    for (size_t i = 0; i < CBX_CASE_MAX_ARRAYS; i++) {
        if (c->fds[i] >= 0) close(c->fds[i]);
        c->fds[i] = -1;
        cbx_array_free(c->arrays[i]);
        c->arrays[i] = NULL;
    }
    cbx__held_clear(&c->held);
}

void cbx__checker_poison(cbx__checker *c)
{
    for (size_t i = 0; i < c->w->c->noutputs; i++) {
        while (ftruncate(c->fds[i], 0) != 0 && errno == EINTR) {}
    }
}

static bool read_at(int fd, void *data, size_t len, size_t offset)
{
    char *to = data;
    while (len > 0) {
        ssize_t n = pread(fd, to, len, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        to += n;
        offset += (size_t)n;
        len -= (size_t)n;
    }
    return true;
}

/* Column-major or byte-swapped: rare, so through the general reader. */
static cbx_status decode_whole(cbx_ctx *ctx, int fd, size_t size, cbx_array **out, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    void *data = cbx_arena_calloc(&arena, size, 1);
    if (!data) return cbx_fail(err, CBX_ENOMEM, "no memory for an output of %zu bytes", size);
    if (!read_at(fd, data, size, 0)) return cbx_fail(err, CBX_EFORMAT, "the output file is shorter than its size");
    return cbx_npy_decode(ctx, data, size, out, err);
}

/* @param out  a reference for the caller  @return CBX_EFORMAT, CBX_ESHAPE and the like for a bad
 *   file */
static cbx_status read_output(cbx_ctx *ctx, cbx__checker *c, size_t i, cbx_array **out, cbx_err *err)
{
    char head[4096], found[64], wanted[64];
    cbx_npy_header h;
    struct stat info;
    size_t bytes = cbx_array_bytes(c->arrays[i]);

    if (fstat(c->fds[i], &info) != 0)
        return cbx_fail_errno(err, errno, "cannot read the attributes of the output file");
    size_t size = (size_t)info.st_size;
    if (size == 0) return cbx_fail(err, CBX_EFORMAT, "the worker wrote no output '%s'", c->w->c->output_names[i]);
    if (!read_at(c->fds[i], head, size < sizeof head ? size : sizeof head, 0))
        return cbx_fail(err, CBX_EFORMAT, "the output file is shorter than its size");
    cbx_status st = cbx_npy_parse_header(head, size < sizeof head ? size : sizeof head, &h, err);
    if (st) return st;
    if (!cbx_array_desc_equal(&h.desc, &c->w->outputs[i]))
        return cbx_fail(err, CBX_ESHAPE, "output '%s' is %s, expected %s", c->w->c->output_names[i],
                        cbx_array_desc_text(&h.desc, found, sizeof found),
                        cbx_array_desc_text(&c->w->outputs[i], wanted, sizeof wanted));
    if (size > c->max_bytes[i] || size < h.data_offset + bytes)
        return cbx_fail(err, CBX_EFORMAT, "the file of output '%s' holds %zu bytes, expected %zu",
                        c->w->c->output_names[i], size, h.data_offset + bytes);
    if (h.swapped || (h.fortran_order && h.desc.ndim > 1)) return decode_whole(ctx, c->fds[i], size, out, err);
    if (bytes && !read_at(c->fds[i], cbx_array_data_mut(c->arrays[i]), bytes, h.data_offset))
        return cbx_fail(err, CBX_EFORMAT, "the file of output '%s' shrank while it was read", c->w->c->output_names[i]);
    *out = cbx_array_ref(c->arrays[i]);
    return CBX_OK;
}

cbx_status cbx__checker_compare(cbx_ctx *ctx, cbx__checker *c, size_t set, cbx_fidelity *io, cbx_err *err)
{
    size_t n = c->w->c->noutputs;
    bool held = c->held.message && set == c->held.set;
    cbx_array *const *answers = held ? c->held.answers : c->w->answers + set * n;
    cbx_array *const *bounds = held ? c->held.bounds : c->w->bounds + set * n;
    for (size_t i = 0; i < n; i++) {
        cbx_err why = CBX_ERR_INIT;
        cbx_array *out = NULL;
        cbx_status st = read_output(ctx, c, i, &out, &why);
        if (st == CBX_ENOMEM || st == CBX_EIO) return cbx_fail(err, st, "%s", why.message);
        if (st) {
            c->wrong_shape = true;
            io->checked = true;
            io->ok = false;
            io->checks++;
            io->rel_to_tol = INFINITY;
            snprintf(io->note, sizeof io->note, "%.*s", (int)sizeof io->note - 1, why.message);
            continue;
        }
        st = compare_apart(out, answers[i], bounds[i], io, err);
        cbx_array_free(out);
        if (st) return st;
    }
    return CBX_OK;
}
