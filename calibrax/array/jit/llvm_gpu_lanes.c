/*
 * A leaf of the tree of sums by 8 threads of a GPU: thread k has sum k, the elements k, k + 8, ...,
 * so that neighbours load neighbours.  They join by shuffles.  Made for a CPU, one function does
 * the work of all 8.
 */
#include <string.h>

#include "calibrax/array/jit/folds.h"
#include "calibrax/array/jit/llvm_gpu.h"

/* What one thread has of a leaf: sum 0 .. 7 of it, and the element behind all 8 sums that it
 * computed. */
typedef struct lane {
    LLVMValueRef value, tail; /* tail: of sums in the tree */
    LLVMValueRef at;          /* of extremes of floats: where it was, since of equal ones (0, -0) the first counts */
} lane;

static bool has_place(const cbx__nest_fold *f)
{
    return f->wide == CBX_F64 && (f->prim == CBX_PRIM_REDUCE_MAX || f->prim == CBX_PRIM_REDUCE_MIN);
}

/* Element i joins what a thread has. */
static void add_to_lane(gpu_function *g, lane *l, const cbx__nest_fold *f, LLVMValueRef x, LLVMValueRef i,
                        LLVMValueRef is, LLVMValueRef whole)
{
    const llvm_emission *e = &g->e;
    const cbx__llvm_calls *c = e->c;

    if (cbx__in_tree(f)) {
        LLVMValueRef summed = llvm_op(e, LLVM_AND, is, llvm_compare(e, LLVM_INT_ULT, i, whole));
        LLVMValueRef behind = llvm_op(e, LLVM_AND, is, llvm_compare(e, LLVM_INT_UGE, i, whole));
        l->value = llvm_select(e, summed, llvm_op(e, LLVM_FADD, l->value, x), l->value);
        l->tail = llvm_select(e, behind, x, l->tail);
    } else if (has_place(f)) {
        LLVMValueRef none = c->ConstInt(e->types[CBX_BOOL], 1, 0);
        LLVMValueRef keeps = llvm_select(e, is, cbx__gpu_emit_keeps_first(g, f, l->value, x), none);
        l->value = llvm_select(e, keeps, l->value, x);
        l->at = llvm_select(e, keeps, l->at, i);
    } else {
        l->value = llvm_select(e, is, cbx__gpu_emit_joined(g, f, l->value, x), l->value);
    }
}

/* Elements first, first + 8, ... of the leaf, several at a time so that their loads do not wait for
 * each other. */
static void walk_lane(gpu_function *g, LLVMValueRef first, LLVMValueRef pos, LLVMValueRef count, LLVMValueRef whole,
                      const LLVMValueRef *base, lane *lanes)
{
    const llvm_emission *e = &g->e;
    const cbx__nest *n = g->nest;
    const unsigned at_once = n->kernel.instr.n <= 16 ? 4 : n->kernel.instr.n <= 48 ? 2 : 1;
    LLVMBasicBlockRef before = llvm_here(e), head = llvm_block(e, "head"), work = llvm_block(e, "elements"),
                      done = llvm_block(e, "done"), last;
    LLVMValueRef begin, x[CBX__MAX_STREAMS];
    lane *l = lanes, was[CBX__MAX_STREAMS];

    llvm_go(e, head);
    begin = llvm_phi(e, e->i64, first, before);
    for (size_t f = 0; f < n->nfolds; f++) {
        LLVMValueRef none = cbx__gpu_emit_identity(g, &n->folds[f]);
        LLVMTypeRef type = e->types[n->folds[f].wide];
        l[f] = was[f] = (lane){ llvm_phi(e, type, none, before), llvm_phi(e, type, none, before),
                                llvm_phi(e, e->i64, llvm_int(e, INT64_MAX), before) };
    }
    llvm_branch(e, llvm_compare(e, LLVM_INT_ULT, begin, count), work, done);
    llvm_enter(e, work);
    for (unsigned u = 0; u < at_once; u++) {
        LLVMValueRef i = u ? llvm_op(e, LLVM_ADD, begin, llvm_int(e, u * SUMS)) : begin;
        LLVMValueRef is = llvm_compare(e, LLVM_INT_ULT, i, count);
        LLVMValueRef readable = u ? llvm_select(e, is, i, begin) : begin;
        cbx__gpu_emit_move_streams(g, llvm_op(e, LLVM_ADD, pos, readable), true, base);
        cbx__gpu_emit_element(g);
        for (size_t f = 0; f < n->nfolds; f++) x[f] = g->values[n->kernel.streams.items[n->folds[f].stream].value];
        for (size_t f = 0; f < n->nfolds; f++) add_to_lane(g, &l[f], &n->folds[f], x[f], i, is, whole);
    }
    last = llvm_here(e);
    llvm_incoming(e, begin, llvm_op(e, LLVM_ADD, begin, llvm_int(e, at_once * SUMS)), last);
    for (size_t f = 0; f < n->nfolds; f++) {
        llvm_incoming(e, was[f].value, l[f].value, last);
        llvm_incoming(e, was[f].tail, l[f].tail, last);
        llvm_incoming(e, was[f].at, l[f].at, last);
        l[f] = was[f];
    }
    llvm_jump(e, head);
    llvm_enter(e, done);
}

