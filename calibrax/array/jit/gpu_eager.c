/*
 * Single operations on arrays of a device: programs of one operation, and copies of arrays with
 * gaps.  A context keeps them, by what they do.  Views are made without the device.
 */
#include <string.h>

#include "calibrax/array/jit/gpu_memory.h"
#include "calibrax/array/jit/program.h"
#include "calibrax/array/state.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/base/idioms.h"

enum { KEPT = 512 }; /* of a context; the one that was not used for longest makes space for another */

/* An operation, or a copy of an array with gaps. */
typedef struct entry {
    cbx__graph *graph; /* NULL: a copy */
    cbx__program *program;
    cbx__gpu_nests *nests; /* of a copy */
    cbx__nest nest;
    cbx__site sites[2];
    uint64_t hash, used; /* used: the number of its last use */
    unsigned running;    /* it is not freed: operations may run inside of another */
} entry;

typedef struct kept {
    cbx_table table;
    CBX_LIST(entry *) entries;
    uint64_t uses;
} kept;

static void entry_free(const cbx_allocator *al, entry *e)
{
    if (!e) return;
    cbx__program_free(e->program);
    cbx__graph_unref(e->graph);
    cbx__gpu_nests_free(e->nests);
    cbx__kernel_clear(&e->nest.kernel);
    cbx_mem_free(al, e, sizeof *e);
}

static void kept_clear(void *state, const cbx_allocator *al)
{
    kept *k = state;

    for (size_t i = 0; i < k->entries.n; i++) entry_free(al, k->entries.items[i]);
    cbx_table_clear(&k->table);
    cbx_list_clear(al, &k->entries);
}

/* NULL without memory. */
static kept *kept_of(cbx_ctx *ctx)
{
    kept *k = cbx__state_of(ctx, sizeof *k, kept_clear);

    if (k && !k->table.al.resize) cbx_table_init(&k->table, cbx_ctx_allocator(ctx));
    return k;
}

/* The index of the entry that was not used for longest; SIZE_MAX: all are running. */
static size_t oldest(const kept *k)
{
    size_t found = SIZE_MAX;

    for (size_t i = 0; i < k->entries.n; i++) {
        const entry *e = k->entries.items[i];
        if (e->running == 0 && (found == SIZE_MAX || e->used < k->entries.items[found]->used)) found = i;
    }
    return found;
}

/* e replaces entry i; false: no memory, and nothing has changed. */
static bool replace(kept *k, size_t i, entry *e)
{
    cbx_table table;
    bool fine = true;

    cbx_table_init(&table, &k->table.al);
    for (size_t j = 0; fine && j < k->entries.n; j++)
        fine = cbx_table_add(&table, j == i ? e->hash : k->entries.items[j]->hash, j);
    if (!fine) {
        cbx_table_clear(&table);
        return false;
    }
    cbx_table_clear(&k->table);
    k->table = table;
    entry_free(&k->table.al, k->entries.items[i]);
    k->entries.items[i] = e;
    return true;
}

/* Takes an entry over, whatever the outcome. */
static cbx_status keep(kept *k, uint64_t hash, entry *e, cbx_err *err)
{
    const size_t last = k->entries.n >= KEPT ? oldest(k) : SIZE_MAX;
    bool fine;

    e->hash = hash;
    if (last != SIZE_MAX) {
        fine = replace(k, last, e);
    } else {
        fine = cbx_list_reserve(&k->table.al, &k->entries, k->entries.n + 1) &&
               cbx_table_add(&k->table, hash, k->entries.n);
        if (fine) k->entries.items[k->entries.n++] = e;
    }
    if (fine) return CBX_OK;
    entry_free(&k->table.al, e);
    return cbx_fail_nomem(err, "an operation on a GPU");
}

/* ---- operations ---- */

static uint64_t hash_desc(uint64_t h, const cbx_array_desc *d)
{
    uint64_t words[CBX_MAX_RANK + 2] = { (uint64_t)d->dtype, (uint64_t)d->ndim };

    for (int i = 0; i < d->ndim; i++) words[i + 2] = d->shape[i];
    return cbx_hash_words(h, (size_t)d->ndim + 2, words);
}

static uint64_t hash_call(const cbx_call *call)
{
    uint64_t h = cbx_hash_words(CBX_HASH_START, 3,
                                (const uint64_t[]){ call->prim, call->nin, cbx_attrs_hash(call->attrs) });

    for (size_t i = 0; i < call->nin; i++) h = hash_desc(h, &call->in[i]->desc);
    return h;
}

static bool same_call(const void *user, size_t value, const void *key)
{
    const cbx__graph *g = ((const kept *)user)->entries.items[value]->graph;
    const cbx_call *call = key;
    bool same = g && g->in.n == call->nin && g->nodes.items[0].prim == call->prim &&
                cbx_attrs_equal(g->nodes.items[0].attrs, call->attrs);

    for (size_t i = 0; same && i < call->nin; i++) same = cbx_array_desc_equal(cbx__graph_in(g, i), &call->in[i]->desc);
    return same;
}

