/*
 * nperf exec: any commands, interleaved, with intervals and a verdict.
 */
#include "calibrax/perf/sweep/exec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/list.h"
#include "programs/common/columns.h"
#include "programs/common/stop.h"
#include "programs/nperf/nperf.h"

typedef struct exec_args {
    cbx_exec_opts o; /* its commands and parameters are made of the following */
    const char *csv, *markdown;
    opt_list params, lists, scans, names, hooks[CBX_EXEC_HOOKS];
    double step;
    bool json;
} exec_args;

#define AT(member) offsetof(exec_args, member)

static const opt_spec exec_options[] = {
    OPT_HEADING("Runs", NULL),
    OPT("launches", 'n', POSITIVE, o.measure.launches, "N",
        "until the verdicts are decided, at least 11, within --budget", "number of timed runs of each command"),
    OPT("runs", 'r', POSITIVE, o.measure.launches, "N", NULL, NULL),
    OPT("warmup", 'w', INT, o.measure.warmup, "N", "1", "number of untimed runs of each command before the timed ones"),
    OPT("budget", 0, NUMBER, o.measure.budget_s, "SECONDS", "60",
        "add no more runs after this time, once each command has 6"),
    OPT("precision", 0, SHARE, o.measure.precision, "X",
        "0.02 for a single command; for several, until the verdicts are decided",
        "stop when the interval is within X to each side, decided or not"),
    OPT_SWITCH("ignore-failure", 'i', o.ignore_failure, "accept runs with any exit status"),
    OPT("timeout", 0, NUMBER, o.measure.worker_timeout_s, "SECONDS", "3600", "time limit of a run"),
    OPT_HEADING("Commands around the runs, not timed", NULL),
    OPT("setup", 0, EACH, hooks[CBX_EXEC_SETUP], "CMD", NULL,
        "run once before the first run of each command; given once for all commands, or once for each"),
    OPT("prepare", 'p', EACH, hooks[CBX_EXEC_PREPARE], "CMD", NULL,
        "run before every run, for example to empty caches"),
    OPT("conclude", 'C', EACH, hooks[CBX_EXEC_CONCLUDE], "CMD", NULL, "run after every run"),
    OPT("cleanup", 'c', EACH, hooks[CBX_EXEC_CLEANUP], "CMD", NULL, "run once after the last run of each command"),
    OPT_HEADING("Parameters: {NAME} in a command is replaced by each value; every combination is measured", NULL),
    OPT("param", 'P', EACH, params, "NAME=V1,V2", NULL, "a list of values; may be repeated"),
    OPT("parameter-list", 'L', TUPLE, lists, "NAME V1,V2", NULL, "the same as two arguments"),
    OPT("parameter-scan", 0, TUPLE, scans, "NAME MIN MAX", NULL, "numbers from MIN to MAX; may be repeated"),
    OPT("parameter-step-size", 'D', NUMBER, step, "X", "1", "step of --parameter-scan"),
    OPT("command-name", 0, EACH, names, "NAME", NULL,
        "name of a command in tables, in the order of the commands; may contain {parameters}; may be repeated"),
    OPT_HEADING("The shell", NULL),
    OPT_SWITCH("no-shell", 'N', o.direct,
               "execute commands directly, without a shell: words are split at blanks and quotes; no pipes, variables "
               "or patterns"),
    OPT("shell", 'S', STRING, o.shell, "SHELL", "sh",
        "run commands by SHELL -c; the time of an empty command is measured and subtracted"),
    OPT_SWITCH("show-output", 0, o.show_output, "do not discard the output of the commands"),
    OPT_HEADING("Results", NULL),
    OPT("out", 'o', STRING, o.measure.out_path, "FILE", NULL, "write rows, one JSON line each"),
    OPT("export-csv", 0, STRING, csv, "FILE", NULL, "write all numbers of the rows as CSV"),
    OPT("export-markdown", 0, STRING, markdown, "FILE", NULL, "write the table as markdown"),
    OPT_SWITCH("json", 0, json, "print one JSON document instead of the table"),
    OPT("seed", 's', COUNT, o.measure.seed, "N", "0", "seed of the order and layout of runs"),
    OPT("lock-wait", 0, NUMBER, o.measure.lock_wait_s, "SECONDS", "the value of --timeout",
        "maximum time to wait for cores that are in use"),
};

static const opt_rule exec_rules[] = {
    { "no-shell", OPT_EXCLUDES, "shell" },
    { "parameter-step-size", OPT_NEEDS, "parameter-scan" },
};

/* --- parameters --- */

