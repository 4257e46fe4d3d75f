/*
 * The job of an importer: its first fault and its notes, the runs and the point under construction.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/core/point_index.h"
#include "calibrax/storage/importers/importer.h"

#define NOTES_MAX 10000

/* A run under construction. */
typedef struct import_run {
    cbx_run_builder *builder;
    cbx_run *whole; /* instead of a builder */
    cbx_names defs; /* metrics that are defined */
    cbx_table seen; /* how many points of a hash there are */
} import_run;

struct cbx__import_job {
    cbx_ctx *ctx;
    const cbx__importer *importer;
    cbx__import_source *src;
    const cbx_import_opts *opts;
    cbx_import *out;
    cbx_err *err;
    cbx_err why;       /* of the builder that was called last */
    cbx_status status; /* of the first fault */
    char at[160];
    cbx_arena arena;      /* everything that the job returns */
    cbx_allocator al;     /* of that arena */
    cbx_allocator out_al; /* of the import's arena */
    CBX_LIST(cbx_import_note) notes;
    char *next_line;
    size_t line;

    CBX_LIST(import_run) runs;
    size_t run;     /* that points go to */
    cbx_names keys; /* of runs, in the order of runs behind the first */

    cbx_point point;
    CBX_LIST(cbx_tag) tags;
    CBX_LIST(cbx_named_metric) metrics;
};

/* --- faults and notes --- */

const cbx__import_source *cbx__import_source_of(const cbx__import_job *job) { return job->src; }
cbx_ctx *cbx__import_ctx(const cbx__import_job *job) { return job->ctx; }
bool cbx__import_failed(const cbx__import_job *job) { return job->status != CBX_OK; }
cbx_allocator cbx__import_allocator(cbx__import_job *job) { return job->al; }

void cbx__import_at(cbx__import_job *job, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(job->at, sizeof(job->at), fmt, args);
    va_end(args);
}

void cbx__import_fail(cbx__import_job *job, cbx_status status, const char *fmt, ...)
{
    char message[CBX_ERR_MESSAGE_SIZE];
    va_list args;

    if (job->status) return;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    job->status = cbx_fail(job->err, status, "'%s': %s%s%s%s", job->src->what, *job->at ? "`" : "", job->at,
                           *job->at ? "`: " : "", message);
}

void cbx__import_check(cbx__import_job *job, cbx_status status, const cbx_err *err)
{
    if (status && !job->status) job->status = cbx_fail(job->err, status, "%s", err->message);
}

static void no_memory(cbx__import_job *job)
{
    if (!job->status) job->status = cbx_fail(job->err, CBX_ENOMEM, "out of memory while reading '%s'", job->src->what);
}

/* What a builder refuses is a fault of the file. */
static void take(cbx__import_job *job, cbx_status st)
{
    if (st == CBX_ENOMEM)
        no_memory(job);
    else if (st)
        cbx__import_fail(job, st == CBX_EINVAL ? CBX_EFORMAT : st, "%s", job->why.message);
}

void cbx__import_note(cbx__import_job *job, const char *entry, const char *fmt, ...)
{
    char message[CBX_ERR_MESSAGE_SIZE];
    va_list args;

    if (job->status) return;
    if (job->notes.n >= NOTES_MAX) {
        job->out->nnotes_left_out++;
        return;
    }
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    cbx_import_note note = { cbx_arena_strdup(&job->out->arena, entry), cbx_arena_strdup(&job->out->arena, message) };
    if (!note.entry || !note.message || !cbx_list_push(&job->out_al, &job->notes, note)) no_memory(job);
    job->out->notes = job->notes.items;
    job->out->nnotes = job->notes.n;
}

char *cbx__import_strndup(cbx__import_job *job, const char *s, size_t n)
{
    char *copy = job->status || !s ? NULL : cbx_arena_strndup(&job->arena, s, n);

    if (!copy) no_memory(job);
    return copy;
}

char *cbx__import_printf(cbx__import_job *job, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    char *text = job->status ? NULL : cbx_arena_vprintf(&job->arena, fmt, args);
    va_end(args);
    if (!text) no_memory(job);
    return text;
}

/* --- lines --- */

char *cbx__import_line(cbx__import_job *job)
{
    char *line = job->next_line,
         *end = line ? memchr(line, '\n', (size_t)(job->src->text + job->src->len - line)) : NULL;
    char *stop = end ? end : job->src->text + job->src->len;

    if (job->status || (!end && line == stop)) return NULL;
    job->next_line = end ? end + 1 : stop;
    *stop = '\0';
    if (stop > line && stop[-1] == '\r') stop[-1] = '\0';
    cbx__import_at(job, "line %zu", ++job->line);
    return line;
}

