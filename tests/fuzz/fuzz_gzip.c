/*
 * Any bytes as a gzip file: what comes out stays within its limit, what does not says why.
 */
#include <stdint.h>
#include <stdlib.h>

#include "calibrax/storage/importers/gzip.h"

#define MOST 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static cbx_status pour(void *user, const char *data, size_t n, cbx_err *err)
{
    cbx_text_add(user, data, n);
    return cbx_text_check(user, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cbx_text out;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    cbx_text_init(&out, cbx_allocator_default());
    st = cbx__gunzip((const char *)data, size, MOST, "input", pour, &out, &err);
    if (out.len > MOST || (st && !err.message[0])) abort();
    cbx_text_clear(&out);
    return 0;
}
