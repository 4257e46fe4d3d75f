/* Rows of nperf in a store, <case>/<run_id>.jsonl with raw launches beside it: the care that runs
 * get, for them. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file_text.h"
#include "calibrax/base/gzip.h"
#include "calibrax/base/hash.h"
#include "calibrax/storage/row_table.h"
#include "calibrax/storage/store_internal.h"

bool cbx__store_is_raw(const char *name) { return cbx__ends_with(name, RAW_SUFFIX) || cbx__ends_with(name, RAW_PLAIN); }
bool cbx__store_is_rows(const char *name)
{
    return name[0] != '.' && cbx__ends_with(name, ".jsonl") && !cbx__store_is_raw(name);
}

/* A folder of rows is any folder below the root that has a file of rows, but those of runs and
 * baselines. */
cbx_status cbx__store_cases(cbx_store *s, cbx_arena *arena, cbx__store_case **out, size_t *n, cbx_err *err)
{
    CBX_LIST(cbx__store_case) cases = { 0 };
    const char *const *names = NULL;
    size_t count = 0;
    cbx_status st = cbx_path_exists(s->root) ? cbx_dir_list(s->ctx, s->root, NULL, arena, &names, &count, err) : CBX_OK;

    for (size_t i = 0; !st && i < count; i++) {
        cbx__store_case c = { .name = names[i], .path = cbx_path_join(arena, s->root, names[i]) };
        bool has_rows = false;
        if (!c.path) return cbx_fail_nomem(err, "the rows of a store");
        if (names[i][0] == '.' || !strcmp(names[i], "runs") || !strcmp(names[i], "baselines")) continue;
        if (!cbx_path_is_folder(c.path)) continue;
        st = cbx_dir_list(s->ctx, c.path, NULL, arena, &c.files, &c.n, err);
        for (size_t k = 0; !st && k < c.n; k++) has_rows = has_rows || cbx__store_is_rows(c.files[k]);
        if (!st && has_rows && !cbx_list_push(CBX_IN_ARENA(arena), &cases, c))
            return cbx_fail_nomem(err, "the rows of a store");
    }
    *out = cases.items;
    *n = cases.n;
    return st;
}

/* --- the state of a store --- */

static void hash_files(cbx_hasher *h, const char *path, const char *const *names, size_t n)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (size_t i = 0; folder >= 0 && i < n; i++) {
        cbx__index_file f;
        cbx_hasher_add(h, names[i], strlen(names[i]) + 1);
        if (cbx__index_stamp(folder, names[i], &f)) cbx_hasher_add(h, &f.stamp, sizeof f.stamp);
    }
    if (folder >= 0) close(folder);
}

cbx_status cbx_store_state(cbx_store *s, char out[CBX_HASH_SIZE], cbx_err *err)
{
    static const char *const single[] = { "config.json" };
    char runs[CBX_HASH_SIZE];
    const char *const *names = NULL;
    cbx__store_case *cases = NULL;
    size_t n = 0;
    cbx_hasher *h = NULL;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(s->ctx));
    cbx_status st = cbx__store_index(s, err);

    *out = '\0';
    if (!st) st = cbx__index_state(s->index, runs, err);
    if (st || !*runs) return st;
    if (cbx_path_exists(s->baselines)) st = cbx_dir_list(s->ctx, s->baselines, ".json", &arena, &names, &n, err);
    if (!st) h = cbx_hasher_create();
    if (h) {
        cbx_hasher_add(h, runs, strlen(runs));
        hash_files(h, s->root, single, CBX_LEN(single));
        hash_files(h, s->baselines, names, n);
    }
    if (h) st = cbx__store_cases(s, &arena, &cases, &n, err);
    for (size_t i = 0; h && !st && i < n; i++) hash_files(h, cases[i].path, cases[i].files, cases[i].n);
    if (h) cbx_hasher_end(h, out);
    if (st) *out = '\0';
    return st;
}

/* --- verification --- */

