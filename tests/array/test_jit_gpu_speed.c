/*
 * Kernels of 2^26 float64 elements on a GPU: the bytes that they read and write in a second, with
 * operands on the device, relative to a sum of two arrays, and every bit of their results against
 * the interpreter.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/fn_internal.h"
#include "calibrax/array/jit/loops.h"
#include "calibrax/array/jit/program_gpu.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/trace/simplify.h"
#include "calibrax/array/trace/trace.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/rng.h"
#include "gpu_played.h"

enum { RUNS = 10, OPERANDS = 2 };
#define ELEMENTS ((size_t)64 << 20)
#define GB       1e9

static cbx_ctx *ctx;

static cbx_status add(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    (void)nin, (void)nout, (void)user;
    out[0] = cbx_add(c, in[0], in[1]);
    return CBX_OK;
}

/* exp(-(a * b + 0.5) * 0.7) + a */
static cbx_status formula(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    cbx_array *x = cbx_add_scalar(c, cbx_multiply(c, in[0], in[1]), 0.5);

    (void)nin, (void)nout, (void)user;
    out[0] = cbx_add(c, cbx_exp(c, cbx_multiply_scalar(c, cbx_negative(c, x), 0.7)), in[0]);
    return CBX_OK;
}

static cbx_status squares(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    (void)nin, (void)nout, (void)user;
    out[0] = cbx_sum(c, cbx_multiply(c, in[0], in[0]), NULL);
    return CBX_OK;
}

static cbx_status total(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    (void)nin, (void)nout, (void)user;
    out[0] = cbx_sum(c, in[0], NULL);
    return CBX_OK;
}

static cbx_status rows(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    (void)nin, (void)nout, (void)user;
    out[0] = cbx_max(c, cbx_reshape(c, in[0], 2, (const ptrdiff_t[]){ -1, 1024 }),
                     &(cbx_axes){ .n = 1, .axis = { 1 } });
    return CBX_OK;
}

/* The first measures the bandwidth. */
static const struct {
    cbx_status (*f)(cbx_ctx *, size_t, cbx_array *const *, size_t, cbx_array **, void *);
    const char *name;
    size_t arrays; /* that it reads or writes */
    double share;  /* of the bandwidth, at least */
} cases[] = {
    { add, "a + b", 3, 0.99 },   { formula, "exp(-(a*b+.5)*.7)+a", 3, 0.3 }, { squares, "sum(a*a)", 1, 0.5 },
    { total, "sum(a)", 1, 0.5 }, { rows, "max of rows of 1024", 1, 0.5 },
};

static cbx_array *operand(uint64_t seed)
{
    const cbx_array_desc d = { CBX_F64, 1, { ELEMENTS } };
    cbx_rng r = cbx_rng_make(seed, 0);
    cbx_array *a = NULL;
    cbx_err err;

    CHECK_OK(cbx_array_create(ctx, &d, &a, &err), &err, "an operand");
    for (size_t i = 0; i < ELEMENTS; i++)
        ((double *)cbx_array_data_mut(a))[i] = (double)(cbx_rng_u64(&r) >> 11) * 0x1p-52 - 1;
    return a;
}

/* Bytes on the device of value v of a graph: operand, result or neither. */
static void *place_of(const cbx__graph *g, cbx__vid v, void *const *there, void *result)
{
    for (size_t i = 0; i < g->in.n; i++)
        if (g->in.items[i] == v) return there[i];
    return g->out.items[0] == v ? result : NULL;
}

/* [s] of the fastest run. */
static double best_time(cbx__gpu *gpu, const cbx__program *p, const cbx__gpu_nests *nests, void *const *there,
                        void *result)
{
    const cbx__nest *n = &p->nests[0];
    void *streams[CBX__MAX_STREAMS] = { 0 }, *results[CBX__MAX_STREAMS] = { result };
    double best = 1e9;
    bool left = false;
    cbx_err err;

    for (size_t s = 0; s < n->kernel.streams.n; s++)
        if (n->sites[s].base != CBX__NO_VALUE) streams[s] = place_of(p->graph, n->sites[s].base, there, result);
    for (int i = 0; i <= RUNS; i++) { /* the first one is not counted */
        char one;
        const uint64_t start = cbx_clock_ns();
        CHECK_OK(cbx__gpu_nest_run(ctx, nests, 0, streams, results, &left, &err), &err, "run");
        CHECK_OK(gpu->download(gpu, &one, result, 1, &err), &err, "the end of it");
        const double t = 1e-9 * (double)(cbx_clock_ns() - start);
        if (i && t < best) best = t;
        CHECK(!left, "inside of the formulas");
    }
    return best;
}

