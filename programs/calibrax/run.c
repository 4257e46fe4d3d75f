/*
 * calibrax run: benchmarks of a shared object, a command or a Python module into a run, their
 * targets checked.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/analysis/regression.h"
#include "calibrax/base/clock.h"
#include "calibrax/perf/sweep/benchmarks.h"
#include "calibrax/statistics/looks.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"
#include "programs/common/stop.h"

typedef struct run_args {
    cbx_benchmark_opts opts;
    const char *plugin, *module, *python, *file, *data, *baseline;
    int metrics; /* cbx_command_metrics */
    opt_list benchmarks, config, tags, defines, targets;
    double sample_ms, until_decided, threshold;
    bool list, no_keep, json;
} run_args;

#define AT(member) offsetof(run_args, member)

static const opt_spec run_options[] = {
    OPT("plugin", 0, STRING, plugin, "FILE", NULL,
        "run the benchmarks of a shared object (calibrax/bench.h, calibrax/perf/case/plugin.h)"),
    OPT("module", 'm', STRING, module, "MODULE[:CLASS]", NULL,
        "run the benchmarks of a Python module or file: classes with run_training, run_evaluation ..."),
    OPT("python", 0, STRING, python, "PROGRAM", "python3", "the Python interpreter for --module"),
    OPT("file", 'f', STRING, file, "FILE", NULL, "run the commands of a case file (docs/reference/case-files.md)"),
    OPT("benchmark", 'b', EACH, benchmarks, "NAME", "all", "run this benchmark; may be repeated"),
    OPT_SWITCH("list", 0, list, "list the benchmarks, and stop"),
    OPT("launches", 'n', POSITIVE, opts.launches, "N", "1",
        "number of launches of each, in fresh processes: the samples"),
    OPT("warmup", 'w', COUNT, opts.measure.warmup, "N", "1; 0 for a command",
        "untimed calls or batches in each launch, or untimed runs of a command before it"),
    OPT("samples", 0, POSITIVE, opts.measure.samples, "N", "30", "number of samples of timed work in a launch"),
    OPT("sample-ms", 0, NUMBER, sample_ms, "MS", "1", "minimum length of a sample of timed work; 0: one call"),
    OPT("budget", 0, NUMBER, opts.measure.budget_s, "S", "10",
        "stop taking samples of timed work after this time; 0: no limit"),
    OPT("batch-size", 0, POSITIVE, opts.measure.batch_size, "N", "32",
        "examples in a batch of a benchmark with a dataset"),
    OPT("max-batches", 0, POSITIVE, opts.measure.max_batches, "N", "all", "maximum number of batches of a launch"),
    OPT("timeout", 0, ABOVE, opts.timeout_s, "S", "none", "stop a launch that takes longer; it counts as failed"),
    OPT("allow-failed", 0, NUMBER, opts.allow_failed, "SHARE", "0",
        "share of a benchmark's launches that may fail, at least 0 and less than 1; if more fail, the exit status is "
        "2"),
    OPT("grace", 0, NUMBER, opts.grace_s, "S", "10", "time between SIGTERM and SIGKILL, for the tear-down; 0: none"),
    OPT("level", 0, SHARE, opts.level, "X", "0.95", "confidence level of the intervals over launches"),
    OPT("config", 'c', EACH, config, "KEY=VALUE", NULL,
        "pass a setting to the benchmark, and record it; VALUE is JSON if it parses as JSON, otherwise text"),
    OPT("target", 0, EACH, targets, "METRIC=VALUE", "the benchmark's",
        "target value of a metric; may be repeated; a missed target makes the exit status 1"),
    OPT("define", 0, EACH, defines, "METRIC=DIRECTION[:UNIT]", "the benchmark's",
        "direction of a metric: higher, lower or info; may be repeated"),
    OPT("metrics", 0, CHOICE, metrics, "HOW", "auto",
        "source of a command's metrics: stdout (its last line, or all of it, is a JSON object), none, or auto: stdout "
        "if it is one",
        "auto stdout none"),
    OPT("tag", 0, EACH, tags, "KEY=VALUE", NULL, "tag of each point; may be repeated"),
    OPT("name", 0, STRING, opts.name, "NAME", "the benchmark's", "name of the point"),
    OPT("scenario", 0, STRING, opts.scenario, "NAME", "the benchmark's domain", "scenario of each point"),
    OPT("trace", 0, STRING, opts.trace, "FILE", NULL,
        "write a trace that ui.perfetto.dev opens; the run's metadata names it"),
    OPT("trace-dir", 0, STRING, opts.trace_dir, "DIR", NULL,
        "folder into which the benchmarks write traces (JAX, XLA, PyTorch, Perfetto): the run's metadata refers to "
        "them"),
    OPT("data", 0, STRING, data, "STORE", NULL,
        "keep the run in this store, which is created if missing (default: CALIBRAX_DATA, else .calibrax)"),
    OPT_SWITCH("no-keep", 0, no_keep, "print the run without keeping it in a store"),
    OPT("until-decided", 0, ABOVE, until_decided, "S", NULL,
        "continue with launches until a check against the baseline is decided, or S seconds have passed; without a "
        "baseline: until a check against an equal run would be decided"),
    OPT("baseline", 0, STRING, baseline, "NAME", CBX_BASELINE_MAIN, "the baseline of --until-decided", "@baselines"),
    OPT("threshold", 0, NUMBER, threshold, "X", "0.05, which is 5 %",
        "the relative change that counts as worse or better for it"),
    OPT_SWITCH("show-output", 0, opts.show_output, "show the output of the benchmarks"),
    OPT_SWITCH("json", 0, json, "print one JSON document"),
};
static const opt_rule run_rules[] = {
    { "", OPT_NEEDS, "plugin module file @" },
    { "plugin", OPT_EXCLUDES, "module file @" },
    { "module", OPT_EXCLUDES, "file @" },
    { "file", OPT_EXCLUDES, "@" },
    { "python", OPT_NEEDS, "module @" },
    { "metrics", OPT_NEEDS, "@" },
    { "no-keep", OPT_EXCLUDES, "data until-decided" },
    { "baseline,threshold", OPT_NEEDS, "until-decided" },
};

