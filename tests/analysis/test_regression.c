/* A run against a baseline: every outcome, every exit code, nothing that passes because it could
 * not be looked at. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/analysis/regression.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/ctx.h"
#include "calibrax/base/rng.h"
#include "calibrax/base/text.h"
#include "calibrax/statistics/estimate.h"
#include "counted.h"
#include "runs.h"

static cbx_regression *compare(const cbx_run *run, const cbx_run *baseline, const cbx_regression_opts *opts)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_regression *r = NULL;

    CHECK_OK(cbx_regression_create(ctx, run, baseline, opts, &r, &err), &err, "compared");
    return r;
}

/* Both runs from points and definitions, on one machine; frees them, since a result needs
 * neither. */
static cbx_regression *compare_texts(const char *defs, const char *now, const char *base,
                                     const cbx_regression_opts *opts)
{
    cbx_run *a = runs_make(cbx_ctx_allocator(ctx), "m", defs, now),
            *b = runs_make(cbx_ctx_allocator(ctx), "m", defs, base);
    cbx_regression *r = compare(a, b, opts);

    cbx_run_free(a);
    cbx_run_free(b);
    return r;
}

static void check_gate(const cbx_regression *r, int exit_code, const char *why)
{
    cbx_gate g;

    cbx_regression_gate(r, NULL, &g);
    if (g.exit_code != exit_code) fail_msg("%s: exit code %d, not %d: %s", why, g.exit_code, exit_code, g.sentence);
    CHECK(g.sentence[0] && !strchr(g.sentence, '\n'), "one sentence");
}

static void check_one(cbx_regression *r, cbx_outcome outcome, int exit_code, const char *why)
{
    const cbx_finding *f = cbx_regression_finding(r, 0);

    CHECK_INT(cbx_regression_nfindings(r), 1, why);
    CHECK_STR(cbx_outcome_name(f->outcome), cbx_outcome_name(outcome), why);
    CHECK(strstr(f->sentence, f->key) == f->sentence, "the sentence names the key");
    check_gate(r, exit_code, why);
    cbx_regression_free(r);
}

