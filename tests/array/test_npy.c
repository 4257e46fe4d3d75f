/*
 * NPY: what NumPy wrote and reads back is what we read (tests/fixtures/npy, made by make_npy.py),
 * what we write is what NumPy writes, byte for byte, and whatever is cut or wrong is refused.
 */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../fixtures/npy/expected.h"
#include "calibrax/array/internal.h"
#include "calibrax/array/io/npy.h"
#include "calibrax/base/file.h"
#include "fail_alloc.h"

#define A(...)                                                                                                         \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static const struct accepted {
    const char *name;
    cbx_array_desc desc;
    bool fortran;
    const char *hex;
} accepted[] = {
#define ROW(name, dtype, ndim, shape, fortran, hex) { name, { dtype, ndim, shape }, fortran, hex },
    ACCEPTED(ROW)
#undef ROW
};

static cbx_ctx *ctx;
static cbx_err err;

static int set_up(void **state)
{
    (void)state;
    return cbx_ctx_create(NULL, &ctx, &err) != CBX_OK;
}

static int tear_down(void **state)
{
    (void)state;
    cbx_ctx_free(ctx);
    return 0;
}

static const char *fixture(const char *name, char path[512])
{
    const char *root = getenv("CALIBRAX_SOURCE_ROOT");
    snprintf(path, 512, "%s/tests/fixtures/npy/%s.npy", root ? root : ".", name);
    return path;
}

/* The file's bytes in a block of exactly their size, so that a sanitizer sees every step beyond. */
static unsigned char *load(const char *name, size_t *len)
{
    char path[512], *data = NULL;
    CHECK_OK(cbx_file_read(ctx, fixture(name, path), 0, &data, len, &err), &err, name);
    unsigned char *exact = test_malloc(*len ? *len : 1);
    memcpy(exact, data, *len);
    cbx_mem_free(cbx_ctx_allocator(ctx), data, *len + 1);
    return exact;
}

static int memory_file(const void *data, size_t len, bool seal)
{
    int fd = memfd_create("npy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(fd >= 0, "memory file");
    CHECK_INT(write(fd, data, len), len, "written whole");
    if (seal) CHECK_INT(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW), 0, "sealed");
    return fd;
}

/* 0 if the array is what NumPy read. */
static int differs(const cbx_array *a, const struct accepted *want)
{
    size_t bytes = cbx_array_bytes(a);
    unsigned char *packed = test_malloc(bytes ? bytes : 1);
    int wrong = !cbx_array_desc_equal(cbx_array_get_desc(a), &want->desc) || strlen(want->hex) != 2 * bytes;

    cbx__array_pack(a, 0, cbx_array_count(a), packed);
    for (size_t i = 0; !wrong && i < bytes; i++) {
        char two[3];
        snprintf(two, sizeof(two), "%02x", packed[i]);
        wrong = memcmp(two, want->hex + 2 * i, 2) != 0;
    }
    test_free(packed);
    return wrong || (want->fortran && cbx_array_is_contiguous(a));
}

TEST(numpys_files_read_as_numpy_reads_them)
{
    for (size_t i = 0; i < CBX_LEN(accepted); i++) {
        const struct accepted *want = &accepted[i];
        cbx_array *a = NULL;
        char path[512];
        size_t len;
        unsigned char *data = load(want->name, &len);

        CHECK_OK(cbx_npy_decode(ctx, data, len, &a, &err), &err, want->name);
        CHECK(!differs(a, want), want->name);
        cbx_array_free(a);
        CHECK_OK(cbx_npy_read(ctx, fixture(want->name, path), &a, &err), &err, want->name);
        CHECK(!differs(a, want), want->name);
        cbx_array_free(a);
        for (int sealed = 0; sealed < 2; sealed++) {
            int fd = memory_file(data, len, sealed);
            CHECK_OK(cbx_npy_map_fd(ctx, fd, &a, &err), &err, want->name);
            close(fd);
            CHECK(!differs(a, want), want->name);
            CHECK_INT((uintptr_t)cbx_array_data(a) % 64, 0, want->name);
            cbx_array_free(a);
        }
        if (strlen(want->hex) > 0) {
            data[len - 1] ^= 1;
            CHECK_OK(cbx_npy_decode(ctx, data, len, &a, &err), &err, want->name);
            CHECK(differs(a, want), "the check sees one wrong bit");
            cbx_array_free(a);
        }
        test_free(data);
    }
}

