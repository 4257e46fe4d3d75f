/*
 * The runs of a job: begun, told facts, and handed over when all has been read, since a file is taken whole or not at all.
 */
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/storage/importers/job.h"

static bool is_open(const cbx__import_job *job) { return !job->status && job->run && job->run->builder; }

/* --- beginning --- */

/* One more run, which becomes the one that is written. */
static cbx__import_run *add_run(cbx__import_job *job)
{
    cbx__import_run r = { .npoints = 0 };

    if (!cbx__import_grow(job, &job->runs, job->nruns, &job->runs_room, sizeof(*job->runs))) return NULL;
    cbx__spooled_init(&r.spooled, cbx_ctx_allocator(job->ctx));
    cbx_names_init(&r.defs, cbx_ctx_allocator(job->ctx));
    job->runs[job->nruns] = r;
    job->run = &job->runs[job->nruns++];
    return job->run;
}

void cbx__import_run_begin(cbx__import_job *job)
{
    cbx_run_opts opts = CBX_RUN_OPTS_INIT;
    int64_t us = job->opts->timestamp_us ? job->opts->timestamp_us : job->src->modified_us;

    opts.no_vcs = opts.no_machine = opts.no_versions = true;
    if (job->status || !add_run(job)) return;
    cbx__import_take(job, cbx_run_builder_create(job->ctx, &opts, &job->run->builder, &job->inner));
    cbx__import_run_time(job, us);
    cbx__import_run_commit(job, NULL, NULL);
    if (is_open(job))
        cbx__import_take(job, cbx_run_builder_set_metadata(job->run->builder, "import_format",
                                                           cbx_json_new_string(job->importer->name), &job->inner));
}

bool cbx__import_run_for(cbx__import_job *job, const char *key)
{
    size_t known = job->keys.n, number;
    cbx__import_run *run;

    if (!cbx__import_grow(job, &job->run_of, known, &job->run_of_room, sizeof(*job->run_of))) return false;
    number = cbx_names_add(&job->keys, key);
    if (number == CBX_NO_NAME) cbx__import_no_memory(job);
    if (job->status) return false;
    if (number == known) job->run_of[number] = job->nruns;
    run = number < known ? &job->runs[job->run_of[number]] : NULL;
    if (run && run == job->run) return false;
    if (job->run && job->scratch)
        cbx__import_take(job, cbx__spooled_rest(&job->run->spooled, job->scratch, &job->inner));
    job->run = run;
    if (!run) cbx__import_run_begin(job);
    return !run && !job->status;
}

void cbx__import_run_end(cbx__import_job *job) { job->run = NULL; }

/* --- facts --- */

void cbx__import_run_time(cbx__import_job *job, int64_t us)
{
    if (is_open(job)) cbx__import_take(job, cbx_run_builder_set_timestamp(job->run->builder, us, &job->inner));
}

void cbx__import_run_iso(cbx__import_job *job, const char *iso)
{
    int64_t us = 0;

    if (!iso || !is_open(job)) return;
    if (cbx_time_parse_iso(iso, &us, NULL))
        cbx__import_note(job, "time", "'%s' is no time that can be read; the file's own time stands", iso);
    else
        cbx__import_run_time(job, us);
}

void cbx__import_run_commit(cbx__import_job *job, const char *commit, const char *branch)
{
    const char *c = commit && *commit ? commit : job->opts->commit, *b = branch && *branch ? branch : job->opts->branch;

    if (is_open(job)) cbx__import_take(job, cbx_run_builder_set_commit(job->run->builder, c, b, &job->inner));
}

void cbx__import_run_metadata(cbx__import_job *job, const char *key, const cbx_json *value)
{
    if (value && is_open(job))
        cbx__import_take(job, cbx_run_builder_set_metadata(job->run->builder, key, cbx_json_copy(value), &job->inner));
}

void cbx__import_run_environment(cbx__import_job *job, const char *key, const cbx_json *value)
{
    if (value && is_open(job))
        cbx__import_take(job,
                         cbx_run_builder_set_environment(job->run->builder, key, cbx_json_copy(value), &job->inner));
}

/* --- whole runs --- */

void cbx__import_run_whole(cbx__import_job *job, cbx_run *run)
{
    cbx__import_run *r = job->status ? NULL : add_run(job);

    if (!r) {
        cbx_run_free(run);
        return;
    }
    r->whole = run;
    r->npoints = cbx_run_npoints(run);
}

