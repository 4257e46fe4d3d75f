/* A gate must not pass because it could not look: every way that is known, with the outcome or
 * reason that names it and the exit code. */
#include "check.h"

#include <math.h>

#include "calibrax/base/clock.h"
#include "calibrax/ci/guard.h"
#include "counted.h"
#include "runs.h"

#define MS(x)         "{\"name\":\"p\",\"scenario\":\"s\",\"metrics\":{\"ms\":{\"value\":" x "}}}"
#define RATE(x)       "{\"name\":\"p\",\"scenario\":\"s\",\"metrics\":{\"rate\":{\"value\":" x "}}}"
#define OF(name, x)   "{\"name\":\"" name "\",\"scenario\":\"s\",\"metrics\":{\"ms\":{\"value\":" x "}}}"
#define ONE_OF(m, x)  "{\"name\":\"p\",\"scenario\":\"s\",\"metrics\":{\"" m "\":{\"value\":" x "}}}"
#define WITH(x, rest) "{\"name\":\"p\",\"scenario\":\"s\",\"metrics\":{\"ms\":{\"value\":" x "," rest "}}}"
#define NINE(x)       x "," x "," x "," x "," x "," x "," x "," x "," x
#define SAMPLES(list) "\"samples\":[" list "]"
#define RISING        "1.001,1.002,1.003,1.004,1.005,1.006,1.007,1.008,1.009"
#define DEF(name, unit, direction, priority)                                                                           \
    "\"" name "\":{\"name\":\"" name "\",\"unit\":\"" unit "\",\"direction\":\"" direction                             \
    "\",\"priority\":\"" priority "\"}"
#define LOWER_MS DEF("ms", "ms", "lower", "primary")

static cbx_err err;

/* One run against another; what is left out has the values of an ordinary comparison. */
typedef struct stand {
    const char *now, *base; /* points */
    const char *outcome;    /* of the first finding; NULL: no finding */
    const char *reason;     /* of the whole; "": the findings ask for the code */
    int exit_code;
    const char *why;
    const char *defs_now, *defs_base, *defs_beside; /* NULL: ms, rate and note; none beside */
    const char *machine_now, *machine_base;         /* NULL: "m"; "-": not told */
    const char *waiver;                             /* key of the one; NULL: none */
    double minimum;
    double secondary; /* threshold of secondary metrics; 0: as usual */
    bool allow_dropped;
} stand;

