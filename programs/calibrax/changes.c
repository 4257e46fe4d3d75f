/*
 * Series of a store, gone over one by one; what was told before is known by the run at which a change was seen.
 */
#include "programs/calibrax/changes.h"

#include <math.h>
#include <string.h>

#include "calibrax/analysis/change_state.h"
#include "calibrax/base/file.h"
#include "programs/calibrax/inputs.h"

static int no_memory(const opt_run *run) { return opt_fail(run->program, "out of memory"); }

/* --- finding --- */

/* How the changes are looked for: by the detector, or by one of the plain methods. */
static int read_method(const opt_run *run, bool *detector, cbx_changepoint_opts *o)
{
    static const char *const methods[] = { "pelt", "binary", "window", "e-divisive" };
    static const char *const costs[] = { "mean", "normal" };
    const changes_args *a = run->args;
    size_t m = 0, k = 0;

    *o = (cbx_changepoint_opts)CBX_CHANGEPOINT_OPTS_INIT;
    *detector = !a->method || !strcmp(a->method, "detector");
    while (!*detector && m < CBX_LEN(methods) && strcmp(a->method, methods[m])) m++;
    while (a->cost && k < CBX_LEN(costs) && strcmp(a->cost, costs[k])) k++;
    if (m == CBX_LEN(methods))
        return opt_fail(run->program, "--method: expected detector, pelt, binary, window or e-divisive, found '%s'",
                        a->method);
    if (k == CBX_LEN(costs)) return opt_fail(run->program, "--cost: expected mean or normal, found '%s'", a->cost);
    if (*detector && (a->cost || !isnan(a->penalty)))
        return opt_fail(run->program, "--cost and --penalty go with --method pelt, binary or window");
    o->method = (cbx_changepoint_method)m;
    o->cost = (cbx_changepoint_cost)k;
    o->min_segment = a->min_segment;
    o->penalty = a->penalty;
    o->window = a->window;
    o->alpha = a->alpha;
    o->seed = a->seed;
    return EXIT_PASS;
}

static const cbx_trend_point *point_of(const changes_series *s, size_t i)
{
    return s->where ? s->where[i] : &s->s->points[i];
}

static bool take_values(const opt_run *run, changes_series *s)
{
    size_t n = s->s->npoints;

    for (size_t i = 0; i < n; i++) s->left_out += !isfinite(s->s->points[i].value);
    s->values = cbx_arena_calloc(run->arena, n, sizeof *s->values);
    if (s->left_out) s->where = cbx_arena_calloc(run->arena, n, sizeof *s->where);
    if (!s->values || (s->left_out && !s->where)) return false;
    for (size_t i = 0; i < n; i++) {
        const cbx_trend_point *p = &s->s->points[i];
        if (!isfinite(p->value)) continue;
        if (s->where) s->where[s->n] = p;
        s->values[s->n++] = p->value;
    }
    return true;
}

static double mean_of(const double *x, size_t from, size_t to)
{
    double sum = 0;

    for (size_t i = from; i < to; i++) sum += x[i];
    return sum / (double)(to - from);
}

/* Levels of the segments beside each change that a plain method found. */
static void fill_levels(const changes_series *s, const size_t *index, size_t count, cbx_change *out)
{
    for (size_t k = 0; k < count; k++) {
        size_t from = k ? index[k - 1] : 0, to = k + 1 < count ? index[k + 1] : s->n;
        double before = mean_of(s->values, from, index[k]), after = mean_of(s->values, index[k], to);
        double change = before != 0 ? (after - before) / fabs(before) : INFINITY;
        out[k] = (cbx_change){ index[k], before, after, change, NAN };
    }
}

static int find_with(const opt_run *run, changes_series *s, bool detector, const cbx_changepoint_opts *o,
                     cbx_arena *scratch)
{
    cbx_change *list = cbx_arena_calloc(scratch, s->n, sizeof *list);
    size_t *index = cbx_arena_calloc(scratch, s->n, sizeof *index), count = 0;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    if (!list || !index) return no_memory(run);
    st = detector ? cbx_changes_detect(run->ctx, s->values, s->n, o->min_segment, list, &count, &err)
                  : cbx_changepoints_find(run->ctx, s->values, s->n, o, index, &count, &err);
    if (st) return opt_fail(run->program, "%s", err.message);
    if (!detector) fill_levels(s, index, count, list);
    s->found = cbx_arena_calloc(run->arena, count, sizeof *s->found);
    if (!s->found) return no_memory(run);
    for (size_t k = 0; k < count; k++) {
        bool up = list[k].after > list[k].before, known = s->direction != CBX_DIRECTION_INFO;
        bool worse = up == (s->direction == CBX_DIRECTION_LOWER);
        s->found[k] = (change_found){ .c = list[k],
                                      .at = point_of(s, list[k].index),
                                      .is_new = true,
                                      .worse = known && worse,
                                      .better = known && !worse };
    }
    s->nfound = count;
    return EXIT_PASS;
}

