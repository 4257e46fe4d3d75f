/* NPZ files through libzip (1.x; BSD-3-Clause), loaded on first use; members are npy.c's.
 *
 * Debian 12 has 1.7.3; what is used here is in every release since 1.2.  Writing pulls each member
 * from its array, so that no copy of it is ever whole in memory.  Members carry the date
 * 1980-01-01, as NumPy's do, so that equal arrays make equal files. */
#include "calibrax/array/io/npz.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/io/boundary.h"
#include "calibrax/array/io/npy_internal.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/ctx.h"
#include "calibrax/base/file.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/library.h"
#include "calibrax/base/list.h"
#include "calibrax/base/options.h"
#include "calibrax/base/text.h"

#define MAX_BYTES_DEFAULT ((uint64_t)4 << 30)
#define DEFLATE_MAX       1032 /* bytes out of one byte, the limit of the format (zlib.net, "zlib Technical Details") */
#define FIRST_DOS_DATE    0x21 /* 1980-01-01 */

/* The part of libzip that is used here; zip.h has its types. */
/* clang-format off */
#define ZIP_CALLS(X)                                                                                                   \
    X(fdopen) X(open) X(open_from_source) X(source_buffer_create) X(source_function) X(source_free) X(close)           \
    X(discard) X(get_num_entries) X(stat_index) X(fopen_index) X(fread) X(fclose) X(file_add) X(set_file_compression)  \
    X(file_set_dostime) X(get_error) X(file_get_error) X(error_init) X(error_init_with_code) X(error_fini)             \
    X(error_strerror)
/* clang-format on */

typedef struct zip_calls {
#define ZIP_MEMBER(name) __typeof__(zip_##name) *name;
    ZIP_CALLS(ZIP_MEMBER)
#undef ZIP_MEMBER
} zip_calls;

static cbx_status open_libzip(cbx_ctx *ctx, zip_calls *calls, cbx_library **lib, cbx_err *err)
{
    const cbx_library_symbol symbols[] = {
#define ZIP_SYMBOL(name) { "zip_" #name, (void **)(void *)&calls->name },
        ZIP_CALLS(ZIP_SYMBOL)
#undef ZIP_SYMBOL
    };
    return cbx_library_open_known(ctx, CBX_LIBRARY_ZIP, NULL, symbols, CBX_LEN(symbols), lib, err);
}

/* What libzip found, with the status that fits. */
static cbx_status report(const zip_calls *calls, zip_error_t *e, const char *doing, const char *what, cbx_err *err)
{
    static const struct {
        int code;
        cbx_status status;
    } others[] = { { ZIP_ER_MEMORY, CBX_ENOMEM },
                   { ZIP_ER_READ, CBX_EIO },
                   { ZIP_ER_WRITE, CBX_EIO },
                   { ZIP_ER_SEEK, CBX_EIO },
                   { ZIP_ER_OPEN, CBX_EIO },
                   { ZIP_ER_TMPOPEN, CBX_EIO },
                   { ZIP_ER_RENAME, CBX_EIO },
                   { ZIP_ER_CLOSE, CBX_EIO },
                   { ZIP_ER_REMOVE, CBX_EIO },
                   { ZIP_ER_COMPNOTSUPP, CBX_EUNSUPPORTED },
                   { ZIP_ER_ENCRNOTSUPP, CBX_EUNSUPPORTED },
                   { ZIP_ER_NOPASSWD, CBX_EUNSUPPORTED },
                   { ZIP_ER_MULTIDISK, CBX_EUNSUPPORTED } };
    cbx_status st = CBX_EFORMAT;

    for (size_t i = 0; i < CBX_LEN(others); i++)
        if (others[i].code == e->zip_err) st = others[i].status;
    if (st == CBX_EIO && e->sys_err == ENOSPC) st = CBX_ENOSPC;
    /* libzip calls two members of one name "file already exists" */
    return cbx_fail(err, st, "cannot %s '%s': %s", doing, what,
                    e->zip_err == ZIP_ER_EXISTS ? "two members have the same name" : calls->error_strerror(e));
}

