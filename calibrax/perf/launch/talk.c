/*
 * One conversation with a worker.  While the parent waits for an answer it watches the worker's
 * memory, the clock, the stop flag and the process itself; the worker's stderr is emptied so that
 * it never blocks.
 *
 * A failure's cause comes from structure only: a field of a message, a wait status, a watchdog of
 * ours, a counter of the kernel.
 */
#include "calibrax/perf/launch/talk.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "calibrax/base/clock.h"
#include "calibrax/core/owned.h"
#include "calibrax/profiling/procfs.h"

#define OTHER_LAUNCHER                                                                                                 \
    "nperf-launch ended with status %d before it started anything: it is of another version than this program; build " \
    "or "                                                                                                              \
    "install both again, or unset NPERF_LAUNCH"
#define LAUNCHER_SETUP 125 /* its status when it does not understand what it is asked for, and reports nothing */
#define TICK_NS        20000000u
#define TICK_MAX_NS    400000000u
#define GROUP_TICK_NS  100000000u
#define END_GRACE_NS   2000000000u /* a worker that closed its channel is about to end */
#define EXCUSED_MAX    10          /* times its time that a worker may wait for a CPU beside it */

void cbx__talk_fail(cbx__talk *t, cbx_failure failure, const char *fmt, ...)
{
    va_list args;
    if (t->failure != CBX_FAILURE_NONE) return;
    t->failure = failure;
    va_start(args, fmt);
    vsnprintf(t->message, sizeof t->message, fmt, args);
    va_end(args);
    cbx_text_blank(t->message); /* what a worker says may hold anything, and this is one line */
}

cbx_status cbx__talk_open(const cbx_allocator *al, const cbx__child_opts *child, const cbx__talk_opts *opts,
                          cbx__talk **out, cbx_err *err)
{
    cbx__talk *t = cbx_mem_zalloc(al, sizeof *t);
    if (!t) return cbx_fail(err, CBX_ENOMEM, "no memory for a worker's channel");
    t->al = *al;
    t->opts = *opts;
    if (!(t->opts.timeout_s > 0)) t->opts.timeout_s = 3600;
    if (t->opts.timeout_s > 1e9) t->opts.timeout_s = 1e9;
    t->phase = "spawn";
    t->oom_kills = cbx__proc_oom_kills();
    t->watch.own = t->watch.worker = -1;
    cbx__process_init(&t->child);
    cbx_status st = cbx__child_start(al, child, &t->child, err);
    if (st) {
        cbx__talk_close(t);
        return st;
    }
    cbx__wire_init(&t->wire, t->child.channel, false);
    cbx__waits_open(&t->watch, t->child.pid);
    *out = t;
    return CBX_OK;
}

void cbx__talk_stop(cbx__talk *t)
{
    uint64_t peak = cbx__memory_group_peak(&t->group);
    if (peak > t->tree_peak) t->tree_peak = peak;
    cbx__child_finish(&t->child);
    cbx__memory_group_close(&t->group);
}

void cbx__talk_close(cbx__talk *t)
{
    if (!t) return;
    cbx__talk_stop(t);
    cbx__wire_clear(&t->wire);
    cbx__waits_close(&t->watch);
    cbx_allocator al = t->al;
    cbx_mem_free(&al, t, sizeof *t);
}

/* @param gave  what a worker that exited did not do, or had done */
static void fail_by_status(cbx__talk *t, const char *gave)
{
    int status = t->child.status;
    if (t->child.lost)
        cbx__talk_fail(t, CBX_FAILURE_EXITED,
                       "the worker ended in phase '%s' with an unknown status: restore the default action of SIGCHLD",
                       t->phase);
    else if (WIFSIGNALED(status))
        cbx__talk_fail(t, CBX_FAILURE_CRASHED, "the worker was killed by signal %d (%s) in phase '%s'",
                       WTERMSIG(status), strsignal(WTERMSIG(status)), t->phase);
    else
        cbx__talk_fail(t, CBX_FAILURE_EXITED, "the worker exited with status %d in phase '%s' %s", WEXITSTATUS(status),
                       t->phase, gave);
}

