/*
 * calibrax check: a run against a baseline (calibrax/ci/guard.h), or values against targets and
 * series of errors against tolerances (calibrax/validation/report.h).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/ci/guard.h"
#include "calibrax/validation/report.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/inputs.h"
#include "programs/common/output.h"

typedef struct check_args {
    select_args select;
    inputs_args inputs;
    const char *baseline, *waivers, *name, *reference;
    cbx_regression_opts how;
    opt_list rules, targets, series, tolerances;
    size_t hold;
    int format; /* cbx_guard_format */
} check_args;

#define AT(member) offsetof(check_args, member)

static const opt_spec check_options[] = {
    SELECT_STORE_ROWS,
    INPUTS_ROWS,
    SELECT_JSON_ROW,
    OPT("target", 0, EACH, targets, "METRIC=X", NULL,
        "check that the metric meets this target instead of comparing with a baseline; the direction comes from the "
        "metric's definition; may be repeated",
        "@metrics"),
    OPT("series", 0, EACH, series, "FILE", NULL,
        "check that errors by iteration reach tolerances; the file is JSON: {\"residual\": [1, 0.1, 0.01], ...}; may "
        "be repeated"),
    OPT_HEADING("Against a baseline", NULL),
    OPT("branch", 0, STRING, select.branch, "NAME", NULL, "check the latest run of this branch"),
    OPT("machine", 0, STRING, select.machine, "ID", NULL, "check the latest run of this machine"),
    OPT("baseline", 0, STRING, baseline, "NAME", CBX_BASELINE_MAIN, "compare with this baseline", "@baselines"),
    OPT("threshold", 0, NUMBER, how.threshold, "X", "0.05, which is 5 %",
        "relative change that counts as worse or better"),
    OPT("primary-threshold", 0, NUMBER, how.primary_threshold, "X", "--threshold", "threshold of primary metrics"),
    OPT("secondary-threshold", 0, NUMBER, how.secondary_threshold, "X", "--threshold",
        "threshold of secondary metrics"),
    OPT("metric-threshold", 0, EACH, rules, "PATTERN=X", NULL,
        "threshold of metrics whose name matches this shell pattern; may be repeated, the first match applies"),
    OPT("minimum", 0, NUMBER, how.minimum, "X", "0", "ignore changes smaller than this, in the metric's unit"),
    OPT("level", 0, SHARE, how.level, "X", "0.95", "confidence level of the intervals"),
    OPT_SWITCH("values-only", 0, how.values_only, "compare values only, and ignore samples and bounds"),
    OPT_SWITCH("allow-dropped", 0, how.allow_dropped, "do not fail if points or metrics of the baseline are missing"),
    OPT_SWITCH("allow-other-machine", 0, how.allow_machines, "compare runs of different machines, with a note"),
    OPT_SWITCH("undecided-passes", 0, how.undecided_passes, "do not fail if the verdict is undecided"),
    OPT("waivers", 0, STRING, waivers, "FILE", NULL, "file of findings that are accepted until a date"),
    OPT("format", 0, CHOICE, format, "NAME", "text",
        "output format: text, json, markdown (with the history of each metric), junit, github (workflow commands) or "
        "badge (SVG)",
        "text json markdown junit github badge"),
    { "Targets, with --target", 0, OPT_GROUP, 0, "target", NULL,
      "A value meets its target if its whole interval does. Exit status 1: the target is missed, or the value is not a "
      "number; 3: the interval contains the target." },
    SELECT_POINT_ROWS,
    OPT_HEADING("Series of errors, with --series", "series"),
    OPT("tolerance", 0, LIST, tolerances, "X,...", NULL, "tolerances that the errors must reach and stay within"),
    OPT("hold", 0, POSITIVE, hold, "N", "1", "number of final values that must be at or below a tolerance"),
    OPT_HEADING("The validation record, with --target or --series", "target series"),
    OPT("name", 0, STRING, name, "NAME", "validation", "name of the validation, in the JSON document"),
    OPT("reference", 0, STRING, reference, "TEXT", "as given", "source of the targets, such as a paper or a program"),
};
#define OF_BASELINES                                                                                                   \
    "branch machine baseline threshold primary-threshold secondary-threshold metric-threshold minimum level "          \
    "values-only allow-dropped allow-other-machine undecided-passes waivers format"
