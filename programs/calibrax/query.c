/*
 * calibrax query: matching points as JSON lines.
 */
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

typedef struct query_args {
    select_args select;
} query_args;

static const opt_spec query_options[] = {
    SELECT_STORE_ROWS(query_args),
    SELECT_RUN_ROWS(query_args),
    SELECT_POINT_ROWS(query_args),
    SELECT_LIMIT_ROW(query_args),
    SELECT_ROW(query_args, "json", OPT_FLAG, json, NULL, "as without it: the output is JSON lines"),
};

static int print_point(const opt_run *run, const cbx_run *r, const cbx_point *p)
{
    cbx_json *o = new_document("calibrax-point"), *head = cbx_json_new_object();

    set_run_head(head, r);
    cbx_json_set(o, "run", head);
    cbx_json_set_string(o, "name", p->name);
    cbx_json_set_string(o, "scenario", p->scenario);
    cbx_json_set(o, "tags", tags_json(p->tags, p->ntags));
    cbx_json_set(o, "metrics", metrics_json(p));
    return print_json_line(run->program, o);
}

static int print_points(const opt_run *run, const cbx_store_query *q, const cbx_run *r, size_t *found)
{
    for (size_t i = 0; i < cbx_run_npoints(r); i++) {
        const cbx_point *p = cbx_run_point(r, i);
        if (!select_point(q, p)) continue;
        if (print_point(run, r, p)) return EXIT_ERROR;
        (*found)++;
    }
    return EXIT_PASS;
}

static int query_points(const opt_run *run, cbx_store *store)
{
    const query_args *a = run->args;
    cbx_store_query query;
    cbx_store_list list;
    cbx_err err = CBX_ERR_INIT;
    size_t found = 0;
    int status = EXIT_PASS;

    if (select_query(run, &a->select, &query)) return EXIT_ERROR;
    if (cbx_store_query_runs(store, &query, &list, &err)) return opt_fail(run->program, "%s", err.message);
    select_warn(run, store);
    for (size_t i = 0; !status && i < list.count; i++) {
        cbx_run *r = NULL;
        status = select_run(run, store, list.entries[i].id, &r);
        if (!status) status = print_points(run, &query, r, &found);
        cbx_run_free(r);
    }
    cbx_store_list_clear(&list);
    if (!status && !found) status = opt_fail(run->program, "no point in '%s' is as asked for", cbx_store_root(store));
    return status;
}

static int run_query(const opt_run *run)
{
    const query_args *a = run->args;
    cbx_store *store = NULL;
    int status = select_open(run, &a->select, false, &store);

    if (!status) status = query_points(run, store);
    cbx_store_close(store);
    return status;
}

const opt_command query_command = {
    "query",
    "--data DIR [FILTER]...",
    "print matching points as JSON lines",
    "Prints each point that has all that the filters ask for, with its run, as one line of JSON (schema "
    "calibrax-point); newest run first. Exit status 2 when there is none.",
    query_options,
    CBX_LEN(query_options),
    sizeof(query_args),
    NULL,
    0,
    run_query,
};
