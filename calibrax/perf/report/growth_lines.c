/* Fits of time over work, and whether they can be trusted beyond what was measured. */
#include "calibrax/perf/report/growth_lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/base/json_put.h"
#include "calibrax/perf/report/view.h"

#define BEYOND    100 /* times the largest size */
#define WITHIN    2
#define AWAY      0.3
#define MIN_SIZES 4

#define WORD(name, words) words,
static const char *const trust_names[] = { CBX_GROWTH_TRUST_MAP(WORD) };
#undef WORD

const char *cbx_growth_trust_name(cbx_growth_trust t) { return CBX_WORD(trust_names, t); }

/* --- lines of points --- */

#define WHOLE SIZE_MAX /* in place of a dimension: all grow in proportion */

typedef struct point {
    const cbx_row *row;
    cbx__report_shape shape;
    double size; /* of the dimensions that are not 0 */
    size_t order;
    bool fitted; /* part of a line that has a fit */
} point;

/* A point as part of a line: whatever has the same name is on it. */
typedef struct entry {
    point *at;
    const char *line;
    size_t grows; /* the dimension that differs, or WHOLE */
} entry;

static int by_line(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int c = strcmp(x->line, y->line);

    if (!c) c = (x->at->size > y->at->size) - (x->at->size < y->at->size);
    return c ? c : (x->at->order > y->at->order) - (x->at->order < y->at->order);
}

static bool take_point(const cbx_row *r, size_t order, cbx_arena *arena, point *out)
{
    *out = (point){ .row = r, .order = order, .size = 1 };
    if (!cbx_row_is_good(r) || !(cbx__report_median(r) > 0)) return false;
    cbx__report_shape_of(r, arena, &out->shape);
    if (!out->shape.ndims || !(out->shape.dim[0] > 0)) return false;
    for (size_t i = 0; i < out->shape.ndims; i++) out->size *= out->shape.dim[i] ? out->shape.dim[i] : 1;
    return out->size > 0;
}

static cbx_status gather(const cbx_rows *rows, cbx_arena *arena, entry **out, size_t *n, cbx_err *err)
{
    cbx__report_memory memory = { .base = arena->al };
    size_t npoints = 0;

    arena->al = cbx__report_allocator(&memory); /* shapes leave out what there is no memory for */
    point *p = cbx_arena_calloc(arena, rows->count, sizeof *p);
    for (size_t i = 0; p && i < rows->count; i++) npoints += take_point(&rows->rows[i], i, arena, &p[npoints]);
    *out = cbx_arena_calloc(arena, npoints * (CBX__REPORT_MAX_DIMS + 1), sizeof **out);
    *n = 0;
    /* every point on the line of its shape, and on one for each of its dimensions where there are
     * several */
    for (point *q = p; *out && q < p + npoints; q++) {
        const size_t ndims = q->shape.ndims > 1 ? q->shape.ndims : 0;
        for (size_t k = 0; k <= ndims; k++) {
            entry e = { .at = q, .grows = k < ndims ? k : WHOLE };
            /* Scaled copies of one shape have the same ratios to their first dimension; others the
             * same dimensions but one. */
            const cbx_row *r = q->row;
            const cbx__report_shape *s = &q->shape;
            const char *name = cbx_arena_printf(arena, "%zu\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s", e.grows, r->case_name,
                                                r->machine ? r->machine : "", r->platform, r->baseline,
                                                r->variant ? r->variant : "default", s->variety);
            for (size_t i = 0; name && i < s->ndims; i++)
                if (i != e.grows)
                    name = cbx_arena_printf(arena, "%s\x1f%.9g", name, s->dim[i] / (e.grows == WHOLE ? s->dim[0] : 1));
            e.line = name;
            memory.failed = memory.failed || !e.line;
            (*out)[(*n)++] = e;
        }
    }
    arena->al = memory.base;
    if (memory.failed) return cbx_fail(err, CBX_ENOMEM, "no memory for %zu points", rows->count);
    if (*n) qsort(*out, *n, sizeof **out, by_line);
    return CBX_OK;
}

