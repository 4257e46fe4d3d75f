/*
 * Folders: the files of one (a store, results of asv, rows of nperf, files of any format), the
 * folder of criterion.rs as one text, and asv's files beside a file of results.
 */
#include <string.h>
#include <sys/stat.h>

#include "calibrax/base/file.h"
#include "calibrax/storage/importers/importer.h"
#include "calibrax/storage/row_table.h"

#define DEPTH_MAX 16

/* --- walking --- */

typedef struct place {
    dev_t device;
    ino_t number;
} place;

typedef struct walk {
    cbx_ctx *ctx;
    cbx_arena *arena;
    CBX_LIST(const char *) files;
    CBX_LIST(place) seen;
} walk;

/*
 * Adds the files of a folder and, up to a depth, of those below it, names in order.  Links are
 * followed, and each folder is read once, however many links lead to it; folders whose name begins
 * with a dot are left out.
 */
static cbx_status add_files(walk *w, const char *folder, int depth, cbx_err *err)
{
    const char *const *names = NULL;
    struct stat facts;
    size_t n = 0;
    cbx_status st;

    if (stat(folder, &facts) == 0) {
        for (size_t i = 0; i < w->seen.n; i++)
            if (w->seen.items[i].device == facts.st_dev && w->seen.items[i].number == facts.st_ino) return CBX_OK;
        if (!cbx_list_push(CBX_IN_ARENA(w->arena), &w->seen, (place){ facts.st_dev, facts.st_ino }))
            return cbx_fail_nomem(err, folder);
    }
    st = cbx_dir_list(w->ctx, folder, NULL, w->arena, &names, &n, err);
    for (size_t i = 0; i < n && !st; i++) {
        const char *path = cbx_path_join(w->arena, folder, names[i]);
        if (!path)
            st = cbx_fail_nomem(err, folder);
        else if (cbx_path_is_folder(path))
            st = depth > 0 && names[i][0] != '.' ? add_files(w, path, depth - 1, err) : CBX_OK;
        else if (!cbx_list_push(CBX_IN_ARENA(w->arena), &w->files, path))
            st = cbx_fail_nomem(err, folder);
    }
    return st;
}

/* --- the files of a folder --- */

static bool is_json(const char *name)
{
    return name[0] != '.' && (cbx__ends_with(name, ".json") || cbx__ends_with(name, ".json.gz"));
}
static bool is_rows(const char *name)
{
    return name[0] != '.' && cbx__ends_with(name, ".jsonl") && !cbx__ends_with(name, ".raw.jsonl");
}
static bool is_asv_result(const char *name)
{
    return is_json(name) && strcmp(name, "machine.json") != 0 && strcmp(name, "benchmarks.json") != 0;
}

static bool is_xplane(const char *name) { return cbx__ends_with(name, ".xplane.pb"); }
static bool is_criterion(const char *path) { return cbx__ends_with(path, "/new/benchmark.json"); }

/* Keeps only the files that are wanted; false: none is, and all are kept. */
static bool keep_files(walk *w, bool (*wanted)(const char *name))
{
    size_t n = 0, all = w->files.n;

    for (size_t i = 0; i < all; i++) n += wanted(cbx_path_base(w->files.items[i]));
    if (!n) return false;
    w->files.n = 0;
    for (size_t i = 0; i < all; i++)
        if (wanted(cbx_path_base(w->files.items[i]))) w->files.items[w->files.n++] = w->files.items[i];
    return true;
}

static cbx_status list_folder(walk *w, const char *folder, cbx_err *err)
{
    const char *runs = cbx_path_join(w->arena, folder, "runs");
    const char *benchmarks = cbx_path_join(w->arena, folder, "benchmarks.json");
    const char *machine = cbx_path_join(w->arena, folder, "machine.json");
    bool is_store, is_asv, found;
    cbx_status st;

    if (!runs || !benchmarks || !machine) return cbx_fail_nomem(err, folder);
    is_store = cbx_path_is_folder(runs);
    st = is_store ? add_files(w, runs, 0, err) : add_files(w, folder, DEPTH_MAX, err);
    if (st) return st;
    is_asv = cbx_path_exists(benchmarks) || cbx_path_exists(machine);
    for (size_t i = 0; i < w->files.n && !is_store && !is_asv; i++) {
        if (!is_criterion(w->files.items[i])) continue;
        w->files.items[0] = folder; /* it is one document */
        w->files.n = 1;
        return CBX_OK;
    }
    if (is_store)
        found = keep_files(w, is_json);
    else if (is_asv)
        found = keep_files(w, is_asv_result);
    else
        found = keep_files(w, is_rows) || keep_files(w, is_json) || keep_files(w, is_xplane);
    if (!found) w->files.n = 0;
    return CBX_OK;
}

