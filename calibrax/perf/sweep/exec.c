/**
 * Commands as attempts of a case made up on the spot; rows, ratios and raw lines are those of the sweep.  See exec.h.
 */
#include "calibrax/perf/sweep/exec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/perf/schedule/claim.h"
#include "calibrax/perf/sweep/stopping.h"
#include "calibrax/perf/sweep/table.h"

/** One expanded command. */
typedef struct command {
    const char *name, *command, *setup;
    const cbx_exec_command *given;
    cbx_baseline_ops ops;
} command;

typedef struct exec_run {
    const cbx_exec_opts *opts;
    cbx_measure_opts measure; /* what the row maker looks at */
    cbx_case_ops case_ops;
    cbx__session s;
    cbx__point p;
    command *commands;
    const cbx_baseline_ops **baselines;
    size_t n, nrun;              /* commands, and those that are run */
    size_t *live, nlive, *order; /* commands that still run, and their places in a round */
    size_t first;                /* round at which the square of those began */
    double budget_s;
    cbx_claim *claim; /* NULL: the caller's */
} exec_run;

/* --- parameters --- */

/* Replaces every {name} of the combination `which` (mixed radix, the last parameter fastest). */
static const char *expand(cbx_arena *arena, const cbx_exec_opts *o, size_t which, const char *text)
{
    const char *out;
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
    out = t.status ? NULL : cbx_arena_strdup(arena, cbx_text_str(&t));
    cbx_text_clear(&t);
    return out;
}

static bool known_already(const exec_run *x, size_t i, const char *text)
{
    for (size_t j = 0; j < i; j++) {
        if (!strcmp(x->commands[j].command, text)) return true;
    }
    return false;
}

/* A command that holds no parameter comes out once, not once a combination. */
static cbx_status expand_commands(exec_run *x, size_t combinations, cbx_err *err)
{
    const cbx_exec_opts *o = x->opts;

    for (size_t c = 0; c < o->ncommands; c++) {
        size_t first = x->n;
        for (size_t k = 0; k < combinations; k++) {
            command *m = &x->commands[x->n];
            const char *text = o->commands[c].command ? o->commands[c].command : o->commands[c].name;
            m->given = &o->commands[c];
            m->name = expand(&x->p.arena, o, k, o->commands[c].name);
            m->command = expand(&x->p.arena, o, k, text);
            m->setup = expand(&x->p.arena, o, k, o->setup);
            if (!m->name || !m->command || (o->setup && !m->setup))
                return cbx_fail(err, CBX_ENOMEM, "out of memory for a command");
            if (k && x->n > first && known_already(x, x->n, m->command)) continue;
            x->n++;
        }
    }
    return CBX_OK;
}

/* Two equal commands are told apart in tables by a number. */
static cbx_status name_commands(exec_run *x, cbx_err *err)
{
    for (size_t i = 0; i < x->n; i++) {
        const char *name = x->commands[i].name;
        size_t same = 0;
        for (size_t j = 0; j < i; j++) same += !strcmp(x->commands[j].command, x->commands[i].command);
        if (same) name = cbx_arena_printf(&x->p.arena, "%s #%zu", name, same + 1);
        if (!name) return cbx_fail(err, CBX_ENOMEM, "out of memory for the name of a command");
        x->commands[i].ops = (cbx_baseline_ops){ .struct_size = sizeof(cbx_baseline_ops), .abi = CBX_CASE_ABI };
        x->commands[i].ops.name = name;
        x->commands[i].ops.provider = "command";
        x->baselines[i] = &x->commands[i].ops;
    }
    return CBX_OK;
}

