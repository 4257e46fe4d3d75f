/* ZIP archives through libzip (1.x; BSD-3-Clause), loaded on first use.
 *
 * Debian 12 has 1.7.3; what is used here is in every release since 1.2.  Members carry the date
 * 1980-01-01, as NumPy's do, so that equal arrays make equal files. */
#include "calibrax/array/io/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "calibrax/base/file.h"
#include "calibrax/base/library.h"

#define FIRST_DOS_DATE 0x21 /* 1980-01-01 */

/* name, result, arguments: the part of libzip that is used here. */
#define ZIP_CALLS(X)                                                                                                   \
    X(fdopen, zip_t *, (int, int, int *))                                                                              \
    X(open, zip_t *, (const char *, int, int *))                                                                       \
    X(open_from_source, zip_t *, (zip_source_t *, int, zip_error_t *))                                                 \
    X(source_buffer_create, zip_source_t *, (const void *, zip_uint64_t, int, zip_error_t *))                          \
    X(source_function, zip_source_t *, (zip_t *, zip_source_callback, void *))                                         \
    X(source_free, void, (zip_source_t *))                                                                             \
    X(close, int, (zip_t *))                                                                                           \
    X(discard, void, (zip_t *))                                                                                        \
    X(get_num_entries, zip_int64_t, (zip_t *, zip_flags_t))                                                            \
    X(stat_index, int, (zip_t *, zip_uint64_t, zip_flags_t, zip_stat_t *))                                             \
    X(fopen_index, zip_file_t *, (zip_t *, zip_uint64_t, zip_flags_t))                                                 \
    X(fread, zip_int64_t, (zip_file_t *, void *, zip_uint64_t))                                                        \
    X(fclose, int, (zip_file_t *))                                                                                     \
    X(file_add, zip_int64_t, (zip_t *, const char *, zip_source_t *, zip_flags_t))                                     \
    X(set_file_compression, int, (zip_t *, zip_uint64_t, zip_int32_t, zip_uint32_t))                                   \
    X(file_set_dostime, int, (zip_t *, zip_uint64_t, zip_uint16_t, zip_uint16_t, zip_flags_t))                         \
    X(get_error, zip_error_t *, (zip_t *))                                                                             \
    X(file_get_error, zip_error_t *, (zip_file_t *))                                                                   \
    X(error_init, void, (zip_error_t *))                                                                               \
    X(error_init_with_code, void, (zip_error_t *, int))                                                                \
    X(error_fini, void, (zip_error_t *))                                                                               \
    X(error_strerror, const char *, (zip_error_t *))

typedef struct zip_calls {
#define ZIP_MEMBER(name, result, args) result(*name) args;
    ZIP_CALLS(ZIP_MEMBER)
#undef ZIP_MEMBER
} zip_calls;

static cbx_status open_libzip(cbx_ctx *ctx, zip_calls *calls, cbx_library **lib, cbx_err *err)
{
    const cbx_library_symbol symbols[] = {
#define ZIP_SYMBOL(name, result, args) { "zip_" #name, (void **)(void *)&calls->name },
        ZIP_CALLS(ZIP_SYMBOL)
#undef ZIP_SYMBOL
    };
    return cbx_library_open_known(ctx, CBX_LIBRARY_ZIP, NULL, symbols, CBX_LEN(symbols), lib, err);
}

/* What libzip says, with the status that fits. */
static cbx_status report(const zip_calls *calls, zip_error_t *e, cbx_err *err, const char *doing, const char *what)
{
    static const struct {
        int code;
        cbx_status status;
    } others[] = {
        { ZIP_ER_MEMORY, CBX_ENOMEM },
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
        { ZIP_ER_MULTIDISK, CBX_EUNSUPPORTED },
    };
    bool twice = e->zip_err == ZIP_ER_EXISTS; /* "file already exists", says libzip of two members */
    cbx_status st = CBX_EFORMAT;

    for (size_t i = 0; i < CBX_LEN(others); i++)
        if (others[i].code == e->zip_err) st = others[i].status;
    if (st == CBX_EIO && e->sys_err == ENOSPC) st = CBX_ENOSPC;
    return cbx_fail(err, st, "cannot %s '%s': %s", doing, what,
                    twice ? "two members have the same name" : calls->error_strerror(e));
}

/* --- reading --- */

struct cbx__zip {
    zip_calls calls;
    cbx_library *lib;
    cbx_allocator al;
    zip_t *archive;
    size_t count;
    char name[512]; /* for sentences; cut if it does not fit */
};

struct cbx__zip_member {
    cbx__zip *zip;
    zip_file_t *file;
    size_t index;
};

static cbx_status reader_create(cbx_ctx *ctx, const char *name, cbx__zip **out, cbx_err *err)
{
    cbx__zip *z = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof(*z));

    if (!z) return cbx_fail(err, CBX_ENOMEM, "no memory to open the archive '%s'", name);
    z->al = *cbx_ctx_allocator(ctx);
    snprintf(z->name, sizeof(z->name), "%s", name);
    cbx_status st = open_libzip(ctx, &z->calls, &z->lib, err);
    if (st)
        cbx_mem_free(&z->al, z, sizeof(*z));
    else
        *out = z;
    return st;
}