/* One metric of one point, by its value. */
TEST(values, counted_setup, counted_teardown)
{
    static const struct {
        const char *metric, *base, *now;
        cbx_outcome wanted;
        int exit_code;
        const char *why;
    } cases[] = {
        { "ms", "1", "1", CBX_OUTCOME_UNCHANGED, 0, "the same" },
        { "ms", "20", "21", CBX_OUTCOME_UNCHANGED, 0, "exactly the threshold" },
        { "ms", "1", "1.05", CBX_OUTCOME_UNCHANGED, 0, "exactly the threshold, rounded up" },
        { "ms", "0.7", "0.735", CBX_OUTCOME_UNCHANGED, 0, "exactly the threshold, rounded up" },
        { "ms", "1e-300", "1.05e-300", CBX_OUTCOME_UNCHANGED, 0, "at any scale" },
        { "ms", "1e300", "1.05e300", CBX_OUTCOME_UNCHANGED, 0, "at any scale" },
        { "rate", "20", "19", CBX_OUTCOME_UNCHANGED, 0, "exactly the threshold, down" },
        { "ms", "20", "21.00001", CBX_OUTCOME_REGRESSED, 1, "a little more than the threshold" },
        { "ms", "1", "1.0500001", CBX_OUTCOME_REGRESSED, 1, "a little more than the threshold" },
        { "ms", "20", "18.9", CBX_OUTCOME_IMPROVED, 0, "less is better" },
        { "rate", "20", "18.9", CBX_OUTCOME_REGRESSED, 1, "more is better" },
        { "rate", "20", "21.1", CBX_OUTCOME_IMPROVED, 0, "more is better" },
        { "loss", "-20", "-18", CBX_OUTCOME_REGRESSED, 1, "a negative baseline: up is worse all the same" },
        { "loss", "1", "-1", CBX_OUTCOME_IMPROVED, 0, "below 0 and no time" },
        { "ms", "1", "-1", CBX_OUTCOME_TIME_NOW, 1, "a time below 0 is no improvement" },
        { "ms", "-1", "1", CBX_OUTCOME_TIME_BASELINE, 2, "nor a baseline" },
        { "ms", "-1", "-1", CBX_OUTCOME_TIME_NOW, 1, "both: what is wrong now goes first" },
        { "ms", "1", "-0.0", CBX_OUTCOME_TIME_NOW, 1, "a time of 0 is no improvement, nor is one of negative 0" },
        { "ms", "10", "0", CBX_OUTCOME_TIME_NOW, 1, "10 ms to 0 ms" },
        { "ms", "0", "1", CBX_OUTCOME_TIME_BASELINE, 2, "a baseline of 0 ms" },
        { "loss", "1", "-0.0", CBX_OUTCOME_IMPROVED, 0, "negative zero is 0" },
        { "rate", "-20", "-18", CBX_OUTCOME_IMPROVED, 0, "and up is better for the other" },
        { "note", "1", "100", CBX_OUTCOME_INFO, 2, "information never gates, and alone is nothing to compare" },
        { "ms", "1", "NaN", CBX_OUTCOME_NAN_NOW, 1, "not a number now" },
        { "rate", "1", "Infinity", CBX_OUTCOME_NAN_NOW, 1, "an infinite rate is no improvement" },
        { "ms", "NaN", "1", CBX_OUTCOME_NAN_BASELINE, 2, "a baseline that is no number" },
        { "ms", "NaN", "NaN", CBX_OUTCOME_NAN_NOW, 1, "both: what is wrong now goes first" },
        { "loss", "0", "1", CBX_OUTCOME_ZERO_BASELINE, 2, "a zero baseline" },
        { "loss", "0", "0", CBX_OUTCOME_UNCHANGED, 0, "0 and 0 need no quotient" },
        { "other", "1", "1", CBX_OUTCOME_NO_DEFINITION, 2, "a metric without a definition" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        char now[256], base[256];
        snprintf(now, sizeof now, RUNS_POINT("\"%s\":{\"value\":%s}"), cases[i].metric, cases[i].now);
        snprintf(base, sizeof base, RUNS_POINT("\"%s\":{\"value\":%s}"), cases[i].metric, cases[i].base);
        check_one(compare_texts(RUNS_DEFS, now, base, NULL), cases[i].wanted, cases[i].exit_code, cases[i].why);
    }
}

#define MS(value) RUNS_POINT("\"ms\":{\"value\":" value "}")
#define AT(name, scenario, tags, value)                                                                                \
    "{\"name\":\"" name "\",\"scenario\":\"" scenario "\",\"tags\":{" tags "},\"metrics\":{\"ms\":{\"value\":" value   \
    "}}}"

/* What made a gate pass that should not: each has an outcome and no exit code 0. */
TEST(nothing_fails_open, counted_setup, counted_teardown)
{
    static const struct {
        const char *now, *base;
        size_t findings;
        cbx_outcome first, last;
        int exit_code;
        const char *why;
    } cases[] = {
        { "", MS("1"), 1, CBX_OUTCOME_DROPPED, CBX_OUTCOME_DROPPED, 2, "an empty run" },
        { MS("1"), "", 1, CBX_OUTCOME_NEW, CBX_OUTCOME_NEW, 2, "an empty baseline" },
        { "", "", 0, CBX_OUTCOME_NEW, CBX_OUTCOME_NEW, 2, "two empty runs" },
        { AT("q", "s", "", "1"), MS("1"), 2, CBX_OUTCOME_NEW, CBX_OUTCOME_DROPPED, 2, "a renamed point" },
        { AT("p", "s", "\"a\":\"2\"", "1"), AT("p", "s", "\"a\":\"1\"", "1"), 2, CBX_OUTCOME_NEW, CBX_OUTCOME_DROPPED,
          2, "another tag" },
        { MS("1"), MS("1") "," AT("q", "s", "", "1"), 2, CBX_OUTCOME_UNCHANGED, CBX_OUTCOME_DROPPED, 2,
          "a point dropped" },
        { MS("2"), MS("1") "," AT("q", "s", "", "1"), 2, CBX_OUTCOME_REGRESSED, CBX_OUTCOME_DROPPED, 1,
          "a regression goes before a dropped point" },
        { MS("1"), RUNS_POINT("\"ms\":{\"value\":1},\"rate\":{\"value\":1}"), 2, CBX_OUTCOME_UNCHANGED,
          CBX_OUTCOME_DROPPED, 2, "a metric dropped" },
        { RUNS_POINT("\"ms\":{\"value\":1},\"rate\":{\"value\":1}"), MS("1"), 2, CBX_OUTCOME_UNCHANGED, CBX_OUTCOME_NEW,
          0, "a new metric alone harms nothing" },
        { MS("1") "," MS("1"), MS("1"), 1, CBX_OUTCOME_DUPLICATE, CBX_OUTCOME_DUPLICATE, 2, "a key twice now" },
        { MS("1"), MS("9") "," MS("1"), 1, CBX_OUTCOME_DUPLICATE, CBX_OUTCOME_DUPLICATE, 2, "a key twice before" },
        { AT("p", "a", "", "9") "," AT("p", "b", "", "1"), AT("p", "a", "", "1") "," AT("p", "b", "", "1"), 2,
          CBX_OUTCOME_REGRESSED, CBX_OUTCOME_UNCHANGED, 1, "one name in two scenarios: the slow one is seen" },
        { AT("p", "a", "", "9") "," AT("p", "b", "", "1"), AT("p", "b", "", "1") "," AT("p", "a", "", "9"), 2,
          CBX_OUTCOME_UNCHANGED, CBX_OUTCOME_UNCHANGED, 0, "an identical run in another order is unchanged" },
        { AT("p", "s", "\"a\":\"1\",\"b\":\"2\"", "1"), AT("p", "s", "\"b\":\"2\",\"a\":\"1\"", "1"), 1,
          CBX_OUTCOME_UNCHANGED, CBX_OUTCOME_UNCHANGED, 0, "the order of tags does not matter" },
        { AT("p", "s", "\"a\":\"1,b=2\"", "1"), AT("p", "s", "\"a\":\"1\",\"b\":\"2\"", "1"), 2, CBX_OUTCOME_NEW,
          CBX_OUTCOME_DROPPED, 2, "keys that only look alike in print" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_regression *r = compare_texts(RUNS_DEFS, cases[i].now, cases[i].base, NULL);
        size_t n = cbx_regression_nfindings(r);
        CHECK_INT(n, cases[i].findings, cases[i].why);
        if (n) {
            CHECK_STR(cbx_outcome_name(cbx_regression_finding(r, 0)->outcome), cbx_outcome_name(cases[i].first),
                      cases[i].why);
            CHECK_STR(cbx_outcome_name(cbx_regression_finding(r, n - 1)->outcome), cbx_outcome_name(cases[i].last),
                      cases[i].why);
        }
        CHECK(cbx_regression_finding(r, n) == NULL, "past the end");
        check_gate(r, cases[i].exit_code, cases[i].why);
        cbx_regression_free(r);
    }
}

#define DEF(unit, direction) "\"ms\":{\"name\":\"ms\",\"unit\":\"" unit "\",\"direction\":\"" direction "\"}"

TEST(definitions, counted_setup, counted_teardown)
{
    static const struct {
        const char *now, *base, *beside;
        cbx_outcome wanted;
        int exit_code;
        const char *why;
    } cases[] = {
        { DEF("ms", "lower"), DEF("ms", "lower"), "", CBX_OUTCOME_REGRESSED, 1, "both runs'" },
        { DEF("ms", "lower"), "", "", CBX_OUTCOME_NO_DEFINITION_BASELINE, 2, "the run's alone" },
        { "", DEF("ms", "lower"), "", CBX_OUTCOME_NO_DEFINITION_NOW, 2, "the baseline's alone" },
        { DEF("ms", "lower"), "", DEF("ms", "lower"), CBX_OUTCOME_REGRESSED, 1, "the run's, and one beside" },
        { "", DEF("ms", "lower"), DEF("ms", "lower"), CBX_OUTCOME_REGRESSED, 1, "the baseline's, and one beside" },
        { "", "", DEF("ms", "lower"), CBX_OUTCOME_REGRESSED, 1, "given beside" },
        { "", "", "", CBX_OUTCOME_NO_DEFINITION, 2, "undefined: 100 times slower must not pass" },
        { DEF("ms", "lower"), DEF("s", "lower"), "", CBX_OUTCOME_DEFINITIONS_DIFFER, 2, "another unit" },
        { DEF("ms", "higher"), DEF("ms", "lower"), "", CBX_OUTCOME_DEFINITIONS_DIFFER, 2, "another direction" },
        { DEF("ms", "info"), DEF("ms", "lower"), "", CBX_OUTCOME_DEFINITIONS_DIFFER, 2, "info takes no metric out" },
        { DEF("ms", "higher"), "", DEF("ms", "lower"), CBX_OUTCOME_DEFINITIONS_DIFFER, 2,
          "the run's is not the one beside" },
        { DEF("ms", "higher"), DEF("ms", "higher"), DEF("ms", "lower"), CBX_OUTCOME_IMPROVED, 0,
          "those of the runs go before the one beside" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_run *a = runs_make(cbx_ctx_allocator(ctx), "m", cases[i].now, MS("100")),
                *b = runs_make(cbx_ctx_allocator(ctx), "m", cases[i].base, MS("1"));
        cbx_run *d = runs_make(cbx_ctx_allocator(ctx), NULL, cases[i].beside, "");
        cbx_regression_opts o = CBX_REGRESSION_OPTS_INIT;
        o.defs = d;
        check_one(compare(a, b, &o), cases[i].wanted, cases[i].exit_code, cases[i].why);
        cbx_run_free(a);
        cbx_run_free(b);
        cbx_run_free(d);
    }
}

/* Which units are times. */
TEST(durations, counted_setup, counted_teardown)
{
    static const struct {
        const char *def;
        cbx_outcome wanted;
    } cases[] = {
        { DEF("s", "lower"), CBX_OUTCOME_TIME_NOW },         { DEF("ns/op", "lower"), CBX_OUTCOME_TIME_NOW },
        { DEF("\xc2\xb5s", "lower"), CBX_OUTCOME_TIME_NOW }, { DEF("seconds", "lower"), CBX_OUTCOME_TIME_NOW },
        { DEF("", "lower"), CBX_OUTCOME_IMPROVED },          { DEF("/s", "lower"), CBX_OUTCOME_IMPROVED },
        { DEF("sq", "lower"), CBX_OUTCOME_IMPROVED },        { DEF("s", "higher"), CBX_OUTCOME_REGRESSED },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++)
        check_one(compare_texts(cases[i].def, MS("-1"), MS("1"), NULL), cases[i].wanted,
                  cases[i].wanted == CBX_OUTCOME_IMPROVED ? 0 : 1, cases[i].def);
}

TEST(machines, counted_setup, counted_teardown)
{
    static const struct {
        const char *now, *base;
        bool allow;
        cbx_same_machine wanted;
        int exit_code;
        const char *why;
    } cases[] = {
        { "m", "m", false, CBX_MACHINE_SAME, 0, "one machine" },
        { "m", "n", false, CBX_MACHINE_OTHER, 2, "two machines" },
        { "m", "n", true, CBX_MACHINE_OTHER, 0, "two machines, allowed" },
        { NULL, "n", false, CBX_MACHINE_UNKNOWN, 2, "the run does not name" },
        { "m", NULL, false, CBX_MACHINE_UNKNOWN, 2, "the baseline does not name" },
        { NULL, NULL, false, CBX_MACHINE_UNKNOWN, 2, "neither says" },
        { NULL, NULL, true, CBX_MACHINE_UNKNOWN, 0, "neither says, allowed" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_run *a = runs_make(cbx_ctx_allocator(ctx), cases[i].now, RUNS_DEFS, MS("1"));
        cbx_run *b = runs_make(cbx_ctx_allocator(ctx), cases[i].base, RUNS_DEFS, MS("1"));
        cbx_regression_opts o = CBX_REGRESSION_OPTS_INIT;
        cbx_regression *r;
        o.allow_machines = cases[i].allow;
        r = compare(a, b, &o);
        CHECK_INT(cbx_regression_machines(r), cases[i].wanted, cases[i].why);
        CHECK_INT(cbx_regression_label(r)[0] != 0, cases[i].wanted != CBX_MACHINE_SAME, "labelled");
        CHECK_INT(cbx_regression_nfindings(r), cases[i].exit_code ? 0 : 1, cases[i].why);
        check_gate(r, cases[i].exit_code, cases[i].why);
        cbx_regression_free(r);
        cbx_run_free(a);
        cbx_run_free(b);
    }
}

TEST(thresholds, counted_setup, counted_teardown)
{
    static const cbx_regression_rule rules[] = { { "m?", 0.5, NAN }, { "*", 0.001, 3 } };
    static const struct {
        const char *metric, *base, *now;
        double threshold, primary, secondary, minimum;
        size_t nrules;
        cbx_outcome wanted;
        const char *why;
    } cases[] = {
        { "ms", "10", "12", 0.05, NAN, NAN, 2, 0, CBX_OUTCOME_UNCHANGED, "20 %, and no more than the minimum" },
        { "ms", "10", "12.01", 0.05, NAN, NAN, 2, 0, CBX_OUTCOME_REGRESSED, "more than both" },
        { "loss", "0", "2", 0.05, NAN, NAN, 2, 0, CBX_OUTCOME_UNCHANGED, "a zero baseline, by difference" },
        { "loss", "0", "2.01", 0.05, NAN, NAN, 2, 0, CBX_OUTCOME_REGRESSED, "a zero baseline, by difference" },
        { "rate", "0", "2.01", 0.05, NAN, NAN, 2, 0, CBX_OUTCOME_IMPROVED, "a zero baseline, by difference" },
        { "ms", "100", "102", 0.05, 0.01, NAN, 0, 0, CBX_OUTCOME_REGRESSED, "ms is primary" },
        { "rate", "100", "98", 0.05, 0.01, NAN, 0, 0, CBX_OUTCOME_UNCHANGED, "rate is not" },
        { "rate", "100", "98", 0.05, NAN, 0.01, 0, 0, CBX_OUTCOME_REGRESSED, "rate is secondary" },
        { "ms", "100", "149", 0.05, NAN, NAN, 0, 2, CBX_OUTCOME_UNCHANGED, "the first rule that matches" },
        { "ms", "100", "151", 0.05, NAN, NAN, 0, 2, CBX_OUTCOME_REGRESSED, "the first rule that matches" },
        { "rate", "100", "98", 0.05, NAN, NAN, 0, 2, CBX_OUTCOME_UNCHANGED, "the second, its minimum" },
        { "rate", "10000", "9989", 0.05, NAN, NAN, 0, 2, CBX_OUTCOME_REGRESSED, "the second, its threshold" },
        { "ms", "1", "1.0000001", 0, NAN, NAN, 0, 0, CBX_OUTCOME_REGRESSED, "no threshold: any change" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_regression_opts o = CBX_REGRESSION_OPTS_INIT;
        char now[256], base[256];
        cbx_regression *r;
        o.threshold = cases[i].threshold;
        o.primary_threshold = cases[i].primary;
        o.secondary_threshold = cases[i].secondary;
        o.minimum = cases[i].minimum;
        o.rules = rules;
        o.nrules = cases[i].nrules;
        snprintf(now, sizeof now, RUNS_POINT("\"%s\":{\"value\":%s}"), cases[i].metric, cases[i].now);
        snprintf(base, sizeof base, RUNS_POINT("\"%s\":{\"value\":%s}"), cases[i].metric, cases[i].base);
        r = compare_texts(RUNS_DEFS, now, base, &o);
        CHECK_STR(cbx_outcome_name(cbx_regression_finding(r, 0)->outcome), cbx_outcome_name(cases[i].wanted),
                  cases[i].why);
        cbx_regression_free(r);
    }
}

/* n samples, value first + step i. */
static const char *samples(const char *metric, double first, double step, int n)
{
    static char out[4][8192];
    static int turn;
    char *s = out[turn++ % 4];
    int at = snprintf(
        s, 8192, "{\"name\":\"p\",\"scenario\":\"s\",\"tags\":{},\"metrics\":{\"%s\":{\"value\":%.17g,\"samples\":[",
        metric, first + step * (n - 1) / 2);

    for (int i = 0; i < n; i++) at += snprintf(s + at, (size_t)(8192 - at), "%s%.17g", i ? "," : "", first + step * i);
    snprintf(s + at, (size_t)(8192 - at), "]}}}");
    return s;
}

TEST(intervals, counted_setup, counted_teardown)
{
    cbx_regression_opts o = CBX_REGRESSION_OPTS_INIT;

    check_one(compare_texts(RUNS_DEFS, samples("ms", 110, 0.1, 15), samples("ms", 100, 0.1, 15), &o),
              CBX_OUTCOME_REGRESSED, 1, "10 % with no overlap");
    check_one(compare_texts(RUNS_DEFS, samples("rate", 110, 0.1, 15), samples("rate", 100, 0.1, 15), &o),
              CBX_OUTCOME_IMPROVED, 0, "the same upwards");
    check_one(compare_texts(RUNS_DEFS, samples("ms", 100.2, 0.1, 15), samples("ms", 100, 0.1, 15), &o),
              CBX_OUTCOME_EQUIVALENT, 0, "surely within 5 %");
    check_one(compare_texts(RUNS_DEFS, samples("ms", 90, 4, 15), samples("ms", 80, 4, 15), &o), CBX_OUTCOME_UNDECIDED,
              3, "9 %, and far more noise");
    check_one(compare_texts(RUNS_DEFS, samples("ms", 110, 0.1, 6), samples("ms", 100, 0.1, 6), &o),
              CBX_OUTCOME_REGRESSED, 1, "six samples a side are enough for 10 % with no overlap");
    check_one(compare_texts(RUNS_DEFS, samples("ms", 110, 0.1, 3), samples("ms", 100, 0.1, 3), &o),
              CBX_OUTCOME_UNDECIDED, 3, "three are not");
    check_one(compare_texts(RUNS_DEFS, RUNS_POINT("\"ms\":{\"value\":100,\"samples\":[1,1,1,1,1,1,1,1]}"),
                            RUNS_POINT("\"ms\":{\"value\":1,\"samples\":[1,1,1,1,1,1,1,1]}"), &o),
              CBX_OUTCOME_VALUE_NOW, 1, "a value that its samples contradict");
    o.undecided_passes = true;
    check_one(compare_texts(RUNS_DEFS, samples("ms", 90, 4, 15), samples("ms", 80, 4, 15), &o), CBX_OUTCOME_UNDECIDED,
              0, "undecided, and asked to pass");
    o.values_only = true;
    check_one(compare_texts(RUNS_DEFS, samples("ms", 90, 4, 15), samples("ms", 80, 4, 15), &o), CBX_OUTCOME_REGRESSED,
              1, "by values alone");
}

TEST(basis_and_interval, counted_setup, counted_teardown)
{
    cbx_regression *r = compare_texts(RUNS_DEFS, samples("ms", 110, 1, 7), samples("ms", 100, 1, 7), NULL);
    const cbx_finding *f = cbx_regression_finding(r, 0);

    double shift[49];
    size_t below[50] = { 0 }, count = 0, rank = 0;

    /* The shift and its interval by enumeration: all pairs, and all C(14, 7) splits of 14 ranks
     * without ties. */
    for (int i = 0; i < 7; i++)
        for (int k = 0; k < 7; k++) shift[7 * i + k] = (110.0 + i) / (100.0 + k) - 1;
    cbx_stat_sort(shift, 49);
    for (unsigned split = 0; split < 1u << 14; split++) {
        int u = 0, taken = 0;
        if (__builtin_popcount(split) != 7) continue;
        for (int k = 0; k < 14; k++)
            if (split >> k & 1)
                taken++;
            else
                u += taken;
        below[u]++;
    }
    while (2.0 * (double)(count + below[rank]) / 3432 <= 0.05) count += below[rank++];
    CHECK_STR(cbx_basis_name(f->basis), "samples", "7 a side suffice");
    CHECK_LE(fabs(f->interval.level - (1 - 2.0 * (double)count / 3432)), 1e-12, "the level reached");
    CHECK_LE(fabs(f->p - 2.0 / 3432), 1e-12, "7 above 7: two of C(14, 7) splits");
    CHECK_LE(fabs(f->interval.lower - shift[rank - 1]), 1e-12, "lower");
    CHECK_LE(fabs(f->interval.upper - shift[49 - rank]), 1e-12, "upper");
    CHECK_LE(fabs(f->interval.value - shift[24]), 1e-12, "median of all pairs");
    CHECK_STR(f->key, "p@s{}:ms", "how a key is written");
    CHECK_STR(f->unit, "ms", "unit");
    cbx_regression_free(r);

    r = compare_texts(RUNS_DEFS, RUNS_POINT("\"ms\":{\"value\":11,\"lower\":10.5,\"upper\":12}"),
                      RUNS_POINT("\"ms\":{\"value\":10,\"lower\":9.5,\"upper\":10.2}"), NULL);
    f = cbx_regression_finding(r, 0);
    CHECK_STR(cbx_basis_name(f->basis), "bounds", "bounds of both");
    CHECK_STR(cbx_outcome_name(f->outcome), "regressed", "bounds apart");
    CHECK_LE(fabs(f->interval.lower - (10.5 / 10.2 - 1)), 1e-12, "lower over upper");
    CHECK_LE(fabs(f->interval.upper - (12 / 9.5 - 1)), 1e-12, "upper over lower");
    CHECK(isnan(f->p) && f->interval.level == 0, "bounds have no level");
    cbx_regression_free(r);

    check_one(compare_texts(RUNS_DEFS, RUNS_POINT("\"ms\":{\"value\":1,\"samples\":[1,NaN,1]}"), MS("1"), NULL),
              CBX_OUTCOME_NAN_NOW, 1, "a sample that is no number");
    check_one(compare_texts(RUNS_DEFS, RUNS_POINT("\"ms\":{\"value\":1,\"samples\":[1,-1,1]}"), MS("1"), NULL),
              CBX_OUTCOME_TIME_NOW, 1, "a sample below 0");
}

/* Bounds that cannot be are never ignored for the value, whichever side has them. */
TEST(impossible_bounds, counted_setup, counted_teardown)
{
    static const struct {
        const char *bounds;
        cbx_outcome now, base;
    } cases[] = {
        { "\"lower\":9,\"upper\":11", CBX_OUTCOME_UNDECIDED, CBX_OUTCOME_UNDECIDED },
        { "\"lower\":10,\"upper\":10", CBX_OUTCOME_UNCHANGED, CBX_OUTCOME_UNCHANGED },
        { "\"lower\":-Infinity,\"upper\":Infinity", CBX_OUTCOME_UNDECIDED, CBX_OUTCOME_UNDECIDED },
        { "\"lower\":NaN,\"upper\":NaN", CBX_OUTCOME_UNCHANGED, CBX_OUTCOME_UNCHANGED },
        { "\"lower\":-Infinity,\"upper\":NaN", CBX_OUTCOME_BOUNDS_NOW, CBX_OUTCOME_BOUNDS_BASELINE },
        { "\"lower\":NaN,\"upper\":11", CBX_OUTCOME_BOUNDS_NOW, CBX_OUTCOME_BOUNDS_BASELINE },
        { "\"lower\":11,\"upper\":9", CBX_OUTCOME_BOUNDS_NOW, CBX_OUTCOME_BOUNDS_BASELINE },
        { "\"lower\":20,\"upper\":30", CBX_OUTCOME_BOUNDS_NOW, CBX_OUTCOME_BOUNDS_BASELINE },
        { "\"lower\":1,\"upper\":2", CBX_OUTCOME_BOUNDS_NOW, CBX_OUTCOME_BOUNDS_BASELINE },
    };
    cbx_regression_opts values = CBX_REGRESSION_OPTS_INIT;

    values.values_only = true;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        char odd[256];
        const char *plain = cases[i].now == CBX_OUTCOME_UNDECIDED
                                ? RUNS_POINT("\"ms\":{\"value\":10,\"lower\":9,\"upper\":11}")
                                : MS("10");
        snprintf(odd, sizeof odd, RUNS_POINT("\"ms\":{\"value\":10,%s}"), cases[i].bounds);
        check_one(compare_texts(RUNS_DEFS, odd, plain, NULL), cases[i].now,
                  cases[i].now == CBX_OUTCOME_UNDECIDED    ? 3
                  : cases[i].now == CBX_OUTCOME_BOUNDS_NOW ? 1
                                                           : 0,
                  cases[i].bounds);
        check_one(compare_texts(RUNS_DEFS, plain, odd, NULL), cases[i].base,
                  cases[i].base == CBX_OUTCOME_UNDECIDED         ? 3
                  : cases[i].base == CBX_OUTCOME_BOUNDS_BASELINE ? 2
                                                                 : 0,
                  cases[i].bounds);
        check_one(compare_texts(RUNS_DEFS, odd, plain, &values), CBX_OUTCOME_UNCHANGED, 0, "values alone");
    }
}

#define VALUE_OF(value, samples) RUNS_POINT("\"ms\":{\"value\":" value ",\"samples\":[" samples "]}")

/* Samples on both sides are never judged by the values; those of one side do not pass against
 * their median. */
TEST(few_samples, counted_setup, counted_teardown)
{
    static const struct {
        const char *now, *base;
        cbx_outcome wanted;
        int exit_code;
        bool contradicted;
        const char *why;
    } cases[] = {
        { VALUE_OF("1", "1,9,9,9,9"), MS("1"), CBX_OUTCOME_UNDECIDED, 3, true,
          "the value is the best of samples that are far" },
        { VALUE_OF("10", "30,30,30"), MS("10"), CBX_OUTCOME_VALUE_NOW, 1, false, "a value of 10 whose samples are 30" },
        { VALUE_OF("1", "9,9"), VALUE_OF("2", "2,2"), CBX_OUTCOME_VALUE_NOW, 1, false,
          "an improvement that no sample shows" },
        { VALUE_OF("1", "1,1"), VALUE_OF("2", "1,1"), CBX_OUTCOME_VALUE_BASELINE, 2, false,
          "a baseline that its samples contradict" },
        { VALUE_OF("2", "1,1"), VALUE_OF("2", "1,1"), CBX_OUTCOME_VALUE_NOW, 1, false,
          "both: what is wrong now goes first" },
        { VALUE_OF("1", "1,1.1,1.2"), VALUE_OF("1", "1,1.1,1.2"), CBX_OUTCOME_UNDECIDED, 3, false,
          "three samples give no interval" },
        { VALUE_OF("1.02", "1,1.02,1.2"), VALUE_OF("1", "1"), CBX_OUTCOME_UNDECIDED, 3, false, "nor do three and one" },
        { VALUE_OF("0.5", "0.5,0.5"), VALUE_OF("1", "1,1"), CBX_OUTCOME_UNDECIDED, 3, false,
          "nor two, however far apart" },
        { VALUE_OF("9", "9"), VALUE_OF("1", "1"), CBX_OUTCOME_UNDECIDED, 3, false, "nor one" },
        { RUNS_POINT("\"rate\":{\"value\":9,\"samples\":[9,1,1]}"), RUNS_POINT("\"rate\":{\"value\":9}"),
          CBX_OUTCOME_UNDECIDED, 3, true, "more is better: the other way" },
        { RUNS_POINT("\"rate\":{\"value\":9,\"samples\":[9,11,11]}"), RUNS_POINT("\"rate\":{\"value\":9}"),
          CBX_OUTCOME_UNCHANGED, 0, false, "more is better" },
        { VALUE_OF("1", "1,1.07,1.07"), RUNS_POINT("\"ms\":{\"value\":1}"), CBX_OUTCOME_UNDECIDED, 3, true,
          "a median that is worse by 7 %" },
        { RUNS_POINT("\"ms\":{\"value\":1,\"lower\":0.99,\"upper\":1.01,\"samples\":[1,9,9]}"),
          RUNS_POINT("\"ms\":{\"value\":1,\"lower\":0.99,\"upper\":1.01}"), CBX_OUTCOME_UNDECIDED, 3, true,
          "bounds excuse it no more than the value does" },
    };
    cbx_regression_opts values = CBX_REGRESSION_OPTS_INIT;

    values.values_only = true;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_regression *r = compare_texts(RUNS_DEFS, cases[i].now, cases[i].base, NULL);
        const cbx_finding *f = cbx_regression_finding(r, 0);
        CHECK_INT(f->contradicted, cases[i].contradicted, cases[i].why);
        if (f->outcome == CBX_OUTCOME_UNDECIDED) CHECK(strstr(f->sentence, "samples") != NULL, "the reason is named");
        check_one(r, cases[i].wanted, cases[i].exit_code, cases[i].why);
    }
    check_one(compare_texts(RUNS_DEFS, cases[0].now, cases[0].base, &values), CBX_OUTCOME_UNCHANGED, 0, "values alone");
}

#define ROWS 100

/* Holm: a claim that is alone falls among many; a stronger one stays. */
#define SAMPLES(n) "\"samples\":[" n "]"
#define TEN_NOW    "1.01,1.03,1.00,1.02,1.04,0.99,1.01,1.02,1.03,1.00"
#define TEN_THEN   "1.00,1.02,0.99,1.01,1.03,0.98,1.00,1.01,1.02,0.99"

/* What is not decided by the threshold passes if it is within the margin; too few samples do not
 * decide where they are needed. */
TEST(margin_and_samples, counted_setup, counted_teardown)
{
    cbx_regression_opts opts = CBX_REGRESSION_OPTS_INIT;
    const char *now = RUNS_POINT("\"ms\":{\"value\":1.015," SAMPLES(TEN_NOW) "}");
    const char *then = RUNS_POINT("\"ms\":{\"value\":1.005," SAMPLES(TEN_THEN) "}");
    const char *few = RUNS_POINT("\"ms\":{\"value\":2,\"lower\":1.9,\"upper\":2.1," SAMPLES("2,1.9,2.1") "}");

    opts.threshold = 0.02;
    check_one(compare_texts(RUNS_DEFS, now, then, &opts), CBX_OUTCOME_UNDECIDED, 3, "wider than the threshold");
    opts.margin = 0.1;
    check_one(compare_texts(RUNS_DEFS, now, then, &opts), CBX_OUTCOME_EQUIVALENT, 0, "and within the margin");
    opts.margin = 0.021;
    check_one(compare_texts(RUNS_DEFS, now, then, &opts), CBX_OUTCOME_UNDECIDED, 3, "and not within a narrow one");
    opts.margin = 0.001;
    opts.threshold = 0.1;
    check_one(compare_texts(RUNS_DEFS, now, then, &opts), CBX_OUTCOME_EQUIVALENT, 0,
              "a margin below the threshold is the threshold");
    check_one(compare_texts(RUNS_DEFS, few, then, &opts), CBX_OUTCOME_REGRESSED, 1, "three samples far from ten");
    check_one(compare_texts(RUNS_DEFS, RUNS_POINT("\"ms\":{\"value\":2}"), then, &opts), CBX_OUTCOME_REGRESSED, 1,
              "a side without samples is compared by values all the same");
}

TEST(many_rows, counted_setup, counted_teardown)
{
    static char now[1 << 15], base[1 << 15];
    int a = 0, b = 0;
    cbx_gate g;
    cbx_regression *r;

    for (int i = 0; i < ROWS; i++) {
        const char *gap = i ? "," : "", *rest = samples("ms", i == 3 || i == 7 ? 110 : 100, 0.1, i == 7 ? 21 : 7) + 11;
        a += snprintf(now + a, sizeof now - (size_t)a, "%s{\"name\":\"p%d\"%s", gap, i, rest);
        b += snprintf(base + b, sizeof base - (size_t)b, "%s{\"name\":\"p%d\"%s", gap, i,
                      samples("ms", 100, 0.1, i == 7 ? 21 : 7) + 11);
    }
    r = compare_texts(RUNS_DEFS, now, base, NULL);
    CHECK_STR(cbx_outcome_name(cbx_regression_finding(r, 3)->outcome), "undecided",
              "p = 0.0006 a hundredfold is no claim");
    CHECK_STR(cbx_outcome_name(cbx_regression_finding(r, 7)->outcome), "regressed", "a strong one stays");
    CHECK_GT(cbx_regression_finding(r, 3)->p_holm, 0.05, "corrected");
    cbx_regression_gate(r, NULL, &g);
    CHECK_INT(g.counts[CBX_OUTCOME_EQUIVALENT], ROWS - 2, "the others");
    CHECK_INT(g.exit_code, 1, "regressed goes before undecided");
    CHECK(strstr(g.sentence, "1 regressed") != NULL, "the sentence counts");
    {
        bool waived[ROWS] = { [3] = true, [7] = true };
        cbx_regression_gate(r, waived, &g);
        CHECK_INT(g.exit_code, 0, "both waived");
        CHECK_INT(g.waived, 2, "counted");
        waived[7] = false;
        cbx_regression_gate(r, waived, &g);
        CHECK_INT(g.exit_code, 1, "the regression is not waived");
    }
    cbx_regression_free(r);
}

/* Runs of one and the same noise: how often a table of 10 metrics with 15 samples a side claims
 * anything. */
TEST(false_alarms, counted_setup, counted_teardown)
{
    cbx_rng rng = cbx_rng_make(7, 0);
    size_t alarms = 0, tables = 60;

    for (size_t t = 0; t < tables; t++) {
        static char side[2][1 << 15];
        cbx_regression_opts o = CBX_REGRESSION_OPTS_INIT;
        cbx_regression *r;
        cbx_gate g;
        for (int k = 0; k < 2; k++) {
            int at = 0;
            for (int i = 0; i < 10; i++) {
                at += snprintf(side[k] + at, sizeof side[k] - (size_t)at,
                               "%s{\"name\":\"p%d\",\"scenario\":\"s\",\"metrics\":{\"ms\":{\"value\":1,\"samples\":[",
                               i ? "," : "", i);
                for (int j = 0; j < 15; j++)
                    at += snprintf(side[k] + at, sizeof side[k] - (size_t)at, "%s%.9g", j ? "," : "",
                                   exp(0.3 * cbx_rng_normal(&rng)));
                at += snprintf(side[k] + at, sizeof side[k] - (size_t)at, "]}}}");
            }
        }
        o.threshold = 0;
        r = compare_texts(RUNS_DEFS, side[0], side[1], &o);
        cbx_regression_gate(r, NULL, &g);
        alarms += g.counts[CBX_OUTCOME_REGRESSED] + g.counts[CBX_OUTCOME_IMPROVED] > 0;
        cbx_regression_free(r);
    }
    /* at 5 % a table: P(Bin(60, 0.05) > 8) = 0.002 */
    CHECK_LE(alarms, 8, "tables of pure noise that claim a difference");
}

/* A run against a baseline of one metric, n and m log-normal samples of the given variation,
 * medians apart by a factor. */
static cbx_finding simulated(cbx_rng *rng, size_t n, size_t m, double variation, double factor)
{
    double x[2][512];
    cbx_run *run[2];
    cbx_regression *r;
    cbx_finding f;
    cbx_err err = CBX_ERR_INIT;

    for (int side = 0; side < 2; side++) {
        size_t count = side ? m : n;
        cbx_text text;
        double median;
        cbx_text_init(&text, cbx_ctx_allocator(ctx));
        for (size_t i = 0; i < count; i++) x[side][i] = (side ? 1 : factor) * exp(variation * cbx_rng_normal(rng));
        CHECK_OK(cbx_stat_median(ctx, x[side], count, &median, &err), &err, "median");
        cbx_text_printf(&text, "{\"name\":\"p\",\"scenario\":\"s\",\"metrics\":{\"ms\":{\"value\":%.17g,\"samples\":[",
                        median);
        for (size_t i = 0; i < count; i++) cbx_text_printf(&text, "%s%.17g", i ? "," : "", x[side][i]);
        cbx_text_puts(&text, "]}}}");
        run[side] = runs_make(cbx_ctx_allocator(ctx), "m", RUNS_DEFS, cbx_text_str(&text));
        cbx_text_clear(&text);
    }
    r = compare(run[0], run[1], NULL);
    f = *cbx_regression_finding(r, 0);
    CHECK(f.outcome != CBX_OUTCOME_UNDECIDED || strstr(f.sentence, "would decide") != NULL, "how many would decide");
    cbx_regression_free(r);
    cbx_run_free(run[0]);
    cbx_run_free(run[1]);
    return f;
}

static double at_most(double share, size_t n) { return share + 3 * sqrt(share * (1 - share) / (double)n); }

/*
 * How often a check is wrong, and whether the number of samples that it asks for decides.
 * CALIBRAX_LONG_TESTS=1 takes twenty times as many (`make check-study`; figures in
 * docs/reference/statistics.md).
 */
TEST(calibration, counted_setup, counted_teardown)
{
    static const size_t sizes[] = { 4, 5, 7, 10, 20 };
    size_t runs = getenv("CALIBRAX_LONG_TESTS") ? 10000 : 500;
    cbx_rng rng = cbx_rng_make(18, 1);

    for (size_t k = 0; k < CBX_LEN(sizes); k++) {
        size_t alarms = 0, missed = 0, found = 0;
        for (size_t i = 0; i < runs; i++) {
            cbx_finding same = simulated(&rng, sizes[k], sizes[k], 0.1, 1);
            cbx_finding slower = simulated(&rng, sizes[k], sizes[k], 0.1, 1.1);
            alarms += same.outcome == CBX_OUTCOME_REGRESSED;
            missed += slower.outcome == CBX_OUTCOME_EQUIVALENT || slower.outcome == CBX_OUTCOME_IMPROVED;
            found += slower.outcome == CBX_OUTCOME_REGRESSED;
        }
        print_message(
            "# %zu samples a side, 10 %% variation: false alarms %.2f %%, +10 %% passes %.2f %%, is found %.1f %%\n",
            sizes[k], 100 * (double)alarms / (double)runs, 100 * (double)missed / (double)runs,
            100 * (double)found / (double)runs);
        CHECK_LE((double)alarms / (double)runs, at_most(0.025, runs), "false alarms");
        CHECK_LE((double)missed / (double)runs, at_most(0.025, runs), "a regression of 10 % passes");
    }
}

/* A pilot of 10 samples a side asks for n; with n samples a fresh comparison decides in most
 * cases. */
TEST(asked_samples, counted_setup, counted_teardown)
{
    static const struct {
        double variation, factor;
        const char *why;
    } cases[] = { { 0.03, 1, "no change" }, { 0.06, 1, "no change, more noise" }, { 0.08, 1.1, "10 % slower" } };
    size_t runs = getenv("CALIBRAX_LONG_TESTS") ? 4000 : 200;
    cbx_rng rng = cbx_rng_make(18, 2);

    for (size_t k = 0; k < CBX_LEN(cases); k++) {
        size_t decided = 0, asked = 0, sum = 0;
        for (size_t i = 0; i < runs; i++) {
            cbx_finding pilot = simulated(&rng, 10, 10, cases[k].variation, cases[k].factor), again;
            if (pilot.outcome != CBX_OUTCOME_UNDECIDED || pilot.samples > 500) continue;
            CHECK_GT(pilot.samples, 3, cases[k].why);
            again = simulated(&rng, pilot.samples, pilot.samples, cases[k].variation, cases[k].factor);
            decided += again.outcome != CBX_OUTCOME_UNDECIDED;
            sum += pilot.samples;
            asked++;
        }
        print_message("# %s, variation %g %%: %zu of %zu pilots undecided, mean of samples asked for %.0f, which "
                      "decide %.1f %%\n",
                      cases[k].why, 100 * cases[k].variation, asked, runs, (double)sum / (double)asked,
                      100 * (double)decided / (double)asked);
        CHECK_GT((double)decided / (double)asked, 0.7, cases[k].why);
    }
}

TEST(options, counted_setup, counted_teardown)
{
    static const cbx_regression_rule nameless = { NULL, 0.1, NAN }, negative = { "*", -1, NAN };
    cbx_run *a = runs_make(cbx_ctx_allocator(ctx), "m", RUNS_DEFS, MS("1"));
    cbx_regression_opts good = CBX_REGRESSION_OPTS_INIT, bad[8];
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; i < CBX_LEN(bad); i++) bad[i] = good;
    bad[0].struct_size = 3;
    bad[1].threshold = NAN;
    bad[2].level = 1;
    bad[3].minimum = -1;
    bad[4].primary_threshold = -0.1;
    bad[5].rules = &nameless, bad[5].nrules = 1;
    bad[6].rules = &negative, bad[6].nrules = 1;
    bad[7].level = NAN;
    for (size_t i = 0; i < CBX_LEN(bad); i++) {
        cbx_regression *r = NULL;
        CHECK_STATUS(cbx_regression_create(ctx, a, a, &bad[i], &r, &err), CBX_EINVAL, "a bad option");
        CHECK(r == NULL, "nothing comes of it");
    }
    cbx_run_free(a);
}

TEST(names)
{
    CHECK_STR(cbx_outcome_name(CBX_OUTCOME_DEFINITIONS_DIFFER), "definitions-differ", "name");
    CHECK_STR(cbx_outcome_name(CBX_OUTCOME_COUNT), "?", "no outcome");
    CHECK_STR(cbx_basis_name((cbx_basis)9), "?", "no basis");
}

/* Each key finds its own among many; its cost is printed. */
TEST(many_keys, counted_setup, counted_teardown)
{
    static char text[1 << 16];
    cbx_regression_opts o = CBX_REGRESSION_OPTS_INIT;
    double best = INFINITY;
    int at = 0;
    cbx_gate g;
    cbx_run *a;

    for (int i = 0; i < 500; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "%s{\"name\":\"p%d\",\"scenario\":\"s\",\"metrics\":{\"ms\":{\"value\":%d}}}", i ? "," : "", i,
                       i + 1);
    a = runs_make(cbx_ctx_allocator(ctx), "m", RUNS_DEFS, text);
    o.allow_same = true;
    for (int k = 0; k < 5; k++) {
        uint64_t t0 = cbx_clock_ns();
        cbx_regression *r = compare(a, a, &o);
        best = fmin(best, (double)(cbx_clock_ns() - t0) * 1e-6);
        cbx_regression_gate(r, NULL, &g);
        CHECK_INT(g.counts[CBX_OUTCOME_UNCHANGED], 500, "each met itself");
        cbx_regression_free(r);
    }
    print_message("# 500 keys: %.2f ms\n", best);
    cbx_run_free(a);
}

static cbx_status one_comparison(cbx_ctx *c, void *user)
{
    static const cbx_regression_rule idle = { "no such metric", 0.1, NAN };
    cbx_run **runs = user;
    cbx_err err = CBX_ERR_INIT;
    cbx_regression *r = NULL;
    cbx_regression_opts o = CBX_REGRESSION_OPTS_INIT;
    cbx_status st;

    o.allow_machines = o.allow_same = true;
    o.rules = &idle;
    o.nrules = 1;
    st = cbx_regression_create(c, runs[0], runs[1], &o, &r, &err);
    cbx_regression_free(r);
    return st;
}

TEST(out_of_memory, counted_setup, counted_teardown)
{
    cbx_run *runs[2] = { runs_make(cbx_ctx_allocator(ctx), "m", RUNS_DEFS, samples("ms", 110, 0.1, 7)),
                         runs_make(cbx_ctx_allocator(ctx), "n", RUNS_DEFS, AT("q", "s", "\"a\":\"b\"", "1")) };

    cbx_run *same[2] = { runs[0], runs[0] };
    CHECK_GT(cbx_test_fail_each(one_comparison, runs, "cbx_regression_create"), 3, "allocations failed");
    CHECK_GT(cbx_test_fail_each(one_comparison, same, "cbx_regression_create"), 3, "allocations failed");
    cbx_run_free(runs[0]);
    cbx_run_free(runs[1]);
}

TESTS()
