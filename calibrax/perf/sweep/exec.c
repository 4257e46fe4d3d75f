/**
 * Commands as attempts of a case made up on the spot; rows, ratios and raw lines are those of the
 * sweep.  See exec.h.
 */
#include "calibrax/perf/sweep/exec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/text_keep.h"
#include "calibrax/perf/schedule/claim.h"
#include "calibrax/perf/sweep/run_table.h"
#include "calibrax/perf/sweep/stopping.h"
#include "calibrax/profiling/procfs.h"
#include "calibrax/statistics/estimate.h"

#define SHELL_RUNS 25 /* of the shell alone, before the first round */

/** One expanded command. */
typedef struct command {
    const char *name, *command, *hooks[CBX_EXEC_HOOKS];
    const char *const *program; /* what is executed */
    const cbx_exec_command *given;
    bool set_up;
    cbx_baseline_ops ops;
} command;

static const char *const hook_words[] = { "setup", "preparation", "conclusion", "cleanup" };

typedef struct exec_run {
    const cbx_exec_opts *opts;
    cbx_measure_opts measure; /* what the row maker looks at */
    cbx_case_ops case_ops;
    cbx__session s;
    cbx__point p;
    command *commands;
    const cbx_baseline_ops **baselines;
    size_t n, nrun; /* commands, and those that are run */
    double budget_s;
    cbx_rows older;       /* that the row file has already */
    size_t lost;          /* runs that were no longer than the shell alone */
    double failed_at_s;   /* since the start: when the first command failed */
    cbx_interval shell_s; /* of a shell that does nothing; value 0: not subtracted */
    cbx_claim *claim;     /* NULL: the caller's */
} exec_run;

static bool stopped(const exec_run *x) { return x->measure.stop && *x->measure.stop; }

static double elapsed_s(const exec_run *x) { return 1e-9 * (double)(cbx_clock_ns() - x->s.started_ns); }

/* --- parameters --- */

/* Replaces every {name} of the combination `which` (mixed radix, the last parameter fastest). */
static const char *expand(cbx_arena *arena, const cbx_exec_opts *o, size_t which, const char *text)
{
    cbx_text t;

    if (!text) return NULL;
    cbx_text_init(&t, &arena->al);
    while (*text) {
        size_t rest = which, hit = 0;
        for (size_t p = o->nparams; p-- > 0 && !hit;) {
            size_t len = strlen(o->params[p].name), value = rest % o->params[p].nvalues;
            rest /= o->params[p].nvalues;
            if (text[0] != '{' || strncmp(text + 1, o->params[p].name, len) || text[1 + len] != '}') continue;
            cbx_text_puts(&t, o->params[p].values[value]);
            hit = len + 2;
        }
        if (!hit) cbx_text_putc(&t, *text);
        text += hit ? hit : 1;
    }
    return cbx__text_keep(&t, arena);
}

/* Words between blanks, quotes and backslashes taken off. */
static cbx_status split_words(cbx_arena *arena, const char *text, const char *const **out, cbx_err *err)
{
    const char **words = cbx_arena_calloc(arena, strlen(text) / 2 + 2, sizeof(*words)), *s = text;
    size_t n = 0;

    CBX_SCOPED(cbx_text, word, &arena->al);
    while (words && *(s += strspn(s, " \t\n"))) {
        char quote = 0;
        cbx_text_reset(&word);
        for (; *s && (quote || !strchr(" \t\n", *s)); s++) {
            if (quote && *s == quote)
                quote = 0;
            else if (!quote && (*s == '\'' || *s == '"'))
                quote = *s;
            else
                cbx_text_putc(&word, *s == '\\' && quote != '\'' && s[1] ? *++s : *s);
        }
        words[n] = cbx_arena_strdup(arena, cbx_text_str(&word));
        if (quote || !words[n] || word.status) break;
        n++;
    }
    if (!words || (*s && !words[n])) return cbx_fail_nomem(err, "the words of a command");
    if (words[n]) return cbx_fail(err, CBX_EINVAL, "a quote is not closed in '%s'", text);
    if (!n) return cbx_fail(err, CBX_EINVAL, "a command is empty");
    *out = words;
    return CBX_OK;
}

/* Every command with every combination of the parameters; one without a parameter is measured once.
 * Commands of one name get a number. */
