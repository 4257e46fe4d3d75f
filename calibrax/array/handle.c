/*
 * Handles: their memory, and who keeps it for re-use.
 *
 * An eager operation on ten numbers costs less than the allocation of its result, so a scope's
 * handles go to a list in the context when it closes, and the next results come from there.  The
 * list is the context's and needs neither lock nor atomics; a handle that dies anywhere else
 * (cbx_array_free, another thread, after its context) is freed.
 */
#include <stdint.h>

#include "calibrax/array/state.h"
#include "calibrax/base/poison.h"

#define KEPT_MAX  ((size_t)256) /* of each kind: 200 KiB in all */
#define ALIGNMENT ((uintptr_t)64)

static size_t handle_bytes(bool inlined) { return sizeof(cbx_array) + (inlined ? CBX__INLINE_BYTES + ALIGNMENT : 0); }

cbx_array *cbx__handle_get(cbx_ctx *ctx, bool inlined, size_t bytes)
{
    cbx__state *s = cbx__state_peek(ctx);
    cbx_array *a = s ? s->handles.free[inlined] : NULL;

    if (a) {
        CBX__UNPOISON(a, handle_bytes(inlined));
        s->handles.free[inlined] = a->base;
        s->handles.kept[inlined]--;
    } else {
        a = cbx_mem_alloc(cbx_ctx_allocator(ctx), handle_bytes(inlined));
        if (!a) return NULL;
        a->al = *cbx_ctx_allocator(ctx);
    }
    a->flags = inlined ? CBX__INLINE : 0;
    a->base = NULL;
    a->pool = NULL;
    a->release = NULL;
    a->data = NULL;
    a->trace = 0;
    a->device = (cbx_device_id){ CBX_DEVICE_CPU, 0 };
    a->memory = NULL;
    if (inlined) {
        a->data = (char *)a + (((uintptr_t)(a + 1) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT - (uintptr_t)a);
        CBX__POISON((char *)a->data + bytes, CBX__INLINE_BYTES - bytes);
    }
    return a;
}

static void handle_free(cbx_array *a)
{
    cbx_allocator al = a->al;
    size_t bytes = handle_bytes(a->flags & CBX__INLINE);

    CBX__UNPOISON(a, bytes);
    cbx_mem_free(&al, a, bytes);
}

/* What the handle holds besides its own memory. */
static void let_go(cbx_array *a)
{
    if (a->base) cbx_array_free(a->base); /* one step: a view's base is never a view */
    if (a->release) a->release(a->user);
    if (a->pool) {
        cbx_pool_put(a->pool, a->block);
        cbx_pool_unref(a->pool);
    }
}

/* The only reference cannot race: no locked instruction. */
static bool was_last(cbx_array *a)
{
    return atomic_load_explicit(&a->refs, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) == 1;
}

void cbx_array_free(cbx_array *a)
{
    if (!a || (a->flags & CBX__FAILED) || !was_last(a)) return;
    let_go(a);
    handle_free(a);
}

void cbx__array_drop(cbx__handles *h, const cbx_allocator *al, cbx_array *a)
{
    bool inlined = a->flags & CBX__INLINE;

    if ((a->flags & CBX__FAILED) || !was_last(a)) return;
    let_go(a);
    if (h->kept[inlined] == KEPT_MAX || a->al.resize != al->resize || a->al.user != al->user) {
        handle_free(a);
        return;
    }
    a->base = h->free[inlined];
    h->free[inlined] = a;
    h->kept[inlined]++;
    CBX__POISON(a, handle_bytes(inlined));
}

void cbx__handles_clear(cbx__handles *h)
{
    for (int inlined = 0; inlined < 2; inlined++)
        while (h->free[inlined]) {
            cbx_array *a = h->free[inlined];
            CBX__UNPOISON(a, handle_bytes(inlined));
            h->free[inlined] = a->base;
            handle_free(a);
        }
}