static const run_args run_defaults = {
    .opts = CBX_BENCHMARK_OPTS_INIT, .sample_ms = 1, .baseline = CBX_BASELINE_MAIN, .threshold = 0.05
};

/* --- options as the library expects them --- */

/* A folder, written with a '/', or FILE.py where the file is not itself a program, or :NAME behind
 * one of them: its benchmarks are run. */
static bool is_python(cbx_arena *arena, const char *word)
{
    const char *end = strrchr(word, ':');
    struct stat st;
    const char *path = end && stat(word, &st) ? cbx_arena_strndup(arena, word, (size_t)(end - word)) : word;

    if (!path || stat(path, &st)) return false;
    if (S_ISDIR(st.st_mode)) return path != word || strchr(path, '/') || !strcmp(path, ".");
    return strlen(path) > 3 && !strcmp(path + strlen(path) - 3, ".py") && access(path, X_OK);
}

/* The benchmarks that the options name; a message and EXIT_ERROR where there are none. */
static int read_source(const opt_run *run, cbx_benchmark_source *out)
{
    const run_args *a = run->args;

    if (run->words->count == 1 && is_python(run->arena, run->words->items[0])) {
        out->kind = CBX_BENCHMARK_PYTHON;
        out->path = run->words->items[0];
        out->python = a->python;
        return EXIT_PASS;
    }
    if (opt_given(run, "python") && !a->module)
        return opt_fail(run, "'--python' needs '--module' or a folder of Python files, written with a '/'");
    if (run->words->count == 1 && run->words->items[0][strlen(run->words->items[0]) - !!*run->words->items[0]] == '/')
        return opt_fail(run, "there is no folder '%s'", run->words->items[0]);
    if (run->words->count) {
        cbx_benchmark_command *c = cbx_arena_calloc(run->arena, 1, sizeof *c);
        const char *slash = strrchr(run->words->items[0], '/');

        c->name = slash && slash[1] ? slash + 1 : run->words->items[0];
        c->argv = run->words->items;
        c->metrics = (cbx_command_metrics)a->metrics;
        c->warmup = opt_given(run, "warmup") ? a->opts.measure.warmup : 0;
        out->kind = CBX_BENCHMARK_COMMAND;
        out->commands = c;
        out->ncommands = 1;
        return EXIT_PASS;
    }
    if (a->file) {
        out->kind = CBX_BENCHMARK_COMMAND;
        return opt_check(
            run, cbx_benchmark_commands_read(run->ctx, a->file, run->arena, &out->commands, &out->ncommands, run->err));
    }
    out->kind = a->plugin ? CBX_BENCHMARK_OBJECT : CBX_BENCHMARK_PYTHON;
    out->path = a->plugin ? a->plugin : a->module;
    out->python = a->python;
    return EXIT_PASS;
}

