/*
 * HDF5: files of h5py's (tests/fixtures/hdf5, made by scripts/fixtures/make_hdf5_files.py) read as
 * the NPY files they were made of, what we write we read, and nothing changes before the commit.
 * check_hdf5.py puts h5py on the other side, test_hdf5_forged.c forges files.
 */
#include "check.h"

#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/io/hdf5.h"
#include "calibrax/array/io/npy.h"
#include "calibrax/array/ops.h"
#include "calibrax/base/file.h"
#include "fail_alloc.h"
#include "io_support.h"

static cbx_arena arena; /* what a test makes stays until the end */

static int set_up(void **state)
{
    cbx_arena_init(&arena, cbx_allocator_default());
    return io_set_up(state);
}

static int tear_down(void **state)
{
    cbx_arena_clear(&arena);
    return io_tear_down(state);
}

static cbx_h5 *opened(const char *path, cbx_h5_mode mode)
{
    cbx_h5 *h = NULL;
    cbx_status st = cbx_h5_open(ctx, path, mode, NULL, &h, &err);
    CHECK_OK(st, &err, path);
    return h;
}

/* --- reading h5py's file --- */

TEST(h5pys_arrays_are_the_npy_files)
{
    cbx_h5 *h = opened(fixture("hdf5/h5py.h5"), CBX_H5_READ);
    const cbx_h5_entry *all = NULL;
    size_t n = 0;
    CHECK_OK(cbx_h5_list(h, "npy", &arena, &all, &n, &err), &err, "list");
    CHECK_INT(n, 20, "datasets");
    for (size_t i = 0; i < n; i++) {
        cbx_array *a = NULL, *b = NULL;
        CHECK_INT(all[i].kind, CBX_H5_DATASET, all[i].name);
        CHECK_OK(cbx_h5_read(h, cbx_arena_printf(&arena, "/npy/%s", all[i].name), &a, &err), &err, all[i].name);
        CHECK_OK(cbx_npy_read(ctx, fixture(cbx_arena_printf(&arena, "npy/%s.npy", all[i].name)), &b, &err), &err,
                 all[i].name);
        check_same(a, b, all[i].name);
        cbx_array_free(a);
        cbx_array_free(b);
    }
    cbx_h5_close(h);
}

TEST(every_packing_is_unpacked)
{
    static const struct {
        const char *name;
        cbx_h5_packing packing;
        bool shuffled;
        size_t chunk[2]; /* 0: not chunked */
    } cases[] = {
        { "plain", CBX_H5_PLAIN, false, { 0 } },         { "chunked", CBX_H5_PLAIN, false, { 7, 30 } },
        { "deflate", CBX_H5_DEFLATE, false, { 7, 16 } }, { "shuffled", CBX_H5_DEFLATE, true, { 24, 10 } },
        { "lzf", CBX_H5_LZF, false, { 7, 16 } },         { "lzf_shuffled", CBX_H5_LZF, true, { 7, 30 } },
        { "growing", CBX_H5_PLAIN, false, { 8, 30 } },   { "checked", CBX_H5_OTHER_FILTERS, false, { 7, 16 } },
    };
    static const char *const files[] = { "hdf5/h5py.h5", "hdf5/latest.h5" };
    for (size_t k = 0; k < CBX_LEN(files); k++) {
        cbx_h5 *h = opened(fixture(files[k]), CBX_H5_READ);
        for (size_t i = 0; i < CBX_LEN(cases); i++) {
            const char *name = cbx_arena_printf(&arena, "/packed/%s", cases[i].name);
            cbx_array *a = NULL, *f;
            cbx_h5_info info;
            cbx_scope scope;
            CHECK_OK(cbx_h5_stat(h, name, &info, &err), &err, name);
            CHECK_INT(info.packing, cases[i].packing, name);
            CHECK_INT(info.shuffled, cases[i].shuffled, name);
            CHECK_INT(info.chunked, cases[i].chunk[0] > 0, name);
            CHECK(info.chunk[0] == cases[i].chunk[0] && info.chunk[1] == cases[i].chunk[1], name);
            CHECK(info.desc.ndim == 2 && info.desc.shape[0] == 24 && info.desc.shape[1] == 30 && !info.text, name);
            CHECK_OK(cbx_h5_read(h, name, &a, &err), &err, name);
            cbx_scope_open(ctx, &scope);
            f = cbx_astype(ctx, a, CBX_F64);
            for (size_t j = 0; j < 720; j++)
                if (((const double *)cbx_array_data(f))[j] != (double)j) fail_msg("%s: element %zu is wrong", name, j);
            CHECK_OK(cbx_scope_close(&scope, &err), &err, name);
            cbx_array_free(a);
        }
        cbx_array *a = NULL;
        CHECK_OK(cbx_h5_read(h, "/packed/unpackable", &a, &err), &err, "chunks that LZF could not shorten");
        CHECK_INT(cbx_array_count(a), 1000, "all of it");
        cbx_array_free(a);
        cbx_h5_close(h);
    }
}

