/* Dispatch: the one door between array functions and the context's backend. */
#include <stddef.h>

#include "calibrax/array/fn_internal.h"
#include "calibrax/array/ops_internal.h"
#include "calibrax/array/primitive_rules.h"
#include "calibrax/array/trace/cost.h"
#include "calibrax/array/trace/trace.h"

/*
 * Operands on another device than the CPU, one of them at least: on one alone, and the backend
 * computes there.  Operands on the CPU go along.
 */
static cbx_status devices_check(const cbx_backend *b, const cbx_op *op, const cbx_array *const *in, cbx_err *err)
{
    const cbx_array *first = NULL;
    char here[32], there[32];

    for (size_t i = 0; i < op->nin; i++) {
        if (!(in[i]->flags & CBX__ELSEWHERE)) continue;
        if (!first) first = in[i];
        if (!cbx_device_id_equal(first->device, in[i]->device))
            return cbx_fail(err, CBX_EINVAL, "operands of '%s' are on %s and on %s: bring them to one with 'to_device'",
                            cbx_prim_name(op->prim), cbx_device_id_text(first->device, here, sizeof here),
                            cbx_device_id_text(in[i]->device, there, sizeof there));
    }
    if (b->flags & CBX_BACKEND_GPU) return CBX_OK;
    return cbx_fail(err, CBX_EUNSUPPORTED,
                    "operands of '%s' are on %s, where the backend '%s' does not compute: bring them to the CPU with "
                    "'to_device'",
                    cbx_prim_name(op->prim), cbx_device_id_text(first->device, here, sizeof here), b->name);
}

/* Infers, and carries out, records or describes; d and results have space for the operation. */
static cbx_status carry_out(cbx_ctx *ctx, cbx__state *s, cbx_op *op, const cbx_array *const *in, unsigned flags,
                            cbx_array_desc *results, cbx_array **out, cbx_err *err)
{
    static const cbx_attrs none = { 0 };
    cbx__trace *trace = NULL, *open = s->trace;
    cbx_status st;

    if (!op->attrs) op->attrs = &none;
    op->results = results;
    st = cbx_prim_infer(op->prim, op->nin, op->in, op->attrs, results, err);
    if (!st && flags & CBX__ELSEWHERE) st = devices_check(s->backend, op, in, err);
    if (!st && (open || flags & CBX__ABSTRACT)) st = cbx__trace_find(s, op->nin, in, op->prim, &trace, err);
    if (st) return st;
    const cbx_call call = { ctx, op->prim, op->nin, in, op->attrs, op->nout, results };
    if (trace) return cbx__trace_record(trace, &call, out, err);
    if (flags & CBX__ABSTRACT) {
        size_t made = 0;
        for (; !st && made < op->nout; made += !st)
            st = cbx_array_create_abstract(ctx, &results[made], &out[made], err);
        if (st) cbx__arrays_free(made, out);
        return st;
    }
    if (s->cost) cbx__cost_count(s->cost, op);
    s->trace = NULL; /* what control flow does with data is not recorded */
    st = s->backend->apply(s->backend, &call, out, err);
    s->trace = open;
    return st;
}

enum { FEW = 8 };

cbx_status cbx__apply_owned(cbx_ctx *ctx, cbx_prim prim, size_t nin, const cbx_array *const *in, const cbx_attrs *attrs,
                            size_t nout, cbx_array **out, cbx_err *err)
{
    const cbx_array_desc *small_in[FEW], **d = small_in;
    cbx_array_desc small_out[FEW], *results = small_out;
    cbx__state *s = cbx__state_get(ctx);
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    unsigned flags = 0;
    cbx_status st = CBX_OK;

    if (!s) return cbx_fail(err, CBX_ENOMEM, "no memory for the array state of a context");
    if (nin > FEW) d = cbx_mem_calloc(al, nin, sizeof *d);
    if (nout > FEW) results = cbx_mem_calloc(al, nout, sizeof *results);
    if (!d || !results) st = cbx_fail(err, CBX_ENOMEM, "no memory for the operands of '%s'", cbx_prim_name(prim));
    for (size_t i = 0; !st && i < nin; i++) {
        flags |= in[i]->flags;
        d[i] = &in[i]->desc;
    }
    if (!st) st = carry_out(ctx, s, &(cbx_op){ prim, nin, d, attrs, nout, NULL }, in, flags, results, out, err);
    if (d != small_in) cbx_mem_free(al, d, nin * sizeof *d);
    if (results != small_out) cbx_mem_free(al, results, nout * sizeof *results);
    return st;
}

void cbx_apply_all(cbx_ctx *ctx, cbx_prim prim, size_t nin, const cbx_array *const *in, const cbx_attrs *attrs,
                   cbx_array **out)
{
    const size_t nout = cbx_prim_results(prim, attrs);
    cbx_err *err = cbx__sticky(ctx); /* NULL: an earlier failure is pending */
    bool done = !cbx__unusable(ctx, cbx_prim_name(prim), nin, in);

    if (done && cbx__apply_owned(ctx, prim, nin, in, attrs, nout, out, err)) {
        if (err) cbx__name_operands(ctx, nin, in);
        done = false;
    }
    for (size_t i = 0; i < nout; i++) out[i] = done ? cbx_scope_hold(ctx, out[i]) : cbx__array_failed();
}

/* As cbx_apply_all; without its steps for few operands, which are most calls. */
cbx_array *cbx_apply(cbx_ctx *ctx, cbx_prim prim, size_t nin, const cbx_array *const *in, const cbx_attrs *attrs)
{
    cbx__state *s = cbx__state_peek(ctx);
    const cbx_array_desc *d[FEW];
    cbx_array_desc result;
    unsigned flags = 0;
    cbx_array *out = NULL;
    cbx_err *err; /* NULL: an earlier failure is pending */
    cbx_status st;

    if (cbx__unusable(ctx, cbx_prim_name(prim), nin, in)) return cbx__array_failed();
    if (cbx__has_several_results(prim))
        return cbx__refuse(ctx, CBX_EINVAL, "'%s' has several results: cbx_apply_all returns them",
                           cbx_prim_name(prim));
    err = cbx__sticky(ctx);
    if (!s || nin > FEW) {
        st = cbx__apply_owned(ctx, prim, nin, in, attrs, 1, &out, err);
    } else {
        for (size_t i = 0; i < nin; i++) {
            flags |= in[i]->flags;
            d[i] = &in[i]->desc;
        }
        st = carry_out(ctx, s, &(cbx_op){ prim, nin, d, attrs, 1, NULL }, in, flags, &result, &out, err);
    }
    if (!st) return cbx_scope_hold(ctx, out);
    if (err) cbx__name_operands(ctx, nin, in);
    return cbx__array_failed();
}