/* The tags, targets, definitions and configuration that "KEY=VALUE" options give. */
typedef struct given {
    const opt_run *run;
    cbx_tag *tags;
    cbx_named_metric *targets;
    cbx_metric_def *defs;
    cbx_json *config;
} given;

static bool take_tag(given *g, size_t i, const char *key, const char *value)
{
    g->tags[i] = (cbx_tag){ key, value };
    return true;
}

static bool take_target(given *g, size_t i, const char *key, const char *value)
{
    double x;

    if (!opt_number(value, &x)) return false;
    g->targets[i] = (cbx_named_metric){ key, cbx_metric_of(x) };
    return true;
}

static bool take_def(given *g, size_t i, const char *key, const char *value)
{
    const char *colon = strchr(value, ':');
    const size_t len = colon ? (size_t)(colon - value) : strlen(value);

    g->defs[i] = (cbx_metric_def){ .name = key, .unit = colon ? colon + 1 : "" };
    return cbx_direction_parse(cbx_arena_strndup(g->run->arena, value, len), &g->defs[i].direction);
}

static bool take_config(given *g, size_t i, const char *key, const char *text)
{
    cbx_json *value = NULL;

    (void)i;
    if (strcmp(text, "null") == 0)
        cbx_json_set_null(g->config, key);
    else if (cbx_json_parse(text, strlen(text), "value", &value, NULL))
        cbx_json_set_string(g->config, key, text);
    else
        cbx_json_set(g->config, key, value);
    return true;
}

/* Reads all "KEY=VALUE" options; g->config is freed by the caller, also on failure. */
static int read_given(given *g)
{
    run_args *a = g->run->args;
    cbx_benchmark_opts *out = &a->opts;
    const struct {
        const char *option, *form;
        const opt_list *list;
        bool (*take)(given *g, size_t i, const char *key, const char *value);
    } kinds[] = {
        { "tag", "KEY=VALUE", &a->tags, take_tag },
        { "target", "METRIC=NUMBER", &a->targets, take_target },
        { "define", "METRIC=higher, lower or info, perhaps with :UNIT", &a->defines, take_def },
        { "config", "KEY=VALUE", &a->config, take_config },
    };

    out->ntags = a->tags.count;
    out->tags = g->tags = cbx_arena_calloc(g->run->arena, out->ntags, sizeof *g->tags);
    out->ntargets = a->targets.count;
    out->targets = g->targets = cbx_arena_calloc(g->run->arena, out->ntargets, sizeof *g->targets);
    out->ndefs = a->defines.count;
    out->defs = g->defs = cbx_arena_calloc(g->run->arena, out->ndefs, sizeof *g->defs);
    if (a->config.count) out->measure.config = g->config = cbx_json_new_object();
    for (size_t k = 0; k < CBX_LEN(kinds); k++)
        for (size_t i = 0; i < kinds[k].list->count; i++) {
            const char *word = kinds[k].list->items[i], *equals = strchr(word, '=');
            if (!equals || equals == word ||
                !kinds[k].take(g, i, cbx_arena_strndup(g->run->arena, word, (size_t)(equals - word)), equals + 1))
                return opt_fail(g->run, "'--%s' must be %s, got '%s'", kinds[k].option, kinds[k].form, word);
        }
    return g->config ? opt_check(g->run, cbx_json_check(g->config, g->run->err)) : EXIT_PASS;
}

/* --- how many launches --- */

/* The looks at a run in the making (statistics/looks.h): their intervals hold together, though the
 * launches end by what they show. */
