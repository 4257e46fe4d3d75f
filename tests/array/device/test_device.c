/* The device manager: GPUs by a driver that plays every fault (fake_cuda.c), choosing, contexts. */
#include "check.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/device/device.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/scope.h"
#include "calibrax/base/settings.h"
#include "calibrax/core/machine.h"
#include "fail_alloc.h"

#define GIB ((uint64_t)1 << 30)

static const char *fake(const char *name)
{
    static char path[4096];
    const char *root = getenv("CALIBRAX_BUILD_ROOT");
    snprintf(path, sizeof path, "%s/tests/array/device/lib%s.so", root ? root : "build/release", name);
    return path;
}

static cbx_devices *probe(cbx_ctx *ctx, const char *driver, const char *role)
{
    cbx_devices_opts o = CBX_DEVICES_OPTS_INIT;
    cbx_devices *d = NULL;
    cbx_err err = CBX_ERR_INIT;
    setenv("CBX_FAKE_CUDA", role, 1);
    o.cuda_driver = driver;
    o.hwloc = ""; /* its own test is test_topology.c */
    CHECK_OK(cbx_devices_probe(ctx, &o, &d, &err), &err, role);
    return d;
}

static const cbx_device_gap *gap_of(const cbx_devices *d, const char *what)
{
    size_t n;
    const cbx_device_gap *g = cbx_devices_gaps(d, &n);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(g[i].what, what)) return &g[i];
    return NULL;
}

static cbx_ctx *context(cbx_choice use_gpu, cbx_choice fallback)
{
    cbx_ctx_opts o = CBX_CTX_OPTS_INIT;
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;
    o.backend = "auto";
    o.use_gpu = use_gpu;
    o.gpu_fallback = fallback;
    o.gpu_memory_fraction = 0.5;
    CHECK_OK(cbx_ctx_create(&o, &ctx, &err), &err, "context");
    return ctx;
}

static cbx_ctx *plain(void) { return context(CBX_CHOICE_OFF, CBX_CHOICE_ON); }

TEST(a_driver_shows_its_devices)
{
    cbx_ctx *ctx = plain();
    cbx_devices *d = probe(ctx, fake("fake_cuda"), "present");
    CHECK_INT(cbx_devices_count(d), 3, "the CPU and two GPUs");
    CHECK(!gap_of(d, "cuda"), "nothing is missing");
    const cbx_device *cpu = cbx_devices_at(d, 0), *first = cbx_devices_at(d, 1), *second = cbx_devices_at(d, 2);
    CHECK(cpu->kind == CBX_DEVICE_CPU && cpu->index == 0, "the CPU is device 0");
    CHECK_GT((double)cpu->memory_total_bytes, 64e6, "its memory is known");
    CHECK(first->kind == CBX_DEVICE_CUDA && first->index == 0 && second->index == 1, "numbered by kind");
    CHECK_STR(first->name, "Fake GPU 0", "name");
    CHECK_STR(second->name, "Fake GPU 1", "name");
    CHECK_INT(first->memory_total_bytes, 16 * GIB, "total");
    CHECK_INT(second->memory_total_bytes, 80 * GIB, "total");
    CHECK(second->capability_major == 9 && second->capability_minor == 6, "capability");
    CHECK(cbx_devices_first(d, CBX_DEVICE_CUDA) == first && !cbx_devices_at(d, 3), "queries");
    CHECK_STR(cbx_device_kind_name(first->kind), "cuda", "name of a kind");
    cbx_devices_free(d);
    cbx_devices_free(NULL);
    cbx_ctx_free(ctx);
}

