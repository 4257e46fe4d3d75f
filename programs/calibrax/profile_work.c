/*
 * calibrax profile --flops and --shapes: the work of a function, and functions of arrays.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/promote.h"
#include "calibrax/array/transform.h"
#include "calibrax/base/rng.h"
#include "programs/calibrax/profile.h"

/* --- roofs --- */

static cbx_status roofs_of_core(const opt_run *run, const char *type, cbx_roofs *out, cbx_err *err)
{
    cbx_machine *m = cbx_arena_calloc(run->arena, 1, sizeof *m);
    cbx_probe probe;
    cbx_status st = m ? cbx_machine_read(run->ctx, NULL, m, err) : cbx_fail(err, CBX_ENOMEM, "out of memory");

    if (!st) st = cbx_probe_get(run->ctx, m->id, false, &probe, err);
    return st ? st : cbx_roofs_of_type(&probe, type, 1, out, err);
}

static cbx_status see_work(const opt_run *run, const profile_args *a, profile_facts *f, const cbx_flops *w,
                           const char *type, size_t last_axis, cbx_err *err)
{
    cbx_roofs roofs;
    cbx_status st = a->roofline ? roofs_of_core(run, type, &roofs, err) : CBX_OK;

    if (!st && !profile_see_work(f, w, profile_fact_value(f, "call_time"), a->roofline ? &roofs : NULL, last_axis))
        st = cbx_fail(err, CBX_ENOMEM, "out of memory");
    return st;
}

cbx_status profile_work(const opt_run *run, const profile_args *a, const profile_plugin *p, profile_facts *f,
                        cbx_err *err)
{
    cbx_flops_opts o = CBX_FLOPS_OPTS_INIT;
    cbx_flops w;
    cbx_status st;

    o.declared_flop = o.declared_bytes = NAN;
    if (p->work) {
        o.has_declared = true;
        p->work(p->state, &o.declared_flop, &o.declared_bytes);
    }
    st = cbx_flops_of_calls(run->ctx, p->run, p->state, &o, &w, err);
    return st ? st : see_work(run, a, f, &w, a->dtype ? a->dtype : "float64", 0, err);
}

/* --- functions of arrays --- */

/* "float32:512x512"; "float64:" is a number. */
static cbx_status parse_shape(const char *text, cbx_array_desc *d, cbx_err *err)
{
    const char *colon = strchr(text, ':');
    char name[32], *end;
    size_t count;

    if (!colon || (size_t)(colon - text) >= sizeof name)
        return cbx_fail(err, CBX_EINVAL, "--shapes: '%s' is no shape, say float32:512x512", text);
    snprintf(name, sizeof name, "%.*s", (int)(colon - text), text);
    *d = (cbx_array_desc){ .ndim = 0 };
    if (cbx_dtype_parse(name, &d->dtype, err)) return CBX_EINVAL;
    for (const char *at = colon + 1; *at; at = *end ? end + 1 : end) {
        unsigned long long n = strtoull(at, &end, 10);
        if (end == at || (*end && *end != 'x') || *at == '-' || (*end && !end[1]) || d->ndim == CBX_MAX_RANK)
            return cbx_fail(err, CBX_EINVAL, "--shapes: '%s' is no shape, say float32:512x512", text);
        d->shape[d->ndim++] = (size_t)n;
    }
    return cbx_array_desc_count(d, &count, err);
}

/* Numbers from 1 to 9, the same in each run. */
static cbx_status make_operand(const opt_run *run, const cbx_array_desc *d, uint64_t seed, cbx_array **out,
                               cbx_err *err)
{
    cbx_array_desc wide = *d;
    cbx_array *x = NULL, *cast;
    cbx_scope scope;
    cbx_rng rng;
    cbx_status st;
    double *v;

    wide.dtype = CBX_F64;
    st = cbx_array_create(run->ctx, &wide, &x, err);
    if (st) return st;
    rng = cbx_rng_make(seed, 0);
    v = cbx_array_data_mut(x);
    for (size_t i = 0; i < cbx_array_count(x); i++) v[i] = 1 + 8 * cbx_rng_uniform(&rng);
    cbx_scope_open(run->ctx, &scope);
    cast = cbx_astype(run->ctx, x, d->dtype);
    st = cbx_scope_close_keep(&scope, 1, &cast, err);
    cbx_array_free(x);
    if (!st) *out = cast;
    return st;
}

