/*
 * The inside of a job; importers use importer.h.
 */
#ifndef CALIBRAX_STORAGE_IMPORT_JOB_H
#define CALIBRAX_STORAGE_IMPORT_JOB_H

#include "calibrax/storage/importers/importer.h"

typedef struct cbx__import_seen {
    uint64_t hash; /* 0: free */
    unsigned count;
} cbx__import_seen;

struct cbx__import_job {
    cbx_ctx *ctx;
    const cbx__importer *importer;
    const cbx__import_source *src;
    const cbx_import_opts *opts;
    cbx_import *out;
    cbx_err *err;
    cbx_err inner;     /* of the calls of the builder */
    cbx_status status; /* of the first fault */
    char at[160];
    size_t runs_room;
    cbx_import_note *notes;
    size_t notes_room;

    /* the run under construction */
    cbx_run_builder *run;
    size_t npoints;
    const char **defs; /* names defined so far */
    size_t ndefs, defs_room;
    cbx__import_seen *seen;
    size_t seen_room, seen_used;

    /* the point */
    cbx_point point;
    cbx_tag *tags;
    size_t ntags, tags_room;
    cbx_named_metric *metrics;
    size_t nmetrics, metrics_room;
};

#endif
