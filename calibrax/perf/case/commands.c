/*
 * Files of commands.  Each member of a benchmark is a row of a table: a name and how to read it.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/core/run.h"
#include "calibrax/perf/case/source.h"

#define PATH_SIZE 192

typedef struct reading {
    cbx_ctx *ctx;
    cbx_arena *arena;
    const char *what, *folder;
    char path[PATH_SIZE]; /* of the benchmark under way: "benchmarks.0" */
} reading;

static cbx_status no_memory(const reading *r, cbx_err *err)
{
    return cbx_fail(err, CBX_ENOMEM, "out of memory to read '%s'", r->what);
}

static cbx_status wrong(const reading *r, const char *key, const char *wanted, cbx_err *err)
{
    return cbx_fail(err, CBX_EFORMAT, "'%s': '%s.%s': expected %s", r->what, r->path, key, wanted);
}

static cbx_status keep(const reading *r, const char *s, const char **out, cbx_err *err)
{
    *out = cbx_arena_strdup(r->arena, s);
    return *out ? CBX_OK : no_memory(r, err);
}

/* --- kinds of members; `out` is the member's place --- */

static cbx_status read_text(const reading *r, const char *key, const cbx_json *v, void *out, cbx_err *err)
{
    const char *s = cbx_json_string_value(v);
    return s ? keep(r, s, out, err) : wrong(r, key, "text", err);
}

static cbx_status read_name(const reading *r, const char *key, const cbx_json *v, void *out, cbx_err *err)
{
    const char *s = cbx_json_string_value(v);
    return s && *s ? keep(r, s, out, err) : wrong(r, key, "a name", err);
}

static cbx_status read_argv(const reading *r, const char *key, const cbx_json *v, void *out, cbx_err *err)
{
    const char *line = cbx_json_string_value(v);
    size_t n = line ? 3 : cbx_json_typeof(v) == CBX_JSON_ARRAY ? cbx_json_length(v) : 0;
    const char **argv = cbx_arena_calloc(r->arena, n + 1, sizeof *argv);
    cbx_status st = CBX_OK;

    if (!argv) return no_memory(r, err);
    if (n == 0 || (line && !*line)) return wrong(r, key, "an array of words, or a line for the shell", err);
    if (line) {
        argv[0] = "sh";
        argv[1] = "-c";
        st = keep(r, line, &argv[2], err);
    }
    for (size_t i = 0; !line && i < n && !st; i++) {
        const char *word = cbx_json_string_value(cbx_json_at(v, i));
        st = word && (i || *word) ? keep(r, word, &argv[i], err) : wrong(r, key, "an array of words", err);
    }
    *(const char *const **)out = argv;
    return st;
}

static cbx_status read_folder(const reading *r, const char *key, const cbx_json *v, void *out, cbx_err *err)
{
    const char *s = cbx_json_string_value(v), *whole;

    if (!s || !*s) return wrong(r, key, "a folder", err);
    whole = *s == '/' ? cbx_arena_strdup(r->arena, s) : cbx_path_join(r->arena, r->folder, s);
    *(const char **)out = whole;
    return whole ? CBX_OK : no_memory(r, err);
}

static cbx_status read_metrics(const reading *r, const char *key, const cbx_json *v, void *out, cbx_err *err)
{
    static const char *const words[] = { "auto", "stdout", "none" };
    const char *s = cbx_json_string_value(v);

    for (size_t i = 0; s && i < CBX_LEN(words); i++) {
        if (strcmp(s, words[i]) != 0) continue;
        *(cbx_command_metrics *)out = (cbx_command_metrics)i;
        return CBX_OK;
    }
    return wrong(r, key, "'auto', 'stdout' or 'none'", err);
}

static cbx_status read_count(const reading *r, const char *key, const cbx_json *v, void *out, cbx_err *err)
{
    int64_t n = cbx_json_int_value(v);

    if (cbx_json_typeof(v) != CBX_JSON_INT || n < 0 || n > 65536) return wrong(r, key, "a count up to 65536", err);
    *(size_t *)out = (size_t)n;
    return CBX_OK;
}

/* The next two and read_targets fill a pointer and the count behind it. */
static void put_list(void *out, const void *items, size_t count)
{
    memcpy(out, &items, sizeof items);
    memcpy((char *)out + sizeof items, &count, sizeof count);
}

static cbx_status read_pairs(const reading *r, const char *key, const cbx_json *v, void *out, cbx_err *err)
{
    size_t n = cbx_json_length(v);
    cbx_tag *tags = cbx_arena_calloc(r->arena, n, sizeof *tags);
    const char *name;
    cbx_json *value;
    cbx_status st = CBX_OK;

    if (!tags) return no_memory(r, err);
    if (cbx_json_typeof(v) != CBX_JSON_OBJECT) return wrong(r, key, "an object of text", err);
    for (size_t i = 0; cbx_json_member(v, i, &name, &value) && !st; i++) {
        const char *s = cbx_json_string_value(value);
        if (!s || !*name || strchr(name, '=')) return wrong(r, key, "an object of text", err);
        st = keep(r, name, &tags[i].key, err);
        if (!st) st = keep(r, s, &tags[i].value, err);
    }
    put_list(out, tags, n);
    return st;
}

