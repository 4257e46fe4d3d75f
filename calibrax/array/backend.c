/* Dispatch: the one door between array functions and the context's backend. */
#include "calibrax/array/backend.h"

#include <stddef.h>
#include <string.h>

#include "calibrax/array/ops_internal.h"
#include "calibrax/array/reference/reference.h"

const cbx_backend *cbx_backend_reference(void) { return &cbx__reference_backend; }

/* The one list, best first: what "auto" takes is at the top. */
static const cbx_backend *const backends[] = { &cbx__reference_backend };

const cbx_backend *cbx_backend_at(size_t i) { return i < CBX_LEN(backends) ? backends[i] : NULL; }

cbx_status cbx_backend_find(const char *name, const cbx_backend **out, cbx_err *err)
{
    static const char *const optional[] = { "jit" };

    for (size_t i = 0; i < CBX_LEN(backends); i++) {
        if (strcmp(name, backends[i]->name)) continue;
        *out = backends[i];
        return CBX_OK;
    }
    for (size_t i = 0; i < CBX_LEN(optional); i++)
        if (!strcmp(name, optional[i]))
            return cbx_fail(
                err, CBX_EUNAVAILABLE,
                "the backend '%s' is not built into this library: set CALIBRAX_BACKEND to auto or reference", name);
    return cbx_fail(err, CBX_EINVAL, "unknown backend '%.80s': say reference or jit", name);
}

/* The name under which a setting was made, which is where it must be changed: its alias, else its variable. */
static const char *spoken(const cbx_settings *s, cbx_setting which)
{
    const cbx_setting_info *info = cbx_setting_get_info(which);
    return s->origin[which] && !strcmp(s->origin[which], info->alias) ? info->alias : info->variable;
}

cbx_status cbx_backend_choose(const cbx_settings *settings, const cbx_backend **out, cbx_err *err)
{
    const char *backend = spoken(settings, CBX_SETTING_BACKEND);
    const cbx_backend *b = backends[0];
    bool any = !strcmp(settings->backend, "auto");
    cbx_status st = any ? CBX_OK : cbx_backend_find(settings->backend, &b, err);

    if (st == CBX_EUNAVAILABLE && strcmp(backend, cbx_setting_get_info(CBX_SETTING_BACKEND)->variable))
        return cbx_fail(err, st, "the backend '%s' is not built into this library: set %s to auto or false",
                        settings->backend, backend);
    if (st) return st;
    for (size_t i = 0; any && settings->use_gpu && !(b->flags & CBX_BACKEND_GPU) && i < CBX_LEN(backends); i++)
        if (backends[i]->flags & CBX_BACKEND_GPU) b = backends[i];
    if (settings->use_gpu && !settings->gpu_fallback && !(b->flags & CBX_BACKEND_GPU))
        return cbx_fail(err, CBX_EUNAVAILABLE,
                        "a GPU is wanted without fallback, and the backend '%s' computes on the CPU alone: set "
                        "%s to true or %s to false",
                        b->name, spoken(settings, CBX_SETTING_GPU_FALLBACK), spoken(settings, CBX_SETTING_USE_GPU));
    *out = b;
    return CBX_OK;
}

static cbx_status refuse(const cbx_backend *self, const cbx_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_backend *none;
    (void)self;
    (void)out;
    return cbx_backend_choose(cbx_ctx_settings(call->ctx), &none, err);
}

/* The backend of settings that ask for a missing one: the first result fails with the reason. */
static const cbx_backend unavailable = {
    .struct_size = sizeof(cbx_backend),
    .abi = CBX_BACKEND_ABI,
    .name = "unavailable",
    .flags = CBX_BACKEND_TAKES_ABSTRACT,
    .apply = refuse,
};

const cbx_backend *cbx__backend_of(const cbx_settings *settings)
{
    const cbx_backend *b = &unavailable;
    cbx_backend_choose(settings, &b, NULL);
    return b;
}

const cbx_backend *cbx_ctx_backend(cbx_ctx *ctx)
{
    const cbx__state *s = cbx__state_get(ctx);
    return s ? s->backend : cbx__backend_of(cbx_ctx_settings(ctx));
}

cbx_status cbx_ctx_set_backend(cbx_ctx *ctx, const cbx_backend *backend, cbx_err *err)
{
    cbx__state *s = cbx__state_get(ctx);

    if (!s) return cbx_fail(err, CBX_ENOMEM, "no memory for the array state of a context");
    if (!backend) backend = cbx__backend_of(cbx_ctx_settings(ctx));
    if (backend->abi != CBX_BACKEND_ABI || backend->struct_size < sizeof *backend)
        return cbx_fail(err, CBX_EVERSION,
                        "the backend was built for abi %u with %u bytes, this library knows %u with %zu: rebuild it",
                        backend->abi, backend->struct_size, CBX_BACKEND_ABI, sizeof *backend);
    if (!backend->apply)
        return cbx_fail(err, CBX_EINVAL, "backend '%s' lacks 'apply'", backend->name ? backend->name : "?");
    s->backend = backend;
    return CBX_OK;
}

/* The first failure's sentence names what it happened to. */
static cbx_array *failed(cbx_ctx *ctx, size_t nin, const cbx_array *const *in, const cbx_err *err)
{
    if (err) cbx__name_operands(ctx, nin, in);
    return cbx__array_failed();
}

cbx_array *cbx_apply(cbx_ctx *ctx, cbx_prim prim, size_t nin, const cbx_array *const *in, const cbx_attrs *attrs)
{
    static const cbx_attrs none = { 0 };
    cbx__state *s = cbx__state_peek(ctx);
    cbx_array_desc result;
    unsigned flags = 0;
    cbx_array *out = NULL;
    cbx_err *err; /* NULL: an earlier failure is pending */
    cbx_status st;

    if (!s) s = cbx__state_get(ctx);
    if (!s) return cbx__refuse(ctx, CBX_ENOMEM, "no memory for the array state of a context");
    if (nin && !in) return cbx__refuse(ctx, CBX_EINVAL, "'in' of '%s' is NULL", cbx_prim_name(prim));
    for (size_t i = 0; i < nin; i++) {
        if (!in[i]) return cbx__refuse(ctx, CBX_EINVAL, "operand %zu of '%s' is NULL", i + 1, cbx_prim_name(prim));
        flags |= in[i]->flags;
    }
    if (flags & CBX__FAILED) return cbx__array_failed();
    err = cbx__sticky(ctx);
    if (!attrs) attrs = &none;
    st = cbx_prim_infer(prim, nin, in, attrs, &result, err);
    if (st) return failed(ctx, nin, in, err);
    if ((flags & CBX__ABSTRACT) && !cbx__records(s))
        st = cbx_array_create_abstract(ctx, &result, &out, err);
    else
        st = s->backend->apply(s->backend, &(cbx_call){ ctx, prim, nin, in, attrs, &result }, &out, err);
    return st ? failed(ctx, nin, in, err) : cbx_scope_hold(ctx, out);
}
