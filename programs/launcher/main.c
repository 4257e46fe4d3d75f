/*
 * nperf-launch: stands between the parent and a measured program for less than a millisecond.
 *
 * The parent may be large and has many descriptors; a measured program must inherit neither.  This
 * image is tiny (static, libc only), so a program's ru_maxrss, which survives exec, starts from a
 * few hundred KiB instead of the parent's peak (a 1 MB program started by a parent of 300 MB
 * reports 321 MB otherwise).
 *
 *   nperf-launch [options] -- PROGRAM [ARGUMENT...] --abi N          the number of this interface
 *     that the caller speaks (LAUNCH_ABI): another one is refused --cores LIST     pin to these
 *     CPUs ("0,2,5") --fd N           keep descriptor N besides 0, 1, 2; a failure before exec is
 *     reported there as a protocol error line, and else {"op":"launched","abi":N,"sandbox":{...}},
 *     the first line that comes from there and the only one no worker can write --keep N
 *     keep N descriptors from 4 on: locks that are held as long as anything lives that was started
 *     here --sandbox 1      forbid network, signals to others and the like (sandbox.h), where the
 *     kernel and this build can; 2: or end --read PATH      under a sandbox: what may be read and
 *     executed; --write: written, too; --device; --list: only the names.  Any number --measure N
 *     run the program as a child, wait, write one line to descriptor N: wall_ns user_us system_us
 *     maxrss_kib exit_code term_signal   (exit_code -1 when killed) --env-pad BYTES  bytes added to
 *     the environment --stack-pad BYTES  bytes by which the program's strings, and so its first
 *     stack frame, are moved --parent PID     end at once if this is no longer the parent
 *
 * Always: a process group of its own, no core files, SIGKILL when the parent dies, and the program
 * keeps its orphans (subreaper), so that the parent finds all that descends from it.
 * Exit status 125: it could not set something up; 126: the program cannot be executed; 127: there
 * is no such program.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "programs/launcher/sandbox.h"

#define LAUNCH_ABI   2 /* as in calibrax/perf/launch/child.c */
#define EXIT_SETUP   125
#define EXIT_EXEC    126
#define EXIT_MISSING 127
#define MAX_PAD      65536

typedef struct options {
    const char *cores;
    long fd, measure, parent, keep, sandbox, abi, env_pad, stack_pad;
    sandbox_grant *grants; /* one for each argument */
    size_t ngrants;
    char **program;
} options;

enum { SANDBOX_REQUIRED = 2 };

extern char **environ;

/* An error of the protocol, on the kept descriptor. */
static void tell(const options *o, const char *cause, const char *message)
{
    char line[1200];
    int channel = (int)(o->fd >= 0 ? o->fd : o->measure), len;

    if (channel < 0) return;
    len = snprintf(line, sizeof line, "{\"op\":\"error\",\"phase\":\"spawn\",\"cause\":\"%s\",\"message\":\"%s\"}\n",
                   cause, message);
    if (len > 0 && (size_t)len < sizeof line && write(channel, line, (size_t)len) < 0) return;
}

/* One protocol line on the kept descriptor, so that the parent reads the cause from structure; the
 * sentence on stderr as well.  Both become data of a row, so a program is named without the folder
 * it lies in. */
static int give_up(const options *o, const char *cause, int status, const char *what, const char *subject)
{
    char line[1024], clean[400];
    size_t n = 0;
    const char *slash = strrchr(subject, '/');
    for (const char *s = slash ? slash + 1 : subject; *s && n + 1 < sizeof clean; s++)
        clean[n++] = *s == '"' || *s == '\\' || (unsigned char)*s < 0x20 ? '?' : *s;
    clean[n] = '\0';
    fprintf(stderr, "nperf-launch: %s '%s': %s\n", what, clean, strerror(errno));
    snprintf(line, sizeof line, "%s '%s': %s", what, clean, strerror(errno));
    tell(o, cause, line);
    return status;
}

/* What it was called with is not understood: by hand, or by a library of another version. */
static int usage(const options *o, const char *what)
{
    fprintf(stderr,
            "nperf-launch: %s\nusage: nperf-launch [--abi %d] [--cores LIST] [--fd N] [--measure N] [--keep N]"
            " [--sandbox 1|2] [--read PATH] [--write PATH] [--device PATH] [--list PATH]"
            " [--env-pad BYTES] [--stack-pad BYTES] [--parent PID] -- PROGRAM [ARGUMENT...]\n",
            what, LAUNCH_ABI);
    tell(o, "worker_missing", what);
    return EXIT_SETUP;
}

