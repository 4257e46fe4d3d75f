/* NPZ files: names and sizes are checked here, archives are zip.c's, members npy.c's. */
#include "calibrax/array/io/npz.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/io/boundary.h"
#include "calibrax/array/io/npy_internal.h"
#include "calibrax/array/io/zip.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/file.h"
#include "calibrax/base/text.h"

#define MAX_BYTES_DEFAULT ((uint64_t)4 << 30)
#define DEFLATE_MAX       1032 /* bytes out of one byte, the limit of the format (zlib.net, "zlib Technical Details") */

static const char suffix[] = ".npy";

typedef struct entry {
    const char *name; /* in the arena, without ".npy" */
    size_t index;     /* in the archive */
} entry;

struct cbx_npz {
    cbx_ctx *ctx;
    cbx_allocator al;
    cbx__zip *zip;
    cbx_arena arena;
    entry *entries; /* by place in the directory */
    size_t count;
    uint64_t max_bytes;
};

/* Length of a name without its ".npy"; the whole length if it has none. */
static size_t stem_length(const char *name)
{
    size_t n = strlen(name), tail = sizeof(suffix) - 1;

    return n >= tail && memcmp(name + n - tail, suffix, tail) == 0 ? n - tail : n;
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* NULL, or a name that is there twice; order is scratch for n pointers. */
static const char *first_twice(const char **order, size_t n)
{
    qsort(order, n, sizeof(*order), compare_text);
    for (size_t i = 1; i < n; i++)
        if (strcmp(order[i - 1], order[i]) == 0) return order[i];
    return NULL;
}

/* --- reading --- */

/* libzip has refused archives with two members of one name. */
static cbx_status read_directory(cbx_npz *z, cbx_err *err)
{
    size_t members = cbx__zip_count(z->zip);

    z->entries = cbx_arena_calloc(&z->arena, members, sizeof(*z->entries));
    if (!z->entries) return cbx_fail(err, CBX_ENOMEM, "no memory for the directory of an archive");
    for (size_t i = 0; i < members; i++) {
        cbx__zip_info info;
        cbx_status st = cbx__zip_stat(z->zip, i, &info, err);
        if (st) return st;
        size_t stem = stem_length(info.name);
        if (!info.name[stem]) continue;
        z->entries[z->count] = (entry){ cbx_arena_strndup(&z->arena, info.name, stem), i };
        if (!z->entries[z->count++].name) return cbx_fail(err, CBX_ENOMEM, "no memory for the directory of an archive");
    }
    return CBX_OK;
}

/* Takes the archive over. */
static cbx_status create(cbx_ctx *ctx, cbx__zip *zip, const cbx_npz_opts *opts, cbx_npz **out, cbx_err *err)
{
    cbx_npz *z = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof(*z));

    if (!z) {
        cbx__zip_close(zip);
        return cbx_fail(err, CBX_ENOMEM, "no memory to open an archive");
    }
    z->ctx = ctx;
    z->al = *cbx_ctx_allocator(ctx);
    z->zip = zip;
    z->max_bytes = opts && opts->max_array_bytes ? opts->max_array_bytes : MAX_BYTES_DEFAULT;
    cbx_arena_init(&z->arena, &z->al);
    cbx_status st = read_directory(z, err);
    if (st)
        cbx_npz_close(z);
    else
        *out = z;
    return st;
}

static cbx_status check_opts(const cbx_npz_opts *opts, cbx_err *err)
{
    if (!opts || opts->struct_size == sizeof(*opts)) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL,
                    "'struct_size' of the archive's options is %u, this library knows %zu: rebuild against its headers",
                    opts->struct_size, sizeof(*opts));
}

cbx_status cbx_npz_open(cbx_ctx *ctx, const char *path, const cbx_npz_opts *opts, cbx_npz **out, cbx_err *err)
{
    cbx_err cause = CBX_ERR_INIT;
    cbx__zip *zip = NULL;
    cbx_status st = check_opts(opts, err);

    if (!st) st = cbx__zip_open(ctx, path, &zip, err);
    if (st) return st;
    st = create(ctx, zip, opts, out, &cause);
    return st ? cbx_fail(err, st, "cannot read '%s': %s", path, cause.message) : CBX_OK;
}

