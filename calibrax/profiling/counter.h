/*
 * Inside the library: the CPU's own count of floating-point operations, by PAPI or by the kernel.
 *
 * Counted is what this thread retires after cbx__counter_open; by the kernel also the threads that
 * it starts from then on.  A fused multiply-add counts 2, a vector instruction as many as it has
 * lanes, masked lanes included.
 */
#ifndef CALIBRAX_PROFILING_COUNTER_H
#define CALIBRAX_PROFILING_COUNTER_H

#include "calibrax/core/machine.h"

typedef struct cbx__counter cbx__counter;

typedef struct cbx__counter_opts {
    const char *papi;             /* path instead of PAPI's sonames; NULL: those */
    bool no_papi, no_perf;        /* not to be tried */
    const cbx_machine *machine;   /* its events are opened; NULL: this one */
    int (*open)(uint64_t config); /* instead of perf_event_open: a descriptor, or -errno; NULL: that */
} cbx__counter_opts;

/* An event of the kernel's raw type, and the operations of one. */
typedef struct cbx__counter_event {
    uint64_t config;
    double flop;
} cbx__counter_event;

#define CBX__COUNTER_MAX_EVENTS 8

/* Events whose weighted sum is flop on this CPU; 0 and a reason: none are known. */
size_t cbx__counter_events(const cbx_machine *m, cbx__counter_event out[CBX__COUNTER_MAX_EVENTS], cbx_err *why);

/* @return CBX_OK; CBX_EUNAVAILABLE: neither counts here, and why; CBX_ENOMEM */
cbx_status cbx__counter_open(cbx_ctx *ctx, const cbx__counter_opts *opts, cbx__counter **out, cbx_err *err);
/* "papi" or "perf_event". */
const char *cbx__counter_source(const cbx__counter *c);
/* "PAPI_DP_OPS + PAPI_SP_OPS" */
const char *cbx__counter_words(const cbx__counter *c);
/* Operations since it was opened.  @return CBX_OK; CBX_EIO */
cbx_status cbx__counter_read(cbx__counter *c, double *flop, cbx_err *err);
void cbx__counter_close(cbx__counter *c);

#endif
