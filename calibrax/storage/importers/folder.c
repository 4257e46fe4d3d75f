/*
 * Folders: the one walker through them, what criterion.rs left in one as a single text, and asv's benchmarks.json beside a file.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "calibrax/base/file.h"
#include "calibrax/storage/importers/folder.h"

bool cbx__import_is_folder(const char *path)
{
    struct stat facts;

    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

/* --- walking --- */

typedef struct place {
    dev_t device;
    ino_t number;
} place;

typedef struct walker {
    cbx_ctx *ctx;
    cbx_arena *arena;
    const cbx__folder_visitor *visitor;
    place *seen;
    size_t nseen, room;
    cbx_err *err;
} walker;

static cbx_status no_memory(const char *folder, cbx_err *err)
{
    return cbx_fail(err, CBX_ENOMEM, "out of memory while reading '%s'", folder);
}

/* Links may lead to a folder that was walked already, and back to one that is being walked. */
static cbx_status see(walker *w, const char *folder, bool *first)
{
    struct stat facts;

    *first = true;
    if (stat(folder, &facts) != 0) return CBX_OK; /* whoever lists it says why */
    for (size_t i = 0; *first && i < w->nseen; i++)
        *first = w->seen[i].device != facts.st_dev || w->seen[i].number != facts.st_ino;
    if (!*first) return CBX_OK;
    if (w->nseen == w->room) {
        size_t room = w->room ? 2 * w->room : 32;
        place *more = cbx_arena_calloc(w->arena, room, sizeof *more);
        if (!more) return no_memory(folder, w->err);
        if (w->nseen) memcpy(more, w->seen, w->nseen * sizeof *more);
        w->seen = more;
        w->room = room;
    }
    w->seen[w->nseen++] = (place){ facts.st_dev, facts.st_ino };
    return CBX_OK;
}

static cbx_status walk(walker *w, const char *folder, int depth)
{
    const cbx__folder_visitor *v = w->visitor;
    const char *const *names = NULL;
    size_t n = 0;
    bool deeper = true, first = true;
    cbx_status st = see(w, folder, &first);

    if (st || !first) return st;
    if (v->enter) st = v->enter(v->user, folder, depth, &deeper, w->err);
    if (!st && deeper) st = cbx_dir_list(w->ctx, folder, NULL, w->arena, &names, &n, w->err);
    for (size_t i = 0; i < n && !st; i++) {
        const char *path = cbx_path_join(w->arena, folder, names[i]);
        if (!path)
            st = no_memory(folder, w->err);
        else if (cbx__import_is_folder(path))
            st = depth < v->depth && names[i][0] != '.' ? walk(w, path, depth + 1) : CBX_OK;
        else if (v->file)
            st = v->file(v->user, path, names[i], w->err);
    }
    return st;
}

cbx_status cbx__import_walk_folder(cbx_ctx *ctx, const char *folder, const cbx__folder_visitor *visitor,
                                   cbx_arena *arena, cbx_err *err)
{
    walker w = { .ctx = ctx, .arena = arena, .visitor = visitor, .err = err };

    return walk(&w, folder, 0);
}

/* --- criterion --- */

typedef struct gathering {
    cbx_ctx *ctx;
    cbx_arena arena;
    cbx_json *list;
    size_t root_len;
} gathering;

static cbx_status add_member(gathering *g, cbx_json *item, const char *folder, const char *name, const char *key,
                             bool needed, cbx_err *err)
{
    const char *path = cbx_path_join(&g->arena, folder, name);
    cbx_json *value = NULL;
    cbx_status st;

    if (!path) return no_memory(folder, err);
    if (!needed && !cbx_path_exists(path)) return CBX_OK;
    st = cbx_json_read(g->ctx, path, &value, err);
    return st || cbx_json_set(item, key, value) ? st : no_memory(folder, err);
}

/* A folder .../new of one benchmark. */
static cbx_status add_benchmark(gathering *g, const char *folder, cbx_err *err)
{
    cbx_json *item = cbx_json_new_object();
    cbx_status st = add_member(g, item, folder, "benchmark.json", "benchmark", true, err);

    cbx_json_set_string(item, "folder", strlen(folder) > g->root_len ? folder + g->root_len + 1 : "");
    if (!st) st = add_member(g, item, folder, "estimates.json", "estimates", true, err);
    if (!st) st = add_member(g, item, folder, "sample.json", "sample", false, err);
    if (st)
        cbx_json_unref(item);
    else if (!cbx_json_push(g->list, item))
        st = no_memory(folder, err);
    return st;
}

static bool is_new(const char *folder)
{
    const char *slash = strrchr(folder, '/');

    return !strcmp(slash ? slash + 1 : folder, "new");
}

static cbx_status enter_folder(void *user, const char *folder, int depth, bool *deeper, cbx_err *err)
{
    gathering *g = user;
    const char *mark = cbx_path_join(&g->arena, folder, "benchmark.json");

    if (!mark) return no_memory(folder, err);
    *deeper = !((is_new(folder) || depth == 0) && cbx_path_exists(mark));
    return *deeper ? CBX_OK : add_benchmark(g, folder, err);
}

cbx_status cbx__import_folder(cbx_ctx *ctx, const char *path, cbx_text *out, cbx_err *err)
{
    gathering g = { .ctx = ctx, .list = cbx_json_new_array(), .root_len = strlen(path) };
    const cbx__folder_visitor visitor = { enter_folder, NULL, &g, CBX__FOLDER_DEPTH };
    cbx_json *root = cbx_json_new_object();
    cbx_status st;

    cbx_arena_init(&g.arena, cbx_ctx_allocator(ctx));
    st = cbx__import_walk_folder(ctx, path, &visitor, &g.arena, err);
    if (!st && !cbx_json_length(g.list))
        st = cbx_fail(err, CBX_EFORMAT, "'%s': is a folder without results of criterion (new/benchmark.json)", path);
    cbx_json_set(root, CBX__CRITERION_KEY, g.list);
    if (!st) cbx_json_write(root, CBX_JSON_COMPACT, out);
    if (!st) st = cbx_text_check(out, err);
    cbx_json_unref(root);
    cbx_arena_clear(&g.arena);
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
