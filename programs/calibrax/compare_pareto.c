/*
 * calibrax compare --pareto: the points that no other beats in every objective.
 */
#include <math.h>
#include <string.h>

#include "calibrax/analysis/pareto.h"
#include "calibrax/core/point_index.h"
#include "programs/calibrax/compare.h"
#include "programs/common/columns.h"
#include "programs/common/output.h"

typedef struct objective {
    const char *metric;
    cbx_direction direction;
    bool told;  /* on the command line */
    bool there; /* some point has it */
    const char *unit;
} objective;

typedef struct candidate {
    const char *run;
    const cbx_point *point; /* without metrics */
} candidate;

typedef struct field {
    const opt_run *run;
    cbx_store_query query;
    objective *objectives;
    cbx_point_index points; /* those of all runs by name, scenario and tags, each kept once */
    candidate *list;
    double *x; /* [candidate][objective] */
    bool *on_front;
    size_t d, n, room, nfront, nmissing;
} field;

static int no_memory(const opt_run *run) { return opt_fail(run->program, "out of memory"); }

/* --- objectives --- */

/* "latency" or "latency=lower"; a metric whose name holds '=' needs its direction told. */
static int read_objective(const opt_run *run, const char *word, objective *out)
{
    const char *equals = strrchr(word, '=');

    *out = (objective){ .metric = word, .direction = CBX_DIRECTION_INFO };
    if (!equals) return EXIT_PASS;
    out->told = cbx_direction_parse(equals + 1, &out->direction) && out->direction != CBX_DIRECTION_INFO;
    if (!out->told)
        return opt_fail(run->program, "'--pareto' must list METRIC, METRIC=lower or METRIC=higher, got '%s'", word);
    out->metric = cbx_arena_strndup(run->arena, word, (size_t)(equals - word));
    return out->metric ? EXIT_PASS : no_memory(run);
}

static int read_objectives(field *f)
{
    const compare_args *a = f->run->args;
    int status = EXIT_PASS;

    f->d = a->objectives.count;
    if (f->d < 2) return opt_fail(f->run->program, "'--pareto' needs two metrics or more, got %zu", f->d);
    f->objectives = cbx_arena_calloc(f->run->arena, f->d, sizeof *f->objectives);
    if (!f->objectives) return no_memory(f->run);
    for (size_t k = 0; !status && k < f->d; k++) {
        status = read_objective(f->run, a->objectives.items[k], &f->objectives[k]);
        for (size_t j = 0; !status && j < k; j++)
            if (!strcmp(f->objectives[j].metric, f->objectives[k].metric))
                status = opt_fail(f->run->program, "'--pareto' lists '%s' twice", f->objectives[k].metric);
    }
    return status;
}

/* The definitions of runs must agree in what they say of a metric. */
static int learn_definition(const opt_run *run, const cbx_run *r, objective *o)
{
    const cbx_metric_def *def = cbx_run_find_metric_def(r, o->metric);

    if (!def) return EXIT_PASS;
    if (o->unit && strcmp(o->unit, def->unit) != 0)
        return opt_fail(run->program, "runs have '%s' in different units, '%s' and '%s'", o->metric, o->unit,
                        def->unit);
    if (!o->unit) o->unit = cbx_arena_strdup(run->arena, def->unit);
    if (!o->unit) return no_memory(run);
    if (o->told || def->direction == CBX_DIRECTION_INFO) return EXIT_PASS;
    if (o->direction != CBX_DIRECTION_INFO && o->direction != def->direction)
        return opt_fail(run->program, "runs differ in the direction of '%s': give it as %s=lower or %s=higher",
                        o->metric, o->metric, o->metric);
    o->direction = def->direction;
    return EXIT_PASS;
}

static int need_directions(const field *f)
{
    for (size_t k = 0; k < f->d; k++) {
        const char *metric = f->objectives[k].metric;
        if (!f->objectives[k].there)
            return opt_fail(f->run->program, "'--pareto': no point has the metric '%s'", metric);
        if (f->objectives[k].direction == CBX_DIRECTION_INFO)
            return opt_fail(f->run->program, "'%s' has no direction: give it as %s=lower or %s=higher", metric, metric,
                            metric);
    }
    return EXIT_PASS;
}

/* --- candidates --- */

/* Room for n more. */
static bool make_room(field *f, size_t n)
{
    size_t room = 2 * f->room > f->n + n ? 2 * f->room : f->n + n;
    candidate *list;
    double *x;

    if (f->n + n <= f->room) return true;
    list = cbx_arena_calloc(f->run->arena, room, sizeof *list);
    x = cbx_arena_calloc(f->run->arena, room * f->d, sizeof *x);
    if (!list || !x) return false;
    if (f->n) memcpy(list, f->list, f->n * sizeof *list);
    if (f->n) memcpy(x, f->x, f->n * f->d * sizeof *x);
    f->list = list;
    f->x = x;
    f->room = room;
    return true;
}

