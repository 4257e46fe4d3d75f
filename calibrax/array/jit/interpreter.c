/*
 * The emitter that makes no code: kernels are carried out in blocks of elements, an instruction
 * after the other, each by the loop that the reference backend has for it.  So it defines what a
 * kernel means, and it is what is left without LLVM.
 *
 * Values of a block lie in slots of a workspace on the stack, which values take in turn.  What is
 * loaded is read where it lies, so outputs, which may take the place of inputs, are written at the
 * end of a block.
 */
#include "calibrax/array/jit/emitter.h"

#include <string.h>

#include "calibrax/array/kernels/loops.h"
#include "calibrax/array/reference/reference.h"
#include "calibrax/base/arena.h"

#define WORK_BYTES ((size_t)64 << 10)
#define SLOT_BYTES ((size_t)8) /* of an element */
#define BLOCK      ((size_t)256)

typedef enum place_kind { IN_SLOT, IN_STREAM, IN_CONSTANT } place_kind;

typedef struct place {
    uint8_t kind; /* place_kind */
    uint8_t size; /* bytes of an element */
    uint32_t number;
} place;

typedef struct step {
    cbx__loop loop; /* NULL: numbers of an INDEX stream, which is in[0] */
    size_t nin;
    place out, in[3];
} step;

typedef struct program {
    size_t nsteps, nout;
    size_t block; /* elements */
    step *steps;
    cbx__kstream *streams;
    uint64_t *constants;
    size_t nfirst, nrow; /* with carries: steps before the first row, then those of a row, then those behind the last */
} program;

typedef struct code {
    cbx__code shown;
    cbx_arena arena; /* of all */
} code;

/* ---- running ---- */

/* A block: elements i and on of row j. */
typedef struct block {
    const program *g;
    char *const *p;
    const int64_t *outer, *inner;
    int64_t j, i;
    char *work;
} block;

static char *address(const block *b, place at, ptrdiff_t *stride)
{
    const uint32_t s = at.number;

    if (at.kind == IN_CONSTANT) {
        *stride = 0;
        return (char *)&b->g->constants[s];
    }
    *stride = at.size;
    if (at.kind == IN_SLOT) return b->work + s * b->g->block * SLOT_BYTES;
    if (b->g->streams[s].kind == CBX__STREAM_SCALAR) *stride = 0;
    if (b->g->streams[s].kind == CBX__STREAM_STRIDED) *stride = (ptrdiff_t)b->inner[s];
    return b->p[s] + b->j * b->outer[s] + b->i * *stride;
}

static void count_up(const block *b, size_t n, const step *x)
{
    const uint32_t s = x->in[0].number;
    const uint64_t by = (uint64_t)b->inner[s];
    ptrdiff_t stride;
    int64_t *to = (int64_t *)address(b, x->out, &stride);
    uint64_t v = (uint64_t)(uintptr_t)b->p[s] + (uint64_t)b->j * (uint64_t)b->outer[s] + (uint64_t)b->i * by;

    for (size_t e = 0; e < n; e++, v += by) to[e] = (int64_t)v;
}

static void run_steps(const block *b, size_t count, const step *from, const step *end)
{
    for (const step *x = from; x < end; x++) {
        char *at[4];
        ptrdiff_t stride[4];
        if (!x->loop) {
            count_up(b, count, x);
            continue;
        }
        at[0] = address(b, x->out, &stride[0]);
        for (size_t o = 0; o < x->nin; o++) at[o + 1] = address(b, x->in[o], &stride[o + 1]);
        x->loop(count, at, stride);
    }
}

/* Blocks of columns, in each all rows in order. */
static void run_carries(const void *self, int64_t m, int64_t n, char *const *p, const int64_t *outer,
                        const int64_t *inner)
{
    const program *g = self;
    const step *row = g->steps + g->nfirst, *last = row + g->nrow;
    _Alignas(64) char work[WORK_BYTES];
    block b = { g, p, outer, inner, 0, 0, work };

    for (b.i = 0; b.i < n && m > 0; b.i += (int64_t)g->block) {
        const size_t left = (size_t)(n - b.i), count = left < g->block ? left : g->block;
        b.j = 0;
        run_steps(&b, count, g->steps, row);
        for (; b.j < m; b.j++) run_steps(&b, count, row, last);
        b.j = 0;
        run_steps(&b, count, last, g->steps + g->nsteps);
    }
}

