/*
 * calibrax run: benchmarks of a shared object, a command or a Python module into a run, their targets checked.
 */
#include "programs/calibrax/run.h"

#include <unistd.h>

#include "calibrax/storage/store.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/keep.h"
#include "programs/common/output.h"
#include "programs/common/stop.h"

#define AT(member) offsetof(run_args, member)

static const opt_spec run_options[] = {
    { "plugin", 0, OPT_STRING, AT(plugin), "FILE", NULL,
      "run the benchmarks of a shared object (calibrax/bench.h, calibrax/perf/case/plugin.h)" },
    { "module", 'm', OPT_STRING, AT(module), "MODULE[:CLASS]", NULL,
      "run the benchmarks of a Python module or file: classes with run_training, run_evaluation ..." },
    { "python", 0, OPT_STRING, AT(python), "PROGRAM", "python3", "the interpreter for --module" },
    { "file", 'f', OPT_STRING, AT(file), "FILE", NULL, "run the commands that this JSON file describes" },
    { "benchmark", 'b', OPT_EACH, AT(benchmarks), "NAME", "all", "run this benchmark; may be repeated" },
    { "list", 0, OPT_FLAG, AT(list), NULL, NULL, "list the benchmarks, and stop" },
    { "launches", 'n', OPT_POSITIVE, AT(launches), "N", "1",
      "number of launches of each, in fresh processes: the samples" },
    { "warmup", 'w', OPT_COUNT, AT(warmup), "N", "1; 0 for a command",
      "calls or batches, or runs of a command before each launch, that do not count" },
    { "samples", 0, OPT_POSITIVE, AT(samples), "N", "30", "number of samples of timed work in a launch" },
    { "sample-ms", 0, OPT_NUMBER, AT(sample_ms), "MS", "1", "minimum length of a sample of timed work; 0: one call" },
    { "budget", 0, OPT_NUMBER, AT(budget), "S", "10", "take no more samples of timed work after so many seconds" },
    { "batch-size", 0, OPT_POSITIVE, AT(batch_size), "N", "32", "examples in a batch of a benchmark with a dataset" },
    { "max-batches", 0, OPT_POSITIVE, AT(max_batches), "N", "all", "maximum number of batches of a launch" },
    { "timeout", 0, OPT_ABOVE, AT(timeout), "S", "none", "stop a launch that takes longer; it has failed" },
    { "allow-failed", 0, OPT_NUMBER, AT(allow_failed), "SHARE", "0",
      "share of a benchmark's launches that may fail, at least 0 and below 1; if more fail, the exit status is 2" },
    { "grace", 0, OPT_NUMBER, AT(grace), "S", "10", "time to tear down between SIGTERM and SIGKILL" },
    { "level", 0, OPT_SHARE, AT(level), "X", "0.95", "level of the intervals over launches" },
    { "config", 'c', OPT_EACH, AT(config), "KEY=VALUE", NULL,
      "pass to the benchmark, and keep; a VALUE that is JSON counts as such, all else as text" },
    { "target", 0, OPT_EACH, AT(targets), "METRIC=VALUE", "the benchmark's",
      "a value to reach; may be repeated; a missed one makes the exit status 1" },
    { "define", 0, OPT_EACH, AT(defines), "METRIC=DIRECTION[:UNIT]", "the benchmark's",
      "direction of a metric: higher, lower or info; may be repeated" },
    { "metrics", 0, OPT_CHOICE, AT(metrics), "HOW", "auto",
      "of a command: stdout (its last line, or all of it, is a JSON object), none, or auto: stdout where it is one",
      "auto stdout none" },
    { "tag", 0, OPT_EACH, AT(tags), "KEY=VALUE", NULL, "tag of each point; may be repeated" },
    { "name", 0, OPT_STRING, AT(name), "NAME", "the benchmark's", "name of the point" },
    { "scenario", 0, OPT_STRING, AT(scenario), "NAME", "the benchmark's domain", "scenario of each point" },
    { "trace", 0, OPT_STRING, AT(trace), "FILE", NULL,
      "write a trace that ui.perfetto.dev opens; the run's metadata names it" },
    { "trace-dir", 0, OPT_STRING, AT(trace_dir), "DIR", NULL,
      "folder of traces that the benchmarks write (JAX, XLA, PyTorch, Perfetto): the run's metadata refers to them" },
    { "data", 0, OPT_STRING, AT(data), "STORE", NULL, "keep the run in this store, which is made if missing" },
    { "show-output", 0, OPT_FLAG, AT(show_output), NULL, NULL, "show the output of what is run" },
    { "json", 0, OPT_FLAG, AT(json), NULL, NULL, "print one JSON document" },
};
static const opt_rule run_rules[] = {
    { "", OPT_NEEDS, "plugin module file @" }, { "plugin", OPT_EXCLUDES, "module file @" },
    { "module", OPT_EXCLUDES, "file @" },      { "file", OPT_EXCLUDES, "@" },
    { "python", OPT_NEEDS, "module" },         { "metrics", OPT_NEEDS, "@" },
};

static const run_args run_defaults = { .launches = 1,
                                       .warmup = SIZE_MAX,
                                       .samples = 30,
                                       .sample_ms = 1,
                                       .budget = 10,
                                       .batch_size = 32,
                                       .grace = 10,
                                       .level = 0.95 };

/* --- listing --- */

