/* Platforms and their devices: found by a library that plays NVML, chosen by number. */
#include "check.h"
#include "fail_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/perf/schedule/platforms.h"

static char folder[64];
static cbx_ctx *ctx;

static const char *library(void)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/tests/profiling/libfake_nvml.so", getenv("CALIBRAX_BUILD_ROOT"));
    return path;
}

static cbx__accelerators find(const char *part)
{
    cbx__accelerators all;
    setenv("CBX_FAKE_NVML", part, 1);
    cbx__accelerators_find_at(ctx, "cuda12", folder, library(), &all);
    unsetenv("CBX_FAKE_NVML");
    return all;
}

TEST(found)
{
    cbx_test_put("Model: x\n", "%s/proc/driver/nvidia/gpus/0000:41:00.0/information", folder);
    cbx_test_put("Model: x\n", "%s/proc/driver/nvidia/gpus/0000:c1:00.0/information", folder);
    cbx_test_put("1\n", "%s/sys/bus/pci/devices/0000:c1:00.0/numa_node", folder);
    cbx__accelerators all = find("present");
    CHECK_INT(all.n, 2, "both");
    CHECK_STR(all.why, "", "so there is no reason for none");
    CHECK_STR(all.list[1].name, "Fake GPU 1", "as NVML calls it");
    CHECK_INT(all.list[1].number, 1, "in NVML's order");
    CHECK_STR(all.list[1].id, "0000:c1:00.0", "locked by its address, whatever others call it");
    CHECK_INT(all.list[1].node, 1, "near to that memory");
    CHECK_INT(all.list[0].node, -1, "nobody tells");
    all = find("none");
    CHECK(all.n == 0 && strstr(all.why, "NVML lists 0"), all.why);
    all = find("failing");
    CHECK(all.n == 0 && strstr(all.why, "error 9"), all.why);
    cbx__accelerators_find_at(ctx, "cuda12", folder, "/nowhere/libnvidia-ml.so", &all);
    CHECK(all.n == 0 && all.why[0], "no driver");
    cbx__accelerators_find_at(ctx, "cpu", folder, library(), &all);
    CHECK_INT(all.n, 0, "the CPU is no device");
}

TEST(fake)
{
    cbx__accelerators all;
    static const struct {
        const char *value;
        size_t n;
    } cases[] = { { "3", 3 }, { "16", 16 }, { "17", 0 }, { "0", 0 }, { "-1", 0 }, { "many", 0 } };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        setenv("NPERF_FAKE_DEVICES", cases[i].value, 1);
        cbx__accelerators_find(ctx, "fake", &all);
        CHECK_INT(all.n, cases[i].n, cases[i].value);
        CHECK((all.n == 0) == (strstr(all.why, "NPERF_FAKE_DEVICES") != NULL), "says how to have some");
    }
    unsetenv("NPERF_FAKE_DEVICES");
    CHECK(!cbx_platform_available("fake"), "none unless asked for");
}

