/**
 * All cores that this process may use, locked for the whole machine while commands run on them: a
 * command runs on any of them, with all rights of its user, so nothing else is measured there
 * meanwhile.
 *
 * The locks are those of the sweep (docs/explanation/scheduling.md).  Commands inherit them by
 * descriptor, with NPERF_LOCKS naming each, so an nperf that a command starts finds that its cores
 * are held for it, and a process that outlives a killed parent holds them until it ends.  Released,
 * they are free even if a command left a daemon behind.  What runs under `taskset` claims its own
 * CPUs only.
 */
#ifndef CALIBRAX_PERF_SCHEDULE_CLAIM_H
#define CALIBRAX_PERF_SCHEDULE_CLAIM_H

#include "calibrax/perf/launch/launch.h"

CBX_BEGIN_DECLS

typedef struct cbx_claim cbx_claim;

typedef struct cbx_claim_opts {
    uint32_t struct_size;
    double wait_s; /* for cores that another invocation holds; 0: 3600 */
    const cbx_stop_flag *stop;
    void (*note)(void *user, const char *text); /* called once, with the process that it waits for; may be NULL */
    void *user;
} cbx_claim_opts;

#define CBX_CLAIM_OPTS_INIT CBX_OPTS(cbx_claim_opts, 0, 0, 0, 0)

/**
 * Locks the cores, all or none; what an ancestor holds for us counts.
 * @param out  written on success only; ctx must outlive it
 * @return CBX_OK; CBX_EBUSY (held by another after wait_s: the message names it); CBX_EINTERRUPTED
 *         (the stop flag); CBX_EPERM (no folder for locks); CBX_EINVAL (another version of the
 *         options); CBX_EIO, CBX_ENOMEM
 */
CBX_API cbx_status cbx_claim_take(cbx_ctx *ctx, const cbx_claim_opts *opts, cbx_claim **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_claim_release(cbx_claim *claim);

CBX_END_DECLS
#endif
