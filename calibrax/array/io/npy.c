/* NPY files: elements in and out of memory, paths and descriptors.  The header's text is in
 * npy_header.c.
 *
 * A descriptor is mapped only where the kernel promises that no process can change or shorten the
 * file any more (a memory file sealed with F_SEAL_WRITE and F_SEAL_SHRINK): pages of a private
 * mapping follow the file until they are touched, and reading behind a file that was cut raises
 * SIGBUS.
 * Everything else is copied into a block of the pool. */
#include "calibrax/array/io/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/io/boundary.h"
#include "calibrax/array/io/npy_internal.h"
#include "calibrax/array/scratch.h"
#include "calibrax/base/file.h"
#include "calibrax/base/idioms.h"

#define CHUNK_BYTES ((size_t)256 << 10) /* strided arrays are written through a buffer of this size */

static void swap_run(unsigned char *p, size_t words, size_t size)
{
#define SWAP(bits)                                                                                                     \
    for (size_t i = 0; i < words; i++, p += (bits) / 8) {                                                              \
        uint##bits##_t v;                                                                                              \
        memcpy(&v, p, sizeof(v));                                                                                      \
        v = __builtin_bswap##bits(v);                                                                                  \
        memcpy(p, &v, sizeof(v));                                                                                      \
    }
    if (size == 2) {
        SWAP(16)
    } else if (size == 4) {
        SWAP(32)
    } else if (size == 8) {
        SWAP(64)
    }
#undef SWAP
}

/* What was read becomes what C computes with: the machine's byte order, bools of 0 and 1. */
static void finish_elements(const cbx_npy_header *h, cbx_array *a)
{
    if (h->swapped) {
        /* A complex number is two words, each swapped by itself. */
        cbx_dtype t = cbx_array_dtype(a);
        size_t parts = t == CBX_C64 || t == CBX_C128 ? 2 : 1;

        swap_run(cbx_array_data_mut(a), cbx_array_count(a) * parts, cbx_dtype_size(t) / parts);
    }
    cbx__boundary_tidy_bools(a);
}

static cbx_status data_bytes(const cbx_npy_header *h, size_t have, size_t *out, cbx_err *err)
{
    size_t count = 0;
    cbx_status st = cbx_array_desc_count(&h->desc, &count, err);

    if (st) return st;
    size_t bytes = count * cbx_dtype_size(h->desc.dtype);
    if (have < h->data_offset || have - h->data_offset < bytes)
        return cbx_fail(err, CBX_EFORMAT, "npy is truncated: %s needs %zu bytes after its header and has %zu",
                        CBX__DESC_TEXT(&h->desc), bytes, have < h->data_offset ? 0 : have - h->data_offset);
    *out = bytes;
    return CBX_OK;
}

cbx_status cbx_npy_decode(cbx_ctx *ctx, const void *data, size_t len, cbx_array **out, cbx_err *err)
{
    cbx_npy_header h;
    cbx_array *a = NULL;
    size_t bytes = 0;
    cbx_status st = cbx_npy_parse_header(data, len, &h, err);

    if (!st) st = data_bytes(&h, len, &bytes, err);
    if (!st) st = cbx__array_create_order(ctx, &h.desc, h.fortran_order, &a, err);
    if (st) return st;
    if (bytes) memcpy(cbx_array_data_mut(a), (const char *)data + h.data_offset, bytes);
    finish_elements(&h, a);
    *out = a;
    return CBX_OK;
}

/* Where the next bytes of a file are. */
typedef struct place {
    int fd;
    size_t offset;
} place;

/* Up to size bytes from a place on; fewer only at the end of the file. */
static cbx_status read_place(void *user, void *buf, size_t size, size_t *got, cbx_err *err)
{
    place *p = user;
    size_t n = 0;

    while (n < size) {
        ssize_t r = pread(p->fd, (char *)buf + n, size - n, (off_t)(p->offset + n));
        if (r < 0 && errno == EINTR) continue;
        if (r < 0) return cbx_fail_errno(err, errno, "cannot read npy from descriptor %d", p->fd);
        if (r == 0) break;
        n += (size_t)r;
    }
    p->offset += n;
    *got = n;
    return CBX_OK;
}

static cbx_status write_at(int fd, const void *buf, size_t size, size_t offset, cbx_err *err)
{
    for (size_t n = 0; n < size;) {
        ssize_t r = pwrite(fd, (const char *)buf + n, size - n, (off_t)(offset + n));
        if (r < 0 && errno == EINTR) continue;
        if (r < 0) return cbx_fail_errno(err, errno, "cannot write npy to descriptor %d", fd);
        n += (size_t)r;
    }
    return CBX_OK;
}

