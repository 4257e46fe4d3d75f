/*
 * The body of a loop: all instructions of a kernel for some lanes, with their loads and stores.
 *
 * A MATH function with a formula is computed by it in all lanes.  If a lane is outside of the
 * formula's domain, the loop of the primitive computes these lanes again, in a block of its own
 * that is rarely entered: so a lane has the same bits whatever its neighbours are.
 */
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/llvm_emit.h"

#define CALL_ALIGNMENT 64  /* of what a loop reads and writes */
#define MAX_RUN        128 /* elements that are stored as one run */

LLVMValueRef cbx__llvm_load(const llvm_emission *e, LLVMTypeRef type, LLVMValueRef p, size_t alignment)
{
    LLVMValueRef v = e->c->BuildLoad2(e->builder, type, p, "");
    e->c->SetAlignment(v, (unsigned)alignment);
    return v;
}

LLVMValueRef cbx__llvm_put(const llvm_emission *e, LLVMValueRef v, LLVMValueRef p, size_t alignment)
{
    LLVMValueRef s = e->c->BuildStore(e->builder, v, p);
    e->c->SetAlignment(s, (unsigned)alignment);
    return s;
}

/* Native vectors in a row that are all the same, which costs no instruction. */
static LLVMValueRef repeated(const llvm_emission *e, LLVMValueRef native, unsigned lanes)
{
    LLVMValueRef at[LLVM_MAX_LANES];

    if (lanes == e->native) return native;
    for (unsigned i = 0; i < lanes; i++) at[i] = llvm_word(e, i % e->native);
    return e->c->BuildShuffleVector(e->builder, native, e->c->GetPoison(e->c->TypeOf(native)),
                                    e->c->ConstVector(at, lanes), "");
}

/* ---- loads ---- */

/* Addresses of the lanes of a STRIDED stream in the narrow body, as a vector. */
static LLVMValueRef lane_addresses(const llvm_emission *e, const llvm_body *body, const llvm_stream *s)
{
    LLVMValueRef first = llvm_at(e, s->base, llvm_op(e, LLVM_MUL, body->i, s->inner));
    return llvm_at(e, first, s->ramp);
}

/* Address of lane i, for lanes in order: p moves by 4 of them, so that few additions wait for
 * each other. */
static LLVMValueRef lane_address(const llvm_emission *e, const llvm_stream *s, LLVMValueRef *p, unsigned i)
{
    if (i > 0 && i % 4 == 0) *p = llvm_at(e, *p, s->inner_4);
    return i % 4 == 0   ? *p
           : i % 4 == 1 ? llvm_at(e, *p, s->inner)
           : i % 4 == 2 ? llvm_at(e, *p, llvm_op(e, LLVM_SHL, s->inner, llvm_int(e, 1)))
                        : llvm_at(e, *p, s->inner_3);
}

static LLVMValueRef load_strided(const llvm_emission *e, const llvm_body *body, const llvm_stream *s,
                                 LLVMTypeRef element, size_t size)
{
    LLVMTypeRef type = llvm_vector(e, element, body->lanes);
    LLVMValueRef p = llvm_at(e, s->base, llvm_op(e, LLVM_MUL, body->i, s->inner)), v;

    if (body->lanes == 1) return cbx__llvm_load(e, type, p, size);
    if (body->mask) {
        LLVMTypeRef types[2] = { type, e->c->VectorType(e->pointer, body->lanes) };
        LLVMValueRef args[4] = { lane_addresses(e, body, s), llvm_word(e, size), body->mask, e->c->ConstNull(type) };
        return cbx__llvm_intrinsic(e, "llvm.masked.gather", 2, types, 4, args);
    }
    v = e->c->GetPoison(type);
    for (unsigned i = 0; i < body->lanes; i++) {
        LLVMValueRef at = lane_address(e, s, &p, i);
        v = llvm_with_lane(e, v, cbx__llvm_load(e, element, at, size), i);
    }
    return v;
}

