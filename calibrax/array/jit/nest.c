/*
 * Elements are computed where they are read: an index form states which element of a value belongs to a point of the space, views change
 * forms, and operations are carried out on the elements at equal forms.
 */
#include "calibrax/array/jit/nest.h"

#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/lower.h"
#include "calibrax/array/reference/reference.h"
#include "calibrax/array/trace/regions.h"
#include "calibrax/base/table.h"

enum { FEWEST_WHOLE = 16 }; /* elements in a row that are worth a loop of their own */

/* The index along one axis of a value: start + sum of i * steps over the dimensions of the space. */
typedef struct form {
    ptrdiff_t start, steps[CBX_MAX_RANK];
} form;

/* An element that is computed already. */
typedef struct known {
    cbx__vid value;
    const form *at;
    cbx__kid kid;
} known;

typedef struct builder {
    cbx_arena *arena;
    cbx_allocator al; /* of the arena */
    const cbx__plan *plan;
    cbx__nest *nest;
    CBX_LIST(cbx__site) sites;
    CBX_LIST(known) knowns;
    cbx_table table;
    const cbx__kid *given; /* of values that are there whatever their form, else CBX__NO_KID; NULL: none */
    bool failed;           /* out of memory */
} builder;

static const cbx_array_desc *desc(const builder *b, cbx__vid v) { return &b->plan->graph->values.items[v].desc; }

static form *new_forms(builder *b, int n)
{
    form *f = cbx_arena_calloc(b->arena, (size_t)n + 1, sizeof *f);
    if (!f) b->failed = true;
    return f;
}

/* ---- streams ---- */

static uint32_t add_stream(builder *b, cbx__kstream s, const cbx__site *site)
{
    if (cbx_list_push(&b->nest->kernel.al, &b->nest->kernel.streams, s) && cbx_list_push(&b->al, &b->sites, *site))
        return (uint32_t)(b->sites.n - 1);
    b->failed = true;
    return 0;
}

/* Inputs follow outputs, whose number is known first: LOAD names a stream by its place among the inputs until then. */
static cbx__kid load(builder *b, cbx_dtype t, bool count, const cbx__site *site)
{
    cbx__kernel *k = &b->nest->kernel;
    const uint8_t kind = count ? CBX__STREAM_INDEX : CBX__STREAM_DENSE;
    uint32_t at = 0;

    while (at < b->sites.n && (memcmp(&b->sites.items[at], site, sizeof *site) != 0 ||
                               k->streams.items[at].dtype != (uint8_t)t || k->streams.items[at].kind != kind))
        at++;
    if (at == b->sites.n) at = add_stream(b, (cbx__kstream){ .dtype = (uint8_t)t, .kind = kind }, site);
    return cbx__kernel_add(k, (cbx__kinstr){ .op = CBX__K_LOAD, .dtype = (uint8_t)t, .a = at });
}

static cbx__site site_of(const builder *b, cbx__vid v, const form *at)
{
    const cbx_array_desc *d = desc(b, v);
    ptrdiff_t dense[CBX_MAX_RANK];
    cbx__site s = { .base = v };
    const ptrdiff_t size = (ptrdiff_t)cbx__dtype_size(d->dtype);

    cbx__array_dense_strides(d, false, dense);
    for (int a = 0; a < d->ndim; a++) {
        s.offset += at[a].start * dense[a] * size;
        for (int i = 0; i < b->nest->ndim; i++) s.strides[i] += at[a].steps[i] * dense[a] * size;
    }
    return s;
}

/* ---- elements ---- */

static cbx__kid element(builder *b, cbx__vid v, const form *at);

static bool same_forms(int n, const form *x, const form *y) { return memcmp(x, y, (size_t)n * sizeof *x) == 0; }

static bool is_known(const void *user, size_t value, const void *key)
{
    const builder *b = user;
    const known *have = &b->knowns.items[value], *want = key;
    return have->value == want->value && same_forms(desc(b, want->value)->ndim, have->at, want->at);
}

