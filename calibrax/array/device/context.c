/* The device of a context: its settings' wish, met by the devices it looks at and by what its
 * backend can do. */
#include <stdio.h>

#include "calibrax/array/device/internal.h"
#include "calibrax/array/state.h"

/* What a context has of devices. */
typedef struct choice {
    bool begun;
    cbx_devices *devices; /* NULL until asked for */
    cbx_device_config config;
} choice;

static void choice_clear(void *state, CBX__UNUSED const cbx_allocator *al)
{
    cbx_devices_free(((choice *)state)->devices);
}

/* NULL: no memory, which is in err. */
static choice *choice_of(cbx_ctx *ctx, cbx_err *err)
{
    const cbx_settings *wish = cbx_ctx_settings(ctx);
    choice *s = cbx__state_of(ctx, sizeof *s, choice_clear);

    if (!s) cbx_fail(err, CBX_ENOMEM, "no memory for the devices of a context");
    if (s && !s->begun)
        *s = (choice){ .begun = true,
                       .config = { wish->use_gpu ? CBX_DEVICE_CUDA : CBX_DEVICE_CPU, wish->gpu_fallback,
                                   wish->gpu_memory_fraction } };
    return s;
}

cbx_status cbx_ctx_devices(cbx_ctx *ctx, const cbx_devices **out, cbx_err *err)
{
    choice *s = choice_of(ctx, err);
    cbx_status st = s ? CBX_OK : CBX_ENOMEM;

    if (!st && !s->devices) st = cbx_devices_probe(ctx, NULL, &s->devices, err);
    if (!st) *out = s->devices;
    return st;
}

cbx_status cbx_ctx_set_devices(cbx_ctx *ctx, const cbx_devices *devices, cbx_err *err)
{
    choice *s = choice_of(ctx, err);
    cbx_status st = s ? CBX_OK : CBX_ENOMEM;
    cbx_devices *old;

    if (st) return st;
    old = s->devices;
    s->devices = cbx_devices_ref(devices);
    cbx_devices_free(old);
    return CBX_OK;
}

static cbx_status choose(cbx_ctx *ctx, const cbx_device_config *config, cbx_device_choice *out, cbx_err *err)
{
    const cbx_backend *b = cbx_ctx_backend(ctx);
    const cbx_devices *d;
    char obstacle[160];
    cbx_status st = cbx_ctx_devices(ctx, &d, err);

    if (st) return st;
    snprintf(obstacle, sizeof obstacle, "the backend '%.80s' runs on the CPU only", b->name);
    /* without a GPU at all that is the reason to give, not the backend */
    bool blocked = !(b->flags & CBX_BACKEND_GPU) && cbx_devices_first(d, CBX_DEVICE_CUDA);
    return cbx__devices_choose(d, config, blocked ? obstacle : NULL, out, err);
}

cbx_status cbx_ctx_set_device_config(cbx_ctx *ctx, const cbx_device_config *config, cbx_err *err)
{
    cbx_device_choice met;
    choice *s = choice_of(ctx, err);
    cbx_status st = s ? CBX_OK : CBX_ENOMEM;

    if (!st) st = choose(ctx, config, &met, err);
    if (!st) s->config = *config;
    return st;
}

cbx_status cbx_ctx_device_config(cbx_ctx *ctx, cbx_device_config *out, cbx_err *err)
{
    choice *s = choice_of(ctx, err);
    cbx_status st = s ? CBX_OK : CBX_ENOMEM;

    if (!st) *out = s->config;
    return st;
}

cbx_status cbx_ctx_device(cbx_ctx *ctx, cbx_device_choice *out, cbx_err *err)
{
    cbx_device_config config;
    cbx_status st = cbx_ctx_device_config(ctx, &config, err);
    return st ? st : choose(ctx, &config, out, err);
}
