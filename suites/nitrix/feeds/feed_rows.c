/* Rows of one case, point and machine. */
#include "suites/nitrix/feeds/feed_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *watched_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    cbx__memory_watch *w = user;
    void *p = w->base.resize(w->base.user, ptr, old_size, new_size);
    if (!p && new_size) w->failed = true;
    return p;
}

void cbx__memory_watch_init(cbx__memory_watch *w, const cbx_allocator *base)
{
    *w = (cbx__memory_watch){ .base = *base, .al = { watched_resize, w } };
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

const char *cbx__feed_name(cbx_arena *arena, const cbx_row *row)
{
    if (!row->variant || !strcmp(row->variant, "default")) return cbx_arena_strdup(arena, row->baseline);
    return cbx_arena_printf(arena, "%s (%s)", row->baseline, row->variant);
}

static bool is_fast(const cbx_row *row)
{
    return !strcmp(cbx_json_get_string(row->provenance, "coverage_mode", "full"), "fast");
}

static const char *machine_of(const cbx_row *row) { return row->machine ? row->machine : ""; }

static bool begins(const char *s, const char *head) { return strncmp(s, head, strlen(head)) == 0; }

static int by_run(const void *a, const void *b)
{
    const cbx_row *x = *(const cbx_row *const *)a, *y = *(const cbx_row *const *)b;
    int c = strcmp(x->run_id, y->run_id);
    return c ? c : (x > y) - (x < y); /* rows of one array: their order in it */
}

/* Rows of the case, and of its machine; an error without any lists what there is. */
static cbx_status take_case(cbx_arena *arena, const cbx_rows *rows, const cbx__feed_want *w, cbx__feed_rows *out,
                            cbx_err *err)
{
    size_t of_case = 0, fast = 0;

    out->rows = cbx_arena_calloc(arena, rows->count, sizeof *out->rows);
    if (!out->rows) return cbx_fail(err, CBX_ENOMEM, "no memory for the rows of '%s'", w->case_name);
    for (size_t i = 0; i < rows->count; i++) {
        const cbx_row *r = &rows->rows[i];
        if (strcmp(r->case_name, w->case_name) != 0 || cbx_row_is_limit(r)) continue;
        of_case++;
        if (w->without_fast && is_fast(r)) {
            fast++;
            continue;
        }
        if (!w->machine || begins(machine_of(r), w->machine)) out->rows[out->n++] = r;
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

static const char *representative_point(cbx_arena *arena, const cbx__feed_rows *f)
{
    for (size_t i = f->n; i-- > 0;)
        if (f->rows[i]->representative) return cbx__feed_point(arena, f->rows[i]->point_json);
    return cbx__feed_point(arena, f->rows[f->n - 1]->point_json);
}

static cbx_status take_point(cbx_arena *arena, const cbx__feed_want *w, cbx__feed_rows *f, cbx_err *err)
{
    const char *first = NULL;
    size_t kept = 0;

    f->point = w->point ? w->point : representative_point(arena, f);
    if (!f->point) return cbx_fail(err, CBX_ENOMEM, "no memory for a point of '%s'", w->case_name);
    for (size_t i = 0; i < f->n; i++) {
        const char *point = cbx__feed_point(arena, f->rows[i]->point_json);
        if (!point) return cbx_fail(err, CBX_ENOMEM, "no memory for a point of '%s'", w->case_name);
        if (!first) first = point;
        if (!strcmp(point, f->point) && !strcmp(machine_of(f->rows[i]), f->machine)) f->rows[kept++] = f->rows[i];
    }
    f->n = kept;
    if (kept) return CBX_OK;
    return cbx_fail(err, CBX_ENOENT, "no row of '%s' is at the point %s; there is %s", w->case_name, f->point, first);
}

static bool same_attempt(const cbx_row *a, const cbx_row *b)
{
    const char *va = a->variant ? a->variant : "default", *vb = b->variant ? b->variant : "default";
    return !strcmp(a->platform, b->platform) && !strcmp(a->baseline, b->baseline) && !strcmp(va, vb);
}

static cbx_status take_newest(cbx_arena *arena, cbx__feed_rows *f, cbx_err *err)
{
    f->newest = cbx_arena_calloc(arena, f->n, sizeof *f->newest);
    if (!f->newest) return cbx_fail(err, CBX_ENOMEM, "no memory for the newest rows");
    for (size_t i = 0; i < f->n; i++) {
        size_t k = 0;
        while (k < f->nnewest && !same_attempt(f->newest[k], f->rows[i])) k++;
        if (k == f->nnewest)
            f->newest[f->nnewest++] = f->rows[i];
        else if (cbx_row_is_good(f->rows[i]) || !cbx_row_is_good(f->newest[k]))
            f->newest[k] = f->rows[i];
    }
    return CBX_OK;
}

cbx_status cbx__feed_select(cbx_arena *arena, const cbx_rows *rows, const cbx__feed_want *want, cbx__feed_rows *out,
                            cbx_err *err)
{
    *out = (cbx__feed_rows){ .n = 0 };
    cbx_status st = take_case(arena, rows, want, out, err);
    if (!st) st = take_point(arena, want, out, err);
    return st ? st : take_newest(arena, out, err);
}
