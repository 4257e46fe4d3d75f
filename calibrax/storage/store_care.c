/* Care of a store: what cannot be read, verification, compaction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "calibrax/storage/store_internal.h"

/* --- reports --- */

static void report_init(cbx_store *s, cbx_store_report *out)
{
    *out = (cbx_store_report){ 0 };
    cbx_arena_init(&out->arena, cbx_ctx_allocator(s->ctx));
}

void cbx_store_report_clear(cbx_store_report *report)
{
    if (report->arena.al.resize) cbx_arena_clear(&report->arena);
    *report = (cbx_store_report){ 0 };
}

cbx_status cbx__store_found(cbx__store_findings *f, const char *file, const char *message, cbx_err *err)
{
    cbx_arena *arena = &f->out->arena;
    const cbx_store_problem p = { cbx_arena_strdup(arena, file), cbx_arena_strdup(arena, message) };

    if (!p.file || !p.message || !cbx_list_push(CBX_IN_ARENA(arena), &f->problems, p))
        return cbx_fail_nomem(err, "the store");
    f->out->problems = f->problems.items;
    f->out->nproblems = f->problems.n;
    return CBX_OK;
}

cbx_status cbx_store_problems(cbx_store *s, cbx_store_report *out, cbx_err *err)
{
    static const char torn[] = "SELECT 'runs/' || name, problem FROM run WHERE problem IS NOT NULL ORDER BY name";
    cbx__store_findings f = { .out = out };
    cbx_status st;

    report_init(s, out);
    st = cbx__store_last_look(s, err);
    if (st) return st;
    cbx__select q = cbx__select_of(s->index, torn);
    while (!st && cbx__select_next(&q))
        st = cbx__store_found(&f, cbx__select_text(&q, 0), cbx__select_text(&q, 1), err);
    return cbx__select_end(&q, st, err);
}

/* --- verification --- */

const char cbx__store_leftover[] = "a temporary file of a process that was killed; 'calibrax store compact' removes it";

typedef struct verifier {
    cbx__store_findings f;
    cbx_store *store;
} verifier;

static cbx_status verify_file(void *user, const cbx__scan_file *file, cbx_err *err)
{
    verifier *v = user;
    char name[512], hash[CBX_HASH_SIZE];
    cbx_status st;

    if (!file->whole) return CBX_OK;
    st = cbx__index_text(v->store->index, "SELECT hash FROM run WHERE name = ?", file->name, hash, err);
    v->f.out->files++;
    snprintf(name, sizeof name, "runs/%s", file->name);
    if (!st && file->problem) return cbx__store_found(&v->f, name, file->problem, err);
    if (!st && file->hash && hash[0] && strcmp(hash, file->hash) != 0)
        return cbx__store_found(&v->f, name,
                                "its bytes changed while its size and times did not: the disk, or someone who set "
                                "the clock back",
                                err);
    return st;
}

static cbx_status verify_runs(verifier *v, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(v->store->ctx));
    cbx__scan scan;
    cbx_status st;

    if (!cbx_path_exists(v->store->runs)) return CBX_OK; /* a store of rows alone */
    st = cbx__scan_folder(v->store->ctx, v->store->runs, &arena, &scan, err);
    return st ? st : cbx__scan_read(&scan, verify_file, v, err);
}

static cbx_status verify_baselines(verifier *v, cbx_err *err)
{
    cbx_store_report *out = v->f.out;
    const char *const *names = NULL;
    size_t n = 0;
    cbx_status st = cbx_store_baselines(v->store, &out->arena, &names, &n, err);

    for (size_t i = 0; !st && i < n; i++) {
        cbx_err why = CBX_ERR_INIT;
        CBX_OWNED(cbx_run) *run = NULL;
        const char *file = cbx_arena_printf(&out->arena, "baselines/%s.json", names[i]);
        cbx_status read = cbx_store_baseline_get(v->store, names[i], &run, &why);
        out->files++;
        if (!file || read == CBX_ENOMEM)
            st = cbx_fail_nomem(err, "the store");
        else if (read)
            st = cbx__store_found(&v->f, file, why.message, err);
    }
    return st;
}

static cbx_status verify_config(verifier *v, cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT;
    CBX_OWNED(cbx_run) *run = NULL;
    cbx_status st;

    if (!cbx_path_exists(v->store->config)) return CBX_OK;
    v->f.out->files++;
    st = cbx_run_defs_read(v->store->ctx, v->store->config, &run, &why);
    if (st == CBX_ENOMEM) return cbx_fail_nomem(err, "the store");
    return st ? cbx__store_found(&v->f, "config.json", why.message, err) : CBX_OK;
}

/* What a killed writer left, which no reader looks at: found, or removed where there are no
 * findings. */
