/*
 * A GPU's roofs, from a device, its clock and an NVML that are played: what is measured, what
 * stands for what is not there, how the device was meanwhile, and kernels placed under the roofs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#include "calibrax/profiling/gpu_roofs.h"
#include "fail_alloc.h"
#include "tests/array/cuda/played.h"

static char nvml[4096];

static int begin(void **state)
{
    const char *root = getenv("CALIBRAX_BUILD_ROOT");
    snprintf(nvml, sizeof nvml, "%s/tests/profiling/libfake_nvml.so", root ? root : "build/release");
    return played_begin(state);
}

static cbx_gpu_roofs_opts options(bool blas)
{
    cbx_gpu_roofs_opts o = CBX_GPU_ROOFS_OPTS_INIT;
    o.cuda = played_options(blas);
    o.nvml = nvml;
    o.probe.slices = 9;
    o.probe.warm_up_s = 1e-9;
    o.probe.capacity_bytes = 1 << 15;
    shim.processors(1);
    shim.tick(5, 0.01);
    return o;
}

static cbx_gpu_roofs measured(cbx_ctx *ctx, bool blas)
{
    const cbx_gpu_roofs_opts o = options(blas);
    cbx_gpu_roofs g;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_gpu_roofs_measure(ctx, &o, &g, &err), &err, "measure");
    CHECK_INT(shim.open(), 0, "all is given back");
    return g;
}

static void check_figure(const cbx_gpu_figure *f, const char *why)
{
    CHECK(f->best > 0 && f->by[0] && !f->is_lower_bound, why);
    CHECK_INT(f->slices, 9, why);
    CHECK(f->median.lower < f->median.value && f->median.value < f->median.upper && f->median.upper <= f->best, why);
    CHECK(f->median.level >= 0.95, why);
}

TEST(all_of_it)
{
    cbx_ctx *ctx = played_ctx();
    const cbx_gpu_roofs g = measured(ctx, true);

    for (int r = 0; r < CBX_CUDA_RATE_COUNT; r++) check_figure(&g.rate[r], cbx_cuda_rate_type((cbx_cuda_rate)r));
    for (int l = 0; l < CBX_GPU_LEVELS; l++)
        for (int k = 0; k < CBX_CUDA_TRAFFICS; k++) check_figure(&g.traffic[l][k], cbx_gpu_level_name(l));
    CHECK(!strncmp(g.rate[CBX_CUDA_RATE_F16_TILE].by, "mma.sync", 8), "the faster of two: a tiny product is slower");
    CHECK_STR(g.name, "shim 7", "name");
    CHECK(g.capability_major == 9 && g.multiprocessors == 1 && g.l2_bytes == 65536 && g.measured_us > 0, "device");
    CHECK(g.looks > 20 && g.unwatched[0] == '\0', "NVML looked on");
    CHECK(g.sm_mhz_min == 1400 && g.sm_mhz_max == 1400 && g.memory_mhz == 1593, "clocks");
    CHECK(g.temperature_c == 61 && g.power_w >= 200 && g.power_limit_w == 400, "power");
    CHECK(g.throttle == (CBX_GPU_THROTTLE_POWER_CAP | CBX_GPU_THROTTLE_THERMAL), "and what held it back");
    cbx_ctx_free(ctx);
}

/* NULL members of a machine that lacks them: a sentence each, and the rest is measured. */
TEST(parts_are_missing)
{
    cbx_ctx *ctx = played_ctx();
    cbx_gpu_roofs_opts o = options(false);
    cbx_gpu_roofs g;
    cbx_err err = CBX_ERR_INIT;

    o.nvml = "libnone.so.9";
    CHECK_OK(cbx_gpu_roofs_measure(ctx, &o, &g, &err), &err, "without NVML and cuBLAS");
    CHECK(g.looks == 0 && isnan(g.sm_mhz_min) && g.throttle == 0 && strstr(g.unwatched, "libnone"), g.unwatched);
    for (int r = 0; r < CBX_CUDA_RATE_COUNT; r++) {
        const bool tiles = r > CBX_CUDA_RATE_F64_TILE;
        CHECK(g.rate[r].best > 0 && g.rate[r].is_lower_bound == tiles, "mma.sync is not all of capability 9");
        CHECK((g.rate[r].why[0] != '\0') == tiles, g.rate[r].why);
    }
    o.nvml = nvml;
    shim.capability(8);
    CHECK_OK(cbx_gpu_roofs_measure(ctx, &o, &g, &err), &err, "an older device");
    CHECK(!g.rate[CBX_CUDA_RATE_F16_TILE].is_lower_bound, "has nothing faster");
    shim.capability(9);
    CHECK_INT(shim.open(), 0, "all is given back");
    cbx_ctx_free(ctx);
}

