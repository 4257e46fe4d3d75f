/*
 * Work of functions: of the graph of a traced one, or every operation counted while it runs with
 * data.
 *
 * A loop counts its body as often as it runs, a branch that only data choose counts the dearest.
 */
#include <math.h>

#include "calibrax/array/trace/cost.h"
#include "calibrax/array/trace/regions.h"
#include "calibrax/array/trace/trace.h"
#include "calibrax/base/clock.h"

static cbx_cost total_of(const cbx_cost *by_prim)
{
    cbx_cost sum = { 0 };
    for (size_t p = 0; p < CBX_PRIM_LIMIT; p++) cbx_cost_add(&sum, &by_prim[p], by_prim[p].calls > 0);
    return sum;
}

void cbx__cost_count(cbx_cost *by_prim, const cbx_op *op)
{
    cbx_cost cost;

    if (cbx_prim_get_info(op->prim)->kind == CBX_CLASS_CONTROL) return; /* its functions are counted */
    cost = cbx_cost_of_op(op);
    cbx_cost_add(&by_prim[op->prim], &cost, 1);
}

static bool count_graph(const cbx_allocator *al, const cbx__graph *g, cbx_cost *by_prim);

/* A graph counted aside, then taken so many times with a flag. */
static bool count_times(const cbx_allocator *al, const cbx__graph *g, uint64_t times, unsigned flag, cbx_cost *by_prim)
{
    cbx_cost *own = cbx_mem_calloc(al, CBX_PRIM_LIMIT, sizeof *own);
    const bool done = own && count_graph(al, g, own);

    for (size_t p = 0; done && p < CBX_PRIM_LIMIT; p++) {
        if (own[p].calls) own[p].flags |= flag;
        if (own[p].calls) cbx_cost_add(&by_prim[p], &own[p], times);
    }
    cbx_mem_free(al, own, CBX_PRIM_LIMIT * sizeof *own);
    return done;
}

static bool is_dearer(const cbx_cost *a, const cbx_cost *b)
{
    const uint64_t wa = a->flop + a->int_op + a->transcendental, wb = b->flop + b->int_op + b->transcendental;
    if (wa != wb) return wa > wb;
    return a->bytes_read + a->bytes_written > b->bytes_read + b->bytes_written;
}

static bool count_cond(const cbx_allocator *al, const cbx__graph *g, const cbx__node *node, cbx_cost *by_prim)
{
    const cbx__control *c = cbx__control_of(node->attrs);
    const cbx_array *index = g->values.items[node->in[0]].constant;
    cbx_cost dearest = { 0 };
    bool differ = false, done = true;
    size_t which = 0;

    if (index) {
        int64_t i = 0;
        if (cbx_array_read(index, &i, sizeof i, NULL)) return false;
        which = i < 0 ? 0 : (uint64_t)i >= c->n ? c->n - 1 : (size_t)i;
        return count_times(al, c->graph[which], 1, 0, by_prim);
    }
    for (size_t b = 0; done && b < c->n; b++) {
        cbx_cost *own = cbx_mem_calloc(al, CBX_PRIM_LIMIT, sizeof *own), cost = { 0 };
        done = own && count_graph(al, c->graph[b], own);
        if (done) cost = total_of(own);
        cbx_mem_free(al, own, CBX_PRIM_LIMIT * sizeof *own);
        differ |= b > 0 && (cost.flop != dearest.flop || cost.int_op != dearest.int_op ||
                            cost.transcendental != dearest.transcendental || cost.bytes_read != dearest.bytes_read ||
                            cost.bytes_written != dearest.bytes_written);
        if (b > 0 && !is_dearer(&cost, &dearest)) continue;
        dearest = cost;
        which = b;
    }
    return done && count_times(al, c->graph[which], 1, differ ? CBX_COST_DEAREST : 0, by_prim);
}

