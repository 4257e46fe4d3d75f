/*
 * A thread that looks at something at a set rate.  It keeps to a grid of times from its start, so that its own cost does not stretch the
 * interval, and counts the grid points that it missed.  Beside it, the rows that such a thread keeps in a room of fixed size.
 */
#ifndef CALIBRAX_PROFILING_TICKER_H
#define CALIBRAX_PROFILING_TICKER_H

#include <pthread.h>
#include <stdbool.h>

#include "calibrax/base/ctx.h"

/* Inside the monitor that owns it; what it looks at is the thread's alone between start and stop. */
typedef struct cbx__ticker {
    bool (*look)(void *user); /* false: there is nothing to look at any more */
    void *user;
    uint64_t first_ns, step_ns;
    uint64_t late; /* looks that came more than half a step late, or not at all */
    double cpu_s;  /* of the thread, once it was stopped; NaN: not told */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping;
} cbx__ticker;

/* @param first_ns  of the grid, by cbx_clock_ns.  @return CBX_OK; CBX_EIO: no thread */
cbx_status cbx__ticker_start(cbx__ticker *t, uint64_t first_ns, double interval_s, bool (*look)(void *user), void *user,
                             cbx_err *err);
/* A last look, and the end of the thread; once only. */
void cbx__ticker_stop(cbx__ticker *t);

/* Rows of a size: every stride-th that is offered, and of those every second one goes when they outgrow the room. */
typedef struct cbx__thinned {
    void *rows; /* of the owner, with room for most */
    size_t size, most, n, stride;
    uint64_t offered;
} cbx__thinned;

/* Where the next row goes; NULL: it is left out. */
void *cbx__thinned_place(cbx__thinned *t);

#endif
