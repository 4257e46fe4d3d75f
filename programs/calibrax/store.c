/*
 * calibrax store verify, compact, migrate, export: care for a store.
 */
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

typedef struct store_args {
    select_args select;
    size_t keep;
    bool dry;
    const char *to;
} store_args;

#define DRY_ROW                                                                                                        \
    {                                                                                                                  \
        "dry-run", 'n', OPT_FLAG, offsetof(store_args, dry), NULL, NULL, "say what would be done, and do nothing"      \
    }

static const opt_spec verify_options[] = { SELECT_STORE_ROWS(store_args), SELECT_JSON_ROW(store_args) };
static const opt_spec compact_options[] = {
    SELECT_STORE_ROWS(store_args),
    { "keep", 0, OPT_COUNT, offsetof(store_args, keep), "N", "0: all", "runs kept of each branch and machine" },
    SELECT_ROW(store_args, "since", OPT_STRING, since, "TIME", "keep runs from this date or time on in any case"),
    DRY_ROW,
    SELECT_JSON_ROW(store_args),
};
static const opt_spec migrate_options[] = { SELECT_STORE_ROWS(store_args), DRY_ROW, SELECT_JSON_ROW(store_args) };
static const opt_spec export_options[] = {
    SELECT_STORE_ROWS(store_args),
    { "to", 0, OPT_STRING, offsetof(store_args, to), "DIR", NULL, "the store to copy to; made if missing" },
    SELECT_RUN_ROWS(store_args),
    SELECT_POINT_ROWS(store_args),
    SELECT_LIMIT_ROW(store_args),
    SELECT_JSON_ROW(store_args),
};

/* --- what care came to --- */

static int show_json(const opt_run *run, const char *action, const cbx_store_report *r)
{
    cbx_json *o = new_document("calibrax-store"), *list = cbx_json_new_array();

    for (size_t i = 0; i < r->nproblems; i++) {
        cbx_json *item = cbx_json_new_object();
        cbx_json_set_string(item, "file", r->problems[i].file);
        cbx_json_set_string(item, "message", r->problems[i].message);
        cbx_json_push(list, item);
    }
    cbx_json_set_string(o, "action", action);
    cbx_json_set_int(o, "files", (int64_t)r->files);
    cbx_json_set_int(o, "changed", (int64_t)r->changed);
    cbx_json_set_int(o, "bytes", (int64_t)r->bytes);
    cbx_json_set(o, "problems", list);
    return print_json(run->program, o);
}

/* done: "removed", ...; NULL for what changes nothing. */
static int show_report(const opt_run *run, const char *action, const char *done, const cbx_store_report *r)
{
    const store_args *a = run->args;
    int status = EXIT_PASS;

    if (a->select.json) {
        status = show_json(run, action, r);
    } else {
        for (size_t i = 0; i < r->nproblems; i++) printf("%s: %s\n", r->problems[i].file, r->problems[i].message);
        printf("%zu files, ", r->files);
        print_painted(r->nproblems ? PAINT_BAD : PAINT_GOOD, "%zu problems", r->nproblems);
        if (done)
            printf(", %zu %s%s (%llu bytes)", r->changed, a->dry ? "to be " : "", done, (unsigned long long)r->bytes);
        putchar('\n');
    }
    return status ? status : r->nproblems ? EXIT_CHECK : EXIT_PASS;
}

static int finish(const opt_run *run, cbx_store *store, cbx_status st, const cbx_err *err, const char *done,
                  cbx_store_report *report)
{
    static const char prefix[] = "store ";
    int status;

    if (st) {
        status = opt_fail(run->program, "%s", err->message);
    } else {
        status = show_report(run, run->command->name + sizeof(prefix) - 1, done, report);
        cbx_store_report_clear(report);
    }
    cbx_store_close(store);
    return status;
}

/* --- the commands --- */

static int run_verify(const opt_run *run)
{
    const store_args *a = run->args;
    cbx_store *store = NULL;
    cbx_store_report report;
    cbx_err err = CBX_ERR_INIT;

    if (select_open(run, &a->select, false, &store)) return EXIT_ERROR;
    return finish(run, store, cbx_store_verify(store, &report, &err), &err, NULL, &report);
}

static int run_compact(const opt_run *run)
{
    const store_args *a = run->args;
    cbx_store_keep keep = { a->keep, 0, a->dry };
    cbx_store *store = NULL;
    cbx_store_query query;
    cbx_store_report report;
    cbx_err err = CBX_ERR_INIT;

    if (select_query(run, &a->select, &query)) return EXIT_ERROR;
    keep.since_us = query.since_us;
    if (select_open(run, &a->select, false, &store)) return EXIT_ERROR;
    return finish(run, store, cbx_store_compact(store, &keep, &report, &err), &err, "removed", &report);
}

static int run_migrate(const opt_run *run)
{
    const store_args *a = run->args;
    cbx_store *store = NULL;
    cbx_store_report report;
    cbx_err err = CBX_ERR_INIT;

    if (select_open(run, &a->select, false, &store)) return EXIT_ERROR;
    return finish(run, store, cbx_store_migrate(store, a->dry, &report, &err), &err, "rewritten", &report);
}

static int run_export(const opt_run *run)
{
    const store_args *a = run->args;
    cbx_store *store = NULL;
    cbx_store_query query;
    cbx_store_report report;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;
    const char *root;
    bool none;
    int status;

    if (!a->to) return opt_fail(run->program, "--to is missing: name the folder of the store to copy to");
    if (select_query(run, &a->select, &query)) return EXIT_ERROR;
    if (select_open(run, &a->select, false, &store)) return EXIT_ERROR;
    st = cbx_store_export(store, &query, a->to, &report, &err);
    none = !st && !report.files;
    root = cbx_arena_strdup(run->arena, cbx_store_root(store));
    status = finish(run, store, st, &err, "copied", &report);
    return status || !none ? status
                           : opt_fail(run->program, "no run in '%s' is as asked for", root ? root : "the store");
}

#define STORE_COMMAND(word, synopsis, summary, description)                                                            \
    const opt_command store_##word##_command = {                                                                       \
        "store " #word,          synopsis,           summary, description, word##_options,                             \
        CBX_LEN(word##_options), sizeof(store_args), NULL,    0,           run_##word,                                 \
    }

STORE_COMMAND(verify, "--data DIR", "read every file of a store anew",
              "Reads every file: JSON, schema, file name against id, content against the hash in the index, leftover "
              "temporaries, baselines. Exit status 1 when something is wrong with one.");
STORE_COMMAND(compact, "--data DIR [--keep N] [--since TIME] [--dry-run]", "remove old runs and leftovers",
              "Removes the runs beyond the newest N of each branch and machine, leftover temporaries and slack of the "
              "index; never a run that a baseline copies.");
STORE_COMMAND(migrate, "--data DIR [--dry-run]", "rewrite runs of older schemas",
              "Rewrites runs of older schemas in the present one; ids and times stay.");
STORE_COMMAND(export, "--data DIR --to DIR [FILTER]...", "copy runs into another store",
              "Copies the runs that have all that the filters ask for into another store.");
