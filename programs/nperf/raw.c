/*
 * nperf raw: the launches behind a stored run, one JSON object a line or all as one document.
 */
#include <stdio.h>
#include <string.h>

#include "programs/nperf/nperf.h"

typedef struct raw_args {
    const char *case_name, *store;
    bool json;
} raw_args;

#define AT(member) offsetof(raw_args, member)

static const opt_spec raw_options[] = {
    OPT("case", 'c', STRING, case_name, "NAME", "semiring_matmul", "case of the run", "@cases"),
    OPT("store", 0, STRING, store, "DIR", "results/store", "store of the run"),
    OPT_SWITCH("json", 0, json, "print one JSON document instead of a line for each launch"),
};

/* {"schema":"nperf-launches","version":1,"case","run_id","launches":[...]} */
static int print_document(const opt_run *run, const char *lines)
{
    const raw_args *a = run->args;
    cbx_json *o = cbx_json_document("nperf-launches", J_TEXT("case", a->case_name),
                                    J_TEXT("run_id", run->words->items[0]));
    cbx_json *launches = cbx_json_set_array(o, "launches");
    for (const char *at = lines; *at;) {
        const size_t len = strcspn(at, "\n");
        cbx_json *launch = NULL;
        if (len && cbx_json_parse(at, len, "a launch", &launch, run->err)) {
            cbx_json_unref(o);
            return opt_fail(run, "%s", run->err->message);
        }
        if (len) cbx_json_push(launches, launch);
        at += len + (at[len] == '\n');
    }
    return print_json(run, o);
}

static int run_raw(const opt_run *run)
{
    const raw_args *a = run->args;
    int status = EXIT_PASS;

    if (run->words->count != 1) return opt_fail(run, "'raw' needs the id of one run");
    SCOPED_TEXT(text, cbx_ctx_allocator(run->ctx));
    if (cbx_row_store_raw(run->ctx, a->store, a->case_name, run->words->items[0], &text, run->err))
        status = opt_fail(run, "%s", run->err->message);
    else if (a->json)
        status = print_document(run, cbx_text_str(&text));
    else
        fwrite(cbx_text_str(&text), 1, text.len, stdout);
    return status;
}

const opt_command raw_command = {
    .name = "raw",
    .synopsis = "RUN_ID [--case NAME] [--store DIR] [--json]",
    .summary = "show the launches of a stored run",
    .description = "Prints every launch of a stored run: its epochs by both clocks, layout, order, seed and health, as "
                   "JSON lines.",
    OPT_OPTIONS(raw),
    .defaults = &(const raw_args){ .case_name = "semiring_matmul", .store = "results/store" },
    .flags = OPT_TAKES_WORDS,
};
