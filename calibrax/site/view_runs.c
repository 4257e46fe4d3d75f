/* The first page: runs, newest first, with a filter; and what of the store cannot be read. */
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/base/together.h"
#include "calibrax/site/page_view.h"

#define RUNS_A_PAGE  50
#define MAX_CHOICES  200
#define MAX_PROBLEMS 20

/* Different values of a member of the entries, in the order in which they appear. */
static void choices_of(cbx__view *v, const cbx_store_list *list, size_t member, cbx__field *field)
{
    const char **found = cbx__view_alloc(v, MAX_CHOICES, sizeof *found), *last = NULL;

    field->choices = found;
    for (size_t i = 0; found && i < list->count && field->nchoices < MAX_CHOICES; i++) {
        const char *value = *(const char *const *)(const void *)((const char *)&list->entries[i] + member);
        size_t k = 0;
        if (!value || value == last) continue;
        last = value;
        while (k < field->nchoices && strcmp(found[k], value) != 0) k++;
        if (k == field->nchoices) found[field->nchoices++] = value;
    }
}

static void put_problems(cbx__view *v)
{
    static const cbx__column columns[] = { { "File", "file", NULL }, { "Why it is left out", "message", NULL } };
    CBX_CLEARED(cbx_store_report) report = { 0 };
    cbx_err err = CBX_ERR_INIT;

    if (!cbx__view_got(v, cbx_store_problems(v->store, &report, &err))) {
        cbx__view_note(v, "%s", err.message);
        return;
    }
    if (!report.nproblems) return;
    cbx__view_section(v, "Files that cannot be read");
    cbx__view_table(v, "problems", "files that cannot be read", columns, CBX_LEN(columns));
    for (size_t i = 0; i < report.nproblems && i < MAX_PROBLEMS; i++) {
        cbx__view_row(v, "bad");
        cbx__view_cell(v, report.problems[i].file);
        cbx__view_cell(v, report.problems[i].message);
    }
    cbx__view_table_end(v);
    if (report.nproblems > MAX_PROBLEMS)
        cbx__view_note(v, "and %zu more: calibrax store verify lists them", report.nproblems - MAX_PROBLEMS);
}

static cbx_status read_time(const cbx__request *r, const char *param, int64_t *us, cbx_err *err)
{
    const char *word = cbx__request_param(r, param);
    cbx_err why = CBX_ERR_INIT;

    if (!word || !cbx_time_parse_iso(word, us, &why)) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "'%s': %s", param, why.message);
}

static void put_filter(cbx__view *v, const cbx_store_list *list)
{
    cbx__field fields[] = {
        { .param = "text", .label = "Text", .hint = "id, commit, branch, machine" },
        { .param = "branch", .label = "Branch" },
        { .param = "machine", .label = "Machine" },
        { .param = "point", .label = "Point", .names = cbx_store_point_names },
        { .param = "metric", .label = "Metric", .names = cbx_store_metric_names },
        { .param = "tag", .label = "Tag", .hint = "key=value", .many = true },
        { .param = "since", .label = "Since", .hint = "YYYY-MM-DD" },
        { .param = "until", .label = "Before", .hint = "YYYY-MM-DD" },
    };

    if (!cbx__view_has_forms(v)) return;
    choices_of(v, list, offsetof(cbx_store_entry, branch), &fields[1]);
    choices_of(v, list, offsetof(cbx_store_entry, machine), &fields[2]);
    cbx__view_form(v, "Filter", fields, CBX_LEN(fields));
}

/* The choice of a side of a comparison. */
static void put_choice(cbx__view *v, const char *side, const char *id, bool first)
{
    cbx__view_cell_open(v);
    if (v->document) return;
    cbx__put_mixed(v->out, cbx_text_put_html, "<input type=radio name=", side, " value=\"", id, "\" aria-label=\"",
                   !strcmp(side, "a") ? "compare with" : "compare", ": ", id, first ? "\" checked>" : "\">", NULL);
}

static void put_runs(cbx__view *v, const cbx_store_list *list, const cbx__paging *rows)
{
    static const cbx__column columns[] = {
        { "Run", "id", NULL },        { "Time (UTC)", "timestamp", NULL }, { "Branch", "branch", NULL },
        { "Commit", "commit", NULL }, { "Points", "points", "n" },         { "Machine", "machine", NULL },
        { "Reference", NULL, NULL },  { "Compare", NULL, NULL },
    };
    const size_t from = rows->from, to = rows->to;
    const bool choose = cbx__view_has_forms(v) && list->count > 1;

    if (choose) cbx_text_puts(v->out, "<form method=get action=\"/compare\" aria-label=comparison>");
    cbx__view_table(v, "runs", "runs", columns, CBX_LEN(columns) - (choose ? 0 : 2));
    for (size_t i = from; i < to; i++) {
        const cbx_store_entry *e = &list->entries[i];
        cbx__view_row(v, NULL);
        cbx__view_cell_link(v, cbx__view_to_run(v, e->id), e->id);
        cbx__view_cell_time(v, e->timestamp_us);
        cbx__view_cell(v, e->branch);
        cbx__view_cell(v, e->commit && !v->document ? cbx__view_text(v, "%.10s", e->commit) : e->commit);
        cbx__view_cell_count(v, e->npoints);
        cbx__view_cell(v, e->machine);
        if (choose) put_choice(v, "a", e->id, i == from + 1 || (i == from && to == from + 1));
        if (choose) put_choice(v, "b", e->id, i == from);
    }
    cbx__view_table_end(v);
    if (choose) cbx_text_puts(v->out, "<p class=under><button>Compare the chosen two</button></p></form>\n");
}

cbx_status cbx__view_runs(cbx__view *v, cbx_err *err)
{
    const cbx__request *r = v->request;
    cbx_store_query q = { .commit = cbx__request_param(r, "commit"),
                          .machine = cbx__request_param(r, "machine"),
                          .run_text = cbx__request_param(r, "text") };
    CBX_CLEARED(cbx_store_list) list = { 0 };
    cbx_status st = read_time(r, "since", &q.since_us, err);

    if (!st) st = read_time(r, "until", &q.until_us, err);
    if (!st) st = cbx__view_select(v, &q, err);
    if (!st) st = cbx_store_query_runs(v->store, &q, &list, err);
    if (st) return st;
    const size_t n = list.count;
    const cbx__paging rows = cbx__view_page(v, RUNS_A_PAGE, n);
    cbx__view_begin(v, "", "Runs");
    put_problems(v);
    put_filter(v, &list);
    if (!n)
        cbx__view_note(v, "%s",
                       v->request->n ? "No run matches."
                                     : "The store has no run yet: calibrax ingest and "
                                       "calibrax run keep some.");
    else
        cbx__view_note(v, "%zu run%s, the newest first.", n, n == 1 ? "" : "s");
    if (n || v->document) put_runs(v, &list, &rows);
    cbx__view_pager(v, &rows, "runs");
    return CBX_OK;
}
