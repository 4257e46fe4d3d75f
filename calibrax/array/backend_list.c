/* The backends of the library: the one place that names them, and which of them a context takes. */
#include <string.h>

#include "calibrax/array/jit/jit.h"
#include "calibrax/array/reference/reference.h"
#include "calibrax/array/state.h"

const cbx_backend *cbx_backend_reference(void) { return &cbx__reference_backend; }
const cbx_backend *cbx_backend_jit(void) { return &cbx__jit_backend; }

/* The one list, best first: what "auto" takes, with or without a GPU, is at the top. */
static const cbx_backend *const backends[] = { &cbx__jit_backend, &cbx__reference_backend };

const cbx_backend *cbx_backend_at(size_t i) { return i < CBX_LEN(backends) ? backends[i] : NULL; }

cbx_status cbx_backend_find(const char *name, const cbx_backend **out, cbx_err *err)
{
    for (size_t i = 0; i < CBX_LEN(backends); i++) {
        if (strcmp(name, backends[i]->name)) continue;
        *out = backends[i];
        return CBX_OK;
    }
    return cbx_fail(err, CBX_EINVAL, "unknown backend '%.80s': it must be reference or jit", name);
}

/*
 * The name under which a setting was made, which is where it must be changed: its alias, else its
 * variable.
 */
static const char *spoken(const cbx_settings *s, cbx_setting which)
{
    const cbx_setting_info *info = cbx_setting_get_info(which);
    return s->origin[which] && !strcmp(s->origin[which], info->alias) ? info->alias : info->variable;
}

cbx_status cbx_backend_choose(const cbx_settings *settings, const cbx_backend **out, cbx_err *err)
{
    const cbx_backend *b = backends[0];
    cbx_status st = strcmp(settings->backend, "auto") ? cbx_backend_find(settings->backend, &b, err) : CBX_OK;

    if (st) return st;
    if (settings->use_gpu && !settings->gpu_fallback && !(b->flags & CBX_BACKEND_GPU))
        return cbx_fail(err, CBX_EUNAVAILABLE,
                        "a GPU is required without fallback, but the backend '%s' runs on the CPU only: set %s to true "
                        "or %s to false",
                        b->name, spoken(settings, CBX_SETTING_GPU_FALLBACK), spoken(settings, CBX_SETTING_USE_GPU));
    *out = b;
    return CBX_OK;
}

static cbx_status refuse(CBX__UNUSED const cbx_backend *self, const cbx_call *call, CBX__UNUSED cbx_array **out,
                         cbx_err *err)
{
    const cbx_backend *none;
    return cbx_backend_choose(cbx_ctx_settings(call->ctx), &none, err);
}

/* The backend of settings that none fits: the first result fails with the reason. */
static const cbx_backend unavailable = {
    .struct_size = sizeof(cbx_backend),
    .abi = CBX_BACKEND_ABI,
    .name = "unavailable",
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
        return cbx_fail(
            err, CBX_EVERSION,
            "the backend was built for abi %u with %u bytes, this library has abi %u with %zu: rebuild the backend",
            backend->abi, backend->struct_size, CBX_BACKEND_ABI, sizeof *backend);
    if (!backend->apply)
        return cbx_fail(err, CBX_EINVAL, "backend '%s' lacks 'apply'", backend->name ? backend->name : "?");
    if (backend->compile && (!backend->run || !backend->release))
        return cbx_fail(err, CBX_EINVAL, "backend '%s' compiles, but lacks 'run' or 'release'",
                        backend->name ? backend->name : "?");
    s->backend = backend;
    return CBX_OK;
}
