/*
 * Kernels as an LLVM module: the loops around the bodies of llvm_body.c.
 *
 * A row is walked by the wide body, whose values are vectors of 4 native ones (fewer in a long
 * kernel, or if more would live at a time than there are registers): legalising them splits each
 * instruction in place, so that 4 independent ones follow each other.  The rest of a row goes
 * through the narrow body, which is one native vector with masks, or one element where the machine
 * has no masks.  If outputs go past the caches, the narrow body runs first up to where they are
 * aligned.  Kernels with carries are in llvm_columns.c.
 */
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/llvm_emit.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"

#define MAX_INTERLEAVED 8000 /* instructions of a wide body, in vectors: LLVM takes long for more */
#define MAX_STRIDED     32   /* lanes of a body with STRIDED streams, which are loaded one by one */

static size_t widest_size(const cbx__kernel *k)
{
    size_t widest = 1;

    for (size_t i = 0; i < k->instr.n; i++) {
        const size_t size = cbx__dtype_size((cbx_dtype)k->instr.items[i].dtype);
        if (size > widest) widest = size;
    }
    return widest;
}

/* Bytes that live at a time in one lane, at most; last: zeroed, a number for each instruction. */
static size_t live_bytes(const cbx__kernel *k, uint32_t *last)
{
    size_t live = 0, max = 0;

    for (size_t i = 0; i < k->instr.n; i++) {
        const cbx__kinstr *x = &k->instr.items[i];
        for (int o = cbx__kernel_operands(x); o-- > 0;) last[x->in[o]] = (uint32_t)i;
    }
    for (size_t o = 0; o < k->nout; o++) last[k->streams.items[o].value] = UINT32_MAX;
    for (size_t c = 0; c < k->carries.n; c++) last[k->carries.items[c].next] = UINT32_MAX;
    for (size_t i = 0; i < k->instr.n; i++) {
        const cbx__kinstr *x = &k->instr.items[i];
        for (int o = cbx__kernel_operands(x); o-- > 0;) {
            const cbx__kinstr *y = &k->instr.items[x->in[o]];
            if (last[x->in[o]] != i || y->op == CBX__K_CONST) continue;
            live -= cbx__dtype_size((cbx_dtype)y->dtype);
            last[x->in[o]] = UINT32_MAX; /* counted once, if it is an operand twice */
        }
        if (x->op != CBX__K_CONST) live += cbx__dtype_size((cbx_dtype)x->dtype);
        if (live > max) max = live;
    }
    return max;
}

static bool calls_loops(const cbx__kernel *k)
{
    for (size_t i = 0; i < k->instr.n; i++) {
        const unsigned op = k->instr.items[i].op;
        if (op == CBX__K_MATH || op == CBX__K_FLOOR_DIV || op == CBX__K_REM) return true;
    }
    return false;
}

/* How many lanes the bodies have.  Functions are long chains: to wait for them costs more than
 * numbers for which there is no register. */
static void choose_lanes(llvm_emission *e, uint32_t *last)
{
    const cbx__kernel *k = e->kernel;
    const size_t widest = widest_size(k), live = live_bytes(k, last),
                 budget = widest * e->target->registers * (calls_loops(k) ? 2 : 1);
    bool strided = false, small = false;
    unsigned vectors = 4;

    for (size_t s = 0; s < k->streams.n; s++) {
        const cbx__kstream *t = &k->streams.items[s];
        if (t->kind != CBX__STREAM_STRIDED) continue;
        strided = true;
        if (cbx__dtype_size((cbx_dtype)t->dtype) < 4) small = true;
    }
    while (vectors > 1 && (live * vectors > budget || k->instr.n * vectors > MAX_INTERLEAVED)) vectors /= 2;
    e->native = e->target->vector_bytes / (unsigned)widest;
    e->lane_type = e->c->IntTypeInContext(e->context, 8 * (unsigned)widest);
    if (strided && e->native > MAX_STRIDED) e->native = MAX_STRIDED;
    e->wide = e->native * vectors;
    if (strided && e->wide > MAX_STRIDED) e->wide = MAX_STRIDED;
    e->narrow = e->target->masks && !small ? e->native : 1;
}