static uint64_t hash_of(const builder *b, cbx__vid v, const form *at)
{
    uint64_t h = cbx_hash_words(CBX_HASH_START, 1, &(const uint64_t){ v });

    for (int a = 0; a < desc(b, v)->ndim; a++) {
        h = cbx_hash_words(h, 1, &(const uint64_t){ (uint64_t)at[a].start });
        for (int i = 0; i < b->nest->ndim; i++) h = cbx_hash_words(h, 1, &(const uint64_t){ (uint64_t)at[a].steps[i] });
    }
    return h;
}

static cbx__kid number(builder *b, const cbx__node *node, cbx_dtype t)
{
    while (node->prim != CBX_PRIM_FULL) node = &b->plan->graph->nodes.items[b->plan->maker[node->in[0]]];
    return cbx__kernel_const(&b->nest->kernel, t, node->attrs->value);
}

static cbx__kid count(builder *b, const cbx__node *node, const form *at)
{
    const form *axis = &at[node->attrs->axis];
    const cbx_dtype t = desc(b, node->out)->dtype;
    cbx__site s = { .base = CBX__NO_VALUE, .offset = axis->start };
    bool moves = false;
    cbx__kid i;

    memcpy(s.strides, axis->steps, sizeof s.strides);
    for (int d = 0; d < b->nest->ndim; d++) moves |= axis->steps[d] != 0;
    i = moves ? load(b, CBX_I64, true, &s)
              : cbx__kernel_const(&b->nest->kernel, CBX_I64, (cbx_scalar){ .dtype = CBX_I64, .v.i = axis->start });
    return t == CBX_I64 ? i : cbx__k1(&b->nest->kernel, CBX__K_CAST, t, i);
}

static cbx__kid map(builder *b, const cbx__node *node, const form *at)
{
    const cbx_array_desc *d[3];
    cbx__kid in[3] = { 0 };
    const cbx_op op = { node->prim, node->nin, d, node->attrs, 1, desc(b, node->out) };

    for (uint32_t i = 0; i < node->nin; i++) {
        d[i] = desc(b, node->in[i]);
        in[i] = element(b, node->in[i], at);
    }
    return node->prim == CBX_PRIM_COPY ? in[0] : cbx__lower(&b->nest->kernel, &op, in);
}

/* A reshape by axes of length 1: the other axes keep their forms. */
static void reshape_forms(const cbx_array_desc *from, const cbx_array_desc *to, const form *at, form *below)
{
    int k = 0;

    for (int a = 0; a < from->ndim; a++) {
        if (from->shape[a] == 1) continue;
        while (to->shape[k] == 1) k++;
        below[a] = at[k++];
    }
}

/* The same element, counted in row-major order, of a value in memory. */
static cbx__kid reshaped_load(builder *b, const cbx__node *node, const form *at)
{
    cbx__site s = site_of(b, node->out, at);
    s.base = node->in[0];
    return load(b, desc(b, node->out)->dtype, false, &s);
}

static cbx__kid view(builder *b, const cbx__node *node, const form *at)
{
    const cbx_array_desc *from = desc(b, node->in[0]), *to = desc(b, node->out);
    const cbx_attrs *attrs = node->attrs;
    form *below = new_forms(b, from->ndim);
    const int shift = to->ndim - from->ndim;

    if (!below) return CBX__NO_KID;
    switch (node->prim) {
    case CBX_PRIM_STOP_GRADIENT: return element(b, node->in[0], at);
    case CBX_PRIM_RESHAPE:
        if (!cbx__reshapes_units(from, to)) return reshaped_load(b, node, at);
        reshape_forms(from, to, at, below);
        break;
    case CBX_PRIM_TRANSPOSE:
        for (int a = 0; a < to->ndim; a++) below[attrs->axes[a]] = at[a];
        break;
    case CBX_PRIM_BROADCAST:
        for (int a = 0; a < from->ndim; a++)
            if (from->shape[a] != 1) below[a] = at[a + shift];
        break;
    default: /* SLICE */
        for (int a = 0; a < from->ndim; a++) {
            below[a].start = attrs->start[a] + at[a].start * attrs->step[a];
            for (int i = 0; i < b->nest->ndim; i++) below[a].steps[i] = at[a].steps[i] * attrs->step[a];
        }
    }
    return element(b, node->in[0], below);
}

/* ---- folds that are written out ---- */

