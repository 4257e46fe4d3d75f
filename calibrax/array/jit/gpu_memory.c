/*
 * Memory of a device.  Blocks that are given back wait for the next request of their size, since
 * the driver's calls for memory wait for all kernels.
 */
#include "calibrax/array/jit/gpu_memory.h"

#include <string.h>

#include "calibrax/array/device/internal.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/pool_internal.h"

#define EXACT ((size_t)64 << 20) /* larger blocks are rounded to a multiple of STEP alone */
#define STEP  ((size_t)2 << 20)

static cbx_status read_memory(const cbx__memory *m, void *to, const void *from, size_t bytes, cbx_err *err)
{
    cbx__gpu *g = (cbx__gpu *)(uintptr_t)m;
    return g->download(g, to, from, bytes, err);
}

static cbx_status wait_memory(const cbx__memory *m, cbx_err *err)
{
    cbx__gpu *g = (cbx__gpu *)(uintptr_t)m;
    return g->wait(g, err);
}

static cbx_status pack_memory(const cbx__memory *m, cbx_ctx *ctx, const cbx_array *a, cbx_array **out, cbx_err *err)
{
    return cbx__gpu_pack_there(ctx, (cbx__gpu *)(uintptr_t)m, a, out, err);
}

cbx__memory cbx__gpu_memory(cbx_device_id id)
{
    return (cbx__memory){ .device = id, .read = read_memory, .wait = wait_memory, .pack = pack_memory };
}

cbx__gpu *cbx__gpu_of(const cbx_array *a)
{
    return a->memory && a->memory->read == read_memory ? (cbx__gpu *)(uintptr_t)a->memory : NULL;
}

/* ---- blocks ---- */

static cbx__gpu_usage *usage_of(const cbx__gpu *g) { return cbx__gpu_usage_of(g->memory.device.index); }

static size_t capacity_of(size_t bytes)
{
    if (bytes > SIZE_MAX / 4) return 0;
    return bytes > EXACT ? (bytes + STEP - 1) / STEP * STEP : cbx__pool_class(bytes);
}

/* A block that was given back; NULL: no such block. */
static void *take_kept(cbx__gpu *g, size_t capacity)
{
    void *p = NULL;

    pthread_mutex_lock(&g->lock);
    for (size_t i = g->nkept; i-- > 0 && !p;) {
        if (g->kept[i].bytes != capacity) continue;
        p = g->kept[i].p;
        memmove(&g->kept[i], &g->kept[i + 1], (--g->nkept - i) * sizeof *g->kept);
        atomic_fetch_sub_explicit(&usage_of(g)->kept, capacity, memory_order_relaxed);
    }
    pthread_mutex_unlock(&g->lock);
    return p;
}

size_t cbx__gpu_trim(cbx__gpu *g)
{
    size_t bytes = 0;

    pthread_mutex_lock(&g->lock);
    while (g->nkept > 0) {
        const struct cbx__gpu_block b = g->kept[--g->nkept];
        g->free(g, b.p);
        bytes += b.bytes;
    }
    atomic_fetch_sub_explicit(&usage_of(g)->kept, bytes, memory_order_relaxed);
    pthread_mutex_unlock(&g->lock);
    return bytes;
}

/* What all blocks may be together. */
static cbx_status limit_of(cbx_ctx *ctx, const cbx__gpu *g, size_t *out, cbx_err *err)
{
    cbx_device_config config;
    const cbx_status st = cbx_ctx_device_config(ctx, &config, err);

    if (!st) *out = g->total_bytes ? (size_t)((double)g->total_bytes * config.memory_fraction) : SIZE_MAX;
    return st;
}

static cbx_status new_block(cbx_ctx *ctx, cbx__gpu *g, size_t bytes, size_t capacity, void **out, cbx_err *err)
{
    const size_t in_use = atomic_load_explicit(&usage_of(g)->in_use, memory_order_relaxed);
    cbx_err why = CBX_ERR_INIT; /* a record that the context reads must not see the first attempt */
    size_t limit = 0;
    cbx_status st = limit_of(ctx, g, &limit, err);

    if (st) return st;
    if (capacity > limit || in_use > limit - capacity)
        return cbx_fail(err, CBX_ENOMEM,
                        "'%s' has no space for %zu bytes: arrays of this process use %zu of the %zu that "
                        "CALIBRAX_GPU_MEMORY_FRACTION allows",
                        g->name, bytes, in_use, limit);
    if (atomic_load_explicit(&usage_of(g)->kept, memory_order_relaxed) > limit - capacity - in_use)
        (void)cbx__gpu_trim(g);
    st = g->alloc(g, capacity, out, &why);
    if (st == CBX_ENOMEM && cbx__gpu_trim(g) > 0) st = g->alloc(g, capacity, out, &why);
    return st ? cbx_fail(err, st, "%s", why.message) : CBX_OK;
}

