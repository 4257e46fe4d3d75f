/*
 * calibrax trend --over: how a metric scales with a numeric tag: growth with size, or speed with workers.
 */
#include <math.h>
#include <string.h>

#include "calibrax/analysis/scaling.h"
#include "programs/calibrax/trend.h"
#include "programs/common/columns.h"
#include "programs/common/output.h"

/* The law of a fit, and the names of its parameters. */
typedef struct law {
    const char *name;
    bool power;
    cbx_speedup_law speedup;
    cbx_direction wants; /* of the metric; info: any */
    const char *formula;
    const char *parameters[2]; /* NULL: one only */
    size_t least;              /* different sizes */
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
    double *x, *y;
    size_t n, room;
    /* the fit, one of them */
    cbx_growth growth;
    cbx_speedup_fit speedup;
    const char *fault; /* why there is none */
} series;

typedef struct work {
    const opt_run *run;
    cbx_store_query query;
    const law *law;
    series *list;
    size_t n, room, left_out;
    const char *unit;
} work;

static int no_memory(const opt_run *run) { return opt_fail(run->program, "out of memory"); }

/* --- collecting --- */

static void *grown(cbx_arena *arena, void *items, size_t n, size_t *room, size_t size)
{
    size_t more = *room ? 2 * *room : 16;
    void *copy;

    if (n < *room) return items;
    copy = cbx_arena_calloc(arena, more, size);
    if (!copy) return NULL;
    if (n) memcpy(copy, items, n * size);
    *room = more;
    return copy;
}

static series *find_series(work *w, const char *name)
{
    series *list;

    for (size_t i = 0; i < w->n; i++)
        if (!strcmp(w->list[i].name, name)) return &w->list[i];
    list = grown(w->run->arena, w->list, w->n, &w->room, sizeof *list);
    if (!list) return NULL;
    w->list = list;
    w->list[w->n] = (series){ .name = name };
    return &w->list[w->n++];
}

static bool add_value(work *w, series *s, double x, double y)
{
    size_t room = s->room;
    double *xs = grown(w->run->arena, s->x, s->n, &room, sizeof *xs), *ys;

    room = s->room;
    ys = grown(w->run->arena, s->y, s->n, &room, sizeof *ys);
    if (!xs || !ys) return false;
    s->x = xs;
    s->y = ys;
    s->room = room;
    s->x[s->n] = x;
    s->y[s->n++] = y;
    return true;
}

/* A point without the tag, or whose tag is no number above 0, is counted and left out. */
static int take_point(work *w, const cbx_point *p)
{
    const trend_args *a = w->run->args;
    const char *text = cbx_point_tag(p, a->over), *name;
    const cbx_metric *m = cbx_point_metric(p, a->select.metric);
    double x = NAN;
    series *s;

    if (!m) return EXIT_PASS;
    if (!text || !opt_number(text, &x) || !(x > 0) || !(m->value > 0) || !isfinite(m->value)) {
        w->left_out++;
        return EXIT_PASS;
    }
    name = point_key(w->run->arena, p, a->over);
    s = name ? find_series(w, name) : NULL;
    return s && add_value(w, s, x, m->value) ? EXIT_PASS : no_memory(w->run);
}

/* One unit for all, and the better side where a law says what it is about. */
static int check_definition(work *w, const cbx_run *r)
{
    const trend_args *a = w->run->args;
    const cbx_metric_def *def = cbx_run_find_metric_def(r, a->select.metric);

    if (!def) return EXIT_PASS;
    if (w->unit && strcmp(w->unit, def->unit) != 0)
        return opt_fail(w->run->program, "runs have '%s' in different units, '%s' and '%s': choose runs of one",
                        a->select.metric, w->unit, def->unit);
    if (!w->unit) w->unit = cbx_arena_strdup(w->run->arena, def->unit);
    if (!w->unit) return no_memory(w->run);
    if (w->law->wants == CBX_DIRECTION_INFO || def->direction == w->law->wants || def->direction == CBX_DIRECTION_INFO)
        return EXIT_PASS;
    return opt_fail(w->run->program, "'--law %s' fits a %s, but of '%s' %s is better: use %s", w->law->name,
                    w->law->wants == CBX_DIRECTION_LOWER ? "time" : "throughput", a->select.metric,
                    cbx_direction_name(def->direction),
                    w->law->wants == CBX_DIRECTION_LOWER ? "gustafson or usl" : "amdahl");
}

