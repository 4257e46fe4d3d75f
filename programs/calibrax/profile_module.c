/*
 * calibrax profile --module: a function of a Python module, timed in an interpreter of its own.
 */
#include <string.h>

#include "calibrax/profiling/python_call.h"
#include "programs/calibrax/profile.h"
#include "programs/common/stop.h"

static cbx_status see(const profile_args *a, const cbx_python_call *c, profile_facts *f, cbx_err *err)
{
    const cbx_profile_run *run = &c->process.runs[0];
    cbx_resource_report r = run->resources;

    r.hwm_bytes = (uint64_t)(1048576.0 * run->max_rss_mb); /* the interpreter's mark, not this program's */
    if (!profile_see_function(f, &c->timing, &r)) return cbx_fail(err, CBX_ENOMEM, "out of memory");
    if (a->flops && !profile_see_work(f, &c->work, c->timing.steady.value, NULL, 0))
        return cbx_fail(err, CBX_ENOMEM, "out of memory");
    if (c->has_compiled) {
        /* What XLA made of the function, beside the count of its operations. */
        profile_remark(f, "compiled by XLA: %zu instructions, %zu fusions with %.0f %% of the operations; score %.2f",
                       c->compiled.instructions, c->compiled.fusions, 100 * c->compiled.fused_ratio, c->compiled.score);
        for (size_t i = 0; i < c->compiled.nadvice; i++) profile_remark(f, "compiled: %s", c->compiled.advice[i]);
    }
    return CBX_OK;
}

cbx_status profile_module(const opt_run *run, const profile_args *a, cbx_gpu *gpu, cbx_energy_meter *energy,
                          cbx_timeline *trace, profile_facts *f, double *calls, cbx_err *err)
{
    cbx_python_call_opts o = CBX_PYTHON_CALL_OPTS_INIT;
    cbx_python_call c = { .work = { 0 } };
    cbx_status st;

    o.python = a->python;
    o.module = a->module;
    o.function = a->function;
    o.warmup = a->warmup;
    if (a->iterations) o.samples = a->iterations;
    if (a->sample_ms > 0) o.sample_s = 1e-3 * a->sample_ms;
    o.flops = a->flops;
    o.show_output = a->show_output;
    o.gpu = gpu;
    o.energy = energy;
    o.trace = trace;
    o.stop = stop_catch();
    st = cbx_python_call_measure(run->ctx, &o, &c, err);
    if (!st) st = see(a, &c, f, err);
    *calls = (double)(c.timing.warmup_calls + c.timing.nsamples * c.timing.calls_per_sample);
    cbx_python_call_clear(&c);
    return st;
}