TEST(slabs)
{
    static const struct {
        cbx_h5_slab slab;
        const char *why;
    } good[] = {
        { { { 0, 0 }, { 24, 30 }, { 0 } }, "everything" },
        { { { 3, 5 }, { 4, 7 }, { 1, 1 } }, "a part that crosses chunks" },
        { { { 1, 2 }, { 8, 4 }, { 3, 9 } }, "with steps" },
        { { { 23, 29 }, { 1, 1 }, { 0 } }, "the last one" },
        { { { 7, 16 }, { 7, 14 }, { 1, 1 } }, "one chunk" },
        { { { 24, 0 }, { 0, 30 }, { 0 } }, "nothing, behind the end" },
        { { { 0, 0 }, { 0, 0 }, { 0 } }, "nothing" },
    };
    static const struct {
        cbx_h5_slab slab;
        const char *word;
    } bad[] = {
        { { { 24, 0 }, { 1, 1 }, { 0 } }, "axis 0" },
        { { { 0, 20 }, { 1, 11 }, { 0 } }, "axis 1" },
        { { { 0, 0 }, { 9, 1 }, { 3, 1 } }, "axis 0" },
        { { { 25, 0 }, { 0, 1 }, { 0 } }, "axis 0" },
        { { { 0, SIZE_MAX }, { 1, 2 }, { 0 } }, "axis 1" },
        { { { 0, 1 }, { 1, SIZE_MAX }, { 1, SIZE_MAX } }, "axis 1" },
    };
    static const char *const names[] = { "/packed/plain", "packed/deflate", "/packed/lzf" };
    cbx_h5 *h = opened(fixture("hdf5/h5py.h5"), CBX_H5_READ);
    for (size_t k = 0; k < CBX_LEN(names); k++) {
        for (size_t i = 0; i < CBX_LEN(good); i++) {
            const cbx_h5_slab *s = &good[i].slab;
            cbx_array *a = NULL;
            CHECK_OK(cbx_h5_read_slab(h, names[k], s, &a, &err), &err, good[i].why);
            CHECK(cbx_array_dim(a, 0) == s->count[0] && cbx_array_dim(a, 1) == s->count[1], good[i].why);
            for (size_t r = 0; r < s->count[0]; r++)
                for (size_t c = 0; c < s->count[1]; c++) {
                    size_t row = s->start[0] + r * (s->step[0] ? s->step[0] : 1),
                           col = s->start[1] + c * (s->step[1] ? s->step[1] : 1);
                    CHECK_INT(((const int32_t *)cbx_array_data(a))[r * s->count[1] + c], row * 30 + col, good[i].why);
                }
            cbx_array_free(a);
        }
        for (size_t i = 0; i < CBX_LEN(bad); i++) {
            cbx_array *a = NULL;
            CHECK_STATUS(cbx_h5_read_slab(h, names[k], &bad[i].slab, &a, &err), CBX_EINVAL, bad[i].word);
            CHECK(strstr(err.message, bad[i].word) && strstr(err.message, names[k]), err.message);
            CHECK(a == NULL, "out is untouched");
        }
    }
    cbx_h5_close(h);
}

TEST(text)
{
    static const struct {
        const char *name, *words[3];
        size_t count;
    } cases[] = {
        { "text/variable", { "größe µ" }, 1 },
        { "text/fixed", { "ab", "", "12345678" }, 3 },
        { "/text/array", { "one", "", "three µ" }, 3 },
        { "/text/blanks", { "ab  " }, 1 }, /* h5py pads with NUL: blanks are content */
        { "/text/null", { NULL }, 0 },
    };
    cbx_h5 *h = opened(fixture("hdf5/h5py.h5"), CBX_H5_READ);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const char *const *words = NULL;
        size_t n = 99;
        cbx_array *a = NULL;
        cbx_h5_info info;
        CHECK_OK(cbx_h5_read_text(h, cases[i].name, &arena, &words, &n, &err), &err, cases[i].name);
        CHECK_INT(n, cases[i].count, cases[i].name);
        for (size_t j = 0; j < n; j++) CHECK_STR(words[j], cases[i].words[j], cases[i].name);
        CHECK_STATUS(cbx_h5_read(h, cases[i].name, &a, &err), n ? CBX_EDTYPE : CBX_EUNSUPPORTED, cases[i].name);
        if (n) CHECK_OK(cbx_h5_stat(h, cases[i].name, &info, &err), &err, cases[i].name);
        CHECK(!n || info.text, "reported as text");
    }
    const char *const *words = NULL;
    size_t n = 0;
    CHECK_STATUS(cbx_h5_read_text(h, "npy/v1_int8", &arena, &words, &n, &err), CBX_EDTYPE, "numbers are no text");
    cbx_h5_close(h);
}

