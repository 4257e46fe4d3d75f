/* Watching process trees: a /proc that is made up and changes between looks, and real processes. */
#include "check.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/profiling/gpu.h"
#include "calibrax/profiling/procfs.h"
#include "calibrax/profiling/resources.h"
#include "calibrax/profiling/tree_watch.h"
#include "fail_alloc.h"

#define MIB 1048576.0

/* --- a /proc that is made up --- */

typedef struct fake {
    int pid, parent;
    char state;
    unsigned long long start, user, child_user, faults, rss_kib, hwm_kib, voluntary, write_bytes;
    int threads; /* each has the switches of the process */
} fake;

static void put_process(const char *root, const fake *f)
{
    char text[1024];
    snprintf(text, sizeof text, "%d (a (b) c) %c %d 1 1 0 -1 4194304 %llu 0 0 0 %llu 0 %llu 0 20 0 %d 0 %llu 1 1 1\n",
             f->pid, f->state, f->parent, f->faults, f->user, f->child_user, f->threads, f->start);
    cbx_test_put(text, "%s/%d/stat", root, f->pid);
    snprintf(text, sizeof text,
             "Name:\tx\nVmHWM:\t%8llu kB\nVmRSS:\t%8llu kB\nThreads:\t%d\nvoluntary_ctxt_switches:\t%llu\n"
             "nonvoluntary_ctxt_switches:\t1\n",
             f->hwm_kib, f->rss_kib, f->threads, f->voluntary);
    cbx_test_put(text, "%s/%d/status", root, f->pid);
    for (int t = 0; t < f->threads; t++) cbx_test_put(text, "%s/%d/task/%d/status", root, f->pid, f->pid + t);
    snprintf(text, sizeof text,
             "rchar: 5\nwchar: 7\nsyscr: 1\nsyscw: 1\nread_bytes: 0\nwrite_bytes: %llu\ncancelled_write_bytes: 0\n",
             f->write_bytes);
    cbx_test_put(text, "%s/%d/io", root, f->pid);
}

/* The processes as they are from now on; link leads to them. */
static void now_are(const char *place, const char *name, const fake *f, size_t n, char link[128])
{
    char root[128];
    snprintf(root, sizeof root, "%s/%s", place, name);
    snprintf(link, 128, "%s/proc", place);
    CHECK(mkdir(root, 0777) == 0, root);
    for (size_t i = 0; i < n; i++) put_process(root, &f[i]);
    unlink(link);
    CHECK(symlink(root, link) == 0, link);
}

static cbx_resource_opts opts_of(int pid, const char *proc)
{
    cbx_resource_opts o = CBX_RESOURCE_OPTS_INIT;
    o.pid = pid;
    o.proc = proc;
    o.interval_s = 0.1;
    o.max_processes = 8;
    o.max_samples = 8;
    return o;
}

/* pid parent state start user cuser faults rss hwm voluntary written threads */
static const fake before[] = {
    { 100, 1, 'S', 10, 50, 0, 500, 1000, 1500, 10, 100, 1 },
    { 101, 100, 'R', 11, 20, 0, 200, 2000, 2000, 20, 0, 2 },
    { 105, 101, 'R', 12, 5, 0, 100, 100, 100, 2, 0, 1 },
    { 99, 105, 'R', 13, 1, 0, 10, 10, 10, 1, 0, 1 }, /* a parent with a greater number */
    { 200, 1, 'R', 9, 9999, 0, 9999, 99999, 999999, 99, 9999, 1 },
};
/* 101 ended and was waited for by 100; its number is another's now; 105 is an orphan, 300 a new
 * grandchild. */
