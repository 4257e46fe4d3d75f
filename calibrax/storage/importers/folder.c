/*
 * What stands beside a file: a folder of criterion.rs as one text, and asv's benchmarks.json.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "calibrax/base/file.h"
#include "calibrax/storage/importers/folder.h"

#define DEPTH 16

bool cbx__import_is_folder(const char *path)
{
    struct stat facts;

    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

/* --- criterion --- */

typedef struct walk {
    cbx_ctx *ctx;
    cbx_arena arena;
    cbx_json *list;
    size_t root_len;
    cbx_err *err;
} walk;

static cbx_status add_member(walk *w, cbx_json *item, const char *folder, const char *name, const char *key,
                             bool needed)
{
    const char *path = cbx_path_join(&w->arena, folder, name);
    cbx_json *value = NULL;
    cbx_status st;

    if (!path) return cbx_fail(w->err, CBX_ENOMEM, "out of memory while reading '%s'", folder);
    if (!needed && !cbx_path_exists(path)) return CBX_OK;
    st = cbx_json_read(w->ctx, path, &value, w->err);
    if (!st && !cbx_json_set(item, key, value))
        st = cbx_fail(w->err, CBX_ENOMEM, "out of memory while reading '%s'", folder);
    return st;
}

/* A folder .../new of one benchmark. */
static cbx_status add_benchmark(walk *w, const char *folder)
{
    cbx_json *item = cbx_json_new_object();
    cbx_status st = add_member(w, item, folder, "benchmark.json", "benchmark", true);

    cbx_json_set_string(item, "folder", strlen(folder) > w->root_len ? folder + w->root_len + 1 : "");
    if (!st) st = add_member(w, item, folder, "estimates.json", "estimates", true);
    if (!st) st = add_member(w, item, folder, "sample.json", "sample", false);
    if (st)
        cbx_json_unref(item);
    else if (!cbx_json_push(w->list, item))
        st = cbx_fail(w->err, CBX_ENOMEM, "out of memory while reading '%s'", folder);
    return st;
}

static bool is_new(const char *folder)
{
    const char *slash = strrchr(folder, '/');

    return !strcmp(slash ? slash + 1 : folder, "new");
}

static cbx_status walk_folder(walk *w, const char *folder, int depth)
{
    const char *const *names = NULL;
    size_t n = 0;
    const char *mark = cbx_path_join(&w->arena, folder, "benchmark.json");
    cbx_status st;

    if (!mark) return cbx_fail(w->err, CBX_ENOMEM, "out of memory while reading '%s'", folder);
    if ((is_new(folder) || depth == 0) && cbx_path_exists(mark)) return add_benchmark(w, folder);
    if (depth > DEPTH) return CBX_OK;
    st = cbx_dir_list(w->ctx, folder, NULL, &w->arena, &names, &n, w->err);
    for (size_t i = 0; i < n && !st; i++) {
        const char *inner = cbx_path_join(&w->arena, folder, names[i]);
        if (!inner)
            st = cbx_fail(w->err, CBX_ENOMEM, "out of memory while reading '%s'", folder);
        else if (cbx__import_is_folder(inner))
            st = walk_folder(w, inner, depth + 1);
    }
    return st;
}

cbx_status cbx__import_folder(cbx_ctx *ctx, const char *path, cbx_text *out, cbx_err *err)
{
    walk w = { .ctx = ctx, .list = cbx_json_new_array(), .root_len = strlen(path), .err = err };
    cbx_json *root = cbx_json_new_object();
    cbx_status st;

    cbx_arena_init(&w.arena, cbx_ctx_allocator(ctx));
    st = walk_folder(&w, path, 0);
    if (!st && !cbx_json_length(w.list))
        st = cbx_fail(err, CBX_EFORMAT, "'%s': is a folder without results of criterion (new/benchmark.json)", path);
    cbx_json_set(root, CBX__CRITERION_KEY, w.list);
    if (!st) cbx_json_write(root, CBX_JSON_COMPACT, out);
    if (!st) st = cbx_text_check(out, err);
    cbx_json_unref(root);
    cbx_arena_clear(&w.arena);
    return st;
}

/* --- asv --- */

/* A file beside the source, or above it, under a key of the companion; one that cannot be read is none. */
static cbx_status add_companion(cbx_ctx *ctx, const char *path, const char *file, const char *key, cbx_json **to,
                                cbx_err *err)
{
    const char *slash = strrchr(path, '/');
    cbx_json *value = NULL;
    cbx_arena arena;
    const char *name;
    bool good = true;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    name = cbx_arena_printf(&arena, "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, file);
    if (!name) good = false;
    if (good && cbx_path_exists(name) && cbx_json_read(ctx, name, &value, err) == CBX_ENOMEM) good = false;
    if (good && value) {
        if (!*to) *to = cbx_json_new_object();
        good = *to && cbx_json_set(*to, key, cbx_json_ref(value));
    }
    cbx_json_unref(value);
    cbx_arena_clear(&arena);
    return good ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "out of memory while reading '%s'", path);
}

cbx_status cbx__import_companion(cbx_ctx *ctx, const char *path, cbx_json **out, cbx_err *err)
{
    cbx_status st;

    *out = NULL;
    st = add_companion(ctx, path, "../benchmarks.json", "benchmarks", out, err);
    if (!st) st = add_companion(ctx, path, "machine.json", "machine", out, err);
    return st;
}
