/**
 * Result: what one benchmark gave, all in one container, and the way from results to a run.
 *
 * Files are those of the Python package `calibrax` 0.1.14 (BenchmarkResult.save).
 */
#ifndef CALIBRAX_CORE_RESULT_H
#define CALIBRAX_CORE_RESULT_H

#include "calibrax/base/arena.h"
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

/** What one benchmark gave: an open view, as points are. */
typedef struct cbx_result {
    const char *name;   /* needed */
    const char *domain; /* "vision"; NULL reads as "" */
    const cbx_tag *tags;
    size_t ntags;
    const cbx_timing_sample *timing;       /* NULL: none */
    const cbx_resource_summary *resources; /* NULL: none */
    const cbx_named_metric *metrics;
    size_t nmetrics;
    const cbx_json *metadata, *config; /* objects; NULL: {} */
    double timestamp;                  /* [s] since 1970, UTC */
} cbx_result;

/**
 * Reads a result as strictly as cbx_run_from_json; name and timestamp must be there.
 * @param out  lives as long as json and the arena; written on success only
 * @return CBX_OK; CBX_EFORMAT; CBX_ENOMEM
 */
CBX_API cbx_status cbx_result_from_json(const cbx_json *json, const char *what, cbx_arena *arena, cbx_result *out,
                                        cbx_err *err);

/**
 * Adds a result to a run: a point of its name, its domain as scenario, its tags and metrics; timing
 * and resources become metrics named as their members without the unit (batch_time: median of
 * per_batch_times, which are its samples) with their definitions, unless the result has a metric of
 * that name; metadata and config go to metadata.results, one entry a result, in order.
 * @return CBX_OK; CBX_EINVAL (no name, text that is not UTF-8, a tag or metric twice, metadata or
 *   config that is no object); CBX_ENOMEM
 */
CBX_API cbx_status cbx_run_builder_add_result(cbx_run_builder *b, const cbx_result *result, cbx_err *err);

CBX_END_DECLS
#endif