/* The number of 64 bits of another of the 8 threads: that whose number differs in the bits of `by`,
 * or thread `by` itself. */
static LLVMValueRef shuffled(const gpu_function *g, const char *how, LLVMValueRef v, int by)
{
    const llvm_emission *e = &g->e;
    LLVMValueRef group = cbx__llvm_intrinsic(e, "llvm.nvvm.read.ptx.sreg.laneid", 0, NULL, 0, NULL), part[2];

    group = llvm_op(e, LLVM_AND, group, llvm_word(e, 24));
    group = llvm_op(e, LLVM_SHL, llvm_word(e, 0xff), group); /* the threads that take part */
    for (int k = 0; k < 2; k++) {
        LLVMValueRef half = k ? llvm_op(e, LLVM_LSHR, v, llvm_int(e, 32)) : v;
        LLVMValueRef args[] = { group, llvm_cast(e, LLVM_TRUNC, half, e->i32), llvm_word(e, (uint64_t)by),
                                llvm_word(e, 0x181f) };
        part[k] = llvm_cast(e, LLVM_ZEXT, cbx__llvm_intrinsic(e, how, 0, NULL, 4, args), e->i64);
    }
    return llvm_op(e, LLVM_OR, part[0], llvm_op(e, LLVM_SHL, part[1], llvm_int(e, 32)));
}

/* What thread k ^ by has, beside what thread k has: of a GPU every thread is k, of a CPU one
 * function has all 8. */
static LLVMValueRef of_other(const gpu_function *g, cbx_dtype t, const LLVMValueRef *v, int k, int by)
{
    if (g->host) return v[k ^ by];
    return cbx__gpu_emit_from_bits(g, t,
                                   shuffled(g, "llvm.nvvm.shfl.sync.bfly.i32", cbx__gpu_emit_to_bits(g, t, v[k]), by));
}

static LLVMValueRef of_thread(const gpu_function *g, cbx_dtype t, const LLVMValueRef *v, int k)
{
    if (g->host) return v[k];
    return cbx__gpu_emit_from_bits(g, t,
                                   shuffled(g, "llvm.nvvm.shfl.sync.idx.i32", cbx__gpu_emit_to_bits(g, t, v[0]), k));
}

/* Both of a pair of threads get the two joined. */
static void join_pair(gpu_function *g, const cbx__nest_fold *f, LLVMValueRef *value, LLVMValueRef *at,
                      LLVMValueRef other, LLVMValueRef there)
{
    const llvm_emission *e = &g->e;

    if (!has_place(f)) {
        *value = cbx__gpu_emit_joined(g, f, *value, other);
        return;
    }
    LLVMValueRef first = llvm_compare(e, LLVM_INT_ULE, *at, there);
    LLVMValueRef t = llvm_select(e, first, *value, other);
    LLVMValueRef x = llvm_select(e, first, other, *value);
    LLVMValueRef t_at = llvm_select(e, first, *at, there);
    LLVMValueRef x_at = llvm_select(e, first, there, *at);
    LLVMValueRef keeps = cbx__gpu_emit_keeps_first(g, f, t, x);
    *value = llvm_select(e, keeps, t, x);
    *at = llvm_select(e, keeps, t_at, x_at);
}