/* The worker is gone, or about to be: the cause is in how it ended. */
static void fail_by_end(cbx__talk *t)
{
    uint64_t start = cbx_clock_ns();
    bool ended = cbx__process_wait(&t->child, END_GRACE_NS);
    t->waited_ns += cbx_clock_ns() - start;
    uint64_t group_kills = cbx__memory_group_kills(&t->group);
    cbx__talk_stop(t);
    int status = t->child.lost ? 0 : t->child.status;
    if (group_kills > 0)
        cbx__talk_fail(t, CBX_FAILURE_MEMORY_LIMIT,
                       "the kernel ended the worker in phase '%s': its control group held %.0f MB at most, the limit "
                       "is %.0f MB (memory.events: oom_kill %llu)",
                       t->phase, (double)t->tree_peak * 1e-6, (double)t->opts.memory_limit_bytes * 1e-6,
                       (unsigned long long)group_kills);
    else if (!ended && !t->child.lost)
        cbx__talk_fail(t, CBX_FAILURE_PROTOCOL, "the worker closed its channel in phase '%s' and continued to run",
                       t->phase);
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && cbx__proc_oom_kills() > t->oom_kills)
        cbx__talk_fail(t, CBX_FAILURE_OUT_OF_MEMORY,
                       "the kernel killed the worker in phase '%s': the machine was out of memory", t->phase);
    else if (!t->launched && WIFEXITED(status) && WEXITSTATUS(status) == LAUNCHER_SETUP)
        cbx__talk_fail(t, CBX_FAILURE_WORKER_MISSING, OTHER_LAUNCHER, LAUNCHER_SETUP);
    else
        fail_by_status(t, "and gave no answer");
}

/* A file that grows without end is memory that no process holds.  The leader is read at every tick;
 * all that descends from it, for which /proc must be gone through, seldom: never more than 2 % of
 * the time. */
static bool over_limit(cbx__talk *t, uint64_t now)
{
    struct stat info;
    size_t processes = 1;
    if (now - t->watched_ns < TICK_NS) return false;
    t->watched_ns = now;
    for (size_t i = 0; i < t->opts.nfiles; i++) {
        if (fstat(t->opts.files[i], &info) != 0 || (uint64_t)info.st_size <= t->opts.file_max[i]) continue;
        cbx__talk_fail(t, CBX_FAILURE_WRONG_SHAPE,
                       "output %zu grew to %.3f MB in phase '%s', at most %.3f MB are allowed", i,
                       (double)info.st_size * 1e-6, t->phase, (double)t->opts.file_max[i] * 1e-6);
        return true;
    }
    const bool all = now >= t->group_ns;
    const uint64_t resident = all ? cbx__proc_tree_resident(t->child.pid, &processes)
                                  : cbx__proc_resident(t->child.pid);
    if (all) {
        uint64_t after = cbx_clock_ns(), pause = 50 * (after - now);
        t->group_ns = after + (pause > GROUP_TICK_NS ? pause : GROUP_TICK_NS);
    }
    if (processes > CBX__TALK_MAX_PROCESSES) {
        cbx__talk_fail(t, CBX_FAILURE_PINNING, "the worker had %zu processes in phase '%s', at most %d are allowed",
                       processes, t->phase, CBX__TALK_MAX_PROCESSES);
        return true;
    }
    if (t->opts.memory_limit_bytes && resident > t->tree_peak) t->tree_peak = resident;
    if (!t->opts.memory_limit_bytes || resident <= t->opts.memory_limit_bytes) return false;
    cbx__talk_fail(t, CBX_FAILURE_MEMORY_LIMIT, "the worker held %.0f MB in phase '%s', the limit is %.0f MB",
                   (double)resident * 1e-6, t->phase, (double)t->opts.memory_limit_bytes * 1e-6);
    return true;
}

/* [s] The time for an answer is the worker's own: what it waited for a CPU that others had does not
 * count, to a limit. */
static double excused(const cbx__talk *t)
{
    return fmin(cbx__waits_so_far(&t->watch) * 1e-9, EXCUSED_MAX * t->opts.timeout_s);
}

/* True while the worker, asked to end, has time left to answer. */
static bool may_end(cbx__talk *t, cbx_failure why, uint64_t now)
{
    if (!(t->opts.grace_s > 0)) return false;
    if (!t->ending) {
        t->ending = why;
        t->ending_ns = now;
        cbx__process_signal(&t->child, SIGTERM);
    }
    return (double)(now - t->ending_ns) * 1e-9 < t->opts.grace_s;
}

/*
 * @param deadline  put off as far as that goes
 * @return true: there is no more time, and the failure has the reason
 */
