/*
 * Folds as functions of a GPU: leaves of the tree of sums, the joining of its nodes, and results
 * (gpu_code.h).
 */
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/folds.h"
#include "calibrax/array/jit/llvm_gpu.h"
#include "calibrax/array/reference/reduce.h"

/* A fold on its way through a leaf. */
typedef struct leaf_fold {
    LLVMValueRef sums[SUMS], rest; /* in the tree */
    LLVMValueRef held;             /* else */
    LLVMValueRef next_sums[SUMS], next_rest;
} leaf_fold;

static LLVMValueRef minus_zero(const gpu_function *g) { return cbx__llvm_number(&g->e, CBX_F64, UINT64_C(1) << 63); }

static LLVMValueRef beginning(const gpu_function *g, const cbx__nest_fold *f)
{
    return cbx__llvm_number(&g->e, f->wide, cbx__fold_beginning(f).u);
}

/* Whether the first of two extremes of floats is taken. */
LLVMValueRef cbx__gpu_emit_keeps_first(const gpu_function *g, const cbx__nest_fold *f, LLVMValueRef t, LLVMValueRef x)
{
    const llvm_emission *e = &g->e;
    LLVMValueRef other = f->skips_nan ? x : t;
    LLVMValueRef keeps = llvm_compare_floats(e, f->prim == CBX_PRIM_REDUCE_MAX ? LLVM_REAL_OGE : LLVM_REAL_OLE, t, x);

    return llvm_op(e, LLVM_OR, keeps, llvm_compare_floats(e, LLVM_REAL_UNE, other, other));
}

/* As cbx__fold_joined; of sums in the tree the sum. */
LLVMValueRef cbx__gpu_emit_joined(const gpu_function *g, const cbx__nest_fold *f, LLVMValueRef t, LLVMValueRef x)
{
    const llvm_emission *e = &g->e;
    const bool max = f->prim == CBX_PRIM_REDUCE_MAX, flt = f->wide == CBX_F64;
    LLVMValueRef keeps;

    switch (f->prim) {
    case CBX_PRIM_SUM: return llvm_op(e, flt ? LLVM_FADD : LLVM_ADD, t, x);
    case CBX_PRIM_PROD: return llvm_op(e, LLVM_MUL, t, x);
    case CBX_PRIM_ANY: return llvm_op(e, LLVM_OR, t, x);
    case CBX_PRIM_ALL: return llvm_op(e, LLVM_AND, t, x);
    default: break;
    }
    if (flt) return llvm_select(e, cbx__gpu_emit_keeps_first(g, f, t, x), t, x);
    keeps = llvm_compare(e,
                         f->wide == CBX_I64 ? max ? LLVM_INT_SGE : LLVM_INT_SLE
                         : max              ? LLVM_INT_UGE
                                            : LLVM_INT_ULE,
                         t, x);
    return llvm_select(e, keeps, t, x);
}

/* The numbers of leaves are kept as 64 bits. */
static LLVMValueRef leaf_address(const gpu_function *g, size_t fold, LLVMValueRef leaf)
{
    LLVMValueRef at = llvm_op(&g->e, LLVM_ADD, leaf, llvm_int(&g->e, (int64_t)(fold * g->tree.leaves)));
    return llvm_item(&g->e, g->e.i64, g->parameters[cbx__gpu_parameters(g->nest) - 2], at);
}

LLVMValueRef cbx__gpu_emit_to_bits(const gpu_function *g, cbx_dtype t, LLVMValueRef v)
{
    const llvm_emission *e = &g->e;
    if (t == CBX_F64) return llvm_cast(e, LLVM_BITCAST, v, e->i64);
    return t == CBX_BOOL ? llvm_cast(e, LLVM_ZEXT, v, e->i64) : v;
}

LLVMValueRef cbx__gpu_emit_from_bits(const gpu_function *g, cbx_dtype t, LLVMValueRef v)
{
    const llvm_emission *e = &g->e;
    if (t == CBX_F64) return llvm_cast(e, LLVM_BITCAST, v, e->types[t]);
    return t == CBX_BOOL ? llvm_compare(e, LLVM_INT_NE, v, llvm_int(e, 0)) : v;
}

