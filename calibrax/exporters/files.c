/*
 * The files of an export: named safely, never in the place of something else, on the disk together.
 */
#include <errno.h>
#include <string.h>

#include "calibrax/base/hash.h"
#include "calibrax/exporters/job.h"

#define PIECE_BYTES ((size_t)64 << 10)

static cbx_status note_file(cbx_export_job *job, const char *path, cbx_err *err)
{
    cbx_arena *arena = &job->out.arena;

    if (job->nfiles == job->room) {
        size_t room = job->room ? 2 * job->room : 8;
        const char **more = cbx_arena_calloc(arena, room, sizeof *more);
        if (!more) return cbx_fail_nomem(err, "an export");
        if (job->nfiles) memcpy(more, job->files, job->nfiles * sizeof *more);
        job->files = more;
        job->room = room;
    }
    job->files[job->nfiles] = cbx_arena_strdup(arena, path);
    return job->files[job->nfiles++] ? CBX_OK : cbx_fail_nomem(err, "an export");
}

/* A file of that name that is under way takes its place first: it may hold something else. */
static cbx_status make_way(cbx_export_job *job, const char *path, cbx_err *err)
{
    return cbx__file_batch_has(&job->batch, path) ? cbx__file_batch_commit(&job->batch, err) : CBX_OK;
}

static cbx_status in_the_way(const char *path, cbx_err *err)
{
    return cbx_fail(err, CBX_EEXIST,
                    "'%s' is there and holds something else: choose another folder, or allow it to be replaced", path);
}

static bool same_bytes(FILE *x, FILE *y)
{
    char p[16384], q[sizeof p];
    bool same = x && y;

    while (same) {
        size_t n = fread(p, 1, sizeof p, x), m = fread(q, 1, sizeof q, y);
        same = n == m && memcmp(p, q, n) == 0;
        if (n < sizeof p) break;
    }
    return same && !ferror(x) && !ferror(y);
}

static bool same_files(const char *a, const char *b)
{
    FILE *x = fopen(a, "rbe"), *y = fopen(b, "rbe");
    bool same = same_bytes(x, y);

    if (x) fclose(x);
    if (y) fclose(y);
    return same;
}

/* --- in pieces --- */

static cbx_status write_text(cbx__export_stream *s, cbx_err *err)
{
    size_t n = s->text.len;
    cbx_status st = cbx_text_check(&s->text, err);

    if (!st && n && fwrite(s->text.data, n, 1, s->to) != 1)
        st = cbx_fail_errno(err, errno, "cannot write '%s'", s->path);
    cbx_text_reset(&s->text);
    return st;
}

cbx_status cbx__export_stream_begin(cbx_export_job *job, const char *name, cbx__export_stream *s, cbx_err *err)
{
    cbx_status st;

    *s = (cbx__export_stream){ .job = job, .path = cbx_path_join(job->arena, job->opts.folder, name) };
    cbx_text_init(&s->text, cbx_ctx_allocator(job->ctx));
    if (!s->path) return cbx_fail_nomem(err, "an export");
    st = make_way(job, s->path, err);
    if (!st) st = cbx_dir_create_parent(job->ctx, s->path, err);
    if (!st) st = cbx_replacement_begin(job->ctx, s->path, &s->file, err);
    if (st) return st;
    s->to = fopen(cbx_replacement_path(s->file), "wbe");
    return s->to ? CBX_OK : cbx_fail_errno(err, errno, "cannot write '%s'", s->path);
}

cbx_status cbx__export_stream_pour(cbx__export_stream *s, cbx_err *err)
{
    return s->text.status || s->text.len >= PIECE_BYTES ? write_text(s, err) : CBX_OK;
}

/* What is written takes its place, unless the same, or something else, is there. */
static cbx_status settle(cbx__export_stream *s, cbx_err *err)
{
    bool there = !s->job->opts.replace && cbx_path_exists(s->path);
    bool same = there && same_files(cbx_replacement_path(s->file), s->path);
    cbx_replacement *file = s->file;

    if (there && !same) return in_the_way(s->path, err);
    if (same) return CBX_OK;
    s->file = NULL;
    return cbx__file_batch_add(&s->job->batch, file, err);
}

cbx_status cbx__export_stream_end(cbx__export_stream *s, cbx_status st, cbx_err *err)
{
    if (!st) st = write_text(s, err);
    if (s->to && fclose(s->to) != 0 && !st) st = cbx_fail_errno(err, errno, "cannot write '%s'", s->path);
    if (!st) st = settle(s, err);
    if (!st) st = note_file(s->job, s->path, err);
    cbx_replacement_discard(s->file);
    cbx_text_clear(&s->text);
    return st;
}

cbx_status cbx__export_file(cbx_export_job *job, const char *name, const cbx_text *text, cbx_err *err)
{
    cbx__export_stream s;
    cbx_status st = cbx_text_check(text, err);

    if (st) return st;
    st = cbx__export_stream_begin(job, name, &s, err);
    if (!st && text->len && fwrite(text->data, text->len, 1, s.to) != 1)
        st = cbx_fail_errno(err, errno, "cannot write '%s'", s.path);
    return cbx__export_stream_end(&s, st, err);
}

/* --- names --- */

const char *cbx__export_safe_name(cbx_arena *arena, const char *name)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    char hash[CBX_HASH_SIZE];
    char *copy;
    size_t n;

    if (cbx_name_is_safe(name) && strlen(name) <= 64) return cbx_arena_strdup(arena, name);
    copy = cbx_arena_strndup(arena, name, 48);
    if (!copy) return NULL;
    n = strlen(copy);
    for (size_t i = 0; i < n; i++)
        if (!strchr(safe, copy[i]) || (i == 0 && (*copy == '.' || *copy == '-'))) copy[i] = '_';
    cbx_hash_bytes(name, strlen(name), hash);
    return cbx_arena_printf(arena, "%s-%.8s", *copy ? copy : "_", hash);
}
