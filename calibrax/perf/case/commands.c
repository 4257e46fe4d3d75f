/*
 * Case files of commands: the members of a baseline, its texts with the values of a point, and each
 * baseline at each point as a benchmark of `calibrax run`.
 */
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/json_put.h"
#include "calibrax/base/process.h"
#include "calibrax/base/text_keep.h"
#include "calibrax/core/owned.h"
#include "calibrax/core/run.h"
#include "calibrax/perf/case/declared_internal.h"

/* --- the members of a baseline --- */

/* A copy in the arena, of text that may be empty. */
static const char *kept(cbx__reader *r, const char *s) { return cbx__read_made(r, cbx_arena_strdup(r->arena, s)); }

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

static void read_metrics(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    static const char *const words[] = { "auto", "stdout", "none" };
    const size_t i = CBX_WORD_AT(words, cbx_json_string_value(v));

    if (i == CBX_LEN(words)) cbx__read_fault(r, "'%s' must be 'auto', 'stdout' or 'none'", name);
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

static bool is_variable(const char *s)
{
    bool right = *s && !isdigit((unsigned char)*s);

    for (; *s; s++) right = right && (isalnum((unsigned char)*s) || *s == '_');
    return right;
}

static void read_environment(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    const cbx_tag *pairs;
    size_t n;

    read_pairs(r, name, v, out);
    memcpy(&pairs, out, sizeof pairs);
    memcpy(&n, (char *)out + sizeof pairs, sizeof n);
    for (size_t i = 0; i < n && !r->st; i++)
        if (!is_variable(pairs[i].key)) cbx__read_fault(r, "'%.60s' is not the name of a variable", pairs[i].key);
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
    cbx_json *value;
    CBX_OWNED(cbx_run) *made = NULL;
    cbx_err why = CBX_ERR_INIT;
    const char *key;

    if (r->st) return;
    CBX_OWNED(cbx_json) *run = cbx_json_object(J_TEXT("id", "defs"), J_TEXT("timestamp", "2000-01-01T00:00:00+00:00"),
                                               J_JSON("points", cbx_json_new_array()),
                                               J_JSON("metric_defs", cbx_json_copy(v)));
    cbx_json *whole = cbx_json_get(run, "metric_defs");
    for (size_t i = 0; cbx_json_member(whole, i, &key, &value); i++) {
        if (cbx_json_typeof(value) != CBX_JSON_OBJECT) continue;
        if (!cbx_json_has(value, "name")) cbx_json_set_string(value, "name", key);
        if (!cbx_json_has(value, "unit")) cbx_json_set_string(value, "unit", "");
    }
    cbx_status st = cbx_json_check(run, &why);
    if (!st) st = cbx_run_from_json(r->ctx, run, "defs", &made, &why);
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
}

#define PLACE(member)      offsetof(cbx__declared_entry, member)
#define COUNT_BEHIND(a, n) _Static_assert(PLACE(run.n) - PLACE(run.a) == sizeof(void *), "a pointer and its count")
COUNT_BEHIND(environment, nenvironment);
COUNT_BEHIND(tags, ntags);
COUNT_BEHIND(defs, ndefs);
COUNT_BEHIND(targets, ntargets);

const cbx__member cbx__command_members[] = {
    { "name", cbx__read_name, PLACE(name), true },
    { "summary", cbx__read_text, PLACE(summary), false },
    { "slow", cbx__read_text, PLACE(slow), false },
    { "command", read_argv, PLACE(run.argv), true },
    { "prepare", read_argv, PLACE(run.setup), false },
    { "conclude", read_argv, PLACE(run.teardown), false },
    { "environment", read_environment, PLACE(run.environment), false },
    { "scenario", cbx__read_text, PLACE(run.domain), false },
    { "metrics", read_metrics, PLACE(run.metrics), false },
    { "warmup", read_count, PLACE(run.warmup), false },
    { "tags", read_pairs, PLACE(run.tags), false },
    { "metric_defs", read_defs, PLACE(run.defs), false },
    { "targets", read_targets, PLACE(run.targets), false },
};
const size_t cbx__command_nmembers = CBX_LEN(cbx__command_members);

/* --- texts at a point --- */

static const char *value_of(const cbx_declared *d, const cbx_params *point, const char *name, size_t len, char buf[32])
{
    if (len == 4 && !strncmp(name, "case", 4)) return d->folder;
    const cbx_param_def *def = cbx__declared_param(d, name, len);
    if (!def) return NULL;
    if (def->kind == CBX_PARAM_WORD) return cbx_params_word(point, def->name);
    snprintf(buf, 32, "%lld", (long long)cbx_params_int(point, def->name));
    return buf;
}

const char *cbx__declared_text(const cbx_declared *d, const cbx_params *point, const char *text, cbx_arena *arena)
{
    cbx_text t;

    cbx_text_init(&t, &arena->al);
    while (*text) {
        const char *end = *text == '{' ? strchr(text, '}') : NULL;
        char buf[32];
        const char *value = end ? value_of(d, point, text + 1, (size_t)(end - text) - 1, buf) : NULL;
        if (value)
            cbx_text_puts(&t, value);
        else
            cbx_text_putc(&t, *text);
        text = value ? end + 1 : text + 1;
    }
    return cbx__text_keep(&t, arena);
}

/* Of a line for the shell, the line; of words, the words in quotes. */
const char *cbx__declared_line(const cbx_declared *d, const cbx_params *point, const char *const *argv,
                               cbx_arena *arena)
{
    cbx_text t;

    if (!strcmp(argv[0], "sh") && argv[1] && !strcmp(argv[1], "-c") && argv[2] && !argv[3])
        return cbx__declared_text(d, point, argv[2], arena);
    cbx_text_init(&t, &arena->al);
    for (size_t i = 0; argv[i] && !t.status; i++) {
        const char *word = cbx__declared_text(d, point, argv[i], arena);
        if (i) cbx_text_putc(&t, ' ');
        if (word)
            cbx__put_quoted(&t, word);
        else
            t.status = CBX_ENOMEM;
    }
    return cbx__text_keep(&t, arena);
}

const cbx_command_check *cbx__declared_checks(const cbx_declared *d, const cbx_params *point, cbx_arena *arena)
{
    cbx_command_check *out = cbx_arena_calloc(arena, d->nchecks + 1, sizeof *out);

    for (size_t i = 0; out && i < d->nchecks; i++) {
        const char **texts[] = { &out[i].command, &out[i].file, &out[i].same_as, &out[i].numbers };
        out[i] = d->checks[i];
        for (size_t k = 0; k < CBX_LEN(texts); k++)
            if (*texts[k] && !(*texts[k] = cbx__declared_text(d, point, *texts[k], arena))) return NULL;
    }
    return out;
}

/* --- benchmarks --- */

static const char *const *words_of(const cbx_declared *d, const cbx_params *point, const char *const *argv,
                                   cbx_arena *arena)
{
    size_t n = 0;

    while (argv[n]) n++;
    const char **out = cbx_arena_calloc(arena, n + 1, sizeof *out);
    for (size_t i = 0; i < n && out; i++)
        if (!(out[i] = cbx__declared_text(d, point, argv[i], arena))) out = NULL;
    return out;
}

bool cbx__declared_before(const cbx_declared *d, const cbx_params *point, bool setup, const char *const *own,
                          cbx_arena *arena, const char **out)
{
    const char *const lines[] = { setup ? d->setup : NULL, d->prepare }, *all = NULL, *line;

    for (size_t i = 0; i <= CBX_LEN(lines); i++) {
        if (i < CBX_LEN(lines) ? !lines[i] : !own) continue;
        line = i < CBX_LEN(lines) ? cbx__declared_text(d, point, lines[i], arena)
                                  : cbx__declared_line(d, point, own, arena);
        if (!line) return false;
        all = all ? cbx_arena_printf(arena, "%s && (%s\n)", all, line) : cbx_arena_printf(arena, "(%s\n)", line);
        if (!all) return false;
    }
    *out = all;
    return true;
}

/* Words to run before each launch; *out stays NULL where there are none.  @return false: out
 * of memory */
static bool before(const cbx_declared *d, const cbx_params *point, const char *const *own, cbx_arena *arena,
                   const char *const **out)
{
    const char *line = NULL;

    if (own && !d->setup && !d->prepare) return (*out = words_of(d, point, own, arena)) != NULL;
    if (!cbx__declared_before(d, point, true, own, arena, &line)) return false;
    if (!line) return true;
    const char **shell = cbx_arena_calloc(arena, 4, sizeof *shell);
    if (!shell) return false;
    shell[0] = "sh", shell[1] = "-c", shell[2] = line;
    *out = shell;
    return true;
}

/* The parameters of the point, then the baseline's own tags.  @return false: out of memory */
static bool tags_of(const cbx_declared *d, const cbx_params *point, cbx_arena *arena, cbx_benchmark_command *c)
{
    const size_t n = d->ops.nparams;
    cbx_tag *tags = cbx_arena_calloc(arena, n + c->ntags, sizeof *tags);

    if (!tags) return false;
    for (size_t i = 0; i < n; i++) {
        char buf[32];
        const char *name = d->params[i].name, *value = value_of(d, point, name, strlen(name), buf);
        tags[i] = (cbx_tag){ cbx_arena_strdup(arena, name), value ? cbx_arena_strdup(arena, value) : NULL };
        if (!tags[i].key || !tags[i].value) return false;
    }
    if (c->ntags) memcpy(tags + n, c->tags, c->ntags * sizeof *tags);
    c->tags = tags;
    c->ntags += n;
    return true;
}

static bool benchmark_of(const cbx_declared *d, const cbx_params *point, size_t i, cbx_arena *arena,
                         cbx_benchmark_command *c)
{
    const char *const *own = d->commands[i].setup, *const *after = d->commands[i].teardown;
    char label[128];

    *c = d->commands[i];
    c->setup = NULL;
    d->ops.label(point, label, sizeof label);
    c->name = d->ops.nparams ? cbx_arena_printf(arena, "%s[%s]", d->baselines[i].name, label) : d->baselines[i].name;
    if (!c->domain) c->domain = d->ops.name;
    c->argv = words_of(d, point, c->argv, arena);
    if (after) c->teardown = words_of(d, point, after, arena);
    c->folder = d->where;
    c->new_folder = !d->where;
    c->checks = cbx__declared_checks(d, point, arena);
    c->nchecks = d->nchecks;
    return c->name && c->argv && (c->teardown || !after) && c->checks && before(d, point, own, arena, &c->setup) &&
           tags_of(d, point, arena, c);
}

cbx_status cbx__declared_benchmarks(cbx_ctx *ctx, const cbx_declared *d, cbx_arena *arena,
                                    const cbx_benchmark_command **out, size_t *count, cbx_err *err)
{
    const size_t n = d->ops.nbaselines;
    cbx_benchmark_command *all = cbx_arena_calloc(arena, d->ops.npoints * n, sizeof *all);
    cbx_status st = all ? CBX_OK : cbx_fail_nomem(err, "benchmarks");

    for (size_t k = 0; k < d->ops.npoints && !st; k++) {
        cbx_params *point = NULL;
        st = cbx_case_point(ctx, &d->ops, d->ops.points[k], "points", &point, err);
        for (size_t i = 0; i < n && !st; i++)
            if (!benchmark_of(d, point, i, arena, &all[k * n + i])) st = cbx_fail_nomem(err, "benchmarks");
        cbx_params_free(point);
    }
    if (st) return st;
    *out = all;
    *count = d->ops.npoints * n;
    return CBX_OK;
}

cbx_status cbx_benchmark_commands_read(cbx_ctx *ctx, const char *path, cbx_arena *arena,
                                       const cbx_benchmark_command **out, size_t *count, cbx_err *err)
{
    const cbx_allocator al = cbx_arena_allocator(arena); /* the case stays in the arena: the benchmarks refer to it */
    cbx_declared *d = NULL;
    cbx_status st = cbx__declared_read(ctx, path, &al, &d, err);

    if (st) return st;
    if (d->kind != CBX_DECLARED_COMMANDS)
        return cbx_fail(err, CBX_EINVAL, "'%s' is a case of Python functions: measure it with 'nperf --define %s'",
                        path, path);
    return cbx__declared_benchmarks(ctx, d, arena, out, count, err);
}
