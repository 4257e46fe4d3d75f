/*
 * What an export to MLflow is made of: names, values in batches, runs that are found or made.
 */
#ifndef CALIBRAX_EXPORTERS_MLFLOW_SESSION_H
#define CALIBRAX_EXPORTERS_MLFLOW_SESSION_H

#include "calibrax/base/arena.h"
#include "calibrax/base/list.h"
#include "calibrax/base/text.h"
#include "calibrax/core/run.h"
#include "calibrax/exporters/mlflow_answer.h"
#include "calibrax/exporters/mlflow_client.h"

enum { CBX__MLFLOW_NAME_MAX = 250 };

typedef struct cbx__mlflow_session {
    cbx__mlflow *server;
    const char *experiment; /* its id */
    const cbx_run *run;
    cbx_arena arena; /* of the run */
    cbx_text name;   /* the last one */
    CBX_LIST(cbx_tag) tags_in_order;
    int64_t page; /* runs that an answer may have: less where it was too long */
    size_t shortened, infinite;
    /* what waits to be sent, where to, and the first failure */
    const char *to;
    cbx_json *metrics, *params, *tags;
    cbx_status st;
    cbx_err *err;
} cbx__mlflow_session;

/* A session, whose server comes next; and its end, which closes the server. */
void cbx__mlflow_session_init(cbx__mlflow_session *e, const cbx_allocator *al);
void cbx__mlflow_session_clear(cbx__mlflow_session *e);

/* --- names, valid until the next one is made, and values, in the arena; NULL: out of memory --- */

/* "PREFIX/NAME/SCENARIO/POINT/TAG/VALUE..."; prefix NULL: none, point NULL: the name alone. */
const char *cbx__mlflow_name(cbx__mlflow_session *e, const char *prefix, const char *name, const cbx_point *p);
/* "regression/against/BASELINE/KEY": four parts, which no metric of a run has. */
const char *cbx__mlflow_name_against(cbx__mlflow_session *e, const char *baseline, const char *key);
/* What is longer than max bytes is cut, ends in a hash of it all, and is counted. */
const char *cbx__mlflow_fit(cbx__mlflow_session *e, const char *s, size_t max);

/* --- what is logged to a run: sent in batches and at the end; after a failure nothing is --- */

void cbx__mlflow_log_begin(cbx__mlflow_session *e, const char *to, cbx_err *err);
/* A name or value NULL: out of memory. */
void cbx__mlflow_log_param(cbx__mlflow_session *e, const char *name, const char *value);
void cbx__mlflow_log_tag(cbx__mlflow_session *e, const char *name, const char *value);
void cbx__mlflow_log_metric(cbx__mlflow_session *e, const char *name, double value, size_t step);
/* Sends the rest unless st is a failure.  @return st, or the first failure; nothing waits
 * afterwards */
cbx_status cbx__mlflow_log_end(cbx__mlflow_session *e, cbx_status st);

/* --- runs --- */

void cbx__mlflow_push_tag(cbx_json *list, const char *key, const char *value);
/* The runs that a filter finds, in the arena.  filter NULL: out of memory. */
cbx_status cbx__mlflow_list(cbx__mlflow_session *e, const char *filter, cbx__mlflow_remote **out, size_t *n,
                            cbx_err *err);
/* The one of them that is used (mlflow_answer.h), and how many there are; none: *out is left as
 * it is. */
cbx_status cbx__mlflow_find(cbx__mlflow_session *e, const char *filter, cbx__mlflow_remote *out, size_t *count,
                            cbx_err *err);
/* One that was deleted already is fine. */
cbx_status cbx__mlflow_delete(cbx__mlflow_session *e, const char *id, cbx_err *err);
/*
 * Makes a run.  Where an attempt fails in a way that may have made it, it is looked for before the
 * next one.  @param tags  taken; @param filter  that finds it by its tags
 */
cbx_status cbx__mlflow_make(cbx__mlflow_session *e, const char *name, cbx_json *tags, const char *filter,
                            cbx__mlflow_remote *out, cbx_err *err);
cbx_status cbx__mlflow_finish(cbx__mlflow_session *e, const char *id, cbx_err *err);
/* By its name, made if it is missing; the id is in `arena`. */
cbx_status cbx__mlflow_open_experiment(cbx__mlflow_session *e, const char *name, cbx_arena *arena, cbx_err *err);

#endif
