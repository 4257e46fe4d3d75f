/* Libraries loaded on first use. */
#include "check.h"

#include "calibrax/base/library.h"
#include "fail_alloc.h"

static double (*cosine)(double);
static void *absent;

static const char *const libm[] = { "libcbx-is-not-here.so.9", "libm.so.6", NULL };
static const char *const nowhere[] = { "libcbx-is-not-here.so.9", NULL };
static const cbx_library_symbol good[] = { { "cos", (void **)(void *)&cosine } };
static const cbx_library_symbol bad[] = { { "cos", (void **)(void *)&cosine }, { "cbx_is_not_there", &absent } };

TEST(loads_the_first_present)
{
    cbx_test_alloc t;
    cbx_err err = CBX_ERR_INIT;
    cbx_library *lib = NULL;
    const cbx_library_spec spec = { libm, "cosines", "libc6", good, CBX_LEN(good) };
    cbx_test_alloc_init(&t);
    cbx_ctx *ctx = cbx_test_ctx(&t);
    CHECK_OK(cbx_library_open(ctx, &spec, &lib, &err), &err, "libm");
    CHECK_STR(cbx_library_name(lib), "libm.so.6", "the one found");
    CHECK(cosine(0.0) == 1.0, "callable");
    cbx_library_close(lib);
    CHECK(cosine(0.0) == 1.0, "never unmapped");
    cbx_library_close(NULL);
    cbx_ctx_free(ctx);
    cbx_test_alloc_check(&t, "library");
}

TEST(says_what_to_install)
{
    static const struct {
        cbx_library_spec spec;
        const char *message, *why;
    } cases[] = {
        { { nowhere, "cosines", "libcosine0", good, CBX_LEN(good) },
          "no 'libcbx-is-not-here.so.9' for cosines: run 'apt-get install libcosine0'",
          "no such library" },
        { { libm, "cosines", "libcosine0", bad, CBX_LEN(bad) },
          "'libm.so.6' has no 'cbx_is_not_there', needed for cosines: run 'apt-get install libcosine0' for a newer one",
          "too old" },
    };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_library *lib = NULL;
        cosine = NULL;
        CHECK_STATUS(cbx_library_open(ctx, &cases[i].spec, &lib, &err), CBX_EUNAVAILABLE, cases[i].why);
        CHECK_STR(err.message, cases[i].message, cases[i].why);
        CHECK(lib == NULL && cosine == NULL && absent == NULL, "all symbols or none");
    }
    cbx_ctx_free(ctx);
}

static cbx_status open_and_close(cbx_ctx *ctx, void *user)
{
    (void)user;
    cbx_library *lib = NULL;
    const cbx_library_spec spec = { libm, "cosines", "libc6", good, CBX_LEN(good) };
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_library_open(ctx, &spec, &lib, &err);
    cbx_library_close(lib);
    return st;
}

TEST(every_allocation_can_fail) { CHECK_INT(cbx_test_fail_each(open_and_close, NULL, "library"), 1, "the handle"); }

/* The one list: every row says what it takes to name a missing library and its remedy. */
TEST(known_libraries_are_complete)
{
    for (int i = 0; i < CBX_LIBRARY_COUNT; i++) {
        const char *title = cbx_library_title((cbx_library_id)i);
        cbx_library_spec spec = cbx_library_known((cbx_library_id)i);
        CHECK(strlen(title) > 1, "a title");
        CHECK(spec.sonames[0] && strstr(spec.sonames[0], ".so."), title);
        CHECK(strlen(spec.purpose) > 8 && strlen(spec.package) > 4 && !spec.nsymbols, title);
        for (int j = 0; j < i; j++) CHECK(strcmp(title, cbx_library_title((cbx_library_id)j)) != 0, "said once");
    }
    CHECK_STR(cbx_library_title(CBX_LIBRARY_COUNT), "?", "no such library");
}

TESTS()