void cbx__gpu_emit_store_leaf(const gpu_function *g, size_t fold, LLVMValueRef leaf, LLVMValueRef v)
{
    v = cbx__gpu_emit_to_bits(g, g->nest->folds[fold].wide, v);
    cbx__llvm_put(&g->e, v, leaf_address(g, fold, leaf), 8);
}

/* A number that changes nothing it is joined with. */
LLVMValueRef cbx__gpu_emit_identity(const gpu_function *g, const cbx__nest_fold *f)
{
    return cbx__in_tree(f) ? minus_zero(g) : beginning(g, f);
}

/* Leaf number `leaf` where it is to be read, else the identity; `near` is a leaf that can
 * be read. */
static LLVMValueRef load_if(const gpu_function *g, size_t fold, LLVMValueRef leaf, LLVMValueRef is, LLVMValueRef near)
{
    const llvm_emission *e = &g->e;
    const cbx__nest_fold *f = &g->nest->folds[fold];
    LLVMValueRef v = cbx__llvm_load(e, e->i64, leaf_address(g, fold, llvm_select(e, is, leaf, near)), 8);

    return llvm_select(e, is, cbx__gpu_emit_from_bits(g, f->wide, v), cbx__gpu_emit_identity(g, f));
}

/* Elements of a leaf: first and how many, from the path to it, a bit a level. */
static void leaf_extent(const gpu_function *g, LLVMValueRef chunk, LLVMValueRef node, LLVMValueRef *pos,
                        LLVMValueRef *count)
{
    const llvm_emission *e = &g->e;
    const cbx__gpu_tree *t = &g->tree;
    LLVMValueRef last = llvm_int(e, (int64_t)(t->length - (t->chunks - 1) * t->chunk));
    LLVMValueRef is_last = llvm_compare(e, LLVM_INT_EQ, chunk, llvm_int(e, (int64_t)t->chunks - 1));

    *pos = llvm_op(e, LLVM_MUL, chunk, llvm_int(e, (int64_t)t->chunk));
    *count = llvm_select(e, is_last, last, llvm_int(e, (int64_t)t->chunk));
    for (unsigned level = t->levels; level-- > 0;) {
        LLVMValueRef half = llvm_op(e, LLVM_AND, llvm_op(e, LLVM_LSHR, *count, llvm_int(e, 1)), llvm_int(e, -8));
        LLVMValueRef is_leaf = llvm_compare(e, LLVM_INT_ULE, *count, llvm_int(e, CBX__LEAF));
        LLVMValueRef left = llvm_select(e, is_leaf, *count, half);
        LLVMValueRef bit = llvm_op(e, LLVM_AND, node, llvm_int(e, INT64_C(1) << level));
        LLVMValueRef right = llvm_compare(e, LLVM_INT_NE, bit, llvm_int(e, 0));
        *pos = llvm_op(e, LLVM_ADD, *pos, llvm_select(e, right, left, llvm_int(e, 0)));
        *count = llvm_select(e, right, llvm_op(e, LLVM_SUB, *count, left), left);
    }
}

static LLVMValueRef joined_sums(const gpu_function *g, LLVMValueRef *r)
{
    LLVMValueRef v[SUMS];

    memcpy(v, r, sizeof v);
    for (int n = SUMS / 2; n > 0; n /= 2)
        for (int i = 0; i < n; i++) v[i] = llvm_op(&g->e, LLVM_FADD, v[2 * i], v[2 * i + 1]);
    return v[0];
}

/* Adds the element that was computed: to the 8 sums in turn, or behind them, where the builder
 * goes on. */