static cbx_status make_commands(exec_run *x, cbx_err *err)
{
    const cbx_exec_opts *o = x->opts;
    cbx_arena *arena = &x->p.arena;
    size_t combinations = 1, max;

    if (o->ncommands == 0)
        return cbx_fail(err, CBX_EINVAL, "exec: no command given; try nperf exec 'sleep 0.1' 'sleep 0.2'");
    for (size_t i = 0; i < o->nparams && combinations <= CBX_EXEC_MAX_COMMANDS; i++) {
        if (o->params[i].nvalues == 0)
            return cbx_fail(err, CBX_EINVAL, "parameter '%s' has no values", o->params[i].name);
        combinations *= o->params[i].nvalues;
    }
    max = combinations * o->ncommands;
    if (combinations > CBX_EXEC_MAX_COMMANDS || max > CBX_EXEC_MAX_COMMANDS)
        return cbx_fail(err, CBX_EINVAL, "more than %d commands with all values of the parameters",
                        CBX_EXEC_MAX_COMMANDS);
    x->commands = cbx_arena_calloc(arena, max, sizeof(*x->commands));
    x->baselines = cbx_arena_calloc(arena, max, sizeof(*x->baselines));
    x->p.plan.attempts = cbx_arena_calloc(arena, max, sizeof(*x->p.plan.attempts));
    if (!x->commands || !x->baselines || !x->p.plan.attempts) return cbx_fail_nomem(err, "commands");
    for (size_t i = 0; i < max; i++) {
        const cbx_exec_command *given = &o->commands[i / combinations];
        const size_t k = i % combinations;
        command *m = &x->commands[x->n];
        const char **words = NULL;
        size_t same = 0;
        bool known = false, ok;
        cbx_status st = CBX_OK;
        *m = (command){ .given = given,
                        .name = expand(arena, o, k, given->name),
                        .command = expand(arena, o, k, given->command ? given->command : given->name) };
        ok = m->name && m->command;
        for (int h = 0; h < CBX_EXEC_HOOKS; h++) {
            const char *text = given->hooks[h] ? given->hooks[h] : o->hooks[h];
            m->hooks[h] = expand(arena, o, k, text);
            ok = ok && (m->hooks[h] || !text);
        }
        for (size_t j = 0; ok && j < x->n; j++) {
            const command *other = &x->commands[j];
            known = known || (other->given == given && !strcmp(other->command, m->command));
            same += !strcmp(other->name, m->name);
        }
        if (known) continue;
        if (ok && o->direct) {
            st = split_words(arena, m->command, &m->program, err);
        } else if (ok && (words = cbx_arena_calloc(arena, 4, sizeof(*words)))) {
            words[0] = o->shell ? o->shell : "sh";
            words[1] = "-c";
            words[2] = m->command;
            m->program = words;
        }
        if (st) return st;
        m->ops = (cbx_baseline_ops){ .struct_size = sizeof(m->ops), .abi = CBX_CASE_ABI, .provider = "command" };
        m->ops.name = same ? cbx_arena_printf(arena, "%s #%zu", m->name, same + 1) : m->name;
        if (!ok || !m->program || !m->ops.name) return cbx_fail_nomem(err, "commands");
        x->baselines[x->n++] = &m->ops;
    }
    return CBX_OK;
}

static void no_outputs(const cbx_params *point, cbx_array_desc *out)
{
    (void)point;
    *out = (cbx_array_desc){ .dtype = CBX_F64 };
}

/* The case, point and plan that the commands amount to. */
static void make_plan(exec_run *x)
{
    const cbx_exec_opts *o = x->opts;

    x->case_ops = (cbx_case_ops){ .struct_size = sizeof(cbx_case_ops),
                                  .abi = CBX_CASE_ABI,
                                  .name = o->case_name ? o->case_name : "exec",
                                  .outputs = no_outputs,
                                  .baselines = x->baselines,
                                  .nbaselines = x->n };
    x->p.json = o->point ? o->point : "{}";
    x->p.representative = !o->point || o->representative;
    snprintf(x->p.label, sizeof(x->p.label), "%s", o->label ? o->label : "commands");
    x->p.plan.count = x->n;
    for (size_t i = 0; i < x->n; i++) {
        const cbx_exec_command *given = x->commands[i].given;
        cbx__attempt *a = &x->p.plan.attempts[i];
        *a = (cbx__attempt){ .baseline = x->baselines[i], .platform = "cpu", .variant = "default", .iterations = 1 };
        a->median_s = a->min_s = NAN;
        a->failure = given->left_out;
        x->nrun += !a->failure;
        if (!a->failure) continue;
        snprintf(a->message, sizeof(a->message), "%s", given->why ? given->why : "left out");
        a->remedy = given->remedy;
    }
}