cbx_status cbx_npz_open_memory(cbx_ctx *ctx, const void *data, size_t len, const cbx_npz_opts *opts, cbx_npz **out,
                               cbx_err *err)
{
    cbx__zip *zip = NULL;
    cbx_status st = check_opts(opts, err);

    if (!st) st = cbx__zip_open_memory(ctx, data, len, &zip, err);
    return st ? st : create(ctx, zip, opts, out, err);
}

void cbx_npz_close(cbx_npz *z)
{
    if (!z) return;
    cbx__zip_close(z->zip);
    cbx_arena_clear(&z->arena);
    cbx_allocator al = z->al;
    cbx_mem_free(&al, z, sizeof(*z));
}

size_t cbx_npz_count(const cbx_npz *z) { return z->count; }

const char *cbx_npz_name(const cbx_npz *z, size_t i) { return i < z->count ? z->entries[i].name : NULL; }

/* The directory entry of a member, before a byte of it is unpacked. */
static cbx_status check_claims(const cbx_npz *z, const cbx__zip_info *info, cbx_err *err)
{
    if (info->encrypted) return cbx_fail(err, CBX_EUNSUPPORTED, "it is encrypted");
    if (info->other_method)
        return cbx_fail(err, CBX_EUNSUPPORTED, "it is neither stored nor deflated: write it with numpy.savez");
    if (info->size > z->max_bytes)
        return cbx_fail(err, CBX_EOVERFLOW,
                        "it unpacks to %" PRIu64 " bytes, at most %" PRIu64 " are read: raise max_array_bytes",
                        info->size, z->max_bytes);
    if (info->deflated ? info->size / DEFLATE_MAX > info->packed : info->size != info->packed)
        return cbx_fail(err, CBX_EFORMAT, "it cannot unpack to %" PRIu64 " bytes from %" PRIu64, info->size,
                        info->packed);
    return CBX_OK;
}

static cbx_status pull_member(void *user, void *buf, size_t size, size_t *got, cbx_err *err)
{
    return cbx__zip_member_read(user, buf, size, got, err);
}

static cbx_status read_member(cbx_npz *z, size_t index, cbx_array **out, cbx_err *err)
{
    cbx__zip_member *m = NULL;
    cbx__zip_info info;
    cbx_status st = cbx__zip_stat(z->zip, index, &info, err);

    if (!st) st = check_claims(z, &info, err);
    if (!st) st = cbx__zip_member_open(z->zip, index, &m, err);
    if (!st) st = cbx__npy_read_stream(z->ctx, pull_member, m, info.size, out, err);
    cbx__zip_member_close(m);
    return st;
}

cbx_status cbx_npz_read_at(cbx_npz *z, size_t i, cbx_array **out, cbx_err *err)
{
    cbx_err cause = CBX_ERR_INIT;

    if (i >= z->count) return cbx_fail(err, CBX_EINVAL, "the archive has %zu arrays, no number %zu", z->count, i);
    cbx__io_call call = cbx__io_begin(z->ctx);
    cbx_status st = cbx__io_came_in(call, CBX_IO_NPZ, read_member(z, z->entries[i].index, out, &cause), out);
    return st ? cbx_fail(err, st, "cannot read the member '%s': %s", z->entries[i].name, cause.message) : CBX_OK;
}

static cbx_status no_such_name(cbx_npz *z, const char *name, cbx_err *err)
{
    const char **all = cbx_arena_calloc(&z->arena, z->count, sizeof(*all));

    for (size_t i = 0; all && i < z->count; i++) all[i] = z->entries[i].name;
    const char *near = all ? cbx_nearest_word(name, all, z->count) : NULL;
    return cbx_fail(err, CBX_ENOENT, "the archive has no array '%s'%s%s%s", name, near ? ", did you mean '" : "",
                    near ? near : "", near ? "'" : "");
}

cbx_status cbx_npz_read(cbx_npz *z, const char *name, cbx_array **out, cbx_err *err)
{
    size_t stem = stem_length(name);

    for (int whole = 1; whole >= 0; whole--) /* "a.npy" may be the name of "a.npy.npy" */
        for (size_t i = 0; i < z->count; i++) {
            size_t n = whole ? strlen(name) : stem;
            if (strlen(z->entries[i].name) == n && memcmp(z->entries[i].name, name, n) == 0)
                return cbx_npz_read_at(z, i, out, err);
        }
    return no_such_name(z, name, err);
}