static cbx_status read_targets(const reading *r, const char *key, const cbx_json *v, void *out, cbx_err *err)
{
    size_t n = cbx_json_length(v);
    cbx_named_metric *targets = cbx_arena_calloc(r->arena, n, sizeof *targets);
    const char *name;
    cbx_json *value;
    cbx_status st = CBX_OK;

    if (!targets) return no_memory(r, err);
    if (cbx_json_typeof(v) != CBX_JSON_OBJECT) return wrong(r, key, "an object of numbers", err);
    for (size_t i = 0; cbx_json_member(v, i, &name, &value) && !st; i++) {
        double x = cbx_json_double_value(value);
        if (!isfinite(x)) return wrong(r, key, "an object of numbers", err);
        targets[i].metric = cbx_metric_of(x);
        st = keep(r, name, &targets[i].name, err);
    }
    put_list(out, targets, n);
    return st;
}

static cbx_status copy_defs(const reading *r, const cbx_run *run, void *out, cbx_err *err)
{
    size_t n = cbx_run_nmetric_defs(run);
    cbx_metric_def *defs = cbx_arena_calloc(r->arena, n, sizeof *defs);
    cbx_status st = defs ? CBX_OK : no_memory(r, err);

    for (size_t i = 0; i < n && !st; i++) {
        const cbx_metric_def *d = cbx_run_metric_def(run, i);
        defs[i] = *d;
        st = keep(r, d->name, &defs[i].name, err);
        if (!st) st = keep(r, d->unit, &defs[i].unit, err);
        if (!st) st = keep(r, d->group ? d->group : "", &defs[i].group, err);
        if (!st) st = keep(r, d->description ? d->description : "", &defs[i].description, err);
    }
    put_list(out, defs, n);
    return st;
}

/* Definitions may leave out their name, which is the key, and their unit. */
static cbx_json *whole_defs(const cbx_json *v)
{
    cbx_json *defs = cbx_json_copy(v), *run = cbx_json_new_object(), *value;
    bool ok = defs && cbx_json_set_string(run, "id", "defs") &&
              cbx_json_set_string(run, "timestamp", "2000-01-01T00:00:00+00:00") &&
              cbx_json_set(run, "points", cbx_json_new_array());
    const char *key;

    for (size_t i = 0; ok && cbx_json_member(defs, i, &key, &value); i++) {
        if (cbx_json_typeof(value) != CBX_JSON_OBJECT) continue;
        if (!cbx_json_has(value, "name")) ok = cbx_json_set_string(value, "name", key);
        if (ok && !cbx_json_has(value, "unit")) ok = cbx_json_set_string(value, "unit", "");
    }
    if (!ok) cbx_json_unref(defs);
    if (ok && cbx_json_set(run, "metric_defs", defs)) return run;
    cbx_json_unref(run);
    return NULL;
}

static cbx_status read_defs(const reading *r, const char *key, const cbx_json *v, void *out, cbx_err *err)
{
    cbx_json *json;
    cbx_run *run = NULL;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st;

    if (cbx_json_typeof(v) != CBX_JSON_OBJECT) return wrong(r, key, "an object of definitions", err);
    json = whole_defs(v);
    if (!json) return no_memory(r, err);
    st = cbx_run_from_json(r->ctx, json, "defs", &run, &why);
    cbx_json_unref(json);
    if (st == CBX_ENOMEM) return no_memory(r, err);
    if (st) return cbx_fail(err, st, "'%s': '%s.%s': %s", r->what, r->path, key, why.message);
    st = copy_defs(r, run, out, err);
    cbx_run_free(run);
    return st;
}

/* --- a benchmark --- */

#define PLACE(member)      offsetof(cbx_benchmark_command, member)
#define COUNT_BEHIND(a, n) _Static_assert(PLACE(n) - PLACE(a) == sizeof(void *), "a pointer and its count")
COUNT_BEHIND(environment, nenvironment);
COUNT_BEHIND(tags, ntags);
COUNT_BEHIND(defs, ndefs);
COUNT_BEHIND(targets, ntargets);

static const struct {
    const char *key;
    cbx_status (*read)(const reading *r, const char *key, const cbx_json *v, void *out, cbx_err *err);
    size_t place;
} members[] = {
    { "name", read_name, PLACE(name) },
    { "domain", read_text, PLACE(domain) },
    { "command", read_argv, PLACE(argv) },
    { "setup", read_argv, PLACE(setup) },
    { "teardown", read_argv, PLACE(teardown) },
    { "folder", read_folder, PLACE(folder) },
    { "environment", read_pairs, PLACE(environment) },
    { "metrics", read_metrics, PLACE(metrics) },
    { "warmup", read_count, PLACE(warmup) },
    { "tags", read_pairs, PLACE(tags) },
    { "metric_defs", read_defs, PLACE(defs) },
    { "targets", read_targets, PLACE(targets) },
};

