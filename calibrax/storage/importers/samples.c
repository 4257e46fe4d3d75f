/*
 * Samples: numbers that grow, from JSON and from files beside it, and their median.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/storage/importers/job.h"

static bool more_room(cbx__import_job *job, cbx__samples *s)
{
    size_t room = s->room ? 2 * s->room : 8;
    double *more = job->status ? NULL : cbx_arena_calloc(&job->passing, room, sizeof(*more));

    if (!more) {
        cbx__import_no_memory(job);
        return false;
    }
    if (s->n) memcpy(more, s->values, s->n * sizeof(*more));
    s->values = more;
    s->room = room;
    return true;
}

void cbx__import_sample(cbx__import_job *job, cbx__samples *s, double value)
{
    if (job->status || (s->n == s->room && !more_room(job, s))) return;
    s->values[s->n++] = value;
}

/* Exactly, for the first and often only array: a file may hold ten million numbers. */
static void reserve_samples(cbx__import_job *job, cbx__samples *s, size_t n)
{
    if (s->room || !n || job->status) return;
    s->values = cbx_arena_calloc(&job->passing, n, sizeof(*s->values));
    if (s->values)
        s->room = n;
    else
        cbx__import_no_memory(job);
}

void cbx__import_samples(cbx__import_job *job, const cbx_json *array, const char *key, double scale, cbx__samples *s)
{
    reserve_samples(job, s, cbx_json_length(array));
    for (size_t i = 0; i < cbx_json_length(array) && !job->status; i++) {
        const cbx_json *v = cbx_json_at(array, i);
        if (v && !cbx__import_is_number(v))
            cbx__import_fail(job, CBX_EFORMAT, "element %zu of %s is no number", i, key);
        cbx__import_sample(job, s, v ? cbx__import_double(v) * scale : NAN);
    }
}

/* The last folder and the file of a path. */
static const char *last_two(const char *name)
{
    const char *at = name + strlen(name);

    for (int slashes = 0; at > name; at--) {
        if (at[-1] == '/' && ++slashes == 2) break;
    }
    return at;
}

/*
 * What a file asks us to read stands below its own folder.  Tools name it as seen from where they ran ("results/a.json-bin/0.bin" in
 * results/a.json), so what is not there by its whole name is looked for by the last folder and file of it.
 */
static const char *side_path(cbx__import_job *job, const char *name)
{
    const char *path = job->src->path, *slash = path ? strrchr(path, '/') : NULL, *found = NULL;
    int folder = slash ? (int)(slash - path) + 1 : 0;

    if (!path) return NULL;
    if (*name != '/' && !strstr(name, "..")) {
        found = cbx__import_printf(job, "%.*s%s", folder, path, name);
        if (!found || cbx_path_exists(found)) return found;
    }
    name = last_two(name);
    return strstr(name, "..") ? found : cbx__import_printf(job, "%.*s%s", folder, path, name);
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
    if (st == CBX_ENOMEM) cbx__import_no_memory(job);
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
        cbx__import_no_memory(job);
        return NAN;
    }
    memcpy(sorted, s->values, s->n * sizeof(*sorted));
    qsort(sorted, s->n, sizeof(*sorted), ascending);
    median = s->n % 2 ? sorted[s->n / 2] : 0.5 * sorted[s->n / 2 - 1] + 0.5 * sorted[s->n / 2];
    cbx_mem_free(al, sorted, s->n * sizeof(*sorted));
    return median;
}
