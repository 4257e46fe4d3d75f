/* The table of answers: a type a group, a member of its struct a line. */
#include "python/answer_types.h"

#include <stddef.h>

/* Words of enumerations, by functions of one type. */
#define WORDS(name, function, type)                                                                                    \
    static const char *name(int v) { return function((type)v); }
WORDS(w_steady, cbx_steady_name, cbx_steady_class)
WORDS(w_complexity, cbx_complexity_name, cbx_complexity)
WORDS(w_direction, cbx_direction_name, cbx_direction)
WORDS(w_flops, cbx_flops_source_name, cbx_flops_source)
WORDS(w_severity, cbx_severity_name, cbx_severity)
WORDS(w_health, cbx_health_state_name, cbx_health_state)
WORDS(w_accuracy, cbx_accuracy_outcome_name, cbx_accuracy_outcome)
WORDS(w_tolerance, cbx_tolerance_outcome_name, cbx_tolerance_outcome)
WORDS(w_compile, cbx_compile_level_name, cbx_compile_level)
WORDS(w_bisect, cbx_bisect_outcome_name, cbx_bisect_outcome)
WORDS(w_doctor, cbx_doctor_state_name, cbx_doctor_state)
WORDS(w_convergence, cbx_convergence_outcome_name, cbx_convergence_outcome)
static const char *w_bound(int v) { return v == CBX_BOUND_COMPUTE ? "compute" : "memory"; }
static const char *w_tendency(int v) { return cbx_tendency_name((cbx_tendency_kind)v, CBX_DIRECTION_INFO); }
static const char *w_energy(int v)
{
    static const char *const words[] = { "package", "dram", "platform", "part" };
    return (size_t)v < CBX_LEN(words) ? words[v] : "?";
}

#define WIDTH(T, m) sizeof(((T *)0)->m)
/* clang-format off */
#define MEMBER(T, name, m, kind, width, count, of, word, doc) { #name, kind, offsetof(T, m), width, count, of, word, doc }
#define AS(T, name, m, kind, doc)         MEMBER(T, name, m, kind, WIDTH(T, m), 0, 0, NULL, doc)
#define AS_WORD(T, name, m, f, doc)       MEMBER(T, name, m, CX_AS_WORD, WIDTH(T, m), 0, 0, f, doc)
#define AS_LIST(T, name, m, kind, n, doc) MEMBER(T, name, m, kind, WIDTH(T, m), offsetof(T, n), 0, NULL, doc)
#define NUMBER(T, m, doc)                 AS(T, m, m, CX_AS_NUMBER, doc)
#define MAYBE(T, m, doc)                  AS(T, m, m, CX_AS_MAYBE, doc)
#define WHOLE(T, m, doc)                  AS(T, m, m, CX_AS_WHOLE, doc)
#define INT(T, m, doc)                    AS(T, m, m, CX_AS_INT, doc)
#define FLAG(T, m, doc)                   AS(T, m, m, CX_AS_FLAG, doc)
#define TEXT(T, m, doc)                   AS(T, m, m, CX_AS_TEXT, doc)
#define CHARS(T, m, doc)                  AS(T, m, m, CX_AS_CHARS, doc)
#define ARRAY(name, doc)                  { #name, CX_AS_ARRAY, 0, 0, 0, 0, NULL, doc }
#define WORD(T, m, f, doc)                AS_WORD(T, m, m, f, doc)
#define PART(T, m, kind, doc)             MEMBER(T, m, m, CX_AS_PART, WIDTH(T, m), 0, CX_##kind, NULL, doc)
#define PARTS(T, m, kind, n, doc)         MEMBER(T, m, m, CX_AS_PARTS, WIDTH(T, m), offsetof(T, n), CX_##kind, NULL, doc)
#define PARTS_IN(T, m, kind, n, doc)      MEMBER(T, m, m, CX_AS_PARTS_IN, WIDTH(T, m), offsetof(T, n), CX_##kind, NULL, doc)
#define PARTS_ALL(T, m, kind, doc)        MEMBER(T, m, m, CX_AS_PARTS_IN, WIDTH(T, m), SIZE_MAX, CX_##kind, NULL, doc)
#define NUMBERS(T, m, n, doc)             AS_LIST(T, m, m, CX_AS_NUMBERS, n, doc)
#define NUMBERS_IN(T, m, n, doc)          AS_LIST(T, m, m, CX_AS_NUMBERS_IN, n, doc)
#define NUMBERS_ALL(T, m, doc)            MEMBER(T, m, m, CX_AS_NUMBERS_IN, WIDTH(T, m), SIZE_MAX, 0, NULL, doc)
#define LINES(T, m, n, doc)               MEMBER(T, m, m, CX_AS_LINES, WIDTH(T, m[0]), offsetof(T, n), 0, NULL, doc)
#define TYPE(T, kind, name, doc, ...) [CX_##kind] = { "calibrax_c." name, doc, sizeof(T), (const cx_member[]){ __VA_ARGS__, { 0 } } }