/* Each way of not having a GPU comes out as its own sentence, with a remedy where there is one. */
TEST(absence_has_a_reason)
{
    static const struct {
        const char *driver, *role, *number; /* NULL: none; "/": no such file */
        const char *part, *remedy, *why;
    } cases[] = {
        { "/", "present", NULL, "nowhere.so.1' for GPUs of NVIDIA: install NVIDIA's driver 525 or later",
          "install NVIDIA's driver 525 or later", "absent" },
        { "old_cuda", "present", NULL, "has no 'cuDevicePrimaryCtxRetain', needed for GPUs of NVIDIA",
          "install NVIDIA's driver 525 or later", "a symbol is missing" },
        { "fake_cuda", "old", NULL,
          "the CUDA driver has version 11.4, and at least 12.0 is needed: install driver 525 or later",
          "install NVIDIA's driver 525 or later", "old" },
        { "fake_cuda", "failing", "100", "'cuInit' of the CUDA driver failed with error 100: no device is visible",
          "unset CUDA_VISIBLE_DEVICES", "hidden" },
        { "fake_cuda", "failing", "803", "the driver library and the kernel's module have different versions", "reboot",
          "updated and not restarted" },
        { "fake_cuda", "failing", "2", "'cuInit' of the CUDA driver failed with error 2: out of memory", NULL,
          "out of memory" },
        { "fake_cuda", "failing", "4711", "'cuInit' of the CUDA driver failed with error 4711: see cudaError_enum",
          NULL, "an unknown error" },
        { "fake_cuda", "none", NULL,
          "the CUDA driver (version 12.4) is installed but has no device: make one available to", NULL, "no device" },
        { "", "present", NULL, "the search for GPUs is disabled", NULL, "switched off" },
    };
    cbx_ctx *ctx = plain();
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const char *path = cases[i].driver;
        cbx_device_config wish = { CBX_DEVICE_CUDA, true, 0.9 };
        cbx_device_choice choice = { 0 };
        cbx_err err = CBX_ERR_INIT;
        setenv("CBX_FAKE_CUDA_ERROR", cases[i].number ? cases[i].number : "1", 1);
        path = !strcmp(path, "/") ? "/nonexistent/nowhere.so.1" : *path ? fake(path) : "";
        cbx_devices *d = probe(ctx, path, cases[i].role);
        const cbx_device_gap *g = gap_of(d, "cuda");
        CHECK_INT(cbx_devices_count(d), 1, cases[i].why);
        CHECK(g, cases[i].why);
        CHECK(strstr(g->text, cases[i].part), cases[i].part);
        if (cases[i].remedy)
            CHECK_STR(g->remedy, cases[i].remedy, cases[i].why);
        else
            CHECK(!g->remedy, cases[i].why);
        CHECK_OK(cbx_devices_choose(d, &wish, &choice, &err), &err, "with fallback");
        CHECK(choice.fell_back && choice.device->kind == CBX_DEVICE_CPU, "the CPU instead");
        CHECK(strstr(choice.warning, "a GPU is requested but not available, falling back to the CPU: "), "a warning");
        CHECK(strstr(choice.warning, cases[i].part), "with the reason");
        wish.allow_fallback = false;
        CHECK_STATUS(cbx_devices_choose(d, &wish, &choice, &err), CBX_EUNAVAILABLE, "without fallback");
        CHECK(strstr(err.message, cases[i].part), "the reason");
        CHECK(choice.fell_back, "out untouched");
        cbx_devices_free(d);
    }
    cbx_ctx_free(ctx);
}

/* What can go wrong behind a device that is there. */
TEST(memory_is_asked_for)
{
    static const struct {
        const char *role, *message; /* NULL: it succeeds */
    } cases[] = {
        { "present", NULL },
        { "full", "'cuDevicePrimaryCtxRetain' of the CUDA driver failed with error 2: out of memory" },
        { "torn", "'cuMemGetInfo_v2' of the CUDA driver failed with error 999" },
    };
    cbx_ctx *ctx = plain();
    cbx_devices *d = probe(ctx, fake("fake_cuda"), "present");
    void *library = dlopen(fake("fake_cuda"), RTLD_NOW);
    int (*open_contexts)(void) = NULL;
    CHECK(library, "the fake driver is built");
    *(void **)(void *)&open_contexts = dlsym(library, "fake_cuda_open_contexts");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_device_memory m = { 0 };
        cbx_err err = CBX_ERR_INIT;
        setenv("CBX_FAKE_CUDA", cases[i].role, 1);
        cbx_status st = cbx_devices_memory(ctx, d, cbx_devices_at(d, 2), &m, &err);
        if (cases[i].message) {
            CHECK_STATUS(st, CBX_EUNAVAILABLE, cases[i].role);
            CHECK(strstr(err.message, cases[i].message), cases[i].message);
            CHECK_INT(m.total_bytes, 0, "out untouched");
        } else {
            CHECK_OK(st, &err, cases[i].role);
            CHECK_INT(m.total_bytes, 80 * GIB, "total");
            CHECK_INT(m.available_bytes, 60 * GIB, "available");
        }
        CHECK_INT(open_contexts(), 0, "every context is given back");
    }
    dlclose(library);
    cbx_devices_free(d);
    cbx_ctx_free(ctx);
}

