/*
 * NPZ: archives of NumPy's (tests/fixtures/npz, made by scripts/fixtures/make_npz_files.py) read as
 * the NPY files they were made of, archives that lie are refused, and what we write we read.
 * check_npz.py puts NumPy on the other side.
 */
#include "check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/io/boundary.h"
#include "calibrax/array/io/npy.h"
#include "calibrax/array/io/npz.h"
#include "calibrax/base/file.h"
#include "fail_alloc.h"
#include "io_support.h"

static cbx_npz *opened(const char *path)
{
    cbx_npz *z = NULL;
    CHECK_OK(cbx_npz_open(ctx, path, NULL, &z, &err), &err, path);
    return z;
}

TEST(numpys_archives_hold_the_npy_files)
{
    static const char *const archives[] = { "npz/savez.npz", "npz/savez_compressed.npz" };
    for (size_t k = 0; k < CBX_LEN(archives); k++) {
        cbx_npz *z = opened(fixture(archives[k]));
        CHECK_INT(cbx_npz_count(z), 13, archives[k]);
        for (size_t i = 0; i < 13; i++) {
            cbx_array *a = NULL, *b = NULL;
            char file[128];
            const char *name = cbx_npz_name(z, i);
            snprintf(file, sizeof(file), "npy/%s.npy", strcmp(name, "größe µ") ? name : "v1_int8");
            CHECK_OK(cbx_npz_read_at(z, i, &a, &err), &err, name);
            CHECK_OK(cbx_npy_read(ctx, fixture(file), &b, &err), &err, file);
            check_same(a, b, name);
            cbx_array_free(a);
            cbx_array_free(b);
        }
        CHECK(cbx_npz_name(z, 13) == NULL, "no more");
        cbx_npz_close(z);
    }
}

TEST(names)
{
    static const struct {
        const char *name;
        cbx_dtype dtype;
        cbx_status status;
    } cases[] = {
        { "x", CBX_I64, CBX_OK },         { "x.npy", CBX_F64, CBX_OK }, /* whole names go first: "x.npy" is the member "x.npy.npy" */
        { "x.npy.npy", CBX_F64, CBX_OK }, { "README", CBX_BOOL, CBX_ENOENT }, { "", CBX_BOOL, CBX_ENOENT },
        { ".npy", CBX_BOOL, CBX_ENOENT }, { "X", CBX_BOOL, CBX_ENOENT },
    };
    cbx_npz *z = opened(fixture("npz/others.npz"));
    CHECK_INT(cbx_npz_count(z), 2, "README is no array");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_array *a = NULL;
        CHECK_STATUS(cbx_npz_read(z, cases[i].name, &a, &err), cases[i].status, cases[i].name);
        if (a) CHECK_INT(cbx_array_dtype(a), cases[i].dtype, cases[i].name);
        cbx_array_free(a);
    }
    cbx_npz_close(z);
    cbx_array *a = NULL;
    z = opened(fixture("npz/savez.npz"));
    CHECK_STATUS(cbx_npz_read(z, "v1_int9", &a, &err), CBX_ENOENT, "no such array");
    CHECK(strstr(err.message, "'v1_int9'") && strstr(err.message, "did you mean 'v1_int8'"), err.message);
    CHECK_STATUS(cbx_npz_read_at(z, 13, &a, &err), CBX_EINVAL, "past the last");
    cbx_npz_close(z);
    z = opened(fixture("npz/nothing.npz"));
    CHECK_INT(cbx_npz_count(z), 0, "an empty archive is one");
    cbx_npz_close(z);
}

