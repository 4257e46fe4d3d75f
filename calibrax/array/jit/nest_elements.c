/*
 * Elements are computed where they are read: an index form states which element of a value belongs
 * to a point of the space, views change forms, and operations are carried out on the elements at
 * equal forms.
 */
#include <stddef.h>
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/lower.h"
#include "calibrax/array/jit/nest_builder.h"
#include "calibrax/array/reference/reference.h"

cbx__form *cbx__new_forms(cbx__builder *b, int n)
{
    cbx__form *f = cbx_arena_calloc(b->arena, (size_t)n + 1, sizeof *f);
    if (!f) b->failed = true;
    return f;
}

/* ---- streams ---- */

uint32_t cbx__add_stream(cbx__builder *b, cbx__kstream s, const cbx__site *site)
{
    if (cbx_list_push(&b->nest->kernel.al, &b->nest->kernel.streams, s) && cbx_list_push(&b->al, &b->sites, *site))
        return (uint32_t)(b->sites.n - 1);
    b->failed = true;
    return 0;
}

/* Inputs follow outputs, whose number is known first: LOAD names a stream by its place among the
 * inputs until then. */
cbx__kid cbx__add_load(cbx__builder *b, cbx_dtype t, bool count, const cbx__site *site)
{
    cbx__kernel *k = &b->nest->kernel;
    const uint8_t kind = count ? CBX__STREAM_INDEX : CBX__STREAM_DENSE;
    uint32_t at = 0;

    while (at < b->sites.n && (memcmp(&b->sites.items[at], site, offsetof(cbx__site, at)) != 0 ||
                               k->streams.items[at].dtype != (uint8_t)t || k->streams.items[at].kind != kind))
        at++;
    if (at == b->sites.n)
        at = cbx__add_stream(b, (cbx__kstream){ .dtype = (uint8_t)t, .kind = kind }, site);
    else if (!site->at)
        b->sites.items[at].at = NULL;
    return cbx__kernel_add(k, (cbx__kinstr){ .op = CBX__K_LOAD, .dtype = (uint8_t)t, .a = at });
}

cbx__site cbx__site_of(const cbx__builder *b, cbx__vid v, const cbx__form *at)
{
    const cbx_array_desc *d = cbx__builder_desc(b, v);
    ptrdiff_t dense[CBX_MAX_RANK];
    cbx__site s = { .base = v, .at = at };
    const ptrdiff_t size = (ptrdiff_t)cbx__dtype_size(d->dtype);

    cbx__array_dense_strides(d, false, dense);
    for (int a = 0; a < d->ndim; a++) {
        s.offset += at[a].start * dense[a] * size;
        for (int i = 0; i < b->nest->ndim; i++) s.strides[i] += at[a].steps[i] * dense[a] * size;
    }
    return s;
}

/* ---- elements ---- */

static bool same_forms(int n, const cbx__form *x, const cbx__form *y)
{
    return memcmp(x, y, (size_t)n * sizeof *x) == 0;
}

static bool is_known(const void *user, size_t value, const void *key)
{
    const cbx__builder *b = user;
    const cbx__known_element *have = &b->knowns.items[value], *want = key;
    return have->value == want->value && same_forms(cbx__builder_desc(b, want->value)->ndim, have->at, want->at);
}

static uint64_t hash_of(const cbx__builder *b, cbx__vid v, const cbx__form *at)
{
    uint64_t h = cbx_hash_words(CBX_HASH_START, 1, &(const uint64_t){ v });

    for (int a = 0; a < cbx__builder_desc(b, v)->ndim; a++) {
        h = cbx_hash_words(h, 1, &(const uint64_t){ (uint64_t)at[a].start });
        for (int i = 0; i < b->nest->ndim; i++) h = cbx_hash_words(h, 1, &(const uint64_t){ (uint64_t)at[a].steps[i] });
    }
    return h;
}

static cbx__kid number(cbx__builder *b, const cbx__node *node, cbx_dtype t)
{
    while (node->prim != CBX_PRIM_FULL) node = &b->plan->graph->nodes.items[b->plan->maker[node->in[0]]];
    return cbx__kernel_const(&b->nest->kernel, t, node->attrs->value);
}

