/* Nests of a plan's kernels: which roots share one, what it stores and folds, and its dimensions,
 * merged where possible. */
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/nest_builder.h"

enum { FEWEST_WHOLE = 16 }; /* elements in a row that are worth a loop of their own */

/* ---- roots ---- */

/* What decides in which nest a root is. */
typedef struct shape_key {
    int ndim;
    size_t shape[CBX_MAX_RANK];
    unsigned gone;
    bool chunked, split; /* split: the last axis of the roots is written out */
} shape_key;

static const cbx_array_desc *space_desc(const cbx__plan *plan, uint32_t k)
{
    const cbx__node *node = &plan->graph->nodes.items[k];
    return &plan->graph->values.items[plan->role[k] == CBX__ROLE_FOLD ? node->in[0] : node->out].desc;
}

/* True if axis `a` of the root's space is folded. */
static bool is_folded(const cbx__plan *plan, uint32_t k, int a)
{
    const cbx__node *node = &plan->graph->nodes.items[k];

    if (plan->role[k] != CBX__ROLE_FOLD) return false;
    for (int i = 0; i < node->attrs->naxes; i++)
        if (node->attrs->axes[i] == a) return true;
    return false;
}

static shape_key key_of(const cbx__plan *plan, uint32_t k, bool split)
{
    const cbx_array_desc *d = space_desc(plan, k);
    const cbx__node *node = &plan->graph->nodes.items[k];
    shape_key key;

    memset(&key, 0, sizeof key);
    key.split = split && cbx__space_of(d, key.shape) < cbx__long_axes(d, key.shape) && !is_folded(plan, k, d->ndim - 1);
    memset(key.shape, 0, sizeof key.shape);
    for (int a = 0; a < d->ndim - key.split; a++) {
        if (d->shape[a] == 1) continue;
        if (is_folded(plan, k, a)) key.gone |= 1u << key.ndim;
        key.shape[key.ndim++] = d->shape[a];
    }
    if (plan->role[k] == CBX__ROLE_FOLD) {
        const cbx_dtype to = plan->graph->values.items[node->out].desc.dtype;
        key.chunked = node->prim == CBX_PRIM_SUM && cbx__wide_of(node, d->dtype, to) == CBX_F64 && d->dtype != CBX_F64;
        if (key.gone == 0) key.gone = 1u << 31; /* a fold of axes of length 1 */
    }
    return key;
}

/* Forms of a root of the nest; last: where on the axis that is written out. */
static const cbx__form *root_forms(cbx__builder *b, const cbx_array_desc *d, bool split, size_t last)
{
    cbx__form *f = cbx__new_forms(b, d->ndim);
    int dim = 0;

    for (int a = 0; f && a < d->ndim; a++) {
        if (split && a == d->ndim - 1)
            f[a].start = (ptrdiff_t)last;
        else if (d->shape[a] != 1)
            f[a].steps[dim++] = 1;
    }
    return f;
}

bool cbx__add_output(cbx__builder *b, cbx__kid value, cbx_dtype t, const cbx__site *site)
{
    cbx__nest *n = b->nest;

    if (value == CBX__NO_KID) b->failed = true;
    if (b->failed) return false;
    cbx__add_stream(b, (cbx__kstream){ .dtype = (uint8_t)t, .kind = CBX__STREAM_DENSE, .value = value }, site);
    n->kernel.nout++;
    return !b->failed;
}

static bool add_fold(cbx__builder *b, const cbx__node *node, const cbx__form *at, cbx__kid value)
{
    const cbx_array_desc *from = cbx__builder_desc(b, node->in[0]), *to = cbx__builder_desc(b, node->out);
    cbx__nest_fold *f = &b->nest->folds[b->nest->nfolds++];
    ptrdiff_t dense[CBX_MAX_RANK];
    const ptrdiff_t size = (ptrdiff_t)cbx__dtype_size(to->dtype);
    int axis = 0;
    unsigned gone = 0;

    *f = (cbx__nest_fold){
        node->prim, node->attrs->mode != 0, (uint32_t)b->nest->kernel.nout, cbx__wide_of(node, from->dtype, to->dtype),
        to->dtype,  { .base = node->out }
    };
    cbx__array_dense_strides(to, false, dense);
    for (int i = 0; i < node->attrs->naxes; i++) gone |= 1u << node->attrs->axes[i];
    for (int a = 0; a < from->ndim; a++) {
        if (gone & 1u << a) {
            axis += node->attrs->keep != 0;
            continue;
        }
        f->result.offset += at[a].start * dense[axis] * size;
        for (int i = 0; i < b->nest->ndim; i++) f->result.strides[i] += at[a].steps[i] * dense[axis] * size;
        axis++;
    }
    return cbx__add_output(b, cbx__kernel_cast(&b->nest->kernel, from->dtype, f->wide, value), f->wide,
                           &(cbx__site){ .base = CBX__NO_VALUE });
}

