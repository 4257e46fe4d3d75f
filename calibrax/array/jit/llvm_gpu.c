/*
 * Nests as functions of a GPU (gpu_code.h).  A thread is one lane: the body of llvm_body.c with streams that begin at its element.
 * Shapes and steps are constants, so that divisions by them become products.
 */
#include <stdio.h>
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/cache.h"
#include "calibrax/array/jit/folds.h"
#include "calibrax/array/jit/gpu_code.h"
#include "calibrax/array/jit/llvm_emit.h"
#include "calibrax/array/reference/reduce.h"
#include "calibrax/base/text.h"
#include "calibrax/base/version.h"

#define PTX_VERSION 4 /* of what is made of a nest: raise it with every change of the functions that are emitted */
enum { SUMS = CBX__GPU_LANES, FUNCTIONS = 3, GLOBAL = 1 /* an address space */ };

/* The function that is being made. */
typedef struct gpu_function {
    llvm_emission e; /* first: of its kernel */
    bool host;
    const cbx__nest *nest;
    cbx__gpu_tree tree;
    LLVMValueRef thread, *parameters;
    LLVMValueRef gap; /* join: from one node to the next */
    LLVMValueRef *values;
    LLVMTypeRef pointer; /* to memory of the device */
    LLVMBasicBlockRef exit;
} gpu_function;

/* A fold on its way through a leaf. */
typedef struct leaf_fold {
    LLVMValueRef sums[SUMS], rest; /* in the tree */
    LLVMValueRef held;             /* else */
    LLVMValueRef next_sums[SUMS], next_rest;
} leaf_fold;

/* ---- entry ---- */

static LLVMValueRef special_register(const gpu_function *g, const char *name)
{
    LLVMValueRef v = cbx__llvm_intrinsic(&g->e, name, 0, NULL, 0, NULL);
    return g->e.c->BuildCast(g->e.builder, LLVM_ZEXT, v, g->e.i64, "");
}

/* How many groups of nodes join_I joins: of nodes / gap nodes, which are powers of 2. */
static LLVMValueRef groups_of(const gpu_function *g)
{
    LLVMValueRef nodes = llvm_op(&g->e, LLVM_UDIV, llvm_int(&g->e, (int64_t)g->tree.nodes), g->gap);
    nodes = llvm_op(&g->e, LLVM_ADD, nodes, llvm_int(&g->e, CBX__GPU_JOINED - 1));
    return llvm_op(&g->e, LLVM_UDIV, nodes, llvm_int(&g->e, CBX__GPU_JOINED));
}

/* Opens a function whose threads from `threads` on do nothing; the builder is in the first block of the others. */
static void open_function(gpu_function *g, const char *kind, size_t number, LLVMValueRef threads)
{
    const cbx__llvm_calls *c = g->e.c;
    const size_t n = cbx__gpu_parameters(g->nest);
    LLVMTypeRef types[2 * CBX__MAX_STREAMS + 3];
    char name[64];

    snprintf(name, sizeof name, "%s_%zu", kind, number);
    for (size_t i = 0; i < n; i++) types[i] = g->pointer;
    types[n] = g->e.i64;
    if (g->host) types[1] = g->e.i64;
    g->e.function = c->AddFunction(
        g->e.module, name,
        c->FunctionType(c->VoidTypeInContext(g->e.context), types, g->host ? 2 : (unsigned)n + 1, 0));
    llvm_no_unwind(&g->e, g->e.function);
    if (!g->host) c->SetFunctionCallConv(g->e.function, LLVM_PTX_KERNEL);
    LLVMBasicBlockRef entry = llvm_block(&g->e, "entry"), work = llvm_block(&g->e, "work");
    g->exit = llvm_block(&g->e, "exit");
    llvm_enter(&g->e, entry);
    for (size_t i = 0; i <= n; i++) {
        LLVMValueRef at = llvm_int(&g->e, (int64_t)i), v = NULL;
        if (g->host)
            v = c->BuildLoad2(g->e.builder, i < n ? g->pointer : g->e.i64,
                              c->BuildGEP2(g->e.builder, g->e.i64, c->GetParam(g->e.function, 0), &at, 1, ""), "");
        else
            v = c->GetParam(g->e.function, (unsigned)i);
        *(i < n ? &g->parameters[i] : &g->gap) = v;
    }
    g->e.outside = g->parameters[n - 1];
    if (g->host) {
        g->thread = c->GetParam(g->e.function, 1);
    } else {
        LLVMValueRef block = special_register(g, "llvm.nvvm.read.ptx.sreg.ctaid.x"),
                     size = special_register(g, "llvm.nvvm.read.ptx.sreg.ntid.x"),
                     own = special_register(g, "llvm.nvvm.read.ptx.sreg.tid.x");
        g->thread = llvm_op(&g->e, LLVM_ADD, llvm_op(&g->e, LLVM_MUL, block, size), own);
    }
    if (!threads) /* of join */
        threads = llvm_op(&g->e, LLVM_MUL, groups_of(g), llvm_int(&g->e, (int64_t)(g->tree.outer * g->tree.inner)));
    c->BuildCondBr(g->e.builder, llvm_compare(&g->e, LLVM_INT_ULT, g->thread, threads), work, g->exit);
    llvm_enter(&g->e, g->exit);
    c->BuildRetVoid(g->e.builder);
    llvm_enter(&g->e, work);
}

/* ---- places ---- */