static void check_result(cbx__gpu *gpu, cbx__program *p, cbx_array *const *in, const void *result, const char *why)
{
    cbx_array *want = NULL;
    cbx_err err;

    CHECK_OK(cbx__program_run(ctx, p, NULL, in, &want, &err), &err, why);
    char *have = malloc(cbx_array_bytes(want));
    CHECK(have, "memory");
    CHECK_OK(gpu->download(gpu, have, result, cbx_array_bytes(want), &err), &err, why);
    CHECK(memcmp(have, cbx_array_data(want), cbx_array_bytes(want)) == 0, why);
    free(have);
    cbx_array_free(want);
}

/* [bytes/s] of case i; 0: its code is only made. */
static double bandwidth(cbx__gpu *gpu, size_t i, cbx_array *const *in, void *const *there, void *result)
{
    const cbx_array_desc d = { CBX_F64, 1, { ELEMENTS } }, descs[OPERANDS] = { d, d };
    const cbx__gpu_nests *nests = NULL;
    cbx__traced traced = { 0 };
    cbx__program *p = NULL;
    cbx__graph *simple = NULL;
    double r = 0;
    cbx_err err;

    CHECK_OK(cbx__trace_fn(ctx, CBX_FN(cases[i].f, NULL, OPERANDS, 1), descs, &traced, &err), &err, cases[i].name);
    CHECK_OK(cbx__graph_simplify(ctx, traced.graph, &simple, &err), &err, cases[i].name);
    cbx__traced_clear(&traced);
    CHECK_OK(cbx__program_create(ctx, simple, NULL, &p, &err), &err, cases[i].name);
    CHECK_INT(p->nnests, 1, cases[i].name);
    CHECK_OK(cbx__program_nests(ctx, p, gpu, &nests, &err), &err, cases[i].name);
    if (!gpu_records(gpu)) {
        CHECK_STR(nests->why, "", cases[i].name);
        r = (double)(cases[i].arrays * ELEMENTS * sizeof(double)) / best_time(gpu, p, nests, there, result);
        check_result(gpu, p, in, result, cases[i].name);
    }
    cbx__program_free(p);
    cbx__graph_unref(simple);
    return r;
}

TEST(kernels_stream)
{
    cbx__gpu *gpu = gpu_real();
    const bool runs = !gpu_records(gpu);
    const size_t bytes = ELEMENTS * sizeof(double);
    void *there[OPERANDS] = { 0 }, *result = NULL;
    cbx_array *in[OPERANDS] = { 0 };
    double first = 0;
    cbx_err err;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "context");
    for (size_t i = 0; runs && i < OPERANDS; i++) {
        in[i] = operand(i);
        CHECK_OK(gpu->alloc(gpu, bytes, &there[i], &err), &err, "memory");
        const uint64_t start = cbx_clock_ns();
        CHECK_OK(gpu->upload(gpu, there[i], cbx_array_data(in[i]), bytes, &err), &err, "upload");
        printf("# to the device: %.1f GB/s\n", (double)bytes / (double)(cbx_clock_ns() - start));
    }
    if (runs) {
        const uint64_t start = cbx_clock_ns();
        CHECK_OK(gpu->download(gpu, cbx_array_data_mut(in[0]), there[0], bytes, &err), &err, "download");
        printf("# from the device: %.1f GB/s\n", (double)bytes / (double)(cbx_clock_ns() - start));
    }
    if (runs) CHECK_OK(gpu->alloc(gpu, bytes, &result, &err), &err, "memory");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const double r = bandwidth(gpu, i, in, there, result);
        if (i == 0) first = r;
        if (!runs) continue;
        printf("# %s: %.0f GB/s, %.2f of the first\n", cases[i].name, r / GB, r / first);
        CHECK_GT(r, cases[i].share * first, cases[i].name);
    }
    for (size_t i = 0; runs && i < OPERANDS; i++) {
        gpu->free(gpu, there[i]);
        cbx_array_free(in[i]);
    }
    if (runs) gpu->free(gpu, result);
    cbx_ctx_free(ctx);
}

TESTS(.seconds = 300)
