/*
 * What the tests of launching share: a toy workload, launch options that finish quickly, and the
 * test worker made known.
 */
#ifndef CALIBRAX_TESTS_PERF_LAUNCH_SUPPORT_H
#define CALIBRAX_TESTS_PERF_LAUNCH_SUPPORT_H

#include "calibrax/perf/launch/workload.h"
#include "toy_case.h"

typedef struct workload_at {
    cbx_params *point;
    cbx_workload *w;
} workload_at;

typedef struct fixture {
    cbx_ctx *ctx;
    char cache[64]; /* of the oracle */
    char notes[64]; /* where workers may write, beside their scratch folder */
    const char *writable[1];
    workload_at toy, other, cheats; /* of the toy case at its first point; the last one made; of the cheating workers */
    cbx_launch_record record;       /* of the last launch */
} fixture;

/* Group set-up and tear-down: the toy worker, a cache folder, and a workload of the toy case at its
 * first point. */
int launch_setup(void **state);
int launch_teardown(void **state);

/* Another workload, which lives until the next one is made. */
cbx_workload *make_workload(fixture *f, const cbx_case_ops *c, const char *point, size_t rotations);
/* The cheats' workload, which stays. */
cbx_workload *cheat_workload(fixture *f);
/* Few, short epochs with a fixed number of calls. */
cbx_launch_opts quick_opts(void);
/* The sandbox of these: what the machine can, and the folder `notes`. */
extern cbx_sandbox launch_sandbox;

/* Runs a baseline of the workload's case, or else a cheat of suites/selftest on its own workload,
 * and fails the test if the parent could not.  The record lives until the next launch. */
const cbx_launch_record *launch_on(fixture *f, const cbx_workload *w, const char *baseline,
                                   const cbx_launch_opts *opts);
/* The same on the toy workload. */
const cbx_launch_record *launch(fixture *f, const char *baseline, const cbx_launch_opts *opts);
/* Fails the test if the launch did not end like that. */
void check_failure(const cbx_launch_record *r, cbx_failure wanted, const char *why);
/* Leaves the test if the launch says that the machine is too busy to measure anything: with its
 * words, which hold the waits and the load. */
void fail_if_too_busy(const cbx_launch_record *r);
/* Sets a variable of the environment, or removes it if the value is NULL.  @return what it was, to
 * be given back so; NULL: unset */
char *change_variable(const char *name, const char *value);
void restore_variable(const char *name, char *before);

#endif
