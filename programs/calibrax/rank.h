/*
 * A ranking while it is told: rank.c works it out, rank_show.c prints it.
 */
#ifndef CALIBRAX_PROGRAMS_RANK_H
#define CALIBRAX_PROGRAMS_RANK_H

#include "calibrax/analysis/rank_table.h"
#include "programs/calibrax/inputs.h"

typedef struct rank_args {
    select_args select;
    inputs_args inputs;
    const char *by, *score;
    opt_list metrics, weights;
    size_t draws, seed;
    bool allow_machines;
} rank_args;

/* A table's rows that have a direction, and the scores. */
typedef struct ranking {
    const opt_run *run;
    cbx_rank_table *t;
    cbx_rank_table_opts opts;
    size_t *rows; /* numbers of those that are ranked */
    size_t nrows, ncompetitors, ncommon;
    bool draws; /* rows whose competitors all have samples are drawn */
    cbx_score_kind kind;
    double *scores; /* one a competitor; NULL: no row that all have */
    bool *seen;     /* of each competitor, in the row that is printed */
} ranking;

/* What there is to say of a row, while it is looked at. */
typedef struct ranked {
    cbx_arena arena;
    cbx_rank_row row;
    cbx_rank_cell *cells; /* best first */
    double *shares;       /* [competitor][rank]; NULL: the row is not drawn */
} ranked;

/* The i-th row that is ranked.  0, or 2 with a sentence said; the caller clears it. */
int rank_row_begin(const ranking *k, size_t i, ranked *r);
void rank_row_clear(ranked *r);
/* Its shares, where it is to be drawn.  0, or 2 with a sentence said */
int rank_row_draw(const ranking *k, ranked *r);
/* Calls for each row that is ranked, until one of them is not 0. */
int rank_each_row(ranking *k, int (*fn)(ranking *k, ranked *r));
/* Whether all competitors have the i-th row that is ranked. */
bool rank_is_common(const ranking *k, size_t i);

/* 0, or 2 with a sentence said */
int rank_print(ranking *k);
int rank_print_json(ranking *k);

#endif