static LLVMValueRef number(const llvm_emission *e, LLVMValueRef array, size_t i, LLVMTypeRef type)
{
    return e->c->BuildLoad2(e->builder, type, llvm_item(e, e->i64, array, llvm_int(e, (int64_t)i)), "");
}

/* Memory that loops read and write. */
static void make_slots(llvm_emission *e)
{
    LLVMTypeRef slot = e->c->ArrayType2(e->i64, e->wide > 8 ? e->wide : 8);

    e->slot_pointers = e->c->BuildAlloca(e->builder, e->c->ArrayType2(e->pointer, 3), "pointers");
    e->slot_steps = e->c->BuildAlloca(e->builder, e->c->ArrayType2(e->i64, 3), "steps");
    for (int i = 0; i < 3; i++) {
        e->slots[i] = e->c->BuildAlloca(e->builder, slot, "slot");
        e->c->SetAlignment(e->slots[i], 64);
        e->c->BuildStore(e->builder, e->slots[i], llvm_item(e, e->pointer, e->slot_pointers, llvm_int(e, i)));
    }
}

/* What holds for all rows; first[k]: where stream k begins. */
static void read_arguments(llvm_emission *e, LLVMValueRef *first)
{
    LLVMValueRef p = e->c->GetParam(e->function, 3), outer = e->c->GetParam(e->function, 4),
                 inner = e->c->GetParam(e->function, 5);

    for (size_t k = 0; k < e->kernel->streams.n; k++) {
        const cbx__kstream *t = &e->kernel->streams.items[k];
        llvm_stream *s = &e->streams[k];
        first[k] = number(e, p, k, llvm_moves_memory(t) ? e->pointer : e->i64);
        s->outer = number(e, outer, k, e->i64);
        if (t->kind != CBX__STREAM_STRIDED && t->kind != CBX__STREAM_INDEX) continue;
        s->inner = number(e, inner, k, e->i64);
        s->inner_3 = llvm_op(e, LLVM_MUL, s->inner, llvm_int(e, 3));
        s->inner_4 = llvm_op(e, LLVM_SHL, s->inner, llvm_int(e, 2));
        if (e->narrow > 1)
            s->ramp = llvm_op(e, LLVM_MUL, cbx__llvm_splat(e, s->inner, e->narrow),
                              cbx__llvm_iota(e, e->i64, e->narrow));
        if (t->kind == CBX__STREAM_INDEX || e->wide == e->narrow)
            s->wide = llvm_op(e, LLVM_MUL, cbx__llvm_splat(e, s->inner, e->wide), cbx__llvm_iota(e, e->i64, e->wide));
    }
}

void cbx__llvm_arguments(llvm_emission *e, LLVMValueRef *first)
{
    if (calls_loops(e->kernel)) make_slots(e);
    read_arguments(e, first);
}

LLVMValueRef cbx__llvm_next_row(const llvm_emission *e, size_t stream)
{
    const llvm_stream *s = &e->streams[stream];
    return llvm_moves_memory(&e->kernel->streams.items[stream]) ? llvm_at(e, s->base, s->outer)
                                                                : llvm_op(e, LLVM_ADD, s->base, s->outer);
}

void cbx__llvm_load_scalars(llvm_emission *e)
{
    for (size_t k = 0; k < e->kernel->streams.n; k++) {
        const cbx__kstream *t = &e->kernel->streams.items[k];
        llvm_stream *s = &e->streams[k];
        if (t->kind != CBX__STREAM_SCALAR) continue;
        s->scalar = cbx__llvm_load(e, cbx__llvm_memory_type(e, (cbx_dtype)t->dtype), s->base,
                                   cbx__dtype_size((cbx_dtype)t->dtype));
        s->splat = cbx__llvm_splat(e, s->scalar, e->native);
    }
}

/* The first output that goes past the caches; SIZE_MAX: none. */
static size_t first_nontemporal(const cbx__kernel *k)
{
    for (size_t o = 0; o < k->nout; o++)
        if (k->streams.items[o].nontemporal) return o;
    return SIZE_MAX;
}

static LLVMValueRef address(const llvm_emission *e, size_t k)
{
    return llvm_cast(e, LLVM_PTRTOINT, e->streams[k].base, e->i64);
}