cbx_status cbx_import_files(cbx_ctx *ctx, const char *path, cbx_arena *arena, const char *const **paths, size_t *count,
                            cbx_err *err)
{
    walk w = { .ctx = ctx, .arena = arena };
    cbx_status st = CBX_OK;

    if (cbx_path_is_folder(path))
        st = list_folder(&w, path, err);
    else if (!cbx_list_push(CBX_IN_ARENA(arena), &w.files, path))
        st = cbx_fail_nomem(err, path);
    if (!st && !w.files.n)
        st = cbx_fail(err, CBX_EFORMAT,
                      "'%s': is a folder without measurements: expected runs/*.json, *.jsonl, *.json, *.json.gz, "
                      "*.xplane.pb and new/benchmark.json of criterion",
                      path);
    if (st) return st;
    *paths = w.files.items;
    *count = w.files.n;
    return CBX_OK;
}

/* --- criterion --- */

static cbx_status add_member(walk *w, cbx_json *item, const char *beside, const char *name, const char *key,
                             bool needed, cbx_err *err)
{
    const char *path = cbx_path_beside(w->arena, beside, name);
    cbx_json *value = NULL;
    cbx_status st;

    if (!path) return cbx_fail_nomem(err, beside);
    if (!needed && !cbx_path_exists(path)) return CBX_OK;
    st = cbx_json_read(w->ctx, path, &value, err);
    return st || cbx_json_set(item, key, value) ? st : cbx_fail_nomem(err, path);
}

/* One benchmark by its benchmark.json, in a folder .../new. */
static cbx_status add_benchmark(walk *w, cbx_json *list, const char *path, size_t root_len, cbx_err *err)
{
    cbx_json *item = cbx_json_push_object(list);
    const char *folder = cbx_path_parent(w->arena, path);
    cbx_status st = folder ? add_member(w, item, path, "benchmark.json", "benchmark", true, err)
                           : cbx_fail_nomem(err, path);

    if (!st) cbx_json_set_string(item, "folder", strlen(folder) > root_len ? folder + root_len + 1 : "");
    if (!st) st = add_member(w, item, path, "estimates.json", "estimates", true, err);
    return st ? st : add_member(w, item, path, "sample.json", "sample", false, err);
}

cbx_status cbx__import_folder(cbx_ctx *ctx, const char *path, cbx_text *out, cbx_err *err)
{
    CBX_OWNED(cbx_json) *root = cbx_json_new_object();
    cbx_json *list = cbx_json_set_array(root, CBX__CRITERION_KEY);
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    walk w = { .ctx = ctx, .arena = &arena };
    const char *own = cbx_path_join(&arena, path, "benchmark.json");
    cbx_status st;

    if (!own) return cbx_fail_nomem(err, path);
    st = cbx_path_exists(own) ? add_benchmark(&w, list, own, strlen(path), err) : add_files(&w, path, DEPTH_MAX, err);
    for (size_t i = 0; i < w.files.n && !st; i++)
        if (is_criterion(w.files.items[i])) st = add_benchmark(&w, list, w.files.items[i], strlen(path), err);
    if (!st) st = cbx_json_check(root, err);
    if (!st && !cbx_json_length(list))
        st = cbx_fail(err, CBX_EFORMAT, "'%s': is a folder without results of criterion (new/benchmark.json)", path);
    if (st) return st;
    cbx_json_write(root, CBX_JSON_COMPACT, out);
    return cbx_text_check(out, err);
}

/* --- asv --- */

cbx_status cbx__import_companion(cbx_ctx *ctx, const char *path, cbx_json **out, cbx_err *err)
{
    static const char *const files[][2] = { { "../benchmarks.json", "benchmarks" }, { "machine.json", "machine" } };
    CBX_OWNED(cbx_json) *all = cbx_json_new_object();
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));

    *out = NULL;
    for (size_t i = 0; i < CBX_LEN(files); i++) {
        const char *name = cbx_path_beside(&arena, path, files[i][0]);
        cbx_json *value = NULL;
        if (!name || (cbx_path_exists(name) && cbx_json_read(ctx, name, &value, NULL) == CBX_ENOMEM))
            return cbx_fail_nomem(err, path);
        /* one that cannot be read counts as missing */
        if (value && !cbx_json_set(all, files[i][1], value)) return cbx_fail_nomem(err, path);
    }
    if (cbx_json_length(all)) *out = cbx_json_ref(all);
    return CBX_OK;
}
