/*
 * The GPU kernels on a device that is played by this CPU (driver.c, shim.c): the same source that nvcc compiles, run block by block and
 * thread by thread, against the definitions.  What is held to bits here are the bits of a GPU.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

#include "cases.h"
#include "fail_alloc.h"
#include "shim_control.h"

static struct {
    void (*spoil)(const char *call, int number, int after);
    int (*open)(void);
    int (*launches)(void);
    int (*math)(void);
    void (*capability)(int major);
    void (*processors)(int n);
    void (*turn)(int round);
} shim;

static char driver[4096], images[4096];

/* The played driver by path, so that the library opens the very same. */
static int begin(void **state)
{
    const char *root = getenv("CALIBRAX_BUILD_ROOT");
    void *library;
    (void)state;
    snprintf(driver, sizeof driver, "%s/tests/array/cuda/libshim_cuda.so", root ? root : "build/release");
    snprintf(images, sizeof images, "%s/tests/array/cuda", root ? root : "build/release");
    library = dlopen(driver, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail_msg("%s", dlerror());
    *(void **)&shim.spoil = dlsym(library, "shim_fail");
    *(void **)&shim.open = dlsym(library, "shim_open");
    *(void **)&shim.launches = dlsym(library, "shim_launches");
    *(void **)&shim.math = dlsym(library, "shim_math");
    *(void **)&shim.capability = dlsym(library, "shim_capability");
    *(void **)&shim.processors = dlsym(library, "shim_processors");
    *(void **)&shim.turn = dlsym(library, "shim_turn");
    return 0;
}

static cbx_ctx *new_ctx(void)
{
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "context");
    return ctx;
}

static cbx_cuda_opts options(bool blas)
{
    cbx_cuda_opts o = CBX_CUDA_OPTS_INIT;
    o.driver = driver;
    o.cublas = blas ? driver : "";
    o.images = images; /* files that the player does not look into */
    return o;
}

typedef struct device {
    cbx_ctx *ctx;
    cbx_cuda *g;
} device;

/* processors: 1 makes every product take large tiles, 1000 small ones */
static device device_open(bool blas, int processors, int turned)
{
    const cbx_cuda_opts o = options(blas);
    cbx_err err = CBX_ERR_INIT;
    device d = { new_ctx(), NULL };

    shim.processors(processors);
    shim.turn(turned);
    CHECK_OK(cbx_cuda_open(d.ctx, &o, &d.g, &err), &err, "open");
    return d;
}

static void device_close(device *d)
{
    cbx_cuda_close(d->g);
    cbx_ctx_free(d->ctx);
    CHECK_INT(shim.open(), 0, "all is given back");
}

static void shapes_small(void **state)
{
    (void)state;
    device d = device_open(false, 1000, 0);
    cases_shapes(d.g, CBX_CUDA_GEMM_AUTO);
    device_close(&d);
}
static void shapes_middle(void **state)
{
    (void)state;
    device d = device_open(false, 4, 1);
    cases_shapes(d.g, CBX_CUDA_GEMM_OWN);
    device_close(&d);
}
static void shapes_large(void **state)
{
    (void)state;
    device d = device_open(false, 1, 0);
    cases_shapes(d.g, CBX_CUDA_GEMM_OWN);
    device_close(&d);
}
static void shapes_cublas(void **state)
{
    (void)state;
    device d = device_open(true, 4, 0);
    cases_shapes(d.g, CBX_CUDA_GEMM_AUTO);
    CHECK_INT(shim.math(), 2, "in full precision");
    device_close(&d);
}

static void contents(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        device d = device_open(way == 3, way == 0 ? 1 : way == 1 ? 4 : 1000, way % 2);
        cases_contents(d.g, CBX_CUDA_GEMM_AUTO);
        device_close(&d);
    }
}

static void epilogues(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        device d = device_open(way == 2, way ? 4 : 1, way % 2);
        cases_epilogues(d.g, CBX_CUDA_GEMM_AUTO);
        device_close(&d);
    }
}

static void sparse(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        device d = device_open(false, 4, turned);
        cases_sparse(d.g);
        device_close(&d);
    }
}

