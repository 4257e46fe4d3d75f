/* Content hash against xxHash's own published values. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/file.h"
#include "calibrax/base/hash.h"
#include "fail_alloc.h"

static char folder[64];

/* Generator of xxHash's sanity buffer (xxHash cli/xsum_sanity_check.c). */
static void sanity_buffer(unsigned char *buffer, size_t n)
{
    uint64_t byte_gen = 2654435761u;
    for (size_t i = 0; i < n; i++) {
        buffer[i] = (unsigned char)(byte_gen >> 56);
        byte_gen *= 11400714785074694797u;
    }
}

TEST(published_values)
{
    /* xxHash 0.8 cli/xsum_sanity_check.c, XSUM_XXH128_testdata, seed 0: low and high half */
    static const struct {
        size_t len;
        const char *hash;
    } cases[] = {
        { 0, "99aa06d3014798d86001c324468d497f" },   { 1, "a6cd5e9392000f6ac44bdff4074eecdb" },
        { 6, "082afe0b8162d12a3e7039bdda43cfc6" },   { 12, "6e3efd8fc7802b18061a192713f69ad9" },
        { 24, "0ce966e4678d37611e7044d28b1b901d" },  { 48, "a002ac4e5478227ef942219aed80f67b" },
        { 81, "4952f58181ab00425e8bafb9f95fb803" },  { 222, "337e09641b948717f1aebd597cec6b3a" },
        { 403, "1b6de21e332dd73dcdeb804d65c6dea4" },
    };
    unsigned char buffer[403];
    char out[CBX_HASH_SIZE];
    sanity_buffer(buffer, sizeof buffer);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_hash_bytes(buffer, cases[i].len, out);
        CHECK_STR(out, cases[i].hash, "published");
    }
}

TEST(file_equals_bytes)
{
    static const size_t sizes[] = { 0, 1, 65535, 65536, 65537, 200000 };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    char path[128], a[CBX_HASH_SIZE], b[CBX_HASH_SIZE] = "kept";
    unsigned char *data = malloc(200000);
    sanity_buffer(data, 200000);
    snprintf(path, sizeof path, "%s/f", folder);
    CHECK_STATUS(cbx_hash_file(ctx, path, b, &err), CBX_ENOENT, "no file");
    CHECK_STATUS(cbx_hash_file(ctx, folder, b, &err), CBX_EIO, "a folder");
    CHECK_STR(b, "kept", "out untouched");
    for (size_t i = 0; i < CBX_LEN(sizes); i++) {
        CHECK_OK(cbx_file_write_atomic(ctx, path, data, sizes[i], &err), &err, "write");
        CHECK_OK(cbx_hash_file(ctx, path, a, &err), &err, "hash");
        cbx_hash_bytes(data, sizes[i], b);
        CHECK_STR(a, b, "file and bytes");
    }
    free(data);
    cbx_ctx_free(ctx);
}

static cbx_status hash_it(cbx_ctx *ctx, void *path)
{
    char out[CBX_HASH_SIZE];
    cbx_err err = CBX_ERR_INIT;
    return cbx_hash_file(ctx, path, out, &err);
}

TEST(every_allocation_can_fail)
{
    char path[128];
    snprintf(path, sizeof path, "%s/f", folder);
    CHECK_GT(cbx_test_fail_each(hash_it, path, "hash"), 0, "its buffer");
}

static int make_folder(void **state) { return (void)state, cbx_test_folder(folder) == NULL; }
static int remove_folder(void **state) { return (void)state, cbx_test_folder_remove(folder), 0; }

TESTS(.before = make_folder, .after = remove_folder)
