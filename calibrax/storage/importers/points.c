/*
 * The point under construction: its tags, its metrics and their definitions, and that a point may stand twice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/core/point_index.h"
#include "calibrax/storage/importers/job.h"

const cbx__import_def cbx__import_time = { "time", "s", CBX_DIRECTION_LOWER, CBX_PRIORITY_PRIMARY };

static const char *kept(cbx__import_job *job, const char *s) { return cbx__import_strndup(job, s, strlen(s)); }

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
    if (!value || !cbx__import_grow(job, &job->tags, job->ntags, &job->tags_room, sizeof(*job->tags))) return;
    for (size_t i = 0; i < job->ntags; i++) {
        if (!strcmp(job->tags[i].key, key)) {
            cbx__import_fail(job, CBX_EFORMAT, "'%s' of '%s' stands twice", key, job->point.name);
            return;
        }
    }
    job->tags[job->ntags++] = (cbx_tag){ kept(job, key), kept(job, value) };
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
    cbx_text_init(&text, &job->passing.al);
    cbx_json_write(value, CBX_JSON_COMPACT, &text);
    if (text.status) cbx__import_no_memory(job);
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
    cbx__import_run *run = job->run;
    size_t known = run->defs.n, at = cbx_names_add(&run->defs, def->metric);

    if (at == CBX_NO_NAME) cbx__import_no_memory(job);
    if (at < known || at == CBX_NO_NAME) return;
    cbx__import_take(job, cbx_run_builder_add_metric_def(run->builder, &d, &job->inner));
}

void cbx__import_metric_with(cbx__import_job *job, const cbx__import_def *def, cbx_metric m, const cbx__samples *s)
{
    if (!job->run || !cbx__import_grow(job, &job->metrics, job->nmetrics, &job->metrics_room, sizeof(*job->metrics)) ||
        !cbx__import_grow(job, &job->waiting, job->nmetrics, &job->waiting_room, sizeof(*job->waiting)))
        return;
    define(job, def);
    m.samples = s->values;
    m.nsamples = s->n;
    job->waiting[job->nmetrics] = (cbx__waiting){ s->places, s->nplaces, CBX__SAMPLES_BLOCK };
    job->metrics[job->nmetrics++] = (cbx_named_metric){ kept(job, def->metric), m };
}

void cbx__import_metric(cbx__import_job *job, const cbx__import_def *def, cbx_metric m)
{
    const cbx__samples own = { .values = (double *)(uintptr_t)m.samples, .n = m.nsamples };

    cbx__import_metric_with(job, def, m, &own);
}

void cbx__import_metric_samples(cbx__import_job *job, const cbx__import_def *def, const cbx__samples *s)
{
    if (s->n) cbx__import_metric_with(job, def, cbx_metric_of(cbx__import_median(job, s)), s);
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

/* --- the end of a point --- */

/* Where points go: into the run, or as text to the disk. */
static void put_point(cbx__import_job *job)
{
    cbx__import_run *run = job->run;

    if (job->scratch)
        cbx__import_take(job, cbx__spooled_add(&run->spooled, job->scratch, &job->point, job->waiting, &job->inner));
    else
        cbx__import_take(job, cbx_run_builder_add_point(run->builder, &job->point, &job->inner));
    run->npoints++;
}

void cbx__import_point_end(cbx__import_job *job)
{
    char number[24];
    unsigned count;

    if (job->status || !job->nmetrics || !job->run) return;
    if (job->ntags) qsort(job->tags, job->ntags, sizeof(*job->tags), cbx_tag_compare);
    job->point.tags = job->tags;
    job->point.ntags = job->ntags;
    count = cbx__seen_count(&job->run->seen, cbx_ctx_allocator(job->ctx), cbx_point_hash(&job->point, NULL));
    if (!count) cbx__import_no_memory(job);
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
    put_point(job);
}