static const fake after[] = {
    { 100, 1, 'S', 10, 60, 45, 520, 1100, 1600, 15, 300, 1 },
    { 101, 1, 'R', 77, 5000, 0, 5000, 50000, 50000, 500, 5000, 1 },
    { 105, 1, 'R', 12, 25, 0, 150, 400, 400, 4, 0, 1 },
    { 99, 105, 'R', 13, 2, 0, 10, 10, 10, 1, 0, 1 },
    { 200, 1, 'R', 9, 99999, 0, 99999, 99999, 999999, 999, 99999, 1 },
    { 300, 105, 'R', 80, 7, 0, 30, 50, 60, 3, 0, 1 },
};

TEST(a_tree_that_changes)
{
    char place[64], link[128];
    cbx_resource_opts o;
    cbx_resource_report r;
    cbx_resource_sample s;
    cbx__watch w;
    void *memory;
    double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    now_are(cbx_test_folder(place), "a", before, CBX_LEN(before), link);
    o = opts_of(100, link);
    memory = calloc(1, cbx__watch_bytes(&o));
    cbx__watch_init(&w, &o, memory);
    CHECK(cbx__watch_sample(&w, 1000000000, &s), "alive");
    CHECK_INT(s.processes, 4, "child, grandchild and hers, not the stranger");
    CHECK_INT(s.threads, 5, "one of them has two");
    CHECK_INT(s.rss_bytes, 3110 * 1024, "sum");
    CHECK(isnan(s.cpu_percent) && s.cpu_user_s == 0, "the first look knows no share");
    CHECK(isnan(s.pss_bytes), "not asked for");
    now_are(place, "b", after, CBX_LEN(after), link);
    CHECK(cbx__watch_sample(&w, 2000000000, &s), "alive");
    CHECK_INT(s.processes, 4, "101 is another process, 300 is new, the orphan stays");
    CHECK_INT(s.rss_bytes, 1560 * 1024, "sum");
    /* last values: 10 (100) + 0 (101) + 20 + 1 + 7 = 38; living with waited-for children:
     * 60+45+25+2+7 - 76 = 63 */
    CHECK_LE(fabs(s.cpu_user_s - 63 * tick), 1e-9, "what 101 did after the first look came through its parent");
    CHECK_LE(fabs(s.cpu_percent - 6300 * tick), 1e-6, "within a second");
    cbx__watch_sum(&w, &r);
    CHECK_INT(r.hwm_bytes, 2000 * 1024, "greatest of one process, the other 101 left out");
    CHECK_INT(r.minor_faults, 20 + 0 + 50 + 0 + 30, "last values: more than the living alone");
    CHECK_INT(r.voluntary_switches, 5 + 2 + 0 + 3, "each thread");
    CHECK_LE(fabs(r.write_bytes - 200), 0, "to storage");
    CHECK_LE(fabs(r.summary.peak_rss_mb - 3110 / 1024.0), 1e-9, "peak");
    CHECK_LE(fabs(r.summary.mean_rss_mb - (3110 + 1560) / 2 / 1024.0), 1e-9, "mean");
    CHECK_LE(fabs(r.summary.memory_growth_mb - (1560 - 3110) / 1024.0), 1e-9, "growth");
    CHECK_LE(fabs(r.summary.duration_sec - 1), 1e-12, "from sample to sample");
    CHECK_INT(r.processes_seen, 5, "in all");
    CHECK(!r.ended && r.left_out == 0, "the root lives");
    free(memory);
    cbx_test_folder_remove(place);
}

