/*
 * calibrax trend --changes: where the level of a metric changed over the runs of a store; which
 * changes are new since the last look, and which ones a repeated measurement confirms.
 */
#include <math.h>
#include <string.h>

#include "calibrax/analysis/change_state.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/core/point_index.h"
#include "programs/calibrax/trend.h"
#include "programs/common/columns.h"
#include "programs/common/output.h"

/* The verdict of a repeated measurement on a change. */
typedef enum judgement { NOT_ASKED, CONFIRMED, REFUTED, UNDECIDED } judgement;
static const char *const judgement_words[] = { "", "confirmed", "refuted", "undecided" };

typedef struct change {
    cbx_change c;              /* index into the series' kept values */
    const cbx_trend_point *at; /* first value after it */
    bool is_new, worse, better;
    judgement judged;
    cbx_interval again; /* relative change of the repeated measurement; level 0: none */
} change;

typedef struct series {
    const cbx_trend_series *s;
    const char *name;              /* "point@scenario{tags}:metric" */
    double *values;                /* those that are finite */
    const cbx_trend_point **where; /* of each */
    size_t n, left_out, unseen;    /* values; not finite; since the last look */
    cbx_direction direction;
    const char *unit; /* NULL: no run defines the metric */
    change *found;
    size_t nfound;
} series;

typedef struct changes {
    const opt_run *run;
    const trend_args *a;
    cbx_store *store;
    cbx_trend trend;
    series *list;
    size_t n;
    cbx_names metrics;
    cbx_metric_def *defs; /* of each metric; unit NULL: no run defines it */
    cbx_json *seen;       /* the state file as it was; NULL: none */
} changes;

/* --- finding --- */

static double mean_of(const double *x, size_t from, size_t to)
{
    double sum = 0;

    for (size_t i = from; i < to; i++) sum += x[i];
    return sum / (double)(to - from);
}

static int find_in(const opt_run *run, series *s, cbx_arena *scratch)
{
    const trend_args *a = run->args;
    const size_t n = s->s->npoints;
    cbx_changepoint_opts o = a->how;
    cbx_change *list = cbx_arena_calloc(scratch, n, sizeof *list);
    size_t *index = cbx_arena_calloc(scratch, n, sizeof *index), count = 0;
    cbx_status st;

    s->values = cbx_arena_calloc(run->arena, n, sizeof *s->values);
    s->where = cbx_arena_calloc(run->arena, n, sizeof *s->where);
    for (size_t i = 0; i < n; i++) {
        const cbx_trend_point *p = &s->s->points[i];
        s->left_out += !isfinite(p->value);
        if (!isfinite(p->value)) continue;
        s->where[s->n] = p;
        s->values[s->n++] = p->value;
    }
    s->unseen = s->n;
    o.method = (cbx_changepoint_method)(a->method - 1); /* 0: the detector */
    o.cost = (cbx_changepoint_cost)a->cost;
    if (!a->method && (s->n < 4 || s->n / 2 < a->how.min_segment)) return EXIT_PASS; /* too short for any change */
    st = a->method ? cbx_changepoints_find(run->ctx, s->values, s->n, &o, index, &count, run->err)
                   : cbx_changes_detect(run->ctx, s->values, s->n, a->how.min_segment, list, &count, run->err);
    if (opt_check(run, st)) return EXIT_ERROR;
    for (size_t k = 0; a->method && k < count; k++) { /* levels of the segments beside each change */
        size_t from = k ? index[k - 1] : 0, to = k + 1 < count ? index[k + 1] : s->n;
        double before = mean_of(s->values, from, index[k]), after = mean_of(s->values, index[k], to);
        list[k] = (cbx_change){ index[k], before, after, before != 0 ? (after - before) / fabs(before) : INFINITY,
                                NAN,      false };
    }
    s->found = cbx_arena_calloc(run->arena, count, sizeof *s->found);
    for (size_t k = 0; k < count; k++) {
        bool known = s->direction != CBX_DIRECTION_INFO;
        bool worse = (list[k].after > list[k].before) == (s->direction == CBX_DIRECTION_LOWER);
        s->found[k] = (change){ .c = list[k],
                                .at = s->where[list[k].index],
                                .is_new = true,
                                .worse = known && worse,
                                .better = known && !worse };
    }
    s->nfound = count;
    return EXIT_PASS;
}

