/* Runs that `calibrax profile` kept: what was profiled, and its first figures. */
#include <string.h>

#include "calibrax/site/page_view.h"

#define PROFILES_A_PAGE 25
#define SCENARIO        "profile" /* of their points */

static void put_profile(cbx__view *v, const cbx_store_entry *e, const cbx_run *run)
{
    const cbx_json *metadata = cbx_run_metadata(run), *roofline = cbx_json_get(metadata, "roofline");
    const cbx_point *p = NULL;

    for (size_t i = 0; !p && i < cbx_run_npoints(run); i++)
        if (!strcmp(cbx_run_point(run, i)->scenario, SCENARIO)) p = cbx_run_point(run, i);
    cbx__view_row(v, NULL);
    cbx__view_cell_link(v, cbx__view_to_run(v, e->id), e->id);
    cbx__view_cell_time(v, e->timestamp_us);
    cbx__view_cell(v, cbx_json_get_string(metadata, "profile", p ? p->name : NULL));
    cbx__view_cell(v, p ? cbx_point_tag(p, "kind") : NULL);
    if (p && p->nmetrics) {
        const cbx_named_metric *m = &p->metrics[0];
        const cbx_metric_def *def = cbx_run_find_metric_def(run, m->name);
        cbx__view_cell_link(v, cbx__view_to_point(v, e->id, p), m->name);
        cbx__view_cell_value(v, m->metric.value, m->metric.lower, m->metric.upper, def ? def->unit : NULL);
    } else {
        cbx__view_cell(v, NULL);
        cbx__view_cell(v, NULL);
    }
    cbx__view_cell(v, cbx_json_get_string(roofline, "bound", NULL));
}

cbx_status cbx__view_profiles(cbx__view *v, cbx_err *err)
{
    static const cbx__column columns[] = {
        { "Run", "id", NULL },        { "Time (UTC)", "timestamp", NULL }, { "Profile of", "subject", NULL },
        { "Kind", "kind", NULL },     { "Measured", "metric", NULL },      { "Value", "value", "n" },
        { "Bound by", "bound", NULL }
    };
    const cbx_store_query q = { .scenario = SCENARIO, .run_text = cbx__request_param(v->request, "text") };
    static const cbx__field fields[] = { { .param = "text", .label = "Text", .hint = "id, commit, branch, machine" } };
    CBX_CLEARED(cbx_store_list) list = { 0 };
    cbx_status st = cbx_store_query_runs(v->store, &q, &list, err);

    if (st) return st;
    const size_t n = list.count;
    const cbx__paging rows = cbx__view_page(v, PROFILES_A_PAGE, n);
    cbx__view_begin(v, "profiles", "Profiles");
    cbx__view_form(v, "Filter", fields, CBX_LEN(fields));
    if (n)
        cbx__view_note(v, "%zu profile%s, the newest first.", n, n == 1 ? "" : "s");
    else
        cbx__view_note(v,
                       v->request->n ? "No profile matches." : "The store has no profile: calibrax profile keeps one.");
    if (n || v->document) {
        cbx__view_table(v, "profiles", "profiles", columns, CBX_LEN(columns));
        for (size_t i = rows.from; !st && i < rows.to; i++) {
            CBX_OWNED(cbx_run) *run = NULL;
            st = cbx_store_load_bare(v->store, list.entries[i].id, &run, err);
            if (!st) put_profile(v, &list.entries[i], run);
            if (st == CBX_ENOENT || st == CBX_EFORMAT) st = CBX_OK; /* gone, or torn since the list was made */
        }
        cbx__view_table_end(v);
    }
    cbx__view_pager(v, &rows, "profiles");
    return st;
}