/* --- one run --- */

static void say_how_it_ended(const char *kind, const char *text, const cbx_command_record *r,
                             char out[CBX_ERR_MESSAGE_SIZE])
{
    cbx_err e = CBX_ERR_INIT;

    if (r->failure == CBX_FAILURE_TIMEOUT)
        cbx_fail(&e, CBX_ETIMEOUT, "%s '%s' ran longer than the time limit", kind, text);
    else if (r->term_signal)
        cbx_fail(&e, CBX_ECHILD, "%s '%s' was ended by signal %d", kind, text, r->term_signal);
    else if (r->exit_code > 0)
        cbx_fail(&e, CBX_ECHILD, "%s '%s' exited with status %d", kind, text, r->exit_code);
    else
        cbx_fail(&e, CBX_ECHILD, "%s '%s': %s", kind, text, r->message);
    memcpy(out, e.message, CBX_ERR_MESSAGE_SIZE);
}

static cbx_status run_one(cbx_ctx *ctx, exec_run *x, const char *text, const char *const *program,
                          const cbx__layout *layout, cbx_command_record *r, cbx_err *err)
{
    cbx_command_opts o = { .struct_size = sizeof(o),
                           .timeout_s = x->s.timeout_s,
                           .show_output = x->opts->show_output,
                           .stop = x->measure.stop,
                           .claim = x->opts->claim ? x->opts->claim : x->claim,
                           .program = program };

    if (layout) {
        o.env_pad_bytes = layout->env_pad_bytes;
        o.stack_pad_bytes = layout->stack_pad_bytes;
    }
    memset(r, 0, sizeof(*r));
    return cbx_command_run(ctx, text, &o, r, err);
}

/* *message is "" where the hook succeeded, or is missing. */
static cbx_status run_hook(cbx_ctx *ctx, exec_run *x, const command *m, cbx_exec_hook hook, cbx_failure *failure,
                           char message[CBX_ERR_MESSAGE_SIZE], cbx_err *err)
{
    cbx_command_record r;

    *failure = CBX_FAILURE_NONE;
    if (!m->hooks[hook]) return CBX_OK;
    cbx_status st = run_one(ctx, x, m->hooks[hook], NULL, NULL, &r, err);
    if (st || (!r.failure && !r.exit_code)) return st;
    *failure = r.failure ? r.failure : CBX_FAILURE_EXITED;
    say_how_it_ended(hook_words[hook], m->hooks[hook], &r, message);
    return CBX_OK;
}

/* The hooks before, the command, and the hook behind it; what went wrong stays in the attempt. */
static cbx_status run_command(cbx_ctx *ctx, exec_run *x, size_t i, const cbx__layout *layout, cbx_command_record *r,
                              cbx_err *err)
{
    cbx__attempt *a = &x->p.plan.attempts[i];
    command *m = &x->commands[i];
    cbx_status st = CBX_OK;

    if (!m->set_up) st = run_hook(ctx, x, m, CBX_EXEC_SETUP, &a->failure, a->message, err);
    m->set_up = true;
    if (!st && !a->failure) st = run_hook(ctx, x, m, CBX_EXEC_PREPARE, &a->failure, a->message, err);
    if (st || a->failure) {
        memset(r, 0, sizeof(*r));
        return st;
    }
    st = run_one(ctx, x, m->command, m->program, layout, r, err);
    if (st) return st;
    a->failure = r->failure && r->failure != CBX_FAILURE_EXITED             ? r->failure
                 : (r->failure || r->exit_code) && !x->opts->ignore_failure ? CBX_FAILURE_EXITED
                                                                            : CBX_FAILURE_NONE;
    if (a->failure) say_how_it_ended("command", m->name, r, a->message);
    if (!a->failure && x->opts->check) { /* wrong outputs are data, a fault of the machine is not */
        cbx_err why = CBX_ERR_INIT;
        st = x->opts->check(x->opts->check_user, &why);
        if (st == CBX_ENOMEM) return cbx_fail(err, st, "%s", why.message);
        if (st) a->failure = st == CBX_EINTERRUPTED ? CBX_FAILURE_INTERRUPTED : CBX_FAILURE_FIDELITY;
        if (st) memcpy(a->message, why.message, CBX_ERR_MESSAGE_SIZE);
    }
    return a->failure ? CBX_OK : run_hook(ctx, x, m, CBX_EXEC_CONCLUDE, &a->failure, a->message, err);
}

