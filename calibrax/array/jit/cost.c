/*
 * What programs do, counted: each kernel by its instructions and its streams, each other step as
 * the operation that it is, and the memory that the plan reserves.
 */
#include <stdio.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/folds.h"
#include "calibrax/array/jit/program.h"
#include "calibrax/array/kernels/threads.h"
#include "calibrax/base/idioms.h"

/* ---- kernels ---- */

static void add_operation(cbx_cost *c, cbx_dtype t, uint64_t n)
{
    *(cbx_dtype_kind(t) >= CBX_KIND_FLOAT ? &c->flop : &c->int_op) += n;
}

/* Of one element. */
static cbx_cost cost_of_instructions(const cbx__kernel *k)
{
    cbx_cost c = { 0 };

    for (size_t i = 0; i < k->instr.n; i++) {
        const cbx__kinstr *x = &k->instr.items[i];
        switch ((cbx__kop)x->op) {
        case CBX__K_CONST:
        case CBX__K_LOAD:
        case CBX__K_CARRY:
        case CBX__K_CAST:
        case CBX__K_BITS: break;
        case CBX__K_SQRT:
        case CBX__K_MATH: c.transcendental++; break;
        case CBX__K_FMA: c.flop += 2; break;
        case CBX__K_EQ:
        case CBX__K_NE:
        case CBX__K_LT:
        case CBX__K_LE:
        case CBX__K_GT:
        case CBX__K_GE: add_operation(&c, (cbx_dtype)k->instr.items[x->a].dtype, 1); break;
        default: add_operation(&c, (cbx_dtype)x->dtype, 1);
        }
    }
    return c;
}

/* Elements of a stream or result, each once: dimensions along which it does not move give no more;
 * kept: those that are not folded. */
static uint64_t elements_at(const cbx__nest *n, const cbx__site *at, bool kept)
{
    uint64_t count = 1;
    for (int i = 0; i < n->ndim; i++)
        if (n->shape[i] == 0 || (at->strides[i] && !(kept && n->gone >> i & 1))) count *= n->shape[i];
    return count;
}

static void add_function(cbx_cost_step *out, cbx_prim prim, uint64_t n)
{
    size_t i = 0;

    while (i < out->nfunctions && out->functions[i].prim != prim) i++;
    if (i == CBX_COST_FUNCTIONS) i--;
    if (i == out->nfunctions) out->functions[out->nfunctions++] = (cbx_cost_function){ prim, 0 };
    out->functions[i].n += n;
}

/* Instructions one after the other from a carry to its next value, the longest way; divisions and
 * roots count 5, functions as their formulas are long. */
static uint64_t chain_of(const cbx__nest *n)
{
    enum { SLOW = 5, FUNCTION = 25 };
    const cbx__kernel *k = &n->kernel;
    uint32_t *length = cbx_mem_calloc(&k->al, k->instr.n + 1, sizeof *length), longest = 0;

    for (size_t i = 0; length && i < k->instr.n; i++) {
        const cbx__kinstr *x = &k->instr.items[i];
        uint32_t before = 0;
        for (int o = 0; o < cbx__kernel_operands(x); o++)
            before = length[x->in[o]] > before ? length[x->in[o]] : before;
        if (x->op == CBX__K_CARRY)
            length[i] = 1;
        else if (before > 0)
            length[i] = before + (x->op == CBX__K_MATH                          ? FUNCTION
                                  : x->op == CBX__K_DIV || x->op == CBX__K_SQRT ? SLOW
                                                                                : 1);
    }
    for (size_t c = 0; length && c < k->carries.n; c++)
        if (length[k->carries.items[c].next] > longest) longest = length[k->carries.items[c].next];
    cbx_mem_free(&k->al, length, (k->instr.n + 1) * sizeof *length);
    return longest > 1 ? (longest - 1) * n->shape[0] : 0;
}