static const stand holds[] = {
    { MS("1"), MS("1"), "unchanged", "", 0, "what a pass looks like" },
    { MS("1.2"), MS("1"), "regressed", "", 1, "what a failure looks like" },

    /* not a number */
    { MS("NaN"), MS("1"), "not-a-number", "", 1, "NaN now" },
    { MS("-Infinity"), MS("1"), "not-a-number", "", 1, "an infinite improvement is no improvement" },
    { MS("1"), MS("NaN"), "baseline-not-a-number", "", 2, "NaN in the baseline" },
    { MS("NaN") "," OF("q", "1"), OF("q", "1"), "not-a-number", "", 1, "a new metric that is no number" },
    { WITH("1", SAMPLES("1,1,NaN")), MS("1"), "not-a-number", "", 1, "a sample is NaN" },
    { WITH("1", "\"lower\":-Infinity,\"upper\":Infinity"), WITH("1", "\"lower\":0.9,\"upper\":1.1"), "undecided", "", 3,
      "bounds of a value about which nothing is known" },
    { WITH("1", "\"lower\":0.9,\"upper\":1.1"), WITH("1", "\"lower\":0.9,\"upper\":Infinity"), "undecided", "", 3,
      "and in the baseline" },

    /* zero and negative baselines, and next to zero */
    { RATE("1"), RATE("0"), "zero-baseline", "", 2, "nothing to divide by" },
    { RATE("1"), RATE("-0.0"), "zero-baseline", "", 2, "nor a negative zero" },
    { MS("-18"), MS("-20"), "impossible-time", "", 1, "times below 0" },
    { MS("-1"), MS("1"), "impossible-time", "", 1, "are no improvement" },
    { MS("0"), MS("10"), "impossible-time", "", 1, "nor are times of 0" },
    { MS("10"), MS("0"), "baseline-impossible-time", "", 2, "nor a baseline of 0" },
    { RATE("-22"), RATE("-20"), "regressed", "", 1, "and down for the other" },
    { MS("5"), MS("1e-310"), "regressed", "", 1, "next to zero" },
    { MS("5"), MS("1e-310"), "regressed", "", 1, "next to zero, with a minimum that no quotient holds", .minimum = 1 },

    /* samples against values */
    { WITH("100", SAMPLES(NINE("0.5"))), WITH("1", SAMPLES(RISING)), "value-outside-samples", "", 1,
      "samples that improved do not excuse a value that is worse" },
    { WITH("100", SAMPLES(NINE("1"))), WITH("1", SAMPLES(NINE("1"))), "value-outside-samples", "", 1,
      "nor do equal ones" },
    { WITH("1", SAMPLES(NINE("1"))), WITH("2", SAMPLES(NINE("1"))), "baseline-value-outside-samples", "", 2,
      "or in the baseline" },
    { WITH("1.1", SAMPLES("1.1,1.1,1.1")), WITH("1", SAMPLES("1,1,1")), "undecided", "", 3,
      "samples that are too few" },

    /* what is missing */
    { "", MS("1"), "dropped", "empty-run", 2, "a run of nothing" },
    { "{\"name\":\"p\",\"scenario\":\"s\",\"metrics\":{}}", MS("1"), "dropped", "empty-run", 2,
      "a point whose launches all failed has no metrics" },
    { "", MS("1"), "dropped", "empty-run", 2, "a run of nothing, with dropped keys allowed", .allow_dropped = true },
    { MS("1"), "", "new", "empty-baseline", 2, "a baseline of nothing" },
    { OF("q", "1"), MS("1"), "new", "no-overlap", 2, "a renamed point" },
    { OF("q", "1"), MS("1"), "new", "no-overlap", 2, "a renamed point, with dropped keys allowed",
      .allow_dropped = true },
    { MS("1"), MS("1") "," OF("q", "1"), "unchanged", "", 2, "a point is missing" },
    { "{\"name\":\"p\",\"scenario\":\"t\",\"metrics\":{\"ms\":{\"value\":1}}}", MS("1"), "new", "no-overlap", 2,
      "another scenario" },
    { "{\"name\":\"p\",\"scenario\":\"s\",\"tags\":{\"k\":\"2\"},\"metrics\":{\"ms\":{\"value\":1}}}", MS("1"), "new",
      "no-overlap", 2, "another tag" },
    { ONE_OF("note", "1"), ONE_OF("note", "1"), "info", "no-overlap", 2, "information alone" },

    /* duplicates */
    { MS("9") "," MS("1"), MS("1"), "duplicate-key", "", 2, "a key twice" },
    { MS("1"), MS("1") "," MS("1"), "duplicate-key", "", 2, "twice in the baseline, equal" },

    /* definitions */
    { ONE_OF("x", "100"), ONE_OF("x", "1"), "no-definition", "", 2, "in no run" },
    { MS("1"), MS("1"), "no-definition-now", "", 2, "the baseline's alone", .defs_now = "" },
    { MS("1"), MS("1"), "no-definition-baseline", "", 2, "the run's alone", .defs_base = "" },
    { MS("1"), MS("1"), "unchanged", "", 0, "the run's comes from beside", .defs_now = "", .defs_beside = LOWER_MS },
    { MS("1"), MS("1"), "definitions-differ", "", 2, "the one beside is of another unit", .defs_now = "",
      .defs_beside = DEF("ms", "s", "lower", "primary") },
    { MS("1"), MS("1"), "definitions-differ", "", 2, "another unit", .defs_now = DEF("ms", "s", "lower", "primary") },
    { MS("9"), MS("1"), "definitions-differ", "", 2, "another direction",
      .defs_now = DEF("ms", "ms", "higher", "primary") },
    { MS("9"), MS("1"), "definitions-differ", "", 2, "information now",
      .defs_now = DEF("ms", "ms", "info", "primary") },
    { MS("9"), MS("1"), "no-definition-baseline", "", 2, "information now, and nothing before",
      .defs_now = DEF("ms", "ms", "info", "primary"), .defs_base = "" },
    { OF("q", "1"), MS("1") "," OF("q", "1"), "unchanged", "", 2, "left out, and called information beside",
      .defs_base = LOWER_MS, .defs_beside = DEF("ms", "ms", "info", "primary") },
    { MS("1.2"), MS("1"), "regressed", "", 1, "a metric that calls itself secondary is held to the bar of before",
      .defs_now = DEF("ms", "ms", "lower", "secondary"), .secondary = 0.5 },

    /* machines, and the run itself */
    { MS("1"), MS("1"), NULL, "other-machine", 2, "another machine", .machine_now = "n" },
    { MS("1"), MS("1"), NULL, "unknown-machine", 2, "no machine", .machine_now = "-" },
    { MS("1"), MS("1"), NULL, "unknown-machine", 2, "an empty name is no machine, on both sides too", .machine_now = "",
      .machine_base = "" },

    /* waivers */
    { MS("2"), MS("1"), "regressed", "", 0, "a waiver that names its metric", .waiver = "*:ms" },
    { MS("2"), MS("1"), "regressed", "", 1, "one that names another", .waiver = "*:rate" },
    { MS("1"), MS("0"), "baseline-impossible-time", "all-waived", 2, "all that cannot be compared is waived",
      .waiver = "*:ms" },
    { MS("NaN"), MS("1"), "not-a-number", "all-waived", 2, "and what is no number", .waiver = "*:ms" },
    { OF("q", "1"), MS("1"), "new", "no-overlap", 2, "no waiver brings keys together", .waiver = "p@*" },
};

