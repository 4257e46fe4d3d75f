/* Settings from the environment and from the options of a context. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/settings_internal.h"
#include "fail_alloc.h"

static const char *const variables[] = { "CALIBRAX_BACKEND",
                                         "XPCS_USE_JAX",
                                         "CALIBRAX_USE_GPU",
                                         "XPCS_USE_GPU",
                                         "CALIBRAX_GPU_FALLBACK",
                                         "XPCS_GPU_FALLBACK",
                                         "CALIBRAX_GPU_MEMORY_FRACTION",
                                         "XPCS_GPU_MEMORY_FRACTION" };

static int clean(void **state)
{
    (void)state;
    for (size_t i = 0; i < CBX_LEN(variables); i++) unsetenv(variables[i]);
    return 0;
}

static void set(const char *variable, const char *value)
{
    if (value)
        setenv(variable, value, 1);
    else
        unsetenv(variable);
}

/* All of them, as a context without options reads them. */
static cbx_status read_all(cbx_settings *out, cbx_err *err)
{
    static const cbx_ctx_opts none = CBX_CTX_OPTS_INIT;

    return cbx__settings_resolve(&none, out, err);
}

TEST(defaults_hold)
{
    cbx_settings s;
    cbx_err err = CBX_ERR_INIT;
    char text[CBX_SETTING_TEXT_SIZE];
    CHECK_OK(read_all(&s, &err), &err, "nothing is set");
    for (int i = 0; i < CBX_SETTING_COUNT; i++) {
        const cbx_setting_info *info = cbx_setting_get_info((cbx_setting)i);
        CHECK_STR(cbx_setting_text(&s, (cbx_setting)i, text), info->fallback, info->variable);
        CHECK_STR(s.origin[i], "default", info->variable);
        CHECK_STR(info->variable, variables[2 * i], "the table is in the order of the numbers");
        CHECK_STR(info->alias, variables[2 * i + 1], "the table is in the order of the numbers");
    }
    CHECK_STR(s.backend, "auto", "default");
    CHECK(!s.use_gpu && s.gpu_fallback && s.gpu_memory_fraction == 0.9, "defaults");
    CHECK(!cbx_setting_get_info(CBX_SETTING_COUNT), "no such setting");
    CHECK_STATUS(cbx_setting_read(CBX_SETTING_COUNT, &s, &err), CBX_EINVAL, "no such setting");
    CHECK_STR(cbx_setting_text(&s, CBX_SETTING_COUNT, text), "", "no such setting");
}