static void add_element(gpu_function *g, leaf_fold *folds, LLVMValueRef i, LLVMValueRef whole)
{
    const llvm_emission *e = &g->e;
    const cbx__nest *n = g->nest;
    LLVMBasicBlockRef eights = llvm_block(e, "eights"), rest = llvm_block(e, "rest"), next = llvm_block(e, "next");
    LLVMValueRef behind = llvm_compare(e, LLVM_INT_EQ, i, whole), sum[CBX__MAX_STREAMS], x[CBX__MAX_STREAMS];

    for (size_t f = 0; f < n->nfolds; f++) {
        const cbx__nest_fold *fold = &n->folds[f];
        x[f] = g->values[n->kernel.streams.items[fold->stream].value];
        if (!cbx__in_tree(fold)) folds[f].held = cbx__gpu_emit_joined(g, fold, folds[f].held, x[f]);
    }
    llvm_branch(e, llvm_compare(e, LLVM_INT_ULT, i, whole), eights, rest);
    llvm_enter(e, eights);
    for (size_t f = 0; f < n->nfolds; f++)
        if (cbx__in_tree(&n->folds[f])) sum[f] = llvm_op(e, LLVM_FADD, folds[f].sums[0], x[f]);
    llvm_jump(e, next);
    llvm_enter(e, rest);
    for (size_t f = 0; f < n->nfolds; f++) {
        if (!cbx__in_tree(&n->folds[f])) continue;
        LLVMValueRef before = llvm_select(e, behind, joined_sums(g, folds[f].sums), folds[f].rest);
        x[f] = llvm_op(e, LLVM_FADD, before, x[f]);
    }
    llvm_go(e, next);
    for (size_t f = 0; f < n->nfolds; f++) {
        leaf_fold *l = &folds[f];
        if (!cbx__in_tree(&n->folds[f])) continue;
        for (int k = 0; k < SUMS; k++) { /* each moves by one place, so that the next element's is the first */
            l->next_sums[k] = llvm_phi(e, e->types[CBX_F64], k + 1 < SUMS ? l->sums[k + 1] : sum[f], eights);
            llvm_incoming(e, l->next_sums[k], l->sums[k], rest);
        }
        l->next_rest = llvm_phi(e, e->types[CBX_F64], l->rest, eights);
        llvm_incoming(e, l->next_rest, x[f], rest);
    }
}

/* The elements pos .. pos + count - 1 of a result, where the streams are in base[]; each fold's
 * number to leaf `leaf`. */
static void fold_leaf(gpu_function *g, LLVMValueRef pos, LLVMValueRef count, LLVMValueRef leaf,
                      const LLVMValueRef *base, leaf_fold *folds)
{
    const llvm_emission *e = &g->e;
    const cbx__nest *n = g->nest;
    LLVMBasicBlockRef before = llvm_here(e), head = llvm_block(e, "head"), work = llvm_block(e, "element"),
                      done = llvm_block(e, "done"), last;
    LLVMValueRef whole = llvm_op(e, LLVM_AND, count, llvm_int(e, -SUMS)), i, held[CBX__MAX_STREAMS];

    llvm_go(e, head);
    i = llvm_phi(e, e->i64, llvm_int(e, 0), before);
    for (size_t f = 0; f < n->nfolds; f++) {
        const bool in_tree = cbx__in_tree(&n->folds[f]);
        for (int k = 0; in_tree && k <= SUMS; k++) {
            LLVMValueRef *at = k < SUMS ? &folds[f].sums[k] : &folds[f].rest;
            *at = llvm_phi(e, e->types[CBX_F64], minus_zero(g), before);
        }
        if (in_tree) continue;
        held[f] = folds[f].held = llvm_phi(e, e->types[n->folds[f].wide], beginning(g, &n->folds[f]), before);
    }
    llvm_branch(e, llvm_compare(e, LLVM_INT_ULT, i, count), work, done);

    llvm_enter(e, work);
    cbx__gpu_emit_move_streams(g, llvm_op(e, LLVM_ADD, pos, i), true, base);
    cbx__gpu_emit_element(g);
    add_element(g, folds, i, whole);
    last = llvm_here(e);
    llvm_incoming(e, i, llvm_op(e, LLVM_ADD, i, llvm_int(e, 1)), last);
    for (size_t f = 0; f < n->nfolds; f++) {
        const bool in_tree = cbx__in_tree(&n->folds[f]);
        for (int k = 0; in_tree && k < SUMS; k++) llvm_incoming(e, folds[f].sums[k], folds[f].next_sums[k], last);
        if (in_tree)
            llvm_incoming(e, folds[f].rest, folds[f].next_rest, last);
        else
            llvm_incoming(e, held[f], folds[f].held, last);
    }
    llvm_jump(e, head);

    llvm_enter(e, done);
    for (size_t f = 0; f < n->nfolds; f++) {
        LLVMValueRef v = held[f];
        if (cbx__in_tree(&n->folds[f]))
            v = llvm_select(e, llvm_compare(e, LLVM_INT_EQ, whole, count), joined_sums(g, folds[f].sums),
                            folds[f].rest);
        cbx__gpu_emit_store_leaf(g, f, leaf, v);
    }
    llvm_jump(e, g->exit);
}