static cbx_status report_code(const zip_calls *calls, int code, const char *doing, const char *what, cbx_err *err)
{
    zip_error_t e;

    calls->error_init_with_code(&e, code);
    cbx_status st = report(calls, &e, doing, what, err);
    calls->error_fini(&e);
    return st;
}

typedef struct entry {
    const char *name; /* in the arena, without ".npy" */
    zip_uint64_t index;
} entry;

struct cbx_npz {
    cbx_ctx *ctx;
    zip_calls calls;
    cbx_library *lib;
    zip_t *archive;
    const char *path;
    cbx_arena arena;
    entry *entries; /* by place in the directory */
    size_t count;
    uint64_t max_bytes;
};

/* Length of a name without its ".npy"; the whole length if it has none. */
static size_t stem_length(const char *name)
{
    size_t n = strlen(name);

    return n >= 4 && memcmp(name + n - 4, ".npy", 4) == 0 ? n - 4 : n;
}

/* --- reading --- */

/* libzip has refused archives with two members of one name. */
static cbx_status read_directory(cbx_npz *z, cbx_err *err)
{
    zip_int64_t members = z->calls.get_num_entries(z->archive, 0);

    z->entries = cbx_arena_calloc(&z->arena, members > 0 ? (size_t)members : 0, sizeof(*z->entries));
    if (!z->entries) return cbx_fail_nomem(err, "the directory of an archive");
    for (zip_int64_t i = 0; i < members; i++) {
        zip_stat_t s;
        if (z->calls.stat_index(z->archive, (zip_uint64_t)i, 0, &s))
            return report(&z->calls, z->calls.get_error(z->archive), "read", z->path, err);
        if (!(s.valid & ZIP_STAT_NAME))
            return cbx_fail(err, CBX_EFORMAT, "member %lld of '%s' lacks its name", (long long)i, z->path);
        size_t stem = stem_length(s.name);
        if (!s.name[stem]) continue;
        z->entries[z->count] = (entry){ cbx_arena_strndup(&z->arena, s.name, stem), (zip_uint64_t)i };
        if (!z->entries[z->count++].name) return cbx_fail_nomem(err, "the directory of an archive");
    }
    return CBX_OK;
}

static cbx_status open_regular(const char *path, int *fd, cbx_err *err)
{
    struct stat s;
    cbx_status st = CBX_OK;

    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a named pipe is refused and not waited for */
    if (*fd < 0) return cbx_fail_errno(err, errno, "cannot open '%s'", path);
    if (fstat(*fd, &s) || !S_ISREG(s.st_mode))
        st = cbx_fail(err, CBX_EINVAL, "cannot read '%s': it is not a regular file", path);
    else if (s.st_size == 0) /* libzip takes nothing at all for an archive without members */
        st = cbx_fail(err, CBX_EFORMAT, "cannot read '%s': it is empty", path);
    if (st) close(*fd);
    return st;
}

/* Of a file, or of len bytes at data. */
static cbx_status open_archive(cbx_npz *z, const void *data, size_t len, cbx_err *err)
{
    int fd = -1, code = 0;
    zip_error_t e;
    cbx_status st = data ? CBX_OK : open_regular(z->path, &fd, err);

    if (st) return st;
    if (!data) {
        z->archive = z->calls.fdopen(fd, ZIP_CHECKCONS, &code);
        if (z->archive) return CBX_OK;
        close(fd);
        return report_code(&z->calls, code, "read", z->path, err);
    }
    z->calls.error_init(&e);
    zip_source_t *source = z->calls.source_buffer_create(data, len, 0, &e);
    if (source) z->archive = z->calls.open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &e);
    if (z->archive) return CBX_OK;
    st = report(&z->calls, &e, "read", z->path, err);
    if (source) z->calls.source_free(source);
    z->calls.error_fini(&e);
    return st;
}

