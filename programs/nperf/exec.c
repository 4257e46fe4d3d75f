/*
 * nperf exec: any commands, interleaved, with intervals and a verdict.
 */
#include "calibrax/perf/sweep/exec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/perf/report/report.h"
#include "programs/common/stop.h"
#include "programs/nperf/nperf.h"

typedef struct exec_args {
    const char *setup, *out;
    opt_list params;
    size_t launches, seed;
    int warmup;
    double budget, precision, timeout, lock_wait;
    bool ignore_failure, shell, no_shell, show_output, json;
} exec_args;

#define AT(member) offsetof(exec_args, member)

static const opt_spec exec_options[] = {
    { "launches", 'n', OPT_POSITIVE, AT(launches), "N", "as many as it takes, 11 if that decides",
      "timed runs of each command" },
    { "warmup", 'w', OPT_INT, AT(warmup), "N", "1", "untimed runs of each command before" },
    { "budget", 0, OPT_NUMBER, AT(budget), "SECONDS", "60",
      "time after which no more runs are added, once there are 6" },
    { "precision", 0, OPT_NUMBER, AT(precision), "X", "0.02",
      "an interval within X to each side needs no more runs, decided or not" },
    { "setup", 0, OPT_STRING, AT(setup), "CMD", NULL, "run before every run, not timed; --prepare is the same" },
    { "prepare", 0, OPT_STRING, AT(setup), "CMD", NULL, "another name for --setup" },
    { "param", 'P', OPT_EACH, AT(params), "NAME=V1,V2", NULL,
      "put each value in the place of {NAME}; repeated: every combination" },
    { "ignore-failure", 'i', OPT_FLAG, AT(ignore_failure), NULL, NULL,
      "an exit status other than 0 is a run all the same" },
    { "shell", 0, OPT_FLAG, AT(shell), NULL, NULL, "run through sh -c, which is the default" },
    { "no-shell", 'N', OPT_FLAG, AT(no_shell), NULL, NULL,
      "no pipes, variables or patterns: words are split at blanks and quotes" },
    { "show-output", 0, OPT_FLAG, AT(show_output), NULL, NULL, "let the commands print" },
    { "timeout", 0, OPT_NUMBER, AT(timeout), "SECONDS", "3600", "longest run" },
    { "lock-wait", 0, OPT_NUMBER, AT(lock_wait), "SECONDS", "that of --timeout",
      "longest wait for cores that another invocation holds" },
    { "seed", 's', OPT_COUNT, AT(seed), "N", "0", "of the order and the layout of runs" },
    { "out", 'o', OPT_STRING, AT(out), "FILE", NULL, "rows, one JSON line each" },
    { "json", 0, OPT_FLAG, AT(json), NULL, NULL, "print one JSON document instead of the table" },
};

/* --- parameters --- */

static int read_param(const opt_program *program, const char *text, cbx_arena *arena, cbx_exec_param *out)
{
    const char *equals = strchr(text, '=');
    opt_list values = { NULL, 0 };

    if (!equals || equals == text) return opt_fail(program, "--param: expected NAME=V1,V2, found '%s'", text);
    out->name = cbx_arena_strndup(arena, text, (size_t)(equals - text));
    if (!out->name || !opt_split(arena, equals + 1, &values)) return opt_fail(program, "out of memory");
    if (values.count == 0) return opt_fail(program, "--param %s: no values", out->name);
    out->values = values.items;
    out->nvalues = values.count;
    return EXIT_PASS;
}

static bool is_used(const char *name, const opt_list *words, const char *setup)
{
    char mark[160];

    snprintf(mark, sizeof(mark), "{%s}", name);
    for (size_t i = 0; i < words->count; i++) {
        if (strstr(words->items[i], mark)) return true;
    }
    return setup && strstr(setup, mark);
}

static int read_params(const opt_program *program, const exec_args *a, const opt_list *words, cbx_arena *arena,
                       cbx_exec_param *out)
{
    for (size_t i = 0; i < a->params.count; i++) {
        if (read_param(program, a->params.items[i], arena, &out[i])) return EXIT_ERROR;
        if (!is_used(out[i].name, words, a->setup)) {
            return opt_fail(program, "--param %s: no command holds '{%s}'", out[i].name, out[i].name);
        }
    }
    return EXIT_PASS;
}

/* --- words without a shell: `exec 'a' 'b'`, so that sh does nothing but start them --- */