static int find_in(const opt_run *run, changes_series *s, bool detector, const cbx_changepoint_opts *o)
{
    cbx_arena scratch;
    int status;

    cbx_arena_init(&scratch, cbx_ctx_allocator(run->ctx));
    status = find_with(run, s, detector, o, &scratch);
    cbx_arena_clear(&scratch);
    return status;
}

/* The store is asked once a metric: it looks at every run each time.  Series are by point, so one before has most metrics too. */
static bool find_direction(changes *c, changes_series *s)
{
    cbx_metric_def def;
    size_t at = (size_t)(s - c->list);
    cbx_point *metric = cbx_arena_calloc(c->run->arena, 1, sizeof *metric);
    const cbx_point_entry *e = NULL;

    if (metric) {
        *metric = (cbx_point){ .name = s->s->metric, .scenario = "" };
        e = cbx_point_index_add(&c->metrics, metric, at);
    }
    if (!e) return false;
    if (e->value != at) {
        const changes_series *first = &c->list[e->value];
        s->undefined = first->undefined;
        s->direction = first->direction;
        s->unit = first->unit;
        return true;
    }
    s->undefined = cbx_store_metric_def(c->store, s->s->metric, c->run->arena, &def, NULL) != CBX_OK;
    s->direction = s->undefined ? CBX_DIRECTION_INFO : def.direction;
    s->unit = s->undefined ? NULL : def.unit;
    return true;
}

int changes_find(changes *c)
{
    const changes_args *a = c->run->args;
    cbx_store_query query;
    cbx_changepoint_opts o;
    cbx_arena passing;
    cbx_err err = CBX_ERR_INIT;
    bool detector;
    int status = read_method(c->run, &detector, &o);

    if (!status) status = select_query(c->run, &a->select, &query);
    if (status) return status;
    if (cbx_store_trend(c->store, &query, &c->trend, &err)) return opt_fail(c->run->program, "%s", err.message);
    select_warn(c->run, c->store);
    if (!c->trend.count)
        return opt_fail(c->run->program, "no trend data found: 'calibrax show --data %s' tells points and metrics",
                        cbx_store_root(c->store));
    c->list = cbx_arena_calloc(c->run->arena, c->trend.count, sizeof *c->list);
    if (!c->list) return no_memory(c->run);
    cbx_point_index_init(&c->metrics, cbx_ctx_allocator(c->run->ctx), NULL);
    cbx_arena_init(&passing, cbx_ctx_allocator(c->run->ctx));
    for (size_t i = 0; !status && i < c->trend.count; i++) {
        changes_series *s = &c->list[c->n++];
        *s = (changes_series){ .s = &c->trend.series[i] };
        s->name = cbx_arena_strdup(c->run->arena, series_key(&passing, s->s));
        cbx_arena_clear(&passing);
        if (!s->name || !find_direction(c, s) || !take_values(c->run, s)) return no_memory(c->run);
        s->unseen = s->n;
        status = find_in(c->run, s, detector, &o);
    }
    return status;
}

/* --- the last look --- */

/* Names of the runs of a series' values; NULL: out of memory. */
static const char **runs_of(const changes *c, const changes_series *s)
{
    const char **runs = cbx_arena_calloc(c->run->arena, s->n, sizeof *runs);

    for (size_t i = 0; runs && i < s->n; i++) runs[i] = point_of(s, i)->run_id;
    return runs;
}

static int compare_series(const changes *c, changes_series *s, size_t min_segment)
{
    const cbx_json *seen = cbx_change_state_of(c->seen, s->name);
    const char **runs = runs_of(c, s);

    if (!runs) return no_memory(c->run);
    if (!seen) return EXIT_PASS;
    s->unseen = cbx_change_state_unseen(seen, runs, s->n);
    for (size_t k = 0; k < s->nfound; k++)
        if (cbx_change_state_is_told(seen, runs, s->n, s->found[k].c.index, min_segment)) s->found[k].is_new = false;
    return EXIT_PASS;
}

