/*
 * One look after the other at a tree of processes, and the accounts over them: what the sampling thread of resources.c does.
 *
 * All memory is given at the start.  Not safe from two threads at a time.
 */
#ifndef CALIBRAX_PROFILING_WATCH_H
#define CALIBRAX_PROFILING_WATCH_H

#include "calibrax/profiling/resources.h"

/* What is counted of a process or of the tree. */
typedef struct cbx__counts {
    uint64_t user_ticks, system_ticks, minor_faults, major_faults;
    uint64_t voluntary, involuntary;
    uint64_t read_bytes, write_bytes, rchar, wchar;
} cbx__counts;

typedef struct cbx__member {
    pid_t pid, parent;
    uint64_t start_ticks;
    bool present, alive;   /* in the last look: there, and no zombie */
    cbx__counts base, own; /* own counts in the first look (0 for later ones), and in the last */
    cbx__counts with;      /* with those of children that were waited for; I/O is always so, and only here */
    uint64_t hwm_bytes, rss_bytes, threads;
} cbx__member;

typedef struct cbx__watch {
    cbx_resource_opts opts; /* defaults put in */
    double tick_s;
    cbx__member *members; /* those of the last look; ended ones are folded into gone */
    size_t nmembers;
    pid_t *strangers[2],
        *pending; /* sorted numbers of the last look and of this one that belong to others; number, parent */
    pid_t *alive; /* room for the numbers of all members */
    size_t nstrangers[2], npending;
    cbx__counts gone;       /* own counts of those that ended */
    cbx__counts base, most; /* second account: in the first look, and the greatest growth since */
    bool io_refused, pss_stopped;
    uint64_t nlooks;
    uint64_t first_rss, last_rss, first_ns, last_ns; /* of samples */
    uint64_t end_ns; /* of the last look, in which nobody may have been alive any more */
    double last_cpu_s;
    double rss_sum;
    double device_sum[3];
    uint64_t device_n[3], device_slowed, device_told; /* looks */
    cbx_resource_report peaks;                        /* members that are peaks or counts of processes */
} cbx__watch;

/* Bytes of the memory that a watch needs. */
size_t cbx__watch_bytes(const cbx_resource_opts *opts);
/* @param memory  cbx__watch_bytes of it, zeroed, aligned for any type */
void cbx__watch_init(cbx__watch *w, const cbx_resource_opts *opts, void *memory);
/* Reads and accounts; false: nobody of the tree is alive, and *out holds no sample. */
bool cbx__watch_look(cbx__watch *w, uint64_t now_ns, cbx_resource_sample *out);
/* All members but those of the samples and of the thread. */
void cbx__watch_sum(const cbx__watch *w, cbx_resource_report *out);

#endif