static cbx__kid count(cbx__builder *b, const cbx__node *node, const cbx__form *at)
{
    const cbx__form *axis = &at[node->attrs->axis];
    const cbx_dtype t = cbx__builder_desc(b, node->out)->dtype;
    cbx__site s = { .base = CBX__NO_VALUE, .offset = axis->start };
    bool moves = false;
    cbx__kid i;

    memcpy(s.strides, axis->steps, sizeof s.strides);
    for (int d = 0; d < b->nest->ndim; d++) moves |= axis->steps[d] != 0;
    i = moves ? cbx__add_load(b, CBX_I64, true, &s)
              : cbx__kernel_const(&b->nest->kernel, CBX_I64, (cbx_scalar){ .dtype = CBX_I64, .v.i = axis->start });
    return t == CBX_I64 ? i : cbx__k1(&b->nest->kernel, CBX__K_CAST, t, i);
}

static cbx__kid map(cbx__builder *b, const cbx__node *node, const cbx__form *at)
{
    const cbx_array_desc *d[3];
    cbx__kid in[3] = { 0 };
    const cbx_op op = { node->prim, node->nin, d, node->attrs, 1, cbx__builder_desc(b, node->out) };

    for (uint32_t i = 0; i < node->nin; i++) {
        d[i] = cbx__builder_desc(b, node->in[i]);
        in[i] = cbx__element(b, node->in[i], at);
    }
    return node->prim == CBX_PRIM_COPY ? in[0] : cbx__lower(&b->nest->kernel, &op, in);
}

/* The same element, counted in row-major order, of a value in memory. */
static cbx__kid reshaped_load(cbx__builder *b, const cbx__node *node, const cbx__form *at)
{
    cbx__site s = cbx__site_of(b, node->out, at);
    s.base = node->in[0];
    s.at = NULL;
    return cbx__add_load(b, cbx__builder_desc(b, node->out)->dtype, false, &s);
}