/* The values of a point; false: it has no objective at all. */
static bool take_values(field *f, const cbx_point *p)
{
    size_t have = 0;

    for (size_t k = 0; k < f->d; k++) {
        const cbx_metric *m = cbx_point_metric(p, f->objectives[k].metric);
        f->x[f->n * f->d + k] = m ? m->value : NAN;
        f->objectives[k].there |= m != NULL;
        have += m != NULL;
    }
    return have > 0;
}

static const cbx_point *copy_point(cbx_arena *arena, const cbx_point *p)
{
    cbx_point *own = cbx_arena_calloc(arena, 1, sizeof *own);
    cbx_tag *tags = cbx_arena_calloc(arena, p->ntags, sizeof *tags);
    bool good = own && tags;

    for (size_t i = 0; good && i < p->ntags; i++) {
        tags[i] = (cbx_tag){ cbx_arena_strdup(arena, p->tags[i].key), cbx_arena_strdup(arena, p->tags[i].value) };
        good = tags[i].key && tags[i].value;
    }
    if (!good) return NULL;
    *own = (cbx_point){ .name = cbx_arena_strdup(arena, p->name),
                        .scenario = cbx_arena_strdup(arena, p->scenario),
                        .tags = tags,
                        .ntags = p->ntags };
    return own->name && own->scenario ? own : NULL;
}

/* A point of these words without metrics that lives as long as the command; NULL: out of memory. */
static const cbx_point *keep_point(field *f, const cbx_point *p)
{
    const cbx_point_entry *known = cbx_point_index_find(&f->points, p);
    const cbx_point *own = known ? known->point : copy_point(f->run->arena, p);

    if (!known && own && !cbx_point_index_add(&f->points, own, 0)) return NULL;
    return own;
}

/* Points that have an objective at all; those that lack another one are counted. */
static int take_run(void *user, const cbx_run *r)
{
    field *f = user;
    const char *id = NULL;

    for (size_t k = 0; k < f->d; k++)
        if (learn_definition(f->run, r, &f->objectives[k])) return EXIT_ERROR;
    if (!make_room(f, cbx_run_npoints(r))) return no_memory(f->run);
    for (size_t i = 0; i < cbx_run_npoints(r); i++) {
        const cbx_point *p = cbx_run_point(r, i);
        if (!take_values(f, p) || !select_point(&f->query, p)) continue;
        if (!id) id = cbx_arena_strdup(f->run->arena, cbx_run_id(r));
        f->list[f->n] = (candidate){ id, keep_point(f, p) };
        if (!id || !f->list[f->n++].point) return no_memory(f->run);
    }
    return EXIT_PASS;
}

static int find_candidates(field *f, size_t *nruns)
{
    const compare_args *a = f->run->args;
    inputs_visit v = { .take = take_run, .user = f, .allow_machines = a->allow_machines, .bare = true };
    int status = select_query(f->run, &a->select, &f->query);

    cbx_point_index_init(&f->points, &f->run->arena->al, NULL);
    if (!status) status = inputs_each(f->run, &a->select, &a->inputs, &v);
    cbx_point_index_clear(&f->points);
    if (!status) status = need_directions(f);
    *nruns = v.n;
    if (status || f->n) return status;
    return opt_fail(f->run->program, "no point has the objectives: 'calibrax show' lists metrics");
}

static int find_front(field *f)
{
    cbx_direction *directions = cbx_arena_calloc(f->run->arena, f->d, sizeof *directions);
    cbx_err err = CBX_ERR_INIT;

    f->on_front = cbx_arena_calloc(f->run->arena, f->n, sizeof *f->on_front);
    if (!directions || !f->on_front) return no_memory(f->run);
    for (size_t k = 0; k < f->d; k++) directions[k] = f->objectives[k].direction;
    if (cbx_pareto_front(f->run->ctx, f->x, f->n, f->d, directions, f->on_front, &f->nfront, &f->nmissing, &err))
        return opt_fail(f->run->program, "%s", err.message);
    if (f->nmissing == f->n) return opt_fail(f->run->program, "no point has every objective");
    return EXIT_PASS;
}

static bool is_missing(const field *f, size_t i)
{
    for (size_t k = 0; k < f->d; k++)
        if (isnan(f->x[i * f->d + k])) return true;
    return false;
}

/* --- JSON --- */