TEST(archives_that_lie)
{
    static const io_refusal cases[] = {
        { "bzip2", CBX_EUNSUPPORTED, "neither stored nor deflated" },
        { "encrypted", CBX_EUNSUPPORTED, "encrypted" },
        { "objects", CBX_EDTYPE, "dtype" },
        { "no_npy", CBX_EFORMAT, "npy" },
        { "short", CBX_EFORMAT, "truncated" },
        { "short_deflated", CBX_EFORMAT, "truncated" },
        { "long", CBX_EFORMAT, "1 bytes after its int64 (2, 3, 4)" },
        { "wrong_checksum", CBX_EFORMAT, "CRC" },
        { "wrong_checksum_deflated", CBX_EFORMAT, "CRC" },
        { "huge_claim", CBX_EFORMAT, "cannot uncompress to 2147483647 bytes" },
        { "huge_claim_stored", CBX_EFORMAT, "2147483647" },
        { "large_claim", CBX_EFORMAT, "8 bytes after" },
        { "small_claim", CBX_EFORMAT, "truncated" },
        { "unpacks_to_less", CBX_EFORMAT, "member" },
        { "unpacks_to_more", CBX_EFORMAT, "member" },
        { "twice", CBX_EFORMAT, "two members have the same name" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        char file[64];
        cbx_npz *z = NULL;
        cbx_array *a = NULL;
        snprintf(file, sizeof(file), "npz/%s.npz", cases[i].name);
        cbx_status st = cbx_npz_open(ctx, fixture(file), NULL, &z, &err);
        if (!st) st = cbx_npz_read(z, "x", &a, &err);
        check_refused(&cases[i], st, z ? "'x'" : cases[i].name, a);
        cbx_npz_close(z);
    }
}

TEST(sizes_are_bounded)
{
    cbx_npz_opts opts = CBX_NPZ_OPTS_INIT;
    cbx_npz *z = NULL;
    cbx_array *a = NULL;

    opts.max_array_bytes = (uint64_t)4 << 20;
    CHECK_OK(cbx_npz_open(ctx, fixture("npz/zeros.npz"), &opts, &z, &err), &err, "4 MiB of zeros, and a header");
    CHECK_STATUS(cbx_npz_read(z, "x", &a, &err), CBX_EOVERFLOW, "larger than allowed");
    CHECK(strstr(err.message, "4194432") && strstr(err.message, "max_array_bytes"), err.message);
    cbx_npz_close(z);
    opts.max_array_bytes += 128;
    CHECK_OK(cbx_npz_open(ctx, fixture("npz/zeros.npz"), &opts, &z, &err), &err, "as large as allowed");
    CHECK_OK(cbx_npz_read(z, "x", &a, &err), &err, "as large as allowed");
    CHECK_INT(cbx_array_bytes(a), 4 << 20, "all of it");
    cbx_array_free(a);
    cbx_npz_close(z);
    opts.struct_size++;
    CHECK_STATUS(cbx_npz_open(ctx, fixture("npz/zeros.npz"), &opts, &z, &err), CBX_EINVAL,
                 "options of another version");
}

/* Every length of a stored and a deflated archive: refused, and no step beyond the end. */
TEST(cut_archives_are_refused_at_every_byte)
{
    static const char *const names_[] = { "npz/one.npz", "npz/one_deflated.npz" };
    for (size_t k = 0; k < CBX_LEN(names_); k++) {
        char *data = NULL;
        size_t full;
        CHECK_OK(cbx_file_read(ctx, fixture(names_[k]), 0, &data, &full, &err), &err, names_[k]);
        for (size_t len = 0; len <= full; len++) {
            cbx_npz *z = NULL;
            cbx_array *a = NULL;
            char *cut = test_malloc(len ? len : 1);
            memcpy(cut, data, len);
            cbx_status st = cbx_npz_open_memory(ctx, cut, len, NULL, &z, &err);
            if (!st) st = cbx_npz_read(z, "x", &a, &err);
            CHECK_STATUS(st, len == full ? CBX_OK : CBX_EFORMAT, names_[k]);
            cbx_array_free(a);
            cbx_npz_close(z);
            test_free(cut);
        }
        cbx_mem_free(cbx_ctx_allocator(ctx), data, full + 1);
    }
}

/* Larger than the buffers on the way; elements of 16 bytes straddle them since the header's
 * end does. */
TEST(what_we_write_we_read)
{
    enum { N = 50000 };
    static double data[2 * N];
    cbx_array_desc d = { CBX_C128, 2, { 100, N / 100 } }, none = { CBX_F32, 2, { 0, 7 } },
                   scalar = { CBX_I16, 0, { 0 } };
    ptrdiff_t strides[2] = { -1, 100 };
    int16_t seven = 7;
    cbx_array *a = NULL, *b = NULL, *c = NULL, *back = NULL;

    for (size_t i = 0; i < CBX_LEN(data); i++) data[i] = (double)(i * 2654435761u % 1000003);
    CHECK_OK(cbx_array_wrap(ctx, &d, strides, data + 2 * 99, NULL, NULL, &a, &err), &err, "Fortran order, backwards");
    CHECK_OK(cbx_array_create(ctx, &none, &b, &err), &err, "empty");
    CHECK_OK(cbx_array_wrap(ctx, &scalar, NULL, &seven, NULL, NULL, &c, &err), &err, "scalar");
    const cbx_npz_member members[] = { { "a", a }, { "größe/µ.npy", b }, { "c.npy", c } };
    size_t sizes[2];
    for (int packing = 0; packing < 2; packing++) {
        CHECK_OK(cbx_npz_write(ctx, in_folder("w.npz"), members, 3, (cbx_npz_packing)packing, &err), &err, "write");
        struct stat s;
        CHECK_INT(stat(in_folder("w.npz"), &s), 0, "there");
        sizes[packing] = (size_t)s.st_size;
        cbx_npz *z = opened(in_folder("w.npz"));
        CHECK_INT(cbx_npz_count(z), 3, "members");
        CHECK_STR(cbx_npz_name(z, 1), "größe/µ", "in order, without .npy");
        for (size_t i = 0; i < 3; i++) {
            CHECK_OK(cbx_npz_read(z, members[i].name, &back, &err), &err, members[i].name);
            check_same(back, members[i].array, members[i].name);
            cbx_array_free(back);
        }
        cbx_npz_close(z);
    }
    CHECK_GT(sizes[0], (double)N * 16, "stored");
    CHECK_LE(sizes[1], (double)N * 8, "deflated");
    cbx_array_free(a);
    cbx_array_free(b);
    cbx_array_free(c);
}

/* Every pair of ends of a strided array of 16-byte elements, most of them inside an element. */
TEST(bytes_are_packed_from_anywhere)
{
    cbx_array_desc d = { CBX_C128, 1, { 5 } };
    unsigned char data[5 * 16], whole[5 * 16];
    ptrdiff_t strides[1] = { -1 };
    cbx_array *a = NULL;
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)i;
    CHECK_OK(cbx_array_wrap(ctx, &d, strides, data + 64, NULL, NULL, &a, &err), &err, "backwards");
    CHECK_OK(cbx_array_read(a, whole, sizeof whole, &err), &err, "whole");
    for (size_t from = 0; from <= sizeof whole; from++)
        for (size_t to = from; to <= sizeof whole; to++) {
            char *part = test_malloc(to - from + 1);
            part[to - from] = 77;
            cbx__boundary_pack_bytes(a, from, part, to - from);
            CHECK_INT(memcmp(part, whole + from, to - from), 0, "the same bytes");
            CHECK_INT(part[to - from], 77, "and none beyond");
            test_free(part);
        }
    cbx_array_free(a);
}