/* Two values of one run are no series, and a gate cannot judge runs of one time, whose order is
 * unknown. */
static int check_order(const changes *c, const series *s)
{
    for (size_t i = 1; i < s->s->npoints; i++) {
        const cbx_trend_point *p = &s->s->points[i - 1], *q = p + 1;
        if (!strcmp(p->run_id, q->run_id))
            return opt_fail(c->run, "run '%s' has two points of '%s': distinguish them by a tag", p->run_id, s->name);
        if (c->a->check && p->timestamp_us == q->timestamp_us)
            return opt_fail(c->run, "runs '%s' and '%s' have the same time, so their order is unknown: correct one",
                            p->run_id, q->run_id);
    }
    return EXIT_PASS;
}

static int find_changes(changes *c)
{
    cbx_store_query query;
    cbx_same_machine noted = CBX_MACHINE_SAME;
    int status = select_query(c->run, &c->a->select, &query);

    if (status) return status;
    if (opt_check(c->run, cbx_store_trend(c->store, &query, &c->trend, c->run->err))) return EXIT_ERROR;
    select_warn(c->run, c->store);
    if (!c->trend.count)
        return opt_fail(c->run, "no series in '%s' matches: 'calibrax show' lists points and metrics",
                        cbx_store_root(c->store));
    c->list = cbx_arena_calloc(c->run->arena, c->trend.count, sizeof *c->list);
    c->defs = cbx_arena_calloc(c->run->arena, c->trend.count, sizeof *c->defs);
    cbx_names_init(&c->metrics, &c->run->arena->al);
    for (size_t i = 0; !status && i < c->trend.count; i++) {
        CBX_SCOPED(cbx_arena, passing, &c->run->arena->al);
        series *s = &c->list[c->n++];
        *s = (series){ .s = &c->trend.series[i] };
        s->name = cbx_arena_strdup(c->run->arena, series_key(&passing, s->s));
        /* the store is asked once a metric: it reads every run each time */
        const size_t known = c->metrics.n, number = cbx_names_add(&c->metrics, s->s->metric);
        cbx_metric_def *def = &c->defs[number];
        if (number == known && cbx_store_metric_def(c->store, s->s->metric, c->run->arena, def, NULL))
            *def = (cbx_metric_def){ .direction = CBX_DIRECTION_INFO };
        s->direction = def->direction;
        s->unit = def->unit;
        status = find_in(c->run, s, &passing);
    }
    /* Another machine is a change of level that no commit made, and may hide one that a commit
     * made. */
    for (size_t i = 0; !status && i < c->n; i++) {
        const series *s = &c->list[i];
        status = select_check_machines(c->run, s->s, s->name, c->a->allow_machines, &noted);
        if (!status) status = select_check_units(c->run, c->store, s->s, s->name, true);
        if (!status) status = check_order(c, s);
    }
    return status;
}

/* --- the last look --- */

/* Names of the runs of a series' values. */
static const char **runs_of(const changes *c, const series *s)
{
    const char **runs = cbx_arena_calloc(c->run->arena, s->n, sizeof *runs);

    for (size_t i = 0; i < s->n; i++) runs[i] = s->where[i]->run_id;
    return runs;
}

/* Marks what is new by the state file, if there is one. */
static int compare_with_state(changes *c)
{
    const char *path = c->a->state;

    if (!path || !cbx_path_exists(path)) return EXIT_PASS;
    if (opt_check(c->run, cbx_json_read(c->run->ctx, path, &c->seen, c->run->err)) ||
        opt_check(c->run, cbx_change_state_check(c->seen, path, c->run->err)))
        return EXIT_ERROR;
    for (size_t i = 0; i < c->n; i++) {
        series *s = &c->list[i];
        const cbx_json *seen = cbx_change_state_of(c->seen, s->name);
        const char **runs = runs_of(c, s);
        if (!seen) continue;
        s->unseen = cbx_change_state_unseen(seen, runs, s->n);
        for (size_t k = 0; k < s->nfound; k++)
            if (cbx_change_state_is_reported(seen, runs, s->n, s->found[k].c.index, c->a->how.min_segment))
                s->found[k].is_new = false;
    }
    return EXIT_PASS;
}

