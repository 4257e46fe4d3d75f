/*
 * calibrax store verify, compact, migrate, export: care of the runs and rows of a store.
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
        "dry-run", 'n', OPT_FLAG, offsetof(store_args, dry), NULL, NULL, "report what would be done, and do nothing"   \
    }

static const opt_spec verify_options[] = { SELECT_STORE_ROWS(store_args), SELECT_JSON_ROW(store_args) };
static const opt_spec compact_options[] = {
    SELECT_STORE_ROWS(store_args),
    { "keep", 0, OPT_COUNT, offsetof(store_args, keep), "N", "0: all",
      "runs kept of each branch and machine, and of each case of rows" },
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

/* done: "removed", ...; NULL for a command that changes nothing. */
static int show_report(const opt_run *run, const char *done, const cbx_store_report *r)
{
    static const char prefix[] = "store ";
    const store_args *a = run->args;

    if (a->select.json) {
        cbx_json *o = new_document("calibrax-store"), *list = cbx_json_new_array();
        int status;
        for (size_t i = 0; i < r->nproblems; i++) {
            cbx_json *item = cbx_json_new_object();
            json_put(item, J_TEXT("file", r->problems[i].file), J_TEXT("message", r->problems[i].message));
            cbx_json_push(list, item);
        }
        json_put(o, J_TEXT("action", run->command->name + sizeof prefix - 1), J_INT("files", r->files),
                 J_INT("changed", r->changed), J_INT("bytes", r->bytes));
        cbx_json_set(o, "problems", list);
        status = print_json(run->program, o);
        if (status) return status;
    } else {
        for (size_t i = 0; i < r->nproblems; i++) printf("%s: %s\n", r->problems[i].file, r->problems[i].message);
        printf("%zu file%s, ", r->files, r->files == 1 ? "" : "s");
        print_painted(r->nproblems ? PAINT_BAD : PAINT_GOOD, "%zu problem%s", r->nproblems,
                      r->nproblems == 1 ? "" : "s");
        if (done)
            printf(", %zu %s%s (%llu bytes)", r->changed, a->dry ? "to be " : "", done, (unsigned long long)r->bytes);
        putchar('\n');
    }
    return r->nproblems ? EXIT_CHECK : EXIT_PASS;
}

static cbx_status verify(const store_args *a, cbx_store *s, const cbx_store_query *q, cbx_store_report *r, cbx_err *err)
{
    (void)a;
    (void)q;
    return cbx_store_verify(s, r, err);
}

static cbx_status compact(const store_args *a, cbx_store *s, const cbx_store_query *q, cbx_store_report *r,
                          cbx_err *err)
{
    const cbx_store_keep keep = { a->keep, q->since_us, a->dry };

    return cbx_store_compact(s, &keep, r, err);
}

static cbx_status migrate(const store_args *a, cbx_store *s, const cbx_store_query *q, cbx_store_report *r,
                          cbx_err *err)
{
    (void)q;
    return cbx_store_migrate(s, a->dry, r, err);
}

static cbx_status export(const store_args *a, cbx_store *s, const cbx_store_query *q, cbx_store_report *r, cbx_err *err)
{
    cbx_status st = cbx_store_export(s, q, a->to, r, err);

    if (st || r->files) return st;
    cbx_store_report_clear(r);
    return cbx_fail(err, CBX_ENOENT, "no run in '%s' matches", cbx_store_root(s));
}

static int care(const opt_run *run, const char *done,
                cbx_status (*act)(const store_args *, cbx_store *, const cbx_store_query *, cbx_store_report *,
                                  cbx_err *))
{
    const store_args *a = run->args;
    cbx_store *store = NULL;
    cbx_store_query query;
    cbx_store_report report;
    int status = select_query(run, &a->select, &query);

    if (!status) status = select_open(run, &a->select, false, &store);
    if (status) return status;
    if (act(a, store, &query, &report, run->err)) {
        status = opt_fail(run->program, "%s", run->err->message);
    } else {
        status = show_report(run, done, &report);
        cbx_store_report_clear(&report);
    }
    cbx_store_close(store);
    return status;
}

static int run_verify(const opt_run *run) { return care(run, NULL, verify); }
static int run_compact(const opt_run *run) { return care(run, "removed", compact); }
static int run_migrate(const opt_run *run) { return care(run, "rewritten", migrate); }
static int run_export(const opt_run *run)
{
    if (!((const store_args *)run->args)->to)
        return opt_fail(run->program, "--to is missing: name the folder of the store to copy to");
    return care(run, "copied", export);
}

#define STORE_COMMAND(word, synopsis, summary, description)                                                            \
    const opt_command store_##word##_command = {                                                                       \
        "store " #word,          synopsis,           summary, description, word##_options,                             \
        CBX_LEN(word##_options), sizeof(store_args), NULL,    0,           run_##word,                                 \
    }

STORE_COMMAND(verify, "[--data DIR]", "check every file of a store",
              "Reads every file again: JSON, schema, file name against id, content against the hash in the index, "
              "leftover temporary files, baselines, rows of nperf and their raw launches. Exit status 1 when something "
              "is wrong with a file.");
STORE_COMMAND(compact, "[--data DIR] [--keep N] [--since TIME] [--dry-run]", "remove old runs and leftovers",
              "Removes the runs beyond the newest N of each branch and machine, rows of nperf beyond the newest N runs "
              "of each case, leftover temporary files and slack of the index; never a run that a baseline copies.");
STORE_COMMAND(migrate, "[--data DIR] [--dry-run]", "rewrite runs of older schemas",
              "Rewrites runs of older schemas in the present one; ids and times stay.");
STORE_COMMAND(export, "[--data DIR] --to DIR [FILTER]...", "copy runs and rows into another store",
              "Copies the runs that match all filters into another store, and the rows of nperf unless a filter asks "
              "for more than a time.");