static LLVMValueRef load_dense(const llvm_emission *e, const llvm_body *body, const llvm_stream *s, LLVMTypeRef element,
                               size_t size)
{
    LLVMTypeRef type = llvm_vector(e, element, body->lanes);
    LLVMValueRef p = llvm_item(e, element, s->base, body->i);

    if (!body->mask) return cbx__llvm_load(e, type, p, size);
    LLVMTypeRef types[2] = { type, e->pointer };
    LLVMValueRef args[4] = { p, llvm_word(e, size), body->mask, e->c->ConstNull(type) };
    return cbx__llvm_intrinsic(e, "llvm.masked.load", 2, types, 4, args);
}

LLVMValueRef cbx__llvm_element(const llvm_emission *e, const llvm_body *body, uint32_t stream)
{
    const cbx__kstream *k = &e->kernel->streams.items[stream];
    const llvm_stream *s = &e->streams[stream];
    const cbx_dtype t = (cbx_dtype)k->dtype;
    LLVMTypeRef element = cbx__llvm_memory_type(e, t);
    const size_t size = cbx__dtype_size(t);
    LLVMValueRef v;

    if (k->kind == CBX__STREAM_INDEX) {
        v = llvm_op(e, LLVM_ADD, s->base, llvm_op(e, LLVM_MUL, body->i, s->inner));
        if (body->lanes == 1) return v;
        return llvm_op(e, LLVM_ADD, cbx__llvm_splat(e, v, body->lanes), body->wide ? s->wide : s->ramp);
    }
    if (k->kind == CBX__STREAM_SCALAR)
        v = body->lanes == 1 ? s->scalar : repeated(e, s->splat, body->lanes);
    else if (k->kind == CBX__STREAM_DENSE)
        v = load_dense(e, body, s, element, size);
    else
        v = load_strided(e, body, s, element, size);
    return cbx__llvm_from_memory(e, t, v, body->lanes);
}

/* ---- MATH ---- */

static LLVMValueRef function_of_loop(const llvm_emission *e, cbx_prim p, cbx_dtype t)
{
    char name[32];
    LLVMValueRef f = e->c->GetNamedFunction(e->module, cbx__llvm_loop_name(name, p, t));

    return f ? f : e->c->AddFunction(e->module, name, e->loop_type);
}

/* The loop of a primitive over the lanes, through memory. */
static LLVMValueRef call_loop(llvm_emission *e, const llvm_body *body, cbx_prim prim, cbx_dtype t, int operands,
                              LLVMValueRef *v)
{
    LLVMValueRef args[3] = { body->count, e->slot_pointers, e->slot_steps }, result;

    if (e->outside || !cbx__llvm_loop(prim, t)) {
        e->status = CBX_EUNSUPPORTED;
        e->unsupported = prim;
        e->unsupported_dtype = t;
    }
    if (e->outside) return e->c->GetPoison(e->types[t]);
    for (int o = 0; o <= operands; o++) {
        LLVMValueRef step = llvm_int(e, (int64_t)cbx__dtype_size(t));
        cbx__llvm_put(e, step, llvm_item(e, e->i64, e->slot_steps, llvm_int(e, o)), 8);
        if (o) cbx__llvm_put(e, cbx__llvm_to_memory(e, t, v[o - 1], body->lanes), e->slots[o], CALL_ALIGNMENT);
    }
    e->c->BuildCall2(e->builder, e->loop_type, function_of_loop(e, prim, t), args, 3, "");
    result = cbx__llvm_load(e, llvm_vector(e, cbx__llvm_memory_type(e, t), body->lanes), e->slots[0], CALL_ALIGNMENT);
    return cbx__llvm_from_memory(e, t, result, body->lanes);
}

