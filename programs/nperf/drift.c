/*
 * nperf drift: checks that the cases still mean and compute what the manifest has.
 */
#include "calibrax/perf/gate/drift.h"

#include <stdio.h>

#include "programs/nperf/nperf.h"

typedef struct drift_args {
    opt_list cases;
    const char *manifest;
    bool update, json;
} drift_args;

#define AT(member) offsetof(drift_args, member)

static const opt_spec drift_options[] = {
    OPT("case", 'c', LIST, cases, "A,B", "all", "cases to check", "@cases"),
    OPT("manifest", 'm', STRING, manifest, "FILE", "results/drift.json", "file of the manifest"),
    OPT_SWITCH("update", 'u', update, "write the manifest instead of comparing with it"),
    OPT_SWITCH("json", 0, json, "print the differences as one JSON document; with --update the manifest"),
};

/* Words for people, or the document; the exit status is that of the findings either way. */
static int show(const opt_run *run, cbx_json *found)
{
    const drift_args *a = run->args;
    const cbx_json *findings = cbx_json_get(found, "findings");
    const size_t drifted = cbx_json_length(findings);
    int status = EXIT_PASS;

    if (a->json) {
        status = print_json(run, cbx_json_ref(found));
    } else {
        for (size_t i = 0; i < drifted; i++) puts(cbx_json_get_string(cbx_json_at(findings, i), "sentence", "?"));
        print_painted(drifted ? PAINT_BAD : PAINT_GOOD, "%s", drifted ? "DRIFTED" : "SAME");
        printf(": %zu difference%s\n", drifted, drifted == 1 ? "" : "s");
    }
    if (drifted) fprintf(stderr, "if the change is intended, --update rewrites the manifest\n");
    return status ? status : drifted ? EXIT_CHECK : EXIT_PASS;
}

static int run_drift(const opt_run *run)
{
    const drift_args *a = run->args;
    SCOPED(cbx_json) *now = NULL, *kept = NULL, *found = NULL;
    int status = opt_check(run,
                           cbx_drift_manifest(run->ctx, nperf_cases(), a->cases.items, a->cases.count, &now, run->err));

    if (status) return status;
    if (a->update) {
        status = write_json(run, a->manifest, now);
        if (!status) fprintf(stderr, "manifest: %s\n", a->manifest);
        return status || !a->json ? status : print_json(run, cbx_json_ref(now));
    }
    if (cbx_json_read(run->ctx, a->manifest, &kept, run->err))
        return opt_fail(run, "%s; create it with --update", run->err->message);
    status = opt_check(run, cbx_drift_compare(kept, a->manifest, now, !a->cases.count, &found, run->err));
    return status ? status : show(run, found);
}

const opt_command drift_command = {
    .name = "drift",
    .synopsis = "[--case A,B] [--manifest FILE] [--update] [--json]",
    .summary = "check that the outputs of cases have not changed",
    .description = "Runs every native baseline of each case at its smaller points and compares signature and digests "
                   "of the outputs with a manifest. Exit status 1: an output differs, or a case is on one side only; "
                   "2: there is no manifest, or no such case.",
    OPT_OPTIONS(drift),
    .defaults = &(const drift_args){ .manifest = "results/drift.json" },
};
