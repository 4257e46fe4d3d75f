/*
 * calibrax store verify, compact, migrate, export: care of the runs and rows of a store.
 */
#include <string.h>

#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

typedef struct store_args {
    select_args select;
    size_t keep;
    bool dry;
    const char *to;
} store_args;

#define AT(member) offsetof(store_args, member)
#define DRY_ROW    OPT_SWITCH("dry-run", 'n', dry, "report what would be done without doing it")

static const opt_spec verify_options[] = { SELECT_STORE_ROWS, SELECT_JSON_ROW };
static const opt_spec compact_options[] = {
    SELECT_STORE_ROWS,
    OPT("keep", 0, COUNT, keep, "N", "0: all",
        "number of runs to keep for each branch and machine, and for each case of rows"),
    OPT("since", 0, STRING, select.since, "TIME", NULL, "keep all runs from this date or time on"),
    DRY_ROW,
    SELECT_JSON_ROW,
};
static const opt_spec migrate_options[] = { SELECT_STORE_ROWS, DRY_ROW, SELECT_JSON_ROW };
static const opt_spec export_options[] = {
    SELECT_STORE_ROWS, OPT("to", 0, STRING, to, "DIR", NULL, "destination store, created if missing"),
    SELECT_RUN_ROWS,   SELECT_POINT_ROWS,
    SELECT_LIMIT_ROW,  SELECT_JSON_ROW,
};

static const opt_rule export_rules[] = { { "", OPT_NEEDS, "to" } };

/* done: "removed", ...; NULL for a command that changes nothing. */
static int show_report(const opt_run *run, const char *action, const char *done, const cbx_store_report *r)
{
    const store_args *a = run->args;

    if (a->select.json) {
        cbx_json *o = cbx_json_document("calibrax-store", J_TEXT("action", action), J_INT("files", r->files),
                                        J_INT("changed", r->changed), J_INT("bytes", r->bytes));
        cbx_json *list = cbx_json_set_array(o, "problems");
        for (size_t i = 0; i < r->nproblems; i++)
            cbx_json_put(cbx_json_push_object(list), J_TEXT("file", r->problems[i].file),
                         J_TEXT("message", r->problems[i].message));
        if (print_json(run, o)) return EXIT_ERROR;
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

static int run_store(const opt_run *run)
{
    const store_args *a = run->args;
    const char *action = run->command->name + strlen("store "), *done = NULL;
    SCOPED(cbx_store) *store = NULL;
    cbx_store_query query;
    CLEARED(cbx_store_report) r = { 0 };
    cbx_status st;
    int status = select_query(run, &a->select, &query);

    if (!status) status = select_open(run, &a->select, false, &store);
    if (status) return status;
    if (!strcmp(action, "verify")) {
        st = cbx_store_verify(store, &r, run->err);
    } else if (!strcmp(action, "compact")) {
        const cbx_store_keep keep = { a->keep, query.since_us, a->dry };
        done = "removed";
        st = cbx_store_compact(store, &keep, &r, run->err);
    } else if (!strcmp(action, "migrate")) {
        done = "rewritten";
        st = cbx_store_migrate(store, a->dry, &r, run->err);
    } else {
        done = "copied";
        st = cbx_store_export(store, &query, a->to, &r, run->err);
    }
    if (st) return opt_check(run, st);
    if (a->to && !r.files) return opt_fail(run, "no run in '%s' matches", cbx_store_root(store));
    return show_report(run, action, done, &r);
}

#define STORE_COMMAND(word, ...)                                                                                       \
    const opt_command store_##word##_command = { .name = "store " #word,                                               \
                                                 .options = word##_options,                                            \
                                                 .noptions = CBX_LEN(word##_options),                                  \
                                                 .args_size = sizeof(store_args),                                      \
                                                 .run = run_store,                                                     \
                                                 __VA_ARGS__ }

STORE_COMMAND(verify, .synopsis = "[--data DIR]", .summary = "check every file of a store",
              .description = "Reads every file and checks JSON, schema, file name against id, content against the hash "
                             "in the index, leftover temporary files, baselines, rows of nperf and their raw launches. "
                             "Exit status 1: a file has a problem.");
STORE_COMMAND(
    compact, .synopsis = "[--data DIR] [--keep N] [--since TIME] [--dry-run]",
    .summary = "remove old runs and leftovers",
    .description =
        "Removes the runs beyond the newest N of each branch and machine, rows of nperf beyond the newest N runs of "
        "each case, leftover temporary files and unused space of the index; never a run that a baseline copies.");
STORE_COMMAND(migrate, .synopsis = "[--data DIR] [--dry-run]", .summary = "rewrite runs of older schemas",
              .description = "Rewrites runs of older schemas in the current one; ids and times do not change.");
STORE_COMMAND(export, .synopsis = "[--data DIR] --to DIR [FILTER]...",
              .summary = "copy runs and rows into another store",
              .description = "Copies the runs that match all filters into another store, and the rows of nperf unless "
                             "there are filters other than times.",
              OPT_RULES(export));
