/*
 * Run files: poured as they come, since a run of 100 MB would take ten times that as one tree and one text.  The points are those of the
 * run, or stand on disk as the text that they come to.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/core/run_parts.h"
#include "calibrax/core/run_spool.h"

#define PIECE_BYTES ((size_t)1 << 20)
#define FILE_FLAGS  (CBX_JSON_INDENT2 | CBX_JSON_ASCII)

typedef struct sink {
    FILE *file;
    const char *path;
    cbx_status status;
    cbx_err err;
} sink;

/* The first fault stays, and what comes behind it is thrown away. */
static void pour_all(sink *s, cbx_text *out)
{
    if (!s->status && out->status) s->status = cbx__record_no_memory(&s->err);
    if (!s->status && out->len && fwrite(out->data, out->len, 1, s->file) != 1)
        s->status = cbx_fail_errno(&s->err, errno, "cannot write '%s'", s->path);
    cbx_text_reset(out);
}

static void pour(void *user, cbx_text *out)
{
    if (out->status || out->len >= PIECE_BYTES) pour_all(user, out);
}

static void put_key(size_t i, const char *key, int level, cbx_text *out)
{
    if (i) cbx_text_putc(out, ',');
    cbx_json_write_break(FILE_FLAGS, level, out);
    cbx_json_write_string(key, strlen(key), FILE_FLAGS, out);
    cbx_text_puts(out, ": ");
}

/* Where samples come from that stand before those of a metric, and who takes the text. */
typedef struct writing {
    const cbx__waiting *waiting; /* of each metric of the point; NULL: nothing waits */
    const cbx__scratch *scratch;
    cbx_json_pour_fn pour;
    void *user;
    cbx_text *out;
    cbx_err *err;
} writing;

static void put_doubles(const double *v, size_t n, bool first, const writing *w)
{
    for (size_t i = 0; i < n; i++) {
        if (i || !first) cbx_text_putc(w->out, ',');
        cbx_json_write_break(FILE_FLAGS, 6, w->out);
        cbx_json_write_double(v[i], FILE_FLAGS, w->out);
        w->pour(w->user, w->out);
    }
}

static cbx_status put_block(const writing *w, uint64_t at, size_t n, bool first)
{
    double part[2048];

    for (size_t done = 0; done < n;) {
        size_t left = n - done, wanted = left < CBX_LEN(part) ? left : CBX_LEN(part);
        cbx_status st = cbx__scratch_need(w->scratch, at + done * sizeof *part, part, wanted * sizeof *part, w->err);
        if (st) return st;
        put_doubles(part, wanted, first && !done, w);
        done += wanted;
    }
    return CBX_OK;
}

static cbx_status put_samples(const cbx_metric *m, const cbx__waiting *before, const writing *w)
{
    size_t n = before ? before->nplaces : 0;
    cbx_status st = CBX_OK;

    cbx_text_putc(w->out, '[');
    for (size_t i = 0; !st && i < n; i++) st = put_block(w, before->places[i], before->each, i == 0);
    put_doubles(m->samples, m->nsamples, n == 0, w);
    if (n || m->nsamples) cbx_json_write_break(FILE_FLAGS, 5, w->out);
    cbx_text_putc(w->out, ']');
    return st;
}

/* Samples come last, one at a time: there may be millions. */
static cbx_status put_metric(const cbx_metric *m, const cbx__waiting *before, const writing *w)
{
    const cbx_metric bare = { m->value, m->lower, m->upper, NULL, 0 };
    cbx_json *v = cbx__metric_json(&bare, NULL), *value;
    cbx_status st = v ? CBX_OK : cbx__record_no_memory(w->err);
    const char *key;
    size_t i = 0;

    cbx_text_putc(w->out, '{');
    for (; cbx_json_member(v, i, &key, &value); i++) {
        put_key(i, key, 5, w->out);
        cbx_json_write_part(value, FILE_FLAGS, 5, NULL, NULL, w->out);
    }
    if (!st && m->samples) {
        put_key(i, "samples", 5, w->out);
        st = put_samples(m, before, w);
    }
    cbx_json_write_break(FILE_FLAGS, 4, w->out);
    cbx_text_putc(w->out, '}');
    cbx_json_unref(v);
    return st;
}