TEST(refused_files_name_their_dtype)
{
    static const char *const names[] = {
#define ROW(name) name,
        REFUSED(ROW)
#undef ROW
    };
    for (size_t i = 0; i < CBX_LEN(names); i++) {
        cbx_array *a = NULL;
        char path[512];
        bool rank = strcmp(names[i], "refused_rank17") == 0;
        CHECK_STATUS(cbx_npy_read(ctx, fixture(names[i], path), &a, &err), rank ? CBX_EUNSUPPORTED : CBX_EDTYPE,
                     names[i]);
        CHECK(strstr(err.message, names[i]) && strstr(err.message, rank ? "axes" : "dtype"), err.message);
        CHECK(a == NULL, "out is untouched");
    }
}

/* Every length below the full one, of a version 1, a version 2 and a big-endian Fortran file. */
TEST(cut_files_are_refused_at_every_byte)
{
    static const char *const names[] = { "v1_float32", "v2_float64", "fortran_big_int32", "scalar_float64" };
    for (size_t i = 0; i < CBX_LEN(names); i++) {
        size_t full;
        unsigned char *data = load(names[i], &full);
        for (size_t len = 0; len < full; len++) {
            cbx_array *a = NULL;
            cbx_npy_header h;
            unsigned char *cut = test_malloc(len ? len : 1);
            memcpy(cut, data, len);
            CHECK_STATUS(cbx_npy_decode(ctx, cut, len, &a, &err), CBX_EFORMAT, names[i]);
            CHECK(strstr(err.message, "truncated"), err.message);
            CHECK_STATUS(cbx_npy_parse_header(cut, len, &h, NULL), len < 128 ? CBX_EFORMAT : CBX_OK, names[i]);
            test_free(cut);
            int fd = memory_file(data, len, len % 2);
            CHECK_STATUS(cbx_npy_map_fd(ctx, fd, &a, &err), CBX_EFORMAT, names[i]);
            close(fd);
            CHECK(a == NULL, "out is untouched");
        }
        test_free(data);
    }
}

TEST(malformed_headers_are_refused)
{
    static const struct {
        const char *header;
        cbx_status status;
        const char *why;
    } cases[] = {
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }", CBX_OK, "the form all others break" },
        { "{\"descr\":\"<f4\",'shape':(),'fortran_order':True}", CBX_OK, "other quotes, order and blanks" },
        { "{'descr': '|b1', 'fortran_order': False, 'shape': (0, 3), }", CBX_OK, "one byte has no order" },
        { "{'descr': '<i1', 'fortran_order': False, 'shape': (0, 3), }", CBX_OK, "an order of one byte means nothing" },
        { "", CBX_EFORMAT, "nothing" },
        { "[]", CBX_EFORMAT, "no dictionary" },
        { "{", CBX_EFORMAT, "no end" },
        { "{}", CBX_EFORMAT, "no keys" },
        { "{'descr': '<f4', 'fortran_order': False}", CBX_EFORMAT, "no shape" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (0,), 'x': 1}", CBX_EFORMAT, "a key too many" },
        { "{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, 'shape': (0,)}", CBX_EFORMAT, "a key twice" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (0,)} x", CBX_EFORMAT, "something behind it" },
        { "{'descr': '<f4' 'fortran_order': False, 'shape': (0,)}", CBX_EFORMAT, "no comma" },
        { "{'descr' '<f4', 'fortran_order': False, 'shape': (0,)}", CBX_EFORMAT, "no colon" },
        { "{,'descr': '<f4', 'fortran_order': False, 'shape': (0,)}", CBX_EFORMAT, "a comma first" },
        { "{'descr': '<f4', 'fortran_order': 0, 'shape': (0,)}", CBX_EFORMAT, "a number for a truth value" },
        { "{'descr': '<f4', 'fortran_order': false, 'shape': (0,)}", CBX_EFORMAT, "JSON's false" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (0)}", CBX_EFORMAT, "Python reads a number" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': [0]}", CBX_EFORMAT, "a list" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", CBX_EFORMAT, "a negative length" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", CBX_EFORMAT, "no comma in the shape" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", CBX_EFORMAT, "a comma alone" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1e3,)}", CBX_EFORMAT, "no integer" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", CBX_EOVERFLOW, "above 2^64" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", CBX_EOVERFLOW,
          "the product wraps" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}", CBX_EUNSUPPORTED,
          "17 axes" },
        { "{'descr': '<f4, 'fortran_order': False, 'shape': (0,)}", CBX_EDTYPE, "the string ends a word late" },
        { "{'descr': '<f4", CBX_EFORMAT, "the string has no end" },
        { "{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (0,)}", CBX_EFORMAT, "an escape" },
        { "{'descr': '<f4\001', 'fortran_order': False, 'shape': (0,)}", CBX_EFORMAT, "a control character" },
        { "{'descr': '|f4', 'fortran_order': False, 'shape': (0,)}", CBX_EFORMAT, "four bytes need an order" },
        { "{'descr': 'f4', 'fortran_order': False, 'shape': (0,)}", CBX_EDTYPE, "no order" },
        { "{'descr': '', 'fortran_order': False, 'shape': (0,)}", CBX_EDTYPE, "no dtype" },
        { "{'descr': '<f4x', 'fortran_order': False, 'shape': (0,)}", CBX_EDTYPE, "rubbish behind the size" },
        { "{'descr': '<f44444444444', 'fortran_order': False, 'shape': (0,)}", CBX_EDTYPE, "a large size" },
        { "{'descr': '<b4', 'fortran_order': False, 'shape': (0,)}", CBX_EDTYPE, "a bool of four bytes" },
        { "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (0,)}", CBX_EDTYPE, "fields" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++)
        for (int version = 1; version <= 3; version++) {
            size_t n = strlen(cases[i].header), prefix = version == 1 ? 10 : 12;
            unsigned char *file = test_calloc(prefix + n, 1);
            cbx_npy_header h = { .data_offset = 12345 };
            memcpy(file, "\x93NUMPY", 6);
            file[6] = (unsigned char)version;
            file[8] = (unsigned char)n;
            memcpy(file + prefix, cases[i].header, n);
            CHECK_STATUS(cbx_npy_parse_header(file, prefix + n, &h, &err), cases[i].status, cases[i].why);
            CHECK_INT(h.data_offset, cases[i].status ? 12345 : prefix + n, cases[i].why);
            test_free(file);
        }
}

