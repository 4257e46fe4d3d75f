/* Which attempts a point has, and which counts fit a budget. */
#include "check.h"

#include <math.h>
#include <stdio.h>

#include "calibrax/perf/sweep/plan.h"

/* --- a case of tables only: nothing of it runs --- */

static bool only_even(const cbx_params *p, const char **reason)
{
    *reason = cbx_params_int(p, "n") < 0 ? NULL : "it wants an even n";
    return cbx_params_int(p, "n") % 2 == 0;
}

static bool never_shown(const cbx_params *p, const char **reason)
{
    (void)p;
    *reason = NULL;
    return false;
}

#define BASELINE(name_, provider_, slow_, mutant_, supports_)                                                          \
    {                                                                                                                  \
        sizeof(cbx_baseline_ops), CBX_CASE_ABI, name_, provider_, "for tests", slow_, mutant_, supports_, NULL, NULL,  \
            NULL, NULL, NULL                                                                                           \
    }

static const cbx_baseline_ops reference = BASELINE("reference", "native", NULL, NULL, NULL);
static const cbx_baseline_ops slow = BASELINE("slow", "native", "it copies everything", NULL, NULL);
static const cbx_baseline_ops even = BASELINE("even", "native", NULL, NULL, only_even);
static const cbx_baseline_ops hidden = BASELINE("hidden", "native", NULL, NULL, never_shown);
static const cbx_baseline_ops foreign = BASELINE("foreign", "numpy", NULL, NULL, NULL);
static const cbx_baseline_ops mutant = BASELINE("mutant", "native", NULL, "drops a term", NULL);
static const cbx_baseline_ops *const baselines[] = { &reference, &slow, &even, &hidden, &foreign, &mutant };
static const cbx_param_def params[] = { { "n", CBX_PARAM_INT, 0, 100, NULL, "2", "elements", NULL } };
static const char *const points[] = { "{\"n\":2}" };
static const cbx_case_ops table_case = { .struct_size = sizeof(cbx_case_ops),
                                         .abi = CBX_CASE_ABI,
                                         .name = "tables",
                                         .params = params,
                                         .nparams = 1,
                                         .points = points,
                                         .npoints = 1,
                                         .baselines = baselines,
                                         .nbaselines = CBX_LEN(baselines),
                                         .ninputs = 1,
                                         .noutputs = 1 };

/* Attempts of {"n":n} as "name/variant:cause" words. */
static void plan_words(const cbx_measure_opts *opts, const char *point, char *out, size_t size)
{
    cbx_arena arena;
    cbx_params *p = NULL;
    cbx__plan plan;
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    size_t len = 0;

    cbx_arena_init(&arena, cbx_allocator_default());
    CHECK_OK(cbx_params_parse(ctx, params, 1, point, "test", &p, &err), &err, point);
    CHECK_OK(cbx__plan_make(&arena, opts, "cpu", p, &plan, &err), &err, point);
    out[0] = 0;
    for (size_t i = 0; i < plan.count && len < size; i++) {
        const cbx__attempt *a = &plan.attempts[i];
        len += (size_t)snprintf(out + len, size - len, "%s%s%s%s%s%s", i ? " " : "", a->baseline->name,
                                strcmp(a->variant, "default") ? "/" : "",
                                strcmp(a->variant, "default") ? a->variant : "", a->failure ? ":" : "",
                                a->failure ? cbx_failure_word(a->failure) : "");
    }
    cbx_params_free(p);
    cbx_ctx_free(ctx);
    cbx_arena_clear(&arena);
}