static int take_run(void *user, const cbx_run *r)
{
    work *w = user;
    int status = check_definition(w, r);

    for (size_t i = 0; !status && i < cbx_run_npoints(r); i++)
        if (select_point(&w->query, cbx_run_point(r, i))) status = take_point(w, cbx_run_point(r, i));
    return status;
}

static int take_runs(work *w)
{
    const trend_args *a = w->run->args;
    inputs_visit v = { .take = take_run, .user = w, .allow_machines = a->allow_machines, .bare = true };
    int status = select_query(w->run, &a->select, &w->query);

    if (!status) status = inputs_each(w->run, &a->select, &a->inputs, &v);
    if (status || w->n) return status;
    return opt_fail(w->run->program, "no point has '%s' above 0 and a number above 0 in the tag '%s'", a->select.metric,
                    a->over);
}

/* --- fitting --- */

/* Different sizes, counted up to a number of them. */
static size_t different(const series *s, size_t most)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n && n < most; i++) {
        size_t k = 0;
        while (k < i && s->x[k] != s->x[i]) k++;
        n += k == i;
    }
    return n;
}

/* A series that cannot be fitted says why; the others are fitted all the same. */
static int fit(work *w, series *s)
{
    const trend_args *a = w->run->args;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    if (different(s, w->law->least) < w->law->least) {
        s->fault = cbx_arena_printf(w->run->arena, "%zu different values of '%s', at least %zu are needed",
                                    different(s, w->law->least), a->over, w->law->least);
        return s->fault ? EXIT_PASS : no_memory(w->run);
    }
    st = w->law->power
             ? cbx_scaling_growth(w->run->ctx, s->x, s->y, s->n, a->level, &s->growth, &err)
             : cbx_scaling_speedup(w->run->ctx, w->law->speedup, s->x, s->y, s->n, a->level, &s->speedup, &err);
    return st ? opt_fail(w->run->program, "%s", err.message) : EXIT_PASS;
}

static int fit_all(work *w)
{
    size_t fitted = 0;

    for (size_t i = 0; i < w->n; i++) {
        if (fit(w, &w->list[i])) return EXIT_ERROR;
        fitted += !w->list[i].fault;
    }
    if (fitted) return EXIT_PASS;
    return opt_fail(w->run->program, "nothing can be fitted: '%s' has %s", plain_text(w->run->arena, w->list[0].name),
                    w->list[0].fault);
}

/* --- JSON --- */