TEST(attributes)
{
    cbx_h5 *h = opened(fixture("hdf5/h5py.h5"), CBX_H5_READ);
    const char *const *words = NULL, *q = "/attributes/q";
    size_t n = 0;
    cbx_array *a = NULL;
    cbx_h5_info info;

    CHECK_OK(cbx_h5_stat(h, q, &info, &err), &err, "stat");
    CHECK_STR(info.units, "1/Å", "units");
    CHECK_OK(cbx_h5_get_attr_text(h, q, "fixed", &arena, &words, &n, &err), &err, "fixed");
    CHECK_STR(words[0], "of four", "fixed length");
    CHECK_OK(cbx_h5_get_attr_text(h, q, "words", &arena, &words, &n, &err), &err, "words");
    CHECK(n == 2 && !strcmp(words[0], "a") && !strcmp(words[1], "bc"), "words");
    CHECK_OK(cbx_h5_get_attr_text(h, "/", "title", &arena, &words, &n, &err), &err, "of the file");
    CHECK_STR(words[0], "all of it", "of the file");
    CHECK_OK(cbx_h5_get_attr(h, q, "number", &a, &err), &err, "number");
    CHECK(cbx_array_ndim(a) == 0 && *(const double *)cbx_array_data(a) == 2.5, "number");
    cbx_array_free(a);
    CHECK_OK(cbx_h5_get_attr(h, q, "numbers", &a, &err), &err, "numbers");
    CHECK(cbx_array_dtype(a) == CBX_I16 && cbx_array_dim(a, 1) == 2, "numbers");
    CHECK_INT(((const int16_t *)cbx_array_data(a))[1], -2, "of the other byte order");
    cbx_array_free(a);
    CHECK_OK(cbx_h5_get_attr(h, q, "flag", &a, &err), &err, "flag");
    CHECK(cbx_array_dtype(a) == CBX_BOOL && *(const bool *)cbx_array_data(a), "flag");
    cbx_array_free(a);
    CHECK_OK(cbx_h5_get_attr(h, q, "complex", &a, &err), &err, "complex");
    CHECK(cbx_array_dtype(a) == CBX_C64 && ((const float *)cbx_array_data(a))[1] == -2, "complex");
    cbx_array_free(a);
    a = NULL;
    CHECK_STATUS(cbx_h5_get_attr(h, q, "units", &a, &err), CBX_EDTYPE, "text is no number");
    CHECK_STATUS(cbx_h5_get_attr_text(h, q, "number", &arena, &words, &n, &err), CBX_EDTYPE, "nor the other way");
    CHECK_STATUS(cbx_h5_get_attr(h, q, "null", &a, &err), CBX_EUNSUPPORTED, "nothing");
    CHECK_STATUS(cbx_h5_get_attr(h, q, "none", &a, &err), CBX_ENOENT, "no attribute");
    CHECK(strstr(err.message, "'none'") && strstr(err.message, q), err.message);
    CHECK_STATUS(cbx_h5_get_attr(h, "/attributes/p", "none", &a, &err), CBX_ENOENT, "no object");
    CHECK(strstr(err.message, "/attributes/p"), err.message);
    CHECK(a == NULL, "out is untouched");
    cbx_h5_close(h);
}

TEST(what_is_no_array)
{
    static const io_refusal cases[] = {
        { "/others/long", CBX_EDTYPE, "float type of 16 bytes" },
        { "/others/record", CBX_EDTYPE, "compound" },
        { "/others/pair", CBX_EDTYPE, "compound" },
        { "/others/enum", CBX_EDTYPE, "enumeration" },
        { "/others/ragged", CBX_EDTYPE, "sequence" },
        { "/others/null", CBX_EUNSUPPORTED, "no elements" },
        { "/others/claims", CBX_EOVERFLOW, "more bytes than memory" },
        { "/others/nowhere", CBX_EFORMAT, "nowhere" },
        { "/others/none", CBX_ENOENT, "'/others/none' is not a dataset of" },
        { "/others/half/deeper", CBX_ENOENT, "is not a dataset" },
        { "/others", CBX_EFORMAT, "'/others'" },
        { "/others/type", CBX_EFORMAT, "'/others/type'" },
        { "", CBX_EINVAL, "the name of a dataset" },
    };
    cbx_h5 *h = opened(fixture("hdf5/h5py.h5"), CBX_H5_READ);
    cbx_array *a = NULL;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_status st = cbx_h5_read(h, cases[i].name, &a, &err);
        check_refused(&cases[i], st, "h5py.h5", a);
    }
    CHECK_OK(cbx_h5_read(h, "/others/half", &a, &err), &err, "half precision is widened");
    const float *half = cbx_array_data(a);
    CHECK(cbx_array_dtype(a) == CBX_F32 && half[0] == 0.5f && half[2] == 65504.0f && isnan(half[3]), "exactly");
    cbx_array_free(a);
    cbx_h5_slab slab = { { ((size_t)1 << 40) - 1, 5 }, { 1, 3 }, { 1, 1 } };
    CHECK_OK(cbx_h5_read_slab(h, "/others/claims", &slab, &a, &err), &err, "a slab of a dataset larger than memory");
    CHECK(*(const double *)cbx_array_data(a) == 0, "never written");
    cbx_array_free(a);
    cbx_h5_close(h);
}

