/*
 * nperf without a command word: measures a case, or renders rows again.
 */
#include "programs/nperf/measure.h"

#include <stdio.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/perf/report/report.h"
#include "programs/common/stop.h"

/* --- rows as people and programs get them ---
 *
 * On standard output, as report, CSV and page; after a
 * measurement, or again from files.
 */
static int write_report(const opt_run *run, const cbx_rows *rows, const char *command, const outputs *to)
{
    cbx_report_opts opts = CBX_REPORT_OPTS_INIT;

    if (!to->report) return EXIT_PASS;
    opts.command = command;
    SCOPED_TEXT(text, cbx_allocator_default());
    cbx_report_markdown(rows, &opts, &text);
    return write_text(run, to->report, &text);
}

static int write_csv(const opt_run *run, const measure_args *a, const cbx_rows *rows)
{
    if (!a->csv) return EXIT_PASS;
    SCOPED_TEXT(text, cbx_allocator_default());
    cbx_rows_csv(rows, &text);
    int status = write_text(run, a->csv, &text);
    if (!status) fprintf(stderr, "CSV: %s\n", a->csv);
    return status;
}

/* Rows as people or programs asked for them; the sentence goes to people in both cases. */
static int show_rows(const opt_run *run, const cbx_rows *rows, bool json)
{
    if (!json) {
        SCOPED_TEXT(text, cbx_allocator_default());
        cbx_report_table(rows, terminal_width(), &text);
        cbx_text_putc(&text, '\n');
        cbx_report_sentence(rows, &text);
        print_table_text(cbx_text_str(&text));
        if (text.len && text.data[text.len - 1] != '\n') fputc('\n', stdout);
        return EXIT_PASS;
    }
    int status = print_rows_json(run, rows, "nperf-rows");
    SCOPED_TEXT(text, cbx_allocator_default());
    cbx_report_sentence(rows, &text);
    fprintf(stderr, "%s%s", cbx_text_str(&text), text.len && text.data[text.len - 1] == '\n' ? "" : "\n");
    return status;
}

/* --- render --- */

static int measure_render(const opt_run *run, const measure_args *a, const outputs *to)
{
    SCOPED(cbx_row_index) *ix = NULL;
    SCOPED_ROWS(rows, run);
    int status = open_rows(run, "--render-from", &a->render_from, &ix);

    if (status) return status;
    /* Every row, old ones too, or the one of each key to show: a page alone may be of a store with
     * a hundred thousand of them. */
    const bool all = !a->latest && (!to->page || to->report || a->json);
    rows.damaged = cbx_row_index_facts_of(ix)->damaged;
    if (!all)
        status = latest_rows(run, ix, "--render-from", CBX_ROWS_WHOLE, &rows);
    else if (cbx_row_index_rows(ix, NULL, CBX_ROWS_WHOLE, &rows, run->err))
        status = opt_fail(run, "--render-from: %s", run->err->message);
    if (!status) status = show_rows(run, &rows, a->json);
    if (!status) status = write_report(run, &rows, NULL, to);
    if (!status) status = write_csv(run, a, &rows);
    if (!status && to->report) fprintf(stderr, "report: %s\n", to->report);
    if (status || !to->page) return status;
    /* The page always shows the newest good row of each key: what came before is its history. */
    page_sources from = { NULL, ix, a->selftest, a->op_matrix };
    SCOPED_ROWS(newest, run);
    if (all) status = latest_rows(run, ix, "--site", CBX_ROWS_WHOLE, &newest);
    newest.damaged = cbx_row_index_facts_of(ix)->damaged;
    if (!status) status = write_page(run, all ? &newest : &rows, &from, to->folder);
    if (!status) fprintf(stderr, "page: %s\n", to->page);
    return status;
}

/* The store keeps this run and the newest ones before it. */
static int prune(const opt_run *run, const measure_args *a)
{
    size_t removed = 0;

    if (!a->o.store_root || !a->prune_keep) return EXIT_PASS;
    if (cbx_row_store_prune(run->ctx, a->o.store_root, a->case_name, a->prune_keep, &removed, run->err))
        return opt_fail(run, "--prune-keep: %s", run->err->message);
    fprintf(stderr, "store: %zu older run%s removed\n", removed, removed == 1 ? "" : "s");
    return EXIT_PASS;
}

