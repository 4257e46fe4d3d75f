/**
 * Adapters: from an object of some framework to a benchmark that can be run.  The adapter
 * registered last is tried first, so that a special one that is added later precedes a general one.
 */
#ifndef CALIBRAX_CORE_ADAPTERS_H
#define CALIBRAX_CORE_ADAPTERS_H

#include "calibrax/core/protocols.h"
#include "calibrax/core/registry.h"

CBX_BEGIN_DECLS

/** What is to be benchmarked. */
typedef struct cbx_target {
    const char *type; /* what `object` is: "command", "onnx"; adapters decide by it */
    const char *name; /* in messages; NULL: "unknown" */
    void *object;     /* the caller's */
} cbx_target;

/** A target made into a benchmark; end it with cbx_adapted_release. */
typedef struct cbx_adapted {
    const cbx_benchmark_ops *ops;
    void *self;
    void (*release)(void *self); /* set from the adapter; may be NULL */
} cbx_adapted;

#define CBX_ADAPTER_ABI 1

typedef struct cbx_adapter_ops {
    uint32_t struct_size, abi; /* CBX_ADAPTER_ABI */
    const char *name;
    bool (*can_adapt)(const cbx_target *target);
    /** Fills ops and self of out. */
    cbx_status (*adapt)(cbx_ctx *ctx, const cbx_target *target, cbx_adapted *out, cbx_err *err);
    void (*release)(void *self); /* optional: frees self */
} cbx_adapter_ops;

typedef struct cbx_adapters {
    cbx_registry registry;
} cbx_adapters;

CBX_API void cbx_adapters_init(cbx_adapters *a, const cbx_allocator *al);
CBX_API void cbx_adapters_clear(cbx_adapters *a);
/** @param adapter  outlives its registration  @return as cbx_protocol_check; CBX_EEXIST (that name
 *   is taken); CBX_ENOMEM */
CBX_API cbx_status cbx_adapters_register(cbx_adapters *a, const cbx_adapter_ops *adapter, cbx_err *err);
/** @return CBX_OK; CBX_EUNSUPPORTED (no adapter takes it; the message names the target and its
 *   type); what the adapter returned */
CBX_API cbx_status cbx_adapters_adapt(cbx_ctx *ctx, const cbx_adapters *a, const cbx_target *target, cbx_adapted *out,
                                      cbx_err *err);
/** Frees what the adapter made; the target stays. */
CBX_API void cbx_adapted_release(cbx_adapted *adapted);

CBX_END_DECLS
#endif
