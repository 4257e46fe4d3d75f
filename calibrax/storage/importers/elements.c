/*
 * The elements of a file's list one by one, and those of arrays in them that are too long to be held: each such array is read where it
 * stands, again as often as somebody walks through it.
 */
#include <string.h>

#include "calibrax/storage/importers/job.h"

/* --- long arrays --- */

cbx_status cbx__import_read(cbx__import_job *job, cbx__json_reader *r, cbx_json **out, cbx_err *err)
{
    job->apart.n = 0;
    return cbx__document_value(r, &job->apart, out, err);
}

/* The latest first: it is the one that is looked at. */
static const cbx__long_array *find(const cbx__import_job *job, const cbx_json *array)
{
    for (size_t i = job->apart.n; array && i-- > 0;)
        if (job->apart.list[i].array == array) return &job->apart.list[i];
    return NULL;
}

size_t cbx__import_length(const cbx__import_job *job, const cbx_json *array)
{
    const cbx__long_array *a = find(job, array);

    return a ? a->n : cbx_json_length(array);
}

/* --- walks --- */

static cbx_status read_element(cbx__import_job *job, cbx__json_reader *r, const char *inner, uint64_t *place,
                               cbx_json **out, cbx_err *err)
{
    bool apart = job->importer->apart && !inner;

    return apart ? cbx__document_value(r, &job->apart, out, err) : cbx__document_apart(r, inner, out, place, err);
}

bool cbx__import_walk_next(cbx__import_job *job, cbx__import_walk *w, uint64_t at, const char *inner, uint64_t *place,
                           const char **key, const cbx_json **item)
{
    cbx_err err = CBX_ERR_INIT;
    const char *name = NULL;
    bool more = false;
    cbx_status st = CBX_OK;

    cbx_json_unref(w->item);
    w->item = NULL;
    if (w->begun) job->apart.n = w->napart;
    if (job->status || w->ended || at == CBX__NO_PLACE) return false;
    if (!w->begun) {
        st = cbx__bytes_walk_begin(&w->walk, job->src->bytes, at, &err);
        if (!st) st = cbx__json_reader_enter(w->walk.reader, &err);
        w->begun = true;
        w->napart = job->apart.n;
    }
    if (!st) st = cbx__json_reader_next(w->walk.reader, &name, &more, &err);
    if (!st && name) name = cbx__import_strndup(job, name, strlen(name));
    if (!st && more) w->item_at = cbx__json_reader_offset(w->walk.reader);
    if (!st && more) st = read_element(job, w->walk.reader, inner, place, &w->item, &err);
    if (st) cbx__import_fail_whole(job, st, err.message);
    w->ended = job->status || !more;
    if (key) *key = name;
    *item = w->item;
    return !w->ended;
}

void cbx__import_walk_clear(cbx__import_job *job, cbx__import_walk *w)
{
    if (w->begun) {
        cbx__bytes_walk_end(&w->walk);
        job->apart.n = w->napart;
    }
    cbx_json_unref(w->item);
    *w = (cbx__import_walk){ 0 };
}

bool cbx__import_next(cbx__import_job *job, const char **key, const cbx_json **item)
{
    cbx__import_walk_clear(job, &job->inner_list);
    cbx__import_forget(job);
    return cbx__import_walk_next(job, &job->list, job->src->list_at, job->importer->inner, &job->inner_at, key, item);
}

bool cbx__import_next_inner(cbx__import_job *job, const cbx_json **item)
{
    uint64_t none;

    cbx__import_forget(job);
    return cbx__import_walk_next(job, &job->inner_list, job->inner_at, NULL, &none, NULL, item);
}

/* --- elements of any array --- */

static bool next_held(const cbx__import_job *job, const cbx_json *array, cbx__import_elements *e,
                      const cbx_json **element)
{
    if (job->status || e->i == cbx_json_length(array)) return false;
    *element = cbx_json_at(array, e->i++);
    return true;
}

static bool begin_walk(cbx__import_job *job, cbx__import_elements *e)
{
    if (!e->walk) e->walk = cbx_mem_zalloc(cbx_ctx_allocator(job->ctx), sizeof *e->walk);
    if (!e->walk) cbx__import_no_memory(job);
    return e->walk != NULL;
}

bool cbx__import_each(cbx__import_job *job, const cbx_json *array, cbx__import_elements *e, const cbx_json **element)
{
    const cbx__long_array *a = find(job, array);
    uint64_t none;

    if (!a) return next_held(job, array, e, element);
    if (!begin_walk(job, e)) return false;
    if (cbx__import_walk_next(job, e->walk, a->at, NULL, &none, NULL, element)) {
        e->i++;
        return true;
    }
    cbx__import_walk_clear(job, e->walk);
    cbx_mem_free(cbx_ctx_allocator(job->ctx), e->walk, sizeof *e->walk);
    e->walk = NULL;
    return false;
}
