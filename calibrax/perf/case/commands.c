/*
 * Files of commands for `calibrax run`: a table of the members of a benchmark, read by members.h.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/core/run.h"
#include "calibrax/perf/case/members.h"
#include "calibrax/perf/case/source.h"

/* A copy in the arena, of text that may be empty. */
static const char *kept(cbx__reader *r, const char *s) { return cbx__read_made(r, cbx_arena_strdup(r->arena, s)); }

static void read_domain(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    const char *s = cbx_json_string_value(v);

    if (!s) cbx__read_fault(r, "'%s' must be text", name);
    if (s) *(const char **)out = kept(r, s);
}

static void read_argv(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    const char *line = cbx_json_string_value(v);
    const size_t n = line ? 3 : cbx_json_typeof(v) == CBX_JSON_ARRAY ? cbx_json_length(v) : 0;
    const char **argv = cbx__read_made(r, cbx_arena_calloc(r->arena, n + 1, sizeof *argv));

    if (n == 0 || (line && !*line)) cbx__read_fault(r, "'%s' must be an array of words, or a line for the shell", name);
    for (size_t i = 0; i < n && !r->st; i++) {
        const char *const shell[] = { "sh", "-c", line };
        const char *word = line ? shell[i] : cbx_json_string_value(cbx_json_at(v, i));
        if (!word || (i == 0 && !*word)) cbx__read_fault(r, "'%s' must be an array of words", name);
        if (!r->st) argv[i] = kept(r, word);
    }
    *(const char *const **)out = argv;
}

static void read_folder(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    const char *s = NULL;

    cbx__read_text(r, name, v, &s);
    if (!r->st && *s != '/') s = cbx__read_made(r, cbx_path_join(r->arena, r->folder, s));
    *(const char **)out = s;
}

static void read_metrics(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    static const char *const words[] = { "auto", "stdout", "none" };
    const char *s = cbx_json_string_value(v);
    size_t i = 0;

    while (s && i < CBX_LEN(words) && strcmp(s, words[i]) != 0) i++;
    if (!s || i == CBX_LEN(words))
        cbx__read_fault(r, "'%s' must be 'auto', 'stdout' or 'none'", name);
    else
        *(cbx_command_metrics *)out = (cbx_command_metrics)i;
}

static void read_count(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    const int64_t n = cbx_json_int_value(v);

    if (cbx_json_typeof(v) != CBX_JSON_INT || n < 0 || n > 65536)
        cbx__read_fault(r, "'%s' must be an integer from 0 to 65536", name);
    *(size_t *)out = (size_t)n;
}

/* The readers below fill a pointer and the count that follows it: zeroed items, one for each member
 * of the object. */
static void *make_items(cbx__reader *r, const char *name, const cbx_json *v, size_t size, const char *of, void *out)
{
    const bool object = cbx_json_typeof(v) == CBX_JSON_OBJECT;
    const size_t n = object ? cbx_json_length(v) : 0;
    void *items = cbx__read_made(r, cbx_arena_calloc(r->arena, n, size));

    if (!object) cbx__read_fault(r, "'%s' must be an object of %s", name, of);
    memcpy(out, &items, sizeof items);
    memcpy((char *)out + sizeof items, &n, sizeof n);
    return items;
}

static void read_pairs(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    cbx_tag *tags = make_items(r, name, v, sizeof *tags, "text", out);
    const char *key;
    cbx_json *value;

    for (size_t i = 0; !r->st && cbx_json_member(v, i, &key, &value); i++) {
        const char *s = cbx_json_string_value(value);
        if (!s || !*key || strchr(key, '='))
            cbx__read_fault(r, "'%s' must be an object of text", name);
        else
            tags[i] = (cbx_tag){ kept(r, key), kept(r, s) };
    }
}

static void read_targets(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    cbx_named_metric *targets = make_items(r, name, v, sizeof *targets, "numbers", out);
    const char *key;
    cbx_json *value;

    for (size_t i = 0; !r->st && cbx_json_member(v, i, &key, &value); i++) {
        const double x = cbx_json_double_value(value);
        if (!isfinite(x)) cbx__read_fault(r, "'%s' must be an object of numbers", name);
        targets[i].metric = cbx_metric_of(x);
        targets[i].name = kept(r, key);
    }
}

/* Definitions may leave out their name, which is the key, and their unit; a run's reader checks the
 * rest. */