static const opt_rule check_rules[] = {
    INPUTS_RULES,
    { "target,series", OPT_EXCLUDES, OF_BASELINES },
    { "series", OPT_NEEDS, "tolerance" },
    { "all,input", OPT_NEEDS, "target" },
    { "json", OPT_EXCLUDES, "format" },
    { "run", OPT_EXCLUDES, "branch machine" },
};
static const check_args check_defaults = { .baseline = CBX_BASELINE_MAIN,
                                           .how = CBX_REGRESSION_OPTS_INIT,
                                           .hold = 1,
                                           .name = "validation",
                                           .reference = "as given" };

/* --- values that cannot be right --- */

static int check_metric(const opt_run *run, const cbx_run *r, const cbx_point *p, const cbx_named_metric *named)
{
    static const char *const times[] = { "s",  "ms",  "us", "\xc2\xb5s", "\xce\xbcs", "ns",
                                         "ps", "min", "h",  "seconds",   "sec" };
    const cbx_metric *m = &named->metric;
    const cbx_metric_def *def = cbx_run_find_metric_def(r, named->name);
    const char *unit = def ? def->unit : "", *space = *unit ? " " : "";
    double minimum = INFINITY, maximum = -INFINITY, slack;

    if (def && def->direction == CBX_DIRECTION_LOWER && CBX_WORD_AT(times, unit) < CBX_LEN(times) && m->value <= 0) {
        opt_fail(run, "'%s' of '%s' in run '%s' is %.6g %s: a time must be above 0", named->name, p->name,
                 cbx_run_id(r), m->value, unit);
        return EXIT_CHECK;
    }
    for (size_t i = 0; i < m->nsamples; i++) {
        if (m->samples[i] < minimum) minimum = m->samples[i];
        if (m->samples[i] > maximum) maximum = m->samples[i];
    }
    slack = 1e-3 * fmax(fabs(minimum), fabs(maximum)); /* values may be rounded */
    if (!m->nsamples || !isfinite(m->value) || (m->value >= minimum - slack && m->value <= maximum + slack))
        return EXIT_PASS;
    opt_fail(run,
             "'%s' of '%s' in run '%s' contradicts its samples: the value is %.6g%s%s, the samples are %.6g to %.6g",
             named->name, p->name, cbx_run_id(r), m->value, space, unit, minimum, maximum);
    return EXIT_CHECK;
}

/* EXIT_CHECK after a message for a run with values that cannot be right.  @param q  points to
 * check; NULL: all */
static int check_values(const opt_run *run, const cbx_run *r, const cbx_store_query *q)
{
    for (size_t i = 0; i < cbx_run_npoints(r); i++) {
        const cbx_point *p = cbx_run_point(r, i);
        for (size_t k = 0; (!q || select_point(q, p)) && k < p->nmetrics; k++)
            if (check_metric(run, r, p, &p->metrics[k])) return EXIT_CHECK;
    }
    return EXIT_PASS;
}

/* What a comparison needs. */
typedef struct comparing {
    const opt_run *run;
    cbx_store *store;
    cbx_run *current, *baseline, *defs;
    cbx_waivers *waivers;
    cbx_regression *regression;
    cbx_guard *guard;
} comparing;

/* --- a run against a baseline --- */