static bool out_of_time(cbx__talk *t, uint64_t now, uint64_t *deadline)
{
    double waited = excused(t);
    *deadline = t->sent_ns + (uint64_t)((t->opts.timeout_s + waited) * 1e9);
    if (now < *deadline || may_end(t, CBX_FAILURE_TIMEOUT, now)) return false;
    if (waited >= EXCUSED_MAX * t->opts.timeout_s)
        cbx__talk_fail(t, CBX_FAILURE_CONTENDED,
                       "the machine is too busy to measure: no answer in phase '%s' within %g s, of which the worker "
                       "waited %.3g s for a CPU, at a load of %.1f",
                       t->phase, (double)(now - t->sent_ns) * 1e-9, waited, cbx__proc_load_read());
    else
        cbx__talk_fail(t, CBX_FAILURE_TIMEOUT, "no answer in phase '%s' within %g s", t->phase, t->opts.timeout_s);
    return true;
}

/* True when the channel can be read; false when something has failed. */
static bool wait_for_channel(cbx__talk *t, uint64_t deadline)
{
    for (;;) {
        struct pollfd watch[3] = { { .fd = t->wire.fd, .events = POLLIN },
                                   { .fd = t->child.errors, .events = POLLIN },
                                   { .fd = t->child.pidfd, .events = POLLIN } };
        uint64_t now = cbx_clock_ns();
        if (t->opts.stop && *t->opts.stop && !may_end(t, CBX_FAILURE_INTERRUPTED, now)) {
            cbx__talk_fail(t, CBX_FAILURE_INTERRUPTED, "stopped in phase '%s'", t->phase);
            return false;
        }
        if (!t->ending && now >= deadline && out_of_time(t, now, &deadline)) return false;
        if (t->ending) {
            if (!may_end(t, t->ending, now)) {
                cbx__talk_fail(t, t->ending, "the worker did not end in phase '%s'", t->phase);
                return false;
            }
            deadline = now + TICK_NS;
        }
        if (over_limit(t, now)) return false;
        /* Sleeps until something happens, at most a tick.  Ticks are rarer where each costs a wait
         * for a CPU: an answer that comes meanwhile would be clocked late, and by how much would be
         * unknown. */
        uint64_t longest = TICK_NS + 20 * cbx__waits_woken(&t->watch), left = deadline - now;
        if (longest > TICK_MAX_NS) longest = TICK_MAX_NS;
        if (left > longest) left = longest;
        struct timespec tick = { (time_t)(left / 1000000000u), (long)(left % 1000000000u) };
        cbx__waits_sleep(&t->watch, now, left);
        ppoll(watch, 3, &tick, NULL);
        t->waited_ns += cbx_clock_ns() - now;
        if (watch[0].revents) return true;
        if (watch[1].revents) cbx__process_drain(&t->child);
        if ((watch[2].revents || t->child.pidfd < 0) && cbx__process_ended(&t->child)) {
            /* The leader is gone while another process keeps the channel open; what it wrote last
             * still counts. */
            struct pollfd last = { .fd = t->wire.fd, .events = POLLIN };
            if (poll(&last, 1, 0) > 0) return true;
            fail_by_end(t);
            return false;
        }
    }
}

/*
 * What a worker may report about itself, and when.  It cannot excuse itself with a cause that only
 * the parent can know, nor find out in the midst of an epoch that this machine is not for it.
 * "spawn" is the launcher, which speaks before the worker is there; what is named in no line is
 * "run".
 */
static bool may_claim(cbx_failure f, const char *phase)
{
    static const struct {
        cbx_failure cause;
        const char *phases;
    } claims[] = {
        { CBX_FAILURE_POINT_UNSUPPORTED, "load compile" },
        { CBX_FAILURE_HOST_UNSUPPORTED, "load compile" },
        { CBX_FAILURE_BACKEND_UNAVAILABLE, "import load compile" },
        { CBX_FAILURE_MODULE_MISSING, "import" },
        { CBX_FAILURE_IMPORT_FAILED, "import" },
        { CBX_FAILURE_WORKER_MISSING, "spawn load" },
        { CBX_FAILURE_COMPILE_ERROR, "load compile" },
        { CBX_FAILURE_RUN_ERROR, "load compile oracle run" },
        { CBX_FAILURE_OUT_OF_MEMORY, "import load compile oracle run" },
        { CBX_FAILURE_PROTOCOL, "import load compile oracle run" },
        { CBX_FAILURE_WRONG_SHAPE, "load compile run" },
        { CBX_FAILURE_ORACLE_FAILED, "oracle" },
        { CBX_FAILURE_MACHINE, "spawn" },
    };
    if (!strstr("spawn import load compile oracle", phase)) phase = "run";
    for (size_t i = 0; i < CBX_LEN(claims); i++)
        if (claims[i].cause == f) return strstr(claims[i].phases, phase) != NULL;
    return false;
}