size_t cbx__import_cells(char *line, const char **cells, size_t max)
{
    size_t n = 0;

    while (n < max) {
        char *to = line;
        cells[n++] = to;
        if (*line == '"') {
            for (line++; *line && (*line != '"' || line[1] == '"'); line++) {
                *to++ = *line;
                line += *line == '"';
            }
            line += *line == '"';
        } else {
            to += strcspn(line, ",");
        }
        line += strcspn(line, ",");
        if (!*line) {
            *to = '\0';
            break;
        }
        line++;
        *to = '\0';
    }
    return n;
}

bool cbx__import_mentions(const cbx__import_source *src, const char *part) { return strstr(src->text, part) != NULL; }

bool cbx__import_has_line(const cbx__import_source *src, const char *start)
{
    size_t n = strlen(start);

    for (const char *at = src->text; (at = strstr(at, start)) != NULL; at += n)
        if (at == src->text || at[-1] == '\n') return true;
    return false;
}

/* --- runs --- */

static import_run *run_of(cbx__import_job *job) { return job->status ? NULL : &job->runs.items[job->run]; }

cbx_run_builder *cbx__import_builder(cbx__import_job *job) { return job->status ? NULL : run_of(job)->builder; }

/* Takes what it is given. */
static void add_run(cbx__import_job *job, cbx_run_builder *builder, cbx_run *whole)
{
    import_run r = { .builder = builder, .whole = whole };

    cbx_names_init(&r.defs, cbx_ctx_allocator(job->ctx));
    cbx_table_init(&r.seen, cbx_ctx_allocator(job->ctx));
    if (!job->status && cbx_list_push(&job->al, &job->runs, r)) return;
    no_memory(job);
    cbx_run_builder_free(builder);
    cbx_run_free(whole);
}

/* Another run, which points go to from now on. */
static void begin_run(cbx__import_job *job)
{
    cbx_run_opts opts = CBX_RUN_OPTS_INIT;
    cbx_run_builder *builder = NULL;

    if (job->status) return;
    opts.no_vcs = opts.no_machine = opts.no_versions = true;
    take(job, cbx_run_builder_create(job->ctx, &opts, &builder, &job->why));
    add_run(job, builder, NULL);
    job->run = job->runs.n ? job->runs.n - 1 : 0;
    cbx__import_run_time(job, job->opts->timestamp_us ? job->opts->timestamp_us : job->src->modified_us);
    cbx__import_run_commit(job, NULL, NULL);
    if (!job->status)
        take(job, cbx_run_builder_set_metadata(run_of(job)->builder, "import_format",
                                               cbx_json_new_string(job->importer->name), &job->why));
}

bool cbx__import_run_for(cbx__import_job *job, const char *key)
{
    size_t known = job->keys.n, number = job->status ? CBX_NO_NAME : cbx_names_add(&job->keys, key);

    if (number == CBX_NO_NAME) {
        no_memory(job);
        return false;
    }
    job->run = number + 1; /* the first run is the one without a key */
    if (number < known) return false;
    begin_run(job);
    return !job->status;
}

void cbx__import_run_time(cbx__import_job *job, int64_t us)
{
    if (!job->status) take(job, cbx_run_builder_set_timestamp(run_of(job)->builder, us, &job->why));
}

void cbx__import_run_iso(cbx__import_job *job, const char *iso)
{
    int64_t us = 0;

    if (!iso || job->status) return;
    if (cbx_time_parse_iso(iso, &us, NULL))
        cbx__import_note(job, "time", "'%s' is not a time that can be read: the time of the file is used instead", iso);
    else
        cbx__import_run_time(job, us);
}

void cbx__import_run_commit(cbx__import_job *job, const char *commit, const char *branch)
{
    const char *c = commit && *commit ? commit : job->opts->commit, *b = branch && *branch ? branch : job->opts->branch;

    if (!job->status) take(job, cbx_run_builder_set_commit(run_of(job)->builder, c, b, &job->why));
}

void cbx__import_run_metadata(cbx__import_job *job, const char *key, const cbx_json *value)
{
    if (value && !job->status)
        take(job, cbx_run_builder_set_metadata(run_of(job)->builder, key, cbx_json_copy(value), &job->why));
}

void cbx__import_run_environment(cbx__import_job *job, const char *key, const cbx_json *value)
{
    if (value && !job->status)
        take(job, cbx_run_builder_set_environment(run_of(job)->builder, key, cbx_json_copy(value), &job->why));
}

void cbx__import_run_whole(cbx__import_job *job, cbx_run *run) { add_run(job, NULL, run); }

