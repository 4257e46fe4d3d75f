/*
 * Reading /proc and the memory control group.  Formats: proc(5),
 * Documentation/admin-guide/cgroup-v2.rst ("memory.events") and cgroup-v1/memory.rst
 * ("memory.oom_control") of Linux.
 */
#include "calibrax/profiling/procfs.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/clock.h"

#define FILE_MAX 16384
#define PROC     "/proc"

/* Start of the first line that begins with key; NULL: no such line. */
static const char *find_line(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
        if (strncmp(line, key, n) == 0) return line;
    return NULL;
}

/* The number after a key and one more character, in the first line that begins with them. */
static bool read_member(const char *text, const char *key, char follows, uint64_t *value)
{
    size_t n = strlen(key);
    const char *line = find_line(text, key);
    while (line && line[n] != follows) {
        line = strchr(line, '\n');
        line = line ? find_line(line + 1, key) : NULL;
    }
    char *end = NULL;
    unsigned long long v = line ? strtoull(line + n + 1, &end, 10) : 0;
    if (!line || end == line + n + 1) return false;
    *value = v;
    return true;
}

bool cbx__proc_status_bytes(const char *text, const char *key, uint64_t *bytes)
{
    uint64_t kib = 0;
    bool found = read_member(text, key, ':', &kib);
    if (found) *bytes = kib * 1024;
    return found;
}

bool cbx__proc_field(const char *text, const char *key, uint64_t *value) { return read_member(text, key, ':', value); }

bool cbx__proc_counter(const char *text, const char *key, uint64_t *value)
{
    return read_member(text, key, ' ', value);
}

bool cbx__proc_stat_parse(const char *text, cbx__proc_stat *out)
{
    const char *after = strrchr(text, ')');
    unsigned long long v[10];
    char state[2]; /* a letter */
    int parent, group;
    /* after the name: state ppid group (4 left out) minflt cminflt majflt cmajflt utime stime
     * cutime cstime (2) threads (1) start */
    if (!after ||
        sscanf(after + 1,
               " %1[A-Za-z] %d %d %*d %*d %*d %*u %llu %llu %llu %llu %llu %llu %llu %llu %*d %*d %llu %*d %llu", state,
               &parent, &group, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &v[9]) != 13)
        return false;
    *out = (cbx__proc_stat){ state[0], parent, group, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9] };
    return true;
}

int cbx__proc_cpu_outside(const char *list, const int *cores, size_t ncores)
{
    for (const char *s = list; isdigit((unsigned char)*s);) {
        char *end;
        long first = strtol(s, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        if (last > 1 << 20) return -1;
        for (long cpu = first; cpu <= last; cpu++) {
            size_t i = 0;
            while (i < ncores && cores[i] != (int)cpu) i++;
            if (i == ncores) return (int)cpu;
        }
        s = *end == ',' ? end + 1 : end;
    }
    return -1;
}

bool cbx__proc_steal(const char *text, uint64_t *ticks)
{
    const char *line = find_line(text, "cpu ");
    unsigned long long steal;
    if (!line || sscanf(line + 4, " %*u %*u %*u %*u %*u %*u %*u %llu", &steal) != 1) return false;
    *ticks = steal;
    return true;
}

bool cbx__proc_cgroup_memory(const char *text, char *path, size_t size)
{
    static const struct {
        const char *controllers, *folder, *file;
    } kinds[] = { { ":memory:", "/sys/fs/cgroup/memory", "memory.oom_control" },
                  { "0::", "/sys/fs/cgroup", "memory.events" } };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const char *at = k == 0 ? strstr(text, kinds[k].controllers) : find_line(text, kinds[k].controllers);
        if (!at) continue;
        at += strlen(kinds[k].controllers);
        int len = (int)strcspn(at, "\n");
        int n = snprintf(path, size, "%s%.*s/%s", kinds[k].folder, len == 1 ? 0 : len, at, kinds[k].file);
        return n > 0 && (size_t)n < size;
    }
    return false;
}

size_t cbx__proc_read(const char *path, char *buf, size_t size)
{
    size_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    buf[0] = '\0';
    if (fd < 0) return 0;
    while (len + 1 < size) {
        ssize_t n = read(fd, buf + len, size - 1 - len);
        if (n <= 0) break;
        len += (size_t)n;
    }
    close(fd);
    buf[len] = '\0';
    return len;
}

bool cbx__proc_sched_parse(const char *text, cbx__proc_sched *out)
{
    unsigned long long run, wait, slices;
    if (sscanf(text, "%llu %llu %llu", &run, &wait, &slices) != 3) return false;
    *out = (cbx__proc_sched){ run, wait, slices };
    return true;
}

