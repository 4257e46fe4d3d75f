/*
 * Points of our own run files on their way to the disk: one of ten million samples is never held, unless it says what is unknown here.
 */
#include <string.h>

#include "calibrax/storage/importers/job.h"

/* Held whole: the point is read anew. */
static void add_held(cbx__import_job *job, const char *path)
{
    cbx__bytes_walk walk;
    cbx_err err = CBX_ERR_INIT;
    cbx_json *point = NULL;
    cbx_status st = cbx__bytes_walk_begin(&walk, job->src->bytes, job->list.item_at, &err);

    if (!st) st = cbx__json_reader_value(walk.reader, &point, &err);
    if (st)
        cbx__import_fail_whole(job, st, err.message);
    else
        cbx__import_take(job, cbx__spooled_add_json(&job->run->spooled, job->scratch, point, path, &job->inner));
    cbx__bytes_walk_end(&walk);
    cbx_json_unref(point);
}

/* As strictly as a run is read. */
static void read_samples(cbx__import_job *job, const cbx_json *array, const char *path, const char *metric,
                         cbx__samples *out)
{
    cbx__import_elements e = { 0 };
    const cbx_json *v;

    while (cbx__import_each(job, array, &e, &v)) {
        cbx_json_type type = cbx_json_typeof(v);
        if (type != CBX_JSON_INT && type != CBX_JSON_DOUBLE)
            cbx__import_fail(job, CBX_EFORMAT, "'%s.metrics.%s.samples.%zu': expected a number", path, metric, e.i - 1);
        cbx__import_sample(job, out, cbx_json_double_value(v));
    }
}

static const cbx_json *long_samples_of(const cbx__import_job *job, const cbx_json *metric)
{
    const cbx_json *samples = cbx_json_get(metric, "samples");

    return cbx__import_length(job, samples) > cbx_json_length(samples) ? samples : NULL;
}

/* How many of the metrics have samples that stay in the file. */
static size_t count_long(const cbx__import_job *job, const cbx_json *metrics)
{
    const char *name;
    cbx_json *metric;
    size_t n = 0;

    for (size_t i = 0; cbx_json_member(metrics, i, &name, &metric); i++) n += long_samples_of(job, metric) != NULL;
    return n;
}

static void add_long(cbx__import_job *job, const cbx_json *point, const char *path, size_t n)
{
    const cbx_json *metrics = cbx_json_get(point, "metrics");
    cbx__long_samples *list = cbx_arena_calloc(&job->passing, n, sizeof *list);
    const char *name;
    cbx_json *metric;

    if (!list) cbx__import_no_memory(job);
    n = 0;
    for (size_t i = 0; !job->status && cbx_json_member(metrics, i, &name, &metric); i++) {
        const cbx_json *array = long_samples_of(job, metric);
        cbx__samples s = { .may_wait = true };
        if (!array) continue;
        read_samples(job, array, path, name, &s);
        list[n++] = (cbx__long_samples){ array, { s.places, s.nplaces, CBX__SAMPLES_BLOCK }, s.values, s.n };
    }
    if (!job->status)
        cbx__import_take(job,
                         cbx__spooled_add_long(&job->run->spooled, job->scratch, point, path, list, n, &job->inner));
}

void cbx__import_point_json(cbx__import_job *job, const cbx_json *point, const char *path)
{
    size_t n = job->apart.n ? count_long(job, cbx_json_get(point, "metrics")) : 0;

    if (job->status) return;
    if (!job->apart.n)
        cbx__import_take(job, cbx__spooled_add_json(&job->run->spooled, job->scratch, point, path, &job->inner));
    else if (n < job->apart.n || cbx__run_point_says_more(point))
        add_held(job, path);
    else
        add_long(job, point, path, n);
    job->run->npoints++;
}
