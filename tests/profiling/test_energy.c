/* NVML as a library that plays it, and powercap trees that are made up. */
#include "check.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/profiling/energy.h"
#include "fail_alloc.h"

static const char *library_named(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/tests/profiling/lib%s.so", getenv("CALIBRAX_BUILD_ROOT"), name);
    return path;
}

/* --- the device --- */

TEST(a_device)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_gpu *g = NULL;
    cbx_gpu_reading r;
    cbx_resource_device d;
    cbx_err err = CBX_ERR_INIT;
    char words[CBX_GPU_THROTTLE_SIZE];
    setenv("CBX_FAKE_NVML", "present", 1);
    CHECK_OK(cbx_gpu_open(ctx, 1, library_named("fake_nvml"), &g, &err), &err, "open");
    CHECK_STR(cbx_gpu_name(g), "Fake GPU 1", "name");
    CHECK_OK(cbx_gpu_read(g, &r, &err), &err, "read");
    CHECK(r.mem_used_mb == 4096 && r.mem_total_mb == 16384 && r.util == 75 && r.mem_util == 25, "memory and use");
    CHECK(r.graphics_mhz == 1410 && r.sm_mhz == 1400 && r.memory_mhz == 1593 && r.temperature_c == 61,
          "clocks, temperature");
    CHECK(r.power_w >= 200 && r.power_limit_w == 400 && r.energy_j >= 1000, "power and energy");
    CHECK_STR(cbx_gpu_throttle_words(r.throttle, words), "power limit, temperature, by driver", "reasons");
    CHECK(cbx_gpu_is_slowed(r.throttle) && !cbx_gpu_is_slowed(CBX_GPU_THROTTLE_IDLE), "idling slows nothing");
    CHECK_STR(cbx_gpu_throttle_words(0, words), "", "none");
    CHECK(strlen(cbx_gpu_throttle_words(UINT64_MAX, words)) < CBX_GPU_THROTTLE_SIZE, "all");
    setenv("CBX_FAKE_NVML_PIDS", "77:5,88:7", 1);
    cbx_gpu_sample(g, (const pid_t[]){ 77, 99 }, 2, &d);
    CHECK(d.mem_mb == 4096 && d.util == 75 && d.clock_mhz == 1410 && d.power_w > 200, "for the monitor");
    CHECK(d.temperature_c == 61 && d.throttle == r.throttle && d.tree_mem_mb == 10,
          "arithmetic and graphics of one of two");
    CHECK(cbx_gpu_memory_of(g, (const pid_t[]){ 77, 88 }, 2) == 24, "of both");
    CHECK(cbx_gpu_memory_of(g, (const pid_t[]){ 99 }, 1) == 0, "of nobody there");
    setenv("CBX_FAKE_NVML_PIDS", "77:-1", 1);
    CHECK(isnan(cbx_gpu_memory_of(g, (const pid_t[]){ 77 }, 1)), "there, but how much is not told");
    cbx_gpu_close(g);
    setenv("CBX_FAKE_NVML_PIDS", "77:5,88:7", 1);
    CHECK_OK(cbx_gpu_open(ctx, 1, library_named("first_nvml"), &g, &err), &err, "an early driver");
    CHECK(cbx_gpu_memory_of(g, (const pid_t[]){ 77, 88 }, 2) == 24, "lists have another form");
    unsetenv("CBX_FAKE_NVML_PIDS");
    cbx_gpu_close(g);
    cbx_gpu_close(NULL);
    cbx_ctx_free(ctx);
}

