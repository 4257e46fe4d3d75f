/* Work of calls: by trace, by counters that are played, by declaration, and what is said where
 * nobody counts. */
#include "check.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calibrax/array/linalg.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/transform.h"
#include "calibrax/profiling/counter.h"
#include "calibrax/profiling/flops.h"
#include "fail_alloc.h"

/* Beside the test. */
#define PAPI (library_beside("libfake_papi.so"))

static const char *library_beside(const char *name)
{
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    char *slash;
    CHECK(n > 0, "the test knows where it is");
    path[n] = '\0';
    slash = strrchr(path, '/');
    snprintf(slash + 1, 64, "%s", name);
    return path;
}

/* ---- functions of arrays ---- */

#define FN(name)                                                                                                       \
    static cbx_status name(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
#define UNUSED (void)c, (void)nin, (void)in, (void)nout, (void)out, (void)user

FN(product)
{
    UNUSED;
    out[0] = cbx_matrix_product(c, in[0], in[1]);
    return CBX_OK;
}
FN(halve)
{
    UNUSED;
    out[0] = cbx_multiply_scalar(c, in[0], 0.5);
    return CBX_OK;
}
FN(above_one)
{
    UNUSED;
    out[0] = cbx_greater_scalar(c, in[0], 1);
    return CBX_OK;
}
FN(halve_down)
{
    UNUSED;
    return cbx_while_loop(c, CBX_FN(above_one, NULL, 1, 1), CBX_FN(halve, NULL, 1, 1), 1, in, out);
}
FN(breaks)
{
    UNUSED;
    out[0] = cbx_add(c, in[0], cbx_ones(c, 1, (const size_t[]){ 7 }, CBX_F64));
    return CBX_OK;
}

TEST(by_trace)
{
    cbx_ctx *ctx = cbx_test_context();
    const cbx_array_desc in[] = { { CBX_F32, 2, { 64, 32 } }, { CBX_F32, 2, { 32, 48 } } };
    cbx_array *x = NULL;
    cbx_flops f;
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;
    CHECK_OK(cbx_flops_of_fn(ctx, CBX_FN(product, NULL, 2, 1), 2, in, &f, &err), &err, "product");
    CHECK_STR(cbx_flops_source_name(f.source), "trace", "source");
    CHECK(f.flop == 2.0 * 64 * 32 * 48 && f.transcendental == 0 && f.flags == 0, "2 M N K");
    CHECK(f.bytes_least == 4.0 * (64 * 32 + 32 * 48 + 64 * 48) && f.bytes == f.bytes_least, "one pass");
    cbx_scope_open(ctx, &scope);
    x = cbx_full(ctx, 0, NULL, CBX_F64, cbx_float(32));
    CHECK_OK(cbx_flops_of_fn_with(ctx, CBX_FN(halve_down, NULL, 1, 1), 1, &x, &f, &err), &err, "a loop until");
    CHECK(f.source == CBX_FLOPS_RUN && f.flop == 11 && f.flags == 0 && f.why[0], "it had to run, and says why");
    CHECK_OK(cbx_flops_of_fn_with(ctx, CBX_FN(halve, NULL, 1, 1), 1, &x, &f, &err), &err, "nothing to guess");
    CHECK(f.source == CBX_FLOPS_TRACE && f.flop == 1 && !f.why[0], "a trace is enough");
    x = cbx_ones(ctx, 1, (const size_t[]){ 3 }, CBX_F64);
    CHECK_STATUS(cbx_flops_of_fn_with(ctx, CBX_FN(breaks, NULL, 1, 1), 1, &x, &f, &err), CBX_ESHAPE, "its own fault");
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "nothing is left behind");
    CHECK_STR(cbx_flops_source_name(CBX_FLOPS_SOURCE_COUNT), "?", "no source");
    cbx_ctx_free(ctx);
}

/* ---- counters ---- */

static void (*retire)(long long dp, long long sp);
static int (*sets)(void);

static void work(void *user)
{
    ++*(int *)user;
    if (retire) retire(100, 23);
}

static void load_fake(void)
{
    void *handle = dlopen(PAPI, RTLD_NOW);
    CHECK(handle != NULL, "the library that plays PAPI");
    retire = (void (*)(long long, long long))dlsym(handle, "fake_papi_retire");
    sets = (int (*)(void))dlsym(handle, "fake_papi_sets");
    CHECK(retire && sets, "its own functions");
}

