/*
 * Nests as functions of a GPU (gpu_code.h).  A thread is one lane: the body of llvm_body.c with
 * streams that begin at its element.
 * Shapes and steps are constants, so that divisions by them become products.
 */
#include "calibrax/array/jit/llvm_gpu.h"

#include <stdio.h>
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/cache.h"
#include "calibrax/array/jit/folds.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/text.h"
#include "calibrax/base/version.h"

#define PTX_VERSION 4 /* of what is made of a nest: raise it with every change of the functions that are emitted */
enum { GLOBAL = 1 /* an address space */ };

/* ---- entry ---- */

static LLVMValueRef special_register(const gpu_function *g, const char *name)
{
    LLVMValueRef v = cbx__llvm_intrinsic(&g->e, name, 0, NULL, 0, NULL);
    return llvm_cast(&g->e, LLVM_ZEXT, v, g->e.i64);
}

/* How many groups of nodes join_I joins: of nodes / gap nodes, which are powers of 2. */
LLVMValueRef cbx__gpu_emit_groups_of(const gpu_function *g)
{
    LLVMValueRef nodes = llvm_op(&g->e, LLVM_UDIV, llvm_int(&g->e, (int64_t)g->tree.nodes), g->gap);
    nodes = llvm_op(&g->e, LLVM_ADD, nodes, llvm_int(&g->e, CBX__GPU_JOINED - 1));
    return llvm_op(&g->e, LLVM_UDIV, nodes, llvm_int(&g->e, CBX__GPU_JOINED));
}

/* Opens a function whose threads from `threads` on do nothing; the builder is in the first block of
 * the others. */
void cbx__gpu_emit_open_function(gpu_function *g, const char *kind, size_t number, LLVMValueRef threads)
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
        LLVMValueRef v = c->GetParam(g->e.function, g->host ? 0 : (unsigned)i);
        if (g->host) v = llvm_item(&g->e, g->e.i64, v, llvm_int(&g->e, (int64_t)i));
        if (g->host) v = c->BuildLoad2(g->e.builder, i < n ? g->pointer : g->e.i64, v, "");
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
        threads = llvm_op(&g->e, LLVM_MUL, cbx__gpu_emit_groups_of(g),
                          llvm_int(&g->e, (int64_t)(g->tree.outer * g->tree.inner)));
    llvm_branch(&g->e, llvm_compare(&g->e, LLVM_INT_ULT, g->thread, threads), work, g->exit);
    llvm_enter(&g->e, g->exit);
    c->BuildRetVoid(g->e.builder);
    llvm_enter(&g->e, work);
}

/* ---- places ---- */

LLVMValueRef cbx__gpu_emit_unsigned_op(const gpu_function *g, int op, LLVMValueRef a, size_t b, bool narrow)
{
    const llvm_emission *e = &g->e;
    if (!narrow) return llvm_op(e, op, a, llvm_int(e, (int64_t)b));
    a = llvm_cast(e, LLVM_TRUNC, a, e->i32);
    return llvm_cast(e, LLVM_ZEXT, llvm_op(e, op, a, llvm_word(e, b)), e->i64);
}

/* Index of point `at` along each of the folded or kept dimensions; at is below `count`. */
void cbx__gpu_emit_indices_of(const gpu_function *g, LLVMValueRef at, size_t count, bool gone, LLVMValueRef *index)
{
    const cbx__nest *n = g->nest;
    const bool narrow = count <= INT32_MAX;
    int first = 0;

    while (first < n->ndim && (n->gone >> first & 1) != gone) first++;
    for (int i = n->ndim - 1; i >= first; i--) {
        if ((n->gone >> i & 1) != gone) continue;
        index[i] = i == first ? at : cbx__gpu_emit_unsigned_op(g, LLVM_UREM, at, n->shape[i], narrow);
        if (i > first) at = cbx__gpu_emit_unsigned_op(g, LLVM_UDIV, at, n->shape[i], narrow);
    }
}

