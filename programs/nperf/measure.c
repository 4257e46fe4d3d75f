/*
 * nperf without a command word: measures a case, or renders rows again.
 */
#include <stdio.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "programs/common/stop.h"
#include "programs/nperf/gate.h"
#include "programs/nperf/measure.h"

static int check_files(const opt_program *program, cbx_ctx *ctx, const outputs *to)
{
    const char *const paths[] = { to->report, to->page }, *const flags[] = { "--report", "--site" };
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; i < CBX_LEN(paths); i++) {
        if (paths[i] && cbx_file_check_writable(ctx, paths[i], &err))
            return opt_fail(program, "%s; choose another %s", err.message, flags[i]);
    }
    return EXIT_PASS;
}

/* The store keeps this run and the newest ones before it. */
static int prune(const opt_program *program, cbx_ctx *ctx, const measure_args *a)
{
    cbx_err err = CBX_ERR_INIT;
    size_t removed = 0;

    if (!a->store || !a->prune_keep) return EXIT_PASS;
    if (cbx_row_store_prune(ctx, a->store, a->case_name, a->prune_keep, &removed, &err))
        return opt_fail(program, "--prune-keep: %s", err.message);
    fprintf(stderr, "store: %zu older run%s removed\n", removed, removed == 1 ? "" : "s");
    return EXIT_PASS;
}

/* With the history of the store, where there is one. */
static int write_measured_page(const opt_program *program, cbx_ctx *ctx, const measure_args *a, const outputs *to,
                               const cbx_measure_result *r, const char *command)
{
    page_sources from = { command, NULL, a->selftest, a->op_matrix };
    cbx_row_index *ix = NULL;
    cbx_err err = CBX_ERR_INIT;
    int status;

    if (a->store && cbx_row_index_open(ctx, &a->store, 1, &ix, &err))
        fprintf(stderr, "note: %s, and the page has no history\n", err.message);
    from.history = ix;
    status = write_page(program, ctx, &r->rows, &from, to->folder, to->arena);
    cbx_row_index_close(ix);
    return status;
}

/* The exit status that the rows of this run ask for; the first of each kind is named. */
static int judge_rows(const opt_program *program, const cbx_case_ops *c, const cbx_measure_result *r)
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
            opt_fail(program, "%s at %s, and %zu more, %s", first[k]->baseline, first[k]->point_label, count[k] - 1,
                     words[k]);
        else
            opt_fail(program, "%s at %s %s%s%s", first[k]->baseline, first[k]->point_label, words[k],
                     k == BROKEN && first[k]->failure_message ? ": " : "",
                     k == BROKEN && first[k]->failure_message ? first[k]->failure_message : "");
    }
    return count[PASSED] || count[BROKEN] ? EXIT_ERROR : count[WRONG] ? EXIT_CHECK : EXIT_PASS;
}

/* What is printed and written after a sweep, and the exit status. */
static int conclude(const opt_program *program, cbx_ctx *ctx, const measure_args *a, const cbx_case_ops *c,
                    const outputs *to, const cbx_measure_result *r, const char *command)
{
    int status = EXIT_PASS, second;

    if (r->rows.count) {
        status = show_rows(program, &r->rows, a->json);
        second = write_report(program, ctx, &r->rows, command, to);
        status = status ? status : second;
        second = write_csv(program, ctx, a, &r->rows);
        status = status ? status : second;
        second = to->page ? write_measured_page(program, ctx, a, to, r, command) : EXIT_PASS;
        status = status ? status : second;
        second = prune(program, ctx, a);
        status = status ? status : second;
        fflush(stdout); /* the files are named below the table */
        fprintf(stderr, "rows: %s, report: %s%s%s%s%s\n", to->rows, to->report, to->page ? ", page: " : "",
                to->page ? to->page : "", a->store ? ", store: " : "", a->store ? a->store : "");
    } else if (a->json) {
        status = show_rows(program, &r->rows, true);
    }
    if (r->points_kept) fprintf(stderr, "%zu of %zu points were kept from an earlier run\n", r->points_kept, r->points);
    if (r->interrupted) {
        fprintf(stderr,
                "interrupted; finished rows are kept, and the same command with --resume continues from there\n");
        return EXIT_STOPPED;
    }
    if (!status) status = judge_rows(program, c, r);
    if (r->points_good < r->points) {
        status = opt_fail(program, "%zu of %zu points %s no good row", r->points - r->points_good, r->points,
                          r->points - r->points_good == 1 ? "has" : "have");
    }
    return status;
}