/* Once for each command that was set up.  The results are there already: a failure is a note. */
static cbx_status clean_up(cbx_ctx *ctx, exec_run *x, cbx_err *err)
{
    for (size_t i = 0; i < x->n; i++) {
        char message[CBX_ERR_MESSAGE_SIZE];
        cbx_failure failure;
        cbx_status st = CBX_OK;
        if (!x->commands[i].set_up) continue;
        st = run_hook(ctx, x, &x->commands[i], CBX_EXEC_CLEANUP, &failure, message, err);
        if (st) return st;
        if (failure) cbx__session_tell(&x->s, CBX_MEASURE_NOTE, 0, "%s", message);
    }
    return CBX_OK;
}

/* A shell that has nothing to do, as often as an interval needs. */
static cbx_status measure_shell(cbx_ctx *ctx, exec_run *x, cbx_err *err)
{
    const char *const program[] = { x->opts->shell ? x->opts->shell : "sh", "-c", "", NULL };
    double times[SHELL_RUNS];
    cbx_status st = CBX_OK;

    if (x->opts->direct || !x->opts->shell_cost) return CBX_OK;
    for (size_t i = 0; i <= SHELL_RUNS && !stopped(x); i++) { /* the first one is warm-up */
        cbx_command_record r;
        st = run_one(ctx, x, "", program, NULL, &r, err);
        if (st || r.failure) return st; /* what is wrong with it, its first command has as well */
        if (i) times[i - 1] = 1e-9 * r.wall_ns;
    }
    if (stopped(x)) return CBX_OK;
    st = cbx_stat_median_interval(ctx, times, SHELL_RUNS, 0.95, &x->shell_s, err);
    if (!st)
        snprintf(x->p.note, sizeof(x->p.note),
                 "the time of the shell, %.3g ms [%.3g, %.3g], is subtracted from each run", 1e3 * x->shell_s.value,
                 1e3 * x->shell_s.lower, 1e3 * x->shell_s.upper);
    return st;
}

static cbx_status timed_run(cbx_ctx *ctx, exec_run *x, size_t i, size_t round, size_t place, cbx_err *err)
{
    cbx__attempt *a = &x->p.plan.attempts[i];
    cbx__launch *l = cbx__attempt_add(&x->p.arena, a);
    cbx_command_record r;

    if (!l) return cbx_fail_nomem(err, "a run");
    l->round = round;
    l->position = place;
    l->layout = cbx__layout_draw(x->measure.seed, cbx__stream_of(0xe7ecu, i, round));
    l->layout.heap_pad_bytes = 0; /* a command has no worker that pads its heap */
    cbx_status st = run_command(ctx, x, i, &l->layout, &r, err);
    if (st) return st;
    if (!a->failure && x->shell_s.value > 0) {
        /* what is no longer than a shell leaves noise of either sign: its size is kept */
        r.wall_ns -= 1e9 * x->shell_s.value;
        x->lost += r.wall_ns <= 0;
        r.wall_ns = fmax(fabs(r.wall_ns), 1);
    }
    cbx_launch_record *out = &l->record;
    cbx__launch_record_init(out);
    out->failure = a->failure;
    snprintf(out->message, sizeof(out->message), "%s", a->message);
    snprintf(out->phase, sizeof(out->phase), "epoch");
    out->exit_code = r.exit_code;
    out->term_signal = r.term_signal;
    out->iterations = 1;
    out->epochs = a->failure ? 0 : 1;
    out->epoch_ns[0] = out->outer_ns[0] = r.wall_ns;
    out->hwm_bytes = r.hwm_bytes;
    out->cpu_user_s = r.cpu_user_s;
    out->cpu_system_s = r.cpu_system_s;
    out->load_1min = cbx__proc_load_read();
    snprintf(out->energy_why, sizeof(out->energy_why), "the energy of commands is not measured");
    if (!a->failure) l->median_s = 1e-9 * r.wall_ns;
    cbx__session_tell(&x->s, CBX_MEASURE_LAUNCH, 1, "%s", x->commands[i].name);
    return CBX_OK;
}