/* --- one line --- */

/* Exponent of y in x: least squares of log y over log x; NaN where a value is missing or there is
 * one size only. */
static double log_exponent(const double *x, const double *y, size_t n)
{
    double mx = 0, my = 0, xx = 0, xy = 0;

    for (size_t i = 0; i < n; i++) {
        if (!(y[i] > 0)) return NAN;
        mx += log(x[i]) / (double)n;
        my += log(y[i]) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xx += (log(x[i]) - mx) * (log(x[i]) - mx);
        xy += (log(x[i]) - mx) * (log(y[i]) - my);
    }
    return xx > 0 ? xy / xx : NAN;
}

static double memory_of(const cbx_row *r) { return isnan(r->peak_hbm_mb) ? r->host_rss_increase_mb : r->peak_hbm_mb; }

static cbx_status fit(cbx_ctx *ctx, const entry *e, size_t n, double level, cbx_arena *arena, cbx_growth_line *l,
                      cbx_err *err)
{
    double *x = cbx_arena_calloc(arena, 4 * n, sizeof *x), *t = x + n, *steps = t + n, *memory = steps + n;
    cbx_growth g;

    *l = (cbx_growth_line){ .row = e[n - 1].at->row,
                            .variety = e[0].at->shape.variety,
                            .grows = e[0].grows == WHOLE ? NULL : e[0].at->shape.name[e[0].grows],
                            .nsizes = n,
                            .smallest = e[0].at->size,
                            .largest = e[n - 1].at->size,
                            .exponent = { NAN, NAN, NAN, 0 },
                            .declared_exponent = NAN,
                            .held_out = NAN,
                            .memory_exponent = NAN,
                            .projected_work = NAN,
                            .projected_s = { NAN, NAN, NAN, 0 } };
    if (!x) return cbx_fail(err, CBX_ENOMEM, "no memory for a fit");
    for (size_t i = 0; i < n; i++) {
        const cbx_row *r = e[i].at->row;
        x[i] = e[i].at->size;
        t[i] = cbx__report_median(r);
        steps[i] = r->gmac_per_s * r->median_s;
        memory[i] = memory_of(r);
    }
    l->declared_exponent = n > 1 ? log_exponent(x, steps, n) : NAN;
    l->memory_exponent = n > 1 ? log_exponent(x, memory, n) : NAN;
    if (n < MIN_SIZES) return CBX_OK;
    cbx_status st = cbx_scaling_growth(ctx, x, t, n, level, &g, err);
    if (!st) l->exponent = g.exponent;
    if (!st && n > MIN_SIZES) { /* the time of the largest size that the others predict, over the time measured */
        st = cbx_scaling_growth(ctx, x, t, n - 1, level, &g, err);
        if (!st) l->held_out = (g.power_intercept + g.power_coefficient * pow(x[n - 1], g.exponent.value)) / t[n - 1];
    }
    if (st) return st;
    bool close = l->held_out > 1.0 / WITHIN && l->held_out < WITHIN;
    if (isnan(l->held_out))
        l->trust = CBX_GROWTH_UNTESTED;
    else if (!close)
        l->trust = CBX_GROWTH_MISSES;
    else if (fabs(l->exponent.value - l->declared_exponent) > AWAY)
        l->trust = CBX_GROWTH_DIVERGES;
    else {
        l->trust = CBX_GROWTH_VALIDATED;
        l->projected_work = BEYOND * l->largest;
        l->projected_s = (cbx_interval){ t[n - 1] * pow(BEYOND, l->exponent.value),
                                         t[n - 1] * pow(BEYOND, l->exponent.lower),
                                         t[n - 1] * pow(BEYOND, l->exponent.upper), l->exponent.level };
    }
    return CBX_OK;
}