/* The header of a stream: its first bytes hold its length. */
static cbx_status read_header(cbx_ctx *ctx, cbx__npy_source source, void *user, cbx_npy_header *h, cbx_err *err)
{
    unsigned char prefix[CBX__NPY_PREFIX_MAX];
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    char *text = NULL;
    size_t got = 0, more = 0, size = 0;
    cbx_status st = source(user, prefix, sizeof(prefix), &got, err);

    if (!st) st = cbx__npy_header_bytes(prefix, got, &size, err);
    if (st) return st;
    if (size < got) size = got;
    text = cbx_mem_alloc(al, size);
    if (!text) return cbx_fail(err, CBX_ENOMEM, "no memory for an npy header of %zu bytes", size);
    memcpy(text, prefix, got);
    st = source(user, text + got, size - got, &more, err);
    if (!st) st = cbx_npy_parse_header(text, got + more, h, err);
    cbx_mem_free(al, text, size);
    return st;
}

/* Header of the file behind a descriptor, and the bytes of its elements, which are all there. */
static cbx_status examine_fd(cbx_ctx *ctx, int fd, cbx_npy_header *h, size_t *bytes, cbx_err *err)
{
    struct stat s;

    if (fstat(fd, &s) != 0) return cbx_fail_errno(err, errno, "cannot read npy from descriptor %d", fd);
    if (!S_ISREG(s.st_mode)) return cbx_fail(err, CBX_EINVAL, "descriptor %d is not a regular or memory file", fd);
    cbx_status st = read_header(ctx, read_place, &(place){ fd, 0 }, h, err);
    if (st) return st;
    return data_bytes(h, (size_t)s.st_size, bytes, err);
}

static cbx_status copy_fd(cbx_ctx *ctx, int fd, const cbx_npy_header *h, size_t bytes, cbx_array **out, cbx_err *err)
{
    cbx_array *a = NULL;
    size_t got = 0;
    cbx_status st = cbx__array_create_order(ctx, &h->desc, h->fortran_order, &a, err);

    if (!st) st = read_place(&(place){ fd, h->data_offset }, cbx_array_data_mut(a), bytes, &got, err);
    if (!st && got < bytes)
        st = cbx_fail(err, CBX_EFORMAT, "npy is truncated: descriptor %d lost bytes while it was read", fd);
    if (!st) finish_elements(h, a);
    return CBX_FINISH(st, *out = a, cbx_array_free(a));
}

cbx_status cbx__npy_read_stream(cbx_ctx *ctx, cbx__npy_source source, void *user, uint64_t total, cbx_array **out,
                                cbx_err *err)
{
    cbx_array *a = NULL;
    cbx_npy_header h;
    size_t bytes = 0, got = 0, beyond = 0;
    cbx_status st = read_header(ctx, source, user, &h, err);

    if (!st && total > SIZE_MAX) st = cbx_fail(err, CBX_EOVERFLOW, "npy has more bytes than memory can address");
    if (!st) st = data_bytes(&h, (size_t)total, &bytes, err);
    if (!st && total != h.data_offset + bytes)
        st = cbx_fail(err, CBX_EFORMAT, "npy has %zu bytes after its %s", (size_t)total - h.data_offset - bytes,
                      CBX__DESC_TEXT(&h.desc));
    if (!st) st = cbx__array_create_order(ctx, &h.desc, h.fortran_order, &a, err);
    if (!st) st = source(user, cbx_array_data_mut(a), bytes, &got, err);
    if (!st) st = source(user, &(char){ 0 }, 1, &beyond, err);
    if (!st && (got < bytes || beyond))
        st = cbx_fail(err, CBX_EFORMAT, "npy does not have the declared length: %zu bytes of elements, and %s", got,
                      beyond ? "more after them" : "no more");
    if (!st) finish_elements(&h, a);
    return CBX_FINISH(st, *out = a, cbx_array_free(a));
}

typedef struct mapping {
    cbx_allocator al;
    void *base;
    size_t size;
} mapping;

static void release_mapping(void *user)
{
    mapping *m = user;
    cbx_allocator al = m->al;

    if (m->base) munmap(m->base, m->size);
    cbx_mem_free(&al, m, sizeof(*m));
}