static void host(void **state)
{
    (void)state;
    device d = device_open(true, 4, 0);
    cases_host(d.g);
    device_close(&d);
}

static void faulty(void **state)
{
    (void)state;
    device d = device_open(false, 4, 0);
    cases_faulty(d.g);
    device_close(&d);
}

/* The bits of an element depend neither on the tile's size nor on the order in which threads run. */
static void same_bits(void **state)
{
    static const struct {
        cbx_algebra g;
        cbx_dtype t;
    } kinds[] = { { CBX_ALGEBRA_REAL, CBX_F32 },
                  { CBX_ALGEBRA_REAL, CBX_F64 },
                  { CBX_ALGEBRA_EUCLIDEAN, CBX_F32 },
                  { CBX_ALGEBRA_LOG, CBX_F32 },
                  { CBX_ALGEBRA_LOG, CBX_F64 } };
    (void)state;
    for (size_t i = 0; i < CBX_LEN(kinds); i++) {
        problem q = { .q = CBX_CUDA_MATMUL_INIT };
        char *kept = NULL;
        q.q.product.semiring = cbx_semiring_get(kinds[i].g), q.q.product.dtype = kinds[i].t;
        q.q.product.m = 70, q.q.product.k = 61, q.q.product.n = 66;
        problem_make(&q, 8);
        for (int way = 0; way < 6; way++) {
            cbx_err err = CBX_ERR_INIT;
            device d = device_open(false, way < 2 ? 1 : way < 4 ? 4 : 1000, way % 2);
            CHECK_OK(problem_run(&q, d.g, NULL, &err), &err, problem_text(&q));
            if (!kept) kept = memcpy(malloc(q.bytes[2]), q.block[2], q.bytes[2]);
            CHECK(memcmp(kept, q.block[2], q.bytes[2]) == 0, problem_text(&q));
            device_close(&d);
        }
        free(kept);
        problem_free(&q);
    }
}

/* --- what can go wrong --- */

static void opening(void **state)
{
    static const struct {
        const char *call;
        int number, after;
        cbx_status status;
        const char *words;
    } faults[] = {
        { "cuInit", 100, 0, CBX_EUNAVAILABLE, "CUDA_VISIBLE_DEVICES" },
        { "cuDeviceGetAttribute", 999, 0, CBX_EUNAVAILABLE, "modprobe" },
        { "cuDevicePrimaryCtxRetain", 2, 0, CBX_ENOMEM, "out of memory" },
        { "cuCtxPushCurrent_v2", 201, 0, CBX_EUNAVAILABLE, "context is not valid" },
        { "cuModuleLoadData", 209, 1, CBX_EUNSUPPORTED, "architecture" },
        { "cuModuleLoadData", 222, 0, CBX_EUNSUPPORTED, "newer than the driver" },
        { "cuModuleGetFunction", 500, 20, CBX_EVERSION, "another version" },
    };
    cbx_ctx *ctx = new_ctx();
    cbx_cuda_opts o = options(false);
    cbx_err err = CBX_ERR_INIT;
    cbx_cuda *g = NULL;
    const char *why;

    (void)state;
    for (size_t i = 0; i < CBX_LEN(faults); i++) {
        shim.spoil(faults[i].call, faults[i].number, faults[i].after);
        CHECK_STATUS(cbx_cuda_open(ctx, &o, &g, &err), faults[i].status, faults[i].call);
        if (!strstr(err.message, faults[i].words) && strcmp(faults[i].words, "modprobe"))
            fail_msg("'%s' does not say '%s'", err.message, faults[i].words);
        shim.spoil(NULL, 0, 0);
        CHECK_INT(shim.open(), 0, faults[i].call);
    }
    shim.capability(7);
    CHECK_STATUS(cbx_cuda_open(ctx, &o, &g, &err), CBX_EUNSUPPORTED, "an old device");
    shim.capability(9);
    o.device = 1;
    CHECK_STATUS(cbx_cuda_open(ctx, &o, &g, &err), CBX_EINVAL, "no second device");
    o = options(true), o.driver = "libnone.so.7";
    CHECK_STATUS(cbx_cuda_open(ctx, &o, &g, &err), CBX_EUNAVAILABLE, "no driver");
    o = options(true), o.images = "/nowhere";
    CHECK_STATUS(cbx_cuda_open(ctx, &o, &g, &err), CBX_ENOENT, "no images");
    o.struct_size = 1;
    CHECK_STATUS(cbx_cuda_open(ctx, &o, &g, &err), CBX_EINVAL, "another version of the options");
    o = options(true);
    shim.spoil("cublasCreate_v2", 3, 0);
    CHECK_OK(cbx_cuda_open(ctx, &o, &g, &err), &err, "without cuBLAS");
    shim.spoil(NULL, 0, 0);
    CHECK(!cbx_cuda_has_cublas(g, &why) && strstr(why, "status 3"), "and why");
    cbx_cuda_close(g);
    CHECK_INT(shim.open(), 0, "all is given back");
    cbx_ctx_free(ctx);
}

