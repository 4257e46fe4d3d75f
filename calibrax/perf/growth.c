/* Fits of time over work, and whether they can be trusted beyond what was measured. */
#include "calibrax/perf/growth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/perf/feed_rows.h"
#include "calibrax/perf/report_format.h"

#define BEYOND    100 /* times the largest size */
#define WITHIN    2
#define AWAY      0.3
#define FIT_LEAST 4

#define WORD(name, words) words,
static const char *const trust_names[] = { CBX_GROWTH_TRUST_MAP(WORD) };
#undef WORD

const char *cbx_growth_trust_name(cbx_growth_trust t)
{
    return (unsigned)t < CBX_LEN(trust_names) ? trust_names[t] : "?";
}

/* --- lines of points --- */

typedef struct point {
    const cbx_row *row;
    cbx__report_shape shape;
    const char *line; /* what all points of a line share */
    size_t order;
} point;

static int by_line(const void *a, const void *b)
{
    const point *x = a, *y = b;
    int c = strcmp(x->line, y->line);

    if (!c) c = (x->shape.size > y->shape.size) - (x->shape.size < y->shape.size);
    return c ? c : (x->order > y->order) - (x->order < y->order);
}

static const char *word(const char *s) { return s ? s : ""; }

/* Scaled copies of one shape have the same ratios to their first dimension. */
static const char *line_name(cbx_arena *arena, const cbx_row *r, const cbx__report_shape *s)
{
    const char *name = cbx_arena_printf(arena, "%s\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s", r->case_name, word(r->machine),
                                        r->platform, r->baseline, r->variant ? r->variant : "default", s->variety);
    for (size_t i = 1; name && i < s->ndims; i++)
        name = cbx_arena_printf(arena, "%s\x1f%.9g", name, s->dim[i] / s->dim[0]);
    return name;
}

static bool take_point(const cbx_row *r, size_t order, cbx_arena *arena, point *out)
{
    *out = (point){ .row = r, .order = order };
    if (!cbx_row_is_good(r) || !(cbx__report_median(r) > 0)) return false;
    cbx__report_shape_of(r, arena, &out->shape);
    if (!(out->shape.size > 0) || !(out->shape.dim[0] > 0)) return false;
    out->line = line_name(arena, r, &out->shape);
    return out->line != NULL;
}

static cbx_status gather(const cbx_rows *rows, cbx_arena *arena, point **out, size_t *n, cbx_err *err)
{
    const cbx_allocator own = arena->al;
    cbx__memory_watch watch;
    point *p;

    cbx__memory_watch_init(&watch, &own);
    arena->al = watch.al; /* shapes leave out what there is no memory for */
    p = cbx_arena_calloc(arena, rows->count, sizeof *p);
    *n = 0;
    for (size_t i = 0; p && i < rows->count; i++) *n += take_point(&rows->rows[i], i, arena, &p[*n]);
    arena->al = own;
    if (watch.failed) return cbx_fail(err, CBX_ENOMEM, "no memory for %zu points", rows->count);
    qsort(p, *n, sizeof *p, by_line);
    *out = p;
    return CBX_OK;
}

/* --- one line --- */

/* Slope of log y over log x by least squares; NaN where a value is missing or there is one size only. */
static double log_slope(const double *x, const double *y, size_t n)
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

/* The largest size against what the others say of it. */
static cbx_status hold_out(cbx_ctx *ctx, const double *x, const double *t, size_t n, double level, double *ratio,
                           cbx_err *err)
{
    cbx_growth g;
    cbx_status st = cbx_scaling_growth(ctx, x, t, n - 1, level, &g, err);

    if (st) return st;
    *ratio = (g.power_intercept + g.power_coefficient * pow(x[n - 1], g.exponent.value)) / t[n - 1];
    return CBX_OK;
}

static void judge(cbx_growth_line *l)
{
    bool close = l->held_out > 1.0 / WITHIN && l->held_out < WITHIN;

    if (isnan(l->held_out))
        l->trust = CBX_GROWTH_UNTESTED;
    else if (!close)
        l->trust = CBX_GROWTH_MISSES;
    else if (fabs(l->exponent.value - l->declared_exponent) > AWAY)
        l->trust = CBX_GROWTH_DIVERGES;
    else
        l->trust = CBX_GROWTH_VALIDATED;
}

static void project(cbx_growth_line *l, double last_s)
{
    if (l->trust != CBX_GROWTH_VALIDATED) return;
    l->projected_work = BEYOND * l->largest;
    l->projected_s = (cbx_interval){ last_s * pow(BEYOND, l->exponent.value), last_s * pow(BEYOND, l->exponent.lower),
                                     last_s * pow(BEYOND, l->exponent.upper), l->exponent.level };
}

static double memory_of(const cbx_row *r) { return isnan(r->peak_hbm_mb) ? r->host_rss_increase_mb : r->peak_hbm_mb; }

