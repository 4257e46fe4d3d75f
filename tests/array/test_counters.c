/* Counters of the boundary: each way in and out counts once, failures apart, and only for contexts that were asked. */
#include "check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calibrax/array/io/counters.h"
#include "calibrax/array/io/dlpack.h"
#include "calibrax/array/io/hdf5.h"
#include "calibrax/array/io/image.h"
#include "calibrax/array/io/npy.h"
#include "calibrax/array/io/npz.h"
#include "calibrax/base/file.h"
#include "fail_alloc.h"
#include "io_support.h"

/* uint8 (4, 6): 24 bytes, fit for every format. */
static cbx_array *pixels(cbx_ctx *c)
{
    cbx_array_desc d = { CBX_U8, 2, { 4, 6 } };
    cbx_array *a = NULL;
    CHECK_OK(cbx_array_create(c, &d, &a, &err), &err, "array");
    memset(cbx_array_data_mut(a), 7, 24);
    return a;
}

/* --- the ways in and out; each does its own once, with what stands in the folder --- */

static cbx_status npy_out(const cbx_array *a, cbx_array **b)
{
    (void)b;
    return cbx_npy_write(ctx, in_folder("x.npy"), a, &err);
}
static cbx_status npy_in(const cbx_array *a, cbx_array **b)
{
    (void)a;
    return cbx_npy_read(ctx, in_folder("x.npy"), b, &err);
}
static cbx_status npy_fd_out(const cbx_array *a, cbx_array **b)
{
    int fd = memfd_create("npy", MFD_CLOEXEC);
    (void)b;
    cbx_status st = cbx_npy_write_fd(ctx, fd, a, &err);
    close(fd);
    return st;
}
static FILE *npy_file(void) { return fopen(in_folder("x.npy"), "rb"); }
static cbx_status npy_fd_in(const cbx_array *a, cbx_array **b)
{
    FILE *f = npy_file();
    (void)a;
    cbx_status st = cbx_npy_map_fd(ctx, fileno(f), b, &err);
    fclose(f);
    return st;
}
static cbx_status npy_memory_in(const cbx_array *a, cbx_array **b)
{
    char bytes[512];
    FILE *f = npy_file();
    (void)a;
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    return cbx_npy_decode(ctx, bytes, n, b, &err);
}
static cbx_status npz_out(const cbx_array *a, cbx_array **b)
{
    const cbx_npz_member m = { "x", a };
    (void)b;
    return cbx_npz_write(ctx, in_folder("x.npz"), &m, 1, CBX_NPZ_DEFLATED, &err);
}
static cbx_status npz_in(const cbx_array *a, cbx_array **b)
{
    cbx_npz *z = NULL;
    (void)a;
    cbx_status st = cbx_npz_open(ctx, in_folder("x.npz"), NULL, &z, &err);
    if (!st) st = cbx_npz_read(z, "x", b, &err);
    cbx_npz_close(z);
    return st;
}
static cbx_status dlpack_out(const cbx_array *a, cbx_array **b)
{
    cbx_dl_managed *m = NULL;
    (void)b;
    cbx_status st = cbx_dlpack_export(ctx, a, CBX_DL_COPY_IF_NEEDED, &m, &err);
    if (!st) m->deleter(m);
    return st;
}
static cbx_status dlpack_legacy_out(const cbx_array *a, cbx_array **b)
{
    cbx_dl_legacy *m = NULL;
    (void)b;
    cbx_status st = cbx_dlpack_export_legacy(ctx, a, CBX_DL_COPY_IF_NEEDED, &m, &err);
    if (!st) m->deleter(m);
    return st;
}
static int64_t shape[2] = { 4, 6 };
static uint8_t bytes_lent[24];
static const cbx_dl_tensor tensor = { bytes_lent, { CBX_DL_CPU, 0 }, 2, { 1, 8, 1 }, shape, NULL, 0 };
static cbx_status dlpack_in(const cbx_array *a, cbx_array **b)
{
    static cbx_dl_managed m;
    (void)a;
    m = (cbx_dl_managed){ .version = { 1, 0 }, .tensor = tensor };
    return cbx_dlpack_import(ctx, &m, CBX_DL_COPY_NEVER, b, &err);
}
static cbx_status dlpack_legacy_in(const cbx_array *a, cbx_array **b)
{
    static cbx_dl_legacy m;
    (void)a;
    m = (cbx_dl_legacy){ .tensor = tensor };
    return cbx_dlpack_import_legacy(ctx, &m, CBX_DL_COPY_NEVER, b, &err);
}
static cbx_status png_out(const cbx_array *a, cbx_array **b)
{
    (void)b;
    return cbx_png_write(ctx, in_folder("x.png"), a, &err);
}
static cbx_status png_in(const cbx_array *a, cbx_array **b)
{
    (void)a;
    return cbx_png_read(ctx, in_folder("x.png"), 0, b, &err);
}
static cbx_status h5_open(cbx_h5_mode mode, cbx_h5 **h)
{
    return cbx_h5_open(ctx, in_folder("x.h5"), mode, NULL, h, &err);
}
static cbx_status h5_out(const cbx_array *a, cbx_array **b)
{
    cbx_h5 *h = NULL;
    (void)b;
    cbx_status st = h5_open(CBX_H5_CREATE, &h);
    if (!st) st = cbx_h5_write(h, "x", a, NULL, &err);
    if (!st) return cbx_h5_commit(h, &err);
    cbx_h5_close(h);
    return st;
}
static cbx_status h5_in(const cbx_array *a, cbx_array **b)
{
    cbx_h5 *h = NULL;
    (void)a;
    cbx_status st = h5_open(CBX_H5_READ, &h);
    if (!st) st = cbx_h5_read(h, "x", b, &err);
    cbx_h5_close(h);
    return st;
}
static cbx_status h5_slab_out(const cbx_array *a, cbx_array **b)
{
    const cbx_h5_slab all = { { 0 }, { 0 }, { 0 } };
    cbx_h5 *h = NULL;
    (void)b;
    cbx_status st = h5_open(CBX_H5_APPEND, &h);
    if (!st) st = cbx_h5_write_slab(h, "x", &all, a, &err);
    cbx_h5_close(h);
    return st;
}
static cbx_status h5_attr_out(const cbx_array *a, cbx_array **b)
{
    cbx_h5 *h = NULL;
    (void)b;
    cbx_status st = h5_open(CBX_H5_APPEND, &h);
    if (!st) st = cbx_h5_set_attr(h, "x", "y", a, &err);
    if (!st) return cbx_h5_commit(h, &err);
    cbx_h5_close(h);
    return st;
}
static cbx_status h5_attr_in(const cbx_array *a, cbx_array **b)
{
    cbx_h5 *h = NULL;
    (void)a;
    cbx_status st = h5_open(CBX_H5_READ, &h);
    if (!st) st = cbx_h5_get_attr(h, "x", "y", b, &err);
    cbx_h5_close(h);
    return st;
}