int changes_compare(changes *c)
{
    const changes_args *a = c->run->args;
    cbx_err err = CBX_ERR_INIT;
    int status = EXIT_PASS;

    if (!a->state || !cbx_path_exists(a->state)) return EXIT_PASS;
    if (cbx_json_read(c->run->ctx, a->state, &c->seen, &err) || cbx_change_state_check(c->seen, a->state, &err))
        return opt_fail(c->run->program, "%s", err.message);
    for (size_t i = 0; !status && i < c->n; i++)
        status = compare_series(c, &c->list[i], a->min_segment ? a->min_segment : 1);
    return status;
}

static cbx_json *series_state(const changes *c, const changes_series *s)
{
    const char **runs = runs_of(c, s);
    size_t *places = cbx_arena_calloc(c->run->arena, s->nfound, sizeof *places);

    if (!runs || !places) return NULL;
    for (size_t k = 0; k < s->nfound; k++) places[k] = s->found[k].c.index;
    return cbx_change_state_make(runs, s->n, places, s->nfound);
}

/* Series that were not asked for this time stay as they were. */
int changes_keep(const changes *c)
{
    const changes_args *a = c->run->args;
    cbx_json *o, *all;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = CBX_OK;
    cbx_text text;

    if (!a->state) return EXIT_PASS;
    o = new_document(CBX_CHANGE_STATE_SCHEMA);
    all = cbx_json_get(c->seen, "series") ? cbx_json_copy(cbx_json_get(c->seen, "series")) : cbx_json_new_object();
    for (size_t i = 0; i < c->n && !st; i++)
        if (!cbx_json_set(all, c->list[i].name, series_state(c, &c->list[i])))
            st = cbx_fail(&err, CBX_ENOMEM, "out of memory");
    if (!cbx_json_set(o, "series", all)) st = cbx_fail(&err, CBX_ENOMEM, "out of memory");
    cbx_text_init(&text, cbx_ctx_allocator(c->run->ctx));
    cbx_json_write(o, CBX_JSON_INDENT2, &text);
    cbx_text_putc(&text, '\n');
    if (!st) st = cbx_text_check(&text, &err);
    if (!st) st = cbx_dir_create_parent(c->run->ctx, a->state, &err);
    if (!st) st = cbx_file_write_atomic(c->run->ctx, a->state, text.data, text.len, &err);
    cbx_text_clear(&text);
    cbx_json_unref(o);
    return st ? opt_fail(c->run->program, "%s", err.message) : EXIT_PASS;
}

/* --- a fresh measurement --- */

typedef struct pile {
    double *x;
    size_t n;
} pile;

static bool same_tags(const cbx_trend_series *s, const cbx_point *p)
{
    if (s->ntags != p->ntags) return false;
    for (size_t i = 0; i < s->ntags; i++) {
        const char *value = cbx_point_tag(p, s->tags[i].key);
        if (!value || strcmp(value, s->tags[i].value) != 0) return false;
    }
    return true;
}

/* The samples of the series' point in a run, or its value where there are none. */
static bool pile_run(const opt_run *run, const cbx_trend_series *s, const cbx_run *r, pile *out)
{
    for (size_t i = 0; i < cbx_run_npoints(r); i++) {
        const cbx_point *p = cbx_run_point(r, i);
        const cbx_metric *m = cbx_point_metric(p, s->metric);
        const double *from;
        double *more;
        size_t n;
        if (!m || strcmp(p->name, s->point) != 0 || strcmp(p->scenario, s->scenario) != 0 || !same_tags(s, p)) continue;
        from = m->nsamples ? m->samples : &m->value;
        n = m->nsamples ? m->nsamples : 1;
        more = cbx_arena_calloc(run->arena, out->n + n, sizeof *more);
        if (!more) return false;
        if (out->n) memcpy(more, out->x, out->n * sizeof *more);
        memcpy(more + out->n, from, n * sizeof *more);
        *out = (pile){ more, out->n + n };
    }
    return true;
}

static bool pile_runs(const opt_run *run, const cbx_trend_series *s, const inputs_list *l, pile *out)
{
    bool whole = true;

    for (size_t i = 0; whole && i < l->n; i++) whole = pile_run(run, s, l->items[i], out);
    return whole;
}