static bool parse_one(options *o, const char *name, const char *value)
{
    static const char *const rights[] = {
        [SANDBOX_READ] = "--read", [SANDBOX_WRITE] = "--write", [SANDBOX_DEVICE] = "--device", [SANDBOX_LIST] = "--list"
    };
    const struct {
        const char *name;
        long *number;
    } numbers[] = { { "--fd", &o->fd },           { "--measure", &o->measure },    { "--parent", &o->parent },
                    { "--keep", &o->keep },       { "--sandbox", &o->sandbox },    { "--abi", &o->abi },
                    { "--env-pad", &o->env_pad }, { "--stack-pad", &o->stack_pad } };
    char *end;

    if (strcmp(name, "--cores") == 0) {
        o->cores = value;
        return true;
    }
    for (size_t i = 0; i < sizeof rights / sizeof rights[0]; i++) {
        if (strcmp(name, rights[i]) != 0) continue;
        o->grants[o->ngrants++] = (sandbox_grant){ (sandbox_right)i, value };
        return true;
    }
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        if (strcmp(name, numbers[k].name) != 0) continue;
        *numbers[k].number = strtol(value, &end, 10);
        return value[0] >= '0' && value[0] <= '9' && *end == '\0' && *numbers[k].number <= 0x7fffffff;
    }
    return false;
}

static int parse_options(int argc, char **argv, options *o)
{
    char what[200];
    bool good = true;
    int i = 1;

    o->grants = calloc((size_t)argc + 1, sizeof *o->grants);
    if (!o->grants) return usage(o, "out of memory");
    for (; i < argc && strcmp(argv[i], "--") != 0; i += 2)
        good = i + 1 < argc && parse_one(o, argv[i], argv[i + 1]) && good;
    if (o->abi != LAUNCH_ABI) { /* what is not understood comes of that */
        snprintf(what, sizeof what,
                 "nperf-launch has interface %d and was asked for %ld: it and the program that starts it are of "
                 "different versions; build or install both again, or unset NPERF_LAUNCH",
                 LAUNCH_ABI, o->abi);
        return usage(o, what);
    }
    if (!good) return usage(o, "unknown option, or a number that cannot be read");
    if (i + 1 >= argc) return usage(o, "no program given");
    if (o->env_pad > MAX_PAD || o->stack_pad > MAX_PAD) return usage(o, "a pad is at most 64 KiB");
    o->program = argv + i + 1;
    return 0;
}

static int pin(const char *list)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const char *s = list; *s;) {
        char *end;
        unsigned long cpu = strtoul(s, &end, 10);
        if (end == s || cpu >= CPU_SETSIZE || (*end && *end != ',')) return errno = EINVAL, -1;
        CPU_SET(cpu, &set);
        s = *end ? end + 1 : end;
    }
    return sched_setaffinity(0, sizeof set, &set);
}

/* Closes everything but 0, 1, 2 and the kept ones; measured programs must not see the parent's
 * files.
 * @param locks  so many from 4 on are kept, too */
static void close_others(long keep_a, long keep_b, long locks)
{
    unsigned from = 3;
    long keep[2] = { keep_a < keep_b ? keep_a : keep_b, keep_a < keep_b ? keep_b : keep_a };
    for (int i = 0; i < 2; i++) {
        if (keep[i] < (long)from) continue;
        if (keep[i] > (long)from) syscall(SYS_close_range, from, (unsigned)keep[i] - 1, 0);
        from = (unsigned)keep[i] + 1;
    }
    if (locks > 0 && from == 4) from += (unsigned)locks;
    syscall(SYS_close_range, from, ~0u, 0);
}

static int add_pad(const char *name, long bytes)
{
    static char value[MAX_PAD + 1];
    if (bytes == 0) return 0;
    memset(value, 'x', (size_t)bytes);
    value[bytes] = '\0';
    return setenv(name, value, 1);
}