TEST(a_failed_write_leaves_the_old_file)
{
    cbx_array_desc d = { CBX_U8, 1, { 3 } };
    cbx_array *a = NULL, *abstract = NULL;
    CHECK_OK(cbx_array_create(ctx, &d, &a, &err), &err, "array");
    CHECK_OK(cbx_array_create_abstract(ctx, &d, &abstract, &err), &err, "abstract");
    const struct {
        cbx_npz_member members[2];
        cbx_status status;
        const char *word;
    } cases[] = {
        { { { "x", a }, { "x.npy", a } }, CBX_EEXIST, "'x.npy'" },
        { { { "x", a }, { "", a } }, CBX_EINVAL, "empty" },
        { { { "x", a }, { ".npy", a } }, CBX_EINVAL, "empty" },
        { { { "x", a }, { NULL, a } }, CBX_EINVAL, "empty" },
        { { { "x", a }, { "y", abstract } }, CBX_EINVAL, "abstract" },
        { { { "x", a }, { "y", cbx__array_failed() } }, CBX_EINVAL, "failed" },
        { { { "x", a }, { "not utf-8 \xff", a } }, CBX_EFORMAT, "not utf-8" },
    };
    CHECK_OK(cbx_file_write_atomic(ctx, in_folder("old.npz"), "old", 3, &err), &err, "an old file");
    size_t before = files_in(folder);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        CHECK_STATUS(cbx_npz_write(ctx, in_folder("old.npz"), cases[i].members, 2, CBX_NPZ_STORED, &err),
                     cases[i].status, cases[i].word);
        CHECK(strstr(err.message, cases[i].word), err.message);
        char *data = NULL;
        size_t len;
        CHECK_OK(cbx_file_read(ctx, in_folder("old.npz"), 0, &data, &len, &err), &err, "still there");
        CHECK(len == 3 && memcmp(data, "old", 3) == 0, "as it was");
        cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
    }
    CHECK_STATUS(cbx_npz_write(ctx, folder, cases[0].members, 1, CBX_NPZ_STORED, &err), CBX_EIO, "a folder");
    CHECK_STATUS(cbx_npz_write(ctx, in_folder("none/x.npz"), cases[0].members, 1, CBX_NPZ_STORED, &err), CBX_ENOENT,
                 "no folder");
    CHECK_STATUS(cbx_npz_write(ctx, "/dev/null", cases[0].members, 1, CBX_NPZ_STORED, &err), CBX_EIO, "a device");
    CHECK_INT(files_in(folder), before, "no temporary is left");
    CHECK_OK(cbx_npz_write(ctx, in_folder("old.npz"), NULL, 0, CBX_NPZ_STORED, &err), &err, "nothing");
    cbx_npz *z = opened(in_folder("old.npz"));
    CHECK_INT(cbx_npz_count(z), 0, "an empty archive");
    cbx_npz_close(z);
    cbx_array_free(a);
    cbx_array_free(abstract);
}