static cbx_status fit(cbx_ctx *ctx, const point *p, size_t n, double level, cbx_arena *arena, cbx_growth_line *l,
                      cbx_err *err)
{
    double *x = cbx_arena_calloc(arena, 4 * n, sizeof *x), *t = x + n, *steps = t + n, *memory = steps + n;
    cbx_growth g;
    cbx_status st;

    *l = (cbx_growth_line){ .row = p[n - 1].row,
                            .variety = p[0].shape.variety,
                            .nsizes = n,
                            .smallest = p[0].shape.size,
                            .largest = p[n - 1].shape.size,
                            .exponent = { NAN, NAN, NAN, 0 },
                            .declared_exponent = NAN,
                            .held_out = NAN,
                            .memory_exponent = NAN,
                            .projected_work = NAN,
                            .projected_s = { NAN, NAN, NAN, 0 } };
    if (!x) return cbx_fail(err, CBX_ENOMEM, "no memory for a fit");
    for (size_t i = 0; i < n; i++) {
        x[i] = p[i].shape.size;
        t[i] = cbx__report_median(p[i].row);
        steps[i] = p[i].row->gmac_per_s * p[i].row->median_s;
        memory[i] = memory_of(p[i].row);
    }
    l->declared_exponent = n > 1 ? log_slope(x, steps, n) : NAN;
    l->memory_exponent = n > 1 ? log_slope(x, memory, n) : NAN;
    if (n < FIT_LEAST) return CBX_OK;
    st = cbx_scaling_growth(ctx, x, t, n, level, &g, err);
    if (!st) l->exponent = g.exponent;
    if (!st && n > FIT_LEAST) st = hold_out(ctx, x, t, n, level, &l->held_out, err);
    if (st) return st;
    judge(l);
    project(l, t[n - 1]);
    return CBX_OK;
}

/* The newest of several rows at one size (seeds) stays. */
static size_t distinct(point *p, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (kept && p[kept - 1].shape.size == p[i].shape.size) kept--;
        p[kept++] = p[i];
    }
    return kept;
}

typedef struct ordered {
    cbx_growth_line line;
    size_t order;
} ordered;

static int by_order(const void *a, const void *b)
{
    const ordered *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

cbx_status cbx_growth_of_rows(cbx_ctx *ctx, const cbx_rows *rows, double level, cbx_arena *arena,
                              cbx_growth_line **lines, size_t *count, cbx_err *err)
{
    point *p = NULL;
    ordered *all;
    size_t n = 0, found = 0;
    cbx_status st = gather(rows, arena, &p, &n, err);

    if (st) return st;
    all = cbx_arena_calloc(arena, n, sizeof *all);
    if (!all) return cbx_fail(err, CBX_ENOMEM, "no memory for %zu lines", n);
    for (size_t i = 0, m; !st && i < n; i += m) {
        size_t order = p[i].order;
        for (m = 1; i + m < n && !strcmp(p[i].line, p[i + m].line);) m++;
        for (size_t k = 0; k < m; k++) order = p[i + k].order < order ? p[i + k].order : order;
        st = fit(ctx, p + i, distinct(p + i, m), level, arena, &all[found].line, err);
        all[found++].order = order;
    }
    if (st) return st;
    qsort(all, found, sizeof *all, by_order);
    *lines = cbx_arena_calloc(arena, found, sizeof **lines);
    if (!*lines) return cbx_fail(err, CBX_ENOMEM, "no memory for %zu lines", found);
    for (size_t i = 0; i < found; i++) (*lines)[i] = all[i].line;
    *count = found;
    return CBX_OK;
}

/* --- JSON --- */

static cbx_json *interval_json(const cbx_interval *i)
{
    cbx_json *o = cbx_json_new_object();

    if (o && cbx__feed_number(o, "value", i->value) && cbx__feed_number(o, "lower", i->lower) &&
        cbx__feed_number(o, "upper", i->upper) && cbx__feed_number(o, "level", i->level))
        return o;
    cbx_json_unref(o);
    return NULL;
}

static cbx_json *line_json(const cbx_growth_line *l)
{
    cbx_json *o = cbx_json_new_object();
    bool ok = o && cbx_json_set_string(o, "case", l->row->case_name) &&
              cbx_json_set_string(o, "machine", l->row->machine) &&
              cbx_json_set_string(o, "platform", l->row->platform) &&
              cbx_json_set_string(o, "baseline", l->row->baseline) &&
              cbx_json_set_string(o, "variant", l->row->variant) && cbx_json_set_string(o, "variety", l->variety) &&
              cbx_json_set_int(o, "sizes", (int64_t)l->nsizes) && cbx__feed_number(o, "smallest", l->smallest) &&
              cbx__feed_number(o, "largest", l->largest) && cbx__feed_put(o, "exponent", interval_json(&l->exponent)) &&
              cbx__feed_number(o, "declared_exponent", l->declared_exponent) &&
              cbx__feed_number(o, "held_out_ratio", l->held_out) &&
              cbx__feed_number(o, "memory_exponent", l->memory_exponent) &&
              cbx_json_set_string(o, "trust", cbx_growth_trust_name(l->trust)) &&
              cbx__feed_number(o, "projected_work", l->projected_work);

    if (ok && l->trust == CBX_GROWTH_VALIDATED)
        ok = cbx__feed_put(o, "projected_s", interval_json(&l->projected_s));
    else if (ok)
        ok = cbx_json_set_null(o, "projected_s");
    if (ok) return o;
    cbx_json_unref(o);
    return NULL;
}

cbx_json *cbx_growth_json(const cbx_growth_line *lines, size_t count)
{
    cbx_json *root = cbx_json_new_object(), *list = cbx_json_new_array();
    bool ok = root && list && cbx_json_set_string(root, "schema", "nperf-scaling") &&
              cbx_json_set_int(root, "version", 1);

    for (size_t i = 0; ok && i < count; i++) {
        cbx_json *l = line_json(&lines[i]);
        ok = l && cbx_json_push(list, l);
    }
    ok = ok && cbx_json_set(root, "lines", cbx_json_ref(list));
    cbx_json_unref(list);
    if (ok) return root;
    cbx_json_unref(root);
    return NULL;
}
