/*
 * calibrax trend --over: how a metric scales with a numeric tag: growth with size, or speed with
 * workers.
 */
#include <math.h>
#include <string.h>

#include "calibrax/analysis/scaling.h"
#include "calibrax/base/hash_table.h"
#include "programs/calibrax/trend.h"
#include "programs/common/output.h"

/* The law of a fit, and the names of its parameters. */
typedef struct law {
    const char *name;
    bool power;
    cbx_speedup_law speedup;
    cbx_direction direction; /* of the metric; info: any */
    const char *formula;
    const char *parameters[2]; /* NULL: one only */
    size_t minimum;            /* number of different sizes */
} law;

static const law laws[] = {
    { "power", true, 0, CBX_DIRECTION_INFO, "y = a + b n^p", { "p", NULL }, 4 },
    { "amdahl", false, CBX_LAW_AMDAHL, CBX_DIRECTION_LOWER, "y = T1 (s + (1 - s)/p)", { "s", NULL }, 3 },
    { "gustafson", false, CBX_LAW_GUSTAFSON, CBX_DIRECTION_HIGHER, "y = X1 (s + (1 - s) p)", { "s", NULL }, 3 },
    { "usl", false, CBX_LAW_USL, CBX_DIRECTION_HIGHER, "y = X1 p / (1 + a (p - 1) + b p (p - 1))", { "a", "b" }, 4 },
};

/* Points that differ in the tag only. */
typedef struct series {
    const char *name; /* point_key without the tag */
    CBX_LIST(double) x, y;
    cbx_growth growth; /* the fit by orders and a power law, or */
    cbx_speedup_fit speedup;
    const char *fault; /* why there is no fit; NULL: there is one */
} series;

typedef struct work {
    const opt_run *run;
    cbx_store_query query;
    const law *law;
    cbx_allocator al; /* of the run's arena */
    cbx_names names;  /* of the series, in their order */
    CBX_LIST(series) list;
    size_t left_out;
    const char *unit;
} work;

/* --- collecting --- */

/* Checks that the unit is that of the runs before, and that the direction suits the law. */
static int check_definition(work *w, const cbx_run *r)
{
    const trend_args *a = w->run->args;
    const cbx_metric_def *def = cbx_run_find_metric_def(r, a->select.metric);

    if (!def) return EXIT_PASS;
    if (w->unit && strcmp(w->unit, def->unit) != 0)
        return opt_fail(w->run, "runs have '%s' in different units, '%s' and '%s': choose runs of one",
                        a->select.metric, w->unit, def->unit);
    if (!w->unit) w->unit = cbx_arena_strdup(w->run->arena, def->unit);
    if (w->law->direction == CBX_DIRECTION_INFO || def->direction == w->law->direction ||
        def->direction == CBX_DIRECTION_INFO)
        return EXIT_PASS;
    return opt_fail(w->run, "'--law %s' fits a %s, but for '%s' %s is better: use %s", w->law->name,
                    w->law->direction == CBX_DIRECTION_LOWER ? "time" : "throughput", a->select.metric,
                    cbx_direction_name(def->direction),
                    w->law->direction == CBX_DIRECTION_LOWER ? "gustafson or usl" : "amdahl");
}

/* A point whose tag is missing or is not a number above 0 is counted and left out. */
static int take_run(void *user, const cbx_run *r)
{
    work *w = user;
    const trend_args *a = w->run->args;
    int status = check_definition(w, r);

    for (size_t i = 0; !status && i < cbx_run_npoints(r); i++) {
        const cbx_point *p = cbx_run_point(r, i);
        const char *text = cbx_point_tag(p, a->over), *name;
        const cbx_metric *m = cbx_point_metric(p, a->select.metric);
        double x = NAN;
        if (!m || !select_point(&w->query, p)) continue;
        if (!text || !opt_number(text, &x) || !(x > 0) || !(m->value > 0) || !isfinite(m->value)) {
            w->left_out++;
            continue;
        }
        name = point_key(w->run->arena, p, a->over);
        size_t at = cbx_names_add(&w->names, name);
        if (at == w->list.n) (void)cbx_list_push(&w->al, &w->list, (series){ .name = name });
        series *s = &w->list.items[at];
        (void)cbx_list_push(&w->al, &s->x, x);
        (void)cbx_list_push(&w->al, &s->y, m->value);
    }
    return status;
}