void cbx__zip_close(cbx__zip *z)
{
    if (!z) return;
    if (z->archive) z->calls.discard(z->archive);
    cbx_library_close(z->lib);
    cbx_allocator al = z->al;
    cbx_mem_free(&al, z, sizeof(*z));
}

static void count_members(cbx__zip *z)
{
    zip_int64_t n = z->calls.get_num_entries(z->archive, 0);

    z->count = n > 0 ? (size_t)n : 0;
}

/* libzip takes nothing at all for an archive without members. */
static cbx_status refuse_empty(const char *name, cbx_err *err)
{
    return cbx_fail(err, CBX_EFORMAT, "cannot read '%s': it is empty", name);
}

static int open_regular(const char *path, cbx_err *err, cbx_status *st)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a named pipe is refused and not waited for */

    if (fd < 0) {
        *st = cbx_fail_errno(err, errno, "cannot open '%s'", path);
        return -1;
    }
    if (fstat(fd, &s) || !S_ISREG(s.st_mode))
        *st = cbx_fail(err, CBX_EINVAL, "cannot read '%s': it is no regular file", path);
    else if (s.st_size == 0)
        *st = refuse_empty(path, err);
    else
        return fd;
    close(fd);
    return -1;
}

cbx_status cbx__zip_open(cbx_ctx *ctx, const char *path, cbx__zip **out, cbx_err *err)
{
    cbx__zip *z = NULL;
    int code = 0;
    cbx_status st = reader_create(ctx, path, &z, err);

    if (st) return st;
    int fd = open_regular(path, err, &st);
    if (fd < 0) goto done;
    z->archive = z->calls.fdopen(fd, ZIP_CHECKCONS, &code);
    if (!z->archive) {
        zip_error_t e;
        close(fd);
        z->calls.error_init_with_code(&e, code);
        st = report(&z->calls, &e, err, "read", path);
        z->calls.error_fini(&e);
        goto done;
    }
    count_members(z);
    *out = z;
    z = NULL;
done:
    cbx__zip_close(z);
    return st;
}

cbx_status cbx__zip_open_memory(cbx_ctx *ctx, const void *data, size_t len, cbx__zip **out, cbx_err *err)
{
    cbx__zip *z = NULL;
    zip_error_t e;
    cbx_status st = len ? reader_create(ctx, "archive in memory", &z, err) : refuse_empty("archive in memory", err);

    if (st) return st;
    z->calls.error_init(&e);
    zip_source_t *source = z->calls.source_buffer_create(data, len, 0, &e);
    if (source) z->archive = z->calls.open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &e);
    if (z->archive) {
        count_members(z);
        *out = z;
        z = NULL;
    } else {
        st = report(&z->calls, &e, err, "read", z->name);
        if (source) z->calls.source_free(source);
        z->calls.error_fini(&e);
    }
    cbx__zip_close(z);
    return st;
}

size_t cbx__zip_count(const cbx__zip *z) { return z->count; }

cbx_status cbx__zip_stat(cbx__zip *z, size_t index, cbx__zip_info *out, cbx_err *err)
{
    const zip_uint64_t wanted = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    zip_stat_t s;

    if (z->calls.stat_index(z->archive, index, 0, &s))
        return report(&z->calls, z->calls.get_error(z->archive), err, "read", z->name);
    if ((s.valid & wanted) != wanted)
        return cbx_fail(err, CBX_EFORMAT, "member %zu of '%s' lacks its name or its size", index, z->name);
    *out = (cbx__zip_info){ .name = s.name,
                            .size = s.size,
                            .packed = s.comp_size,
                            .deflated = s.comp_method == ZIP_CM_DEFLATE,
                            .other_method = s.comp_method != ZIP_CM_DEFLATE && s.comp_method != ZIP_CM_STORE,
                            .encrypted = (s.valid & ZIP_STAT_ENCRYPTION_METHOD) && s.encryption_method != ZIP_EM_NONE };
    return CBX_OK;
}

cbx_status cbx__zip_member_open(cbx__zip *z, size_t index, cbx__zip_member **out, cbx_err *err)
{
    cbx__zip_member *m = cbx_mem_zalloc(&z->al, sizeof(*m));

    if (!m) return cbx_fail(err, CBX_ENOMEM, "no memory to read a member of '%s'", z->name);
    m->zip = z;
    m->index = index;
    m->file = z->calls.fopen_index(z->archive, index, 0);
    if (!m->file) {
        cbx_mem_free(&z->al, m, sizeof(*m));
        return report(&z->calls, z->calls.get_error(z->archive), err, "read", z->name);
    }
    *out = m;
    return CBX_OK;
}

cbx_status cbx__zip_member_read(cbx__zip_member *m, void *buf, size_t size, size_t *got, cbx_err *err)
{
    const zip_calls *calls = &m->zip->calls;
    size_t n = 0;

    while (n < size) {
        zip_int64_t r = calls->fread(m->file, (char *)buf + n, size - n);
        if (r < 0) return report(calls, calls->file_get_error(m->file), err, "read a member of", m->zip->name);
        if (r == 0) break;
        n += (size_t)r;
    }
    *got = n;
    return CBX_OK;
}