/* Elements in front of the first whole vector of output o, at most n. */
static LLVMValueRef elements_before(const llvm_emission *e, size_t o, LLVMValueRef n)
{
    const cbx__kstream *t = &e->kernel->streams.items[o];
    const size_t size = cbx__dtype_size((cbx_dtype)t->dtype) * cbx__kstream_run(t);
    LLVMValueRef bytes = llvm_op(e, LLVM_AND, llvm_op(e, LLVM_SUB, llvm_int(e, 0), address(e, o)),
                                 llvm_int(e, e->target->vector_bytes - 1));
    LLVMValueRef before = llvm_op(e, LLVM_LSHR, bytes, llvm_int(e, __builtin_ctzll(size)));

    return llvm_select(e, llvm_compare(e, LLVM_INT_ULT, before, n), before, n);
}

/* Whether element i of all outputs that go past the caches begins a whole vector. */
static LLVMValueRef all_aligned(const llvm_emission *e, LLVMValueRef i)
{
    LLVMValueRef bits = llvm_int(e, 0);

    for (size_t o = 0; o < e->kernel->nout; o++) {
        const cbx__kstream *t = &e->kernel->streams.items[o];
        const size_t size = cbx__dtype_size((cbx_dtype)t->dtype) * cbx__kstream_run(t);
        if (!t->nontemporal) continue;
        LLVMValueRef at = llvm_op(e, LLVM_ADD, address(e, o), llvm_op(e, LLVM_MUL, i, llvm_int(e, (int64_t)size)));
        bits = llvm_op(e, LLVM_OR, bits, at);
    }
    return llvm_compare(e, LLVM_INT_EQ, llvm_op(e, LLVM_AND, bits, llvm_int(e, e->target->vector_bytes - 1)),
                        llvm_int(e, 0));
}

/* Blocks of a row, and the numbers that they hand on. */
typedef struct row {
    LLVMValueRef n;
    LLVMBasicBlockRef head, wide_head, wide, rest, narrow, narrow_end, end;
    LLVMValueRef wide_from;              /* in wide_head: where the wide body begins */
    LLVMValueRef rest_from;              /* in rest */
    LLVMValueRef narrow_from, narrow_to; /* in narrow: the element that it works on, and where to stop */
    bool nontemporal;
} row;

/* The wide body as often as it fits. */
static void emit_wide(llvm_emission *e, row *r, LLVMValueRef *values)
{
    LLVMValueRef left, stop, i, next, aligned = NULL;
    llvm_body body = { .lanes = e->wide, .wide = true, .count = llvm_int(e, e->wide), .values = values };

    llvm_enter(e, r->wide_head);
    left = llvm_op(e, LLVM_AND, llvm_op(e, LLVM_SUB, r->n, r->wide_from), llvm_int(e, -(int64_t)e->wide));
    stop = llvm_op(e, LLVM_ADD, r->wide_from, left);
    if (r->nontemporal) aligned = all_aligned(e, r->wide_from);
    llvm_branch(e, llvm_compare(e, LLVM_INT_SGT, left, llvm_int(e, 0)), r->wide, r->rest);

    llvm_enter(e, r->wide);
    i = llvm_phi(e, e->i64, r->wide_from, r->wide_head);
    body.i = i;
    cbx__llvm_body(e, &body);
    if (r->nontemporal) {
        LLVMBasicBlockRef past = llvm_block(e, "past"), cached = llvm_block(e, "cached"),
                          stored = llvm_block(e, "stored");
        llvm_branch(e, aligned, past, cached);
        llvm_enter(e, cached);
        cbx__llvm_store(e, &body, false, false);
        llvm_jump(e, stored);
        llvm_enter(e, past);
        cbx__llvm_store(e, &body, true, false);
        llvm_go(e, stored);
    } else {
        cbx__llvm_store(e, &body, false, false);
    }
    next = llvm_op(e, LLVM_ADD, i, llvm_int(e, e->wide));
    llvm_incoming(e, i, next, llvm_here(e));
    llvm_branch(e, llvm_compare(e, LLVM_INT_SLT, next, stop), r->wide, r->rest);
    llvm_incoming(e, r->rest_from, r->wide_from, r->wide_head);
    llvm_incoming(e, r->rest_from, next, llvm_here(e));
}

