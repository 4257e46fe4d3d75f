/*
 * Who waited for a CPU while a message was answered.
 *
 * On a busy machine the parent's clock shows more than a worker's for two honest reasons: the
 * worker was woken late by the question, or the parent by the answer.  The kernel counts both
 * (/proc/PID/schedstat), and neither count can be written by a worker.  What the parent waited in
 * its last sleep, if the answer ended that sleep, came after the answer, to the nanosecond; if a
 * tick ended it, or the answer was there before, it may have come after it.  What the worker
 * waited, if it was given a CPU once only, came before it began; in a longer answer most waits fall
 * inside the worker's own reading, and the one at its beginning is about as long as the others.
 * CPU time of the worker's other threads is taken off its wait: a worker cannot wait for itself.
 */
#ifndef CALIBRAX_PERF_LAUNCH_WAITS_H
#define CALIBRAX_PERF_LAUNCH_WAITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "calibrax/profiling/procfs.h"

typedef struct cbx__waits {
    bool known;
    double late_ns;   /* of the parent, the answer being there */
    double parent_ns; /* of the parent, when it is unknown whether the answer was there */
    double worker_ns; /* of the worker's first thread, for others */
    uint64_t slices;  /* stretches in which it ran */
    double cpu_ns;    /* CPU time of the worker and all that descends from it */
} cbx__waits;

/* The accounts that are read. */
typedef struct cbx__waits_watch {
    int own, worker; /* descriptors; -1 */
    pid_t pid;
    cbx__proc_sched own_before, own_sleep; /* at the last sleep but one (or the question), at the last one */
    cbx__proc_sched worker_start;
    uint64_t sleep_ns, sleep_max_ns; /* when the last sleep began, and how long it could last */
    double cpu_start_ns;             /* of the tree, at the question */
    bool good;
} cbx__waits_watch;

/* To be called on the thread that asks.  A worker that cannot be read makes everything unknown. */
void cbx__waits_open(cbx__waits_watch *w, pid_t worker);
void cbx__waits_close(cbx__waits_watch *w);
/* Before a question, before each sleep, and after the clock was read that the answer ended. */
void cbx__waits_ask(cbx__waits_watch *w);
void cbx__waits_sleep(cbx__waits_watch *w, uint64_t now_ns, uint64_t max_ns);
void cbx__waits_answered(cbx__waits_watch *w, uint64_t received_ns, cbx__waits *out);

/* [ns] That the worker has waited for others since the question; 0 where that is unknown. */
double cbx__waits_so_far(const cbx__waits_watch *w);

/* [ns] That the parent waited for a CPU since its last sleep of this question began. */
uint64_t cbx__waits_woken(const cbx__waits_watch *w);

/* [ns] Waits that were certainly outside the worker's own reading; that may have been, at most; the
 * worker's own and the late ones, wherever they were. */
double cbx__waits_sure(const cbx__waits *w);
double cbx__waits_unsure(const cbx__waits *w);
double cbx__waits_all(const cbx__waits *w);

#endif