static cbx_run *run_of(const char *machine, const char *defs, const char *points)
{
    const char *name = !machine ? "m" : strcmp(machine, "-") ? machine : NULL;
    return runs_make(cbx_ctx_allocator(ctx), name, defs ? defs : RUNS_DEFS, points);
}

static cbx_waivers *waiver_of(const char *key)
{
    char text[256];
    cbx_waivers *w = NULL;
    int n = snprintf(text, sizeof text,
                     "{\"schema\":\"calibrax-waivers\",\"schema_version\":1,\"waivers\":"
                     "[{\"key\":\"%s\",\"reason\":\"known\",\"until\":\"2026-12-31\"}]}",
                     key);

    CHECK_OK(cbx_waivers_from_text(ctx, text, (size_t)n, "w", &w, &err), &err, key);
    return w;
}

static void check_stand(const stand *s, const cbx_regression *r, const cbx_waivers *w)
{
    const cbx_finding *f = cbx_regression_finding(r, 0);
    cbx_guard *guard = NULL;
    const cbx_gate *g;
    int64_t now = 0;

    CHECK_OK(cbx_time_parse_iso("2026-01-01T00:00:00Z", &now, &err), &err, "now");
    CHECK_OK(cbx_guard_create(ctx, r, w, now, &guard, &err), &err, s->why);
    g = cbx_guard_gate(guard);
    if (g->exit_code != s->exit_code || strcmp(cbx_gate_reason_name(g->reason), s->reason))
        fail_msg("%s: exit code %d, reason '%s', not %d, '%s': %s", s->why, g->exit_code,
                 cbx_gate_reason_name(g->reason), s->exit_code, s->reason, g->sentence);
    CHECK(g->sentence[0], "and a sentence");
    CHECK_INT(f != NULL, s->outcome != NULL, s->why);
    if (f) CHECK_STR(cbx_outcome_name(f->outcome), s->outcome, s->why);
    cbx_guard_free(guard);
}

TEST(every_way, counted_setup, counted_teardown)
{
    for (size_t i = 0; i < CBX_LEN(holds); i++) {
        const stand *s = &holds[i];
        cbx_run *now = run_of(s->machine_now, s->defs_now, s->now),
                *base = run_of(s->machine_base, s->defs_base, s->base);
        cbx_run *beside = s->defs_beside ? run_of(NULL, s->defs_beside, "") : NULL;
        cbx_waivers *w = s->waiver ? waiver_of(s->waiver) : NULL;
        cbx_regression_opts o = CBX_REGRESSION_OPTS_INIT;
        cbx_regression *r = NULL;
        o.defs = beside;
        o.minimum = s->minimum;
        if (s->secondary > 0) o.secondary_threshold = s->secondary;
        o.allow_dropped = s->allow_dropped;
        CHECK_OK(cbx_regression_create(ctx, now, base, &o, &r, &err), &err, s->why);
        check_stand(s, r, w);
        cbx_regression_free(r);
        cbx_waivers_free(w);
        cbx_run_free(beside);
        cbx_run_free(base);
        cbx_run_free(now);
    }
}

