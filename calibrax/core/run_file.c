/*
 * Run files, read and written in pieces.
 *
 * Workload: the scan of ten thousand files of 10 kB, and of one whose single point has ten million
 * samples.  A sieve takes the points out of the tree of a file as they come, and the samples out of
 * those.  A fault of a point is reported only when the rest of the file has been read, since other
 * faults come first: torn JSON, a head without id.
 */
#include "calibrax/core/run_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/json_stream.h"
#include "calibrax/core/run_internal.h"

/* Depths and levels of arrays: root.points[], root.points[].metrics.NAME.samples[]. */
#define POINTS_DEPTH  2
#define METRIC_LEVEL  4
#define SAMPLES_DEPTH 6

typedef enum array_kind { KIND_OTHER, KIND_POINTS, KIND_SAMPLES } array_kind;

/* Samples of a metric of the current point. */
typedef struct gathered {
    const char *metric;
    CBX_LIST(double) values;
} gathered;

typedef struct streaming {
    const char *path;
    char *hash; /* of the file's bytes; NULL: not needed */
    cbx_run *run;
    cbx__run_point_fn fn; /* NULL: the points are the run's, with samples if wanted */
    void *user;
    bool samples;
    array_kind kinds[SAMPLES_DEPTH + 1]; /* of the open arrays, by depth */
    cbx_arena arena;                     /* of the current point */
    cbx_names words;                     /* of those that are kept */
    cbx__bad_sample bad;
    CBX_LIST(gathered) gathered; /* in the order of the metrics */
    size_t npoints;
    cbx_status held; /* the fault of the first bad point */
    cbx_err why;
} streaming;

/* --- the sieve --- */

static bool is_key(const cbx__json_reader *r, size_t level, const char *wanted)
{
    const char *key = cbx__json_reader_key(r, level);

    return key && strcmp(key, wanted) == 0;
}

static bool wants(void *user, const cbx__json_reader *r)
{
    streaming *s = user;
    size_t depth = cbx__json_reader_depth(r);
    array_kind kind = KIND_OTHER;

    if (depth == POINTS_DEPTH && is_key(r, 1, "points")) kind = KIND_POINTS;
    if (depth == SAMPLES_DEPTH && is_key(r, SAMPLES_DEPTH - 1, "samples") && cbx__json_reader_key(r, METRIC_LEVEL) &&
        is_key(r, METRIC_LEVEL - 1, "metrics") && !cbx__json_reader_key(r, 2) && is_key(r, 1, "points"))
        kind = KIND_SAMPLES;
    if (depth <= SAMPLES_DEPTH) s->kinds[depth] = kind;
    return s->fn || kind != KIND_OTHER;
}

static cbx_status take_sample(streaming *s, const char *metric, size_t i, const cbx_json *v, cbx_err *err)
{
    const cbx_allocator *al = &s->arena.al;
    double sample = NAN;

    if (!cbx__json_double(v, &sample) && !s->bad.metric) {
        s->bad = (cbx__bad_sample){ cbx_arena_strdup(&s->arena, metric), i };
        return s->bad.metric ? CBX_OK : cbx_fail_nomem(err, NULL);
    }
    if (!s->samples || s->bad.metric || s->held) return CBX_OK;
    if (i == 0) {
        const gathered g = { .metric = cbx_arena_strdup(&s->arena, metric) };
        if (!g.metric || !cbx_list_push(al, &s->gathered, g)) return cbx_fail_nomem(err, NULL);
    }
    if (!cbx_list_push(al, &s->gathered.items[s->gathered.n - 1].values, sample)) return cbx_fail_nomem(err, NULL);
    return CBX_OK;
}

/* --- points --- */

/* Points of a run repeat each other's words. */
static const char *word(streaming *s, const char *text)
{
    size_t at = cbx_names_add(&s->words, text);
    return at == CBX_NO_NAME ? NULL : s->words.list[at];
}

/* Into the run.  An empty array of samples is one, too, and not NULL. */
static bool keep_samples(cbx_run *run, const gathered *g, cbx_metric *m)
{
    const double *from = g ? g->values.items : m->samples;
    double *copy;

    if (g) m->nsamples = g->values.n;
    if (!from) return true;
    m->samples = copy = cbx_arena_alloc(&run->arena, m->nsamples * sizeof *copy);
    if (copy && m->nsamples) memcpy(copy, from, m->nsamples * sizeof *copy);
    return copy;
}

