/*
 * Renders a file of rows, for the tests of the page: render_rows html|md|table[:width]|sentence
 * ROWS.jsonl [OUT], or the page of a folder with its history: render_rows store FOLDER [OUT]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/perf/report/report.h"

static int render(const char *kind, const cbx_rows *rows, const cbx_row_index *history, cbx_text *out)
{
    cbx_report_opts opts = CBX_REPORT_OPTS_INIT;
    opts.command = "nperf --case semiring_matmul --launches 6";
    opts.history = history;
    if (!strcmp(kind, "html") || history)
        cbx_report_site(rows, &opts, out);
    else if (!strcmp(kind, "md"))
        cbx_report_markdown(rows, &opts, out);
    else if (!strcmp(kind, "sentence"))
        cbx_report_sentence(rows, out);
    else if (!strncmp(kind, "table", 5))
        cbx_report_table(rows, kind[5] == ':' ? (size_t)atoi(kind + 6) : 0, out);
    else
        return 2;
    return out->status == CBX_OK ? 0 : 2;
}

/* The rows of a file, or the newest ones of a folder, with the index they came from. */
static cbx_status read_rows(cbx_ctx *ctx, const char *kind, const char *path, cbx_rows *rows, cbx_row_index **ix,
                            cbx_err *err)
{
    cbx_status st;

    if (strcmp(kind, "store") != 0) return cbx_rows_read(ctx, path, rows, err);
    st = cbx_row_index_open(ctx, &path, 1, ix, err);
    return st ? st : cbx_row_index_latest(*ix, CBX_ROWS_WHOLE, rows, NULL, err);
}

int main(int argc, char **argv)
{
    cbx_row_index *ix = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = NULL;
    cbx_rows rows;
    cbx_text out;
    int rc = 2;
    if (argc < 3 || argc > 4) {
        fputs("usage: render_rows html|md|table[:width]|sentence ROWS.jsonl [OUT]\n", stderr);
        return 2;
    }
    if (cbx_ctx_create(NULL, &ctx, &err) != CBX_OK) return 2;
    cbx_rows_init(&rows, cbx_ctx_allocator(ctx));
    cbx_text_init(&out, cbx_ctx_allocator(ctx));
    if (read_rows(ctx, argv[1], argv[2], &rows, &ix, &err) == CBX_OK) {
        FILE *f = argc == 4 ? fopen(argv[3], "wb") : stdout;
        rc = render(argv[1], &rows, ix, &out);
        if (f)
            fwrite(out.data ? out.data : "", 1, out.len, f);
        else
            rc = 2;
        if (f && argc == 4 && fclose(f)) rc = 2;
    } else
        fprintf(stderr, "render_rows: %s\n", err.message);
    cbx_text_clear(&out);
    cbx_rows_clear(&rows);
    cbx_row_index_close(ix);
    cbx_ctx_free(ctx);
    return rc;
}
