/*
 * The job of an importer: the first fault, the run and the point under construction, and what came of the file.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/storage/importers/job.h"

const cbx__import_def cbx__import_time = { "time", "s", CBX_DIRECTION_LOWER, CBX_PRIORITY_PRIMARY };

/* --- faults and notes --- */

bool cbx__import_failed(const cbx__import_job *job) { return job->status != CBX_OK; }

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

void cbx__import_fail_whole(cbx__import_job *job, cbx_status status, const char *message)
{
    if (!job->status) job->status = cbx_fail(job->err, status, "%s", message);
}

static void no_memory(cbx__import_job *job)
{
    if (!job->status) job->status = cbx_fail(job->err, CBX_ENOMEM, "out of memory while reading '%s'", job->src->what);
}

/* What a builder refuses is a fault of the file. */
static void take(cbx__import_job *job, cbx_status st)
{
    char message[CBX_ERR_MESSAGE_SIZE];

    if (!st || job->status) return;
    snprintf(message, sizeof(message), "%s", job->inner.message);
    if (st == CBX_ENOMEM)
        no_memory(job);
    else
        cbx__import_fail(job, st == CBX_EINVAL ? CBX_EFORMAT : st, "%s", message);
}

/* Room for one more element of an array in the arena, whose pointer is at `slot`; false: the job has failed. */
static bool grow(cbx__import_job *job, void *slot, size_t n, size_t *room, size_t size)
{
    void *old, *more;
    size_t wanted = *room ? *room * 2 : 8;

    if (job->status) return false;
    if (n < *room) return true;
    more = cbx_arena_calloc(&job->out->arena, wanted, size);
    if (!more) {
        no_memory(job);
        return false;
    }
    memcpy(&old, slot, sizeof(old)); /* a pointer of any type */
    if (n) memcpy(more, old, n * size);
    memcpy(slot, &more, sizeof(more));
    *room = wanted;
    return true;
}

static const char *keep(cbx__import_job *job, const char *s)
{
    const char *copy = job->status ? NULL : cbx_arena_strdup(&job->out->arena, s);

    if (!copy) no_memory(job);
    return copy;
}

void cbx__import_note(cbx__import_job *job, const char *entry, const char *fmt, ...)
{
    char message[CBX_ERR_MESSAGE_SIZE];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    if (!grow(job, &job->notes, job->out->nnotes, &job->notes_room, sizeof(*job->notes))) return;
    job->notes[job->out->nnotes] = (cbx_import_note){ keep(job, entry), keep(job, message) };
    job->out->notes = job->notes;
    if (!job->status) job->out->nnotes++;
}

const cbx__import_source *cbx__import_source_of(const cbx__import_job *job) { return job->src; }
cbx_arena *cbx__import_arena(cbx__import_job *job) { return &job->out->arena; }

char *cbx__import_strndup(cbx__import_job *job, const char *s, size_t n)
{
    char *copy = job->status ? NULL : cbx_arena_strndup(&job->out->arena, s, n);

    if (!copy) no_memory(job);
    return copy;
}

char *cbx__import_printf(cbx__import_job *job, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n >= 0 && !job->status) text = cbx_arena_alloc(&job->out->arena, (size_t)n + 1);
    if (!text) {
        no_memory(job);
        return NULL;
    }
    va_start(args, fmt);
    vsnprintf(text, (size_t)n + 1, fmt, args);
    va_end(args);
    return text;
}

/* --- samples --- */

void cbx__import_sample(cbx__import_job *job, cbx__samples *s, double value)
{
    if (grow(job, &s->values, s->n, &s->room, sizeof(*s->values))) s->values[s->n++] = value;
}

/* Exactly, for the first and often only array: a file may hold ten million numbers. */
static void reserve_samples(cbx__import_job *job, cbx__samples *s, size_t n)
{
    if (s->room || !n || job->status) return;
    s->values = cbx_arena_calloc(&job->out->arena, n, sizeof(*s->values));
    if (s->values)
        s->room = n;
    else
        no_memory(job);
}