static cbx_status put_metrics(const cbx_point *p, const writing *w)
{
    cbx_status st = CBX_OK;

    cbx_text_putc(w->out, '{');
    for (size_t i = 0; !st && i < p->nmetrics; i++) {
        put_key(i, p->metrics[i].name, 4, w->out);
        st = put_metric(&p->metrics[i].metric, w->waiting ? &w->waiting[i] : NULL, w);
    }
    if (p->nmetrics) cbx_json_write_break(FILE_FLAGS, 3, w->out);
    cbx_text_putc(w->out, '}');
    return st;
}

/* A point that says no more than is known here. */
static cbx_status put_known(const cbx_point *p, const writing *w)
{
    const cbx_point bare = { p->name, p->scenario, p->tags, p->ntags, NULL, 0 };
    cbx_json *v = cbx__run_point_json(&bare, NULL), *value;
    const char *key;
    cbx_status st = v ? CBX_OK : cbx__record_no_memory(w->err);

    cbx_text_putc(w->out, '{');
    for (size_t i = 0; !st && cbx_json_member(v, i, &key, &value); i++) {
        put_key(i, key, 3, w->out);
        if (strcmp(key, "metrics") == 0)
            st = put_metrics(p, w);
        else
            cbx_json_write_part(value, FILE_FLAGS, 3, w->pour, w->user, w->out);
    }
    cbx_json_write_break(FILE_FLAGS, 2, w->out);
    cbx_text_putc(w->out, '}');
    cbx_json_unref(v);
    return st;
}

/* The n-th point of the list, with what stands before it. */
static cbx_status put_point(const cbx_point *view, const cbx_json *raw, bool first, const writing *w)
{
    cbx_json *v;

    if (!first) cbx_text_putc(w->out, ',');
    cbx_json_write_break(FILE_FLAGS, 2, w->out);
    if (!raw) return put_known(view, w);
    v = cbx__run_point_json(view, raw);
    if (!v) return cbx__record_no_memory(w->err);
    cbx_json_write_part(v, FILE_FLAGS, 2, w->pour, w->user, w->out);
    cbx_json_unref(v);
    return CBX_OK;
}

/* --- points on disk --- */

#define PENDING_BYTES ((size_t)256 << 10)

void cbx__spooled_init(cbx__spooled *p, const cbx_allocator *al)
{
    *p = (cbx__spooled){ 0 };
    cbx_text_init(&p->pending, al);
}

void cbx__spooled_clear(cbx__spooled *p)
{
    cbx_mem_free(&p->pending.al, p->pieces, p->room * sizeof *p->pieces);
    cbx_text_clear(&p->pending);
    *p = (cbx__spooled){ .pending = p->pending };
}

/* Text to the disk: it follows the last piece if nobody wrote in between. */
static cbx_status put_away(cbx__spooled *p, cbx__scratch *scratch, cbx_err *err)
{
    struct cbx__piece *last = p->npieces ? &p->pieces[p->npieces - 1] : NULL, *more;
    uint64_t at = 0;
    cbx_status st = cbx__scratch_add(scratch, p->pending.data, p->pending.len, &at, err);

    if (st) return st;
    if (last && last->at + last->len == at) {
        last->len += p->pending.len;
        cbx_text_reset(&p->pending);
        return CBX_OK;
    }
    if (p->npieces == p->room) {
        size_t room = p->room ? 2 * p->room : 4;
        more = cbx_mem_resize(&p->pending.al, p->pieces, p->room * sizeof *more, room * sizeof *more);
        if (!more) return cbx__record_no_memory(err);
        p->pieces = more;
        p->room = room;
    }
    p->pieces[p->npieces++] = (struct cbx__piece){ at, p->pending.len };
    cbx_text_reset(&p->pending);
    return CBX_OK;
}

#define REST_BYTES ((size_t)4 << 10)

cbx_status cbx__spooled_rest(cbx__spooled *p, cbx__scratch *scratch, cbx_err *err)
{
    cbx_status st;

    if (p->pending.len < REST_BYTES) return CBX_OK;
    st = put_away(p, scratch, err);
    if (!st) cbx_text_clear(&p->pending);
    return st;
}

typedef struct spooling {
    cbx__spooled *to;
    cbx__scratch *scratch;
    cbx_status status;
    cbx_err *err;
} spooling;

static void pour_away(void *user, cbx_text *out)
{
    spooling *s = user;

    if (!s->status && out->len >= PENDING_BYTES) s->status = put_away(s->to, s->scratch, s->err);
}