TEST(prefixes_are_checked)
{
    static const struct {
        const char *bytes;
        size_t len;
        cbx_status status;
        const char *why;
    } cases[] = {
        { "PK\003\004____________", 16, CBX_EFORMAT, "another format" },
        { "\x93NUMPY\000\000__________", 16, CBX_EVERSION, "version 0" },
        { "\x93NUMPY\004\000__________", 16, CBX_EVERSION, "version 4" },
        { "\x93NUMPY\001\001__________", 16, CBX_EVERSION, "version 1.1" },
        { "\x93NUMPY\002\000\377\377\377\377", 12, CBX_EFORMAT, "a header of 4 GiB" },
        { "\x93NUMPY\002\000\000\000\001\000", 12, CBX_EFORMAT, "one byte above the bound" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_npy_header h;
        CHECK_STATUS(cbx_npy_parse_header(cases[i].bytes, cases[i].len, &h, &err), cases[i].status, cases[i].why);
    }
}

/* Version 1, little-endian, row-major: there is one way to write it, and NumPy's files show it. */
TEST(our_files_are_numpys_byte_for_byte)
{
    size_t compared = 0;
    for (size_t i = 0; i < CBX_LEN(accepted); i++) {
        cbx_array *a = NULL;
        char path[512], folder[64], mine[128], *written = NULL;
        size_t len, mine_len;
        if (strncmp(accepted[i].name, "v1_", 3) && strncmp(accepted[i].name, "empty", 5) &&
            strcmp(accepted[i].name, "rank8") && strcmp(accepted[i].name, "scalar_float64") &&
            strcmp(accepted[i].name, "one_axis"))
            continue;
        unsigned char *data = load(accepted[i].name, &len);
        CHECK_OK(cbx_npy_read(ctx, fixture(accepted[i].name, path), &a, &err), &err, accepted[i].name);
        snprintf(mine, sizeof(mine), "%s/mine.npy", cbx_test_folder(folder));
        CHECK_OK(cbx_npy_write(ctx, mine, a, &err), &err, accepted[i].name);
        CHECK_OK(cbx_file_read(ctx, mine, 0, &written, &mine_len, &err), &err, accepted[i].name);
        CHECK_INT(mine_len, len, accepted[i].name);
        CHECK_INT(memcmp(written, data, len), 0, accepted[i].name);
        cbx_mem_free(cbx_ctx_allocator(ctx), written, mine_len + 1);
        cbx_test_folder_remove(folder);
        cbx_array_free(a);
        test_free(data);
        compared++;
    }
    CHECK_INT(compared, 18, "all files of that form were compared");
}

/* Larger than the chunk that strided arrays are written through: rows backwards, columns in
 * Fortran order. */
TEST(strided_arrays_are_written_row_major)
{
    enum { ROWS = 700, COLS = 301 };
    cbx_array_desc d = { CBX_F64, 2, { ROWS, COLS } };
    ptrdiff_t strides[2] = { -1, ROWS };
    double *data = test_malloc(sizeof(double) * ROWS * COLS);
    cbx_array *a = NULL, *b = NULL, *c = NULL;
    char folder[64], path[128];
    int fd = memory_file("longer than nothing", 19, false);

    for (size_t i = 0; i < (size_t)ROWS * COLS; i++) data[i] = (double)i / 3;
    CHECK_OK(cbx_array_wrap(ctx, &d, strides, data + ROWS - 1, NULL, NULL, &a, &err), &err, "wrap");
    snprintf(path, sizeof(path), "%s/a.npy", cbx_test_folder(folder));
    CHECK_OK(cbx_npy_write(ctx, path, a, &err), &err, "write");
    CHECK_OK(cbx_npy_read(ctx, path, &b, &err), &err, "read");
    CHECK_OK(cbx_npy_write_fd(ctx, fd, a, &err), &err, "write to a descriptor");
    CHECK_OK(cbx_npy_map_fd(ctx, fd, &c, &err), &err, "read from it");
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLS; j++) {
            double want = data[(ROWS - 1 - i) + j * ROWS];
            if (((const double *)cbx_array_data(b))[i * COLS + j] != want ||
                ((const double *)cbx_array_data(c))[i * COLS + j] != want)
                fail_msg("element %zu, %zu is wrong", i, j);
        }
    cbx_array_free(a);
    cbx_array_free(b);
    cbx_array_free(c);
    close(fd);
    cbx_test_folder_remove(folder);
    test_free(data);
}