typedef struct ordered {
    cbx_growth_line line;
    size_t order;
} ordered;

CBX_BY(by_order, ordered, order)

/* Lines where one dimension grows come first and need a fit; the line of a shape that has none is
 * left out where all its points are on such. */
static cbx_status fit_lines(cbx_ctx *ctx, entry *e, size_t n, bool whole, double level, cbx_arena *arena, ordered *all,
                            size_t *found, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t i = 0, m, sizes; !st && i < n; i += m) {
        size_t order = e[i].at->order;
        bool fitted = true;
        for (m = 1; i + m < n && !strcmp(e[i].line, e[i + m].line);) m++;
        if (whole != (e[i].grows == WHOLE)) continue;
        for (size_t k = 0; k < m; k++) {
            order = e[i + k].at->order < order ? e[i + k].at->order : order;
            fitted = fitted && e[i + k].at->fitted;
        }
        sizes = 0; /* the newest of several rows at one size (seeds) stays */
        for (size_t k = i; k < i + m; k++) {
            if (sizes && e[i + sizes - 1].at->size == e[k].at->size) sizes--;
            e[i + sizes++] = e[k];
        }
        if (sizes < MIN_SIZES && (!whole || fitted)) continue;
        for (size_t k = 0; !whole && k < sizes; k++) e[i + k].at->fitted = true;
        st = fit(ctx, e + i, sizes, level, arena, &all[*found].line, err);
        all[(*found)++].order = order;
    }
    return st;
}

cbx_status cbx_growth_of_rows(cbx_ctx *ctx, const cbx_rows *rows, double level, cbx_arena *arena,
                              cbx_growth_line **lines, size_t *count, cbx_err *err)
{
    entry *e = NULL;
    size_t n = 0, found = 0;
    cbx_status st = gather(rows, arena, &e, &n, err);

    if (st) return st;
    ordered *all = cbx_arena_calloc(arena, n, sizeof *all);
    if (!all) return cbx_fail(err, CBX_ENOMEM, "no memory for %zu lines", n);
    st = fit_lines(ctx, e, n, false, level, arena, all, &found, err);
    if (!st) st = fit_lines(ctx, e, n, true, level, arena, all, &found, err);
    if (st) return st;
    qsort(all, found, sizeof *all, by_order);
    *lines = cbx_arena_calloc(arena, found, sizeof **lines);
    if (!*lines) return cbx_fail(err, CBX_ENOMEM, "no memory for %zu lines", found);
    for (size_t i = 0; i < found; i++) (*lines)[i] = all[i].line;
    *count = found;
    return CBX_OK;
}

/* --- JSON --- */

cbx_json *cbx_growth_json(const cbx_growth_line *lines, size_t count)
{
    cbx_json *root = cbx_json_new_document("nperf-growth"), *list = cbx_json_set_array(root, "lines");

    for (const cbx_growth_line *l = lines; l < lines + count; l++)
        cbx_json_push(
            list,
            cbx_json_object(
                J_TEXT("case", l->row->case_name), J_TEXT("machine", l->row->machine),
                J_TEXT("platform", l->row->platform), J_TEXT("baseline", l->row->baseline),
                J_TEXT("variant", l->row->variant), J_TEXT("variety", l->variety), J_TEXT("grows", l->grows),
                J_INT("sizes", l->nsizes), J_FINITE("smallest", l->smallest), J_FINITE("largest", l->largest),
                J_INTERVAL("exponent", l->exponent), J_FINITE("declared_exponent", l->declared_exponent),
                J_FINITE("held_out_ratio", l->held_out), J_FINITE("memory_exponent", l->memory_exponent),
                J_TEXT("trust", cbx_growth_trust_name(l->trust)), J_FINITE("projected_work", l->projected_work),
                l->trust == CBX_GROWTH_VALIDATED ? J_INTERVAL("projected_s", l->projected_s) : J_NULL("projected_s")));
    return cbx_json_finish(root);
}