TEST(listing)
{
    cbx_h5 *h = opened(fixture("hdf5/h5py.h5"), CBX_H5_READ);
    static const char *const wanted[] = { "attributes", "npy", "others", "packed", "text" };
    const cbx_h5_entry *all = NULL;
    size_t n = 0;
    CHECK_OK(cbx_h5_list(h, "/", &arena, &all, &n, &err), &err, "root");
    CHECK_INT(n, CBX_LEN(wanted), "groups");
    for (size_t i = 0; i < n; i++) {
        CHECK_STR(all[i].name, wanted[i], "by name");
        CHECK_INT(all[i].kind, CBX_H5_GROUP, wanted[i]);
    }
    CHECK_OK(cbx_h5_list(h, "others", &arena, &all, &n, &err), &err, "others");
    for (size_t i = 0; i < n; i++) {
        bool other = !strcmp(all[i].name, "nowhere") || !strcmp(all[i].name, "type");
        CHECK_INT(all[i].kind, other ? CBX_H5_OTHER : CBX_H5_DATASET, all[i].name);
    }
    CHECK_STATUS(cbx_h5_list(h, "none", &arena, &all, &n, &err), CBX_ENOENT, "no group");
    CHECK_STATUS(cbx_h5_list(h, "/packed/lzf", &arena, &all, &n, &err), CBX_EINVAL, "a dataset");
    cbx_h5_close(h);
}

TEST(sizes_are_bounded)
{
    cbx_h5_opts opts = CBX_H5_OPTS_INIT;
    cbx_h5 *h = NULL;
    cbx_array *a = NULL;
    cbx_h5_close(opened(fixture("hdf5/h5py.h5"), CBX_H5_READ));
    opts.max_array_bytes = 24 * 30 * 4 - 1;
    CHECK_OK(cbx_h5_open(ctx, fixture("hdf5/h5py.h5"), CBX_H5_READ, &opts, &h, &err), &err, "open");
    CHECK_STATUS(cbx_h5_read(h, "/packed/lzf", &a, &err), CBX_EOVERFLOW, "one byte too large");
    CHECK(strstr(err.message, "max_array_bytes"), err.message);
    cbx_h5_slab slab = { { 0, 0 }, { 23, 30 }, { 0 } };
    CHECK_OK(cbx_h5_read_slab(h, "/packed/lzf", &slab, &a, &err), &err, "a slab fits");
    cbx_array_free(a);
    cbx_h5_close(h);
    opts.struct_size++;
    CHECK_STATUS(cbx_h5_open(ctx, fixture("hdf5/h5py.h5"), CBX_H5_READ, &opts, &h, &err), CBX_EINVAL,
                 "another version");
}

static cbx_status try_to_open(const char *path)
{
    cbx_h5 *h = NULL;

    return cbx_h5_open(ctx, path, CBX_H5_READ, NULL, &h, &err);
}

TEST(what_is_no_file)
{
    cbx_h5 *h = NULL;
    cbx_h5_close(opened(fixture("hdf5/h5py.h5"), CBX_H5_READ));
    check_no_files(try_to_open);
    CHECK(strstr(err.message, "v1_bool.npy': it is not an HDF5 file"), err.message);
    CHECK_STATUS(cbx_h5_open(ctx, fixture("npy/v1_bool.npy"), CBX_H5_APPEND, NULL, &h, &err), CBX_EFORMAT,
                 "nor to append");
}

/* --- writing --- */

static cbx_array *ramp(cbx_dtype t, int ndim, const size_t *shape)
{
    cbx_array_desc d = { t, ndim, { 0 } };
    cbx_array *a = NULL;
    for (int i = 0; i < ndim; i++) d.shape[i] = shape[i];
    CHECK_OK(cbx_array_create(ctx, &d, &a, &err), &err, "array");
    unsigned char *p = cbx_array_data_mut(a);
    for (size_t i = 0; i < cbx_array_bytes(a); i++) p[i] = (unsigned char)(t == CBX_BOOL ? i % 3 == 0 : i / 3);
    return a;
}