/* The values of MIN to MAX. */
static int scan_values(const opt_run *run, const char *name, const char *range, double step, opt_list *values)
{
    const char *between = strchr(range, '\n');
    char *low = between ? cbx_arena_strndup(run->arena, range, (size_t)(between - range)) : NULL;
    double from, to;

    if (!between) return opt_fail(run, "'--parameter-scan': expected NAME MIN MAX, found '%s %s'", name, range);
    if (!opt_number(low, &from) || !opt_number(between + 1, &to) || to < from || !(step > 0))
        return opt_fail(run, "'--parameter-scan %s' needs two numbers, MIN not above MAX, and a step above 0", name);
    for (size_t i = 0; from + (double)i * step <= to * (1 + 1e-12); i++) {
        if (i == CBX_EXEC_MAX_COMMANDS)
            return opt_fail(run, "'--parameter-scan %s' has more than %d values", name, CBX_EXEC_MAX_COMMANDS);
        opt_append(run->arena, cbx_arena_printf(run->arena, "%.12g", from + (double)i * step), values);
    }
    return EXIT_PASS;
}

static bool is_used(const char *name, const exec_args *a, const opt_list *words)
{
    char mark[160];

    snprintf(mark, sizeof(mark), "{%s}", name);
    for (size_t i = 0; i < words->count; i++)
        if (strstr(words->items[i], mark)) return true;
    for (int h = 0; h < CBX_EXEC_HOOKS; h++)
        for (size_t i = 0; i < a->hooks[h].count; i++)
            if (strstr(a->hooks[h].items[i], mark)) return true;
    return false;
}

/* Those of --param, --parameter-list and --parameter-scan, in this order. */
static int read_params(const opt_run *run, cbx_exec_param *out)
{
    const exec_args *a = run->args;
    const struct {
        const char *option, *form;
        const opt_list *list;
        char mark;
    } kinds[] = { { "param", "NAME=V1,V2", &a->params, '=' },
                  { "parameter-list", "NAME V1,V2", &a->lists, '\n' },
                  { "parameter-scan", "NAME MIN MAX", &a->scans, '\n' } };

    for (size_t k = 0; k < CBX_LEN(kinds); k++) {
        for (size_t i = 0; i < kinds[k].list->count; i++, out++) {
            const char *text = kinds[k].list->items[i], *end = strchr(text, kinds[k].mark);
            opt_list values = { NULL, 0 };
            if (!end || end == text)
                return opt_fail(run, "'--%s': expected %s, found '%s'", kinds[k].option, kinds[k].form, text);
            out->name = cbx_arena_strndup(run->arena, text, (size_t)(end - text));
            if (k == 2 && scan_values(run, out->name, end + 1, a->step, &values)) return EXIT_ERROR;
            if (k < 2) opt_split(run->arena, end + 1, &values);
            if (!values.count) return opt_fail(run, "'--%s %s' has no values", kinds[k].option, out->name);
            out->values = values.items;
            out->nvalues = values.count;
            if (!is_used(out->name, a, run->words))
                return opt_fail(run, "'--%s %s': no command contains '{%s}'", kinds[k].option, out->name, out->name);
        }
    }
    return EXIT_PASS;
}

static int make_commands(const opt_run *run, cbx_exec_command *out)
{
    const exec_args *a = run->args;
    const opt_list *words = run->words;
    static const char *const options[] = { "setup", "prepare", "conclude", "cleanup" };

    if (a->names.count > words->count)
        return opt_fail(run, "'--command-name' is given %zu times for %zu command%s", a->names.count, words->count,
                        words->count == 1 ? "" : "s");
    for (int h = 0; h < CBX_EXEC_HOOKS; h++)
        if (a->hooks[h].count > 1 && a->hooks[h].count != words->count)
            return opt_fail(run, "'--%s' is given %zu times for %zu command%s: give it once, or once for each",
                            options[h], a->hooks[h].count, words->count, words->count == 1 ? "" : "s");
    for (size_t i = 0; i < words->count; i++) {
        out[i].command = words->items[i];
        out[i].name = i < a->names.count ? a->names.items[i] : words->items[i];
        for (int h = 0; h < CBX_EXEC_HOOKS; h++)
            if (a->hooks[h].count) out[i].hooks[h] = a->hooks[h].items[a->hooks[h].count > 1 ? i : 0];
    }
    return EXIT_PASS;
}

/* --- results --- */

enum { COMMAND, RUNS, TIME, MIN, CPU, MEMORY, RATIO, COLUMNS };
static const char *const heads[COLUMNS] = {
    "command", "runs", "median [95 % interval]", "min", "CPU", "memory", "ratio"
};

