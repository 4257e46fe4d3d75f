/*
 * Scans of single numbers, several rows at a time.
 *
 * The instructions of a row are divided: EARLY ones do not depend on a carry, LINKs lead from a
 * carry to the next, LATE ones need carries that nothing hands on.  Of as many rows as a vector has
 * lanes the EARLY ones are computed first, a lane a row; then the LINKs row by row; then the LATE
 * ones, again a lane a row.  So a long function of the inputs costs a fraction, and the loop takes
 * what the chain of the carries takes.  No operation is another one: the bits are the same.
 */
#include "calibrax/array/internal.h"
#include "calibrax/array/jit/llvm_emit.h"

typedef enum part { EARLY, LINK, LATE } part;

enum {
    MATH_WORK = 20, /* instructions that a function is counted as */
    SLOW_WORK = 5,  /* a division or root */
    MIN_GAIN = 8,   /* work that is worth vectors */
    MAX_LINK = 100  /* work that is written down for each lane, at most */
};

static unsigned work_of(const cbx__kinstr *x)
{
    switch (x->op) {
    case CBX__K_CONST:
    case CBX__K_LOAD:
    case CBX__K_CARRY: return 0;
    case CBX__K_MATH: return MATH_WORK;
    case CBX__K_DIV:
    case CBX__K_SQRT:
    case CBX__K_FLOOR_DIV:
    case CBX__K_REM: return SLOW_WORK;
    default: return 1;
    }
}

static void divide(const cbx__kernel *k, uint8_t *parts)
{
    for (size_t i = 0; i < k->instr.n; i++) {
        const cbx__kinstr *x = &k->instr.items[i];
        parts[i] = x->op == CBX__K_CARRY ? LINK : EARLY;
        for (int o = cbx__kernel_operands(x); o-- > 0;)
            if (parts[x->in[o]] != EARLY) parts[i] = LATE;
    }
    for (size_t c = 0; c < k->carries.n; c++)
        if (parts[k->carries.items[c].next] == LATE) parts[k->carries.items[c].next] = LINK;
    for (size_t i = k->instr.n; i-- > 0;) {
        const cbx__kinstr *x = &k->instr.items[i];
        for (int o = cbx__kernel_operands(x); parts[i] == LINK && o-- > 0;)
            if (parts[x->in[o]] == LATE) parts[x->in[o]] = LINK;
    }
}

/* Whether what is written behind the last row is a carry's next number. */
static bool is_carried(const cbx__kernel *k, cbx__kid value)
{
    for (size_t c = 0; c < k->carries.n; c++)
        if (k->carries.items[c].next == value) return true;
    return false;
}

bool cbx__llvm_divides(const llvm_emission *e, uint8_t *parts)
{
    const cbx__kernel *k = e->kernel;
    unsigned gain = 0, link = 0;

    if (!k->single || e->native < 2) return false;
    for (size_t o = 0; o < k->nout; o++)
        if (k->streams.items[o].final && !is_carried(k, k->streams.items[o].value)) return false;
    divide(k, parts);
    for (size_t i = 0; i < k->instr.n; i++) *(parts[i] == LINK ? &link : &gain) += work_of(&k->instr.items[i]);
    return gain >= MIN_GAIN && link <= MAX_LINK;
}

/* ---- streams, a lane a row ---- */

static LLVMValueRef load_rows(const llvm_emission *e, uint32_t stream)
{
    const llvm_stream *s = &e->streams[stream];
    const cbx_dtype t = (cbx_dtype)e->kernel->streams.items[stream].dtype;
    LLVMTypeRef element = cbx__llvm_memory_type(e, t);
    LLVMValueRef v, p = s->base;

    if (!llvm_moves_memory(&e->kernel->streams.items[stream])) {
        v = llvm_op(e, LLVM_MUL, cbx__llvm_splat(e, s->outer, e->native), cbx__llvm_iota(e, e->i64, e->native));
        return llvm_op(e, LLVM_ADD, cbx__llvm_splat(e, s->base, e->native), v);
    }
    v = e->c->GetPoison(llvm_vector(e, element, e->native));
    for (unsigned r = 0; r < e->native; r++, p = llvm_at(e, p, s->outer))
        v = llvm_with_lane(e, v, cbx__llvm_load(e, element, p, cbx__dtype_size(t)), r);
    return cbx__llvm_from_memory(e, t, v, e->native);
}

static void store_rows(const llvm_emission *e, LLVMValueRef *values)
{
    for (size_t o = 0; o < e->kernel->nout; o++) {
        const cbx__kstream *k = &e->kernel->streams.items[o];
        const cbx_dtype t = (cbx_dtype)k->dtype;
        LLVMValueRef p = e->streams[o].base, v;
        if (k->final) continue;
        v = cbx__llvm_to_memory(e, t, values[k->value], e->native);
        for (unsigned r = 0; r < e->native; r++, p = llvm_at(e, p, e->streams[o].outer))
            cbx__llvm_put(e, llvm_lane(e, v, r), p, cbx__dtype_size(t));
    }
}