/* What is compared: the run, the baseline, waivers and the store's definitions. */
static int load_all(comparing *c)
{
    const opt_run *run = c->run;
    const check_args *a = run->args;
    const opt_list *names = run->words->count ? run->words : &a->inputs.runs;
    const char *name = names->count && strcmp(names->items[0], "latest") != 0 ? names->items[0] : NULL;
    cbx_store_query query = { .branch = a->select.branch, .machine = a->select.machine, .limit = 2 };
    CLEARED(cbx_store_list) list = { .count = 0 };

    if (names->count > 1) return opt_fail(run, "a check against a baseline takes one run, got %zu", names->count);
    int status = select_open(run, &a->select, false, &c->store);
    if (!status && !name) {
        status = opt_check(run, cbx_store_query_runs(c->store, &query, &list, run->err));
        if (!status && list.count)
            status = select_need_newest(run, c->store, &list, ", or name a run with --run");
        else if (!status && (query.branch || query.machine))
            status = opt_fail(run, "'%s' has no run of that branch and machine", cbx_store_root(c->store));
    }
    if (!status)
        status = select_run(run, c->store, name ? name : list.count ? list.entries[0].id : "latest", &c->current);
    if (!status) status = opt_check(run, cbx_store_baseline_get(c->store, a->baseline, &c->baseline, run->err));
    if (status) return status;
    /* where measuring failed, the latest run is an old one, which must not pass in its place */
    if (!name && cbx_run_timestamp_us(c->current) < cbx_run_timestamp_us(c->baseline))
        return opt_fail(
            run, "the latest run '%s' is older than the baseline '%s': measure again, or choose a run with --run",
            cbx_run_id(c->current), cbx_run_id(c->baseline));
    if (check_values(run, c->baseline, NULL)) return EXIT_ERROR;
    if (check_values(run, c->current, NULL)) return EXIT_CHECK;
    if (a->waivers) status = opt_check(run, cbx_waivers_read(run->ctx, a->waivers, &c->waivers, run->err));
    return status ? status : opt_check(run, select_defs(run, c->store, &c->defs, run->err));
}

static int compare(comparing *c)
{
    const opt_run *run = c->run;
    const check_args *a = run->args;
    cbx_regression_opts opts = a->how;
    cbx_regression_rule *rules = cbx_arena_calloc(run->arena, a->rules.count, sizeof(*rules));

    opts.defs = c->defs;
    opts.rules = rules;
    opts.nrules = a->rules.count;
    for (size_t i = 0; i < a->rules.count; i++) {
        if (select_pair(run, "metric-threshold", "PATTERN", a->rules.items[i], &rules[i].metric, &rules[i].threshold))
            return EXIT_ERROR;
        rules[i].minimum = NAN;
    }
    int status = opt_check(run,
                           cbx_regression_create(run->ctx, c->current, c->baseline, &opts, &c->regression, run->err));
    if (status) return status;
    if (cbx_regression_idle_rule(c->regression))
        return opt_fail(run, "'--metric-threshold': no metric of the two runs matches '%s'; correct the pattern",
                        cbx_regression_idle_rule(c->regression));
    return opt_check(run,
                     cbx_guard_create(run->ctx, c->regression, c->waivers, cbx_time_now_us(), &c->guard, run->err));
}

static void pour_out(void *user, cbx_text *out)
{
    (void)user;
    fwrite(cbx_text_str(out), 1, out->len, stdout);
    if (!out->status) cbx_text_reset(out);
}

/* "threshold: 5 % (primary 3 %, secondary 10 %, 'latency*' 2 %)": a change of 500 % is easily asked
 * for by mistake. */
static void print_thresholds(const opt_run *run)
{
    const check_args *a = run->args;
    const char *between = " (";

    printf("threshold: %.6g %%", 100 * a->how.threshold);
    if (!isnan(a->how.primary_threshold))
        printf("%sprimary %.6g %%", between, 100 * a->how.primary_threshold), between = ", ";
    if (!isnan(a->how.secondary_threshold))
        printf("%ssecondary %.6g %%", between, 100 * a->how.secondary_threshold), between = ", ";
    for (size_t i = 0; i < a->rules.count; i++, between = ", ") {
        const char *rule = a->rules.items[i], *equals = strrchr(rule, '=');
        printf("%s'%s' %.6g %%", between,
               plain_text(run->arena, cbx_arena_strndup(run->arena, rule, (size_t)(equals - rule))),
               100 * strtod(equals + 1, NULL));
    }
    if (a->how.minimum > 0) printf("%sminimum %.6g in the metric's unit", between, a->how.minimum), between = ", ";
    puts(*between == ',' ? ")" : "");
}