static void run(const void *self, int64_t m, int64_t n, char *const *p, const int64_t *outer, const int64_t *inner)
{
    const program *g = self;
    _Alignas(64) char work[WORK_BYTES];
    block b = { g, p, outer, inner, 0, 0, work };

    for (b.j = 0; b.j < m; b.j++) {
        for (b.i = 0; b.i < n; b.i += (int64_t)g->block) {
            const size_t left = (size_t)(n - b.i), count = left < g->block ? left : g->block;
            run_steps(&b, count, g->steps, g->steps + g->nsteps);
        }
    }
}

/* ---- compiling ---- */

/* A kernel on its way to a program. */
typedef struct plan {
    const cbx__kernel *k;
    program *g;
    place *at;      /* of each value */
    cbx__kid *last; /* the last that reads the slot of a value; of BITS: of its operand */
    cbx__kid *root; /* of BITS: whose bits they are; else the value itself */
    place *next;    /* where the next ones wait */
    place *carry;   /* slots of carries, which keep them from row to row */
    uint32_t *free; /* slots */
    uint32_t nfree, nslots;
    uint32_t nconstants;
} plan;

static place take_slot(plan *c, cbx_dtype t)
{
    return (place){ IN_SLOT, (uint8_t)cbx__dtype_size(t), c->nfree ? c->free[--c->nfree] : c->nslots++ };
}

static void find_last_readers(plan *c)
{
    const cbx__kernel *k = c->k;

    for (cbx__kid i = 0; i < k->instr.n; i++) {
        const cbx__kinstr *x = &k->instr.items[i];
        const int n = cbx__kernel_operands(x);
        c->root[i] = x->op == CBX__K_BITS ? c->root[x->a] : i;
        c->last[i] = i;
        for (int o = 0; o < n; o++) c->last[c->root[x->in[o]]] = i;
    }
    for (size_t s = 0; s < k->nout; s++) c->last[c->root[k->streams.items[s].value]] = CBX__NO_KID;
    for (size_t i = 0; i < k->carries.n; i++) c->last[c->root[k->carries.items[i].next]] = CBX__NO_KID;
}

static cbx__loop loop_of(const plan *c, const cbx__kinstr *x)
{
    const cbx__loops *loops = cbx__loops_get();
    const cbx__kinstr *v = c->k->instr.items;
    const int n = cbx__kernel_operands(x);
    const cbx_prim p = x->op == CBX__K_MATH ? (cbx_prim)x->prim : (cbx_prim)cbx__kop_prim[x->op];

    if (x->op == CBX__K_CAST) return loops->cast((cbx_dtype)v[x->a].dtype, (cbx_dtype)x->dtype);
    if (n == 1) return loops->unary(p, (cbx_dtype)v[x->a].dtype);
    return loops->binary(p, (cbx_dtype)v[x->b].dtype);
}

/* Where value i lies, and the step that makes it, if one does. */
static cbx_status add_value(plan *c, cbx__kid i, cbx_err *err)
{
    const cbx__kinstr *x = &c->k->instr.items[i];
    const cbx_dtype t = (cbx_dtype)x->dtype;
    const place here = { IN_STREAM, (uint8_t)cbx__dtype_size(t), x->a };
    step *s = &c->g->steps[c->g->nsteps];

    switch (x->op) {
    case CBX__K_BITS: c->at[i] = c->at[x->a]; return CBX_OK;
    case CBX__K_CARRY:
        c->at[i] = c->carry[x->a];
        c->last[i] = CBX__NO_KID; /* its slot is taken for good */
        return CBX_OK;
    case CBX__K_CONST:
        c->g->constants[c->nconstants] = x->bits;
        c->at[i] = (place){ IN_CONSTANT, here.size, c->nconstants++ };
        return CBX_OK;
    case CBX__K_LOAD:
        c->at[i] = here;
        if (c->g->streams[x->a].kind != CBX__STREAM_INDEX) return CBX_OK;
        s->in[0] = here;
        break;
    default:
        s->loop = loop_of(c, x);
        s->nin = (size_t)cbx__kernel_operands(x);
        for (size_t o = 0; o < s->nin; o++) s->in[o] = c->at[x->in[o]];
        if (!s->loop)
            return cbx_fail(err, CBX_EINVAL, "'%s' of %s has no loop, so no kernel may hold it", cbx__kernel_word(x),
                            cbx_dtype_name(t));
    }
    s->out = c->at[i] = take_slot(c, t);
    c->g->nsteps++;
    return CBX_OK;
}