static LLVMValueRef unsigned_op(const gpu_function *g, int op, LLVMValueRef a, size_t b, bool narrow)
{
    const llvm_emission *e = &g->e;
    if (!narrow) return llvm_op(e, op, a, llvm_int(e, (int64_t)b));
    a = e->c->BuildCast(e->builder, LLVM_TRUNC, a, e->i32, "");
    return e->c->BuildCast(e->builder, LLVM_ZEXT, llvm_op(e, op, a, e->c->ConstInt(e->i32, b, 0)), e->i64, "");
}

/* Index of point `at` along each of the folded or kept dimensions; at is below `count`. */
static void indices_of(const gpu_function *g, LLVMValueRef at, size_t count, bool gone, LLVMValueRef *index)
{
    const cbx__nest *n = g->nest;
    const bool narrow = count <= INT32_MAX;
    int first = 0;

    while (first < n->ndim && (n->gone >> first & 1) != gone) first++;
    for (int i = n->ndim - 1; i >= first; i--) {
        if ((n->gone >> i & 1) != gone) continue;
        index[i] = i == first ? at : unsigned_op(g, LLVM_UREM, at, n->shape[i], narrow);
        if (i > first) at = unsigned_op(g, LLVM_UDIV, at, n->shape[i], narrow);
    }
}

/* Bytes, or of a count its numbers, that a stream or result moves by the indices. */
static LLVMValueRef moved_by(const gpu_function *g, const cbx__site *site, bool gone, LLVMValueRef *index)
{
    LLVMValueRef by = llvm_int(&g->e, 0);

    for (int i = 0; i < g->nest->ndim; i++)
        if ((g->nest->gone >> i & 1) == gone && site->strides[i])
            by = llvm_op(&g->e, LLVM_ADD, by, llvm_op(&g->e, LLVM_MUL, index[i], llvm_int(&g->e, site->strides[i])));
    return by;
}

/* Streams to point `at` of the folded or kept dimensions, from where they are in from[]. */
static void move_streams(gpu_function *g, LLVMValueRef at, bool gone, const LLVMValueRef *from)
{
    const cbx__nest *n = g->nest;
    LLVMValueRef index[CBX_MAX_RANK] = { 0 };

    indices_of(g, at, cbx__nest_points(n, gone), gone, index);
    for (size_t s = 0; s < n->kernel.streams.n; s++) {
        llvm_stream *t = &g->e.streams[s];
        const bool count = n->kernel.streams.items[s].kind == CBX__STREAM_INDEX;
        t->inner = llvm_int(&g->e, 0);
        if (!count && n->sites[s].base == CBX__NO_VALUE) continue; /* of a fold */
        LLVMValueRef by = moved_by(g, &n->sites[s], gone, index);
        t->base = count ? llvm_op(&g->e, LLVM_ADD, from[s], by) : llvm_at(&g->e, from[s], by);
    }
}

/* Where streams begin: of a count its first number. */
static void first_places(const gpu_function *g, LLVMValueRef *first)
{
    const cbx__nest *n = g->nest;

    for (size_t s = 0; s < n->kernel.streams.n; s++)
        first[s] = n->kernel.streams.items[s].kind == CBX__STREAM_INDEX ? llvm_int(&g->e, n->sites[s].offset)
                                                                        : g->parameters[s];
}

/* All that is computed of the element where the streams are, and stored there. */
static void element(gpu_function *g)
{
    llvm_body body = { .lanes = 1, .i = llvm_int(&g->e, 0), .count = llvm_int(&g->e, 1), .values = g->values };

    cbx__llvm_load_scalars(&g->e);
    cbx__llvm_body(&g->e, &body);
    for (size_t o = 0; o < g->nest->kernel.nout; o++)
        if (g->nest->sites[o].base != CBX__NO_VALUE) cbx__llvm_store_output(&g->e, &body, o, false);
}

static void emit_map(gpu_function *g, size_t number)
{
    LLVMValueRef first[CBX__MAX_STREAMS];

    open_function(g, "nest", number, llvm_int(&g->e, (int64_t)cbx__gpu_threads(g->nest, g->host)));
    first_places(g, first);
    move_streams(g, g->thread, false, first);
    element(g);
    g->e.c->BuildBr(g->e.builder, g->exit);
}

/* ---- folds ---- */

static LLVMValueRef number_f64(const gpu_function *g, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return g->e.c->ConstBitCast(g->e.c->ConstInt(g->e.i64, bits, 0), g->e.types[CBX_F64]);
}

static LLVMValueRef beginning(const gpu_function *g, const cbx__nest_fold *f)
{
    const cbx__held h = cbx__fold_beginning(f);
    return f->wide == CBX_F64 ? number_f64(g, h.f) : g->e.c->ConstInt(g->e.types[f->wide], h.u, 0);
}

/* Whether the first of two extremes of floats is taken. */
static LLVMValueRef keeps_first(const gpu_function *g, const cbx__nest_fold *f, LLVMValueRef t, LLVMValueRef x)
{
    const llvm_emission *e = &g->e;
    LLVMValueRef other = f->skips_nan ? x : t;
    LLVMValueRef keeps = e->c->BuildFCmp(e->builder, f->prim == CBX_PRIM_REDUCE_MAX ? LLVM_REAL_OGE : LLVM_REAL_OLE, t,
                                         x, "");

    return llvm_op(e, LLVM_OR, keeps, e->c->BuildFCmp(e->builder, LLVM_REAL_UNE, other, other, ""));
}