typedef struct fold_ops {
    cbx__kernel *k;
    cbx_prim prim;
    cbx_dtype wide;
    bool skips_nan;
} fold_ops;

static cbx__kid folded(const fold_ops *f, cbx__kid t, cbx__kid x)
{
    const bool flt = cbx_dtype_kind(f->wide) == CBX_KIND_FLOAT;
    const cbx__kop ordered = f->prim == CBX_PRIM_REDUCE_MAX ? CBX__K_GE : CBX__K_LE;
    cbx__kid keeps;

    switch (f->prim) {
    case CBX_PRIM_SUM: return cbx__k2(f->k, CBX__K_ADD, f->wide, t, x);
    case CBX_PRIM_PROD: return cbx__k2(f->k, CBX__K_MUL, f->wide, t, x);
    case CBX_PRIM_ANY: return cbx__k2(f->k, CBX__K_OR, CBX_BOOL, t, x);
    case CBX_PRIM_ALL: return cbx__k2(f->k, CBX__K_AND, CBX_BOOL, t, x);
    default: break;
    }
    keeps = cbx__k2(f->k, ordered, CBX_BOOL, t, x);
    if (flt) { /* as the folds of the reference backend: NaN wins, or never */
        const cbx__kid nan = f->skips_nan ? x : t;
        keeps = cbx__k2(f->k, CBX__K_OR, CBX_BOOL, keeps, cbx__k2(f->k, CBX__K_NE, CBX_BOOL, nan, nan));
    }
    return cbx__k3(f->k, CBX__K_SELECT, f->wide, keeps, t, x);
}

/* In which dtype a fold is carried out. */
static cbx_dtype wide_of(const cbx__node *node, cbx_dtype from, cbx_dtype to)
{
    if (node->prim == CBX_PRIM_ANY || node->prim == CBX_PRIM_ALL) return CBX_BOOL;
    return cbx__ref_wide(to == CBX_BOOL ? from : to);
}

static cbx__kid as(cbx__kernel *k, cbx_dtype from, cbx_dtype to, cbx__kid x)
{
    return from == to ? x : cbx__k1(k, CBX__K_CAST, to, x);
}

/* Up to 7 elements from left to right, 8 pairwise: the tree of the reference backend's sums. */
static cbx__kid small(builder *b, const cbx__node *node, const form *at)
{
    const cbx_array_desc *from = desc(b, node->in[0]), *to = desc(b, node->out);
    const int last = from->ndim - 1;
    const size_t n = from->shape[last];
    cbx__kernel *k = &b->nest->kernel;
    const fold_ops f = { k, node->prim, wide_of(node, from->dtype, to->dtype), node->attrs->mode != 0 };
    form *below = new_forms(b, from->ndim);
    cbx__kid x[CBX__SMALL] = { 0 }, r;

    if (!below) return CBX__NO_KID;
    memcpy(below, at, (size_t)last * sizeof *below);
    for (size_t i = 0; i < n; i++) {
        form *each = new_forms(b, from->ndim);
        if (!each) return CBX__NO_KID;
        memcpy(each, below, (size_t)from->ndim * sizeof *below);
        each[last].start = (ptrdiff_t)i;
        x[i] = as(k, from->dtype, f.wide, element(b, node->in[0], each));
    }
    if (n == CBX__SMALL && f.prim == CBX_PRIM_SUM) {
        for (size_t width = 1; width < n; width *= 2)
            for (size_t i = 0; i < n; i += 2 * width) x[i] = folded(&f, x[i], x[i + width]);
        r = x[0];
    } else {
        r = x[0];
        for (size_t i = 1; i < n; i++) r = folded(&f, r, x[i]);
    }
    if (f.prim == CBX_PRIM_SUM && cbx_dtype_kind(f.wide) == CBX_KIND_FLOAT) /* -0 becomes 0 */
        r = cbx__k2(k, CBX__K_ADD, f.wide, cbx__kernel_const(k, f.wide, (cbx_scalar){ .dtype = CBX_F64 }), r);
    return as(k, f.wide, to->dtype, r);
}