/* --- writing --- */

/* A member on its way out: the header, then the elements in row-major order. */
typedef struct outgoing {
    const cbx_array *array;
    const char *name;
    size_t head_size;
    char head[CBX__NPY_HEADER_MAX];
} outgoing;

static void pull_npy(void *user, uint64_t offset, void *buf, size_t size)
{
    const outgoing *o = user;
    size_t n = 0;

    if (offset < o->head_size) {
        n = o->head_size - (size_t)offset < size ? o->head_size - (size_t)offset : size;
        memcpy(buf, o->head + offset, n);
    }
    if (n < size) cbx__boundary_pack_bytes(o->array, offset + n - o->head_size, (char *)buf + n, size - n);
}

static cbx_status prepare(cbx_arena *arena, const cbx_npz_member *m, outgoing *o, cbx_err *err)
{
    cbx_status st = cbx__boundary_check_data(m->array, "write", err);

    if (st) return st;
    if (!m->name || !*m->name || stem_length(m->name) == 0)
        return cbx_fail(err, CBX_EINVAL, "the name of an array in an archive is empty");
    o->array = m->array;
    o->name = cbx_arena_printf(arena, "%.*s%s", (int)stem_length(m->name), m->name, suffix);
    if (!o->name) return cbx_fail(err, CBX_ENOMEM, "no memory to write the array '%s'", m->name);
    return cbx_npy_make_header(cbx_array_get_desc(m->array), o->head, sizeof(o->head), &o->head_size, err);
}

static cbx_status prepare_all(cbx_arena *arena, const cbx_npz_member *members, size_t n, outgoing **out, cbx_err *err)
{
    outgoing *all = cbx_arena_calloc(arena, n, sizeof(*all));
    const char **order = cbx_arena_calloc(arena, n, sizeof(*order));

    if (!all || !order) return cbx_fail(err, CBX_ENOMEM, "no memory to write %zu arrays", n);
    for (size_t i = 0; i < n; i++) {
        cbx_status st = prepare(arena, &members[i], &all[i], err);
        if (st) return st;
        order[i] = all[i].name;
    }
    const char *twice = first_twice(order, n);
    if (twice) return cbx_fail(err, CBX_EEXIST, "two arrays would be called '%s'", twice);
    *out = all;
    return CBX_OK;
}

static cbx_status write_members(cbx_ctx *ctx, const char *path, outgoing *all, size_t n, bool deflate, cbx_err *err)
{
    cbx__zip_writer *w = NULL;
    cbx_status st = cbx__zip_writer_create(ctx, path, &w, err);

    for (size_t i = 0; !st && i < n; i++)
        st = cbx__zip_writer_add(w, all[i].name, all[i].head_size + (uint64_t)cbx_array_bytes(all[i].array), deflate,
                                 pull_npy, &all[i], err);
    if (!st) return cbx__zip_writer_commit(w, err);
    cbx__zip_writer_discard(w);
    return st;
}

static cbx_status write_archive(cbx_ctx *ctx, const char *path, const cbx_npz_member *members, size_t n,
                                cbx_npz_packing packing, cbx_err *err)
{
    static const char nothing[22] = { 'P', 'K', 5, 6 }; /* a directory of nothing, which libzip does not write */
    outgoing *all = NULL;
    cbx_arena arena;

    if (n == 0) return cbx_file_write_atomic(ctx, path, nothing, sizeof(nothing), err);
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    cbx_status st = prepare_all(&arena, members, n, &all, err);
    if (!st) st = write_members(ctx, path, all, n, packing == CBX_NPZ_DEFLATED, err);
    cbx_arena_clear(&arena);
    return st;
}

cbx_status cbx_npz_write(cbx_ctx *ctx, const char *path, const cbx_npz_member *members, size_t n,
                         cbx_npz_packing packing, cbx_err *err)
{
    cbx__io_call call = cbx__io_begin(ctx);
    cbx_status st = write_archive(ctx, path, members, n, packing, err);
    uint64_t bytes = 0;

    for (size_t i = 0; !st && i < n; i++) bytes += cbx_array_bytes(members[i].array);
    return cbx__io_end(call, CBX_IO_NPZ, CBX_IO_OUT, n, bytes, st);
}
