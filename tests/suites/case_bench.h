/*
 * One point of a case, ready to run baselines on; and what every case is held to.
 */
#ifndef TESTS_SUITES_CASE_BENCH_H
#define TESTS_SUITES_CASE_BENCH_H

#include "calibrax/perf/case/case.h"

typedef struct case_bench {
    cbx_ctx *ctx;
    const cbx_case_ops *c;
    cbx_params *point;
    cbx_array *in[CBX_CASE_MAX_ARRAYS], *answer[CBX_CASE_MAX_ARRAYS], *bound[CBX_CASE_MAX_ARRAYS],
        *out[CBX_CASE_MAX_ARRAYS];
} case_bench;

/* Fails the test if the point is not allowed. */
void case_bench_open(case_bench *t, const cbx_case_ops *c, const char *json);
void case_bench_close(case_bench *t);

/* Error over bound of a baseline, the outputs poisoned first, after a call on turned inputs;
 * negative: not for this point. */
double case_bench_ratio(case_bench *t, const cbx_baseline_ops *b);

/* Honest native baselines pass (or, foreign, are left alone) and mutants fail; counts of both
 * are added. */
void case_bench_check_baselines(case_bench *t, const char *json, size_t *honest, size_t *mutants);
/* Turned inputs have the turned answer, to the bit, and it is another one unless `same`
 * excludes that. */
void case_bench_check_turns(case_bench *t, const char *json, bool same);
/* The case's own table; points in canonical form; work that is positive where there is any. */
void case_bench_check_table(const cbx_case_ops *c);

#endif