/* The cells of a row. */
static void make_cells(cbx_arena *arena, const cbx_rows *rows, const cbx_row *r, const char *cells[COLUMNS])
{
    const char *verdict = r->verdict_holm ? r->verdict_holm : r->verdict;
    const bool known = r->steady.level > 0;
    char text[CBX_FORMAT_INTERVAL_SIZE];
    SCOPED_TEXT(label, cbx_allocator_default()); /* a command of several lines is printed in one */

    for (int c = 0; c < COLUMNS; c++) cells[c] = "";
    cbx_text_put_plain(&label, r->baseline);
    cells[COMMAND] = cbx_arena_strdup(arena, cbx_text_str(&label));
    cells[RUNS] = cbx_arena_printf(arena, "%zu", r->nlaunches);
    if (!cbx_row_is_good(r)) {
        cells[TIME] = !strcmp(r->status, "no_answer") ? "failed" : r->status;
        return;
    }
    cbx_format_seconds_interval(r->median_s, known ? r->steady.lower : NAN, r->steady.upper, text);
    cells[TIME] = cbx_arena_printf(arena, "%s%s", text, known ? "" : " [too few runs]");
    cells[MIN] = cbx_arena_strdup(arena, cbx_format_seconds(r->min_s, text));
    cells[CPU] = cbx_arena_strdup(arena, cbx_format_seconds(r->cpu_s, text));
    cells[MEMORY] = cbx_arena_printf(arena, "%.1f MB", r->host_rss_mb);
    if (r->paired_vs) {
        cbx_format_ratio(r->paired.value, r->paired.level > 0 ? r->paired.lower : NAN, r->paired.upper, text);
        cells[RATIO] = cbx_arena_printf(arena, "%s %s", text, verdict);
    } else if (rows->count > 1)
        cells[RATIO] = r == rows->rows ? "reference" : "-";
}

#define LONG_NAME 50 /* of a command; it is the last column where one is longer */

/* Runs far from the others, by ten times the spread that the middle half of normal noise has;
 * hyperfine warns at the same distance. */
static void warn(const opt_run *run, const cbx_rows *rows, bool shell)
{
    for (size_t i = 0; i < rows->count; i++) {
        const cbx_row *r = &rows->rows[i];
        double *far = cbx_arena_calloc(run->arena, r->nlaunches + 1, sizeof(*far)), limit;
        size_t outliers = 0;
        if (!cbx_row_is_good(r) || r->nlaunches < 6) continue;
        for (size_t k = 0; k < r->nlaunches; k++) far[k] = fabs(r->launch_medians_s[k] - r->median_s);
        qsort(far, r->nlaunches, sizeof(*far), cbx_compare_doubles);
        limit = 14.826 * far[r->nlaunches / 2];
        for (size_t k = 0; k < r->nlaunches; k++)
            outliers += limit > 0 && fabs(r->launch_medians_s[k] - r->median_s) > limit;
        if (limit > 0 && fabs(r->launch_medians_s[0] - r->median_s) > limit)
            fprintf(stderr,
                    "note: '%s': the first run took %.2g times the median: add --warmup, or --prepare to empty "
                    "caches\n",
                    r->baseline, r->launch_medians_s[0] / r->median_s);
        else if (outliers)
            fprintf(stderr, "note: '%s': %zu of %zu runs %s: close other programs, or add --warmup or --prepare\n",
                    r->baseline, outliers, r->nlaunches, outliers == 1 ? "is an outlier" : "are outliers");
        if (shell && r->median_s < 5e-3)
            fprintf(stderr,
                    "note: '%s' takes less than 5 ms, not much more than the variation of a shell: -N runs it without "
                    "one\n",
                    r->baseline);
    }
}