static cbx_status keep_point(streaming *s, cbx_point *view, const cbx_json *raw, cbx_err *err)
{
    cbx_tag *tags = view->tags ? cbx_arena_calloc(&s->run->arena, view->ntags, sizeof *tags) : NULL;
    cbx_named_metric *metrics = cbx_arena_calloc(&s->run->arena, view->nmetrics, sizeof *metrics);
    bool good = metrics && (tags || !view->tags);
    size_t next = 0; /* of those with samples, which come in the order of the metrics */
    cbx_status st = cbx__run_point_text(&s->arena, view, err);

    if (st) return st;
    for (size_t i = 0; good && i < view->ntags; i++) {
        tags[i] = (cbx_tag){ word(s, view->tags[i].key), word(s, view->tags[i].value) };
        good = tags[i].key && tags[i].value;
    }
    for (size_t i = 0; good && i < view->nmetrics; i++) {
        const gathered *g = next < s->gathered.n ? &s->gathered.items[next] : NULL;
        if (g && strcmp(g->metric, view->metrics[i].name) != 0) g = NULL;
        next += g != NULL;
        metrics[i] = view->metrics[i];
        metrics[i].name = word(s, view->metrics[i].name);
        if (!s->samples) metrics[i].metric.samples = NULL;
        good = metrics[i].name && keep_samples(s->run, g, &metrics[i].metric);
    }
    view->tags = tags;
    view->metrics = metrics;
    view->name = word(s, view->name);
    view->scenario = word(s, view->scenario);
    if (!good || !view->name || !view->scenario) return cbx_fail_nomem(err, NULL);
    return cbx__run_own_point(s->run, view, raw, err);
}

static void forget_point(streaming *s)
{
    for (size_t i = 0; i < s->gathered.n; i++) cbx_list_clear(&s->arena.al, &s->gathered.items[i].values);
    s->gathered.n = 0;
    s->bad = (cbx__bad_sample){ 0 };
    cbx_arena_clear(&s->arena);
}

static cbx_status take(void *user, const cbx__json_reader *r, size_t i, const cbx_json *element, cbx_err *err)
{
    streaming *s = user;
    size_t depth = cbx__json_reader_depth(r);
    array_kind kind = depth <= SAMPLES_DEPTH ? s->kinds[depth] : KIND_OTHER;
    char path[CBX__PATH_SIZE];
    cbx_json *raw = NULL;
    cbx_point view;
    cbx_status st = CBX_OK;

    if (kind == KIND_SAMPLES) return take_sample(s, cbx__json_reader_key(r, METRIC_LEVEL), i, element, err);
    if (kind != KIND_POINTS) return CBX_OK;
    cbx__run_point_path(s->npoints++, path);
    if (!s->held) {
        s->held = cbx__run_view_point(element, path, &s->bad, &s->arena, &view, s->fn ? NULL : &raw, &s->why);
        if (s->held == CBX_ENOMEM) st = cbx_fail(err, s->held, "%s", s->why.message);
        if (!s->held) st = s->fn ? s->fn(s->user, &view, err) : keep_point(s, &view, raw, err);
    }
    forget_point(s);
    return st;
}

/* --- reading --- */

static cbx_status stream(streaming s, const cbx_allocator *al, const char *what, cbx_run **out, cbx_err *err)
{
    const cbx__json_sieve sieve = { wants, take, &s };
    cbx_err why = CBX_ERR_INIT;
    cbx_json *v = NULL;
    cbx_status st = cbx__run_new(al, &s.run, &why);

    if (st) return cbx__run_refuse(what, st, &why, err);
    cbx_arena_init(&s.arena, al);
    cbx_names_init(&s.words, al);
    s.run->private_tree = true;
    st = cbx__json_stream_file(s.path, &sieve, what, s.hash, &v, err);
    if (!st) {
        cbx_json *points = NULL;
        st = cbx__run_read_front(v, s.run, &why);
        if (!st) st = cbx_json_need_array(v, "points", "", &points, &why);
        if (!st && s.held) st = cbx_fail(&why, s.held, "%s", s.why.message);
        if (!st) st = cbx__run_read_rest(v, s.run, &why);
        if (st) st = cbx__run_refuse(what, st, &why, err);
    }
    s.run->private_tree = false;
    forget_point(&s);
    cbx_list_clear(al, &s.gathered);
    cbx_names_release(&s.words, &s.run->words);
    cbx_json_unref(v);
    /* the memory that no point needs any more is given back */
    size_t n = s.run->points.n, size = sizeof *s.run->points.items;
    void *points = n ? cbx_mem_resize(al, s.run->points.items, s.run->points.capacity * size, n * size) : NULL;
    if (points) {
        s.run->points.items = points;
        s.run->points.capacity = n;
    } else if (!st && n) {
        st = cbx_fail_nomem(err, NULL);
    }
    return CBX_FINISH(st, *out = s.run, cbx_run_free(s.run));
}

cbx_status cbx__run_stream_file(const cbx_allocator *al, const char *path, const char *what, cbx__run_point_fn fn,
                                void *user, char hash[CBX_HASH_SIZE], cbx_run **out, cbx_err *err)
{
    return stream((streaming){ .path = path, .hash = hash, .fn = fn, .user = user }, al, what, out, err);
}

cbx_status cbx_run_read(cbx_ctx *ctx, const char *path, cbx_run **out, cbx_err *err)
{
    return stream((streaming){ .path = path, .samples = true }, cbx_ctx_allocator(ctx), path, out, err);
}

cbx_status cbx__run_read_bare(cbx_ctx *ctx, const char *path, cbx_run **out, cbx_err *err)
{
    return stream((streaming){ .path = path }, cbx_ctx_allocator(ctx), path, out, err);
}

