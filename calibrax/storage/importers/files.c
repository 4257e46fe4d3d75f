/*
 * The files that a folder stands for: a store of ours, the results of asv, a store of nperf, or a folder of files.
 */
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/storage/import.h"
#include "calibrax/storage/importers/folder.h"

typedef struct files {
    cbx_ctx *ctx;
    cbx_arena *arena;
    const char **paths;
    size_t n, room;
    bool (*wanted)(const char *name);
    cbx_err *err;
} files;

static cbx_status no_memory(const files *f) { return cbx_fail(f->err, CBX_ENOMEM, "out of memory for names of files"); }

static bool ends(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);

    return n >= m && strcmp(name + n - m, suffix) == 0;
}

/* --- which files of a folder --- */

static bool is_json(const char *name) { return name[0] != '.' && (ends(name, ".json") || ends(name, ".json.gz")); }
static bool is_rows(const char *name) { return name[0] != '.' && ends(name, ".jsonl") && !ends(name, ".raw.jsonl"); }
static bool is_asv_result(const char *name)
{
    return is_json(name) && strcmp(name, "machine.json") != 0 && strcmp(name, "benchmarks.json") != 0;
}

static cbx_status add(files *f, const char *path)
{
    if (f->n == f->room) {
        size_t room = f->room ? 2 * f->room : 32;
        const char **more = cbx_arena_calloc(f->arena, room, sizeof *more);
        if (!more) return no_memory(f);
        if (f->n) memcpy(more, f->paths, f->n * sizeof *more);
        f->paths = more;
        f->room = room;
    }
    f->paths[f->n++] = path;
    return CBX_OK;
}

static cbx_status add_if_wanted(void *user, const char *path, const char *name, cbx_err *err)
{
    files *f = user;

    (void)err; /* f's own */
    return f->wanted(name) ? add(f, path) : CBX_OK;
}

/* @param depth  of folders below this one */
static cbx_status collect(files *f, const char *folder, bool (*wanted)(const char *name), int depth)
{
    const cbx__folder_visitor visitor = { NULL, add_if_wanted, f, depth };

    f->wanted = wanted;
    return cbx__import_walk_folder(f->ctx, folder, &visitor, f->arena, f->err);
}

/* --- what the folder is --- */

/* The path of a name in a folder, NULL where there is none.  Without memory the answer is not known: *st says so, and nothing more
 * is asked. */
static const char *held(files *f, const char *folder, const char *name, cbx_status *st)
{
    const char *path = *st ? NULL : cbx_path_join(f->arena, folder, name);

    if (!*st && !path) *st = no_memory(f);
    return path && cbx_path_exists(path) ? path : NULL;
}

static bool is_criterion_mark(const char *name) { return !strcmp(name, "benchmark.json"); }

/* A folder of criterion.rs is one document. */
static cbx_status collect_criterion(files *f, const char *folder, cbx_status st)
{
    for (size_t i = 0; !st && i < f->n; i++) {
        if (!ends(f->paths[i], "/new/benchmark.json")) continue;
        f->n = 0;
        return add(f, folder);
    }
    f->n = 0;
    return st;
}

static cbx_status collect_folder(files *f, const char *folder)
{
    cbx_status st = CBX_OK;
    const char *runs = held(f, folder, "runs", &st);
    bool asv = held(f, folder, "benchmarks.json", &st) || held(f, folder, "machine.json", &st);

    if (st) return st;
    if (runs && cbx__import_is_folder(runs)) return collect(f, runs, is_json, 0);
    if (asv) return collect(f, folder, is_asv_result, CBX__FOLDER_DEPTH);
    st = collect_criterion(f, folder, collect(f, folder, is_criterion_mark, CBX__FOLDER_DEPTH));
    if (!st && !f->n) st = collect(f, folder, is_rows, CBX__FOLDER_DEPTH);
    if (!st && !f->n) st = collect(f, folder, is_json, CBX__FOLDER_DEPTH);
    return st;
}

cbx_status cbx_import_files(cbx_ctx *ctx, const char *path, cbx_arena *arena, const char *const **paths, size_t *count,
                            cbx_err *err)
{
    files f = { .ctx = ctx, .arena = arena, .err = err };
    cbx_status st = cbx__import_is_folder(path) ? collect_folder(&f, path) : add(&f, path);

    if (!st && !f.n)
        st = cbx_fail(err, CBX_EFORMAT,
                      "'%s': is a folder without measurements: looked for runs/*.json, *.jsonl, *.json, *.json.gz and "
                      "new/benchmark.json of criterion",
                      path);
    if (st) return st;
    *paths = f.paths;
    *count = f.n;
    return CBX_OK;
}
