/*
 * A command measured as it is: nperf-launch runs between this program and the command, clocks it
 * and asks the kernel what it used.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "calibrax/perf/launch/talk.h"
#include "calibrax/perf/schedule/claim.h"
#include "calibrax/perf/schedule/locks.h"

/* The launcher's one line: wall_ns user_us system_us maxrss_kib exit_code term_signal. */
static bool read_report(const char *line, cbx_command_record *r)
{
    unsigned long long wall, user, system;
    long rss;
    int code, signal_number;
    if (sscanf(line, "%llu %llu %llu %ld %d %d", &wall, &user, &system, &rss, &code, &signal_number) != 6) return false;
    r->wall_ns = (double)wall;
    r->cpu_user_s = 1e-6 * (double)user;
    r->cpu_system_s = 1e-6 * (double)system;
    r->hwm_bytes = 1024.0 * (double)rss;
    r->exit_code = code;
    r->term_signal = signal_number;
    return true;
}

static void fail(cbx_command_record *r, cbx_failure failure, const char *message)
{
    r->failure = failure;
    snprintf(r->message, sizeof r->message, "%s", message);
}

static void judge(cbx_command_record *r)
{
    if (r->term_signal) {
        r->failure = CBX_FAILURE_CRASHED;
        snprintf(r->message, sizeof r->message, "the command was killed by signal %d (%s)", r->term_signal,
                 strsignal(r->term_signal));
    } else if (r->exit_code != 0) {
        r->failure = CBX_FAILURE_EXITED;
        snprintf(r->message, sizeof r->message, "the command exited with status %d%s", r->exit_code,
                 r->exit_code == 127 ? ", with which a shell reports that there is no such program" : "");
    }
}

cbx_status cbx_command_run(cbx_ctx *ctx, const char *command, const cbx_command_opts *opts, cbx_command_record *record,
                           cbx_err *err)
{
    const char *const shell[] = { "sh", "-c", command, NULL };
    cbx__talk_opts talk = { 0 };
    cbx__child_opts child = { .program = opts && opts->program ? opts->program : shell, .measure = true };
    cbx__environment env;
    cbx__talk *t = NULL;
    cbx_arena arena;
    cbx_status st;
    const char *line;

    if (opts && opts->struct_size != sizeof *opts)
        return cbx_fail(err, CBX_EINVAL, "cbx_command_opts of another version");
    memset(record, 0, sizeof *record);
    record->exit_code = -1;
    record->wall_ns = record->cpu_user_s = record->cpu_system_s = record->hwm_bytes = record->tree_bytes = NAN;
    if (opts) {
        talk.timeout_s = opts->timeout_s;
        talk.stop = opts->stop;
        child.cores = opts->cores;
        child.ncores = opts->ncores;
        child.env_pad_bytes = opts->env_pad_bytes;
        child.stack_pad_bytes = opts->stack_pad_bytes;
        child.show_output = opts->show_output;
        child.folder = opts->folder;
        child.output = opts->output;
        talk.grace_s = opts->grace_s;
        talk.memory_limit_bytes = UINT64_MAX; /* is watched, not limited */
    }
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    cbx__environment_init(&env, &arena, NULL);
    cbx__claim_pass(opts ? opts->claim : NULL, &child, &env);
    for (size_t i = 0; opts && i < opts->nenv; i++) cbx__environment_set(&env, opts->env[i].name, opts->env[i].value);
    child.env = env.vars;
    st = env.failed ? cbx_fail(err, CBX_ENOMEM, "no memory for the environment of a command") : CBX_OK;
    if (!st) st = cbx__talk_open(cbx_ctx_allocator(ctx), &child, &talk, &t, err);
    if (!st) {
        t->phase = "command";
        line = cbx__talk_wait_report(t);
        if (!line)
            fail(record, t->failure, t->message);
        else if (!read_report(line, record))
            fail(record, CBX_FAILURE_MACHINE, "the launcher's report cannot be read");
        else if (t->ending)
            fail(record, t->ending, "it was asked to end");
        else
            judge(record);
        cbx__talk_stop(t);
        cbx__process_last_words(&t->child, record->last_words, sizeof record->last_words);
        if (t->tree_peak) record->tree_bytes = (double)t->tree_peak;
    }
    cbx__talk_close(t);
    cbx_arena_clear(&arena);
    return st;
}