static int show(const opt_run *run, const exec_args *a, const cbx_rows *rows)
{
    int status = EXIT_PASS;

    SCOPED_TEXT(words, cbx_allocator_default());
    cbx_exec_sentence(rows, &words);
    if (rows->count) { /* how the shell was subtracted */
        const char *note = cbx_json_get_string(cbx_json_get(rows->rows[0].provenance, "schedule"), "note", NULL);
        if (note) fprintf(stderr, "note: %s\n", note);
    }
    if (rows->count > 2) {
        cbx_text_puts(&words, "fastest first, with the ratio to the fastest:\n");
        if (cbx_exec_ranking(run->ctx, rows, &words, run->err)) status = opt_fail(run, "%s", run->err->message);
    }
    if (a->json)
        status = print_rows_json(run, rows, "nperf-rows");
    else if (!status) {
        const char *shown[COLUMNS], *cells[COLUMNS];
        char sides[COLUMNS + 1] = "";
        int order[COLUMNS], n = 0;
        bool last = false;
        for (size_t i = 0; i < rows->count; i++) last = last || strlen(rows->rows[i].baseline) > LONG_NAME;
        for (int c = 0; c < COLUMNS; c++) {
            int column = (c + last) % COLUMNS;
            if (column == RATIO && rows->count == 1) continue;
            order[n] = column;
            shown[n] = heads[column];
            sides[n++] = "lrlrrrl"[column];
        }
        columns *table = columns_begin(run->arena, shown, sides);
        for (size_t i = 0; i < rows->count; i++) {
            make_cells(run->arena, rows, &rows->rows[i], cells);
            for (int c = 0; c < n; c++) columns_put(table, PAINT_PLAIN, cells[order[c]]);
        }
        columns_print(table, "");
    }
    fprintf(a->json ? stderr : stdout, "%s%s", a->json ? "" : "\n", cbx_text_str(&words));
    fflush(stdout);
    warn(run, rows, !a->o.direct);
    if (!status && a->markdown) {
        const char *cells[COLUMNS];
        SCOPED_TEXT(t, cbx_allocator_default());
        for (int c = 0; c < COLUMNS; c++) cbx_text_printf(&t, "| %s ", heads[c]);
        cbx_text_puts(&t, "|\n|---|--:|---|--:|--:|--:|---|\n");
        for (size_t i = 0; i < rows->count; i++) {
            make_cells(run->arena, rows, &rows->rows[i], cells);
            cbx_text_printf(&t, "| `%s` ", cells[COMMAND]);
            for (int c = RUNS; c < COLUMNS; c++) cbx_text_printf(&t, "| %s ", cells[c]);
            cbx_text_puts(&t, "|\n");
        }
        status = write_text(run, a->markdown, &t);
    }
    if (!status && a->csv) {
        cbx_text_reset(&words);
        cbx_rows_csv(rows, &words);
        status = write_text(run, a->csv, &words);
    }
    return status;
}

/* Sentences of failed commands go to standard error too, where the exit status is explained. */
static int conclude(const opt_run *run, const cbx_measure_result *r)
{
    int status = EXIT_PASS;

    if (r->interrupted) return EXIT_STOPPED;
    for (size_t i = 0; i < r->rows.count; i++) {
        const cbx_row *row = &r->rows.rows[i];
        if (!cbx_row_is_good(row))
            return opt_fail(run, "%s", row->failure_message ? row->failure_message : row->status);
        if (row->paired_vs && (!row->verdict_holm || !strcmp(row->verdict_holm, "undecided"))) status = EXIT_UNDECIDED;
    }
    return status;
}

static int run_exec(const opt_run *run)
{
    exec_args *a = run->args;
    cbx_exec_opts *o = &a->o;
    cbx_exec_param *params;
    cbx_exec_command *commands = cbx_arena_calloc(run->arena, run->words->count + 1, sizeof(*commands));
    progress p;

    CBX_SCOPED(cbx_measure_result, result, cbx_ctx_allocator(run->ctx));
    o->nparams = a->params.count + a->lists.count + a->scans.count;
    o->params = params = cbx_arena_calloc(run->arena, o->nparams + 1, sizeof(*params));
    int status = read_params(run, params);
    if (!status) status = make_commands(run, commands);
    if (status) return status;
    o->commands = commands;
    o->ncommands = run->words->count;
    o->direct = o->direct || (o->shell && !strcmp(o->shell, "none"));
    o->shell_cost = !o->direct;
    o->measure.stop = stop_catch();
    o->measure.progress = progress_show;
    o->measure.user = &p;
    progress_init(&p);
    cbx_status st = cbx_exec_run(run->ctx, o, &result, run->err);
    progress_end(&p);
    status = st ? opt_fail(run, "%s", run->err->message) : show(run, a, &result.rows);
    return status ? status : conclude(run, &result);
}

const opt_command exec_command = {
    .name = "exec",
    .synopsis = "[OPTION]... 'CMD A' ['CMD B']...",
    .summary = "measure any commands against each other",
    .description =
        "Runs commands in turns and prints the time of each, and the ratio of its time to that of the first one with "
        "an interval; below 1 is faster. Without --launches, runs are added until every verdict is decided or the "
        "budget of 60 s is spent (--budget); the level of the intervals accounts for the repeated checks.",
    OPT_OPTIONS_RULES(exec),
    .defaults = &(const exec_args){ .o = CBX_EXEC_OPTS_INIT, .step = 1 },
    .flags = OPT_TAKES_WORDS,
};