/* Whether all lanes are true: native parts are joined first, so that one comparison is left. */
static LLVMValueRef all_true(const llvm_emission *e, LLVMValueRef v, unsigned lanes)
{
    const unsigned part = lanes < e->native ? lanes : e->native;
    LLVMValueRef all = v;

    if (lanes == 1) return v;
    for (unsigned k = 0; k < lanes && lanes > part; k += part) {
        LLVMValueRef at[LLVM_MAX_LANES];
        for (unsigned i = 0; i < part; i++) at[i] = llvm_word(e, k + i);
        LLVMValueRef piece = e->c->BuildShuffleVector(e->builder, v, e->c->GetPoison(e->c->TypeOf(v)),
                                                      e->c->ConstVector(at, part), "");
        all = k ? llvm_op(e, LLVM_AND, all, piece) : piece;
    }
    LLVMTypeRef bits = e->c->IntTypeInContext(e->context, part);
    all = llvm_cast(e, LLVM_BITCAST, all, bits);
    return llvm_compare(e, LLVM_INT_EQ, all, e->c->ConstInt(bits, UINT64_MAX, 1));
}

/* Values of a formula, in e->scratch; those of the first operand alone are `shared`, if it is
 * not NULL. */
static void compute_formula(const llvm_emission *e, const llvm_body *body, const cbx__kformula *f, LLVMValueRef *v,
                            LLVMValueRef *shared)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const cbx__kinstr *x = &f->instr[i];
        const int n = cbx__kernel_operands(x);
        LLVMValueRef in[3] = { NULL };
        e->of_first[i] = x->op != CBX__K_LOAD || x->a == 0;
        for (int o = 0; o < n; o++) {
            in[o] = e->scratch[x->in[o]];
            e->of_first[i] &= e->of_first[x->in[o]];
        }
        if (x->op == CBX__K_LOAD)
            e->scratch[i] = v[x->a];
        else if (shared && e->of_first[i])
            e->scratch[i] = shared[i];
        else if (!(e->scratch[i] = cbx__llvm_lookup(e, body->lanes, f->instr, i)))
            e->scratch[i] = cbx__llvm_instruction(e, body->lanes, x, (cbx_dtype)f->instr[n ? x->a : i].dtype, in);
    }
}

/* The fast result where all lanes are inside, else what the loop gives; on a GPU it is noted that
 * one is not. */
static LLVMValueRef checked(llvm_emission *e, const llvm_body *body, cbx_prim prim, cbx_dtype t, int operands,
                            LLVMValueRef *v, LLVMValueRef fast, LLVMValueRef inside)
{
    const cbx__llvm_calls *c = e->c;

    if (body->mask) inside = llvm_op(e, LLVM_OR, inside, llvm_not(e, body->mask));
    inside = all_true(e, inside, body->lanes);
    LLVMBasicBlockRef here = llvm_here(e);
    LLVMBasicBlockRef outside = c->AppendBasicBlockInContext(e->context, e->function, "outside");
    LLVMBasicBlockRef next = c->AppendBasicBlockInContext(e->context, e->function, "next");
    c->SetMetadata(llvm_branch(e, inside, next, outside), e->profile, e->rarely);
    llvm_enter(e, outside);
    LLVMValueRef slow = fast;
    if (e->outside)
        c->BuildStore(e->builder, llvm_word(e, 1), e->outside);
    else
        slow = call_loop(e, body, prim, t, operands, v);
    llvm_go(e, next);
    if (e->outside) return fast;
    LLVMValueRef result = llvm_phi(e, llvm_vector(e, e->types[t], body->lanes), fast, here);
    llvm_incoming(e, result, slow, outside);
    return result;
}

