/* What is measured of each operation, and where it lags. */
#include "suites/nitrix/feeds/coverage.h"

#include <math.h>
#include <string.h>

#include "suites/nitrix/feeds/feed.h"
#include "suites/nitrix/feeds/feed_rows.h"

#define SCALED   64
#define CPU_LAGS 1.5
#define MAX_DIMS 8

typedef enum strength { NONE, INTERNAL, FLOOR, STRONG } strength;
static const char *const strength_names[] = { "none", "internal_only", "floor_only", "strong_ref" };

typedef struct op {
    const char *case_name, *primary; /* primary: what ratios are against; NULL: no row has one */
    const char *framework;           /* of the primary */
    bool cpu, gpu;                   /* the primary has a good row there */
    strength reference;
    const char *dtype;
    bool dtypes; /* more than one */
    size_t points, good;
    double smallest, largest;
    double worst[2]; /* strong rival's median over the primary's, least; cpu, gpu; NaN: none */
} op;

static bool is_gpu(const cbx_row *r) { return strcmp(r->platform, "cpu") != 0 && strcmp(r->platform, "jax-cpu") != 0; }

static bool is_strongest(const char *baseline)
{
    static const char *const vendors[] = { "openblas", "mkl", "cublas", "graphblas" };

    for (size_t i = 0; i < CBX_LEN(vendors); i++)
        if (strstr(baseline, vendors[i])) return true;
    return false;
}

static strength strength_of(const op *o, const cbx_row *r)
{
    bool floor = strstr(r->baseline, "naive") || strstr(r->baseline, "dense") || !strcmp(r->framework, "numpy");

    if (o->primary && !strcmp(r->baseline, o->primary)) return NONE;
    if (is_strongest(r->baseline)) return STRONG;
    if (floor) return FLOOR;
    return o->framework && !strcmp(r->framework, o->framework) ? INTERNAL : STRONG;
}

static double median_of(const cbx_row *r)
{
    return !r->has_metrics ? NAN : isfinite(r->steady.value) ? r->steady.value : r->median_s;
}

/* --- one operation --- */

static void find_primary(op *o, const cbx_rows *rows)
{
    for (size_t i = 0; i < rows->count && !o->primary; i++)
        if (!strcmp(rows->rows[i].case_name, o->case_name)) o->primary = rows->rows[i].ratio_vs;
    for (size_t i = 0; i < rows->count && o->primary && !o->framework; i++)
        if (!strcmp(rows->rows[i].case_name, o->case_name) && !strcmp(rows->rows[i].baseline, o->primary))
            o->framework = rows->rows[i].framework;
}

static bool same_point(const cbx_row *a, const cbx_row *b)
{
    return !strcmp(a->case_name, b->case_name) && !strcmp(a->point_json, b->point_json);
}