typedef struct deciding {
    const opt_run *run;
    cbx_store *store;
    cbx_run *baseline, *defs; /* baseline NULL: none yet */
    cbx_looks looks;
    size_t looked, launches;
    uint64_t began_ns;
    const char *outcome; /* "decided", "undecided", "cannot be compared"; NULL: no good launch */
    cbx_status st;
    cbx_err err;
} deciding;

#define FIRST_LOOK 11 /* launches */
/* Without a baseline the run is compared with itself.  A later run differs by chance: its interval
 * must be this much narrower than the threshold to be within it in nine of ten cases, z_0.975 /
 * (z_0.975 + z_0.9). */
#define OWN_SHARE 0.6

static size_t launch_more(void *user, const cbx_run *now, size_t launches)
{
    deciding *d = user;
    const run_args *a = d->run->args;
    const double elapsed_s = 1e-9 * (double)(cbx_clock_ns() - d->began_ns);
    const double left = (double)launches * fmax(a->until_decided / elapsed_s - 1, 0); /* launches, at the rate so far */
    cbx_regression_opts opts = CBX_REGRESSION_OPTS_INIT;
    cbx_regression *r = NULL;
    size_t undecided = 0, next;

    d->launches = launches;
    if (!now) return 0;
    if (!d->looks.count) /* further than the rate of so few launches promises: a design may end early, not late */
        d->st = cbx_looks_plan(launches, launches + (size_t)fmin(4 * left, CBX_LOOKS_PAIRS - (double)launches), 0.05,
                               &d->looks, &d->err);
    opts.threshold = d->baseline ? a->threshold : OWN_SHARE * a->threshold;
    opts.level = d->st ? 0.95 : cbx_looks_level(&d->looks, d->looked++);
    opts.allow_same = !d->baseline;
    opts.defs = d->defs;
    opts.no_sentences = true;
    if (!d->st) d->st = cbx_regression_create(d->run->ctx, now, d->baseline ? d->baseline : now, &opts, &r, &d->err);
    if (d->st) return 0;
    for (size_t i = 0; i < cbx_regression_nfindings(r); i++)
        undecided += cbx_regression_finding(r, i)->outcome == CBX_OUTCOME_UNDECIDED;
    d->outcome = undecided ? "undecided" : cbx_regression_nfindings(r) ? "decided" : "cannot be compared";
    cbx_regression_free(r);
    if (!undecided || d->looked == d->looks.count || left < 1) return 0;
    next = d->looks.pairs[d->looked] - launches;
    if ((double)next <= left) return next;
    d->st = cbx_looks_end(&d->looks, d->looked, launches + (size_t)left, &d->err);
    return d->st ? 0 : (size_t)left;
}

/* Sets the options for --until-decided; close_deciding in any case. */
static int open_deciding(deciding *d)
{
    const opt_run *run = d->run;
    run_args *a = run->args;
    cbx_status st = cbx_store_open(run->ctx, a->data, NULL, &d->store, run->err);

    if (!st) st = cbx_store_baseline_get(d->store, a->baseline, &d->baseline, run->err);
    if (st == CBX_ENOENT && strcmp(a->baseline, CBX_BASELINE_MAIN) == 0) st = CBX_OK;
    if (!st) st = select_defs(run, d->store, &d->defs, run->err);
    if (st) return opt_check(run, st);
    if (a->opts.launches < FIRST_LOOK) a->opts.launches = FIRST_LOOK;
    a->opts.more = launch_more;
    a->opts.more_user = d;
    d->began_ns = cbx_clock_ns();
    return EXIT_PASS;
}

static int close_deciding(deciding *d)
{
    const run_args *a = d->run->args;
    const char *against = d->baseline ? "against the baseline" : "no baseline yet, against a run like this one";

    cbx_run_free(d->defs);
    cbx_run_free(d->baseline);
    cbx_store_close(d->store);
    if (d->st) return opt_fail(d->run, "'--until-decided': %s", d->err.message);
    if (d->outcome)
        fprintf(stderr, "%s after %zu launches, %s, threshold %.6g %%\n", d->outcome, d->launches, against,
                100 * a->threshold);
    return EXIT_PASS;
}

/* --- results --- */

