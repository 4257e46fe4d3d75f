/* What is measured of each operation; see coverage.h. */
#include "suites/nitrix/feeds/coverage.h"

#include <math.h>
#include <string.h>

#include "calibrax/base/json_put.h"
#include "suites/nitrix/feeds/feed.h"
#include "suites/nitrix/feeds/feed_rows.h"

#define SCALED   64
#define CPU_LAGS 1.5
#define MAX_DIMS 8

typedef enum strength { NONE, INTERNAL, FLOOR, STRONG } strength;
static const char *const strength_names[] = { "none", "internal_only", "floor_only", "strong_ref" };

typedef struct op {
    const char *case_name, *primary; /* primary: reference of the ratios; NULL: no row has one */
    const char *framework;           /* of the primary */
    bool cpu, gpu;                   /* the primary has a good row there */
    strength reference;
    const char *dtype;
    bool dtypes; /* more than one */
    size_t points, good;
    double smallest, largest;
    double worst[2]; /* minimum of a strong rival's median over the primary's; cpu, gpu; NaN: none */
} op;

static bool is_gpu(const cbx_row *r) { return strcmp(r->platform, "cpu") != 0 && strcmp(r->platform, "jax-cpu") != 0; }

static double median_of(const cbx_row *r)
{
    return !r->has_metrics ? NAN : isfinite(r->steady.value) ? r->steady.value : r->median_s;
}

/* --- one operation --- */

static bool same_point(const cbx_row *a, const cbx_row *b)
{
    return !strcmp(a->case_name, b->case_name) && !strcmp(a->point_json, b->point_json);
}

/* Counts the point of row i unless an earlier row has it: its dtype, and its size, the product of
 * its extents. */
static void count_point(op *o, const cbx_rows *rows, size_t i, cbx_arena *arena)
{
    cbx_json *point = NULL, *value;
    const char *key;
    double size = NAN;
    size_t ndims = 0;

    for (size_t k = 0; k < i; k++)
        if (same_point(&rows->rows[k], &rows->rows[i])) return;
    o->points++;
    if (cbx_json_parse(rows->rows[i].point_json, strlen(rows->rows[i].point_json), "point", &point, NULL)) return;
    for (size_t k = 0; ndims < MAX_DIMS && cbx_json_member(point, k, &key, &value); k++) {
        if (strcmp(key, "seed") == 0 || cbx_json_typeof(value) != CBX_JSON_INT) continue;
        size = ndims++ ? size * cbx_json_double_value(value) : cbx_json_double_value(value);
    }
    if (size > 0) {
        o->smallest = fmin(o->smallest, size);
        o->largest = fmax(o->largest, size);
    }
    const char *dtype = cbx_arena_strdup(arena, cbx_json_get_string(point, "dtype", "f32"));
    cbx_json_unref(point);
    if (o->dtype && dtype && strcmp(o->dtype, dtype) != 0) o->dtypes = true;
    if (!o->dtype) o->dtype = dtype;
}

static strength strength_of(const op *o, const cbx_row *r)
{
    static const char *const vendors[] = { "openblas", "mkl", "cublas", "graphblas" };

    if (o->primary && !strcmp(r->baseline, o->primary)) return NONE;
    for (size_t i = 0; i < CBX_LEN(vendors); i++)
        if (strstr(r->baseline, vendors[i])) return STRONG;
    if (strstr(r->baseline, "naive") || strstr(r->baseline, "dense") || !strcmp(r->framework, "numpy")) return FLOOR;
    return o->framework && !strcmp(r->framework, o->framework) ? INTERNAL : STRONG;
}

/* The time of a strong rival over that of the fastest variant of the primary at the same point, on
 * the same machine. */
static void compare_rival(op *o, const cbx_rows *rows, const cbx_row *r)
{
    double own = NAN;

    for (size_t i = 0; i < rows->count; i++) {
        const cbx_row *p = &rows->rows[i];
        if (cbx_row_is_good(p) && o->primary && !strcmp(p->baseline, o->primary) && same_point(p, r) &&
            !strcmp(p->platform, r->platform) && !strcmp(p->machine ? p->machine : "", r->machine ? r->machine : ""))
            own = fmin(own, median_of(p));
    }
    const double ratio = median_of(r) / own;
    if (isfinite(ratio)) o->worst[is_gpu(r)] = fmin(o->worst[is_gpu(r)], ratio);
}

static void summarize(op *o, const cbx_rows *rows, cbx_arena *arena)
{
    for (size_t i = 0; i < rows->count && !o->primary; i++)
        if (!strcmp(rows->rows[i].case_name, o->case_name)) o->primary = rows->rows[i].ratio_vs;
    for (size_t i = 0; i < rows->count && o->primary && !o->framework; i++)
        if (!strcmp(rows->rows[i].case_name, o->case_name) && !strcmp(rows->rows[i].baseline, o->primary))
            o->framework = rows->rows[i].framework;
    for (size_t i = 0; i < rows->count; i++) {
        const cbx_row *r = &rows->rows[i];
        if (strcmp(r->case_name, o->case_name) != 0 || cbx_row_is_limit(r) || !cbx_row_is_good(r)) continue;
        o->good++;
        count_point(o, rows, i, arena);
        if (!o->primary || !strcmp(r->baseline, o->primary)) *(is_gpu(r) ? &o->gpu : &o->cpu) = true;
        const strength s = strength_of(o, r);
        if (s > o->reference) o->reference = s;
        if (s == STRONG) compare_rival(o, rows, r);
    }
}

