/**
 * A launch in progress: what start.c starts, warm_up.c and conversation.c plan, messages.c and
 * unseen.c ask, launch_memory.c limits, and launch_judge.c judges.
 */
#ifndef CALIBRAX_PERF_LAUNCH_LAUNCH_RUN_H
#define CALIBRAX_PERF_LAUNCH_LAUNCH_RUN_H

#include <string.h>

#include "calibrax/base/rng.h"
#include "calibrax/perf/launch/calibration.h"
#include "calibrax/perf/launch/check.h"
#include "calibrax/perf/launch/launch.h"
#include "calibrax/perf/launch/talk.h"
#include "calibrax/perf/launch/workload.h"

/* What something took: by the clock, waits for a CPU taken off, and of CPU time in the worker's
 * whole process tree, which waits do not touch. */
typedef struct cbx__cost {
    double wall_ns, cpu_ns;
} cbx__cost;

typedef struct cbx__run {
    cbx_ctx *ctx;
    const cbx_workload *w;
    const cbx_baseline_ops *baseline;
    cbx_launch_opts o; /* with the defaults filled in */
    cbx_launch_record *r;
    cbx__talk *t;
    cbx__scratch_folder scratch;
    cbx__checker checker;
    cbx_rng rng;
    uint64_t started_ns;
    double rss_load, hwm_load, peak; /* bytes */
    bool hwm_reset;
    size_t nepochs;
    unsigned char sets[CBX_LAUNCH_MAX_EPOCHS];
    bool checked[CBX_LAUNCH_MAX_EPOCHS];
    double raw_ns[CBX_LAUNCH_MAX_EPOCHS];                                    /* whole epoch by the parent's clock */
    double sure_ns[CBX_LAUNCH_MAX_EPOCHS], unsure_ns[CBX_LAUNCH_MAX_EPOCHS]; /* of it: waits for a CPU, see talk.h */
    double output_bytes;
    bool slow;
    size_t draws;               /* of unseen inputs so far, of those that the workload has */
    cbx__seeds seeds;           /* its own, and of further draws */
    double others_s;            /* that the oracle needed for these */
    bool seen_before;           /* the set that was sent last for a call: a rotation of one that was */
    size_t probe_at, probe_set; /* the epoch before which the call on unseen inputs is made, and their set */
    cbx_rng secret;             /* of what a worker must not foresee: seeded by the kernel for each launch */
    cbx__cost hidden; /* of `inputs` what its bytes do not account for, of the set that was sent last for a call */
    int readings, controls; /* of `unseen` and of `known` */
    cbx__cost outputs;      /* the last answer to `outputs` */
    /* one call, outputs included, less writing them: minimum on unseen inputs, maximum of
     * controls */
    cbx__cost unseen, known;
    cbx__cost late, again;      /* minimum of `outputs` after a timed epoch, and of a second one at once */
    cbx__cost series;           /* minimum of a call in a series on unseen inputs; 0: there was none */
    double cpu_ns, cpu_wall_ns; /* of the worker in the timed epochs */
    /* time in which its threads ran or waited for a CPU, of the time from first to last epoch */
    double wanted_ns, wanted_wall_ns;
    bool can_flush, can_null; /* what the worker said in hello that it can do */
    int stray_cpu;            /* on which the worker may run and should not; -1: none */
    cbx_status status;        /* a failure of the parent itself */
    cbx_err err;
} cbx__run;

/** Starts the worker; x->t stays NULL if there is no program to start, which is then the record's
 * failure. */
cbx_status cbx__run_start(cbx__run *x, cbx_arena *arena, cbx_err *err);

/** True for a provider whose first call may hide a compiler. */
bool cbx__run_may_compile(const cbx__run *x);

/** Messages (messages.c); false: the launch has ended, by the worker's fault or, as broken keeps
 * it, by the parent's own. */
bool cbx__run_broken(cbx__run *x, cbx_status st);
bool cbx__run_ask(cbx__run *x, const char *phase, const char *text, const char *op, cbx_json **answer);
bool cbx__run_hello(cbx__run *x);
bool cbx__run_load(cbx__run *x);
bool cbx__run_compile(cbx__run *x);
/** @param inner, outer  [ns] of the whole epoch by the worker's and by the parent's clock */
bool cbx__run_epoch(cbx__run *x, size_t set, uint64_t iterations, double *inner, double *outer);
/** Readings of epoch i, which was just made, for the judgement: times as above, and what the kernel
 * counted as waits. */