/* Confirmed: it lies on the side of the change that was proposed; refuted: equivalent, or on the other side. */
static judgement judge(const change_found *f, cbx_verdict v)
{
    bool up = f->c.after > f->c.before;

    if (v == CBX_VERDICT_UNDECIDED) return UNDECIDED;
    return v == (up ? CBX_VERDICT_SLOWER : CBX_VERDICT_FASTER) ? CONFIRMED : REFUTED;
}

/* Runs measured anew on both sides. */
typedef struct sides {
    inputs_list before, after;
} sides;

/* Two units are no change of level. */
static int need_unit(const changes *c, const changes_series *s, const inputs_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const cbx_metric_def *def = cbx_run_find_metric_def(l->items[i], s->s->metric);
        if (!def || !s->unit || !strcmp(def->unit, s->unit)) continue;
        return opt_fail(c->run->program, "'%s' is in '%s', and in '%s' in run '%s': measure anew in one unit",
                        plain_text(c->run->arena, s->name), s->unit, def->unit, cbx_run_id(l->items[i]));
    }
    return EXIT_PASS;
}

static int confirm_series(changes *c, changes_series *s, const sides *anew, size_t *asked)
{
    const changes_args *a = c->run->args;
    change_found *last = &s->found[s->nfound - 1];
    pile before = { NULL, 0 }, after = { NULL, 0 };
    cbx_verdict verdict;
    cbx_err err = CBX_ERR_INIT;

    if (!pile_runs(c->run, s->s, &anew->before, &before) || !pile_runs(c->run, s->s, &anew->after, &after))
        return no_memory(c->run);
    if (!before.n || !after.n) return EXIT_PASS;
    if (cbx_change_confirm(c->run->ctx, before.x, before.n, after.x, after.n, a->level, a->threshold, &verdict,
                           &last->anew, &err))
        return opt_fail(c->run->program, "'%s': %s", plain_text(c->run->arena, s->name), err.message);
    last->judged = judge(last, verdict);
    ++*asked;
    return EXIT_PASS;
}

static int confirm_all(changes *c, const sides *anew)
{
    size_t asked = 0, changed = 0;
    int status = EXIT_PASS;

    for (size_t i = 0; !status && i < c->n; i++) {
        if (!c->list[i].nfound) continue;
        changed++;
        status = need_unit(c, &c->list[i], &anew->before);
        if (!status) status = need_unit(c, &c->list[i], &anew->after);
        if (!status) status = confirm_series(c, &c->list[i], anew, &asked);
    }
    if (status || asked || !changed) return status;
    return opt_fail(c->run->program, "no series that changes is measured in the runs of both --before and --after");
}

/* A run on both sides differs in nothing, and another machine in what no commit did. */
static int check_sides(const changes *c, const sides *anew)
{
    const changes_args *a = c->run->args;
    inputs_list all = { .n = anew->before.n + anew->after.n };

    all.items = cbx_arena_calloc(c->run->arena, all.n, sizeof *all.items);
    if (!all.items) return no_memory(c->run);
    memcpy(all.items, anew->before.items, anew->before.n * sizeof *all.items);
    memcpy(all.items + anew->before.n, anew->after.items, anew->after.n * sizeof *all.items);
    for (size_t i = 0; i < anew->before.n; i++)
        for (size_t k = 0; k < anew->after.n; k++)
            if (!strcmp(cbx_run_id(anew->before.items[i]), cbx_run_id(anew->after.items[k])))
                return opt_fail(c->run->program, "run '%s' stands in --before and in --after: measure both sides anew",
                                cbx_run_id(anew->before.items[i]));
    return inputs_check_machines(c->run, &all, a->allow_machines);
}

int changes_confirm(changes *c)
{
    const changes_args *a = c->run->args;
    sides anew = { { NULL, 0 }, { NULL, 0 } };
    int status;

    if (!a->before.count && !a->after.count) return EXIT_PASS;
    if (!a->before.count || !a->after.count)
        return opt_fail(c->run->program, "--before and --after go together: runs of both sides of the change");
    status = inputs_load_names(c->run, &a->select, a->before.items, a->before.count, &anew.before);
    if (!status) status = inputs_load_names(c->run, &a->select, a->after.items, a->after.count, &anew.after);
    if (!status) status = check_sides(c, &anew);
    if (!status) status = confirm_all(c, &anew);
    inputs_clear(&anew.before);
    inputs_clear(&anew.after);
    return status;
}

void changes_clear(changes *c)
{
    cbx_json_unref(c->seen);
    cbx_trend_clear(&c->trend);
    cbx_point_index_clear(&c->metrics);
    cbx_store_close(c->store);
}
