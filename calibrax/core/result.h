/**
 * Result: what one benchmark gave, all in one container, and the way from results to a run.
 *
 * Files are those of the Python package `calibrax` 0.1.14 (BenchmarkResult.save), byte for byte.
 */
#ifndef CALIBRAX_CORE_RESULT_H
#define CALIBRAX_CORE_RESULT_H

#include "calibrax/core/run.h"

CBX_BEGIN_DECLS

/** Timing of one iteration over batches [s]. */
typedef struct cbx_timing_sample {
    double wall_clock_sec;
    const double *per_batch_times; /* warm-up batches left out */
    size_t nbatch_times;
    double first_batch_time; /* from the start to the end of the first batch */
    uint64_t num_batches;    /* warm-up included */
    uint64_t num_elements;
    double compilation_time_sec; /* NaN: not measured apart */
    uint64_t warmup_batches_excluded;
} cbx_timing_sample;

/** Resources over a time of watching; MB as the source measured it, NaN: not measured. */
typedef struct cbx_resource_summary {
    double peak_rss_mb, mean_rss_mb;
    double peak_gpu_mem_mb, mean_gpu_util; /* [MB], [percent]; may be NaN */
    double memory_growth_mb;               /* last less first */
    uint64_t num_samples;
    double duration_sec;
    double mean_gpu_clock_mhz, mean_gpu_power_w; /* may be NaN */
} cbx_resource_summary;

/** The content of a result: given to cbx_result_create it is copied; taken from a result it lives as long as that. */
typedef struct cbx_result_content {
    const char *name;   /* needed */
    const char *domain; /* "vision"; NULL reads as "" */
    const cbx_tag *tags;
    size_t ntags;
    const cbx_timing_sample *timing;       /* NULL: none */
    const cbx_resource_summary *resources; /* NULL: none */
    const cbx_named_metric *metrics;
    size_t nmetrics;
    const cbx_json *metadata, *config; /* objects; NULL: {} */
    double timestamp;                  /* [s] since 1970, UTC; 0: now */
} cbx_result_content;

/** Frozen from the start; shared by reference count between threads and contexts, as a run is. */
typedef struct cbx_result cbx_result;

/** @return CBX_OK; CBX_EINVAL (no name, text that is not UTF-8, a tag or metric twice, metadata that is no object); CBX_ENOMEM */
CBX_API cbx_status cbx_result_create(cbx_ctx *ctx, const cbx_result_content *content, cbx_result **out, cbx_err *err);
CBX_API cbx_result *cbx_result_ref(cbx_result *result);
/** Gives back one reference.  NULL is fine. */
CBX_API void cbx_result_free(cbx_result *result);
/** domain, metadata and config are never NULL here. */
CBX_API const cbx_result_content *cbx_result_get(const cbx_result *result);

/** A new tree; NULL: out of memory. */
CBX_API cbx_json *cbx_result_to_json(const cbx_result *result);
/** Reads as strictly as cbx_run_from_json; name and timestamp must be there. */
CBX_API cbx_status cbx_result_from_json(cbx_ctx *ctx, const cbx_json *json, const char *what, cbx_result **out,
                                        cbx_err *err);
CBX_API cbx_status cbx_result_read(cbx_ctx *ctx, const char *path, cbx_result **out, cbx_err *err);
/** Makes missing folders; atomic. */
CBX_API cbx_status cbx_result_write(cbx_ctx *ctx, const cbx_result *result, const char *path, cbx_err *err);

/**
 * Adds a result to a run: a point of its name, its domain as scenario, its tags and metrics; timing and resources become metrics
 * named as their members without the unit (batch_time: median of per_batch_times, which are its samples) with their definitions, unless the result
 * has a metric of that name; metadata and config go to metadata.results, one entry a result, in order.
 */
CBX_API cbx_status cbx_run_builder_add_result(cbx_run_builder *b, const cbx_result *result, cbx_err *err);

CBX_END_DECLS
#endif
