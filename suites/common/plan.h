/*
 * The state of a native baseline between calls: its point, where the arrays are, and one block of scratch memory.
 */
#ifndef SUITES_COMMON_PLAN_H
#define SUITES_COMMON_PLAN_H

#include "calibrax/perf/case/case.h"

typedef struct cbx__suite_plan {
    cbx_allocator al;
    const void *in[CBX_CASE_MAX_ARRAYS];
    void *out[CBX_CASE_MAX_ARRAYS];
    void *point; /* a copy of what the case reads a point into */
    size_t point_bytes;
    void *scratch; /* 64-byte aligned */
    char *block;   /* as allocated */
    size_t block_bytes;
    size_t ninputs, noutputs;
    bool ran;
} cbx__suite_plan;

/* @param point  copied  @param c  for its numbers of arrays */
cbx_status cbx__suite_plan_create(cbx_ctx *ctx, const cbx_case_ops *c, const void *point, size_t point_bytes,
                                  size_t scratch_bytes, void **plan, cbx_err *err);
void cbx__suite_plan_bind(void *plan, cbx_array *const *in, cbx_array *const *out);
void cbx__suite_plan_finish(void *plan);

/* A planted fault of every case: the first call's answer forever.  Scratch ends in out_bytes for a copy of output 0; `run` is that of
 * the honest baseline, and uses the scratch before it. */
void cbx__suite_plan_stale(void *plan, void (*run)(void *plan), size_t out_bytes);

/* Entries of a list of baselines. */
#define CBX__SUITE_BASELINE(name_, provider_, summary_, ...)                                                           \
    {                                                                                                                  \
        .struct_size = sizeof(cbx_baseline_ops), .abi = CBX_CASE_ABI, .name = name_, .provider = provider_,            \
        .summary = summary_, __VA_ARGS__                                                                               \
    }
/* ... with the plan above. */
#define CBX__SUITE_NATIVE(name_, summary_, prepare_, run_, ...)                                                        \
    CBX__SUITE_BASELINE(name_, "native", summary_, .prepare = prepare_, .bind = cbx__suite_plan_bind, .run = run_,     \
                        .finish = cbx__suite_plan_finish, __VA_ARGS__)
#define CBX__SUITE_MUTANT(name_, summary_, reason_, prepare_, run_, ...)                                               \
    CBX__SUITE_NATIVE(name_, summary_, prepare_, run_, .mutant_reason = reason_, __VA_ARGS__)

#endif