static bool is_mapped_file(const void *p)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps)) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 && (uintptr_t)p >= from && (uintptr_t)p < to)
            found = strstr(line, "memfd:npy") != NULL;
    }
    if (maps) fclose(maps);
    return found;
}

TEST(only_what_cannot_change_is_mapped)
{
    size_t len;
    unsigned char *data = load("v1_float32", &len);
    cbx_array *sealed = NULL, *open_file = NULL;
    int fd = memory_file(data, len, true), fd2 = memory_file(data, len, false);
    float first;

    CHECK_OK(cbx_npy_map_fd(ctx, fd, &sealed, &err), &err, "sealed");
    CHECK_OK(cbx_npy_map_fd(ctx, fd2, &open_file, &err), &err, "not sealed");
    CHECK(is_mapped_file(cbx_array_data(sealed)), "no copy of a sealed file");
    CHECK(!is_mapped_file(cbx_array_data(open_file)), "a copy of any other");
    memcpy(&first, cbx_array_data(open_file), 4);
    memset(data, 0x55, len);
    CHECK_INT(pwrite(fd2, data, len, 0), len, "the file changes under the array");
    CHECK_INT(ftruncate(fd2, 0), 0, "and is cut");
    CHECK_INT(memcmp(cbx_array_data(open_file), &first, 4), 0, "the array does not show it");
    memset(cbx_array_data_mut(sealed), 0, cbx_array_bytes(sealed)); /* private: the file keeps its bytes */
    CHECK_INT(pread(fd, data, len, 0), len, "read again");
    CHECK(memcmp(data + 128, cbx_array_data(sealed), cbx_array_bytes(sealed)) != 0, "the file is as it was");
    CHECK_STATUS(cbx_npy_write_fd(ctx, fd, sealed, &err), CBX_EPERM, "a sealed file cannot be written");
    cbx_array_free(sealed);
    cbx_array_free(open_file);
    close(fd);
    close(fd2);
    test_free(data);
}

TEST(descriptors_that_are_no_files)
{
    cbx_array *a = NULL;
    char folder[64], path[128];
    int ends[2];

    CHECK_INT(pipe(ends), 0, "pipe");
    CHECK_STATUS(cbx_npy_map_fd(ctx, ends[0], &a, &err), CBX_EINVAL, "a pipe has no size");
    CHECK_STATUS(cbx_npy_map_fd(ctx, -1, &a, &err), CBX_EIO, "no descriptor");
    CHECK_STATUS(cbx_npy_read(ctx, cbx_test_folder(folder), &a, &err), CBX_EINVAL, "a folder");
    snprintf(path, sizeof(path), "%s/pipe", folder);
    CHECK_INT(mkfifo(path, 0600), 0, "named pipe");
    CHECK_STATUS(cbx_npy_read(ctx, path, &a, &err), CBX_EINVAL, "a named pipe is not waited for");
    snprintf(path, sizeof(path), "%s/none.npy", folder);
    CHECK_STATUS(cbx_npy_read(ctx, path, &a, &err), CBX_ENOENT, "no file");
    CHECK(strstr(err.message, "none.npy"), "the message names it");
    close(ends[0]);
    close(ends[1]);
    cbx_test_folder_remove(folder);
}