/* As cbx__fold_joined; of sums in the tree the sum. */
static LLVMValueRef joined(const gpu_function *g, const cbx__nest_fold *f, LLVMValueRef t, LLVMValueRef x)
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
    if (flt) return e->c->BuildSelect(e->builder, keeps_first(g, f, t, x), t, x, "");
    keeps = llvm_compare(e,
                         f->wide == CBX_I64 ? max ? LLVM_INT_SGE : LLVM_INT_SLE
                         : max              ? LLVM_INT_UGE
                                            : LLVM_INT_ULE,
                         t, x);
    return e->c->BuildSelect(e->builder, keeps, t, x, "");
}

/* The numbers of leaves are kept as 64 bits. */
static LLVMValueRef leaf_address(const gpu_function *g, size_t fold, LLVMValueRef leaf)
{
    LLVMValueRef at = llvm_op(&g->e, LLVM_ADD, leaf, llvm_int(&g->e, (int64_t)(fold * g->tree.leaves)));
    return g->e.c->BuildGEP2(g->e.builder, g->e.i64, g->parameters[cbx__gpu_parameters(g->nest) - 2], &at, 1, "");
}

static LLVMValueRef to_bits(const gpu_function *g, cbx_dtype t, LLVMValueRef v)
{
    const llvm_emission *e = &g->e;
    if (t == CBX_F64) return e->c->BuildCast(e->builder, LLVM_BITCAST, v, e->i64, "");
    return t == CBX_BOOL ? e->c->BuildCast(e->builder, LLVM_ZEXT, v, e->i64, "") : v;
}

static LLVMValueRef from_bits(const gpu_function *g, cbx_dtype t, LLVMValueRef v)
{
    const llvm_emission *e = &g->e;
    if (t == CBX_F64) return e->c->BuildCast(e->builder, LLVM_BITCAST, v, e->types[t], "");
    return t == CBX_BOOL ? llvm_compare(e, LLVM_INT_NE, v, llvm_int(e, 0)) : v;
}

static void store_leaf(const gpu_function *g, size_t fold, LLVMValueRef leaf, LLVMValueRef v)
{
    v = to_bits(g, g->nest->folds[fold].wide, v);
    g->e.c->SetAlignment(g->e.c->BuildStore(g->e.builder, v, leaf_address(g, fold, leaf)), 8);
}

static LLVMValueRef load_leaf(const gpu_function *g, size_t fold, LLVMValueRef leaf)
{
    LLVMValueRef v = g->e.c->BuildLoad2(g->e.builder, g->e.i64, leaf_address(g, fold, leaf), "");

    g->e.c->SetAlignment(v, 8);
    return from_bits(g, g->nest->folds[fold].wide, v);
}

/* A number that changes nothing it is joined with. */
static LLVMValueRef identity(const gpu_function *g, const cbx__nest_fold *f)
{
    return cbx__in_tree(f) ? number_f64(g, -0.0) : beginning(g, f);
}

