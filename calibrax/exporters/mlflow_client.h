/*
 * Calls of MLflow's REST API 2.0, again after failures that may pass: no connection, no answer in
 * time, 408, 429 and 5xx.  Waits between attempts double from a quarter of a second, or are what
 * the server asks for.
 *
 * Credentials come from MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and
 * MLFLOW_TRACKING_PASSWORD, and are in no message.  Certificates that are trusted come from
 * MLFLOW_TRACKING_SERVER_CERT_PATH; MLFLOW_TRACKING_INSECURE_TLS trusts any.
 */
#ifndef CALIBRAX_EXPORTERS_MLFLOW_CLIENT_H
#define CALIBRAX_EXPORTERS_MLFLOW_CLIENT_H

#include "calibrax/base/ctx.h"
#include "calibrax/base/json.h"

typedef struct cbx__mlflow cbx__mlflow;

/* @return as cbx__http_create; CBX_EINVAL also for a user in the address, and for variables of
 * certificates that are wrong */
cbx_status cbx__mlflow_open(cbx_ctx *ctx, const char *uri, double timeout_s, cbx__mlflow **out, cbx_err *err);
/* NULL is fine. */
void cbx__mlflow_close(cbx__mlflow *m);
const char *cbx__mlflow_address(const cbx__mlflow *m); /* without a slash at its end */
/* Whether anybody may be the server: its certificate is not checked. */
bool cbx__mlflow_is_unchecked(const cbx__mlflow *m);

/*
 * POST of a body, which it takes (NULL: GET), to "runs/search"; what it answers goes to *out for
 * the caller, unless out is NULL.
 * @return CBX_OK; CBX_ENOENT and CBX_EEXIST (the server's RESOURCE_DOES_NOT_EXIST,
 *   RESOURCE_ALREADY_EXISTS); CBX_EPERM (401, 403); CBX_EPROTO (another failure, no answer of
 *   MLflow, or a certificate that is not trusted); CBX_EIO, CBX_ETIMEOUT; CBX_ENOMEM
 */
cbx_status cbx__mlflow_call(cbx__mlflow *m, const char *call, cbx_json *body, cbx_json **out, cbx_err *err);
/* The same of what must not be done twice, attempt number 0, 1, ...: after a failure that may pass
 * *again is set and the wait is over, and the caller looks what became of it. */
cbx_status cbx__mlflow_call_once(cbx__mlflow *m, const char *call, cbx_json *body, int attempt, bool *again,
                                 cbx_json **out, cbx_err *err);
/* Puts a file to the server's own store of artifacts: a path below it, as it is in its
 * addresses. */
cbx_status cbx__mlflow_put(cbx__mlflow *m, const char *path, const char *bytes, size_t len, cbx_err *err);

#endif