static void put_quoted(cbx_text *t, const char *word)
{
    cbx_text_puts(t, " '");
    for (; *word; word++) {
        if (*word == '\'')
            cbx_text_puts(t, "'\\''");
        else
            cbx_text_putc(t, *word);
    }
    cbx_text_putc(t, '\'');
}

/* One word from *text, quotes and backslashes taken off; false: no more, or a quote without an end (*open). */
static bool next_word(const char **text, cbx_text *word, bool *open)
{
    const char *s = *text + strspn(*text, " \t\n");
    char quote = 0;

    cbx_text_reset(word);
    if (!*s) return false;
    for (; *s && (quote || !strchr(" \t\n", *s)); s++) {
        if (quote && *s == quote)
            quote = 0;
        else if (!quote && (*s == '\'' || *s == '"'))
            quote = *s;
        else if (*s == '\\' && quote != '\'' && s[1])
            cbx_text_putc(word, *++s);
        else
            cbx_text_putc(word, *s);
    }
    *open = quote != 0;
    *text = s;
    return !*open;
}

static const char *without_shell(const opt_program *program, cbx_arena *arena, const char *text)
{
    const char *rest = text, *result = NULL;
    bool open = false;
    cbx_text word, line;

    cbx_text_init(&word, &arena->al);
    cbx_text_init(&line, &arena->al);
    cbx_text_puts(&line, "exec");
    while (next_word(&rest, &word, &open)) put_quoted(&line, cbx_text_str(&word));
    if (open)
        opt_fail(program, "--no-shell: a quote has no end in '%s'", text);
    else if (line.len <= 4)
        opt_fail(program, "--no-shell: empty command");
    else
        result = cbx_arena_strdup(arena, cbx_text_str(&line));
    cbx_text_clear(&word);
    cbx_text_clear(&line);
    return result;
}

static int make_commands(const opt_program *program, const exec_args *a, const opt_list *words, cbx_arena *arena,
                         cbx_exec_command *out)
{
    for (size_t i = 0; i < words->count; i++) {
        out[i].name = words->items[i];
        if (!a->no_shell) continue;
        out[i].command = without_shell(program, arena, words->items[i]);
        if (!out[i].command) return EXIT_ERROR;
    }
    return EXIT_PASS;
}

/* --- results --- */

/* A command of several lines stands in one. */
static const char *label_of(const cbx_row *r, cbx_text *label)
{
    cbx_text_reset(label);
    cbx_text_put_plain(label, r->baseline);
    return cbx_text_str(label);
}

static void print_table(const cbx_rows *rows)
{
    char median[CBX_FORMAT_SIZE], lower[CBX_FORMAT_SIZE], upper[CBX_FORMAT_SIZE], least[CBX_FORMAT_SIZE],
        cpu[CBX_FORMAT_SIZE];
    char interval[2 * CBX_FORMAT_SIZE + 8], memory[CBX_FORMAT_SIZE], ratio[96];
    size_t width = 7;
    cbx_text label;

    cbx_text_init(&label, cbx_allocator_default());
    for (size_t i = 0; i < rows->count; i++) {
        size_t n = strlen(label_of(&rows->rows[i], &label));
        if (n > width) width = n;
    }
    if (width > 60) width = 60;
    print_painted(PAINT_FAINT, "%-*s %5s %10s %-24s %10s %10s %10s  %s\n", (int)width, "command", "runs", "median",
                  "[95 % interval]", "min", "CPU", "memory", "ratio");
    for (size_t i = 0; i < rows->count; i++) {
        const cbx_row *r = &rows->rows[i];
        if (!cbx_row_is_good(r)) {
            printf("%-*s %s\n", (int)width, label_of(r, &label), r->status);
            continue;
        }
        snprintf(interval, sizeof(interval), "[%s, %s]", cbx_format_seconds(r->steady.lower, lower),
                 cbx_format_seconds(r->steady.upper, upper));
        if (!(r->steady.level > 0)) snprintf(interval, sizeof(interval), "[too few runs]");
        snprintf(memory, sizeof(memory), "%.1f MB", r->host_rss_mb);
        ratio[0] = 0;
        if (r->paired_vs)
            snprintf(ratio, sizeof(ratio), "%.3f [%.3f, %.3f] %s", r->paired.value, r->paired.lower, r->paired.upper,
                     r->verdict_holm ? r->verdict_holm : r->verdict);
        else if (i == 0 && rows->count > 1)
            snprintf(ratio, sizeof(ratio), "1");
        printf("%-*s %5zu %10s %-24s %10s %10s %10s  %s\n", (int)width, label_of(r, &label), r->nlaunches,
               cbx_format_seconds(r->median_s, median), interval, cbx_format_seconds(r->min_s, least),
               cbx_format_seconds(r->cpu_s, cpu), memory, ratio);
    }
    cbx_text_clear(&label);
}