/* Series that were not chosen this time stay as they were.  A proposal stays new until it is an
 * alarm; the plain methods have no alarms. */
static int write_state(const changes *c)
{
    const char *path = c->a->state;
    const cbx_json *before = cbx_json_get(c->seen, "series");

    if (!path) return EXIT_PASS;
    cbx_json *all = before ? cbx_json_copy(before) : cbx_json_new_object();
    for (size_t i = 0; i < c->n; i++) {
        const series *s = &c->list[i];
        size_t *places = cbx_arena_calloc(c->run->arena, s->nfound, sizeof *places), n = 0;
        for (size_t k = 0; k < s->nfound; k++)
            if (s->found[k].c.alarm || c->a->method) places[n++] = s->found[k].c.index;
        cbx_json_set(all, s->name, cbx_change_state_make(runs_of(c, s), s->n, places, n));
    }
    SCOPED(cbx_json) *o = cbx_json_document(CBX_CHANGE_STATE_SCHEMA, J_JSON("series", all));
    SCOPED_TEXT(text, cbx_ctx_allocator(c->run->ctx));
    cbx_json_write(o, CBX_JSON_INDENT2, &text);
    cbx_text_putc(&text, '\n');
    return write_text(c->run, path, &text);
}

/* --- a repeated measurement --- */

typedef CBX_LIST(double) pile;

/* The samples of the series' point in the runs, or its values where there are none, of one unit. */
static int pile_runs(const changes *c, const series *s, const inputs_list *l, pile *out)
{
    const cbx_point wanted = { s->s->point, s->s->scenario, s->s->tags, s->s->ntags, NULL, 0 };

    for (size_t i = 0; i < l->n; i++) {
        const cbx_metric_def *def = cbx_run_find_metric_def(l->items[i], s->s->metric);
        if (def && s->unit && strcmp(def->unit, s->unit) != 0)
            return opt_fail(c->run, "'%s' is in '%s', and in '%s' in run '%s': measure again in one unit",
                            plain_text(c->run->arena, s->name), s->unit, def->unit, cbx_run_id(l->items[i]));
        for (size_t k = 0; k < cbx_run_npoints(l->items[i]); k++) {
            const cbx_point *p = cbx_run_point(l->items[i], k);
            const cbx_metric *m = cbx_point_metric(p, s->s->metric);
            size_t n = m && m->nsamples ? m->nsamples : 1;
            if (!m || !cbx_point_same(&wanted, p, NULL)) continue;
            (void)cbx_list_reserve(CBX_IN_ARENA(c->run->arena), out, out->n + n);
            memcpy(out->items + out->n, m->nsamples ? m->samples : &m->value, n * sizeof *out->items);
            out->n += n;
        }
    }
    return EXIT_PASS;
}

/* The last change of each series against the runs of both sides: confirmed on the side that it
 * went, else refuted. */
static int confirm_all(changes *c, const inputs_list sides[2])
{
    const trend_args *a = c->a;
    size_t asked = 0, changed = 0;

    for (size_t i = 0; i < c->n; i++) {
        series *s = &c->list[i];
        change *last = s->nfound ? &s->found[s->nfound - 1] : NULL;
        pile piles[2] = { 0 };
        cbx_verdict v;
        if (!last) continue;
        changed++;
        for (int side = 0; side < 2; side++)
            if (pile_runs(c, s, &sides[side], &piles[side])) return EXIT_ERROR;
        if (!piles[0].n || !piles[1].n) continue;
        if (cbx_change_confirm(c->run->ctx, piles[0].items, piles[0].n, piles[1].items, piles[1].n, a->level,
                               a->threshold, &v, &last->again, c->run->err))
            return opt_fail(c->run, "'%s': %s", plain_text(c->run->arena, s->name), c->run->err->message);
        last->judged = v == CBX_VERDICT_UNDECIDED                                                        ? UNDECIDED
                       : v == (last->c.after > last->c.before ? CBX_VERDICT_SLOWER : CBX_VERDICT_FASTER) ? CONFIRMED
                                                                                                         : REFUTED;
        asked++;
    }
    if (asked || !changed) return EXIT_PASS;
    return opt_fail(c->run, "no series with a change has values in the runs of both --before and --after");
}

