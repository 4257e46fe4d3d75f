/*
 * nperf gate: rows against baseline rows.  perf/gate/gate.h decides, ci/guard.h applies waivers and
 * writes, as for calibrax check.
 */
#include "programs/nperf/gate.h"

#include <stdio.h>

#include "calibrax/base/clock.h"
#include "calibrax/ci/guard.h"

#define AT(member) offsetof(gate_args, member)

static const opt_spec gate_options[] = {
    { "baseline", 'b', OPT_WORDS, AT(baseline), "PATH", NULL,
      "read baseline rows from these files, or folders such as a store" },
    { "current", 'c', OPT_WORDS, AT(current), "PATH", "results/store",
      "read the rows under test from these files or folders" },
    { "threshold", 't', OPT_NUMBER, AT(how.threshold), "X", "0.01",
      "relative change of the time that counts if it is significant over launches" },
    { "margin", 'm', OPT_NUMBER, AT(how.margin), "X", "0.05", "a change whose whole interval is within this passes" },
    { "min", 0, OPT_NUMBER, AT(how.min_ratio), "RATIO", "1.10 for rows without launches",
      "also compare minimum times: a ratio above this is a regression" },
    { "p95", 0, OPT_NUMBER, AT(how.p95_ratio), "RATIO", "1.25 for rows without launches",
      "also compare 95th percentiles" },
    { "memory", 0, OPT_NUMBER, AT(how.memory), "X", "0.10",
      "relative growth of memory that counts, if it is at least 8 MB" },
    { "compile", 0, OPT_NUMBER, AT(how.compile), "X", "0.50",
      "relative growth of compile time that counts, if it is at least 0.1 s" },
    { "fidelity", 0, OPT_NUMBER, AT(how.fidelity), "X", "1.0",
      "relative growth of the error that counts, if it is at least 0.05 of its bound" },
    { "level", 0, OPT_NUMBER, AT(how.level), "X", "0.95",
      "confidence level of the intervals, and of the correction over the table" },
    { "allow-dropped", 0, OPT_FLAG, AT(how.allow_dropped), NULL, NULL,
      "do not fail if keys of the baseline are missing" },
    { "allow-other-machine", 0, OPT_FLAG, AT(how.allow_machines), NULL, NULL,
      "compare rows of different machines, with a note" },
    { "allow-older", 0, OPT_FLAG, AT(how.allow_older), NULL, NULL,
      "accept rows under test that are older than the baseline's" },
    { "undecided-passes", 0, OPT_FLAG, AT(how.undecided_passes), NULL, NULL, "do not fail if a finding is undecided" },
    { "waivers", 0, OPT_STRING, AT(waivers), "FILE", NULL, "file of findings that are accepted until a date" },
    { "out", 'o', OPT_STRING, AT(out), "FILE", "results/gate.json", "write the findings as JSON" },
    { "report", 0, OPT_STRING, AT(report), "FILE", "results/gate.md", "write the findings as markdown, at most 60 kB" },
    { "junit", 0, OPT_STRING, AT(junit), "FILE", NULL, "write the findings as JUnit XML" },
    { "github", 0, OPT_FLAG, AT(github), NULL, NULL, "print workflow commands instead of text" },
    { "json", 0, OPT_FLAG, AT(json), NULL, NULL, "print JSON instead of text" },
};

/* Writes the answer to a file, or prints it where path is NULL. */
static int write_answer(const opt_run *run, const cbx_guard *guard, cbx_guard_format format, const char *path)
{
    cbx_text text;
    int status = EXIT_PASS;

    cbx_text_init(&text, cbx_ctx_allocator(run->ctx));
    if (cbx_guard_write(guard, format, &text, run->err))
        status = opt_fail(run->program, "%s", run->err->message);
    else if (path)
        status = write_text(run, path, &text);
    else if (format == CBX_GUARD_TEXT)
        print_report(cbx_text_str(&text), cbx_guard_gate(guard)->exit_code);
    else
        fputs(cbx_text_str(&text), stdout);
    cbx_text_clear(&text);
    return status;
}

int gate_rows(const opt_run *run, const gate_args *a)
{
    static const char *const store[] = { "results/store" };
    const opt_list current = a->current.count ? a->current : (opt_list){ store, 1 };
    cbx_rows baseline, now;
    cbx_ctx *own = NULL; /* both sides are read at a time */
    cbx_waivers *waivers = NULL;
    cbx_regression *regression = NULL;
    cbx_guard *guard = NULL;
    cbx_row_gate_facts facts;
    int status;

    if (!a->baseline.count) return opt_fail(run->program, "'--baseline' is missing: name the baseline rows");
    if (a->json && a->github) return opt_fail(run->program, "'--json' and '--github' exclude each other");
    if (cbx_ctx_create(NULL, &own, run->err)) return opt_fail(run->program, "%s", run->err->message);
    cbx_rows_init(&baseline, cbx_ctx_allocator(run->ctx));
    cbx_rows_init(&now, cbx_ctx_allocator(run->ctx));
    status = attempts_of_both(run, (const row_side[2]){ { "--baseline", &a->baseline, own, &baseline },
                                                        { "--current", &current, run->ctx, &now } });
    cbx_ctx_free(own);
    if (status) goto done;
    if ((a->waivers && cbx_waivers_read(run->ctx, a->waivers, &waivers, run->err)) ||
        cbx_row_gate(run->ctx, &baseline, &now, &a->how, &regression, &facts, run->err) ||
        cbx_guard_create(run->ctx, regression, waivers, cbx_time_now_us(), &guard, run->err)) {
        status = opt_fail(run->program, "%s", run->err->message);
        goto done;
    }
    if (facts.apart[0]) opt_fail(run->program, "%s", facts.apart);
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
    if (status) goto done;
    fflush(stdout);
    fprintf(stderr, "findings: %s, report: %s%s%s\n", a->out, a->report, a->junit ? ", junit: " : "",
            a->junit ? a->junit : "");
    status = cbx_guard_gate(guard)->exit_code;
done:
    cbx_guard_free(guard);
    cbx_regression_free(regression);
    cbx_waivers_free(waivers);
    cbx_rows_clear(&baseline);
    cbx_rows_clear(&now);
    return status;
}

static int run_gate(const opt_run *run) { return gate_rows(run, run->args); }

static const gate_args defaults = { .how = CBX_ROW_GATE_OPTS_INIT, .out = GATE_OUT, .report = GATE_REPORT };

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
    .defaults = &defaults,
    .run = run_gate,
};
