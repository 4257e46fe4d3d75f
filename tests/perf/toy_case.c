/*
 * C = 2 A + 1 for n float32 elements.  Rotation r shifts A, and so C, by r elements.
 */
#include "toy_case.h"

#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/clock.h"

unsigned toy_clock_percent = 100;

typedef struct toy {
    size_t n;
    const float *a;
    float *c;
    int calls;
    int64_t spin_us;
} toy;

static void toy_right(toy *t)
{
    for (size_t i = 0; i < t->n; i++) t->c[i] = 2 * t->a[i] + 1;
}

void toy_busy_us(int64_t us)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    int64_t until = t.tv_sec * 1000000000 + t.tv_nsec + us * 1000;
    while (t.tv_sec * 1000000000 + t.tv_nsec < until) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
}

/* --- baselines --- */

static void run_good(void *plan) { toy_right(plan); }

static void run_spin(void *plan)
{
    toy *t = plan;
    toy_right(t);
    toy_busy_us(t->spin_us);
}

/* Honest, on a machine that is slow once: the first call on inputs of another seed takes long. */
static void run_spoilt(void *plan)
{
    static bool spoilt;
    toy *t = plan;
    toy_right(t);
    toy_busy_us(t->spin_us);
    if (spoilt || t->n == 0 || t->a[0] < 1000) return;
    spoilt = true;
    toy_busy_us(10 * t->spin_us);
}

/* By two threads, of which one waits awake for the next call. */
static void run_team(void *plan)
{
    toy *t = plan;
#pragma omp parallel for num_threads(2)
    for (size_t i = 0; i < t->n; i++) t->c[i] = 2 * t->a[i] + 1;
}

static void run_wrong(void *plan)
{
    toy *t = plan;
    toy_right(t);
    if (t->n) t->c[t->n / 2] += 0.5f;
}

static void run_lazy(void *plan)
{
    toy *t = plan;
    if (t->calls++ == 0) toy_right(t);
}

static void run_crash(void *plan)
{
    (void)plan;
    fputs("about to crash\n", stderr);
    signal(SIGSEGV, SIG_DFL); /* a sanitizer would turn it into an exit */
    raise(SIGSEGV);
}

static void run_killed(void *plan)
{
    (void)plan;
    raise(SIGKILL);
}

static void run_exit0(void *plan)
{
    (void)plan;
    _exit(0);
}

static void run_exit3(void *plan)
{
    (void)plan;
    fputs("first line\nlast words\n", stderr);
    _exit(3);
}

static void note_pid(pid_t pid)
{
    const char *path = getenv(TOY_PID_FILE);
    FILE *f = path ? fopen(path, "w") : NULL;
    if (!f) return;
    fprintf(f, "%d\n", (int)pid);
    fclose(f);
}

static void run_hang(void *plan)
{
    (void)plan;
    note_pid(getpid());
    for (;;) pause();
}

/* A grandchild that would outlive a kill of the worker alone, and holds the channel open. */
static void run_child(void *plan)
{
    pid_t child = fork();
    (void)plan;
    if (child == 0) {
        for (;;) pause();
    }
    note_pid(child);
    for (;;) pause();
}

/* Tries what no worker has any business with, and dies of whatever works. */
static void run_breaks_out(void *plan)
{
    toy_right(plan);
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0) raise(SIGUSR1);
    if (kill(getppid(), 0) == 0) raise(SIGUSR2);
#ifndef __SANITIZE_ADDRESS__ /* which traces itself to find leaks */
    if (ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0) raise(SIGTERM);
#endif
}

/* True if each path of a list can be opened as `wanted` says. */
static bool all_open(const char *variable, int flags, bool wanted)
{
    const char *list = getenv(variable);
    char path[512];
    for (const char *from = list; from && *from;) {
        size_t len = strcspn(from, ":");
        snprintf(path, sizeof path, "%.*s", (int)len, from);
        int fd = open(path, flags | O_CLOEXEC, 0600);
        if (fd >= 0) close(fd);
        if ((fd >= 0) != wanted) {
            fprintf(stderr, "%s: %s\n", variable, path);
            return false;
        }
        from += len + (from[len] == ':');
    }
    return true;
}

/* Looks where it was told to, and dies of what is not as it should be. */
static void run_looks(void *plan)
{
    toy *t = plan;
    toy_right(t);
    if (t->calls++) return;
    if (!all_open(TOY_CLOSED, O_RDONLY, false)) _exit(11);
    if (!all_open(TOY_OPEN, O_RDONLY, true)) _exit(12);
    if (!all_open(TOY_SEALED, O_WRONLY | O_CREAT, false)) _exit(13);
}

