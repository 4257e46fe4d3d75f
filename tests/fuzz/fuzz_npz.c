/* Fuzz entry of the NPZ reader: every member of whatever opens is read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/io/npz.h"
#include "fuzz.h"

#define MOST_BYTES ((uint64_t)16 << 20)

static void read_member(cbx_npz *z, size_t i)
{
    cbx_array *a = NULL, *b = NULL;
    cbx_err err = CBX_ERR_INIT;

    if (cbx_npz_read_at(z, i, &a, &err)) return;
    if (cbx_array_bytes(a) > MOST_BYTES) abort();
    if (cbx_npz_read(z, cbx_npz_name(z, i), &b, &err))
        abort(); /* names are distinct, so that each leads to its member */
    if (!cbx_array_desc_equal(cbx_array_get_desc(a), cbx_array_get_desc(b))) abort();
    if (cbx_array_bytes(a) && memcmp(cbx_array_data(a), cbx_array_data(b), cbx_array_bytes(a)) != 0) abort();
    cbx_array_free(a);
    cbx_array_free(b);
}

FUZZ_ENTRY()
{
    cbx_npz_opts opts = CBX_NPZ_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = NULL;
    cbx_npz *z = NULL;

    opts.max_array_bytes = MOST_BYTES;
    if (cbx_ctx_create(NULL, &ctx, NULL)) return 0;
    if (!cbx_npz_open_memory(ctx, data, size, &opts, &z, &err))
        for (size_t i = 0; i < cbx_npz_count(z); i++) read_member(z, i);
    cbx_npz_close(z);
    cbx_ctx_free(ctx);
    return 0;
}