static cbx_status make_graph(const cbx_call *call, cbx__graph **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(call->ctx);
    const size_t bytes = (call->nin + 1) * (sizeof(cbx_array_desc *) + sizeof(cbx__vid));
    const cbx_array_desc **descs = cbx_mem_alloc(al, bytes);
    cbx__graph *g = NULL;
    cbx_status st = descs ? cbx__graph_create(call->ctx, cbx_prim_name(call->prim), &g, err)
                          : cbx_fail_nomem(err, "an operation on a GPU");
    bool fine = !st;

    if (!descs) return st;
    cbx__vid *in = (cbx__vid *)(void *)(descs + call->nin + 1);
    for (size_t i = 0; fine && i < call->nin; i++) {
        descs[i] = &call->in[i]->desc;
        in[i] = cbx__graph_add_value(g, descs[i], NULL);
        fine = in[i] != CBX__NO_VALUE && cbx_list_push(&g->al, &g->in, in[i]);
    }
    fine = fine && cbx__graph_add_node(g,
                                       &(cbx_op){ call->prim, call->nin, descs, call->attrs, call->nout,
                                                  (cbx_array_desc *)(uintptr_t)call->results },
                                       in);
    for (size_t r = 0; fine && r < call->nout; r++)
        fine = cbx_list_push(&g->al, &g->out, g->nodes.items[0].out + (cbx__vid)r);
    if (!st) st = fine ? cbx__graph_finish(g, err) : cbx_fail_nomem(err, "an operation on a GPU");
    cbx_mem_free(al, descs, bytes);
    return CBX_FINISH(st, *out = g, cbx__graph_unref(g));
}

static cbx_status operation(const cbx_call *call, entry **out, cbx_err *err)
{
    const uint64_t hash = hash_call(call);
    kept *k = kept_of(call->ctx);
    const size_t *known = k ? cbx_table_find(&k->table, hash, same_call, k, call) : NULL;
    entry *e = k && !known ? cbx_mem_zalloc(&k->table.al, sizeof *e) : NULL;
    cbx_status st;

    if (known) {
        *out = k->entries.items[*known];
        return CBX_OK;
    }
    if (!e) return cbx_fail_nomem(err, "an operation on a GPU");
    st = make_graph(call, &e->graph, err);
    if (!st) st = cbx__program_create(call->ctx, e->graph, NULL, &e->program, err);
    *out = e;
    if (!st) return keep(k, hash, e, err);
    entry_free(&k->table.al, e);
    return st;
}

/* The operand is shown as it is, if that needs no copy. */
static cbx_status view(const cbx_call *call, cbx__gpu *g, cbx_array **out, cbx_err *err)
{
    const cbx_backend *reference = cbx_backend_reference();
    cbx_call dense = *call;
    cbx_array *x = NULL;
    cbx_status st = call->prim == CBX_PRIM_RESHAPE ? cbx__gpu_dense(call->ctx, g, call->in[0], &x, err) : CBX_OK;

    if (x) dense.in = (const cbx_array *const *)&x;
    if (!st) st = reference->apply(reference, &dense, out, err);
    cbx_array_free(x);
    return st;
}

cbx_status cbx__gpu_apply(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    cbx__gpu *g = NULL;
    entry *e = NULL;
    cbx_status st;

    for (size_t i = 0; !g && i < call->nin; i++) g = cbx__gpu_of(call->in[i]);
    if (!g)
        return cbx_fail(err, CBX_EUNSUPPORTED, "'%s' of an array in memory that no GPU of this library has",
                        cbx_prim_name(call->prim));
    if (cbx_prim_get_info(call->prim)->kind == CBX_CLASS_VIEW) return view(call, g, out, err);
    st = operation(call, &e, err);
    if (st) return st;
    e->used = ++kept_of(call->ctx)->uses;
    e->running++; /* its functions may do operations there, too */
    st = cbx__program_run(call->ctx, e->program, g, (cbx_array *const *)(uintptr_t)call->in, out, err);
    e->running--;
    return st;
}

/* ---- copies ---- */