static cbx_status make_commands(exec_run *x, cbx_err *err)
{
    const cbx_exec_opts *o = x->opts;
    size_t combinations = 1, most;
    cbx_status st;

    if (o->ncommands == 0)
        return cbx_fail(err, CBX_EINVAL, "exec: no command given; try nperf exec 'sleep 0.1' 'sleep 0.2'");
    for (size_t i = 0; i < o->nparams; i++) {
        if (o->params[i].nvalues == 0) return cbx_fail(err, CBX_EINVAL, "--param %s: no values", o->params[i].name);
        combinations *= o->params[i].nvalues;
        if (combinations > CBX_EXEC_MAX_COMMANDS) break;
    }
    most = combinations * o->ncommands;
    if (combinations > CBX_EXEC_MAX_COMMANDS || most > CBX_EXEC_MAX_COMMANDS) {
        return cbx_fail(err, CBX_EINVAL, "--param: more than %d commands after putting in the values",
                        CBX_EXEC_MAX_COMMANDS);
    }
    x->commands = cbx_arena_calloc(&x->p.arena, most, sizeof(*x->commands));
    x->baselines = cbx_arena_calloc(&x->p.arena, most, sizeof(*x->baselines));
    x->p.plan.attempts = cbx_arena_calloc(&x->p.arena, most, sizeof(*x->p.plan.attempts));
    if (!x->commands || !x->baselines || !x->p.plan.attempts)
        return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu commands", most);
    st = expand_commands(x, combinations, err);
    return st ? st : name_commands(x, err);
}

static void no_outputs(const cbx_params *point, cbx_array_desc *out)
{
    (void)point;
    *out = (cbx_array_desc){ .dtype = CBX_F64 };
}

