/*
 * Run files read in pieces.
 *
 * Workload: the first look at ten thousand files of 10 kB, and at one whose single point has ten million samples.  The JSON reader
 * makes the tree of a file as ever; a sieve takes the points out of it as they come, and the samples out of those.  What is wrong
 * with a point is told only when the rest of the file has been looked at, since other faults come first: JSON that is torn, a head
 * without id.
 */
#include "calibrax/core/run_stream.h"

#include <string.h>

#include "calibrax/base/table.h"
#include "calibrax/core/run_parts.h"

/* Where arrays stand: root.points[], root.points[].metrics.NAME.samples[]. */
#define POINTS_DEPTH  2
#define METRIC_LEVEL  4
#define SAMPLES_DEPTH 6

typedef enum passing_kind { PASSING_NOTHING, PASSING_POINTS, PASSING_SAMPLES } passing_kind;

/* Samples of a metric of the point under way. */
typedef struct gathered {
    const char *metric;
    double *values;
    size_t n, room;
    struct gathered *next;
} gathered;

typedef struct streaming {
    cbx_run *run;
    cbx__run_point_fn fn; /* NULL: the points are the run's, with samples if wanted */
    void *user;
    bool samples;
    passing_kind kinds[SAMPLES_DEPTH + 1]; /* of the arrays that are open, by depth */
    cbx_arena arena;                       /* of the point under way */
    cbx_names words;                       /* of those that are kept */
    cbx__bad_sample bad;
    gathered *gathered; /* the last one first */
    size_t npoints;
    cbx_status held; /* what is wrong with the first bad point */
    cbx_err why;
} streaming;

/* --- samples --- */

static bool is_key(const cbx__json_reader *r, size_t level, const char *wanted)
{
    const char *key = cbx__json_reader_key(r, level);

    return key && strcmp(key, wanted) == 0;
}

static passing_kind kind_of(const cbx__json_reader *r)
{
    size_t depth = cbx__json_reader_depth(r);

    if (depth == POINTS_DEPTH && is_key(r, 1, "points")) return PASSING_POINTS;
    if (depth != SAMPLES_DEPTH || !is_key(r, SAMPLES_DEPTH - 1, "samples")) return PASSING_NOTHING;
    if (!cbx__json_reader_key(r, METRIC_LEVEL) || !is_key(r, METRIC_LEVEL - 1, "metrics")) return PASSING_NOTHING;
    return !cbx__json_reader_key(r, 2) && is_key(r, 1, "points") ? PASSING_SAMPLES : PASSING_NOTHING;
}

static cbx_status begin_gathering(streaming *s, const char *metric, cbx_err *err)
{
    gathered *g = cbx_arena_calloc(&s->arena, 1, sizeof *g);

    if (g) g->metric = cbx_arena_strdup(&s->arena, metric);
    if (!g || !g->metric) return cbx_fail_nomem(err, NULL);
    g->next = s->gathered;
    s->gathered = g;
    return CBX_OK;
}

static cbx_status gather(const cbx_allocator *al, gathered *g, double v, cbx_err *err)
{
    if (g->n == g->room) {
        size_t room = g->room ? 2 * g->room : 256;
        double *more = cbx_mem_resize(al, g->values, g->room * sizeof *more, room * sizeof *more);
        if (!more) return cbx_fail_nomem(err, NULL);
        g->values = more;
        g->room = room;
    }
    g->values[g->n++] = v;
    return CBX_OK;
}

static cbx_status take_sample(streaming *s, const char *metric, size_t i, const cbx_json *v, cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (!s->bad.metric && !cbx__is_sample(v)) {
        s->bad = (cbx__bad_sample){ cbx_arena_strdup(&s->arena, metric), i };
        return s->bad.metric ? CBX_OK : cbx_fail_nomem(err, NULL);
    }
    if (!s->samples || s->bad.metric || s->held) return CBX_OK;
    if (i == 0) st = begin_gathering(s, metric, err);
    return st ? st : gather(&s->arena.al, s->gathered, cbx_json_double_value(v), err);
}

