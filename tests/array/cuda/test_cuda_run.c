/*
 * The kernels on a real GPU: the same cases as on the played one (test_cuda.c), bits that do not
 * change from run to run, streams, and products too large for a CPU's patience against each other.
 * Without a device, a driver or kernels every test is skipped with the reason.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#include "calibrax/array/cuda/probe.h"
#include "calibrax/array/kernels/semiring.h"

#include "cases.h"
#include "foreign.h"

static struct {
    cbx_ctx *ctx;
    cbx_cuda *g;
    cbx_err why;
} device;

static int begin(void **state)
{
    (void)state;
    CHECK_OK(cbx_ctx_create(NULL, &device.ctx, &device.why), &device.why, "context");
    const cbx_status st = cbx_cuda_open(device.ctx, NULL, &device.g, &device.why);
    if (st && st != CBX_EUNAVAILABLE) fail_msg("%s", device.why.message);
    return 0;
}

static int end(void **state)
{
    (void)state;
    cbx_cuda_close(device.g);
    cbx_ctx_free(device.ctx);
    return 0;
}

static void skip_without_device(void)
{
    static char why[CBX_ERR_MESSAGE_SIZE + 16];

    snprintf(why, sizeof why, "hardware: %s", device.why.message);
    SKIP(why);
}

#define NEEDS_DEVICE()                                                                                                 \
    do {                                                                                                               \
        if (!device.g) skip_without_device();                                                                          \
    } while (0)

TEST(shapes)
{
    NEEDS_DEVICE();
    cases_shapes(device.g, CBX_CUDA_GEMM_OWN);
    cases_shapes(device.g, CBX_CUDA_GEMM_AUTO);
}
TEST(contents)
{
    NEEDS_DEVICE();
    cases_contents(device.g, CBX_CUDA_GEMM_OWN);
    cases_contents(device.g, CBX_CUDA_GEMM_AUTO);
}
TEST(epilogues)
{
    NEEDS_DEVICE();
    cases_epilogues(device.g, CBX_CUDA_GEMM_OWN);
    cases_epilogues(device.g, CBX_CUDA_GEMM_AUTO);
}
TEST(parts)
{
    NEEDS_DEVICE();
    cases_parts(device.g, CBX_CUDA_GEMM_OWN);
    cases_parts(device.g, CBX_CUDA_GEMM_AUTO);
}
TEST(sparse)
{
    NEEDS_DEVICE();
    cases_sparse(device.g);
}
TEST(host)
{
    NEEDS_DEVICE();
    cases_host(device.g);
}
TEST(faulty)
{
    NEEDS_DEVICE();
    cases_faulty(device.g);
}

TEST(foreign)
{
    NEEDS_DEVICE();
    foreign_agrees(device.g);
    foreign_can_fail(device.g);
}

/* Large tiles: exact algebras against the definition, the others' bits in two streams and
 * two runs. */
TEST(large)
{
    NEEDS_DEVICE();
    for (int g = 0; g < CBX_ALGEBRA_COUNT; g++) {
        problem q = { .q = CBX_CUDA_MATMUL_INIT };
        cbx_err err = CBX_ERR_INIT;
        void *stream = NULL;
        q.q.product.semiring = cbx_semiring_get((cbx_algebra)g);
        q.q.product.dtype = g == CBX_ALGEBRA_BOOLEAN ? CBX_BOOL : CBX_F32;
        q.q.product.m = 1100, q.q.product.k = 70, q.q.product.n = 1030;
        q.q.gemm = CBX_CUDA_GEMM_OWN;
        problem_make(&q, 4);
        problem_define(&q);
        CHECK_OK(problem_run(&q, device.g, NULL, &err), &err, problem_text(&q));
        CHECK_LE(problem_worst(&q), 1, problem_text(&q));
        char *kept = memcpy(malloc(q.bytes[2]), q.block[2], q.bytes[2]);
        CHECK_OK(cbx_cuda_stream_create(device.g, &stream, &err), &err, "a stream");
        CHECK_OK(problem_run(&q, device.g, stream, &err), &err, problem_text(&q));
        CHECK(memcmp(kept, q.block[2], q.bytes[2]) == 0, "the same bits in every run and stream");
        cbx_cuda_stream_free(device.g, stream);
        free(kept);
        problem_free(&q);
    }
}

static void take(void *user, const cbx_cuda_slices *s)
{
    size_t *seen = user;
    CHECK(s->n > 0 || s->why[0], s->by);
    for (size_t i = 0; i < s->n; i++) CHECK(s->per_s[i] > 1e8 && s->per_s[i] < 1e17, s->by);
    ++*seen;
}

/* The probe's loops check themselves; a figure is at least a hundredth of the oldest device's and
 * at most the newest's a hundred times. */
TEST(probe)
{
    cbx_cuda_probe_opts o = CBX_CUDA_PROBE_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    size_t seen = 0;
    NEEDS_DEVICE();
    o.user = &seen;
    o.take = take;
    CHECK_OK(cbx_cuda_probe(device.g, &o, &err), &err, "probe");
    CHECK_INT(seen, CBX_CUDA_RATE_COUNT + 5 + 2 * CBX_CUDA_TRAFFICS, "each figure");
}

TEST(exhausted)
{
    cbx_err err = CBX_ERR_INIT;
    void *p = NULL;
    NEEDS_DEVICE();
    CHECK_STATUS(cbx_cuda_alloc(device.g, (size_t)1 << 46, &p, &err), CBX_ENOMEM, "64 TiB");
    CHECK_OK(cbx_cuda_alloc(device.g, 1000, &p, &err), &err, "and the device goes on");
    cbx_cuda_free(device.g, p);
}

TESTS(.seconds = 600, .before = begin, .after = end)