static cbx_json *series_json(const work *w, const series *s)
{
    cbx_json *o = cbx_json_new_object(), *x = cbx_json_new_array(), *y = cbx_json_new_array();

    for (size_t i = 0; i < s->n; i++) {
        cbx_json_push(x, cbx_json_new_double(s->x[i]));
        cbx_json_push(y, cbx_json_new_double(s->y[i]));
    }
    cbx_json_set_string(o, "series", s->name);
    cbx_json_set(o, "x", x);
    cbx_json_set(o, "y", y);
    cbx_json_set_string(o, "fault", s->fault);
    if (!s->fault && w->law->power) {
        cbx_json *weights = cbx_json_new_object();
        char order[CBX_GROWTH_TEXT];

        for (int c = 0; c < CBX_COMPLEXITY_COUNT; c++)
            cbx_json_set_double(weights, cbx_complexity_name((cbx_complexity)c), s->growth.weight[c]);
        cbx_json_set_string(o, "order", cbx_growth_text(&s->growth, order));
        cbx_json_set_string(o, "nearest_order", cbx_complexity_name(s->growth.order));
        cbx_json_set_double(o, "intercept", s->growth.intercept ? s->growth.intercept_value : 0);
        cbx_json_set_double(o, "coefficient", s->growth.coefficient);
        cbx_json_set(o, "weights", weights);
        cbx_json_set_interval(o, "exponent", s->growth.exponent.value, s->growth.exponent.lower,
                              s->growth.exponent.upper, s->growth.exponent.level);
        cbx_json_set_double(o, "power_intercept", s->growth.power_intercept);
        cbx_json_set_double(o, "power_coefficient", s->growth.power_coefficient);
        cbx_json_set_double(o, "relative_error", s->growth.relative_error);
    }
    if (!s->fault && !w->law->power) {
        cbx_json_set_double(o, "scale", s->speedup.scale);
        for (size_t k = 0; k < 2 && w->law->parameters[k]; k++)
            cbx_json_set_interval(o, w->law->parameters[k], s->speedup.parameter[k].value,
                                  s->speedup.parameter[k].lower, s->speedup.parameter[k].upper,
                                  s->speedup.parameter[k].level);
        if (w->law->speedup == CBX_LAW_USL) cbx_json_set_double(o, "peak_workers", s->speedup.peak_workers);
        cbx_json_set_double(o, "relative_error", s->speedup.relative_error);
    }
    return o;
}

static cbx_json *work_json(const work *w)
{
    const trend_args *a = w->run->args;
    cbx_json *o = new_document("calibrax-scaling"), *list = cbx_json_new_array();

    for (size_t i = 0; i < w->n; i++) cbx_json_push(list, series_json(w, &w->list[i]));
    cbx_json_set_string(o, "metric", a->select.metric);
    cbx_json_set_string(o, "over", a->over);
    cbx_json_set_string(o, "law", w->law->name);
    cbx_json_set_string(o, "formula", w->law->formula);
    cbx_json_set(o, "series", list);
    cbx_json_set_int(o, "left_out", (int64_t)w->left_out);
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

static int print_work(const work *w)
{
    const trend_args *a = w->run->args;

    printf("%s over %s: %s\n", plain_text(w->run->arena, a->select.metric), plain_text(w->run->arena, a->over),
           w->law->formula);
    for (size_t i = 0; i < w->n; i++) {
        putchar('\n');
        printf("%s, %zu values\n", plain_text(w->run->arena, w->list[i].name), w->list[i].n);
        if (terminal_has_bars()) {
            printf("  ");
            print_bars(w->list[i].y, w->list[i].n);
        }
        if (w->list[i].fault)
            printf("  not fitted: %s\n", w->list[i].fault);
        else if (w->law->power)
            print_growth(&w->list[i].growth);
        else {
            printf("  %-9s %.6g %s\n", w->law->speedup == CBX_LAW_AMDAHL ? "T1" : "X1", w->list[i].speedup.scale,
                   w->unit ? w->unit : "");
            for (size_t k = 0; k < 2 && w->law->parameters[k]; k++)
                print_parameter(w->law->parameters[k], &w->list[i].speedup.parameter[k]);
            if (w->law->speedup == CBX_LAW_AMDAHL && w->list[i].speedup.parameter[0].value > 0)
                printf("  limit     %.6gx, however many workers\n", 1 / w->list[i].speedup.parameter[0].value);
            if (isfinite(w->list[i].speedup.peak_workers))
                printf("  peak      at %.6g workers\n", w->list[i].speedup.peak_workers);
            printf("  error     %.2g %% (root mean square)\n", 100 * w->list[i].speedup.relative_error);
        }
    }
    if (w->left_out)
        printf("\n%zu points are left out: no number above 0 in the tag, or no value above 0\n", w->left_out);
    return EXIT_PASS;
}

/* --- the mode --- */

int trend_over(const opt_run *run)
{
    const trend_args *a = run->args;
    work w = { .run = run, .law = &laws[a->law] };
    int status = take_runs(&w);

    if (!status) status = fit_all(&w);
    if (status) return status;
    return a->select.json ? print_json(run->program, work_json(&w)) : print_work(&w);
}
