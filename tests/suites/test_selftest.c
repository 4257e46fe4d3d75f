/* The programs that the tool measures itself with: right answers, turns, tables; and how many
 * cheats there are. */
#include "check.h"

#include <stdio.h>

#include "case_bench.h"
#include "suites/suites.h"

TEST(kernels_are_right)
{
    const cbx_case_ops *c = &cbx_selftest_kernels_case;
    size_t honest = 0, mutants = 0;

    for (size_t i = 0; i < c->npoints; i++) {
        case_bench t;
        bool still = strstr(c->points[i], "sum") || strstr(c->points[i], "chain") || strstr(c->points[i], "empty");
        case_bench_open(&t, c, c->points[i]);
        case_bench_check_baselines(&t, c->points[i], &honest, &mutants);
        if (!strstr(c->points[i], "sum")) /* in another order a sum may be rounded elsewhere */
            case_bench_check_turns(&t, c->points[i], still);
        case_bench_close(&t);
    }
    CHECK_INT(honest, c->npoints * c->nbaselines, "all of them");
}

TEST(tables_are_whole)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; i < cbx_selftest_cases.count; i++) {
        const cbx_case_ops *c = cbx_selftest_cases.cases[i];
        CHECK_OK(cbx_case_check(ctx, c, &err), &err, c->name);
        CHECK(!cbx_case_find(&cbx_builtin_cases, c->name), "not listed");
    }
    cbx_ctx_free(ctx);
}

TEST(there_are_cheats_enough)
{
    const cbx_case_ops *c = &cbx_selftest_exploits_case;
    size_t cheats = 0, honest = 0;

    for (size_t i = 0; i < c->nbaselines; i++) {
        const cbx_baseline_ops *b = c->baselines[i];
        cheats += b->mutant_reason != NULL;
        honest += b->mutant_reason == NULL;
        CHECK((b->mutant_reason == NULL) == (strncmp(b->name, "honest", 6) == 0), b->name);
        if (!b->mutant_reason) continue;
        char twin[80];
        snprintf(twin, sizeof twin, "honest-%s", b->name);
        const cbx_baseline_ops *t = cbx_case_baseline(c, twin);
        CHECK(t && !t->mutant_reason && !strcmp(t->provider, b->provider) && t->run == b->run, twin);
    }
    CHECK(cheats >= 90, "cheats");
    CHECK_INT(honest, cheats + 1, "a twin for each, and the reference");
    CHECK_STR(cbx_selftest_exploit_needs("parent-memory"), "tracing", "a door, and what closes it");
    CHECK_STR(cbx_selftest_exploit_needs("replay"), "", "no door");
}

TESTS()