static bool count_node(const cbx_allocator *al, const cbx__graph *g, const cbx__node *node, cbx_cost *by_prim)
{
    enum { FEW = 16 };
    const cbx_array_desc *small[FEW], **in = node->nin > FEW ? cbx_mem_calloc(al, node->nin, sizeof *in) : small;
    cbx_array_desc few[FEW], *results = node->nout > FEW ? cbx_mem_calloc(al, node->nout, sizeof *results) : few;
    const bool done = in && results;

    for (uint32_t i = 0; done && i < node->nin; i++) in[i] = &g->values.items[node->in[i]].desc;
    for (uint32_t r = 0; done && r < node->nout; r++) results[r] = g->values.items[node->out + r].desc;
    if (done) cbx__cost_count(by_prim, &(cbx_op){ node->prim, node->nin, in, node->attrs, node->nout, results });
    if (in != small) cbx_mem_free(al, in, node->nin * sizeof *in);
    if (results != few) cbx_mem_free(al, results, node->nout * sizeof *results);
    return done;
}

static bool count_any(const cbx_allocator *al, const cbx__graph *g, const cbx__node *node, cbx_cost *by_prim)
{
    const cbx__control *c = cbx__control_of(node->attrs);

    switch (node->prim) {
    case CBX_PRIM_SCAN: return count_times(al, c->graph[CBX__SCAN_BODY], c->length, 0, by_prim);
    case CBX_PRIM_WHILE:
        return count_times(al, c->graph[CBX__WHILE_TEST], 1, CBX_COST_LOWER_BOUND, by_prim) &&
               count_times(al, c->graph[CBX__WHILE_BODY], 1, CBX_COST_LOWER_BOUND, by_prim);
    case CBX_PRIM_CUSTOM_JVP:
    case CBX_PRIM_CUSTOM_VJP:
    case CBX_PRIM_CHECKPOINT: return count_times(al, c->graph[0], 1, 0, by_prim);
    case CBX_PRIM_CHECKPOINT_MAP: /* values and tangents: no less than the values */
        return count_times(al, c->graph[0], 1, CBX_COST_LOWER_BOUND, by_prim);
    case CBX_PRIM_CUSTOM_VJP_MAP: return true; /* never carried out */
    case CBX_PRIM_HOST_CALL:                   /* its work depends on values */
        cbx_cost_add(&by_prim[node->prim], &(cbx_cost){ .calls = 1, .flags = CBX_COST_LOWER_BOUND }, 1);
        return true;
    case CBX_PRIM_COND: return count_cond(al, g, node, by_prim);
    default: return count_node(al, g, node, by_prim);
    }
}

/* False: out of memory. */
static bool count_graph(const cbx_allocator *al, const cbx__graph *g, cbx_cost *by_prim)
{
    bool done = true;
    for (size_t k = 0; done && k < g->nodes.n; k++) done = count_any(al, g, &g->nodes.items[k], by_prim);
    return done;
}

bool cbx__cost_of_node(const cbx_allocator *al, const cbx__graph *g, const cbx__node *node, cbx_cost *out)
{
    cbx_cost *by_prim = cbx_mem_calloc(al, CBX_PRIM_LIMIT, sizeof *by_prim);
    const bool done = by_prim && count_any(al, g, node, by_prim);

    if (done) *out = total_of(by_prim);
    cbx_mem_free(al, by_prim, CBX_PRIM_LIMIT * sizeof *by_prim);
    return done;
}

static void report(const cbx_cost *by_prim, cbx_cost_report *out)
{
    out->total = total_of(by_prim);
    for (size_t p = 0; p < CBX_PRIM_LIMIT; p++) out->by_prim[p] = by_prim[p];
}

/*
 * Traces and counts; what a function computes of arrays with data while it is traced counts, too.
 */
