/* What an interval of a ratio says. */
#include "check.h"

#include <math.h>

#include "calibrax/analysis/verdict.h"

TEST(verdicts)
{
    static const struct {
        double lower, upper, level, margin;
        cbx_verdict wanted;
        const char *why;
    } cases[] = {
        { 0.50, 0.60, 0.95, 0.02, CBX_VERDICT_FASTER, "wholly below the margin" },
        { 1.10, 1.20, 0.95, 0.02, CBX_VERDICT_SLOWER, "wholly above it" },
        { 0.99, 1.01, 0.95, 0.02, CBX_VERDICT_EQUIVALENT, "within it, around 1" },
        { 0.985, 0.995, 0.95, 0.02, CBX_VERDICT_EQUIVALENT, "within it, below 1" },
        { 1.005, 1.015, 0.95, 0.02, CBX_VERDICT_EQUIVALENT, "within it, above 1" },
        { 1 / 1.02, 1.02, 0.95, 0.02, CBX_VERDICT_EQUIVALENT, "the margin itself belongs to it" },
        { 0.9803, 1.0, 0.95, 0.02, CBX_VERDICT_UNDECIDED, "below 1/1.02 = 0.98039, though not below 1 - 0.02" },
        { 0.95, 0.999, 0.95, 0.02, CBX_VERDICT_FASTER, "reaches into the margin from below, and stays below 1" },
        { 1.001, 1.05, 0.95, 0.02, CBX_VERDICT_SLOWER, "reaches into it from above" },
        { 0.90, 1.01, 0.95, 0.02, CBX_VERDICT_UNDECIDED, "holds 1 and leaves the margin below" },
        { 0.99, 1.10, 0.95, 0.02, CBX_VERDICT_UNDECIDED, "and above" },
        { 0.90, 1.00, 0.95, 0.02, CBX_VERDICT_UNDECIDED, "1 itself is no difference" },
        { 1.00, 1.10, 0.95, 0.02, CBX_VERDICT_UNDECIDED, "1 itself is no difference" },
        { 0.50, 0.60, 0, 0.02, CBX_VERDICT_UNDECIDED, "no level, no verdict" },
        { -INFINITY, INFINITY, 0, 0.02, CBX_VERDICT_UNDECIDED, "too few samples" },
        { NAN, 0.6, 0.95, 0.02, CBX_VERDICT_UNDECIDED, "no lower end" },
        { 0.5, NAN, 0.95, 0.02, CBX_VERDICT_UNDECIDED, "no upper end" },
        { 0.5, 0.6, NAN, 0.02, CBX_VERDICT_UNDECIDED, "no number for a level" },
        { 1, 1, 0.95, 0, CBX_VERDICT_EQUIVALENT, "exactly 1, no margin" },
        { 0.999, 1.001, 0.95, 0, CBX_VERDICT_UNDECIDED, "no margin, no equivalence" },
        { 0.999, 1.001, 0.95, -1, CBX_VERDICT_UNDECIDED, "a negative margin is invalid" },
        { 0.4, 2.5, 0.95, 1.5, CBX_VERDICT_EQUIVALENT, "a wide margin is 1/2.5 .. 2.5" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_interval iv = { 1, cases[i].lower, cases[i].upper, cases[i].level };
        CHECK_STR(cbx_verdict_name(cbx_verdict_of_ratio(&iv, cases[i].margin)), cbx_verdict_name(cases[i].wanted),
                  cases[i].why);
    }
}

/* Swapping candidate and reference inverts the ratio: faster and slower change places, the
 * others stay. */
TEST(verdicts_are_symmetric)
{
    static const cbx_verdict other[] = { CBX_VERDICT_UNDECIDED, CBX_VERDICT_SLOWER, CBX_VERDICT_FASTER,
                                         CBX_VERDICT_EQUIVALENT };
    for (double lower = 0.9; lower < 1.1; lower += 0.0071)
        for (double upper = lower; upper < 1.12; upper += 0.0053) {
            cbx_interval iv = { 1, lower, upper, 0.95 }, inverse = { 1, 1 / upper, 1 / lower, 0.95 };
            CHECK_INT(cbx_verdict_of_ratio(&inverse, 0.02), other[cbx_verdict_of_ratio(&iv, 0.02)], "inverse");
        }
}

/* Changes counted so that positive is worse; 5 %. */
TEST(changes)
{
    static const struct {
        double value, lower, upper;
        cbx_verdict wanted;
        const char *why;
    } cases[] = {
        { 0.01, 0.01, 0.01, CBX_VERDICT_EQUIVALENT, "a value within" },
        { 1.05 - 1, 1.05 - 1, 1.05 - 1, CBX_VERDICT_EQUIVALENT, "the threshold itself, rounded up" },
        { 0.735 / 0.7 - 1, 0.735 / 0.7 - 1, 0.735 / 0.7 - 1, CBX_VERDICT_EQUIVALENT,
          "the threshold itself, rounded up" },
        { 0.0500001, 0.0500001, 0.0500001, CBX_VERDICT_SLOWER, "a value beyond" },
        { -0.0500001, -0.0500001, -0.0500001, CBX_VERDICT_FASTER, "a value beyond, below" },
        { 0.10, 0.01, 0.20, CBX_VERDICT_SLOWER, "surely worse, likely beyond" },
        { -0.10, -0.20, -0.01, CBX_VERDICT_FASTER, "surely better, likely beyond" },
        { 0.04, 0.01, 0.08, CBX_VERDICT_UNDECIDED, "surely worse, maybe beyond" },
        { 0.10, -0.01, 0.20, CBX_VERDICT_UNDECIDED, "likely beyond, not surely worse" },
        { 0.00, -0.05, 0.05, CBX_VERDICT_EQUIVALENT, "the whole margin" },
        { 0.00, -0.06, 0.04, CBX_VERDICT_UNDECIDED, "out of it below" },
        { 0.10, 0.20, 0.01, CBX_VERDICT_UNDECIDED, "ends in the wrong order" },
        { NAN, NAN, NAN, CBX_VERDICT_UNDECIDED, "not a number" },
        { INFINITY, 1, INFINITY, CBX_VERDICT_SLOWER, "no upper end" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_interval iv = { cases[i].value, cases[i].lower, cases[i].upper, 0 };
        CHECK_STR(cbx_verdict_name(cbx_verdict_of_change(&iv, 0.05)), cbx_verdict_name(cases[i].wanted), cases[i].why);
    }
    CHECK_INT(cbx_verdict_of_change(&(cbx_interval){ 0.5, 0.4, 0.6, 0.95 }, NAN), CBX_VERDICT_UNDECIDED,
              "no threshold");
    CHECK_INT(cbx_verdict_of_ratio(&(cbx_interval){ 1.5, 1.4, 1.6, 0.95 }, NAN), CBX_VERDICT_UNDECIDED, "no margin");
    CHECK(!cbx_verdict_exceeds(NAN, 0), "not a number is no change");
    CHECK(!cbx_verdict_exceeds(0, 0), "no change");
    CHECK(cbx_verdict_exceeds(-1e-9, 0), "any change");
}

TEST(names)
{
    CHECK_STR(cbx_verdict_name(CBX_VERDICT_UNDECIDED), "undecided", "name");
    CHECK_STR(cbx_verdict_name(CBX_VERDICT_FASTER), "faster", "name");
    CHECK_STR(cbx_verdict_name(CBX_VERDICT_SLOWER), "slower", "name");
    CHECK_STR(cbx_verdict_name(CBX_VERDICT_EQUIVALENT), "equivalent", "name");
    CHECK_STR(cbx_verdict_name((cbx_verdict)4), "?", "no verdict");
}

TESTS()