TEST(a_tree_that_dies)
{
    static const fake zombie[] = { { 100, 1, 'Z', 10, 90, 0, 600, 0, 0, 15, 100, 1 } };
    static const fake reused[] = { { 100, 1, 'R', 99, 900, 0, 9000, 10, 10, 15, 100, 1 } };
    char place[64], link[128];
    cbx_resource_opts o;
    cbx_resource_report r;
    cbx_resource_sample s;
    cbx__watch w;
    void *memory;
    double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    now_are(cbx_test_folder(place), "a", before, 1, link);
    o = opts_of(100, link);
    memory = calloc(1, cbx__watch_bytes(&o));
    cbx__watch_init(&w, &o, memory);
    CHECK(cbx__watch_sample(&w, 1000000000, &s), "alive");
    now_are(place, "b", zombie, 1, link);
    CHECK(!cbx__watch_sample(&w, 1500000000, &s), "a zombie is no sample");
    cbx__watch_sum(&w, &r);
    CHECK_LE(fabs(r.cpu_user_s - 40 * tick), 1e-9, "but its counts are final");
    CHECK_LE(fabs(r.mean_cpu_percent - 8000 * tick), 1e-6, "over the time until it was seen dead");
    CHECK(r.ended && r.summary.num_samples == 1, "ended");
    now_are(place, "c", reused, 1, link);
    CHECK(!cbx__watch_sample(&w, 2000000000, &s), "another process of its number");
    cbx__watch_sum(&w, &r);
    CHECK(r.ended && r.minor_faults == 100 && r.processes_seen == 1, "is not watched");
    free(memory);
    cbx_test_folder_remove(place);
}

TEST(more_than_fit)
{
    char place[64], link[128];
    cbx_resource_opts o;
    cbx_resource_report r;
    cbx_resource_sample s;
    cbx__watch w;
    void *memory;
    now_are(cbx_test_folder(place), "a", before, CBX_LEN(before), link);
    o = opts_of(100, link);
    o.max_processes = 2;
    memory = calloc(1, cbx__watch_bytes(&o));
    cbx__watch_init(&w, &o, memory);
    CHECK(cbx__watch_sample(&w, 1, &s), "alive");
    cbx__watch_sum(&w, &r);
    CHECK(s.processes == 2 && r.left_out == 1, "told that a process was left out");
    o.alone = true;
    memset(memory, 0, cbx__watch_bytes(&o));
    cbx__watch_init(&w, &o, memory);
    CHECK(cbx__watch_sample(&w, 1, &s) && s.processes == 1 && s.rss_bytes == 1000 * 1024, "alone");
    free(memory);
    cbx_test_folder_remove(place);
}

/* --- real ones --- */

static void burn(double seconds)
{
    struct timespec t;
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    while ((double)t.tv_sec + 1e-9 * (double)t.tv_nsec < seconds);
}

/* Between the grandchild and the monitor's device: it says when its work is done, and is told when
 * it was looked at often enough. */
typedef struct meeting {
    int done[2], seen[2]; /* pipes */
    int looks, after;     /* calls of say_device; those since the grandchild was done */
    bool told;
} meeting;

enum { LOOKS = 12 };

/* A grandchild that takes 48 MiB and 0.2 s of CPU; the child waits for it. */
static void family(const meeting *w)
{
    pid_t pid = fork();
    if (pid == 0) {
        size_t size = 48u << 20;
        char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (size_t i = 0; i < size; i += 4096) p[i] = 1;
        burn(0.2);
        _exit(write(w->done[1], "d", 1) != 1 || read(w->seen[0], p, 1) != 1);
    }
    waitpid(pid, NULL, 0);
    _exit(0);
}

static void meet(meeting *w)
{
    *w = (meeting){ .looks = 0 };
    CHECK(pipe(w->done) == 0 && pipe(w->seen) == 0, "pipes");
    CHECK(fcntl(w->done[0], F_SETFL, O_NONBLOCK) == 0, "asked, never waited for");
}

static void say_device(void *user, const pid_t *pids, size_t npids, cbx_resource_device *out)
{
    meeting *w = user;
    char c;

    (void)pids;
    out->mem_mb = 100.0 + ++w->looks;
    out->util = 50;
    out->power_w = 200;
    out->temperature_c = w->looks == 2 ? 70 : 60;
    out->tree_mem_mb = (double)npids;
    out->throttle = w->looks == 1 ? CBX_GPU_THROTTLE_THERMAL : CBX_GPU_THROTTLE_IDLE;
    if (w->after > 0 || read(w->done[0], &c, 1) == 1) w->after++;
    if (w->after == LOOKS) w->told = write(w->seen[1], "s", 1) == 1;
}