/* --- when to stop --- */

/* More runs do not show what is shorter than a shell's own variation. */
static bool is_lost_in_shell(const exec_run *x)
{
    return !x->measure.launches && x->p.rounds >= CBX__FIRST_LOOK && 4 * x->lost > x->p.rounds;
}

static bool enough(const exec_run *x)
{
    if (cbx__plan_live(&x->p.plan) == 0) return true;
    for (size_t i = 0; i < x->nrun; i++) /* the answer is a failure: the others do not take long any more */
        if (x->p.plan.attempts[i].failure &&
            (x->p.rounds >= CBX__MIN_LAUNCHES || (x->p.rounds && elapsed_s(x) > x->failed_at_s + 3)))
            return true;
    if (is_lost_in_shell(x) || (x->measure.launches && x->p.rounds >= x->measure.launches)) return true;
    if (cbx__stopping_done(&x->p)) return true;
    if (x->measure.launches && !(x->measure.budget_s > 0)) return false;
    return x->p.rounds >= CBX__MIN_LAUNCHES && elapsed_s(x) >= x->budget_s;
}

static const char *why_it_ended(const exec_run *x)
{
    for (size_t i = 0; i < x->nrun; i++)
        if (x->p.plan.attempts[i].failure) return "failure";
    if (is_lost_in_shell(x)) return "shell";
    if (x->measure.launches) return x->p.rounds >= x->measure.launches ? "asked" : "budget";
    return x->p.rounds >= CBX_LOOKS_PAIRS ? "plan" : "budget"; /* looks reach as far as the budget does */
}

/* --- the run --- */

static cbx_status warm_up(cbx_ctx *ctx, exec_run *x, cbx_err *err)
{
    int runs = x->measure.warmup < 0 ? 1 : x->measure.warmup;

    for (size_t i = 0; i < x->n; i++) {
        for (int k = 0; k < runs && !x->p.plan.attempts[i].failure && !stopped(x); k++) {
            cbx_command_record r;
            cbx_status st = run_command(ctx, x, i, NULL, &r, err);
            if (st) return st;
            if (x->p.plan.attempts[i].failure) x->failed_at_s = elapsed_s(x);
        }
    }
    return CBX_OK;
}

static cbx_status run_rounds(cbx_ctx *ctx, exec_run *x, cbx_err *err)
{
    cbx__attempt *attempts = x->p.plan.attempts;
    cbx__square q = { .n = 0 };
    cbx_status st = CBX_OK;

    while (!st && !stopped(x) && !enough(x)) {
        if (!cbx__square_order(&x->p.arena, &x->p.plan, x->measure.seed, x->p.rounds, &q))
            return cbx_fail_nomem(err, "the order of runs");
        size_t place = 0;
        for (; place < q.n && !st && !stopped(x); place++) {
            const size_t i = q.order[place];
            if (attempts[i].failure) continue;
            st = timed_run(ctx, x, i, x->p.rounds, place, err);
            if (attempts[i].failure) x->failed_at_s = elapsed_s(x);
        }
        if (st || place < q.n) break;
        x->p.rounds++;
        if (stopped(x) || x->measure.launches || x->p.rounds < CBX__FIRST_LOOK) continue;
        if (!x->p.looks.count) {
            /* looks as far as the budget goes, by the time of the rounds up to the first look */
            const double rounds = CBX__FIRST_LOOK * x->budget_s / fmax(elapsed_s(x), 1e-6);
            st = cbx__stopping_plan(&x->p, (size_t)fmin(fmax(rounds, CBX__FIRST_LOOK), CBX_LOOKS_PAIRS), err);
        }
        if (!st) st = cbx__stopping_look(ctx, &x->s, &x->p, err);
    }
    return st ? st : cbx__stopping_end(&x->p, why_it_ended(x), err);
}

