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

static bool full_block(const cbx__import_job *job, const cbx__samples *s)
{
    return s->may_wait && job->scratch && s->n == CBX__SAMPLES_BLOCK;
}

/* The numbers in memory go to the disk. */
static bool put_away(cbx__import_job *job, cbx__samples *s)
{
    uint64_t at = 0;

    if (s->nplaces == s->places_room) {
        size_t room = s->places_room ? 2 * s->places_room : 8;
        uint64_t *more = cbx_arena_calloc(&job->passing, room, sizeof *more);
        if (more && s->nplaces) memcpy(more, s->places, s->nplaces * sizeof *more);
        if (!more) cbx__import_no_memory(job);
        if (!more) return false;
        s->places = more;
        s->places_room = room;
    }
    cbx__import_take(job, cbx__scratch_add(job->scratch, s->values, s->n * sizeof *s->values, &at, &job->inner));
    s->places[s->nplaces++] = at;
    s->n = 0;
    return !job->status;
}

void cbx__import_sample(cbx__import_job *job, cbx__samples *s, double value)
{
    if (job->status || (full_block(job, s) && !put_away(job, s)) || (s->n == s->room && !more_room(job, s))) return;
    s->values[s->n++] = value;
}

/* Exactly, for the first and often only array: a file may hold ten million numbers. */
static void reserve_samples(cbx__import_job *job, cbx__samples *s, size_t n)
{
    if (s->room || !n || job->status) return;
    if (s->may_wait && job->scratch && n > CBX__SAMPLES_BLOCK) n = CBX__SAMPLES_BLOCK;
    s->values = cbx_arena_calloc(&job->passing, n, sizeof(*s->values));
    if (s->values)
        s->room = n;
    else
        cbx__import_no_memory(job);
}

void cbx__import_samples(cbx__import_job *job, const cbx_json *array, const char *key, double scale, cbx__samples *s)
{
    cbx__import_elements e = { 0 };
    const cbx_json *v;

    reserve_samples(job, s, cbx__import_length(job, array));
    while (cbx__import_each(job, array, &e, &v)) {
        if (v && !cbx__import_is_number(v))
            cbx__import_fail(job, CBX_EFORMAT, "element %zu of %s is no number", e.i - 1, key);
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

/* --- median --- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_in_memory(cbx__import_job *job, const cbx__samples *s)
{
    const cbx_allocator *al = cbx_ctx_allocator(job->ctx);
    double *sorted, median;

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

/*
 * On disk, where numbers cannot be sorted in place: the number of a rank by four passes over them, each of which settles 16 bits
 * (Knuth, The Art of Computer Programming 3, 5.2.5, from the highest digit on, following one pocket).
 */
#define DIGITS ((size_t)1 << 16)

typedef struct selection {
    uint64_t known; /* bits that are settled, the highest ones */
    int shift;      /* of the digit that is counted */
    size_t *counts; /* of each digit */
    bool nan;
} selection;

/* Bits that sort as the numbers do. */
static uint64_t bits_of(double v)
{
    uint64_t b;

    memcpy(&b, &v, sizeof b);
    return b >> 63 ? ~b : b | (uint64_t)1 << 63;
}

static double number_of(uint64_t b)
{
    double v;

    b = b >> 63 ? b ^ (uint64_t)1 << 63 : ~b;
    memcpy(&v, &b, sizeof v);
    return v;
}

static void count_digits(selection *q, const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t b = bits_of(v[i]);
        q->nan = q->nan || isnan(v[i]);
        if (q->shift == 48 || b >> (q->shift + 16) == q->known >> (q->shift + 16))
            q->counts[b >> q->shift & (DIGITS - 1)]++;
    }
}

static void count_all(cbx__import_job *job, const cbx__samples *s, selection *q)
{
    double part[2048];

    memset(q->counts, 0, DIGITS * sizeof *q->counts);
    for (size_t i = 0; i < s->nplaces * (CBX__SAMPLES_BLOCK / CBX_LEN(part)) && !job->status; i++) {
        uint64_t at = s->places[i / (CBX__SAMPLES_BLOCK / CBX_LEN(part))];
        at += i % (CBX__SAMPLES_BLOCK / CBX_LEN(part)) * sizeof part;
        cbx__import_take(job, cbx__scratch_need(job->scratch, at, part, sizeof part, &job->inner));
        if (!job->status) count_digits(q, part, CBX_LEN(part));
    }
    count_digits(q, s->values, s->n);
}

/* The number that has `rank` smaller ones before it; NaN if one is none. */
static double number_at(cbx__import_job *job, const cbx__samples *s, size_t *counts, size_t rank)
{
    selection q = { .shift = 48, .counts = counts };

    for (; q.shift >= 0 && !job->status && !q.nan; q.shift -= 16) {
        size_t digit = 0;
        count_all(job, s, &q);
        while (digit + 1 < DIGITS && rank >= counts[digit]) rank -= counts[digit++];
        q.known |= (uint64_t)digit << q.shift;
    }
    return job->status || q.nan ? NAN : number_of(q.known);
}

static double median_on_disk(cbx__import_job *job, const cbx__samples *s)
{
    const cbx_allocator *al = cbx_ctx_allocator(job->ctx);
    size_t n = s->nplaces * CBX__SAMPLES_BLOCK + s->n;
    size_t *counts = cbx_mem_calloc(al, DIGITS, sizeof *counts);
    double high;

    if (!counts) {
        cbx__import_no_memory(job);
        return NAN;
    }
    high = number_at(job, s, counts, n / 2);
    if (n % 2 == 0) high = 0.5 * number_at(job, s, counts, n / 2 - 1) + 0.5 * high;
    cbx_mem_free(al, counts, DIGITS * sizeof *counts);
    return high;
}

double cbx__import_median(cbx__import_job *job, const cbx__samples *s)
{
    if (!s->n || job->status) return NAN;
    return s->nplaces ? median_on_disk(job, s) : median_in_memory(job, s);
}
