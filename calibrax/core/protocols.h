/**
 * Protocols: what a benchmark and a dataset must offer to be used by everything else; that of
 * metrics is cbx_metric_function (calibrax/metrics/metrics.h).
 *
 * Each is a const struct of functions with struct_size and abi first; optional members may be NULL.
 * New members go last, behind a new abi.  `self` is the implementer's and is handed through.
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

/** For whoever calls implementers.  @param out  empty; the caller frees it */
CBX_API cbx_status cbx_values_create(cbx_ctx *ctx, cbx_values **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_values_free(cbx_values *values);
/** What is in it, in the order of adding; borrowed until the next call on values. */
CBX_API const cbx_named_metric *cbx_values_items(const cbx_values *values, size_t *count);

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
    /** Example i < length: its n arrays by name, at most `capacity`; the references are the
     * caller's. */
    cbx_status (*get)(cbx_ctx *ctx, void *self, size_t i, cbx_named_array *out, size_t capacity, size_t *n,
                      cbx_err *err);
    /** Optional (a batchable dataset): examples start .. start + batch_size - 1 stacked, fewer at
     * the end.  Of the arrays, if there are any, one at least has that many rows. */
    cbx_status (*get_batch)(cbx_ctx *ctx, void *self, size_t batch_size, size_t start, cbx_named_array *out,
                            size_t capacity, size_t *n, cbx_err *err);
} cbx_dataset_ops;

/* --- benchmarks: run by calibrax/perf/launch/phases.h --- */

#define CBX_BENCHMARK_ABI 2 /* 1: without the members behind targets; still taken */

/**
 * In this order: setup, run_training, work or run_batch (timed), run_evaluation, targets, teardown.
 * At least one of run_training, work, run_batch and run_evaluation is there.
 */
typedef struct cbx_benchmark_ops {
    uint32_t struct_size, abi; /* CBX_BENCHMARK_ABI of the header it was compiled with */
    const char *name;
    const char *domain;                                          /* optional: "" */
    cbx_status (*setup)(cbx_ctx *ctx, void *self, cbx_err *err); /* optional */
    cbx_status (*run_training)(cbx_ctx *ctx, void *self, cbx_values *out,
                               cbx_err *err); /* optional: nothing to train */
    cbx_status (*run_evaluation)(
        cbx_ctx *ctx, void *self, cbx_values *out,
        cbx_err *err); /* optional: nothing to evaluate; its values replace those of training */
    /* optional; follows every setup, also one that failed */
    void (*teardown)(cbx_ctx *ctx, void *self);
    /* optional: values to reach */
    cbx_status (*targets)(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err);
    /* since abi 2, all optional */
    /* how to read the values; a target needs the direction of its metric */
    const cbx_metric_def *metric_defs;
    size_t nmetric_defs;
    cbx_status (*work)(cbx_ctx *ctx, void *self, cbx_err *err); /* one call of what is timed */
    /* its functions are called with the benchmark's self */
    const cbx_dataset_ops *dataset;
    /** What is timed over the dataset, a batch a call; the arrays are borrowed.  Excludes work,
     * needs dataset. */
    cbx_status (*run_batch)(cbx_ctx *ctx, void *self, const cbx_named_array *batch, size_t n, cbx_err *err);
} cbx_benchmark_ops;

/**
 * A benchmark compiled against this or an older header, in today's form: members that it does not
 * have are NULL.
 * @param out  may be ops itself
 * @return CBX_OK; CBX_EVERSION (another abi); CBX_EINVAL (NULL, too small, no name, nothing to run,
 *   members that do not fit together)
 */
CBX_API cbx_status cbx_benchmark_ops_read(const cbx_benchmark_ops *ops, cbx_benchmark_ops *out, cbx_err *err);

CBX_END_DECLS
#endif