TEST(by_papi)
{
    static const struct {
        const char *mode;
        cbx_flops_source source;
        const char *events, *why;
    } cases[] = {
        { "present", CBX_FLOPS_PAPI, "PAPI_DP_OPS + PAPI_SP_OPS", "" },
        { "one", CBX_FLOPS_PAPI, "PAPI_FP_OPS", "" },
        { "none", CBX_FLOPS_NONE, "",
          "PAPI does not count floating-point operations on this machine (Event does not exist)" },
        { "other", CBX_FLOPS_NONE, "", "version" },
    };
    cbx_flops_opts o = CBX_FLOPS_OPTS_INIT;
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_flops f;
    load_fake();
    o.papi = PAPI;
    o.no_perf_event = true;
    o.calls = 7;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        int calls = 0;
        setenv("CBX_FAKE_PAPI", cases[i].mode, 1);
        CHECK_OK(cbx_flops_of_calls(ctx, work, &calls, &o, &f, &err), &err, cases[i].mode);
        CHECK_INT(f.source, cases[i].source, cases[i].mode);
        CHECK_STR(f.events, cases[i].events, cases[i].mode);
        CHECK(strstr(f.why, cases[i].why) != NULL, f.why);
        CHECK(f.source ? f.flop == 123 : isnan(f.flop), "of one call");
        CHECK(isnan(f.bytes) && isnan(f.transcendental), "nobody told");
        CHECK_INT(calls, f.source ? 8 : 0, "one to make ready, seven that count; none in vain");
        CHECK_INT(sets(), 0, "every set is given back");
    }
    setenv("CBX_FAKE_PAPI", "broken", 1);
    CHECK_STATUS(cbx_flops_of_calls(ctx, work, &(int){ 0 }, &o, &f, &err), CBX_EIO, "a counter that broke is no zero");
    setenv("CBX_FAKE_PAPI", "present", 1);
    cbx_ctx_free(ctx);
}

TEST(declared)
{
    cbx_flops_opts o = CBX_FLOPS_OPTS_INIT;
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_flops f;
    int calls = 0;
    o.has_declared = true;
    o.declared_flop = 2000;
    o.declared_bytes = 24000;
    o.no_hardware = true;
    CHECK_OK(cbx_flops_of_calls(ctx, work, &calls, &o, &f, &err), &err, "declared");
    CHECK(f.source == CBX_FLOPS_DECLARED && f.flop == 2000 && f.bytes == 24000 && calls == 0, "as it was said");
    o.no_hardware = false;
    o.no_perf_event = true;
    o.papi = PAPI;
    load_fake();
    CHECK_OK(cbx_flops_of_calls(ctx, work, &calls, &o, &f, &err), &err, "counted");
    CHECK(f.source == CBX_FLOPS_PAPI && f.flop == 123 && f.bytes == 24000, "hardware counts, bytes are declared");
    o.papi = "/no/such/library.so";
    CHECK_OK(cbx_flops_of_calls(ctx, work, &calls, &o, &f, &err), &err, "declared again");
    CHECK(f.source == CBX_FLOPS_DECLARED && strstr(f.why, "/no/such/library.so"), "and why");
    o.has_declared = false;
    CHECK_OK(cbx_flops_of_calls(ctx, work, &calls, &o, &f, &err), &err, "nobody");
    CHECK(f.source == CBX_FLOPS_NONE && isnan(f.flop), "no number out of nothing");
    o.has_declared = true;
    o.declared_flop = -1;
    CHECK_STATUS(cbx_flops_of_calls(ctx, work, &calls, &o, &f, &err), CBX_EINVAL, "less than nothing");
    CHECK_STATUS(cbx_flops_of_calls(ctx, NULL, NULL, NULL, &f, &err), CBX_EINVAL, "no function");
    o.struct_size = 1;
    CHECK_STATUS(cbx_flops_of_calls(ctx, work, &calls, &o, &f, &err), CBX_EINVAL, "another version");
    cbx_ctx_free(ctx);
}