/* Leaf number `leaf` where it is to be read, else the identity; `near` is a leaf that can be read. */
static LLVMValueRef load_if(const gpu_function *g, size_t fold, LLVMValueRef leaf, LLVMValueRef is, LLVMValueRef near)
{
    const llvm_emission *e = &g->e;
    LLVMValueRef v = load_leaf(g, fold, e->c->BuildSelect(e->builder, is, leaf, near, ""));
    return e->c->BuildSelect(e->builder, is, v, identity(g, &g->nest->folds[fold]), "");
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
    *count = e->c->BuildSelect(e->builder, is_last, last, llvm_int(e, (int64_t)t->chunk), "");
    for (unsigned level = t->levels; level-- > 0;) {
        LLVMValueRef half = llvm_op(e, LLVM_AND, llvm_op(e, LLVM_LSHR, *count, llvm_int(e, 1)), llvm_int(e, -8));
        LLVMValueRef is_leaf = llvm_compare(e, LLVM_INT_ULE, *count, llvm_int(e, CBX__LEAF));
        LLVMValueRef left = e->c->BuildSelect(e->builder, is_leaf, *count, half, "");
        LLVMValueRef bit = llvm_op(e, LLVM_AND, node, llvm_int(e, INT64_C(1) << level));
        LLVMValueRef right = llvm_compare(e, LLVM_INT_NE, bit, llvm_int(e, 0));
        *pos = llvm_op(e, LLVM_ADD, *pos, e->c->BuildSelect(e->builder, right, left, llvm_int(e, 0), ""));
        *count = e->c->BuildSelect(e->builder, right, llvm_op(e, LLVM_SUB, *count, left), left, "");
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

/* Adds the element that was computed: to the 8 sums in turn, or behind them, where the builder goes on. */
static void add_element(gpu_function *g, leaf_fold *folds, LLVMValueRef i, LLVMValueRef whole)
{
    const llvm_emission *e = &g->e;
    const cbx__nest *n = g->nest;
    LLVMBasicBlockRef eights = llvm_block(e, "eights"), rest = llvm_block(e, "rest"), next = llvm_block(e, "next");
    LLVMValueRef behind = llvm_compare(e, LLVM_INT_EQ, i, whole), sum[CBX__MAX_STREAMS], x[CBX__MAX_STREAMS];

    for (size_t f = 0; f < n->nfolds; f++) {
        const cbx__nest_fold *fold = &n->folds[f];
        x[f] = g->values[n->kernel.streams.items[fold->stream].value];
        if (!cbx__in_tree(fold)) folds[f].held = joined(g, fold, folds[f].held, x[f]);
    }
    e->c->BuildCondBr(e->builder, llvm_compare(e, LLVM_INT_ULT, i, whole), eights, rest);
    llvm_enter(e, eights);
    for (size_t f = 0; f < n->nfolds; f++)
        if (cbx__in_tree(&n->folds[f])) sum[f] = llvm_op(e, LLVM_FADD, folds[f].sums[0], x[f]);
    e->c->BuildBr(e->builder, next);
    llvm_enter(e, rest);
    for (size_t f = 0; f < n->nfolds; f++) {
        if (!cbx__in_tree(&n->folds[f])) continue;
        LLVMValueRef before = e->c->BuildSelect(e->builder, behind, joined_sums(g, folds[f].sums), folds[f].rest, "");
        x[f] = llvm_op(e, LLVM_FADD, before, x[f]);
    }
    e->c->BuildBr(e->builder, next);
    llvm_enter(e, next);
    for (size_t f = 0; f < n->nfolds; f++) {
        leaf_fold *l = &folds[f];
        if (!cbx__in_tree(&n->folds[f])) continue;
        for (int k = 0; k < SUMS; k++) { /* each moves by one place, so that the next element's is the first */
            l->next_sums[k] = llvm_phi(e, e->types[CBX_F64]);
            llvm_incoming(e, l->next_sums[k], k + 1 < SUMS ? l->sums[k + 1] : sum[f], eights);
            llvm_incoming(e, l->next_sums[k], l->sums[k], rest);
        }
        l->next_rest = llvm_phi(e, e->types[CBX_F64]);
        llvm_incoming(e, l->next_rest, l->rest, eights);
        llvm_incoming(e, l->next_rest, x[f], rest);
    }
}

/* The elements pos .. pos + count - 1 of a result, where the streams are in base[]; each fold's number to leaf `leaf`. */
static void fold_leaf(gpu_function *g, LLVMValueRef pos, LLVMValueRef count, LLVMValueRef leaf,
                      const LLVMValueRef *base, leaf_fold *folds)
{
    const llvm_emission *e = &g->e;
    const cbx__nest *n = g->nest;
    LLVMBasicBlockRef before = e->c->GetInsertBlock(e->builder), head = llvm_block(e, "head"),
                      work = llvm_block(e, "element"), done = llvm_block(e, "done"), last;
    LLVMValueRef whole = llvm_op(e, LLVM_AND, count, llvm_int(e, -SUMS)), i, held[CBX__MAX_STREAMS];

    e->c->BuildBr(e->builder, head);
    llvm_enter(e, head);
    i = llvm_phi(e, e->i64);
    llvm_incoming(e, i, llvm_int(e, 0), before);
    for (size_t f = 0; f < n->nfolds; f++) {
        const bool in_tree = cbx__in_tree(&n->folds[f]);
        for (int k = 0; in_tree && k <= SUMS; k++) {
            LLVMValueRef *at = k < SUMS ? &folds[f].sums[k] : &folds[f].rest;
            *at = llvm_phi(e, e->types[CBX_F64]);
            llvm_incoming(e, *at, number_f64(g, -0.0), before);
        }
        if (in_tree) continue;
        held[f] = folds[f].held = llvm_phi(e, e->types[n->folds[f].wide]);
        llvm_incoming(e, held[f], beginning(g, &n->folds[f]), before);
    }
    e->c->BuildCondBr(e->builder, llvm_compare(e, LLVM_INT_ULT, i, count), work, done);

    llvm_enter(e, work);
    move_streams(g, llvm_op(e, LLVM_ADD, pos, i), true, base);
    element(g);
    add_element(g, folds, i, whole);
    last = e->c->GetInsertBlock(e->builder);
    llvm_incoming(e, i, llvm_op(e, LLVM_ADD, i, llvm_int(e, 1)), last);
    for (size_t f = 0; f < n->nfolds; f++) {
        const bool in_tree = cbx__in_tree(&n->folds[f]);
        for (int k = 0; in_tree && k < SUMS; k++) llvm_incoming(e, folds[f].sums[k], folds[f].next_sums[k], last);
        if (in_tree)
            llvm_incoming(e, folds[f].rest, folds[f].next_rest, last);
        else
            llvm_incoming(e, held[f], folds[f].held, last);
    }
    e->c->BuildBr(e->builder, head);

    llvm_enter(e, done);
    for (size_t f = 0; f < n->nfolds; f++) {
        LLVMValueRef v = held[f];
        if (cbx__in_tree(&n->folds[f]))
            v = e->c->BuildSelect(e->builder, llvm_compare(e, LLVM_INT_EQ, whole, count), joined_sums(g, folds[f].sums),
                                  folds[f].rest, "");
        store_leaf(g, f, leaf, v);
    }
    e->c->BuildBr(e->builder, g->exit);
}

/* ---- leaves by 8 threads ---- */

/* What one thread has of a leaf: sum 0 .. 7 of it, and the element behind all 8 sums that it computed. */
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
        l->value = c->BuildSelect(e->builder, summed, llvm_op(e, LLVM_FADD, l->value, x), l->value, "");
        l->tail = c->BuildSelect(e->builder, behind, x, l->tail, "");
    } else if (has_place(f)) {
        LLVMValueRef none = c->ConstInt(e->types[CBX_BOOL], 1, 0);
        LLVMValueRef keeps = c->BuildSelect(e->builder, is, keeps_first(g, f, l->value, x), none, "");
        l->value = c->BuildSelect(e->builder, keeps, l->value, x, "");
        l->at = c->BuildSelect(e->builder, keeps, l->at, i, "");
    } else {
        l->value = c->BuildSelect(e->builder, is, joined(g, f, l->value, x), l->value, "");
    }
}

