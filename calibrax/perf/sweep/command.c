/*
 * A command measured as it is: nperf-launch runs between this program and the command, clocks it
 * and asks the kernel what it used.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/perf/launch/talk.h"
#include "calibrax/perf/schedule/locks.h"

/* The launcher's one line: wall_ns user_us system_us maxrss_kib exit_code term_signal; and what it
 * reports of the command. */
static void read_report(const char *line, cbx_command_record *r)
{
    unsigned long long wall, user, system;
    long rss;
    int code, signal_number;

    if (sscanf(line, "%llu %llu %llu %ld %d %d", &wall, &user, &system, &rss, &code, &signal_number) != 6) {
        r->failure = CBX_FAILURE_MACHINE;
        snprintf(r->message, sizeof r->message, "the launcher's report cannot be read");
        return;
    }
    r->exit_code = code;
    r->term_signal = signal_number;
    r->wall_ns = (double)wall;
    r->cpu_user_s = 1e-6 * (double)user;
    r->cpu_system_s = 1e-6 * (double)system;
    r->hwm_bytes = 1024.0 * (double)rss;
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
    static const cbx_command_opts usual = { .struct_size = sizeof usual };
    const cbx_command_opts *o = opts ? opts : &usual;
    const char *const shell[] = { "sh", "-c", command, NULL };
    const cbx__talk_opts talk = { .timeout_s = o->timeout_s,
                                  .stop = o->stop,
                                  .grace_s = o->grace_s,
                                  .memory_limit_bytes = UINT64_MAX /* is watched, not limited */ };
    cbx__child_opts child = { .program = o->program ? o->program : shell,
                              .measure = true,
                              .cores = o->cores,
                              .ncores = o->ncores,
                              .env_pad_bytes = o->env_pad_bytes,
                              .stack_pad_bytes = o->stack_pad_bytes,
                              .show_output = o->show_output,
                              .folder = o->folder,
                              .output = o->output };
    cbx__environment env;
    cbx__talk *t = NULL;

    if (o->struct_size != sizeof *o) return cbx_fail(err, CBX_EINVAL, "cbx_command_opts of another version");
    memset(record, 0, sizeof *record);
    record->exit_code = -1;
    record->wall_ns = record->cpu_user_s = record->cpu_system_s = record->hwm_bytes = record->tree_bytes = NAN;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    cbx__environment_init(&env, &arena, NULL);
    cbx__claim_pass(o->claim, &child, &env);
    for (size_t i = 0; i < o->nenv; i++) cbx__environment_set(&env, o->env[i].name, o->env[i].value);
    child.env = env.vars;
    cbx_status st = env.failed ? cbx_fail(err, CBX_ENOMEM, "no memory for the environment of a command") : CBX_OK;
    if (!st) st = cbx__talk_open(cbx_ctx_allocator(ctx), &child, &talk, &t, err);
    if (!st) {
        t->phase = "command";
        const char *line = cbx__talk_wait_report(t);
        if (line) read_report(line, record);
        if (!line || (t->ending && record->failure != CBX_FAILURE_MACHINE)) {
            record->failure = line ? t->ending : t->failure;
            snprintf(record->message, sizeof record->message, "%s", line ? "it was asked to end" : t->message);
        }
        cbx__talk_stop(t);
        cbx__process_last_words(&t->child, record->last_words, sizeof record->last_words);
        if (t->tree_peak) record->tree_bytes = (double)t->tree_peak;
    }
    cbx__talk_close(t);
    return st;
}