TEST(devices_that_cannot_be_had)
{
    static const struct {
        const char *role, *library;
        unsigned index;
        cbx_status wanted;
        const char *part;
    } cases[] = {
        { "present", "no_such", 0, CBX_EUNAVAILABLE, "install NVIDIA's driver" },
        { "present", "old_nvml", 0, CBX_EUNAVAILABLE, "nvmlDeviceGetTotalEnergyConsumption" },
        { "failing", "fake_nvml", 0, CBX_EUNAVAILABLE, "error 9: Driver Not Loaded" },
        { "none", "fake_nvml", 0, CBX_ENOENT, "no GPU 0: NVML lists 0" },
        { "present", "fake_nvml", 2, CBX_ENOENT, "no GPU 2: NVML lists 2" },
    };
    cbx_ctx *ctx = cbx_test_context();
    cbx_gpu *g = NULL;
    cbx_gpu_reading r;
    cbx_err err;
    void *fake = dlopen(library_named("fake_nvml"), RTLD_NOW);
    int (*open_count)(void) = fake ? (int (*)(void))dlsym(fake, "fake_nvml_open") : NULL;
    CHECK(open_count, "the library that plays");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        setenv("CBX_FAKE_NVML", cases[i].role, 1);
        CHECK_STATUS(cbx_gpu_open(ctx, cases[i].index, library_named(cases[i].library), &g, &err), cases[i].wanted,
                     cases[i].part);
        CHECK(strstr(err.message, cases[i].part), err.message);
        CHECK_INT(open_count(), 0, "given back");
    }
    setenv("CBX_FAKE_NVML", "present", 1);
    CHECK_OK(cbx_gpu_open(ctx, 1, library_named("fake_nvml"), &g, &err), &err, "open");
    setenv("CBX_FAKE_NVML", "lost", 1);
    CHECK_STATUS(cbx_gpu_read(g, &r, &err), CBX_EIO, "off the bus");
    setenv("CBX_FAKE_NVML", "mute", 1);
    CHECK_OK(cbx_gpu_read(g, &r, &err), &err, "tells nothing");
    CHECK(isnan(r.power_w) && isnan(r.mem_used_mb) && isnan(r.util) && isnan(r.energy_j) && r.throttle == 0,
          "all unknown");
    cbx_gpu_close(g);
    dlclose(fake);
    cbx_ctx_free(ctx);
}

/* --- powercap --- */

static uint64_t told_ns;
static uint64_t told(void) { return told_ns; }

static void put(const char *root, const char *entry, const char *file, const char *text)
{
    cbx_test_put(text, "%s/%s/%s", root, entry, file);
}

static const struct {
    const char *entry, *name, *first, *last, *range;
} machine[] = {
    { "intel-rapl:0", "package-0\n", "1000000\n", "5000000\n", "262143328850\n" },
    { "intel-rapl:0:0", "core\n", "0\n", "3000000\n", "262143328850\n" },
    { "intel-rapl:0:1", "dram\n", "100\n", "500100\n", "65712999613\n" },
    { "intel-rapl:1", "package-1\n", "9000000\n", "1000000\n", "10000000\n" }, /* past its range: 2 J */
    { "intel-rapl:2", "psys\n", "0\n", "20000000\n", "262143328850\n" },
    { "intel-rapl-mmio:0", "package-0\n", "0\n", "4000000\n", "262143328850\n" }, /* the first one again */
};

static void set_counters(const char *root, bool last)
{
    for (size_t i = 0; i < CBX_LEN(machine); i++) {
        put(root, machine[i].entry, "name", machine[i].name);
        put(root, machine[i].entry, "max_energy_range_uj", machine[i].range);
        put(root, machine[i].entry, "energy_uj", last ? machine[i].last : machine[i].first);
    }
}

static cbx_energy_meter *meter_at(cbx_ctx *ctx, const char *root, cbx_gpu *gpu)
{
    cbx_energy_opts o = CBX_ENERGY_OPTS_INIT;
    cbx_energy_meter *m = NULL;
    cbx_err err = CBX_ERR_INIT;
    o.powercap = root;
    o.clock_ns = told;
    o.gpu = gpu;
    CHECK_OK(cbx_energy_meter_start(ctx, &o, &m, &err), &err, "start");
    return m;
}

TEST(two_packages)
{
    char root[64];
    cbx_ctx *ctx = cbx_test_context();
    cbx_energy_meter *m;
    cbx_energy_report r;
    set_counters(cbx_test_folder(root), false);
    told_ns = 1000000000;
    m = meter_at(ctx, root, NULL);
    set_counters(root, true);
    told_ns += 10000000;
    cbx_energy_meter_report(m, &r);
    CHECK(isnan(r.cpu_j) && isnan(r.total_j) && isnan(r.domain[0].joules), "10 ms are too short");
    CHECK(strstr(r.cpu_why, "measure at least 0.02 s"), r.cpu_why);
    told_ns += 1990000000;
    cbx_energy_meter_report(m, &r);
    CHECK_LE(fabs(r.cpu_j - 6), 1e-9, "4 J and, past the range, 2 J");
    CHECK_LE(fabs(r.dram_j - 0.5), 1e-9, "dram");
    CHECK_LE(fabs(r.platform_j - 20), 1e-9, "platform");
    CHECK_LE(fabs(r.total_j - 6.5), 1e-9, "neither core nor platform nor the second telling are added");
    CHECK_LE(fabs(r.mean_power_w - 3.25), 1e-9, "over 2 s");
    CHECK(r.ndomains == 5 && r.cpu_why[0] == 0 && isnan(r.gpu_j) && r.gpu_why[0], "five counters, no device");
    CHECK_STR(r.domain[2].name, "package-0/dram", "whose");
    put(root, "intel-rapl:1", "energy_uj", "x\n");
    told_ns += 1000000000;
    cbx_energy_meter_report(m, &r);
    CHECK(isnan(r.cpu_j) && strstr(r.cpu_why, "no longer"), "a counter that cannot be read any more is no zero");
    cbx_energy_meter_free(m);
    cbx_energy_meter_free(NULL);
    cbx_test_folder_remove(root);
    cbx_ctx_free(ctx);
}