static void running(void **state)
{
    static const struct {
        const char *call;
        int number, after;
        cbx_status status;
    } faults[] = {
        { "cuMemAlloc_v2", 2, 0, CBX_ENOMEM },
        { "cuMemAlloc_v2", 2, 4, CBX_ENOMEM },
        { "cuMemcpyHtoDAsync_v2", 700, 1, CBX_EINTERNAL },
        { "cuLaunchKernel", 719, 0, CBX_EINTERNAL },
        { "cuLaunchKernel", 701, 3, CBX_EUNSUPPORTED },
        { "cuMemcpyDtoHAsync_v2", 1, 0, CBX_EINVAL },
        { "cuStreamSynchronize", 700, 0, CBX_EINTERNAL },
        { "cublasSgemmStridedBatched", 3, 0, CBX_ENOMEM },
        { "cublasSgemmStridedBatched", 13, 0, CBX_EINTERNAL },
    };
    device d = device_open(true, 4, 0);
    cbx_err err = CBX_ERR_INIT;
    void *stream = NULL;

    (void)state;
    for (size_t i = 0; i < CBX_LEN(faults); i++) {
        problem q = { .q = CBX_CUDA_MATMUL_INIT };
        q.q.product.semiring = cbx_semiring_get(CBX_ALGEBRA_LOG), q.q.product.dtype = CBX_F32;
        q.q.product.m = q.q.product.k = q.q.product.n = 9;
        problem_make(&q, 1);
        shim.spoil(faults[i].call, faults[i].number, faults[i].after);
        CHECK_STATUS(problem_run(&q, d.g, NULL, &err), faults[i].status, faults[i].call);
        shim.spoil(NULL, 0, 0);
        problem_free(&q);
    }
    shim.spoil("cuStreamCreate", 2, 0);
    CHECK_STATUS(cbx_cuda_stream_create(d.g, &stream, &err), CBX_ENOMEM, "no stream");
    shim.spoil(NULL, 0, 0);
    CHECK_OK(cbx_cuda_stream_create(d.g, &stream, &err), &err, "a stream");
    cbx_cuda_stream_free(d.g, stream);
    device_close(&d);
}