/* One that left the group and the session, and whose own parent is gone. */
static void run_daemon(void *plan)
{
    pid_t child = fork();
    (void)plan;
    if (child == 0) {
        setsid();
        pid_t grandchild = fork();
        if (grandchild == 0) {
            for (;;) pause();
        }
        note_pid(grandchild);
        _exit(0);
    }
    for (;;) pause();
}

/* The same, while the worker goes on to a good end. */
static void run_leaves_daemon(void *plan)
{
    toy *t = plan;
    toy_right(t);
    if (t->calls++) return;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        pid_t grandchild = fork();
        if (grandchild == 0) {
            for (;;) pause();
        }
        note_pid(grandchild);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void say(const char *text)
{
    if (write(3, text, strlen(text)) < 0) _exit(9);
}

static void run_rubbish(void *plan)
{
    (void)plan;
    say("this is no JSON\n");
    for (;;) pause();
}

static void run_unasked(void *plan)
{
    (void)plan;
    say("{\"op\":\"epoch\",\"ns\":1}\n");
}

static void run_excuse_unknown(void *plan)
{
    (void)plan;
    say("{\"op\":\"error\",\"phase\":\"epoch\",\"cause\":\"mercury_in_retrograde\",\"message\":\"out of memory: no "
        "module named device visible\"}\n");
    for (;;) pause();
}

static void run_says_oom(void *plan)
{
    (void)plan;
    say("{\"op\":\"error\",\"phase\":\"epoch\",\"cause\":\"out_of_memory\",\"message\":\"asked for too much\"}\n");
    for (;;) pause();
}

static void run_flood(void *plan)
{
    static const char line[] = "noise on standard error, more than a pipe holds, must not block the worker\n";
    toy_right(plan);
    for (int i = 0; i < 4000; i++) fputs(line, stderr);
}

/* Bad at a later call only: the first one and the warm-up pass. */
static void run_late_crash(void *plan)
{
    toy *t = plan;
    toy_right(t);
    if (t->calls++ == 20) abort();
}

/* Slow until it has been calibrated, then as fast as it is. */
static void run_sandbag(void *plan)
{
    toy *t = plan;
    toy_right(t);
    toy_busy_us(++t->calls <= 3 ? 25000 : 1000);
}

/* The same, and from then on its clock stands nearly still. */
static void run_sandbag_lie(void *plan)
{
    toy *t = plan;
    toy_right(t);
    if (++t->calls > 3) toy_clock_percent = 1;
    toy_busy_us(t->calls <= 3 ? 25000 : 5500);
}

/* The lock that it inherited as descriptor 4, by that number and by another. */
static void run_unlocks(void *plan)
{
    int copy = dup(4);
    toy_right(plan);
    flock(4, LOCK_UN);
    flock(copy, LOCK_UN);
    close(copy);
}

/* The same in a session of its own, an orphan: no process of the worker's group holds anything. */
static void run_eat_in_daemon(void *plan)
{
    (void)plan;
    if (fork() == 0) {
        setsid();
        if (fork() != 0) _exit(0);
        size_t size = 300u << 20;
        char *block = malloc(size);
        for (size_t at = 0; block && at < size; at += 4096) *(volatile char *)(block + at) = 1;
        for (;;) pause();
    }
    for (;;) pause();
}

/* Right where a device was named to the process, as a framework sees it. */
static void run_on_device(void *plan)
{
    toy *t = plan;
    const char *visible = getenv("CUDA_VISIBLE_DEVICES"), *order = getenv("CUDA_DEVICE_ORDER");
    toy_right(t);
    if (!visible || visible[0] < '0' || visible[0] > '9' || !order) t->c[0] += 1;
}

/* --- plan --- */

static cbx_status toy_prepare(cbx_ctx *ctx, const cbx_params *point, void **plan, cbx_err *err)
{
    toy *t = calloc(1, sizeof *t);
    (void)ctx;
    if (!t) return cbx_fail(err, CBX_ENOMEM, "no memory");
    t->n = (size_t)cbx_params_int(point, "n");
    t->spin_us = cbx_params_int(point, "spin_us");
    *plan = t;
    return CBX_OK;
}

/* More address space than any limit of a test leaves, and none of it touched. */
static cbx_status prepare_map(cbx_ctx *ctx, const cbx_params *point, void **plan, cbx_err *err)
{
    void *block = mmap(NULL, (size_t)6 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                       0);
    if (block == MAP_FAILED) return cbx_fail(err, CBX_ENOMEM, "no room for 6 GiB");
    return toy_prepare(ctx, point, plan, err);
}

static cbx_status prepare_pool(cbx_ctx *ctx, const cbx_params *point, void **plan, cbx_err *err)
{
    omp_set_num_threads(8);
    return toy_prepare(ctx, point, plan, err);
}

static cbx_status prepare_unsupported(cbx_ctx *ctx, const cbx_params *point, void **plan, cbx_err *err)
{
    (void)ctx;
    (void)point;
    (void)plan;
    return cbx_fail(err, CBX_EUNSUPPORTED, "this CPU has no such instruction");
}

static cbx_status prepare_unavailable(cbx_ctx *ctx, const cbx_params *point, void **plan, cbx_err *err)
{
    (void)ctx;
    (void)point;
    (void)plan;
    return cbx_fail(err, CBX_EUNAVAILABLE, "a library is missing");
}

static cbx_status prepare_no_memory(cbx_ctx *ctx, const cbx_params *point, void **plan, cbx_err *err)
{
    (void)ctx;
    (void)point;
    (void)plan;
    return cbx_fail(err, CBX_ENOMEM, "no memory for a temporary");
}

static void toy_bind(void *plan, cbx_array *const *in, cbx_array *const *out)
{
    toy *t = plan;
    t->a = cbx_array_data(in[0]);
    t->c = cbx_array_data_mut(out[0]);
}

static void toy_finish(void *plan) { free(plan); }

static void toy_work(const cbx_params *point, cbx_work *out)
{
    double n = (double)cbx_params_int(point, "n");
    *out = (cbx_work){
        .macs = n, .flop = 2 * n, .bytes = 8 * n, .pipe = CBX_PIPE_FMA, .pipe_ops = n, .working_set_bytes = 8 * n
    };
}

/* name, prepare, run */
#define BASELINES(X)                                                                                                   \
    X(good, toy_prepare, run_good)                                                                                     \
    X(spin, toy_prepare, run_spin)                                                                                     \
    X(spoilt, toy_prepare, run_spoilt)                                                                                 \
    X(wrong, toy_prepare, run_wrong)                                                                                   \
    X(lazy, toy_prepare, run_lazy)                                                                                     \
    X(crash, toy_prepare, run_crash)                                                                                   \
    X(killed, toy_prepare, run_killed)                                                                                 \
    X(exit0, toy_prepare, run_exit0)                                                                                   \
    X(exit3, toy_prepare, run_exit3)                                                                                   \
    X(hang, toy_prepare, run_hang)                                                                                     \
    X(child, toy_prepare, run_child)                                                                                   \
    X(looks, toy_prepare, run_looks)                                                                                   \
    X(breaks_out, toy_prepare, run_breaks_out)                                                                         \
    X(daemon, toy_prepare, run_daemon)                                                                                 \
    X(leaves_daemon, toy_prepare, run_leaves_daemon)                                                                   \
    X(rubbish, toy_prepare, run_rubbish)                                                                               \
    X(unasked, toy_prepare, run_unasked)                                                                               \
    X(excuse_unknown, toy_prepare, run_excuse_unknown)                                                                 \
    X(says_oom, toy_prepare, run_says_oom)                                                                             \
    X(flood, toy_prepare, run_flood)                                                                                   \
    X(late_crash, toy_prepare, run_late_crash)                                                                         \
    X(team, toy_prepare, run_team)                                                                                     \
    X(sandbag, toy_prepare, run_sandbag)                                                                               \
    X(sandbag_lie, toy_prepare, run_sandbag_lie)                                                                       \
    X(unlocks, toy_prepare, run_unlocks)                                                                               \
    X(eat_in_daemon, toy_prepare, run_eat_in_daemon)                                                                   \
    X(on_device, toy_prepare, run_on_device)                                                                           \
    X(maps_much, prepare_map, run_good)                                                                                \
    X(large_pool, prepare_pool, run_good)                                                                              \
    X(unsupported, prepare_unsupported, run_good)                                                                      \
    X(unavailable, prepare_unavailable, run_good)                                                                      \
    X(no_memory, prepare_no_memory, run_good)

#define DEFINE(name_, prepare_, run_)                                                                                  \
    static const cbx_baseline_ops baseline_##name_ = { sizeof(cbx_baseline_ops),                                       \
                                                       CBX_CASE_ABI,                                                   \
                                                       #name_,                                                         \
                                                       "native",                                                       \
                                                       "for tests",                                                    \
                                                       NULL,                                                           \
                                                       NULL,                                                           \
                                                       NULL,                                                           \
                                                       toy_work,                                                       \
                                                       prepare_,                                                       \
                                                       toy_bind,                                                       \
                                                       run_,                                                           \
                                                       toy_finish };