static const struct {
    const char *name;
    cbx_io_format format;
    cbx_io_direction direction;
    cbx_status (*go)(const cbx_array *a, cbx_array **b);
} ways[] = {
    { "npy write", CBX_IO_NPY, CBX_IO_OUT, npy_out },
    { "npy read", CBX_IO_NPY, CBX_IO_IN, npy_in },
    { "npy write to a descriptor", CBX_IO_NPY, CBX_IO_OUT, npy_fd_out },
    { "npy read from a descriptor", CBX_IO_NPY, CBX_IO_IN, npy_fd_in },
    { "npy in memory", CBX_IO_NPY, CBX_IO_IN, npy_memory_in },
    { "npz write", CBX_IO_NPZ, CBX_IO_OUT, npz_out },
    { "npz read", CBX_IO_NPZ, CBX_IO_IN, npz_in },
    { "dlpack export", CBX_IO_DLPACK, CBX_IO_OUT, dlpack_out },
    { "dlpack export, older struct", CBX_IO_DLPACK, CBX_IO_OUT, dlpack_legacy_out },
    { "dlpack import", CBX_IO_DLPACK, CBX_IO_IN, dlpack_in },
    { "dlpack import, older struct", CBX_IO_DLPACK, CBX_IO_IN, dlpack_legacy_in },
    { "png write", CBX_IO_IMAGE, CBX_IO_OUT, png_out },
    { "png read", CBX_IO_IMAGE, CBX_IO_IN, png_in },
    { "hdf5 write", CBX_IO_HDF5, CBX_IO_OUT, h5_out },
    { "hdf5 read", CBX_IO_HDF5, CBX_IO_IN, h5_in },
    { "hdf5 write a slab", CBX_IO_HDF5, CBX_IO_OUT, h5_slab_out },
    { "hdf5 write an attribute", CBX_IO_HDF5, CBX_IO_OUT, h5_attr_out },
    { "hdf5 read an attribute", CBX_IO_HDF5, CBX_IO_IN, h5_attr_in },
};

static uint64_t total(const cbx_io_counters *c, bool failures)
{
    uint64_t sum = 0;
    for (int format = 0; format < CBX_IO_FORMAT_COUNT; format++)
        for (int direction = 0; direction < 2; direction++) {
            cbx_io_stats s;
            cbx_io_counters_get(c, (cbx_io_format)format, (cbx_io_direction)direction, &s);
            sum += failures ? s.failures : s.count;
        }
    return sum;
}

/* false where a library is missing. */
static bool go(size_t i, const cbx_array *a)
{
    cbx_array *b = NULL;
    cbx_status st = ways[i].go(a, &b);
    if (st != CBX_EUNAVAILABLE) CHECK_OK(st, &err, ways[i].name);
    cbx_array_free(b);
    return !st;
}