TEST(itself, counted_setup, counted_teardown)
{
    cbx_run *run = run_of(NULL, NULL, MS("1"));
    cbx_regression_opts o = CBX_REGRESSION_OPTS_INIT;
    cbx_regression *r = NULL;
    cbx_gate g;

    CHECK_OK(cbx_regression_create(ctx, run, run, NULL, &r, &err), &err, "compared");
    check_stand(&(stand){ .reason = "same-run", .exit_code = 2, .why = "a run against itself" }, r, NULL);
    cbx_regression_free(r);
    o.allow_same = true;
    CHECK_OK(cbx_regression_create(ctx, run, run, &o, &r, &err), &err, "compared");
    cbx_regression_gate(r, NULL, &g);
    CHECK_INT(g.counts[CBX_OUTCOME_UNCHANGED], 1, "to see what differs");
    cbx_regression_free(r);
    cbx_run_free(run);
}

/* What is given to turn the gate off, or does so by a slip. */
TEST(options_that_would_pass_all, counted_setup, counted_teardown)
{
    static const cbx_regression_rule endless = { "*", INFINITY, NAN },
                                     misspelt[] = { { "m?", 0.5, NAN }, { "rat", 0, NAN } };
    static const char *const keys[] = { "*", "**", "?*", "*@*", "*@*{*}:*", "*:*", "[!\\\\n]*", "*[@]*:*" };
    cbx_run *now = run_of(NULL, NULL, MS("1") "," RATE("1")), *base = run_of(NULL, NULL, MS("1"));
    cbx_regression_opts good = CBX_REGRESSION_OPTS_INIT, bad[5];
    cbx_regression *r = NULL;

    for (size_t i = 0; i < CBX_LEN(bad); i++) bad[i] = good;
    bad[0].threshold = INFINITY;
    bad[1].primary_threshold = INFINITY;
    bad[2].minimum = INFINITY;
    bad[3].margin = INFINITY;
    bad[4].rules = &endless, bad[4].nrules = 1;
    for (size_t i = 0; i < CBX_LEN(bad); i++)
        CHECK_STATUS(cbx_regression_create(ctx, now, base, &bad[i], &r, &err), CBX_EINVAL, "no change counts");
    good.rules = misspelt;
    good.nrules = 2;
    CHECK_OK(cbx_regression_create(ctx, now, base, &good, &r, &err), &err, "compared");
    CHECK_STR(cbx_regression_idle_rule(r), "rat", "the rule that fits nothing");
    cbx_regression_free(r);
    good.nrules = 1;
    CHECK_OK(cbx_regression_create(ctx, now, base, &good, &r, &err), &err, "compared");
    CHECK(!cbx_regression_idle_rule(r), "this one does");
    cbx_regression_free(r);
    for (size_t i = 0; i < CBX_LEN(keys); i++) {
        cbx_waivers *w = NULL;
        char text[256];
        int n = snprintf(text, sizeof text,
                         "{\"schema\":\"calibrax-waivers\",\"schema_version\":1,\"waivers\":"
                         "[{\"key\":\"%s\",\"reason\":\"r\",\"until\":\"2026-12-31\"}]}",
                         keys[i]);
        CHECK_STATUS(cbx_waivers_from_text(ctx, text, (size_t)n, "w", &w, &err), CBX_EFORMAT, keys[i]);
        CHECK(strstr(err.message, "matches every finding") != NULL, err.message);
    }
    cbx_run_free(base);
    cbx_run_free(now);
}

TEST(names)
{
    CHECK_STR(cbx_gate_reason_name(CBX_GATE_REASON_SAME_RUN), "same-run", "name");
    CHECK_STR(cbx_gate_reason_name((cbx_gate_reason)99), "?", "no reason");
}

TESTS(.seconds = 600)
