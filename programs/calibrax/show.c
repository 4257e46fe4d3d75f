/*
 * calibrax show: all of a run, or some of its points; the runs of a store (--list); matching points
 * of all runs (--points).
 */
#include <math.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

typedef struct show_args {
    select_args select;
    const char *run;
    bool list, points;
} show_args;

#define AT(member) offsetof(show_args, member)

static const opt_spec show_options[] = {
    SELECT_STORE_ROWS,
    SELECT_ONE_ROW,
    SELECT_POINT_ROWS,
    SELECT_JSON_ROW,
    OPT_SWITCH("list", 'l', list, "list the runs of the store, newest first"),
    OPT_SWITCH("points", 0, points, "print the points of all runs as JSON lines, newest run first"),
    OPT_HEADING("Runs to list, and runs of points", "list points"),
    SELECT_RUN_ROWS,
    SELECT_LIMIT_ROW,
};
static const opt_rule show_rules[] = {
    { "list", OPT_EXCLUDES, "points run @" },
    { "points", OPT_EXCLUDES, "run @" },
    { "run", OPT_EXCLUDES, "@" },
};

/* --- one run --- */

static void print_point(const opt_run *run, const cbx_run *r, const cbx_point *p)
{
    const char *tags = format_tags(run->arena, p->tags, p->ntags, NULL);

    printf("\nPoint: ");
    print_painted(PAINT_STRONG, "%s\n", plain_text(run->arena, p->name));
    printf("  Scenario: %s\n", plain_text(run->arena, p->scenario));
    if (*tags) printf("  Tags: %s\n", tags);
    for (size_t i = 0; i < p->nmetrics; i++) {
        const cbx_metric *m = &p->metrics[i].metric;
        const cbx_metric_def *def = cbx_run_find_metric_def(r, p->metrics[i].name);
        printf("    %-24s %.6g", plain_text(run->arena, p->metrics[i].name), m->value);
        if (def && *def->unit) print_painted(PAINT_FAINT, " %s", plain_text(run->arena, def->unit));
        if (!isnan(m->lower) || !isnan(m->upper)) printf(" [%.6g, %.6g]", m->lower, m->upper);
        if (m->samples) printf(", %zu sample%s", m->nsamples, m->nsamples == 1 ? "" : "s");
        if (def && def->direction == CBX_DIRECTION_INFO) print_painted(PAINT_FAINT, ", for information");
        if (def && def->direction != CBX_DIRECTION_INFO)
            print_painted(PAINT_FAINT, ", %s is better", cbx_direction_name(def->direction));
        putchar('\n');
    }
}

/* The run file, with the matching points only: other programs read it, so numbers that are not
 * finite are bare tokens. */
static int print_run_file(const opt_run *run, const cbx_run *r, const cbx_store_query *q)
{
    cbx_json *head = cbx_run_head_to_json(r), *value;
    const char *key;
    json_stream out;

    json_stream_open(&out, CBX_JSON_INDENT2 | CBX_JSON_ASCII | CBX_JSON_NO_CONTROL);
    out.failed = !head;
    for (size_t i = 0; cbx_json_member(head, i, &key, &value); i++) {
        if (strcmp(key, "points") != 0) {
            cbx_json_writer_add(&out.writer, key, value);
            continue;
        }
        cbx_json_writer_begin(&out.writer, key, '[');
        for (size_t k = 0; k < cbx_run_npoints(r); k++)
            if (select_point(q, cbx_run_point(r, k))) json_stream_add(&out, cbx_run_point_to_json(r, k));
        cbx_json_writer_end(&out.writer);
    }
    cbx_json_unref(head);
    return json_stream_close(&out, run);
}

static int show_one(const opt_run *run, cbx_store *store, const cbx_store_query *q, const char *name)
{
    const show_args *a = run->args;
    SCOPED(cbx_run) *r = NULL;
    size_t found = 0;
    int status = select_defined_run(run, store, name, false, a->select.json, &r);

    for (size_t i = 0; !status && i < cbx_run_npoints(r); i++) found += select_point(q, cbx_run_point(r, i));
    if (!status && !found && (q->point || q->scenario || q->metric || q->ntags)) {
        status = opt_fail(run, "no point of run '%s' matches", cbx_run_id(r));
    } else if (!status && a->select.json) {
        status = print_run_file(run, r, q);
    } else if (!status) {
        print_run_head(run, r);
        for (size_t i = 0; i < cbx_run_npoints(r); i++)
            if (select_point(q, cbx_run_point(r, i))) print_point(run, r, cbx_run_point(r, i));
    }
    return status;
}