static LLVMValueRef math(llvm_emission *e, const llvm_body *body, const cbx__kinstr *x, LLVMValueRef *v)
{
    const cbx_dtype t = (cbx_dtype)x->dtype;
    const cbx__kformula *f = e->target->fma ? cbx__formula_of(x) : NULL;
    const int operands = cbx__kernel_operands(x);
    const cbx__kid i = (cbx__kid)(x - e->kernel->instr.items), sibling = cbx__llvm_sibling(e->kernel, i);

    if (!f) return call_loop(e, body, (cbx_prim)x->prim, t, operands, v);
    compute_formula(e, body, f, v, body->whole && sibling < i ? e->shared[sibling] : NULL);
    if (e->shared[i]) memcpy(e->shared[i], e->scratch, f->n * sizeof *e->scratch);
    if (cbx__formula_is_total(f)) return e->scratch[f->result];
    return checked(e, body, (cbx_prim)x->prim, t, operands, v, e->scratch[f->result], e->scratch[f->inside]);
}

static LLVMValueRef quotient(llvm_emission *e, const llvm_body *body, const cbx__kinstr *x, LLVMValueRef *v)
{
    const cbx_prim prim = (cbx_prim)cbx__kop_prim[x->op];
    const cbx_dtype t = (cbx_dtype)x->dtype;
    LLVMValueRef inside, fast;

    if (e->outside) return cbx__llvm_exact_quotient(e, x, v[0], v[1]);
    /* Without AVX-512 there are no conversions of 64-bit integers, and no gain. */
    if (cbx__dtype_size(t) == 8 && e->target->vector_bytes < 64) return call_loop(e, body, prim, t, 2, v);
    fast = cbx__llvm_quotient(e, body->lanes, x, v[0], v[1], &inside);
    return inside ? checked(e, body, prim, t, 2, v, fast, inside) : fast;
}

void cbx__llvm_compute(llvm_emission *e, const llvm_body *body, cbx__kid i)
{
    const cbx__kinstr *all = e->kernel->instr.items, *x = &all[i];
    const int n = cbx__kernel_operands(x);
    LLVMValueRef v[3] = { NULL };

    for (int o = 0; o < n; o++) v[o] = body->values[x->in[o]];
    switch (x->op) {
    case CBX__K_LOAD: body->values[i] = cbx__llvm_element(e, body, x->a); break;
    case CBX__K_MATH: body->values[i] = math(e, body, x, v); break;
    case CBX__K_FLOOR_DIV:
    case CBX__K_REM: body->values[i] = quotient(e, body, x, v); break;
    default: body->values[i] = cbx__llvm_instruction(e, body->lanes, x, (cbx_dtype)all[n ? x->a : i].dtype, v);
    }
}

void cbx__llvm_body(llvm_emission *e, llvm_body *body)
{
    body->whole = true;
    for (size_t i = 0; i < e->kernel->instr.n; i++)
        if (e->kernel->instr.items[i].op != CBX__K_CARRY) /* which is there already */
            cbx__llvm_compute(e, body, (cbx__kid)i);
}

/* ---- stores ---- */

static void store_strided(const llvm_emission *e, const llvm_body *body, const llvm_stream *s, LLVMValueRef v,
                          LLVMTypeRef element, size_t size)
{
    LLVMValueRef p = llvm_at(e, s->base, llvm_op(e, LLVM_MUL, body->i, s->inner));

    if (body->lanes == 1) {
        cbx__llvm_put(e, v, p, size);
        return;
    }
    if (body->mask) {
        LLVMTypeRef types[2] = { llvm_vector(e, element, body->lanes), e->c->VectorType(e->pointer, body->lanes) };
        LLVMValueRef args[4] = { v, lane_addresses(e, body, s), llvm_word(e, size), body->mask };
        cbx__llvm_intrinsic(e, "llvm.masked.scatter", 2, types, 4, args);
        return;
    }
    for (unsigned i = 0; i < body->lanes; i++) cbx__llvm_put(e, llvm_lane(e, v, i), lane_address(e, s, &p, i), size);
}