/* What is wrong with a file of rows or of raw launches: *problem, in the arena. */
static cbx_status verify_file(cbx_store *s, cbx_arena *arena, const char *path, const char *name, const char **problem,
                              cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT;
    size_t newer = 0;
    CBX_SCOPED(cbx_rows, rows, cbx_ctx_allocator(s->ctx));
    CBX_SCOPED(cbx_text, data, cbx_ctx_allocator(s->ctx));
    CBX_SCOPED(cbx_text, raw, cbx_ctx_allocator(s->ctx));
    cbx_status st = cbx__store_check_file(path, &why);

    *problem = NULL;
    if (!st) st = cbx__file_text(s->ctx, path, 0, &data, &why);
    if (!st && cbx__ends_with(name, RAW_SUFFIX)) st = cbx_gzip_unpack(data.data, data.len, RAW_MAX, path, &raw, &why);
    if (!st && cbx__store_is_rows(name)) {
        st = cbx__rows_read_text(&rows, data.data, data.len, path, &why);
        for (size_t i = 0; i < rows.count; i++)
            newer += cbx_json_get_int(rows.rows[i].json, "schema_version", 0) > CBX_ROW_SCHEMA_VERSION;
    }
    if (st == CBX_ENOMEM) return cbx_fail_nomem(err, "the rows of a store");
    if (st == CBX_ENOENT || (!st && !rows.damaged && !newer)) return CBX_OK; /* perhaps removed since it was listed */
    if (st)
        *problem = cbx_arena_strdup(arena, why.message);
    else if (rows.damaged)
        *problem = cbx_arena_printf(arena, "%zu line%s cannot be read: %s", rows.damaged, rows.damaged == 1 ? "" : "s",
                                    rows.first_damage);
    else
        *problem = cbx_arena_printf(arena, "%zu row%s of a later schema: this release reads up to version %d", newer,
                                    newer == 1 ? " is" : "s are", CBX_ROW_SCHEMA_VERSION);
    return *problem ? CBX_OK : cbx_fail_nomem(err, "the problems of a store");
}

/* Whether the raw launches of a name have their rows beside them. */
static bool has_rows(const cbx__store_case *c, const char *raw)
{
    size_t stem = strlen(raw) - strlen(cbx__ends_with(raw, RAW_SUFFIX) ? RAW_SUFFIX : RAW_PLAIN);

    for (size_t i = 0; i < c->n; i++)
        if (cbx__store_is_rows(c->files[i]) && strlen(c->files[i]) == stem + 6 && !strncmp(c->files[i], raw, stem))
            return true;
    return false;
}

cbx_status cbx__store_verify_rows(cbx_store *s, cbx__store_findings *f, cbx_err *err)
{
    cbx_arena *arena = &f->out->arena;
    cbx__store_case *cases = NULL;
    size_t n = 0;
    cbx_status st = cbx__store_cases(s, arena, &cases, &n, err);

    for (size_t i = 0; !st && i < n; i++) {
        for (size_t k = 0; !st && k < cases[i].n; k++) {
            const char *name = cases[i].files[k], *path = cbx_path_join(arena, cases[i].path, name);
            const char *shown = cbx_arena_printf(arena, "%s/%s", cases[i].name, name), *problem = NULL;
            if (!path || !shown) return cbx_fail_nomem(err, "the rows of a store");
            if (cbx__ends_with(name, ".tmp")) {
                problem = cbx__store_leftover;
            } else if (cbx__store_is_raw(name) && !has_rows(&cases[i], name)) {
                problem = "raw launches without their rows; 'calibrax store compact' removes them";
            } else if (cbx__store_is_raw(name) || cbx__store_is_rows(name)) {
                f->out->files++;
                st = verify_file(s, arena, path, name, &problem, err);
            }
            if (!st && problem) st = cbx__store_found(f, shown, problem, err);
        }
    }
    return st;
}

/* --- compaction --- */

/* The time that the id of a run begins with; INT64_MIN: none. */
static int64_t time_of(const char *name)
{
    const char *mark = strstr(name, "__");
    char text[CBX_TIME_SIZE];
    int64_t us;

    if (!mark || (size_t)(mark - name) >= sizeof text) return INT64_MIN;
    memcpy(text, name, (size_t)(mark - name));
    text[mark - name] = '\0';
    return cbx_time_parse_iso(text, &us, NULL) ? INT64_MIN : us;
}

static cbx_status remove_file(cbx_arena *arena, const char *folder, const char *name, bool dry, cbx_store_report *out,
                              cbx_err *err)
{
    const char *path = cbx_path_join(arena, folder, name);
    struct stat info;

    if (!path) return cbx_fail_nomem(err, "the rows of a store");
    if (lstat(path, &info)) return CBX_OK; /* removed since it was listed */
    cbx__store_changed(out, (uint64_t)info.st_size);
    return dry ? CBX_OK : cbx_file_remove(path, err);
}

