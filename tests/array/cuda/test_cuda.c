/*
 * The GPU kernels on a device that is played by this CPU (driver.c, shim.c): the same source that
 * nvcc compiles, run block by block and thread by thread, against the definitions.  What is held to
 * bits here are the bits of a GPU.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#include "cases.h"
#include "foreign.h"
#include "played.h"

/* AddressSanitizer makes a fiber's switch ten times as dear: it sees each kernel, not each in
 * all ways. */
#if defined(__SANITIZE_ADDRESS__)
enum { FEWER_WAYS = 1 };
#else
enum { FEWER_WAYS = 0 };
#endif

TEST(shapes_small)
{
    played_device d = played_open(false, 1000, 0);
    cases_shapes(d.g, CBX_CUDA_GEMM_AUTO);
    played_close(&d);
}
TEST(shapes_middle)
{
    played_device d = played_open(false, 4, 1);
    cases_shapes(d.g, CBX_CUDA_GEMM_OWN);
    played_close(&d);
}
TEST(shapes_large)
{
    played_device d = played_open(false, 1, 0);
    cases_shapes(d.g, CBX_CUDA_GEMM_OWN);
    played_close(&d);
}
TEST(shapes_cublas)
{
    played_device d = played_open(true, 4, 0);
    cases_shapes(d.g, CBX_CUDA_GEMM_AUTO);
    CHECK_INT(shim.math(), 2, "in full precision");
    played_close(&d);
}

TEST(contents)
{
    for (int way = 0; way < 4; way++) {
        played_device d = played_open(way == 3, way == 0 ? 1 : way == 1 ? 4 : 1000, way % 2);
        cases_contents(d.g, CBX_CUDA_GEMM_AUTO);
        played_close(&d);
    }
}

TEST(epilogues)
{
    for (int way = 0; way < 3; way++) {
        played_device d = played_open(way == 2, way ? 4 : 1, way % 2);
        cases_epilogues(d.g, CBX_CUDA_GEMM_AUTO);
        played_close(&d);
    }
}

TEST(parts)
{
    for (int way = 0; way < 2; way++) {
        played_device d = played_open(false, way == 0 ? 1 : 1000, way % 2);
        cases_parts(d.g, CBX_CUDA_GEMM_OWN);
        played_close(&d);
    }
}

TEST(sparse)
{
    for (int turned = 0; turned < 2; turned++) {
        played_device d = played_open(false, 4, turned);
        cases_sparse(d.g);
        played_close(&d);
    }
}

TEST(host)
{
    played_device d = played_open(true, 4, 0);
    cases_host(d.g);
    played_close(&d);
}

TEST(faulty)
{
    played_device d = played_open(false, 4, 0);
    cases_faulty(d.g);
    played_close(&d);
}

/* NumPy's answers, with and without cuBLAS, in each size of tile. */
TEST(foreign)
{
    for (int way = FEWER_WAYS; way < (FEWER_WAYS ? 2 : 3); way++) {
        played_device d = played_open(way == 2, way == 0 ? 1 : way == 1 ? 1000 : 4, way % 2);
        foreign_agrees(d.g);
        if (way == 1) foreign_can_fail(d.g);
        played_close(&d);
    }
}

/* The bits of an element depend neither on the tile's size nor on the order in which
 * threads run. */
TEST(same_bits)
{
    static const struct {
        cbx_algebra g;
        cbx_dtype t;
    } kinds[] = { { CBX_ALGEBRA_REAL, CBX_F32 },
                  { CBX_ALGEBRA_REAL, CBX_F64 },
                  { CBX_ALGEBRA_EUCLIDEAN, CBX_F32 },
                  { CBX_ALGEBRA_LOG, CBX_F32 },
                  { CBX_ALGEBRA_LOG, CBX_F64 } };
    for (size_t i = 0; i < 2 * CBX_LEN(kinds); i++) {
        problem q = { .q = CBX_CUDA_MATMUL_INIT };
        char *kept = NULL;
        q.q.product.semiring = cbx_semiring_get(kinds[i / 2].g), q.q.product.dtype = kinds[i / 2].t;
        q.q.product.m = 70, q.q.product.k = i % 2 ? 600 : 61, q.q.product.n = i % 2 ? 20 : 66; /* k in parts, too */
        problem_make(&q, 8);
        for (int way = 0; way < 6; way += FEWER_WAYS ? 3 : 1) {
            cbx_err err = CBX_ERR_INIT;
            played_device d = played_open(false, way < 2 ? 1 : way < 4 ? 4 : 1000, way % 2);
            CHECK_OK(problem_run(&q, d.g, NULL, &err), &err, problem_text(&q));
            if (!kept) kept = memcpy(malloc(q.bytes[2]), q.block[2], q.bytes[2]);
            CHECK(memcmp(kept, q.block[2], q.bytes[2]) == 0, problem_text(&q));
            played_close(&d);
        }
        free(kept);
        problem_free(&q);
    }
}

TESTS(.seconds = 600, .before = played_begin)
