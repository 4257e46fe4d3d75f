/*
 * Any bytes as a gzip file: what comes out stays within its limit, what does not says why.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/storage/importers/gzip.h"
#include "fuzz.h"

#define MOST 100000

static cbx_status pour(void *user, const char *data, size_t n, cbx_err *err)
{
    cbx_text_add(user, data, n);
    return cbx_text_check(user, err);
}

typedef struct input {
    const uint8_t *data;
    size_t size, at;
} input;

/* In small pieces, so that they end everywhere. */
static cbx_status give(void *user, char *to, size_t room, size_t *got, cbx_err *err)
{
    input *in = user;
    size_t left = in->size - in->at, piece = 1 + in->at % 61;

    (void)err;
    *got = left < piece ? left : piece;
    if (*got > room) *got = room;
    if (*got) memcpy(to, in->data + in->at, *got);
    in->at += *got;
    return CBX_OK;
}

FUZZ_ENTRY()
{
    cbx_text out;
    input in = { data, size, 0 };
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    cbx_text_init(&out, cbx_allocator_default());
    st = cbx__gunzip(&(cbx__gunzip_ends){ give, &in, pour, &out }, MOST, "input", &err);
    if (out.len > MOST || (st && !err.message[0])) abort();
    cbx_text_clear(&out);
    return 0;
}