/* Bytes, or of a count its numbers, that a stream or result moves by the indices. */
LLVMValueRef cbx__gpu_emit_moved_by(const gpu_function *g, const cbx__site *site, bool gone, LLVMValueRef *index)
{
    LLVMValueRef by = llvm_int(&g->e, 0);

    for (int i = 0; i < g->nest->ndim; i++)
        if ((g->nest->gone >> i & 1) == gone && site->strides[i])
            by = llvm_op(&g->e, LLVM_ADD, by, llvm_op(&g->e, LLVM_MUL, index[i], llvm_int(&g->e, site->strides[i])));
    return by;
}

/* Streams to point `at` of the folded or kept dimensions, from where they are in from[]. */
void cbx__gpu_emit_move_streams(gpu_function *g, LLVMValueRef at, bool gone, const LLVMValueRef *from)
{
    const cbx__nest *n = g->nest;
    LLVMValueRef index[CBX_MAX_RANK] = { 0 };

    cbx__gpu_emit_indices_of(g, at, cbx__nest_points(n, gone), gone, index);
    for (size_t s = 0; s < n->kernel.streams.n; s++) {
        llvm_stream *t = &g->e.streams[s];
        const bool count = n->kernel.streams.items[s].kind == CBX__STREAM_INDEX;
        t->inner = llvm_int(&g->e, 0);
        if (!count && n->sites[s].base == CBX__NO_VALUE) continue; /* of a fold */
        LLVMValueRef by = cbx__gpu_emit_moved_by(g, &n->sites[s], gone, index);
        t->base = count ? llvm_op(&g->e, LLVM_ADD, from[s], by) : llvm_at(&g->e, from[s], by);
    }
}

/* Where streams begin: of a count its first number. */
void cbx__gpu_emit_first_places(const gpu_function *g, LLVMValueRef *first)
{
    const cbx__nest *n = g->nest;

    for (size_t s = 0; s < n->kernel.streams.n; s++)
        first[s] = n->kernel.streams.items[s].kind == CBX__STREAM_INDEX ? llvm_int(&g->e, n->sites[s].offset)
                                                                        : g->parameters[s];
}

/* All that is computed of the element where the streams are, and stored there. */
void cbx__gpu_emit_element(gpu_function *g)
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

    cbx__gpu_emit_open_function(g, "nest", number, llvm_int(&g->e, (int64_t)cbx__gpu_threads(g->nest, g->host)));
    cbx__gpu_emit_first_places(g, first);
    cbx__gpu_emit_move_streams(g, g->thread, false, first);
    cbx__gpu_emit_element(g);
    llvm_jump(&g->e, g->exit);
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
    cbx__gpu_emit_folds(g, number, functions);
    return CBX_OK;
}

static cbx_status make_module(cbx_ctx *ctx, cbx__llvm *l, const cbx__llvm_target *t, bool host, size_t n,
                              const cbx__nest *const *nests, gpu_function *g, cbx_err *err)
{
    cbx_status st = CBX_OK;

    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    LLVMValueRef *functions = cbx_arena_calloc(&arena, FUNCTIONS * n + 1, sizeof *functions);
    if (!functions) st = cbx_fail_nomem(err, "functions for a GPU");
    *g = (gpu_function){ .host = host, .e = { .c = &l->c, .target = t } };
    cbx__llvm_open_module(&g->e, "nests");
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
    st = host ? cbx__llvm_target_get(l, cbx_isa_best(), &target, err)
              : cbx__llvm_target_other(ctx, l, CBX__LLVM_PTX, &target, err);
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
    char *data = NULL;
    size_t len = 0;
    bool hit = false;
    cbx_status st;

    if (host) return compile(ctx, host, n, nests, out, err);
    CBX_SCOPED(cbx_text, key, cbx_ctx_allocator(ctx));
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
    return st;
}