/* Reports what is in force to the parent before anything of the worker runs. */
static int confine(const options *o)
{
    static const char *const words[] = { "false", "true" };
    sandbox_facts f = { .landlock = 0 };
    char line[400];

    if (o->sandbox) sandbox_enter(o->grants, o->ngrants, &f);
    bool whole = f.syscalls && f.files && f.network && f.signals && f.tracing && f.privileges;
    if (o->sandbox == SANDBOX_REQUIRED && !whole) {
        tell(o, "machine", "the sandbox is not completely available on this machine, and nothing less was asked for");
        return EXIT_SETUP;
    }
    if (o->fd < 0) return 0;
    int len = snprintf(
        line, sizeof line,
        "{\"op\":\"launched\",\"abi\":%d,\"sandbox\":{\"syscalls\":%s,\"files\":%s,\"network\":%s,\"signals\":%s,"
        "\"tracing\":%s,\"privileges\":%s,\"landlock\":%d}}\n",
        LAUNCH_ABI, words[f.syscalls], words[f.files], words[f.network], words[f.signals], words[f.tracing],
        words[f.privileges], f.landlock);
    return write((int)o->fd, line, (size_t)len) == len ? 0 : EXIT_SETUP;
}

static int set_up(const options *o)
{
    const struct rlimit no_core = { 0, 0 };
    setpgid(0, 0); /* the parent has done it already, unless this was started by hand */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return give_up(o, "machine", EXIT_SETUP, "cannot tie the life of", "the worker to its parent");
    prctl(PR_SET_CHILD_SUBREAPER, 1);                                  /* kept through exec, not by children */
    if (o->parent && getppid() != (pid_t)o->parent) return EXIT_SETUP; /* it died in between */
    if (setrlimit(RLIMIT_CORE, &no_core) != 0) return give_up(o, "machine", EXIT_SETUP, "cannot set", "RLIMIT_CORE");
    if (o->cores && pin(o->cores) != 0) return give_up(o, "machine", EXIT_SETUP, "cannot pin to cores", o->cores);
    if (add_pad("NPERF_ENV_PAD", o->env_pad) != 0 || add_pad("NPERF_STACK_PAD", o->stack_pad) != 0)
        return give_up(o, "machine", EXIT_SETUP, "cannot pad", "the environment");
    close_others(o->fd, o->measure, o->keep);
    return confine(o);
}

static unsigned long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static unsigned long long microseconds(struct timeval t)
{
    return (unsigned long long)t.tv_sec * 1000000u + (unsigned long long)t.tv_usec;
}

static volatile pid_t measured;

/* The parent asks the program to end; its report follows. */
static void forward(int number)
{
    if (measured > 0) kill(measured, number);
}

/* vfork, not fork: no page tables to copy, and the child borrows this tiny image until it execs. */
static int measure(const options *o)
{
    unsigned long long start = now_ns(), wall;
    struct rusage used;
    int status;
    char line[160];
    struct sigaction action = { .sa_handler = forward };
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    pid_t child = vfork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close((int)o->measure); /* locks go with the program, the report does not */
        execvp(o->program[0], o->program);
        _exit(errno == ENOENT || errno == ENOTDIR ? EXIT_MISSING : EXIT_EXEC);
    }
    measured = child;
    if (child < 0) return give_up(o, "machine", EXIT_SETUP, "cannot start", o->program[0]);
    while (wait4(child, &status, 0, &used) < 0)
        if (errno != EINTR) return give_up(o, "machine", EXIT_SETUP, "cannot wait for", o->program[0]);
    wall = now_ns() - start;
    int len = snprintf(line, sizeof line, "%llu %llu %llu %ld %d %d\n", wall, microseconds(used.ru_utime),
                       microseconds(used.ru_stime), used.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                       WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return write((int)o->measure, line, (size_t)len) == len ? 0 : EXIT_SETUP;
}

int main(int argc, char **argv)
{
    options o = { .fd = -1, .measure = -1 };
    int status = parse_options(argc, argv, &o);

    if (status == 0) status = set_up(&o);
    if (status != 0) return status;
    if (o.measure >= 0) return measure(&o);
    execvp(o.program[0], o.program);
    status = errno == ENOENT || errno == ENOTDIR ? EXIT_MISSING : EXIT_EXEC;
    return give_up(&o, "worker_missing", status, "cannot run", o.program[0]);
}