TEST(faults)
{
    cbx_ctx *ctx = played_ctx();
    cbx_gpu_roofs_opts o = options(false);
    cbx_gpu_roofs g = { .index = 77 };
    cbx_err err = CBX_ERR_INIT;

    o.cuda.driver = "libnone.so.7";
    CHECK_STATUS(cbx_gpu_roofs_measure(ctx, &o, &g, &err), CBX_EUNAVAILABLE, "no driver");
    o = options(false), o.cuda.device = 3;
    CHECK_STATUS(cbx_gpu_roofs_measure(ctx, &o, &g, &err), CBX_EINVAL, "no such device");
    o = options(false), o.struct_size += 8;
    CHECK_STATUS(cbx_gpu_roofs_measure(ctx, &o, &g, &err), CBX_EINVAL, "a later version");
    o = options(false);
    shim.spoil("cuLaunchKernel", 719, 9);
    CHECK_STATUS(cbx_gpu_roofs_measure(ctx, &o, &g, &err), CBX_EINTERNAL, "a kernel that fails");
    shim.spoil(NULL, 0, 0);
    CHECK_INT(g.index, 77, "untouched");
    CHECK_INT(shim.open(), 0, "all is given back");
    cbx_ctx_free(ctx);
}

TEST(as_json)
{
    cbx_ctx *ctx = played_ctx();
    cbx_gpu_roofs g = measured(ctx, false);

    g.rate[CBX_CUDA_RATE_I8_TILE] = (cbx_gpu_figure){ .why = "none here" };
    cbx_json *o = cbx_gpu_roofs_to_json(&g), *rates = cbx_json_get(o, "rates"), *roofs = cbx_json_get(o, "roofs");
    CHECK_INT(cbx_json_length(rates), CBX_CUDA_RATE_COUNT, "rates");
    CHECK_STR(cbx_json_get_string(cbx_json_at(rates, CBX_CUDA_RATE_I8_TILE), "why", ""), "none here", "and why not");
    CHECK_INT(cbx_json_length(cbx_json_get(roofs, "flop_per_s")), CBX_CUDA_RATE_COUNT - 1, "those measured");
    CHECK_INT(cbx_json_length(cbx_json_get(roofs, "bytes_per_s")), 2, "levels");
    CHECK_INT(cbx_json_length(cbx_json_get(cbx_json_get(o, "meanwhile"), "throttle")), 2, "reasons");
    cbx_json_unref(o);
    cbx_ctx_free(ctx);
}

static cbx_status measure_once(cbx_ctx *ctx, void *user)
{
    const cbx_gpu_roofs_opts *o = user;
    cbx_gpu_roofs g;
    cbx_err err = CBX_ERR_INIT;
    const cbx_status st = cbx_gpu_roofs_measure(ctx, o, &g, &err);
    CHECK_INT(shim.open(), 0, "nothing leaks on the device");
    return st == CBX_OK && g.unwatched[0] ? CBX_ENOMEM : st; /* NVML's own memory */
}

TEST(memory_may_end)
{
    cbx_gpu_roofs_opts o = options(false);
    o.probe.slices = 1;
    CHECK_GT(cbx_test_fail_each(measure_once, &o, "cbx_gpu_roofs"), 8, "allocations that failed");
}

TESTS(.before = begin)