TEST(what_we_write_we_read)
{
    static const size_t shapes[][3] = { { 5, 6, 7 }, { 0, 3, 2 }, { 200, 30, 40 } };
    static const cbx_h5_packing packings[] = { CBX_H5_PLAIN, CBX_H5_DEFLATE, CBX_H5_LZF };
    cbx_h5 *h = opened(in_folder("all.h5"), CBX_H5_CREATE);
    for (int pass = 0; pass < 2; pass++) {
        for (int t = 0; t < CBX_DTYPE_COUNT; t++)
            for (size_t s = 0; s < CBX_LEN(shapes); s++)
                for (int ndim = 0; ndim <= 3; ndim += 3)
                    for (size_t k = 0; k < CBX_LEN(packings); k++) {
                        cbx_h5_write_opts o = CBX_H5_WRITE_OPTS_INIT;
                        const char *name = cbx_arena_printf(&arena, "/a/%s/%d-%zu-%zu", cbx_dtype_name((cbx_dtype)t),
                                                            ndim, s, k);
                        cbx_array *a = ramp((cbx_dtype)t, ndim, shapes[s]), *b = NULL;
                        cbx_h5_info info;
                        o.packing = packings[k];
                        o.shuffle = s == 2 && k > 0;
                        o.units = "counts";
                        if (pass == 0) {
                            CHECK_OK(cbx_h5_write(h, name, a, &o, &err), &err, name);
                        } else {
                            bool chunked = k > 0 && ndim > 0 && shapes[s][0] > 0;
                            CHECK_OK(cbx_h5_read(h, name, &b, &err), &err, name);
                            check_same(a, b, name);
                            CHECK_OK(cbx_h5_stat(h, name, &info, &err), &err, name);
                            CHECK_INT(info.packing, chunked ? packings[k] : CBX_H5_PLAIN, name);
                            CHECK_INT(info.chunked, chunked, name);
                            CHECK_STR(info.units, "counts", name);
                        }
                        cbx_array_free(a);
                        cbx_array_free(b);
                    }
        if (pass == 0) {
            CHECK_OK(cbx_h5_commit(h, &err), &err, "commit");
            h = opened(in_folder("all.h5"), CBX_H5_READ);
        }
    }
    cbx_h5_close(h);
}

TEST(chunks_are_chosen)
{
    static const struct {
        size_t shape[3], asked[3], chunk[3];
        const char *why;
    } cases[] = {
        { { 100, 10, 10 }, { 0 }, { 100, 10, 10 }, "small: one chunk" },
        { { 1000, 64, 64 }, { 0 }, { 8, 64, 64 }, "256 KiB, last axes whole" },
        { { 3, 1000, 1000 }, { 0 }, { 1, 32, 1000 }, "a row of the first axis is too large" },
        { { 100, 10, 10 }, { 7, 100, 0 }, { 7, 10, 10 }, "as asked, cut to the shape" },
    };
    cbx_h5 *h = opened(in_folder("chunks.h5"), CBX_H5_CREATE);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_array_desc d = { CBX_F64, 3, { cases[i].shape[0], cases[i].shape[1], cases[i].shape[2] } };
        cbx_h5_write_opts o = CBX_H5_WRITE_OPTS_INIT;
        const char *name = cbx_arena_printf(&arena, "%zu", i);
        cbx_h5_info info;
        o.packing = CBX_H5_LZF;
        memcpy(o.chunk, cases[i].asked, sizeof cases[i].asked);
        CHECK_OK(cbx_h5_create(h, name, &d, &o, &err), &err, cases[i].why);
        CHECK_OK(cbx_h5_stat(h, name, &info, &err), &err, cases[i].why);
        for (int j = 0; j < 3; j++) CHECK_INT(info.chunk[j], cases[i].chunk[j], cases[i].why);
    }
    cbx_h5_close(h);
}

TEST(slabs_are_written)
{
    enum { ROWS = 20, COLS = 30 };
    cbx_array_desc d = { CBX_I32, 2, { ROWS, COLS } };
    cbx_h5_write_opts o = CBX_H5_WRITE_OPTS_INIT;
    cbx_h5 *h = opened(in_folder("slabs.h5"), CBX_H5_CREATE);
    int32_t want[ROWS][COLS] = { { 0 } };
    cbx_array *a = NULL, *odd = ramp(CBX_I32, 2, (const size_t[]){ 10, 8 }), *back = NULL;
    const cbx_h5_slab slab = { { 1, 3 }, { 0 }, { 2, 3 } };

    o.packing = CBX_H5_DEFLATE;
    o.chunk[0] = 6;
    o.chunk[1] = 7;
    CHECK_OK(cbx_h5_create(h, "g/x", &d, &o, &err), &err, "create");
    cbx_scope scope;
    cbx_scope_open(ctx, &scope);
    a = cbx_flip(ctx, odd, 1); /* strides go backwards */
    CHECK_OK(cbx_h5_write_slab(h, "g/x", &slab, a, &err), &err, "write");
    for (size_t r = 0; r < 10; r++)
        for (size_t c = 0; c < 8; c++)
            want[1 + 2 * r][3 + 3 * c] = ((const int32_t *)cbx_array_data(odd))[r * 8 + (7 - c)];
    CHECK_OK(cbx_h5_read(h, "g/x", &back, &err), &err, "read");
    CHECK_INT(memcmp(cbx_array_data(back), want, sizeof want), 0, "elements where they belong, 0 elsewhere");
    cbx_array_free(back);
    const cbx_h5_slab beyond = { { 2, 3 }, { 0 }, { 2, 3 } };
    CHECK_STATUS(cbx_h5_write_slab(h, "g/x", &beyond, a, &err), CBX_EINVAL, "one row too far");
    CHECK_STATUS(cbx_h5_write_slab(h, "g/x", &slab, cbx_astype(ctx, a, CBX_F32), &err), CBX_EDTYPE, "another dtype");
    CHECK(strstr(err.message, "int32") && strstr(err.message, "float32 (10, 8)"), err.message);
    CHECK_STATUS(cbx_h5_write_slab(h, "g/x", &slab, cbx_flatten(ctx, a), &err), CBX_ESHAPE, "another rank");
    CHECK_STATUS(cbx_h5_write_slab(h, "g/y", &slab, a, &err), CBX_ENOENT, "is not a dataset");
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "scope");
    cbx_array_free(odd);
    cbx_h5_close(h);
}