cbx_status cbx__store_compact_case(cbx_arena *arena, const cbx__store_case *c, const cbx_store_keep *keep,
                                   cbx_store_report *out, size_t *removed, cbx_err *err)
{
    size_t runs = 0, old;
    cbx_status st = CBX_OK;

    for (size_t k = 0; k < c->n; k++) runs += cbx__store_is_rows(c->files[k]);
    out->files += runs;
    old = keep->newest && runs > keep->newest ? runs - keep->newest : 0;
    for (size_t k = 0; !st && k < c->n; k++) {
        const char *name = c->files[k];
        if (cbx__ends_with(name, ".tmp") || (cbx__store_is_raw(name) && !has_rows(c, name))) {
            st = remove_file(arena, c->path, name, keep->dry, out, err);
        } else if (cbx__store_is_rows(name) && old) {
            old--;
            if (keep->since_us && time_of(name) >= keep->since_us) continue;
            /* the rows first: raw launches without rows are removed by the next compaction */
            st = remove_file(arena, c->path, name, keep->dry, out, err);
            *removed += !st;
            for (size_t r = 0; !st && r < c->n; r++)
                if (cbx__store_is_raw(c->files[r]) && !strncmp(c->files[r], name, strlen(name) - 5))
                    st = remove_file(arena, c->path, c->files[r], keep->dry, out, err);
        }
    }
    return st;
}

cbx_status cbx__store_compact_rows(cbx_store *s, const cbx_store_keep *keep, cbx_store_report *out, cbx_err *err)
{
    cbx_arena *arena = &out->arena;
    cbx__store_case *cases = NULL;
    size_t n = 0, unused = 0;
    cbx_status st = cbx__store_cases(s, arena, &cases, &n, err);

    for (size_t i = 0; !st && i < n; i++) {
        const char *lock_path = cbx_path_join(arena, cases[i].path, ".lock");
        CBX_OWNED(cbx_lock) *lock = NULL;
        if (!lock_path) return cbx_fail_nomem(err, "the rows of a store");
        if (!keep->dry) st = cbx_lock_take(s->ctx, lock_path, s->lock_wait_ns, &lock, err);
        if (!st) st = cbx__store_compact_case(arena, &cases[i], keep, out, &unused, err);
    }
    return st;
}

/* --- copies --- */

static cbx_status copy_file(cbx_store *from, const char *path, const char *copy, cbx_store_report *out, cbx_err *err)
{
    CBX_SCOPED(cbx_text, bytes, cbx_ctx_allocator(from->ctx));
    CBX_SCOPED(cbx_text, there, cbx_ctx_allocator(from->ctx));
    cbx_status st = cbx__store_check_file(path, err);

    if (!st) st = cbx__file_text(from->ctx, path, 0, &bytes, err);
    if (!st && cbx_path_exists(copy)) {
        st = cbx__file_text(from->ctx, copy, 0, &there, err);
        if (!st && (there.len != bytes.len || memcmp(bytes.data, there.data, there.len) != 0))
            st = cbx_fail(err, CBX_EEXIST, "'%s' exists already, with other rows than '%s'", copy, path);
    } else if (!st) {
        st = cbx_file_write_atomic(from->ctx, copy, bytes.data, bytes.len, err);
    }
    if (!st) cbx__store_changed(out, bytes.len);
    return st;
}

/* Raw launches before their rows: a run is there once its rows are. */
cbx_status cbx__store_copy_rows(cbx_store *from, cbx_store *to, const cbx_store_query *query, cbx_store_report *out,
                                cbx_err *err)
{
    const cbx_store_query *q = query ? query : &cbx__any_run;
    cbx_arena *arena = &out->arena;
    cbx__store_case *cases = NULL;
    size_t n = 0;
    cbx_status st = CBX_OK;

    if (q->branch || q->commit || q->machine || q->point || q->scenario || q->metric || q->ntags || q->limit) return st;
    st = cbx__store_cases(from, arena, &cases, &n, err);
    for (size_t i = 0; !st && i < n; i++) {
        const char *folder = cbx_path_join(arena, to->root, cases[i].name);
        if (!folder) return cbx_fail_nomem(err, "the rows of a store");
        st = cbx_dir_create(to->ctx, folder, err);
        for (int rows = 0; rows < 2; rows++)
            for (size_t k = 0; !st && k < cases[i].n; k++) {
                const char *name = cases[i].files[k], *path = cbx_path_join(arena, cases[i].path, name);
                const char *copy = cbx_path_join(arena, folder, name);
                if (!path || !copy) return cbx_fail_nomem(err, "the rows of a store");
                if (!(rows ? cbx__store_is_rows(name) : cbx__store_is_raw(name))) continue;
                if ((q->since_us && time_of(name) < q->since_us) || (q->until_us && time_of(name) >= q->until_us))
                    continue;
                st = copy_file(from, path, copy, out, err);
                out->files += !st && rows;
            }
    }
    return st;
}
