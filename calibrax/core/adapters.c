/* The list of adapters and the choice among them. */
#include "calibrax/core/adapters.h"

void cbx_adapters_init(cbx_adapters *a, const cbx_allocator *al) { cbx_registry_init(&a->registry, al, "adapter"); }
void cbx_adapters_clear(cbx_adapters *a) { cbx_registry_clear(&a->registry); }

cbx_status cbx_adapters_register(cbx_adapters *a, const cbx_adapter_ops *adapter, cbx_err *err)
{
    cbx_status st = cbx_protocol_check(adapter, sizeof *adapter, CBX_ADAPTER_ABI, "adapter", err);

    if (st) return st;
    if (!adapter->can_adapt || !adapter->adapt)
        return cbx_fail(err, CBX_EINVAL, "adapter '%s' lacks can_adapt or adapt", adapter->name ? adapter->name : "");
    return cbx_registry_register(&a->registry, adapter->name, adapter, false, err);
}

cbx_status cbx_adapters_adapt(cbx_ctx *ctx, const cbx_adapters *a, const cbx_target *target, cbx_adapted *out,
                              cbx_err *err)
{
    for (size_t i = a->registry.count; i > 0; i--) {
        const cbx_adapter_ops *adapter = a->registry.entries[i - 1].item;
        cbx_adapted adapted = { .release = adapter->release };
        cbx_status st;

        if (!adapter->can_adapt(target)) continue;
        st = adapter->adapt(ctx, target, &adapted, err);
        if (!st) *out = adapted;
        return st;
    }
    return cbx_fail(err, CBX_EUNSUPPORTED, "no adapter takes '%s' of type '%s': %zu are registered",
                    target->name ? target->name : "unknown", target->type ? target->type : "", a->registry.count);
}

void cbx_adapted_release(cbx_adapted *adapted)
{
    if (adapted->release && adapted->self) adapted->release(adapted->self);
    *adapted = (cbx_adapted){ 0 };
}
