/*
 * Any bytes as a gzip file: what comes out stays within its limit, what does not says why.
 */
#include <stdint.h>
#include <stdlib.h>

#include "calibrax/storage/importers/gzip.h"

#define MOST 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cbx_text out;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    cbx_text_init(&out, cbx_allocator_default());
    st = cbx__gunzip((const char *)data, size, MOST, "input", &out, &err);
    if (out.len > MOST || (st && !err.message[0])) abort();
    cbx_text_clear(&out);
    return 0;
}