/* Elements first, first + 8, ... of the leaf, several at a time so that their loads do not wait for each other. */
static void walk_lane(gpu_function *g, LLVMValueRef first, LLVMValueRef pos, LLVMValueRef count, LLVMValueRef whole,
                      const LLVMValueRef *base, lane *lanes)
{
    const llvm_emission *e = &g->e;
    const cbx__nest *n = g->nest;
    const unsigned at_once = n->kernel.instr.n <= 16 ? 4 : n->kernel.instr.n <= 48 ? 2 : 1;
    LLVMBasicBlockRef before = e->c->GetInsertBlock(e->builder), head = llvm_block(e, "head"),
                      work = llvm_block(e, "elements"), done = llvm_block(e, "done"), last;
    LLVMValueRef begin, x[CBX__MAX_STREAMS];
    lane *l = lanes, was[CBX__MAX_STREAMS];

    e->c->BuildBr(e->builder, head);
    llvm_enter(e, head);
    begin = llvm_phi(e, e->i64);
    llvm_incoming(e, begin, first, before);
    for (size_t f = 0; f < n->nfolds; f++) {
        const cbx__nest_fold *fold = &n->folds[f];
        was[f] = (lane){ llvm_phi(e, e->types[fold->wide]), llvm_phi(e, e->types[fold->wide]), llvm_phi(e, e->i64) };
        llvm_incoming(e, was[f].value, identity(g, fold), before);
        llvm_incoming(e, was[f].tail, identity(g, fold), before);
        llvm_incoming(e, was[f].at, llvm_int(e, INT64_MAX), before);
        l[f] = was[f];
    }
    e->c->BuildCondBr(e->builder, llvm_compare(e, LLVM_INT_ULT, begin, count), work, done);
    llvm_enter(e, work);
    for (unsigned u = 0; u < at_once; u++) {
        LLVMValueRef i = u ? llvm_op(e, LLVM_ADD, begin, llvm_int(e, u * SUMS)) : begin;
        LLVMValueRef is = llvm_compare(e, LLVM_INT_ULT, i, count);
        LLVMValueRef readable = u ? e->c->BuildSelect(e->builder, is, i, begin, "") : begin;
        move_streams(g, llvm_op(e, LLVM_ADD, pos, readable), true, base);
        element(g);
        for (size_t f = 0; f < n->nfolds; f++) x[f] = g->values[n->kernel.streams.items[n->folds[f].stream].value];
        for (size_t f = 0; f < n->nfolds; f++) add_to_lane(g, &l[f], &n->folds[f], x[f], i, is, whole);
    }
    last = e->c->GetInsertBlock(e->builder);
    llvm_incoming(e, begin, llvm_op(e, LLVM_ADD, begin, llvm_int(e, at_once * SUMS)), last);
    for (size_t f = 0; f < n->nfolds; f++) {
        llvm_incoming(e, was[f].value, l[f].value, last);
        llvm_incoming(e, was[f].tail, l[f].tail, last);
        llvm_incoming(e, was[f].at, l[f].at, last);
        l[f] = was[f];
    }
    e->c->BuildBr(e->builder, head);
    llvm_enter(e, done);
}

/* The number of 64 bits of another of the 8 threads: that whose number differs in the bits of `by`, or thread `by` itself. */
static LLVMValueRef shuffled(const gpu_function *g, const char *how, LLVMValueRef v, int by)
{
    const llvm_emission *e = &g->e;
    LLVMValueRef group = cbx__llvm_intrinsic(e, "llvm.nvvm.read.ptx.sreg.laneid", 0, NULL, 0, NULL), part[2];

    group = llvm_op(e, LLVM_AND, group, e->c->ConstInt(e->i32, 24, 0));
    group = llvm_op(e, LLVM_SHL, e->c->ConstInt(e->i32, 0xff, 0), group); /* the threads that take part */
    for (int k = 0; k < 2; k++) {
        LLVMValueRef half = k ? llvm_op(e, LLVM_LSHR, v, llvm_int(e, 32)) : v;
        LLVMValueRef args[] = { group, e->c->BuildCast(e->builder, LLVM_TRUNC, half, e->i32, ""),
                                e->c->ConstInt(e->i32, (uint64_t)by, 0), e->c->ConstInt(e->i32, 0x181f, 0) };
        part[k] = e->c->BuildCast(e->builder, LLVM_ZEXT, cbx__llvm_intrinsic(e, how, 0, NULL, 4, args), e->i64, "");
    }
    return llvm_op(e, LLVM_OR, part[0], llvm_op(e, LLVM_SHL, part[1], llvm_int(e, 32)));
}

/* What thread k ^ by has, beside what thread k has: of a GPU every thread is k, of a CPU one function has all 8. */
static LLVMValueRef of_other(const gpu_function *g, cbx_dtype t, const LLVMValueRef *v, int k, int by)
{
    if (g->host) return v[k ^ by];
    return from_bits(g, t, shuffled(g, "llvm.nvvm.shfl.sync.bfly.i32", to_bits(g, t, v[k]), by));
}