/* One sentence for each way to ask for what cannot be. */
static void refused(void **state)
{
    enum { STRUCT, SEMIRING, DTYPE, LONG, STACK, WORKSPACE, NO_CUBLAS, OVERLAP, COINCIDE, RAW, WAYS };
    static const cbx_status wanted[WAYS] = { CBX_EINVAL, CBX_EINVAL, CBX_EDTYPE, CBX_EOVERFLOW, CBX_EINVAL,
                                             CBX_EINVAL, CBX_EINVAL, CBX_EINVAL, CBX_EINVAL,    CBX_EINVAL };
    device d = device_open(false, 4, 0);
    char memory[4096] __attribute__((aligned(256)));
    cbx_err err = CBX_ERR_INIT;
    const int before = shim.launches();

    (void)state;
    for (int way = 0; way < WAYS; way++) {
        cbx_cuda_matmul q = CBX_CUDA_MATMUL_INIT;
        cbx_matmul *p = &q.product;
        p->semiring = cbx_semiring_get(CBX_ALGEBRA_LOG);
        p->m = p->k = p->n = 4, p->lda = p->ldb = p->ldc = 4;
        p->a = memory, p->b = memory + 256, p->c = memory + 512, p->workspace = memory + 1024,
        p->workspace_bytes = 3072;
        if (way == STRUCT) q.struct_size = 8;
        if (way == SEMIRING) p->semiring = NULL;
        if (way == DTYPE) p->dtype = CBX_BOOL;
        if (way == LONG) p->k = (size_t)1 << 31;
        if (way == STACK) q.batches = 2, q.batch_c = 15;
        if (way == WORKSPACE) p->workspace_bytes = 100;
        if (way == NO_CUBLAS) q.gemm = CBX_CUDA_GEMM_CUBLAS;
        if (way == OVERLAP) p->c = memory + 32;
        if (way == COINCIDE) p->ldc = 2;
        if (way == RAW) p->raw = true;
        CHECK_STATUS(cbx_cuda_matmul_run(d.g, &q, NULL, &err), wanted[way], err.message);
        CHECK(strlen(err.message) > 20, "a sentence");
    }
    cbx_ell_product e = CBX_ELL_PRODUCT_INIT;
    e.semiring = cbx_semiring_get(CBX_ALGEBRA_LOG), e.rows = e.cols = e.width = 2, e.d = 4, e.ldb = 3, e.ldc = 4;
    CHECK_STATUS(cbx_cuda_ell_product_run(d.g, &e, NULL, &err), CBX_EINVAL, "rows that do not fit");
    e.ldb = 4, e.scaled = true;
    CHECK_STATUS(cbx_cuda_ell_product_run(d.g, &e, NULL, &err), CBX_EINVAL, "weighted messages of log");
    e.dtype = CBX_I32;
    CHECK_STATUS(cbx_cuda_ell_softmax_run(d.g, &e, NULL, &err), CBX_EDTYPE, "a softmax of integers");
    CHECK_STATUS(cbx_cuda_ell_gather_run(d.g, &e, NULL, &err), CBX_EDTYPE, "a gather of integers");
    CHECK_INT(shim.launches(), before, "nothing was launched");
    device_close(&d);
}

/* Every allocation of the host fails once. */
static cbx_status open_and_multiply(cbx_ctx *ctx, void *user)
{
    const cbx_cuda_opts o = options(false);
    cbx_cuda *g = NULL;
    cbx_err err = CBX_ERR_INIT;
    problem q = { .q = CBX_CUDA_MATMUL_INIT, .layout = ALL_COLUMNS };
    sparse_problem e = { .p = CBX_ELL_PRODUCT_INIT };
    cbx_status st;

    (void)user;
    q.q.product.semiring = e.p.semiring = cbx_semiring_get(CBX_ALGEBRA_EUCLIDEAN);
    q.q.product.m = q.q.product.k = q.q.product.n = 5;
    e.p.rows = e.p.cols = e.p.width = e.p.d = 3, e.p.ldb = e.p.ldc = 4;
    problem_make(&q, 2);
    sparse_make(&e, 2);
    st = cbx_cuda_open(ctx, &o, &g, &err);
    if (!st) st = cbx_cuda_matmul_host(g, &q.q.product, &err);
    if (!st) st = cbx_cuda_ell_product_host(g, &e.p, &err);
    cbx_cuda_close(g);
    problem_free(&q);
    sparse_free(&e);
    CHECK_INT(shim.open(), 0, "nothing leaks on the device");
    return st;
}

static void torture(void **state)
{
    (void)state;
    CHECK_GT(cbx_test_fail_each(open_and_multiply, NULL, "cbx_cuda"), 5, "allocations that failed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_small),  cmocka_unit_test(shapes_middle), cmocka_unit_test(shapes_large),
        cmocka_unit_test(shapes_cublas), cmocka_unit_test(contents),      cmocka_unit_test(epilogues),
        cmocka_unit_test(sparse),        cmocka_unit_test(host),          cmocka_unit_test(faulty),
        cmocka_unit_test(same_bits),     cmocka_unit_test(opening),       cmocka_unit_test(running),
        cmocka_unit_test(refused),       cmocka_unit_test(torture),
    };
    return cmocka_run_group_tests_name("array/cuda", tests, begin, NULL);
}
