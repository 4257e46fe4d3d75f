/*
 * Names are gathered, sorted and numbered by their first appearance; then every value goes to its cell.  O(n log n) for n values.
 */
#include "calibrax/validation/framework.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/arena.h"

typedef struct word {
    const char *text;
    size_t order; /* of its first appearance among all that were gathered; then its place */
} word;

typedef struct words {
    word *sorted; /* by text, each once */
    size_t n;
    const char **placed; /* by place */
} words;

struct cbx_framework_metrics {
    cbx_allocator al;
    cbx_arena arena;
    words frameworks, metrics;
    double *values;
    bool *measured;
};

static int by_text(const void *a, const void *b)
{
    const word *x = a, *y = b;
    int c = strcmp(x->text, y->text);
    return c ? c : (x->order > y->order) - (x->order < y->order);
}

static int by_order(const void *a, const void *b)
{
    const word *const *x = a, *const *y = b;
    return ((*x)->order > (*y)->order) - ((*x)->order < (*y)->order);
}

/* Each word once, numbered by first appearance. */
static bool settle(cbx_arena *arena, cbx_arena *scratch, words *w)
{
    word **order = cbx_arena_calloc(scratch, w->n + 1, sizeof *order);
    size_t n = 0;

    if (!order) return false;
    qsort(w->sorted, w->n, sizeof *w->sorted, by_text);
    for (size_t i = 0; i < w->n; i++) {
        if (n == 0 || strcmp(w->sorted[n - 1].text, w->sorted[i].text) != 0) w->sorted[n++] = w->sorted[i];
    }
    w->n = n;
    w->placed = cbx_arena_calloc(arena, n + 1, sizeof *w->placed);
    if (!w->placed) return false;
    for (size_t i = 0; i < n; i++) order[i] = &w->sorted[i];
    qsort(order, n, sizeof *order, by_order);
    for (size_t i = 0; i < n; i++) {
        order[i]->order = i;
        w->placed[i] = cbx_arena_strdup(arena, order[i]->text);
        if (!w->placed[i]) return false;
    }
    return true;
}

/* The place of a word; SIZE_MAX: none of them. */
static size_t place_of(const words *w, const char *text)
{
    size_t lo = 0, hi = w->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(w->sorted[mid].text, text);
        if (c == 0) return w->sorted[mid].order;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return SIZE_MAX;
}

static const char *framework_of(const cbx_framework_opts *o, const cbx_point *p)
{
    const char *tag = cbx_point_tag(p, o->group_tag ? o->group_tag : "framework");
    return tag ? tag : p->name;
}

static cbx_status gather(cbx_framework_metrics *f, cbx_arena *scratch, const cbx_run *run, const cbx_framework_opts *o,
                         cbx_err *err)
{
    size_t npoints = cbx_run_npoints(run), nvalues = 0;

    for (size_t i = 0; i < npoints; i++) nvalues += cbx_run_point(run, i)->nmetrics;
    f->frameworks.sorted = cbx_arena_calloc(scratch, npoints + 1, sizeof(word));
    f->metrics.sorted = cbx_arena_calloc(scratch, (o->metrics ? o->nmetrics : nvalues) + 1, sizeof(word));
    if (!f->frameworks.sorted || !f->metrics.sorted)
        return cbx_fail(err, CBX_ENOMEM, "no memory for %zu values", nvalues);
    for (size_t m = 0; o->metrics && m < o->nmetrics; m++)
        f->metrics.sorted[f->metrics.n++] = (word){ o->metrics[m], m };
    for (size_t i = 0; i < npoints; i++) {
        const cbx_point *p = cbx_run_point(run, i);
        f->frameworks.sorted[f->frameworks.n++] = (word){ framework_of(o, p), i };
        for (size_t m = 0; !o->metrics && m < p->nmetrics; m++) {
            size_t n = f->metrics.n++;
            f->metrics.sorted[n] = (word){ p->metrics[m].name, n };
        }
    }
    if (!settle(&f->arena, scratch, &f->frameworks) || !settle(&f->arena, scratch, &f->metrics))
        return cbx_fail(err, CBX_ENOMEM, "no memory for the names of %zu values", nvalues);
    if (o->metrics && f->metrics.n < o->nmetrics)
        return cbx_fail(err, CBX_EINVAL, "a metric is named twice among the rows");
    return CBX_OK;
}