BASELINES(DEFINE)

/* Runs in Python, whatever program the test gives as one. */
static const cbx_baseline_ops baseline_foreign = { sizeof(cbx_baseline_ops),
                                                   CBX_CASE_ABI,
                                                   "foreign",
                                                   "numpy",
                                                   "for tests",
                                                   NULL,
                                                   NULL,
                                                   NULL,
                                                   toy_work,
                                                   NULL,
                                                   NULL,
                                                   NULL,
                                                   NULL };

#define LIST(name_, prepare_, run_) &baseline_##name_,
static const cbx_baseline_ops *const baselines[] = { BASELINES(LIST) & baseline_foreign };

/* --- the case --- */

static const cbx_param_def params[] = {
    { "n", CBX_PARAM_INT, 0, 1 << 24, NULL, "1000", "elements" },
    { "spin_us", CBX_PARAM_INT, 0, 10000000, NULL, "0", "least CPU time of a call of `spin`" },
    { "seed", CBX_PARAM_INT, 0, 1 << 30, NULL, "0", "of the inputs" },
};
static const char *const points[] = { "{\"n\":1000}" };
static const char *const input_names[] = { "A" };
static const char *const output_names[] = { "C" };

static void toy_label(const cbx_params *point, char *buf, size_t size)
{
    snprintf(buf, size, "%lld", (long long)cbx_params_int(point, "n"));
}

