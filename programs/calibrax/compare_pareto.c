/*
 * calibrax compare --pareto: the points that no other beats in every objective.
 */
#include <math.h>
#include <string.h>

#include "calibrax/analysis/pareto.h"
#include "calibrax/base/list.h"
#include "calibrax/core/point_index.h"
#include "programs/calibrax/compare.h"
#include "programs/common/columns.h"
#include "programs/common/output.h"

typedef struct objective {
    const char *metric;
    cbx_direction direction;
    bool given; /* the direction is that of the option */
    bool found; /* some point has the metric */
    const char *unit;
} objective;

typedef struct candidate {
    const char *run;
    const cbx_point *point; /* without metrics */
} candidate;

typedef struct field {
    const opt_run *run;
    cbx_allocator al; /* of the run's arena */
    cbx_store_query query;
    objective *objectives;
    cbx_point_index points; /* those of all runs by name, scenario and tags, each kept once */
    CBX_LIST(candidate) list;
    CBX_LIST(double) x; /* [candidate][objective] */
    bool *on_front;
    size_t d, nfront, nmissing;
} field;

/* --- objectives --- */

/* "latency" or "latency=lower"; a metric whose name contains '=' needs a direction. */
static int read_objectives(field *f)
{
    const compare_args *a = f->run->args;

    f->d = a->objectives.count;
    if (f->d < 2) return opt_fail(f->run, "'--pareto' needs two metrics or more, got %zu", f->d);
    f->objectives = cbx_arena_calloc(f->run->arena, f->d, sizeof *f->objectives);
    for (size_t k = 0; k < f->d; k++) {
        const char *word = a->objectives.items[k], *equals = strrchr(word, '=');
        objective *o = &f->objectives[k];
        *o = (objective){ .metric = word, .direction = CBX_DIRECTION_INFO };
        if (equals) {
            o->given = cbx_direction_parse(equals + 1, &o->direction) && o->direction != CBX_DIRECTION_INFO;
            if (!o->given)
                return opt_fail(f->run, "'--pareto' must list METRIC, METRIC=lower or METRIC=higher, got '%s'", word);
            o->metric = cbx_arena_strndup(f->run->arena, word, (size_t)(equals - word));
        }
        for (size_t j = 0; j < k; j++)
            if (!strcmp(f->objectives[j].metric, o->metric))
                return opt_fail(f->run, "'--pareto' lists '%s' twice", o->metric);
    }
    return EXIT_PASS;
}

/* Takes unit and direction of the run's definition, which must be those of the runs before. */
static int take_definition(const opt_run *run, const cbx_run *r, objective *o)
{
    const cbx_metric_def *def = cbx_run_find_metric_def(r, o->metric);

    if (!def) return EXIT_PASS;
    if (o->unit && strcmp(o->unit, def->unit) != 0)
        return opt_fail(run, "runs have '%s' in different units, '%s' and '%s'", o->metric, o->unit, def->unit);
    if (!o->unit) o->unit = cbx_arena_strdup(run->arena, def->unit);
    if (o->given || def->direction == CBX_DIRECTION_INFO) return EXIT_PASS;
    if (o->direction != CBX_DIRECTION_INFO && o->direction != def->direction)
        return opt_fail(run, "runs differ in the direction of '%s': give it as %s=lower or %s=higher", o->metric,
                        o->metric, o->metric);
    o->direction = def->direction;
    return EXIT_PASS;
}

/* --- candidates --- */

static const cbx_point *copy_point(cbx_arena *arena, const cbx_point *p)
{
    cbx_point *own = cbx_arena_calloc(arena, 1, sizeof *own);
    cbx_tag *tags = cbx_arena_calloc(arena, p->ntags, sizeof *tags);

    for (size_t i = 0; i < p->ntags; i++)
        tags[i] = (cbx_tag){ cbx_arena_strdup(arena, p->tags[i].key), cbx_arena_strdup(arena, p->tags[i].value) };
    *own = (cbx_point){ .name = cbx_arena_strdup(arena, p->name),
                        .scenario = cbx_arena_strdup(arena, p->scenario),
                        .tags = tags,
                        .ntags = p->ntags };
    return own;
}

/* Takes points that have an objective; those that lack another one are counted. */
static int take_run(void *user, const cbx_run *r)
{
    field *f = user;
    cbx_arena *arena = f->run->arena;
    const char *id = cbx_arena_strdup(arena, cbx_run_id(r));

    for (size_t k = 0; k < f->d; k++)
        if (take_definition(f->run, r, &f->objectives[k])) return EXIT_ERROR;
    for (size_t i = 0; i < cbx_run_npoints(r); i++) {
        const cbx_point *p = cbx_run_point(r, i), *own;
        const cbx_point_entry *known = cbx_point_index_find(&f->points, p);
        size_t found = 0;
        (void)cbx_list_reserve(&f->al, &f->x, f->x.n + f->d);
        for (size_t k = 0; k < f->d; k++) {
            const cbx_metric *m = cbx_point_metric(p, f->objectives[k].metric);
            f->x.items[f->x.n + k] = m ? m->value : NAN;
            f->objectives[k].found |= m != NULL;
            found += m != NULL;
        }
        if (!found || !select_point(&f->query, p)) continue;
        own = known ? known->point : copy_point(arena, p);
        if (!known) (void)cbx_point_index_add(&f->points, own, 0);
        (void)cbx_list_push(&f->al, &f->list, (candidate){ id, own });
        f->x.n += f->d;
    }
    return EXIT_PASS;
}

