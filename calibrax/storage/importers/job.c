/*
 * The job of an importer: the first fault, notes, and memory.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/storage/importers/job.h"

#define NOTES_MOST 10000

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

void cbx__import_no_memory(cbx__import_job *job)
{
    if (!job->status) job->status = cbx_fail(job->err, CBX_ENOMEM, "out of memory while reading '%s'", job->src->what);
}

void cbx__import_take(cbx__import_job *job, cbx_status st)
{
    char message[CBX_ERR_MESSAGE_SIZE];

    if (!st || job->status) return;
    snprintf(message, sizeof(message), "%s", job->inner.message);
    if (st == CBX_ENOMEM)
        cbx__import_no_memory(job);
    else
        cbx__import_fail(job, st == CBX_EINVAL ? CBX_EFORMAT : st, "%s", message);
}

bool cbx__import_grow(cbx__import_job *job, void *slot, size_t n, size_t *room, size_t size)
{
    void *old, *more;
    size_t wanted = *room ? *room * 2 : 8;

    if (job->status) return false;
    if (n < *room) return true;
    more = cbx_arena_calloc(&job->out->arena, wanted, size);
    if (!more) {
        cbx__import_no_memory(job);
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

    if (!copy) cbx__import_no_memory(job);
    return copy;
}

void cbx__import_note(cbx__import_job *job, const char *entry, const char *fmt, ...)
{
    char message[CBX_ERR_MESSAGE_SIZE];
    va_list args;

    if (job->out->nnotes >= NOTES_MOST) {
        job->notes_left_out++;
        return;
    }
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    if (!cbx__import_grow(job, &job->notes, job->out->nnotes, &job->notes_room, sizeof(*job->notes))) return;
    job->notes[job->out->nnotes] = (cbx_import_note){ keep(job, entry), keep(job, message) };
    job->out->notes = job->notes;
    if (!job->status) job->out->nnotes++;
}

const cbx__import_source *cbx__import_source_of(const cbx__import_job *job) { return job->src; }
cbx_ctx *cbx__import_ctx(const cbx__import_job *job) { return job->ctx; }
cbx_arena *cbx__import_passing(cbx__import_job *job) { return &job->passing; }
cbx__scratch *cbx__import_scratch(cbx__import_job *job) { return job->scratch; }
cbx_arena *cbx__import_arena(cbx__import_job *job) { return &job->out->arena; }

void cbx__import_forget(cbx__import_job *job) { cbx_arena_clear(&job->passing); }

char *cbx__import_strndup(cbx__import_job *job, const char *s, size_t n)
{
    char *copy = job->status ? NULL : cbx_arena_strndup(&job->passing, s, n);

    if (!copy) cbx__import_no_memory(job);
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
    if (n >= 0 && !job->status) text = cbx_arena_alloc(&job->passing, (size_t)n + 1);
    if (!text) {
        cbx__import_no_memory(job);
        return NULL;
    }
    va_start(args, fmt);
    vsnprintf(text, (size_t)n + 1, fmt, args);
    va_end(args);
    return text;
}

void cbx__import_job_clear(cbx__import_job *job)
{
    const cbx_allocator *al = cbx_ctx_allocator(job->ctx);

    cbx__import_walk_clear(job, &job->list);
    cbx__import_walk_clear(job, &job->inner_list);
    cbx__long_arrays_clear(&job->apart);
    cbx__lines_clear(&job->lines);
    for (size_t i = 0; i < job->nruns; i++) {
        cbx_run_builder_free(job->runs[i].builder);
        cbx_run_free(job->runs[i].whole);
        cbx__seen_clear(&job->runs[i].seen, al);
        cbx_names_clear(&job->runs[i].defs);
        cbx__spooled_clear(&job->runs[i].spooled);
    }
    cbx_names_clear(&job->keys);
    cbx__scratch_free(job->scratch);
    cbx_arena_clear(&job->cells);
    cbx_arena_clear(&job->passing);
}
