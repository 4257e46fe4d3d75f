/* What an exporter writes with. */
#ifndef CALIBRAX_EXPORTERS_JOB_H
#define CALIBRAX_EXPORTERS_JOB_H

#include <stdio.h>

#include "calibrax/base/ctx.h"
#include "calibrax/base/file_batch.h"
#include "calibrax/base/list.h"
#include "calibrax/base/text.h"
#include "calibrax/core/owned.h"
#include "calibrax/exporters/exporter.h"
#include "calibrax/plot/plot.h"

typedef struct cbx_export_job {
    cbx_ctx *ctx;
    const cbx_exporter *format;
    cbx_export_opts opts; /* group_by and folder are not NULL */
    cbx_arena *arena;     /* is passing: what lives as long as a run is written */
    cbx_arena passing;
    cbx_export_report out; /* what is written, and its arena */
    CBX_LIST(const char *) files;
    CBX_LIST(const char *) notes;
    cbx__file_batch batch; /* files that wait for the disk */
} cbx_export_job;

/* Checks the options and makes the job; and ends it: files are in their places, the report goes to
 * out, or is cleared. */
cbx_status cbx__export_begin(cbx_ctx *ctx, const cbx_exporter *format, const cbx_export_opts *opts, cbx_export_job *job,
                             cbx_err *err);
cbx_status cbx__export_end(cbx_status st, cbx_export_job *job, cbx_export_report *out, cbx_err *err);

/* Puts a file below the folder, or leaves one that is the same; makes parent folders.  CBX_EEXIST
 * as in exporter.h. */
cbx_status cbx__export_file(cbx_export_job *job, const char *name, const cbx_text *text, cbx_err *err);

/* The same with a file that comes in pieces. */
typedef struct cbx__export_stream {
    cbx_export_job *job;
    const char *path;
    cbx_replacement *file;
    FILE *to;
    cbx_text text;     /* what comes next: to be added to, then poured */
    cbx_json_writer w; /* of JSON into the text; the end closes what is open, with a line end */
    cbx_status fault;  /* the first one of adding or writing; the end reports it */
    cbx_err err;
} cbx__export_stream;
cbx_status cbx__export_stream_begin(cbx_export_job *job, const char *name, cbx__export_stream *s, cbx_err *err);
/* Writes the text if there is much of it.  @param text  the stream's; as cbx_json_pour_fn */
void cbx__export_stream_pour(void *stream, cbx_text *text);
/* Adds a member or an element to the JSON, and takes it. */
void cbx__export_stream_add(cbx__export_stream *s, const char *key, cbx_json *value);
/* Ends it: st is the result of the writing; a failure leaves nothing there. */
cbx_status cbx__export_stream_end(cbx__export_stream *s, cbx_status st, cbx_err *err);

/* Adds what was written to the report: a path or an address in its arena; NULL: out of memory. */
cbx_status cbx__export_add_path(cbx_export_job *job, const char *path, cbx_err *err);
/* Whether a metric is among those asked for. */
bool cbx__export_wants(const cbx_export_job *job, const char *metric);
/* A sentence about what was left out, for the report. */
cbx_status cbx__export_note(cbx_export_job *job, cbx_err *err, const char *fmt, ...) CBX_PRINTF(3, 4);

/* A name that is safe within a file name, and differs where the names differ; NULL: out of
 * memory. */
const char *cbx__export_safe_name(cbx_arena *arena, const char *name);

/* The form of a plot that an exporter writes; false: it writes tables. */
bool cbx__plot_format_of(const cbx_exporter *format, cbx_plot_format *out);
/* Writes PREFIX-PART[-KIND].svg in the job's form of plots; prefix NULL: out of memory. */
cbx_status cbx__plot_put(cbx_export_job *job, const char *prefix, const char *part, const char *kind, cbx_plot *p,
                         cbx_err *err);

/* An exporter of a format, by its members. */
#define CBX__EXPORTER(symbol, ...)                                                                                     \
    const cbx_exporter cbx__export_##symbol = { .struct_size = sizeof(cbx_exporter),                                   \
                                                .abi = CBX_EXPORTER_ABI,                                               \
                                                __VA_ARGS__ }

extern const cbx_exporter cbx__export_latex, cbx__export_html, cbx__export_csv, cbx__export_markdown, cbx__export_svg,
    cbx__export_pdf, cbx__export_png, cbx__export_asv, cbx__export_google_benchmark, cbx__export_hyperfine,
    cbx__export_pytest_benchmark, cbx__export_pyperf, cbx__export_bmf, cbx__export_github_action_benchmark,
    cbx__export_perfherder, cbx__export_openmetrics, cbx__export_node_exporter, cbx__export_otlp, cbx__export_site,
    cbx__export_mlflow, cbx__export_wandb;

#endif