static int find_front(field *f)
{
    cbx_direction *directions = cbx_arena_calloc(f->run->arena, f->d, sizeof *directions);
    const size_t n = f->list.n;

    f->on_front = cbx_arena_calloc(f->run->arena, n, sizeof *f->on_front);
    for (size_t k = 0; k < f->d; k++) {
        const char *metric = f->objectives[k].metric;
        directions[k] = f->objectives[k].direction;
        if (!f->objectives[k].found) return opt_fail(f->run, "'--pareto': no point has the metric '%s'", metric);
        if (directions[k] == CBX_DIRECTION_INFO)
            return opt_fail(f->run, "'%s' has no direction: give it as %s=lower or %s=higher", metric, metric, metric);
    }
    if (!n) return opt_fail(f->run, "no point has the objectives: 'calibrax show' lists metrics");
    if (opt_check(f->run, cbx_pareto_front(f->run->ctx, f->x.items, n, f->d, directions, f->on_front, &f->nfront,
                                           &f->nmissing, f->run->err)))
        return EXIT_ERROR;
    return f->nmissing < n ? EXIT_PASS : opt_fail(f->run, "no point has every objective");
}

/* --- JSON --- */

static int print_field_json(const field *f)
{
    const compare_args *a = f->run->args;
    cbx_json *head = cbx_json_new_document("calibrax-pareto"), *objectives = cbx_json_set_array(head, "objectives");
    cbx_json *tail = cbx_json_new_object();
    json_stream out;

    for (size_t k = 0; k < f->d; k++)
        cbx_json_put(cbx_json_push_object(objectives), J_TEXT("metric", f->objectives[k].metric),
                     J_TEXT("direction", cbx_direction_name(f->objectives[k].direction)),
                     J_TEXT("unit", f->objectives[k].unit));
    json_stream_begin(&out, head, "points");
    for (size_t i = 0; i < f->list.n; i++) {
        const candidate *c = &f->list.items[i];
        if (!f->on_front[i] && a->front_only) continue;
        cbx_json *o = cbx_json_object(J_TEXT("run", c->run), J_TEXT("name", c->point->name),
                                      J_TEXT("scenario", c->point->scenario),
                                      J_JSON("tags", tags_json(c->point->tags, c->point->ntags)));
        cbx_json *values = cbx_json_set_object(o, "values");
        for (size_t k = 0; k < f->d; k++)
            cbx_json_set_double(values, f->objectives[k].metric, f->x.items[i * f->d + k]);
        cbx_json_set_bool(o, "on_front", f->on_front[i]);
        json_stream_add(&out, o);
    }
    cbx_json_put(tail, J_INT("front", f->nfront), J_INT("missing", f->nmissing));
    return json_stream_end(&out, f->run, tail);
}

/* --- text --- */

static int print_field(const field *f, bool with_run)
{
    const compare_args *a = f->run->args;
    cbx_arena *arena = f->run->arena;
    const char **heads = cbx_arena_calloc(f->run->arena, f->d + 2, sizeof *heads);
    char *sides = cbx_arena_alloc(f->run->arena, f->d + 3);

    heads[0] = "";
    heads[1] = "Point";
    memcpy(sides, "ll", 2);
    for (size_t k = 0; k < f->d; k++) {
        const objective *o = &f->objectives[k];
        const char *unit = o->unit ? plain_text(arena, o->unit) : "";
        heads[k + 2] = cbx_arena_printf(arena, "%s%s%s%s, %s is better", plain_text(arena, o->metric),
                                        *unit ? " [" : "", unit, *unit ? "]" : "", cbx_direction_name(o->direction));
        sides[k + 2] = 'r';
    }
    columns *table = columns_begin(arena, heads, sides);
    for (size_t i = 0; i < f->list.n; i++) {
        const candidate *c = &f->list.items[i];
        const paint how = f->on_front[i] ? PAINT_STRONG : PAINT_PLAIN;
        const char *name = plain_text(arena, point_key(arena, c->point, NULL));
        bool missing = false;
        if (!f->on_front[i] && a->front_only) continue;
        for (size_t k = 0; k < f->d; k++) missing = missing || isnan(f->x.items[i * f->d + k]);
        columns_put(table, how, f->on_front[i] ? "*" : missing ? "?" : "");
        columns_put(table, how, with_run ? cbx_arena_printf(arena, "%s of %s", name, c->run) : name);
        for (size_t k = 0; k < f->d; k++) columns_number(table, how, f->x.items[i * f->d + k]);
    }
    columns_print(table, "");
    printf("\n%zu of %zu points are on the front (*)", f->nfront, f->list.n - f->nmissing);
    if (f->nmissing) printf("; %zu lack an objective (?)", f->nmissing);
    putchar('\n');
    return EXIT_PASS;
}

/* --- the mode --- */

int compare_pareto(const opt_run *run)
{
    const compare_args *a = run->args;
    field f = { .run = run, .al = cbx_arena_allocator(run->arena) };
    inputs_visit v = { .take = take_run, .user = &f, .allow_machines = a->allow_machines, .bare = true };
    int status = read_objectives(&f);

    cbx_point_index_init(&f.points, &run->arena->al, NULL);
    if (!status) status = select_query(run, &a->select, &f.query);
    if (!status) status = inputs_each(run, &a->select, &a->inputs, &v);
    cbx_point_index_clear(&f.points);
    if (!status) status = find_front(&f);
    if (status) return status;
    return a->select.json ? print_field_json(&f) : print_field(&f, v.n > 1);
}
