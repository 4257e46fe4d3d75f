/**
 * Locks of cores and devices for the whole machine, and those that whoever started this process
 * holds for it.  Internal to perf.
 *
 * Locks are files of cbx_lock_dir: "cpu-N.lock" for the core with lowest CPU N, "device-ID.lock"
 * for a device.  A process that was started under such a lock (by a command of `nperf exec`, say)
 * has it too: it would wait for its own parent for ever.  NPERF_LOCKS lists them as "FD:PID:NAME"
 * words, and each is verified: the descriptor must be of that file and hold its lock, or, where a
 * program between has closed it, the process must be an ancestor of ours that holds the lock.
 *
 * What is held so is shared with others that were started beside us, so below it a lock of the next
 * depth is taken, "cpu-N.in-1.lock": only processes under the first one ask for it.
 */
#ifndef CALIBRAX_PERF_SCHEDULE_LOCKS_H
#define CALIBRAX_PERF_SCHEDULE_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "calibrax/base/environment.h"
#include "calibrax/base/file.h"
#include "calibrax/perf/launch/child.h"
#include "calibrax/perf/launch/launch.h"
#include "calibrax/perf/schedule/cores.h"

/** A place in the line of processes that wait for locks, first come first served, over all
 * invocations of the machine; zeroed: none. */
typedef struct cbx__place {
    char path[512]; /* "" none */
    int fd;         /* holds the file's lock */
} cbx__place;

/** Gives the place up; fine without one. */
void cbx__line_leave(cbx__place *p);

#define CBX__LOCKS_VARIABLE "NPERF_LOCKS"
#define CBX__LOCK_NAME_SIZE 80 /* bytes of a name of a lock, and of a place's file */

/** One lock; see locks.c. */
typedef struct cbx__held_lock cbx__held_lock;

typedef struct cbx__locks {
    cbx_allocator al;
    cbx__held_lock *list;
    size_t n, capacity;
    int *fds; /* for processes that are started under them: ours, and those inherited */
    size_t nfds, fds_capacity;
} cbx__locks;

/** What is to be locked. */
typedef struct cbx__locks_wish {
    const int *cores; /* by cbx__cpu.core */
    size_t ncores;
    const char *device; /* id; NULL: none */
    cbx__place *place;  /* in line, taken on CBX_EBUSY and given up on anything else; NULL: does not wait */
} cbx__locks_wish;

/**
 * All or none, without waiting; none that another process has waited for longer.
 * @param busy  CBX__LOCK_NAME_SIZE bytes: on CBX_EBUSY the lock's name without folder
 * @param out   overwritten; released with cbx__locks_release on success
 * @return CBX_OK; CBX_EBUSY; CBX_EINVAL (the folder's name is too long); CBX_ENOMEM; as
 *   cbx_lock_take
 */
cbx_status cbx__locks_take(cbx_ctx *ctx, const char *dir, const cbx__locks_wish *wish, cbx__locks *out,
                           char busy[CBX__LOCK_NAME_SIZE], cbx_err *err);
/** Closes descriptors: a child that inherited one holds the lock until it ends. */
void cbx__locks_release(cbx__locks *l);
/** Gives up what this process took, whoever inherited it, and releases. */
void cbx__locks_give_up(cbx__locks *l);
/** Sets NPERF_LOCKS for a child that gets l->fds as its descriptors from `first` on. */
void cbx__locks_tell(const cbx__locks *l, int first, cbx__environment *e);

struct cbx_claim;
/** The child inherits the claim's descriptors, and its environment names them (claim.h).  NULL:
 * nothing is passed on. */
void cbx__claim_pass(const struct cbx_claim *claim, cbx__child_opts *child, cbx__environment *e);

/** Waiting for a lock that another process holds; zeroed before the first step. */
typedef struct cbx__lock_wait {
    const char *who; /* waits: "CPU slot 0" */
    double max_s;
    void (*note)(void *user, const char *text); /* may be NULL */
    void *user;
    uint64_t since; /* 0: not waiting */
    long pause_ns;
    bool reported;
} cbx__lock_wait;

/** What is to be locked is still another's, or another's first.  Sleeps a little, longer from step
 * to step; the first one reports which process waits for which.  @param why  written when it
 * returns false: it has waited long enough */
bool cbx__lock_wait_step(cbx__lock_wait *w, const char *dir, const char *busy, char why[CBX_ERR_MESSAGE_SIZE]);

#endif
