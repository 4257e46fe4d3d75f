/* Sign tests against exact fractions (what SciPy's stats.binomtest(k, n, 0.5).pvalue is), Holm
 * against his own rule by hand. */
#include "check.h"

#include <math.h>
#include <stdbool.h>

#include "calibrax/base/rng.h"
#include "calibrax/statistics/multiplicity.h"

static void near(double found, double wanted, const char *why)
{
    if (!(fabs(found - wanted) <= 4 * 0x1p-53 * wanted)) fail_msg("%s: %.17g, not %.17g", why, found, wanted);
}

TEST(sign_tests_are_exact)
{
    static const struct {
        size_t below, above;
        double p;
        const char *why;
    } cases[] = {
        { 0, 0, 1.0, "no value, no evidence" },
        { 0, 1, 1.0, "one value shows nothing" },
        { 6, 0, 0.03125, "the least that six launches can say" },
        { 0, 11, 0.0009765625, "eleven launches" },
        { 1, 10, 0.01171875, "one of eleven on the other side" },
        { 3, 3, 1.0, "the middle is not counted twice" },
        { 9, 2, 0.0654296875, "either side" },
        { 8, 22, 0.016124801710247993, "thirty" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        near(cbx_stat_sign_test_p(cases[i].below, cases[i].above), cases[i].p, cases[i].why);
        near(cbx_stat_sign_test_p(cases[i].above, cases[i].below), cases[i].p, "the sides are alike");
    }
}

TEST(equivalence)
{
    static const double inside[] = { 1, 1.01, 0.99, 1, 1.005, 0.995 }, one_out[] = { 1, 1.01, 0.99, 1, 1.03, 0.995 },
                        on_the_edge[] = { 1, 1, 1, 1, 1, 1.02 }, both[] = { 0.9, 1.1, 1, 1, 1, 1 };
    near(cbx_stat_equivalence_p(inside, 6, 0.98, 1.02), 1.0 / 64, "all inside: 2^-6");
    near(cbx_stat_equivalence_p(one_out, 6, 0.98, 1.02), 7.0 / 64, "one above");
    near(cbx_stat_equivalence_p(on_the_edge, 6, 0.98, 1.02), 7.0 / 64, "the edge is outside");
    near(cbx_stat_equivalence_p(both, 6, 0.98, 1.02), 7.0 / 64, "the worse of two tests, not their sum");
    near(cbx_stat_equivalence_p(inside, 0, 0.98, 1.02), 1.0, "no value");
}

TEST(holm_by_hand)
{
    static const struct {
        size_t m;
        double p[5], adjusted[5];
        const char *why;
    } cases[] = {
        { 1, { 0.03 }, { 0.03 }, "one test needs no correction" },
        { 4,
          { 0.01, 0.04, 0.03, 0.005 },
          { 0.03, 0.06, 0.06, 0.02 },
          "Holm's rule: 4, 3, 2, 1 times, and never falling" },
        { 3, { 0.02, 0.02, 0.02 }, { 0.06, 0.06, 0.06 }, "ties" },
        { 2, { 0.9, 0.8 }, { 1, 1 }, "a probability" },
        { 5, { 0, 1, 0.5, 0.25, 0.001 }, { 0, 1, 1, 0.75, 0.004 }, "from 0 to 1" },
    };
    double got[5];
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_stat_holm(cases[i].p, cases[i].m, got);
        for (size_t k = 0; k < cases[i].m; k++) near(got[k], cases[i].adjusted[k], cases[i].why);
    }
    cbx_stat_holm(got, 0, got + 1); /* an empty table is fine */
}

/* Tables of m fair coins: share of tables with any p at most 0.05. */
static double false_alarms(size_t tables, size_t m, bool corrected)
{
    cbx_rng rng = cbx_rng_make(7, 19);
    size_t alarms = 0;

    for (size_t t = 0; t < tables; t++) {
        double p[20], adjusted[20], min = 1;
        for (size_t i = 0; i < m; i++) {
            size_t above = 0;
            for (int k = 0; k < 11; k++) above += (size_t)cbx_rng_below(&rng, 2);
            p[i] = cbx_stat_sign_test_p(11 - above, above);
        }
        cbx_stat_holm(p, m, adjusted);
        for (size_t i = 0; i < m; i++) min = fmin(min, corrected ? adjusted[i] : p[i]);
        alarms += min <= 0.05;
    }
    return (double)alarms / (double)tables;
}

TEST(a_table_errs_as_often_as_it_says)
{
    CHECK_LE(false_alarms(2000, 20, true), 0.05, "over the whole table");
    CHECK_GT(false_alarms(2000, 20, false), 0.2, "the check sees a table without correction");
}

TESTS(.seconds = 600)