/* Values of the newest runs of the same branch and machine. */
static size_t history_of(void *user, const cbx_finding *f, double *values)
{
    const comparing *c = user;
    const char *branch = cbx_run_branch(c->current), *machine = run_machine(c->current);
    const cbx_store_query query = { .branch = branch,
                                    .machine = machine,
                                    .point = f->point,
                                    .scenario = f->scenario,
                                    .metric = f->metric,
                                    .tags = f->tag_list,
                                    .ntags = f->ntags,
                                    .until_us = cbx_run_timestamp_us(c->current) + 1,
                                    .limit = CBX_GUARD_HISTORY_MAX };
    CLEARED(cbx_trend) trend = { 0 };

    if (cbx_store_trend(c->store, &query, &trend, NULL)) return 0;
    for (size_t i = 0; i < trend.count; i++) {
        const cbx_trend_series *s = &trend.series[i];
        if (s->ntags != f->ntags) continue; /* has further tags */
        for (size_t k = 0; k < s->npoints; k++) values[k] = s->points[k].value;
        return s->npoints;
    }
    return 0;
}

static int check_baseline(const opt_run *run)
{
    const check_args *a = run->args;
    const cbx_guard_format format = a->select.json ? CBX_GUARD_JSON : (cbx_guard_format)a->format;
    comparing c = { .run = run };
    int status = load_all(&c);

    if (!status) status = compare(&c);
    if (!status) {
        const int exit_code = cbx_guard_gate(c.guard)->exit_code;
        SCOPED_TEXT(text, cbx_ctx_allocator(run->ctx));
        cbx_guard_set_history(c.guard, history_of, &c);
        cbx_guard_set_run(c.guard, c.current);
        if (format != CBX_GUARD_TEXT) {
            status = opt_check(run, cbx_guard_pour(c.guard, format, pour_out, NULL, &text, run->err));
        } else {
            status = opt_check(run, cbx_guard_write(c.guard, format, &text, run->err));
            if (!status) print_report(cbx_text_str(&text), exit_code);
            if (!status) print_thresholds(run);
        }
        if (!status) status = exit_code;
    }
    cbx_guard_free(c.guard);
    cbx_regression_free(c.regression);
    cbx_waivers_free(c.waivers);
    cbx_run_free(c.defs);
    cbx_run_free(c.baseline);
    cbx_run_free(c.current);
    cbx_store_close(c.store);
    return status;
}

/* --- targets --- */

/* A metric and what it has to reach. */
typedef struct target {
    const char *metric;
    double value;
    size_t found; /* points that have it */
} target;

typedef struct targets {
    const opt_run *run;
    cbx_validation *v;
    cbx_store_query query;
    target *list;
    size_t n;
} targets;

static int take_run(void *user, const cbx_run *r)
{
    targets *t = user;

    if (check_values(t->run, r, &t->query)) return EXIT_CHECK;
    for (target *wanted = t->list; wanted < t->list + t->n; wanted++) {
        const cbx_metric_def *def = cbx_run_find_metric_def(r, wanted->metric);
        cbx_metric_def named = { .unit = def ? def->unit : "", .direction = def ? def->direction : CBX_DIRECTION_INFO };
        for (size_t k = 0; k < cbx_run_npoints(r); k++) {
            const cbx_point *p = cbx_run_point(r, k);
            const cbx_metric *m = cbx_point_metric(p, wanted->metric);
            if (!m || !select_point(&t->query, p)) continue;
            wanted->found++;
            CBX_SCOPED(cbx_arena, passing, &t->run->arena->al);
            named.name = cbx_arena_printf(&passing, "%s %s:%s", cbx_run_id(r), point_key(&passing, p, NULL),
                                          wanted->metric);
            if (opt_check(t->run, cbx_validation_add_accuracy(t->v, &named, m, wanted->value, t->run->err)))
                return EXIT_ERROR;
        }
    }
    return EXIT_PASS;
}

