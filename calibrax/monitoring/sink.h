/**
 * Receivers of alerts: a file of JSON lines, a command, a webhook.  They receive the object of
 * cbx_alert_json.
 *
 * One thread uses a sink, and its ctx, at a time; sending blocks until the receiver has accepted
 * the alert or the time is up, so that a lost alert is an error.  Since 0.1.
 */
#ifndef CALIBRAX_MONITORING_SINK_H
#define CALIBRAX_MONITORING_SINK_H

#include "calibrax/monitoring/alert.h"

CBX_BEGIN_DECLS

typedef enum cbx_sink_kind {
    CBX_SINK_FILE, /* appended, one line an alert, each by one write, to what bears the name then; a pipe or a device is written as it is */
    CBX_SINK_COMMAND, /* run by `sh -c` for each alert, with the line on its standard input; any status but 0 is a failure */
    CBX_SINK_WEBHOOK /* POST, application/json, http or https through libcurl loaded on first use; any answer but 2xx is a failure */
} cbx_sink_kind;

#define CBX_SINK_TIMEOUT_S 10

typedef struct cbx_sink cbx_sink;

/**
 * @param target     path, command or address; copied
 * @param timeout_s  of one alert, command and webhook, > 0; CBX_SINK_TIMEOUT_S
 * @return CBX_OK; CBX_EINVAL (empty target, an address that is neither http nor https, a time that
 *         is not above 0); CBX_EUNAVAILABLE (no libcurl); CBX_EPERM, CBX_ENOENT, CBX_EIO (the
 *         file); CBX_ENOMEM
 */
CBX_API cbx_status cbx_sink_create(cbx_ctx *ctx, cbx_sink_kind kind, const char *target, double timeout_s,
                                   cbx_sink **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_sink_free(cbx_sink *s);
/**
 * @param time_us  microseconds since 1970
 * @return CBX_OK: taken; CBX_EIO, CBX_ENOSPC (the file; no answer from the webhook); CBX_ECHILD
 *         (the command failed); CBX_ETIMEOUT; CBX_EPROTO (the webhook's answer is not 2xx);
 *         CBX_ENOMEM
 */
CBX_API cbx_status cbx_sink_send(cbx_sink *s, const cbx_alert *alert, int64_t time_us, cbx_err *err);

CBX_END_DECLS
#endif