static void count_point(op *o, const cbx_rows *rows, size_t i, cbx_arena *arena)
{
    cbx_json *point = NULL, *value;
    const char *key;
    double size = NAN; /* product of the extents */
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

static bool rivals(const cbx_row *a, const cbx_row *b)
{
    return same_point(a, b) && !strcmp(a->platform, b->platform) &&
           !strcmp(a->machine ? a->machine : "", b->machine ? b->machine : "");
}

/* The strong rival's time over the fastest one of the primary's variants at the same point. */
static void compare_rival(op *o, const cbx_rows *rows, const cbx_row *r)
{
    double mine = NAN;

    for (size_t i = 0; i < rows->count; i++) {
        const cbx_row *p = &rows->rows[i];
        if (cbx_row_is_good(p) && o->primary && !strcmp(p->baseline, o->primary) && rivals(p, r))
            mine = fmin(mine, median_of(p));
    }
    double ratio = median_of(r) / mine;
    if (isfinite(ratio)) o->worst[is_gpu(r)] = fmin(o->worst[is_gpu(r)], ratio);
}

static void look(op *o, const cbx_rows *rows, cbx_arena *arena)
{
    find_primary(o, rows);
    for (size_t i = 0; i < rows->count; i++) {
        const cbx_row *r = &rows->rows[i];
        strength s;
        if (strcmp(r->case_name, o->case_name) != 0 || cbx_row_is_limit(r) || !cbx_row_is_good(r)) continue;
        o->good++;
        count_point(o, rows, i, arena);
        if (!o->primary || !strcmp(r->baseline, o->primary)) {
            o->cpu = o->cpu || !is_gpu(r);
            o->gpu = o->gpu || is_gpu(r);
        }
        s = strength_of(o, r);
        if (s > o->reference) o->reference = s;
        if (s == STRONG) compare_rival(o, rows, r);
    }
}

/* --- JSON --- */

static const char *platforms_word(const op *o)
{
    return o->cpu && o->gpu ? "multiplatform" : o->cpu ? "cpu_only" : o->gpu ? "gpu_only" : "unmeasured";
}

static const char *precision_word(const op *o)
{
    return !o->dtype ? "unmeasured" : o->dtypes ? "multi_dtype" : !strcmp(o->dtype, "f32") ? "f32_only" : "one_dtype";
}

static const char *scale_word(const op *o)
{
    if (!(o->largest > 0)) return "no_tier";
    return o->largest >= SCALED * o->smallest ? "scaled" : o->largest > o->smallest ? "declared" : "one_size";
}

static bool push(cbx_json *list, const char *words, bool when)
{
    if (!when) return true;
    cbx_json *s = cbx_json_new_string(words);
    return s && cbx_json_push(list, s);
}

static cbx_json *deficits_json(const op *o)
{
    cbx_json *list = cbx_json_new_array();

    if (list && push(list, "missing_platform", !(o->cpu && o->gpu)) &&
        push(list, "no_strong_reference", o->reference < STRONG) && push(list, "gpu_lagging", o->worst[1] < 1) &&
        push(list, "cpu_lagging", o->worst[0] <= 1 / CPU_LAGS))
        return list;
    cbx_json_unref(list);
    return NULL;
}

static cbx_json *op_json(const op *o, cbx_arena *arena)
{
    cbx_json *root = cbx_json_new_object(), *worst = cbx_json_new_object();
    bool ok = root && worst && cbx_json_set_number(worst, "cpu", o->worst[0]) &&
              cbx_json_set_number(worst, "gpu", o->worst[1]);

    ok = root && cbx_json_set(root, "worst_ratio", worst) && ok;
    ok = ok && cbx_json_set_string(root, "op", cbx_feed_qualname(arena, o->case_name)) &&
         cbx_json_set_string(root, "case", o->case_name) && cbx_json_set_string(root, "primary", o->primary) &&
         cbx_json_set_string(root, "platforms", platforms_word(o)) &&
         cbx_json_set_string(root, "reference", strength_names[o->reference]) &&
         cbx_json_set_string(root, "precision", precision_word(o)) &&
         cbx_json_set_string(root, "scale", scale_word(o)) && cbx_json_set_int(root, "points", (int64_t)o->points) &&
         cbx_json_set_int(root, "good_rows", (int64_t)o->good) && cbx_json_set(root, "deficits", deficits_json(o));
    if (ok) return root;
    cbx_json_unref(root);
    return NULL;
}

static bool represents(cbx_arena *arena, const op *o, const char *qualname)
{
    const char *name = cbx_feed_qualname(arena, o->case_name);
    return name && !strcmp(name, qualname);
}

/* Operations of the catalogue that no case stands for, and cases that stand for none of its
 * operations. */
static bool join_catalogue(const cbx_json *ops, const op *all, size_t n, cbx_arena *arena, cbx_json *unmeasured,
                           cbx_json *orphans)
{
    bool ok = true;

    for (size_t i = 0; ok && i < cbx_json_length(ops); i++) {
        const char *name = cbx_json_get_string(cbx_json_at(ops, i), "qualname", "");
        size_t k = 0;
        while (k < n && !represents(arena, &all[k], name)) k++;
        ok = push(unmeasured, name, k == n || !all[k].good);
    }
    for (size_t k = 0; ok && ops && k < n; k++) {
        size_t i = 0;
        while (i < cbx_json_length(ops) &&
               !represents(arena, &all[k], cbx_json_get_string(cbx_json_at(ops, i), "qualname", "")))
            i++;
        ok = push(orphans, all[k].case_name, i == cbx_json_length(ops));
    }
    return ok;
}

static cbx_json *coverage_json(const cbx_json *ops, const op *all, size_t n, cbx_arena *arena)
{
    cbx_json *root = cbx_json_new_object(), *list = cbx_json_new_array(), *unmeasured = cbx_json_new_array(),
             *orphans = cbx_json_new_array();
    bool ok = root && list && unmeasured && orphans && cbx_json_set_string(root, "schema", "nperf-coverage") &&
              cbx_json_set_int(root, "version", 1);

    for (size_t i = 0; ok && i < n; i++) {
        cbx_json *o = op_json(&all[i], arena);
        ok = o && cbx_json_push(list, o);
    }
    ok = ok && join_catalogue(ops, all, n, arena, unmeasured, orphans);
    ok = root && cbx_json_set(root, "ops", list) && ok;
    ok = root && cbx_json_set(root, "unmeasured", unmeasured) && ok;
    ok = root && cbx_json_set(root, "orphans", orphans) && ok;
    if (ok) return root;
    cbx_json_unref(root);
    return NULL;
}

/* --- the whole --- */

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
    cbx__memory_watch watch;
    cbx_arena arena;
    cbx_status st = catalogue ? cbx_json_need_array(catalogue, "ops", "op_matrix", &ops, err) : CBX_OK;

    if (st) return st;
    cbx__memory_watch_init(&watch, cbx_ctx_allocator(ctx));
    cbx_arena_init(&arena, &watch.al);
    op *all = cbx_arena_calloc(&arena, rows->count + ncases, sizeof *all);
    for (size_t i = 0; all && i < rows->count; i++) add_case(all, &n, rows->rows[i].case_name);
    for (size_t i = 0; all && i < ncases; i++) add_case(all, &n, cases[i]);
    for (size_t i = 0; all && i < n; i++) look(&all[i], rows, &arena);
    cbx_json *report = all ? coverage_json(ops, all, n, &arena) : NULL;
    if (!report || watch.failed) {
        cbx_json_unref(report);
        st = cbx_fail(err, CBX_ENOMEM, "no memory for a coverage report");
    } else {
        *out = report;
    }
    cbx_arena_clear(&arena);
    return st;
}
