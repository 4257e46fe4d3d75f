/*
 * calibrax check: a run against a baseline.  The answer and its exit status are the guard's (calibrax/ci/guard.h).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/ci/guard.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/terminal.h"

typedef struct check_args {
    select_args select;
    const char *run, *baseline, *format, *waivers;
    double threshold, primary, secondary, minimum, level;
    opt_list rules;
    bool values_only, allow_dropped, allow_machines, undecided_passes;
} check_args;

#define MEMBER(name) offsetof(check_args, name)

static const opt_spec check_options[] = {
    SELECT_STORE_ROWS(check_args),
    { "run", 0, OPT_STRING, MEMBER(run), "ID", "latest", "the run: an id, the beginning of one, or latest" },
    SELECT_ROW(check_args, "branch", OPT_STRING, branch, "NAME", "the latest run of this branch"),
    SELECT_ROW(check_args, "machine", OPT_STRING, machine, "ID", "the latest run of this machine"),
    { "baseline", 0, OPT_STRING, MEMBER(baseline), "NAME", CBX_BASELINE_MAIN, "the baseline to compare with" },
    { "threshold", 0, OPT_NUMBER, MEMBER(threshold), "X", "0.05", "relative change that counts" },
    { "primary-threshold", 0, OPT_NUMBER, MEMBER(primary), "X", "--threshold", "the same for primary metrics" },
    { "secondary-threshold", 0, OPT_NUMBER, MEMBER(secondary), "X", "--threshold", "the same for secondary metrics" },
    { "metric-threshold", 0, OPT_EACH, MEMBER(rules), "PATTERN=X", NULL,
      "the same for metrics of this name (a shell pattern); may be repeated, the first that fits counts" },
    { "minimum", 0, OPT_NUMBER, MEMBER(minimum), "X", "0", "smaller changes, in the metric's unit, do not count" },
    { "level", 0, OPT_NUMBER, MEMBER(level), "X", "0.95", "level of the intervals" },
    { "values-only", 0, OPT_FLAG, MEMBER(values_only), NULL, NULL, "pass samples and bounds over" },
    { "allow-dropped", 0, OPT_FLAG, MEMBER(allow_dropped), NULL, NULL,
      "points and metrics of the baseline that are missing now do not fail" },
    { "allow-other-machine", 0, OPT_FLAG, MEMBER(allow_machines), NULL, NULL, "compare across machines, and say so" },
    { "undecided-passes", 0, OPT_FLAG, MEMBER(undecided_passes), NULL, NULL, "what cannot be decided does not fail" },
    { "waivers", 0, OPT_STRING, MEMBER(waivers), "FILE", NULL, "findings that are accepted until a day" },
    { "format", 0, OPT_STRING, MEMBER(format), "NAME", "text", "text, json, markdown, junit or github" },
    SELECT_ROW(check_args, "json", OPT_FLAG, json, NULL, "the same as --format json"),
};
static const check_args check_defaults = {
    .run = "latest", .baseline = CBX_BASELINE_MAIN, .threshold = 0.05, .primary = NAN, .secondary = NAN, .level = 0.95
};

/* What a comparison needs; all of it freed by end(). */
typedef struct check {
    const opt_run *run;
    cbx_store *store;
    cbx_run *current, *baseline, *defs;
    cbx_waivers *waivers;
    cbx_regression *regression;
    cbx_guard *guard;
    cbx_err err;
} check;

static void end(check *c)
{
    cbx_guard_free(c->guard);
    cbx_regression_free(c->regression);
    cbx_waivers_free(c->waivers);
    cbx_run_free(c->defs);
    cbx_run_free(c->baseline);
    cbx_run_free(c->current);
    cbx_store_close(c->store);
}

static int said(const check *c, cbx_status st)
{
    return st ? opt_fail(c->run->program, "%s", c->err.message) : EXIT_PASS;
}

/* --- what is compared --- */

static int load_current(check *c)
{
    const check_args *a = c->run->args;
    cbx_store_query query = { .branch = a->select.branch, .machine = a->select.machine, .limit = 2 };
    bool some = query.branch || query.machine;
    cbx_store_list list;
    int status;

    if (strcmp(a->run, "latest") != 0)
        return some ? opt_fail(c->run->program, "--run names a run: leave --branch and --machine out")
                    : select_run(c->run, c->store, a->run, &c->current);
    if (said(c, cbx_store_query_runs(c->store, &query, &list, &c->err))) return EXIT_ERROR;
    if (!list.count)
        status = some ? opt_fail(c->run->program, "no run in '%s' is of that branch and machine",
                                 cbx_store_root(c->store))
                      : select_run(c->run, c->store, a->run, &c->current);
    else
        status = select_need_newest(c->run, c->store, &list, ", or name a run with --run");
    if (!status && list.count) status = select_run(c->run, c->store, list.entries[0].id, &c->current);
    cbx_store_list_clear(&list);
    return status;
}