static cbx_status finish(cbx_ctx *ctx, exec_run *x, cbx_measure_result *result, cbx_err *err)
{
    result->interrupted = stopped(x);
    for (cbx__attempt *a = x->p.plan.attempts; result->interrupted && a < x->p.plan.attempts + x->n; a++) {
        /* what has runs stays a measurement; what has none was interrupted */
        if (a->failure == CBX_FAILURE_INTERRUPTED && a->first && !isnan(a->first->median_s))
            a->failure = CBX_FAILURE_NONE;
        if (!a->failure && !a->first) a->failure = CBX_FAILURE_INTERRUPTED;
    }
    x->s.launches = x->p.counts.launches = x->p.rounds;
    x->s.epochs = x->p.counts.epochs = 1;
    x->s.warmup = x->measure.warmup < 0 ? 1 : (size_t)x->measure.warmup;
    cbx_status st = cbx__rows_judge(ctx, &x->s, &x->p, err);
    if (st) return st;
    pthread_mutex_lock(&x->s.lock);
    st = cbx__rows_make(ctx, &x->s, &x->p, &result->rows, &result->raw, err);
    pthread_mutex_unlock(&x->s.lock);
    result->points = x->nrun;
    for (size_t i = 0; i < x->n; i++) result->points_good += x->p.plan.attempts[i].good;
    if (!st) st = cbx__table_settle(x->case_ops.name, &result->rows, err);
    if (!st && x->measure.out_path)
        st = cbx__table_write(ctx, x->measure.out_path, result->rows.rows, result->rows.count, &x->older, err);
    return st;
}

static void tell_note(void *user, const char *text)
{
    exec_run *x = user;
    cbx__session_tell(&x->s, CBX_MEASURE_NOTE, 0, "%s", text);
}

cbx_status cbx_exec_run(cbx_ctx *ctx, const cbx_exec_opts *opts, cbx_measure_result *result, cbx_err *err)
{
    exec_run x = { .opts = opts };

    if (opts->struct_size != sizeof(*opts))
        return cbx_fail(err, CBX_EINVAL, "exec: options of another version of the header");
    x.measure = opts->measure;
    x.measure.case_ops = &x.case_ops;
    x.budget_s = opts->measure.budget_s > 0 ? opts->measure.budget_s : 60;
    cbx__session_init(&x.s, &x.measure);
    x.s.timeout_s = opts->measure.worker_timeout_s > 0 ? opts->measure.worker_timeout_s : 3600;
    x.s.budget_s = opts->measure.launches && !(opts->measure.budget_s > 0) ? 0 : x.budget_s;
    memcpy(result->run_id, x.s.run_id, sizeof(result->run_id));
    cbx_arena_init(&x.p.arena, cbx_ctx_allocator(ctx));
    cbx_rows_init(&x.older, cbx_ctx_allocator(ctx));
    cbx_status st = make_commands(&x, err);
    if (st) goto done;
    make_plan(&x);
    if (!opts->measure.launches)
        x.s.goal = (cbx__goal){ opts->measure.precision > 0 ? opts->measure.precision
                                : x.nrun > 1                ? 0
                                                            : 0.02,
                                true, x.nrun - 1 };
    if (opts->measure.out_path) st = cbx_file_check_writable(ctx, opts->measure.out_path, err);
    if (!st && opts->measure.out_path) st = cbx__table_older(ctx, opts->measure.out_path, &x.older, err);
    if (st) goto done;
    cbx__session_learn(ctx, &x.s);
    x.s.have_probe = false;                               /* commands declare no work */
    x.s.launches_total = opts->measure.launches * x.nrun; /* 0: unknown */
    /* unless the caller has them; a stop while it waits is one before the first run */
    const double wait_s = x.measure.lock_wait_s != 0 ? x.measure.lock_wait_s : x.s.timeout_s;
    const cbx_claim_opts claim = { sizeof claim, wait_s, x.measure.stop, tell_note, &x };
    st = opts->claim ? CBX_OK : cbx_claim_take(ctx, &claim, &x.claim, err);
    if (st == CBX_EINTERRUPTED) st = CBX_OK;
    x.s.started_ns = cbx_clock_ns();
    if (!st) st = measure_shell(ctx, &x, err);
    if (!st) st = warm_up(ctx, &x, err);
    if (!st) st = run_rounds(ctx, &x, err);
    if (!st) st = clean_up(ctx, &x, err);
    cbx_claim_release(x.claim);
    if (!st) st = finish(ctx, &x, result, err);
done:
    cbx_rows_clear(&x.older);
    cbx_arena_clear(&x.p.arena);
    cbx__session_clear(&x.s);
    return st;
}

/* --- what came of it, as sentences --- */

