/*
 * nperf raw: the launches behind a stored run, one JSON object a line.
 */
#include <stdio.h>

#include "programs/nperf/nperf.h"

typedef struct raw_args {
    const char *case_name, *store;
} raw_args;

#define AT(member) offsetof(raw_args, member)

static const opt_spec raw_options[] = {
    { "case", 'c', OPT_STRING, AT(case_name), "NAME", "semiring_matmul", "case of the run" },
    { "store", 0, OPT_STRING, AT(store), "DIR", "results/store", "where the run is kept" },
};

static int run_raw(const opt_run *run)
{
    const raw_args *a = run->args;
    cbx_err err = CBX_ERR_INIT;
    int status = EXIT_PASS;
    cbx_text text;

    if (run->words->count != 1) return opt_fail(run->program, "raw needs the id of one run");
    cbx_text_init(&text, cbx_ctx_allocator(run->ctx));
    if (cbx_row_store_raw(run->ctx, a->store, a->case_name, run->words->items[0], &text, &err))
        status = opt_fail(run->program, "%s", err.message);
    else
        fwrite(cbx_text_str(&text), 1, text.len, stdout);
    cbx_text_clear(&text);
    return status;
}

static const raw_args defaults = { .case_name = "semiring_matmul", .store = "results/store" };

const opt_command raw_command = {
    "raw",
    "RUN_ID [--case NAME] [--store DIR]",
    "the launches behind a stored run",
    "Prints every launch of a stored run: its epochs by both clocks, layout, order, seed and health, as JSON lines.",
    raw_options,
    CBX_LEN(raw_options),
    sizeof(raw_args),
    &defaults,
    OPT_TAKES_WORDS,
    run_raw,
};