TEST(text_and_attributes_are_written)
{
    cbx_h5 *h = opened(in_folder("text.h5"), CBX_H5_CREATE);
    cbx_array *a = ramp(CBX_BOOL, 1, (const size_t[]){ 4 }), *c = ramp(CBX_C64, 0, NULL), *back = NULL;
    const char *const *words = NULL;
    size_t n = 0;

    CHECK_OK(cbx_h5_write_text(h, "/entry/start_time", "2026-02-20T11:34:24 µ", &err), &err, "text");
    CHECK_STATUS(cbx_h5_write_text(h, "/entry/start_time", "again", &err), CBX_EEXIST, "there already");
    CHECK_OK(cbx_h5_set_attr_text(h, "/entry", "NX_class", "NXnote", &err), &err, "attribute");
    CHECK_OK(cbx_h5_set_attr_text(h, "/entry", "NX_class", "NXentry", &err), &err, "replaced");
    CHECK_OK(cbx_h5_set_attr(h, "/entry", "flags", a, &err), &err, "array");
    CHECK_OK(cbx_h5_set_attr(h, "/entry", "flags", c, &err), &err, "by another type");
    CHECK_STATUS(cbx_h5_set_attr(h, "/none", "flags", c, &err), CBX_ENOENT, "no object");
    CHECK_OK(cbx_h5_commit(h, &err), &err, "commit");
    h = opened(in_folder("text.h5"), CBX_H5_READ);
    CHECK_OK(cbx_h5_read_text(h, "entry/start_time", &arena, &words, &n, &err), &err, "read");
    CHECK_STR(words[0], "2026-02-20T11:34:24 µ", "text");
    CHECK_OK(cbx_h5_get_attr_text(h, "entry", "NX_class", &arena, &words, &n, &err), &err, "read");
    CHECK_STR(words[0], "NXentry", "attribute");
    CHECK_OK(cbx_h5_get_attr(h, "entry", "flags", &back, &err), &err, "read");
    check_same(c, back, "complex");
    cbx_array_free(a);
    cbx_array_free(c);
    cbx_array_free(back);
    CHECK_STATUS(cbx_h5_write_text(h, "x", "y", &err), CBX_EPERM, "open for reading");
    CHECK_STATUS(cbx_h5_set_attr_text(h, "entry", "x", "y", &err), CBX_EPERM, "open for reading");
    cbx_h5_close(h);
}

TEST(wrong_ways_to_write)
{
    cbx_h5 *h = opened(in_folder("wrong.h5"), CBX_H5_CREATE);
    cbx_array *a = ramp(CBX_F32, 1, (const size_t[]){ 9 }), *abstract = NULL, *b = NULL;
    cbx_array_desc many = { CBX_F32, CBX_MAX_RANK + 1, { 1 } };
    cbx_h5_write_opts o = CBX_H5_WRITE_OPTS_INIT;

    CHECK_OK(cbx_array_create_abstract(ctx, cbx_array_get_desc(a), &abstract, &err), &err, "abstract");
    CHECK_STATUS(cbx_h5_write(h, "x", abstract, NULL, &err), CBX_EINVAL, "abstract");
    CHECK_STATUS(cbx_h5_write(h, "x", cbx__array_failed(), NULL, &err), CBX_EINVAL, "failed");
    CHECK_STATUS(cbx_h5_create(h, "x", &many, NULL, &err), CBX_EINVAL, "17 axes");
    o.packing = CBX_H5_OTHER_FILTERS;
    CHECK_STATUS(cbx_h5_write(h, "x", a, &o, &err), CBX_EINVAL, "no packing");
    o.packing = CBX_H5_DEFLATE;
    o.level = 10;
    CHECK_STATUS(cbx_h5_write(h, "x", a, &o, &err), CBX_EINVAL, "no level");
    o.level = 0;
    o.struct_size = 1;
    CHECK_STATUS(cbx_h5_write(h, "x", a, &o, &err), CBX_EINVAL, "another version");
    CHECK_OK(cbx_h5_write(h, "x", a, NULL, &err), &err, "plain");
    CHECK_STATUS(cbx_h5_write(h, "x", a, NULL, &err), CBX_EEXIST, "there already");
    CHECK_STATUS(cbx_h5_write(h, "x/y", a, NULL, &err), CBX_EINVAL, "below a dataset");
    CHECK(strstr(err.message, "'x/y' cannot be created: 'x' of"), err.message);
    CHECK_STATUS(cbx_h5_write(h, "/x/y/z", a, NULL, &err), CBX_EINVAL, "further below");
    CHECK(strstr(err.message, "'/x' of") && strstr(err.message, "not a group"), err.message);
    CHECK_STATUS(cbx_h5_write(h, "", a, NULL, &err), CBX_EINVAL, "no name");
    CHECK(strstr(err.message, "the name of a dataset"), err.message);
    CHECK_STATUS(cbx_h5_read(h, "", &b, &err), CBX_EINVAL, "no name to read");
    CHECK(strstr(err.message, "the name of a dataset"), err.message);
    cbx_array_free(a);
    cbx_array_free(abstract);
    cbx_h5_close(h);
}