/* The set-up that a case file asks for, once. */
static int set_up(const opt_program *program, cbx_ctx *ctx, const cbx_case_ops *c)
{
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; nperf_declared(i); i++) {
        if (cbx_declared_case(nperf_declared(i)) != c) continue;
        if (cbx_declared_setup(ctx, nperf_declared(i), stop_catch(), &err)) return opt_fail(program, "%s", err.message);
    }
    return EXIT_PASS;
}

/* A case of commands from a file, by the rounds of exec. */
static int measure_commands(const opt_program *program, cbx_ctx *ctx, const measure_args *a, const cbx_declared *d,
                            const outputs *to, const char *command)
{
    cbx_declared_opts o = CBX_DECLARED_OPTS_INIT;
    const char *foreign = measure_not_for(a, FOR_COMMANDS);
    cbx_measure_result result;
    cbx_err err = CBX_ERR_INIT;
    progress p;
    cbx_status st;
    int status;

    if (foreign)
        return opt_fail(program, "%s is not for a case of commands, which are run as they are: leave it out", foreign);
    if (strcmp(a->sandbox, "auto") != 0 && strcmp(a->sandbox, "off") != 0)
        return opt_fail(program, "--sandbox=%s is not for a case of commands, which run with all rights of their user",
                        a->sandbox);
    if (check_files(program, ctx, to)) return EXIT_ERROR;
    o.points = a->points.items;
    o.npoints = a->points.count;
    o.quick = a->quick;
    o.allow = a->baselines.items;
    o.nallow = a->baselines.count;
    o.deny = a->skip.items;
    o.ndeny = a->skip.count;
    o.skip_slow = a->skip_slow;
    o.exec.launches = a->launches ? a->launches : a->quick ? 6 : 0;
    o.exec.warmup = a->warmup;
    o.exec.budget_s = a->budget;
    o.exec.half_width = a->precision;
    o.exec.timeout_s = a->worker_timeout;
    o.exec.lock_wait_s = a->lock_wait;
    o.exec.seed = a->seed;
    o.exec.out_path = to->rows;
    o.exec.stop = stop_catch();
    o.exec.progress = progress_show;
    o.exec.user = &p;
    progress_init(&p);
    cbx_measure_result_init(&result, cbx_ctx_allocator(ctx));
    st = cbx_declared_run(ctx, d, &o, &result, &err);
    progress_end(&p);
    status = st && result.rows.count == 0 ? EXIT_PASS
                                          : conclude(program, ctx, a, cbx_declared_case(d), to, &result, command);
    if (st) status = opt_fail(program, "%s", err.message);
    cbx_measure_result_clear(&result);
    return status;
}

