/* Rows of nperf in the store: their cases, and the page of a case, which is that of nperf. */
#include <string.h>

#include "calibrax/perf/report/report.h"
#include "calibrax/perf/report/site_internal.h"
#include "calibrax/site/page_view.h"
#include "calibrax/storage/store_internal.h"

CBX_FREED_BY(cbx_row_index, cbx_row_index_close)

cbx_status cbx__view_cases(cbx__view *v, cbx_err *err)
{
    static const cbx__column columns[] = { { "Case", "case", NULL },
                                           { "Runs", "runs", "n" },
                                           { "Newest", "newest", NULL } };
    cbx__store_case *cases = NULL;
    size_t n = 0;
    cbx_status st = cbx__store_cases(v->store, v->arena, &cases, &n, err);

    if (st) return st;
    cbx__view_begin(v, "rows", "Rows of nperf");
    if (!n) cbx__view_note(v, "The store has no rows of nperf: nperf --store keeps some.");
    if (n || v->document) {
        cbx__view_table(v, "cases", "cases", columns, CBX_LEN(columns));
        for (size_t i = 0; i < n; i++) {
            const char *newest = "";
            size_t files = 0;
            for (size_t k = 0; k < cases[i].n; k++) {
                if (!cbx__store_is_rows(cases[i].files[k])) continue;
                newest = cases[i].files[k]; /* names begin with the time */
                files++;
            }
            cbx__view_row(v, NULL);
            cbx__view_cell_link(v, cbx__view_to(v, "case", "name", cases[i].name), cases[i].name);
            cbx__view_cell_count(v, files);
            cbx__view_cell(v, cbx__view_text(v, "%.*s", (int)strcspn(newest, "."), newest));
        }
        cbx__view_table_end(v);
    }
    return CBX_OK;
}

/* The newest rows of a case. */
static cbx_status put_case(cbx__view *v, const char *path, cbx_err *err)
{
    const char *const paths[] = { path };
    cbx_report_opts o = CBX_REPORT_OPTS_INIT;
    CBX_OWNED(cbx_row_index) *index = NULL;
    CBX_SCOPED(cbx_rows, rows, cbx_ctx_allocator(v->ctx));
    cbx_status st = cbx_row_index_open(v->ctx, paths, 1, &index, err);

    if (!st) st = cbx_row_index_latest(index, CBX_ROWS_WHOLE, &rows, NULL, err);
    if (!st && v->document) {
        cbx_json *all = cbx_json_set_array(v->document, "rows");
        cbx__view_begin(v, "rows", cbx__request_param(v->request, "name"));
        for (size_t i = 0; i < rows.count; i++) cbx_json_push(all, cbx_row_to_json(&rows.rows[i]));
    } else if (!st) {
        o.history = index;
        o.home = cbx__view_to(v, "rows", "", NULL);
        v->script_hash = cbx__site_script_hash;
        v->whole = true;
        cbx_report_site(&rows, &o, v->out);
    }
    return st;
}

cbx_status cbx__view_case(cbx__view *v, cbx_err *err)
{
    const char *name = cbx__request_param(v->request, "name");
    cbx__store_case *cases = NULL;
    size_t n = 0;
    cbx_status st = cbx__store_cases(v->store, v->arena, &cases, &n, err);

    if (!st && !name) st = cbx_fail(err, CBX_EINVAL, "the address lacks the case: name=CASE");
    for (size_t i = 0; !st && i < n; i++)
        if (!strcmp(cases[i].name, name)) return put_case(v, cases[i].path, err);
    return st ? st : cbx_fail(err, CBX_ENOENT, "the store has no rows of a case '%.100s'", name);
}
