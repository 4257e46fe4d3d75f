/**
 * The line of processes that wait for locks of cores and devices, first come first served, over all
 * invocations of the machine.  Internal to perf.
 *
 * A sweep releases its cores between two jobs and takes them again at once; a process that polls
 * would never find them free.  So a waiting process has a place in line: a file
 * "wait-WHEN-PID-N.line" of the folder of locks with the names it waits for, locked by it.  A lock
 * is left to the process that is before us for it and is alive.  A waiter that was killed has lost
 * its file's lock and is removed by the next one that looks; one that was stopped, or has not
 * looked for CBX__LINE_STALE_S seconds, is ignored until it does.
 *
 * The line is for fairness alone: the locks prevent overlaps, and where the folder cannot be
 * written there is no line.
 */
#ifndef CALIBRAX_PERF_SCHEDULE_WAITING_LINE_H
#define CALIBRAX_PERF_SCHEDULE_WAITING_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CBX__LINE_STALE_S 30
#define CBX__LINE_NAME    80 /* bytes of a name of a lock, and of a place's file */

/** A place in line; zeroed: none. */
typedef struct cbx__place {
    char path[512]; /* "" none */
    int fd;         /* holds the file's lock */
} cbx__place;

/** True if another process has waited longer than this one for one of n locks.  @param mine  NULL
 * or without a place: every waiting one has.
 * @param name  CBX__LINE_NAME bytes: that lock's, on true  @param who  on true: the process that
 *   waits, 0: unknown */
bool cbx__line_is_before(const char *dir, const cbx__place *mine, const char *const *names, size_t n, char *name,
                         pid_t *who);
/** Takes a place in line for n locks, the last one; with a place already: marks it as alive. */
void cbx__line_join(const char *dir, cbx__place *p, const char *const *names, size_t n);
/** Gives the place up; fine without one. */
void cbx__line_leave(cbx__place *p);

#endif
