/* The table of a run: a row a point, labels first, then its metrics; what is best among points that
 * differ in one tag only. */
#ifndef CALIBRAX_EXPORTERS_TABLE_H
#define CALIBRAX_EXPORTERS_TABLE_H

#include "calibrax/exporters/job.h"

/* A number as it is printed: digits, and the power of ten that they are in. */
typedef struct cbx__number {
    char value[CBX_FORMAT_SIZE], lower[CBX_FORMAT_SIZE], upper[CBX_FORMAT_SIZE]; /* bounds "": none */
    int exponent;                                                                /* 0: none */
} cbx__number;

typedef struct cbx__cell {
    const cbx_metric *metric; /* NULL: missing */
    cbx__number number;
    bool best;
} cbx__cell;

typedef struct cbx__column {
    const char *name;
    const cbx_metric_def *def; /* NULL: unknown */
    bool intervals;            /* some point has one */
} cbx__column;

typedef struct cbx__table {
    const cbx_run *run;
    const char *const *labels; /* names of the label columns: only those that distinguish points */
    size_t nlabels;
    const char *facts; /* what all points share: "scenario: train; batch: 32"; "" for nothing */
    const cbx__column *columns;
    size_t ncolumns;
    const char *const *rows; /* nrows-by-nlabels; NULL: the point has no such tag */
    cbx__cell *cells;        /* nrows-by-ncolumns */
    size_t nrows;
    const size_t *groups; /* of each row: equal where points differ in the tag that is compared only */
} cbx__table;

/* Everything lives in the arena of the job, or in the run. */
cbx_status cbx__table_make(cbx_export_job *job, const cbx_run *run, cbx__table *out, cbx_err *err);
/*
 * A row a metric of a point that both runs have: baseline, run, change in percent of the baseline;
 * groups is not set.  A change from 0 is missing.  CBX_ENOENT: nothing is in both.
 */
cbx_status cbx__table_compare(cbx_export_job *job, const cbx_run *run, const cbx_run *baseline, cbx__table *out,
                              cbx_err *err);
/*
 * Digits that the spread supports: two of the half width of the interval, else of the standard
 * deviation of the samples, else four of the value; at least one digit of the value always shows.
 */
cbx_status cbx__number_of(cbx_ctx *ctx, const cbx_metric *m, cbx__number *out, cbx_err *err);

#endif