void cbx__import_samples(cbx__import_job *job, const cbx_json *array, const char *key, double scale, cbx__samples *s)
{
    reserve_samples(job, s, cbx_json_length(array));
    for (size_t i = 0; i < cbx_json_length(array) && !job->status; i++) {
        const cbx_json *v = cbx_json_at(array, i);
        if (v && !cbx__import_is_number(v))
            cbx__import_fail(job, CBX_EFORMAT, "element %zu of %s is no number", i, key);
        cbx__import_sample(job, s, v ? cbx_json_double_value(v) * scale : NAN);
    }
}

/* What a file asks us to read stands below its own folder. */
static const char *side_path(cbx__import_job *job, const char *name)
{
    const char *path = job->src->path, *slash = path ? strrchr(path, '/') : NULL;

    if (!path || *name == '/' || strstr(name, "..")) return NULL;
    return cbx__import_printf(job, "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, name);
}

static double float_at(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;
    uint32_t bits = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    float v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

void cbx__import_floats(cbx__import_job *job, const char *entry, const char *name, size_t n, cbx__samples *out)
{
    const char *path = side_path(job, name);
    char *bytes = NULL;
    size_t len = 0;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st;

    if (job->status) return;
    st = path ? cbx_file_read(job->ctx, path, 0, &bytes, &len, &why) : CBX_ENOENT;
    if (st == CBX_ENOMEM) no_memory(job);
    if (st || len / 4 != n || len % 4) {
        cbx__import_note(job, entry, "the %zu numbers of '%.200s' are not beside it", n, name);
    } else {
        reserve_samples(job, out, n);
        for (size_t i = 0; i < n && !job->status; i++) cbx__import_sample(job, out, float_at(bytes + 4 * i));
    }
    if (bytes) cbx_mem_free(cbx_ctx_allocator(job->ctx), bytes, len + 1);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double cbx__import_median(cbx__import_job *job, const cbx__samples *s)
{
    const cbx_allocator *al = cbx_ctx_allocator(job->ctx);
    double *sorted, median;

    if (!s->n || job->status) return NAN;
    for (size_t i = 0; i < s->n; i++)
        if (isnan(s->values[i])) return NAN;
    sorted = cbx_mem_calloc(al, s->n, sizeof(*sorted));
    if (!sorted) {
        no_memory(job);
        return NAN;
    }
    memcpy(sorted, s->values, s->n * sizeof(*sorted));
    qsort(sorted, s->n, sizeof(*sorted), ascending);
    median = s->n % 2 ? sorted[s->n / 2] : 0.5 * sorted[s->n / 2 - 1] + 0.5 * sorted[s->n / 2];
    cbx_mem_free(al, sorted, s->n * sizeof(*sorted));
    return median;
}

/* --- runs --- */

/* Twelve digits from the text, what was said of it, and the number of the run in it. */
static void name_run(cbx__import_job *job)
{
    char id[CBX_HASH_SIZE];
    cbx_text text;

    cbx_text_init(&text, &job->out->arena.al);
    cbx_text_printf(&text, "%s|%s|%s|%s|%zu", job->src->digest, job->importer->name,
                    job->opts->commit ? job->opts->commit : "", job->opts->branch ? job->opts->branch : "",
                    job->out->nruns);
    if (text.status) no_memory(job);
    cbx_hash_bytes(cbx_text_str(&text), text.len, id);
    cbx_text_clear(&text);
    id[12] = 0;
    if (!job->status) take(job, cbx_run_builder_set_id(job->run, id, &job->inner));
}

void cbx__import_run_begin(cbx__import_job *job)
{
    cbx_run_opts opts = CBX_RUN_OPTS_INIT;
    int64_t us = job->opts->timestamp_us ? job->opts->timestamp_us : job->src->modified_us;

    if (job->status) return;
    opts.no_vcs = opts.no_machine = opts.no_versions = true;
    job->npoints = job->ndefs = 0;
    job->seen_used = 0;
    if (job->seen) memset(job->seen, 0, job->seen_room * sizeof(*job->seen));
    take(job, cbx_run_builder_create(job->ctx, &opts, &job->run, &job->inner));
    if (job->status) return;
    name_run(job);
    cbx__import_run_time(job, us);
    cbx__import_run_commit(job, job->opts->commit, job->opts->branch);
    if (!job->status)
        take(job, cbx_run_builder_set_metadata(job->run, "import_format", cbx_json_new_string(job->importer->name),
                                               &job->inner));
}

void cbx__import_run_time(cbx__import_job *job, int64_t us)
{
    if (!job->status) take(job, cbx_run_builder_set_timestamp(job->run, us, &job->inner));
}

void cbx__import_run_iso(cbx__import_job *job, const char *iso)
{
    int64_t us = 0;

    if (!iso || job->status) return;
    if (cbx_time_parse_iso(iso, &us, NULL))
        cbx__import_note(job, "time", "'%s' is no time that can be read; the file's own time stands", iso);
    else
        cbx__import_run_time(job, us);
}

void cbx__import_run_commit(cbx__import_job *job, const char *commit, const char *branch)
{
    const char *c = commit && *commit ? commit : job->opts->commit, *b = branch && *branch ? branch : job->opts->branch;

    if (!job->status) take(job, cbx_run_builder_set_commit(job->run, c, b, &job->inner));
}

void cbx__import_run_metadata(cbx__import_job *job, const char *key, const cbx_json *value)
{
    if (value && !job->status)
        take(job, cbx_run_builder_set_metadata(job->run, key, cbx_json_copy(value), &job->inner));
}

void cbx__import_run_environment(cbx__import_job *job, const char *key, const cbx_json *value)
{
    if (value && !job->status)
        take(job, cbx_run_builder_set_environment(job->run, key, cbx_json_copy(value), &job->inner));
}

void cbx__import_run_whole(cbx__import_job *job, cbx_run *run)
{
    if (run && grow(job, &job->out->runs, job->out->nruns, &job->runs_room, sizeof(*job->out->runs)))
        job->out->runs[job->out->nruns++] = run;
    else
        cbx_run_free(run);
}

void cbx__import_run_end(cbx__import_job *job)
{
    cbx_run *run = NULL;

    if (!job->status && job->npoints) take(job, cbx_run_builder_freeze(job->run, &run, &job->inner));
    cbx_run_builder_free(job->run);
    job->run = NULL;
    if (run) cbx__import_run_whole(job, run);
}

/* --- points --- */

void cbx__import_point_begin(cbx__import_job *job, const char *name, const char *scenario)
{
    if (job->status) return;
    job->point = (cbx_point){ .name = name, .scenario = scenario ? scenario : "" };
    job->ntags = job->nmetrics = 0;
    if (!name) cbx__import_fail(job, CBX_EFORMAT, "a benchmark without a name");
}

void cbx__import_point_name(cbx__import_job *job, const char *name) { job->point.name = name; }

void cbx__import_tag(cbx__import_job *job, const char *key, const char *value)
{
    if (!value || !grow(job, &job->tags, job->ntags, &job->tags_room, sizeof(*job->tags))) return;
    for (size_t i = 0; i < job->ntags; i++) {
        if (!strcmp(job->tags[i].key, key)) {
            cbx__import_fail(job, CBX_EFORMAT, "'%s' of '%s' stands twice", key, job->point.name);
            return;
        }
    }
    job->tags[job->ntags++] = (cbx_tag){ keep(job, key), keep(job, value) };
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
    cbx_text_init(&text, &job->out->arena.al);
    cbx_json_write(value, CBX_JSON_COMPACT, &text);
    if (text.status) no_memory(job);
    cbx__import_tag(job, key, cbx_text_str(&text));
    cbx_text_clear(&text);
}

void cbx__import_tags_of(cbx__import_job *job, const cbx_json *object)
{
    const char *key;
    cbx_json *value;

    for (size_t i = 0; cbx_json_member(object, i, &key, &value); i++) cbx__import_tag_json(job, key, value);
}

/* The definition goes into the run when it is first needed. */
static void define(cbx__import_job *job, const cbx__import_def *def)
{
    const cbx_metric_def d = { def->metric, def->unit, def->direction, "", def->priority, "" };
    const char *name;

    for (size_t i = 0; i < job->ndefs; i++) {
        if (!strcmp(job->defs[i], def->metric)) return;
    }
    if (!grow(job, &job->defs, job->ndefs, &job->defs_room, sizeof(*job->defs))) return;
    name = keep(job, def->metric);
    if (!name) return;
    job->defs[job->ndefs++] = name;
    take(job, cbx_run_builder_add_metric_def(job->run, &d, &job->inner));
}

void cbx__import_metric(cbx__import_job *job, const cbx__import_def *def, cbx_metric m)
{
    if (!grow(job, &job->metrics, job->nmetrics, &job->metrics_room, sizeof(*job->metrics))) return;
    define(job, def);
    job->metrics[job->nmetrics++] = (cbx_named_metric){ keep(job, def->metric), m };
}

void cbx__import_metric_samples(cbx__import_job *job, const cbx__import_def *def, const cbx__samples *s)
{
    cbx_metric m = cbx_metric_of(cbx__import_median(job, s));

    if (!s->n) return;
    m.samples = s->values;
    m.nsamples = s->n;
    cbx__import_metric(job, def, m);
}

void cbx__import_fields(cbx__import_job *job, const cbx_json *object, const cbx__import_field *fields, size_t n)
{
    for (size_t i = 0; i < n && !job->status; i++) {
        double v;
        if (!cbx_json_get(object, fields[i].key)) continue;
        v = cbx__import_maybe_number(job, object, fields[i].key);
        cbx__import_metric(job, &fields[i].def, cbx_metric_of(v * fields[i].scale));
    }
}

/* --- points that stand twice: a table of hashes, and how often each was seen --- */

static uint64_t mix(uint64_t h, const char *s)
{
    do h = (h ^ (unsigned char)*s) * 0x100000001b3;
    while (*s++);
    return h;
}

static int by_key(const void *a, const void *b) { return strcmp(((const cbx_tag *)a)->key, ((const cbx_tag *)b)->key); }

static uint64_t hash_point(const cbx__import_job *job)
{
    uint64_t h = mix(mix(0xcbf29ce484222325, job->point.name), job->point.scenario);

    for (size_t i = 0; i < job->ntags; i++) h = mix(mix(h, job->tags[i].key), job->tags[i].value);
    return h ? h : 1;
}

static cbx__import_seen *seen_slot(cbx__import_seen *table, size_t room, uint64_t hash)
{
    size_t i = hash & (room - 1);

    while (table[i].hash && table[i].hash != hash) i = (i + 1) & (room - 1);
    return &table[i];
}

/* How often this point has been seen, this time included; 0: the job has failed. */
static unsigned count_point(cbx__import_job *job)
{
    cbx__import_seen *slot;

    if (job->seen_used * 2 >= job->seen_room) {
        size_t room = job->seen_room ? job->seen_room * 4 : 64;
        cbx__import_seen *more = cbx_arena_calloc(&job->out->arena, room, sizeof(*more));
        if (!more) {
            no_memory(job);
            return 0;
        }
        for (size_t i = 0; i < job->seen_room; i++) {
            if (job->seen[i].hash) *seen_slot(more, room, job->seen[i].hash) = job->seen[i];
        }
        job->seen = more;
        job->seen_room = room;
    }
    slot = seen_slot(job->seen, job->seen_room, hash_point(job));
    if (!slot->hash) job->seen_used++;
    slot->hash = hash_point(job);
    return ++slot->count;
}

void cbx__import_point_end(cbx__import_job *job)
{
    char number[24];
    unsigned count;

    if (job->status || !job->nmetrics) return;
    if (job->ntags) qsort(job->tags, job->ntags, sizeof(*job->tags), by_key);
    count = count_point(job);
    if (count > 1) {
        snprintf(number, sizeof(number), "%u", count);
        cbx__import_tag(job, "repeat", number);
        cbx__import_note(job, job->point.name, "stands %u times; this one has the tag repeat=%u", count, count);
    }
    if (job->status) return;
    job->point.tags = job->tags;
    job->point.ntags = job->ntags;
    job->point.metrics = job->metrics;
    job->point.nmetrics = job->nmetrics;
    take(job, cbx_run_builder_add_point(job->run, &job->point, &job->inner));
    job->npoints++;
}
