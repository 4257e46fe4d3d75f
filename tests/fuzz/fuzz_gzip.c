/*
 * Any bytes as a gzip file: what comes out stays within its limit, a file that is refused gets a
 * message.
 */
#include <stdlib.h>

#include "calibrax/base/gzip.h"
#include "fuzz.h"

#define BYTES_MAX 100000

FUZZ_ENTRY()
{
    cbx_text out;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    cbx_text_init(&out, cbx_allocator_default());
    st = cbx_gzip_unpack(data, size, BYTES_MAX, "input", &out, &err);
    if (st ? !err.message[0] : out.len > BYTES_MAX) abort();
    cbx_text_clear(&out);
    return 0;
}