static cbx__kid compute(builder *b, const cbx__node *node, cbx__role role, const form *at)
{
    switch (role) {
    case CBX__ROLE_NUMBER: return number(b, node, desc(b, node->out)->dtype);
    case CBX__ROLE_COUNT: return count(b, node, at);
    case CBX__ROLE_VIEW: return view(b, node, at);
    case CBX__ROLE_SMALL: return small(b, node, at);
    default: return map(b, node, at);
    }
}

/* A constant of rank 0 is a number. */
static bool constant_number(builder *b, cbx__vid v, cbx__kid *out)
{
    const cbx_array *a = b->plan->graph->values.items[v].constant;
    cbx__kinstr i = { .op = CBX__K_CONST };

    if (!a || a->count != 1) return false;
    i.dtype = (uint8_t)a->desc.dtype;
    memcpy(&i.bits, a->data, cbx__dtype_size(a->desc.dtype));
    *out = cbx__kernel_add(&b->nest->kernel, i);
    return true;
}

static cbx__kid element(builder *b, cbx__vid v, const form *at)
{
    const uint32_t maker = b->plan->maker[v];
    const cbx__node *node = maker == CBX__NO_INDEX ? NULL : &b->plan->graph->nodes.items[maker];
    const known want = { v, at, CBX__NO_KID };
    const uint64_t hash = hash_of(b, v, at);
    const size_t *have = cbx_table_find(&b->table, hash, is_known, b, &want);
    cbx__kid r;

    if (b->given && b->given[v] != CBX__NO_KID) return b->given[v];
    if (have) return b->knowns.items[*have].kid;
    if (node && b->plan->computed[v])
        r = compute(b, node, (cbx__role)b->plan->role[maker], at);
    else if (!constant_number(b, v, &r)) {
        const cbx__site s = site_of(b, v, at);
        r = load(b, desc(b, v)->dtype, false, &s);
    }
    if (!cbx_list_push(&b->al, &b->knowns, (known){ v, at, r }) || !cbx_table_add(&b->table, hash, b->knowns.n - 1))
        b->failed = true;
    return r;
}

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
        key.chunked = node->prim == CBX_PRIM_SUM && wide_of(node, d->dtype, to) == CBX_F64 && d->dtype != CBX_F64;
        if (key.gone == 0) key.gone = 1u << 31; /* a fold of axes of length 1 */
    }
    return key;
}

/* Forms of a root of the nest; last: where on the axis that is written out. */
static const form *root_forms(builder *b, const cbx_array_desc *d, bool split, size_t last)
{
    form *f = new_forms(b, d->ndim);
    int dim = 0;

    for (int a = 0; f && a < d->ndim; a++) {
        if (split && a == d->ndim - 1)
            f[a].start = (ptrdiff_t)last;
        else if (d->shape[a] != 1)
            f[a].steps[dim++] = 1;
    }
    return f;
}

static bool add_output(builder *b, cbx__kid value, cbx_dtype t, const cbx__site *site)
{
    cbx__nest *n = b->nest;

    if (value == CBX__NO_KID) b->failed = true;
    if (b->failed) return false;
    add_stream(b, (cbx__kstream){ .dtype = (uint8_t)t, .kind = CBX__STREAM_DENSE, .value = value }, site);
    n->kernel.nout++;
    return !b->failed;
}