TEST(events_of_cpus)
{
    static const struct {
        const char *vendor, *features;
        int family, model;
        size_t n;
        double most;
        const char *why;
    } cases[] = {
        { "GenuineIntel", "avx2 avx512f fma", 6, 0x55, 5, 16, "Skylake server" },
        { "GenuineIntel", "avx2 fma", 6, 0x5e, 4, 8, "Skylake client" },
        { "GenuineIntel", "avx2 fma", 6, 0x3f, 0, 0, "Haswell has no such counter" },
        { "GenuineIntel", "sse2", 6, 0x17, 0, 0, "older still" },
        { "GenuineIntel", "avx2 fma", 6, 0xbe, 0, 0, "small cores" },
        { "AuthenticAMD", "avx2 fma", 0x17, 0x31, 1, 1, "Zen 2" },
        { "AuthenticAMD", "avx2 fma", 0x19, 0x01, 1, 1, "Zen 3" },
        { "AuthenticAMD", "avx", 0x15, 0x01, 0, 0, "Bulldozer" },
        { "0x41", "asimd", 8, 0xd0c, 0, 0, "ARM" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_machine m = { .family = cases[i].family, .model = cases[i].model };
        cbx__counter_event e[CBX__COUNTER_MAX_EVENTS];
        cbx_err why = CBX_ERR_INIT;
        double most = 0;
        snprintf(m.vendor, sizeof m.vendor, "%s", cases[i].vendor);
        snprintf(m.features, sizeof m.features, "%s", cases[i].features);
        CHECK_INT(cbx__counter_events(&m, e, &why), cases[i].n, cases[i].why);
        for (size_t k = 0; k < cases[i].n; k++) most = fmax(most, e[k].flop);
        CHECK(most == cases[i].most && (cases[i].n > 0) == (why.message[0] == '\0'), cases[i].why);
    }
}

/* Descriptors that give what a kernel would: count, time enabled, time running, one record a
 * reading. */
static int pipes[5], next_pipe;

static int open_played(uint64_t config)
{
    int fd[2];
    (void)config;
    if (next_pipe == 5 || pipe(fd)) return -EMFILE;
    pipes[next_pipe++] = fd[1];
    return fd[0];
}
static int open_refused(uint64_t config) { return (void)config, -EACCES; }

TEST(by_the_kernel)
{
    cbx_machine m = { .vendor = "GenuineIntel", .features = "avx2 avx512f fma", .family = 6, .model = 0x55 };
    cbx__counter_opts o = { .no_papi = true, .machine = &m, .open = open_played };
    cbx_ctx *ctx = cbx_test_context();
    cbx__counter *c = NULL;
    cbx_err err = CBX_ERR_INIT;
    double flop = 0;
    CHECK_OK(cbx__counter_open(ctx, &o, &c, &err), &err, "open");
    CHECK_STR(cbx__counter_source(c), "perf_event", "source");
    for (size_t i = 0; i < 5; i++) {
        /* scalar 1000; 2 lanes 100, seen half the time; nothing else */
        const uint64_t v[3] = { i == 0 ? 1000 : i == 1 ? 50 : 0, 2000, i == 1 ? 1000 : 2000 };
        CHECK_INT(write(pipes[i], v, sizeof v), sizeof v, "played");
    }
    CHECK_OK(cbx__counter_read(c, &flop, &err), &err, "read");
    CHECK(flop == 1000 + 2 * 100, "weighted by lanes, scaled by time");
    for (size_t i = 0; i < 5; i++) close(pipes[i]);
    CHECK_STATUS(cbx__counter_read(c, &flop, &err), CBX_EIO, "a counter that went away");
    cbx__counter_close(c);
    next_pipe = 2;
    c = NULL;
    CHECK_STATUS(cbx__counter_open(ctx, &o, &c, &err), CBX_EUNAVAILABLE, "too few descriptors");
    for (size_t i = 2; i < 5; i++) close(pipes[i]);
    o.open = open_refused;
    CHECK_STATUS(cbx__counter_open(ctx, &o, &c, &err), CBX_EUNAVAILABLE, "not allowed");
    CHECK(strstr(err.message, "perf_event_paranoid") != NULL, err.message);
    CHECK(c == NULL, "untouched");
    cbx_ctx_free(ctx);
}

/* Whatever this machine can do: a number, or a reason. */
TEST(this_machine)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_flops f;
    int calls = 0;
    retire = NULL;
    CHECK_OK(cbx_flops_of_calls(ctx, work, &calls, NULL, &f, &err), &err, "as it is");
    CHECK(f.source == CBX_FLOPS_NONE ? isnan(f.flop) && f.why[0] : f.flop >= 0 && f.events[0], "a number or a reason");
    cbx_ctx_free(ctx);
}

static cbx_status counts(cbx_ctx *ctx, void *user)
{
    cbx_flops_opts o = CBX_FLOPS_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    cbx_flops f;
    o.papi = PAPI;
    o.no_perf_event = true;
    return cbx_flops_of_calls(ctx, work, user, &o, &f, &err);
}

static cbx_status traces(cbx_ctx *ctx, void *user)
{
    const cbx_array_desc in[] = { { CBX_F32, 2, { 64, 32 } }, { CBX_F32, 2, { 32, 48 } } };
    cbx_err err = CBX_ERR_INIT;
    cbx_flops f;
    (void)user;
    return cbx_flops_of_fn(ctx, CBX_FN(product, NULL, 2, 1), 2, in, &f, &err);
}

TEST(memory_that_runs_out)
{
    load_fake();
    CHECK_GT(cbx_test_fail_each(counts, &(int){ 0 }, "count"), 1, "counter and library");
    CHECK_GT(cbx_test_fail_each(traces, NULL, "trace"), 2, "the program and its counts");
    CHECK_INT(sets(), 0, "every set is given back");
}

TESTS()
