/* The launcher's command line and the socket to what it starts. */
#include "calibrax/perf/launch/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/path.h"
#include "calibrax/base/programs.h"
#include "calibrax/profiling/procfs.h"

#define LAUNCH_ABI  "2"   /* of the launcher's command line and of what it says; as in programs/launcher/main.c */
#define SWEEP_MAX   32768 /* processes */
#define SWEEP_LOOKS 5000  /* at processes that were killed and are not gone: a second altogether */

const char *cbx__cores_text(cbx_arena *arena, const int *cores, size_t n)
{
    const char *text = "";
    for (size_t i = 0; i < n && text; i++) text = cbx_arena_printf(arena, i ? "%s,%d" : "%s%d", text, cores[i]);
    return text;
}

/* nperf-launch and its options, then the program.  NULL when memory is out. */
static const char **make_argv(cbx_arena *arena, const char *launcher, const cbx__child_opts *o)
{
    const char *const options[][2] = {
        { "--abi", LAUNCH_ABI },
        { o->measure ? "--measure" : "--fd", cbx_arena_printf(arena, "%d", CBX__PROCESS_CHANNEL) },
        { o->ncores ? "--cores" : NULL, cbx__cores_text(arena, o->cores, o->ncores) },
        { o->confine ? "--sandbox" : NULL, o->sandbox == CBX_SANDBOX_REQUIRE ? "2" : "1" },
        { o->nheld ? "--keep" : NULL, cbx_arena_printf(arena, "%zu", o->nheld) },
        { "--env-pad", cbx_arena_printf(arena, "%zu", o->env_pad_bytes) },
        { "--stack-pad", cbx_arena_printf(arena, "%zu", o->stack_pad_bytes) },
        { "--parent", cbx_arena_printf(arena, "%d", (int)getpid()) },
    };
    size_t nprogram = 0, n = 0;

    while (o->program[nprogram]) nprogram++;
    const char **argv = cbx_arena_calloc(arena, nprogram + 2 * (CBX_LEN(options) + o->ngrants) + 3, sizeof *argv);
    if (!argv) return NULL;
    argv[n++] = launcher;
    for (size_t i = 0; i < CBX_LEN(options); i++) {
        if (!options[i][1]) return NULL;
        if (!options[i][0]) continue;
        argv[n++] = options[i][0];
        argv[n++] = options[i][1];
    }
    for (size_t i = 0; i < o->ngrants; i++) {
        argv[n++] = o->grants[i].option;
        argv[n++] = o->grants[i].path;
    }
    argv[n++] = "--";
    for (size_t i = 0; i < nprogram; i++) argv[n++] = o->program[i];
    return argv;
}

cbx_status cbx__child_start(const cbx_allocator *al, const cbx__child_opts *opts, cbx__process *c, cbx_err *err)
{
    cbx__process_opts o = CBX__PROCESS_OPTS_INIT;
    int channel[2];
    const char *launcher;

    CBX_SCOPED(cbx_arena, arena, al);
    cbx_status st = cbx__tool_find(CBX__TOOL_LAUNCH, &arena, &launcher, err);
    /* close-on-exec, and above the child's own descriptors */
    const bool made = !st && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) == 0;
    for (int i = 0; i < 2; i++) channel[i] = made ? cbx__fd_up(channel[i]) : -1;
    if (!st && (channel[0] < 0 || channel[1] < 0)) st = cbx_fail_errno(err, errno, "cannot make a channel to a child");
    if (!st) {
        o.argv = make_argv(&arena, launcher, opts);
        o.env = opts->env;
        o.name = cbx_path_base(launcher);
        o.folder = opts->folder;
        o.output = opts->output ? opts->output : opts->show_output ? CBX__FD_OURS : CBX__FD_NOWHERE;
        o.errors = opts->show_output ? CBX__FD_OURS : CBX__FD_TAIL;
        o.channel = channel[1];
        o.held = opts->held;
        o.nheld = opts->nheld;
        o.own_group = true;
        st = o.argv
                 ? cbx__process_start(&o, c, err)
                 : cbx_fail(err, CBX_ENOMEM, "no memory for the command line of '%s'", cbx_path_base(opts->program[0]));
    }
    if (!st) c->channel = channel[0];
    if (st && channel[0] >= 0) close(channel[0]);
    if (channel[1] >= 0) close(channel[1]);
    return st;
}

/* Repeated until none is left alive: what was killed starts no more. */
size_t cbx__child_sweep(cbx__process *c)
{
    pid_t found[SWEEP_MAX];
    size_t killed = 0, alive;
    do {
        size_t n = cbx__proc_descendants(c->pid, found, SWEEP_MAX);
        alive = 0;
        for (size_t i = 0; i < n; i++) alive += cbx__proc_alive(found[i]) && kill(found[i], SIGKILL) == 0;
        killed += alive;
        for (size_t i = 0, looks = 0; i < n && alive; i++) {
            const struct timespec pause = { 0, 200000 };
            while (looks < SWEEP_LOOKS && cbx__proc_alive(found[i])) looks++, nanosleep(&pause, NULL);
        }
    } while (alive > 0 && killed < SWEEP_MAX);
    return killed;
}

/* The leader keeps its orphans (nperf-launch made it a subreaper), so as long as it lives no
 * process can hide from it; it is stopped first. */
void cbx__child_kill(cbx__process *c)
{
    if (c->pid > 0 && !c->reaped && !cbx__process_ended(c)) {
        cbx__process_signal(c, SIGSTOP);
        cbx__child_sweep(c);
    }
    cbx__process_kill(c);
}

void cbx__child_finish(cbx__process *c)
{
    cbx__child_kill(c);
    cbx__process_finish(c);
}
