/* What the kernel says: captured texts, and this process itself. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calibrax/profiling/procfs.h"

TEST(status_lines)
{
    static const char text[] =
        "Name:\tVmHWM: 7 kB\nVmPeak:\t   12345 kB\nVmHWM:\t    1300 kB\nVmRSS:\t     900 kB\nThreads:\t1\n";
    uint64_t v = 0;
    CHECK(cbx__proc_status_bytes(text, "VmHWM", &v) && v == 1300 * 1024,
          "a line of its own, not a name that looks like one");
    CHECK(cbx__proc_status_bytes(text, "VmRSS", &v) && v == 900 * 1024, "resident");
    CHECK(!cbx__proc_status_bytes(text, "VmSwap", &v), "absent");
    CHECK(!cbx__proc_status_bytes("", "VmRSS", &v), "empty");
    CHECK(!cbx__proc_status_bytes("VmRSS:\tmany kB\n", "VmRSS", &v), "no number");
}

TEST(groups_and_cpus)
{
    static const int cores[] = { 0, 2, 3 };
    static const struct {
        const char *list;
        int outside;
        const char *why;
    } cases[] = {
        { "0", -1, "one" },         { "0,2-3", -1, "all" },         { "0-3", 1, "a range with a hole" },
        { "2,7\n", 7, "the last" }, { "", -1, "nothing is known" }, { "x", -1, "no list" },
    };
    cbx__proc_stat s = { 0 };
    for (size_t i = 0; i < CBX_LEN(cases); i++)
        CHECK_INT(cbx__proc_cpu_outside(cases[i].list, cores, CBX_LEN(cores)), cases[i].outside, cases[i].why);
    CHECK(cbx__proc_stat_parse("42 (a) b (c d) S 1 77 3 0 -1 4194560 5 6 7 8 9 10 11 12 20 0 1 0 99 0", &s) &&
              s.parent == 1 && s.group == 77 && s.minor_faults == 5 && s.start_ticks == 99,
          "the numbers after the name");
    CHECK(!cbx__proc_stat_parse("42 (a", &s), "cut");
}

TEST(counters)
{
    static const struct {
        const char *text, *key;
        bool found;
        uint64_t value;
        const char *why;
    } cases[] = {
        { "low 0\nhigh 0\nmax 3\noom 2\noom_kill 1\noom_group_kill 5\n", "oom_kill", true, 1, "memory.events" },
        { "low 0\nhigh 0\nmax 3\noom 2\noom_kill 1\n", "oom", true, 2, "a key that begins another" },
        { "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n", "oom_kill", true, 4,
          "memory.oom_control: another key begins with it" },
        { "under_oom 0\n", "oom_kill", false, 0, "absent" },
        { "oom_kill x\n", "oom_kill", false, 0, "no number" },
    };
    uint64_t v = 0;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        v = 0;
        CHECK_INT(cbx__proc_counter(cases[i].text, cases[i].key, &v), cases[i].found, cases[i].why);
        CHECK_INT(v, cases[i].value, cases[i].why);
    }
    cbx__proc_sched sched = { 0 };
    double pressure = 0;
    CHECK(cbx__proc_sched_parse("333752 57155 2\n", &sched) && sched.run_ns == 333752 && sched.wait_ns == 57155 &&
              sched.slices == 2,
          "run, wait, slices");
    CHECK(!cbx__proc_sched_parse("333752 57155\n", &sched), "no slices");
    CHECK(cbx__proc_pressure_parse(
              "some avg10=98.87 avg60=98.69 avg300=65.43 total=317016110\nfull avg10=0.00 avg60=0.00\n", &pressure) &&
              pressure == 98.87,
          "some task waited");
    CHECK(!cbx__proc_pressure_parse("full avg10=1.00\n", &pressure), "no such line");
    CHECK(cbx__proc_steal("cpu  1 2 3 4 5 6 7 88 9 10\ncpu0 1 2 3 4 5 6 7 44 9 10\n", &v) && v == 88,
          "steal of all CPUs");
    CHECK(!cbx__proc_steal("cpu  1 2 3\n", &v), "an old kernel");
}

TEST(control_groups)
{
    static const struct {
        const char *text, *path, *why;
    } cases[] = {
        { "0::/user.slice/a\n", "/sys/fs/cgroup/user.slice/a/memory.events", "version 2" },
        { "0::/\n", "/sys/fs/cgroup/memory.events", "version 2, the top" },
        { "9:name=systemd:/\n4:memory:/jobs/b\n0::/\n", "/sys/fs/cgroup/memory/jobs/b/memory.oom_control",
          "version 1 where memory is there" },
    };
    char path[256], tiny[8];
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        CHECK(cbx__proc_cgroup_memory(cases[i].text, path, sizeof path), cases[i].why);
        CHECK_STR(path, cases[i].path, cases[i].why);
        CHECK(!cbx__proc_cgroup_memory(cases[i].text, tiny, sizeof tiny), "a path that does not fit");
    }
    CHECK(!cbx__proc_cgroup_memory("", path, sizeof path), "no control group");
}

TEST(this_process)
{
    cbx__proc_memory before, after;
    size_t size = 32u << 20;
    CHECK(cbx__proc_memory_read(getpid(), &before), "memory");
    CHECK(before.hwm_bytes >= before.rss_bytes && before.rss_bytes > 100000, "memory");
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED, "32 MiB");
    for (size_t i = 0; i < size; i += 4096) p[i] = 1;
    CHECK_GT(cbx__proc_resident(getpid()), 32e6, "resident");
    munmap(p, size);
    CHECK(cbx__proc_memory_read(getpid(), &after) && after.hwm_bytes >= before.rss_bytes + size - (1u << 20),
          "the mark stays");
    if (cbx__proc_reset_hwm(getpid())) {
        CHECK(cbx__proc_memory_read(getpid(), &after) && after.hwm_bytes < before.rss_bytes + size / 2,
              "until it is reset");
    }
    CHECK(!isnan(cbx__proc_load_read()), "load");
    CHECK_GT((double)cbx__proc_group_resident(getpgrp()), 100e3, "its group");
    if (access("/proc/thread-self/children", R_OK) ==
        0) /* who has no children is alone, whoever else is in its group */
        CHECK_LE((double)cbx__proc_tree_resident(getpid(), NULL), (double)cbx__proc_resident(getpid()) + 50e6,
                 "its tree");
    CHECK_GT((double)cbx__proc_tree_resident(getpid(), NULL), 100e3, "its tree");
    CHECK_GT(cbx__proc_cpu_ns(getpid()), 1000, "CPU time in ns");
    CHECK(isnan(cbx__proc_cpu_ns(-1)), "of nobody");
    CHECK_GT((double)cbx__proc_available(), 1e6, "memory to be had");
    CHECK(cbx__proc_stray_cpu(getpid(), NULL, 0) >= 0, "on some CPU");
    CHECK(!cbx__proc_memory_read(-1, &after) && cbx__proc_resident(-1) == 0 && !cbx__proc_reset_hwm(-1),
          "no such process");
}

TESTS()