static int check_all_targets(const opt_run *run, cbx_validation *v)
{
    const check_args *a = run->args;
    targets t = { .run = run, .v = v, .n = a->targets.count };
    inputs_visit visit = { .take = take_run, .user = &t, .any_machine = true, .sure = true };
    int status = EXIT_PASS;

    if (!t.n) return EXIT_PASS;
    t.list = cbx_arena_calloc(run->arena, t.n, sizeof *t.list);
    for (size_t i = 0; !status && i < t.n; i++)
        status = select_number(run, "target", "METRIC", a->targets.items[i], &t.list[i].metric, &t.list[i].value);
    if (!status) status = select_query(run, &a->select, &t.query);
    if (!status) status = inputs_each(run, &a->select, &a->inputs, &visit);
    for (size_t i = 0; !status && i < t.n; i++)
        if (!t.list[i].found)
            status = opt_fail(run, "'--target': no matching point has a metric '%s'", t.list[i].metric);
    return status;
}

/* --- series --- */

static int check_series(const opt_run *run, cbx_validation *v, const char *name, const cbx_json *list)
{
    const check_args *a = run->args;
    size_t n = cbx_json_length(list);
    double *x = cbx_arena_calloc(run->arena, n, sizeof *x), tolerance;
    int status = EXIT_PASS;

    if (cbx_json_typeof(list) != CBX_JSON_ARRAY)
        return opt_fail(run, "'--series': '%s' is not a list of numbers", name);
    for (size_t i = 0; i < n; i++) x[i] = cbx_json_double_value(cbx_json_at(list, i));
    for (size_t i = 0; !status && i < a->tolerances.count; i++) {
        (void)opt_number(a->tolerances.items[i], &tolerance);
        status = opt_check(
            run, cbx_validation_add_convergence(v, cbx_arena_printf(run->arena, "%s <= %.6g", name, tolerance), x, n,
                                                tolerance, a->hold, run->err));
    }
    return status;
}

static int check_file(const opt_run *run, cbx_validation *v, const char *path)
{
    SCOPED(cbx_json) *root = NULL;
    cbx_json *list;
    const char *name;
    int status = opt_check(run, cbx_json_read(run->ctx, path, &root, run->err));

    if (!status && (cbx_json_typeof(root) != CBX_JSON_OBJECT || !cbx_json_length(root)))
        status = opt_fail(run, "'--series': '%s' is not an object of series, {\"NAME\": [numbers]}", path);
    for (size_t i = 0; !status && cbx_json_member(root, i, &name, &list); i++)
        status = check_series(run, v, name, list);
    return status;
}

/* --- the answer about targets and series --- */

static const struct {
    const char *outcome;
    int exit_code;
} codes[] = {
    { "met", EXIT_PASS },         { "missed", EXIT_CHECK },        { "not-finite", EXIT_CHECK },
    { "transient", EXIT_CHECK },  { "never", EXIT_CHECK },         { "no-direction", EXIT_ERROR },
    { "impossible", EXIT_CHECK }, { "undecided", EXIT_UNDECIDED },
};

/* 1 goes before 2, 2 before 3. */
static int worse(int a, int b)
{
    static const int order[] = { 0, 3, 2, 1 };
    return order[a] >= order[b] ? a : b;
}

/* Checks on their way out. */
typedef struct answer {
    const opt_run *run;
    json_stream *json;         /* NULL: text */
    const char *list;          /* that is under way in the document */
    const char *directionless; /* first check that had no direction; NULL: none */
    int status;
} answer;

static int put_check(void *user, const char *list, const cbx_json *check)
{
    answer *t = user;
    const char *outcome = cbx_json_get_string(check, "outcome", ""), *name = cbx_json_get_string(check, "name", "");
    const char *unit = cbx_json_get_string(check, "unit", "");
    int code = EXIT_ERROR;

    for (size_t i = 0; i < CBX_LEN(codes); i++)
        if (!strcmp(codes[i].outcome, outcome)) code = codes[i].exit_code;
    t->status = worse(t->status, code);
    if (!t->directionless && !strcmp(outcome, "no-direction")) t->directionless = cbx_arena_strdup(t->run->arena, name);
    if (t->json) {
        for (; strcmp(t->list, list) != 0; t->list = "convergence") json_stream_next(t->json, NULL, "convergence");
        json_stream_add(t->json, cbx_json_ref((cbx_json *)(uintptr_t)check));
        return 0;
    }
    print_painted(code == EXIT_UNDECIDED ? PAINT_PLAIN : paint_of_status(code), "%-12s", outcome);
    printf("  %s", plain_text(t->run->arena, name));
    if (cbx_json_has(check, "target"))
        printf(": %.6g, target %.6g%s%s\n", cbx_json_get_double(check, "achieved", NAN),
               cbx_json_get_double(check, "target", NAN), *unit ? " " : "", plain_text(t->run->arena, unit));
    else if (cbx_json_get_int(check, "iteration", 0))
        printf(": from iteration %lld on, %s\n", (long long)cbx_json_get_int(check, "iteration", 0),
               cbx_json_get_string(check, "series", ""));
    else
        printf(": %s\n", cbx_json_get_string(check, "series", ""));
    return 0;
}

