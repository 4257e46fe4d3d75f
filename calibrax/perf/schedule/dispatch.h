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

/* --- what a sweep measures on: CPU slots, devices, and the cores that each of them gets --- */

#define CBX__MAX_PLATFORMS 8
#define CBX__MAX_RESOURCES 128

typedef struct cbx__resources {
    cbx__topology topology;
    cbx__accelerators devices[CBX__MAX_PLATFORMS]; /* of each platform, those that are used */
    cbx__resource list[CBX__MAX_RESOURCES];        /* devices first; `queue` is the platform's place */
    size_t n, slots, gpus;
    size_t parallel;                 /* jobs at a time */
    bool shared;                     /* there are too few cores for devices and slots to have their own */
    char note[CBX_ERR_MESSAGE_SIZE]; /* options that could not be met; "" */
} cbx__resources;

/** What is asked for. */
typedef struct cbx__resources_wish {
    const char *const *platforms;
    size_t nplatforms;
    size_t jobs[CBX__MAX_PLATFORMS]; /* of each platform: more resources than jobs are not dealt */
    size_t cpu_slots, threads, max_parallel;
    const char *const *gpus; /* words of --gpus */
    size_t ngpus;
} cbx__resources_wish;

/** Finds the devices that are to be used; no device is not a failure (devices[].why is the reason).
 * @return CBX_OK; CBX_EINVAL (--gpus names a missing device, or no platform has devices) */
cbx_status cbx__resources_find(cbx_ctx *ctx, const cbx__resources_wish *wish, cbx__resources *out, cbx_err *err);
/** Deals cores to devices and slots, out->topology being read and the devices found. */
void cbx__resources_deal(const cbx__resources_wish *wish, cbx__resources *out);

/* --- the time of a run, divided over its jobs as they begin ---
 *
 * A job that begins when L seconds of the run are left gets L / ceil(U / l), U being the jobs of
 * its queue that have not begun, itself among them, and l how many are done side by side: as if
 * they were done in so many turns that take equally long.  What a job does not use is shared by
 * those that begin later, and what one takes too much is taken from them.  No share is longer than
 * what is left.
 *
 * Queues have times of their own where each has its own cores and devices; where they share them
 * they are one queue.  Not for two threads at a time.
 */
typedef struct cbx__budget {
    double total_s;                                                /* 0: no end */
    bool pooled;                                                   /* all queues are one, the first */
    size_t lanes[CBX__MAX_PLATFORMS], waiting[CBX__MAX_PLATFORMS]; /* of each queue */
    size_t begun;
} cbx__budget;

/** No jobs yet.  @param r  the resources that will do them; total_s 0: there is no budget */
void cbx__budget_init(cbx__budget *b, double total_s, const cbx__resources *r);
/** One more job to come, of a queue below CBX__MAX_PLATFORMS. */
void cbx__budget_add(cbx__budget *b, size_t queue);
/**
 * A job begins.
 * @param elapsed_s  of the run
 * @param share_s    what it may take; INFINITY without a budget, 0 where nothing is left
 * @return false: nothing is left, and an earlier job of the run has begun, so that this one is to
 *   be left out
 */
bool cbx__budget_begin(cbx__budget *b, size_t queue, double elapsed_s, double *share_s);

#endif