static bool add_root(cbx__builder *b, uint32_t k, const shape_key *key)
{
    const cbx__node *node = &b->plan->graph->nodes.items[k];
    const cbx__role role = (cbx__role)b->plan->role[k];
    const cbx_array_desc *d = space_desc(b->plan, k);
    const size_t times = key->split ? d->shape[d->ndim - 1] : 1;

    for (size_t i = 0; i < times; i++) {
        const cbx__form *at = root_forms(b, d, key->split, i);
        if (!at) return false;
        if (role == CBX__ROLE_FOLD) {
            if (!add_fold(b, node, at, cbx__element(b, node->in[0], at))) return false;
        } else {
            const cbx__kid value = b->plan->computed[node->out] ? cbx__element(b, node->out, at)
                                                                : cbx__compute(b, node, role, at);
            const cbx__site s = cbx__site_of(b, node->out, at);
            if (!cbx__add_output(b, value, d->dtype, &s)) return false;
        }
    }
    return true;
}

/* ---- the space ---- */

/* Outputs first: the order of streams that kernels have. */
bool cbx__sort_streams(cbx__builder *b)
{
    cbx__kernel *k = &b->nest->kernel;
    const size_t n = b->sites.n;
    uint32_t *to = cbx_arena_calloc(b->arena, n + 1, sizeof *to), in = (uint32_t)k->nout, out = 0;
    cbx__site *sites = cbx_arena_calloc(b->arena, n + 1, sizeof *sites);
    cbx__kstream *streams = cbx_arena_calloc(b->arena, n + 1, sizeof *streams);

    if (!to || !sites || !streams) return false;
    /* an output is a stream that no LOAD and no carry names */
    for (size_t c = 0; c < k->carries.n; c++) to[k->carries.items[c].first] = 1;
    for (size_t i = 0; i < k->instr.n; i++)
        if (k->instr.items[i].op == CBX__K_LOAD) to[k->instr.items[i].a] = 1;
    for (size_t s = 0; s < n; s++) {
        to[s] = to[s] ? in++ : out++;
        sites[to[s]] = b->sites.items[s];
        streams[to[s]] = k->streams.items[s];
    }
    memcpy(k->streams.items, streams, n * sizeof *streams);
    for (size_t i = 0; i < k->instr.n; i++)
        if (k->instr.items[i].op == CBX__K_LOAD) k->instr.items[i].a = to[k->instr.items[i].a];
    for (size_t c = 0; c < k->carries.n; c++) k->carries.items[c].first = to[k->carries.items[c].first];
    b->nest->sites = sites;
    return true;
}

/* A dimension, which is folded if `gone`, and the one inside it are one for every stream
 * and result. */
static bool merges(const cbx__nest *n, bool gone, int outer, int inner)
{
    const ptrdiff_t length = (ptrdiff_t)n->shape[inner];

    if (gone != (n->gone >> inner & 1)) return false;
    for (size_t s = 0; s < n->kernel.streams.n; s++)
        if (n->sites[s].strides[outer] != n->sites[s].strides[inner] * length) return false;
    for (size_t f = 0; f < n->nfolds && !gone; f++)
        if (n->folds[f].result.strides[outer] != n->folds[f].result.strides[inner] * length) return false;
    return true;
}

static void move_dimension(cbx__nest *n, int to, int from)
{
    n->shape[to] = n->shape[from];
    for (size_t s = 0; s < n->kernel.streams.n; s++) n->sites[s].strides[to] = n->sites[s].strides[from];
    for (size_t f = 0; f < n->nfolds; f++) n->folds[f].result.strides[to] = n->folds[f].result.strides[from];
}

static void merge_dimensions(cbx__nest *n)
{
    int to = 0;
    unsigned gone = 0;

    for (int i = 0; i < n->ndim; i++) {
        if (to > 0 && merges(n, gone >> (to - 1) & 1, to - 1, i)) {
            const size_t length = n->shape[to - 1] * n->shape[i];
            move_dimension(n, to - 1, i);
            n->shape[to - 1] = length;
            continue;
        }
        if (n->gone >> i & 1) gone |= 1u << to;
        move_dimension(n, to++, i);
    }
    n->ndim = to;
    n->gone = gone | (n->gone & 1u << 31);
}

