/*
 * Facts of processes and of the machine from the kernel.  The parsers take text, so that tests can
 * run them on captured files.
 */
#ifndef CALIBRAX_PROFILING_PROCFS_H
#define CALIBRAX_PROFILING_PROCFS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* /proc/PID/status, in bytes; a line that is missing (a zombie has none of them) leaves 0. */
typedef struct cbx__proc_memory {
    uint64_t hwm_bytes, rss_bytes;
} cbx__proc_memory;

/* Value of "key:   123 kB" in bytes, false if the key is missing. */
bool cbx__proc_status_bytes(const char *text, const char *key, uint64_t *bytes);
/* The counters of a /proc/PID/stat line.  Times in ticks; those of children that were waited for
 * are separate. */
typedef struct cbx__proc_stat {
    char state; /* 'Z': ended, not yet waited for */
    pid_t parent, group;
    uint64_t minor_faults, child_minor_faults, major_faults, child_major_faults;
    uint64_t user_ticks, system_ticks, child_user_ticks, child_system_ticks;
    uint64_t threads;
    uint64_t start_ticks; /* since boot: with the number it identifies a process */
} cbx__proc_stat;
bool cbx__proc_stat_parse(const char *text, cbx__proc_stat *out);
/* Value of a "key:\t123" line (/proc/PID/io, switches in /proc/PID/status). */
bool cbx__proc_field(const char *text, const char *key, uint64_t *value);
/* First CPU of a list such as "0-3,8" that is not one of these; -1: all are, or the list cannot be
 * read. */
int cbx__proc_cpu_outside(const char *list, const int *cores, size_t ncores);
/* Steal of the "cpu " line of /proc/stat, in ticks. */
bool cbx__proc_steal(const char *text, uint64_t *ticks);
/* Value of a "key 123" line (/proc/vmstat, memory.events, memory.oom_control). */
bool cbx__proc_counter(const char *text, const char *key, uint64_t *value);
/* Path of this process's memory controller below /sys/fs/cgroup from /proc/self/cgroup: version 1
 * if it has one, else version 2. */
bool cbx__proc_cgroup_memory(const char *text, char *path, size_t size);

/* /proc/PID/schedstat: a thread in the scheduler since its start
 * (Documentation/scheduler/sched-stats.rst). */
typedef struct cbx__proc_sched {
    uint64_t run_ns, wait_ns; /* on a CPU; ready, and without one */
    uint64_t slices;          /* times it got a CPU */
} cbx__proc_sched;
bool cbx__proc_sched_parse(const char *text, cbx__proc_sched *out);
/* Descriptor of a process's first thread (pid 0: of the calling thread); -1: the kernel does not
 * record it. */
int cbx__proc_sched_open(pid_t pid);
bool cbx__proc_sched_read(int fd, cbx__proc_sched *out);

/* CPU time of the present threads of a process but the first, and the time that they waited for it,
 * in ns.  @return their number */
size_t cbx__proc_others_want(pid_t pid, double *ns);

/* Processes that descend from one, those that left its group included, if their parents still live
 * (a subreaper keeps orphans).
 * @return how many were written, at most max */
size_t cbx__proc_descendants(pid_t pid, pid_t *out, size_t max);
/* The next process or thread in an open folder of them; 0, and it is closed: there are no more, or
 * d is NULL. */
pid_t cbx__proc_next(DIR *d);
/* True if a process runs under a filter of system calls. */
bool cbx__proc_confined(pid_t pid);
/* False for a zombie and for an unused number. */
bool cbx__proc_alive(pid_t pid);
/* Share of the last ten seconds in which some task waited for a CPU, in per cent, by
 * /proc/pressure/cpu; NaN if unknown. */
double cbx__proc_pressure_read(void);
bool cbx__proc_pressure_parse(const char *text, double *some_avg10);
/* Times that this machine's CPUs were slowed down for heat since boot; UINT64_MAX: unknown. */
uint64_t cbx__proc_throttles(void);

/* Reads a small file; returns its length, 0 if it cannot be read.  Always terminates buf. */
size_t cbx__proc_read(const char *path, char *buf, size_t size);
/* The same of a process's file, PROC/PID/NAME, in /proc or a folder in its form. */
size_t cbx__proc_read_of(const char *proc, pid_t pid, const char *name, char *buf, size_t size);
bool cbx__proc_stat_of(const char *proc, pid_t pid, cbx__proc_stat *out);

bool cbx__proc_memory_read(pid_t pid, cbx__proc_memory *out);
/* Resident bytes by /proc/PID/statm: cheaper than status, good enough for a watchdog. */
uint64_t cbx__proc_resident(pid_t pid);
/* Resident bytes of all processes of a group; pages that they share count once for each. */
uint64_t cbx__proc_group_resident(pid_t group);
/* The same of a process and all that descends from it, in any group; of its group, by reading every
 * process of the machine, if the kernel does not list children.  @param processes  their number,
 * itself included; may be NULL */
uint64_t cbx__proc_tree_resident(pid_t pid, size_t *processes);
/* CPU time of a running process, all its threads, in ns, not in ticks; NaN if unknown. */
double cbx__proc_cpu_ns(pid_t pid);
/* The same of a process and all that descends from it; children that ended count to 10 ms, once
 * they were waited for. */
double cbx__proc_tree_cpu_ns(pid_t pid);
/* Waits until the first thread of a process sleeps, for at most max_ns.  The kernel adds the time
 * of a thread that runs on another CPU at the next tick or when the thread stops, so the CPU time
 * of one that runs is up to a tick (4 ms) behind.
 * @return false: it runs on, or is ready to */
bool cbx__proc_settle(pid_t pid, uint64_t max_ns);
/* A CPU on which the process or one of its threads may run and that is not one of these; -1: no
 * such CPU, or the process is gone. */
int cbx__proc_stray_cpu(pid_t pid, const int *cores, size_t ncores);
/* Bytes that can be had without swapping (MemAvailable); 0 if unknown. */
uint64_t cbx__proc_available(void);
/* Sets VmHWM to VmRSS; false where the kernel does not allow it. */
bool cbx__proc_reset_hwm(pid_t pid);
/* Steal ticks of the machine since boot, 0 if unknown; load average over a minute, NaN if
 * unknown. */
uint64_t cbx__proc_steal_read(void);
double cbx__proc_load_read(void);
/* Processes that the kernel killed because memory ran out: in this process's control group, or on
 * the machine if that cannot be read. */
uint64_t cbx__proc_oom_kills(void);

#endif