static const char *shown(const char *unit, double v, char buf[64])
{
    if (strcmp(unit, "s") == 0 && isfinite(v)) return cbx_format_seconds(v, buf);
    snprintf(buf, 64, "%.6g%s%.24s", v, *unit && strcmp(unit, "1") != 0 ? " " : "", strcmp(unit, "1") != 0 ? unit : "");
    return buf;
}

static void print_metric(const opt_run *run, const cbx_run *r, const cbx_named_metric *m)
{
    const cbx_metric_def *def = cbx_run_find_metric_def(r, m->name);
    const char *unit = def ? plain_text(run->arena, def->unit) : "";
    char value[64], lower[64], upper[64];

    shown(unit, m->metric.value, value);
    /* a micro sign has two bytes and one column */
    printf("  %-20s %*s", plain_text(run->arena, m->name), 16 + (strstr(value, "\xC2\xB5") != NULL), value);
    if (isfinite(m->metric.lower) && isfinite(m->metric.upper))
        printf("  [%s, %s]", shown(unit, m->metric.lower, lower), shown(unit, m->metric.upper, upper));
    putchar('\n');
}

/* A block a point, a line a metric and a target. */
static void print_run(const opt_run *run, const cbx_benchmark_report *r)
{
    const cbx_run *made = cbx_benchmark_report_run(r);
    const cbx_json *list = made ? cbx_json_get(cbx_run_metadata(made), "benchmarks") : NULL;
    size_t ntargets, at = 0;
    const cbx_target_check *t = cbx_benchmark_report_targets(r, &ntargets);
    char text[CBX_ERR_MESSAGE_SIZE];

    for (size_t i = 0; made && i < cbx_run_npoints(made); i++) {
        const cbx_point *p = cbx_run_point(made, i);
        size_t n = 0; /* launches that did not fail: without one a benchmark has no point */
        while (!n && at < cbx_json_length(list)) n = (size_t)cbx_json_get_int(cbx_json_at(list, at++), "launches", 0);
        print_painted(PAINT_STRONG, "%s%s", i ? "\n" : "", plain_text(run->arena, p->name));
        printf("%s%s%s: %zu launch%s\n", *p->scenario ? " (" : "", plain_text(run->arena, p->scenario),
               *p->scenario ? ")" : "", n, n == 1 ? "" : "es");
        for (size_t k = 0; k < p->nmetrics; k++) print_metric(run, made, &p->metrics[k]);
    }
    for (size_t i = 0; i < ntargets; i++) {
        print_painted(t[i].outcome == CBX_TARGET_MET ? PAINT_GOOD : PAINT_BAD, "%s%-14s", i ? "" : "\n",
                      cbx_target_outcome_name(t[i].outcome));
        printf(" %s\n", plain_text(run->arena, cbx_target_sentence(&t[i], text, sizeof text)));
    }
}

static int list_benchmarks(const opt_run *run, const cbx_benchmark_source *source)
{
    const run_args *a = run->args;
    const char *const *names;
    size_t n;
    cbx_status st = cbx_benchmark_list(run->ctx, source, &a->opts, run->arena, &names, &n, run->err);

    if (st) return opt_check(run, st);
    if (!a->json) {
        for (size_t i = 0; i < n; i++) printf("%s\n", names[i]);
        return EXIT_PASS;
    }
    return print_json(run, cbx_json_document("calibrax-benchmark-list",
                                             J_TEXT("kind", cbx_benchmark_kind_name(source->kind)),
                                             J_TEXTS("benchmarks", names, n)));
}

static void print_failure(void *user, const char *benchmark, size_t launch, size_t launches,
                          const cbx_benchmark_failure *failure)
{
    const opt_run *run = user;

    if (failure)
        opt_fail(run, "warning: '%s', launch %zu of %zu failed (%s): %s", benchmark, launch, launches, failure->phase,
                 failure->message);
}

/* Results are printed in any case; then a message for each thing that could not be written, which
 * makes the exit status 2. */