TEST(words_are_read)
{
    static const struct {
        cbx_setting which;
        const char *variable, *value, *wanted; /* NULL: refused */
    } cases[] = {
        { CBX_SETTING_BACKEND, "CALIBRAX_BACKEND", "auto", "auto" },
        { CBX_SETTING_BACKEND, "CALIBRAX_BACKEND", "Reference", "reference" },
        { CBX_SETTING_BACKEND, "CALIBRAX_BACKEND", "JIT", "jit" },
        { CBX_SETTING_BACKEND, "CALIBRAX_BACKEND", "", "auto" },
        { CBX_SETTING_BACKEND, "CALIBRAX_BACKEND", "numpy", NULL },
        { CBX_SETTING_BACKEND, "CALIBRAX_BACKEND", "jit ", NULL },
        { CBX_SETTING_BACKEND, "CALIBRAX_BACKEND", "ref", NULL },
        { CBX_SETTING_BACKEND, "CALIBRAX_BACKEND", "true", NULL },
        { CBX_SETTING_BACKEND, "XPCS_USE_JAX", "true", "jit" },
        { CBX_SETTING_BACKEND, "XPCS_USE_JAX", "1", "jit" },
        { CBX_SETTING_BACKEND, "XPCS_USE_JAX", "FALSE", "reference" },
        { CBX_SETTING_BACKEND, "XPCS_USE_JAX", "Auto", "auto" },
        { CBX_SETTING_BACKEND, "XPCS_USE_JAX", "junk", NULL },
        { CBX_SETTING_USE_GPU, "CALIBRAX_USE_GPU", "true", "true" },
        { CBX_SETTING_USE_GPU, "CALIBRAX_USE_GPU", "1", "true" },
        { CBX_SETTING_USE_GPU, "CALIBRAX_USE_GPU", "Yes", "true" },
        { CBX_SETTING_USE_GPU, "CALIBRAX_USE_GPU", "oN", "true" },
        { CBX_SETTING_USE_GPU, "CALIBRAX_USE_GPU", "no", "false" },
        { CBX_SETTING_USE_GPU, "XPCS_USE_GPU", "1", "true" },
        { CBX_SETTING_USE_GPU, "XPCS_USE_GPU", "2", NULL },
        { CBX_SETTING_USE_GPU, "CALIBRAX_USE_GPU", "tru", NULL },
        { CBX_SETTING_USE_GPU, "CALIBRAX_USE_GPU", "truee", NULL },
        { CBX_SETTING_USE_GPU, "CALIBRAX_USE_GPU", " true", NULL },
        { CBX_SETTING_GPU_FALLBACK, "CALIBRAX_GPU_FALLBACK", "0", "false" },
        { CBX_SETTING_GPU_FALLBACK, "XPCS_GPU_FALLBACK", "1", "true" },
        { CBX_SETTING_GPU_FALLBACK, "XPCS_GPU_FALLBACK", "OFF", "false" },
        { CBX_SETTING_GPU_FALLBACK, "CALIBRAX_GPU_FALLBACK", "cpu", NULL },
        { CBX_SETTING_GPU_MEMORY_FRACTION, "CALIBRAX_GPU_MEMORY_FRACTION", "0.5", "0.5" },
        { CBX_SETTING_GPU_MEMORY_FRACTION, "CALIBRAX_GPU_MEMORY_FRACTION", "1", "1.0" },
        { CBX_SETTING_GPU_MEMORY_FRACTION, "XPCS_GPU_MEMORY_FRACTION", "2.5e-1", "0.25" },
        { CBX_SETTING_GPU_MEMORY_FRACTION, "CALIBRAX_GPU_MEMORY_FRACTION", "0", NULL },
        { CBX_SETTING_GPU_MEMORY_FRACTION, "CALIBRAX_GPU_MEMORY_FRACTION", "-0.5", NULL },
        { CBX_SETTING_GPU_MEMORY_FRACTION, "CALIBRAX_GPU_MEMORY_FRACTION", "1.01", NULL },
        { CBX_SETTING_GPU_MEMORY_FRACTION, "CALIBRAX_GPU_MEMORY_FRACTION", "nan", NULL },
        { CBX_SETTING_GPU_MEMORY_FRACTION, "CALIBRAX_GPU_MEMORY_FRACTION", "inf", NULL },
        { CBX_SETTING_GPU_MEMORY_FRACTION, "CALIBRAX_GPU_MEMORY_FRACTION", "0x1p-1", NULL },
        { CBX_SETTING_GPU_MEMORY_FRACTION, "CALIBRAX_GPU_MEMORY_FRACTION", "0,5", NULL },
        { CBX_SETTING_GPU_MEMORY_FRACTION, "CALIBRAX_GPU_MEMORY_FRACTION", "90%", NULL },
        { CBX_SETTING_GPU_MEMORY_FRACTION, "CALIBRAX_GPU_MEMORY_FRACTION", " 0.5", NULL },
        { CBX_SETTING_GPU_MEMORY_FRACTION, "CALIBRAX_GPU_MEMORY_FRACTION", "0.5 ", NULL },
        { CBX_SETTING_GPU_MEMORY_FRACTION, "CALIBRAX_GPU_MEMORY_FRACTION", "half", NULL },
        { CBX_SETTING_GPU_MEMORY_FRACTION, "CALIBRAX_GPU_MEMORY_FRACTION", ".", NULL },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_settings s = { 0 };
        cbx_err err = CBX_ERR_INIT;
        cbx_ctx *ctx = NULL;
        char why[128], quoted[96], text[CBX_SETTING_TEXT_SIZE];
        snprintf(why, sizeof why, "%s=%s", cases[i].variable, cases[i].value);
        snprintf(quoted, sizeof quoted, ", got '%s'", cases[i].value);
        set(cases[i].variable, cases[i].value);
        cbx_status st = read_all(&s, &err);
        if (cases[i].wanted) {
            CHECK_OK(st, &err, why);
            CHECK_STR(cbx_setting_text(&s, cases[i].which, text), cases[i].wanted, why);
            CHECK_STR(s.origin[cases[i].which], *cases[i].value ? cases[i].variable : "default", why);
        } else {
            CHECK_STATUS(st, CBX_EINVAL, why);
            CHECK(strstr(err.message, cases[i].variable) == err.message + 1 && strstr(err.message, "' must be ") &&
                      strstr(err.message, quoted),
                  "variable, value and the words that are allowed");
            CHECK(!s.origin[0] && !s.backend, "nothing is written");
            CHECK_STATUS(cbx_ctx_create(NULL, &ctx, NULL), CBX_EINVAL, "no context with a bad environment");
            CHECK(!ctx, "out untouched");
        }
        unsetenv(cases[i].variable);
    }
}

