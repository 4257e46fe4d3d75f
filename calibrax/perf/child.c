/*
 * Starting and ending a child.  posix_spawn, never fork: from a parent with 512 MiB touched a fork costs 24 ms, a spawn 0.4 ms.
 * A group is killed while its leader is still a zombie: until the leader is reaped nobody else can get its number.
 */
#include "calibrax/perf/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/perf/tools.h"
#include "calibrax/profiling/procfs.h"

#define FIRST_FREE_FD 100 /* our descriptors stay out of the way of those that the child's are moved onto */
#define CHANNEL_FD    3

void cbx__child_init(cbx__child *c)
{
    memset(c, 0, sizeof *c);
    c->pidfd = c->channel = c->errors = -1;
}

static void close_fd(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static int move_up(int fd)
{
    int up = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    int saved = errno;
    close(fd);
    errno = saved;
    return up;
}

/* Two connected descriptors, both close-on-exec and above the ones of the child. */
static cbx_status make_pair(bool is_pipe, int ours_theirs[2], cbx_err *err)
{
    int pair[2];
    int failed = is_pipe ? pipe2(pair, O_CLOEXEC) : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
    if (failed) return cbx_fail_errno(err, errno, "cannot make a channel to a child");
    for (int i = 0; i < 2; i++) ours_theirs[i] = move_up(pair[i]);
    if (ours_theirs[0] >= 0 && ours_theirs[1] >= 0) return CBX_OK;
    cbx_status st = cbx_fail_errno(err, errno, "cannot make a channel to a child");
    close_fd(&ours_theirs[0]);
    close_fd(&ours_theirs[1]);
    return st;
}

static const char *cores_text(cbx_arena *arena, const int *cores, size_t n)
{
    const char *text = cbx_arena_printf(arena, "%d", cores[0]);
    for (size_t i = 1; i < n && text; i++) text = cbx_arena_printf(arena, "%s,%d", text, cores[i]);
    return text;
}

/* nperf-launch and its options, then the program.  NULL when memory is out. */
static const char **make_argv(cbx_arena *arena, const char *launcher, const cbx__child_opts *opts)
{
    const char *number = cbx_arena_printf(arena, "%d", CHANNEL_FD);
    size_t nprogram = 0, n = 0;
    while (opts->program[nprogram]) nprogram++;
    const char **argv = cbx_arena_calloc(arena, nprogram + 16, sizeof *argv);
    if (!argv || !number) return NULL;
    argv[n++] = launcher;
    argv[n++] = opts->measure ? "--measure" : "--fd";
    argv[n++] = number;
    if (opts->nheld) {
        argv[n++] = "--keep";
        argv[n++] = cbx_arena_printf(arena, "%zu", opts->nheld);
    }
    if (opts->ncores) {
        argv[n++] = "--cores";
        argv[n++] = cores_text(arena, opts->cores, opts->ncores);
    }
    argv[n++] = "--env-pad";
    argv[n++] = cbx_arena_printf(arena, "%zu", opts->env_pad_bytes);
    argv[n++] = "--stack-pad";
    argv[n++] = cbx_arena_printf(arena, "%zu", opts->stack_pad_bytes);
    argv[n++] = "--parent";
    argv[n++] = cbx_arena_printf(arena, "%d", (int)getpid());
    argv[n++] = "--";
    for (size_t i = 0; i < n; i++) {
        if (!argv[i]) return NULL;
    }
    for (size_t i = 0; i < nprogram; i++) argv[n++] = opts->program[i];
    return argv;
}

static int spawn(const char *launcher, const char **argv, const cbx__child_opts *opts, int channel, int errors,
                 pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    int failed = posix_spawn_file_actions_init(&files);
    if (failed) return failed;
    failed = posix_spawnattr_init(&attr);
    if (failed) {
        posix_spawn_file_actions_destroy(&files);
        return failed;
    }
    sigemptyset(&none);
    sigfillset(&all);
    failed = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!failed) failed = posix_spawnattr_setsigmask(&attr, &none);
    if (!failed) failed = posix_spawnattr_setsigdefault(&attr, &all);
    if (!failed) failed = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (!failed && !opts->show_output) failed = posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    if (!failed && !opts->show_output) failed = posix_spawn_file_actions_adddup2(&files, errors, 2);
    if (!failed) failed = posix_spawn_file_actions_adddup2(&files, channel, CHANNEL_FD);
    for (size_t i = 0; !failed && i < opts->nheld; i++)
        failed = posix_spawn_file_actions_adddup2(&files, opts->held[i], CHANNEL_FD + 1 + (int)i);
    if (!failed)
        failed = posix_spawn(pid, launcher, &files, &attr, (char *const *)(uintptr_t)argv,
                             (char *const *)(uintptr_t)opts->env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

cbx_status cbx__child_start(const cbx_allocator *al, const cbx__child_opts *opts, cbx__child *c, cbx_err *err)
{
    int channel[2] = { -1, -1 }, errors[2] = { -1, -1 };
    const char *launcher, **argv;
    cbx_arena arena;
    cbx_status st;
    int failed;

    cbx_arena_init(&arena, al);
    st = cbx__tool_find(CBX__TOOL_LAUNCH, &arena, &launcher, err);
    if (st) goto done;
    st = make_pair(false, channel, err);
    if (st) goto done;
    if (!opts->show_output) st = make_pair(true, errors, err);
    if (st) goto done;
    argv = make_argv(&arena, launcher, opts);
    if (!argv) {
        st = cbx_fail(err, CBX_ENOMEM, "no memory for the command line of '%s'", cbx__tool_base(opts->program[0]));
        goto done;
    }
    failed = spawn(launcher, argv, opts, channel[1], errors[1], &c->pid);
    if (failed) {
        c->pid = 0;
        st = cbx_fail_errno(err, failed, "cannot start '%s'", cbx__tool_base(launcher));
        goto done;
    }
    c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
    c->channel = channel[0];
    c->errors = errors[0];
    channel[0] = errors[0] = -1;
    if (c->errors >= 0) fcntl(c->errors, F_SETFL, O_NONBLOCK);
done:
    for (int i = 0; i < 2; i++) close_fd(&channel[i]), close_fd(&errors[i]);
    cbx_arena_clear(&arena);
    return st;
}

void cbx__child_drain(cbx__child *c)
{
    char chunk[4096];
    ssize_t n;
    if (c->errors < 0) return;
    for (int i = 0; i < 64 && (n = read(c->errors, chunk, sizeof chunk)) > 0; i++) {
        size_t take = (size_t)n < CBX__CHILD_TAIL ? (size_t)n : CBX__CHILD_TAIL;
        size_t keep = c->tail_len + take <= CBX__CHILD_TAIL ? c->tail_len : CBX__CHILD_TAIL - take;
        memmove(c->tail, c->tail + c->tail_len - keep, keep);
        memcpy(c->tail + keep, chunk + (size_t)n - take, take);
        c->tail_len = keep + take;
    }
    if (n == 0) close_fd(&c->errors);
}

bool cbx__child_ended(const cbx__child *c)
{
    siginfo_t info = { 0 };
    if (c->pid <= 0 || c->reaped) return true;
    if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0) return info.si_pid == c->pid;
    return errno == ECHILD; /* a caller that ignores SIGCHLD has its children reaped by the kernel */
}

bool cbx__child_wait(cbx__child *c, uint64_t timeout_ns)
{
    uint64_t start = cbx_clock_ns();
    while (!cbx__child_ended(c)) {
        uint64_t gone = cbx_clock_ns() - start;
        if (gone >= timeout_ns) return false;
        uint64_t left_ms = (timeout_ns - gone) / 1000000 + 1;
        int tick = c->pidfd >= 0 ? 20 : 1;
        struct pollfd watch[2] = { { .fd = c->pidfd, .events = POLLIN }, { .fd = c->errors, .events = POLLIN } };
        poll(watch, 2, left_ms < (uint64_t)tick ? (int)left_ms : tick);
        cbx__child_drain(c);
    }
    return true;
}

static bool among(const pid_t *list, size_t n, pid_t pid)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == pid) return true;
    }
    return false;
}