cbx_status cbx__gpu_get(cbx_ctx *ctx, cbx__gpu *g, size_t bytes, void **out, size_t *capacity, cbx_err *err)
{
    cbx_status st = CBX_OK;

    *capacity = capacity_of(bytes);
    if (*capacity == 0) return cbx_fail(err, CBX_ENOMEM, "'%s' has no space for %zu bytes", g->name, bytes);
    *out = take_kept(g, *capacity);
    if (!*out) st = new_block(ctx, g, bytes, *capacity, out, err);
    if (!st) cbx__gpu_usage_add(usage_of(g), *capacity);
    return st;
}

void cbx__gpu_put(cbx__gpu *g, void *p, size_t capacity)
{
    bool kept = false;

    pthread_mutex_lock(&g->lock);
    if (g->nkept < CBX__GPU_KEPT) {
        g->kept[g->nkept++] = (struct cbx__gpu_block){ p, capacity };
        atomic_fetch_add_explicit(&usage_of(g)->kept, capacity, memory_order_relaxed);
        kept = true;
    }
    pthread_mutex_unlock(&g->lock);
    atomic_fetch_sub_explicit(&usage_of(g)->in_use, capacity, memory_order_relaxed);
    if (!kept) g->free(g, p);
}

/* ---- arrays ---- */

typedef struct holder {
    cbx_allocator al;
    cbx__gpu *g;
    void *p;
    size_t capacity;
} holder;

static void let_go(void *user)
{
    holder *h = user;
    cbx_allocator al = h->al;

    if (h->p) cbx__gpu_put(h->g, h->p, h->capacity);
    cbx_mem_free(&al, h, sizeof *h);
}

cbx_status cbx__gpu_array(cbx_ctx *ctx, cbx__gpu *g, const cbx_array_desc *desc, cbx_array **out, cbx_err *err)
{
    holder *h;
    cbx_array *a = NULL;
    size_t count = 0;
    cbx_status st = cbx_array_desc_count(desc, &count, err);

    if (st) return st;
    h = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *h);
    if (!h) return cbx_fail_nomem(err, "an array on a GPU");
    *h = (holder){ .al = *cbx_ctx_allocator(ctx), .g = g };
    if (count) st = cbx__gpu_get(ctx, g, count * cbx__dtype_size(desc->dtype), &h->p, &h->capacity, err);
    if (!st) st = cbx__array_wrap(ctx, desc, NULL, h->p, let_go, h, &a, err);
    if (st) {
        let_go(h);
        return st;
    }
    cbx__array_set_memory(a, &g->memory);
    *out = a;
    return CBX_OK;
}

cbx_status cbx__gpu_upload(cbx_ctx *ctx, cbx__gpu *g, const cbx_array *a, cbx_array **out, cbx_err *err)
{
    cbx_array *dense = NULL, *there = NULL;
    cbx_status st = cbx__array_dense(ctx, a, &dense, err);

    if (!st) st = cbx__gpu_array(ctx, g, &a->desc, &there, err);
    if (!st && a->count) st = g->upload(g, there->data, dense->data, cbx_array_bytes(a), err);
    cbx_array_free(dense);
    return CBX_FINISH(st, *out = there, cbx_array_free(there));
}

cbx_status cbx__gpu_dense(cbx_ctx *ctx, cbx__gpu *g, const cbx_array *a, cbx_array **out, cbx_err *err)
{
    if (!(a->flags & CBX__CONTIGUOUS)) return cbx__gpu_pack(ctx, g, a, out, err);
    *out = cbx_array_ref(a);
    return CBX_OK;
}

/* ---- foreign memory ---- */

typedef struct loan {
    cbx_allocator al;
    cbx__gpu *g;
    void (*release)(void *user);
    void *user;
} loan;

static void give_back(void *user)
{
    loan *l = user;
    cbx_allocator al = l->al;

    (void)l->g->wait(l->g, NULL);
    l->release(l->user);
    cbx_mem_free(&al, l, sizeof *l);
}

cbx_status cbx__gpu_adopt(cbx_ctx *ctx, cbx__gpu *g, cbx_array *a, cbx_err *err)
{
    loan *l;

    if (a->release) {
        l = cbx_mem_alloc(cbx_ctx_allocator(ctx), sizeof *l);
        if (!l) return cbx_fail_nomem(err, "an array on a GPU");
        *l = (loan){ *cbx_ctx_allocator(ctx), g, a->release, a->user };
        a->release = give_back;
        a->user = l;
    }
    cbx__array_set_memory(a, &g->memory);
    return CBX_OK;
}