TEST(a_broken_device_is_left_out)
{
    cbx_ctx *ctx = plain();
    cbx_devices *d = probe(ctx, fake("fake_cuda"), "broken");
    CHECK_INT(cbx_devices_count(d), 2, "the CPU and the sound one");
    CHECK(strstr(gap_of(d, "cuda")->text, "'cuDeviceGetName' of the CUDA driver failed with error 999"),
          "and the reason");
    cbx_devices_free(d);
    cbx_ctx_free(ctx);
}

TEST(choosing_follows_the_wish)
{
    cbx_ctx *ctx = plain();
    cbx_devices *d = probe(ctx, fake("fake_cuda"), "present");
    cbx_device_config wish = CBX_DEVICE_CONFIG_INIT;
    cbx_device_choice choice;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_devices_choose(d, &wish, &choice, &err), &err, "the CPU by default");
    CHECK(choice.device == cbx_devices_at(d, 0) && !choice.fell_back && !*choice.warning, "as asked");
    CHECK_INT(choice.memory_limit_bytes, choice.device->memory_total_bytes, "all of it");
    wish = (cbx_device_config){ CBX_DEVICE_CUDA, false, 0.25 };
    CHECK_OK(cbx_devices_choose(d, &wish, &choice, &err), &err, "the first GPU");
    CHECK(choice.device == cbx_devices_at(d, 1) && !choice.fell_back, "as asked");
    CHECK_INT(choice.memory_limit_bytes, 4 * GIB, "a quarter of 16 GiB");
    static const double bad[] = { 0, -1, 1.5, 0.0 / 0.0 };
    for (size_t i = 0; i < CBX_LEN(bad); i++) {
        wish.memory_fraction = bad[i];
        CHECK_STATUS(cbx_devices_choose(d, &wish, &choice, &err), CBX_EINVAL, "no fraction");
    }
    wish = (cbx_device_config){ (cbx_device_kind)7, true, 0.5 };
    CHECK_STATUS(cbx_devices_choose(d, &wish, &choice, &err), CBX_EINVAL, "no such kind");
    cbx_devices_free(d);
    cbx_ctx_free(ctx);
}

static cbx_status forward(const cbx_backend *self, const cbx_call *call, cbx_array **out, cbx_err *err)
{
    (void)self;
    return cbx_backend_reference()->apply(cbx_backend_reference(), call, out, err);
}

static const cbx_backend on_gpu = {
    .struct_size = sizeof on_gpu, .abi = CBX_BACKEND_ABI, .name = "on-gpu", .flags = CBX_BACKEND_GPU, .apply = forward
};