void cbx__llvm_set_mask(const llvm_emission *e, llvm_body *body, LLVMValueRef end)
{
    LLVMValueRef lanes = llvm_int(e, e->narrow), left = llvm_op(e, LLVM_SUB, end, body->i), some;

    body->count = llvm_select(e, llvm_compare(e, LLVM_INT_SLT, left, lanes), left, lanes);
    some = e->lane_type == e->i64 ? body->count : llvm_cast(e, LLVM_TRUNC, body->count, e->lane_type);
    body->mask = llvm_compare(e, LLVM_INT_ULT, cbx__llvm_iota(e, e->lane_type, e->narrow),
                              cbx__llvm_splat(e, some, e->narrow));
}

/* The narrow body from element narrow_from to narrow_to. */
static void emit_narrow(llvm_emission *e, row *r, LLVMValueRef *values)
{
    llvm_body body = { .lanes = e->narrow, .i = r->narrow_from, .count = llvm_int(e, 1), .values = values };
    LLVMValueRef next;

    llvm_enter(e, r->narrow);
    if (e->narrow > 1) cbx__llvm_set_mask(e, &body, r->narrow_to);
    cbx__llvm_body(e, &body);
    cbx__llvm_store(e, &body, false, false);
    next = llvm_op(e, LLVM_ADD, r->narrow_from, llvm_int(e, e->narrow));
    llvm_incoming(e, r->narrow_from, next, llvm_here(e));
    llvm_incoming(e, r->narrow_to, r->narrow_to, llvm_here(e));
    llvm_branch(e, llvm_compare(e, LLVM_INT_SLT, next, r->narrow_to), r->narrow, r->narrow_end);
}

/* One row; the builder is at its beginning, and in block end afterwards. */
static void emit_row(llvm_emission *e, row *r, LLVMValueRef *values)
{
    const size_t past = first_nontemporal(e->kernel);
    LLVMValueRef before = NULL;

    r->nontemporal = past != SIZE_MAX;
    r->wide_head = llvm_block(e, "wide_head");
    r->wide = llvm_block(e, "wide");
    r->rest = llvm_block(e, "rest");
    r->narrow = llvm_block(e, "narrow");
    r->narrow_end = llvm_block(e, "narrow_end");
    r->end = llvm_block(e, "row_end");
    if (r->nontemporal) {
        before = elements_before(e, past, r->n);
        llvm_branch(e, llvm_compare(e, LLVM_INT_SGT, before, llvm_int(e, 0)), r->narrow, r->wide_head);
    } else {
        llvm_jump(e, r->wide_head);
    }

    llvm_enter(e, r->narrow);
    r->narrow_from = llvm_phi(e, e->i64, NULL, NULL);
    r->narrow_to = llvm_phi(e, e->i64, NULL, NULL);
    llvm_enter(e, r->rest);
    r->rest_from = llvm_phi(e, e->i64, NULL, NULL);
    llvm_incoming(e, r->narrow_from, r->rest_from, r->rest);
    llvm_incoming(e, r->narrow_to, r->n, r->rest);
    llvm_branch(e, llvm_compare(e, LLVM_INT_SLT, r->rest_from, r->n), r->narrow, r->end);
    llvm_enter(e, r->wide_head);
    r->wide_from = llvm_phi(e, e->i64, llvm_int(e, 0), r->head);
    emit_wide(e, r, values);
    if (r->nontemporal) {
        llvm_incoming(e, r->narrow_from, llvm_int(e, 0), r->head);
        llvm_incoming(e, r->narrow_to, before, r->head);
    }
    emit_narrow(e, r, values);

    llvm_enter(e, r->narrow_end);
    if (r->nontemporal) {
        llvm_incoming(e, r->wide_from, r->narrow_to, r->narrow_end);
        llvm_branch(e, llvm_compare(e, LLVM_INT_SLT, r->narrow_to, r->n), r->wide_head, r->end);
    } else {
        llvm_jump(e, r->end);
    }
    llvm_enter(e, r->end);
}