static cbx_status count_traced(cbx_ctx *ctx, const cbx_fn *f, size_t nin, const cbx_array_desc *in, cbx__traced *t,
                               cbx_cost_report *out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx__state *s = cbx__state_get(ctx);
    cbx_cost *by_prim = NULL, *before;
    cbx_status st = cbx__fn_check("cost_count", f, err);

    if (!st && nin != f->nin) st = cbx_fail(err, CBX_EINVAL, "'%s' takes %zu operands, not %zu", f->name, f->nin, nin);
    if (!st) by_prim = cbx_mem_calloc(al, CBX_PRIM_LIMIT, sizeof *by_prim);
    if (!st && (!s || !by_prim)) st = cbx_fail(err, CBX_ENOMEM, "no memory to count a function");
    if (!st) {
        before = s->cost;
        s->cost = by_prim;
        st = cbx__trace_fn(ctx, f, in, t, err);
        s->cost = before;
    }
    if (!st && out && !count_graph(al, t->graph, by_prim))
        st = cbx_fail(err, CBX_ENOMEM, "no memory to count '%s'", f->name);
    if (!st && out) {
        report(by_prim, out);
        out->in_bytes = out->out_bytes = 0;
        for (size_t i = 0; i < nin; i++) out->in_bytes += cbx__desc_bytes(&in[i]);
        for (size_t i = 0; i < t->graph->out.n; i++) out->out_bytes += cbx__desc_bytes(cbx__graph_out(t->graph, i));
    }
    cbx_mem_free(al, by_prim, CBX_PRIM_LIMIT * sizeof *by_prim);
    return st;
}

cbx_status cbx_cost_count(cbx_ctx *ctx, const cbx_fn *f, size_t nin, const cbx_array_desc *in, cbx_cost_report *out,
                          cbx_err *err)
{
    CBX_CLEARED(cbx__traced) t = { 0 };
    return count_traced(ctx, f, nin, in, &t, out, err);
}

cbx_status cbx_cost_compile(cbx_ctx *ctx, const cbx_fn *f, size_t nin, const cbx_array_desc *in, cbx_cost_report *work,
                            cbx_cost_program *out, cbx_err *err)
{
    const uint64_t start = cbx_clock_ns();
    CBX_CLEARED(cbx__traced) t = { 0 };
    cbx_status st = count_traced(ctx, f, nin, in, &t, work, err);
    const double trace_s = 1e-9 * (double)(cbx_clock_ns() - start);

    if (!st) st = cbx__graph_cost(ctx, t.graph, out, err);
    if (!st) out->times.trace_s = trace_s;
    return st;
}

void cbx_cost_program_clear(cbx_cost_program *p)
{
    if (!p || !p->steps) return;
    cbx_mem_free(&p->al, p->steps, (p->nsteps + 1) * sizeof *p->steps);
    *p = (cbx_cost_program){ 0 };
}

cbx_status cbx_cost_count_run(cbx_ctx *ctx, const cbx_fn *f, size_t nin, cbx_array *const *in, size_t nout,
                              cbx_array **results, cbx_cost_report *out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx__state *s = cbx__state_get(ctx);
    cbx_cost *by_prim = cbx_mem_calloc(al, CBX_PRIM_LIMIT, sizeof *by_prim), *before;
    cbx_array **list = cbx_mem_calloc(al, nout + 1, sizeof(cbx_array *));
    cbx_status st = CBX_OK;

    if (!s || !by_prim || !list) st = cbx_fail(err, CBX_ENOMEM, "no memory to count a function");
    if (!st) {
        before = s->cost;
        s->cost = by_prim;
        st = cbx_fn_run(ctx, f, nin, in, nout, list, err);
        s->cost = before;
    }
    if (!st) {
        report(by_prim, out);
        out->in_bytes = out->out_bytes = 0;
        for (size_t i = 0; i < nin; i++) out->in_bytes += cbx_array_bytes(in[i]);
        for (size_t i = 0; i < nout; i++) out->out_bytes += cbx_array_bytes(list[i]);
        for (size_t i = 0; results && i < nout; i++) results[i] = cbx_array_ref(list[i]);
    }
    if (list) cbx__arrays_free(nout, list);
    cbx_mem_free(al, list, (nout + 1) * sizeof(cbx_array *));
    cbx_mem_free(al, by_prim, CBX_PRIM_LIMIT * sizeof *by_prim);
    return st;
}