/* Elements as integers, complex ones as two; false: it has too many dimensions for that. */
static bool copy_nest(const cbx_array *a, cbx_ctx *ctx, entry *e)
{
    static const cbx_dtype by_size[] = { [1] = CBX_U8, [2] = CBX_U16, [4] = CBX_U32, [8] = CBX_U64 };
    const bool pairs = cbx_dtype_kind(a->desc.dtype) == CBX_KIND_COMPLEX;
    const size_t size = cbx__dtype_size(a->desc.dtype), part = pairs ? size / 2 : size;
    cbx__nest *n = &e->nest;
    ptrdiff_t dense[CBX_MAX_RANK];

    if (a->desc.ndim + pairs > CBX_MAX_RANK) return false;
    cbx__array_dense_strides(&a->desc, false, dense);
    *n = (cbx__nest){ .ndim = a->desc.ndim + pairs, .sites = e->sites, .work = 1 };
    for (int i = 0; i < a->desc.ndim; i++) {
        n->shape[i] = a->desc.shape[i];
        e->sites[0].strides[i] = dense[i] * (ptrdiff_t)size;
        e->sites[1].strides[i] = a->strides[i] * (ptrdiff_t)size;
    }
    if (pairs) {
        n->shape[a->desc.ndim] = 2;
        e->sites[0].strides[a->desc.ndim] = e->sites[1].strides[a->desc.ndim] = (ptrdiff_t)part;
    }
    e->sites[1].base = 1;
    cbx__kernel_init(&n->kernel, cbx_ctx_allocator(ctx));
    const cbx__kid x = cbx__kernel_add(&n->kernel,
                                       (cbx__kinstr){ .op = CBX__K_LOAD, .dtype = (uint8_t)by_size[part], .a = 1 });
    for (int s = 0; s < 2; s++) {
        const cbx__kstream t = { .dtype = (uint8_t)by_size[part], .kind = CBX__STREAM_STRIDED, .value = s ? 0 : x };
        if (!cbx_list_push(&n->kernel.al, &n->kernel.streams, t)) n->kernel.failed = true;
    }
    n->kernel.nout = 1;
    return true;
}

typedef struct copy_key {
    const cbx_array *a;
    const cbx__gpu *g;
} copy_key;

static bool same_copy(const void *user, size_t value, const void *key)
{
    const entry *e = ((const kept *)user)->entries.items[value];
    const copy_key *k = key;
    const cbx_array *a = k->a;
    const ptrdiff_t size = (ptrdiff_t)cbx__dtype_size(a->desc.dtype);
    const bool pairs = cbx_dtype_kind(a->desc.dtype) == CBX_KIND_COMPLEX;
    bool same = !e->graph && e->nests->gpu == k->g && e->nest.ndim == a->desc.ndim + pairs &&
                (ptrdiff_t)cbx__dtype_size((cbx_dtype)e->nest.kernel.instr.items[0].dtype) * (pairs + 1) == size;

    for (int i = 0; same && i < a->desc.ndim; i++)
        same = e->nest.shape[i] == a->desc.shape[i] && e->sites[1].strides[i] == a->strides[i] * size;
    return same;
}

static uint64_t hash_copy(const cbx_array *a)
{
    uint64_t strides[CBX_MAX_RANK + 1] = { 0 };

    for (int i = 0; i < a->desc.ndim; i++) strides[i] = (uint64_t)a->strides[i];
    return cbx_hash_words(hash_desc(CBX_HASH_START, &a->desc), (size_t)a->desc.ndim + 1, strides);
}

/* *out NULL: no kernel does it. */
static cbx_status copier(cbx_ctx *ctx, cbx__gpu *g, const cbx_array *a, const entry **out, cbx_err *err)
{
    const uint64_t hash = hash_copy(a);
    kept *k = kept_of(ctx);
    const size_t *known = k ? cbx_table_find(&k->table, hash, same_copy, k, &(copy_key){ a, g }) : NULL;
    entry *e = k && !known ? cbx_mem_zalloc(&k->table.al, sizeof *e) : NULL;
    cbx_status st = CBX_OK;

    *out = NULL;
    if (known) e = k->entries.items[*known];
    if (!e) return cbx_fail_nomem(err, "a copy on a GPU");
    if (!known && copy_nest(a, ctx, e)) {
        if (e->nest.kernel.failed) st = cbx_fail_nomem(err, "a copy on a GPU");
        if (!st) st = cbx__gpu_nests_create(ctx, g, 1, &e->nest, 0, &e->nests, err);
    }
    if (known || (!st && e->nests)) {
        if (!known) st = keep(k, hash, e, err);
        if (!st) e->used = ++k->uses;
        if (!st && e->nests->taken[0]) *out = e;
        return st;
    }
    entry_free(&k->table.al, e);
    return st;
}

cbx_status cbx__gpu_pack_there(cbx_ctx *ctx, cbx__gpu *g, const cbx_array *a, cbx_array **out, cbx_err *err)
{
    const entry *e = NULL;
    cbx_array *copy = NULL;
    bool left = false;
    cbx_status st = copier(ctx, g, a, &e, err);

    *out = NULL;
    if (st || !e) return st;
    st = cbx__gpu_array(ctx, g, &a->desc, &copy, err);
    if (!st && a->count)
        st = cbx__gpu_nest_run(ctx, e->nests, 0, (void *const[]){ copy->data, a->data }, NULL, &left, err);
    return CBX_FINISH(st, *out = copy, cbx_array_free(copy));
}

cbx_status cbx__gpu_pack(cbx_ctx *ctx, cbx__gpu *g, const cbx_array *a, cbx_array **out, cbx_err *err)
{
    cbx_array *here = NULL;
    cbx_status st = cbx__gpu_pack_there(ctx, g, a, out, err);

    if (st || *out) return st;
    st = cbx__array_fetch(ctx, a, &here, err);
    if (!st) st = cbx__gpu_upload(ctx, g, here, out, err);
    cbx_array_free(here);
    return st;
}
