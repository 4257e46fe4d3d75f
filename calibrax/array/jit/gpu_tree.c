/* What a GPU computes of a nest, and over how many threads. */
#include "calibrax/array/jit/folds.h"
#include "calibrax/array/jit/gpu_code.h"
#include "calibrax/array/reference/reduce.h"

/* Levels until no node has more elements than a leaf.  Nodes of a level differ by less than 16
 * elements, so few lengths occur. */
static unsigned levels_of(size_t length)
{
    size_t lengths[2][64] = { { length } }, n = 1;
    unsigned level = 0;

    for (;; level++) {
        const size_t *from = lengths[level % 2];
        size_t *to = lengths[(level + 1) % 2], next = 0, longest = 0;
        for (size_t i = 0; i < n; i++) {
            const size_t half = from[i] / 2 - from[i] / 2 % 8, parts[2] = { half, from[i] - half };
            if (from[i] > longest) longest = from[i];
            for (int p = 0; p < 2; p++) {
                size_t at = 0;
                while (at < next && to[at] != parts[p]) at++;
                if (at == next) to[next++] = parts[p];
            }
        }
        if (longest <= CBX__LEAF) return level;
        n = next;
    }
}

cbx__gpu_tree cbx__gpu_tree_of(const cbx__nest *n)
{
    cbx__gpu_tree t = { .results = cbx__nest_points(n, false), .length = cbx__nest_points(n, true) };
    const bool by_rows = n->ndim == 0 || n->gone >> (n->ndim - 1) & 1;

    t.chunk = n->chunked && t.length > CBX__CHUNK ? CBX__CHUNK : t.length;
    t.chunks = t.length ? (t.length + t.chunk - 1) / t.chunk : 0;
    t.levels = levels_of(t.chunk);
    t.nodes = (size_t)1 << t.levels;
    t.inner = by_rows ? 1 : t.results;
    t.outer = by_rows ? t.chunks * t.results : t.chunks;
    t.leaves = t.outer * t.nodes * t.inner;
    return t;
}

size_t cbx__gpu_threads(const cbx__nest *n, bool host)
{
    const cbx__gpu_tree t = cbx__gpu_tree_of(n);

    if (n->nfolds == 0) return t.results * t.length;
    return t.leaves * (t.inner == 1 && !host ? CBX__GPU_LANES : 1);
}

bool cbx__gpu_may_leave(const cbx__nest *n)
{
    for (size_t i = 0; i < n->kernel.instr.n; i++) {
        const cbx__kinstr *x = &n->kernel.instr.items[i];
        const cbx__kformula *f = cbx__formula_of(x);
        if (f && !cbx__formula_is_total(f)) return true;
    }
    return false;
}

cbx_status cbx__gpu_takes(const cbx__nest *n, cbx_err *err)
{
    if (n->kernel.carries.n)
        return cbx_fail(err, CBX_EUNSUPPORTED, "GPUs do not compute 'scan': its steps follow each other");
    for (size_t f = 0; f < n->nfolds; f++)
        if (n->folds[f].prim == CBX_PRIM_PROD && n->folds[f].wide == CBX_F64)
            return cbx_fail(err, CBX_EUNSUPPORTED, "GPUs do not compute 'prod' of %s: its factors have an order",
                            cbx_dtype_name(n->folds[f].to));
    for (size_t i = 0; i < n->kernel.instr.n; i++) {
        const cbx__kinstr *x = &n->kernel.instr.items[i];
        if (x->op == CBX__K_MATH && !cbx__formula_of(x))
            return cbx_fail(err, CBX_EUNSUPPORTED, "GPUs do not compute '%s' of %s: it has no formula",
                            cbx_prim_name((cbx_prim)x->prim), cbx_dtype_name((cbx_dtype)x->dtype));
    }
    return CBX_OK;
}