/* --- points --- */

const cbx__import_def cbx__import_time = CBX__DEF("time", "s", LOWER, PRIMARY);

void cbx__import_point_begin(cbx__import_job *job, const char *name, const char *scenario)
{
    job->point = (cbx_point){ .name = name, .scenario = scenario ? scenario : "" };
    job->tags.n = job->metrics.n = 0;
    if (!name) cbx__import_fail(job, CBX_EFORMAT, "a benchmark without a name");
}

void cbx__import_tag(cbx__import_job *job, const char *key, const char *value)
{
    if (value && !job->status && !cbx_list_push(&job->al, &job->tags, (cbx_tag){ key, value })) no_memory(job);
}

void cbx__import_tag_json(cbx__import_job *job, const char *key, const cbx_json *value)
{
    const char *word = cbx_json_string_value(value);
    cbx_text text;

    if (!value || job->status) return;
    if (word) {
        cbx__import_tag(job, key, word);
        return;
    }
    cbx_text_init(&text, &job->al);
    cbx_json_write(value, CBX_JSON_COMPACT, &text);
    if (text.status) no_memory(job);
    cbx__import_tag(job, key, cbx_text_str(&text));
}

void cbx__import_tags_of(cbx__import_job *job, const cbx_json *object)
{
    const char *key;
    cbx_json *value;

    for (size_t i = 0; cbx_json_member(object, i, &key, &value); i++) cbx__import_tag_json(job, key, value);
}

void cbx__import_metric(cbx__import_job *job, const cbx__import_def *def, cbx_metric m)
{
    const cbx_metric_def d = { def->metric, def->unit, def->direction, "", def->priority, "" };
    import_run *run = run_of(job);
    cbx_named_metric named = { NULL, m };

    if (!run) return;
    size_t known = run->defs.n;
    size_t at = cbx_names_add(&run->defs, def->metric);
    if (at == CBX_NO_NAME) {
        no_memory(job);
        return;
    }
    if (at == known) take(job, cbx_run_builder_add_metric_def(run->builder, &d, &job->why));
    named.name = run->defs.list[at];
    if (!job->status && !cbx_list_push(&job->al, &job->metrics, named)) no_memory(job);
}

void cbx__import_metric_with(cbx__import_job *job, const cbx__import_def *def, cbx_metric m, const cbx__samples *s)
{
    m.samples = s->items;
    m.nsamples = s->n;
    cbx__import_metric(job, def, m);
}

void cbx__import_metric_samples(cbx__import_job *job, const cbx__import_def *def, const cbx__samples *s)
{
    if (s->n) cbx__import_metric_with(job, def, cbx_metric_of(cbx__import_median(job, s)), s);
}

const cbx__import_field *cbx__import_find(const cbx__import_field *fields, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(fields[i].key, key)) return &fields[i];
    return NULL;
}

void cbx__import_fields(cbx__import_job *job, const cbx_json *object, const cbx__import_field *fields, size_t n)
{
    for (size_t i = 0; i < n && !job->status; i++) {
        if (!cbx_json_get(object, fields[i].key)) continue;
        cbx__import_metric(job, &fields[i].def,
                           cbx_metric_of(cbx__import_number(job, object, fields[i].key) * fields[i].scale));
    }
}

void cbx__import_spread(cbx__import_job *job, const cbx_json *object)
{
    static const char *const names[][2] = { { "mean", "time_mean" }, { "stddev", "time_stddev" }, { "min", "time_min" },
                                            { "max", "time_max" },   { "q1", "time_q1" },         { "q3", "time_q3" } };

    for (size_t i = 0; i < CBX_LEN(names); i++) {
        const cbx__import_field f = { names[i][0], CBX__DEF(names[i][1], "s", INFO, SECONDARY), 1 };
        cbx__import_fields(job, object, &f, 1);
    }
}

void cbx__import_point_end(cbx__import_job *job)
{
    import_run *run = run_of(job);

    if (!run || !job->metrics.n) return;
    if (job->tags.n) qsort(job->tags.items, job->tags.n, sizeof *job->tags.items, cbx_tag_compare);
    for (size_t i = 1; i < job->tags.n; i++)
        if (!strcmp(job->tags.items[i - 1].key, job->tags.items[i].key))
            cbx__import_fail(job, CBX_EFORMAT, "'%s' of '%s' is listed twice", job->tags.items[i].key, job->point.name);
    job->point.tags = job->tags.items;
    job->point.ntags = job->tags.n;
    uint64_t hash = cbx_point_hash(&job->point, NULL);
    size_t *count = cbx_table_find(&run->seen, hash, NULL, NULL, NULL);
    if (count) {
        cbx__import_tag(job, "repeat", cbx__import_printf(job, "%zu", ++*count));
        cbx__import_note(job, job->point.name, "is listed %zu times; this one has the tag repeat=%zu", *count, *count);
    } else if (!cbx_table_add(&run->seen, hash, 1)) {
        no_memory(job);
    }
    job->point.tags = job->tags.items;
    job->point.ntags = job->tags.n;
    job->point.metrics = job->metrics.items;
    job->point.nmetrics = job->metrics.n;
    if (!job->status) take(job, cbx_run_builder_add_point(run->builder, &job->point, &job->why));
}

