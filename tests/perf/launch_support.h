/*
 * What the tests of launching share: a toy workload, launch options that finish quickly, and the test worker made known.
 */
#ifndef CALIBRAX_TESTS_PERF_LAUNCH_SUPPORT_H
#define CALIBRAX_TESTS_PERF_LAUNCH_SUPPORT_H

#include "calibrax/perf/launch/launch.h"
#include "toy_case.h"

typedef struct fixture {
    cbx_ctx *ctx;
    char cache[64]; /* of the oracle */
    char notes[64]; /* where workers may write, beside their scratch folder */
    const char *writable[1];
    cbx_params *point;
    cbx_workload *w;
    cbx_params *cheat_point;
    cbx_workload *cheat_w; /* of the case of cheating workers */
} fixture;

/* Group set-up and tear-down: the toy worker, a cache folder, and a workload of the toy case at its first point. */
int launch_setup(void **state);
int launch_teardown(void **state);

/* Another workload; the caller frees both. */
cbx_workload *make_workload(fixture *f, const cbx_case_ops *c, const char *point, size_t rotations,
                            cbx_params **params);
/* Few, short epochs with a fixed number of calls. */
cbx_launch_opts quick_opts(void);
/* The sandbox of these: what the machine can, and the folder `notes`. */
extern cbx_sandbox launch_sandbox;
/* Leaves the test if the launch says that the machine is too busy to measure anything: with its words, which hold the waits and the load. */
void fail_if_too_busy(cbx_launch_record *r);

/* The cheats' workload, of the fixture. */
cbx_workload *launch_cheat_workload(fixture *f);
/* A cheat of suites/selftest, on that workload. */
cbx_status launch_cheat(fixture *f, const char *baseline, const cbx_launch_opts *opts, cbx_launch_record *r,
                        cbx_err *err);
/* Runs a baseline of the toy case on the fixture's workload, or else a cheat, and fails the test if the parent could not. */
void launch(fixture *f, const char *baseline, const cbx_launch_opts *opts, cbx_launch_record *r);

#endif