static LLVMValueRef of_thread(const gpu_function *g, cbx_dtype t, const LLVMValueRef *v, int k)
{
    if (g->host) return v[k];
    return from_bits(g, t, shuffled(g, "llvm.nvvm.shfl.sync.idx.i32", to_bits(g, t, v[0]), k));
}

/* Both of a pair of threads get the two joined. */
static void join_pair(gpu_function *g, const cbx__nest_fold *f, LLVMValueRef *value, LLVMValueRef *at,
                      LLVMValueRef other, LLVMValueRef there)
{
    const llvm_emission *e = &g->e;

    if (!has_place(f)) {
        *value = joined(g, f, *value, other);
        return;
    }
    LLVMValueRef first = llvm_compare(e, LLVM_INT_ULE, *at, there);
    LLVMValueRef t = e->c->BuildSelect(e->builder, first, *value, other, "");
    LLVMValueRef x = e->c->BuildSelect(e->builder, first, other, *value, "");
    LLVMValueRef t_at = e->c->BuildSelect(e->builder, first, *at, there, "");
    LLVMValueRef x_at = e->c->BuildSelect(e->builder, first, there, *at, "");
    LLVMValueRef keeps = keeps_first(g, f, t, x);
    *value = e->c->BuildSelect(e->builder, keeps, t, x, "");
    *at = e->c->BuildSelect(e->builder, keeps, t_at, x_at, "");
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
    LLVMBasicBlockRef here = e->c->GetInsertBlock(e->builder), some = llvm_block(e, "tail"),
                      next = llvm_block(e, "next");
    e->c->BuildCondBr(e->builder, llvm_compare(e, LLVM_INT_NE, ntail, llvm_int(e, 0)), some, next);
    llvm_enter(e, some);
    with = v[0];
    for (int k = 0; k < SUMS - 1; k++) {
        LLVMValueRef longer = llvm_op(e, LLVM_FADD, with, of_thread(g, f->wide, tail, k));
        with = e->c->BuildSelect(e->builder, llvm_compare(e, LLVM_INT_ULT, llvm_int(e, k), ntail), longer, with, "");
    }
    e->c->BuildBr(e->builder, next);
    llvm_enter(e, next);
    sum = llvm_phi(e, e->types[CBX_F64]);
    llvm_incoming(e, sum, v[0], here);
    llvm_incoming(e, sum, with, some);
    return sum;
}

static void fold_lanes(gpu_function *g, LLVMValueRef pos, LLVMValueRef count, LLVMValueRef leaf,
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
    e->c->BuildCondBr(e->builder, stores, store, g->exit);
    llvm_enter(e, store);
    for (size_t f = 0; f < nfolds; f++) store_leaf(g, f, leaf, v[f]);
    e->c->BuildBr(e->builder, g->exit);
}

static void emit_leaves(gpu_function *g, size_t number)
{
    const llvm_emission *e = &g->e;
    const cbx__gpu_tree *t = &g->tree;
    const bool narrow = t->leaves <= INT32_MAX / SUMS, by_rows = t->inner == 1;
    LLVMValueRef first[CBX__MAX_STREAMS], base[CBX__MAX_STREAMS], leaf, in, node, outer, result, chunk, pos, count;
    leaf_fold folds[CBX__MAX_STREAMS];

    open_function(g, "nest", number, llvm_int(e, (int64_t)cbx__gpu_threads(g->nest, g->host)));
    first_places(g, first);
    leaf = by_rows && !g->host ? llvm_op(e, LLVM_LSHR, g->thread, llvm_int(e, 3)) : g->thread;
    in = unsigned_op(g, LLVM_UREM, leaf, t->inner ? t->inner : 1, narrow);
    outer = unsigned_op(g, LLVM_UDIV, leaf, t->inner ? t->inner : 1, narrow);
    node = unsigned_op(g, LLVM_UREM, outer, t->nodes, narrow);
    outer = unsigned_op(g, LLVM_UDIV, outer, t->nodes, narrow);
    result = by_rows ? unsigned_op(g, LLVM_UREM, outer, t->results ? t->results : 1, narrow) : in;
    chunk = by_rows ? unsigned_op(g, LLVM_UDIV, outer, t->results ? t->results : 1, narrow) : outer;
    move_streams(g, result, false, first);
    for (size_t s = 0; s < g->nest->kernel.streams.n; s++) base[s] = g->e.streams[s].base;
    leaf_extent(g, chunk, node, &pos, &count);
    if (by_rows)
        fold_lanes(g, pos, count, leaf, base);
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

    open_function(g, "join", number, NULL);
    groups = groups_of(g);
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
            for (size_t k = 0; k < n; k++) v[k] = joined(g, &g->nest->folds[f], v[2 * k], v[2 * k + 1]);
        store_leaf(g, f, leaf, v[0]);
    }
    e->c->BuildBr(e->builder, g->exit);
}

