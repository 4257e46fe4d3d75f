/* Dispatch: the one door between array functions and the context's backend. */
#include "calibrax/array/backend.h"

#include <stddef.h>

#include "calibrax/array/reference/reference.h"
#include "calibrax/array/state.h"

const cbx_backend *cbx_backend_reference(void) { return &cbx__reference_backend; }

const cbx_backend *cbx_ctx_backend(cbx_ctx *ctx)
{
    const cbx__state *s = cbx__state_get(ctx);
    return s ? s->backend : &cbx__reference_backend;
}

cbx_status cbx_ctx_set_backend(cbx_ctx *ctx, const cbx_backend *backend, cbx_err *err)
{
    cbx__state *s = cbx__state_get(ctx);

    if (!s) return cbx_fail(err, CBX_ENOMEM, "no memory for the array state of a context");
    if (!backend) backend = &cbx__reference_backend;
    if (backend->abi != CBX_BACKEND_ABI || backend->struct_size < sizeof *backend)
        return cbx_fail(err, CBX_EVERSION,
                        "the backend was built for abi %u with %u bytes, this library knows %u with %zu: rebuild it",
                        backend->abi, backend->struct_size, CBX_BACKEND_ABI, sizeof *backend);
    if (!backend->apply)
        return cbx_fail(err, CBX_EINVAL, "backend '%s' lacks 'apply'", backend->name ? backend->name : "?");
    s->backend = backend;
    return CBX_OK;
}

cbx_array *cbx_apply(cbx_ctx *ctx, cbx_prim prim, size_t nin, const cbx_array *const *in, const cbx_attrs *attrs)
{
    static const cbx_attrs none = { 0 };
    cbx__state *s = cbx__state_get(ctx);
    cbx_array_desc result;
    unsigned flags = 0;
    cbx_array *out = NULL;
    cbx_status st;

    if (!s) return cbx__refuse(ctx, CBX_ENOMEM, "no memory for the array state of a context");
    for (size_t i = 0; i < nin; i++) {
        if (!in[i]) return cbx__refuse(ctx, CBX_EINVAL, "operand %zu of '%s' is NULL", i + 1, cbx_prim_name(prim));
        flags |= in[i]->flags;
    }
    if (flags & CBX__FAILED) return cbx__array_failed();
    if (!attrs) attrs = &none;
    st = cbx_prim_infer(prim, nin, in, attrs, &result, cbx__sticky(ctx));
    if (st) return cbx__array_failed();
    if ((flags & CBX__ABSTRACT) && !(s->backend->flags & CBX_BACKEND_TAKES_ABSTRACT))
        st = cbx_array_create_abstract(ctx, &result, &out, cbx__sticky(ctx));
    else
        st = s->backend->apply(s->backend, &(cbx_call){ ctx, prim, nin, in, attrs, &result }, &out, cbx__sticky(ctx));
    return st ? cbx__array_failed() : cbx_scope_hold(ctx, out);
}
