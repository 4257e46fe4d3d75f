/*
 * What an export to MLflow is made of: names, values in batches, runs that are found or made.
 */
#ifndef CALIBRAX_EXPORTERS_MLFLOW_SESSION_H
#define CALIBRAX_EXPORTERS_MLFLOW_SESSION_H

#include "calibrax/base/arena.h"
#include "calibrax/core/run.h"
#include "calibrax/exporters/mlflow_client.h"

enum { CBX__MLFLOW_NAME_MAX = 250 };

/* A run on the server. */
typedef struct cbx__mlflow_remote {
    const char *id, *artifacts; /* the address of its artifacts */
    bool finished, complete;    /* by its status; by our tag */
} cbx__mlflow_remote;

typedef struct cbx__mlflow_session {
    cbx__mlflow *server;
    const char *experiment; /* its id */
    const cbx_run *run;
    cbx_arena arena; /* of the run */
    size_t shortened, infinite;
    /* what waits to be sent, and where to */
    const char *to;
    cbx_json *metrics, *params, *tags;
} cbx__mlflow_session;

/* --- names and values: in the arena; NULL: out of memory --- */

/* "PREFIX/NAME/SCENARIO/POINT/TAG/VALUE..."; prefix NULL: none, point NULL: the name alone. */
const char *cbx__mlflow_name(cbx__mlflow_session *e, const char *prefix, const char *name, const cbx_point *p);
/* What is longer than max bytes is cut, ends in a hash of it all, and is counted. */
const char *cbx__mlflow_fit(cbx__mlflow_session *e, const char *s, size_t max);

/* --- what is logged to a run: sent when there is a batch of it, and at the end --- */

void cbx__mlflow_log_begin(cbx__mlflow_session *e, const char *to);
/* A name NULL: out of memory. */
cbx_status cbx__mlflow_log_param(cbx__mlflow_session *e, const char *name, const char *value, cbx_err *err);
cbx_status cbx__mlflow_log_tag(cbx__mlflow_session *e, const char *name, const char *value, cbx_err *err);
cbx_status cbx__mlflow_log_metric(cbx__mlflow_session *e, const char *name, double value, size_t step, cbx_err *err);
/* Sends the rest unless st is a failure, and returns it; nothing waits afterwards. */
cbx_status cbx__mlflow_log_end(cbx__mlflow_session *e, cbx_status st, cbx_err *err);

/* --- runs --- */

void cbx__mlflow_push_tag(cbx_json *list, const char *key, const char *value);
/* The tag of a run in an answer; NULL: it has none. */
const char *cbx__mlflow_tag_of(const cbx_json *run, const char *key);
/* What an answer has of a run. */
cbx_status cbx__mlflow_take(cbx__mlflow_session *e, const cbx_json *run, cbx__mlflow_remote *out, cbx_err *err);
/* A page of the runs that a filter finds, oldest first; *token NULL: the first one, and afterwards
 * NULL where it is the last.  The caller unrefs *out. */
cbx_status cbx__mlflow_search(cbx__mlflow_session *e, const char *filter, const char **token, cbx_json **out,
                              cbx_err *err);
/* The first of them. */
cbx_status cbx__mlflow_find(cbx__mlflow_session *e, const char *filter, cbx__mlflow_remote *out, bool *found,
                            cbx_err *err);
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
