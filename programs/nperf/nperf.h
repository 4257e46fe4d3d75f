/*
 * What the commands of nperf share.
 */
#ifndef CALIBRAX_PROGRAMS_NPERF_H
#define CALIBRAX_PROGRAMS_NPERF_H

#include "calibrax/perf/sweep/declared_run.h"
#include "calibrax/perf/sweep/measure.h"
#include "calibrax/storage/row_index.h"
#include "programs/common/output.h"

extern const opt_command measure_command, exec_command, doctor_command, selftest_command, list_command, gate_command,
    bundle_command, feed_command, coverage_command, growth_command, drift_command, ab_command, raw_command,
    new_case_command;

/*
 * The cases that are linked in, until nperf_cases_open has added others: those of plug-ins named by
 * NPERF_PLUGINS and by --plugin, which it also names for the workers, and those of case files
 * (--define).  @return an exit status; a fault has been printed; nperf_cases_close is fine without
 * it
 */
int nperf_cases_open(const opt_run *run, const opt_list *plugins, const opt_list *files);
void nperf_cases_close(void);
/* A case of commands from a file, by name, borrowed; NULL: unknown. */
const cbx_declared *nperf_commands(const char *name);
/* Case number i of those from files, in the order given; NULL behind the last. */
const cbx_declared *nperf_declared(size_t i);
const cbx_case_list *nperf_cases(void);
/* Finds a case, or prints a sentence with the nearest name. */
const cbx_case_ops *nperf_case(const opt_run *run, const char *name);

/* --list, for people or as a document {"schema":"nperf-list","version":1,...}. */
int list_print(const opt_run *run, const char *name, bool json);

/* {"schema":schema,"version":1,"rows":[...]} on standard output. */
int print_rows_json(const opt_run *run, const cbx_rows *rows, const char *schema);
/* The index of rows that a flag names, with notes on standard error about what is damaged, doubled
 * or newer; no rows at all are a fault. */
int open_rows(const opt_run *run, const char *flag, const opt_list *paths, cbx_row_index **out);
/* Adds the row of each series to show. */
int latest_rows(const opt_run *run, cbx_row_index *ix, const char *flag, cbx_row_extent extent, cbx_rows *rows);
/* Empty rows of this run, which end with their block. */
#define SCOPED_ROWS(name, run) CBX_SCOPED(cbx_rows, name, cbx_ctx_allocator((run)->ctx))
CBX_FREED_BY(cbx_row_index, cbx_row_index_close)
CBX_FREED_BY(cbx_params, cbx_params_free)

/* A table of rows to be read: lean, into rows, by a context that no other side has. */
typedef struct row_side {
    const char *flag;
    const opt_list *paths;
    cbx_ctx *ctx;
    cbx_rows *rows;
} row_side;

/* The newest attempts of two tables, read side by side.  Damaged and doubled rows are a fault. */
int attempts_of_both(const opt_run *run, const row_side sides[2]);
/* What a page is made of beside its rows. */
typedef struct page_sources {
    const char *command;          /* that reproduces the rows; NULL: none */
    const cbx_row_index *history; /* NULL: none */
    const char *selftest;         /* file; NULL: results/selftest.json or reports/selftest.json where it is */
    const char *op_matrix;        /* file; NULL: ../nitrix/docs/op_matrix.json where it is */
} page_sources;

/* Writes index.html, and the pages of cases that it refers to, into a folder. */
int write_page(const opt_run *run, const cbx_rows *rows, const page_sources *from, const char *folder);
/* Writes a document to a file; NULL: memory ran out while it was made. */
int write_json(const opt_run *run, const char *path, const cbx_json *document);

/* A progress line on standard error: one that is redrawn on a terminal, plain lines elsewhere. */
typedef struct progress {
    bool terminal, open; /* open: a redrawn line is on the screen */
    double last_s;       /* of the last plain line */
    char point[160];
} progress;

void progress_init(progress *p);
/* A cbx_measure_opts progress function; user is the progress. */
void progress_show(void *user, const cbx_measure_progress *event);
/* Clears a redrawn line. */
void progress_end(progress *p);

#endif
