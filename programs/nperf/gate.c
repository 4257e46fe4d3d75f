/*
 * nperf gate: rows against baseline rows.  perf/gate/gate.h decides, ci/guard.h applies waivers and
 * writes, as for calibrax check.
 */
#include "programs/nperf/measure.h"

#include <stdio.h>

#include "calibrax/base/clock.h"
#include "calibrax/ci/guard.h"

#define AT(member) offsetof(gate_args, member)

static const opt_spec gate_options[] = {
    OPT("baseline", 'b', WORDS, baseline, "PATH", NULL,
        "read baseline rows from these files, or folders such as a store"),
    OPT("current", 'c', WORDS, current, "PATH", "results/store",
        "read the rows under test from these files or folders"),
    OPT("threshold", 't', NUMBER, how.threshold, "X", "0.01",
        "relative change of the time that counts if it is significant over launches"),
    OPT("margin", 'm', NUMBER, how.margin, "X", "0.05", "a change whose whole interval is within this passes"),
    OPT("min", 0, NUMBER, how.min_ratio, "RATIO", "1.10 for rows without launches",
        "also compare minimum times: a ratio above this is a regression"),
    OPT("p95", 0, NUMBER, how.p95_ratio, "RATIO", "1.25 for rows without launches", "also compare 95th percentiles"),
    OPT("memory", 0, NUMBER, how.memory, "X", "0.10", "relative growth of memory that counts, if it is at least 8 MB"),
    OPT("compile", 0, NUMBER, how.compile, "X", "0.50",
        "relative growth of compile time that counts, if it is at least 0.1 s"),
    OPT("fidelity", 0, NUMBER, how.fidelity, "X", "1.0",
        "relative growth of the error that counts, if it is at least 0.05 of its bound"),
    OPT("level", 0, NUMBER, how.level, "X", "0.95",
        "confidence level of the intervals, and of the correction over the table"),
    OPT_SWITCH("allow-dropped", 0, how.allow_dropped, "do not fail if keys of the baseline are missing"),
    OPT_SWITCH("allow-other-machine", 0, how.allow_machines, "compare rows of different machines, with a note"),
    OPT_SWITCH("allow-older", 0, how.allow_older, "accept rows under test that are older than the baseline's"),
    OPT_SWITCH("undecided-passes", 0, how.undecided_passes, "do not fail if a finding is undecided"),
    OPT("waivers", 0, STRING, waivers, "FILE", NULL, "file of findings that are accepted until a date"),
    OPT("out", 'o', STRING, out, "FILE", "results/gate.json", "write the findings as JSON"),
    OPT("report", 0, STRING, report, "FILE", "results/gate.md", "write the findings as markdown, at most 60 kB"),
    OPT("junit", 0, STRING, junit, "FILE", NULL, "write the findings as JUnit XML"),
    OPT_SWITCH("github", 0, github, "print workflow commands instead of text"),
    OPT_SWITCH("json", 0, json, "print JSON instead of text"),
};

CBX_FREED_BY(cbx_guard, cbx_guard_free)
CBX_FREED_BY(cbx_regression, cbx_regression_free)
CBX_FREED_BY(cbx_waivers, cbx_waivers_free)

/* Writes the answer to a file, or prints it where path is NULL. */
static int write_answer(const opt_run *run, const cbx_guard *guard, cbx_guard_format format, const char *path)
{
    SCOPED_TEXT(text, cbx_ctx_allocator(run->ctx));
    int status = opt_check(run, cbx_guard_write(guard, format, &text, run->err));

    if (status || path) return status ? status : write_text(run, path, &text);
    if (format == CBX_GUARD_TEXT)
        print_report(cbx_text_str(&text), cbx_guard_gate(guard)->exit_code);
    else
        fputs(cbx_text_str(&text), stdout);
    return EXIT_PASS;
}

int gate_rows(const opt_run *run, const gate_args *a)
{
    static const char *const store[] = { "results/store" };
    const opt_list current = a->current.count ? a->current : (opt_list){ store, 1 };
    SCOPED_ROWS(baseline, run);
    SCOPED_ROWS(now, run);
    cbx_ctx *own = NULL; /* both sides are read at a time */
    SCOPED(cbx_waivers) *waivers = NULL;
    SCOPED(cbx_regression) *regression = NULL;
    SCOPED(cbx_guard) *guard = NULL;
    cbx_row_gate_facts facts;

    if (!a->baseline.count) return opt_fail(run, "'--baseline' is missing: name the baseline rows");
    if (a->json && a->github) return opt_fail(run, "'--json' and '--github' exclude each other");
    if (cbx_ctx_create(NULL, &own, run->err)) return opt_fail(run, "%s", run->err->message);
    int status = attempts_of_both(run, (const row_side[2]){ { "--baseline", &a->baseline, own, &baseline },
                                                            { "--current", &current, run->ctx, &now } });
    cbx_ctx_free(own);
    if (status) return status;
    if ((a->waivers && cbx_waivers_read(run->ctx, a->waivers, &waivers, run->err)) ||
        cbx_row_gate(run->ctx, &baseline, &now, &a->how, &regression, &facts, run->err) ||
        cbx_guard_create(run->ctx, regression, waivers, cbx_time_now_us(), &guard, run->err))
        return opt_fail(run, "%s", run->err->message);
    if (facts.apart[0]) opt_fail(run, "%s", facts.apart);
    if (facts.other_machines)
        fprintf(stderr, "note: %zu keys of the baseline are of other machines and were left out\n",
                facts.other_machines);
    status = write_answer(run, guard, CBX_GUARD_JSON, a->out);
    if (!status) status = write_answer(run, guard, CBX_GUARD_MARKDOWN, a->report);
    if (!status && a->junit) status = write_answer(run, guard, CBX_GUARD_JUNIT, a->junit);
    if (!status)
        status = write_answer(run, guard,
                              a->json     ? CBX_GUARD_JSON
                              : a->github ? CBX_GUARD_GITHUB
                                          : CBX_GUARD_TEXT,
                              NULL);
    if (status) return status;
    fflush(stdout);
    fprintf(stderr, "findings: %s, report: %s%s%s\n", a->out, a->report, a->junit ? ", junit: " : "",
            a->junit ? a->junit : "");
    return cbx_guard_gate(guard)->exit_code;
}

static int run_gate(const opt_run *run) { return gate_rows(run, run->args); }

const opt_command gate_command = {
    .name = "gate",
    .synopsis = "--baseline PATH... [--current PATH...] [OPTION]...",
    .summary = "compare rows with baseline rows and decide",
    .description =
        "Compares the newest attempt of each key, good or not, with the baseline's: times by their launches, with "
        "intervals and a correction over the table; memory, compile time and fidelity by thresholds. Rows of another "
        "machine are refused unless allowed. Exit status 0: pass; 1: something is worse; 2: nothing to compare, or "
        "keys are missing now; 3: undecided, more launches are needed. Measure both sides with 25 launches or more.",
    OPT_OPTIONS(gate),
    .defaults = &(const gate_args){ .how = CBX_ROW_GATE_OPTS_INIT, .out = GATE_OUT, .report = GATE_REPORT },
};