static int confirm(changes *c)
{
    inputs_list sides[2] = { { NULL, 0 }, { NULL, 0 } }, all = { NULL, 0 };
    const inputs_args asked[2] = { { .runs = c->a->before }, { .runs = c->a->after } };
    int status = EXIT_PASS;

    if (!c->a->before.count) return EXIT_PASS;
    for (int side = 0; !status && side < 2; side++)
        status = inputs_load(c->run, &c->a->select, &asked[side], NULL, &sides[side], NULL);
    all.items = cbx_arena_calloc(c->run->arena, sides[0].n + sides[1].n, sizeof *all.items);
    for (int side = 0; !status && side < 2; side++)
        for (size_t i = 0; i < sides[side].n; i++) all.items[all.n++] = sides[side].items[i];
    for (size_t i = 0; !status && i < sides[0].n; i++)
        for (size_t k = 0; !status && k < sides[1].n; k++)
            if (!strcmp(cbx_run_id(sides[0].items[i]), cbx_run_id(sides[1].items[k])))
                status = opt_fail(c->run, "run '%s' is in both --before and --after: measure both sides again",
                                  cbx_run_id(sides[0].items[i]));
    if (!status) status = inputs_check_machines(c->run, &all, c->a->allow_machines);
    if (!status) status = confirm_all(c, sides);
    inputs_list_clear(&sides[0]);
    inputs_list_clear(&sides[1]);
    return status;
}

/* --- output --- */

static cbx_json *change_json(const change *f)
{
    char time[CBX_TIME_SIZE];

    cbx_json *o = cbx_json_object(
        J_TEXT("run", f->at->run_id), J_TEXT("timestamp", cbx_time_format_iso(f->at->timestamp_us, time)),
        J_TEXT("commit", f->at->commit), J_INT("index", f->c.index), J_NUMBER("before", f->c.before),
        J_NUMBER("after", f->c.after), J_NUMBER("change", f->c.change));
    if (!isnan(f->c.score)) cbx_json_put(o, J_NUMBER("score", f->c.score), J_BOOL("alarm", f->c.alarm));
    cbx_json_put(o, J_BOOL("new", f->is_new), J_TEXT("for", f->worse ? "worse" : f->better ? "better" : NULL));
    if (f->judged)
        cbx_json_put(cbx_json_set_object(o, "confirmation"), J_TEXT("verdict", judgement_words[f->judged]),
                     J_NUMBER("change", f->again.value), J_NUMBER("lower", f->again.lower),
                     J_NUMBER("upper", f->again.upper), J_NUMBER("level", f->again.level));
    return o;
}

static int print_changes_json(const changes *c)
{
    cbx_json *document = cbx_json_new_document("calibrax-changepoints");
    json_stream out;

    cbx_json_set_bool(document, "exploratory", c->a->method != 0);
    json_stream_begin(&out, document, "series");
    for (size_t i = 0; i < c->n; i++) {
        const series *s = &c->list[i];
        cbx_json *list = cbx_json_new_array();
        cbx_json *e = cbx_json_object(
            J_TEXT("metric", s->s->metric), J_TEXT("point", s->s->point), J_TEXT("scenario", s->s->scenario),
            J_JSON("tags", tags_json(s->s->tags, s->s->ntags)), J_TEXT("direction", cbx_direction_name(s->direction)),
            J_INT("values", s->n), J_INT("unseen", s->unseen), J_INT("not_finite", s->left_out));
        for (size_t k = 0; k < s->nfound; k++)
            if (s->found[k].is_new || !c->a->new_only) cbx_json_push(list, change_json(&s->found[k]));
        cbx_json_set(e, "changes", list);
        json_stream_add(&out, e);
    }
    return json_stream_end(&out, c->run, NULL);
}

