/* The options of calibrax run as the library expects them. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "programs/calibrax/run.h"

static int no_memory(const opt_run *run) { return opt_fail(run->program, "out of memory"); }

/* "key" before the first '='; NULL: there is none, or nothing before it. */
static const char *key_of(const opt_run *run, const char *word, const char **value)
{
    const char *equals = strchr(word, '=');

    if (!equals || equals == word) return NULL;
    *value = equals + 1;
    return cbx_arena_strndup(run->arena, word, (size_t)(equals - word));
}

/* --- the source --- */

int run_read_source(const opt_run *run, cbx_benchmark_source *out)
{
    const run_args *a = run->args;
    if (run->words->count) {
        const char **argv = cbx_arena_calloc(run->arena, run->words->count + 1, sizeof *argv);
        cbx_benchmark_command *c = cbx_arena_calloc(run->arena, 1, sizeof *c);

        if (!argv || !c) return no_memory(run);
        memcpy(argv, run->words->items, run->words->count * sizeof *argv);
        const char *slash = strrchr(argv[0], '/');
        c->name = slash && slash[1] ? slash + 1 : argv[0];
        c->argv = argv;
        c->metrics = (cbx_command_metrics)a->metrics;
        c->warmup = a->warmup == SIZE_MAX ? 0 : a->warmup;
        out->kind = CBX_BENCHMARK_COMMAND;
        out->commands = c;
        out->ncommands = 1;
        return EXIT_PASS;
    }
    if (a->file) {
        cbx_err err = CBX_ERR_INIT;

        out->kind = CBX_BENCHMARK_COMMAND;
        if (cbx_benchmark_commands_read(run->ctx, a->file, run->arena, &out->commands, &out->ncommands, &err))
            return opt_fail(run->program, "%s", err.message);
        return EXIT_PASS;
    }
    out->kind = a->plugin ? CBX_BENCHMARK_OBJECT : CBX_BENCHMARK_PYTHON;
    out->path = a->plugin ? a->plugin : a->module;
    out->python = a->python;
    return EXIT_PASS;
}

/* --- lists of KEY=VALUE --- */

static int read_tags(const opt_run *run, cbx_benchmark_opts *out)
{
    const run_args *a = run->args;
    cbx_tag *tags = cbx_arena_calloc(run->arena, a->tags.count, sizeof *tags);

    if (!tags) return no_memory(run);
    for (size_t i = 0; i < a->tags.count; i++) {
        tags[i].key = key_of(run, a->tags.items[i], &tags[i].value);
        if (!tags[i].key) return opt_fail(run->program, "'--tag' must be KEY=VALUE, got '%s'", a->tags.items[i]);
    }
    out->tags = tags;
    out->ntags = a->tags.count;
    return EXIT_PASS;
}

static int read_targets(const opt_run *run, cbx_benchmark_opts *out)
{
    const run_args *a = run->args;
    cbx_named_metric *targets = cbx_arena_calloc(run->arena, a->targets.count, sizeof *targets);

    if (!targets) return no_memory(run);
    for (size_t i = 0; i < a->targets.count; i++) {
        const char *text = "";
        double value = NAN;
        targets[i].name = key_of(run, a->targets.items[i], &text);
        if (!targets[i].name || !opt_number(text, &value))
            return opt_fail(run->program, "'--target' must be METRIC=NUMBER, got '%s'", a->targets.items[i]);
        targets[i].metric = cbx_metric_of(value);
    }
    out->targets = targets;
    out->ntargets = a->targets.count;
    return EXIT_PASS;
}

static int read_defines(const opt_run *run, cbx_benchmark_opts *out)
{
    const run_args *a = run->args;
    cbx_metric_def *defs = cbx_arena_calloc(run->arena, a->defines.count, sizeof *defs);

    if (!defs) return no_memory(run);
    for (size_t i = 0; i < a->defines.count; i++) {
        const char *text = "", *colon;
        defs[i].name = key_of(run, a->defines.items[i], &text);
        colon = strchr(text, ':');
        defs[i].unit = colon ? colon + 1 : "";
        text = colon ? cbx_arena_strndup(run->arena, text, (size_t)(colon - text)) : text;
        if (!defs[i].name || !text || !cbx_direction_parse(text, &defs[i].direction))
            return opt_fail(run->program,
                            "'--define' must be METRIC=higher, lower or info, perhaps with :UNIT, got '%s'",
                            a->defines.items[i]);
    }
    out->defs = defs;
    out->ndefs = a->defines.count;
    return EXIT_PASS;
}

static int read_config(const opt_run *run, cbx_json **out)
{
    const run_args *a = run->args;
    cbx_json *o = cbx_json_new_object();

    for (size_t i = 0; o && i < a->config.count; i++) {
        const char *text = "", *key = key_of(run, a->config.items[i], &text);
        cbx_json *value = NULL;
        bool ok;
        if (!key) {
            cbx_json_unref(o);
            return opt_fail(run->program, "'--config' must be KEY=VALUE, got '%s'", a->config.items[i]);
        }
        if (strcmp(text, "null") == 0)
            ok = cbx_json_set_null(o, key);
        else if (cbx_json_parse(text, strlen(text), "value", &value, NULL))
            ok = cbx_json_set_string(o, key, text);
        else
            ok = cbx_json_set(o, key, value);
        if (ok) continue;
        cbx_json_unref(o);
        o = NULL;
    }
    *out = o;
    return o ? EXIT_PASS : no_memory(run);
}

/* --- all of them --- */

int run_read_opts(const opt_run *run, cbx_benchmark_opts *out, cbx_json **config)
{
    const run_args *a = run->args;

    out->names = a->benchmarks.items;
    out->nnames = a->benchmarks.count;
    out->launches = a->launches;
    out->timeout_s = a->timeout;
    out->grace_s = a->grace;
    out->level = a->level;
    out->allow_failed = a->allow_failed;
    if (a->warmup != SIZE_MAX) out->measure.warmup = a->warmup;
    out->measure.samples = a->samples;
    out->measure.sample_s = 1e-3 * a->sample_ms;
    out->measure.budget_s = a->budget;
    out->measure.batch_size = a->batch_size;
    out->measure.max_batches = a->max_batches;
    out->name = a->name;
    out->scenario = a->scenario;
    out->trace = a->trace;
    out->trace_dir = a->trace_dir;
    out->show_output = a->show_output;
    if (read_tags(run, out) || read_targets(run, out) || read_defines(run, out)) return EXIT_ERROR;
    if (a->config.count == 0) return EXIT_PASS;
    if (read_config(run, config)) return EXIT_ERROR;
    out->measure.config = *config;
    return EXIT_PASS;
}
