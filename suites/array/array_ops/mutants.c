/*
 * Planted faults: the engine's results spoiled in ways real kernels have been wrong.  The fidelity
 * check must reject each of them; `nperf selftest --mutants` and the tests hold it to that.
 */
#include <string.h>

#include "suites/array/array_ops/ops.h"

/* --- results of 8 bits --- */

static cbx_array_desc output_of(const cbx__ao_point *p)
{
    cbx_array_desc d;
    cbx__ao_output(p, &d);
    return d;
}

CBX__SUITE_SUPPORTS(supports_bf16, cbx__ao_point, cbx__ao_read,
                    output_of(&p).dtype == CBX_F64 || output_of(&p).dtype == CBX_F32)

static void collect_bf16(void *plan)
{
    cbx_array *out = ((cbx__ao_plan *)plan)->call.out;
    void *data = cbx_array_data_mut(out);

    cbx__suite_engine_collect(plan);
    cbx__suite_round(cbx_array_dtype(out), data, cbx_array_count(out), 8, data);
}

/* --- every element is one place too early --- */

CBX__SUITE_SUPPORTS(supports_shift, cbx__ao_point, cbx__ao_read,
                    output_of(&p).ndim == 1 && output_of(&p).shape[0] > 1 && p.n > 1)

static void collect_shift(void *plan)
{
    const cbx__ao_plan *p = plan;
    const size_t size = cbx_dtype_size(cbx_array_dtype(p->call.out)), bytes = cbx_array_bytes(p->call.out);
    char *out = cbx_array_data_mut(p->call.out), first[16];

    cbx__suite_engine_collect(plan);
    memcpy(first, out, size);
    memmove(out, out + size, bytes - size);
    memcpy(out + bytes - size, first, size);
}

/* --- the last element is left out --- */

/* The largest element is seldom the last. */
CBX__SUITE_SUPPORTS(supports_drop_last, cbx__ao_point, cbx__ao_read,
                    p.op->result == CBX__AO_ONE && p.n > 2 && p.op->in[0] != CBX__AO_AMOUNT &&
                        strcmp(p.op->name, "max") != 0)

static void run_drop_last(void *plan)
{
    cbx__ao_plan *p = plan;
    cbx_array *whole = p->call.in[0], *less = NULL;
    cbx_scope scope;

    cbx_scope_open(p->call.ctx, &scope);
    less = cbx_slice(p->call.ctx, whole, 0, 0, -1, 1);
    if (cbx_scope_close_keep(&scope, 1, &less, NULL)) return;
    p->call.in[0] = less;
    cbx__ao_plan_run(plan);
    p->call.in[0] = whole;
    cbx_array_free(less);
}

/* --- the first answer is given forever --- */

static void run_stale(void *plan) { cbx__suite_engine_stale(plan, cbx__ao_plan_run); }

/* One element has one answer in any place. */
CBX__SUITE_SUPPORTS(supports_stale, cbx__ao_point, cbx__ao_read, p.n > 2)

#define MUTANT(name, summary, reason, supports_, run, collect)                                                         \
    CBX__AO_CALL(name, summary, run, collect, .mutant_reason = reason, .supports = supports_)

const cbx_baseline_ops cbx__ao_mutants[CBX__AO_MUTANTS] = {
    MUTANT("mutant-bf16", "results of 8 bits", "rounds each result to bfloat16", supports_bf16, cbx__ao_plan_run,
           collect_bf16),
    MUTANT("mutant-shift", "results one place off", "writes each element one place too early", supports_shift,
           cbx__ao_plan_run, collect_shift),
    MUTANT("mutant-drop-last", "the loop stops one early", "leaves out the last element", supports_drop_last,
           run_drop_last, cbx__suite_engine_collect),
    MUTANT("mutant-stale", "answers from memory", "gives the first call's answer forever", supports_stale, run_stale,
           cbx__suite_engine_collect),
};
