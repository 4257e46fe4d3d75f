/* Targets: each outcome with its exit code; nothing passes because it could not be looked at. */
#include "check.h"

#include <math.h>

#include "calibrax/perf/case/targets.h"

static const cbx_metric_def higher = { "m", "1", CBX_DIRECTION_HIGHER, "", CBX_PRIORITY_PRIMARY, "" };
static const cbx_metric_def lower = { "m", "s", CBX_DIRECTION_LOWER, "", CBX_PRIORITY_PRIMARY, "" };
static const cbx_metric_def info = { "m", "s", CBX_DIRECTION_INFO, "", CBX_PRIORITY_PRIMARY, "" };
static const double with_nan[] = { 1.0, NAN, 3.0 };

TEST(outcomes)
{
    static const struct {
        const cbx_metric_def *def;
        cbx_metric value;
        double target;
        cbx_target_outcome outcome;
        int exit_code;
        const char *why;
    } cases[] = {
        { &higher, { 0.9, NAN, NAN, NULL, 0 }, 0.8, CBX_TARGET_MET, 0, "above" },
        { &higher, { 0.8, NAN, NAN, NULL, 0 }, 0.8, CBX_TARGET_MET, 0, "the target itself" },
        { &higher, { 0.7, NAN, NAN, NULL, 0 }, 0.8, CBX_TARGET_MISSED, 1, "below" },
        { &lower, { 0.7, NAN, NAN, NULL, 0 }, 0.8, CBX_TARGET_MET, 0, "below" },
        { &lower, { 0.9, NAN, NAN, NULL, 0 }, 0.8, CBX_TARGET_MISSED, 1, "above" },
        { &higher, { 0.9, 0.85, 0.95, NULL, 0 }, 0.8, CBX_TARGET_MET, 0, "all of the interval" },
        { &higher, { 0.9, 0.75, 0.95, NULL, 0 }, 0.8, CBX_TARGET_UNDECIDED, 3, "the interval holds it" },
        { &higher, { 0.7, 0.65, 0.75, NULL, 0 }, 0.8, CBX_TARGET_MISSED, 1, "none of the interval" },
        { &higher, { NAN, NAN, NAN, NULL, 0 }, 0.8, CBX_TARGET_NOT_A_NUMBER, 1, "NaN" },
        { &lower, { NAN, NAN, NAN, NULL, 0 }, 0.8, CBX_TARGET_NOT_A_NUMBER, 1, "NaN the other way" },
        { &higher, { INFINITY, NAN, NAN, NULL, 0 }, 0.8, CBX_TARGET_NOT_A_NUMBER, 1, "infinite" },
        { &lower, { 0.1, NAN, NAN, NULL, 0 }, NAN, CBX_TARGET_NOT_A_NUMBER, 1, "a target that is none" },
        { &lower, { 0.1, NAN, NAN, with_nan, 3 }, 0.8, CBX_TARGET_NOT_A_NUMBER, 1, "a sample that is none" },
        { &info, { 0.1, NAN, NAN, NULL, 0 }, 0.8, CBX_TARGET_NO_DIRECTION, 2, "info has no direction" },
        { NULL, { 0.1, NAN, NAN, NULL, 0 }, 0.8, CBX_TARGET_NO_DIRECTION, 2, "nobody defines it" },
    };
    cbx_target_check t;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        t = cbx_target_judge(&cases[i].value, cases[i].def, cases[i].target);
        CHECK_STR(cbx_target_outcome_name(t.outcome), cbx_target_outcome_name(cases[i].outcome), cases[i].why);
        CHECK_INT(cbx_targets_exit_code(&t, 1), cases[i].exit_code, cases[i].why);
    }
    t = cbx_target_judge(NULL, &higher, 1);
    CHECK_INT(t.outcome, CBX_TARGET_MISSING, "no such metric");
    CHECK_INT(cbx_target_exit_code(t.outcome), 2, "no data");
    for (int o = CBX_TARGET_MET + 1; o < CBX_TARGET_COUNT; o++)
        CHECK_GT(cbx_target_exit_code((cbx_target_outcome)o), 0, "only what is met passes");
    CHECK_INT(cbx_target_exit_code((cbx_target_outcome)99), 2, "outside the list");
}

TEST(several)
{
    static const struct {
        cbx_target_outcome all[3];
        int exit_code;
    } cases[] = {
        { { CBX_TARGET_MET, CBX_TARGET_MET, CBX_TARGET_MET }, 0 },
        { { CBX_TARGET_MET, CBX_TARGET_UNDECIDED, CBX_TARGET_MET }, 3 },
        { { CBX_TARGET_MISSING, CBX_TARGET_UNDECIDED, CBX_TARGET_MET }, 2 },
        { { CBX_TARGET_MISSED, CBX_TARGET_UNDECIDED, CBX_TARGET_MISSING }, 1 },
    };

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_target_check t[3] = { { .outcome = cases[i].all[0] },
                                  { .outcome = cases[i].all[1] },
                                  { .outcome = cases[i].all[2] } };
        CHECK_INT(cbx_targets_exit_code(t, 3), cases[i].exit_code, "of the table");
    }
    CHECK_INT(cbx_targets_exit_code(NULL, 0), 0, "nothing to reach");
}

TEST(sentences)
{
    static const struct {
        cbx_target_outcome outcome;
        const char *text;
    } cases[] = {
        { CBX_TARGET_MISSED, "'sum': 'm' is 3.5 s, at most 2 s is the target: missed" },
        { CBX_TARGET_UNDECIDED, "'sum': the interval of 'm', 1 to 4 s, holds the target 2: more launches are needed" },
        { CBX_TARGET_MISSING, "'sum': no metric 'm', for which there is a target" },
        { CBX_TARGET_NO_DIRECTION, "'sum': 'm' has a target and no direction: define it as higher or lower" },
        { CBX_TARGET_INCOMPLETE, "'sum': a launch failed, so the target of 'm' is not met" },
        { CBX_TARGET_NOT_A_NUMBER, "'sum': 'm' or its target is not a number" },
    };
    const cbx_metric value = { 3.5, 1, 4, NULL, 0 };
    cbx_target_check t = cbx_target_judge(&value, &lower, 2);
    cbx_json *o;
    char text[256];

    t.benchmark = "sum";
    t.metric = "m";
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        t.outcome = cases[i].outcome;
        CHECK_STR(cbx_target_sentence(&t, text, sizeof text), cases[i].text, cases[i].text);
    }
    t.value.lower = NAN;
    t.outcome = CBX_TARGET_UNDECIDED;
    CHECK(!strstr(cbx_target_sentence(&t, text, sizeof text), "nan"), text);
    t.value.lower = 1;
    t.outcome = CBX_TARGET_NOT_A_NUMBER;
    o = cbx_target_json(&t);
    CHECK_STR(cbx_json_get_string(o, "outcome", ""), "not-a-number", "JSON");
    CHECK(cbx_json_get_double(o, "upper", 0) == 4 && cbx_json_get_double(o, "margin", 0) == -1.5, "its numbers");
    cbx_json_unref(o);
}

TESTS(.seconds = 600)