bool cbx__import_is_on_disk(const cbx__import_job *job) { return job->scratch != NULL; }

/* --- handing over --- */

/* Twelve digits from the text, what was said of it, and the number of the run in it. */
static void name_run(cbx__import_job *job, cbx_run_builder *b)
{
    char id[CBX_HASH_SIZE];
    cbx_text text;

    cbx_text_init(&text, &job->out->arena.al);
    cbx_text_printf(&text, "%s|%s|%s|%s|%zu", job->src->digest, job->importer->name,
                    job->opts->commit ? job->opts->commit : "", job->opts->branch ? job->opts->branch : "",
                    job->out->nruns);
    if (text.status) cbx__import_no_memory(job);
    cbx_hash_bytes(cbx_text_str(&text), text.len, id);
    cbx_text_clear(&text);
    id[12] = 0;
    if (!job->status) cbx__import_take(job, cbx_run_builder_set_id(b, id, &job->inner));
}

/* The machine that the caller says, in a run that names none. */
static void name_machine(cbx__import_job *job, cbx_run **run)
{
    const char *machine = job->opts->machine;
    cbx_run_builder *b = NULL;
    cbx_run *named = NULL;

    if (job->status || !machine || cbx_json_get_string(cbx_run_environment(*run), "machine", NULL)) return;
    cbx__import_take(job, cbx_run_builder_from(job->ctx, *run, &b, &job->inner));
    if (!job->status)
        cbx__import_take(job, cbx_run_builder_set_environment(b, "machine", cbx_json_new_string(machine), &job->inner));
    if (!job->status) cbx__import_take(job, cbx_run_builder_freeze(b, &named, &job->inner));
    cbx_run_builder_free(b);
    if (!named) return;
    cbx_run_free(*run);
    *run = named;
}

static void hand_over(cbx__import_job *job, cbx__import_run *r, size_t at)
{
    cbx_run *run = r->whole;

    r->whole = NULL;
    if (r->builder) {
        name_run(job, r->builder);
        if (!job->status) cbx__import_take(job, cbx_run_builder_freeze(r->builder, &run, &job->inner));
    }
    if (run) name_machine(job, &run);
    if (job->status) {
        cbx_run_free(run);
        return;
    }
    job->out->runs[at] = run;
    job->out->npoints[at] = r->npoints;
    job->out->nruns = at + 1;
    if (!job->out->disk) return;
    job->out->disk->points[at] = r->spooled;
    job->out->disk->nruns = at + 1;
    cbx__spooled_init(&r->spooled, cbx_ctx_allocator(job->ctx));
}

static bool begin_disk(cbx__import_job *job)
{
    const cbx_allocator *al = cbx_ctx_allocator(job->ctx);
    cbx_import_disk *d = cbx_mem_zalloc(al, sizeof *d);

    if (!d) return false;
    d->al = *al;
    d->points = cbx_arena_calloc(&job->out->arena, job->nruns, sizeof *d->points);
    d->scratch = job->scratch;
    job->scratch = NULL;
    job->out->disk = d;
    return d->points != NULL;
}

void cbx__import_finish(cbx__import_job *job)
{
    size_t n = 0;

    job->run = NULL;
    if (job->notes_left_out) job->out->nnotes_left_out = job->notes_left_out;
    if (job->status) return;
    job->out->runs = cbx_arena_calloc(&job->out->arena, job->nruns, sizeof(*job->out->runs));
    job->out->npoints = cbx_arena_calloc(&job->out->arena, job->nruns, sizeof(*job->out->npoints));
    if (!job->out->runs || !job->out->npoints || (job->scratch && !begin_disk(job))) {
        cbx__import_no_memory(job);
        return;
    }
    for (size_t i = 0; i < job->nruns && !job->status; i++) {
        bool empty = !job->runs[i].npoints && !job->runs[i].whole;
        if (!empty) hand_over(job, &job->runs[i], n++);
    }
}

void cbx__import_disk_free(cbx_import_disk *d)
{
    cbx_allocator al;

    if (!d) return;
    al = d->al;
    for (size_t i = 0; i < d->nruns; i++) cbx__spooled_clear(&d->points[i]);
    cbx__scratch_free(d->scratch);
    cbx_mem_free(&al, d, sizeof *d);
}
