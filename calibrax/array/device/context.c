/* The device of a context: its settings' wish, met by the devices it looks at and by what its
 * backend can do. */
#include <stdio.h>

#include "calibrax/array/device/internal.h"
#include "calibrax/array/state.h"

static cbx_status state_of(cbx_ctx *ctx, cbx__state **out, cbx_err *err)
{
    *out = cbx__state_get(ctx);
    return *out ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "no memory for the array state of a context");
}

cbx_status cbx_ctx_devices(cbx_ctx *ctx, const cbx_devices **out, cbx_err *err)
{
    cbx__state *s;
    cbx_status st = state_of(ctx, &s, err);

    if (!st && !s->devices) st = cbx_devices_probe(ctx, NULL, &s->devices, err);
    if (!st) *out = s->devices;
    return st;
}

cbx_status cbx_ctx_set_devices(cbx_ctx *ctx, const cbx_devices *devices, cbx_err *err)
{
    cbx__state *s;
    cbx_status st = state_of(ctx, &s, err);
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
    cbx_device_choice choice;
    cbx__state *s;
    cbx_status st = state_of(ctx, &s, err);

    if (!st) st = choose(ctx, config, &choice, err);
    if (!st) s->device_config = *config;
    return st;
}

cbx_status cbx_ctx_device_config(cbx_ctx *ctx, cbx_device_config *out, cbx_err *err)
{
    cbx__state *s;
    cbx_status st = state_of(ctx, &s, err);

    if (!st) *out = s->device_config;
    return st;
}

cbx_status cbx_ctx_device(cbx_ctx *ctx, cbx_device_choice *out, cbx_err *err)
{
    cbx_device_config config;
    cbx_status st = cbx_ctx_device_config(ctx, &config, err);
    return st ? st : choose(ctx, &config, out, err);
}
