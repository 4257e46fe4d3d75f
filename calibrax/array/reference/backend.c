/*
 * The reference backend: the definition of right answers.
 *
 * Element-by-element primitives are one walk over the loops of kernels/, which are compiled for each instruction set;
 * every other primitive has a function of its own, named in the table of primitives.
 */
#include "calibrax/array/reference/reference.h"

static cbx__loop find_loop(const cbx_call *call)
{
    cbx_dtype t = cbx_array_dtype(call->in[call->nin - 1]);

    if (call->prim > CBX_PRIM_THREEFRY && call->prim <= CBX_PRIM_RANDOM_GAMMA) return cbx__ref_random(call->prim, t);
    if (call->prim == CBX_PRIM_CAST) return cbx__loops_get()->cast(t, call->attrs->dtype);
    if (call->nin == 1) return cbx__loops_get()->unary(call->prim, t);
    return cbx__loops_get()->binary(call->prim, t);
}

cbx_status cbx__ref_run_each(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_array *x = call->in[0];
    const cbx__loop loop = find_loop(call);
    unsigned flags = CBX__CONTIGUOUS;
    char *p[CBX__OPERANDS_MAX];
    ptrdiff_t s[CBX__OPERANDS_MAX];
    cbx__strided op[CBX__OPERANDS_MAX];

    if (!loop) return cbx_fail(err, CBX_EINTERNAL, "'%s' has no loop for its dtype", cbx_prim_name(call->prim));
    if (call->prim == CBX_PRIM_MUL && call->attrs->mode && x->pool && !x->base && atomic_load(&x->refs) == 1 &&
        (x->flags & CBX__CONTIGUOUS) && cbx_array_desc_equal(&x->desc, call->result)) {
        *out = cbx_array_ref(x); /* a temporary operand becomes the result: no other memory is written */
    } else {
        cbx_status st = cbx_array_create(call->ctx, call->result, out, err);
        if (st) return st;
    }
    for (size_t i = 0; i < call->nin; i++) flags &= call->in[i]->flags;
    for (size_t i = 0; i <= call->nin; i++) {
        const cbx_array *a = i ? call->in[i - 1] : *out;
        if (!flags) {
            op[i] = cbx__ref_strided(a);
            continue;
        }
        p[i] = a->data;
        s[i] = (ptrdiff_t)cbx__dtype_size(a->desc.dtype);
    }
    if (!flags)
        cbx__ref_walk(call->result->ndim, call->result->shape, call->nin + 1, op, loop);
    else if ((*out)->count) /* no operand has gaps: all elements are one run */
        loop((*out)->count, p, s);
    return CBX_OK;
}

static cbx_status apply(const cbx_backend *self, const cbx_call *call, cbx_array **out, cbx_err *err)
{
    static const cbx__ref_run runs[CBX_PRIM_LIMIT] = {
#define ROW(name, number, word, nin, operands, result, shape, run, cost, function) [number] = cbx__ref_run_##run,
        CBX_PRIM_MAP(ROW)
#undef ROW
    };

    (void)self;
    for (size_t i = 0; i < call->nin; i++)
        if (call->in[i]->flags & CBX__ABSTRACT)
            return cbx_fail(err, CBX_EINVAL, "'%s' needs data, operand %zu is abstract", cbx_prim_name(call->prim),
                            i + 1);
    return runs[call->prim](call, out, err);
}

const cbx_backend cbx__reference_backend = {
    .struct_size = sizeof(cbx_backend),
    .abi = CBX_BACKEND_ABI,
    .name = "reference",
    .apply = apply,
    .jit = cbx__ref_jit,
    .vmap = cbx__ref_vmap,
    .scan = cbx__ref_scan,
    .fori_loop = cbx__ref_fori_loop,
    .while_loop = cbx__ref_while_loop,
    .cond = cbx__ref_cond,
};