/* A context takes a GPU only if one is wanted, one is here, and its backend computes there. */
TEST(a_context_takes_what_it_can_use)
{
    cbx_ctx *ctx = context(CBX_CHOICE_ON, CBX_CHOICE_ON);
    cbx_devices *gpus = probe(ctx, fake("fake_cuda"), "present"), *bare = probe(ctx, fake("fake_cuda"), "none");
    cbx_device_choice choice;
    cbx_device_config config;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_ctx_set_backend(ctx, cbx_backend_reference(), &err), &err, "a backend of the CPU");
    CHECK_OK(cbx_ctx_set_devices(ctx, gpus, &err), &err, "devices");
    CHECK_OK(cbx_ctx_device(ctx, &choice, &err), &err, "fallback");
    CHECK(choice.fell_back && choice.device->kind == CBX_DEVICE_CPU, "a backend of the CPU has no use for a GPU");
    CHECK(strstr(choice.warning, "runs on the CPU only"), "reported");

    CHECK_OK(cbx_ctx_set_backend(ctx, &on_gpu, &err), &err, "a backend that has");
    CHECK_OK(cbx_ctx_device(ctx, &choice, &err), &err, "the GPU");
    CHECK(choice.device->kind == CBX_DEVICE_CUDA && !choice.fell_back, "as asked");
    CHECK_INT(choice.memory_limit_bytes, 8 * GIB, "the context's fraction");

    CHECK_OK(cbx_ctx_set_devices(ctx, bare, &err), &err, "no GPU here");
    CHECK_OK(cbx_ctx_device(ctx, &choice, &err), &err, "fallback");
    CHECK(choice.fell_back && strstr(choice.warning, "has no device"), "the driver's reason");

    CHECK_STATUS(cbx_ctx_set_device_config(ctx, &(cbx_device_config){ CBX_DEVICE_CUDA, false, 0.5 }, &err),
                 CBX_EUNAVAILABLE, "no fallback");
    CHECK_OK(cbx_ctx_device_config(ctx, &config, &err), &err, "what is kept");
    CHECK(config.preferred == CBX_DEVICE_CUDA && config.allow_fallback && config.memory_fraction == 0.5,
          "a configuration that fails is not kept");
    CHECK_OK(cbx_ctx_set_device_config(ctx, &(cbx_device_config){ CBX_DEVICE_CPU, false, 0.25 }, &err), &err,
             "the CPU");
    CHECK_OK(cbx_ctx_device_config(ctx, &config, &err), &err, "what is kept");
    CHECK(config.preferred == CBX_DEVICE_CPU && config.memory_fraction == 0.25, "kept");
    CHECK_OK(cbx_ctx_device(ctx, &choice, &err), &err, "the CPU");
    CHECK(!choice.fell_back, "as asked");
    cbx_devices_free(gpus);
    cbx_devices_free(bare);
    cbx_ctx_free(ctx);
}

TEST(a_context_looks_for_itself)
{
    cbx_ctx *ctx = plain();
    const cbx_devices *d = NULL, *again = NULL;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_ctx_devices(ctx, &d, &err), &err, "looks");
    CHECK_OK(cbx_ctx_devices(ctx, &again, &err), &err, "remembers");
    CHECK(d == again && cbx_devices_count(d) >= 1, "once");
    CHECK_OK(cbx_ctx_set_devices(ctx, NULL, &err), &err, "forgets");
    CHECK_OK(cbx_ctx_devices(ctx, &again, &err), &err, "looks again");
    CHECK_INT(cbx_devices_count(again) >= 1, 1, "the CPU is always there");
    cbx_ctx_free(ctx);
}

/* The same sharing as in a program with a context a thread. */
TEST(devices_outlive_their_context)
{
    cbx_ctx *a = plain(), *b = plain();
    cbx_devices *d = probe(a, fake("fake_cuda"), "present");
    const cbx_devices *seen = NULL;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_ctx_set_devices(b, d, &err), &err, "shared");
    cbx_devices_free(d);
    cbx_ctx_free(a);
    CHECK_OK(cbx_ctx_devices(b, &seen, &err), &err, "read");
    CHECK_STR(cbx_devices_at(seen, 1)->name, "Fake GPU 0", "alive");
    cbx_ctx_free(b);
}

/* --- backends by name --- */

TEST(backends_are_found)
{
    const cbx_backend *b = NULL;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_backend_find("reference", &b, &err), &err, "reference");
    CHECK(b == cbx_backend_reference(), "the reference backend");
    CHECK_STATUS(cbx_backend_find("numpy", &b, &err), CBX_EINVAL, "no such name");
    CHECK_STR(err.message, "unknown backend 'numpy': it must be reference or jit", "names it");
    size_t n = 0;
    while (cbx_backend_at(n)) {
        CHECK_OK(cbx_backend_find(cbx_backend_at(n)->name, &b, &err), &err, "every one of the list");
        CHECK(b == cbx_backend_at(n), "by its name");
        n++;
    }
    CHECK(n >= 1, "there is one at least");
}

/* A remedy names what was set: the variable beside its alias would be a disagreement. */
TEST(a_remedy_names_the_alias)
{
    cbx_err err = CBX_ERR_INIT;
    const cbx_backend *b;
    const cbx_settings s = { "reference", true, false, 0.9, { "default", "CALIBRAX_USE_GPU", "XPCS_GPU_FALLBACK" } };

    CHECK_STATUS(cbx_backend_choose(&s, &b, &err), CBX_EUNAVAILABLE, "one alias of two");
    CHECK(strstr(err.message, "set XPCS_GPU_FALLBACK to true or CALIBRAX_USE_GPU to false") != NULL, err.message);
}

