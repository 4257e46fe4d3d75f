/* Nests on a device: their functions, and the launches of one. */
#include "calibrax/array/jit/gpu_memory.h"

#include <string.h>

#include "calibrax/array/fn_internal.h"
#include "calibrax/array/jit/loops.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/text.h"

enum { NEST, JOIN, FINISH, HEAD_BYTES = 256 /* of the memory of a run: the number that threads set */ };

static bool has_function(const cbx__nest *n, int kind)
{
    if (!n) return false;
    if (n->nfolds == 0) return kind == NEST;
    return kind == FINISH || cbx__gpu_tree_of(n).chunks > 0;
}

static cbx_status load_functions(cbx__gpu_nests *g, const cbx_text *image, cbx_err *err)
{
    cbx_status st = g->gpu->load(g->gpu, image, &g->module, err);

    for (size_t i = 0; !st && i < g->n; i++)
        for (int kind = NEST; !st && kind <= FINISH; kind++)
            if (has_function(g->taken[i], kind))
                st = g->gpu->function(g->gpu, g->module, i, kind, &g->functions[i][kind], err);
    return st;
}

/* Where no code can be made the device takes nothing, and g->why is the reason. */
static cbx_status make_functions(cbx_ctx *ctx, cbx__gpu_nests *g, cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT; /* a record that the context reads must not see it */
    cbx_status st;

    CBX_SCOPED(cbx_text, image, cbx_ctx_allocator(ctx));
    st = cbx__gpu_code(ctx, g->gpu->host, g->n, g->taken, &image, &why);
    if (!st) st = load_functions(g, &image, &why);
    if (st == CBX_EUNAVAILABLE || st == CBX_EUNSUPPORTED) { /* no LLVM; a driver that does not take the code */
        memcpy(g->why, why.message, sizeof g->why);
        memset(g->taken, 0, g->n * sizeof *g->taken);
        st = CBX_OK;
    }
    if (st) (void)cbx_fail(err, st, "%s", why.message);
    return st;
}

cbx_status cbx__gpu_nests_create(cbx_ctx *ctx, cbx__gpu *gpu, size_t n, const cbx__nest *nests, size_t nconstants,
                                 cbx__gpu_nests **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx__gpu_nests *g = cbx_mem_zalloc(al, sizeof *g);
    bool any = false;
    cbx_status st = CBX_OK;

    if (!g) return cbx_fail_nomem(err, "functions for a GPU");
    *g = (cbx__gpu_nests){ .al = *al, .gpu = gpu, .n = n, .nconstants = nconstants };
    g->taken = cbx_mem_calloc(al, n + 1, sizeof *g->taken);
    g->functions = cbx_mem_calloc(al, n + 1, sizeof *g->functions);
    g->constants = cbx_mem_calloc(al, nconstants + 1, sizeof(cbx_array *));
    if (!g->taken || !g->functions || !g->constants) st = cbx_fail_nomem(err, "functions for a GPU");
    for (size_t i = 0; !st && i < n; i++) {
        if (cbx__gpu_takes(&nests[i], NULL)) continue;
        g->taken[i] = &nests[i];
        any = true;
    }
    if (!st && any) st = make_functions(ctx, g, err);
    return CBX_FINISH(st, *out = g, cbx__gpu_nests_free(g));
}

void cbx__gpu_nests_free(cbx__gpu_nests *g)
{
    cbx_allocator al;

    if (!g) return;
    al = g->al;
    if (g->module) {
        (void)g->gpu->wait(g->gpu, NULL); /* its functions may still run */
        g->gpu->unload(g->gpu, g->module);
    }
    if (g->constants) cbx__arrays_free(g->nconstants, g->constants);
    if (g->constants) cbx_mem_free(&al, g->constants, (g->nconstants + 1) * sizeof(cbx_array *));
    if (g->taken) cbx_mem_free(&al, g->taken, (g->n + 1) * sizeof *g->taken);
    if (g->functions) cbx_mem_free(&al, g->functions, (g->n + 1) * sizeof *g->functions);
    cbx_mem_free(&al, g, sizeof *g);
}

/* The tree from its leaves to each chunk's first node, then the results. */
static cbx_status finish_folds(const cbx__gpu_nests *g, size_t i, void **parameters, size_t n, cbx_err *err)
{
    const cbx__gpu_tree t = cbx__gpu_tree_of(g->taken[i]);
    void *const *fn = g->functions[i];
    cbx_status st = CBX_OK;

    for (size_t gap = 1; !st && gap < t.nodes; gap *= CBX__GPU_JOINED) {
        const size_t nodes = t.nodes / gap, groups = (nodes + CBX__GPU_JOINED - 1) / CBX__GPU_JOINED;
        parameters[n - 1] = (void *)(uintptr_t)gap;
        st = g->gpu->launch(g->gpu, fn[JOIN], t.outer * t.inner * groups, parameters, n, err);
    }
    return st ? st : g->gpu->launch(g->gpu, fn[FINISH], t.results, parameters, n, err);
}

cbx_status cbx__gpu_nest_run(cbx_ctx *ctx, const cbx__gpu_nests *g, size_t i, void *const *streams,
                             void *const *results, bool *left, cbx_err *err)
{
    const cbx__nest *nest = g->taken[i];
    const size_t nstreams = nest->kernel.streams.n, n = cbx__gpu_parameters(nest) + 1,
                 threads = cbx__gpu_threads(nest, g->gpu->host);
    const size_t leaves = nest->nfolds ? cbx__gpu_tree_of(nest).leaves : 0;
    const bool may_leave = cbx__gpu_may_leave(nest);
    const uint32_t none = 0;
    const size_t bytes = HEAD_BYTES + (nest->nfolds ? nest->nfolds * leaves * sizeof(uint64_t) : 0);
    void *parameters[2 * CBX__MAX_STREAMS + 3] = { 0 }, *memory = NULL;
    size_t capacity = 0;
    uint32_t set = 0;
    cbx_status st = CBX_OK;

    *left = false;
    if (may_leave || nest->nfolds) st = cbx__gpu_get(ctx, g->gpu, bytes, &memory, &capacity, err);
    if (!st && may_leave) st = g->gpu->upload(g->gpu, memory, &none, sizeof none, err);
    if (st) goto done;
    memcpy(parameters, streams, nstreams * sizeof *parameters);
    if (nest->nfolds) memcpy(parameters + nstreams, results, nest->nfolds * sizeof *parameters);
    parameters[n - 3] = memory ? (char *)memory + HEAD_BYTES : NULL;
    parameters[n - 2] = memory;
    if (threads) st = g->gpu->launch(g->gpu, g->functions[i][NEST], threads, parameters, n, err);
    if (!st && nest->nfolds) st = finish_folds(g, i, parameters, n, err);
    if (!st && may_leave) st = g->gpu->download(g->gpu, &set, memory, sizeof set, err);
    *left = set != 0;
done:
    if (memory) cbx__gpu_put(g->gpu, memory, capacity);
    return st;
}
