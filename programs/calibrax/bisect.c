/*
 * calibrax bisect: the commit that made a benchmark slower.
 */
#include "calibrax/ci/bisect_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"
#include "programs/common/stop.h"

typedef struct bisect_args {
    cbx_bisect_run_opts opts;
    bool json, quiet;
} bisect_args;

static const bisect_args bisect_defaults = { .opts = CBX_BISECT_RUN_OPTS_INIT };

#define AT(member) offsetof(bisect_args, member)

static const opt_spec bisect_options[] = {
    OPT("good", 'g', STRING, opts.good, "REV", NULL, "a commit that is known to be good"),
    OPT("bad", 'b', STRING, opts.bad, "REV", "HEAD", "a commit that is known to be bad"),
    OPT("build", 0, STRING, opts.build, "CMD", "nothing to build",
        "build command, run once in the worktree of each measured commit"),
    OPT("bench", 0, STRING, opts.bench, "CMD", NULL, "benchmark command, run for each value in the same worktree"),
    OPT("metric", 'm', STRING, opts.metric, "NAME", "wall time of the launch",
        "take the last number after NAME in the benchmark's output as the value"),
    OPT_SWITCH("higher-is-better", 0, opts.search.higher_is_better, "larger values are better"),
    OPT_SWITCH("any-change", 0, opts.search.any_change, "search for an improvement as well"),
    OPT_SWITCH("paired", 0, opts.paired,
               "launch the good commit next to every other commit and compare ratios, so that slow drift of the "
               "machine cancels"),
    OPT("confidence", 0, SHARE, opts.search.confidence, "P", "0.95",
        "stop at this probability that the commit found is the right one"),
    OPT("end-launches", 0, POSITIVE, opts.search.end_launches, "N", "60",
        "maximum number of launches to decide whether the good and the bad commit differ, for each of them"),
    OPT("max-launches", 0, POSITIVE, opts.search.max_launches, "N", "1000",
        "maximum number of launches in the whole search"),
    OPT("timeout", 0, ABOVE, opts.bench_timeout_s, "SECONDS", "3600", "time limit of a launch"),
    OPT("build-timeout", 0, ABOVE, opts.build_timeout_s, "SECONDS", "3600", "time limit of a build"),
    OPT("keep-builds", 0, POSITIVE, opts.keep_builds, "N", "16", "number of built worktrees to keep"),
    OPT("repository", 'C', STRING, opts.repository, "DIR", "the current folder", "the repository"),
    OPT_SWITCH("resume", 0, opts.resume,
               "continue from the state file; otherwise an existing file is renamed to FILE.before"),
    OPT("state", 0, STRING, opts.state_path, "FILE", "a file in the cache folder",
        "file in which all measurements are kept"),
    OPT("scratch", 0, STRING, opts.scratch, "DIR", "the cache folder", "folder for temporary worktrees"),
    OPT_SWITCH("quiet", 'q', quiet, "print no progress on standard error"),
    OPT_SWITCH("json", 0, json, "print one JSON document"),
};
static const opt_rule bisect_rules[] = { { "", OPT_NEEDS, "good" }, { "", OPT_NEEDS, "bench" } };

static void progress(void *user, const cbx_bisect_progress *p)
{
    (void)user;
    switch (p->step) {
    case CBX_BISECT_BUILDING: fprintf(stderr, "%.12s  build\n", p->commit); break;
    case CBX_BISECT_BROKE: fprintf(stderr, "%.12s  left out: %s\n", p->commit, p->reason); break;
    case CBX_BISECT_LAUNCHED:
        fprintf(stderr, "%.12s  %.6g", p->commit, p->value);
        if (isfinite(p->probability)) fprintf(stderr, "  the most probable commits have %.1f %%", 100 * p->probability);
        fputc('\n', stderr);
        break;
    }
}

static const char *subject_of(const opt_run *run, const bisect_args *a, const char *hash)
{
    const char *text = "";
    (void)cbx_bisect_subject(run->ctx, a->opts.repository, hash, run->arena, &text, NULL);
    return text;
}

static cbx_json *result_json(const opt_run *run, const bisect_args *a, cbx_bisect *b, const cbx_bisect_result *r)
{
    cbx_json *o = cbx_json_document("calibrax-bisection", J_TEXT("outcome", cbx_bisect_outcome_name(r->outcome)),
                                    J_TEXT("good", cbx_bisect_name(b, CBX_BISECT_GOOD_END)),
                                    J_TEXT("bad", cbx_bisect_name(b, cbx_bisect_count(b) - 1)),
                                    J_INT("candidates", cbx_bisect_count(b)), J_NUMBER("probability", r->probability),
                                    J_NUMBER("change", r->change), J_NUMBER("change_error", r->change_error),
                                    J_NUMBER("noise", r->noise), J_BOOL("relative", r->relative),
                                    J_NUMBER("odds", r->odds), J_INT("launches", r->launches),
                                    J_INT("end_launches", r->end_launches), J_INT("broken_commits", r->broken));
    cbx_json *list = cbx_json_set_array(o, "suspects");
    for (size_t i = 0; i < r->nsuspects; i++) {
        const size_t commit = r->suspects[i];
        const char *name = cbx_bisect_name(b, commit);
        cbx_json_put(cbx_json_push_object(list), J_TEXT("commit", name), J_TEXT("subject", subject_of(run, a, name)),
                     J_NUMBER("probability", cbx_bisect_probability(b, commit)),
                     J_INT("launches", cbx_bisect_launches_at(b, commit)),
                     J_TEXT("broken", cbx_bisect_reason(b, commit)));
    }
    return o;
}

