/* What parameters are, by their names: the second part of each docstring (signature.c).  A name
 * that means two things has both. */
#include <string.h>

#include "python/transforms.h"

/* clang-format off */
static const struct { const char *name, *text; } words[] = {
    { "x", "the array, or the sample" }, { "x1", "first operand" }, { "x2", "second operand, broadcast with the first" }, { "y", "second sample" },
    { "axis", "axis or axes, negative ones from the end; None: all" }, { "axes", "axes in the order of their use" }, { "keepdims", "keep reduced axes with length 1" },
    { "dtype", "element type of the result; None: found" }, { "device", "one of devices(); None: that of an operand, else the CPU" }, { "copy", "True: always, False: never, None: if needed" },
    { "shape", "lengths of the axes" }, { "obj", "numbers, nested sequences, or an object that lends its elements" }, { "fill_value", "value of each element" },
    { "start", "first value; of Ell: first index of each row" }, { "stop", "end; None: start is the end, and 0 the start" }, { "step", "distance of two values" }, { "num", "how many" },
    { "endpoint", "whether stop is the last value" }, { "n_rows", "rows" }, { "n_cols", "columns; None: as rows" }, { "k", "diagonal, 0: the main one; or successes" },
    { "indexing", "order of the first two axes" }, { "arrays", "arrays, in order" }, { "min", "lower bound; None: none" }, { "max", "upper bound; None: none" },
    { "condition", "where it is true the first one is taken" }, { "repeats", "times for all, or for each element" }, { "counts", "times for each element" }, { "repetitions", "times along each axis" }, { "shift", "places to the right" },
    { "source", "axes to move" }, { "destination", "where they go" }, { "correction", "subtracted from the number of values in the divisor" }, { "weights", "weight of each value" },
    { "include_initial", "begin with 0 (sum) or 1 (product)" }, { "n", "how many, or how often" }, { "prepend", "values before" }, { "append", "values behind" }, { "q", "percentages, or probability" },
    { "descending", "largest first" }, { "stable", "always true here" }, { "indices", "integers along the axis, negative ones from the end" }, { "updates", "values at these indices" },
    { "mode", "how values are joined, or computed" }, { "side", "of equal values" }, { "sorter", "indices that sort the first operand" }, { "ids", "segment of each row" }, { "segments", "number of segments" },
    { "edges", "ascending edges of bins" }, { "minlength", "minimum length of the result" }, { "length", "length of the result" }, { "invert", "whether the answer is inverted" }, { "subscripts", "letters of each operand's axes, '->', letters of the result; '...' covers others" },
    { "operands", "arrays and numbers" }, { "offset", "diagonal, 0: the main one" }, { "upper", "the upper triangle" }, { "rtol", "relative tolerance; None: by dtype and size" }, { "full_matrices", "square factors" },
    { "transpose", "solve with the transpose" }, { "adjoint", "solve with the conjugate transpose" }, { "unit", "the diagonal is 1; or the unit of a metric" }, { "ord", "order of the norm" },
    { "norm", "how the pair of transforms is scaled" }, { "s", "lengths along the axes; -1: as they are" }, { "d", "distance of samples; or standardised difference" }, { "key", "a key, or a seed; or the name of a note" },
    { "seed", "of the random draws" }, { "p", "probability, or p-values" }, { "logits", "logarithms of probabilities, up to a constant" }, { "alpha", "shape of the distribution; or chance of a false alarm" }, { "low", "minimum" },
    { "high", "bound above" }, { "replace", "draw again what was drawn; or write over what exists" }, { "data", "integer that selects the key" }, { "a", "first factor; or first parameter" }, { "b", "second factor; or second parameter" },
    { "algebra", "addition and multiplication" }, { "out", "result of the product" }, { "cotangent", "of the result" }, { "tangent_a", "of a" }, { "tangent_b", "of b" }, { "tangent_x", "of x" }, { "tangent_w", "of w" },
    { "tangent_values", "of values" }, { "w", "weights (taps, channels, channels out)" }, { "padding", "'valid', 'same' or pairs (before, after)" }, { "stride", "steps of the window" }, { "dilation", "distance of taps" },
    { "merge", "joined with the product by the algebra's addition" }, { "mask", "which places count" }, { "mask_complement", "whether the mask is inverted" }, { "raw", "squared distances (euclidean)" },
    { "values", "values, in order" }, { "entries", "entries in their order in CSR" }, { "order", "old index of each new vertex" }, { "index", "columns; or which device; or whether an index file is kept" }, { "cols", "columns" }, { "degree", "edges of each row" },
    { "path", "file or folder" }, { "name", "name; None: found" }, { "compress", "deflate the members of '.npz'" }, { "kind", "kind" }, { "type", "a dtype, an array of it, or its name; or type of an exception" }, { "to", "where to" }, { "from_", "dtype, or an array of it" },
    { "arrays_and_dtypes", "arrays, dtypes and numbers" }, { "spec", "format of one number" }, { "api_version", "version of the array API" }, { "func", "function of NumPy" }, { "types", "types of the arguments" }, { "args", "its arguments" },
    { "kwargs", "its keywords" }, { "max_version", "newest DLPack that the consumer takes" }, { "dl_device", "device of the consumer" }, { "stream", "None on the CPU; of a GPU the elements are complete for any" }, { "level", "confidence level in (0, 1)" }, { "df", "degrees of freedom" },
    { "df1", "degrees of freedom above" }, { "df2", "degrees of freedom below" }, { "chance", "probability of a success" }, { "t", "value" }, { "delta", "noncentrality" }, { "cut", "share at each end" },
    { "threshold", "bound from which a difference counts" }, { "lags", "maximum lag" }, { "batches", "number of batches; 0: chosen" }, { "resolution", "relative distance that separates modes" }, { "tolerance", "relative deviation of a steady level; or error to reach" },
    { "tail", "share at the end that must be steady" }, { "penalty", "of one more change; None: chosen" }, { "first", "pairs at the first look" }, { "last", "pairs at the last look; or take the last of two values" }, { "looks", "a plan" },
    { "j", "look, from 0" }, { "done", "looks done" }, { "pairs", "pairs at the last look" }, { "mean", "hypothesis" }, { "lower", "lower bound; or alarm below" }, { "zeros", "what is done with differences of 0" }, { "cdf", "distribution function" },
    { "paired", "values belong together" }, { "compare", "difference, ratio, or a function of both samples" }, { "permutations", "number of permutations" }, { "draws", "number of draws" }, { "below", "values below" }, { "above", "values above" },
    { "statistic", "name, or a function of tuples" }, { "parameter", "of the statistic: probability, or share" }, { "method", "method" }, { "resamples", "number of resamples" }, { "threads", "0: all" }, { "variance", "variance of each level" },
    { "cost", "cost of each level; or what a segment costs" }, { "maximum", "maximum number of repetitions" }, { "half", "half width of the interval" }, { "power", "chance to find it" }, { "pilot", "values measured before" }, { "runs", "simulated experiments, measured runs, or Runs" },
    { "planned", "values for which the interval is narrowest" }, { "direction", "which values are better" }, { "directions", "which values are better, one for all or one a column" }, { "samples", "samples: how many, or a sequence of them a competitor" },
    { "points", "rows of objectives, one a competitor" }, { "sizes", "sizes" }, { "times", "times, one a size" }, { "workers", "numbers of workers" }, { "law", "law of scaling" }, { "min_segment", "minimum length of a segment" },
    { "window", "length of the window; 0: chosen" }, { "before", "sample before" }, { "after", "sample after" }, { "ratio", "an Interval of a ratio of times" }, { "margin", "within which it is equivalent" }, { "labels", "names, one a run" },
    { "group_tag", "tag that names the competitor" }, { "reference", "base of speed-ups; or what it is compared with" }, { "metrics", "metrics; None: all" }, { "function", "what is called" }, { "warmup", "calls or runs that do not count" },
    { "sample_s", "[s] minimum duration of a sample" }, { "calls", "calls a sample; 0: chosen" }, { "budget_s", "[s] no more samples after it; 0: no limit" }, { "percentiles", "percentiles to report" }, { "compile", "called once before" },
    { "sync", "waits for results" }, { "used_mb", "[MiB] memory in use" }, { "total_mb", "[MiB] all memory" }, { "flop", "operations of a call" }, { "bytes", "bytes of a call" }, { "iterable", "the batches" }, { "process", "work on a batch; or name of the process" },
    { "count", "elements of a batch" }, { "make", "returns what is timed at a size" }, { "min_weight", "minimum weight of the best order" }, { "min_span", "minimum ratio of sizes" }, { "max_error", "maximum relative error" },
    { "argv", "program and arguments" }, { "interval_s", "[s] between two samples" }, { "show_output", "whether output is shown" }, { "ignore_failure", "a failed run counts" }, { "module", "module, or file" }, { "python", "interpreter; None: this one" },
    { "flops", "whether work is measured" }, { "text", "text" }, { "clock_hz", "[Hz] of all cores" }, { "cores", "number of cores" }, { "refresh", "measure again" }, { "rate", "dtype of the arithmetic" }, { "roofs", "roofs of a machine" },
    { "seconds", "[s] time" }, { "working_set_bytes", "bytes in use; 0: memory" }, { "last_axis", "length of the last axis; 0: unknown" }, { "country", "ISO code of three letters; None: the world" }, { "region", "region; None: the whole country" },
    { "joules", "[J] energy" }, { "g_per_kwh", "[g/kWh] intensity" }, { "pue", "power of the building over that of the machine" }, { "lines", "dicts, one a line" }, { "folder", "folder" }, { "run_id", "id of a run" }, { "capacity", "maximum number of values" },
    { "age_s", "[s] maximum age; 0: any" }, { "value", "value; or an exception" }, { "failed", "whether it failed" }, { "now", "[s] time; None: the clock" }, { "keep", "alerts that are remembered" }, { "metric", "name of the metric" }, { "info", "level of this severity; None: none" },
    { "warning", "level of this severity; None: none" }, { "error", "level of this severity; None: none" }, { "critical", "level of this severity; None: none" }, { "hysteresis", "relative distance for the way back" }, { "raise_after", "values in a row" },
    { "clear_after", "values in a row" }, { "quiet_s", "[s] minimum between two alerts" }, { "repeat_s", "[s] after which it is repeated; 0: never" }, { "message", "sentence" }, { "severity", "severity" }, { "listener", "called with each Alert; None: none" },
    { "min_executions", "minimum number of executions" }, { "degraded_rate", "share of failures" }, { "critical_rate", "share of failures" }, { "degraded_slow", "times the baseline" }, { "critical_slow", "times the baseline" }, { "pipeline", "name of the pipeline" },
    { "success", "whether it succeeded" }, { "target", "value to reach; or where alerts go" }, { "timeout_s", "[s] maximum; 0: none" }, { "alert", "an Alert" }, { "time", "time; None: now" }, { "errors", "errors, in order" }, { "tolerances", "tolerances" },
    { "hold", "values in a row that stay below" }, { "h", "step sizes" }, { "achieved", "value reached" }, { "definition", "definition of the metric" }, { "sentence", "sentence" }, { "tag", "tag that names the framework" }, { "run", "a Run" },
    { "format", "format" }, { "plots", "kinds of plots; None: all" }, { "group_by", "tag that names the series" }, { "dark", "dark colours" }, { "repo", "address of the repository" }, { "experiment", "experiment on the server; None: of the environment, else calibrax" }, { "title", "title" }, { "label", "label of the values" },
    { "good", "good revision" }, { "bad", "bad revision" }, { "bench", "command, or function, that returns a value" }, { "build", "command, or function, that builds a commit" }, { "repository", "folder of the repository; None: here" },
    { "higher_is_better", "whether larger values are better" }, { "any_change", "search for a change in either direction" }, { "confidence", "at which to stop" }, { "end_launches", "maximum launches of the ends" }, { "max_launches", "maximum launches in all" },
    { "bench_timeout_s", "[s] of one launch" }, { "build_timeout_s", "[s] of one build" }, { "keep_builds", "builds that are kept" }, { "state", "what was seen before" }, { "scratch", "folder for builds" }, { "resume", "go on with state" },
    { "progress", "called at each step" }, { "commit", "commit" }, { "commits", "candidates, parents before children" }, { "parents", "parents of each commit" }, { "build_launches", "cost of a build in launches" }, { "identity", "what a state must belong to" },
    { "reason", "why" }, { "pid", "process; 0: this one" }, { "alone", "without its children" }, { "pss", "divide shared pages" }, { "max_samples", "maximum number of samples" }, { "gpu", "a Gpu" }, { "powercap", "folder of the counters" },
    { "library", "file of NVML" }, { "category", "category" }, { "notes", "dict of numbers and texts" }, { "static", "arguments whose values count" }, { "mapping", "a dict, or an object with to_dict()" }, { "results", "BenchmarkResults, or dicts" },
    { "id", "id; None: new" }, { "timestamp", "time; None: now" }, { "detect", "find commit, branch, machine and versions" }, { "branch", "branch" }, { "environment", "machine, hardware, versions ..." }, { "metadata", "what else is known" },
    { "metric_defs", "definitions of metrics" }, { "which", "id, a unique prefix of an id, or 'latest'" }, { "point", "name of the points" }, { "point_name", "name of the points" }, { "scenario", "scenario" }, { "tags", "text by text" }, { "machine", "fingerprint" },
    { "since", "first time" }, { "until", "last time" }, { "limit", "maximum number; 0: all" }, { "n_runs", "maximum number of values; None: all" }, { "newest", "runs to keep; 0: all" }, { "dry", "only report" }, { "paths", "files and folders" },
    { "create", "make the folder with the first run" }, { "baseline", "a Run" }, { "primary_threshold", "of primary metrics; None: threshold" }, { "secondary_threshold", "of secondary metrics; None: threshold" }, { "thresholds", "relative changes by pattern" },
    { "minimum", "absolute change that counts" }, { "values_only", "ignore samples and bounds" }, { "allow_dropped", "missing keys do not fail" }, { "allow_other_machine", "compare across machines" }, { "undecided_passes", "undecided findings pass" },
    { "waivers", "file of accepted findings" }, { "defs", "definitions for metrics without one" }, { "benchmark", "object or class" }, { "launches", "launches" }, { "batch_size", "examples a batch" }, { "max_batches", "maximum number; 0: all" },
    { "targets", "values to reach, by metric" }, { "config", "configuration" }, { "trace", "file to write; None: none" }, { "keep_going", "exceptions become Failures" }, { "plugin", "shared object" }, { "file", "case file of commands" }, { "command", "program and arguments" },
    { "benchmarks", "names; None: all" }, { "grace_s", "[s] from SIGTERM to SIGKILL" }, { "allow_failed", "share of launches that may fail" }, { "traceback", "of an exception, or None" }, { "trace_dir", "folder for traces of the benchmarks" },
    { "fun", "the function" }, { "f", "the step of the loop" }, { "argnums", "arguments to derive in, by position; a sequence of them gives a tuple" }, { "has_aux", "whether it returns (result, anything else), and the latter is passed on" }, { "static_argnums", "arguments that are not traced, by position; a value of its own for each of their values" },
    { "static_argnames", "arguments that are not traced, by name" }, { "donate_argnums", "arguments whose elements a call takes, unless another array shows them: their memory becomes that of results, and the Arrays cannot be used again" }, { "donate_argnames", "the same by name" }, { "size", "number of values in the result" }, { "unroll", "accepted: the compiler decides" }, { "save_every", "steps between the carries that reverse mode keeps, or 'sqrt'; it computes the others again: less memory for more time; None: it keeps everything" }, { "stage", "what is shown: the operations, the kernels that they become, their instructions, C, LLVM IR, machine code, PTX of GPUs" }, { "nondiff_argnums", "arguments that are neither traced nor derived in, by position" }, { "primals", "the point" }, { "tangents", "the direction: a tree like the primals" },
    { "in_axes", "axis to map of each argument, or trees of axes; None: not mapped" }, { "out_axes", "where the batch axis goes in the results, a tree of axes; None: a result that is the same for all" }, { "axis_size", "length of the batch; None: found" }, { "init", "value that is carried first" }, { "xs", "tree of arrays, a row a step; None: none" },
    { "length", "number of steps; None: that of xs" }, { "reverse", "from the last step to the first" }, { "lower", "first index" }, { "upper", "end" }, { "body_fun", "step of the loop" }, { "init_val", "first value, a tree" }, { "cond_fun", "whether to go on: gives a scalar" },
    { "pred", "a scalar" }, { "true_fun", "function for true" }, { "false_fun", "function for false" }, { "branches", "functions" }, { "tree", "a tree" }, { "rest", "trees of the same structure" }, { "is_leaf", "objects that are leaves in any case; None: none" },
    { "nodetype", "the class" }, { "flatten", "takes an object apart" }, { "unflatten", "puts an object together" }, { "structure", "the structure of a tree" }, { "leaves", "as many leaves as the structure has" },
};
/* clang-format on */