static void store_result(gpu_function *g, size_t fold, LLVMValueRef v, LLVMValueRef *index)
{
    const llvm_emission *e = &g->e;
    const cbx__nest_fold *f = &g->nest->folds[fold];
    const cbx__kinstr convert = { .op = CBX__K_CAST, .dtype = (uint8_t)f->to };
    LLVMValueRef to = llvm_at(e, g->parameters[g->nest->kernel.streams.n + fold],
                              moved_by(g, &f->result, false, index));

    v = cbx__llvm_to_memory(e, f->to, cbx__llvm_instruction(e, 1, &convert, f->wide, v, NULL, NULL), 1);
    e->c->SetAlignment(e->c->BuildStore(e->builder, v, to), (unsigned)cbx__dtype_size(f->to));
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

    open_function(g, "finish", number, llvm_int(e, (int64_t)t->results));
    before = e->c->GetInsertBlock(e->builder);
    head = llvm_block(e, "head");
    work = llvm_block(e, "chunk");
    done = llvm_block(e, "done");
    first = t->inner == 1 ? llvm_op(e, LLVM_MUL, g->thread, llvm_int(e, (int64_t)t->nodes)) : g->thread;
    indices_of(g, g->thread, t->results, false, index);
    e->c->BuildBr(e->builder, head);
    llvm_enter(e, head);
    chunk = llvm_phi(e, e->i64);
    llvm_incoming(e, chunk, llvm_int(e, 0), before);
    for (size_t f = 0; f < n->nfolds; f++) {
        held[f] = llvm_phi(e, e->types[n->folds[f].wide]);
        llvm_incoming(e, held[f], beginning(g, &n->folds[f]), before);
    }
    e->c->BuildCondBr(e->builder, llvm_compare(e, LLVM_INT_ULT, chunk, llvm_int(e, (int64_t)t->chunks)), work, done);
    llvm_enter(e, work);
    LLVMValueRef step = llvm_int(e, (int64_t)(t->results * t->nodes));
    for (size_t f = 0; f < n->nfolds; f++) {
        LLVMValueRef v = held[f];
        for (size_t k = 0; k < at_once; k++) {
            LLVMValueRef own = llvm_op(e, LLVM_ADD, chunk, llvm_int(e, (int64_t)k));
            LLVMValueRef is = llvm_compare(e, LLVM_INT_ULT, own, llvm_int(e, (int64_t)t->chunks));
            x[k] = load_if(g, f, llvm_op(e, LLVM_ADD, first, llvm_op(e, LLVM_MUL, own, step)), is, first);
        }
        for (size_t k = 0; k < at_once; k++) v = joined(g, &n->folds[f], v, x[k]);
        llvm_incoming(e, held[f], v, work);
    }
    llvm_incoming(e, chunk, llvm_op(e, LLVM_ADD, chunk, llvm_int(e, (int64_t)(at_once ? at_once : 1))), work);
    e->c->BuildBr(e->builder, head);
    llvm_enter(e, done);
    for (size_t f = 0; f < n->nfolds; f++) store_result(g, f, held[f], index);
    e->c->BuildBr(e->builder, g->exit);
}

/* ---- modules ---- */

static cbx_status emit_nest(gpu_function *g, size_t number, const cbx__nest *n, cbx_arena *arena,
                            LLVMValueRef *functions, cbx_err *err)
{
    g->nest = n;
    g->tree = n->nfolds ? cbx__gpu_tree_of(n) : (cbx__gpu_tree){ 0 };
    g->parameters = cbx_arena_calloc(arena, cbx__gpu_parameters(n), sizeof *g->parameters);
    if (!g->parameters || !cbx__llvm_begin(&g->e, &n->kernel, arena, &g->values))
        return cbx_fail_nomem(err, "functions for a GPU");
    g->e.native = g->e.narrow = g->e.wide = 1;
    if (n->nfolds == 0) {
        emit_map(g, number);
        functions[0] = g->e.function;
        return CBX_OK;
    }
    if (g->tree.chunks) {
        emit_leaves(g, number);
        functions[0] = g->e.function;
        emit_join(g, number);
        functions[1] = g->e.function;
    }
    emit_finish(g, number);
    functions[2] = g->e.function;
    return CBX_OK;
}

static cbx_status make_module(cbx_ctx *ctx, cbx__llvm *l, const cbx__llvm_target *t, bool host, size_t n,
                              const cbx__nest *const *nests, gpu_function *g, cbx_err *err)
{
    cbx_arena arena;
    cbx_status st = CBX_OK;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    LLVMValueRef *functions = cbx_arena_calloc(&arena, FUNCTIONS * n + 1, sizeof *functions);
    if (!functions) st = cbx_fail_nomem(err, "functions for a GPU");
    *g = (gpu_function){ .host = host, .e = { .c = &l->c, .target = t } };
    cbx__llvm_open_module(&g->e, host ? l->triple : CBX__PTX_TRIPLE, "nests");
    g->pointer = l->c.PointerTypeInContext(g->e.context, host ? 0 : GLOBAL);
    for (size_t i = 0; !st && i < n; i++)
        if (nests[i]) st = emit_nest(g, i, nests[i], &arena, functions + FUNCTIONS * i, err);
    if (!st && host) {
        for (size_t i = 0; i < FUNCTIONS * n; i++)
            if (!functions[i]) functions[i] = l->c.ConstNull(g->e.pointer);
        LLVMValueRef table = l->c.AddGlobal(g->e.module, l->c.ArrayType2(g->e.pointer, FUNCTIONS * n), "cbx_nests");
        l->c.SetInitializer(table, l->c.ConstArray2(g->e.pointer, functions, FUNCTIONS * n));
        l->c.SetGlobalConstant(table, 1);
    }
    l->c.DisposeBuilder(g->e.builder);
    cbx_arena_clear(&arena);
    return st;
}

