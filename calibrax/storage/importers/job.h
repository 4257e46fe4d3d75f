/*
 * The inside of a job; importers use importer.h.
 */
#ifndef CALIBRAX_STORAGE_IMPORT_JOB_H
#define CALIBRAX_STORAGE_IMPORT_JOB_H

#include "calibrax/base/table.h"
#include "calibrax/core/run_spool.h"
#include "calibrax/storage/importers/document.h"
#include "calibrax/storage/importers/importer.h"
#include "calibrax/storage/importers/lines.h"
#include "calibrax/storage/importers/seen.h"

#define CBX__SAMPLES_BLOCK ((size_t)32 << 10) /* numbers that go to the disk at once */

/* A run under construction. */
typedef struct cbx__import_run {
    cbx_run_builder *builder;
    cbx_run *whole; /* instead of a builder: all but its points, or with them */
    size_t npoints;
    cbx_names defs; /* names defined so far */
    cbx__seen seen;
    cbx__spooled spooled;
} cbx__import_run;

/* Where the elements of a list come from, and the one under way. */
typedef struct cbx__import_walk {
    bool begun, ended;
    cbx__bytes_walk walk;
    cbx_json *item;
    uint64_t item_at; /* where that begins */
    size_t napart;    /* long arrays that were known before the element */
} cbx__import_walk;

struct cbx__import_job {
    cbx_ctx *ctx;
    const cbx__importer *importer;
    cbx__import_source *src;
    const cbx_import_opts *opts;
    cbx_import *out;
    cbx_err *err;
    cbx_err inner;     /* of the calls of the builder */
    cbx_status status; /* of the first fault */
    char at[160];
    cbx_arena passing; /* what lives until the next element or cbx__import_forget */
    cbx_arena cells;   /* of the last line */
    cbx_import_note *notes;
    size_t notes_room, notes_left_out;
    cbx__lines lines;
    cbx__import_walk list, inner_list;
    uint64_t inner_at;      /* of the list in the element under way */
    cbx__long_arrays apart; /* of the elements under way */
    cbx__scratch *scratch;  /* points go there; NULL: into the runs */

    cbx__import_run *runs, *run; /* run: where points go; NULL: none */
    size_t nruns, runs_room;
    cbx_names keys; /* what runs were begun for */
    size_t *run_of; /* by number of key */
    size_t run_of_room;

    /* the point */
    cbx_point point;
    cbx_tag *tags;
    size_t ntags, tags_room;
    cbx_named_metric *metrics;
    size_t nmetrics, metrics_room;
    cbx__waiting *waiting; /* of each metric */
    size_t waiting_room;
};

/* Points on disk of the runs of an import. */
struct cbx_import_disk {
    cbx_allocator al;
    cbx__scratch *scratch;
    cbx__spooled *points; /* of each run */
    size_t nruns;
};

/* job.c */
void cbx__import_no_memory(cbx__import_job *job);
/* Room for one more element of an array in the import's arena, whose pointer is at `slot`; false: the job has failed. */
bool cbx__import_grow(cbx__import_job *job, void *slot, size_t n, size_t *room, size_t size);
/* What a builder refuses is a fault of the file. */
void cbx__import_take(cbx__import_job *job, cbx_status st);

/*
 * elements.c: the next element of a list that begins at a place; the member `inner` of it is left empty, and *place says where that
 * stands
 */
bool cbx__import_walk_next(cbx__import_job *job, cbx__import_walk *w, uint64_t at, const char *inner, uint64_t *place,
                           const char **key, const cbx_json **item);
void cbx__import_walk_clear(cbx__import_job *job, cbx__import_walk *w);

/* runs.c: after reading, what came of it goes into the import. */
void cbx__import_finish(cbx__import_job *job);
/* Gives back all that the job holds. */
void cbx__import_job_clear(cbx__import_job *job);
void cbx__import_disk_free(cbx_import_disk *disk);

#endif