static bool add_fold(builder *b, const cbx__node *node, const form *at, cbx__kid value)
{
    const cbx_array_desc *from = desc(b, node->in[0]), *to = desc(b, node->out);
    cbx__nest_fold *f = &b->nest->folds[b->nest->nfolds++];
    ptrdiff_t dense[CBX_MAX_RANK];
    const ptrdiff_t size = (ptrdiff_t)cbx__dtype_size(to->dtype);
    int axis = 0;
    unsigned gone = 0;

    *f = (cbx__nest_fold){
        node->prim, node->attrs->mode != 0, (uint32_t)b->nest->kernel.nout, wide_of(node, from->dtype, to->dtype),
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
    return add_output(b, as(&b->nest->kernel, from->dtype, f->wide, value), f->wide,
                      &(cbx__site){ .base = CBX__NO_VALUE });
}

static bool add_root(builder *b, uint32_t k, const shape_key *key)
{
    const cbx__node *node = &b->plan->graph->nodes.items[k];
    const cbx__role role = (cbx__role)b->plan->role[k];
    const cbx_array_desc *d = space_desc(b->plan, k);
    const size_t times = key->split ? d->shape[d->ndim - 1] : 1;

    for (size_t i = 0; i < times; i++) {
        const form *at = root_forms(b, d, key->split, i);
        if (!at) return false;
        if (role == CBX__ROLE_FOLD) {
            if (!add_fold(b, node, at, element(b, node->in[0], at))) return false;
        } else {
            const cbx__kid value = b->plan->computed[node->out] ? element(b, node->out, at)
                                                                : compute(b, node, role, at);
            const cbx__site s = site_of(b, node->out, at);
            if (!add_output(b, value, d->dtype, &s)) return false;
        }
    }
    return true;
}

/* ---- the space ---- */

/* Outputs first: the order of streams that kernels have. */
static bool sort_streams(builder *b)
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

/* Dimension i and the one inside it are one for every stream and result. */
static bool merges(const cbx__nest *n, int outer, int inner)
{
    const ptrdiff_t length = (ptrdiff_t)n->shape[inner];

    if (!(n->gone >> outer & 1) != !(n->gone >> inner & 1)) return false;
    for (size_t s = 0; s < n->kernel.streams.n; s++)
        if (n->sites[s].strides[outer] != n->sites[s].strides[inner] * length) return false;
    for (size_t f = 0; f < n->nfolds && !(n->gone >> inner & 1); f++)
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
        if (to > 0) {
            /* the last kept one is at to - 1 with its bit in `gone`; compare it with i */
            const unsigned all = n->gone;
            bool joins;
            n->gone = (all & ~(1u << (to - 1))) | (gone & 1u << (to - 1));
            joins = merges(n, to - 1, i);
            n->gone = all;
            if (joins) {
                const size_t length = n->shape[to - 1] * n->shape[i];
                move_dimension(n, to - 1, i);
                n->shape[to - 1] = length;
                continue;
            }
        }
        if (n->gone >> i & 1) gone |= 1u << to;
        move_dimension(n, to++, i);
    }
    n->ndim = to;
    n->gone = gone | (n->gone & 1u << 31);
}

static void set_kinds(cbx__nest *n)
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
}

static uint64_t work_of(const cbx__kernel *k)
{
    uint64_t work = 0;
    for (size_t i = 0; i < k->instr.n; i++) work += k->instr.items[i].op == CBX__K_MATH ? 20 : 1;
    return work;
}

static bool build(cbx_arena *arena, const cbx_allocator *al, const cbx__plan *plan, const cbx__unit *unit,
                  const shape_key *key, bool split, cbx__nest *out)
{
    builder b = { .arena = arena, .al = cbx_arena_allocator(arena), .plan = plan, .nest = out };
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
    if (!done || b.failed || out->kernel.failed || !sort_streams(&b)) return false;
    merge_dimensions(out);
    set_kinds(out);
    cbx__kernel_finish(&out->kernel);
    out->work = work_of(&out->kernel);
    return !out->kernel.failed;
}

/* Whether all roots are worth loops over their whole shapes: nothing is folded, and inner runs are long. */
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

/* ---- scans ---- */

/* Steps of a value of each step, or of all steps, through the space of steps and elements. */
static cbx__site scan_site(const cbx__graph *g, cbx__vid base, const cbx_array_desc *element, bool each, bool output,
                           const cbx__control *c)
{
    const ptrdiff_t size = (ptrdiff_t)cbx__dtype_size(element->dtype);
    size_t shape[CBX_MAX_RANK], count = 1;
    const int n = cbx__long_axes(element, shape);
    cbx__site s = { .base = base };

    (void)g;
    for (int i = 0; i < n; i++) count *= shape[i];
    s.strides[1] = n > 0 || output ? size : 0;
    if (!each) return s;
    s.strides[0] = (ptrdiff_t)count * size;
    if (!c->reverse) return s;
    s.offset = (ptrdiff_t)(c->length - 1) * s.strides[0];
    s.strides[0] = -s.strides[0];
    return s;
}