/* The case, point and plan that the commands amount to. */
static void make_plan(exec_run *x)
{
    x->case_ops = (cbx_case_ops){ .struct_size = sizeof(cbx_case_ops),
                                  .abi = CBX_CASE_ABI,
                                  .name = x->opts->case_name ? x->opts->case_name : "exec",
                                  .outputs = no_outputs };
    x->case_ops.baselines = x->baselines;
    x->case_ops.nbaselines = x->n;
    x->p.json = x->opts->point ? x->opts->point : "{}";
    x->p.representative = !x->opts->point || x->opts->representative;
    snprintf(x->p.label, sizeof(x->p.label), "%s", x->opts->label ? x->opts->label : "commands");
    x->p.plan.count = x->n;
    for (size_t i = 0; i < x->n; i++) {
        cbx__attempt *a = &x->p.plan.attempts[i];
        a->baseline = x->baselines[i];
        a->platform = "cpu";
        a->variant = "default";
        a->iterations = 1;
        a->median_s = a->min_s = NAN;
        a->failure = x->commands[i].given->left_out;
        x->nrun += !a->failure;
        if (!a->failure) continue;
        snprintf(a->message, sizeof(a->message), "%s",
                 x->commands[i].given->why ? x->commands[i].given->why : "left out");
        a->remedy = x->commands[i].given->remedy;
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

static cbx_failure outcome(const exec_run *x, const cbx_command_record *r)
{
    if (r->failure && r->failure != CBX_FAILURE_EXITED) return r->failure;
    if (r->exit_code == 0 && !r->failure) return CBX_FAILURE_NONE;
    return x->opts->ignore_failure ? CBX_FAILURE_NONE : CBX_FAILURE_EXITED;
}

static cbx_status run_one(cbx_ctx *ctx, exec_run *x, const char *text, const cbx__layout *layout, cbx_command_record *r,
                          cbx_err *err)
{
    cbx_command_opts o = { .struct_size = sizeof(o),
                           .timeout_s = x->s.timeout_s,
                           .show_output = x->opts->show_output,
                           .stop = x->opts->stop,
                           .claim = x->opts->claim ? x->opts->claim : x->claim };

    if (layout) {
        o.env_pad_bytes = layout->env_pad_bytes;
        o.stack_pad_bytes = layout->stack_pad_bytes;
    }
    memset(r, 0, sizeof(*r));
    return cbx_command_run(ctx, text, &o, r, err);
}

/* What the caller says of the run just done: wrong outputs are data, a fault of the machine is not. */
static cbx_status check_outputs(const exec_run *x, cbx__attempt *a, cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = x->opts->check ? x->opts->check(x->opts->check_user, &why) : CBX_OK;

    if (st == CBX_OK) return CBX_OK;
    if (st == CBX_ENOMEM) return cbx_fail(err, st, "%s", why.message);
    a->failure = st == CBX_EINTERRUPTED ? CBX_FAILURE_INTERRUPTED : CBX_FAILURE_FIDELITY;
    memcpy(a->message, why.message, CBX_ERR_MESSAGE_SIZE);
    return CBX_OK;
}

/* Set-up, then the command; what went wrong stays in the attempt. */
static cbx_status run_command(cbx_ctx *ctx, exec_run *x, size_t i, const cbx__layout *layout, cbx_command_record *r,
                              cbx_err *err)
{
    cbx__attempt *a = &x->p.plan.attempts[i];
    const command *m = &x->commands[i];
    cbx_status st;

    if (m->setup) {
        st = run_one(ctx, x, m->setup, NULL, r, err);
        if (st) return st;
        if (r->failure || r->exit_code) {
            a->failure = r->failure ? r->failure : CBX_FAILURE_EXITED;
            say_how_it_ended("setup command", m->setup, r, a->message);
            return CBX_OK;
        }
    }
    st = run_one(ctx, x, m->command, layout, r, err);
    if (st) return st;
    a->failure = outcome(x, r);
    if (a->failure) say_how_it_ended("command", m->name, r, a->message);
    return a->failure ? CBX_OK : check_outputs(x, a, err);
}

static void fill_record(const cbx_command_record *r, cbx_failure failure, const char *message, cbx_launch_record *out)
{
    out->failure = failure;
    snprintf(out->message, sizeof(out->message), "%s", message);
    snprintf(out->phase, sizeof(out->phase), "epoch");
    out->exit_code = r->exit_code;
    out->term_signal = r->term_signal;
    out->iterations = 1;
    out->epochs = failure ? 0 : 1;
    out->epoch_ns[0] = out->outer_ns[0] = r->wall_ns;
    out->empty_epoch_ns = out->first_call_ns = out->compile_ns = out->ready_ns = out->overhead_ns = NAN;
    out->hwm_bytes = r->hwm_bytes;
    out->hwm_start_bytes = out->hwm_increase_bytes = out->device_peak_bytes = NAN;
    out->cpu_user_s = r->cpu_user_s;
    out->cpu_system_s = r->cpu_system_s;
    out->load_1min = NAN;
}

static cbx_status timed_run(cbx_ctx *ctx, exec_run *x, size_t i, size_t round, size_t place, cbx_err *err)
{
    cbx__attempt *a = &x->p.plan.attempts[i];
    cbx__launch *l = cbx_arena_calloc(&x->p.arena, 1, sizeof(*l));
    cbx_command_record r;
    cbx_status st;

    if (!l) return cbx_fail(err, CBX_ENOMEM, "out of memory for a run");
    l->round = round;
    l->position = place;
    l->layout = cbx__layout_draw(x->opts->seed, cbx__stream_of(0xe7ecu, i, round));
    l->layout.heap_pad_bytes = 0; /* nobody in there to take it */
    l->median_s = NAN;
    st = run_command(ctx, x, i, &l->layout, &r, err);
    if (st) return st;
    fill_record(&r, a->failure, a->message, &l->record);
    if (!a->failure) l->median_s = 1e-9 * r.wall_ns;
    if (a->last)
        a->last->next = l;
    else
        a->first = l;
    a->last = l;
    a->nlaunches++;
    cbx__session_tell(&x->s, CBX_MEASURE_LAUNCH, 1, "%s", x->commands[i].name);
    return CBX_OK;
}

/* --- when to stop --- */

static double elapsed_s(const exec_run *x) { return 1e-9 * (double)(cbx_clock_ns() - x->s.started_ns); }

/* Looks as far as the budget goes, by what the rounds up to the first look took. */
static cbx_status plan_looks(exec_run *x, cbx_err *err)
{
    double rounds = CBX__FIRST_LOOK * x->budget_s / fmax(elapsed_s(x), 1e-6);
    return cbx__stopping_plan(&x->p, rounds < CBX_LOOKS_PAIRS ? (size_t)fmax(rounds, CBX__FIRST_LOOK) : CBX_LOOKS_PAIRS,
                              err);
}

static cbx_status learn(cbx_ctx *ctx, exec_run *x, cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (x->opts->launches || x->p.rounds < CBX__FIRST_LOOK) return CBX_OK;
    if (!x->p.looks.count) st = plan_looks(x, err);
    return st ? st : cbx__stopping_look(ctx, &x->s, &x->p, err);
}

static bool enough(const exec_run *x)
{
    if (cbx__plan_live(&x->p.plan) == 0) return true;
    if (x->opts->launches && x->p.rounds >= x->opts->launches) return true;
    if (cbx__stopping_done(&x->p)) return true;
    if (x->opts->launches && !(x->opts->budget_s > 0)) return false;
    return x->p.rounds >= CBX__MIN_LAUNCHES && elapsed_s(x) >= x->budget_s;
}

static const char *why_it_ended(const exec_run *x)
{
    if (x->opts->launches) return x->p.rounds >= x->opts->launches ? "asked" : "budget";
    return x->p.rounds >= CBX_LOOKS_PAIRS ? "plan" : "budget"; /* looks reach as far as the budget does */
}

/* --- the run --- */

static bool stopped(const exec_run *x) { return x->opts->stop && *x->opts->stop; }

static cbx_status warm_up(cbx_ctx *ctx, exec_run *x, cbx_err *err)
{
    int runs = x->opts->warmup < 0 ? 1 : x->opts->warmup;

    for (size_t i = 0; i < x->n; i++) {
        for (int k = 0; k < runs && !x->p.plan.attempts[i].failure && !stopped(x); k++) {
            cbx_command_record r;
            cbx_status st = run_command(ctx, x, i, NULL, &r, err);
            if (st) return st;
        }
    }
    return CBX_OK;
}

/* A new square for the commands that are left. */
static void deal(exec_run *x)
{
    x->nlive = 0;
    x->first = x->p.rounds;
    for (size_t i = 0; i < x->n; i++) {
        if (cbx__attempt_alive(&x->p.plan.attempts[i])) x->live[x->nlive++] = i;
    }
}

static cbx_status run_round(cbx_ctx *ctx, exec_run *x, cbx_err *err)
{
    size_t *scratch = x->order + x->n;

    cbx__schedule_order(x->opts->seed, x->nlive, x->p.rounds - x->first, scratch, x->order);
    for (size_t place = 0; place < x->nlive; place++) {
        size_t i = x->live[x->order[place]];
        cbx_status st;
        if (stopped(x)) return CBX_OK;
        if (x->p.plan.attempts[i].failure) continue;
        st = timed_run(ctx, x, i, x->p.rounds, place, err);
        if (st) return st;
    }
    x->p.rounds++;
    return CBX_OK;
}

static cbx_status run_rounds(cbx_ctx *ctx, exec_run *x, cbx_err *err)
{
    cbx_status st = CBX_OK;

    x->live = cbx_arena_calloc(&x->p.arena, 3 * x->n, sizeof(*x->live));
    if (!x->live) return cbx_fail(err, CBX_ENOMEM, "out of memory for the order of runs");
    x->order = x->live + x->n;
    deal(x);
    while (!st && !stopped(x) && !enough(x)) {
        st = run_round(ctx, x, err);
        if (!st && !stopped(x)) st = learn(ctx, x, err);
        if (cbx__plan_live(&x->p.plan) != x->nlive) deal(x);
    }
    return st ? st : cbx__stopping_end(&x->p, why_it_ended(x), err);
}

/* What has runs stays a measurement; what has none was interrupted. */
static void settle_interrupted(exec_run *x)
{
    for (size_t i = 0; i < x->n; i++) {
        cbx__attempt *a = &x->p.plan.attempts[i];
        if (a->failure == CBX_FAILURE_INTERRUPTED && a->first && !isnan(a->first->median_s))
            a->failure = CBX_FAILURE_NONE;
        if (!a->failure && !a->first) a->failure = CBX_FAILURE_INTERRUPTED;
    }
}

static cbx_status finish(cbx_ctx *ctx, exec_run *x, cbx_measure_result *result, cbx_err *err)
{
    cbx_status st;

    result->interrupted = stopped(x);
    if (result->interrupted) settle_interrupted(x);
    x->s.launches = x->p.counts.launches = x->p.rounds;
    x->s.epochs = x->p.counts.epochs = 1;
    x->s.warmup = x->opts->warmup < 0 ? 1 : (size_t)x->opts->warmup;
    st = cbx__rows_judge(ctx, &x->s, &x->p, err);
    if (st) return st;
    pthread_mutex_lock(&x->s.lock);
    st = cbx__rows_make(ctx, &x->s, &x->p, &result->rows, &result->raw, err);
    pthread_mutex_unlock(&x->s.lock);
    result->points = x->nrun;
    for (size_t i = 0; i < x->n; i++) result->points_good += x->p.plan.attempts[i].good;
    if (!st) st = cbx__table_settle(x->case_ops.name, &result->rows, err);
    if (!st && x->opts->out_path)
        st = cbx_rows_write(ctx, x->opts->out_path, result->rows.rows, result->rows.count, err);
    return st;
}

static void tell_note(void *user, const char *text)
{
    exec_run *x = user;
    cbx__session_tell(&x->s, CBX_MEASURE_NOTE, 0, "%s", text);
}

/* Unless the caller has them.  A stop while it waits is one before the first run. */
static cbx_status claim_cores(cbx_ctx *ctx, exec_run *x, cbx_err *err)
{
    cbx_claim_opts o = CBX_CLAIM_OPTS_INIT;
    cbx_status st;

    if (x->opts->claim) return CBX_OK;
    o.wait_s = x->opts->lock_wait_s != 0 ? x->opts->lock_wait_s : x->s.timeout_s;
    o.stop = x->opts->stop;
    o.note = tell_note;
    o.user = x;
    st = cbx_claim_take(ctx, &o, &x->claim, err);
    return st == CBX_EINTERRUPTED ? CBX_OK : st;
}

cbx_status cbx_exec_run(cbx_ctx *ctx, const cbx_exec_opts *opts, cbx_measure_result *result, cbx_err *err)
{
    exec_run x = { .opts = opts };
    cbx_status st;

    if (opts->struct_size != sizeof(*opts))
        return cbx_fail(err, CBX_EINVAL, "exec: options of another version of the header");
    x.measure = (cbx_measure_opts){
        .struct_size = sizeof(x.measure), .case_ops = &x.case_ops, .seed = opts->seed, .stop = opts->stop
    };
    x.measure.progress = opts->progress;
    x.measure.user = opts->user;
    x.budget_s = opts->budget_s > 0 ? opts->budget_s : 60;
    cbx__session_init(&x.s, &x.measure);
    if (!opts->launches) x.s.goal = (cbx__goal){ opts->half_width > 0 ? opts->half_width : 0.02, true };
    x.s.timeout_s = opts->timeout_s > 0 ? opts->timeout_s : 3600;
    x.s.budget_s = opts->launches && !(opts->budget_s > 0) ? 0 : x.budget_s;
    memcpy(result->run_id, x.s.run_id, sizeof(result->run_id));
    cbx_arena_init(&x.p.arena, cbx_ctx_allocator(ctx));
    st = make_commands(&x, err);
    if (st) goto done;
    make_plan(&x);
    if (opts->out_path) st = cbx_file_check_writable(ctx, opts->out_path, err);
    if (st) goto done;
    cbx__session_learn(ctx, &x.s);
    x.s.have_probe = false; /* commands declare no work */
    x.s.launches_total = (opts->launches ? opts->launches : CBX__FIRST_LOOK) * x.nrun;
    st = claim_cores(ctx, &x, err);
    x.s.started_ns = cbx_clock_ns();
    if (!st) st = warm_up(ctx, &x, err);
    if (!st) st = run_rounds(ctx, &x, err);
    cbx_claim_release(x.claim);
    if (!st) st = finish(ctx, &x, result, err);
done:
    cbx_arena_clear(&x.p.arena);
    cbx__session_clear(&x.s);
    return st;
}