TEST(selection)
{
    static const char *const names[] = { "slow", "reference" }, *const denied[] = { "even", "slow" };
    static const struct {
        size_t nallow, ndeny;
        bool skip_slow;
        cbx_measure_variants variants;
        const char *point, *wanted, *why;
    } cases[] = {
        { 0, 0, false, CBX_VARIANTS_ALL, "{\"n\":2}", "reference slow even foreign foreign/tuned",
          "everything honest; no row of the hidden one" },
        { 0, 0, false, CBX_VARIANTS_DEFAULT, "{\"n\":2}", "reference slow even foreign", "default variants only" },
        { 0, 0, false, CBX_VARIANTS_TUNED, "{\"n\":2}", "reference slow even foreign/tuned",
          "tuned where there is one" },
        { 0, 0, false, CBX_VARIANTS_DEFAULT, "{\"n\":3}", "reference slow even:point_unsupported foreign",
          "a reason makes a row" },
        { 0, 0, true, CBX_VARIANTS_DEFAULT, "{\"n\":2}", "reference slow:slow_skipped even foreign",
          "slow ones left out" },
        { 2, 0, true, CBX_VARIANTS_DEFAULT, "{\"n\":2}",
          "reference slow even:skipped_by_config foreign:skipped_by_config",
          "a name in --baselines overrides --skip-slow" },
        { 2, 1, false, CBX_VARIANTS_ALL, "{\"n\":2}", "reference slow even:skipped_by_config foreign:skipped_by_config",
          "skipped baselines have one row, whatever their variants" },
        { 0, 2, false, CBX_VARIANTS_DEFAULT, "{\"n\":2}",
          "reference slow:skipped_by_config even:skipped_by_config foreign", "the deny list" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_measure_opts o = CBX_MEASURE_OPTS_INIT;
        char words[512];
        o.case_ops = &table_case;
        o.allow = names;
        o.nallow = cases[i].nallow;
        o.deny = denied;
        o.ndeny = cases[i].ndeny;
        o.skip_slow = cases[i].skip_slow;
        o.variants = cases[i].variants;
        plan_words(&o, cases[i].point, words, sizeof(words));
        CHECK_STR(words, cases[i].wanted, cases[i].why);
    }
}

TEST(selftest_plans)
{
    static const char *const names[] = { "reference" }, *const planted[] = { "mutant" };
    cbx_measure_opts o = CBX_MEASURE_OPTS_INIT;
    char words[512];
    o.case_ops = &table_case;
    o.mutants = true;
    plan_words(&o, "{\"n\":2}", words, sizeof(words));
    CHECK_STR(words, "reference slow even foreign mutant", "planted faults too, one variant each");
    o.mutants = false;
    o.allow = planted;
    o.nallow = 1;
    plan_words(&o, "{\"n\":3}", words, sizeof(words));
    CHECK(strstr(words, "mutant") && !strstr(words, "mutant:"), "a fault that is named is measured");
    o.allow = names;
    o.twins = true;
    plan_words(&o, "{\"n\":2}", words, sizeof(words));
    CHECK(!strncmp(words, "reference reference/twin slow:", 30), "a pair of equals");
}

TEST(names_are_checked)
{
    static const char *const bad[] = { "refrence" }, *const far[] = { "zzzzzzzzzzz" };
    cbx_measure_opts o = CBX_MEASURE_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    const char *name = NULL;
    o.case_ops = &table_case;
    CHECK_OK(cbx__plan_check(&o, &err), &err, "nothing to complain about");
    o.allow = bad;
    o.nallow = 1;
    CHECK_STATUS(cbx__plan_check(&o, &err), CBX_EINVAL, "no such baseline");
    CHECK_STR(err.message,
              "'baselines' must name baselines of case 'tables', got 'refrence'; did you mean 'reference'?",
              "the nearest name");
    o.nallow = 0;
    o.deny = far;
    o.ndeny = 1;
    CHECK_STATUS(cbx__plan_check(&o, &err), CBX_EINVAL, "no such baseline");
    CHECK(strstr(err.message, "known: reference, slow, even, hidden, foreign") && !strstr(err.message, "mutant"),
          err.message);
    o.ndeny = 0;
    o.precision = 1;
    CHECK_STATUS(cbx__plan_check(&o, &err), CBX_EINVAL, "no half width");
    CHECK_STR(err.message, "'precision' must be a relative half width, such as 0.01 for 1 %, got 1",
              "what it should be");
    o.precision = 0;
    o.repeats = CBX_LAUNCH_MAX_EPOCHS + 1;
    CHECK_STATUS(cbx__plan_check(&o, &err), CBX_EINVAL, "more epochs than a record holds");
    CHECK_OK(cbx_platform_parse("jax-cuda12", &name, &err), &err, "an alias");
    CHECK_STR(name, "cuda12", "the name in rows");
    CHECK_STATUS(cbx_platform_parse("cuda", &name, &err), CBX_EINVAL, "unknown");
    CHECK(strstr(err.message, "'cuda'") && strstr(err.message, "known: cpu, cuda12"), err.message);
    CHECK(cbx_platform_available("cpu") && !cbx_platform_available("abacus"), "where one can measure");
}

TEST(budgets)
{
    /* one attempt: 1 s fixed, 3 s spare warm-up, 1 s an epoch; a round of e epochs costs 4 + e,
     * without warm-up and with one epoch 2 */
    static const struct {
        double left_s;
        size_t launches, epochs;
        cbx__counts wanted;
        const char *why;
    } cases[] = {
        { INFINITY, 11, 10, { 11, 10, true, false }, "no budget, no cuts" },
        { 140, 11, 10, { 11, 10, true, false }, "10 more rounds of 14 s just fit" },
        { 139, 11, 10, { 11, 9, true, false }, "one epoch less" },
        { 50, 11, 10, { 11, 1, true, false }, "one epoch is the least" },
        { 49, 11, 10, { 11, 1, false, false }, "then no spare warm-up" },
        { 19, 11, 10, { 10, 1, false, false }, "then fewer launches" },
        { 10, 11, 10, { 6, 1, false, false }, "six are enough for an interval" },
        { 9, 11, 10, { 5, 1, false, true }, "the budget forbids even those, and it is said" },
        { -3, 11, 10, { 1, 1, false, true }, "the pilot alone was too long" },
        { 1, 3, 2, { 1, 1, false, false }, "who asks for 3 launches wants no interval" },
    };
    const cbx__cost cost = { .fixed_s = 1, .warmup_s = 3, .epoch_s = 1 };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx__counts k = cbx__plan_fit(&cost, 1, cases[i].left_s, cases[i].launches, cases[i].epochs),
                    w = cases[i].wanted;
        CHECK_INT(k.launches, w.launches, cases[i].why);
        CHECK_INT(k.epochs, w.epochs, cases[i].why);
        CHECK_INT(k.warmup, w.warmup, cases[i].why);
        CHECK_INT(k.starved, w.starved, cases[i].why);
    }
    CHECK_INT(cbx__plan_fit(NULL, 0, 1, 11, 10).launches, 11, "nobody alive, nothing to cut");
}

TESTS()