int cbx__proc_sched_open(pid_t pid)
{
    char path[64] = "/proc/thread-self/schedstat";
    if (pid > 0) snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Kernels without schedstat show a line of zeros: a thread that reads this has run. */
bool cbx__proc_sched_read(int fd, cbx__proc_sched *out)
{
    char text[96];
    ssize_t n = fd >= 0 ? pread(fd, text, sizeof text - 1, 0) : -1;
    if (n <= 0) return false;
    text[n] = '\0';
    return cbx__proc_sched_parse(text, out) && out->slices > 0;
}

size_t cbx__proc_read_of(const char *proc, pid_t pid, const char *name, char *buf, size_t size)
{
    char path[512];
    int n = snprintf(path, sizeof path, "%s/%d/%s", proc, (int)pid, name);
    buf[0] = '\0';
    return n > 0 && (size_t)n < sizeof path ? cbx__proc_read(path, buf, size) : 0;
}

bool cbx__proc_stat_of(const char *proc, pid_t pid, cbx__proc_stat *out)
{
    char text[1024];
    return cbx__proc_read_of(proc, pid, "stat", text, sizeof text) && cbx__proc_stat_parse(text, out);
}

pid_t cbx__proc_next(DIR *d)
{
    struct dirent *e;
    while (d && (e = readdir(d)))
        if (isdigit((unsigned char)e->d_name[0])) return (pid_t)atoi(e->d_name);
    if (d) closedir(d);
    return 0;
}

static DIR *open_tasks(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    return opendir(path);
}

size_t cbx__proc_descendants(pid_t pid, pid_t *out, size_t max)
{
    size_t n = 0;
    for (size_t at = 0; at <= n; at++) {
        pid_t of = at ? out[at - 1] : pid;
        DIR *d = open_tasks(of);
        for (pid_t task; (task = cbx__proc_next(d));) {
            char path[96]; /* a list of numbers of any length */
            int child;
            snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)of, (int)task);
            FILE *f = fopen(path, "re");
            while (f && n < max && fscanf(f, "%d", &child) == 1) out[n++] = child;
            if (f) fclose(f);
        }
    }
    return n;
}

bool cbx__proc_confined(pid_t pid)
{
    char text[FILE_MAX];
    uint64_t mode = 0;
    return cbx__proc_read_of(PROC, pid, "status", text, sizeof text) && cbx__proc_field(text, "Seccomp", &mode) &&
           mode == 2;
}

bool cbx__proc_alive(pid_t pid)
{
    cbx__proc_stat s;
    return cbx__proc_stat_of(PROC, pid, &s) && s.state != 'Z' && s.state != 'X';
}

bool cbx__proc_pressure_parse(const char *text, double *some_avg10)
{
    const char *line = find_line(text, "some ");
    return line && sscanf(line, "some avg10=%lf", some_avg10) == 1;
}

double cbx__proc_pressure_read(void)
{
    char text[512];
    double share = NAN;
    if (!cbx__proc_read("/proc/pressure/cpu", text, sizeof text) || !cbx__proc_pressure_parse(text, &share)) return NAN;
    return share;
}

uint64_t cbx__proc_throttles(void)
{
    static const char *const names[] = { "core_throttle_count", "package_throttle_count" };
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    uint64_t sum = 0;
    bool known = false;
    for (long cpu = 0; cpu < cpus; cpu++) {
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            char path[128], text[64];
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/thermal_throttle/%s", cpu, names[k]);
            if (!cbx__proc_read(path, text, sizeof text)) continue;
            sum += strtoull(text, NULL, 10);
            known = true;
        }
        if (!known) break; /* all CPUs count, or none */
    }
    return known ? sum : UINT64_MAX;
}

size_t cbx__proc_others_want(pid_t pid, double *ns)
{
    char path[96], text[96];
    size_t n = 0;
    DIR *d = open_tasks(pid);
    *ns = 0;
    for (pid_t task; (task = cbx__proc_next(d));) {
        cbx__proc_sched s;
        if (task == pid) continue;
        snprintf(path, sizeof path, "task/%d/schedstat", (int)task);
        if (!cbx__proc_read_of(PROC, pid, path, text, sizeof text) || !cbx__proc_sched_parse(text, &s)) continue;
        *ns += (double)s.run_ns + (double)s.wait_ns;
        n++;
    }
    return n;
}

bool cbx__proc_memory_read(pid_t pid, cbx__proc_memory *out)
{
    char text[FILE_MAX];
    cbx__proc_memory m = { 0 };
    if (!cbx__proc_read_of(PROC, pid, "status", text, sizeof text)) return false;
    if (!cbx__proc_status_bytes(text, "VmHWM", &m.hwm_bytes) || !cbx__proc_status_bytes(text, "VmRSS", &m.rss_bytes))
        return false;
    *out = m;
    return true;
}