void cbx__run_note_epoch(cbx__run *x, size_t i, double inner, double outer);
/** Has the outputs of the last call written.  @param out  what that took */
bool cbx__run_fetch_outputs(cbx__run *x, cbx__cost *out);
/** The same, and compares them with the answers of its set. */
bool cbx__run_check_outputs(cbx__run *x, size_t set);

/** [ns] An epoch by the parent's clock without waits for a CPU: for guesses, not for judgements. */
double cbx__run_unhindered(const cbx__run *x, double outer);
/** Warm-up, calibration and empty epochs (warm_up.c).  @param again  a warm-up was made already */
bool cbx__run_settle(cbx__run *x, bool again);

/** A call on unseen inputs (unseen.c): whether the case has such; sends them in place of the last
 * set, or as a second one. */
bool cbx__run_can_rotate(const cbx__run *x);
bool cbx__run_send_unseen(cbx__run *x);
/** The call, and its outputs.  @param io  &x->unseen, which keeps the minimum, or &x->known, the
 * maximum */
bool cbx__run_probe_call(cbx__run *x, cbx__cost *io);
/** After a call and its outputs: fetches them again, which is writing alone.
 * @param outer, cpu  [ns] of the epoch of that call, waits for a CPU taken off; CPU time in it */
bool cbx__run_note_one_call(cbx__run *x, double outer, double cpu, cbx__cost *io);
/** Before timed epochs, which may be made again. */
void cbx__run_forget_readings(cbx__run *x);
/** Again where the launch is suspect: a reading may be spoilt by the machine, so the best of
 * several counts. */
bool cbx__run_probe_again(cbx__run *x);
/** Of calls so short that one alone shows too little: several, each on inputs of its own.  In the
 * first launch of a baseline, and in some of the others. */
bool cbx__run_series(cbx__run *x);
/** Ends the launch as failed if work was put off, made ahead, or left out. */
void cbx__run_judge_results(cbx__run *x);

/** Memory (launch_memory.c): the limit, right after the start; the marks as the launch goes on. */
void cbx__run_limit_memory(cbx__run *x);
void cbx__run_memory_after_load(cbx__run *x);
void cbx__run_look_at_peak(cbx__run *x);
void cbx__run_memory_at_end(cbx__run *x);

/** Median of n <= CBX_LAUNCH_MAX_EPOCHS readings; NaN for none. */
double cbx__run_median(const double *v, size_t n);

/** [ns] What of the empty epoch may be taken from another's time, whatever the worker takes for
 * it. */
double cbx__run_allowed_empty(const cbx__run *x);

/** [ns] What the worker reports for a call: the median; less the waits for a CPU that were inside
 * its reading, for comparison with readings that waits were taken off. */
double cbx__run_claim(const cbx__run *x);
/** How an outer clock compares with the epochs' times, with all that the kernel counts as
 * waiting. */
typedef enum cbx__run_clocks {
    CBX__CLOCKS_AGREE,  /* or the difference is no more than a twentieth */
    CBX__CLOCKS_UNSURE, /* waiting may explain the difference, and a lie may hide in it: larger or smaller epochs tell */
    CBX__CLOCKS_DISAGREE /* waiting does not explain it */
} cbx__run_clocks;
cbx__run_clocks cbx__run_compare_clocks(const cbx__run *x);
/** Epochs far shorter than they were made to be: calls were slow only as long as they were
 * counted. */
bool cbx__run_too_short(const cbx__run *x);

/** Ends the launch as failed if its outputs were outside their bounds. */
void cbx__run_judge_fidelity(cbx__run *x);
/** Ends the launch as failed if the worker's clock and the parent's disagree over its epochs. */
void cbx__run_judge_clocks(cbx__run *x);
/** False, the launch having failed, if the parent's clock contradicts the time of the first
 * call. */
bool cbx__run_judge_first_call(cbx__run *x);
/** Fills the ratio of the clocks, and ends the launch as failed if its times cannot be believed. */
void cbx__run_judge_times(cbx__run *x);

#endif
