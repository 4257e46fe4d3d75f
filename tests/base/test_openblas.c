/* OpenBLAS on first use: what the environment shows during the load and after it, threads, and a
 * missing routine. */
#include "check.h"

#include <dirent.h>
#include <stdlib.h>

#include "calibrax/base/cpu.h"
#include "calibrax/base/internal.h"
#include "calibrax/base/openblas.h"
#include "fail_alloc.h"

static double (*ddot)(int, const double *, int, const double *, int);
static void *absent;

static int threads(void)
{
    DIR *d = opendir("/proc/self/task");
    int n = 0;

    CHECK(d != NULL, "threads of this process");
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

TEST(loads_without_a_trace)
{
    static const double x[3] = { 1, 2, 3 };
    const cbx_library_symbol symbols[] = { { "cblas_ddot", (void **)(void *)&ddot } };
    cbx_test_alloc t;
    cbx_err err = CBX_ERR_INIT;
    cbx_library *lib = NULL;
    int before = threads();

    unsetenv("OPENBLAS_NUM_THREADS");
    unsetenv("OPENBLAS_CORETYPE");
    cbx_test_alloc_init(&t);
    cbx_ctx *ctx = cbx_test_ctx(&t);
    CHECK_OK(cbx_openblas_open(ctx, "a test", CBX_OPENBLAS_FIT_CPU | CBX_OPENBLAS_ONE_THREAD, symbols, CBX_LEN(symbols),
                               &lib, &err),
             &err, "OpenBLAS");
    CHECK(ddot(3, x, 1, x, 1) == 14, "callable");
    CHECK_INT(threads(), before, "no threads of its own");
    CHECK(!getenv("OPENBLAS_NUM_THREADS") && !getenv("OPENBLAS_CORETYPE"), "children inherit nothing");
    cbx_library_close(lib);
    cbx_ctx_free(ctx);
    cbx_test_alloc_check(&t, "OpenBLAS");
}

TEST(cpus_that_it_knows)
{
    static const struct {
        bool intel;
        unsigned signature;
        bool known;
        const char *why;
    } cases[] = {
        { true, 0x50654, true, "Skylake-X" },        { true, 0x806f8, true, "Sapphire Rapids" },
        { true, 0xa06d0, false, "Granite Rapids" },  { false, 0x50654, false, "the same numbers of another vendor" },
        { true, 0xb00f21, false, "another family" }, { false, 0, false, "nothing to read" },
    };

    for (size_t i = 0; i < CBX_LEN(cases); i++)
        CHECK(cbx__openblas_knows(cases[i].intel, cases[i].signature) == cases[i].known, cases[i].why);
    CHECK(!cbx_openblas_misjudges_cpu() || cbx_isa_of_cpu() == CBX_ISA_AVX512, "it matters for AVX-512 alone");
}

TEST(a_setting_of_the_user_stays)
{
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_library *lib = NULL;

    setenv("OPENBLAS_NUM_THREADS", "2", 1);
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "context");
    CHECK_OK(cbx_openblas_open(ctx, "a test", CBX_OPENBLAS_ONE_THREAD, NULL, 0, &lib, &err), &err, "a second time");
    CHECK_STR(getenv("OPENBLAS_NUM_THREADS"), "2", "what was there before");
    unsetenv("OPENBLAS_NUM_THREADS");
    cbx_library_close(lib);
    cbx_ctx_free(ctx);
}

TEST(says_what_is_missing)
{
    const cbx_library_symbol symbols[] = { { "dnone_", &absent } };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_library *lib = NULL;

    CHECK_STATUS(cbx_openblas_open(ctx, "a test", 0, symbols, 1, &lib, &err), CBX_EUNAVAILABLE, "no such routine");
    CHECK(strstr(err.message, "has no 'dnone_', needed for a test: run 'apt-get install libopenblas0-pthread'") != NULL,
          err.message);
    CHECK(lib == NULL && absent == NULL, "nothing is left");
    cbx_ctx_free(ctx);
}

TESTS()
