/* Bytes in memory and on disk. */
#include "calibrax/storage/importers/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "calibrax/storage/importers/gzip.h"

static int64_t mtime_ns(const struct stat *facts)
{
    return (int64_t)facts->st_mtim.tv_sec * 1000000000 + facts->st_mtim.tv_nsec;
}

static cbx_status pour_on_disk(void *user, const char *data, size_t n, cbx_err *err)
{
    return cbx__scratch_add(user, data, n, NULL, err);
}

static cbx_status pour_in_memory(void *user, const char *data, size_t n, cbx_err *err)
{
    cbx_text_add(user, data, n);
    return cbx_text_check(user, err);
}

/* The memory of a text becomes ours. */
static cbx_status take_text(cbx__bytes *b, cbx_text *plain, cbx_err *err)
{
    b->text = "";
    b->len = plain->len;
    if (!plain->data) return CBX_OK;
    b->own = cbx_mem_resize(&b->al, plain->data, plain->cap, plain->len + 1);
    if (!b->own) {
        cbx_text_clear(plain);
        return cbx_fail(err, CBX_ENOMEM, "out of memory while reading '%s'", b->what);
    }
    b->text = b->own;
    return CBX_OK;
}

typedef struct compressed {
    const cbx__bytes *bytes;
    uint64_t at;
} compressed;

static cbx_status read_on(void *user, char *to, size_t room, size_t *got, cbx_err *err)
{
    compressed *c = user;
    cbx_status st = cbx__bytes_read(c->bytes, c->at, to, room, got, err);

    if (!st) c->at += *got;
    return st;
}

static void let_go(cbx__bytes *b)
{
    if (b->own) cbx_mem_free(&b->al, b->own, b->len + 1);
    if (b->fd >= 0) close(b->fd);
    cbx__scratch_free(b->scratch);
    b->text = b->own = NULL;
    b->scratch = NULL;
    b->fd = -1;
}

/* What is compressed in b takes its place. */
static cbx_status decompress(cbx__bytes *b, size_t most, const char *scratch, cbx_err *err)
{
    compressed from = { .bytes = b };
    cbx__gunzip_ends ends = { .read = read_on, .from = &from, .pour = scratch ? pour_on_disk : pour_in_memory };
    cbx_text plain;
    cbx__scratch *disk = NULL;
    cbx_status st = CBX_OK;

    cbx_text_init(&plain, &b->al);
    if (scratch) st = cbx__scratch_create(&b->al, scratch, &disk, err);
    ends.to = scratch ? (void *)disk : (void *)&plain;
    if (!st) st = cbx__gunzip(&ends, most, b->what, err);
    if (!st) st = cbx__bytes_unchanged(b, err);
    if (st) {
        cbx_text_clear(&plain);
        cbx__scratch_free(disk);
        return st;
    }
    let_go(b);
    b->scratch = disk;
    return disk ? CBX_OK : take_text(b, &plain, err);
}

/* Behind the mark that some editors and shells begin a text with. */
static cbx_status pass_mark(cbx__bytes *b, cbx_err *err)
{
    char head[3];
    size_t got = 0, n = 0;
    cbx_status st = CBX_OK;

    do {
        st = cbx__bytes_read(b, n, head + n, sizeof head - n, &got, err);
        n += st ? 0 : got;
    } while (!st && got && n < sizeof head);
    return st ? st : cbx__byte_order_mark(head, n, b->what, &b->begin, err);
}

/* What it was made of is read: decompressed if it is a gzip file, and begins behind its mark. */
static cbx_status make_ready(cbx__bytes *b, size_t most, const char *scratch, cbx_err *err)
{
    char head[2];
    size_t got = 0;
    cbx_status st = cbx__bytes_read(b, 0, head, sizeof head, &got, err);

    if (!st && cbx__is_gzip(head, got)) st = decompress(b, most, scratch, err);
    return st ? st : pass_mark(b, err);
}

cbx_status cbx__bytes_of_text(cbx_ctx *ctx, const char *text, size_t len, size_t most, const char *what,
                              const char *scratch, cbx__bytes *out, cbx_err *err)
{
    cbx__bytes b = { .al = *cbx_ctx_allocator(ctx), .what = what, .text = text, .len = len, .fd = -1 };
    cbx_status st = make_ready(&b, most, scratch, err);

    if (st)
        cbx__bytes_clear(&b);
    else
        *out = b;
    return st;
}

static cbx_status copy_on_disk(int fd, size_t most, cbx__bytes *b, cbx_err *err)
{
    char piece[16384];
    size_t left = most;
    ssize_t n = 0;
    cbx_status st = CBX_OK;

    while (!st && ((n = read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))) {
        if (n < 0) continue;
        if ((size_t)n > left) return cbx_fail(err, CBX_EOVERFLOW, "'%s': is larger than %zu MiB", b->what, most >> 20);
        left -= (size_t)n;
        st = cbx__scratch_add(b->scratch, piece, (size_t)n, NULL, err);
    }
    return !st && n < 0 ? cbx_fail_errno(err, errno, "cannot read '%s'", b->what) : st;
}

