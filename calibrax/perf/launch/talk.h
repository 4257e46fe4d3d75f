/*
 * One conversation with a worker: start it, ask, wait with everything watched, know the cause when
 * it fails.
 */
#ifndef CALIBRAX_PERF_LAUNCH_TALK_H
#define CALIBRAX_PERF_LAUNCH_TALK_H

#include "calibrax/perf/launch/child.h"
#include "calibrax/perf/launch/memory_group.h"
#include "calibrax/perf/launch/wire.h"
#include "calibrax/profiling/procfs.h"

/* --- waits ---
 *
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

/* --- the conversation --- */

/* Of a worker, itself included: seen now and then while it is waited for, and before `bye`. */
#define CBX__TALK_MAX_PROCESSES 256

typedef struct cbx__talk_opts {
    double timeout_s;            /* for every answer; 0: 3600 */
    uint64_t memory_limit_bytes; /* of the resident memory of the worker and its descendants; 0: none */
    const int *files;            /* that the worker writes ... */
    const uint64_t *file_max;    /* ... and the bytes that each may hold */
    size_t nfiles;
    const cbx_stop_flag *stop; /* may be NULL */
    double grace_s;            /* out of time or stopped, from SIGTERM to SIGKILL; 0: it is killed at once */
    bool python;               /* what is missing if the program is missing: an interpreter, not the worker */
} cbx__talk_opts;

typedef struct cbx__talk {
    cbx_allocator al;
    cbx__talk_opts opts;
    cbx__process child;
    const char *phase;   /* set by the caller before it asks */
    cbx_failure failure; /* the first one; nothing is asked after it */
    char message[CBX_ERR_MESSAGE_SIZE];
    /* of the last exchange: just before the send, just after the read that completed the answer */
    uint64_t sent_ns, received_ns;
    uint64_t waited_ns;      /* time this process had nothing to do but wait for the worker */
    uint64_t watched_ns;     /* when the worker's memory and files were looked at last */
    uint64_t group_ns;       /* when its descendants' memory is to be looked at next */
    uint64_t tree_peak;      /* [bytes] the most that worker and descendants were seen to hold */
    uint64_t oom_kills;      /* of the kernel, before the worker started */
    cbx__memory_group group; /* of the worker, if its caller made one; closed with the talk */
    cbx__waits_watch watch;
    cbx__waits waits;   /* of the last exchange */
    cbx_failure ending; /* why the worker was asked to end, if it was: TIMEOUT, INTERRUPTED */
    uint64_t ending_ns; /* since when */
    bool no_memory;     /* the failure is the parent's own */
    bool launched;      /* the launcher has done its part: what comes now is the worker's */
    cbx__wire wire;
} cbx__talk;

/* Starts the worker.  @param out  freed with cbx__talk_close  @return CBX_OK; CBX_ENOENT (no
 * launcher); CBX_EIO, CBX_ENOMEM */
cbx_status cbx__talk_open(const cbx_allocator *al, const cbx__child_opts *child, const cbx__talk_opts *opts,
                          cbx__talk **out, cbx_err *err);
/*
 * Sends a message (NULL: only waits) and takes the answer, whose op must be `op`.
 * @param answer  the caller's to unref; may be NULL
 * @return false on any failure: see failure and message, and the whole process group has been
 *   killed
 */
bool cbx__talk_ask(cbx__talk *t, const cbx_json *message, const int *fds, size_t nfds, const char *op,
                   cbx_json **answer);
/* As above for a message that is written already, newline included: nothing is allocated between
 * the clock readings. */
bool cbx__talk_ask_text(cbx__talk *t, const char *text, size_t len, const int *fds, size_t nfds, const char *op,
                        cbx_json **answer);
/* The launcher's own line, before anything of the worker runs: what it has in force.  Asked for
 * once, before anything else.
 * @return false: the launcher could not, or is of another version; see `failure` and `message` */
bool cbx__talk_launched(cbx__talk *t, cbx_sandbox_facts *out);
/* The same, then the worker's first message, of the protocol of this program.  @param hello the
 * caller's to unref; NULL: not needed */
bool cbx__talk_hello(cbx__talk *t, cbx_sandbox_facts *out, cbx_json **hello);
/* Waits for the one line of a launcher that measures, valid until the talk is closed; NULL on any
 * failure. */
const char *cbx__talk_wait_report(cbx__talk *t);
/* Waits for the worker's end after `bye`; false (failure EXITED or CRASHED) if it did not exit with
 * 0. */
bool cbx__talk_end(cbx__talk *t);
/* Records a failure unless there is one already. */
void cbx__talk_fail(cbx__talk *t, cbx_failure failure, const char *fmt, ...) CBX_PRINTF(3, 4);
/* Kills what still runs, reaps it: child.status and child.usage are valid afterwards. */
void cbx__talk_stop(cbx__talk *t);
/* Stops and frees; NULL is fine. */
void cbx__talk_close(cbx__talk *t);

#endif