static cbx_status read_member(const reading *r, const char *key, const cbx_json *v, cbx_benchmark_command *c,
                              cbx_err *err)
{
    const char *names[CBX_LEN(members)], *nearest;

    for (size_t i = 0; i < CBX_LEN(members); i++) {
        names[i] = members[i].key;
        if (strcmp(key, names[i]) == 0) return members[i].read(r, key, v, (char *)c + members[i].place, err);
    }
    nearest = cbx_nearest_word(key, names, CBX_LEN(members));
    return cbx_fail(err, CBX_EFORMAT, "'%s': '%s' has an unknown member '%s'%s%s%s", r->what, r->path, key,
                    nearest ? ": did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static cbx_status read_benchmark(const reading *r, const cbx_json *v, cbx_benchmark_command *c, cbx_err *err)
{
    const char *key;
    cbx_json *value;
    cbx_status st = CBX_OK;

    if (cbx_json_typeof(v) != CBX_JSON_OBJECT)
        return cbx_fail(err, CBX_EFORMAT, "'%s': '%s': expected an object", r->what, r->path);
    for (size_t i = 0; cbx_json_member(v, i, &key, &value) && !st; i++) st = read_member(r, key, value, c, err);
    if (!st && (!c->name || !c->argv))
        st = cbx_fail(err, CBX_EFORMAT, "'%s': '%s' lacks its %s", r->what, r->path, c->name ? "command" : "name");
    if (!st && !c->folder && r->folder[0]) c->folder = r->folder;
    return st;
}

static cbx_status read_all(reading *r, const cbx_json *file, const cbx_benchmark_command **out, size_t *count,
                           cbx_err *err)
{
    const cbx_json *all = cbx_json_get(file, "benchmarks");
    size_t n = cbx_json_length(all);
    cbx_benchmark_command *commands;
    cbx_status st = CBX_OK;

    if (strcmp(cbx_json_get_string(file, "schema", ""), CBX_COMMANDS_SCHEMA) != 0)
        return cbx_fail(err, CBX_EFORMAT, "'%s' is no file of benchmarks: its schema has to be '%s'", r->what,
                        CBX_COMMANDS_SCHEMA);
    if (cbx_json_get_int(file, "version", 0) != CBX_COMMANDS_SCHEMA_VERSION)
        return cbx_fail(err, CBX_EVERSION, "'%s' is not of version %d of '%s'", r->what, CBX_COMMANDS_SCHEMA_VERSION,
                        CBX_COMMANDS_SCHEMA);
    if (cbx_json_typeof(all) != CBX_JSON_ARRAY || n == 0)
        return cbx_fail(err, CBX_EFORMAT, "'%s': 'benchmarks' has to be an array of at least one", r->what);
    commands = cbx_arena_calloc(r->arena, n, sizeof *commands);
    if (!commands) return no_memory(r, err);
    for (size_t i = 0; i < n && !st; i++) {
        snprintf(r->path, sizeof r->path, "benchmarks.%zu", i);
        st = read_benchmark(r, cbx_json_at(all, i), &commands[i], err);
    }
    if (st) return st;
    *out = commands;
    *count = n;
    return CBX_OK;
}

cbx_status cbx_benchmark_commands_parse(cbx_ctx *ctx, const char *text, size_t len, const char *what,
                                        const char *folder, cbx_arena *arena, const cbx_benchmark_command **out,
                                        size_t *count, cbx_err *err)
{
    reading r = { .ctx = ctx, .arena = arena, .what = what };
    cbx_json *file = NULL;
    cbx_status st;

    r.folder = cbx_arena_strdup(arena, folder);
    if (!r.folder) return no_memory(&r, err);
    st = cbx_json_parse(text, len, what, &file, err);
    if (!st) st = read_all(&r, file, out, count, err);
    cbx_json_unref(file);
    return st;
}

cbx_status cbx_benchmark_commands_read(cbx_ctx *ctx, const char *path, cbx_arena *arena,
                                       const cbx_benchmark_command **out, size_t *count, cbx_err *err)
{
    const char *slash = strrchr(path, '/'),
               *folder = slash ? cbx_arena_strndup(arena, path, (size_t)(slash - path) + 1) : "";
    size_t len;
    char *text;
    cbx_status st;

    if (!folder) return cbx_fail(err, CBX_ENOMEM, "out of memory to read '%s'", path);
    st = cbx_file_read(ctx, path, 0, &text, &len, err);
    if (st) return st;
    st = cbx_benchmark_commands_parse(ctx, text, len, path, folder, arena, out, count, err);
    cbx_mem_free(cbx_ctx_allocator(ctx), text, len + 1);
    return st;
}
