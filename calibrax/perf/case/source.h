/**
 * Where benchmarks come from: this program, a shared object, commands, a Python module.
 */
#ifndef CALIBRAX_PERF_CASE_SOURCE_H
#define CALIBRAX_PERF_CASE_SOURCE_H

#include "calibrax/base/arena.h"
#include "calibrax/core/protocols.h"

CBX_BEGIN_DECLS

typedef enum cbx_benchmark_kind {
    CBX_BENCHMARK_OPS,     /* of this program: run in this process */
    CBX_BENCHMARK_OBJECT,  /* a shared object (plugin.h): each launch in a fresh process */
    CBX_BENCHMARK_COMMAND, /* programs: each launch is one */
    CBX_BENCHMARK_PYTHON /* a module with classes that meet the Python package's BenchmarkProtocol: a fresh interpreter each */
} cbx_benchmark_kind;

/** "program", "object", "command", "python"; "?" outside the list. */
CBX_API const char *cbx_benchmark_kind_name(cbx_benchmark_kind kind);

typedef struct cbx_benchmark_item {
    const cbx_benchmark_ops *ops;
    void *self;
} cbx_benchmark_item;

/** Metrics that a command prints to standard output. */
typedef enum cbx_command_metrics {
    CBX_COMMAND_AUTO,   /* metrics if its last line is a JSON object, else none */
    CBX_COMMAND_STDOUT, /* all of its output, or the last line, is a JSON object, or the launch failed */
    CBX_COMMAND_NONE    /* its time and resources are all there is */
} cbx_command_metrics;

/** A program to measure.  Its metrics: {"name": number, ...}, or {"metrics": {"name": number or
 * {"value": number, ...}}}. */
typedef struct cbx_benchmark_command {
    const char *name, *domain;   /* domain NULL: "" */
    const char *const *argv;     /* program and arguments, NULL at the end; looked for in PATH */
    const char *const *setup;    /* run before each launch, not timed; NULL: none */
    const char *const *teardown; /* run after each launch, whatever became of it; NULL: none */
    const char *folder;          /* to run in; NULL: the current one */
    const cbx_tag *environment;  /* added to ours */
    size_t nenvironment;
    cbx_command_metrics metrics;
    size_t warmup; /* runs before each launch that do not count */
    const cbx_tag *tags;
    size_t ntags;
    const cbx_metric_def *defs;
    size_t ndefs;
    const cbx_named_metric *targets; /* the values to reach */
    size_t ntargets;
} cbx_benchmark_command;

typedef struct cbx_benchmark_source {
    uint32_t struct_size;
    cbx_benchmark_kind kind;
    const cbx_benchmark_item *items; /* CBX_BENCHMARK_OPS */
    size_t nitems;
    const char
        *path; /* CBX_BENCHMARK_OBJECT: the file; CBX_BENCHMARK_PYTHON: "module", "file.py", either with ":Class" */
    const cbx_benchmark_command *commands; /* CBX_BENCHMARK_COMMAND */
    size_t ncommands;
    const char *python; /* interpreter; NULL: "python3" */
} cbx_benchmark_source;

#define CBX_BENCHMARK_SOURCE_INIT CBX_OPTS(cbx_benchmark_source, CBX_BENCHMARK_OPS, 0, 0, 0, 0, 0, 0)

#define CBX_COMMANDS_SCHEMA         "calibrax-benchmarks"
#define CBX_COMMANDS_SCHEMA_VERSION 1

/**
 * Reads a file of commands, {"schema":"calibrax-benchmarks","version":1,"benchmarks":[{...}]}; a
 * benchmark has
 *     name, command (array of text, or text for `sh -c`)                needed
 *     domain, setup, teardown (as command), folder, environment {name: text}, metrics ("auto", "stdout", "none"), warmup,
 *     tags {key: text}, metric_defs {name: {"unit","direction",...}}, targets {metric: number}
 * Other members are refused: a misspelt one would otherwise be ignored.  A folder is relative to
 * that of the file, and so is where a command without one runs.
 * @param arena  holds all of it
 * @return CBX_OK; CBX_EFORMAT, CBX_EVERSION; as cbx_json_read
 */
CBX_API cbx_status cbx_benchmark_commands_read(cbx_ctx *ctx, const char *path, cbx_arena *arena,
                                               const cbx_benchmark_command **out, size_t *count, cbx_err *err);
/** The same from text.  @param what  names it in messages  @param folder  of the file; "": the
 * current one */
CBX_API cbx_status cbx_benchmark_commands_parse(cbx_ctx *ctx, const char *text, size_t len, const char *what,
                                                const char *folder, cbx_arena *arena, const cbx_benchmark_command **out,
                                                size_t *count, cbx_err *err);

CBX_END_DECLS
#endif