/*
 * PTX with absolute values as operations on bits: NVIDIA's assembler (12.9, 13.0) assumes that the
 * result of abs.f32 is at least 0, also where it is NaN, and LLVM makes abs of such operations.
 */
static void put_ptx(cbx_text *out, const char *ptx, size_t len)
{
    static const char name[] = "abs.f";
    const char *end = ptx + len, *at;

    while ((at = memmem(ptx, (size_t)(end - ptx), name, sizeof name - 1))) {
        const char *operands = at + sizeof name + 1, *stop = memchr(at, ';', (size_t)(end - at));
        const bool wide = at[sizeof name - 1] == '6';
        cbx_text_add(out, ptx, (size_t)(at - ptx));
        cbx_text_puts(out, wide ? "and.b64" : "and.b32");
        cbx_text_add(out, operands, (size_t)(stop - operands));
        cbx_text_puts(out, wide ? ", 0x7fffffffffffffff" : ", 0x7fffffff");
        ptx = stop;
    }
    cbx_text_add(out, ptx, (size_t)(end - ptx));
}

static cbx_status compile(cbx_ctx *ctx, bool host, size_t n, const cbx__nest *const *nests, cbx_text *out, cbx_err *err)
{
    const cbx__llvm_target *target = NULL;
    LLVMMemoryBufferRef image = NULL;
    gpu_function g;
    cbx__llvm *l = NULL;
    cbx_status st = cbx__llvm_enter(ctx, &l, err);

    if (st) return st;
    st = host ? cbx__llvm_target_get(l, cbx_isa_best(), &target, err) : cbx__llvm_target_ptx(ctx, l, &target, err);
    if (!st) {
        st = make_module(ctx, l, target, host, n, nests, &g, err);
        if (!st) st = cbx__llvm_emit(l, target, g.e.module, host ? LLVM_OBJECT_FILE : LLVM_ASSEMBLY_FILE, &image, err);
        l->c.DisposeModule(g.e.module);
        l->c.ContextDispose(g.e.context);
    }
    if (!st) {
        if (host)
            cbx_text_add(out, l->c.GetBufferStart(image), l->c.GetBufferSize(image));
        else
            put_ptx(out, l->c.GetBufferStart(image), l->c.GetBufferSize(image));
        l->c.DisposeMemoryBuffer(image);
    }
    cbx__llvm_leave();
    return st ? st : cbx_text_check(out, err);
}

/* ---- on disk ---- */

static void put_numbers(cbx_text *t, size_t n, const int64_t *v) { cbx_text_add(t, (const char *)v, n * sizeof *v); }

static void put_site(cbx_text *t, const cbx__nest *n, const cbx__site *site, bool count)
{
    put_numbers(t, 2, (const int64_t[]){ site->base == CBX__NO_VALUE, count ? site->offset : 0 });
    for (int i = 0; i < n->ndim; i++) put_numbers(t, 1, (const int64_t[]){ site->strides[i] });
}

/* All that the functions of a nest depend on. */
static void put_nest(cbx_text *t, const cbx__nest *n)
{
    put_numbers(t, 3, (const int64_t[]){ n->ndim, n->gone, n->chunked });
    for (int i = 0; i < n->ndim; i++) put_numbers(t, 1, (const int64_t[]){ (int64_t)n->shape[i] });
    cbx__llvm_put_kernel(t, &n->kernel);
    for (size_t s = 0; s < n->kernel.streams.n; s++)
        put_site(t, n, &n->sites[s], n->kernel.streams.items[s].kind == CBX__STREAM_INDEX);
    put_numbers(t, 1, (const int64_t[]){ (int64_t)n->nfolds });
    for (size_t f = 0; f < n->nfolds; f++) {
        const cbx__nest_fold *x = &n->folds[f];
        put_numbers(t, 5, (const int64_t[]){ x->prim, x->skips_nan, x->stream, x->wide, x->to });
        put_site(t, n, &x->result, false);
    }
}

cbx_status cbx__gpu_code(cbx_ctx *ctx, bool host, size_t n, const cbx__nest *const *nests, cbx_text *out, cbx_err *err)
{
    cbx_text key;
    char *data = NULL;
    size_t len = 0;
    bool hit = false;
    cbx_status st;

    if (host) return compile(ctx, host, n, nests, out, err);
    cbx_text_init(&key, cbx_ctx_allocator(ctx));
    cbx_text_printf(&key, "PTX %d, %s, LLVM 19, %zu", PTX_VERSION, cbx_revision(), n);
    for (size_t i = 0; i < n; i++) {
        cbx_text_puts(&key, nests[i] ? "+" : "-");
        if (nests[i]) put_nest(&key, nests[i]);
    }
    st = cbx_text_check(&key, err);
    if (!st) st = cbx__jit_cache_load(ctx, key.data, key.len, &hit, &data, &len, err);
    if (!st && hit) {
        cbx_text_add(out, data, len);
        cbx_mem_free(cbx_ctx_allocator(ctx), data, len);
        st = cbx_text_check(out, err);
    } else if (!st) {
        const size_t before = out->len;
        st = compile(ctx, host, n, nests, out, err);
        if (!st) st = cbx__jit_cache_store(ctx, key.data, key.len, out->data + before, out->len - before, err);
    }
    cbx_text_clear(&key);
    return st;
}