static void toy_outputs(const cbx_params *point, cbx_array_desc *out)
{
    *out = (cbx_array_desc){ CBX_F32, 1, { (size_t)cbx_params_int(point, "n") + (getenv(TOY_SHAPE) ? 1 : 0) } };
}

static cbx_status toy_make_inputs(cbx_ctx *ctx, const cbx_params *point, cbx_array **in, cbx_err *err)
{
    cbx_array_desc desc = { CBX_F32, 1, { (size_t)cbx_params_int(point, "n") } };
    cbx_status st = cbx_array_create(ctx, &desc, &in[0], err);
    if (st) return st;
    float *a = cbx_array_data_mut(in[0]);
    for (size_t i = 0; i < desc.shape[0]; i++) a[i] = (float)(i % 997) + (float)cbx_params_int(point, "seed");
    return CBX_OK;
}

static cbx_status toy_oracle(cbx_ctx *ctx, const cbx_params *point, cbx_array *const *in, cbx_array **answer,
                             cbx_array **bound, cbx_err *err)
{
    cbx_array_desc desc = { CBX_F64, 1, { cbx_array_dim(in[0], 0) } };
    const float *a = cbx_array_data(in[0]);
    (void)point;
    if (getenv("TOY_ORACLE_FAILS")) return cbx_fail(err, CBX_EDOM, "the oracle does not know");
    cbx_status st = cbx_array_create(ctx, &desc, &answer[0], err);
    if (!st) st = cbx_array_create(ctx, &desc, &bound[0], err);
    if (st) return st;
    double *y = cbx_array_data_mut(answer[0]), *b = cbx_array_data_mut(bound[0]);
    for (size_t i = 0; i < desc.shape[0]; i++) {
        y[i] = 2.0 * a[i] + 1.0;
        b[i] = 1.2e-7 * y[i]; /* one rounding to float32: u = 2^-24, and as much again */
    }
    return CBX_OK;
}

static cbx_status shift(cbx_ctx *ctx, uint64_t r, const cbx_array *a, cbx_array **out, cbx_err *err)
{
    size_t n = cbx_array_dim(a, 0), size = cbx_dtype_size(cbx_array_dtype(a));
    cbx_status st = cbx_array_create(ctx, cbx_array_get_desc(a), out, err);
    if (st) return st;
    const char *from = cbx_array_data(a);
    char *to = cbx_array_data_mut(*out);
    for (size_t i = 0; i < n; i++) memcpy(to + i * size, from + (i + r) % n * size, size);
    return CBX_OK;
}

static cbx_status toy_rotate_inputs(cbx_ctx *ctx, const cbx_params *point, uint64_t r, cbx_array *const *in,
                                    cbx_array **rotated, cbx_err *err)
{
    (void)point;
    return shift(ctx, r, in[0], &rotated[0], err);
}

static cbx_status toy_rotate_output(cbx_ctx *ctx, const cbx_params *point, uint64_t r, size_t output,
                                    const cbx_array *a, cbx_array **rotated, cbx_err *err)
{
    (void)point;
    (void)output;
    return shift(ctx, r, a, rotated, err);
}

#define TOY(name_, rotate_inputs_, rotate_output_)                                                                     \
    {                                                                                                                  \
        sizeof(cbx_case_ops), CBX_CASE_ABI, name_, "2 A + 1", params, CBX_LEN(params), points, CBX_LEN(points), 0,     \
            baselines, CBX_LEN(baselines), 1, 1, input_names, output_names, toy_label, toy_outputs, toy_make_inputs,   \
            toy_oracle, rotate_inputs_, rotate_output_                                                                 \
    }

const cbx_case_ops toy_case = TOY("toy", toy_rotate_inputs, toy_rotate_output);
const cbx_case_ops toy_still_case = TOY("toy_still", NULL, NULL);

static const cbx_case_ops *const list[] = { &toy_case, &toy_still_case };
const cbx_case_list toy_cases = { list, CBX_LEN(list) };
