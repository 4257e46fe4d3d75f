/* POST of a JSON line by libcurl, whose types stay in webhook.c. */
#ifndef CALIBRAX_MONITORING_WEBHOOK_H
#define CALIBRAX_MONITORING_WEBHOOK_H

#include "calibrax/base/ctx.h"

typedef struct cbx__webhook cbx__webhook;

cbx_status cbx__webhook_create(cbx_ctx *ctx, const char *url, double timeout_s, cbx__webhook **out, cbx_err *err);
void cbx__webhook_free(cbx__webhook *w);
cbx_status cbx__webhook_post(cbx__webhook *w, const char *body, size_t len, cbx_err *err);

#endif