static void emit_leaves(gpu_function *g, size_t number)
{
    const llvm_emission *e = &g->e;
    const cbx__gpu_tree *t = &g->tree;
    const bool narrow = t->leaves <= INT32_MAX / SUMS, by_rows = t->inner == 1;
    LLVMValueRef first[CBX__MAX_STREAMS], base[CBX__MAX_STREAMS], leaf, in, node, outer, result, chunk, pos, count;
    leaf_fold folds[CBX__MAX_STREAMS];

    cbx__gpu_emit_open_function(g, "nest", number, llvm_int(e, (int64_t)cbx__gpu_threads(g->nest, g->host)));
    cbx__gpu_emit_first_places(g, first);
    leaf = by_rows && !g->host ? llvm_op(e, LLVM_LSHR, g->thread, llvm_int(e, 3)) : g->thread;
    in = cbx__gpu_emit_unsigned_op(g, LLVM_UREM, leaf, t->inner ? t->inner : 1, narrow);
    outer = cbx__gpu_emit_unsigned_op(g, LLVM_UDIV, leaf, t->inner ? t->inner : 1, narrow);
    node = cbx__gpu_emit_unsigned_op(g, LLVM_UREM, outer, t->nodes, narrow);
    outer = cbx__gpu_emit_unsigned_op(g, LLVM_UDIV, outer, t->nodes, narrow);
    result = by_rows ? cbx__gpu_emit_unsigned_op(g, LLVM_UREM, outer, t->results ? t->results : 1, narrow) : in;
    chunk = by_rows ? cbx__gpu_emit_unsigned_op(g, LLVM_UDIV, outer, t->results ? t->results : 1, narrow) : outer;
    cbx__gpu_emit_move_streams(g, result, false, first);
    for (size_t s = 0; s < g->nest->kernel.streams.n; s++) base[s] = g->e.streams[s].base;
    leaf_extent(g, chunk, node, &pos, &count);
    if (by_rows)
        cbx__gpu_emit_fold_lanes(g, pos, count, leaf, base);
    else
        fold_leaf(g, pos, count, leaf, base, folds);
}

/* A group of nodes, each `gap` behind the one before, to the first of them. */
static void emit_join(gpu_function *g, size_t number)
{
    const llvm_emission *e = &g->e;
    const cbx__gpu_tree *t = &g->tree;
    const size_t max = t->nodes < CBX__GPU_JOINED ? t->nodes : CBX__GPU_JOINED;
    LLVMValueRef inner = llvm_int(e, (int64_t)(t->inner ? t->inner : 1)), nodes = llvm_int(e, (int64_t)t->nodes);
    LLVMValueRef groups, in, outer, first, leaf, v[CBX__GPU_JOINED], at[CBX__GPU_JOINED], is[CBX__GPU_JOINED];

    cbx__gpu_emit_open_function(g, "join", number, NULL);
    groups = cbx__gpu_emit_groups_of(g);
    in = llvm_op(e, LLVM_UREM, g->thread, inner);
    outer = llvm_op(e, LLVM_UDIV, g->thread, inner);
    first = llvm_op(e, LLVM_MUL, llvm_op(e, LLVM_UREM, outer, groups),
                    llvm_op(e, LLVM_MUL, g->gap, llvm_int(e, CBX__GPU_JOINED)));
    outer = llvm_op(e, LLVM_UDIV, outer, groups);
    leaf = llvm_op(e, LLVM_ADD, llvm_op(e, LLVM_MUL, outer, nodes), first);
    leaf = llvm_op(e, LLVM_ADD, llvm_op(e, LLVM_MUL, leaf, inner), in);
    for (size_t k = 0; k < max; k++) {
        LLVMValueRef behind = llvm_op(e, LLVM_MUL, g->gap, llvm_int(e, (int64_t)k));
        is[k] = llvm_compare(e, LLVM_INT_ULT, llvm_op(e, LLVM_ADD, first, behind), nodes);
        at[k] = llvm_op(e, LLVM_ADD, leaf, llvm_op(e, LLVM_MUL, behind, inner));
    }
    for (size_t f = 0; f < g->nest->nfolds; f++) {
        for (size_t k = 0; k < max; k++) v[k] = load_if(g, f, at[k], is[k], leaf);
        for (size_t n = max / 2; n > 0; n /= 2)
            for (size_t k = 0; k < n; k++) v[k] = cbx__gpu_emit_joined(g, &g->nest->folds[f], v[2 * k], v[2 * k + 1]);
        cbx__gpu_emit_store_leaf(g, f, leaf, v[0]);
    }
    llvm_jump(e, g->exit);
}

