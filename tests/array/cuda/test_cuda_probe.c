/*
 * The GPU's probe on a played device, whose clock moves by what a test says with each launch: loops
 * compute what they count, figures are work over that time, and faults are reported.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#include "calibrax/array/cuda/driver.h"
#include "calibrax/array/cuda/probe.h"
#include "played.h"

enum { SLICES = 5, THREADS = 4 * CBX__CUDA_BLOCK }; /* of a device with one multiprocessor */

/* --- loops --- */

static uint64_t bits_of_f64(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static uint64_t bits_of_f32(double x)
{
    const float y = (float)x;
    uint32_t u;
    memcpy(&u, &y, sizeof u);
    return u;
}
/* 1/2 <= x < 2 in 16 bits, so many behind the point */
static uint64_t bits_of_half(double x, int digits)
{
    const unsigned bias = (1u << (14 - digits)) - 1, one = 1u << digits;
    return x >= 1 ? (uint64_t)bias << digits | (unsigned)((x - 1) * one)
                  : (uint64_t)(bias - 1) << digits | (unsigned)((2 * x - 1) * one);
}

/* A chain that begins with these random bits, after 16 rounds' steps of -c. */
static uint64_t chain_of(cbx_cuda_rate r, uint64_t random, double all)
{
    switch (r) {
    case CBX_CUDA_RATE_F64: return bits_of_f64(1 + ldexp((double)(random & ((1ull << 52) - 1)), -52) - all);
    case CBX_CUDA_RATE_F32: return bits_of_f32(1 + ldexp((double)(random & ((1u << 23) - 1)), -23) - all);
    case CBX_CUDA_RATE_F16:
        return bits_of_half(1 + ldexp((double)(random & 1023), -10) - all, 10) |
               bits_of_half(1 + ldexp((double)(random >> 16 & 1023), -10) - all, 10) << 16;
    default:
        return bits_of_half(1 + ldexp((double)(random & 127), -7) - all, 7) |
               bits_of_half(1 + ldexp((double)(random >> 16 & 127), -7) - all, 7) << 16;
    }
}

static void run_loop(const played_device *d, cbx__cuda_kernel k, int64_t rounds, uint64_t x, uint64_t c, uint64_t *y)
{
    cbx__cuda_loop a = { .rounds = rounds, .x = x, .c = c };
    void *there = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_cuda_alloc(d->g, 2 * CBX__CUDA_BLOCK * 8, &there, &err), &err, "memory");
    a.y = there;
    CHECK_OK(cbx__cuda_enter(d->g, &err), &err, "context");
    CHECK_OK(cbx__cuda_launch(d->g, k, 2, CBX__CUDA_BLOCK, &a, NULL, &err), &err, "launch");
    cbx__cuda_leave(d->g);
    CHECK_OK(cbx_cuda_download(d->g, y, there, 2 * CBX__CUDA_BLOCK * 8, NULL, &err), &err, "download");
    cbx_cuda_free(d->g, there);
}

/* v = 1 v - c: exact, one step at a time, so the answer counts them. */
TEST(loops_of_threads)
{
    static const struct {
        cbx__cuda_kernel kernel;
        uint64_t one, minus_c;
        double c;
        int64_t rounds;
    } loops[] = {
        [CBX_CUDA_RATE_F64] = { CBX__CUDA_cbx_probe_f64, 0x3ff0000000000000u, 0xbf70000000000000u, 0x1p-8, 7 },
        [CBX_CUDA_RATE_F32] = { CBX__CUDA_cbx_probe_f32, 0x3f800000u, 0xbb800000u, 0x1p-8, 7 },
        [CBX_CUDA_RATE_F16] = { CBX__CUDA_cbx_probe_f16, 0x3c003c00u, 0x94009400u, 0x1p-10, 3 },
        [CBX_CUDA_RATE_BF16] = { CBX__CUDA_cbx_probe_bf16, 0x3f803f80u, 0xbc00bc00u, 0x1p-7, 2 },
    };
    played_device d = played_open(false, 1, 0);
    uint64_t y[2 * CBX__CUDA_BLOCK];

    for (int r = 0; r < (int)CBX_LEN(loops); r++) {
        run_loop(&d, loops[r].kernel, loops[r].rounds, loops[r].one, loops[r].minus_c, y);
        for (uint64_t t = 0; t < CBX_LEN(y); t++) {
            uint64_t bits = 0;
            for (uint64_t i = 0; i < CBX__CUDA_CHAINS; i++)
                bits ^= chain_of((cbx_cuda_rate)r, cbx__cuda_mix(t * CBX__CUDA_CHAINS + i),
                                 loops[r].c * CBX__CUDA_STEPS * (double)loops[r].rounds);
            CHECK(y[t] == bits, cbx_cuda_rate_type((cbx_cuda_rate)r));
        }
    }
    played_close(&d);
}