/* An array without a sample is one, too, and no NULL. */
static cbx_status own_samples(const streaming *s, cbx_metric *m, const char *name, cbx_err *err)
{
    const gathered *g = s->gathered;
    const double *from = m->samples;
    size_t n = m->nsamples;
    double *copy;

    while (g && strcmp(g->metric, name) != 0) g = g->next;
    if (g) from = g->values, n = g->n;
    if (!from) return CBX_OK;
    copy = cbx_arena_alloc(&s->run->arena, n * sizeof *copy);
    if (!copy) return cbx_fail_nomem(err, NULL);
    if (n) memcpy(copy, from, n * sizeof *copy);
    m->samples = copy;
    m->nsamples = n;
    return CBX_OK;
}

static void forget_point(streaming *s)
{
    for (gathered *g = s->gathered; g; g = g->next) cbx_mem_free(&s->arena.al, g->values, g->room * sizeof *g->values);
    s->gathered = NULL;
    s->bad = (cbx__bad_sample){ 0 };
    cbx_arena_clear(&s->arena);
}

/* --- points --- */

/* What points of a run are called they are called over and over. */
static const char *word(streaming *s, const char *text)
{
    size_t at = cbx_names_add(&s->words, text);
    return at == CBX_NO_NAME ? NULL : s->words.list[at];
}

static cbx_status keep_tags(streaming *s, cbx_point *view, cbx_err *err)
{
    cbx_tag *tags = NULL;

    if (view->tags && !(tags = cbx_arena_calloc(&s->run->arena, view->ntags, sizeof *tags)))
        return cbx_fail_nomem(err, NULL);
    for (size_t i = 0; i < view->ntags; i++) {
        tags[i] = (cbx_tag){ word(s, view->tags[i].key), word(s, view->tags[i].value) };
        if (!tags[i].key || !tags[i].value) return cbx_fail_nomem(err, NULL);
    }
    view->tags = tags;
    return CBX_OK;
}

static cbx_status keep_metrics(streaming *s, cbx_point *view, cbx_err *err)
{
    cbx_named_metric *metrics = cbx_arena_calloc(&s->run->arena, view->nmetrics, sizeof *metrics);
    cbx_status st = metrics ? CBX_OK : cbx_fail_nomem(err, NULL);

    for (size_t i = 0; !st && i < view->nmetrics; i++) {
        metrics[i] = view->metrics[i];
        metrics[i].name = word(s, view->metrics[i].name);
        if (!metrics[i].name) return cbx_fail_nomem(err, NULL);
        if (!s->samples) metrics[i].metric.samples = NULL;
        if (s->samples) st = own_samples(s, &metrics[i].metric, metrics[i].name, err);
    }
    view->metrics = metrics;
    return st;
}

static cbx_status keep_point(streaming *s, cbx_point *view, const cbx_json *raw, cbx_err *err)
{
    cbx_status st = cbx__run_point_text(&s->arena, view, err);

    if (!st) st = keep_tags(s, view, err);
    if (!st) st = keep_metrics(s, view, err);
    if (st) return st;
    view->name = word(s, view->name);
    view->scenario = word(s, view->scenario);
    if (!view->name || !view->scenario) return cbx_fail_nomem(err, NULL);
    return cbx__run_own_point(s->run, view, raw, err);
}

/* What is kept of a point stands in the run's arenas. */
static cbx_status take_point(streaming *s, const cbx_json *v, cbx_err *err)
{
    char path[CBX__PATH_SIZE];
    cbx_json *raw = NULL;
    cbx_point view;
    cbx_status st;

    cbx__run_point_path(s->npoints++, path);
    if (s->held) return CBX_OK;
    st = cbx__run_view_point(v, path, &s->bad, &s->arena, &view, s->fn ? NULL : &raw, &s->why);
    if (st == CBX_ENOMEM) return cbx_fail(err, st, "%s", s->why.message);
    s->held = st;
    if (st) return CBX_OK;
    return s->fn ? s->fn(s->user, &view, err) : keep_point(s, &view, raw, err);
}

/* --- the sieve --- */

static bool wants(void *user, const cbx__json_reader *r)
{
    streaming *s = user;
    size_t depth = cbx__json_reader_depth(r);
    passing_kind kind = kind_of(r);

    if (depth <= SAMPLES_DEPTH) s->kinds[depth] = kind;
    return s->fn || kind != PASSING_NOTHING;
}