static void count_nest(const cbx__nest *n, cbx_cost_step *out)
{
    const uint64_t results = cbx__nest_points(n, false), elements = results * cbx__nest_points(n, true);
    const cbx_cost one = cost_of_instructions(&n->kernel);

    cbx_cost_add(&out->work, &one, elements);
    for (size_t i = 0; i < n->kernel.instr.n; i++) {
        const cbx__kinstr *x = &n->kernel.instr.items[i];
        if (x->op == CBX__K_MATH || x->op == CBX__K_SQRT || x->op == CBX__K_DIV)
            add_function(out,
                         x->op == CBX__K_MATH   ? (cbx_prim)x->prim
                         : x->op == CBX__K_SQRT ? CBX_PRIM_SQRT
                                                : CBX_PRIM_DIV,
                         elements);
    }
    for (size_t s = 0; s < n->kernel.streams.n; s++) {
        const size_t size = cbx_dtype_size((cbx_dtype)n->kernel.streams.items[s].dtype);
        uint64_t *bytes = s < n->kernel.nout ? &out->work.bytes_written : &out->work.bytes_read;
        out->is_f64 |= size >= 8;
        out->is_streamed |= n->kernel.streams.items[s].nontemporal;
        if (n->sites[s].base != CBX__NO_VALUE) *bytes += size * elements_at(n, &n->sites[s], false);
    }
    for (size_t f = 0; f < n->nfolds; f++) {
        const cbx__nest_fold *fold = &n->folds[f];
        out->work.bytes_written += cbx_dtype_size(fold->to) * elements_at(n, &fold->result, true);
        if (elements > results) add_operation(&out->work, fold->wide, elements - results);
        if (elements > results && cbx__in_tree(fold) && n->gone >> (n->ndim - 1) & 1) out->sums += elements - results;
    }
    out->scratch_bytes = cbx__nest_scratch(n, cbx__omp_threads());
    out->threads = (unsigned)cbx__nest_threads(n, cbx__omp_threads());
    out->chain = n->kernel.carries.n ? chain_of(n) : 0;
    out->is_kernel = true;
}

static void list_sites(const cbx__nest *n, bool stores, cbx_text *t)
{
    const char *word = stores ? "stores" : "loads";

    for (size_t s = stores ? 0 : n->kernel.nout; s < (stores ? n->kernel.nout : n->kernel.streams.n); s++) {
        if (n->sites[s].base == CBX__NO_VALUE) continue;
        cbx_text_printf(t, "%s%s %%%u", word[0] ? "; " : ",", word, n->sites[s].base);
        word = "";
    }
}

static void describe_nest(const cbx__nest *n, cbx_text *t)
{
    cbx__nest_name(n, t);
    list_sites(n, false, t);
    list_sites(n, true, t);
    for (size_t f = 0; f < n->nfolds; f++)
        cbx_text_printf(t, "; %s to %%%u", cbx_prim_name(n->folds[f].prim), n->folds[f].result.base);
}

/* ---- operations ---- */

static bool count_node(const cbx__program *p, const cbx__node *node, cbx_cost_step *out)
{
    const cbx__value *values = p->graph->values.items;

    for (uint32_t i = 0; i < node->nin; i++) out->is_f64 |= cbx_dtype_size(values[node->in[i]].desc.dtype) >= 8;
    for (uint32_t r = 0; r < node->nout; r++) out->is_f64 |= cbx_dtype_size(values[node->out + r].desc.dtype) >= 8;
    out->threads = 1;
    return cbx__cost_of_node(&p->al, p->graph, node, &out->work);
}

/* ---- memory ---- */

typedef struct memory {
    const cbx__program *p;
    cbx__vid *owner; /* the value whose memory it is */
    uint32_t *users; /* values that lie in the memory of an owner and are still there */
    uint64_t live, peak;
} memory;

static void add_value(memory *m, cbx__vid v, cbx__vid owner)
{
    m->owner[v] = owner;
    if (m->users[owner]++ == 0) m->live += cbx__desc_bytes(&m->p->graph->values.items[owner].desc);
}

static void drop_value(memory *m, cbx__vid v)
{
    const cbx__vid owner = m->owner[v];
    if (--m->users[owner] == 0) m->live -= cbx__desc_bytes(&m->p->graph->values.items[owner].desc);
}

static void add_results(memory *m, const cbx__node *node)
{
    const bool is_view = cbx_prim_get_info(node->prim)->kind == CBX_CLASS_VIEW;
    for (uint32_t r = 0; r < node->nout; r++)
        add_value(m, node->out + r, is_view ? m->owner[node->in[0]] : node->out + r);
}

/* True if another value may take the memory of one: it is the program's, and nothing else
 * lies there. */
static bool takes_memory(const memory *m, cbx__vid v)
{
    return v != CBX__NO_VALUE && cbx__program_owns(m->p, v) && m->users[m->owner[v]] == 1;
}

/* Of a value that a nest makes: the array that is made for it, unless another value has made it. */
static void add_made(memory *m, cbx__vid v, cbx__vid over)
{
    const cbx__vid in = m->p->places[v].in;

    if (in == CBX__NO_VALUE || m->users[in]) return;
    add_value(m, in, in == v && takes_memory(m, over) ? m->owner[over] : in);
}