static size_t count_of(const char *path)
{
    cbx_h5 *h = opened(path, CBX_H5_READ);
    const cbx_h5_entry *all = NULL;
    size_t n = 0;
    CHECK_OK(cbx_h5_list(h, "/", &arena, &all, &n, &err), &err, path);
    cbx_h5_close(h);
    return n;
}

TEST(nothing_changes_before_the_commit)
{
    const char *path = cbx_path_join(&arena, folder, "commit.h5");
    cbx_array *a = ramp(CBX_F32, 1, (const size_t[]){ 100000 });
    cbx_h5 *h = opened(path, CBX_H5_APPEND);
    CHECK_OK(cbx_h5_write(h, "one", a, NULL, &err), &err, "write");
    CHECK(!cbx_path_exists(path), "not yet");
    CHECK_OK(cbx_h5_commit(h, &err), &err, "commit");
    CHECK_INT(count_of(path), 1, "there");
    size_t before = files_in(folder);
    for (int commit = 0; commit < 2; commit++) {
        h = opened(path, CBX_H5_APPEND);
        CHECK_OK(cbx_h5_write(h, "two", a, NULL, &err), &err, "write");
        CHECK_INT(count_of(path), 1, "readers see the old file");
        if (commit) CHECK_OK(cbx_h5_commit(h, &err), &err, "commit");
        if (!commit) cbx_h5_close(h);
        CHECK_INT(count_of(path), commit ? 2 : 1, "a dropped change changes nothing");
        CHECK_INT(files_in(folder), before, "no temporary is left");
    }
    h = opened(path, CBX_H5_CREATE);
    CHECK_OK(cbx_h5_commit(h, &err), &err, "a new and empty one");
    CHECK_INT(count_of(path), 0, "in its place");
    cbx_array_free(a);
}

/* --- other things --- */

/* HDF5 prints its errors unless told not to; a thread that has never called it starts with that. */
static void *fail_quietly(void *user)
{
    cbx_h5 *h = user;
    cbx_array *a = NULL;
    return cbx_h5_read(h, "/others/nowhere", &a, NULL) ? NULL : h;
}

TEST(nothing_is_printed)
{
    cbx_h5 *h = opened(fixture("hdf5/h5py.h5"), CBX_H5_READ);
    FILE *caught = tmpfile();
    int old = dup(2);
    pthread_t thread;
    void *result = h;
    fflush(stderr);
    CHECK(caught && old >= 0 && dup2(fileno(caught), 2) == 2, "stderr is caught");
    fail_quietly(h);
    int started = pthread_create(&thread, NULL, fail_quietly, h);
    if (!started) pthread_join(thread, &result);
    fflush(stderr);
    dup2(old, 2);
    close(old);
    CHECK(started == 0 && result == NULL, "it failed");
    CHECK_INT(fseek(caught, 0, SEEK_END) || ftell(caught), 0, "and said nothing");
    fclose(caught);
    cbx_h5_close(h);
}

static cbx_status write_and_read(cbx_ctx *c, void *user)
{
    cbx_array_desc d = { CBX_C128, 2, { 40, 20 } };
    ptrdiff_t strides[2] = { 1, 40 };
    static double data[1600];
    cbx_h5_write_opts o = CBX_H5_WRITE_OPTS_INIT;
    const cbx_h5_entry *all;
    const char *const *words;
    cbx_array *a = NULL, *b = NULL;
    cbx_h5 *h = NULL;
    cbx_arena mine;
    size_t n;
    o.packing = CBX_H5_LZF;
    o.units = "1/A";
    cbx_arena_init(&mine, cbx_ctx_allocator(c));
    cbx_status st = cbx_array_wrap(c, &d, strides, data, NULL, NULL, &a, &err);
    if (!st) st = cbx_h5_open(c, user, CBX_H5_CREATE, NULL, &h, &err);
    if (!st) st = cbx_h5_write(h, "g/x", a, &o, &err);
    if (st)
        cbx_h5_close(h);
    else
        st = cbx_h5_commit(h, &err);
    h = NULL;
    if (!st) st = cbx_h5_open(c, user, CBX_H5_APPEND, NULL, &h, &err); /* a copy, which is dropped */
    if (!st) st = cbx_h5_read(h, "g/x", &b, &err);
    if (!st) st = cbx_h5_list(h, "g", &mine, &all, &n, &err);
    if (!st) st = cbx_h5_get_attr_text(h, "g/x", "units", &mine, &words, &n, &err);
    cbx_h5_close(h);
    cbx_array_free(a);
    cbx_array_free(b);
    cbx_arena_clear(&mine);
    return st;
}

