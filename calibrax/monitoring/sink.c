/*
 * One line out.  A command reads it from a memory file, not from a pipe: a command that does not read cannot hold us up, nor raise a
 * signal here.
 */
#include "calibrax/monitoring/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/monitoring/webhook.h"

#define TIMEOUT_S 10

struct cbx_sink {
    cbx_allocator al;
    cbx_sink_kind kind;
    char *target;
    double timeout_s;
    int fd;
    cbx__webhook *webhook;
};

cbx_status cbx_sink_create(cbx_ctx *ctx, cbx_sink_kind kind, const char *target, double timeout_s, cbx_sink **out,
                           cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_status st = CBX_OK;
    cbx_sink *s;

    if (!target || !*target)
        return cbx_fail(err, CBX_EINVAL, "alerts have nowhere to go: a file, a command or an address is needed");
    if (!(timeout_s >= 0 && timeout_s < 1e6))
        return cbx_fail(err, CBX_EINVAL, "a time limit of %g s for an alert", timeout_s);
    s = cbx_mem_zalloc(al, sizeof *s);
    if (!s) return cbx_fail(err, CBX_ENOMEM, "no memory for a receiver of alerts");
    *s = (cbx_sink){ *al, kind, cbx_mem_strdup(al, target), timeout_s > 0 ? timeout_s : TIMEOUT_S, -1, NULL };
    if (!s->target) st = cbx_fail(err, CBX_ENOMEM, "no memory for a receiver of alerts");
    if (!st && kind == CBX_SINK_FILE) {
        s->fd = open(target, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
        if (s->fd < 0) st = cbx_fail_errno(err, errno, "cannot write alerts to '%s'", target);
    }
    if (!st && kind == CBX_SINK_WEBHOOK) st = cbx__webhook_create(ctx, target, s->timeout_s, &s->webhook, err);
    if (st) {
        cbx_sink_free(s);
        return st;
    }
    *out = s;
    return CBX_OK;
}

void cbx_sink_free(cbx_sink *s)
{
    cbx_allocator al;

    if (!s) return;
    al = s->al;
    if (s->fd >= 0) close(s->fd);
    cbx__webhook_free(s->webhook);
    if (s->target) cbx_mem_strfree(&al, s->target);
    cbx_mem_free(&al, s, sizeof *s);
}

static cbx_status write_all(int fd, const char *line, size_t len, const char *target, cbx_err *err)
{
    while (len > 0) {
        ssize_t n = write(fd, line, len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cbx_fail_errno(err, errno, "cannot write an alert to '%s'", target);
        line += n;
        len -= (size_t)n;
    }
    return CBX_OK;
}

static int spawn_shell(const char *command, int input, pid_t *pid)
{
    const char *argv[] = { "sh", "-c", command, NULL };
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
    if (!failed) failed = posix_spawn_file_actions_adddup2(&files, input, 0);
    if (!failed) failed = posix_spawnp(pid, "sh", &files, &attr, (char *const *)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

/* Waits for the leader of a group; false: the time was up, and the group was killed. */
static bool wait_child(pid_t pid, double timeout_s, int *status)
{
    const struct timespec tick = { 0, 5000000 };
    uint64_t start = cbx_clock_ns();
    pid_t got;

    while ((got = waitpid(pid, status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
        if (1e-9 * (double)(cbx_clock_ns() - start) >= timeout_s) {
            kill(-pid, SIGKILL);
            while (waitpid(pid, status, 0) < 0 && errno == EINTR) {}
            return false;
        }
        nanosleep(&tick, NULL);
    }
    if (got < 0) *status = 0; /* somebody else reaped it: SIGCHLD is ignored here */
    return true;
}

static cbx_status run_command(const cbx_sink *s, const char *line, size_t len, cbx_err *err)
{
    int input = memfd_create("alert", MFD_CLOEXEC), status = 0, failed;
    cbx_status st;
    pid_t pid;

    if (input < 0) return cbx_fail_errno(err, errno, "no file for the input of '%s'", s->target);
    st = write_all(input, line, len, s->target, err);
    if (!st) {
        lseek(input, 0, SEEK_SET);
        failed = spawn_shell(s->target, input, &pid);
        if (failed)
            st = cbx_fail_errno(err, failed, "cannot run '%s'", s->target);
        else if (!wait_child(pid, s->timeout_s, &status))
            st = cbx_fail(err, CBX_ETIMEOUT, "'%s' took an alert for more than %g s and was stopped", s->target,
                          s->timeout_s);
        else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            st = cbx_fail(err, CBX_ECHILD, "'%s' failed on an alert with status %d", s->target,
                          WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    close(input);
    return st;
}

cbx_status cbx_sink_send(cbx_sink *s, const cbx_alert *alert, int64_t time_us, cbx_err *err)
{
    cbx_json *json = cbx_alert_json(alert, time_us);
    cbx_status st;
    cbx_text line;

    if (!json) return cbx_fail(err, CBX_ENOMEM, "no memory for an alert");
    cbx_text_init(&line, &s->al);
    cbx_json_write(json, CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING, &line);
    cbx_text_putc(&line, '\n');
    cbx_json_unref(json);
    st = cbx_text_check(&line, err);
    if (!st) {
        switch (s->kind) {
        case CBX_SINK_FILE: st = write_all(s->fd, line.data, line.len, s->target, err); break;
        case CBX_SINK_COMMAND: st = run_command(s, line.data, line.len, err); break;
        case CBX_SINK_WEBHOOK: st = cbx__webhook_post(s->webhook, line.data, line.len, err); break;
        }
    }
    cbx_text_clear(&line);
    return st;
}