TEST(a_real_family)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_resource_opts o = CBX_RESOURCE_OPTS_INIT;
    cbx_resource_monitor *m = NULL;
    cbx_resource_report r, again;
    meeting w;
    int status;
    pid_t pid;
    meet(&w);
    pid = fork();
    if (pid == 0) family(&w);
    o.pid = pid;
    o.interval_s = 0.01;
    o.pss = true;
    o.max_samples = 8;
    o.device = say_device;
    o.device_user = &w;
    CHECK_OK(cbx_resource_monitor_start(ctx, &o, &m, &err), &err, "start");
    for (siginfo_t info = { 0 }; waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0;) {}
    CHECK_OK(cbx_resource_monitor_stop(m, &r, &err), &err, "stop");
    CHECK_OK(cbx_resource_monitor_stop(m, &again, &err), &err, "twice");
    waitpid(pid, &status, 0);
    CHECK(memcmp(&r, &again, sizeof r) == 0, "the same");
    CHECK(w.told, "looked at often enough");
    CHECK_GT(r.summary.peak_rss_mb, 47, "of the grandchild");
    CHECK_GT((double)r.hwm_bytes, 47 * MIB, "of the grandchild");
    CHECK(r.pss_stopped || r.peak_pss_bytes > 47 * MIB, "its own pages, unless that took too long");
    CHECK_GT(r.peak_pss_bytes, 0.1 * MIB, "read at least once");
    CHECK_GT(r.cpu_user_s + r.cpu_system_s, 0.17, "0.2 s less two ticks");
    CHECK_LE(r.cpu_user_s + r.cpu_system_s, 1.0, "nothing is counted twice");
    CHECK_GT(r.mean_cpu_percent, 1, "summarised");
    CHECK(r.peak_cpu_percent >= r.mean_cpu_percent, "peak");
    CHECK(r.peak_processes == 2 && r.processes_seen == 2 && r.ended, "both, and the end");
    CHECK_GT((double)r.minor_faults, 48.0 * 256 * 0.01, "pages or huge pages");
    CHECK(r.nsamples >= 2 && r.nsamples <= 8 && r.summary.num_samples >= LOOKS, "thinned");
    for (size_t i = 1; i < r.nsamples; i++) CHECK(r.samples[i].time_ns > r.samples[i - 1].time_ns, "in order");
    CHECK_GT(r.overhead_cpu_s, 0, "its own cost");
    CHECK_LE(fabs(r.summary.peak_gpu_mem_mb - 100.0 - w.looks), 0, "device: peak");
    CHECK_LE(fabs(r.summary.mean_gpu_power_w - 200), 0, "device: mean");
    CHECK(isnan(r.summary.mean_gpu_clock_mhz), "device: not told");
    CHECK(r.peak_gpu_temperature_c == 70 && r.peak_gpu_tree_mem_mb == 2,
          "device: peaks, and the tree it was asked about");
    CHECK_INT(r.gpu_throttle, CBX_GPU_THROTTLE_THERMAL | CBX_GPU_THROTTLE_IDLE, "device: reasons of all looks");
    CHECK_LE(fabs(r.gpu_slowed_share * (double)r.summary.num_samples - 1), 1e-9, "device: slowed in one look");
    for (int i = 0; i < 2; i++) close(w.done[i]), close(w.seen[i]);
    cbx_resource_monitor_free(m);
    cbx_ctx_free(ctx);
}