TEST(no_memory)
{
    const char *path = cbx_path_join(&arena, folder, "memory.h5");
    cbx_h5_close(opened(fixture("hdf5/h5py.h5"), CBX_H5_READ));
    size_t before = files_in(folder);
    CHECK_GT(cbx_test_fail_each(write_and_read, (void *)path, "hdf5"), 10, "handles, names, copies and blocks");
    CHECK_INT(files_in(folder), before + 1, "no temporary is left");
}

/* One of everything, what fails included; but no text is written, since HDF5 never gives the room
 * of an old one back. */
static void a_round(cbx_h5 *from, cbx_h5 *to)
{
    static const cbx_h5_slab slab = { { 1, 2 }, { 3, 4 }, { 2, 2 } };
    cbx_array *a = NULL, *b = NULL, *c = NULL, *none = NULL;
    const cbx_h5_entry *all = NULL;
    const char *const *words = NULL;
    cbx_h5_write_opts o = CBX_H5_WRITE_OPTS_INIT;
    cbx_h5_info info;
    cbx_arena mine;
    size_t n = 0;
    cbx_arena_init(&mine, cbx_allocator_default());
    CHECK_OK(cbx_h5_read_slab(from, "/packed/lzf", &slab, &a, &err), &err, "slab");
    CHECK_OK(cbx_h5_read(from, "/npy/v1_complex64", &b, &err), &err, "complex");
    CHECK_OK(cbx_h5_get_attr(from, "/attributes/q", "flag", &c, &err), &err, "attribute");
    CHECK_OK(cbx_h5_stat(from, "/attributes/q", &info, &err), &err, "stat");
    CHECK_OK(cbx_h5_list(from, "others", &mine, &all, &n, &err), &err, "list");
    CHECK_OK(cbx_h5_read_text(from, "/text/array", &mine, &words, &n, &err), &err, "text");
    CHECK_OK(cbx_h5_read_text(from, "/text/fixed", &mine, &words, &n, &err), &err, "text");
    for (size_t i = 0; i < 2; i++) {
        const char *wrong = i ? "/others/record" : "/others/null";
        CHECK(cbx_h5_read(from, wrong, &none, &err) && cbx_h5_get_attr(from, wrong, "none", &none, &err), "refused");
    }
    CHECK(cbx_h5_read_slab(from, "/packed/lzf", &(cbx_h5_slab){ { 24, 30 }, { 1, 1 }, { 0 } }, &none, &err), "refused");
    CHECK_OK(cbx_h5_write_slab(to, "x", &slab, a, &err), &err, "write a slab");
    CHECK_OK(cbx_h5_set_attr(to, "x", "flag", c, &err), &err, "write an attribute");
    o.level = 11;
    CHECK(cbx_h5_write(to, "y", a, &o, &err) && cbx_h5_write(to, "x", a, NULL, &err), "refused");
    cbx_array_free(a);
    cbx_array_free(b);
    cbx_array_free(c);
    cbx_arena_clear(&mine);
}

/* libhdf5 keeps what is not closed until the process ends, and shows no count of dataspaces and
 * types: memory tells. */
TEST(nothing_grows)
{
    enum { ROUNDS = 1000 };
    cbx_h5 *from = opened(fixture("hdf5/h5py.h5"), CBX_H5_READ), *to = opened(in_folder("grows.h5"), CBX_H5_CREATE);
    cbx_array_desc d = { CBX_I32, 2, { 24, 30 } };
    CHECK_OK(cbx_h5_create(to, "x", &d, NULL, &err), &err, "create");
    for (int i = 0; i < 50; i++) a_round(from, to);
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < ROUNDS; i++) a_round(from, to);
    CHECK_LE((double)mallinfo2().uordblks - (double)before, ROUNDS * 16.0,
             "bytes; one identifier a round is above 100000");
    cbx_h5_close(from);
    cbx_h5_close(to);
}

/* An identifier that was left open would keep its file open. */
TEST(no_file_is_left_open)
{
    const char *const *all = NULL;
    size_t n = 0;
    CHECK_OK(cbx_dir_list(ctx, "/proc/self/fd", NULL, &arena, &all, &n, &err), &err, "descriptors");
    for (size_t i = 0; i < n; i++) {
        char target[512] = { 0 };
        if (readlink(cbx_path_join(&arena, "/proc/self/fd", all[i]), target, sizeof target - 1) < 0) continue;
        CHECK(!strstr(target, folder) && !strstr(target, ".h5"), target);
    }
}

TESTS(.before = set_up, .after = tear_down)