static cbx_status take(void *user, const cbx__json_reader *r, size_t i, const cbx_json *element, cbx_err *err)
{
    streaming *s = user;
    cbx_status st = CBX_OK;
    size_t depth = cbx__json_reader_depth(r);
    passing_kind kind = depth <= SAMPLES_DEPTH ? s->kinds[depth] : PASSING_NOTHING;

    if (kind == PASSING_SAMPLES)
        st = take_sample(s, cbx__json_reader_key(r, METRIC_LEVEL), i, element, err);
    else if (kind == PASSING_POINTS)
        st = take_point(s, element, err);
    if (kind == PASSING_POINTS) forget_point(s);
    return st;
}

static cbx_status read_tree(streaming *s, const cbx__json_source *source, const char *what, cbx_json **out,
                            cbx_err *err)
{
    const cbx__json_sieve sieve = { wants, take, s };
    cbx__json_reader *r = NULL;
    cbx_json *v = NULL;
    cbx_status st = cbx__json_reader_create(source, 0, what, &r, err);

    if (st) return st;
    cbx__json_reader_sieve(r, &sieve);
    st = cbx__json_reader_value(r, &v, err);
    if (!st) st = cbx__json_reader_end(r, err);
    cbx__json_reader_free(r);
    if (st)
        cbx_json_unref(v);
    else
        *out = v;
    return st;
}

static cbx_status read_run(streaming *s, const cbx_json *v, cbx_err *err)
{
    cbx_json *points = NULL;
    cbx_status st = cbx__run_read_front(v, s->run, err);

    if (!st) st = cbx_json_need_array(v, "points", "", &points, err);
    if (!st && s->held) st = cbx_fail(err, s->held, "%s", s->why.message);
    return st ? st : cbx__run_read_rest(v, s->run, err);
}

static cbx_status stream(streaming *s, const cbx_allocator *al, const cbx__json_source *source, const char *what,
                         cbx_run **out, cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT;
    cbx_json *v = NULL;
    cbx_status st = cbx__run_new(al, &s->run, &why);

    if (st) return cbx__run_refuse(what, st, &why, err);
    cbx_arena_init(&s->arena, al);
    cbx_names_init(&s->words, al);
    s->run->private_tree = true;
    st = read_tree(s, source, what, &v, err);
    if (!st && (st = read_run(s, v, &why))) st = cbx__run_refuse(what, st, &why, err);
    s->run->private_tree = false;
    forget_point(s);
    cbx_names_release(&s->words, &s->run->words);
    cbx_json_unref(v);
    if (!st) st = cbx__run_trim(s->run, err);
    if (st)
        cbx_run_free(s->run);
    else
        *out = s->run;
    return st;
}

cbx_status cbx__run_stream(const cbx_allocator *al, const cbx__json_source *source, const char *what,
                           cbx__run_point_fn fn, void *user, cbx_run **out, cbx_err *err)
{
    streaming s = { .fn = fn, .user = user, .why = CBX_ERR_INIT };

    return stream(&s, al, source, what, out, err);
}

/* --- whole runs --- */

cbx_status cbx__run_from_source(const cbx_allocator *al, const cbx__json_source *source, const char *what, bool samples,
                                cbx_run **out, cbx_err *err)
{
    streaming s = { .samples = samples, .why = CBX_ERR_INIT };

    return stream(&s, al, source, what, out, err);
}

static cbx_status read_file(cbx_ctx *ctx, const char *path, bool samples, cbx_run **out, cbx_err *err)
{
    cbx__json_file file;
    cbx__json_source source;
    cbx_status st = cbx__json_file_open(&file, path, false, err);

    if (st) return st;
    source = cbx__json_file_source(&file);
    st = cbx__run_from_source(cbx_ctx_allocator(ctx), &source, path, samples, out, err);
    cbx__json_file_end(&file, NULL);
    return st;
}

cbx_status cbx_run_read(cbx_ctx *ctx, const char *path, cbx_run **out, cbx_err *err)
{
    return read_file(ctx, path, true, out, err);
}

cbx_status cbx__run_read_bare(cbx_ctx *ctx, const char *path, cbx_run **out, cbx_err *err)
{
    return read_file(ctx, path, false, out, err);
}