/* Slots whose last reader was value i, which may be its own. */
static void give_slots(plan *c, cbx__kid i)
{
    const cbx__kinstr *x = &c->k->instr.items[i];
    const int n = cbx__kernel_operands(x);

    for (int o = 0; o <= n; o++) {
        const cbx__kid r = c->root[o < n ? x->in[o] : i];
        if (c->last[r] != i || c->at[r].kind != IN_SLOT) continue;
        c->free[c->nfree++] = c->at[r].number;
        c->last[r] = CBX__NO_KID;
    }
}

/* What comes before the first row: the carries' slots, and their elements in the inputs. */
static void add_carries(plan *c)
{
    const cbx__kernel *k = c->k;

    for (size_t i = 0; i < k->carries.n; i++) {
        const uint32_t s = k->carries.items[i].first;
        const cbx_dtype t = (cbx_dtype)k->streams.items[s].dtype;
        const place from = { IN_STREAM, (uint8_t)cbx__dtype_size(t), s };
        c->carry[i] = take_slot(c, t);
        c->g->steps[c->g->nsteps++] = (step){ cbx__copy_loop(t), 1, c->carry[i], { from } };
    }
    c->g->nfirst = c->g->nsteps;
}

/* Before the outputs of a row, which may take the place of inputs: all next numbers to slots of
 * their own. */
static void keep_next(plan *c)
{
    const cbx__kernel *k = c->k;

    for (size_t i = 0; i < k->carries.n; i++) {
        const cbx_dtype t = (cbx_dtype)k->streams.items[k->carries.items[i].first].dtype;
        c->next[i] = take_slot(c, t);
        c->g->steps[c->g->nsteps++] = (step){ cbx__copy_loop(t), 1, c->next[i], { c->at[k->carries.items[i].next] } };
    }
}

/* What ends a row: they become the carries, of which an output may be one. */
static void move_carries(plan *c)
{
    const cbx__kernel *k = c->k;

    for (size_t i = 0; i < k->carries.n; i++) {
        const cbx_dtype t = (cbx_dtype)k->streams.items[k->carries.items[i].first].dtype;
        c->g->steps[c->g->nsteps++] = (step){ cbx__copy_loop(t), 1, c->carry[i], { c->next[i] } };
    }
}

/* At the end of a block.  An output may take the place of a stream that another output is a copy
 * of: such copies are made first. */
static void add_outputs(plan *c)
{
    const cbx__kstream *streams = c->g->streams;
    program *g = c->g;

    for (size_t s = 0; s < c->k->nout; s++) {
        place *at = &c->at[streams[s].value];
        if (at->kind != IN_STREAM || streams[s].final) continue;
        const place from = *at;
        *at = take_slot(c, (cbx_dtype)streams[s].dtype);
        g->steps[g->nsteps++] = (step){ cbx__copy_loop((cbx_dtype)streams[s].dtype), 1, *at, { from } };
    }
    for (size_t s = 0; s < c->k->nout; s++) {
        const cbx_dtype t = (cbx_dtype)streams[s].dtype;
        if (streams[s].final) continue;
        g->steps[g->nsteps++] = (step){
            cbx__copy_loop(t), 1, { IN_STREAM, (uint8_t)cbx__dtype_size(t), (uint32_t)s }, { c->at[streams[s].value] }
        };
    }
}

/* Outputs of the last row alone, which are numbers that carries have then. */
static void add_final_outputs(plan *c)
{
    const cbx__kernel *k = c->k;

    c->g->nrow = c->g->nsteps - c->g->nfirst;
    for (size_t s = 0; s < k->nout; s++) {
        const cbx__kstream *t = &k->streams.items[s];
        place from = c->at[t->value];
        if (!t->final) continue;
        for (size_t i = 0; i < k->carries.n; i++)
            if (k->carries.items[i].next == t->value) from = c->carry[i];
        c->g->steps[c->g->nsteps++] = (step){ cbx__copy_loop((cbx_dtype)t->dtype),
                                              1,
                                              { IN_STREAM, (uint8_t)cbx__dtype_size((cbx_dtype)t->dtype), (uint32_t)s },
                                              { from } };
    }
}

