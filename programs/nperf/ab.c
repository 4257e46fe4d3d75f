/*
 * nperf ab: two revisions of a repository, built apart and launched in turns.
 */
#include "calibrax/ci/compare.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "programs/common/stop.h"
#include "programs/nperf/nperf.h"

typedef struct ab_args {
    const char *build, *bench, *metric, *repository, *out;
    size_t launches, seed;
    double level, margin, build_timeout, bench_timeout, lock_wait;
    bool json;
} ab_args;

#define AT(member) offsetof(ab_args, member)

static const opt_spec ab_options[] = {
    { "build", 'b', OPT_STRING, AT(build), "CMD", "nothing to build", "run once in the root of each worktree" },
    { "bench", 'r', OPT_STRING, AT(bench), "CMD", NULL, "what is measured, run in the root of each worktree" },
    { "metric", 'm', OPT_STRING, AT(metric), "NAME", "wall time",
      "a cost: the last number behind this name in what it prints" },
    { "launches", 'n', OPT_POSITIVE, AT(launches), "N", "25", "of each revision" },
    { "repository", 0, OPT_STRING, AT(repository), "DIR", "the current folder", "the git repository; it is only read" },
    { "margin", 0, OPT_NUMBER, AT(margin), "X", "0.02", "a change whose interval is within it counts as none" },
    { "level", 0, OPT_NUMBER, AT(level), "X", "0.95", "of the interval" },
    { "build-timeout", 0, OPT_NUMBER, AT(build_timeout), "SECONDS", "3600", "longest build" },
    { "timeout", 0, OPT_NUMBER, AT(bench_timeout), "SECONDS", "3600", "longest launch" },
    { "lock-wait", 0, OPT_NUMBER, AT(lock_wait), "SECONDS", "3600",
      "longest wait for cores that another invocation holds" },
    { "seed", 's', OPT_COUNT, AT(seed), "N", "0", "of the layout of launches" },
    { "out", 'o', OPT_STRING, AT(out), "FILE", NULL, "everything measured, as JSON" },
    { "json", 0, OPT_FLAG, AT(json), NULL, NULL, "print the JSON instead of words" },
};

static void show(void *user, const char *words, size_t done, size_t total)
{
    bool *terminal = user;

    if (*terminal)
        fprintf(stderr, "\r\033[K%zu of %zu launches: %.100s", done, total, words ? words : "");
    else if (!done)
        fprintf(stderr, "%s\n", words ? words : "");
}

static void print_side(const char *rev, const char *hash, const cbx_interval *median, bool seconds)
{
    char value[CBX_FORMAT_SIZE], lower[CBX_FORMAT_SIZE], upper[CBX_FORMAT_SIZE];

    if (seconds)
        printf("%-24s %.12s  %s [%s, %s]\n", rev, hash, cbx_format_seconds(median->value, value),
               cbx_format_seconds(median->lower, lower), cbx_format_seconds(median->upper, upper));
    else
        printf("%-24s %.12s  %.6g [%.6g, %.6g]\n", rev, hash, median->value, median->lower, median->upper);
}

static int write_json(const opt_run *run, const ab_args *a, const cbx_compare_opts *o, const cbx_compare_result *r)
{
    cbx_json *document = cbx_compare_json(o, r);
    int status = EXIT_PASS;
    cbx_text text;

    if (!document) return opt_fail(run->program, "out of memory");
    cbx_text_init(&text, cbx_ctx_allocator(run->ctx));
    cbx_json_write(document, CBX_JSON_INDENT2 | CBX_JSON_NONFINITE_STRING, &text);
    cbx_text_putc(&text, '\n');
    if (a->out) status = write_text(run->program, run->ctx, a->out, &text);
    if (!status && a->json) fputs(cbx_text_str(&text), stdout);
    cbx_text_clear(&text);
    cbx_json_unref(document);
    return status;
}

static int run_ab(const opt_run *run)
{
    static const int codes[] = { [CBX_VERDICT_UNDECIDED] = EXIT_UNDECIDED,
                                 [CBX_VERDICT_FASTER] = EXIT_PASS,
                                 [CBX_VERDICT_SLOWER] = EXIT_CHECK,
                                 [CBX_VERDICT_EQUIVALENT] = EXIT_PASS };
    const ab_args *a = run->args;
    cbx_compare_opts opts = CBX_COMPARE_OPTS_INIT;
    cbx_compare_result result;
    cbx_err err = CBX_ERR_INIT;
    bool terminal = isatty(STDERR_FILENO);
    cbx_status st;
    int status;

    if (run->words->count != 2) return opt_fail(run->program, "ab needs two revisions, found %zu", run->words->count);
    if (!a->bench) return opt_fail(run->program, "ab needs a command to measure: --bench CMD");
    opts.a = run->words->items[0];
    opts.b = run->words->items[1];
    opts.repository = a->repository;
    opts.build = a->build;
    opts.bench = a->bench;
    opts.metric = a->metric;
    opts.launches = a->launches;
    opts.level = a->level;
    opts.margin = a->margin;
    opts.build_timeout_s = a->build_timeout;
    opts.bench_timeout_s = a->bench_timeout;
    opts.lock_wait_s = a->lock_wait;
    opts.seed = a->seed;
    opts.stop = stop_catch();
    opts.progress = show;
    opts.user = &terminal;
    st = cbx_revisions_compare(run->ctx, &opts, run->arena, &result, &err);
    if (terminal) fputs("\r\033[K", stderr);
    if (st == CBX_EINTERRUPTED) {
        opt_fail(run->program, "%s", err.message);
        return EXIT_STOPPED;
    }
    if (st) return opt_fail(run->program, "%s", err.message);
    status = a->out || a->json ? write_json(run, a, &opts, &result) : EXIT_PASS;
    if (!status && !a->json) {
        print_side(opts.a, result.hash[0], &result.median[0], !opts.metric);
        print_side(opts.b, result.hash[1], &result.median[1], !opts.metric);
        printf("\n%s over %s: %.4f [%.4f, %.4f] by %zu pairs, p %.2g: %s\n", opts.b, opts.a, result.ratio.value,
               result.ratio.lower, result.ratio.upper, result.rounds, result.p, cbx_verdict_name(result.verdict));
    }
    return status ? status : codes[result.verdict];
}

static const ab_args defaults = { .margin = NAN };

const opt_command ab_command = {
    "ab",
    "REV_A REV_B --bench CMD [--build CMD] [OPTION]...",
    "measure two revisions of a repository in turns",
    "Builds both revisions in worktrees of its own, launches the benchmark of one and the other in turns, and prints "
    "what changed, with the "
    "interval of the ratio. The checkout is only read. Exit status 0: B is faster or equivalent; 1: slower; 3: "
    "undecided.",
    ab_options,
    CBX_LEN(ab_options),
    sizeof(ab_args),
    &defaults,
    OPT_TAKES_WORDS,
    run_ab,
};
