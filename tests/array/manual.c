/* Arrays as text, and examples run in a scope of their own. */
#include "manual.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT_MAX 2000

static void put_real(char *to, size_t size, double v)
{
    if (v == 0) v = 0; /* one zero is enough for reading */
    snprintf(to, size, isnan(v) ? "nan" : isinf(v) ? (v > 0 ? "inf" : "-inf") : "%.6g", v);
}

static void put_element(char *to, size_t size, cbx_dtype t, const unsigned char *at)
{
    const float *f = (const float *)(const void *)at;
    const double *d = (const double *)(const void *)at;
    char re[40], im[40];
    int64_t whole = 0;
    uint64_t bits = 0;

    switch (t) {
    case CBX_BOOL: snprintf(to, size, "%s", *at ? "true" : "false"); return;
    case CBX_F32: put_real(to, size, (double)*f); return;
    case CBX_F64: put_real(to, size, *d); return;
    case CBX_C64:
    case CBX_C128:
        put_real(re, sizeof re, t == CBX_C64 ? (double)f[0] : d[0]);
        put_real(im, sizeof im, t == CBX_C64 ? (double)f[1] : d[1]);
        snprintf(to, size, "%s%s%si", re, im[0] == '-' ? "" : "+", im);
        return;
    default: break;
    }
    memcpy(&bits, at, cbx_dtype_size(t));
    memcpy(&whole, &bits, sizeof whole);
    if (cbx_dtype_is_unsigned(t)) {
        snprintf(to, size, "%llu", (unsigned long long)bits);
    } else {
        const int unused = 64 - 8 * (int)cbx_dtype_size(t);
        snprintf(to, size, "%lld", (long long)((int64_t)(bits << unused) >> unused));
    }
}

static void describe(const cbx_array *x, char *text)
{
    const cbx_array_desc *d = cbx_array_get_desc(x);
    const size_t bytes = cbx_array_bytes(x), n = cbx_array_count(x);
    unsigned char *data = malloc(bytes + 16);
    size_t at;

    CHECK(data != NULL && bytes < TEXT_MAX, "an example is small");
    cbx_array_desc_text(d, text, TEXT_MAX);
    at = strlen(text);
    at += (size_t)snprintf(text + at, TEXT_MAX - at, d->ndim ? " [" : " ");
    CHECK_OK(cbx_array_read(x, data, bytes, NULL), (&(cbx_err){ 0 }), "an example's array is read");
    for (size_t i = 0; i < n && at < TEXT_MAX - 80; i++) {
        if (i) at += (size_t)snprintf(text + at, TEXT_MAX - at, ", ");
        put_element(text + at, TEXT_MAX - at, d->dtype, data + i * cbx_dtype_size(d->dtype));
        at += strlen(text + at);
    }
    if (d->ndim) snprintf(text + at, TEXT_MAX - at, "]");
    free(data);
}

void manual_holds(cbx_ctx *c, const cbx_array *x, const char *text, int line)
{
    char found[TEXT_MAX];
    cbx_err err = CBX_ERR_INIT;

    if (cbx_array_is_failed(x)) {
        cbx_ctx_pending(c, &err);
        fail_msg("line %d: not %s, but '%s'", line, text, err.message);
    }
    if (cbx_array_is_abstract(x)) {
        cbx_array_desc_text(cbx_array_get_desc(x), found, sizeof found);
        strcat(found, " abstract");
    } else {
        describe(x, found);
    }
    if (strcmp(found, text) != 0) fail_msg("line %d: not %s, but %s", line, text, found);
}

void manual_run(void (*body)(cbx_ctx *c), cbx_status status, const char *words, int line)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *c = cbx_test_context();
    cbx_scope scope;

    cbx_scope_open(c, &scope);
    body(c);
    if (cbx_scope_close(&scope, &err) != status)
        fail_msg("the block at line %d ends with '%s', not with %s", line, err.message, cbx_status_name(status));
    if (words && !strstr(err.message, words))
        fail_msg("the block at line %d: '%s' lacks '%s'", line, err.message, words);
    cbx_ctx_free(c);
}
