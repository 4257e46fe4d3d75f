/**
 * --in-process: a native baseline called in this very process, without launcher and protocol.
 *
 * For a debugger or a profiler, and to see what isolation costs.  Memory is this process's own,
 * there is one clock, and the rows say `in_process`.  Inputs and answers are the workload's; the
 * output is poisoned and one more call is checked at the end.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "calibrax/array/io/npy.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/process.h"
#include "calibrax/perf/launch/calibration.h"
#include "calibrax/perf/launch/workload.h"
#include "calibrax/perf/sweep/session.h"
#include "calibrax/profiling/procfs.h"

typedef struct local_run {
    const cbx_baseline_ops *b;
    void *plan;
    cbx_array *in[CBX_CASE_MAX_ARRAYS], *out[CBX_CASE_MAX_ARRAYS];
    size_t nin, nout;
} local_run;

static cbx_status open_run(cbx_ctx *ctx, const cbx_case_ops *c, const cbx_params *point, const cbx_workload *w,
                           local_run *r, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (; r->nin < c->ninputs && !st; r->nin += !st) {
        int fd = dup(w->input_fds[r->nin]);
        if (fd < 0) return cbx_fail(err, CBX_EIO, "cannot open input %zu of the point", r->nin);
        st = cbx_npy_map_fd(ctx, fd, &r->in[r->nin], err);
        close(fd);
    }
    for (; r->nout < c->noutputs && !st; r->nout += !st)
        st = cbx_array_create(ctx, &w->outputs[r->nout], &r->out[r->nout], err);
    if (!st) st = r->b->prepare(ctx, point, &r->plan, err);
    if (!st) r->b->bind(r->plan, r->in, r->out);
    return st;
}

static double calls_ns(local_run *r, uint64_t n)
{
    uint64_t start = cbx_clock_ns();
    for (uint64_t i = 0; i < n; i++) r->b->run(r->plan);
    return (double)(cbx_clock_ns() - start);
}

static void measure(const cbx_launch_opts *o, local_run *r, cbx_launch_record *rec)
{
    const double call = r->b->run ? calls_ns(r, 1) : 0;
    const bool slow = o->slow_call_s > 0 && 1e-9 * call > o->slow_call_s;
    const size_t epochs = slow && o->slow_epochs < o->epochs ? o->slow_epochs : o->epochs;

    rec->first_call_ns = call;
    for (size_t i = 0; i < (slow && o->warmup > 1 ? 1 : o->warmup); i++) calls_ns(r, 1);
    rec->iterations = o->iterations ? o->iterations : 1;
    if (!o->iterations && !slow) {
        cbx__calibration c;
        double t;
        cbx__calibration_begin(&c, 1e9 * o->epoch_target_s);
        do t = fmax(calls_ns(r, c.calls), 1);
        while (cbx__calibration_note(&c, t, t / (double)c.calls));
        rec->iterations = c.calls;
    }
    rec->iterations_chosen = rec->iterations;
    rec->empty_epoch_ns = calls_ns(r, 0);
    for (size_t e = 0; e < epochs && e < CBX_LAUNCH_MAX_EPOCHS && !(o->stop && *o->stop); e++) {
        rec->epoch_ns[e] = rec->outer_ns[e] = calls_ns(r, rec->iterations) / (double)rec->iterations;
        rec->epochs = e + 1;
    }
}

void cbx__launch_in_process(cbx_ctx *ctx, const cbx_case_ops *c, const cbx_params *point, const cbx_workload *w,
                            const cbx__attempt *a, const cbx_launch_opts *opts, cbx_launch_record *rec)
{
    local_run r = { .b = a->baseline };
    struct rusage before, after;
    cbx__proc_memory memory = { 0, 0 };
    cbx_err why = CBX_ERR_INIT;

    cbx__launch_record_init(rec);
    memcpy(rec->phase, "epoch", sizeof "epoch");
    snprintf(rec->energy_why, sizeof rec->energy_why, "not measured where baselines run in this process");
    getrusage(RUSAGE_SELF, &before);
    const cbx_status st = open_run(ctx, c, point, w, &r, &why);
    if (st) {
        rec->failure = st == CBX_EUNAVAILABLE || st == CBX_EUNSUPPORTED ? CBX_FAILURE_HOST_UNSUPPORTED
                       : st == CBX_ENOMEM                               ? CBX_FAILURE_OUT_OF_MEMORY
                                                                        : CBX_FAILURE_RUN_ERROR;
        memcpy(rec->message, why.message, sizeof(rec->message));
        memcpy(rec->phase, "load", sizeof "load");
    } else {
        measure(opts, &r, rec);
        for (size_t i = 0; i < r.nout; i++) memset(cbx_array_data_mut(r.out[i]), 0xa5, cbx_array_bytes(r.out[i]));
        r.b->run(r.plan);
        if (r.b->collect) r.b->collect(r.plan);
        for (size_t i = 0; !r.b->limit && i < r.nout; i++)
            cbx_fidelity_compare(r.out[i], w->answers[i], w->bounds[i], &rec->fidelity);
        if (!rec->fidelity.ok) rec->failure = CBX_FAILURE_FIDELITY;
        if (opts->stop && *opts->stop) rec->failure = CBX_FAILURE_INTERRUPTED;
    }
    getrusage(RUSAGE_SELF, &after);
    rec->cpu_user_s = cbx__seconds_of(after.ru_utime) - cbx__seconds_of(before.ru_utime);
    rec->cpu_system_s = cbx__seconds_of(after.ru_stime) - cbx__seconds_of(before.ru_stime);
    rec->voluntary_switches = (uint64_t)(after.ru_nvcsw - before.ru_nvcsw);
    rec->involuntary_switches = (uint64_t)(after.ru_nivcsw - before.ru_nivcsw);
    rec->hwm_bytes = cbx__proc_memory_read(getpid(), &memory) ? (double)memory.hwm_bytes : NAN;
    rec->load_1min = cbx__proc_load_read();
    if (r.b->finish && r.plan) r.b->finish(r.plan);
    for (size_t i = 0; i < r.nin; i++) cbx_array_free(r.in[i]);
    for (size_t i = 0; i < r.nout; i++) cbx_array_free(r.out[i]);
}