static void each_way_counts_once(void **state)
{
    (void)state;
    cbx_io_counters *c = NULL;
    cbx_io_stats s;
    cbx_array *a = pixels(ctx);
    for (size_t i = 0; i < CBX_LEN(ways); i++) go(i, a); /* nobody has asked; and files are there from here on */
    CHECK_OK(cbx_io_counters_create(ctx, &c, &err), &err, "create");
    CHECK_INT(total(c, false), 0, "nothing yet");
    CHECK_OK(cbx_ctx_count_io(ctx, c, &err), &err, "from now on");
    for (size_t i = 0; i < CBX_LEN(ways); i++) {
        cbx_io_counters_reset(c);
        if (!go(i, a)) continue;
        cbx_io_counters_get(c, ways[i].format, ways[i].direction, &s);
        CHECK(s.count == 1 && s.bytes == 24 && s.failures == 0 && s.time_ns > 0, ways[i].name);
        CHECK(s.mean_ms == (double)s.time_ns / 1e6, "of one");
        CHECK_INT(total(c, false), 1, ways[i].name);
    }
    cbx_io_counters_reset(c);
    CHECK_INT(total(c, false), 0, "zero again");
    CHECK_OK(cbx_ctx_count_io(ctx, NULL, &err), &err, "no more");
    for (size_t i = 0; i < CBX_LEN(ways); i++) go(i, a);
    CHECK_INT(total(c, false), 0, "nothing is counted");
    cbx_io_counters_free(c);
    cbx_array_free(a);
}

static void failures_stand_apart(void **state)
{
    (void)state;
    cbx_io_counters *c = NULL;
    cbx_io_stats s;
    cbx_array *a = NULL;
    CHECK_OK(cbx_io_counters_create(ctx, &c, &err), &err, "create");
    CHECK_OK(cbx_ctx_count_io(ctx, c, &err), &err, "from now on");
    CHECK_STATUS(cbx_npy_read(ctx, in_folder("none"), &a, &err), CBX_ENOENT, "no file");
    CHECK_OK(cbx_array_create(ctx, &(cbx_array_desc){ CBX_F64, 1, { 0 } }, &a, &err), &err, "an array");
    CHECK_STATUS(cbx_npy_write(ctx, in_folder("none/x"), a, &err), CBX_ENOENT, "no folder");
    cbx_array_free(a);
    cbx_io_counters_get(c, CBX_IO_NPY, CBX_IO_IN, &s);
    CHECK(s.count == 0 && s.bytes == 0 && s.failures == 1 && s.time_ns > 0, "in");
    CHECK(s.mean_ms == 0, "the mean of nothing is 0");
    CHECK_INT(total(c, true), 2, "and out");
    cbx_io_counters_get(c, CBX_IO_FORMAT_COUNT, CBX_IO_IN, &s);
    CHECK(s.count == 0 && s.failures == 0, "no such format");
    cbx_io_counters_get(c, CBX_IO_NPY, (cbx_io_direction)2, &s);
    CHECK(s.count == 0 && s.failures == 0, "no such direction");
    CHECK_STR(cbx_io_format_name(CBX_IO_DLPACK), "dlpack", "name");
    CHECK_STR(cbx_io_format_name(CBX_IO_FORMAT_COUNT), "?", "no such format");
    CHECK_OK(cbx_ctx_count_io(ctx, NULL, &err), &err, "no more");
    cbx_io_counters_free(c);
}

enum { THREADS = 4, ROUNDS = 2000 };

static void *convert(void *counters)
{
    cbx_ctx *mine = NULL;
    cbx_err e = CBX_ERR_INIT;
    if (cbx_ctx_create(NULL, &mine, &e) || cbx_ctx_count_io(mine, counters, &e)) return mine;
    for (int i = 0; i < ROUNDS; i++) {
        cbx_dl_managed m = { .version = { 1, 0 }, .tensor = tensor };
        cbx_array *a = NULL;
        if (cbx_dlpack_import(mine, &m, CBX_DL_COPY_ALWAYS, &a, &e)) return mine;
        cbx_array_free(a);
    }
    cbx_ctx_free(mine);
    return NULL;
}

static void threads_share_counters(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    cbx_io_counters *c = NULL;
    cbx_io_stats s;
    CHECK_OK(cbx_io_counters_create(ctx, &c, &err), &err, "create");
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_create(&threads[i], NULL, convert, c), 0, "thread");
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        CHECK(failed == NULL, "converted");
    }
    cbx_io_counters_get(c, CBX_IO_DLPACK, CBX_IO_IN, &s);
    CHECK(s.count == (uint64_t)THREADS * ROUNDS && s.bytes == 24 * s.count, "none is lost");
    cbx_io_counters_free(c);
}

static cbx_status count_something(cbx_ctx *c, void *user)
{
    cbx_io_counters *counters = NULL;
    (void)user;
    cbx_status st = cbx_io_counters_create(c, &counters, &err);
    if (!st) st = cbx_ctx_count_io(c, counters, &err);
    cbx_io_counters_free(counters); /* the context's reference is left */
    return st;
}

static void no_memory(void **state)
{
    (void)state;
    CHECK_GT(cbx_test_fail_each(count_something, NULL, "counters"), 1, "the counters, and the context's state");
}

TEST_FILE()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_counts_once),
        cmocka_unit_test(failures_stand_apart),
        cmocka_unit_test(threads_share_counters),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("counters", tests, io_set_up, io_tear_down);
}