/* --- the runs are done --- */

/* Gives a run its id: twelve digits from the text, the options that change it, and its number in
 * the file. */
static cbx_status freeze(cbx__import_job *job, cbx_run_builder *b, cbx_run **out)
{
    const char *commit = job->opts->commit, *branch = job->opts->branch;
    const char *text = cbx__import_printf(job, "%s|%s|%s|%s|%zu", job->src->digest, job->importer->name,
                                          commit ? commit : "", branch ? branch : "", job->out->nruns);
    char id[CBX_HASH_SIZE];

    if (!text) return job->status;
    cbx_hash_bytes(text, strlen(text), id);
    id[12] = '\0';
    cbx_status st = cbx_run_builder_set_id(b, id, &job->why);
    return st ? st : cbx_run_builder_freeze(b, out, &job->why);
}

/* Adds the machine of the options to a run that names none. */
static cbx_status name_machine(cbx__import_job *job, cbx_run **run)
{
    cbx_run_builder *b = NULL;
    cbx_run *named = NULL;

    if (!job->opts->machine || cbx_json_get_string(cbx_run_environment(*run), "machine", NULL)) return CBX_OK;
    cbx_status st = cbx_run_builder_from(job->ctx, *run, &b, &job->why);
    if (!st) st = cbx_run_builder_set_environment(b, "machine", cbx_json_new_string(job->opts->machine), &job->why);
    if (!st) st = cbx_run_builder_freeze(b, &named, &job->why);
    cbx_run_builder_free(b);
    if (st) return st;
    cbx_run_free(*run);
    *run = named;
    return CBX_OK;
}

/* Runs without points are left out, unless the file is a run without points. */
static void finish(cbx__import_job *job)
{
    cbx_import *out = job->out;

    out->runs = cbx_arena_calloc(&out->arena, job->runs.n, sizeof *out->runs);
    if (!out->runs) no_memory(job);
    for (size_t i = 0; i < job->runs.n && !job->status; i++) {
        import_run *r = &job->runs.items[i];
        cbx_run *run = r->whole;
        if (r->builder) take(job, freeze(job, r->builder, &run));
        if (run && !r->whole && !cbx_run_npoints(run)) {
            cbx_run_free(run);
            continue;
        }
        r->whole = NULL;
        if (run) take(job, name_machine(job, &run));
        if (run) out->runs[out->nruns++] = run;
    }
    if (job->status || out->nruns) return;
    if (out->nnotes)
        cbx__import_fail(job, CBX_EFORMAT, "holds no measurement: '%s': %s", out->notes[0].entry,
                         out->notes[0].message);
    else
        cbx__import_fail(job, CBX_EFORMAT, "holds no measurement (read as %s)", job->importer->name);
}

cbx_status cbx__import_read(cbx_ctx *ctx, const cbx__importer *importer, cbx__import_source *src,
                            const cbx_import_opts *opts, cbx_import *out, cbx_err *err)
{
    cbx__import_job job = {
        .ctx = ctx, .importer = importer, .src = src, .opts = opts, .out = out, .err = err, .why = CBX_ERR_INIT
    };
    const cbx_allocator *al = cbx_ctx_allocator(ctx);

    cbx_arena_init(&job.arena, al);
    job.al = cbx_arena_allocator(&job.arena);
    job.out_al = cbx_arena_allocator(&out->arena);
    job.next_line = src->text;
    cbx_names_init(&job.keys, al);
    out->format = importer->name;
    begin_run(&job);
    if (!job.status) importer->read(&job);
    job.at[0] = '\0';
    finish(&job);
    for (size_t i = 0; i < job.runs.n; i++) {
        cbx_run_builder_free(job.runs.items[i].builder);
        cbx_run_free(job.runs.items[i].whole);
        cbx_names_clear(&job.runs.items[i].defs);
        cbx_table_clear(&job.runs.items[i].seen);
    }
    cbx_names_clear(&job.keys);
    cbx_arena_clear(&job.arena);
    return job.status;
}