static cbx_json *candidate_json(const field *f, size_t i)
{
    cbx_json *o = cbx_json_new_object(), *values = cbx_json_new_object();
    const candidate *c = &f->list[i];

    cbx_json_set_string(o, "run", c->run);
    cbx_json_set_string(o, "name", c->point->name);
    cbx_json_set_string(o, "scenario", c->point->scenario);
    cbx_json_set(o, "tags", tags_json(c->point->tags, c->point->ntags));
    for (size_t k = 0; k < f->d; k++) cbx_json_set_double(values, f->objectives[k].metric, f->x[i * f->d + k]);
    cbx_json_set(o, "values", values);
    cbx_json_set_bool(o, "on_front", f->on_front[i]);
    return o;
}

static int print_field_json(const field *f)
{
    const compare_args *a = f->run->args;
    cbx_json *head = new_document("calibrax-pareto"), *objectives = cbx_json_new_array();
    cbx_json *tail = cbx_json_new_object();
    json_stream out;

    for (size_t k = 0; k < f->d; k++) {
        cbx_json *e = cbx_json_new_object();
        cbx_json_set_string(e, "metric", f->objectives[k].metric);
        cbx_json_set_string(e, "direction", cbx_direction_name(f->objectives[k].direction));
        cbx_json_set_string(e, "unit", f->objectives[k].unit);
        cbx_json_push(objectives, e);
    }
    cbx_json_set(head, "objectives", objectives);
    json_stream_begin(&out, head, "points");
    for (size_t i = 0; i < f->n; i++)
        if (f->on_front[i] || !a->front_only) json_stream_add(&out, candidate_json(f, i));
    cbx_json_set_int(tail, "front", (int64_t)f->nfront);
    cbx_json_set_int(tail, "missing", (int64_t)f->nmissing);
    return json_stream_end(&out, f->run->program, tail);
}

/* --- text --- */

static columns *begin_table(const field *f)
{
    const char **heads = cbx_arena_calloc(f->run->arena, f->d + 2, sizeof *heads);
    char *sides = cbx_arena_alloc(f->run->arena, f->d + 3);

    if (!heads || !sides) return NULL;
    heads[0] = "";
    heads[1] = "Point";
    memcpy(sides, "ll", 2);
    for (size_t k = 0; k < f->d; k++) {
        const objective *o = &f->objectives[k];
        heads[k + 2] = cbx_arena_printf(f->run->arena, "%s%s%s%s, %s is better", plain_text(f->run->arena, o->metric),
                                        o->unit && *o->unit ? " [" : "",
                                        o->unit ? plain_text(f->run->arena, o->unit) : "",
                                        o->unit && *o->unit ? "]" : "", cbx_direction_name(o->direction));
        if (!heads[k + 2]) return NULL;
        sides[k + 2] = 'r';
    }
    return columns_begin(f->run->arena, heads, sides);
}

static const char *name_of(const field *f, const candidate *c, bool with_run)
{
    const char *key = point_key(f->run->arena, c->point, NULL);

    if (!key || !with_run) return key ? plain_text(f->run->arena, key) : NULL;
    return cbx_arena_printf(f->run->arena, "%s of %s", plain_text(f->run->arena, key), c->run);
}

static void put_candidate(const field *f, size_t i, bool with_run, columns *table)
{
    paint how = f->on_front[i] ? PAINT_STRONG : PAINT_PLAIN;

    columns_put(table, how, f->on_front[i] ? "*" : is_missing(f, i) ? "?" : "");
    columns_put(table, how, name_of(f, &f->list[i], with_run));
    for (size_t k = 0; k < f->d; k++) {
        double v = f->x[i * f->d + k];
        columns_number(table, how, v);
    }
}

static int print_field(const field *f, bool with_run)
{
    const compare_args *a = f->run->args;
    columns *table = begin_table(f);

    for (size_t i = 0; i < f->n; i++)
        if (f->on_front[i] || !a->front_only) put_candidate(f, i, with_run, table);
    if (!columns_print(table, "")) return no_memory(f->run);
    printf("\n%zu of %zu points are on the front (*)", f->nfront, f->n - f->nmissing);
    if (f->nmissing) printf("; %zu lack an objective (?)", f->nmissing);
    putchar('\n');
    return EXIT_PASS;
}

/* --- the mode --- */

int compare_pareto(const opt_run *run)
{
    const compare_args *a = run->args;
    field f = { .run = run };
    size_t nruns = 0;
    int status = read_objectives(&f);

    if (!status) status = find_candidates(&f, &nruns);
    if (!status) status = find_front(&f);
    if (status) return status;
    return a->select.json ? print_field_json(&f) : print_field(&f, nruns > 1);
}
