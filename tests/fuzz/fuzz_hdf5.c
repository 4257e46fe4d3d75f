/*
 * Any bytes as an HDF5 file, of which everything is read.  What comes out is an array of the form
 * that was told before, or a sentence.
 *
 * libhdf5 itself is not made to withstand forged files (hdf5.h): a finding whose frames are all the
 * library's is none of ours, and tests/array/test_hdf5_forged.c counts those.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/io/hdf5.h"
#include "files.h"
#include "fuzz.h"

#define DEPTH      3
#define BYTES_MOST ((uint64_t)16 << 20)

static void require(bool good)
{
    if (!good) abort();
}

static void read_dataset(cbx_h5 *h, const char *path, cbx_arena *arena)
{
    const char *const *texts = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_array *a = NULL;
    cbx_h5_info info;
    size_t n = 0;

    if (cbx_h5_stat(h, path, &info, &err)) return;
    require(memchr(info.units, 0, sizeof info.units) != NULL);
    if (!info.text && !cbx_h5_read(h, path, &a, &err)) {
        require(cbx_array_desc_equal(cbx_array_get_desc(a), &info.desc) && cbx_array_bytes(a) <= BYTES_MOST);
        cbx_array_free(a);
    }
    if (!cbx_h5_read_text(h, path, arena, &texts, &n, &err))
        for (size_t i = 0; i < n; i++) require(texts[i] != NULL);
}

static void read_all(cbx_h5 *h, const char *path, cbx_arena *arena, int depth)
{
    static const char *const names[] = { "units", "title" };
    const cbx_h5_entry *entries = NULL;
    const char *const *texts = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_array *a = NULL;
    size_t n = 0;

    for (size_t i = 0; i < CBX_LEN(names); i++) {
        if (!cbx_h5_get_attr(h, path, names[i], &a, &err)) cbx_array_free(a);
        cbx_h5_get_attr_text(h, path, names[i], arena, &texts, &n, &err);
    }
    read_dataset(h, path, arena);
    if (depth == 0 || cbx_h5_list(h, path, arena, &entries, &n, &err)) return;
    for (size_t i = 0; i < n; i++)
        read_all(h, cbx_arena_printf(arena, "%s/%s", path, entries[i].name), arena, depth - 1);
}

FUZZ_ENTRY(.most = 200, .cut_only = true)
{
    static const char *const files[] = { "input.h5" };
    static cbx_ctx *ctx;
    cbx_h5_opts opts = CBX_H5_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    cbx_h5 *h = NULL;
    cbx_arena arena;
    char path[128];

    if (size > 65536) return 0;
    if (!ctx) require(cbx_ctx_create(NULL, &ctx, NULL) == CBX_OK);
    snprintf(path, sizeof path, "%s/%s", fuzz_files_folder(files, CBX_LEN(files)), files[0]);
    fuzz_files_put(data, size);
    opts.max_array_bytes = BYTES_MOST;
    if (cbx_h5_open(ctx, path, CBX_H5_READ, &opts, &h, &err)) {
        require(err.message[0] && !strchr(err.message, '\n'));
        return 0;
    }
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    read_all(h, "", &arena, DEPTH);
    cbx_arena_clear(&arena);
    cbx_h5_close(h);
    return 0;
}