/* With the history of the store, where there is one. */
static int write_measured_page(const opt_run *run, const measure_args *a, const outputs *to,
                               const cbx_measure_result *r, const char *command)
{
    page_sources from = { command, NULL, a->selftest, a->op_matrix };
    SCOPED(cbx_row_index) *ix = NULL;

    if (a->o.store_root && cbx_row_index_open(run->ctx, &a->o.store_root, 1, &ix, run->err))
        fprintf(stderr, "note: %s; the page has no history\n", run->err->message);
    from.history = ix;
    return write_page(run, &r->rows, &from, to->folder);
}

/* The exit status that the rows of this run ask for; the first of each kind is named. */
static int judge_rows(const opt_run *run, const cbx_case_ops *c, const cbx_measure_result *r)
{
    enum { WRONG, PASSED, BROKEN, KINDS };
    static const char *const words[] = { "failed the fidelity check", "passed the fidelity check that it must fail",
                                         "gave no result" };
    const cbx_row *first[KINDS] = { NULL };
    size_t count[KINDS] = { 0 };

    for (size_t i = 0; i < r->rows.count; i++) {
        const cbx_row *row = &r->rows.rows[i];
        const cbx_baseline_ops *b = cbx_case_baseline(c, row->baseline);
        bool must_fail = b && (b->must_fail || b->mutant_reason), wrong = !strcmp(row->status, "fidelity_failed");
        int kind = wrong ? WRONG : cbx_row_is_good(row) ? PASSED : BROKEN;
        /* A rival that is not installed, or was left out, changes nothing. */
        if (strcmp(row->run_id, r->run_id) != 0 ||
            !(cbx_row_is_attempt(row) &&
              !(row->failure_reason && !strcmp(row->failure_reason, "provider_env_missing"))))
            continue;
        if (kind != BROKEN && (kind == WRONG) == must_fail) continue;
        if (!count[kind]++) first[kind] = row;
    }
    for (int k = 0; k < KINDS; k++) {
        if (!count[k]) continue;
        if (count[k] > 1)
            opt_fail(run, "%s at %s, and %zu more, %s", first[k]->baseline, first[k]->point_label, count[k] - 1,
                     words[k]);
        else
            opt_fail(run, "%s at %s %s%s%s", first[k]->baseline, first[k]->point_label, words[k],
                     k == BROKEN && first[k]->failure_message ? ": " : "",
                     k == BROKEN && first[k]->failure_message ? first[k]->failure_message : "");
    }
    return count[PASSED] || count[BROKEN] ? EXIT_ERROR : count[WRONG] ? EXIT_CHECK : EXIT_PASS;
}

/* What is printed and written after a sweep, and the exit status. */
static int conclude(const opt_run *run, const measure_args *a, const cbx_case_ops *c, const outputs *to,
                    const cbx_measure_result *r, const char *command)
{
    int status = EXIT_PASS;

    if (r->rows.count) { /* all of it is done, whatever fails: a fault is always the same status */
        status |= show_rows(run, &r->rows, a->json);
        status |= write_report(run, &r->rows, command, to);
        status |= write_csv(run, a, &r->rows);
        if (to->page) status |= write_measured_page(run, a, to, r, command);
        status |= prune(run, a);
        fflush(stdout); /* the files are named below the table */
        fprintf(stderr, "rows: %s, report: %s%s%s%s%s\n", to->rows, to->report, to->page ? ", page: " : "",
                to->page ? to->page : "", a->o.store_root ? ", store: " : "", a->o.store_root ? a->o.store_root : "");
    } else if (a->json) {
        status = show_rows(run, &r->rows, true);
    }
    if (r->points_kept) fprintf(stderr, "%zu of %zu points were kept from an earlier run\n", r->points_kept, r->points);
    if (r->interrupted) {
        fprintf(stderr,
                "interrupted; finished rows are kept, and the same command with --resume continues from there\n");
        return EXIT_STOPPED;
    }
    if (!status) status = judge_rows(run, c, r);
    if (r->points_good < r->points)
        return opt_fail(run, "%zu of %zu points %s no good row", r->points - r->points_good, r->points,
                        r->points - r->points_good == 1 ? "has" : "have");
    return status;
}