static cbx_status try_to_open(const char *path)
{
    cbx_npz *z = NULL;

    return cbx_npz_open(ctx, path, NULL, &z, &err);
}

TEST(what_is_no_archive)
{
    cbx_npz *z = NULL;
    check_no_files(try_to_open);
    CHECK_STATUS(cbx_npz_open_memory(ctx, "", 0, NULL, &z, &err), CBX_EFORMAT, "nothing");
}

static cbx_status write_and_read(cbx_ctx *c, void *user)
{
    cbx_array_desc d = { CBX_F64, 2, { 3, 2 } };
    double data[6] = { 0 };
    ptrdiff_t strides[2] = { 1, 3 };
    cbx_array *a = NULL, *b = NULL;
    cbx_npz *z = NULL;
    cbx_status st = cbx_array_wrap(c, &d, strides, data, NULL, NULL, &a, &err);
    const cbx_npz_member members[] = { { "a", a }, { "b", a } };

    if (!st) st = cbx_npz_write(c, user, members, 2, CBX_NPZ_DEFLATED, &err);
    if (!st) st = cbx_npz_open(c, user, NULL, &z, &err);
    if (!st) st = cbx_npz_read(z, "b", &b, &err);
    cbx_npz_close(z);
    cbx_array_free(a);
    cbx_array_free(b);
    return st;
}

TEST(no_memory)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/memory.npz", folder);
    size_t before = files_in(folder);
    CHECK_GT(cbx_test_fail_each(write_and_read, path, "npz"), 7, "handles, directories, names and blocks");
    CHECK_INT(files_in(folder), before + 1, "no temporary is left");
}

TESTS(.before = io_set_up, .after = io_tear_down)
