/*
 * What can go wrong on a GPU, on the played one: the driver, the device, the images, memory,
 * launches, faults that stay, and what is asked for but cannot be.  A status and one sentence each,
 * nothing leaks, and the next call works.
 */
#include <limits.h>
#include <stdlib.h>

#include "check.h"
#include "host.h"

#include "fail_alloc.h"
#include "played.h"
#include "problem.h"

TEST(opening)
{
    static const struct {
        const char *call;
        int number, after;
        cbx_status status;
        const char *words;
    } faults[] = {
        { "cuInit", 100, 0, CBX_EUNAVAILABLE, "CUDA_VISIBLE_DEVICES" },
        { "cuDeviceGetAttribute", 999, 0, CBX_EUNAVAILABLE, "kernel module" },
        { "cuDevicePrimaryCtxRetain", 2, 0, CBX_ENOMEM, "out of memory" },
        { "cuCtxPushCurrent_v2", 201, 0, CBX_EUNAVAILABLE, "context is not valid" },
        { "cuDeviceGetCount", 3, 0, CBX_EUNAVAILABLE, "not initialised" },
        { "cuInit", 34, 0, CBX_EUNAVAILABLE, "stub" },
        { "cuInit", 802, 0, CBX_EUNAVAILABLE, "fabric manager" },
        { "cuInit", 803, 0, CBX_EUNAVAILABLE, "different versions" },
        { "cuInit", 804, 0, CBX_EUNAVAILABLE, "compatibility" },
        { "cuDevicePrimaryCtxRetain", 46, 0, CBX_EUNAVAILABLE, "another process" },
        { "cuDevicePrimaryCtxRetain", 214, 0, CBX_EUNAVAILABLE, "uncorrectable" },
        { "cuModuleLoadData", 209, 1, CBX_EUNSUPPORTED, "architecture" },
        { "cuModuleLoadData", 2, 3, CBX_ENOMEM, "out of memory" },
        { "cuModuleLoadData", 222, 0, CBX_EUNSUPPORTED, "newer than the driver" },
        { "cuModuleGetFunction", 500, 20, CBX_EVERSION, "another version" },
    };
    static const int nowhere[] = { 1, -1, INT_MAX, INT_MIN };
    cbx_ctx *ctx = played_ctx();
    cbx_cuda_opts o = played_options(false);
    cbx_err err = CBX_ERR_INIT;
    cbx_cuda *g = NULL;
    const char *why;

    for (size_t i = 0; i < CBX_LEN(faults); i++) {
        shim.spoil(faults[i].call, faults[i].number, faults[i].after);
        CHECK_STATUS(cbx_cuda_open(ctx, &o, &g, &err), faults[i].status, faults[i].call);
        if (!strstr(err.message, faults[i].words)) fail_msg("'%s' does not say '%s'", err.message, faults[i].words);
        shim.spoil(NULL, 0, 0);
        CHECK_INT(shim.open(), 0, faults[i].call);
    }
    shim.capability(7);
    CHECK_STATUS(cbx_cuda_open(ctx, &o, &g, &err), CBX_EUNSUPPORTED, "an old device");
    shim.capability(9);
    shim.version(11080);
    CHECK_STATUS(cbx_cuda_open(ctx, &o, &g, &err), CBX_EUNAVAILABLE, "an old driver");
    CHECK(strstr(err.message, "11.8") && strstr(err.message, "525"), err.message);
    shim.version(13000);
    for (size_t i = 0; i < CBX_LEN(nowhere); i++) {
        o.device = nowhere[i];
        CHECK_STATUS(cbx_cuda_open(ctx, &o, &g, &err), CBX_EINVAL, "the device does not exist");
        CHECK(strstr(err.message, "does not exist") && strstr(err.message, "has 1"), err.message);
    }
    o = played_options(true), o.driver = "libnone.so.7";
    CHECK_STATUS(cbx_cuda_open(ctx, &o, &g, &err), CBX_EUNAVAILABLE, "no driver");
    o = played_options(true), o.images = "/nowhere";
    CHECK_STATUS(cbx_cuda_open(ctx, &o, &g, &err), CBX_ENOENT, "no images");
    o.struct_size = 1;
    CHECK_STATUS(cbx_cuda_open(ctx, &o, &g, &err), CBX_EINVAL, "another version of the options");
    o = played_options(true);
    shim.spoil("cublasCreate_v2", 3, 0);
    CHECK_OK(cbx_cuda_open(ctx, &o, &g, &err), &err, "without cuBLAS");
    shim.spoil(NULL, 0, 0);
    CHECK(!cbx_cuda_has_cublas(g, &why) && strstr(why, "status 3"), "and why");
    cbx_cuda_close(g);
    CHECK_INT(shim.open(), 0, "all is given back");
    cbx_ctx_free(ctx);
}

