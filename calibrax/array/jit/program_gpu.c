/* Programs on a device: values go there when a nest reads them, and come back when something else does. */
#include "calibrax/array/jit/program_gpu.h"

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/loops.h"

cbx_status cbx__program_nests(cbx_ctx *ctx, cbx__program *p, cbx__gpu *gpu, const cbx__gpu_nests **out, cbx_err *err)
{
    cbx_status st = CBX_OK;
    size_t i = 0;

    pthread_mutex_lock(&p->lock);
    while (i < CBX_LEN(p->on_gpu) - 1 && p->on_gpu[i] && p->on_gpu[i]->gpu != gpu) i++;
    if (!p->on_gpu[i]) st = cbx__gpu_nests_create(ctx, gpu, p->nnests, p->nests, &p->on_gpu[i], err);
    if (!st) *out = p->on_gpu[i];
    pthread_mutex_unlock(&p->lock);
    return st;
}

static size_t bytes_of(const cbx__program *p, cbx__vid v)
{
    const cbx_array_desc *d = &p->graph->values.items[v].desc;
    size_t n = cbx__dtype_size(d->dtype);

    for (int i = 0; i < d->ndim; i++) n *= d->shape[i];
    return n;
}

cbx_status cbx__gpu_fetch(cbx_ctx *ctx, const cbx__program *p, const cbx__gpu_run *r, cbx__vid v, cbx_err *err)
{
    cbx__gpu *g = r->nests ? r->nests->gpu : NULL;
    const size_t bytes = bytes_of(p, v);
    cbx_array *a = NULL;
    cbx_status st;

    if (!g || r->env[v] || !r->at[v]) return CBX_OK;
    st = cbx_array_create(ctx, &p->graph->values.items[v].desc, &a, err);
    if (!st && bytes) st = g->download(g, a->data, r->at[v], bytes, err);
    if (st)
        cbx_array_free(a);
    else
        r->env[v] = a;
    return st;
}

cbx_status cbx__gpu_fetch_step(cbx_ctx *ctx, const cbx__program *p, const cbx__gpu_run *r, const cbx__step *step,
                               cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (!r->nests) return CBX_OK;
    if (step->node != CBX__NO_INDEX) {
        const cbx__node *node = &p->graph->nodes.items[step->node];
        for (uint32_t i = 0; !st && i < node->nin; i++) st = cbx__gpu_fetch(ctx, p, r, node->in[i], err);
        return st;
    }
    const cbx__nest *n = &p->nests[step->nest];
    for (size_t s = n->kernel.nout; !st && s < n->kernel.streams.n; s++)
        if (n->sites[s].base != CBX__NO_VALUE) st = cbx__gpu_fetch(ctx, p, r, n->sites[s].base, err);
    return st;
}

void cbx__gpu_drop(const cbx__gpu_run *r, cbx__vid v)
{
    if (!r->nests || !r->at[v]) return;
    r->nests->gpu->free(r->nests->gpu, r->at[v]);
    r->at[v] = NULL;
}

/* A value that is to be read there; an array is sent without gaps. */
static cbx_status send(cbx_ctx *ctx, const cbx__program *p, const cbx__gpu_run *r, cbx__vid v, cbx_err *err)
{
    cbx__gpu *g = r->nests->gpu;
    const size_t bytes = bytes_of(p, v);
    cbx_array *dense = NULL;
    cbx_status st;

    if (r->at[v]) return CBX_OK;
    st = cbx__array_dense(ctx, r->env[v], &dense, err);
    if (!st) st = g->alloc(g, bytes, &r->at[v], err);
    if (!st && bytes) st = g->upload(g, r->at[v], dense->data, bytes, err);
    cbx_array_free(dense);
    return st;
}

cbx_status cbx__gpu_step(cbx_ctx *ctx, const cbx__program *p, const cbx__gpu_run *r, const cbx__step *step, bool *done,
                         cbx_err *err)
{
    const cbx__nest *n = r->nests && step->node == CBX__NO_INDEX ? r->nests->taken[step->nest] : NULL;
    void *streams[CBX__MAX_STREAMS] = { 0 }, *results[CBX__MAX_STREAMS] = { 0 };
    bool left = false;
    cbx_status st = CBX_OK;

    *done = false;
    if (!n) return cbx__gpu_fetch_step(ctx, p, r, step, err);
    cbx__gpu *g = r->nests->gpu;
    for (size_t i = 0; !st && i < step->nmade; i++)
        st = g->alloc(g, bytes_of(p, step->made[i]), &r->at[step->made[i]], err);
    for (size_t s = 0; !st && s < n->kernel.streams.n; s++) {
        const cbx__vid v = n->sites[s].base;
        if (v == CBX__NO_VALUE) continue;
        st = send(ctx, p, r, v, err);
        if (!st) streams[s] = (char *)r->at[v] + n->sites[s].offset;
    }
    for (size_t f = 0; !st && f < n->nfolds; f++)
        results[f] = (char *)r->at[n->folds[f].result.base] + n->folds[f].result.offset;
    if (!st) st = cbx__gpu_nest_run(r->nests, step->nest, streams, results, &left, err);
    *done = !st && !left;
    if (st || *done) return st;
    for (size_t i = 0; i < step->nmade; i++) cbx__gpu_drop(r, step->made[i]);
    return cbx__gpu_fetch_step(ctx, p, r, step, err);
}
