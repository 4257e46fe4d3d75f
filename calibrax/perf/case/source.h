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

/** A condition on what a run left behind: a command that exits with 0, or a file that equals
 * another byte by byte, or whose numbers are those of another within atol + rtol times the
 * correct one. */
typedef struct cbx_command_check {
    const char *command;                  /* NULL: a file */
    const char *file, *same_as, *numbers; /* relative to where the command ran; one of the latter two */
    double rtol, atol;
} cbx_command_check;

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
    bool new_folder;                 /* run each launch in a new folder, which is removed after it */
    const cbx_command_check *checks; /* after each launch, not timed; a wrong output is a failed launch */
    size_t nchecks;
} cbx_benchmark_command;

typedef struct cbx_benchmark_source {
    uint32_t struct_size;
    cbx_benchmark_kind kind;
    const cbx_benchmark_item *items; /* CBX_BENCHMARK_OPS */
    size_t nitems;
    /* CBX_BENCHMARK_OBJECT: the file; CBX_BENCHMARK_PYTHON: "module", "file.py", either with
     * ":Class" */
    const char *path;
    const cbx_benchmark_command *commands; /* CBX_BENCHMARK_COMMAND */
    size_t ncommands;
    const char *python; /* interpreter; NULL: "python3" */
} cbx_benchmark_source;

#define CBX_BENCHMARK_SOURCE_INIT CBX_OPTS(cbx_benchmark_source, CBX_BENCHMARK_OPS, 0, 0, 0, 0, 0, 0)

/**
 * Reads a case file of kind "commands" (declared.h): a benchmark for each baseline at each point,
 * named "BASELINE", or "BASELINE[LABEL]" where the case has parameters, which become tags.
 * @param arena  holds all of it
 * @return CBX_OK; CBX_EINVAL: a case of kind "python"; as cbx_declared_read
 */
CBX_API cbx_status cbx_benchmark_commands_read(cbx_ctx *ctx, const char *path, cbx_arena *arena,
                                               const cbx_benchmark_command **out, size_t *count, cbx_err *err);

CBX_END_DECLS
#endif