static int print_answer(answer *t, const cbx_validation *v)
{
    static const char *const words[] = { "PASSED", "FAILED", "CANNOT CHECK", "UNDECIDED" };
    const check_args *a = t->run->args;
    cbx_json *tail = cbx_json_new_object();
    json_stream out;

    cbx_json *head = cbx_json_document("calibrax-validation", J_TEXT("name", a->name),
                                       J_TEXT("reference", a->reference), J_BOOL("passed", cbx_validation_passed(v)));
    cbx_json_set_array(tail, "violations"); /* nothing here makes one */
    if (a->select.json) json_stream_begin(t->json = &out, head, t->list = "accuracy");
    int status = opt_check(t->run, cbx_validation_each(v, put_check, t, t->run->err));
    if (a->select.json) {
        if (strcmp(t->list, "convergence") != 0) json_stream_next(&out, NULL, "convergence");
        return worse(status, json_stream_end(&out, t->run, tail));
    }
    cbx_json_unref(head);
    cbx_json_unref(tail);
    if (!status)
        printf("%s: %zu of %zu checks passed\n", words[t->status],
               cbx_validation_checks(v) - cbx_validation_failures(v), cbx_validation_checks(v));
    return status;
}

static int check_targets(const opt_run *run)
{
    const check_args *a = run->args;
    cbx_validation *v = NULL;
    answer t = { .run = run };
    double x;

    if (!a->targets.count && (a->select.data || a->inputs.runs.count || run->words->count))
        return opt_fail(run, "'--series' checks files: a run or '--data' needs '--target'");
    for (size_t i = 0; i < a->tolerances.count; i++)
        if (!opt_number(a->tolerances.items[i], &x) || x < 0)
            return opt_fail(run, "'--tolerance' must list numbers of at least 0, got '%s'", a->tolerances.items[i]);
    int status = opt_check(run, cbx_validation_create(run->ctx, a->name, a->reference, &v, run->err));
    if (!status) status = check_all_targets(run, v);
    for (size_t i = 0; !status && i < a->series.count; i++) status = check_file(run, v, a->series.items[i]);
    if (!status) status = print_answer(&t, v);
    if (t.directionless)
        opt_fail(run,
                 "'%s' has no direction: define it as lower or higher in the run's metric_defs, or in the store's "
                 "config.json",
                 t.directionless);
    cbx_validation_free(v);
    return status ? status : t.status;
}

static int run_check(const opt_run *run)
{
    const check_args *a = run->args;

    return a->targets.count || a->series.count ? check_targets(run) : check_baseline(run);
}

const opt_command check_command = {
    .name = "check",
    .synopsis =
        "[RUN] [--baseline NAME] [--threshold X] | [RUN...] --target METRIC=X | --series FILE --tolerance X,...",
    .summary = "check a run against a baseline, or against targets",
    .description = "Compares each metric of each point of a run (default: the latest run) with the baseline: by "
                   "samples or bounds if both runs have them, otherwise by values. A run is refused if it is its own "
                   "baseline, if it comes from another machine, or if it is the latest run but older than the "
                   "baseline. Exit status 1: a metric is worse, is not a number, or is invalid (a time of 0, a value "
                   "outside its samples); 2: a metric cannot be compared or is missing, or the baseline is invalid; 3: "
                   "undecided ('calibrax run --until-decided' launches until the check is decided).",
    OPT_OPTIONS_RULES(check),
    .defaults = &check_defaults,
    SELECT_RUN_WORDS,
};
