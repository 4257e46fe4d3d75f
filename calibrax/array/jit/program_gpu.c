/* Programs on a device: values go there when a nest reads them, and come back when something
 * else does. */
#include "calibrax/array/jit/program_gpu.h"

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/loops.h"

cbx_status cbx__program_nests(cbx_ctx *ctx, cbx__program *p, cbx__gpu *gpu, const cbx__gpu_nests **out, cbx_err *err)
{
    cbx_status st = CBX_OK;
    size_t i = 0;

    pthread_mutex_lock(&p->lock);
    while (i < CBX_LEN(p->on_gpu) - 1 && p->on_gpu[i] && p->on_gpu[i]->gpu != gpu) i++;
    if (!p->on_gpu[i])
        st = cbx__gpu_nests_create(ctx, gpu, p->nnests, p->nests, p->graph->values.n, &p->on_gpu[i], err);
    if (!st) *out = p->on_gpu[i];
    pthread_mutex_unlock(&p->lock);
    return st;
}

cbx_status cbx__gpu_begin(cbx__run *r, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t v = 0; !st && v < r->p->graph->values.n; v++) {
        if (!r->env[v] || !(r->env[v]->flags & CBX__ELSEWHERE)) continue;
        st = cbx__gpu_dense(r->ctx, r->nests->gpu, r->env[v], &r->there[v], err);
        cbx_array_free(r->env[v]);
        r->env[v] = NULL;
        r->stays = true;
    }
    return st;
}

cbx_status cbx__gpu_fetch(const cbx__run *r, cbx__vid v, cbx_err *err)
{
    return r->env[v] || !r->there[v] ? CBX_OK : cbx__array_fetch(r->ctx, r->there[v], &r->env[v], err);
}

/* All values that a step reads become arrays on the CPU. */
static cbx_status fetch_step(const cbx__run *r, const cbx__step *step, cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (step->node != CBX__NO_INDEX) {
        const cbx__node *node = &r->p->graph->nodes.items[step->node];
        for (uint32_t i = 0; !st && i < node->nin; i++) st = cbx__gpu_fetch(r, node->in[i], err);
        return st;
    }
    const cbx__nest *n = &r->p->nests[step->nest];
    for (size_t s = n->kernel.nout; !st && s < n->kernel.streams.n; s++)
        if (n->sites[s].base != CBX__NO_VALUE) st = cbx__gpu_fetch(r, n->sites[s].base, err);
    return st;
}

void cbx__gpu_drop(const cbx__run *r, cbx__vid v)
{
    if (!r->there) return;
    cbx_array_free(r->there[v]);
    r->there[v] = NULL;
}

cbx_status cbx__gpu_send(const cbx__run *r, cbx__vid v, cbx_err *err)
{
    cbx_array **kept = &r->nests->constants[v];
    cbx_status st = CBX_OK;

    if (r->there[v]) return CBX_OK;
    if (!r->p->graph->values.items[v].constant)
        return cbx__gpu_upload(r->ctx, r->nests->gpu, r->env[v], &r->there[v], err);
    pthread_mutex_lock(&r->p->lock); /* sent by whoever needs it first */
    if (!*kept) st = cbx__gpu_upload(r->ctx, r->nests->gpu, r->env[v], kept, err);
    r->there[v] = cbx_array_ref(*kept);
    pthread_mutex_unlock(&r->p->lock);
    return st;
}

cbx_status cbx__gpu_step(const cbx__run *r, const cbx__step *step, bool *done, cbx_err *err)
{
    const cbx__nest *n = step->node == CBX__NO_INDEX ? r->nests->taken[step->nest] : NULL;
    void *streams[CBX__MAX_STREAMS] = { 0 }, *results[CBX__MAX_STREAMS] = { 0 };
    bool left = false;
    cbx_status st = CBX_OK;

    *done = false;
    if (!n) return fetch_step(r, step, err);
    for (size_t i = 0; !st && i < step->nmade; i++)
        st = cbx__gpu_array(r->ctx, r->nests->gpu, &r->p->graph->values.items[step->made[i]].desc,
                            &r->there[step->made[i]], err);
    for (size_t s = 0; !st && s < n->kernel.streams.n; s++) {
        const cbx__vid v = n->sites[s].base;
        if (v == CBX__NO_VALUE) continue;
        st = cbx__gpu_send(r, v, err);
        if (!st) streams[s] = (char *)r->there[v]->data + n->sites[s].offset;
    }
    for (size_t f = 0; !st && f < n->nfolds; f++)
        results[f] = (char *)r->there[n->folds[f].result.base]->data + n->folds[f].result.offset;
    if (!st) st = cbx__gpu_nest_run(r->ctx, r->nests, step->nest, streams, results, &left, err);
    *done = !st && !left;
    if (st || *done) return st;
    for (size_t i = 0; i < step->nmade; i++) cbx__gpu_drop(r, step->made[i]);
    return fetch_step(r, step, err);
}