static cbx__kid view(cbx__builder *b, const cbx__node *node, const cbx__form *at)
{
    const cbx_array_desc *from = cbx__builder_desc(b, node->in[0]), *to = cbx__builder_desc(b, node->out);
    const cbx_attrs *attrs = node->attrs;
    cbx__form *below = cbx__new_forms(b, from->ndim);
    const int shift = to->ndim - from->ndim;

    if (!below) return CBX__NO_KID;
    switch (node->prim) {
    case CBX_PRIM_STOP_GRADIENT: return cbx__element(b, node->in[0], at);
    case CBX_PRIM_RESHAPE:
        if (!cbx__reshapes_units(from, to)) return reshaped_load(b, node, at);
        for (int a = 0, k = 0; a < from->ndim; a++) { /* by axes of length 1: the others keep their forms */
            if (from->shape[a] == 1) continue;
            while (to->shape[k] == 1) k++;
            below[a] = at[k++];
        }
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
    return cbx__element(b, node->in[0], below);
}

/* ---- folds that are written out ---- */

static cbx__kid folded(cbx__kernel *k, const cbx__nest_fold *f, cbx__kid t, cbx__kid x)
{
    const bool flt = cbx_dtype_kind(f->wide) == CBX_KIND_FLOAT;
    const cbx__kop ordered = f->prim == CBX_PRIM_REDUCE_MAX ? CBX__K_GE : CBX__K_LE;
    cbx__kid keeps;

    switch (f->prim) {
    case CBX_PRIM_SUM: return cbx__k2(k, CBX__K_ADD, f->wide, t, x);
    case CBX_PRIM_PROD: return cbx__k2(k, CBX__K_MUL, f->wide, t, x);
    case CBX_PRIM_ANY: return cbx__k2(k, CBX__K_OR, CBX_BOOL, t, x);
    case CBX_PRIM_ALL: return cbx__k2(k, CBX__K_AND, CBX_BOOL, t, x);
    default: break;
    }
    keeps = cbx__k2(k, ordered, CBX_BOOL, t, x);
    if (flt) { /* as the folds of the reference backend: NaN wins, or never */
        const cbx__kid nan = f->skips_nan ? x : t;
        keeps = cbx__k2(k, CBX__K_OR, CBX_BOOL, keeps, cbx__k2(k, CBX__K_NE, CBX_BOOL, nan, nan));
    }
    return cbx__k3(k, CBX__K_SELECT, f->wide, keeps, t, x);
}

/* In which dtype a fold is carried out. */
cbx_dtype cbx__wide_of(const cbx__node *node, cbx_dtype from, cbx_dtype to)
{
    if (node->prim == CBX_PRIM_ANY || node->prim == CBX_PRIM_ALL) return CBX_BOOL;
    return cbx__ref_wide(to == CBX_BOOL ? from : to);
}

/* Up to 7 elements from left to right, 8 pairwise: the tree of the reference backend's sums. */
static cbx__kid small(cbx__builder *b, const cbx__node *node, const cbx__form *at)
{
    const cbx_array_desc *from = cbx__builder_desc(b, node->in[0]), *to = cbx__builder_desc(b, node->out);
    const int last = from->ndim - 1;
    const size_t n = from->shape[last];
    cbx__kernel *k = &b->nest->kernel;
    const cbx__nest_fold f = { .prim = node->prim,
                               .skips_nan = node->attrs->mode != 0,
                               .wide = cbx__wide_of(node, from->dtype, to->dtype) };
    cbx__form *below = cbx__new_forms(b, from->ndim);
    cbx__kid x[CBX__SMALL] = { 0 }, r;

    if (!below) return CBX__NO_KID;
    memcpy(below, at, (size_t)last * sizeof *below);
    for (size_t i = 0; i < n; i++) {
        cbx__form *each = cbx__new_forms(b, from->ndim);
        if (!each) return CBX__NO_KID;
        memcpy(each, below, (size_t)from->ndim * sizeof *below);
        each[last].start = (ptrdiff_t)i;
        x[i] = cbx__kernel_cast(k, from->dtype, f.wide, cbx__element(b, node->in[0], each));
    }
    if (n == CBX__SMALL && f.prim == CBX_PRIM_SUM) {
        for (size_t width = 1; width < n; width *= 2)
            for (size_t i = 0; i < n; i += 2 * width) x[i] = folded(k, &f, x[i], x[i + width]);
    } else {
        for (size_t i = 1; i < n; i++) x[0] = folded(k, &f, x[0], x[i]);
    }
    r = x[0];
    if (f.prim == CBX_PRIM_SUM && cbx_dtype_kind(f.wide) == CBX_KIND_FLOAT) /* -0 becomes 0 */
        r = cbx__k2(k, CBX__K_ADD, f.wide, cbx__kernel_const(k, f.wide, (cbx_scalar){ .dtype = CBX_F64 }), r);
    return cbx__kernel_cast(k, f.wide, to->dtype, r);
}

cbx__kid cbx__compute(cbx__builder *b, const cbx__node *node, cbx__role role, const cbx__form *at)
{
    switch (role) {
    case CBX__ROLE_NUMBER: return number(b, node, cbx__builder_desc(b, node->out)->dtype);
    case CBX__ROLE_COUNT: return count(b, node, at);
    case CBX__ROLE_VIEW: return view(b, node, at);
    case CBX__ROLE_SMALL: return small(b, node, at);
    default: return map(b, node, at);
    }
}

/* A constant of rank 0 is a number. */
static bool constant_number(cbx__builder *b, cbx__vid v, cbx__kid *out)
{
    const cbx_array *a = b->plan->graph->values.items[v].constant;
    cbx__kinstr i = { .op = CBX__K_CONST };

    if (!a || a->count != 1 || a->flags & CBX__ELSEWHERE) return false;
    i.dtype = (uint8_t)a->desc.dtype;
    memcpy(&i.bits, a->data, cbx__dtype_size(a->desc.dtype));
    *out = cbx__kernel_add(&b->nest->kernel, i);
    return true;
}

cbx__kid cbx__element(cbx__builder *b, cbx__vid v, const cbx__form *at)
{
    const uint32_t maker = b->plan->maker[v];
    const cbx__node *node = maker == CBX__NO_INDEX ? NULL : &b->plan->graph->nodes.items[maker];
    const cbx__known_element want = { v, at, CBX__NO_KID };
    const uint64_t hash = hash_of(b, v, at);
    const size_t *have = cbx_table_find(&b->table, hash, is_known, b, &want);
    cbx__kid r;

    if (b->given && b->given[v] != CBX__NO_KID) return b->given[v];
    if (have) return b->knowns.items[*have].kid;
    if (node && b->plan->computed[v])
        r = cbx__compute(b, node, (cbx__role)b->plan->role[maker], at);
    else if (!constant_number(b, v, &r)) {
        const cbx__site s = cbx__site_of(b, v, at);
        r = cbx__add_load(b, cbx__builder_desc(b, v)->dtype, false, &s);
    }
    if (!cbx_list_push(&b->al, &b->knowns, (cbx__known_element){ v, at, r }) ||
        !cbx_table_add(&b->table, hash, b->knowns.n - 1))
        b->failed = true;
    return r;
}
