/*
 * The page: a first file that stays small, and one for each case that did not fit.
 */
#include <stdio.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/perf/report/report.h"
#include "programs/nperf/nperf.h"

/* What `nperf selftest` leaves. */
#define OWN_RECORD "results/selftest.json"

/* A JSON file that a page shows: one that was asked for must be there, one that is looked for need
 * not be. */
static int read_document(const opt_run *run, const char *flag, const char *path, const char *usual, cbx_json **out)
{
    *out = NULL;
    if (!path && !cbx_path_exists(usual)) return EXIT_PASS;
    if (!cbx_json_read(run->ctx, path ? path : usual, out, run->err)) return EXIT_PASS;
    if (path) return opt_fail(run, "%s: %s", flag, run->err->message);
    fprintf(stderr, "note: %s; the page omits it\n", run->err->message);
    return EXIT_PASS;
}

/* A page of its own for each case that the first one refers to. */
static int write_cases(const opt_run *run, const cbx_rows *rows, const cbx_report_opts *first, const cbx_text *page,
                       const char *folder)
{
    cbx_report_opts opts = *first;
    int status = EXIT_PASS;
    char name[160], link[180];

    opts.max_bytes = 0;
    opts.selftest = opts.capabilities = NULL;
    CBX_SCOPED(cbx_names, cases, &run->arena->al);
    for (size_t i = 0; i < rows->count; i++) cbx_names_add(&cases, rows->rows[i].case_name);
    for (size_t i = 0; !status && i < cases.n; i++) {
        opts.only_case = cases.list[i];
        snprintf(link, sizeof link, "href=\"%s\"", cbx_report_case_page(opts.only_case, name));
        if (!strstr(cbx_text_str(page), link)) continue;
        SCOPED_TEXT(text, cbx_allocator_default());
        cbx_report_site(rows, &opts, &text);
        status = write_text(run, cbx_path_join(run->arena, folder, name), &text);
    }
    return status;
}

int write_page(const opt_run *run, const cbx_rows *rows, const page_sources *from, const char *folder)
{
    cbx_report_opts opts = CBX_REPORT_OPTS_INIT;
    SCOPED(cbx_json) *selftest = NULL, *capabilities = NULL;

    int status = read_document(run, "--selftest", from->selftest,
                               cbx_path_exists(OWN_RECORD) ? OWN_RECORD : "reports/selftest.json", &selftest);
    if (!status)
        status = read_document(run, "--op-matrix", from->op_matrix, "../nitrix/docs/op_matrix.json", &capabilities);
    SCOPED_TEXT(text, cbx_allocator_default());
    opts.command = from->command;
    opts.history = from->history;
    opts.selftest = selftest;
    opts.capabilities = capabilities;
    opts.max_bytes = CBX_REPORT_FIRST_PAGE;
    opts.links = true;
    if (!status) {
        cbx_report_site(rows, &opts, &text);
        status = write_text(run, cbx_path_join(run->arena, folder, "index.html"), &text);
    }
    return status ? status : write_cases(run, rows, &opts, &text, folder);
}