/* Memory of the program from `lasting`, of what making it needs from `passing`. */
static bool get_memory(plan *c, cbx_arena *lasting, cbx_arena *passing)
{
    const size_t n = c->k->instr.n, nout = c->k->nout, nstreams = c->k->streams.n, ncarries = c->k->carries.n;
    program *g = c->g = cbx_arena_calloc(lasting, 1, sizeof *g);

    if (!g) return false;
    g->steps = cbx_arena_calloc(lasting, n + 2 * nout + 3 * ncarries, sizeof *g->steps);
    g->streams = cbx_arena_calloc(lasting, nstreams, sizeof *g->streams);
    g->constants = cbx_arena_calloc(lasting, n, sizeof *g->constants);
    c->at = cbx_arena_calloc(passing, n, sizeof *c->at);
    c->last = cbx_arena_calloc(passing, n, sizeof *c->last);
    c->root = cbx_arena_calloc(passing, n, sizeof *c->root);
    c->free = cbx_arena_calloc(passing, n + nout, sizeof *c->free);
    c->carry = cbx_arena_calloc(passing, ncarries, sizeof *c->carry);
    c->next = cbx_arena_calloc(passing, ncarries, sizeof *c->next);
    if (!g->steps || !g->streams || !g->constants || !c->at || !c->last || !c->root || !c->free || !c->carry ||
        !c->next)
        return false;
    if (nstreams > 0) memcpy(g->streams, c->k->streams.items, nstreams * sizeof *g->streams);
    return true;
}

static cbx_status make_program(const cbx__kernel *k, cbx_arena *lasting, cbx_arena *passing, const void **out,
                               cbx_err *err)
{
    plan c = { .k = k };
    size_t fit;

    if (!get_memory(&c, lasting, passing)) return cbx_fail_nomem(err, "a kernel for the interpreter");
    find_last_readers(&c);
    add_carries(&c);
    for (cbx__kid i = 0; i < k->instr.n; i++) {
        const cbx_status st = add_value(&c, i, err);
        if (st) return st;
        give_slots(&c, i);
    }
    keep_next(&c);
    add_outputs(&c);
    move_carries(&c);
    add_final_outputs(&c);
    fit = WORK_BYTES / SLOT_BYTES / (c.nslots ? c.nslots : 1);
    if (fit == 0)
        return cbx_fail(err, CBX_EOVERFLOW,
                        "a kernel has %u values at once, more than the %zu that the interpreter keeps", c.nslots,
                        WORK_BYTES / SLOT_BYTES);
    fit = fit < 16 ? fit : fit / 16 * 16; /* whole vectors, aligned */
    c.g->block = fit < BLOCK ? fit : BLOCK;
    *out = c.g;
    return CBX_OK;
}

static void release(cbx__code *shown)
{
    code *c = (code *)shown; /* its first member */
    cbx_arena arena = c->arena;

    cbx_arena_clear(&arena);
}

static cbx_status compile(cbx_ctx *ctx, size_t n, const cbx__kernel *const *kernels, cbx__code **out, cbx_err *err)
{
    cbx_arena lasting, passing;
    cbx_status st = CBX_OK;
    code *c;

    cbx_arena_init(&lasting, cbx_ctx_allocator(ctx));
    cbx_arena_init(&passing, cbx_ctx_allocator(ctx));
    c = cbx_arena_calloc(&lasting, 1, sizeof *c);
    if (c) c->shown = (cbx__code){ .n = n, .release = release };
    if (c) c->shown.fn = cbx_arena_calloc(&lasting, n, sizeof *c->shown.fn);
    if (c) c->shown.self = cbx_arena_calloc(&lasting, n, sizeof *c->shown.self);
    if (!c || !c->shown.fn || !c->shown.self) st = cbx_fail_nomem(err, "kernels for the interpreter");
    for (size_t i = 0; !st && i < n; i++) {
        st = make_program(kernels[i], &lasting, &passing, &c->shown.self[i], err);
        c->shown.fn[i] = kernels[i]->carries.n ? run_carries : run;
    }
    cbx_arena_clear(&passing);
    if (st) {
        cbx_arena_clear(&lasting);
        return st;
    }
    c->arena = lasting;
    *out = &c->shown;
    return CBX_OK;
}

const cbx__emitter cbx__emitter_interpreter = { "interpreter", compile };
