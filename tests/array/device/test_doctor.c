/* What a doctor sees of settings, backends, devices and libraries, and that he loses nothing
 * without saying so. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/doctor.h"
#include "calibrax/base/settings.h"
#include "fail_alloc.h"

static const cbx_doctor_item *item(const cbx_doctor_report *r, const char *group, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (!strcmp(r->items[i].group, group) && !strcmp(r->items[i].name, name)) return &r->items[i];
    return NULL;
}

static cbx_status see_all(cbx_ctx *ctx, cbx_doctor_report *r, cbx_err *err)
{
    cbx_devices_opts o = CBX_DEVICES_OPTS_INIT;
    cbx_devices *d = NULL;
    cbx_settings s;
    cbx_machine m;
    o.cuda_driver = "libcbx-is-not-here.so.1";
    cbx_doctor_see_settings(r, &s);
    cbx_doctor_see_backends(r, &s);
    cbx_doctor_see_machine(ctx, r, &m);
    cbx_doctor_see_clock(r);
    cbx_doctor_see_libraries(ctx, r);
    cbx_status st = cbx_devices_probe(ctx, &o, &d, err);
    if (!st) {
        cbx_doctor_see_devices(ctx, r, d, &s);
        cbx_doctor_see_topology(r, d);
        st = cbx_doctor_check(r, err);
    }
    cbx_devices_free(d);
    return st;
}

TEST(all_is_seen)
{
    static const struct {
        const char *group, *name;
        cbx_doctor_state state;
        const char *part;
    } cases[] = {
        { "settings", "CALIBRAX_BACKEND", CBX_DOCTOR_FACT, "reference (by XPCS_USE_JAX)" },
        { "settings", "CALIBRAX_USE_GPU", CBX_DOCTOR_BROKEN, "got 'perhaps'" },
        { "settings", "CALIBRAX_GPU_FALLBACK", CBX_DOCTOR_FACT, "true (default)" },
        { "backends", "reference", CBX_DOCTOR_HERE, "runs on the CPU" },
        { "backends", "chosen backend", CBX_DOCTOR_FACT, "reference: named by the settings" },
        { "machine", "instruction set", CBX_DOCTOR_FACT, "" },
        { "clock", "monotonic", CBX_DOCTOR_FACT, "ns a reading" },
        { "devices", "cpu", CBX_DOCTOR_HERE, "GiB available" },
        { "devices", "cuda", CBX_DOCTOR_MISSING, "no 'libcbx-is-not-here.so.1' for GPUs of NVIDIA" },
        { "devices", "chosen device", CBX_DOCTOR_FACT, "cpu, at most " },
        { "topology", "threads", CBX_DOCTOR_FACT, "usable by this process" },
    };
    cbx_ctx_opts o = CBX_CTX_OPTS_INIT;
    cbx_doctor_report r;
    cbx_arena arena;
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;
    o.use_gpu = CBX_CHOICE_OFF;
    setenv("CALIBRAX_USE_GPU", "perhaps", 1);
    setenv("XPCS_USE_JAX", "off", 1);
    CHECK_OK(cbx_ctx_create(&o, &ctx, &err), &err, "a context whatever the environment sets for GPUs");
    cbx_arena_init(&arena, cbx_allocator_default());
    cbx_doctor_init(&r, &arena);
    CHECK_OK(see_all(ctx, &r, &err), &err, "a report");
    unsetenv("CALIBRAX_USE_GPU");
    unsetenv("XPCS_USE_JAX");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_doctor_item *it = item(&r, cases[i].group, cases[i].name);
        CHECK(it, cases[i].name);
        CHECK_STR(cbx_doctor_state_name(it->state), cbx_doctor_state_name(cases[i].state), cases[i].name);
        if (!strstr(it->text, cases[i].part)) fail_msg("%s: '%s' in '%s'", cases[i].name, cases[i].part, it->text);
    }
    CHECK_INT(r.broken, 1, "one fault is counted");
    CHECK_STR(item(&r, "devices", "cuda")->remedy, "install NVIDIA's driver 525 or later", "the remedy");
    cbx_arena_clear(&arena);
    cbx_ctx_free(ctx);
}

TEST(gpus_are_seen)
{
    const char *root = getenv("CALIBRAX_BUILD_ROOT");
    cbx_devices_opts o = CBX_DEVICES_OPTS_INIT;
    cbx_settings settings;
    cbx_devices *d = NULL;
    cbx_doctor_report r;
    cbx_arena arena;
    cbx_ctx *ctx = cbx_test_context();
    char path[4096];
    cbx_err err = CBX_ERR_INIT;

    snprintf(path, sizeof path, "%s/tests/array/device/libfake_cuda.so", root ? root : "build/release");
    o.cuda_driver = path;
    settings = *cbx_ctx_settings(ctx);
    cbx_arena_init(&arena, cbx_allocator_default());
    cbx_doctor_init(&r, &arena);
    CHECK_OK(cbx_devices_probe(ctx, &o, &d, &err), &err, "devices");
    cbx_doctor_see_devices(ctx, &r, d, &settings);
    CHECK(item(&r, "devices", "arrays on GPUs"), "a line");
    CHECK_STR(item(&r, "devices", "arrays on GPUs")->text, "on cuda 0, by the driver; LLVM 19 compiles for it",
              "words");
    cbx_devices_free(d);
    cbx_arena_clear(&arena);
    cbx_ctx_free(ctx);
}

static cbx_status report(cbx_ctx *ctx, void *user)
{
    cbx_doctor_report r;
    cbx_arena arena;
    cbx_err err = CBX_ERR_INIT;
    (void)user;
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    cbx_doctor_init(&r, &arena);
    cbx_status st = see_all(ctx, &r, &err);
    cbx_arena_clear(&arena);
    return st;
}

TEST(every_allocation_can_fail) { CHECK_GT((double)cbx_test_fail_each(report, NULL, "a doctor's report"), 10, "some"); }

TESTS()
