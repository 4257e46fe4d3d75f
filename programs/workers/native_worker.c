/*
 * nperf-worker: the native baselines and the oracles of the cases that come with Calibrax and of
 * plug-ins, for a parent that speaks calibrax/perf/launch/PROTOCOL.md.  Started by nperf through
 * nperf-launch; of no use by hand.
 */
#include <stdio.h>

#include "calibrax/perf/case/plugin.h"
#include "calibrax/perf/launch/worker.h"
#include "suites/suites.h"

int main(void)
{
    cbx_case_set *set = NULL;
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;
    int status, fd = cbx_worker_fd();

    if (fd < 0) {
        fputs("nperf-worker: NPERF_WORKER_FD names no open descriptor: nperf starts this program\n", stderr);
        return 2;
    }
    status = cbx_ctx_create(NULL, &ctx, &err) ? 2 : 0;
    if (!status && cbx_case_set_create(ctx, &cbx_builtin_cases, &set, &err)) status = 2;
    for (size_t i = 0; !status && i < cbx_selftest_cases.count; i++)
        status = cbx_case_set_add(ctx, set, cbx_selftest_cases.cases[i], "selftest", &err) ? 2 : 0;
    if (!status && cbx_case_set_add_environment(ctx, set, &err)) status = 2;
    if (status)
        fprintf(stderr, "nperf-worker: %s\n", err.message);
    else
        status = cbx_worker_main(cbx_case_set_list(set), fd);
    cbx_case_set_free(set);
    cbx_ctx_free(ctx);
    return status;
}