/* Looked for until there are no new ones: what was killed has no more children. */
size_t cbx__child_sweep(cbx__child *c)
{
    pid_t found[256], killed[256];
    size_t nkilled = 0, n, fresh;
    do {
        n = cbx__proc_descendants(c->pid, found, CBX_LEN(found));
        fresh = 0;
        for (size_t i = 0; i < n && nkilled < CBX_LEN(killed); i++) {
            if (among(killed, nkilled, found[i]) || !cbx__proc_alive(found[i])) continue;
            kill(found[i], SIGKILL);
            killed[nkilled++] = found[i];
            fresh++;
        }
    } while (fresh > 0);
    return nkilled;
}

/* The leader keeps its orphans (nperf-launch made it a subreaper), so as long as it lives nobody can hide from it; it is stopped first. */
void cbx__child_kill(cbx__child *c)
{
    if (c->pid <= 0 || c->reaped) return;
    if (!cbx__child_ended(c)) {
        c->killed = true;
        kill(c->pid, SIGSTOP);
        cbx__child_sweep(c);
    }
    kill(-c->pid, SIGKILL);
}

void cbx__child_finish(cbx__child *c)
{
    if (c->pid > 0 && !c->reaped) {
        cbx__child_kill(c);
        pid_t reaped;
        while ((reaped = wait4(c->pid, &c->status, 0, &c->usage)) < 0 && errno == EINTR) {}
        c->lost = reaped < 0;
        c->reaped = true;
    }
    cbx__child_drain(c);
    close_fd(&c->channel);
    close_fd(&c->errors);
    close_fd(&c->pidfd);
}

void cbx__child_tail(const cbx__child *c, char *out, size_t size)
{
    size_t from = c->tail_len + 1 > size ? c->tail_len + 1 - size : 0, n = 0;
    while (from < c->tail_len && ((unsigned char)c->tail[from] & 0xC0) == 0x80)
        from++; /* not in the middle of a character */
    for (size_t i = from; i < c->tail_len; i++) {
        unsigned char ch = (unsigned char)c->tail[i];
        out[n++] = ch == '\n' || ch >= 0x20 ? (char)ch : ' ';
    }
    while (n > 0 && (out[n - 1] == '\n' || out[n - 1] == ' ')) n--;
    out[n] = '\0';
}
