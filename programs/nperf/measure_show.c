/*
 * Rows as people and programs get them: on standard output, as report, CSV and page; after a
 * measurement, or again from files.
 */
#include <stdio.h>

#include "calibrax/perf/report/report.h"
#include "programs/nperf/measure.h"

int write_report(const opt_run *run, const cbx_rows *rows, const char *command, const outputs *to)
{
    cbx_report_opts opts = CBX_REPORT_OPTS_INIT;

    if (!to->report) return EXIT_PASS;
    opts.command = command;
    SCOPED_TEXT(text, cbx_allocator_default());
    cbx_report_markdown(rows, &opts, &text);
    return write_text(run, to->report, &text);
}

int write_csv(const opt_run *run, const measure_args *a, const cbx_rows *rows)
{
    if (!a->csv) return EXIT_PASS;
    SCOPED_TEXT(text, cbx_allocator_default());
    cbx_rows_csv(rows, &text);
    int status = write_text(run, a->csv, &text);
    if (!status) fprintf(stderr, "CSV: %s\n", a->csv);
    return status;
}

/* Rows as people or programs asked for them; the sentence goes to people in both cases. */
int show_rows(const opt_run *run, const cbx_rows *rows, bool json)
{
    if (!json) {
        SCOPED_TEXT(text, cbx_allocator_default());
        cbx_report_table(rows, terminal_width(), &text);
        cbx_text_putc(&text, '\n');
        cbx_report_sentence(rows, &text);
        print_table_text(cbx_text_str(&text));
        if (text.len && text.data[text.len - 1] != '\n') fputc('\n', stdout);
        return EXIT_PASS;
    }
    int status = print_rows_json(run, rows, "nperf-rows");
    SCOPED_TEXT(text, cbx_allocator_default());
    cbx_report_sentence(rows, &text);
    fprintf(stderr, "%s%s", cbx_text_str(&text), text.len && text.data[text.len - 1] == '\n' ? "" : "\n");
    return status;
}

/* --- render --- */

/* Every row, old ones too: not for a page alone, which may be of a store with a hundred thousand of
 * them. */
static bool wants_all(const measure_args *a, const outputs *to)
{
    return !a->latest && (!to->page || to->report || a->json);
}

/* The page always shows the newest good row of each key: what came before is its history. */
static int render_page(const opt_run *run, const measure_args *a, const outputs *to, cbx_row_index *ix,
                       const cbx_rows *rows)
{
    page_sources from = { NULL, ix, a->selftest, a->op_matrix };
    SCOPED_ROWS(newest, run);
    int status = EXIT_PASS;

    if (!to->page) return EXIT_PASS;
    if (wants_all(a, to)) status = latest_rows(run, ix, "--site", CBX_ROWS_WHOLE, &newest);
    newest.damaged = cbx_row_index_facts_of(ix)->damaged;
    if (!status) status = write_page(run, wants_all(a, to) ? &newest : rows, &from, to->folder);
    if (!status) fprintf(stderr, "page: %s\n", to->page);
    return status;
}

/* Every row, or the one of each key to show. */
static int read_rows(const opt_run *run, const measure_args *a, const outputs *to, cbx_row_index *ix, cbx_rows *rows)
{
    rows->damaged = cbx_row_index_facts_of(ix)->damaged;
    if (!wants_all(a, to)) return latest_rows(run, ix, "--render-from", CBX_ROWS_WHOLE, rows);
    if (cbx_row_index_rows(ix, NULL, CBX_ROWS_WHOLE, rows, run->err))
        return opt_fail(run, "--render-from: %s", run->err->message);
    return EXIT_PASS;
}

int measure_render(const opt_run *run, const measure_args *a, const outputs *to)
{
    SCOPED(cbx_row_index) *ix = NULL;
    SCOPED_ROWS(rows, run);
    int status = open_rows(run, "--render-from", &a->render_from, &ix);

    if (!status) status = read_rows(run, a, to, ix, &rows);
    if (!status) status = show_rows(run, &rows, a->json);
    if (!status) status = write_report(run, &rows, NULL, to);
    if (!status) status = write_csv(run, a, &rows);
    if (!status && to->report) fprintf(stderr, "report: %s\n", to->report);
    return status ? status : render_page(run, a, to, ix, &rows);
}