TEST(nothing_to_read)
{
    char root[64], path[512];
    cbx_ctx *ctx = cbx_test_context();
    cbx_energy_meter *m;
    cbx_energy_report r;
    cbx_test_folder(root);
    m = meter_at(ctx, root, NULL);
    cbx_energy_meter_report(m, &r);
    CHECK(isnan(r.cpu_j) && strstr(r.cpu_why, "no RAPL counters"), r.cpu_why);
    cbx_energy_meter_free(m);
    put(root, "intel-rapl:0", "name", "package-0\n");
    put(root, "intel-rapl:0", "energy_uj", "5\n");
    snprintf(path, sizeof path, "%s/intel-rapl:0/energy_uj", root);
    chmod(path, 0);
    if (access(path, R_OK) != 0) {
        m = meter_at(ctx, root, NULL);
        cbx_energy_meter_report(m, &r);
        CHECK(strstr(r.cpu_why, "may not be read: run as root"), r.cpu_why);
        cbx_energy_meter_free(m);
    }
    cbx_test_folder_remove(root);
    cbx_ctx_free(ctx);
}

TEST(energy_of_a_device)
{
    static const struct {
        const char *role;
        double joules;
        bool integrated;
    } cases[] = { { "present", 0.6, false },
                  { "old", 2 * 20, true } }; /* 2 readings; mean power times 2 s, see below */
    char root[64];
    cbx_ctx *ctx = cbx_test_context();
    cbx_energy_report r;
    cbx_err err = CBX_ERR_INIT;
    cbx_test_folder(root);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_gpu *g = NULL;
        cbx_energy_meter *m;
        cbx_gpu_reading first;
        setenv("CBX_FAKE_NVML", cases[i].role, 1);
        CHECK_OK(cbx_gpu_open(ctx, 0, library_named("fake_nvml"), &g, &err), &err, "open");
        CHECK_OK(cbx_gpu_read(g, &first, &err), &err, "read");
        told_ns = 1000000000;
        m = meter_at(ctx, root, g);
        told_ns += 1000000000;
        cbx_energy_meter_report(m, &r);
        CHECK(isnan(r.gpu_j) && strstr(r.gpu_why, "too short for the device's sensor"), r.gpu_why);
        told_ns += 1000000000;
        cbx_energy_meter_report(m, &r);
        CHECK_INT(r.gpu_integrated, cases[i].integrated, cases[i].role);
        /* power climbs 10 W a reading from `first`: 10, 20, 30 above it at 0, 1, 2 s; trapezoids
         * give 2 (P + 20) */
        CHECK_LE(fabs(r.gpu_j - (cases[i].integrated ? 2 * first.power_w + cases[i].joules : cases[i].joules)), 1e-6,
                 cases[i].role);
        CHECK_LE(fabs(r.total_j - r.gpu_j), 0, "all there is");
        cbx_energy_meter_free(m);
        cbx_gpu_close(g);
    }
    cbx_test_folder_remove(root);
    cbx_ctx_free(ctx);
}

static cbx_status use_both(cbx_ctx *ctx, void *user)
{
    cbx_energy_opts o = CBX_ENERGY_OPTS_INIT;
    cbx_energy_meter *m = NULL;
    cbx_gpu *g = NULL;
    cbx_err err;
    cbx_status st = cbx_gpu_open(ctx, 0, library_named("fake_nvml"), &g, &err);
    o.gpu = g;
    o.powercap = user;
    if (!st) st = cbx_energy_meter_start(ctx, &o, &m, &err);
    cbx_energy_meter_free(m);
    cbx_gpu_close(g);
    return st;
}

/* --- over time --- */

