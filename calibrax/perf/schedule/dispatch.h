/**
 * Jobs and the resources that do them: one queue a kind of resource, a thread a resource.  Internal
 * to perf.
 *
 * A resource is a group of cores (a CPU slot), or a device with the cores of its host threads.  It
 * is locked for the whole machine before it takes a job, never after: what waits for a lock holds
 * no job, so no job waits for a resource that another invocation holds while a like one is free,
 * and none waits behind a job of another kind.  All locks of a resource are taken or none, so two
 * invocations cannot wait for each other.
 *
 * Those files, and the locks that an ancestor of this process holds already: locks.h.
 */
#ifndef CALIBRAX_PERF_SCHEDULE_DISPATCH_H
#define CALIBRAX_PERF_SCHEDULE_DISPATCH_H

#include "calibrax/perf/schedule/locks.h"
#include "calibrax/perf/schedule/platforms.h"

typedef struct cbx__resource {
    size_t queue; /* of the jobs that it does */
    cbx__cores cores;
    const cbx__accelerator *device; /* NULL: cores alone */
    char name[48];                  /* "CPU slot 0", "device 1" */
} cbx__resource;

/** A resource while a job has it: locked, with the descriptors that workers inherit. */
typedef struct cbx__hold {
    const cbx__resource *resource;
    const int *fds;
    size_t n;
    bool fresh; /* no job of this invocation had it just before */
} cbx__hold;

typedef struct cbx__dispatch {
    const cbx__resource *resources;
    size_t nresources;
    const size_t *queues; /* of each job; every queue has a resource */
    size_t njobs;
    size_t max_parallel; /* jobs at a time; 0: as many as there are resources */
    double lock_wait_s;
    const cbx_stop_flag *stop; /* may be NULL */
    /** Does a job.  Called by one thread a resource, each with its own context; a failure ends the
     * whole. */
    cbx_status (*run)(void *user, cbx_ctx *ctx, size_t job, const cbx__hold *hold, cbx_err *err);
    /** A sentence that a person should see; from any thread. */
    void (*note)(void *user, const char *text);
    void *user;
} cbx__dispatch;

/**
 * Does all jobs, those of one queue in their order.  The calling thread is one of the resources'.
 * @return CBX_OK, also when it was stopped; a failure of `run`; CBX_EBUSY (a job was left because
 *         nothing that could do it came free within lock_wait_s); CBX_EPERM (no folder for locks);
 *         CBX_EIO; CBX_ENOMEM
 */
cbx_status cbx__dispatch_run(cbx_ctx *ctx, const cbx__dispatch *d, cbx_err *err);

#endif
