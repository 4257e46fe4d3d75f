/*
 * Samples of a tree of processes, and the sums over them: the work of the sampling thread of
 * resources.c.
 *
 * All memory is given at the start.  Not safe from two threads at a time.
 */
#ifndef CALIBRAX_PROFILING_TREE_WATCH_H
#define CALIBRAX_PROFILING_TREE_WATCH_H

#include "calibrax/profiling/resources.h"

/* Counters of a process or of the tree. */
typedef struct cbx__counts {
    uint64_t user_ticks, system_ticks, minor_faults, major_faults;
    uint64_t voluntary, involuntary;
    uint64_t read_bytes, write_bytes, rchar, wchar;
} cbx__counts;

typedef struct cbx__member {
    pid_t pid, parent;
    uint64_t start_ticks;
    bool present, alive;   /* in the last sample: exists, and is not a zombie */
    cbx__counts base, own; /* own counts in the first sample (0 for later ones), and in the last */
    cbx__counts with;      /* with those of children that were waited for; I/O is always so, and only here */
    uint64_t hwm_bytes, rss_bytes, threads;
} cbx__member;

typedef struct cbx__watch {
    cbx_resource_opts opts; /* defaults put in */
    double tick_s;
    cbx__member *members; /* those of the last sample; ended ones are added to gone */
    size_t nmembers;
    pid_t *strangers[2]; /* sorted numbers of other processes, of the last sample and of this one */
    pid_t *pending;      /* pairs of number and parent */
    pid_t *alive;        /* numbers of living members */
    size_t nstrangers[2], npending;
    cbx__counts gone;      /* own counts of those that ended */
    cbx__counts base, max; /* second sum: in the first sample, and the greatest growth since */
    bool io_refused, pss_stopped;
    uint64_t nsamples;
    uint64_t first_rss, last_rss, first_ns, last_ns; /* of samples */
    uint64_t end_ns;                                 /* of the last sample, even if no member was alive */
    double last_cpu_s;
    double rss_sum;
    double device_sum[3];
    uint64_t device_n[3], device_slowed, device_known; /* samples */
    cbx_resource_report peaks;                         /* members that are peaks or counts of processes */
} cbx__watch;

/* Bytes of memory for a watch. */
size_t cbx__watch_bytes(const cbx_resource_opts *opts);
/* @param memory  cbx__watch_bytes of it, zeroed, aligned for any type */
void cbx__watch_init(cbx__watch *w, const cbx_resource_opts *opts, void *memory);
/* Takes a sample; false: the whole tree has ended, and *out is not written. */
bool cbx__watch_sample(cbx__watch *w, uint64_t now_ns, cbx_resource_sample *out);
/* All members except those of the samples and of the thread. */
void cbx__watch_sum(const cbx__watch *w, cbx_resource_report *out);

#endif