static void fail_by_message(cbx__talk *t, const cbx_json *m)
{
    const char *word = cbx_json_get_string(m, "cause", ""), *reported = cbx_json_get_string(m, "message", "");
    const char *phase = cbx_json_get_string(m, "phase", "");
    cbx_failure f = CBX_FAILURE_NONE;
    bool first = !t->launched || strcmp(t->phase, "import") == 0;
    bool launcher = first && strcmp(phase, "spawn") == 0;
    if (!cbx_failure_parse(word, &f) || !may_claim(f, launcher ? "spawn" : t->phase)) {
        cbx__talk_fail(t, CBX_FAILURE_PROTOCOL,
                       "the worker reported the cause '%.40s', which only its parent can, in phase '%s'; the worker "
                       "reports: %.300s",
                       word, t->phase, reported);
        return;
    }
    if (launcher) t->phase = "spawn";
    if (launcher && t->opts.python && f == CBX_FAILURE_WORKER_MISSING) f = CBX_FAILURE_INTERPRETER_MISSING;
    if (launcher)
        cbx__talk_fail(t, f, "%.500s", *reported ? reported : "the launcher gave no reason");
    else
        cbx__talk_fail(t, f, "the worker reports: %.480s", *reported ? reported : "nothing");
}

static cbx_json *read_answer(cbx__talk *t, const char *line, size_t len, const char *op)
{
    cbx_err why = CBX_ERR_INIT;
    cbx_json *m = NULL;
    if (cbx_json_parse(line, len, "the worker's message", &m, &why)) {
        t->no_memory = why.status == CBX_ENOMEM;
        cbx__talk_fail(t, CBX_FAILURE_PROTOCOL, "%s", why.message);
        return NULL;
    }
    const char *reported = cbx_json_get_string(m, "op", NULL);
    if (!reported)
        cbx__talk_fail(t, CBX_FAILURE_PROTOCOL, "the worker's message in phase '%s' has no op", t->phase);
    else if (strcmp(reported, "error") == 0)
        fail_by_message(t, m);
    else if (strcmp(reported, op) == 0)
        return m;
    else
        cbx__talk_fail(t, CBX_FAILURE_PROTOCOL, "the worker answered '%.40s' instead of '%s'", reported, op);
    cbx_json_unref(m);
    return NULL;
}

/* The next line, waited for; NULL when something has failed. */
static char *wait_line(cbx__talk *t, size_t *len)
{
    uint64_t deadline = t->sent_ns + (uint64_t)(t->opts.timeout_s * 1e9);
    cbx_err why = CBX_ERR_INIT;
    char *line = NULL;
    for (;;) {
        cbx_status st = cbx__wire_next_line(&t->wire, &line, len, &why);
        if (!st && line) return line;
        if (!st && !wait_for_channel(t, deadline)) return NULL;
        if (!st) st = cbx__wire_fill(&t->wire, &why);
        t->received_ns = cbx_clock_ns();
        if (st == CBX_ECHILD) {
            fail_by_end(t);
            return NULL;
        }
        if (st) {
            cbx__talk_fail(t, CBX_FAILURE_PROTOCOL, "%s", why.message);
            return NULL;
        }
    }
}

static cbx_json *receive(cbx__talk *t, const char *op)
{
    size_t len = 0;
    const char *line = wait_line(t, &len);
    return line ? read_answer(t, line, len, op) : NULL;
}

const char *cbx__talk_wait_report(cbx__talk *t)
{
    size_t len = 0;
    const char *line = NULL;
    t->sent_ns = cbx_clock_ns();
    line = wait_line(t, &len);
    if (line && line[0] == '{') { /* no report but the launcher's reason for there being none */
        cbx_json_unref(read_answer(t, line, len, "error"));
        cbx__talk_fail(t, CBX_FAILURE_MACHINE, "the launcher failed");
    }
    if (t->failure != CBX_FAILURE_NONE) cbx__child_kill(&t->child);
    return t->failure == CBX_FAILURE_NONE ? line : NULL;
}