static cbx_status wrap_map(cbx_ctx *ctx, int fd, const cbx_npy_header *h, size_t bytes, cbx_array **out, cbx_err *err)
{
    ptrdiff_t strides[CBX_MAX_RANK] = { 0 };
    mapping *m = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof(*m));
    cbx_status st;

    if (!m) return cbx_fail(err, CBX_ENOMEM, "no memory for the record of a mapping");
    m->al = *cbx_ctx_allocator(ctx);
    void *base = mmap(NULL, h->data_offset + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (base == MAP_FAILED) {
        st = cbx_fail_errno(err, errno, "cannot map descriptor %d", fd);
    } else {
        m->base = base;
        m->size = h->data_offset + bytes;
        cbx__array_dense_strides(&h->desc, h->fortran_order, strides);
        st = cbx_array_wrap(ctx, &h->desc, strides, (char *)base + h->data_offset, release_mapping, m, out, err);
    }
    if (st) release_mapping(m);
    return st;
}

static bool cannot_change(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & F_SEAL_WRITE) && (seals & F_SEAL_SHRINK);
}

cbx_status cbx_npy_map_fd(cbx_ctx *ctx, int fd, cbx_array **out, cbx_err *err)
{
    cbx_npy_header h;
    size_t bytes = 0;
    cbx_status st = examine_fd(ctx, fd, &h, &bytes, err);

    if (st) return st;
    if (bytes == 0 || h.swapped || h.data_offset % 64 != 0 || !cannot_change(fd))
        return copy_fd(ctx, fd, &h, bytes, out, err);
    st = wrap_map(ctx, fd, &h, bytes, out, err);
    if (!st) cbx__boundary_tidy_bools(*out); /* the mapping is private */
    return st;
}

cbx_status cbx_npy_read(cbx_ctx *ctx, const char *path, cbx_array **out, cbx_err *err)
{
    cbx_err cause = CBX_ERR_INIT;
    cbx_npy_header h;
    size_t bytes = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a named pipe is refused and not waited for */

    if (fd < 0) return cbx_fail_errno(err, errno, "cannot open '%s'", path);
    cbx_status st = examine_fd(ctx, fd, &h, &bytes, &cause);
    if (!st) st = copy_fd(ctx, fd, &h, bytes, out, &cause);
    close(fd);
    return st ? cbx_fail(err, st, "cannot read '%s': %s", path, cause.message) : CBX_OK;
}

cbx_status cbx_npy_write(cbx_ctx *ctx, const char *path, const cbx_array *a, cbx_err *err)
{
    CBX_SCOPED(cbx__scratch, block, ctx);
    size_t head = 0;
    cbx_status st = cbx__boundary_check_data(a, "write", err);

    if (!st) st = cbx_npy_make_header(cbx_array_get_desc(a), NULL, 0, &head, err);
    if (!st) st = cbx__scratch_get(&block, head + cbx_array_bytes(a), err);
    if (!st) st = cbx_npy_make_header(cbx_array_get_desc(a), block.data, head, NULL, err);
    if (st) return st;
    cbx__array_pack(a, 0, cbx_array_count(a), (char *)block.data + head);
    return cbx_file_write_atomic(ctx, path, block.data, head + cbx_array_bytes(a), err);
}

static cbx_status write_strided(cbx_ctx *ctx, int fd, const cbx_array *a, size_t offset, cbx_err *err)
{
    size_t size = cbx_dtype_size(cbx_array_dtype(a)), step = CHUNK_BYTES / size, count = cbx_array_count(a);
    CBX_SCOPED(cbx__scratch, block, ctx);
    cbx_status st = cbx__scratch_get(&block, CHUNK_BYTES, err);

    for (size_t first = 0; !st && first < count; first += step) {
        size_t n = count - first < step ? count - first : step;
        cbx__array_pack(a, first, n, block.data);
        st = write_at(fd, block.data, n * size, offset + first * size, err);
    }
    return st;
}

cbx_status cbx_npy_write_fd(cbx_ctx *ctx, int fd, const cbx_array *a, cbx_err *err)
{
    char head[CBX__NPY_HEADER_MAX];
    size_t n = 0;
    cbx_status st = cbx__boundary_check_data(a, "write", err);

    if (!st) st = cbx_npy_make_header(cbx_array_get_desc(a), head, sizeof(head), &n, err);
    if (st) return st;
    if (ftruncate(fd, 0) != 0) return cbx_fail_errno(err, errno, "cannot empty descriptor %d to write npy", fd);
    st = write_at(fd, head, n, 0, err);
    if (st) return st;
    if (cbx_array_is_contiguous(a)) return write_at(fd, cbx_array_data(a), cbx_array_bytes(a), n, err);
    return write_strided(ctx, fd, a, n, err);
}