/* Inputs of the body: constants and xs are loaded, carries come from the step before. */
static bool give_inputs(builder *b, const cbx__graph *g, const cbx__node *node, const cbx__control *c, cbx__kid *given)
{
    const cbx__graph *body = c->graph[CBX__SCAN_BODY];
    const size_t first = c->consts[0], first_x = first + c->ncarry;
    cbx__kernel *k = &b->nest->kernel;

    for (size_t i = 0; i < body->in.n && !b->failed; i++) {
        const bool carry = i >= first && i < first_x;
        const cbx_array_desc *d = cbx__graph_in(body, i);
        const cbx__site s = scan_site(g, node->in[i], d, i >= first_x, false, c);
        if (!carry) {
            given[body->in.items[i]] = load(b, d->dtype, false, &s);
            continue;
        }
        const uint32_t stream = add_stream(b, (cbx__kstream){ .dtype = (uint8_t)d->dtype, .kind = CBX__STREAM_DENSE },
                                           &s);
        if (!cbx_list_push(&k->al, &k->carries, (cbx__kcarry){ stream, 0 })) b->failed = true;
        given[body->in.items[i]] = cbx__kernel_add(
            k, (cbx__kinstr){ .op = CBX__K_CARRY, .dtype = (uint8_t)d->dtype, .a = (cbx__kid)(i - first) });
    }
    return !b->failed;
}

static bool add_results(builder *b, const cbx__graph *g, const cbx__node *node, const cbx__control *c)
{
    const cbx__graph *body = c->graph[CBX__SCAN_BODY];
    cbx__kernel *k = &b->nest->kernel;

    for (size_t i = 0; i < body->out.n && !b->failed; i++) {
        const cbx_array_desc *d = cbx__graph_out(body, i);
        const form *nowhere = new_forms(b, d->ndim);
        const bool carry = i < c->ncarry;
        const cbx__site s = scan_site(g, node->out + (cbx__vid)i, d, !carry, true, c);
        const cbx__kid v = nowhere ? element(b, body->out.items[i], nowhere) : CBX__NO_KID;
        if (!add_output(b, v, d->dtype, &s)) return false;
        if (carry) k->carries.items[i].next = v;
        k->streams.items[k->streams.n - 1].final = carry;
    }
    return !b->failed;
}

cbx_status cbx__scan_nest(cbx_arena *arena, const cbx_allocator *al, const cbx__graph *g, const cbx__node *node,
                          bool *done, cbx__nest *out, cbx_err *err)
{
    const cbx__control *c = cbx__control_of(node->attrs);
    const cbx__graph *body = c->graph[CBX__SCAN_BODY];
    const cbx_array_desc *of = NULL;
    size_t shape[CBX_MAX_RANK];
    cbx__plan plan;
    cbx__kid *given;
    bool fits;
    cbx_status st;

    *done = false;
    if (c->length == 0 || c->ncarry == 0 || c->ncarry > CBX__MAX_CARRIES) return CBX_OK;
    for (size_t i = 0; i < body->out.n; i++)
        if (!of || cbx__long_axes(cbx__graph_out(body, i), shape) > 0) of = cbx__graph_out(body, i);
    st = cbx__plan_elements(arena, body, of, &fits, &plan, err);
    if (st || !fits) return st;
    given = cbx_arena_calloc(arena, body->values.n + 1, sizeof *given);
    if (!given) return cbx_fail_nomem(err, "the kernel of a scan");
    memset(given, 0xff, (body->values.n + 1) * sizeof *given);
    builder b = { .arena = arena, .al = cbx_arena_allocator(arena), .plan = &plan, .nest = out, .given = given };
    *out = (cbx__nest){ .ndim = 2, .shape = { c->length, 1 } };
    for (int i = cbx__long_axes(of, shape); i-- > 0;) out->shape[1] *= shape[i];
    cbx__kernel_init(&out->kernel, al);
    cbx_table_init(&b.table, &b.al);
    if (!give_inputs(&b, g, node, c, given) || !add_results(&b, g, node, c) || !sort_streams(&b)) goto failed;
    out->kernel.single = out->shape[1] == 1;
    set_kinds(out);
    cbx__kernel_finish(&out->kernel);
    out->work = work_of(&out->kernel);
    if (out->kernel.failed) goto failed;
    *done = true;
    return CBX_OK;
failed:
    cbx__kernel_clear(&out->kernel);
    return cbx_fail_nomem(err, "the kernel of a scan");
}