static int conclude(const opt_run *run, const cbx_benchmark_report *r)
{
    const run_args *a = run->args;
    const cbx_run *made = cbx_benchmark_report_run(r);
    const char *const possible[] = { cbx_benchmark_report_trace_fault(r), cbx_benchmark_report_link_fault(r) };
    const char *faults[CBX_LEN(possible) + 1];
    size_t nfaults = 0, ntargets;
    const cbx_target_check *t = cbx_benchmark_report_targets(r, &ntargets);
    char text[CBX_ERR_MESSAGE_SIZE];
    bool kept = a->data && made;

    for (size_t i = 0; i < CBX_LEN(possible); i++)
        if (possible[i]) faults[nfaults++] = possible[i];
    if (kept && keep_run(run, a->data, made, run->err)) {
        kept = false;
        faults[nfaults++] = run->err->message;
    }
    if (a->json) {
        cbx_json *o = cbx_benchmark_report_json(r);
        cbx_json_put(o, J_TEXT("store", kept ? a->data : NULL),
                     J_INT("exit_code", (nfaults ? EXIT_ERROR : cbx_benchmark_report_exit_code(r))),
                     J_TEXTS("faults", faults, nfaults));
        if (print_json(run, o)) return EXIT_ERROR;
    } else {
        print_run(run, r);
        if (kept) fprintf(stderr, "kept as run %s in %s\n", cbx_run_id(made), a->data);
    }
    /* a terminal that shows both outputs has the targets already */
    for (size_t i = 0; (a->json || !isatty(STDOUT_FILENO) || !isatty(STDERR_FILENO)) && i < ntargets; i++)
        if (t[i].outcome != CBX_TARGET_MET) opt_fail(run, "%s", cbx_target_sentence(&t[i], text, sizeof text));
    for (size_t i = 0; i < nfaults; i++) opt_fail(run, "%s", faults[i]);
    return nfaults ? EXIT_ERROR : cbx_benchmark_report_exit_code(r);
}

static int run_run(const opt_run *run)
{
    run_args *a = run->args;
    cbx_benchmark_source source = CBX_BENCHMARK_SOURCE_INIT;
    cbx_benchmark_report *report = NULL;
    given g = { .run = run };
    deciding d = { .run = run, .err = CBX_ERR_INIT };
    int status = read_source(run, &source);

    if (!status) status = read_given(&g);
    if (!status && !a->no_keep && !a->list) {
        a->data = store_path(run, a->data);
        status = a->data ? keep_prepare(run, a->data) : EXIT_ERROR;
    }
    if (!status && a->until_decided > 0 && !a->list) status = open_deciding(&d);
    a->opts.names = a->benchmarks.items;
    a->opts.nnames = a->benchmarks.count;
    a->opts.measure.sample_s = 1e-3 * a->sample_ms;
    a->opts.stop = stop_catch();
    a->opts.progress = print_failure;
    a->opts.progress_user = (void *)(uintptr_t)run;
    if (!status && a->list) {
        status = list_benchmarks(run, &source);
    } else if (!status) {
        status = opt_check(run, cbx_benchmark_run(run->ctx, &source, &a->opts, &report, run->err));
        if (!status) status = conclude(run, report);
    }
    if (close_deciding(&d)) status = EXIT_ERROR;
    cbx_benchmark_report_free(report);
    cbx_json_unref(g.config);
    return status;
}

const opt_command run_command = {
    .name = "run",
    .synopsis = "[OPTION]... --plugin FILE | --module MODULE[:CLASS] | FOLDER[:NAME] | --file FILE | -- COMMAND "
                "[ARGUMENT]...",
    .summary = "run benchmarks, make a run of their results, and check their targets",
    .description =
        "Runs benchmarks (set-up, training or work, evaluation, tear-down), each launch in a fresh process, and makes "
        "a run of their values, times and resources, with one point for each benchmark and one sample for each launch. "
        "FOLDER, written with a '/', and the folders below it have Python files, whose benchmarks are run, or the one "
        "of that NAME. "
        "Tear-down always follows set-up. Exit status 1: a target is missed, or its metric is not a number; 2: a "
        "launch failed (see --allow-failed), a target cannot be checked (its metric is missing, or has no direction), "
        "or the store or the trace cannot be written (the results are printed in any case); 3: the interval contains "
        "the target; 130: interrupted, finished launches are kept.",
    OPT_OPTIONS_RULES(run),
    .defaults = &run_defaults,
    .flags = OPT_TAKES_WORDS,
    .word = "COMMAND",
};