TEST(chosen)
{
    static const struct {
        const char *words[3];
        size_t n;
        const char *visible; /* NULL: unset */
        const char *numbers, *fault;
    } cases[] = {
        { { "0" }, 1, NULL, "0", NULL },
        { { "2-3" }, 1, NULL, "23", NULL },
        { { "3", "0" }, 2, NULL, "30", NULL },
        { { "all" }, 1, NULL, "0123", NULL },
        { { NULL }, 0, NULL, "0123", NULL },
        { { NULL }, 0, "2,0", "20", NULL },
        { { NULL }, 0, "GPU-6a1b", "0123", NULL },
        { { NULL }, 0, "", "", NULL },
        { { NULL }, 0, "-1", "", NULL },
        { { "1" }, 1, "", "1", NULL },
        { { "4" }, 1, NULL, "", "which are 0, 1, 2, 3, got '4'" },
        { { "1", "0-1" }, 2, NULL, "", "must name device 1 once" },
        { { "one" }, 1, NULL, "", "must list numbers and ranges of devices, such as 0,2-3, or be all, got 'one'" },
        { { "-1" }, 1, NULL, "", "must list numbers and ranges of devices, such as 0,2-3, or be all, got '-1'" },
        { { "3-2" }, 1, NULL, "", "must list numbers and ranges of devices, such as 0,2-3, or be all, got '3-2'" },
        { { "1x" }, 1, NULL, "", "must list numbers and ranges of devices, such as 0,2-3, or be all, got '1x'" },
        { { "99999999999999999999" }, 1, NULL, "", "must list numbers and ranges" },
    };
    cbx__accelerators all, some;
    setenv("NPERF_FAKE_DEVICES", "4", 1);
    cbx__accelerators_find(ctx, "fake", &all);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        char numbers[CBX__MAX_ACCELERATORS + 1] = "";
        cbx_err err = CBX_ERR_INIT;
        if (cases[i].visible) setenv("CUDA_VISIBLE_DEVICES", cases[i].visible, 1);
        cbx_status st = cbx__accelerators_choose("fake", &all, cases[i].words, cases[i].n, &some, &err);
        unsetenv("CUDA_VISIBLE_DEVICES");
        if (cases[i].fault) {
            CHECK_STATUS(st, CBX_EINVAL, cases[i].fault);
            CHECK(strstr(err.message, cases[i].fault) && strstr(err.message, "'gpus'"), err.message);
            continue;
        }
        CHECK_OK(st, &err, cases[i].numbers);
        for (size_t k = 0; k < some.n; k++) numbers[k] = (char)('0' + some.list[k].number);
        CHECK_STR(numbers, cases[i].numbers, "in the order of the words");
    }
    unsetenv("NPERF_FAKE_DEVICES");
    cbx__accelerators_find(ctx, "fake", &all);
    static const char *const zero[] = { "0" };
    cbx_err err = CBX_ERR_INIT;
    CHECK_STATUS(cbx__accelerators_choose("fake", &all, zero, 1, &some, &err), CBX_EINVAL, "asked for, and not there");
    CHECK(strstr(err.message, "and platform 'fake' has none"), err.message);
    CHECK_OK(cbx__accelerators_choose("fake", &all, NULL, 0, &some, &err), &err, "not asked for by number");
    CHECK(some.n == 0 && some.why[0], "none, and why");
}

TEST(who_runs_where)
{
    static const struct {
        const char *platform, *provider;
        bool runs;
    } cases[] = { { "cpu", "native", true },   { "cpu", "jax", true },       { "cuda12", "jax", true },
                  { "cuda12", "torch", true }, { "cuda12", "numpy", false }, { "cuda12", "native", false },
                  { "fake", "native", true },  { "fake", "jax", false } };
    for (size_t i = 0; i < CBX_LEN(cases); i++)
        CHECK((cbx__platform_refuses(cases[i].platform, cases[i].provider) == NULL) == cases[i].runs,
              cases[i].provider);
    CHECK(!cbx__platform_has_devices("cpu") && cbx__platform_has_devices("cuda12"), "devices");
}

static cbx_status look(cbx_ctx *c, void *user)
{
    cbx__accelerators all;
    (void)user;
    cbx__accelerators_find_at(c, "cuda12", folder, library(), &all);
    bool whole = all.n == 2 && all.list[1].node == 1 && !strcmp(all.list[0].id, "0000:41:00.0");
    return whole ? CBX_OK : CBX_ENOMEM; /* memory that is out makes no failure, only less is known */
}

TEST(every_allocation_can_fail) { CHECK_GT(cbx_test_fail_each(look, NULL, "devices"), 1, "devices and addresses"); }

static int setup(void **state)
{
    (void)state;
    cbx_test_folder(folder);
    ctx = cbx_test_context();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cbx_ctx_free(ctx);
    cbx_test_folder_remove(folder);
    return 0;
}

TESTS(.before = setup, .after = teardown)