/* ---- the loop ---- */

/* The instructions of a part that vectors compute. */
static void compute_part(llvm_emission *e, const uint8_t *parts, part which, LLVMValueRef *values)
{
    const llvm_body body = { .lanes = e->native, .count = llvm_int(e, e->native), .values = values };

    for (size_t i = 0; i < e->kernel->instr.n; i++) {
        const cbx__kinstr *x = &e->kernel->instr.items[i];
        if (parts[i] != which) continue;
        if (x->op == CBX__K_LOAD)
            values[i] = load_rows(e, x->a);
        else
            cbx__llvm_compute(e, &body, (cbx__kid)i);
    }
}

/* The number of row r of an instruction: a LINK's, or a lane. */
static LLVMValueRef number_of(const llvm_emission *e, const uint8_t *parts, cbx__kid i, unsigned r,
                              const LLVMValueRef *values, LLVMValueRef *one)
{
    if (parts[i] == EARLY && !one[i]) one[i] = llvm_lane(e, values[i], r);
    return one[i];
}

/* The LINKs of row r, from its carries to those of the next; they are lanes of vectors for LATE
 * ones and outputs, too. */
static void link_row(llvm_emission *e, const uint8_t *parts, unsigned r, LLVMValueRef *values, LLVMValueRef *one,
                     LLVMValueRef *carry)
{
    const cbx__kernel *k = e->kernel;
    const llvm_body body = { .lanes = 1, .count = llvm_int(e, 1), .values = one };
    LLVMValueRef next[CBX__MAX_CARRIES];

    for (size_t i = 0; i < k->instr.n; i++) one[i] = NULL;
    for (size_t i = 0; i < k->instr.n; i++) {
        const cbx__kinstr *x = &k->instr.items[i];
        if (parts[i] != LINK) continue;
        for (int o = cbx__kernel_operands(x); o-- > 0;) number_of(e, parts, x->in[o], r, values, one);
        if (x->op == CBX__K_CARRY)
            one[i] = carry[x->a];
        else
            cbx__llvm_compute(e, &body, (cbx__kid)i);
        if (r == 0) values[i] = e->c->GetPoison(e->c->VectorType(e->types[x->dtype], e->native));
        values[i] = llvm_with_lane(e, values[i], one[i], r);
    }
    for (size_t c = 0; c < k->carries.n; c++) next[c] = number_of(e, parts, k->carries.items[c].next, r, values, one);
    for (size_t c = 0; c < k->carries.n; c++) carry[c] = next[c];
}

/* Where stream s is so many rows on. */
static LLVMValueRef moved_by(const llvm_emission *e, size_t s, unsigned rows)
{
    const llvm_stream *at = &e->streams[s];
    LLVMValueRef by = llvm_op(e, LLVM_MUL, at->outer, llvm_int(e, rows));

    return llvm_moves_memory(&e->kernel->streams.items[s]) ? llvm_at(e, at->base, by)
                                                           : llvm_op(e, LLVM_ADD, at->base, by);
}

LLVMValueRef cbx__llvm_steps(llvm_emission *e, const uint8_t *parts, LLVMValueRef *values, LLVMValueRef *one,
                             LLVMValueRef *carry)
{
    const cbx__kernel *k = e->kernel;
    LLVMBasicBlockRef before = llvm_here(e), head = llvm_block(e, "steps"), work = llvm_block(e, "step"),
                      rest = llvm_block(e, "steps_end"), last;
    LLVMValueRef m = e->c->GetParam(e->function, 1), first[CBX__MAX_CARRIES], j, next;

    llvm_go(e, head);
    j = llvm_phi(e, e->i64, llvm_int(e, 0), before);
    for (size_t s = 0; s < k->streams.n; s++) {
        LLVMValueRef base = e->streams[s].base;
        e->streams[s].base = llvm_phi(e, e->c->TypeOf(base), base, before);
    }
    for (size_t c = 0; c < k->carries.n; c++) {
        first[c] = llvm_phi(e, e->c->TypeOf(carry[c]), carry[c], before);
        carry[c] = first[c];
    }
    next = llvm_op(e, LLVM_ADD, j, llvm_int(e, e->native));
    llvm_branch(e, llvm_compare(e, LLVM_INT_SLE, next, m), work, rest);

    llvm_enter(e, work);
    compute_part(e, parts, EARLY, values);
    for (unsigned r = 0; r < e->native; r++) link_row(e, parts, r, values, one, carry);
    compute_part(e, parts, LATE, values);
    store_rows(e, values);
    last = llvm_here(e);
    llvm_incoming(e, j, next, last);
    for (size_t s = 0; s < k->streams.n; s++) llvm_incoming(e, e->streams[s].base, moved_by(e, s, e->native), last);
    for (size_t c = 0; c < k->carries.n; c++) {
        llvm_incoming(e, first[c], carry[c], last);
        carry[c] = first[c];
    }
    llvm_jump(e, head);
    llvm_enter(e, rest);
    return j;
}