static void put_change(const changes *c, const series *s, const change *f, columns *table)
{
    cbx_arena *arena = c->run->arena;
    const char *side = f->worse ? "worse" : f->better ? "better" : "", *isnew = c->a->state && f->is_new ? ", new" : "";
    paint how = f->worse ? PAINT_BAD : f->better ? PAINT_GOOD : PAINT_PLAIN;
    char time[CBX_TIME_SIZE], text[CBX_FORMAT_SIZE];

    columns_put(table, PAINT_STRONG, plain_text(arena, s->name));
    columns_put(table, PAINT_PLAIN, f->at->run_id);
    columns_put(table, PAINT_PLAIN, cbx_arena_strdup(arena, format_time(f->at->timestamp_us, time)));
    columns_printf(table, PAINT_PLAIN, "%.8s", f->at->commit ? plain_text(arena, f->at->commit) : "-");
    columns_number(table, PAINT_PLAIN, f->c.before);
    columns_number(table, PAINT_PLAIN, f->c.after);
    columns_put(table, how, cbx_arena_strdup(arena, format_percent(f->c.change, text)));
    if (f->judged && f->again.level > 0)
        columns_printf(table, how, "%s%s%s%s, repeated %+.4g %% [%.4g, %.4g]", side, *side ? ", " : "",
                       judgement_words[f->judged], isnew, 100 * f->again.value, 100 * f->again.lower,
                       100 * f->again.upper);
    else
        columns_printf(table, how, "%s%s%s%s", side,
                       f->c.alarm || c->a->method ? ""
                       : *side                    ? ", proposed"
                                                  : "proposed",
                       f->judged ? ", undecided: too few samples" : "", isnew);
}

static void print_changes(const changes *c)
{
    static const char *const heads[] = {
        "Series", "Since run", "Timestamp", "Commit", "Before", "After", "Change", ""
    };
    columns *table = columns_begin(c->run->arena, heads, "llllrrrl");
    size_t n = 0, changed = 0, nnew = 0, left_out = 0, unseen = 0;

    for (size_t i = 0; i < c->n; i++) {
        const series *s = &c->list[i];
        left_out += s->left_out;
        unseen += s->unseen;
        changed += s->nfound > 0;
        n += s->nfound;
        for (size_t k = 0; k < s->nfound; k++) {
            nnew += s->found[k].is_new;
            if (s->found[k].is_new || !c->a->new_only) put_change(c, s, &s->found[k], table);
        }
    }
    if (c->a->new_only ? nnew : n) columns_print(table, "");
    for (size_t i = 0; terminal_has_bars() && i < c->n; i++) {
        if (!c->list[i].nfound) continue;
        print_painted(PAINT_STRONG, "%s\n", plain_text(c->run->arena, c->list[i].name));
        print_bars(c->list[i].values, c->list[i].n);
    }
    if (n)
        print_painted(PAINT_STRONG, "%zu change%s in %zu of %zu series", n, n == 1 ? "" : "s", changed, c->n);
    else
        print_painted(PAINT_STRONG, "no change in %zu series", c->n);
    if (c->a->state) printf("; %zu new, %zu value%s since the last check", nnew, unseen, unseen == 1 ? "" : "s");
    if (left_out) printf("; %zu value%s not finite", left_out, left_out == 1 ? " is" : "s are");
    if (c->a->method) printf("; exploratory: this method has no bound on false alarms");
    putchar('\n');
}

/* --- the gate --- */