TEST(variables_read_elsewhere_are_checked)
{
    static const struct {
        const char *variable, *value, *message; /* NULL: fine */
    } cases[] = {
        { "CALIBRAX_ISA", "plain", NULL },
        { "CALIBRAX_ISA", "avx512", NULL },
        { "CALIBRAX_ISA", "", NULL },
        { "CALIBRAX_ISA", "foo", "'CALIBRAX_ISA' must be plain, avx2 or avx512, got 'foo'" },
        { "CALIBRAX_ISA", "AVX2", "'CALIBRAX_ISA' must be plain, avx2 or avx512, got 'AVX2'" },
        { "CALIBRAX_JIT_CACHE_BYTES", "0", NULL },
        { "CALIBRAX_JIT_CACHE_BYTES", "18446744073709551615", NULL },
        { "CALIBRAX_JIT_CACHE_BYTES", "18446744073709551616",
          "'CALIBRAX_JIT_CACHE_BYTES' must be a number of bytes, 0 for no cache, got '18446744073709551616'" },
        { "CALIBRAX_JIT_CACHE_BYTES", "-1",
          "'CALIBRAX_JIT_CACHE_BYTES' must be a number of bytes, 0 for no cache, got '-1'" },
        { "CALIBRAX_JIT_CACHE_BYTES", "1M",
          "'CALIBRAX_JIT_CACHE_BYTES' must be a number of bytes, 0 for no cache, got '1M'" },
    };
    cbx_ctx_opts all = CBX_CTX_OPTS_INIT;
    all.backend = "auto", all.use_gpu = CBX_CHOICE_OFF, all.gpu_fallback = CBX_CHOICE_ON, all.gpu_memory_fraction = 1;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_status wanted = cases[i].message ? CBX_EINVAL : CBX_OK;
        const char *before = getenv(cases[i].variable);
        char kept[32];
        cbx_ctx *ctx = NULL;
        cbx_err err = CBX_ERR_INIT;
        if (before) snprintf(kept, sizeof kept, "%s", before);
        set(cases[i].variable, cases[i].value);
        CHECK_STATUS(cbx_ctx_create(NULL, &ctx, &err), wanted, cases[i].value);
        if (wanted) CHECK_STR(err.message, cases[i].message, "one sentence");
        if (wanted) CHECK_OK(cbx_ctx_create(&all, &ctx, &err), &err, "options give all that the environment says");
        cbx_ctx_free(ctx);
        set(cases[i].variable, before ? kept : NULL);
    }
}