/* Where the step that measures failed unseen, the latest run is one of before: it must not pass in place of what is missing. */
static int need_newer(const check *c)
{
    const check_args *a = c->run->args;

    if (strcmp(a->run, "latest") != 0 || cbx_run_timestamp_us(c->current) >= cbx_run_timestamp_us(c->baseline))
        return EXIT_PASS;
    return opt_fail(c->run->program,
                    "the latest run '%s' is older than the baseline '%s': measure anew, or name a run with --run",
                    cbx_run_id(c->current), cbx_run_id(c->baseline));
}

static int load_all(check *c)
{
    const check_args *a = c->run->args;

    if (select_open(c->run, &a->select, false, &c->store) || load_current(c)) return EXIT_ERROR;
    if (said(c, cbx_store_baseline_get(c->store, a->baseline, &c->baseline, &c->err))) return EXIT_ERROR;
    if (need_newer(c)) return EXIT_ERROR;
    if (a->waivers && said(c, cbx_waivers_read(c->run->ctx, a->waivers, &c->waivers, &c->err))) return EXIT_ERROR;
    return said(c, select_defs(c->run, c->store, &c->defs, &c->err));
}

/* --- how --- */

static int read_rules(check *c, cbx_regression_opts *opts)
{
    const check_args *a = c->run->args;
    cbx_regression_rule *rules = cbx_arena_calloc(c->run->arena, a->rules.count, sizeof(*rules));

    if (!rules) return opt_fail(c->run->program, "out of memory");
    for (size_t i = 0; i < a->rules.count; i++) {
        if (select_pair(c->run, "metric-threshold", "PATTERN", a->rules.items[i], &rules[i].metric,
                        &rules[i].threshold))
            return EXIT_ERROR;
        rules[i].minimum = NAN;
    }
    opts->rules = rules;
    opts->nrules = a->rules.count;
    return EXIT_PASS;
}

static int compare(check *c)
{
    const check_args *a = c->run->args;
    cbx_regression_opts opts = CBX_REGRESSION_OPTS_INIT;

    opts.threshold = a->threshold;
    opts.primary_threshold = a->primary;
    opts.secondary_threshold = a->secondary;
    opts.minimum = a->minimum;
    opts.level = a->level;
    opts.values_only = a->values_only;
    opts.allow_dropped = a->allow_dropped;
    opts.allow_machines = a->allow_machines;
    opts.undecided_passes = a->undecided_passes;
    opts.defs = c->defs;
    if (read_rules(c, &opts)) return EXIT_ERROR;
    if (said(c, cbx_regression_create(c->run->ctx, c->current, c->baseline, &opts, &c->regression, &c->err)))
        return EXIT_ERROR;
    if (cbx_regression_idle_rule(c->regression))
        return opt_fail(c->run->program, "--metric-threshold: no metric of the two runs fits '%s'; correct the pattern",
                        cbx_regression_idle_rule(c->regression));
    return said(c, cbx_guard_create(c->run->ctx, c->regression, c->waivers, cbx_time_now_us(), &c->guard, &c->err));
}

static void pour_out(void *user, cbx_text *out)
{
    (void)user;
    fwrite(cbx_text_str(out), 1, out->len, stdout);
    if (!out->status) cbx_text_reset(out);
}

static int write_answer(check *c, cbx_guard_format format)
{
    cbx_text text;
    int status;

    cbx_text_init(&text, cbx_ctx_allocator(c->run->ctx));
    if (format != CBX_GUARD_TEXT)
        status = said(c, cbx_guard_pour(c->guard, format, pour_out, NULL, &text, &c->err));
    else
        status = said(c, cbx_guard_write(c->guard, format, &text, &c->err));
    if (!status && format == CBX_GUARD_TEXT) print_report(cbx_text_str(&text), cbx_guard_gate(c->guard)->exit_code);
    cbx_text_clear(&text);
    return status ? status : cbx_guard_gate(c->guard)->exit_code;
}

static int run_check(const opt_run *run)
{
    const check_args *a = run->args;
    check c = { .run = run, .err = CBX_ERR_INIT };
    cbx_guard_format format = CBX_GUARD_TEXT;
    int status;

    if (a->format && !cbx_guard_format_parse(a->format, &format))
        return opt_fail(run->program, "--format: expected text, json, markdown, junit or github, found '%s'",
                        a->format);
    if (a->select.json) format = CBX_GUARD_JSON;
    status = load_all(&c);
    if (!status) status = compare(&c);
    if (!status) status = write_answer(&c, format);
    end(&c);
    return status;
}

const opt_command check_command = {
    "check",
    "--data DIR [--threshold X] [--run ID] [--baseline NAME]",
    "hold a run against a baseline",
    "Compares each metric of each point with the baseline: by samples or bounds where both runs have them, else by "
    "values. A run that is its own baseline, is of another machine, or is older than it without being named proves "
    "nothing and does not pass. "
    "Exit status 1: something is worse, or is no number; 2: something cannot be compared, or is missing now; 3: "
    "undecided.",
    check_options,
    CBX_LEN(check_options),
    sizeof(check_args),
    &check_defaults,
    0,
    run_check,
};