/* All rows: entry, then for each row its blocks, then exit. */
static void emit_rows(llvm_emission *e, LLVMValueRef *first, LLVMValueRef *values)
{
    LLVMValueRef m = e->c->GetParam(e->function, 1), n = e->c->GetParam(e->function, 2), j, next, some;
    LLVMBasicBlockRef entry = llvm_block(e, "entry"), exit = llvm_block(e, "exit");
    row r = { .n = n, .head = llvm_block(e, "row") };

    llvm_enter(e, entry);
    cbx__llvm_arguments(e, first);
    some = llvm_op(e, LLVM_AND, llvm_compare(e, LLVM_INT_SGT, m, llvm_int(e, 0)),
                   llvm_compare(e, LLVM_INT_SGT, n, llvm_int(e, 0)));
    llvm_branch(e, some, r.head, exit);

    llvm_enter(e, r.head);
    j = llvm_phi(e, e->i64, llvm_int(e, 0), entry);
    for (size_t k = 0; k < e->kernel->streams.n; k++) {
        e->streams[k].base = llvm_phi(e, e->c->TypeOf(first[k]), first[k], entry);
    }
    cbx__llvm_load_scalars(e);
    emit_row(e, &r, values);
    next = llvm_op(e, LLVM_ADD, j, llvm_int(e, 1));
    llvm_incoming(e, j, next, r.end);
    for (size_t k = 0; k < e->kernel->streams.n; k++) {
        llvm_incoming(e, e->streams[k].base, cbx__llvm_next_row(e, k), r.end);
    }
    llvm_branch(e, llvm_compare(e, LLVM_INT_SLT, next, m), r.head, exit);

    llvm_enter(e, exit);
    if (r.nontemporal && e->target->fence) cbx__llvm_intrinsic(e, "llvm.x86.sse.sfence", 0, NULL, 0, NULL);
    e->c->BuildRetVoid(e->builder);
}

cbx__kid cbx__llvm_sibling(const cbx__kernel *k, cbx__kid i)
{
    const cbx__kinstr *x = &k->instr.items[i];

    if (x->op != CBX__K_MATH) return i;
    for (cbx__kid j = i; j-- > 0;) {
        const cbx__kinstr *y = &k->instr.items[j];
        if (y->op == x->op && y->prim == x->prim && y->dtype == x->dtype && y->a == x->a) return j;
    }
    return i;
}

bool cbx__llvm_begin(llvm_emission *e, const cbx__kernel *k, cbx_arena *arena, LLVMValueRef **values)
{
    size_t scratch = 0;

    e->shared = cbx_arena_calloc(arena, k->instr.n, sizeof *e->shared);
    for (cbx__kid i = 0; e->shared && i < k->instr.n; i++) {
        const cbx__kinstr *x = &k->instr.items[i];
        const cbx__kformula *f = cbx__formula_of(x);
        const cbx__kid sibling = cbx__llvm_sibling(k, i);
        if (f && f->n > scratch) scratch = f->n;
        if (f && sibling < i && !(e->shared[sibling] = cbx_arena_calloc(arena, f->n, sizeof **e->shared))) return false;
    }
    *values = cbx_arena_calloc(arena, k->instr.n, sizeof **values);
    e->streams = cbx_arena_calloc(arena, k->streams.n, sizeof *e->streams);
    e->scratch = cbx_arena_calloc(arena, scratch, sizeof *e->scratch);
    e->of_first = cbx_arena_calloc(arena, scratch, sizeof *e->of_first);
    e->kernel = k;
    return *values && e->streams && e->scratch && e->of_first && e->shared;
}

static cbx_status emit_function(llvm_emission *e, LLVMTypeRef type, const cbx__kernel *k, cbx_arena *arena,
                                cbx_err *err)
{
    LLVMValueRef *first = cbx_arena_calloc(arena, k->streams.n, sizeof *first), *values = NULL;
    LLVMValueRef *more = cbx_arena_calloc(arena, k->instr.n + CBX__MAX_CARRIES, sizeof *more);
    uint32_t *last = cbx_arena_calloc(arena, k->instr.n, sizeof *last);

    if (!first || !more || !last || !cbx__llvm_begin(e, k, arena, &values)) return cbx_fail_nomem(err, "a kernel");
    e->function = e->c->AddFunction(e->module, "kernel", type);
    e->c->SetLinkage(e->function, LLVM_INTERNAL_LINKAGE);
    llvm_no_unwind(e, e->function);
    choose_lanes(e, last);
    if (k->carries.n)
        cbx__llvm_columns(e, first, values, more, (uint8_t *)last);
    else
        emit_rows(e, first, values);
    if (e->status)
        return cbx_fail(err, e->status, "primitive '%s' has no loop for %s", cbx_prim_name(e->unsupported),
                        cbx_dtype_name(e->unsupported_dtype));
    return CBX_OK;
}

