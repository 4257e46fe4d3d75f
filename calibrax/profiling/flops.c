/* The work of a call, from the best available source. */
#include "calibrax/profiling/flops.h"
#include "calibrax/array/trace/cost.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/options.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/profiling/counter.h"

static const char *const source_names[] = {
#define SOURCE_ROW(name, words) words,
    CBX_FLOPS_SOURCE_MAP(SOURCE_ROW)
#undef SOURCE_ROW
};

const char *cbx_flops_source_name(cbx_flops_source s) { return CBX_WORD(source_names, s); }

static cbx_flops unknown(void)
{
    cbx_flops f = { .flop = NAN, .transcendental = NAN, .int_op = NAN, .bytes = NAN };
    f.bytes_least = NAN; /* words:ok */
    return f;
}

/* --- functions of arrays --- */

static cbx_flops of_report(const cbx_cost_report *r, cbx_flops_source source)
{
    cbx_flops f = unknown();

    f.source = source;
    f.flop = (double)r->total.flop;
    f.transcendental = (double)r->total.transcendental;
    f.int_op = (double)r->total.int_op;
    f.bytes = (double)r->total.bytes_read + (double)r->total.bytes_written;
    f.bytes_least = (double)r->in_bytes + (double)r->out_bytes; /* words:ok */
    f.flags = r->total.flags;
    return f;
}

cbx_status cbx_flops_of_fn(cbx_ctx *ctx, const cbx_fn *f, size_t nin, const cbx_array_desc *in, cbx_flops *out,
                           cbx_err *err)
{
    cbx_cost_report r;
    cbx_status st = cbx_cost_count(ctx, f, nin, in, &r, err);

    if (!st) *out = of_report(&r, CBX_FLOPS_TRACE);
    return st;
}

cbx_status cbx_flops_of_fn_with(cbx_ctx *ctx, const cbx_fn *f, size_t nin, cbx_array *const *in, cbx_flops *out,
                                cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT;
    cbx_cost_report r;
    cbx_array_desc *d = cbx_mem_calloc(cbx_ctx_allocator(ctx), nin + 1, sizeof *d);

    if (!d) return cbx_fail_nomem(err, "operands");
    for (size_t i = 0; i < nin; i++)
        if (!cbx_array_is_failed(in[i])) d[i] = *cbx_array_get_desc(in[i]);
    cbx_status st = cbx_cost_count(ctx, f, nin, d, &r, &why);
    cbx_mem_free(cbx_ctx_allocator(ctx), d, (nin + 1) * sizeof *d);
    if (st == CBX_ENOMEM) return cbx_fail(err, st, "%s", why.message);
    if (!st && !(r.total.flags & (CBX_COST_LOWER_BOUND | CBX_COST_DEAREST))) {
        *out = of_report(&r, CBX_FLOPS_TRACE);
        return CBX_OK;
    }
    if (!st) snprintf(why.message, sizeof why.message, "its loops or branches depend on data");
    st = cbx_cost_count_run(ctx, f, nin, in, f ? f->nout : 0, NULL, &r, err);
    if (st) return st;
    *out = of_report(&r, CBX_FLOPS_RUN);
    snprintf(out->why, sizeof out->why, "no trace: %s", why.message);
    return CBX_OK;
}

/* --- any code --- */

static cbx_status by_hardware(cbx_ctx *ctx, cbx_timed_fn fn, void *user, const cbx_flops_opts *o, cbx_flops *out,
                              cbx_err *err)
{
    const cbx__counter_opts how = { .papi = o->papi, .no_perf = o->no_perf_event };
    const uint64_t calls = o->calls ? o->calls : 1;
    cbx__counter *c = NULL;
    double before = 0, after = 0;
    cbx_status st = cbx__counter_open(ctx, &how, &c, err);

    if (st) return st;
    fn(user);
    st = cbx__counter_read(c, &before, err);
    for (uint64_t i = 0; i < calls && !st; i++) fn(user);
    if (!st) st = cbx__counter_read(c, &after, err);
    if (!st) {
        out->source = strcmp(cbx__counter_source(c), "papi") == 0 ? CBX_FLOPS_PAPI : CBX_FLOPS_PERF;
        out->flop = (after - before) / (double)calls;
        snprintf(out->events, sizeof out->events, "%s", cbx__counter_words(c));
    }
    cbx__counter_close(c);
    return st;
}

cbx_status cbx_flops_of_calls(cbx_ctx *ctx, cbx_timed_fn fn, void *user, const cbx_flops_opts *opts, cbx_flops *out,
                              cbx_err *err)
{
    cbx_flops f = unknown();
    cbx_err why = CBX_ERR_INIT;
    cbx_flops_opts o = CBX_FLOPS_OPTS_INIT;
    cbx_status st = fn ? cbx_take_options(&o, sizeof o, opts, "cbx_flops_opts", err)
                       : cbx_fail(err, CBX_EINVAL, "no function to count");

    if (!st && o.has_declared && !isnan(o.declared_flop))
        st = cbx_check_range("declared_flop", o.declared_flop, 0, DBL_MAX, err);
    if (!st && o.has_declared && !isnan(o.declared_bytes))
        st = cbx_check_range("declared_bytes", o.declared_bytes, 0, DBL_MAX, err);
    if (st) return st;
    st = CBX_EUNAVAILABLE;
    if (!o.no_hardware) st = by_hardware(ctx, fn, user, &o, &f, &why);
    if (st && st != CBX_EUNAVAILABLE) return cbx_fail(err, st, "%s", why.message);
    if (o.has_declared) f.bytes = f.bytes_least = o.declared_bytes; /* words:ok */
    if (st) {
        snprintf(f.why, sizeof f.why, "%s", why.message);
        if (o.has_declared && !isnan(o.declared_flop)) {
            f.source = CBX_FLOPS_DECLARED;
            f.flop = o.declared_flop;
        }
    }
    *out = f;
    return CBX_OK;
}