static int measure(const opt_program *program, cbx_ctx *ctx, const measure_args *a, const outputs *to,
                   const char *command)
{
    cbx_measure_opts opts = CBX_MEASURE_OPTS_INIT;
    const cbx_declared *commands = nperf_commands(a->case_name);
    const cbx_case_ops *c = commands ? NULL : nperf_case(program, a->case_name);
    cbx_sandbox sandbox = CBX_SANDBOX_INIT;
    cbx_measure_result result;
    cbx_err err = CBX_ERR_INIT;
    progress p;
    cbx_status st;
    int status;

    if (measure_sandbox(program, a, &sandbox)) return EXIT_ERROR;
    if (commands) return measure_commands(program, ctx, a, commands, to, command);
    if (!c || measure_fill(program, a, c, to, &p, &opts)) return EXIT_ERROR;
    if (check_files(program, ctx, to) || set_up(program, ctx, c)) return EXIT_ERROR;
    progress_init(&p);
    opts.sandbox = &sandbox;
    cbx_sandbox_guard_self();
    cbx_measure_result_init(&result, cbx_ctx_allocator(ctx));
    st = cbx_measure_run(ctx, &opts, &result, &err);
    progress_end(&p);
    if (st && result.rows.count == 0) {
        status = opt_fail(program, "%s", err.message);
    } else {
        status = conclude(program, ctx, a, c, to, &result, command);
        if (st) status = opt_fail(program, "%s", err.message);
    }
    cbx_measure_result_clear(&result);
    return status;
}

/* --- the command --- */

static bool choose_outputs(const measure_args *a, cbx_arena *arena, outputs *to)
{
    to->rows = a->out ? a->out : cbx_arena_printf(arena, "results/%s.jsonl", a->case_name);
    to->report = a->report;
    if (!a->report && !a->render_from.count) to->report = cbx_arena_printf(arena, "results/%s.md", a->case_name);
    to->arena = arena;
    to->folder = a->site ? a->site : a->quick ? "site" : NULL;
    to->page = to->folder ? cbx_path_join(arena, to->folder, "index.html") : NULL;
    return to->rows && (to->report || a->render_from.count) && (!to->folder || to->page);
}

int measure_run(const opt_run *run)
{
    measure_args *a = run->args;
    const char *named = a->case_name, *foreign, *command;
    outputs to;
    bool asked = false;

    for (size_t i = 0; i < run->command->noptions; i++) asked = asked || run->given[i];
    if (!asked) { /* every point of a case is thousands of launches: they are not started by accident */
        opt_print_help(run->program, run->command, false, stdout);
        return opt_fail(
            run->program,
            "nothing was asked for: 'nperf --quick' measures one point in a minute, 'nperf --case " MEASURE_DEFAULT_CASE
            "' every point of a case, which takes an hour");
    }
    if (nperf_cases_open(run, &a->plugins, &a->defined)) return EXIT_ERROR;
    if (!a->case_name)
        a->case_name = nperf_declared(0) ? cbx_declared_case(nperf_declared(0))->name : MEASURE_DEFAULT_CASE;
    command = measure_reproduce(a, run->arena);
    if (a->latest && !a->render_from.count) return opt_fail(run->program, "--latest goes with --render-from");
    if (a->gate_baseline.count) {
        gate_args g = { a->gate_baseline, a->gate_current, CBX_ROW_GATE_OPTS_INIT };
        g.how.min_ratio = a->gate_min;
        g.how.p95_ratio = a->gate_p95;
        g.out = a->gate_out;
        g.report = a->report ? a->report : GATE_REPORT;
        g.json = a->json;
        return gate_rows(run, &g);
    }
    if (a->gate_current.count) return opt_fail(run->program, "--gate-current goes with --gate-baseline");
    if (a->cold_cache && a->in_process)
        return opt_fail(run->program, "--cold-cache and --in-process exclude each other: a worker flushes the caches");
    if (a->prune_keep && !a->store) return opt_fail(run->program, "--prune-keep goes with --store");
    if (!command || !choose_outputs(a, run->arena, &to)) return opt_fail(run->program, "out of memory");
    if (a->list) return list_print(run->program, run->ctx, named, a->json);
    foreign = a->render_from.count ? named ? "--case" : measure_not_for(a, FOR_RENDERS) : NULL;
    if (foreign)
        return opt_fail(run->program, "%s is for measuring, and --render-from measures nothing: leave it out", foreign);
    if (a->render_from.count) return measure_render(run->program, run->ctx, a, &to);
    return measure(run->program, run->ctx, a, &to, command);
}