/* The played matrix unit adds 1 to each of a thread's sums. */
TEST(loops_of_tiles)
{
    static const struct {
        cbx__cuda_kernel kernel;
        int sums, steps;
    } loops[] = {
        { CBX__CUDA_cbx_probe_tile_f64, CBX__CUDA_TILE_SUMS_64, 2 * CBX__CUDA_TILE_STEPS },
        { CBX__CUDA_cbx_probe_tile_tf32, CBX__CUDA_TILE_SUMS, CBX__CUDA_TILE_STEPS },
        { CBX__CUDA_cbx_probe_tile_f16, CBX__CUDA_TILE_SUMS, CBX__CUDA_TILE_STEPS },
        { CBX__CUDA_cbx_probe_tile_bf16, CBX__CUDA_TILE_SUMS, CBX__CUDA_TILE_STEPS },
        { CBX__CUDA_cbx_probe_tile_i8, CBX__CUDA_TILE_SUMS, CBX__CUDA_TILE_STEPS },
    };
    played_device d = played_open(false, 1, 0);
    uint64_t y[2 * CBX__CUDA_BLOCK];

    for (size_t i = 0; i < CBX_LEN(loops); i++) {
        const double all = 4 * loops[i].sums * (loops[i].sums - 1) / 2 + 4.0 * loops[i].sums * loops[i].steps * 9;
        run_loop(&d, loops[i].kernel, 9, 17, 71, y);
        for (size_t t = 0; t < CBX_LEN(y); t++) CHECK(y[t] == bits_of_f64(all), "steps");
    }
    played_close(&d);
}

/* --- figures --- */

typedef struct seen {
    double rate[CBX_CUDA_RATE_COUNT][2], traffic[2][CBX_CUDA_TRAFFICS]; /* [own, cuBLAS], [L2, memory] */
    double work[CBX_CUDA_RATE_COUNT][2];
    char why[200];
    size_t figures, busy, fewest;
} seen;

static void busy(void *user) { ((seen *)user)->busy++; }

static void take(void *user, const cbx_cuda_slices *s)
{
    seen *t = user;
    double *to = s->is_rate ? &t->rate[s->rate][s->by[0] == 'c'] : &t->traffic[s->level_bytes == 0][s->traffic];

    t->figures++;
    if (s->n < t->fewest) t->fewest = s->n;
    if (s->n == 0) snprintf(t->why, sizeof t->why, "%s", s->why);
    *to = s->n ? s->per_s[0] : -1;
    for (size_t i = 1; i < s->n; i++) CHECK(s->per_s[i] <= s->per_s[i - 1], "a clock that slows down");
}

static cbx_cuda_probe_opts quick(seen *t)
{
    cbx_cuda_probe_opts o = CBX_CUDA_PROBE_OPTS_INIT;
    *t = (seen){ .fewest = 100 };
    o.slices = SLICES;
    o.warm_up_s = 1e-9;
    o.capacity_bytes = 1 << 15;
    o.user = t;
    o.busy = busy;
    o.take = take;
    return o;
}

#define CLOSE(x, y, why) CHECK_LE(fabs((x) - (y)), 1e-5 * (y), why) /* the device tells time in float */

TEST(figures)
{
    static const double works[] = {
#define WORK(name, type, unit, kernel, work, by) work,
        CBX_CUDA_RATE_MAP(WORK)
    };
    static const double n[] = { [CBX_CUDA_RATE_F64_TILE] = 32,
                                [CBX_CUDA_RATE_TF32_TILE] = 32,
                                [CBX_CUDA_RATE_F16_TILE] = 64,
                                [CBX_CUDA_RATE_BF16_TILE] = 64,
                                [CBX_CUDA_RATE_I8_TILE] = 64 };
    played_device d = played_open(true, 1, 0);
    cbx_err err = CBX_ERR_INIT;
    seen t;
    const cbx_cuda_probe_opts o = quick(&t);

    shim.tick(5, 0);
    CHECK_OK(cbx_cuda_probe(d.g, &o, &err), &err, "probe");
    CHECK_INT(t.figures, CBX_CUDA_RATE_COUNT + 5 + 2 * CBX_CUDA_TRAFFICS, "each once");
    CHECK_INT(t.fewest, SLICES, "all measured");
    CHECK_GT(t.busy, t.figures, "looked at while at work");
    for (int r = 0; r < CBX_CUDA_RATE_COUNT; r++) {
        CLOSE(t.rate[r][0], works[r] * THREADS / 5e-3, cbx_cuda_rate_type((cbx_cuda_rate)r));
        if (r >= CBX_CUDA_RATE_F64_TILE) CLOSE(t.rate[r][1], 2 * n[r] * n[r] * n[r] / 5e-3, "cuBLAS");
    }
    for (int k = 0; k < CBX_CUDA_TRAFFICS; k++) { /* L2 of 64 KiB: a quarter */
        const double arrays = k == CBX_CUDA_READ ? 1 : k == CBX_CUDA_COPY ? 2 : 3;
        CLOSE(t.traffic[0][k], floor(16384 / arrays / 16) * 16 * arrays / 5e-3, "L2");
        CLOSE(t.traffic[1][k], floor(32768 / arrays / 16) * 16 * arrays / 5e-3, "memory");
    }
    played_close(&d);
}

