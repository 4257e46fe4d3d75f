/*
 * What `calibrax changepoints` works out: the changes of each series of a store, which of them are new, which a fresh measurement bears out.
 */
#ifndef CALIBRAX_PROGRAMS_CHANGES_H
#define CALIBRAX_PROGRAMS_CHANGES_H

#include "calibrax/analysis/changepoint.h"
#include "calibrax/core/point_index.h"
#include "programs/calibrax/select.h"

typedef struct changes_args {
    select_args select;
    const char *method, *cost, *state;
    opt_list before, after; /* runs that were measured anew on both sides of the last change */
    double penalty, alpha, level, threshold;
    size_t min_segment, window, seed;
    bool new_only, check, allow_machines, allow_dropped;
} changes_args;

/* A fresh measurement's word on a change. */
typedef enum judgement { NOT_ASKED, CONFIRMED, REFUTED, UNDECIDED } judgement;

typedef struct change_found {
    cbx_change c;              /* index into the series' kept values */
    const cbx_trend_point *at; /* first value after it */
    bool is_new, worse, better;
    judgement judged;
    cbx_interval anew; /* relative change of the fresh measurement; level 0: none */
} change_found;

typedef struct changes_series {
    const cbx_trend_series *s;
    const char *name;              /* "point@scenario{tags}:metric" */
    double *values;                /* those that are finite */
    const cbx_trend_point **where; /* of each; NULL: all are */
    size_t n, left_out, unseen;    /* values; not finite; since the last look */
    cbx_direction direction;
    const char *unit; /* NULL: undefined */
    bool undefined;   /* no run says the metric's unit and direction */
    change_found *found;
    size_t nfound;
} changes_series;

typedef struct changes {
    const opt_run *run;
    cbx_store *store;
    cbx_trend trend;
    changes_series *list;
    size_t n;
    cbx_point_index metrics; /* the first series of each, found as a point of that name */
    cbx_json *seen;          /* the state file as it was; NULL: none */
} changes;

/* Each returns 0, or 2 with a sentence said. */
int changes_find(changes *c);
/* Marks what is new by the state file, if there is one, and keeps its content in mind. */
int changes_compare(changes *c);
/* Holds the last change of each series against the runs --before and --after. */
int changes_confirm(changes *c);
/* Writes the state file as it is to be next time. */
int changes_keep(const changes *c);
void changes_clear(changes *c);

#endif