static cbx_status each_leftover(cbx_store *s, const char *folder, cbx__store_findings *found, bool dry,
                                cbx_store_report *out, cbx_err *err)
{
    const char *const *names = NULL;
    size_t n = 0;
    cbx_status st = CBX_OK;

    if (cbx_path_exists(folder)) st = cbx_dir_list(s->ctx, folder, ".tmp", &out->arena, &names, &n, err);
    for (size_t i = 0; !st && i < n; i++) {
        const char *path = cbx_path_join(&out->arena, found ? cbx_path_base(folder) : folder, names[i]);
        struct stat info;
        if (!path) return cbx_fail_nomem(err, "the store");
        if (found) {
            st = cbx__store_found(found, path, cbx__store_leftover, err);
            continue;
        }
        cbx__store_changed(out, stat(path, &info) == 0 ? (uint64_t)info.st_size : 0);
        if (!dry) st = cbx_file_remove(path, err);
    }
    return st;
}

static int by_file(const void *a, const void *b)
{
    return strcmp(((const cbx_store_problem *)a)->file, ((const cbx_store_problem *)b)->file);
}

cbx_status cbx_store_verify(cbx_store *s, cbx_store_report *out, cbx_err *err)
{
    verifier v = { .f.out = out, .store = s };
    cbx_status st;

    report_init(s, out);
    st = cbx__store_index(s, err);
    if (!st) st = verify_runs(&v, err);
    if (!st) st = verify_baselines(&v, err);
    if (!st) st = verify_config(&v, err);
    if (!st) st = each_leftover(s, s->runs, &v.f, false, out, err);
    if (!st) st = each_leftover(s, s->baselines, &v.f, false, out, err);
    if (!st) st = cbx__store_verify_rows(s, &v.f, err);
    if (!st && out->nproblems) qsort(v.f.problems.items, out->nproblems, sizeof *v.f.problems.items, by_file);
    return st;
}

/* --- compaction --- */

void cbx__store_changed(cbx_store_report *out, uint64_t bytes)
{
    out->changed++;
    out->bytes += bytes;
}

static bool same_text(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

/* Runs of one branch and machine, counted from the newest. */
typedef struct group {
    const char *branch, *machine;
    size_t n;
} group;

static cbx_status remove_old(cbx_store *s, const cbx_store_keep *keep, cbx_store_report *out, cbx_err *err)
{
    cbx_store_list list;
    const char *const *names = NULL;
    const char **ids = NULL;
    size_t nids = 0, nnames = 0, ngroups = 0;
    group *groups = NULL;
    cbx_status st = cbx_store_query_runs(s, NULL, &list, err);

    if (!st) st = cbx_store_baselines(s, &out->arena, &names, &nnames, err);
    if (!st && !(ids = cbx_arena_calloc(&out->arena, nnames, sizeof *ids))) st = cbx_fail_nomem(err, "the store");
    for (; !st && nids < nnames; nids++) { /* the runs that baselines copy */
        CBX_OWNED(cbx_run) *run = NULL;
        st = cbx_store_baseline_get(s, names[nids], &run, err);
        if (!st && !(ids[nids] = cbx_arena_strdup(&out->arena, cbx_run_id(run)))) st = cbx_fail_nomem(err, "the store");
    }
    if (!st && !(groups = cbx_arena_calloc(&list.arena, list.count, sizeof *groups)))
        st = cbx_fail_nomem(err, "the store");
    for (size_t i = 0; !st && keep->newest && i < list.count; i++) {
        const cbx_store_entry *e = &list.entries[i];
        size_t g = 0;
        while (g < ngroups && !(same_text(groups[g].branch, e->branch) && same_text(groups[g].machine, e->machine)))
            g++;
        if (g == ngroups) groups[ngroups++] = (group){ e->branch, e->machine, 0 };
        if (++groups[g].n <= keep->newest || cbx__word_at(ids, nids, e->id) < nids) continue;
        if (keep->since_us && e->timestamp_us >= keep->since_us) continue;
        cbx__store_changed(out, e->bytes);
        if (!keep->dry) st = cbx_store_remove(s, e->id, err);
    }
    out->files = list.count;
    cbx_store_list_clear(&list);
    return st;
}

/* A temporary is being written as long as its writer has the lock. */
cbx_status cbx_store_compact(cbx_store *s, const cbx_store_keep *keep, cbx_store_report *out, cbx_err *err)
{
    static const cbx_store_keep all = { 0 };
    const cbx_store_keep *k = keep ? keep : &all;
    cbx_lock *lock = NULL;
    cbx_status st;

    report_init(s, out);
    st = remove_old(s, k, out, err);
    if (!st) st = cbx__store_lock(s, &lock, err);
    if (!st) st = each_leftover(s, s->runs, NULL, k->dry, out, err);
    if (!st) st = each_leftover(s, s->baselines, NULL, k->dry, out, err);
    cbx_lock_release(lock);
    if (!st) st = cbx__store_compact_rows(s, k, out, err);
    if (!st && !k->dry) st = cbx__store_index(s, err);
    if (!st && !k->dry) st = cbx__index_vacuum(s->index, err);
    return st;
}
