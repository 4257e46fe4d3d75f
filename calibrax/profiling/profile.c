/* Repeated runs of a command, monitored. */
#include "calibrax/profiling/profile.h"

#include "calibrax/base/options.h"
#include "calibrax/profiling/watched.h"

static cbx_status run_once(cbx_ctx *ctx, const cbx_profile_opts *o, cbx_timeline *trace, cbx_profile_run *out,
                           cbx_err *err)
{
    cbx__watched_opts w = {
        .process = CBX__PROCESS_OPTS_INIT, .interval_s = o->interval_s, .grace_s = 10, .stop = o->stop, .gpu = o->gpu
    };
    cbx__watched r;
    cbx_status st;

    w.process.argv = o->argv;
    if (o->show_output) w.process.output = CBX__FD_OURS;
    st = cbx__watched_run(ctx, &w, &r, err);
    if (st) return st;
    if (trace) cbx__watched_trace(trace, o->argv[0], &r);
    if (r.end == CBX__WATCHED_STOPPED)
        st = cbx_fail(err, CBX_EINTERRUPTED, "stopped while '%s' ran", o->argv[0]);
    else if (r.run.exit_status != 0 && !o->ignore_failure)
        st = cbx_fail(err, CBX_ECHILD, "'%s' ended with status %d", o->argv[0], r.run.exit_status);
    if (!st) *out = r.run;
    cbx__watched_clear(&r);
    if (!st) {
        out->resources.samples = NULL;
        out->resources.nsamples = 0;
    }
    return st;
}

static cbx_status run_all(cbx_ctx *ctx, const cbx_profile_opts *o, cbx_profile_run *runs, cbx_err *err)
{
    cbx_profile_run ignored;
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < o->warmup + o->runs && !st; i++) {
        bool counts = i >= o->warmup;
        if (o->stop && *o->stop) return cbx_fail(err, CBX_EINTERRUPTED, "stopped after %zu runs", i);
        st = run_once(ctx, o, counts ? o->trace : NULL, counts ? &runs[i - o->warmup] : &ignored, err);
        if (!st && counts && o->energy) cbx_energy_meter_see(o->energy);
    }
    if (st == CBX_ECHILD && o->stop && *o->stop)
        st = cbx_fail(err, CBX_EINTERRUPTED, "stopped while '%s' ran", o->argv[0]);
    return st;
}

cbx_status cbx_profile_command(cbx_ctx *ctx, const cbx_profile_opts *opts, cbx_profile *out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_profile_opts o = CBX_PROFILE_OPTS_INIT;
    cbx_profile_run *runs;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_profile_opts", err);

    if (o.interval_s == 0) o.interval_s = 0.01;
    if (!st && (!o.argv || !o.argv[0])) st = cbx_fail(err, CBX_EINVAL, "no command to run");
    if (!st) st = cbx_check_range("runs", (double)o.runs, 1, 65536, err);
    if (!st) st = cbx_check_range("interval_s", o.interval_s, 0.001, 3600, err);
    if (st) return st;
    runs = cbx_mem_calloc(al, o.runs, sizeof *runs);
    if (!runs) return cbx_fail_nomem(err, "the runs of a command");
    if (o.trace) cbx_timeline_name(o.trace, &(cbx_timeline_at){ 0, 1, 0 }, "runs", false);
    st = run_all(ctx, &o, runs, err);
    if (st) {
        cbx_mem_free(al, runs, o.runs * sizeof *runs);
        return st;
    }
    *out = (cbx_profile){ runs, o.runs, *al };
    return CBX_OK;
}

void cbx_profile_clear(cbx_profile *p)
{
    if (!p || !p->runs) return;
    cbx_mem_free(&p->al, p->runs, p->nruns * sizeof *p->runs);
    p->runs = NULL;
    p->nruns = 0;
}
