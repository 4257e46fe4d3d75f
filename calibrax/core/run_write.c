/* Run files: written in pieces, since a run of 100 MB would take ten times that as one tree and one text. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/core/run_parts.h"
#include "calibrax/core/run_stream.h"

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
    if (!s->status && out->status) s->status = cbx_fail_nomem(&s->err, NULL);
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

/* Who takes the text. */
typedef struct writing {
    cbx_json_pour_fn pour;
    void *user;
    cbx_text *out;
    cbx_err *err;
} writing;

/* Samples come last, one at a time: there may be millions. */
static cbx_status put_metric(const cbx_metric *m, const writing *w)
{
    const cbx_metric bare = { m->value, m->lower, m->upper, NULL, 0 };
    cbx_json *v = cbx__metric_json(&bare, NULL), *value;
    const char *key;
    size_t i = 0;

    if (!v) return cbx_fail_nomem(w->err, NULL);
    cbx_text_putc(w->out, '{');
    for (; cbx_json_member(v, i, &key, &value); i++) {
        put_key(i, key, 5, w->out);
        cbx_json_write_part(value, FILE_FLAGS, 5, NULL, NULL, w->out);
    }
    if (m->samples) {
        put_key(i, "samples", 5, w->out);
        cbx_text_putc(w->out, '[');
        for (size_t k = 0; k < m->nsamples; k++) {
            if (k) cbx_text_putc(w->out, ',');
            cbx_json_write_break(FILE_FLAGS, 6, w->out);
            cbx_json_write_double(m->samples[k], FILE_FLAGS, w->out);
            w->pour(w->user, w->out);
        }
        if (m->nsamples) cbx_json_write_break(FILE_FLAGS, 5, w->out);
        cbx_text_putc(w->out, ']');
    }
    cbx_json_write_break(FILE_FLAGS, 4, w->out);
    cbx_text_putc(w->out, '}');
    cbx_json_unref(v);
    return CBX_OK;
}

/* A point that has only members that are known here. */
static cbx_status put_known(const cbx_point *p, const writing *w)
{
    const cbx_point bare = { p->name, p->scenario, p->tags, p->ntags, NULL, 0 };
    cbx_json *v = cbx__run_point_json(&bare, NULL), *value;
    const char *key;
    cbx_status st = v ? CBX_OK : cbx_fail_nomem(w->err, NULL);

    cbx_text_putc(w->out, '{');
    for (size_t i = 0; !st && cbx_json_member(v, i, &key, &value); i++) {
        put_key(i, key, 3, w->out);
        if (strcmp(key, "metrics") != 0) {
            cbx_json_write_part(value, FILE_FLAGS, 3, w->pour, w->user, w->out);
            continue;
        }
        cbx_text_putc(w->out, '{');
        for (size_t k = 0; !st && k < p->nmetrics; k++) {
            put_key(k, p->metrics[k].name, 4, w->out);
            st = put_metric(&p->metrics[k].metric, w);
        }
        if (p->nmetrics) cbx_json_write_break(FILE_FLAGS, 3, w->out);
        cbx_text_putc(w->out, '}');
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
    if (!v) return cbx_fail_nomem(w->err, NULL);
    cbx_json_write_part(v, FILE_FLAGS, 2, w->pour, w->user, w->out);
    cbx_json_unref(v);
    return CBX_OK;
}

/* --- the file --- */

static void pour_points(sink *s, const cbx_run *run, cbx_text *out)
{
    const writing w = { pour, s, out, &s->err };

    cbx_text_putc(out, '[');
    for (size_t i = 0; !s->status && i < run->npoints; i++) {
        cbx_status st = put_point(&run->points[i].view, run->points[i].raw, i == 0, &w);
        if (!s->status) s->status = st;
        pour(s, out);
    }
    if (run->npoints) cbx_json_write_break(FILE_FLAGS, 1, out);
    cbx_text_putc(out, ']');
}

static void pour_run(sink *s, const cbx_run *run, const cbx_json *head, cbx_text *out)
{
    const char *key;
    cbx_json *value;

    cbx_text_putc(out, '{');
    for (size_t i = 0; cbx_json_member(head, i, &key, &value); i++) {
        put_key(i, key, 1, out);
        if (strcmp(key, "points") == 0)
            pour_points(s, run, out);
        else
            cbx_json_write_part(value, FILE_FLAGS, 1, pour, s, out);
    }
    cbx_json_write_break(FILE_FLAGS, 0, out);
    cbx_text_putc(out, '}');
    pour_all(s, out);
}

cbx_status cbx__run_write_to(const cbx_allocator *al, const cbx_run *run, const char *path, const char *shown,
                             cbx_err *err)
{
    char buf[CBX_TIME_SIZE];
    cbx_json *head = cbx__run_head_json(run, cbx__run_time_text(run, buf));
    sink s = { .path = shown, .file = head ? fopen(path, "wbe") : NULL };
    cbx_text text;

    cbx_text_init(&text, al);
    if (!head) {
        s.status = cbx_fail_nomem(&s.err, NULL);
    } else if (!s.file) {
        s.status = cbx_fail_errno(&s.err, errno, "cannot write '%s'", shown);
    } else {
        setbuf(s.file, NULL); /* it comes in pieces */
        pour_run(&s, run, head, &text);
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
