/* What frameworks are told of threads and precision: the same by every one's own words. */
#include "check.h"
#include "fail_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/perf/launch/policy.h"

static const char *const providers[] = { "native", "numpy",     "jax",     "torch",        "pyg",
                                         "scipy",  "graphblas", "metrics", "torchmetrics", "calibrax" };

static const char *variable(const cbx__environment *e, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < e->n; i++) {
        if (!strncmp(e->vars[i], name, n) && e->vars[i][n] == '=') return e->vars[i] + n + 1;
    }
    return NULL;
}

/* The environment of a provider's worker, in an arena that the caller clears. */
static cbx__environment told(cbx_arena *arena, const char *provider, const char *platform, int threads,
                             const char *precision)
{
    cbx_launch_opts o = { .struct_size = sizeof(o), .platform = platform, .threads = threads, .precision = precision };
    cbx__environment e;
    cbx_arena_init(arena, cbx_allocator_default());
    cbx__environment_clean(&e, arena);
    cbx__environment_worker(&e, &o, provider);
    CHECK(!e.failed, provider);
    return e;
}

TEST(every_framework_is_told_the_same_threads)
{
    static const char *const dialects[] = { "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                                            "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS" };
    for (size_t p = 0; p < CBX_LEN(providers); p++) {
        cbx_arena arena;
        cbx__environment e = told(&arena, providers[p], "cpu", 3, NULL);
        for (size_t i = 0; i < CBX_LEN(dialects); i++) CHECK_STR(variable(&e, dialects[i]), "3", dialects[i]);
        CHECK_STR(variable(&e, "CUDA_VISIBLE_DEVICES"), "", "no device on the CPU");
        CHECK((!strcmp(providers[p], "jax") || !strcmp(providers[p], "calibrax")) == (variable(&e, "NPROC") != NULL),
              "the size of XLA's pool");
        CHECK(variable(&e, "XLA_FLAGS") == NULL, "XLA has its pool when there are several threads");
        cbx_arena_clear(&arena);
    }
    cbx_arena arena;
    cbx__environment e = told(&arena, "jax", "cpu", 1, NULL);
    CHECK(strstr(variable(&e, "XLA_FLAGS"), "multi_thread_eigen=false") != NULL, "and none with one");
    cbx_arena_clear(&arena);
}

TEST(a_device_is_named)
{
    cbx_launch_opts o = { .struct_size = sizeof(o), .platform = "cuda12", .threads = 1, .device = "2" };
    cbx__environment e;
    cbx_arena arena;
    setenv("CUDA_VISIBLE_DEVICES", "7", 1);
    cbx_arena_init(&arena, cbx_allocator_default());
    cbx__environment_clean(&e, &arena);
    cbx__environment_worker(&e, &o, "torch");
    CHECK_STR(variable(&e, "CUDA_VISIBLE_DEVICES"), "2", "the one it was given, whatever the shell says");
    CHECK_STR(variable(&e, "CUDA_DEVICE_ORDER"), "PCI_BUS_ID", "counted as NVML counts");
    CHECK_STR(variable(&e, "NVIDIA_TF32_OVERRIDE"), "0", "float32 is float32");
    CHECK(variable(&e, "ONEDNN_DEFAULT_FPMATH_MODE") == NULL, "the CPU's words are not for devices");
    cbx_arena_clear(&arena);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(precision)
{
    static const struct {
        const char *provider, *asked, *applied, *setting, *value;
    } cases[] = {
        { "jax", "full", "full", "jax_default_matmul_precision", "highest" },
        { "jax", "tf32", "tf32", "jax_default_matmul_precision", "tensorfloat32" },
        { "jax", "bf16", "bf16", "jax_default_matmul_precision", "bfloat16" },
        { "torch", "full", "full", "float32_matmul_precision", "highest" },
        { "torch", "tf32", "tf32", "float32_matmul_precision", "high" },
        { "pyg", "bf16", "bf16", "float32_matmul_precision", "medium" },
        { "numpy", "tf32", "full", "float32_matmul_precision", "" },
        { "native", "bf16", "full", "float32_matmul_precision", "" },
        { "graphblas", "tf32", "full", "nthreads", "2" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_json *o = cbx__policy_json(cases[i].provider, "cpu", 2, cases[i].asked, true);
        CHECK(o != NULL, cases[i].provider);
        CHECK_STR(cbx_json_get_string(o, "precision", ""), cases[i].applied, cases[i].provider);
        CHECK_STR(cbx_json_get_string(cbx_json_get(o, "settings"), cases[i].setting, ""), cases[i].value,
                  cases[i].provider);
        CHECK(cbx_json_has(o, "precision_asked") == (strcmp(cases[i].asked, cases[i].applied) != 0),
              "what was asked for in vain is recorded");
        CHECK_INT(cbx_json_get_int(o, "threads", 0), 2, "threads");
        CHECK(cbx_json_has(cbx_json_get(o, "environment"), "OMP_NUM_THREADS"), "variables");
        cbx_json_unref(o);
    }
}

TEST(words)
{
    const char *word = NULL;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx__policy_precision(NULL, &word, &err), &err, "the default");
    CHECK_STR(word, "full", "the default");
    CHECK_OK(cbx__policy_precision("bf16", &word, &err), &err, "a word");
    CHECK_STATUS(cbx__policy_precision("ful", &word, &err), CBX_EINVAL, "a misspelt word");
    CHECK(strstr(err.message, "'matmul_precision'") && strstr(err.message, "did you mean 'full'"), err.message);
}

TEST(threads_that_were_not_granted)
{
    static const struct {
        const char *reported;
        int told;
        bool many;
        const char *pool;
    } cases[] = {
        { "{\"blas\":1,\"intra_op\":1}", 1, false, "" },
        { "{\"blas\":1,\"intra_op\":4}", 2, true, "intra_op" },
        { "{\"blas\":3}", 4, false, "" },
        { "{}", 1, false, "" },
        { "{\"blas\":\"many\"}", 1, false, "" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_json *o = NULL;
        char pool[48] = "";
        int found = 0;
        CHECK(cbx_json_parse(cases[i].reported, strlen(cases[i].reported), "report", &o, NULL) == CBX_OK, "JSON");
        CHECK(cbx__policy_too_many(o, cases[i].told, pool, &found) == cases[i].many, cases[i].reported);
        CHECK_STR(pool, cases[i].pool, cases[i].reported);
        cbx_json_unref(o);
    }
    char pool[48];
    int found;
    CHECK(!cbx__policy_too_many(NULL, 1, pool, &found), "a worker that tells nothing");
}

TEST(settings_that_read_back_otherwise)
{
    static const struct {
        const char *reported, *told, *name, *found;
    } cases[] = {
        { "{\"a\":\"high\"}", "{\"a\":\"high\"}", "", "" },
        { "{\"a\":\"medium\"}", "{\"a\":\"high\"}", "a", "medium" },
        { "{\"a\":\"x\",\"b\":\"1\"}", "{\"a\":\"x\",\"b\":\"2\"}", "b", "1" },
        { "{\"more\":\"1\"}", "{\"a\":\"x\"}", "", "" }, /* nothing is said of it */
        { "{\"a\":1}", "{\"a\":\"1\"}", "a", "no text" },
        { "{}", "{}", "", "" },
        { "[]", "{\"a\":\"x\"}", "", "" },
    };
    char name[48], found[48];
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_json *reported = NULL, *told = NULL;
        CHECK(!cbx_json_parse(cases[i].reported, strlen(cases[i].reported), "report", &reported, NULL), "JSON");
        CHECK(!cbx_json_parse(cases[i].told, strlen(cases[i].told), "told", &told, NULL), "JSON");
        name[0] = found[0] = '\0';
        CHECK(cbx__policy_contradicts(reported, told, name, found) == (*cases[i].name != '\0'), cases[i].reported);
        CHECK_STR(name, cases[i].name, cases[i].reported);
        CHECK_STR(found, cases[i].found, cases[i].reported);
        cbx_json_unref(reported);
        cbx_json_unref(told);
    }
    CHECK(!cbx__policy_contradicts(NULL, NULL, name, found), "a worker that tells nothing");
}

/* What a user's shell has set of these must not reach a worker, or the table would be only half
 * the truth. */
TEST(the_shell_steers_nothing)
{
    size_t n;
    const cbx__policy_line *lines = cbx__policy_lines(&n);
    for (size_t i = 0; i < n; i++) {
        cbx__environment e;
        cbx_arena arena;
        if (lines[i].by_call) continue;
        setenv(lines[i].name, "77", 1);
        cbx_arena_init(&arena, cbx_allocator_default());
        cbx__environment_clean(&e, &arena);
        CHECK(variable(&e, lines[i].name) == NULL, lines[i].name);
        cbx_arena_clear(&arena);
        unsetenv(lines[i].name);
    }
}

TESTS()
