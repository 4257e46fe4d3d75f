/* Finds traces by the names and first bytes of files in a folder. */
#include "calibrax/profiling/trace_link.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "calibrax/base/file.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/json_put.h"

typedef bool (*begin_fn)(const unsigned char *head, size_t n);

static bool begins_json(const unsigned char *head, size_t n)
{
    size_t i = 0;

    while (i < n && strchr(" \t\r\n", head[i]) && head[i]) i++;
    return i < n && (head[i] == '{' || head[i] == '[');
}
static bool begins_gzip(const unsigned char *head, size_t n) { return n > 2 && head[0] == 0x1f && head[1] == 0x8b; }
/* XSpace and Trace are messages whose first field, 1, is a message: XPlane, TracePacket.  XSpace
 * may begin with errors and warnings. */
static bool begins_xspace(const unsigned char *head, size_t n)
{
    return n > 1 && (head[0] == 0x0a || head[0] == 0x12 || head[0] == 0x1a || head[0] == 0x22);
}
static bool begins_packet(const unsigned char *head, size_t n) { return n > 1 && head[0] == 0x0a; }

/* the first suffix that fits counts */
static const struct {
    const char *suffix, *format;
    begin_fn begins;
} kinds[] = {
    { ".xplane.pb", "xplane", begins_xspace },
    { ".trace.json.gz", "trace-event-json", begins_gzip },
    { ".trace.json", "trace-event-json", begins_json },
    { "perfetto_trace.json.gz", "trace-event-json", begins_gzip },
    { "perfetto_trace.json", "trace-event-json", begins_json },
    { ".perfetto-trace", "perfetto", begins_packet },
    { ".pftrace", "perfetto", begins_packet },
};

static size_t kind_of(const char *name)
{
    size_t n = strlen(name), k = 0;

    for (; k < CBX_LEN(kinds); k++) {
        size_t tail = strlen(kinds[k].suffix);
        if (n >= tail && strcmp(name + n - tail, kinds[k].suffix) == 0) break;
    }
    return k;
}

/* Size and content of a file that is named as a trace of that kind. */
static cbx_status examine(cbx_ctx *ctx, const char *path, size_t kind, cbx_trace_file *out, cbx_err *err)
{
    unsigned char head[16];
    struct stat st;
    size_t n = 0;
    FILE *f;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) /* reading a pipe would wait */
        return cbx_fail(err, CBX_EFORMAT, "'%s' is named as a trace, but is not a file", path);
    f = fopen(path, "rb");
    if (f) {
        n = fread(head, 1, sizeof head, f);
        fclose(f);
    }
    if (f && !kinds[kind].begins(head, n))
        return cbx_fail(err, CBX_EFORMAT, "'%s' %s: finish the trace first", path,
                        n ? "does not have the format of its name" : "is empty");
    out->format = kinds[kind].format;
    out->bytes = stat(path, &st) ? 0 : (size_t)st.st_size;
    return cbx_hash_file(ctx, path, out->hash, err);
}

/* Adds the traces of the folder `below` l->folder. */
static cbx_status gather(cbx_ctx *ctx, cbx_trace_link *l, const char *below, cbx_err *err)
{
    const char *folder = cbx_path_join(&l->arena, l->folder, below), *const * names;
    cbx_trace_file *files;
    size_t n = 0;

    if (!folder) return cbx_fail_nomem(err, "a trace's reference");
    cbx_status st = cbx_dir_list(ctx, *below ? folder : l->folder, NULL, &l->arena, &names, &n, err);
    if (st) return st;
    files = cbx_arena_calloc(&l->arena, l->nfiles + n + 1, sizeof *files);
    if (!files) return cbx_fail_nomem(err, "a trace's reference");
    if (l->nfiles) memcpy(files, l->files, l->nfiles * sizeof *files);
    l->files = files;
    for (size_t i = 0; i < n; i++) {
        cbx_trace_file *file = &files[l->nfiles];
        size_t kind = kind_of(names[i]);
        if (kind == CBX_LEN(kinds)) continue;
        file->path = cbx_path_join(&l->arena, below, names[i]);
        folder = file->path ? cbx_path_join(&l->arena, l->folder, file->path) : NULL;
        if (!folder) return cbx_fail_nomem(err, "a trace's reference");
        st = examine(ctx, folder, kind, file, err);
        if (st) return st;
        l->nfiles++;
    }
    return CBX_OK;
}