static void store_whole(const llvm_emission *e, LLVMValueRef v, LLVMValueRef p, unsigned lanes, size_t size,
                        bool nontemporal)
{
    const size_t vector = lanes * size < e->target->vector_bytes ? lanes * size : e->target->vector_bytes;

    v = cbx__llvm_put(e, v, p, nontemporal ? vector : size);
    if (!nontemporal) return;
    LLVMMetadataRef one = e->c->ValueAsMetadata(llvm_word(e, 1));
    e->c->SetMetadata(v, e->c->GetMDKindIDInContext(e->context, "nontemporal", 11),
                      e->c->MetadataAsValue(e->context, e->c->MDNodeInContext2(e->context, &one, 1)));
}

static void store_dense(const llvm_emission *e, const llvm_body *body, const llvm_stream *s, LLVMValueRef v,
                        LLVMTypeRef element, size_t size, bool nontemporal)
{
    LLVMValueRef p = llvm_item(e, element, s->base, body->i);

    if (body->mask) {
        LLVMTypeRef types[2] = { llvm_vector(e, element, body->lanes), e->pointer };
        LLVMValueRef args[4] = { v, p, llvm_word(e, size), body->mask };
        cbx__llvm_intrinsic(e, "llvm.masked.store", 2, types, 4, args);
        return;
    }
    store_whole(e, v, p, body->lanes, size, nontemporal);
}

/* x0 y0 x1 y1 ... */
static LLVMValueRef alternating(const llvm_emission *e, unsigned lanes, LLVMValueRef x, LLVMValueRef y)
{
    LLVMValueRef at[LLVM_MAX_LANES];

    for (unsigned i = 0; i < 2 * lanes; i++) at[i] = llvm_word(e, i / 2 + i % 2 * lanes);
    return e->c->BuildShuffleVector(e->builder, x, y, e->c->ConstVector(at, 2 * lanes), "");
}

/* Outputs that lie side by side, from o on, as one run. */
static void store_beside(const llvm_emission *e, const llvm_body *body, size_t o, bool aligned)
{
    const cbx__kstream *k = &e->kernel->streams.items[o];
    const llvm_stream *s = &e->streams[o];
    unsigned n = k->beside, lanes = body->lanes;
    LLVMValueRef v[8];

    for (unsigned i = 0; i < n; i++)
        v[i] = cbx__llvm_to_memory(e, (cbx_dtype)k->dtype, body->values[k[i].value], lanes);
    for (; n > 1; n /= 2, lanes *= 2)
        for (unsigned i = 0; i < n / 2; i++) v[i] = alternating(e, lanes, v[i], v[i + n / 2]);
    store_whole(e, v[0], llvm_at(e, s->base, llvm_op(e, LLVM_MUL, body->i, s->inner)), lanes,
                cbx__dtype_size((cbx_dtype)k->dtype), aligned && k->nontemporal);
}

void cbx__llvm_store_output(llvm_emission *e, const llvm_body *body, size_t o, bool aligned)
{
    const cbx__kstream *k = &e->kernel->streams.items[o];
    const llvm_stream *s = &e->streams[o];
    const cbx_dtype t = (cbx_dtype)k->dtype;
    LLVMTypeRef element = cbx__llvm_memory_type(e, t);
    const size_t size = cbx__dtype_size(t);
    LLVMValueRef v = cbx__llvm_to_memory(e, t, body->values[k->value], body->lanes);

    if (k->kind == CBX__STREAM_DENSE)
        store_dense(e, body, s, v, element, size, aligned && k->nontemporal);
    else
        store_strided(e, body, s, v, element, size);
}

void cbx__llvm_store(llvm_emission *e, const llvm_body *body, bool aligned, bool final)
{
    const bool whole = !body->mask && body->lanes > 1 && e->kernel->carries.n == 0;

    for (size_t o = 0; o < e->kernel->nout; o++) {
        const cbx__kstream *k = &e->kernel->streams.items[o];
        if (k->final != final) continue;
        if (whole && k->beside && k->beside * body->lanes <= MAX_RUN) {
            store_beside(e, body, o, aligned);
            o += k->beside - 1u;
        } else {
            cbx__llvm_store_output(e, body, o, aligned);
        }
    }
}
