/*
 * What an exporter writes with.
 */
#ifndef CALIBRAX_EXPORTERS_JOB_H
#define CALIBRAX_EXPORTERS_JOB_H

#include "calibrax/base/text.h"
#include "calibrax/exporters/exporter.h"

typedef struct cbx_export_job {
    cbx_ctx *ctx;
    cbx_export_opts opts; /* group_by and folder are not NULL */
    cbx_arena *arena;     /* of the report */
    const char **files;
    size_t nfiles, room;
} cbx_export_job;

/* What each call opens with: options checked, job and report ready; and how it ends: the report goes to out, or is cleared. */
cbx_status cbx__export_begin(cbx_ctx *ctx, const cbx_export_opts *opts, cbx_export_job *job, cbx_export_report *report,
                             cbx_err *err);
cbx_status cbx__export_end(cbx_status st, const cbx_export_job *job, cbx_export_report *report, cbx_export_report *out);

/* Puts a file below the folder, or leaves one that is the same; makes parent folders.  CBX_EEXIST as exporter.h says. */
cbx_status cbx__export_file(cbx_export_job *job, const char *name, const cbx_text *text, cbx_err *err);
/* A name that is safe within a file name, and differs where the names differ; NULL: out of memory. */
const char *cbx__export_safe_name(cbx_arena *arena, const char *name);

extern const cbx_exporter cbx__export_latex, cbx__export_html, cbx__export_csv, cbx__export_markdown, cbx__export_svg,
    cbx__export_pdf, cbx__export_png, cbx__export_asv;

#endif