bool cbx__talk_ask_text(cbx__talk *t, const char *text, size_t len, const int *fds, size_t nfds, const char *op,
                        cbx_json **answer)
{
    cbx_err why = CBX_ERR_INIT;
    cbx_json *m = NULL;
    if (t->failure != CBX_FAILURE_NONE) return false;
    cbx__waits_ask(&t->watch);
    t->sent_ns = cbx_clock_ns();
    if (len && t->wire.len != t->wire.taken) {
        /* A line that is in the buffer before the question is asked was sent unasked, except an
         * error, which may come at any time; who only waits may find it there. */
        cbx_json_unref(receive(t, "error"));
        cbx__talk_fail(t, CBX_FAILURE_PROTOCOL, "the worker sent a message without a request before phase '%s'",
                       t->phase);
    } else {
        cbx_status st = len ? cbx__wire_send_text(&t->wire, text, len, fds, nfds, &why) : CBX_OK;
        /* A worker that has ended may have said why: what it sent is still to be read. */
        if (st && st != CBX_ECHILD) cbx__talk_fail(t, CBX_FAILURE_PROTOCOL, "%s", why.message);
        if (!st || st == CBX_ECHILD) m = receive(t, op);
        cbx__waits_answered(&t->watch, t->received_ns, &t->waits);
    }
    if (t->failure != CBX_FAILURE_NONE) cbx__child_kill(&t->child);
    if (!m) return false;
    if (answer)
        *answer = m;
    else
        cbx_json_unref(m);
    return true;
}

bool cbx__talk_ask(cbx__talk *t, const cbx_json *message, const int *fds, size_t nfds, const char *op,
                   cbx_json **answer)
{
    CBX_SCOPED(cbx_text, line, &t->al);
    if (message) {
        cbx_json_write(message, CBX_JSON_COMPACT, &line);
        cbx_text_putc(&line, '\n');
    }
    if (line.status || line.len > CBX__WIRE_LINE_MAX) {
        t->no_memory = line.status != CBX_OK;
        cbx__talk_fail(t, CBX_FAILURE_MACHINE, "no memory for a protocol message, or it is longer than %d bytes",
                       CBX__WIRE_LINE_MAX);
        cbx__child_kill(&t->child);
    }
    return cbx__talk_ask_text(t, line.data, line.len, fds, nfds, op, answer);
}

bool cbx__talk_launched(cbx__talk *t, cbx_sandbox_facts *out)
{
    CBX_OWNED(cbx_json) *m = NULL;

    if (!cbx__talk_ask(t, NULL, NULL, 0, "launched", &m)) return false;
    const cbx_json *o = cbx_json_get(m, "sandbox");
#define READ_PART(member, word, lack, remedy) out->member = cbx_json_get_bool(o, word, false);
    CBX_SANDBOX_PARTS(READ_PART)
#undef READ_PART
    out->landlock = (int)cbx_json_get_int(o, "landlock", 0);
    t->launched = true;
    return true;
}

bool cbx__talk_hello(cbx__talk *t, cbx_sandbox_facts *out, cbx_json **hello)
{
    cbx_json *m = NULL;

    if (!cbx__talk_launched(t, out)) return false;
    t->phase = "import";
    if (!cbx__talk_ask(t, NULL, NULL, 0, "hello", &m)) return false;
    int64_t version = cbx_json_get_int(m, "protocol", 0);
    if (version != 1)
        cbx__talk_fail(t, CBX_FAILURE_PROTOCOL, "the worker uses protocol %lld, this program 1: install both again",
                       (long long)version);
    if (hello && version == 1)
        *hello = m;
    else
        cbx_json_unref(m);
    return version == 1;
}

bool cbx__talk_end(cbx__talk *t)
{
    uint64_t start = cbx_clock_ns();
    bool ended = false;
    if (t->failure != CBX_FAILURE_NONE) return false;
    while (!ended && (double)(cbx_clock_ns() - start) * 1e-9 < t->opts.timeout_s + excused(t) &&
           !(t->opts.stop && *t->opts.stop))
        ended = cbx__process_wait(&t->child, TICK_NS);
    t->waited_ns += cbx_clock_ns() - start;
    cbx__talk_stop(t);
    if (!ended) {
        bool stopped = t->opts.stop && *t->opts.stop;
        cbx__talk_fail(t, stopped ? CBX_FAILURE_INTERRUPTED : CBX_FAILURE_TIMEOUT,
                       "the worker did not end in phase '%s'", t->phase);
    } else if (t->child.lost || t->child.status != 0) {
        fail_by_status(t, "after its last answer");
    }
    return t->failure == CBX_FAILURE_NONE;
}
