/* Rows of one case, point and machine. */
#include "suites/nitrix/feeds/feed_rows.h"

#include <stdlib.h>
#include <string.h>

static void *watched_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    cbx__feed_memory *m = user;
    void *p = m->base.resize(m->base.user, ptr, old_size, new_size);
    if (!p && new_size) m->failed = true;
    return p;
}

void cbx__feed_begin(cbx__feed_memory *m, cbx_ctx *ctx)
{
    *m = (cbx__feed_memory){ .base = *cbx_ctx_allocator(ctx) };
    cbx_arena_init(&m->arena, &(cbx_allocator){ watched_resize, m });
}

cbx_status cbx__feed_end(cbx__feed_memory *m, cbx_status st, cbx_json *document, const char *what, cbx_json **out,
                         cbx_err *err)
{
    if (!st && (m->failed || cbx_json_check(document, NULL))) st = cbx_fail_nomem(err, what);
    cbx_arena_clear(&m->arena);
    if (st)
        cbx_json_unref(document);
    else
        *out = document;
    return st;
}

const char *cbx__feed_point(cbx_arena *arena, const char *json)
{
    cbx_json *point = NULL;
    const char *copy = NULL;
    cbx_text text;

    if (cbx_json_parse(json, strlen(json), "point", &point, NULL)) return NULL;
    cbx_json_remove(point, "seed");
    cbx_text_init(&text, &arena->al);
    cbx_json_write(point, CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING | CBX_JSON_SORT_KEYS, &text);
    if (!text.status) copy = cbx_arena_strdup(arena, cbx_text_str(&text));
    cbx_text_clear(&text);
    cbx_json_unref(point);
    return copy;
}

cbx_json *cbx__feed_point_json(const cbx__feed_rows *f)
{
    cbx_json *point = NULL;

    (void)cbx_json_parse(f->point, strlen(f->point), "point", &point, NULL); /* it has been read before */
    return point;
}

const char *cbx__feed_name(cbx_arena *arena, const cbx_row *row)
{
    if (!row->variant || !strcmp(row->variant, "default")) return cbx_arena_strdup(arena, row->baseline);
    return cbx_arena_printf(arena, "%s (%s)", row->baseline, row->variant);
}

static const char *machine_of(const cbx_row *row) { return row->machine ? row->machine : ""; }

static int by_run(const void *a, const void *b)
{
    const cbx_row *x = *(const cbx_row *const *)a, *y = *(const cbx_row *const *)b;
    int c = strcmp(x->run_id, y->run_id);
    return c ? c : (x > y) - (x < y); /* rows of one array: their order in it */
}

/* Rows of the case and its machine, sorted; a failure lists what there is. */
static cbx_status select_case(cbx_arena *arena, const cbx_rows *rows, const cbx__feed_want *w, cbx__feed_rows *out,
                              cbx_err *err)
{
    size_t of_case = 0, fast = 0;

    out->rows = cbx_arena_calloc(arena, rows->count, sizeof *out->rows);
    if (!out->rows) return cbx_fail_nomem(err, "rows");
    for (size_t i = 0; i < rows->count; i++) {
        const cbx_row *r = &rows->rows[i];
        if (strcmp(r->case_name, w->case_name) != 0 || cbx_row_is_limit(r)) continue;
        of_case++;
        if (w->without_fast && !strcmp(cbx_json_get_string(r->provenance, "coverage_mode", "full"), "fast"))
            fast++;
        else if (!w->machine || strncmp(machine_of(r), w->machine, strlen(w->machine)) == 0)
            out->rows[out->n++] = r;
    }
    if (!of_case)
        return cbx_fail(err, CBX_ENOENT, "no row is of the case '%s'%s%s", w->case_name,
                        rows->count ? "; the first one is of " : "", rows->count ? rows->rows[0].case_name : "");
    if (fast == of_case)
        return cbx_fail(err, CBX_EUNSUPPORTED,
                        "all rows of '%s' are of runs that skip slow baselines: measure those too", w->case_name);
    if (!out->n) return cbx_fail(err, CBX_ENOENT, "no row of '%s' is of the machine '%s'", w->case_name, w->machine);
    qsort(out->rows, out->n, sizeof *out->rows, by_run);
    out->machine = machine_of(out->rows[out->n - 1]);
    return CBX_OK;
}

/* Keeps the rows at the point that is wanted, else at the representative one. */
static cbx_status select_point(cbx_arena *arena, const cbx__feed_want *w, cbx__feed_rows *f, cbx_err *err)
{
    const char *first = NULL;
    size_t kept = 0, newest = f->n;

    while (newest > 0 && !f->rows[newest - 1]->representative) newest--;
    f->point = w->point ? w->point : cbx__feed_point(arena, f->rows[(newest ? newest : f->n) - 1]->point_json);
    for (size_t i = 0; i < f->n && f->point; i++) {
        const char *point = cbx__feed_point(arena, f->rows[i]->point_json);
        if (!point) return cbx_fail_nomem(err, "a point");
        if (!first) first = point;
        if (!strcmp(point, f->point) && !strcmp(machine_of(f->rows[i]), f->machine)) f->rows[kept++] = f->rows[i];
    }
    if (!f->point) return cbx_fail_nomem(err, "a point");
    f->n = kept;
    if (kept) return CBX_OK;
    return cbx_fail(err, CBX_ENOENT, "no row of '%s' is at the point %s; there is %s", w->case_name, f->point, first);
}

cbx_status cbx__feed_select(cbx_arena *arena, const cbx_rows *rows, const cbx__feed_want *want, cbx__feed_rows *out,
                            cbx_err *err)
{
    *out = (cbx__feed_rows){ .n = 0 };
    cbx_status st = select_case(arena, rows, want, out, err);
    if (!st) st = select_point(arena, want, out, err);
    if (st) return st;
    out->newest = cbx_arena_calloc(arena, out->n, sizeof *out->newest);
    if (!out->newest) return cbx_fail_nomem(err, "the newest rows");
    for (size_t i = 0; i < out->n; i++) {
        const cbx_row *r = out->rows[i], *other;
        size_t k = 0;
        for (; k < out->nnewest; k++) {
            other = out->newest[k];
            if (!strcmp(other->platform, r->platform) && !strcmp(other->baseline, r->baseline) &&
                !strcmp(other->variant ? other->variant : "default", r->variant ? r->variant : "default"))
                break;
        }
        if (k == out->nnewest)
            out->newest[out->nnewest++] = r;
        else if (cbx_row_is_good(r) || !cbx_row_is_good(out->newest[k]))
            out->newest[k] = r;
    }
    return CBX_OK;
}