static void read_defs(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    cbx_metric_def *defs = make_items(r, name, v, sizeof *defs, "definitions", out);
    cbx_json *run, *whole, *value;
    cbx_run *made = NULL;
    cbx_err why = CBX_ERR_INIT;
    const char *key;
    cbx_status st;

    if (r->st) return;
    run = cbx_json_new_object();
    cbx_json_set_string(run, "id", "defs");
    cbx_json_set_string(run, "timestamp", "2000-01-01T00:00:00+00:00");
    cbx_json_set_array(run, "points");
    cbx_json_set(run, "metric_defs", cbx_json_copy(v));
    whole = cbx_json_get(run, "metric_defs");
    for (size_t i = 0; cbx_json_member(whole, i, &key, &value); i++) {
        if (cbx_json_typeof(value) != CBX_JSON_OBJECT) continue;
        if (!cbx_json_has(value, "name")) cbx_json_set_string(value, "name", key);
        if (!cbx_json_has(value, "unit")) cbx_json_set_string(value, "unit", "");
    }
    st = cbx_json_check(run, &why);
    if (!st) st = cbx_run_from_json(r->ctx, run, "defs", &made, &why);
    cbx_json_unref(run);
    if (st == CBX_ENOMEM) cbx__read_made(r, NULL);
    if (st) cbx__read_fault(r, "'%s': %.200s", name, why.message);
    for (size_t i = 0; !r->st && i < cbx_run_nmetric_defs(made); i++) {
        const cbx_metric_def *d = cbx_run_metric_def(made, i);
        defs[i] = *d;
        defs[i].name = kept(r, d->name);
        defs[i].unit = kept(r, d->unit);
        defs[i].group = kept(r, d->group ? d->group : "");
        defs[i].description = kept(r, d->description ? d->description : "");
    }
    cbx_run_free(made);
}

#define PLACE(member)      offsetof(cbx_benchmark_command, member)
#define COUNT_BEHIND(a, n) _Static_assert(PLACE(n) - PLACE(a) == sizeof(void *), "a pointer and its count")
COUNT_BEHIND(environment, nenvironment);
COUNT_BEHIND(tags, ntags);
COUNT_BEHIND(defs, ndefs);
COUNT_BEHIND(targets, ntargets);

static const cbx__member members[] = {
    { "name", cbx__read_text, PLACE(name), true },
    { "domain", read_domain, PLACE(domain), false },
    { "command", read_argv, PLACE(argv), true },
    { "setup", read_argv, PLACE(setup), false },
    { "teardown", read_argv, PLACE(teardown), false },
    { "folder", read_folder, PLACE(folder), false },
    { "environment", read_pairs, PLACE(environment), false },
    { "metrics", read_metrics, PLACE(metrics), false },
    { "warmup", read_count, PLACE(warmup), false },
    { "tags", read_pairs, PLACE(tags), false },
    { "metric_defs", read_defs, PLACE(defs), false },
    { "targets", read_targets, PLACE(targets), false },
};

cbx_status cbx_benchmark_commands_parse(cbx_ctx *ctx, const char *text, size_t len, const char *what,
                                        const char *folder, cbx_arena *arena, const cbx_benchmark_command **out,
                                        size_t *count, cbx_err *err)
{
    cbx__reader r = { .ctx = ctx, .arena = arena, .what = what, .err = err };
    cbx_benchmark_command *commands = NULL;
    cbx_json *file = NULL;
    const char *schema;
    size_t n = 0;

    r.folder = kept(&r, folder);
    if (!r.st) r.st = cbx_json_parse(text, len, what, &file, err);
    if (r.st) return r.st;
    schema = cbx_json_get_string(file, "schema", "");
    if (strcmp(schema, "nperf-case") == 0)
        r.st = cbx_fail(err, CBX_EFORMAT, "'%s' is a case file: measure it with 'nperf --define'", what);
    else if (strcmp(schema, CBX_COMMANDS_SCHEMA) != 0)
        r.st = cbx_fail(err, CBX_EFORMAT, "'%s' is not a file of benchmarks: its schema must be '%s'", what,
                        CBX_COMMANDS_SCHEMA);
    else if (cbx_json_get_int(file, "version", 0) != CBX_COMMANDS_SCHEMA_VERSION)
        r.st = cbx_fail(err, CBX_EVERSION, "'%s' is not of version %d of '%s'", what, CBX_COMMANDS_SCHEMA_VERSION,
                        CBX_COMMANDS_SCHEMA);
    const cbx_json *all = cbx__read_list(&r, file, "benchmarks", 1, SIZE_MAX, &n);
    if (!r.st) commands = cbx__read_made(&r, cbx_arena_calloc(arena, n, sizeof *commands));
    for (size_t i = 0; i < n && !r.st; i++) {
        cbx__read_at(&r, "benchmarks", i);
        cbx__read_members(&r, cbx_json_at(all, i), members, CBX_LEN(members), &commands[i]);
        if (!commands[i].folder && r.folder[0]) commands[i].folder = r.folder;
    }
    cbx_json_unref(file);
    if (r.st) return r.st;
    *out = commands;
    *count = n;
    return CBX_OK;
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
