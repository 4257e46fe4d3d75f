/*
 * A case for tests: C = 2 A + 1, elementwise, with honest baselines and with those that crash,
 * hang, or lie by their clock (the cheats are in suites/selftest).  The same list is compiled into
 * the tests (which need its tables) and into the test worker (which runs it).
 */
#ifndef CALIBRAX_TESTS_PERF_TOY_CASE_H
#define CALIBRAX_TESTS_PERF_TOY_CASE_H

#include "calibrax/perf/case/case.h"

extern const cbx_case_list toy_cases;
extern const cbx_case_ops toy_case;       /* rotates */
extern const cbx_case_ops toy_still_case; /* does not */

/* What a baseline does to its worker, as a dishonest worker would. */
extern unsigned toy_clock_percent; /* speed of the worker's clock from now on */
/* Work that takes so much CPU time, on a busy machine as on an idle one, whatever the worker's
 * clock shows. */
void toy_busy_us(int64_t us);

/* What the worker is told through the environment. */
#define TOY_SHAPE    "TOY_SHAPE" /* its outputs have one element more */
#define TOY_CLOCK    "TOY_CLOCK" /* its clock runs at this per cent of the true speed */
#define TOY_COMPILES "TOY_COMPILES"
#define TOY_CLOSED   "TOY_CLOSED"   /* `looks`: paths, separated by colons, that it may not read ... */
#define TOY_OPEN     "TOY_OPEN"     /* ... that it may ... */
#define TOY_SEALED   "TOY_SEALED"   /* ... and that it may not write */
#define TOY_PID_FILE "TOY_PID_FILE" /* `hang` and `child` write the number of the process that hangs there */

#endif