/* What a timed call needs; a failure is kept, since timed calls have no way to say so. */
typedef struct array_call {
    cbx_ctx *ctx;
    const cbx_fn *f;
    cbx_array **in, **out;
    cbx_status st;
    cbx_err err;
} array_call;

static void call_array(void *user)
{
    array_call *c = user;
    const cbx_backend *b = cbx_ctx_backend(c->ctx);

    if (c->st) return;
    c->st = cbx_fn_run(c->ctx, c->f, c->f->nin, c->in, c->f->nout, c->out, &c->err);
    if (!c->st && b->sync) c->st = b->sync(b, c->ctx, &c->err);
    for (size_t i = 0; i < c->f->nout && !c->st; i++) cbx_array_free(c->out[i]);
}

static cbx_status time_array(const opt_run *run, const profile_args *a, const cbx_fn *f, array_call *call,
                             profile_facts *facts, cbx_err *err)
{
    cbx_timing_opts o = CBX_TIMING_OPTS_INIT;
    cbx_resource_opts watching = CBX_RESOURCE_OPTS_INIT;
    cbx_resource_monitor *m = NULL;
    cbx_resource_report r;
    cbx_call_timing t = { 0 };
    cbx_fn *fast = NULL;
    cbx_status st = cbx_jit(run->ctx, f, &fast, err);

    if (st) return st;
    call->f = fast;
    watching.interval_s = 0.25;
    o.warmup = a->warmup;
    if (a->iterations) o.samples = a->iterations;
    if (a->sample_ms > 0) o.sample_s = 1e-3 * a->sample_ms;
    st = cbx_resource_monitor_start(run->ctx, &watching, &m, err);
    if (!st) st = cbx_time_calls(run->ctx, call_array, call, &o, &t, err);
    if (m) cbx_resource_monitor_stop(m, &r, NULL);
    if (call->st) st = cbx_fail(err, call->st, "%s", call->err.message);
    if (!st && !profile_see_function(facts, &t, &r)) st = cbx_fail(err, CBX_ENOMEM, "out of memory");
    cbx_call_timing_clear(&t);
    cbx_resource_monitor_free(m);
    cbx_fn_free(fast);
    return st;
}

static size_t last_axis(const cbx_array *x) { return cbx_array_ndim(x) ? cbx_array_dim(x, cbx_array_ndim(x) - 1) : 0; }

static cbx_status with_operands(const opt_run *run, const profile_args *a, const cbx_fn *f, cbx_array **in,
                                profile_facts *facts, cbx_err *err)
{
    array_call call = { .ctx = run->ctx, .in = in, .err = CBX_ERR_INIT };
    const char *type = cbx_dtype_size(cbx_array_dtype(in[0])) >= 8 ? "float64" : "float32"; /* whatever computes it */
    cbx_flops w;
    cbx_status st;

    call.out = cbx_arena_calloc(run->arena, f->nout + 1, sizeof *call.out);
    if (!call.out) return cbx_fail(err, CBX_ENOMEM, "out of memory");
    st = time_array(run, a, f, &call, facts, err);
    if (!st) st = cbx_flops_of_fn_with(run->ctx, f, f->nin, in, &w, err);
    return st ? st : see_work(run, a, facts, &w, a->dtype ? a->dtype : type, last_axis(in[0]), err);
}

cbx_status profile_array_function(const opt_run *run, const profile_args *a, profile_facts *facts, cbx_err *err)
{
    const size_t n = a->shapes.count;
    cbx_array **in = cbx_arena_calloc(run->arena, n + 1, sizeof *in);
    profile_plugin p = { 0 };
    bool started = false;
    cbx_status st = in ? profile_plugin_load(a, &p, err) : cbx_fail(err, CBX_ENOMEM, "out of memory");

    for (size_t i = 0; i < n && !st; i++) {
        cbx_array_desc d;
        st = parse_shape(a->shapes.items[i], &d, err);
        if (!st) st = make_operand(run, &d, i, &in[i], err);
    }
    if (!st) {
        profile_plugin_start(&p);
        started = true;
        const cbx_fn f = { a->function, p.array_run, p.state, n, a->results, NULL };
        st = with_operands(run, a, &f, in, facts, err);
    }
    for (size_t i = 0; in && i < n; i++) cbx_array_free(in[i]);
    profile_plugin_close(&p, started);
    return st;
}
