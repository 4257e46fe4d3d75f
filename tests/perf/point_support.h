/*
 * What tests of a point's numbers share: a session and a point of the toy case, to which they add
 * attempts and launches.
 */
#ifndef CALIBRAX_TESTS_PERF_POINT_SUPPORT_H
#define CALIBRAX_TESTS_PERF_POINT_SUPPORT_H

#include "calibrax/perf/sweep/session.h"
#include "toy_case.h"

typedef struct rig {
    cbx_ctx *ctx;
    cbx_measure_opts opts;
    cbx__session s; /* its probe has 1e9 operations and bytes a second: the point's 8000 bytes take 8 us at best */
    cbx__point p;   /* of 1000 elements */
    cbx_rows rows;
    cbx_text raw;
} rig;

/* Group set-up and tear-down. */
int rig_setup(void **state);
int rig_teardown(void **state);
/* The rig of the group, with nothing on it. */
rig *fresh(void **state);
const cbx_baseline_ops *toy_baseline(const char *name);
/* Another attempt on the CPU; at most 8. */
cbx__attempt *add_attempt(rig *r, const char *name, const char *variant);

#endif
