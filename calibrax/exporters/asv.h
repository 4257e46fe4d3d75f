/*
 * What runs are to asv: benchmarks with parameters, and results by machine and commit.
 *
 * Runs come one at a time, twice: first for what is written of all of them together (asv_benchmarks.c), then commit by
 * commit for their values (asv_results.c).
 */
#ifndef CALIBRAX_EXPORTERS_ASV_H
#define CALIBRAX_EXPORTERS_ASV_H

#include "calibrax/base/table.h"
#include "calibrax/exporters/job.h"

/* A tag of the points of a benchmark. */
typedef struct cbx__asv_parameter {
    const char *key;
    CBX_LIST(uint32_t) seen; /* numbers of its values, rising */
    size_t npoints;
    /* when all are known */
    const char **values; /* in the order they are shown; NULL: a point without the tag */
    size_t nvalues;
    size_t *places; /* of each number seen, then of a point without the tag */
} cbx__asv_parameter;

typedef struct cbx__asv_benchmark {
    const char *scenario, *point, *metric, *name;
    const char *type, *unit, *version;
    const char *given; /* the metric's unit as runs have it */
    double times, per; /* asv's unit is the metric's times `times`, divided by `per`: both exact */
    cbx__asv_parameter *params;
    size_t nparams, capacity, npoints, combinations;
} cbx__asv_benchmark;

/* Runs of one commit on one machine. */
typedef struct cbx__asv_commit {
    const char *machine, *hash;
    size_t first, nruns; /* in site.order */
    size_t alike;        /* number of the commits of its machine whose hashes begin as its own does */
} cbx__asv_commit;

typedef struct cbx__asv_site {
    cbx_export_job *job;
    const cbx_export_source *runs;
    cbx_arena arena;
    cbx_allocator al;              /* over the arena */
    cbx_text key;                  /* being looked for */
    cbx_names keys, names, values; /* of benchmarks; of tags */
    cbx_names branches, commit_keys, beginnings;
    cbx__asv_benchmark *list; /* by number of the key */
    cbx__asv_commit *commits; /* by number of the key */
    size_t *alike;            /* commits of each beginning */
    uint32_t *commit_of;      /* of each run */
    uint32_t *order;          /* runs by commit */
    size_t n, capacity, ncommits, commits_capacity, alike_capacity;
} cbx__asv_site;

void cbx__asv_init(cbx__asv_site *s, cbx_export_job *job, const cbx_export_source *runs);
void cbx__asv_clear(cbx__asv_site *s);
/* Reads all runs.  CBX_EINVAL: a unit changes between runs, a run has no commit. */
cbx_status cbx__asv_find(cbx__asv_site *s, cbx_err *err);
/* The benchmark of a point's metric; *out NULL: it is not wanted.  false: out of memory */
bool cbx__asv_benchmark_of(cbx__asv_site *s, const cbx_point *p, const char *metric, const cbx__asv_benchmark **out);
/* Place of a point among the combinations of parameters, the last one fastest. */
size_t cbx__asv_place_of(const cbx__asv_site *s, const cbx__asv_benchmark *b, const cbx_point *p);
const char *cbx__asv_machine_of(const cbx_run *run);
#define CBX__ASV_COMMIT 8 /* digits that a file's name has of a commit */

/* asv.c: an object whose members are written one by one. */
void cbx__asv_put_key(cbx__export_stream *out, bool first, int level, const char *key);
void cbx__asv_put(cbx__export_stream *out, int level, const cbx_json *value);
/* Python's repr of a text. */
cbx_json *cbx__asv_params_json(cbx_export_job *job, const cbx__asv_benchmark *b);
/* What asv distinguishes machines by: facts of the hardware, and no host name. */
cbx_json *cbx__asv_machine_json(const cbx_run *run);
/* Takes the document; NULL: out of memory. */
cbx_status cbx__asv_put_document(cbx_export_job *job, const char *name, cbx_json *document, cbx_err *err);

/* asv_results.c: the file of one commit, whose first run is loaded. */
cbx_status cbx__asv_put_results(cbx__asv_site *s, const cbx__asv_commit *c, const cbx_run *first, const char *folder,
                                cbx_err *err);

#endif
