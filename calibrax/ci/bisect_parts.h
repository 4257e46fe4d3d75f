/*
 * Inside a search: shared by the file that searches and the one that keeps.
 */
#ifndef CALIBRAX_CI_BISECT_PARTS_H
#define CALIBRAX_CI_BISECT_PARTS_H

#include "calibrax/base/arena.h"
#include "calibrax/ci/bisect_model.h"

typedef struct cbx__bisect_value {
    size_t commit; /* ncommits: the good end */
    double value;
} cbx__bisect_value;

struct cbx_bisect {
    cbx_allocator al;
    cbx_arena arena; /* all but the values */
    cbx_bisect_opts opts;
    size_t n;                 /* candidates; commits are 0..n, n is the good end */
    const char *const *names; /* n + 1 */
    size_t *by_name;          /* n + 1 commits in the order of their names */
    const char **reasons;     /* n + 1; NULL: not broken */
    size_t nbroken;
    cbx__rows rows;
    cbx__bisect_value *values;
    size_t nvalues, capacity;

    /* what follows from the values; up to date if fresh */
    bool fresh, logs;
    cbx__moments *at; /* n + 1 */
    double *p;        /* n; sum 1, or all NaN */
    uint64_t *group;  /* n: candidates that no measurable commit tells apart have the same */
    double *mass;     /* n: of the candidate's group */
    size_t *suspects; /* n */
    size_t wanted;    /* to be measured next */
    cbx_bisect_result result;
};

#endif