cbx_status cbx_trace_find(cbx_ctx *ctx, const char *folder, cbx_trace_link *out, cbx_err *err)
{
    cbx_trace_link l = { 0 };
    const char *profiles, *const *names;
    size_t n = 0;

    cbx_arena_init(&l.arena, cbx_ctx_allocator(ctx));
    l.folder = cbx_arena_strdup(&l.arena, folder);
    profiles = l.folder ? cbx_path_join(&l.arena, l.folder, "plugins/profile") : NULL;
    cbx_status st = profiles ? gather(ctx, &l, "", err) : cbx_fail_nomem(err, "a trace's reference");
    if (!st && cbx_path_exists(profiles)) st = cbx_dir_list(ctx, profiles, NULL, &l.arena, &names, &n, err);
    /* the newest session: names are times, so the last of them */
    if (!st && n && !(l.session = cbx_path_join(&l.arena, "plugins/profile", names[n - 1])))
        st = cbx_fail_nomem(err, "a trace's reference");
    if (!st && l.session) st = gather(ctx, &l, l.session, err);
    if (!st && !l.nfiles)
        st = cbx_fail(err, CBX_ENOENT, "no trace in '%s': no file is named *.xplane.pb, *.trace.json or *.pftrace",
                      folder);
    return CBX_FINISH(st, *out = l, cbx_arena_clear(&l.arena));
}

void cbx_trace_link_clear(cbx_trace_link *link)
{
    if (!link) return;
    cbx_arena_clear(&link->arena);
    link->files = NULL;
    link->nfiles = 0;
}

/* --- the reference --- */

cbx_json *cbx_trace_link_json(const cbx_trace_link *link, const char *run_id)
{
    cbx_json *o = cbx_json_object(J_TEXT("trace_dir", link->folder), J_GIVEN("run_id", run_id),
                                  J_GIVEN("session", link->session));
    cbx_json *list = cbx_json_set_array(o, "files");

    for (size_t i = 0; i < link->nfiles; i++) {
        const cbx_trace_file *f = &link->files[i];
        cbx_json_push(list, cbx_json_object(J_TEXT("file", f->path), J_TEXT("format", f->format),
                                            J_INT("bytes", f->bytes), J_TEXT("hash", f->hash)));
    }
    return cbx_json_finish(o);
}

static cbx_status check_file(cbx_ctx *ctx, cbx_arena *arena, const char *folder, const cbx_json *file, cbx_err *err)
{
    const char *name = cbx_json_get_string(file, "file", NULL), *hash = cbx_json_get_string(file, "hash", NULL), *path;
    char now[CBX_HASH_SIZE];

    if (!name || !hash) return cbx_fail(err, CBX_EFORMAT, "a file of the trace in '%s' has no name or no hash", folder);
    path = cbx_path_join(arena, folder, name);
    if (!path) return cbx_fail_nomem(err, "a trace's reference");
    cbx_status st = cbx_hash_file(ctx, path, now, err);
    if (st || strcmp(now, hash) == 0) return st;
    return cbx_fail(err, CBX_EFORMAT, "'%s' was changed after it was referenced", path);
}

cbx_status cbx_trace_link_check(cbx_ctx *ctx, const cbx_json *reference, cbx_err *err)
{
    const char *folder = cbx_json_get_string(reference, "trace_dir", NULL);
    const cbx_json *files = cbx_json_get(reference, "files");
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    cbx_status st = CBX_OK;

    if (!folder) return cbx_fail(err, CBX_EFORMAT, "a reference to a trace without its 'trace_dir'");
    if (!cbx_path_exists(folder)) return cbx_fail(err, CBX_ENOENT, "the trace's folder '%s' no longer exists", folder);
    if (files && cbx_json_typeof(files) != CBX_JSON_ARRAY)
        return cbx_fail(err, CBX_EFORMAT, "the files of the trace in '%s' must be a list", folder);
    for (size_t i = 0; files && !st && i < cbx_json_length(files); i++)
        st = check_file(ctx, &arena, folder, cbx_json_at(files, i), err);
    return st;
}