static cbx_status create(cbx_ctx *ctx, const char *path, const void *data, size_t len, const cbx_npz_opts *opts,
                         cbx_npz **out, cbx_err *err)
{
    cbx_npz_opts o = CBX_NPZ_OPTS_INIT;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_npz_opts", err);

    if (st) return st;
    if (data && !len) return cbx_fail(err, CBX_EFORMAT, "cannot read '%s': it is empty", path);
    cbx_npz *z = CBX_ARENA_OBJECT(cbx_npz, cbx_ctx_allocator(ctx));
    if (!z) return cbx_fail_nomem(err, "an archive");
    z->ctx = ctx;
    z->max_bytes = o.max_array_bytes ? o.max_array_bytes : MAX_BYTES_DEFAULT;
    z->path = cbx_arena_strdup(&z->arena, path);
    st = z->path ? open_libzip(ctx, &z->calls, &z->lib, err) : cbx_fail_nomem(err, "an archive");
    if (!st) st = open_archive(z, data, len, err);
    if (!st) st = read_directory(z, err);
    return CBX_FINISH(st, *out = z, cbx_npz_close(z));
}

cbx_status cbx_npz_open(cbx_ctx *ctx, const char *path, const cbx_npz_opts *opts, cbx_npz **out, cbx_err *err)
{
    return create(ctx, path, NULL, 0, opts, out, err);
}

cbx_status cbx_npz_open_memory(cbx_ctx *ctx, const void *data, size_t len, const cbx_npz_opts *opts, cbx_npz **out,
                               cbx_err *err)
{
    return create(ctx, "archive in memory", data ? data : "", len, opts, out, err);
}

void cbx_npz_close(cbx_npz *z)
{
    if (!z) return;
    if (z->archive) z->calls.discard(z->archive);
    cbx_library_close(z->lib);
    cbx_arena_end(&z->arena);
}

size_t cbx_npz_count(const cbx_npz *z) { return z->count; }

const char *cbx_npz_name(const cbx_npz *z, size_t i) { return i < z->count ? z->entries[i].name : NULL; }

/* The directory entry of a member, checked before a byte of it is unpacked. */
static cbx_status check_size(const cbx_npz *z, zip_uint64_t index, uint64_t *size, cbx_err *err)
{
    const zip_uint64_t wanted = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    zip_stat_t s;

    if (z->calls.stat_index(z->archive, index, 0, &s))
        return report(&z->calls, z->calls.get_error(z->archive), "read", z->path, err);
    if ((s.valid & wanted) != wanted) return cbx_fail(err, CBX_EFORMAT, "it lacks its size");
    if ((s.valid & ZIP_STAT_ENCRYPTION_METHOD) && s.encryption_method != ZIP_EM_NONE)
        return cbx_fail(err, CBX_EUNSUPPORTED, "it is encrypted");
    if (s.comp_method != ZIP_CM_DEFLATE && s.comp_method != ZIP_CM_STORE)
        return cbx_fail(err, CBX_EUNSUPPORTED, "it is neither stored nor deflated: write it with numpy.savez");
    if (s.size > z->max_bytes)
        return cbx_fail(err, CBX_EOVERFLOW,
                        "it uncompresses to %" PRIu64 " bytes, at most %" PRIu64 " are read: raise max_array_bytes",
                        s.size, z->max_bytes);
    if (s.comp_method == ZIP_CM_DEFLATE ? s.size / DEFLATE_MAX > s.comp_size : s.size != s.comp_size)
        return cbx_fail(err, CBX_EFORMAT, "it cannot uncompress to %" PRIu64 " bytes from %" PRIu64, s.size,
                        s.comp_size);
    *size = s.size;
    return CBX_OK;
}

typedef struct member {
    const cbx_npz *z;
    zip_file_t *file;
} member;