/* What the settings ask for and is missing: reported by the first operation, in the sentence of
 * the choice. */
TEST(a_missing_backend_says_so)
{
    static const struct {
        const char *backend;
        cbx_choice gpu, fallback;
        const char *part; /* NULL: fine */
    } cases[] = {
        { "auto", CBX_CHOICE_OFF, CBX_CHOICE_OFF, NULL },
        { "reference", CBX_CHOICE_ON, CBX_CHOICE_ON, NULL },
        { "reference", CBX_CHOICE_ON, CBX_CHOICE_OFF,
          "a GPU is required without fallback, but the backend 'reference' runs on the CPU only: set "
          "CALIBRAX_GPU_FALLBACK to true or CALIBRAX_USE_GPU to false" },
        { "jit", CBX_CHOICE_OFF, CBX_CHOICE_ON, NULL },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_ctx_opts o = CBX_CTX_OPTS_INIT;
        cbx_ctx *ctx = NULL;
        cbx_scope scope;
        cbx_err err = CBX_ERR_INIT;
        const cbx_backend *b;
        o.backend = cases[i].backend;
        o.use_gpu = cases[i].gpu;
        o.gpu_fallback = cases[i].fallback;
        CHECK_OK(cbx_ctx_create(&o, &ctx, &err), &err, "a context all the same");
        cbx_scope_open(ctx, &scope);
        cbx_add(ctx, cbx_ones(ctx, 0, NULL, CBX_F64), cbx_ones(ctx, 0, NULL, CBX_F64));
        cbx_status st = cbx_scope_close(&scope, &err);
        CHECK_STATUS(st, cases[i].part ? CBX_EUNAVAILABLE : CBX_OK, cases[i].backend);
        CHECK_STR(cbx_ctx_backend(ctx)->name, cases[i].part ? "unavailable" : cbx_ctx_backend(ctx)->name, "its name");
        if (cases[i].part) {
            CHECK_STR(err.message, cases[i].part, "the sentence");
            CHECK_STATUS(cbx_backend_choose(cbx_ctx_settings(ctx), &b, &err), CBX_EUNAVAILABLE, "asked beforehand");
            CHECK_STR(err.message, cases[i].part, "the same sentence");
            CHECK_OK(cbx_ctx_set_backend(ctx, cbx_backend_reference(), &err), &err, "another one");
            cbx_scope_open(ctx, &scope);
            cbx_ones(ctx, 0, NULL, CBX_F64);
            CHECK_OK(cbx_scope_close(&scope, &err), &err, "works from then on");
        }
        cbx_ctx_free(ctx);
    }
}

static cbx_status probe_and_choose(cbx_ctx *ctx, void *user)
{
    cbx_devices_opts o = CBX_DEVICES_OPTS_INIT;
    cbx_devices *d = NULL;
    cbx_device_choice choice;
    cbx_err err = CBX_ERR_INIT;
    o.cuda_driver = user;
    o.hwloc = "";
    cbx_status st = cbx_devices_probe(ctx, &o, &d, &err);
    if (!st) st = cbx_ctx_set_devices(ctx, d, &err);
    if (!st) st = cbx_ctx_device(ctx, &choice, &err);
    cbx_devices_free(d);
    return st;
}

TEST(every_allocation_can_fail)
{
    setenv("CBX_FAKE_CUDA", "present", 1);
    CHECK_GT((double)cbx_test_fail_each(probe_and_choose, (void *)(size_t)fake("fake_cuda"), "two GPUs"), 5, "some");
    setenv("CBX_FAKE_CUDA", "none", 1);
    CHECK_GT((double)cbx_test_fail_each(probe_and_choose, (void *)(size_t)fake("fake_cuda"), "no GPU"), 5, "some");
}

TEST(options_are_checked)
{
    cbx_ctx *ctx = plain();
    cbx_devices_opts o = CBX_DEVICES_OPTS_INIT;
    cbx_devices *d = NULL;
    cbx_err err = CBX_ERR_INIT;
    o.struct_size++;
    CHECK_STATUS(cbx_devices_probe(ctx, &o, &d, &err), CBX_EINVAL, "options of another version");
    CHECK(!d, "out untouched");
    cbx_ctx_free(ctx);
}

TESTS()