TEST(running)
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
    played_device d = played_open(true, 4, 0);
    cbx_err err = CBX_ERR_INIT;
    void *stream = NULL;

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
    played_close(&d);
}

static problem small_product(void)
{
    problem q = { .q = CBX_CUDA_MATMUL_INIT };
    q.q.product.semiring = cbx_semiring_get(CBX_ALGEBRA_TROPICAL_MAX_PLUS), q.q.product.dtype = CBX_F64;
    q.q.product.m = q.q.product.k = q.q.product.n = 9;
    problem_make(&q, 1);
    return q;
}

/* After such a fault the context is dead, and every call reports it, wherever it appears first;
 * closing is safe, and a new context works. */
TEST(faults_that_stay)
{
    static const struct {
        const char *call;
        int number;
        const char *words;
    } faults[] = {
        { "cuLaunchKernel", 700, "invalid memory" },        { "cuStreamSynchronize", 702, "longer than" },
        { "cuStreamSynchronize", 710, "an assertion" },     { "cuMemcpyDtoHAsync_v2", 715, "invalid instruction" },
        { "cuStreamSynchronize", 716, "aligned" },          { "cuLaunchKernel", 718, "outside its code" },
        { "cuMemcpyHtoDAsync_v2", 719, "a kernel failed" },
    };
    for (size_t i = 0; i < CBX_LEN(faults); i++) {
        played_device d = played_open(false, 4, 0);
        problem q = small_product();
        cbx_err err = CBX_ERR_INIT;
        void *p = NULL, *kept = NULL;
        char byte = 0;

        CHECK_OK(cbx_cuda_alloc(d.g, 9, &kept, &err), &err, "memory from before");
        shim.sticky(1);
        shim.spoil(faults[i].call, faults[i].number, 0);
        CHECK_STATUS(problem_run(&q, d.g, NULL, &err), CBX_EINTERNAL, faults[i].call);
        if (!strstr(err.message, faults[i].words)) fail_msg("'%s' does not say '%s'", err.message, faults[i].words);
        CHECK_STATUS(cbx_cuda_alloc(d.g, 9, &p, &err), CBX_EINTERNAL, "memory");
        CHECK(strstr(err.message, "no longer") != NULL, err.message);
        CHECK_STATUS(cbx_cuda_upload(d.g, kept, &byte, 1, NULL, &err), CBX_EINTERNAL, "upload");
        CHECK_STATUS(cbx_cuda_download(d.g, &byte, kept, 1, NULL, &err), CBX_EINTERNAL, "download");
        CHECK_STATUS(cbx_cuda_stream_create(d.g, &p, &err), CBX_EINTERNAL, "stream");
        CHECK_STATUS(cbx_cuda_wait(d.g, NULL, &err), CBX_EINTERNAL, "wait");
        CHECK(p == NULL, "untouched");
        cbx_cuda_free(d.g, kept);
        shim.spoil(NULL, 0, 0);
        played_close(&d);
        shim.sticky(0);
        d = played_open(false, 4, 0);
        CHECK_OK(problem_run(&q, d.g, NULL, &err), &err, "a process that starts again");
        problem_free(&q);
        played_close(&d);
    }
}

/* One sentence for each way to ask for what cannot be. */
TEST(refused)
{
    enum { STRUCT, SEMIRING, DTYPE, LONG, STACK, WORKSPACE, NO_CUBLAS, OVERLAP, COINCIDE, RAW, WAYS };
    static const cbx_status wanted[WAYS] = { CBX_EINVAL, CBX_EINVAL, CBX_EDTYPE, CBX_EOVERFLOW, CBX_EINVAL,
                                             CBX_EINVAL, CBX_EINVAL, CBX_EINVAL, CBX_EINVAL,    CBX_EINVAL };
    played_device d = played_open(false, 4, 0);
    char memory[4096] __attribute__((aligned(256)));
    cbx_err err = CBX_ERR_INIT;
    const int before = shim.launches();

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
    played_close(&d);
}

/* Every allocation of the host fails once. */
static cbx_status open_and_multiply(cbx_ctx *ctx, void *user)
{
    const cbx_cuda_opts o = played_options(false);
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
    if (!st) st = host_matmul(g, &q.q.product, &err);
    if (!st) st = host_ell_product(g, &e.p, &err);
    cbx_cuda_close(g);
    problem_free(&q);
    sparse_free(&e);
    CHECK_INT(shim.open(), 0, "nothing leaks on the device");
    return st;
}

TEST(torture) { CHECK_GT(cbx_test_fail_each(open_and_multiply, NULL, "cbx_cuda"), 5, "allocations that failed"); }

TESTS(.before = played_begin)
