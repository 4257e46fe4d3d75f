/*
 * A thread that calls a function at a set rate.  It keeps to a grid of times from its start, so
 * that its own cost does not stretch the interval, and counts the grid points that it missed.  And
 * rows that such a thread keeps in a block of fixed size.
 */
#ifndef CALIBRAX_PROFILING_TICKER_H
#define CALIBRAX_PROFILING_TICKER_H

#include <pthread.h>
#include <stdbool.h>

#include "calibrax/base/ctx.h"

/* Inside the monitor that owns it; between start and stop only the thread uses what it samples. */
typedef struct cbx__ticker {
    bool (*sample)(void *user); /* false: nothing more to sample */
    void *user;
    uint64_t first_ns, step_ns;
    uint64_t late; /* calls more than half a step late, or missing */
    double cpu_s;  /* of the thread, after it stopped; NaN: unknown */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping;
} cbx__ticker;

/* @param first_ns  of the grid, by cbx_clock_ns.  @return CBX_OK; CBX_EIO: no thread */
cbx_status cbx__ticker_start(cbx__ticker *t, uint64_t first_ns, double interval_s, bool (*sample)(void *user),
                             void *user, cbx_err *err);
/* A last call, and the end of the thread; once only. */
void cbx__ticker_stop(cbx__ticker *t);

/* Rows of a size: every stride-th that is offered; when they are full, every second one is
 * dropped. */
typedef struct cbx__thinned {
    void *rows; /* of the owner */
    size_t size, capacity, n, stride;
    uint64_t offered;
} cbx__thinned;

/* The place of the next row; NULL: it is left out. */
void *cbx__thinned_place(cbx__thinned *t);

#endif
