/*
 * Targets by direction, series that cross and come back, reports that pass only when all was shown.
 */
#include "check.h"

#include <math.h>

#include "calibrax/validation/framework.h"
#include "calibrax/validation/report.h"
#include "fail_alloc.h"

#define LOW  CBX_DIRECTION_LOWER
#define HIGH CBX_DIRECTION_HIGHER

TEST(targets)
{
    static const struct {
        double value, lower, upper, target;
        cbx_direction direction;
        cbx_accuracy_outcome wanted;
        double margin;
        const char *why;
    } cases[] = {
        { 0.5, NAN, NAN, 0.9, HIGH, CBX_ACCURACY_MISSED, -0.4, "an accuracy of 0.5 is not 0.9" },
        { 0.95, NAN, NAN, 0.9, HIGH, CBX_ACCURACY_MET, 0.05, "better than asked" },
        { 0.5, NAN, NAN, 0.9, LOW, CBX_ACCURACY_MET, 0.4, "an error may be smaller" },
        { 0.9, NAN, NAN, 0.9, LOW, CBX_ACCURACY_MET, 0, "the target itself" },
        { 0.9, NAN, NAN, 0.9, HIGH, CBX_ACCURACY_MET, 0, "from both sides" },
        { 0.92, 0.88, 0.96, 0.9, HIGH, CBX_ACCURACY_UNDECIDED, 0.02, "not shown yet" },
        { 0.92, 0.90, 0.96, 0.9, HIGH, CBX_ACCURACY_MET, 0.02, "all of the interval" },
        { 0.92, 0.91, 0.96, 0.9, LOW, CBX_ACCURACY_MISSED, -0.02, "all of it on the wrong side" },
        { 0.5, 0.95, 1, 0.9, HIGH, CBX_ACCURACY_UNDECIDED, -0.4, "bounds beside their value do not make it good" },
        { 0.95, 0.5, 0.6, 0.9, HIGH, CBX_ACCURACY_UNDECIDED, 0.05, "nor the value its bounds" },
        { 0.95, -INFINITY, INFINITY, 0.9, HIGH, CBX_ACCURACY_UNDECIDED, 0.05, "an endless interval shows nothing" },
        { 0.8, 0.7, INFINITY, 0.9, LOW, CBX_ACCURACY_UNDECIDED, 0.1, "nothing is known above" },
        { 0.8, -INFINITY, 0.85, 0.9, LOW, CBX_ACCURACY_MET, 0.1, "what is unknown lies on the good side" },
        { 0.8, NAN, 0.95, 0.9, LOW, CBX_ACCURACY_UNDECIDED, 0.1, "one bound alone" },
        { 0.8, NAN, 0.85, 0.9, LOW, CBX_ACCURACY_MET, 0.1, "one bound alone, on the good side" },
        { NAN, NAN, NAN, 0.9, LOW, CBX_ACCURACY_NOT_FINITE, NAN, "no number" },
        { 0.1, NAN, NAN, NAN, LOW, CBX_ACCURACY_NOT_FINITE, NAN, "no target" },
        { -INFINITY, NAN, NAN, 1, LOW, CBX_ACCURACY_NOT_FINITE, NAN, "infinitely good is a fault" },
        { 0.1, NAN, NAN, 1, CBX_DIRECTION_INFO, CBX_ACCURACY_NO_DIRECTION, NAN, "nothing to meet" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_metric m = { cases[i].value, cases[i].lower, cases[i].upper, NULL, 0 };
        cbx_accuracy_result r = cbx_accuracy_check(&m, cases[i].target,
                                                   &(cbx_metric_def){ .unit = "1", .direction = cases[i].direction });
        CHECK_STR(cbx_accuracy_outcome_name(r.outcome), cbx_accuracy_outcome_name(cases[i].wanted), cases[i].why);
        CHECK(isnan(cases[i].margin) ? isnan(r.margin) : fabs(r.margin - cases[i].margin) < 1e-12, cases[i].why);
    }
}

/* Numbers that cannot be what their definition says never pass, whatever the target. */
TEST(impossible)
{
    static const double far[] = { 30, 30, 30 }, near[] = { 9, 10, 12 }, negative[] = { -1, 10, 12 };
    static const struct {
        double value;
        const double *samples;
        const char *unit;
        cbx_direction direction;
        cbx_accuracy_outcome wanted;
        const char *why;
    } cases[] = {
        { -5, NULL, "ms", LOW, CBX_ACCURACY_IMPOSSIBLE, "a negative time" },
        { 0, NULL, "ms", LOW, CBX_ACCURACY_IMPOSSIBLE, "a time of 0" },
        { 0, NULL, "ns/op", LOW, CBX_ACCURACY_IMPOSSIBLE, "a time of 0 for each operation" },
        { 0, NULL, "MB", LOW, CBX_ACCURACY_MET, "0 MB may be" },
        { -5, NULL, "ms", HIGH, CBX_ACCURACY_MISSED, "a lead that should be large may be negative" },
        { 10, far, "ms", LOW, CBX_ACCURACY_IMPOSSIBLE, "a value of 10 whose samples are 30" },
        { 10, near, "ms", LOW, CBX_ACCURACY_MET, "a value among its samples" },
        { 10, negative, "ms", LOW, CBX_ACCURACY_IMPOSSIBLE, "a negative sample" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_metric m = { cases[i].value, NAN, NAN, cases[i].samples, cases[i].samples ? 3 : 0 };
        cbx_metric_def def = { .name = "t", .unit = cases[i].unit, .direction = cases[i].direction };
        cbx_accuracy_result r = cbx_accuracy_check(&m, 20, &def);
        CHECK_STR(cbx_accuracy_outcome_name(r.outcome), cbx_accuracy_outcome_name(cases[i].wanted), cases[i].why);
    }
}

TEST(series)
{
    static const struct {
        double v[6];
        size_t n, hold;
        cbx_convergence_outcome outcome;
        cbx_tolerance_outcome tolerance; /* of 0.1 */
        size_t iteration, crossed;
        const char *why;
    } cases[] = {
        { { 1, 0.5, 0.2, 0.09, 0.04, 0.02 },
          6,
          1,
          CBX_CONVERGENCE_CONVERGING,
          CBX_TOLERANCE_MET,
          4,
          4,
          "falls and stays" },
        { { 1, 0.05, 0.9, 0.8, 0.7, 0.6 },
          6,
          1,
          CBX_CONVERGENCE_STALLED,
          CBX_TOLERANCE_TRANSIENT,
          0,
          2,
          "a passing dip" },
        { { 0.01, 0.1, 1, 10, 100, 1000 }, 6, 1, CBX_CONVERGENCE_DIVERGING, CBX_TOLERANCE_TRANSIENT, 0, 1, "grows" },
        { { 1, 1, 1, 1, 1, 1 }, 6, 1, CBX_CONVERGENCE_STALLED, CBX_TOLERANCE_NEVER, 0, 0, "stays where it is" },
        { { 1, 0.5, 0.2, 0.09, 0.2, 0.09 },
          6,
          2,
          CBX_CONVERGENCE_CONVERGING,
          CBX_TOLERANCE_TRANSIENT,
          0,
          4,
          "not held" },
        { { 1, 0.5, 0.2, 0.2, 0.09, 0.09 }, 6, 2, CBX_CONVERGENCE_CONVERGING, CBX_TOLERANCE_MET, 5, 5, "held" },
        { { 0 }, 0, 1, CBX_CONVERGENCE_EMPTY, CBX_TOLERANCE_UNKNOWN, 0, 0, "nothing meets nothing" },
        { { 0.05 }, 1, 1, CBX_CONVERGENCE_TOO_SHORT, CBX_TOLERANCE_MET, 1, 1, "one value" },
        { { 1, NAN, 0.01 }, 3, 1, CBX_CONVERGENCE_NOT_AN_ERROR, CBX_TOLERANCE_UNKNOWN, 0, 0, "a hole" },
        { { 1, -0.5 }, 2, 1, CBX_CONVERGENCE_NOT_AN_ERROR, CBX_TOLERANCE_UNKNOWN, 0, 0, "an error is not negative" },
        { { 1, 0, 0, 0 }, 4, 1, CBX_CONVERGENCE_STALLED, CBX_TOLERANCE_MET, 2, 2, "exactly right, and flat since" },
    };
    const double tolerance = 0.1;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_err err = CBX_ERR_INIT;
        cbx_convergence_result r;
        cbx_tolerance_result t;
        CHECK_OK(cbx_convergence_check(cases[i].v, cases[i].n, &tolerance, 1, cases[i].hold, &r, &t, &err), &err,
                 cases[i].why);
        CHECK_STR(cbx_convergence_outcome_name(r.outcome), cbx_convergence_outcome_name(cases[i].outcome),
                  cases[i].why);
        CHECK_STR(cbx_tolerance_outcome_name(t.outcome), cbx_tolerance_outcome_name(cases[i].tolerance), cases[i].why);
        CHECK_INT(t.iteration, cases[i].iteration, cases[i].why);
        CHECK_INT(t.crossed, cases[i].crossed, cases[i].why);
    }
}

TEST(rates_and_orders)
{
    double v[20], h[4] = { 0.1, 0.05, 0.025, 0.0125 }, e[4], order, error;
    cbx_convergence_result r;
    cbx_err err = CBX_ERR_INIT;
    const double bad = -1;
    cbx_tolerance_result t[6];

    for (size_t i = 0; i < 20; i++) v[i] = 3 * pow(0.5, (double)i);
    CHECK_OK(cbx_convergence_check(v, 20, NULL, 0, 1, &r, NULL, &err), &err, "halves");
    CHECK_LE(fabs(r.rate - log(2)), 1e-12, "by ln 2 an iteration");
    for (size_t i = 0; i < 20; i++) v[i] = pow(2, (double)i);
    CHECK_OK(cbx_convergence_check(v, 20, NULL, 0, 1, &r, NULL, &err), &err, "doubles");
    CHECK_LE(fabs(r.rate + log(2)), 1e-12, "a rate has a sign");
    for (size_t i = 0; i < 4; i++) e[i] = 7 * h[i] * h[i];
    CHECK_OK(cbx_convergence_order(h, e, 4, &order, &error, &err), &err, "order");
    CHECK_LE(fabs(order - 2), 1e-12, "second order");
    CHECK_LE(error, 1e-12, "without a rest");
    CHECK_STATUS(cbx_convergence_order(h, e, 1, &order, NULL, &err), CBX_EINVAL, "one pair");
    h[1] = 0;
    CHECK_STATUS(cbx_convergence_order(h, e, 4, &order, NULL, &err), CBX_EDOM, "a step of 0");
    h[0] = h[1] = 0.1;
    CHECK_STATUS(cbx_convergence_order(h, e, 2, &order, NULL, &err), CBX_EINVAL, "one step twice");
    CHECK_STATUS(cbx_convergence_check(v, 2, &bad, 1, 1, &r, t, &err), CBX_EINVAL, "a tolerance below 0");
    CHECK_STATUS(cbx_convergence_check(v, 2, NULL, 0, 0, &r, NULL, &err), CBX_EINVAL, "nothing to hold");

    const double tolerances[3] = { 1, 0.1, 0.01 }, a[3] = { 1, 0.05, 0.05 }, b[3] = { 1, 0.5, 0.005 };
    CHECK_OK(cbx_convergence_check(a, 3, tolerances, 3, 1, &r, t, &err), &err, "first");
    CHECK_OK(cbx_convergence_check(b, 3, tolerances, 3, 1, &r, t + 3, &err), &err, "second");
}

static cbx_status whole_report(cbx_ctx *ctx, void *user)
{
    const cbx_metric_def def = { "rmse", "m", LOW, NULL, 0, NULL };
    const cbx_metric achieved = cbx_metric_of(0.5);
    const double errors[] = { 1, 0.1, 0.01 };
    cbx_validation *v = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_json *json = NULL;
    cbx_status st = cbx_validation_create(ctx, "kernel", "a table", &v, &err);

    if (!st) st = cbx_validation_add_accuracy(v, &def, &achieved, 0.6, &err);
    if (!st) st = cbx_validation_add_convergence(v, "residual", errors, 3, 0.05, 1, &err);
    if (!st && user) {
        CHECK(cbx_validation_passed(v), "both");
        CHECK_STATUS(cbx_validation_add_accuracy(v, &def, &achieved, 0.6, &err), CBX_EEXIST, "twice");
    }
    if (!st) st = cbx_validation_add_violation(v, "the mass is not conserved", &err);
    if (!st && user) {
        CHECK(!cbx_validation_passed(v), "a violation");
        CHECK_INT(cbx_validation_failures(v), 1, "one");
        json = cbx_validation_json(v);
        CHECK_STR(cbx_json_get_string(cbx_json_at(cbx_json_get(json, "accuracy"), 0), "outcome", ""), "met",
                  "accuracy");
        CHECK_STR(cbx_json_get_string(cbx_json_at(cbx_json_get(json, "convergence"), 0), "series", ""), "converging",
                  "series");
        CHECK_STR(cbx_json_string_value(cbx_json_at(cbx_json_get(json, "violations"), 0)), "the mass is not conserved",
                  "violation");
        CHECK(!cbx_json_get_bool(json, "passed", true), "passed");
        cbx_json_unref(json);
    }
    cbx_validation_free(v);
    return st;
}

TEST(reports)
{
    cbx_validation *v = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = cbx_test_context();
    bool look = true;

    CHECK_OK(whole_report(ctx, &look), &err, "a report");
    CHECK_STATUS(cbx_validation_create(ctx, "", "x", &v, &err), CBX_EINVAL, "without a name");
    CHECK_OK(cbx_validation_create(ctx, "nothing", "x", &v, &err), &err, "empty");
    CHECK(!cbx_validation_passed(v), "an empty report shows nothing");
    CHECK_OK(cbx_validation_add_convergence(v, "none", NULL, 0, 1, 1, &err), &err, "an empty series");
    CHECK(!cbx_validation_passed(v), "an empty series does neither");
    CHECK_INT(cbx_validation_checks(v), 1, "but was looked at");
    cbx_validation_free(v);
    cbx_ctx_free(ctx);
}

TEST(memory_that_runs_out)
{
    CHECK_GT(cbx_test_fail_each(whole_report, NULL, "a report"), 1, "something was allocated");
}

/* --- frameworks --- */

typedef struct spot {
    const char *point, *framework, *metric; /* framework NULL: no tag */
    double value;
} spot;

static cbx_status run_of(cbx_ctx *ctx, const spot *spots, size_t n, cbx_run **out, cbx_err *err)
{
    cbx_run_opts opts = CBX_RUN_OPTS_INIT;
    cbx_run_builder *b = NULL;
    cbx_status st;

    opts.no_vcs = opts.no_machine = opts.no_versions = true;
    st = cbx_run_builder_create(ctx, &opts, &b, err);
    for (size_t i = 0; i < n && !st; i++) {
        cbx_tag tag = { "framework", spots[i].framework };
        cbx_named_metric m = { spots[i].metric, cbx_metric_of(spots[i].value) };
        cbx_point p = { .name = spots[i].point,
                        .scenario = "s",
                        .tags = &tag,
                        .ntags = spots[i].framework != NULL,
                        .metrics = &m,
                        .nmetrics = 1 };
        st = cbx_run_builder_add_point(b, &p, err);
    }
    if (!st) st = cbx_run_builder_freeze(b, out, err);
    cbx_run_builder_free(b);
    return st;
}

static const spot spots[] = {
    { "p", "torch", "time", 3 },  { "p", "jax", "time", 2 },   { "q", "jax", "loss", NAN },
    { "alone", NULL, "time", 7 }, { "q", "torch", "rare", 1 }, { "r", "torch", "time", 4 },
};

TEST(frameworks_as_a_table)
{
    static const double wanted[3][3] = { { 3, 2, 7 }, { NAN, NAN, NAN }, { 1, NAN, NAN } }; /* time, loss, rare */
    static const char *const rows[] = { "rare", "absent" }, *const doubled[] = { "time", "time" };
    cbx_framework_opts o = CBX_FRAMEWORK_OPTS_INIT;
    cbx_framework_metrics *f = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_run *run = NULL;
    cbx_ctx *ctx = cbx_test_context();

    CHECK_OK(run_of(ctx, spots, CBX_LEN(spots), &run, &err), &err, "run");
    CHECK_STATUS(cbx_framework_metrics_create(ctx, run, NULL, &f, &err), CBX_EEXIST, "torch has time twice");
    CHECK(strstr(err.message, "'torch'") && strstr(err.message, "'time'") && strstr(err.message, "'r'"), err.message);
    CHECK(!f, "untouched");
    o.last = true;
    CHECK_OK(cbx_framework_metrics_create(ctx, run, &o, &f, &err), &err, "the last counts");
    CHECK(cbx_framework_metrics_values(f)[0] == 4, "as in the Python package");
    cbx_framework_metrics_free(f);
    cbx_run_free(run);
    CHECK_OK(run_of(ctx, spots, CBX_LEN(spots) - 1, &run, &err), &err, "run");
    CHECK_OK(cbx_framework_metrics_create(ctx, run, NULL, &f, &err), &err, "a value a cell");
    CHECK_INT(cbx_framework_metrics_nframeworks(f), 3, "torch, jax, alone");
    CHECK_STR(cbx_framework_metrics_framework(f, 0), "torch", "in order of appearance");
    CHECK_STR(cbx_framework_metrics_framework(f, 2), "alone", "by its own name");
    CHECK_STR(cbx_framework_metrics_metric(f, 1), "loss", "metrics too");
    CHECK(!cbx_framework_metrics_metric(f, 3) && !cbx_framework_metrics_framework(f, 3), "past the end");
    for (size_t m = 0; m < 3; m++)
        for (size_t i = 0; i < 3; i++) {
            double v = cbx_framework_metrics_values(f)[3 * i + m];
            CHECK(isnan(wanted[m][i]) ? isnan(v) : v == wanted[m][i], "cell");
        }
    CHECK(cbx_framework_metrics_measured(f, 1, 1), "a NaN that was measured");
    CHECK(!cbx_framework_metrics_measured(f, 1, 0) && !cbx_framework_metrics_measured(f, 9, 0), "one that was not");
    cbx_framework_metrics_free(f);
    o = (cbx_framework_opts)CBX_FRAMEWORK_OPTS_INIT;
    o.metrics = rows;
    o.nmetrics = 2;
    o.group_tag = "nobody's";
    CHECK_OK(cbx_framework_metrics_create(ctx, run, &o, &f, &err), &err, "rows asked for");
    CHECK_STR(cbx_framework_metrics_framework(f, 0), "p", "points by their names");
    CHECK(cbx_framework_metrics_nmetrics(f) == 2 && !cbx_framework_metrics_measured(f, 1, 0), "a row that nobody has");
    cbx_framework_metrics_free(f);
    o.metrics = doubled;
    CHECK_STATUS(cbx_framework_metrics_create(ctx, run, &o, &f, &err), CBX_EINVAL, "a row twice");
    cbx_run_free(run);
    CHECK_OK(run_of(ctx, NULL, 0, &run, &err), &err, "a run without points");
    CHECK_OK(cbx_framework_metrics_create(ctx, run, NULL, &f, &err), &err, "an empty table");
    CHECK_INT(cbx_framework_metrics_nframeworks(f), 0, "nobody");
    cbx_framework_metrics_free(f);
    cbx_run_free(run);
    cbx_ctx_free(ctx);
}

static cbx_status table_of(cbx_ctx *ctx, void *run)
{
    cbx_framework_opts o = CBX_FRAMEWORK_OPTS_INIT;
    cbx_framework_metrics *f = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    o.last = true;
    st = cbx_framework_metrics_create(ctx, run, &o, &f, &err);
    cbx_framework_metrics_free(f);
    return st;
}

TEST(tables_without_memory)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_run *run = NULL;
    cbx_ctx *ctx = cbx_test_context();

    CHECK_OK(run_of(ctx, spots, CBX_LEN(spots), &run, &err), &err, "run");
    CHECK_GT(cbx_test_fail_each(table_of, run, "a table"), 1, "something was allocated");
    cbx_run_free(run);
    cbx_ctx_free(ctx);
}

TESTS()