static void say_ratio(const cbx_row *first, const cbx_row *r, cbx_text *out)
{
    const char *alone = r->verdict ? r->verdict : "undecided", *verdict = r->verdict_holm ? r->verdict_holm : alone;
    char ratio[CBX_FORMAT_INTERVAL_SIZE];

    cbx_format_ratio(r->paired.value, r->paired.level > 0 ? r->paired.lower : NAN, r->paired.upper, ratio);
    int value = (int)strcspn(ratio, " "); /* the name goes before the bracket */
    cbx_text_printf(out, "'%s' takes %.*s times as long as '%s'%s: %s", r->baseline, value, ratio, first->baseline,
                    ratio + value, verdict);
    if (!strcmp(verdict, "equivalent")) cbx_text_puts(out, " within 2 %");
    if (!strcmp(verdict, "undecided")) {
        if (strcmp(verdict, alone) != 0)
            cbx_text_printf(out, " among %zu comparisons (alone %s)", (size_t)r->holm_rows, alone);
        cbx_text_printf(out, " after %zu run%s; more runs would decide", r->nlaunches, r->nlaunches == 1 ? "" : "s");
    }
    cbx_text_putc(out, '\n');
}

/* A command of several lines is named in one. */
static cbx_row named(const cbx_row *r, cbx_text *name)
{
    cbx_row copy = *r;

    cbx_text_reset(name);
    cbx_text_put_plain(name, r->baseline);
    copy.baseline = cbx_text_str(name);
    return copy;
}

void cbx_exec_sentence(const cbx_rows *rows, cbx_text *out)
{
    CBX_SCOPED(cbx_text, first_name, &out->al);
    CBX_SCOPED(cbx_text, name, &out->al);
    for (size_t i = 0; i < rows->count; i++) {
        cbx_row first = named(&rows->rows[0], &first_name), r = named(&rows->rows[i], &name);
        if (!cbx_row_is_good(&r)) {
            cbx_text_put_plain(out, r.failure_message ? r.failure_message : r.status);
            cbx_text_putc(out, '\n');
        } else if (r.paired_vs) {
            say_ratio(&first, &r, out);
        } else if (rows->count == 1) {
            char text[CBX_FORMAT_INTERVAL_SIZE];
            cbx_format_seconds_interval(r.median_s, r.steady.level > 0 ? r.steady.lower : NAN, r.steady.upper, text);
            cbx_text_printf(out, "'%s' takes %s over %zu run%s\n", r.baseline, text, r.nlaunches,
                            r.nlaunches == 1 ? "" : "s");
        }
    }
    if (first_name.status || name.status) out->status = CBX_ENOMEM;
}

static int by_median(const void *a, const void *b)
{
    double x = (*(const cbx_row *const *)a)->median_s, y = (*(const cbx_row *const *)b)->median_s;
    return (x > y) - (x < y);
}

cbx_status cbx_exec_ranking(cbx_ctx *ctx, const cbx_rows *rows, cbx_text *out, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    const cbx_row **order = cbx_arena_calloc(&arena, rows->count, sizeof(*order));
    char ratio[CBX_FORMAT_INTERVAL_SIZE];
    size_t n = 0;
    cbx_status st = CBX_OK;

    if (!order) return cbx_fail(err, CBX_ENOMEM, "out of memory for a ranking of %zu commands", rows->count);
    for (size_t i = 0; i < rows->count; i++)
        if (cbx_row_is_good(&rows->rows[i])) order[n++] = &rows->rows[i];
    qsort(order, n, sizeof(*order), by_median);
    for (size_t i = 0; i < n && !st; i++) {
        const cbx_row *r = order[i], *first = order[0]; /* runs of the same rounds: none of either failed */
        cbx_interval iv = { 1, 1, 1, 0 };
        if (i)
            st = cbx_stat_paired_ratio(ctx, r->launch_medians_s, first->launch_medians_s,
                                       r->nlaunches < first->nlaunches ? r->nlaunches : first->nlaunches, 0.95, &iv,
                                       err);
        cbx_format_ratio(iv.value, i && iv.level > 0 ? iv.lower : NAN, iv.upper, ratio);
        cbx_text_printf(out, "  %zu. %-24s '", i + 1, ratio);
        cbx_text_put_plain(out, r->baseline);
        cbx_text_puts(out, "'\n");
    }
    return st;
}
