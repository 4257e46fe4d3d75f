/* Fuzz entry of the PNG reader: whatever decodes has a shape and a dtype that can be written. */
#include <stdint.h>
#include <stdlib.h>

#include "calibrax/array/io/image.h"
#include "fuzz.h"

FUZZ_ENTRY()
{
    cbx_ctx *ctx = NULL;
    cbx_array *a = NULL;
    cbx_err err = CBX_ERR_INIT;

    if (cbx_ctx_create(NULL, &ctx, NULL)) return 0;
    if (!cbx_png_decode(ctx, data, size, (uint64_t)16 << 20, &a, &err)) {
        int ndim = cbx_array_ndim(a);
        if (cbx_array_dtype(a) != CBX_U8 && cbx_array_dtype(a) != CBX_U16) abort();
        if ((ndim != 2 && ndim != 3) || (ndim == 3 && cbx_array_dim(a, 2) > 4) || cbx_array_count(a) == 0) abort();
        if (cbx_array_bytes(a) > (size_t)16 << 20) abort();
    }
    cbx_array_free(a);
    cbx_ctx_free(ctx);
    return 0;
}