void cbx__zip_member_close(cbx__zip_member *m)
{
    if (!m) return;
    m->zip->calls.fclose(m->file);
    cbx_mem_free(&m->zip->al, m, sizeof(*m));
}

/* --- writing --- */

typedef struct vjp {
    struct vjp *next;
    cbx__zip_pull pull;
    void *user;
    uint64_t size, at;
} vjp;

struct cbx__zip_writer {
    zip_calls calls;
    cbx_library *lib;
    cbx_allocator al;
    cbx_replacement *file;
    zip_t *archive;
    vjp *members;   /* the last one first */
    char name[512]; /* for sentences; cut if it does not fit */
};

/* libzip's view of a member.  It asks for nothing that can fail. */
static zip_int64_t answer(void *user, void *data, zip_uint64_t len, zip_source_cmd_t command)
{
    vjp *p = user;
    zip_stat_t *s = data;

    switch (command) {
    case ZIP_SOURCE_OPEN: p->at = 0; return 0;
    case ZIP_SOURCE_READ:
        if (len > p->size - p->at) len = p->size - p->at;
        p->pull(p->user, p->at, data, (size_t)len);
        p->at += len;
        return (zip_int64_t)len;
    case ZIP_SOURCE_STAT:
        memset(s, 0, sizeof(*s));
        s->valid = ZIP_STAT_SIZE;
        s->size = p->size;
        return sizeof(*s);
    case ZIP_SOURCE_ERROR: memset(data, 0, 2 * sizeof(int)); return 2 * sizeof(int);
    case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_READABLE;
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE: return 0;
    default: return -1;
    }
}

static void writer_free(cbx__zip_writer *w)
{
    cbx_allocator al = w->al;

    if (w->archive) w->calls.discard(w->archive); /* asks its sources a last time */
    while (w->members) {
        vjp *p = w->members;
        w->members = p->next;
        cbx_mem_free(&al, p, sizeof(*p));
    }
    cbx_replacement_discard(w->file);
    cbx_library_close(w->lib);
    cbx_mem_free(&al, w, sizeof(*w));
}

void cbx__zip_writer_discard(cbx__zip_writer *w)
{
    if (w) writer_free(w);
}

cbx_status cbx__zip_writer_create(cbx_ctx *ctx, const char *path, cbx__zip_writer **out, cbx_err *err)
{
    cbx__zip_writer *w = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof(*w));
    int code = 0;

    if (!w) return cbx_fail(err, CBX_ENOMEM, "no memory to write '%s'", path);
    w->al = *cbx_ctx_allocator(ctx);
    snprintf(w->name, sizeof(w->name), "%s", path);
    cbx_status st = open_libzip(ctx, &w->calls, &w->lib, err);
    if (!st) st = cbx_replacement_begin(ctx, path, &w->file, err);
    if (st) goto done;
    w->archive = w->calls.open(cbx_replacement_path(w->file), ZIP_CREATE | ZIP_TRUNCATE, &code);
    if (!w->archive) {
        zip_error_t e;
        w->calls.error_init_with_code(&e, code);
        st = report(&w->calls, &e, err, "write", path);
        w->calls.error_fini(&e);
        goto done;
    }
    *out = w;
    w = NULL;
done:
    cbx__zip_writer_discard(w);
    return st;
}

cbx_status cbx__zip_writer_add(cbx__zip_writer *w, const char *name, uint64_t size, bool deflate, cbx__zip_pull pull,
                               void *user, cbx_err *err)
{
    vjp *p = cbx_mem_zalloc(&w->al, sizeof(*p));
    zip_int64_t at;

    if (!p) return cbx_fail(err, CBX_ENOMEM, "no memory to write the member '%s'", name);
    *p = (vjp){ .next = w->members, .pull = pull, .user = user, .size = size };
    w->members = p;
    zip_source_t *source = w->calls.source_function(w->archive, answer, p);
    if (!source) goto failed;
    at = w->calls.file_add(w->archive, name, source, ZIP_FL_ENC_UTF_8);
    if (at < 0) {
        w->calls.source_free(source);
        goto failed;
    }
    if (w->calls.set_file_compression(w->archive, (zip_uint64_t)at, deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) ||
        w->calls.file_set_dostime(w->archive, (zip_uint64_t)at, 0, FIRST_DOS_DATE, 0))
        goto failed;
    return CBX_OK;
failed:
    return report(&w->calls, w->calls.get_error(w->archive), err, "write the member", name);
}

cbx_status cbx__zip_writer_commit(cbx__zip_writer *w, cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (w->calls.close(w->archive)) {
        st = report(&w->calls, w->calls.get_error(w->archive), err, "write", w->name);
    } else {
        w->archive = NULL;
        st = cbx_replacement_commit(w->file, err);
        w->file = NULL;
    }
    writer_free(w);
    return st;
}