/* --- many runs --- */

static int print_list_json(const opt_run *run, const cbx_store_list *list)
{
    cbx_json *o = cbx_json_new_document("calibrax-runs"), *all = cbx_json_set_array(o, "runs");
    char time[CBX_TIME_SIZE];

    for (size_t i = 0; i < list->count; i++) {
        const cbx_store_entry *e = &list->entries[i];
        cbx_json_put(cbx_json_push_object(all), J_TEXT("id", e->id),
                     J_TEXT("timestamp", cbx_time_format_iso(e->timestamp_us, time)), J_TEXT("commit", e->commit),
                     J_TEXT("branch", e->branch), J_TEXT("machine", e->machine), J_INT("points", e->npoints),
                     J_INT("bytes", e->bytes));
    }
    return print_json(run, o);
}

static void print_list(const opt_run *run, const cbx_store_list *list)
{
    const char *begin = paint_begin(PAINT_STRONG), *end = paint_end(PAINT_STRONG);
    char time[CBX_TIME_SIZE];

    print_painted(PAINT_FAINT, "%-14s %-32s %-8s %-16s %-16s %6s\n", "Run", "Timestamp", "Commit", "Branch", "Machine",
                  "Points");
    for (size_t i = 0; i < list->count; i++) {
        const cbx_store_entry *e = &list->entries[i];
        printf("%s%-14s%s %-32s %-8.8s %-16s %-16s %6zu\n", begin, e->id, end, format_time(e->timestamp_us, time),
               e->commit ? plain_text(run->arena, e->commit) : "-", e->branch ? plain_text(run->arena, e->branch) : "-",
               e->machine ? plain_text(run->arena, e->machine) : "-", e->npoints);
    }
}

static int show_many(const opt_run *run, cbx_store *store, const cbx_store_query *q)
{
    const show_args *a = run->args;
    CLEARED(cbx_store_list) list = { 0 };
    size_t found = 0;
    int status = EXIT_PASS;

    if (opt_check(run, cbx_store_query_runs(store, q, &list, run->err))) return EXIT_ERROR;
    select_warn(run, store);
    for (size_t i = 0; a->points && !status && i < list.count; i++) {
        SCOPED(cbx_run) *r = NULL;
        status = select_run(run, store, list.entries[i].id, &r);
        for (size_t k = 0; !status && k < cbx_run_npoints(r); k++) {
            const cbx_point *p = cbx_run_point(r, k);
            if (!select_point(q, p)) continue;
            status = print_json_line(run, cbx_json_document("calibrax-point", J_JSON("run", run_head(r)),
                                                            J_TEXT("name", p->name), J_TEXT("scenario", p->scenario),
                                                            J_JSON("tags", tags_json(p->tags, p->ntags)),
                                                            J_JSON("metrics", metrics_json(p))));
            found += !status;
        }
    }
    if (a->list && a->select.json)
        status = print_list_json(run, &list);
    else if (a->list && list.count)
        print_list(run, &list);
    if (status || (a->points ? found : list.count)) return status;
    return opt_fail(run, "no %s in '%s' matches", a->points ? "point" : "run", cbx_store_root(store));
}

static int run_show(const opt_run *run)
{
    const show_args *a = run->args;
    const char *name = select_name(run, a->run);
    cbx_store_query q;
    SCOPED(cbx_store) *store = NULL;

    if (!name || select_query(run, &a->select, &q) || select_open(run, &a->select, false, &store)) return EXIT_ERROR;
    return a->list || a->points ? show_many(run, store, &q) : show_one(run, store, &q, name);
}

const opt_command show_command = {
    .name = "show",
    .synopsis = "[RUN | --list | --points] [FILTER]...",
    .summary = "show a run, list the runs of a store, or print matching points",
    .description =
        "Shows the points of a run in full: tags, and each metric with unit, interval, number of samples and "
        "direction; with --json as a run file that contains the matching points only. A RUN is an id, a unique prefix "
        "of an id, latest (the default), or baseline:NAME. With --list it lists the runs that match all filters, with "
        "--points it prints each matching point of those runs as a line of JSON (schema calibrax-point).",
    OPT_OPTIONS_RULES(show),
    SELECT_RUN_WORDS,
};