/* The 8 sums as the tree joins them; then the elements behind them, one after the other. */
static LLVMValueRef joined_lanes(gpu_function *g, const cbx__nest_fold *f, const lane lanes[SUMS], LLVMValueRef ntail)
{
    const llvm_emission *e = &g->e;
    const int n = g->host ? SUMS : 1;
    LLVMValueRef v[SUMS], at[SUMS], tail[SUMS], before[SUMS], places[SUMS], sum, with;

    for (int k = 0; k < n; k++) v[k] = lanes[k].value, at[k] = lanes[k].at, tail[k] = lanes[k].tail;
    for (int by = 1; by < SUMS; by *= 2) {
        memcpy(before, v, sizeof v);
        memcpy(places, at, sizeof at);
        for (int k = 0; k < n; k++)
            join_pair(g, f, &v[k], &at[k], of_other(g, f->wide, before, k, by),
                      has_place(f) ? of_other(g, CBX_I64, places, k, by) : NULL);
    }
    if (!cbx__in_tree(f)) return v[0];
    LLVMBasicBlockRef here = llvm_here(e), some = llvm_block(e, "tail"), next = llvm_block(e, "next");
    llvm_branch(e, llvm_compare(e, LLVM_INT_NE, ntail, llvm_int(e, 0)), some, next);
    llvm_enter(e, some);
    with = v[0];
    for (int k = 0; k < SUMS - 1; k++) {
        LLVMValueRef longer = llvm_op(e, LLVM_FADD, with, of_thread(g, f->wide, tail, k));
        with = llvm_select(e, llvm_compare(e, LLVM_INT_ULT, llvm_int(e, k), ntail), longer, with);
    }
    llvm_go(e, next);
    sum = llvm_phi(e, e->types[CBX_F64], v[0], here);
    llvm_incoming(e, sum, with, some);
    return sum;
}

void cbx__gpu_emit_fold_lanes(gpu_function *g, LLVMValueRef pos, LLVMValueRef count, LLVMValueRef leaf,
                              const LLVMValueRef *base)
{
    const llvm_emission *e = &g->e;
    const size_t nfolds = g->nest->nfolds;
    const int n = g->host ? SUMS : 1;
    LLVMValueRef whole = llvm_op(e, LLVM_AND, count, llvm_int(e, -SUMS)), ntail = llvm_op(e, LLVM_SUB, count, whole);
    LLVMValueRef own = llvm_op(e, LLVM_AND, g->thread, llvm_int(e, SUMS - 1)), v[CBX__MAX_STREAMS];
    lane of[CBX__MAX_STREAMS], all[CBX__MAX_STREAMS][SUMS];

    for (int k = 0; k < n; k++) {
        walk_lane(g, g->host ? llvm_int(e, k) : own, pos, count, whole, base, of);
        for (size_t f = 0; f < nfolds; f++) all[f][k] = of[f];
    }
    for (size_t f = 0; f < nfolds; f++) v[f] = joined_lanes(g, &g->nest->folds[f], all[f], ntail);
    LLVMBasicBlockRef store = llvm_block(e, "store");
    LLVMValueRef stores = g->host ? e->c->ConstInt(e->types[CBX_BOOL], 1, 0)
                                  : llvm_compare(e, LLVM_INT_EQ, own, llvm_int(e, 0));
    llvm_branch(e, stores, store, g->exit);
    llvm_enter(e, store);
    for (size_t f = 0; f < nfolds; f++) cbx__gpu_emit_store_leaf(g, f, leaf, v[f]);
    llvm_jump(e, g->exit);
}