/* Of what is not on the stack. */
static uint64_t blocks(uint64_t bytes) { return bytes > CBX__SMALL_WORK ? bytes : 0; }

/* The caller holds inputs until the end, unless they are donated, and the program its constants. */
static void walk(memory *m)
{
    const cbx__graph *g = m->p->graph;

    for (size_t v = 0; v < g->values.n; v++)
        if (g->values.items[v].constant) add_value(m, (cbx__vid)v, (cbx__vid)v);
    for (size_t i = 0; i < g->in.n; i++) {
        add_value(m, g->in.items[i], g->in.items[i]);
        m->users[g->in.items[i]] += !g->values.items[g->in.items[i]].donated;
    }
    m->peak = m->live;
    for (uint32_t s = 0; s < m->p->nsteps; s++) {
        const cbx__step *step = &m->p->steps[s];
        if (s == m->p->work_first) m->live += blocks(m->p->work_bytes);
        if (step->node != CBX__NO_INDEX) add_results(m, &g->nodes.items[step->node]);
        for (size_t i = 0; step->node == CBX__NO_INDEX && i < step->nmade; i++)
            add_made(m, step->made[i], step->over[i]);
        if (m->live > m->peak) m->peak = m->live;
        for (size_t i = 0; i < step->ndone; i++)
            if (m->p->places[step->done[i]].in == step->done[i]) drop_value(m, step->done[i]);
        if (s == m->p->work_last && m->p->work_first != CBX__NO_INDEX) m->live -= blocks(m->p->work_bytes);
    }
}

static bool count_memory(const cbx__program *p, cbx_cost_program *out)
{
    const size_t n = p->graph->values.n + 1;
    memory m = { .p = p };

    m.owner = cbx_mem_calloc(&p->al, n, sizeof *m.owner);
    m.users = cbx_mem_calloc(&p->al, n, sizeof *m.users);
    if (m.owner && m.users) walk(&m);
    const bool done = m.owner && m.users;
    cbx_mem_free(&p->al, m.owner, n * sizeof *m.owner);
    cbx_mem_free(&p->al, m.users, n * sizeof *m.users);
    out->peak_bytes = m.peak + blocks(cbx__program_bytes(p, cbx__omp_threads()));
    return done;
}

/* ---- all ---- */

static cbx_status count_step(const cbx__program *p, const cbx__step *step, cbx_cost_step *out, cbx_err *err)
{
    const cbx__node *node = step->node == CBX__NO_INDEX ? NULL : &p->graph->nodes.items[step->node];
    cbx_status st = CBX_OK;

    CBX_SCOPED(cbx_text, text, &p->al);
    if (node) {
        if (!count_node(p, node, out)) st = cbx_fail_nomem(err, "the cost of a compiled function");
        cbx__node_name(node, &text);
    } else {
        count_nest(&p->nests[step->nest], out);
        describe_nest(&p->nests[step->nest], &text);
    }
    out->work.calls = 1;
    if (!st) st = cbx_text_check(&text, err);
    if (!st) snprintf(out->text, sizeof out->text, "%s", cbx_text_str(&text));
    return st;
}

cbx_status cbx__program_cost(cbx_ctx *ctx, const cbx__program *p, cbx_cost_program *out, cbx_err *err)
{
    cbx_cost_program c = { .nsteps = p->nsteps, .nkernels = p->nnests, .al = *cbx_ctx_allocator(ctx) };
    cbx_status st = CBX_OK;

    c.times = (cbx_compile_times){ .plan_s = p->plan_s,
                                   .kernels_s = p->kernels_s,
                                   .code_s = p->code_s,
                                   .is_cached = p->code && p->code->from_cache,
                                   .code_bytes = p->code ? p->code->bytes : 0,
                                   .emitter = p->emitter };
    c.steps = cbx_mem_calloc(&c.al, c.nsteps + 1, sizeof *c.steps);
    if (!c.steps) return cbx_fail_nomem(err, "the cost of a compiled function");
    for (size_t s = 0; !st && s < c.nsteps; s++) {
        st = count_step(p, &p->steps[s], &c.steps[s], err);
        if (!st) cbx_cost_add(&c.total, &c.steps[s].work, 1);
    }
    if (!st && !count_memory(p, &c)) st = cbx_fail_nomem(err, "the cost of a compiled function");
    return CBX_FINISH(st, *out = c, cbx_cost_program_clear(&c));
}