static cbx_status fill(cbx_framework_metrics *f, const cbx_run *run, const cbx_framework_opts *o, cbx_err *err)
{
    for (size_t i = 0; i < cbx_run_npoints(run); i++) {
        const cbx_point *p = cbx_run_point(run, i);
        size_t column = place_of(&f->frameworks, framework_of(o, p));
        for (size_t m = 0; m < p->nmetrics; m++) {
            size_t row = place_of(&f->metrics, p->metrics[m].name), at = column * f->metrics.n + row;
            if (row == SIZE_MAX) continue;
            if (f->measured[at] && !o->last)
                return cbx_fail(
                    err, CBX_EEXIST,
                    "'%s' has more than one '%s', the second in point '%s': take fewer points, or the last value",
                    f->frameworks.placed[column], f->metrics.placed[row], p->name);
            f->measured[at] = true;
            f->values[at] = p->metrics[m].metric.value;
        }
    }
    return CBX_OK;
}

static cbx_status make_cells(cbx_framework_metrics *f, cbx_err *err)
{
    size_t cells;

    if (__builtin_mul_overflow(f->frameworks.n, f->metrics.n, &cells) || cells > SIZE_MAX / sizeof(double) - 1)
        return cbx_fail(err, CBX_EOVERFLOW, "%zu metrics of %zu frameworks are too many", f->metrics.n,
                        f->frameworks.n);
    f->values = cbx_arena_calloc(&f->arena, cells + 1, sizeof *f->values);
    f->measured = cbx_arena_calloc(&f->arena, cells + 1, sizeof *f->measured);
    if (!f->values || !f->measured) return cbx_fail(err, CBX_ENOMEM, "no memory for %zu values", cells);
    for (size_t i = 0; i < cells; i++) f->values[i] = NAN;
    return CBX_OK;
}

cbx_status cbx_framework_metrics_create(cbx_ctx *ctx, const cbx_run *run, const cbx_framework_opts *opts,
                                        cbx_framework_metrics **out, cbx_err *err)
{
    const cbx_framework_opts defaults = CBX_FRAMEWORK_OPTS_INIT, *o = opts ? opts : &defaults;
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_framework_metrics *f;
    cbx_arena scratch;
    cbx_status st;

    if (o->struct_size != sizeof *o) return cbx_fail(err, CBX_EINVAL, "options of another version of the library");
    f = cbx_mem_zalloc(al, sizeof *f);
    if (!f) return cbx_fail(err, CBX_ENOMEM, "no memory for a table of frameworks");
    f->al = *al;
    cbx_arena_init(&f->arena, al);
    cbx_arena_init(&scratch, al);
    st = gather(f, &scratch, run, o, err);
    if (!st) st = make_cells(f, err);
    if (!st) st = fill(f, run, o, err);
    cbx_arena_clear(&scratch);
    f->frameworks.sorted = f->metrics.sorted = NULL;
    if (!st)
        *out = f;
    else
        cbx_framework_metrics_free(f);
    return st;
}

void cbx_framework_metrics_free(cbx_framework_metrics *f)
{
    cbx_allocator al;

    if (!f) return;
    al = f->al;
    cbx_arena_clear(&f->arena);
    cbx_mem_free(&al, f, sizeof *f);
}

size_t cbx_framework_metrics_nframeworks(const cbx_framework_metrics *f) { return f->frameworks.n; }
size_t cbx_framework_metrics_nmetrics(const cbx_framework_metrics *f) { return f->metrics.n; }

const char *cbx_framework_metrics_framework(const cbx_framework_metrics *f, size_t i)
{
    return i < f->frameworks.n ? f->frameworks.placed[i] : NULL;
}

const char *cbx_framework_metrics_metric(const cbx_framework_metrics *f, size_t m)
{
    return m < f->metrics.n ? f->metrics.placed[m] : NULL;
}

const double *cbx_framework_metrics_values(const cbx_framework_metrics *f) { return f->values; }

bool cbx_framework_metrics_measured(const cbx_framework_metrics *f, size_t m, size_t i)
{
    return m < f->metrics.n && i < f->frameworks.n && f->measured[i * f->metrics.n + m];
}
