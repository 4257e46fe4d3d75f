/*
 * What came of a session, and how it becomes a run with checked targets.
 */
#ifndef CALIBRAX_PERF_SWEEP_BENCHMARK_REPORT_H
#define CALIBRAX_PERF_SWEEP_BENCHMARK_REPORT_H

#include "calibrax/perf/sweep/merge.h"

struct cbx_benchmark_report {
    cbx_arena arena;
    cbx__gathered *gathered;
    size_t ngathered;
    cbx_run *run;
    cbx_target_check *targets;
    size_t ntargets;
    cbx_benchmark_failure *failures;
    size_t nfailures;
    const char *trace_fault; /* why the trace was not written; NULL: it was, or nobody asked */
    const char *link_fault;  /* the same of traces that the benchmarks wrote */
    bool interrupted;
};

/* Makes the run, judges the targets, gathers the failures. */
cbx_status cbx__report_finish(cbx_benchmark_report *r, cbx__session *s, cbx_err *err);

#endif