static cbx_status add(cbx__spooled *p, cbx__scratch *scratch, const cbx_point *point, const cbx__waiting *waiting,
                      const cbx_json *raw, cbx_err *err)
{
    spooling s = { p, scratch, CBX_OK, err };
    const writing w = { waiting, scratch, pour_away, &s, &p->pending, err };
    cbx_status st = put_point(point, raw, p->npoints == 0, &w);

    if (!st && p->pending.status) st = cbx__record_no_memory(err);
    if (st) return st;
    pour_away(&s, &p->pending);
    p->npoints++;
    return s.status;
}

/* As a run would take them; the samples stay where they are. */
static cbx_status check_metrics(cbx_arena *arena, const cbx_point *point, const cbx_named_metric **out, cbx_err *err)
{
    cbx_named_metric *bare = cbx_arena_calloc(arena, point->nmetrics, sizeof *bare);
    cbx_status st;

    if (!bare) return cbx__record_no_memory(err);
    for (size_t i = 0; i < point->nmetrics; i++) {
        bare[i] = point->metrics[i];
        bare[i].metric.samples = NULL;
    }
    st = cbx__record_metrics(arena, bare, point->nmetrics, out, err);
    for (size_t i = 0; i < point->nmetrics; i++) bare[i] = point->metrics[i];
    if (!st) *out = bare;
    return st;
}

cbx_status cbx__spooled_add(cbx__spooled *p, cbx__scratch *scratch, const cbx_point *point, const cbx__waiting *waiting,
                            cbx_err *err)
{
    cbx_arena arena;
    cbx_point own = *point;
    cbx_status st;

    cbx_arena_init(&arena, &p->pending.al);
    st = cbx__record_text(&arena, point->name, "point name", &own.name, err);
    if (!st) st = cbx__record_text(&arena, point->scenario, "scenario", &own.scenario, err);
    if (!st) st = cbx__record_tags(&arena, point->tags, point->ntags, &own.tags, err);
    if (!st) st = check_metrics(&arena, point, &own.metrics, err);
    if (!st) st = add(p, scratch, &own, waiting, NULL, err);
    cbx_arena_clear(&arena);
    return st;
}

cbx_status cbx__spooled_add_json(cbx__spooled *p, cbx__scratch *scratch, const cbx_json *point, const char *path,
                                 cbx_err *err)
{
    cbx_arena arena;
    cbx_json *raw = NULL;
    cbx_point view;
    cbx_status st;

    cbx_arena_init(&arena, &p->pending.al);
    st = cbx__run_view_point(point, path, NULL, &arena, &view, &raw, err);
    if (!st) st = add(p, scratch, &view, NULL, raw, err);
    cbx_arena_clear(&arena);
    return st;
}

/* Metrics whose samples stand in the list get them. */
static cbx_status join_samples(const cbx_json *point, const cbx__long_samples *list, size_t n, cbx_arena *arena,
                               cbx_point *view, cbx__waiting *waiting, cbx_err *err)
{
    const cbx_json *metrics = cbx_json_get(point, "metrics");
    cbx_named_metric *own = cbx_arena_calloc(arena, view->nmetrics, sizeof *own);

    if (!own) return cbx__record_no_memory(err);
    for (size_t i = 0; i < view->nmetrics; i++) {
        const cbx_json *samples = cbx_json_get(cbx_json_get(metrics, view->metrics[i].name), "samples");
        own[i] = view->metrics[i];
        for (size_t k = 0; k < n; k++) {
            if (list[k].array != samples) continue;
            own[i].metric.samples = list[k].rest;
            own[i].metric.nsamples = list[k].nrest;
            waiting[i] = list[k].waiting;
        }
    }
    view->metrics = own;
    return CBX_OK;
}

cbx_status cbx__spooled_add_long(cbx__spooled *p, cbx__scratch *scratch, const cbx_json *point, const char *path,
                                 const cbx__long_samples *list, size_t n, cbx_err *err)
{
    cbx_arena arena;
    cbx_json *raw = NULL;
    cbx__waiting *waiting = NULL;
    cbx_point view;
    cbx_status st;

    cbx_arena_init(&arena, &p->pending.al);
    st = cbx__run_view_point(point, path, NULL, &arena, &view, &raw, err);
    if (!st && !(waiting = cbx_arena_calloc(&arena, view.nmetrics, sizeof *waiting))) st = cbx__record_no_memory(err);
    if (!st) st = join_samples(point, list, n, &arena, &view, waiting, err);
    if (!st) st = add(p, scratch, &view, waiting, raw, err);
    cbx_arena_clear(&arena);
    return st;
}