/* Fewer bytes only at the end, where libzip verifies the checksum. */
static cbx_status read_bytes(void *user, void *buf, size_t size, size_t *got, cbx_err *err)
{
    const member *m = user;
    const zip_calls *calls = &m->z->calls;
    size_t n = 0;

    while (n < size) {
        zip_int64_t r = calls->fread(m->file, (char *)buf + n, size - n);
        if (r < 0) return report(calls, calls->file_get_error(m->file), "read a member of", m->z->path, err);
        if (r == 0) break;
        n += (size_t)r;
    }
    *got = n;
    return CBX_OK;
}

cbx_status cbx_npz_read_at(cbx_npz *z, size_t i, cbx_array **out, cbx_err *err)
{
    cbx_err cause = CBX_ERR_INIT;
    member m = { z, NULL };
    uint64_t size = 0;

    if (i >= z->count) return cbx_fail(err, CBX_EINVAL, "the archive has %zu arrays, and no array %zu", z->count, i);
    cbx_status st = check_size(z, z->entries[i].index, &size, &cause);
    if (!st) {
        m.file = z->calls.fopen_index(z->archive, z->entries[i].index, 0);
        if (!m.file) st = report(&z->calls, z->calls.get_error(z->archive), "read", z->path, &cause);
    }
    if (!st) st = cbx__npy_read_stream(z->ctx, read_bytes, &m, size, out, &cause);
    if (m.file) z->calls.fclose(m.file);
    return st ? cbx_fail(err, st, "cannot read the member '%s': %s", z->entries[i].name, cause.message) : CBX_OK;
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
    const char **all = cbx_arena_calloc(&z->arena, z->count, sizeof(*all));
    for (size_t i = 0; all && i < z->count; i++) all[i] = z->entries[i].name;
    const char *near = all ? cbx_nearest_word(name, all, z->count) : NULL;
    return cbx_fail(err, CBX_ENOENT, "the archive has no array '%s'%s%s%s", name, near ? ", did you mean '" : "",
                    near ? near : "", near ? "'" : "");
}

/* --- writing --- */

/* A member to write: the header, then the elements in row-major order. */
typedef struct outgoing {
    const cbx_array *array;
    const char *name;
    uint64_t size, at;
    size_t head_size;
    char head[CBX__NPY_HEADER_MAX];
} outgoing;

static void read_npy(const outgoing *o, uint64_t offset, void *buf, size_t size)
{
    size_t n = 0;

    if (offset < o->head_size) {
        n = o->head_size - (size_t)offset < size ? o->head_size - (size_t)offset : size;
        memcpy(buf, o->head + offset, n);
    }
    if (n < size) cbx__boundary_pack_bytes(o->array, offset + n - o->head_size, (char *)buf + n, size - n);
}

/* libzip's view of a member.  It asks for nothing that can fail. */
static zip_int64_t answer(void *user, void *data, zip_uint64_t len, zip_source_cmd_t command)
{
    outgoing *o = user;
    zip_stat_t *s = data;

    switch (command) {
    case ZIP_SOURCE_OPEN: o->at = 0; return 0;
    case ZIP_SOURCE_READ:
        if (len > o->size - o->at) len = o->size - o->at;
        read_npy(o, o->at, data, (size_t)len);
        o->at += len;
        return (zip_int64_t)len;
    case ZIP_SOURCE_STAT:
        memset(s, 0, sizeof(*s));
        s->valid = ZIP_STAT_SIZE;
        s->size = o->size;
        return sizeof(*s);
    case ZIP_SOURCE_ERROR: memset(data, 0, 2 * sizeof(int)); return 2 * sizeof(int);
    case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_READABLE;
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE: return 0;
    default: return -1;
    }
}

