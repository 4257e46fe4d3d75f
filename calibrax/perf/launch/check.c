/*
 * A worker's outputs.  The files are shared with a live process that may do anything with them, so
 * they are read with pread, never mapped: a file that shrinks under the reader is a short read, not
 * a SIGBUS.
 */
#include "calibrax/perf/launch/check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/array/io/npy.h"
#include "calibrax/base/process.h"

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
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    void *data = cbx_mem_alloc(al, size);
    cbx_status st = CBX_OK;
    if (!data) return cbx_fail(err, CBX_ENOMEM, "no memory for an output of %zu bytes", size);
    if (!read_at(fd, data, size, 0)) st = cbx_fail(err, CBX_EFORMAT, "the output file is shorter than its size");
    if (!st) st = cbx_npy_decode(ctx, data, size, out, err);
    cbx_mem_free(al, data, size);
    return st;
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
        st = cbx__fidelity_compare_apart(out, answers[i], bounds[i], io, err);
        cbx_array_free(out);
        if (st) return st;
    }
    return CBX_OK;
}