/* How many outputs from s on fill the step of each along the last dimension, one after the other:
 * 2, 4 or 8; else 0. */
static uint8_t outputs_beside(const cbx__nest *n, size_t s)
{
    const cbx__kstream *t = &n->kernel.streams.items[s];
    const cbx__site *at = &n->sites[s];
    const ptrdiff_t size = (ptrdiff_t)cbx__dtype_size(t->dtype), count = at->strides[n->ndim - 1] / size;

    if (t->kind != CBX__STREAM_STRIDED || (count != 2 && count != 4 && count != 8) ||
        s + (size_t)count > n->kernel.nout)
        return 0;
    for (size_t i = 1; i < (size_t)count; i++) {
        const cbx__site *other = &n->sites[s + i];
        if (n->kernel.streams.items[s + i].dtype != t->dtype || other->base != at->base ||
            other->offset != at->offset + (ptrdiff_t)i * size ||
            memcmp(other->strides, at->strides, sizeof at->strides) != 0)
            return 0;
    }
    return (uint8_t)count;
}

void cbx__set_kinds(cbx__nest *n)
{
    cbx__kernel *k = &n->kernel;
    const int last = n->ndim - 1;

    for (size_t s = 0; s < k->streams.n; s++) {
        cbx__kstream *t = &k->streams.items[s];
        const ptrdiff_t step = last < 0 ? 0 : n->sites[s].strides[last];
        const bool tile = s < k->nout && n->sites[s].base == CBX__NO_VALUE;
        if (t->kind == CBX__STREAM_INDEX || tile) continue;
        if (s < k->nout && last < 0) continue;
        t->kind = step == 0 && s >= k->nout                      ? CBX__STREAM_SCALAR
                  : step == (ptrdiff_t)cbx__dtype_size(t->dtype) ? CBX__STREAM_DENSE
                                                                 : CBX__STREAM_STRIDED;
    }
    for (size_t s = 0; last >= 0 && s < k->nout; s += cbx__kstream_run(&k->streams.items[s]))
        k->streams.items[s].beside = outputs_beside(n, s);
}

/* ---- operands with gaps ---- */

static size_t folds_at(const cbx__nest *n) { return n->kernel.streams.n * sizeof(cbx__site); }

size_t cbx__nest_bound_bytes(const cbx__nest *n) { return folds_at(n) + n->nfolds * sizeof(cbx__nest_fold); }

/* A nest as its space was, with sites and folds of its own. */
static void copy_space(const cbx__nest *from, void *work, cbx__nest *to)
{
    to->ndim = from->ndim;
    to->gone = from->gone;
    memcpy(to->shape, from->shape, sizeof to->shape);
    to->sites = work;
    to->folds = (cbx__nest_fold *)(void *)((char *)work + folds_at(to));
    memcpy(to->sites, from->sites, folds_at(to));
    if (to->nfolds) memcpy(to->folds, from->folds, to->nfolds * sizeof *to->folds);
}

static bool keep_open(cbx_arena *arena, cbx__nest *n)
{
    cbx__nest *open = cbx_arena_calloc(arena, 1, sizeof *open);
    void *work = cbx_arena_calloc(arena, 1, cbx__nest_bound_bytes(n) + 1);

    if (!open || !work) return false;
    *open = *n;
    copy_space(n, work, open);
    n->open = open;
    return true;
}

static void move_site(cbx__site *s, int ndim, const cbx_array *a)
{
    const ptrdiff_t size = (ptrdiff_t)cbx__dtype_size(a->desc.dtype);

    s->offset = 0;
    memset(s->strides, 0, sizeof s->strides);
    for (int axis = 0; axis < a->desc.ndim; axis++) {
        s->offset += s->at[axis].start * a->strides[axis] * size;
        for (int i = 0; i < ndim; i++) s->strides[i] += s->at[axis].steps[i] * a->strides[axis] * size;
    }
}

/* True of a stream that walks the last dimension as the code was made for. */
static bool keeps_kind(const cbx__kstream *t, ptrdiff_t step)
{
    return t->kind == CBX__STREAM_DENSE ? step == (ptrdiff_t)cbx__dtype_size((cbx_dtype)t->dtype)
                                        : t->kind != CBX__STREAM_SCALAR || step == 0;
}

