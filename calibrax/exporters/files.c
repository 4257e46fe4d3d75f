/* The files of an export: named safely, never in the place of something else, on the disk together. */
#include <errno.h>
#include <string.h>

#include "calibrax/base/hash.h"
#include "calibrax/exporters/job.h"

#define PIECE_BYTES ((size_t)64 << 10)

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

/* The first fault is kept for the end. */
static void write_text(cbx__export_stream *s)
{
    if (!s->fault) s->fault = cbx_text_check(&s->text, &s->err);
    if (!s->fault && s->to && s->text.len && fwrite(s->text.data, s->text.len, 1, s->to) != 1)
        s->fault = cbx_fail_errno(&s->err, errno, "cannot write '%s'", s->path);
    cbx_text_reset(&s->text);
}

/* A file of the same name that is being written is put into its place first: it may have another content. */
cbx_status cbx__export_stream_begin(cbx_export_job *job, const char *name, cbx__export_stream *s, cbx_err *err)
{
    cbx_status st;

    *s = (cbx__export_stream){ .job = job, .path = cbx_path_join(job->arena, job->opts.folder, name) };
    cbx_text_init(&s->text, cbx_ctx_allocator(job->ctx));
    if (!s->path) return cbx_fail_nomem(err, "an export");
    st = cbx__file_batch_has(&job->batch, s->path) ? cbx__file_batch_commit(&job->batch, err) : CBX_OK;
    if (!st) st = cbx_dir_create_parent(job->ctx, s->path, err);
    if (!st) st = cbx_replacement_begin(job->ctx, s->path, &s->file, err);
    if (st) return st;
    s->to = fopen(cbx_replacement_path(s->file), "wbe");
    return s->to ? CBX_OK : cbx_fail_errno(err, errno, "cannot write '%s'", s->path);
}

void cbx__export_stream_pour(void *stream, cbx_text *text)
{
    if (text->status || text->len >= PIECE_BYTES) write_text(stream);
}

cbx_status cbx__export_stream_end(cbx__export_stream *s, cbx_status st, cbx_err *err)
{
    cbx_export_job *job = s->job;
    cbx_allocator al = cbx_arena_allocator(&job->out.arena);

    if (!st) {
        write_text(s);
        st = s->fault ? cbx_fail(err, s->fault, "%s", s->err.message) : CBX_OK;
    }
    if (s->to && fclose(s->to) != 0 && !st) st = cbx_fail_errno(err, errno, "cannot write '%s'", s->path);
    if (!st && (job->opts.replace || !cbx_path_exists(s->path))) {
        st = cbx__file_batch_add(&job->batch, s->file, err);
        s->file = NULL;
    } else if (!st && !same_files(cbx_replacement_path(s->file), s->path))
        st = cbx_fail(err, CBX_EEXIST,
                      "'%s' exists and has another content: choose another folder, or allow it to be replaced",
                      s->path);
    if (!st) {
        const char *copy = cbx_arena_strdup(&job->out.arena, s->path);
        if (!copy || !cbx_list_push(&al, &job->files, copy)) st = cbx_fail_nomem(err, "an export");
    }
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
