/* gzip: what was packed comes back; torn, foreign and too much are named; the same bytes
 * each time. */
#include "check.h"

#include <stdlib.h>

#include "calibrax/base/gzip.h"
#include "fail_alloc.h"

static char *sample(size_t n)
{
    char *s = malloc(n + 1);

    for (size_t i = 0; i < n; i++) s[i] = (char)(i * 2654435761u >> (i % 3 ? 13 : 29));
    return s;
}

TEST(there_and_back)
{
    static const size_t sizes[] = { 0, 1, 1000, 65536, 300001 };

    for (size_t i = 0; i < CBX_LEN(sizes); i++) {
        char *s = sample(sizes[i]);
        cbx_text packed, again, out;
        cbx_err err = CBX_ERR_INIT;
        cbx_text_init(&packed, cbx_allocator_default());
        cbx_text_init(&again, cbx_allocator_default());
        cbx_text_init(&out, cbx_allocator_default());
        CHECK_OK(cbx_gzip_pack(s, sizes[i], &packed, &err), &err, "packs");
        CHECK_OK(cbx_gzip_pack(s, sizes[i], &again, &err), &err, "packs again");
        CHECK(packed.len == again.len && !memcmp(packed.data, again.data, packed.len), "the same bytes");
        cbx_text_puts(&out, "x");
        CHECK_OK(cbx_gzip_unpack(packed.data, packed.len, sizes[i], "it", &out, &err), &err, "unpacks");
        CHECK(out.len == sizes[i] + 1 && !memcmp(out.data + 1, s, sizes[i]), "what went in, behind what was there");
        if (sizes[i])
            CHECK_STATUS(cbx_gzip_unpack(packed.data, packed.len, sizes[i] - 1, "it", &out, &err), CBX_EOVERFLOW,
                         "too much");
        cbx_text_clear(&packed);
        cbx_text_clear(&again);
        cbx_text_clear(&out);
        free(s);
    }
}

TEST(damaged)
{
    char *s = sample(500);
    cbx_text packed, out;
    cbx_err err = CBX_ERR_INIT;

    cbx_text_init(&packed, cbx_allocator_default());
    cbx_text_init(&out, cbx_allocator_default());
    CHECK_OK(cbx_gzip_pack(s, 500, &packed, &err), &err, "packs");
    for (size_t cut = 0; cut < packed.len; cut++) {
        cbx_text_reset(&out);
        CHECK_STATUS(cbx_gzip_unpack(packed.data, cut, 1000, "it", &out, &err), CBX_EFORMAT, "cut anywhere");
    }
    CHECK(strstr(err.message, "'it'"), err.message);
    packed.data[packed.len - 6] ^= 1;
    CHECK_STATUS(cbx_gzip_unpack(packed.data, packed.len, 1000, "it", &out, &err), CBX_EFORMAT,
                 "the checksum is wrong");
    CHECK_STATUS(cbx_gzip_unpack("{}", 2, 1000, "it", &out, &err), CBX_EFORMAT, "no gzip");
    cbx_text_clear(&packed);
    cbx_text_clear(&out);
    free(s);
}

static cbx_status both(cbx_ctx *ctx, void *user)
{
    cbx_text packed, out;
    cbx_status st;

    cbx_text_init(&packed, cbx_ctx_allocator(ctx));
    cbx_text_init(&out, cbx_ctx_allocator(ctx));
    st = cbx_gzip_pack(user, 20, &packed, NULL);
    if (!st) st = cbx_gzip_unpack(packed.data, packed.len, 20, "it", &out, NULL);
    cbx_text_clear(&packed);
    cbx_text_clear(&out);
    return st;
}

TEST(memory)
{
    char words[] = "twenty letters and a";

    CHECK_GT(cbx_test_fail_each(both, words, "gzip"), 4, "allocations");
}

TESTS()