static void store_result(gpu_function *g, size_t fold, LLVMValueRef v, LLVMValueRef *index)
{
    const llvm_emission *e = &g->e;
    const cbx__nest_fold *f = &g->nest->folds[fold];
    const cbx__kinstr convert = { .op = CBX__K_CAST, .dtype = (uint8_t)f->to };
    LLVMValueRef to = llvm_at(e, g->parameters[g->nest->kernel.streams.n + fold],
                              cbx__gpu_emit_moved_by(g, &f->result, false, index)),
                 in[3] = { v };

    v = cbx__llvm_to_memory(e, f->to, cbx__llvm_instruction(e, 1, &convert, f->wide, in), 1);
    cbx__llvm_put(e, v, to, cbx__dtype_size(f->to));
}

/* The first node of each chunk, in order, several loads at a time. */
static void emit_finish(gpu_function *g, size_t number)
{
    const llvm_emission *e = &g->e;
    const cbx__nest *n = g->nest;
    const cbx__gpu_tree *t = &g->tree;
    const size_t at_once = t->chunks < CBX__GPU_JOINED ? t->chunks : CBX__GPU_JOINED;
    LLVMBasicBlockRef before, head, work, done;
    LLVMValueRef index[CBX_MAX_RANK] = { 0 }, held[CBX__MAX_STREAMS], x[CBX__GPU_JOINED], first, chunk;

    cbx__gpu_emit_open_function(g, "finish", number, llvm_int(e, (int64_t)t->results));
    before = llvm_here(e);
    head = llvm_block(e, "head");
    work = llvm_block(e, "chunk");
    done = llvm_block(e, "done");
    first = t->inner == 1 ? llvm_op(e, LLVM_MUL, g->thread, llvm_int(e, (int64_t)t->nodes)) : g->thread;
    cbx__gpu_emit_indices_of(g, g->thread, t->results, false, index);
    llvm_go(e, head);
    chunk = llvm_phi(e, e->i64, llvm_int(e, 0), before);
    for (size_t f = 0; f < n->nfolds; f++) {
        held[f] = llvm_phi(e, e->types[n->folds[f].wide], beginning(g, &n->folds[f]), before);
    }
    llvm_branch(e, llvm_compare(e, LLVM_INT_ULT, chunk, llvm_int(e, (int64_t)t->chunks)), work, done);
    llvm_enter(e, work);
    LLVMValueRef step = llvm_int(e, (int64_t)(t->results * t->nodes));
    for (size_t f = 0; f < n->nfolds; f++) {
        LLVMValueRef v = held[f];
        for (size_t k = 0; k < at_once; k++) {
            LLVMValueRef own = llvm_op(e, LLVM_ADD, chunk, llvm_int(e, (int64_t)k));
            LLVMValueRef is = llvm_compare(e, LLVM_INT_ULT, own, llvm_int(e, (int64_t)t->chunks));
            x[k] = load_if(g, f, llvm_op(e, LLVM_ADD, first, llvm_op(e, LLVM_MUL, own, step)), is, first);
        }
        for (size_t k = 0; k < at_once; k++) v = cbx__gpu_emit_joined(g, &n->folds[f], v, x[k]);
        llvm_incoming(e, held[f], v, work);
    }
    llvm_incoming(e, chunk, llvm_op(e, LLVM_ADD, chunk, llvm_int(e, (int64_t)(at_once ? at_once : 1))), work);
    llvm_jump(e, head);
    llvm_enter(e, done);
    for (size_t f = 0; f < n->nfolds; f++) store_result(g, f, held[f], index);
    llvm_jump(e, g->exit);
}

void cbx__gpu_emit_folds(gpu_function *g, size_t number, LLVMValueRef *functions)
{
    if (g->tree.chunks) {
        emit_leaves(g, number);
        functions[0] = g->e.function;
        emit_join(g, number);
        functions[1] = g->e.function;
    }
    emit_finish(g, number);
    functions[2] = g->e.function;
}
