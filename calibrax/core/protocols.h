/**
 * Protocols: what a benchmark, a dataset and a metric must offer to be used by everything else.
 *
 * Each is a const struct of functions with struct_size and abi first; optional members may be NULL.  New members go last, behind a
 * new abi.  `self` is the implementer's and is handed through.
 */
#ifndef CALIBRAX_CORE_PROTOCOLS_H
#define CALIBRAX_CORE_PROTOCOLS_H

#include <stdbool.h>

#include "calibrax/core/result.h"

CBX_BEGIN_DECLS

typedef struct cbx_array cbx_array; /* calibrax/array/array.h */

/** The first members of every protocol. */
typedef struct cbx_protocol_head {
    uint32_t struct_size, abi;
} cbx_protocol_head;

/**
 * Whether ops were compiled against a header that this library understands.
 * @param kind  for the message: "benchmark"
 * @return CBX_OK; CBX_EINVAL (NULL, or a struct that is too small); CBX_EVERSION (another abi)
 */
CBX_API cbx_status cbx_protocol_check(const void *ops, size_t struct_size, uint32_t abi, const char *kind,
                                      cbx_err *err);

/** Named values that an implementer hands out; a name that comes again replaces its value. */
typedef struct cbx_values cbx_values;
CBX_API cbx_status cbx_values_add(cbx_values *values, const char *name, double value, cbx_err *err);

/* --- benchmarks --- */

#define CBX_BENCHMARK_ABI 1

typedef struct cbx_benchmark_ops {
    uint32_t struct_size, abi; /* CBX_BENCHMARK_ABI of the header it was compiled with */
    const char *name;
    const char *domain;                                          /* optional: "" */
    cbx_status (*setup)(cbx_ctx *ctx, void *self, cbx_err *err); /* optional */
    cbx_status (*run_training)(cbx_ctx *ctx, void *self, cbx_values *out,
                               cbx_err *err); /* optional: nothing to train */
    cbx_status (*run_evaluation)(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err);
    void (*teardown)(cbx_ctx *ctx, void *self); /* optional; follows every setup, also one that failed */
    cbx_status (*targets)(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err); /* optional: values to reach */
} cbx_benchmark_ops;

/**
 * Runs a benchmark: setup, training, evaluation, teardown.  The values become metrics of the result, and so do training_seconds and
 * evaluation_seconds by the monotonic clock; the targets go to metadata.targets.
 * @return CBX_OK; what cbx_protocol_check or the benchmark returned
 */
CBX_API cbx_status cbx_benchmark_run(cbx_ctx *ctx, const cbx_benchmark_ops *ops, void *self, cbx_result **out,
                                     cbx_err *err);

/* --- datasets --- */

#define CBX_DATASET_ABI 1

typedef struct cbx_named_array {
    const char *name;
    cbx_array *array;
} cbx_named_array;

typedef struct cbx_dataset_ops {
    uint32_t struct_size, abi; /* CBX_DATASET_ABI */
    const char *name;
    size_t (*length)(const void *self); /* number of examples */
    /** Example i < length: its n arrays by name, at most `room`; the references are the caller's. */
    cbx_status (*get)(cbx_ctx *ctx, void *self, size_t i, cbx_named_array *out, size_t room, size_t *n, cbx_err *err);
    /** Optional (a batchable dataset): examples start .. start + batch_size - 1 stacked, fewer at the end. */
    cbx_status (*get_batch)(cbx_ctx *ctx, void *self, size_t batch_size, size_t start, cbx_named_array *out,
                            size_t room, size_t *n, cbx_err *err);
} cbx_dataset_ops;

/* --- metrics --- */

#define CBX_METRIC_ABI 1

/** A metric of predictions against targets, without state. */
typedef struct cbx_metric_ops {
    uint32_t struct_size, abi; /* CBX_METRIC_ABI */
    const char *name;
    bool higher_is_better;
    /** Optional: compute checks itself.  CBX_ESHAPE, CBX_EDTYPE. */
    cbx_status (*validate)(const cbx_array *predictions, const cbx_array *targets, cbx_err *err);
    cbx_status (*compute)(cbx_ctx *ctx, const cbx_array *predictions, const cbx_array *targets, double *out,
                          cbx_err *err);
} cbx_metric_ops;

#define CBX_STATEFUL_METRIC_ABI 1

/** A metric that gathers over batches. */
typedef struct cbx_stateful_metric_ops {
    uint32_t struct_size, abi; /* CBX_STATEFUL_METRIC_ABI */
    const char *name;
    cbx_status (*update)(cbx_ctx *ctx, void *self, const cbx_named_array *batch, size_t n, cbx_err *err);
    cbx_status (*compute)(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err);
    void (*reset)(void *self);
} cbx_stateful_metric_ops;

CBX_END_DECLS
#endif