static void make_types(llvm_emission *e)
{
    static const struct {
        cbx_dtype dtype;
        unsigned bits;
    } integers[] = { { CBX_BOOL, 1 }, { CBX_I8, 8 },   { CBX_I16, 16 }, { CBX_I32, 32 }, { CBX_I64, 64 },
                     { CBX_U8, 8 },   { CBX_U16, 16 }, { CBX_U32, 32 }, { CBX_U64, 64 } };
    const cbx__llvm_calls *c = e->c;
    LLVMMetadataRef weights[3];

    for (size_t i = 0; i < CBX_LEN(integers); i++)
        e->types[integers[i].dtype] = c->IntTypeInContext(e->context, integers[i].bits);
    e->types[CBX_F32] = c->FloatTypeInContext(e->context);
    e->types[CBX_F64] = c->DoubleTypeInContext(e->context);
    e->i8 = e->types[CBX_I8];
    e->i32 = e->types[CBX_I32];
    e->i64 = e->types[CBX_I64];
    e->pointer = c->PointerTypeInContext(e->context, 0);
    e->loop_type = c->FunctionType(c->VoidTypeInContext(e->context), (LLVMTypeRef[]){ e->i64, e->pointer, e->pointer },
                                   3, 0);
    e->profile = c->GetMDKindIDInContext(e->context, "prof", 4);
    weights[0] = c->MDStringInContext2(e->context, "branch_weights", 14);
    weights[1] = c->ValueAsMetadata(llvm_word(e, 10000));
    weights[2] = c->ValueAsMetadata(llvm_word(e, 1));
    e->rarely = c->MetadataAsValue(e->context, c->MDNodeInContext2(e->context, weights, 3));
}

void cbx__llvm_open_module(llvm_emission *e, const char *name)
{
    e->context = e->c->ContextCreate();
    e->module = e->c->ModuleCreateWithNameInContext(name, e->context);
    e->builder = e->c->CreateBuilderInContext(e->context);
    e->c->SetTarget(e->module, e->target->triple);
    e->c->SetModuleDataLayout(e->module, e->target->layout);
    make_types(e);
}

cbx_status cbx__llvm_module(cbx_ctx *ctx, const cbx__llvm *l, const cbx__llvm_target *t, const char *table, size_t n,
                            const cbx__kernel *const *kernels, LLVMContextRef *out_context, LLVMModuleRef *out,
                            cbx_err *err)
{
    llvm_emission e = { .c = &l->c, .target = t };
    cbx_status st = CBX_OK;
    LLVMValueRef *functions;

    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    functions = cbx_arena_calloc(&arena, n, sizeof *functions);
    if (!functions) return cbx_fail_nomem(err, "kernels");
    cbx__llvm_open_module(&e, table);
    LLVMTypeRef type = l->c.FunctionType(l->c.VoidTypeInContext(e.context),
                                         (LLVMTypeRef[]){ e.pointer, e.i64, e.i64, e.pointer, e.pointer, e.pointer }, 6,
                                         0);
    for (size_t i = 0; i < n && !st; i++) {
        st = emit_function(&e, type, kernels[i], &arena, err);
        functions[i] = e.function;
    }
    if (!st) {
        LLVMValueRef g = l->c.AddGlobal(e.module, l->c.ArrayType2(e.pointer, n), table);
        l->c.SetInitializer(g, l->c.ConstArray2(e.pointer, functions, n));
        l->c.SetGlobalConstant(g, 1);
    }
    l->c.DisposeBuilder(e.builder);
    if (st) {
        l->c.DisposeModule(e.module);
        l->c.ContextDispose(e.context);
    } else {
        *out_context = e.context;
        *out = e.module;
    }
    return st;
}
