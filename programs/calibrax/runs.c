/*
 * calibrax runs: what a store holds, newest first.
 */
#include "calibrax/base/clock.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

typedef struct runs_args {
    select_args select;
} runs_args;

static const opt_spec runs_options[] = {
    SELECT_STORE_ROWS(runs_args), SELECT_RUN_ROWS(runs_args), SELECT_POINT_ROWS(runs_args),
    SELECT_LIMIT_ROW(runs_args),  SELECT_JSON_ROW(runs_args),
};

static int show_json(const opt_run *run, const cbx_store_list *list)
{
    cbx_json *o = new_document("calibrax-runs"), *all = cbx_json_new_array();
    char time[CBX_TIME_SIZE];

    for (size_t i = 0; i < list->count; i++) {
        const cbx_store_entry *e = &list->entries[i];
        cbx_json *r = cbx_json_new_object();
        cbx_json_set_string(r, "id", e->id);
        cbx_json_set_string(r, "timestamp", cbx_time_format_iso(e->timestamp_us, time));
        cbx_json_set_string(r, "commit", e->commit);
        cbx_json_set_string(r, "branch", e->branch);
        cbx_json_set_string(r, "machine", e->machine);
        cbx_json_set_int(r, "points", (int64_t)e->npoints);
        cbx_json_set_int(r, "bytes", (int64_t)e->bytes);
        cbx_json_push(all, r);
    }
    cbx_json_set(o, "runs", all);
    return print_json(run->program, o);
}

static const char *word(const opt_run *run, const char *s) { return s ? plain_text(run->arena, s) : "-"; }

/* @param strong  what begins and ends the paint of an id */
static void put_row(const opt_run *run, const cbx_store_entry *e, const char *const strong[2], cbx_text *out)
{
    char time[CBX_TIME_SIZE];

    cbx_text_puts(out, strong[0]);
    put_column(out, e->id, 14, SIZE_MAX);
    cbx_text_puts(out, strong[1]);
    put_column(out, format_time(e->timestamp_us, time), 32, SIZE_MAX);
    put_column(out, word(run, e->commit), 8, 8);
    put_column(out, word(run, e->branch), 16, SIZE_MAX);
    put_column(out, word(run, e->machine), 16, SIZE_MAX);
    cbx_text_printf(out, "%6zu\n", e->npoints);
}

static void show_table(const opt_run *run, const cbx_store_list *list)
{
    const char *const strong[] = { paint_begin(PAINT_STRONG), paint_end(PAINT_STRONG) };
    cbx_text out;

    cbx_text_init(&out, cbx_ctx_allocator(run->ctx));
    print_painted(PAINT_FAINT, "%-14s %-32s %-8s %-16s %-16s %6s\n", "Run", "Timestamp", "Commit", "Branch", "Machine",
                  "Points");
    for (size_t i = 0; i < list->count && !out.status; i++) {
        put_row(run, &list->entries[i], strong, &out);
        if (out.len >= LIST_PIECE) pour_list(&out);
    }
    if (out.status) opt_fail(run->program, "out of memory");
    pour_list(&out);
    cbx_text_clear(&out);
}

static int list_runs(const opt_run *run, cbx_store *store)
{
    const runs_args *a = run->args;
    cbx_store_query query;
    cbx_store_list list;
    cbx_err err = CBX_ERR_INIT;
    int status = EXIT_PASS;

    if (select_query(run, &a->select, &query)) return EXIT_ERROR;
    if (cbx_store_query_runs(store, &query, &list, &err)) return opt_fail(run->program, "%s", err.message);
    select_warn(run, store);
    if (a->select.json)
        status = show_json(run, &list);
    else if (list.count)
        show_table(run, &list);
    if (!status && !list.count)
        status = opt_fail(run->program, "no run in '%s' is as asked for", cbx_store_root(store));
    cbx_store_list_clear(&list);
    return status;
}

static int run_runs(const opt_run *run)
{
    const runs_args *a = run->args;
    cbx_store *store = NULL;
    int status = select_open(run, &a->select, false, &store);

    if (!status) status = list_runs(run, store);
    cbx_store_close(store);
    return status;
}

const opt_command runs_command = {
    "runs",
    "--data DIR [FILTER]...",
    "list runs, newest first",
    "Lists the runs that have all that the filters ask for, newest first. Exit status 2 when there is none.",
    runs_options,
    CBX_LEN(runs_options),
    sizeof(runs_args),
    NULL,
    0,
    run_runs,
};