static cbx_status prepare(cbx_arena *arena, const cbx_npz_member *members, size_t n, outgoing **out, cbx_err *err)
{
    outgoing *all = cbx_arena_calloc(arena, n, sizeof(*all));
    const char **order = cbx_arena_calloc(arena, n, sizeof(*order));

    if (!all || !order) return cbx_fail(err, CBX_ENOMEM, "out of memory to write %zu arrays", n);
    for (size_t i = 0; i < n; i++) {
        const cbx_npz_member *m = &members[i];
        outgoing *o = &all[i];
        cbx_status st = cbx__boundary_check_data(m->array, "write", err);
        if (st) return st;
        if (!m->name || stem_length(m->name) == 0)
            return cbx_fail(err, CBX_EINVAL, "the name of an array in an archive is empty");
        o->array = m->array;
        order[i] = o->name = cbx_arena_printf(arena, "%.*s.npy", (int)stem_length(m->name), m->name);
        if (!o->name) return cbx_fail(err, CBX_ENOMEM, "out of memory to write the array '%s'", m->name);
        st = cbx_npy_make_header(cbx_array_get_desc(m->array), o->head, sizeof(o->head), &o->head_size, err);
        if (st) return st;
        o->size = o->head_size + (uint64_t)cbx_array_bytes(m->array);
    }
    qsort(order, n, sizeof(*order), cbx_compare_texts);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(order[i - 1], order[i]))
            return cbx_fail(err, CBX_EEXIST, "two arrays would have the name '%s'", order[i]);
    *out = all;
    return CBX_OK;
}

static cbx_status add_member(const zip_calls *calls, zip_t *archive, outgoing *o, bool deflate, cbx_err *err)
{
    zip_source_t *source = calls->source_function(archive, answer, o);
    zip_int64_t at = source ? calls->file_add(archive, o->name, source, ZIP_FL_ENC_UTF_8) : -1;

    if (source && at < 0) calls->source_free(source);
    if (at >= 0 &&
        !calls->set_file_compression(archive, (zip_uint64_t)at, deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) &&
        !calls->file_set_dostime(archive, (zip_uint64_t)at, 0, FIRST_DOS_DATE, 0))
        return CBX_OK;
    return report(calls, calls->get_error(archive), "write the member", o->name, err);
}

static cbx_status write_archive(cbx_ctx *ctx, const char *path, outgoing *all, size_t n, bool deflate, cbx_err *err)
{
    zip_calls calls;
    cbx_library *lib = NULL;
    cbx_replacement *file = NULL;
    zip_t *archive = NULL;
    int code = 0;
    cbx_status st = open_libzip(ctx, &calls, &lib, err);

    if (!st) st = cbx_replacement_begin(ctx, path, &file, err);
    if (!st) archive = calls.open(cbx_replacement_path(file), ZIP_CREATE | ZIP_TRUNCATE, &code);
    if (!st && !archive) st = report_code(&calls, code, "write", path, err);
    for (size_t i = 0; !st && i < n; i++) st = add_member(&calls, archive, &all[i], deflate, err);
    if (!st && calls.close(archive)) {
        st = report(&calls, calls.get_error(archive), "write", path, err);
    } else if (!st) {
        archive = NULL;
        st = cbx_replacement_commit(file, err);
        file = NULL;
    }
    if (archive) calls.discard(archive); /* asks its sources a last time */
    cbx_replacement_discard(file);
    cbx_library_close(lib);
    return st;
}

cbx_status cbx_npz_write(cbx_ctx *ctx, const char *path, const cbx_npz_member *members, size_t n,
                         cbx_npz_packing packing, cbx_err *err)
{
    static const char nothing[22] = { 'P', 'K', 5, 6 }; /* a directory of nothing, which libzip does not write */
    outgoing *all = NULL;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));

    if (n == 0) return cbx_file_write_atomic(ctx, path, nothing, sizeof(nothing), err);
    const cbx_status st = prepare(&arena, members, n, &all, err);
    return st ? st : write_archive(ctx, path, all, n, packing == CBX_NPZ_DEFLATED, err);
}