static void print_result(const opt_run *run, const bisect_args *a, cbx_bisect *b, const cbx_bisect_result *r)
{
    static const char *const heads[] = {
        [CBX_BISECT_RUNNING] = "not decided yet",
        [CBX_BISECT_FOUND] = "the first bad commit is",
        [CBX_BISECT_UNCHANGED] = "the good and the bad commit do not differ: there is no change to find",
        [CBX_BISECT_SWAPPED] = "the bad commit is better than the good one: swap them, or search with --any-change",
        [CBX_BISECT_UNDECIDED] = "undecided: more launches are needed (--max-launches, --end-launches, --resume)",
        [CBX_BISECT_BROKEN_END] = "the good or the bad commit cannot be measured",
    };
    const char *good = cbx_bisect_reason(b, CBX_BISECT_GOOD_END), *bad = cbx_bisect_reason(b, cbx_bisect_count(b) - 1);

    print_painted(PAINT_STRONG, "%s%s\n", heads[r->outcome],
                  r->outcome == CBX_BISECT_FOUND && r->nsuspects > 1 ? " one of" : "");
    for (size_t i = 0; i < r->nsuspects; i++) {
        const char *name = cbx_bisect_name(b, r->suspects[i]), *reason = cbx_bisect_reason(b, r->suspects[i]);
        printf("%s %s", name, plain_text(run->arena, subject_of(run, a, name)));
        if (r->nsuspects > 1 && !reason) printf("  [%.1f %%]", 100 * cbx_bisect_probability(b, r->suspects[i]));
        if (reason) printf("  [%s]", plain_text(run->arena, reason));
        putchar('\n');
    }
    if (good) printf("good commit: %s\n", good);
    if (bad) printf("bad commit: %s\n", bad);
    if (isfinite(r->change)) {
        if (r->relative)
            printf("change: %+.6g %% (standard error %.6g %%), noise of a launch %.6g %%\n", 100 * r->change,
                   100 * r->change_error, 100 * r->noise);
        else
            printf("change: %+.6g (standard error %.6g), noise of a launch %.6g\n", r->change, r->change_error,
                   r->noise);
    }
    if (isfinite(r->probability)) printf("probability: %.1f %%, ", 100 * r->probability);
    printf("%zu launches, %zu commits, %zu of them broken\n", r->launches, cbx_bisect_count(b), r->broken);
}

static int run_bisect(const opt_run *run)
{
    bisect_args *a = run->args;
    static const int statuses[] = {
        [CBX_BISECT_RUNNING] = EXIT_UNDECIDED,   [CBX_BISECT_FOUND] = EXIT_PASS,
        [CBX_BISECT_UNCHANGED] = EXIT_ERROR,     [CBX_BISECT_SWAPPED] = EXIT_ERROR,
        [CBX_BISECT_UNDECIDED] = EXIT_UNDECIDED, [CBX_BISECT_BROKEN_END] = EXIT_ERROR,
    };
    cbx_bisect_result r;
    cbx_bisect *b = NULL;
    int status = EXIT_PASS;

    if (!a->opts.bad) a->opts.bad = "HEAD";
    a->opts.stop = stop_catch();
    a->opts.progress = a->quiet ? NULL : progress;
    if (cbx_bisect_run(run->ctx, &a->opts, &b, run->err)) {
        bool interrupted = run->err->status == CBX_EINTERRUPTED;
        opt_fail(run, "%s%s", run->err->message, interrupted ? "; '--resume' continues the search" : "");
        return interrupted ? EXIT_STOPPED : EXIT_ERROR;
    }
    cbx_bisect_read(b, &r);
    if (a->json)
        status = print_json(run, result_json(run, a, b, &r));
    else
        print_result(run, a, b, &r);
    if (!status) status = statuses[r.outcome];
    cbx_bisect_free(b);
    return status;
}

const opt_command bisect_command = {
    .name = "bisect",
    .synopsis = "--good REV [--bad REV] [--build CMD] --bench CMD [OPTION]...",
    .summary = "find the commit that made a benchmark slower",
    .description =
        "Searches the commits between a good and a bad one for the first whose benchmark is worse. The good and the "
        "bad commit are measured first; each further launch measures the commit that is expected to narrow the search "
        "most, until one commit is the answer with the requested confidence. Merges are followed, commits that do not "
        "build are skipped, and the checkout is never changed: commits are built in separate worktrees. Exit status 0: "
        "found; 2: no change to find, or an error; 3: undecided; 130: interrupted, --resume continues.",
    OPT_OPTIONS_RULES(bisect),
    .defaults = &bisect_defaults,
};