const cx_answer_type cx_answer_types[CX_ANSWER_COUNT] = {
    /* ---- arrays, and finfo and iinfo; their types are not in the namespace ---- */
#define T cbx_finfo
    TYPE(T, FINFO, "array.finfo_result", "Range and precision of a float dtype.",
        INT(T, bits, "bits of a number (of a complex one: of its parts)"), NUMBER(T, eps, "the step above 1"), NUMBER(T, max, "the maximum"), NUMBER(T, min, "the minimum"),
        NUMBER(T, smallest_normal, "the smallest positive number of full precision"), AS(T, dtype, dtype, CX_AS_DTYPE, "the dtype")),
#undef T
#define T cbx_iinfo
    TYPE(T, IINFO, "array.iinfo_result", "Range of an integer dtype.",
        INT(T, bits, "bits of a number"), WHOLE(T, max, "the maximum"), INT(T, min, "the minimum"), AS(T, dtype, dtype, CX_AS_DTYPE, "the dtype")),
#undef T
#define DISTINCT ARRAY(values, "distinct values")
#define INVERSE  ARRAY(inverse_indices, "which of the values each element is")
#define COUNTS   ARRAY(counts, "how often each occurs")
    TYPE(int, UNIQUE_ALL, "array.unique_all_result", "Distinct values.", DISTINCT, ARRAY(indices, "first index of each"), INVERSE, COUNTS),
    TYPE(int, UNIQUE_COUNTS, "array.unique_counts_result", "Distinct values.", DISTINCT, COUNTS),
    TYPE(int, UNIQUE_INVERSE, "array.unique_inverse_result", "Distinct values.", DISTINCT, INVERSE),
    TYPE(int, EIGH, "array.linalg.eigh_result", "Eigenvalues and eigenvectors.", ARRAY(eigenvalues, "ascending"), ARRAY(eigenvectors, "in columns")),
    TYPE(int, QR, "array.linalg.qr_result", "QR factors.", ARRAY(Q, "orthonormal columns"), ARRAY(R, "upper triangle")),
    TYPE(int, SLOGDET, "array.linalg.slogdet_result", "A determinant.", ARRAY(sign, "of the determinant"), ARRAY(logabsdet, "logarithm of its magnitude")),
    TYPE(int, SVD, "array.linalg.svd_result", "Singular value decomposition.", ARRAY(U, "left vectors"), ARRAY(S, "singular values, descending"), ARRAY(Vh, "right vectors")),
    TYPE(int, LSTSQ, "array.linalg.lstsq_result", "Least squares.",
        ARRAY(x, "the solution"), ARRAY(residuals, "sums of squares left"), ARRAY(rank, "of the matrix"), ARRAY(S, "its singular values")),
    /* ---- statistics ---- */
#define T cbx_interval
    TYPE(T, INTERVAL, "statistics.Interval", "A value with its interval.",
        NUMBER(T, value, "the estimate"), NUMBER(T, lower, "lower end"), NUMBER(T, upper, "upper end"),
        NUMBER(T, level, "level attained, or as asked for; 0: there is no interval")),
#undef T
#define T cbx_summary
    TYPE(T, SUMMARY, "statistics.Summary", "What a table shows of a sample.",
        WHOLE(T, n, "values"), NUMBER(T, min, "least"), NUMBER(T, max, "greatest"), NUMBER(T, mean, "mean"), NUMBER(T, median, "median"),
        NUMBER(T, p25, "quantile 0.25, type 7"), NUMBER(T, p75, "quantile 0.75"), NUMBER(T, p95, "quantile 0.95"),
        NUMBER(T, p99, "quantile 0.99"), NUMBER(T, stddev, "standard deviation, n - 1"), NUMBER(T, mad, "1.4826 median |x - median|")),
#undef T
#define T cbx_variation
    TYPE(T, VARIATION, "statistics.Variation", "Coefficient of variation, and the rule of stability.",
        NUMBER(T, mean, "mean"), NUMBER(T, stddev, "standard deviation, n - 1"), NUMBER(T, cv, "stddev / |mean|"),
        FLAG(T, stable, "two values or more, and cv below the threshold")),
#undef T
#define T cbx_components
    TYPE(T, COMPONENTS, "statistics.Components", "Where the variance sits.",
        NUMBER(T, mean, "mean of the groups' means"), NUMBER(T, within, "variance inside a group"),
        NUMBER(T, between, "variance of groups beyond it, at least 0"), NUMBER(T, between_raw, "before it is cut at 0"),
        NUMBER(T, share, "between / (between + within)"), NUMBER(T, epochs, "mean values a group, of a kind"),
        WHOLE(T, groups, "groups"), WHOLE(T, values, "values")),
#undef T
#define T cbx_test
    TYPE(T, TEST, "statistics.Test", "A test: its statistic and p-values.",
        TEXT(T, method, "its name"), NUMBER(T, statistic, "the statistic"), NUMBER(T, df, "degrees of freedom; 0: none"),
        NUMBER(T, p, "two-sided p"), NUMBER(T, p_less, "small when x tends to be below"), NUMBER(T, p_greater, "small when x tends to be above"),
        FLAG(T, exact, "arrangements were counted")),
#undef T
#define T cbx_mode
    TYPE(T, MODE, "statistics.Mode", "Values that lie together, apart from all others.",
        NUMBER(T, center, "median"), NUMBER(T, low, "least"), NUMBER(T, high, "greatest"), WHOLE(T, count, "values"), NUMBER(T, share, "of all values")),
#undef T
#define T cbx_steady
    TYPE(T, STEADY, "statistics.Steady", "Whether and when a series becomes steady.",
        WORD(T, kind, w_steady, "'flat', 'warm-up', 'slowdown', 'no steady state'"), WHOLE(T, start, "first steady value"),
        NUMBER(T, level, "mean from there on"), WHOLE(T, segments, "levels"), NUMBER(T, dependence, "lag-1 autocorrelation of the residuals")),
#undef T
#define T cx_looks_answer
    TYPE(T, LOOKS, "statistics.Looks", "Planned looks at a growing sample of pairs.",
        AS_LIST(T, pairs, plan.pairs, CX_AS_WHOLES_IN, plan.count, "pairs at each look"), NUMBERS_IN(T, levels, plan.count, "level of the interval at each look"),
        AS(T, alpha, plan.alpha, CX_AS_NUMBER, "chance of an error at any look, as asked for"), AS(T, error, plan.error, CX_AS_NUMBER, "what it is"),
        AS_LIST(T, weights, plan.weight, CX_AS_NUMBERS_IN, plan.count, "of each look"), AS(T, scale, plan.scale, CX_AS_NUMBER, "a level is 1 - scale weight")),
#undef T
#define T cbx_growth
    TYPE(T, GROWTH, "analysis.Growth", "How a time grows with size.",
        WORD(T, order, w_complexity, "the order, 'O(n log n)'"), FLAG(T, intercept, "whether there is a constant part"),
        NUMBER(T, intercept_value, "the constant part"), NUMBER(T, coefficient, "of the order"), NUMBERS_ALL(T, weight, "Akaike weights of the orders"),
        PART(T, exponent, INTERVAL, "of n, as a power of its own"), NUMBER(T, power_intercept, "its constant part"),
        NUMBER(T, power_coefficient, "its coefficient"), NUMBER(T, relative_error, "root mean square"),
        NUMBER(T, power_gain, "AICc of the order less that of the power")),
#undef T
#define T cbx_speedup_fit
    TYPE(T, SPEEDUP, "analysis.SpeedupFit", "A law of scaling, fitted.",
        NUMBER(T, scale, "at one worker"), PARTS_ALL(T, parameter, INTERVAL, "of the law: (s, unused), or (a, b)"),
        NUMBER(T, relative_error, "root mean square"), MAYBE(T, peak_workers, "beyond which more are slower; None: not of this law")),
#undef T
    /* ---- analysis ---- */
#define T cbx_noise
    TYPE(T, NOISE, "analysis.Noise", "Noise of a series around a level that may change.",
        NUMBER(T, sigma, "standard deviation"), NUMBER(T, phi, "AR(1) coefficient"), NUMBER(T, long_run, "variance of a long mean, times its length")),
#undef T
#define T cbx_change
    TYPE(T, CHANGE, "analysis.Change", "A change of level that the series supports.",
        WHOLE(T, index, "first value after it"), NUMBER(T, before, "level before"), NUMBER(T, after, "level after"), NUMBER(T, change, "relative"),
        NUMBER(T, score, "difference over its standard error"), FLAG(T, alarm, "sure enough for a gate that checks the series after each new value")),
#undef T
#define T cbx_rank_entry
    TYPE(T, RANK_ENTRY, "analysis.Rank", "A competitor's place.",
        WHOLE(T, index, "of the competitor"), MAYBE(T, value, "value, None: missing"), WHOLE(T, rank, "1 is best; 0: no value"),
        MAYBE(T, delta, "how much worse than the best, relative")),
#undef T
#define T cbx_comparison_cell
    TYPE(T, CELL, "analysis.Cell", "A competitor in a row.",
        MAYBE(T, value, "None: missing"), WHOLE(T, rank, "0: none"), MAYBE(T, delta, "how much worse than the best"),
        PART(T, speedup, INTERVAL, "over the reference"), NUMBERS(T, samples, nsamples, "samples, None: none"), FLAG(T, measured, "there is a value")),
#undef T
#define T cx_row_answer
    TYPE(T, ROW, "analysis.Row", "One measured thing, a cell a competitor.",
        TEXT(T, key, "'point@scenario{tags}:metric'"), TEXT(T, metric, "metric"), TEXT(T, unit, "None: no definition"),
        WORD(T, direction, w_direction, "'higher', 'lower', 'info'"), PARTS(T, cells, CELL, ncells, "one a competitor"), WHOLE(T, nmissing, "cells without a value")),
#undef T
#define T cbx_winner
    TYPE(T, WINNER, "analysis.Winner", "Who is best.",
        TEXT(T, metric, "None: over all"), TEXT(T, label, "None: no one"), MAYBE(T, score, "geometric mean of best over value"), WHOLE(T, nrows, "rows that all have")),
#undef T
    /* ---- profiling ---- */
#define T cbx_call_timing
    TYPE(T, TIMING, "profiling.Timing", "Time of a call [s], unless the name says otherwise.",
        PART(T, steady, INTERVAL, "median and its interval"), PART(T, summary, SUMMARY, "of the samples"), MAYBE(T, compile_s, "None: nothing was compiled apart"),
        NUMBER(T, first_call_s, "the first call"), NUMBER(T, first_excess_s, "first call less the median"),
        NUMBERS_IN(T, percentile, npercentiles, "asked for"), NUMBERS_IN(T, percentile_s, npercentiles, "their values"),
        NUMBERS(T, samples, nsamples, "in order taken"), WHOLE(T, calls_per_sample, "a sample is the mean of so many calls"),
        WHOLE(T, warmup_calls, "before the first sample"), NUMBER(T, clock_cost_ns, "subtracted from each window"), NUMBER(T, clock_step_ns, "step of the clock"),
        NUMBER(T, clock_share, "of a window that the clock may still move"), NUMBER(T, empty_call_ns, "an empty C call; not subtracted"), NUMBER(T, wall_s, "everything")),
#undef T
#define T cbx_batches_timing
    TYPE(T, BATCHES, "profiling.BatchTiming", "An iteration over batches [s].",
        NUMBER(T, wall_s, "of the batches that count"), NUMBER(T, warmup_s, "of those before"), NUMBER(T, first_batch_s, "until the first one is done"),
        NUMBER(T, fetch_share, "share of fetching"), PART(T, batch, INTERVAL, "median of a batch's time"), PART(T, summary, SUMMARY, "of batch times"),
        NUMBERS(T, batch_s, nbatches, "in order"), NUMBERS(T, fetch_s, nbatches, "in order"), WHOLE(T, nbatches, "that count"),
        WHOLE(T, warmup_batches, "that do not"), WHOLE(T, elements, "that count"), WHOLE(T, warmup_elements, "that do not"),
        NUMBER(T, elements_per_s, "over wall_s"), NUMBER(T, clock_share, "of a median batch that the clock may move")),
#undef T
#define T cbx_memory_of_call
    TYPE(T, MEMORY, "profiling.Memory", "Memory of a call [MiB].",
        NUMBER(T, baseline_mb, "resident before"), NUMBER(T, peak_mb, "resident, greatest"), NUMBER(T, usage_mb, "peak less baseline"),
        NUMBER(T, retained_mb, "left afterwards"), NUMBER(T, freed, "share given back"), FLAG(T, peak_by_kernel, "no peak hides"),
        LINES(T, hint, nhints, "sentences")),
#undef T
#define T cbx_memory_pattern
    TYPE(T, MEMORY_PATTERN, "profiling.MemoryPattern", "Memory over time [MiB].",
        WHOLE(T, nreadings, "readings"), NUMBER(T, peak_mb, "greatest"), NUMBER(T, mean_mb, "mean"), MAYBE(T, growth_mb, "a reading"),
        MAYBE(T, rising, "share of pairs that rise"), MAYBE(T, max_occupancy, "greatest"), MAYBE(T, mean_occupancy, "mean"), FLAG(T, leaks, "it grows on and on"),
        FLAG(T, nearly_full, "above 0.9 of all"), FLAG(T, highly_used, "above 0.8 in the mean"), LINES(T, hint, nhints, "sentences")),
#undef T
#define T cbx_flops
    TYPE(T, FLOPS, "profiling.Flops", "Work of a call.",
        WORD(T, source, w_flops, "'papi', 'perf_event', 'declared', 'xla', 'none' ..."), MAYBE(T, flop, "operations; None: unknown"),
        MAYBE(T, transcendental, "functions among them"), MAYBE(T, int_op, "of integers"), MAYBE(T, bytes, "read and written"),
        MAYBE(T, bytes_least, "operands and results"), CHARS(T, events, "of hardware"), CHARS(T, why, "why no better source was taken")), /* words:ok */
#undef T
#define T cbx_complexity_report
    TYPE(T, COMPLEXITY, "profiling.Complexity", "How a call grows with its size.",
        CHARS(T, order, "'O(n log n)', the best one"), FLAG(T, decided, "whether the points decide it"), FLAG(T, is_power, "a power of its own"),
        CHARS(T, why, "why it is undecided"), PART(T, exponent, INTERVAL, "by resampling points"), PART(T, growth, GROWTH, "the fit"), WHOLE(T, npoints, "points")),
#undef T
#define T cbx_complexity_point
    TYPE(T, COMPLEXITY_POINT, "profiling.ComplexityPoint", "A call at one size.",
        WHOLE(T, size, "its size"), PART(T, time, INTERVAL, "[s] median of a call and its interval")),
#undef T
#define T cbx_resource_sample
    TYPE(T, RESOURCE_SAMPLE, "profiling.ResourceSample", "One look at a tree of processes.",
        WHOLE(T, time_ns, "when"), WHOLE(T, rss_bytes, "resident"), MAYBE(T, pss_bytes, "shared pages divided"), MAYBE(T, cpu_percent, "100: one core"),
        NUMBER(T, cpu_user_s, "since the start"), NUMBER(T, cpu_system_s, "since the start"), WHOLE(T, processes, "alive"), WHOLE(T, threads, "alive"),
        MAYBE(T, gpu_mem_mb, "MiB"), MAYBE(T, gpu_util, "percent"), MAYBE(T, gpu_clock_mhz, "MHz"), MAYBE(T, gpu_power_w, "W"), MAYBE(T, gpu_temperature_c, "degrees")),
#undef T
#define T cbx_resource_report
    TYPE(T, RESOURCES, "profiling.Resources", "Resources of a tree of processes; MB are MiB.",
        AS(T, num_samples, summary.num_samples, CX_AS_WHOLE, "looks; 0: ended before the first one"), AS(T, duration_s, summary.duration_sec, CX_AS_NUMBER, "time watched"), AS(T, peak_rss_mb, summary.peak_rss_mb, CX_AS_NUMBER, "greatest sum over processes"), AS(T, mean_rss_mb, summary.mean_rss_mb, CX_AS_NUMBER, "mean"),
        AS(T, memory_growth_mb, summary.memory_growth_mb, CX_AS_NUMBER, "last less first"), WHOLE(T, hwm_bytes, "greatest of a single process, by the kernel"), MAYBE(T, peak_pss_bytes, "None: not read"),
        NUMBER(T, cpu_user_s, "CPU time"), NUMBER(T, cpu_system_s, "CPU time"), MAYBE(T, mean_cpu_percent, "100: one core"), MAYBE(T, peak_cpu_percent, "greatest"),
        WHOLE(T, minor_faults, "page faults"), WHOLE(T, major_faults, "with input"), WHOLE(T, voluntary_switches, "of context"),
        WHOLE(T, involuntary_switches, "of context"), MAYBE(T, read_bytes, "from storage"), MAYBE(T, write_bytes, "to storage"),
        WHOLE(T, peak_threads, "at once"), WHOLE(T, peak_processes, "at once"), WHOLE(T, processes_seen, "in all"), AS(T, peak_gpu_mem_mb, summary.peak_gpu_mem_mb, CX_AS_MAYBE, "None: no device"),
        AS(T, mean_gpu_util, summary.mean_gpu_util, CX_AS_MAYBE, "percent"), AS(T, mean_gpu_power_w, summary.mean_gpu_power_w, CX_AS_MAYBE, "W"), FLAG(T, ended, "the root was gone"), WHOLE(T, late, "looks that came late"),
        NUMBER(T, overhead_percent, "of one core, that watching took"), PARTS(T, samples, RESOURCE_SAMPLE, nsamples, "oldest first")),
#undef T
#define T cbx_energy_domain
    TYPE(T, ENERGY_DOMAIN, "profiling.EnergyDomain", "A counter of energy.",
        CHARS(T, name, "'package-0'"), WORD(T, kind, w_energy, "'package', 'dram', 'platform', 'part'"), MAYBE(T, joules, "None: not readable any more")),
#undef T
#define T cbx_energy_report
    TYPE(T, ENERGY, "profiling.Energy", "Energy of a stretch of time; None: not known, and why.",
        NUMBER(T, duration_s, "the stretch"), MAYBE(T, cpu_j, "J, packages"), MAYBE(T, dram_j, "J"), MAYBE(T, platform_j, "J, separate"), MAYBE(T, gpu_j, "J"),
        MAYBE(T, total_j, "J, of what is known"), MAYBE(T, mean_power_w, "W"), CHARS(T, cpu_why, "the reason without a value, and the remedy"),
        CHARS(T, gpu_why, "the reason without a value"), FLAG(T, gpu_integrated, "from power readings"), PARTS_IN(T, domain, ENERGY_DOMAIN, ndomains, "counters")),
#undef T
#define T cbx_energy_sample
    TYPE(T, ENERGY_SAMPLE, "profiling.EnergySample", "Energy from the start on; None: not known.",
        NUMBER(T, time_s, "since the start"), MAYBE(T, cpu_j, "all packages"), MAYBE(T, dram_j, "memory"), MAYBE(T, platform_j, "the whole machine"),
        MAYBE(T, gpu_j, "device"), MAYBE(T, gpu_w, "power of the device")),
#undef T
#define T cbx_energy_series_report
    TYPE(T, ENERGY_SERIES, "profiling.EnergySeries", "Energy over time.",
        PART(T, total, ENERGY, "from start to end, with the sensors, and reasons"), MAYBE(T, peak_gpu_w, "of the samples"),
        PARTS(T, samples, ENERGY_SAMPLE, nsamples, "oldest first"), WHOLE(T, late, "samples that came late"), MAYBE(T, overhead_cpu_s, "CPU time of watching")),
#undef T
#define T cbx_gpu_reading
    TYPE(T, GPU_READING, "profiling.GpuReading", "State of a device now; None: unknown.",
        MAYBE(T, mem_used_mb, "MiB"), MAYBE(T, mem_total_mb, "MiB"), MAYBE(T, util, "percent"), MAYBE(T, mem_util, "percent"), MAYBE(T, graphics_mhz, "MHz"),
        MAYBE(T, sm_mhz, "MHz"), MAYBE(T, memory_mhz, "MHz"), MAYBE(T, temperature_c, "degrees"), MAYBE(T, power_w, "W"), MAYBE(T, power_limit_w, "W"),
        MAYBE(T, energy_j, "J, since the driver was loaded"), WHOLE(T, throttle, "bits: why it is slowed down")),
#undef T
#define T cbx_matrix_shape
    TYPE(T, MATRIX_SHAPE, "profiling.MatrixShape", "A product of tiles: m by k times k by n.",
        TEXT(T, type, "of the factors"), WHOLE(T, m, "rows"), WHOLE(T, n, "columns"), WHOLE(T, k, "inner length")),
#undef T
#define T cbx_hardware
    TYPE(T, HARDWARE, "profiling.Hardware", "A device by its maker's sheet; None: unknown.",
        CHARS(T, name, "'h100_sxm'"), AS(T, float64, flop_per_s[CBX_RATE_F64], CX_AS_MAYBE, "flop/s, dense"), AS(T, float32, flop_per_s[CBX_RATE_F32], CX_AS_MAYBE, "flop/s"), AS(T, tfloat32, flop_per_s[CBX_RATE_TF32], CX_AS_MAYBE, "flop/s"), AS(T, bfloat16, flop_per_s[CBX_RATE_BF16], CX_AS_MAYBE, "flop/s"),
        AS(T, float8, flop_per_s[CBX_RATE_F8], CX_AS_MAYBE, "flop/s"), MAYBE(T, bytes_per_s, "of memory"), WHOLE(T, compute_capability, "of CUDA, ten times; 0: none"),
        WHOLE(T, simd_width, "of a CPU: lanes of float32; 0: no CPU"), PARTS_IN(T, matrix_shape, MATRIX_SHAPE, nmatrix_shapes, "of its matrix units"),
        CHARS(T, source, "of the figures")),
#undef T
#define T cbx_roof_level
    TYPE(T, ROOF_LEVEL, "profiling.RoofLevel", "A level of memory.",
        CHARS(T, name, "'L1' ... 'memory'"), NUMBER(T, bytes, "size; inf: memory"), NUMBER(T, bytes_per_s, "bandwidth")),
#undef T
#define T cbx_roofs
    TYPE(T, ROOFS, "profiling.Roofs", "What a machine can do at most.",
        NUMBER(T, flop_per_s, "arithmetic"), PARTS_IN(T, level, ROOF_LEVEL, nlevels, "nearest first"), FLAG(T, measured, "else by a data sheet")),
#undef T
#define T cx_roofline_answer
    TYPE(T, ROOFLINE, "profiling.Roofline", "A kernel's place under the roofs.",
        NUMBER(T, intensity, "flop/byte"), NUMBER(T, ridge, "flop/byte, of the level"), WORD(T, bound, w_bound, "'compute' or 'memory'"), TEXT(T, level, "that holds the working set"),
        NUMBER(T, attainable_flop_per_s, "by the roofs"), NUMBER(T, flop_per_s, "reached"), NUMBER(T, bytes_per_s, "reached"), NUMBER(T, flop_share, "of the roof"),
        NUMBER(T, bytes_share, "of the roof"), NUMBER(T, efficiency, "share of the roof that bounds"), FLAG(T, beyond_roof, "the numbers contradict each other"),
        LINES(T, hint, nhints, "what to try")),
#undef T
#define T cbx_carbon_intensity
    TYPE(T, CARBON_INTENSITY, "profiling.CarbonIntensity", "Carbon dioxide of a grid's energy.",
        TEXT(T, country, "'FRA'"), TEXT(T, name, "in English"), NUMBER(T, g_per_kwh, "g CO2 equivalents per kWh"), TEXT(T, region, "None: a whole country"),
        INT(T, year, "of the figure"), TEXT(T, source, "of the figure")),
#undef T
#define T cbx_profile_run
    TYPE(T, PROFILE_RUN, "profiling.ProfileRun", "One run of a command.",
        NUMBER(T, wall_s, "from before it was made until its end"), NUMBER(T, cpu_user_s, "of all processes"), NUMBER(T, cpu_system_s, "of all processes"),
        NUMBER(T, max_rss_mb, "MiB, of a single process"), INT(T, exit_status, "128 + number for a signal"), PART(T, resources, RESOURCES, "of all processes")),
#undef T
#define T cx_profile_answer
    TYPE(T, PROFILE, "profiling.Profile", "A command run some times.",
        PART(T, wall, INTERVAL, "[s] median of the runs and its interval"), PARTS(T, runs, PROFILE_RUN, nruns, "that count")),
#undef T
#define T cbx_hlo_report
    TYPE(T, HLO, "profiling.Hlo", "What XLA made of a function.",
        WHOLE(T, computations, "computations"), WHOLE(T, instructions, "instructions"), WHOLE(T, fusions, "fusions"), WHOLE(T, memory_ops, "copies and their like"),
        WHOLE(T, arithmetic_ops, "additions, products and their like"), WHOLE(T, loops, "while"), WHOLE(T, custom_calls, "library code"),
        WHOLE(T, working, "that do something"), WHOLE(T, fused, "of them, inside a fusion"), NUMBER(T, fusion_ratio, "share"), NUMBER(T, memory_ratio, "share"),
        NUMBER(T, arithmetic_ratio, "share"), NUMBER(T, fused_ratio, "share"), NUMBER(T, score, "0 to 1"), LINES(T, advice, nadvice, "sentences")),
#undef T
#define T cbx_compiled_signature
    TYPE(T, SIGNATURE, "profiling.Signature", "Calls of one signature [s].",
        TEXT(T, text, "dtypes and shapes"), WHOLE(T, calls, "calls"), NUMBER(T, first_s, "the first one"), MAYBE(T, steady_s, "median of the later ones; None: there are none"),
        MAYBE(T, compile_s, "first less steady")),
#undef T
#define T cbx_compilation_report
    TYPE(T, COMPILATION_REPORT, "profiling.CompilationReport", "How often a call met a signature that was new [s].",
        WHOLE(T, calls, "calls"), WHOLE(T, hits, "of a signature known before"), WHOLE(T, misses, "of a new one"), WHOLE(T, signatures, "different ones"),
        WHOLE(T, known, "of them, called twice or more"), MAYBE(T, hit_rate, "share"), MAYBE(T, mean_compile_s, "over known signatures"), MAYBE(T, max_compile_s, "greatest"),
        MAYBE(T, total_compile_s, "sum"), MAYBE(T, first_s, "mean of first calls"), MAYBE(T, steady_s, "mean of later ones"), MAYBE(T, health, "0 to 1"),
        WORD(T, level, w_compile, "'excellent', 'good', 'moderate', 'poor'"), LINES(T, advice, nadvice, "sentences")),
#undef T
    /* ---- ci ---- */
#define T cx_suspect_answer
    TYPE(T, SUSPECT, "ci.Suspect", "A commit that may be the first bad one.",
        TEXT(T, commit, "its name"), TEXT(T, subject, "first line of its message; None: not of git"), MAYBE(T, probability, "that it is"),
        WHOLE(T, launches, "values seen of it"), TEXT(T, reason, "why it cannot be measured; None: it can")),
#undef T
#define T cx_bisect_answer
    TYPE(T, BISECT_RESULT, "ci.BisectResult", "State of a search.",
        AS_WORD(T, outcome, r.outcome, w_bisect, "'found', 'unchanged', 'swapped', 'undecided', 'broken-end', 'running'"), INT(T, exit_code, "0 found, 2 nothing to find, 3 undecided"),
        PARTS(T, suspects, SUSPECT, r.nsuspects, "parents before children"), TEXT(T, likeliest, "of the suspects; None: none"),
        AS(T, probability, r.probability, CX_AS_MAYBE, "that the first bad commit is among the suspects"), AS(T, change, r.change, CX_AS_MAYBE, "bad over good, less 1; a difference if not relative"),
        AS(T, change_error, r.change_error, CX_AS_MAYBE, "its standard error"), AS(T, noise, r.noise, CX_AS_MAYBE, "of one value"), AS(T, relative, r.relative, CX_AS_FLAG, "whether those are relative"),
        AS(T, odds, r.odds, CX_AS_MAYBE, "that the ends differ"), AS(T, launches, r.launches, CX_AS_WHOLE, "in all"), AS(T, end_launches, r.end_launches, CX_AS_WHOLE, "of the ends"),
        AS(T, broken, r.broken, CX_AS_WHOLE, "commits that cannot be measured"), TEXT(T, good, "the good end"), TEXT(T, bad, "the bad end")),
#undef T
    /* ---- of the module itself ---- */
#define T cbx_doctor_item
    TYPE(T, DOCTOR_ITEM, "DoctorItem", "What is here, or missing.",
        TEXT(T, group, "'machine', 'libraries', 'devices' ..."), TEXT(T, name, "what"), WORD(T, state, w_doctor, "'fact', 'here', 'missing', 'broken'"),
        TEXT(T, text, "as text"), TEXT(T, remedy, "a command; None: none")),
#undef T
    /* ---- monitoring ---- */
#define T cbx_window_facts
    TYPE(T, WINDOW_FACTS, "monitoring.WindowFacts", "The last values.",
        WHOLE(T, count, "values"), WHOLE(T, failures, "of them"), MAYBE(T, failure_rate, "None: no values"), MAYBE(T, mean, "None: none that is finite"),
        MAYBE(T, p95, "type 7"), MAYBE(T, min, "least"), MAYBE(T, max, "greatest"), MAYBE(T, last, "newest")),
#undef T
#define T cbx_alert
    TYPE(T, ALERT, "monitoring.Alert", "A change of state that was reported.",
        TEXT(T, rule, "name of the rule"), TEXT(T, metric, "metric"), WORD(T, severity, w_severity, "now; 'none': all clear"), WORD(T, before, w_severity, "as reported last"),
        NUMBER(T, value, "value"), MAYBE(T, threshold, "of the severity"), WHOLE(T, time_ns, "when, by the caller's clock"),
        WHOLE(T, held_back, "changes not reported since the last one"), CHARS(T, message, "as text")),
#undef T
#define T cbx_health_report
    TYPE(T, HEALTH_REPORT, "monitoring.HealthReport", "Health of a pipeline.",
        TEXT(T, pipeline, "name"), WORD(T, state, w_health, "'healthy', 'degraded', 'critical', 'unknown'"), PART(T, window, WINDOW_FACTS, "durations [s]"),
        MAYBE(T, baseline_s, "None: none"), WHOLE(T, executions, "of all time"), CHARS(T, reason, "why it is not healthy")),
#undef T
#define T cbx_tendency
    TYPE(T, TENDENCY, "monitoring.Tendency", "Where a series goes.",
        WORD(T, kind, w_tendency, "'rising', 'falling', 'stable', 'undecided', 'unknown'"), PART(T, slope, INTERVAL, "a value, share of |median|"),
        WHOLE(T, n, "values looked at"), NUMBER(T, effective, "independent ones with as much information")),
#undef T
    /* ---- validation ---- */
#define T cbx_accuracy_result
    TYPE(T, ACCURACY, "validation.Accuracy", "A value against its target.",
        WORD(T, outcome, w_accuracy, "'met', 'missed', 'undecided', 'not-finite', 'no-direction', 'impossible'"), NUMBER(T, achieved, "value"), NUMBER(T, target, "target"),
        MAYBE(T, margin, "by how much it is on the good side")),
#undef T
#define T cbx_tolerance_result
    TYPE(T, TOLERANCE, "validation.Tolerance", "A tolerance, and when it was reached for good.",
        NUMBER(T, tolerance, "tolerance"), WORD(T, outcome, w_tolerance, "'met', 'transient', 'never', 'unknown'"), WHOLE(T, iteration, "first of the values that stay, from 1; 0: none"),
        WHOLE(T, crossed, "first value at or below it, from 1; 0: none")),
#undef T
#define T cx_convergence_answer
    TYPE(T, CONVERGENCE, "validation.Convergence", "Whether a series of errors goes down.",
        WORD(T, outcome, w_convergence, "'converging', 'stalled', 'diverging', 'too-short', 'empty', 'not-an-error'"), MAYBE(T, rate, "falls by exp(-rate) an iteration"),
        MAYBE(T, rate_error, "its standard error"), WHOLE(T, iterations, "values"), WHOLE(T, bad, "first value that is no error, from 1; 0: none"),
        PARTS(T, tolerances, TOLERANCE, ntolerances, "one a tolerance")),
#undef T
};
/* clang-format on */