TEST(bad_options)
{
    static const struct {
        cbx_resource_opts o;
        cbx_status wanted;
        const char *why;
    } cases[] = {
        { { 3 }, CBX_EINVAL, "another version" },
        { { sizeof(cbx_resource_opts), 0, 1e-4 }, CBX_EINVAL, "too often" },
        { { sizeof(cbx_resource_opts), 0, NAN }, CBX_EINVAL, "no number" },
        { { sizeof(cbx_resource_opts), 0, 0, 0, 0, 1 }, CBX_EINVAL, "one sample" },
        { { sizeof(cbx_resource_opts), 0, 0, 0, 0, SIZE_MAX }, CBX_EINVAL, "too many" },
        { { sizeof(cbx_resource_opts), 0x7ffffff0 }, CBX_ENOENT, "nobody" },
    };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_resource_monitor *m = NULL;
    for (size_t i = 0; i < CBX_LEN(cases); i++)
        CHECK_STATUS(cbx_resource_monitor_start(ctx, &cases[i].o, &m, &err), cases[i].wanted, cases[i].why);
    CHECK(m == NULL, "untouched");
    cbx_resource_monitor_free(NULL);
    cbx_ctx_free(ctx);
}

static cbx_status watch_once(cbx_ctx *ctx, void *user)
{
    cbx_resource_monitor *m = NULL;
    cbx_resource_report r;
    cbx_err err;
    cbx_status st = cbx_resource_monitor_start(ctx, NULL, &m, &err);
    (void)user;
    if (!st) {
        st = cbx_resource_monitor_stop(m, &r, &err);
        CHECK_GT(r.summary.peak_rss_mb, 0.1, "this process");
        CHECK(r.summary.num_samples >= 2, "first and last, however short");
    }
    cbx_resource_monitor_free(m);
    return st;
}

static void spin(uint64_t ns)
{
    for (uint64_t start = cbx_clock_ns(); cbx_clock_ns() - start < ns;) {}
}

/* Keeps the calling thread on the n-th of its CPUs, or on the only one. */
static void stay_on(const cpu_set_t *cpus, int n)
{
    cpu_set_t one;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, cpus) || n-- > 0) continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

/* Works for most of a tick, answers, runs on for a moment, waits. */
static void answer_each(int fd)
{
    char byte;
    while (read(fd, &byte, 1) == 1) {
        spin(3300000);
        if (write(fd, &byte, 1) != 1) break;
        spin(20000);
    }
    _exit(0);
}

/* CPU time that is read before the worker sleeps lacks what the kernel has not added yet: without
 * the wait up to 3 ms of 3.3 are missing in a third of the readings. */
TEST(a_settled_account)
{
    double most = 0, first;
    int fd[2], settled = 0;
    char byte = 0;
    cpu_set_t cpus;
    CHECK(sched_getaffinity(0, sizeof cpus, &cpus) == 0, "the CPUs of this process");
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0, "a pair of sockets");
    pid_t pid = fork();
    if (pid == 0) {
        close(fd[0]);
        stay_on(&cpus, 1);
        answer_each(fd[1]);
    }
    close(fd[1]);
    stay_on(&cpus, 0);
    for (int i = 0; i < 40; i++) {
        CHECK(write(fd[0], &byte, 1) == 1 && read(fd[0], &byte, 1) == 1, "question and answer");
        if (!cbx__proc_settle(pid, 50000000)) continue;
        settled++;
        first = cbx__proc_cpu_ns(pid);
        usleep(5000);
        most = fmax(most, cbx__proc_cpu_ns(pid) - first);
    }
    CHECK(settled > 0, "the worker sleeps in the end");
    CHECK_LE(most, 0.05e6, "nothing is added behind it");
    CHECK(!cbx__proc_settle(getpid(), 1000), "who asks runs");
    close(fd[0]);
    waitpid(pid, NULL, 0);
    sched_setaffinity(0, sizeof cpus, &cpus);
    CHECK(cbx__proc_settle(pid, 1000), "gone");
}

TEST(out_of_memory) { CHECK_GT(cbx_test_fail_each(watch_once, NULL, "cbx_resource_monitor_start"), 0, "allocations"); }

TESTS()