/* A pipe, or a device, can be read but once. */
static cbx_status read_stream(cbx_ctx *ctx, const char *path, size_t most, const char *scratch, cbx__bytes *b,
                              cbx_err *err)
{
    cbx_status st;
    int fd;

    if (!scratch) {
        st = cbx_file_read(ctx, path, most, &b->own, &b->len, err);
        b->text = b->own;
        return st;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return cbx_fail_errno(err, errno, "cannot open '%s'", path);
    st = cbx__scratch_create(&b->al, scratch, &b->scratch, err);
    if (!st) st = copy_on_disk(fd, most, b, err);
    close(fd);
    return st;
}

static bool is_stream(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && (!S_ISREG(facts.st_mode) || facts.st_size == 0);
}

static cbx_status open_regular(cbx__bytes *b, const char *path, size_t most, cbx_err *err)
{
    struct stat facts;

    b->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (b->fd < 0 || fstat(b->fd, &facts)) return cbx_fail_errno(err, errno, "cannot open '%s'", path);
    if ((uint64_t)facts.st_size > most)
        return cbx_fail(err, CBX_EOVERFLOW, "'%s': is larger than %zu MiB", path, most >> 20);
    b->len = (size_t)facts.st_size;
    b->mtime_ns = mtime_ns(&facts);
    return CBX_OK;
}

cbx_status cbx__bytes_of_file(cbx_ctx *ctx, const char *path, size_t most, const char *scratch, cbx__bytes *out,
                              cbx_err *err)
{
    cbx__bytes b = { .al = *cbx_ctx_allocator(ctx), .what = path, .fd = -1 };
    cbx_status st = is_stream(path) ? read_stream(ctx, path, most, scratch, &b, err)
                                    : open_regular(&b, path, most, err);

    if (!st) st = make_ready(&b, most, scratch, err);
    if (st)
        cbx__bytes_clear(&b);
    else
        *out = b;
    return st;
}

void cbx__bytes_clear(cbx__bytes *b)
{
    let_go(b);
    *b = (cbx__bytes){ .fd = -1 };
}

size_t cbx__bytes_length(const cbx__bytes *b)
{
    return (b->scratch ? cbx__scratch_size(b->scratch) : b->len) - b->begin;
}

cbx_status cbx__bytes_read(const cbx__bytes *b, uint64_t at, void *to, size_t room, size_t *got, cbx_err *err)
{
    ssize_t n;

    at += b->begin;
    if (b->scratch) return cbx__scratch_read(b->scratch, at, to, room, got, err);
    if (b->fd < 0) {
        size_t left = at < b->len ? b->len - (size_t)at : 0;
        *got = left < room ? left : room;
        if (*got) memcpy(to, b->text + at, *got);
        return CBX_OK;
    }
    if (at + room > b->len) room = at < b->len ? b->len - (size_t)at : 0; /* what it had when it was opened */
    do n = pread(b->fd, to, room, (off_t)at);
    while (n < 0 && errno == EINTR);
    if (n < 0) return cbx_fail_errno(err, errno, "cannot read '%s'", b->what);
    *got = (size_t)n;
    return CBX_OK;
}

cbx_status cbx__bytes_unchanged(const cbx__bytes *b, cbx_err *err)
{
    struct stat facts;

    if (b->fd < 0 || fstat(b->fd, &facts)) return CBX_OK;
    if ((size_t)facts.st_size == b->len && mtime_ns(&facts) == b->mtime_ns) return CBX_OK;
    return cbx_fail(err, CBX_EFORMAT, "'%s': was written to while it was read: try again when it is done", b->what);
}

/* --- JSON from a place on --- */

static cbx_status walk_read(void *user, char *to, size_t room, size_t *got, cbx_err *err)
{
    cbx__bytes_walk *w = user;
    cbx_status st = cbx__bytes_read(w->bytes, w->at, to, room, got, err);

    if (!st) w->at += *got;
    return st;
}

cbx_status cbx__bytes_walk_begin(cbx__bytes_walk *w, const cbx__bytes *b, uint64_t at, cbx_err *err)
{
    const cbx__json_source source = { walk_read, w };

    *w = (cbx__bytes_walk){ .bytes = b, .at = at };
    return cbx__json_reader_create(&source, at, b->what, &w->reader, err);
}

void cbx__bytes_walk_end(cbx__bytes_walk *w)
{
    cbx__json_reader_free(w->reader);
    w->reader = NULL;
}