TEST(aliases_must_agree)
{
    static const struct {
        const char *variable, *value, *alias, *alias_value, *message; /* NULL: fine */
    } cases[] = {
        { "CALIBRAX_BACKEND", "jit", "XPCS_USE_JAX", "yes", NULL },
        { "CALIBRAX_BACKEND", "reference", "XPCS_USE_JAX", "true",
          "'CALIBRAX_BACKEND' is 'reference' and its alias 'XPCS_USE_JAX' is 'true': unset one of them" },
        { "CALIBRAX_USE_GPU", "on", "XPCS_USE_GPU", "1", NULL },
        { "CALIBRAX_USE_GPU", "on", "XPCS_USE_GPU", "0",
          "'CALIBRAX_USE_GPU' is 'on' and its alias 'XPCS_USE_GPU' is '0': unset one of them" },
        { "CALIBRAX_USE_GPU", "on", "XPCS_USE_GPU", "", NULL },
        { "CALIBRAX_GPU_FALLBACK", "true", "XPCS_GPU_FALLBACK", "no",
          "'CALIBRAX_GPU_FALLBACK' is 'true' and its alias 'XPCS_GPU_FALLBACK' is 'no': unset one of them" },
        { "CALIBRAX_GPU_MEMORY_FRACTION", "0.50", "XPCS_GPU_MEMORY_FRACTION", "5e-1", NULL },
        { "CALIBRAX_GPU_MEMORY_FRACTION", "0.5", "XPCS_GPU_MEMORY_FRACTION", "0.6",
          "'CALIBRAX_GPU_MEMORY_FRACTION' is '0.5' and its alias 'XPCS_GPU_MEMORY_FRACTION' is '0.6': unset one of "
          "them" },
        { "CALIBRAX_USE_GPU", "yes", "XPCS_USE_GPU", "perhaps",
          "'XPCS_USE_GPU' must be true, false, 1, 0, yes, no, on or off, got 'perhaps'" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_settings s;
        cbx_err err = CBX_ERR_INIT;
        set(cases[i].variable, cases[i].value);
        set(cases[i].alias, cases[i].alias_value);
        cbx_status st = read_all(&s, &err);
        CHECK_STATUS(st, cases[i].message ? CBX_EINVAL : CBX_OK, cases[i].alias);
        if (cases[i].message) CHECK_STR(err.message, cases[i].message, cases[i].alias);
        unsetenv(cases[i].variable);
        unsetenv(cases[i].alias);
    }
}

TEST(options_beat_the_environment)
{
    cbx_ctx_opts opts = CBX_CTX_OPTS_INIT;
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;
    opts.backend = "REFERENCE";
    opts.use_gpu = CBX_CHOICE_OFF;
    opts.gpu_memory_fraction = 0.25;
    set("CALIBRAX_BACKEND", "junk"); /* not looked at */
    set("CALIBRAX_USE_GPU", "yes");
    set("XPCS_GPU_FALLBACK", "no");
    CHECK_OK(cbx_ctx_create(&opts, &ctx, &err), &err, "options win");
    const cbx_settings *s = cbx_ctx_settings(ctx);
    CHECK_STR(s->backend, "reference", "option");
    CHECK(!s->use_gpu && s->gpu_memory_fraction == 0.25, "option");
    CHECK(!s->gpu_fallback, "not given: the environment's");
    CHECK_STR(s->origin[CBX_SETTING_USE_GPU], "option", "origin");
    CHECK_STR(s->origin[CBX_SETTING_GPU_FALLBACK], "XPCS_GPU_FALLBACK", "origin");
    set("XPCS_GPU_FALLBACK", "yes");
    CHECK(!s->gpu_fallback, "the environment is read once");
    cbx_ctx_free(ctx);
}

TEST(bad_options_are_refused)
{
    static const struct {
        const char *backend;
        int use_gpu, fallback;
        double fraction;
        const char *part;
    } cases[] = {
        { "jax", 0, 0, 0, "'backend' of the context options must be auto, reference or jit, got 'jax'" },
        { NULL, 3, 0, 0, "'use_gpu' of the context options must be CBX_CHOICE_OFF or CBX_CHOICE_ON, got 3" },
        { NULL, 0, 17, 0, "'gpu_fallback' of the context options must be CBX_CHOICE_OFF or CBX_CHOICE_ON, got 17" },
        { NULL, 0, 0, 1.5,
          "'gpu_memory_fraction' of the context options must be a number above 0, at most 1, got 1.5" },
        { NULL, 0, 0, -0.5, "got -0.5" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_ctx_opts opts = CBX_CTX_OPTS_INIT;
        cbx_ctx *ctx = NULL;
        cbx_err err = CBX_ERR_INIT;
        opts.backend = cases[i].backend;
        opts.use_gpu = (cbx_choice)cases[i].use_gpu;
        opts.gpu_fallback = (cbx_choice)cases[i].fallback;
        opts.gpu_memory_fraction = cases[i].fraction;
        CHECK_STATUS(cbx_ctx_create(&opts, &ctx, &err), CBX_EINVAL, cases[i].part);
        CHECK(strstr(err.message, cases[i].part), cases[i].part);
        CHECK(!ctx, "out untouched");
    }
}

/* A program built before the settings were: its options end where they begin, and what lies behind
 * is not read. */
TEST(older_options_are_taken)
{
    cbx_ctx_opts opts = CBX_CTX_OPTS_INIT;
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;
    opts.struct_size = offsetof(cbx_ctx_opts, backend);
    memset((char *)&opts + opts.struct_size, 0xA5, sizeof opts - opts.struct_size);
    CHECK_OK(cbx_ctx_create(&opts, &ctx, &err), &err, "the older size");
    CHECK_STR(cbx_ctx_settings(ctx)->backend, "auto", "unset");
    cbx_ctx_free(ctx);
}

TESTS(.setup = clean, .teardown = clean)
