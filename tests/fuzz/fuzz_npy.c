/* Fuzz entry of the NPY reader: whatever decodes must come back unchanged from what we write
 * of it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/io/npy.h"
#include "fuzz.h"

static void *must(void *p)
{
    if (!p) abort();
    return p;
}

static void compare(cbx_ctx *ctx, const cbx_array *a)
{
    size_t head = 0, bytes = cbx_array_bytes(a);
    cbx_array *b = NULL;

    if (cbx_npy_make_header(cbx_array_get_desc(a), NULL, 0, &head, NULL)) abort();
    char *file = must(malloc(head + bytes));
    if (cbx_npy_make_header(cbx_array_get_desc(a), file, head, NULL, NULL)) abort();
    cbx__array_pack(a, 0, cbx_array_count(a), file + head);
    if (cbx_npy_decode(ctx, file, head + bytes, &b, NULL)) abort();
    if (!cbx_array_desc_equal(cbx_array_get_desc(a), cbx_array_get_desc(b))) abort();
    if (bytes && memcmp(cbx_array_data(b), file + head, bytes) != 0) abort();
    cbx_array_free(b);
    free(file);
}

FUZZ_ENTRY()
{
    cbx_ctx *ctx = NULL;
    cbx_array *a = NULL;
    cbx_err err = CBX_ERR_INIT;

    if (cbx_ctx_create(NULL, &ctx, NULL)) return 0;
    if (!cbx_npy_decode(ctx, data, size, &a, &err)) compare(ctx, a);
    cbx_array_free(a);
    cbx_ctx_free(ctx);
    return 0;
}