/* --- the file --- */

/* Points that stand on disk. */
typedef struct elsewhere {
    const cbx__spooled *points;
    const cbx__scratch *scratch;
} elsewhere;

static void pour_elsewhere(sink *s, const elsewhere *from, cbx_text *out)
{
    char block[16384];
    const cbx__spooled *p = from->points;

    for (size_t i = 0; i < p->npieces; i++) {
        for (uint64_t done = 0; !s->status && done < p->pieces[i].len;) {
            uint64_t left = p->pieces[i].len - done;
            size_t got = left < sizeof block ? (size_t)left : sizeof block;
            s->status = cbx__scratch_need(from->scratch, p->pieces[i].at + done, block, got, &s->err);
            if (!s->status) cbx_text_add(out, block, got);
            pour(s, out);
            done += got;
        }
    }
    cbx_text_add(out, p->pending.data, p->pending.len);
}

static void pour_points(sink *s, const cbx_run *run, const elsewhere *from, cbx_text *out)
{
    const writing w = { NULL, NULL, pour, s, out, &s->err };
    size_t n = from ? from->points->npoints : run->npoints;

    cbx_text_putc(out, '[');
    if (from) pour_elsewhere(s, from, out);
    for (size_t i = 0; !s->status && !from && i < n; i++) {
        cbx_status st = put_point(&run->points[i].view, run->points[i].raw, i == 0, &w);
        if (!s->status) s->status = st;
        pour(s, out);
    }
    if (n) cbx_json_write_break(FILE_FLAGS, 1, out);
    cbx_text_putc(out, ']');
}

static void pour_run(sink *s, const cbx_run *run, const elsewhere *from, const cbx_json *head, cbx_text *out)
{
    const char *key;
    cbx_json *value;

    cbx_text_putc(out, '{');
    for (size_t i = 0; cbx_json_member(head, i, &key, &value); i++) {
        put_key(i, key, 1, out);
        if (strcmp(key, "points") == 0)
            pour_points(s, run, from, out);
        else
            cbx_json_write_part(value, FILE_FLAGS, 1, pour, s, out);
    }
    cbx_json_write_break(FILE_FLAGS, 0, out);
    cbx_text_putc(out, '}');
    pour_all(s, out);
}

static cbx_status write_to(const cbx_allocator *al, const cbx_run *run, const elsewhere *from, const char *path,
                           const char *shown, cbx_err *err)
{
    char buf[CBX_TIME_SIZE];
    cbx_json *head = cbx__run_head_json(run, cbx__run_time_text(run, buf));
    sink s = { .path = shown, .file = head ? fopen(path, "wbe") : NULL };
    cbx_text text;

    cbx_text_init(&text, al);
    if (!head) {
        s.status = cbx__record_no_memory(&s.err);
    } else if (!s.file) {
        s.status = cbx_fail_errno(&s.err, errno, "cannot write '%s'", shown);
    } else {
        setbuf(s.file, NULL); /* it comes in pieces */
        pour_run(&s, run, from, head, &text);
        if (fclose(s.file) != 0 && !s.status) s.status = cbx_fail_errno(&s.err, errno, "cannot write '%s'", shown);
    }
    cbx_text_clear(&text);
    cbx_json_unref(head);
    return s.status ? cbx_fail(err, s.status, "%s", s.err.message) : CBX_OK;
}

cbx_status cbx__run_write_to(const cbx_allocator *al, const cbx_run *run, const char *path, const char *shown,
                             cbx_err *err)
{
    return write_to(al, run, NULL, path, shown, err);
}

cbx_status cbx_run_write(cbx_ctx *ctx, const cbx_run *run, const char *path, cbx_err *err)
{
    cbx_replacement *file = NULL;
    cbx_status st = cbx_replacement_begin(ctx, path, &file, err);

    if (st) return st;
    st = write_to(cbx_ctx_allocator(ctx), run, NULL, cbx_replacement_path(file), path, err);
    if (!st) return cbx_replacement_commit(file, err);
    cbx_replacement_discard(file);
    return st;
}

cbx_status cbx__spooled_write(const cbx_allocator *al, const cbx_run *head, const cbx__spooled *p,
                              const cbx__scratch *scratch, const char *path, const char *shown, cbx_err *err)
{
    const elsewhere from = { p, scratch };

    return write_to(al, head, &from, path, shown, err);
}