/* What an expression gives may be failed: nothing is written, and what is at the path stays. */
TEST(arrays_without_elements_are_refused)
{
    char path[] = "/tmp/calibrax-npy-XXXXXX";
    const cbx_array_desc d = { CBX_F64, 1, { 3 } };
    cbx_array *abstract = NULL;
    int fd = mkstemp(path);
    struct stat st;

    CHECK(fd >= 0 && write(fd, "old", 3) == 3, "a file to keep");
    CHECK_OK(cbx_array_create_abstract(ctx, &d, &abstract, &err), &err, "abstract");
    const cbx_array *const none[] = { abstract, cbx__array_failed(), NULL };
    for (size_t i = 0; i < CBX_LEN(none); i++) {
        CHECK_STATUS(cbx_npy_write(ctx, path, none[i], &err), CBX_EINVAL, "by path");
        CHECK_STATUS(cbx_npy_write_fd(ctx, fd, none[i], &err), CBX_EINVAL, "by descriptor");
    }
    CHECK(stat(path, &st) == 0 && st.st_size == 3, "the old file");
    cbx_array_free(abstract);
    close(fd);
    unlink(path);
}

TEST(headers_say_how_long_they_are)
{
    cbx_array_desc largest = { CBX_U8, CBX_MAX_RANK, { 1 } }, bad = { CBX_U8, CBX_MAX_RANK + 1, { 1 } };
    char buf[320];
    size_t needed = 0, again = 0;
    cbx_npy_header h;

    for (int i = 1; i < CBX_MAX_RANK; i++) largest.shape[i] = 0;
    largest.shape[0] = PTRDIFF_MAX;
    CHECK_OK(cbx_npy_make_header(&largest, NULL, 0, &needed, &err), &err, "size only");
    CHECK_INT(needed % 64, 0, "data on 64 bytes");
    CHECK_STATUS(cbx_npy_make_header(&largest, buf, needed - 1, &again, &err), CBX_EINVAL, "a buffer too small");
    CHECK_INT(again, 0, "out is untouched");
    CHECK_OK(cbx_npy_make_header(&largest, buf, sizeof(buf), &again, &err), &err, "header");
    CHECK_OK(cbx_npy_parse_header(buf, again, &h, &err), &err, "reads back");
    CHECK(cbx_array_desc_equal(&h.desc, &largest) && h.data_offset == needed && !h.fortran_order && !h.swapped,
          "the same");
    CHECK_STATUS(cbx_npy_make_header(&bad, buf, sizeof(buf), &again, &err), CBX_EINVAL, "17 axes");
}

typedef struct job {
    const char *path;
    int fd;
} job;

static cbx_status read_and_write(cbx_ctx *c, void *user)
{
    job *j = user;
    cbx_array *a = NULL, *b = NULL, *s = NULL;
    cbx_array_desc d = { CBX_F32, 2, { 3, 2 } };
    ptrdiff_t strides[2] = { 1, 3 };
    float data[6] = { 0 };
    cbx_status st = cbx_npy_read(c, j->path, &a, &err);

    if (!st) st = cbx_npy_map_fd(c, j->fd, &b, &err);
    if (!st) st = cbx_array_wrap(c, &d, strides, data, NULL, NULL, &s, &err);
    int out = memory_file("", 0, false);
    if (!st) st = cbx_npy_write_fd(c, out, s, &err);
    close(out);
    cbx_array_free(a);
    cbx_array_free(b);
    cbx_array_free(s);
    return st;
}

TEST(no_memory)
{
    char path[512];
    size_t len;
    unsigned char *data = load("v1_float32", &len);
    job j = { fixture("v2_float64", path), memory_file(data, len, true) };

    CHECK_GT(cbx_test_fail_each(read_and_write, &j, "npy"), 5, "headers, handles, blocks and the mapping's record");
    close(j.fd);
    test_free(data);
}

TESTS(.seconds = 600, .before = set_up, .after = tear_down)
