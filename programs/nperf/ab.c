/*
 * nperf ab: two revisions of a repository, built apart and launched in turns.
 */
#include "calibrax/ci/compare.h"

#include <stdio.h>
#include <unistd.h>

#include "programs/common/stop.h"
#include "programs/nperf/nperf.h"

typedef struct ab_args {
    cbx_compare_opts o;
    const char *out;
    bool json;
} ab_args;

#define AT(member) offsetof(ab_args, member)

static const opt_spec ab_options[] = {
    OPT("build", 'b', STRING, o.build, "CMD", "nothing to build",
        "build command, run once in the root of each worktree"),
    OPT("bench", 'r', STRING, o.bench, "CMD", NULL, "benchmark command, run in the root of each worktree"),
    OPT("metric", 'm', STRING, o.metric, "NAME", "wall time",
        "take the last number after NAME in the benchmark's output as the value; smaller is better"),
    OPT("launches", 'n', POSITIVE, o.launches, "N", "25", "number of launches of each revision"),
    OPT("repository", 0, STRING, o.repository, "DIR", "the current folder", "the git repository; it is only read"),
    OPT("margin", 0, NUMBER, o.margin, "X", "0.02",
        "a change whose whole interval is within this counts as equivalent"),
    OPT("level", 0, NUMBER, o.level, "X", "0.95", "confidence level of the interval"),
    OPT("build-timeout", 0, NUMBER, o.build_timeout_s, "SECONDS", "3600", "time limit of a build"),
    OPT("timeout", 0, NUMBER, o.bench_timeout_s, "SECONDS", "3600", "time limit of a launch"),
    OPT("lock-wait", 0, NUMBER, o.lock_wait_s, "SECONDS", "3600", "maximum time to wait for cores that are in use"),
    OPT("seed", 's', COUNT, o.seed, "N", "0", "seed of the layout of launches"),
    OPT("out", 'o', STRING, out, "FILE", NULL, "write all measurements as JSON"),
    OPT_SWITCH("json", 0, json, "print JSON instead of text"),
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

static int run_ab(const opt_run *run)
{
    static const int codes[] = { [CBX_VERDICT_UNDECIDED] = EXIT_UNDECIDED,
                                 [CBX_VERDICT_FASTER] = EXIT_PASS,
                                 [CBX_VERDICT_SLOWER] = EXIT_CHECK,
                                 [CBX_VERDICT_EQUIVALENT] = EXIT_PASS };
    ab_args *a = run->args;
    cbx_compare_opts *o = &a->o;
    cbx_compare_result result;
    SCOPED(cbx_json) *document = NULL;
    bool terminal = isatty(STDERR_FILENO);
    int status = EXIT_PASS;

    if (run->words->count != 2) return opt_fail(run, "'ab' needs two revisions, got %zu", run->words->count);
    if (!o->bench) return opt_fail(run, "'ab' needs a command to measure: --bench CMD");
    o->a = run->words->items[0];
    o->b = run->words->items[1];
    o->stop = stop_catch();
    o->progress = show;
    o->user = &terminal;
    cbx_status st = cbx_revisions_compare(run->ctx, o, run->arena, &result, run->err);
    if (terminal) fputs("\r\033[K", stderr);
    if (st) {
        opt_fail(run, "%s", run->err->message);
        return st == CBX_EINTERRUPTED ? EXIT_STOPPED : EXIT_ERROR;
    }
    document = cbx_compare_json(o, &result);
    if (a->out) status = write_json(run, a->out, document);
    if (!status && a->json) status = print_json(run, cbx_json_ref(document));
    if (!status && !a->json) {
        print_side(o->a, result.hash[0], &result.median[0], !o->metric);
        print_side(o->b, result.hash[1], &result.median[1], !o->metric);
        printf("\n%s over %s: %.4f [%.4f, %.4f] by %zu pairs, p %.2g: %s\n", o->b, o->a, result.ratio.value,
               result.ratio.lower, result.ratio.upper, result.rounds, result.p, cbx_verdict_name(result.verdict));
    }
    return status ? status : codes[result.verdict];
}

const opt_command ab_command = {
    .name = "ab",
    .synopsis = "REV_A REV_B --bench CMD [--build CMD] [OPTION]...",
    .summary = "measure two revisions of a repository in turns",
    .description = "Builds both revisions in worktrees of its own, launches the benchmark of one and the other in "
                   "turns, and prints what changed, with the interval of the ratio. The checkout is not changed. Exit "
                   "status 0: B is faster or equivalent; 1: slower; 3: undecided.",
    OPT_OPTIONS(ab),
    .defaults = &(const ab_args){ .o = CBX_COMPARE_OPTS_INIT },
    .flags = OPT_TAKES_WORDS,
};