/* --- fitting --- */

/* A series that cannot be fitted gets a fault; the others are fitted anyway. */
static int fit(work *w, series *s)
{
    const trend_args *a = w->run->args;
    size_t different = 0; /* sizes, counted up to the number needed */

    for (size_t i = 0; i < s->x.n && different < w->law->minimum; i++) {
        size_t k = 0;
        while (k < i && s->x.items[k] != s->x.items[i]) k++;
        different += k == i;
    }
    if (different < w->law->minimum) {
        s->fault = cbx_arena_printf(w->run->arena, "%zu different value%s of '%s', at least %zu are needed", different,
                                    different == 1 ? "" : "s", a->over, w->law->minimum);
        return EXIT_PASS;
    }
    cbx_status st = w->law->power ? cbx_scaling_growth(w->run->ctx, s->x.items, s->y.items, s->x.n, a->level,
                                                       &s->growth, w->run->err)
                                  : cbx_scaling_speedup(w->run->ctx, w->law->speedup, s->x.items, s->y.items, s->x.n,
                                                        a->level, &s->speedup, w->run->err);
    return opt_check(w->run, st);
}

/* --- JSON --- */

static cbx_json *series_json(const work *w, const series *s)
{
    cbx_json *o = cbx_json_object(J_TEXT("series", s->name), J_NUMBERS("x", s->x.items, s->x.n),
                                  J_NUMBERS("y", s->y.items, s->x.n), J_TEXT("fault", s->fault));
    if (s->fault) return o;
    if (w->law->power) {
        char order[CBX_GROWTH_TEXT];

        cbx_json_put(o, J_TEXT("order", cbx_growth_text(&s->growth, order)),
                     J_TEXT("nearest_order", cbx_complexity_name(s->growth.order)),
                     J_NUMBER("intercept", s->growth.intercept ? s->growth.intercept_value : 0),
                     J_NUMBER("coefficient", s->growth.coefficient));
        cbx_json *weights = cbx_json_set_object(o, "weights");
        for (int c = 0; c < CBX_COMPLEXITY_COUNT; c++)
            cbx_json_set_double(weights, cbx_complexity_name((cbx_complexity)c), s->growth.weight[c]);
        cbx_json_put(o, J_INTERVAL("exponent", s->growth.exponent),
                     J_NUMBER("power_intercept", s->growth.power_intercept),
                     J_NUMBER("power_coefficient", s->growth.power_coefficient));
    } else {
        cbx_json_set_double(o, "scale", s->speedup.scale);
        for (size_t k = 0; k < 2 && w->law->parameters[k]; k++)
            cbx_json_put(o, J_INTERVAL(w->law->parameters[k], s->speedup.parameter[k]));
        if (w->law->speedup == CBX_LAW_USL) cbx_json_set_double(o, "peak_workers", s->speedup.peak_workers);
    }
    cbx_json_set_double(o, "relative_error", w->law->power ? s->growth.relative_error : s->speedup.relative_error);
    return o;
}

/* --- text --- */

static void print_parameter(const char *name, const cbx_interval *i)
{
    printf("  %-9s %.6g [%.6g, %.6g]  (%.3g %% interval)\n", name, i->value, i->lower, i->upper, 100 * i->level);
}