/* Slices of half a millisecond: eight products make one of four. */
TEST(slices_are_long_enough)
{
    played_device d = played_open(true, 1, 0);
    cbx_err err = CBX_ERR_INIT;
    seen t;
    cbx_cuda_probe_opts o = quick(&t);

    o.slice_s = 1e-3;
    shim.tick(0.5, 0.001);
    CHECK_OK(cbx_cuda_probe(d.g, &o, &err), &err, "half is enough");
    shim.tick(0, 0);
    CHECK_STATUS(cbx_cuda_probe(d.g, &o, &err), CBX_EINTERNAL, "a clock that does not run");
    CHECK(strstr(err.message, "clock is stopped") != NULL, err.message);
    shim.tick(5, 0);
    played_close(&d);
}

TEST(without_cublas)
{
    played_device d = played_open(false, 1, 1);
    cbx_err err = CBX_ERR_INIT;
    seen t;
    const cbx_cuda_probe_opts o = quick(&t);

    CHECK_OK(cbx_cuda_probe(d.g, &o, &err), &err, "probe");
    CHECK_INT(t.figures, CBX_CUDA_RATE_COUNT + 5 + 2 * CBX_CUDA_TRAFFICS, "with those that are not there");
    CHECK(t.fewest == 0 && strstr(t.why, "is disabled"), t.why);
    played_close(&d);
    d = played_open(true, 1, 0);
    shim.spoil("cublasGemmEx", 15, 0);
    const cbx_cuda_probe_opts again = quick(&t);
    CHECK_OK(cbx_cuda_probe(d.g, &again, &err), &err, "a product that cuBLAS does not make");
    CHECK(strstr(t.why, "status 15") != NULL, t.why);
    shim.spoil(NULL, 0, 0);
    played_close(&d);
}

/* --- what can go wrong --- */

TEST(faults)
{
    static const struct {
        const char *call;
        int number, after;
        cbx_status status;
    } cases[] = {
        { "cuCtxPushCurrent_v2", 201, 0, CBX_EUNAVAILABLE },
        { "cuEventCreate", 2, 3, CBX_ENOMEM },
        { "cuMemGetInfo_v2", 999, 0, CBX_EUNAVAILABLE },
        { "cuMemAlloc_v2", 2, 0, CBX_ENOMEM },
        { "cuMemAlloc_v2", 2, 1, CBX_ENOMEM },
        { "cuEventRecord", 700, 4, CBX_EINTERNAL },
        { "cuLaunchKernel", 719, 2, CBX_EINTERNAL },
        { "cuLaunchKernel", 2, 60, CBX_ENOMEM },
        { "cuEventSynchronize", 700, 5, CBX_EINTERNAL },
        { "cuEventElapsedTime", 999, 6, CBX_EUNAVAILABLE },
        { "cuMemcpyDtoHAsync_v2", 700, 2, CBX_EINTERNAL },
        { "cublasGemmEx", 14, 3, CBX_OK },
    };
    played_device d = played_open(true, 1, 0);
    cbx_err err = CBX_ERR_INIT;
    char address[32];
    seen t;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_cuda_probe_opts o = quick(&t);
        const int before = shim.open();
        shim.spoil(cases[i].call, cases[i].number, cases[i].after);
        CHECK_STATUS(cbx_cuda_probe(d.g, &o, &err), cases[i].status, cases[i].call);
        shim.spoil(NULL, 0, 0);
        CHECK_INT(shim.open(), before, cases[i].call);
    }
    shim.drop("cbx_probe_f16");
    const cbx_cuda_probe_opts o = quick(&t);
    CHECK_STATUS(cbx_cuda_probe(d.g, &o, &err), CBX_EINTERNAL, "a loop that did not run");
    CHECK(strstr(err.message, "fma.rn.f16x2") != NULL, err.message);
    shim.drop(NULL);
    shim.spoil("cuDeviceGetPCIBusId", 1, 0);
    CHECK_STATUS(cbx_cuda_pci_address(d.g, address, &err), CBX_EINVAL, "no address");
    shim.spoil(NULL, 0, 0);
    CHECK_OK(cbx_cuda_pci_address(d.g, address, &err), &err, "an address");
    CHECK_STR(address, "0000:01:00.0", "in the form of NVML");
    played_close(&d);
}

TEST(refused)
{
    played_device d = played_open(true, 1, 0);
    cbx_err err = CBX_ERR_INIT;
    seen t;
    cbx_cuda_probe_opts o = quick(&t);

    o.slices = CBX_CUDA_SLICES_MAX + 1;
    CHECK_STATUS(cbx_cuda_probe(d.g, &o, &err), CBX_EINVAL, "too many slices");
    o = quick(&t), o.take = NULL;
    CHECK_STATUS(cbx_cuda_probe(d.g, &o, &err), CBX_EINVAL, "an unknown rate");
    o = quick(&t), o.struct_size--;
    CHECK_STATUS(cbx_cuda_probe(d.g, &o, &err), CBX_EINVAL, "another version");
    o = quick(&t), o.capacity_bytes = 100;
    CHECK_STATUS(cbx_cuda_probe(d.g, &o, &err), CBX_ENOMEM, "too little to go over");
    played_close(&d);
}

TESTS(.before = played_begin)
