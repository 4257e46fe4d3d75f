/*
 * What an MLflow server answers, read and checked: nothing of it is used that its API does not
 * define, since a proxy may answer in its place.
 */
#ifndef CALIBRAX_EXPORTERS_MLFLOW_ANSWER_H
#define CALIBRAX_EXPORTERS_MLFLOW_ANSWER_H

#include "calibrax/base/arena.h"
#include "calibrax/base/json.h"

/* A run on the server. */
typedef struct cbx__mlflow_remote {
    const char *id, *artifacts;     /* the address of its artifacts */
    const char *point;              /* our tag: the number of the point that it is of; NULL: none */
    bool finished, complete, empty; /* by its status; by our tag; has neither metrics nor parameters */
} cbx__mlflow_remote;

/*
 * Reads an answer to a call ("runs/search", "artifacts").
 * @param code   its status of HTTP
 * @param again  whether the failure may pass
 * @param out    an object for the caller, on success; NULL: it is only checked
 * @return as cbx__mlflow_call
 */
cbx_status cbx__mlflow_answer_read(const char *address, const char *call, long code, const char *text, size_t len,
                                   bool *again, cbx_json **out, cbx_err *err);

/* What an answer has of a run, copied to the arena.  false: out of memory. */
bool cbx__mlflow_remote_read(cbx_arena *arena, const cbx_json *run, cbx__mlflow_remote *out);
/* Whether a is used rather than b, of two that hold the same: what is complete, finished, not
 * empty, else the smaller id.  Every export chooses the same one. */
bool cbx__mlflow_remote_precedes(const cbx__mlflow_remote *a, const cbx__mlflow_remote *b);

#endif