uint64_t cbx__proc_resident(pid_t pid)
{
    char text[256];
    unsigned long long pages;
    if (!cbx__proc_read_of(PROC, pid, "statm", text, sizeof text) || sscanf(text, "%*u %llu", &pages) != 1) return 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t cbx__proc_group_resident(pid_t group)
{
    uint64_t sum = 0;
    DIR *d = opendir("/proc");
    if (!d) return cbx__proc_resident(group);
    for (pid_t pid; (pid = cbx__proc_next(d));) {
        cbx__proc_stat s;
        if (cbx__proc_stat_of(PROC, pid, &s) && s.group == group) sum += cbx__proc_resident(pid);
    }
    return sum;
}

uint64_t cbx__proc_tree_resident(pid_t pid, size_t *processes)
{
    pid_t found[1024];
    size_t n = cbx__proc_descendants(pid, found, sizeof found / sizeof *found);
    uint64_t sum = cbx__proc_resident(pid);
    if (processes) *processes = 1 + n;
    if (n == 0 && access("/proc/thread-self/children", R_OK) != 0) return cbx__proc_group_resident(pid);
    for (size_t i = 0; i < n; i++) sum += cbx__proc_resident(found[i]);
    return sum;
}

double cbx__proc_cpu_ns(pid_t pid)
{
    clockid_t clock;
    struct timespec t;
    if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0) return NAN;
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* [ns] Of children that ended and were waited for: the kernel publishes it in ticks. */
static double ended_children_cpu_ns(pid_t pid)
{
    cbx__proc_stat s;
    if (!cbx__proc_stat_of(PROC, pid, &s)) return 0;
    return 1e9 * (double)(s.child_user_ticks + s.child_system_ticks) / (double)sysconf(_SC_CLK_TCK);
}

double cbx__proc_tree_cpu_ns(pid_t pid)
{
    pid_t found[1024];
    double sum = cbx__proc_cpu_ns(pid) + ended_children_cpu_ns(pid);
    size_t n = cbx__proc_descendants(pid, found, sizeof found / sizeof *found);
    for (size_t i = 0; i < n; i++) {
        double cpu = cbx__proc_cpu_ns(found[i]); /* of one that has just ended: counted by its parent from now on */
        sum += (cpu >= 0 ? cpu : 0) + ended_children_cpu_ns(found[i]);
    }
    return sum;
}

bool cbx__proc_settle(pid_t pid, uint64_t max_ns)
{
    const uint64_t start = cbx_clock_ns();
    cbx__proc_stat s;
    while (cbx__proc_stat_of(PROC, pid, &s) && s.state == 'R') {
        if (cbx_clock_ns() - start > max_ns) return false;
        sched_yield(); /* both may be on one CPU */
    }
    return true;
}

int cbx__proc_stray_cpu(pid_t pid, const int *cores, size_t ncores)
{
    static const char key[] = "Cpus_allowed_list:";
    char text[FILE_MAX], name[64];
    int stray = -1;
    DIR *d = open_tasks(pid);
    for (pid_t task; (task = cbx__proc_next(d));) {
        snprintf(name, sizeof name, "task/%d/status", (int)task);
        if (stray >= 0 || !cbx__proc_read_of(PROC, pid, name, text, sizeof text)) continue;
        const char *line = find_line(text, key);
        if (!line) continue;
        line += sizeof key - 1;
        stray = cbx__proc_cpu_outside(line + strspn(line, " \t"), cores, ncores);
    }
    return stray;
}

uint64_t cbx__proc_available(void)
{
    char text[FILE_MAX];
    uint64_t bytes = 0;
    cbx__proc_read("/proc/meminfo", text, sizeof text);
    cbx__proc_status_bytes(text, "MemAvailable", &bytes);
    return bytes;
}

bool cbx__proc_reset_hwm(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/clear_refs", (int)pid);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool done = write(fd, "5", 1) == 1;
    close(fd);
    return done;
}

uint64_t cbx__proc_steal_read(void)
{
    char text[1024]; /* the line of all CPUs comes first */
    uint64_t ticks = 0;
    cbx__proc_read("/proc/stat", text, sizeof text);
    cbx__proc_steal(text, &ticks);
    return ticks;
}

double cbx__proc_load_read(void)
{
    char text[128];
    double load;
    if (!cbx__proc_read("/proc/loadavg", text, sizeof text) || sscanf(text, "%lf", &load) != 1) return NAN;
    return load;
}

uint64_t cbx__proc_oom_kills(void)
{
    char text[FILE_MAX], path[1024];
    uint64_t kills = 0;
    if (cbx__proc_read("/proc/self/cgroup", text, sizeof text) && cbx__proc_cgroup_memory(text, path, sizeof path) &&
        cbx__proc_read(path, text, sizeof text) && cbx__proc_counter(text, "oom_kill", &kills))
        return kills;
    cbx__proc_read("/proc/vmstat", text, sizeof text);
    cbx__proc_counter(text, "oom_kill", &kills);
    return kills;
}