static int list_benchmarks(const opt_run *run, const cbx_benchmark_source *source, const cbx_benchmark_opts *o)
{
    const run_args *a = run->args;
    const char *const *names;
    size_t n;
    cbx_json *document, *list;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_benchmark_list(run->ctx, source, o, run->arena, &names, &n, &err);

    if (st == CBX_EINTERRUPTED) return EXIT_STOPPED;
    if (st) return opt_fail(run->program, "%s", err.message);
    if (!a->json) {
        for (size_t i = 0; i < n; i++) printf("%s\n", names[i]);
        return EXIT_PASS;
    }
    document = cbx_json_new_object();
    list = cbx_json_new_array();
    cbx_json_set_string(document, "schema", "calibrax-benchmark-list");
    cbx_json_set_int(document, "version", 1);
    cbx_json_set_string(document, "kind", cbx_benchmark_kind_name(source->kind));
    for (size_t i = 0; i < n; i++) cbx_json_push(list, cbx_json_new_string(names[i]));
    cbx_json_set(document, "benchmarks", list);
    return print_json(run->program, document);
}

/* --- running --- */

static void say_progress(void *user, const char *benchmark, size_t launch, size_t launches,
                         const cbx_benchmark_failure *failure)
{
    const opt_run *run = user;

    if (failure)
        opt_fail(run->program, "warning: '%s', launch %zu of %zu failed (%s): %s", benchmark, launch, launches,
                 failure->phase, failure->message);
}

/* What stands between a met target and the user's eye; where both outputs are a terminal's, it has just seen them. */
static void say_targets(const opt_run *run, const cbx_benchmark_report *r)
{
    size_t n;
    const cbx_target_check *t = cbx_benchmark_report_targets(r, &n);
    char text[CBX_ERR_MESSAGE_SIZE];
    const run_args *a = run->args;

    if (!a->json && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO)) return;
    for (size_t i = 0; i < n; i++) {
        if (t[i].outcome != CBX_TARGET_MET) opt_fail(run->program, "%s", cbx_target_sentence(&t[i], text, sizeof text));
    }
}

/* What was measured is told in any case; what could not be written is told behind it, and makes the exit status 2. */
static int conclude(const opt_run *run, const cbx_benchmark_report *r)
{
    const run_args *a = run->args;
    const cbx_run *made = cbx_benchmark_report_run(r);
    const char *const told[] = { cbx_benchmark_report_trace_fault(r), cbx_benchmark_report_link_fault(r) };
    const char *faults[CBX_LEN(told) + 1];
    size_t nfaults = 0;
    cbx_err err = CBX_ERR_INIT;
    bool kept = a->data && made;

    for (size_t i = 0; i < CBX_LEN(told); i++)
        if (told[i]) faults[nfaults++] = told[i];
    if (kept && keep_run(run, a->data, made, &err)) {
        kept = false;
        faults[nfaults++] = err.message;
    }
    if (a->json) {
        cbx_json *o = cbx_benchmark_report_json(r);
        cbx_json_set_string(o, "store", kept ? a->data : NULL);
        cbx_json_set_int(o, "exit_code", nfaults ? EXIT_ERROR : cbx_benchmark_report_exit_code(r));
        cbx_json_set(o, "faults", sentences_json(faults, nfaults));
        if (print_json(run->program, o)) return EXIT_ERROR;
    } else {
        run_print(run, r);
        if (kept) fprintf(stderr, "kept as run %s in %s\n", cbx_run_id(made), a->data);
    }
    say_targets(run, r);
    for (size_t i = 0; i < nfaults; i++) opt_fail(run->program, "%s", faults[i]);
    return nfaults ? EXIT_ERROR : cbx_benchmark_report_exit_code(r);
}

static int run_run(const opt_run *run)
{
    const run_args *a = run->args;
    cbx_benchmark_source source = CBX_BENCHMARK_SOURCE_INIT;
    cbx_benchmark_opts o = CBX_BENCHMARK_OPTS_INIT;
    cbx_benchmark_report *report = NULL;
    cbx_json *config = NULL;
    cbx_err err = CBX_ERR_INIT;
    int status = run_read_source(run, &source);

    if (!status) status = run_read_opts(run, &o, &config);
    if (!status && a->data && !a->list) status = keep_prepare(run, a->data);
    if (!status) {
        o.stop = stop_catch();
        o.progress = say_progress;
        o.progress_user = (void *)(uintptr_t)run;
        if (a->list)
            status = list_benchmarks(run, &source, &o);
        else if (cbx_benchmark_run(run->ctx, &source, &o, &report, &err))
            status = opt_fail(run->program, "%s", err.message);
        else
            status = conclude(run, report);
    }
    cbx_benchmark_report_free(report);
    cbx_json_unref(config);
    return status;
}

const opt_command run_command = {
    .name = "run",
    .synopsis = "[OPTION]... --plugin FILE | --module MODULE[:CLASS] | --file FILE | -- COMMAND [ARGUMENT]...",
    .summary = "run benchmarks, make a run of their results, and check their targets",
    .description = "Runs benchmarks (set-up, training or work, evaluation, tear-down), each launch in a fresh process, "
                   "and makes a run of their values, "
                   "times and resources: a point a benchmark, a sample a launch. Tear-down always follows set-up. Exit "
                   "status 1: a target is missed, or its "
                   "metric is not a number; 2: a launch failed (--allow-failed), or a target cannot be checked (its "
                   "metric is missing, or has no direction), or the store or the trace cannot "
                   "be written (the results are printed all the same); 3: the interval holds the target; 130: "
                   "interrupted, and finished launches are kept.",
    .options = run_options,
    .noptions = CBX_LEN(run_options),
    .args_size = sizeof(run_args),
    .defaults = &run_defaults,
    .flags = OPT_TAKES_WORDS,
    .run = run_run,
    .rules = run_rules,
    .nrules = CBX_LEN(run_rules),
    .word = "COMMAND",
};
