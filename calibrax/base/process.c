/* A group is killed while its leader is still a zombie: until the leader is reaped its number is
 * not used again. */
#include "calibrax/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file_text.h"

#define FIRST_FREE_FD 100 /* our descriptors stay out of the way of those that the child's are moved onto */

extern char **environ;

void cbx__process_init(cbx__process *p)
{
    memset(p, 0, sizeof *p);
    p->pidfd = p->channel = p->errors = -1;
}

static void close_fd(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

int cbx__fd_up(int fd)
{
    int up = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    int saved = errno;
    if (fd >= 0) close(fd);
    errno = saved;
    return up;
}

cbx_status cbx__memory_file(const char *name, int *fd, cbx_err *err)
{
    int made = cbx__fd_up(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (made < 0) return cbx_fail_errno(err, errno, "cannot create a memory file for '%s'", name);
    *fd = made;
    return CBX_OK;
}

cbx_status cbx__memory_file_text(int fd, const char *name, size_t max_bytes, cbx_text *out, cbx_err *err)
{
    struct stat info;

    if (fstat(fd, &info) != 0) return cbx_fail_errno(err, errno, "cannot read '%s'", name);
    const size_t size = (size_t)info.st_size;
    if (size > max_bytes)
        return cbx_fail(err, CBX_EOVERFLOW, "'%s' has %zu bytes, and at most %zu are read", name, size, max_bytes);
    cbx_text t = { .al = out->al, .data = cbx_mem_alloc(&out->al, size + 1), .len = size, .cap = size + 1 };
    if (!t.data) return cbx_fail_nomem(err, name);
    cbx_status st = CBX_OK;
    if (!cbx__read_all(fd, t.data, size, 0))
        st = errno ? cbx_fail_errno(err, errno, "cannot read '%s'", name)
                   : cbx_fail(err, CBX_EIO, "'%s' shrank while it was read", name);
    t.data[size] = '\0';
    cbx_text_clear(st ? &t : out);
    if (!st) *out = t;
    return st;
}

/* --- starting --- */

static int add_file(posix_spawn_file_actions_t *files, int number, int fd)
{
    if (fd == CBX__FD_OURS) return 0;
    if (fd < 0) return posix_spawn_file_actions_addopen(files, number, "/dev/null", number ? O_WRONLY : O_RDONLY, 0);
    return posix_spawn_file_actions_adddup2(files, fd, number);
}

static int set_files(posix_spawn_file_actions_t *files, const cbx__process_opts *o, int errors)
{
    int failed = add_file(files, STDIN_FILENO, o->input);
    if (!failed) failed = add_file(files, STDOUT_FILENO, o->output);
    if (!failed) failed = add_file(files, STDERR_FILENO, errors);
    if (!failed && o->channel >= 0) failed = posix_spawn_file_actions_adddup2(files, o->channel, CBX__PROCESS_CHANNEL);
    for (size_t i = 0; !failed && i < o->nheld; i++)
        failed = posix_spawn_file_actions_adddup2(files, o->held[i], CBX__PROCESS_CHANNEL + 1 + (int)i);
    if (!failed && o->folder) failed = posix_spawn_file_actions_addchdir_np(files, o->folder);
    return failed;
}

static int spawn(const cbx__process_opts *o, int errors, pid_t *pid)
{
    char *const *argv = (char *const *)(uintptr_t)o->argv, *const *env = o->env ? (char *const *)(uintptr_t)o->env
                                                                                : environ;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (o->own_group ? POSIX_SPAWN_SETPGROUP : 0);
    int failed = posix_spawn_file_actions_init(&files);
    if (failed) return failed;
    failed = posix_spawnattr_init(&attr);
    if (failed) {
        posix_spawn_file_actions_destroy(&files);
        return failed;
    }
    sigemptyset(&none);
    sigfillset(&all);
    failed = posix_spawnattr_setflags(&attr, (short)flags);
    if (!failed) failed = posix_spawnattr_setsigmask(&attr, &none);
    if (!failed) failed = posix_spawnattr_setsigdefault(&attr, &all);
    if (!failed) failed = set_files(&files, o, errors);
    if (!failed) failed = posix_spawnp(pid, argv[0], &files, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

static int make_pipe(int ours_theirs[2])
{
    int pair[2];
    if (pipe2(pair, O_CLOEXEC)) return errno;
    for (int i = 0; i < 2; i++) ours_theirs[i] = cbx__fd_up(pair[i]);
    return ours_theirs[0] < 0 || ours_theirs[1] < 0 ? errno : 0;
}

cbx_status cbx__process_start(const cbx__process_opts *opts, cbx__process *p, cbx_err *err)
{
    bool tail = opts->errors == CBX__FD_TAIL;
    int pair[2] = { -1, -1 }, failed = tail ? make_pipe(pair) : 0;
    pid_t pid = 0;

    if (!failed) failed = spawn(opts, tail ? pair[1] : opts->errors, &pid);
    close_fd(&pair[1]);
    if (failed) {
        close_fd(&pair[0]);
        return cbx_fail_errno(err, failed, "cannot run '%s'", opts->name ? opts->name : opts->argv[0]);
    }
    p->pid = pid;
    p->own_group = opts->own_group;
    p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    p->errors = pair[0];
    if (p->errors >= 0) fcntl(p->errors, F_SETFL, O_NONBLOCK);
    return CBX_OK;
}

/* --- watching --- */

void cbx__process_drain(cbx__process *p)
{
    char chunk[4096];
    ssize_t n;
    if (p->errors < 0) return;
    for (int i = 0; i < 64 && (n = read(p->errors, chunk, sizeof chunk)) > 0; i++) {
        size_t take = (size_t)n < CBX__PROCESS_TAIL ? (size_t)n : CBX__PROCESS_TAIL;
        size_t keep = p->tail_len + take <= CBX__PROCESS_TAIL ? p->tail_len : CBX__PROCESS_TAIL - take;
        memmove(p->tail, p->tail + p->tail_len - keep, keep);
        memcpy(p->tail + keep, chunk + (size_t)n - take, take);
        p->tail_len = keep + take;
    }
    if (n == 0) close_fd(&p->errors);
}

bool cbx__process_ended(const cbx__process *p)
{
    siginfo_t info = { 0 };
    if (p->pid <= 0 || p->reaped) return true;
    if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0) return info.si_pid == p->pid;
    return errno == ECHILD; /* a caller that ignores SIGCHLD has its children reaped by the kernel */
}

bool cbx__process_wait(cbx__process *p, uint64_t timeout_ns)
{
    uint64_t start = cbx_clock_ns();
    while (!cbx__process_ended(p)) {
        uint64_t gone = cbx_clock_ns() - start;
        if (gone >= timeout_ns) return false;
        uint64_t left_ms = (timeout_ns - gone) / 1000000 + 1;
        int tick = p->pidfd >= 0 ? 20 : 1;
        struct pollfd watch[2] = { { .fd = p->pidfd, .events = POLLIN }, { .fd = p->errors, .events = POLLIN } };
        poll(watch, 2, left_ms < (uint64_t)tick ? (int)left_ms : tick);
        cbx__process_drain(p);
    }
    return true;
}

/* --- ending --- */

void cbx__process_signal(cbx__process *p, int number)
{
    if (p->pid > 0 && !p->reaped && !cbx__process_ended(p)) kill(p->pid, number);
}

void cbx__process_kill(cbx__process *p)
{
    if (p->pid <= 0 || p->reaped) return;
    if (!cbx__process_ended(p)) p->killed = true;
    kill(p->own_group ? -p->pid : p->pid, SIGKILL);
}

void cbx__process_finish(cbx__process *p)
{
    if (p->pid > 0 && !p->reaped) {
        cbx__process_kill(p);
        pid_t reaped;
        while ((reaped = wait4(p->pid, &p->status, 0, &p->usage)) < 0 && errno == EINTR) {}
        p->lost = reaped < 0;
        p->reaped = true;
    }
    cbx__process_drain(p);
    close_fd(&p->channel);
    close_fd(&p->errors);
    close_fd(&p->pidfd);
}

int cbx__process_exit_status(const cbx__process *p)
{
    if (!p->reaped || p->lost) return -1;
    return WIFSIGNALED(p->status) ? 128 + WTERMSIG(p->status) : WEXITSTATUS(p->status);
}

void cbx__process_tail(const cbx__process *p, char *out, size_t size)
{
    size_t from = p->tail_len + 1 > size ? p->tail_len + 1 - size : 0, n = 0;
    while (from < p->tail_len && ((unsigned char)p->tail[from] & 0xC0) == 0x80)
        from++; /* not in the middle of a character */
    for (size_t i = from; i < p->tail_len; i++) {
        unsigned char ch = (unsigned char)p->tail[i];
        out[n++] = ch == '\n' || ch >= 0x20 ? (char)ch : ' ';
    }
    while (n > 0 && (out[n - 1] == '\n' || out[n - 1] == ' ')) n--;
    out[n] = '\0';
}

void cbx__process_last_words(const cbx__process *p, char *out, size_t size)
{
    char tail[CBX__PROCESS_TAIL + 1], *line;
    size_t n;
    cbx__process_tail(p, tail, sizeof tail);
    line = strrchr(tail, '\n');
    line = line ? line + 1 : tail;
    n = strlen(line) < size - 1 ? strlen(line) : size - 1;
    memcpy(out, line, n);
    while (n > 0 && ((unsigned char)line[n] & 0xC0) == 0x80) n--; /* what was cut ends with a character */
    out[n] = '\0';
}

void cbx__put_quoted(cbx_text *t, const char *word)
{
    cbx_text_putc(t, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            cbx_text_puts(t, "'\\''");
        else
            cbx_text_putc(t, *word);
    }
    cbx_text_putc(t, '\'');
}
