/*
 * What runs are to asv: benchmarks with parameters.
 */
#ifndef CALIBRAX_EXPORTERS_ASV_H
#define CALIBRAX_EXPORTERS_ASV_H

#include "calibrax/exporters/job.h"

/* A list that grows, of pointers that live elsewhere. */
typedef struct cbx__asv_texts {
    const char **items;
    size_t n, room;
} cbx__asv_texts;

typedef struct cbx__asv_parameter {
    const char *key;
    cbx__asv_texts values; /* as points have them; NULL stands for a point without the tag */
} cbx__asv_parameter;

typedef struct cbx__asv_benchmark {
    const char *scenario, *point, *metric, *name;
    const char *type, *unit, *version;
    double times, per; /* asv's unit is the metric's times `times`, divided by `per`: both exact */
    cbx__asv_parameter *params;
    size_t nparams, combinations;
} cbx__asv_benchmark;

typedef struct cbx__asv_site {
    cbx_export_job *job;
    const cbx_run *const *runs;
    size_t nruns;
    cbx__asv_benchmark *list;
    size_t n, room;
} cbx__asv_site;

/* Fills the list: every metric that is wanted, with its parameters.  CBX_EINVAL: a unit changes between runs. */
cbx_status cbx__asv_find_benchmarks(cbx__asv_site *s, cbx_err *err);
/* Whether a point has a value of the benchmark. */
bool cbx__asv_is_of(const cbx__asv_benchmark *b, const cbx_point *p);
/* Place of a point among the combinations of parameters, the last one fastest. */
size_t cbx__asv_place_of(const cbx__asv_benchmark *b, const cbx_point *p);

cbx_status cbx__asv_no_memory(cbx_err *err);
/* Room for one more of n items; NULL: out of memory. */
void *cbx__asv_grown(cbx_arena *arena, void *items, size_t n, size_t *room, size_t size);
/* Adds a text that is not there yet; NULL is one. */
bool cbx__asv_add_text(cbx_arena *arena, cbx__asv_texts *l, const char *s);

#endif