/* Series that the newest run lacks would pass by the values of older runs. */
static int check_newest(const changes *c)
{
    const cbx_store_query query = { .branch = c->a->select.branch, .machine = c->a->select.machine, .limit = 2 };
    const char *lost = NULL;
    CLEARED(cbx_store_list) list = { 0 };
    size_t n = 0;

    if (c->a->select.until || c->a->select.commit) return EXIT_PASS;
    if (opt_check(c->run, cbx_store_query_runs(c->store, &query, &list, c->run->err))) return EXIT_ERROR;
    int status = select_need_newest(c->run, c->store, &list, "");
    for (size_t i = 0; !status && list.count && i < c->n; i++) {
        const cbx_trend_series *s = c->list[i].s;
        if (!strcmp(s->points[s->npoints - 1].run_id, list.entries[0].id)) continue;
        lost = c->list[i].name;
        n++;
    }
    if (!n) return status;
    opt_fail(c->run, "%s%zu of %zu series have no value in the newest run, '%s': '%s'%s%s",
             c->a->allow_dropped ? "note: " : "", n, c->n, list.entries[0].id, lost, n > 1 ? " among them" : "",
             c->a->allow_dropped ? "" : "; choose series or runs, or accept it with --allow-dropped");
    return c->a->allow_dropped ? EXIT_PASS : EXIT_ERROR;
}

/* Where no series with a direction has values on both sides of any change, nothing was decided; a
 * short one beside others is noted. */
static int check_lengths(const changes *c)
{
    const size_t pair = 2 * c->a->how.min_segment, needed = pair > CBX_CHANGE_ALARM_MIN ? pair : CBX_CHANGE_ALARM_MIN;
    const series *shortest = NULL;
    size_t directed = 0, few = 0;

    for (size_t i = 0; i < c->n; i++) {
        const series *s = &c->list[i];
        if (s->direction == CBX_DIRECTION_INFO) continue;
        directed++;
        if (s->n >= needed) continue;
        few++;
        shortest = s;
    }
    if (!few) return EXIT_PASS;
    opt_fail(c->run, "%s'%s' has %zu of the %zu values that an alarm needs%s", few < directed ? "note: " : "",
             shortest->name, shortest->n, needed, few > 1 ? ", and other series have too few" : "");
    return few < directed ? EXIT_PASS : EXIT_UNDECIDED;
}

/* Confirmed and for the worse: 1; undecided: 3; without a confirmation a new alarm for the worse is
 * enough. */
static int verdict_of(const changes *c)
{
    int status = EXIT_PASS, newest = check_newest(c);
    bool failed = false;

    for (size_t i = 0; i < c->n; i++) { /* a newest value that is not a number is in no level, and must not pass */
        const series *s = &c->list[i];
        if (s->direction == CBX_DIRECTION_INFO || isfinite(s->s->points[s->s->npoints - 1].value)) continue;
        failed = true;
        opt_fail(c->run, "'%s' is not a finite number in the newest run", s->name);
    }
    if (failed) return EXIT_CHECK;
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->list[i].nfound; k++) {
            const change *f = &c->list[i].found[k];
            bool counts = c->a->before.count ? f->judged == CONFIRMED : f->is_new && f->c.alarm;
            if (f->worse && counts) return EXIT_CHECK;
            if (!c->list[i].unit && counts)
                status = opt_fail(c->run, "'%s' changed and has no definition: define its unit and direction",
                                  c->list[i].name);
            if (!status && f->worse && f->judged == UNDECIDED) status = EXIT_UNDECIDED;
        }
    return newest ? newest : status ? status : check_lengths(c);
}

int trend_changes(const opt_run *run)
{
    changes c = { .run = run, .a = run->args };
    int status = select_open(run, &c.a->select, false, &c.store);

    if (!status) status = find_changes(&c);
    if (!status) status = compare_with_state(&c);
    if (!status) status = confirm(&c);
    if (!status && c.a->select.json)
        status = print_changes_json(&c);
    else if (!status)
        print_changes(&c);
    if (!status) status = write_state(&c);
    if (!status && c.a->check) status = verdict_of(&c);
    cbx_json_unref(c.seen);
    cbx_trend_clear(&c.trend);
    cbx_names_clear(&c.metrics);
    cbx_store_close(c.store);
    return status;
}