/* A case of workers, or, by the rounds of exec, one of commands from a file. */
static int measure(const opt_run *run, const outputs *to, const char *command)
{
    measure_args *a = run->args;
    cbx_err err = CBX_ERR_INIT; /* of the measurement: what is written after it may fail as well */
    const cbx_declared *commands = nperf_commands(a->case_name);
    const cbx_case_ops *c = commands ? cbx_declared_case(commands) : nperf_case(run, a->case_name);
    const char *foreign = commands ? measure_not_for_commands(run) : NULL;
    const char *const paths[] = { to->report, to->page }, *const flags[] = { "--report", "--site" };
    progress p;
    int status = EXIT_PASS;

    CBX_SCOPED(cbx_measure_result, result, cbx_ctx_allocator(run->ctx));
    if (foreign && (strcmp(foreign, "sandbox") != 0 || a->sandbox.mode == CBX_SANDBOX_REQUIRE))
        return opt_fail(
            run,
            "--%s is not for a case of commands, which run as they are, with all rights of their user: leave it out",
            foreign);
    if (!c || measure_fill(run, a, c, to, &p)) return EXIT_ERROR;
    for (size_t i = 0; i < CBX_LEN(paths); i++)
        if (paths[i] && cbx_file_check_writable(run->ctx, paths[i], run->err))
            return opt_fail(run, "%s; choose another %s", run->err->message, flags[i]);
    for (size_t i = 0; nperf_declared(i); i++) /* the set-up that a case file asks for, once */
        if (cbx_declared_case(nperf_declared(i)) == c &&
            cbx_declared_setup(run->ctx, nperf_declared(i), stop_catch(), run->err))
            return opt_fail(run, "%s", run->err->message);
    progress_init(&p);
    if (!commands) cbx_sandbox_guard_self();
    cbx_status st = commands ? cbx_declared_run(run->ctx, commands, &a->o, &result, &err)
                             : cbx_measure_run(run->ctx, &a->o, &result, &err);
    progress_end(&p);
    if (!st || result.rows.count) status = conclude(run, a, c, to, &result, command);
    return st ? opt_fail(run, "%s", err.message) : status;
}

/* --- the command --- */

int run_measure(const opt_run *run)
{
    measure_args *a = run->args;
    const char *named = a->case_name, *command;
    outputs to;
    bool asked = false;

    for (size_t i = 0; i < run->command->noptions; i++) asked = asked || run->given[i];
    if (!asked) { /* every point of a case is thousands of launches: they are not started by accident */
        opt_print_help(run->program, run->command, false, stdout);
        return opt_fail(
            run, "nothing to do: 'nperf --quick' measures one point in a minute, 'nperf --case " MEASURE_DEFAULT_CASE
                 "' every point of a case, which takes an hour");
    }
    if (nperf_cases_open(run, &a->plugins, &a->defined)) return EXIT_ERROR;
    if (!a->case_name)
        a->case_name = nperf_declared(0) ? cbx_declared_case(nperf_declared(0))->name : MEASURE_DEFAULT_CASE;
    if (a->gate.baseline.count) {
        a->gate.report = a->report ? a->report : GATE_REPORT;
        a->gate.json = a->json;
        return gate_rows(run, &a->gate);
    }
    command = measure_reproduce(run);
    to.rows = a->out ? a->out : cbx_arena_printf(run->arena, "results/%s.jsonl", a->case_name);
    to.report = a->report;
    if (!a->report && !a->render_from.count) to.report = cbx_arena_printf(run->arena, "results/%s.md", a->case_name);
    to.folder = a->site ? a->site : a->o.quick ? "site" : NULL;
    to.page = to.folder ? cbx_path_join(run->arena, to.folder, "index.html") : NULL;
    if (a->list) return list_print(run, named, a->json);
    if (a->render_from.count) return measure_render(run, a, &to);
    return measure(run, &to, command);
}