bool cbx__nest_bind(const cbx__nest *n, cbx_array *const *arrays, void *work, cbx__nest *out)
{
    const cbx_array *a;

    *out = *n;
    if (!n->open) return false;
    copy_space(n->open, work, out);
    for (size_t s = n->kernel.nout; s < n->kernel.streams.n; s++) {
        a = out->sites[s].base == CBX__NO_VALUE ? NULL : arrays[out->sites[s].base];
        if (!a || a->flags & CBX__CONTIGUOUS) continue;
        if (!out->sites[s].at) return false;
        move_site(&out->sites[s], out->ndim, a);
    }
    merge_dimensions(out);
    if (out->ndim == 0) return true; /* one point: each operand is read at its offset */
    const size_t length = out->shape[out->ndim - 1];
    if (length < FEWEST_WHOLE && length < n->shape[n->ndim - 1]) return false;
    for (size_t s = n->kernel.nout; s < n->kernel.streams.n; s++)
        if (!keeps_kind(&n->kernel.streams.items[s], out->sites[s].strides[out->ndim - 1])) return false;
    return true;
}

/* ---- nests ---- */

static bool build(cbx_arena *arena, const cbx_allocator *al, const cbx__plan *plan, const cbx__unit *unit,
                  const shape_key *key, bool split, cbx__nest *out)
{
    cbx__builder b = { .arena = arena, .al = cbx_arena_allocator(arena), .plan = plan, .nest = out };
    size_t max = 0;
    bool done = true;

    *out = (cbx__nest){ .ndim = key->ndim, .gone = key->gone, .chunked = key->chunked };
    memcpy(out->shape, key->shape, sizeof out->shape);
    cbx__kernel_init(&out->kernel, al);
    cbx_table_init(&b.table, &b.al);
    for (size_t i = 0; i < unit->nroots; i++) max += CBX__SMALL;
    out->folds = cbx_arena_calloc(arena, max + 1, sizeof *out->folds);
    if (!out->folds) return false;
    for (size_t i = 0; done && i < unit->nroots; i++) {
        const shape_key own = key_of(plan, unit->roots[i], split);
        if (memcmp(&own, key, sizeof own) == 0) done = add_root(&b, unit->roots[i], key);
    }
    if (!done || b.failed || out->kernel.failed || !cbx__sort_streams(&b)) return false;
    if (!keep_open(arena, out)) return false;
    merge_dimensions(out);
    cbx__set_kinds(out);
    cbx__kernel_finish(&out->kernel);
    out->work = cbx__kernel_work(&out->kernel);
    return !out->kernel.failed;
}

/* Whether all roots are worth loops over their whole shapes: nothing is folded, and inner runs
 * are long. */
static bool is_whole(const cbx__nest *n) { return n->ndim == 0 || n->shape[n->ndim - 1] >= FEWEST_WHOLE; }

/* Nests of all roots, with the last axis written out or not; false without memory. */
static bool build_all(cbx_arena *arena, const cbx_allocator *al, const cbx__plan *plan, const cbx__unit *unit,
                      bool split, size_t *n, cbx__nest *out)
{
    shape_key *keys = cbx_arena_calloc(arena, unit->nroots, sizeof *keys);

    *n = 0;
    if (!keys) return false;
    for (size_t i = 0; i < unit->nroots; i++) {
        const shape_key key = key_of(plan, unit->roots[i], split);
        size_t at = 0;
        while (at < *n && memcmp(&keys[at], &key, sizeof key) != 0) at++;
        if (at < *n) continue;
        keys[(*n)++] = key;
        if (!build(arena, al, plan, unit, &key, split, &out[at])) return false;
    }
    return true;
}

cbx_status cbx__nests_create(cbx_arena *arena, const cbx_allocator *al, const cbx__plan *plan, const cbx__unit *unit,
                             size_t *n, cbx__nest **out, cbx_err *err)
{
    cbx__nest *nests = cbx_arena_calloc(arena, unit->nroots, sizeof *nests);
    bool whole = true, folds = false;

    *n = 0;
    for (size_t i = 0; i < unit->nroots; i++) folds |= plan->role[unit->roots[i]] == CBX__ROLE_FOLD;
    if (nests && !folds) {
        if (!build_all(arena, al, plan, unit, false, n, nests)) goto failed;
        whole = *n == 1 && is_whole(&nests[0]);
    }
    if (nests && (folds || !whole)) {
        for (size_t i = 0; i < *n; i++) cbx__kernel_clear(&nests[i].kernel);
        if (!build_all(arena, al, plan, unit, true, n, nests)) goto failed;
    }
    if (nests) {
        *out = nests;
        return CBX_OK;
    }
failed:
    for (size_t i = 0; nests && i < unit->nroots; i++) cbx__kernel_clear(&nests[i].kernel);
    return cbx_fail_nomem(err, "the kernels of a compiled function");
}
