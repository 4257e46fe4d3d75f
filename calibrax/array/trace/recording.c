/*
 * Functions recorded step by step: a trace that the caller opens and closes, and the function that
 * repeats what was recorded.
 */
#include "calibrax/array/trace/trace.h"
#include "calibrax/array/transform.h"

#include <stdio.h>
#include <string.h>

struct cbx_recording {
    cbx__trace trace;
    cbx_allocator al;
};

/* The user of a recorded function. */
typedef struct recorded {
    cbx_allocator al;
    cbx__traced traced;
} recorded;

static cbx_status call_recorded(cbx_ctx *ctx, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out,
                                void *user)
{
    const recorded *r = user;
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_array **made = cbx_mem_calloc(al, nout + 1, sizeof(cbx_array *));
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = made ? CBX_OK
                         : cbx_fail(&err, CBX_ENOMEM, "no memory for the results of '%s'", r->traced.graph->name);
    char is[160], must[160];

    for (size_t i = 0; !st && i < nin; i++) {
        const cbx_array_desc *d = cbx__graph_in(r->traced.graph, i);
        if (cbx_array_desc_equal(&in[i]->desc, d)) continue;
        st = cbx_fail(&err, in[i]->desc.dtype == d->dtype ? CBX_ESHAPE : CBX_EDTYPE,
                      "operand %zu of '%s' is %s, it was recorded for %s", i, r->traced.graph->name,
                      cbx_array_desc_text(&in[i]->desc, is, sizeof is), cbx_array_desc_text(d, must, sizeof must));
    }
    if (!st) st = cbx__traced_eval(ctx, &r->traced, nin, in, made, &err);
    for (size_t i = 0; !st && i < nout; i++) out[i] = cbx_scope_hold(ctx, made[i]);
    if (st) cbx__refuse(ctx, st, "%s", err.message);
    cbx_mem_free(al, made, (nout + 1) * sizeof(cbx_array *));
    return CBX_OK;
}

static void recorded_free(void *user)
{
    recorded *r = user;
    cbx_allocator al = r->al;

    cbx__arrays_free(r->traced.ncaptured, r->traced.captured);
    cbx_mem_free(&al, r->traced.captured, (r->traced.ncaptured + 1) * sizeof *r->traced.captured);
    cbx__graph_unref(r->traced.graph);
    cbx_mem_free(&al, r, sizeof *r);
}

cbx_status cbx_recording_open(cbx_ctx *ctx, const char *name, size_t nin, const cbx_array_desc *in,
                              cbx_array **operands, cbx_recording **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_recording *r;
    cbx_status st = cbx__begin(ctx, err);

    if (st) return st;
    r = cbx_mem_zalloc(al, sizeof *r);
    if (!r) return cbx_fail(err, CBX_ENOMEM, "no memory to record '%s'", name);
    r->al = *al;
    st = cbx__trace_begin(ctx, name, true, &r->trace, err);
    if (st) {
        cbx_mem_free(al, r, sizeof *r);
        return st;
    }
    for (size_t i = 0; i < nin; i++) operands[i] = NULL;
    for (size_t i = 0; !st && i < nin; i++) st = cbx__trace_input(&r->trace, &in[i], &operands[i], err);
    if (!st) {
        *out = r;
        return CBX_OK;
    }
    cbx__arrays_free(nin, operands);
    cbx_recording_abandon(r);
    return st;
}

void cbx_recording_abandon(cbx_recording *r)
{
    cbx_allocator al;
    cbx__traced none = { 0 };

    if (!r) return;
    al = r->al;
    cbx__trace_end(&r->trace, CBX_EINTERRUPTED, 0, NULL, &none, NULL);
    cbx_mem_free(&al, r, sizeof *r);
}

cbx_status cbx_recording_close(cbx_recording *r, size_t nout, cbx_array *const *out, cbx_fn **fn, size_t *ncaptured,
                               cbx_err *err)
{
    cbx_ctx *ctx = r->trace.ctx;
    const size_t nin = r->trace.graph->in.n;
    cbx_allocator al = r->al;
    recorded *made = cbx_mem_zalloc(&al, sizeof *made);
    cbx_status st = cbx_ctx_pending(ctx, err); /* the reason for a failed result */

    if (!st) st = cbx__operands_check(r->trace.graph->name, nout, out, err);
    if (!st && !made) st = cbx_fail(err, CBX_ENOMEM, "no memory for the function '%s'", r->trace.graph->name);
    if (made) made->al = al;
    st = cbx__trace_end(&r->trace, st, nout, out, made ? &made->traced : NULL, err);
    cbx_mem_free(&al, r, sizeof *r);
    if (st) {
        cbx_mem_free(&al, made, sizeof *made);
        return st;
    }
    *ncaptured = made->traced.ncaptured;
    st = cbx_fn_create(ctx, &(const cbx_fn){ made->traced.graph->name, call_recorded, made, nin, nout, NULL },
                       recorded_free, fn, err);
    if (st) recorded_free(made);
    return st;
}