TEST(over_time)
{
    cbx_energy_series_opts o = CBX_ENERGY_SERIES_OPTS_INIT;
    cbx_energy_opts meter = CBX_ENERGY_OPTS_INIT;
    cbx_energy_series_report r;
    cbx_energy_series *s = NULL;
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    char root[64];
    set_counters(cbx_test_folder(root), false);
    told_ns = 1000000000;
    meter.powercap = root;
    meter.clock_ns = told;
    o.meter = &meter;
    o.interval_s = 3600; /* the thread sleeps until the end, so that the clock and the counters are ours */
    CHECK_OK(cbx_energy_series_start(ctx, &o, &s, &err), &err, "start");
    set_counters(root, true);
    told_ns += 2000000000;
    cbx_energy_series_stop(s, &r);
    CHECK_INT(r.nsamples, 1, "the last look");
    CHECK_LE(fabs(r.samples[0].cpu_j - 6), 1e-9, "4 J and, past the range, 2 J");
    CHECK(r.samples[0].time_s == 2 && r.samples[0].dram_j == r.total.dram_j && isnan(r.samples[0].gpu_j), "the same");
    CHECK(r.total.ndomains == 5 && r.total.gpu_why[0] && isnan(r.peak_gpu_w), "sensors, and the reason");
    told_ns += 2000000000;
    cbx_energy_series_stop(s, &r);
    CHECK(r.nsamples == 1 && r.total.duration_s == 2, "it has stopped");
    cbx_energy_series_free(s);
    cbx_energy_series_free(NULL);
    o.interval_s = 1e-4;
    CHECK_STATUS(cbx_energy_series_start(ctx, &o, &s, &err), CBX_EINVAL, "too often");
    o.interval_s = 1;
    o.max_samples = 1;
    CHECK_STATUS(cbx_energy_series_start(ctx, &o, &s, &err), CBX_EINVAL, "no room");
    o.struct_size = 1;
    CHECK_STATUS(cbx_energy_series_start(ctx, &o, &s, &err), CBX_EINVAL, "version");
    cbx_test_folder_remove(root);
    cbx_ctx_free(ctx);
}

/* A series by a real clock: what is kept of many looks is thinned, in order, and power comes
 * with it. */
TEST(many_looks)
{
    cbx_energy_series_opts o = CBX_ENERGY_SERIES_OPTS_INIT;
    cbx_energy_opts meter = CBX_ENERGY_OPTS_INIT;
    cbx_energy_series_report r;
    cbx_energy_series *s = NULL;
    cbx_gpu *g = NULL;
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    char root[64];
    setenv("CBX_FAKE_NVML", "present", 1);
    CHECK_OK(cbx_gpu_open(ctx, 0, library_named("fake_nvml"), &g, &err), &err, "open");
    meter.powercap = cbx_test_folder(root);
    meter.gpu = g;
    o.meter = &meter;
    o.interval_s = 0.001;
    o.max_samples = 4;
    CHECK_OK(cbx_energy_series_start(ctx, &o, &s, &err), &err, "start");
    usleep(30000);
    cbx_energy_series_stop(s, &r);
    CHECK(r.nsamples >= 1 && r.nsamples <= 4, "no more than there is room for");
    for (size_t i = 1; i < r.nsamples; i++) CHECK(r.samples[i].time_s > r.samples[i - 1].time_s, "in order");
    CHECK(r.peak_gpu_w > 0 && r.samples[0].gpu_w <= r.peak_gpu_w && r.overhead_cpu_s >= 0, "power, and what it cost");
    cbx_energy_series_free(s);
    cbx_gpu_close(g);
    cbx_test_folder_remove(root);
    cbx_ctx_free(ctx);
}

static cbx_status use_series(cbx_ctx *ctx, void *user)
{
    cbx_energy_series_opts o = CBX_ENERGY_SERIES_OPTS_INIT;
    cbx_energy_opts meter = CBX_ENERGY_OPTS_INIT;
    cbx_energy_series *s = NULL;
    cbx_err err;
    cbx_status st;
    meter.powercap = user;
    o.meter = &meter;
    st = cbx_energy_series_start(ctx, &o, &s, &err);
    cbx_energy_series_free(s);
    return st;
}

TEST(out_of_memory)
{
    char root[64];
    set_counters(cbx_test_folder(root), false);
    setenv("CBX_FAKE_NVML", "present", 1);
    CHECK_GT(cbx_test_fail_each(use_both, root, "meter and device"), 3, "allocations");
    CHECK_GT(cbx_test_fail_each(use_series, root, "series"), 2, "allocations");
    cbx_test_folder_remove(root);
}

TESTS()