/* --- JSON --- */

static void put_op(const op *o, cbx_arena *arena, cbx_json *root)
{
    const char *platforms = o->cpu && o->gpu ? "multiplatform"
                            : o->cpu         ? "cpu_only"
                            : o->gpu         ? "gpu_only"
                                             : "unmeasured";
    const char *precision = !o->dtype                  ? "unmeasured"
                            : o->dtypes                ? "multi_dtype"
                            : !strcmp(o->dtype, "f32") ? "f32_only"
                                                       : "one_dtype";
    const char *scale = !(o->largest > 0)                    ? "no_tier"
                        : o->largest >= SCALED * o->smallest ? "scaled"
                        : o->largest > o->smallest           ? "declared"
                                                             : "one_size";
    cbx_json_put(root,
                 J_JSON("worst_ratio", cbx_json_object(J_FINITE("cpu", o->worst[0]), J_FINITE("gpu", o->worst[1]))),
                 J_TEXT("op", cbx_feed_qualname(arena, o->case_name)), J_TEXT("case", o->case_name),
                 J_TEXT("primary", o->primary), J_TEXT("platforms", platforms),
                 J_TEXT("reference", strength_names[o->reference]), J_TEXT("precision", precision),
                 J_TEXT("scale", scale), J_INT("points", o->points), J_INT("good_rows", o->good));
    cbx_json *deficits = cbx_json_set_array(root, "deficits");
    if (!(o->cpu && o->gpu)) cbx_json_push_string(deficits, "missing_platform");
    if (o->reference < STRONG) cbx_json_push_string(deficits, "no_strong_reference");
    if (o->worst[1] < 1) cbx_json_push_string(deficits, "gpu_lagging");
    if (o->worst[0] <= 1 / CPU_LAGS) cbx_json_push_string(deficits, "cpu_lagging");
}

static bool represents(cbx_arena *arena, const op *o, const char *qualname)
{
    const char *name = cbx_feed_qualname(arena, o->case_name);
    return name && !strcmp(name, qualname);
}

/* @param ops  operations of the catalogue; NULL: no catalogue */
static cbx_json *coverage_of(const cbx_json *ops, const op *all, size_t n, cbx_arena *arena)
{
    cbx_json *root = cbx_json_new_document("nperf-coverage"), *list = cbx_json_set_array(root, "ops");

    for (size_t i = 0; i < n; i++) put_op(&all[i], arena, cbx_json_push_object(list));
    cbx_json *unmeasured = cbx_json_set_array(root, "unmeasured");
    for (size_t i = 0; i < cbx_json_length(ops); i++) {
        const char *name = cbx_json_get_string(cbx_json_at(ops, i), "qualname", "");
        size_t k = 0;
        while (k < n && !represents(arena, &all[k], name)) k++;
        if (k == n || !all[k].good) cbx_json_push_string(unmeasured, name);
    }
    cbx_json *orphans = cbx_json_set_array(root, "orphans");
    for (size_t k = 0; ops && k < n; k++) {
        size_t i = 0;
        while (i < cbx_json_length(ops) &&
               !represents(arena, &all[k], cbx_json_get_string(cbx_json_at(ops, i), "qualname", "")))
            i++;
        if (i == cbx_json_length(ops)) cbx_json_push_string(orphans, all[k].case_name);
    }
    return root;
}

static void add_case(op *all, size_t *n, const char *name)
{
    for (size_t i = 0; i < *n; i++)
        if (!strcmp(all[i].case_name, name)) return;
    all[(*n)++] = (op){ .case_name = name, .smallest = INFINITY, .worst = { NAN, NAN } };
}

cbx_status cbx_coverage_make(cbx_ctx *ctx, const cbx_rows *rows, const char *const *cases, size_t ncases,
                             const cbx_json *catalogue, cbx_json **out, cbx_err *err)
{
    cbx_json *ops = NULL;
    size_t n = 0;
    cbx__feed_memory m;
    cbx_status st = catalogue ? cbx_json_need_array(catalogue, "ops", "op_matrix", &ops, err) : CBX_OK;

    if (st) return st;
    cbx__feed_begin(&m, ctx);
    op *all = cbx_arena_calloc(&m.arena, rows->count + ncases, sizeof *all);
    for (size_t i = 0; all && i < rows->count; i++) add_case(all, &n, rows->rows[i].case_name);
    for (size_t i = 0; all && i < ncases; i++) add_case(all, &n, cases[i]);
    for (size_t i = 0; all && i < n; i++) summarize(&all[i], rows, &m.arena);
    return cbx__feed_end(&m, CBX_OK, all ? coverage_of(ops, all, n, &m.arena) : NULL, "a coverage report", out, err);
}
