/**
 * Renderings of rows: a terminal table, a markdown report, a self-contained HTML page, a closing
 * sentence.  A renderer formats, sorts and scales; it never computes a metric.  Nothing printed
 * names a host, a user or a path.
 *
 * Every ratio is the time over the reference's time: below 1 is faster (README.md).
 *
 * Each appends to `out`, which the caller has made (cbx_text_init) and clears.  The rows are read
 * only and are not kept; no rows at all is fine, and reported.  The one failure is memory:
 * out->status is then CBX_ENOMEM, sticky, and the text is cut somewhere and must not be used; call
 * cbx_text_check once, after the last call.  Scratch memory comes from out's allocator and is
 * freed.  Safe from any thread that has `out` to itself.
 */
#ifndef CALIBRAX_PERF_REPORT_REPORT_H
#define CALIBRAX_PERF_REPORT_REPORT_H

#include "calibrax/storage/row_index.h"

CBX_BEGIN_DECLS

/** Borrowed for the call; NULL in place of it: all defaults. */
typedef struct cbx_report_opts {
    uint32_t struct_size; /* sizeof(cbx_report_opts); CBX_REPORT_OPTS_INIT sets it */
    const char *title;    /* NULL: "nperf" and the case names */
    const char *command;  /* the command line that reproduces the rows, already free of paths; NULL: left out */
    /* of the page only */
    const cbx_row_index *history; /* rows over time, and their changes; NULL: no history */
    const cbx_json *selftest;     /* what `nperf selftest --json` printed; NULL: no record */
    const cbx_json *capabilities; /* an op_matrix (perf/feed.h); NULL: no table of operations */
    const char *only_case;        /* this case alone; NULL: all */
    /* points are left out, those that are not representative first, until the page is no longer; 0:
     * no limit */
    size_t max_bytes;
    bool links;       /* a case that lost points refers to cbx_report_case_page */
    const char *home; /* address of the page that refers to this one; NULL: none */
} cbx_report_opts;

#define CBX_REPORT_OPTS_INIT CBX_OPTS(cbx_report_opts, 0, 0, 0, 0, 0, 0, 0, 0, 0)

/** Table for a terminal; columns fitted to width (0: no limit). */
CBX_API void cbx_report_table(const cbx_rows *rows, size_t width, cbx_text *out);
/** Markdown report: header, machine, table, notes (which variants, what was skipped and the command
 * that adds it). */
CBX_API void cbx_report_markdown(const cbx_rows *rows, const cbx_report_opts *opts, cbx_text *out);
/**
 * One offline HTML file: the sentence, times, tables that sort and filter, time against work, raw
 * launches, history with change points, roofline, the machine, the record of the tool's own tests.
 * Light and dark, whole without its script.  Same input gives the same bytes.
 */
CBX_API void cbx_report_site(const cbx_rows *rows, const cbx_report_opts *opts, cbx_text *out);
/** Name of a case's own page beside the first one: "case-NAME.html", with '-' for what is not a
 * letter, digit, '-', '_'. */
CBX_API const char *cbx_report_case_page(const char *case_name, char buf[160]);
/** Largest size of a first page: 300 kB. */
#define CBX_REPORT_FIRST_PAGE 300000
/**
 * The result as sentences, for each measured point of the representative kind (or the only one):
 * which baseline takes how much of the reference's time with its interval and share of the
 * roofline, which failed, which rivals are missing and the command that adds them.
 */
CBX_API void cbx_report_sentence(const cbx_rows *rows, cbx_text *out);

CBX_END_DECLS
#endif