/* The rules of the functions of a table: shapes, dtypes, errors. */
/* clang-format off */
#define ARRAYS "TypeError: an argument of another type, or a dtype that the function does not take. ValueError: shapes, axes or values that do not fit. "
#define SEARCHES "Indices are int64; NaN sorts last. " ARRAYS "IndexError: an index outside of the array."
#define AS_SEARCHES "As the function of that name. " ARRAYS "IndexError: an index outside of the array."
#define PRODUCTS "Operands promote to one dtype; leading axes broadcast. " ARRAYS
#define LINALG "Matrices are the last two axes; integers become float64. " ARRAYS
#define FOURIER "The result is complex of the precision of x (irfft, irfftn, hfft: real); integers become float64. " ARRAYS
#define SAMPLES "x, y and the like: flat sequences of finite numbers, read as float64, without a copy where they are an Array or a buffer of them. TypeError: an argument of another type. ValueError: too few values, or one out of range; the message names it."
static const struct { const PyMethodDef *table; const char *text; } rules[] = {
    { cx_elementwise_methods, "Operands broadcast to one shape and promote to one dtype; Python's numbers take the dtype of the array unless their kind is higher. Functions of real numbers return float64 for integers and bool. " ARRAYS "OverflowError: an int that the dtype cannot hold." },
    { cx_array_elementwise, ARRAYS }, { cx_array_movements, "A view where the strides allow one. " ARRAYS },
    { cx_creation_methods, "Without a dtype: float64, or that of the values. " ARRAYS "OverflowError: a value or a size that is too large." },
    { cx_manipulation_methods, "The dtype stays, arrays that are joined promote; a view where the strides allow one. " ARRAYS "OverflowError: an integer of more than 64 bits." },
    { cx_reduction_methods, "Sums and products of integers are int64 or uint64, means and deviations of them float64; NaN propagates. " ARRAYS }, { cx_array_reductions, "As the function of that name. " ARRAYS },
    { cx_searching_methods, SEARCHES }, { cx_scan_methods, SEARCHES }, { cx_array_searches, AS_SEARCHES }, { cx_array_scans, AS_SEARCHES },
    { cx_set_methods, "Arrays are flattened; values are ascending. " ARRAYS }, { cx_matrix_methods, "A view. " ARRAYS }, { cx_product_methods, PRODUCTS }, { cx_vector_product_methods, PRODUCTS },
    { cx_linalg_methods, LINALG }, { cx_vector_methods, LINALG }, { cx_fft_methods, FOURIER }, { cx_shift_methods, FOURIER },
    { cx_random_methods, "Equal keys give equal draws, on any machine and number of threads. " ARRAYS "OverflowError: a bound that the dtype cannot hold." },
    { cx_semiring_methods, "float32 and float64; integers become float64. " ARRAYS }, { cx_dtype_methods, ARRAYS }, { cx_info_methods, ARRAYS }, { cx_device_methods, ARRAYS }, { cx_dlpack_methods, ARRAYS "BufferError: elements that cannot be shared." },
    { cx_transform_methods, "Arguments and results are trees of arrays and numbers (calibrax_c.tree). What the function raises while it is traced comes out unchanged. ConcretizationError: Python needs the values of a traced array. TypeError: an argument, a result or a dtype that does not fit. ValueError: a shape or an axis that does not fit. docs/jit.md has the rules." },
    { cx_tree_methods, "Nodes are tuples, lists, dicts, named tuples, data classes, None and registered classes; everything else is a leaf. TypeError: keys of a dict that cannot be sorted, an argument of another type. ValueError: structures that differ." },
    { cx_file_methods, ARRAYS "OSError: the file cannot be read or written." },
    { cx_statistics_methods, SAMPLES }, { cx_hypothesis_methods, SAMPLES }, { cx_resampling_methods, SAMPLES }, { cx_analysis_methods, SAMPLES " Tables are rows of one length, a competitor a row." }, { cx_monitoring_methods, SAMPLES }, { cx_validation_methods, SAMPLES },
};
#define REST "TypeError: an argument of another type. ValueError: one out of range; the message names it. OSError: a file that cannot be read or written. RuntimeError: a part that is missing."
/* clang-format on */

const char *cx_rules_of(const PyMethodDef *table)
{
    for (size_t i = 0; i < CBX_LEN(rules); i++)
        if (rules[i].table == table) return rules[i].text;
    return REST;
}

const char *cx_parameter_text(const char *name, size_t length)
{
    for (size_t i = 0; i < CBX_LEN(words); i++)
        if (strlen(words[i].name) == length && memcmp(words[i].name, name, length) == 0) return words[i].text;
    return NULL;
}
