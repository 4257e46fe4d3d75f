/*
 * Requests to web servers: libcurl (curl licence), loaded on first use.
 *
 * Proxies come from the environment as curl reads it (http_proxy, no_proxy), redirects are not
 * followed.  A connection is kept for the next request.
 * What is secret is in `bearer` and `password` of a request, which no message has.
 */
#ifndef CALIBRAX_BASE_HTTP_H
#define CALIBRAX_BASE_HTTP_H

#include "calibrax/base/ctx.h"
#include "calibrax/base/text.h"

typedef struct cbx__http cbx__http;

typedef struct cbx__http_request {
    const char *method; /* "GET", "POST", "PUT" */
    const char *url;
    const char *type; /* of the body, "application/json"; NULL: no body */
    const char *body;
    size_t len;
    bool once;          /* never sent twice: libcurl does so where a connection that was kept ends without an answer */
    const char *bearer; /* a token; NULL: none */
    const char *user, *password; /* NULL: none */
    const char *certificates;    /* a PEM file, or a folder, of those that are trusted; NULL: the system's */
    bool insecure;               /* the certificate of the server is not checked */
    const char *certificates_by; /* the variable that sets `certificates`, for messages; NULL: none */
} cbx__http_request;

typedef struct cbx__http_answer {
    long status;
    double retry_after_s; /* that the server asks for; NaN: it does not */
    cbx_text *body;       /* the caller's, emptied first; NULL: the body is not used */
} cbx__http_answer;

/*
 * @param what  names the server in messages together with its address: "the webhook"
 * @param shown  that address; it must begin with http:// or https://
 * @param timeout_s  of a request with its answer, > 0
 * @return CBX_OK; CBX_EINVAL (an address of another kind); CBX_EUNAVAILABLE (no libcurl);
 *   CBX_ENOMEM
 */
cbx_status cbx__http_create(cbx_ctx *ctx, const char *what, const char *shown, double timeout_s, cbx__http **out,
                            cbx_err *err);
/* NULL is fine. */
void cbx__http_free(cbx__http *h);
/*
 * @return CBX_OK, whatever the status of the answer is; CBX_ETIMEOUT; CBX_EIO (it cannot be
 *   reached); CBX_EPROTO (its certificate is not trusted); CBX_EOVERFLOW (an answer of more than 64
 *   MiB); CBX_ENOMEM
 */
cbx_status cbx__http_send(cbx__http *h, const cbx__http_request *request, cbx__http_answer *answer, cbx_err *err);

#endif