/* The order, and the others that are not out of the question. */
static void print_growth(const cbx_growth *g)
{
    char order[CBX_GROWTH_TEXT];

    printf("  order     %s%s%s", paint_begin(PAINT_STRONG), cbx_growth_text(g, order), paint_end(PAINT_STRONG));
    if (g->free_exponent) printf(", a free exponent; nearest named order %s", cbx_complexity_name(g->order));
    if (g->intercept) printf(" beside a constant %.6g", g->intercept_value);
    if (!g->free_exponent) printf(", weight %.2f", g->weight[g->order]);
    for (int c = 0; !g->free_exponent && c < CBX_COMPLEXITY_COUNT; c++)
        if (c != (int)g->order && g->weight[c] >= 0.05)
            printf("; %s %.2f", cbx_complexity_name((cbx_complexity)c), g->weight[c]);
    putchar('\n');
    print_parameter("exponent", &g->exponent);
    printf("  error     %.2g %% (root mean square)\n", 100 * g->relative_error);
}

static void print_series(const work *w, const series *s)
{
    const bool amdahl = w->law->speedup == CBX_LAW_AMDAHL;

    printf("\n%s, %zu values\n", plain_text(w->run->arena, s->name), s->x.n);
    if (terminal_has_bars()) {
        printf("  ");
        print_bars(s->y.items, s->x.n);
    }
    if (s->fault) {
        printf("  not fitted: %s\n", s->fault);
    } else if (w->law->power) {
        print_growth(&s->growth);
    } else {
        printf("  %-9s %.6g %s\n", amdahl ? "T1" : "X1", s->speedup.scale, w->unit ? w->unit : "");
        for (size_t k = 0; k < 2 && w->law->parameters[k]; k++)
            print_parameter(w->law->parameters[k], &s->speedup.parameter[k]);
        if (amdahl && s->speedup.parameter[0].value > 0)
            printf("  limit     %.6gx, however many workers\n", 1 / s->speedup.parameter[0].value);
        if (isfinite(s->speedup.peak_workers)) printf("  peak      at %.6g workers\n", s->speedup.peak_workers);
        printf("  error     %.2g %% (root mean square)\n", 100 * s->speedup.relative_error);
    }
}

/* --- the mode --- */

int trend_over(const opt_run *run)
{
    const trend_args *a = run->args;
    const char *metric = plain_text(run->arena, a->select.metric), *tag = plain_text(run->arena, a->over);
    work w = { .run = run, .law = &laws[a->law], .al = cbx_arena_allocator(run->arena) };
    inputs_visit v = { .take = take_run, .user = &w, .allow_machines = a->allow_machines, .bare = true };
    size_t fitted = 0;
    int status = select_query(run, &a->select, &w.query);

    cbx_names_init(&w.names, &run->arena->al);
    if (!status) status = inputs_each(run, &a->select, &a->inputs, &v);
    if (!status && !w.list.n)
        status = opt_fail(run, "no point has '%s' above 0 and a number above 0 in the tag '%s'", metric, tag);
    for (size_t i = 0; !status && i < w.list.n; i++) {
        status = fit(&w, &w.list.items[i]);
        fitted += !w.list.items[i].fault;
    }
    if (!status && !fitted)
        status = opt_fail(run, "nothing can be fitted: '%s' has %s", plain_text(run->arena, w.list.items[0].name),
                          w.list.items[0].fault);
    if (!status && a->select.json) {
        cbx_json *o = cbx_json_document("calibrax-scaling", J_TEXT("metric", a->select.metric), J_TEXT("over", a->over),
                                        J_TEXT("law", w.law->name), J_TEXT("formula", w.law->formula));
        cbx_json *list = cbx_json_set_array(o, "series");
        for (size_t i = 0; i < w.list.n; i++) cbx_json_push(list, series_json(&w, &w.list.items[i]));
        cbx_json_set_int(o, "left_out", (int64_t)w.left_out);
        status = print_json(run, o);
    } else if (!status) {
        printf("%s over %s: %s\n", metric, tag, w.law->formula);
        for (size_t i = 0; i < w.list.n; i++) print_series(&w, &w.list.items[i]);
        if (w.left_out) printf("\n%zu points are left out: the tag or the value is not a number above 0\n", w.left_out);
    }
    cbx_names_clear(&w.names);
    return status;
}