/* --- writing in pieces: as one tree and one text a run of 100 MB would take ten times that --- */

#define PIECE_BYTES ((size_t)1 << 20)

typedef struct sink {
    FILE *file;
    const char *path;
    cbx_status status;
    cbx_err err;
} sink;

/* The first fault stays, and what comes after it is dropped. */
static void flush_all(sink *s, cbx_text *out)
{
    if (!s->status && out->status) s->status = cbx_fail_nomem(&s->err, NULL);
    if (!s->status && out->len && fwrite(out->data, out->len, 1, s->file) != 1)
        s->status = cbx_fail_errno(&s->err, errno, "cannot write '%s'", s->path);
    cbx_text_reset(out);
}

static void flush(void *user, cbx_text *out)
{
    if (out->status || out->len >= PIECE_BYTES) flush_all(user, out);
}

/* A point that has only known members: as cbx__run_point_json, but its samples, of which there may
 * be millions, one at a time. */
static void put_point(cbx_json_writer *w, const cbx_point *p)
{
    cbx_json_writer_begin(w, NULL, '{');
    cbx_json_writer_add_string(w, "name", p->name);
    cbx_json_writer_add_string(w, "scenario", p->scenario);
    cbx_json_writer_begin(w, "tags", '{');
    for (size_t i = 0; i < p->ntags; i++) cbx_json_writer_add_string(w, p->tags[i].key, p->tags[i].value);
    cbx_json_writer_end(w);
    cbx_json_writer_begin(w, "metrics", '{');
    for (size_t i = 0; i < p->nmetrics; i++) {
        const cbx_metric *m = &p->metrics[i].metric;
        cbx_json_writer_begin(w, p->metrics[i].name, '{');
        cbx_json_writer_add_double(w, "value", m->value);
        if (!isnan(m->lower)) cbx_json_writer_add_double(w, "lower", m->lower);
        if (!isnan(m->upper)) cbx_json_writer_add_double(w, "upper", m->upper);
        if (m->samples) cbx_json_writer_begin(w, "samples", '[');
        for (size_t k = 0; m->samples && k < m->nsamples; k++) cbx_json_writer_add_double(w, NULL, m->samples[k]);
        if (m->samples) cbx_json_writer_end(w);
        cbx_json_writer_end(w);
    }
    cbx_json_writer_end(w);
    cbx_json_writer_end(w);
}

cbx_status cbx__run_write_to(const cbx_allocator *al, const cbx_run *run, const char *path, const char *shown,
                             cbx_err *err)
{
    char buf[CBX_TIME_SIZE];
    cbx_json *head = cbx__run_head_json(run, cbx__run_time_text(run, buf));
    sink s = { .path = shown, .file = head ? fopen(path, "wbe") : NULL };
    cbx_text text;
    cbx_json_writer w = { .out = &text, .flags = CBX_JSON_INDENT2 | CBX_JSON_ASCII, .pour = flush, .user = &s };

    cbx_text_init(&text, al);
    if (!head) {
        s.status = cbx_fail_nomem(&s.err, NULL);
    } else if (!s.file) {
        s.status = cbx_fail_errno(&s.err, errno, "cannot write '%s'", shown);
    } else {
        setbuf(s.file, NULL); /* the text is the buffer */
        const char *key;
        cbx_json *value;
        cbx_json_writer_begin(&w, NULL, '{');
        for (size_t i = 0; cbx_json_member(head, i, &key, &value); i++) {
            if (strcmp(key, "points") != 0) {
                cbx_json_writer_add(&w, key, value);
                continue;
            }
            cbx_json_writer_begin(&w, key, '[');
            for (size_t k = 0; k < run->points.n; k++) {
                const run_point *p = &run->points.items[k];
                if (!p->raw) {
                    put_point(&w, &p->view);
                    continue;
                }
                value = cbx__run_point_json(&p->view, p->raw);
                if (!value) w.out->status = CBX_ENOMEM;
                cbx_json_writer_add(&w, NULL, value);
                cbx_json_unref(value);
            }
            cbx_json_writer_end(&w);
        }
        cbx_json_writer_end(&w);
        flush_all(&s, &text);
        if (fclose(s.file) != 0 && !s.status) s.status = cbx_fail_errno(&s.err, errno, "cannot write '%s'", shown);
    }
    cbx_text_clear(&text);
    cbx_json_unref(head);
    return s.status ? cbx_fail(err, s.status, "%s", s.err.message) : CBX_OK;
}

cbx_status cbx_run_write(cbx_ctx *ctx, const cbx_run *run, const char *path, cbx_err *err)
{
    cbx_replacement *file = NULL;
    cbx_status st = cbx_replacement_begin(ctx, path, &file, err);

    if (st) return st;
    st = cbx__run_write_to(cbx_ctx_allocator(ctx), run, cbx_replacement_path(file), path, err);
    if (!st) return cbx_replacement_commit(file, err);
    cbx_replacement_discard(file);
    return st;
}