static int show(const opt_program *program, const cbx_rows *rows, bool json)
{
    cbx_text words;
    int status = EXIT_PASS;

    cbx_text_init(&words, cbx_allocator_default());
    cbx_exec_sentence(rows, &words);
    if (json)
        status = print_rows_json(program, rows, "nperf-rows");
    else
        print_table(rows);
    fprintf(json ? stderr : stdout, "%s%s", json ? "" : "\n", cbx_text_str(&words));
    cbx_text_clear(&words);
    return status;
}

/* Sentences of failed commands go to standard error too, where the exit status is explained. */
static int conclude(const opt_program *program, const cbx_measure_result *r)
{
    int status = EXIT_PASS;

    if (r->interrupted) return EXIT_STOPPED;
    for (size_t i = 0; i < r->rows.count; i++) {
        const cbx_row *row = &r->rows.rows[i];
        if (!cbx_row_is_good(row))
            return opt_fail(program, "%s", row->failure_message ? row->failure_message : row->status);
        if (row->paired_vs && (!row->verdict_holm || !strcmp(row->verdict_holm, "undecided"))) status = EXIT_UNDECIDED;
    }
    return status;
}

static int run_exec(const opt_run *run)
{
    const opt_program *program = run->program;
    const exec_args *a = run->args;
    const opt_list *words = run->words;
    cbx_arena *arena = run->arena;
    cbx_exec_opts opts = CBX_EXEC_OPTS_INIT;
    cbx_exec_param *params = cbx_arena_calloc(arena, a->params.count + 1, sizeof(*params));
    cbx_exec_command *commands = cbx_arena_calloc(arena, words->count + 1, sizeof(*commands));
    cbx_measure_result result;
    cbx_err err = CBX_ERR_INIT;
    progress p;
    int status;

    if (a->shell && a->no_shell) return opt_fail(program, "--shell and --no-shell exclude each other");
    if (!params || !commands) return opt_fail(program, "out of memory");
    if (!(a->precision >= 0 && a->precision < 1))
        return opt_fail(program, "--precision: %g is no relative half width, such as 0.01 for 1 %%", a->precision);
    status = read_params(program, a, words, arena, params);
    if (!status) status = make_commands(program, a, words, arena, commands);
    if (status) return status;
    opts = (cbx_exec_opts){
        .struct_size = sizeof(opts), .commands = commands, .ncommands = words->count, .params = params
    };
    opts.nparams = a->params.count;
    opts.setup = a->setup;
    opts.warmup = a->warmup;
    opts.launches = a->launches;
    opts.budget_s = a->budget;
    opts.half_width = a->precision;
    opts.ignore_failure = a->ignore_failure;
    opts.show_output = a->show_output;
    opts.timeout_s = a->timeout;
    opts.lock_wait_s = a->lock_wait;
    opts.seed = a->seed;
    opts.out_path = a->out;
    opts.stop = stop_catch();
    opts.progress = progress_show;
    opts.user = &p;
    progress_init(&p);
    cbx_measure_result_init(&result, cbx_ctx_allocator(run->ctx));
    if (cbx_exec_run(run->ctx, &opts, &result, &err)) {
        progress_end(&p);
        status = opt_fail(program, "%s", err.message);
    } else {
        progress_end(&p);
        status = show(program, &result.rows, a->json);
        status = status ? status : conclude(program, &result);
    }
    cbx_measure_result_clear(&result);
    return status;
}

static const exec_args defaults = { .warmup = -1 };

const opt_command exec_command = {
    "exec",
    "[OPTION]... 'CMD A' ['CMD B']...",
    "measure any commands against each other",
    "Runs commands in turns and tells which is faster, with the interval of the ratio to the first one. Without "
    "--launches it goes on until "
    "every verdict is decided or every interval is within 2 %, or the budget is spent; the level of the intervals "
    "holds although it watched.",
    exec_options,
    CBX_LEN(exec_options),
    sizeof(exec_args),
    &defaults,
    OPT_TAKES_WORDS,
    run_exec,
};
