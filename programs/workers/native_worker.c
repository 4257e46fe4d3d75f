/*
 * nperf-worker: the native baselines and the oracles of the cases that come with Calibrax, for a parent that speaks
 * calibrax/perf/PROTOCOL.md.  Started by nperf through nperf-launch; of no use by hand.
 */
#include <stdio.h>

#include "calibrax/perf/worker.h"
#include "suites/suites.h"

int main(void)
{
    int fd = cbx_worker_fd();
    if (fd < 0) {
        fputs("nperf-worker: NPERF_WORKER_FD names no open descriptor: nperf starts this program\n", stderr);
        return 2;
    }
    return cbx_worker_main(&cbx_builtin_cases, fd);
}
